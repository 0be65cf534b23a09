"""Do a table's numbers go together? Each printed number held against the others, rounding allowed for.

Who may live here: one check a file, a pure function of printed numbers that returns a `Finding`.
"""

from __future__ import annotations

from d3stats.inference.table_audit.arithmetic import (
    check_average,
    check_difference,
    check_ratio,
    check_relative_gain,
    check_within_parts,
)
from d3stats.inference.table_audit.finding import Finding, findings_frame, findings_latex
from d3stats.inference.table_audit.kappa_share import check_kappas, majority_share
from d3stats.inference.table_audit.paired_binary import (
    Discordance,
    check_gains_and_losses,
    check_paired_t,
    discordance,
    p_range,
    paired_counts,
)
from d3stats.inference.table_audit.printed import Printed, printed
from d3stats.inference.table_audit.shares import check_share, counts_of_share, possible_sizes
from d3stats.inference.table_audit.student import check_common_df, check_t_and_p, implied_df

__all__ = [
    "Discordance",
    "Finding",
    "Printed",
    "check_average",
    "check_common_df",
    "check_difference",
    "check_gains_and_losses",
    "check_kappas",
    "check_paired_t",
    "check_ratio",
    "check_relative_gain",
    "check_share",
    "check_t_and_p",
    "check_within_parts",
    "counts_of_share",
    "discordance",
    "findings_frame",
    "findings_latex",
    "implied_df",
    "majority_share",
    "p_range",
    "paired_counts",
    "possible_sizes",
    "printed",
]
