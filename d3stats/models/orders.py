"""Which of two laws of a score spreads more, in the sense that advocates can use? Orders checked with margins.

A check returns the least slack of the inequality that defines the order, and where. Pairs of discrete laws are
checked at every corner, so the answer is exact. Otherwise the inequality is evaluated at 113 levels whose log
odds run from -28 to 28 (u from 7e-13 to 1 - 7e-13), on both sides of every jump, and 16 times closer around the
least slack, twice. Such a grid can refute an order but not prove it: ``exact`` is then false, and what happens
beyond the last level is not seen.

What the orders say about the gap between two panels of advocates is in :mod:`d3stats.models.gap_growth`.

References
----------
Shaked and Shanthikumar (2007), Stochastic Orders, Springer: chapters 1 (usual order), 3.A (dilation), 3.B
(dispersive) and 3.C (excess wealth).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.scores import as_law
from d3stats.models.scores.slack import (
    OrderCheck,
    Steps,
    drop,
    least,
    logits,
    places,
    rounding,
    scale,
    verdict,
    with_means,
)
from d3stats.models.scores.stop_loss import StopLoss, corners, logit_quantile

__all__ = [
    "OrderCheck",
    "dilation_order",
    "dispersive_order",
    "dominates",
    "excess_wealth_order",
    "is_dfr",
]

Floats = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)


def dominates(first: Any, second: Any) -> OrderCheck:
    """Check first-order stochastic dominance: P(G1 > x) >= P(G2 > x) for every x.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample

    Returns
    -------
    OrderCheck
        The margin is a probability; `at` is a score. Unless both laws are discrete it is at most 0: survival
        functions may cross beyond any grid, where both are all but 0 or 1.

    Examples
    --------
    >>> from d3stats.models.scores import uniform
    >>> dominates(uniform(0.5, 1), uniform()).holds
    True
    >>> dominates({1: 0.5, 20: 0.5}, {10: 1})
    OrderCheck(holds=False, margin=-0.5, at=1.0, tolerance=1e-12, exact=True)
    """
    one, two = as_law(first), as_law(second)
    exact = one.is_discrete and two.is_discrete
    jumps = np.union1d(corners(one), corners(two))
    # Between jumps and just before one: P(X >= x), since a grid never hits the left side of an atom.
    over = one.sf(jumps) - two.sf(jumps)
    before = two.below(jumps) - one.below(jumps)
    both = np.minimum(over, before)
    found = [(float(both[i]), float(jumps[i])) for i in ([int(np.argmin(both))] if jumps.size else [])]
    if not exact:
        found.append(least(lambda x: np.asarray(one.sf(x) - two.sf(x)), places(one, two)))
    margin, at = min(found)
    return verdict(margin if exact else min(margin, 0.0), at, 1e-12, exact)


def excess_wealth_order(first: Any, second: Any) -> OrderCheck:
    """Check the excess-wealth order: W1(u) >= W2(u) for every u in (0, 1).

    If it holds, the mean of the best of k gains at least as much for the first law as for the second, for every
    k: E M1 - E M2 >= E G1 - E G2 (see :func:`~d3stats.models.excess.gain_of_max`). Dominance is not needed.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample

    Returns
    -------
    OrderCheck
        The margin is in points; `at` is a level u. For discrete laws the left end of a piece, which is the limit
        from the right.

    Raises
    ------
    ValueError
        When a law has no finite mean.

    Examples
    --------
    >>> from d3stats.models.scores import exponential, uniform
    >>> excess_wealth_order(exponential(2), exponential(1)).holds
    True
    >>> found = excess_wealth_order(uniform(0.5, 1), uniform())
    >>> found.holds, round(found.margin, 6)
    (False, -0.25)
    """
    one, two = with_means(first, second)
    wealth = StopLoss(one), StopLoss(two)
    if one.is_discrete and two.is_discrete:
        steps = Steps(one, two)
        slack = wealth[0](steps.first) - wealth[1](steps.second)
        i = int(np.argmin(slack))
        return verdict(float(slack[i]), float(steps.u[i]), rounding(one, two), True)

    def at_level(z: Floats) -> Floats:
        return np.asarray(wealth[0](logit_quantile(one, z)) - wealth[1](logit_quantile(two, z)))

    margin, at = least(at_level, logits(one, two))
    return verdict(margin, _level(at), _allowed(wealth), False)


def dispersive_order(first: Any, second: Any) -> OrderCheck:
    """Check the dispersive order: Q1(v) - Q1(u) >= Q2(v) - Q2(u) for all u < v.

    Equivalently the difference of the quantile functions never falls. It implies the excess-wealth order, and
    that E M1 - E M2 grows with k at every step.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample

    Returns
    -------
    OrderCheck
        The margin is the deepest fall of Q1 - Q2, in points; `at` is the level v at its bottom.

    Examples
    --------
    >>> from d3stats.models.scores import normal
    >>> dispersive_order(normal(0, 2), normal(5, 1)).holds
    True
    >>> found = dispersive_order({0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75})
    >>> found.holds, found.margin, found.at
    (False, -1.0, 0.25)
    """
    one, two = as_law(first), as_law(second)
    if one.is_discrete and two.is_discrete:
        steps = Steps(one, two)
        margin, j = drop(steps.first - steps.second)
        return verdict(margin, float(steps.u[j]), rounding(one, two), True)
    z = logits(one, two)
    ones, twos = logit_quantile(one, z), logit_quantile(two, z)
    margin, j = drop(ones - twos)
    middle = np.abs(z) < 4
    spread = max(np.ptp(ones[middle]), np.ptp(twos[middle]))
    # Quantiles in the tails are as wide as they are far, and rounded likewise.
    allowed = 1e-11 * spread + 64 * _EPS * max(np.abs(ones).max(), np.abs(twos).max())
    return verdict(margin, _level(z[j]), allowed, False)


def dilation_order(first: Any, second: Any) -> OrderCheck:
    """Check the dilation order: the convex order of the laws less their means.

    E (G1 - E G1 - t)^+ >= E (G2 - E G2 - t)^+ for every t. The excess-wealth order implies it.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample

    Returns
    -------
    OrderCheck
        The margin is in points; `at` is t, a score less its mean.

    Raises
    ------
    ValueError
        When a law has no finite mean.

    Examples
    --------
    >>> dilation_order({0: 0.5, 2: 0.5}, {5: 0.5, 6: 0.5}).holds
    True

    The best of two coins reaches no further above its mean than one coin:

    >>> found = dilation_order({0: 0.25, 1: 0.75}, {0: 0.5, 1: 0.5})
    >>> found.holds, found.margin, found.at
    (False, -0.125, 0.25)
    """
    one, two = with_means(first, second)
    wealth = StopLoss(one), StopLoss(two)
    means = one.mean, two.mean

    def slack(t: Floats) -> Floats:
        return np.asarray(wealth[0](t + means[0]) - wealth[1](t + means[1]))

    if one.is_discrete and two.is_discrete:
        t = np.union1d(one.atoms[0] - means[0], two.atoms[0] - means[1])
        margin, at = least(slack, t, zooms=0)
        return verdict(margin, at, rounding(one, two), True)
    # Corners are where a survival function bends, so that the difference may be least there.
    own, other = (np.union1d(places(law), corners(law)) for law in (one, two))
    margin, at = least(slack, np.union1d(own - means[0], other - means[1]))
    return verdict(margin, at, _allowed(wealth), False)


def is_dfr(law: Any) -> OrderCheck:
    """Check that the failure rate f/S decreases: the log of the survival function is convex on the support.

    Then M, the best of k, is larger than one score in the dispersive order, and, where the law has a finite mean,
    in excess wealth and dilation.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        One atom at the lower end of the support is allowed (Barlow and Proschan 1975). Any other atom, and any
        upper end of the support, makes the rate infinite there: the margin is -inf. So no discrete law and no
        score with a ceiling is DFR.

    Returns
    -------
    OrderCheck
        The margin is the least of log rate(x) - log rate(y) over x < y, without unit; `at` is that y.

    Examples
    --------
    >>> from d3stats.models.scores import uniform, weibull
    >>> is_dfr(weibull(0.7, 2)).holds, is_dfr(weibull(1.2, 2)).holds, is_dfr(uniform()).margin
    (True, False, -inf)
    """
    one = as_law(law)
    low, high = one.support
    jumps = one.atoms[0]
    if np.isfinite(high) or (jumps.size and (jumps.size > 1 or jumps[0] > low)) or not np.isfinite(low):
        at = high if np.isfinite(high) else (float(jumps[-1]) if jumps.size else low)
        return verdict(-np.inf, at, 1e-9, True)
    # From the lower end on, so that a gap between an atom there and the next score is seen: its rate is 0.
    x = np.union1d(low, places(one))
    x = np.unique(np.concatenate([x, 0.5 * (x[1:] + x[:-1])]))
    x = x[x > low]
    with np.errstate(divide="ignore"):
        rate = np.log(one.density(x)) - np.log(one.sf(x))
    gap = np.flatnonzero(np.isneginf(rate))
    if gap.size:
        return verdict(-np.inf, float(x[gap[0]]), 1e-9, True)
    margin, j = drop(-rate)
    return verdict(margin, float(x[j]), 1e-9, False)


def _allowed(wealth: tuple[StopLoss, StopLoss]) -> float:
    """Return what quadrature and rounding may take from a difference of two excesses, in points."""
    one, two = wealth
    return 1e-10 * scale(one, two) + rounding(one.law, two.law) + one.error + two.error


def _level(z: float) -> float:
    return float(special.expit(z))
