"""What a posterior says of the counts of a full panel, beside the counts that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting.style import (
    ONE_COLUMN,
    TWO_COLUMNS,
    check_frame,
    column,
    one_axes,
    whole_rounds,
    within_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PHASES",
    "plot_excess_wealth",
    "plot_gap_contraction",
    "plot_mixture_posterior",
    "plot_phase_map",
    "plot_predictive_check",
    "plot_round_bands",
    "plot_separation",
]

COLUMNS = ("successes", "observed", "predicted", "low", "high")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
_LANE = 0.085
"""Height that one component's mean takes above the bars, of the axis."""


def plot_mixture_posterior(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw observed shares as bars, the posterior of the pmf as dots with bands, component means on top.

    A component's mean stands where that share of the panel would be right: means are of chances, and bands that
    overlap say that the panel cannot tell the components apart.

    Parameters
    ----------
    frame : DataFrame
        One row per number of right votes 0..panel, with

        ``successes``
            Right votes.
        ``observed``
            Share of the debates.
        ``predicted, low, high``
            Posterior mean and limits of the probability.
        ``level`` (optional)
            Of the limits, for the legend.
        ``mean_1, mean_1_low, mean_1_high, mean_2, ...`` (optional)
            Component means and their limits, in [0, 1], the same in every row; at most 6.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite or no probability, limits are upside down, or rows are not
        0..panel in order.

    Examples
    --------
    >>> frame = pd.DataFrame({"successes": [0, 1, 2], "observed": [0.3, 0.2, 0.5], "predicted": [0.28, 0.22, 0.5],
    ...     "low": [0.2, 0.15, 0.4], "high": [0.35, 0.3, 0.6]})
    >>> plot_mixture_posterior(frame).get_xlabel()
    'right votes of 2'
    """
    means = [name for j in range(1, 7) for name in (f"mean_{j}", f"mean_{j}_low", f"mean_{j}_high")]
    given = [name for name in means if name in getattr(frame, "columns", [])]
    if "mean_7" in getattr(frame, "columns", []):
        raise ValueError("frame must have at most 6 components to tell apart; got a column mean_7")
    extra = (*given, "level") if "level" in getattr(frame, "columns", []) else tuple(given)
    checked = check_frame(frame, (*COLUMNS, *extra), (*COLUMNS, *extra))
    for name in ("observed", "predicted", "low", "high", *given):
        within_unit(checked, name)
    panel = len(checked) - 1
    if not np.array_equal(column(checked["successes"]), np.arange(panel + 1)):
        raise ValueError(f"successes must be 0..panel in order; got {checked['successes'].tolist()}")
    low, high = column(checked["low"]), column(checked["high"])
    _in_order(low, high)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    at, predicted = np.arange(panel + 1), column(checked["predicted"])
    level = f"{100 * checked['level'].iloc[0]:g} % " if "level" in extra else ""
    ax.bar(at, column(checked["observed"]), width=0.8, color="0.82", label="observed", zorder=1)
    ax.errorbar(
        at,
        predicted,
        yerr=[np.maximum(predicted - low, 0), np.maximum(high - predicted, 0)],
        fmt="o",
        color="0.15",
        markersize=3.5,
        elinewidth=1.0,
        capsize=2.5,
        label=f"posterior, {level}band",
        zorder=3,
    )
    components = [name for name in given if name.count("_") == 1]
    top = 1.08 * max(float(high.max()), float(column(checked["observed"]).max()))
    room = 1 + 1.2 * _LANE * len(components)
    for j, name in enumerate(components):
        y = top * (1 + _LANE * (j + 0.5))
        limits = [f"{name}_{end}" for end in ("low", "high")]
        shown = limits if set(limits) <= set(given) else [name, name]
        ends = [panel * float(checked[column_name].iloc[0]) for column_name in shown]
        ax.plot(ends, [y, y], color=COLOURS[j], linewidth=1.6, solid_capstyle="butt", zorder=2)
        label = f"mean of component {name.removeprefix('mean_')}"
        centre = panel * float(checked[name].iloc[0])
        ax.plot([centre], [y], MARKERS[j], color=COLOURS[j], markersize=4.5, label=label, zorder=3)
        # The name stands on the side that has room.
        left = sum(ends) > panel
        where, align, shift = (min(ends), "right", -4) if left else (max(ends), "left", 4)
        ax.annotate(
            label,
            (where, y),
            (shift, 0),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize="x-small",
        )
    handles, labels = ax.get_legend_handles_labels()
    kept = [k for k, text in enumerate(labels) if not text.startswith("mean of")]
    ax.legend(
        [handles[k] for k in kept],
        [labels[k] for k in kept],
        loc="upper center",
        bbox_to_anchor=(0.45, 1 / room),
        fontsize="small",
        frameon=False,
    )
    ax.set_ylim(0, top * room)
    ax.set_xlim(-0.6, panel + 0.6)
    ax.set_xticks(at if panel <= 12 else np.unique(np.linspace(0, panel, 7).round().astype(int)))
    ax.set_xlabel(f"right votes of {panel}")
    ax.set_ylabel("share of debates")
    return ax


def plot_round_bands(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw quantities over rounds with their posterior bands.

    Parameters
    ----------
    frame : DataFrame
        One row per round and quantity: ``round, quantity`` (text, at most 6 of them), ``mean, low, high``.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Examples
    --------
    >>> frame = pd.DataFrame({"round": [1, 2], "quantity": "accuracy", "mean": [0.5, 0.6], "low": [0.4, 0.5],
    ...     "high": [0.6, 0.7]})
    >>> plot_round_bands(frame).get_xlabel()
    'round'
    """
    numbers = ("round", "mean", "low", "high")
    checked = check_frame(frame, (*numbers, "quantity"), numbers)
    rounds = whole_rounds(checked)
    _in_order(column(checked["low"]), column(checked["high"]))
    names = list(dict.fromkeys(checked["quantity"].astype(str)))
    if len(names) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} quantities; got {len(names)}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    for j, name in enumerate(names):
        part = checked[checked["quantity"].astype(str) == name].sort_values("round")
        x = column(part["round"])
        ax.fill_between(
            x, column(part["low"]), column(part["high"]), color=COLOURS[j], alpha=0.2, linewidth=0
        )
        ax.plot(x, column(part["mean"]), marker=MARKERS[j], color=COLOURS[j], markersize=4, label=name)
    ax.set_xticks(rounds)
    ax.set_xlabel("round")
    ax.set_ylabel("probability")
    ax.legend(loc="best", fontsize="small")
    return ax


def _in_order(low: np.ndarray, high: np.ndarray) -> None:
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")


PREDICTIVE_CHECK_COLUMNS = ("statistic", "round", "pilot", "predicted", "low", "high", "p_value")
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
    frame = check_frame(
        frame, PREDICTIVE_CHECK_COLUMNS, ("round", "pilot", "predicted", "low", "high", "p_value")
    )
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


PHASES = ("both better", "gap larger, ranking worse", "gap smaller, ranking better", "both worse")
"""What more advocates can do, from good to bad; the order of colours and of the legend."""

_COLOURS = {
    "both better": "#009E73",
    "gap larger, ranking worse": "#56B4E9",
    "gap smaller, ranking better": "#F0E442",
    "both worse": "#D55E00",
}
_HATCHES = {"gap larger, ranking worse": "....", "gap smaller, ranking better": "////", "both worse": "xxxx"}
_NONE = "0.85"
_UNDER = 26
"""Points that tick labels and the label of the axis take."""


def plot_phase_map(frame: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw which pairs of laws more advocates tell apart better, by two parameters.

    Regions differ by colour and hatch, so that they can be told apart without colour; where nothing changes,
    or where the two answers are the same, the map is grey.

    Parameters
    ----------
    frame : DataFrame
        One row per cell of a full grid: the first two columns are the parameters, named as the axes are;
        ``gap_change`` and ``ranking_change`` are the expected gap and the probability of the right ranking at k
        less those at one advocate, and ``slack`` the change that is rounding (missing: 0).
    title : str
        What stands above the map.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When the grid is not full, or a cell occurs twice.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "gap_change": [1, -1, -1, 1.0],
    ...                       "ranking_change": [0.1, 0.1, -0.1, 0.1]})
    >>> ax = plot_phase_map(frame)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['both better', 'gap smaller, ranking better', 'both worse']
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    columns, rows, codes, names = _grid(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=3.1)
    cmap = ListedColormap([_NONE, *(_COLOURS[name] for name in PHASES)])
    norm = BoundaryNorm(np.arange(-1.5, len(PHASES)), cmap.N)
    edges = [_edges(values) for values in (columns, rows)]
    ax.pcolormesh(*edges, codes, cmap=cmap, norm=norm, linewidth=0, rasterized=True)
    patches = []
    present = [name for i, name in enumerate(PHASES) if (codes == i).any()]
    if (codes == -1).any():
        patches.append(Patch(facecolor=_NONE, label="no change"))
    for name in present:
        hatch = _HATCHES.get(name)
        if hatch:
            _hatch(ax, edges, codes == PHASES.index(name), hatch)
        patches.append(
            Patch(facecolor=_COLOURS[name], hatch=hatch, label=name, edgecolor="0.15", linewidth=0.0)
        )
    patches = patches[1:] + patches[:1] if (codes == -1).any() else patches
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    if title:
        ax.set_title(title)
    # In points below the axes, so that it stays below the labels at any height.
    under = ax.transAxes + ScaledTranslation(0, -_UNDER / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=under, handlelength=1.6
    )
    return ax


def _grid(
    frame: pd.DataFrame,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], tuple[str, str]]:
    """Return the values of both parameters, the phase of every cell (rows, columns), and the axes' names."""
    given = list(getattr(frame, "columns", []))
    across, up = (str(name) for name in (*given[:2], "", "")[:2])
    slack = ["slack"] if "slack" in given else []
    numbers = (across, up, "gap_change", "ranking_change", *slack)
    checked = check_frame(frame, numbers, numbers)
    if checked.duplicated([across, up]).any():
        raise ValueError(f"{across} and {up} must occur once together; got one pair twice")
    columns, at_column = np.unique(column(checked[across]), return_inverse=True)
    rows, at_row = np.unique(column(checked[up]), return_inverse=True)
    if len(checked) != columns.size * rows.size:
        raise ValueError(
            f"frame must have a row for every pair of {across} and {up}; got {len(checked)} of "
            f"{columns.size * rows.size}"
        )
    least = column(checked["slack"]) if slack else np.zeros(len(checked))
    gap, ranking = column(checked["gap_change"]), column(checked["ranking_change"])
    worse = 2 * (gap < 0) + (ranking < 0)
    worse[(np.abs(gap) <= least) & (np.abs(ranking) <= least)] = -1
    # A ranking that does not move, as between the same law twice, is neither better nor worse.
    worse[np.abs(ranking) <= least] = -1
    codes = np.empty((rows.size, columns.size), dtype=np.int64)
    codes[at_row, at_column] = worse
    return columns, rows, codes, (across, up)


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the borders of cells around their centres."""
    if values.size == 1:
        return np.asarray([values[0] - 0.5, values[0] + 0.5])
    between = 0.5 * (values[1:] + values[:-1])
    borders: NDArray[np.float64] = np.concatenate(
        [[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]]
    )
    return borders


def _hatch(ax: Axes, edges: list[NDArray[np.float64]], inside: NDArray[np.bool_], hatch: str) -> None:
    import matplotlib as mpl

    # One polygon per run of cells in a row would show seams in the hatch: contours do not.
    shown = np.repeat(np.repeat(inside, 2, axis=0), 2, axis=1).astype(float)
    x, y = (np.repeat(edge, 2)[1:-1] for edge in edges)
    with mpl.rc_context({"hatch.linewidth": 0.4, "hatch.color": "0.25"}):
        ax.contourf(x, y, shown, levels=[0.5, 1.5], colors="none", hatches=[hatch])


def plot_separation(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the expected gap by the number of advocates, and how often the first answer is ranked higher.

    Parameters
    ----------
    frame : DataFrame
        One row per k: ``k, expected_gap, mean_gap, prob_first, prob_tie``.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes
        That of the gap, in points; the probability has a second axis on the right.

    Examples
    --------
    >>> frame = pd.DataFrame({"k": [1, 2], "expected_gap": [1.0, 0.8], "mean_gap": [0.5, 0.4],
    ...                       "prob_first": [0.7, 0.6], "prob_tie": [0.0, 0.1]})
    >>> plot_separation(frame).get_xlabel()
    'advocates a side'
    """
    from matplotlib.ticker import MaxNLocator

    names = ("k", "expected_gap", "mean_gap", "prob_first", "prob_tie")
    checked = check_frame(frame, names, names).sort_values("k")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    k = column(checked["k"])
    gap = ax.plot(k, column(checked["expected_gap"]), "o-", color="#0072B2", ms=3.5, label="expected gap")
    mean = ax.plot(k, column(checked["mean_gap"]), "s--", color="#56B4E9", ms=3.5, label="gap of the means")
    right = ax.twinx()
    ranking = column(checked["prob_first"]) + 0.5 * column(checked["prob_tie"])
    rank = right.plot(k, ranking, "^:", color="#D55E00", ms=3.5, label="first ranked higher")
    right.set_ylim(0, 1)
    right.set_ylabel("probability")
    right.spines["right"].set_visible(True)
    ax.set_xlabel("advocates a side")
    ax.set_ylabel("gap, points")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    lines = [*gap, *mean, *rank]
    # Above the axes: curves of a second axis would run through a legend inside.
    ax.legend(handles=lines, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, frameon=False)
    return ax


FIRST, SECOND, ABOVE, BELOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
_SAME = 1e-9
"""Share of the greatest excess wealth below which two curves count as equal."""


def plot_excess_wealth(
    frame: pd.DataFrame,
    gains: pd.DataFrame | None = None,
    *,
    first_label: str = "answer 1",
    second_label: str = "answer 2",
    ax: Axes | None = None,
) -> Axes:
    """Draw W1(u) and W2(u), shade their difference, and say in the title what follows for the best of k.

    Where W1 is nowhere below W2, the best of k gains at least as much for answer 1 as for answer 2, for every k.
    Where the curves cross, it depends on k, and `gains` tells for which.

    Parameters
    ----------
    frame : DataFrame
        ``u, first, second`` as :func:`d3stats.models.separation.excess_wealth_table` returns them, ascending in u.
    gains : DataFrame, optional
        ``k, difference`` as :func:`d3stats.models.separation.excess.gain_table` returns them.
    first_label, second_label : str
        Names of the answers.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent or holds values that are not finite, u leaves [0, 1] or does not ascend, or a k
        comes twice.

    Notes
    -----
    The verdict is about the levels in `frame`; :func:`d3stats.models.separation.excess_wealth_order` looks closer.

    Examples
    --------
    >>> frame = pd.DataFrame({"u": [0.25, 0.75], "first": [0.14, 0.02], "second": [0.28, 0.03]})
    >>> plot_excess_wealth(frame).get_title("left")
    'answer 2 gains more for every k'
    """
    checked = check_frame(frame, ("u", "first", "second"), ("u", "first", "second"))
    within_unit(checked, "u")
    u, one, two = (column(checked[name]) for name in ("u", "first", "second"))
    falls = np.flatnonzero(np.diff(u) <= 0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(f"u must ascend; got u={u[i]} before u={u[i + 1]} at row {i}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    for low, high, where, colour in ((two, one, one >= two, ABOVE), (one, two, one <= two, BELOW)):
        ax.fill_between(u, low, high, where=where.tolist(), color=colour, alpha=0.25, linewidth=0, zorder=0)
    ax.plot(u, one, color=FIRST, label=first_label)
    ax.plot(u, two, color=SECOND, linestyle="--", label=second_label)
    ax.plot(u, one - two, color="0.35", linewidth=0.8, linestyle=":", label="difference")
    ax.axhline(0.0, color="0.7", linewidth=0.6, zorder=0)
    ax.set_xlim(0, 1)
    ax.set_xlabel("level $u$")
    ax.set_ylabel("excess wealth $W(u)$, points")
    verdict = _verdict(one - two, max(one.max(), two.max()), gains, first_label, second_label)
    ax.set_title(verdict, loc="left")
    ax.legend()
    return ax


def _verdict(
    apart: NDArray[np.float64], size: float, gains: pd.DataFrame | None, first: str, second: str
) -> str:
    """Say what the curves, and the gains where they cross, mean for the best of k."""
    nothing = _SAME * size
    above, below = bool((apart >= -nothing).all()), bool((apart <= nothing).all())
    if above and below:
        return "both gain the same for every k"
    if above or below:
        return f"{first if above else second} gains more for every k"
    if gains is None:
        return "the curves cross:\nwhat gains more depends on k"
    table = check_frame(gains, ("k", "difference"), ("k", "difference")).sort_values("k")
    if table["k"].duplicated().any():
        raise ValueError(f"k must come once; got k={table['k'][table['k'].duplicated()].iloc[0]:g} twice")
    more = [int(k) for k in table["k"][table["difference"] > nothing]]
    if not more:
        return f"the curves cross:\n{first} gains more at no k up to {table['k'].max():g}"
    return f"the curves cross:\n{first} gains more at k = {_spans(more)}"


def _spans(chosen: list[int]) -> str:
    """Write ascending whole numbers as runs: 2–9, 30."""
    runs: list[list[int]] = []
    for k in chosen:
        if runs and k == runs[-1][-1] + 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


GAP_CONTRACTION_COLUMNS = ("round", "exact", "claimed", "premise", "cantelli", "sub_gaussian", "eps")
_SLIP = 1e-9
"""By how much a bound may pass the exact probability through rounding."""


def plot_gap_contraction(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw P(delta >= 1 - eps) of one debate by round: exact, as D3 bounds it, and two bounds that hold.

    The claimed bound is a full line where its premise holds and a dotted one where not; crosses, a dozen at most, mark
    where it lies above the exact probability, so is no bound. Where it is below 0 it says nothing and is not drawn.

    Parameters
    ----------
    frame : DataFrame
        One row per round, as :func:`d3stats.models.gaps.beta.contraction_table` makes it, with the columns

        ``round``
            Comparisons made, from 0.
        ``exact``
            P(delta >= 1 - eps).
        ``claimed``
            1 - 4 Var / eps^2, at most 1, possibly negative.
        ``premise``
            Whether abs(1 - mean) < eps / 2.
        ``cantelli``, ``sub_gaussian``
            The bounds that hold.
        ``eps``
            The same in all rows.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a round occurs twice, a probability is not in [0, 1], the claimed bound is above 1,
        ``premise`` is not true or false, or there are several ``eps``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"round": [10, 1000], "exact": [.03, 0.], "claimed": [.1, .9],
    ...     "premise": [False, False], "cantelli": [0., 0.], "sub_gaussian": [0., 0.], "eps": .1})
    >>> plot_gap_contraction(frame).get_ylabel()
    'P(delta ≥ 0.9)'
    """
    frame = check_frame(frame, GAP_CONTRACTION_COLUMNS, GAP_CONTRACTION_COLUMNS)
    _check(frame)
    frame = frame.sort_values("round")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    at, exact, claimed = (column(frame[name]) for name in ("round", "exact", "claimed"))
    holds = column(frame["premise"]) == 1
    shown = np.where(claimed >= 0, claimed, np.nan)
    ax.plot(at, exact, color="0.1", linewidth=1.6, label="exact")
    ax.plot(
        at,
        shown,
        color="C1",
        linestyle=":",
        label="claimed, premise fails" if not holds.all() else "_nolegend_",
    )
    if holds.any():
        ax.plot(at, np.where(holds, shown, np.nan), color="C1", label="claimed, premise holds")
    false = shown > exact + _SLIP
    if false.any():
        every = -(-int(false.sum()) // 12)
        where = np.flatnonzero(false)[::every]
        ax.plot(at[where], shown[where], "x", color="C1", markersize=4.5, label="claimed, above exact")
    ax.plot(at, column(frame["cantelli"]), color="C0", linestyle="--", label="Cantelli")
    ax.plot(at, column(frame["sub_gaussian"]), color="C2", linestyle="-.", label="sub-Gaussian")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("comparisons of a gap with the one before")
    ax.set_ylabel(f"P(delta ≥ {1 - frame['eps'].iloc[0]:.4g})")
    ax.legend(loc="lower left", bbox_to_anchor=(-0.1, 1.0), ncols=2, columnspacing=1.0, handlelength=2.2)
    return ax


def _check(frame: pd.DataFrame) -> None:
    whole_rounds(frame)
    again = frame.duplicated("round")
    if again.any():
        row = int(np.argmax(again.to_numpy()))
        raise ValueError(f"frame must have one row per round; got round={frame['round'][row]:g} twice")
    for name in ("exact", "cantelli", "sub_gaussian", "eps"):
        within_unit(frame, name)
    over = column(frame["claimed"]) > 1
    if over.any():
        row = int(np.argmax(over))
        raise ValueError(f"claimed must be <= 1; got claimed={frame['claimed'][row]} at row {row}")
    bad = ~np.isin(column(frame["premise"]), (0, 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"premise must be true or false; got premise={frame['premise'][row]:g} at row {row}")
    values = frame["eps"].unique()
    if len(values) > 1:
        raise ValueError(f"eps must be the same in all rows; got {values.tolist()[:5]}")
