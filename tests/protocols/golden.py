"""Play a debate by script and write down who was asked for what, in which order, and what each one saw.

``script`` answers a request: a function that returns a Reply, a string (what is said), or None for "say something
that fits the slot". ``plays`` drives the protocol's generator itself, so requests that may be answered at the same
time stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from d3stats.agent import Case, Message, More, Reply, Request, Size, always
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, RuleBook, Speak, complete
from d3stats.stopping import StoppingRule

Script = Callable[[Request], Reply | str | None]

FAILED = Reply(None, error="timeout")


def pair(first: str = "A", answers: tuple[str, ...] = ("A", "B"), names: tuple[str, ...] = ()) -> Case:
    """A question with two candidates."""
    return Case("q1", "q1", "Which is larger, 2 or 3?", answers, ("Two.", "Three."), first, names)


def question(answers: tuple[str, ...] | None = ("2", "3")) -> Case:
    """A question that is itself answered; free words with ``answers=None``."""
    return Case("q1", "q1", "Which is larger, 2 or 3?", answers)


def points(request: Request, **each: float) -> dict[str, dict[str, float]]:
    """Scores that add up to so many points a side: ``points(request, A=60, B=50)``."""
    rubric = request.slot.rubric
    assert rubric is not None
    return {
        side: {name: each[side] / len(rubric.criteria) for name in rubric.criteria} for side in rubric.sides
    }


def fitting(request: Request) -> Reply:
    """What everybody says who has no script: a text that names the speaker, the first answer, equal scores."""
    slot = request.slot
    scores = None
    if slot.rubric is not None:
        scores = {
            side: dict.fromkeys(slot.rubric.criteria, float(slot.rubric.high)) for side in slot.rubric.sides
        }
    vote = None
    if slot.wants_vote and not slot.may_pass:
        vote = "yes" if slot.answers is None else slot.answers[0]
    text = "\n".join(f"text {i + 1}" for i in range(slot.listed)) or f"{request.agent} says {request.round}"
    return Reply(text, vote=vote, scores=scores, tokens_in=10, tokens_out=1)


def scripted(script: Script | None, request: Request) -> Reply:
    """The reply that a script gives to a request."""
    said = None if script is None else script(request)
    if said is None:
        return complete(request, fitting(request))
    if isinstance(said, str):
        said = Reply(said, tokens_in=10, tokens_out=1)
    return complete(request, said)


@dataclass
class ScriptedAgent:
    """The script as an agent, for engines; keeps every request."""

    script: Script | None = None
    heard: list[Request] = field(default_factory=list)

    async def act(self, request: Request, /, more: More = always) -> Reply:
        self.heard.append(request)
        return scripted(self.script, request)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        return fitting(request)


@dataclass
class Played:
    """One debate.

    `stages` has one list per stage: the requests that may be answered at the same time, or the round that is over.
    """

    outcome: Outcome
    stages: list[tuple[Request, ...] | RoundOver]
    replies: dict[tuple[str, int], Reply]

    @property
    def requests(self) -> list[Request]:
        return [request for stage in self.stages if not isinstance(stage, RoundOver) for request in stage]

    @property
    def rounds(self) -> list[RoundOver]:
        return [stage for stage in self.stages if isinstance(stage, RoundOver)]

    def request(self, agent: str, round: int = 1) -> Request:
        (found,) = (r for r in self.requests if r.agent == agent and r.round == round)
        return found


def plays(
    protocol: DebateProtocol, case: Case, script: Script | None = None, rule: StoppingRule | None = None
) -> Played:
    """Play one debate by the script, under the protocol's own rule or another."""
    book = RuleBook(case, protocol.rule() if rule is None else rule, protocol.max_rounds)
    play = protocol.play(case)
    stages: list[tuple[Request, ...] | RoundOver] = []
    replies: dict[tuple[str, int], Reply] = {}
    since: list[tuple[Request, Reply]] = []
    send = None
    while True:
        try:
            step = play.send(send)
        except StopIteration as stop:
            return Played(stop.value, stages, replies)
        if isinstance(step, Speak):
            stages.append(step.requests)
            send = tuple(scripted(script, request) for request in step.requests)
            for request, reply in zip(step.requests, send, strict=True):
                assert (request.agent, request.round) not in replies, "an agent spoke twice in a round"
                replies[request.agent, request.round] = reply
                since.append((request, reply))
        else:
            stages.append(step)
            send = book.decide(step, since)
            since = []


def saw(messages: Sequence[Message]) -> str:
    """What was seen, on one line: ``"advocate for A/1, judge/1+scores"``; ``"nothing"`` if nothing was."""
    return ", ".join(map(_shown, messages)) or "nothing"


def _shown(message: Message) -> str:
    side = f" for {message.side}" if message.side else ""
    vote = "+vote" if message.vote is not None else ""
    scores = "+scores" if message.scores is not None else ""
    return f"{message.speaker}{side}/{message.round}{vote}{scores}"


def asked(request: Request) -> str:
    """One request, on one line: ``"advocate A/1 (advocate: argue) sees nothing"``."""
    return f"{request.agent}/{request.round} ({request.role}: {request.act}) sees {saw(request.seen)}"


def lines(played: Played) -> list[str | list[str]]:
    """The whole debate: a list for a stage of several, a string for a stage of one and for the end of a round."""
    written: list[str | list[str]] = []
    for stage in played.stages:
        if isinstance(stage, RoundOver):
            scores = (
                "none" if stage.scores is None else " ".join(f"{s}={x:g}" for s, x in stage.scores.items())
            )
            votes = " ".join("-" if vote is None else vote for vote in stage.votes) or "none"
            ends = f", ends: {stage.ends}" if stage.ends else ""
            written.append(f"round {stage.number} over: votes {votes}, scores {scores}{ends}")
        else:
            several = [asked(request) for request in stage]
            written.append(several[0] if len(several) == 1 else several)
    return written
