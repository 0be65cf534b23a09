"""The best of k scores that share a factor: any law of one score under a Gaussian copula."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, integer, probability
from d3stats.models.scores.diagonal import diagonal
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import integrate, log_cdf, require_mean
from d3stats.models.scores.maximum import MaxLaw
from d3stats.models.scores.read import as_count, as_law

__all__ = ["CorrelatedMaxLaw", "correlated_max", "mean_of_power"]

Floats = NDArray[np.float64]


class CorrelatedMaxLaw(ScoreLaw):
    """The best of k scores of one law whose normal ranks share a factor.

    P(M <= x) = E_Z[Phi((q - sqrt(rho) Z) / sqrt(1 - rho))^k] with q = Phi^-1(F(x)) and Z standard normal.
    Where F jumps, a score covers all normal ranks of the jump.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
    k : int
        At least 2.
    rho : float
        Correlation of two advocates' normal ranks, strictly between 0 and 1: :func:`correlated_max` takes the
        limits as well.

    Raises
    ------
    ValueError
        When k is below 2 or rho is not strictly between 0 and 1.

    Examples
    --------
    >>> from scipy import stats
    >>> law = CorrelatedMaxLaw(stats.norm(), 2, 0.5)
    >>> round(law.cdf(0.0).item(), 6), round(law.mean, 6)
    (0.333333, 0.398942)
    """

    def __init__(self, law: Any, k: int, rho: float) -> None:
        self.law = as_law(law)
        self.k = integer("k", k, minimum=2)
        self.rho = probability("rho", rho, open_interval=True)
        self._diagonal = diagonal(self.k, self.rho)

    def __repr__(self) -> str:
        return f"CorrelatedMaxLaw({self.law!r}, k={self.k}, rho={self.rho:g})"

    @property
    def error(self) -> float:
        """Absolute error of the distribution function beside that of the law: two steps' difference."""
        return self._diagonal.error

    def cdf(self, x: ArrayLike) -> Floats:
        return self._diagonal.cdf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def below(self, x: ArrayLike) -> Floats:
        under = self.law.below(x)
        return self._diagonal.cdf(_normal_rank(under, 1.0 - under))

    def sf(self, x: ArrayLike) -> Floats:
        return self._diagonal.sf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def density(self, x: ArrayLike) -> Floats:
        if self.law.is_discrete:
            return self.law.density(x)
        q = _normal_rank(self.law.cdf(x), self.law.sf(x))
        return np.asarray(self._diagonal.ratio(q) * self.law.density(x))

    def quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        if self.law.is_discrete:
            points, _ = self.law.atoms
            at = np.searchsorted(self._heap, levels, side="left")
            return np.asarray(points[np.minimum(at, points.size - 1)])
        inner = (levels > 0) & (levels < 1)
        q = np.where(levels > 0, np.inf, -np.inf)
        q[inner] = self._diagonal.quantile(levels[inner])
        return self.law.quantile(special.ndtr(q))

    @cached_property
    def _heap(self) -> Floats:
        return self.cdf(self.law.atoms[0])

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        points, _ = self.law.atoms
        if self.law.is_discrete:
            return points, np.diff(self._heap, prepend=0.0)
        return points, self.cdf(points) - self.below(points)

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support

    @cached_property
    def mean(self) -> float:
        # A maximum of k has a mean when one score has: it lies below the sum of their sizes.
        require_mean("law", self.law)
        return mean_of_power(self)

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self.law.quantile(special.ndtr(self._diagonal.sample(size, as_rng(rng))))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete


def correlated_max(law: Any, k: int, rho: float) -> ScoreLaw:
    """Return the law of the best of k exchangeably correlated scores.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score.
    k : int
        Advocates, at least 1.
    rho : float
        Correlation of two advocates' normal ranks, 0 to 1. At 0 they are independent; at 1 all say the same,
        and the best is any of them.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    ValueError
        When k is below 1 or rho lies outside 0 to 1.

    Examples
    --------
    >>> from scipy import stats
    >>> [round(correlated_max(stats.uniform(), 5, rho).mean, 4) for rho in (0.0, 0.5, 0.9, 1.0)]
    [0.8333, 0.7341, 0.6039, 0.5]
    """
    one = as_law(law)
    k = as_count(k)
    rho = probability("rho", rho)
    if k == 1 or rho == 1:
        return one
    return MaxLaw(one, k) if rho == 0 else CorrelatedMaxLaw(one, k, rho)


def _normal_rank(up_to: Floats, over: Floats) -> Floats:
    """Return Phi^-1 of a probability, read from the smaller of the two tails."""
    return np.asarray(np.where(over < 0.5, -special.ndtri(over), special.ndtri(up_to)))


def mean_of_power(law: ScoreLaw, power: float = 1.0) -> float:
    """Return the mean of F^power, by parts from the median."""
    if law.is_discrete:
        points, _ = law.atoms
        over = -np.expm1(power * log_cdf(law, points[:-1]))
        return float(points[0] + np.diff(points) @ over)
    middle = float(law.quantile(0.5))

    def integrand(x: Floats) -> Floats:
        logs = power * log_cdf(law, x)
        return np.where(x < middle, -np.exp(logs), -np.expm1(logs))[:, None]

    return middle + float(integrate(integrand, np.unique(np.append(law.breakpoints(), middle)))[0][0])
