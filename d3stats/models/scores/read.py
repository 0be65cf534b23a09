"""A law read off what a user has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from d3stats.models.scores.continuous import ContinuousLaw
from d3stats.models.scores.discrete import DiscreteLaw
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.named import beta

__all__ = ["as_law"]


def as_law(scores: Any) -> ScoreLaw:
    """Read a law off what a user has: a law, a frozen scipy distribution, a table, or logged scores.

    Parameters
    ----------
    scores : ScoreLaw, frozen scipy.stats distribution, mapping, or array
        A mapping is score to probability. An array is a sample, and the law is the empirical one. A discrete
        distribution of scipy.stats must have finite support.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        When it is no distribution.

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
        points = sorted(scores)
        return DiscreteLaw(points, [scores[x] for x in points])
    dist: Any = getattr(scores, "dist", None)
    table = dist if dist is not None and hasattr(dist, "xk") else scores
    if hasattr(table, "xk") and hasattr(
        table, "pk"
    ):  # rv_discrete(values=...), whose scores need not be whole
        shift = float(scores.support()[0]) - float(np.min(table.xk)) if table is dist else 0.0
        return DiscreteLaw(np.asarray(table.xk, dtype=np.float64) + shift, table.pk)
    if dist is not None and hasattr(scores, "pmf"):
        low, high = scores.support()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(
                f"score law must have finite support when it is discrete; got {dist.name} to {high}"
            )
        points_of = np.arange(int(low), int(high) + 1, dtype=np.float64)
        masses = np.asarray(scores.pmf(points_of), dtype=np.float64)
        return DiscreteLaw(points_of, masses / masses.sum())
    if dist is not None and hasattr(scores, "pdf"):
        law = ContinuousLaw(scores)
        if dist.name == "beta" and len(scores.args) == 2 and not scores.kwds:
            # Mass next to 1 needs digits of the distance from 1, which scipy's functions do not take.
            return beta(*scores.args)
        return law
    if isinstance(scores, (str, bytes)) or callable(scores):
        raise TypeError(f"scores must be a law, a frozen distribution, a table or a sample; got {scores!r}")
    return DiscreteLaw.empirical(scores)
