"""d3stats: the statistics of LLM debates.

The public names, loaded when first used: ``import d3stats`` itself costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

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
    from d3stats.inference.bias import bias, position_bias
    from d3stats.inference.comparison.compare import compare
    from d3stats.inference.comparison.power import plan_comparison, power, sample_size
    from d3stats.inference.judges.agreement import agreement
    from d3stats.inference.judges.bradley_terry import rank
    from d3stats.inference.judges.coefficients import cohen_kappa
    from d3stats.inference.judges.confidence import confidence
    from d3stats.inference.judges.correct import correct
    from d3stats.inference.judges.jury import jury_curve
    from d3stats.inference.judges.panel import panel
    from d3stats.inference.judges.prediction_powered import prediction_powered_mean
    from d3stats.inference.reasons.rationales import rationales
    from d3stats.log.counting import count, count_log
    from d3stats.log.doctor import doctor
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
    from d3stats.planning.abstain import abstain
    from d3stats.planning.calibration.calibrate import calibrate
    from d3stats.planning.describe import fit
    from d3stats.planning.escalation import escalate
    from d3stats.planning.exact import evaluate
    from d3stats.planning.ledger import Ledger
    from d3stats.planning.plan import Plan, plan
    from d3stats.planning.replay import replay
    from d3stats.planning.risk import risk_controlled
    from d3stats.planning.scan import scan
    from d3stats.planning.scores import scores
    from d3stats.planning.simulate import simulate
    from d3stats.planning.study import Study, read_study
    from d3stats.report.analysis import report
    from d3stats.report.paper import paper
    from d3stats.run.run import debate
    from d3stats.sources.opened import Opened, as_trajectories, open
    from d3stats.stopping import FixedRounds, KSStability, Ladder, NoiseAwareKS, Supermajority, Unanimity
    from d3stats.trajectories import Trajectories

__version__ = "0.1.0"

__all__ = [
    "BetaBinomialMixture",
    "ConfusionCounts",
    "Counts",
    "FixedRounds",
    "KSStability",
    "Ladder",
    "Ledger",
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
    "abstain",
    "agent",
    "agreement",
    "as_trajectories",
    "bias",
    "calibrate",
    "cohen_kappa",
    "compare",
    "confidence",
    "correct",
    "count",
    "count_log",
    "datasets",
    "debate",
    "doctor",
    "escalate",
    "evaluate",
    "fit",
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
    "panel",
    "paper",
    "plan",
    "plan_comparison",
    "planning",
    "plotting",
    "position_bias",
    "power",
    "prediction_powered_mean",
    "protocols",
    "rank",
    "rationales",
    "read_log",
    "read_study",
    "replay",
    "report",
    "risk_controlled",
    "rounds_drift",
    "run",
    "sample_size",
    "scan",
    "scores",
    "separation",
    "signed_gap_posterior",
    "simulate",
    "stopping",
    "theory",
    "worlds",
]

lazy(__name__)
