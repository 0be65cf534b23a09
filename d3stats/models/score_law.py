"""The distribution of one advocate's score: discrete, continuous, a mixture of both, or the best of k.

Everything that is said about several advocates is computed from the law of one: its distribution function on
both sides of a point, its atoms, and the density of the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, nonnegative
from d3stats.models._quantiles import least_enough, tail_cuts

__all__ = ["ContinuousLaw", "DiscreteLaw", "MaxLaw", "MixtureLaw", "ScoreLaw", "as_law"]

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
        """Return the law of one score drawn from those that were logged; missing ones are left out.

        Examples
        --------
        >>> DiscreteLaw.empirical([7, 9, 9, float("nan")]).masses.round(3).tolist()
        [0.333, 0.667]
        """
        values = np.asarray(scores, dtype=np.float64).ravel()
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


class ContinuousLaw(ScoreLaw):
    """A score with a density: a frozen continuous distribution of scipy.stats.

    Parameters
    ----------
    frozen : scipy.stats rv_continuous, frozen
        Any continuous distribution with its parameters.

    Raises
    ------
    ValueError
        When the parameters make no distribution (scipy answers with NaN), as a scale of 0 does.

    Examples
    --------
    >>> from scipy import stats
    >>> ContinuousLaw(stats.uniform()).cdf([0.25, 2.0]).tolist()
    [0.25, 1.0]
    """

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        low, high = frozen.support()
        if np.isnan(low) or np.isnan(high) or np.isnan(frozen.cdf(0.0)):
            name = getattr(getattr(frozen, "dist", None), "name", "distribution")
            raise ValueError(
                f"score law must have valid parameters; got {name}{frozen.args}{frozen.kwds or ''}, which scipy "
                "takes for no distribution (a point mass is DiscreteLaw([x], [1]))"
            )
        self._support = (float(low), float(high))

    def __repr__(self) -> str:
        parts = [f"{a:g}" for a in self.frozen.args] + [f"{k}={v:g}" for k, v in self.frozen.kwds.items()]
        return f"ContinuousLaw({self.frozen.dist.name}({', '.join(parts)}))"

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(x), dtype=np.float64)

    def below(self, x: ArrayLike) -> Floats:
        return self.cdf(x)

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.sf(x), dtype=np.float64)

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.pdf(x), dtype=np.float64)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.ppf(u), dtype=np.float64)

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.isf(u), dtype=np.float64)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return np.empty(0), np.empty(0)

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @cached_property
    def mean(self) -> float:
        with np.errstate(all="ignore"):
            return float(self.frozen.mean())

    def breakpoints(self) -> Floats:
        return self._breakpoints

    @cached_property
    def _breakpoints(self) -> Floats:
        with np.errstate(all="ignore"):
            middle = float(self.frozen.ppf(0.5))
            up = tail_cuts(self.frozen.isf, self.frozen.sf, middle, self._support[1])
            down = tail_cuts(self.frozen.ppf, self.frozen.cdf, middle, self._support[0])
        cuts = np.unique(np.concatenate([up, down]))
        cuts.setflags(write=False)
        return cuts

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(self.frozen.rvs(size=size, random_state=as_rng(rng)), dtype=np.float64)


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
    >>> law = MixtureLaw([DiscreteLaw([0], [1]), as_law(stats.uniform())], [1 / 3, 2 / 3])
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
        self.k = integer("k", k, minimum=1)

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
        from d3stats.models._maxima import mean_of_max

        return float(mean_of_max(self.law, np.array([self.k]))[0])

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        # One draw by the quantile of the maximum, not k draws.
        return self.quantile(as_rng(rng).random(size))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete


def as_law(scores: Any) -> ScoreLaw:
    """Read a law off what a user has: a law, a frozen scipy distribution, a table, or logged scores.

    Parameters
    ----------
    scores : ScoreLaw, frozen scipy.stats distribution, mapping, or array
        A mapping is score to probability. An array is a sample, and the law is the empirical one. A discrete
        distribution of scipy.stats must have finite support.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        When it is no distribution.

    Examples
    --------
    >>> as_law({1: 0.25, 2: 0.75}).mean
    1.75
    >>> as_law([3, 4, 4, 5]).mean
    4.0
    """
    if isinstance(scores, ScoreLaw):
        return scores
    if isinstance(scores, Mapping):
        points = sorted(scores)
        return DiscreteLaw(points, [scores[x] for x in points])
    dist: Any = getattr(scores, "dist", None)
    table = dist if dist is not None and hasattr(dist, "xk") else scores
    if hasattr(table, "xk") and hasattr(
        table, "pk"
    ):  # rv_discrete(values=...), whose scores need not be whole
        shift = float(scores.support()[0]) - float(np.min(table.xk)) if table is dist else 0.0
        return DiscreteLaw(np.asarray(table.xk, dtype=np.float64) + shift, table.pk)
    if dist is not None and hasattr(scores, "pmf"):
        low, high = scores.support()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(
                f"score law must have finite support when it is discrete; got {dist.name} to {high}"
            )
        points_of = np.arange(int(low), int(high) + 1, dtype=np.float64)
        masses = np.asarray(scores.pmf(points_of), dtype=np.float64)
        return DiscreteLaw(points_of, masses / masses.sum())
    if dist is not None and hasattr(scores, "pdf"):
        law = ContinuousLaw(scores)
        if dist.name == "beta" and len(scores.args) == 2 and not scores.kwds:
            # Mass next to 1 needs digits of the distance from 1, which scipy's functions do not take.
            from d3stats.models.named_laws import beta

            return beta(*scores.args)
        return law
    if isinstance(scores, (str, bytes)) or callable(scores):
        raise TypeError(f"scores must be a law, a frozen distribution, a table or a sample; got {scores!r}")
    return DiscreteLaw.empirical(scores)
