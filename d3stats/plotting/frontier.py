"""What rules cost and how often they are right, beside the limit of any rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_frontier"]

COLUMNS = ("rule", "cost", "kept")
LIMITS = ("cost_low", "cost_high", "kept_low", "kept_high")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_NARROW = 5.0
"""Inches below which a legend beside the axes leaves too little of them."""


def plot_frontier(
    frame: pd.DataFrame,
    limit: pd.DataFrame | None = None,
    *,
    cost_label: str = "tokens per debate",
    kept_label: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw rules by cost and accuracy, with intervals, and the exact limit as a line.

    Parameters
    ----------
    frame : DataFrame
        One row per rule with ``rule, cost, kept`` and, where there are intervals,
        ``cost_low, cost_high, kept_low, kept_high``.
    limit : DataFrame, optional
        Corners of the exact limit, with ``cost, kept``; chords between them are reached by mixing policies.
    cost_label, kept_label : str
        What the axes measure.
    ax : Axes, optional
        Where to draw; by default a new figure of two columns.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": ["fixed:1", "unanimity"], "cost": [1.0, 4.0], "kept": [0.7, 0.72]})
    >>> plot_frontier(frame, cost_label="rounds").get_xlabel()
    'rounds'
    """
    given = [name for name in LIMITS if name in getattr(frame, "columns", [])]
    checked = check_frame(frame, (*COLUMNS, *given), ("cost", "kept"), given)
    ax = one_axes(ax, width=TWO_COLUMNS, height=3.2)
    if limit is not None:
        corners = check_frame(limit, ("cost", "kept"), ("cost", "kept")).sort_values("cost")
        ax.plot(
            column(corners["cost"]), column(corners["kept"]), color="0.35", linewidth=1.0, label="exact limit"
        )
        ax.fill_between(
            column(corners["cost"]), column(corners["kept"]), 1.0, color="0.85", linewidth=0, zorder=0
        )
    top = column(checked["kept"]).max()
    low = column(checked["kept"]).min()
    for i, row in enumerate(checked.to_dict("records")):
        ax.errorbar(
            row["cost"],
            row["kept"],
            xerr=_bars(row, "cost"),
            yerr=_bars(row, "kept"),
            fmt=MARKERS[i % len(MARKERS)],
            color=COLOURS[i % len(COLOURS)],
            markersize=4.5,
            elinewidth=0.7,
            label=str(row["rule"]),
        )
        top = max(top, float(np.nan_to_num(row.get("kept_high", np.nan))))
        low = min(low, float(np.nan_to_num(row.get("kept_low", np.nan), nan=low)))
    margin = 0.08 * max(top - low, 0.01)
    ax.set_ylim(max(low - margin, 0.0), min(top + margin, 1.0))
    ax.set_xlim(left=0)
    ax.set_xlabel(cost_label)
    ax.set_ylabel(kept_label)
    if ax.figure.bbox.width / ax.figure.dpi < _NARROW:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, columnspacing=1.0)
    else:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ax


def _bars(row: Mapping[Hashable, Any], name: str) -> list[list[float]] | None:
    """Return how far the interval reaches down and up; None without one."""
    low, high = row.get(f"{name}_low", np.nan), row.get(f"{name}_high", np.nan)
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    return [[row[name] - low], [high - row[name]]]
