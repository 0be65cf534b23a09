"""The distribution of one advocate's score, by name, from scipy, from a table or a sample, mixed, or the best of k.

Everything about several advocates is computed from the law of one: its distribution function on both sides of a
point, its atoms, and the density of the rest. A new law by name is a subclass of ``_Smooth`` with its formulas, and a
function that checks its parameters; any continuous distribution of ``scipy.stats`` is a law without either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, integer, nonnegative, number, whole_numbers
from d3stats.models.separation.quadrature import bracketed_roots, decade_cuts, integrate, tail_cuts

__all__ = [
    "ContinuousLaw",
    "DiscreteLaw",
    "MaxLaw",
    "MixtureLaw",
    "ScoreLaw",
    "as_law",
    "beta",
    "exponential",
    "normal",
    "uniform",
    "weibull",
]

Floats = NDArray[np.float64]

_NONE = np.empty(0)
_NONE.setflags(write=False)


class ScoreLaw(ABC):
    """The distribution of a score X: a sum of atoms and a part with a density.

    All methods are vectorised over x or u.
    """

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X <= x)."""

    def below(self, x: ArrayLike) -> Floats:
        """Return P(X < x); as long as the law has no atoms, P(X <= x)."""
        return self.cdf(x)

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
    def atoms(self) -> tuple[Floats, Floats]:
        """Points that have mass, ascending, and their masses; by default none."""
        return _NONE, _NONE

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

    @property
    def middle(self) -> float:
        """A score well inside the law, at which integrals over the score are split: the median, unless that is dear."""
        return float(self.quantile(0.5))

    @property
    def corners(self) -> Floats:
        """Finite points where the distribution function may jump or bend: atoms and ends of the support."""
        ends = np.asarray(self.support)
        return np.union1d(self.atoms[0], ends[np.isfinite(ends)])

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

    def sf(self, x: ArrayLike) -> Floats:
        # Some of scipy's survival functions divide by a probability that has reached 0.
        with np.errstate(all="ignore"):
            return np.asarray(self.frozen.sf(x), dtype=np.float64)

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.pdf(x), dtype=np.float64)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.ppf(u), dtype=np.float64)

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.isf(u), dtype=np.float64)

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


_LEVELS = np.array([1e-2, 1e-4, 1e-8, 1e-16])
_FAR = np.array([1e-2, 1e-4, 1e-8, 1e-16, 1e-32])
_HEAVY = np.array([1e-2, 1e-4, 1e-8, 1e-16, 1e-32, 1e-64])
"""Tail probabilities at whose quantiles integrals are cut; beyond the last there is nothing to integrate."""
_SQRT_TWO_PI = float(np.sqrt(2 * np.pi))


def _positive(name: str, value: float) -> float:
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0; got {name}={value!r}")
    return result


def _array(x: ArrayLike) -> Floats:
    return np.asarray(x, dtype=np.float64)


class _Smooth(ScoreLaw):
    """A law with a density and no atoms, by closed forms."""

    _lower: Floats = _LEVELS
    _upper: Floats = _LEVELS

    @abstractmethod
    def _draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw scores."""

    def breakpoints(self) -> Floats:
        return self._cuts

    @cached_property
    def _cuts(self) -> Floats:
        with np.errstate(all="ignore"):
            cuts = np.concatenate(
                [
                    self.support,
                    self.quantile(self._lower),
                    [self.quantile(0.5)],
                    self.upper_quantile(self._upper),
                ]
            )
        cuts = np.unique(cuts[np.isfinite(cuts)])
        cuts.setflags(write=False)
        return cuts

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self._draw(size, as_rng(rng))

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.10g}" for value in astuple(self))  # type: ignore[call-overload]
        return f"{type(self).__name__.lstrip('_').lower()}({values})"


@dataclass(frozen=True, repr=False)
class _Uniform(_Smooth):
    low: float
    high: float

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(np.clip((_array(x) - self.low) / (self.high - self.low), 0.0, 1.0))

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(np.clip((self.high - _array(x)) / (self.high - self.low), 0.0, 1.0))

    def density(self, x: ArrayLike) -> Floats:
        at = _array(x)
        return np.where((at >= self.low) & (at <= self.high), 1.0 / (self.high - self.low), 0.0)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.low + _array(u) * (self.high - self.low))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.high - _array(u) * (self.high - self.low))

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    def from_top(self) -> ScoreLaw:
        return _Uniform(0.0, self.high - self.low)

    def _draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.uniform(self.low, self.high, size))


@dataclass(frozen=True, repr=False)
class _Beta(_Smooth):
    a: float
    b: float

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.betainc(self.a, self.b, np.clip(_array(x), 0.0, 1.0)))

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.betaincc(self.a, self.b, np.clip(_array(x), 0.0, 1.0)))

    def density(self, x: ArrayLike) -> Floats:
        at = _array(x)
        inside = (at >= 0) & (at <= 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = special.xlogy(self.a - 1, at) + special.xlog1py(self.b - 1, -at) - self._log_beta
            return np.where(inside, np.exp(logs), 0.0)

    @cached_property
    def _log_beta(self) -> float:
        return float(special.betaln(self.a, self.b))

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(special.betaincinv(self.a, self.b, _array(u)))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(special.betainccinv(self.a, self.b, _array(u)))

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def from_top(self) -> ScoreLaw:
        return _Beta(self.b, self.a)

    def _draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.beta(self.a, self.b, size))


@dataclass(frozen=True, repr=False)
class _Normal(_Smooth):
    centre: float
    sd: float
    _lower = _FAR
    _upper = _FAR

    def _standard(self, x: ArrayLike) -> Floats:
        return np.asarray((_array(x) - self.centre) / self.sd)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(self._standard(x)))

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(-self._standard(x)))

    def density(self, x: ArrayLike) -> Floats:
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(-0.5 * self._standard(x) ** 2) / (self.sd * _SQRT_TWO_PI))

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.centre + self.sd * special.ndtri(_array(u)))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.centre - self.sd * special.ndtri(_array(u)))

    @property
    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf

    @property
    def mean(self) -> float:
        return self.centre

    def _draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.normal(self.centre, self.sd, size))


@dataclass(frozen=True, repr=False)
class _Weibull(_Smooth):
    shape: float
    scale: float

    @property
    def _upper(self) -> Floats:  # type: ignore[override]
        return _HEAVY if self.shape < 0.5 else _FAR

    @cached_property
    def _cuts(self) -> Floats:
        cuts = super()._cuts
        if self.shape >= 0.5:
            return cuts
        middle = float(self.quantile(0.5))
        more = np.union1d(cuts, decade_cuts(cuts[cuts >= middle], middle))
        more.setflags(write=False)
        return more

    def _hazard(self, x: ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray((np.maximum(_array(x), 0.0) / self.scale) ** self.shape)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(-np.expm1(-self._hazard(x)))

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(np.exp(-self._hazard(x)))

    def density(self, x: ArrayLike) -> Floats:
        at = _array(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = special.xlogy(self.shape - 1, at / self.scale) - self._hazard(at)
            return np.where(at >= 0, self.shape / self.scale * np.exp(logs), 0.0)

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * (-np.log1p(-_array(u))) ** (1 / self.shape))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * (-np.log(_array(u))) ** (1 / self.shape))

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, np.inf

    @cached_property
    def mean(self) -> float:
        return float(self.scale * special.gamma(1 + 1 / self.shape))

    def _draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(self.scale * rng.weibull(self.shape, size))


@dataclass(frozen=True, repr=False)
class _Exponential(_Weibull):
    shape: float = 1.0
    scale: float = 1.0

    def __repr__(self) -> str:
        return f"exponential({self.scale:.10g})"


def uniform(low: float = 0.0, high: float = 1.0) -> ScoreLaw:
    """Return the law of a score that is equally likely anywhere from `low` to `high`.

    Raises
    ------
    ValueError
        When `high` is not above `low`.

    Examples
    --------
    >>> law = uniform(0.5, 1)
    >>> law, law.mean, law.sf(0.75).item()
    (uniform(0.5, 1), 0.75, 0.5)
    """
    left, right = number("low", low), number("high", high)
    if not right > left:
        raise ValueError(f"high must be > low; got low={low!r}, high={high!r}")
    return _Uniform(left, right)


def beta(a: float, b: float) -> ScoreLaw:
    """Return the Beta law on [0, 1] with density proportional to x^(a-1) (1-x)^(b-1).

    Raises
    ------
    ValueError
        When `a` or `b` is not positive.

    Examples
    --------
    >>> beta(2, 8).mean
    0.2
    """
    return _Beta(_positive("a", a), _positive("b", b))


def normal(mean: float = 0.0, sd: float = 1.0) -> ScoreLaw:
    """Return the normal law.

    Raises
    ------
    ValueError
        When `sd` is not positive.

    Examples
    --------
    >>> normal(1, 2).cdf(1.0).item()
    0.5
    """
    return _Normal(number("mean", mean), _positive("sd", sd))


def exponential(scale: float = 1.0) -> ScoreLaw:
    """Return the exponential law with mean `scale`.

    Raises
    ------
    ValueError
        When `scale` is not positive.

    Examples
    --------
    >>> exponential(2), exponential(2).mean
    (exponential(2), 2.0)
    """
    return _Exponential(1.0, _positive("scale", scale))


def weibull(shape: float, scale: float = 1.0) -> ScoreLaw:
    """Return the Weibull law, P(X > x) = exp(-(x / scale)^shape); its failure rate falls where shape < 1.

    Raises
    ------
    ValueError
        When `shape` or `scale` is not positive, or `shape` is so small that the mean overflows.

    Examples
    --------
    >>> weibull(0.5, 1).mean
    2.0
    """
    law = _Weibull(_positive("shape", shape), _positive("scale", scale))
    if not np.isfinite(law.mean):
        raise ValueError(f"shape must leave a finite mean; got shape={shape!r} with mean {law.mean}")
    return law


_MOST = 10_000
"""Most advocates a side: up to here every number is computed to the digits that are promised."""
_POINTS = 1 << 20
"""Most points of a discrete law of scipy.stats."""


def as_law(scores: Any) -> ScoreLaw:
    """Read a law off what a user has: a law, a frozen scipy distribution, a table, or logged scores.

    Parameters
    ----------
    scores : ScoreLaw, frozen scipy.stats distribution, mapping, or array
        A mapping is score to probability. An array, shape (scores,), is a sample, and the law is the empirical
        one; missing scores (NaN) are left out. A discrete distribution of scipy.stats with infinite support ends
        where the probability of a point times its squared distance from the mean is 1e-26 standard deviations,
        and is scaled to a sum of one.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        When it is no distribution, an array of them, a table of more than one dimension, or a discrete
        distribution of more than 2^20 points.

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
        return _table(scores)
    dist: Any = getattr(scores, "dist", None)
    if dist is not None:
        _refuse_arrays(scores)
    table = dist if dist is not None and hasattr(dist, "xk") else scores
    if hasattr(table, "xk") and hasattr(table, "pk"):
        # rv_discrete(values=...), whose scores need not be whole
        shift = float(scores.support()[0]) - float(np.min(table.xk)) if table is dist else 0.0
        return DiscreteLaw(np.asarray(table.xk, dtype=np.float64) + shift, table.pk)
    if dist is not None and hasattr(scores, "pmf"):
        return _lattice(scores)
    if dist is not None and hasattr(scores, "pdf"):
        law = ContinuousLaw(scores)
        if dist.name == "beta" and len(scores.args) == 2 and not scores.kwds:
            # Mass next to 1 needs digits of the distance from 1, which scipy's functions do not take.
            return beta(*scores.args)
        return law
    if isinstance(scores, (str, bytes)) or callable(scores):
        raise TypeError(f"scores must be a law, a frozen distribution, a table or a sample; got {scores!r}")
    sample = DiscreteLaw.empirical(scores)
    if np.ndim(scores) > 1:
        raise ValueError(
            f"scores must have one dimension when they are a sample; got shape {np.shape(scores)}: scores by item and "
            "advocate go to separation_from_scores, which keeps items apart"
        )
    return sample


def as_counts(k: Any) -> NDArray[np.int64]:
    """Read numbers of advocates a side: one, or a sequence, of whole numbers from 1 to 10,000.

    Raises
    ------
    TypeError
        For anything that is not a number; True is none.
    ValueError
        For a number that is not whole, too small or too large, and for none at all.

    Examples
    --------
    >>> as_counts(3).tolist(), as_counts([1, 2.0]).tolist()
    ([3], [1, 2])
    """
    given = np.atleast_1d(np.asarray(k, dtype=object))
    for one in given.ravel():
        if isinstance(one, bool) or not isinstance(one, (int, float, np.integer, np.floating)):
            raise TypeError(f"k must be whole numbers; got k={one!r}")
        if one > _MOST:
            raise ValueError(
                f"k must be <= {_MOST}, the most advocates a side that are computed; got k={one}"
            )
    counts = whole_numbers("k", given, minimum=1)
    if counts.size == 0:
        raise ValueError("k must hold at least one number of advocates; got none")
    return counts


def as_count(k: Any) -> int:
    """Read one number of advocates a side, a whole number from 1 to 10,000.

    Raises
    ------
    TypeError, ValueError
        As for :func:`as_counts`, and for more than one.

    Examples
    --------
    >>> as_count(3.0)
    3
    """
    as_counts(k)
    return integer("k", k, minimum=1)


def _table(scores: Mapping[Any, Any]) -> DiscreteLaw:
    for score in scores:
        if not isinstance(score, Real):
            raise TypeError(f"scores must be a table from numbers to probabilities; got the score {score!r}")
    points = sorted(scores)
    return DiscreteLaw(points, [scores[x] for x in points])


def _refuse_arrays(frozen: Any) -> None:
    for value in (*frozen.args, *frozen.kwds.values()):
        if np.ndim(value) > 0:
            raise ValueError(
                f"score law must be one distribution, not an array of them; got {frozen.dist.name} with a parameter "
                f"of shape {np.shape(value)}"
            )


def _lattice(frozen: Any) -> DiscreteLaw:
    """Tabulate a discrete distribution of scipy.stats."""
    name = frozen.dist.name
    low, high = (float(end) for end in frozen.support())
    if np.isnan(low) or np.isnan(high):
        raise ValueError(
            f"score law must have valid parameters; got {name}{frozen.args}{frozen.kwds or ''}, which scipy takes for "
            "no distribution"
        )
    first = low if np.isfinite(low) else _last(frozen, high, -1.0)
    last = high if np.isfinite(high) else _last(frozen, low, 1.0)
    if not last - first < _POINTS:
        raise ValueError(
            f"score law must have at most 2^20 points when it is discrete; got {name} from {low:g} to {high:g}, "
            "whose tail is too long"
        )
    points = first + np.arange(np.floor(last - first) + 1.0)
    masses = np.asarray(frozen.pmf(points), dtype=np.float64)
    total = float(masses.sum())
    if not abs(total - 1) <= 1e-9:
        raise ValueError(f"score law must have its mass one point apart when it is discrete; got {name}")
    return DiscreteLaw(points, masses / total)


def _last(frozen: Any, other: float, side: float) -> float:
    """Return the point on one side beyond which nothing is worth a sum, for any k up to 10^4."""
    start = other if np.isfinite(other) else 0.0
    with np.errstate(all="ignore"):
        mean, sd = float(frozen.mean()), float(frozen.std())
    if np.isfinite(mean) and np.isfinite(sd):
        for away in 2.0 ** np.arange(21):
            end = start + float(np.round(mean - start) + side * away)
            if away > 2 * sd and float(frozen.pmf(end)) * away**2 <= 1e-26 * sd:
                return end
    return side * np.inf


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
        return self._least([law.quantile(levels) for law in self.laws], self.cdf, levels)

    def upper_quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        return self._least([law.upper_quantile(levels) for law in self.laws], lambda x: -self.sf(x), -levels)

    def _least(self, each: list[Floats], reach: Callable[[Floats], Floats], target: Floats) -> Floats:
        """Return the least scores with reach(x) >= target, by bracketing roots (Chandrupatla) between two corners.

        The quantiles of the parts bracket that of the mixture, and the law jumps or rests at its corners only.
        """
        low, high, goal = np.min(each, axis=0).ravel(), np.max(each, axis=0).ravel(), target.ravel()
        corners = self.corners
        if corners.size:
            at = np.searchsorted(reach(corners), goal)
            low = np.where(at > 0, np.maximum(low, corners[np.maximum(at - 1, 0)]), low)
            high = np.where(
                at < corners.size, np.minimum(high, corners[np.minimum(at, corners.size - 1)]), high
            )
        found = np.where(reach(low) >= goal, low, high)
        # Where the law jumps at `high`, no lower score is enough.
        between = (
            (found > low)
            & (reach(np.nextafter(high, -np.inf)) >= goal)
            & np.isfinite(low)
            & np.isfinite(high)
        )
        if between.any():
            found[between] = bracketed_roots(reach, low[between], high[between], goal[between])
        return np.asarray(found.reshape(target.shape))

    @property
    def middle(self) -> float:
        # Quantiles of a mixture are searched for.
        return float(sum(w * law.middle for w, law in zip(self.weights, self.laws, strict=True)))

    @property
    def corners(self) -> Floats:
        return np.unique(np.concatenate([law.corners for law in self.laws]))

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


def log_cdf(law: ScoreLaw, x: Floats) -> Floats:
    """Return log P(X <= x), accurate where the probability is near one and where it is near zero."""
    over = law.sf(x)
    with np.errstate(divide="ignore"):
        result = np.log1p(-over)
        deep = over > 0.5
        if deep.any():
            result[deep] = np.log(law.cdf(x[deep]))
    return result


def log_below(law: ScoreLaw, x: Floats) -> Floats:
    """Return log P(X < x), as accurate as :func:`log_cdf`."""
    points, masses = law.atoms
    if points.size == 0:
        return log_cdf(law, x)
    at = np.minimum(np.searchsorted(points, x), points.size - 1)
    over = law.sf(x) + np.where(points[at] == x, masses[at], 0.0)
    with np.errstate(divide="ignore"):
        return np.where(over < 0.5, np.log1p(-np.minimum(over, 0.5)), np.log(law.below(x)))


_SIX_DIGITS = 1e-6


def require_mean(name: str, law: ScoreLaw) -> None:
    """Refuse a law without a finite mean: its maxima have none either."""
    if not np.isfinite(law.mean):
        raise ValueError(f"{name} must have a finite mean; got {law!r} with mean {law.mean}")


def tail_remainder(law: ScoreLaw, cuts: Floats, k: NDArray[Any]) -> tuple[Floats, Floats]:
    """Estimate what lies outside the cuts for the best of k.

    Returns
    -------
    points, mass : array, shape (ks,)
        The integral of the tails of the distribution function, in points, by the power law that the last two
        decades show, and their probability.
    """
    # The cut nearest the median: cuts are many more in a heavy tail than in the other.
    middle = float(cuts[np.argmin(np.abs(law.cdf(cuts) - 0.5))])
    points, mass = np.zeros(k.size), np.zeros(k.size)
    tails = ((law.sf, float(cuts[-1]), k.astype(float)), (law.below, float(cuts[0]), np.ones(k.size)))
    for (tail, end, times), limit in zip(tails, law.support[::-1], strict=True):
        left = float(tail(end))
        if left <= 0 or end == limit:
            continue
        near = float(tail(middle + (end - middle) * 0.01))
        index = np.log(near / left) / np.log(100.0) if np.isfinite(near / left) else np.inf
        points += times * (left * abs(end - middle) / (index - 1) if index > 1 else np.inf)
        mass += times * left
    return points, mass


def require_digits(error: Floats, size: Floats, k: NDArray[Any], *laws: ScoreLaw) -> None:
    """Refuse numbers, by k, whose error is more than a millionth of their size and of the spread of the laws."""
    if (error <= _SIX_DIGITS * size).all():
        return
    for law in laws:
        far_low, low, high, far_high = law.quantile([0.001, 0.1, 0.9, 0.999])
        # Where nearly all mass is one atom's, rounding is what an error is held against.
        size = size + (high - low) + 1e-6 * (far_high - far_low)
    bad = np.flatnonzero(~(error <= _SIX_DIGITS * size))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"scores must have maxima that can be computed to six digits; got an error of {error[i]:.2g} against a "
            f"scale of {size[i]:.2g} at k={k[i]:g} for {' and '.join(map(repr, laws))}: a tail too heavy, or too much "
            "mass within one float of a point"
        )


def mean_of_max(law: ScoreLaw, k: ArrayLike) -> Floats:
    """Return the expected best of k independent scores for every k: by sums, or by parts from the middle.

    A k need not be whole: it is the mean of the law with distribution function F^k.

    Raises
    ------
    ValueError
        When the law has no finite mean, or its tails are too heavy for the integral.
    """
    require_mean("law", law)
    return mean_of_power(law, k)


def mean_of_power(law: ScoreLaw, k: ArrayLike) -> Floats:
    """Return what :func:`mean_of_max` does for a law that is known to have a mean."""
    power = np.atleast_1d(np.asarray(k, dtype=np.float64))
    if law.is_discrete:
        points, _ = law.atoms
        over = -np.expm1(power * log_cdf(law, points[:-1])[:, None])
        return np.asarray(points[0] + np.diff(points) @ over)
    middle = law.middle
    cuts = np.unique(np.append(law.breakpoints(), middle))

    def integrand(x: Floats) -> Floats:
        logs = power * log_cdf(law, x)[:, None]
        return np.where((x < middle)[:, None], -np.exp(logs), -np.expm1(logs))

    value, error = integrate((integrand, cuts))
    error = error + tail_remainder(law, cuts, power)[0]
    require_digits(error, np.abs(value), power, law)
    return middle + value


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
