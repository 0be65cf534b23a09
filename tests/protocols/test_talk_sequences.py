"""Who speaks when in a discussion, and what each one sees, against the sources, written out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from golden import FAILED, Script, lines, pair, plays, points, question, saw

from d3stats.agent import Reply, Request
from d3stats.protocols import protocol_from_text
from d3stats.protocols.agentverse import AgentVerse
from d3stats.protocols.chateval import REFEREES, ChatEval, ChatEvalOpen
from d3stats.protocols.eot import EoT, EoTNetwork
from d3stats.protocols.multi_persona import MultiPersona
from d3stats.protocols.play import DebateProtocol
from d3stats.protocols.prd import PeerDiscussion, PeerRank, peer_weights
from d3stats.protocols.stability import Stability
from d3stats.stopping import FixedRounds, Unanimity

TALKS: tuple[DebateProtocol, ...] = (
    ChatEval(),
    ChatEval(communication="simultaneous"),
    ChatEval(communication="simultaneous_with_summarizer", extraction="mean"),
    ChatEvalOpen(),
    Stability(camp="none"),
    Stability(camp="none", sees="last_round"),
    MultiPersona(),
    EoT(),
    EoTNetwork(),
    EoTNetwork(communication="relay"),
    AgentVerse(),
    AgentVerse(recruit="every_round"),
    PeerRank(),
    PeerDiscussion(),
)

Votes = Mapping[str, str | None]


def voting(*rounds: Votes) -> Script:
    """Votes by agent, one mapping a round; None: the agent fails; absent from the mapping: no vote, no error."""

    def script(request: Request) -> Reply | None:
        if not request.slot.wants_vote:
            return None
        votes = rounds[min(request.round, len(rounds)) - 1]
        if request.agent in votes and votes[request.agent] is None:
            return FAILED
        return Reply(f"{request.agent} says {request.round}", vote=votes.get(request.agent))

    return script


def scoring(*turns: Mapping[str, tuple[float, float] | None]) -> Script:
    """Referees' scores for A and B, one mapping a turn; None: the referee fails."""

    def script(request: Request) -> Reply | None:
        if request.act != "referee":
            return None
        given = turns[min(request.round, len(turns)) - 1][request.agent]
        if given is None:
            return FAILED
        return Reply(f"{request.agent} says {request.round}", scores=points(request, A=given[0], B=given[1]))

    return script


LEANING_A = scoring({"referee 1": (8, 6), "referee 2": (5, 7), "referee 3": (9, 4)})


# ChatEval


def test_referees_one_by_one_hear_everything_said_before_them_this_turn_included() -> None:
    played = plays(ChatEval(), pair("A"), LEANING_A)
    t1 = ["referee 1/1+vote+scores", "referee 2/1+vote+scores", "referee 3/1+vote+scores"]
    t2 = ["referee 1/2+vote+scores", "referee 2/2+vote+scores"]
    assert lines(played) == [
        "referee 1/1 (referee: referee) sees nothing",
        f"referee 2/1 (referee: referee) sees {t1[0]}",
        f"referee 3/1 (referee: referee) sees {', '.join(t1[:2])}",
        "round 1 over: votes A B A, scores A=7.33333 B=5.66667",
        f"referee 1/2 (referee: referee) sees {', '.join(t1)}",
        f"referee 2/2 (referee: referee) sees {', '.join([*t1, t2[0]])}",
        f"referee 3/2 (referee: referee) sees {', '.join([*t1, *t2])}",
        "round 2 over: votes A B A, scores A=7.33333 B=5.66667",
    ]
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == ("A", 2, "chateval_turns")


def test_referees_at_the_same_time_hear_the_turns_before() -> None:
    played = plays(ChatEval(communication="simultaneous"), pair("A"), LEANING_A)
    before = "referee 1/1+vote+scores, referee 2/1+vote+scores, referee 3/1+vote+scores"
    assert lines(played) == [
        [f"referee {j}/1 (referee: referee) sees nothing" for j in (1, 2, 3)],
        "round 1 over: votes A B A, scores A=7.33333 B=5.66667",
        [f"referee {j}/2 (referee: referee) sees {before}" for j in (1, 2, 3)],
        "round 2 over: votes A B A, scores A=7.33333 B=5.66667",
    ]


def test_with_a_summarizer_referees_hear_summaries_and_the_summarizer_hears_all() -> None:
    played = plays(
        ChatEval(
            communication="simultaneous_with_summarizer", max_rounds=3, referees=("critic", "scientist")
        ),
        pair("A"),
        LEANING_A,
    )
    t = [[f"referee {j}/{turn}+vote+scores" for j in (1, 2)] for turn in (1, 2, 3)]
    over = "scores A=6.5 B=6.5"
    assert lines(played) == [
        ["referee 1/1 (referee: referee) sees nothing", "referee 2/1 (referee: referee) sees nothing"],
        f"summarizer/1 (summarizer: summarise) sees {', '.join(t[0])}",
        f"round 1 over: votes A B, {over}",
        [f"referee {j}/2 (referee: referee) sees summarizer/1" for j in (1, 2)],
        f"summarizer/2 (summarizer: summarise) sees {', '.join(t[0] + t[1])}",
        f"round 2 over: votes A B, {over}",
        [f"referee {j}/3 (referee: referee) sees summarizer/1, summarizer/2" for j in (1, 2)],
        f"summarizer/3 (summarizer: summarise) sees {', '.join(t[0] + t[1] + t[2])}",
        f"round 3 over: votes A B, {over}",
    ]
    assert not played.request("summarizer", 1).slot.wants_vote


def test_majority_and_mean_may_decide_differently() -> None:
    split = scoring({"referee 1": (7, 6), "referee 2": (7, 6), "referee 3": (1, 10)})
    assert plays(ChatEval(), pair(), split).outcome.decision == "A"
    assert plays(ChatEval(extraction="mean"), pair(), split).outcome.decision == "B"


def test_a_borda_count_gives_half_a_point_to_equal_sides() -> None:
    """Two referees see no difference and one sees A ahead: the plurality is a tie, A has 2 points of 3."""
    script = scoring({"referee 1": (7, 7), "referee 2": (8, 8), "referee 3": (6, 5)})
    case = pair(answers=("A", "B", "tie"))
    assert plays(ChatEval(), case, script).outcome.decision == "tie"
    assert plays(ChatEval(extraction="borda"), case, script).outcome.decision == "A"


def test_a_borda_count_does_not_hear_how_far_apart_the_scores_are() -> None:
    split = scoring({"referee 1": (7, 6), "referee 2": (7, 6), "referee 3": (1, 10)})
    assert plays(ChatEval(extraction="borda"), pair(), split).outcome.decision == "A"
    missing = scoring({"referee 1": (7, 6), "referee 2": None, "referee 3": (1, 10)})
    assert plays(ChatEval(extraction="borda"), pair(), missing).outcome.decision is None
    silent = scoring({f"referee {j}": None for j in (1, 2, 3)})
    assert plays(ChatEval(extraction="borda"), pair(), silent).outcome.decision is None


@pytest.mark.parametrize("extraction", ["majority", "mean", "borda"])
def test_level_sides_are_a_tie_where_that_is_an_answer_and_no_decision_where_it_is_not(
    extraction: str,
) -> None:
    protocol = ChatEval(referees=("critic", "scientist"), extraction=extraction)
    level = scoring({"referee 1": (8, 6), "referee 2": (6, 8)})
    assert plays(protocol, pair(), level).outcome.decision is None
    assert plays(protocol, pair(answers=("A", "B", "tie")), level).outcome.decision == "tie"


def test_a_side_and_a_tie_with_as_many_votes_are_no_decision() -> None:
    protocol = ChatEval(referees=("critic", "scientist"))
    played = plays(
        protocol, pair(answers=("A", "B", "tie")), scoring({"referee 1": (8, 6), "referee 2": (7, 7)})
    )
    assert played.rounds[-1].votes == ("A", "tie")
    assert played.outcome.decision is None


def test_a_referee_who_fails_is_a_missing_vote_and_says_nothing() -> None:
    played = plays(ChatEval(), pair(), scoring({"referee 1": (8, 6), "referee 2": None, "referee 3": (9, 4)}))
    assert played.rounds[0].votes == ("A", None, "A")
    assert played.rounds[0].scores == {"A": 8.5, "B": 5.0}
    assert saw(played.request("referee 3").seen) == "referee 1/1+vote+scores"
    assert played.outcome.decision == "A"


def test_referees_who_all_fail_decide_nothing() -> None:
    silent = scoring({f"referee {j}": None for j in (1, 2, 3)})
    for case in (pair(), pair(answers=("A", "B", "tie"))):
        for extraction in ("majority", "mean"):
            played = plays(ChatEval(extraction=extraction), case, silent)
            assert played.rounds[-1].scores is None
            assert (played.outcome.decision, played.outcome.reason) == (None, "chateval_turns")


def test_referees_are_told_their_own_role_and_score_from_1_to_10() -> None:
    played = plays(ChatEval(referees=("psychologist", "author")), pair())
    for agent, role in (("referee 1", "psychologist"), ("referee 2", "author")):
        request = played.request(agent)
        assert REFEREES[role] in request.instruction
        assert request.slot.rubric is not None
        assert (request.slot.rubric.criteria, request.slot.rubric.low, request.slot.rubric.high) == (
            ("overall",),
            1,
            10,
        )


def test_one_turn_is_a_vote_after_each_has_heard_those_before() -> None:
    played = plays(ChatEval(max_rounds=1), pair("A"), LEANING_A)
    t1 = ["referee 1/1+vote+scores", "referee 2/1+vote+scores"]
    assert lines(played) == [
        "referee 1/1 (referee: referee) sees nothing",
        f"referee 2/1 (referee: referee) sees {t1[0]}",
        f"referee 3/1 (referee: referee) sees {', '.join(t1)}",
        "round 1 over: votes A B A, scores A=7.33333 B=5.66667",
    ]
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == ("A", 1, "chateval_turns")


def test_one_turn_at_the_same_time_is_a_vote_without_a_discussion() -> None:
    played = plays(ChatEval(max_rounds=1, communication="simultaneous"), pair("A"), LEANING_A)
    assert lines(played) == [
        [f"referee {j}/1 (referee: referee) sees nothing" for j in (1, 2, 3)],
        "round 1 over: votes A B A, scores A=7.33333 B=5.66667",
    ]


def test_the_papers_single_agent_has_the_template_without_role_and_history() -> None:
    alone = ChatEval(referees=("none",), max_rounds=1)
    played = plays(alone, pair("B"), scoring({"referee 1": (6, 9)}))
    assert lines(played) == [
        "referee 1/1 (referee: referee) sees nothing",
        "round 1 over: votes B, scores A=6 B=9",
    ]
    assert (played.outcome.decision, str(alone)) == ("B", "chateval:max_rounds=1,referees=none")
    told = played.request("referee 1").instruction
    assert not any(role in told for role in REFEREES.values() if role)
    assert not any(word in told for word in ("ther referee", "the others"))
    assert "from 1 (worst) to 10 (best)" in told


def test_repeated_neutral_roles_are_told_the_same_but_for_their_names() -> None:
    """Table 3 of the paper: the same neutral role for everybody, nothing else changed."""
    same = ChatEval(referees=("annotator", "annotator"))
    played = plays(same, pair("A"), LEANING_A)
    assert str(same) == "chateval:referees=annotator+annotator"
    assert lines(played)[1] == "referee 2/1 (referee: referee) sees referee 1/1+vote+scores"
    told = [played.request(f"referee {j}").instruction.replace(f"referee {j}", "NAME") for j in (1, 2)]
    assert told[0] == told[1]
    assert REFEREES["annotator"] in told[0]
    diverse = plays(ChatEval(referees=("critic", "scientist")), pair("A"), LEANING_A)
    left = diverse.request("referee 1").instruction.replace("referee 1", "NAME")
    assert left.replace(REFEREES["critic"], REFEREES["annotator"]) == told[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chateval:max_rounds=0", "max_rounds must be >= 1"),
        ("chateval:referees=critic+novelist", "referees must be one of"),
        ("chateval:communication=shouting", "communication must be one of"),
        ("chateval:referees=", "referees must be one role or more"),
        ("stability:camp=loud", "camp must be one of"),
        ("stability:panel=0", "panel must be >= 1"),
        ("eot:similarity=2", "similarity must lie between 0 and 1"),
        (
            "eot_network:communication=tree",
            "communication must be one of 'memory', 'report', 'relay', 'debate'",
        ),
        ("agentverse:critics=0", "critics must be >= 1"),
        ("agentverse:recruit=never", "recruit must be one of"),
        ("peer_rank:reviewers=3,weights=1+1", "weights must be one per reviewer"),
        ("peer_rank:reviewers=2,weights=0+0", "weights must be one per reviewer"),
        ("peer_rank:reviewers=2,weights=-1+2", "weights must be finite and >= 0"),
        ("peer_rank:orders=one", "orders must be one of"),
        ("peer_discussion:undecided=coin", "undecided must be one of"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        protocol_from_text(text)


@pytest.mark.parametrize("protocol", TALKS, ids=str)
def test_a_discussion_reads_back_from_its_text(protocol: DebateProtocol) -> None:
    assert protocol_from_text(str(protocol)) == protocol


# Stability debate


def test_a_panel_answers_at_once_and_reads_the_whole_debate() -> None:
    split = {"panelist 1": "A", "panelist 2": "B", "panelist 3": "A"}
    agreed = dict.fromkeys(split, "B")
    played = plays(Stability(panel=3, camp="none"), pair(), voting(split, split, agreed))
    r = [", ".join(f"panelist {j}/{number}+vote" for j in (1, 2, 3)) for number in (1, 2)]
    assert lines(played) == [
        [f"panelist {j}/1 (panelist: answer) sees nothing" for j in (1, 2, 3)],
        "round 1 over: votes A B A, scores none",
        [f"panelist {j}/2 (panelist: answer) sees {r[0]}" for j in (1, 2, 3)],
        "round 2 over: votes A B A, scores none",
        [f"panelist {j}/3 (panelist: answer) sees {r[0]}, {r[1]}" for j in (1, 2, 3)],
        "round 3 over: votes B B B, scores none",
    ]
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == ("B", 3, "unanimity")


def test_a_panel_may_read_the_last_round_alone() -> None:
    split = {"panelist 1": "A", "panelist 2": "B"}
    played = plays(Stability(panel=2, camp="none", sees="last_round", max_rounds=3), pair(), voting(split))
    assert saw(played.request("panelist 1", 3).seen) == "panelist 1/2+vote, panelist 2/2+vote"
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == (None, 3, "exhausted")


def test_a_panel_has_seven_seats_and_ten_rounds_and_the_papers_rule_needs_the_batch() -> None:
    protocol = Stability()
    assert (protocol.panel, protocol.max_rounds) == (7, 10)
    assert str(protocol.rule()).startswith("unanimity | ks:0.05,scale=latent,source=fitted")
    with pytest.raises(TypeError, match="needs a whole batch"):
        plays(protocol, pair())


def test_a_panelist_who_fails_is_missing_and_the_others_decide() -> None:
    votes = {"panelist 1": "2", "panelist 2": None, "panelist 3": "2"}
    played = plays(Stability(panel=3, camp="none"), question(), voting(votes))
    assert played.rounds[0].votes == ("2", None, "2")
    assert (played.outcome.decision, played.outcome.reason) == ("2", "unanimity")


# Multi-Persona


AFFIRMATIVE, NEGATIVE, MODERATOR = "debater, affirmative", "debater, negative", "moderator"


def test_the_moderator_ends_the_debate_by_deciding() -> None:
    apart = {AFFIRMATIVE: "A", NEGATIVE: "B"}
    played = plays(MultiPersona(), pair(), voting(apart, apart | {MODERATOR: "B"}))
    r1 = "affirmative/1+vote, negative/1+vote, moderator/1"
    assert lines(played) == [
        f"{AFFIRMATIVE}/1 (affirmative: affirm) sees nothing",
        f"{NEGATIVE}/1 (negative: oppose) sees affirmative/1+vote",
        f"{MODERATOR}/1 (moderator: moderate) sees affirmative/1+vote, negative/1+vote",
        "round 1 over: votes A B -, scores none",
        f"{AFFIRMATIVE}/2 (affirmative: affirm) sees {r1}",
        f"{NEGATIVE}/2 (negative: oppose) sees {r1}, affirmative/2+vote",
        f"{MODERATOR}/2 (moderator: moderate) sees {r1}, affirmative/2+vote, negative/2+vote",
        "round 2 over: votes A B B, scores none, ends: declaration",
    ]
    assert (played.outcome.decision, played.outcome.reason) == ("B", "declaration")


def test_the_moderator_may_pass_until_the_last_round() -> None:
    played = plays(MultiPersona(), pair(), voting({AFFIRMATIVE: "A", NEGATIVE: "B"}))
    passes = [played.request(MODERATOR, number).slot.may_pass for number in (1, 2, 3)]
    assert passes == [True, True, False]


@pytest.mark.parametrize(
    ("votes", "decision", "reason"),
    [
        ({AFFIRMATIVE: "A", NEGATIVE: "B", MODERATOR: None}, "B", "negative_stands"),
        ({AFFIRMATIVE: "A", NEGATIVE: None, MODERATOR: None}, "A", "affirmative_stands"),
        ({AFFIRMATIVE: None, NEGATIVE: None, MODERATOR: None}, None, "no_conclusion"),
    ],
)
def test_a_moderator_who_fails_goes_on_and_then_the_proposals_stand(
    votes: Votes, decision: str | None, reason: str
) -> None:
    outcome = plays(MultiPersona(), pair(), voting(votes)).outcome
    assert (outcome.decision, outcome.round, outcome.reason) == (decision, 3, reason)


def test_the_latest_proposal_of_a_side_stands() -> None:
    first = {AFFIRMATIVE: "A", NEGATIVE: "B"}
    later = {AFFIRMATIVE: "B", NEGATIVE: None, MODERATOR: None}
    outcome = plays(MultiPersona(), pair(), voting(first, later)).outcome
    assert (outcome.decision, outcome.detail["passed_over"]) == ("B", 1)


def test_another_rule_may_end_the_debate_before_the_moderator_does() -> None:
    played = plays(MultiPersona(), pair(), voting({AFFIRMATIVE: "A", NEGATIVE: "B"}), FixedRounds(1))
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == ("B", 1, "fixed_rounds")


def test_a_question_is_debated_in_free_words() -> None:
    played = plays(
        MultiPersona(), question(None), voting({AFFIRMATIVE: "two", NEGATIVE: "three", MODERATOR: "3"})
    )
    assert all(request.slot.open_vote and request.slot.wants_vote for request in played.requests)
    assert played.outcome.decision == "3"


# Exchange-of-Thought


def test_leaves_exchange_the_solutions_of_the_round_before_and_the_parent_reads_this_rounds() -> None:
    rounds = (
        {"leaf 1": "12", "leaf 2": "40", "synthesizer": "12"},
        {"leaf 1": "35", "leaf 2": "7", "synthesizer": "7"},
        {"leaf 1": "8", "leaf 2": "99", "synthesizer": "8"},
    )
    played = plays(EoT(), question(None), voting(*rounds))
    both = [f"leaf 1/{r}+vote, leaf 2/{r}+vote" for r in (1, 2, 3)]
    assert lines(played) == [
        ["leaf 1/1 (leaf 1: solve) sees nothing", "leaf 2/1 (leaf 2: solve) sees nothing"],
        f"synthesizer/1 (synthesizer: synthesise) sees {both[0]}",
        "round 1 over: votes 12 40 12, scores none",
        [f"leaf 1/2 (leaf 1: solve) sees {both[0]}", f"leaf 2/2 (leaf 2: solve) sees {both[0]}"],
        f"synthesizer/2 (synthesizer: synthesise) sees {both[1]}",
        "round 2 over: votes 35 7 7, scores none",
        [f"leaf 1/3 (leaf 1: solve) sees {both[1]}", f"leaf 2/3 (leaf 2: solve) sees {both[1]}"],
        f"synthesizer/3 (synthesizer: synthesise) sees {both[2]}",
        "round 3 over: votes 8 99 8, scores none",
    ]
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == ("8", 3, "round_cap")


def test_leaves_that_agree_end_the_debate() -> None:
    outcome = plays(EoT(), pair(), voting({"leaf 1": "A", "leaf 2": "A", "synthesizer": "B"})).outcome
    # The parent's answer is final, even against both leaves.
    assert (outcome.decision, outcome.round, outcome.reason) == ("B", 1, "consensus")


def test_a_leaf_that_repeats_itself_leaves_and_its_last_solution_stays_to_be_read() -> None:
    rounds = (
        {"leaf 1": "A", "leaf 2": "B", "synthesizer": "A"},
        {"leaf 1": "A", "leaf 2": "C", "synthesizer": "A"},
        {"leaf 2": "D", "synthesizer": "D"},
        {"leaf 2": "D", "synthesizer": "D"},
    )
    case = question(("A", "B", "C", "D"))
    played = plays(EoT(max_rounds=5), case, voting(*rounds))
    left = "leaf 1/2+vote"
    assert lines(played)[6:] == [
        f"leaf 2/3 (leaf 2: solve) sees {left}, leaf 2/2+vote",
        f"synthesizer/3 (synthesizer: synthesise) sees {left}, leaf 2/3+vote",
        "round 3 over: votes - D D, scores none",
        f"leaf 2/4 (leaf 2: solve) sees {left}, leaf 2/3+vote",
        f"synthesizer/4 (synthesizer: synthesise) sees {left}, leaf 2/4+vote",
        "round 4 over: votes - D D, scores none",
    ]
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == ("D", 4, "agents_left")


def test_when_both_leaves_have_left_no_rule_keeps_the_debate_alive() -> None:
    played = plays(
        EoT(), question(), voting({"leaf 1": "2", "leaf 2": "3", "synthesizer": "3"}), FixedRounds(3)
    )
    assert (played.outcome.round, played.outcome.reason) == (2, "agents_left")


def test_a_leaf_that_fails_stays_and_is_like_nothing() -> None:
    lone = {"leaf 1": "2", "leaf 2": None, "synthesizer": "2"}
    played = plays(EoT(), question(), voting(lone))
    assert saw(played.request("leaf 2", 2).seen) == "leaf 1/1+vote"
    assert [r.agent for r in played.requests if r.round == 3] == ["leaf 2", "synthesizer"]
    assert (played.outcome.round, played.outcome.reason) == (3, "round_cap")


def test_a_parent_that_fails_in_the_last_round_leaves_no_decision() -> None:
    outcome = plays(EoT(), question(), voting({"leaf 1": "2", "leaf 2": "2", "synthesizer": None})).outcome
    assert (outcome.decision, outcome.reason) == (None, "consensus")


def test_solvers_of_a_network_exchange_until_all_three_agree() -> None:
    rounds = (
        {"solver 1": "12", "solver 2": "40", "solver 3": "12"},
        {"solver 1": "12", "solver 2": None, "solver 3": "12"},
        {"solver 1": "12", "solver 2": "12", "solver 3": "12"},
    )
    played = plays(EoTNetwork(communication="relay"), question(None), voting(*rounds))
    act = "(solver: solve) sees"
    assert lines(played) == [
        [f"solver {i}/1 {act} nothing" for i in (1, 2, 3)],
        "round 1 over: votes 12 40 12, scores none",
        [
            f"solver 1/2 {act} solver 1/1+vote, solver 2/1+vote",
            f"solver 2/2 {act} solver 2/1+vote, solver 3/1+vote",
            f"solver 3/2 {act} solver 1/1+vote, solver 3/1+vote",
        ],
        # Two that agree are not three, and nobody has heard the one that failed.
        "round 2 over: votes 12 - 12, scores none",
        [
            f"solver 1/3 {act} solver 1/2+vote",
            f"solver 2/3 {act} solver 3/2+vote",
            f"solver 3/3 {act} solver 1/2+vote, solver 3/2+vote",
        ],
        "round 3 over: votes 12 12 12, scores none",
    ]
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == ("12", 3, "unanimity")


def test_a_network_that_never_agrees_is_decided_by_its_last_answers() -> None:
    two = plays(EoTNetwork(), question(), voting({"solver 1": "2", "solver 2": "3", "solver 3": "3"})).outcome
    assert (two.decision, two.round, two.reason) == ("3", 6, "exhausted")
    apart = voting({"solver 1": "12", "solver 2": "7", "solver 3": "8"})
    assert plays(EoTNetwork(), question(None), apart).outcome.decision is None


# AgentVerse


def marking(marks: tuple[float | None, ...], votes: Votes | None = None) -> Script:
    """The evaluator's mark by round (None: it fails), and votes by agent; three experts are recruited."""
    said = voting(votes or {})

    def script(request: Request) -> Reply | None:
        if request.act == "assign":
            return Reply("a logician\n\n  a teacher of arithmetic  \nan editor\na poet")
        if request.act == "evaluate":
            mark = marks[request.round - 1]
            if mark is None:
                return FAILED
            vote = (votes or {}).get("evaluator")
            return Reply(
                f"evaluator says {request.round}", vote=vote, scores={"answer": {"correctness": mark}}
            )
        return said(request)

    return script


GROUP = {"solver": "2", "critic 1": "3", "critic 2": "3", "critic 3": "2", "evaluator": "3"}


def test_the_group_recruits_solves_improves_and_marks_until_the_mark_is_1() -> None:
    played = plays(AgentVerse(), question(), marking((0, 1), GROUP))
    solution = "solver/{}+vote"
    improved = "solver/{0}+vote, critic 1/{0}+vote, critic 2/{0}+vote, critic 3/{0}+vote"
    before = improved.format(1) + ", evaluator/1+vote+scores"
    assert lines(played) == [
        "assigner/1 (assigner: assign) sees nothing",
        "solver/1 (solver: solve) sees nothing",
        [f"critic {j}/1 (critic: criticise) sees assigner/1, {solution.format(1)}" for j in (1, 2, 3)],
        f"evaluator/1 (evaluator: evaluate) sees {improved.format(1)}",
        "round 1 over: votes 3 3 2 3 2, scores answer=0",
        f"solver/2 (solver: solve) sees {before}",
        [f"critic {j}/2 (critic: criticise) sees assigner/1, {solution.format(2)}" for j in (1, 2, 3)],
        f"evaluator/2 (evaluator: evaluate) sees {improved.format(2)}",
        "round 2 over: votes 3 3 2 3 2, scores answer=1",
    ]
    assert (played.outcome.decision, played.outcome.round) == ("3", 2)
    assert played.outcome.reason == "score_declaration"


def test_what_the_assigner_wrote_is_read_as_a_message_line_by_line_and_never_as_an_instruction() -> None:
    played = plays(AgentVerse(), question(), marking((1,), GROUP))
    told = [played.request(f"critic {j}").seen[0].text for j in (1, 2, 3)]
    assert told == ["a logician", "a teacher of arithmetic", "an editor"]
    assert all("logician" not in r.instruction and "poet" not in r.instruction for r in played.requests)
    assert played.request("assigner").slot.listed == 3


def test_a_group_without_descriptions_works_all_the_same() -> None:
    def script(request: Request) -> Reply | None:
        return FAILED if request.act == "assign" else marking((1,), GROUP)(request)

    played = plays(AgentVerse(), question(), script)
    assert saw(played.request("critic 1").seen) == "solver/1+vote"
    assert played.outcome.decision == "3"


def test_experts_may_be_recruited_anew_by_somebody_who_has_read_the_evaluator() -> None:
    played = plays(AgentVerse(recruit="every_round"), question(), marking((0, 1), GROUP))
    assert saw(played.request("assigner", 2).seen) == "evaluator/1+vote+scores"
    assert saw(played.request("critic 1", 2).seen) == "assigner/2, solver/2+vote"


def test_a_missing_mark_goes_on_and_the_last_critic_with_an_answer_stands_in() -> None:
    votes = GROUP | {"critic 3": None}
    played = plays(AgentVerse(), question(), marking((None, None, None), votes))
    assert [step.scores for step in played.rounds] == [None] * 3
    outcome = played.outcome
    assert (outcome.decision, outcome.round, outcome.reason) == ("3", 3, "exhausted")
    assert outcome.detail == {"passed_over": 2}


def test_a_group_in_which_only_the_solver_answers_decides_nothing() -> None:
    votes: Votes = {"solver": "2", "critic 1": None, "critic 2": None, "critic 3": None}
    outcome = plays(AgentVerse(), question(), marking((0, 0, 0), votes)).outcome
    assert (outcome.decision, outcome.reason) == (None, "exhausted")


def test_a_group_that_judges_a_pair_is_stopped_by_the_mark_and_not_by_a_candidates_points() -> None:
    votes = dict.fromkeys(GROUP, "B")
    played = plays(AgentVerse(), pair(), marking((0, 0, 1), votes))
    assert (played.outcome.decision, played.outcome.round) == ("B", 3)


# Peer rank and peer discussion


def reviewing(**votes: tuple[str | None, str | None]) -> Script:
    """Votes of reviewer r1, r2, ... with A first and with B first."""
    return voting(
        {
            f"reviewer {name[1:]}, {side} first": vote
            for name, both in votes.items()
            for side, vote in zip("AB", both, strict=True)
        }
    )


def test_peers_review_in_both_orders_at_once_and_see_nobody() -> None:
    played = plays(PeerRank(reviewers=2), pair("B"), reviewing(r1=("A", "A"), r2=("A", "B")))
    assert lines(played) == [
        [
            "reviewer 1, A first/1 (reviewer 1: review) sees nothing",
            "reviewer 1, B first/1 (reviewer 1: review) sees nothing",
            "reviewer 2, A first/1 (reviewer 2: review) sees nothing",
            "reviewer 2, B first/1 (reviewer 2: review) sees nothing",
        ],
        "round 1 over: votes A A A B, scores none, ends: one_round",
    ]
    assert [request.shown_first for request in played.requests] == ["A", "B", "A", "B"]
    # Reviewer 2 follows the place, so it abstains.
    assert (played.outcome.decision, played.outcome.detail) == ("A", {"A": 1.0, "B": 0})


def test_a_reviewer_that_follows_the_place_votes_for_a_tie_where_there_is_one() -> None:
    case = pair(answers=("A", "B", "tie"))
    votes = reviewing(r1=("A", "B"), r2=("A", "B"), r3=("A", "A"))
    assert plays(PeerRank(reviewers=3), case, votes).outcome.decision == "tie"
    # A side once and a tie once is no vote, nor is one vote of two.
    votes = reviewing(r1=("A", "tie"), r2=("A", None), r3=("B", "B"))
    assert plays(PeerRank(reviewers=3), case, votes).outcome.decision == "B"


def test_weights_decide_against_the_majority() -> None:
    votes = reviewing(r1=("A", "A"), r2=("B", "B"), r3=("B", "B"))
    assert plays(PeerRank(reviewers=3), pair(), votes).outcome.decision == "B"
    assert plays(PeerRank(reviewers=3, weights=(3, 1, 1)), pair(), votes).outcome.decision == "A"
    level = plays(PeerRank(reviewers=3, weights=(0.3, 0.1, 0.2)), pair(), votes).outcome
    assert level.decision is None, "0.1 + 0.2 weighs as much as 0.3"


def test_a_reviewer_without_weight_is_not_heard() -> None:
    votes = reviewing(r1=(None, None), r2=("B", "B"))
    assert plays(PeerRank(reviewers=2, weights=(1, 0)), pair(), votes).outcome.decision is None


def test_each_order_may_count_by_itself() -> None:
    votes = reviewing(r1=("A", "B"), r2=("A", "tie"))
    case = pair(answers=("A", "B", "tie"))
    assert plays(PeerRank(reviewers=2), case, votes).outcome.decision == "tie"
    assert plays(PeerRank(reviewers=2, orders="each"), case, votes).outcome.decision == "A"


def test_two_reviewers_judge_apart_then_answer_each_other_until_they_agree() -> None:
    apart = {"reviewer 1": "A", "reviewer 2": "B"}
    agreed = {"reviewer 1": "B", "reviewer 2": "B"}
    played = plays(PeerDiscussion(max_rounds=5), pair(), voting(apart, apart, agreed))
    r = [f"reviewer 1/{number}+vote, reviewer 2/{number}+vote" for number in (1, 2)]
    assert lines(played) == [
        [f"reviewer {j}/1 (reviewer {j}: review) sees nothing" for j in (1, 2)],
        "round 1 over: votes A B, scores none",
        f"reviewer 1/2 (reviewer 1: discuss) sees {r[0]}",
        f"reviewer 2/2 (reviewer 2: discuss) sees {r[0]}, reviewer 1/2+vote",
        "round 2 over: votes A B, scores none",
        f"reviewer 1/3 (reviewer 1: discuss) sees {r[0]}, {r[1]}",
        f"reviewer 2/3 (reviewer 2: discuss) sees {r[0]}, {r[1]}, reviewer 1/3+vote",
        "round 3 over: votes B B, scores none",
    ]
    assert (played.outcome.decision, played.outcome.round, played.outcome.reason) == ("B", 3, "unanimity")


def test_reviewers_who_agree_from_the_start_have_nothing_to_discuss() -> None:
    outcome = plays(PeerDiscussion(), pair(), voting({"reviewer 1": "A", "reviewer 2": "A"})).outcome
    assert (outcome.decision, outcome.round) == ("A", 1)


def test_reviewers_who_never_agree_decide_nothing_unless_the_last_word_counts() -> None:
    apart = voting({"reviewer 1": "A", "reviewer 2": "B"})
    assert plays(PeerDiscussion(), pair(), apart).outcome.decision is None
    last = plays(PeerDiscussion(undecided="last_speaker"), pair(), apart).outcome
    assert (last.decision, last.round, last.reason) == ("B", 3, "exhausted")


def test_a_reviewer_who_fails_has_not_agreed() -> None:
    played = plays(PeerDiscussion(), pair(), voting({"reviewer 1": "A", "reviewer 2": None}))
    assert (played.outcome.decision, played.outcome.round) == (None, 3)
    assert saw(played.request("reviewer 2", 2).seen) == "reviewer 1/1+vote, reviewer 1/2+vote"


def reviews_of(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["reviewer", "model", "opponent", "score"])


def test_peer_weights_are_the_fixed_point_that_a_hand_finds() -> None:
    # Two models review each other in four pairs each. If x gives itself the share a, and y gives x the share b,
    # x's win rate is a w + b (1 - w) with w the weight of x; the rates sum to 1, so w = b / (1 - a + b).
    for by_x, by_y, weight in (((1, 1, 1, 0), (1, 0, 0, 0), 1 / 2), ((1, 1, 1, 0.5), (1, 0, 0, 0), 2 / 3)):
        rows = [("x", "x", "y", s) for s in by_x] + [("y", "y", "x", 1 - s) for s in by_y]
        found = peer_weights(reviews_of(*rows), scale="share")
        assert found.converged
        assert found.weights(["y", "x"]) == pytest.approx((1 - weight, weight))
        assert sorted(found.table["win_rate"]) == pytest.approx(sorted((weight, 1 - weight)))


def test_with_the_papers_scale_the_worst_reviewer_is_not_heard() -> None:
    # Three models; all reviewers agree: x beats y and z, y beats z. Rates 1, 1/2, 0: weights 2/3, 1/3, 0.
    rows = [(r, a, b, 1.0) for r in "xyz" for a, b in ("xy", "xz", "yz")]
    found = peer_weights(reviews_of(*rows))
    assert found.table["win_rate"].tolist() == pytest.approx([1, 0.5, 0])
    assert found.weights(["x", "y", "z"]) == pytest.approx((2 / 3, 1 / 3, 0))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (reviews_of(("x", "x", "y", 0.7)), "score must be 1, 0.5 or 0; got score=0.7 at row 0"),
        (reviews_of(("x", "x", "x", 1)), "opponent must be another model"),
        (reviews_of(("w", "x", "y", 1)), "reviewer must be one of the models"),
        (reviews_of(("x", "x", "y", 1)).drop(columns="score"), "must have the columns"),
        (reviews_of().astype(object), "at least one row"),
        (reviews_of(("x", "x", "y", float("nan"))), "score must be"),
        (reviews_of(("x", "x", None, 1)), "must name who reviewed whom"),  # type: ignore[arg-type]  # the test
    ],
)
def test_reviews_that_cannot_be_are_refused(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        peer_weights(frame)


@pytest.mark.real_data
def test_five_iterations_give_the_numbers_of_the_papers_notebook(data_dir: Path) -> None:
    votes = pd.read_csv(data_dir / "derived" / "prd_votes.csv")
    score = votes.columns[-1]
    votes = votes[votes["reviewer"] != "human"].drop_duplicates(
        ["answer1", "answer2", "question_id", "reviewer"], keep="last"
    )
    reviews = pd.DataFrame(
        {
            "reviewer": votes["reviewer"],
            "model": votes["answer1"],
            "opponent": votes["answer2"],
            "score": votes[score].map({1: 1.0, 2: 0.0, 3: 0.5}),
        }
    )
    assert len(reviews) == 8000
    plain = peer_weights(reviews, max_iter=1).table
    assert plain["win_rate"].tolist() == pytest.approx(
        [0.74984375, 0.66171875, 0.3934375, 0.37546875, 0.31953125], abs=1e-14
    )
    found = peer_weights(reviews, max_iter=5)
    assert found.table["model"].tolist() == ["gpt4", "claude", "vicuna-13b", "gpt35", "bard"]
    assert found.table["win_rate"].tolist() == pytest.approx(
        [0.8020248859751706, 0.6849775818976092, 0.3762490667521628, 0.3461644881503264, 0.2905839772247015],
        abs=1e-12,
    )
    assert found.table["weight"].tolist() == pytest.approx(
        [0.488444868709263, 0.37666039059112444, 0.08181330959511306, 0.05308143110449947, 0.0], abs=1e-12
    )


# All of them


@pytest.mark.parametrize("protocol", TALKS, ids=str)
def test_no_instruction_holds_what_a_candidate_or_another_agent_wrote(protocol: DebateProtocol) -> None:
    played = plays(protocol, pair())
    spoken = {reply.text for reply in played.replies.values() if reply.text}
    for request in played.requests:
        assert "Two." not in request.instruction
        assert "Three." not in request.instruction
        assert "larger" not in request.instruction
        assert not any(text in request.instruction for text in spoken)


@pytest.mark.parametrize("protocol", TALKS, ids=str)
def test_when_everybody_fails_the_debate_ends_without_a_decision(protocol: DebateProtocol) -> None:
    played = plays(protocol, pair(), lambda request: FAILED)
    assert played.outcome.decision is None
    assert played.outcome.round <= protocol.max_rounds
    assert played.outcome.reason
    assert all(vote is None for step in played.rounds for vote in step.votes)


@pytest.mark.parametrize("protocol", TALKS, ids=str)
@pytest.mark.parametrize("first", ["A", "B"])
def test_the_place_of_an_answer_changes_no_name(protocol: DebateProtocol, first: str) -> None:
    played = plays(protocol, pair(first))
    assert lines(played) == lines(plays(protocol, pair("A")))


@pytest.mark.parametrize("protocol", TALKS, ids=str)
def test_no_system_is_named_in_what_another_agent_reads(protocol: DebateProtocol) -> None:
    def script(request: Request) -> Reply:
        from golden import fitting

        reply = fitting(request)
        return Reply("GPT-4 is right", vote=reply.vote, scores=reply.scores)

    played = plays(protocol, pair(names=("gpt-4",)), script, FixedRounds(3))
    read = [message.text for request in played.requests for message in request.seen]
    assert all("gpt" not in text.lower() for text in read)
    assert read or isinstance(protocol, PeerRank)


def test_unanimity_may_stop_referees_before_their_turns_are_over() -> None:
    played = plays(
        ChatEval(max_rounds=4), pair(), scoring({f"referee {j}": (9, 5) for j in (1, 2, 3)}), Unanimity()
    )
    assert (played.outcome.round, played.outcome.reason) == (1, "unanimity")
