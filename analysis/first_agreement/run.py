"""How often do two agents agree at once, how often are they then right, and does a debate make votes more alike?

Run: python analysis/first_agreement/run.py [-o FOLDER]

Reads the bundled logs. Writes ``pairs.csv``: first votes of two agents on a question, of the same and of different
models, with the share of pairs that agree and the share of agreements that are right; and ``entropy.csv``: the mean
entropy of a debate's votes in the first and in the last round.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import d3stats
from d3stats.estimate import Estimate
from d3stats.resampling import clustered_share, item_ratio

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import write  # noqa: E402  # studies are no package

LOGS = ("slm7", "gemma-alone", "gemma-votes", "gemma-reasons")
SAME, DIFFERENT = "same model", "different models"


def first_votes() -> pd.DataFrame:
    """Return the first votes of slm7, with the benchmark and the model of each log."""
    turns = pd.read_csv(Path(d3stats.datasets.__file__).with_name("slm7.csv"))
    turns = turns[(turns["round"] == 1) & turns["vote"].notna()]
    named = turns["log"].str.partition("/")
    return turns.assign(benchmark=named[0], model=named[2])


def pairs_of(votes: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield for each question and kind of pair: pairs, those that agree, agreements that are right, right votes."""
    for (benchmark, question), part in votes.groupby(["benchmark", "question"]):
        sums = {kind: np.zeros(3) for kind in (SAME, DIFFERENT)}
        for one, two in combinations(part.itertuples(index=False), 2):
            agree = one.vote == two.vote
            kind = SAME if one.model == two.model else DIFFERENT
            sums[kind] += 1, agree, agree and one.vote == one.label
        right = (part["vote"] == part["label"]).agg(["sum", "size"])
        for kind, (n, agreed, correct) in sums.items():
            yield {"benchmark": benchmark, "question": question, "pair": kind, "n": n, "agree": agreed,
                   "agree_right": correct, "right": right["sum"], "votes": right["size"]}  # fmt: skip


def cells(name: str, e: Estimate) -> dict[str, Any]:
    """Return an estimate as three cells."""
    return {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}


def pairs() -> pd.DataFrame:
    """Return a row per benchmark and kind of pair, with intervals over questions."""
    each = pd.DataFrame(pairs_of(first_votes()))
    rows = []
    for (benchmark, kind), part in each.groupby(["benchmark", "pair"], sort=False):
        question = np.arange(len(part))
        row = {"benchmark": benchmark, "pair": kind, "questions": len(part), "pairs": int(part["n"].sum())}
        shares = {
            "agree": ("agree", "n"),
            "right_if_agree": ("agree_right", "agree"),
            "one_right": ("right", "votes"),
        }
        for name, (above, below) in shares.items():
            some = (part[below] > 0).to_numpy()
            found = clustered_share(
                part[above].to_numpy(dtype=float)[some], part[below].to_numpy(dtype=float)[some],
                np.unique(question[some], return_inverse=True)[1], level=0.95, name=name,
            )  # fmt: skip
            row |= cells(name, found)
        rows.append(row)
    return pd.DataFrame(rows)


def entropies(votes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the entropy of each debate's votes in bits, shape (debates,); missing votes do not count."""
    found = np.full(len(votes), np.nan)
    for k, cast in enumerate(votes):
        _, n = np.unique(cast[cast >= 0], return_counts=True)
        if n.sum() > 1:
            p = n / n.sum()
            found[k] = -(p * np.log2(p)).sum()
    return found


def entropy() -> pd.DataFrame:
    """Return the mean entropy of first and last votes and its change, log by log, with intervals over questions."""
    rows = []
    for name in LOGS:
        t = d3stats.as_trajectories(name)
        first = entropies(t.votes[:, 0])
        last = entropies(t.votes[np.arange(len(t)), t.depth - 1])
        known = ~np.isnan(first + last)
        cluster = np.unique(t.cluster[known], return_inverse=True)[1]
        ones = np.ones(int(known.sum()))
        change = item_ratio("change of the entropy", (last - first)[known], ones, cluster, level=0.95)
        rows.append(
            {
                "log": name,
                "debates": int(known.sum()),
                "first": first[known].mean(),
                "last": last[known].mean(),
            }
            | cells("change", change)
        )
    return pd.DataFrame(rows)


def study() -> dict[str, pd.DataFrame]:
    """Return both tables."""
    return {"pairs": pairs(), "entropy": entropy()}


def _share(row: pd.Series, name: str) -> str:
    return f"{100 * row[name]:z.1f} [{100 * row[f'{name}_low']:z.1f}, {100 * row[f'{name}_high']:z.1f}]"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return both tables as the findings have them."""
    heads = {
        "agree": "agree, %",
        "right_if_agree": "right if they agree, %",
        "one_right": "one agent right, %",
    }
    agreed = pd.DataFrame(
        [
            {"benchmark": row["benchmark"], "two agents of": row["pair"], "questions": row["questions"]}
            | {head: _share(row, name) for name, head in heads.items()}
            for _, row in tables["pairs"].iterrows()
        ]
    )
    bits = pd.DataFrame(
        [
            {"log": row["log"], "debates": f"{row['debates']:,}", "first round, bits": f"{row['first']:z.2f}"}
            | {"last round, bits": f"{row['last']:z.2f}"}
            | {"change": f"{row['change']:+z.2f} [{row['change_low']:+z.2f}, {row['change_high']:+z.2f}]"}
            for _, row in tables["entropy"].iterrows()
        ]
    )
    return {"pairs": agreed, "entropy": bits}


def main() -> None:
    """Write the tables and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
