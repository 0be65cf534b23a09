"""P-values for "the mean loss is above a limit", valid in finite samples.

Each takes losses of independent, identically distributed units, shape (units,) or (units, rules), and returns a
p-value, or one per rule, of the hypothesis H: E[loss] > limit: P(p <= u) <= u for every u under H. None uses a
normal approximation, and none depends on the order of the units.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.planning._losses import Target

__all__ = [
    "METHODS",
    "Method",
    "Order",
    "betting_p",
    "binomial_p",
    "certified_rules",
    "hoeffding_bentkus_p",
    "lowest_loss",
    "p_values",
    "smallest_certifying",
]

Method = Literal["auto", "binomial", "hoeffding_bentkus", "betting"]
Order = Literal["given", "split", "none"]
FloatArray = NDArray[np.float64]

METHODS = ("binomial", "hoeffding_bentkus", "betting")

_STAKES = 64


def binomial_p(losses: FloatArray, limit: float) -> FloatArray:
    """Return P(Bin(n, limit) <= k), exact for losses that are 0 or 1; k is how many are 1.

    Losses of -1 count as 0: E[loss] <= P(loss = 1), so a small P(loss = 1) is enough, if more than needed.
    """
    return _array(special.bdtr((losses == 1).sum(axis=0), len(losses), limit))


def hoeffding_bentkus_p(losses: FloatArray, limit: float, lowest: float = 0.0) -> FloatArray:
    """Return the smaller of Hoeffding's and Bentkus's bounds for losses in [lowest, 1].

    With m the mean and h the Bernoulli divergence, min(exp(-n h(min(m, limit), limit)),
    e P(Bin(n, limit) <= ceil(n m))), after losses and limit are put on [0, 1]. Source: Bates, Angelopoulos,
    Lei, Malik and Jordan (2021), Journal of the ACM 68, arXiv 2101.02703.
    """
    n = len(losses)
    span = 1.0 - lowest
    at = (limit - lowest) / span
    # Rounding keeps a sum of means, 2.9999999999 or 3.0000000001, at the whole number that it is.
    total = np.round(((losses - lowest) / span).sum(axis=0), 9)
    mean = np.minimum(total / n, at)
    divergence = special.rel_entr(mean, at) + special.rel_entr(1 - mean, 1 - at)
    bentkus = np.e * special.bdtr(np.ceil(total), n, at)
    return _array(np.minimum(1.0, np.minimum(np.exp(-n * divergence), bentkus)))


def betting_p(losses: FloatArray, limit: float) -> FloatArray:
    """Return one over the mean wealth of constant bets against H, for losses in [-1, 1].

    A bet of stake s in [0, 1/(1 - limit)) turns wealth w into w (1 + s (limit - loss)), which under H is not
    expected to grow and never falls below 0. The mean over stakes fixed in advance, laid out as the quantiles of
    s (1 - limit) = 1 - u with u ~ Beta(1/2, 1), is so an e-value, and Markov's inequality makes 1/mean a
    p-value. It adapts to the variance: with few losses it needs some 1/limit units, where Hoeffding's inequality
    on [-1, 1] needs 1/limit^2. Source: Waudby-Smith and Ramdas (2024), JRSS-B 86, arXiv 2010.09686, section 4.
    """
    stakes = (1.0 - ((np.arange(_STAKES) + 0.5) / _STAKES) ** 2) / (1.0 - limit)
    values, index = np.unique(losses, return_inverse=True)
    index = index.reshape(len(losses), -1)
    counts = np.array([np.bincount(column, minlength=len(values)) for column in index.T]).T
    growth = np.log1p(stakes[:, None] * (limit - values)) @ counts
    wealth = special.logsumexp(growth, axis=0) - np.log(_STAKES)
    return _array(np.exp(np.minimum(0.0, -wealth)).reshape(losses.shape[1:]))


def _array(values: object) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def lowest_loss(target: Target) -> float:
    """Return the smallest loss that a debate can have."""
    return -1.0 if target == "accuracy" else 0.0


def p_values(losses: FloatArray, max_loss: float, method: Method, target: Target) -> FloatArray:
    """Return the p-value of "the mean loss is above `max_loss`" for every column of (units, rules) losses."""
    if method == "binomial":
        return binomial_p(losses, max_loss)
    if method == "betting":
        return betting_p(losses, max_loss)
    return hoeffding_bentkus_p(losses, max_loss, lowest_loss(target))


def certified_rules(
    p: FloatArray, delta: float, order: Order = "given"
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which hypotheses are tested and which rejected, with P(any false rejection) <= delta.

    Fixed-sequence testing goes on to the first p-value above delta; ``order="none"`` is Holm's procedure.

    Examples
    --------
    >>> [x.tolist() for x in certified_rules(np.array([0.01, 0.2, 0.01]), 0.1)]
    [[True, True, False], [True, False, False]]
    """
    if order == "none":
        by_size = np.argsort(p, kind="stable")
        below = p[by_size] <= delta / np.arange(len(p), 0, -1)
        rejected = np.zeros(len(p), dtype=bool)
        rejected[by_size[np.logical_and.accumulate(below)]] = True
        return np.ones(len(p), dtype=bool), rejected
    rejected = np.logical_and.accumulate(p <= delta)
    return np.concatenate([[True], rejected[:-1]]), rejected


def smallest_certifying(limit: float, delta: float, method: str, lowest: float) -> int:
    """Return the smallest number of units, all of loss 0, whose p-value is at most delta."""

    def p_value(n: int) -> float:
        zeros = np.zeros(n)
        if method == "binomial":
            return float((1.0 - limit) ** n)
        p = betting_p(zeros, limit) if method == "betting" else hoeffding_bentkus_p(zeros, limit, lowest)
        return float(p)

    high = 1
    while p_value(high) > delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_value(middle) <= delta else (middle, high)
    return high
