"""When each rule stops, and why."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, whole_rounds
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_stop_rounds"]

COLUMNS = ("rule", "round", "share", "reason")
HATCHES = ("", "///", "..", "xxx", "--", "oo")
UNKNOWN = "#f2f2f2"
"""Colour of debates whose stop round is unknown."""


def plot_stop_rounds(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw which share of the debates each rule stops in each round, one bar per rule.

    A bar is cut into rounds, from left to right and from light to dark. The hatch says why: plain is the
    first reason of the frame (by custom the criterion of the rule itself), hatched are the others, such as
    the last round being reached.

    Parameters
    ----------
    frame : DataFrame
        One row per rule, round and reason, with the columns

        ``rule``
            Name of the rule; bars stand in the order of first appearance.
        ``round``
            The round after which the debates stopped, from 1; missing where it is unknown, because the debate
            ended before the rule would have stopped it: drawn pale, with a question mark.
        ``share``
            Share of all debates; the shares of a rule add up to 1.
        ``reason``
            Machine-readable reason of the stop.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share is negative, or the shares of a rule do not add up to 1.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"rule": ["unanimity", "unanimity"], "round": [1, 3], "share": [.7, .3],
    ...     "reason": ["unanimous", "last_round"]})
    >>> plot_stop_rounds(frame).get_xlabel()
    'share of debates'
    """
    frame = check_frame(frame, COLUMNS, ("share",), ("round",))
    _check_shares(frame)
    rules = list(dict.fromkeys(frame["rule"].astype(str)))
    reasons = list(dict.fromkeys(frame["reason"].astype(str)))
    known = frame[frame["round"].notna()]
    rounds = whole_rounds(known)
    ax = one_axes(ax, width=ONE_COLUMN, height=0.9 + 0.34 * len(rules) + 0.17 * -(-len(reasons) // 2))
    colours = _colours(len(rounds))
    for height, rule in enumerate(rules):
        rows = frame[(frame["rule"].astype(str) == rule) & (frame["share"] > 0)].sort_values(
            "round", kind="stable"
        )
        shares = column(rows["share"])
        starts = np.cumsum(shares) - shares
        where = [rounds.index(int(r)) if r == r else None for r in column(rows["round"])]
        why = [reasons.index(str(reason)) for reason in rows["reason"]]
        for start, share, at, reason in zip(starts, shares, where, why, strict=True):
            text, colour = ("?", UNKNOWN) if at is None else (str(rounds[at]), colours[at])
            _segment(ax, height, start, share, text, colour, HATCHES[reason % len(HATCHES)])
    # A long name would leave no room for its bar.
    ax.set_yticks(range(len(rules)), [fill(rule, 20) for rule in rules])
    ax.set_ylim(len(rules) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of debates")
    ax.tick_params(axis="y", length=0)
    _explain(ax, reasons)
    return ax


def _segment(ax: Axes, height: int, start: float, share: float, text: str, colour: str, hatch: str) -> None:
    ax.barh(
        height, share, left=start, height=0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5
    )
    # A number needs about this much width to be legible at one column.
    if share >= 0.07:
        ax.text(
            start + share / 2,
            height,
            text,
            ha="center",
            va="center",
            fontsize=7,
            color="black" if _light(colour) else "white",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": colour, "edgecolor": "none"},
        )


def _light(colour: str) -> bool:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5


def _check_shares(frame: pd.DataFrame) -> None:
    share = column(frame["share"])
    if (share < 0).any():
        row = int(np.argmax(share < 0))
        raise ValueError(f"share must be >= 0; got share={share[row]} at row {row}")
    total = frame.groupby(frame["rule"].astype(str), sort=False)["share"].sum()
    off = (total - 1).abs() > 1e-6
    if off.any():
        rule = total.index[off][0]
        raise ValueError(f"share must add up to 1 within a rule; got {total[rule]:.6g} for rule {rule!r}")


def _colours(n: int) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # cividis reads the same with and without colour vision; its yellow end and its black end are left out.
    return [to_hex(colour) for colour in colormaps["cividis"](np.linspace(0.9, 0.1, max(n, 2)))[:n]]


def _explain(ax: Axes, reasons: list[str]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(
            facecolor="0.6",
            edgecolor="white",
            hatch=HATCHES[i % len(HATCHES)],
            label=reason.replace("_", " "),
        )
        for i, reason in enumerate(reasons)
    ]
    ax.legend(
        handles=handles,
        title="number: stop round; hatch: reason",
        title_fontsize=7,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=2,
        columnspacing=1.0,
    )
