"""Posterior of the difference of two runs on the same items: paired tables (exact) and paired scores (Student's t).

Right and wrong: the four kinds of pair (only A right, only B right, both, neither) have a Dirichlet law, and without
clusters the posterior of the difference is exact. With clusters a pair is right for B only, right for A only, or the
same for both. The chances of the three vary between clusters by a Dirichlet law with means
``discordant * direction, discordant * (1 - direction), 1 - discordant`` and precision ``1 / spread**2``. Pairs that are
the same are right with a chance that varies by a Beta law. At ``spread = 0`` pairs are independent.

Scores: the differences of pairs have Student's t errors, so that a few wild items do not decide, and each cluster
has its own normal effect. The difference reported is the location of that law, the mean where it is symmetric.

References
----------
Kruschke (2013), Journal of Experimental Psychology: General 142, 573 (Student's t with the prior of nu used here,
and the region of practical equivalence). Mosimann (1962), Biometrika 49, 65 (the Dirichlet-multinomial law).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, number
from d3stats.estimate import Estimate
from d3stats.models.bayes import stack
from d3stats.models.bayes.discordance import Discordance
from d3stats.models.bayes.result import (
    KIND_NAMES,
    BayesFit,
    Sampling,
    SamplingOptions,
    columns_of,
    kept_stats,
    pointwise,
    positive,
    posterior,
    posterior_estimate,
    some_of,
    variable,
)
from d3stats.resampling.clusters import cluster_codes

__all__ = ["PairedFit", "fit_paired", "paired_model"]


KINDS = ("only A right", "only B right", "both right", "both wrong")
"""Columns of a table of pairs."""
MEAN_SD = 2.0
"""Scores: prior standard deviation of the mean, in units of `scale`."""
MEAN_NU = 29.0
"""Scores: prior mean of nu - 1."""
_REPLICATES = 200
_REACH = 8.0
"""How many standard deviations of a cluster's draws the sum over its effect covers."""
_NODES = 49


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairedFit(BayesFit):
    """Posterior of the difference of two runs; all that :class:`~d3stats.models.bayes.result.BayesFit` has, and more.

    Attributes
    ----------
    runs : tuple of str
        The names of A and B.
    difference : Estimate
        B minus A, with a 95 % equal-tailed posterior interval.
    exact : Discordance or None
        The law of the difference where it is known exactly: right and wrong without clusters.

    Examples
    --------
    >>> fit = fit_paired([1] * 20 + [0] * 9 + [1] * 2 + [0] * 9, [1] * 29 + [0] * 11, rng=1)
    >>> print(fit.interval(0.9))
    B - A: 0.159 [0.034, 0.288] (90 % equal-tailed posterior, n = 40)
    >>> round(fit.probability_above(), 3), round(fit.probability_within(0.05), 3)
    (0.981, 0.072)
    """

    runs: tuple[str, str]
    difference: Estimate
    exact: Discordance | None = None

    def __str__(self) -> str:
        return f"{self.difference}; P(> 0) = {self.probability_above():z.4f}\n{self.summary()}"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The difference first, then the other parameters."""
        return (self.difference, *(e for e in super().estimates if e.name != "difference"))

    @property
    def draws(self) -> Floats:
        """Posterior draws of the difference, all chains one after another."""
        return np.asarray(stack.draws_of(self.idata, "difference"), dtype=np.float64).ravel()

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> Estimate:
        """Return the difference with an equal-tailed or a highest-density ("hdi") interval."""
        if self.exact is not None and kind == "equal-tailed":
            return _exact_estimate(self.exact, self.difference.name, level, round(self.n_obs))
        d, n = self.difference, self.n_clusters
        return posterior_estimate(
            d.name, self.draws, n=d.n, level=level, kind=kind, n_clusters=n, note=d.note
        )

    def probability_above(self, value: float = 0.0) -> float:
        """Return the posterior probability that the difference is larger than `value`: that B is better, at 0."""
        value = number("value", value)
        if self.exact is not None:
            return 1.0 - self.exact.cdf(value)
        return float((self.draws > value).mean())

    def probability_within(self, margin: float) -> float:
        """Return the posterior probability that the difference is smaller than `margin` > 0 in absolute value."""
        positive(margin=margin)
        if self.exact is not None:
            return self.exact.cdf(margin) - self.exact.cdf(-margin)
        return float((np.abs(self.draws) < margin).mean())

    def _document(self) -> dict[str, Any]:
        """Return what every fit gives, with the probability that the difference is above 0."""
        return {"probability_above_0": self.probability_above(), **super()._document()}


def paired_model(
    a: ArrayLike,
    b: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    prior: float = 1.0,
    spread: float = 0.75,
    scale: float | None = None,
    priors: Mapping[str, Any] | None = None,
) -> Any:
    """Build the PyMC model of the difference of two runs on the same items; ``difference`` is B minus A.

    Free variables. Right and wrong: ``kinds`` (Dirichlet, the chances of the four kinds of pair); with clusters
    ``discordant``, ``direction`` and ``right`` (Beta) and ``spread``, ``spread_same`` (half-normal). Scores: ``mean``
    (normal), ``sigma`` (half-normal), ``nu_above_1`` (exponential), with clusters ``sd_cluster`` (half-normal) and
    ``z`` (standard normal, the non-centred effect of each cluster).

    Parameters
    ----------
    a, b, cluster, prior, spread, scale
        As in :func:`fit_paired`.
    priors : dict, optional
        PyMC distributions by variable, such as ``pm.HalfNormal.dist(0.2)``, or functions of the shape that return one.

    Returns
    -------
    pymc.Model

    Examples
    --------
    >>> model = paired_model([1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 2, 2])
    >>> [variable.name for variable in model.free_RVs]
    ['discordant', 'direction', 'right', 'spread', 'spread_same']
    """
    data = _read(a, b, cluster, prior, spread, scale)
    laws = _laws(priors, data)
    pm = stack.load("pymc")
    with stack.quiet(), pm.Model() as model:
        if data.tables is None:
            _model_of_scores(data, laws)
        elif data.codes is None:
            kinds = variable("kinds", laws, lambda: pm.Dirichlet.dist(np.full(4, prior)), (4,))
            pm.Deterministic("difference", kinds[1] - kinds[0])
            pm.Multinomial("pairs", int(data.tables.sum()), kinds, observed=data.tables[0])
        else:
            _model_of_tables(data, laws)
    return model


def _model_of_tables(data: _Pairs, laws: Mapping[str, Any]) -> None:
    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    assert data.tables is not None
    beta, half, p = pm.Beta.dist, pm.HalfNormal.dist, data.prior
    discordant = variable("discordant", laws, lambda: beta(2 * p, 2 * p), ())
    direction = variable("direction", laws, lambda: beta(p, p), ())
    right = variable("right", laws, lambda: beta(p, p), ())
    spread = variable("spread", laws, lambda: half(data.spread), ())
    spread_same = variable("spread_same", laws, lambda: half(data.spread), ())
    pm.Deterministic("difference", discordant * (2 * direction - 1))
    sizes = data.tables.sum(axis=1)

    def logp(value: Any, kinds: Any, spread: Any, spread_same: Any) -> Any:
        # PyMC adds axes for the clusters to every parameter.
        only_a, only_b, both, wrong = (kinds[(0,) * (kinds.ndim - 1)][kind] for kind in range(4))
        same = both + wrong
        spreads = [v[(0,) * v.ndim] for v in (spread, spread_same)]
        means = (only_a, only_b, same, both / same, wrong / same)
        return _log_pmf(pt, pt.gammaln, value, means, spreads, int(sizes.max()))

    def random(kinds: Any, spread: Any, spread_same: Any, rng: np.random.Generator, size: Any = None) -> Ints:
        only_a, only_b, both, wrong = kinds.reshape(-1, 4)[0]
        logits = np.log([(only_a + only_b) / (both + wrong), only_b / only_a, both / wrong])
        return draw_tables(sizes, np.array([*logits, np.ravel(spread)[0], np.ravel(spread_same)[0]]), rng)

    pm.CustomDist(
        "pairs", pt.stack(_chances(discordant, direction, right)), spread, spread_same,
        logp=logp, random=random, observed=data.tables, dtype="int64", signature="(k),(),()->(k)",
    )  # fmt: skip


def _model_of_scores(data: _Pairs, laws: Mapping[str, Any]) -> None:
    pm = stack.load("pymc")
    unit, half = data.unit, pm.HalfNormal.dist
    mean = variable("mean", laws, lambda: pm.Normal.dist(0, MEAN_SD * unit), ())
    sigma = variable("sigma", laws, lambda: half(unit), ())
    nu = 1 + variable("nu_above_1", laws, lambda: pm.Exponential.dist(1 / MEAN_NU), ())
    pm.Deterministic("difference", mean)
    pm.Deterministic("nu", nu)
    centre = mean
    if data.codes is not None:
        sd_cluster = variable("sd_cluster", laws, lambda: half(data.spread * unit), ())
        centre = mean + (sd_cluster * pm.Normal("z", shape=int(data.codes.max()) + 1))[data.codes]
    pm.StudentT("score_difference", nu=nu, mu=centre, sigma=sigma, observed=data.gain)


def fit_paired(
    a: ArrayLike,
    b: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    prior: float = 1.0,
    spread: float = 0.75,
    scale: float | None = None,
    priors: Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    rng: RngLike = None,
    **options: Unpack[SamplingOptions],
) -> PairedFit:
    """Estimate the difference of two runs on the same items: the posterior of :func:`paired_model`.

    Right and wrong without clusters: exact limits and independent draws. Otherwise the No-U-Turn sampler, which needs
    no compilation where priors are given as numbers.

    Parameters
    ----------
    a, b : array of float, shape (items,)
        Results of both runs, item by item. All 0 or 1 (or bool): right and wrong; anything else: scores.
    cluster : array, shape (items,), optional
        The question of each item. Without it, or with one item each, items are independent.
    names : tuple of str
        What to call the runs.
    prior : float
        Right and wrong: the Dirichlet prior's parameter for each kind of pair; 1 is uniform over tables.
    spread : float
        Scale of the half-normal prior of the spread between clusters. Right and wrong: two pairs of a cluster are
        correlated by ``spread**2 / (1 + spread**2)``. Scores: the standard deviation, in units of `scale`.
    scale : float, optional
        Scores: the unit of the priors, by default the root mean square of the differences. In this unit the mean
        is normal around 0 with sd 2, sigma half-normal with scale 1, and nu - 1 exponential with mean 29.
    priors : dict, optional
        PyMC distributions by variable of :func:`paired_model`, in place of those that the numbers above describe.
    sampling, rng, **options
        As in :func:`~d3stats.models.bayes.fit_mixture`.

    Returns
    -------
    PairedFit

    Raises
    ------
    ValueError
        When the runs differ in length or have no items, a value is not finite, there is one cluster only, or all
        score differences are equal.

    Examples
    --------
    On 40 items, B alone is right on 9 and A alone on 2:

    >>> a = [1] * 20 + [0] * 9 + [1] * 2 + [0] * 9
    >>> b = [1] * 20 + [1] * 9 + [0] * 2 + [0] * 9
    >>> fit = fit_paired(a, b, rng=1)
    >>> print(fit.difference)
    B - A: 0.159 [0.009, 0.314] (95 % equal-tailed posterior, n = 40)
    >>> round(fit.probability_above(), 3), round(fit.probability_within(0.05), 3)
    (0.981, 0.072)
    """
    data = _read(a, b, cluster, prior, spread, scale)
    laws = _laws(priors, data)
    asked, generator = Sampling._of(sampling, options), as_rng(rng)
    build = partial(paired_model, a, b, cluster, prior=prior, spread=spread, scale=scale, priors=laws)
    density = _density(data)
    exact: Discordance | None = None
    notes: tuple[str, ...]
    if laws:
        idata, used, notes = posterior(asked, generator, model=build)
        x = density.point({name: stack.draws_of(idata, name) for name in density.names})
        before = density.point(stack.prior_draws(build(), density.names, _REPLICATES, generator))
    else:
        if isinstance(density, TableLaw):
            exact, used = density.exact, replace(asked, tune=0)
            shape = (asked.chains, asked.draws)
            x = generator.dirichlet(density.table + prior, size=shape)
            idata = {"sample_stats": {"diverging": np.zeros(shape, dtype=bool)}}
            notes = ("drawn independently from the exact posterior; limits and probabilities are exact",)
        else:
            idata, used, notes = posterior(asked, generator, density=density, starts=density.starts)
            x = stack.draws_of(idata, "x")
        before = np.array([density.draw_prior(generator) for _ in range(_REPLICATES)])
    named, free = density.quantities(x)
    like, weights = density.cells(x)
    n, label = len(data.gain), f"{names[1]} - {names[0]}"
    if isinstance(density, TableLaw) and density.table[:2].sum() == 0:
        counted = f"which counts {prior:g} pairs of each kind"
        notes += (f"no pair differs, so the limits depend on the prior, {counted}",)
    if (k := data.n_clusters) is not None and k < 10:
        notes += (
            f"{k} clusters say little about the variation between clusters, so the prior of the "
            "spread matters",
        )

    difference = posterior_estimate(label, named["difference"], n=n, n_clusters=data.n_clusters)
    if exact:
        difference = _exact_estimate(exact, label, 0.95, n)

    def statistics(points: Floats) -> dict[str, Floats]:
        return columns_of(density.statistics(point, generator) for point in points)

    return PairedFit(
        title="paired table, exact" if exact else density.title,
        names=tuple(named),
        n_obs=float(n),
        n_clusters=data.n_clusters,
        settings=used._with_priors(density.priors, laws),
        idata=stack.from_draws(
            named | free,
            sample_stats=kept_stats(idata),
            log_likelihood=pointwise("pair" if data.codes is None else "cluster", like, weights),
        ),
        build=build,
        notes=notes,
        cells=like,
        weights=weights,
        observed=score_statistics(data.gain) if data.tables is None else table_statistics(data.tables),
        replicated=statistics(some_of(x.reshape(-1, x.shape[-1]), _REPLICATES)),
        prior_replicated=statistics(before),
        runs=names,
        difference=difference,
        exact=exact,
    )


def _exact_estimate(law: Discordance, name: str, level: float, n: int) -> Estimate:
    low, high = law.quantile((1 - level) / 2), law.quantile((1 + level) / 2)
    kind = KIND_NAMES["equal-tailed"]
    return Estimate(name=name, value=law.mean, low=low, high=high, kind=kind, n=n, se=law.sd, level=level)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Results of two runs, checked: differences, and for right and wrong the tables by cluster."""

    gain: Floats
    codes: Ints | None
    tables: Ints | None
    prior: float
    spread: float
    unit: float = 1.0

    @property
    def n_clusters(self) -> int | None:
        return None if self.codes is None else int(self.codes.max()) + 1


def _read(
    a: ArrayLike, b: ArrayLike, cluster: ArrayLike | None, prior: float, spread: float, scale: float | None
) -> _Pairs:
    one, other = values_of("a", a), values_of("b", b)
    if len(one) != len(other):
        raise ValueError(f"a and b must have one value per item; got {len(one)} and {len(other)}")
    if not len(one):
        raise ValueError("a and b must have items; got none")
    positive(prior=prior, spread=spread)
    data = _Pairs(other - one, codes_of(cluster, len(one)), None, prior, spread)
    if np.isin(one, (0.0, 1.0)).all() and np.isin(other, (0.0, 1.0)).all():
        return replace(data, tables=tables_of(one, other, data.codes))
    if np.ptp(data.gain) == 0:
        got = f"{len(one)} that are all {data.gain[0]:g}"
        raise ValueError(f"differences must vary to have an error; got {got}")
    if scale is not None:
        positive(scale=scale)
    return replace(data, unit=float(np.sqrt((data.gain**2).mean()) if scale is None else scale))


def _density(data: _Pairs) -> TableLaw | TablePosterior | ScorePosterior:
    if data.tables is None:
        return ScorePosterior(data.gain / data.unit, data.codes, MEAN_SD, data.spread, data.unit)
    if data.codes is None:
        return TableLaw(data.tables[0], data.prior)
    return TablePosterior(data.tables, data.prior, data.spread)


def _laws(priors: Mapping[str, Any] | None, data: _Pairs) -> dict[str, Any]:
    """Check the names of a user's prior distributions."""
    known = [name for name in _density(data).names if name != "z"]
    unknown = [name for name in priors or {} if name not in known]
    if unknown:
        raise TypeError(f"priors must name variables among {', '.join(known)}; got {unknown[0]!r}")
    return dict(priors or {})


def values_of(label: str, values: ArrayLike) -> Floats:
    """Check the results of one run."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{label} must be numbers; got {values!r}") from None
    if array.ndim != 1:
        raise ValueError(f"{label} must be one-dimensional; got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        need = "finite (leave out items that a run could not score)"
        raise ValueError(f"{label} must be {need}; got {array[row]} at row {row}")
    return array


def codes_of(cluster: Any, n_items: int) -> Ints | None:
    """Number the clusters; None where every item is its own."""
    if cluster is None:
        return None
    if len(cluster) != n_items:
        raise ValueError(f"cluster must have one value per item ({n_items}); got {len(cluster)}")
    codes = cluster_codes(cluster, n_items, unit="item")
    if codes.max() == n_items - 1:
        return None
    if codes.max() == 0:
        why = "one cluster does not show the variation between clusters"
        raise ValueError(f"cluster must have at least 2 values: {why}; got 1")
    return codes


def tables_of(a: Floats, b: Floats, codes: Ints | None) -> Ints:
    """Count the kinds of pair in each cluster, shape (clusters, 4), columns as ``KINDS``."""
    kind = np.select([(a == 1) & (b == 0), (a == 0) & (b == 1), (a == 1) & (b == 1)], [0, 1, 2], 3)
    of = np.zeros_like(kind) if codes is None else codes
    return np.bincount(of * 4 + kind, minlength=4 * (int(of.max()) + 1)).reshape(-1, 4).astype(np.int64)


def table_statistics(tables: Ints) -> dict[str, float]:
    """Return share of each kind of pair, and the sd of the clusters' differences: what predictive checks compare."""
    total = tables.sum(axis=0)
    found = {f"share {kind}": float(v) for kind, v in zip(KINDS, total / total.sum(), strict=True)}
    if len(tables) > 1:
        gain = (tables[:, 1] - tables[:, 0]) / tables.sum(axis=1)
        found["sd of clusters' differences"] = float(gain.std())
    return found


def score_statistics(difference: Floats) -> dict[str, float]:
    """Return mean, median, width and share above 0 of score differences: what predictive checks compare."""
    low, middle, high = np.quantile(difference, [0.1, 0.5, 0.9]).tolist()
    return {
        "mean": float(difference.mean()),
        "median": middle,
        "width from 10 % to 90 %": high - low,
        "share above 0": float((difference > 0).mean()),
    }


def table_log_likelihood(tables: Ints, x: Floats) -> Floats:
    """Return the Dirichlet-multinomial log-likelihood of clusters' tables at a point of :class:`TablePosterior`."""
    from scipy.special import gammaln

    discordant, direction, right, *spreads = _natural(x)
    means = (*_kinds(discordant, direction), right, 1 - right)
    found = _log_pmf(np, gammaln, tables, means, spreads, int(tables.sum(axis=1).max()))
    return np.asarray(found, dtype=np.float64)


def _log_pmf(xp: Any, gammaln: Any, tables: Any, means: Any, spreads: Any, most: int) -> Any:
    """Log pmf of tables, last axis as ``KINDS``, for arrays of `xp`: numpy or ``pytensor.tensor``.

    `means` are the chances of only A, only B, same, and of right and wrong given same; `most` is the largest table.
    """

    def rising(mean: Any, spread: Any, count: Any) -> Any:
        steps = xp.cumsum(xp.log(xp.maximum(mean + np.arange(most) * spread**2, 1e-300)))
        return xp.concatenate([xp.zeros(1), steps])[count]

    a, b, both, wrong = (tables[..., kind] for kind in range(4))
    same, total = both + wrong, tables.sum(axis=-1)
    spread, spread_same = spreads
    out = gammaln(total + 1) - gammaln(tables + 1).sum(axis=-1)
    out += rising(means[0], spread, a) + rising(means[1], spread, b)
    out += rising(means[2], spread, same) - rising(1.0, spread, total)
    kept = rising(means[3], spread_same, both) + rising(means[4], spread_same, wrong)
    return out + (kept - rising(1.0, spread_same, same))


def _natural(x: Floats) -> tuple[float, float, float, float, float]:
    from scipy.special import expit

    discordant, direction, right = expit(x[:3]).tolist()
    return discordant, direction, right, float(x[3]), float(x[4])


def _kinds(discordant: Any, direction: Any) -> tuple[Any, Any, Any]:
    """Return the chances of only A, only B, and the same for both."""
    return discordant * (1 - direction), discordant * direction, 1 - discordant


def _chances(discordant: Any, direction: Any, right: Any) -> list[Any]:
    """Return the chances of ``KINDS``."""
    *differ, same = _kinds(discordant, direction)
    return [*differ, same * right, same * (1 - right)]


def _quantities(chance: Floats) -> dict[str, Floats]:
    """Name the quantities that follow from the chances of ``KINDS``, shape (..., 4)."""
    only_a, only_b, both, _ = np.moveaxis(chance, -1, 0)
    return {
        "difference": only_b - only_a,
        "accuracy_a": only_a + both,
        "accuracy_b": only_b + both,
        "discordant": only_a + only_b,
    }


class TableLaw:
    """Exact Dirichlet posterior of the chances of ``KINDS`` from one table; a point holds the four chances.

    Tables by cluster and scores have the same methods, and a log density with its gradient to sample from.
    """

    names: tuple[str, ...] = ("kinds",)
    title = "paired table"

    def __init__(self, table: Ints, prior: float) -> None:
        self.table, self.prior = table, prior
        self.priors = {"Dirichlet": prior}

    @property
    def exact(self) -> Discordance:
        """The law of the difference."""
        a, b, both, wrong = (float(n + self.prior) for n in self.table)
        return Discordance(a, b, both + wrong)

    def point(self, values: Mapping[str, Floats]) -> Floats:
        """Return the point that the variables of the PyMC model give, shape (..., size)."""
        return values["kinds"]

    def draw_prior(self, rng: np.random.Generator) -> Floats:
        """Draw one point from the prior, shape (size,)."""
        return rng.dirichlet(np.full(4, self.prior))

    def quantities(self, x: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return what a fit reports of points, and the model's variables."""
        return _quantities(x), {"kinds": x}

    def cells(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the log-likelihood of one observation of each cell, and the cells' weights (None: one each)."""
        kept = self.table > 0
        return np.log(x[..., kept]), self.table[kept].astype(np.float64)

    def statistics(self, x: Floats, rng: np.random.Generator) -> dict[str, float]:
        """Return the statistics of data drawn at one point."""
        return table_statistics(rng.multinomial(int(self.table.sum()), x)[None])


class TablePosterior:
    """Log posterior of tables by cluster, over (logits of discordant, direction and right, two signed spreads).

    `tables` has shape (clusters, 4); `prior` is the parameter of the Dirichlet law of the four kinds, for each kind,
    `spread` the scale of the half-normal laws of the spreads.
    """

    names: tuple[str, ...] = ("discordant", "direction", "right", "spread", "spread_same")
    title = "paired tables by cluster"

    def __init__(self, tables: Ints, prior: float, spread: float) -> None:
        a, b, both, wrong = tables.T
        counts = (a, b, both + wrong, tables.sum(axis=1), both, wrong)
        self.tails = [_more_than(c) for c in counts]
        self.tables, self.spread, self.shape = tables, spread, prior * np.array([2.0, 1.0, 1.0])
        self.priors = {"Dirichlet": prior, "spread": spread}

    def point(self, values: Mapping[str, Floats]) -> Floats:
        from scipy.special import logit

        chances = [logit(np.clip(values[name], 1e-15, 1 - 1e-15)) for name in self.names[:3]]
        return np.stack([*chances, values["spread"], values["spread_same"]], axis=-1)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        discordant, direction, right, spread, spread_same = _natural(x)
        a, b, same, every, both, wrong = self.tails
        by_a, by_b, by_same = (
            _rising(tail, mean, spread)
            for tail, mean in zip((a, b, same), _kinds(discordant, direction), strict=True)
        )
        by_all = _rising(every, 1.0, spread)
        by_both = _rising(both, right, spread_same)
        by_wrong = _rising(wrong, 1 - right, spread_same)
        by_kept = _rising(same, 1.0, spread_same)
        value = by_a[0] + by_b[0] + by_same[0] - by_all[0] + by_both[0] + by_wrong[0] - by_kept[0]
        in_discordant = by_a[1] * (1 - direction) + by_b[1] * direction - by_same[1]
        in_direction = discordant * (by_b[1] - by_a[1])
        share, shape, logits = np.array([discordant, direction, right]), self.shape, x[:3]
        slopes = np.array([in_discordant, in_direction, by_both[1] - by_wrong[1]]) * share * (1 - share)
        in_spread = by_a[2] + by_b[2] + by_same[2] - by_all[2]
        gradient = np.array([*slopes, in_spread, by_both[2] + by_wrong[2] - by_kept[2]])
        value -= float((shape * (np.logaddexp(0, -logits) + np.logaddexp(0, logits))).sum())
        gradient[:3] += shape * (1 - 2 * share)
        value -= 0.5 * float(((x[3:] / self.spread) ** 2).sum())
        gradient[3:] -= x[3:] / self.spread**2
        return value, gradient

    def quantities(self, x: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        from scipy.special import expit

        discordant, direction, right = np.moveaxis(expit(x[..., :3]), -1, 0)
        spreads = np.abs(x[..., 3:])
        correlation = spreads**2 / (1 + spreads**2)
        named = _quantities(np.stack(_chances(discordant, direction, right), axis=-1)) | {
            "correlation": correlation[..., 0],
            "correlation_when_same": correlation[..., 1],
        }
        free = (direction, right, spreads[..., 0], spreads[..., 1])
        return named, dict(zip(self.names[1:], free, strict=True))

    def cells(self, x: Floats) -> tuple[Floats, Floats]:
        rows, weight = np.unique(self.tables, axis=0, return_counts=True)
        like = np.stack([table_log_likelihood(rows, point) for point in x.reshape(-1, 5)])
        return like.reshape(*x.shape[:2], -1), weight.astype(np.float64)

    def statistics(self, x: Floats, rng: np.random.Generator) -> dict[str, float]:
        return table_statistics(draw_tables(self.tables.sum(axis=1), x, rng))

    def starts(self, chains: int, rng: np.random.Generator) -> Floats:
        """Return points scattered around the pooled shares, shape (chains, 5)."""
        a, b, both, wrong = (self.tables.sum(axis=0) + 1).tolist()
        centre = np.array([np.log((a + b) / (both + wrong)), np.log(b / a), np.log(both / wrong), 0.3, 0.3])
        return np.asarray(centre + 0.1 * rng.standard_normal((chains, 5)), dtype=np.float64)

    def draw_prior(self, rng: np.random.Generator) -> Floats:
        logits = _log_gamma_draws(self.shape, rng) - _log_gamma_draws(self.shape, rng)
        # Chances nearer to 0 or 1 than a float holds give the same tables.
        return np.concatenate([np.clip(logits, -36, 36), np.abs(self.spread * rng.standard_normal(2))])


def draw_tables(sizes: Ints, x: Floats, rng: np.random.Generator) -> Ints:
    """Draw tables of clusters of those sizes, shape (clusters, 4)."""
    discordant, direction, right, spread, spread_same = _natural(x)
    kinds = rng.multinomial(
        sizes, _dirichlet(np.array(_kinds(discordant, direction)), spread, len(sizes), rng)
    )
    chance = _dirichlet(np.array([right, 1 - right]), spread_same, len(sizes), rng)[:, 0]
    both = rng.binomial(kinds[:, 2], chance)
    return np.stack([kinds[:, 0], kinds[:, 1], both, kinds[:, 2] - both], axis=1).astype(np.int64)


def _dirichlet(mean: Floats, spread: float, size: int, rng: np.random.Generator) -> Floats:
    if abs(spread) < 1e-6:
        return np.tile(mean, (size, 1))
    logs = _log_gamma_draws(np.tile(np.maximum(mean, 1e-300) / spread**2, (size, 1)), rng)
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=np.float64)


def _log_gamma_draws(shape: Floats, rng: np.random.Generator) -> Floats:
    """Draw logarithms of gamma variables: of shape k as of shape k + 1 plus log(uniform) / k, without underflow."""
    logs = np.log(rng.standard_gamma(shape + 1))
    return np.asarray(logs + np.log1p(-rng.random(shape.shape)) / shape, dtype=np.float64)


def _more_than(counts: Ints) -> Floats:
    """How many clusters have more than j, for j = 0, 1, ..."""
    return np.cumsum(np.bincount(counts, minlength=1)[::-1])[::-1][1:].astype(np.float64)


def _rising(tail: Floats, mean: float, spread: float) -> tuple[float, float, float]:
    """Sum of ``tail[j] * log(mean + j * spread**2)`` and its slopes in mean and spread."""
    j = np.arange(len(tail))
    base = mean + j * spread**2
    return float(tail @ np.log(base)), float((tail / base).sum()), float((tail * j / base).sum() * 2 * spread)


class ScorePosterior:
    """Log posterior of score differences with Student's t errors and normal cluster effects.

    A point holds mean, log sigma, log(nu - 1), with clusters the signed spread between them and each one's effect in
    units of that spread. Differences come in units of `unit`; priors are those that :func:`fit_paired` documents.
    """

    SIZE = 4

    def __init__(
        self, difference: Floats, cluster: Ints | None, mean_sd: float, spread: float, unit: float = 1.0
    ) -> None:
        self.d, self.cluster, self.mean_sd, self.spread = difference, cluster, mean_sd, spread
        self.unit, self.priors = unit, {"scale": unit, "spread": spread}
        self.title = "paired scores" + ("" if cluster is None else " by cluster")
        self.names = ("mean", "sigma", "nu_above_1", "sd_cluster", "z")[: 3 if cluster is None else 5]
        self.n_clusters = 0 if cluster is None else int(cluster.max()) + 1
        self.free = 3 if cluster is None else self.SIZE + self.n_clusters

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        from scipy.special import digamma

        if x[1:3].max() > 50 or x[1] < -50:
            return -math.inf, np.zeros_like(x)
        sigma, nu = math.exp(x[1]), 1 + math.exp(x[2])
        r, n = (self.d - self.centre(x)) / sigma, len(self.d)
        weight = (nu + 1) / (nu + r**2)
        by_row = weight * r / sigma
        in_nu = n * (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu) - np.log1p(r**2 / nu).sum()
        in_nu = 0.5 * (in_nu + (weight * r**2).sum() / nu)
        gradient = np.zeros_like(x)
        gradient[0] = by_row.sum() - x[0] / self.mean_sd**2
        gradient[1] = (weight * r**2).sum() - n + 1 - sigma**2
        gradient[2] = (in_nu - 1 / MEAN_NU) * (nu - 1) + 1
        value = float(self.log_likelihood(x).sum()) - 0.5 * (x[0] / self.mean_sd) ** 2
        value += x[1] - 0.5 * sigma**2 + x[2] - (nu - 1) / MEAN_NU
        if self.cluster is not None:
            total = np.bincount(self.cluster, weights=by_row, minlength=self.n_clusters)
            z = x[self.SIZE :]
            gradient[3] = z @ total - x[3] / self.spread**2
            gradient[self.SIZE :] = x[3] * total - z
            value -= 0.5 * float((x[3] / self.spread) ** 2 + z @ z)
        return value, gradient

    def point(self, values: Mapping[str, Floats]) -> Floats:
        u = self.unit
        first = [values["mean"] / u, np.log(values["sigma"] / u), np.log(values["nu_above_1"])]
        if self.cluster is None:
            return np.stack(first, axis=-1)
        return np.concatenate([np.stack([*first, values["sd_cluster"] / u], axis=-1), values["z"]], axis=-1)

    def quantities(self, x: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
        u, nu = self.unit, 1 + np.exp(x[..., 2])
        named = {"difference": x[..., 0] * u, "sigma": np.exp(x[..., 1]) * u, "nu": nu}
        free = {"mean": named["difference"], "nu_above_1": nu - 1}
        if self.cluster is not None:
            named["sd_cluster"] = np.abs(x[..., 3]) * u
            free["z"] = x[..., self.SIZE :] * np.sign(x[..., 3:4])
        return named, free

    def cells(self, x: Floats) -> tuple[Floats, None]:
        like = self.marginal_log_likelihood(x.reshape(-1, x.shape[-1]), self.unit)
        return like.reshape(*x.shape[:2], -1), None

    def statistics(self, x: Floats, rng: np.random.Generator) -> dict[str, float]:
        new = x.copy()
        if self.cluster is not None:
            new[self.SIZE :] = rng.standard_normal(self.n_clusters)
        errors = math.exp(x[1]) * rng.standard_t(1 + math.exp(x[2]), size=len(self.d))
        return score_statistics(self.unit * np.asarray(self.centre(new) + errors, dtype=np.float64))

    def centre(self, x: Floats) -> Floats | float:
        """Location of each difference."""
        return float(x[0]) if self.cluster is None else np.asarray(x[0] + x[3] * x[self.SIZE :][self.cluster])

    def log_likelihood(self, x: Floats) -> Floats:
        """Log density of each difference given its cluster's effect."""
        return _student(self.d - self.centre(x), x)

    def marginal_log_likelihood(self, points: Floats, unit: float) -> Floats:
        """Log density of each cluster's differences, its effect integrated out by a sum over equally spaced values.

        Shape (draws, clusters) for points of shape (draws, size), or (draws, differences) without clusters; in the
        units of the data, where a difference is `unit` times what this object holds.
        """
        if self.cluster is None:
            return np.stack([self.log_likelihood(point) for point in points]) - math.log(unit)
        z = points[:, self.SIZE :] * np.sign(points[:, 3:4])
        middle, sd = z.mean(axis=0), np.maximum(z.std(axis=0), 1e-3)
        grid = np.linspace(-_REACH, _REACH, _NODES)
        nodes = middle[:, None] + sd[:, None] * grid
        log_weight = -0.5 * nodes**2 + np.log((grid[1] - grid[0]) * sd[:, None] / math.sqrt(2 * math.pi))
        order = np.argsort(self.cluster, kind="stable")
        size = np.bincount(self.cluster, minlength=self.n_clusters)
        first, of = np.concatenate([[0], np.cumsum(size)[:-1]]), self.cluster[order]
        out = np.empty((len(points), self.n_clusters))
        for row, x in enumerate(points):
            centre = x[0] + abs(x[3]) * nodes
            like = _student(self.d[order][:, None] - centre[of], x)
            out[row] = _log_sum(np.add.reduceat(like, first, axis=0) + log_weight) - size * math.log(unit)
        return out

    def starts(self, chains: int, rng: np.random.Generator) -> Floats:
        """Return points scattered around the median, shape (chains, size)."""
        x = np.zeros(self.free)
        x[:3] = np.median(self.d), math.log(max(float(self.d.std()), 0.05)), math.log(10.0)
        if self.cluster is not None:
            x[3] = 0.2
        return np.asarray(x + 0.1 * rng.standard_normal((chains, self.free)), dtype=np.float64)

    def draw_prior(self, rng: np.random.Generator) -> Floats:
        x = rng.standard_normal(self.free)
        x[0] *= self.mean_sd
        x[1], x[2] = math.log(abs(rng.standard_normal())), math.log(MEAN_NU * rng.standard_exponential())
        if self.cluster is not None:
            x[3] = abs(x[3] * self.spread)
        return np.asarray(x, dtype=np.float64)


def _student(residual: Floats, x: Floats) -> Floats:
    """Log density of Student's t errors at a point's sigma and nu."""
    nu, sigma = 1 + math.exp(x[2]), math.exp(x[1])
    constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - x[1]
    return np.asarray(constant - (nu + 1) / 2 * np.log1p((residual / sigma) ** 2 / nu), dtype=np.float64)


def _log_sum(rows: Floats) -> Floats:
    top = rows.max(axis=-1)
    return np.asarray(top + np.log(np.exp(rows - top[..., None]).sum(axis=-1)), dtype=np.float64)
