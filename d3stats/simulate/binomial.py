"""Binomial laws and their sums, as arrays: what exact transitions are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["binomial_rows", "law_of_sum"]

Floats = NDArray[np.float64]


def binomial_rows(trials: NDArray[np.int64], p: Floats) -> Floats:
    """Return Binomial pmfs.

    Parameters
    ----------
    trials : ndarray of int, shape (rows,)
    p : ndarray of float, shape (..., rows)

    Returns
    -------
    ndarray of float, shape (..., rows, max(trials) + 1)
        P(k successes) in the last axis.
    """
    k = np.arange(trials.max() + 1)
    failures = np.maximum(trials[:, None] - k, 0)
    rows = special.binom(trials[:, None], k) * p[..., None] ** k * (1 - p[..., None]) ** failures
    rows = np.where(k <= trials[:, None], rows, 0.0)
    result: Floats = rows / rows.sum(axis=-1, keepdims=True)
    return result


def law_of_sum(x: Floats, y: Floats) -> Floats:
    """Return the law of the sum of two independent counts, laws in the last axis; mass past its end is cut."""
    size = x.shape[-1]
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for i in range(size):
        total[..., i:] += x[..., i : i + 1] * y[..., : size - i]
    return total
