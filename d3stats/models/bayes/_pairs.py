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
_REACH = 8.0
"""How many standard deviations of a cluster's draws the sum over its effect covers."""
_NODES = 49


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
        if value < 0:
            return _beyond(-value, self.only_b, self.only_a, self.same)
        return 1.0 - _beyond(value, self.only_a, self.only_b, self.same)

    def quantile(self, probability: float) -> float:
        """Value that the difference is below with that probability."""
        below = self.cdf(0.0)
        if probability < below:
            return -_exceeded(probability, self.only_b, self.only_a, self.same)
        return _exceeded(1.0 - probability, self.only_a, self.only_b, self.same)

    @property
    def _total(self) -> float:
        return self.only_a + self.only_b + self.same


def _beyond(size: float, against: float, favour: float, same: float) -> float:
    """Probability that ``S * (2 W - 1) > size`` for independent S, Beta(against + favour, same), and W, Beta(favour,
    against); size >= 0.

    The integral over S runs over its quantiles above `size`, where the integrand is a probability, and so bounded,
    however small a parameter is (a density with a parameter below 1 is not); what is left is a steep end, which
    tanh-sinh quadrature (Takahasi and Mori, 1974) is made for.
    """
    from scipy.special import betainc, betaincc, betainccinv

    above = float(betaincc(against + favour, same, min(size, 1.0)))
    if size == 0 or above == 0:
        return above * float(betainc(against, favour, 0.5))
    part, weight = _tanh_sinh()
    s = np.maximum(betainccinv(against + favour, same, above * part), size)
    return above * float(weight @ betainc(against, favour, (1 - size / s) / 2))


def _exceeded(probability: float, against: float, favour: float, same: float) -> float:
    """The size that the difference is beyond with that probability, searched on a logarithmic scale."""
    from scipy.optimize import brentq

    def excess(log_size: float) -> float:
        return _beyond(math.exp(log_size), against, favour, same) - probability

    least = -700.0
    if excess(least) <= 0:
        return 0.0
    return math.exp(brentq(excess, least, 0.0, xtol=1e-13)) if excess(0.0) < 0 else 1.0


@lru_cache(maxsize=1)
def _tanh_sinh() -> tuple[Floats, Floats]:
    """Points in (0, 1) and weights that add up to 1."""
    y = np.linspace(-4.0, 4.0, 161)
    up = 1 / (1 + np.exp(-math.pi * np.sinh(y)))
    weight = np.cosh(y) * up * up[::-1]
    return up, weight / weight.sum()


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
        steps = np.concatenate(
            [[0.0], np.cumsum(np.log(np.maximum(mean + np.arange(most) * spread**2, 1e-300)))]
        )
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
        logits = _log_gamma_draws(shape, rng) - _log_gamma_draws(shape, rng)
        # Chances nearer to 0 or 1 than a float holds give the same tables.
        return np.concatenate([np.clip(logits, -36, 36), np.abs(self.spread * rng.standard_normal(2))])


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
        return _student(self.d - self.centre(x), x)

    def marginal_log_likelihood(self, points: Floats, unit: float) -> Floats:
        """Log density of each cluster's differences together, its effect integrated out; of each difference without.

        In the units of the data, where a difference is `unit` times what this object holds. The integral is a sum over
        equally spaced effects that cover what the draws say of the cluster's.

        Parameters
        ----------
        points : ndarray, shape (draws, size)

        Returns
        -------
        ndarray, shape (draws, clusters) or (draws, differences)
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


def _student(residual: Floats, x: Floats) -> Floats:
    """Log density of Student's t errors at a point's sigma and nu."""
    nu, sigma = 1 + math.exp(x[2]), math.exp(x[1])
    constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - x[1]
    return np.asarray(constant - (nu + 1) / 2 * np.log1p((residual / sigma) ** 2 / nu), dtype=np.float64)


def _log_sum(rows: Floats) -> Floats:
    top = rows.max(axis=-1)
    return np.asarray(top + np.log(np.exp(rows - top[..., None]).sum(axis=-1)), dtype=np.float64)
