"""What is an agent asked, and what does it answer? The whole interface between protocols and agents.

Candidates have names, ``"A"`` and ``"B"``, that never change. Which of them is *shown* first is the
placement. Only the code that writes or reads a prompt uses the placement; votes and scores are by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from d3stats._words import cut

__all__ = [
    "RESPONSE",
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
"""The size of simulated replies of a forecast: the expected one, or the longest possible one."""

More = Callable[..., bool]
"""Whether a further attempt may be made: ``more(bound, spent)``.

`bound` is the most tokens that it may cost, `spent` the tokens that the attempts so far did or may have cost.
"""

RESPONSE = "response"
"""The name of a candidate that is scored by itself."""

KEPT = 32_768
"""Bytes of a reply that a log keeps, or more where more words were asked for."""

BYTES_PER_WORD = 16
"""A message is cut at so many bytes per word that it was allowed: far above any language's average."""


@dataclass(frozen=True, slots=True)
class Case:
    """The case of a debate as agents may know it, without the right answer.

    Attributes
    ----------
    debate, question : str
        Identifiers.
    text : str
        The question as asked.
    answers : tuple of str or None
        What may be voted for; None when votes are answers in free words, or when one response is scored. For two
        candidates their names come first, ``("A", "B")`` or ``("A", "B", "tie")``.
    candidates : tuple of str
        The answers that are judged, in the order of their names; one where a response is scored by itself; empty when
        the question itself is answered.
    first : str or None
        The candidate that is shown first, or the option of a question without candidates: its options are shown in the
        item's order from there on, and the earlier ones after the last. None for one candidate, and without options.
    names : tuple of str
        Names of the systems that wrote the candidates and of the LLMs that take part: these names must not
        appear in a message to another agent.

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="B")
    >>> case.sides, case.shown
    (('A', 'B'), ('B', 'A'))
    >>> Case("d2", "q2", "How was your day?", candidates=("Fine.",)).sides
    ('response',)
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
            if self.first is not None and self.first not in (self.answers or ()):
                raise ValueError(f"first must be one of the answers; got first={self.first!r}")
            return
        if len(self.candidates) == 1:
            if self.answers is not None or self.first is not None:
                raise ValueError(
                    "answers and first must be None for one candidate, which is scored and not voted for; "
                    f"got answers={self.answers!r}, first={self.first!r}"
                )
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
        if len(self.candidates) == 1:
            return (RESPONSE,)
        return () if self.answers is None else self.answers[: len(self.candidates)]

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the candidates, or options, in the order in which they are shown."""
        return shown_from(self.first, self.sides if self.candidates else self.answers or ())


def shown_from(first: str | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names in the order in which they are shown: from the first one on, then those before it."""
    at = names.index(first) if first in names else 0
    return names[at:] + names[:at]


@dataclass(frozen=True, slots=True)
class Rubric:
    """The scale of scores: criteria, each from `low` to `high` raw points, for each side.

    Attributes
    ----------
    sides : tuple of str
        Who is scored.
    criteria : tuple of str
        What is scored.
    low, high : int
        The fewest and the most points of a criterion.

    Examples
    --------
    >>> Rubric(("A", "B"), ("clarity", "accuracy")).high
    10
    """

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
        An agent may withhold its vote ("continue"); the reply then has no vote and no error.
    rubric : Rubric or None
        Scores that are asked for.
    lead : bool
        No vote is asked for; the vote is the side with the higher total of the scores. With equal totals it is
        ``"tie"`` where that may be voted for, else none.
    listed : int
        Asks for a list of so many short texts (experts to recruit); they come back as the lines of the text.
    words : int
        The most words of the free text; 0 asks for none.
    confidence : bool
        Also asks for the probability that the vote is right, where a vote is asked for.

    Examples
    --------
    >>> slot = Slot(answers=("A", "B", "tie"), words=50)
    >>> slot.wants_vote, slot.longest > 50
    (True, True)
    """

    answers: tuple[str, ...] | None = None
    open_vote: bool = False
    may_pass: bool = False
    rubric: Rubric | None = None
    lead: bool = False
    listed: int = 0
    words: int = 100
    confidence: bool = False

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
    """A message, as other agents see it.

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

    Examples
    --------
    >>> Message("advocate", 1, "A is right.", side="A").text
    'A is right.'
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
    round : int
        The current round, from 1.
    agent : str
        Name in the log, unique among those who speak in this round of the debate: ``"advocate A 1"``.
    role : str
        Role in the log: ``"advocate"``, ``"judge"``, ``"juror"``.
    act : str
        The kind of task, in one word: ``"argue"``, ``"aggregate"``, ``"judge"``, ``"vote"``.
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
    rounds : int
        The most rounds that there can be.
    persona : str or None
        The role in which a juror reads, as its instruction says: ``"trial judge"``; None without one.
    temperature : float or None
        The sampling temperature that the protocol's source uses; None where it names none.

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="B")
    >>> request = Request(case, 1, "juror 1", "juror", "vote", "Vote.", Slot(answers=("A", "B")))
    >>> request.shown_first, request.slot.wants_vote
    ('B', True)
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
    persona: str | None = None
    temperature: float | None = None

    @property
    def shown_first(self) -> str | None:
        """The candidate, or option, that this agent reads first."""
        return self.case.first if self.first is None else self.first


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request.

    Attributes
    ----------
    text : str or None
        The text as it was received; None when no reply came.
    vote : str or None
        An answer, by name. None when no vote was asked for, the agent withheld it on purpose, or it is missing (then
        `error` gives the reason).
    scores : dict or None
        Raw points by side, then by criterion, complete; None in the same cases as `vote`.
    tokens_in, tokens_out : int or None
        Prompt and completion tokens of all attempts that were or may have been charged.
    tokens_cached : int or None
        The part of the prompt tokens that the server read from its cache; None when it did not say.
    estimated : bool
        Whether any of these tokens is an estimate, because the server gave no count.
    model : str or None
        As the server names it.
    error : str or None
        Why something that was asked for is missing, machine-readable: ``"timeout"``, ``"unreadable"``.
    attempts : int
        Calls that were made, repeats after failures and one repair included.
    temperature : float or None
        The sampling temperature that was sent with the last of them; None when none was.
    charged : tuple of int or None
        Tokens in and out that a budget is charged for it, where the texts must have more than the server counted; None
        for those of the turn.
    confidence : float or None
        Probability, from 0 to 1, that the agent gave its vote of being right; None where it gave none.
    served : dict or None
        What else the server said: ``finish`` (why the last reply ended) and ``fingerprint`` (of the system that made
        it), as they came, and ``reasoning``, tokens of thought in all attempts, which are part of `tokens_out`.

    Examples
    --------
    >>> reply = Reply("The second adds up.", vote="B", tokens_in=180, tokens_out=9)
    >>> reply.vote, reply.error, reply.attempts
    ('B', None, 1)
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
    temperature: float | None = None
    tokens_cached: int | None = None
    charged: tuple[int, int] | None = None
    served: Mapping[str, str | int] | None = field(default=None, compare=False)
    confidence: float | None = None


class Refused(ValueError):
    """Error: the server will answer no request, because the key is refused or the model or server does not exist.

    `tokens` are those, in and out, of earlier attempts at the same request that were or may have been charged.

    Parameters
    ----------
    message : str
        What was refused, and by whom.
    tokens : tuple of int
        Tokens in and out of earlier attempts at the same request.

    Examples
    --------
    >>> Refused("the key is refused", tokens=(120, 0)).tokens
    (120, 0)
    """

    def __init__(self, message: str = "", *, tokens: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.tokens = tokens


def always(tokens: int, spent: int = 0, /) -> bool:
    """Allow any further attempt.

    Parameters
    ----------
    tokens : int
        What the attempt may cost.
    spent : int
        What earlier attempts have cost.

    Returns
    -------
    bool
        True.

    Examples
    --------
    >>> always(1000)
    True
    """
    return True


class Agent(Protocol):
    """Any agent that answers requests; a protocol does not know whether it is synthetic, recorded or live.

    Examples
    --------
    >>> import asyncio
    >>> class Contrary:
    ...     async def act(self, request, /, more=always):
    ...         return Reply("No.", vote="B", tokens_in=100, tokens_out=2)
    ...
    ...     def imagine(self, request, size, /):
    ...         return Reply("No.", vote="B", tokens_in=100, tokens_out=2)
    >>> request = Request(Case("d1", "q1", "2 or 3?", ("A", "B")), 1, "juror 1", "juror", "vote", "Vote.")
    >>> agent = Contrary()
    >>> asyncio.run(agent.act(request)).vote, agent.imagine(request, "typical").tokens_out
    ('B', 2)
    """

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
        """Return a reply of the expected or the longest length, with its tokens, without a call.

        With ``size="longest"`` the tokens bound those of any single attempt from above.
        """
        ...
