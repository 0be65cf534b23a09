"""Any stopping rule plugs into any discussion, and sees there what it would read from the log."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest
from golden import FAILED, Played, Script, ScriptedAgent, plays
from layers import covering

from d3stats.agent import Case, Reply, Request
from d3stats.log.doctor import doctor
from d3stats.log.reader import read_log
from d3stats.log.schema import Item, Verdict
from d3stats.log.writer import LogWriter
from d3stats.protocols.agentverse import AgentVerse
from d3stats.protocols.chateval import ChatEval, ChatEvalOpen
from d3stats.protocols.eot import EoT, EoTNetwork
from d3stats.protocols.multi_persona import MultiPersona
from d3stats.protocols.play import DebateProtocol, round_seen
from d3stats.protocols.prd import PeerDiscussion, PeerRank
from d3stats.protocols.stability import Stability
from d3stats.run.forecast import forecast
from d3stats.run.items import DebateItem
from d3stats.run.record import as_turn
from d3stats.stopping import (
    FullDepth,
    Round,
    Rule,
    ScoreDeclaration,
    StoppingRule,
    StopReason,
    from_text,
    rounds_of,
)
from d3stats.trajectories import Trajectories

PROTOCOLS: tuple[DebateProtocol, ...] = (
    ChatEval(max_rounds=4),
    ChatEval(max_rounds=4, communication="simultaneous_with_summarizer"),
    ChatEvalOpen(max_rounds=4),
    Stability(panel=5, max_rounds=4, camp="none"),
    MultiPersona(max_rounds=4),
    EoT(max_rounds=4),
    EoTNetwork(max_rounds=4, communication="debate"),
    AgentVerse(max_rounds=4),
    PeerRank(reviewers=3),
    PeerDiscussion(max_rounds=4),
)

VOTES = (
    "unanimity",
    "unanimity:missing=block",
    "supermajority:0.6",
    "fixed:2",
    "declaration",
    "sprt:0.7",
    "esc:5",
)
COMBINED = (
    "unanimity | fixed:3",
    "unanimity & fixed:2",
    "supermajority:0.6.after(2)",
    "eot",
    "token_budget:60",
)
SCORES = ("sign_agreement", "budgeted:3", "d3_paper", "score_declaration")

DEBATES = 12


def chance(seed: int, failing: float = 0.1) -> Script:
    """Votes, marks and failures that depend on nothing but who is asked when in which debate."""

    def draw(request: Request, purpose: str) -> float:
        name = f"{seed}/{request.agent}/{request.round}/{purpose}"
        return int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big") / 2**56

    def script(request: Request) -> Reply:
        if draw(request, "fails") < failing:
            return FAILED
        slot = request.slot
        vote, scores = None, None
        if slot.wants_vote and not (slot.may_pass and draw(request, "passes") < 0.7):
            assert slot.answers is not None
            vote = slot.answers[int(draw(request, "vote") ** 2 * len(slot.answers))]
        if slot.rubric is not None:
            span = slot.rubric.high - slot.rubric.low + 1
            scores = {
                side: {
                    name: slot.rubric.low + int(draw(request, side + name) ** 2 * span)
                    for name in slot.rubric.criteria
                }
                for side in slot.rubric.sides
            }
        return Reply(f"{request.agent} says {request.round}", vote, scores, 10 + request.round, 1)

    return script


def case_of(number: int) -> Case:
    return Case(f"d{number}", f"q{number}", "Which?", ("A", "B", "tie"), ("Two.", "Three."), "AB"[number % 2])


def rounds_seen(played: Played) -> list[Round]:
    """What a rule was shown, one value a round."""
    codes = {"A": 0, "B": 1, "tie": 2}
    spoken = [(request, played.replies[request.agent, request.round]) for request in played.requests]
    return [
        round_seen(step, [pair for pair in spoken if pair[0].round == step.number], codes)
        for step in played.rounds
    ]


@pytest.fixture(scope="module", params=PROTOCOLS, ids=str)
def full(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[DebateProtocol, list[Played], Path]:
    """Debates of one protocol that no rule stopped, and their log."""
    protocol: DebateProtocol = request.param
    debates = [plays(protocol, case_of(n), chance(n), FullDepth()) for n in range(DEBATES)]
    path = tmp_path_factory.mktemp("talk") / "log.jsonl"
    with LogWriter(path, fsync="never") as log:
        for n, played in enumerate(debates):
            case = case_of(n)
            log.write(
                Item(
                    debate=case.debate,
                    question=case.question,
                    answers=case.answers,
                    label="A",
                    protocol=protocol.name,
                    candidates=case.candidates,
                    first=case.first,
                )
            )
            for asked in played.requests:
                log.write(as_turn(asked, played.replies[asked.agent, asked.round]))
            outcome = played.outcome
            log.write(
                Verdict(
                    debate=case.debate,
                    decision=outcome.decision,
                    round=outcome.round,
                    stop_reason=outcome.reason,
                )
            )
    return protocol, debates, path


Full = tuple[DebateProtocol, list[Played], Path]


def in_words(latest: Round) -> Round:
    """The same round without the numbers of answers, which a log gives in its own order."""
    assert latest.texts is not None
    assert [vote == -1 for vote in latest.votes] == [text is None for text in latest.texts]
    return replace(latest, votes=tuple(-1 if vote == -1 else 0 for vote in latest.votes))


def marks_given(latest: Round) -> Round:
    return replace(latest, scores=tuple(mark for mark in latest.scores or () if mark is not None))


def test_what_a_rule_sees_in_a_debate_is_what_it_reads_from_the_log(full: Full) -> None:
    protocol, debates, path = full
    read = Trajectories.from_log(path)
    assert len(read) == DEBATES
    for n, played in enumerate(debates):
        online = [in_words(latest) for latest in rounds_seen(played)]
        logged = [in_words(latest) for latest in rounds_of(read, read.debates.index(f"d{n}"))]
        if isinstance(protocol, ChatEvalOpen):
            # Who is marked differs by round and debate; a log has a place for everybody in all of them.
            online, logged = ([marks_given(r) for r in rounds] for rounds in (online, logged))
        assert [r.scores for r in online] == [pytest.approx(r.scores) for r in logged]
        # These agents state no confidence: a debate does not know yet that its log has none.
        assert {c for r in online for c in r.confidence or ()} <= {None}
        online = [replace(r, confidence=None) for r in online]
        assert [replace(r, scores=None) for r in online] == [replace(r, scores=None) for r in logged]


def test_the_debates_are_worth_comparing(full: Full) -> None:
    protocol, debates, _ = full
    rounds = [latest for played in debates for latest in rounds_seen(played)]
    assert any(None in (latest.texts or ()) for latest in rounds), "a missing vote"
    assert any(latest.tokens is None for latest in rounds)
    assert any(latest.tokens is not None for latest in rounds)
    assert protocol.max_rounds == 1 or len({played.outcome.round for played in debates} - {1}) >= 1


def test_the_doctor_finds_nothing_wrong_with_the_log_of_a_discussion(full: Full) -> None:
    _, _, path = full
    assert [str(problem) for problem in doctor(path).problems] == []


def rules_for(protocol: DebateProtocol) -> list[StoppingRule]:
    if isinstance(protocol, ChatEval):
        texts = (*VOTES, *COMBINED, *SCORES)
    elif isinstance(protocol, AgentVerse):
        texts = (*VOTES, *COMBINED, "score_declaration")
    else:
        texts = (*VOTES, *COMBINED)
    return [from_text(text) for text in texts]


def test_any_rule_stops_a_discussion_in_the_round_in_which_it_fires(full: Full) -> None:
    protocol, debates, path = full
    read = Trajectories.from_log(path)
    fired = 0
    for rule in rules_for(protocol):
        assert isinstance(rule, Rule)
        try:
            vectorised = rule.stop_rounds(read)
        except ValueError as refusal:  # somebody who speaks without a vote sits behind the last voter
            if "seat must count from the front" not in str(refusal):
                raise
            turns = read_log(path).turns
            voters = turns.loc[turns["vote"].notna(), "role"].unique()
            vectorised = rule.stop_rounds(Trajectories.from_log(path, roles=list(voters)))
        for n, unstopped in enumerate(debates):
            # Where the protocol ends the debate itself, no rule is asked.
            asked = [
                r
                for r, step in zip(rounds_seen(unstopped), unstopped.rounds, strict=True)
                if step.ends is None
            ]
            number, reason = rule.run(asked)
            outcome = plays(protocol, case_of(n), chance(n), rule).outcome
            if reason == StopReason.EXHAUSTED:
                assert (outcome.round, outcome.reason) == (
                    unstopped.outcome.round,
                    unstopped.outcome.reason,
                ), str(rule)
            else:
                fired += 1
                assert (outcome.round, outcome.reason) == (number, reason), str(rule)
                row = read.debates.index(f"d{n}")
                assert (vectorised.rounds[row], vectorised.reasons[row]) == (number, reason), str(rule)
    assert fired > 20 or protocol.max_rounds == 1


def test_a_discussion_that_is_stopped_earlier_is_the_beginning_of_the_one_that_is_not(full: Full) -> None:
    protocol, debates, _ = full
    for n, unstopped in enumerate(debates):
        stopped = plays(protocol, case_of(n), chance(n), from_text("fixed:2"))
        assert stopped.stages == unstopped.stages[: len(stopped.stages)]


def test_the_protocols_own_rule_reads_from_the_log_where_it_stopped_the_debate(tmp_path: Path) -> None:
    # The moderator and the evaluator end debates by the same vote and mark that the log keeps.
    for protocol in (
        MultiPersona(),
        AgentVerse(),
        EoT(),
        EoTNetwork(),
        PeerDiscussion(),
        ChatEval(),
        ChatEvalOpen(),
    ):
        path = tmp_path / f"{protocol.name}.jsonl"
        outcomes = {}
        with LogWriter(path, fsync="never") as log:
            for n in range(30):
                case = case_of(n)
                played = plays(protocol, case, chance(n, failing=0.0))
                log.write(Item(debate=case.debate, question=case.question, answers=case.answers))
                for asked in played.requests:
                    log.write(as_turn(asked, played.replies[asked.agent, asked.round]))
                outcomes[case.debate] = played.outcome
        read = Trajectories.from_log(path)
        stops = protocol.rule().stop_rounds(read)
        own = {"negative_stands", "affirmative_stands", "no_conclusion"}
        for name, number, reason in zip(read.debates, stops.rounds, stops.reasons, strict=True):
            outcome = outcomes[name]
            assert outcome.round == number, protocol
            assert outcome.reason == reason or (outcome.reason in own and reason == "exhausted"), protocol


def test_a_mark_is_a_score_of_its_own_and_a_missing_one_is_missing() -> None:
    def script(request: Request) -> Reply | None:
        if request.act == "evaluate":
            return (
                FAILED
                if request.round == 1
                else Reply("good", vote="2", scores={"answer": {"correctness": 1}})
            )
        return None

    case = Case("d", "q", "Which?", ("2", "3"))
    played = plays(AgentVerse(), case, script)
    assert [latest.scores for latest in rounds_seen(played)] == [(None,), (1.0,)]
    assert ScoreDeclaration().run(rounds_seen(played)) == (2, "score_declaration")


CALLS = {
    "chateval:max_rounds=4": 12,
    "chateval:max_rounds=4,communication=simultaneous_with_summarizer": 16,
    "chateval_open:max_rounds=4": 12,
    "stability:max_rounds=4,panel=5,camp=none": 20,
    "multi_persona:max_rounds=4": 12,
    "eot:max_rounds=4": 12,
    "eot_network:max_rounds=4,communication=debate": 12,
    "agentverse:max_rounds=4": 21,
    "peer_rank:reviewers=3": 6,
    "peer_discussion:max_rounds=4": 8,
}


@covering(
    answers=[("A", "B"), ("A", "B", "tie")],
    protocol=PROTOCOLS,
)
def test_the_forecast_of_all_rounds_has_every_call_that_there_can_be(
    protocol: DebateProtocol, answers: tuple[str, ...]
) -> None:
    item = DebateItem("q", "Which?", ("Two.", "Three."), answers)
    looked = forecast(protocol, [item], ScriptedAgent())
    assert (looked.full.calls, looked.bound.calls) == (CALLS[str(protocol)], CALLS[str(protocol)])
    calls = [len(plays(protocol, case_of(n), chance(n), FullDepth()).requests) for n in range(DEBATES)]
    assert max(calls) <= looked.bound.calls
