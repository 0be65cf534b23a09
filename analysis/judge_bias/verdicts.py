"""Verdicts on pairs, as the audits read them, from the public judgments: a tidy table per source."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats import import_log

MODELS = ("bard", "claude", "gpt35", "gpt4", "vicuna-13b")
FAMILY = {"gpt35": "GPT", "gpt4": "GPT"}
"""GPT-3.5 and GPT-4 are one family; every other model is its own."""


def llmbar(folder: Path) -> pd.DataFrame:
    """Read the first votes of every judge and strategy in both orders; the label is known for every item.

    Strategies that ask again start with what they first asked: Swap with Vanilla, Swap_CoT with CoT. They are left
    out, as are ratings of single answers, where nothing is shown first.
    """
    votes = pd.read_csv(folder / "derived" / "llmbar_votes.csv.gz")
    paired = ~votes["strategy"].str.startswith(("Swap", "Rating"))
    votes = votes[paired]
    parts = [
        pd.DataFrame(
            {
                "item": votes["subset"] + "/" + votes["item"].astype(str),
                "judge": votes["judge"] + ", " + votes["strategy"],
                "order": order,
                "vote": votes[column],
                "label": votes["label"],
            }
        )
        for order, column in (("AB", "winner_order_F"), ("BA", "winner_order_T"))
    ]
    return pd.concat(parts, ignore_index=True)


def llmbar_lengths(folder: Path) -> pd.DataFrame:
    """Read how many characters the two outputs of an item have, from the raw files that hold the texts."""
    rows = []
    for path in sorted((folder / "princeton-nlp__LLMBar").glob("*__GPT-4__Vanilla.json")):
        subset = path.name.split("__")[0].replace("_", "/")
        for index, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            lengths = (len(entry["output_1"]), len(entry["output_2"]))
            rows.append((f"{subset}/{index}", *lengths))
    return pd.DataFrame(rows, columns=["item", "length_a", "length_b"])


def prd(folder: Path) -> pd.DataFrame:
    """Read five LLM reviewers on ten pairs of answers to each of 80 questions, in both orders.

    The label is the plurality of the humans. Reviewers also judged pairs that hold their own answer.
    """
    archive = next((folder / "bcdnlp__PRD").glob("*.tar.gz"))
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log("prd", archive, path)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = {line["debate"]: line for line in lines if line["type"] == "item"}
    return pd.DataFrame(_reviews(lines, items))


def _reviews(lines: list[dict[str, Any]], items: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for turn in lines:
        if turn["type"] != "turn" or turn["role"] != "judge":
            continue
        one, two = turn["debate"].split("/")[2].split("-vs-")
        order = "AB" if "(1-2)" in turn["agent"] else "BA"
        families = [FAMILY.get(name, name) for name in (one, two, turn["model"])]
        yield {
            "item": turn["debate"],
            "judge": turn["model"],
            "order": order,
            "vote": turn["vote"],
            "label": items[turn["debate"]].get("label"),
            "cluster": items[turn["debate"]]["question"],
            "model_a": one,
            "model_b": two,
            **dict(zip(("family_a", "family_b", "judge_family"), families, strict=True)),
        }


def pandalm(folder: Path) -> pd.DataFrame:
    """Read two judges on 999 pairs of responses shown in one order; lengths in characters, questions as clusters.

    The label is the majority of three humans, missing without one. What GPT-3.5 did not decide ("garbage") is missing.
    """
    place = folder / "WeOpenML__PandaLM"
    humans = pd.DataFrame(json.loads((place / "testset-v1.json").read_text(encoding="utf-8")))
    votes = humans[["annotator1", "annotator2", "annotator3"]]
    most = votes.mode(axis=1)
    label = most[0].where(most.notna().sum(axis=1) == 1)
    meaning = {"0": "tie", "1": "A", "2": "B"}
    shared = pd.DataFrame(
        {
            "idx": humans["idx"],
            "item": humans["idx"].astype(str),
            "order": "AB",
            "label": label.map(lambda v: None if pd.isna(v) else meaning[str(int(v))]),
            "cluster": pd.factorize(humans["instruction"] + "\n" + humans["input"])[0],
            # An empty response counts as one character, so that a ratio exists.
            "length_a": humans["response1"].str.len().clip(lower=1),
            "length_b": humans["response2"].str.len().clip(lower=1),
        }
    )
    parts = []
    for stem, field, judge in (
        ("pandalm-7b-testset-v1", "pandalm_result", "PandaLM-7B"),
        ("gpt-3.5-turbo-testset-v1", "gpt_result", "GPT-3.5"),
    ):
        judged = pd.DataFrame(json.loads((place / f"{stem}.json").read_text(encoding="utf-8")))
        vote = judged.set_index("idx")[field].astype(str).map(meaning)
        parts.append(shared.assign(judge=judge, vote=shared["idx"].map(vote)))
    return pd.concat(parts, ignore_index=True).drop(columns="idx")
