"""Resample whole clusters by their totals: no row is copied and no replicate is looped over.

A statistic that is a function of sums needs only each cluster's sums. Clusters with equal sums are
exchangeable, so drawing G of G clusters is one multinomial over the distinct rows, at any number of debates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, whole_numbers

__all__ = ["cluster_totals", "resampled_counts", "resampled_totals", "swapped_totals"]

MOST_UNITS = 10_000
"""From twice as many distinct clusters on they are drawn in groups, never fewer than so many."""

_CHUNK_ELEMENTS = 1 << 22
_CACHED_ELEMENTS = 1 << 15
"""How many single draws are made, counted and added up before they leave the processor's cache."""
_MULTINOMIAL_COST = 12
"""How many uniform draws one binomial draw of a multinomial costs, as measured."""


def cluster_totals(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum rows by cluster: shape (clusters that occur, columns), clusters in ascending order of code."""
    _, index = np.unique(cluster, return_inverse=True)
    n_clusters = int(index.max(initial=-1)) + 1
    total = np.empty((n_clusters, values.shape[1]))
    for column in range(values.shape[1]):
        total[:, column] = np.bincount(index, weights=values[:, column], minlength=n_clusters)
    return total


def resampled_counts(cells: ArrayLike, n_boot: int, rng: RngLike) -> NDArray[np.int64]:
    """Draw as many observations as there are, with replacement, and count them by cell, `n_boot` times.

    The exact bootstrap of anything that is a function of counts: 0/1 values, paired 0/1 values, confusion tables.
    Drawing n rows of which `cells` are alike is one multinomial (Efron, 1979), whatever n.

    Parameters
    ----------
    cells : array_like of int, shape (q,)
        How many observations each cell has; flatten a table first.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None

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


def resampled_totals(totals: NDArray[np.float64], n_boot: int, rng: RngLike) -> NDArray[np.float64]:
    """Draw as many clusters as there are, with replacement, `n_boot` times, and add up their totals.

    Exact, except that from ``2 * MOST_UNITS`` clusters with few alike on they are first put together at random into
    groups of equal size, at least ``MOST_UNITS``, which are then drawn: the same law to first order, with a relative
    error of the standard error of at most 1 / sqrt(2 * MOST_UNITS), 0.7 %, below the Monte Carlo error of 2000 draws.

    Parameters
    ----------
    totals : ndarray of float, shape (clusters, columns)
    n_boot : int
        Number of replicates.
    rng : Generator, int or None

    Returns
    -------
    ndarray of float, shape (n_boot, columns)
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


def swapped_totals(totals: NDArray[np.float64], n_draws: int, rng: RngLike) -> NDArray[np.float64]:
    """Give each cluster's totals a fair random sign, `n_draws` times, and add them up.

    The permutation null of a paired difference: swapping a cluster's two conditions negates its totals.
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


def _grouped(totals: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    n_clusters = len(totals)
    size = n_clusters // MOST_UNITS
    if size <= 1:
        return totals
    order = generator.permutation(n_clusters)
    starts = np.arange(0, n_clusters, size)
    groups: NDArray[np.float64] = np.add.reduceat(totals[order], starts, axis=0)
    # Groups of unequal size would add noise to every sum, so that a short last one is filled up with average clusters.
    missing = len(starts) * size - n_clusters
    if missing:
        groups[-1] += missing * totals.mean(axis=0)
        groups *= n_clusters / (n_clusters + missing)
    return groups


def _distinct(totals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
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
