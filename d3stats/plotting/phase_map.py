"""Where more advocates a side help: a map over two parameters, and the curve of one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PHASES", "plot_phase_map", "plot_separation"]

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
