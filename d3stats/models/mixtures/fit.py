"""Maximum likelihood fits of a Beta-Binomial, or of a mixture of them, to counts of correct votes.

The likelihood has several maxima, a supremum that often lies on the boundary (a component becomes a Binomial),
and directions in which it hardly changes. So every fit starts from many points and says how many agreed,
represents the boundary exactly and flags it, and reports functionals of the fitted law before components.

References
----------
Skellam (1948), J. R. Stat. Soc. B 10, 257 (the Beta-Binomial). Griffiths (1973), Biometrics 29, 637 (maximum
likelihood). Smith (1983), Appl. Stat. 32, 196 (AS 189: counts as sufficient statistics for varying trials).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer
from d3stats._words import counted, percent, said_p
from d3stats.counts import CellColumn, Counts, bare
from d3stats.models.mixtures.climb import Method, Objective, Optima, optimise, settled
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells
from d3stats.models.mixtures.result import FitSettings, MixtureFit, simulate_counts
from d3stats.result import Result

__all__ = [
    "LikelihoodRatioTest",
    "MixtureBatch",
    "fit_beta_binomial",
    "fit_beta_binomial_mixture",
    "fit_beta_binomial_mixture_batch",
    "likelihood_ratio_test",
]

NullFamily = Literal["beta-binomial", "binomial"]


def fit_beta_binomial(
    successes: ArrayLike | Counts,
    trials: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    method: Method = "newton",
    n_starts: int = 5,
    max_iter: int | None = None,
    tol: float = 1e-10,
    penalty: float = 0.0,
    rng: RngLike = None,
) -> MixtureFit:
    """Fit one Beta-Binomial: :func:`fit_beta_binomial_mixture` with one component.

    Parameters
    ----------
    successes : array of int, or Counts
        Correct votes of each debate or cell.
    trials, weights : array
        Votes cast, and the number of debates that each entry represents. Other parameters as in
        :func:`fit_beta_binomial_mixture`.

    Returns
    -------
    MixtureFit

    Examples
    --------
    >>> fit = fit_beta_binomial([0, 1, 2, 3], 3, weights=[32, 103, 122, 80])
    >>> round(fit.llf, 4), round(float(fit.distribution.alpha[0]), 3)
    (-436.813, 6.12)
    """
    return fit_beta_binomial_mixture(
        successes,
        trials,
        weights,
        n_components=1,
        method=method,
        n_starts=n_starts,
        max_iter=max_iter,
        tol=tol,
        penalty=penalty,
        rng=rng,
    )


def fit_beta_binomial_mixture(
    successes: ArrayLike | Counts,
    trials: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_components: int = 2,
    n_binomial: int = 0,
    method: Method = "newton",
    n_starts: int = 30,
    max_iter: int | None = None,
    tol: float = 1e-10,
    penalty: float = 0.0,
    rng: RngLike = None,
) -> MixtureFit:
    """Fit a mixture of `n_components` Beta-Binomials by maximum (penalised) likelihood, from many starting points.

    Counts do not tell which debates share a question, so standard errors and intervals take debates as independent. If
    questions repeat, they are too narrow; :func:`~d3stats.fit_rounds` takes a log and resamples its questions.

    Parameters
    ----------
    successes : array of int, shape (rows,), or Counts
        Correct votes of each debate (or cell). A :class:`~d3stats.counts.Counts` carries all three arrays.
    trials : int or array of int, shape (rows,)
        Votes cast. They may vary: a missing vote is one trial less.
    weights : array of float, shape (rows,), optional
        The number of debates that each row represents.
    n_components : int
        K >= 1.
    n_binomial : int
        How many of the components are held at ``rho = 0``: 1 of 2 is "Beta-Binomial plus Binomial", 2 of 2
        is the two-Binomial mixture.
    method : {"newton", "em"}
        Damped Newton in a box (the faster, and the more often at the best optimum), or accelerated EM.
    n_starts : int
        Starting points; the result says how many reached the best optimum.
    max_iter : int, optional
        Iterations per start; 500, or 20000 for EM.
    tol : float
        The fit has converged when no step from its optimum has a predicted gain above ``tol * (1 + |llf|)`` or 1e-8,
        whichever is larger.
    penalty : float
        0 is maximum likelihood; ``penalty > 0`` gives the posterior mode under independent
        Beta(1 + penalty, 1 + penalty) priors on weights, means and correlations, which is always interior.
    rng : Generator, int or None
        Random starting points; None takes a fixed well-spread set, so that the fit is deterministic.

    Returns
    -------
    MixtureFit

    Raises
    ------
    ValueError
        When no debate has a vote, successes exceed trials, a weight is negative, or a value is not finite.

    Examples
    --------
    >>> fit = fit_beta_binomial_mixture(range(8), 7, weights=[96, 58, 41, 38, 45, 62, 98, 182])
    >>> round(fit.llf, 5), fit.boundary
    (-1198.63115, ())
    """
    counts = counts_of(successes, trials, weights)
    max_iter = _longest(max_iter, method)
    settings = FitSettings(n_components, n_binomial, method, n_starts, max_iter, tol, penalty)
    found, converged = _optimise(Cells.of(*counts.keys.T), counts.weights[None], settings, rng)
    return MixtureFit._from_optimum(counts, settings, found, converged, 0)


@dataclass(frozen=True, eq=False)
class MixtureBatch(Result):
    """The fits of many data sets that share their cells.

    Attributes
    ----------
    successes, trials : CellColumn, shape (cells,)
    weights : ndarray, shape (data sets, cells)
    distribution : BetaBinomialMixture
        Batch of shape (data sets, K), components ordered by mean.
    converged : ndarray of bool, shape (data sets,)
    settings : FitSettings

    Examples
    --------
    >>> batch = fit_beta_binomial_mixture_batch(range(4), 3, [[3, 5, 9, 4], [8, 1, 1, 8]], n_components=1)
    >>> batch.llf.round(3).tolist(), batch.converged.tolist()
    ([-27.607, -18.756], [True, True])
    """

    successes: CellColumn
    trials: CellColumn
    weights: Floats
    distribution: BetaBinomialMixture
    converged: NDArray[np.bool_]
    settings: FitSettings
    _optima: Optima

    @property
    def llf(self) -> Floats:
        """Log-likelihood of each data set (with the penalty, when there is one)."""
        return self._optima.value

    @property
    def n_iter(self) -> NDArray[np.int64]:
        """Iterations of each winning start."""
        return self._optima.n_iter

    @property
    def n_reached_best(self) -> NDArray[np.int64]:
        """The number of starts that came within 1e-6 of the best optimum."""
        return self._optima.n_reached

    def __len__(self) -> int:
        return len(self.llf)

    def __getitem__(self, index: int) -> MixtureFit:
        """Return one data set's fit with all its methods."""
        counts = Counts.from_columns(self.successes, self.trials, weights=self.weights[index])
        return MixtureFit._from_optimum(counts, self.settings, self._optima, self.converged, index)

    @property
    def headline(self) -> str:
        """The answer, how many fits ended, and the range of their means."""
        means = self.distribution.mean
        return (
            f"{int(self.converged.sum())} of {counted(len(self), 'fit')} converged; means from "
            f"{percent(float(means.min()))} to {percent(float(means.max()))}."
        )

    def _title(self) -> str:
        k = self.settings.n_components
        return f"{len(self)} data sets, each fitted by {k} Beta-Binomial components ({self.settings.method})"

    def _tables(self) -> dict[str, pd.DataFrame]:
        law, names = self.distribution, ("llf", "mean", "spread", "n_iter", "n_reached_best", "converged")
        values = (self.llf, law.mean, law.spread, self.n_iter, self.n_reached_best, self.converged)
        return {"data sets": pd.DataFrame(dict(zip(names, values, strict=True)))}


def fit_beta_binomial_mixture_batch(
    successes: ArrayLike,
    trials: ArrayLike,
    weights: ArrayLike,
    *,
    n_components: int = 2,
    n_binomial: int = 0,
    method: Method = "newton",
    n_starts: int = 30,
    max_iter: int | None = None,
    tol: float = 1e-10,
    penalty: float = 0.0,
    rng: RngLike = None,
) -> MixtureBatch:
    """Fit many data sets that share their cells in one call: bootstrap replicates, rounds, logs.

    Parameters
    ----------
    successes, trials : array of int, shape (cells,)
        The cells; a cell that a data set lacks has weight 0 there.
    weights : array of float, shape (data sets, cells)
        Other parameters and errors as in :func:`fit_beta_binomial_mixture`; each data set has some weight.

    Returns
    -------
    MixtureBatch

    Examples
    --------
    >>> batch = fit_beta_binomial_mixture_batch(range(4), 3, [[3, 5, 9, 4], [8, 1, 1, 8]], n_components=1)
    >>> batch.distribution.mean.round(3).tolist()
    [0.555, 0.5]
    """
    table = np.asarray(weights, dtype=np.float64)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"weights must have shape (data sets, cells); got shape {table.shape}")
    pairs = counts_of(successes, trials, np.ones(table.shape[1]), keep_all=True)
    if len(pairs) != table.shape[1]:
        one_each = f"one per column of weights ({table.shape[1]})"
        raise ValueError(f"cells must be distinct, with trials >= 1, {one_each}; got {len(pairs)}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError("weights must be finite and >= 0; got a negative or non-finite value")
    empty = table.sum(axis=1) <= 0
    if empty.any():
        row = np.argmax(empty)
        raise ValueError(f"weights must be positive somewhere in each data set; got none in row {row}")
    s = np.asarray(bare(successes), dtype=np.int64)
    n = np.broadcast_to(np.asarray(bare(trials), dtype=np.int64), s.shape)
    max_iter = _longest(max_iter, method)
    settings = FitSettings(n_components, n_binomial, method, n_starts, max_iter, tol, penalty)
    found, converged = _optimise(Cells.of(s, n), table, settings, rng)
    columns = CellColumn("successes", s, True), CellColumn("trials", n, True)
    return MixtureBatch(*columns, table, settings.space.law(found.x), converged, settings, found)


def counts_of(
    successes: ArrayLike | Counts, trials: Any, weights: ArrayLike | None, *, keep_all: bool = False
) -> Counts:
    """Check the three arrays of a fit and reduce them to cells; debates without a vote say nothing and go."""
    if isinstance(successes, Counts):
        if trials is not None or weights is not None:
            raise TypeError("trials and weights must be left out when successes is a Counts; got both")
        counts = successes
    else:
        if trials is None:
            raise TypeError(
                "trials must be given unless successes is a Counts (of a log: log.counts()[round]); "
                f"got successes of type {type(successes).__name__} and no trials"
            )
        if weights is not None:
            successes, trials = bare(successes), bare(trials)
        s = np.asanyarray(list(successes) if isinstance(successes, range) else successes)
        n = np.asanyarray(trials)
        counts = Counts.from_columns(s, np.broadcast_to(n, s.shape) if n.ndim == 0 else n, weights=weights)
    if (counts.trials == 0).any():
        cast = counts.trials > 0
        counts = Counts.from_columns(*counts.keys[cast].T, weights=counts.weights[cast])
    if not keep_all and counts.n_obs <= 0:
        raise ValueError("counts must hold at least one debate with a vote; got none")
    return counts


def _longest(max_iter: int | None, method: str) -> int:
    return (20000 if method == "em" else 500) if max_iter is None else max_iter


def _optimise(
    cells: Cells, weights: Floats, settings: FitSettings, rng: RngLike
) -> tuple[Optima, NDArray[np.bool_]]:
    given = asdict(settings)
    options = {name: given[name] for name in ("method", "n_starts", "penalty", "max_iter", "tol")}
    rng = None if rng is None else as_rng(rng)
    found = optimise(cells, weights, settings.space, rng=rng, **options)
    return found, settled(Objective(cells, settings.space, settings.penalty), found.x, weights, settings.tol)


@dataclass(frozen=True, eq=False)
class LikelihoodRatioTest(Result):
    """The likelihood ratio test of `k_null` against `k_alternative` components by parametric bootstrap.

    Attributes
    ----------
    k_null, k_alternative : int
        Numbers of components.
    null_family : {"beta-binomial", "binomial"}
        What each component of the null model is. The alternative's components are Beta-Binomials.
    statistic : float
        ``2 (llf_alternative - llf_null)``.
    p_value : float
        ``(1 + #{bootstrap statistics >= statistic}) / (1 + n_boot)``.
    draws : ndarray, shape (n_boot,)
        The statistic under the fitted null model.
    null, alternative : MixtureFit

    Examples
    --------
    >>> counts = Counts.from_columns([0, 1, 2, 3], [3] * 4, weights=[40, 8, 12, 60])
    >>> test = likelihood_ratio_test(counts, k_null=1, k_alternative=2, n_boot=19, n_starts=4, rng=1)
    >>> test.k_null, test.k_alternative, round(test.statistic, 2), len(test.draws)
    (1, 2, 0.64, 19)
    """

    k_null: int
    k_alternative: int
    statistic: float
    p_value: float
    draws: Floats
    null: MixtureFit
    alternative: MixtureFit
    null_family: NullFamily = "beta-binomial"

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # the same for every test
        """The assumption of the p-value."""
        return (
            "The p-value takes debates as independent, because counts do not tell which debates share a question. "
            "If questions repeat, it is only approximate.",
        )

    @property
    def headline(self) -> str:
        """The answer, whether the larger model is supported."""
        more = f"{counted(self.k_alternative, 'kind')} of debates"
        if self.null_family == "binomial":
            more = "debates that differ in their chance of a right vote"
        elif self.k_alternative == 2:
            more = "a second kind of debates"
        shown = "supported" if self.p_value <= 0.05 else "not supported"
        return f"{more[0].upper()}{more[1:]}: {shown} (likelihood ratio {self.statistic:z.1f}, {said_p(self.p_value)})."

    def _title(self) -> str:
        null, more = f"{self.k_null}", f"{self.k_alternative} components"
        if self.null_family == "binomial":
            null, more = f"{self.k_null} Binomial", f"{self.k_alternative} Beta-Binomial components"
        return f"Likelihood ratio test of {null} against {more} by parametric bootstrap, {self.null.n_obs:g} debates"

    def _tables(self) -> dict[str, pd.DataFrame]:
        names = ("k_null", "null_family", "k_alternative", "statistic", "p_value")
        row = {name: getattr(self, name) for name in names}
        return {"test": pd.DataFrame([row | {"n_boot": len(self.draws)}])}


def likelihood_ratio_test(
    counts: Counts,
    *,
    k_null: int = 1,
    k_alternative: int | None = None,
    null_family: NullFamily = "beta-binomial",
    n_boot: int = 999,
    n_starts: int = 12,
    rng: RngLike = None,
) -> LikelihoodRatioTest:
    """Test how many components the data ask for, by a likelihood ratio whose law is simulated (parametric bootstrap).

    The statistic has no chi-square limit (the smaller model lies on the boundary of the larger), so its law
    is simulated under the fitted smaller model (McLachlan, 1987, Appl. Stat. 36, 318). The simulated debates are
    independent, because counts have no questions. If questions repeat, the p-value is only approximate.

    Parameters
    ----------
    counts : Counts
        The counts that both models are fitted to.
    k_null, k_alternative : int
        Numbers of components. `k_alternative` is by default ``k_null + 1``, and ``k_null`` for a Binomial null.
    null_family : {"beta-binomial", "binomial"}
        What each component of the null model is. With ``"binomial"`` and one component the null says that every
        vote of every debate is right with one probability, independently: the test asks whether debates differ.
    n_boot : int
        Simulated data sets; the smallest p-value is ``1 / (n_boot + 1)``.
    n_starts : int
        Starts per refit of a simulated data set, beside the fit itself.
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.

    Returns
    -------
    LikelihoodRatioTest

    Raises
    ------
    ValueError
        If the null model does not lie within the alternative.

    Examples
    --------
    >>> c = Counts.from_columns(range(8), [7] * 8, weights=[96, 58, 41, 38, 45, 62, 98, 182])
    >>> bool(likelihood_ratio_test(c, n_boot=99, rng=1).p_value <= 0.05)
    True

    One Binomial for all debates fits far worse than one Beta-Binomial:

    >>> likelihood_ratio_test(c, null_family="binomial", n_boot=99, rng=1).p_value
    0.01
    """
    if not isinstance(counts, Counts):
        raise TypeError(f"counts must be a Counts; got {type(counts).__name__}")
    if null_family not in ("beta-binomial", "binomial"):
        raise ValueError(f"null_family must be 'beta-binomial' or 'binomial'; got {null_family!r}")
    binomial = null_family == "binomial"
    k_null = integer("k_null", k_null, minimum=1)
    least = k_null if binomial else k_null + 1
    k_more = least if k_alternative is None else integer("k_alternative", k_alternative, minimum=1)
    if k_more < least:
        raise ValueError(
            f"k_alternative must be {'>=' if binomial else '>'} k_null; got {k_more} and {k_null}"
        )
    integer("n_boot", n_boot, minimum=1)
    null = fit_beta_binomial_mixture(counts, n_components=k_null, n_binomial=k_null if binomial else 0)
    alternative = fit_beta_binomial_mixture(counts, n_components=k_more)
    statistic = max(2.0 * (alternative.llf - null.llf), 0.0)
    cells, weights = simulate_counts(null.distribution, null.counts, n_boot, rng)
    values = [
        optimise(cells, weights, fit.settings.space, n_starts=n_starts, first=fit.point).value
        for fit in (null, alternative)
    ]
    draws = np.maximum(2.0 * (values[1] - values[0]), 0.0)
    p_value = (1.0 + float((draws >= statistic - 1e-9).sum())) / (1.0 + n_boot)
    return LikelihoodRatioTest(k_null, k_more, statistic, p_value, draws, null, alternative, null_family)
