"""Separation, effective number and net value of k correlated advocates a side, and where another stops paying.

Advocates of one model make correlated scores. With exchangeable correlation rho the best of k is less extreme,
and k advocates count as fewer. The dependence is a Gaussian copula with one shared factor: scores keep their
law, and their normal ranks correlate by rho (Vasicek, 2002, Risk 15, for the law of the greatest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import choice, integer, nonnegative, number, probability
from d3stats.models.separation.best_of_k import Separation, rank_chances, separation
from d3stats.models.separation.correlated import CorrelatedMaxLaw, correlated_max
from d3stats.models.separation.laws import (
    ScoreLaw,
    as_counts,
    as_law,
    laws_with_means,
    mean_of_max,
    require_increasing,
    require_mean,
)
from d3stats.result import Result

__all__ = ["AdvocatePayoff", "advocate_payoff", "correlated_separation", "effective_advocates"]


PER_MILLION = 1e6


@dataclass(frozen=True, eq=False)
class AdvocatePayoff(Result):
    """Accuracy, cost and net value of k advocates a side, and the k up to which another one is worth its price.

    Attributes
    ----------
    k : array of int, shape (ks,)
        Advocates a side.
    prob_right : array
        P(M1 > M2) + P(M1 = M2) / 2: the better answer wins, a coin decides ties.
    prob_tie : array
    tokens, dollars : array
        Tokens and dollars of one debate: 2 k advocates.
    gain : array
        Probability right beyond the k before, the first beyond a coin.
    gain_per_dollar : array
        That gain over what the step costs, per dollar.
    net_value : array
        Dollars: value_of_right * prob_right - dollars.
    value_of_right : float
        Dollars.
    best_k : int
        The least k of the greatest net value. It lies beyond `pays_until` where later steps make good for earlier ones.
    pays_until : int
        The last k up to which every step was worth its price; 0 when not even the first beats a coin.
    reason : str
        Why it stops there, and which k is worth most where that is a later one.
    notes : tuple of str
        How far adding advocates pays, and whether a coin is worth as much.

    Examples
    --------
    >>> from d3stats.models.separation.laws import uniform
    >>> cost = dict(prices=10.0, tokens_per_advocate=500.0, value_of_right=2.0)
    >>> found = advocate_payoff(uniform(0.2, 1), uniform(0, 0.8), [1, 2, 3], **cost)
    >>> found.prob_right.round(3).tolist(), found.best_k, found.pays_until
    ([0.719, 0.771, 0.825], 3, 3)
    >>> found.to_frame()[["k", "dollars", "gain"]].round(3).values.tolist()
    [[1.0, 0.01, 0.219], [2.0, 0.02, 0.053], [3.0, 0.03, 0.054]]
    """

    k: NDArray[np.int64]
    prob_right: Floats
    prob_tie: Floats
    tokens: Floats
    dollars: Floats
    gain: Floats
    gain_per_dollar: Floats
    net_value: Floats
    value_of_right: float
    best_k: int
    pays_until: int
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The number of advocates that pays most, and what it costs."""
        i = int(np.flatnonzero(self.k == self.best_k)[0])
        return (
            f"Best: k={self.best_k} a side, right with probability {self.prob_right[i]:.4f} for "
            f"${self.dollars[i]:.4g} a debate ({self.tokens[i]:,.0f} tokens)."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        columns = {name: values for name, values in vars(self).items() if isinstance(values, np.ndarray)}
        return {"payoff": pd.DataFrame(columns)}


def _stop(k: NDArray[np.int64], right: Floats, worth: Floats, step: Floats, error: Floats) -> tuple[int, str]:
    """Return the last k before the first step that does not pay, and why it does not."""
    short = np.flatnonzero(worth < step)
    if short.size == 0:
        if k.size == 1:
            return int(k[0]), f"k={k[0]} against a coin is worth its price, and no other k was given"
        return int(k[-1]), f"every step up to the last k asked for ({k[-1]}) pays; try larger k"
    i = int(short[0])
    cost = f"is worth ${max(worth[i], 0.0):.4g} and costs ${step[i]:.4g}"
    if i == 0 and right[0] < 0.5:
        return (
            0,
            f"the better answer is behind at k={k[0]}: P(right) is {right[0]:.4f}, below the 1/2 of a coin",
        )
    if i == 0:
        return 0, f"already k={k[0]} against a coin {cost}"
    before, was = int(k[i - 1]), right[i - 1]
    if right[i] < was - 4 * (float(error[i]) + 1e-15):
        fall = f"P(right) falls from {was:.4f} at k={before} to {right[i]:.4f} at k={k[i]}"
        return before, f"more advocates rank worse: {fall}"
    return before, f"the step from k={before} to k={k[i]} {cost}"


def _one_or_two(name: str, values: float | Sequence[float]) -> Floats:
    array = nonnegative(name, np.atleast_1d(np.asarray(values, dtype=np.float64)))
    if array.size not in (1, 2):
        raise ValueError(f"{name} must be one number, or a pair for prompt and completion; got {array.size}")
    return array


def correlated_separation(
    first: Any, second: Any, k: int | Sequence[int] = 1, *, rho: float | tuple[float, float] = 0.0
) -> Separation:
    """Compute the separation of two answers by the best of k scores that correlate within a side, by a Gaussian copula.

    Parameters
    ----------
    first, second, k
        As for :func:`~d3stats.separation`, which this equals at rho = 0. The two sides are independent of each other.
    rho : float or pair of float
        Correlation of normal ranks within each side, 0 to 1. The copula adds less than 1e-13 to the error of a
        probability.

    Returns
    -------
    Separation

    Examples
    --------
    >>> from scipy import stats
    >>> one, two = stats.norm(1), stats.norm()
    >>> correlated_separation(one, two, [1, 5], rho=0.8).prob_first.round(4).tolist()
    [0.7602, 0.7733]
    """
    one, two, counts, (r1, r2) = _asked(first, second, k, rho)
    if r1 == r2 == 0:
        return separation(one, two, counts.tolist())
    laws_with_means(one, two)
    parts = [separation(correlated_max(one, n, r1), correlated_max(two, n, r2), 1) for n in counts.tolist()]
    columns = [name for name, values in vars(parts[0]).items() if isinstance(values, np.ndarray)]
    joined: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in parts]) for name in columns}
    return replace(parts[0], **{**joined, "k": counts})


def effective_advocates(
    k: int, rho: float, kind: Literal["variance", "maximum"] = "maximum", law: Any = None
) -> float:
    """Compute how many independent advocates k correlated ones are worth, by the variance or by the maximum.

    Parameters
    ----------
    k : int
        Advocates, at least 1.
    rho : float
        Correlation of two advocates: for the variance of their scores, down to just above -1 / (k - 1) and at most
        1; for the maximum of their normal ranks, 0 to 1. The two agree for normal scores and for no others in
        general, so one estimate does not serve for both.
    kind : {"variance", "maximum"}
        Worth in what. With "variance", the number of independent advocates whose mean has the same variance,
        ``k / (1 + (k - 1) rho)`` (Kish, 1965, Survey Sampling, section 5.4). With "maximum", the real number m for
        which the mean of F^m is the mean of the best of k.
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample, optional
        The law of one score, which only the maximum depends on; standard normal by default. A single point is
        refused, because every number of advocates is worth the same there.

    Returns
    -------
    float

    Examples
    --------
    >>> round(effective_advocates(5, 0.5, "variance"), 4), round(effective_advocates(5, 0.5), 4)
    (1.6667, 2.8935)
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
            f"law must have more than one score, because otherwise no further advocate helps; got {one!r}"
        )
    if k == 1 or rho == 0:
        return float(k)
    if rho == 1:
        return 1.0
    from scipy.optimize import brentq

    target = CorrelatedMaxLaw(one, k, rho).mean

    def over(log_m: float) -> float:
        return float(mean_of_max(one, np.exp(log_m))[0]) - target

    most = float(np.log(k))
    # Within rounding of a limit the root is the limit.
    if over(0.0) >= 0:
        return 1.0
    return float(k) if over(most) <= 0 else float(np.exp(brentq(over, 0.0, most, xtol=1e-13, rtol=1e-13)))


def advocate_payoff(
    first: Any,
    second: Any,
    k: int | Sequence[int],
    *,
    prices: float | tuple[float, float],
    tokens_per_advocate: float | tuple[float, float],
    value_of_right: float,
    rho: float | tuple[float, float] = 0.0,
) -> AdvocatePayoff:
    """Compute what k advocates a side cost and bring, and up to which k another one is worth its tokens.

    Parameters
    ----------
    first, second : what :func:`~d3stats.models.separation.laws.as_law` takes
        The law of one advocate's score for the better and for the worse answer.
    k : int or sequence of int
        Advocates a side, strictly increasing.
    prices : float or pair of float
        Dollars per million tokens, above 0; a pair prices prompt and completion apart.
    tokens_per_advocate : float or pair of float
        Tokens that one advocate uses, above 0 in total; a pair counts prompt and completion apart.
    value_of_right : float
        Dollars that a right verdict is worth more than a wrong one, at least 0.
    rho : float or pair of float
        Correlation of normal ranks within each side, 0 to 1.

    Returns
    -------
    AdvocatePayoff

    Raises
    ------
    ValueError
        When an argument is out of range, or a probability cannot be computed to six digits.

    Notes
    -----
    The verdict is the side with the higher best score, and a coin where they tie. No debate at all costs
    nothing and is right half of the time: gains start there. Only who is ahead counts, so laws without a mean serve.

    Examples
    --------
    More advocates help when scores have long tails, and harm under a common ceiling:

    >>> from scipy import stats
    >>> cost = dict(prices=10.0, tokens_per_advocate=500.0, value_of_right=2.0)
    >>> found = advocate_payoff(stats.norm(1), stats.norm(), range(1, 11), **cost)
    >>> found.best_k, found.pays_until
    (9, 9)
    >>> advocate_payoff(stats.uniform(0.5, 0.5), stats.uniform(), [1, 2, 3], **cost).reason
    'more advocates rank worse: P(right) falls from 0.7500 at k=1 to 0.7083 at k=2; use k=1'
    """
    one, two, counts, (r1, r2) = _asked(first, second, k, rho)
    require_increasing("k", counts)
    if r1 == r2 == 0:
        more, tie, error = rank_chances(one, two, counts)
    else:
        pairs = [(correlated_max(one, n, r1), correlated_max(two, n, r2)) for n in counts.tolist()]
        parts = [rank_chances(*pair, np.ones(1, dtype=np.int64)) for pair in pairs]
        more, tie, error = (np.concatenate(column) for column in zip(*parts, strict=True))
    value = number("value_of_right", value_of_right, minimum=0.0)
    per_token = _one_or_two("prices", prices) / PER_MILLION
    used = _one_or_two("tokens_per_advocate", tokens_per_advocate)
    if per_token.size == 2 and used.size == 1:
        raise ValueError(
            f"tokens_per_advocate must be a pair (prompt, completion) when prices are; got {tokens_per_advocate!r}"
        )
    cost = float((per_token * used).sum())
    if cost <= 0:
        raise ValueError(
            "an advocate must cost something; "
            f"got prices={prices!r} and tokens_per_advocate={tokens_per_advocate!r}"
        )
    dollars = np.asarray(2.0 * counts * cost, dtype=np.float64)
    right = more + 0.5 * tie
    gain = np.diff(right, prepend=0.5)
    step = np.diff(dollars, prepend=0.0)
    net = value * right - dollars
    pays_until, reason = _stop(counts, right, value * gain, step, error)
    best = int(np.argmax(net))
    # Below a coin's worth no number of advocates is to be recommended.
    later = bool(counts[best] > pays_until and net[best] > value / 2)
    if later:
        reason += f"; later steps compensate, and among the given values k={counts[best]} is worth most"
    elif " rank worse" in reason:
        reason += f"; use k={pays_until}"
    start = f"pays until k={pays_until}" if pays_until else "the first step does not pay"
    notes = [f"{start}: {reason}"]
    if net[best] <= value / 2:
        notes.append("a coin is as good, because at these prices no given number of advocates pays")
    return AdvocatePayoff(
        k=counts,
        prob_right=right,
        prob_tie=tie,
        tokens=2.0 * counts * used.sum(),
        dollars=dollars,
        gain=gain,
        gain_per_dollar=gain / step,
        net_value=net,
        value_of_right=value,
        best_k=int(counts[best]),
        pays_until=pays_until,
        reason=reason,
        notes=tuple(notes),
    )


def _asked(
    first: Any, second: Any, k: Any, rho: Any
) -> tuple[ScoreLaw, ScoreLaw, NDArray[np.int64], tuple[float, float]]:
    """Return the checked laws, numbers of advocates, and correlations of each side."""
    one, two = as_law(first), as_law(second)
    counts = as_counts(k)
    pair = np.atleast_1d(np.asarray(rho, dtype=np.float64))
    if pair.shape not in ((1,), (2,)):
        raise ValueError(f"rho must be one number or one for each side; got shape {np.shape(rho)}")
    return one, two, counts, (probability("rho", pair[0]), probability("rho", pair[-1]))
