"""Is one run better than another on the same items, is it no worse, and how many questions does it take to know?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.inference.comparison.compare import Comparison, Weights, compare
    from d3stats.inference.comparison.margins import MarginTest, MarginTests, equivalence, noninferiority
    from d3stats.inference.comparison.mcnemar import McNemar, Method, discordant_pairs, mcnemar
    from d3stats.inference.comparison.multiplicity import Family, adjust
    from d3stats.inference.comparison.paired import PairedDifference, PairTest, paired_difference
    from d3stats.inference.comparison.power import (
        Design,
        PilotPlan,
        PowerPlan,
        mcnemar_power,
        minimum_detectable_effect,
        plan_comparison,
        power,
        sample_size,
    )
    from d3stats.inference.comparison.strata import EqualityTest, Strata, by_stratum, strata_tables, stratify
    from d3stats.inputs.items import ItemMismatch
    from d3stats.inputs.labels import Labels
    from d3stats.inputs.runs import PairedRuns, Run, pair
    from d3stats.sources.runs import as_run, as_runs

__all__ = [
    "Comparison",
    "Design",
    "EqualityTest",
    "Family",
    "ItemMismatch",
    "Labels",
    "MarginTest",
    "MarginTests",
    "McNemar",
    "Method",
    "PairTest",
    "PairedDifference",
    "PairedRuns",
    "PilotPlan",
    "PowerPlan",
    "Run",
    "Strata",
    "Weights",
    "adjust",
    "as_run",
    "as_runs",
    "by_stratum",
    "compare",
    "discordant_pairs",
    "equivalence",
    "mcnemar",
    "mcnemar_power",
    "minimum_detectable_effect",
    "noninferiority",
    "pair",
    "paired_difference",
    "plan_comparison",
    "power",
    "sample_size",
    "strata_tables",
    "stratify",
]

lazy(__name__)
