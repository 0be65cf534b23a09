"""How a protocol is written: as the algorithm of its paper, with a ``yield from`` wherever somebody speaks.

A protocol is a generator. It yields a :class:`Speak`, requests that may be answered at the same time, and gets the
replies; or a :class:`RoundOver`, and gets the stopping rule's decision. It returns an :class:`Outcome`. It has no
other input and no side effect, so the same replies always lead to the same next step: a debate is continued by
playing it again from its record, and priced by playing it on with imagined replies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from d3stats.agents.request import Case, Message, Reply, Request, cut
from d3stats.protocols.anonymise import without_names
from d3stats.stopping import Decision
from d3stats.values import canonical_text

__all__ = [
    "Outcome",
    "Play",
    "RoundOver",
    "Speak",
    "complete",
    "plurality",
    "preferred",
    "round_over",
    "said",
    "settled",
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
    """Add the vote that follows from the scores, where the slot says that it does (``lead``).

    A vote in free words gets the form in which a log is read, so that a running rule and a replay count the same
    votes as equal; a word for a missing value ("none") is a missing vote.
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

    A missing vote counts for nobody.
    """
    given = list(votes)
    shares = [1.0] * len(given) if weights is None else list(weights)
    cast: dict[str, list[float]] = {}
    for vote, weight in zip(given, shares, strict=True):
        if vote is not None and weight > 0:
            cast.setdefault(vote, []).append(weight)
    return settled(_leaders({answer: math.fsum(w) for answer, w in cast.items()}), case.sides, case.answers)


def preferred(points: Mapping[str, float] | None, answers: Collection[str] | None) -> str | None:
    """Return the side with the most points; ties as :func:`settled` has them, None without points."""
    return None if not points else settled(_leaders(points), points, answers)


def _leaders(points: Mapping[str, float]) -> list[str]:
    # Sums of the same numbers in another order may differ in their last bits.
    top = max(points.values(), default=0.0)
    return [name for name, value in points.items() if math.isclose(value, top, rel_tol=1e-12, abs_tol=1e-12)]
