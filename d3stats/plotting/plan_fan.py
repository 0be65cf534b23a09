"""What the planned debates will cost, as they are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_plan_fan"]

COLUMNS = ("rule", "role", "debates", "level", "unit", "cost", "low", "high")
_COLOURS = {"recommended": "#0072B2", "incumbent": "#D55E00"}


def plot_plan_fan(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the total cost against the number of debates, with a band for each level.

    Parameters
    ----------
    frame : DataFrame
        One row per rule, number of debates and level, with the columns

        ``rule, role``
            Name of the rule, and "recommended" or "incumbent".
        ``debates``
            New debates, from 1.
        ``level``
            Of the band, in (0, 1).
        ``unit``
            "rounds", "tokens" or "dollars"; one for the whole frame.
        ``cost, low, high``
            Expected total and its band.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": "unanimity", "role": "incumbent", "debates": [1, 10], "level": 0.8,
    ...     "unit": "tokens", "cost": [2.0, 20.0], "low": [1.0, 15.0], "high": [3.0, 25.0]})
    >>> plot_plan_fan(frame).get_ylabel()
    'tokens, total'
    """
    frame = check_frame(frame, COLUMNS, ("debates", "level", "cost", "low", "high"))
    units = frame["unit"].unique()
    if len(units) != 1:
        raise ValueError(f"unit must be one for the whole frame; got {sorted(map(str, units))}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.5)
    levels = sorted(frame["level"].unique(), reverse=True)
    for rule, rows in frame.groupby("rule", sort=False):
        colour = _COLOURS.get(str(rows["role"].iloc[0]), "0.4")
        for level in levels:
            band = rows[rows["level"] == level].sort_values("debates")
            x = column(band["debates"])
            ax.fill_between(
                x, column(band["low"]), column(band["high"]), color=colour, alpha=0.18, linewidth=0
            )
        ax.plot(x, column(band["cost"]), color=colour, linewidth=1.2, label=str(rule))
    shown = ", ".join(f"{level:.0%}" for level in sorted(levels))
    ax.set_xlabel("debates")
    ax.set_ylabel(f"{units[0]}, total")
    ax.set_xlim(0, column(frame["debates"]).max())
    ax.set_ylim(bottom=0)
    ax.legend(title=f"bands: {shown}", title_fontsize=7, loc="upper left")
    return ax
