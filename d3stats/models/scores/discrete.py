"""A score on finitely many points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, nonnegative
from d3stats.models.scores.law import ScoreLaw

__all__ = ["DiscreteLaw"]

Floats = NDArray[np.float64]


class DiscreteLaw(ScoreLaw):
    """A score on finitely many points, such as a rubric from 1 to 20.

    Parameters
    ----------
    support : array, shape (points,)
        Strictly increasing scores.
    probabilities : array, shape (points,)
        Their probabilities, which sum to one within 1e-9.

    Raises
    ------
    ValueError
        When the support is not strictly increasing and finite, or the probabilities are negative or do not sum
        to one.

    Examples
    --------
    >>> coin = DiscreteLaw([0, 1], [0.5, 0.5])
    >>> coin.cdf([0, 0.5, 1]).tolist(), coin.below(1).item(), coin.mean
    ([0.5, 0.5, 1.0], 0.5, 0.5)
    """

    def __init__(self, support: ArrayLike, probabilities: ArrayLike) -> None:
        points = np.asarray(support, dtype=np.float64)
        masses = nonnegative("probabilities", probabilities)
        if points.ndim != 1 or points.size == 0:
            raise ValueError(f"support must be a list of at least one score; got shape {points.shape}")
        if points.shape != masses.shape:
            raise ValueError(
                f"probabilities must have one value per score ({points.size}); got {masses.size}"
            )
        if not np.isfinite(points).all():
            raise ValueError(f"support must be finite; got {points[~np.isfinite(points)][0]}")
        falls = np.flatnonzero(np.diff(points) <= 0)
        if falls.size:
            i = int(falls[0])
            raise ValueError(
                f"support must be strictly increasing; got {points[i]:g} before {points[i + 1]:g} at position {i}"
            )
        total = float(masses.sum())
        if abs(total - 1) > 1e-9:
            raise ValueError(f"probabilities must sum to 1; got a sum of {total!r}")
        kept = masses > 0
        self.points: Floats = points[kept]
        self.masses: Floats = masses[kept] / total
        self._heap: Floats = np.concatenate([[0.0], np.cumsum(self.masses)])
        self._heap[-1] = 1.0
        # From the top down, so that a small upper tail keeps its digits.
        self._over: Floats = np.concatenate([np.cumsum(self.masses[::-1])[::-1], [0.0]])
        self._over[0] = 1.0
        for array in (self.points, self.masses, self._heap, self._over):
            array.setflags(write=False)

    @classmethod
    def empirical(cls, scores: ArrayLike) -> DiscreteLaw:
        """Return the law of one score drawn from those that were logged; missing ones (NaN) are left out.

        Parameters
        ----------
        scores : array
            Of any shape: all scores are pooled.

        Raises
        ------
        TypeError
            When they are not numbers.
        ValueError
            When there are none.

        Examples
        --------
        >>> DiscreteLaw.empirical([7, 9, 9, float("nan")]).masses.round(3).tolist()
        [0.333, 0.667]
        """
        try:
            given = np.asarray(scores)
            if given.dtype.kind in "US":
                raise TypeError
            values = given.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"scores must be numbers, in one list; got {scores!r:.80}") from None
        values = values.ravel()
        values = values[~np.isnan(values)]
        if values.size == 0:
            raise ValueError("scores must hold at least one score; got none")
        points, times = np.unique(values, return_counts=True)
        return cls(points, times / values.size)

    def __repr__(self) -> str:
        if self.points.size > 8:
            return f"DiscreteLaw({self.points.size} points from {self.points[0]:g} to {self.points[-1]:g})"
        pairs = ", ".join(f"{x:g}: {p:.4g}" for x, p in zip(self.points, self.masses, strict=True))
        return f"DiscreteLaw({{{pairs}}})"

    def cdf(self, x: ArrayLike) -> Floats:
        at: Floats = self._heap[np.searchsorted(self.points, np.asarray(x, dtype=np.float64), side="right")]
        return at

    def below(self, x: ArrayLike) -> Floats:
        at: Floats = self._heap[np.searchsorted(self.points, np.asarray(x, dtype=np.float64), side="left")]
        return at

    def sf(self, x: ArrayLike) -> Floats:
        at: Floats = self._over[np.searchsorted(self.points, np.asarray(x, dtype=np.float64), side="right")]
        return at

    def density(self, x: ArrayLike) -> Floats:
        return np.zeros_like(np.asarray(x, dtype=np.float64))

    def quantile(self, u: ArrayLike) -> Floats:
        at = np.searchsorted(self._heap[1:], np.asarray(u, dtype=np.float64), side="left")
        found: Floats = self.points[np.minimum(at, self.points.size - 1)]
        return found

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return self.points, self.masses

    @property
    def support(self) -> tuple[float, float]:
        return float(self.points[0]), float(self.points[-1])

    @property
    def mean(self) -> float:
        return float(self.points @ self.masses)

    def breakpoints(self) -> Floats:
        return self.points

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        drawn: Floats = as_rng(rng).choice(self.points, size=size, p=self.masses)
        return drawn

    @property
    def is_discrete(self) -> bool:
        return True
