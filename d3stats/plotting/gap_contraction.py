"""Does the gap posterior contract as claimed? The exact probability beside the bounds, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting._frame import check_frame, column, one_axes, whole_rounds, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_gap_contraction"]

COLUMNS = ("round", "exact", "claimed", "premise", "cantelli", "sub_gaussian", "eps")
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
    frame = check_frame(frame, COLUMNS, COLUMNS)
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
