"""A rule as Inspect's early-stopping manager: real runs leave out the epochs that the rule would have saved."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from d3stats.bridges.inspect import InspectStopping, early_stopping, read_inspect_log, write_debate_log
from d3stats.log.importers.answers import canonical_number
from d3stats.log.schema import Verdict
from d3stats.stopping import (
    SPRT,
    AdaptiveConsistency,
    BudgetedStopping,
    FixedRounds,
    KSStability,
    Supermajority,
    TokenBudget,
    Unanimity,
)
from d3stats.trajectories import Trajectories

SINGLE_VOTES = [SPRT(0.7, alpha=0.2, beta=0.2), AdaptiveConsistency(0.9), FixedRounds(4)]
PANELS = [Supermajority(0.6), Unanimity() | FixedRounds(2)]


def epochs_run(log: Any) -> list[int]:
    ran = [sample.id for sample in log.samples]
    return [ran.count(name) for name in ("q1", "q2", "q3")]


@pytest.mark.parametrize(
    ("rule", "panel", "at_once"),
    [
        *((rule, 1, 8) for rule in SINGLE_VOTES),
        *((rule, 2, 8) for rule in PANELS),
        (AdaptiveConsistency(0.9), 1, 1),
        pytest.param(AdaptiveConsistency(0.9), 1, 50, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_run_stops_where_the_replay_of_the_full_run_says(
    run: Any, full: Any, tmp_path: Path, rule: Any, panel: int, at_once: int
) -> None:
    write_debate_log(
        full.location, tmp_path / "log.jsonl", votes="answer", canonical=canonical_number, panel=panel
    )
    replayed = rule.stop_rounds(Trajectories.from_log(tmp_path / "log.jsonl")).rounds * panel
    manager = InspectStopping(rule, panel=panel, canonical=canonical_number)
    # The first epochs are the slowest, so that votes arrive out of order.
    log = run(stopping=manager, at_once=at_once, delay=lambda sample, epoch: 0.02 / epoch)
    assert log.status == "success"
    assert epochs_run(log) == replayed.tolist()


def test_fewer_epochs_are_run_where_votes_agree(run: Any) -> None:
    log = run(stopping=InspectStopping(Unanimity(), panel=3, canonical=canonical_number))
    assert epochs_run(log) == [6, 3, 6]
    stopped = log.results.early_stopping
    assert stopped.manager == "d3stats unanimity, rounds of 3"
    assert [(stop.id, stop.epoch, stop.reason) for stop in stopped.early_stops] == [
        ("q2", epoch, "unanimity") for epoch in (4, 5, 6)
    ]
    assert stopped.metadata["epochs_saved"] == 3
    assert stopped.metadata["epochs_planned"] == 18
    # In q1 the last three agree, too late to save anything.
    assert stopped.metadata["samples_where_it_fired"] == 2


def test_an_inspect_without_early_stopping_is_refused_before_epochs_are_paid_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inspect 0.3.153 and older take the manager as an unknown argument, ignore it and run all epochs."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["optional-dependencies"]["inspect"][0] == "inspect-ai>=0.3.154"
    for found, refused in (("0.3.154", False), ("0.4.0", False), ("0.3.153", True), ("0.3.99", True)):
        monkeypatch.setattr(early_stopping, "version", lambda name, found=found: found)
        if refused:
            with pytest.raises(
                ImportError, match=rf"needs inspect-ai >= 0\.3\.154, .*got inspect-ai {found}: pip"
            ):
                InspectStopping(Unanimity(), panel=3)
        else:
            InspectStopping(Unanimity(), panel=3)


def test_the_debate_log_says_why_a_sample_stopped(run: Any) -> None:
    log = run(stopping=InspectStopping(Unanimity(), panel=3, canonical=canonical_number))
    closed = [record for record in read_inspect_log(log.location, panel=3) if isinstance(record, Verdict)]
    assert [(verdict.round, verdict.stop_reason) for verdict in closed] == [
        (2, "exhausted"),
        (1, "unanimity"),
        (2, "exhausted"),
    ]


def test_the_rule_sees_no_grade_unless_it_is_asked_to(run: Any) -> None:
    texts = run(stopping=InspectStopping(SPRT(0.7, alpha=0.2, beta=0.2)))
    grades = run(stopping=InspectStopping(SPRT(0.7, alpha=0.2, beta=0.2), votes="grade"))
    # 18, 20, $18.00, 18: to the eye three different answers, to the scorer three right ones and a wrong one.
    assert epochs_run(texts)[0] == 5
    assert epochs_run(grades)[0] == 4


def test_without_waiting_epochs_in_flight_are_not_taken_back(run: Any) -> None:
    manager = InspectStopping(Unanimity(), panel=2, canonical=canonical_number, wait=0)
    log = run(stopping=manager, at_once=50, delay=lambda sample, epoch: 0.05)
    assert epochs_run(log) == [6, 6, 6]
    assert log.results.early_stopping.metadata["votes_after_the_stop"] > 0


def test_an_epoch_that_failed_unheard_is_a_missing_vote(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {"q2": ("What is 2 + 2?", "4", ["4", None, "4", "4", "4", "4"])}
    # A clock of its own, which passes the wait while the second epoch runs and never else.
    now = [0.0]

    def delay(sample: str, epoch: int) -> float:
        now[0] += 10.0 * (epoch == 2)
        return 0.0

    monkeypatch.setattr("d3stats.bridges.inspect.early_stopping.monotonic", lambda: now[0])
    manager = InspectStopping(Unanimity(), panel=2, wait=0.05)
    log = run(replies, stopping=manager, fail_on_error=False, delay=delay)
    # Unanimity needs every seat, so the round with the failure does not stop, and the next one does.
    assert [sample.epoch for sample in log.samples] == [1, 2, 3, 4]
    assert log.results.early_stopping.metadata["votes_missing"] == 1


def test_a_scored_failure_is_heard_at_once(run: Any) -> None:
    replies = {"q2": ("What is 2 + 2?", "4", ["4", None, "4", "4", "4", "4"])}
    manager = InspectStopping(FixedRounds(3), wait=60)
    log = run(replies, stopping=manager, fail_on_error=False, score_on_error=True)
    assert [sample.epoch for sample in log.samples] == [1, 2, 3]


def test_a_manager_can_serve_one_run_after_another_with_a_clean_slate(run: Any) -> None:
    manager = InspectStopping(Unanimity(), panel=3, canonical=canonical_number)
    assert epochs_run(run(stopping=manager)) == epochs_run(run(stopping=manager)) == [6, 3, 6]


def test_a_manager_refuses_a_second_task_at_the_same_time(run: Any) -> None:
    import asyncio

    manager = InspectStopping(Unanimity(), scorer="number")
    spec = run(epochs=1).eval
    asyncio.run(manager.start_task(spec, [], 2))
    with pytest.raises(RuntimeError, match="one task at a time"):
        asyncio.run(manager.start_task(spec, [], 2))


def test_a_rule_that_cannot_serve_is_refused_before_anything_runs() -> None:
    with pytest.raises(TypeError, match="for each sample by itself"):
        InspectStopping(KSStability())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rule must be a stopping rule; got 'unanimity'"):
        InspectStopping("unanimity")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"rule must decide by votes alone; got budgeted:3\.0: scores must be"
    ):
        InspectStopping(BudgetedStopping(3.0))
    with pytest.raises(ValueError, match=r"rule must decide by votes alone; .* which counts tokens"):
        InspectStopping(Unanimity() | TokenBudget(100))
    with pytest.raises(ValueError, match="panel must be >= 1"):
        InspectStopping(Unanimity(), panel=0)
    with pytest.raises(ValueError, match="wait must be >= 0"):
        InspectStopping(Unanimity(), wait=-1)


def test_several_scorers_without_a_name_end_the_run_before_the_first_call(run: Any) -> None:
    log = run(scorers=[run.number("first"), run.number("second")], stopping=InspectStopping(Unanimity()))
    assert log.status == "error"
    assert "scorer must be given unless the log has exactly one; got 'first', 'second'" in log.error.message
    assert not log.samples
