"""Columns that tell of votes, or of what came of them, are no votes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.inference import as_ratings

AGENTS = ["Ann", "Bob", "Cy"]


def wide(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.choice(list("ABCD"), n)
    votes = {a: np.where(rng.random(n) < 0.7, label, rng.choice(list("ABCD"), n)) for a in AGENTS}
    return pd.DataFrame({"debate": [f"d{k}" for k in range(n)], "label": label, **votes})


@pytest.mark.parametrize("form", ["{}_confidence", "{}_conf", "{} score", "{}-reason", "conf_{}", "{}.time"])
def test_raters_and_agents_are_the_same_columns_without_those_that_tell_of_others(form: str) -> None:
    rng = np.random.default_rng(1)
    scores = pd.DataFrame({"item": range(30), **{a: rng.integers(1, 6, 30) for a in AGENTS}})
    more = scores.assign(**{form.format(a): rng.integers(1, 6, 30) for a in AGENTS[:2]})
    ratings = as_ratings(more)
    assert list(ratings.raters) == AGENTS
    assert (ratings.codes == as_ratings(scores).codes).all()
    assert any(form.format("Ann") in note for note in ratings.notes)
    assert sorted(d3stats.open(more).log().turns["agent"].unique()) == AGENTS


@pytest.mark.parametrize("name", ["final_answer", "winner", "pred", "correct", "prediction"])
def test_what_came_of_the_votes_is_no_vote_and_does_not_hide_those_in_other_columns(name: str) -> None:
    table = wide()
    outcome = (table["Ann"] == table["label"]).astype(int) if name == "correct" else table["Ann"]
    whole = d3stats.as_trajectories(table)
    read = d3stats.as_trajectories(table.assign(**{name: outcome}))
    assert (read.votes == whole.votes).all()
    assert any(name in note and "not read" in note for note in read.notes)
    chosen = d3stats.as_trajectories(table.assign(**{name: outcome}), columns={"votes": AGENTS[:2]})
    assert (chosen.votes == whole.votes[:, :, :2]).all()


def test_votes_before_the_first_round_are_a_round_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    first, then = {"x": "A", "y": "B"}, {"x": "B", "y": "B"}
    for rounds in ([then, then], [{"votes": then}, {"votes": then}]):
        rows = [{"id": f"q{k}", "gold": "A", "initial": first, "rounds": rounds} for k in range(3)]
        path.write_text(json.dumps(rows))
        turns = d3stats.open(path).log().turns
        assert sorted(turns["round"].unique()) == [1, 2, 3]
        assert turns[turns["round"] == 1]["vote"].tolist() == ["A", "B"] * 3
    other = [{"id": "q", "gold": "A", "initial": {"temperature": 1, "seed": 2}, "rounds": [then]}]
    path.write_text(json.dumps(other))
    assert d3stats.open(path).log().turns["round"].unique().tolist() == [1]


def scored(n: int, share: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    return pd.DataFrame({"item": range(n), "score": share * rng.integers(1, 6, n)})


def warned(notes: tuple[str, ...], kind: str) -> bool:
    return any(getattr(note, "kind", "") == kind and note.severity == "warning" for note in notes)


def test_runs_on_two_scales_and_many_items_without_a_score_are_warned_of() -> None:
    one = scored(60)
    for other, expected in (
        (one.assign(score=one["score"] / 5), True),
        (one.assign(score=6 - one["score"]), False),
    ):
        found = d3stats.compare(one, other, names=["a", "b"], value="score")
        assert warned(found.notes, "two scales") == expected
    for many, expected in ((2, False), (12, True)):
        holes = one.assign(score=one["score"].where(one.index >= many))
        assert (
            warned(d3stats.compare(one, holes, names=["a", "b"], value="score").notes, "not scored")
            == expected
        )


@pytest.mark.parametrize("steps", [4, 5])
def test_raters_who_differ_by_a_step_are_warned_of_as_a_scale_and_others_are_not(steps: int) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(1, steps + 1, 80)
    near = [np.clip(truth + rng.choice([-1, 0, 1], 80, p=[0.2, 0.6, 0.2]), 1, steps) for _ in AGENTS]
    far = [np.where(rng.random(80) < 0.6, truth, rng.integers(1, steps + 1, 80)) for _ in AGENTS]
    for votes, expected in ((near, True), (far, False)):
        table = pd.DataFrame({"item": range(80), **dict(zip(AGENTS, votes, strict=True))})
        assert warned(d3stats.agreement(table, measures=["alpha"]).notes, "numbers of a scale") == expected
        assert not warned(
            d3stats.agreement(table, measures=["alpha"], metric="ordinal").notes, "numbers of a scale"
        )


def test_rounds_of_different_debates_are_not_compared_without_saying_so() -> None:
    rng = np.random.default_rng(4)
    rows = [
        (f"d{d}", r, f"a{a}", "AB"[rng.random() < 0.3], "A")
        for d in range(40)
        for r in range(1, 3 if d % 2 else 2)
        for a in range(3)
    ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    for found in (table, table[table["debate"].str[1:].astype(int) % 2 == 1]):
        report = d3stats.fit(found, n_boot=0)
        for said in (report.headline, report.fit.headline):
            assert ("only 20 of 40 debates" in said) == (found is table)
