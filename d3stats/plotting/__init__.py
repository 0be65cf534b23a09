"""One function per figure: a documented DataFrame in, an axes out.

Who may live here: drawings and the style sheet. A drawing knows matplotlib and its frame's columns, never the
model that made the frame, so that every result's ``.plot`` can call down to it. Nothing here shows a window
or writes a file, :func:`save` excepted.
"""

from d3stats.plotting.costs import plot_frontier, plot_plan_fan, plot_protocol_frontier, plot_regret_map
from d3stats.plotting.fits import (
    plot_excess_wealth,
    plot_gap_contraction,
    plot_mixture_posterior,
    plot_phase_map,
    plot_predictive_check,
    plot_round_bands,
    plot_separation,
)
from d3stats.plotting.intervals import (
    plot_agreement,
    plot_forest,
    plot_interval_coverage,
    plot_jury_curve,
    plot_martingale_drift,
    plot_position_bias,
)
from d3stats.plotting.rounds import (
    draw_overview,
    plot_counts_by_round,
    plot_gap_trajectories,
    plot_ks_series,
    plot_stop_histogram,
    plot_stop_rounds,
)
from d3stats.plotting.style import ONE_COLUMN, TWO_COLUMNS, save, use_style

__all__ = [
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "draw_overview",
    "plot_agreement",
    "plot_counts_by_round",
    "plot_excess_wealth",
    "plot_forest",
    "plot_frontier",
    "plot_gap_contraction",
    "plot_gap_trajectories",
    "plot_interval_coverage",
    "plot_jury_curve",
    "plot_ks_series",
    "plot_martingale_drift",
    "plot_mixture_posterior",
    "plot_phase_map",
    "plot_plan_fan",
    "plot_position_bias",
    "plot_predictive_check",
    "plot_protocol_frontier",
    "plot_regret_map",
    "plot_round_bands",
    "plot_separation",
    "plot_stop_histogram",
    "plot_stop_rounds",
    "save",
    "use_style",
]
