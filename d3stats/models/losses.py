"""What a stop may lose: a wrong verdict, or a verdict that full depth would not have given."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats.models.process import CountProcess

__all__ = ["Verdict", "agreement_loss", "error_loss"]

Verdict = Literal["majority", "posterior"]
"""What a stop commits to: the round's plurality, or the answer with the smaller expected loss."""


def error_loss(process: CountProcess, verdict: Verdict = "majority") -> NDArray[Any]:
    """Return the probability of a wrong verdict by class, round, count and choice.

    Parameters
    ----------
    process : CountProcess
    verdict : {"majority", "posterior"}
        With "majority" there is one choice, the round's plurality, a tie being a fair coin; with "posterior"
        there are two, A and B.

    Returns
    -------
    ndarray, shape (classes, n_rounds, panel + 1, 1 or 2)

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[0.9, 0.1], [0.2, 0.8]]], n_rounds=2)
    >>> error_loss(p)[:, 0, :, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    choice("verdict", verdict, ("majority", "posterior"))
    votes_a = process.majority()
    one = process.weights[0] * 0 + 1
    right = process.a_is_right
    if verdict == "majority":
        by_class = np.array([1 - votes_a if a else votes_a for a in right])[:, None, :, None]
    else:
        by_class = np.array([[one * 0, one] if a else [one, one * 0] for a in right])[:, None, None, :]
    shape = (process.n_classes, process.n_rounds, process.panel + 1, by_class.shape[-1])
    return np.broadcast_to(by_class, shape)


def agreement_loss(process: CountProcess, verdict: Verdict = "majority") -> NDArray[Any]:
    """Return the probability of a verdict other than full depth's, for plans without gold labels.

    Parameters
    ----------
    process : CountProcess
    verdict : {"majority", "posterior"}
        As in :func:`error_loss`. Two ties in different rounds are taken as two separate coins.

    Returns
    -------
    ndarray, shape (classes, n_rounds, panel + 1, 1 or 2)

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[0.9, 0.1], [0.2, 0.8]]], n_rounds=2)
    >>> agreement_loss(p)[0, :, :, 0].round(2).tolist()
    [[0.1, 0.2], [0.0, 0.0]]
    """
    choice("verdict", verdict, ("majority", "posterior"))
    final_a = process.final_verdict().transpose(1, 0, 2)
    if verdict == "posterior":
        both: NDArray[Any] = np.stack([1 - final_a, final_a], axis=-1)
        return both
    votes_a = process.majority()
    loss: NDArray[Any] = votes_a * (1 - final_a) + (1 - votes_a) * final_a
    # The last round's verdict is full depth's, tied or not.
    loss[:, -1] = loss[:, -1] * 0
    return loss[..., None]
