"""The Kolmogorov-Smirnov distance between two rounds of the same debates, and how much of it is noise.

``D = max_x |F_a(x) - F_b(x)|`` cannot be read alone, because it shrinks with the number of debates whether or not they
have settled. So there are an upper confidence limit (how large may the true D be?) and a paired permutation null (how
large is D when nothing drifts?). The units of both are clusters, the questions, and not votes.

On the same debates D is at most the share of debates whose count changed. The converse is false: swap half
the debates at 0 with half at n and D is 0 while every verdict flips.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, integer, nonnegative, probability, whole_numbers
from d3stats.resampling.bounded_means import betting_upper
from d3stats.resampling.clusters import cluster_totals, swapped_totals

__all__ = ["empirical_ks", "ks_distance", "ks_noise", "ks_upper"]

_SUM_TOLERANCE = 1e-6


def ks_distance(p: ArrayLike, q: ArrayLike) -> float:
    """Return the largest gap between the distribution functions of two pmfs, shape (support,), on the same support.

    Parameters
    ----------
    p, q : array of float, shape (support,)
        Probabilities, each adding up to 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When shapes differ, a probability is negative or not finite, or a pmf does not add up to 1.

    Examples
    --------
    >>> ks_distance([0.5, 0.5, 0.0], [0.25, 0.5, 0.25])
    0.25
    """
    first = nonnegative("p", p)
    second = nonnegative("q", q, size=first.size)
    for name, pmf in (("p", first), ("q", second)):
        if abs(pmf.sum() - 1.0) > _SUM_TOLERANCE:
            raise ValueError(f"{name} must add up to 1; got a sum of {pmf.sum():.9g}")
    gap = np.abs(np.cumsum(first - second)).max()
    return float(min(gap, 1.0))


def empirical_ks(
    successes_a: ArrayLike,
    trials_a: ArrayLike,
    successes_b: ArrayLike,
    trials_b: ArrayLike,
    weights: ArrayLike | None = None,
) -> float:
    """Return the Kolmogorov-Smirnov distance D between two rounds; row i of `a` and of `b` is one debate.

    Missing votes make trials vary, so the distributions compared are those of ``successes / trials`` on the
    union of the values that occur; with one number of trials this is the distance between the counts.

    Parameters
    ----------
    successes_a, trials_a, successes_b, trials_b : array of int, shape (debates,)
        Correct votes and votes of each debate in the two rounds; every debate has a vote in both.
    weights : array of float, shape (debates,), optional
        How often each row counts; by default once.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When there is no debate, lengths differ, a row has no vote, or successes exceed trials.

    Examples
    --------
    Half the debates swap places with the other half, which D does not show.

    >>> empirical_ks([0, 7], [7, 7], [7, 0], [7, 7])
    0.0
    >>> empirical_ks([0, 7, 3, 3], [7, 7, 7, 7], [0, 7, 3, 7], [7, 7, 7, 7])
    0.25
    """
    gaps, weight = _gaps(successes_a, trials_a, successes_b, trials_b, weights=weights)
    total = weight @ gaps
    return float(np.abs(total).max(initial=0.0) / weight.sum())


def ks_upper(
    successes_a: ArrayLike,
    trials_a: ArrayLike,
    successes_b: ArrayLike,
    trials_b: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> float:
    """Return an upper confidence limit of D by betting, valid for any number of independent clusters.

    D is the largest of the differences F_a(x) - F_b(x) and F_b(x) - F_a(x), and each of these is the mean over debates
    of values between -1 and 1. The limit is the largest of their limits. No number of values x makes the error larger
    than 1 - level, because only the difference at which the true D lies must be below its own limit. A large cluster
    counts with its debates, and the sizes of clusters are taken as given.

    Parameters
    ----------
    cluster : array of int, shape (debates,), optional
        What is independent (the question); by default each debate by itself. Other parameters as in
        :func:`empirical_ks`.
    level : float
        Confidence of the limit, one-sided, in (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As in :func:`empirical_ks`, or when `cluster` has another length.

    Examples
    --------
    One of 61 questions changed its count; the second line is where none did.

    >>> before, panel = [0, 1, 2] * 20 + [0], [3] * 61
    >>> round(ks_upper(before, panel, [*before[:-1], 3], panel), 3)
    0.104
    >>> round(ks_upper(before, panel, before, panel), 3)
    0.06
    """
    alpha = 1.0 - probability("level", level, open_interval=True)
    totals = _totals(successes_a, trials_a, successes_b, trials_b, weights=None, cluster=cluster)
    gaps = totals[:, :-1]
    # Below the lowest rate both distribution functions are 0: a difference there could not have been seen.
    unseen = np.zeros((len(gaps), 1))
    return betting_upper(np.column_stack([gaps, -gaps, unseen]), alpha, totals[:, -1])


def ks_noise(
    successes_a: ArrayLike,
    trials_a: ArrayLike,
    successes_b: ArrayLike,
    trials_b: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    quantiles: Sequence[float] = (0.5, 0.95),
    n_boot: int = 2000,
    rng: RngLike = None,
) -> NDArray[np.float64]:
    """Return quantiles of D when nothing drifted, by a paired permutation that swaps the rounds within clusters.

    Each cluster's two rounds swap with probability 1/2. The result says what D noise alone would give at this number of
    questions with these changes of count; a D below the band is no evidence that the debates have settled.

    Parameters
    ----------
    weights : array of float, shape (debates,), optional
        How often each row counts; by default once.
    cluster : array of int, shape (debates,), optional
        What swaps together (the question); by default each debate by itself.
    quantiles : sequence of float
        Which quantiles of the null distribution of D to return.
    n_boot : int
        Number of permutations.
    rng : Generator, int or None
        Source of randomness. Other parameters as in :func:`empirical_ks`.

    Returns
    -------
    ndarray of float, shape (quantiles,)

    Examples
    --------
    >>> band = ks_noise([0, 1, 2, 3] * 30, [3] * 120, [1, 0, 3, 2] * 30, [3] * 120, n_boot=500, rng=1)
    >>> bool(0 < band[0] < band[1] < 0.2)
    True
    """
    levels = [probability("quantiles", q) for q in quantiles]
    totals = _totals(successes_a, trials_a, successes_b, trials_b, weights=weights, cluster=cluster)
    swapped = swapped_totals(totals[:, :-1], integer("n_boot", n_boot, minimum=1), rng)
    distances = np.abs(swapped).max(axis=1) / totals[:, -1].sum()
    return np.asarray(np.quantile(distances, levels), dtype=np.float64)


def _totals(*rounds: ArrayLike, weights: ArrayLike | None, cluster: ArrayLike | None) -> NDArray[np.float64]:
    """Return each cluster's gaps between the two distribution functions and, last, its weight."""
    gaps, weight = _gaps(*rounds, weights=weights)
    codes = np.arange(len(weight)) if cluster is None else whole_numbers("cluster", cluster)
    if codes.size != len(weight):
        raise ValueError(f"cluster must have one value per debate ({len(weight)}); got {codes.size}")
    return cluster_totals(np.column_stack([gaps * weight[:, None], weight]), codes)


def _gaps(*rounds: ArrayLike, weights: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 1{a <= x} - 1{b <= x} for every debate and every rate x but the last, and the weights."""
    rate_a, rate_b = _rates("a", *rounds[:2]), _rates("b", *rounds[2:])
    if rate_a.size != rate_b.size:
        raise ValueError(f"successes_b must be as long as successes_a ({rate_a.size}); got {rate_b.size}")
    if rate_a.size == 0:
        raise ValueError("successes_a must hold at least one debate; got none")
    weight = np.ones(rate_a.size) if weights is None else nonnegative("weights", weights, size=rate_a.size)
    if weight.sum() <= 0:
        raise ValueError("weights must not all be 0; got a sum of 0")
    # Equal fractions divide to equal floats, so 1/3 and 2/6 are one point of the support.
    support = np.unique(np.concatenate([rate_a, rate_b]))[:-1]
    gaps = (rate_a[:, None] <= support).astype(np.float64) - (rate_b[:, None] <= support)
    return gaps, weight


def _rates(side: str, successes: ArrayLike, trials: ArrayLike) -> NDArray[np.float64]:
    hits = whole_numbers(f"successes_{side}", successes)
    votes = whole_numbers(f"trials_{side}", trials, minimum=1)
    if hits.size != votes.size:
        raise ValueError(f"trials_{side} must be as long as successes_{side} ({hits.size}); got {votes.size}")
    if (hits > votes).any():
        row = int(np.argmax(hits > votes))
        got = f"trials_{side}={votes[row]}, successes_{side}={hits[row]} at row {row}"
        raise ValueError(f"trials_{side} must be >= successes_{side}; got {got}")
    return hits / votes
