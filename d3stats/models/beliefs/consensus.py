"""One vote now, or debate until all agree? Condorcet's majority beside the martingale's consensus, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import integer, nonnegative, probability

Floats = NDArray[np.float64]


def count_pmf(accuracy: ArrayLike, panel: int | None = None) -> Floats:
    """Return the law of the number of correct votes of independent agents, shape (panel + 1,).

    Parameters
    ----------
    accuracy : float, or array of shape (agents,)
        Chance that each agent is right; one number needs `panel`. Different numbers give the
        Poisson-binomial law, by exact convolution.
    panel : int, optional
        Number of agents when `accuracy` is one number.

    Examples
    --------
    >>> count_pmf([0.5, 0.8]).round(3).tolist()
    [0.1, 0.5, 0.4]
    """
    pmf = np.ones(1)
    for p in _accuracies(accuracy, panel):
        pmf = np.convolve(pmf, [1 - p, p])
    return pmf


def majority_accuracy(accuracy: ArrayLike, panel: int | None = None, *, ties: float = 0.5) -> float:
    """Return the chance that the majority of independent agents is right (Condorcet, 1785), exactly.

    Parameters
    ----------
    accuracy, panel
        As in :func:`count_pmf`.
    ties : float
        Chance that a tie is broken rightly.

    Examples
    --------
    >>> round(majority_accuracy(0.7, 3), 6), round(majority_accuracy([0.9, 0.6, 0.6]), 6)
    (0.784, 0.792)
    """
    return _majority(count_pmf(accuracy, panel), ties)


def consensus_probability(accuracy: ArrayLike) -> float:
    """Return the chance that a debate to unanimity ends right when the count is a martingale.

    If E[S_{t+1} | past] = S_t and the debate runs until all n agree, which it surely does, optional stopping
    gives P(unanimously right) = E[S_0] / n: the mean individual accuracy, whatever else the process does.

    Parameters
    ----------
    accuracy : float, or array of shape (agents,)
        Mean accuracy in the first round, or that of each agent.

    Examples
    --------
    >>> round(consensus_probability([0.9, 0.6, 0.6]), 6)
    0.7
    """
    return float(np.mean(_accuracies(accuracy, 1 if np.ndim(accuracy) == 0 else None)))


@dataclass(frozen=True)
class VoteOrConsensus:
    """An immediate majority vote beside a debate to consensus in which the count is a martingale.

    Attributes
    ----------
    majority : float
        Chance that the first vote's majority is right.
    consensus : float
        Chance that unanimity, once reached, is right: E[S_0] / n.
    advantage : float
        `majority` less `consensus`: above 0, voting at once is better and cheaper.
    """

    majority: float
    consensus: float
    advantage: float


def vote_or_consensus(
    accuracy: ArrayLike | None = None,
    panel: int | None = None,
    *,
    pmf: ArrayLike | None = None,
    ties: float = 0.5,
) -> VoteOrConsensus:
    """Compare an immediate majority vote with debating to consensus under the martingale.

    Parameters
    ----------
    accuracy, panel
        As in :func:`count_pmf`: agents independent given the question.
    pmf : array, shape (panel + 1,), optional
        In place of `accuracy`: the law of the first round's count, for debates of unlike difficulty.
    ties : float
        Chance that a tie is broken rightly.

    Notes
    -----
    Of a pmf, the advantage is sum_s P(s) (1{s > n/2} - s / n). A narrow majority that is wrong counts against
    voting at once, so where those are common the advantage is negative, and debating to consensus wins.

    Examples
    --------
    >>> found = vote_or_consensus(0.7, 5)
    >>> round(found.majority, 5), round(found.consensus, 5), found.advantage > 0
    (0.83692, 0.7, True)
    >>> vote_or_consensus(0.4, 5).advantage < 0
    True
    """
    if (accuracy is None) == (pmf is None):
        raise TypeError("one of accuracy and pmf must be given; got both or neither")
    if pmf is None:
        assert accuracy is not None
        law = count_pmf(accuracy, panel)
    else:
        if panel is not None:
            raise TypeError("panel must be left out when pmf is given; it has a value per count")
        law = nonnegative("pmf", pmf)
        if law.size < 2 or abs(law.sum() - 1) > 1e-9:
            raise ValueError(
                f"pmf must have a value for each count 0..panel and sum to 1; got {law.size} values "
                f"with a sum of {law.sum():.9g}"
            )
    n = len(law) - 1
    majority, consensus = _majority(law, ties), float(law @ np.arange(n + 1) / n)
    return VoteOrConsensus(majority, consensus, majority - consensus)


def _majority(pmf: Floats, ties: float) -> float:
    n = len(pmf) - 1
    right = pmf[n // 2 + 1 :].sum()
    at_tie = pmf[n // 2] if n % 2 == 0 else 0.0
    return float(min(right + probability("ties", ties) * at_tie, 1.0))


def _accuracies(accuracy: ArrayLike, panel: int | None) -> Floats:
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
