"""A vote count as a Markov chain: its law, what a stop costs, and the exact optimum of stopping."""

from __future__ import annotations

from d3stats.models.chains.forgetful import ForgetfulTable, forgetful_table
from d3stats.models.chains.learn import CrossValidation, cross_validated, fit_process
from d3stats.models.chains.optimum import (
    OptimalPolicy,
    cheapest,
    checked_losses,
    checked_prices,
    frontier,
    solve,
)
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
    "CrossValidation",
    "ForgetfulTable",
    "Layer",
    "OptimalPolicy",
    "PanelChainFit",
    "Verdict",
    "VoteOptimum",
    "agreement_loss",
    "chain_laws",
    "cheapest",
    "checked_losses",
    "checked_prices",
    "cross_validated",
    "error_loss",
    "fit_panel_chain",
    "fit_process",
    "forgetful_table",
    "frontier",
    "optimal_votes",
    "optimal_votes_beta",
    "solve",
    "walk",
]
