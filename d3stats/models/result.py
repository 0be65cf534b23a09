"""What a fit returns: estimates, how sure they are, how the search went, and what the data cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, choice, integer, probability
from d3stats.counts import Counts
from d3stats.models import _functionals as functionals_of
from d3stats.models import _summary as in_words
from d3stats.models._fit import Optima
from d3stats.models._information import Information, information
from d3stats.models._likelihood import Cells
from d3stats.models._objective import Space
from d3stats.models.betabinom import CLOSED, BetaBinomialMixture
from d3stats.models.bootstrap import parametric_bootstrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ConvergenceError", "FitSettings", "MixtureFit"]

Floats = NDArray[np.float64]
IntervalKind = Literal["auto", "wald", "bootstrap"]
NEGLIGIBLE_WEIGHT = 1e-6


class ConvergenceError(RuntimeError):
    """A fit was asked to stand for more than it can: no start met the tolerance."""


@dataclass(frozen=True)
class FitSettings:
    """How a fit was made; see :func:`~d3stats.models.mixture.fit_beta_binomial_mixture`."""

    n_components: int
    n_binomial: int
    method: str
    n_starts: int
    max_iter: int
    tol: float
    penalty: float


@dataclass(frozen=True, eq=False, repr=False)
class MixtureFit:
    """A fitted Beta-Binomial mixture.

    Attributes
    ----------
    distribution : BetaBinomialMixture
        The fitted law, components ordered by mean. The functionals of this law (pmf, cdf, mean, spread,
        majority probability) are what the data determine.
    llf : float
        Log-likelihood with binomial coefficients (without the penalty, when there is one).
    n_obs : float
        Debates with at least one vote.
    n_iter, n_reached_best : int
        Iterations of the winning start; how many starts came within 1e-6 of it.
    converged : bool
        Whether no step from the optimum promises more than the tolerance, whatever ended the search.
    boundary : tuple of str
        Which parameters sit on the boundary of their space, in words; empty for an interior fit.
    counts : Counts
        The data.
    settings : FitSettings
    """

    distribution: BetaBinomialMixture
    llf: float
    n_obs: float
    n_iter: int
    n_reached_best: int
    converged: bool
    boundary: tuple[str, ...]
    counts: Counts
    settings: FitSettings
    point: Floats = field(repr=False)
    """The optimum in the optimiser's coordinates, to start other fits from."""

    @classmethod
    def from_optimum(
        cls, counts: Counts, settings: FitSettings, optima: Optima, converged: NDArray[np.bool_], index: int
    ) -> MixtureFit:
        """Read one row of an optimiser's result."""
        space = Space(settings.n_components, settings.n_binomial)
        x = optima.x[index : index + 1]
        log_weight, mu, rho = (a[0] for a in space.split(x))
        if counts.trials.max() < 2:
            # Single votes determine the mean alone; any spread would be made up, so none is shown.
            mu, rho = np.full_like(mu, float(np.exp(log_weight) @ mu)), np.zeros_like(rho)
        order = np.argsort(mu, kind="stable")
        weight = np.exp(log_weight)[order]
        law = BetaBinomialMixture(weight / weight.sum(), mu[order], rho[order])
        held = np.arange(settings.n_components) < settings.n_binomial
        expected = counts.weights * np.log(np.maximum(_cell_probabilities(law, counts), 1e-300))
        return cls(
            distribution=law,
            llf=float(expected.sum()),
            n_obs=counts.n_obs,
            n_iter=int(optima.n_iter[index]),
            n_reached_best=int(optima.n_reached[index]),
            converged=bool(converged[index]),
            boundary=_boundary(law, held[order], counts),
            counts=counts,
            settings=settings,
            point=optima.x[index],
        )

    def __repr__(self) -> str:
        edge = f", boundary={self.boundary}" if self.boundary else ""
        return (
            f"MixtureFit(K={self.settings.n_components}, llf={self.llf:.6f}, n_obs={self.n_obs:g}, "
            f"mean={self.mean:.4f}, spread={self.spread:.4f}, converged={self.converged}{edge})"
        )

    # ---------------------------------------------------------------- the fitted law

    @property
    def panel(self) -> int:
        """Votes of a full panel (:attr:`d3stats.counts.Counts.panel`): the default `trials` of the functionals."""
        return self.counts.panel

    def _trials(self, trials: int | None) -> int:
        return self.panel if trials is None else integer("trials", trials, minimum=1)

    def pmf(self, trials: int | None = None) -> Floats:
        """Return P(S = s), s = 0..trials."""
        return self.distribution.pmf(self._trials(trials))

    def cdf(self, trials: int | None = None) -> Floats:
        """Return P(S <= s), s = 0..trials."""
        return self.distribution.cdf(self._trials(trials))

    def prob_majority(self, trials: int | None = None) -> float:
        """Return P(S > trials / 2)."""
        return float(self.distribution.prob_majority(self._trials(trials)))

    @property
    def mean(self) -> float:
        """The chance that a vote is correct."""
        return float(self.distribution.mean)

    @property
    def spread(self) -> float:
        """Standard deviation, between debates, of the chance that a vote is correct."""
        return float(self.distribution.spread)

    # ---------------------------------------------------------------- parameters

    @property
    def components(self) -> pd.DataFrame:
        """One row per component, ordered by mean: weight, mean, rho, precision, alpha, beta.

        Not identifiable in general: other components can have the same law.
        """
        law = self.distribution
        return pd.DataFrame(
            {
                "weight": law.weight,
                "mean": law.mu,
                "rho": law.rho,
                "precision": law.precision,
                "alpha": law.alpha,
                "beta": law.beta,
            },
            index=pd.RangeIndex(1, law.n_components + 1, name="component"),
        )

    @property
    def params(self) -> pd.Series:
        """Estimates as one series: weights (all but the last), means, correlations."""
        law = self.distribution
        return pd.Series(
            np.concatenate([law.weight[:-1], law.mu, law.rho]), index=_parameter_names(law.n_components)
        )

    @property
    def n_params(self) -> int:
        """Number of free parameters of the model."""
        return Space(self.settings.n_components, self.settings.n_binomial).n_free

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2.0 * self.n_params - 2.0 * self.llf

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return float(np.log(self.n_obs)) * self.n_params - 2.0 * self.llf

    @property
    def saturated_llf(self) -> float:
        """Log-likelihood of the observed shares themselves, separately for each number of trials."""
        total = 0.0
        for n in np.unique(self.counts.trials):
            w = self.counts.weights[self.counts.trials == n]
            total += float((w * np.log(w / w.sum())).sum())
        return total

    @property
    def information(self) -> Information:
        """Observed information at the estimates.

        Raises
        ------
        ValueError
            When the fit is on the boundary or the data do not determine the parameters: normal theory does
            not hold there, use the bootstrap.
        """
        if self.boundary:
            raise ValueError(
                "normal-theory errors need an interior fit; got "
                + "; ".join(self.boundary)
                + ". Use conf_int(kind='bootstrap') or a penalty"
            )
        s = self.settings
        return information(self.counts, self.point, Space(s.n_components, s.n_binomial), s.penalty)

    @property
    def bse(self) -> pd.Series:
        """Normal-theory standard errors of ``params``; raises as :attr:`information` does."""
        info = self.information
        return pd.Series(np.sqrt(np.diag(info.covariance)), index=self.params.index)

    def cov_params(self, parametrization: Literal["mean-rho", "alpha-beta"] = "mean-rho") -> pd.DataFrame:
        """Covariance of the estimates: weights, then (means, rhos) or (alphas, betas)."""
        choice("parametrization", parametrization, ("mean-rho", "alpha-beta"))
        info = self.information
        if parametrization == "mean-rho":
            return pd.DataFrame(info.covariance, index=self.params.index, columns=self.params.index)
        names = [n.replace("mean", "alpha").replace("rho", "beta") for n in self.params.index]
        return pd.DataFrame(info.alpha_beta_covariance(), index=names, columns=names)

    # ---------------------------------------------------------------- how sure

    def functionals(
        self,
        level: float = 0.95,
        kind: IntervalKind = "auto",
        *,
        trials: int | None = None,
        n_boot: int = 1000,
        rng: RngLike = None,
    ) -> pd.DataFrame:
        """What the data determine, with intervals: mean, spread and majority probability.

        Parameters
        ----------
        level : float
        kind : {"auto", "wald", "bootstrap"}
            Delta method (on the logit or log scale), or percentiles of a parametric bootstrap; "auto" takes
            the first for interior fits and the second otherwise.
        trials : int, optional
            Panel size of the majority; by default :attr:`panel`.

        Returns
        -------
        DataFrame
            Index ``mean, spread, P(S > n/2)`` (no spread when no debate has two votes); columns
            ``estimate, se, lower, upper, level, kind``.
        """
        probability("level", level, open_interval=True)
        choice("kind", kind, ("auto", "wald", "bootstrap"))
        n = self._trials(trials)
        if self.counts.trials.max() < 2:
            return self._functionals_of_single_votes(level, kind, n, n_boot, rng)
        if kind == "auto":
            kind = "wald" if self._has_information() else "bootstrap"
        if kind == "wald":
            return functionals_of.wald_table(self.distribution, self.information, n, level)
        return functionals_of.percentile_table(self.distribution, self.bootstrap(n_boot, rng=rng), n, level)

    def _functionals_of_single_votes(
        self, level: float, kind: IntervalKind, n: int, n_boot: int, rng: RngLike
    ) -> pd.DataFrame:
        """One vote a debate: the mean is determined, the spread is not and has no row."""
        if kind == "wald":
            self.information  # noqa: B018  (raises, and says why)
        draws = self.bootstrap(n_boot, rng=rng)
        return functionals_of.percentile_table(self.distribution, draws, n, level).drop(index="spread")

    def _has_information(self) -> bool:
        try:
            return self.information is not None
        except ValueError:
            return False

    def conf_int(
        self,
        level: float = 0.95,
        kind: IntervalKind = "auto",
        *,
        n_boot: int = 1000,
        rng: RngLike = None,
    ) -> pd.DataFrame:
        """Intervals for ``params``; columns ``lower, upper, level, kind``. Read them after ``functionals``."""
        probability("level", level, open_interval=True)
        choice("kind", kind, ("auto", "wald", "bootstrap"))
        if kind == "auto":
            kind = "wald" if self._has_information() else "bootstrap"
        if kind == "wald":
            from scipy.special import ndtri

            half = float(ndtri(0.5 + level / 2)) * self.bse
            frame = pd.DataFrame({"lower": self.params - half, "upper": self.params + half}).clip(0.0, 1.0)
            return frame.assign(level=level, kind="wald")
        draws = self.bootstrap(n_boot, rng=rng)
        table = np.concatenate([draws.weight[:, :-1], draws.mu, draws.rho], axis=1)
        lower, upper = np.quantile(table, [(1 - level) / 2, (1 + level) / 2], axis=0)
        frame = pd.DataFrame({"lower": lower, "upper": upper}, index=self.params.index)
        return frame.assign(level=level, kind=functionals_of.percentile_kind(n_boot))

    def bootstrap(self, n_boot: int = 1000, *, rng: RngLike = None, n_starts: int = 4) -> BetaBinomialMixture:
        """Refit to `n_boot` data sets drawn from this fit; return their laws as one batch."""
        return parametric_bootstrap(self, n_boot, rng=rng, n_starts=n_starts)

    # ---------------------------------------------------------------- for people

    def require_convergence(self) -> MixtureFit:
        """Return self, or raise :class:`ConvergenceError` with a numbered list of things to try."""
        if not self.converged:
            raise ConvergenceError(in_words.convergence_advice(self))
        return self

    def to_frame(self) -> pd.DataFrame:
        """Return observed and fitted shares by cell: successes, trials, observed, fitted."""
        frame = self.counts.to_frame().rename(columns={"weight": "debates"})
        of_size = frame.groupby("trials")["debates"].transform("sum")
        return frame.assign(
            observed=frame["debates"] / of_size, fitted=_cell_probabilities(self.distribution, self.counts)
        )

    def summary(self) -> str:
        """Return a page of text: functionals first, then components, then what is not identifiable."""
        return in_words.summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw observed and fitted shares of the panel size that most debates have."""
        from d3stats.plotting import plot_counts_by_round

        n = self.panel
        fitted = self.pmf(n)
        here = self.counts.trials == n
        observed = np.zeros(n + 1)
        observed[self.counts.successes[here]] = self.counts.weights[here] / self.counts.weights[here].sum()
        spread = np.sqrt(fitted * (1 - fitted) / self.counts.weights[here].sum())
        frame = pd.DataFrame(
            {
                "round": 1,
                "successes": np.arange(n + 1),
                "observed": observed,
                "fitted": fitted,
                "lower": np.maximum(fitted - 1.96 * spread, 0),
                "upper": np.minimum(fitted + 1.96 * spread, 1),
            }
        )
        drawn: Axes = plot_counts_by_round(frame, axes=None if ax is None else [ax]).ravel()[0]
        return drawn


def _cell_probabilities(law: BetaBinomialMixture, counts: Counts) -> Floats:
    from d3stats.models._likelihood import log_pmf

    edge = 1e-15
    cells = Cells.of(counts.successes, counts.trials)
    components = np.exp(log_pmf(np.clip(law.mu, edge, 1 - edge), np.minimum(law.rho, 1 - edge), cells))
    result: Floats = (law.weight[:, None] * components).sum(axis=0)
    return result


def _parameter_names(k: int) -> list[str]:
    return (
        [f"weight_{j}" for j in range(1, k)]
        + [f"mean_{j}" for j in range(1, k + 1)]
        + [f"rho_{j}" for j in range(1, k + 1)]
    )


def _boundary(law: BetaBinomialMixture, held: NDArray[np.bool_], counts: Counts) -> tuple[str, ...]:
    """Say which parameters are at an end of their range (those held there by the model are not meant)."""
    found = []
    for j in range(law.n_components):
        name = f"component {j + 1}" if law.n_components > 1 else "the component"
        if law.weight[j] < NEGLIGIBLE_WEIGHT:
            found.append(f"{name} has weight 0")
        if law.mu[j] <= CLOSED:
            found.append(f"{name} has mean 0")
        elif law.mu[j] >= 1 - CLOSED:
            found.append(f"{name} has mean 1")
        elif law.rho[j] <= 1e-12 and not held[j]:
            found.append(f"{name} is a Binomial (rho = 0)")
        elif law.rho[j] >= 1 - CLOSED:
            found.append(f"{name} is all-or-none (rho = 1)")
    if counts.trials.max(initial=0) < 2:
        found.append("no debate has two votes, so rho is undetermined")
    return tuple(found)
