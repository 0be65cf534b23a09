"""The distribution of one advocate's score, by name, from scipy, from a table or a sample, mixed, or the best of k.

Everything about several advocates is computed from the law of one: its distribution function on both sides of a
point, its atoms, and the density of the rest. A new law by name is a subclass of ``_Smooth`` with its formulas, and a
function that checks its parameters; any continuous distribution of ``scipy.stats`` is a law without either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer, nonnegative, number, positive, whole_numbers
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
    "mean_of_max",
    "normal",
    "uniform",
    "weibull",
]


_NONE = np.empty(0)
_NONE.setflags(write=False)


def _array(x: ArrayLike) -> Floats:
    return np.asarray(x, dtype=np.float64)


class ScoreLaw(ABC):
    """The distribution of a score X: a sum of atoms and a part with a density.

    All methods are vectorised over x or u.

    Examples
    --------
    >>> from d3stats.models.separation import as_law, uniform
    >>> law = uniform(0, 2)
    >>> law.cdf(0.5).item(), law.sf(0.5).item(), law.density(0.5).item()
    (0.25, 0.75, 0.5)
    >>> law.quantile(0.25).item(), law.upper_quantile(0.25).item(), law.mean, law.support
    (0.5, 1.5, 1.0, (0.0, 2.0))
    >>> law.sample(3, rng=1).round(2).tolist(), law.breakpoints()[[0, -1]].tolist(), law.from_top()
    ([1.02, 1.9, 0.29], [0.0, 2.0], uniform(0, 2))
    >>> points = as_law({0: 0.5, 1: 0.5})
    >>> points.below(1).item(), points.cdf(1).item(), points.is_discrete
    (0.5, 1.0, True)
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
        """Return the density of the part without atoms; it integrates to 1 minus the mass of the atoms."""

    @abstractmethod
    def quantile(self, u: ArrayLike) -> Floats:
        """Return the least x with P(X <= x) >= u."""

    def upper_quantile(self, u: ArrayLike) -> Floats:
        """Return the score that is exceeded with probability u; where the law can, accurate for tiny u."""
        return self.quantile(1.0 - _array(u))

    @abstractmethod
    def breakpoints(self) -> Floats:
        """Return where an integral over the score is cut, ascending and finite, all atoms among them."""

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        """Draw independent scores."""

    @cached_property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Essential infimum and supremum."""

    @cached_property
    @abstractmethod
    def mean(self) -> float:
        """Expected score; may be infinite, and is NaN where there is none."""

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Points that have mass, ascending, and their masses; by default none."""
        return _NONE, _NONE

    @cached_property
    def is_discrete(self) -> bool:
        """Whether all mass is on finitely many points."""
        return False

    @cached_property
    def middle(self) -> float:
        """A score well inside the law at which integrals are split: the median, unless it takes long to compute."""
        return float(self.quantile(0.5))

    @cached_property
    def corners(self) -> Floats:
        """Finite points where the distribution function may jump or bend: atoms and ends of the support."""
        ends = np.asarray(self.support)
        return np.union1d(self.atoms[0], ends[np.isfinite(ends)])

    def from_top(self) -> ScoreLaw | None:
        """Return the law of the distance down from the upper end; None where it is not known without loss."""
        return None


def _total(name: str, masses: Floats) -> float:
    """Return the sum of probabilities; refused unless it is one within 1e-9."""
    total = float(masses.sum())
    if abs(total - 1) > 1e-9:
        raise ValueError(f"{name} must sum to 1; got a sum of {total!r}")
    return total


def require_increasing(name: str, values: NDArray[Any]) -> None:
    """Refuse values that are not strictly increasing."""
    falls = np.flatnonzero(np.diff(values) <= 0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"{name} must be strictly increasing; got {values[i]:g} before {values[i + 1]:g} at position {i}"
        )


class DiscreteLaw(ScoreLaw):
    """A score on finitely many points, such as a rubric from 1 to 20.

    Parameters
    ----------
    support : array, shape (points,)
        Finite scores, strictly increasing.
    probabilities : array, shape (points,)
        Their probabilities, which sum to one within 1e-9; others are refused.

    Examples
    --------
    >>> coin = DiscreteLaw([0, 1], [0.5, 0.5])
    >>> coin.cdf([0, 0.5, 1]).tolist(), coin.below(1).item(), coin.mean
    ([0.5, 0.5, 1.0], 0.5, 0.5)
    """

    is_discrete = True

    def __init__(self, support: ArrayLike, probabilities: ArrayLike) -> None:
        points, masses = _array(support), nonnegative("probabilities", probabilities)
        if points.ndim != 1 or points.size == 0:
            raise ValueError(f"support must be a list of at least one score; got shape {points.shape}")
        if points.shape != masses.shape:
            raise ValueError(
                f"probabilities must have one value per score ({points.size}); got {masses.size}"
            )
        if not np.isfinite(points).all():
            raise ValueError(f"support must be finite; got {points[~np.isfinite(points)][0]}")
        require_increasing("support", points)
        total, kept = _total("probabilities", masses), masses > 0
        self.points: Floats = points[kept]
        self.masses: Floats = masses[kept] / total
        self._heap: Floats = np.concatenate([[0.0], np.cumsum(self.masses)])
        self._heap[-1] = 1.0
        # From the top down, so that a small upper tail keeps its digits.
        self._over: Floats = np.concatenate([np.cumsum(self.masses[::-1])[::-1], [0.0]])
        self._over[0] = 1.0
        for array in (self.points, self.masses, self._heap, self._over):
            array.setflags(write=False)
        self.atoms: tuple[Floats, Floats] = (self.points, self.masses)
        self.support: tuple[float, float] = float(self.points[0]), float(self.points[-1])
        self.mean: float = float(self.points @ self.masses)

    @classmethod
    def empirical(cls, scores: ArrayLike) -> DiscreteLaw:
        """Return the law of one score drawn from an array of logged ones, of any shape; NaN is left out.

        Examples
        --------
        >>> DiscreteLaw.empirical([7, 9, 9, float("nan")]).masses.round(3).tolist()
        [0.333, 0.667]
        """
        try:
            given = np.asarray(scores)
            if given.dtype.kind in "US":
                raise TypeError
            values = given.astype(np.float64).ravel()
        except (TypeError, ValueError):
            raise TypeError(f"scores must be numbers, in one list; got {scores!r:.80}") from None
        points, times = np.unique(values[~np.isnan(values)], return_counts=True)
        if points.size == 0:
            raise ValueError("scores must hold at least one score; got none")
        return cls(points, times / times.sum())

    def __repr__(self) -> str:
        if self.points.size > 8:
            return f"DiscreteLaw({self.points.size} points from {self.points[0]:g} to {self.points[-1]:g})"
        pairs = ", ".join(f"{x:g}: {p:.4g}" for x, p in zip(self.points, self.masses, strict=True))
        return f"DiscreteLaw({{{pairs}}})"

    def _up_to(self, x: ArrayLike, sums: Floats, side: Literal["left", "right"]) -> Floats:
        found: Floats = sums[np.searchsorted(self.points, _array(x), side=side)]
        return found

    def cdf(self, x: ArrayLike) -> Floats:
        return self._up_to(x, self._heap, "right")

    def below(self, x: ArrayLike) -> Floats:
        return self._up_to(x, self._heap, "left")

    def sf(self, x: ArrayLike) -> Floats:
        return self._up_to(x, self._over, "right")

    def density(self, x: ArrayLike) -> Floats:
        return np.zeros_like(_array(x))

    def quantile(self, u: ArrayLike) -> Floats:
        at = np.searchsorted(self._heap[1:], _array(u), side="left")
        found: Floats = self.points[np.minimum(at, self.points.size - 1)]
        return found

    def breakpoints(self) -> Floats:
        return self.points

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(as_rng(rng).choice(self.points, size=size, p=self.masses))


def _ends(frozen: Any, advice: str = "") -> tuple[float, float]:
    """Return the ends of the support of one frozen distribution; refuse an array of them and invalid parameters."""
    name = getattr(getattr(frozen, "dist", None), "name", "distribution")
    for value in (*frozen.args, *frozen.kwds.values()):
        if np.ndim(value) > 0:
            raise ValueError(
                f"score law must be one distribution, not an array of them; got {name} with a parameter of shape "
                f"{np.shape(value)}"
            )
    low, high = frozen.support()
    if np.isnan(low) or np.isnan(high) or np.isnan(frozen.cdf(0.0)):
        raise ValueError(
            f"score law must have valid parameters; got {name}{frozen.args}{frozen.kwds or ''}, which "
            f"scipy accepts for no distribution{advice}"
        )
    return float(low), float(high)


class ContinuousLaw(ScoreLaw):
    """A score with a density: any frozen continuous distribution of scipy.stats.

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
        self.support: tuple[float, float] = _ends(frozen, " (a point mass is DiscreteLaw([x], [1]))")

    def __repr__(self) -> str:
        parts = [f"{a:g}" for a in self.frozen.args] + [f"{k}={v:g}" for k, v in self.frozen.kwds.items()]
        return f"ContinuousLaw({self.frozen.dist.name}({', '.join(parts)}))"

    def cdf(self, x: ArrayLike) -> Floats:
        return _array(self.frozen.cdf(x))

    def sf(self, x: ArrayLike) -> Floats:
        # Some of scipy's survival functions divide by a probability that has reached 0.
        with np.errstate(all="ignore"):
            return _array(self.frozen.sf(x))

    def density(self, x: ArrayLike) -> Floats:
        return _array(self.frozen.pdf(x))

    def quantile(self, u: ArrayLike) -> Floats:
        return _array(self.frozen.ppf(u))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return _array(self.frozen.isf(u))

    @cached_property
    def mean(self) -> float:
        with np.errstate(all="ignore"):
            return float(self.frozen.mean())

    def breakpoints(self) -> Floats:
        return self._cuts

    @cached_property
    def _cuts(self) -> Floats:
        with np.errstate(all="ignore"):
            middle = float(self.frozen.ppf(0.5))
            up = tail_cuts(self.frozen.isf, self.frozen.sf, middle, self.support[1])
            down = tail_cuts(self.frozen.ppf, self.frozen.cdf, middle, self.support[0])
        cuts = np.union1d(up, down)
        cuts.setflags(write=False)
        return cuts

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return _array(self.frozen.rvs(size=size, random_state=as_rng(rng)))


_TAILS = np.array([1e-2, 1e-4, 1e-8, 1e-16, 1e-32, 1e-64])
"""Tail probabilities at whose quantiles integrals are cut; beyond the last there is nothing to integrate."""
_SQRT_TWO_PI = float(np.sqrt(2 * np.pi))


class _Smooth(ScoreLaw):
    """A law with a density and no atoms, by closed forms."""

    @cached_property
    def _n_tails(self) -> tuple[int, int]:
        """How many of the tail probabilities are cut at, below and above."""
        return 4, 4

    def breakpoints(self) -> Floats:
        return self._cuts

    @cached_property
    def _cuts(self) -> Floats:
        down, up = (_TAILS[:n] for n in self._n_tails)
        with np.errstate(all="ignore"):
            inner = [self.quantile(down), [self.quantile(0.5)], self.upper_quantile(up)]
        cuts = np.concatenate([self.support, *inner])
        cuts = np.unique(cuts[np.isfinite(cuts)])
        cuts.setflags(write=False)
        return cuts

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.10g}" for value in astuple(self))  # type: ignore[call-overload]  # dataclasses all
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

    @cached_property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @cached_property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    def from_top(self) -> ScoreLaw:
        return _Uniform(0.0, self.high - self.low)

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(as_rng(rng).uniform(self.low, self.high, size))


@dataclass(frozen=True, repr=False)
class _Beta(_Smooth):
    a: float
    b: float
    support = (0.0, 1.0)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.betainc(self.a, self.b, np.clip(_array(x), 0.0, 1.0)))

    def sf(self, x: ArrayLike) -> Floats:
        return np.asarray(special.betaincc(self.a, self.b, np.clip(_array(x), 0.0, 1.0)))

    def density(self, x: ArrayLike) -> Floats:
        at = _array(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = special.xlogy(self.a - 1, at) + special.xlog1py(self.b - 1, -at) - self._log_beta
            return np.where((at >= 0) & (at <= 1), np.exp(logs), 0.0)

    @cached_property
    def _log_beta(self) -> float:
        return float(special.betaln(self.a, self.b))

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(special.betaincinv(self.a, self.b, _array(u)))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(special.betainccinv(self.a, self.b, _array(u)))

    @cached_property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def from_top(self) -> ScoreLaw:
        return _Beta(self.b, self.a)

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(as_rng(rng).beta(self.a, self.b, size))


@dataclass(frozen=True, repr=False)
class _Normal(_Smooth):
    centre: float
    sd: float
    support = (-np.inf, np.inf)
    _n_tails = (5, 5)

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

    @cached_property
    def mean(self) -> float:
        return self.centre

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(as_rng(rng).normal(self.centre, self.sd, size))


@dataclass(frozen=True, repr=False)
class _Weibull(_Smooth):
    shape: float
    scale: float
    support = (0.0, np.inf)

    @cached_property
    def _n_tails(self) -> tuple[int, int]:
        return 4, 6 if self.shape < 0.5 else 5

    @cached_property
    def _cuts(self) -> Floats:
        cuts = super()._cuts
        if self.shape < 0.5:
            cuts = np.union1d(cuts, decade_cuts(cuts[cuts >= self.middle], self.middle))
            cuts.setflags(write=False)
        return cuts

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

    @cached_property
    def mean(self) -> float:
        return float(self.scale * special.gamma(1 + 1 / self.shape))

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(self.scale * as_rng(rng).weibull(self.shape, size))


class _Exponential(_Weibull):
    def __repr__(self) -> str:
        return f"exponential({self.scale:.10g})"


def uniform(low: float = 0.0, high: float = 1.0) -> ScoreLaw:
    """Return the law of a score that is equally likely anywhere from `low` to `high`, which is above `low`.

    Parameters
    ----------
    low, high : float
        In points; `high` is above `low`.

    Returns
    -------
    ScoreLaw

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
    """Return the Beta law on [0, 1] with density proportional to x^(a-1) (1-x)^(b-1); a and b are above 0.

    Parameters
    ----------
    a, b : float
        Above 0.

    Returns
    -------
    ScoreLaw

    Examples
    --------
    >>> beta(2, 8).mean
    0.2
    """
    return _Beta(positive("a", a), positive("b", b))


def normal(mean: float = 0.0, sd: float = 1.0) -> ScoreLaw:
    """Return the normal law with this mean and standard deviation, which is above 0.

    Parameters
    ----------
    mean, sd : float
        In points; `sd` is above 0.

    Returns
    -------
    ScoreLaw

    Examples
    --------
    >>> normal(1, 2).cdf(1.0).item()
    0.5
    """
    return _Normal(number("mean", mean), positive("sd", sd))


def exponential(scale: float = 1.0) -> ScoreLaw:
    """Return the exponential law with mean `scale`, which is above 0.

    Parameters
    ----------
    scale : float
        The mean, above 0.

    Returns
    -------
    ScoreLaw

    Examples
    --------
    >>> exponential(2), exponential(2).mean
    (exponential(2), 2.0)
    """
    return _Exponential(1.0, positive("scale", scale))


def weibull(shape: float, scale: float = 1.0) -> ScoreLaw:
    """Return the Weibull law, P(X > x) = exp(-(x / scale)^shape); its failure rate falls where shape < 1.

    Both are above 0, and a `shape` so small that the mean overflows is refused.

    Parameters
    ----------
    shape, scale : float
        Above 0.

    Returns
    -------
    ScoreLaw

    Examples
    --------
    >>> weibull(0.5, 1).mean
    2.0
    """
    law = _Weibull(positive("shape", shape), positive("scale", scale))
    if not np.isfinite(law.mean):
        raise ValueError(f"shape must leave a finite mean; got shape={shape!r} with mean {law.mean}")
    return law


_MOST = 10_000
"""Most advocates a side: up to here every number is computed to the digits that are promised."""
_POINTS = 1 << 20
"""Most points of a discrete law of scipy.stats."""


def as_law(scores: Any) -> ScoreLaw:
    """Return the law of scores that is given as a frozen scipy distribution, a table, logged scores or a law.

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
        for score in scores:
            if not isinstance(score, Real):
                raise TypeError(
                    f"scores must be a table from numbers to probabilities; got the score {score!r}"
                )
        points = sorted(scores)
        return DiscreteLaw(points, [scores[x] for x in points])
    dist: Any = getattr(scores, "dist", None)
    table = dist if hasattr(dist, "xk") else scores
    if hasattr(table, "xk"):
        # rv_discrete(values=...), whose scores need not be whole
        shift = _ends(scores)[0] - float(np.min(table.xk)) if table is dist else 0.0
        return DiscreteLaw(_array(table.xk) + shift, table.pk)
    if dist is not None and hasattr(scores, "pmf"):
        return _lattice(scores)
    if dist is not None and hasattr(scores, "pdf"):
        law = ContinuousLaw(scores)
        # Mass next to 1 needs digits of the distance from 1, which scipy's functions do not take.
        named = dist.name == "beta" and len(scores.args) == 2 and not scores.kwds
        return beta(*scores.args) if named else law
    if isinstance(scores, (str, bytes)) or callable(scores):
        raise TypeError(f"scores must be a law, a frozen distribution, a table or a sample; got {scores!r}")
    sample = DiscreteLaw.empirical(scores)
    if np.ndim(scores) > 1:
        raise ValueError(
            f"scores must have one dimension when they are a sample; got shape {np.shape(scores)}; for "
            "scores by item and advocate use separation_from_scores, which treats items separately"
        )
    return sample


def _lattice(frozen: Any) -> DiscreteLaw:
    """Tabulate a discrete distribution of scipy.stats."""
    name, (low, high) = frozen.dist.name, _ends(frozen)
    first = low if np.isfinite(low) else _last(frozen, high, -1.0)
    last = high if np.isfinite(high) else _last(frozen, low, 1.0)
    if not last - first < _POINTS:
        raise ValueError(
            f"score law must have at most 2^20 points when it is discrete; got {name} from {low:g} to "
            f"{high:g}, whose tail is too long"
        )
    points = first + np.arange(np.floor(last - first) + 1.0)
    masses = _array(frozen.pmf(points))
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


def as_counts(k: Any) -> NDArray[np.int64]:
    """Return one or several numbers of advocates a side as an array, checked to be whole and from 1 to 10,000.

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
    """Return one number of advocates a side, checked as by :func:`as_counts`.

    Examples
    --------
    >>> as_count(3.0)
    3
    """
    as_counts(k)
    return integer("k", k, minimum=1)


class MixtureLaw(ScoreLaw):
    """A score drawn from one of several laws, with weights that sum to one within 1e-9.

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
        total, kept = _total("weights", masses), np.flatnonzero(masses).tolist()
        self.laws = tuple(as_law(laws[i]) for i in kept)
        self.weights: Floats = masses[kept] / total
        lows, highs = zip(*(law.support for law in self.laws), strict=True)
        self.support: tuple[float, float] = min(lows), max(highs)
        self.is_discrete: bool = all(law.is_discrete for law in self.laws)

    def __repr__(self) -> str:
        parts = " + ".join(f"{w:.3g} {law!r}" for w, law in zip(self.weights, self.laws, strict=True))
        return f"MixtureLaw({parts})"

    def _mixed(self, values: Iterable[Any]) -> Any:
        """Return the sum of one value per law by the weights."""
        return sum(weight * value for weight, value in zip(self.weights, values, strict=True))

    def _chance(self, values: Iterable[Floats]) -> Floats:
        total: Floats = np.minimum(self._mixed(values), 1.0)
        return total

    def cdf(self, x: ArrayLike) -> Floats:
        return self._chance(law.cdf(x) for law in self.laws)

    def below(self, x: ArrayLike) -> Floats:
        return self._chance(law.below(x) for law in self.laws)

    def sf(self, x: ArrayLike) -> Floats:
        return self._chance(law.sf(x) for law in self.laws)

    def density(self, x: ArrayLike) -> Floats:
        total: Floats = self._mixed(law.density(x) for law in self.laws)
        return total

    def quantile(self, u: ArrayLike) -> Floats:
        levels = _array(u)
        return self._least([law.quantile(levels) for law in self.laws], self.cdf, levels)

    def upper_quantile(self, u: ArrayLike) -> Floats:
        levels = _array(u)
        return self._least([law.upper_quantile(levels) for law in self.laws], lambda x: -self.sf(x), -levels)

    def _least(self, each: list[Floats], reach: Callable[[Floats], Floats], target: Floats) -> Floats:
        """Return the least scores with reach(x) >= target, by bracketing roots (Chandrupatla) between two corners.

        The quantiles of the parts bracket that of the mixture, and the law jumps or rests at its corners only.
        """
        low, high, goal = np.min(each, axis=0).ravel(), np.max(each, axis=0).ravel(), target.ravel()
        at = np.searchsorted(reach(self.corners), goal)
        fences = np.concatenate([[-np.inf], self.corners, [np.inf]])
        low, high = np.maximum(low, fences[at]), np.minimum(high, fences[at + 1])
        found = np.where(reach(low) >= goal, low, high)
        # Where the law jumps at `high`, no lower score is enough.
        enough = (found > low) & (reach(np.nextafter(high, -np.inf)) >= goal)
        between = enough & np.isfinite(low) & np.isfinite(high)
        if between.any():
            found[between] = bracketed_roots(reach, low[between], high[between], goal[between])
        return np.asarray(found.reshape(target.shape))

    @cached_property
    def middle(self) -> float:
        # Quantiles of a mixture are searched for.
        return float(self._mixed(law.middle for law in self.laws))

    @cached_property
    def corners(self) -> Floats:
        return np.unique(np.concatenate([law.corners for law in self.laws]))

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        points, masses = zip(*(law.atoms for law in self.laws), strict=True)
        weighed = [weight * each for weight, each in zip(self.weights, masses, strict=True)]
        unique, at = np.unique(np.concatenate(points), return_inverse=True)
        return unique, np.bincount(at, np.concatenate(weighed), minlength=unique.size).astype(np.float64)

    @cached_property
    def mean(self) -> float:
        return float(self._mixed(law.mean for law in self.laws))

    def breakpoints(self) -> Floats:
        return np.unique(np.concatenate([law.breakpoints() for law in self.laws]))

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        source = as_rng(rng)
        which = source.choice(len(self.laws), size=size, p=self.weights)
        drawn = np.empty(which.shape)
        for i, law in enumerate(self.laws):
            drawn[which == i] = law.sample(int((which == i).sum()), source)
        return drawn


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


def laws_with_means(first: Any, second: Any) -> tuple[ScoreLaw, ScoreLaw]:
    """Return two laws as :func:`as_law` does; refuse one without a finite mean."""
    one, two = as_law(first), as_law(second)
    require_mean("first", one)
    require_mean("second", two)
    return one, two


def tail_remainder(law: ScoreLaw, cuts: Floats, k: NDArray[Any]) -> tuple[Floats, Floats]:
    """Estimate what lies outside the cuts for the best of k, by the power law that the last two decades show.

    The integral of the tails of the distribution function, in points, and their probability, each of shape (ks,).
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
            f"scale of {size[i]:.2g} at k={k[i]:g} for {' and '.join(map(repr, laws))}. The tail "
            "is too heavy, or too much mass lies next to one point"
        )


def mean_of_max(law: ScoreLaw, k: ArrayLike, *, has_mean: bool = False) -> Floats:
    """Return the expected best of k independent scores for every k: by sums, or by parts from the middle.

    A k need not be whole; the result is the mean of the law with distribution function F^k. A law without a finite mean
    is refused, unless `has_mean` says that it has one, and so are tails too heavy for the integral.
    """
    if not has_mean:
        require_mean("law", law)
    power = np.atleast_1d(_array(k))
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
    require_digits(error + tail_remainder(law, cuts, power)[0], np.abs(value), power, law)
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
        self.support: tuple[float, float] = self.law.support
        self.is_discrete: bool = self.law.is_discrete

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
        return self.law.quantile(_array(u) ** (1.0 / self.k))

    def upper_quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):  # exceeded surely
            return self.law.upper_quantile(-np.expm1(np.log1p(-_array(u)) / self.k))

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        points, _ = self.law.atoms
        return points, self.cdf(points) - self.below(points)

    @cached_property
    def mean(self) -> float:
        return float(mean_of_max(self.law, self.k)[0])

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        # One draw by the quantile of the maximum, not k draws.
        return self.quantile(as_rng(rng).random(size))
