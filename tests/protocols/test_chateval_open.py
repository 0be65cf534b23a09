"""ChatEval on open questions: who speaks when, who marks whom, and which answer is taken."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from golden import FAILED, Played, Script, lines, pair, plays, question

from d3stats.agent import Refused, Reply, Request
from d3stats.protocols import play_sync
from d3stats.protocols.chateval import ROLES, ChatEvalOpen
from d3stats.stopping import FixedRounds, Unanimity
from d3stats.worlds import Assembly, Referees
from d3stats.worlds.streams import statement, synthetic_agent, synthetic_items

Marks = Mapping[str, Mapping[str, float]]

FIRST = {"public": "12", "critic": "40", "scientist": "12"}
LAST = {"public": "7", "critic": "8", "scientist": "9"}


def talk(*rounds: Mapping[str, str | None], marks: Marks | None = None) -> Script:
    """Answers by speaker, one mapping a round, None for a failure; marks by who gives them, then who gets them."""

    def script(request: Request) -> Reply:
        answer = rounds[min(request.round, len(rounds)) - 1][request.agent]
        if answer is None:
            return FAILED
        rubric, given = request.slot.rubric, None
        if rubric is not None and marks is not None and request.agent in marks:
            given = {who: {"overall": marks[request.agent][who]} for who in rubric.sides}
        return Reply(f"{request.agent} says {request.round}", vote=answer, scores=given)

    return script


MARKS = {
    "public": {"critic": 9, "scientist": 2},
    "critic": {"public": 4, "scientist": 3},
    "scientist": {"public": 5, "critic": 8},
}


def test_three_roles_speak_in_turn_and_mark_each_other_in_the_last_round() -> None:
    played = plays(ChatEvalOpen(), question(None), talk(FIRST, LAST, marks=MARKS))
    one = ["public/1+vote", "critic/1+vote", "scientist/1+vote"]
    assert list(ROLES) == ["public", "critic", "scientist"]
    assert lines(played) == [
        "public/1 (referee: referee) sees nothing",
        f"critic/1 (referee: referee) sees {one[0]}",
        f"scientist/1 (referee: referee) sees {', '.join(one[:2])}",
        "round 1 over: votes 40 12 12, scores none",
        f"public/2 (referee: referee) sees {', '.join(one)}",
        f"critic/2 (referee: referee) sees {', '.join([*one, 'public/2+vote+scores'])}",
        f"scientist/2 (referee: referee) sees "
        f"{', '.join([*one, 'public/2+vote+scores', 'critic/2+vote+scores'])}",
        "round 2 over: votes 8 7 9, scores critic=8.5 public=4.5 scientist=2.5",
    ]
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == ("40", 2, "chateval_turns")
    assert outcome.detail == {"mark critic": 8.5, "mark public": 4.5, "mark scientist": 2.5, "marked": 3}


def sides(played: Played, number: int) -> dict[str, tuple[str, ...]]:
    asked = {agent: played.request(agent, number).slot.rubric for agent in ROLES}
    return {agent: () if rubric is None else rubric.sides for agent, rubric in asked.items()}


def test_nobody_marks_itself_or_anything_before_the_last_round() -> None:
    played = plays(ChatEvalOpen(max_rounds=3), question(None), talk(FIRST, FIRST, LAST, marks=MARKS))
    assert [sides(played, r) for r in (1, 2)] == [dict.fromkeys(ROLES, ())] * 2
    assert sides(played, 3) == {
        "public": ("critic", "scientist"),
        "critic": ("public", "scientist"),
        "scientist": ("public", "critic"),
    }
    rubric = played.request("critic", 3).slot.rubric
    assert rubric is not None
    assert (rubric.criteria, rubric.low, rubric.high) == (("overall",), 1, 10)
    assert "round 2" in played.request("critic", 3).instruction
    assert "mark the answers" not in played.request("critic", 2).instruction


def test_answers_of_the_round_before_are_marked_whatever_rounds_there_were_earlier() -> None:
    played = plays(
        ChatEvalOpen(max_rounds=3), question(None), talk(FIRST, LAST, dict.fromkeys(FIRST, "1"), marks=MARKS)
    )
    assert played.outcome.decision == "8"


def test_the_last_rounds_answer_of_the_best_marked_may_be_taken_instead() -> None:
    script = talk(FIRST, LAST, marks=MARKS)
    assert plays(ChatEvalOpen(extraction="last"), question(None), script).outcome.decision == "8"


def test_an_answer_that_was_never_given_is_not_marked() -> None:
    played = plays(ChatEvalOpen(), question(None), talk(FIRST | {"critic": None}, LAST, marks=MARKS))
    assert sides(played, 2) == {
        "public": ("scientist",),
        "critic": ("public", "scientist"),
        "scientist": ("public",),
    }
    assert played.outcome.decision == "12"


@pytest.mark.parametrize(
    ("script", "decision"),
    [
        (talk(FIRST, LAST), "9"),
        (talk(dict.fromkeys(FIRST), LAST, marks=MARKS), "9"),
        (talk(FIRST, LAST | {"scientist": None}), None),
        (talk(dict.fromkeys(FIRST)), None),
    ],
)
def test_without_marks_the_scientists_last_answer_stands(script: Script, decision: str | None) -> None:
    outcome = plays(ChatEvalOpen(), question(None), script).outcome
    assert (outcome.decision, outcome.detail["marked"]) == (decision, 0)


def test_another_rule_stops_it_before_anybody_was_marked() -> None:
    for rule, reason in ((FixedRounds(1), "fixed_rounds"), (Unanimity(), "unanimity")):
        answers = dict.fromkeys(FIRST, "12")
        outcome = plays(ChatEvalOpen(max_rounds=3), question(None), talk(answers), rule).outcome
        assert (outcome.decision, outcome.round, outcome.reason) == ("12", 1, reason)


LEVEL = {
    "public": {"critic": 7, "scientist": 1},
    "critic": {"public": 7, "scientist": 1},
    "scientist": {"public": 7, "critic": 7},
}


def test_equal_marks_decide_for_an_answer_only_when_it_is_the_same() -> None:
    alike = FIRST | {"critic": "12", "scientist": "40"}
    assert plays(ChatEvalOpen(), question(None), talk(alike, LAST, marks=LEVEL)).outcome.decision == "12"
    assert plays(ChatEvalOpen(), question(None), talk(FIRST, LAST, marks=LEVEL)).outcome.decision is None
    sided = {"public": "A", "critic": "B", "scientist": "A"}
    for answers, decision in ((("A", "B"), None), (("A", "B", "tie"), "tie")):
        outcome = plays(ChatEvalOpen(), pair(answers=answers), talk(sided, marks=LEVEL)).outcome
        assert outcome.decision == decision


def test_one_round_has_nothing_to_mark() -> None:
    with pytest.raises(
        ValueError, match="max_rounds must be at least 2 for chateval_open, whose last round marks"
    ):
        ChatEvalOpen(max_rounds=1)
    with pytest.raises(ValueError, match="extraction must be one of"):
        ChatEvalOpen(extraction="best")  # type: ignore[arg-type]


def test_in_an_assembly_an_answer_has_the_mark_of_the_side_that_it_is_for() -> None:
    world = Assembly(mark_noise=0)
    agent = synthetic_agent(world, 3)
    level = 1 + 9 * (world.court.base - 1) / 19
    apart = 0
    for item in synthetic_items(world, 100, 3):
        heard: list[tuple[Request, Reply]] = []
        play_sync(ChatEvalOpen(), item.case(f"d{item.question}"), agent, heard=heard)
        before = {request.agent: reply.vote for request, reply in heard if request.round == 1}
        for request, reply in heard[3:]:
            assert reply.scores is not None
            assert tuple(reply.scores) == tuple(name for name in ROLES if name != request.agent)
            lean = statement(str(reply.text)).facts["lean"]
            for who, row in reply.scores.items():
                toward = (lean if before[who] == "A" else -lean) / (2 * world.points_per_mark)
                assert row["overall"] == min(max(round(level + toward), 1), 10)
            apart += len({row["overall"] for row in reply.scores.values()}) == 2
    assert apart > 2


def test_a_world_that_knows_marks_for_candidates_only_refuses() -> None:
    item = synthetic_items(Referees(), 1, 3)[0]
    with pytest.raises(Refused, match="slot of a referee must ask for scores of the candidates"):
        play_sync(ChatEvalOpen(), item.case("d"), synthetic_agent(Referees(), 3))
