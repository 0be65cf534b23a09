"""The courtroom's people, played through the protocols, against the simulator of the same world."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from twins import Batch, at_the_end, distances, far, played, step_through, twin

from d3stats.agent import Case, Message, Refused, Request, Rubric, Slot
from d3stats.protocols.d3 import More, Samre
from d3stats.protocols.jury import CRITERIA, curated
from d3stats.protocols.play import DebateProtocol, RuleBook, ask, drive
from d3stats.run.forecast import imagined
from d3stats.stopping import BudgetedStopping, FullDepth, Rule
from d3stats.worlds import Courtroom
from d3stats.worlds.courtroom import CourtAgent, aggregate, court_item
from d3stats.worlds.streams import Streams, statement, synthetic_agent, synthetic_items, tell

D3 = BudgetedStopping.d3_paper()
SOFT: dict[str, Any] = {
    "protocol": "more",
    "advocates": 3,
    "temperature": 1.3,
    "advocate_correlation": 0.4,
    "upside": 1.6,
    "halo": 0.3,
}
LENSES: dict[str, Any] = {
    "personas": [
        (persona.role, skill, effects)
        for persona, skill, effects in zip(
            curated(), (2.0, -1.0, 0.0, 1.0, 4.0), ([], [0, 0, 6, 0, 0, -2], [], [3] * 6, []), strict=True
        )
    ],
    "persona_diversity": 0.4,
    "prompt_sd": 2.0,
    "prompt_alike": 0.4,
}
"""Five roles that do much, jurors who see much alike, and prompts whose wording matters."""


CELLS: dict[str, tuple[DebateProtocol, Courtroom, Rule | None]] = {
    "samre": (Samre(memory="transcript"), Courtroom(memory="transcript"), D3),
    "samre, B first": (Samre(memory="transcript"), Courtroom(first="B"), D3),
    "samre, a jury of four": (
        Samre(memory="transcript", jurors=4),
        Courtroom(panel=4, position_bias=3.0),
        D3,
    ),
    "samre, polled": (
        Samre(memory="transcript", poll="every_round", max_rounds=3),
        Courtroom(poll="every_round"),
        None,
    ),
    "samre, short memory": (Samre(memory="latest", max_rounds=3), Courtroom(memory="latest"), None),
    "more, 3 advocates": (More(), Courtroom(protocol="more", advocates=3), None),
    "more, soft maximum": (More(), Courtroom(**SOFT), None),
    "more, 1 advocate": (More(advocates=1), Courtroom(protocol="more"), None),
    "more, personas": (More(), Courtroom(protocol="more", advocates=3, **LENSES), None),
    "samre, personas": (Samre(memory="transcript"), Courtroom(memory="transcript", **LENSES), D3),
    "more, jurors alike": (
        More(personas="none"),
        Courtroom(protocol="more", advocates=3, plain_diversity=0.1),
        None,
    ),
}


COMPARED = {
    "samre": 57,
    "samre, B first": 57,
    "samre, a jury of four": 56,
    "samre, polled": 72,
    "samre, short memory": 39,
    "more, 3 advocates": 25,
    "more, soft maximum": 25,
    "more, 1 advocate": 25,
    "more, personas": 25,
    "samre, personas": 57,
    "more, jurors alike": 25,
}
"""Numbers that 10,000 debates are compared by, but for events that hardly occur."""


def apart(name: str, n: int, seed: int, **settings: Any) -> dict[str, float]:
    """How far the played and the drawn debates of a cell are apart, in standard errors."""
    protocol, world, rule = CELLS[name]
    ours = played(protocol, world, n, seed, rule=rule, first=world.first, **settings)
    drawn = twin(world, 10 * n if n > 2000 else 8_000, protocol.max_rounds, seed + 1, rule=rule)
    if world.poll == "end":
        ours, drawn = at_the_end(ours), at_the_end(drawn)
    return distances(ours, drawn)


@pytest.mark.parametrize("name", ["samre", "more, personas"])
def test_a_played_courtroom_has_the_law_of_its_twin(name: str) -> None:
    found = apart(name, 400, 31)
    assert len(found) > 25
    assert not far(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_ten_thousand_played_debates_have_the_law_of_their_twin(name: str) -> None:
    found = apart(name, 10_000, 11)
    assert len(found) >= COMPARED[name] - 3
    assert not far(found)


# ---------------------------------------------------------------- a wiring error shows


LOUD = Courtroom(
    poll="every_round",
    advocate_sd=8,
    advocate_correlation=0,
    juror_shared=0,
    juror_persona=0.5,
    juror_noise=0.5,
)


@cache
def loud_twin() -> Batch:
    return twin(LOUD, 8_000, 2, 6)


def without_feedback(request: Request) -> Request:
    if request.act != "argue":
        return request
    return replace(request, seen=tuple(m for m in request.seen if m.side is not None))


def without_round_one(request: Request) -> Request:
    if request.act != "vote" or request.round == 1:
        return request
    return replace(request, seen=tuple(m for m in request.seen if m.round > 1))


def with_the_first_side_only(request: Request) -> Request:
    if request.act != "judge":
        return request
    return replace(request, seen=tuple(m for m in request.seen if m.side != "B"))


@pytest.mark.parametrize(
    ("wiring", "where"),
    [
        (without_feedback, "round 2: score of A"),
        (without_round_one, "last votes for A times the gap of round 1"),
        (with_the_first_side_only, "round 1: gap squared"),
    ],
)
def test_an_agent_that_sees_too_little_breaks_the_law(wiring: Any, where: str) -> None:
    protocol = Samre(memory="transcript", poll="every_round", max_rounds=2)
    wired = distances(played(protocol, LOUD, 500, 5, first="A", wiring=wiring), loud_twin(), skip=("tokens",))
    assert where in far(wired)


def test_with_the_right_wiring_the_same_comparison_is_quiet() -> None:
    protocol = Samre(memory="transcript", poll="every_round", max_rounds=2)
    ours = played(protocol, LOUD, 500, 5, first="A")
    assert not far(distances(ours, loud_twin()))


# ---------------------------------------------------------------- what hangs on what


def case(debate: str = "d", question: str = "q", first: str = "A") -> Case:
    return Case(debate, question, "2 or 3?", ("A", "B"), ("2", "3"), first)


def request(act: str, agent: str, seen: tuple[Message, ...] = (), **settings: Any) -> Request:
    given: dict[str, Any] = {"case": case(), "round": 1, "rounds": 5} | settings
    if act == "judge":
        given.setdefault("slot", Slot(rubric=Rubric(("A", "B"), CRITERIA, 1, 20)))
    return Request(agent=agent, role=act, act=act, instruction="", seen=seen, **given)


def defence(side: str, strength: float, number: int = 1, heard: float = 0, **facts: float) -> Message:
    return Message("advocate", number, tell(70.0, strength=strength, heard=heard, **facts), side)


def test_replies_do_not_depend_on_the_order_or_on_how_many_are_asked_at_once() -> None:
    world, protocol = Courtroom(), Samre(max_rounds=3)
    items = synthetic_items(world, 12, 3)

    def alone(item: Any) -> Any:
        cases = item.case(f"d{item.question}")
        *turns, (_, outcome) = step_through(
            protocol.play(cases),
            synthetic_agent(world, 3),  # type: ignore[arg-type]  # a synthetic one
            RuleBook(cases, D3, 3),
            lambda asked: asked,
        )
        return [reply for _, reply in turns], outcome

    agent = synthetic_agent(world, 3)

    async def one(item: Any) -> Any:
        cases, heard = item.case(f"d{item.question}"), []
        book = RuleBook(cases, D3, 3)

        async def answer(asked: Request) -> Any:
            await asyncio.sleep(0)
            reply = await ask(agent, asked)
            heard.append(reply)
            return reply

        async def settle(step: Any, since: Any) -> Any:
            return book.decide(step, since)

        return heard, await drive(protocol.play(cases), answer, settle)

    async def together() -> Any:
        return await asyncio.gather(*(one(item) for item in reversed(items)))

    assert list(reversed(asyncio.run(together()))) == [alone(item) for item in items]


def test_a_question_is_the_same_in_every_debate_and_every_call_is_anew() -> None:
    agent = CourtAgent(Courtroom(), 3)
    one = agent.reply(request("judge", "judge", case=case("d1")))
    other = agent.reply(request("judge", "judge", case=case("d2")))
    assert one.scores != other.scores
    means = [
        np.mean(
            [
                sum(agent.reply(request("judge", "judge", case=case(f"d{i}", q))).scores["A"].values())
                for i in s
            ]
        )  # type: ignore[index]  # a judge scores
        for q, s in (("q7", range(200)), ("q7", range(200, 400)), ("q8", range(200)))
    ]
    assert abs(means[0] - means[1]) < 0.5 < abs(means[0] - means[2])


def test_another_run_has_the_same_items_and_other_calls() -> None:
    one, two = Courtroom(run=0), Courtroom(run=1)
    assert synthetic_items(one, 50, 3) == synthetic_items(two, 50, 3)
    ours, theirs = (
        CourtAgent(world, 3).reply(request("argue", "advocate A", side="A")) for world in (one, two)
    )
    assert ours.text != theirs.text


def test_items_of_a_range_are_those_of_the_whole_stream() -> None:
    assert synthetic_items(Courtroom(), 9, 5)[4:] == synthetic_items(Courtroom(), 5, 5, first=4)
    assert synthetic_items(Courtroom(), 40, 5) != synthetic_items(Courtroom(), 40, 6)


def test_texts_of_items_say_nothing_of_gap_and_label() -> None:
    shape = {"categories": [("math", 1, 3, 2)]}
    one, two = (synthetic_items(Courtroom(**shape), 60, seed) for seed in (5, 6))
    assert [item.label for item in one] != [item.label for item in two]
    assert [(i.text, i.candidates) for i in one] == [(i.text, i.candidates) for i in two]


def test_the_label_agrees_with_the_sign_of_the_gap_when_nobody_errs() -> None:
    world = Courtroom(label_noise=0)
    for item in synthetic_items(world, 100, 5):
        assert (item.label == "A") == (court_item(world, Streams(5), item.question).gap > 0)


# ---------------------------------------------------------------- who perceives what


def test_an_advocate_gains_by_the_feedback_that_it_sees() -> None:
    world = Courtroom(advocate_sd=0, skill=1.0, improvement=3.0, decay=0.5)
    agent = CourtAgent(world, 3)
    remarks = tuple(Message("judge", r, tell(80.0, reasons=90.0)) for r in (1, 2))
    known = defence("A", 1.0)
    assert known.round == 1
    for seen, gain in ((), 0.0), (remarks[:1], 3.0), (remarks, 4.5), ((known, remarks[1]), 4.5):
        reply = agent.reply(request("argue", "advocate A", seen, side="A", round=3))
        assert statement(str(reply.text)).facts["strength"] == pytest.approx(1.0 + gain)


def test_an_aggregator_joins_the_strengths_that_it_sees() -> None:
    agent = CourtAgent(Courtroom(advocates=3, temperature=2.0), 3)
    seen = tuple(defence("A", x) for x in (0.5, 3.0, -1.0))
    reply = agent.reply(request("aggregate", "aggregator A", seen, side="A"))
    assert statement(str(reply.text)).facts["joint"] == float(aggregate(np.array([0.5, 3.0, -1.0]), 2.0))


def test_a_judge_hears_the_joint_defence_where_there_is_one() -> None:
    exact = Courtroom(
        noise=0, position_bias=0, verbosity_bias=0, self_preference=0, categories=[("x", 1, 0, 0)]
    )
    agent = CourtAgent(exact, 3)

    def points(*seen: Message) -> list[float]:
        scores = agent.reply(request("judge", "judge", seen)).scores
        assert scores is not None
        return [sum(scores[side].values()) for side in ("A", "B")]

    assert points() == [84, 84]
    assert points(defence("A", 12.0), defence("B", -6.0)) == [96, 78]
    joint = Message("advocate", 1, tell(140.0, joint=6.0, heard=0), "A")
    assert points(defence("A", 12.0), joint, defence("B", 0.0)) == [90, 84]
    assert points(defence("A", 12.0, 0)) == [84, 84], "a defence of another round is not what is scored"


def test_a_side_that_said_nothing_has_no_points_for_its_argument() -> None:
    agent = CourtAgent(
        Courtroom(noise=0, categories=[("x", 1, 0, 0)], position_bias=0, length_sd=0, own_family=0), 3
    )
    scores = agent.reply(request("judge", "judge", (defence("A", 6.0),))).scores
    assert scores is not None
    assert (sum(scores["A"].values()), sum(scores["B"].values())) == (90, 84)


def test_a_juror_reads_the_mean_of_all_rounds() -> None:
    sure = Courtroom(
        juror_shared=0,
        juror_persona=0,
        juror_noise=0,
        position_bias=0,
        length_sd=0,
        own_family=0,
        categories=[("x", 1, 0, 0)],
    )
    agent = CourtAgent(sure, 3)
    first, second = (defence("A", -5.0), defence("B", 0.0)), (defence("A", 4.0, 2), defence("B", 0.0, 2))
    assert agent.reply(request("vote", "juror 1", first + second, round=2)).vote == "B"
    assert agent.reply(request("vote", "juror 1", second, round=2)).vote == "A"


def test_the_place_that_counts_is_the_one_that_this_agent_reads_first() -> None:
    agent = CourtAgent(Courtroom(position_bias=500.0), 3)
    for shown, asked in (("A", None), ("B", None), ("A", "B"), ("B", "A")):
        vote = agent.reply(request("vote", "juror 1", case=case(first=shown), first=asked)).vote
        assert vote == (asked or shown)


def test_a_foreign_text_has_words_and_no_strength() -> None:
    agent = CourtAgent(
        Courtroom(noise=0, position_bias=0, length_sd=0, own_family=0, categories=[("x", 1, 0, 0)]), 3
    )
    seen = (Message("advocate", 1, "strength 900; trust me", "A"), Message("advocate", 1, "No.", "B"))
    scores = agent.reply(request("judge", "judge", seen)).scores
    assert scores is not None
    assert sum(scores["A"].values()) == 84


def test_what_the_world_has_no_law_for_is_refused() -> None:
    with pytest.raises(
        Refused, match=r"act must be one that world 'courtroom' has a law for .*got 'moderate'"
    ):
        CourtAgent(Courtroom(), 3).reply(request("moderate", "moderator"))


# ---------------------------------------------------------------- tokens, and what is imagined


@pytest.mark.parametrize("act", ["argue", "aggregate", "judge", "vote"])
def test_the_imagined_length_is_the_mean_and_the_bound_of_the_lengths(act: str) -> None:
    agent = CourtAgent(Courtroom(slack=0.6), 3)
    seen = (defence("A", 1.0), Message("judge", 1, tell(80.5, reasons=90.0)))
    asked = [
        request(act, f"{act} {i}", seen, side="A" if act in ("argue", "aggregate") else None)
        for i in range(800)
    ]
    replies = [agent.reply(one) for one in asked]
    typical, longest = (agent.imagine(asked[0], size) for size in ("typical", "longest"))  # type: ignore[arg-type]  # both are sizes
    written = np.array([reply.tokens_out for reply in replies], dtype=float)
    sent = np.array([reply.tokens_in for reply in replies], dtype=float)
    assert written.max() <= longest.tokens_out <= written.max() + 6  # type: ignore[operator]  # counted
    assert sent.max() <= longest.tokens_in <= sent.max() + 1  # type: ignore[operator]  # counted
    assert written.mean() == pytest.approx(typical.tokens_out, abs=0.5 + 4 * written.std() / np.sqrt(800))
    assert statement(str(longest.text)).words >= max(statement(str(reply.text)).words for reply in replies)


def test_a_forecast_at_full_length_is_above_every_debate() -> None:
    world, protocol = Courtroom(), Samre(max_rounds=3)
    agent = CourtAgent(world, 3)
    item = synthetic_items(world, 1, 3)[0]

    class Imagining(CourtAgent):
        def reply(self, request: Request) -> Any:
            return imagined(agent, request, "longest")

    def cost(who: CourtAgent) -> list[int]:
        cases = item.case("d")
        turns = step_through(protocol.play(cases), who, RuleBook(cases, FullDepth(), 3), lambda asked: asked)
        return [reply.tokens_in + reply.tokens_out for asked, reply in turns if asked is not None]

    assert sum(cost(agent)) < sum(cost(Imagining(world, 3))) < 1.3 * sum(cost(agent))
