"""Student's t interval of any smooth function of cluster sums, and Hotelling's test of several means.

The error comes from the linearised statistic or from leaving out one cluster at a time. Limits are Student's with the
degrees of freedom that clusters of these sizes are worth (:mod:`d3stats.resampling.degrees`), clusters - 1 where sizes
are equal.

Skewed means: Student's t misses where a mean has a long tail on one side, since a sample without that tail has a small
mean and a small error. Johnson's (1978) correction moves the limit on the side of the tail away in proportion to k, the
sum of the clusters' cubed influences over the 3/2 power of the sum of their squares. Here the error on that side counts
1 + c k times, with c = 0.8 + 32 / n and at most 4 for n equal clusters. Johnson's number is .75 at 95 % and many
clusters, but small samples show too little of a tail (20 log-normal values a third of its skewness). Half a standard
deviation of k among normal clusters is taken off first. A single value far off makes k large too, where the law has two
long tails. In a skewed law the median is off the mean to the same side. So from 20 clusters on k counts as far as the
mean is more than half, and fully from one and a half, of its standard errors above the median; with ten it counts
nearly always. The other limit stays, so no interval is narrower than Student's.

Coverage of 95 % limits (Student's in brackets) in laws, sizes and seeds that were not used to choose the constants.
Log-normal clusters: .92 (.84) with 10, .93 (.87) with 20, .94 (.90) with 40, .95 (.91) with 60. Exponential: .95 (.90)
with 10, .96 (.92) with 20. Weibull with shape .7, inverse Gauss, Beta(.5, 3), Poisson(1): .94 to .97 from 20 on, .93 to
.96 with 10. Normal: .95 to .96, limits 1.14 times as far apart with 10 clusters, 1.06 with 15, 1.02 with 20, 1.01 with
40. t with 3 degrees of freedom: .96, 1.30 times with 10, 1.08 with 20, 1.05 with 40. No constants give both 1.05 for 10
normal clusters and .93 for 10 log-normal ones: rules of this form with .93 there are 1.21 times as wide.
The studentised bootstrap and Hall's (1992) cubic cover .91 and .93 of 20 log-normal values with wider limits. To refuse
an interval where a sample is skewed makes it worse, because the samples without the tail are those that miss: Student's
covers .71 of those with n > 25 skewness^2 (Cochran, 1977). No interval holds where clusters show nothing of a rare huge
value (Bahadur and Savage, 1956): with one in twenty values ten standard deviations off and 20 clusters it covers .80.
Differences of two runs on the same items have no long side where the runs are alike; they keep Student's limits
(`symmetric`).

References
----------
Johnson (1978), Journal of the American Statistical Association 73, 536. Hall (1992), Journal of the Royal Statistical
Society B 54, 221. Cochran (1977), Sampling Techniques, section 2.15. Bahadur and Savage (1956), Annals of Mathematical
Statistics 27, 1115.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, probability
from d3stats.estimate import Estimate
from d3stats.resampling.clusters import (
    ONE_CLUSTER,
    Ratios,
    Statistic,
    at_the_data,
    checked_totals,
    cluster_totals,
    column_scale,
    evaluate,
    gradient,
    ratios,
)
from d3stats.resampling.degrees import (
    degrees_of_freedom,
    effective_clusters,
    item_error,
    left_out_error,
    too_unequal,
)

__all__ = [
    "ClusterT",
    "CommonSkewness",
    "Hotelling",
    "cluster_estimate",
    "cluster_t",
    "common_skewness",
    "hotelling",
    "item_ratio",
    "item_ratio_error",
    "student_limits",
]


ALIKE = "every cluster gives the same value, so the variation between clusters is unknown"
UNDEFINED = "without one of the clusters the statistic is undefined, so there is no jackknife error"
ROUGH = "the statistic is undefined near the data, so its error cannot be linearised"
_TIMES, _FEW, _MOST = 0.8, 32.0, 4.0
"""The skewness of n clusters counts 0.8 + 32 / n times, and at most 4 times."""
_COMMON, _COMMON_FEW, _OF_SHOWN, _OF_ALL, _MOST_COMMON = 0.5, 20.0, 0.7, 1.2, 5.0
"""Skewness that N clusters show counts (0.5 + 20 / n) (0.7 + 1.2 n / N) times for a mean of n, and at most 5 times."""
_MEDIAN_ERROR = 0.755
"""Standard deviation of (mean - median) sqrt(n) / sd of normal values, sqrt(pi / 2 - 1)."""
_FLAT = 1e-10
"""An error below this share of the size of what is added up is rounding, not spread."""


Error = Literal["linearised", "jackknife", "CR3"]


@dataclass(frozen=True, eq=False)
class ClusterT:
    """Estimates with cluster-robust Student's t limits, one per value of the statistic.

    Attributes
    ----------
    estimate, se, low, high, p_value : ndarray of float, shape (p,)
        `p_value` is two-sided. Where `reasons` says why there is none, limits and p-value are NaN and `se` is
        0 (all clusters alike) or NaN: ask :meth:`interval`, which gives None.
    df : ndarray of float, shape (p,)
        Degrees of freedom: what clusters of these sizes are worth, less one.
    n_clusters : int
        Number of clusters.
    level : float
    reasons : tuple of str
        "" or why there is no interval, one per value.
    error : str
        How the error was made: "linearised" or "jackknife".
    adjusted : bool
        Whether limits reach further on the side of a long tail, as those of means and ratios do.

    Examples
    --------
    >>> from d3stats.resampling import ratios
    >>> found = cluster_t([[1, 2], [2, 2], [0, 4], [3, 3]], ratios((0, 1)))
    >>> found.n_clusters, found.df.round(2).tolist(), [round(limit, 3) for limit in found.interval()]
    (4, [2.67], [-2.009, 1.64])
    >>> print(found.to_estimate("share", 11, bounds=(0.0, 1.0), tested=False))
    share: 0.545 [0.000, 1.000] (95 % skewness-adjusted cluster t, n = 11 in 4 clusters)
    """

    estimate: Floats
    se: Floats
    df: Floats
    n_clusters: int
    low: Floats
    high: Floats
    p_value: Floats
    level: float
    reasons: tuple[str, ...]

    error: str = "linearised"
    adjusted: bool = False

    def interval(self, value: int = 0) -> tuple[float, float] | tuple[None, None]:
        """Return the limits of one value, or (None, None) where there are none."""
        return (None, None) if self.reasons[value] else (float(self.low[value]), float(self.high[value]))

    def to_estimate(
        self,
        name: str,
        n: int,
        value: int = 0,
        *,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        note: str = "",
        tested: bool = True,
    ) -> Estimate:
        """Return one value as an :class:`~d3stats.estimate.Estimate`, its limits cut at `bounds`.

        The note ends in why there is no interval, where there is none; `tested` keeps the p-value. The error is 0 where
        every cluster gives the same value, and None where clusters do not show it.
        """
        low, high = self.interval(value)
        why = self.reasons[value]
        return Estimate(
            name=name,
            value=float(self.estimate[value]),
            low=None if low is None else max(low, bounds[0]),
            high=None if high is None else min(high, bounds[1]),
            kind=f"{'skewness-adjusted ' * self.adjusted}{'cluster' if self.error == 'linearised' else 'jackknife'} t",
            n=n,
            se=None if why and why != ALIKE else float(self.se[value]),
            level=self.level,
            n_clusters=self.n_clusters,
            p_value=None if why or not tested else float(self.p_value[value]),
            note="; ".join(part for part in (note, why) if part),
        )


def cluster_t(
    totals: ArrayLike,
    statistic: Statistic,
    *,
    level: float = 0.95,
    null: ArrayLike = 0.0,
    error: Error = "linearised",
    multiplicity: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    symmetric: bool = False,
    common: CommonSkewness | None = None,
    least: float = 0.0,
) -> ClusterT:
    """Estimate a smooth function of sums, with its cluster-robust error and Student's t limits.

    The error is that of the linearised statistic (Liang and Zeger, 1986; Binder, 1983):
    ``se^2 = (G - 1) / G * sum_g (d' (x_g - mean x) / (1 - h_g))^2`` with d the derivative at the data's sums. Each
    cluster's influence is divided by 1 - h, with h its share of the weights (CR3; Bell and McCaffrey, 2002).
    Degrees of freedom are those of :func:`~d3stats.resampling.degrees_of_freedom`, Kish's number of clusters of equal
    size less one. For a mean of
    equal clusters it is the t interval of cluster means. Limits and p-values of means and ratios of sums
    (:func:`~d3stats.resampling.ratios`) reach further on the side of a long tail, see
    :mod:`d3stats.resampling.cluster_t`.

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
    error : {"linearised", "jackknife", "CR3"}
        How the error is measured: by the derivative; by leaving out one cluster at a time,
        ``(G - 1) / G * sum_g (without_g - mean)^2``, which is wider where few clusters carry the statistic; or the
        same about the estimate itself (CR3; Bell and McCaffrey, 2002).
    multiplicity : array_like of int, shape (clusters,), optional
        How often each row occurs; by default once.
    weights : array_like of float, shape (clusters,) or (clusters, p), optional
        How much of each value every cluster carries, at least 0. By default what a ratio of
        :func:`~d3stats.resampling.ratios` divides by; of another statistic the column of totals that is nowhere below
        another column, as items are. Where there is none, whole numbers are counts in cells, whose sum is taken;
        with others clusters carry the same, so give weights if sizes differ.
    symmetric : bool
        Whether a ratio is a mean difference of two runs on the same items, whose law has no long side where they are
        alike; its limits are then Student's.
    common : CommonSkewness, optional
        Skewness of the values of clusters where more clusters than these show it (``common_skewness``).
    least : float
        The error of each value is at least this, unless all clusters are alike (:func:`item_ratio_error`).

    Returns
    -------
    ClusterT
        Without an interval where one cluster has most of the weight (:func:`~d3stats.resampling.too_unequal`).

    Raises
    ------
    ValueError
        Fewer than two clusters, weights below 0, or a statistic that is undefined on the data.

    Examples
    --------
    >>> result = cluster_t([[1, 2], [2, 2], [0, 4], [3, 3]], lambda sums: sums[:, 0] / sums[:, 1])
    >>> float(result.estimate[0].round(4)), float(result.se[0].round(4)), float(result.df[0].round(2))
    (0.5455, 0.32, 2.67)
    """
    from scipy.special import stdtr, stdtrit

    level = probability("level", level, open_interval=True)
    choice("error", error, get_args(Error))
    array, times = checked_totals(totals, multiplicity)
    estimate = at_the_data(statistic, times @ array)
    try:
        nulls = np.broadcast_to(np.asarray(null, dtype=np.float64), estimate.shape)
    except ValueError:
        wanted = f"one value or one per value of the statistic ({len(estimate)})"
        raise ValueError(f"null must be {wanted}; got {null!r}") from None
    if weights is None:
        size = carried_weights(array, statistic, len(estimate))
    else:
        size = _given_weights(weights, multiplicity, len(array), len(estimate))
    influence, se, reasons = linearised(array, times, statistic)
    if error == "linearised":
        se = np.array([_own_error(*parts, times) for parts in zip(influence.T, size.T, se, strict=True)])
    else:
        centre = estimate if error == "CR3" else None
        se, reasons = _left_out_error(array, times, statistic, centre, se, reasons)
    se = np.where(se > 0, np.maximum(se, least), se)
    reasons = tuple(why or too_unequal(w, times) for why, w in zip(reasons, size.T, strict=True))
    df = np.array([degrees_of_freedom(w, times) for w in size.T])
    known = np.array([not reason for reason in reasons])
    longer = np.zeros(estimate.shape)
    adjusted = isinstance(statistic, Ratios) and not symmetric
    if adjusted:
        parts = zip(influence.T[known], size.T[known], strict=True)
        longer[known] = [
            long_tail(one, weight, times)
            if common is None
            else common.longer(effective_clusters(weight, times))
            for one, weight in parts
        ]
    below, above = se * (1 + np.maximum(-longer, 0.0)), se * (1 + np.maximum(longer, 0.0))
    t = stdtrit(df, (1 + level) / 2)
    low, high = np.where(known, estimate - t * below, np.nan), np.where(known, estimate + t * above, np.nan)
    distance = np.full(estimate.shape, np.nan)
    np.divide(np.abs(estimate - nulls), np.where(nulls > estimate, above, below), out=distance, where=known)
    p_value = 2 * stdtr(df, -distance)
    return ClusterT(estimate, se, df, int(times.sum()), low, high, p_value, level, reasons, error, adjusted)


def carried_weights(totals: Floats, statistic: Statistic, n_values: int) -> Floats:
    """Return how much of each value every cluster carries, shape (clusters, values), as totals and statistic tell."""
    if isinstance(statistic, Ratios):
        return totals[:, list(statistic.below)]
    counts = totals[:, (totals >= 0).all(axis=0)]
    found = counts.max(axis=1, initial=0.0)
    if not ((counts == found[:, None]).all(axis=0).any() and found.any()):
        # Whole numbers without a column that counts all are counts in cells; else nothing tells the sizes.
        cells = counts.shape == totals.shape and bool((totals == np.rint(totals)).all())
        found = totals.sum(axis=1) if cells else np.ones(len(totals))
    return np.repeat(found[:, None], n_values, axis=1)


def _given_weights(weights: ArrayLike, multiplicity: ArrayLike | None, n_rows: int, n_values: int) -> Floats:
    """Return given weights of the rows that occur, shape (clusters, values)."""
    given = np.asarray(weights, dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    n_all = n_rows if multiplicity is None else np.size(multiplicity)
    if given.shape not in {(n_all, 1), (n_all, n_values)} or not (given >= 0).all():
        wanted = f"({n_all},) or ({n_all}, {n_values}), none below 0"
        raise ValueError(f"weights must have shape {wanted}; got shape {np.shape(weights)}")
    kept = given if multiplicity is None else given[np.asarray(multiplicity) > 0]
    return np.broadcast_to(kept, (n_rows, n_values))


def _own_error(influence: Floats, weights: Floats, se: float, times: Ints) -> float:
    """Return the error that leaves out one cluster at a time; the plain one where there is none, or one has all."""
    if not se > 0 or times[weights > 0].sum() < 2:
        return se
    return left_out_error(influence, weights, times)


def cluster_estimate(
    name: str,
    totals: Floats,
    statistic: Statistic,
    n: int,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    note: str = "",
    error: Error = "linearised",
    tested: bool = True,
    weights: ArrayLike | None = None,
    symmetric: bool = False,
    common: CommonSkewness | None = None,
    least: float = 0.0,
) -> Estimate:
    """Return the first value of a statistic of cluster sums with its t interval; of one cluster without, and why.

    Parameters are those of :func:`cluster_t` and :meth:`ClusterT.to_estimate`; `n` are the observations behind the
    totals, limits are cut at `bounds`, and `tested` keeps the p-value of 0.

    Parameters
    ----------
    name : str
        What is estimated.
    totals : ndarray of float, shape (clusters, columns)
        Sums of each cluster.
    statistic : callable
        Sums of shape (m, columns) to values of shape (m, p).
    n : int
        Observations behind the totals.
    level : float
        Coverage aimed at, in (0, 1).
    bounds : tuple of float
        Where limits are cut.
    note : str
        For the estimate.
    error : {"linearised", "jackknife"}
        How the error is made.
    tested : bool
        Whether the estimate has a p-value of 0.
    weights : array_like of float, shape (clusters,), optional
        As for :func:`cluster_t`.
    symmetric : bool
        As for :func:`cluster_t`.
    common : CommonSkewness, optional
        As for :func:`cluster_t`.
    least : float
        As for :func:`cluster_t`.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from d3stats.resampling import ratios
    >>> totals = np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 4.0], [3.0, 3.0]])
    >>> print(cluster_estimate("share", totals, ratios((0, 1)), 11, bounds=(0.0, 1.0)))
    share: 0.545 [0.000, 1.000] (95 % skewness-adjusted cluster t, n = 11 in 4 clusters)
    """
    if len(totals) > 1:
        how: dict[str, Any] = {"weights": weights, "symmetric": symmetric, "common": common, "least": least}
        found = cluster_t(totals, statistic, level=level, error=error, **how)
        return found.to_estimate(name, n, bounds=bounds, note=note, tested=tested)
    value = float(np.ravel(statistic(totals.sum(axis=0)[None]))[0])
    note = "; ".join(part for part in (note, ONE_CLUSTER) if part)
    size: dict[str, Any] = {"n": n, "n_clusters": len(totals), "level": level, "note": note}
    return Estimate(name=name, value=value, low=None, high=None, kind="cluster t", **size)


def item_ratio(
    name: str,
    above: ArrayLike,
    below: ArrayLike,
    cluster: ArrayLike,
    *,
    level: float = 0.95,
    tested: bool = True,
) -> Estimate:
    """Return the ratio of two sums over items with its t interval over clusters; with a `below` of 1 it is a mean.

    The standard error is the larger of those that :func:`cluster_t` and :func:`item_ratio_error` make.

    Parameters
    ----------
    name : str
        What is estimated.
    above, below : array_like of float, shape (items,)
        What each item adds to either sum.
    cluster : array_like of int, shape (items,)
        The cluster of each item, numbered from 0.
    level : float
        Coverage aimed at, in (0, 1).
    tested : bool
        Whether the estimate has a p-value of 0.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> print(item_ratio("rounds", [1, 2, 2, 3, 1, 3, 2, 2], np.ones(8), [0, 0, 1, 1, 2, 2, 3, 3], tested=False))
    rounds: 2.000 [1.350, 2.650] (95 % skewness-adjusted cluster t, n = 8 in 4 clusters)
    """
    parts = np.column_stack([np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)])
    codes = np.asarray(cluster, dtype=np.int64)
    totals, least = cluster_totals(parts, codes), item_ratio_error(parts[:, 0], parts[:, 1], codes)
    return cluster_estimate(name, totals, ratios((0, 1)), len(parts), level=level, tested=tested, least=least)


def item_ratio_error(above: Floats, below: Floats, cluster: Ints) -> float:
    """Return the standard error of a ratio of two sums over items if all items are alike (:func:`item_error`).

    Where a few large clusters happen to agree, the error that leaves out one cluster at a time is too small.

    Parameters
    ----------
    above, below, cluster
        As for :func:`item_ratio`.

    Returns
    -------
    float
        0 where there are fewer than two clusters, or the second sum is not above 0.

    Examples
    --------
    >>> round(item_ratio_error(np.array([1.0, 2, 2, 3, 1, 2]), np.ones(6), np.array([0, 0, 1, 1, 2, 2])), 4)
    0.3333
    """
    counted = (above != 0) | (below != 0)
    items, whole = int(counted.sum()), float(below.sum())
    if not whole > 0:
        return 0.0
    apart = (above - below * (float(above.sum()) / whole))[counted] * (items / whole)
    totals = cluster_totals(np.column_stack([apart, np.ones(items)]), cluster[counted])
    totals = totals[totals[:, 1] > 0]
    return item_error(totals[:, 0], totals[:, 1], float((apart**2).mean())) if len(totals) > 1 else 0.0


def long_tail(influence: Floats, weights: Floats, times: Ints) -> float:
    """Return by what share the error is larger on the side of a long tail: above the value, or below where negative."""
    n = effective_clusters(weights, times)
    own = influence / (1 - weights / (times @ weights))
    square = float(times @ own**2)
    if n <= 2 or square <= 0:
        return 0.0
    k = float(times @ own**3) / square**1.5
    usual = float(np.sqrt(6 * (n - 2) / (n * (n + 1) * (n + 3))))
    times_k = min(_TIMES + _FEW / n, _MOST)
    alike = float(np.clip(np.sign(k) * _mean_over_median(influence, weights, times) - _bulk(n), 0.0, 1.0))
    return float(np.copysign(times_k * max(abs(k) - usual / 2, 0.0) * alike, k))


class CommonSkewness(NamedTuple):
    """Skewness of the values of clusters, and how many equal clusters show it."""

    value: float
    n: float

    def longer(self, n: float) -> float:
        """Return by what share the error of a mean of `n` of these clusters is larger on the side of the long tail."""
        few = _OF_SHOWN + _OF_ALL * n / self.n
        return min((_COMMON + _COMMON_FEW / n) * few, _MOST_COMMON) * self.value / float(np.sqrt(n))


def common_skewness(groups: Sequence[Floats]) -> CommonSkewness | None:
    """Return the skewness of clusters about the means of their groups; None where no group has two clusters.

    `groups` have each cluster's sum of values and its size, shape (clusters, 2). A group of five clusters shows next
    to nothing of a tail, and all groups together do.
    """
    away, weights = [], []
    for totals in groups:
        size = totals[:, 1]
        share = size / max(float(size.sum()), 1e-300)
        if len(totals) > 1 and share.max() < 1:
            mean = totals[:, 0].sum() / size.sum()
            away.append((totals[:, 0] - mean * size) / (1 - share) / size.mean())
            weights.append(size / size.mean())
    if not away:
        return None
    influence, weight = np.concatenate(away), np.concatenate(weights)
    once, n = np.ones(len(weight), dtype=np.int64), effective_clusters(weight)
    square = float((influence**2).mean())
    if n <= 2 or square <= 0:
        return CommonSkewness(0.0, n)
    skewness = float((influence**3).mean()) / square**1.5
    usual = float(np.sqrt(6 * n * (n - 2) / ((n + 1) * (n + 3))) / np.sqrt(n))
    alike = float(np.clip(np.sign(skewness) * _mean_over_median(influence, weight, once), 0.0, 1.0))
    return CommonSkewness(float(np.copysign(max(abs(skewness) - usual / 2, 0.0) * alike, skewness)), n)


def _bulk(n: float) -> float:
    """Return where a tail of n clusters starts to count: always with ten, with 20 and more beyond half an error."""
    return 0.5 - max(2 * (20 / n - 1), 0.0)


def _mean_over_median(influence: Floats, weights: Floats, times: Ints) -> float:
    """Return how far the mean of the clusters is above their median, in errors that normal clusters have."""
    kept = weights > 0
    each, of_each = weights[kept] * times[kept], influence[kept] / weights[kept]
    whole, n = float(each.sum()), effective_clusters(weights, times)
    spread = float(np.sqrt(each @ of_each**2 / whole))
    return (
        float(-_weighted_median(of_each, each) / spread * np.sqrt(n) / _MEDIAN_ERROR) if spread > 0 else 0.0
    )


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the value with half of the weight on either side, between two such values their mean."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    at = int(np.searchsorted(below, 0.5 - _FLAT))
    following = min(at + 1, len(values) - 1) if below[at] < 0.5 + _FLAT else at
    return float(values[order[at]] + values[order[following]]) / 2


def student_limits(value: float, se: float, df: float, level: float) -> tuple[float, float, float]:
    """Return the limits value -+ t * se, and the two-sided p-value of 0, by Student's t of `df`.

    Parameters
    ----------
    value, se : float
        An estimate and its standard error.
    df : float
        Degrees of freedom.
    level : float
        Coverage aimed at, in (0, 1).

    Returns
    -------
    tuple of float
        Lower limit, upper limit, p-value.

    Examples
    --------
    >>> [round(number, 4) for number in student_limits(0.05, 0.0219, 5, 0.95)]
    [-0.0063, 0.1063, 0.0713]
    """
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(df, (1 + level) / 2)) * se
    return value - half, value + half, 2 * float(stdtr(df, -abs(value) / se))


def linearised(totals: Floats, times: Ints, statistic: Statistic) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return each cluster's influence (clusters, p), the error (p,) if sizes are equal, and "" or why it is none."""
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
    return influence, np.where(flat, 0.0, se), reasons


def _left_out_error(
    totals: Floats,
    times: Ints,
    statistic: Statistic,
    centre: Floats | None,
    se: Floats,
    reasons: tuple[str, ...],
) -> tuple[Floats, tuple[str, ...]]:
    """Return the error (p,) from the statistic without each cluster; where linearising found none, that stays."""
    without = evaluate(statistic, times @ totals - totals)
    n = int(times.sum())
    away = without - (times @ without / n if centre is None else centre)
    own = np.sqrt((n - 1) / n * (times @ away**2))
    reasons = tuple(why or UNDEFINED * bool(np.isnan(x)) for why, x in zip(reasons, own, strict=True))
    return np.where([bool(why) and why != UNDEFINED for why in reasons], se, own), reasons


class Hotelling(NamedTuple):
    """Hotelling's test that several means are zero; `f` and `p_value` are None where there is no test.

    Attributes
    ----------
    f : float or None
        Hotelling's F; None where there is no test.
    df1, df2 : int
        Its degrees of freedom.
    p_value : float or None
        None where there is no test.

    Examples
    --------
    >>> hotelling([[1.0, 0.0], [1.0, 1.0]])
    Hotelling(f=None, df1=2, df2=0, p_value=None)
    """

    f: float | None
    df1: int
    df2: int
    p_value: float | None


def hotelling(totals: ArrayLike) -> Hotelling:
    """Test that every column of cluster totals, shape (clusters, q), has mean zero (Hotelling, 1931).

    ``F = (G - q) / (q (G - 1)) T^2`` with T^2 = G m' S^-1 m, compared with F(q, G - q). There is no test
    with G <= q, or where a column does not vary or is a combination of others.

    Parameters
    ----------
    totals : array of float, shape (clusters, q)
        Sums of each cluster.

    Returns
    -------
    Hotelling

    Examples
    --------
    >>> test = hotelling([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0], [1.0, 3.0]])
    >>> round(test.f, 3), test.df1, test.df2, round(test.p_value, 3)
    (3.316, 2, 2, 0.232)
    """
    from scipy.special import fdtrc

    array = np.asarray(totals, dtype=np.float64)
    g, q = array.shape
    untested = Hotelling(None, q, g - q, None)
    if q == 0 or g <= q:
        return untested
    mean = array.mean(axis=0)
    centred = array - mean
    # One scale per column, so that a thin cell and a full one are told apart from a singular matrix alike.
    scale = np.sqrt((centred**2).sum(axis=0) / (g - 1))
    if (scale <= _FLAT * np.abs(array).max(axis=0)).any():
        return untested
    correlation = (centred / scale).T @ (centred / scale) / (g - 1)
    if np.linalg.cond(correlation) > 1e10:
        return untested
    t2 = g * float((mean / scale) @ np.linalg.solve(correlation, mean / scale))
    f = (g - q) / (q * (g - 1)) * t2
    return Hotelling(f, q, g - q, float(fdtrc(q, g - q, f)))
