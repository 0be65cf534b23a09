"""Laws and numbers of advocates, read off what a user has."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer, whole_numbers
from d3stats.models.scores.continuous import ContinuousLaw
from d3stats.models.scores.discrete import DiscreteLaw
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.named import beta

__all__ = ["as_count", "as_counts", "as_law"]

_MOST = 2**53
"""Most advocates: beyond, floats do not tell one more from none."""
_POINTS = 1 << 20
"""Most points of a discrete law of scipy.stats."""


def as_law(scores: Any) -> ScoreLaw:
    """Read a law off what a user has: a law, a frozen scipy distribution, a table, or logged scores.

    Parameters
    ----------
    scores : ScoreLaw, frozen scipy.stats distribution, mapping, or array
        A mapping is score to probability. An array, shape (scores,), is a sample, and the law is the empirical
        one; missing scores (NaN) are left out. A discrete distribution of scipy.stats with infinite support ends
        where the probability of a point times its squared distance from the mean is 1e-26 standard deviations,
        and is scaled to a sum of one.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        When it is no distribution, an array of them, a table of more than one dimension, or a discrete
        distribution of more than 2^20 points.

    Examples
    --------
    >>> as_law({1: 0.25, 2: 0.75}).mean
    1.75
    >>> as_law([3, 4, 4, 5]).mean
    4.0
    """
    if isinstance(scores, ScoreLaw):
        return scores
    if isinstance(scores, Mapping):
        return _table(scores)
    dist: Any = getattr(scores, "dist", None)
    if dist is not None:
        _refuse_arrays(scores)
    table = dist if dist is not None and hasattr(dist, "xk") else scores
    if hasattr(table, "xk") and hasattr(table, "pk"):
        # rv_discrete(values=...), whose scores need not be whole
        shift = float(scores.support()[0]) - float(np.min(table.xk)) if table is dist else 0.0
        return DiscreteLaw(np.asarray(table.xk, dtype=np.float64) + shift, table.pk)
    if dist is not None and hasattr(scores, "pmf"):
        return _lattice(scores)
    if dist is not None and hasattr(scores, "pdf"):
        law = ContinuousLaw(scores)
        if dist.name == "beta" and len(scores.args) == 2 and not scores.kwds:
            # Mass next to 1 needs digits of the distance from 1, which scipy's functions do not take.
            return beta(*scores.args)
        return law
    if isinstance(scores, (str, bytes)) or callable(scores):
        raise TypeError(f"scores must be a law, a frozen distribution, a table or a sample; got {scores!r}")
    sample = DiscreteLaw.empirical(scores)
    if np.ndim(scores) > 1:
        raise ValueError(
            f"scores must have one dimension when they are a sample; got shape {np.shape(scores)}: scores by item and "
            "advocate go to separation_from_scores, which keeps items apart"
        )
    return sample


def as_counts(k: Any) -> NDArray[np.int64]:
    """Read numbers of advocates a side: one, or a sequence, of whole numbers from 1 to 2^53.

    Raises
    ------
    TypeError
        For anything that is not a number; True is none.
    ValueError
        For a number that is not whole, too small or too large, and for none at all.

    Examples
    --------
    >>> as_counts(3).tolist(), as_counts([1, 2.0]).tolist()
    ([3], [1, 2])
    """
    given = np.atleast_1d(np.asarray(k, dtype=object))
    for one in given.ravel():
        if isinstance(one, bool) or not isinstance(one, (int, float, np.integer, np.floating)):
            raise TypeError(f"k must be whole numbers; got k={one!r}")
        if one > _MOST:
            raise ValueError(f"k must be <= 2^53; got k={one}")
    counts = whole_numbers("k", given, minimum=1)
    if counts.size == 0:
        raise ValueError("k must hold at least one number of advocates; got none")
    return counts


def as_count(k: Any) -> int:
    """Read one number of advocates a side, a whole number from 1 to 2^53.

    Raises
    ------
    TypeError, ValueError
        As for :func:`as_counts`, and for more than one.

    Examples
    --------
    >>> as_count(3.0)
    3
    """
    as_counts(k)
    return integer("k", k, minimum=1)


def _table(scores: Mapping[Any, Any]) -> DiscreteLaw:
    for score in scores:
        if not isinstance(score, Real):
            raise TypeError(f"scores must be a table from numbers to probabilities; got the score {score!r}")
    points = sorted(scores)
    return DiscreteLaw(points, [scores[x] for x in points])


def _refuse_arrays(frozen: Any) -> None:
    for value in (*frozen.args, *frozen.kwds.values()):
        if np.ndim(value) > 0:
            raise ValueError(
                f"score law must be one distribution, not an array of them; got {frozen.dist.name} with a parameter "
                f"of shape {np.shape(value)}"
            )


def _lattice(frozen: Any) -> DiscreteLaw:
    """Tabulate a discrete distribution of scipy.stats."""
    name = frozen.dist.name
    low, high = (float(end) for end in frozen.support())
    if np.isnan(low) or np.isnan(high):
        raise ValueError(
            f"score law must have valid parameters; got {name}{frozen.args}{frozen.kwds or ''}, which scipy takes for "
            "no distribution"
        )
    first = low if np.isfinite(low) else _last(frozen, high, -1.0)
    last = high if np.isfinite(high) else _last(frozen, low, 1.0)
    if not last - first < _POINTS:
        raise ValueError(
            f"score law must have at most 2^20 points when it is discrete; got {name} from {low:g} to {high:g}, "
            "whose tail is too long"
        )
    points = first + np.arange(np.floor(last - first) + 1.0)
    masses = np.asarray(frozen.pmf(points), dtype=np.float64)
    total = float(masses.sum())
    if not abs(total - 1) <= 1e-9:
        raise ValueError(f"score law must have its mass one point apart when it is discrete; got {name}")
    return DiscreteLaw(points, masses / total)


def _last(frozen: Any, other: float, side: float) -> float:
    """Return the point on one side beyond which nothing is worth a sum, for any k up to 10^9."""
    start = other if np.isfinite(other) else 0.0
    with np.errstate(all="ignore"):
        mean, sd = float(frozen.mean()), float(frozen.std())
    if np.isfinite(mean) and np.isfinite(sd):
        for away in 2.0 ** np.arange(21):
            end = start + float(np.round(mean - start) + side * away)
            if away > 2 * sd and float(frozen.pmf(end)) * away**2 <= 1e-26 * sd:
                return end
    return side * np.inf
