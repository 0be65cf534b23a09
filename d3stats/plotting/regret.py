"""How far each rule is from the best that its world allows."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_regret_map"]

COLUMNS = ("world", "rule", "regret")
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

    frame = check_frame(frame, COLUMNS, ("regret",))
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
