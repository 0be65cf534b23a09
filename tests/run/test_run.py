"""Many debates: who is asked, what is on disk when, and how a run ends."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from pathlib import Path

import pytest
from chancy import Chancy, as_set, defects, lines, of_type, pairs, turns
from layers import sampled

from d3stats.agent import More, Refused, Reply, Request, always
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.items import DebateItem, placements
from d3stats.run.report import RunReport
from d3stats.run.run import debate, run_debates
from d3stats.stopping import FixedRounds, from_text

SAMRE = protocol_from_text("samre:jurors=3")


@pytest.mark.parametrize("name", sorted(protocols()))
def test_every_protocol_runs_to_a_verdict_and_its_log_is_clean(name: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = debate(protocol_from_text(name), pairs(3), Chancy(failing=0.2), log)
    assert (report.closed, report.stopped) == (3, None)
    assert len(of_type(log, "verdict")) == len(of_type(log, "item")) == 3
    assert len(set(turns(log))) == len(of_type(log, "turn")) == report.calls
    assert defects(log) == []


def test_an_agent_that_sends_no_temperature_records_none(tmp_path: Path) -> None:
    debate(protocol_from_text("chateval"), pairs(2), Chancy(), tmp_path / "log.jsonl")
    assert not any("temperature" in record for record in lines(tmp_path / "log.jsonl"))


def test_the_log_is_the_same_for_any_concurrency(tmp_path: Path) -> None:
    logs = []
    for concurrency in (1, 3, 16):
        logs.append(tmp_path / f"{concurrency}.jsonl")
        debate(
            SAMRE, pairs(8), Chancy(0.2, pause=0.002), logs[-1], concurrency=concurrency, name="same", seed=3
        )
    assert as_set(logs[0]) == as_set(logs[1]) == as_set(logs[2])


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_there_are_never_more_calls_at_once_than_allowed(concurrency: int, tmp_path: Path) -> None:
    agent = Chancy(pause=0.003)
    debate(SAMRE, pairs(10), agent, tmp_path / "log.jsonl", concurrency=concurrency)
    assert agent.most_at_once == concurrency


def test_a_turn_is_on_disk_before_anybody_reads_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    heard = []

    def before(number: int, request: Request) -> None:
        on_disk = {record["text"] for record in of_type(log, "turn")}
        heard.extend(message.text for message in request.seen if message.speaker != "question")
        said = [message.text for message in request.seen if " in round " in message.text]
        assert all(any(text in one for one in on_disk) for text in said)

    debate(SAMRE, pairs(2), Chancy(before=before), log, rule=FixedRounds(2))
    assert any(" in round " in text for text in heard)


def test_places_are_a_coin_of_seed_and_question_and_repeats_take_turns() -> None:
    items = pairs(400)
    shown = [planned.first for planned in placements(items, seed=1)]
    assert shown == [planned.first for planned in placements(items, seed=1)]
    assert 160 < shown.count("A") < 240
    assert shown != [planned.first for planned in placements(items, seed=2)]
    # Each item has its own coin: what stands before it does not matter.
    assert shown[7:] == [planned.first for planned in placements(items[7:], seed=1)]
    twice = [planned.first for planned in placements(items, seed=1, repeats=2)]
    assert all(one != other for one, other in zip(twice[::2], twice[1::2], strict=True))


def test_both_orders_are_two_debates_of_one_question(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = debate(SAMRE, pairs(3), Chancy(), log, orders="both")
    assert report.closed == 6
    opened = of_type(log, "item")
    assert {(one["debate"], one["question"], one["first"]) for one in opened} == {
        (f"q{i}/{first}{other}", f"q{i}", first) for i in range(3) for first, other in ("AB", "BA")
    }


def test_questions_without_candidates_are_debated_too(tmp_path: Path) -> None:
    items = [DebateItem(f"q{i}", f"What is {i} + 1?", label=str(i + 1)) for i in range(4)]
    report = debate(
        protocol_from_text("stability"), items, Chancy(), tmp_path / "log.jsonl", rule=FixedRounds(2)
    )
    assert report.stops == {"fixed_rounds": 4}


def test_roles_are_played_by_their_own_agents(tmp_path: Path) -> None:
    judge, others = Chancy(), Chancy()
    debate(SAMRE, pairs(2), {"judge": judge, "default": others}, tmp_path / "log.jsonl", rule=FixedRounds(1))
    assert {agent for _, _, agent in judge.asked} == {"judge"}
    assert {agent.split()[0] for _, _, agent in others.asked} == {"advocate", "juror"}
    with pytest.raises(ValueError, match="agents must have an agent for the role 'advocate'"):
        debate(SAMRE, pairs(2), {"judge": judge}, tmp_path / "other.jsonl")


def test_a_numbered_role_is_played_by_its_kind_unless_it_has_an_agent_of_its_own(tmp_path: Path) -> None:
    second, kind, others = Chancy(), Chancy(), Chancy()
    cast = {"reviewer 2": second, "reviewer": kind, "default": others}
    debate(protocol_from_text("peer_rank:reviewers=3"), pairs(2), cast, tmp_path / "log.jsonl")
    assert {agent.split(",")[0] for _, _, agent in second.asked} == {"reviewer 2"}
    assert {agent.split(",")[0] for _, _, agent in kind.asked} == {"reviewer 1", "reviewer 3"}
    assert not others.asked


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"items": []}, "items must hold at least one item"),
        ({"items": pairs(2) + pairs(1)}, "'q0' twice"),
        ({"items": [DebateItem("q", "Why?")]}, "items must have two candidates for samre"),
        ({"log": "log.txt"}, "log must end in .jsonl"),
        ({"log": "nowhere/log.jsonl"}, "the folder of the log must exist"),
        ({"rule": from_text("unanimity")}, "poll=every_round makes it"),
        ({"rule": from_text("ks:camp=largest")}, "must poll its voters every round"),
        ({"orders": "random"}, "orders must be one of"),
        ({"repeats": 0}, "repeats must be >= 1"),
        ({"concurrency": 0}, "concurrency must be >= 1"),
        ({"budget_tokens": 0}, "budget_tokens must be >= 1"),
        ({"max_usd": 1.0}, "prices must name the model 'chancy'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    changed: dict[str, object], said: str, tmp_path: Path
) -> None:
    agent = Chancy()
    given = {"items": pairs(2), "log": "log.jsonl"} | changed
    with pytest.raises(ValueError, match=said) as caught:
        debate(SAMRE, given.pop("items"), agent, tmp_path / str(given.pop("log")), **given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert agent.calls == 0
    assert list(tmp_path.iterdir()) == []


def test_a_rule_on_scores_needs_a_protocol_that_scores(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must score every round"):
        debate(
            protocol_from_text("stability"),
            pairs(2),
            Chancy(),
            tmp_path / "log.jsonl",
            rule=from_text("d3_paper"),
        )


def test_who_is_refused_ends_the_run_and_the_same_call_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def before(number: int, request: Request) -> None:
        if number > 20:
            raise Refused("the key is refused")

    with pytest.raises(Refused, match="the key is refused"):
        debate(SAMRE, pairs(5), Chancy(pause=0.002, before=before), log, concurrency=3)
    had = len(of_type(log, "turn"))
    assert had == 20
    after = Chancy()
    report = debate(SAMRE, pairs(5), after, log)
    assert (report.closed, report.repeated) == (5, 0)
    assert after.calls == len(of_type(log, "turn")) - had
    assert defects(log) == []


NOBODY = Reply(None, tokens_in=0, tokens_out=0, error="connection")


def test_a_server_that_dies_stops_the_run_and_leaves_no_missing_votes_behind(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    dead = Chancy(before=lambda number, request: NOBODY if number > 15 else None)
    began = time.monotonic()
    with pytest.raises(Refused, match=r"^the server must answer; got no reply to a call for \d+ s"):
        debate(SAMRE, pairs(5), dead, log, concurrency=4, wait=0.4)
    assert time.monotonic() - began >= 0.4
    assert len(of_type(log, "turn")) == 15
    report = debate(SAMRE, pairs(5), Chancy(), log)
    assert (report.closed, sum(report.missing.values()), report.repeated) == (5, 0, 0)


def test_a_server_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    away = Chancy(before=lambda number, request: NOBODY if 15 < number < 25 else None)
    report = debate(SAMRE, pairs(3), away, tmp_path / "log.jsonl", concurrency=1)
    assert (report.closed, sum(report.missing.values())) == (3, 0)


def test_a_call_that_alone_reaches_nobody_leaves_its_debate_open_and_the_others_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def alone(number: int, request: Request) -> Reply | None:
        return NOBODY if request.agent == "juror 1" and request.case.debate == "q1" else None

    agent = Chancy(pause=0.002, before=alone)
    report = debate(SAMRE, pairs(6), agent, log, concurrency=4, rule=FixedRounds(1), wait=0.3)
    assert (report.closed, report.unfinished, report.stopped) == (5, 1, "unreached")
    assert report.missing.total() == report.votes_missing.total() == 0
    report = debate(SAMRE, pairs(6), Chancy(), log, concurrency=4, rule=FixedRounds(1))
    assert (report.closed, report.unfinished, report.missing.total()) == (6, 0, 0)
    assert defects(log) == []


def test_a_batch_is_not_decided_without_a_debate_whose_call_reached_nobody(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def alone(number: int, request: Request) -> Reply | None:
        return NOBODY if request.agent == "juror 1" and request.case.debate == "q1" else None

    polled, rule = protocol_from_text("samre:jurors=3,poll=every_round"), from_text("ks:camp=largest")
    with pytest.raises(Refused, match="must answer"):
        debate(polled, pairs(4), Chancy(pause=0.002, before=alone), log, rule=rule, wait=0.3)
    whole, again = tmp_path / "whole.jsonl", Chancy()
    debate(polled, pairs(4), again, log, rule=rule, name="run")
    debate(polled, pairs(4), Chancy(), whole, rule=rule, name="run")
    stops = [
        [(v["debate"], v["round"], v["decision"]) for v in of_type(path, "verdict")] for path in (log, whole)
    ]
    assert sorted(stops[0]) == sorted(stops[1])


@pytest.mark.parametrize("times", [1, 2, 3, 9])
def test_a_call_that_is_lost_again_and_again_is_a_missing_vote_that_says_what_it_cost(
    times: int, tmp_path: Path
) -> None:
    log, lost = (
        tmp_path / "log.jsonl",
        Reply(None, tokens_in=70, tokens_out=9, error="connection", estimated=True),
    )

    def breaks(number: int, request: Request) -> Reply | None:
        key = (request.case.debate, request.round, request.agent)
        return lost if key == ("q1", 1, "juror 1") and agent.asked[key] <= times else None

    agent = Chancy(pause=0.002, before=breaks)
    report = debate(SAMRE, pairs(3), agent, log, rule=FixedRounds(1))
    assert report.closed == 3
    assert report.missing == ({} if times < 3 else {"connection": 1})
    said = of_type(log, "turn")
    assert sum(turn["tokens_in"] + turn["tokens_out"] for turn in said) == report.charged
    (turn,) = (t for t in said if (t["debate"], t["agent"]) == ("q1", "juror 1"))
    assert turn["tokens_source"] == "estimate"
    assert turn["tokens_in"] >= 70 * min(times, 3)


def test_a_halt_ends_the_calls_in_flight_records_them_and_begins_no_other(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    async def run(agent: Chancy) -> RunReport:
        halt = asyncio.Event()

        def observer(report: RunReport) -> None:
            if report.calls >= 30:
                halt.set()

        return await run_debates(SAMRE, pairs(9), agent, log, concurrency=4, halt=halt, observer=observer)

    agent = Chancy(pause=0.004)
    report = asyncio.run(run(agent))
    assert report.stopped == "interrupted"
    assert agent.calls == len(of_type(log, "turn")) <= 34
    assert report.unfinished + report.closed + len(report.not_begun) == 9
    journal = lines(tmp_path / "log.calls.jsonl")
    assert sum("begun" in line for line in journal) == sum("ended" in line for line in journal)
    whole = debate(SAMRE, pairs(9), agent, log)
    assert (whole.closed, whole.repeated) == (9, 0)
    assert max(agent.asked.values()) == 1


def test_after_an_interrupt_no_call_is_tried_again_and_what_it_gave_up_is_asked_when_it_goes_on(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.jsonl"
    halt, back = asyncio.Event(), asyncio.Event()

    class Waiting(Chancy):
        async def act(self, request: Request, /, more: More = always) -> Reply:
            self.asked[(request.case.debate, request.round, request.agent)] += 1
            if self.calls < 9 or back.is_set():
                return await Chancy().act(request, more)
            halt.set()  # while it waits to be tried again
            assert not more(10, 3)
            return Reply(None, tokens_in=2, tokens_out=1, error="budget", attempts=1)

    agent = Waiting()
    report = asyncio.run(run_debates(SAMRE, pairs(3), agent, log, concurrency=1, halt=halt))
    assert (report.stopped, agent.calls, len(of_type(log, "turn"))) == ("interrupted", 9, 8)
    back.set()
    whole = debate(SAMRE, pairs(3), agent, log)
    assert (whole.closed, whole.missing.total(), whole.repeated) == (3, 0, 0)
    paid = sum(turn["tokens_in"] + turn["tokens_out"] for turn in of_type(log, "turn"))
    assert whole.charged == paid + 3


@pytest.mark.parametrize("error", ["unreadable", "empty", "timeout"])
def test_a_run_in_which_nothing_can_be_read_ends_and_goes_on_when_asked(error: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    mute = Chancy(before=lambda number, request: Reply(None, tokens_in=1, tokens_out=1, error=error))
    with pytest.raises(Refused, match="got 20 unreadable ones in a row") as caught:
        debate(SAMRE, pairs(9), {"judge": Chancy(), "default": mute}, log, concurrency=1)
    assert "\n" not in str(caught.value)
    missing = [turn for turn in of_type(log, "turn") if "error" in turn]
    assert len(missing) == mute.calls == 20
    report = debate(SAMRE, pairs(9), {"judge": Chancy(), "default": Chancy()}, log)
    assert (report.closed, report.missing) == (9, {error: 20})


@sampled("name", sorted(protocols()), slice(0, None, 3))
def test_an_agent_for_a_role_that_nobody_has_is_refused(name: str, tmp_path: Path) -> None:
    protocol, log = protocol_from_text(name), tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match=rf"for roles of {name} \(.*or 'default'; got 'jurorr'"):
        debate(protocol, pairs(2), {"default": Chancy(), "jurorr": Chancy()}, log)
    # Each role that is in a log can have its own.
    debate(protocol, pairs(2), Chancy(), log)
    roles = {turn["role"] for turn in of_type(log, "turn")}
    debate(
        protocol, pairs(2), {role: Chancy() for role in roles} | {"default": Chancy()}, tmp_path / "o.jsonl"
    )


def test_a_refused_budget_leaves_nothing_behind_that_the_next_run_must_agree_with(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match="a typical debate with all its rounds costs about"):
        debate(SAMRE, pairs(2), Chancy(), log, budget_tokens=5)
    assert list(tmp_path.iterdir()) == []
    assert debate(protocol_from_text("majority"), pairs(2), Chancy(), log, seed=4).closed == 2


def test_a_run_that_asked_nothing_may_be_begun_otherwise(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    halt = asyncio.Event()
    halt.set()
    report = asyncio.run(run_debates(SAMRE, pairs(2), Chancy(), log, halt=halt))
    assert (report.calls, report.stopped) == (0, "interrupted")
    assert debate(protocol_from_text("majority"), pairs(2), Chancy(), log, seed=4).closed == 2


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(ValueError, match="log must be a file; got the folder log="):
        debate(SAMRE, pairs(1), Chancy(), tmp_path / "log.jsonl")
    (tmp_path / "other.calls.jsonl").mkdir()
    with pytest.raises(ValueError, match="log must be a file that can be written; got log="):
        debate(SAMRE, pairs(1), Chancy(), tmp_path / "other.jsonl")


class Forgetful(Chancy):
    """Keeps no list of what it was asked."""

    async def act(self, request: Request, /, more: More = always) -> Reply:
        reply = await super().act(request, more)
        self.asked.clear()
        return reply


def test_memory_does_not_grow_with_the_number_of_debates(tmp_path: Path) -> None:
    short = protocol_from_text("samre:jurors=1,max_rounds=1")

    def peak(n: int) -> int:
        items = pairs(n)
        gc.collect()
        tracemalloc.start()
        debate(short, items, Forgetful(), tmp_path / f"{n}.jsonl")
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(6)
    few, many = peak(8), peak(24)
    # Of a debate only its name and place stay; its turns do not.
    assert (many - few) / 16 < 1200


def test_the_report_adds_up_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    agent = Chancy(failing=0.3)
    report = debate(SAMRE, pairs(7), agent, log)
    said = of_type(log, "turn")
    assert report.charged == report.tokens_in + report.tokens_out == agent.tokens
    assert report.tokens_in == sum(turn["tokens_in"] for turn in said)
    assert report.missing == {"timeout": sum("error" in turn for turn in said)}
    assert report.estimated == sum(turn.get("tokens_source") == "estimate" for turn in said)
    assert report.stops.total() == report.closed == 7
    assert report.rounds == sum(verdict["round"] for verdict in of_type(log, "verdict"))
