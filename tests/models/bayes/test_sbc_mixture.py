"""The mixture's posterior is calibrated: over data drawn from its prior, true values have uniform ranks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pymc")

from d3stats.models._likelihood import Cells
from d3stats.models.bayes._mixture_density import MixtureDensity, MixturePriors
from d3stats.models.bayes._mixture_draws import flat, law_of, posterior_points
from d3stats.models.bayes.sbc import SimulationRanks, simulation_ranks

PANEL, DEBATES, COMPONENTS = 5, 60, 2
CELLS = Cells.all_of(PANEL)
PRIORS = MixturePriors()


def truth_from_prior(rng):
    return {name: values[0] for name, values in PRIORS.draw(COMPONENTS, 1, rng).items()}


def log_of_votes(truth, rng):
    """How many of the debates had 0..PANEL right votes."""
    pmf = law_of(truth).pmf(PANEL)
    return rng.multinomial(DEBATES, pmf / pmf.sum())


def posterior_of(draws: int, tune: int, assumed: MixturePriors = PRIORS):
    def fit(counts, rng):
        density = MixtureDensity(
            CELLS, counts[None].astype(np.float64), COMPONENTS, assumed, np.empty(0)
        )
        natural, *_ = posterior_points(density, draws, tune, 1, 0.9, rng)
        return flat({name: natural[name][:, :, 0] for name in ("weight", "mean", "rho")})

    return fit


def quantities(parameters, counts):
    """The law's own numbers, and the log likelihood, which sees a fit that ignores the data."""
    law = law_of({name: np.asarray(parameters[name]) for name in ("weight", "mean", "rho")})
    pmf = np.maximum(law.pmf(PANEL), 1e-300)
    return {
        "accuracy": float(law.mean),
        "majority": float(law.prob_majority(PANEL)),
        "log_likelihood": float(counts @ np.log(pmf)),
    }


def ranks_of(n_fits: int, draws: int, tune: int, n_draws: int, seed: int) -> SimulationRanks:
    return simulation_ranks(
        truth_from_prior,
        log_of_votes,
        posterior_of(draws, tune),
        n_fits=n_fits,
        n_draws=n_draws,
        quantities=quantities,
        rng=seed,
    )
