"""Do k advocates a side tell two answers apart better than one: the exact laws of the best of k scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.models.scores import ScoreLaw, as_law
from d3stats.models.scores.best_of_k import chances, integrated, summed
from d3stats.models.scores.maxima import require_mean
from d3stats.models.scores.read import as_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Separation", "ranking_probability", "separation"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_GOOD = 1e-6
"""Error, as a share of the scale, above which there is no result."""


@dataclass(frozen=True, eq=False)
class Separation:
    """What the best of k advocates a side says about two answers, for every k asked for.

    Attributes
    ----------
    k : array of int, shape (ks,)
        Advocates a side.
    expected_gap : array
        E abs(M1 - M2), in the points of the scores.
    mean_gap : array
        E M1 - E M2, in points.
    mean_first, mean_second : array
        E M1 and E M2, in points.
    prob_first, prob_tie, prob_second : array
        P(M1 > M2), P(M1 = M2), P(M1 < M2).
    error : array
        Bound on the absolute error of the four numbers in points: rounding for sums, the difference of two orders
        for integrals.
    prob_error : array
        The same for the three probabilities.
    method : {"sum", "quadrature"}
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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k."""
        names = [name for name in self.__dataclass_fields__ if name != "method"]
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """Say per k whether the gap grew against the least k, and whether the ranking got worse."""
        base = int(np.argmin(self.k))
        ahead = "second" if self.ranking[base] < 0.5 - self.prob_error[base] else "first"
        right = self.ranking if ahead == "first" else 1.0 - self.ranking
        lines = [
            f"best of k scores a side, by {self.method}; the {ahead} answer is ranked higher by "
            f"k = {self.k[base]} (ties by a coin)",
            f"{'k':>6}  {'E|M1-M2|':>10}  {'E M1-E M2':>10}  {'ranked so':>9}  {'tie':>6}",
        ]
        for i in np.argsort(self.k, kind="stable"):
            line = (
                f"{self.k[i]:>6}  {self.expected_gap[i]:>10.6g}  {self.mean_gap[i]:>10.6g}  "
                f"{right[i]:>9.4f}  {self.prob_tie[i]:>6.4f}"
            )
            if self.k[i] != self.k[base]:
                slack = self.error[i] + self.error[base], self.prob_error[i] + self.prob_error[base]
                gap = _change(self.expected_gap[i] - self.expected_gap[base], slack[0], ("grew", "shrank"))
                rank = _change(right[i] - right[base], slack[1], ("better", "worse"))
                line += f"  gap {gap}, ranking {rank}"
            lines.append(line)
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the gap by k, with the probability of the right ranking on a second axis."""
        from d3stats.plotting.phase_map import plot_separation

        return plot_separation(self.to_frame(), ax=ax)


def _change(difference: float, slack: float, words: tuple[str, str]) -> str:
    if abs(difference) <= slack:
        return "the same"
    return words[0] if difference > 0 else words[1]


def separation(first: Any, second: Any, k: int | Sequence[int] | Counts = 1) -> Separation:
    """Compute how far the best of k scores for two answers lie apart, and which is likely ahead.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score for each answer; scores are independent. A sample has one dimension, and
        missing scores (NaN) are left out of it; scores by item go to
        :func:`~d3stats.models.logged_separation.separation_from_scores`.
    k : int or sequence of int
        Advocates a side, from 1 to 2^53.

    Returns
    -------
    Separation

    Raises
    ------
    ValueError
        When a law has no finite mean, k is below 1 or above 2^53, or the error is more than 1e-6 of the scale: tails
        too heavy for the integral, or so much mass next to a point that floats cannot tell scores apart there.

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
    one, two, counts = _asked(first, second, k)
    require_mean("first", one)
    require_mean("second", two)
    if one.is_discrete and two.is_discrete:
        return _named(counts, summed(one, two, counts), "sum")
    found = _named(counts, integrated(one, two, counts), "quadrature")
    levels = np.concatenate([law.quantile([0.001, 0.1, 0.9, 0.999]) for law in (one, two)]).reshape(2, 4)
    # Where nearly all mass is one atom's, rounding is what an error is held against.
    scale = found.expected_gap + np.ptp(levels[:, 1:3]) + 1e-6 * np.ptp(levels)
    _refuse_errors(found.error, scale, counts, one, two)
    _refuse_errors(found.prob_error, np.ones(counts.size), counts, one, two)
    return found


def ranking_probability(first: Any, second: Any, k: int | Sequence[int] | Counts = 1) -> Floats:
    """Compute how often the first answer is ranked higher by the best of k scores, ties by a fair coin.

    Unlike :func:`separation` it asks for no mean, so it serves for laws that have none.

    Parameters
    ----------
    first, second, k
        As for :func:`separation`.

    Returns
    -------
    array, shape (ks,)
        P(M1 > M2) + P(M1 = M2) / 2.

    Raises
    ------
    ValueError
        When k is below 1, or the error is more than 1e-6.

    Examples
    --------
    >>> from scipy import stats
    >>> ranking_probability(stats.cauchy(1), stats.cauchy(), k=[1, 10]).round(4).tolist()
    [0.6476, 0.5701]
    """
    one, two, counts = _asked(first, second, k)
    if one.is_discrete and two.is_discrete:
        return _named(counts, summed(one, two, counts), "sum").ranking
    more, tie, _, error = chances(one, two, counts)
    _refuse_errors(error, np.ones(counts.size), counts, one, two)
    return np.asarray(more + 0.5 * tie)


def _named(k: Counts, numbers: Sequence[Floats], method: Literal["sum", "quadrature"]) -> Separation:
    gap, mean_gap, first, second, more, tie, less, error, prob_error = numbers
    return Separation(k, gap, mean_gap, first, second, more, tie, less, error, prob_error, method)


def _asked(first: Any, second: Any, k: Any) -> tuple[ScoreLaw, ScoreLaw, Counts]:
    one, two = as_law(first), as_law(second)
    return one, two, as_counts(k)


def _refuse_errors(error: Floats, scale: Floats, k: Counts, one: ScoreLaw, two: ScoreLaw) -> None:
    bad = np.flatnonzero(~(error <= _GOOD * scale))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"first and second must be laws whose maxima can be computed to six digits; got an error of "
            f"{error[i]:.2g} against a scale of {scale[i]:.2g} at k={k[i]} for {one!r} and {two!r}: a tail too heavy, "
            "or too much mass within one float of a point"
        )
