"""Do the numbers of a printed table go together, rounding allowed for?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.inference.printed_tables.checks import (
        check_average,
        check_common_size,
        check_difference,
        check_extremes,
        check_grouped_mean,
        check_kappa_of_labels,
        check_kappas,
        check_majority_gain,
        check_one_price,
        check_part,
        check_ratio,
        check_relative_gain,
        check_same,
        check_share,
        check_within_parts,
        counts_of_share,
        kappa_range,
        majority_share,
        possible_sizes,
    )
    from d3stats.inference.printed_tables.printed import (
        Finding,
        Printed,
        findings_frame,
        findings_latex,
        printed,
    )
    from d3stats.inference.printed_tables.significance import (
        Discordance,
        check_common_df,
        check_discordance,
        check_distinguishable,
        check_gains_and_losses,
        check_items_to_change,
        check_p_values,
        check_paired_t,
        check_significance,
        check_t_and_p,
        discordance,
        implied_df,
        p_range,
        paired_counts,
    )
    from d3stats.inference.printed_tables.table import TableAudit, audit_table

__all__ = [
    "Discordance",
    "Finding",
    "Printed",
    "TableAudit",
    "audit_table",
    "check_average",
    "check_common_df",
    "check_common_size",
    "check_difference",
    "check_discordance",
    "check_distinguishable",
    "check_extremes",
    "check_gains_and_losses",
    "check_grouped_mean",
    "check_items_to_change",
    "check_kappa_of_labels",
    "check_kappas",
    "check_majority_gain",
    "check_one_price",
    "check_p_values",
    "check_paired_t",
    "check_part",
    "check_ratio",
    "check_relative_gain",
    "check_same",
    "check_share",
    "check_significance",
    "check_t_and_p",
    "check_within_parts",
    "counts_of_share",
    "discordance",
    "findings_frame",
    "findings_latex",
    "implied_df",
    "kappa_range",
    "majority_share",
    "p_range",
    "paired_counts",
    "possible_sizes",
    "printed",
]

lazy(__name__)
