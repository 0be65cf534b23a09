"""The same models with priors: what to believe after a log, and not which value fits best.

Who may live here: one Bayesian model per file, `result` (what a fit returns) and `_stack`, the one module that
knows PyMC, PyTensor and ArviZ. They come with the extra ``bayes`` (``pip install 'd3stats[bayes]'``), in either
generation: PyMC 5 with ArviZ 0.23, PyMC 6 with ArviZ 1. Names are loaded when they are asked for, the samplers
when something is fitted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from d3stats.models.bayes.accuracy import AccuracyFit, AccuracyPriors, fit_accuracy
    from d3stats.models.bayes.mixture import MixturePosterior, MixturePriors, fit_mixture
    from d3stats.models.bayes.paired import PairedFit, fit_paired
    from d3stats.models.bayes.result import BayesFit, BayesSettings
    from d3stats.models.bayes.rounds import RoundsPosterior, fit_rounds
    from d3stats.models.bayes.sbc import SimulationRanks, simulation_ranks

__all__ = [
    "AccuracyFit",
    "AccuracyPriors",
    "BayesFit",
    "BayesSettings",
    "MixturePosterior",
    "MixturePriors",
    "PairedFit",
    "RoundsPosterior",
    "SimulationRanks",
    "fit_accuracy",
    "fit_mixture",
    "fit_paired",
    "fit_rounds",
    "simulation_ranks",
]

_HOME = {
    "AccuracyFit": "accuracy",
    "AccuracyPriors": "accuracy",
    "BayesFit": "result",
    "BayesSettings": "result",
    "MixturePosterior": "mixture",
    "MixturePriors": "mixture",
    "PairedFit": "paired",
    "RoundsPosterior": "rounds",
    "SimulationRanks": "sbc",
    "fit_accuracy": "accuracy",
    "fit_mixture": "mixture",
    "fit_paired": "paired",
    "fit_rounds": "rounds",
    "simulation_ranks": "sbc",
}
"""Which module has a name: the samplers' side is an extra, and most of what runs here never asks for it."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
