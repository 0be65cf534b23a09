"""Continuous laws up to place and scale: what the families of instances are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike
from d3stats.models.separation import laws as scores
from d3stats.models.separation.laws import DiscreteLaw, MaxLaw, MixtureLaw, ScoreLaw

__all__ = ["Moved", "Shape", "moved"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moved(ScoreLaw):
    """The law of start + scale * X, with scale > 0.

    Examples
    --------
    >>> law = Moved(scores.exponential(1), 2.0, 3.0)
    >>> law.mean, law.support
    (5.0, (2.0, inf))
    """

    law: ScoreLaw
    start: float
    scale: float

    def _back(self, x: ArrayLike) -> Floats:
        return np.asarray((np.asarray(x, dtype=np.float64) - self.start) / self.scale)

    def _there(self, x: ArrayLike) -> Floats:
        return np.asarray(self.start + self.scale * np.asarray(x, dtype=np.float64))

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf(self._back(x))

    def below(self, x: ArrayLike) -> Floats:
        return self.law.below(self._back(x))

    def sf(self, x: ArrayLike) -> Floats:
        return self.law.sf(self._back(x))

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.law.density(self._back(x)) / self.scale)

    def quantile(self, u: ArrayLike) -> Floats:
        return self._there(self.law.quantile(u))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return self._there(self.law.upper_quantile(u))

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        points, masses = self.law.atoms
        return self._there(points), masses

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.law.support
        return float(self._there(low)), float(self._there(high))

    @property
    def mean(self) -> float:
        return float(self._there(self.law.mean))

    def breakpoints(self) -> Floats:
        return np.unique(self._there(self.law.breakpoints()))

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self._there(self.law.sample(size, rng))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete

    def __repr__(self) -> str:
        return f"{self.start:g} + {self.scale:g} {self.law!r}"


@dataclass(frozen=True)
class Shape:
    """A continuous law up to place and scale: Z, of which the laws of start + scale * Z are made.

    The uniform and the Beta live on [0, 1], the exponential and the Weibull on [0, infinity).

    Attributes
    ----------
    kind : {"uniform", "exponential", "normal", "weibull", "beta"}
    a, b : float
        Shape of the Weibull; parameters of the Beta.
    """

    kind: str
    a: float = 1.0
    b: float = 1.0

    @property
    def singular(self) -> bool:
        """Whether the density is infinite at the lower end: such a law starts at 0, where floats are dense."""
        return self.kind in ("weibull", "beta") and self.a < 1

    def at(self, start: float, scale: float) -> ScoreLaw:
        """Return the law of start + scale * Z."""
        if self.kind == "uniform":
            return scores.uniform(start, start + scale)
        if self.kind == "normal":
            return scores.normal(start, scale)
        if self.kind == "beta":
            return moved(scores.beta(self.a, self.b), start, scale)
        if self.kind == "exponential":
            return moved(scores.exponential(scale), start, 1.0)
        return moved(scores.weibull(self.a, scale), start, 1.0)

    @property
    def mean(self) -> float:
        """E Z."""
        return self.at(0.0, 1.0).mean

    @property
    def peak(self) -> float:
        """The greatest density of Z, infinite where it has no bound."""
        if self.singular or (self.kind == "beta" and self.b < 1):
            return math.inf
        mode = 0.0
        if self.kind == "beta" and self.a + self.b > 2:
            mode = min((self.a - 1) / (self.a + self.b - 2), 1.0)
        if self.kind == "weibull":
            mode = (1 - 1 / self.a) ** (1 / self.a)
        return float(self.at(0.0, 1.0).density(mode))


def moved(law: ScoreLaw, start: float, scale: float) -> ScoreLaw:
    """Return the law of start + scale * X, and the law itself where nothing moves.

    Atoms are moved one by one: going back to them through a division would miss them by a rounding.
    """
    if start == 0 and scale == 1:
        return law
    if isinstance(law, DiscreteLaw):
        return DiscreteLaw(start + scale * law.points, law.masses)
    if isinstance(law, MixtureLaw):
        return MixtureLaw([moved(part, start, scale) for part in law.laws], law.weights)
    if isinstance(law, MaxLaw):
        return MaxLaw(moved(law.law, start, scale), law.k)
    return Moved(law, float(start), float(scale))
