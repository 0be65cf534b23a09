"""How far the counts moved from each round to the next, against what noise alone would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats._check import choice, probability
from d3stats.plotting._frame import band, check_frame, column, one_axes, whole_rounds, within_unit
from d3stats.plotting.style import ONE_COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_ks_series"]

COLUMNS = ("round", "scale", "ks", "noise", "low", "high")
LABELS = {"pmf": "counts", "latent": "latent mixture"}
LOOKS = {"pmf": ("C0", "o", "-"), "latent": ("C1", "s", "--")}


def plot_ks_series(frame: pd.DataFrame, *, threshold: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw the Kolmogorov-Smirnov distance of each round from the round before.

    The short grey bars say how large the distance would be, at the stated quantile, if nothing drifted: a
    distance below its bar is no evidence of change, and a threshold below the bars is met by luck only.

    Parameters
    ----------
    frame : DataFrame
        One row per round and scale, with the columns

        ``round``
            The later round of the pair, from 2.
        ``scale``
            ``"pmf"`` (between distributions of counts) or ``"latent"`` (between the fitted mixing densities).
        ``ks``
            The distance, between 0 and 1.
        ``noise``
            An upper quantile of the distance if nothing drifted; missing where not computed.
        ``low``, ``high``
            The bootstrap band of ``ks``; missing where not computed. With one edge alone, such as an upper
            bound, the line runs from ``ks`` to it.
    threshold : float
        Where a rule would call the round stable; drawn as a line.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a scale is unknown, or a distance is not in [0, 1].

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"round": [2, 3], "scale": "pmf", "ks": [.2, .04], "noise": [.06, .06],
    ...     "low": [.15, .01], "high": [.25, .08]})
    >>> plot_ks_series(frame).get_xlabel()
    'round, against the round before'
    """
    frame = check_frame(frame, COLUMNS, ("round", "ks"), ("noise", "low", "high"))
    threshold = probability("threshold", threshold)
    for scale in frame["scale"].unique():
        choice("scale", scale, tuple(LABELS))
    for name in COLUMNS[2:]:
        within_unit(frame, name)
    rounds = whole_rounds(frame)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.4)
    scales = [scale for scale in LABELS if (frame["scale"] == scale).any()]
    for i, scale in enumerate(scales):
        # Two scales side by side, so that bands do not hide each other.
        shift = 0.0 if len(scales) == 1 else (-0.08, 0.08)[i]
        _draw(ax, frame[frame["scale"] == scale].sort_values("round"), scale, shift, noise_label=i == 0)
    ax.axhline(threshold, color="0.35", linewidth=0.8, linestyle=":", label=f"threshold {threshold:g}")
    ax.set_xticks(rounds)
    ax.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
    top = max(threshold, float(np.nanmax(frame[["ks", "noise", "high"]].to_numpy())))
    # Room above the data for the legend.
    ax.set_ylim(0, 1.35 * top)
    ax.locator_params(axis="y", nbins=6)
    ax.set_xlabel("round, against the round before")
    ax.set_ylabel("KS distance")
    ax.legend(loc="upper right", ncols=2)
    return ax


def _draw(ax: Axes, rows: pd.DataFrame, scale: str, shift: float, *, noise_label: bool) -> None:
    colour, marker, line = LOOKS[scale]
    at = column(rows["round"]) + shift
    noise = column(rows["noise"])
    noisy = ~np.isnan(noise)
    distance = column(rows["ks"])
    banded, low, high = band(rows, alone=distance)
    half = 0.28 if shift == 0 else 0.07
    if noisy.any():
        ax.hlines(
            noise[noisy],
            at[noisy] - half,
            at[noisy] + half,
            color="0.6",
            linewidth=2.2,
            label="no drift" if noise_label else "_nolegend_",
        )
    ax.plot(at, distance, color=colour, marker=marker, linestyle=line, label=LABELS[scale])
    ax.vlines(at[banded], low[banded], high[banded], color=colour, linewidth=1.0, alpha=0.7)
