"""How sums over clusters vary: one engine for every bootstrap, jackknife and sign flip here.

Floor 1. Knows numpy and scipy's special functions, and no statistic: a statistic comes in as a function of sums.
Who may live here: what draws replicates of sums, and what turns replicates into limits.
"""

from __future__ import annotations

from d3stats.resampling.totals import cluster_totals, resampled_totals, swapped_totals

__all__ = ["cluster_totals", "resampled_totals", "swapped_totals"]
