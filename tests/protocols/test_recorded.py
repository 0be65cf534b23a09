"""A logged debate is played again from its log, under its own rule and under one that stops earlier."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from d3stats.agent import Case, Request
from d3stats.log.reader import iter_records
from d3stats.log.schema import AnyRecord, Turn, Verdict
from d3stats.protocols.d3 import Samre
from d3stats.protocols.play import DebateProtocol
from d3stats.protocols.recorded import NotRecorded, ReplayAgent
from d3stats.protocols.stability import Stability
from d3stats.run.items import DebateItem
from d3stats.run.run import debate
from d3stats.stopping import FixedRounds, StoppingRule
from d3stats.worlds import Conformity, Courtroom, World
from d3stats.worlds.streams import synthetic_agent, synthetic_items

POLLED = Samre(poll="every_round", max_rounds=3)


def run(
    protocol: DebateProtocol,
    world: World,
    agent: Any,
    log: Path,
    rule: StoppingRule | None = None,
    n: int = 6,
) -> list[AnyRecord]:
    items = [DebateItem(**asdict(item)) for item in synthetic_items(world, n, 3)]
    debate(protocol, items, agent, log, rule=rule, concurrency=4)
    return list(iter_records(log))


def turns(records: list[AnyRecord]) -> dict[tuple[str, int, str], Turn]:
    return {(r.debate, r.round, r.agent): r for r in records if isinstance(r, Turn)}


def verdicts(records: list[AnyRecord]) -> dict[str, Verdict]:
    return {r.debate: r for r in records if isinstance(r, Verdict)}


@pytest.mark.parametrize(
    ("protocol", "world"),
    [(POLLED, Courtroom()), (Stability(panel=7, max_rounds=3, camp="none"), Conformity())],
)
def test_a_replayed_log_is_the_log(protocol: DebateProtocol, world: World, tmp_path: Path) -> None:
    first = run(protocol, world, synthetic_agent(world, 3), tmp_path / "first.jsonl")
    again = run(protocol, world, ReplayAgent(tmp_path / "first.jsonl"), tmp_path / "again.jsonl")
    assert turns(again) == turns(first)
    assert verdicts(again) == verdicts(first)


def test_an_earlier_stop_has_the_same_turns_up_to_it(tmp_path: Path) -> None:
    first = run(
        POLLED, Courtroom(), synthetic_agent(Courtroom(), 3), tmp_path / "first.jsonl", FixedRounds(3)
    )
    early = run(
        POLLED, Courtroom(), ReplayAgent(tmp_path / "first.jsonl"), tmp_path / "early.jsonl", FixedRounds(2)
    )
    whole = turns(first)
    assert turns(early) == {key: turn for key, turn in whole.items() if key[1] <= 2}
    assert {verdict.round for verdict in verdicts(early).values()} == {2}


def test_records_are_taken_as_well_as_a_path(tmp_path: Path) -> None:
    first = run(POLLED, Courtroom(), synthetic_agent(Courtroom(), 3), tmp_path / "first.jsonl")
    again = run(POLLED, Courtroom(), ReplayAgent(first), tmp_path / "again.jsonl")
    assert turns(again) == turns(first)


def test_a_run_that_is_repeated_with_the_same_seed_has_the_same_turns(tmp_path: Path) -> None:
    one, two = (
        run(POLLED, Courtroom(), synthetic_agent(Courtroom(), 3), tmp_path / f"{name}.jsonl")
        for name in ("one", "two")
    )
    assert turns(one) == turns(two)


CASE = Case("d1", "q1", "2 or 3?", ("A", "B"))
TURN = Turn(
    debate="d1",
    round=1,
    agent="judge",
    role="judge",
    text="reasons",
    scores={"A": {"depth": 3.0}, "B": {"depth": 4.0}},
    tokens_in=10,
    tokens_out=3,
    tokens_source="estimate",
    model="m",
)


def asked(number: int) -> Request:
    return Request(CASE, number, "judge", "judge", "judge", "Judge.")


def test_everything_that_a_turn_records_comes_back() -> None:
    reply = ReplayAgent([TURN]).reply(asked(1))
    assert (reply.text, reply.scores, reply.tokens_in, reply.tokens_out) == ("reasons", TURN.scores, 10, 3)
    assert (reply.estimated, reply.model, reply.vote, reply.error) == (True, "m", None, None)
    failed = msgspec.structs.replace(TURN, text=None, scores=None, error="timeout")
    assert ReplayAgent([failed]).reply(asked(1)).error == "timeout"


def test_a_turn_that_is_not_recorded_is_an_error_or_a_missing_reply() -> None:
    with pytest.raises(NotRecorded, match="round 2 of debate 'd1' must be recorded; got no turn of 'judge'"):
        ReplayAgent([TURN]).reply(asked(2))
    reply = ReplayAgent([TURN], strict=False).reply(asked(2))
    assert (reply.text, reply.vote, reply.error) == (None, None, "not_recorded")


def test_a_source_must_hold_each_turn_once_and_one_at_least() -> None:
    with pytest.raises(
        ValueError, match="a turn must be recorded once; got 'judge' again in round 1 of debate 'd1'"
    ):
        ReplayAgent([TURN, TURN])
    with pytest.raises(ValueError, match="source must hold turns; got none"):
        ReplayAgent([])


def test_an_imagined_reply_is_the_recorded_one() -> None:
    agent = ReplayAgent([TURN])
    assert agent.imagine(asked(1), "longest") == agent.reply(asked(1))
    assert agent.imagine(asked(2), "longest").tokens_in == 0
