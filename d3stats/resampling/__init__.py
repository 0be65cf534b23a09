"""How sure is a number when several items share a question?

Bootstrap, jackknife, Student's t, sign flips, and intervals of shares, all from sums by cluster. A statistic is given
as a function of these sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.resampling.bootstrap import (
        Bootstrap,
        BootstrapLimits,
        Ends,
        LimitsKind,
        bca_ends,
        bootstrap,
        bootstrap_limits,
        percentile_ends,
    )
    from d3stats.resampling.cluster_t import (
        ClusterT,
        Hotelling,
        cluster_estimate,
        cluster_t,
        hotelling,
        item_ratio,
        item_ratio_error,
        student_limits,
    )
    from d3stats.resampling.clusters import (
        FEW_CLUSTERS,
        FEW_FOR_PERCENTILES,
        ONE_CLUSTER,
        Ratios,
        Statistic,
        anova_sums,
        cluster_codes,
        cluster_totals,
        intraclass,
        jackknife,
        mean_squares,
        ratios,
        resampled_counts,
        resampled_totals,
        swapped_totals,
    )
    from d3stats.resampling.contrasts import contrast_of_means, contrast_of_shares
    from d3stats.resampling.degrees import (
        LEAST_EFFECTIVE,
        degrees_of_freedom,
        effective_clusters,
        item_error,
        left_out_error,
        too_unequal,
    )
    from d3stats.resampling.proportions import (
        ShareLimits,
        clustered_share,
        exact_coverage,
        proportion_interval,
        share,
        share_limits,
    )
    from d3stats.resampling.sign_flip import SignFlip, sign_flip_p

__all__ = [
    "FEW_CLUSTERS",
    "FEW_FOR_PERCENTILES",
    "LEAST_EFFECTIVE",
    "ONE_CLUSTER",
    "Bootstrap",
    "BootstrapLimits",
    "ClusterT",
    "Ends",
    "Hotelling",
    "LimitsKind",
    "Ratios",
    "ShareLimits",
    "SignFlip",
    "Statistic",
    "anova_sums",
    "bca_ends",
    "bootstrap",
    "bootstrap_limits",
    "cluster_codes",
    "cluster_estimate",
    "cluster_t",
    "cluster_totals",
    "clustered_share",
    "contrast_of_means",
    "contrast_of_shares",
    "degrees_of_freedom",
    "effective_clusters",
    "exact_coverage",
    "hotelling",
    "intraclass",
    "item_error",
    "item_ratio",
    "item_ratio_error",
    "jackknife",
    "left_out_error",
    "mean_squares",
    "percentile_ends",
    "proportion_interval",
    "ratios",
    "resampled_counts",
    "resampled_totals",
    "share",
    "share_limits",
    "sign_flip_p",
    "student_limits",
    "swapped_totals",
    "too_unequal",
]

lazy(__name__)
