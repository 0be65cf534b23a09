"""How consistent a judge is when the order is swapped, and how often it prefers the answer shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats.plotting._bars import with_bars
from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_position_bias"]

VALUES = ("consistency", "first", "coin")
LIMITS = ("consistency_low", "consistency_high", "first_low", "first_high")
SERIES = (("consistency", "same winner both ways", "o", "#0072B2"), ("first", "first slot", "s", "#D55E00"))
_APART = 0.17
_ROW = 0.32
"""Height of a judge's row, in inches."""


def plot_position_bias(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw swap consistency and the share of first-slot verdicts of each judge, with intervals.

    A judge without position bias has its square on the line at one half. The bar is the consistency that a judge
    with the same shares of first, second and tie would have without looking at the answers.

    Parameters
    ----------
    frame : DataFrame
        One row per judge, drawn from the top: ``judge``, ``consistency`` and ``first`` (shares in [0, 1]), their
        limits ``consistency_low, consistency_high, first_low, first_high`` (missing where there is no
        interval) and ``coin`` (consistency of a judge that ignores the answers); optionally ``level, kind`` (of the
        intervals, written below the axis).
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as it needs to be.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], or an interval is upside down.

    Examples
    --------
    >>> row = {"judge": "J", "consistency": 0.7, "consistency_low": 0.6, "consistency_high": 0.8}
    >>> frame = pd.DataFrame([row | {"first": 0.6, "first_low": 0.55, "first_high": 0.65, "coin": 0.5}])
    >>> plot_position_bias(frame).get_xlabel()
    'share of pairs, of verdicts'
    """
    checked = check_frame(frame, ("judge", *VALUES, *LIMITS), VALUES, LIMITS)
    for name in (*VALUES, *LIMITS):
        within_unit(checked, name)
    for name, *_ in SERIES:
        _in_order(checked, name)
    ax = one_axes(ax, width=ONE_COLUMN, height=0.9 + _ROW * len(checked))
    y = np.arange(len(checked), dtype=float)
    ax.axvline(0.5, color="0.35", linewidth=0.8, zorder=1)
    coin = column(checked["coin"])
    shift = {"consistency": -_APART, "first": _APART}
    ax.scatter(
        coin,
        y + shift["consistency"],
        marker="|",
        s=40,
        color="0.45",
        zorder=2,
        label="same, answers ignored",
    )
    for name, said, marker, colour in SERIES:
        x = column(checked[name])
        reach: Any = [np.nan_to_num(np.abs(column(checked[f"{name}_{end}"]) - x)) for end in ("low", "high")]
        ax.errorbar(
            x,
            y + shift[name],
            xerr=reach,
            fmt=marker,
            color=colour,
            markersize=2.6,
            elinewidth=0.9,
            capsize=0,
            linestyle="none",
            label=said,
        )
    ax.set_yticks(y, [str(judge) for judge in checked["judge"]])
    ax.set_ylim(len(checked) - 0.45, -0.55)
    ax.set_xlim(-0.02, 1.02)
    drawn = np.isfinite(checked[[*LIMITS]].to_numpy(dtype=float)).any(axis=1)
    ax.set_xlabel(with_bars("share of pairs, of verdicts", frame, drawn))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="x-small", handletextpad=0.3,
              columnspacing=0.8, frameon=False)  # fmt: skip
    return ax


def _in_order(frame: pd.DataFrame, name: str) -> None:
    low, value, high = (column(frame[key]) for key in (f"{name}_low", name, f"{name}_high"))
    bad = (low > value) | (value > high)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must lie within its limits; got {low[row]}, {value[row]}, {high[row]} at row {row}"
        )
