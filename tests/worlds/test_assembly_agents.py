"""In an assembly everybody reads a pair equally well, hears what is shown, and protocols play with them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from layers import covering, examples
from scipy.special import bdtr, ndtr

from d3stats.agent import Agent, Message, Refused, Reply, Request, Rubric, Slot
from d3stats.protocols import play_sync, protocol_from_text, protocols
from d3stats.protocols.jury import CRITERIA
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, drive
from d3stats.protocols.play import total as points
from d3stats.stopping import Decision
from d3stats.worlds import Courtroom
from d3stats.worlds.assembly import ALONE, TALK, Assembly, AssemblyAgent
from d3stats.worlds.courtroom import CourtAgent
from d3stats.worlds.streams import SyntheticItem, statement, synthetic_agent, synthetic_items, tell

WORLD = Assembly()
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def exact_accuracy(world: Assembly, panel: int = 1) -> float:
    """Return how often the majority of a panel of independent readers is right, A shown first, by quadrature."""
    court = world.court
    alike = court.juror_shared**2 + (1 - world.diversity) * court.juror_persona**2
    alike += (court.verbosity_bias * court.length_sd) ** 2
    own = math.sqrt(world.diversity * court.juror_persona**2 + court.juror_noise**2)
    total = 0.0
    shares = np.array([c.share for c in court.categories])
    for category, share in zip(court.categories, shares / shares.sum(), strict=True):
        for sign, family in product((1, -1), (0, 1)):
            weight = share / 2 * (court.own_family if family else 1 - court.own_family)
            gap = sign * np.abs(category.gap + category.spread * POINTS)
            label = ndtr(gap / court.label_noise)
            bias = court.position_bias + court.self_preference * family
            mean = (world.shown(0) * gap + bias)[:, None] + math.sqrt(alike) * POINTS
            votes_a = 1 - bdtr(panel // 2, panel, ndtr(mean / own))
            a_wins = votes_a @ WEIGHTS
            total += weight * float((label * a_wins + (1 - label) * (1 - a_wins)) @ WEIGHTS)
    return total


@pytest.fixture(scope="module")
def assembly() -> tuple[AssemblyAgent, list[SyntheticItem]]:
    return AssemblyAgent(WORLD, 5), synthetic_items(WORLD, 600, 5)


def one_round(protocol: DebateProtocol, items: Sequence[SyntheticItem], agent: Agent) -> list[Outcome]:
    """Play debates of one round each, A shown first, in one event loop."""

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        return Decision(stop=True, reason="exhausted")

    async def all_of_them() -> list[Outcome]:
        return [
            await drive(protocol.play(item.case(item.question, "A")), agent.act, settle) for item in items
        ]

    return asyncio.run(all_of_them())


def request_for(act: str, agent: str = "somebody", **more: Any) -> Callable[[SyntheticItem], Request]:
    """Return what turns an item into a request of this act that asks for a vote."""

    def make(item: SyntheticItem) -> Request:
        case = item.case(item.question, "A")
        return Request(case, 1, agent, act, act, "decide", Slot(case.answers), **more)

    return make


@pytest.mark.parametrize("act", [act for act in (*ALONE, *TALK) if act != "judge"])
def test_whoever_is_asked_reads_a_pair_equally_well(
    act: str, assembly: tuple[AssemblyAgent, list[SyntheticItem]]
) -> None:
    agent, items = assembly
    make = request_for(act, f"somebody {act}")
    right = np.mean([agent.reply(make(item)).vote == item.label for item in items])
    p = exact_accuracy(WORLD)
    assert abs(right - p) < 4 * math.sqrt(p * (1 - p) / len(items))


@covering(panel=[1, 5], diversity=[0.0, 1.0])
@examples(300, 2500, "n_items")
def test_a_majority_is_right_as_often_as_quadrature_says(panel: int, diversity: float, n_items: int) -> None:
    """Items with small gaps and a large shared error, so that more voters do not settle everything."""
    court = Courtroom(categories=[("close", 1, 3.0, 2.0)], juror_shared=3.0, juror_persona=4.0, hidden=0.3)
    world = Assembly(court=court, diversity=diversity)
    agent, items = synthetic_agent(world, 7), synthetic_items(world, n_items, 7)
    protocol = protocol_from_text(f"majority:judges={panel}")
    right = np.mean(
        [play_sync(protocol, item.case(item.question, "A"), agent).decision == item.label for item in items]
    )
    p = exact_accuracy(world, panel)
    assert abs(right - p) < 4 * math.sqrt(p * (1 - p) / len(items))


def test_voters_who_share_all_but_the_calls_error_gain_less_from_each_other() -> None:
    alike, unlike = (Assembly(diversity=d) for d in (0.0, 1.0))
    assert exact_accuracy(alike) == pytest.approx(exact_accuracy(unlike), abs=1e-6)
    assert exact_accuracy(unlike, 7) - exact_accuracy(alike, 7) > 0.01


def test_a_judge_who_reads_without_error_has_the_marks_of_the_courtroom() -> None:
    """Bare answers: the courtroom shows 1 - hidden of the gap, as here."""
    court = Courtroom(juror_shared=0, juror_persona=0, juror_noise=0)
    here, there = AssemblyAgent(Assembly(court=court), 3), CourtAgent(court, 3)

    def judge(item: SyntheticItem) -> Request:
        request = request_for("judge")(item)
        return replace(request, slot=Slot(("A", "B"), rubric=Rubric(("A", "B"), CRITERIA, 1, 20), lead=True))

    means, items = [], synthetic_items(court, 500, 3)
    for agent in (here, there):
        found = [points(agent.reply(judge(item)), ("A", "B")) for item in items]
        means.append([(d["A"] - d["B"], d["A"] + d["B"]) for d in found if d is not None])
    gap, level = (np.array([m[i] for m in means[0]]) - [m[i] for m in means[1]] for i in (0, 1))
    for difference in (gap, level):
        assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(len(difference))
    assert gap.std() < 2.5 * court.noise * math.sqrt(12)


@pytest.mark.parametrize("text", ["samre", "samre:poll=every_round", "more"])
def test_jurors_vote_as_those_of_the_courtroom_do_call_by_call(text: str) -> None:
    """Round r shows 1 - hidden decay^r here and 1 - hidden decay^(r - 1) there; all else of a juror is the same."""
    court = Courtroom(hidden=0.5, decay=0.3)
    world = Assembly(court=court)
    here, there = AssemblyAgent(world, 11), CourtAgent(replace(court, hidden=0.15), 11)
    protocol = protocol_from_text(text)
    votes = 0
    for item in synthetic_items(world, 40, 11):
        heard: list[tuple[Request, Reply]] = []
        play_sync(protocol, item.case(item.question, "B"), here, heard=heard)
        for request, reply in heard:
            if request.act == "vote":
                assert there.reply(request).vote == reply.vote
                votes += 1
    assert votes >= 200


def test_a_place_is_worth_nothing_when_both_orders_are_added() -> None:
    """Position bias is added in one order and taken off in the other: their sum does not know it."""
    items = synthetic_items(WORLD, 50, 2)
    sums = []
    for bias in (0.0, 9.0):
        agent = AssemblyAgent(replace(WORLD, court=replace(WORLD.court, position_bias=bias)), 2)
        make = request_for("judge")
        sums.append(
            [sum(agent.reading(replace(make(item), first=side), {}, 0.3) for side in "AB") for item in items]
        )
    assert sums[0] == pytest.approx(sums[1], abs=1e-9)


def test_a_calibrated_judge_gives_the_same_verdict_in_both_orders_and_a_plain_one_follows_the_place() -> None:
    world = Assembly(court=Courtroom(position_bias=9.0))
    agent, items = synthetic_agent(world, 4), synthetic_items(world, 120, 4)
    firsts = {}
    for text in ("single_judge", "single_judge:calibrate=true"):
        protocol = protocol_from_text(text)
        found = [
            [play_sync(protocol, item.case(item.question, side), agent).decision for side in "AB"]
            for item in items
        ]
        firsts[text] = sum(a == "A" for a, _ in found) - sum(b == "A" for _, b in found)
        if "calibrate" in text:
            assert all(a == b for a, b in found)
    assert firsts["single_judge"] > 20
    assert firsts["single_judge:calibrate=true"] == 0


def test_who_only_follows_others_says_what_they_said() -> None:
    agent = AssemblyAgent(replace(WORLD, conformity=1.0), 1)
    item = synthetic_items(WORLD, 1, 1)[0]
    seen = tuple(Message(f"panelist {i}", 1, tell(50, lean=lean)) for i, lean in enumerate((-4.0, -1.0, 2.0)))
    reply = agent.reply(request_for("answer", "panelist 9", seen=seen)(item))
    assert statement(str(reply.text)).facts["lean"] == pytest.approx(-1.0)
    assert reply.vote == "B"
    # The latest word of each counts, and nobody hears itself.
    later = (
        *seen,
        Message("panelist 2", 2, tell(50, lean=8.0)),
        Message("panelist 9", 1, tell(50, lean=99.0)),
    )
    reply = agent.reply(request_for("answer", "panelist 9", seen=later)(item))
    assert statement(str(reply.text)).facts["lean"] == pytest.approx(1.0)


def test_a_summary_passes_on_the_mean_and_no_reading_of_its_own() -> None:
    item = synthetic_items(WORLD, 1, 1)[0]
    seen = tuple(Message(f"referee {i}", 1, tell(50, lean=lean)) for i, lean in enumerate((-4.0, 1.0)))
    slot = Slot(words=100)
    request = Request(
        item.case(item.question), 1, "summarizer", "summarizer", "summarise", "sum up", slot, seen
    )
    assert statement(str(AssemblyAgent(WORLD, 1).reply(request).text)).facts == {"lean": -1.5}


def test_the_negative_takes_its_contrariness_in_the_affirmatives_direction() -> None:
    item = synthetic_items(WORLD, 1, 1)[0]
    leans = {}
    for proposed, contrary in product((5.0, -5.0), (0.0, 3.0)):
        agent = AssemblyAgent(replace(WORLD, contrariness=contrary), 1)
        seen = (Message("affirmative", 1, tell(50, lean=proposed)),)
        reply = agent.reply(request_for("oppose", "debater, negative", seen=seen)(item))
        leans[proposed, contrary] = statement(str(reply.text)).facts["lean"]
    assert leans[5.0, 3.0] - leans[5.0, 0.0] == pytest.approx(-3.0)
    assert leans[-5.0, 3.0] - leans[-5.0, 0.0] == pytest.approx(3.0)


def test_a_moderator_passes_unless_it_is_sure_or_has_to_decide() -> None:
    agent, items = AssemblyAgent(WORLD, 6), synthetic_items(WORLD, 200, 6)
    passed = 0
    for item in items:
        request = request_for("moderate")(item)
        free = agent.reply(replace(request, slot=replace(request.slot, may_pass=True)))
        forced = agent.reply(request)
        sure = abs(statement(str(free.text)).facts["lean"]) >= WORLD.decide_at
        assert free.vote == (forced.vote if sure else None)
        assert free.error is None
        passed += not sure
    assert 20 < passed < 180


def test_an_evaluator_finds_a_solution_right_as_often_as_the_law_says() -> None:
    world = replace(WORLD, conformity=0.0)
    agent, items = AssemblyAgent(world, 8), synthetic_items(world, 1000, 8)
    rubric = Rubric(("solution",), ("correctness",), 0, 1)
    found, expected = [], []
    for i, item in enumerate(items):
        solution = 3.0 if i % 2 else -3.0
        seen = (Message("solver", 1, tell(50, lean=solution)),)
        request = Request(
            item.case(item.question),
            1,
            "evaluator",
            "evaluator",
            "evaluate",
            "evaluate",
            Slot(("A", "B"), rubric=rubric),
            seen,
        )
        reply = agent.reply(request)
        y = statement(str(reply.text)).facts["lean"] * (1 if solution > 0 else -1)
        expected.append(1 / (1 + math.exp(-(y - world.accept_at) / world.accept_scale)))
        assert reply.scores is not None
        found.append(reply.scores["solution"]["correctness"])
    p = np.array(expected)
    assert set(found) == {0.0, 1.0}
    assert abs(np.sum(found) - p.sum()) < 4 * math.sqrt((p * (1 - p)).sum())


def test_with_talk_that_reveals_a_message_shows_what_an_argument_would() -> None:
    court = Courtroom(hidden=0.8, decay=0.5)
    item = synthetic_items(court, 1, 1)[0]
    seen = (Message("panelist 2", 2, tell(50, lean=0.0)),)
    readings = []
    for reveals in ("argument", "talk"):
        agent = AssemblyAgent(Assembly(court=court, reveals=reveals), 1)  # type: ignore[arg-type]  # a Literal
        readings.append(agent.reading(request_for("answer", seen=seen)(item), {}, 0.0))
    gap = CourtAgent(court, 1).item(item.question).gap
    assert readings[1] - readings[0] == pytest.approx(gap * (0.8 - 0.8 * 0.25))


def test_a_prompt_costs_what_is_in_it_and_a_message_what_it_says() -> None:
    court = Courtroom(slack=0.0, length_sd=0.0, question_words=30, answer_words=60, instruction_words=45)
    world = Assembly(court=court, reply_words=90)
    seen = (Message("panelist 2", 1, tell(33, lean=0.5)), Message("assigner", 1, f"{tell(6)}\n{tell(6)}"))
    item = synthetic_items(world, 1, 1)[0]
    reply = AssemblyAgent(world, 1).reply(request_for("discuss", seen=seen)(item))
    assert reply.tokens_in == 4 * (30 + 2 * 60 + 45 + 33 + 12) // 3
    assert reply.tokens_out == 4 * 90 // 3


@pytest.mark.parametrize("name", sorted(protocols()))
def test_every_protocol_is_played_and_no_reply_is_longer_than_was_imagined(name: str) -> None:
    agent = AssemblyAgent(WORLD, 9)
    for item in synthetic_items(WORLD, 5, 9):
        heard: list[tuple[Request, Reply]] = []
        kind = protocols()[name]
        protocol = kind(camp="none") if name == "stability" else kind()  # type: ignore[call-arg]  # stability has camps
        outcome = play_sync(protocol, item.case(item.question, "B"), agent, heard=heard)
        assert outcome.decision in ("A", "B", None)
        for request, reply in heard:
            assert reply.error is None
            longest, typical = agent.imagine(request, "longest"), agent.imagine(request, "typical")
            for bound, spent, usual in (
                (longest.tokens_in, reply.tokens_in, typical.tokens_in),
                (longest.tokens_out, reply.tokens_out, typical.tokens_out),
            ):
                assert max(spent or 0, usual or 0) <= (bound or 0)


def test_replies_do_not_depend_on_who_was_asked_first() -> None:
    items = synthetic_items(WORLD, 20, 3)
    asked = [request_for("answer", f"panelist {i}")(item) for item in items for i in range(3)]
    forward, backward = AssemblyAgent(WORLD, 3), AssemblyAgent(WORLD, 3)
    said = [forward.reply(request) for request in asked]
    assert said == [backward.reply(request) for request in reversed(asked)][::-1]


def test_what_the_world_has_no_law_for_is_refused() -> None:
    agent, item = AssemblyAgent(WORLD, 1), synthetic_items(WORLD, 1, 1)[0]
    with pytest.raises(Refused, match=r"act must be one that world 'assembly' has a law for .*; got 'sing'"):
        agent.reply(request_for("sing")(item))
    bare = replace(item.case(item.question), candidates=(), first=None)
    with pytest.raises(Refused, match="case must have two candidates in this world; got none in '1'"):
        agent.reply(replace(request_for("answer")(item), case=bare))
