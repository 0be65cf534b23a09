"""In which round debates stop, and how many have stopped by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, whole_rounds
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_stop_histogram"]

COLUMNS = ("round", "share")


def plot_stop_histogram(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of debates that stop in each round, and the share stopped so far, for one rule.

    Both are shares of all debates, so they stand on one axis; the numbers are the shares stopped so far.
    The form is that of D3, figure 4.

    Parameters
    ----------
    frame : DataFrame
        One row per round, with the columns

        ``round``
            The round after which the debates stopped, from 1; a round that is left out stopped none.
        ``share``
            Share of all debates; the shares add up to 1.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a round comes twice, a share is negative, or the shares do not add up to 1.

    Examples
    --------
    >>> import pandas as pd
    >>> ax = plot_stop_histogram(pd.DataFrame({"round": [2, 3, 5], "share": [.5, .3, .2]}))
    >>> [text.get_text() for text in ax.texts]
    ['0 %', '50 %', '80 %', '80 %', '100 %']
    """
    frame = check_frame(frame, COLUMNS, COLUMNS)
    seen = whole_rounds(frame)
    _check(frame)
    rounds = np.arange(1, seen[-1] + 1)
    share = np.zeros(len(rounds))
    share[column(frame["round"]).astype(np.int64) - 1] = column(frame["share"])
    so_far = np.cumsum(share)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    ax.bar(rounds, share, width=0.7, color="C4", edgecolor="white", label="stopped in this round")
    ax.plot(rounds, so_far, color="C1", marker="o", label="stopped so far")
    # More numbers than this would run into each other at one column.
    every = -(-len(rounds) // 12)
    marked = rounds[::-1][::every][::-1]
    # To the left of the point and above it: the line rises from below.
    for at in marked:
        value = so_far[at - 1]
        ax.annotate(
            f"{100 * value:.0f} %",
            (at, value),
            xytext=(-4, 2),
            textcoords="offset points",
            ha="right",
            fontsize=7,
        )
    ax.set_xticks(marked)
    ax.set_xlim(0.4, len(rounds) + 0.6)
    ax.set_ylim(0, 1.12)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_xlabel("round")
    ax.set_ylabel("share of debates")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, columnspacing=1.0)
    return ax


def _check(frame: pd.DataFrame) -> None:
    at, share = column(frame["round"]), column(frame["share"])
    if at.min() < 1:
        raise ValueError(f"round must be >= 1; got round={at.min():g} at row {int(at.argmin())}")
    again = frame["round"].duplicated()
    if again.any():
        raise ValueError(f"frame must have one row per round; got round={at[again][0]:g} twice")
    if (share < 0).any():
        row = int(np.argmax(share < 0))
        raise ValueError(f"share must be >= 0; got share={share[row]} at row {row}")
    if abs(share.sum() - 1) > 1e-6:
        raise ValueError(f"share must add up to 1; got {share.sum():.6g}")
