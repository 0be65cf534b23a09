"""Quantiles by search, and the cuts for integrals that are made of quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["graded", "least_enough", "tail_cuts"]

Floats = NDArray[np.float64]

_NEAR = (0.5, 1e-2, 1e-4, 1e-8, 1e-16)
_FAR = (1e-32, 1e-64, 1e-128, 1e-300)
_STEPS = 10.0 ** np.array([1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 304])
"""Tail probabilities at whose quantiles an integral is cut, so that no node passes over what the best of many
scores can be; and, where quantiles end before the tail does, how far out it is cut in units of the last."""
_SPARSE = 2.0
"""Most decades by which the distance from the middle may grow over a piece."""


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
        return graded(np.append(cuts, [middle, end]), middle)
    last = cuts[-1] if cuts.size and cuts[-1] != middle else middle + np.sign(end)
    more = middle + (last - middle) * _STEPS
    cuts = graded(np.concatenate([[middle], cuts, more[np.isfinite(more)]]), middle)
    # What is beyond the first cut that leaves nothing worth an integral, for any k up to 10^9, is not kept.
    spread = np.abs(float(quantile(0.01)) - middle)
    nothing = np.asarray(tail(cuts)) * np.abs(cuts - middle) <= 1e-26 * spread
    nothing[cuts == middle] = False
    return cuts[: int(np.argmax(nothing)) + 1] if nothing.any() else cuts


def graded(cuts: Floats, middle: float) -> Floats:
    """Return the cuts on one side of a middle, outwards, with one a decade of distance where they are sparse.

    Over many decades a heavy tail is all at the lower end of a piece, where rules of two orders both pass it over.
    """
    away = np.unique(np.abs(cuts - middle))
    side = 1.0 if cuts.max() > middle else -1.0
    decades = np.log10(away[away > 0])
    sparse = np.flatnonzero(np.diff(decades) > _SPARSE)
    if sparse.size == 0:
        return cuts
    more = [np.arange(decades[i] + 1.0, decades[i + 1] - 0.1) for i in sparse]
    added = middle + side * 10.0 ** np.concatenate(more)
    return side * np.unique(side * np.concatenate([cuts, added]))


def least_enough(each: Floats, excess: Callable[[Floats, NDArray[np.int64]], Floats]) -> Floats:
    """Return the least x with an excess >= 0, to the last bit, between the quantiles of the parts.

    Parameters
    ----------
    each : array, shape (parts, ...)
        Brackets: the answers lie between the least and the greatest along the first axis.
    excess : callable
        Takes points and which answers they try, and returns numbers that never fall in the point.

    Notes
    -----
    Interpolation, truncated towards the middle and kept within reach of bisection (ITP; Oliveira and Takahashi,
    2021), so that a jump costs no more than bisection does; what is left, near 0, is bisected.
    """
    low, high = each.min(axis=0).ravel(), each.max(axis=0).ravel()
    at = np.arange(low.size)
    at_low, at_high = excess(low, at), excess(high, at)
    high = np.where(at_low >= 0, low, high)
    # The end of an infinite support is nowhere to be searched for.
    at = at[np.isfinite(low) & np.isfinite(high)]
    width = np.zeros(low.size)
    width[at] = high[at] - low[at]
    goal = np.maximum(np.spacing(np.maximum(np.abs(low), np.abs(high))), np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = goal * 2.0 ** (np.ceil(np.log2(np.maximum(width / goal, 1.0))) + 1)
    for step in range(1200):
        at = at[high[at] - low[at] > np.spacing(np.minimum(np.abs(low[at]), np.abs(high[at])))]
        if at.size == 0:
            break
        a, b, fa, fb = low[at], high[at], at_low[at], at_high[at]
        middle = a + 0.5 * (b - a)
        if step < 70:
            line = b - (b - a) * np.where(fb > fa, fb / np.where(fb > fa, fb - fa, 1.0), 0.5)
            shift = 0.2 * (b - a) ** 2 / width[at]
            inside = np.where(
                shift <= np.abs(middle - line), line + np.copysign(shift, middle - line), middle
            )
            slack = np.maximum(reach[at] * 0.5**step - 0.5 * (b - a), 0.0)
            tried = np.clip(inside, middle - slack, middle + slack)
            tried = np.clip(tried, np.nextafter(a, b), np.nextafter(b, a))
        else:
            tried = middle
        found = excess(tried, at)
        enough = found >= 0
        high[at], at_high[at] = np.where(enough, tried, b), np.where(enough, found, fb)
        low[at], at_low[at] = np.where(enough, a, tried), np.where(enough, fa, found)
    found_at: Floats = high.reshape(each.shape[1:])
    return found_at
