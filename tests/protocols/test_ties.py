"""A tie means the same in every protocol that counts votes."""

from __future__ import annotations

import pytest
from golden import Script, pair, plays, points, question

from d3stats.agent import Reply, Request
from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import plurality, preferred, settled

WITH_TIE = ("A", "B", "tie")


def seats(request: Request) -> int:
    return int("".join(filter(str.isdigit, request.agent)))


def divided(first: str, second: str) -> Script:
    """Odd seats vote one way, even seats the other; a judge gives both sides as much."""

    def script(request: Request) -> Reply:
        slot = request.slot
        scores = None
        if slot.rubric is not None and slot.lead:
            a, b = {"A": (9, 1), "B": (1, 9), "tie": (5, 5)}[(second, first)[seats(request) % 2]]
            scores = points(request, A=a, B=b)
        elif slot.rubric is not None:
            scores = points(request, A=60, B=60)
        vote = (second, first)[seats(request) % 2] if slot.wants_vote else None
        return Reply("said", vote=vote, scores=scores)

    return script


COUNTING = [
    "majority:judges=4",
    "stability:panel=4,camp=none,max_rounds=2",
    "chateval:referees=critic+scientist",
    "peer_rank:reviewers=2",
    "peer_rank:reviewers=2,orders=each",
    "peer_discussion",
    "more:jurors=4",
    "samre:jurors=4",
    "samre:jurors=4,poll=every_round",
    "samre_advocates:jurors=4",
]


@pytest.mark.parametrize("text", COUNTING)
def test_as_many_votes_for_both_are_a_tie_where_that_is_an_answer_and_else_nothing(text: str) -> None:
    protocol = protocol_from_text(text)
    assert plays(protocol, pair(), divided("A", "B")).outcome.decision is None
    assert plays(protocol, pair(answers=WITH_TIE), divided("A", "B")).outcome.decision == "tie"
    assert plays(protocol, pair("B", WITH_TIE), divided("B", "A")).outcome.decision == "tie"


@pytest.mark.parametrize("text", [text for text in COUNTING if not text.startswith(("more", "samre"))])
def test_a_side_that_shares_the_lead_with_the_tie_decides_nothing(text: str) -> None:
    played = plays(protocol_from_text(text), pair(answers=WITH_TIE), divided("A", "tie"))
    assert played.outcome.decision is None


def test_answers_to_a_question_have_no_tie() -> None:
    for text in COUNTING[:2]:
        played = plays(protocol_from_text(text), question(("2", "3", "tie")), divided("2", "3"))
        assert played.outcome.decision is None


@pytest.mark.parametrize(
    ("leading", "answers", "decision"),
    [
        (["B"], ("A", "B"), "B"),
        (["tie"], WITH_TIE, "tie"),
        (["B", "A"], WITH_TIE, "tie"),
        (["A", "B", "tie"], WITH_TIE, "tie"),
        (["A", "B"], ("A", "B"), None),
        (["B", "tie"], WITH_TIE, None),
        ([], WITH_TIE, None),
        (["A", "B"], None, None),
    ],
)
def test_what_leads_settles_it(
    leading: list[str], answers: tuple[str, ...] | None, decision: str | None
) -> None:
    assert settled(leading, ("A", "B"), answers) == decision


def test_weights_and_points_that_differ_in_the_last_bit_are_level() -> None:
    case = pair(answers=WITH_TIE)
    assert plurality(case, ["A", "A", "A", "B"], [0.1, 0.1, 0.1, 0.3]) == "tie"
    assert plurality(case, ["A", None, "B"], [1, 5, 0.5]) == "A"
    assert plurality(case, []) is None
    assert plurality(case, ["A", "B"], [1, 0]) == "A"
    assert preferred({"A": 0.1 + 0.2, "B": 0.3}, WITH_TIE) == "tie"
    assert preferred({"A": 0.1 + 0.2, "B": 0.3}, None) is None
    assert preferred({"A": 2, "B": 3}, None) == "B"
    assert preferred(None, WITH_TIE) is preferred({}, WITH_TIE) is None
