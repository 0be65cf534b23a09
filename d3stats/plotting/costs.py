"""What rules cost and how often they are right, beside the limit of any rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting.style import (
    ONE_COLUMN,
    TWO_COLUMNS,
    check_frame,
    column,
    one_axes,
    with_bars,
    within_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "efficient",
    "plot_frontier",
    "plot_plan_fan",
    "plot_protocol_frontier",
    "plot_regret_map",
]

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


NUMBERS = ("cost", "accuracy")
PROTOCOL_FRONTIER_LIMITS = ("low", "high")
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
    optional = (*PROTOCOL_FRONTIER_LIMITS, *given)
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
    for name in ("accuracy", *PROTOCOL_FRONTIER_LIMITS):
        within_unit(checked, name)
    pairs = [("accuracy", PROTOCOL_FRONTIER_LIMITS)] + ([("cost", COST_LIMITS)] if len(given) == 2 else [])
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
        yerr=_reach(rows, "accuracy", *PROTOCOL_FRONTIER_LIMITS),
        xerr=_reach(rows, "cost", *COST_LIMITS) if bars else None,
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
    ends = {"y": _reach(checked, "accuracy", *PROTOCOL_FRONTIER_LIMITS)}
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


REGRET_COLUMNS = ("world", "rule", "regret")
_LEAST_WIDTH = 0.24
"""Inches that four characters of six points need."""


def plot_regret_map(
    frame: pd.DataFrame, *, label: str = "regret, share of a verdict", ax: Axes | None = None
) -> Axes:
    """Draw the regret of rules over worlds as a map, light where a rule is near the optimum.

    The colour goes by the square root of the regret; the regret is written into its cell where there is room.

    Parameters
    ----------
    frame : DataFrame
        One row per world and rule: ``world, rule, regret`` (value of the rule minus that of the optimum, at
        least 0). Rows and columns keep their order of first appearance.
    label : str
        What the regret measures, for the colour bar.
    ax : Axes, optional
        Where to draw; by default a new figure of two columns.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a regret is negative, or a world and a rule occur twice.

    Examples
    --------
    >>> frame = pd.DataFrame({"world": ["easy", "hard"], "rule": "unanimity", "regret": [0.01, 0.2]})
    >>> [text.get_text() for text in plot_regret_map(frame).get_xticklabels()]
    ['easy', 'hard']
    """
    from matplotlib.colors import PowerNorm

    frame = check_frame(frame, REGRET_COLUMNS, ("regret",))
    regret = column(frame["regret"])
    if (regret < -1e-9).any():
        row = int(np.argmin(regret))
        raise ValueError(f"regret must be >= 0; got regret={regret[row]} at row {row}")
    if frame.duplicated(["world", "rule"]).any():
        raise ValueError("world and rule must occur once together; got one pair twice")
    worlds, rules = (list(dict.fromkeys(frame[name].astype(str))) for name in ("world", "rule"))
    grid = np.full((len(rules), len(worlds)), np.nan)
    for world, rule, value in zip(frame["world"].astype(str), frame["rule"].astype(str), regret, strict=True):
        grid[rules.index(rule), worlds.index(world)] = max(value, 0.0)
    ax = one_axes(ax, width=TWO_COLUMNS, height=1.1 + 0.19 * len(rules))
    top = float(np.nanmax(grid)) or 1.0
    # The root spreads the small regrets, which are those that choose between rules.
    image = ax.imshow(grid, cmap="Blues", norm=PowerNorm(0.5, vmin=0.0, vmax=top), aspect="auto")
    ax.set_xticks(range(len(worlds)), worlds, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(rules)), rules)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.04, pad=0.02)
    # The layout decides how wide a cell is, and it is only made when the figure is drawn.
    ax.figure.canvas.figure.draw_without_rendering()
    if ax.get_window_extent().width / ax.figure.dpi / len(worlds) >= _LEAST_WIDTH:
        _write_numbers(ax, grid, top)
    else:
        ax.set_xticks(
            range(len(worlds)), worlds, rotation=90, ha="center", rotation_mode="default", fontsize=6
        )
        ax.set_yticks(range(len(rules)), [fill(rule, 20) for rule in rules], fontsize=6, linespacing=0.9)
    return ax


def _write_numbers(ax: Axes, grid: NDArray[np.float64], top: float) -> None:
    for (i, j), value in np.ndenumerate(grid):
        if np.isfinite(value):
            shade = "white" if value > 0.3 * top else "black"
            ax.text(j, i, _short(value), ha="center", va="center", fontsize=6, color=shade)


def _short(value: float) -> str:
    """Return three decimals without the leading zero, and 0 for what is less than half of the last."""
    text = f"{value:.3f}"
    return "0" if float(text) == 0 else text.removeprefix("0")


PLAN_FAN_COLUMNS = ("rule", "role", "debates", "level", "unit", "cost", "low", "high")
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
    frame = check_frame(frame, PLAN_FAN_COLUMNS, ("debates", "level", "cost", "low", "high"))
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
