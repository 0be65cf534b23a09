"""How far apart the judge's scores are, round by round, for each kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import band, check_frame, column, one_axes, whole_rounds
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_gap_trajectories"]

COLUMNS = ("category", "round", "gap", "low", "high", "verdict")
# A category is told by its colour and its dashes, so by either alone where there are at most seven.
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))


def plot_gap_trajectories(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the gap between the judge's scores of the two answers over the rounds, one line per category.

    A diamond stands on the round whose verdict counts; beyond it the line is thin: that is what going on
    would have shown. The form is that of D3, figure 5.

    Parameters
    ----------
    frame : DataFrame
        One row per category and round, with the columns

        ``category``
            Name of the kind of question; the legend has the order of first appearance.
        ``round``
            From 1.
        ``gap``
            Mean gap, raw points; whether signed or absolute is the frame's choice.
        ``low``, ``high``
            A band of ``gap``; missing where not computed.
        ``verdict``
            True in the round whose verdict counts, for instance the median stop round; at most one per
            category.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a category has a round twice or two verdicts, ``verdict`` is not true or
        false, or the edges of the band are in the wrong order.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"category": "coding", "round": [1, 2, 3], "gap": [12.0, 18.0, 19.0],
    ...     "low": None, "high": None, "verdict": [False, True, False]})
    >>> plot_gap_trajectories(frame).get_ylabel()
    'gap (raw points)'
    """
    frame = check_frame(frame, COLUMNS, ("round", "gap", "verdict"), ("low", "high"))
    rounds = whole_rounds(frame)
    _check(frame)
    band(frame)
    categories = list(dict.fromkeys(frame["category"].astype(str)))
    ax = one_axes(ax, width=ONE_COLUMN, height=2.2 + 0.16 * -(-len(categories) // 2))
    for i, category in enumerate(categories):
        rows = frame[frame["category"].astype(str) == category].sort_values("round")
        # A little apart, so that diamonds of equal gaps do not hide each other.
        shift = 0.06 * (i - (len(categories) - 1) / 2)
        _draw(ax, rows, category, f"C{i % 7}", DASHES[i % len(DASHES)], shift)
    if column(frame["verdict"]).any():
        ax.plot([], [], marker="D", linestyle="none", color="0.4", markeredgecolor="white", label="verdict")
    if column(frame[["gap", "low"]].min(axis=1)).min() < 0:
        ax.axhline(0, color="0.35", linewidth=0.6, zorder=0.5)
    else:
        ax.set_ylim(bottom=0)
    every = -(-len(rounds) // 12)
    ax.set_xticks(rounds[::every])
    room = 0.25 + 0.03 * len(categories)
    ax.set_xlim(rounds[0] - room, rounds[-1] + room)
    ax.set_xlabel("round")
    ax.set_ylabel("gap (raw points)")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, columnspacing=1.0, handlelength=2.4)
    return ax


def _draw(ax: Axes, rows: pd.DataFrame, category: str, colour: str, dashes: object, shift: float) -> None:
    at, gap, verdict = column(rows["round"]) + shift, column(rows["gap"]), column(rows["verdict"]) == 1
    banded, low, high = band(rows)
    last = int(np.argmax(verdict)) if verdict.any() else len(at) - 1
    ax.fill_between(at, low, high, where=list(banded), color=colour, alpha=0.15, linewidth=0)
    ax.plot(at[: last + 1], gap[: last + 1], color=colour, linestyle=dashes, label=category)
    ax.plot(at[last:], gap[last:], color=colour, linestyle=dashes, linewidth=0.6, label="_nolegend_")
    ax.plot(
        at[verdict],
        gap[verdict],
        color=colour,
        marker="D",
        markersize=5.5,
        markeredgecolor="white",
        linestyle="none",
        zorder=3,
        label="_nolegend_",
    )


def _check(frame: pd.DataFrame) -> None:
    verdict = column(frame["verdict"])
    bad = (verdict != 0) & (verdict != 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"verdict must be true or false; got verdict={verdict[row]:g} at row {row}")
    names = frame["category"].astype(str)
    again = frame.assign(category=names).duplicated(["category", "round"])
    if again.any():
        row = int(np.argmax(again.to_numpy()))
        raise ValueError(
            f"frame must have one row per category and round; got category={names[row]!r}, "
            f"round={frame['round'][row]:g} twice"
        )
    verdicts = frame["verdict"].groupby(names, sort=False).sum()
    if (verdicts > 1).any():
        name = verdicts.index[verdicts > 1][0]
        raise ValueError(
            f"verdict must be true at most once per category; got {verdicts[name]:g} in {name!r}"
        )
