"""Protocols on a small model: every number follows from the committed votes, and the findings say what tables say."""

from __future__ import annotations

import gzip
import json
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from layers import sampled
from study_tables import same

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "live_llm"
ARMS = ("single", "majority", "peer", "stability", "samre", "more", "chateval")


def records(arm: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / "votes" / f"{arm}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert module["worded"](fill(text, tables), made) == text
    assert text.count("<!-- end -->") == len(tables)


@sampled("name", ["arms", "comparisons", "position", "swapped", "rounds", "cost", "reasons"], slice(2, None))
def test_a_table_follows_from_the_committed_votes(
    name: str, module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    same(module["TABLES"][name](module["CONFIG"]), made[name])


def test_right_verdicts_and_tokens_are_those_of_the_records(made: dict[str, pd.DataFrame]) -> None:
    """Counted again from the lines of the logs, without the library."""
    arms, debates = made["arms"].set_index("arm"), made["debates"]
    for arm in ARMS:
        lines = records(arm)
        label = {line["debate"]: line["label"] for line in lines if line["type"] == "item"}
        said = {line["debate"]: line.get("decision") for line in lines if line["type"] == "verdict"}
        decided = {debate: side for debate, side in said.items() if side in ("A", "B")}
        assert (len(said), len(decided)) == tuple(arms.loc[arm, ["debates", "decided"]])
        if decided:
            right = sum(side == label[debate] for debate, side in decided.items())
            assert arms.loc[arm, "right"] == pytest.approx(right / len(decided), rel=1e-5)
        tokens = Counter[str]()
        for line in lines:
            if line["type"] == "turn":
                tokens[line["debate"]] += line["tokens_in"] + line["tokens_out"]
        mine = debates[debates["arm"] == arm].set_index("debate")
        assert dict(tokens) == (mine["tokens_in"] + mine["tokens_out"]).to_dict()


def test_every_arm_has_the_same_items_and_no_text(made: dict[str, pd.DataFrame]) -> None:
    questions = set(made["items"]["item"])
    assert set(made["items"]["side"].value_counts()) == {len(questions) / 2}
    for arm in ARMS:
        lines = records(arm)
        assert {line["question"] for line in lines if line["type"] == "item"} == questions
        assert not any({"text", "candidates"} & set(line) for line in lines)


def test_every_protocol_ends_with_verdicts_and_costs_what_was_forecast(made: dict[str, pd.DataFrame]) -> None:
    table = made["protocols"]
    play = runpy.run_path(str(FOLDER / "protocols.py"))
    assert sorted(table["protocol"]) == sorted(play["SMALL"].values())
    assert (table["verdicts"] == table["debates"]).all()
    assert (table["debates"] >= 5).all()
    assert (table["tokens_log"] == table["tokens_server"]).all()
    assert table["ratio"].between(1 / 1.5, 1.5).all()
    assert table["cut"].sum() <= 0.02 * table["replies"].sum()
    assert made["cost"]["ratio"].between(1 / 1.5, 1.5).all()
    assert made["cost"]["cut"].sum() <= 0.02 * made["cost"]["replies"].sum()


def test_beside_a_base_model_the_chat_model_is_that_of_the_votes(
    made: dict[str, pd.DataFrame],
) -> None:
    table = made["gemma"].set_index(["model", "arm"])
    asked = [arm for arm in ARMS if arm not in ("samre", "more")]
    assert list(table.index) == [
        *(("smollm2", arm) for arm in ARMS),
        *(("gemma3", arm) for arm in asked),
    ]
    # The whole logs of the first 76 texts are gone.
    later = set(made["items"]["item"][76:])
    for arm in ARMS:
        row, lines = table.loc[("smollm2", arm)], records(arm)
        label = {
            line["debate"]: line["label"]
            for line in lines
            if line["type"] == "item" and line["question"] in later
        }
        turns = [line for line in lines if line["type"] == "turn" and line["debate"] in label]
        said = {line["debate"]: line.get("decision") for line in lines if line["type"] == "verdict"}
        decided = [debate for debate in label if said[debate] in ("A", "B")]
        assert (row["debates"], row["decided"]) == (len(label), len(decided))
        assert row["right"] == sum(said[debate] == label[debate] for debate in decided)
        assert (row["replies"], row["missing"]) == (len(turns), sum("error" in turn for turn in turns))
        spent = sum(turn["tokens_in"] + turn["tokens_out"] for turn in turns)
        assert row["tokens"] == pytest.approx(spent / len(label), rel=1e-5)
    assert table["ratio"].between(1 / 1.5, 1.5).all()
