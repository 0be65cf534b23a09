"""The least slack of an inequality: at every corner of a step function, or over a graded grid that is refined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import require_mean
from d3stats.models.scores.maximum import MaxLaw
from d3stats.models.scores.mixture import MixtureLaw
from d3stats.models.scores.read import as_law
from d3stats.models.scores.stop_loss import StopLoss, corners, logit_quantile

__all__ = [
    "GRID",
    "OrderCheck",
    "Steps",
    "drop",
    "least",
    "logits",
    "places",
    "rounding",
    "scale",
    "verdict",
    "with_means",
]

Floats = NDArray[np.float64]

GRID = np.linspace(-28.0, 28.0, 113)
"""Log odds of the levels at which continuous laws are compared: u from 7e-13 to 1 - 7e-13, a factor 1.65 apart."""
GRID.setflags(write=False)
_ZOOM = np.linspace(0.0, 1.0, 17)
_SAME = 1e-12
"""Levels of two step functions closer than this are one level: sums of probabilities are rounded."""


@dataclass(frozen=True)
class OrderCheck:
    """Whether an inequality holds everywhere, and where it comes closest to failing.

    Attributes
    ----------
    holds : bool
        Whether `margin` is at least ``-tolerance``.
    margin : float
        Least slack of the inequality, in the units that the check names. Most orders hold with equality at the
        ends, so that a margin of 0 is the most one can see; a negative one says by how much the order fails.
    at : float or None
        Where the slack is least; None for a check of one number.
    tolerance : float
        What rounding and quadrature may take from the margin.
    exact : bool
        True when every place was looked at (step functions at their corners, or one number from sums); False
        when a grid or quadrature stands for a continuum, which can refute an inequality but not prove it.

    Examples
    --------
    >>> bool(OrderCheck(holds=True, margin=0.0, at=0.5, tolerance=1e-12, exact=True))
    True
    """

    holds: bool
    margin: float
    at: float | None
    tolerance: float
    exact: bool

    def __bool__(self) -> bool:
        return self.holds


def verdict(margin: float, at: float | None, tolerance: float, exact: bool) -> OrderCheck:
    """Judge a margin by its tolerance."""
    return OrderCheck(bool(margin >= -tolerance), float(margin), at, float(tolerance), exact)


def least(slack: Callable[[Floats], Floats], points: Floats, zooms: int = 2) -> tuple[float, float]:
    """Return the least value over ascending points and where, looked at 16 times closer around it `zooms` times."""
    values = slack(points)
    i = int(np.argmin(values))
    margin, at = float(values[i]), float(points[i])
    low, high = points[max(i - 1, 0)], points[min(i + 1, points.size - 1)]
    for _ in range(zooms):
        closer = low + (high - low) * _ZOOM
        values = slack(closer)
        i = int(np.argmin(values))
        if values[i] < margin:
            margin, at = float(values[i]), float(closer[i])
        low, high = closer[max(i - 1, 0)], closer[min(i + 1, closer.size - 1)]
    return margin, at


def drop(values: Floats) -> tuple[float, int]:
    """Return the least of values[j] - values[i] over i <= j, and its j: 0 for a sequence that never falls."""
    with np.errstate(invalid="ignore"):
        falls = values - np.maximum.accumulate(values)
    j = int(np.argmin(falls))
    return float(falls[j]), j


def logits(*laws: ScoreLaw) -> Floats:
    """Return the grid of log odds, with both sides of every level at which a law jumps or leaves a gap."""
    more = []
    for law in laws:
        if law.is_discrete or law.atoms[0].size or hasattr(law, "laws") or hasattr(law, "law"):
            x = corners(law)
            with np.errstate(divide="ignore"):
                up_to = np.log(law.cdf(x)) - np.log(law.sf(x))
                under = np.log(law.below(x)) - np.log1p(-law.below(x))
            found = np.concatenate([up_to, under])
            found = found[np.abs(found) < -GRID[0]]
            more += [found - 1e-9, found + 1e-9]
    return np.unique(np.concatenate([GRID, *more])) if more else GRID


def places(*laws: ScoreLaw) -> Floats:
    """Return scores spread over laws as the grid spreads over levels, finite and ascending."""
    found: list[Floats] = []
    for law in laws:
        if isinstance(law, MaxLaw):
            found.append(places(law.law))
        elif isinstance(law, MixtureLaw):
            # Quantiles of the parts are as dense, and need no search.
            found.append(places(*law.laws))
        else:
            found.append(logit_quantile(law, GRID))
    x = np.unique(np.concatenate(found))
    return np.asarray(x[np.isfinite(x)])


def scale(*wealth: StopLoss) -> float:
    """Return a size of the spread of laws, in points: the greatest of their mean excesses over their middle."""
    return float(max(each(each.middle) for each in wealth))


def rounding(one: ScoreLaw, two: ScoreLaw) -> float:
    """Return what rounding may take from a difference of two scores, in points."""
    return 256 * float(np.finfo(float).eps) * max(_reach(one), _reach(two))


def _reach(law: ScoreLaw) -> float:
    """Return the size of a usual score."""
    if isinstance(law, MixtureLaw):
        return max(_reach(part) for part in law.laws)
    if isinstance(law, MaxLaw):
        return _reach(law.law)
    return float(np.abs(law.quantile([0.001, 0.5, 0.999])).max())


def with_means(first: Any, second: Any) -> tuple[ScoreLaw, ScoreLaw]:
    """Read two laws and refuse one without a finite mean."""
    one, two = as_law(first), as_law(second)
    require_mean("first", one)
    require_mean("second", two)
    return one, two


class Steps:
    """Two discrete laws as step functions of one level u.

    Attributes
    ----------
    u : array, shape (pieces,)
        Where each piece begins.
    first, second : array, shape (pieces,)
        The quantile functions on each piece.
    """

    def __init__(self, first: ScoreLaw, second: ScoreLaw) -> None:
        points = [law.atoms[0] for law in (first, second)]
        levels = [law.cdf(x)[:-1] for law, x in zip((first, second), points, strict=True)]
        ends = np.unique(np.concatenate([[0.0, 1.0], *levels]))
        width = np.diff(ends)
        kept = width > _SAME
        self.u: Floats = ends[:-1][kept]
        middle = self.u + 0.5 * width[kept]
        self.first, self.second = (
            x[np.searchsorted(level, middle, side="left")] for x, level in zip(points, levels, strict=True)
        )
