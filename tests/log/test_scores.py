"""Which scores count: agents with a part of them, agents of several roles, and scales that a journal tells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats import as_trajectories
from d3stats.agent import RESPONSE
from d3stats.inference import aspect_correlations, direct_scores
from d3stats.log import doctor
from d3stats.log.files import journal_path
from d3stats.log.scores import whole
from d3stats.planning import score_gaps
from d3stats.protocols import protocol_from_text
from d3stats.run import DebateItem, run_debates
from d3stats.stopping import from_text
from d3stats.worlds import Responses, synthetic_agent

Scores = dict[str, dict[str, float]]


def table(*turns: tuple[str, str, Scores], n: int = 4, **columns: Any) -> pd.DataFrame:
    """Return debates of one round with these agents, roles and scores in each."""
    rows = [
        {"debate": f"d{i}", "question": f"q{i}", "round": 1, "agent": agent, "role": role, "label": "A",
         "category": "x", "scores": json.dumps(scores)} | columns
        for i in range(n) for agent, role, scores in turns
    ]  # fmt: skip
    return pd.DataFrame(rows)


def sides(a: float | None, b: float | None) -> Scores:
    return {side: {} if x is None else {"c": x} for side, x in (("A", a), ("B", b))}


def test_a_half_scored_judge_does_not_move_the_gap() -> None:
    t = as_trajectories(
        table(("judge 0", "judge", sides(50, 60)), ("judge 1", "judge", sides(90, None)), vote="A")
    )
    assert t.scores is not None
    assert t.scores[0].tolist() == [[50, 60]]
    wanted = (
        "4 of 8 turns with scores have only a part of them (a side or a criterion is missing), and means over agents "
        "leave these turns out"
    )
    assert wanted in t.notes
    assert wanted in t.remarks()


def test_the_gaps_and_the_doctor_say_what_was_left_out(tmp_path: Path) -> None:
    turns = table(("judge 0", "judge", sides(50, 60)), ("judge 1", "judge", sides(90, None)), vote="A")
    path = tmp_path / "log.csv"
    turns.to_csv(path, index=False)
    found = score_gaps(path)
    assert found["gap"].tolist() == [10]
    assert any("only a part of them" in note for note in found.attrs["notes"])
    report = doctor(path)
    assert "scores in part" in {each.kind for each in report.findings}
    assert report.exit_code == 2


POINTS = st.one_of(st.none(), st.integers(0, 9).map(float))
GIVEN = st.dictionaries(
    st.sampled_from("AB"), st.dictionaries(st.sampled_from("cs"), st.integers(0, 9).map(float))
)


@given(st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=5))
def test_every_gap_lies_between_the_gaps_of_the_judges_that_scored_both(points: list[Any]) -> None:
    t = as_trajectories(
        table(*((f"judge {i}", "judge", sides(a, b)) for i, (a, b) in enumerate(points)), n=1)
    )
    if t.scores is None:
        return
    gaps = [a - b for a, b in points if a is not None and b is not None]
    gap = t.scores[0, 0, 0] - t.scores[0, 0, 1]
    assert np.isnan(gap) if not gaps else min(gaps) - 1e-9 <= gap <= max(gaps) + 1e-9


@given(st.lists(GIVEN, min_size=1, max_size=4))
def test_the_arrays_take_the_turns_that_are_whole(given: list[Scores]) -> None:
    """The fast path of rounds that were scored alike and the definition by one round are the same."""
    agents = [f"judge {i}" for i in range(len(given))]
    turns = table(*zip(agents, ["judge"] * len(given), given, strict=True), n=1)
    if not any(given):
        return
    t = as_trajectories(turns.assign(vote="A"))
    kept = [s for s, counts in zip(given, whole(zip(agents, given, strict=True)), strict=True) if counts]
    for k, side in enumerate(t.sides):
        own = [sum(s[side].values()) for s in kept if s.get(side)]
        mean = np.nan if not own else float(np.mean(own))
        assert t.scores is not None
        assert t.scores[0, 0, k] == pytest.approx(mean, nan_ok=True)


def test_an_agent_that_is_a_side_need_not_score_itself() -> None:
    marks = [("x", {"y": {"c": 1.0}, "z": {"c": 2.0}}), ("y", {"x": {"c": 3.0}, "z": {"c": 4.0}})]
    assert whole(marks) == [True, True]
    assert whole([("x", {"y": {"c": 1.0}}), marks[1]]) == [False, True]


def test_fewer_criteria_than_another_agent_are_a_part() -> None:
    both, one = {RESPONSE: {"c": 5.0, "s": 6.0}}, {RESPONSE: {"c": 5.0}}
    assert whole([("x", both), ("y", one)]) == [True, False]
    assert whole([("x", one), ("y", {RESPONSE: {"s": 5.0}})]) == [True, True]


# ------------------------------------------------------------------------------------------ roles

BENCH = (
    ("judge", "judge", sides(80, 40)), ("juror 1", "juror", sides(5, 9)), ("juror 2", "juror", sides(4, 9)),
)  # fmt: skip


@pytest.mark.parametrize("roles", [None, ["judge"], ["judge", "juror"]])
def test_the_judges_scores_count_and_not_the_jurors(roles: list[str] | None) -> None:
    t = as_trajectories(table(*BENCH, vote="B"), roles=roles)
    assert t.scores is not None
    assert t.scores[0].tolist() == [[80, 40]]
    said = any(
        note.startswith("the scores are those of the role judge; those of juror are left") for note in t.notes
    )
    assert said == (roles != ["judge"])


def test_another_role_may_be_chosen() -> None:
    t = as_trajectories(table(*BENCH, vote="B"), roles=["juror"])
    assert t.scores is not None
    assert t.scores[0].tolist() == [[4.5, 9]]


def test_a_judge_who_is_absent_from_a_debate_is_not_replaced_by_jurors() -> None:
    turns = table(*BENCH, vote="B")
    t = as_trajectories(turns[~((turns["debate"] == "d0") & (turns["role"] == "judge"))])
    assert t.scores is not None
    assert np.isnan(t.scores[0]).all()
    assert t.scores[1].tolist() == [[80, 40]]


def test_roles_of_which_none_decides_give_no_mean_and_say_so() -> None:
    t = as_trajectories(table(("x", "expert", sides(80, 40)), ("y", "juror", sides(5, 9)), vote="B"))
    assert t.scores is not None
    assert np.isnan(t.scores).all()
    assert any("agents of several roles (expert and juror) gave scores" in note for note in t.notes)


def test_different_roles_in_different_debates_are_not_mixed_and_all_count() -> None:
    one, other = table(BENCH[0], n=2, vote="A"), table(("r", "referee", sides(5, 9)), n=2, vote="A")
    t = as_trajectories(pd.concat([one, other.assign(debate="e" + other["debate"])], ignore_index=True))
    assert t.scores is not None
    assert t.scores[:, 0].tolist() == [[80, 40]] * 2 + [[5, 9]] * 2


def test_direct_scores_take_one_role_too(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    table(
        ("judge", "judge", {RESPONSE: {"c": 80.0}}), ("juror", "juror", {RESPONSE: {"c": 5.0}}), vote="A"
    ).to_csv(path, index=False)
    found = direct_scores(path)
    assert found["c"].tolist() == [80] * 4
    assert "the scores are those of the role judge" in found.attrs["notes"][0]


@pytest.mark.parametrize("rule", ["wide_gap:20", "sign_agreement", "budgeted:1,budget=9"])
def test_rules_see_the_judges_points(rule: str) -> None:
    read = from_text(rule)
    turns = [table(*BENCH, vote="B", tokens=1).assign(round=r) for r in (1, 2, 3)]
    mixed, alone = (
        as_trajectories(pd.concat([t[t["role"].isin(roles)] for t in turns]))
        for roles in (["judge", "juror"], ["judge"])
    )
    assert read.stop_rounds(mixed).rounds.tolist() == read.stop_rounds(alone).rounds.tolist()


# ------------------------------------------------------------------------------------------ scales


def scored_run(folder: Path, change: Callable[[float], float] = float) -> Path:
    """Run two referees on three responses; return a copy of the log in which one score is changed."""
    log = folder / "log.jsonl"
    items = [DebateItem(str(i), "Hello!", ("Hi.",)) for i in (1, 2, 3)]
    protocol = protocol_from_text("chateval:aspects=coherence+naturalness,referees=public+critic,highest=12")
    asyncio.run(run_debates(protocol, items, synthetic_agent(Responses(), 1), log))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    last = next(line for line in lines if line.get("round") == 2 and line["type"] == "turn")
    last["scores"][RESPONSE]["coherence"] = change(last["scores"][RESPONSE]["coherence"])
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return log


PEOPLE = pd.DataFrame({"question": [1.0, 2.0, 3.0], "coherence": [1, 2, 3], "naturalness": [3, 1, 2]})


def test_a_score_off_the_scale_of_its_run_is_an_error_without_any_scale_given(tmp_path: Path) -> None:
    log = scored_run(tmp_path, lambda _: 99.0)
    for compute in (lambda: direct_scores(log), lambda: aspect_correlations(log, PEOPLE)):
        with pytest.raises(
            ValueError, match=r"^scores must lie on the scale from 1 to 12; got 99 for coherence"
        ):
            compute()
    (found,) = doctor(log).findings
    assert found.kind == "scores off the scale"
    assert found.message.startswith("99 by referee 1 for coherence of response in debate '1' (scale 1 to 12)")
    assert direct_scores(log, scale=(1, 99))["coherence"].max() > 12


def test_a_log_without_its_journal_tells_the_range(tmp_path: Path) -> None:
    log = scored_run(tmp_path, lambda _: 99.0)
    journal_path(log).unlink()
    assert "they go from" in direct_scores(log).attrs["notes"][-1]
    assert "to 99" in direct_scores(log).attrs["notes"][-1]
    (found,) = doctor(log).findings
    assert found.message.startswith(
        "1 of 12 scores of 'coherence' is 99, which looks like a code of a failure"
    )
    assert found.note in direct_scores(log).attrs["notes"]


def test_a_sound_run_has_no_note_on_scales(tmp_path: Path) -> None:
    log = scored_run(tmp_path)
    assert direct_scores(log).attrs["notes"] == ()
    assert not doctor(log).findings


# ------------------------------------------------------------------------------------------ columns


def test_columns_like_scores_that_are_not_read_say_why() -> None:
    turns = pd.DataFrame(
        {"debate": ["a", "a", "b", "b"], "question": list("aabb"), "agent": list("xyxy"), "vote": [1, 0, 1, 1],
         "label": [1, 1, 0, 0], "score_A": [5, 6, 7, 8], "score_B": [1, 2, 3, 4], "category": "c"}
    )  # fmt: skip
    with pytest.raises(
        ValueError, match=r"votes \(0 and 1\) are not the sides A, B.*scores=score_A\+score_B"
    ):
        score_gaps(turns)
    assert score_gaps(
        as_trajectories(turns, columns={"scores": ["score_A", "score_B"]}), {"a": "c", "b": "c"}
    )["gap"].tolist() == [4]
