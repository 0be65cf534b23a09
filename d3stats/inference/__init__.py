"""What the data carry: comparisons, agreement, bias, correction, power.

Floor 6. Who may live here: functions of runs, votes and tables that answer a user's question with an effect, its
interval and, after those, a p-value. Draws come from `d3stats.resampling`, twins from `d3stats.models.bayes`.
"""

from __future__ import annotations

from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.agreement import AgreementTable, agreement
from d3stats.inference.compare import Comparison, compare
from d3stats.inference.correlation import Correlation, correlation, kendall, spearman
from d3stats.inference.fleiss import fleiss_kappa, percent_agreement
from d3stats.inference.gwet import gwet_ac
from d3stats.inference.kappa import cohen_kappa
from d3stats.inference.krippendorff import krippendorff_alpha
from d3stats.inference.margins import MarginTest, MarginTests, equivalence, noninferiority
from d3stats.inference.paired import PairedDifference, PairTest, paired_difference
from d3stats.inference.ratings import Ratings, as_ratings
from d3stats.inference.runs import ItemMismatch, PairedRuns, Run, as_run, pair

__all__ = [
    "AgreementTable",
    "Comparison",
    "Correlation",
    "Estimate",
    "ItemMismatch",
    "MarginTest",
    "MarginTests",
    "PairTest",
    "PairedDifference",
    "PairedRuns",
    "Ratings",
    "Run",
    "agreement",
    "as_ratings",
    "as_run",
    "cohen_kappa",
    "compare",
    "correlation",
    "equivalence",
    "estimates_frame",
    "estimates_latex",
    "fleiss_kappa",
    "gwet_ac",
    "kendall",
    "krippendorff_alpha",
    "noninferiority",
    "pair",
    "paired_difference",
    "percent_agreement",
    "spearman",
]
