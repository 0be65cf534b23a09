"""Clusters and their sums: codes, totals, resampled totals, derivatives of a statistic, intraclass correlation.

Debates of one question are not independent, so whole questions (clusters) are resampled. A statistic that is a function
of sums needs only each cluster's sums. A replicate is a row of weights times a table of cluster totals, so that no row
of data is copied and no loop runs over replicates. Clusters with equal sums are exchangeable; drawing G of G clusters
is therefore one multinomial over the distinct rows, at any number of debates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, integer, whole_numbers

__all__ = [
    "FEW_CLUSTERS",
    "FEW_FOR_PERCENTILES",
    "ONE_CLUSTER",
    "Ratios",
    "Statistic",
    "anova_sums",
    "cluster_codes",
    "cluster_totals",
    "intraclass",
    "jackknife",
    "mean_squares",
    "ratios",
    "resampled_counts",
    "resampled_totals",
    "swapped_totals",
]

Statistic = Callable[[Floats], Floats]
"""Sums of shape (m, q) to values of shape (m, p) or (m,), row by row; NaN where undefined."""

FEW_CLUSTERS = 10
"""With fewer clusters an interval rests on how alike they happen to be, and carries a note."""
FEW_FOR_PERCENTILES = 30
"""With fewer clusters percentile limits are too short: 95 % limits of a mean cover 90 % at 10 clusters, 94 % at 30."""
ONE_CLUSTER = "a single cluster, so the variation between clusters is unknown"
"""The reason for no interval when all data are of one cluster."""

MOST_UNITS = 10_000
"""From twice as many distinct clusters on they are drawn in groups, never fewer than so many."""

_CHUNK_ELEMENTS = 1 << 22
_CACHED_ELEMENTS = 1 << 15
"""How many single draws are made, counted and added up before they leave the processor's cache."""
_MULTINOMIAL_COST = 12
"""How many uniform draws one binomial draw of a multinomial costs, as measured."""
_BLOCK_ELEMENTS = 1 << 16


def cluster_codes(labels: Any, size: int, *, name: str = "cluster", unit: str = "row") -> Ints:
    """Return whole numbers 0, 1, ... for cluster labels, numbered by first appearance; each row its own where None.

    Labels, shape (size,), are any values that can be hashed; errors call the argument `name` and its rows `unit`.

    Parameters
    ----------
    labels : sequence, shape (size,), or None
        Any values that can be hashed; each row is its own cluster where None.
    size : int
        Number of rows.
    name, unit : str
        What errors call the argument and its rows.

    Returns
    -------
    ndarray of int64, shape (size,)

    Raises
    ------
    ValueError
        Not one label per row, or a missing one.

    Examples
    --------
    >>> cluster_codes(["q7", "q2", "q7"], 3).tolist()
    [0, 1, 0]
    """
    if labels is None:
        return np.arange(size)
    # A list that numpy turns into texts would hide a missing label as 'nan' or 'None'.
    array = labels if hasattr(labels, "dtype") else _objects(labels)
    if np.shape(array) != (size,):
        raise ValueError(f"{name} must have one name per {unit} ({size}); got shape {np.shape(array)}")
    codes, _ = pd.factorize(array)
    if (codes < 0).any():
        raise ValueError(f"{name} must name every {unit}; got a missing name at row {int(np.argmin(codes))}")
    return codes.astype(np.int64)


def _objects(labels: Any) -> NDArray[Any]:
    try:
        listed = list(labels)
    except TypeError:
        return np.asarray(labels)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def cluster_totals(values: Floats, cluster: Ints) -> Floats:
    """Sum rows by cluster: shape (clusters that occur, columns), clusters in ascending order of code.

    Parameters
    ----------
    values : ndarray of float, shape (rows, columns) or (rows,)
        What is summed.
    cluster : ndarray of int, shape (rows,)
        Codes of clusters.

    Returns
    -------
    ndarray of float, shape (clusters, columns)

    Examples
    --------
    >>> cluster_totals(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]), np.array([4, 4, 7])).tolist()
    [[1.0, 2.0], [1.0, 1.0]]
    """
    n_clusters, index = _occurring(cluster)
    total = np.empty((n_clusters, values.shape[1]))
    for column in range(values.shape[1]):
        total[:, column] = np.bincount(index, weights=values[:, column], minlength=n_clusters)
    return total


def _occurring(codes: Ints) -> tuple[int, Ints]:
    """Return how many different codes occur, and where each entry is among them, sorted; without sorting if it can."""
    if len(codes) and codes.min() >= 0 and codes.max() < 4 * len(codes):
        occurs = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
        occurs[codes] = True
        place = np.cumsum(occurs) - 1
        return int(place[-1]) + 1, place[codes]
    known, index = np.unique(codes, return_inverse=True)
    return len(known), index


def resampled_counts(cells: ArrayLike, n_boot: int, rng: RngLike) -> Ints:
    """Return `n_boot` bootstrap draws of counts in cells: as many observations as there are, with replacement.

    The exact bootstrap of anything that is a function of counts: 0/1 values, paired 0/1 values, confusion tables.
    Drawing n rows of which `cells` are alike is one multinomial (Efron, 1979), for every n.

    Parameters
    ----------
    cells : array_like of int, shape (q,)
        How many observations each cell has; flatten a table first.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.

    Returns
    -------
    ndarray of int, shape (n_boot, q)

    Raises
    ------
    ValueError
        Cells that are not whole numbers >= 0, or all 0.

    Examples
    --------
    >>> resampled_counts([30, 10], n_boot=3, rng=0).sum(axis=1).tolist()
    [40, 40, 40]
    """
    counts = whole_numbers("cells", cells)
    n_boot = integer("n_boot", n_boot, minimum=1)
    n = int(counts.sum())
    if n == 0:
        raise ValueError(f"cells must hold at least one observation; got {counts.tolist()}")
    return as_rng(rng).multinomial(n, counts / n, size=n_boot)


def resampled_totals(totals: Floats, n_boot: int, rng: RngLike) -> Floats:
    """Return sums, shape (n_boot, columns), of as many clusters as there are, drawn with replacement.

    Exact for fewer than ``2 * MOST_UNITS`` clusters, or for more of which many are alike. Other clusters are first put
    together at random into at least ``MOST_UNITS`` groups of equal size, and the groups are drawn. The law is the same
    to first order. The relative error of the standard error is at most 1 / sqrt(2 * MOST_UNITS), 0.7 %, below the Monte
    Carlo error of 2000 draws.

    Parameters
    ----------
    totals : ndarray of float, shape (clusters, columns)
        Sums of each cluster.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    ndarray of float, shape (n_boot, columns)

    Examples
    --------
    >>> resampled_totals(np.array([[1.0, 2.0], [0.0, 2.0]]), 4, 0)[:, 1].tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    n_boot = integer("n_boot", n_boot, minimum=1)
    generator = as_rng(rng)
    rows, multiplicity = _distinct(totals)
    pooled = len(rows) <= _worth_pooling(len(totals))
    table = rows if pooled else _grouped(totals, generator)
    n_clusters = len(totals) if pooled else len(table)
    shares = multiplicity / multiplicity.sum()
    out = np.empty((n_boot, totals.shape[1]))
    step = max(1, (_CHUNK_ELEMENTS if pooled else _CACHED_ELEMENTS) // max(len(table), 1))
    for low in range(0, n_boot, step):
        size = min(step, n_boot - low)
        if pooled:
            weights = generator.multinomial(n_clusters, shares, size=size)
        else:
            drawn = generator.integers(n_clusters, size=(size, n_clusters))
            drawn += (np.arange(size) * n_clusters)[:, None]
            weights = np.bincount(drawn.ravel(), minlength=size * n_clusters).reshape(size, n_clusters)
        out[low : low + size] = weights.astype(np.float64) @ table
    return out


def swapped_totals(totals: Floats, n_draws: int, rng: RngLike) -> Floats:
    """Return sums, shape (n_draws, columns), of cluster totals with fair random signs.

    The permutation null of a paired difference: swapping a cluster's two conditions negates its totals.

    Parameters
    ----------
    totals : ndarray of float, shape (clusters, columns)
        Sums of each cluster.
    n_draws : int
        Number of replicates.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    ndarray of float, shape (n_draws, columns)

    Examples
    --------
    >>> drawn = swapped_totals(np.array([[1.0], [3.0]]), 1000, 0)
    >>> sorted(set(drawn[:, 0].tolist()))
    [-4.0, -2.0, 2.0, 4.0]
    """
    n_draws = integer("n_draws", n_draws, minimum=1)
    generator = as_rng(rng)
    rows, multiplicity = _distinct(totals)
    out = np.empty((n_draws, totals.shape[1]))
    step = max(1, _CHUNK_ELEMENTS // max(len(rows), 1))
    for low in range(0, n_draws, step):
        size = min(step, n_draws - low)
        kept = generator.binomial(multiplicity, 0.5, size=(size, len(rows)))
        out[low : low + size] = (2.0 * kept - multiplicity) @ rows
    return out


def _grouped(totals: Floats, generator: np.random.Generator) -> Floats:
    n_clusters = len(totals)
    size = n_clusters // MOST_UNITS
    if size <= 1:
        return totals
    order = generator.permutation(n_clusters)
    starts = np.arange(0, n_clusters, size)
    groups: Floats = np.add.reduceat(totals[order], starts, axis=0)
    # Groups of unequal size would add noise to every sum, so that a short last one is filled up with average clusters.
    missing = len(starts) * size - n_clusters
    if missing:
        groups[-1] += missing * totals.mean(axis=0)
        groups *= n_clusters / (n_clusters + missing)
    return groups


def _distinct(totals: Floats) -> tuple[Floats, Ints]:
    # A mix of the columns with irrational weights tells rows apart at the price of sorting one column; column
    # by column, so that equal rows round equally.
    mix = np.zeros(len(totals))
    for column, weight in enumerate(np.sqrt(np.arange(2.0, 2.0 + totals.shape[1]))):
        mix += totals[:, column] * weight
    values, first, inverse, multiplicity = np.unique(
        mix, return_index=True, return_inverse=True, return_counts=True
    )
    if len(values) <= _worth_pooling(len(totals)):
        rows = totals[first]
        if np.array_equal(rows[inverse], totals):
            return rows, multiplicity.astype(np.int64)
    return totals, np.ones(len(totals), dtype=np.int64)


def _worth_pooling(n_clusters: int) -> int:
    """Return the number of distinct rows up to which one multinomial is cheaper than single draws."""
    return min(n_clusters, 3 * MOST_UNITS) // _MULTINOMIAL_COST


@dataclass(frozen=True)
class Ratios:
    """The statistic of ratios of sums: columns `above` over columns `below`, NaN where below is not above 0.

    Attributes
    ----------
    above, below : tuple of int
        The columns of each ratio; `below` says how much of it every cluster carries.

    Examples
    --------
    >>> import numpy as np
    >>> Ratios((0,), (1,))(np.array([[3.0, 4.0], [1.0, 0.0]]))[:, 0]
    array([0.75,  nan])
    """

    above: tuple[int, ...]
    below: tuple[int, ...]

    def __call__(self, sums: Floats) -> Floats:
        bottom = sums[:, list(self.below)]
        result = np.full(bottom.shape, np.nan)
        np.divide(sums[:, list(self.above)], bottom, out=result, where=bottom > 0)
        return result


def ratios(*pairs: tuple[int, int]) -> Ratios:
    """Return the statistic of ratios of sums: column `above` over column `below`, NaN where below is not above 0.

    Parameters
    ----------
    *pairs : tuple of int
        The columns above and below of each ratio.

    Returns
    -------
    Ratios
        A callable from sums of shape (m, columns) to ratios of shape (m, pairs).

    Examples
    --------
    >>> import numpy as np
    >>> ratios((0, 1))(np.array([[3.0, 4.0], [1.0, 0.0]]))[:, 0]
    array([0.75,  nan])
    """
    return Ratios(tuple(above for above, _ in pairs), tuple(below for _, below in pairs))


def jackknife(totals: ArrayLike, statistic: Statistic) -> Floats:
    """Return the statistic without each cluster in turn, shape (clusters, p); NaN where it is undefined then.

    Parameters
    ----------
    totals : array of float, shape (clusters, columns)
        Sums of each cluster.
    statistic : callable
        Sums of shape (m, columns) to values of shape (m, p).

    Returns
    -------
    ndarray of float, shape (clusters, p)

    Raises
    ------
    ValueError
        Fewer than two clusters.

    Examples
    --------
    >>> jackknife([[1, 2], [2, 2], [0, 4]], ratios((0, 1)))[:, 0].round(3).tolist()
    [0.333, 0.167, 0.75]
    """
    array, _ = checked_totals(totals, None)
    whole: Floats = array.sum(axis=0)
    return evaluate(statistic, whole - array)


def checked_totals(totals: ArrayLike, multiplicity: ArrayLike | None) -> tuple[Floats, Ints]:
    """Return totals (clusters, q) and how often each row occurs; rows that do not occur are dropped."""
    array = np.asarray(totals, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"totals must have shape (clusters, columns); got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise ValueError(f"totals must be finite; got {array[row].tolist()} at cluster {row}")
    if multiplicity is None:
        times = np.ones(len(array), dtype=np.int64)
    else:
        times = whole_numbers("multiplicity", multiplicity)
        if len(times) != len(array):
            raise ValueError(f"multiplicity must have one value per row ({len(array)}); got {len(times)}")
        array, times = array[times > 0], times[times > 0]
    if times.sum() < 2:
        why = "because fewer clusters do not show the variation"
        raise ValueError(f"totals must have at least two clusters, {why}; got {int(times.sum())}")
    return array, times


def evaluate(statistic: Statistic, sums: Floats) -> Floats:
    """Call a statistic on sums (m, q) and return values (m, p), with NaN for each value that is not finite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.asarray(statistic(sums), dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(sums):
        wanted = f"sums of shape {sums.shape} to values of shape ({len(sums)}, p)"
        raise ValueError(f"statistic must map {wanted}; got shape {values.shape}")
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.nan)


def at_the_data(statistic: Statistic, sums: Floats) -> Floats:
    """Return the statistic (p,) at the data's own sums (q,), where it has to be defined."""
    value: Floats = evaluate(statistic, sums[None])[0]
    if not np.isfinite(value).all():
        column = int(np.argmin(np.isfinite(value)))
        raise ValueError(
            "statistic must be defined on the data themselves; it is undefined there "
            f"in its value {column} at sums {sums.tolist()}"
        )
    return value


def gradient(statistic: Statistic, sums: Floats, scale: Floats, *, fine: bool = False) -> Floats:
    """Return the derivatives (m, q, p) of a statistic at sums (m, q), by central differences.

    A step is a small share of a column's `scale` (q,); columns of scale 0 get derivative 0. `fine` takes four points
    (relative error about 1e-12) where two (1e-10) are enough for replicates.
    """
    epsilon = np.finfo(np.float64).eps
    step = epsilon ** (1 / 5 if fine else 1 / 3) * scale
    stencil = ((1.0, 2 / 3), (2.0, -1 / 12)) if fine else ((1.0, 1 / 2),)
    distance = np.array([sign * far for far, _ in stencil for sign in (1.0, -1.0)])
    weight = np.array([sign * share for _, share in stencil for sign in (1.0, -1.0)])
    # One shifted copy of the sums per distance and column, all of a block in one call.
    n_columns = len(step)
    shifts = (distance[:, None, None] * np.diag(step)).reshape(-1, 1, n_columns)
    block = max(1, _BLOCK_ELEMENTS // shifts.size)
    parts = []
    for low in range(0, len(sums), block):
        some = sums[low : low + block]
        values = evaluate(statistic, (some + shifts).reshape(-1, n_columns))
        change = np.tensordot(weight, values.reshape(len(distance), n_columns, len(some), -1), axes=1)
        parts.append(change.transpose(1, 0, 2))
    slope: Floats = np.concatenate(parts)
    moved = step[:, None] > 0
    return np.divide(slope, step[:, None], out=np.zeros_like(slope), where=moved)


def column_scale(totals: Floats, times: Ints) -> Floats:
    """Return how large each column of totals is, all clusters together."""
    size: Floats = times.astype(np.float64) @ np.abs(totals)
    return size


def anova_sums(values: Floats, codes: Ints) -> Floats:
    """Return the sums of a one-way analysis of variance by group, shape (groups, 6).

    Columns: 1, members n, n^2, their sum, sum^2 / n, and the sum of squares about the group's mean. Values are taken
    about their mean, so that nothing cancels. Their totals over groups, or over resampled groups, go into
    :func:`mean_squares`.

    Parameters
    ----------
    values : ndarray of float, shape (members,)
        What varies.
    codes : ndarray of int, shape (members,)
        Code of each member's group.

    Returns
    -------
    ndarray of float, shape (groups, 6)

    Examples
    --------
    >>> anova_sums(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).round(3).tolist()
    [[1.0, 2.0, 4.0, -2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 2.0, 4.0, 0.0]]
    """
    centred = values - values.mean()
    sums = cluster_totals(np.column_stack([np.ones(len(values)), centred]), codes)
    size, total = sums.T
    inside = (centred - (total / size)[np.unique(codes, return_inverse=True)[1]]) ** 2
    within = cluster_totals(inside[:, None], codes)[:, 0]
    return np.column_stack([np.ones(len(size)), size, size**2, total, total**2 / size, within])


def mean_squares(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean squares between and within groups and the typical group size n0, of rows of six totals.

    With G groups and N members, n0 = (N - sum n^2 / N) / (G - 1) (Searle, Casella and McCulloch, 1992, section 3.6).
    Within is NaN where every group has one member.

    Parameters
    ----------
    sums : ndarray of float, shape (rows, 6)
        Totals of :func:`anova_sums`.

    Returns
    -------
    tuple of ndarray of float, shape (rows,)
        Between groups, within groups, typical group size.

    Examples
    --------
    >>> sums = anova_sums(np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 1, 1])).sum(axis=0, keepdims=True)
    >>> [each.tolist() for each in mean_squares(sums)]
    [[16.0], [2.0], [2.0]]
    """
    groups, members, squares, whole, between, within = sums.T
    msb = np.maximum(between - whole**2 / members, 0.0) / (groups - 1)
    free = members - groups
    msw = np.where(free > 0, within / np.where(free > 0, free, 1.0), np.nan)
    return msb, msw, (members - squares / members) / (groups - 1)


def intraclass(between: ArrayLike, within: ArrayLike, size: ArrayLike) -> Floats:
    """Return the intraclass correlation of one-way analysis of variance from its mean squares and group size.

    ``(MSB - MSW) / (MSB + (n0 - 1) MSW)`` (Fisher, 1925); it can be negative, and is NaN where nothing varies.

    Parameters
    ----------
    between, within : array of float
        Mean squares between and within groups.
    size : array of float
        Typical group size.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> sums = anova_sums(np.array([1.0, 2.0, 4.0, 5.0]), np.array([0, 0, 1, 1]))
    >>> intraclass(*mean_squares(sums.sum(axis=0, keepdims=True))).round(3).tolist()
    [0.895]
    """
    msb, msw, n0 = (np.asarray(part, dtype=np.float64) for part in (between, within, size))
    whole = msb + (n0 - 1) * msw
    known = whole > 0
    return np.where(known, (msb - msw) / np.where(known, whole, 1.0), np.nan)
