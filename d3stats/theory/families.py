"""Pairs of score laws on which a claim about advocates is tried: every property is built in, none is filtered.

A law with a property is made from parts that have it: points that are raised one by one, quantile functions to
which a nondecreasing one is added, weights that move from a lower law to a higher one. Small whole numbers come
first, so that what a search finds shrinks to something readable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, TypeVar

from d3stats.models.score_law import ContinuousLaw, DiscreteLaw, MaxLaw, MixtureLaw, ScoreLaw
from d3stats.theory._shapes import Moved, Shape, moved

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = [
    "Advocates",
    "BestOf",
    "Dice",
    "ceiling_pairs",
    "bounded_pairs",
    "describe",
    "dfr_pairs",
    "dispersive_pairs",
    "dominating_pairs",
    "drawn",
    "excess_wealth_pairs",
    "laws",
    "lehmann_pairs",
    "pairs",
    "single_laws",
    "table",
]

T = TypeVar("T")


def describe(law: ScoreLaw) -> str:
    """Return a law in few characters; the probabilities of a small table as fractions.

    Examples
    --------
    >>> describe(DiscreteLaw([0, 1], [1 / 3, 2 / 3])), describe(DiscreteLaw([1], [1]))
    ('{0: 1/3, 1: 2/3}', '1')
    """
    if isinstance(law, DiscreteLaw):
        if law.points.size == 1:
            return f"{law.points[0]:g}"
        shares = [Fraction(float(p)).limit_denominator(9999) for p in law.masses]
        return "{" + ", ".join(f"{x:g}: {p}" for x, p in zip(law.points, shares, strict=True)) + "}"
    if isinstance(law, MaxLaw):
        return f"best of {law.k} of {describe(law.law)}"
    if isinstance(law, Moved):
        return f"{law.start:g} + {law.scale:g} {describe(law.law)}"
    if isinstance(law, MixtureLaw):
        parts = zip(law.weights, law.laws, strict=True)
        return " + ".join(f"{w:.3g} of ({describe(part)})" for w, part in parts)
    text = repr(law)
    return text[len("ContinuousLaw(") : -1] if isinstance(law, ContinuousLaw) else text


@dataclass(frozen=True)
class Advocates:
    """Two answers, the law of one advocate's score for each, and how many advocates speak for each.

    Examples
    --------
    >>> print(Advocates(DiscreteLaw([1], [1]), DiscreteLaw([0, 1], [0.5, 0.5]), 2))
    1 against {0: 1/2, 1: 1/2}, k = 2
    """

    first: ScoreLaw
    second: ScoreLaw
    k: int

    def __str__(self) -> str:
        return f"{describe(self.first)} against {describe(self.second)}, k = {self.k}"


@dataclass(frozen=True)
class BestOf:
    """One answer: the law of one advocate's score, and how many speak for it."""

    law: ScoreLaw
    k: int

    def __str__(self) -> str:
        return f"best of {self.k} of {describe(self.law)}"


def _advocates(dice: Dice) -> int:
    return dice.whole(2, 6)


def laws() -> SearchStrategy[ScoreLaw]:
    """Return tables of small whole scores, uniform, exponential, normal, Weibull and Beta laws, and mixtures."""
    return drawn(some_law)


def single_laws() -> SearchStrategy[BestOf]:
    """Return one law with a number of advocates."""
    return drawn(lambda dice: BestOf(some_law(dice), _advocates(dice)))


def pairs() -> SearchStrategy[Advocates]:
    """Return two unrelated laws."""
    return drawn(lambda dice: Advocates(some_law(dice), some_law(dice), _advocates(dice)))


def dominating_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of which the first score is stochastically larger, strictly somewhere.

    Tables whose points are raised one by one, laws that are moved up or stretched from their lower end, Beta and
    uniform laws ordered by their parameters, powers of one distribution function, and mixtures of such pairs.
    """
    return drawn(lambda dice: Advocates(*ordered(dice), _advocates(dice)))


def lehmann_pairs() -> SearchStrategy[Advocates]:
    """Return pairs without ties of which one distribution function is a power of the other."""
    return drawn(lambda dice: Advocates(*swapped(dice, powers(dice)), _advocates(dice)))
