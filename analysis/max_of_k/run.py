"""Does the best of k scores tell a better answer from a worse one more clearly than one score, on real scores?

Run: D3STATS_DATA=FOLDER python analysis/max_of_k/run.py [-o FOLDER]

Writes ``separation.csv`` (a row per panel, k and quantity, with intervals), ``panels.csv`` (correlation, effective
number, ceiling) and ``predicted.csv`` (what the laws of single scores predict for the whole panel).
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from d3stats import import_log
from d3stats.models._correlated import mean_of_power
from d3stats.models._resample import cluster_totals, resampled_totals
from d3stats.models.advocates import correlated_separation, effective_advocates, score_correlation
from d3stats.models.logged_separation import separation_from_scores
from d3stats.models.score_law import DiscreteLaw

HERE = Path(__file__).resolve().parent
SEED, N_BOOT, LEVEL = 1, 4000, 0.95
QUANTITIES = ["expected_gap", "gap_change", "mean_gap", "ranking", "ranking_change", "prob_tie"]
MODELS = ("bard", "claude", "gpt35", "gpt4", "vicuna-13b")


@dataclass(frozen=True)
class Panel:
    """Scores of the better and the worse answer of each item, shape (items, advocates), as shares of the rubric."""

    name: str
    better: np.ndarray
    worse: np.ndarray
    cluster: np.ndarray
    top: float


def data_folder() -> Path:
    """Return where the logs are: ``D3STATS_DATA``, or the folder beside the repository."""
    return Path(os.environ.get("D3STATS_DATA", HERE.parents[2] / "shared" / "data"))


def llmbar(folder: Path) -> list[Panel]:
    """Read the ratings: an advocate is one rating prompt of one model; the gold label says which answer is better."""
    votes = pd.read_csv(folder / "derived" / "llmbar_votes.csv.gz")
    votes = votes[votes["strategy"].str.startswith("Rating")]
    votes = votes.assign(advocate=votes["judge"] + " " + votes["strategy"])
    first, second = (
        votes.pivot_table(index=["subset", "item", "label"], columns="advocate", values=f"score_{i}") / 9
        for i in (1, 2)
    )
    first, second = first.align(second)
    keys = first.index.to_frame(index=False)
    one = (keys["label"] == 1).to_numpy()[:, None]
    better, worse = (np.where(one == side, first, second) for side in (True, False))
    gpt4 = np.array([name.startswith("GPT-4") for name in first.columns])
    natural = (keys["subset"] == "Natural").to_numpy()
    everyone, items = np.full(gpt4.size, True), np.full(len(keys), True)
    cut = {
        "LLMBar, GPT-4, 5 prompts": (items, gpt4),
        "of these, natural": (natural, gpt4),
        "of these, adversarial": (~natural, gpt4),
        "LLMBar, ChatGPT, 2 prompts": (items, ~gpt4),
        "LLMBar, all 7 prompts": (items, everyone),
    }
    return [
        Panel(name, better[rows][:, who], worse[rows][:, who], np.flatnonzero(rows), 1.0)
        for name, (rows, who) in cut.items()
    ]


def prd(folder: Path) -> Panel:
    """Read the reviews: an advocate is a reviewer; its score of an answer is the share of 8 comparisons won.

    Each reviewer compared the five answers to a question two by two in both orders; a tie counts half. The better
    answer of a pair is the one that most humans preferred.
    """
    archive = next((folder / "bcdnlp__PRD").glob("*.tar.gz"))
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log("prd", archive, path)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = {line["debate"]: line for line in lines if line["type"] == "item"}
    won: dict[tuple[str, str, str], list[float]] = {}
    for turn in lines:
        if turn["type"] != "turn" or turn["role"] != "judge" or turn["agent"].endswith("again"):
            continue
        question, one, two = pair_of(turn["debate"])
        share = {"1": 1.0, "2": 0.0, "tie": 0.5}[turn["vote"]]
        won.setdefault((question, one, turn["model"]), []).append(share)
        won.setdefault((question, two, turn["model"]), []).append(1 - share)
    incomplete = {key: len(shares) for key, shares in won.items() if len(shares) != 8}
    if incomplete:
        raise ValueError(f"every reviewer must have 8 comparisons of an answer; got {incomplete}")
    better, worse, cluster = [], [], []
    for debate, item in labels.items():
        question, one, two = pair_of(debate)
        if item.get("label") in ("1", "2") and {one, two} <= set(MODELS):
            ahead, behind = (one, two) if item["label"] == "1" else (two, one)
            for rows, answer in ((better, ahead), (worse, behind)):
                rows.append([float(np.mean(won[question, answer, reviewer])) for reviewer in MODELS])
            cluster.append(int(question))
    return Panel("PRD, 5 reviewers", np.array(better), np.array(worse), np.array(cluster), 1.0)


def pair_of(debate: str) -> tuple[str, str, str]:
    """Return the question and the two models of a debate's name."""
    _, question, pair = debate.split("/")
    one, two = pair.split("-vs-")
    return question, one, two


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
    return rows.assign(panel=panel.name)[["panel", "k", "quantity", "estimate", "lower", "upper"]]


def same_advocates(panel: Panel, ks: np.ndarray) -> pd.DataFrame:
    """Return ranking and gap when the same k advocates score both answers, over every choice of k."""
    whole = ~np.isnan(np.concatenate([panel.better, panel.worse], axis=1)).any(axis=1)
    better, worse = panel.better[whole], panel.worse[whole]
    gaps, ranks = [], []
    for k in ks:
        chosen = [list(who) for who in combinations(range(better.shape[1]), int(k))]
        apart = np.stack([better[:, who].max(axis=1) - worse[:, who].max(axis=1) for who in chosen])
        apart = np.where(np.abs(apart) < 1e-9, 0.0, apart)
        gaps.append(np.abs(apart).mean(axis=0))
        ranks.append((np.sign(apart).mean(axis=0) + 1) / 2)
    per_item = np.stack([*gaps, *ranks, np.ones(len(better))], axis=1)
    totals = cluster_totals(per_item, np.unique(panel.cluster[whole], return_inverse=True)[1])
    drawn = resampled_totals(totals, N_BOOT, SEED)
    estimate, draws = (x[:, :-1] / x[:, -1:] for x in (totals.sum(axis=0, keepdims=True), drawn))
    n = ks.size
    rows = []
    for name, start in (("expected_gap_same", 0), ("ranking_same", n)):
        for i, k in enumerate(ks):
            for label, base in ((name, 0), (f"{name}_change", 1)):
                point, sample = (x[:, start + i] - base * x[:, start] for x in (estimate, draws))
                low, high = np.quantile(sample, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
                rows.append({"k": k, "quantity": label, "estimate": point[0], "lower": low, "upper": high})
    return pd.DataFrame(rows)


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
    row["top_best_both"] = np.mean(both[0] & both[1])
    return row


def worth_by_maximum(scores: np.ndarray) -> float:
    """Return how many independent draws from all scores have the mean of the items' best."""
    law = DiscreteLaw.empirical(scores)
    target = float(np.nanmax(scores, axis=1).mean())
    width = scores.shape[1]
    at_most = mean_of_power(law, float(width))
    if at_most <= target:
        return float(width)
    return float(brentq(lambda m: mean_of_power(law, m) - target, 1.0, width))


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
        e, low, high = rows.loc[(panel, quantity, k), ["estimate", "lower", "upper"]]
        return f"{e:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

    def interval(row: Mapping[str, Any], name: str) -> str:
        return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"

    ends = panels[["panel", "advocates"]].itertuples(index=False)
    changes = [
        {
            "panel": panel,
            "k": f"1 to {k}",
            "gap at k = 1": cell(panel, "expected_gap", 1),
            "change of the gap": cell(panel, "gap_change", k, "+"),
            "ranking at k = 1": cell(panel, "ranking", 1),
            "change of the ranking": cell(panel, "ranking_change", k, "+"),
        }
        for panel, k in ends
    ]
    by_k = [
        {
            "panel": panel,
            "k": k,
            "mean gap": cell(panel, "mean_gap", k, "+"),
            "ties": cell(panel, "prob_tie", k),
            "ranking": cell(panel, "ranking", k),
            "ranking, same advocates": cell(panel, "ranking_same", k),
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
    wide = laws.pivot(index="panel", columns="law", values="text").loc[panels["panel"]]
    wide = wide[["one advocate", "independent", "correlated", "seen"]].reset_index()
    return {
        "changes": pd.DataFrame(changes),
        "by_k": pd.DataFrame(by_k),
        "alike": pd.DataFrame(alike),
        "tops": pd.DataFrame(tops),
        "laws": wide,
    }


def main() -> None:
    """Write the tables, and refresh the findings when they are written beside them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE)
    output = parser.parse_args().output
    folder = data_folder()
    if not folder.is_dir():
        sys.exit(f"REAL SCORES NOT READ: no folder {folder} (set D3STATS_DATA)")
    output.mkdir(parents=True, exist_ok=True)
    write = runpy.run_path(str(HERE.parents[1] / "simulations" / "findings_tables.py"))["write"]
    for name, table in write(
        HERE if output.resolve() == HERE else output, output, study(folder), shown
    ).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
