"""Accuracy of a majority, or plurality, of independent voters: Condorcet's jury theorem, computed exactly.

With one competence for all the number of right votes is Binomial, with one per voter Poisson-binomial, and with several
wrong answers multinomial. No panel is drawn.

References
----------
Condorcet (1785), Essai sur l'application de l'analyse. Boland (1989), The Statistician 38, 181 (competences that
differ).
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, gammaln, xlogy

from d3stats._arrays import Floats, Ints
from d3stats._check import integer, nonnegative, probability

__all__ = [
    "compositions",
    "condorcet",
    "count_pmf",
    "independent_plurality",
    "majority_accuracy",
    "majority_is_right",
    "voter_accuracies",
]


def condorcet(k: int | ArrayLike, p: float | ArrayLike) -> Floats:
    """Compute the chance that a majority of k independent jurors is right, shape of `k`; a tie goes to a fair coin.

    There are two answers. With one competence for all jurors this is Condorcet's sum of binomial terms; with one per
    juror it is the Poisson-binomial sum. Where there are more jurors than k, it is the mean over all panels of k.

    Parameters
    ----------
    k : int, or array of int
        Jurors on the panel, at least 1.
    p : float, or array of shape (jurors,)
        Chance of being right: one for all, or one per juror, and then ``k <= jurors``.

    Returns
    -------
    ndarray of float

    Raises
    ------
    ValueError
        When a chance lies outside [0, 1], or a panel is larger than the jurors that `p` lists.

    Examples
    --------
    >>> condorcet([1, 3, 5], 0.7).round(3).tolist()
    [0.7, 0.784, 0.837]
    >>> round(float(condorcet(3, [0.9, 0.7, 0.6])), 3)
    0.834
    """
    size = np.asarray(k)
    sizes = [integer("k", one, minimum=1) for one in size.ravel().tolist()]
    chance = np.asarray(p, dtype=np.float64)
    for one in chance.ravel().tolist():
        probability("p", one)
    if chance.ndim == 0:
        values = [float(_binomial_majority(one, chance[None])[0]) for one in sizes]
        return np.array(values).reshape(size.shape)
    if chance.ndim != 1:
        raise ValueError(f"p must be one chance or one per juror; got shape {chance.shape}")
    if max(sizes) > chance.size:
        raise ValueError(f"k must be at most the number of jurors ({chance.size}); got k={max(sizes)}")
    at = np.array(sizes) - 1
    return np.asarray(_mean_over_panels(chance)[at].reshape(size.shape))


def count_pmf(accuracy: ArrayLike, panel: int | None = None) -> Floats:
    """Compute the law of the number of correct votes of independent agents, shape (panel + 1,), by exact convolution.

    Parameters
    ----------
    accuracy : float, or array of shape (agents,)
        Chance that each agent is right; one number needs `panel`.
    panel : int, optional
        Number of agents when `accuracy` is one number.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> count_pmf([0.5, 0.8]).round(3).tolist()
    [0.1, 0.5, 0.4]
    """
    pmf = np.ones(1)
    for p in voter_accuracies(accuracy, panel):
        pmf = np.convolve(pmf, [1 - p, p])
    return pmf


def majority_accuracy(accuracy: ArrayLike, panel: int | None = None, *, ties: float = 0.5) -> float:
    """Compute the chance that the majority of all these independent agents is right, from the law of right votes.

    Arguments as in :func:`count_pmf`; `ties` is the chance that a tie is broken rightly.

    Parameters
    ----------
    accuracy : float, or array of shape (agents,)
        Chance that each agent is right; one number needs `panel`.
    panel : int, optional
        Number of agents when `accuracy` is one number.
    ties : float
        Chance that a tie is broken rightly.

    Returns
    -------
    float

    Examples
    --------
    >>> round(majority_accuracy(0.7, 3), 6), round(majority_accuracy([0.9, 0.6, 0.6]), 6)
    (0.784, 0.792)
    """
    pmf = count_pmf(accuracy, panel)
    return min(float(pmf @ majority_is_right(len(pmf) - 1, ties)), 1.0)


def majority_is_right(n: int, ties: float = 0.5) -> Floats:
    """Return, for 0 to n right votes of n, the chance that the majority is right: 0, 1, or `ties` at a tie."""
    votes = np.arange(n + 1)
    result: Floats = (2 * votes > n) + probability("ties", ties) * (2 * votes == n)
    return result


def independent_plurality(size: int, right: Floats, wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how often a plurality of `size` independent jurors is right, and how often one answer leads alone.

    `right`, shape (m,), is the chance of a right vote, `wrong`, shape (m, categories - 1), those of each wrong one.
    Returns three arrays of shape (m,): the right answer leads alone; the same with ties split evenly; any answer
    leads alone.
    """
    if wrong.shape[1] == 1:
        shared, tie = _binomial_majority(size, right), _binomial_tie(size, right)
        return shared - tie / 2, shared, 1 - tie
    votes = compositions(size, wrong.shape[1] + 1)
    at_top = votes == votes.max(axis=1)[:, None]
    log_ways = gammaln(size + 1) - gammaln(votes + 1.0).sum(axis=1)
    chances = np.concatenate([right[:, None], wrong], axis=1)
    log_terms = log_ways + sum(xlogy(votes[None, :, c], chances[:, c, None]) for c in range(chances.shape[1]))
    terms = np.exp(log_terms)
    one = at_top.sum(axis=1) == 1
    shares = np.where(at_top[:, 0], 1.0 / at_top.sum(axis=1), 0.0)
    return terms @ (shares * one), terms @ shares, terms @ one.astype(float)


def compositions(total: int, parts: int) -> Ints:
    """Return every way to write `total` as an ordered sum of `parts` whole numbers, a row each."""
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([total])
    for _ in range(parts - 1):
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = np.arange(repeats.sum()) - starts
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    return np.column_stack([rows, left])


def voter_accuracies(accuracy: ArrayLike, panel: int | None) -> Floats:
    """Return the chance of each voter to be right, shape (voters,), from one number and a size or one per voter."""
    if np.ndim(accuracy) == 0:
        if panel is None:
            raise ValueError("panel must be given when accuracy is one number; got panel=None")
        p = probability("accuracy", accuracy)  # type: ignore[arg-type]  # a scalar here
        return np.full(integer("panel", panel, minimum=1), p)
    values = nonnegative("accuracy", accuracy)
    if panel is not None and panel != values.size:
        raise ValueError(f"panel must be the number of accuracies ({values.size}) or None; got {panel}")
    if not values.size or values.max() > 1:
        raise ValueError(f"accuracy must be at least one value between 0 and 1; got {values.tolist()}")
    return values


def _binomial_majority(size: int, p: Floats) -> Floats:
    # With a coin for ties 2m jurors are worth 2m - 1: the last one matters only when it makes the tie.
    odd = size - 1 + size % 2
    result: Floats = bdtrc(odd // 2, odd, p)
    return result


def _binomial_tie(size: int, p: Floats) -> Floats:
    if size % 2:
        return np.zeros_like(p)
    result: Floats = comb(size, size // 2) * (p * (1 - p)) ** (size // 2)
    return result


def _mean_over_panels(p: Floats) -> Floats:
    """Return the accuracy of a majority of 1, 2, ... of these voters, averaged over panels of that size."""
    n = p.size
    # table[k, m]: mean over panels of k of the jurors so far of P(m right); the weights are those of a draw.
    table = np.zeros((n + 1, n + 1))
    table[0, 0] = 1.0
    for seen, chance in enumerate(p.tolist()):
        k = np.arange(1, seen + 2)[:, None]
        with_it = np.zeros((seen + 1, n + 1))
        with_it[:, 1:] = chance * table[: seen + 1, :-1]
        with_it += (1 - chance) * table[: seen + 1]
        table[1 : seen + 2] = table[1 : seen + 2] * (1 - k / (seen + 1)) + with_it * (k / (seen + 1))
    return np.array([table[k, : k + 1] @ majority_is_right(k) for k in range(1, n + 1)])
