"""How far each rule is from the best that its world allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_regret_map"]

COLUMNS = ("world", "rule", "regret")


def plot_regret_map(
    frame: pd.DataFrame, *, label: str = "regret, share of a verdict", ax: Axes | None = None
) -> Axes:
    """Draw the regret of rules over worlds as a map, light where a rule is near the optimum.

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
    ax = one_axes(ax, width=TWO_COLUMNS, height=1.3 + 0.24 * len(rules))
    top = float(np.nanmax(grid)) or 1.0
    image = ax.imshow(grid, cmap="cividis_r", vmin=0.0, vmax=top, aspect="auto")
    for i in range(len(rules)):
        for j in range(len(worlds)):
            if np.isfinite(grid[i, j]):
                shade = "white" if grid[i, j] > 0.55 * top else "black"
                ax.text(j, i, f"{grid[i, j]:.3f}", ha="center", va="center", fontsize=6, color=shade)
    ax.set_xticks(range(len(worlds)), worlds, rotation=30, ha="right")
    ax.set_yticks(range(len(rules)), rules)
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, label=label, fraction=0.04, pad=0.02)
    return ax
