"""Observed against fitted counts of correct votes, one panel per round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.plotting._frame import band, check_frame, column, whole_rounds, within_unit
from d3stats.plotting.style import ONE_COLUMN, TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_counts_by_round"]

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
