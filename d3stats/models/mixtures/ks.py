"""The Kolmogorov-Smirnov distance between two rounds of the same debates, and how much of it is noise.

``D = max_x |F_a(x) - F_b(x)|`` cannot be read alone, because it shrinks with the number of debates whether or not they
have settled. It is therefore reported with its paired bootstrap (how large may the true D be?) and its paired
permutation null (how large is D when nothing drifts?). Both resample clusters, the questions, and not votes.

On the same debates D is at most the share of debates whose count changed. The converse is false: swap half
the debates at 0 with half at n and D is 0 while every verdict flips.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, integer, nonnegative, probability, whole_numbers
from d3stats.resampling.clusters import cluster_totals, resampled_totals, swapped_totals

__all__ = ["empirical_ks", "ks_distance", "ks_noise", "paired_bootstrap_ks"]

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


def paired_bootstrap_ks(
    successes_a: ArrayLike,
    trials_a: ArrayLike,
    successes_b: ArrayLike,
    trials_b: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    n_boot: int = 2000,
    rng: RngLike = None,
) -> NDArray[np.float64]:
    """Return bootstrap replicates of D, shape (n_boot,), by drawing whole clusters with both their rounds.

    A replicate of a maximum of absolute values is biased upwards, so an upper quantile of these is a
    conservative upper bound of D; it is no lower bound. With the same `rng` the replicates do not depend on the order
    of the debates, nor on how clusters are numbered.

    Parameters
    ----------
    cluster : array of int, shape (debates,), optional
        What is drawn together (the question), at least 2; by default each debate by itself. Other parameters as in
        :func:`empirical_ks`.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    ndarray of float, shape (n_boot,)

    Examples
    --------
    >>> d = paired_bootstrap_ks([0, 1, 2] * 40, [3] * 120, [0, 1, 3] * 40, [3] * 120, n_boot=500, rng=1)
    >>> bool(1 / 3 - 0.15 < d.mean() < 1 / 3 + 0.15)
    True
    """
    totals = _totals(successes_a, trials_a, successes_b, trials_b, weights=weights, cluster=cluster)
    # A running batch numbers its clusters otherwise than its log does: draws go by what clusters hold.
    totals = totals[np.lexsort(totals.T)]
    replicates = resampled_totals(totals, n_boot, rng)
    size = replicates[:, -1]
    gap: NDArray[np.float64] = np.abs(replicates[:, :-1]).max(axis=1, initial=0.0)
    # Only weights of zero can empty a replicate; it then has no distance at all.
    if not (size > 0).all():
        raise ValueError("weights must leave every replicate with debates; got clusters of weight 0")
    return gap / size


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
    quantiles : sequence of float
        Which quantiles of the null distribution of D to return.
    n_boot : int
        Number of permutations.
    rng : Generator, int or None
        Source of randomness. Other parameters as in :func:`paired_bootstrap_ks` and :func:`empirical_ks`.

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
    distances = np.abs(swapped).max(axis=1, initial=0.0) / totals[:, -1].sum()
    return np.asarray(np.quantile(distances, levels), dtype=np.float64)


def _totals(*rounds: ArrayLike, weights: ArrayLike | None, cluster: ArrayLike | None) -> NDArray[np.float64]:
    """Return each cluster's gaps between the two distribution functions and, last, its weight."""
    gaps, weight = _gaps(*rounds, weights=weights)
    codes = np.arange(len(weight)) if cluster is None else whole_numbers("cluster", cluster)
    if codes.size != len(weight):
        raise ValueError(f"cluster must have one value per debate ({len(weight)}); got {codes.size}")
    totals = cluster_totals(np.column_stack([gaps * weight[:, None], weight]), codes)
    if len(totals) < 2:
        raise ValueError(f"cluster must hold at least 2 clusters to resample; got {len(totals)}")
    return totals


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
