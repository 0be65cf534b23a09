"""How right a jury is by its size, beside independent jurors and the limit of a large panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._bars import with_bars
from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_jury_curve"]

NUMBERS = ("k", "accuracy", "independent")
CEILING = ("ceiling", "ceiling_low", "ceiling_high")
SEEN, INDEPENDENT, LIMIT = "#0072B2", "#D55E00", "#009E73"


def plot_jury_curve(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy by panel size with its interval, Condorcet's independent jurors, and the limit.

    Parameters
    ----------
    frame : DataFrame
        One row per size with ``k`` (jurors), ``accuracy`` (of k of these jurors), ``low, high`` (its interval;
        missing where there is none), ``independent`` (of k independent ones) and, optionally, ``ceiling,
        ceiling_low, ceiling_high`` (a large panel of these; the first row's is drawn; missing is left out),
        ``level, kind`` (of the intervals, written below the axis). All but k, level and kind are shares in [0, 1].
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], a size is no whole number or occurs twice, or an
        interval is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame({"k": [1, 3], "accuracy": [0.7, 0.74], "low": [0.65, 0.7], "high": [0.75, 0.78]})
    >>> frame["independent"] = [0.7, 0.784]
    >>> plot_jury_curve(frame).get_xlabel()
    'jurors'
    """
    limited = set(CEILING) <= set(getattr(frame, "columns", ()))
    extra = CEILING if limited else ()
    optional = ("low", "high", *extra)
    checked = check_frame(frame, (*NUMBERS[:2], "low", "high", "independent", *extra), NUMBERS, optional)
    for name in ("accuracy", "independent", *optional):
        within_unit(checked, name)
    checked = checked.sort_values("k", kind="stable").reset_index(drop=True)
    k = column(checked["k"])
    if (k != np.floor(k)).any() or (k < 1).any() or len(np.unique(k)) < k.size:
        raise ValueError(f"k must be different whole numbers >= 1; got {k.tolist()}")
    low, high = column(checked["low"]), column(checked["high"])
    if (low > high).any():
        row = int(np.argmax(low > high))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at k={k[row]:g}")
    from matplotlib.ticker import MaxNLocator

    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    banded = ~(np.isnan(low) | np.isnan(high))
    if limited and np.isfinite(checked["ceiling"].iloc[0]):
        _draw_limit(ax, checked)
    ax.plot(k, column(checked["independent"]), "--", color=INDEPENDENT, marker="s", markersize=3.0,
            label="independent jurors (Condorcet)")  # fmt: skip
    ax.fill_between(k, low, high, where=banded.tolist(), color=SEEN, alpha=0.2, linewidth=0)
    ax.plot(k, column(checked["accuracy"]), "-", color=SEEN, marker="o", markersize=3.5, label="these jurors")
    ax.set_xlabel(with_bars("jurors", frame, ~np.isnan(column(frame["low"])), what="blue band"))
    ax.set_ylabel("accuracy of the plurality")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="best", fontsize="small")
    return ax


def _draw_limit(ax: Axes, checked: pd.DataFrame) -> None:
    value, low, high = (float(checked[name].iloc[0]) for name in CEILING)
    if low > high:
        raise ValueError(f"ceiling_high must be >= ceiling_low; got {low} and {high}")
    if np.isfinite(low) and np.isfinite(high):
        ax.axhspan(low, high, color=LIMIT, alpha=0.12, linewidth=0)
    ax.axhline(value, color=LIMIT, linestyle=":", linewidth=1.0, label="limit of a large panel")
