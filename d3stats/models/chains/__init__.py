"""How good could any stopping rule be? A vote count as a Markov chain, and the exact optimum of stopping it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.chains.optimum import OptimalPolicy, cheapest, frontier, solve
    from d3stats.models.chains.panel_chain import ChainLaws, PanelChainFit, chain_laws, fit_panel_chain
    from d3stats.models.chains.process import (
        PLURALITY,
        Controller,
        CountProcess,
        Layer,
        Verdict,
        agreement_loss,
        error_loss,
        walk,
    )
    from d3stats.models.chains.votes import VoteOptimum, optimal_votes, optimal_votes_beta

__all__ = [
    "PLURALITY",
    "ChainLaws",
    "Controller",
    "CountProcess",
    "Layer",
    "OptimalPolicy",
    "PanelChainFit",
    "Verdict",
    "VoteOptimum",
    "agreement_loss",
    "chain_laws",
    "cheapest",
    "error_loss",
    "fit_panel_chain",
    "frontier",
    "optimal_votes",
    "optimal_votes_beta",
    "solve",
    "walk",
]

lazy(__name__)
