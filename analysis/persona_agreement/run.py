"""Does a persona leave a trace in the answers of small models: in how alike they are, and in how often they are right?

Run: python analysis/persona_agreement/run.py [-o FOLDER]

Reads the votes that ``analysis/ensemble_size`` made (MIT). Writes ``alike.csv`` (equal answers of one persona in two
panels, and of two personas) and ``personas.csv`` (each persona against the other seats of its debates).
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from d3stats.planning.costs import share
from d3stats.resampling import cluster_t, cluster_totals

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import write  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
VOTES = HERE.parent / "ensemble_size" / "votes.csv"
BENCHMARKS = {"both": ("gsm", "mmlu"), "GSM8K": ("gsm",), "MMLU": ("mmlu",)}

Floats = NDArray[np.float64]


def pairs(votes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per two seats of one model on one question in round 1: same persona or panel, equal, both right.

    Round 1 is before any debate, so two seats of different panels have seen the same and nothing of each other.
    """
    rows = []
    for (benchmark, model, question), part in votes.dropna(subset=["round_1"]).groupby(
        ["benchmark", "model", "question"], sort=False
    ):
        seats = list(zip(part["seats"], part["persona"], part["round_1"], strict=True))
        for (size, persona, vote), (other, second, said) in combinations(seats, 2):
            kind = "one panel" if size == other else "same persona" if persona == second else "other persona"
            rows.append((benchmark, model, question, kind, vote == said, (vote == 0) == (said == 0)))
    return pd.DataFrame(
        rows, columns=["benchmark", "model", "question", "kind", "equal", "both_right_or_wrong"]
    )


def differences(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return, for each model and question, the share for one persona minus that for two, where both kinds occur.

    Within a model and a question both kinds have the same difficulty.
    """
    keys = ["benchmark", "model", "question"]
    means = table.groupby([*keys, "kind"])[measure].mean().reset_index()
    means = means.pivot_table(index=keys, columns="kind", values=measure)
    kept = means.dropna(subset=["same persona", "other persona"]).reset_index()
    return kept.assign(less=kept["same persona"] - kept["other persona"], one=1.0)


def alike(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return the share of equal answers by kind of pair, and the difference between one persona and two."""
    rows = []
    for group, names in BENCHMARKS.items():
        part = table[table["benchmark"].isin(names)]
        cluster = part["question"].to_numpy(dtype=np.int64)
        kinds = {
            kind: (part["kind"] == kind).to_numpy(dtype=float)
            for kind in ("same persona", "other persona", "one panel")
        }
        for measure in ("equal", "both_right_or_wrong"):
            value = part[measure].to_numpy(dtype=float)
            for kind, here in kinds.items():
                found = share(here * value, here, cluster, level)
                rows.append((group, measure, kind, found.value, found.low, found.high, int(here.sum())))
            apart = differences(part, measure)
            totals = cluster_totals(
                apart[["less", "one"]].to_numpy(float), apart["question"].to_numpy(np.int64)
            )
            made = cluster_t(totals, lambda s: s[:, 0] / s[:, 1], level=level)
            low, high = made.interval()
            rows.append((group, measure, "same minus other", float(made.estimate[0]), low, high, len(apart)))
    columns = ["benchmark", "measure", "kind", "value", "low", "high", "pairs"]
    return pd.DataFrame(rows, columns=columns)


def personas(votes: pd.DataFrame, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how much more often each persona is right than the other seats of its debates, in round 1.

    A missing vote is left out on both sides; a debate in which no other seat voted does not count.
    """
    cast = votes.dropna(subset=["round_1"]).assign(right=lambda t: (t["round_1"] == 0).astype(float))
    key = ["benchmark", "model", "seats", "question"]
    by_debate = cast.groupby(key)["right"].agg(["sum", "count"])
    cast = cast.join(by_debate, on=key)
    cast = cast[cast["count"] > 1].assign(
        others=lambda t: (t["sum"] - t["right"]) / (t["count"] - 1), more=lambda t: t["right"] - t["others"]
    )
    logs = cast.drop_duplicates(["persona", "benchmark", "model", "seats"]).groupby("persona").size()
    rows = []
    for name in sorted(logs.index[logs >= config["least_logs"]]):
        part = cast[cast["persona"] == name]
        pair = np.column_stack([part["more"], np.ones(len(part))])
        totals = cluster_totals(pair, part["question"].to_numpy(dtype=np.int64))
        made = cluster_t(totals, lambda s: s[:, 0] / s[:, 1], level=config["level"])
        low, high = made.interval()
        rows.append(
            {
                "persona": name,
                "logs": int(logs[name]),
                "models": part["model"].nunique(),
                "votes": len(part),
                "questions": len(totals),
                "right": float(part["right"].mean()),
                "others": float(part["others"].mean()),
                "difference": float(made.estimate[0]),
                "low": low,
                "high": high,
                "p": float(made.p_value[0]),
            }
        )
    table = pd.DataFrame(rows)
    return table.assign(p_holm=multipletests(table["p"], method="holm")[1])


def study(votes: pd.DataFrame, config: Mapping[str, Any] = CONFIG) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    return {"alike": alike(pairs(votes), config["level"]), "personas": personas(votes, config)}


def cell(value: float, low: float, high: float, sign: str = "") -> str:
    """Return an estimate with its interval."""
    return f"{value:{sign}.3f}" + ("" if pd.isna(low) else f" [{low:{sign}.3f}, {high:{sign}.3f}]")


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    table = tables["alike"]
    table = table.assign(
        cell=[cell(r.value, r.low, r.high, "+" if "minus" in r.kind else "") for r in table.itertuples()]
    )
    wide = {
        measure: rows.pivot_table(
            index="benchmark", columns="kind", values="cell", aggfunc="first", sort=False
        ).reset_index()
        for measure, rows in table.groupby("measure", sort=False)
    }
    counted = table[table["measure"] == "equal"].pivot_table(
        index="benchmark", columns="kind", values="pairs", aggfunc="first", sort=False
    )
    counts = counted.drop(columns="same minus other").reset_index()
    each = tables["personas"]
    seats = pd.DataFrame(
        {
            "persona": each["persona"],
            "logs (models)": [f"{r.logs} ({r.models})" for r in each.itertuples()],
            "votes": each["votes"],
            "right": each["right"].map("{:.3f}".format),
            "other seats": each["others"].map("{:.3f}".format),
            "difference": [cell(r.difference, r.low, r.high, "+") for r in each.itertuples()],
            "p, Holm": each["p_holm"].map("{:.3f}".format),
        }
    )
    return {
        "equal": wide["equal"],
        "right or wrong": wide["both_right_or_wrong"],
        "counts": counts,
        "personas": seats,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    tables = write(HERE, out.resolve(), study(pd.read_csv(VOTES)), shown)
    print(*(f"== {name}\n{frame.to_string(index=False)}\n" for name, frame in tables.items()), sep="\n")
