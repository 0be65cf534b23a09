"""Observed against fitted counts of correct votes, one panel per round."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats.plotting.style import (
    ONE_COLUMN,
    TWO_COLUMNS,
    band,
    check_frame,
    column,
    one_axes,
    whole_rounds,
    within_unit,
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

COLUMNS = ("round", "successes", "observed", "fitted", "low", "high")


def plot_counts_by_round(
    frame: pd.DataFrame, *, axes: Sequence[Axes] | NDArray[Any] | None = None, columns: int | None = None
) -> NDArray[Any]:
    """Draw how many debates had 0, 1, ..., n correct votes in each round, as logged and as fitted.

    Bars are the logged shares, dots the model's, lines the band that goes with the model's shares.

    Parameters
    ----------
    frame : DataFrame
        One row per round and number of correct votes, with the columns

        ``round``, ``successes``
            The round, from 1, and the number of correct votes.
        ``observed``, ``fitted``
            Shares of debates, each between 0 and 1.
        ``low``, ``high``
            The band around the model, on the same scale: where the logged share of as many debates would
            fall if the model were true, or an interval of ``fitted`` itself. Missing where there is none.
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
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"round": [1, 1, 2, 2], "successes": [0, 1, 0, 1],
    ...     "observed": [.4, .6, .3, .7], "fitted": [.45, .55, .3, .7],
    ...     "low": [.3, .4, .2, .6], "high": [.6, .7, .4, .8]})
    >>> [ax.get_title() for ax in plot_counts_by_round(frame)]
    ['round 1', 'round 2']
    """
    frame = check_frame(frame, COLUMNS, COLUMNS[:4], COLUMNS[4:])
    for name in COLUMNS[2:]:
        within_unit(frame, name)
    twice = frame.duplicated(["round", "successes"])
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(
            "frame must have one row per round and successes; "
            f"got round={row['round']:g}, successes={row['successes']:g} twice"
        )
    rounds = whole_rounds(frame)
    panels = _panels(axes, len(rounds), columns)
    for ax, round_number in zip(panels, rounds, strict=True):
        _draw(ax, frame[frame["round"] == round_number].sort_values("successes"))
        ax.set_title(f"round {round_number}")
    highest = float(np.nanmax(frame[["observed", "fitted", "high"]].to_numpy()))
    for i, ax in enumerate(panels):
        ax.set_ylim(0, min(1.0, 1.08 * highest))
        _label(ax, bottom=_is_lowest(ax, panels))
        if i == 0:
            ax.legend(loc="best")
    return panels


def _draw(ax: Axes, rows: pd.DataFrame) -> None:
    successes = column(rows["successes"])
    banded, low, high = band(rows)
    ax.bar(successes, column(rows["observed"]), width=0.8, color="0.78", label="logged")
    # The band need not hold the fit (a percentile interval), so it is drawn from edge to edge, not around it.
    ax.vlines(
        successes[banded], low[banded], high[banded], color="C0", linewidth=1.4, alpha=0.6, label="band"
    )
    ax.plot(successes, column(rows["fitted"]), "o", color="C0", markersize=3, label="fitted")


def _label(ax: Axes, *, bottom: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
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
    if spec is None:
        return True
    others = [other.get_subplotspec() for other in panels]
    return not any(
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


KS_SERIES_COLUMNS = ("round", "scale", "ks", "noise", "low", "high")
LABELS = {"pmf": "counts", "latent": "latent mixture"}
LOOKS = {"pmf": ("C0", "o", "-"), "latent": ("C1", "s", "--")}


def plot_ks_series(frame: pd.DataFrame, *, threshold: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw the Kolmogorov-Smirnov distance of each round from the round before.

    The short grey bars say how large the distance would be, at the stated quantile, if nothing drifted: a
    distance below its bar is no evidence of change, and a threshold below the bars is met by luck only.

    Parameters
    ----------
    frame : DataFrame
        One row per round and scale, with the columns

        ``round``
            The later round of the pair, from 2.
        ``scale``
            ``"pmf"`` (between distributions of counts) or ``"latent"`` (between the fitted mixing densities).
        ``ks``
            The distance, between 0 and 1.
        ``noise``
            An upper quantile of the distance if nothing drifted; missing where not computed.
        ``low``, ``high``
            The bootstrap band of ``ks``; missing where not computed. With one edge alone, such as an upper
            bound, the line runs from ``ks`` to it.
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
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"round": [2, 3], "scale": "pmf", "ks": [.2, .04], "noise": [.06, .06],
    ...     "low": [.15, .01], "high": [.25, .08]})
    >>> plot_ks_series(frame).get_xlabel()
    'round, against the round before'
    """
    frame = check_frame(frame, KS_SERIES_COLUMNS, ("round", "ks"), ("noise", "low", "high"))
    threshold = probability("threshold", threshold)
    for scale in frame["scale"].unique():
        choice("scale", scale, tuple(LABELS))
    for name in KS_SERIES_COLUMNS[2:]:
        within_unit(frame, name)
    rounds = whole_rounds(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    scales = [scale for scale in LABELS if (frame["scale"] == scale).any()]
    for i, scale in enumerate(scales):
        # Two scales side by side, so that bands do not hide each other.
        shift = 0.0 if len(scales) == 1 else (-0.08, 0.08)[i]
        _draw_ks_series(
            ax, frame[frame["scale"] == scale].sort_values("round"), scale, shift, noise_label=i == 0
        )
    ax.axhline(threshold, color="0.35", linewidth=0.8, linestyle=":", label=f"threshold {threshold:g}")
    ax.set_xticks(rounds)
    ax.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
    top = max(threshold, float(np.nanmax(frame[["ks", "noise", "high"]].to_numpy())))
    # Room above the data for the legend.
    ax.set_ylim(0, 1.35 * top)
    ax.locator_params(axis="y", nbins=6)
    ax.set_xlabel("round, against the round before")
    ax.set_ylabel("KS distance")
    ax.legend(loc="upper right", ncols=2)
    return ax


def _draw_ks_series(ax: Axes, rows: pd.DataFrame, scale: str, shift: float, *, noise_label: bool) -> None:
    colour, marker, line = LOOKS[scale]
    at = column(rows["round"]) + shift
    noise = column(rows["noise"])
    noisy = ~np.isnan(noise)
    distance = column(rows["ks"])
    banded, low, high = band(rows, alone=distance)
    half = 0.28 if shift == 0 else 0.07
    if noisy.any():
        ax.hlines(
            noise[noisy],
            at[noisy] - half,
            at[noisy] + half,
            color="0.6",
            linewidth=2.2,
            label="no drift" if noise_label else "_nolegend_",
        )
    ax.plot(at, distance, color=colour, marker=marker, linestyle=line, label=LABELS[scale])
    ax.vlines(at[banded], low[banded], high[banded], color=colour, linewidth=1.0, alpha=0.7)


STOP_ROUNDS_COLUMNS = ("rule", "round", "share", "reason")
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
    frame = check_frame(frame, STOP_ROUNDS_COLUMNS, ("share",), ("round",))
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


def draw_overview(
    shares: pd.DataFrame, ks: pd.DataFrame, stops: pd.DataFrame | None = None, *, threshold: float = 0.05
) -> Figure:
    """Draw the three figures of a log together, two columns wide.

    Parameters
    ----------
    shares : DataFrame
        As :func:`plot_counts_by_round` takes it.
    ks : DataFrame
        As :func:`plot_ks_series` takes it.
    stops : DataFrame, optional
        As :func:`plot_stop_rounds` takes it; without it the distances have the lower row to themselves.
    threshold : float
        The KS threshold to mark.

    Returns
    -------
    Figure
        Save it with :func:`save`, within :func:`use_style`.
    """
    from matplotlib.figure import Figure

    rounds = list(dict.fromkeys(shares["round"]))
    per_row = min(len(rounds), 4)
    rows = -(-len(rounds) // per_row)
    fig = Figure(figsize=(TWO_COLUMNS, 1.9 * rows + 2.5), layout="constrained")
    above, below = np.asarray(fig.subfigures(2, 1, height_ratios=[1.9 * rows, 2.5]))
    panels = above.subplots(rows, per_row, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in panels[len(rounds) :]:
        unused.set_axis_off()
    plot_counts_by_round(shares, axes=panels[: len(rounds)])
    if stops is None:
        plot_ks_series(ks, threshold=threshold, ax=below.subplots())
    else:
        left, right = below.subplots(1, 2, width_ratios=[1.0, 1.1])
        plot_ks_series(ks, threshold=threshold, ax=left)
        plot_stop_rounds(stops, ax=right)
    return fig


STOP_HISTOGRAM_COLUMNS = ("round", "share")


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
    frame = check_frame(frame, STOP_HISTOGRAM_COLUMNS, STOP_HISTOGRAM_COLUMNS)
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


GAP_TRAJECTORIES_COLUMNS = ("category", "round", "gap", "low", "high", "verdict")
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
    frame = check_frame(frame, GAP_TRAJECTORIES_COLUMNS, ("round", "gap", "verdict"), ("low", "high"))
    rounds = whole_rounds(frame)
    _check_gap_trajectories(frame)
    band(frame)
    categories = list(dict.fromkeys(frame["category"].astype(str)))
    ax = one_axes(ax, width=ONE_COLUMN, height=2.2 + 0.16 * -(-len(categories) // 2))
    for i, category in enumerate(categories):
        rows = frame[frame["category"].astype(str) == category].sort_values("round")
        # A little apart, so that diamonds of equal gaps do not hide each other.
        shift = 0.06 * (i - (len(categories) - 1) / 2)
        _draw_gap_trajectories(ax, rows, category, f"C{i % 7}", DASHES[i % len(DASHES)], shift)
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


def _draw_gap_trajectories(
    ax: Axes, rows: pd.DataFrame, category: str, colour: str, dashes: object, shift: float
) -> None:
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


def _check_gap_trajectories(frame: pd.DataFrame) -> None:
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
