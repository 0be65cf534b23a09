"""A fitted Beta-Binomial mixture: estimates, errors and intervals, convergence, and what the data do not determine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, number, probability
from d3stats._words import percent, points
from d3stats.counts import Counts
from d3stats.models.mixtures.climb import METHODS, Objective, Optima, Space, optimise
from d3stats.models.mixtures.law import CLOSED, BetaBinomialMixture, Cells
from d3stats.models.mixtures.profile import profile_limits
from d3stats.resampling.bootstrap import expanded_level, too_few_replicates
from d3stats.resampling.clusters import FEW_CLUSTERS, FEW_FOR_PERCENTILES, resampled_totals
from d3stats.resampling.degrees import effective_clusters
from d3stats.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ConvergenceError",
    "FitSettings",
    "MixtureFit",
    "parametric_bootstrap",
    "refit",
    "simulate_counts",
]

IntervalKind = Literal["auto", "questions", "wald", "bootstrap"]

FUNCTIONALS = ("mean", "spread", "P(S > n/2)")
NEGLIGIBLE_WEIGHT = 1e-6
SINGULAR = 1e-10
"""Reciprocal condition (of the correlation form) below which the curvature says nothing in some direction."""


class ConvergenceError(RuntimeError):
    """Raised by :meth:`MixtureFit.require_convergence` when a fit did not converge.

    Examples
    --------
    >>> from d3stats import fit_beta_binomial
    >>> fit = fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80], max_iter=1)
    >>> try:
    ...     fit.require_convergence()
    ... except ConvergenceError as error:
    ...     print(str(error).splitlines()[1])
    1. raise max_iter (now 1) or loosen tol (now 1e-10)
    """


@dataclass(frozen=True)
class FitSettings:
    """The settings of a fit; see :func:`~d3stats.models.mixtures.fit.fit_beta_binomial_mixture`.

    Attributes
    ----------
    n_components, n_binomial : int
        Components, and those of them that are Binomial.
    method : str
        How the likelihood was maximised.
    n_starts, max_iter : int
        Starts of the search, and the most iterations of each.
    tol : float
        The gain at which a search ends.
    penalty : float
        Weight of the penalty, 0 for maximum likelihood.

    Examples
    --------
    >>> from d3stats import fit_beta_binomial
    >>> fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80]).settings.n_components
    1
    """

    n_components: int
    n_binomial: int
    method: str
    n_starts: int
    max_iter: int
    tol: float
    penalty: float

    def __post_init__(self) -> None:
        for name, minimum in (("n_components", 1), ("n_binomial", 0), ("n_starts", 1), ("max_iter", 1)):
            object.__setattr__(self, name, integer(name, getattr(self, name), minimum=minimum))
        for name in ("tol", "penalty"):
            object.__setattr__(self, name, number(name, getattr(self, name), minimum=0.0))
        choice("method", self.method, METHODS)
        if self.n_binomial > self.n_components:
            got = f"n_binomial={self.n_binomial}, n_components={self.n_components}"
            raise ValueError(f"n_binomial must be <= n_components; got {got}")

    @property
    def space(self) -> Space:
        """The parameter space of the model."""
        return Space(self.n_components, self.n_binomial)


@dataclass(frozen=True, eq=False, repr=False)
class MixtureFit(Result):
    """A Beta-Binomial mixture fitted by maximum (penalised) likelihood.

    Attributes
    ----------
    distribution : BetaBinomialMixture
        The fitted law, components ordered by mean. Its functionals (pmf, cdf, mean, spread, majority probability) are
        what the data determine.
    llf : float
        Log-likelihood with binomial coefficients (without the penalty, when there is one).
    n_obs : float
        Debates with at least one vote.
    n_iter, n_reached_best : int
        Iterations of the winning start; how many starts came within 1e-6 of it.
    converged : bool
        Whether no step from the optimum has a predicted gain above the tolerance, for every end of the search.
    boundary : tuple of str
        Which parameters are on the boundary of their space, in words; empty for an interior fit.
    counts : Counts
        The data.
    settings : FitSettings
    point : ndarray
        The optimum in the optimiser's coordinates, to start other fits from.
    questions : (ndarray of int, ndarray of int) or None
        The row of `counts` and the question of each debate with a vote, where the fit is of a log
        (:func:`~d3stats.fit_rounds`): intervals then resample questions. None for a fit to counts, which have no
        questions: intervals and standard errors then take debates as independent.

    Examples
    --------
    >>> from d3stats import fit_beta_binomial
    >>> fit = fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80])
    >>> fit.pmf().round(3).tolist(), fit.cdf().round(3).tolist(), round(fit.prob_majority(), 3)
    ([0.101, 0.288, 0.379, 0.232], [0.101, 0.389, 0.768, 1.0], 0.611)
    >>> fit.params.round(3).to_dict(), fit.bse.round(3).to_dict()
    ({'mean_1': 0.581, 'rho_1': 0.087}, {'mean_1': 0.017, 'rho_1': 0.034})
    >>> fit.cov_params().shape, fit.require_convergence() is fit
    ((2, 2), True)
    >>> fit.functionals(kind="wald").loc["mean", ["low", "high"]].round(3).tolist()
    [0.547, 0.613]
    >>> fit.conf_int(kind="wald")[["low", "high"]].round(3).values.tolist()
    [[0.548, 0.614], [0.02, 0.153]]
    >>> fit.bootstrap(20, rng=1).mean.shape
    (20,)
    >>> fit.to_frame().round(3).values.tolist()[0]
    [0.0, 3.0, 32.0, 0.095, 0.101]
    >>> fit.plot().get_xlabel()
    'correct votes'
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
    point: Floats
    questions: tuple[Ints, Ints] | None = None

    @classmethod
    def _from_optimum(
        cls, counts: Counts, settings: FitSettings, optima: Optima, converged: NDArray[np.bool_], index: int
    ) -> MixtureFit:
        """Read one row of an optimiser's result."""
        log_weight, mu, rho = (a[0] for a in settings.space.split(optima.x[index : index + 1]))
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

    @property
    def components(self) -> pd.DataFrame:
        """One row per component, ordered by mean: weight, mean, rho, precision, alpha, beta.

        Not identifiable in general: other components can have the same law.
        """
        law = self.distribution
        columns = {"weight": law.weight, "mean": law.mu, "rho": law.rho}
        columns |= {"precision": law.precision, "alpha": law.alpha, "beta": law.beta}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, law.n_components + 1, name="component"))

    @property
    def params(self) -> pd.Series:
        """Estimates as one series: weights (all but the last), means, correlations."""
        law = self.distribution
        k = range(1, law.n_components + 1)
        names = [f"weight_{j}" for j in k][:-1] + [f"mean_{j}" for j in k] + [f"rho_{j}" for j in k]
        return pd.Series(np.concatenate([law.weight[:-1], law.mu, law.rho]), index=names)

    @property
    def n_params(self) -> int:
        """Number of free parameters of the model."""
        return self.settings.space.n_free

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
        trials = self.counts.keys[:, 1]
        by_size = (self.counts.weights[trials == n] for n in np.unique(trials))
        return sum(float((w * np.log(w / w.sum())).sum()) for w in by_size)

    @property
    def information(self) -> Information:
        """Observed information at the estimates, debates taken as independent.

        Refused on the boundary or where the curvature is flat.
        """
        if self.boundary:
            raise ValueError(
                f"normal-theory errors need an interior fit; got {'; '.join(self.boundary)}. "
                "Use conf_int(kind='bootstrap') or a penalty"
            )
        return information(self.counts, self.point, self.settings.space, self.settings.penalty)

    @property
    def bse(self) -> pd.Series:
        """Normal-theory standard errors of ``params``, debates taken as independent; raises as :attr:`information`."""
        info = self.information
        return pd.Series(np.sqrt(np.diag(info.covariance)), index=self.params.index)

    def cov_params(self, parametrization: Literal["mean-rho", "alpha-beta"] = "mean-rho") -> pd.DataFrame:
        """Return the covariance of the estimates: weights, then (means, rhos) or (alphas, betas)."""
        choice("parametrization", parametrization, ("mean-rho", "alpha-beta"))
        info = self.information
        if parametrization == "mean-rho":
            return pd.DataFrame(info.covariance, index=self.params.index, columns=self.params.index)
        names = [n.replace("mean", "alpha").replace("rho", "beta") for n in self.params.index]
        return pd.DataFrame(info.alpha_beta_covariance(), index=names, columns=names)

    def functionals(
        self,
        level: float = 0.95,
        kind: IntervalKind = "auto",
        *,
        trials: int | None = None,
        n_boot: int = 1000,
        rng: RngLike = None,
    ) -> pd.DataFrame:
        """Return mean, spread and majority probability, which the data determine, with intervals.

        Parameters
        ----------
        level : float
        kind : {"auto", "questions", "wald", "bootstrap"}
            Percentiles of refits to resampled questions, for a fit that has ``questions``. Or, with debates taken
            as independent, the delta method (on the logit or log scale), or percentiles of a parametric bootstrap.
            "auto" resamples questions where there are some; otherwise it takes the delta method for interior fits and
            the parametric bootstrap on the boundary. Resampled questions give no limits where those with the rarer
            vote are worth fewer than ten equal ones, and limits that reach further with fewer than 30.
        trials : int, optional
            Panel size of the majority; by default :attr:`panel`.
        n_boot : int
            Replicates of a bootstrap; the delta method has none.

        Returns
        -------
        DataFrame
            Index ``mean, spread, P(S > n/2)`` (no spread when no debate has two votes); columns
            ``estimate, se, low, high, level, kind``.
        """
        n = self._trials(trials)
        chosen = self._interval_kind(level, kind)
        if chosen == "wald":
            table = wald_table(self.distribution, self.information, n, level)
        else:
            draws, name = self._draws(chosen, n_boot, rng)
            worth = worth_of_questions(self) if chosen == "questions" else np.inf
            table = percentile_table(self.distribution, draws, n, level, name, worth)
        # One vote a debate determines the mean and not the spread.
        return table.drop(index="spread") if self.counts.trials.max() < 2 else table

    def _interval_kind(self, level: float, kind: IntervalKind) -> Literal["questions", "wald", "bootstrap"]:
        """Return the kind that is meant: questions where there are some, normal theory where it holds, else draws."""
        probability("level", level, open_interval=True)
        choice("kind", kind, ("auto", "questions", "wald", "bootstrap"))
        if kind == "questions" and self.questions is None:
            raise ValueError(
                "kind='questions' needs the fit of a log; got a fit to counts, which have no questions. "
                "fit_rounds(log)[round] has them"
            )
        if kind != "auto":
            return kind
        if self.questions is not None:
            return "questions"
        try:
            self.information  # noqa: B018  (raises where normal theory does not hold)
        except ValueError:
            return "bootstrap"
        return "wald"

    def _draws(
        self, kind: Literal["questions", "bootstrap"], n_boot: int, rng: RngLike
    ) -> tuple[BetaBinomialMixture, str]:
        """Return the laws refitted to replicates, and the name of their intervals."""
        if kind == "bootstrap" or self.questions is None:
            return self.bootstrap(n_boot, rng=rng), f"parametric bootstrap percentile, {n_boot} replicates"
        integer("n_boot", n_boot, minimum=2)
        cell, question = self.questions
        _, index = np.unique(question, return_inverse=True)
        n_questions, width = int(index.max()) + 1, len(self.counts)
        if n_questions < 2:
            raise ValueError(
                "the fit must be of at least 2 questions for intervals, because questions are resampled; got "
                f"{n_questions}. kind='bootstrap' takes its debates as independent"
            )
        totals = np.bincount(index * width + cell, minlength=n_questions * width).astype(np.float64)
        sets = resampled_totals(totals.reshape(n_questions, width), n_boot, rng)
        cells = Cells.of(*self.counts.keys.T)
        return refit(self, cells, sets), question_kind(n_boot)

    def conf_int(
        self,
        level: float = 0.95,
        kind: IntervalKind | Literal["profile"] = "auto",
        *,
        n_boot: int = 1000,
        rng: RngLike = None,
    ) -> pd.DataFrame:
        """Return intervals for ``params``: ``low, high, level, kind``, by the kinds of :meth:`functionals`.

        For one component there is also "profile", the profile likelihood, which holds its level near 0 and 1. "auto"
        takes it where debates are independent. Read the limits of several components after ``functionals``,
        because components are not identifiable.
        """
        choice("kind", kind, ("auto", "questions", "profile", "wald", "bootstrap"))
        used = self.settings
        one = used.n_components == 1 and not used.n_binomial and used.penalty == 0
        if kind == "profile" and not one:
            got = f"{used.n_components} components, {used.n_binomial} Binomial, penalty {used.penalty:g}"
            raise ValueError(f"kind must not be 'profile' unless one Beta-Binomial is fitted; got {got}")
        if kind == "profile" or (kind == "auto" and one and self.questions is None):
            level = probability("level", level, open_interval=True)
            ends = profile_limits(
                self.counts, float(self.params["mean_1"]), float(self.params["rho_1"]), level
            )
            frame = pd.DataFrame(ends, columns=["low", "high"], index=self.params.index)
            return frame.assign(level=level, kind="profile likelihood")
        chosen = self._interval_kind(level, kind)
        if chosen == "wald":
            from scipy.special import ndtri

            half = float(ndtri(0.5 + level / 2)) * self.bse
            frame = pd.DataFrame({"low": self.params - half, "high": self.params + half}).clip(0.0, 1.0)
            return frame.assign(level=level, kind="wald")
        draws, name = self._draws(chosen, n_boot, rng)
        table = np.concatenate([draws.weight[:, :-1], draws.mu, draws.rho], axis=1)
        low, high = np.full((2, table.shape[1]), np.nan)
        if not too_few_replicates(len(table), level):
            low, high = percentiles(table, level)
        frame = pd.DataFrame({"low": low, "high": high}, index=self.params.index)
        return frame.assign(level=level, kind=name)

    def bootstrap(self, n_boot: int = 1000, *, rng: RngLike = None, n_starts: int = 4) -> BetaBinomialMixture:
        """Refit to `n_boot` data sets of independent debates drawn from this fit; return their laws as one batch."""
        return parametric_bootstrap(self, n_boot, rng=rng, n_starts=n_starts)

    def require_convergence(self) -> MixtureFit:
        """Return self, or raise :class:`ConvergenceError` with a numbered list of things to try."""
        if not self.converged:
            raise ConvergenceError(convergence_advice(self))
        return self

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # derived from the fit
        """The parts of this fit that are not identifiable or not regular, one sentence each."""
        return tuple(cautions(self))

    @property
    def headline(self) -> str:
        """The chance of a right vote and how much debates differ in it."""
        done = "" if self.converged else " The fit did not converge."
        return (
            f"Votes are right {percent(self.mean)} on average, and this chance has a standard deviation of "
            f"{points(self.spread, sign=False)} between debates.{done}"
        )

    def _title(self) -> str:
        s = self.settings
        model = f"mixture of {s.n_components} Beta-Binomials" if s.n_components > 1 else "Beta-Binomial"
        if s.n_binomial:
            model += f", {s.n_binomial} held at the Binomial"
        estimate = f"posterior mode, penalty {s.penalty:g}" if s.penalty else "maximum likelihood"
        return f"{model} by {estimate} ({s.method})"

    def _tables(self) -> dict[str, pd.DataFrame]:
        functionals = self._summary_functionals()[1]
        return {"shares": self.to_frame(), "functionals": functionals, "components": self.components}

    def _summary_functionals(self) -> tuple[str, pd.DataFrame]:
        """Return how the intervals were made, and the table."""
        try:
            # seeded: the page of one fit reads the same twice
            table = self.functionals(rng=0)
        except ValueError as problem:  # debates in parts cannot be resampled
            values = functional_values(self.distribution, self.panel)
            return f"no intervals: {problem}", pd.DataFrame({"estimate": values}, index=pd.Index(FUNCTIONALS))
        how = f"{100 * table['level'].iloc[0]:g} % intervals, {table['kind'].iloc[0]}"
        return how, table[["estimate", "se", "low", "high"]]

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return observed and fitted shares by cell (successes, trials, observed, fitted), or another table."""
        if table is not None:
            return super().to_frame(table)
        frame = self.counts.to_frame().rename(columns={"weight": "debates"})
        of_size = frame.groupby("trials")["debates"].transform("sum")
        fitted = _cell_probabilities(self.distribution, self.counts)
        return frame.assign(observed=frame["debates"] / of_size, fitted=fitted)

    def summary(self) -> str:
        """Return a page of text: functionals first, then components, then what is not identifiable."""
        how, table = self._summary_functionals()
        lines = [
            self.headline,
            self._title(),
            f"debates {self.n_obs:g}   log-likelihood {self.llf:z.4f}   AIC {self.aic:z.2f}   BIC {self.bic:z.2f}",
            f"starts that reached the best optimum: {self.n_reached_best} of {self.settings.n_starts}   "
            f"iterations {self.n_iter}   converged: {'yes' if self.converged else 'NO'}",
            "",
            f"Quantities that the data determine (panel of {self.panel}; {how}):",
            table.to_string(float_format=lambda v: f"{v:z.4f}"),
            "",
            "Components (ordered by mean):",
            self.components.to_string(float_format=lambda v: f"{v:.4g}"),
        ]
        if self.notes:
            lines += ["", "Read with care:", *(f"- {note}" for note in self.notes)]
        if not self.converged:
            lines += ["", convergence_advice(self)]
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw observed and fitted shares of the full panel.

        The band is where the observed shares of as many independent debates would fall if the fit were true, with
        probability `level` each (normal approximation).
        """
        from scipy.special import ndtri

        from d3stats.plotting import plot_counts_by_round

        probability("level", level, open_interval=True)
        n, fitted, z = self.panel, self.pmf(), float(ndtri(0.5 + level / 2))
        spread = np.sqrt(fitted * (1 - fitted) / self.counts.weights[self.counts.trials == n].sum())
        frame = pd.DataFrame(
            {
                "round": 1,
                "successes": np.arange(n + 1),
                "observed": observed_shares(self.counts, n),
                "fitted": fitted,
                "low": np.maximum(fitted - z * spread, 0),
                "high": np.minimum(fitted + z * spread, 1),
            }
        )
        drawn: Axes = plot_counts_by_round(frame, axes=None if ax is None else [ax]).ravel()[0]
        return drawn


def observed_shares(counts: Counts, trials: int) -> Floats:
    """Return the shares of 0..trials right votes among the debates with so many votes, shape (trials + 1,)."""
    here, shares = counts.trials == trials, np.zeros(trials + 1)
    shares[counts.keys[here, 0]] = counts.weights[here] / counts.weights[here].sum()
    return shares


def _cell_probabilities(law: BetaBinomialMixture, counts: Counts) -> Floats:
    components = law.component_probabilities(Cells.of(*counts.keys.T))
    return np.asarray((law.weight[:, None] * components).sum(axis=0))


def _boundary(law: BetaBinomialMixture, held: NDArray[np.bool_], counts: Counts) -> tuple[str, ...]:
    """Say which parameters are at an end of their range (those held there by the model are not meant)."""
    found = []
    for j, (weight, mu, rho) in enumerate(zip(law.weight, law.mu, law.rho, strict=True)):
        name = f"component {j + 1}" if law.n_components > 1 else "the component"
        if weight < NEGLIGIBLE_WEIGHT:
            found.append(f"{name} has weight 0")
        if mu <= CLOSED or mu >= 1 - CLOSED:
            found.append(f"{name} has mean {round(mu)}")
        elif rho <= 1e-12 and not held[j]:
            found.append(f"{name} is a Binomial (rho = 0)")
        elif rho >= 1 - CLOSED:
            found.append(f"{name} is all-or-none (rho = 1)")
    if counts.trials.max(initial=0) < 2:
        found.append("no debate has two votes, so rho is undetermined")
    return tuple(found)


def functional_values(law: BetaBinomialMixture, trials: int) -> Floats:
    """Return the functionals on the last axis, shape (..., 3)."""
    return np.stack([law.mean, law.spread, law.prob_majority(trials)], axis=-1)


def wald_table(law: BetaBinomialMixture, info: Information, trials: int, level: float) -> pd.DataFrame:
    """Return the functionals with delta-method limits, on the logit scale and (the spread) on the log scale."""
    from scipy.special import expit, logit, ndtri

    estimate = functional_values(law, trials)
    gradient = _gradient(info, trials)
    se = np.sqrt(np.einsum("fp,pq,fq->f", gradient, info.covariance, gradient))
    z = float(ndtri(0.5 + level / 2))
    low, high = np.empty(3), np.empty(3)
    for i in (0, 2):
        p = np.clip(estimate[i], 1e-12, 1 - 1e-12)
        half = z * se[i] / (p * (1 - p))
        low[i], high[i] = expit(logit(p) - half), expit(logit(p) + half)
    ratio = np.exp(z * se[1] / estimate[1])
    low[1], high[1] = estimate[1] / ratio, estimate[1] * ratio
    return _table(estimate, se, low, high, level, "wald")


def percentile_table(
    law: BetaBinomialMixture,
    draws: BetaBinomialMixture,
    trials: int,
    level: float,
    kind: str,
    worth: float = np.inf,
) -> pd.DataFrame:
    """Return the functionals with percentiles of their bootstrap `draws`, an interval of that `kind`.

    `worth` is how many equal questions hold the rarer vote, where questions were resampled; with fewer than ten there
    are no limits.
    """
    values, estimate = functional_values(draws, trials), functional_values(law, trials)
    low, high, se = np.full((3, len(FUNCTIONALS)), np.nan)
    if worth < FEW_CLUSTERS:
        return _table(estimate, se, low, high, level, kind)
    if len(values) > 1:
        se = values.std(axis=0, ddof=1)
    if not too_few_replicates(len(values), level):
        low, high = percentiles(values, level if np.isinf(worth) else expanded_level(level, worth))
        if worth < FEW_FOR_PERCENTILES:
            low, high = _with_long_sides(low, high, estimate, se, level, worth)
    return _table(estimate, se, low, high, level, kind)


def percentiles(replicates: Floats, level: float) -> Floats:
    """Return both limits at the ranks (n + 1) (1 - level) / 2 from either end, so that few draws reach far enough.

    Interpolated quantiles of 100 draws hold .93 at 95 %, because their ranks count from the first draw to the last.
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    return np.quantile(replicates, tails, axis=0, method="weibull")


def worth_of_questions(fit: MixtureFit) -> float:
    """Return how many equal questions hold the rarer vote of a fit to a log."""
    if fit.questions is None:
        return np.inf
    cell, question = fit.questions
    codes = np.unique(question, return_inverse=True)[1]
    return worth_of_rarer_votes(fit.counts.keys[cell, 0], fit.counts.keys[cell, 1], codes)[1]


def _with_long_sides(
    low: Floats, high: Floats, estimate: Floats, se: Floats, level: float, worth: float
) -> tuple[Floats, Floats]:
    """Move the limits on the long sides of the functionals: chances towards one half, the spread up.

    With few wrong votes a sample with fewer of them than expected has a chance too near 1, a spread too small and
    replicates that vary too little. Limits there are at least those of Student's t on the scale of the logit or of the
    logarithm. The steps are cut where the scale has no meaning: a spread near 0, a chance near 0 or 1.
    """
    from scipy.special import expit, logit, stdtrit

    t = float(stdtrit(worth - 1, (1 + level) / 2)) * np.sqrt(worth / (worth - 1))
    low, high = low.copy(), high.copy()
    for j, name in enumerate(FUNCTIONALS):
        value, step = float(estimate[j]), t * float(se[j])
        if name == "spread" and value > 0:
            high[j] = min(max(high[j], value * np.exp(min(step / value, 1.0))), 0.5)
        elif name != "spread" and 0 < value < 1:
            at, step = float(logit(value)), min(step / (value * (1 - value)), 3.0)
            if value > 0.5:
                low[j] = min(low[j], expit(at - step))
            else:
                high[j] = max(high[j], expit(at + step))
    return low, high


def worth_of_rarer_votes(successes: Ints, trials: Ints, cluster: Ints) -> tuple[str, float]:
    """Return which votes are rarer, "wrong" or "right", and how many equal questions those that hold one are worth."""
    right = 2 * successes.sum() > trials.sum()
    rarer = (trials - successes if right else successes) > 0
    debates, held = np.bincount(cluster, trials > 0), np.bincount(cluster, rarer)
    worth = effective_clusters(debates) * float(debates[held > 0].sum()) / float(debates.sum())
    return "wrong" if right else "right", worth


def question_kind(n_boot: int) -> str:
    """Name the intervals that come from refits to resampled questions."""
    return f"question bootstrap percentile, refitted, {n_boot} replicates"


def _gradient(info: Information, trials: int) -> Floats:
    """Differentiate the functionals in (weights, means, correlations) by central differences."""
    k, x = info.n_components, info.point

    def value(point: Floats) -> Floats:
        weight = np.append(point[: k - 1], 1.0 - point[: k - 1].sum())
        law = BetaBinomialMixture(weight, point[k - 1 : 2 * k - 1], point[2 * k - 1 :])
        return functional_values(law, trials)

    gradient = np.zeros((len(FUNCTIONALS), len(x)))
    for j, h in enumerate(1e-6 * np.minimum(x, 1.0 - x)):
        if h > 0:
            e = h * (np.arange(len(x)) == j)
            gradient[:, j] = (value(x + e) - value(x - e)) / (2 * h)
    return gradient


def _table(estimate: Floats, se: Floats, low: Floats, high: Floats, level: float, kind: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"estimate": estimate, "se": se, "low": low, "high": high, "level": level, "kind": kind},
        index=pd.Index(FUNCTIONALS, name="functional"),
    )


@dataclass(frozen=True)
class Information:
    """Covariance of (weights but the last, means, correlations) at ``point``; 0 where the model holds them fixed."""

    point: Floats
    covariance: Floats
    n_components: int

    def alpha_beta_covariance(self) -> Floats:
        """Return the covariance of (weights, alphas, betas) by the delta method."""
        k = self.n_components
        mu, rho = self.point[k - 1 : 2 * k - 1], self.point[2 * k - 1 :]
        if (rho <= 0).any():
            raise ValueError("alpha and beta need rho > 0 in every component; got a Binomial component")
        jacobian = np.eye(3 * k - 1)
        for j in range(k):
            m, r = k - 1 + j, 2 * k - 1 + j
            precision = 1.0 / rho[j] - 1.0
            jacobian[m, m], jacobian[m, r] = precision, -mu[j] / rho[j] ** 2
            jacobian[r, m], jacobian[r, r] = -precision, -(1 - mu[j]) / rho[j] ** 2
        return np.asarray(jacobian @ self.covariance @ jacobian.T)


def information(counts: Counts, x: Floats, space: Space, penalty: float) -> Information:
    """Invert the Hessian at an interior optimum `x`; refused where it is not positive definite to working precision."""
    k = space.n_components
    objective = Objective(Cells.of(*counts.keys.T), space, penalty)
    _, _, hess = objective.derivatives(x[None], counts.weights[None])
    free = np.ones(space.size, dtype=bool)
    free[2 * k - 1 : 2 * k - 1 + space.n_binomial] = False
    curvature = -hess[0][np.ix_(free, free)]
    scale = np.sqrt(np.maximum(np.diag(curvature), 0.0))
    definite = bool((scale > 0).all())
    if definite:
        values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    if not definite or not values[0] > SINGULAR * values[-1]:
        raise ValueError(
            "normal-theory errors need a positive definite curvature; got a flat direction, so the data do "
            "not determine the components. Use conf_int(kind='bootstrap') or fewer components"
        )
    inverse = (vectors / values) @ vectors.T / np.outer(scale, scale)
    full = np.zeros((space.size, space.size))
    full[np.ix_(free, free)] = inverse

    # softmax coordinates to weights, then components into the order of their means
    log_weight, mu, rho = (a[0] for a in space.split(x[None]))
    w = np.exp(log_weight)
    softmax = np.diag(w) - np.outer(w, w)
    to_natural = np.zeros((3 * k, space.size))
    to_natural[:k, : k - 1] = softmax[:, : k - 1]
    to_natural[k:, k - 1 :] = np.eye(2 * k)
    order = np.argsort(mu, kind="stable")
    rows = np.concatenate([order[:-1], k + order, 2 * k + order])
    jacobian = to_natural[rows]
    point = np.concatenate([w, mu, rho])[rows]
    return Information(point, jacobian @ full @ jacobian.T, k)


def simulate_counts(
    law: BetaBinomialMixture, counts: Counts, n_sets: int, rng: RngLike = None
) -> tuple[Cells, Floats]:
    """Draw data sets with the same numbers of debates per number of trials; fractional numbers are refused.

    Returns the cells, every outcome of every number of trials, and the weights, shape (n_sets, cells).

    Parameters
    ----------
    law : BetaBinomialMixture
        What is drawn from.
    counts : Counts
        Whose numbers of debates per number of trials are kept.
    n_sets : int
        Number of data sets.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    tuple of (Cells, ndarray of float, shape (n_sets, cells))

    Examples
    --------
    >>> from d3stats import Counts, BetaBinomialMixture
    >>> law = BetaBinomialMixture.from_alpha_beta([1.0], [6.0], [4.0])
    >>> cells, weights = simulate_counts(law, Counts.from_columns([0, 3], [3, 3], weights=[50, 50]), 2, rng=1)
    >>> weights.tolist()
    [[9.0, 35.0, 37.0, 19.0], [14.0, 24.0, 38.0, 24.0]]
    """
    generator = as_rng(rng)
    sizes, at = np.unique(counts.keys[:, 1], return_inverse=True)
    totals = np.bincount(at, weights=counts.weights)
    if not np.allclose(totals, np.rint(totals), rtol=1e-12, atol=1e-9):
        raise ValueError(f"weights must add up to whole debates to be resampled; got {totals.tolist()}")
    draws = []
    for n, total in zip(sizes, totals, strict=True):
        pmf = law.pmf(int(n))
        draws.append(generator.multinomial(round(total), pmf / pmf.sum(), size=n_sets))
    return Cells.of(*all_outcomes(sizes)), np.concatenate(draws, axis=1).astype(np.float64)


def all_outcomes(sizes: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the successes and trials of every outcome 0..n of each panel size, one size after another."""
    successes, trials = zip(*((np.arange(n + 1), np.full(n + 1, n)) for n in sizes), strict=True)
    return np.concatenate(successes), np.concatenate(trials)


def parametric_bootstrap(
    fit: MixtureFit, n_boot: int = 1000, *, rng: RngLike = None, n_starts: int = 4
) -> BetaBinomialMixture:
    """Refit the same model to `n_boot` data sets drawn from the fit; return the laws as one batch.

    Parameters
    ----------
    fit : MixtureFit
        The fit that data sets are drawn from.
    n_boot : int
        Number of data sets.
    rng : Generator, int or None
        Source of randomness.
    n_starts : int
        Starts of each search, the optimum of `fit` among them.

    Returns
    -------
    BetaBinomialMixture
        A batch of `n_boot` laws.

    Examples
    --------
    >>> from d3stats import fit_beta_binomial
    >>> fit = fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80])
    >>> parametric_bootstrap(fit, 50, rng=1).mean.std().round(3).item()
    0.015
    """
    integer("n_boot", n_boot, minimum=2)
    cells, weights = simulate_counts(fit.distribution, fit.counts, n_boot, rng)
    return refit(fit, cells, weights, n_starts=n_starts)


def refit(fit: MixtureFit, cells: Cells, weights: Floats, *, n_starts: int = 4) -> BetaBinomialMixture:
    """Fit the model of `fit` to other data sets, starting from its optimum among others; one batch of laws.

    Parameters
    ----------
    fit : MixtureFit
        The model, and where searches start.
    cells : Cells
        The cells that all data sets share.
    weights : ndarray of float, shape (data sets, cells)
        How many debates of each data set are in each cell.
    n_starts : int
        Starts of each search, the optimum of `fit` among them.

    Returns
    -------
    BetaBinomialMixture
        A batch, one law per data set.

    Examples
    --------
    >>> from d3stats import fit_beta_binomial
    >>> fit = fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80])
    >>> cells, weights = simulate_counts(fit.distribution, fit.counts, 2, rng=1)
    >>> refit(fit, cells, weights).mean.round(3).tolist()
    [0.577, 0.573]
    """
    s = fit.settings
    found = optimise(
        cells, weights, s.space, n_starts=n_starts, penalty=s.penalty, tol=s.tol, first=fit.point
    )
    return s.space.law(found.x)


def cautions(fit: MixtureFit) -> list[str]:
    """Say what is not identifiable or not regular about this fit."""
    notes = []
    if fit.questions is None:
        notes.append(
            "Intervals take debates as independent, because counts do not tell which debates share a question. "
            "If questions repeat, the intervals are too narrow; fit_rounds(log) resamples questions."
        )
    if fit.boundary:
        source = "the parametric bootstrap" if fit.questions is None else "resampled questions"
        notes.append(
            f"On the boundary: {'; '.join(fit.boundary)}. Normal-theory errors do not hold; "
            f"intervals come from {source}."
        )
    seen, s = fit.counts, fit.settings
    if (seen.successes == 0).all() or (seen.successes == seen.trials).all():
        units, unit = (
            (fit.n_obs, "debate") if fit.questions is None else (len(np.unique(fit.questions[1])), "question")
        )
        notes.append(
            "All votes in the data agree, so a bootstrap has no variation and its intervals have width 0. "
            f"{units:g} {unit}s without an exception exclude, at 95 %, a share of exceptional {unit}s above "
            f"{1 - 0.05 ** (1 / units):.3g} (exact binomial bound)."
        )
    largest, needed = int(seen.trials.max()), 3 * s.n_components - 1
    if largest < 2:
        notes.append(
            "No debate has two votes, so only the mean is determined. The spread is not estimated but set "
            "to 0."
        )
    if s.n_components > 1:
        notes.append(
            "Components only describe the data, because other weights and Beta parameters give the same law "
            "(for example Beta(a, b) = a/(a+b) Beta(a+1, b) + b/(a+b) Beta(a, b+1)). A weight is "
            "therefore not a share of any kind of debate. Use the functionals instead."
        )
    if s.n_components > 1 and largest < needed:
        panels = f"Panels of at most {largest} votes determine {largest} numbers"
        notes.append(f"{panels}; this model has {fit.n_params} parameters.")
    gap = fit.saturated_llf - fit.llf
    if gap < 2.0:
        notes.append(
            f"The observed shares themselves are only {gap:z.2f} log-likelihood units better, so "
            "the data cannot separate this model from others with a similar fit."
        )
    if fit.n_reached_best == 1 and s.n_starts > 1:
        notes.append("Only one start reached this optimum, so a better one may exist. Try more starts.")
    return notes


def convergence_advice(fit: MixtureFit) -> str:
    """Return a numbered list of things to try."""
    s = fit.settings
    newton, em = "use method='newton', which converges quadratically", "try method='em', another optimiser"
    steps = [
        f"raise max_iter (now {s.max_iter}) or loosen tol (now {s.tol:g})",
        em if s.method == "newton" else newton,
        f"raise n_starts (now {s.n_starts})",
        "fit fewer components, or hold one at the Binomial (n_binomial=1), because the likelihood may be "
        "flat",
        "add a small penalty (penalty=0.1), which keeps the maximum away from the boundary",
    ]
    listed = (f"{i}. {step}" for i, step in enumerate(steps, start=1))
    return "\n".join(["The fit did not converge. Things to try:", *listed])
