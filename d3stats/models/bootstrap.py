"""How sure are we, where normal theory fails? Parametric bootstrap of a mixture.

Refits run in one batch and start from the fit that they resample, plus a few of the usual starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, integer
from d3stats.counts import Counts
from d3stats.models._fit import optimise
from d3stats.models._likelihood import Cells
from d3stats.models._objective import Space
from d3stats.models.betabinom import BetaBinomialMixture

if TYPE_CHECKING:
    from d3stats.models.result import MixtureFit

__all__ = ["parametric_bootstrap", "refit", "simulate_counts"]

Floats = NDArray[np.float64]


def simulate_counts(
    law: BetaBinomialMixture, counts: Counts, n_sets: int, rng: RngLike = None
) -> tuple[Cells, Floats]:
    """Draw data sets with the same numbers of debates per number of trials.

    Returns
    -------
    cells : Cells
        Every outcome of every number of trials.
    weights : ndarray, shape (n_sets, cells)

    Raises
    ------
    ValueError
        When a weight is not whole: debates can be drawn only in whole numbers.
    """
    generator = as_rng(rng)
    sizes, at = np.unique(counts.trials, return_inverse=True)
    totals = np.bincount(at, weights=counts.weights)
    if not np.allclose(totals, np.rint(totals), rtol=1e-12, atol=1e-9):
        raise ValueError(f"weights must add up to whole debates to be resampled; got {totals.tolist()}")
    draws, successes, trials = [], [], []
    for n, total in zip(sizes, totals, strict=True):
        pmf = law.pmf(int(n))
        draws.append(generator.multinomial(round(total), pmf / pmf.sum(), size=n_sets))
        successes.append(np.arange(n + 1))
        trials.append(np.full(n + 1, n))
    cells = Cells.of(np.concatenate(successes), np.concatenate(trials))
    return cells, np.concatenate(draws, axis=1).astype(np.float64)


def parametric_bootstrap(
    fit: MixtureFit, n_boot: int = 1000, *, rng: RngLike = None, n_starts: int = 4
) -> BetaBinomialMixture:
    """Refit the same model to `n_boot` data sets drawn from the fit; return the laws as one batch."""
    integer("n_boot", n_boot, minimum=2)
    cells, weights = simulate_counts(fit.distribution, fit.counts, n_boot, rng)
    return refit(fit, cells, weights, n_starts=n_starts)


def refit(fit: MixtureFit, cells: Cells, weights: Floats, *, n_starts: int = 4) -> BetaBinomialMixture:
    """Fit the model of `fit` to other data sets, starting from its optimum among others."""
    settings = fit.settings
    space = Space(settings.n_components, settings.n_binomial)
    found = optimise(
        cells,
        weights,
        space,
        n_starts=n_starts,
        penalty=settings.penalty,
        tol=settings.tol,
        max_iter=500,
        first=fit.point,
    )
    log_weight, mu, rho = space.split(found.x)
    order = np.argsort(mu, axis=1, kind="stable")
    weight = np.exp(log_weight)
    weight /= weight.sum(axis=1, keepdims=True)
    return BetaBinomialMixture(*(np.take_along_axis(a, order, axis=1) for a in (weight, mu, rho)))
