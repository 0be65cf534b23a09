"""What all panelists share, one call at a time: they count the votes in the messages that they see.

Equations are the batch simulators' code. What belongs to an item (ability, difficulty, shared error, which answer is
right) is drawn from the question's stream.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from d3stats.agent import Message, Refused, Reply, Request, Size
from d3stats.worlds.base import PanelWorld
from d3stats.worlds.draw import letters
from d3stats.worlds.streams import (
    LARGEST_NORMAL,
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    questions,
    synthetic_items,
    tell,
)
from d3stats.worlds.tokens import Lengths

__all__ = ["PanelAgent", "answers_of", "label_of", "last_votes", "panel_items"]

W = TypeVar("W", bound=PanelWorld)


def answers_of(world: PanelWorld) -> tuple[str, ...]:
    """Return what a panel may vote for."""
    return letters(getattr(world, "n_answers", getattr(world, "n_concepts", 2)))


def label_of(world: PanelWorld, streams: Streams, question: str) -> int:
    """Return which answer is right: each is equally often."""
    return int(streams.of("label", question).uniform() * len(answers_of(world)))


def last_votes(seen: Sequence[Message]) -> dict[str, str]:
    """Return the votes of the last round that is seen, by speaker."""
    last = max((message.round for message in seen if message.vote is not None), default=0)
    return {m.speaker: m.vote for m in seen if m.round == last and m.vote is not None}


class PanelAgent(SyntheticAgent[W]):
    """Every seat of a panel; each world says how one seat answers.

    Parameters
    ----------
    world : PanelWorld
    seed : int
    """

    acts: ClassVar[tuple[str, ...]] = ("answer",)

    def __init__(self, world: W, seed: int = 0) -> None:
        super().__init__(world, seed)
        self.answers = answers_of(world)
        self.right = lru_cache(maxsize=4096)(self._right)
        self.item = lru_cache(maxsize=4096)(self._item)

    def _right(self, question: str) -> int:
        return label_of(self.world, self.streams, question)

    @abstractmethod
    def _item(self, question: str) -> Any:
        """Draw the state of an item."""

    @abstractmethod
    def _said(self, request: Request, stream: Stream) -> int:
        """Return the answer given, numbered from the right one: 0 is right."""

    def _facts(self, request: Request) -> dict[str, float]:
        """Return what the message tells beside the vote."""
        return {}

    def reply(self, request: Request) -> Reply:
        """Answer a request at once."""
        self._check(request)
        stream = self.call(request, request.act)
        said = self._said(request, stream)
        vote = self.answers[(said + self.right(request.case.question)) % len(self.answers)]
        lengths, facts = self.world.lengths, self._facts(request)
        if lengths is None:
            return Reply(tell(0.0, **facts), vote, model=self.model)
        words = lengths.message_words + lengths.verdict_words
        if lengths.spread:
            words *= math.exp(lengths.spread * stream.normal() - lengths.spread**2 / 2)
        return Reply(
            tell(words, **facts),
            vote,
            tokens_in=stream.rounded(self._prompt(request, lengths)),
            tokens_out=stream.rounded(words * lengths.tokens_per_word),
            model=self.model,
        )

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the mean or the greatest length, without a vote.

        Where lengths spread, the greatest is that of the largest Normal that a stream can give, 8.2.
        """
        self._check(request)
        lengths = self.world.lengths
        if lengths is None:
            return Reply(tell(0.0), model=self.model)
        words = lengths.message_words + lengths.verdict_words
        if size == "longest":
            words *= math.exp(max(0.0, lengths.spread * LARGEST_NORMAL - lengths.spread**2 / 2))
        tokens = [self._prompt(request, lengths), words * lengths.tokens_per_word]
        sent, written = (round(x) if size == "typical" else math.ceil(x) for x in tokens)
        return Reply(tell(words), tokens_in=sent, tokens_out=written, model=self.model)

    def _check(self, request: Request) -> None:
        if request.act not in self.acts:
            raise self.refuse(request)
        if request.case.answers is None or not set(self.answers) <= set(request.case.answers):
            raise Refused(
                f"answers must hold those of world {self.world.name!r}, {', '.join(self.answers)}; "
                f"got answers={request.case.answers!r}"
            )

    def _prompt(self, request: Request, lengths: Lengths) -> float:
        return lengths.prompt + lengths.tokens_per_word * self.read(request.seen)

    def _number(self, vote: str, question: str) -> int:
        """Return a vote's number, counted from the right answer."""
        return (self.answers.index(vote) - self.right(question)) % len(self.answers)


@synthetic_items.register
def panel_items(world: PanelWorld, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return questions that the panel answers itself."""
    streams, answers = Streams(seed), answers_of(world)
    return [
        SyntheticItem(
            question,
            f"Synthetic question {question}",
            (),
            answers,
            answers[label_of(world, streams, question)],
        )
        for question in questions(n, first)
    ]
