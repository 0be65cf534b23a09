"""How a protocol is written: as the algorithm of its paper, with a ``yield from`` wherever somebody speaks.

A protocol is a generator. It yields a :class:`Speak`, requests that may be answered at the same time, and gets the
replies; or a :class:`RoundOver`, and gets the stopping rule's decision. It returns an :class:`Outcome`. It has no
other input and no side effect, so the same replies always lead to the same next step: a debate is continued by
playing it again from its record, and priced by playing it on with imagined replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from d3stats.agents.request import Message, Reply, Request, cut
from d3stats.protocols.anonymise import without_names
from d3stats.stopping import Decision

__all__ = [
    "Outcome",
    "Play",
    "RoundOver",
    "Speak",
    "complete",
    "leader",
    "plurality",
    "preferred",
    "round_over",
    "said",
    "speak",
    "total",
    "votes_of",
]


@dataclass(frozen=True, slots=True)
class Speak:
    """Requests that may be answered at the same time."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class RoundOver:
    """A round is complete: what a stopping rule may look at.

    Attributes
    ----------
    number : int
    votes : tuple of (str or None)
        One per seat of the panel, in a fixed order; empty where nobody votes.
    scores : dict of float or None
        Raw points per side, totals; None where nothing is scored or the scores are missing.
    ends : str or None
        The reason, where the protocol itself ends here whatever the rule says (a judge has decided).
    """

    number: int
    votes: tuple[str | None, ...] = ()
    scores: Mapping[str, float] | None = None
    ends: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided.

    Attributes
    ----------
    decision : str or None
        None when nobody's vote or score could be had, or all were equal and the protocol has no tie-break.
    round : int
        Rounds played.
    reason : str
        Why it stopped there: the rule's reason, or the protocol's.
    detail : dict of float
        Numbers behind the decision, by name.
    """

    decision: str | None
    round: int
    reason: str
    detail: Mapping[str, float] = field(default_factory=dict)


Play = Generator[Speak | RoundOver, Any, Outcome]
"""What ``play`` of a protocol returns."""


def speak(*requests: Request) -> Generator[Speak, tuple[Reply, ...], tuple[Reply, ...]]:
    """Ask, all at once, and return the replies in the same order."""
    return (yield Speak(requests))


def round_over(
    number: int,
    *,
    votes: Iterable[str | None] = (),
    scores: Mapping[str, float] | None = None,
    ends: str | None = None,
) -> Generator[RoundOver, Decision, Decision]:
    """Close a round and return whether to stop, and why."""
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
    """
    if reply.text is None:
        return ()
    # Cut last: a forecast has to know how long a message can be, and half a name would still be a name.
    text = cut(without_names(reply.text, request.case.names), request.slot.longest)
    vote, scores = (reply.vote, reply.scores) if show else (None, None)
    return (Message(speaker, request.round, text, request.side, vote, scores),)


def votes_of(replies: Sequence[Reply]) -> tuple[str | None, ...]:
    """Return the votes, None where there is none."""
    return tuple(reply.vote for reply in replies)


def total(reply: Reply, sides: Sequence[str]) -> dict[str, float] | None:
    """Return each side's points, summed over the criteria; None when there are no scores."""
    if reply.scores is None:
        return None
    return {side: float(sum(reply.scores[side].values())) for side in sides}


def complete(request: Request, reply: Reply) -> Reply:
    """Add the vote that follows from the scores, where the slot says that it does (``lead``)."""
    slot = request.slot
    if not slot.lead or slot.rubric is None or reply.scores is None:
        return reply
    return replace(reply, vote=preferred(total(reply, slot.rubric.sides), slot.answers))


def plurality(votes: Iterable[str | None]) -> str | None:
    """Return the answer with the most votes; None when nobody voted or several lead."""
    ranked = Counter(vote for vote in votes if vote is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def preferred(points: Mapping[str, float] | None, answers: Sequence[str] | None) -> str | None:
    """Return the side with the most points; of equal points ``"tie"`` where that may be voted for, else None."""
    best = leader(points)
    return "tie" if best is None and points and "tie" in (answers or ()) else best


def leader(points: Mapping[str, float] | None) -> str | None:
    """Return the side with the most points; None when there are none or several lead."""
    if not points:
        return None
    top = max(points.values())
    leading = [side for side, value in points.items() if value == top]
    return leading[0] if len(leading) == 1 else None
