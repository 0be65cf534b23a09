"""The people of the courtroom: advocates, aggregators, a judge and jurors, one call at a time.

What the world's equations share with the batch simulator is the simulator's code. What reaches a judge or a juror
is what stands in the messages that they see: a defence tells its strength and on how many rounds of feedback it
builds, feedback tells its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from d3stats.agents.request import Message, Reply, Request, Size
from d3stats.agents.synthetic.base import (
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    questions,
    synthetic_agent,
    synthetic_items,
    tell,
    told,
)
from d3stats.agents.synthetic.hearing import SILENCE, Heard, heard_by_round, joined
from d3stats.simulate._court_tokens import TOKENS_PER_WORD, case_words
from d3stats.simulate.courtroom import (
    argued,
    draw_items,
    gain,
    juror_error,
    marks,
    reading_bias,
    shown_share,
)
from d3stats.worlds import Courtroom

__all__ = ["CourtAgent", "CourtItem", "Heard", "court_item", "heard_by_round"]


class CourtItem(NamedTuple):
    """The hidden state of an item.

    Attributes
    ----------
    category : str
    gap : float
        Quality gap in points, above 0 when A is better.
    better : tuple of bool
        Which answer is the better one.
    ratio : float
        Log of the words of A over those of B.
    own_family : bool
    label : str
    words : float
        Of a prompt that holds the role, the question and both answers.
    """

    category: str
    gap: float
    better: tuple[bool, bool]
    ratio: float
    own_family: bool
    label: str
    words: float


def court_item(world: Courtroom, streams: Streams, question: str) -> CourtItem:
    """Draw the state of an item; the same for every debate about the question."""
    drawn = draw_items(world, 1, streams.generator("item", question))
    gap, ratio = float(drawn.quality_gap[0]), float(drawn.log_length_ratio[0])
    # Of two equal answers the sign of zero says which one the item was drawn to favour.
    a_is_better = not np.signbit(gap)
    return CourtItem(
        category=world.categories[int(drawn.category[0])].name,
        gap=gap,
        better=(a_is_better, not a_is_better),
        ratio=ratio,
        own_family=bool(drawn.own_family[0]),
        label="AB"[int(drawn.label[0])],
        words=float(case_words(world, drawn.log_length_ratio)[0]),
    )


class CourtAgent(SyntheticAgent[Courtroom]):
    """Everybody in a courtroom.

    - argue: the strength is skill + u advocate_sd (sqrt(c) Z(s) + sqrt(1 - c) Z) plus the gain of as many rounds of
      feedback as the last one that the advocate sees.
    - aggregate: the softmax of the strengths that the aggregator sees.
    - judge: marks by the defences of this round that the judge sees.
    - vote: the mean reading over all rounds that the juror sees. ``answer``, of a judge who only votes, is the same.

    Parameters
    ----------
    world : Courtroom
        ``protocol``, ``first``, ``poll``, ``memory``, ``panel`` and ``advocates`` say what the simulator draws; here
        the protocol that is played decides about these.
    seed : int
    """

    acts: ClassVar[tuple[str, ...]] = ("argue", "aggregate", "judge", "vote", "answer")

    def __init__(self, world: Courtroom, seed: int = 0) -> None:
        super().__init__(world, seed)
        self.item = lru_cache(maxsize=4096)(self._item)
        self._argued: tuple[tuple[Message, ...], dict[int, Heard]] = ((), {})
        self._standing = lru_cache(maxsize=65536)(self._normal_of)

    def _item(self, question: str) -> CourtItem:
        return court_item(self.world, self.streams, question)

    def _normal_of(self, *names: str) -> float:
        return self.streams.of(*names).normal()

    def reply(self, request: Request) -> Reply:
        """Answer a request at once."""
        stream = self.call(request, request.act)
        match request.act:
            case "argue":
                return self._argue(request, stream)
            case "aggregate":
                return self._aggregate(request, stream)
            case "judge":
                return self._judge(request, stream)
            case "vote" | "answer":
                return self._vote(request, stream)
        raise self.refuse(request)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the mean or the greatest length, without vote or scores."""
        shown, hidden = self._lengths(request)
        kept = 1 - self.world.slack / 2 if size == "typical" else 1.0
        sent = TOKENS_PER_WORD * self._prompt(request)
        written = TOKENS_PER_WORD * kept * (shown + hidden)
        if size == "longest":
            sent, written = float(np.ceil(sent)), float(np.ceil(written))
        return Reply(
            tell(kept * shown, reasons=kept * hidden) if request.act == "judge" else tell(kept * shown),
            tokens_in=round(sent),
            tokens_out=round(written),
            model=self.model,
        )

    def reading(self, request: Request, heard: Sequence[Heard]) -> float:
        """Return how much better A looks to a reader of these rounds, in points, before the reader's errors."""
        item = self.item(request.case.question)
        rounds = heard or (SILENCE,)
        mean = sum(_gap(self.world, item, at) + at.strength[0] - at.strength[1] for at in rounds) / len(
            rounds
        )
        return float(mean) + self.bias(request)

    def bias(self, request: Request) -> float:
        """Return the reading bias toward A, in points, with what this agent reads first."""
        item = self.item(request.case.question)
        # Names are fixed, so "A" stands for the first of them.
        first = "A" if request.shown_first == request.case.sides[0] else "B"
        return float(reading_bias(self.world, item.ratio, item.own_family, first))

    def _argue(self, request: Request, stream: Stream) -> Reply:
        if request.side is None:
            raise ValueError(f"side must be given to an advocate; got side=None for {request.agent!r}")
        world, item = self.world, self.item(request.case.question)
        heard = max((m.round for m in request.seen if "reasons" in told(m.text).facts), default=0)
        at = request.case.sides.index(request.side)
        side = self._standing("side", request.case.question, str(at))
        scale = world.upside if item.better[at] else 1.0
        strength = argued(world, scale, side, stream.normal()) + gain(world, heard)
        words = self._long(world.defence_words, stream)
        return self._done(request, stream, tell(words, strength=strength, heard=heard), words)

    def _aggregate(self, request: Request, stream: Stream) -> Reply:
        own = [
            (facts["strength"], facts["heard"])
            for m in request.seen
            if "strength" in (facts := told(m.text).facts)
        ]
        strength, heard = joined(own, self.world.temperature) if own else (0.0, 0.0)
        words = self._long(self.world.aggregate_words, stream)
        return self._done(request, stream, tell(words, joint=strength, heard=heard), words)

    def _judge(self, request: Request, stream: Stream) -> Reply:
        world, item, rubric = self.world, self.item(request.case.question), request.slot.rubric
        heard = self._heard(request).get(request.round, SILENCE)
        scores = None
        if rubric is not None:
            n = len(rubric.criteria)
            lean = (_gap(world, item, heard) + self.bias(request)) / 2
            merit = np.array([[heard.strength[0] + lean], [heard.strength[1] - lean]])
            errors = np.array(stream.normals(2 + 2 * n))
            given = marks(world, merit, errors[:2, None], errors[2:].reshape(2, n))
            if rubric.low > 1 or rubric.high < world.ceiling:
                given = np.clip(given, rubric.low, rubric.high)
            scores = {
                side: dict(zip(rubric.criteria, row, strict=True))
                for side, row in zip(request.case.sides, given.tolist(), strict=True)
            }
        shown, hidden = self._lengths(request)
        feedback = self._long(shown / 2, stream) + self._long(shown / 2, stream)
        reasons = self._long(hidden, stream)
        reply = self._done(request, stream, tell(feedback, reasons=reasons), feedback + reasons)
        return reply if scores is None else _with_scores(reply, scores)

    def _vote(self, request: Request, stream: Stream) -> Reply:
        world, question = self.world, request.case.question
        heard = self._heard(request)
        error = juror_error(
            world,
            self._standing("jury", question),
            self._standing("juror", question, request.agent),
            stream.normal(),
        )
        a, b = request.case.sides
        vote = a if self.reading(request, list(heard.values())) + error > 0 else b
        words = self._long(world.rationale_words, stream)
        return self._done(request, stream, tell(words), words, vote)

    def _heard(self, request: Request) -> dict[int, Heard]:
        # Jurors who are asked at once see the same tuple.
        if request.seen is not self._argued[0]:
            heard = heard_by_round(request.seen, request.case.sides, self.world.temperature)
            self._argued = request.seen, heard
        return self._argued[1]

    def _lengths(self, request: Request) -> tuple[float, float]:
        """Return the most words of a reply that others read, and of what is only filed."""
        world = self.world
        match request.act:
            case "argue":
                return world.defence_words, 0.0
            case "aggregate":
                return world.aggregate_words, 0.0
            case "judge":
                # Feedback to two sides, where another round may come; reasons are not read to anybody.
                return (2 * world.feedback_words if request.rounds > 1 else 0.0), world.reasons_words
            case "vote" | "answer":
                return world.rationale_words, 0.0
        raise self.refuse(request)

    def _long(self, longest: float, stream: Stream) -> float:
        return longest * (1 - self.world.slack * stream.uniform())

    def _prompt(self, request: Request) -> float:
        return self.item(request.case.question).words + self.read(request.seen)

    def _done(
        self, request: Request, stream: Stream, text: str, words: float, vote: str | None = None
    ) -> Reply:
        return Reply(
            text,
            vote,
            tokens_in=stream.rounded(TOKENS_PER_WORD * self._prompt(request)),
            tokens_out=stream.rounded(TOKENS_PER_WORD * words),
            model=self.model,
        )


def _gap(world: Courtroom, item: CourtItem, heard: Heard) -> float:
    shown = sum(shown_share(world, feedback) for feedback in heard.feedback) / 2
    return float(item.gap * shown)


def _with_scores(reply: Reply, scores: dict[str, dict[str, float]]) -> Reply:
    return Reply(reply.text, None, scores, reply.tokens_in, reply.tokens_out, model=reply.model)


@synthetic_agent.register
def court_agent(world: Courtroom, seed: int = 0) -> CourtAgent:
    """Return the people of a courtroom."""
    return CourtAgent(world, seed)


@synthetic_items.register
def court_items(world: Courtroom, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return pairs of answers to compare."""
    streams = Streams(seed)
    items = []
    for question in questions(n, first):
        state = court_item(world, streams, question)
        items.append(
            SyntheticItem(
                question,
                f"Synthetic question {question} of the category {state.category}",
                (f"Synthetic answer A to question {question}", f"Synthetic answer B to question {question}"),
                ("A", "B"),
                state.label,
            )
        )
    return items
