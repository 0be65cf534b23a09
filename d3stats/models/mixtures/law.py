"""The law of a mixture of Beta-Binomials, and the Beta-Binomial log-likelihood on arrays.

One component has mean ``mu`` and intraclass correlation ``rho = 1 / (alpha + beta + 1)``. Written with rising
factorials (Griffiths, 1973; Smith, 1983, AS 189), with ``u_i = mu (1 - rho) + i rho``,
``v_i = (1 - mu) (1 - rho) + i rho`` and ``d_i = 1 - rho + i rho``,

    log f(s | n) = log C(n, s) + sum_{i<s} log u_i + sum_{i<n-s} log v_i - sum_{i<n} log d_i,

nothing is subtracted that is large, and ``rho = 0`` is the Binomial exactly. The sums over ``i`` are matrix
products with 0/1 matrices that depend on the cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer

__all__ = ["BetaBinomialMixture"]


@dataclass(frozen=True)
class Cells:
    """Distinct (successes, trials) pairs with what the likelihood needs of them, computed once.

    ``log_choose`` is ``log C(trials, successes)``; the others, shape (max trials, cells), are 1 where ``i < s``,
    ``i < n - s`` and ``i < n``.
    """

    successes: NDArray[np.int64]
    trials: NDArray[np.int64]
    log_choose: Floats
    below_successes: Floats
    below_failures: Floats
    below_trials: Floats

    @classmethod
    def of(cls, successes: NDArray[np.int64], trials: NDArray[np.int64]) -> Cells:
        """Prepare the pairs."""
        top = int(trials.max(initial=0))
        i = np.arange(top)[:, None]
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, top + 1)))])
        log_choose = log_factorial[trials] - log_factorial[successes] - log_factorial[trials - successes]
        below = ((i < n).astype(np.float64) for n in (successes, trials - successes, trials))
        return cls(successes, trials, log_choose, *below)

    @classmethod
    def all_of(cls, trials: int) -> Cells:
        """Prepare every outcome 0..trials of one panel size."""
        return cls.of(np.arange(trials + 1), np.full(trials + 1, trials))


def log_pmf(mu: Floats, rho: Floats, cells: Cells) -> Floats:
    """Return ``log f`` of shape (..., cells) for `mu`, `rho` of shape (...,)."""
    i = np.arange(len(cells.below_trials))
    m, r = mu[..., None], rho[..., None]
    up = np.log(m * (1 - r) + i * r)
    down = np.log((1 - m) * (1 - r) + i * r)
    norm = np.log((1 - r) + i * r)
    found = up @ cells.below_successes + down @ cells.below_failures - norm @ cells.below_trials
    return found + cells.log_choose


CLOSED = 1e-9
"""A mean or correlation this near to 0 or 1 counts as being there: the Beta density has become point masses."""


@dataclass(frozen=True, eq=False)
class BetaBinomialMixture:
    """The law of a mixture of Beta-Binomials, or of a batch of them with the same number of components.

    Attributes
    ----------
    weight, mu, rho : ndarray of float, shape (..., K)
        Weights (summing to 1), means in [0, 1], intraclass correlations in [0, 1].

    Examples
    --------
    >>> m = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [2, 1], [1, 3])
    >>> other = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [1, 3], [2, 1])
    >>> bool(np.allclose(m.pmf(7), other.pmf(7)))  # not identifiable: two descriptions, one law
    True
    >>> m.pmf(3).round(3).tolist(), m.cdf(3).round(3).tolist(), m.prob_majority(3).round(3).item()
    ([0.26, 0.24, 0.24, 0.26], [0.26, 0.5, 0.74, 1.0], 0.5)
    >>> m.component_pmf(1).round(3).tolist()
    [[0.333, 0.667], [0.75, 0.25]]
    >>> m.latent_cdf([0.25, 0.5]).round(3).tolist()
    [0.269, 0.5]
    >>> m.sample([7, 7, 3], rng=1).tolist()
    [6, 1, 2]
    >>> from d3stats.models.mixtures.law import Cells
    >>> m.component_probabilities(Cells.all_of(1)).round(3).tolist()
    [[0.333, 0.667], [0.75, 0.25]]
    """

    weight: Floats
    mu: Floats
    rho: Floats

    def __post_init__(self) -> None:
        for name in ("weight", "mu", "rho"):
            value = np.array(getattr(self, name), dtype=np.float64)
            if not (np.isfinite(value).all() and (value >= 0).all() and (value <= 1).all()):
                raise ValueError(f"{name} must lie between 0 and 1; got {name}={value.tolist()}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if not self.weight.shape == self.mu.shape == self.rho.shape or self.weight.ndim < 1:
            got = f"{self.weight.shape}, {self.mu.shape}, {self.rho.shape}"
            raise ValueError(f"weight, mu and rho must have one shape (..., components); got {got}")
        total = self.weight.sum(axis=-1)
        if not np.allclose(total, 1.0, rtol=0, atol=1e-8):
            raise ValueError(f"weight must sum to 1; got a sum of {float(total.ravel()[0])!r}")

    @classmethod
    def from_alpha_beta(cls, weight: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> BetaBinomialMixture:
        """Build from the Beta parameters, all positive and finite."""
        a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
        for name, value in (("alpha", a), ("beta", b)):
            if not (np.isfinite(value).all() and (value > 0).all()):
                raise ValueError(f"{name} must be finite and > 0; got {name}={value.tolist()}")
        return cls(np.asarray(weight, dtype=np.float64), a / (a + b), 1.0 / (a + b + 1.0))

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return int(self.weight.shape[-1])

    @property
    def precision(self) -> Floats:
        """``alpha + beta`` of each component; infinite for a Binomial."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.rho - 1.0

    @property
    def alpha(self) -> Floats:
        """First Beta parameter of each component; infinite for a Binomial."""
        return self._times_precision(self.mu)

    @property
    def beta(self) -> Floats:
        """Second Beta parameter of each component; infinite for a Binomial."""
        return self._times_precision(1.0 - self.mu)

    def _times_precision(self, share: Floats) -> Floats:
        binomial = np.isinf(self.precision)
        finite = np.where(binomial, 0.0, self.precision) * share
        return np.where(binomial, np.where(share > 0, np.inf, 0.0), finite)

    def component_pmf(self, trials: int) -> Floats:
        """Return each component's pmf over 0..trials, shape (..., K, trials + 1)."""
        return self.component_probabilities(Cells.all_of(integer("trials", trials, minimum=1)))

    def component_probabilities(self, cells: Cells) -> Floats:
        """Return each component's probability of each cell, shape (..., K, cells)."""
        edge = 1e-15
        return np.exp(log_pmf(np.clip(self.mu, edge, 1 - edge), np.minimum(self.rho, 1 - edge), cells))

    def pmf(self, trials: int) -> Floats:
        """Return P(S = s) for s = 0..trials, shape (..., trials + 1)."""
        return cast(Floats, (self.weight[..., None] * self.component_pmf(trials)).sum(axis=-2))

    def cdf(self, trials: int) -> Floats:
        """Return P(S <= s) for s = 0..trials, shape (..., trials + 1)."""
        return np.minimum(np.cumsum(self.pmf(trials), axis=-1), 1.0)

    def prob_majority(self, trials: int) -> Floats:
        """Return P(S > trials / 2): the chance that the correct votes are a strict majority."""
        return cast(Floats, self.pmf(trials)[..., trials // 2 + 1 :].sum(axis=-1))

    @property
    def mean(self) -> Floats:
        """The chance that a vote is correct, ``E p``."""
        return cast(Floats, (self.weight * self.mu).sum(axis=-1))

    @property
    def spread(self) -> Floats:
        """Standard deviation of ``p`` between debates, ``sqrt(Var p)``."""
        within = self.rho * self.mu * (1.0 - self.mu)
        between = (self.mu - self.mean[..., None]) ** 2
        return cast(Floats, np.sqrt((self.weight * (within + between)).sum(axis=-1)))

    @property
    def _has_steps(self) -> bool:
        """Whether a component is a point or two, so that the limits of the latent cdf from both sides differ."""
        ends = (self.mu <= CLOSED) | (self.mu >= 1 - CLOSED) | (self.rho >= 1 - CLOSED)
        return bool((ends | (self.rho <= CLOSED * CLOSED)).any())

    def latent_cdf(self, p: ArrayLike, *, side: str = "right") -> Floats:
        """Return P(latent <= p), or P(latent < p) with ``side="left"``; shape ``(..., *p.shape)``.

        Binomial components are steps at their mean; ``rho = 1`` components put their mass at 0 and 1.
        """
        x = np.asarray(p, dtype=np.float64)
        shape = (*self.weight.shape, *(1,) * x.ndim)
        mu, rho, weight = (a.reshape(shape) for a in (self.mu, self.rho, self.weight))
        return cast(Floats, (weight * _latent_component(x, mu, rho, side)).sum(axis=self.weight.ndim - 1))

    def sample(self, trials: Sequence[int] | NDArray[np.int64], rng: RngLike = None) -> NDArray[np.int64]:
        """Draw one number of correct votes per entry of `trials` (one mixture only)."""
        if self.weight.ndim != 1:
            raise ValueError(f"sample needs a single mixture; got a batch of shape {self.weight.shape[:-1]}")
        generator = as_rng(rng)
        n = np.asarray(trials, dtype=np.int64)
        which = generator.choice(self.n_components, size=n.shape, p=self.weight / self.weight.sum())
        mu, rho = self.mu[which], self.rho[which]
        all_or_none = rho >= 1 - CLOSED
        plain = (rho <= 0) | all_or_none | (mu <= 0) | (mu >= 1)
        precision = 1.0 / np.where(plain, 0.5, rho) - 1.0
        safe = np.clip(mu, 1e-300, 1 - 1e-16)
        drawn = generator.beta(safe * precision, (1 - safe) * precision)
        p = np.where(plain, mu, drawn)
        p = np.where(all_or_none, (generator.random(n.shape) < mu).astype(float), p)
        return generator.binomial(n, p).astype(np.int64)


NARROW = 1e11
"""From this precision times ``mu (1 - mu)`` on, a Beta is its Edgeworth series to 1e-12. The incomplete Beta function
takes steps like the root of the precision, and ends in NaN."""


def _narrow_beta(x: Floats, mu: Floats, precision: Floats) -> Floats:
    """P(p <= x) of a narrow Beta: the normal law and its skewness (Edgeworth series, first term)."""
    from scipy.special import ndtr

    variance = mu * (1.0 - mu) / (precision + 1.0)
    z = (x - mu) / np.sqrt(variance)
    skewness = 2.0 * (1.0 - 2.0 * mu) / ((precision + 2.0) * np.sqrt(variance))
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return cast(Floats, np.clip(ndtr(z) - density * skewness / 6.0 * (z**2 - 1.0), 0.0, 1.0))


def _latent_component(x: Floats, mu: Floats, rho: Floats, side: str) -> Floats:
    from scipy.special import betainc

    point = (rho <= CLOSED * CLOSED) | (mu <= CLOSED) | (mu >= 1 - CLOSED)
    ends = ~point & (rho >= 1 - CLOSED)
    precision = 1.0 / np.where(point | ends, 0.5, rho) - 1.0
    inside = np.where(point | ends, 0.5, mu)
    narrow = precision * inside * (1.0 - inside) > NARROW
    wide, held = np.where(narrow, 1.0, precision), np.clip(x, 0.0, 1.0)
    smooth = betainc(inside * wide, (1.0 - inside) * wide, held)
    if narrow.any():
        smooth = np.where(narrow, _narrow_beta(held, inside, precision), smooth)
    at = np.where(mu <= CLOSED, 0.0, np.where(mu >= 1 - CLOSED, 1.0, mu))
    reached = np.greater_equal if side == "right" else np.greater
    step = reached(x, at).astype(float)
    two = np.where(reached(x, 1), 1.0, np.where(reached(x, 0), 1.0 - mu, 0.0))
    return cast(Floats, np.where(point, step, np.where(ends, two, smooth)))
