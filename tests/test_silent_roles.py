"""Roles that speak without voting: no seats, no missing votes, but their tokens and scores count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.log import count_log, doctor, read_log
from d3stats.log.counting import _count_in_pieces
from d3stats.log.files import find_files
from d3stats.trajectories import MISSING, Trajectories
from d3stats.values import MISSING_WORDS

JURORS = ("juror 1", "juror 2", "juror 3")


def turn(agent: str, played: int, vote: str | None = None, **more: Any) -> dict[str, Any]:
    spoken = {"type": "turn", "debate": "d1", "round": played, "agent": agent, "role": agent.split(" ")[0]}
    return spoken | {"vote": vote, "tokens_in": 10, "tokens_out": 1} | more


def court(debate: str = "d1", rounds: int = 3, decision: str | None = "A") -> list[dict[str, Any]]:
    """Advocates argue and a judge scores in every round; jurors vote after the last."""
    records: list[dict[str, Any]] = [
        {"type": "item", "debate": debate, "question": "q", "label": "A", "answers": ["A", "B"], "first": "B"}
    ]
    for played in range(1, rounds + 1):
        records += [turn(f"advocate {side}", played, text="because") for side in "AB"]
        records.append(turn("judge", played, scores={"A": {"x": 7, "y": 5}, "B": {"x": 6, "y": 2 * played}}))
    records += [turn(juror, rounds, vote) for juror, vote in zip(JURORS, "AAB", strict=True)]
    if decision is not None:
        records.append({"type": "verdict", "debate": debate, "decision": decision, "round": rounds})
    return [record | {"debate": debate} for record in records]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "court.jsonl", court())


def test_only_those_who_vote_have_seats_and_a_jury_at_the_end_leaves_earlier_rounds_without_votes(
    log: Path,
) -> None:
    t = Trajectories.from_log(log)
    assert t.seats == JURORS
    assert t.panel.tolist() == [3]
    assert t.depth.tolist() == [3]
    assert (t.votes[0, :2] == MISSING).all()
    assert t.successes_trials()[0].tolist() == [[0, 0, 2]]
    assert t.successes_trials()[1].tolist() == [[0, 0, 3]]


def test_tokens_and_scores_of_those_without_a_seat_count(log: Path) -> None:
    t = Trajectories.from_log(log)
    assert t.tokens is not None
    assert t.tokens.tolist() == [[33.0, 33.0, 66.0]]
    assert t.scores is not None
    assert t.sides == ("A", "B")
    assert t.scores[0].tolist() == [[12.0, 8.0], [12.0, 10.0], [12.0, 12.0]]


def test_chosen_roles_have_the_seats_and_nothing_of_the_others_is_counted(log: Path) -> None:
    jury = Trajectories.from_log(log, roles=["juror"])
    assert jury.seats == JURORS
    assert jury.scores is None
    assert jury.tokens is not None
    assert jury.tokens.tolist() == [[0.0, 0.0, 33.0]]
    judge = Trajectories.from_log(log, roles=["judge"])
    assert judge.seats == ("judge",)
    assert (judge.votes == MISSING).all()
    assert judge.scores is not None
    assert judge.scores.shape == (1, 3, 2)
    with pytest.raises(ValueError, match=r"roles must occur in the log; got \['nobody'\]"):
        Trajectories.from_log(log, roles=["nobody"])


def test_a_round_is_scored_by_the_mean_of_its_scorers(tmp_path: Path) -> None:
    records = [
        {"type": "item", "debate": "d1", "question": "q", "answers": ["A", "B"]},
        turn("judge, A first", 1, "A", role="judge", scores={"A": {"x": 10, "y": 5}, "B": {"x": 6, "y": 6}}),
        turn("judge, B first", 1, "B", role="judge", scores={"A": {"x": 4, "y": 4}, "B": {"x": 9, "y": 7}}),
    ]
    t = Trajectories.from_log(write(tmp_path / "calibrated.jsonl", records))
    assert t.scores is not None
    assert t.scores[0, 0].tolist() == [11.5, 14.0]
    assert t.panel.tolist() == [2]


def test_where_nobody_votes_or_roles_are_not_recorded_everybody_has_a_seat() -> None:
    frame = pd.DataFrame({"debate": ["d"] * 2, "round": [1, 1], "agent": ["a", "b"], "vote": [None, None]})
    assert Trajectories.from_frame(frame).panel.tolist() == [2]
    assert Trajectories.from_frame(frame.assign(role="judge")).panel.tolist() == [2]
    half = frame.assign(role=[None, "judge"], vote=["A", None])
    assert Trajectories.from_frame(half).seats == ("a",)


def test_a_juror_who_could_not_be_read_keeps_the_seat(tmp_path: Path) -> None:
    records = court()
    records[-2] |= {"vote": None, "error": "unreadable"}
    t = Trajectories.from_log(write(tmp_path / "log.jsonl", records))
    assert t.panel.tolist() == [3]
    # The jurors were asked in the last round alone, and one of them gave no vote that can be read.
    assert t.successes_trials("wrong")[1].tolist() == [[0, 0, 3]]


@pytest.mark.parametrize("missing", ["exclude", "wrong"])
def test_counting_gives_silent_roles_no_trials_either(tmp_path: Path, missing: str) -> None:
    records = [*court("d1"), *court("d2", rounds=2), *court("d3", rounds=1)]
    records[10] |= {"vote": None}
    path = write(tmp_path / "log.jsonl", records)
    array = Trajectories.from_log(path)
    fast = _count_in_pieces(find_files([path]), missing, MISSING_WORDS)  # type: ignore[arg-type]
    exact = count_log(path, missing=missing)  # type: ignore[arg-type]
    assert fast is not None, "not counted in pieces"
    assert fast == exact
    assert exact.rounds == array.counts(missing)  # type: ignore[arg-type]
    assert exact.transitions == array.transitions(missing)  # type: ignore[arg-type]
    assert exact.n_turns == len(read_log(path).turns)
    assert count_log(path, missing="exclude").rounds.to_frame()["trials"].max() == 3


def test_the_doctor_finds_nothing_wrong_with_a_court_and_names_an_unfinished_one(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [*court("d1"), *court("d2", rounds=2)])
    report = doctor(path)
    assert report.exit_code == 0, report.to_text()
    assert report.panel_sizes == {3: 2}
    assert report.missing_votes == 0.0
    lost = doctor(write(path, [*court("d1"), *court("d2", decision=None)]))
    assert [(p.kind, p.record_key) for p in lost.problems] == [("open debate", ("d2",))]
    assert lost.exit_code == 2
    assert len(read_log(path).items) == 2
    records = court("d1")
    absent = doctor(write(path, [r for r in records if r.get("agent") != "juror 2" or r["round"] != 3]))
    assert absent.exit_code == 0, "with one debate nothing says how many jurors there should be"
    short = [r for r in court("d2") if r.get("agent") != "juror 2"]
    assert {p.kind for p in doctor(write(path, [*records, *short])).problems} == {"mixed panel"}
    gone = [r for r in records if not (r.get("agent") == "advocate A" and r["round"] == 2)]
    assert {p.kind for p in doctor(write(path, gone)).problems} == {"mixed panel"}


def test_the_doctor_counts_errors_and_estimates(tmp_path: Path) -> None:
    records = court()
    records[-2] |= {"vote": None, "error": "unreadable", "tokens_source": "estimate"}
    records[-3] |= {"vote": None, "error": "timeout"}
    report = doctor(write(tmp_path / "log.jsonl", records))
    assert report.errors == {"unreadable": 1, "timeout": 1}
    assert report.estimated == 1
    assert not report.problems
    assert "unreadable in 1 turn" in report.to_text()
    assert "Tokens are estimates in 1 turn." in report.to_text()
    assert json.loads(report.to_json())["errors"] == report.errors


def test_a_log_without_any_verdict_is_no_unfinished_run(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [*court("d1", decision=None), *court("d2", decision=None)])
    assert doctor(path).problems == ()


def test_seats_do_not_depend_on_the_order_of_the_rows(log: Path) -> None:
    table = read_log(log)
    rng = np.random.default_rng(1)
    mixed = table.turns.iloc[rng.permutation(len(table.turns))]
    one, two = (Trajectories.from_frame(turns, table.items) for turns in (table.turns, mixed))
    assert (one.votes == two.votes).all()
    assert one.seats == two.seats
