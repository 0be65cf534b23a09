"""What the data carry: comparisons, agreement, bias, correction, power.

Floor 6. Who may live here: functions of runs, votes and tables that answer a user's question with an effect, its
interval and, after those, a p-value. Draws come from `d3stats.resampling`, twins from `d3stats.models.bayes`.
"""

from __future__ import annotations

from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.compare import Comparison, compare
from d3stats.inference.margins import MarginTest, MarginTests, equivalence, noninferiority
from d3stats.inference.paired import PairedDifference, PairTest, paired_difference
from d3stats.inference.runs import ItemMismatch, PairedRuns, Run, as_run, pair

__all__ = [
    "Comparison",
    "Estimate",
    "ItemMismatch",
    "MarginTest",
    "MarginTests",
    "PairTest",
    "PairedDifference",
    "PairedRuns",
    "Run",
    "as_run",
    "compare",
    "equivalence",
    "estimates_frame",
    "estimates_latex",
    "noninferiority",
    "pair",
    "paired_difference",
]
