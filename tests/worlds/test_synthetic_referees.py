"""ChatEval's referees, played through the protocol, against the simulator of the same world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from twins import distances, far, played, twin

from d3stats.agent import Case, Message, Refused, Request, Rubric, Slot
from d3stats.protocols import play_sync
from d3stats.protocols.chateval import ChatEval
from d3stats.worlds import Referees
from d3stats.worlds.referees import RefereeAgent, heard_difference
from d3stats.worlds.streams import statement, synthetic_items, tell

ONE_BY_ONE, SIMULTANEOUS, SUMMARIZED = "one_by_one", "simultaneous", "simultaneous_with_summarizer"
CELLS: dict[str, tuple[int, Referees]] = {
    ONE_BY_ONE: (2, Referees(lean=(0.5, 0.0, -0.8))),
    SIMULTANEOUS: (3, Referees(communication="simultaneous", first="B")),
    SUMMARIZED: (3, Referees(communication="simultaneous_with_summarizer")),
}
SAME_ROLE = Referees(panel=2, roles=("annotator", "annotator"))
"""The paper's team of one role (table 3)."""


COMPARED = {ONE_BY_ONE: 44, SIMULTANEOUS: 64, SUMMARIZED: 64}
"""Numbers that 10,000 talks are compared by, but for events that hardly occur."""


def unlike(mode: Any, n: int, seed: int, world: Referees | None = None, **settings: Any) -> dict[str, float]:
    """How far ChatEval in a mode is from the twin of a world, in standard errors."""
    turns, own = CELLS[mode]
    world = own if world is None else world
    ours = played(
        ChatEval(max_rounds=turns, communication=mode), world, n, seed, first=world.first, **settings
    )
    return distances(ours, twin(world, 10 * n if n > 2000 else 8_000, turns, seed + 1))


def test_played_referees_have_the_law_of_their_twin() -> None:
    found = unlike(ONE_BY_ONE, 200, 31)
    assert len(found) > 40
    assert not far(found)


@pytest.mark.slow
@pytest.mark.parametrize("mode", CELLS)
def test_ten_thousand_played_talks_have_the_law_of_their_twin(mode: str) -> None:
    found = unlike(mode, 10_000, 11)
    assert len(found) >= COMPARED[mode] - 3
    assert not far(found)


@pytest.mark.parametrize(
    ("protocol", "world"),
    [
        (ChatEval(max_rounds=1), Referees()),
        (ChatEval(referees=("none",), max_rounds=1), Referees(panel=1)),
        (ChatEval(referees=("annotator", "annotator")), SAME_ROLE),
        (
            ChatEval(referees=("annotator",) * 2, communication="simultaneous"),
            replace(SAME_ROLE, communication=SIMULTANEOUS),
        ),
    ],
    ids=["one turn", "one agent", "one role", "one role at once"],
)
def test_one_turn_one_agent_and_one_role_have_the_law_of_their_twins(
    protocol: ChatEval, world: Referees
) -> None:
    ours = played(protocol, world, 250, 31, first="A")
    found = distances(ours, twin(world, 8_000, protocol.max_rounds, 32))
    assert len(found) > 10
    assert not far(found)


def test_a_team_of_more_seats_than_roles_is_refused() -> None:
    item = synthetic_items(SAME_ROLE, 1, 3)[0]
    with pytest.raises(
        Refused, match=r"roles of world 'referees' must have one name per referee .* got 2 and 'referee 3'"
    ):
        play_sync(ChatEval(), item.case("d"), RefereeAgent(SAME_ROLE, 3))


def deaf(request: Request) -> Request:
    return replace(request, seen=())


def without_this_turn(request: Request) -> Request:
    return replace(request, seen=tuple(m for m in request.seen if m.round < request.round))


@pytest.mark.parametrize("wiring", [deaf, without_this_turn])
def test_a_referee_that_hears_too_little_breaks_the_law(wiring: Any) -> None:
    loud = Referees(conformity=0.9, shared_sd=0, role_sd=2.5)
    found = unlike(ONE_BY_ONE, 150, 5, loud, wiring=wiring)
    assert any("token" not in name for name in far(found))
    if wiring is deaf:
        assert not far(unlike(ONE_BY_ONE, 150, 5, loud))


def word(speaker: str, turn: int, a: float, b: float) -> Message:
    return Message(speaker, turn, tell(80.0), scores={"A": {"overall": a}, "B": {"overall": b}})


def test_a_referee_hears_every_other_referees_latest_word() -> None:
    talk = [word("referee 1", 1, 8, 5), word("referee 2", 1, 6, 6), word("referee 3", 1, 2, 9)]
    assert heard_difference([], ("A", "B"), "referee 1") is None
    assert heard_difference(talk, ("A", "B"), "referee 2") == (3 - 7) / 2
    later = [*talk, word("referee 1", 2, 7, 6)]
    assert heard_difference(later, ("A", "B"), "referee 2") == (1 - 7) / 2


def test_of_several_summaries_the_last_is_heard() -> None:
    told_so = [Message("summarizer", t, tell(60.0, difference=d)) for t, d in ((1, 4.0), (2, -1.5))]
    assert heard_difference(told_so, ("A", "B"), "referee 1") == -1.5


def test_a_summary_tells_the_mean_of_all_scores() -> None:
    agent = RefereeAgent(Referees(summary_noise=0), 3)
    case = Case("d", "1", "?", ("A", "B", "tie"), ("2", "3"), "A")
    talk = (word("referee 1", 1, 8, 5), word("referee 2", 1, 6, 6))
    reply = agent.reply(Request(case, 1, "summarizer", "summarizer", "summarise", "", seen=talk))
    assert statement(str(reply.text)).facts["difference"] == 1.5
    silent = agent.reply(Request(case, 1, "summarizer", "summarizer", "summarise", ""))
    assert "difference" not in statement(str(silent.text)).facts


def test_equal_scores_are_a_vote_for_the_tie() -> None:
    world = Referees(gap_sd=0, shared_sd=0, role_sd=0, talk_noise=0, position_bias=0)
    ours = played(ChatEval(), world, 20, 3)
    assert (ours.votes == 2).all()
    assert (ours.decision == 2).all()


def test_labels_come_as_often_as_in_the_twin() -> None:
    world = Referees()
    ties = sum(item.label == "tie" for item in synthetic_items(world, 2000, 3)) / 2000
    assert ties == pytest.approx((twin(world, 20_000, 2, 4).label == 2).mean(), abs=4 * (0.15 / 2000) ** 0.5)


@pytest.mark.parametrize("act", ["referee", "summarise"])
def test_the_imagined_length_bounds_every_length(act: str) -> None:
    agent = RefereeAgent(Referees(slack=1.0), 3)
    case = Case("d", "1", "?", ("A", "B", "tie"), ("2", "3"), "A")
    slot = Slot(case.answers, rubric=Rubric(case.sides, ("overall",)), lead=True)
    asked = [Request(case, 1, f"referee {i}", act, act, "", slot) for i in range(300)]
    longest, typical = agent.imagine(asked[0], "longest"), agent.imagine(asked[0], "typical")
    counts = [reply.tokens_out for reply in map(agent.reply, asked)]
    assert max(counts) <= longest.tokens_out  # type: ignore[type-var,operator]  # counted
    assert sum(counts) / 300 == pytest.approx(typical.tokens_out, rel=0.1)  # type: ignore[arg-type]  # counted
