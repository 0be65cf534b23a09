"""A run that was killed goes on: no recorded turn is lost or asked again."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from chancy import Chancy, as_set, defects, lines, of_type, pairs
from layers import sampled

from d3stats.agent import Request
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.items import DebateItem
from d3stats.run.record import journal_path
from d3stats.run.run import debate
from d3stats.stopping import from_text

SAMRE = protocol_from_text("samre:jurors=3")


class Killed(RuntimeError):
    """What ends a run in the middle of a call."""


def killed_at(call: int) -> Chancy:
    def before(number: int, request: Request) -> None:
        if number >= call:
            raise Killed

    return Chancy(failing=0.2, pause=0.001, before=before)


@sampled("name", sorted(protocols()), slice(0, None, 2))  # the others: test_budget.py
def test_killed_anywhere_and_resumed_the_log_is_that_of_a_run_in_one_go(name: str, tmp_path: Path) -> None:
    protocol = protocol_from_text(name)
    whole = tmp_path / "whole.jsonl"
    calls = debate(protocol, pairs(4), Chancy(failing=0.2), whole, name="n").calls
    log = tmp_path / "log.jsonl"
    had = 0
    for call in (1, 3, 4, max(calls // 5, 1), max(calls // 4, 1)):
        with contextlib.suppress(Killed):  # near the end there may be fewer calls left
            debate(protocol, pairs(4), killed_at(call), log, concurrency=3, name="n")
        assert len(of_type(log, "turn")) >= had
        had = len(of_type(log, "turn"))
    last = Chancy(failing=0.2)
    report = debate(protocol, pairs(4), last, log, concurrency=3, name="n")
    assert as_set(log) == as_set(whole)
    assert last.calls == calls - had, "a recorded turn is not asked again"
    assert 0 < report.repeated <= 5 * 3
    assert defects(log) == []


@pytest.mark.parametrize("cut", [1, 17, 40, 90])
def test_a_torn_last_line_is_put_back_from_the_journal(cut: int, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(Killed):
        debate(SAMRE, pairs(3), killed_at(20), log, concurrency=1)
    whole = log.read_bytes()
    log.write_bytes(whole[:-cut])
    journal = journal_path(log)
    journal.write_bytes(journal.read_bytes()[:-7])
    had = whole.count(b'"type":"turn"')
    agent = Chancy(failing=0.2)
    report = debate(SAMRE, pairs(3), agent, log)
    assert report.closed == 3
    assert agent.calls == len(of_type(log, "turn")) - had
    assert defects(log) == []


def test_a_call_in_flight_at_a_kill_is_charged_at_its_bound_and_counted_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(Killed):
        debate(SAMRE, pairs(3), killed_at(10), log, concurrency=1)
    begun = [line for line in lines(journal_path(log)) if "begun" in line]
    ended = [tuple(line["ended"]) for line in lines(journal_path(log)) if "ended" in line]
    lost = [line["bound"] for line in begun if tuple(line["begun"]) not in ended]
    assert len(lost) == 1
    agent = Chancy(failing=0.2)
    report = debate(SAMRE, pairs(3), agent, log)
    paid = sum(turn["tokens_in"] + turn["tokens_out"] for turn in of_type(log, "turn"))
    assert report.charged == paid + sum(lost[0])
    assert report.repeated == 1
    again = debate(SAMRE, pairs(3), agent, log)
    assert (again.charged, again.repeated, again.new) == (report.charged, 1, 0)


def test_a_kill_between_a_turn_and_the_journal_repeats_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(Killed):
        debate(SAMRE, pairs(3), killed_at(10), log, concurrency=1)
    journal = journal_path(log)
    # The lost call's beginning, and the end of the call before it, are not on disk.
    kept = journal.read_text().splitlines()[:-2]
    assert "ended" in journal.read_text().splitlines()[-2]
    journal.write_text("".join(line + "\n" for line in kept))
    report = debate(SAMRE, pairs(3), Chancy(failing=0.2), log)
    assert report.repeated == 0
    assert report.charged == sum(turn["tokens_in"] + turn["tokens_out"] for turn in of_type(log, "turn"))


def test_a_debate_that_was_closing_for_want_of_budget_keeps_closing_under_a_larger_one(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.jsonl"
    debate(SAMRE, pairs(3), Chancy(), log, budget_tokens=20_000, rule=from_text("fixed:5"), concurrency=1)
    stopped = [v for v in of_type(log, "verdict") if v["stop_reason"] == "budget"]
    assert stopped
    # As if it had been killed before the last juror and the verdict.
    debated = stopped[-1]["debate"]
    kept = log.read_text().splitlines()
    last = [i for i, line in enumerate(kept) if f'"debate":"{debated}"' in line][-2:]
    log.write_text("".join(line + "\n" for i, line in enumerate(kept) if i not in last))
    # The journal would put the turn back.
    journal = journal_path(log)
    lost = json.loads(kept[last[0]])
    end = json.dumps({"ended": [debated, lost["round"], lost["agent"]]}, separators=(",", ":"))[:-1]
    calls = [line for line in journal.read_text().splitlines() if not line.startswith(end)]
    assert len(calls) == len(journal.read_text().splitlines()) - 1
    journal.write_text("".join(line + "\n" for line in calls))
    agent = Chancy()
    debate(SAMRE, pairs(3), agent, log, budget_tokens=10_000_000, rule=from_text("fixed:5"), concurrency=1)
    assert stopped[-1] in of_type(log, "verdict")
    assert sum(asked for (name, _, _), asked in agent.asked.items() if name == debated) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"protocol": protocol_from_text("samre:jurors=5")}, "protocol must be as in the run"),
        ({"rule": from_text("fixed:2")}, "rule must be as in the run"),
        ({"seed": 1}, "seed must be as in the run"),
        ({"orders": "both"}, "orders must be as in the run"),
        ({"repeats": 2}, "repeats must be as in the run"),
        (
            {"items": [DebateItem(f"q{i}", "Other?", ("x", "y"), label="A") for i in range(3)]},
            "of debate 'q0'",
        ),
    ],
)
def test_what_changes_the_meaning_must_not_change(
    changed: dict[str, object], said: str, tmp_path: Path
) -> None:
    log, agent = tmp_path / "log.jsonl", Chancy()
    debate(SAMRE, pairs(3), Chancy(), log)
    before = log.read_bytes()
    given = {"protocol": SAMRE, "items": pairs(3)} | changed
    with pytest.raises(ValueError, match=said) as caught:
        debate(given.pop("protocol"), given.pop("items"), agent, log, **given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert (agent.calls, log.read_bytes()) == (0, before)


def test_another_model_is_another_run(tmp_path: Path) -> None:
    log, agent = tmp_path / "log.jsonl", Chancy()
    debate(SAMRE, pairs(2), Chancy(), log)
    agent.model = "other"
    with pytest.raises(
        ValueError, match=r"model of the agent for .advocate. must be as in the run .*got other, was chancy"
    ):
        debate(SAMRE, pairs(2), agent, log)


def test_budget_concurrency_and_the_number_of_items_may_change(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    debate(SAMRE, pairs(2), Chancy(), log, budget_tokens=10_000_000, concurrency=2)
    report = debate(SAMRE, pairs(5), Chancy(), log, budget_tokens=20_000_000, concurrency=7)
    assert (report.closed, report.new) == (5, 3)


def test_one_log_is_written_by_one_run_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    seen = []

    def before(number: int, request: Request) -> None:
        from d3stats.run.record import Journal

        with pytest.raises(ValueError, match="one run at a time"), Journal(log, {}):
            pass
        seen.append(number)

    debate(SAMRE, pairs(1), Chancy(before=before), log)
    assert seen


def test_a_log_without_its_journal_is_gone_on_with_under_the_same_settings_only(tmp_path: Path) -> None:
    log, agent = tmp_path / "log.jsonl", Chancy()
    first = debate(SAMRE, pairs(1), Chancy(), log)
    journal_path(log).unlink()
    # The refusal leaves no journal behind that would make the next try look right.
    for _ in range(2):
        with pytest.raises(ValueError, match=r"have its journal log\.calls\.jsonl.*other settings"):
            debate(SAMRE, pairs(1), agent, log, seed=1)
    report = debate(SAMRE, pairs(1), agent, log)
    assert (agent.calls, report.closed, report.charged) == (0, 1, first.charged)
    assert any("log.calls.jsonl was missing" in note for note in report.notes)


def test_a_journal_of_another_kind_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    journal_path(log).write_text(json.dumps({"journal": "other"}) + "\n")
    with pytest.raises(ValueError, match="must be the journal of a run of debates"):
        debate(SAMRE, pairs(1), Chancy(), log)
