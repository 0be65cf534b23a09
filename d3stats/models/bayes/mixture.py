"""Beta-Binomial mixture of vote counts: the posterior by Hamiltonian Monte Carlo.

The model of :mod:`d3stats.models.mixtures.fit` with priors: a debate is of one of K kinds; a kind has a mean share of
correct votes and a correlation of votes within a debate. Kinds are summed out, and means ascend by construction, so
that labels cannot switch. Cells of equal (successes, trials) are weighted, not repeated.

A panel of few votes hardly separates kinds of debates (``Beta(a, b)`` is itself a mixture of two Betas). Bands of
components are therefore wide. Bands of the law itself (pmf, mean, chance of a right majority) are not.

References
----------
Skellam (1948), J. R. Stat. Soc. B 10, 257 (the Beta-Binomial). Jasra, Holmes and Stephens (2005), Statistical
Science 20, 50 (label switching). Hu et al. (2025), arXiv 2510.12697 (the mixture for debates).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.counts import Counts
from d3stats.estimate import Estimate
from d3stats.models.bayes import stack
from d3stats.models.bayes.result import (
    KIND_NAMES,
    BayesFit,
    Sampling,
    SamplingOptions,
    interval,
    kept_stats,
    pointwise,
    positive,
    posterior,
    posterior_estimate,
    read_priors,
    some_of,
    variable,
)
from d3stats.models.mixtures.fit import counts_of
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells, log_pmf
from d3stats.models.mixtures.result import all_outcomes, observed_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MixturePosterior", "MixturePriors", "fit_mixture", "mixture_model"]

LAW = ("weight", "mean", "rho")
REPLICATES = 1000
INDEPENDENT = (
    "debates are taken as independent, because counts do not tell which share a question; if questions repeat, the "
    "intervals are too narrow, and d3stats.fit_rounds(log) resamples questions"
)
EDGE = 1e-9
"""The least distance of a mean or a correlation from 0 and 1 in the likelihood."""
MOST_DEBATES = 10_000
"""Up to how many debates the PyMC model observes each debate; above, it adds up cells of equal debates."""


@dataclass(frozen=True, slots=True)
class MixturePriors:
    """Priors of a mixture of Beta-Binomials, and of one that walks over rounds.

    Attributes
    ----------
    weight : float
        Dirichlet parameter of the weights; 1 is uniform.
    gap : float
        Dirichlet parameter of the gaps between 0, the ordered means and 1; 1 makes the means K uniform draws, sorted.
    rho_a, rho_b : float
        Beta parameters of each component's intraclass correlation ``rho = 1 / (precision + 1)``. With (1, 3) half
        of all components have ``rho < .21``: precisions have median 3.8, and 90 % lie in [.58, 58].
    step : float
        Scale of the half-normal priors of the three step sizes (of weights, means, log precisions) between
        rounds, in log-ratios; rounds only.

    Examples
    --------
    >>> draws = MixturePriors().draw(2, 4000, rng=np.random.default_rng(1))
    >>> np.quantile(1 / draws["rho"] - 1, [0.05, 0.5, 0.95]).round(1).tolist()
    [0.6, 3.7, 56.3]
    >>> MixturePriors(gap=2.0).to_dict()
    {'weight': 1.0, 'gap': 2.0, 'rho_a': 1.0, 'rho_b': 3.0, 'step': 0.5}
    """

    weight: float = 1.0
    gap: float = 1.0
    rho_a: float = 1.0
    rho_b: float = 3.0
    step: float = 0.5

    def __post_init__(self) -> None:
        positive(**asdict(self))

    def draw(self, n_components: int, size: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw ``weight, mean, rho`` of shape (size, K) from the prior; means ascend."""
        k = n_components
        gaps = rng.dirichlet(np.full(k + 1, self.gap), size)
        return {
            "weight": rng.dirichlet(np.full(k, self.weight), size),
            "mean": np.cumsum(gaps, axis=1)[:, :-1],
            "rho": rng.beta(self.rho_a, self.rho_b, (size, k)),
        }

    def to_dict(self) -> dict[str, float]:
        """Return the attributes."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MixturePosterior(BayesFit):
    """Posterior of a mixture; all that :class:`~d3stats.models.bayes.result.BayesFit` has, and the law.

    `params` has ``weight[k]``, ``mean[k]`` and ``rho[k]`` of each component, ascending by mean. For the law, it has
    ``accuracy`` (the chance that a vote is right) and ``spread`` (standard deviation of that chance between debates).
    It also has ``majority`` (the chance of a strict majority of right votes in a full panel).

    Attributes
    ----------
    counts : Counts
        The data.
    panel : int
        Votes of a full panel (:attr:`d3stats.counts.Counts.panel`).

    Examples
    --------
    >>> fit = fit_mixture(range(4), 3, [32, 103, 122, 80], n_components=1, draws=300, tune=300, chains=2, rng=1)
    >>> fit.pmf().columns.tolist()[:3]
    ['successes', 'predicted', 'low']
    >>> round(fit.prob_majority().value, 1), len(fit.components())
    (0.6, 4)
    >>> fit.count_shares().columns.tolist()[:3]
    ['successes', 'predicted', 'low']
    >>> fit.plot().get_xlabel()
    'share of right votes'
    """

    counts: Counts = field(default_factory=Counts.empty)
    panel: int = 1

    @cached_property
    def distribution(self) -> BetaBinomialMixture:
        """The laws of all draws, a batch of shape (draws, K)."""
        return law_of(flat({name: stack.draws_of(self.idata, name) for name in LAW}))

    def pmf(
        self, trials: int | None = None, *, level: float = 0.95, kind: str = "equal-tailed"
    ) -> pd.DataFrame:
        """Return the posterior of the pmf over 0..trials, by default of a full panel.

        Columns: ``successes, predicted, low, high, level, kind``. ``predicted`` is the posterior mean, which is also
        the predictive pmf of the next debate.
        """
        return pmf_bands(self.distribution, self.panel if trials is None else trials, level, kind)

    def prob_majority(self, trials: int | None = None, *, level: float = 0.95) -> Estimate:
        """Return the chance of a strict majority of right votes in a panel of `trials`, P(S > trials / 2)."""
        n = integer("trials", self.panel if trials is None else trials, minimum=1)
        values = self.distribution.prob_majority(n)
        return posterior_estimate(f"P(S > {n}/2)", values, n=self.n_obs, level=level)

    def components(self, level: float = 0.95) -> pd.DataFrame:
        """Return posterior medians and equal-tailed limits, one row per component and quantity.

        Quantities are weight, mean, rho and precision, whose mean need not exist; columns ``component, quantity,
        median, low, high, level``.
        """
        level = probability("level", level, open_interval=True)
        tails = [0.5, (1 - level) / 2, (1 + level) / 2]
        law = self.distribution
        values = {"weight": law.weight, "mean": law.mu, "rho": law.rho, "precision": law.precision}
        rows = [
            (j + 1, name, *np.quantile(v[:, j], tails).tolist(), level)
            for j in range(law.n_components)
            for name, v in values.items()
        ]
        return pd.DataFrame(rows, columns=["component", "quantity", "median", "low", "high", "level"])

    def count_shares(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return observed and predicted shares of right votes in a full panel, with limits, and the component means.

        Columns of :meth:`pmf`, ``observed``, and ``mean_1, mean_2, ...`` with ``_low, _high``, the same in every row.
        """
        frame = self.pmf(level=level, kind=kind)
        frame = frame.assign(observed=observed_shares(self.counts, self.panel))
        for j, column in enumerate(self.distribution.mu.T, start=1):
            low, high = interval(column, level, kind)
            frame = frame.assign(**{f"mean_{j}": column.mean(), f"mean_{j}_low": low, f"mean_{j}_high": high})
        return frame

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the bands of the pmf with the observed shares, and the component means."""
        from d3stats.plotting.fits import plot_mixture_posterior

        return plot_mixture_posterior(self.count_shares(level), ax=ax)


def mixture_model(
    successes: ArrayLike | Counts,
    trials: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_components: int = 2,
    priors: MixturePriors | Mapping[str, Any] | None = None,
) -> Any:
    """Build the PyMC model of a mixture of `n_components` Beta-Binomials, with means in ascending order.

    Free variables: ``weight`` (Dirichlet; fixed at 1 for one component), ``gap`` (Dirichlet: what the ordered means
    cut [0, 1] into) and ``rho`` (Beta). ``mean`` is the running sum of gaps. ``votes`` observes the right votes of
    each debate; with fractional weights or more than 10,000 debates it is a potential over cells of equal debates,
    and PyMC then has no log likelihood of single debates.

    Parameters
    ----------
    successes, trials, weights, n_components
        As in :func:`fit_mixture`.
    priors : MixturePriors or dict, optional
        Numbers, or a dict whose keys are fields of :class:`MixturePriors` (numbers) or the variables ``weight``,
        ``gap`` and ``rho`` (a PyMC distribution such as ``pm.Beta.dist(2, 5, shape=2)``, or a function of the shape
        that returns one).

    Returns
    -------
    pymc.Model

    Examples
    --------
    >>> model = mixture_model(range(4), 3, [32, 103, 122, 80], n_components=1)
    >>> [variable.name for variable in model.free_RVs]
    ['gap', 'rho']
    """
    k = integer("n_components", n_components, minimum=1)
    counts = counts_of(successes, trials, weights)
    believed, laws = read_priors(priors, MixturePriors(), ("weight", "gap", "rho"))
    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    with stack.quiet(), pm.Model(coords={"component": range(k)}) as model:
        weight, gap, rho = components(k, believed, laws)
        if k == 1:
            weight = pm.Deterministic("weight", weight)
        mean = pm.Deterministic("mean", pt.cumsum(gap)[:-1])
        observe_votes(weight[None], mean[None], rho[None], [counts])
    return model


def fit_mixture(
    successes: ArrayLike | Counts,
    trials: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_components: int = 2,
    priors: MixturePriors | Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    rng: RngLike = None,
    **options: Unpack[SamplingOptions],
) -> MixturePosterior:
    """Estimate a mixture of Beta-Binomials from vote counts: the posterior of :func:`mixture_model` by NUTS.

    With priors given as numbers the No-U-Turn sampler reads the log density from one compiled function, because
    PyTensor takes 61 s to compile its graph (simulations/bayes_speed). With PyMC distributions it samples the model
    itself.

    Counts do not tell which debates share a question, so the model takes debates as independent. If questions repeat,
    its intervals are too narrow; :func:`d3stats.fit_rounds` takes a log and resamples its questions.

    Parameters
    ----------
    successes : array of int, shape (rows,), or Counts
        Correct votes of each debate (or cell). A :class:`~d3stats.counts.Counts` carries all three arrays.
    trials : int or array of int, shape (rows,)
        Votes cast; they may vary.
    weights : array of float, shape (rows,), optional
        The number of debates that each row represents.
    n_components : int
        K >= 1.
    priors : MixturePriors or dict, optional
        By default uniform weights, uniform ordered means, Beta(1, 3) correlations; for a dict see
        :func:`mixture_model`.
    sampling : Sampling, optional
        By default 4 chains of 2,000 draws after 1,000 to adapt: about ten seconds for 100 debates of two kinds.
    rng : Generator, int or None
        The same seed gives the same draws.
    **options
        Fields of :class:`~d3stats.models.bayes.result.Sampling`: ``draws, tune, chains, target_accept``.

    Returns
    -------
    MixturePosterior

    Raises
    ------
    ValueError
        When no debate has a vote, successes exceed trials, a weight is negative, or a value is not finite.

    Examples
    --------
    >>> fit = fit_mixture(range(4), 3, [32, 103, 122, 80], n_components=1, draws=300, tune=300, chains=2, rng=1)
    >>> fit.params[["mean[0]", "majority"]].round(2).to_dict()
    {'mean[0]': 0.58, 'majority': 0.61}
    """
    k = integer("n_components", n_components, minimum=1)
    counts = counts_of(successes, trials, weights)
    believed, laws = read_priors(priors, MixturePriors(), ("weight", "gap", "rho"))
    # With 1,000 draws R-hat missed its limit in one of three data sets of two well separated kinds, with 2,000 in none.
    asked, generator, panel = Sampling._of(sampling, options, draws=2000), as_rng(rng), counts.panel
    build = partial(mixture_model, counts, n_components=k, priors=asdict(believed) | laws)

    def density() -> Any:
        from d3stats.models.bayes.kernel import MixtureDensity

        cells = Cells.of(*counts.keys.T)
        return MixtureDensity(cells, counts.weights[None], k, astuple(believed), np.empty(0))

    natural, prior, stats, used, notes = drawn_laws(
        LAW, build, laws, density, lambda _: believed.draw(k, REPLICATES, generator), asked, generator
    )
    law = {name: natural[name] if laws else natural[name][:, :, 0] for name in LAW}
    like = log_likelihood(law, counts)
    gap = np.diff(law["mean"], axis=-1, prepend=0.0, append=1.0)
    return MixturePosterior(
        title=f"mixture of {k} Beta-Binomials" if k > 1 else "Beta-Binomial",
        names=(*LAW, "accuracy", "spread", "majority"),
        n_obs=counts.n_obs,
        settings=used._with_priors(asdict(believed), laws),
        idata=stack.from_draws(
            law | {"gap": gap} | law_quantities(law, panel),
            sample_stats=stats,
            log_likelihood=pointwise("votes", like, counts.weights),
            prior={name: values[None] for name, values in prior.items()},
            observed_data=dict(
                zip(("successes", "trials", "debates"), (*counts.keys.T, counts.weights), strict=True)
            ),
        ),
        build=build,
        notes=(*notes, INDEPENDENT),
        cells=like,
        weights=counts.weights,
        constants=("weight[0]",) if k == 1 else (),
        observed=observed_statistics(counts),
        replicated=replicated_statistics(flat(law), counts, generator),
        prior_replicated=replicated_statistics(prior, counts, generator),
        counts=counts,
        panel=panel,
    )


def drawn_laws(
    names: Sequence[str],
    build: Callable[[], Any],
    laws: Mapping[str, Any],
    density: Callable[[], Any],
    before: Callable[[Any], dict[str, Floats]],
    sampling: Sampling,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, Any], Sampling, tuple[str, ...]]:
    """Draw from the posterior and the prior: of the compiled density, or with `laws` of the PyMC model.

    Returns the values of posterior and prior by name, the sampler's statistics, the settings of the run that was
    kept, and notes. `before` draws from the prior, given the density.
    """
    if laws:
        idata, used, notes = posterior(sampling, rng, model=build)
        natural = {name: stack.draws_of(idata, name) for name in names}
        prior = stack.prior_draws(build(), LAW, REPLICATES, rng)
    else:
        from d3stats.models.bayes.kernel import starting_points

        compiled = density()
        starts = partial(starting_points, compiled, compiled.size)
        idata, used, notes = posterior(sampling, rng, density=compiled, starts=starts)
        natural, prior = compiled.natural(stack.draws_of(idata, "x")), before(compiled)
    return natural, prior, kept_stats(idata), used, notes


def components(
    k: int, priors: MixturePriors, laws: Mapping[str, Any], prefix: str = ""
) -> tuple[Any, Any, Any]:
    """Add weights, gaps between ordered means and correlations to the PyMC model at hand."""
    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    dirichlet, beta = pm.Dirichlet.dist, pm.Beta.dist
    weight = pt.ones(1)
    if k > 1:
        weight = variable(f"{prefix}weight", laws, lambda: dirichlet(np.full(k, priors.weight)), (k,))
    gap = variable(f"{prefix}gap", laws, lambda: dirichlet(np.full(k + 1, priors.gap)), (k + 1,))
    rho = variable(f"{prefix}rho", laws, lambda: beta(priors.rho_a, priors.rho_b, shape=k), (k,))
    return weight, gap, rho


def observe_votes(weight: Any, mean: Any, rho: Any, parts: Sequence[Counts]) -> None:
    """Add the likelihood to the PyMC model at hand; tensors of shape (rounds, K), one Counts per round."""
    from scipy.special import gammaln

    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    # All outcomes 0..n of each round and panel size, one after another.
    panels = [(r, int(n)) for r, part in enumerate(parts) for n in np.unique(part.keys[:, 1])]
    first = np.cumsum([0, *(n + 1 for _, n in panels)])
    at = np.concatenate([np.full(n + 1, r) for r, n in panels])
    s, n = all_outcomes(n for _, n in panels)
    log_choose = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)
    place = dict(zip(panels, first.tolist(), strict=False))
    start = np.array([place[r, int(m)] for r, part in enumerate(parts) for m in part.trials], dtype=np.int64)
    seen = np.concatenate([part.keys[:, 0] for part in parts])
    debates = np.concatenate([part.weights for part in parts])

    def log_pmf_of_outcomes(weight: Any, mean: Any, rho: Any) -> Any:
        i = np.arange(n.max())
        m = pt.clip(mean, EDGE, 1 - EDGE)[..., None]
        r = pt.clip(rho, EDGE, 1 - EDGE)[..., None]

        def rising(first: Any, count: Ints) -> Any:
            steps = pt.cumsum(pt.log(first + i * r), axis=-1)
            return pt.concatenate([pt.zeros_like(steps[..., :1]), steps], axis=-1)[at, :, count]

        log_f = rising(m * (1 - r), s) + rising((1 - m) * (1 - r), n - s) - rising(1 - r, n)
        return pt.logsumexp(log_f + pt.log(weight)[at] + log_choose[:, None], axis=-1)

    if debates.sum() > MOST_DEBATES or not (debates == np.rint(debates)).all():
        pm.Potential("votes", pt.dot(log_pmf_of_outcomes(weight, mean, rho)[start + seen], debates))
        return
    each = np.repeat(np.arange(len(debates)), debates.astype(np.int64))
    start, trials, rounds = start[each], n[start[each]], at[start[each]]

    def one(values: Any) -> Any:
        """Take the table of all rounds out of the axes that PyMC adds for the debates."""
        return values[(0,) * (values.ndim - 2)]

    def logp(value: Any, weight: Any, mean: Any, rho: Any) -> Any:
        return log_pmf_of_outcomes(*map(one, (weight, mean, rho)))[start + value]

    def random(weight: Floats, mean: Floats, rho: Floats, rng: np.random.Generator, size: Any = None) -> Ints:
        weight, mean, rho = map(one, (weight, mean, rho))
        kind = (rng.random(len(trials))[:, None] > np.cumsum(weight, axis=1)[rounds, :-1]).sum(axis=1)
        mu, precision = mean[rounds, kind], 1 / rho[rounds, kind] - 1
        chance = rng.beta(np.maximum(mu * precision, EDGE), np.maximum((1 - mu) * precision, EDGE))
        return rng.binomial(trials, chance)

    pm.CustomDist(
        "votes", weight, mean, rho,
        logp=logp, random=random, observed=seen[each], dtype="int64", signature="(r,k),(r,k),(r,k)->()",
    )  # fmt: skip


def law_of(values: Mapping[str, Floats]) -> BetaBinomialMixture:
    """Return ``weight, mean, rho`` as a batch of laws; shapes are kept."""
    weight = values["weight"]
    return BetaBinomialMixture(weight / weight.sum(axis=-1, keepdims=True), values["mean"], values["rho"])


def flat(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Put all chains in one row of draws."""
    return {name: v.reshape(-1, *v.shape[2:]) for name, v in values.items()}


def law_quantities(values: Mapping[str, Floats], panel: int) -> dict[str, Floats]:
    """Return ``accuracy, spread, majority`` and each component's ``precision``; shapes without, with components."""
    law = law_of(values)
    found = {"accuracy": law.mean, "spread": law.spread, "majority": law.prob_majority(panel)}
    return found | {"precision": law.precision}


def pmf_bands(law: BetaBinomialMixture, trials: int, level: float, kind: str) -> pd.DataFrame:
    """Return ``successes, predicted, low, high, level, kind`` of a batch of laws of shape (draws, K)."""
    trials = integer("trials", trials, minimum=1)
    choice("kind", kind, tuple(KIND_NAMES))
    pmf = law.pmf(trials)
    low, high = interval(pmf, probability("level", level, open_interval=True), kind)
    frame = pd.DataFrame({"successes": np.arange(trials + 1), "predicted": pmf.mean(axis=0)})
    return frame.assign(low=low, high=high, level=level, kind=KIND_NAMES[kind])


def log_likelihood(values: Mapping[str, Floats], counts: Counts) -> Floats:
    """Return the log pmf of one debate in each cell, shape (chains, draws, cells), for ``weight, mean, rho``."""
    cells = Cells.of(*counts.keys.T)
    with np.errstate(divide="ignore"):  # a weight may underflow
        log_weight = np.log(values["weight"])
    out = np.full((*values["mean"].shape[:-1], len(counts)), -np.inf)
    for j in range(values["mean"].shape[-1]):
        component = log_pmf(values["mean"][..., j], values["rho"][..., j], cells)
        np.logaddexp(out, component + log_weight[..., j, None], out=out)
    return out


def observed_statistics(counts: Counts) -> dict[str, float]:
    """Return the statistics of the data."""
    values = _statistics(counts.keys[:, 0], counts.keys[:, 1], counts.weights[None])
    return {name: float(v[0]) for name, v in values.items()}


def replicated_statistics(
    values: Mapping[str, Floats], counts: Counts, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the statistics of one log per draw, with as many debates of each panel size as the data (rounded).

    `values` holds ``weight, mean, rho`` of shape (draws, K); at most 1000 draws, evenly spaced, are used.
    """
    law = law_of({name: some_of(values[name], REPLICATES) for name in LAW})
    sizes, tables = np.unique(counts.keys[:, 1]).tolist(), []
    for n in sizes:
        debates = max(round(float(counts.weights[counts.trials == n].sum())), 1)
        pmf = law.pmf(n)
        tables.append(rng.multinomial(debates, pmf / pmf.sum(axis=1, keepdims=True)))
    return _statistics(*all_outcomes(sizes), np.concatenate(tables, axis=1).astype(np.float64))


def _statistics(successes: Ints, trials: Ints, weights: Floats) -> dict[str, Floats]:
    """Return each statistic for each row of `weights`, shape (rows,)."""
    share = weights / weights.sum(axis=1, keepdims=True)
    right = successes / trials
    mean = share @ right
    variance = np.maximum(share @ right**2 - mean**2, 0.0)
    return {
        "share of votes right": (weights @ successes) / (weights @ trials),
        "debates with a right majority": share @ (2 * successes > trials),
        "debates all right": share @ (successes == trials),
        "debates all wrong": share @ (successes == 0),
        "sd of the share right": np.sqrt(variance),
    }
