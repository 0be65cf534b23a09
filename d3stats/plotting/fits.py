"""Figures of fitted models: posteriors, predictive checks, and what theory says of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats.plotting.style import (
    BLUE,
    GREEN,
    MARKERS,
    ONE_COLUMN,
    PALETTE,
    PINK,
    SKY,
    TWO_COLUMNS,
    VERMILLION,
    Look,
    check_frame,
    column,
    groups,
    legend_above,
    legend_below,
    one_axes,
    percent,
    refuse,
    whole_rounds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_excess_wealth",
    "plot_gap_contraction",
    "plot_mixture_posterior",
    "plot_phase_map",
    "plot_predictive_check",
    "plot_round_bands",
    "plot_separation",
]

_LANE = 0.085
"""Height that one component's mean takes above the bars, of the axis."""
_FAR = 3.0
"""Half bands at which a dot stops and becomes an arrow."""
PHASES = {
    "both better": (GREEN, ""),
    "gap larger, ranking worse": (SKY, "...."),
    "gap smaller, ranking better": ("#F0E442", "////"),
    "both worse": (VERMILLION, "xxxx"),
}
"""The effects of more advocates, from good to bad, with colour and hatch."""
_NONE = "0.85"
_PARTS = 9
"""Parts of a cell along each side of a map; odd, so that the middle one has the centre of the cell."""
_SAME = 1e-9
"""Share of the greatest excess wealth below which two curves count as equal; by how much rounding may pass a bound."""


def plot_mixture_posterior(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw observed shares as bars, the posterior of the pmf as dots with bands, component means on top.

    A component's mean is drawn at that share of right votes, because means are probabilities. If the limits of two
    means overlap, the panel does not separate the components.

    Parameters
    ----------
    frame : DataFrame
        One row per number of right votes 0..panel, with ``successes`` (right votes), ``observed`` (share of the
        debates), ``predicted, low, high`` (posterior mean and limits of the probability) and, optionally, ``level``
        (of the limits) and ``mean_1, mean_1_low, mean_1_high, mean_2, ...`` (component means and their limits, in
        [0, 1], the same in every row; at most 6).
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
    >>> [tick.get_text() for tick in plot_mixture_posterior(frame).get_xticklabels()]
    ['0', '1/2', '1']
    """
    told = list(getattr(frame, "columns", []))
    if "mean_7" in told:
        raise ValueError("frame must have at most 6 components, or colours repeat; got a column mean_7")
    means = [
        name for j in range(1, 7) for name in (f"mean_{j}", f"mean_{j}_low", f"mean_{j}_high") if name in told
    ]
    shares = ("observed", "predicted", "low", "high", *means)
    checked = check_frame(frame, ("successes", *shares), ("successes", *shares), shares=shares)
    panel = len(checked) - 1
    at = np.arange(panel + 1)
    if not np.array_equal(column(checked["successes"]), at):
        raise ValueError(f"successes must be 0..panel in order; got {checked['successes'].tolist()}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    observed, predicted, low, high = (column(checked[name]) for name in shares[:4])
    ax.bar(at, observed, width=0.8, color="0.82", label="observed", zorder=1)
    # Limits of a skewed posterior may leave its mean out.
    ends = [np.maximum(predicted - low, 0), np.maximum(high - predicted, 0)]
    look: Look = {"fmt": "o", "color": "0.15", "markersize": 3.5, "elinewidth": 1.0, "capsize": 2.5}
    ax.errorbar(at, predicted, yerr=ends, zorder=3, label=f"posterior, {percent(checked, 'band')}", **look)
    components = [name for name in means if name.count("_") == 1]
    top = 1.08 * float(max(high.max(), observed.max()))
    room = 1 + 1.2 * _LANE * len(components)
    for j, name in enumerate(components):
        limits = [f"{name}_{end}" for end in ("low", "high")]
        shown = limits if set(limits) <= set(means) else [name, name]
        span = [panel * float(checked[limit].iloc[0]) for limit in shown]
        centre = panel * float(checked[name].iloc[0])
        _draw_component(ax, j, centre, span, top * (1 + _LANE * (j + 0.5)), panel)
    if components:
        ax.axhline(top, color="0.7", linewidth=0.5)
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick < top])
    handles, labels = ax.get_legend_handles_labels()
    kept = [k for k, text in enumerate(labels) if not text.startswith("mean of")]
    entries: Look = {"handles": [handles[k] for k in kept], "labels": [labels[k] for k in kept]}
    ax.legend(**entries, loc="upper center", bbox_to_anchor=(0.45, 1 / room), fontsize="small")
    ax.set_ylim(0, top * room)
    ax.set_xlim(-0.6, panel + 0.6)
    marked = at if panel <= 12 else np.unique(np.linspace(0, panel, 7).round().astype(int))
    ax.set_xticks(marked, ["0" if s == 0 else "1" if s == panel else f"{s}/{panel}" for s in marked])
    ax.set_xlabel("share of right votes")
    ax.set_ylabel("share of debates")
    return ax


def _draw_component(ax: Axes, j: int, centre: float, span: list[float], y: float, panel: int) -> None:
    """Draw a component's mean in its lane above the bars, its name on the side that has room."""
    label = f"mean of component {j + 1}"
    ax.plot(span, [y, y], color=PALETTE[j], linewidth=1.6, solid_capstyle="butt", zorder=2)
    ax.plot([centre], [y], MARKERS[j], color=PALETTE[j], markersize=4.5, label=label, zorder=3)
    where, align, shift = (min(span), "right", -4) if sum(span) > panel else (max(span), "left", 4)
    look: Look = {"textcoords": "offset points", "ha": align, "va": "center", "fontsize": "x-small"}
    ax.annotate(label, (where, y), (shift, 0), **look)


def plot_round_bands(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw quantities over rounds with their posterior bands.

    Parameters
    ----------
    frame : DataFrame
        One row per round and quantity: ``round, quantity`` (text, at most 7 of them), ``mean, low, high``.
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
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    for name, here, colour, marker in groups(checked, "quantity", "quantities"):
        x, mean, low, high = (column(checked[here].sort_values("round")[key]) for key in numbers)
        ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(x, mean, marker=marker, color=colour, markersize=4, label=name)
    ax.set_xticks(whole_rounds(checked))
    ax.set_xlabel("round")
    ax.set_ylabel("probability")
    ax.legend(loc="best", fontsize="small")
    return ax


def plot_predictive_check(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw each statistic of a pilot against the band that its model predicts.

    Statistics have different units, so each row is drawn in its own: 0 is what is predicted, and the band
    reaches from -1 to 1. The pilot's dot is orange outside the band; the numbers are beside it.

    Parameters
    ----------
    frame : DataFrame
        One row per statistic and round: ``statistic, round`` (from 1), ``pilot`` (its value there), ``predicted``
        (mean of the replicates), ``low, high`` (their band) and ``p_value`` (in [0, 1]).
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
    numbers = ("round", "pilot", "predicted", "low", "high", "p_value")
    frame = check_frame(frame, ("statistic", *numbers), numbers, shares=("p_value",))
    pilot, centre, low, high = (column(frame[name]) for name in numbers[1:5])
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
    for where, colour, name in ((~outside, BLUE, "inside"), (outside, VERMILLION, "outside")):
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
    ax.set_xlabel("pilot minus prediction, in half bands")
    return ax


def plot_phase_map(frame: pd.DataFrame, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw a map of the pairs of laws that more advocates separate better, by two parameters.

    Regions differ by colour and hatch, so that they can be distinguished without colour. Between the cells of the grid
    the changes are interpolated, and a border is where one of them is 0. Where nothing changes, or where the two
    answers are the same, the map is grey.

    Parameters
    ----------
    frame : DataFrame
        One row per cell of a full grid: the first two columns are the parameters, named as the axes are;
        ``gap_change`` and ``ranking_change`` are the changes of the expected gap and of the probability of
        the right ranking from one advocate to k, and ``slack`` the change that is rounding (missing: 0).
    title : str
        The title of the map.
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

    (across, up), edges, codes = _phases(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=3.1)
    cmap = ListedColormap([_NONE, *(colour for colour, _ in PHASES.values())])
    norm = BoundaryNorm(np.arange(-1.5, len(PHASES)), cmap.N)
    ax.pcolormesh(*edges, codes, cmap=cmap, norm=norm, linewidth=0, rasterized=True)
    patches = []
    for i, (name, (colour, hatch)) in enumerate(PHASES.items()):
        inside = codes == i
        if inside.any():
            look: Look = {"facecolor": colour, "edgecolor": "0.15", "linewidth": 0.0}
            patches.append(Patch(label=name, hatch=hatch or None, **look))
            if hatch:
                _hatch(ax, edges, inside, hatch)
    if (codes == -1).any():
        patches.append(Patch(facecolor=_NONE, label="no change"))
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    if title:
        ax.set_title(title)
    legend_below(ax, handles=patches)
    return ax


def _phases(frame: pd.DataFrame) -> tuple[tuple[str, str], list[Floats], NDArray[np.int64]]:
    """Return the names of both parameters, and the borders and the phases of the parts of all cells, rows upward."""
    given = list(getattr(frame, "columns", []))
    across, up = (str(name) for name in (*given[:2], "", "")[:2])
    numbers = (across, up, "gap_change", "ranking_change", *(["slack"] if "slack" in given else []))
    checked = check_frame(frame, numbers, numbers, once=(across, up))
    full = checked[across].nunique() * checked[up].nunique()
    if len(checked) != full:
        raise ValueError(
            f"frame must have a row for every pair of {across} and {up}; got {len(checked)} of {full}"
        )
    if "slack" not in given:
        checked["slack"] = 0.0
    grids = [checked.pivot_table(name, up, across) for name in ("gap_change", "ranking_change", "slack")]
    gap, ranking, least = (grid.to_numpy(dtype=np.float64) for grid in grids)
    centres = [values.to_numpy(dtype=np.float64) for values in (grids[0].columns, grids[0].index)]
    edges = [_edges(values) for values in centres]
    parts = [(one[1:] + one[:-1]) / 2 for one in edges]
    worse = 2 * (_between(gap, centres, parts) < 0) + (_between(ranking, centres, parts) < 0)
    # A ranking that does not move, as between the same law twice, is neither better nor worse.
    still = np.repeat(np.repeat(np.abs(ranking) <= least, _PARTS, axis=0), _PARTS, axis=1)
    return (across, up), edges, np.where(still, -1, worse)


def _edges(values: Floats) -> Floats:
    """Return the borders of the parts of cells around their centres."""
    if values.size == 1:
        ends = np.asarray([values[0] - 0.5, values[0] + 0.5])
    else:
        between = 0.5 * (values[1:] + values[:-1])
        first, last = 2 * values[[0, -1]] - between[[0, -1]]
        ends = np.concatenate([[first], between, [last]])
    found: Floats = np.interp(np.arange(_PARTS * values.size + 1) / _PARTS, np.arange(values.size + 1), ends)
    return found


def _between(grid: Floats, centres: list[Floats], at: list[Floats]) -> Floats:
    """Return a grid's values at other places: linear between the centres of cells, constant beyond the last ones."""
    along = np.stack([np.interp(at[0], centres[0], row) for row in grid])
    return np.stack([np.interp(at[1], centres[1], one) for one in along.T], axis=1)


def _hatch(ax: Axes, edges: list[Floats], inside: NDArray[np.bool_], hatch: str) -> None:
    import matplotlib as mpl

    # One polygon per run of cells in a row would show seams in the hatch: contours do not.
    x, y = ((one[1:] + one[:-1]) / 2 for one in edges)
    with mpl.rc_context({"hatch.linewidth": 0.4, "hatch.color": "0.25"}):
        ax.contourf(x, y, inside.astype(float), levels=[0.5, 1.5], colors="none", hatches=[hatch])


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
    k, expected, mean, first, tie = (column(checked[name]) for name in names)
    lines = ax.plot(k, expected, "o-", color=BLUE, ms=3.5, label="expected gap")
    lines += ax.plot(k, mean, "s--", color=SKY, ms=3.5, label="gap of the means")
    right = ax.twinx()
    lines += right.plot(
        k, first + 0.5 * tie, "^:", color=VERMILLION, ms=3.5, label="first ranked higher (right axis)"
    )
    right.set_ylim(0, 1)
    right.set_ylabel("probability")
    right.spines["right"].set_visible(True)
    ax.set_xlabel("advocates a side")
    ax.set_ylabel("gap, points")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    # Above the axes: curves of a second axis would run through a legend inside.
    legend_above(ax, 1, handles=lines)
    return ax


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
    names = ("u", "first", "second")
    checked = check_frame(frame, names, names, shares=("u",))
    u, one, two = (column(checked[name]) for name in names)
    for i in np.flatnonzero(np.diff(u) <= 0):
        raise ValueError(f"u must ascend; got u={u[i]} before u={u[i + 1]} at row {i}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    # The areas differ in shade and hatch, so that they stay apart without colour.
    filled: Look = {"facecolor": GREEN, "alpha": 0.35, "linewidth": 0.0}
    hatched: Look = {"facecolor": "none", "edgecolor": PINK, "hatch": "//////", "linewidth": 0.0}
    for low, high, label, look in ((two, one, first_label, filled), (one, two, second_label, hatched)):
        more = bool((high - low > _SAME * np.abs(high).max()).any())
        name = f"{label} above" if more else "_nolegend_"
        ax.fill_between(u, low, high, where=(high >= low).tolist(), zorder=0, label=name, **look)
    ax.plot(u, one, color=BLUE, label=first_label)
    ax.plot(u, two, color=VERMILLION, linestyle="--", label=second_label)
    ax.plot(u, one - two, color="0.35", linewidth=0.8, linestyle=":", label="difference")
    ax.axhline(0.0, color="0.7", linewidth=0.6, zorder=0)
    ax.set_xlim(0, 1)
    ax.set_xlabel("level $u$")
    ax.set_ylabel("excess wealth $W(u)$, points")
    ax.set_title(_verdict(one - two, max(one.max(), two.max()), gains, first_label, second_label), loc="left")
    ax.legend(loc="upper right")
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
    table = check_frame(gains, ("k", "difference"), ("k", "difference"), once=("k",)).sort_values("k")
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


def plot_gap_contraction(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw P(delta >= 1 - eps) of one debate by round: exact, as D3 bounds it, and two bounds that hold.

    The claimed bound is a full line where its premise holds and a dotted one where not; crosses, a dozen at most, mark
    where it lies above the exact probability, so is no bound. Where it is below 0 it says nothing and is not drawn.

    Parameters
    ----------
    frame : DataFrame
        One row per round, as :func:`d3stats.models.gaps.beta.contraction_table` makes it: ``round`` (comparisons
        made, from 0), ``exact`` (P(delta >= 1 - eps)), ``claimed`` (1 - 4 Var / eps^2, at most 1, possibly negative),
        ``premise`` (whether abs(1 - mean) < eps / 2), ``cantelli, sub_gaussian`` (the bounds that hold) and ``eps``
        (the same in all rows).
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
    >>> frame = pd.DataFrame({"round": [10, 1000], "exact": [.03, 0.], "claimed": [.1, .9],
    ...     "premise": [False, False], "cantelli": [0., 0.], "sub_gaussian": [0., 0.], "eps": .1})
    >>> plot_gap_contraction(frame).get_ylabel()
    'P(gap ≥ 0.9)'
    """
    numbers = ("round", "exact", "claimed", "premise", "cantelli", "sub_gaussian", "eps")
    shares = ("exact", "cantelli", "sub_gaussian", "eps")
    frame = check_frame(frame, numbers, numbers, shares=shares, once=("round",))
    refuse("claimed must be <= 1", column(frame["claimed"]) > 1, frame, "claimed")
    refuse("premise must be true or false", ~np.isin(column(frame["premise"]), (0, 1)), frame, "premise")
    values = frame["eps"].unique()
    if len(values) > 1:
        raise ValueError(f"eps must be the same in all rows; got {values.tolist()[:5]}")
    frame = frame.sort_values("round")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    at, exact, claimed, premise, cantelli, sub_gaussian, _ = (column(frame[name]) for name in numbers)
    holds = premise == 1
    shown = np.where(claimed >= 0, claimed, np.nan)
    ax.plot(at, exact, color="0.1", linewidth=1.6, label="exact")
    fails = "_nolegend_" if holds.all() else "claimed, premise fails"
    ax.plot(at, shown, color=VERMILLION, linestyle=":", label=fails)
    if holds.any():
        ax.plot(at, np.where(holds, shown, np.nan), color=VERMILLION, label="claimed, premise holds")
    where = np.flatnonzero(shown > exact + _SAME)
    if where.size:
        where = where[:: -(-where.size // 12)]
        ax.plot(at[where], shown[where], "x", color=VERMILLION, markersize=4.5, label="claimed, above exact")
    ax.plot(at, cantelli, color=BLUE, linestyle="--", label="Cantelli")
    ax.plot(at, sub_gaussian, color=GREEN, linestyle="-.", label="sub-Gaussian")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("comparisons of a gap with the one before")
    ax.set_ylabel(f"P(gap ≥ {1 - values[0]:.4g})")
    legend_above(ax, bbox_to_anchor=(-0.1, 1.0), handlelength=2.2)
    return ax
