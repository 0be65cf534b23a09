"""Every replicate's own error, from resampled sums of totals and of their products: no second bootstrap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.resampling._statistic import Statistic, column_scale, evaluate, gradient
from d3stats.resampling.totals import resampled_counts, resampled_totals

__all__ = ["with_errors"]

Floats = NDArray[np.float64]
_CHUNK_ELEMENTS = 1 << 23
_ROUNDING = 1e-12


def with_errors(
    totals: Floats,
    times: NDArray[np.int64],
    statistic: Statistic,
    n_boot: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return replicates and their cluster-robust errors, both (n_boot, p); 0 where a draw has no spread.

    With x the totals less their mean, a draw's sums of x and of x x' give the covariance of its clusters, and the
    statistic's derivative at the draw's sums turns that into the linearised error that the data's own is.
    """
    n_clusters = int(times.sum())
    whole = times @ totals
    scale = column_scale(totals, times)
    # Centred, so that the sums of products do not cancel.
    centred = totals - whole / n_clusters
    n_columns = totals.shape[1]
    first, second = np.triu_indices(n_columns)
    table = np.hstack([centred, centred[:, first] * centred[:, second]])
    twice = np.where(first == second, 1.0, 2.0)
    step = max(1, _CHUNK_ELEMENTS // (2 * table.shape[1]))
    replicates, errors = [], []
    for low in range(0, n_boot, step):
        size = min(step, n_boot - low)
        drawn = _drawn(table, times, size, generator)
        shift, products = drawn[:, :n_columns], drawn[:, n_columns:]
        sums = whole + shift
        slope = gradient(statistic, sums, scale)
        pairs = slope[:, first] * slope[:, second] * twice[:, None]
        covariance = products - shift[:, first] * shift[:, second] / n_clusters
        variance = np.einsum("bkp,bk->bp", pairs, covariance)
        # What rounding alone could make of a variance of 0.
        most = n_columns * np.einsum("bqp,bq->bp", slope**2, products[:, first == second])
        variance = np.where(variance <= _ROUNDING * most, 0.0, variance)
        replicates.append(evaluate(statistic, sums))
        errors.append(np.sqrt(n_clusters / (n_clusters - 1) * variance))
    return np.concatenate(replicates), np.concatenate(errors)


def _drawn(table: Floats, times: NDArray[np.int64], size: int, generator: np.random.Generator) -> Floats:
    if (times == 1).all():
        return resampled_totals(table, size, generator)
    return resampled_counts(times, size, generator) @ table
