"""The gap between two sides' scores, as the posteriors of gaps read it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.gaps.arrays import refuse_any
from d3stats.trajectories import LogSource, log_or_array


def signed_gaps(scores: LogSource | ArrayLike) -> NDArray[np.float64]:
    """Return side 0 less side 1 in raw points, shape (debates, rounds); NaN where a score is missing.

    Takes a log with scores of two sides (whatever :func:`d3stats.as_trajectories` takes), an array
    (debates, rounds, 2) of scores, or the gaps themselves, (debates, rounds). Rounds beyond a debate's
    depth have no gap.

    Raises
    ------
    ValueError
        When there are no scores, not two sides, or a score is infinite.
    """
    reached: NDArray[np.bool_] | None = None
    given: Any = log_or_array(scores)
    if hasattr(given, "scores") and hasattr(given, "depth"):
        if given.scores is None:
            raise ValueError("scores must be given for two sides; got a log without scores")
        reached = np.arange(given.scores.shape[1]) < np.asarray(given.depth)[:, None]
        given = given.scores
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("scores must be numbers or trajectories; got something else") from None
    if array.ndim not in (2, 3):
        raise ValueError(
            "scores must have shape (debates, rounds, 2), or be gaps of shape (debates, rounds); "
            f"got shape {array.shape}"
        )
    if array.ndim == 3 and array.shape[2] != 2:
        raise ValueError(f"scores must be of two sides; got scores of {array.shape[2]}")
    if array.size and not np.isfinite([array.min(), array.max()]).all():
        refuse_any("scores", "must be finite, or NaN where missing", array, np.isinf(array))
    gaps = array if array.ndim == 2 else array[:, :, 0] - array[:, :, 1]
    if reached is not None and not reached.all():
        gaps = np.where(reached, gaps, np.nan)
    return gaps


def ascents(gaps: NDArray[np.float64], before: float | None) -> tuple[NDArray[Any], ...]:
    """Count how often the gap grew, how often that could be seen, and ties, so far; each (debates, rounds).

    Each known gap is compared with the last known one, the first of all with `before` where that is given.
    """
    complete = gaps.size == 0 or not np.isnan(gaps.max())
    return _whole_debates(gaps, before) if complete else _with_holes(gaps, before)


def _whole_debates(gaps: NDArray[np.float64], before: float | None) -> tuple[NDArray[Any], ...]:
    """Count successes, trials and ties where no gap is missing."""
    rounds = gaps.shape[1]
    grown, tied = np.zeros((2, *gaps.shape), dtype=bool)
    if rounds:
        np.greater(gaps[:, 1:], gaps[:, :-1], out=grown[:, 1:])
        np.equal(gaps[:, 1:], gaps[:, :-1], out=tied[:, 1:])
        if before is not None:
            grown[:, 0], tied[:, 0] = gaps[:, 0] > before, gaps[:, 0] == before
    tried = np.broadcast_to(np.arange(rounds, dtype=np.int32) + (before is not None), gaps.shape)
    return np.cumsum(grown, axis=1, dtype=np.int32), tried, np.cumsum(tied, axis=1, dtype=np.int32)


def _with_holes(gaps: NDArray[np.float64], before: float | None) -> tuple[NDArray[Any], ...]:
    """Count successes, trials and ties, each known gap against the last known one."""
    last = np.full(len(gaps), np.nan if before is None else before)
    grown, tried, tied = np.zeros((3, *gaps.shape), dtype=bool)
    for r in range(gaps.shape[1]):
        gap = gaps[:, r]
        grown[:, r], tied[:, r] = gap > last, gap == last
        tried[:, r] = ~np.isnan(gap) & ~np.isnan(last)
        last = np.where(np.isnan(gap), last, gap)
    return tuple(np.cumsum(x, axis=1, dtype=np.int32) for x in (grown, tried, tied))
