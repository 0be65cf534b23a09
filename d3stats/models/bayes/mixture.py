"""What kinds of debate may this log hold? The posterior of a Beta-Binomial mixture of vote counts.

The model of :mod:`d3stats.models.mixtures.fit` with priors: a debate is of one of K kinds; a kind has a mean share of
correct votes and a correlation of votes within a debate. Kinds are summed out, and means are kept in ascending
order by construction, so that labels cannot switch. Cells of equal (successes, trials) are weighted, not repeated:
a fit costs the same for a thousand debates and for a million.

A panel of few votes hardly tells kinds apart (``Beta(a, b)`` is itself a mixture of two Betas). The posterior says
so where a point estimate cannot: bands of components are wide, those of the law's own quantities, the pmf, the
mean and the chance of a right majority, are not.

References
----------
Skellam (1948), J. R. Stat. Soc. B 10, 257 (the Beta-Binomial). Jasra, Holmes and Stephens (2005), Statistical
Science 20, 50 (label switching). Hu et al. (2025), arXiv 2510.12697 (the mixture for debates).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats._check import RngLike, as_rng, integer, probability
from d3stats.counts import Counts
from d3stats.estimate import Estimate
from d3stats.models.bayes import _stack
from d3stats.models.bayes._mixture_checks import (
    REPLICATES,
    observed_statistics,
    replicated_statistics,
)
from d3stats.models.bayes._mixture_density import MixtureDensity, MixturePriors
from d3stats.models.bayes._mixture_draws import (
    flat,
    law_of,
    law_quantities,
    log_likelihood,
    pmf_bands,
    posterior_points,
)
from d3stats.models.bayes.result import BayesFit, BayesSettings, posterior_estimate
from d3stats.models.mixtures.fit import counts_of
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MixturePosterior", "MixturePriors", "fit_mixture"]

_LAW = ("weight", "mean", "rho")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MixturePosterior(BayesFit):
    """Posterior of a mixture; all that :class:`~d3stats.models.bayes.result.BayesFit` has, and the law.

    `params` has ``weight[k]``, ``mean[k]`` and ``rho[k]`` of each component, ascending by mean, and of the law
    ``accuracy`` (the chance that a vote is right), ``spread`` (standard deviation of that chance between debates)
    and ``majority`` (the chance of a strict majority of right votes in a full panel).

    Attributes
    ----------
    counts : Counts
        The data.
    panel : int
        Votes of a full panel (:attr:`d3stats.counts.Counts.panel`).
    """

    counts: Counts = field(default_factory=Counts.empty)
    panel: int = 1

    @cached_property
    def distribution(self) -> BetaBinomialMixture:
        """The laws of all draws, a batch of shape (draws, K)."""
        return law_of(flat({name: _stack.draws_of(self.idata, name) for name in _LAW}))

    def pmf(
        self, trials: int | None = None, *, level: float = 0.95, kind: str = "equal-tailed"
    ) -> pd.DataFrame:
        """Return the posterior of the pmf over 0..trials: ``successes, predicted, low, high, level, kind``.

        ``predicted`` is the posterior mean, which is also the predictive pmf of the next debate.

        Parameters
        ----------
        trials : int, optional
            Votes of a panel; by default the full one.
        """
        return pmf_bands(self.distribution, self.panel if trials is None else trials, level, kind)

    def prob_majority(self, trials: int | None = None, *, level: float = 0.95) -> Estimate:
        """Return the chance of a strict majority of right votes in a panel of `trials`, P(S > trials / 2)."""
        n = integer("trials", self.panel if trials is None else trials, minimum=1)
        values = self.distribution.prob_majority(n)
        return posterior_estimate(f"P(S > {n}/2)", values, n=self.n_obs, level=level)

    def components(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row per component and quantity: posterior median and equal-tailed limits.

        Columns: ``component, quantity`` (weight, mean, rho, precision), ``median, low, high, level``. Medians,
        because the mean of a precision need not exist.
        """
        level = probability("level", level, open_interval=True)
        tails = [0.5, (1 - level) / 2, (1 + level) / 2]
        law = self.distribution
        values = {"weight": law.weight, "mean": law.mu, "rho": law.rho, "precision": law.precision}
        rows = [
            {"component": j + 1, "quantity": name, "median": m, "low": low, "high": high, "level": level}
            for j in range(law.n_components)
            for name, v in values.items()
            for m, low, high in [np.quantile(v[:, j], tails).tolist()]
        ]
        return pd.DataFrame(rows)

    def count_shares(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return what the figure draws: :meth:`pmf` of a full panel, ``observed`` shares and the components.

        Columns ``observed`` (share of the debates with a full panel) and ``mean_1, mean_2, ...`` with
        ``_low`` and ``_high`` (component means, the same in every row) are added.
        """
        frame = self.pmf(level=level, kind=kind)
        here = self.counts.trials == self.panel
        observed = np.zeros(self.panel + 1)
        observed[self.counts.successes[here]] = self.counts.weights[here] / self.counts.weights[here].sum()
        frame = frame.assign(observed=observed)
        for j, column in enumerate(self.distribution.mu.T, start=1):
            low, high = _stack.interval(column, level, kind)
            frame = frame.assign(**{f"mean_{j}": column.mean(), f"mean_{j}_low": low, f"mean_{j}_high": high})
        return frame

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the bands of the pmf with the observed shares, and the component means."""
        from d3stats.plotting.mixture_posterior import plot_mixture_posterior

        return plot_mixture_posterior(self.count_shares(level), ax=ax)


def fit_mixture(
    successes: ArrayLike | Counts,
    trials: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_components: int = 2,
    priors: MixturePriors | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    target_accept: float = 0.9,
    rng: RngLike = None,
) -> MixturePosterior:
    """Draw from the posterior of a mixture of `n_components` Beta-Binomials.

    Parameters
    ----------
    successes : array of int, shape (rows,), or Counts
        Correct votes of each debate (or cell). A :class:`~d3stats.counts.Counts` carries all three arrays.
    trials : int or array of int, shape (rows,)
        Votes cast; they may vary.
    weights : array of float, shape (rows,), optional
        How many debates each row stands for.
    n_components : int
        K >= 1.
    priors : MixturePriors, optional
        By default uniform weights, uniform ordered means, Beta(1, 3) correlations.
    draws, tune, chains : int
        Of NUTS; chains run one after another.
    target_accept : float
        When transitions diverge, the fit is drawn once more at .99 and says so.
    rng : Generator, int or None
        The same seed gives the same draws.

    Returns
    -------
    MixturePosterior

    Raises
    ------
    ValueError
        When no debate has a vote, successes exceed trials, a weight is negative, or a value is not finite.
    ImportError
        Without the extra ``bayes``.

    Examples
    --------
    >>> fit = fit_mixture(range(4), 3, [32, 103, 122, 80], n_components=1, draws=300, tune=300, chains=2, rng=1)
    >>> fit.params[["mean[0]", "majority"]].round(2).to_dict()
    {'mean[0]': 0.58, 'majority': 0.61}
    """
    k = integer("n_components", n_components, minimum=1)
    counts = counts_of(successes, trials, weights)
    believed = MixturePriors() if priors is None else priors
    if not isinstance(believed, MixturePriors):
        raise TypeError(f"priors must be MixturePriors; got {type(believed).__name__}")
    generator = as_rng(rng)
    density = MixtureDensity(
        Cells.of(counts.successes, counts.trials), counts.weights[None], k, believed, np.empty(0)
    )
    panel = counts.panel
    natural, stats, used, notes = posterior_points(density, draws, tune, chains, target_accept, generator)
    law = {name: natural[name][:, :, 0] for name in _LAW}
    prior = believed.draw(k, REPLICATES, generator)
    cells = log_likelihood(law, counts)
    return MixturePosterior(
        model=f"mixture of {k} Beta-Binomials" if k > 1 else "Beta-Binomial",
        names=("weight", "mean", "rho", "accuracy", "spread", "majority"),
        n_obs=counts.n_obs,
        settings=BayesSettings(draws, tune, chains, used, believed.to_dict()),
        idata=_stack.from_draws(
            law | law_quantities(law, panel),
            sample_stats=stats,
            log_likelihood=_stack.pointwise("votes", cells, counts.weights),
            prior={name: values[None] for name, values in prior.items()},
            observed_data={"successes": counts.successes, "trials": counts.trials, "debates": counts.weights},
        ),
        notes=notes,
        cells=cells,
        weights=counts.weights,
        constants=("weight[0]",) if k == 1 else (),
        observed=observed_statistics(counts),
        replicated=replicated_statistics(flat(law), counts, generator),
        prior_replicated=replicated_statistics(prior, counts, generator),
        counts=counts,
        panel=panel,
    )
