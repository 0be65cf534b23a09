"""A log beside what a model of it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, whole_rounds
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_predictive_check"]

COLUMNS = ("statistic", "round", "pilot", "predicted", "low", "high", "p_value")
_FAR = 3.0
"""Half bands at which a dot stops and becomes an arrow."""
_INSIDE, _OUTSIDE = "#0072B2", "#D55E00"


def plot_predictive_check(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw each statistic of a pilot against the band that its model predicts.

    Statistics have different units, so each row is drawn in its own: 0 is what is predicted, and the band
    reaches from -1 to 1. The pilot's dot is orange outside the band; the numbers stand beside it.

    Parameters
    ----------
    frame : DataFrame
        One row per statistic and round, with the columns

        ``statistic, round``
            What is compared; rounds from 1.
        ``pilot, predicted``
            Its value in the pilot, and the mean of the replicates.
        ``low, high``
            The band of the replicates; it holds ``predicted``.
        ``p_value``
            In [0, 1].
    ax : Axes, optional
        Where to draw; by default a new figure of two columns.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"statistic": ["unanimous"], "round": [1], "pilot": [0.5], "predicted": [0.4],
    ...     "low": [0.3], "high": [0.45], "p_value": [0.02]})
    >>> plot_predictive_check(frame).get_yticklabels()[0].get_text()
    'unanimous, round 1'
    """
    frame = check_frame(frame, COLUMNS, ("round", "pilot", "predicted", "low", "high", "p_value"))
    whole_rounds(frame)
    low, centre, high = column(frame["low"]), column(frame["predicted"]), column(frame["high"])
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")
    pilot = column(frame["pilot"])
    outside = (pilot < low) | (pilot > high)
    # A band may lie on one side of a skewed law's mean; its middle then stands for what is predicted.
    centre = np.where((centre < low) | (centre > high), (low + high) / 2, centre)
    half = np.where(pilot >= centre, high - centre, centre - low)
    # A band without width has room for its own value alone.
    gap = pilot - centre
    off = np.where(half > 0, gap / np.where(half > 0, half, 1.0), np.sign(gap) * 2 * _FAR)
    at = np.arange(len(frame))[::-1]
    ax = one_axes(ax, width=TWO_COLUMNS, height=1.0 + 0.19 * len(frame))
    ax.axvspan(-1, 1, color="0.9", linewidth=0, zorder=0)
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=1)
    for where, colour, name in ((~outside, _INSIDE, "inside"), (outside, _OUTSIDE, "outside")):
        near = where & (np.abs(off) <= _FAR)
        ax.scatter(off[near], at[near], s=14, color=colour, zorder=3, label=f"pilot, {name} the band")
        for side, marker in ((1, ">"), (-1, "<")):
            far = where & (np.sign(off) == side) & (np.abs(off) > _FAR)
            ax.scatter(np.full(far.sum(), side * _FAR), at[far], s=16, marker=marker, color=colour, zorder=3)
    shown = zip(at, pilot, column(frame["predicted"]), column(frame["p_value"]), strict=True)
    for y, here, predicted, p in shown:
        text = f"{here:.3g} for {predicted:.3g}, p = {p:.2g}"
        ax.annotate(text, (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=6)
    ax.set_yticks(
        at, [f"{s}, round {int(r)}" for s, r in zip(frame["statistic"], frame["round"], strict=True)]
    )
    ax.tick_params(axis="y", labelsize=6)
    ax.set_ylim(-0.7, len(frame) - 0.3)
    ax.set_xlim(-_FAR - 0.3, _FAR + 0.3)
    ax.set_xlabel("pilot less prediction, in half bands")
    return ax
