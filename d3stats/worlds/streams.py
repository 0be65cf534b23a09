"""The base of synthetic agents and items, and the functions that make both from a world."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from d3stats._check import integer
from d3stats.agent import BYTES_PER_WORD, Agent, Case, Message, More, Refused, Reply, Request, Size, always
from d3stats.worlds.base import World

__all__ = [
    "LARGEST_NORMAL",
    "Statement",
    "Stream",
    "Streams",
    "SyntheticAgent",
    "SyntheticItem",
    "seat_of",
    "statement",
    "synthetic_agent",
    "synthetic_items",
    "tell",
]

_EIGHT = struct.Struct("<8Q")
_STEP = 2.0**-52
_normal = NormalDist().inv_cdf

LARGEST_NORMAL = _normal(1 - 2.0**-53)
"""No stream gives a normal variable beyond this, 8.2: what makes the longest message finite."""


class Stream:
    """Random numbers that depend on a name alone: blake2b in counter mode.

    Examples
    --------
    >>> a, b = Streams(7).of("d1", "vote", "juror 1", 2), Streams(7).of("d1", "vote", "juror 1", 2)
    >>> a.uniform() == b.uniform(), 0 < a.uniform() < 1
    (True, True)
    """

    __slots__ = ("_block", "_hash", "_left")

    def __init__(self, named: hashlib.blake2b) -> None:
        self._hash, self._block, self._left = named, 0, list[float]()

    def uniform(self) -> float:
        """Return one number strictly between 0 and 1."""
        if not self._left:
            block = self._hash.copy()
            block.update(self._block.to_bytes(8, "little"))
            self._block += 1
            self._left = [((x >> 12) + 0.5) * _STEP for x in _EIGHT.unpack(block.digest())]
        return self._left.pop()

    def normal(self) -> float:
        """Return one standard normal number."""
        return _normal(self.uniform())

    def normals(self, n: int) -> list[float]:
        """Return n standard normal numbers."""
        return [_normal(self.uniform()) for _ in range(n)]

    def rounded(self, value: float) -> int:
        """Round up or down at random, so that the mean is kept."""
        return int(value + self.uniform())


class Streams:
    """The streams of a seed; a stream is opened by its name, so no order of calls can matter.

    Parameters
    ----------
    seed : int
        At least 0.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = integer("seed", seed, minimum=0)
        self._hash = hashlib.blake2b(str(self.seed).encode(), person=b"d3stats")

    def of(self, *names: str | int) -> Stream:
        """Open the stream of this name."""
        named = self._hash.copy()
        named.update(repr(names).encode("utf-8", "surrogatepass"))
        return Stream(named)

    def generator(self, *names: str | int) -> np.random.Generator:
        """Open the same kind of stream as a numpy generator, for the simulators' own code; ten times slower."""
        named = self._hash.copy()
        named.update(repr(("numpy", *names)).encode("utf-8", "surrogatepass"))
        words = np.frombuffer(named.digest(), dtype=np.uint32)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


LONGEST_TEXT = 80
"""Bytes of the longest message that agents write, with two numbers beside its words."""


class Statement(NamedTuple):
    """The content of a message for an agent: numbers by name, and how many words others have to read."""

    facts: Mapping[str, float]
    words: float


def tell(words: float, **facts: float) -> str:
    """Write a message.

    Examples
    --------
    >>> tell(71.25, strength=1.5, heard=2)
    'strength 1.5; heard 2; 71.25 words'
    """
    return "; ".join([*(f"{name} {value:.17g}" for name, value in facts.items()), f"{words:.17g} words"])


_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TOLD = re.compile(rf"(?:[a-z]+ {_NUMBER}; )*{_NUMBER} words")


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Read a message; a text that no synthetic agent wrote has words and says nothing.

    Examples
    --------
    >>> statement("strength 1.5; heard 2; 71.25 words").facts["strength"]
    1.5
    >>> statement("It depends, really.")
    Statement(facts=mappingproxy({}), words=3.0)
    """
    if not _TOLD.fullmatch(text):
        return Statement(MappingProxyType({}), float(len(text.split())))
    *facts, words = text.split("; ")
    pairs = (fact.split(" ") for fact in facts)
    return Statement(
        MappingProxyType({name: float(value) for name, value in pairs}), float(words.split(" ")[0])
    )


W = TypeVar("W", bound=World)

Scores = dict[str, dict[str, float]]
TOKENS_PER_WORD = 4 / 3

_SEAT = re.compile(r"(\d+)$")


def seat_of(name: str) -> int:
    """Return the number at the end of a name, from 1.

    Raises
    ------
    Refused
        When there is none.

    Examples
    --------
    >>> seat_of("juror 12")
    12
    """
    found = _SEAT.search(name)
    if found is None or int(found[1]) < 1:
        raise Refused(
            f"agent must have a name that ends in its seat, from 1, as 'juror 2'; got agent={name!r}"
        )
    return int(found[1])


@dataclass(frozen=True, slots=True)
class SyntheticItem:
    """An item of a world, with the fields of an item of any debate; its text says nothing about its state.

    Attributes
    ----------
    question : str
        Its number in the stream of items, from 1.
    text : str
    candidates : tuple of str
        Two; one response that is scored by itself; or none where the question itself is answered.
    answers : tuple of str or None
        None for a response.
    label : str or None
        The right answer; None for a response.
    cluster : str or None
    models : tuple of str
    category : str or None
        The kind of question, where the world has kinds.

    Examples
    --------
    >>> from d3stats.worlds import Courtroom
    >>> (item,) = synthetic_items(Courtroom(), 1, seed=3)
    >>> item.question, item.answers, item.case("d1").first, item.case("d1", first="B").first
    ('1', ('A', 'B'), 'A', 'B')
    """

    question: str
    text: str
    candidates: tuple[str, ...]
    answers: tuple[str, ...] | None
    label: str | None
    cluster: str | None = None
    models: tuple[str, ...] = ()
    category: str | None = None

    def case(self, debate: str, first: str | None = None) -> Case:
        """Return what agents may know of it; `first` is the candidate shown first, by default the first."""
        if len(self.candidates) == 1:
            return Case(debate, self.question, self.text, None, self.candidates)
        if self.candidates and self.answers and first is None:
            first = self.answers[0]
        return Case(debate, self.question, self.text, self.answers, self.candidates, first)


@singledispatch
def synthetic_agent(world: World, seed: int = 0) -> Agent:
    """Return an agent that answers, in all roles of a debate, by the law of a world.

    Played through the protocol that the world describes, the agent has the law of
    :func:`d3stats.worlds.simulate_debates`. Each of its random numbers is determined by the seed,
    the debate, the agent and the round, or by the question where it belongs to the item. Replies therefore depend
    neither on their order nor on how many are asked for at once.

    Parameters
    ----------
    world : World
        The synthetic world with its parameters.
    seed : int
        Take the seed of :func:`synthetic_items`, from which the agent knows the state of the items.

    Returns
    -------
    Agent

    Raises
    ------
    TypeError
        When the world has no agents.

    Examples
    --------
    >>> from d3stats.worlds.streams import synthetic_items
    >>> from d3stats.protocols import play_sync
    >>> from d3stats.protocols.baselines import SingleJudge
    >>> from d3stats.worlds import Courtroom
    >>> item = synthetic_items(Courtroom(), 1, seed=3)[0]
    >>> outcome = play_sync(SingleJudge(), item.case("d1"), synthetic_agent(Courtroom(), seed=3))
    >>> outcome.decision in ("A", "B", None)
    True
    """
    raise TypeError(f"world must support synthetic agents; got {type(world).__name__}")


@singledispatch
def synthetic_items(world: World, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return the items of a world: what its debates are about.

    Parameters
    ----------
    world : World
        The synthetic world with its parameters.
    n : int
        How many, at least 1.
    seed : int
        Seed of the draws; one seed gives one result.
    first : int
        How many to leave out before: ``synthetic_items(w, 10, 7)[4:]`` is ``synthetic_items(w, 6, 7, first=4)``.

    Returns
    -------
    list of SyntheticItem

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> [item.question for item in synthetic_items(Voter(), 2, seed=1, first=4)]
    ['5', '6']
    """
    raise TypeError(f"world must support synthetic items; got {type(world).__name__}")


def item_range(
    n: int,
    first: int,
    state: Callable[[str], tuple[str, str | None]],
    answers: tuple[str, ...],
    *,
    pairs: bool,
) -> list[SyntheticItem]:
    """Return a range of items; `state` gives the label of a question, and its category where there are some.

    With `pairs` two answers are compared; otherwise the question itself is answered.
    """
    start, found = integer("first", first, minimum=0), []
    for number in range(start + 1, start + integer("n", n, minimum=1) + 1):
        question = str(number)
        label, category = state(question)
        about = "" if category is None else f" of the category {category}"
        shown = [f"Synthetic answer {side} to question {question}" for side in "AB" if pairs]
        text = f"Synthetic question {question}{about}"
        found.append(SyntheticItem(question, text, tuple(shown), answers, label, category=category))
    return found


class SyntheticAgent(ABC, Generic[W]):
    """An agent that plays all roles of a debate, by the law of one world.

    Parameters
    ----------
    world : World
    seed : int

    Attributes
    ----------
    acts : tuple of str
        What can be asked.
    one_response : bool
        Whether single responses are scored.
    """

    acts: ClassVar[tuple[str, ...]] = ()
    one_response: ClassVar[bool] = False
    tokens_per_word: float = TOKENS_PER_WORD

    def __init__(self, world: W, seed: int = 0) -> None:
        self.world = world
        self.streams = Streams(seed)
        self.item = lru_cache(maxsize=4096)(self._item)
        self.standing = lru_cache(maxsize=65536)(self._normal_of)
        self._seen: tuple[Message, ...] = ()
        self._words = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.world.name}, seed={self.streams.seed})"

    @property
    def model(self) -> str:
        """Name in the log."""
        return f"synthetic {self.world.name}"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that must be equal for a run to continue the debates of another run."""
        return {"agent": type(self).__name__, "world": repr(self.world), "seed": self.streams.seed}

    @abstractmethod
    def _item(self, question: str) -> Any:
        """Draw the state of an item, the same for every debate about the question."""

    @abstractmethod
    def _answer(self, request: Request, stream: Stream) -> Reply:
        """Answer a request for one of `acts`, with the stream of this call."""

    @abstractmethod
    def _lengths(self, request: Request) -> tuple[float, ...]:
        """Return the most words of each part of a reply; a judge's last part, the reasons, is read to nobody."""

    @abstractmethod
    def _prompt(self, request: Request) -> float:
        """Return the tokens of the prompt."""

    def _normal_of(self, *names: str) -> float:
        """Return a standard normal number that belongs to these names, whatever is asked for and when."""
        return self.streams.of(*names).normal()

    def check(self, request: Request) -> None:
        """Refuse what the world has no law for."""
        if len(request.case.candidates) == 1 and not self.one_response:
            raise Refused(
                f"case must not be a single response in world {self.world.name!r}; got one for "
                f"{request.case.question!r}; world 'responses' has a law for these"
            )
        if request.act not in self.acts:
            known = ", ".join(map(repr, self.acts))
            raise Refused(
                f"act must be one that world {self.world.name!r} has a law for ({known}); got {request.act!r}"
            )

    def reply(self, request: Request) -> Reply:
        """Answer a request at once."""
        self.check(request)
        return self._answer(request, self.call(request, request.act))

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the mean or the greatest length, without vote or scores."""
        self.check(request)
        kept = self._kept(size)
        text, words = _message(request, [kept * words for words in self._lengths(request)])
        return self._imagined(request, size, text, words)

    def _imagined(self, request: Request, size: Size, text: str, words: float) -> Reply:
        tokens = self._prompt(request), self.tokens_per_word * words
        sent, written = (round(x) if size == "typical" else math.ceil(x) for x in tokens)
        return Reply(text, tokens_in=sent, tokens_out=written, model=self.model)

    @property
    def slack(self) -> float:
        """A message has between (1 - slack) and 1 times its longest length, uniformly."""
        return float(getattr(self.world, "slack", 0.0))

    def _kept(self, size: Size) -> float:
        return 1 - self.slack / 2 if size == "typical" else 1.0

    def _long(self, longest: float, stream: Stream) -> float:
        return longest * (1 - self.slack * stream.uniform())

    async def act(self, request: Request, /, more: More = always) -> Reply:
        """Answer a request; a synthetic agent never fails, so `more` is never asked."""
        return self.reply(request)

    def call(self, request: Request, purpose: str, *, agent: str | None = None) -> Stream:
        """Open the stream of this one call, or of another agent's in this round; each run of a world has others.

        Raises
        ------
        Refused
            When messages may be so short that the numbers in them would be cut off before others read them.
        """
        if request.slot.longest < LONGEST_TEXT:
            raise Refused(
                f"words must be at least {-(-LONGEST_TEXT // BYTES_PER_WORD)} for a message of a synthetic agent, "
                f"which carries numbers that others read; got {request.slot.words} for {request.agent!r}; "
                "allow more words in the protocol, and set the length of messages in the world"
            )
        run, name = getattr(self.world, "run", 0), request.agent if agent is None else agent
        return self.streams.of("call", run, request.case.debate, purpose, name, request.round)

    def read(self, seen: tuple[Message, ...]) -> float:
        """Return the words of what is seen; several agents that are asked at once see the same tuple."""
        if seen is not self._seen:
            lines = (line for message in seen for line in message.text.splitlines())
            self._seen, self._words = seen, sum([statement(line).words for line in lines])
        return self._words

    def say(
        self,
        request: Request,
        stream: Stream,
        facts: Mapping[str, float] = MappingProxyType({}),
        vote: str | None = None,
        scores: Scores | None = None,
    ) -> Reply:
        """Reply with a message of a random length, which tells these facts."""
        text, words = _message(request, [self._long(w, stream) for w in self._lengths(request)], facts)
        return self.done(request, stream, text, words, vote, scores)

    def done(
        self,
        request: Request,
        stream: Stream,
        text: str,
        words: float,
        vote: str | None = None,
        scores: Scores | None = None,
    ) -> Reply:
        """Reply with this text of so many words."""
        sent = stream.rounded(self._prompt(request))
        written = stream.rounded(self.tokens_per_word * words)
        return Reply(text, vote, scores, sent, written, model=self.model)


def _message(
    request: Request, parts: Sequence[float], facts: Mapping[str, float] = MappingProxyType({})
) -> tuple[str, float]:
    """Return a message whose parts have these words, and the words of all."""
    if request.act != "judge":
        return tell(sum(parts), **facts), sum(parts)
    # Feedback to advocates is by its length alone: they are not to argue by what the judge leans to.
    *read, filed = parts
    return tell(sum(read), reasons=filed), sum(read) + filed
