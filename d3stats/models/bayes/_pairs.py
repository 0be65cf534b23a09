"""Laws of paired results: tables of right and wrong by cluster, and score differences with heavy tails.

Right and wrong: within a cluster a pair is right for B only, right for A only, or the same for both, with chances
that vary between clusters by a Dirichlet law with means ``discordant * direction, discordant * (1 - direction),
1 - discordant`` and precision ``1 / spread**2``; pairs that are the same are right with a chance that varies by a
Beta law. Its likelihood is a product of ``mean + j * spread**2``, so it needs only how many clusters have
more than j pairs of each kind, and is smooth at ``spread = 0``, where pairs are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "Discordance", "ScorePosterior", "TablePosterior", "draw_tables", "table_log_likelihood"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("only A right", "only B right", "both right", "both wrong")
"""Columns of a table of pairs."""


@dataclass(frozen=True, slots=True)
class Discordance:
    """Exact posterior of the difference of two shares from one table of pairs with a Dirichlet prior.

    The difference is ``S * (2 W - 1)``: S, the chance that a pair differs, and W, the chance that it is B that is
    right, are independent Beta variables.

    Attributes
    ----------
    only_a, only_b, same : float
        Parameters of the Dirichlet posterior: counts plus prior.
    """

    only_a: float
    only_b: float
    same: float

    @property
    def mean(self) -> float:
        """Posterior mean of the difference."""
        return (self.only_b - self.only_a) / self._total

    @property
    def sd(self) -> float:
        """Posterior standard deviation of the difference."""
        second = (self.only_a + self.only_b) / self._total - self.mean**2
        return math.sqrt(second / (self._total + 1))

    def cdf(self, value: float) -> float:
        """Posterior probability that the difference is at most `value`."""
        from scipy.special import betainc

        s, weight = _law_of_discordance(self.only_a + self.only_b, self.same)
        return float(weight @ betainc(self.only_b, self.only_a, np.clip((value / s + 1) / 2, 0, 1)))

    def quantile(self, probability: float) -> float:
        """Value that the difference is below with that probability."""
        from scipy.optimize import brentq

        return float(brentq(lambda v: self.cdf(v) - probability, -1.0, 1.0, xtol=1e-13))

    @property
    def _total(self) -> float:
        return self.only_a + self.only_b + self.same


@lru_cache(maxsize=64)
def _law_of_discordance(a: float, b: float) -> tuple[Floats, Floats]:
    """Points and weights of Beta(a, b) by Gauss-Legendre over its middle; what lies outside is below 1e-14."""
    from scipy.special import betaincinv, betaln

    low, high = betaincinv(a, b, 1e-15), 1 - betaincinv(b, a, 1e-15)
    x, w = _gauss_legendre()
    s = low + (high - low) * (x + 1) / 2
    weight = w * np.exp((a - 1) * np.log(s) + (b - 1) * np.log1p(-s) - betaln(a, b))
    return s, weight / weight.sum()


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(400)
    return x, w


def table_log_likelihood(tables: Ints, x: Floats) -> Floats:
    """Log-likelihood of clusters' tables, shape (clusters,): the plain form of what :class:`TablePosterior` adds up.

    Parameters
    ----------
    tables : ndarray of int, shape (clusters, 4)
        Columns as ``KINDS``.
    x : ndarray of float, shape (5,)
        As :class:`TablePosterior` takes it.
    """
    from scipy.special import gammaln

    discordant, direction, right, spread, spread_same = _natural(x)
    a, b, both, wrong = tables.T
    same, total = both + wrong, tables.sum(axis=1)
    most = int(total.max()) + 1

    def rising(mean: float, spread: float, count: Ints) -> Floats:
        steps = np.concatenate([[0.0], np.cumsum(np.log(mean + np.arange(most) * spread**2))])
        return np.asarray(steps[count], dtype=np.float64)

    out = gammaln(total + 1) - gammaln(tables + 1).sum(axis=1)
    out += rising(discordant * (1 - direction), spread, a) + rising(discordant * direction, spread, b)
    out += rising(1 - discordant, spread, same) - rising(1.0, spread, total)
    out += (
        rising(right, spread_same, both)
        + rising(1 - right, spread_same, wrong)
        - rising(1.0, spread_same, same)
    )
    return np.asarray(out, dtype=np.float64)


def _natural(x: Floats) -> tuple[float, float, float, float, float]:
    from scipy.special import expit

    discordant, direction, right = expit(x[:3]).tolist()
    return discordant, direction, right, float(x[3]), float(x[4])


class TablePosterior:
    """Log posterior over (logit discordant, logit direction, logit right when same, two signed spreads).

    Parameters
    ----------
    tables : ndarray of int, shape (clusters, 4)
    prior : float
        Of the Dirichlet law of the four kinds, for each kind.
    spread : float
        Scale of the half-normal laws of the spreads; with a spread r, two pairs of a cluster are correlated by
        ``r**2 / (1 + r**2)``.
    """

    def __init__(self, tables: Ints, prior: float, spread: float) -> None:
        a, b, both, wrong = tables.T
        counts = (a, b, both + wrong, tables.sum(axis=1), both, wrong)
        self.tails = [_more_than(c) for c in counts]
        self.prior, self.spread = prior, spread
        self.tables = tables

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        discordant, direction, right, spread, spread_same = _natural(x)
        a, b, same, every, both, wrong = self.tails
        by_a = _rising(a, discordant * (1 - direction), spread)
        by_b = _rising(b, discordant * direction, spread)
        by_same = _rising(same, 1 - discordant, spread)
        by_all = _rising(every, 1.0, spread)
        by_both = _rising(both, right, spread_same)
        by_wrong = _rising(wrong, 1 - right, spread_same)
        by_kept = _rising(same, 1.0, spread_same)
        value = by_a[0] + by_b[0] + by_same[0] - by_all[0] + by_both[0] + by_wrong[0] - by_kept[0]
        in_discordant = by_a[1] * (1 - direction) + by_b[1] * direction - by_same[1]
        in_direction = discordant * (by_b[1] - by_a[1])
        gradient = np.array(
            [
                in_discordant * discordant * (1 - discordant),
                in_direction * direction * (1 - direction),
                (by_both[1] - by_wrong[1]) * right * (1 - right),
                by_a[2] + by_b[2] + by_same[2] - by_all[2],
                by_both[2] + by_wrong[2] - by_kept[2],
            ]
        )
        shape = self.prior * np.array([2.0, 1.0, 1.0])
        logits = x[:3]
        value -= float((shape * (np.logaddexp(0, -logits) + np.logaddexp(0, logits))).sum())
        gradient[:3] += shape * (1 - 2 * np.array([discordant, direction, right]))
        value -= 0.5 * float(((x[3:] / self.spread) ** 2).sum())
        gradient[3:] -= x[3:] / self.spread**2
        return value, gradient

    def starts(self, chains: int, rng: np.random.Generator) -> Floats:
        """Return points scattered around the pooled shares, shape (chains, 5)."""
        a, b, both, wrong = (self.tables.sum(axis=0) + 1).tolist()
        centre = np.array([np.log((a + b) / (both + wrong)), np.log(b / a), np.log(both / wrong), 0.3, 0.3])
        return np.asarray(centre + 0.1 * rng.standard_normal((chains, 5)), dtype=np.float64)

    def draw_prior(self, rng: np.random.Generator) -> Floats:
        """Draw one point from the prior, shape (5,)."""
        shape = self.prior * np.array([2.0, 1.0, 1.0])
        up, down = rng.standard_gamma(shape), rng.standard_gamma(shape)
        return np.concatenate([np.log(up / down), np.abs(self.spread * rng.standard_normal(2))])


def draw_tables(sizes: Ints, x: Floats, rng: np.random.Generator) -> Ints:
    """Draw tables of clusters of those sizes, shape (clusters, 4)."""
    discordant, direction, right, spread, spread_same = _natural(x)
    mean = np.array([discordant * (1 - direction), discordant * direction, 1 - discordant])
    chance = _dirichlet(mean, spread, len(sizes), rng)
    kinds = rng.multinomial(sizes, chance)
    both = rng.binomial(
        kinds[:, 2], _dirichlet(np.array([right, 1 - right]), spread_same, len(sizes), rng)[:, 0]
    )
    return np.stack([kinds[:, 0], kinds[:, 1], both, kinds[:, 2] - both], axis=1).astype(np.int64)


def _dirichlet(mean: Floats, spread: float, size: int, rng: np.random.Generator) -> Floats:
    if abs(spread) < 1e-6:
        return np.tile(mean, (size, 1))
    # log of a gamma variable of shape k is that of shape k + 1 plus log(uniform) / k: no underflow at small k.
    shape = mean / spread**2
    logs = np.log(rng.standard_gamma(shape + 1, size=(size, len(mean))))
    logs += np.log1p(-rng.random((size, len(mean)))) / shape
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=np.float64)


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

    Coordinates: mean, log sigma, log(nu - 1), signed spread between clusters, and each cluster's effect in units of
    that spread. Differences come in units of `scale`; priors are those that :func:`fit_paired` documents.
    """

    SIZE = 4

    def __init__(self, difference: Floats, cluster: Ints | None, mean_sd: float, spread: float) -> None:
        self.d, self.cluster, self.mean_sd, self.spread = difference, cluster, mean_sd, spread
        self.n_clusters = 0 if cluster is None else int(cluster.max()) + 1
        self.free = 3 if cluster is None else self.SIZE + self.n_clusters

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        from scipy.special import digamma

        if x[1:3].max() > 50 or x[1] < -50:
            return -math.inf, np.zeros_like(x)
        sigma, nu = math.exp(x[1]), 1 + math.exp(x[2])
        r = (self.d - self.centre(x)) / sigma
        like = self.log_likelihood(x)
        weight = (nu + 1) / (nu + r**2)
        by_row = weight * r / sigma
        n = len(self.d)
        in_nu = 0.5 * (
            n * (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu)
            - np.log1p(r**2 / nu).sum()
            + (weight * r**2).sum() / nu
        )
        gradient = np.zeros_like(x)
        gradient[0] = by_row.sum() - x[0] / self.mean_sd**2
        gradient[1] = (weight * r**2).sum() - n + 1 - sigma**2
        gradient[2] = (in_nu - 1 / 29) * (nu - 1) + 1
        value = float(like.sum()) - 0.5 * (x[0] / self.mean_sd) ** 2
        value += x[1] - 0.5 * sigma**2 + x[2] - (nu - 1) / 29
        if self.cluster is not None:
            total = np.bincount(self.cluster, weights=by_row, minlength=self.n_clusters)
            z = x[self.SIZE :]
            gradient[3] = z @ total - x[3] / self.spread**2
            gradient[self.SIZE :] = x[3] * total - z
            value -= 0.5 * float((x[3] / self.spread) ** 2 + z @ z)
        return value, gradient

    def centre(self, x: Floats) -> Floats | float:
        """Location of each difference."""
        return float(x[0]) if self.cluster is None else np.asarray(x[0] + x[3] * x[self.SIZE :][self.cluster])

    def log_likelihood(self, x: Floats) -> Floats:
        """Log density of each difference given its cluster's effect."""
        from scipy.special import gammaln

        nu = 1 + math.exp(x[2])
        r = (self.d - self.centre(x)) / math.exp(x[1])
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * math.log(nu * math.pi) - x[1]
        return np.asarray(constant - (nu + 1) / 2 * np.log1p(r**2 / nu), dtype=np.float64)

    def starts(self, chains: int, rng: np.random.Generator) -> Floats:
        """Return points scattered around the median, shape (chains, size)."""
        x = np.zeros(self.free)
        x[:3] = np.median(self.d), math.log(max(float(self.d.std()), 0.05)), math.log(10.0)
        if self.cluster is not None:
            x[3] = 0.2
        return np.asarray(x + 0.1 * rng.standard_normal((chains, self.free)), dtype=np.float64)

    def draw_prior(self, rng: np.random.Generator) -> Floats:
        """Draw one point from the prior, shape (size,)."""
        x = rng.standard_normal(self.free)
        x[0] *= self.mean_sd
        x[1], x[2] = math.log(abs(rng.standard_normal())), math.log(29 * rng.standard_exponential())
        if self.cluster is not None:
            x[3] = abs(x[3] * self.spread)
        return np.asarray(x, dtype=np.float64)

    def replicate(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Draw differences from new clusters of the same sizes."""
        new = x.copy()
        if self.cluster is not None:
            new[self.SIZE :] = rng.standard_normal(self.n_clusters)
        errors = math.exp(x[1]) * rng.standard_t(1 + math.exp(x[2]), size=len(self.d))
        return np.asarray(self.centre(new) + errors, dtype=np.float64)
