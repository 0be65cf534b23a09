"""How many components does a Beta-Binomial mixture of right votes need, round by round, on real logs?

Run: python analysis/mixture_order/run.py [-o FOLDER]

Needs no other data than the counts that come with d3stats. Writes ``orders.csv`` (a row per group of logs and round:
likelihood-ratio tests by parametric bootstrap, and BIC) and ``resampled.csv`` (how often BIC chooses each number when
the questions of the bundled log are drawn again) and ``power.csv`` (how often the test finds a mixture of two).
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from d3stats.counts import Counts
from d3stats.datasets import load_slm7, path
from d3stats.log.importers import slm_multiagent
from d3stats.log.schema import Item, Turn
from d3stats.models.mixtures.fit import (
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
    likelihood_ratio_test,
)
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.resampling.clusters import cluster_totals, resampled_totals
from d3stats.trajectories import Trajectories

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "simulations"), str(HERE.parent)]

import build_round_counts  # noqa: E402  # studies are no package
from findings_tables import write  # noqa: E402  # studies are no package

Config = Mapping[str, Any]


def grouped(config: Config) -> Iterator[tuple[str, int, Counts]]:
    """Yield each group of logs, round by round, with its counts of right votes."""
    table = pd.read_csv(path("round_counts"))
    for group in config["groups"]:
        begins = group["begins"]
        here = table["log"].str.startswith(tuple(begins) if isinstance(begins, list) else begins)
        here &= table["log"].str.endswith(group.get("ends", ""))
        if not here.any():
            raise ValueError(f"group must name logs of round_counts.csv; got none for {group['label']!r}")
        for played, rows in table[here].groupby("round"):
            counts = Counts.from_columns(rows["successes"], rows["trials"], weights=rows["weight"])
            yield group["label"], int(played), counts


def by_question(source: Path) -> pd.DataFrame:
    """Return the right votes of each debate of the small models as "right/cast", by benchmark, seats and question."""
    archives = sorted((source / build_round_counts._SLM).glob("*.tar.gz"))
    records = [record for archive in archives for record in slm_multiagent.records(archive)]
    items = [
        (r.debate, r.question, r.label, build_round_counts._name(r.log or "", r))
        for r in records
        if isinstance(r, Item)
    ]
    turns = [(r.debate, r.round, r.agent, r.vote) for r in records if isinstance(r, Turn)]
    t = Trajectories.from_frame(
        pd.DataFrame(turns, columns=["debate", "round", "agent", "vote"]),
        pd.DataFrame(items, columns=["debate", "question", "label", "log"]),
    )
    right, cast = t.successes_trials()
    found: dict[tuple[str, int, str], list[list[str]]] = {}
    for d, log in enumerate(t.groups):
        _, benchmark, _, agents = log.split("/")
        key = (benchmark, int(agents.removeprefix("agents")), str(t.cluster_names[t.cluster[d]]))
        cells = found.setdefault(key, [[] for _ in range(t.n_rounds)])
        for r in range(t.n_rounds):
            if cast[d, r] > 0:
                cells[r].append(f"{right[d, r]:.0f}/{cast[d, r]:.0f}")
    rows, number = [], dict[tuple[str, int], int]()
    for (benchmark, seats, _), cells in sorted(found.items()):
        number[benchmark, seats] = number.get((benchmark, seats), 0) + 1
        told = {f"round_{r + 1}": " ".join(sorted(each)) for r, each in enumerate(cells)}
        rows.append({"benchmark": benchmark, "seats": seats, "question": number[benchmark, seats], **told})
    return pd.DataFrame(rows)


def shared_questions(label: str, played: int) -> list[list[tuple[int, int]]] | None:
    """Return right and cast votes of the debates of each question, None where a question has one debate."""
    if not label.startswith("small models"):
        return None
    table = pd.read_csv(HERE / "questions.csv", keep_default_na=False)
    _, seats, benchmark = label.split(", ")
    here = table[table["seats"] == int(seats.split()[0])]
    if benchmark != "all":
        here = here[here["benchmark"] == {"GSM8K": "gsm", "MMLU": "mmlu"}[benchmark]]
    cells = [[tuple(map(int, one.split("/"))) for one in row.split()] for row in here[f"round_{played}"]]
    return [each for each in cells if each]


def p_by_question(
    questions: list[list[tuple[int, int]]],
    *,
    n_draws: int,
    n_boot: int,
    n_starts: int,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.float64]]:
    """Return a p-value of one component against two for debates that share questions, and that of each draw.

    A draw takes one debate of each question, so its debates are independent whatever binds those of a question, and its
    p-value holds. The draws depend on each other; twice the median of p-values that hold is one that holds under any
    dependence (Rueger 1978). One law of the statistic serves all draws: that of one component fitted to all debates,
    each question with the weight of one.
    """
    flat = np.array([cell for each in questions for cell in each])
    cells, code = np.unique(flat, axis=0, return_inverse=True)
    sizes = np.array([len(each) for each in questions])
    begins = np.cumsum(sizes) - sizes

    def drawn(n: int) -> NDArray[np.int64]:
        return begins + (rng.random((n, len(sizes))) * sizes).astype(np.int64)

    def statistics(right: NDArray[np.int64], cast: NDArray[np.int64]) -> NDArray[np.float64]:
        every, at = np.unique(np.stack([right.ravel(), cast.ravel()], axis=1), axis=0, return_inverse=True)
        place = np.repeat(np.arange(len(right)), right.shape[1]) * len(every) + at.ravel()
        weights = np.bincount(place, minlength=len(right) * len(every)).reshape(len(right), -1).astype(float)
        llf = [
            fit_beta_binomial_mixture_batch(
                every[:, 0], every[:, 1], weights, n_components=k, n_starts=n_starts, rng=0
            ).llf
            for k in (1, 2)
        ]
        return np.maximum(2 * (llf[1] - llf[0]), 0.0)

    once = np.bincount(code.ravel(), weights=np.repeat(1 / sizes, sizes))
    null = fit_beta_binomial_mixture(cells[:, 0], cells[:, 1], weights=once, n_components=1).distribution
    at = drawn(n_draws)
    found = statistics(flat[at, 0], flat[at, 1])
    cast = flat[drawn(n_boot), 1]
    right = np.empty_like(cast)
    for n in np.unique(cast):
        pmf = null.pmf(int(n))
        right[cast == n] = rng.choice(n + 1, size=int((cast == n).sum()), p=pmf / pmf.sum())
    simulated = statistics(right, cast)
    p = (1 + (simulated >= found[:, None] - 1e-9).sum(axis=1)) / (1 + n_boot)
    return min(1.0, 2 * float(np.median(p))), p


def free_parameters(k: int) -> int:
    """Return how many parameters a mixture of k Beta-Binomials has: means, precisions, and weights but one."""
    return 3 * k - 1


def ordered(label: str, played: int, counts: Counts, config: Config) -> dict[str, Any]:
    """Return the tests and criteria of one group and round."""
    seed = [config["seed"], played, sum(label.encode())]

    def test(number: int, n_boot: int, **settings: Any) -> Any:
        rng = np.random.default_rng([*seed, number])
        return likelihood_ratio_test(counts, n_boot=n_boot, n_starts=config["n_starts"], rng=rng, **settings)

    one = test(1, config["n_boot"])
    two = test(2, config["n_boot_more"], k_null=2)
    binomial = test(3, config["n_boot_more"], null_family="binomial")
    fits = [fit_beta_binomial_mixture(counts, n_components=k) for k in config["components"]]
    bic = [fit.bic for fit in fits]
    shared = shared_questions(label, played)
    by_questions = one.p_value
    if shared is not None:
        by_questions, _ = p_by_question(
            shared,
            n_draws=config["n_draws"],
            n_boot=config["n_boot"],
            n_starts=config["n_starts"],
            rng=np.random.default_rng([*seed, 4]),
        )
    return {
        "log": label,
        "round": played,
        "debates": int(counts.n_obs),
        "questions": int(counts.n_obs) if shared is None else len(shared),
        "seats": int(counts.trials.max()),
        "all_or_none": float(
            counts.weights[(counts.successes == 0) | (counts.successes == counts.trials)].sum()
        )
        / counts.n_obs,
        "lrt_binomial": binomial.statistic,
        "p_binomial": binomial.p_value,
        "lrt_1_2": one.statistic,
        "p_1_2": one.p_value,
        "p_1_2_by_question": by_questions,
        "lrt_2_3": two.statistic,
        "p_2_3": two.p_value,
        **{f"bic_{k}": value for k, value in zip(config["components"], bic, strict=True)},
        "chosen": config["components"][int(np.argmin(bic))],
        "boundary_2": "; ".join(fits[1].boundary),
    }


def resampled(config: Config) -> pd.DataFrame:
    """Return how often BIC chooses each number of components over resamples of the bundled log's questions."""
    t = load_slm7()
    right, cast = t.successes_trials()
    rows = []
    for r in range(t.n_rounds):
        voted = cast[:, r] > 0
        cells, code = np.unique(
            np.stack([right[voted, r], cast[voted, r]], axis=1), axis=0, return_inverse=True
        )
        totals = cluster_totals(np.eye(len(cells))[code.ravel()], t.cluster[voted])
        drawn = resampled_totals(totals, config["n_resamples"], np.random.default_rng([config["seed"], 9, r]))
        llf = [
            fit_beta_binomial_mixture_batch(
                cells[:, 0], cells[:, 1], drawn, n_components=k, n_starts=config["n_starts"], rng=0
            ).llf
            for k in config["components"]
        ]
        chosen = by_bic(np.stack(llf, axis=1), drawn.sum(axis=1), config["components"])
        share = {f"K={k}": float((chosen == k).mean()) for k in config["components"]}
        rows.append({"round": r + 1, "questions": len(totals), "resamples": len(drawn), **share})
    return pd.DataFrame(rows)


def by_bic(llf: NDArray[np.float64], n: NDArray[np.float64], components: list[int]) -> NDArray[np.int64]:
    """Return the number of components with the least BIC, by row."""
    penalty = np.array([free_parameters(k) for k in components]) * np.log(n)[:, None]
    return np.array(components)[np.argmin(penalty - 2 * llf, axis=1)]


def power(config: Config) -> pd.DataFrame:
    """Return how often the test finds the two components of a known mixture, by seats and debates.

    The critical value is that of the one component nearest to the mixture, from as many simulated data sets.
    """
    settings, rows = config["power"], []
    law = BetaBinomialMixture.from_alpha_beta(settings["weight"], settings["alpha"], settings["beta"])
    for at, (seats, n) in enumerate(settings["sets"]):
        right, cast = np.arange(seats + 1), np.full(seats + 1, seats)
        pmf = law.pmf(seats) / law.pmf(seats).sum()
        nearest = fit_beta_binomial_mixture(right, seats, weights=1e6 * pmf, n_components=1).distribution.pmf(
            seats
        )
        rng = np.random.default_rng([config["seed"], 5, at])
        statistics = []
        for each in (nearest / nearest.sum(), pmf):
            drawn = rng.multinomial(n, each, size=settings["replicates"]).astype(float)
            llf = [
                fit_beta_binomial_mixture_batch(
                    right, cast, drawn, n_components=k, n_starts=config["n_starts"], rng=0
                ).llf
                for k in (1, 2)
            ]
            statistics.append(np.maximum(2 * (llf[1] - llf[0]), 0.0))
        critical = float(np.quantile(statistics[0], 1 - settings["level"]))
        found = statistics[1] > critical
        share, se = found.mean(), np.sqrt(found.mean() * (1 - found.mean()) / len(found))
        gain = 3 * np.log(n)
        rows.append(
            {
                "seats": seats, "debates": n, "critical": critical, "power": share, "se": se,
                "chosen_by_bic": float((statistics[1] > gain).mean()),
            }
        )  # fmt: skip
    return pd.DataFrame(rows).sort_values(["seats", "debates"], ignore_index=True)


def size(config: Config) -> pd.DataFrame:
    """Return how often each test finds a second component that is not there, by what the debates of a question share.

    They share all counts, or the share of right votes from which each draws its own counts.
    """
    settings, rows = config["size"], []
    seats, each = settings["seats"], settings["debates"]
    right = np.arange(seats + 1)

    def statistics(drawn: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = (drawn[:, :, None] == right).sum(axis=1).astype(float)
        llf = [
            fit_beta_binomial_mixture_batch(
                right,
                np.full_like(right, seats),
                weights,
                n_components=k,
                n_starts=settings["n_starts"],
                rng=0,
            ).llf
            for k in (1, 2)
        ]
        return np.maximum(2 * (llf[1] - llf[0]), 0.0)

    for at, (shared, n) in enumerate((s, n) for s in ("counts", "share") for n in settings["questions"]):
        rng = np.random.default_rng([config["seed"], 6, at])
        alone = rng.beta(settings["alpha"], settings["beta"], (settings["simulated"], n * each))
        critical = float(np.quantile(statistics(rng.binomial(seats, alone)), 1 - settings["level"]))
        share = rng.beta(settings["alpha"], settings["beta"], (settings["replicates"], n, 1))
        if shared == "counts":
            drawn = np.repeat(rng.binomial(seats, share), each, axis=2)
        else:
            drawn = rng.binomial(seats, np.repeat(share, each, axis=2))
        how = {name: settings[name] for name in ("n_draws", "n_boot", "n_starts")}
        p = [p_by_question([[(int(c), seats) for c in q] for q in one], rng=rng, **how)[0] for one in drawn]
        naive = float((statistics(drawn.reshape(len(drawn), -1)) > critical).mean())
        rows.append(
            {
                "shared": shared, "questions": n, "debates": n * each, "replicates": len(p),
                "debates_independent": naive,
                "questions_independent": float((np.array(p) <= settings["level"]).mean()),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    table = pd.DataFrame([ordered(*each, config) for each in grouped(config)])
    # The pooled row adds up two others, so it is no further test.
    own = ~table["log"].str.endswith(", all")
    table["p_1_2_holm"] = np.nan
    table.loc[own, "p_1_2_holm"] = multipletests(table.loc[own, "p_1_2_by_question"], method="holm")[1]
    return {"orders": table, "resampled": resampled(config), "power": power(config), "size": size(config)}


def p_of(value: float, n_boot: int) -> str:
    """Return a p-value, or that it is the least that so many simulated data sets can give."""
    if pd.isna(value):
        return "-"
    return f"{value:.4f}" if value > 1.5 / (n_boot + 1) else f"≤ {1 / (n_boot + 1):.4f}"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    table = tables["orders"]
    # With fewer seats two components fit every law of the count, so a third changes nothing.
    free = table["seats"] > free_parameters(2)
    orders = pd.DataFrame(
        {
            "log": table["log"],
            "round": table["round"],
            "debates": table["debates"],
            "questions": table["questions"],
            "seats": table["seats"],
            "all or none right": table["all_or_none"].map("{:.2f}".format),
            "LRT, 1 against 2": table["lrt_1_2"].map("{:.2f}".format),
            "p, debates independent": [p_of(p, config["n_boot"]) for p in table["p_1_2"]],
            "p, questions independent": [
                p_of(p, config["n_boot"]) if one else f"{p:.2f}"
                for p, one in zip(
                    table["p_1_2_by_question"], table["debates"] == table["questions"], strict=True
                )
            ],
            "p, Holm": ["-" if pd.isna(p) else f"{min(p, 1):.3f}" for p in table["p_1_2_holm"]],
            "LRT, 2 against 3": [
                f"{x:.2f}" if more else "-" for x, more in zip(table["lrt_2_3"], free, strict=True)
            ],
            "p, 2 against 3": [
                p_of(p, config["n_boot_more"]) if more else "-"
                for p, more in zip(table["p_2_3"], free, strict=True)
            ],
            "BIC of 2 minus BIC of 1": (table["bic_2"] - table["bic_1"]).map("{:+.1f}".format),
            "K by BIC": table["chosen"],
        }
    )
    spread = pd.DataFrame(
        {
            "log": table["log"],
            "round": table["round"],
            "LRT, Binomial against Beta-Binomial": table["lrt_binomial"].map("{:.1f}".format),
            "p": [p_of(p, config["n_boot_more"]) for p in table["p_binomial"]],
        }
    )
    again = tables["resampled"].copy()
    for name in [c for c in again if c.startswith("K=")]:
        again[name] = again[name].map("{:.3f}".format)
    found = tables["power"]
    strength = pd.DataFrame(
        {
            "seats": found["seats"],
            "debates": found["debates"],
            "power": [f"{r.power:.2f} ({r.se:.2f})" for r in found.itertuples()],
            "K = 2 by BIC": found["chosen_by_bic"].map("{:.2f}".format),
        }
    )
    errors = tables["size"].rename(columns={"shared": "debates of a question share their"})
    for name in ("debates_independent", "questions_independent"):
        se = np.sqrt(errors[name] * (1 - errors[name]) / errors["replicates"])
        errors[name] = [f"{x:.3f} ({e:.3f})" for x, e in zip(errors[name], se, strict=True)]
    errors = errors.drop(columns="replicates").rename(columns=lambda name: name.replace("_", " "))
    return {"orders": orders, "binomial": spread, "resampled": again, "size": errors, "power": strength}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    parser.add_argument("--logs", type=Path, help="folder of the real logs; makes questions.csv again first")
    given = parser.parse_args()
    out = given.out
    out.mkdir(parents=True, exist_ok=True)
    if given.logs is not None:
        by_question(given.logs).to_csv(HERE / "questions.csv", index=False, lineterminator="\n")
    found = study(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8")))
    tables = write(HERE, out.resolve(), found, shown)
    print(*(f"== {name}\n{frame.to_string(index=False)}\n" for name, frame in tables.items()), sep="\n")
