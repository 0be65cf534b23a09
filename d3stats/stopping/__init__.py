"""When should this debate have stopped?

Rules only: each is an immutable value that decides online and vectorised, one family per file. What a rule
costs is asked in ``d3stats.planning``. A new rule is one new file and its name in the list below, which also
gives it its place on the command line.
"""

from d3stats.stopping.ks import KSStability, NoiseAwareKS, stop_round_of_series
from d3stats.stopping.optimal import Optimal
from d3stats.stopping.rule import (
    CONTINUE,
    After,
    BatchRound,
    BatchRule,
    Both,
    Decision,
    Decisions,
    Either,
    Firings,
    MixedRule,
    Round,
    Rule,
    RuleState,
    StoppingRule,
    StopReason,
    Stops,
    batch_rounds,
    rounds_of,
)
from d3stats.stopping.scores import (
    BudgetedStopping,
    Declaration,
    GapPosterior,
    ScoreDeclaration,
    SignAgreement,
)
from d3stats.stopping.sequential import SPRT, AdaptiveConsistency, BettingConfidence, EProcess, LookAhead
from d3stats.stopping.text import from_text
from d3stats.stopping.tokens import TokenBudget
from d3stats.stopping.votes import (
    ChatEvalTurns,
    ESCWindow,
    FixedRounds,
    FullDepth,
    Ladder,
    Supermajority,
    Unanimity,
)
from d3stats.stopping.words import ExchangeOfThought

__all__ = [
    "CONTINUE",
    "SPRT",
    "AdaptiveConsistency",
    "After",
    "BatchRound",
    "BatchRule",
    "BettingConfidence",
    "Both",
    "BudgetedStopping",
    "ChatEvalTurns",
    "Decision",
    "Decisions",
    "Declaration",
    "EProcess",
    "ESCWindow",
    "Either",
    "ExchangeOfThought",
    "Firings",
    "FixedRounds",
    "FullDepth",
    "GapPosterior",
    "KSStability",
    "Ladder",
    "LookAhead",
    "MixedRule",
    "NoiseAwareKS",
    "Optimal",
    "Round",
    "Rule",
    "RuleState",
    "ScoreDeclaration",
    "SignAgreement",
    "StopReason",
    "StoppingRule",
    "Stops",
    "Supermajority",
    "TokenBudget",
    "Unanimity",
    "batch_rounds",
    "from_text",
    "rounds_of",
    "stop_round_of_series",
]
