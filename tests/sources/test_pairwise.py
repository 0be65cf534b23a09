"""Judgments of pairs are read alike from every form; what cannot be meant is refused."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import d3stats
from d3stats.inference import Pairwise, as_pairwise

NAMES = ["item", "judge", "first", "second", "winner"]
ROWS = [
    ("q1", "J", "x", "y", "first"),
    ("q1", "J", "y", "x", "second"),
    ("q1", "K", "x", "z", "tie"),
    ("q2", "K", "z", "y", "second"),
    ("q2", "J", "y", "z", "first"),
]


def table() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=NAMES)


def values(read: Pairwise) -> list[tuple[str, str, int, str, str]]:
    return [
        (read.contestants[a], read.contestants[b], w, read.judges[j], read.clusters[c])
        for a, b, w, j, c in zip(
            read.first.tolist(),
            read.second.tolist(),
            read.outcome.tolist(),
            read.judge.tolist(),
            read.cluster.tolist(),
            strict=True,
        )
    ]


EXPECTED = [
    ("x", "y", 1, "J", "q1"),
    ("y", "x", -1, "J", "q1"),
    ("x", "z", 0, "K", "q1"),
    ("z", "y", -1, "K", "q2"),
    ("y", "z", 1, "J", "q2"),
]


def test_every_form_of_a_table_gives_the_same_judgments(tmp_path: Path) -> None:
    frame, path = table(), tmp_path / "pairs.csv"
    frame.to_csv(path, index=False)
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    forms = [
        frame,
        [frame[:2], frame[2:]],
        frame.to_dict("records"),
        path,
        tmp_path / "pairs.jsonl",
        d3stats.open(path),
    ]
    for form in forms:
        assert values(as_pairwise(form)) == EXPECTED
    read = as_pairwise(frame)
    assert as_pairwise(read) is read
    assert (read.n_items, read.notes) == (2, ())
    assert read.ordered.all()


def test_a_winner_is_named_by_place_or_by_contestant() -> None:
    named = table().assign(winner=["x", "x", "tie", "y", "y"])
    assert values(as_pairwise(named)) == EXPECTED
    arena = table().rename(columns={"item": "question_id", "first": "model_a", "second": "model_b"})
    arena["winner"] = ["model_a", "model_b", "tie (bothbad)", "B", "A"]
    read = as_pairwise(arena)
    assert values(read) == EXPECTED
    assert "columns: first is 'model_a', second is 'model_b'" in read.notes
    assert any(note.startswith("winners: 'model_a' is first, 'model_b' is second") for note in read.notes)


def test_chosen_columns_are_read_and_others_named() -> None:
    own = table().rename(columns=dict(zip(NAMES, ["nr", "wer", "eins", "zwei", "sieger"], strict=True)))
    own["seed"] = 1
    columns = dict(zip(NAMES, ["nr", "wer", "eins", "zwei", "sieger"], strict=True))
    read = as_pairwise(own, columns=columns)
    assert values(read) == EXPECTED
    assert "columns that were not read: seed" in read.notes


def test_scores_of_an_item_by_one_judge_are_compared_in_all_pairs() -> None:
    scores = pd.DataFrame(
        {
            "item": ["q1"] * 4 + ["q2"] * 2,
            "judge": ["J", "J", "J", "K", "J", "J"],
            "contestant": ["x", "y", "z", "x", "x", "y"],
            "score": [3, 3, 5, 9, None, 4],
        }
    )
    read = as_pairwise(scores)
    assert values(read) == [("x", "y", 0, "J", "q1"), ("x", "z", -1, "J", "q1"), ("y", "z", -1, "J", "q1")]
    assert not read.ordered.any()
    assert any("1 of 6 scores is missing" in note for note in read.notes)
    assert any("2 of 5 scores have no other contestant's score" in note for note in read.notes)
    with pytest.raises(
        ValueError, match="score a contestant of an item once; got 'x' of item 'q1' by 'J' again at"
    ):
        as_pairwise(scores.assign(judge="J"))


def test_the_advice_for_scores_of_several_turns_reads_them_and_keeps_questions_as_clusters() -> None:
    turns = pd.DataFrame(
        [(f"q{q}", turn, model, q * turn % 7) for q in range(5) for turn in (1, 2) for model in ("x", "y")],
        columns=["question_id", "turn", "model", "score"],
    )
    with pytest.raises(ValueError, match="once") as refused:
        as_pairwise(turns)
    (advised,) = re.findall(r"columns=(\{.*?\}) \(", str(refused.value))
    own = advised.replace("ITEM", "question_id").replace("COLUMN", "turn")
    read = as_pairwise(turns, columns=ast.literal_eval(own))
    assert (len({*read.item.tolist()}), len(read.clusters)) == (10, 5)


def test_a_log_of_two_answers_is_read_by_its_last_votes() -> None:
    items = [
        {"debate": "d1", "question": "q1", "answers": ["gpt", "llama", "tie"], "first": "llama"},
        {"debate": "d2", "question": "q1", "answers": ["gpt", "llama", "tie"], "first": "gpt"},
    ]
    votes = {"d1": [("J", 1, "llama"), ("J", 2, "gpt"), ("K", 1, "tie")], "d2": [("J", 1, "gpt")]}
    rows = [
        {**about, "answers": json.dumps(about["answers"]), "agent": agent, "round": r, "vote": vote}
        for about in items
        for agent, r, vote in votes[about["debate"]]
    ]
    read = as_pairwise(pd.DataFrame(rows))
    assert sorted(values(read)) == [
        ("gpt", "llama", 1, "J", "q1"),
        ("llama", "gpt", -1, "J", "q1"),
        ("llama", "gpt", 0, "K", "q1"),
    ]
    assert read.ordered.all()
    assert read.n_items == 1


def test_a_log_without_declared_answers_has_the_contestants_a_and_b() -> None:
    turns = pd.DataFrame(
        {
            "debate": ["d1", "d1", "d2"],
            "round": 1,
            "agent": ["J (1-2)", "J (2-1)", "K"],
            "vote": ["A", "A", "tie"],
        }
    )
    read = as_pairwise(turns)
    assert sorted(zip(read.first.tolist(), read.outcome.tolist(), read.ordered.tolist(), strict=True)) == [
        (0, 0, False),
        (0, 1, True),
        (1, -1, True),
    ]
    with pytest.raises(ValueError, match="votes for A, B or tie"):
        as_pairwise("slm7")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.assign(winner="w"),
            "winner must be a contestant of its row or first, second or tie; got 'w'",
        ),
        (
            lambda t: t.assign(second=t["first"]),
            "first and second must be two contestants; got 'x' twice at row 1",
        ),
        (lambda t: t.drop(columns="winner"), r"lacks winner; got .*--columns winner=COLUMN"),
        (lambda t: t.drop(columns="item"), r"lacks item; got .*--columns item=COLUMN"),
        (lambda t: t[["item", "judge"]], "lacks first, second, winner; got item, judge"),
        (lambda t: t[["item"]].assign(score=1), "lacks contestant; got item, score"),
        (lambda t: t.drop(columns="winner").assign(score=1), "lacks winner; got"),
        (lambda t: t.assign(first=None), "first must be named in every row; got a missing name at row 1"),
        (lambda t: t.assign(winner=None), "winner must be known in some row"),
        (lambda t: t.assign(first="tie"), "no contestant must be called like an outcome; got 'tie'"),
        (lambda t: t.assign(cluster=list("aabbc")), "cluster must be the same in all rows of an item"),
        (lambda t: t.drop(columns="first").assign(model_a="x", model_1="x"), "first must be one column; got"),
        (lambda t: t[:0], "must have rows"),
    ],
)
def test_what_cannot_be_meant_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        as_pairwise(change(table()))


def test_missing_winners_and_copies_are_counted() -> None:
    given = pd.concat([table(), table()[:1]], ignore_index=True)
    given.loc[2, "winner"] = "N/A"
    read = as_pairwise(given)
    assert len(read) == 5
    assert any("1 of 6 judgments has no winner: left out" in note for note in read.notes)
    assert any("1 of 5 judgments is equal to another one" in note for note in read.notes)
    assert any("'N/A'" in note for note in read.notes)


def test_names_that_are_numbers_stay_as_they_are_written_but_for_whole_ones() -> None:
    """Version 2.10 of a model is not its version 2.1, and 1.0 of a column of floats is model 1."""
    read = as_pairwise(table().replace({"x": "2.10", "y": "2.1", "z": "2.01"}))
    assert read.contestants == ("2.01", "2.1", "2.10")
    whole = as_pairwise(table().replace({"x": 1.0, "y": 2.0, "z": 3.0}))
    assert whole.contestants == ("1", "2", "3")
    assert len(as_pairwise(table().replace({"q1": "7.10", "q2": "7.1"})).clusters) == 2
