"""Figures of rounds: counts of correct votes, distances between rounds, stops, gaps between scores."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats.plotting.style import (
    BLUE,
    ONE_COLUMN,
    PALETTE,
    SKY,
    TWO_COLUMNS,
    VERMILLION,
    Look,
    check_frame,
    column,
    legend_above,
    one_axes,
    percent,
    refuse,
    tell_intervals,
    whole_rounds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_overview",
    "plot_counts_by_round",
    "plot_gap_trajectories",
    "plot_ks_series",
    "plot_stop_histogram",
    "plot_stop_rounds",
]

_HATCHES = ("", "////", "..", "xxx", "--", "oo")
_UNKNOWN = "#f2f2f2"
"""Colour of debates whose stop round is unknown."""
_SCALES = {"pmf": ("counts", BLUE, "o", "-"), "latent": ("latent mixture", VERMILLION, "s", "--")}
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
"""A category is told by its colour and its dashes, so by either alone where there are at most seven."""


def plot_counts_by_round(
    frame: pd.DataFrame, *, axes: Sequence[Axes] | NDArray[Any] | None = None, columns: int | None = None
) -> NDArray[Any]:
    """Draw how many debates had 0, 1, ..., n correct votes in each round, as observed and as fitted.

    Bars are the observed shares, dots the model's, lines the band that goes with the model's shares.

    Parameters
    ----------
    frame : DataFrame
        One row per round (from 1) and number of correct votes: ``round, successes``; the shares ``observed, fitted``
        in [0, 1]; and the band ``low, high`` on the same scale, missing where there is none. The band is where the
        observed share of as many debates would fall if the model were true, or an interval of ``fitted`` itself.
        Optionally ``level`` of the band, for the legend.
    axes : sequence of Axes, optional
        One axes per round, in ascending order; by default a new figure is made.
    columns : int, optional
        Panels in a line of the new figure; by default up to four. Use 2 for a figure of one column.

    Returns
    -------
    ndarray of Axes, shape (rounds,)
        One axes per round, ascending.

    Raises
    ------
    ValueError
        When a column is absent, a share is not in [0, 1], a (round, successes) pair occurs twice, or there
        are not as many axes as rounds.

    Examples
    --------
    >>> frame = pd.DataFrame({"round": [1, 1, 2, 2], "successes": [0, 1, 0, 1],
    ...     "observed": [.4, .6, .3, .7], "fitted": [.45, .55, .3, .7],
    ...     "low": [.3, .4, .2, .6], "high": [.6, .7, .4, .8]})
    >>> [ax.get_title() for ax in plot_counts_by_round(frame)]
    ['round 1', 'round 2']
    """
    shares = ("observed", "fitted", "low", "high")
    numbers = ("round", "successes", "observed", "fitted")
    frame = check_frame(
        frame, (*numbers, "low", "high"), numbers, ("low", "high"), shares=shares, once=("round", "successes")
    )
    rounds = whole_rounds(frame)
    panels = _panels(axes, len(rounds), columns)
    highest = float(np.nanmax(frame[["observed", "fitted", "high"]].to_numpy()))
    for ax, round_number in zip(panels, rounds, strict=True):
        rows = frame[frame["round"] == round_number].sort_values("successes")
        successes, low, high = (column(rows[name]) for name in ("successes", "low", "high"))
        banded = ~np.isnan(low + high)
        ax.bar(successes, column(rows["observed"]), width=0.8, color="0.78", label="observed")
        # The band need not hold the fit (a percentile interval), so it is drawn from edge to edge, not around it.
        label = percent(frame, "band")
        ax.vlines(
            successes[banded], low[banded], high[banded], color=BLUE, linewidth=1.4, alpha=0.6, label=label
        )
        ax.plot(successes, column(rows["fitted"]), "o", color=BLUE, markersize=3, label="fitted")
        ax.set_title(f"round {round_number}")
        ax.set_ylim(0, min(1.0, 1.08 * highest))
        _label(ax, successes, bottom=_is_lowest(ax, panels))
    _explain(panels)
    return panels


def _explain(panels: NDArray[Any]) -> None:
    """Put one legend above all panels where the figure holds nothing else; in small panels it would hide bars."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    holder = panels[0].figure
    alone = len(panels) > 1 and {ax for ax in holder.axes if ax.axison} == set(panels)
    if alone and isinstance(holder.get_layout_engine(), ConstrainedLayoutEngine):
        holder.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    else:
        panels[0].legend(loc="best")


def _label(ax: Axes, successes: NDArray[np.float64], *, bottom: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    few = len(successes) <= 9
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    if few:
        ax.set_xticks(successes)
    if bottom:
        ax.set_xlabel("correct votes")
    spec = ax.get_subplotspec()
    if spec is None or spec.is_first_col():
        ax.set_ylabel("share of debates")
    else:
        ax.tick_params(labelleft=False)


def _is_lowest(ax: Axes, panels: NDArray[Any]) -> bool:
    """Say whether no panel stands below this one; the last line of a grid may be short."""
    spec = ax.get_subplotspec()
    others = [other.get_subplotspec() for other in panels]
    return spec is None or not any(
        other is not None
        and other.colspan.start == spec.colspan.start
        and other.rowspan.start > spec.rowspan.start
        for other in others
    )


def _panels(axes: Sequence[Axes] | NDArray[Any] | None, n: int, columns: int | None) -> NDArray[Any]:
    if axes is not None:
        panels = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
        if panels.size != n:
            raise ValueError(f"axes must be one per round ({n}); got {panels.size}")
        return panels
    import matplotlib.pyplot as plt

    across = min(n, 4) if columns is None else min(n, columns)
    if across < 1:
        raise ValueError(f"columns must be >= 1; got columns={columns!r}")
    down = -(-n // across)
    size = (ONE_COLUMN if across < 3 else TWO_COLUMNS, 1.75 * down)
    fig, grid = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    panels = grid.ravel()
    for spare in panels[n:]:
        fig.delaxes(spare)
    return panels[:n]


def plot_ks_series(frame: pd.DataFrame, *, threshold: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw the Kolmogorov-Smirnov distance of each round from the round before.

    The short grey bars are the noise level: how large the distance would be, at that quantile, if nothing drifted. A
    distance below its bar is no evidence of change, and a threshold below the bars is met by luck only.

    Parameters
    ----------
    frame : DataFrame
        One row per round and scale, with ``round`` (the later one of the pair, from 2), ``scale`` (``"pmf"``, between
        distributions of counts, or ``"latent"``, between the fitted mixing densities), ``ks`` (in [0, 1]), ``noise``
        (an upper quantile of the distance if nothing drifted) and ``low, high`` (the band of ``ks``), the last three
        missing where not computed. With one edge alone, such as an upper bound, the line runs from ``ks`` to it.
        Optionally ``level`` (of noise and band) and ``kind`` (of the band).
    threshold : float
        Where a rule would call the round stable; drawn as a line.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a scale is unknown, or a distance is not in [0, 1].

    Examples
    --------
    >>> frame = pd.DataFrame({"round": [2, 3], "scale": "pmf", "ks": [.2, .04], "noise": [.06, .06],
    ...     "low": [.15, .01], "high": [.25, .08]})
    >>> plot_ks_series(frame).get_xlabel()
    'round, compared with the previous one'
    """
    shares = ("ks", "noise", "low", "high")
    frame = check_frame(frame, ("round", "scale", *shares), ("round", "ks"), shares[1:], shares=shares)
    threshold = probability("threshold", threshold)
    for scale in frame["scale"].unique():
        choice("scale", scale, tuple(_SCALES))
    rounds = whole_rounds(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    scales = [scale for scale in _SCALES if (frame["scale"] == scale).any()]
    for i, scale in enumerate(scales):
        rows = frame[frame["scale"] == scale].sort_values("round")
        # Two scales side by side, so that bands do not hide each other.
        shift, half = ((-0.08, 0.08)[i], 0.07) if len(scales) > 1 else (0.0, 0.28)
        _draw_distances(
            ax, rows, scale, shift, half, percent(frame, "noise level") if i == 0 else "_nolegend_"
        )
    ax.axhline(threshold, color="0.35", linewidth=0.8, linestyle=":", label=f"threshold {threshold:g}")
    ax.set_xticks(rounds)
    ax.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
    top = max(threshold, float(np.nanmax(frame[["ks", "noise", "high"]].to_numpy())))
    # Room above the data for the legend.
    ax.set_ylim(0, 1.35 * top)
    ax.locator_params(axis="y", nbins=6)
    ax.set_xlabel("round, compared with the previous one")
    tell_intervals(ax, frame, frame[["low", "high"]].notna().any(axis=1).to_numpy())
    ax.set_ylabel("KS distance")
    ax.legend(loc="upper right", ncols=2)
    return ax


def _draw_distances(
    ax: Axes, rows: pd.DataFrame, scale: str, shift: float, half: float, noise_label: str
) -> None:
    label, colour, marker, line = _SCALES[scale]
    at = column(rows["round"]) + shift
    noise, distance, low, high = (column(rows[name]) for name in ("noise", "ks", "low", "high"))
    noisy, banded = ~np.isnan(noise), ~(np.isnan(low) & np.isnan(high))
    if noisy.any():
        ends = (at[noisy] - half, at[noisy] + half)
        ax.hlines(noise[noisy], *ends, color="0.6", linewidth=2.2, label=noise_label)
    # A line between two distances would show a course that nobody measured.
    joined = line if len(at) > 2 else "none"
    ax.plot(at, distance, color=colour, marker=marker, linestyle=joined, linewidth=0.8, label=label)
    low, high = (np.where(np.isnan(edge), distance, edge)[banded] for edge in (low, high))
    ax.vlines(at[banded], low, high, color=colour, linewidth=1.0, alpha=0.7)


def plot_stop_rounds(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw which share of the debates each rule stops in each round, one bar per rule.

    A bar is cut into rounds, from left to right and from light to dark. The hatch says why: plain is the first reason
    of the frame (by custom the criterion of the rule itself), hatched are the others, such as the last round.

    Parameters
    ----------
    frame : DataFrame
        One row per rule, round and reason, with ``rule`` (bars are in order of first appearance), ``round``
        (after which the debates stopped, from 1; missing where it is unknown, because the debate ended before
        the rule would have stopped it: drawn pale, with a question mark), ``share`` (of all debates; those of
        a rule add up to 1) and ``reason`` (of the stop, machine-readable).
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
    >>> frame = pd.DataFrame({"rule": ["unanimity", "unanimity"], "round": [1, 3], "share": [.7, .3],
    ...     "reason": ["unanimous", "last_round"]})
    >>> plot_stop_rounds(frame).get_xlabel()
    'share of debates'
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex
    from matplotlib.patches import Patch

    frame = check_frame(frame, ("rule", "round", "share", "reason"), ("share",), ("round",))
    frame = frame.assign(rule=frame["rule"].astype(str), reason=frame["reason"].astype(str))
    refuse("share must be >= 0", column(frame["share"]) < 0, frame, "share")
    total = frame.groupby("rule", sort=False)["share"].sum()
    for rule in total.index[(total - 1).abs() > 1e-6]:
        raise ValueError(f"share must add up to 1 within a rule; got {total[rule]:.6g} for rule {rule!r}")
    rules, reasons = (list(dict.fromkeys(frame[name])) for name in ("rule", "reason"))
    rounds = whole_rounds(frame)
    # cividis reads the same with and without colour vision; its yellow end and its black end are left out.
    shades = colormaps["cividis"](np.linspace(0.9, 0.1, max(len(rounds), 2)))
    colours = {str(r): to_hex(shade) for r, shade in zip(rounds, shades, strict=False)} | {"?": _UNKNOWN}
    ax = one_axes(ax, width=ONE_COLUMN, height=0.9 + 0.34 * len(rules) + 0.17 * -(-len(reasons) // 2))
    for height, rule in enumerate(rules):
        rows = frame[(frame["rule"] == rule) & (frame["share"] > 0)].sort_values("round", kind="stable")
        start = 0.0
        for at, share, reason in zip(
            column(rows["round"]), column(rows["share"]), rows["reason"], strict=True
        ):
            text = "?" if np.isnan(at) else f"{at:.0f}"
            hatch = _HATCHES[reasons.index(reason) % len(_HATCHES)]
            _draw_segment(ax, height, start, share, text, colours[text], hatch)
            start += share
    # A long name would leave no room for its bar.
    ax.set_yticks(range(len(rules)), [fill(rule, 20) for rule in rules])
    ax.set_ylim(len(rules) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of debates")
    ax.tick_params(axis="y", length=0)
    handles = [
        Patch(
            facecolor="0.6",
            edgecolor="white",
            hatch=_HATCHES[i % len(_HATCHES)],
            label=reason.replace("_", " "),
        )
        for i, reason in enumerate(reasons)
    ]
    legend_above(ax, handles=handles, title="number and colour: round; hatch: reason", title_fontsize=7)
    return ax


def _draw_segment(
    ax: Axes, height: int, start: float, share: float, text: str, colour: str, hatch: str
) -> None:
    from matplotlib.colors import to_rgb

    ax.barh(
        height, share, left=start, height=0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5
    )
    # A number needs about this much width to be legible at one column.
    if share >= 0.07:
        light = np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) > 0.45
        # The plain ground under the number keeps the hatch away from it.
        ground: Look = {"boxstyle": "circle,pad=0.25", "facecolor": colour, "edgecolor": "none"}
        ink = "black" if light else "white"
        ax.text(start + share / 2, height, text, ha="center", va="center", fontsize=7, color=ink, bbox=ground)


def draw_overview(
    shares: pd.DataFrame, ks: pd.DataFrame, stops: pd.DataFrame | None = None, *, threshold: float = 0.05
) -> Figure:
    """Draw the three figures of a log together, two columns wide.

    Parameters
    ----------
    shares, ks : DataFrame
        As :func:`plot_counts_by_round` and :func:`plot_ks_series` take them; distances of counts are drawn, and an
        empty `ks` is not.
    stops : DataFrame, optional
        As :func:`plot_stop_rounds` takes it; without it the distances have the lower row to themselves.
    threshold : float
        The KS threshold to mark.

    Returns
    -------
    Figure
        Save it with :func:`save`, within :func:`use_style`.

    Examples
    --------
    >>> shares = pd.DataFrame({"round": [1, 1, 2, 2], "successes": [0, 1, 0, 1],
    ...     "observed": [.4, .6, .3, .7], "fitted": [.45, .55, .3, .7],
    ...     "low": [.3, .4, .2, .6], "high": [.6, .7, .4, .8]})
    >>> ks = pd.DataFrame({"round": [2], "scale": "pmf", "ks": [.2], "noise": [.06], "low": [.15], "high": [.25]})
    >>> len(draw_overview(shares, ks).axes)
    3
    """
    from matplotlib.figure import Figure

    # Bands of the latent mixture can reach from 0 to 1, and distances of counts would shrink beside them.
    ks = ks[ks["scale"] == "pmf"] if len(ks) else ks
    rounds = list(dict.fromkeys(shares["round"]))
    per_row = min(len(rounds), 4)
    rows = -(-len(rounds) // per_row)
    lower = [1.0] * (len(ks) > 0) + [1.1] * (stops is not None)
    heights = [1.9 * rows] + [2.6] * (len(lower) > 0)
    fig = Figure(figsize=(TWO_COLUMNS, sum(heights)), layout="constrained")
    parts = np.asarray(fig.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)).ravel()
    panels = parts[0].subplots(rows, per_row, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in panels[len(rounds) :]:
        unused.set_axis_off()
    plot_counts_by_round(shares, axes=panels[: len(rounds)])
    if lower:
        below = parts[1].subplots(1, len(lower), width_ratios=lower, squeeze=False).ravel()
        if len(ks):
            plot_ks_series(ks, threshold=threshold, ax=below[0])
            # The kind of the intervals is for the caption: three lines below one axis would squeeze the others.
            below[0].set_xlabel(below[0].get_xlabel().split("\n")[0])
        if stops is not None:
            plot_stop_rounds(stops, ax=below[-1])
    return fig


def plot_stop_histogram(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    r"""Draw the share of debates that stop in each round, for one rule.

    Below the number of a round is the share that has stopped by its end. The form is that of D3, figure 4.

    Parameters
    ----------
    frame : DataFrame
        One row per round, with ``round`` (after which the debates stopped, from 1; one that is left out stopped none)
        and ``share`` (of all debates; they add up to 1).
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
    >>> ax = plot_stop_histogram(pd.DataFrame({"round": [2, 3, 5], "share": [.5, .3, .2]}))
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['1\n0 %', '2\n50 %', '3\n80 %', '4\n80 %', '5\n100 %']
    """
    frame = check_frame(frame, ("round", "share"), ("round", "share"), once=("round",))
    at, shares = column(frame["round"]), column(frame["share"])
    refuse("round must be >= 1", at < 1, frame, "round")
    refuse("share must be >= 0", shares < 0, frame, "share")
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"share must add up to 1; got {shares.sum():.6g}")
    rounds = np.arange(1, int(at.max()) + 1)
    share = np.zeros(len(rounds))
    share[at.astype(np.int64) - 1] = shares
    so_far = np.cumsum(share)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    ax.bar(rounds, share, width=0.7, color=SKY, edgecolor="white")
    # More numbers than this would run into each other at one column.
    every = -(-len(rounds) // 8)
    marked = rounds[::-1][::every][::-1]
    above: Look = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "fontsize": 7}
    for r in marked:
        ax.annotate(f"{100 * share[r - 1]:.0f} %", (r, share[r - 1]), **above)
    ax.set_xticks(marked, [f"{r}\n{100 * so_far[r - 1]:.0f} %" for r in marked])
    ax.set_xlim(0.4, len(rounds) + 0.6)
    ax.set_ylim(0, 1.15 * float(share.max()))
    ax.set_xlabel("round, and share that has stopped by its end")
    ax.set_ylabel("share of debates")
    return ax


def plot_gap_trajectories(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the gap between the judge's scores of the two answers over the rounds, one line per category.

    A diamond marks the round whose verdict counts; beyond it the line is thin and shows the rounds that a
    stop would save. The form is that of D3, figure 5.

    Parameters
    ----------
    frame : DataFrame
        One row per category and round, with ``category`` (kind of question; the legend has the order of first
        appearance), ``round`` (from 1), ``gap`` (mean gap, raw points, signed or absolute), ``low, high`` (its band;
        missing where not computed) and ``verdict`` (true in the round whose verdict counts, for instance the median
        stop round; at most one per category). Optionally ``level, kind`` of the bands, for the caption.
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
    >>> frame = pd.DataFrame({"category": "coding", "round": [1, 2, 3], "gap": [12.0, 18.0, 19.0],
    ...     "low": None, "high": None, "verdict": [False, True, False]})
    >>> plot_gap_trajectories(frame).get_ylabel()
    'gap (raw points)'
    """
    names = ("category", "round", "gap", "low", "high", "verdict")
    frame = check_frame(
        frame, names, ("round", "gap", "verdict"), ("low", "high"), once=("category", "round")
    )
    frame = frame.assign(category=frame["category"].astype(str))
    refuse("verdict must be true or false", ~np.isin(column(frame["verdict"]), (0, 1)), frame, "verdict")
    verdicts = frame["verdict"].groupby(frame["category"], sort=False).sum()
    for name in verdicts.index[verdicts > 1]:
        raise ValueError(
            f"verdict must be true at most once per category; got {verdicts[name]:g} in {name!r}"
        )
    categories, rounds = list(dict.fromkeys(frame["category"])), whole_rounds(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.5 + 0.13 * -(-len(categories) // 3))
    diamonds: list[tuple[float, float]] = []
    span = float(np.ptp(column(frame["gap"]))) or 1.0
    for i, category in enumerate(categories):
        rows = frame[frame["category"] == category].sort_values("round")
        look: Look = {"color": PALETTE[i % len(PALETTE)], "linestyle": _DASHES[i % len(_DASHES)]}
        for at, gap in _draw_category(ax, rows, category, look):
            # Diamonds of nearly equal gaps stand a little apart, so that none hides another.
            near = sum(at == x and abs(gap - y) < 0.05 * span for x, y in diamonds)
            diamonds.append((at, gap))
            style: Look = {
                "marker": "D",
                "markersize": 5.5,
                "markeredgecolor": "white",
                "linestyle": "none",
                "zorder": 3,
            }
            ax.plot([at + 0.06 * near], [gap], color=look["color"], label="_nolegend_", **style)
    if diamonds:
        ax.plot([], [], marker="D", linestyle="none", color="0.4", markeredgecolor="white", label="verdict")
    if column(frame[["gap", "low"]].min(axis=1)).min() < 0:
        ax.axhline(0, color="0.35", linewidth=0.6, zorder=0.5)
    else:
        ax.set_ylim(bottom=0)
    ax.set_xticks(rounds[:: -(-len(rounds) // 12)])
    ax.set_xlim(rounds[0] - 0.25, rounds[-1] + 0.25)
    ax.set_xlabel("round")
    tell_intervals(ax, frame, frame["low"].notna().to_numpy(), what="bands")
    ax.set_ylabel("gap (raw points)")
    legend_above(ax, 3 if max(map(len, categories)) <= 10 else 2, handlelength=2.4)
    return ax


def _draw_category(
    ax: Axes, rows: pd.DataFrame, category: str, look: dict[str, Any]
) -> list[tuple[float, float]]:
    """Draw the line up to the verdict, the thin rest and the band; return where the diamond goes."""
    at, gap, low, high = (column(rows[name]) for name in ("round", "gap", "low", "high"))
    verdict = column(rows["verdict"]) == 1
    last = int(np.argmax(verdict)) if verdict.any() else len(at) - 1
    banded = ~np.isnan(low + high)
    ax.fill_between(at, low, high, where=list(banded), color=look["color"], alpha=0.15, linewidth=0)
    ax.plot(at[: last + 1], gap[: last + 1], label=category, **look)
    ax.plot(at[last:], gap[last:], linewidth=0.6, label="_nolegend_", **look)
    return list(zip(at[verdict].tolist(), gap[verdict].tolist(), strict=True))
