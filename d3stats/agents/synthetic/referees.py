"""The referees of ChatEval and their summarizer, one call at a time.

A referee hears the scores that stand in the messages that it sees; a summary tells the mean difference of all scores
that its writer saw. Equations are the batch simulator's code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean
from typing import ClassVar, NamedTuple

from d3stats.agents.request import Message, Refused, Reply, Request, Size
from d3stats.agents.synthetic.base import (
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    questions,
    seat_of,
    synthetic_agent,
    synthetic_items,
    tell,
    told,
)
from d3stats.simulate.referees import TOKENS_PER_WORD, case_words, draw_pairs, opinion, spoken
from d3stats.worlds import Referees

__all__ = ["Pair", "RefereeAgent", "draw_pair", "heard_difference"]

ANSWERS = ("A", "B", "tie")


class Pair(NamedTuple):
    """The hidden state of an item: points by which A is better, and the label."""

    quality: float
    label: str


def draw_pair(world: Referees, streams: Streams, question: str) -> Pair:
    """Draw the state of an item; the same for every debate about the question."""
    quality, label = draw_pairs(world, 1, streams.generator("item", question))
    return Pair(float(quality[0]), ANSWERS[int(label[0])])


def heard_difference(seen: Sequence[Message], sides: Sequence[str], me: str) -> float | None:
    """Return what a referee has in the ear, as A's score minus B's; None before anything is heard.

    That is the last summary where there is one, else the mean of every other referee's latest scores.
    """
    latest: dict[str, float] = {}
    summary = None
    for message in seen:
        if message.scores is not None:
            if message.speaker != me:
                latest[message.speaker] = _difference(message, sides)
        elif "difference" in (facts := told(message.text).facts):
            summary = facts["difference"]
    if summary is not None:
        return summary
    return fmean(latest.values()) if latest else None


def _difference(message: Message, sides: Sequence[str]) -> float:
    scores = message.scores or {}
    return fmean(scores[sides[0]].values()) - fmean(scores[sides[1]].values())


class RefereeAgent(SyntheticAgent[Referees]):
    """Every referee of a team, and its summarizer.

    - referee: scores by its opinion of the pair, mixed with what it hears.
    - summarise: tells the mean difference of all scores that the summarizer sees, with an error of summary_noise.

    Parameters
    ----------
    world : Referees
        ``communication``, ``first`` and ``panel`` say what the simulator draws; here the protocol that is played
        decides about these.
    seed : int
    """

    acts: ClassVar[tuple[str, ...]] = ("referee", "summarise")

    def __init__(self, world: Referees, seed: int = 0) -> None:
        super().__init__(world, seed)
        self.item = lru_cache(maxsize=4096)(self._item)
        self._standing = lru_cache(maxsize=65536)(self._normals_of)

    def _item(self, question: str) -> Pair:
        return draw_pair(self.world, self.streams, question)

    def _normals_of(self, *names: str) -> tuple[float, float]:
        first, second = self.streams.of(*names).normals(2)
        return first, second

    def reply(self, request: Request) -> Reply:
        """Answer a request at once."""
        stream = self.call(request, request.act)
        match request.act:
            case "referee":
                return self._referee(request, stream)
            case "summarise":
                return self._summarise(request, stream)
        raise self.refuse(request)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the mean or the greatest length, without vote or scores."""
        words = self._longest(request) * (1 - self.world.slack / 2 if size == "typical" else 1.0)
        tokens = [TOKENS_PER_WORD * self._prompt(request), TOKENS_PER_WORD * words]
        sent, written = (round(x) if size == "typical" else math.ceil(x) for x in tokens)
        return Reply(tell(words), tokens_in=sent, tokens_out=written, model=self.model)

    def _referee(self, request: Request, stream: Stream) -> Reply:
        world, case, rubric = self.world, request.case, request.slot.rubric
        role, level = self._standing("referee", case.question, request.agent)
        team, _ = self._standing("team", case.question)
        lean = world.lean[seat_of(request.agent) - 1] if world.lean else 0.0
        first = "A" if request.shown_first == case.sides[0] else "B"
        own = opinion(world, self.item(case.question).quality, lean, team, role, first)
        heard = heard_difference(request.seen, case.sides, request.agent)
        a, b = spoken(world, own, heard, world.base + world.level_sd * level, stream.normal())
        scores = None
        if request.slot.wants_vote or (rubric is not None and rubric.sides != case.sides):
            raise Refused(
                "slot of a referee must ask for scores of the candidates in world 'referees', which has no law for "
                f"other votes and marks; got {request.slot}"
            )
        if rubric is not None:
            given = dict(zip(case.sides, (float(a), float(b)), strict=True))
            scores = {side: dict.fromkeys(rubric.criteria, points) for side, points in given.items()}
        return self._done(request, stream, scores)

    def _summarise(self, request: Request, stream: Stream) -> Reply:
        sides = request.case.sides
        given = [_difference(message, sides) for message in request.seen if message.scores is not None]
        if not given:
            return self._done(request, stream, None)
        blur = self.world.summary_noise * stream.normal()
        return self._done(request, stream, None, difference=fmean(given) + blur)

    def _longest(self, request: Request) -> float:
        if request.act not in self.acts:
            raise self.refuse(request)
        return self.world.reply_words if request.act == "referee" else self.world.summary_words

    def _prompt(self, request: Request) -> float:
        # A summarizer reads what was said and not the case.
        case = self.world.instruction_words if request.act == "summarise" else case_words(self.world)
        return case + self.read(request.seen)

    def _done(
        self,
        request: Request,
        stream: Stream,
        scores: dict[str, dict[str, float]] | None,
        **facts: float,
    ) -> Reply:
        words = self._longest(request) * (1 - self.world.slack * stream.uniform())
        return Reply(
            tell(words, **facts),
            scores=scores,
            tokens_in=stream.rounded(TOKENS_PER_WORD * self._prompt(request)),
            tokens_out=stream.rounded(TOKENS_PER_WORD * words),
            model=self.model,
        )


@synthetic_agent.register
def referee_agent(world: Referees, seed: int = 0) -> RefereeAgent:
    """Return a team of referees and its summarizer."""
    return RefereeAgent(world, seed)


@synthetic_items.register
def referee_items(world: Referees, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return pairs of answers to compare; a tie may be the right verdict."""
    streams = Streams(seed)
    return [
        SyntheticItem(
            question,
            f"Synthetic question {question}",
            (f"Synthetic answer A to question {question}", f"Synthetic answer B to question {question}"),
            ANSWERS,
            draw_pair(world, streams, question).label,
        )
        for question in questions(n, first)
    ]
