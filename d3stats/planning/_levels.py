"""Student intervals of ratios of sums, debates of one question kept together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.resampling.clusters import cluster_totals

__all__ = ["Estimate", "log_ratio", "ratio", "share"]


class Estimate(NamedTuple):
    """A value with its limits and standard error; all NaN where nothing could be measured."""

    value: float
    low: float
    high: float
    se: float


_NOTHING = Estimate(np.nan, np.nan, np.nan, np.nan)


def _linearised(
    above: NDArray[np.float64], below: NDArray[np.float64], cluster: NDArray[np.int64]
) -> tuple[float, float, int]:
    """Return the ratio of sums, its cluster-robust standard error and the number of clusters that count."""
    totals = cluster_totals(np.column_stack([above, below]), cluster)
    totals = totals[totals[:, 1] > 0]
    n = len(totals)
    if n == 0:
        return np.nan, np.nan, 0
    value = float(totals[:, 0].sum() / totals[:, 1].sum())
    if n == 1:
        return value, np.nan, 1
    residual = (totals[:, 0] - value * totals[:, 1]) / totals[:, 1].mean()
    return value, float(np.sqrt((residual**2).sum() / (n - 1) / n)), n


def _quantile(level: float, n: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(n - 1, 1), (1 + level) / 2))


def ratio(above: ArrayLike, below: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return the ratio of two sums over debates with a Student interval over questions."""
    value, se, n = _linearised(np.asarray(above, np.float64), np.asarray(below, np.float64), cluster)
    if n < 2:
        return _NOTHING._replace(value=value)
    half = _quantile(level, n) * se
    return Estimate(value, value - half, value + half, se)


def share(hits: ArrayLike, counted: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return a share with a Wilson interval of as many debates as the clustered error is worth.

    The effective number of debates is p(1 - p) / se^2, at most those there are; at a share of 0 or 1, where no
    error can be measured, it is the number of questions.
    """
    counts = np.asarray(counted, np.float64)
    value, se, n = _linearised(np.asarray(hits, np.float64), counts, cluster)
    if n < 2:
        return _NOTHING._replace(value=value)
    spread = value * (1 - value)
    size = min(float(counts.sum()), spread / se**2) if se > 0 and spread > 0 else float(n)
    q = _quantile(level, n)
    centre = (value + q**2 / (2 * size)) / (1 + q**2 / size)
    half = q / (1 + q**2 / size) * np.sqrt(spread / size + q**2 / (4 * size**2))
    low = 0.0 if value == 0.0 else float(max(centre - half, 0.0))
    high = 1.0 if value == 1.0 else float(min(centre + half, 1.0))
    return Estimate(value, low, high, se)


def log_ratio(above: ArrayLike, below: ArrayLike, cluster: NDArray[np.int64], level: float) -> Estimate:
    """Return one minus the ratio of two sums, its interval made on the log scale of the ratio."""
    value, se, n = _linearised(np.asarray(above, np.float64), np.asarray(below, np.float64), cluster)
    if n < 2 or value <= 0:
        return _NOTHING if n == 0 else _NOTHING._replace(value=1 - value)
    factor = np.exp(_quantile(level, n) * se / value)
    return Estimate(1 - value, float(1 - value * factor), float(1 - value / factor), se)
