"""Is a debate a martingale? The drift of correct votes from round to round, in the logs of other people.

Run: D3STATS_DATA=FOLDER python analysis/martingale/run.py [-o FOLDER]

Writes a CSV per table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from d3stats import Trajectories
from d3stats.models.beliefs.martingale import MartingaleTest, martingale_test
from d3stats.worlds import DirichletCompound, Voter, simulate_debates

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from round_logs import LOGS, read, readable  # noqa: E402

LEVEL = 0.95
SEED = 20252
WORLDS = {"voter model": Voter(panel=3, accuracy=0.6), "Dirichlet-compound model": DirichletCompound(panel=3)}
SIMULATED = 20_000
CHOSEN = ("all debates", "first majority wrong", "first majority right")


def tested(label: str, selected: bool, found: MartingaleTest) -> pd.DataFrame:
    """Return a log's rows of the drift table."""
    frame = found.to_frame().assign(log=label, picked="yes" if selected else "no")
    return frame[["log", "picked", *(c for c in frame if c not in ("log", "picked"))]]


def with_holm(drift: pd.DataFrame) -> pd.DataFrame:
    """Add p-values corrected over logs (Holm), transition by transition, for the drift and given the start."""
    parts = []
    for _, rows in drift.groupby("transition", sort=False):
        part = rows.copy()
        for name in ("p_value", "p_conditional"):
            known = part[name].notna()
            if known.any():
                part.loc[known, f"{name}_holm"] = multipletests(part.loc[known, name], method="holm")[1]
        parts.append(part)
    return pd.concat(parts).sort_index().reset_index(drop=True)


def by_first_majority(t: Trajectories, label: str) -> list[dict[str, Any]]:
    """Return the drift of rounds 1 to 2 where the debate's own first majority was wrong, or right."""
    s, n = t.successes_trials()
    s, n = s[:, :2], n[:, :2]
    lead = 2 * s[:, 0] - n[:, 0]
    rows = []
    for name, at in zip(CHOSEN, (n[:, 0] > 0, lead < 0, lead > 0), strict=True):
        found = martingale_test(s[at], n[at], cluster=t.cluster[at], level=LEVEL)
        row = found.drift.iloc[0][["n_pairs", "n_clusters", "drift", "low", "high", "p_value"]].to_dict()
        rows.append({"log": label, "debates chosen": name, **row})
    return rows


def sensitivity(folder: Path) -> pd.DataFrame:
    """Return the drift over all rounds when missing votes count as wrong, and under the other reading."""
    rows = []
    for log in LOGS[:7]:
        readings = ("asked", "strict") if log.importer == "slm-multiagent" else ("",)
        for reading in readings:
            t = read(log, folder, **({"reading": reading} if reading else {}))
            for missing in ("exclude", "wrong"):
                found = martingale_test(t, missing=missing, level=LEVEL)
                row = found.drift.iloc[-1][["n_pairs", "drift", "low", "high", "p_value"]].to_dict()
                row["p_conditional"] = found.p_conditional
                rows.append({"log": log.label, "reading": reading or "-", "missing": missing, **row})
    return pd.DataFrame(rows)


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    drift, cells, refused, chosen = [], [], [], []
    for label, world in WORLDS.items():
        chosen += by_first_majority(simulate_debates(world, SIMULATED, 2, SEED), f"{label}, simulated")
    for log, t in readable(folder):
        if isinstance(t, str):
            refused.append({"log": log.label, "why": t})
            continue
        found = martingale_test(t, level=LEVEL)
        drift.append(tested(log.label, log.selected, found))
        pooled = found.conditional[found.conditional["transition"] == "pooled"]
        cells.append(pooled.drop(columns="transition").assign(log=log.label))
        chosen += [] if log.selected else by_first_majority(t, log.label)
    conditional = pd.concat(cells, ignore_index=True)
    return {
        "drift": with_holm(pd.concat(drift, ignore_index=True)),
        "conditional": conditional[["log", *(c for c in conditional if c != "log")]],
        "selection": pd.DataFrame(chosen),
        "sensitivity": sensitivity(folder),
        "refused": pd.DataFrame(refused),
    }


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    drift = tables["drift"]
    steps = drift.assign(cell=[said(r) for r in drift.to_dict("records")])
    order = list(dict.fromkeys(drift["log"]))
    wide = steps.pivot_table(index="log", columns="transition", values="cell", aggfunc="first").loc[order]
    first = drift[drift["transition"] == "1-2"].set_index("log").loc[order]
    pooled = drift[drift["transition"] == "pooled"].set_index("log").loc[wide.index]
    rounds = wide.fillna("-").assign(
        **{"p 1-2, Holm": [p_of(x) for x in first["p_value_holm"]]},
        **{"p all, Holm": [p_of(x) for x in pooled["p_value_holm"]]},
        picked=pooled["picked"],
    )
    given = pd.DataFrame(
        {
            "log": pooled.index,
            "cells": pooled["cells_tested"].astype(int).to_numpy(),
            "p": [p_of(x) for x in pooled["p_conditional"]],
            "p, Holm": [p_of(x) for x in pooled["p_conditional_holm"]],
            "p without the ends": [p_of(x) for x in pooled["p_conditional_inside"]],
            "slope": [said(r, "slope") for r in pooled.to_dict("records")],
            "slope, split panels": [said(r, "slope_inside") for r in pooled.to_dict("records")],
            "left all wrong": [
                f"{a} of {b}" for a, b in pooled[["left_all_wrong", "all_wrong"]].to_numpy(int)
            ],
            "left all right": [
                f"{a} of {b}" for a, b in pooled[["left_all_right", "all_right"]].to_numpy(int)
            ],
        }
    )
    chosen = tables["selection"]
    picked = pd.DataFrame(
        {
            "log": chosen["log"],
            "debates chosen": chosen["debates chosen"],
            "debates": chosen["n_pairs"],
            "questions": chosen["n_clusters"],
            "drift, rounds 1-2": [said(r) for r in chosen.to_dict("records")],
        }
    )
    other = tables["sensitivity"]
    sure = other[["log", "reading", "missing"]].assign(
        drift=[said(r) for r in other.to_dict("records")],
        p=[p_of(x) for x in other["p_value"]],
        **{"p given the start": [p_of(x) for x in other["p_conditional"]]},
    )
    named = rounds.reset_index().rename(columns={"pooled": "all rounds"})
    named = named[["log", "picked", "1-2", "2-3", "3-4", "all rounds", "p 1-2, Holm", "p all, Holm"]]
    return {
        "drift": named.rename(columns={"picked": "picked for a failed majority"}),
        "given the start": given,
        "selection": picked,
        "sensitivity": sure,
        "refused": tables["refused"],
    }


def said(row: Mapping[str, Any], name: str = "drift") -> str:
    """Return an estimate with its interval, three decimals."""
    low, high = (row["low"], row["high"]) if name == "drift" else (row[f"{name}_low"], row[f"{name}_high"])
    if pd.isna(row[name]):
        return "-"
    # Where every question moved alike there is an estimate and no interval.
    return f"{row[name]:+.3f}" + ("" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]")


def p_of(value: float | None) -> str:
    """Return a p-value: three decimals, or that it is smaller; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return "-"
    return "<.001" if value < 0.0005 else f"{value:.3f}"


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
