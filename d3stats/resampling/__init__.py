"""How sums over clusters vary: one engine for every bootstrap, jackknife and sign flip here.

Floor 1. Knows numpy and scipy's special functions, and no statistic: a statistic comes in as a function of sums.
Who may live here: what draws replicates of sums, and what turns replicates into limits.
"""

from __future__ import annotations

from d3stats.resampling.bootstrap import Bootstrap, BootstrapLimits, LimitsKind, bootstrap, bootstrap_limits
from d3stats.resampling.cluster_t import ClusterT, cluster_t, student_limits
from d3stats.resampling.clusters import (
    Statistic,
    cluster_totals,
    jackknife,
    ratios,
    resampled_counts,
    resampled_totals,
    swapped_totals,
)
from d3stats.resampling.sign_flip import SignFlip, sign_flip_p

__all__ = [
    "Bootstrap",
    "BootstrapLimits",
    "ClusterT",
    "LimitsKind",
    "SignFlip",
    "Statistic",
    "bootstrap",
    "bootstrap_limits",
    "cluster_t",
    "cluster_totals",
    "jackknife",
    "ratios",
    "resampled_counts",
    "resampled_totals",
    "sign_flip_p",
    "student_limits",
    "swapped_totals",
]
