"""The distribution of one advocate's score: what every law can be asked.

Everything that is said about several advocates is computed from the law of one: its distribution function on
both sides of a point, its atoms, and the density of the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike

__all__ = ["ScoreLaw"]

Floats = NDArray[np.float64]


class ScoreLaw(ABC):
    """The distribution of a score X: a sum of atoms and a part with a density.

    All methods are vectorised over x or u.
    """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X <= x)."""

    @abstractmethod
    def below(self, x: ArrayLike) -> Floats:
        """Return P(X < x)."""

    @abstractmethod
    def sf(self, x: ArrayLike) -> Floats:
        """Return P(X > x), without cancellation in the upper tail."""

    @abstractmethod
    def density(self, x: ArrayLike) -> Floats:
        """Return the density of the part without atoms; it integrates to one less the mass of the atoms."""

    @abstractmethod
    def quantile(self, u: ArrayLike) -> Floats:
        """Return the least x with P(X <= x) >= u."""

    def upper_quantile(self, u: ArrayLike) -> Floats:
        """Return the score that is exceeded with probability u; where the law can, accurate for tiny u."""
        return self.quantile(1.0 - np.asarray(u, dtype=np.float64))

    @property
    @abstractmethod
    def atoms(self) -> tuple[Floats, Floats]:
        """Points that have mass, ascending, and their masses."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Essential infimum and supremum."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected score; may be infinite, and is NaN where there is none."""

    @abstractmethod
    def breakpoints(self) -> Floats:
        """Return where an integral over the score is cut, ascending and finite, all atoms among them."""

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        """Draw independent scores."""

    @property
    def is_discrete(self) -> bool:
        """Whether all mass sits on finitely many points."""
        return False

    def from_top(self) -> ScoreLaw | None:
        """Return the law of the distance down from the upper end; None where it is not known without loss."""
        return None
