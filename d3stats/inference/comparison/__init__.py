"""Runs compared on the same items: differences, tests, margins, power."""

from __future__ import annotations

from d3stats.inference.comparison.compare import Weights, compare
from d3stats.inference.comparison.margins import equivalence, noninferiority
from d3stats.inference.comparison.mcnemar import McNemar, Method, discordant_pairs, mcnemar
from d3stats.inference.comparison.multiplicity import Family, adjust
from d3stats.inference.comparison.paired import paired_difference
from d3stats.inference.comparison.power import minimum_detectable_effect, power, sample_size
from d3stats.inference.comparison.runs import as_run, as_runs

__all__ = [
    "Family",
    "McNemar",
    "Method",
    "Weights",
    "adjust",
    "as_run",
    "as_runs",
    "compare",
    "discordant_pairs",
    "equivalence",
    "mcnemar",
    "minimum_detectable_effect",
    "noninferiority",
    "paired_difference",
    "power",
    "sample_size",
]
