"""What the discussions share: how a vote is asked for, what the task is called, and what a tie decides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from d3stats.agents.request import Case, Slot

COMPARE = "Two answers to one question lie before you; decide which of them is better."
SOLVE = "You are given a question; work out its answer."


def task(case: Case) -> str:
    """Say what is to be done, without a word that a candidate wrote."""
    return COMPARE if case.candidates else SOLVE


def ballot(case: Case, words: int, *, may_pass: bool = False) -> Slot:
    """Ask for reasons and a vote: one of the case's answers, or free words where it has none."""
    return Slot(case.answers, open_vote=case.answers is None, may_pass=may_pass, words=words)


def settled(case: Case, leading: Sequence[str]) -> str | None:
    """Return the answer that leads; of both candidates, ``"tie"`` where that may be voted for; else none."""
    if len(leading) == 1:
        return leading[0]
    if case.sides and set(case.sides) <= set(leading) and "tie" in (case.answers or ()):
        return "tie"
    return None


def majority(case: Case, votes: Iterable[str | None], weights: Iterable[float] | None = None) -> str | None:
    """Return the answer with the most weight of votes; a missing vote weighs nothing."""
    votes = list(votes)
    shares = [1.0] * len(votes) if weights is None else list(weights)
    cast: dict[str, list[float]] = {}
    for vote, weight in zip(votes, shares, strict=True):
        if vote is not None and weight > 0:
            cast.setdefault(vote, []).append(weight)
    return settled(case, _leaders({answer: math.fsum(given) for answer, given in cast.items()}))


def ahead(case: Case, points: Mapping[str, float] | None) -> str | None:
    """Return the side with more points; equal points are a tie where that may be voted for."""
    return None if not points else settled(case, _leaders(points))


def _leaders(points: Mapping[str, float]) -> list[str]:
    # Sums of the same weights in another order may differ in their last bits.
    top = max(points.values(), default=0.0)
    return [name for name, value in points.items() if math.isclose(value, top, rel_tol=1e-12, abs_tol=1e-12)]
