"""A score drawn from one of several laws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, nonnegative
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.quantiles import least_enough
from d3stats.models.scores.read import as_law

__all__ = ["MixtureLaw"]

Floats = NDArray[np.float64]


class MixtureLaw(ScoreLaw):
    """A score drawn from one of several laws.

    Parameters
    ----------
    laws : sequence of ScoreLaw
    weights : array, shape (laws,)
        They sum to one within 1e-9.

    Examples
    --------
    A third of the advocates say nothing and score 0:

    >>> from scipy import stats
    >>> law = MixtureLaw([as_law({0: 1}), as_law(stats.uniform())], [1 / 3, 2 / 3])
    >>> round(law.below(0.0).item(), 3), round(law.cdf(0.0).item(), 3), round(law.mean, 3)
    (0.0, 0.333, 0.333)
    """

    def __init__(self, laws: Sequence[ScoreLaw], weights: ArrayLike) -> None:
        masses = nonnegative("weights", weights, size=len(laws))
        if len(laws) == 0:
            raise ValueError("laws must hold at least one law; got none")
        if abs(float(masses.sum()) - 1) > 1e-9:
            raise ValueError(f"weights must sum to 1; got a sum of {float(masses.sum())!r}")
        kept = [i for i in range(len(laws)) if masses[i] > 0]
        self.laws = tuple(as_law(laws[i]) for i in kept)
        self.weights: Floats = masses[kept] / masses.sum()

    def __repr__(self) -> str:
        parts = " + ".join(f"{w:.3g} {law!r}" for w, law in zip(self.weights, self.laws, strict=True))
        return f"MixtureLaw({parts})"

    def _mixed(self, values: list[Floats]) -> Floats:
        total = np.zeros_like(values[0])
        for weight, value in zip(self.weights, values, strict=True):
            total = total + weight * value
        return np.minimum(total, 1.0)

    def cdf(self, x: ArrayLike) -> Floats:
        return self._mixed([law.cdf(x) for law in self.laws])

    def below(self, x: ArrayLike) -> Floats:
        return self._mixed([law.below(x) for law in self.laws])

    def sf(self, x: ArrayLike) -> Floats:
        return self._mixed([law.sf(x) for law in self.laws])

    def density(self, x: ArrayLike) -> Floats:
        total: Floats = np.zeros_like(np.asarray(x, dtype=np.float64))
        for weight, law in zip(self.weights, self.laws, strict=True):
            total = total + weight * law.density(x)
        return total

    def quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        each = np.stack([law.quantile(levels) for law in self.laws])
        return least_enough(each, lambda x, at: self.cdf(x) - levels.ravel()[at])

    def upper_quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        each = np.stack([law.upper_quantile(levels) for law in self.laws])
        return least_enough(each, lambda x, at: levels.ravel()[at] - self.sf(x))

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return self._atoms

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        points = np.concatenate([law.atoms[0] for law in self.laws])
        masses = np.concatenate(
            [weight * law.atoms[1] for weight, law in zip(self.weights, self.laws, strict=True)]
        )
        unique, at = np.unique(points, return_inverse=True)
        joined: Floats = np.bincount(at, weights=masses, minlength=unique.size).astype(np.float64)
        return unique, joined

    @property
    def support(self) -> tuple[float, float]:
        return min(law.support[0] for law in self.laws), max(law.support[1] for law in self.laws)

    @property
    def mean(self) -> float:
        return float(sum(w * law.mean for w, law in zip(self.weights, self.laws, strict=True)))

    def breakpoints(self) -> Floats:
        return np.unique(np.concatenate([law.breakpoints() for law in self.laws]))

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        source = as_rng(rng)
        which = source.choice(len(self.laws), size=size, p=self.weights)
        drawn = np.empty(which.shape)
        for i, law in enumerate(self.laws):
            drawn[which == i] = law.sample(int((which == i).sum()), source)
        return drawn

    @property
    def is_discrete(self) -> bool:
        return all(law.is_discrete for law in self.laws)
