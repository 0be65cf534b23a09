"""Expected gap, mean gap and ranking of the best of k scores for two answers, by sums or quadrature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import integer
from d3stats._words import percent
from d3stats.models.separation.laws import (
    ScoreLaw,
    as_counts,
    as_law,
    laws_with_means,
    log_below,
    log_cdf,
    require_digits,
    tail_remainder,
)
from d3stats.models.separation.quadrature import integrate
from d3stats.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Separation", "phase_table", "ranking_probability", "separation"]

Counts = NDArray[np.int64]

_EPS = float(np.finfo(float).eps)
_CELLS = 1 << 20
"""Most points times numbers of advocates that are summed at a time."""
_BLOCK = 64
"""Most numbers of advocates that are integrated at a time."""


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
        chance = [x.sum(axis=1) for x in (mass[0] * below[1], mass[0] * mass[1], mass[1] * below[0])]
        rows.append([cross[:, :-1] @ width, (over[0] - over[1])[:, :-1] @ width, *means, *chance])
    numbers = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
    rounding = 8 * _EPS * np.sqrt(points.size)
    largest = float(np.abs(points[[0, -1]]).max())
    return (*numbers, np.full(k.size, rounding * largest), np.full(k.size, rounding))


class _Sweep:
    """The best of k of two laws along a part of the line.

    With `from_top` points are distances down from the common upper end of both laws, so that scores next to it
    are told apart by as many digits as those next to zero.
    """

    def __init__(self, laws: Sequence[ScoreLaw], k: Counts, cuts: Floats, *, from_top: bool = False) -> None:
        self.laws, self.k, self.cuts, self.from_top = laws, k, cuts, from_top
        self._start = [np.exp(k * z) for z in self.logs(cuts[:-1])]

    def logs(self, x: Floats) -> list[Floats]:
        """Return log P(X <= x) of both, (points, 1)."""
        if not self.from_top:
            return [log_cdf(law, x)[:, None] for law in self.laws]
        with np.errstate(divide="ignore"):
            under = [law.cdf(x) for law in self.laws]
            return [
                np.where(u < 0.5, np.log1p(-np.minimum(u, 0.5)), np.log(law.sf(x)))[:, None]
                for law, u in zip(self.laws, under, strict=True)
            ]

    def ahead(self, x: Floats, logs: list[Floats], up_to: list[Floats]) -> list[Floats]:
        """Return the densities of M1 where M2 is below, and of M2 where M1 is, without what `ahead_by_steps` adds."""
        piece = np.searchsorted(self.cuts[1:-1], x, side="right")
        result = []
        for me, other in ((0, 1), (1, 0)):
            density = self.laws[me].density(x)[:, None]
            rate = np.divide(density, np.exp(logs[me]), out=np.zeros_like(density), where=logs[me] > -np.inf)
            result.append((self.k * up_to[me]) * (rate * (up_to[other] - self._start[other][piece])))
        return result

    def ahead_by_steps(self) -> Floats:
        """Return P(M1 > M2), P(M1 < M2) if the other stood at the start of each piece; atoms are left out.

        It holds the mass that lies so close to one point that no node falls there.
        """
        ends = self.cuts[1:]
        logs = self.logs(ends) if self.from_top else [log_below(law, ends)[:, None] for law in self.laws]
        rise = [np.abs(np.exp(self.k * z) - start) for z, start in zip(logs, self._start, strict=True)]
        return np.concatenate([(rise[me] * self._start[1 - me]).sum(axis=0) for me in (0, 1)])


def _sweeps(one: ScoreLaw, two: ScoreLaw, k: Counts) -> list[_Sweep]:
    """Return what covers the line: one sweep, or two that meet where both laws are above their middles."""
    laws, middles = (one, two), (one.middle, two.middle)
    cuts = np.union1d(np.union1d(one.breakpoints(), two.breakpoints()), middles)
    mirrored = one.from_top(), two.from_top()
    top = one.support[1]
    if mirrored[0] is None or mirrored[1] is None or top != two.support[1]:
        return [_Sweep(laws, k, cuts)]
    meeting = max(middles)
    depth = top - meeting
    down = np.union1d(mirrored[0].breakpoints(), mirrored[1].breakpoints())
    return [
        _Sweep(laws, k, np.append(cuts[cuts < meeting], meeting)),
        _Sweep((mirrored[0], mirrored[1]), k, np.append(down[down < depth], depth), from_top=True),
    ]


def _at_atoms(laws: Sequence[ScoreLaw], k: Counts) -> tuple[Floats, Floats, Floats]:
    """Return what atoms add to P(M1 > M2), P(M1 = M2) and P(M1 < M2)."""
    ahead, tie = [np.zeros(k.size), np.zeros(k.size)], np.zeros(k.size)
    for me, other in ((0, 1), (1, 0)):
        points, _ = laws[me].atoms
        if points.size == 0:
            continue
        at, under = (
            [np.exp(k * f(laws[i], points)[:, None]) for i in (me, other)] for f in (log_cdf, log_below)
        )
        mass = at[0] - under[0]
        ahead[me] = (mass * under[1]).sum(axis=0)
        if me == 0:
            tie = (mass * (at[1] - under[1])).sum(axis=0)
    return ahead[0], tie, ahead[1]


def _balanced(
    laws: Sequence[ScoreLaw], k: Counts, first: Floats, second: Floats, error: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Add the atoms; what the three lack of one is error, shared between the two that were integrated."""
    more, tie, less = _at_atoms(laws, k)
    first, second = first + more, second + less
    lack = 1.0 - first - tie - second
    outside = sum(tail_remainder(law, law.breakpoints(), k)[1] for law in laws)
    bound = error + np.abs(lack) + outside + 64 * _EPS
    first, second = np.clip(first + 0.5 * lack, 0.0, 1.0), np.clip(second + 0.5 * lack, 0.0, 1.0)
    return first, tie, second, bound


def integrated(one: ScoreLaw, two: ScoreLaw, k: Counts, *, chances_only: bool = False) -> tuple[Floats, ...]:
    """Integrate all numbers piece by piece, as many k at a time as memory allows; both means must be finite.

    With `chances_only` P(M1 > M2), P(M1 = M2), P(M1 < M2) and a bound on their error: laws need no mean.
    """
    if k.size > _BLOCK:
        blocks = [k[start : start + _BLOCK] for start in range(0, k.size, _BLOCK)]
        parts = [integrated(one, two, block, chances_only=chances_only) for block in blocks]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    n = k.size
    middles = one.middle, two.middle

    def along(sweep: _Sweep) -> tuple[Callable[[Floats], Floats], Floats]:
        def integrand(x: Floats) -> Floats:
            logs = sweep.logs(x)
            up_to = [np.exp(k * z) for z in logs]
            ahead = sweep.ahead(x, logs, up_to)
            if chances_only:
                return np.concatenate(ahead, axis=1)
            over = [-np.expm1(k * z) for z in logs]
            below = [np.zeros(x.size, bool) if sweep.from_top else x < middle for middle in middles]
            means = [np.where(low[:, None], -u, v) for low, u, v in zip(below, up_to, over, strict=True)]
            return np.concatenate([up_to[1] * over[0], up_to[0] * over[1], *means, *ahead], axis=1)

        return integrand, sweep.cuts

    def scale(size: Floats) -> Floats:
        if chances_only:
            return np.ones_like(size)
        # How far each side is ahead adds up to the gap: both are held against it.
        gap = size[:n] + size[n : 2 * n]
        return np.concatenate([gap, gap, size[2 * n : 4 * n], np.ones(2 * n)])

    sweeps = _sweeps(one, two, k)
    value, error = integrate(*map(along, sweeps), scale=scale)
    value[-2 * n :] += sum(sweep.ahead_by_steps() for sweep in sweeps)
    numbers, errors = value.reshape(-1, n), error.reshape(-1, n)
    chances = _balanced((one, two), k, numbers[-2], numbers[-1], errors[-2:].max(axis=0))
    if chances_only:
        return chances
    ahead, behind, up, down = numbers[:4]
    gap, means = ahead + behind, (middles[0] + up, middles[1] + down)
    outside = sum(tail_remainder(law, law.breakpoints(), k)[0] for law in (one, two))
    rounding = 64 * _EPS * np.maximum(np.maximum(np.abs(means[0]), np.abs(means[1])), gap)
    bound = errors[:2].sum(axis=0) + errors[2:4].max(axis=0) + outside + rounding
    return gap, ahead - behind, *means, *chances[:3], bound, chances[3]


@dataclass(frozen=True, eq=False)
class Separation(Result):
    """Expected gap, mean gap and ranking by the best of k scores of two answers, for every k.

    Attributes
    ----------
    k : array of int, shape (ks,)
        Advocates a side.
    expected_gap, mean_gap : array
        E abs(M1 - M2) and E M1 - E M2, in the points of the scores.
    mean_first, mean_second : array
        E M1 and E M2, in points.
    prob_first, prob_tie, prob_second : array
        P(M1 > M2), P(M1 = M2), P(M1 < M2).
    error, prob_error : array
        Bounds on the absolute error of the four numbers in points and of the three probabilities: rounding for sums,
        the difference of two orders for integrals.
    method : {"sum", "quadrature"}

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> found = separation(uniform(0.5, 1), uniform(), k=[1, 2])
    >>> found.expected_gap.round(4).tolist(), found.ranking.round(4).tolist(), found.method
    ([0.3333, 0.2417], [0.75, 0.7083], 'quadrature')
    >>> found.to_frame().columns.tolist()[:3]
    ['k', 'expected_gap', 'mean_gap']
    >>> found.plot().get_xlabel()
    'advocates a side'
    """

    k: Counts
    expected_gap: Floats
    mean_gap: Floats
    mean_first: Floats
    mean_second: Floats
    prob_first: Floats
    prob_tie: Floats
    prob_second: Floats
    error: Floats
    prob_error: Floats
    method: Literal["sum", "quadrature"]

    @property
    def ranking(self) -> Floats:
        """P(M1 > M2) + P(M1 = M2) / 2: how often the first answer is ranked higher, ties by a fair coin."""
        return self.prob_first + 0.5 * self.prob_tie

    @property
    def headline(self) -> str:
        """The answer, which answer is ranked higher, and how often, at the smallest and the largest k."""
        _, ahead, right = self._ranked()
        listed = " and ".join(
            f"{percent(float(right[i]))} at k = {self.k[i]}" for i in sorted({0, self.k.size - 1})
        )
        return f"The best of k scores a side ranks the {ahead} answer higher (ties at random): {listed}."

    def _title(self) -> str:
        base, ahead, _ = self._ranked()
        return (
            f"separation by the best of k scores a side, by {self.method}; the {ahead} answer is ranked higher by "
            f"k = {self.k[base]} (ties broken at random)"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return one row per k, and what changed against the least k by more than numerical error."""
        base, _, right = self._ranked()
        gap = _changes(self.expected_gap, self.error, base, ("grew", "shrank"))
        ranking = _changes(right, self.prob_error, base, ("better", "worse"))
        names = [name for name in self.__dataclass_fields__ if name != "method"]
        return {
            "separation": pd.DataFrame({name: getattr(self, name) for name in names}),
            f"against k = {self.k[base]}": pd.DataFrame({"k": self.k, "gap": gap, "ranking": ranking}),
        }

    def _ranked(self) -> tuple[int, str, Floats]:
        """Return the place of the least k, the answer that it ranks higher, and how often each k does so."""
        base = int(np.argmin(self.k))
        if self.ranking[base] < 0.5 - self.prob_error[base]:
            return base, "second", 1.0 - self.ranking
        return base, "first", self.ranking

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the gap by k and, on a second axis, the probability of the right ranking."""
        from d3stats.plotting.fits import plot_separation

        return plot_separation(self.to_frame(), ax=ax)


def _changes(values: Floats, error: Floats, base: int, words: tuple[str, str]) -> list[str]:
    away, slack = values - values[base], error + error[base]
    return [
        "the same" if abs(change) <= most else words[0] if change > 0 else words[1]
        for change, most in zip(away, slack, strict=True)
    ]


def separation(first: Any, second: Any, k: int | Sequence[int] | Counts = 1) -> Separation:
    """Compute expected gap, mean gap and ranking by the best of k scores of two answers, by sums or quadrature.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score for each answer; scores are independent. A sample has one dimension, and
        missing scores (NaN) are left out of it; scores by item go to
        :func:`~d3stats.models.separation.logged.separation_from_scores`.
    k : int or sequence of int
        Advocates a side, from 1 to 10,000.

    Returns
    -------
    Separation

    Raises
    ------
    ValueError
        When a law has no finite mean, or the error is more than 1e-6 of the scale. The tails are then too heavy for the
        integral, or so much mass is next to one point that floats do not separate the scores there.

    Notes
    -----
    With the laws F1, F2 of one score, P(M_i <= x) = F_i(x)^k, and

    - E abs(M1 - M2) = integral of F1^k (1 - F2^k) + F2^k (1 - F1^k),
    - E M1 - E M2 = integral of F2^k - F1^k,
    - P(M1 > M2) = integral of P(M2 < x) over the law of M1.

    Discrete laws are summed; others integrated piece by piece.

    Examples
    --------
    The claim that more advocates separate more fails for uniform scores with a common ceiling:

    >>> from scipy import stats
    >>> found = separation(stats.uniform(0.5, 0.5), stats.uniform(), k=[1, 2, 3, 5])
    >>> found.expected_gap.round(6).tolist()
    [0.333333, 0.241667, 0.188393, 0.13022]
    >>> found.prob_first.round(6).tolist()
    [0.75, 0.708333, 0.69375, 0.682416]
    """
    counts = as_counts(k)
    one, two = laws_with_means(first, second)
    if one.is_discrete and two.is_discrete:
        return _separation(counts, summed(one, two, counts), "sum")
    found = _separation(counts, integrated(one, two, counts), "quadrature")
    require_digits(found.error, found.expected_gap, counts, one, two)
    require_digits(found.prob_error, np.ones(counts.size), counts, one, two)
    return found


def ranking_probability(first: Any, second: Any, k: int | Sequence[int] | Counts = 1) -> Floats:
    """Compute P(M1 > M2) + P(M1 = M2) / 2 for the best of k scores: how often the first answer is ranked higher.

    The arguments are those of :func:`separation`; laws need no mean, and an error of more than 1e-6 is refused.

    Parameters
    ----------
    first, second : ScoreLaw, or any source that :func:`~d3stats.models.separation.as_law` reads
        The laws of one score of either answer.
    k : int or sequence of int
        Advocates a side.

    Returns
    -------
    ndarray of float, shape (ks,)

    Examples
    --------
    >>> from scipy import stats
    >>> ranking_probability(stats.cauchy(1), stats.cauchy(), k=[1, 10]).round(4).tolist()
    [0.6476, 0.5701]
    """
    more, tie, _ = rank_chances(as_law(first), as_law(second), as_counts(k))
    return np.asarray(more + 0.5 * tie)


def rank_chances(one: ScoreLaw, two: ScoreLaw, k: Counts) -> tuple[Floats, Floats, Floats]:
    """Return P(M1 > M2), P(M1 = M2) and a bound on their error, for laws that need not have a mean."""
    if one.is_discrete and two.is_discrete:
        found = _separation(k, summed(one, two, k), "sum")
        return found.prob_first, found.prob_tie, found.prob_error
    more, tie, _, error = integrated(one, two, k, chances_only=True)
    require_digits(error, np.ones(k.size), k, one, two)
    return more, tie, error


def _separation(k: Counts, numbers: Sequence[Floats], method: Literal["sum", "quadrature"]) -> Separation:
    gap, mean_gap, first, second, more, tie, less, error, prob_error = numbers
    return Separation(k, gap, mean_gap, first, second, more, tie, less, error, prob_error, method)


def phase_table(
    family: Callable[[float, float], tuple[Any, Any]], grid: Mapping[str, Iterable[float]], k: int = 5
) -> pd.DataFrame:
    """Compute how gap and ranking change from one advocate a side to k, for pairs of laws on a grid of two parameters.

    Parameters
    ----------
    family : callable
        Takes the two parameters; returns the law of one score for either answer. The right ranking is the one
        that one advocate a side gives more often, the first answer ahead where both are as likely.
    grid : mapping
        Name of each of the two parameters to its values, in the order in which `family` takes them.
    k : int
        Advocates a side, at least 2.

    Returns
    -------
    DataFrame
        One row per pair: the two parameters; ``gap_change``, E abs(M1 - M2) at k minus that at one, in points;
        ``mean_gap_change``, the same for E M1 - E M2 in the direction of the right ranking;
        ``ranking_change``, the same for the probability of the right ranking (ties broken at random); and
        ``slack``, the part of either that is numerical error.

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> table = phase_table(lambda floor, room: (uniform(floor, 1), uniform(0, 1 + room)),
    ...                     {"floor": [0.2, 0.5], "room": [0.0]}, k=3)
    >>> table.round(3)[["floor", "room", "gap_change", "ranking_change"]].values.tolist()
    [[0.2, 0.0, -0.117, -0.034], [0.5, 0.0, -0.145, -0.056]]
    """
    k = integer("k", k, minimum=2)
    values = {name: [float(x) for x in numbers] for name, numbers in grid.items()}
    if len(values) != 2 or not all(values.values()):
        sizes = {name: len(numbers) for name, numbers in values.items()}
        raise ValueError(f"grid must name two parameters with at least one value each; got {sizes}")
    rows = []
    for point in product(*values.values()):
        found = separation(*family(*point), k=[1, k])
        # Even odds have no right ranking; rounding must not choose one.
        sign = -1.0 if found.ranking[0] < 0.5 - found.prob_error[0] else 1.0
        rows.append(
            {
                **dict(zip(values, point, strict=True)),
                "gap_change": found.expected_gap[1] - found.expected_gap[0],
                "mean_gap_change": sign * (found.mean_gap[1] - found.mean_gap[0]),
                "ranking_change": sign * (found.ranking[1] - found.ranking[0]),
                "slack": float(found.error.sum() + found.prob_error.sum()),
            }
        )
    return pd.DataFrame(rows)
