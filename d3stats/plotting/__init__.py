"""One function per figure: a documented DataFrame in, an axes out.

Who may live here: drawings and the style sheet. A drawing knows matplotlib and its frame's columns, never the
model that made the frame, so that every result's ``.plot`` can call down to it. Nothing here shows a window
or writes a file, :func:`save` excepted.
"""

from d3stats.plotting.counts_by_round import plot_counts_by_round
from d3stats.plotting.excess_wealth import plot_excess_wealth
from d3stats.plotting.forest import plot_forest
from d3stats.plotting.frontier import plot_frontier
from d3stats.plotting.gap_contraction import plot_gap_contraction
from d3stats.plotting.gap_trajectories import plot_gap_trajectories
from d3stats.plotting.interval_coverage import plot_interval_coverage
from d3stats.plotting.jury_curve import plot_jury_curve
from d3stats.plotting.kappa_forest import plot_agreement
from d3stats.plotting.ks_series import plot_ks_series
from d3stats.plotting.martingale_drift import plot_martingale_drift
from d3stats.plotting.mixture_posterior import plot_mixture_posterior, plot_round_bands
from d3stats.plotting.overview import draw_overview
from d3stats.plotting.phase_map import plot_phase_map, plot_separation
from d3stats.plotting.plan_fan import plot_plan_fan
from d3stats.plotting.position_bias import plot_position_bias
from d3stats.plotting.predictive_check import plot_predictive_check
from d3stats.plotting.protocol_frontier import plot_protocol_frontier
from d3stats.plotting.regret import plot_regret_map
from d3stats.plotting.stop_histogram import plot_stop_histogram
from d3stats.plotting.stop_rounds import plot_stop_rounds
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
