"""Laws of a score by name, from closed forms: cheap to make, with full digits in both tails.

The same laws as scipy.stats frozen ones, for where many are made: one of these costs microseconds, a frozen
distribution half a millisecond.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, number
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.quantiles import graded

__all__ = ["beta", "exponential", "normal", "uniform", "weibull"]

Floats = NDArray[np.float64]

_NONE = np.empty(0)
_NONE.setflags(write=False)
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

    def below(self, x: ArrayLike) -> Floats:
        return self.cdf(x)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return _NONE, _NONE

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
        more = np.union1d(cuts, graded(cuts[cuts >= middle], middle))
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
