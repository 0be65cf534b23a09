"""The numbers of two best-of-k scores: sums over points, or integrals over pieces.

Every function returns arrays of shape (ks,) in the order of the fields of a Separation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import beyond, integrate, log_below, log_cdf

__all__ = ["chances", "integrated", "summed"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_EPS = float(np.finfo(float).eps)
_CELLS = 1 << 20
"""Most points times numbers of advocates that are held at a time."""


def summed(one: ScoreLaw, two: ScoreLaw, k: Counts) -> tuple[Floats, ...]:
    """Sum over the points of two discrete laws, as many k at a time as fit."""
    points = np.union1d(one.atoms[0], two.atoms[0])
    width = np.diff(points)
    logs = [log_cdf(law, points) for law in (one, two)]
    middle = points.size // 2
    rows = []
    step = max(1, _CELLS // points.size)
    for start in range(0, k.size, step):
        times = k[start : start + step, None]
        up_to = [np.exp(times * z) for z in logs]
        over = [-np.expm1(times * z) for z in logs]
        below = [np.concatenate([np.zeros((times.size, 1)), x[:, :-1]], axis=1) for x in up_to]
        mass = [x - y for x, y in zip(up_to, below, strict=True)]
        cross = up_to[0] * over[1] + up_to[1] * over[0]
        means = [
            points[middle] + x[:, middle:-1] @ width[middle:] - y[:, :middle] @ width[:middle]
            for x, y in zip(over, up_to, strict=True)
        ]
        chance = ((mass[0] * below[1]), (mass[0] * mass[1]), (mass[1] * below[0]))
        rows.append(
            [
                cross[:, :-1] @ width,
                (over[0] - over[1])[:, :-1] @ width,
                *means,
                *(x.sum(axis=1) for x in chance),
            ]
        )
    numbers = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
    rounding = 8 * _EPS * np.sqrt(points.size)
    largest = float(np.abs(points[[0, -1]]).max())
    return (*numbers, np.full(k.size, rounding * largest), np.full(k.size, rounding))


class _Pair:
    """The laws of two maxima at many points, for one sweep of an integral.

    With `from_top` points are distances down from the common upper end of both laws, so that scores next to it
    are told apart by as many digits as those next to zero.
    """

    def __init__(
        self, laws: Sequence[ScoreLaw], k: Counts, cuts: Floats, medians: Sequence[float], *, from_top: bool
    ) -> None:
        self.laws, self.k, self.cuts, self.medians, self.from_top = laws, k, cuts, medians, from_top

    def _logs(self, x: Floats, *, below: bool = False) -> list[Floats]:
        """Return log P(X <= x) or, for `below`, log P(X < x) of both, (points, 1)."""
        if not self.from_top:
            return [(log_below if below else log_cdf)(law, x)[:, None] for law in self.laws]
        result = []
        for law in self.laws:
            under = law.cdf(x)
            with np.errstate(divide="ignore"):
                logs = np.where(under < 0.5, np.log1p(-np.minimum(under, 0.5)), np.log(law.sf(x)))
            result.append(logs[:, None])
        return result

    def at(self, x: Floats) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """Return log F, F^k and 1 - F^k of both, (points, 1) and (points, ks)."""
        logs = self._logs(x)
        exponents = [self.k * z for z in logs]
        return logs, [np.exp(z) for z in exponents], [-np.expm1(z) for z in exponents]

    def ahead(self, x: Floats, logs: list[Floats], up_to: list[Floats]) -> list[Floats]:
        """Return the densities of M1 where M2 is below, and of M2 where M1 is."""
        result = []
        for me, other in ((0, 1), (1, 0)):
            density = self.laws[me].density(x)[:, None]
            once = np.exp(logs[me])
            ratio = np.divide(density, once, out=np.zeros_like(once), where=once > 0)
            result.append((self.k * up_to[me]) * (ratio * up_to[other]))
        return result

    def steps(self, low: Floats, high: Floats) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """Return F^k and 1 - F^k halfway up each piece, and half the rise, for the part without atoms."""
        left, right = (high, low) if self.from_top else (low, high)
        middle, over, half = [], [], []
        for ends in zip(self._logs(left), self._logs(right, below=True), strict=True):
            up_to, more = [np.exp(self.k * z) for z in ends], [-np.expm1(self.k * z) for z in ends]
            middle.append(0.5 * (up_to[0] + up_to[1]))
            over.append(0.5 * (more[0] + more[1]))
            # Near one, F^k has no digits left to subtract.
            rise = np.where(more[1] < 0.5, more[0] - more[1], up_to[1] - up_to[0])
            half.append(0.5 * np.maximum(rise, 0.0))
        return middle, over, half

    def below_median(self, x: Floats, which: int) -> NDArray[np.bool_]:
        """Whether points lie below the median of a law, (points, 1)."""
        inside = np.zeros(x.size, dtype=bool) if self.from_top else x < self.medians[which]
        return np.asarray(inside[:, None])


def _pairs(one: ScoreLaw, two: ScoreLaw, k: Counts, medians: Sequence[float]) -> list[_Pair]:
    """Return what covers the line: one sweep, or two that meet where both laws are above their medians."""
    laws = (one, two)
    cuts = np.union1d(np.union1d(one.breakpoints(), two.breakpoints()), medians)
    mirrored = [law.from_top() for law in laws]
    top = one.support[1]
    if mirrored[0] is None or mirrored[1] is None or top != two.support[1]:
        return [_Pair(laws, k, cuts, medians, from_top=False)]
    meeting = max(medians)
    depth = top - meeting
    down = np.union1d(mirrored[0].breakpoints(), mirrored[1].breakpoints())
    return [
        _Pair(laws, k, np.append(cuts[cuts < meeting], meeting), medians, from_top=False),
        _Pair((mirrored[0], mirrored[1]), k, np.append(down[down < depth], depth), medians, from_top=True),
    ]


def _atoms(laws: Sequence[ScoreLaw], k: Counts) -> tuple[Floats, Floats, Floats]:
    """Return what atoms add to P(M1 > M2), P(M1 = M2) and P(M1 < M2)."""
    more, tie, less = (np.zeros(k.size) for _ in range(3))
    for me, other, total in ((0, 1, more), (1, 0, less)):
        points, _ = laws[me].atoms
        if points.size == 0:
            continue
        at, under = (
            [np.exp(k * f(laws[i], points)[:, None]) for i in (me, other)] for f in (log_cdf, log_below)
        )
        mass = at[0] - under[0]
        total += (mass * under[1]).sum(axis=0)
        if me == 0:
            tie += (mass * (at[1] - under[1])).sum(axis=0)
    return more, tie, less


def _balanced(
    laws: Sequence[ScoreLaw], k: Counts, first: Floats, second: Floats, error: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Add the atoms; what the three lack of one is error, shared between the two that were integrated."""
    more, tie, less = _atoms(laws, k)
    first, second = first + more, second + less
    lack = 1.0 - first - tie - second
    outside = sum(beyond(law, law.breakpoints(), k)[1] for law in laws)
    bound = error + np.abs(lack) + outside + 64 * _EPS
    first, second = np.clip(first + 0.5 * lack, 0.0, 1.0), np.clip(second + 0.5 * lack, 0.0, 1.0)
    return first, tie, second, bound


def _joined(parts: Sequence[ArrayLike]) -> Floats:
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts], axis=1)


def chances(one: ScoreLaw, two: ScoreLaw, k: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Integrate P(M1 > M2), P(M1 = M2), P(M1 < M2); last a bound on their error."""
    value, error = np.zeros(2 * k.size), np.zeros(2 * k.size)
    for pair in _pairs(one, two, k, [float(law.quantile(0.5)) for law in (one, two)]):

        def integrand(x: Floats, pair: _Pair = pair) -> Floats:
            logs, up_to, _ = pair.at(x)
            return _joined(pair.ahead(x, logs, up_to))

        def bounds(low: Floats, high: Floats, pair: _Pair = pair) -> tuple[Floats, Floats]:
            (a, b), _, (da, db) = pair.steps(low, high)
            return _joined([2 * da * b, 2 * db * a]), _joined([2 * da * db] * 2)

        found = integrate(integrand, pair.cuts, bounds=bounds)
        value, error = value + found[0], error + found[1]
    first, second = value.reshape(2, k.size)
    return _balanced((one, two), k, first, second, error.reshape(2, k.size).max(axis=0))


def integrated(one: ScoreLaw, two: ScoreLaw, k: Counts) -> tuple[Floats, ...]:
    """Integrate all numbers piece by piece; both means must be finite."""
    n = k.size
    medians = [float(law.quantile(0.5)) for law in (one, two)]
    tiny = np.finfo(float).tiny
    floor = np.repeat([tiny, tiny, tiny, tiny, 1.0, 1.0], n)

    def size(value: Floats) -> Floats:
        # The mean gap is a difference: what counts is how much was subtracted, which is the expected gap.
        magnitude = np.abs(value)
        magnitude[:, n : 2 * n] = magnitude[:, :n]
        return magnitude

    value, error = np.zeros(6 * n), np.zeros(6 * n)
    for pair in _pairs(one, two, k, medians):

        def integrand(x: Floats, pair: _Pair = pair) -> Floats:
            logs, up_to, over = pair.at(x)
            # In the lower tail 1 - F^k has no digits left to subtract.
            low = (logs[0] < -0.7) & (logs[1] < -0.7)
            apart = np.where(low, up_to[1] - up_to[0], over[0] - over[1])
            means = [np.where(pair.below_median(x, i), -up_to[i], over[i]) for i in (0, 1)]
            cross = up_to[0] * over[1] + up_to[1] * over[0]
            return _joined([cross, apart, *means, *pair.ahead(x, logs, up_to)])

        def bounds(low: Floats, high: Floats, pair: _Pair = pair) -> tuple[Floats, Floats]:
            up_to, over, (da, db) = pair.steps(low, high)
            (a, b), (no_a, no_b) = up_to, over
            width = (high - low)[:, None]
            means = [np.where(pair.below_median(low, i), -up_to[i], over[i]) * width for i in (0, 1)]
            gap = (a * no_b + b * no_a) * width
            apart = np.where(no_a + no_b < 1, no_a - no_b, b - a) * width
            rise, slack = (da + db) * width, 2 * da * db
            return (
                _joined([gap, apart, *means, 2 * da * b, 2 * db * a]),
                _joined([rise, rise, da * width, db * width, slack, slack]),
            )

        found = integrate(integrand, pair.cuts, size=size, floor=floor, bounds=bounds)
        value, error = value + found[0], error + found[1]
    gap, apart, up, down, first, second = value.reshape(6, n)
    errors = error.reshape(6, n)
    first, tie, second, prob_error = _balanced((one, two), k, first, second, errors[4:].max(axis=0))
    means = medians[0] + up, medians[1] + down
    outside = sum(beyond(law, law.breakpoints(), k)[0] for law in (one, two))
    rounding = 64 * _EPS * np.maximum(np.maximum(np.abs(means[0]), np.abs(means[1])), gap)
    bound = errors[:4].max(axis=0) + outside + rounding
    return gap, apart, *means, first, tie, second, bound, prob_error
