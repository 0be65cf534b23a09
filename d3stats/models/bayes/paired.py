"""Is run B better than run A on the same items, and by how much? The posterior of a paired difference.

Right and wrong: only pairs that differ tell the runs apart. Without clusters the four kinds of pair (only A right,
only B right, both, neither) have a Dirichlet law, and the posterior of the difference is exact, no sampler needed.
With clusters the chances vary from cluster to cluster, and how much is learned (see ``_pairs``): items of one
question that go the same way count for less.

Scores: the differences of pairs have Student's t errors, so that a few wild items do not decide, and each cluster
has its own effect. The difference reported is the location of that law, the mean where it is symmetric.

A posterior answers what a p-value cannot: how probable it is that B is better, and that the difference is too small to
matter.

References
----------
Kruschke (2013), Journal of Experimental Psychology: General 142, 573 (Student's t with the prior of nu used here,
and the region of practical equivalence). Mosimann (1962), Biometrika 49, 65 (the Dirichlet-multinomial law).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, number
from d3stats.estimate import Estimate
from d3stats.models.bayes import _stack
from d3stats.models.bayes._pairs import (
    Discordance,
    ScorePosterior,
    TablePosterior,
    draw_tables,
    table_log_likelihood,
)
from d3stats.models.bayes._pairs_read import (
    codes_of,
    replicates,
    score_statistics,
    table_statistics,
    tables_of,
    values_of,
)
from d3stats.models.bayes.result import BayesFit, BayesSettings, drawn, posterior_estimate

__all__ = ["PairedFit", "fit_paired"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_REPLICATES = 200
_TAIL = 1e-6


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairedFit(BayesFit):
    """What :func:`fit_paired` found: a :class:`BayesFit` that leads with the difference.

    Attributes
    ----------
    runs : tuple of str
        The names of A and B.
    difference : Estimate
        B minus A, with a 95 % equal-tailed posterior interval.
    exact : Discordance or None
        The law of the difference where it is known exactly: right and wrong without clusters.
    """

    runs: tuple[str, str]
    difference: Estimate
    exact: Discordance | None = None

    def __str__(self) -> str:
        return f"{self.difference}; P(> 0) = {self.probability_above():.4f}\n{self.summary()}"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The difference first, then the other parameters."""
        return (self.difference, *(e for e in super().estimates if e.name != "difference"))

    @property
    def draws(self) -> Floats:
        """Posterior draws of the difference, all chains one after another."""
        return np.asarray(_stack.draws_of(self.idata, "difference"), dtype=np.float64).ravel()

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> Estimate:
        """Return the difference with another interval."""
        if self.exact is not None and kind == "equal-tailed":
            return _exact_estimate(self.exact, self.difference.name, level, round(self.n_obs))
        d = self.difference
        return posterior_estimate(
            d.name, self.draws, n=d.n, level=level, kind=kind, n_clusters=d.n_clusters, note=d.note
        )

    def probability_above(self, value: float = 0.0) -> float:
        """Return the posterior probability that the difference is larger than `value`: that B is better, at 0."""
        value = number("value", value)
        if self.exact is not None:
            return 1.0 - self.exact.cdf(value)
        return float((self.draws > value).mean())

    def probability_within(self, margin: float) -> float:
        """Return the posterior probability that the difference is smaller than `margin` in absolute value.

        `margin` > 0 is the smallest difference that would matter, in the units of the difference.
        """
        margin = number("margin", margin)
        if margin <= 0:
            raise ValueError(f"margin must be > 0; got margin={margin!r}")
        if self.exact is not None:
            return self.exact.cdf(margin) - self.exact.cdf(-margin)
        return float((np.abs(self.draws) < margin).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return what every fit gives, with the probability that the difference is above 0."""
        return {"probability_above_0": self.probability_above(), **super().to_dict()}


def fit_paired(
    a: ArrayLike,
    b: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    prior: float = 1.0,
    spread: float = 0.75,
    scale: float | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    target_accept: float = 0.9,
    rng: RngLike = None,
) -> PairedFit:
    """Fit the difference of two runs on the same items.

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
    draws, tune, chains : int
        Draws kept and draws to adapt, of each chain.
    target_accept : float
        Of NUTS; diverging draws are drawn once more at 0.99, and the notes say so.
    rng : Generator, int or None

    Returns
    -------
    PairedFit

    Raises
    ------
    ValueError
        When the runs differ in length or have no items, a value is not finite, there is one cluster only, or all
        score differences are equal.
    ImportError
        Without the extra ``bayes``.

    Examples
    --------
    Of 40 items, B alone is right on 9 and A alone on 2:

    >>> a = [1] * 20 + [0] * 9 + [1] * 2 + [0] * 9
    >>> b = [1] * 20 + [1] * 9 + [0] * 2 + [0] * 9
    >>> fit = fit_paired(a, b, rng=1)
    >>> print(fit.difference)
    B - A: 0.159 [0.009, 0.314] (95 % equal-tailed posterior, n = 40)
    >>> round(fit.probability_above(), 3), round(fit.probability_within(0.05), 3)
    (0.981, 0.072)
    """
    one, other = values_of("a", a), values_of("b", b)
    if len(one) != len(other):
        raise ValueError(f"a and b must have one value per item; got {len(one)} and {len(other)}")
    if not len(one):
        raise ValueError("a and b must have items; got none")
    for label, value in (("prior", prior), ("spread", spread)):
        if number(label, value) <= 0:
            raise ValueError(f"{label} must be > 0; got {label}={value!r}")
    codes = codes_of(cluster, len(one))
    binary = bool(np.isin(one, (0.0, 1.0)).all() and np.isin(other, (0.0, 1.0)).all())
    sampling = {"draws": draws, "tune": tune, "chains": chains, "target_accept": target_accept}
    generator = as_rng(rng)
    if not binary:
        return _scores(other - one, codes, names, spread, scale, sampling, generator)
    tables = tables_of(one, other, codes)
    if codes is None:
        return _one_table(tables.sum(axis=0), names, prior, sampling, generator)
    return _clustered(tables, names, prior, spread, sampling, generator)


def _label(names: tuple[str, str]) -> str:
    return f"{names[1]} - {names[0]}"


def _exact_estimate(law: Discordance, name: str, level: float, n: int) -> Estimate:
    return Estimate(
        name=name,
        value=law.mean,
        low=law.quantile((1 - level) / 2),
        high=law.quantile((1 + level) / 2),
        se=law.sd,
        level=level,
        kind="equal-tailed posterior",
        n=n,
    )


def _one_table(
    table: Ints, names: tuple[str, str], prior: float, sampling: dict[str, Any], rng: np.random.Generator
) -> PairedFit:
    shape = (sampling["chains"], sampling["draws"])
    n = int(table.sum())
    chance = rng.dirichlet(table + prior, size=shape)
    law = Discordance(
        float(table[0] + prior), float(table[1] + prior), float(table[2] + table[3] + 2 * prior)
    )
    kept = table > 0
    cells, weights = np.log(chance[..., kept]), table[kept].astype(np.float64)
    idata = _stack.from_draws(
        _named(chance),
        sample_stats={"diverging": np.zeros(shape, dtype=bool)},
        log_likelihood=_stack.pointwise("pair", cells, weights),
    )
    some = chance.reshape(-1, 4)[np.linspace(0, chance[..., 0].size - 1, _REPLICATES).astype(np.int64)]
    before = rng.dirichlet(np.full(4, prior), size=_REPLICATES)
    return PairedFit(
        model="paired table, exact",
        names=("difference", "accuracy_a", "accuracy_b", "discordant"),
        n_obs=float(n),
        settings=BayesSettings(shape[1], 0, shape[0], 1.0, {"Dirichlet": prior}),
        idata=idata,
        notes=_one_table_notes(table, prior),
        cells=cells,
        weights=weights,
        observed=table_statistics(table[None]),
        replicated=replicates(table_statistics(rng.multinomial(n, p)[None]) for p in some),
        prior_replicated=replicates(table_statistics(rng.multinomial(n, p)[None]) for p in before),
        runs=names,
        difference=_exact_estimate(law, _label(names), 0.95, n),
        exact=law,
    )


def _one_table_notes(table: Ints, prior: float) -> tuple[str, ...]:
    notes: tuple[str, ...] = (
        "drawn independently from the exact posterior; limits and probabilities are exact",
    )
    if table[0] + table[1] == 0:
        notes += (
            f"no pair differs: the limits depend on the prior, which counts {prior:g} pairs of each kind",
        )
    return notes


def _named(chance: Floats) -> dict[str, Floats]:
    """Name the quantities that follow from the chances of ``KINDS``, shape (..., 4)."""
    only_a, only_b, both, _ = np.moveaxis(chance, -1, 0)
    return {
        "difference": only_b - only_a,
        "accuracy_a": only_a + both,
        "accuracy_b": only_b + both,
        "discordant": only_a + only_b,
    }


def _clustered(
    tables: Ints,
    names: tuple[str, str],
    prior: float,
    spread: float,
    sampling: dict[str, Any],
    rng: np.random.Generator,
) -> PairedFit:
    from scipy.special import expit

    density = TablePosterior(tables, prior, spread)
    idata, accept, notes = _sampled(density, sampling, rng)
    x = _stack.draws_of(idata, "x").astype(np.float64)
    discordant, direction, right = np.moveaxis(expit(x[..., :3]), -1, 0)
    same = 1 - discordant
    chance = np.stack(
        [discordant * (1 - direction), discordant * direction, same * right, same * (1 - right)], axis=-1
    )
    spreads = np.abs(x[..., 3:])
    correlation = spreads**2 / (1 + spreads**2)
    named = _named(chance) | {
        "correlation": correlation[..., 0],
        "correlation_when_same": correlation[..., 1],
    }
    rows, weight = np.unique(tables, axis=0, return_counts=True)
    flat = x.reshape(-1, 5)
    like = np.stack([table_log_likelihood(rows, point) for point in flat]).reshape(*x.shape[:2], -1)
    packed = _stack.from_draws(
        named,
        sample_stats={"diverging": _stack.draws_of(idata, "diverging", "sample_stats")},
        log_likelihood=_stack.pointwise("cluster", like, weight),
    )
    sizes = tables.sum(axis=1)
    some = flat[np.linspace(0, len(flat) - 1, _REPLICATES).astype(np.int64)]
    before = [density.draw_prior(rng) for _ in range(_REPLICATES)]
    n, n_clusters = int(sizes.sum()), len(tables)
    return PairedFit(
        model="paired tables by cluster",
        names=tuple(named),
        n_obs=float(n),
        n_clusters=n_clusters,
        settings=BayesSettings(
            sampling["draws"],
            sampling["tune"],
            sampling["chains"],
            accept,
            {"Dirichlet": prior, "spread": spread},
        ),
        idata=packed,
        notes=_few(notes, n_clusters),
        cells=like,
        weights=weight.astype(np.float64),
        observed=table_statistics(tables),
        replicated=replicates(table_statistics(draw_tables(sizes, point, rng)) for point in some),
        prior_replicated=replicates(table_statistics(draw_tables(sizes, point, rng)) for point in before),
        runs=names,
        difference=posterior_estimate(_label(names), named["difference"], n=n, n_clusters=n_clusters),
    )


def _scores(
    difference: Floats,
    codes: Ints | None,
    names: tuple[str, str],
    spread: float,
    scale: float | None,
    sampling: dict[str, Any],
    rng: np.random.Generator,
) -> PairedFit:
    if np.ptp(difference) == 0:
        raise ValueError(
            f"differences must vary to have an error; got {len(difference)} that are all {difference[0]:g}"
        )
    unit = float(np.sqrt((difference**2).mean())) if scale is None else number("scale", scale)
    if unit <= 0:
        raise ValueError(f"scale must be > 0; got scale={scale!r}")
    density = ScorePosterior(difference / unit, codes, 2.0, spread)
    idata, accept, notes = _sampled(density, sampling, rng)
    x = _stack.draws_of(idata, "x").astype(np.float64)
    named = {"difference": x[..., 0] * unit, "sigma": np.exp(x[..., 1]) * unit, "nu": 1 + np.exp(x[..., 2])}
    if codes is not None:
        named["sd_cluster"] = np.abs(x[..., 3]) * unit
    flat = x.reshape(-1, x.shape[-1])
    like = density.marginal_log_likelihood(flat, unit).reshape(*x.shape[:2], -1)
    packed = _stack.from_draws(
        named,
        sample_stats={"diverging": _stack.draws_of(idata, "diverging", "sample_stats")},
        log_likelihood={"pair" if codes is None else "cluster": like},
    )
    some = flat[np.linspace(0, len(flat) - 1, _REPLICATES).astype(np.int64)]
    before = [density.draw_prior(rng) for _ in range(_REPLICATES)]
    n, n_clusters = len(difference), None if codes is None else density.n_clusters
    return PairedFit(
        model="paired scores" + ("" if codes is None else " by cluster"),
        names=tuple(named),
        n_obs=float(n),
        n_clusters=n_clusters,
        settings=BayesSettings(
            sampling["draws"], sampling["tune"], sampling["chains"], accept, {"scale": unit, "spread": spread}
        ),
        idata=packed,
        notes=notes if n_clusters is None else _few(notes, n_clusters),
        cells=like,
        observed=score_statistics(difference),
        replicated=replicates(score_statistics(unit * density.replicate(point, rng)) for point in some),
        prior_replicated=replicates(
            score_statistics(unit * density.replicate(point, rng)) for point in before
        ),
        runs=names,
        difference=posterior_estimate(_label(names), named["difference"], n=n, n_clusters=n_clusters),
    )


def _sampled(
    density: TablePosterior | ScorePosterior, sampling: dict[str, Any], rng: np.random.Generator
) -> tuple[Any, float, tuple[str, ...]]:
    return drawn(
        lambda accept, child: _stack.sample_density(
            density,
            density.starts(sampling["chains"], child),
            draws=sampling["draws"],
            tune=sampling["tune"],
            target_accept=accept,
            rng=child,
        ),
        target_accept=sampling["target_accept"],
        rng=rng,
    )


def _few(notes: tuple[str, ...], n_clusters: int) -> tuple[str, ...]:
    if n_clusters >= 10:
        return notes
    return (
        *notes,
        f"{n_clusters} clusters say little about how clusters vary: the prior of the spread matters",
    )
