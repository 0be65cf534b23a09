"""Stochastic orders of two laws of a score, checked with margins: dominance, dispersion, excess wealth, dilation.

A check takes two laws in any form that :func:`~d3stats.models.separation.laws.as_law` reads, and returns the least
slack of the inequality that defines the order, and where. Pairs of discrete laws are checked at every corner, so
the answer is exact. Otherwise the inequality is evaluated at 113 levels whose log odds run from -28 to 28 (u from
7e-13 to 1 - 7e-13), on both sides of every jump, and 16 times closer around the least slack, twice. Such a grid can
refute an order but not prove it: ``exact`` is then false, and what happens beyond the last level is not seen.

References
----------
Shaked and Shanthikumar (2007), Stochastic Orders, Springer: chapters 1 (usual order), 3.A (dilation), 3.B
(dispersive) and 3.C (excess wealth).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from d3stats._arrays import Floats
from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.excess import StopLoss, gain_of_max, gini_mean_difference, logit_quantile
from d3stats.models.separation.laws import MaxLaw, MixtureLaw, ScoreLaw, as_count, as_law, laws_with_means

__all__ = [
    "GapGrowth",
    "OrderCheck",
    "ceiling_limit",
    "dilation_order",
    "dispersive_order",
    "dominates",
    "excess_wealth_order",
    "gain_condition",
    "gap_growth_conditions",
    "gini_condition",
    "is_dfr",
]


GRID = np.linspace(-28.0, 28.0, 113)
"""Log odds of the levels at which continuous laws are compared: u from 7e-13 to 1 - 7e-13, a factor 1.65 apart."""
GRID.setflags(write=False)
_ZOOM = np.linspace(0.0, 1.0, 17)
_SAME = 1e-12
"""Levels of two step functions closer than this are one level: sums of probabilities are rounded."""
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class OrderCheck:
    """Whether an inequality holds everywhere, and where it comes closest to failing.

    Attributes
    ----------
    holds : bool
        Whether `margin` is at least ``-tolerance``.
    margin : float
        Least slack of the inequality, in the units that the check names. Most orders hold with equality at the
        ends, so that a margin of 0 is the most one can see; a negative one says by how much the order fails.
    at : float or None
        Where the slack is least; None for a check of one number.
    tolerance : float
        What rounding and quadrature may take from the margin.
    exact : bool
        Whether every place was looked at: step functions at their corners, or one number from sums. A grid or
        quadrature can refute an inequality but not prove it.

    Examples
    --------
    >>> bool(OrderCheck(holds=True, margin=0.0, at=0.5, tolerance=1e-12, exact=True))
    True
    """

    holds: bool
    margin: float
    at: float | None
    tolerance: float
    exact: bool

    def __bool__(self) -> bool:
        return self.holds


def judged(margin: float, at: float | None, tolerance: float, exact: bool) -> OrderCheck:
    """Judge a margin by its tolerance."""
    return OrderCheck(bool(margin >= -tolerance), float(margin), at, float(tolerance), exact)


def least_slack(slack: Callable[[Floats], Floats], points: Floats, zooms: int = 2) -> tuple[float, float]:
    """Return the least value over ascending points and where, looked at 16 times closer around it `zooms` times."""
    margin, at = np.inf, np.nan
    for zoom in range(zooms + 1):
        values = slack(points)
        i = int(np.argmin(values))
        if zoom == 0 or values[i] < margin:
            margin, at = float(values[i]), float(points[i])
        low, high = points[max(i - 1, 0)], points[min(i + 1, points.size - 1)]
        points = low + (high - low) * _ZOOM
    return margin, at


def deepest_fall(values: Floats) -> tuple[float, int]:
    """Return the least of values[j] - values[i] over i <= j, and its j: 0 for a sequence that never falls."""
    with np.errstate(invalid="ignore"):
        falls = values - np.maximum.accumulate(values)
    j = int(np.argmin(falls))
    return float(falls[j]), j


def level_grid(*laws: ScoreLaw) -> Floats:
    """Return the grid of log odds, with both sides of every level at which a law jumps or leaves a gap."""
    more = []
    for law in laws:
        x = law.corners
        with np.errstate(divide="ignore"):
            up_to = np.log(law.cdf(x)) - np.log(law.sf(x))
            under = np.log(law.below(x)) - np.log1p(-law.below(x))
        found = np.concatenate([up_to, under])
        found = found[np.abs(found) < -GRID[0]]
        more += [found - 1e-9, found + 1e-9]
    return np.unique(np.concatenate([GRID, *more]))


def score_grid(*laws: ScoreLaw) -> Floats:
    """Return scores spread over laws as the grid spreads over levels, finite and ascending."""
    # Quantiles of the parts are as dense, and need no search.
    x = np.unique(np.concatenate([logit_quantile(part, GRID) for law in laws for part in _parts(law)]))
    return np.asarray(x[np.isfinite(x)])


def rounding_error(one: ScoreLaw, two: ScoreLaw) -> float:
    """Return what rounding may take from a difference of two scores, in points: some ulps of a usual score."""
    parts = (*_parts(one), *_parts(two))
    return 256 * _EPS * max(float(np.abs(law.quantile([0.001, 0.5, 0.999])).max()) for law in parts)


def _parts(law: ScoreLaw) -> list[ScoreLaw]:
    """Return the laws that mixtures and maxima are made of."""
    if isinstance(law, MaxLaw):
        return _parts(law.law)
    return [part for each in law.laws for part in _parts(each)] if isinstance(law, MixtureLaw) else [law]


def _quantile_steps(one: ScoreLaw, two: ScoreLaw) -> tuple[Floats, Floats, Floats]:
    """Return the levels at which a quantile function of two discrete laws steps, and either function from there on."""
    points = one.atoms[0], two.atoms[0]
    levels = one.cdf(points[0])[:-1], two.cdf(points[1])[:-1]
    ends = np.unique(np.concatenate([[0.0, 1.0], *levels]))
    width = np.diff(ends)
    kept = width > _SAME
    u = ends[:-1][kept]
    middle = u + 0.5 * width[kept]
    first, second = (x[np.searchsorted(v, middle, side="left")] for x, v in zip(points, levels, strict=True))
    return u, first, second


def dominates(first: Any, second: Any) -> OrderCheck:
    """Check first-order stochastic dominance: P(G1 > x) >= P(G2 > x) for every x.

    The margin is a probability; `at` is a score. Unless both laws are discrete the margin is at most 0: survival
    functions may cross beyond any grid, where both are all but 0 or 1.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> dominates(uniform(0.5, 1), uniform()).holds
    True
    >>> dominates({1: 0.5, 20: 0.5}, {10: 1})
    OrderCheck(holds=False, margin=-0.5, at=1.0, tolerance=1e-12, exact=True)
    """
    one, two = as_law(first), as_law(second)
    exact = one.is_discrete and two.is_discrete
    jumps = np.union1d(one.corners, two.corners)

    # Between jumps and just before one: P(X >= x), since a grid never hits the left side of an atom.
    both = np.minimum(one.sf(jumps) - two.sf(jumps), two.below(jumps) - one.below(jumps))
    found = [(float(both[i]), float(jumps[i])) for i in ([int(np.argmin(both))] if jumps.size else [])]
    if not exact:
        found.append(least_slack(lambda x: np.asarray(one.sf(x) - two.sf(x)), score_grid(one, two)))
    margin, at = min(found)
    return judged(margin if exact else min(margin, 0.0), at, 1e-12, exact)


def excess_wealth_order(first: Any, second: Any) -> OrderCheck:
    """Check the excess-wealth order: E (G1 - Q1(u))^+ >= E (G2 - Q2(u))^+ for every u in (0, 1), Q the quantiles.

    If the order holds, the mean of the best of k gains at least as much for the first law as for the second, for every
    k: ``E M1 - E M2 >= E G1 - E G2`` (see :func:`~d3stats.models.separation.excess.gain_of_max`). Dominance is not
    needed.

    The margin is in points; `at` is a level u, for discrete laws the left end of a piece, which is the limit from the
    right. A law without a finite mean is refused.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> from d3stats.models.separation.laws import exponential, uniform
    >>> excess_wealth_order(exponential(2), exponential(1)).holds
    True
    >>> found = excess_wealth_order(uniform(0.5, 1), uniform())
    >>> found.holds, round(found.margin, 6)
    (False, -0.25)
    """
    one, two = laws_with_means(first, second)
    wealth = StopLoss(one), StopLoss(two)
    if one.is_discrete and two.is_discrete:
        u, ones, twos = _quantile_steps(one, two)
        slack = wealth[0](ones) - wealth[1](twos)
        i = int(np.argmin(slack))
        return judged(float(slack[i]), float(u[i]), rounding_error(one, two), True)

    def at_level(z: Floats) -> Floats:
        return np.asarray(wealth[0](logit_quantile(one, z)) - wealth[1](logit_quantile(two, z)))

    margin, at = least_slack(at_level, level_grid(one, two))
    return judged(margin, float(special.expit(at)), _allowed(wealth), False)


def dispersive_order(first: Any, second: Any) -> OrderCheck:
    """Check the dispersive order of the quantile functions: Q1(v) - Q1(u) >= Q2(v) - Q2(u) for all u < v.

    Equivalently the difference of the quantile functions never falls. It implies the excess-wealth order, and
    that E M1 - E M2 grows with k at every step.

    The margin is the deepest fall of Q1 - Q2, in points; `at` is the level v at its bottom.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> from d3stats.models.separation.laws import normal
    >>> dispersive_order(normal(0, 2), normal(5, 1)).holds
    True
    >>> found = dispersive_order({0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75})
    >>> found.holds, found.margin, found.at
    (False, -1.0, 0.25)
    """
    one, two = as_law(first), as_law(second)
    if one.is_discrete and two.is_discrete:
        u, ones, twos = _quantile_steps(one, two)
        margin, j = deepest_fall(ones - twos)
        return judged(margin, float(u[j]), rounding_error(one, two), True)
    z = level_grid(one, two)
    ones, twos = logit_quantile(one, z), logit_quantile(two, z)
    margin, j = deepest_fall(ones - twos)
    middle = np.abs(z) < 4
    spread = max(np.ptp(ones[middle]), np.ptp(twos[middle]))
    # Quantiles in the tails are as wide as they are far, and rounded likewise.
    allowed = 1e-11 * spread + 64 * _EPS * max(np.abs(ones).max(), np.abs(twos).max())
    return judged(margin, float(special.expit(z[j])), allowed, False)


def dilation_order(first: Any, second: Any) -> OrderCheck:
    """Check the dilation order: the convex order of the laws minus their means.

    E (G1 - E G1 - t)^+ >= E (G2 - E G2 - t)^+ for every t. The excess-wealth order implies it.

    The margin is in points; `at` is t, a score minus its mean. A law without a finite mean is refused.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> dilation_order({0: 0.5, 2: 0.5}, {5: 0.5, 6: 0.5}).holds
    True

    The best of two coins reaches no further above its mean than one coin:

    >>> found = dilation_order({0: 0.25, 1: 0.75}, {0: 0.5, 1: 0.5})
    >>> found.holds, found.margin, found.at
    (False, -0.125, 0.25)
    """
    one, two = laws_with_means(first, second)
    wealth = StopLoss(one), StopLoss(two)
    means = one.mean, two.mean

    def slack(t: Floats) -> Floats:
        return np.asarray(wealth[0](t + means[0]) - wealth[1](t + means[1]))

    if one.is_discrete and two.is_discrete:
        t = np.union1d(one.atoms[0] - means[0], two.atoms[0] - means[1])
        margin, at = least_slack(slack, t, zooms=0)
        return judged(margin, at, rounding_error(one, two), True)
    # Corners are where a survival function bends, so that the difference may be least there.
    own, other = (np.union1d(score_grid(law), law.corners) for law in (one, two))
    margin, at = least_slack(slack, np.union1d(own - means[0], other - means[1]))
    return judged(margin, at, _allowed(wealth), False)


def is_dfr(law: Any) -> OrderCheck:
    """Check that the failure rate f/S decreases: the log of the survival function is convex on the support.

    Then M, the best of k, is larger than one score in the dispersive order, and, where the law has a finite mean,
    in excess wealth and dilation. The margin is the least of log rate(x) - log rate(y) over x < y, without unit; `at`
    is that y.

    One atom at the lower end of the support is allowed (Barlow and Proschan 1975). Any other atom, and any upper end
    of the support, makes the rate infinite there: the margin is -inf. So no discrete law and no score with a ceiling
    is DFR.

    Parameters
    ----------
    law : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The law of one score.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform, weibull
    >>> is_dfr(weibull(0.7, 2)).holds, is_dfr(weibull(1.2, 2)).holds, is_dfr(uniform()).margin
    (True, False, -inf)
    """
    one = as_law(law)
    low, high = one.support
    jumps = one.atoms[0]
    if np.isfinite(high) or (jumps.size and (jumps.size > 1 or jumps[0] > low)) or not np.isfinite(low):
        at = high if np.isfinite(high) else (float(jumps[-1]) if jumps.size else low)
        return judged(-np.inf, at, 1e-9, True)
    # From the lower end on, so that a gap between an atom there and the next score is seen: its rate is 0.
    x = np.union1d(low, score_grid(one))
    x = np.unique(np.concatenate([x, 0.5 * (x[1:] + x[:-1])]))
    x = x[x > low]
    with np.errstate(divide="ignore"):
        rate = np.log(one.density(x)) - np.log(one.sf(x))
    gap = np.flatnonzero(np.isneginf(rate))
    if gap.size:
        return judged(-np.inf, float(x[gap[0]]), 1e-9, True)
    margin, j = deepest_fall(-rate)
    return judged(margin, float(x[j]), 1e-9, False)


def _allowed(wealth: tuple[StopLoss, StopLoss]) -> float:
    """Return what quadrature and rounding may take from a difference of two excesses, in points."""
    one, two = wealth
    usual = float(max(each(each.middle) for each in wealth))
    return 1e-10 * usual + rounding_error(one.law, two.law) + one.error + two.error


@dataclass(frozen=True)
class GapGrowth:
    """Three sufficient conditions for E abs(M1 - M2) >= E abs(G1 - G2), checked, and that inequality itself.

    Attributes
    ----------
    spread : OrderCheck
        (i) The best of k is above one score in the dilation order, for both answers; the lesser margin.
    mean_gap : OrderCheck
        (ii) E M1 - E M2 >= E G1 - E G2; the margin in points.
    ahead : OrderCheck
        (iii) P(G1 >= G2) >= 1/2, ties in full; the margin is a probability.
    conclusion : OrderCheck
        E abs(M1 - M2) - E abs(G1 - G2), in points.
    prob_first, prob_tie : float
        P(G1 > G2) and P(G1 = G2), for readers of stronger forms of (iii).

    Examples
    --------
    >>> from d3stats.models.separation.laws import exponential
    >>> found = gap_growth_conditions(exponential(2), exponential(1), 3)
    >>> found.promised, found.spread.holds, found.mean_gap.holds, found.ahead.holds
    (True, True, True, True)
    >>> round(found.prob_first, 4), round(found.prob_tie, 4)
    (0.6667, 0.0)
    """

    spread: OrderCheck
    mean_gap: OrderCheck
    ahead: OrderCheck
    conclusion: OrderCheck
    prob_first: float
    prob_tie: float

    @property
    def promised(self) -> bool:
        """Whether all three conditions hold, so that the conclusion must."""
        return self.spread.holds and self.mean_gap.holds and self.ahead.holds


def gain_condition(first: Any, second: Any, k: int) -> OrderCheck:
    """Check that the mean of the best of k exceeds that of one by at least as much for the first law as for the second.

    The condition is the same as ``E M1 - E M2 >= E G1 - E G2``, and the same as an integral of
    ``(Q1 - Q2)(k u^(k-1) - 1)`` that is >= 0. The margin is ``(E M1 - E M2) - (E G1 - E G2)``, in points. A law without
    a finite mean is refused.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.
    k : int
        Advocates a side.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> round(gain_condition(uniform(0.5, 1), uniform(), 2).margin, 6)
    -0.083333
    """
    one, two = laws_with_means(first, second)
    count = as_count(k)
    margin = float(gain_of_max(one, count)[0] - gain_of_max(two, count)[0])
    return _number(margin, one, two)


def gini_condition(first: Any, second: Any) -> OrderCheck:
    """Check that the Gini mean difference of the first law is at least that of the second.

    The condition decides the mean gap at k = 2, and says nothing about other k. The margin is the difference of the
    two, in points.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    OrderCheck

    Examples
    --------
    >>> gini_condition({0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75}).margin
    0.125
    """
    one, two = laws_with_means(first, second)
    return _number(gini_mean_difference(one) - gini_mean_difference(two), one, two)


def gap_growth_conditions(first: Any, second: Any, k: int) -> GapGrowth:
    """Check the three conditions under which k advocates a side widen the expected absolute gap.

    A law without a finite mean is refused.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.
    k : int
        Advocates a side.

    Returns
    -------
    GapGrowth

    Notes
    -----
    Proof. By (i) M1 - M2 minus its mean is above G1 - G2 minus its mean in the convex order. Therefore
    ``E abs(M1 - M2) >= f(E M1 - E M2)`` with ``f(d) = E abs(G1 - G2 - E G1 + E G2 + d)``. The function f is convex, and
    its right derivative at ``d = E G1 - E G2`` is ``P(G1 >= G2) - P(G1 < G2)``. If this is not negative (iii), f does
    not fall beyond that d, and (ii) places ``E M1 - E M2`` there.

    Condition (iii) cannot be weakened within the proof, because f falls at first when ``P(G1 >= G2) < 1/2``. Condition
    (i) fails for k >= 2 and every score with a ceiling, except a point mass. The ceiling is the same for the best of k,
    whose mean is greater, so the best of k reaches less far above its mean. With a ceiling, see :func:`ceiling_limit`.

    Examples
    --------
    >>> from d3stats.models.separation.laws import exponential, uniform
    >>> found = gap_growth_conditions(exponential(2), exponential(1), 3)
    >>> found.promised, round(found.conclusion.margin, 6)
    (True, 0.688889)
    >>> found = gap_growth_conditions(uniform(0.5, 1), uniform(), 3)
    >>> found.spread.holds, found.mean_gap.holds, found.ahead.holds, round(found.conclusion.margin, 6)
    (False, False, True, -0.14494)
    """
    one, two = laws_with_means(first, second)
    count = as_count(k)
    each = [dilation_order(MaxLaw(law, count), law) for law in (one, two)]
    found = separation(one, two, [1, count])
    exact, grown = found.method == "sum", float(found.expected_gap[1] - found.expected_gap[0])
    ahead, tie = float(found.prob_first[0]), float(found.prob_tie[0])
    return GapGrowth(
        spread=min(each, key=lambda check: (check.holds, check.margin)),
        mean_gap=gain_condition(one, two, count),
        ahead=judged(ahead + tie - 0.5, None, max(1e-12, float(found.error[0])), exact),
        conclusion=judged(grown, None, float(found.error.sum()), exact),
        prob_first=ahead,
        prob_tie=tie,
    )


def ceiling_limit(first: Any, second: Any) -> float:
    """Return what E abs(M1 - M2) tends to as k grows: the distance of the two ceilings, in points.

    A score without a ceiling or a finite mean is refused; a floor is not needed.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.

    Returns
    -------
    float
        In points.

    Notes
    -----
    abs(M1 - M2) differs from the distance of the ceilings by at most the two distances M_i to its ceiling, which
    fall to zero in the mean (dominated convergence). With a common ceiling the gap vanishes, so it cannot have
    grown for all large k.

    Examples
    --------
    >>> rubric = {score: 0.05 for score in range(1, 21)}
    >>> ceiling_limit(rubric, {1: 0.9, 20: 0.1})
    0.0
    """
    one, two = laws_with_means(first, second)
    for name, law in (("first", one), ("second", two)):
        if not np.isfinite(law.support[1]):
            raise ValueError(
                f"{name} must have an upper bound; got {law!r}, whose scores are unbounded above"
            )
    return abs(one.support[1] - two.support[1])


def _number(margin: float, one: ScoreLaw, two: ScoreLaw) -> OrderCheck:
    exact = one.is_discrete and two.is_discrete
    # Quadrature is good to about 1e-12 of the size of a score, rounding to some ulps.
    return judged(margin, None, rounding_error(one, two) * (1 if exact else 200), exact)
