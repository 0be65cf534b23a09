"""Differences with their intervals, one under the other, about zero."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import number
from d3stats.plotting._bars import with_bars
from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_forest"]

COLUMNS = ("label", "difference", "low", "high")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_ROW, _LINE, _EDGE = 0.24, 0.1, 0.75
"""Inches of a row, of another line of its label, and of what is above and below all rows."""
_WIDE, _LETTERS = 4.5, 22
"""From how many inches on numbers have room, and how long a label's line is below that."""


def plot_forest(
    frame: pd.DataFrame,
    *,
    margin: float | None = None,
    xlabel: str = "difference",
    numbers: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one row per difference: a point, its interval, a line at zero, and the margin as a band.

    A row without an interval is an open marker. Nothing is drawn for a p-value: the interval says it.

    Parameters
    ----------
    frame : DataFrame
        One row per difference, drawn from top to bottom, with ``label``, ``difference``, ``low, high`` (its
        interval; missing where there is none) and, optionally, ``group`` (told apart by colour and marker; at
        most 7), ``level, kind`` (of the intervals, written below the axis).
    margin : float, optional
        Half the width of the band about zero in which nobody minds a difference; above 0.
    xlabel : str
        What the differences are, with their units.
    numbers : bool, optional
        Whether to write each difference and its interval at the right; by default where the figure is wide enough
        (4.5 inches). Labels of a narrower figure are wrapped.
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as the rows need.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a difference is not finite, one limit stands without the other, or a difference
        lies outside of its interval by more than a bootstrap may leave it.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["B - A", "C - A"], "difference": [0.02, -0.01],
    ...                       "low": [-0.01, None], "high": [0.05, None]})
    >>> ax = plot_forest(frame, margin=0.03, xlabel="accuracy gained")
    >>> [tick.get_text() for tick in ax.get_yticklabels()], ax.get_xlabel()
    (['B - A', 'C - A'], 'accuracy gained')
    """
    grouped = "group" in getattr(frame, "columns", [])
    names = (*COLUMNS, "group") if grouped else COLUMNS
    checked = check_frame(frame, names, ("difference",), ("low", "high"))
    value, low, high = (column(checked[name]) for name in ("difference", "low", "high"))
    _check_limits(low, high)
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    rows = np.arange(len(checked), dtype=np.float64)
    narrow = ax is None or ax.figure.get_figure(root=True).get_figwidth() < _WIDE
    labels = [textwrap.fill(label, _LETTERS) if narrow else label for label in checked["label"].astype(str)]
    lines = sum(label.count("\n") for label in labels)
    ax = one_axes(ax, width=ONE_COLUMN, height=_EDGE + _ROW * len(rows) + _LINE * lines)
    if margin is not None:
        margin = number("margin", margin)
        if margin <= 0:
            raise ValueError(f"margin must be > 0; got margin={margin!r}")
        ax.axvspan(-margin, margin, color="0.9", linewidth=0, zorder=0, label=f"margin ±{margin:g}")
    ax.axvline(0.0, color="0.35", linewidth=0.8, zorder=1)
    for i, name in enumerate(groups):
        here = (
            (checked["group"].astype(str) == name).to_numpy() if grouped else np.ones(len(rows), dtype=bool)
        )
        _draw(ax, rows[here], value[here], low[here], high[here], MARKERS[i], COLOURS[i], name)
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(with_bars(xlabel, frame, ~np.isnan(low)))
    _reach(ax, value, low, high, margin)
    if numbers or (numbers is None and not narrow):
        _write(ax, rows, value, low, high)
    if len(groups) > 1 or margin is not None:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(groups)))
    return ax


def _check_limits(low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    alone = np.isnan(low) != np.isnan(high)
    if alone.any():
        row = int(np.argmax(alone))
        raise ValueError(
            f"low and high must come together; got low={low[row]}, high={high[row]} at row {row}"
        )
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")


def _draw(
    ax: Axes,
    rows: NDArray[np.float64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    marker: str,
    colour: str,
    name: str,
) -> None:
    ax.hlines(rows, low, high, color=colour, linewidth=1.2, zorder=2)
    sure = ~np.isnan(low)
    style = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 4.5, "zorder": 3}
    if sure.any():
        ax.plot(value[sure], rows[sure], label=name, **style)  # type: ignore[arg-type]  # one style, many types
    if (~sure).any():
        label = name if not sure.any() else "_nolegend_"
        ax.plot(value[~sure], rows[~sure], label=label, markerfacecolor="white", **style)  # type: ignore[arg-type]


def _reach(
    ax: Axes,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    margin: float | None,
) -> None:
    """Leave room for every interval, for zero and for the margin."""
    ends = np.concatenate([value, low[~np.isnan(low)], high[~np.isnan(high)], [0.0]])
    if margin is not None:
        ends = np.append(ends, [-margin, margin])
    span = max(float(np.ptp(ends)), 1e-3)
    ax.set_xlim(float(ends.min()) - 0.06 * span, float(ends.max()) + 0.06 * span)


def _write(
    ax: Axes,
    rows: NDArray[np.float64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Write the numbers at the right edge, in digits that the widest interval deserves."""
    widths = (high - low)[~np.isnan(low)]
    size = float(np.median(widths)) if len(widths) else float(np.abs(value).max())
    digits = int(np.clip(1 - np.floor(np.log10(size)), 0, 4)) if size > 0 else 3
    for row, x, down, up in zip(rows, value, low, high, strict=True):
        limits = "" if np.isnan(down) else f" [{down:+.{digits}f}, {up:+.{digits}f}]"
        text = f"{x:+.{digits}f}{limits}".replace("-", "−")
        ax.annotate(
            text,
            (1.02, row),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
