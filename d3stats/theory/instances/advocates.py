"""Pairs of score laws on which claims about advocates are tried: every property is built in, none is filtered.

A law with a property is made from parts that have it. Examples are points that are raised one by one, quantile
functions to which a nondecreasing one is added, and weights that move from a lower law to a higher one. Small whole
numbers come first, so that the finding of a search shrinks to a readable one.

The dispersive order is Q1 = Q2 + a nondecreasing function, with Q the quantile function. The excess wealth of a table
with jumps g_i of Q at the levels v_i is ``W(u) = sum of (1 - v_i) g_i over v_i >= u``. Moving a product
``(1 - v_i) g_i`` to a higher level therefore raises it everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from d3stats._arrays import Floats
from d3stats._check import RngLike
from d3stats.models.separation import laws as scores
from d3stats.models.separation.best_of_k import Separation, separation
from d3stats.models.separation.laws import ContinuousLaw, DiscreteLaw, MaxLaw, MixtureLaw, ScoreLaw
from d3stats.models.separation.orders import (
    dilation_order,
    dispersive_order,
    dominates,
    is_dfr,
)
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.draws import Dice, drawn, strategy

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "AHEAD",
    "BOUNDED",
    "CEILING",
    "DILATED",
    "DILATION",
    "DISPERSIVE",
    "DOMINANCE",
    "INDEPENDENT",
    "MEANS_PART",
    "POWERS",
    "SEVERAL",
    "Advocates",
    "BestOf",
    "Moved",
    "Shape",
    "bounded_pairs",
    "ceiling_pairs",
    "describe",
    "dfr_laws",
    "dfr_pairs",
    "dilation_pairs",
    "dispersive_pairs",
    "dominating_pairs",
    "laws",
    "lehmann_pairs",
    "pairs",
    "raised_tables",
    "single_laws",
    "wealthier_tables",
]

Pair = tuple[ScoreLaw, ScoreLaw]

_ROUNDING = 1e-9
"""Rounding of probabilities and, as a share of the scores' scale, of means."""


@dataclass(frozen=True, eq=False)
class Moved(ScoreLaw):
    """The law of start + scale * X, with scale > 0.

    Examples
    --------
    >>> law = Moved(scores.exponential(1), 2.0, 3.0)
    >>> law.mean, law.support
    (5.0, (2.0, inf))
    """

    law: ScoreLaw
    start: float
    scale: float

    def _back(self, x: ArrayLike) -> Floats:
        return np.asarray((np.asarray(x, dtype=np.float64) - self.start) / self.scale)

    def _there(self, x: ArrayLike) -> Floats:
        return np.asarray(self.start + self.scale * np.asarray(x, dtype=np.float64))

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf(self._back(x))

    def below(self, x: ArrayLike) -> Floats:
        return self.law.below(self._back(x))

    def sf(self, x: ArrayLike) -> Floats:
        return self.law.sf(self._back(x))

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.law.density(self._back(x)) / self.scale)

    def quantile(self, u: ArrayLike) -> Floats:
        return self._there(self.law.quantile(u))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return self._there(self.law.upper_quantile(u))

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        points, masses = self.law.atoms
        return self._there(points), masses

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.law.support
        return float(self._there(low)), float(self._there(high))

    @property
    def mean(self) -> float:
        return float(self._there(self.law.mean))

    def breakpoints(self) -> Floats:
        return np.unique(self._there(self.law.breakpoints()))

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self._there(self.law.sample(size, rng))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete

    def __repr__(self) -> str:
        return f"{self.start:g} + {self.scale:g} {self.law!r}"


@dataclass(frozen=True)
class Shape:
    """A continuous law up to place and scale: Z, of which the laws of start + scale * Z are made.

    The uniform and the Beta live on [0, 1], the exponential and the Weibull on [0, infinity).

    Attributes
    ----------
    kind : {"uniform", "exponential", "normal", "weibull", "beta"}
    a, b : float
        Shape of the Weibull; parameters of the Beta.
    """

    kind: str
    a: float = 1.0
    b: float = 1.0

    @property
    def singular(self) -> bool:
        """Whether the density is infinite at the lower end: such a law starts at 0, where floats are dense."""
        return self.kind in ("weibull", "beta") and self.a < 1

    def at(self, start: float, scale: float) -> ScoreLaw:
        """Return the law of start + scale * Z."""
        if self.kind == "uniform":
            return scores.uniform(start, start + scale)
        if self.kind == "normal":
            return scores.normal(start, scale)
        if self.kind == "beta":
            return _moved(scores.beta(self.a, self.b), start, scale)
        if self.kind == "exponential":
            return _moved(scores.exponential(scale), start, 1.0)
        return _moved(scores.weibull(self.a, scale), start, 1.0)

    @property
    def mean(self) -> float:
        """E Z."""
        return self.at(0.0, 1.0).mean

    @property
    def peak(self) -> float:
        """The greatest density of Z, infinite where it has no bound."""
        if self.singular or (self.kind == "beta" and self.b < 1):
            return math.inf
        mode = 0.0
        if self.kind == "beta" and self.a + self.b > 2:
            mode = min((self.a - 1) / (self.a + self.b - 2), 1.0)
        if self.kind == "weibull":
            mode = (1 - 1 / self.a) ** (1 / self.a)
        return float(self.at(0.0, 1.0).density(mode))


def _moved(law: ScoreLaw, start: float, scale: float) -> ScoreLaw:
    """Return the law of start + scale * X, and the law itself where nothing moves.

    Atoms are moved one by one: going back to them through a division would miss them by a rounding.
    """
    if start == 0 and scale == 1:
        return law
    if isinstance(law, DiscreteLaw):
        return DiscreteLaw(start + scale * law.points, law.masses)
    if isinstance(law, MixtureLaw):
        return MixtureLaw([_moved(part, start, scale) for part in law.laws], law.weights)
    if isinstance(law, MaxLaw):
        return MaxLaw(_moved(law.law, start, scale), law.k)
    return Moved(law, float(start), float(scale))


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

    Attributes
    ----------
    first, second : ScoreLaw
        The law of one advocate's score for either answer.
    k : int
        Advocates a side.

    Examples
    --------
    >>> print(Advocates(DiscreteLaw([1], [1]), DiscreteLaw([0, 1], [0.5, 0.5]), 2))
    1 against {0: 1/2, 1: 1/2}, k = 2
    >>> pair = Advocates(DiscreteLaw([1], [1]), DiscreteLaw([0, 1], [0.5, 0.5]), 2)
    >>> pair.gap_rise, list(pair.numbers())[:2]
    (-0.25, ['E|G1 - G2|', 'E G1 - E G2'])
    """

    first: ScoreLaw
    second: ScoreLaw
    k: int

    def __str__(self) -> str:
        return f"{describe(self.first)} against {describe(self.second)}, k = {self.k}"

    @property
    def separation(self) -> Separation:
        """The separation for one advocate and for k."""
        return _one_and_best(self)

    @property
    def gap_rise(self) -> float:
        """E|M1 - M2| - E|G1 - G2|, in points."""
        one, best = self.separation.expected_gap
        return float(best - one)

    @property
    def mean_gap_rise(self) -> float:
        """(E M1 - E M2) - (E G1 - E G2), in points."""
        one, best = self.separation.mean_gap
        return float(best - one)

    @property
    def ranking_rise(self) -> float:
        """P(M1 > M2) minus P(G1 > G2), with or without half of the ties, the larger of the two."""
        found = self.separation
        fair = found.prob_first + 0.5 * found.prob_tie
        return float(max(found.prob_first[1] - found.prob_first[0], fair[1] - fair[0]))

    def numbers(self) -> dict[str, float]:
        """Return all that two answers look like from one advocate and from the best of k."""
        found = self.separation
        numbers: dict[str, float] = {}
        for i, (one, two) in enumerate((("G1", "G2"), ("M1", "M2"))):
            numbers |= {
                f"E|{one} - {two}|": float(found.expected_gap[i]),
                f"E {one} - E {two}": float(found.mean_gap[i]),
                f"P({one} > {two})": float(found.prob_first[i]),
                f"P({one} = {two})": float(found.prob_tie[i]),
            }
        return numbers


@dataclass(frozen=True)
class BestOf:
    """One answer: the law of one advocate's score, and how many speak for it.

    Attributes
    ----------
    law : ScoreLaw
        The law of one advocate's score.
    k : int
        Number of advocates.

    Examples
    --------
    >>> BestOf(DiscreteLaw([0, 1], [0.5, 0.5]), 2)
    BestOf(law=DiscreteLaw({0: 0.5, 1: 0.5}), k=2)
    """

    law: ScoreLaw
    k: int

    def __str__(self) -> str:
        return f"best of {self.k} of {describe(self.law)}"


@lru_cache(maxsize=4)
def _one_and_best(instance: Advocates) -> Separation:
    # An assumption and a margin ask for the same.
    return separation(instance.first, instance.second, (1, instance.k))


def _dominates(instance: Advocates) -> bool:
    """Check dominance at the jumps and over a grid of levels, and that it is strict somewhere."""
    one, two = instance.first, instance.second
    cuts = np.union1d(one.breakpoints(), two.breakpoints())
    x = np.concatenate([cuts, 0.5 * (cuts[1:] + cuts[:-1])])
    strict = (one.sf(x) > two.sf(x)).any() or (one.below(x) < two.below(x)).any()
    return bool(strict and dominates(one, two).margin >= -_ROUNDING)


def _power(instance: Advocates) -> bool:
    """Compare log F1 / log F2 at levels of both laws, none of them a simple fraction that a law may be built on."""
    if instance.first.atoms[0].size or instance.second.atoms[0].size:
        return False
    levels = special.expit(np.linspace(-7.0, 7.0, 58))
    x = np.union1d(instance.first.quantile(levels), instance.second.quantile(levels))
    one, two = instance.first.cdf(x), instance.second.cdf(x)
    if min(one.min(), two.min()) <= 0 or max(one.max(), two.max()) >= 1:
        return False
    ratio = np.log(one) / np.log(two)
    return bool(np.ptp(ratio) <= 1e-6 * ratio[0])


def _is_bounded(law: ScoreLaw) -> bool:
    return bool(np.isfinite(law.support).all())


def _dilated(instance: Advocates) -> bool:
    return all(
        is_dfr(law).holds or dilation_order(MaxLaw(law, instance.k), law).holds
        for law in (instance.first, instance.second)
    )


def _means_part(instance: Advocates) -> bool:
    one, best = instance.separation.mean_gap
    return bool(best - one >= -_ROUNDING * (1 + abs(best)))


def _ahead(instance: Advocates) -> bool:
    return bool(instance.separation.prob_second[0] <= 0.5 + _ROUNDING)


INDEPENDENT = Assumption(
    "all scores are independent; those for one answer have one law, with a finite mean",
    lambda a: bool(np.isfinite(a.first.mean) and np.isfinite(a.second.mean)),
)
SEVERAL = Assumption("k >= 2", lambda a: a.k >= 2)
DOMINANCE = Assumption("P(G1 > x) >= P(G2 > x) for every x, strictly for some x", _dominates)
DILATION = Assumption(
    "G1 - E G1 is larger than G2 - E G2 in the convex order",
    lambda a: dilation_order(a.first, a.second).holds,
)
DISPERSIVE = Assumption(
    "Q1(v) - Q1(u) >= Q2(v) - Q2(u) for all levels u < v", lambda a: dispersive_order(a.first, a.second).holds
)
POWERS = Assumption("there are no ties, and F1 = F2^theta for some theta > 0", _power)
DILATED = Assumption("M_i - E M_i is larger than G_i - E G_i in the convex order, for both answers", _dilated)
MEANS_PART = Assumption("E M1 - E M2 >= E G1 - E G2", _means_part)
AHEAD = Assumption("P(G1 >= G2) >= 1/2", _ahead)
BOUNDED = Assumption("both scores are bounded", lambda a: _is_bounded(a.first) and _is_bounded(a.second))
CEILING = Assumption(
    "both scores have the same essential supremum, and are not both constant",
    lambda a: (
        a.first.support[1] == a.second.support[1]
        and (a.first.support[0] < a.first.support[1] or a.second.support[0] < a.second.support[1])
    ),
)


def _k(dice: Dice) -> int:
    return dice.whole(2, dice.pick(6, 12))


def _advocates(build: Callable[[Dice], Pair]) -> Callable[[], SearchStrategy[Advocates]]:
    """Turn a function that makes two laws into one that returns the strategy of such pairs, with a k."""
    return wraps(build)(lambda: drawn(lambda dice: Advocates(*build(dice), _k(dice))))


def laws() -> SearchStrategy[ScoreLaw]:
    """Return tables of small whole scores, uniform, exponential, normal, Weibull and Beta laws, and mixtures."""
    return drawn(_some_law)


@strategy
def single_laws(dice: Dice) -> BestOf:
    """Return one law with a number of advocates."""
    return BestOf(_some_law(dice), _k(dice))


@_advocates
def pairs(dice: Dice) -> Pair:
    """Return two unrelated laws."""
    return _some_law(dice), _some_law(dice)


@strategy
def dfr_laws(dice: Dice) -> BestOf:
    """Return one law with a falling failure rate, maybe with an atom at 0, and a number of advocates."""
    return BestOf(_falling_rate(dice), _k(dice))


@_advocates
def dominating_pairs(dice: Dice) -> Pair:
    """Return pairs of which the first score is stochastically larger, strictly somewhere.

    The pairs are tables whose points are raised one by one, or laws that are moved up or stretched from their lower
    end. Others are Beta and uniform laws ordered by their parameters, powers of one distribution function, and mixtures
    of such pairs.
    """
    simple = (raised_tables, _moved_up, _uniform_order, _beta_order, _powers)
    how = dice.whole(0, len(simple) + 1)
    if how < len(simple):
        return simple[how](dice)
    one, two = (dice.pick(*simple[:4])(dice) for _ in range(2))
    w = _weight(dice)
    if how == len(simple):
        return MixtureLaw([one[0], two[0]], [w, 1 - w]), MixtureLaw([one[1], two[1]], [w, 1 - w])
    # Weight moves from the lower law of one ordered pair to its upper one.
    less = w * _weight(dice)
    return MixtureLaw(one, [w, 1 - w]), MixtureLaw(one, [less, 1 - less])


@_advocates
def lehmann_pairs(dice: Dice) -> Pair:
    """Return pairs without ties of which one distribution function is a power of the other."""
    return _swapped(dice, _powers(dice))


@_advocates
def dispersive_pairs(dice: Dice) -> Pair:
    """Return pairs of which the first is larger in the dispersive order, wherever the two lie.

    The pairs are tables whose jumps grow, and laws that are stretched (mixtures among them). In others, an exponential,
    normal or Beta law, or a mixture of these, is nowhere denser than a uniform law, or a uniform law is nowhere denser
    than a mixture with another. In the last kind, the first is the best of several scores with a falling failure rate
    and the second is one such score.
    """
    return _dispersed(dice)


@_advocates
def dilation_pairs(dice: Dice) -> Pair:
    """Return pairs of which the first is larger in the dilation order, wherever the two lie.

    Tables of which some weight moved outward by equal steps; many of these are not larger in excess wealth. Tables
    whose jumps move up in level. Exponential laws against laws with a monotone failure rate and a mean on the right
    side of theirs. Pairs of :func:`dispersive_pairs`.
    """
    return dice.pick(spread_tables, wealthier_tables, _against_exponential, _dispersed)(dice)


@_advocates
def dfr_pairs(dice: Dice) -> Pair:
    """Return pairs with falling failure rates, E M1 - E M2 >= E G1 - E G2 for every k, and P(G1 >= G2) >= 1/2.

    Exponential and Weibull laws, mixtures of exponentials, such laws with an atom at 0, and a sure score behind one.
    """
    how = dice.whole(0, 3)
    if how == 3:
        # A sure score is its own maximum, and one up to the median of the other is behind it half of the time.
        law = _falling_rate(dice)
        return law, _table([float(law.quantile(0.5)) * dice.part(0, 6, 6)], [1])
    if how == 0:
        # Stretched from its lower end: larger in the dispersive order, and stochastically.
        law = _falling_rate(dice)
        return _moved(law, 0, dice.part(2, 6, 2)), law
    scale = dice.part(1, 4, 2)
    if how == 1:
        # s E against c + m E', s >= m: P(s E >= c + m E') = s / (s + m) exp(-c / s), for any c not too large.
        first = scale * dice.part(2, 6, 2)
        most = first * math.log(2 * first / (first + scale))
        return Shape("exponential").at(0, first), Shape("exponential").at(most * dice.part(0, 8, 9), scale)
    # y^c <= c y + 1 - c for c <= 1: a Weibull of shape c and scale >= m above (1 - c) m dominates the exponential
    # of mean m, and has the larger mean residual life.
    shape = _some_shape(dice, "weibull, falling")
    start = (1 - shape.a) * scale + dice.part(0, 2, 2)
    return shape.at(start, scale * dice.part(2, 4, 2)), Shape("exponential").at(0, scale)


@_advocates
def bounded_pairs(dice: Dice) -> Pair:
    """Return pairs of bounded laws."""
    return _below(dice, dice.pick(1, 2, 20)), _below(dice, dice.pick(1, 2, 20))


@_advocates
def ceiling_pairs(dice: Dice) -> Pair:
    """Return pairs of bounded laws with a common essential supremum, not both of them points."""
    ceiling = dice.pick(1, 2, 20)
    sure = dice.whole(0, 1) == 0
    first = _table([ceiling], [1]) if sure else _below(dice, ceiling)
    return _swapped(dice, (first, _below(dice, ceiling)))


def _table(points: Sequence[float], weights: Sequence[int]) -> DiscreteLaw:
    """Return the law with whole weights on points that may repeat, in any order.

    Examples
    --------
    >>> _table([1, 0, 1], [1, 2, 1])
    DiscreteLaw({0: 0.5, 1: 0.5})
    """
    total = sum(weights)
    heap: dict[float, int] = {}
    for x, w in zip(points, weights, strict=True):
        heap[float(x)] = heap.get(float(x), 0) + w
    at = sorted(heap)
    return DiscreteLaw(at, [heap[x] / total for x in at])


def _some_shape(dice: Dice, *kinds: str) -> Shape:
    """Return a shape of one of some kinds; "rising" and "falling" speak of the failure rate."""
    kind = dice.pick(*(kinds or ("uniform", "exponential", "normal", "weibull", "beta")))
    if kind == "weibull":
        return Shape(kind, dice.pick(2.0, 1.5, 3.0, 0.5, 0.75, dice.part(1, 6, 2)))
    if kind == "weibull, rising":
        return Shape("weibull", dice.part(2, 8, 2))
    if kind == "weibull, falling":
        return Shape("weibull", dice.part(2, 4, 4))
    if kind == "beta":
        return Shape(kind, dice.part(1, 12, 2), dice.part(2, 12, 2))
    if kind == "beta, rising":
        return Shape("beta", dice.part(2, 12, 2), dice.part(2, 12, 2))
    return Shape(kind)


def _placed(dice: Dice, shape: Shape) -> ScoreLaw:
    """Return the law of a shape at a whole number, or at 0 where it has to start there."""
    return shape.at(0 if shape.singular else dice.whole(0, 3), dice.part(1, 6, 2))


def _some_table(dice: Dice) -> ScoreLaw:
    """Return a law on 0 and 1, on 0 to 3, or on a rubric from 1 to 20."""
    top = dice.pick(1, 3, 20)
    n = dice.whole(1, 5)
    return _table(dice.wholes(n, 1 if top == 20 else 0, top), dice.wholes(n, 1, 6))


def _weight(dice: Dice) -> float:
    """Return a simple fraction strictly between 0 and 1, 1/2 first."""
    total = dice.whole(2, dice.pick(6, 60))
    return dice.whole(1, total - 1) / total


def _some_law(dice: Dice) -> ScoreLaw:
    """Return a table, a continuous law, or a mixture of two laws of which at most one is an atom."""
    # Mixtures are rarer: their quantiles are searched for, and cost ten times as much.
    how = dice.pick("table", "shape", "table", "mixture", "shape", "table", "shape")
    if how == "table":
        return _some_table(dice)
    if how == "shape":
        return _placed(dice, _some_shape(dice))
    w = _weight(dice)
    other = _table([dice.whole(0, 3)], [1]) if dice.whole(0, 1) == 0 else _placed(dice, _some_shape(dice))
    return MixtureLaw([_placed(dice, _some_shape(dice)), other], [w, 1 - w])


def _some_smooth(dice: Dice) -> ScoreLaw:
    """Return a law without atoms."""
    part = _placed(dice, _some_shape(dice))
    if dice.whole(0, 4) < 4:
        return part
    w = _weight(dice)
    return MixtureLaw([part, _placed(dice, _some_shape(dice))], [w, 1 - w])


def raised_tables(dice: Dice) -> Pair:
    """Return tables on one probability space, raised point by point: every dominating pair is made so."""
    top = dice.pick(1, 3, 20)
    low = 1 if top == 20 else 0
    n = dice.whole(1, 5)
    weights = dice.wholes(n, 1, 6)
    second = [dice.whole(low, top - 1), *dice.wholes(n - 1, low, top)]
    first = [dice.whole(second[0] + 1, top)] + [dice.whole(x, top) for x in second[1:]]
    return _table(first, weights), _table(second, weights)


def _moved_up(dice: Dice) -> Pair:
    shape = _some_shape(dice)
    start, scale = (0 if shape.singular else dice.whole(0, 2)), dice.part(1, 4, 2)
    further, wider = divmod(dice.whole(1, 8), 3)
    if shape.kind == "normal":
        return shape.at(start + max(further + wider, 1) / 2, scale), shape.at(start, scale)
    if shape.singular:
        further, wider = 0, max(further + wider, 1)
    return shape.at(start + further / 2, scale + wider / 2), shape.at(start, scale)


def _beta_order(dice: Dice) -> Pair:
    a, b = dice.part(1, 8, 2), dice.part(2, 8, 2)
    more, less = divmod(dice.whole(1, 24), 5)
    return Shape("beta", a + more / 2, b).at(0, 1), Shape("beta", a, b + less / 2).at(0, 1)


def _uniform_order(dice: Dice) -> Pair:
    low, high = 0, dice.whole(1, 4)
    up_low, up_high = dice.whole(0, 3), dice.whole(1, 4)
    ends = min(low + up_low / 2, high + up_high / 2 - 0.5), high + up_high / 2
    return Shape("uniform").at(ends[0], ends[1] - ends[0]), Shape("uniform").at(low, high - low)


def _powers(dice: Dice) -> Pair:
    base = Shape("uniform").at(0, 1) if dice.whole(0, 7) == 0 else _some_smooth(dice)
    n = dice.whole(1, 5)
    return _best(base, n + dice.whole(1, 5)), _best(base, n)


def _best(law: ScoreLaw, k: int) -> ScoreLaw:
    return law if k == 1 else MaxLaw(law, k)


def _swapped(dice: Dice, pair: Pair) -> Pair:
    return pair if dice.whole(0, 1) == 0 else (pair[1], pair[0])


def _jumps(dice: Dice) -> tuple[list[int], list[int], int]:
    """Return the weights of equal stretches of the level, jumps of the quantile between them, and a start."""
    n = dice.whole(2, 5)
    return dice.wholes(n, 1, 4), dice.wholes(n - 1, 0, 4), dice.whole(0, 3)


def _climb(start: float, jumps: list[float]) -> list[float]:
    points = [float(start)]
    for jump in jumps:
        points.append(points[-1] + jump)
    return points


def _wider_table(dice: Dice) -> Pair:
    weights, jumps, start = _jumps(dice)
    more = dice.wholes(len(jumps), 0, 3)
    first = _climb(dice.whole(0, 3), [g + d for g, d in zip(jumps, more, strict=True)])
    return _table(first, weights), _table(_climb(start, [float(g) for g in jumps]), weights)


def spread_tables(dice: Dice) -> Pair:
    """Return tables of which the first is the second with some weights split outward about their points, and moved."""
    n = dice.whole(1, 4)
    points, weights = dice.wholes(n, 0, 6), dice.wholes(n, 1, 4)
    law = [(float(x), 2 * w) for x, w in zip(points, weights, strict=True)]
    second = _table([x for x, _ in law], [w for _, w in law])
    for _ in range(dice.whole(0, 3)):
        i, step = dice.whole(0, len(law) - 1), dice.whole(1, 3)
        x, w = law[i]
        if w % 2 == 0:
            law[i : i + 1] = [(x - step, w // 2), (x + step, w // 2)]
    start = dice.whole(-3, 3)
    return _table([x + start for x, _ in law], [w for _, w in law]), second


def wealthier_tables(dice: Dice) -> Pair:
    """Return tables of which the first has jumps of the quantile moved to higher levels, or enlarged."""
    weights, jumps, start = _jumps(dice)
    above = [sum(weights[i + 1 :]) for i in range(len(jumps))]
    first = [float(g + dice.whole(0, 2)) for g in jumps]
    i = dice.whole(0, len(jumps) - 1)
    j = dice.whole(i, len(jumps) - 1)
    if i < j:
        taken = dice.whole(0, jumps[i])
        first[i] -= taken
        first[j] += taken * above[i] / above[j]
    return _table(_climb(dice.whole(0, 3), first), weights), _table(
        _climb(start, [float(g) for g in jumps]), weights
    )


def _stretched(dice: Dice) -> Pair:
    law = _some_law(dice) if dice.whole(0, 1) == 0 else _placed(dice, _some_shape(dice, "normal", "beta"))
    return _moved(law, 0, dice.part(2, 6, 2)), _moved(law, dice.whole(0, 2), 1)


def _thin(dice: Dice, width: float) -> ScoreLaw:
    """Return a law whose density is nowhere above 1 / width."""
    shape = _some_shape(dice, "exponential", "normal", "beta, rising")
    return shape.at(dice.whole(0, 3), width * dice.part(2, 6, 2) * shape.peak * (1 + 1e-12))


def _wider_family(dice: Dice) -> Pair:
    # A density that never exceeds 1/w is more dispersed than the uniform of width w, whose density is 1/w.
    width = dice.part(1, 4, 2)
    return _thin(dice, width), Shape("uniform").at(dice.whole(0, 3), width)


def _thin_mixture(dice: Dice) -> Pair:
    # A mixture of densities that never exceed 1/w is one.
    width, w = dice.part(1, 4, 2), _weight(dice)
    parts = [_thin(dice, width), _thin(dice, width)]
    return MixtureLaw(parts, [w, 1 - w]), Shape("uniform").at(dice.whole(0, 3), width)


def _lumpy(dice: Dice) -> Pair:
    # A share w of the uniform on [0, s] keeps the density of a mixture on [0, s] at w/s or above, so that the
    # uniform of width s/w, whose density is w/s, is more dispersed.
    w, s = _weight(dice), dice.part(1, 4, 2)
    first = Shape("uniform").at(dice.whole(0, 3), dice.part(2, 4, 2) * s / w * (1 + 1e-12))
    other = _some_shape(dice, "beta, rising").at(0, s)
    return first, MixtureLaw([Shape("uniform").at(0, s), other], [w, 1 - w])


def _best_of_decreasing(dice: Dice) -> Pair:
    law = _falling_rate(dice)
    return _moved(MaxLaw(law, dice.whole(2, 4)), 0, dice.part(2, 4, 2)), law


def _dispersed(dice: Dice) -> Pair:
    """Return a pair of which the first is larger in the dispersive order."""
    # Mixtures cost most, and are rarer.
    often = (_wider_table, _stretched, _wider_family, _best_of_decreasing)
    return dice.pick(*often, _thin_mixture, *often, _lumpy)(dice)


def _against_exponential(dice: Dice) -> Pair:
    # The mean residual life of a law with rising failure rate is at most its mean, that of the exponential is its
    # mean everywhere, that of a falling rate at least its mean; and W(u) / (1 - u) is the mean residual life.
    start, other, factor = dice.whole(0, 3), dice.whole(0, 3), dice.part(4, 8, 4)
    if dice.whole(0, 1) == 0:
        rising = _some_shape(dice, "uniform", "weibull, rising", "beta, rising")
        scale = dice.part(1, 4, 2)
        mean = scale * rising.mean * factor * (1 + 1e-12)
        return Shape("exponential").at(start, mean), rising.at(other, scale)
    falling = _falling_rate(dice)
    return falling, Shape("exponential").at(other, falling.mean / factor * (1 - 1e-12))


def _falling_rate(dice: Dice) -> ScoreLaw:
    """Return a law on [0, infinity) whose failure rate falls: maybe with an atom at 0, where scores tie."""
    # Ends are drawn more often than what lies between: mixtures, which cost more, lie there.
    how = dice.pick(
        "exponential", "weibull", "exponential", "mixture", "weibull", "atom", "weibull", "exponential"
    )
    if how == "exponential":
        return Shape("exponential").at(0, dice.part(1, 4, 2))
    if how == "weibull":
        return _some_shape(dice, "weibull, falling").at(0, dice.part(1, 4, 2))
    w = _weight(dice)
    one, two = (Shape("exponential").at(0, dice.part(1, 6, 2)) for _ in range(2))
    if how == "mixture":
        return MixtureLaw([one, two], [w, 1 - w])
    return MixtureLaw([_table([0], [1]), one], [w, 1 - w])


def _below(dice: Dice, ceiling: int) -> ScoreLaw:
    """Return a bounded law with the essential supremum `ceiling`, not a point."""
    how = dice.pick("table", "uniform", "beta", "mixture", "table", "beta", "uniform")
    if how == "table":
        n = dice.whole(1, 4)
        low = dice.wholes(n, 0, ceiling - 1)
        return _table([*low, ceiling], dice.wholes(n + 1, 1, 6))
    width = dice.part(1, 2 * ceiling, 2)
    if how == "uniform":
        return Shape("uniform").at(ceiling - width, width)
    if how == "beta":
        return Shape("beta", dice.part(2, 6, 2), dice.part(2, 6, 2)).at(ceiling - width, width)
    w = _weight(dice)
    atom = _table([dice.whole(0, ceiling)], [1])
    return MixtureLaw([atom, Shape("uniform").at(ceiling - width, width)], [w, 1 - w])
