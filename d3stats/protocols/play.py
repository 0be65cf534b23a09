"""The parts that all protocols share, and the engine that plays one debate.

A protocol is a generator, written as the algorithm of its paper with a ``yield from`` wherever an agent speaks. It
yields a :class:`Speak`, requests that may be answered at the same time, and gets the replies; or a
:class:`RoundOver`, and gets the stopping rule's decision. It returns an :class:`Outcome`. It has no other input and
no side effect, so the same replies always lead to the same next step. A debate is therefore continued by playing it
again from its record. It is priced by playing the rest of it with simulated replies.
"""

from __future__ import annotations

import asyncio
import functools
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, ClassVar

from d3stats._check import integer
from d3stats._named import Value, written
from d3stats._words import HIDDEN as UNSEEN
from d3stats.agent import Agent, Case, Message, More, Reply, Request, Slot, always, cut
from d3stats.log.scores import Scores, whole
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.stopping import Decision, FullDepth, Round, Rule, StoppingRule, StopReason
from d3stats.trajectories import MISSING
from d3stats.values import canonical_text

__all__ = [
    "HIDDEN",
    "Answer",
    "DebateProtocol",
    "OneRound",
    "Outcome",
    "Play",
    "RoundOver",
    "RuleBook",
    "Settle",
    "Speak",
    "anonymise",
    "anonymous_case",
    "ask",
    "complete",
    "drive",
    "heard",
    "mean_points",
    "play_sync",
    "plurality",
    "preferred",
    "round_over",
    "round_seen",
    "said",
    "settled",
    "speak",
    "total",
    "votes_of",
    "without_names",
]

HIDDEN = "[model]"
"""The text in place of a name."""

_DASH = r"_\-\u2010-\u2015\u2043\u2212"
_JOINTS = re.compile(rf"[\s.{_DASH}]+")
# A dot with a blank ends a sentence, and an empty line a paragraph: neither is inside of a name.
_JOINT = rf"(?:\.|\s?[{_DASH}]{{1,4}}\s?|\s)?"
_NUMBERED = re.compile(r"(?<=[^\W\d_]{3})(?=\d)")
_UNSEEN = re.compile(rf"{UNSEEN.pattern}|[\ufe00-\ufe0f]")


def without_names(text: str, names: tuple[str, ...]) -> str:
    r"""Replace the names of systems in a text by ``"[model]"``.

    Names match as whole words in upper or lower case; the longest name that fits is taken. A space, dashes, an
    underscore or a dot in a name matches any other of these or nothing; before a number in a name they may be added.
    Letters of another width or form count as the plain ones, and invisible characters are skipped. For
    ``"host/name:tag"`` the name alone is replaced, too. A name of one letter is not replaced, because candidates have
    such names.

    Parameters
    ----------
    text : str
        The text in which names are replaced.
    names : tuple of str
        The names to replace.

    Returns
    -------
    str

    Examples
    --------
    >>> without_names("As GPT 4, unlike gpt-4-turbo and Egpt-4, I know.", ("gpt-4", "gpt-4-turbo"))
    'As [model], unlike [model] and Egpt-4, I know.'
    >>> without_names("G\u00adPT\u200b--4 and _claude3_", ("gpt-4", "claude-3"))
    '[model] and _[model]_'
    """
    pattern = _pattern(names)
    if pattern is None:
        return text
    plain, starts = _plain(text)
    kept, done = [], 0
    for match in pattern.finditer(plain):
        if match[0] == HIDDEN:
            # Hidden already, and matched first: hiding twice is hiding once.
            continue
        start, end = (
            (match.start(), match.end())
            if starts is None
            else (starts[match.start()][0], starts[match.end() - 1][1])
        )
        kept += [text[done:start], HIDDEN]
        done = end
    return "".join([*kept, text[done:]])


def anonymise(messages: Iterable[Message], names: tuple[str, ...]) -> tuple[Message, ...]:
    """Return the messages with neutral speakers and without the names of systems.

    Parameters
    ----------
    messages : iterable of Message
        As they were said.
    names : tuple of str
        Names of systems.

    Returns
    -------
    tuple of Message

    Examples
    --------
    >>> said = Message("advocate", 1, "Claude is right.", side="A")
    >>> anonymise([said], ("claude",))[0].text
    '[model] is right.'
    """
    return tuple(
        replace(
            message, speaker=without_names(message.speaker, names), text=without_names(message.text, names)
        )
        for message in messages
    )


def anonymous_case(case: Case) -> Case:
    """Return the case as jurors read it: candidates without the names of systems, the question as asked.

    Parameters
    ----------
    case : Case
        As agents get it.

    Returns
    -------
    Case

    Examples
    --------
    >>> case = Case("1", "q", "What is Claude?", ("A", "B"), ("I am Claude.", "A model."), "A", ("claude",))
    >>> anonymous_case(case).candidates, anonymous_case(case).text
    (('I am [model].', 'A model.'), 'What is Claude?')
    """
    return replace(case, candidates=tuple(without_names(text, case.names) for text in case.candidates))


@functools.lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    plain = [_plain(name)[0].strip() for name in names]
    spelled = {short for name in plain for short in (name, *_shorter(name))}
    known = sorted(
        (name for name in spelled if sum(map(str.isalnum, name)) > 1), key=lambda name: (-len(name), name)
    )
    if not known:
        return None
    written = (
        _JOINT.join(
            re.escape(part) for joined in _JOINTS.split(name) for part in _NUMBERED.split(joined) if part
        )
        for name in known
    )
    return re.compile(rf"{re.escape(HIDDEN)}|(?<![^\W_])(?:{'|'.join(written)})(?![^\W_])", re.IGNORECASE)


def _shorter(name: str) -> tuple[str, ...]:
    """Of "host/name:tag": "name:tag" and "name"."""
    last = name.rpartition("/")[2]
    return last, last.partition(":")[0]


def _plain(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """Return a text in plain letters (NFKC) without what is not seen, and the place of each of them in the original.

    The places are None where the text is plain as it is.
    """
    if unicodedata.is_normalized("NFKC", text) and not _UNSEEN.search(text):
        return text, None
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end, cluster in _clusters(text):
        plain = unicodedata.normalize("NFKC", cluster)
        letters.append(plain)
        places += [(start, end)] * len(plain)
    return "".join(letters), places


def _clusters(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what is seen: a character with the marks on it, and where it begins and ends."""
    start, end, cluster = 0, 0, ""
    for at, character in enumerate(text):
        if _UNSEEN.match(character):
            continue
        if cluster and unicodedata.combining(character):
            cluster, end = cluster + character, at + 1
            continue
        if cluster:
            yield start, end, cluster
        start, end, cluster = at, at + 1, character
    if cluster:
        yield start, end, cluster


@dataclass(frozen=True, slots=True)
class Speak:
    """Requests that may be answered at the same time.

    Attributes
    ----------
    requests : tuple of Request
        One per agent that is asked.

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"))
    >>> len(Speak((Request(case, 1, "juror 1", "juror", "vote", "Vote."),)).requests)
    1
    """

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class RoundOver:
    """The end of a round, with the votes and scores that a stopping rule may look at.

    Attributes
    ----------
    number : int
    votes : tuple of (str or None)
        One per seat of the panel, in a fixed order; empty where no agent votes.
    scores : dict of float or None
        Raw points per side, totals; None where nothing is scored or the scores are missing.
    ends : str or None
        The reason, where the protocol itself ends the debate here under any stopping rule (a judge has decided).

    Examples
    --------
    >>> RoundOver(1, votes=("A", "B", None)).votes
    ('A', 'B', None)
    """

    number: int
    votes: tuple[str | None, ...] = ()
    scores: Mapping[str, float] | None = None
    ends: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decision of a debate, the number of rounds played and the reason for the end.

    Attributes
    ----------
    decision : str or None
        None when all votes or scores are missing, or several answers are equal and the protocol has no tie-break.
    round : int
        Rounds played.
    reason : str
        Why it stopped there: the rule's reason, or the protocol's.
    detail : dict of float
        Numbers behind the decision, by name.

    Examples
    --------
    >>> Outcome("A", round=2, reason="unanimity").decision
    'A'
    """

    decision: str | None
    round: int
    reason: str
    detail: Mapping[str, float] = field(default_factory=dict)


Play = Generator[Speak | RoundOver, Any, Outcome]
"""The generator that ``play`` of a protocol returns."""


def speak(*requests: Request) -> Generator[Speak, tuple[Reply, ...], tuple[Reply, ...]]:
    """Ask, all at once, and return the replies in the same order.

    Parameters
    ----------
    *requests : Request
        Answered at the same time.

    Returns
    -------
    tuple of Reply

    Yields
    ------
    Speak

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"))
    >>> step = speak(Request(case, 1, "juror 1", "juror", "vote", "Vote."))
    >>> next(step).requests[0].agent
    'juror 1'
    """
    return (yield Speak(requests))


def round_over(
    number: int,
    *,
    votes: Iterable[str | None] = (),
    scores: Mapping[str, float] | None = None,
    ends: str | None = None,
) -> Generator[RoundOver, Decision, Decision]:
    """Close a round and return whether to stop, and why.

    Parameters
    ----------
    number : int
        The round.
    votes : iterable of (str or None)
        One per seat, in a fixed order.
    scores : mapping of str to float, optional
        Raw points per side.
    ends : str, optional
        The reason, where the protocol itself ends here.

    Returns
    -------
    Decision

    Yields
    ------
    RoundOver

    Examples
    --------
    >>> step = round_over(2, votes=["A", "A"])
    >>> next(step).votes
    ('A', 'A')
    """
    return (yield RoundOver(number, tuple(votes), scores, ends))


def said(
    request: Request,
    reply: Reply,
    speaker: str,
    *,
    show: bool = False,
) -> tuple[Message, ...]:
    """Return what others get to read of a reply, with `show` its vote and scores too.

    Nothing if nothing came back. The text names no system (``case.names``) and is cut at what was asked for.

    Parameters
    ----------
    request : Request
        What was asked for.
    reply : Reply
        What came back.
    speaker : str
        The name that others read.
    show : bool
        Whether vote and scores are shown.

    Returns
    -------
    tuple of Message

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> request = Request(Case("d1", "q1", "2 or 3?", ("A", "B")), 1, "juror 1", "juror", "vote", "Vote.")
    >>> [message.text for message in said(request, Reply("Two, I think.", vote="A"), "juror 1")]
    ['Two, I think.']
    """
    if reply.text is None:
        return ()
    # Cut last: a forecast has to know how long a message can be, and half a name would still be a name.
    text = cut(without_names(reply.text, request.case.names), request.slot.longest)
    vote, scores = (reply.vote, reply.scores) if show else (None, None)
    return (Message(speaker, request.round, text, request.side, vote, scores),)


def heard(
    requests: Sequence[Request], replies: Sequence[Reply], speaker: str | None = None, *, show: bool = False
) -> tuple[Message, ...]:
    """Return what others get to read of one stage, see :func:`said`; by default each speaks under its own name.

    Parameters
    ----------
    requests : sequence of Request
        The requests of one stage.
    replies : sequence of Reply
        One per request.
    speaker : str, optional
        The name that others read; by default each agent's own.
    show : bool
        Whether votes and scores are shown.

    Returns
    -------
    tuple of Message

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"))
    >>> requests = [Request(case, 1, name, "juror", "vote", "Vote.") for name in ("juror 1", "juror 2")]
    >>> [message.speaker for message in heard(requests, [Reply("Two."), Reply(None, error="timeout")])]
    ['juror 1']
    """
    return tuple(
        message
        for request, reply in zip(requests, replies, strict=True)
        for message in said(request, reply, request.agent if speaker is None else speaker, show=show)
    )


def votes_of(replies: Sequence[Reply]) -> tuple[str | None, ...]:
    """Return the votes, None where there is none.

    Parameters
    ----------
    replies : sequence of Reply
        In the order of the seats.

    Returns
    -------
    tuple of (str or None)

    Examples
    --------
    >>> votes_of([Reply("Two.", vote="A"), Reply(None, error="timeout")])
    ('A', None)
    """
    return tuple(reply.vote for reply in replies)


def total(reply: Reply, sides: Sequence[str]) -> dict[str, float] | None:
    """Return each side's points, summed over the criteria; None without scores of all sides on the same criteria.

    Parameters
    ----------
    reply : Reply
        With or without scores.
    sides : sequence of str
        Whose points are summed.

    Returns
    -------
    dict of str to float, or None

    Examples
    --------
    >>> total(Reply("", scores={"A": {"clarity": 4.0, "style": 5.0}, "B": {"clarity": 7.0, "style": 3.0}}), ("A", "B"))
    {'A': 9.0, 'B': 10.0}
    """
    scores = reply.scores
    if scores is None or not whole([("", {side: scores.get(side, {}) for side in sides})])[0]:
        return None
    return {side: float(sum(scores[side].values())) for side in sides}


def mean_points(replies: Sequence[tuple[Request, Reply]]) -> dict[str, float] | None:
    """Return the mean points of each side over the agents that scored all sides; None if no agent did.

    Arrays of the log have the same mean, so a running rule and a replay see the same points.

    Parameters
    ----------
    replies : sequence of (Request, Reply)
        What the agents of one round were asked, and what they answered.

    Returns
    -------
    dict of str to float, or None

    Examples
    --------
    >>> from d3stats.agent import Case, Request, Rubric, Slot
    >>> slot = Slot(rubric=Rubric(("A", "B"), ("clarity",)))
    >>> asked = [
    ...     Request(Case("d1", "q1", "2 or 3?", ("A", "B")), 1, f"judge {i}", "judge", "judge", "Score.", slot)
    ...     for i in (1, 2)
    ... ]
    >>> half, both = {"A": {"clarity": 9.0}}, {"A": {"clarity": 4.0}, "B": {"clarity": 6.0}}
    >>> mean_points([(asked[0], Reply("", scores=half)), (asked[1], Reply("", scores=both))])
    {'A': 4.0, 'B': 6.0}
    """
    given: list[tuple[str, Scores]] = []
    for request, reply in replies:
        sides = () if request.slot.rubric is None else request.slot.rubric.sides
        # Sides without points were to be scored, as in the log.
        given.append((request.agent, {**{side: {} for side in sides}, **(reply.scores or {})}))
    points: dict[str, list[float]] = {}
    for counts, (_, scores) in zip(whole(given), given, strict=True):
        for side, criteria in scores.items() if counts else ():
            if criteria:
                points.setdefault(side, []).append(float(sum(criteria.values())))
    return {side: fmean(points[side]) for side in sorted(points)} or None


def complete(request: Request, reply: Reply) -> Reply:
    """Add the vote that follows from the scores, where the slot says that it does (``lead``).

    A vote in free words gets the form in which a log is read, so that a running rule and a replay count the same
    votes as equal. A word for a missing value ("none") is a missing vote.

    Parameters
    ----------
    request : Request
        What was asked for.
    reply : Reply
        What came back.

    Returns
    -------
    Reply

    Examples
    --------
    >>> from d3stats.agent import Case, Request, Rubric, Slot
    >>> slot = Slot(rubric=Rubric(("A", "B"), ("clarity",)), lead=True)
    >>> request = Request(Case("d1", "q1", "2 or 3?", ("A", "B")), 1, "judge", "judge", "judge", "Score.", slot)
    >>> complete(request, Reply("B is clearer.", scores={"A": {"clarity": 4.0}, "B": {"clarity": 7.0}})).vote
    'B'
    """
    slot = request.slot
    if slot.open_vote and reply.vote is not None:
        vote = canonical_text(reply.vote)
        if vote != reply.vote:
            error = (reply.error or "unreadable") if vote is None else reply.error
            reply = replace(reply, vote=vote, error=error)
    if not slot.lead or slot.rubric is None or reply.scores is None:
        return reply
    return replace(reply, vote=preferred(total(reply, slot.rubric.sides), slot.answers))


def settled(leading: Collection[str], sides: Collection[str], answers: Collection[str] | None) -> str | None:
    """Say what follows when these answers lead: what a tie means, in every protocol.

    One that leads alone is the decision. When both candidates lead, it is ``"tie"`` where that may be voted for.
    Otherwise nothing is decided: without that answer, and when a candidate and ``"tie"`` lead together.

    Parameters
    ----------
    leading : collection of str
        The answers with the most votes or points.
    sides : collection of str
        The candidates' names.
    answers : collection of str, or None
        What may be voted for.

    Returns
    -------
    str or None

    Examples
    --------
    >>> settled(["A", "B"], ("A", "B"), ("A", "B", "tie"))
    'tie'
    >>> print(settled(["A", "B"], ("A", "B"), ("A", "B")), settled(["A", "tie"], ("A", "B"), ("A", "B", "tie")))
    None None
    """
    if len(leading) == 1:
        return next(iter(leading))
    if sides and set(sides) <= set(leading) and "tie" in (answers or ()):
        return "tie"
    return None


def plurality(case: Case, votes: Iterable[str | None], weights: Iterable[float] | None = None) -> str | None:
    """Return the answer with the most votes, or the most weight of votes; ties as :func:`settled` has them.

    A missing vote counts for no answer.

    Parameters
    ----------
    case : Case
        What may be voted for.
    votes : iterable of (str or None)
        One per voter.
    weights : iterable of float, optional
        One per voter; all 1 by default.

    Returns
    -------
    str or None

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> plurality(case, ["A", "B", "B", None]), plurality(case, ["A", "B"], weights=[2.0, 1.0])
    ('B', 'A')
    """
    given = list(votes)
    shares = [1.0] * len(given) if weights is None else list(weights)
    cast: dict[str, list[float]] = {}
    for vote, weight in zip(given, shares, strict=True):
        if vote is not None and weight > 0:
            cast.setdefault(vote, []).append(weight)
    return settled(_leaders({answer: math.fsum(w) for answer, w in cast.items()}), case.sides, case.answers)


def preferred(points: Mapping[str, float] | None, answers: Collection[str] | None) -> str | None:
    """Return the side with the most points; ties as :func:`settled` has them, None without points.

    Parameters
    ----------
    points : mapping of str to float, or None
        Points of each side.
    answers : collection of str, or None
        What may be voted for.

    Returns
    -------
    str or None

    Examples
    --------
    >>> preferred({"A": 40.0, "B": 43.0}, ("A", "B")), preferred({"A": 40.0, "B": 40.0}, ("A", "B", "tie"))
    ('B', 'tie')
    """
    return None if not points else settled(_leaders(points), points, answers)


def _leaders(points: Mapping[str, float]) -> list[str]:
    # Sums of the same numbers in another order may differ in their last bits.
    top = max(points.values(), default=0.0)
    return [name for name, value in points.items() if math.isclose(value, top, rel_tol=1e-12, abs_tol=1e-12)]


@dataclass(frozen=True, kw_only=True)
class DebateProtocol(Value, ABC):
    """A debate protocol.

    A new protocol is one file in this folder with a frozen dataclass that has `name` and `citation` and defines
    :meth:`play`; its prompts are in the same file. The protocol is found by its name.

    Parameters
    ----------
    max_rounds : int
        Rounds after which a debate ends under any stopping rule.

    Attributes
    ----------
    name : str
        Name of the protocol on the command line.
    citation : str
        The source of the protocol.
    candidates : bool
        Whether the agents judge two candidates (True) or answer the question themselves (False); None is for both.
    one_response : bool
        Whether the protocol also scores a single candidate.
    ends_itself : bool
        Whether the protocol may end a debate under any stopping rule, as a judge does who has decided.
    temperatures : mapping of str to float
        By role, the sampling temperature of the source. A live agent sends it unless the user chooses another.

    Examples
    --------
    >>> from d3stats.agent import Case
    >>> from d3stats.protocols import protocol_from_text
    >>> protocol = protocol_from_text("majority:judges=3")
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> protocol.check(case)
    >>> step = next(protocol.play(case))
    >>> [request.agent for request in step.requests]
    ['panelist 1', 'panelist 2', 'panelist 3']
    >>> protocol.request(case, 1, "judge 1", "judge", "vote", "Vote.").role
    'judge'
    >>> protocol.polling.at_end, protocol.max_rounds, str(protocol.rule())
    (False, 1, 'full')
    >>> protocol.recorded(), protocol_from_text("chateval:extraction=mean").recorded()
    ('plurality', 'scores:scored_from=1,scored=last')
    """

    max_rounds: int = 1

    name: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    candidates: ClassVar[bool | None] = True
    one_response: ClassVar[bool] = False
    ends_itself: ClassVar[bool] = False
    temperatures: ClassVar[Mapping[str, float]] = MappingProxyType({})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_rounds", integer("max_rounds", self.max_rounds, minimum=1))

    def request(
        self,
        case: Case,
        number: int,
        agent: str,
        role: str,
        act: str,
        instruction: str,
        slot: Slot | None = None,
        seen: Iterable[Message] = (),
        *,
        side: str | None = None,
        first: str | None = None,
    ) -> Request:
        """Return a request of round `number`; the parameters are those of :class:`~d3stats.agent.Request`."""
        return Request(
            case,
            number,
            agent,
            role,
            act,
            instruction,
            Slot() if slot is None else slot,
            tuple(seen),
            side,
            first,
            self.max_rounds,
            temperature=self.temperatures.get(role),
        )

    def check(self, case: Case) -> None:
        """Raise ValueError when the protocol cannot be played on this case."""
        if len(case.candidates) == 1 and not self.one_response:
            needs = {True: "two", False: "none", None: "two or none"}[self.candidates]
            raise ValueError(
                f"candidates must be {needs} for {self.name}; got one for question {case.question!r} "
                "(a single response is scored by chateval)"
            )
        if self.candidates is True and not case.candidates:
            raise ValueError(
                f"candidates must be two for {self.name}, which compares answers; "
                f"got none for question {case.question!r}"
            )
        if self.candidates is False and case.candidates:
            raise ValueError(
                f"candidates must be none for {self.name}, which answers the question itself; "
                f"got {len(case.candidates)} for question {case.question!r}"
            )

    def __str__(self) -> str:
        return written(self)

    @abstractmethod
    def play(self, case: Case) -> Play:
        """Play one debate; see :mod:`d3stats.protocols.play`."""

    def rule(self) -> StoppingRule:
        """Return the stopping rule that the protocol's source uses; none but `max_rounds` by default."""
        return FullDepth()

    @property
    def polling(self) -> Polling:
        """Polls of the agents that only vote, under a stopping rule, and how a round is decided."""
        return OF_PROTOCOL.get(self.name, Polling())

    def recorded(self) -> str | None:
        """Return the text of `polling` for the log; None where it is not known how a round would be decided."""
        polling = self.polling
        return str(polling) if self.name in OF_PROTOCOL or polling != Polling() else None


@dataclass(frozen=True, kw_only=True)
class OneRound(DebateProtocol):
    """A protocol that has a single round by its nature.

    Examples
    --------
    >>> from d3stats.protocols.baselines import Majority
    >>> isinstance(Majority(), OneRound), Majority().max_rounds
    (True, 1)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rounds != 1:
            raise ValueError(f"max_rounds must be 1 for {self.name}; got max_rounds={self.max_rounds}")


class RuleBook:
    """One debate's rule: turns what was said in a round into what the rule may see, and asks it.

    Parameters
    ----------
    case : Case
        What is debated.
    rule : StoppingRule
        A rule that decides debate by debate.
    max_rounds : int
        Rounds after which the debate ends under any rule.

    Raises
    ------
    TypeError
        When the rule decides for a whole batch; a run of many debates follows those.

    Examples
    --------
    >>> from d3stats.agent import Case
    >>> from d3stats.stopping import Unanimity
    >>> book = RuleBook(Case("d1", "q1", "2 or 3?", ("A", "B")), Unanimity(), max_rounds=5)
    >>> book.decide(RoundOver(1, votes=("A", "B")), []).stop, book.decide(RoundOver(2, votes=("A", "A")), []).reason
    (False, 'unanimity')
    """

    def __init__(self, case: Case, rule: StoppingRule, max_rounds: int) -> None:
        if not isinstance(rule, Rule):
            raise TypeError(
                f"rule must decide for each debate by itself; got {rule}, which needs a whole batch"
            )
        self.max_rounds = max_rounds
        self._state = rule.start()
        self._codes: dict[str, int] = {answer: i for i, answer in enumerate(case.answers or ())}

    def decide(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        """Say whether to stop after this round: the protocol's own end first, then the rule, then the cap."""
        if step.ends is not None:
            return Decision(stop=True, reason=step.ends)
        decision = self._state.update(round_seen(step, since, self._codes))
        if decision.stop or step.number < self.max_rounds:
            return decision
        return Decision(stop=True, reason=str(StopReason.EXHAUSTED))


def round_seen(step: RoundOver, since: Sequence[tuple[Request, Reply]], codes: dict[str, int]) -> Round:
    """Return what a rule may see of a round; `codes` gives answers their numbers and learns new ones.

    Parameters
    ----------
    step : RoundOver
        The round.
    since : sequence of (Request, Reply)
        What was asked and answered since the round before.
    codes : dict of str to int
        Numbers of answers; new ones are added.

    Returns
    -------
    Round

    Examples
    --------
    >>> codes = {"A": 0, "B": 1}
    >>> round_seen(RoundOver(1, votes=("A", "C", None)), [], codes).votes, codes["C"]
    ((0, 2, -1), 2)
    """
    votes = tuple(MISSING if vote is None else codes.setdefault(vote, len(codes)) for vote in step.votes)
    spent = [(reply.tokens_in, reply.tokens_out) for _, reply in since]
    counts = [count for pair in spent for count in pair if count is not None]
    known = len(counts) == 2 * len(spent)
    return Round(
        number=step.number,
        votes=votes,
        panel=len(votes),
        tokens=float(sum(counts)) if known else None,
        scores=_scores(step, since),
        texts=step.votes,
        confidence=_confidences(step, since),
    )


def _confidences(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> tuple[float | None, ...]:
    """Return the confidence of each seat's vote, None where none was stated, or seats and replies have other votes.

    Seats that vote alike may have each other's confidence, which no rule tells apart.
    """
    said = {request.agent: reply for request, reply in since if reply.vote is not None}
    cast = list(said.values())
    if sorted(str(reply.vote) for reply in cast) != sorted(vote for vote in step.votes if vote is not None):
        return (None,) * len(step.votes)
    given: dict[str, list[float | None]] = {}
    for reply in cast:
        given.setdefault(str(reply.vote), []).append(reply.confidence)
    return tuple(None if vote is None else given[vote].pop(0) for vote in step.votes)


def _scores(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> tuple[float | None, ...] | None:
    """Return the points of what was to be scored in the round, missing ones as None; None if nothing was."""
    given = step.scores or {}
    rubrics = [request.slot.rubric for request, _ in since if request.slot.rubric is not None]
    scored = {*given, *(side for rubric in rubrics for side in rubric.sides)}
    # In the order of their names, as in a log, whatever order the item lists its answers in.
    return tuple(given.get(side) for side in sorted(scored)) if scored else None


Answer = Callable[[Request], Awaitable[Reply]]
"""Answers one request."""

Settle = Callable[[RoundOver, Sequence[tuple[Request, Reply]]], Awaitable[Decision]]
"""Says whether to stop after a round, given what was said since the round before."""


async def ask(agent: Agent, request: Request, more: More = always) -> Reply:
    """Ask an agent, and complete its reply; what is recorded and what a protocol sees come from here.

    Parameters
    ----------
    agent : Agent
        Who is asked.
    request : Request
        For what.
    more : callable
        Whether a further attempt may be made.

    Returns
    -------
    Reply

    Examples
    --------
    >>> import asyncio
    >>> from d3stats.agent import Case, Request
    >>> from d3stats.protocols import ReplayAgent
    >>> from d3stats.log import Turn
    >>> agent = ReplayAgent([Turn(debate="d1", round=1, agent="juror 1", vote="A")])
    >>> request = Request(Case("d1", "q1", "2 or 3?", ("A", "B")), 1, "juror 1", "juror", "vote", "Vote.")
    >>> asyncio.run(ask(agent, request)).vote
    'A'
    """
    return complete(request, await agent.act(request, more))


async def drive(play: Play, answer: Answer, settle: Settle) -> Outcome:
    """Play one debate to its end.

    Parameters
    ----------
    play : Play
        From :meth:`DebateProtocol.play`.
    answer : coroutine function
        Answers a request; requests of one stage are answered at the same time.
    settle : coroutine function
        Gets a round and the requests and replies since the last round; returns the rule's decision. When the
        protocol itself ends here (``ends``) its decision is not asked for.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import asyncio
    >>> from d3stats.agent import Case
    >>> from d3stats.protocols.baselines import Majority
    >>> async def answer(request):
    ...     return Reply("Two.", vote="A")
    >>> async def settle(step, since):
    ...     return Decision(stop=True, reason="fixed_rounds")
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> asyncio.run(drive(Majority(judges=3).play(case), answer, settle)).decision
    'A'
    """
    since: list[tuple[Request, Reply]] = []
    send: Any = None
    while True:
        try:
            step = play.send(send)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        if isinstance(step, Speak):
            _refuse_twins(step, since)
            replies = await _all(answer, step.requests)
            since += zip(step.requests, replies, strict=True)
            send = replies
        else:
            send = await settle(step, tuple(since))
            since = []


async def _all(answer: Answer, requests: tuple[Request, ...]) -> tuple[Reply, ...]:
    if len(requests) == 1:
        return (await answer(requests[0]),)
    tasks = [asyncio.ensure_future(_answered(answer, request)) for request in requests]
    try:
        # When one fails the others end first: what is in flight is paid for, so it is heard.
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    failed = [error for error in (task.exception() for task in tasks) if error is not None]
    if failed:
        raise failed[0]
    return tuple(task.result() for task in tasks)


async def _answered(answer: Answer, request: Request) -> Reply:
    # Called inside the task: one that is cancelled before it begins leaves no coroutine behind that nobody awaits.
    return await answer(request)


def _refuse_twins(step: Speak, since: Sequence[tuple[Request, Reply]]) -> None:
    spoken = [(request.round, request.agent) for request, _ in since]
    spoken += [(request.round, request.agent) for request in step.requests]
    if len(set(spoken)) < len(spoken):
        again = next(key for i, key in enumerate(spoken) if key in spoken[:i])
        raise ValueError(f"an agent must have one turn per round; got {again[1]!r} again in round {again[0]}")


def play_sync(
    protocol: DebateProtocol,
    case: Case,
    agent: Agent,
    *,
    heard: list[tuple[Request, Reply]] | None = None,
) -> Outcome:
    """Play one debate in the foreground, under the protocol's own rule; for synthetic agents, tests and examples.

    Parameters
    ----------
    protocol : DebateProtocol
        Its rule must decide debate by debate.
    case : Case
        What is debated.
    agent : Agent
        Who answers every request.
    heard : list, optional
        Gets every request and reply, in order.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> from d3stats.protocols import protocol_from_text
    >>> from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items
    >>> (item,) = synthetic_items(Courtroom(), n=1, seed=7)
    >>> heard = []
    >>> protocol, agent = protocol_from_text("majority:judges=3"), synthetic_agent(Courtroom(), 7)
    >>> play_sync(protocol, item.case("d1"), agent, heard=heard).round
    1
    >>> [reply.vote for request, reply in heard]
    ['A', 'A', 'A']
    """
    book = RuleBook(case, protocol.rule(), protocol.max_rounds)

    async def answer(request: Request) -> Reply:
        reply = await ask(agent, request)
        if heard is not None:
            heard.append((request, reply))
        return reply

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        return book.decide(step, since)

    return asyncio.run(drive(protocol.play(case), answer, settle))


COMPARE = "Two answers to one question lie before you; decide which of them is better."
SOLVE = "You are given a question; work out its answer."


def task(case: Case) -> str:
    """Say what is to be done, without a word that a candidate wrote."""
    return COMPARE if case.candidates else SOLVE


def ballot(case: Case, words: int, *, may_pass: bool = False) -> Slot:
    """Ask for reasons and a vote: one of the case's answers, or free words where it has none."""
    return Slot(case.answers, open_vote=case.answers is None, may_pass=may_pass, words=words)
