"""The base of all panelists, which answer one call at a time and count the votes in the messages that they see.

Equations are those of the code that simulates batches. The properties of an item (ability, difficulty, shared error,
right answer) are drawn from the question's stream.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, TypeVar

from d3stats.agent import Message, Refused, Reply, Request, Size
from d3stats.worlds.base import PanelWorld
from d3stats.worlds.streams import (
    LARGEST_NORMAL,
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    item_range,
    synthetic_items,
    tell,
)
from d3stats.worlds.tokens import Lengths

__all__ = ["PanelAgent", "last_votes", "number_drawn", "panel_items"]

W = TypeVar("W", bound=PanelWorld)


def _label_of(world: PanelWorld, streams: Streams, question: str) -> int:
    """Return which answer is right: each is equally often."""
    return int(streams.of("label", question).uniform() * len(world.answers))


def last_votes(seen: Sequence[Message]) -> dict[str, str]:
    """Return the votes of the last round that is seen, by speaker."""
    last = max((message.round for message in seen if message.vote is not None), default=0)
    return {m.speaker: m.vote for m in seen if m.round == last and m.vote is not None}


def number_drawn(weights: Sequence[float], point: float) -> int:
    """Return in which of these weights, heaped up, a point lies; rounding cannot leave the heap."""
    return min(sum(point >= edge for edge in accumulate(weights)), len(weights) - 1)


class PanelAgent(SyntheticAgent[W]):
    """Every seat of a panel; each world says how one seat answers."""

    acts: ClassVar[tuple[str, ...]] = ("answer",)

    def __init__(self, world: W, seed: int = 0) -> None:
        super().__init__(world, seed)
        self.answers = world.answers
        self.right = lru_cache(maxsize=4096)(self._right)
        self.lengths = world.lengths or _NOTHING
        self.tokens_per_word = self.lengths.tokens_per_word

    def _right(self, question: str) -> int:
        return _label_of(self.world, self.streams, question)

    @abstractmethod
    def _said(self, request: Request, stream: Stream) -> int:
        """Return the answer given, numbered from the right one: 0 is right."""

    def _facts(self, request: Request) -> dict[str, float]:
        """Return what the message tells beside the vote."""
        return {}

    def check(self, request: Request) -> None:
        super().check(request)
        if request.case.answers is None or not set(self.answers) <= set(request.case.answers):
            raise Refused(
                f"answers must hold those of world {self.world.name!r}, {', '.join(self.answers)}; "
                f"got answers={request.case.answers!r}"
            )

    def _answer(self, request: Request, stream: Stream) -> Reply:
        said = self._said(request, stream)
        vote = self.answers[(said + self.right(request.case.question)) % len(self.answers)]
        return self.say(request, stream, self._facts(request), vote)

    def done(self, request: Request, stream: Stream, text: str, words: float, *given: Any) -> Reply:
        if self.world.lengths is None:
            vote, scores = given
            return Reply(text, vote, scores, model=self.model)
        return super().done(request, stream, text, words, *given)

    def _imagined(self, request: Request, size: Size, text: str, words: float) -> Reply:
        if self.world.lengths is None:
            return Reply(tell(0.0), model=self.model)
        return super()._imagined(request, size, text, words)

    def _lengths(self, request: Request) -> tuple[float, ...]:
        return (self.lengths.message_words + self.lengths.verdict_words,)

    def _kept(self, size: Size) -> float:
        """Return 1, or for the longest message what the largest Normal that a stream can give, 8.2, makes of it."""
        spread = self.lengths.spread
        return 1.0 if size == "typical" else math.exp(max(0.0, spread * LARGEST_NORMAL - spread**2 / 2))

    def _long(self, longest: float, stream: Stream) -> float:
        spread = self.lengths.spread
        return longest * math.exp(spread * stream.normal() - spread**2 / 2) if spread else longest

    def _prompt(self, request: Request) -> float:
        return self.lengths.prompt + self.tokens_per_word * self.read(request.seen)

    def _number(self, vote: str, question: str) -> int:
        """Return a vote's number, counted from the right answer."""
        return (self.answers.index(vote) - self.right(question)) % len(self.answers)


_NOTHING = Lengths(system=0, question=0, message_words=0, verdict_words=0)


@synthetic_items.register
def panel_items(world: PanelWorld, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return questions that the panel answers itself."""
    streams, answers = Streams(seed), world.answers
    return item_range(n, first, lambda q: (answers[_label_of(world, streams, q)], None), answers, pairs=False)
