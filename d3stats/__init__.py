"""d3stats: the statistics of LLM debates.

The public names, loaded when first used: ``import d3stats`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from d3stats import datasets, plotting
    from d3stats.counts import ConfusionCounts, Counts, RoundCounts, TransitionCounts
    from d3stats.log.importers import import_log
    from d3stats.log.read import read_log
    from d3stats.log.scan import count_log
    from d3stats.log.write import LogWriter
    from d3stats.models.betabinom import BetaBinomialMixture
    from d3stats.models.drift import rounds_drift
    from d3stats.models.lrt import likelihood_ratio_test
    from d3stats.models.mixture import (
        fit_beta_binomial,
        fit_beta_binomial_mixture,
        fit_beta_binomial_mixture_batch,
    )
    from d3stats.models.rounds import fit_rounds
    from d3stats.planning.describe import describe_rounds
    from d3stats.planning.replay import replay
    from d3stats.stopping import FixedRounds, KSStability, NoiseAwareKS, Unanimity
    from d3stats.trajectories import Trajectories

__version__ = "0.1.0"

_HOMES = {
    "ConfusionCounts": "d3stats.counts",
    "Counts": "d3stats.counts",
    "RoundCounts": "d3stats.counts",
    "TransitionCounts": "d3stats.counts",
    "LogWriter": "d3stats.log.write",
    "count_log": "d3stats.log.scan",
    "import_log": "d3stats.log.importers",
    "read_log": "d3stats.log.read",
    "Trajectories": "d3stats.trajectories",
    "BetaBinomialMixture": "d3stats.models.betabinom",
    "fit_beta_binomial": "d3stats.models.mixture",
    "fit_beta_binomial_mixture_batch": "d3stats.models.mixture",
    "likelihood_ratio_test": "d3stats.models.lrt",
    "rounds_drift": "d3stats.models.drift",
    "describe_rounds": "d3stats.planning.describe",
    "fit_beta_binomial_mixture": "d3stats.models.mixture",
    "fit_rounds": "d3stats.models.rounds",
    "FixedRounds": "d3stats.stopping",
    "KSStability": "d3stats.stopping",
    "NoiseAwareKS": "d3stats.stopping",
    "Unanimity": "d3stats.stopping",
    "replay": "d3stats.planning.replay",
}
"""Where each public name lives."""

_ROOMS = ("datasets", "plotting")
"""The rooms that are public as a whole."""

__all__ = [
    "BetaBinomialMixture",
    "ConfusionCounts",
    "Counts",
    "FixedRounds",
    "KSStability",
    "LogWriter",
    "NoiseAwareKS",
    "RoundCounts",
    "Trajectories",
    "TransitionCounts",
    "Unanimity",
    "__version__",
    "count_log",
    "datasets",
    "describe_rounds",
    "fit_beta_binomial",
    "fit_beta_binomial_mixture",
    "fit_beta_binomial_mixture_batch",
    "fit_rounds",
    "import_log",
    "likelihood_ratio_test",
    "plotting",
    "read_log",
    "replay",
    "rounds_drift",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"d3stats.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'd3stats' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
