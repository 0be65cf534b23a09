"""A log on one page: counts by round above, how far the rounds moved and where rules stopped below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.plotting.counts_by_round import plot_counts_by_round
from d3stats.plotting.ks_series import plot_ks_series
from d3stats.plotting.stop_rounds import plot_stop_rounds
from d3stats.plotting.style import TWO_COLUMNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_overview"]


def draw_overview(
    shares: pd.DataFrame, ks: pd.DataFrame, stops: pd.DataFrame | None = None, *, threshold: float = 0.05
) -> Figure:
    """Draw the three figures of a log together, two columns wide.

    Parameters
    ----------
    shares : DataFrame
        As :func:`plot_counts_by_round` takes it.
    ks : DataFrame
        As :func:`plot_ks_series` takes it.
    stops : DataFrame, optional
        As :func:`plot_stop_rounds` takes it; without it the distances have the lower row to themselves.
    threshold : float
        The KS threshold to mark.

    Returns
    -------
    Figure
        Save it with :func:`save`, within :func:`use_style`.
    """
    from matplotlib.figure import Figure

    rounds = list(dict.fromkeys(shares["round"]))
    per_row = min(len(rounds), 4)
    rows = -(-len(rounds) // per_row)
    fig = Figure(figsize=(TWO_COLUMNS, 1.9 * rows + 2.5), layout="constrained")
    above, below = np.asarray(fig.subfigures(2, 1, height_ratios=[1.9 * rows, 2.5]))
    panels = above.subplots(rows, per_row, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in panels[len(rounds) :]:
        unused.set_axis_off()
    plot_counts_by_round(shares, axes=panels[: len(rounds)])
    if stops is None:
        plot_ks_series(ks, threshold=threshold, ax=below.subplots())
    else:
        left, right = below.subplots(1, 2, width_ratios=[1.0, 1.1])
        plot_ks_series(ks, threshold=threshold, ax=left)
        plot_stop_rounds(stops, ax=right)
    return fig
