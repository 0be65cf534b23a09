"""d3stats: the statistics of LLM debates.

The public names, loaded when first used: ``import d3stats`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from d3stats import _moved

if TYPE_CHECKING:
    from d3stats import (
        agent,
        datasets,
        inference,
        planning,
        plotting,
        protocols,
        run,
        stopping,
        theory,
        worlds,
    )
    from d3stats.counts import ConfusionCounts, Counts, RoundCounts, TransitionCounts
    from d3stats.inference.bias import position_bias
    from d3stats.inference.comparison.compare import compare
    from d3stats.inference.comparison.power import plan_comparison, sample_size
    from d3stats.inference.judges.agreement import agreement
    from d3stats.inference.judges.coefficients import cohen_kappa
    from d3stats.inference.judges.jury import jury_curve
    from d3stats.inference.judges.prediction_powered import prediction_powered_mean
    from d3stats.inference.reasons.rationales import rationales
    from d3stats.log.counting import count_log
    from d3stats.log.importers import import_log
    from d3stats.log.reader import read_log
    from d3stats.log.writer import LogWriter
    from d3stats.models.beliefs.martingale import martingale_test
    from d3stats.models.gaps.beta import gap_posterior
    from d3stats.models.gaps.signed import signed_gap_posterior
    from d3stats.models.mixtures.fit import (
        fit_beta_binomial,
        fit_beta_binomial_mixture,
        fit_beta_binomial_mixture_batch,
        likelihood_ratio_test,
    )
    from d3stats.models.mixtures.law import BetaBinomialMixture
    from d3stats.models.mixtures.rounds import fit_rounds, rounds_drift
    from d3stats.models.separation.best_of_k import separation
    from d3stats.planning.calibration.calibrate import calibrate
    from d3stats.planning.describe import describe_rounds
    from d3stats.planning.exact import evaluate
    from d3stats.planning.plan import Plan, plan
    from d3stats.planning.replay import replay
    from d3stats.planning.risk import risk_controlled
    from d3stats.planning.scan import scan
    from d3stats.planning.study import Study, read_study
    from d3stats.planning.sweep import sweep
    from d3stats.report.analysis import analyse
    from d3stats.sources.opened import Opened, as_trajectories, open
    from d3stats.stopping import FixedRounds, KSStability, Ladder, NoiseAwareKS, Supermajority, Unanimity
    from d3stats.trajectories import Trajectories
    from d3stats.worlds.draw import simulate

__version__ = "0.1.0"

_moved.watch()

_HOMES = {
    "analyse": "d3stats.report.analysis",
    "simulate": "d3stats.worlds.draw",
    "agreement": "d3stats.inference.judges.agreement",
    "cohen_kappa": "d3stats.inference.judges.coefficients",
    "compare": "d3stats.inference.comparison.compare",
    "jury_curve": "d3stats.inference.judges.jury",
    "plan_comparison": "d3stats.inference.comparison.power",
    "position_bias": "d3stats.inference.bias",
    "rationales": "d3stats.inference.reasons.rationales",
    "prediction_powered_mean": "d3stats.inference.judges.prediction_powered",
    "sample_size": "d3stats.inference.comparison.power",
    "martingale_test": "d3stats.models.beliefs.martingale",
    "separation": "d3stats.models.separation.best_of_k",
    "signed_gap_posterior": "d3stats.models.gaps.signed",
    "gap_posterior": "d3stats.models.gaps.beta",
    "ConfusionCounts": "d3stats.counts",
    "Counts": "d3stats.counts",
    "RoundCounts": "d3stats.counts",
    "TransitionCounts": "d3stats.counts",
    "LogWriter": "d3stats.log.writer",
    "count_log": "d3stats.log.counting",
    "import_log": "d3stats.log.importers",
    "read_log": "d3stats.log.reader",
    "Trajectories": "d3stats.trajectories",
    "as_trajectories": "d3stats.sources.opened",
    "open": "d3stats.sources.opened",
    "Opened": "d3stats.sources.opened",
    "BetaBinomialMixture": "d3stats.models.mixtures.law",
    "fit_beta_binomial": "d3stats.models.mixtures.fit",
    "fit_beta_binomial_mixture_batch": "d3stats.models.mixtures.fit",
    "likelihood_ratio_test": "d3stats.models.mixtures.fit",
    "rounds_drift": "d3stats.models.mixtures.rounds",
    "describe_rounds": "d3stats.planning.describe",
    "fit_beta_binomial_mixture": "d3stats.models.mixtures.fit",
    "fit_rounds": "d3stats.models.mixtures.rounds",
    "FixedRounds": "d3stats.stopping",
    "KSStability": "d3stats.stopping",
    "NoiseAwareKS": "d3stats.stopping",
    "Ladder": "d3stats.stopping",
    "Supermajority": "d3stats.stopping",
    "Unanimity": "d3stats.stopping",
    "Plan": "d3stats.planning.plan",
    "Study": "d3stats.planning.study",
    "calibrate": "d3stats.planning.calibration.calibrate",
    "evaluate": "d3stats.planning.exact",
    "plan": "d3stats.planning.plan",
    "read_study": "d3stats.planning.study",
    "replay": "d3stats.planning.replay",
    "risk_controlled": "d3stats.planning.risk",
    "scan": "d3stats.planning.scan",
    "sweep": "d3stats.planning.sweep",
}
"""Where each public name lives."""

_ROOMS = (
    "agent",
    "datasets",
    "inference",
    "planning",
    "plotting",
    "protocols",
    "run",
    "stopping",
    "theory",
    "worlds",
)
"""The folders that are public as a whole."""

_OLD_ROOMS = ("agents", "debates")
"""Names of version 0.1; using one gives a DeprecationWarning."""

__all__ = [
    "BetaBinomialMixture",
    "ConfusionCounts",
    "Counts",
    "FixedRounds",
    "KSStability",
    "Ladder",
    "LogWriter",
    "NoiseAwareKS",
    "Opened",
    "Plan",
    "RoundCounts",
    "Study",
    "Supermajority",
    "Trajectories",
    "TransitionCounts",
    "Unanimity",
    "__version__",
    "agent",
    "agreement",
    "analyse",
    "as_trajectories",
    "calibrate",
    "cohen_kappa",
    "compare",
    "count_log",
    "datasets",
    "describe_rounds",
    "evaluate",
    "fit_beta_binomial",
    "fit_beta_binomial_mixture",
    "fit_beta_binomial_mixture_batch",
    "fit_rounds",
    "gap_posterior",
    "import_log",
    "inference",
    "jury_curve",
    "likelihood_ratio_test",
    "martingale_test",
    "open",
    "plan",
    "plan_comparison",
    "planning",
    "plotting",
    "position_bias",
    "prediction_powered_mean",
    "protocols",
    "rationales",
    "read_log",
    "read_study",
    "replay",
    "risk_controlled",
    "rounds_drift",
    "run",
    "sample_size",
    "scan",
    "separation",
    "signed_gap_posterior",
    "simulate",
    "stopping",
    "sweep",
    "theory",
    "worlds",
]


def __getattr__(name: str) -> Any:
    if name in (*_ROOMS, *_OLD_ROOMS):
        return import_module(f"d3stats.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'd3stats' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
