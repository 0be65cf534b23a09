"""Excess wealth of two laws of a score, and whether the best of k gains more for the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting._frame import check_frame, column, one_axes, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_excess_wealth"]

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
