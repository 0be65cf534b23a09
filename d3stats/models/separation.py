"""Do k advocates a side tell two answers apart better than one: the exact laws of the best of k scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import whole_numbers
from d3stats.models._maxima import integrate, log_cdf, require_mean
from d3stats.models.score_law import ScoreLaw, as_law

__all__ = ["Separation", "separation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Separation:
    """What the best of k advocates a side says about two answers, for every k asked for.

    Attributes
    ----------
    k : array of int, shape (ks,)
        Advocates a side.
    expected_gap : array
        E abs(M1 - M2), in the points of the scores.
    mean_gap : array
        E M1 - E M2, in points.
    prob_first, prob_tie, prob_second : array
        P(M1 > M2), P(M1 = M2), P(M1 < M2).
    error : array
        Bound on the absolute error of each of the above: rounding for sums, the difference of two orders for
        integrals.
    method : {"sum", "quadrature"}
    """

    k: NDArray[np.int64]
    expected_gap: Floats
    mean_gap: Floats
    prob_first: Floats
    prob_tie: Floats
    prob_second: Floats
    error: Floats
    method: Literal["sum", "quadrature"]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k."""
        names = ("k", "expected_gap", "mean_gap", "prob_first", "prob_tie", "prob_second", "error")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def separation(first: Any, second: Any, k: int | Sequence[int] = 1) -> Separation:
    """Compute how far the best of k scores for two answers lie apart, and which is likely ahead.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score for each answer; scores are independent.
    k : int or sequence of int
        Advocates a side, at least 1.

    Returns
    -------
    Separation

    Raises
    ------
    ValueError
        When a law has no finite mean, or k is below 1.

    Notes
    -----
    With the laws F1, F2 of one score, P(M_i <= x) = F_i(x)^k, and

    - E abs(M1 - M2) = integral of F1^k (1 - F2^k) + F2^k (1 - F1^k),
    - E M1 - E M2 = integral of F2^k - F1^k,
    - P(M1 > M2) = integral of P(M2 < x) over the law of M1.

    Discrete laws are summed; others integrated piece by piece.

    Examples
    --------
    The claim that more advocates separate more fails for uniform scores with a common ceiling:

    >>> from scipy import stats
    >>> found = separation(stats.uniform(0.5, 0.5), stats.uniform(), k=[1, 2, 3, 5])
    >>> found.expected_gap.round(6).tolist()
    [0.333333, 0.241667, 0.188393, 0.13022]
    >>> found.prob_first.round(6).tolist()
    [0.75, 0.708333, 0.69375, 0.682416]
    """
    one, two = as_law(first), as_law(second)
    counts = whole_numbers("k", np.atleast_1d(np.asarray(k)), minimum=1)
    if counts.size == 0:
        raise ValueError("k must hold at least one number of advocates; got none")
    require_mean("first", one)
    require_mean("second", two)
    if one.is_discrete and two.is_discrete:
        return _summed(one, two, counts)
    return _integrated(one, two, counts)


def _summed(one: ScoreLaw, two: ScoreLaw, k: NDArray[np.int64]) -> Separation:
    points = np.union1d(one.atoms[0], two.atoms[0])
    logs = [k[:, None] * log_cdf(law, points) for law in (one, two)]
    up_to = [np.exp(x) for x in logs]
    over = [-np.expm1(x) for x in logs]
    below = [np.concatenate([np.zeros((k.size, 1)), x[:, :-1]], axis=1) for x in up_to]
    mass = [x - y for x, y in zip(up_to, below, strict=True)]
    width = np.diff(points)
    cross = up_to[0] * over[1] + up_to[1] * over[0]
    span = float(points[-1] - points[0])
    return Separation(
        k=k,
        expected_gap=cross[:, :-1] @ width,
        mean_gap=(over[0] - over[1])[:, :-1] @ width,
        prob_first=(mass[0] * below[1]).sum(axis=1),
        prob_tie=(mass[0] * mass[1]).sum(axis=1),
        prob_second=(mass[1] * below[0]).sum(axis=1),
        error=np.full(k.size, 8 * np.finfo(float).eps * points.size * max(span, 1.0)),
        method="sum",
    )


def _integrated(one: ScoreLaw, two: ScoreLaw, k: NDArray[np.int64]) -> Separation:
    cuts = np.union1d(one.breakpoints(), two.breakpoints())
    n = k.size

    def integrand(x: Floats) -> Floats:
        logs = [log_cdf(law, x)[:, None] for law in (one, two)]
        up_to = [np.exp(k * z) for z in logs]
        over = [-np.expm1(k * z) for z in logs]
        # An infinite density at an end is integrable: no node lies on an end.
        dens = [law.density(x)[:, None] for law in (one, two)]
        ahead = []
        for me, other in ((0, 1), (1, 0)):
            mine = k * np.exp((k - 1) * np.maximum(logs[me], -745.0)) * dens[me]
            ahead.append(mine * up_to[other])
        return np.concatenate([up_to[0] * over[1] + up_to[1] * over[0], over[0] - over[1], *ahead], axis=1)

    value, error = integrate(integrand, cuts)
    gap, mean, first, second = value.reshape(4, n)
    # Atoms: the law of M1 has the mass F(x)^k - P(X < x)^k there, and M2 lies below with P(M2 < x).
    tie = np.zeros(n)
    for mine, other, total in ((one, two, first), (two, one, second)):
        points, _ = mine.atoms
        for x in points:
            mass = mine.cdf(x) ** k - mine.below(x) ** k
            under = other.below(x) ** k
            total += mass * under
            if mine is one:
                tie += mass * (other.cdf(x) ** k - under)
    worst = error.reshape(4, n).max(axis=0) + 64 * np.finfo(float).eps * max(1.0, float(np.abs(gap).max()))
    return Separation(k, gap, mean, first, tie, second, worst, "quadrature")
