"""What are k advocates worth when they think alike, and when does another one stop paying?

Advocates of one model make correlated scores. With exchangeable correlation rho the best of k is less extreme,
and k advocates count as fewer. The dependence is a Gaussian copula with one shared factor: scores keep their
law, and their normal ranks correlate by rho (Vasicek, 2002, Risk 15, for the law of the greatest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, choice, integer, number, probability, whole_numbers
from d3stats.models._diagonal import Diagonal
from d3stats.models._intraclass import ScoreCorrelation, score_correlation
from d3stats.models._maxima import mean_of_max, require_mean
from d3stats.models._payoff import AdvocatePayoff, payoff_of
from d3stats.models.score_law import MaxLaw, ScoreLaw, as_law
from d3stats.models.separation import Separation, separation

__all__ = [
    "AdvocatePayoff",
    "CorrelatedMaxLaw",
    "ScoreCorrelation",
    "advocate_payoff",
    "correlated_max",
    "correlated_separation",
    "effective_advocates",
    "score_correlation",
]

Floats = NDArray[np.float64]


class CorrelatedMaxLaw(ScoreLaw):
    """The best of k scores of one law whose normal ranks share a factor.

    P(M <= x) = E_Z[Phi((q - sqrt(rho) Z) / sqrt(1 - rho))^k] with q = Phi^-1(F(x)) and Z standard normal.
    Where F jumps, a score covers all normal ranks of the jump.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
    k : int
        At least 2.
    rho : float
        Correlation of two advocates' normal ranks, strictly between 0 and 1: :func:`correlated_max` takes the
        limits as well.

    Raises
    ------
    ValueError
        When k is below 2 or rho is not strictly between 0 and 1.

    Examples
    --------
    >>> from scipy import stats
    >>> law = CorrelatedMaxLaw(stats.norm(), 2, 0.5)
    >>> round(law.cdf(0.0).item(), 6), round(law.mean, 6)
    (0.333333, 0.398942)
    """

    def __init__(self, law: Any, k: int, rho: float) -> None:
        self.law = as_law(law)
        self.k = integer("k", k, minimum=2)
        self.rho = probability("rho", rho, open_interval=True)
        self._diagonal = Diagonal(self.k, self.rho)

    def __repr__(self) -> str:
        return f"CorrelatedMaxLaw({self.law!r}, k={self.k}, rho={self.rho:g})"

    @property
    def error(self) -> float:
        """Absolute error of the distribution function beside that of the law: two steps' difference."""
        return self._diagonal.error

    def cdf(self, x: ArrayLike) -> Floats:
        return self._diagonal.cdf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def below(self, x: ArrayLike) -> Floats:
        under = self.law.below(x)
        return self._diagonal.cdf(_normal_rank(under, 1.0 - under))

    def sf(self, x: ArrayLike) -> Floats:
        return self._diagonal.sf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def density(self, x: ArrayLike) -> Floats:
        if self.law.is_discrete:
            return self.law.density(x)
        q = _normal_rank(self.law.cdf(x), self.law.sf(x))
        return np.asarray(self._diagonal.ratio(q) * self.law.density(x))

    def quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        if self.law.is_discrete:
            points, _ = self.law.atoms
            at = np.searchsorted(self._heap, levels, side="left")
            return np.asarray(points[np.minimum(at, points.size - 1)])
        inner = (levels > 0) & (levels < 1)
        q = np.where(levels > 0, np.inf, -np.inf)
        q[inner] = self._diagonal.quantile(levels[inner])
        return self.law.quantile(special.ndtr(q))

    @cached_property
    def _heap(self) -> Floats:
        return self.cdf(self.law.atoms[0])

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:  # type: ignore[override]  # cached, as it is asked for often
        points, _ = self.law.atoms
        if self.law.is_discrete:
            return points, np.diff(self._heap, prepend=0.0)
        return points, self.cdf(points) - self.below(points)

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support

    @cached_property
    def mean(self) -> float:
        # A maximum of k has a mean when one score has: it lies below the sum of their sizes.
        require_mean("law", self.law)
        return _mean(self)

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self.law.quantile(special.ndtr(self._diagonal.sample(size, as_rng(rng))))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete


def correlated_max(law: Any, k: int, rho: float) -> ScoreLaw:
    """Return the law of the best of k exchangeably correlated scores.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score.
    k : int
        Advocates, at least 1.
    rho : float
        Correlation of two advocates' normal ranks, 0 to 1. At 0 they are independent; at 1 all say the same,
        and the best is any of them.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    ValueError
        When k is below 1 or rho lies outside 0 to 1.

    Examples
    --------
    >>> from scipy import stats
    >>> [round(correlated_max(stats.uniform(), 5, rho).mean, 4) for rho in (0.0, 0.5, 0.9, 1.0)]
    [0.8333, 0.7362, 0.6142, 0.5]
    """
    one = as_law(law)
    k = integer("k", k, minimum=1)
    rho = probability("rho", rho)
    if k == 1 or rho == 1:
        return one
    return MaxLaw(one, k) if rho == 0 else CorrelatedMaxLaw(one, k, rho)


def correlated_separation(
    first: Any, second: Any, k: int | Sequence[int] = 1, *, rho: float | tuple[float, float] = 0.0
) -> Separation:
    """Compute what the best of k says about two answers when the advocates of a side think alike.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score for each answer. The two sides are independent of each other.
    k : int or sequence of int
        Advocates a side, at least 1.
    rho : float or pair of float
        Correlation within each side, 0 to 1.

    Returns
    -------
    Separation
        As of :func:`~d3stats.models.separation.separation`, which it equals at rho = 0.

    Raises
    ------
    ValueError
        When a law has no finite mean, k is below 1, or rho lies outside 0 to 1.

    Examples
    --------
    >>> from scipy import stats
    >>> one, two = stats.norm(1), stats.norm()
    >>> correlated_separation(one, two, [1, 5], rho=0.8).prob_first.round(4).tolist()
    [0.7602, 0.7757]
    """
    one, two = as_law(first), as_law(second)
    counts = whole_numbers("k", np.atleast_1d(np.asarray(k)), minimum=1)
    pair = np.atleast_1d(np.asarray(rho, dtype=np.float64))
    if pair.shape not in ((1,), (2,)):
        raise ValueError(f"rho must be one number or one for each side; got shape {np.shape(rho)}")
    r1, r2 = (probability("rho", r) for r in (pair[0], pair[-1]))
    if r1 == r2 == 0:
        return separation(one, two, counts.tolist())
    require_mean("first", one)
    require_mean("second", two)
    if counts.size == 0:
        raise ValueError("k must hold at least one number of advocates; got none")
    parts = [separation(correlated_max(one, n, r1), correlated_max(two, n, r2), 1) for n in counts.tolist()]
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Separation)
        if isinstance(getattr(parts[0], field.name), np.ndarray)
    }
    return replace(parts[0], **{**joined, "k": counts})


def effective_advocates(
    k: int, rho: float, kind: Literal["variance", "maximum"] = "maximum", law: Any = None
) -> float:
    """Count how many independent advocates k correlated ones are worth.

    Parameters
    ----------
    k : int
        Advocates, at least 1.
    rho : float
        Correlation of two advocates, 0 to 1; for the variance down to just above -1 / (k - 1).
    kind : {"variance", "maximum"}
        Worth in what: the number whose independent mean has the same variance, k / (1 + (k - 1) rho) (Kish,
        1965, Survey Sampling, section 5.4), or the real number m for which the mean of F^m is the mean of the
        best of k.
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample, optional
        The law of one score, which only the maximum depends on; standard normal by default.

    Returns
    -------
    float
        Between 1 and k for 0 <= rho <= 1.

    Raises
    ------
    ValueError
        When rho is out of range, or the law is a single point, where every number of advocates is worth the
        same.

    Examples
    --------
    >>> round(effective_advocates(5, 0.5, "variance"), 4), round(effective_advocates(5, 0.5), 4)
    (1.6667, 2.9216)
    """
    k = integer("k", k, minimum=1)
    if choice("kind", kind, ("variance", "maximum")) == "variance":
        rho = number("rho", rho)
        scale = 1 + (k - 1) * rho
        if rho > 1 or scale <= 0:
            least = f" and above {-1 / (k - 1):.4g}" if k > 1 else ""
            raise ValueError(f"rho must be at most 1{least}, so that a variance is positive; got rho={rho!r}")
        return k / scale
    rho = probability("rho", rho)
    if law is None:
        from scipy import stats

        law = stats.norm()
    one = as_law(law)
    require_mean("law", one)
    low, high = one.support
    if low == high:
        raise ValueError(
            f"law must have more than one score, or no number of advocates is worth more; got {one!r}"
        )
    if k == 1 or rho == 0:
        return float(k)
    if rho == 1:
        return 1.0
    from scipy.optimize import brentq

    target = CorrelatedMaxLaw(one, k, rho).mean

    def over(log_m: float) -> float:
        return float(_powered_mean(one, float(np.exp(log_m)))) - target

    ends = 0.0, float(np.log(k))
    # Within rounding of a limit the root is the limit.
    if over(ends[0]) >= 0:
        return 1.0
    if over(ends[1]) <= 0:
        return float(k)
    return float(np.exp(brentq(over, *ends, xtol=1e-13, rtol=1e-13)))


def advocate_payoff(
    first: Any,
    second: Any,
    k: Sequence[int],
    *,
    prices: float | tuple[float, float],
    tokens_per_advocate: float | tuple[float, float],
    value_of_right: float,
    rho: float | tuple[float, float] = 0.0,
) -> AdvocatePayoff:
    """Weigh what another advocate a side adds to a right verdict against what its tokens cost.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score for the better and for the worse answer.
    k : sequence of int
        Advocates a side, strictly increasing.
    prices : float or pair of float
        Dollars per million tokens, above 0; a pair prices prompt and completion apart.
    tokens_per_advocate : float or pair of float
        Tokens that one advocate uses, above 0 in total; a pair counts prompt and completion apart.
    value_of_right : float
        Dollars that a right verdict is worth more than a wrong one, at least 0.
    rho : float or pair of float
        Correlation within each side.

    Returns
    -------
    AdvocatePayoff

    Raises
    ------
    ValueError
        When k does not increase, a price or a token count is not positive, or as in
        :func:`correlated_separation`.

    Notes
    -----
    The verdict is the side with the higher best score, and a coin where they tie. No debate at all costs
    nothing and is right half of the time: gains start there.

    Examples
    --------
    More advocates help when scores have long tails, and harm under a common ceiling:

    >>> from scipy import stats
    >>> cost = dict(prices=10.0, tokens_per_advocate=500.0, value_of_right=2.0)
    >>> found = advocate_payoff(stats.norm(1), stats.norm(), range(1, 11), **cost)
    >>> found.best_k, found.pays_until
    (6, 6)
    >>> advocate_payoff(stats.uniform(0.5, 0.5), stats.uniform(), [1, 2, 3], **cost).reason
    'more advocates rank worse: P(right) falls from 0.7500 at k=1 to 0.7083 at k=2; use k=1'
    """
    found = correlated_separation(first, second, list(k), rho=rho)
    return payoff_of(found, prices=prices, tokens_per_advocate=tokens_per_advocate, value_of_right=value_of_right)


def _normal_rank(up_to: Floats, over: Floats) -> Floats:
    """Return Phi^-1 of a probability, read from the smaller of the two tails."""
    return np.asarray(np.where(over < 0.5, -special.ndtri(over), special.ndtri(up_to)))


def _mean(law: ScoreLaw) -> float:
    return float(mean_of_max(_AsIs(law), np.array([1]))[0])


def _powered_mean(law: ScoreLaw, power: float) -> float:
    """Return the mean of F^m for a real m >= 1."""
    powers: NDArray[Any] = np.array([power])
    return float(mean_of_max(law, powers)[0])


class _AsIs(MaxLaw):
    """A law behind a face whose mean is known to be finite, so that it can be integrated for its mean."""

    def __init__(self, law: ScoreLaw) -> None:
        super().__init__(law, 1)

    @property
    def mean(self) -> float:  # type: ignore[override]  # computed by the caller
        return 0.0

    def cdf(self, x: ArrayLike) -> Floats:
        return self.law.cdf(x)

    def sf(self, x: ArrayLike) -> Floats:
        return self.law.sf(x)
