"""The t interval of any smooth function of sums over clusters: linearise it, and let clusters vary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import probability
from d3stats.resampling.clusters import Statistic, at_the_data, checked_totals, column_scale, gradient

__all__ = ["ClusterT", "cluster_t", "student_limits"]

Floats = NDArray[np.float64]

ALIKE = "every cluster gives the same: nothing says how clusters vary"
ROUGH = "the statistic is undefined next to the data, so its error cannot be linearised"
_FLAT = 1e-10
"""An error below this share of the size of what is added up is rounding, not spread."""


@dataclass(frozen=True, eq=False)
class ClusterT:
    """Estimates with cluster-robust t limits, one per value of the statistic.

    Attributes
    ----------
    estimate, se, low, high, p_value : ndarray of float, shape (p,)
        `p_value` is two-sided. Where `reasons` says why there is none, limits and p-value are NaN and `se` is
        0 (all clusters alike) or NaN: ask :meth:`interval`, which gives None.
    df : int
        Clusters - 1.
    level : float
    reasons : tuple of str
        "" or why there is no interval, one per value.
    """

    estimate: Floats
    se: Floats
    df: int
    low: Floats
    high: Floats
    p_value: Floats
    level: float
    reasons: tuple[str, ...]

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return self.df + 1

    def interval(self, value: int = 0) -> tuple[float, float] | tuple[None, None]:
        """Return the limits of one value, or (None, None) where there are none."""
        return (None, None) if self.reasons[value] else (float(self.low[value]), float(self.high[value]))


def cluster_t(
    totals: ArrayLike,
    statistic: Statistic,
    *,
    level: float = 0.95,
    null: ArrayLike = 0.0,
    multiplicity: ArrayLike | None = None,
) -> ClusterT:
    """Return a smooth function of sums with its cluster-robust error and t limits of clusters - 1.

    The error is that of the linearised statistic: ``se^2 = G / (G - 1) * sum_g (d' (x_g - mean x))^2`` with d the
    derivative at the data's sums (Liang and Zeger, 1986; Binder, 1983). For a ratio of sums it is the ratio
    estimator of survey sampling, for a mean of equal clusters it is the t interval of cluster means.

    Parameters
    ----------
    totals : array_like of float, shape (clusters, q)
        Each cluster's sums.
    statistic : callable
        Sums of shape (m, q) to values of shape (m, p). It must be smooth at the data.
    level : float
        Coverage aimed at, in (0, 1).
    null : array_like of float
        What the p-value tests, one value or one per value of the statistic.
    multiplicity : array_like of int, shape (clusters,), optional
        How often each row occurs; by default once.

    Returns
    -------
    ClusterT

    Raises
    ------
    ValueError
        Fewer than two clusters, or a statistic that is undefined on the data.

    Examples
    --------
    >>> result = cluster_t([[1, 2], [2, 2], [0, 4], [3, 3]], lambda sums: sums[:, 0] / sums[:, 1])
    >>> float(result.estimate[0].round(4)), float(result.se[0].round(4)), result.df
    (0.5455, 0.2866, 3)
    """
    level = probability("level", level, open_interval=True)
    array, times = checked_totals(totals, multiplicity)
    estimate = at_the_data(statistic, times @ array)
    try:
        nulls = np.broadcast_to(np.asarray(null, dtype=np.float64), estimate.shape)
    except ValueError:
        raise ValueError(
            f"null must be one value or one per value of the statistic ({len(estimate)}); got {null!r}"
        ) from None
    se, reasons = linearised_error(array, times, statistic)
    return _limits(estimate, se, reasons, int(times.sum()) - 1, level, nulls)


def student_limits(value: float, se: float, df: float, level: float) -> tuple[float, float, float]:
    """Return the limits value -+ t * se, and the two-sided p-value of 0, by Student's t of `df`.

    Examples
    --------
    >>> [round(number, 4) for number in student_limits(0.05, 0.0219, 5, 0.95)]
    [-0.0063, 0.1063, 0.0713]
    """
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(df, (1 + level) / 2)) * se
    return value - half, value + half, 2 * float(stdtr(df, -abs(value) / se))


def linearised_error(
    totals: Floats, times: NDArray[np.int64], statistic: Statistic
) -> tuple[Floats, tuple[str, ...]]:
    """Return the cluster-robust error (p,) of a statistic at the data, and "" or why it is none."""
    n_clusters = int(times.sum())
    sums = times @ totals
    scale = column_scale(totals, times)
    slope = gradient(statistic, sums[None], scale, fine=True)[0]
    influence = (totals - sums / n_clusters) @ slope
    se = np.sqrt(n_clusters / (n_clusters - 1) * (times @ influence**2))
    flat = se <= _FLAT * (scale @ np.abs(slope)) / np.sqrt(n_clusters)
    reasons = tuple(
        ROUGH if not known else ALIKE * bool(same) for known, same in zip(np.isfinite(se), flat, strict=True)
    )
    return np.where(flat, 0.0, se), reasons


def _limits(
    estimate: Floats, se: Floats, reasons: tuple[str, ...], df: int, level: float, null: Floats
) -> ClusterT:
    from scipy import special

    known = np.array([not reason for reason in reasons])
    half = float(special.stdtrit(df, (1 + level) / 2)) * se
    distance = np.full(estimate.shape, np.nan)
    np.divide(np.abs(estimate - null), se, out=distance, where=known)
    return ClusterT(
        estimate,
        se,
        df,
        np.where(known, estimate - half, np.nan),
        np.where(known, estimate + half, np.nan),
        2 * special.stdtr(df, -distance),
        level,
        reasons,
    )
