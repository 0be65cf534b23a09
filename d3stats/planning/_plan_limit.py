"""How far from the best that any rule could do in the fitted chain?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.chains.optimum import cheapest
from d3stats.models.chains.panel_chain import PanelChainFit
from d3stats.models.chains.process import CountProcess, agreement_loss
from d3stats.planning._coding import Target
from d3stats.planning._plan_table import Pilot
from d3stats.planning.exact import evaluate
from d3stats.stopping import Unanimity

__all__ = ["Limit", "exact_limit", "limit_row"]

Floats = NDArray[np.float64]

_NODES = 2
"""Classes of easiness within a kind, in the limit: beliefs over more take minutes."""


class Limit:
    """The cheapest optimal policy within a loss of unanimity, and what it spends.

    Attributes
    ----------
    rounds, tokens, kept : float
        Expected, per debate.
    law : ndarray of float
        Probability of stopping after each round.
    unanimity_tokens, unanimity_kept : float
    """

    def __init__(
        self, process: CountProcess, tokens: Floats, max_loss: float, target: Target, max_beliefs: int = 2_000
    ) -> None:
        unanimity = evaluate(process, Unanimity(), tokens)
        self.unanimity_tokens = float(unanimity.tokens or np.nan)
        self.unanimity_kept = float(unanimity.accuracy if target == "accuracy" else unanimity.agreement)
        loss = None if target == "accuracy" else agreement_loss(process)
        allowed = min(1.0, 1.0 - self.unanimity_kept + max_loss)
        policy = cheapest(process, allowed, tokens=tokens, loss=loss, max_beliefs=max_beliefs)
        self.law: Floats = policy.stop_rounds_law().astype(np.float64)
        self.rounds = self.spent(np.ones(len(self.law)))
        self.tokens = self.spent(tokens)
        self.kept = 1.0 - float(policy.expected_loss)

    def spent(self, cost: Floats) -> float:
        """Return what it spends when each round costs so much."""
        return float((self.law * np.cumsum(cost)).sum())

    @property
    def saved(self) -> float:
        """One minus the ratio of its tokens to unanimity's."""
        return 1.0 - self.tokens / self.unanimity_tokens


def exact_limit(
    process: CountProcess, tokens: Floats, max_loss: float, target: Target, max_beliefs: int = 2_000
) -> Limit:
    """Return the best that a known process allows: no rule on counts is cheaper and loses no more."""
    return Limit(process, tokens, max_loss, target, max_beliefs)


def limit_row(fit: PanelChainFit, panel: int, pilot: Pilot, max_loss: float) -> dict[str, Any]:
    """Return the last row of a plan's table: the exact optimum of the fitted chain, no interval around it."""
    cost, tokens, target = pilot.cost_by_round(), pilot.tokens_by_round(), pilot.target
    process = fit.process(panel, len(cost), labelled=target == "accuracy", nodes=_NODES)
    limit = exact_limit(process, cost, max_loss, target)
    return {
        "rule": "optimum of the fitted chain",
        "role": "limit",
        "undecided": 0,
        "rounds": limit.rounds,
        "tokens": np.nan if tokens is None else limit.spent(tokens),
        "dollars": np.nan if pilot.unit != "dollars" else limit.tokens * pilot.factor,
        "kept": limit.kept,
        "accuracy": limit.kept if target == "accuracy" else np.nan,
        "saved": limit.saved,
        "loss": limit.unanimity_kept - limit.kept,
        "loss_from": "chain",
    }
