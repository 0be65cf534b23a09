"""Does the best of k scores tell a better answer from a worse one more clearly than one score, on real scores?

Run: D3STATS_DATA=FOLDER python analysis/max_of_k/run.py [-o FOLDER]

Writes ``separation.csv`` (a row per panel, k and quantity, with intervals), ``panels.csv`` (correlation, effective
number, ceiling) and ``predicted.csv`` (what the laws of single scores predict for the whole panel).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from d3stats.models.separation import correlated_separation, effective_advocates, score_correlation
from d3stats.models.separation.laws import DiscreteLaw, mean_of_max
from d3stats.models.separation.logged import separation_from_scores
from d3stats.resampling.clusters import cluster_totals, resampled_totals

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from panels_of_scores import Panel, llmbar, prd  # noqa: E402

SEED, N_BOOT, LEVEL = 1, 4000, 0.95
QUANTITIES = ["expected_gap", "gap_change", "mean_gap", "ranking", "ranking_change", "prob_tie"]


def separated(panel: Panel) -> pd.DataFrame:
    """Return the separation for every k, each side's advocates drawn on their own, and with the same ones."""
    ks = np.arange(1, panel.better.shape[1] + 1)
    found = separation_from_scores(
        panel.better, panel.worse, ks, cluster=panel.cluster, level=LEVEL, n_boot=N_BOOT, rng=SEED
    )
    table = found.to_frame()
    rows = pd.concat(
        [table[table["quantity"].isin(QUANTITIES)].drop(columns="se"), same_advocates(panel, ks)]
    )
    return rows.assign(panel=panel.name)[["panel", "k", "quantity", "estimate", "low", "high"]]


def same_advocates(panel: Panel, ks: np.ndarray) -> pd.DataFrame:
    """Return what the same k advocates say of both answers by their best and by their average score."""
    whole = ~np.isnan(np.concatenate([panel.better, panel.worse], axis=1)).any(axis=1)
    better, worse = panel.better[whole], panel.worse[whole]
    gaps: list[np.ndarray] = []
    signed: list[np.ndarray] = []
    ranks: list[np.ndarray] = []
    means: list[np.ndarray] = []
    for k in ks:
        chosen = [list(who) for who in combinations(range(better.shape[1]), int(k))]
        best = apart(better, worse, chosen, np.max)
        gaps.append(np.abs(best).mean(axis=0))
        signed.append(best.mean(axis=0))
        ranks.append((np.sign(best).mean(axis=0) + 1) / 2)
        means.append((np.sign(apart(better, worse, chosen, np.mean)).mean(axis=0) + 1) / 2)
    per_item = np.stack([*gaps, *signed, *ranks, *means, np.ones(len(better))], axis=1)
    totals = cluster_totals(per_item, np.unique(panel.cluster[whole], return_inverse=True)[1])
    drawn = resampled_totals(totals, N_BOOT, SEED)
    estimate, draws = (x[:, :-1] / x[:, -1:] for x in (totals.sum(axis=0, keepdims=True), drawn))
    n = ks.size
    rows = []
    for at, name in enumerate(("expected_gap_same", "mean_gap_same", "ranking_same", "ranking_average")):
        start = at * n
        for i, k in enumerate(ks):
            for label, base in ((name, 0), (f"{name}_change", 1)):
                point, sample = (x[:, start + i] - base * x[:, start] for x in (estimate, draws))
                low, high = np.quantile(sample, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
                # A change from k = 1 to itself is 0 in every sample: it has no error, so no interval either.
                low, high = (np.nan, np.nan) if low == high else (low, high)
                rows.append({"k": k, "quantity": label, "estimate": point[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def apart(better: np.ndarray, worse: np.ndarray, chosen: list[list[int]], of: Any) -> np.ndarray:
    """Return the gap of a summary of each chosen group, shape (groups, items); a rounding error is a tie."""
    gap = np.stack([of(better[:, who], axis=1) - of(worse[:, who], axis=1) for who in chosen])
    return np.where(np.abs(gap) < 1e-9, 0.0, gap)


def described(panel: Panel) -> dict[str, Any]:
    """Return how alike the advocates score, how many they are worth, and how often they sit at the top."""
    width = panel.better.shape[1]
    row: dict[str, Any] = {
        "panel": panel.name,
        "items": len(panel.better),
        "clusters": np.unique(panel.cluster).size,
        "advocates": width,
        "missing": int(np.isnan(panel.better).sum() + np.isnan(panel.worse).sum()),
    }
    for side, scores in (("better", panel.better), ("worse", panel.worse)):
        alike = score_correlation(scores, cluster=panel.cluster, level=LEVEL, n_boot=N_BOOT, rng=SEED)
        row |= {
            f"mean_{side}": np.nanmean(scores),
            f"icc_{side}": alike.estimate,
            f"icc_{side}_low": alike.low,
            f"icc_{side}_high": alike.high,
            f"worth_variance_{side}": effective_advocates(width, alike.estimate, "variance"),
            f"worth_maximum_{side}": worth_by_maximum(scores),
            f"top_{side}": np.mean(scores[~np.isnan(scores)] >= panel.top),
            f"top_best_{side}": np.mean(np.nanmax(scores, axis=1) >= panel.top),
        }
    both = [np.nanmax(x, axis=1) >= panel.top for x in (panel.better, panel.worse)]
    points = np.union1d(panel.better, panel.worse)
    points = points[~np.isnan(points)]
    laws = [DiscreteLaw.empirical(x) for x in (panel.better, panel.worse)]
    row["dominance_fails_by"] = max(float((laws[0].cdf(points) - laws[1].cdf(points)).max()), 0.0)
    row["top_best_both"] = np.mean(both[0] & both[1])
    return row


def worth_by_maximum(scores: np.ndarray) -> float:
    """Return how many independent draws from all scores have the mean of the items' best."""
    law = DiscreteLaw.empirical(scores)
    target = float(np.nanmax(scores, axis=1).mean())
    width = scores.shape[1]
    at_most = float(mean_of_max(law, width)[0])
    if at_most <= target:
        return float(width)
    return float(brentq(lambda m: float(mean_of_max(law, m)[0]) - target, 1.0, width))


def predicted(panel: Panel, row: Mapping[str, Any], seen: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what the pooled laws of single scores say of all advocates, and what is seen."""
    laws = [DiscreteLaw.empirical(x) for x in (panel.better, panel.worse)]
    k = panel.better.shape[1]
    alike = tuple(min(max(row[f"icc_{side}"], 0.0), 1.0) for side in ("better", "worse"))
    rows = []
    for name, n, rho in (("one advocate", 1, 0.0), ("independent", k, 0.0), ("correlated", k, alike)):
        found = correlated_separation(*laws, n, rho=rho)
        rows.append({"panel": panel.name, "k": n, "law": name, "ranking": found.ranking[0],
                     "expected_gap": found.expected_gap[0]})  # fmt: skip
    last = seen[seen["k"] == k].set_index("quantity")["estimate"]
    return [*rows, {"panel": panel.name, "k": k, "law": "seen", **last[["ranking", "expected_gap"]]}]


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of every panel."""
    panels = [*llmbar(folder), prd(folder)]
    seen = [separated(panel) for panel in panels]
    rows = [described(panel) for panel in panels]
    laws = [line for each in zip(panels, rows, seen, strict=True) for line in predicted(*each)]
    return {"separation": pd.concat(seen), "panels": pd.DataFrame(rows), "predicted": pd.DataFrame(laws)}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    rows = tables["separation"].set_index(["panel", "quantity", "k"])
    panels = tables["panels"]

    def cell(panel: str, quantity: str, k: int, sign: str = "") -> str:
        e, low, high = rows.loc[(panel, quantity, k), ["estimate", "low", "high"]]
        return f"{e:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

    def interval(row: Mapping[str, Any], name: str) -> str:
        return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"

    ends = panels[["panel", "advocates", "dominance_fails_by"]].itertuples(index=False)
    changes = [
        {
            "panel": panel,
            "k": f"1 to {k}",
            "gap at k = 1": cell(panel, "expected_gap", 1),
            "its change": cell(panel, "gap_change", k, "+"),
            "same advocates": cell(panel, "expected_gap_same_change", k, "+"),
            "change of the mean gap": cell(panel, "mean_gap_same_change", k, "+"),
            "ranking at k = 1": cell(panel, "ranking", 1),
            "its change ": cell(panel, "ranking_change", k, "+"),
            "dominance": "holds" if fails == 0 else f"fails by {fails:.3f}",
        }
        for panel, k, fails in ends
    ]
    by_k = [
        {
            "panel": panel,
            "k": k,
            "mean gap": cell(panel, "mean_gap", k, "+"),
            "ties": cell(panel, "prob_tie", k),
            "ranking": cell(panel, "ranking", k),
            "ranking, same advocates": cell(panel, "ranking_same", k),
            "ranking by their average": cell(panel, "ranking_average", k),
        }
        for panel, width in panels[["panel", "advocates"]].itertuples(index=False)
        for k in range(1, width + 1)
        if not panel.startswith("of these")
    ]
    alike = [
        {
            "panel": row["panel"],
            "items": row["items"],
            "advocates": row["advocates"],
            "correlation, better": interval(row, "icc_better"),
            "correlation, worse": interval(row, "icc_worse"),
            "worth by variance": f"{row['worth_variance_better']:.2f}, {row['worth_variance_worse']:.2f}",
            "worth by maximum": f"{row['worth_maximum_better']:.2f}, {row['worth_maximum_worse']:.2f}",
        }
        for row in panels.to_dict("records")
    ]
    tops = [
        {
            "panel": row["panel"],
            "single score, better": f"{row['top_better']:.3f}",
            "single score, worse": f"{row['top_worse']:.3f}",
            "best, better": f"{row['top_best_better']:.3f}",
            "best, worse": f"{row['top_best_worse']:.3f}",
            "both at the top": f"{row['top_best_both']:.3f}",
        }
        for row in panels.to_dict("records")
    ]
    laws = tables["predicted"].assign(
        text=lambda d: d["ranking"].map("{:.3f}".format) + " / " + d["expected_gap"].map("{:.3f}".format)
    )
    texts = laws.set_index(["panel", "law"])["text"]
    columns = ["one advocate", "independent", "correlated", "seen"]
    wide = pd.DataFrame([{"panel": p} | {law: texts[p, law] for law in columns} for p in panels["panel"]])
    return {
        "changes": pd.DataFrame(changes),
        "by_k": pd.DataFrame(by_k),
        "alike": pd.DataFrame(alike),
        "tops": pd.DataFrame(tops),
        "laws": wide,
    }


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
