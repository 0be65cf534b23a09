"""The best of k independent scores."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import mean_of_max
from d3stats.models.scores.read import as_count, as_law

__all__ = ["MaxLaw"]

Floats = NDArray[np.float64]


class MaxLaw(ScoreLaw):
    """The best of k independent scores of one law: P(M <= x) = F(x)^k.

    Examples
    --------
    >>> from scipy import stats
    >>> MaxLaw(as_law(stats.uniform()), 3).cdf(0.5).item()
    0.125
    """

    def __init__(self, law: ScoreLaw, k: int) -> None:
        self.law = as_law(law)
        self.k = as_count(k)

    def __repr__(self) -> str:
        return f"MaxLaw({self.law!r}, k={self.k})"

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.law.cdf(x) ** self.k)

    def below(self, x: ArrayLike) -> Floats:
        return np.asarray(self.law.below(x) ** self.k)

    def sf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):  # a score that one advocate always beats
            return np.asarray(-np.expm1(self.k * np.log1p(-self.law.sf(x))))

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.k * self.law.cdf(x) ** (self.k - 1) * self.law.density(x))

    def quantile(self, u: ArrayLike) -> Floats:
        return self.law.quantile(np.asarray(u, dtype=np.float64) ** (1.0 / self.k))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):  # exceeded surely
            one = -np.expm1(np.log1p(-np.asarray(u, dtype=np.float64)) / self.k)
        return self.law.upper_quantile(one)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        points, _ = self.law.atoms
        return points, self.cdf(points) - self.below(points)

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support

    @cached_property
    def mean(self) -> float:
        return float(mean_of_max(self.law, np.array([self.k]))[0])

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        # One draw by the quantile of the maximum, not k draws.
        return self.quantile(as_rng(rng).random(size))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete
