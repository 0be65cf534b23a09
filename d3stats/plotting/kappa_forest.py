"""Coefficients of agreement with their intervals, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats.plotting._bars import with_bars
from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_agreement"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_ROW = 0.19
"""Inches of height that a line needs."""


def plot_agreement(frame: pd.DataFrame, *, ax: Axes | None = None, label: str = "") -> Axes:
    """Draw a forest of coefficients: a point and an interval per row, first row on top.

    The broken line is what chance alone gives; 1 is perfect agreement. A hollow point has no interval.

    Parameters
    ----------
    frame : DataFrame
        One row per coefficient with ``name``, ``value`` (at most 1), ``low, high`` (missing where there is no
        interval) and, optionally, ``group`` (told apart by colour and marker; at most 7), ``level,
        kind`` (of the intervals, written below the axis).
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as tall as its rows need.
    label : str
        What the axis is called; by default "kappa".

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite or above 1, one limit is missing alone, or an interval is
        upside down.

    Examples
    --------
    >>> rows = [("x and y", 0.6, 0.5, 0.7), ("x and z", 0.4, None, None)]
    >>> frame = pd.DataFrame(rows, columns=["name", "value", "low", "high"])
    >>> plot_agreement(frame).get_xlabel()
    'kappa'
    """
    grouped = "group" in getattr(frame, "columns", [])
    names = ("name", "value", "low", "high", *(("group",) if grouped else ()))
    checked = check_frame(frame, names, ("value",), ("low", "high"))
    value, low, high = (column(checked[name]) for name in ("value", "low", "high"))
    _refuse("value must be <= 1", value > 1, value)
    _refuse("low and high must come together", np.isnan(low) != np.isnan(high), low)
    _refuse("high must be >= low", low > high, low)
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    ax = one_axes(ax, width=ONE_COLUMN, height=0.7 + _ROW * len(checked))
    rows = np.arange(len(checked))
    ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for i, name in enumerate(groups):
        here = checked["group"].astype(str).to_numpy() == name if grouped else np.ones(len(rows), dtype=bool)
        some = here & ~np.isnan(low)
        ax.hlines(rows[some], low[some], high[some], color=COLOURS[i], linewidth=1.0, zorder=2)
        style: dict[str, Any] = {
            "linestyle": "none",
            "marker": MARKERS[i],
            "color": COLOURS[i],
            "markersize": 4.0,
        }
        ax.plot(value[some], rows[some], label=name or None, zorder=3, **style)
        alone = here & np.isnan(low)
        if alone.any():
            shown = name if name and not some.any() else None
            ax.plot(value[alone], rows[alone], label=shown, markerfacecolor="white", zorder=3, **style)
    ax.set_yticks(rows, checked["name"].astype(str))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(min(-0.05, float(np.nanmin([value.min(), *low])) - 0.05), 1.05)
    ax.set_xlabel(with_bars(label or "kappa", frame, ~np.isnan(low)))
    if grouped:
        ax.legend(loc="best", fontsize="small")
    return ax


def _refuse(requirement: str, bad: np.ndarray, values: np.ndarray) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{requirement}; got {values[row]} at row {row}")
