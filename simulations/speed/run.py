"""How fast is each task, against what a user would write and against another package?

    python simulations/speed/run.py [--repeats N]

Everything runs in one process, and the candidates of a row take turns, so that what else the machine does falls on all.
The least CPU seconds of several repetitions count. Each row first checks that its candidates give the same number.
Writes ``speed.csv`` and ``docs/performance.md``; `make bench` calls it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from d3stats.inference import fleiss_kappa
from d3stats.inference.comparison.mcnemar import discordant_pairs, mcnemar
from d3stats.log import count_log
from d3stats.models.gaps.beta import gap_posterior
from d3stats.models.mixtures import fit_beta_binomial_mixture, ks_distance
from d3stats.planning import scan
from d3stats.resampling import bootstrap_limits, cluster_totals, ratios
from d3stats.worlds import Voter, simulate_debates

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import plain_em  # noqa: E402  # studies are no package

PAGE = HERE.parents[1] / "docs" / "performance.md"
COLUMNS = ["work", "ours, CPU s", "by hand, CPU s", "other, CPU s", "ours / by hand", "limit"]


@dataclass(frozen=True)
class Row:
    """A task: candidates that give the same number within a tolerance, and the most that ours may cost of by hand.

    Of a maximum (`higher`) ours may not be below that of the others.
    """

    work: str
    limit: float
    ours: Callable[[], Any]
    by_hand: Callable[[], Any]
    hand: str
    peer: Callable[[], Any] | None = None
    package: str = ""
    tolerance: float = 1e-9
    peer_tolerance: float = 0.0
    higher: bool = False


def counted(folder: Path, debates: int) -> Row:
    rng = np.random.default_rng(1)
    path = folder / "log.jsonl"
    with path.open("w", encoding="utf-8") as log:
        for d in range(debates):
            log.write(f'{{"type":"item","debate":"d{d}","question":"q{d // 4}","label":"{"ABCD"[d % 4]}"}}\n')
            votes = rng.integers(0, 4, (3, 7))
            log.writelines(
                f'{{"type":"turn","debate":"d{d}","round":{r + 1},"agent":"a{a}","vote":"{"ABCD"[votes[r, a]]}",'
                f'"tokens_in":{100 + a},"tokens_out":5}}\n'
                for r in range(3)
                for a in range(7)
            )

    def by_hand() -> int:
        frame = pd.read_json(path, lines=True)
        labels = frame[frame["type"] == "item"].set_index("debate")["label"]
        turns = frame[frame["type"] == "turn"]
        right = turns["vote"] == turns["debate"].map(labels)
        table = right.groupby([turns["debate"], turns["round"]]).sum()
        return int((table == 2).sum())

    def ours() -> int:
        cells = count_log(path).rounds.to_frame()
        return int(cells.loc[cells["successes"] == 2, "weight"].sum())

    work = f"counts of a log of {21 * debates:,} turns in JSON lines, all rules checked"
    return Row(work, 1.0, ours, by_hand, "pandas: read_json, map, groupby")


def mixture(folder: Path, debates: int) -> Row:
    rng = np.random.default_rng(2)
    first = rng.random(debates) < 0.62
    p = np.where(first, rng.beta(6, 1.2, debates), rng.beta(1.5, 3, debates))
    successes, trials = rng.binomial(7, p), np.full(debates, 7)
    return Row(
        f"log-likelihood of a mixture of two Beta-Binomials, {debates:,} debates (ours: 30 starts, others: one)",
        0.1,
        lambda: fit_beta_binomial_mixture(successes, trials, n_starts=30).llf,
        lambda: plain_em.fit_by_plain_em(successes, trials)[1],
        "scipy: EM with its log-pmf",
        lambda: plain_em.fit_by_statsmodels(successes, trials),
        "statsmodels",
        tolerance=1.0,
        higher=True,
    )


def bootstrapped(folder: Path, items: int) -> Row:
    right = (np.random.default_rng(3).random(items) < 0.7).astype(float)
    replicates = 2_000

    def ours() -> float:
        totals = cluster_totals(np.column_stack([right, np.ones(items)]), np.arange(items))
        return float(
            bootstrap_limits(totals, ratios((0, 1)), kind="percentile", n_boot=replicates, rng=4).interval()[
                0
            ]
        )

    def by_hand() -> float:
        rng = np.random.default_rng(4)
        means = [right[rng.integers(0, items, items)].mean() for _ in range(replicates)]
        return float(np.quantile(means, 0.025))

    def scipys() -> float:
        found = stats.bootstrap(
            (right,),
            np.mean,
            n_resamples=replicates,
            method="percentile",
            batch=200,
            rng=np.random.default_rng(4),
        )
        return float(found.confidence_interval.low)

    work = f"bootstrap of a share of {items:,} items, {replicates:,} replicates"
    return Row(work, 0.2, ours, by_hand, "numpy: a loop of resampled means", scipys, "scipy", tolerance=0.002)


def paired(folder: Path, items: int) -> Row:
    from statsmodels.stats.contingency_tables import mcnemar as peer

    rng = np.random.default_rng(5)
    one, other = rng.random(items) < 0.85, rng.random(items) < 0.851

    def table() -> Any:
        return pd.crosstab(one, other).to_numpy()

    def by_hand() -> float:
        b, c = int((one & ~other).sum()), int((~one & other).sum())
        return float(stats.binomtest(min(b, c), b + c).pvalue)

    return Row(
        f"McNemar's exact test of two runs of {items:,} items",
        1.5,
        lambda: mcnemar(*discordant_pairs(one, other)).p_value,
        by_hand,
        "numpy and scipy: binomtest",
        lambda: float(peer(table(), exact=True).pvalue),
        "pandas and statsmodels",
        tolerance=1e-6,
    )


def simulated(folder: Path, debates: int) -> Row:
    world = Voter(panel=7, accuracy=0.65, precision=4.0)
    shape = (debates, 10, 7)

    def by_hand() -> float:
        rng = np.random.default_rng(6)
        right = np.empty(shape, dtype=np.int8)
        right[:, 0] = rng.random((debates, 7)) < rng.beta(2.6, 1.4, (debates, 1))
        for r in range(1, 10):
            right[:, r] = np.take_along_axis(right[:, r - 1], rng.integers(0, 7, (debates, 7)), axis=1)
        return float(right.mean())

    def uniforms() -> float:
        return float((np.random.default_rng(6).random(shape) < 0.65).mean())

    def ours() -> float:
        t = simulate_debates(world, debates, 10, 6)
        return float((t.votes == t.label[:, None, None]).mean())

    return Row(
        f"{debates:,} debates in the world `voter`, 10 rounds and 7 agents",
        3.0,
        ours,
        by_hand,
        "numpy: seats drawn and copied, round by round",
        uniforms,
        "numpy: as many uniforms, compared with .65",
        tolerance=0.01,
    )


def settled(folder: Path, debates: int) -> Row:
    t = simulate_debates(Voter(panel=7), debates, 8, 10)
    right = (t.votes == t.label[:, None, None]).sum(axis=2)

    def ours() -> float:
        shares = np.stack([np.bincount(right[:, r], minlength=8) for r in range(8)]) / debates
        return max(ks_distance(shares[r], shares[r + 1]) for r in range(7))

    def by_hand() -> float:
        below = np.stack([(right <= k).mean(axis=0) for k in range(8)])
        return float(np.abs(np.diff(below, axis=1)).max())

    def scipys() -> float:
        return max(
            float(stats.ks_2samp(right[:, r], right[:, r + 1], method="asymp").statistic) for r in range(7)
        )

    work = f"KS distances of 8 rounds of {debates:,} debates"
    return Row(work, 2.0, ours, by_hand, "numpy: shares below each count", scipys, "scipy: ks_2samp")


def replayed(folder: Path, debates: int) -> Row:
    t = simulate_debates(Voter(), debates, 8, 7)
    rules = [f"supermajority:{share}" for share in (0.6, 0.7, 0.8, 0.9)]

    def by_hand() -> float:
        votes = np.asarray(t.votes)
        total = 0
        for share in (0.6, 0.7, 0.8, 0.9):
            for debate in votes:
                stop = len(debate)
                for number, seats in enumerate(debate, start=1):
                    cast = seats[seats >= 0]
                    if len(cast) and np.bincount(cast).max() >= share * len(cast) - 1e-9:
                        stop = number
                        break
                total += stop
        return total / (4 * debates)

    return Row(
        f"stops of four rules over {debates:,} debates of 8 rounds",
        0.2,
        lambda: float(scan(t, rules)["rounds"].mean()),
        by_hand,
        "Python: a loop over debates and rounds",
        tolerance=1e-6,
    )


def agreed(folder: Path, items: int) -> Row:
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as peer

    ratings = np.random.default_rng(8).integers(0, 3, (items, 5))
    table = pd.DataFrame(
        {
            "item": np.repeat(np.arange(items), 5),
            "rater": np.tile(np.arange(5), items),
            "vote": ratings.ravel(),
        }
    )

    def by_hand() -> float:
        counts = table.groupby(["item", "vote"]).size().unstack(fill_value=0).to_numpy()  # noqa: PD010
        n = counts.sum(axis=1)
        agreement = ((counts**2).sum(axis=1) - n) / (n * (n - 1))
        chance = ((counts.sum(axis=0) / n.sum()) ** 2).sum()
        return float((agreement.mean() - chance) / (1 - chance))

    def statsmodels() -> float:
        wide = table.pivot(index="item", columns="rater", values="vote").to_numpy()  # noqa: PD010
        return float(peer(aggregate_raters(wide)[0]))

    return Row(
        f"Fleiss' kappa of {items:,} items and 5 raters from a table of rows (ours with interval and checks)",
        40.0,
        lambda: fleiss_kappa(table).estimate.value,
        by_hand,
        "pandas and numpy: kappa alone",
        statsmodels,
        "pandas and statsmodels, kappa alone",
    )


def grown(folder: Path, debates: int) -> Row:
    gaps = np.random.default_rng(9).random((debates, 10))

    def by_hand() -> float:
        grew = np.cumsum(np.diff(gaps, axis=1, prepend=0.0) > 0, axis=1)
        rounds = np.arange(1, 11)
        return float(stats.beta.sf(0.5, 1 + grew, 1 + rounds - grew).mean())

    def sampled() -> float:
        grew = np.cumsum(np.diff(gaps, axis=1, prepend=0.0) > 0, axis=1)
        rounds = np.arange(1, 11)
        draws = np.random.default_rng(9).beta(1 + grew, 1 + rounds - grew, (10, debates, 10))
        return float((draws > 0.5).mean())

    return Row(
        f"posterior probability that a gap grows, {debates:,} debates of 10 rounds",
        0.5,
        lambda: float(gap_posterior(gaps, first=0).prob_between(0.5, 1.0).mean()),
        by_hand,
        "scipy: beta.sf of every cell",
        sampled,
        "numpy: 10 draws of each posterior",
        peer_tolerance=0.01,
    )


ROWS: Mapping[str, tuple[Callable[[Path, int], Row], int]] = {
    "count": (counted, 2_000),
    "mixture": (mixture, 1_000),
    "bootstrap": (bootstrapped, 10_000),
    "mcnemar": (paired, 1_000_000),
    "simulate": (simulated, 50_000),
    "ks": (settled, 50_000),
    "replay": (replayed, 2_000),
    "kappa": (agreed, 5_000),
    "gap": (grown, 20_000),
}
"""The tasks, with their sizes."""


def same(row: Row) -> dict[str, Callable[[], Any]]:
    """Call each candidate once, which compiles and loads, too; refuse those that give another number; return them."""
    candidates = {"ours": row.ours, "by hand": row.by_hand} | ({"peer": row.peer} if row.peer else {})
    first = {name: work() for name, work in candidates.items()}
    for name, value in first.items():
        allowed = max(row.tolerance, row.peer_tolerance) if name == "peer" else row.tolerance
        if not abs(value - first["by hand"]) <= allowed or (row.higher and value > first["ours"] + 1e-6):
            raise ValueError(
                f"{row.work}: all must give the same; got {name}={value}, by hand={first['by hand']}"
            )
    return candidates


def measured(row: Row, repeats: int) -> dict[str, Any]:
    """Return the least CPU seconds of each candidate, which take turns; all must give the same number."""
    candidates = same(row)
    seconds: dict[str, float] = dict.fromkeys(candidates, np.inf)
    for _ in range(repeats):
        for name, work in candidates.items():
            began = time.process_time()
            work()
            seconds[name] = min(seconds[name], time.process_time() - began)
    return {
        "work": row.work,
        "ours": seconds["ours"],
        "by hand": seconds["by hand"],
        "peer": seconds.get("peer", np.nan),
        "limit": row.limit,
        "hand": row.hand,
        "package": row.package,
    }


HEAD = """\
# Performance

**How fast is each task, against what a user would write and against another package?** In {faster} of {rows}
tasks d3stats takes less processor time than the same number written by hand.

{table}

CPU seconds of one process and one thread. The candidates of a row take turns, and the least of {repeats} repetitions
counts, so only the ratios carry over to another machine. *Limit* is the largest ratio of ours to by hand that the test
allows. Before it is measured, each row checks that its candidates give the same number, within chance where they draw
random numbers. The first call, which compiles or loads, is not counted.

| work | by hand | other |
|---|---|---|
{how}

`make bench` makes both tables again, in `simulations/speed/speed.csv`.

## How this is tested

`tests/test_performance.py` writes this page again from its table, checks that the candidates of a row give the same
number, and measures all ratios among the slow tests. `tests/benchmarks` has limits on memory, on two cores and on whole
commands.
"""


def text(table: pd.DataFrame) -> str:
    """Return the page of a table of seconds."""
    ratio = table["ours"] / table["by hand"]
    rows = [
        f"| {work} | {_seconds(ours)} | {_seconds(hand)} | {_seconds(peer)} | {_short(ours / hand)} | {limit:g} |"
        for work, ours, hand, peer, limit in table[["work", "ours", "by hand", "peer", "limit"]].itertuples(
            index=False
        )
    ]
    head = "| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS)
    how = "\n".join(
        f"| {r.work} | {r.hand} | {'' if pd.isna(r.package) else r.package} |" for r in table.itertuples()
    )
    return HEAD.format(
        rows=len(table),
        faster=int((ratio < 1).sum()),
        table=head + "\n" + "\n".join(rows),
        repeats=int(table["repeats"].iloc[0]),
        how=how,
    )


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _seconds(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3f}" if value < 1 else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", help="one task; prints it and writes nothing")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, size) in ROWS.items():
            if options.only in (None, name):
                rows.append(measured(make(Path(folder), size), options.repeats))
                print(json.dumps(rows[-1]), flush=True)
    if options.only is None:
        pd.DataFrame(rows).assign(repeats=options.repeats).to_csv(
            HERE / "speed.csv", index=False, float_format="%.4g", lineterminator="\n"
        )
        PAGE.write_text(text(pd.read_csv(HERE / "speed.csv")), encoding="utf-8")


if __name__ == "__main__":
    main()
