"""Does a jury of real judges beat one of them, how much is the next juror worth, and how many are they really?

Run: D3STATS_DATA=FOLDER python analysis/juries/run.py [-o FOLDER]

Writes ``curves.csv`` (a row per jury and size, with intervals), ``juries.csv`` (a row per jury), ``jurors.csv`` (a row
per jury and juror) and ``models.csv`` (the agents of each small model, before and after they talk).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.estimate import Estimate
from d3stats.inference.judges.jury import JuryCurve, jury_curve

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from juries import juries, kappa_of_decided, slm7_by_model  # noqa: E402

SEED = 1
ESTIMATES = {
    "accuracy": "accuracy",
    "single": "single",
    "gain": "gain",
    "kish": "effective.kish",
    "eigen": "effective.eigen",
    "correlation": "effective.correlation",
    "spread": "effective.spread",
    "worst": "effective.worst",
    "limit": "limit",
    "next": "next_jurors",
    "best": "best",
    "over_best": "over_best",
}
FEW = ("single", "accuracy", "gain", "kish", "eigen", "correlation")


def summary(name: str, found: JuryCurve, ratings: Any) -> dict[str, Any]:
    """Return one row: what the jury is worth, with intervals."""
    row: dict[str, Any] = {
        "jury": name,
        "jurors": found.size,
        "items": found.n_items,
        "clusters": found.n_clusters,
        **kappa_of_decided(ratings),
    }
    if len(ratings.categories) > 3:
        # Answers are coded question by question: there is no table of answers to agree on.
        row["kappa"] = np.nan
    for key, attribute in ESTIMATES.items():
        estimate: Estimate | None = attrgetter(attribute)(found)
        values = (None,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
        row |= dict(zip((key, f"{key}_low", f"{key}_high"), values, strict=True))
    worth = found.effective
    assert worth is not None
    row |= dict(zip(("chance_low", "chance", "chance_high"), worth.independent, strict=True))
    row |= {"worst_p": worth.worst.p_value, "eigen_p": None if worth.eigen is None else worth.eigen.p_value}
    pair = worth.pairs.loc[worth.pairs["correlation"].idxmax()]
    row["worst_pair"] = f"{pair['first']} and {pair['second']}"
    row["best_note"] = found.best.note
    regular = found.jurors[found.jurors["n"] >= found.jurors["n"].max() / 2]
    row["best_here"] = regular["accuracy"].max()
    last = found.curve.iloc[-1]
    row |= {f"price{end}": last[f"price{end}"] for end in ("", "_low", "_high")}
    return row


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of every jury."""
    curves, rows, jurors = [], [], []
    for name, ratings in juries(folder).items():
        found = jury_curve(ratings, rng=SEED)
        limit = found.to_plot_frame()[["ceiling", "ceiling_low", "ceiling_high"]]
        curves.append(found.curve.join(limit).assign(jury=name))
        rows.append(summary(name, found, ratings))
        jurors.append(found.jurors.assign(jury=name))
    return {
        "curves": pd.concat(curves),
        "juries": pd.DataFrame(rows),
        "jurors": pd.concat(jurors),
        "models": pd.DataFrame(models()),
    }


def models() -> Iterator[dict[str, Any]]:
    """Yield what seven agents of one small model are worth, before they talk and after."""
    for (name, at), ratings in slm7_by_model().items():
        found = jury_curve(ratings, rng=SEED)
        row = summary(name, found, ratings)
        kept = [f"{key}{end}" for key in FEW for end in ("", "_low", "_high")]
        yield {"model": name, "round": at, "items": found.n_items} | {key: row[key] for key in kept}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""

    def cell(row: Mapping[str, Any], key: str, digits: int = 3, sign: str = "") -> str:
        if pd.isna(row[key]):
            return "-"
        value = f"{row[key]:{sign}.{digits}f}"
        low, high = row[f"{key}_low"], row[f"{key}_high"]
        return value if pd.isna(low) else f"{value} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"

    def alike(row: Mapping[str, Any]) -> dict[str, Any]:
        return {**row, "accuracy_low": row["low"], "accuracy_high": row["high"]}

    rows = tables["juries"].to_dict("records")
    accuracy = [
        {
            "jury": row["jury"],
            "jurors": row["jurors"],
            "items": f"{row['items']} in {row['clusters']}",
            "one juror": cell(row, "single"),
            "all": cell(row, "accuracy"),
            "all - one": cell(row, "gain", sign="+"),
            "best one": cell(row, "best"),
            "best on the same items": f"{row['best_here']:.3f}",
            "all - best one": cell(row, "over_best", sign="+"),
            "independent - all": cell(row, "price", sign="+"),
        }
        for row in rows
    ]
    by_model = [
        {
            "model": row["model"],
            "round": row["round"],
            "items": row["items"],
            "one agent": cell(row, "single"),
            "all seven": cell(row, "accuracy"),
            "Kish": cell(row, "kish", 2),
            "largest eigenvalue": cell(row, "eigen", 2),
            "correlation of errors": cell(row, "correlation", 2),
        }
        for row in tables["models"].to_dict("records")
    ]
    worth = [
        {
            "jury": row["jury"],
            "jurors": row["jurors"],
            "Kish": cell(row, "kish", 2),
            "largest eigenvalue": cell(row, "eigen", 2),
            "independent jurors": cell(row, "chance", 2),
            "correlation of errors": cell(row, "correlation", 2),
            "SD over pairs": "-" if pd.isna(row["spread"]) else f"{row['spread']:.2f}",
            "largest": f"{row['worst']:.2f} ({row['worst_pair']}, p = {row['worst_p']:.3f})",
            "limit of a large panel": cell(row, "limit", 2),
            "gain per juror of two more": cell(row, "next", 4, "+"),
        }
        for row in rows
    ]
    decided = [
        {
            "jury": row["jury"],
            "decided items": row["decided_items"],
            "accuracy where decided": f"{row['decided_accuracy']:.3f}",
            "kappa": "-" if pd.isna(row["kappa"]) else f"{row['kappa']:.3f}",
        }
        for row in rows
    ]
    one_by_one = [
        {
            "jury": row["jury"],
            "juror": row["juror"],
            "items": row["n"],
            "accuracy": cell(alike(row), "accuracy"),
        }
        for row in tables["jurors"].to_dict("records")
        if row["jury"] in ("PRD, ten votes", "PandaLM, 2 humans on the third", "LLMBar, judges")
    ]
    curves = tables["curves"]
    wanted = ("PRD, ten votes", "LLMBar, judges", "LLMBar, GPT-4's prompts", "slm7, round 1")
    steps = [
        {
            "jury": row["jury"],
            "k": row["k"],
            "accuracy": cell(alike(row), "accuracy"),
            "gain of the k-th": cell(row, "gain", sign="+"),
            "independent": f"{row['independent']:.3f}",
        }
        for row in curves[curves["jury"].isin(wanted)].to_dict("records")
    ]
    return {
        "accuracy": pd.DataFrame(accuracy),
        "worth": pd.DataFrame(worth),
        "models": pd.DataFrame(by_model),
        "decided": pd.DataFrame(decided),
        "jurors": pd.DataFrame(one_by_one),
        "steps": pd.DataFrame(steps),
    }


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
