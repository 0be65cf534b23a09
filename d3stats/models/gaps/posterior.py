"""Beta posteriors of many debates and rounds at once, computed once per distinct (alpha, beta).

Debates of ten rounds know some sixty pairs (successes, trials), however many debates there are. The regularised
incomplete beta function, which is slow, is therefore evaluated per pair and gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import choice, number, probability, refuse_first
from d3stats.sources import LogSource, Reading, log_or_array

Kind = Literal["equal-tailed", "hdi"]
"""The kinds of interval: equal tails, or the shortest (highest density)."""

Cells = tuple[NDArray[Any] | None, Floats, Floats]

KINDS = ("equal-tailed", "hdi")
_SMALL = 4096
"""Values up to which looking for equal pairs costs more than it saves."""
_HALVINGS = 60


@dataclass(frozen=True, eq=False, repr=False)
class BetaPosterior:
    """Beta(alpha, beta) of any one shape, both finite and above 0; the probabilities are exact.

    Examples
    --------
    >>> from d3stats.models.gaps import win_posterior
    >>> share = win_posterior(5, 1)
    >>> share.mean.item(), share.prob_at_least(0.5).round(4).item(), share.prob_between(0.5, 0.9).round(4).item()
    (0.75, 0.9375, 0.7878)
    """

    alpha: Floats
    beta: Floats
    _cache: dict[str, Any] = field(default_factory=dict, kw_only=True, compare=False)
    _besides: ClassVar[tuple[str, ...]] = ()
    """Further columns of the table."""

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            array = floats(name, getattr(self, name))
            refuse(name, "must be finite and > 0", array, lambda x: np.isfinite(x) & (x > 0))
            # A view, so that the caller's own array stays writable.
            kept = array.view()
            kept.setflags(write=False)
            object.__setattr__(self, name, kept)
        if self.alpha.shape != self.beta.shape:
            raise ValueError(
                f"alpha and beta must have one shape; got {self.alpha.shape} and {self.beta.shape}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``alpha`` and ``beta``, for instance (debates, rounds)."""
        return self.alpha.shape

    @property
    def mean(self) -> Floats:
        """Posterior mean, alpha / (alpha + beta)."""
        return self._each(lambda a, b: a / (a + b))

    @property
    def var(self) -> Floats:
        """Posterior variance."""
        return self._each(variance)

    @property
    def sd(self) -> Floats:
        """Posterior standard deviation."""
        return self._each(lambda a, b: np.sqrt(variance(a, b)))

    def prob_at_least(self, x: float) -> Floats:
        """Return P(value >= x), for x in [0, 1], exact far into the tail."""
        at = probability("x", x)
        return self._each(lambda a, b: scipy.special.betaincc(a, b, at))

    def prob_between(self, low: float, high: float) -> Floats:
        """Return P(low <= value <= high), for 0 <= low <= high <= 1, by the regularised incomplete beta function."""
        left, right = probability("low", low), probability("high", high)
        if left > right:
            raise ValueError(f"low must be <= high; got low={low!r}, high={high!r}")
        return self._each(lambda a, b: _between(a, b, left, right))

    def prob_near_mean(self, width: float) -> Floats:
        """Return P(abs(value - mean) < width), for width in [0, 1]."""
        half = probability("width", width)

        def law(a: Floats, b: Floats) -> Floats:
            mean = a / (a + b)
            return _between(a, b, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0))

        return self._each(law)

    def interval(self, level: float, kind: Kind = "equal-tailed") -> tuple[Floats, Floats]:
        """Return the lower and upper ends of an interval with posterior probability `level`.

        The interval has equal tails, or is the shortest (highest density, HDI). A flat density has no shortest interval
        and gets equal tails. For a density that is high at both ends (alpha and beta below 1) an HDI is refused,
        because the region of highest density is no interval.
        """
        mass = probability("level", level, open_interval=True)
        place = _equal_tailed if choice("kind", kind, KINDS) == "equal-tailed" else _shortest
        _, alpha, beta = self._pairs()
        low, high = place(alpha, beta, mass)
        return self._gather(low), self._gather(high)

    def to_frame(self, level: float = 0.95, kind: Kind = "equal-tailed") -> pd.DataFrame:
        """Return a table with a row per value.

        The columns are ``debate`` (from 0) and ``round`` (from 1) where the shape is (debates, rounds), else ``row``;
        then ``alpha, beta, mean, sd``, what the posterior has besides, and ``low, high, level, kind``.
        """
        low, high = self.interval(level, kind)
        columns = {name: getattr(self, name) for name in ("alpha", "beta", "mean", "sd", *self._besides)}
        return posterior_table({**columns, "low": low, "high": high}, level, kind)

    def _each(self, law: Callable[[Floats, Floats], NDArray[Any]]) -> Floats:
        """Evaluate once per distinct pair and gather."""
        _, alpha, beta = self._pairs()
        return self._gather(law(alpha, beta))

    def _pairs(self) -> Cells:
        """Return where each value is among the distinct pairs, None for in their own order, and the pairs."""
        if "cells" not in self._cache:
            small = self.alpha.size <= _SMALL
            pairs = (None, np.atleast_1d(self.alpha), np.atleast_1d(self.beta))
            self._cache["cells"] = pairs if small else _distinct(self.alpha, self.beta)
        cells: Cells = self._cache["cells"]
        return cells

    def _gather(self, values: NDArray[Any]) -> Floats:
        index = self._pairs()[0]
        array = np.asarray(values, dtype=np.float64)
        return array.reshape(self.shape) if index is None else array.take(index)


def cells_of(successes: NDArray[Any], trials: NDArray[Any], a0: float, b0: float) -> dict[str, Cells]:
    """Return the pairs that counts can make and where each is, ready for the cache; none where few are equal."""
    most = int(trials.max(initial=0)) + 1
    if successes.size <= _SMALL or most * most > successes.size:
        return {}
    tried, won = np.divmod(np.arange(most * most), most)
    index = np.multiply(trials, most, dtype=np.int32)
    index += successes
    # A pair with more successes than trials does not occur; any valid parameters will do.
    return {"cells": (index, a0 + won.astype(float), b0 + np.maximum(tried - won, 0).astype(float))}


def _distinct(alpha: Floats, beta: Floats) -> Cells:
    at_a, values_a = pd.factorize(alpha.ravel())
    at_b, values_b = pd.factorize(beta.ravel())
    if len(values_a) * len(values_b) > alpha.size:
        return None, alpha, beta
    index = (at_a * len(values_b) + at_b).reshape(alpha.shape)
    return index, np.repeat(values_a, len(values_b)), np.tile(values_b, len(values_a))


def variance(a: Floats, b: Floats) -> Floats:
    total = a + b
    result: Floats = (a / total) * (b / total) / (total + 1)
    return result


def _between(a: Floats, b: Floats, low: float | Floats, high: float | Floats) -> Floats:
    mean = a / (a + b)
    (low_below, high_below), (low_above, high_above) = (
        (tail(a, b, low), tail(a, b, high)) for tail in (scipy.special.betainc, scipy.special.betaincc)
    )
    # Differences of the smaller tail: 1 - (nearly 1) would lose it.
    below, above = high_below - low_below, low_above - high_above
    around = 1.0 - low_below - high_above
    inside = (low < mean) & (mean < high)
    return np.maximum(np.where(inside, around, np.where(mean <= low, above, below)), 0.0)


def _equal_tailed(a: Floats, b: Floats, level: float) -> tuple[NDArray[Any], NDArray[Any]]:
    tail = (1.0 - level) / 2.0
    return scipy.special.betaincinv(a, b, tail), scipy.special.betainccinv(a, b, tail)


def _shortest(a: Floats, b: Floats, level: float) -> tuple[NDArray[Any], NDArray[Any]]:
    both = (a < 1) & (b < 1)
    if both.any():
        at = int(np.argmax(both))
        raise ValueError(
            "kind must be 'equal-tailed' if alpha and beta are both below 1, because the density is then "
            f"high at both ends; got kind='hdi' with alpha={a.flat[at]:g}, beta={b.flat[at]:g}"
        )

    def log_density(x: NDArray[Any]) -> Floats:
        return np.asarray(scipy.special.xlogy(a - 1, x) + scipy.special.xlog1py(b - 1, -x))

    def ends(p: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the interval with mass p to its left."""
        return scipy.special.betaincinv(a, b, p), scipy.special.betainccinv(a, b, (1.0 - level) - p)

    # The density at the left end less that at the right end grows with p.
    low: NDArray[Any] = np.zeros_like(a)
    high: NDArray[Any] = np.full_like(a, 1.0 - level)
    for _ in range(_HALVINGS):
        p = (low + high) / 2
        left, right = ends(p)
        rises = log_density(left) < log_density(right)
        low, high = np.where(rises, p, low), np.where(rises, high, p)
    left, right = ends((low + high) / 2)
    falls, grows = (a <= 1) & (b >= 1) & (a < b), (a >= 1) & (b <= 1) & (a > b)
    left, right = np.where(falls, 0.0, left), np.where(falls, scipy.special.betaincinv(a, b, level), right)
    left, right = np.where(grows, scipy.special.betainccinv(a, b, level), left), np.where(grows, 1.0, right)
    flat, (low, high) = (a == 1) & (b == 1), _equal_tailed(a, b, level)
    return np.where(flat, low, left), np.where(flat, high, right)


def signed_gaps(scores: LogSource | ArrayLike, **reading: Unpack[Reading]) -> NDArray[np.float64]:
    """Return side 0 minus side 1 in raw points, shape (debates, rounds); NaN where a score is missing.

    `scores` is a log with scores of two sides (any that :func:`d3stats.as_trajectories` reads), an array
    (debates, rounds, 2) of scores, or the gaps themselves, (debates, rounds). Rounds beyond a debate's
    depth have no gap. `reading` is how the log is read, see :func:`d3stats.open`.
    """
    reached: NDArray[np.bool_] | None = None
    given: Any = log_or_array(scores, **reading)
    if hasattr(given, "scores") and hasattr(given, "depth"):
        if given.scores is None:
            raise ValueError("scores must be given for two sides; got a log without scores")
        reached = np.arange(given.scores.shape[1]) < np.asarray(given.depth)[:, None]
        given = given.scores
    array = floats("scores", given)
    if array.ndim not in (2, 3):
        raise ValueError(
            "scores must have shape (debates, rounds, 2), or be gaps of shape (debates, rounds); "
            f"got shape {array.shape}"
        )
    if array.ndim == 3 and array.shape[2] != 2:
        raise ValueError(f"scores must be of two sides; got scores of {array.shape[2]}")
    if array.size and not np.isfinite([array.min(), array.max()]).all():
        refuse_first("scores", "must be finite, or NaN where missing", array, np.isinf(array))
    gaps = array if array.ndim == 2 else array[:, :, 0] - array[:, :, 1]
    if reached is not None and not reached.all():
        gaps = np.where(reached, gaps, np.nan)
    return gaps


def ascents(gaps: NDArray[np.float64], before: float | None) -> tuple[NDArray[Any], ...]:
    """Count how often the gap grew, how often that could be seen, and ties, so far; each (debates, rounds).

    Each known gap is compared with the last known one, the first of all with `before` where that is given.
    """
    rounds = gaps.shape[1]
    if gaps.size and np.isnan(gaps.max()):
        return _ascents_with_holes(gaps, before)
    grown, tied = np.zeros((2, *gaps.shape), dtype=bool)
    if rounds:
        np.greater(gaps[:, 1:], gaps[:, :-1], out=grown[:, 1:])
        np.equal(gaps[:, 1:], gaps[:, :-1], out=tied[:, 1:])
        if before is not None:
            grown[:, 0], tied[:, 0] = gaps[:, 0] > before, gaps[:, 0] == before
    tried = np.broadcast_to(np.arange(rounds, dtype=np.int32) + (before is not None), gaps.shape)
    return np.cumsum(grown, axis=1, dtype=np.int32), tried, np.cumsum(tied, axis=1, dtype=np.int32)


def _ascents_with_holes(gaps: NDArray[np.float64], before: float | None) -> tuple[NDArray[Any], ...]:
    last = np.full(len(gaps), np.nan if before is None else before)
    grown, tried, tied = np.zeros((3, *gaps.shape), dtype=bool)
    for r in range(gaps.shape[1]):
        gap = gaps[:, r]
        grown[:, r], tied[:, r] = gap > last, gap == last
        tried[:, r] = ~np.isnan(gap) & ~np.isnan(last)
        last = np.where(np.isnan(gap), last, gap)
    return tuple(np.cumsum(x, axis=1, dtype=np.int32) for x in (grown, tried, tied))


def prior(name: str, value: float) -> float:
    """Return a prior parameter, finite and above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0, a proper prior; got {name}={value!r}")
    return result


def floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return an array of floats of any shape."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {values!r}") from None


def refuse(
    name: str, requirement: str, values: NDArray[Any], good: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> None:
    """Refuse the first value that is not `good`, saying where it is."""
    if values.size == 0:
        return
    # A monotone requirement holds everywhere where it holds at the extremes, which is much faster to see.
    if not bool(np.all(good(np.array([values.min(), values.max()])))):
        refuse_first(name, requirement, values, ~good(values))


def posterior_table(columns: Mapping[str, NDArray[Any] | None], level: float, kind: str) -> pd.DataFrame:
    """Return a row per value: its place, then `columns` (those that are there), then level and kind.

    The place of a value of shape (debates, rounds) is a debate, from 0, and a round, from 1; else a row, from 0.
    """
    given = {name: np.asarray(values) for name, values in columns.items() if values is not None}
    shape = next(iter(given.values())).shape
    if len(shape) == 2:
        at = np.indices(shape).reshape(2, -1)
        place = {"debate": at[0], "round": at[1] + 1}
    else:
        place = {"row": np.arange(int(np.prod(shape)))}
    table = pd.DataFrame({**place, **{name: np.ravel(values) for name, values in given.items()}})
    return table.assign(level=float(level), kind=kind)
