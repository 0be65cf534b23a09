"""What an agent is asked and what it says back: the whole interface between protocols and agents.

Candidates have names, ``"A"`` and ``"B"``, that never change. Which of them is *shown* first is the placement, and
only whoever renders or perceives a request looks at it; votes and scores that come back are by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from d3stats._words import cut

__all__ = [
    "Agent",
    "Case",
    "Message",
    "More",
    "Refused",
    "Reply",
    "Request",
    "Rubric",
    "Size",
    "Slot",
    "always",
    "cut",
]

Size = Literal["typical", "longest"]
"""What a forecast imagines: the reply that is expected, or the longest that is possible."""

More = Callable[..., bool]
"""Whether a further attempt may be made: ``more(bound, spent)``.

`bound` is the most tokens that it may cost, `spent` the tokens that the attempts so far did or may have cost.
"""

BYTES_PER_WORD = 16
"""A message is cut at so many bytes per word that it was allowed: far above any language's average."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a debate is about, as agents may know it; the right answer is not in it.

    Attributes
    ----------
    debate, question : str
        Identifiers.
    text : str
        The question as asked.
    answers : tuple of str or None
        What may be voted for; None when votes are answers in free words. For two candidates their names come
        first, ``("A", "B")`` or ``("A", "B", "tie")``.
    candidates : tuple of str
        The answers that are judged, in the order of their names; empty when the question itself is answered.
    first : str or None
        The candidate that is shown first; None when there are no candidates.
    names : tuple of str
        Names of the systems that wrote the candidates and of the LLMs that take part: what nobody may read in
        another's message.
    """

    debate: str
    question: str
    text: str
    answers: tuple[str, ...] | None = None
    candidates: tuple[str, ...] = ()
    first: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.candidates:
            return
        if self.answers is None or len(self.candidates) != 2 or len(self.answers) < 2:
            raise ValueError(
                "candidates must be two, named by the first two answers; "
                f"got {len(self.candidates)} candidates and answers={self.answers!r}"
            )
        if self.first not in self.sides:
            raise ValueError(f"first must be one of {self.sides}; got first={self.first!r}")

    @property
    def sides(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return () if self.answers is None else self.answers[: len(self.candidates)]

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the candidates in the order in which they are shown."""
        return tuple(sorted(self.sides, key=lambda side: side != self.first))


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is scored: criteria, each from `low` to `high` raw points, for each side."""

    sides: tuple[str, ...]
    criteria: tuple[str, ...]
    low: int = 1
    high: int = 10


@dataclass(frozen=True, slots=True)
class Slot:
    """The structured part that is asked of one agent; votes and scores are read from nowhere else.

    Attributes
    ----------
    answers : tuple of str or None
        What may be voted for. None asks for no vote, unless `open_vote`.
    open_vote : bool
        Asks for an answer in free, short words.
    may_pass : bool
        A vote may be withheld on purpose ("go on"); the reply then has no vote and no error.
    rubric : Rubric or None
        Scores that are asked for.
    lead : bool
        No vote is asked for: the side with the higher total is the vote; of equal totals, ``"tie"`` where that may
        be voted for, else none.
    listed : int
        Asks for a list of so many short texts (experts to recruit); they come back as the lines of the text.
    words : int
        The most words of the free text; 0 asks for none.
    """

    answers: tuple[str, ...] | None = None
    open_vote: bool = False
    may_pass: bool = False
    rubric: Rubric | None = None
    lead: bool = False
    listed: int = 0
    words: int = 100

    @property
    def wants_vote(self) -> bool:
        """Whether a vote is asked for."""
        return not self.lead and (self.open_vote or self.answers is not None)

    @property
    def longest(self) -> int:
        """Bytes (UTF-8) at which the free text is cut before others read it."""
        return BYTES_PER_WORD * self.words


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, as others get to see it.

    Attributes
    ----------
    speaker : str
        A neutral name: ``"advocate"``, ``"juror 3"``; no model's name.
    round : int
    text : str
    side : str or None
        The candidate that the speaker defends.
    vote, scores
        Shown only where the protocol shows them.
    """

    speaker: str
    round: int
    text: str
    side: str | None = None
    vote: str | None = None
    scores: Mapping[str, Mapping[str, float]] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call: who is asked, for what, and everything that it may know.

    Attributes
    ----------
    case : Case
    round, rounds : int
        The current round, from 1, and the most that there can be.
    agent : str
        Name in the log, unique among those who speak in this round of the debate: ``"advocate A 1"``.
    role : str
        Role in the log: ``"advocate"``, ``"judge"``, ``"juror"``.
    act : str
        What is done, one word per kind of task: ``"argue"``, ``"aggregate"``, ``"judge"``, ``"vote"``.
    instruction : str
        The role's prompt, in the protocol's words: who the agent is and what to do. It holds nothing that a
        candidate or another agent wrote.
    slot : Slot
    seen : tuple of Message
        The part of the transcript that this agent sees, oldest first.
    side : str or None
        The candidate that the agent defends.
    first : str or None
        The candidate shown first in this call; None takes the case's.
    """

    case: Case
    round: int
    agent: str
    role: str
    act: str
    instruction: str
    slot: Slot = field(default_factory=Slot)
    seen: tuple[Message, ...] = ()
    side: str | None = None
    first: str | None = None
    rounds: int = 1

    @property
    def shown_first(self) -> str | None:
        """The candidate that this agent reads first."""
        return self.case.first if self.first is None else self.first


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes
    ----------
    text : str or None
        What was said, as it was said; None when nothing came back.
    vote : str or None
        By name; None when none was asked for, withheld on purpose, or not to be had (then `error` says why).
    scores : dict or None
        Side, then criterion, then raw points; None alike. Complete or absent, never in part.
    tokens_in, tokens_out : int or None
        Of all attempts that were or may have been charged.
    estimated : bool
        Whether any of these tokens is an estimate, because the server gave no count.
    model : str or None
        As the server names it.
    error : str or None
        Why something that was asked for is missing, machine-readable: ``"timeout"``, ``"unreadable"``.
    attempts : int
        Calls that were made, repeats after failures and one repair included.
    """

    text: str | None
    vote: str | None = None
    scores: Mapping[str, Mapping[str, float]] | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    estimated: bool = False
    model: str | None = None
    error: str | None = None
    attempts: int = 1


class Refused(ValueError):
    """No request will ever be answered: the key is refused, the model is unknown, nobody is there.

    `tokens` are those, in and out, of earlier attempts at the same request that were or may have been charged.
    """

    def __init__(self, message: str = "", *, tokens: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.tokens = tokens


def always(tokens: int, spent: int = 0, /) -> bool:
    """Allow any further attempt."""
    return True


class Agent(Protocol):
    """Anybody who can be asked; a protocol never knows whether it is synthetic, recorded or live."""

    async def act(self, request: Request, /, more: More = always) -> Reply:
        """Answer one request. A failure is a reply with an `error`, not an exception.

        Parameters
        ----------
        request : Request
        more : function of two int to bool
            Is asked before every attempt after the first, with the most tokens that it may cost and those that the
            attempts so far did or may have cost; False forbids it.

        Raises
        ------
        Refused
            When this request is refused as every other will be; the run ends.
        """
        ...

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the expected or the longest length, with its tokens; asks nobody.

        With ``size="longest"`` the tokens bound those of any single attempt from above.
        """
        ...
