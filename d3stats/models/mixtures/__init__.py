"""How do a panel's correct votes spread over debates, and does that change from round to round?

Beta-Binomial mixtures of vote counts: their law, maximum likelihood fits, rounds, drift and the KS distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.mixtures.fit import (
        LikelihoodRatioTest,
        MixtureBatch,
        fit_beta_binomial,
        fit_beta_binomial_mixture,
        fit_beta_binomial_mixture_batch,
        likelihood_ratio_test,
    )
    from d3stats.models.mixtures.ks import empirical_ks, ks_distance, ks_noise, ks_upper
    from d3stats.models.mixtures.law import BetaBinomialMixture
    from d3stats.models.mixtures.result import (
        ConvergenceError,
        FitSettings,
        MixtureFit,
        parametric_bootstrap,
        refit,
        simulate_counts,
    )
    from d3stats.models.mixtures.rounds import (
        Drift,
        Pair,
        RoundsFit,
        Scale,
        distance,
        fit_rounds,
        latent_ks,
        pmf_ks,
        rounds_drift,
    )

__all__ = [
    "BetaBinomialMixture",
    "ConvergenceError",
    "Drift",
    "FitSettings",
    "LikelihoodRatioTest",
    "MixtureBatch",
    "MixtureFit",
    "Pair",
    "RoundsFit",
    "Scale",
    "distance",
    "empirical_ks",
    "fit_beta_binomial",
    "fit_beta_binomial_mixture",
    "fit_beta_binomial_mixture_batch",
    "fit_rounds",
    "ks_distance",
    "ks_noise",
    "ks_upper",
    "latent_ks",
    "likelihood_ratio_test",
    "parametric_bootstrap",
    "pmf_ks",
    "refit",
    "rounds_drift",
    "simulate_counts",
]

lazy(__name__)
