"""Worth of clusters of unequal size: effective number, degrees of freedom, and two errors of a mean.

One rule for every share, mean, paired difference and linearised statistic of cluster sums. Clusters of sizes w count
as ``(sum w)^2 / sum w^2`` clusters of equal size (Kish, 1965). An interval has that number less one as its degrees of
freedom, and the error that leaves out one cluster at a time. Below `LEAST_EFFECTIVE` there is no interval. With
clusters of equal size all this is Student's t of cluster means, with clusters - 1 degrees of freedom.

None of it depends on what was observed, so that it does not jump when one item changes. The candidates were clusters -
1, Satterthwaite's number under equal variances of cluster means (Bell and McCaffrey), Kish's number, and Kish's less
one. The last holds 95 % limits of normal means at .93 or more in every design that was tried. With 2 clusters of 50
beside 18 of 2, clusters - 1 covers .71 and this .96. Bell and McCaffrey's covers 1.00, with limits up to three times as
far apart.

To use it: :func:`~d3stats.resampling.cluster_t` and :func:`~d3stats.resampling.share_limits` apply the rule; with an
error of one's own, ask :func:`too_unequal` first, then take :func:`degrees_of_freedom` of the same weights.

References
----------
Kish (1965), Survey Sampling, section 11.7. Bell and McCaffrey (2002), Survey Methodology 28, 169 (leaving out one).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats._arrays import Floats
from d3stats.note import warning
from d3stats.resampling.clusters import ONE_CLUSTER

__all__ = [
    "LEAST_EFFECTIVE",
    "changed_degrees",
    "degrees_of_freedom",
    "effective_clusters",
    "item_error",
    "left_out_error",
    "mean_error",
    "too_unequal",
    "unequal_clusters",
]


UNEQUAL = "equal clusters and their variation is unknown"
"""End of the reason for no interval where one cluster has most of the weight."""
LEAST_EFFECTIVE = 2.0
"""With fewer effective clusters there is no interval, as with a single one."""
_LEAST_CHANGED = 2.0
"""With one degree of freedom, t limits are wider than any count of changes can be."""
_ROUNDING = 1e-9
_TRACE = 1e-12
"""A change below this share of what was added up is rounding."""


def effective_clusters(weights: ArrayLike, times: ArrayLike | None = None) -> float:
    """Return how many equal clusters clusters of these sizes are worth, ``(sum w)^2 / sum w^2`` (Kish, 1965).

    Parameters
    ----------
    weights : array_like of float, shape (clusters,)
        Sizes of the clusters, at least 0: items, or what the statistic divides by.
    times : array_like of int, shape (clusters,), optional
        How often each occurs; by default once.

    Returns
    -------
    float
        At most the number of clusters whose size is above 0; 0 where there is none.

    Examples
    --------
    >>> effective_clusters([5, 5, 5, 5]), round(effective_clusters([100] + 9 * [1]), 2)
    (4.0, 1.19)
    """
    size = np.asarray(weights, dtype=np.float64)
    each = np.ones(len(size)) if times is None else np.asarray(times, dtype=np.float64)
    largest = float(size.max(initial=0.0))
    if largest <= 0:
        return 0.0
    share = size / largest
    return float(each @ share) ** 2 / float(each @ share**2)


def degrees_of_freedom(weights: ArrayLike, times: ArrayLike | None = None) -> float:
    """Return the degrees of freedom of a statistic of clusters of these sizes: :func:`effective_clusters` less one.

    Parameters
    ----------
    weights, times
        As for :func:`effective_clusters`.

    Returns
    -------
    float
        Clusters - 1 where sizes are equal; at least 1, since with less no interval is made (:func:`too_unequal`).

    Examples
    --------
    >>> degrees_of_freedom([5, 5, 5, 5]), round(degrees_of_freedom([50, 50] + 18 * [2]), 2)
    (3.0, 2.65)
    """
    effective = effective_clusters(weights, times)
    whole = round(effective)
    # Equal sizes give a whole number, whatever rounding makes of it.
    return max((float(whole) if abs(effective - whole) < _ROUNDING * whole else effective) - 1, 1.0)


def changed_degrees(items: Floats, distances: Sequence[Floats], usual: Sequence[Floats] = ()) -> float:
    """Return the degrees of freedom of a mean change whose items mostly did not change, or all changed alike.

    A cluster that did not change says nothing of how large changes are, nor does one that changed as most did. So the
    number is at most that of the other clusters, and at most their share of the items times what all are worth. It is
    at least 2, unless all clusters are worth less than 3. Each array of `distances` and `usual` is how far the clusters
    (of `items`) are from one such change; those of `usual` also count as what each cluster is worth.
    """
    kish, apart = effective_clusters(items), np.inf
    for distance in (*distances, *usual):
        other = distance > _TRACE * items
        apart = min(apart, float(items[other].sum() / items.sum()) * kish, int(other.sum()))
    apart = min([apart, *(effective_clusters(distance) for distance in usual)])
    return min(degrees_of_freedom(items), max(apart, _LEAST_CHANGED))


def too_unequal(weights: ArrayLike, times: ArrayLike | None = None, *, what: str = "items") -> str:
    """Say why clusters of these sizes carry no interval, "" where they do.

    Parameters
    ----------
    weights, times
        As for :func:`effective_clusters`.
    what : str
        What the sizes count.

    Returns
    -------
    str

    Examples
    --------
    >>> too_unequal([100] + 9 * [1])
    'one cluster has 100 of 109 items, so all 10 count as 1.2 equal clusters and their variation is unknown'
    >>> too_unequal([3, 3])
    ''
    """
    size = np.asarray(weights, dtype=np.float64)
    effective = effective_clusters(size, times)
    if effective >= LEAST_EFFECTIVE * (1 - _ROUNDING):
        return ""
    each = np.ones(len(size)) if times is None else np.asarray(times, dtype=np.float64)
    held = int(each[size > 0].sum())
    if held < 2:
        return ONE_CLUSTER
    return (
        f"one cluster has {size.max():.6g} of {each @ size:.6g} {what}, so all {held} count as {effective:.1f} "
        f"{UNEQUAL}"
    )


def left_out_error(influence: Floats, weights: Floats, times: ArrayLike | None = None) -> float:
    """Return the standard error of a statistic from the influence of each cluster, leaving each out in turn.

    With shares h of the weights, ``se^2 = (G - 1) / G * sum (influence / (1 - h))^2``: the jackknife about the estimate
    (CR3; Bell and McCaffrey, 2002), exact for a ratio of sums. G counts the clusters whose weight is above 0.

    Parameters
    ----------
    influence : ndarray of float, shape (clusters,)
        What each cluster adds to the linearised statistic.
    weights : ndarray of float, shape (clusters,)
        Sizes of the clusters, two of them at least above 0.
    times : array_like of int, shape (clusters,), optional
        How often each occurs; by default once.

    Returns
    -------
    float

    Examples
    --------
    >>> mean_of_four = np.array([-0.3, 0.1, 0.4, -0.2]) / 4
    >>> float(round(left_out_error(mean_of_four, np.ones(4)) / np.std([-0.3, 0.1, 0.4, -0.2], ddof=1), 12))
    0.5
    """
    each = np.ones(len(weights)) if times is None else np.asarray(times, dtype=np.float64)
    share = weights / (each @ weights)
    held = float(each[weights > 0].sum())
    return float(np.sqrt((held - 1) / held * (each @ (influence / (1 - share)) ** 2)))


def item_error(away: Floats, sizes: Floats, variance: float) -> float:
    """Return the standard error of a mean over items if all items are alike in variance and in correlation.

    The correlation within clusters is that which clusters show when each item counts alike; so a small cluster that is
    far off counts as it does not in :func:`left_out_error`. That error sees no variation where the large clusters
    happen to agree. With clusters of equal size both are the same.

    Parameters
    ----------
    away : ndarray of float, shape (clusters,)
        Each cluster's sum of values minus the mean times its size.
    sizes : ndarray of float, shape (clusters,)
        Items in each cluster, above 0.
    variance : float
        Variance of an item.

    Returns
    -------
    float

    Examples
    --------
    >>> away = np.array([-0.5, 1.0, -1.0, 0.5])
    >>> round(item_error(away, np.full(4, 3.0), 0.25), 6), round(left_out_error(away / 12, np.full(4, 3.0)), 6)
    (0.152145, 0.152145)
    """
    total, clusters = float(sizes.sum()), len(sizes)
    share = sizes / total
    correlation = 0.0
    if variance > 0 and total > clusters * (1 + _ROUNDING):
        found = float((away**2 / (sizes * (1 - share))).sum()) / variance
        correlation = min((found - clusters) / (total - clusters), 1.0)
    square = variance * (correlation * float(share @ share) + (1 - correlation) / total)
    return float(np.sqrt(max(square, 0.0)))


def mean_error(away: Floats, sizes: Floats, variance: float) -> float:
    """Return the larger of both errors of a mean over items: :func:`left_out_error` and :func:`item_error`."""
    return max(left_out_error(away / sizes.sum(), sizes), item_error(away, sizes, variance))


def unequal_clusters(clusters: Iterable[str], unit: str, of: str) -> list[str]:
    """Warn of a cluster that has so much of the data that intervals are wide, or are not made; nothing of equal ones.

    Parameters
    ----------
    clusters : iterable of str
        The cluster of each row.
    unit, of : str
        What a cluster is called, and what a row is.

    Returns
    -------
    list of str
        At most one warning.

    Examples
    --------
    >>> len(unequal_clusters(["q1", "q2"] * 20, "question", "debate"))
    0
    >>> unequal_clusters(["q1"] * 9 + ["q2"], "question", "debate")[0].about
    'q1'
    """
    sizes = pd.Series(list(clusters), dtype=object).value_counts()
    if len(sizes) < 2:
        return []
    worth, unequal = effective_clusters(sizes), bool(too_unequal(sizes))
    if not unequal and worth >= len(sizes) / 2:
        return []
    effect = "so shares, means and differences have no interval" if unequal else "so intervals are wide"
    text = (
        f"{unit} {sizes.index[0]!r} has {sizes.iloc[0]:,} of {sizes.sum():,} {of}s: the {len(sizes):,} "
        f"{unit}s count as {worth:z.1f} equal ones, {effect}"
    )
    return [warning(text, "unequal questions", about=str(sizes.index[0]), n=int(sizes.iloc[0]))]
