"""Figures of cost: what rules and protocols cost, how often they are right, and how far from the best they are."""

from __future__ import annotations

from itertools import cycle, pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats.plotting.style import (
    BLUE,
    MARKERS,
    ONE_COLUMN,
    PALETTE,
    TWO_COLUMNS,
    VERMILLION,
    Look,
    check_frame,
    column,
    draw_points,
    groups,
    legend_below,
    one_axes,
    refuse,
    tell_intervals,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

__all__ = [
    "plot_debate_paths",
    "plot_frontier",
    "plot_plan_fan",
    "plot_regret_map",
    "plot_risk_coverage",
    "plot_savings",
    "plot_threshold_path",
]

_NARROW = 5.0
"""Inches below which a legend beside the axes leaves too little of them."""
_TEXT = 6.5
"""Points of the letters of a threshold."""
_LEAST_WIDTH = 0.24
"""Inches that three digits need."""


def plot_debate_paths(
    rounds: pd.DataFrame, stops: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the share of right verdicts against the tokens spent, round by round, and where rules stop.

    Parameters
    ----------
    rounds : DataFrame
        One row per group and round: ``round``, ``tokens`` (of a debate, up to that round), ``accuracy`` and, with
        several lines, ``group``. The name of a group is written at the end of its line.
    stops : DataFrame, optional
        One row per rule with ``rule, tokens, accuracy``, as of :meth:`~d3stats.planning.Replay.to_frame`.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> rounds = pd.DataFrame({"round": [1, 2], "tokens": [900, 2400], "accuracy": [0.79, 0.64]})
    >>> stops = pd.DataFrame({"rule": ["unanimity"], "tokens": [2000], "accuracy": [0.65]})
    >>> plot_debate_paths(rounds, stops).get_xlabel()
    'tokens of a debate'
    """
    from matplotlib.ticker import FuncFormatter

    number = ("round", "tokens", "accuracy")
    named = ["group"] if "group" in getattr(rounds, "columns", []) else []
    path = check_frame(rounds, (*number, *named), number).sort_values("round", kind="stable")
    ax = one_axes(ax, width=4.8, height=3.4)
    ends: list[tuple[float, float, str, str]] = []
    for name, rows, colour, _ in groups(path, what="lines to distinguish"):
        part = path[rows]
        x, y = column(part["tokens"]), column(part["accuracy"])
        ax.plot(x, y, color=colour, linewidth=1.4, marker="o", markersize=3.0, zorder=2)
        ends.append((x[-1], y[-1], name, colour))
    if stops is not None:
        at = check_frame(stops, ("rule", "tokens", "accuracy"), ("tokens", "accuracy"))
        for row, marker in zip(at.to_dict("records"), cycle("DsvPX*^"), strict=False):
            where: Look = {"marker": marker, "s": 42, "facecolor": "white", "edgecolor": "black"}
            ax.scatter(
                row["tokens"], row["accuracy"], **where, linewidth=1.1, label=str(row["rule"]), zorder=3
            )
        legend_below(ax, 3)
    for x_end, y_end, name, colour in ends:
        label: Look = {"color": colour, "fontsize": 7.5, "va": "center", "textcoords": "offset points"}
        ax.annotate(name, (x_end, y_end), (7, 0), **label)
    ax.set_xlim(0, 1.28 * max(x_end for x_end, *_ in ends))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.locator_params(axis="y", steps=[1, 2, 5, 10])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
    ax.set_xlabel("tokens of a debate")
    ax.set_ylabel("right verdicts")
    return ax


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
        ``cost_low, cost_high, kept_low, kept_high``, ``level, kind``.
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
    ends = ("cost_low", "cost_high", "kept_low", "kept_high")
    given = [name for name in ends if name in getattr(frame, "columns", [])]
    checked = check_frame(frame, ("rule", "cost", "kept", *given), ("cost", "kept"), given)
    for name in ends:
        checked[name] = checked.get(name, np.nan)
    ax = one_axes(ax, width=TWO_COLUMNS, height=3.2)
    values = checked[["kept", "kept_low", "kept_high"]].to_numpy(dtype=float)
    low, top = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * max(top - low, 0.01)
    if limit is not None:
        corners = check_frame(limit, ("cost", "kept"), ("cost", "kept")).sort_values("cost")
        cost, kept = column(corners["cost"]), column(corners["kept"])
        ax.plot(cost, kept, color="0.35", linewidth=1.0, label="exact limit", zorder=1)
        ax.fill_between(cost, kept, 1.0, color="0.9", linewidth=0, zorder=0)
        note: Look = {"ha": "right", "va": "top", "fontsize": 7, "color": "0.35"}
        across: Any = ax.get_xaxis_transform()
        ax.annotate("not reachable by any rule", (0.98 * cost.max(), 0.98), xycoords=across, **note)
        top, room = max(top, float(kept.max())), 1.5 * room
    for i, row in enumerate(checked.to_dict("records")):
        bars: Look = {}
        for along, name in (("xerr", "cost"), ("yerr", "kept")):
            down, up = row[name] - row[f"{name}_low"], row[f"{name}_high"] - row[name]
            bars[along] = [[down], [up]] if np.isfinite(down + up) else None
        look: Look = {
            "fmt": MARKERS[i % len(MARKERS)],
            "color": PALETTE[i % len(PALETTE)],
            "label": str(row["rule"]),
        }
        ax.errorbar(row["cost"], row["kept"], **bars, **look, markersize=4.5, elinewidth=0.7)
    ax.set_ylim(max(low - room, 0.0), min(top + room, 1.0))
    ax.set_xlim(left=0)
    ax.locator_params(axis="y", nbins=6)
    ax.set_xlabel(cost_label)
    tell_intervals(ax, checked, checked["kept_low"].notna().to_numpy())
    ax.set_ylabel(kept_label)
    if ax.figure.bbox.width / ax.figure.dpi < _NARROW:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, columnspacing=1.0)
    else:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ax


def plot_risk_coverage(
    frame: pd.DataFrame, *, max_error: float | None = None, cost: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the share of wrong verdicts among those kept against the share kept, and beside it the cost of a verdict.

    Right and down is better. Points are joined from the strictest threshold on; a ring marks the chosen one.

    Parameters
    ----------
    frame : DataFrame
        One row per threshold, the strictest first, with ``votes`` (its name), ``kept`` and ``error`` (shares; ``error``
        missing where it cannot be counted) and, where there are intervals, ``kept_low, kept_high, error_low,
        error_high``. Optionally ``chosen`` (true for one row) and the column named by `cost`.
    max_error : float, optional
        The limit of the error, a share, drawn as a line; by default none.
    cost : str, optional
        Column of the cost of one kept verdict, drawn in axes beside; by default, and in given axes, none.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        Those of the error.

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, or no threshold has an error.

    Examples
    --------
    >>> frame = pd.DataFrame({"votes": ["3 of 3", "2 of 3"], "kept": [0.6, 1.0], "error": [0.02, 0.1]})
    >>> plot_risk_coverage(frame, max_error=0.05).get_ylabel()
    'wrong among the kept'
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    ends = ("kept_low", "kept_high", "error_low", "error_high")
    there = getattr(frame, "columns", [])
    given = [name for name in ends if name in there]
    told = ["chosen"] if "chosen" in there else []
    paid = [cost] if cost is not None else []
    columns = ("votes", "kept", "error", *given, *told, *paid)
    checked = check_frame(frame, columns, ("kept",), ("error", *given, *paid), shares=("kept", "error"))
    checked = checked.dropna(subset=["error"]).reset_index(drop=True)
    if checked.empty:
        raise ValueError("frame must have a threshold with an error; got none")
    for name in ends:
        checked[name] = checked.get(name, np.nan)
    beside = None
    if ax is None and cost is not None:
        _, (ax, beside) = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.7), layout="constrained")
    ax = one_axes(ax, width=4.2, height=3.0)
    best = checked["chosen"].astype(bool).to_numpy() if told else np.zeros(len(checked), dtype=bool)
    kept, error, left, right, low, high = (column(checked[name]) for name in ("kept", "error", *ends))
    ring: Look = {"s": 70, "facecolors": "none", "edgecolors": VERMILLION, "linewidths": 1.4, "zorder": 3}
    if max_error is not None:
        ax.axhline(max_error, color="0.5", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    ax.plot(kept, error, color=BLUE, linewidth=0.9, zorder=1)
    draw_points(ax, kept, error, low, high, along="y", color=BLUE, marker="o", zorder=2)
    draw_points(ax, kept, error, left, right, along="x", color=BLUE, marker="o", zorder=2)
    ax.scatter(kept[best], error[best], **ring)
    words: Look = {"textcoords": "offset points", "va": "bottom", "fontsize": 7}
    for x, y, name in zip(kept, error, checked["votes"], strict=True):
        # Near the left edge there is no room on the left; on the right the curve is above.
        place, ha = ((-4, 3), "right") if x > 0.2 else ((4, -10), "left")
        ax.annotate(str(name), (x, y), place, ha=ha, **words)
    written = FuncFormatter(lambda value, _: f"{100 * value:.4g} %")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(written)
    ax.set_ylabel("wrong among the kept")
    for one in filter(None, (ax, beside)):
        one.set_xlim(max(float(np.nanmin([*kept, *left])) - 0.15, 0.0), 1.03)
        one.xaxis.set_major_formatter(written)
        one.set_xlabel("verdicts kept")
    tell_intervals(ax, checked, np.isfinite(low))
    if beside is not None:
        price = column(checked[str(cost)])
        beside.plot(kept, price, color=BLUE, linewidth=0.9, marker="o", markersize=4.0)
        beside.scatter(kept[best], price[best], **ring)
        beside.set_ylim(0, 1.12 * np.nanmax([*price, 1e-9]))
        beside.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        beside.set_ylabel(f"{cost} for a kept verdict")
    return ax


def plot_savings(
    frame: pd.DataFrame,
    *,
    max_loss: float | None = None,
    unit: str = "rounds",
    kept: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw the change in accuracy of stopping rules against the cost that they save, with intervals.

    Up and right is better. The shaded region holds the rules that lose more than is allowed, and a ring marks the
    recommended rule.

    Parameters
    ----------
    frame : DataFrame
        One row per rule with ``rule, saved, change`` (shares; both against the same baseline, ``change`` missing where
        it cannot be counted) and, where there are intervals, ``saved_low, saved_high, change_low, change_high``.
        Optionally ``role``: "recommended" draws the ring.
    max_loss : float, optional
        Largest accuracy that may be lost, a share; by default no region is shaded.
    unit, kept : str
        What the saving is counted in, and what may change: accuracy, or agreement with full depth.
    ax : Axes, optional
        Where to draw; by default a new figure of two columns.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, or no rule has a change.

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": ["ladder:6-1", "full"], "saved": [0.21, -0.73], "change": [0.0, -0.006]})
    >>> plot_savings(frame, max_loss=0.01).get_xlabel()
    'rounds saved, % of those of unanimity'
    """
    ends = ("saved_low", "saved_high", "change_low", "change_high")
    given = [name for name in ends if name in getattr(frame, "columns", [])]
    roles = ["role"] if "role" in getattr(frame, "columns", []) else []
    checked = check_frame(frame, ("rule", "saved", "change", *given, *roles), (), ("saved", "change", *given))
    checked = checked.dropna(subset=["saved", "change"]).reset_index(drop=True)
    if checked.empty:
        raise ValueError("frame must have a rule with saved and change; got none")
    for name in ends:
        checked[name] = checked.get(name, np.nan)
    ax = one_axes(ax, width=TWO_COLUMNS, height=3.0)
    x, y = 100 * column(checked["saved"]), 100 * column(checked["change"])
    low, high = (100 * column(checked[name]) for name in ends[2:])
    left, right = (100 * column(checked[name]) for name in ends[:2])
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    draw_points(ax, x, y, low, high, along="y", color=BLUE, marker="o", zorder=2)
    draw_points(ax, x, y, left, right, along="x", color=BLUE, marker="o", zorder=2)
    best = checked["role"].eq("recommended").to_numpy() if roles else np.zeros(len(checked), dtype=bool)
    ax.scatter(x[best], y[best], s=70, facecolors="none", edgecolors=VERMILLION, linewidths=1.4, zorder=3)
    ax.margins(x=0.12)
    reached = np.concatenate([y, low[np.isfinite(low)], high[np.isfinite(high)]])
    limits = [reached.min(), reached.max()] + ([] if max_loss is None else [-200 * max_loss])
    room = max(max(limits) - min(limits), 1.0)
    ax.set_ylim(min(limits) - 0.1 * room, max(limits) + 0.24 * room)
    if max_loss is not None:
        ax.axhspan(ax.get_ylim()[0], -100 * max_loss, color=VERMILLION, alpha=0.1, linewidth=0, zorder=0)
        points = f"{100 * max_loss:g} point{'' if max_loss == 0.01 else 's'}"
        words: Look = {"fontsize": 7, "color": "0.35", "ha": "left", "va": "bottom"}
        across: Any = ax.transAxes
        ax.text(0.01, 0.02, f"loses more than {points}", transform=across, **words)
    tops = np.where(np.isfinite(high), high, y)
    _name_tops(ax, x, y, tops, [str(name) for name in checked["rule"]], best)
    ax.set_xlabel(f"{unit} saved, % of those of unanimity")
    ax.set_ylabel(f"change in {kept}, points")
    return ax


def _name_tops(
    ax: Axes, x: Floats, y: Floats, tops: Floats, names: list[str], best: NDArray[np.bool_]
) -> None:
    """Write each name above the top of its interval, higher where it would cover an earlier one or a ring."""
    inches = float(ax.figure.bbox.width / ax.figure.dpi)
    across = 72 * 0.88 * inches / float(np.ptp(ax.get_xlim()))
    up = 72 * 2.4 / float(np.ptp(ax.get_ylim()))
    taken = [(across * x[i], 5.0, up * y[i] - 5.0, up * y[i] + 5.0) for i in np.flatnonzero(best)]
    for i in np.argsort(-tops, kind="stable")[::-1]:
        text = fill(names[i].replace(" | ", " |\n"), 26, replace_whitespace=False)
        lines = text.split("\n")
        half, tall = 2.1 * max(map(len, lines)), 9.0 * len(lines)
        at, bottom = across * x[i], up * tops[i] + 3
        while hit := [
            b for a, h, b0, b in taken if abs(a - at) < h + half and b0 < bottom + tall and bottom < b
        ]:
            bottom = max(hit)
        taken.append((at, half, bottom, bottom + tall))
        look: Look = {"color": VERMILLION, "weight": "bold"} if best[i] else {"color": "0.15"}
        place: Look = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 7}
        ax.annotate(text, (x[i], tops[i]), xytext=(0, bottom - up * tops[i]), **place, **look)


def plot_threshold_path(
    frame: pd.DataFrame,
    *,
    cost: str = "rounds",
    cost_label: str = "mean rounds",
    ends: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cost against accuracy over the thresholds of a stopping rule, a path for each group of settings.

    The points of a path are joined in the order of their thresholds, so that the path shows what a lower threshold
    buys. Beside the first, the last, the chosen and every other point that is not too near to one of these is its
    threshold.

    Parameters
    ----------
    frame : DataFrame
        One row per threshold (and group) with ``threshold`` (at least 0), a column of the mean cost, named by `cost`,
        ``accuracy`` (a share) and, optionally, ``low, high`` (the interval of the accuracy; missing where there is
        none), the cost's name with ``_low`` and ``_high`` (its interval), ``chosen`` (true for the threshold to run,
        drawn with a ring), ``group`` (at most 7, shown by colour and marker) and ``level, kind`` (of the intervals,
        for the caption).
    cost : str
        Name of the column of the mean cost.
    cost_label : str
        What the cost is counted in.
    ends : DataFrame, optional
        At most 4 policies without a threshold, such as one protocol alone: ``label``, the cost and ``accuracy``, with
        intervals and ``chosen`` as in `frame`.
    truth : DataFrame, optional
        What the path estimates, where it is known: ``threshold``, the cost, ``accuracy`` and, optionally, ``chosen``
        (true for the best threshold, drawn as a star). Drawn as a broken line.
    ax : Axes, optional
        Where to draw, within limits that are set already; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, a threshold is negative, an accuracy is no share, or an interval
        does not hold its value.

    Notes
    -----
    The stability paper (Hu et al., 2025, arXiv 2510.12697) asks for this figure over thresholds of .01 to .2. With
    tokens as the cost it shows the choice between two protocols of D3, 5.5.

    Examples
    --------
    >>> frame = pd.DataFrame({"threshold": [0.2, 0.05, 0.01], "rounds": [3.0, 5.0, 10.0]})
    >>> ax = plot_threshold_path(frame.assign(accuracy=[0.70, 0.75, 0.76]))
    >>> [text.get_text() for text in ax.texts]
    ['0.01', '0.05', '0.2']
    >>> frame = pd.DataFrame({"threshold": [0.0, 5.0], "tokens": [5e3, 9e3], "accuracy": [0.7, 0.8]})
    >>> alone = pd.DataFrame({"label": ["SAMRE alone"], "tokens": [12e3], "accuracy": [0.81]})
    >>> ax = plot_threshold_path(frame, cost="tokens", cost_label="tokens per debate", ends=alone)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['thresholds', 'SAMRE alone']
    """
    from matplotlib.ticker import StrMethodFormatter

    checked = _path_frame(frame, ("threshold",), cost)
    alone = None if ends is None else _path_frame(ends, ("label",), cost)
    if alone is not None and len(alone) > len(_END_MARKERS):
        raise ValueError(f"ends must have at most {len(_END_MARKERS)} rows; got {len(alone)}")
    parts = groups(checked)
    marked = [] if alone is None else [str(label) for label in alone["label"]]
    chosen = checked if alone is None else pd.concat([checked, alone])
    marked += ["truth"] * (truth is not None) + ["chosen"] * bool(chosen["chosen"].any())
    ax = one_axes(
        ax, width=ONE_COLUMN, height=2.6 + 0.13 * (len(parts) if len(parts) > 1 else 0) + 0.08 * len(marked)
    )
    for i, (name, here, colour, marker) in enumerate(parts):
        part = checked[here].sort_values("threshold")
        ax.plot(
            column(part[cost]), column(part["accuracy"]), color=colour, linewidth=0.9, alpha=0.7, zorder=2
        )
        _draw_costs(ax, part, cost, color=colour, marker=marker, label=name or "thresholds" * bool(marked))
        if i == 0:
            path = part.reset_index(drop=True)
    if alone is not None:
        for k, marker in enumerate(_END_MARKERS[: len(alone)]):
            row = alone.iloc[[k]]
            look: Look = {"color": "0.15", "markerfacecolor": "white", "marker": marker}
            _draw_costs(ax, row, cost, label=str(row["label"].iloc[0]), **look)
    _ring(ax, chosen, cost, "chosen", {"marker": "o", "s": 60})
    if truth is not None:
        known = _path_frame(truth, ("threshold",), cost).sort_values("threshold")
        dashes: Look = {"color": "0.15", "linestyle": (0, (4, 2)), "linewidth": 0.8, "zorder": 3}
        ax.plot(column(known[cost]), column(known["accuracy"]), label="truth", **dashes)
        _ring(ax, known, cost, "true best threshold", {"marker": "*", "s": 60})
    ax.margins(0.08, 0.12)
    ax.set_xlabel(cost_label)
    tell_intervals(ax, checked, checked["low"].notna().to_numpy())
    ax.set_ylabel("accuracy")
    if float(column(checked[cost]).max()) >= 1000:
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if "group" in checked or marked:
        legend_below(ax, 2 if len(parts) + len(marked) > 2 else 1)
    # The thresholds of one path are enough to read the others by, and do not hide their points.
    names = [f"{x:g}" for x in path["threshold"]]
    ringed = np.flatnonzero(path["chosen"]).tolist()
    others = [checked[here].sort_values("threshold") for _, here, _, _ in parts]
    others += [] if truth is None else [known]
    lines = [part[[cost, "accuracy"]].to_numpy(dtype=float) for part in others]
    for part in (checked, *([] if alone is None else [alone])):
        bars = part[part["low"].notna()]
        lowest, highest = (bars[[cost, end]].to_numpy(dtype=float) for end in ("low", "high"))
        lines += [np.stack(both) for both in zip(lowest, highest, strict=True)]
    points = np.empty((0, 2)) if alone is None else alone[[cost, "accuracy"]].to_numpy(dtype=float)
    at = path[[cost, "accuracy"]].to_numpy(dtype=float)
    _name_points(ax, at, names, ringed, lines, points, beside=bool(checked["low"].notna().any()))
    return ax


_END_MARKERS = ("s", "D", "^", "v")


def _path_frame(frame: pd.DataFrame, names: tuple[str, ...], cost: str) -> pd.DataFrame:
    """Return the checked columns of a path or of its ends, with limits that are missing where none were given."""
    given = getattr(frame, "columns", ())
    ends = [name for name in ("low", "high", f"{cost}_low", f"{cost}_high") if name in given]
    within = [("low", "accuracy", "high")] if {"low", "high"} <= set(ends) else []
    numbers = (*(name for name in names if name != "label"), cost, "accuracy")
    shares = ("accuracy", *(name for name in ("low", "high") if name in ends))
    told = ("chosen",) if "chosen" in given else ()
    checked = check_frame(
        frame, (*names, cost, "accuracy", *ends, *told), numbers, ends, shares=shares, within=within
    )
    if "threshold" in names:
        refuse("threshold must be at least 0", column(checked["threshold"]) < 0, checked, "threshold")
    for name in ("low", "high", f"{cost}_low", f"{cost}_high"):
        checked[name] = checked.get(name, np.nan)
    # A bootstrap's limits need not hold the value, but they must be in order.
    limits = [column(checked[f"{cost}_{end}"]) for end in ("low", "high")]
    refuse(
        f"{cost}_low <= {cost}_high must hold", limits[0] > limits[1], checked, f"{cost}_low", f"{cost}_high"
    )
    if told:
        refuse(
            "chosen must be true or false",
            ~checked["chosen"].isin([True, False]).to_numpy(),
            checked,
            "chosen",
        )
    checked["chosen"] = checked["chosen"].astype(bool) if told else False
    return checked


def _draw_costs(ax: Axes, part: pd.DataFrame, cost: str, **look: Any) -> None:
    """Draw points with the intervals of their accuracy and, as lines alone, of their cost."""
    at, right, low, high = (column(part[name]) for name in (cost, "accuracy", "low", "high"))
    least, most = (column(part[f"{cost}_{end}"]) for end in ("low", "high"))
    known = ~np.isnan(least + most)
    if known.any():
        ax.hlines(right[known], least[known], most[known], color=look["color"], linewidth=0.7)
    draw_points(ax, at, right, low, high, **(look | {"label": look["label"] or None}))


def _ring(ax: Axes, part: pd.DataFrame, cost: str, label: str, look: Look) -> None:
    """Draw an open mark about the chosen points."""
    here = part["chosen"].to_numpy()
    if here.any():
        open_mark: Look = {"facecolor": "none", "edgecolor": "0.15", "linewidth": 0.9, "zorder": 5}
        ax.scatter(column(part[cost])[here], column(part["accuracy"])[here], label=label, **open_mark, **look)


def _name_points(
    ax: Axes,
    at: Floats,
    names: list[str],
    ringed: list[int],
    lines: list[Floats],
    points: Floats,
    *,
    beside: bool,
) -> None:
    """Write names near points, the ends and the ringed first, where they lie on no line, point or other name.

    Of the places above, below and at the sides (beside a bar: its four corners) the first free one is taken. A point
    without a free place, or near to one that is named, has no name, unless it is an end or ringed.
    """
    ax.figure.canvas.figure.draw_without_rendering()
    to_points = 72 / ax.figure.dpi

    def placed(values: Floats) -> Floats:
        return np.asarray(ax.transData.transform(values.reshape(-1, 2))) * to_points

    spots = placed(at)
    frame = np.array(ax.get_window_extent().extents) * to_points
    # Lines as points that lie near to each other, marks as points with a radius.
    track = np.concatenate([_filled(placed(line)) for line in lines])
    marks = np.concatenate([*map(placed, lines), placed(points)])
    written: list[tuple[float, float, float, float]] = []
    named: dict[int, tuple[tuple[float, float], Look]] = {}
    must = list(dict.fromkeys((0, len(names) - 1, *ringed)))
    for i in dict.fromkeys((*must, *range(len(names)))):
        apart = np.abs(spots[list(named)] - spots[i])
        if i not in must and ((apart[:, 0] < 2.6 * _TEXT) & (apart[:, 1] < 1.8 * _TEXT)).any():
            continue
        away = (2.5 if beside else 4.0) + 2.0 * (i in ringed)
        width, height = 0.64 * _TEXT * len(names[i]), 0.74 * _TEXT
        best: tuple[int, Look, tuple[float, float], tuple[float, float, float, float]] | None = None
        for side, up in (
            ((1, -1), (1, 1), (-1, -1), (-1, 1)) if beside else ((0, 1), (0, -1), (1, 0), (-1, 0))
        ):
            shift = (side * away, up * away)
            left = spots[i, 0] + shift[0] - width * (1 - side) / 2
            low = spots[i, 1] + shift[1] - height * (1 - up) / 2
            box = (left - 0.7, low - 0.7, left + width + 0.7, low + height + 0.7)
            hits = _inside(track, box, 0.0) + _inside(
                np.delete(marks, _same(marks, spots[i]), axis=0), box, 3.0
            )
            hits += 1000 * sum(_meet(box, other) for other in written)
            hits += 1000 * (box[0] < frame[0] or box[1] < frame[1] or box[3] > frame[3])
            if best is None or hits < best[0]:
                words: Look = {
                    "ha": {1: "left", 0: "center", -1: "right"}[side],
                    "va": {1: "bottom", 0: "center", -1: "top"}[up],
                }
                best = (hits, words, shift, box)
        assert best is not None
        hits, words, shift, box = best
        if hits == 0 or (i in must and hits < 1000):
            written.append(box)
            named[i] = (shift, words)
    for i, (shift, words) in sorted(named.items()):
        ax.annotate(names[i], at[i], shift, textcoords="offset points", fontsize=_TEXT, **words)


def _filled(line: Floats) -> Floats:
    """Return a line as points at most a point apart."""
    parts = [line[:1]]
    for one, other in pairwise(line):
        steps = max(1, int(np.ceil(np.hypot(*(other - one)))))
        parts.append(one + (other - one) * (np.arange(1, steps + 1) / steps)[:, None])
    return np.concatenate(parts)


def _inside(spots: Floats, box: tuple[float, float, float, float], radius: float) -> int:
    x, y = spots[:, 0], spots[:, 1]
    left, low, right, high = box
    here = (x > left - radius) & (x < right + radius) & (y > low - radius) & (y < high + radius)
    return int(here.sum())


def _same(spots: Floats, one: Floats) -> NDArray[np.int64]:
    return np.flatnonzero(np.abs(spots - one).max(axis=1) < 0.01)


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def plot_regret_map(
    frame: pd.DataFrame, *, label: str = "regret, thousandths of a verdict", ax: Axes | None = None
) -> Axes:
    """Draw the regret of rules over worlds as a map, light where a rule is near the optimum.

    The colour goes by the square root of the regret; the regret is written into its cell, in thousandths, if there is
    space.

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

    frame = check_frame(frame, ("world", "rule", "regret"), ("regret",), once=("world", "rule"))
    refuse("regret must be >= 0", column(frame["regret"]) < -1e-9, frame, "regret")
    worlds, rules = (list(dict.fromkeys(frame[name].astype(str))) for name in ("world", "rule"))
    table = frame.assign(world=frame["world"].astype(str), rule=frame["rule"].astype(str))
    cells = pd.MultiIndex.from_product([rules, worlds])
    found = table.set_index(["rule", "world"])["regret"].clip(lower=0.0).reindex(cells)
    grid = 1000 * column(found).reshape(len(rules), len(worlds))
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
        _write_numbers(ax, grid, image)
    else:
        ax.set_xticks(
            range(len(worlds)), worlds, rotation=90, ha="center", rotation_mode="default", fontsize=6
        )
        ax.set_yticks(range(len(rules)), [fill(rule, 20) for rule in rules], fontsize=6, linespacing=0.9)
    return ax


def _write_numbers(ax: Axes, grid: NDArray[np.float64], image: AxesImage) -> None:
    """Write the numbers in black or white, whichever has more contrast (WCAG 2.2) with the colour of its cell."""
    for (i, j), value in np.ndenumerate(grid):
        if np.isfinite(value):
            red_green_blue = np.asarray(image.cmap(float(np.asarray(image.norm(np.asarray(value)))))[:3])
            linear = np.where(
                red_green_blue <= 0.04045, red_green_blue / 12.92, ((red_green_blue + 0.055) / 1.055) ** 2.4
            )
            light = float(linear @ (0.2126, 0.7152, 0.0722))
            shade = "white" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "black"
            ax.text(j, i, f"{value:z.0f}", ha="center", va="center", fontsize=8, color=shade)


def plot_plan_fan(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the total cost against the number of debates, with a band for each level.

    Parameters
    ----------
    frame : DataFrame
        One row per rule, number of debates and level, with ``rule``, ``role`` ("recommended" or "incumbent"),
        ``debates`` (new ones, from 1), ``level`` (of the band, in (0, 1)), ``unit`` ("rounds", "tokens" or "dollars",
        one for the whole frame) and ``cost, low, high`` (expected total and its band).
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
    numbers = ("debates", "level", "cost", "low", "high")
    frame = check_frame(frame, ("rule", "role", "unit", *numbers), numbers, shares=("level",))
    units = frame["unit"].unique()
    if len(units) != 1:
        raise ValueError(f"unit must be the same in all rows; got {sorted(map(str, units))}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.5)
    levels = sorted(frame["level"].unique(), reverse=True)
    for rule, rows in frame.groupby("rule", sort=False):
        colour = {"recommended": BLUE, "incumbent": VERMILLION}.get(str(rows["role"].iloc[0]), "0.4")
        for level in levels:
            band = rows[rows["level"] == level].sort_values("debates")
            x = column(band["debates"])
            low, high = column(band["low"]), column(band["high"])
            ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(x, column(band["cost"]), color=colour, linewidth=1.2, label=str(rule))
    shown = ", ".join(f"{100 * level:.6g} %" for level in sorted(levels))
    ax.set_xlabel("debates")
    ax.set_ylabel(f"{units[0]}, total")
    ax.set_xlim(0, column(frame["debates"]).max())
    ax.set_ylim(bottom=0)
    ax.legend(title=f"bands: {shown}", title_fontsize=7, loc="upper left")
    return ax
