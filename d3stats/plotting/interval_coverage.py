"""How often intervals cover, by method and by how alike the items of one cluster are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats._check import probability
from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.martingale_drift import COLOURS, MARKERS
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_interval_coverage"]

COLUMNS = ("method", "icc", "coverage", "coverage_se")
_SPREAD = 0.5
"""How much of a method's row the markers of all correlations take together."""


def plot_interval_coverage(
    frame: pd.DataFrame, *, band: tuple[float, float] = (0.94, 0.96), ax: Axes | None = None
) -> Axes:
    """Draw the share of intervals that hold the truth, a row per method, a marker per intraclass correlation.

    Parameters
    ----------
    frame : DataFrame
        One row per method and correlation with ``method`` (text; rows from the top in order of appearance),
        ``icc`` (intraclass correlation), ``coverage`` (share, in [0, 1]) and ``coverage_se`` (its Monte Carlo
        standard error; missing where unknown). Bars are two of these either way.
    band : tuple of float
        Shares between which coverage counts as held; drawn grey.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], an error is negative, a method and a correlation come
        twice, or the band is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"method": ["BCa", "naive t"], "icc": 0.1, "coverage": [0.95, 0.85], "coverage_se": 0.005}
    ... )
    >>> [label.get_text() for label in plot_interval_coverage(frame).get_yticklabels()]
    ['BCa', 'naive t']
    """
    checked = check_frame(frame, COLUMNS, ("icc", "coverage"), ("coverage_se",))
    within_unit(checked, "coverage")
    error = column(checked["coverage_se"])
    if (error < 0).any():
        row = int(np.argmax(error < 0))
        raise ValueError(f"coverage_se must be >= 0; got coverage_se={error[row]} at row {row}")
    twice = checked.duplicated(["method", "icc"]).to_numpy()
    if twice.any():
        row = int(np.argmax(twice))
        what = f"method={checked['method'][row]!r}, icc={checked['icc'][row]:g}"
        raise ValueError(f"frame must have one row per method and icc; got {what} again at row {row}")
    low, high = (probability("band", edge) for edge in band)
    if low > high:
        raise ValueError(f"band must be (low, high) with low <= high; got {band}")
    correlations = np.unique(column(checked["icc"]))
    if len(correlations) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} values of icc; got {len(correlations)}")
    methods = list(dict.fromkeys(checked["method"].astype(str)))
    place = checked["method"].astype(str).map({name: float(i) for i, name in enumerate(methods)})
    ax = one_axes(ax, width=ONE_COLUMN, height=0.8 + 0.32 * len(methods))
    ax.axvspan(low, high, color="0.88", linewidth=0, zorder=0)
    shifts = (np.arange(len(correlations)) - (len(correlations) - 1) / 2) * (_SPREAD / len(correlations))
    for i, icc in enumerate(correlations):
        of = column(checked["icc"]) == icc
        ax.errorbar(
            column(checked["coverage"][of]),
            column(place[of]) + shifts[i],
            # Without an error only the point is drawn.
            xerr=2 * np.nan_to_num(error[of]),
            fmt=MARKERS[i],
            color=COLOURS[i],
            markersize=4.0,
            elinewidth=0.8,
            capsize=1.5,
            label=f"ICC {icc:g}",
        )
    ax.set_yticks(range(len(methods)), methods)
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xlabel("share of intervals that hold the truth")
    if len(correlations) > 1:
        ax.legend(loc="best", fontsize="small")
    return ax
