"""The exact algebra of juries: what a plurality of k is right with, for drawn jurors and for independent ones.

No panel is drawn. From an item's counts of votes the number of panels in which the label wins is a coefficient of a
polynomial; for independent jurors it is a sum of multinomial terms.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, gammaln, xlogy

from d3stats._check import integer, probability

__all__ = ["compositions", "condorcet", "drawn_panels", "independent_plurality", "ways_to_be_right"]

Floats = NDArray[np.float64]
MOST_VOTES = 1000
"""Beyond, the number of panels leaves the range of a float."""


def condorcet(k: int | ArrayLike, p: float | ArrayLike) -> Floats:
    """Return the chance that a majority of k independent jurors is right; a tie goes to a fair coin.

    Two answers. With one competence for all this is Condorcet's sum of binomial terms, with one per juror the
    Poisson-binomial one; where there are more jurors than k, it is the mean over all panels of k of them.

    Parameters
    ----------
    k : int, or array of int
        Jurors on the panel, at least 1.
    p : float, or array of shape (jurors,)
        Chance of being right: one for all, or one per juror, and then ``k <= jurors``.

    Returns
    -------
    ndarray of float, shape of `k`

    Raises
    ------
    ValueError
        When a chance lies outside [0, 1], or a panel is larger than the jurors that `p` lists.

    References
    ----------
    Condorcet (1785), Essai sur l'application de l'analyse. Boland (1989), The Statistician 38, 181 (competences
    that differ).

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
    values_of = _mean_over_panels(chance)
    return np.asarray(values_of[at].reshape(size.shape))


def drawn_panels(counts: NDArray[np.int64], label: NDArray[np.int64], size: int) -> tuple[Floats, Floats]:
    """Return, for panels of 1 to `size` drawn without replacement, how right and how decided they are.

    An item with fewer votes than the panel asks for gives all that it has.

    Parameters
    ----------
    counts : ndarray of int, shape (items, categories)
        Votes per item; at least one each.
    label : ndarray of int, shape (items,)
        The right category.

    Returns
    -------
    right : ndarray of float, shape (items, size, 2)
        Chance that the label alone leads, and that with ties split evenly.
    decided : ndarray of float, shape (items, size)
        Chance that one category leads alone.
    """
    patterns, inverse = np.unique(_label_first(counts, label), axis=0, return_inverse=True)
    right = np.empty((len(patterns), size, 2))
    decided = np.empty((len(patterns), size))
    for row, pattern in enumerate(patterns):
        votes = int(pattern.sum())
        if votes > MOST_VOTES:
            raise ValueError(f"an item must have at most {MOST_VOTES} votes for exact panels; got {votes}")
        kept = pattern[pattern > 0]
        panels = np.array([float(comb(votes, k)) for k in range(votes + 1)])
        alone = np.zeros(votes + 1)
        shared = np.zeros(votes + 1)
        every = np.zeros(votes + 1)
        if pattern[0] > 0:
            by_ties = ways_to_be_right(int(pattern[0]), kept[1:])
            alone = by_ties[0]
            shared = (by_ties / np.arange(1, len(by_ties) + 1)[:, None]).sum(axis=0)
        for at in range(len(kept)):
            every += ways_to_be_right(int(kept[at]), np.delete(kept, at))[0]
        at_most = np.minimum(np.arange(1, size + 1), votes)
        right[row] = (np.stack([alone, shared], axis=1) / panels[:, None])[at_most]
        decided[row] = (every / panels)[at_most]
    return right[inverse], decided[inverse]


def ways_to_be_right(mine: int, others: NDArray[np.int64]) -> Floats:
    """Count the panels in which a category with `mine` votes leads: shape (ties 0.., votes + 1).

    Entry ``[t, k]`` is the number of panels of k in which no category has more of the drawn votes and exactly t
    others have as many.
    """
    votes = mine + int(others.sum())
    total = np.zeros((len(others) + 1, votes + 1))
    for lead in range(1, mine + 1):
        ways = np.zeros_like(total)
        ways[0, lead] = float(comb(mine, lead))
        for other in others.tolist():
            below = np.array([float(comb(other, x)) for x in range(min(other, lead - 1) + 1)])
            added = np.zeros_like(total)
            for x, weight in enumerate(below):
                added[:, x:] += weight * ways[:, : votes + 1 - x]
            if other >= lead:
                added[1:, lead:] += float(comb(other, lead)) * ways[:-1, : votes + 1 - lead]
            ways = added
        total += ways
    return total


def independent_plurality(size: int, right: Floats, wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how right and how decided a plurality of `size` independent jurors is.

    Parameters
    ----------
    right : ndarray of float, shape (m,)
        Chance of a right vote.
    wrong : ndarray of float, shape (m, categories - 1)
        Chances of each wrong one.

    Returns
    -------
    alone, shared, decided : ndarray of float, shape (m,)
        As of :func:`drawn_panels`: the right category leads alone; the same with ties split evenly; any leads alone.
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
    n = p.size
    # table[k, m]: mean over panels of k of the jurors so far of P(m right); the weights are those of a draw.
    table = np.zeros((n + 1, n + 1))
    table[0, 0] = 1.0
    for seen, chance in enumerate(p.tolist()):
        k = np.arange(1, seen + 2)[:, None]
        with_it = np.zeros((seen + 1, n + 1))
        with_it[:, 1:] = chance * table[: seen + 1, :-1]
        with_it += (1 - chance) * table[: seen + 1]
        grown = table[1 : seen + 2] * (1 - k / (seen + 1)) + with_it * (k / (seen + 1))
        table[1 : seen + 2] = grown
    m, k = np.arange(n + 1), np.arange(1, n + 1)[:, None]
    result: Floats = (table[1:] * ((2 * m > k) + 0.5 * (2 * m == k))).sum(axis=1)
    return result


def _label_first(counts: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.int64]:
    rows = np.arange(len(counts))
    others = counts.copy()
    others[rows, label] = -1
    # The label's place sorts first as -1; the order of the wrong categories does not matter.
    others = np.sort(others, axis=1)
    others[:, 0] = counts[rows, label]
    others[:, 1:] = others[:, :0:-1]
    return others


def compositions(total: int, parts: int) -> NDArray[np.int64]:
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
