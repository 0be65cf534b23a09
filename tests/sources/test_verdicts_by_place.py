"""Verdicts that name places and are read as answers: the table shows it, and tables of answers are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats import inference
from d3stats.note import severity_of
from d3stats.sources.places import votes_as_places
from d3stats.sources.verdicts import as_judgments
from d3stats.trajectories import MISSING

ITEMS = 120


def _judged(seed: int, gap: float, pull: float, judges: int = 1) -> pd.DataFrame:
    """Return a vote per item, judge and order; a judge prefers the better answer, by `gap`, and a place, by `pull`."""
    rng = np.random.default_rng(seed)
    better = np.repeat(rng.normal(0, gap, ITEMS), 2 * judges)
    order = np.tile([0, 1], ITEMS * judges)
    judge = np.tile(np.repeat(np.arange(judges), 2), ITEMS)
    towards = np.where(order == 0, pull, -pull) * (-1.0) ** judge
    vote = (rng.random(len(better)) > 1 / (1 + np.exp(-better - towards))).astype(np.int64)
    label = np.repeat(
        (rng.random(ITEMS) > 1 / (1 + np.exp(-better[:: 2 * judges]))).astype(np.int64), 2 * judges
    )
    item = np.repeat(np.arange(ITEMS), 2 * judges)
    return pd.DataFrame({"item": item, "judge": judge, "order": order, "vote": vote, "label": label})


def _warned(table: pd.DataFrame, *, labels: bool, both: bool, places: bool) -> bool:
    if not both:
        table = table[table["order"] == table["item"] % 2]
    vote, order, item, judge = (table[name].to_numpy() for name in ("vote", "order", "item", "judge"))
    label = table["label"].to_numpy() if labels else np.full(len(vote), MISSING)
    return votes_as_places(vote ^ order if places else vote, order, label, item, judge) != ""


@pytest.mark.parametrize(("labels", "both"), [(False, True), (True, True), (True, False)])
@examples(16, 100)
def test_votes_for_places_are_warned_of_and_votes_for_answers_are_not(
    labels: bool, both: bool, n_examples: int
) -> None:
    kinds = [(2.0, 0.0), (2.0, 0.6), (2.0, -0.6), (3.0, 1.5)]
    tables = [_judged(seed, *kinds[seed % 4], judges=1 + seed % 2) for seed in range(n_examples)]
    assert not any(_warned(table, labels=labels, both=both, places=False) for table in tables)
    found = [_warned(table, labels=labels, both=both, places=True) for table in tables]
    assert np.mean(found) > (0.9 if both else 0.5)


def test_judges_who_follow_opposite_places_are_no_sign_of_places() -> None:
    tables = [_judged(seed, 0.0, 3.0, judges=2) for seed in range(20)]
    assert not any(_warned(table, labels=False, both=True, places=False) for table in tables)


def test_a_bare_table_of_places_has_a_warning_that_the_reading_takes_away() -> None:
    table = _judged(1, 2.0, 0.6)
    table["vote"] = np.array(["A", "B"])[table["vote"] ^ table["order"]]
    table["order"] = np.array(["AB", "BA"])[table["order"]]
    bare = table[["item", "order", "vote"]]
    (first, *_) = inference.position_bias(bare, rng=1).notes
    assert severity_of(first) == "warning"
    assert 'use votes="slot" (--votes slot)' in first
    assert not [note for note in as_judgments(bare, votes="slot").notes if severity_of(note) == "warning"]


@pytest.mark.parametrize("names", [("score_a", "score_b"), ("Score A", "Score B"), ("a_score", "b_score")])
def test_without_votes_the_higher_score_is_the_vote(names: tuple[str, str]) -> None:
    scores = [(6, 5), (5, 6), (4.5, 4.5), (None, 3), ("n/a", 3)]
    table = pd.DataFrame(
        {"item": range(5), **{name: [row[k] for row in scores] for k, name in enumerate(names)}}
    )
    read = as_judgments(table)
    voted = as_judgments(table.drop(columns=list(names)).assign(vote=["A", "B", "tie", None, None]))
    assert read.vote.tolist() == voted.vote.tolist()
    assert any("higher score" in note and "1 tie" in note for note in read.notes)
    kept = as_judgments(table.assign(vote="B"))
    assert set(kept.vote.tolist()) == {1}
    with pytest.raises(ValueError, match=r"scores must be numbers; got 'high'"):
        as_judgments(table.assign(**{names[0]: ["high", 1, 1, 1, 1]}))


@pytest.mark.parametrize("options", [("A", "C"), ("A", "1"), ("yes", "no"), ("B", "A")])
def test_two_options_of_a_question_are_its_a_and_b_whatever_they_are_called(
    options: tuple[str, str], tmp_path: Path
) -> None:
    """A judge prefers the second option, in either order; A and B are themselves, others are A and B in turn."""
    lines: list[dict[str, object]] = []
    for k, shown in enumerate(options):
        debate = {"debate": f"d{k}"}
        about = {"question": "q", "answers": options, "first": shown, "label": options[0]}
        lines.append({"type": "item"} | debate | about)
        lines.append({"type": "turn"} | debate | {"round": 1, "agent": "judge", "vote": options[1]})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    read = as_judgments(path)
    first = int(options == ("B", "A"))
    assert read.vote.tolist() == [1 - first] * 2
    assert read.label.tolist() == [first] * 2
    assert read.order.tolist() == [first, 1 - first]
    assert read.items == ("q",)
