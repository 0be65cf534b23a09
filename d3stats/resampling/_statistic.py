"""A statistic is a function of sums: how it is called, how it bends, and what it is without one cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import whole_numbers

__all__ = ["Statistic", "jackknife", "ratios"]

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Sums of shape (m, q) to values of shape (m, p) or (m,), row by row; NaN where undefined."""

_BLOCK_ELEMENTS = 1 << 16


def ratios(*pairs: tuple[int, int]) -> Statistic:
    """Return the statistic of ratios of sums: column `above` over column `below`, NaN where below is not above 0.

    Parameters
    ----------
    *pairs : tuple of int
        (above, below), one per ratio.

    Examples
    --------
    >>> import numpy as np
    >>> ratios((0, 1))(np.array([[3.0, 4.0], [1.0, 0.0]]))[:, 0]
    array([0.75,  nan])
    """
    above = [pair[0] for pair in pairs]
    below = [pair[1] for pair in pairs]

    def statistic(sums: Floats) -> Floats:
        bottom = sums[:, below]
        result = np.full(bottom.shape, np.nan)
        np.divide(sums[:, above], bottom, out=result, where=bottom > 0)
        return result

    return statistic


def jackknife(totals: ArrayLike, statistic: Statistic) -> Floats:
    """Return the statistic without each cluster in turn, shape (clusters, p); NaN where it is undefined then.

    Parameters
    ----------
    totals : array_like of float, shape (clusters, q)
        Each cluster's sums.
    statistic : callable
        Sums of shape (m, q) to values of shape (m, p).

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


def checked_totals(totals: ArrayLike, multiplicity: ArrayLike | None) -> tuple[Floats, NDArray[np.int64]]:
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
    n_clusters = int(times.sum())
    if n_clusters < 2:
        raise ValueError(
            "totals must have at least two clusters, for nothing says how clusters vary in fewer; "
            f"got {n_clusters}"
        )
    return array, times


def evaluate(statistic: Statistic, sums: Floats) -> Floats:
    """Call a statistic on sums (m, q) and return values (m, p), with NaN for whatever is not finite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.asarray(statistic(sums), dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(sums):
        raise ValueError(
            f"statistic must map sums of shape {sums.shape} to values of shape ({len(sums)}, p); "
            f"got shape {values.shape}"
        )
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

    Parameters
    ----------
    sums : ndarray of float, shape (m, q)
    scale : ndarray of float, shape (q,)
        The size of each column; a step is a small share of it. Columns of scale 0 get derivative 0.
    fine : bool
        Four points (relative error about 1e-12) where two (1e-10) are enough for replicates.
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


def column_scale(totals: Floats, times: NDArray[np.int64]) -> Floats:
    """Return how large each column of totals is, all clusters together."""
    return total(np.abs(totals), times)


def total(totals: Floats, times: NDArray[np.int64]) -> Floats:
    """Add up the rows of totals, each as often as it occurs."""
    result: Floats = times.astype(np.float64) @ totals
    return result
