"""Means, slopes and joint tests over debates, those of one question kept together.

The unit is the cluster: every statistic is made from each cluster's totals, and its error from how those
vary over clusters (Liang and Zeger, 1986), with Student's t or Hotelling's F of as many clusters as there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.resampling.totals import cluster_totals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ClusteredEstimate(NamedTuple):
    """An estimate with its cluster-robust t interval.

    Where every cluster is alike `se` is 0: that is no measure of an error, so limits and p-value are None. With
    fewer than two clusters `se` is None as well.
    """

    value: float
    se: float | None
    df: int
    low: float | None
    high: float | None
    p_value: float | None


class JointTest(NamedTuple):
    """Hotelling's test that several cluster totals have mean zero; F and its p-value None when not testable."""

    f: float | None
    df1: int
    df2: int
    p_value: float | None


def clustered_mean(values: Floats, cluster: Ints, level: float) -> ClusteredEstimate:
    """Return the mean over debates and its error over clusters of unequal size."""
    totals = cluster_totals(np.column_stack([values, np.ones(len(values))]), cluster)
    value = float(values.mean())
    return _with_error(value, (totals[:, 0] - value * totals[:, 1]) / len(values), level)


def clustered_slope(x: Floats, y: Floats, cluster: Ints, level: float) -> ClusteredEstimate | None:
    """Return the least-squares slope of y on x, its error by leaving out one cluster at a time.

    The jackknife allows for clusters far out on x, whose residuals a sandwich takes for too small. None where
    x does not vary, in all debates or without some one cluster.
    """
    # About the means, so that sums of squares do not cancel.
    x, y = x - x.mean(), y - y.mean()
    parts = cluster_totals(np.column_stack([np.ones(len(x)), x, y, x * x, x * y]), cluster)
    whole = parts.sum(axis=0)
    n, sx, sy, sxx, sxy = np.vstack([whole, whole - parts]).T
    spread = n * sxx - sx**2
    if (spread <= 1e-9 * len(x) * len(x) * max(float(x @ x) / len(x), 1e-12)).any():
        return None
    slopes = (n * sxy - sx * sy) / spread
    away = slopes[1:] - slopes[1:].mean()
    # _with_error wants shares that sum to zero and scales them by G / (G - 1); the jackknife's is (G - 1) / G.
    g = len(parts)
    return _with_error(float(slopes[0]), away * (g - 1) / g, level)


def joint_zero(totals: Floats) -> JointTest:
    """Test that every column of cluster totals, shape (clusters, q), has mean zero.

    ``F = (G - q) / (q (G - 1)) T^2`` with T^2 = G m' S^-1 m, compared with F(q, G - q).
    """
    g, q = totals.shape
    if q == 0 or g <= q:
        return JointTest(None, q, g - q, None)
    mean = totals.mean(axis=0)
    centred = totals - mean
    # One scale per column, so that a thin cell and a full one are told apart from a singular matrix alike.
    scale = np.sqrt((centred**2).sum(axis=0) / (g - 1))
    if (scale <= 0).any():
        return JointTest(None, q, g - q, None)
    correlation = (centred / scale).T @ (centred / scale) / (g - 1)
    if np.linalg.cond(correlation) > 1e10:
        return JointTest(None, q, g - q, None)
    t2 = g * float((mean / scale) @ np.linalg.solve(correlation, mean / scale))
    f = (g - q) / (q * (g - 1)) * t2
    return JointTest(f, q, g - q, float(special.fdtrc(q, g - q, f)))


def _with_error(value: float, influence: Floats, level: float) -> ClusteredEstimate:
    """Return the interval from each cluster's share of the estimate's error; shares sum to zero."""
    g = len(influence)
    if g < 2:
        return ClusteredEstimate(value, None, g - 1, None, None, None)
    se = float(np.sqrt(g / (g - 1) * (influence**2).sum()))
    # Rounding leaves a trace of an error where every cluster is alike.
    if se <= 1e-13 * max(1.0, abs(value)):
        return ClusteredEstimate(value, 0.0, g - 1, None, None, None)
    half = float(special.stdtrit(g - 1, (1 + level) / 2)) * se
    p_value = float(2 * special.stdtr(g - 1, -abs(value) / se))
    return ClusteredEstimate(value, se, g - 1, value - half, value + half, p_value)
