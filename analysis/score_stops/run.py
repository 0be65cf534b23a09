"""When do D3's stop and the sign-agreement stop end debates whose two sides a real critic has scored, and at what cost?

Run: D3STATS_DATA=FOLDER python analysis/score_stops/run.py [-o FOLDER]

Writes ``sums.csv`` (how many questions have which sums: all that the estimates need) and ``stops.csv`` (the estimates).
"""

from __future__ import annotations

import runpy
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import Trajectories
from d3stats.stopping import StoppingRule, from_text

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from question_sums import estimated, said, summed  # noqa: E402

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
RATIOS = ("rounds",)
SIDES = ("all pairs", "two answers in round 1", "one answer in round 1")

Bools = NDArray[np.bool_]


def stopped(lead: NDArray[np.float64], rule: StoppingRule) -> NDArray[np.int64]:
    """Return the round in which a rule on scores stops each pair; `lead` is side 0 minus side 1, (pairs, rounds)."""
    scores = np.stack([lead, np.zeros_like(lead)], axis=2)
    t = Trajectories.from_arrays(
        np.zeros((*lead.shape, 1), dtype=np.int64),
        answers=["-", "+"],
        scores=scores,
        sides=("first", "second"),
    )
    return rule.stop_rounds(t).rounds


def sums(pairs: Any, same: Bools, apart: Bools, config: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """Yield the sums of every rule and kind of pair."""
    lead, right, question = pairs.lead, pairs.right, pairs.question
    last = lead.shape[1]
    rows = np.arange(len(lead))
    for text in config["rules"]:
        stop = stopped(lead, from_text(text))
        here, end = np.sign(lead[rows, stop - 1]), np.sign(lead[:, -1])
        one_right = pairs.decided
        leads = (lead > 0) == (right[:, :, 0] == 1)
        for kind, which in zip(SIDES, (np.ones(len(lead), bool), apart, same), strict=True):
            every = which.astype(float)
            judged = {"stop": one_right[rows, stop - 1] & which, "end": one_right[:, -1] & which}
            early = (here != 0) & (stop < last) & which
            measures: dict[str, tuple[Any, Any]] = {
                "rounds": (stop * every, every),
                "stopped by round 2": ((stop <= 2) * every, every),
                **{f"stopped in round {r}": ((stop == r) * every, every) for r in range(3, last + 1)},
                "tied at the stop": ((here == 0) * every, every),
                # Of the early stops that name a leader.
                "then the other side leads": ((here == -end) & early, early),
                "then tied": ((end == 0) & early, early),
                "leader right, at the stop": (
                    (leads[rows, stop - 1] & (here != 0)) + 0.5 * (here == 0), judged["stop"]
                ),
                "leader right, in round 4": ((leads[:, -1] & (end != 0)) + 0.5 * (end == 0), judged["end"]),
            }  # fmt: skip
            measures = {
                name: (np.where(below, above, 0.0), below) if "right" in name else (above, below)
                for name, (above, below) in measures.items()
            }
            yield summed({"rule": text, "sides": kind}, measures, question)


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    reading = runpy.run_path(str(HERE.parent / "gap_reading" / "run.py"))
    table = reading["turns"](folder)
    pairs = reading["by_agents"](table)
    shape = tuple(table[name].nunique() for name in ("debate", "round", "agent"))
    votes = pd.factorize(table["vote"])[0].reshape(shape)[:, 0]
    agents = shape[2]
    index = [(a, b) for a in range(agents) for b in range(a + 1, agents)]
    sides = np.stack([np.concatenate([votes[:, pair[i]] for pair in index]) for i in (0, 1)])
    known, same = (sides >= 0).all(axis=0), sides[0] == sides[1]
    if np.isnan(pairs.lead).any():
        raise ValueError(
            f"every agent must have a score in every round; got {np.isnan(pairs.lead).sum()} without"
        )
    made = pd.concat(list(sums(pairs, known & same, known & ~same, CONFIG)), ignore_index=True)
    return {"sums": made, "stops": estimated(made, CONFIG["level"], RATIOS)}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    # A bar would end a cell of the table.
    table = tables["stops"].assign(rule=lambda t: t["rule"].str.replace(" | fixed:4", ", at most 4 rounds"))
    cells = table.assign(
        cell=[said(row, ".2f" if row["measure"] == "rounds" else ".3f") for row in table.to_dict("records")]
    )
    wide = cells.pivot_table(
        index=["sides", "rule"], columns="measure", values="cell", aggfunc="first", sort=False
    )
    where = ["rounds", "stopped by round 2", "stopped in round 3", "stopped in round 4"]
    what = ["tied at the stop", "then the other side leads", "then tied"]
    what += ["leader right, at the stop", "leader right, in round 4"]
    pairs = table[(table["measure"] == "rounds") & (table["rule"] == table["rule"].iloc[0])]
    return {
        "pairs": pairs[["sides", "n", "questions"]].rename(columns={"n": "pairs"}),
        "where": wide[where].reset_index(),
        "what": wide[what].dropna().reset_index(),
    }


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
