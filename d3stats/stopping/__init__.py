"""When should this debate have stopped?

Rules only: each is an immutable value that decides online and vectorised, one family per file. What a rule
costs is asked in ``d3stats.planning``. A new rule is one new file and its name in the list below, which also
gives it its place on the command line.
"""

from d3stats.stopping.adaptive_consistency import AdaptiveConsistency
from d3stats.stopping.batch import BatchRound, BatchRule, Decisions, MixedRule, batch_rounds
from d3stats.stopping.betting import BettingConfidence
from d3stats.stopping.budgeted import BudgetedStopping
from d3stats.stopping.chateval import ChatEvalTurns
from d3stats.stopping.combine import After, Both, Either
from d3stats.stopping.declaration import Declaration, ScoreDeclaration
from d3stats.stopping.e_process import EProcess
from d3stats.stopping.esc import ESCWindow
from d3stats.stopping.exchange_of_thought import ExchangeOfThought
from d3stats.stopping.fixed import FixedRounds, FullDepth
from d3stats.stopping.gap_posterior import GapPosterior
from d3stats.stopping.ks import KSStability, stop_round_of_series
from d3stats.stopping.ks_bound import NoiseAwareKS
from d3stats.stopping.ladder import Ladder
from d3stats.stopping.look_ahead import LookAhead
from d3stats.stopping.optimal import Optimal
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
from d3stats.stopping.sign_agreement import SignAgreement
from d3stats.stopping.sprt import SPRT
from d3stats.stopping.supermajority import Supermajority
from d3stats.stopping.token_budget import TokenBudget
from d3stats.stopping.unanimity import Unanimity

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
