"""How sure can one be of a mixture, of rounds, of an accuracy or of a difference, given priors?

Posteriors by PyMC, in the form of the other fits.

For each model there is a function that builds its ``pm.Model`` (``mixture_model``, ``rounds_model``,
``accuracy_model``, ``paired_model``) and one that samples it (``fit_mixture``, ``fit_rounds``, ``fit_accuracy``,
``fit_paired``). ``panel_model`` is the model of judges without labels. They come with the extra ``bayes``
(``pip install "d3stats[bayes]"``), in either generation: PyMC 5 with ArviZ 0.23, PyMC 6 with ArviZ 1. Names are loaded
when they are asked for, the samplers when something is fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.bayes.accuracy import AccuracyFit, AccuracyPriors, accuracy_model, fit_accuracy
    from d3stats.models.bayes.discordance import Discordance
    from d3stats.models.bayes.mixture import MixturePosterior, MixturePriors, fit_mixture, mixture_model
    from d3stats.models.bayes.paired import PairedFit, fit_paired, paired_model
    from d3stats.models.bayes.panels import panel_model
    from d3stats.models.bayes.result import BayesFit, BayesSettings, Sampling
    from d3stats.models.bayes.rounds import RoundsPosterior, fit_rounds, rounds_model

__all__ = [
    "AccuracyFit",
    "AccuracyPriors",
    "BayesFit",
    "BayesSettings",
    "Discordance",
    "MixturePosterior",
    "MixturePriors",
    "PairedFit",
    "RoundsPosterior",
    "Sampling",
    "accuracy_model",
    "fit_accuracy",
    "fit_mixture",
    "fit_paired",
    "fit_rounds",
    "mixture_model",
    "paired_model",
    "panel_model",
    "rounds_model",
]

lazy(__name__)
