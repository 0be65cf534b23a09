"""Gain of the best of k scores over one, excess wealth and Gini mean difference, by sums or quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._arrays import Floats
from d3stats._check import choice, integer
from d3stats.models.separation.laws import (
    ScoreLaw,
    as_counts,
    as_law,
    mean_of_max,
    require_digits,
    require_mean,
    tail_remainder,
)
from d3stats.models.separation.quadrature import integrate

__all__ = ["excess_wealth", "excess_wealth_table", "gain_of_max", "gain_table", "gini_mean_difference"]


_SPLIT = 1e-13
"""Share of the whole by which the orders 5 and 10 may differ on a piece before it is halved."""
_DEPTH = 60


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats]:
    coarse, fine = special.roots_legendre(5), special.roots_legendre(10)
    return np.concatenate([coarse[0], fine[0]]), coarse[1], fine[1]


class StopLoss:
    """The stop-loss function t -> E (X - t)^+ = integral of P(X > x) from t up, of a law with a finite mean.

    Cumulated once from the top over pieces on which the survival function is smooth; a question then costs one
    piece more. Discrete laws are summed. `error` is a bound on the error of an answer, in points: what the two orders
    differ by, and what is beyond the last cut. A tail too heavy for the integral is refused.
    """

    def __init__(self, law: ScoreLaw) -> None:
        self.law = law
        # Below the middle P(X <= x) is integrated instead, so that a deep floor costs no digits.
        self.middle = law.middle
        if law.is_discrete:
            self._rungs: Floats = law.atoms[0]
            pieces = law.sf(self._rungs[:-1]) * np.diff(self._rungs)
            self.error = 0.0
        else:
            self._rungs, pieces, self.error = self._pieces()
            require_digits(np.array([self.error]), np.abs(pieces).sum(keepdims=True), np.ones(1), law)
        self._over: Floats = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)

    def __call__(self, t: ArrayLike) -> Floats:
        """Return E (X - t)^+ for every t; infinite at -inf."""
        points = np.asarray(t, dtype=np.float64)
        flat = points.ravel()
        above = np.searchsorted(self._rungs, flat, side="left")
        rung = np.minimum(above, self._rungs.size - 1)
        width = self._rungs[rung] - flat
        part = np.zeros_like(flat)
        if self.law.is_discrete:
            part = np.where(above == 0, 1.0, self.law.sf(np.where(np.isfinite(flat), flat, 0.0))) * width
        else:
            inside = (above > 0) & (width > 0)
            if inside.any():
                # On a part of a piece, order 5 does as well as it did on the piece.
                nodes, weights, _ = _rules()
                half = 0.5 * width[inside]
                x = (flat[inside] + half)[:, None] + half[:, None] * nodes[:5]
                part[inside] = half * (self._signed(x) @ weights)
            part += np.maximum(self.middle - flat, 0.0)
        # Beyond the last rung there is nothing.
        found = np.maximum(self._over[rung] + np.where(width > -np.inf, part, 0.0), 0.0)
        return np.asarray(np.where(width >= 0, found, 0.0).reshape(points.shape))

    def _signed(self, x: Floats) -> Floats:
        """Return P(X > x) from the middle up and -P(X <= x) below it."""
        low = x < self.middle
        values = np.empty_like(x)
        values[low], values[~low] = -self.law.cdf(x[low]), self.law.sf(x[~low])
        return values

    def _pieces(self) -> tuple[Floats, Floats, float]:
        """Return rungs, the integral of the signed probability between each two, and the error of their sum."""
        nodes, rough_weights, weights = _rules()
        cuts = np.unique(np.append(self.law.breakpoints(), self.middle))
        low, high = cuts[:-1], cuts[1:]
        starts: list[Floats] = []
        sums: list[Floats] = []
        error = float(tail_remainder(self.law, cuts, np.ones(1, dtype=np.int64))[0][0])
        for depth in range(_DEPTH):
            half = 0.5 * (high - low)
            values = self._signed((low + half)[:, None] + half[:, None] * nodes)
            exact = half * (values[:, 5:] @ weights)
            apart = np.abs(exact - half * (values[:, :5] @ rough_weights))
            # The best idea of the size so far: a first look may miss a spike, or see one where there is none.
            whole = float(np.abs(exact).sum() + sum(np.abs(done).sum() for done in sums))
            split = apart > _SPLIT * whole
            if depth == _DEPTH - 1:
                split[:] = False
            starts.append(low[~split])
            sums.append(exact[~split])
            error += float(apart[~split].sum())
            if not split.any():
                break
            between = low[split] + half[split]
            low, high = np.concatenate([low[split], between]), np.concatenate([between, high[split]])
        start, value = np.concatenate(starts), np.concatenate(sums)
        order = np.argsort(start)
        return np.append(start[order], cuts[-1]), value[order], error


def logit_quantile(law: ScoreLaw, z: Floats) -> Floats:
    """Return the quantile at u = 1/(1 + exp(-z)): both tails to the last digit."""
    low = z <= 0
    found = np.empty_like(z)
    found[low] = law.quantile(special.expit(z[low]))
    found[~low] = law.upper_quantile(special.expit(-z[~low]))
    return found


def excess_wealth(law: Any, u: ArrayLike) -> Floats:
    """Compute the excess wealth W(u) = E (X - Q(u))^+, the mean excess of a score over its own u-quantile Q(u).

    Parameters
    ----------
    law : what :func:`~d3stats.models.separation.laws.as_law` takes
        The law of one score, with a finite mean.
    u : array
        Levels in [0, 1], of any shape.

    Returns
    -------
    array
        In points, of the shape of `u`. Exact sums for a discrete law, quadrature otherwise; W(1) = 0, and W(0)
        is infinite for scores unbounded below.

    References
    ----------
    Shaked and Shanthikumar (1998), "Two variability orders", Probability in the Engineering and Informational
    Sciences 12.

    Examples
    --------
    Uniform scores have W(u) = (1 - u)^2 / 2, and exponential ones a multiple of 1 - u:

    >>> from d3stats.models.separation.laws import exponential, uniform
    >>> excess_wealth(uniform(), [0, 0.5, 1]).round(6).tolist()
    [0.5, 0.125, 0.0]
    >>> excess_wealth(exponential(2), [0, 0.5, 0.9]).round(6).tolist()
    [2.0, 1.0, 0.2]
    """
    one = as_law(law)
    require_mean("law", one)
    return _wealth(one, StopLoss(one), _levels(u))


def gini_mean_difference(law: Any) -> float:
    """Compute the Gini mean difference E abs(X - X') of two independent scores of one law, in points.

    The difference is twice what the better of two advocates gains over one. A law without a finite mean is refused.

    Parameters
    ----------
    law : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The law of one score.

    Returns
    -------
    float

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> round(gini_mean_difference(uniform()), 12), gini_mean_difference({1: 0.5, 20: 0.5})
    (0.333333333333, 9.5)
    """
    one = as_law(law)
    require_mean("law", one)
    if one.is_discrete:
        points = one.atoms[0]
        return float(2 * (one.cdf(points[:-1]) * one.sf(points[:-1])) @ np.diff(points))
    cuts = one.breakpoints()
    value, error = integrate((lambda x: (one.cdf(x) * one.sf(x))[:, None], cuts))
    require_digits(error + tail_remainder(one, cuts, np.ones(1))[0], value, np.ones(1), one)
    return float(2 * value[0])


def gain_of_max(
    law: Any, k: int | Sequence[int], *, route: Literal["maximum", "wealth"] = "maximum"
) -> Floats:
    """Compute how far the mean of the best of k scores lies above the mean of one, E M - E G, in points.

    Parameters
    ----------
    law : what :func:`~d3stats.models.separation.laws.as_law` takes
        The law of one score, with a finite mean.
    k : int or sequence of int
        Advocates, at least 1.
    route : {"maximum", "wealth"}
        From the law of the maximum, or by the identity

            E M - E G = integral over u of W(u) (1 + 2u + ... + (k-1) u^(k-2)),

        which shows why a greater excess wealth gains more for every k. Both agree to 1e-10 of the scale.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> gain_of_max(uniform(), [1, 2, 5]).round(6).tolist()
    [0.0, 0.166667, 0.333333]
    >>> gain_of_max(uniform(), [1, 2, 5], route="wealth").round(6).tolist()
    [0.0, 0.166667, 0.333333]
    """
    one = as_law(law)
    counts = as_counts(k)
    require_mean("law", one)
    if choice("route", route, ("maximum", "wealth")) == "maximum":
        # The mean from the same sum as the maxima, so that what they share cancels.
        means = mean_of_max(one, np.append(1, counts))
        return np.asarray(np.maximum(means[1:] - means[0], 0.0))
    wealth = StopLoss(one)
    if one.is_discrete:
        points = one.atoms[0]
        # W is a step function; the polynomial's integral over a step is u + ... + u^(k-1) at its ends.
        levels = np.concatenate([[0.0], one.cdf(points)])
        return np.asarray(np.diff(_powers(levels, counts), axis=0).T @ wealth(points))
    cuts = np.unique(np.concatenate([f(one.breakpoints()) for f in (one.cdf, one.below)] + [[1.0]]))

    def integrand(u: Floats) -> Floats:
        return _wealth(one, wealth, u)[:, None] * _slope(u, counts)

    value, error = integrate((integrand, cuts))
    require_digits(error, value, counts, one)
    return value


def excess_wealth_table(first: Any, second: Any, *, n: int = 400) -> pd.DataFrame:
    """Return the excess wealth of two laws side by side, for :func:`d3stats.plotting.plot_excess_wealth`.

    The columns are ``u, first, second, difference``, at the n levels (i + 1/2)/n; the last three in points.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.
    n : int
        Number of levels.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> excess_wealth_table(uniform(0.5, 1), uniform(), n=2).round(6)
          u     first   second  difference
    0  0.25  0.140625  0.28125   -0.140625
    1  0.75  0.015625  0.03125   -0.015625
    """
    levels = (np.arange(integer("n", n, minimum=2)) + 0.5) / n
    one, two = excess_wealth(first, levels), excess_wealth(second, levels)
    return pd.DataFrame({"u": levels, "first": one, "second": two, "difference": one - two})


def gain_table(first: Any, second: Any, k: Sequence[int] = tuple(range(2, 11))) -> pd.DataFrame:
    """Return what the best of k gains over one score, E M - E G, for two laws side by side and every k, in points.

    The columns are ``k, first, second, difference``; the last is how much the mean gap E M1 - E M2 has grown over
    E G1 - E G2.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.
    k : sequence of int
        Advocates a side.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from d3stats.models.separation.laws import exponential
    >>> gain_table(exponential(2), exponential(1), k=[2, 3])
       k     first    second  difference
    0  2  1.000000  0.500000    0.500000
    1  3  1.666667  0.833333    0.833333
    """
    one, two = gain_of_max(first, k), gain_of_max(second, k)
    return pd.DataFrame({"k": np.asarray(k), "first": one, "second": two, "difference": one - two})


def _levels(u: ArrayLike) -> Floats:
    levels = np.asarray(u, dtype=np.float64)
    bad = ~((levels >= 0) & (levels <= 1))
    if bad.any():
        raise ValueError(f"u must lie between 0 and 1; got u={levels[bad].flat[0]}")
    return levels


def _wealth(law: ScoreLaw, wealth: StopLoss, u: Floats) -> Floats:
    return np.where(u < 1, wealth(law.quantile(u)), 0.0)


def _powers(u: Floats, k: NDArray[np.int64]) -> Floats:
    """Return u + u^2 + ... + u^(k-1), shape (levels, ks)."""
    level, last = u[:, None], k - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(level)
        total = level * np.expm1(last * log) / np.expm1(log)
    return np.where(level <= 0, 0.0, np.where(level >= 1, last, total))


def _slope(u: Floats, k: NDArray[np.int64]) -> Floats:
    """Return 1 + 2u + ... + (k-1) u^(k-2), shape (levels, ks)."""
    level = u[:, None]
    left = 1.0 - level
    with np.errstate(divide="ignore", invalid="ignore"):
        closed = (1 - k * level ** (k - 1) + (k - 1) * level**k) / left**2
    # Near u = 1 that cancels; the sum is also that of (-1)^m (m+1) C(k, m+2) (1-u)^m.
    m = np.arange(16)
    near = k * left < 0.5
    signed = (-1.0) ** m * (m + 1) * special.binom(k[:, None], m + 2)
    series = np.einsum("lm,km->lk", left**m, signed)
    return np.asarray(np.where(near, series, closed))
