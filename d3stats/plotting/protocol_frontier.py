"""Protocols by what they cost and how often they are right, and the frontier of those that are worth their cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting._bars import with_bars
from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_protocol_frontier"]

NUMBERS = ("cost", "accuracy")
LIMITS = ("low", "high")
COST_LIMITS = ("cost_low", "cost_high")
WORTH, OTHER = "#0072B2", "#D55E00"
_TEXT = 6.5
"""Size of the labels, in points."""
_MARKER = 5.0
_DISTANCES = (1.5, 6.0, 12.0, 19.0, 27.0, 36.0, 46.0)
"""How far from its point a label may stand, in points; a thin line leads to those that are not next to it."""
_NEXT_TO = 2.0
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
Box = NDArray[np.float64]


def plot_protocol_frontier(
    frame: pd.DataFrame, *, cost_label: str = "tokens per debate", ax: Axes | None = None
) -> Axes:
    """Draw accuracy against cost per debate on a log axis, with intervals and the efficient frontier as steps.

    A protocol is on the frontier when no other is at most as dear and at least as accurate, one of the two
    strictly; it is drawn filled. The steps are what is seen, with no allowance for chance: compare two protocols by
    the interval of their paired difference.

    Parameters
    ----------
    frame : DataFrame
        One row per protocol with ``protocol`` (its name, once each), ``label`` (what is written beside its point),
        ``cost`` (mean per debate, above 0, tokens or dollars), ``accuracy`` and its interval ``low, high`` (shares in
        [0, 1]; an end that is missing is not drawn) and, optionally, ``cost_low, cost_high``, and ``level, kind`` (of
        the intervals, written below the axis).
    cost_label : str
        What a debate's cost is counted in.
    ax : Axes, optional
        Where to draw; by default a new figure of two columns. Labels are placed for the size that it has then.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a cost is not above 0, a share lies outside [0, 1], an interval does not hold its
        value, or a protocol occurs twice.

    Examples
    --------
    >>> frame = pd.DataFrame({"protocol": ["single_judge", "samre"], "label": ["one judge", "SAMRE"]})
    >>> frame = frame.assign(cost=[900.0, 9000.0], accuracy=[0.78, 0.85], low=[0.74, 0.82], high=[0.82, 0.88])
    >>> [text.get_text() for text in plot_protocol_frontier(frame).texts]
    ['one judge', 'SAMRE']
    """
    given = [name for name in COST_LIMITS if name in getattr(frame, "columns", ())]
    optional = (*LIMITS, *given)
    checked = check_frame(frame, ("protocol", "label", *NUMBERS, *optional), NUMBERS, optional)
    _refuse_unclear(checked, given)
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax = one_axes(ax, width=TWO_COLUMNS, height=3.4)
    cost, accuracy = column(checked["cost"]), column(checked["accuracy"])
    worth = efficient(cost, accuracy)
    ax.set_xscale("log")
    for on in (False, True):
        rows = worth == on
        if rows.any():
            _draw_points(ax, checked[rows], on=on, bars=bool(given))
    ax.margins(y=0.12)
    ends = np.concatenate([column(checked[name]) for name in ("cost", *given)])
    spread = float(np.nanmax(ends) / np.nanmin(ends))
    room = spread**0.14 if spread > 1 else 2.0
    left, right = float(np.nanmin(ends) / room), float(np.nanmax(ends) * room)
    order = np.flatnonzero(worth)[np.argsort(cost[worth], kind="stable")]
    ax.step(
        [*cost[order], right], [*accuracy[order], accuracy[order][-1]], where="post", color=WORTH,
        linewidth=0.9, alpha=0.6, zorder=1, label="efficient frontier",
    )  # fmt: skip
    ax.set_xlim(left, right)
    drawn = np.isfinite(column(checked["low"])) & np.isfinite(column(checked["high"]))
    ax.set_xlabel(with_bars(cost_label, frame, drawn))
    ax.set_ylabel("accuracy")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    _write_labels(ax, checked, np.column_stack([cost[order], accuracy[order]]))
    return ax


def efficient(cost: NDArray[np.float64], accuracy: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each point whether no other is at most as dear and at least as accurate, one of the two strictly.

    Examples
    --------
    >>> efficient(np.array([1.0, 2.0, 3.0, 3.0]), np.array([0.7, 0.6, 0.8, 0.8])).tolist()
    [True, False, True, True]
    """
    cheaper, better = cost[None, :] <= cost[:, None], accuracy[None, :] >= accuracy[:, None]
    strictly: NDArray[np.bool_] = (cost[None, :] < cost[:, None]) | (accuracy[None, :] > accuracy[:, None])
    result: NDArray[np.bool_] = ~np.any(cheaper & better & strictly, axis=1)
    return result


def _refuse_unclear(checked: pd.DataFrame, given: Sequence[str]) -> None:
    for name in ("cost", *given):
        cost = column(checked[name])
        if (cost <= 0).any():
            raise ValueError(f"{name} must be above 0 for a log axis; got {name}={cost[cost <= 0][0]:g}")
    twice = checked["protocol"][checked["protocol"].duplicated()]
    if len(twice):
        raise ValueError(f"protocol must occur once; got {twice.iloc[0]!r} again")
    for name in ("accuracy", *LIMITS):
        within_unit(checked, name)
    pairs = [("accuracy", LIMITS)] + ([("cost", COST_LIMITS)] if len(given) == 2 else [])
    if len(given) == 1:
        raise ValueError(f"frame must have both of {list(COST_LIMITS)} or none; got {given[0]!r} alone")
    for name, (low, high) in pairs:
        value = column(checked[name])
        bad = (column(checked[low]) > value) | (column(checked[high]) < value)
        if bad.any():
            row = checked.iloc[int(np.argmax(bad))]
            raise ValueError(
                f"{low} <= {name} <= {high} must hold; got {row[low]:g}, {row[name]:g}, {row[high]:g} "
                f"for protocol {row['protocol']!r}"
            )


def _draw_points(ax: Axes, rows: pd.DataFrame, *, on: bool, bars: bool) -> None:
    colour = WORTH if on else OTHER
    ax.errorbar(
        column(rows["cost"]), column(rows["accuracy"]),
        yerr=_reach(rows, "accuracy", *LIMITS), xerr=_reach(rows, "cost", *COST_LIMITS) if bars else None,
        fmt="o" if on else "s", color=colour, ecolor=colour, elinewidth=0.7, capsize=0,
        markersize=_MARKER if on else _MARKER - 0.8, markerfacecolor=colour if on else "white",
        markeredgewidth=0.9, zorder=3, label="on the frontier" if on else "off the frontier",
    )  # fmt: skip


def _reach(rows: pd.DataFrame, name: str, low: str, high: str) -> NDArray[np.float64]:
    """Return how far the bars reach down and up; 0 where an end is missing."""
    value = column(rows[name])
    ends = np.stack([value - column(rows[low]), column(rows[high]) - value])
    return np.nan_to_num(ends, nan=0.0)


def _write_labels(ax: Axes, checked: pd.DataFrame, corners: NDArray[np.float64]) -> None:
    """Put each label where it hides no point and no other label, as near to its point as it can be."""
    from matplotlib.patheffects import withStroke

    ax.figure.draw_without_rendering()  # type: ignore[union-attr]  # a subfigure draws with its figure
    scale = ax.figure.dpi / 72.0
    points = ax.transData.transform(checked[["cost", "accuracy"]].to_numpy(dtype=float))
    frame = np.array(ax.get_window_extent().extents, dtype=float)
    half = scale * (_MARKER / 2 + 1.0)
    taken = [np.array([x - half, y - half, x + half, y + half]) for x, y in points]
    lines = _bars_in_pixels(ax, checked, scale) + _steps_in_pixels(ax, corners, frame, scale)
    texts = [
        ax.annotate(
            str(label),
            point,
            fontsize=_TEXT,
            annotation_clip=False,
            ha="center",
            va="center",
            path_effects=[withStroke(linewidth=1.4, foreground="white")],
        )
        for label, point in zip(
            checked["label"], checked[["cost", "accuracy"]].itertuples(index=False), strict=True
        )
    ]
    sizes = [np.array([box.width, box.height]) for box in (text.get_window_extent() for text in texts)]
    # Those that stand closest to others choose first.
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    for i in np.argsort(np.sort(gaps, axis=1)[:, 1:3].sum(axis=1), kind="stable"):
        text = texts[i]
        offset, distance = _place(points[i], sizes[i], taken, lines, frame, half, scale)
        text.set_position(tuple(offset / scale))
        text.set_anncoords("offset points")
        middle = points[i] + offset
        taken.append(np.concatenate([middle - sizes[i] / 2, middle + sizes[i] / 2]))
        if distance > _NEXT_TO:
            end = ax.transData.inverted().transform(middle - _outer(offset, sizes[i] / 2))
            ax.plot(
                [checked["cost"].iloc[i], end[0]], [checked["accuracy"].iloc[i], end[1]],
                color="0.6", linewidth=0.4, zorder=1, label="_leader",
            )  # fmt: skip


def _place(
    point: Box, size: Box, taken: list[Box], lines: list[Box], frame: Box, half: float, scale: float
) -> tuple[Box, float]:
    """Return the best place's offset from the point, in pixels, and its distance in points."""
    best, found = np.inf, (np.zeros(2), 0.0)
    for distance, (dx, dy) in product(_DISTANCES, _DIRECTIONS):
        step = half + distance * scale
        offset = np.array([dx * (step + size[0] / 2), dy * (step + size[1] / 2)])
        if dx and dy:
            # Diagonals keep the corner, not the middle, at the distance.
            offset -= np.array([dx, dy]) * step * 0.3
        box = np.concatenate([point + offset - size / 2, point + offset + size / 2])
        outside = box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3]
        hidden = sum(_overlap(box, other) for other in taken)
        crossed = sum(_overlap(box, other) > 0 for other in lines)
        price = 1000.0 * outside + 10.0 * hidden + 6.0 * crossed + distance
        if price < best:
            best, found = price, (offset, distance)
    return found


def _overlap(one: Box, other: Box) -> float:
    """Return the area that two boxes share, in square pixels; 1 more when they share any."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return float(width * height + 1.0) if width > 0 and height > 0 else 0.0


def _bars_in_pixels(ax: Axes, checked: pd.DataFrame, scale: float) -> list[Box]:
    """Return the boxes of the bars, which labels had better not cross."""
    cost, accuracy = column(checked["cost"]), column(checked["accuracy"])
    ends = {"y": _reach(checked, "accuracy", *LIMITS)}
    if set(COST_LIMITS) <= set(checked.columns):
        ends["x"] = _reach(checked, "cost", *COST_LIMITS)
    boxes = []
    for along, (down, up) in ends.items():
        sides = (cost, accuracy - down, cost, accuracy + up)
        if along == "x":
            sides = (cost - down, accuracy, cost + up, accuracy)
        low = ax.transData.transform(np.column_stack(sides[:2])) - scale * 0.6
        high = ax.transData.transform(np.column_stack(sides[2:])) + scale * 0.6
        boxes += [np.concatenate(pair) for pair in zip(low, high, strict=True)]
    return boxes


def _steps_in_pixels(ax: Axes, corners: NDArray[np.float64], frame: Box, scale: float) -> list[Box]:
    """Return the boxes of the frontier's steps."""
    at = ax.transData.transform(corners)
    boxes = []
    for (x, y), (across, up) in zip(at, [*at[1:], (frame[2], at[-1, 1])], strict=True):
        boxes += [np.array([x, y, across, y]), np.array([across, y, across, up])]
    return [box + scale * np.array([-0.6, -0.6, 0.6, 0.6]) for box in boxes]


def _outer(offset: Box, half_size: Box) -> Any:
    """Return the step from a label's middle to its edge, on the way from the point."""
    with np.errstate(divide="ignore"):
        ratio = np.min(np.where(offset == 0, np.inf, half_size / np.abs(offset)))
    return offset * min(float(ratio), 1.0)
