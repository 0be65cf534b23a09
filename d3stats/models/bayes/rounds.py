"""Beta-Binomial mixture of each round, linked by a random walk over rounds: the posterior by Hamiltonian Monte Carlo.

Every round has the mixture of :mod:`d3stats.models.bayes.mixture`, each a step away from the one before. Log-ratios of
the weights, log-ratios of the gaps between ordered means (for one component, the logit of the mean) and log precisions
take normal steps, whose three sizes are learned. Rounds with few votes therefore borrow from their neighbours, the more
the more similar the data show rounds to be.

The model does not use that each round has the same debates. Bands of one round's law are sound for independent debates.
Differences between rounds are as uncertain as those of different debates would be, which is too uncertain when debates
keep their side.

References
----------
Hu et al. (2025), arXiv 2510.12697 (a mixture per round). West and Harrison (1997), Bayesian Forecasting and
Dynamic Models, ch. 2 (the walk). Betancourt and Girolami (2015), arXiv 1312.0906 (non-centred steps).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np
import pandas as pd

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer, probability
from d3stats.counts import RoundCounts
from d3stats.estimate import Estimate
from d3stats.models.bayes import stack
from d3stats.models.bayes.mixture import (
    INDEPENDENT,
    LAW,
    REPLICATES,
    MixturePriors,
    components,
    drawn_laws,
    flat,
    law_of,
    law_quantities,
    log_likelihood,
    observe_votes,
    observed_statistics,
    pmf_bands,
    replicated_statistics,
)
from d3stats.models.bayes.result import (
    BayesFit,
    Sampling,
    SamplingOptions,
    interval,
    pointwise,
    posterior_estimate,
    read_priors,
    variable,
)
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells
from d3stats.models.mixtures.result import observed_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RoundsPosterior", "fit_rounds", "rounds_model"]


T = TypeVar("T")
_VARIABLES = ("first_weight", "first_gap", "first_rho", "step")
_BY_ROUND = ("accuracy", "spread", "majority")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RoundsPosterior(BayesFit):
    """Posterior of a mixture per round; all that :class:`~d3stats.models.bayes.result.BayesFit` has, and rounds.

    `params` has ``accuracy[i]``, ``spread[i]`` and ``majority[i]`` of the i-th of `rounds`, and ``step[j]``: the
    step sizes of weights (not with one component), means and log precisions.

    Attributes
    ----------
    counts : RoundCounts
        The data; debates without a vote in a round are not in it.
    rounds : tuple of int
        Rounds with votes.
    panel : int
        Votes of a full panel, all rounds together (:attr:`d3stats.counts.Counts.panel`).

    Examples
    --------
    >>> from d3stats.counts import RoundCounts
    >>> seen = [9, 4, 5, 9, 11, 2, 3, 11]
    >>> rounds = RoundCounts.from_columns([1] * 4 + [2] * 4, [0, 1, 2, 3] * 2, [3] * 8, weights=seen)
    >>> fit = fit_rounds(rounds, n_components=1, draws=100, tune=100, chains=1, rng=1)
    >>> fit.rounds, fit.panel, fit.bands().columns.tolist()[:3]
    ((1, 2), 3, ['round', 'quantity', 'component'])
    >>> fit.change(1, 2).name
    'accuracy, round 2 - round 1'
    >>> fit.count_shares().columns.tolist()[:3]
    ['successes', 'predicted', 'low']
    >>> fit.plot().get_xlabel()
    'round'
    """

    counts: RoundCounts = field(default_factory=RoundCounts.empty)
    rounds: tuple[int, ...] = ()
    panel: int = 1

    def __getitem__(self, round_number: int) -> BetaBinomialMixture:
        """Return a round's laws, a batch of shape (draws, K)."""
        at = self._at(round_number)
        return law_of(flat({name: stack.draws_of(self.idata, name)[:, :, at] for name in LAW}))

    def _at(self, round_number: int) -> int:
        if round_number not in self.rounds:
            raise KeyError(f"round must be one of {list(self.rounds)}; got {round_number!r}")
        return self.rounds.index(round_number)

    def bands(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return one row per round, quantity and component.

        Columns: ``round, quantity`` (accuracy, spread, majority; weight, mean, rho), ``component`` (from 1; missing
        for what belongs to the law), ``mean, low, high, level``.
        """
        level = probability("level", level, open_interval=True)
        parts = []
        for name in (*_BY_ROUND, *LAW):
            values = stack.draws_of(self.idata, name)
            values = values.reshape(-1, len(self.rounds), *(values.shape[3:] or (1,)))
            number = [None] if name in _BY_ROUND else range(1, values.shape[2] + 1)
            for i, r in enumerate(self.rounds):
                low, high = interval(values[:, i], level, kind)
                part = pd.DataFrame(
                    {"round": r, "quantity": name, "component": pd.array(number, dtype="Int64")}
                )
                mean = [float(column.mean()) for column in values[:, i].T]
                parts.append(part.assign(mean=mean, low=low, high=high, level=level))
        return pd.concat(parts, ignore_index=True)

    def change(self, first: int, last: int, *, quantity: str = "accuracy", level: float = 0.95) -> Estimate:
        """Return the change of ``accuracy``, ``spread`` or ``majority`` from one round to another."""
        if quantity not in _BY_ROUND:
            raise ValueError(f"quantity must be one of {list(_BY_ROUND)}; got {quantity!r}")
        before, after = self._at(first), self._at(last)
        values = stack.draws_of(self.idata, quantity)
        gap = values[..., after] - values[..., before]
        name = f"{quantity}, round {last} - round {first}"
        note = f"P(increase) = {float((gap > 0).mean()):z.3f}"
        return posterior_estimate(name, gap, n=self.n_obs, level=level, note=note)

    @property
    def headline(self) -> str:
        """The share of right votes in the first and the last round, and whether the draws converged."""
        table = self._by_round().iloc[[0, -1]]
        first, last = (f"{row['votes right (%)']} in round {row['round']}" for _, row in table.iterrows())
        done = "converged" if self.converged else "NOT CONVERGED"
        return f"Votes are right (%): {first} and {last}; 95 % posterior intervals; {done}."

    def _by_round(self) -> pd.DataFrame:
        """Return each round's quantities as texts: the mean of the posterior and its limits."""
        limits = self.conf_int().assign(mean=self.params)

        def cell(name: str, at: int, unit: float, digits: int) -> str:
            row = unit * limits.loc[f"{name}[{at}]"]
            return f"{row['mean']:z.{digits}f} [{row['low']:z.{digits}f}, {row['high']:z.{digits}f}]"

        columns = {
            "votes right (%)": ("accuracy", 100.0, 1),
            "majority right (%)": ("majority", 100.0, 1),
            "spread between debates": ("spread", 1.0, 3),
        }
        rows = [
            {
                "round": r,
                **{head: cell(name, at, unit, digits) for head, (name, unit, digits) in columns.items()},
            }
            for at, r in enumerate(self.rounds)
        ]
        return pd.DataFrame(rows)

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        return {"rounds": self._by_round(), **super()._shown()}

    def count_shares(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return ``round, successes, observed, predicted, low, high, level, kind`` of full panels."""
        parts = [
            pmf_bands(self[r], self.panel, level, kind).assign(
                round=r, observed=observed_shares(self.counts[r], self.panel)
            )
            for r in self.rounds
            if (self.counts[r].trials == self.panel).any()
        ]
        return pd.concat(parts, ignore_index=True)

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw accuracy and the chance of a right majority over rounds, with their bands."""
        from d3stats.plotting.fits import plot_round_bands

        frame = self.bands(level)
        return plot_round_bands(frame[frame["quantity"].isin(["accuracy", "majority"])], ax=ax)


def rounds_model(
    rounds: RoundCounts, *, n_components: int = 2, priors: MixturePriors | Mapping[str, Any] | None = None
) -> Any:
    """Build the PyMC model of a mixture of Beta-Binomials in each round, linked by a random walk.

    The free variables of the first round are ``first_weight``, ``first_gap`` and ``first_rho``, as in
    :func:`~d3stats.models.bayes.mixture.mixture_model`. Further ones are ``step``, the half-normal sizes of steps of
    weights (not with one component), gaps and correlations, and ``innovation``, standard normal (the walk is
    non-centred). ``weight``, ``mean`` and ``rho`` follow from them, of shape (rounds, K). ``votes`` observes each
    debate in each round.

    Parameters
    ----------
    rounds, n_components
        As in :func:`fit_rounds`.
    priors : MixturePriors or dict, optional
        Numbers, or a dict whose keys are fields of ``MixturePriors`` or the variables ``first_weight``,
        ``first_gap``, ``first_rho`` and ``step`` (a PyMC distribution, or a function of the shape that returns one).

    Returns
    -------
    pymc.Model

    Examples
    --------
    >>> counts = RoundCounts.from_columns([1, 1, 2, 2], [1, 3, 0, 3], [3, 3, 3, 3], weights=[20, 10, 5, 25])
    >>> [variable.name for variable in rounds_model(counts, n_components=1).free_RVs]
    ['first_gap', 'first_rho', 'step', 'innovation']
    """
    k = integer("n_components", n_components, minimum=1)
    counts = _with_votes(rounds)
    believed, laws = read_priors(priors, MixturePriors(), _VARIABLES)
    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    with stack.quiet(), pm.Model(coords={"round": counts.rounds, "component": range(k)}) as model:
        weight, gap, rho = components(k, believed, laws, "first_")
        groups = np.array([k - 1, k, k])[1 if k == 1 else 0 :]
        n = len(groups)
        step = variable("step", laws, lambda: pm.HalfNormal.dist(believed.step, shape=n), (n,))
        innovation = pm.Normal("innovation", shape=(len(counts.rounds) - 1, 3 * k - 1))
        log_weight, log_gap = pt.log(weight), pt.log(gap)
        first = [log_weight[:-1] - log_weight[-1], log_gap[:-1] - log_gap[-1], pt.log(rho) - pt.log1p(-rho)]
        moves = innovation * pt.repeat(step, groups) * _spacing(counts)[:, None]
        rows = pt.cumsum(pt.concatenate([pt.concatenate(first)[None], moves]), axis=0)
        zero = pt.zeros((len(counts.rounds), 1))
        z, y, t = rows[:, : k - 1], rows[:, k - 1 : 2 * k - 1], rows[:, 2 * k - 1 :]
        gaps = pt.special.softmax(pt.concatenate([y, zero], axis=1), axis=1)
        weight = pm.Deterministic("weight", pt.special.softmax(pt.concatenate([z, zero], axis=1), axis=1))
        mean = pm.Deterministic("mean", pt.cumsum(gaps, axis=1)[:, :-1])
        rho = pm.Deterministic("rho", pt.sigmoid(t))
        observe_votes(weight, mean, rho, [counts[r] for r in counts.rounds])
    return model


def fit_rounds(
    rounds: RoundCounts,
    *,
    n_components: int = 2,
    priors: MixturePriors | Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    rng: RngLike = None,
    **options: Unpack[SamplingOptions],
) -> RoundsPosterior:
    """Estimate a mixture of Beta-Binomials in each round, linked by a random walk, by :func:`rounds_model` and NUTS.

    Counts do not tell which debates share a question, so the model takes debates as independent. If questions repeat,
    its intervals are too narrow; :func:`d3stats.fit_rounds` takes a log and resamples its questions.

    Parameters
    ----------
    rounds : RoundCounts
        Counts per round, missing votes and all; of a log, ``log.counts()``. Debates without a vote are left out.
    n_components : int
        K >= 1.
    priors : MixturePriors or dict, optional
        Priors of the first round, and of the step sizes; for a dict see :func:`rounds_model`. A step is of
        one round; across a gap of g rounds without votes it is sqrt(g) times as large.
    sampling, rng, **options
        As in :func:`~d3stats.models.bayes.fit_mixture`.

    Returns
    -------
    RoundsPosterior

    Raises
    ------
    ValueError
        With fewer than two rounds that have votes.

    Examples
    --------
    >>> counts = RoundCounts.from_columns([1, 1, 2, 2], [1, 3, 0, 3], [3, 3, 3, 3], weights=[20, 10, 5, 25])
    >>> fit = fit_rounds(counts, n_components=1, draws=200, tune=200, chains=2, rng=1)
    >>> fit.rounds, fit.change(1, 2).value > 0
    ((1, 2), True)
    """
    k = integer("n_components", n_components, minimum=1)
    counts = _with_votes(rounds)
    believed, laws = read_priors(priors, MixturePriors(), _VARIABLES)
    asked, generator, panel = Sampling._of(sampling, options), as_rng(rng), counts.pooled().panel
    build = partial(rounds_model, counts, n_components=k, priors=asdict(believed) | laws)
    natural, prior, stats, used, notes = drawn_laws(
        (*LAW, "step"), build, laws, partial(_density, counts, k, believed),
        lambda density: _walks_from_prior(density, believed, generator), asked, generator,
    )  # fmt: skip
    if not laws and k == 1:
        natural["step"] = natural["step"][..., 1:]
    law = {name: natural[name] for name in LAW}
    by_round = [{name: v[:, :, i] for name, v in law.items()} for i in range(len(counts.rounds))]
    parts = [counts[r] for r in counts.rounds]
    observed: dict[str, float] = {}
    replicated: dict[str, Floats] = {}
    prior_replicated: dict[str, Floats] = {}
    for i, (r, part) in enumerate(zip(counts.rounds, parts, strict=True)):
        observed |= _in_round(r, observed_statistics(part))
        replicated |= _in_round(r, replicated_statistics(flat(by_round[i]), part, generator))
        walked = {name: prior[name][:, i] for name in LAW}
        prior_replicated |= _in_round(r, replicated_statistics(walked, part, generator))
    cells: Floats = np.concatenate(
        [log_likelihood(values, part) for values, part in zip(by_round, parts, strict=True)], axis=-1
    )
    weights = np.concatenate([part.weights for part in parts])
    return RoundsPosterior(
        title=f"mixture of {k} Beta-Binomials over {len(parts)} rounds",
        names=(*_BY_ROUND, "step"),
        n_obs=counts.n_obs,
        settings=used._with_priors(asdict(believed), laws),
        idata=stack.from_draws(
            law | law_quantities(law, panel) | {"step": natural["step"]},
            sample_stats=stats,
            log_likelihood=pointwise("votes", cells, weights),
            prior={name: values[None] for name, values in prior.items()},
        ),
        build=build,
        notes=(*notes, INDEPENDENT),
        cells=cells,
        weights=weights,
        observed=observed,
        replicated=replicated,
        prior_replicated=prior_replicated,
        counts=counts,
        rounds=counts.rounds,
        panel=panel,
    )


def _with_votes(rounds: RoundCounts) -> RoundCounts:
    """Return the cells with votes, of at least two rounds."""
    if not isinstance(rounds, RoundCounts):
        raise TypeError(f"rounds must be RoundCounts (for a log: log.counts()); got {type(rounds).__name__}")
    cast = rounds.keys[:, 2] > 0
    counts = RoundCounts.from_columns(*rounds.keys[cast].T, weights=rounds.weights[cast])
    if len(counts.rounds) < 2:
        got = f"{list(counts.rounds)} (one: fit_mixture)"
        raise ValueError(f"rounds must hold at least two rounds with votes; got {got}")
    return counts


def _spacing(counts: RoundCounts) -> Floats:
    return np.sqrt(np.diff(counts.rounds).astype(np.float64))


def _density(counts: RoundCounts, k: int, priors: MixturePriors) -> Any:
    from d3stats.models.bayes.kernel import MixtureDensity

    pairs, at = np.unique(counts.keys[:, 1:], axis=0, return_inverse=True)
    weights = np.zeros((len(counts.rounds), len(pairs)))
    row = np.searchsorted(counts.rounds, counts.keys[:, 0])
    weights[row, at.ravel()] = counts.weights
    cells = Cells.of(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))
    return MixtureDensity(cells, weights, k, astuple(priors), _spacing(counts))


def _in_round(round_number: int, values: Mapping[str, T]) -> dict[str, T]:
    return {f"{name}, round {round_number}": value for name, value in values.items()}


def _walks_from_prior(density: Any, priors: MixturePriors, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw whole walks from the prior, ``weight, mean, rho`` of shape (draws, rounds, K)."""
    size, k, p = REPLICATES, density.n_components, priors
    first = p.draw(k, size, rng)
    points: Floats = np.empty((size, density.size))
    gaps = np.diff(first["mean"], axis=1, prepend=0.0, append=1.0)
    tiny = 1e-300
    log_weight, log_gap = np.log(np.maximum(first["weight"], tiny)), np.log(np.maximum(gaps, tiny))
    points[:, : k - 1] = log_weight[:, :-1] - log_weight[:, -1:]
    points[:, k - 1 : 2 * k - 1] = log_gap[:, :-1] - log_gap[:, -1:]
    rho = np.maximum(first["rho"], tiny)
    points[:, 2 * k - 1 : density.width] = np.log(rho) - np.log1p(-rho)
    points[:, density.width : -3] = rng.normal(size=(size, density.size - 3 - density.width))
    points[:, -3:] = np.log(np.abs(rng.normal(0.0, p.step, (size, 3))))
    return {name: values for name, values in density.natural(points).items() if name in LAW}
