"""How much the share of correct votes changes by the next round, by where it started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_martingale_drift"]

COLUMNS = ("start", "drift", "low", "high")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_SPREAD = 0.05
"""How far apart the markers of all groups at one start lie together, on the axis of shares."""


def plot_martingale_drift(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the mean change by starting share with its intervals, a zero line, and what is possible at all.

    A martingale's points lie on the zero line. The grey areas cannot be reached: a share cannot fall below 0
    or rise above 1, so that at the ends a drift has one direction only.

    Parameters
    ----------
    frame : DataFrame
        One row per start (and group) with ``start`` (share of correct votes, in [0, 1]), ``drift`` (mean
        change of the share), ``low, high`` (its interval; missing where there is none) and, optionally,
        ``group`` (a log or a pair of rounds, told apart by colour and marker; at most 7).
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, a start is no share, or an interval is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"start": [0.0, 0.5, 1.0], "drift": [0.0, 0.1, 0.0], "low": [0, 0.05, 0], "high": [0, 0.15, 0]}
    ... )
    >>> plot_martingale_drift(frame).get_ylabel()
    'mean change by the next round'
    """
    grouped = "group" in getattr(frame, "columns", [])
    names = (*COLUMNS, "group") if grouped else COLUMNS
    checked = check_frame(frame, names, ("start", "drift"), ("low", "high"))
    within_unit(checked, "start")
    low, high = column(checked["low"]), column(checked["high"])
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    drift = column(checked["drift"])
    reach = np.concatenate([drift, low[np.isfinite(low)], high[np.isfinite(high)]])
    span = max(float(np.abs(reach).max()), 0.02) * 1.1
    ends = np.array([0.0, 1.0])
    ax.fill_between(ends, -ends, -1.0, color="0.9", linewidth=0, zorder=0)
    ax.fill_between(ends, 1 - ends, 1.0, color="0.9", linewidth=0, zorder=0)
    ax.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)
    shifts = (np.arange(len(groups)) - (len(groups) - 1) / 2) * (_SPREAD / len(groups))
    for i, name in enumerate(groups):
        part = checked[checked["group"].astype(str) == name] if grouped else checked
        part = part.sort_values("start")
        y = column(part["drift"])
        # Without an interval only the point is drawn.
        down, up = (np.nan_to_num(np.abs(column(part[end]) - y)) for end in ("low", "high"))
        ax.errorbar(
            column(part["start"]) + shifts[i],
            y,
            yerr=[down, up],
            fmt=MARKERS[i],
            color=COLOURS[i],
            markersize=4.0,
            elinewidth=0.8,
            capsize=1.5,
            label=name or None,
        )
    ax.set_xlim(-0.06, 1.06)
    ax.set_ylim(-span, span)
    ax.set_xlabel("share of correct votes before")
    ax.set_ylabel("mean change by the next round")
    if grouped:
        ax.legend(loc="best", fontsize="small")
    return ax
