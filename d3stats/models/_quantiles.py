"""Quantiles by search, and the cuts for integrals that are made of quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_enough", "tail_cuts"]

Floats = NDArray[np.float64]

_NEAR = (0.5, 1e-2, 1e-4, 1e-8, 1e-16)
_FAR = (1e-32, 1e-64, 1e-128, 1e-300)
_STEPS = 10.0 ** np.array([1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 304])
"""Tail probabilities at whose quantiles an integral is cut, so that no node passes over what the best of many
scores can be; and, where quantiles end before the tail does, how far out it is cut in units of the last."""


def tail_cuts(quantile: Any, tail: Any, middle: float, end: float) -> Floats:
    """Return where to cut from the median to one end of the support; quantiles that are not any are left out."""
    bounded = np.isfinite(end)
    levels = np.array(_NEAR if bounded else _NEAR + _FAR)
    cuts = np.asarray(quantile(levels), dtype=np.float64)
    reached = np.asarray(tail(cuts)) / levels
    cuts = cuts[np.isfinite(cuts) & (reached > 0.1) & (reached < 10)]
    away = np.abs(cuts - middle)
    cuts = cuts[away >= np.maximum.accumulate(away)] if cuts.size else cuts
    if bounded:
        return np.append(cuts, [middle, end])
    last = cuts[-1] if cuts.size and cuts[-1] != middle else middle + np.sign(end)
    more = middle + (last - middle) * _STEPS
    cuts = np.concatenate([[middle], cuts, more[np.isfinite(more)]])
    # What is beyond the first cut that leaves nothing worth an integral, for any k up to 10^9, is not kept.
    spread = np.abs(float(quantile(0.01)) - middle)
    nothing = np.asarray(tail(cuts)) * np.abs(cuts - middle) <= 1e-26 * spread
    nothing[cuts == middle] = False
    return cuts[: int(np.argmax(nothing)) + 1] if nothing.any() else cuts


def least_enough(each: Floats, enough: Callable[[Floats], NDArray[np.bool_]]) -> Floats:
    """Return the least x for which it is enough, to the last bit, between the quantiles of the parts.

    Each step cuts the brackets in 32: few calls for many points cost less than many calls for few.
    """
    low, high = each.min(axis=0), each.max(axis=0)
    shares = (np.arange(1, 32) / 32).reshape((-1,) + (1,) * low.ndim)
    for _ in range(60):
        cuts = low + shares * (high - low)
        short = np.count_nonzero(~enough(cuts), axis=0)[None]
        every = np.concatenate([low[None], cuts, high[None]])
        low = np.take_along_axis(every, short, 0)[0]
        high = np.take_along_axis(every, short + 1, 0)[0]
        if np.all(high - low <= np.spacing(np.abs(high))):
            break
    found: Floats = np.where(enough(low), low, high)
    return found
