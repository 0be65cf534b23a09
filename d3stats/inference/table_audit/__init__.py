"""Do a table's numbers go together? Each printed number held against the others, rounding allowed for.

Who may live here: one check a file, a pure function of printed numbers that returns a `Finding`; and the audit of a
user's table, which runs those that its columns allow.
"""

from __future__ import annotations

from d3stats.inference.table_audit.arithmetic import (
    check_average,
    check_difference,
    check_ratio,
    check_relative_gain,
)
from d3stats.inference.table_audit.audit import TableAudit, audit_table
from d3stats.inference.table_audit.finding import Finding, findings_frame, findings_latex
from d3stats.inference.table_audit.kappa_labels import check_kappa_of_labels, kappa_range
from d3stats.inference.table_audit.kappa_share import check_kappas, majority_share
from d3stats.inference.table_audit.paired_binary import (
    Discordance,
    check_discordance,
    check_gains_and_losses,
    check_paired_t,
    discordance,
    paired_counts,
)
from d3stats.inference.table_audit.price import check_one_price
from d3stats.inference.table_audit.printed import Printed, printed
from d3stats.inference.table_audit.shares import (
    check_common_size,
    check_share,
    counts_of_share,
    possible_sizes,
)
from d3stats.inference.table_audit.significance import (
    check_distinguishable,
    check_p_values,
    check_significance,
    p_range,
)
from d3stats.inference.table_audit.student import check_common_df, check_t_and_p, implied_df
from d3stats.inference.table_audit.wholes import (
    check_extremes,
    check_grouped_mean,
    check_part,
    check_same,
    check_within_parts,
)

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
    "check_kappa_of_labels",
    "check_kappas",
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
