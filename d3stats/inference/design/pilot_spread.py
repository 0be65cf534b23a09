"""How much a pilot's questions vary, how sure that is, and how alike the items of a question are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["intraclass", "sd_limits"]

Floats = NDArray[np.float64]


def sd_limits(variance: float, influence: Floats, level: float) -> tuple[float, float, float]:
    """Return the lower limit, the estimate and the upper limit of the standard deviation."""
    from scipy.special import chdtri

    n = len(influence)
    kurtosis = float(np.mean(influence**4) / np.mean(influence**2) ** 2)
    df = min(2 * n / (kurtosis - (n - 3) / (n - 1)), n - 1.0)
    tail = (1 - level) / 2
    return (
        math.sqrt(variance * df / float(chdtri(df, tail))),
        math.sqrt(variance),
        math.sqrt(variance * df / float(chdtri(df, 1 - tail))),
    )


def intraclass(diff: Floats, codes: NDArray[np.int64], size: NDArray[np.int64]) -> float | None:
    """Return the intraclass correlation by analysis of variance; it can be negative."""
    n, groups = len(diff), len(size)
    if n == groups:
        return None
    means = np.bincount(codes, weights=diff) / size
    between = float(size @ (means - diff.mean()) ** 2) / (groups - 1)
    within = float(np.sum((diff - means[codes]) ** 2)) / (n - groups)
    typical = (n - float(size @ size) / n) / (groups - 1)
    return (between - within) / (between + (typical - 1) * within)
