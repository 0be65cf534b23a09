"""Pairs of score laws on which a claim about advocates is tried: every property is built in, none is filtered.

A law with a property is made from parts that have it: points that are raised one by one, quantile functions to
which a nondecreasing one is added, weights that move from a lower law to a higher one. Small whole numbers come
first, so that what a search finds shrinks to something readable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from d3stats.models.separation.laws import ContinuousLaw, DiscreteLaw, MaxLaw, MixtureLaw, ScoreLaw
from d3stats.theory.instances import dominance, spread
from d3stats.theory.instances.dice import Dice, drawn, some_law
from d3stats.theory.instances.shapes import Moved

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Advocates",
    "BestOf",
    "bounded_pairs",
    "ceiling_pairs",
    "describe",
    "dfr_laws",
    "dfr_pairs",
    "dispersive_pairs",
    "dominating_pairs",
    "excess_wealth_pairs",
    "laws",
    "lehmann_pairs",
    "pairs",
    "single_laws",
]


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


def _k(dice: Dice) -> int:
    return dice.whole(2, dice.pick(6, 12))


def laws() -> SearchStrategy[ScoreLaw]:
    """Return tables of small whole scores, uniform, exponential, normal, Weibull and Beta laws, and mixtures."""
    return drawn(some_law)


def single_laws() -> SearchStrategy[BestOf]:
    """Return one law with a number of advocates."""
    return drawn(lambda dice: BestOf(some_law(dice), _k(dice)))


def pairs() -> SearchStrategy[Advocates]:
    """Return two unrelated laws."""
    return _advocates(lambda dice: (some_law(dice), some_law(dice)))


def dfr_laws() -> SearchStrategy[BestOf]:
    """Return one law with a falling failure rate, maybe with an atom at 0, and a number of advocates."""
    return drawn(lambda dice: BestOf(spread.falling_rate(dice), _k(dice)))


def dominating_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of which the first score is stochastically larger, strictly somewhere.

    Tables whose points are raised one by one, laws that are moved up or stretched from their lower end, Beta and
    uniform laws ordered by their parameters, powers of one distribution function, and mixtures of such pairs.
    """
    return _advocates(dominance.ordered)


def lehmann_pairs() -> SearchStrategy[Advocates]:
    """Return pairs without ties of which one distribution function is a power of the other."""
    return _advocates(lambda dice: dominance.swapped(dice, dominance.powers(dice)))


def dispersive_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of which the first is larger in the dispersive order, wherever the two lie.

    Tables whose jumps grow, laws that are stretched (mixtures among them), exponential, normal and Beta laws and
    mixtures of these that are nowhere denser than a uniform one, a uniform law that is nowhere denser than a mixture
    with another, and the best of several scores with a falling failure rate against one.
    """
    return _advocates(spread.dispersed)


def excess_wealth_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of which the first is larger in the excess-wealth order.

    Those of :func:`dispersive_pairs`, tables whose jumps move up in level, and exponential laws against laws with
    a monotone failure rate and a mean on the right side of theirs.
    """
    return _advocates(spread.wealthier)


def dfr_pairs() -> SearchStrategy[Advocates]:
    """Return pairs with falling failure rates, E M1 - E M2 >= E G1 - E G2 for every k, and P(G1 >= G2) >= 1/2.

    Exponential and Weibull laws, mixtures of exponentials, such laws with an atom at 0, and a sure score behind one.
    """
    return _advocates(spread.decreasing_rates)


def bounded_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of bounded laws."""
    return _advocates(spread.bounded)


def ceiling_pairs() -> SearchStrategy[Advocates]:
    """Return pairs of bounded laws with a common essential supremum, not both of them points."""
    return _advocates(spread.common_ceiling)


def _advocates(build: Callable[[Dice], dominance.Pair]) -> SearchStrategy[Advocates]:
    return drawn(lambda dice: Advocates(*build(dice), _k(dice)))
