"""When should this debate have stopped?

Rules only: each is an immutable value that decides online and vectorised, one family per file. What a rule
costs is asked in ``d3stats.planning``. A new rule is one new file and its name in the list below, which also
gives it its place on the command line.
"""

from d3stats.stopping.batch import BatchRound, BatchRule, Decisions, MixedRule, batch_rounds
from d3stats.stopping.combine import After, Both, Either
from d3stats.stopping.fixed import FixedRounds, FullDepth
from d3stats.stopping.ks import KSStability, stop_round_of_series
from d3stats.stopping.ks_bound import NoiseAwareKS
from d3stats.stopping.parse import from_text
from d3stats.stopping.rule import (
    CONTINUE,
    Decision,
    Firings,
    Round,
    Rule,
    RuleState,
    StoppingRule,
    StopReason,
    Stops,
    rounds_of,
)
from d3stats.stopping.supermajority import Supermajority
from d3stats.stopping.unanimity import Unanimity

__all__ = [
    "CONTINUE",
    "After",
    "BatchRound",
    "BatchRule",
    "Both",
    "Decision",
    "Decisions",
    "Either",
    "Firings",
    "FixedRounds",
    "FullDepth",
    "KSStability",
    "MixedRule",
    "NoiseAwareKS",
    "Round",
    "Rule",
    "RuleState",
    "StopReason",
    "StoppingRule",
    "Stops",
    "Supermajority",
    "Unanimity",
    "batch_rounds",
    "from_text",
    "rounds_of",
    "stop_round_of_series",
]
