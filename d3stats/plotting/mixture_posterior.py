"""What a posterior says of the counts of a full panel, beside the counts that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, whole_rounds, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_mixture_posterior", "plot_round_bands"]

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
