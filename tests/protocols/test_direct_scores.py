"""ChatEval on one response (direct scores): who speaks when, what is averaged, and what becomes of missing scores."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from golden import FAILED, Script, lines, pair, plays, question

from d3stats.agent import RESPONSE, Case, Reply, Request
from d3stats.inference import direct_scores
from d3stats.log import doctor, read_log
from d3stats.log.schema import Turn
from d3stats.log.transcript import read_transcript
from d3stats.protocols import ReplayAgent, play_sync, protocol_from_text, protocols
from d3stats.protocols.chateval import REFEREES_OF_ONE, TOPICAL_CHAT, ChatEval
from d3stats.protocols.play import DebateProtocol
from d3stats.run import DebateItem, forecast, read_items, run_debates
from d3stats.run.items import placements
from d3stats.worlds import Assembly, Courtroom, Referees, Responses, Voter, synthetic_agent, synthetic_items

ONE = Case("d1", "q1", "Hello! Did you see the match?", candidates=("I did, it was great.",))


def scoring(*turns: dict[str, tuple[float, ...] | None]) -> Script:
    """Scores of the four aspects, by referee, one mapping a turn; None: the referee fails."""

    def script(request: Request) -> Reply | None:
        if request.act != "referee":
            return None
        given = turns[min(request.round, len(turns)) - 1][request.agent]
        if given is None:
            return FAILED
        points = dict(zip(TOPICAL_CHAT, given, strict=True))
        return Reply(f"{request.agent} says {request.round}", scores={RESPONSE: points})

    return script


TWO = {"referee 1": (8.0, 6.0, 3.0, 10.0), "referee 2": (5.0, 7.0, 4.0, 1.0)}
LATER = {"referee 1": (7.0, 6.0, 4.0, 9.0), "referee 2": (6.0, 7.0, 5.0, 2.0)}
PAIR = ChatEval(referees=("critic", "scientist"))
"""The paper's configuration: two referees, one by one, two turns (section 3.3)."""


def test_two_referees_score_one_response_in_two_turns_and_the_last_turns_scores_are_averaged() -> None:
    played = plays(PAIR, ONE, scoring(TWO, LATER))
    assert lines(played) == [
        "referee 1/1 (referee: referee) sees nothing",
        "referee 2/1 (referee: referee) sees referee 1/1+scores",
        # Totals of the aspects' means: 6.5 + 6.5 + 3.5 + 5.5.
        "round 1 over: votes none, scores response=22",
        "referee 1/2 (referee: referee) sees referee 1/1+scores, referee 2/1+scores",
        "referee 2/2 (referee: referee) sees referee 1/1+scores, referee 2/1+scores, referee 1/2+scores",
        "round 2 over: votes none, scores response=23",
    ]
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == (None, 2, "chateval_turns")
    assert outcome.detail == {
        "naturalness": 6.5,
        "coherence": 6.5,
        "engagingness": 4.5,
        "groundedness": 5.5,
    }


def test_the_summarizer_is_told_that_it_is_one_response() -> None:
    protocol = ChatEval(referees=("critic", "scientist"), communication="simultaneous_with_summarizer")
    played = plays(protocol, ONE, scoring(TWO))
    assert lines(played)[:4] == [
        ["referee 1/1 (referee: referee) sees nothing", "referee 2/1 (referee: referee) sees nothing"],
        "summarizer/1 (summarizer: summarise) sees referee 1/1+scores, referee 2/1+scores",
        "round 1 over: votes none, scores response=22",
        [
            "referee 1/2 (referee: referee) sees summarizer/1",
            "referee 2/2 (referee: referee) sees summarizer/1",
        ],
    ]
    assert "one response" in played.request("summarizer").instruction
    assert "two answers" not in played.request("summarizer").instruction


def test_a_referee_is_asked_for_the_four_aspects_on_the_scale_and_for_no_vote() -> None:
    request = plays(ChatEval(highest=3, referees=("author",)), ONE).request("referee 1")
    slot = request.slot
    assert slot.rubric is not None
    assert (slot.rubric.sides, slot.rubric.criteria) == ((RESPONSE,), TOPICAL_CHAT)
    assert (slot.rubric.low, slot.rubric.high, slot.wants_vote, slot.lead) == (1, 3, False, False)
    assert "from 1 (worst) to 3 (best)" in request.instruction
    assert all(f"{aspect}: " in request.instruction for aspect in TOPICAL_CHAT)
    assert REFEREES_OF_ONE["author"] in request.instruction


def test_aspects_may_be_asked_of_two_answers_and_their_points_are_added() -> None:
    protocol = ChatEval(aspects=("coherence", "overall"), referees=("critic",), max_rounds=1)

    def script(request: Request) -> Reply:
        return Reply("so", scores={"A": {"coherence": 9, "overall": 2}, "B": {"coherence": 5, "overall": 7}})

    played = plays(protocol, pair(), script)
    assert lines(played)[-1] == "round 1 over: votes B, scores A=11 B=12"
    assert played.outcome.decision == "B"


def test_a_referee_who_fails_is_left_out_of_the_mean() -> None:
    played = plays(PAIR, ONE, scoring(TWO, {"referee 1": None, "referee 2": (6, 7, 5, 2)}))
    assert played.outcome.detail == dict(zip(TOPICAL_CHAT, (6, 7, 5, 2), strict=True))
    assert played.rounds[-1].scores == {RESPONSE: 20}


def test_without_any_score_there_is_none_and_no_zero() -> None:
    played = plays(PAIR, ONE, scoring(dict.fromkeys(TWO)))
    assert [over.scores for over in played.rounds] == [None, None]
    assert (played.outcome.reason, played.outcome.detail) == ("no_scores", {})


def recorded(**by_agent: dict[str, float]) -> ReplayAgent:
    names = {"one": "referee 1", "two": "referee 2"}
    return ReplayAgent(
        Turn(debate="d1", round=1, agent=names[key], scores={RESPONSE: points})
        for key, points in by_agent.items()
    )


ONE_TURN = ChatEval(referees=("critic", "scientist"), max_rounds=1)


def test_an_aspect_that_a_recorded_referee_left_out_is_missing_and_not_zero() -> None:
    whole = dict(zip(TOPICAL_CHAT, (8.0, 6.0, 4.0, 2.0), strict=True))
    outcome = play_sync(ONE_TURN, ONE, recorded(one={"naturalness": 4.0}, two=whole))
    assert outcome.detail == whole | {"naturalness": 6.0}
    outcome = play_sync(ONE_TURN, ONE, recorded(one={"naturalness": 4.0}, two={"naturalness": 8.0}))
    assert outcome.detail == {"naturalness": 6.0}


@pytest.mark.parametrize("points", [0.0, 11.0, float("nan")])
def test_a_recorded_score_outside_of_the_scale_is_refused_by_its_scale(points: float) -> None:
    agent = recorded(one={"naturalness": 4.0, "coherence": points}, two={"naturalness": 8.0})
    with pytest.raises(ValueError, match=r"scale from 1 to 10; got .* for coherence in debate 'd1'"):
        play_sync(ONE_TURN, ONE, agent)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chateval:aspects=coherance", "aspects must be one of .* did you mean 'coherence'"),
        ("chateval:aspects=coherence+coherence", "aspects must be named once each"),
        ("chateval:lowest=3,highest=3", "lowest must be below highest; got lowest=3, highest=3"),
        ("chateval:highest=many", "highest must be an integer"),
    ],
)
def test_aspects_and_scales_that_cannot_be_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        protocol_from_text(text)


@pytest.mark.parametrize("kind", protocols().values(), ids=list(protocols()))
def test_other_protocols_refuse_a_single_response_before_anybody_speaks(kind: type[DebateProtocol]) -> None:
    protocol = kind()
    if kind.one_response:
        protocol.check(ONE)
        assert kind is ChatEval
        return
    with pytest.raises(
        ValueError, match=r"got one for question 'q1' \(a single response is scored by chateval\)"
    ):
        protocol.check(ONE)
    item = DebateItem("q1", "Hello!", ("Hi.",))
    with pytest.raises(ValueError, match=f"items must have .* for {kind.name}; got one in 'q1'"):
        forecast(protocol, [item], synthetic_agent(Responses(), 1))


def test_chateval_refuses_a_question_without_a_response() -> None:
    with pytest.raises(
        ValueError, match="candidates must be two for chateval, which compares answers; got none"
    ):
        plays(ChatEval(), question())


def test_a_case_of_one_response_has_neither_answers_nor_a_place() -> None:
    for wrong in ({"answers": ("A", "B")}, {"first": RESPONSE}):
        with pytest.raises(ValueError, match="answers and first must be None for one candidate"):
            Case("d", "q", "?", candidates=("x",), **wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------- items and logs


def test_a_table_with_a_response_alone_holds_responses_to_score() -> None:
    table = pd.DataFrame(
        {
            "context": ["1", "2", "3"],
            "question": ["Hello!", "Hello!", "And you?"],
            "response": ["Hi.", "Oh no.", "Fine."],
            "model": ["one", "two", "one"],
        }
    )
    first, second, third = read_items(table)
    assert (first.candidates, first.answers, first.label, first.models) == (("Hi.",), None, None, ("one",))
    # Responses to one dialogue are one cluster.
    assert first.cluster == second.cluster != third.cluster
    assert len({first.question, second.question, third.question}) == 3
    assert [planned.first for planned in placements([first, second], "seeded")] == [None, None]


@pytest.mark.parametrize("column", ["answer", "gold", "options"])
def test_a_response_beside_a_right_answer_is_not_read(column: str) -> None:
    table = pd.DataFrame(
        {"question": ["1 + 1?"], "response": ["2"], column: ["2|3" if column == "options" else "2"]}
    )
    assert read_items(table)[0].candidates == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "A"}, "answers and label must be None for one response"),
        ({"answers": ("A", "B")}, "answers and label must be None for one response"),
        ({"candidates": ("a", "b", "c")}, "candidates must be two, one response or none; got 3"),
        ({"candidates": (" ",)}, "a candidate must not be empty"),
    ],
)
def test_an_item_that_is_no_response_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DebateItem(**({"question": "q1", "text": "Hello!", "candidates": ("Hi.",)} | given))


def test_both_orders_of_one_response_are_refused() -> None:
    with pytest.raises(ValueError, match="orders must be 'seeded' for questions without two candidates"):
        list(placements([DebateItem("q1", "Hello!", ("Hi.",))], "both"))


def test_the_log_of_responses_is_sound_and_holds_the_means_that_the_debates_ended_with(
    tmp_path: Path,
) -> None:
    world, path = Responses(), tmp_path / "log.jsonl"
    items = [
        DebateItem(one.question, one.text, one.candidates, cluster=one.cluster)
        for one in synthetic_items(world, 8, seed=3)
    ]
    agent = synthetic_agent(world, 3)
    bound = forecast(PAIR, items, agent).bound
    report = asyncio.run(run_debates(PAIR, items, agent, path))
    assert (report.closed, report.calls) == (8, 4 * 8)
    assert report.charged <= bound.tokens
    assert doctor(path).exit_code == 0, doctor(path).to_text()
    table = direct_scores(path, scale=(1, 10)).set_index("question")
    for item in items:
        outcome = play_sync(PAIR, item.case(item.question), agent)
        assert table.loc[item.question, list(TOPICAL_CHAT)].to_dict() == pytest.approx(outcome.detail)
    assert (table["agents"] == 2).all()
    assert table["cluster"].nunique() == 2
    pd.testing.assert_frame_equal(direct_scores(read_log(path)), direct_scores(path))
    assert read_items(path) == items
    shown = read_transcript(path, "1")
    assert shown.item.candidates == items[0].candidates
    # The record replays to the same scores.
    again = play_sync(PAIR, items[0].case("1"), ReplayAgent(path))
    assert again.detail == pytest.approx(table.loc["1", list(TOPICAL_CHAT)].to_dict())


def test_a_log_with_an_aspect_left_out_has_a_missing_cell(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"type": "item", "debate": "d1", "question": "q1"}\n'
        '{"type": "turn", "debate": "d1", "round": 1, "agent": "r1", "scores": {"response": {"coherence": 2}}}\n'
        '{"type": "turn", "debate": "d1", "round": 1, "agent": "r2", "scores": {"response": {"coherence": 4}}}\n'
        '{"type": "item", "debate": "d2", "question": "q2"}\n'
        '{"type": "turn", "debate": "d2", "round": 1, "agent": "r1", '
        '"scores": {"response": {"coherence": 1, "naturalness": 3}}}\n'
    )
    table = direct_scores(path)
    assert table["coherence"].tolist() == [3.0, 1.0]
    assert table["naturalness"].isna().tolist() == [True, False]
    with pytest.raises(
        ValueError, match="scores must lie on the scale from 2 to 3; got 4 for coherence of 'd1'"
    ):
        direct_scores(path, scale=(2, 3))
    with pytest.raises(ValueError, match="log must hold scores of 'A'; got none in 3 turns"):
        direct_scores(path, side="A")
    with pytest.raises(ValueError, match="round must be one in which 'response' was scored; got round=2"):
        direct_scores(path, round=2)


@pytest.mark.parametrize("world", [Assembly(), Courtroom(), Referees(), Voter()])
def test_worlds_of_pairs_refuse_a_response_and_the_world_of_responses_a_pair(world: Any) -> None:
    from d3stats.agent import Refused

    with pytest.raises(Refused, match=r"case must (not be a single response|have two candidates)"):
        play_sync(ChatEval(), ONE, synthetic_agent(world, 1))
    with pytest.raises(
        Refused, match="case must be a single response in world 'responses'; got 2 candidates"
    ):
        play_sync(ChatEval(), pair(), synthetic_agent(Responses(), 1))
