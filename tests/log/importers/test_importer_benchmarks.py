"""Files of named benchmarks, in the shapes that their public samples show: items, votes and ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from d3stats.log import read_log
from d3stats.log.importers import import_log, load
from d3stats.log.schema import Item, Turn
from d3stats.run.items import read_items

PAIR = {
    "pair_id": "p1",
    "original_id": 6603,
    "source": "mmlu-pro-health",
    "question": "Which?",
    "response_model": "m",
    "response_A": "It is F.",
    "response_B": "It is C.",
    "label": "A>B",
}
JUDGED = [
    {"judgment": {"judge_model": "j", "prompt": "P", "response": "[[B>>A]]"}, "decision": "B>A"},
    {"judgment": {"judge_model": "j", "prompt": "P", "response": "[[B>A]]"}, "decision": "B>A"},
]
AUTO_J = [
    {"scenario": "planning", "label": label, "prompt": f"Q{label}", "response 1": "one", "response 2": "two"}
    for label in (0, 1, 2)
]
RATED = {
    "Understandable": [1, 1, 1],
    "Natural": [3, 2, 3],
    "Maintains Context": [3, 3, 2],
    "Engaging": [2, 2, 3],
    "Uses Knowledge": [1, 1, 1],
    "Overall": [4, 4, 5],
}
RESPONSE: dict[str, Any] = {"response": "So.", "model": "M", **RATED}
TRUTHFUL = """Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source
Adversarial,Health,"Is sugar, alone, addictive?",No,No; Not alone,"Yes; Yes, very",x
Adversarial,Myths,What of gum?,It passes through,It passes through,It stays for years,y
"""


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_decision_of_the_other_order_is_turned_back(tmp_path: Path) -> None:
    path = lines(tmp_path / "j.jsonl", [PAIR | {"judgments": JUDGED}])
    item, first, second = load("judgebench").records(path, text=True)
    assert isinstance(item, Item)
    assert (item.label, item.candidates, item.category) == ("A", ("It is F.", "It is C."), "mmlu-pro-health")
    assert item.question.startswith("judgebench:")
    assert isinstance(first, Turn)
    assert isinstance(second, Turn)
    assert (first.agent, first.vote, first.model) == ("order A-B", "B", "j")
    assert (second.agent, second.vote) == ("order B-A", "A")


@pytest.mark.parametrize(("decision", "vote"), [("A=B", "tie"), (None, None), ("both", None), (3, None)])
def test_a_decision_that_is_none_is_a_missing_vote(tmp_path: Path, decision: Any, vote: str | None) -> None:
    path = lines(tmp_path / "j.jsonl", [PAIR | {"judgments": [{"decision": decision}, None]}])
    _, first, second = load("judgebench").records(path)
    assert isinstance(first, Turn)
    assert isinstance(second, Turn)
    assert first.vote == vote
    assert second.vote is None


def test_a_judged_file_is_a_log_that_an_analysis_reads(tmp_path: Path) -> None:
    source = lines(tmp_path / "j.jsonl", [PAIR | {"judgments": JUDGED}])
    import_log("judgebench", source, tmp_path / "log.jsonl")
    log = read_log(tmp_path / "log.jsonl")
    assert log.turns["vote"].tolist() == ["B", "A"]


def test_pairs_of_judgebench_are_items_to_debate(tmp_path: Path) -> None:
    other = PAIR | {"pair_id": "p2", "original_id": None, "question": "When?", "label": "B>A"}
    items = read_items(lines(tmp_path / "pairs.jsonl", [PAIR, other]))
    assert [(item.text, item.label) for item in items] == [("Which?", "A"), ("When?", "B")]


def test_labels_of_auto_j_count_from_nought(tmp_path: Path) -> None:
    items = read_items(lines(tmp_path / "testdata_pairwise.jsonl", AUTO_J))
    assert [(item.text, item.label) for item in items] == [("Q0", "A"), ("Q1", "B"), ("Q2", "tie")]
    assert {item.category for item in items} == {"planning"}
    bad = lines(tmp_path / "bad_pairwise.jsonl", [AUTO_J[0] | {"label": 3}])
    with pytest.raises(ValueError, match="pair 1, label must be 0, 1 or 2; got 3"):
        list(load("auto-j").records(bad))


def test_each_annotator_of_topical_chat_has_a_turn_with_scores(tmp_path: Path) -> None:
    path = tmp_path / "tc_usr_data.json"
    path.write_text(json.dumps([{"context": "Hi?", "fact": "F", "responses": [RESPONSE]}]), encoding="utf-8")
    item, *rest = load("topical-chat").records(path)
    turns = [turn for turn in rest if isinstance(turn, Turn)]
    assert isinstance(item, Item)
    assert item.log == "M"
    assert [turn.agent for turn in turns] == ["annotator 1", "annotator 2", "annotator 3"]
    table = pd.DataFrame([turn.scores["response"] for turn in turns if turn.scores])
    assert {name: table[name].tolist() for name in RATED} == RATED
    short = [{"context": "Hi?", "responses": [RESPONSE | {"Overall": [1]}]}]
    path.write_text(json.dumps(short), encoding="utf-8")
    with pytest.raises(ValueError, match="ratings must be of as many annotators for each aspect; got"):
        list(load("topical-chat").records(path))


def test_truthfulqa_sets_the_best_answer_against_an_incorrect_one(tmp_path: Path) -> None:
    path = tmp_path / "TruthfulQA.csv"
    path.write_text(TRUTHFUL, encoding="utf-8")
    items = read_items(path, format="truthfulqa")
    assert [item.candidates for item in items] == [("No", "Yes"), ("It passes through", "It stays for years")]
    assert {item.label for item in items} == {"A"}
    assert [item.category for item in items] == ["Health", "Myths"]
    # Without the format it is a table of questions, without right answers.
    _, plain = read_items(path)
    assert (plain.text, plain.candidates, plain.label) == ("What of gum?", (), None)


def test_a_best_answer_that_is_listed_as_incorrect_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "TruthfulQA.csv"
    path.write_text(TRUTHFUL.replace("It stays for years", "It passes through"), encoding="utf-8")
    with pytest.raises(ValueError, match="line 3, Best Answer must be no incorrect answer; got"):
        read_items(path, format="truthfulqa")


def test_a_reference_of_alignbench_is_no_label(tmp_path: Path) -> None:
    row = {"question_id": 1, "category": "C", "subcategory": "S", "question": "Why?", "reference": "So."}
    rows = [row | {"evidences": [{"url": "u", "quote": "q"}]}]
    (item,) = read_items(lines(tmp_path / "data_release.jsonl", rows))
    assert (item.text, item.category) == ("Why?", "C")
    assert (item.label, item.candidates) == (None, ())
