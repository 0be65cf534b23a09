"""The panels: logged scores of the better and of the worse answer by several raters of one item."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from d3stats import import_log

MODELS = ("bard", "claude", "gpt35", "gpt4", "vicuna-13b")


@dataclass(frozen=True)
class Panel:
    """Scores of the better and the worse answer of each item, shape (items, advocates), as shares of the rubric."""

    name: str
    better: np.ndarray
    worse: np.ndarray
    cluster: np.ndarray
    top: float


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
