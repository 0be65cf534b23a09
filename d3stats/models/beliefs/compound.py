"""Agents who count the answers they hear: the next belief in closed form, and when it is a martingale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import integer, nonnegative

Floats = NDArray[np.float64]


def dirichlet_expected_belief(
    alpha: ArrayLike, neighbours: ArrayLike | None = None, *, n_rounds: int = 1
) -> Floats:
    """Return every agent's expected belief after some rounds of the Dirichlet-compound model.

    Agent i believes mu_i = alpha_i / A_i with strength A_i = sum of alpha_i, answers by a draw from it, and
    adds w_ij for the answer of each neighbour j. Strengths grow by W_i = sum_j w_ij whatever is said, so

    ``E[mu_i'] = (A_i mu_i + sum_j w_ij mu_j) / (A_i + W_i)``

    is exact, and linear in the beliefs, hence exact over any number of rounds.

    Parameters
    ----------
    alpha : array, shape (..., agents, answers)
        Pseudo-counts, >= 0, with a sum above 0 for each agent.
    neighbours : array, shape (agents, agents), optional
        w_ij >= 0, what an answer of j adds to i's counts; by default everybody else, once. An agent that
        hears itself has w_ii > 0.
    n_rounds : int
        Rounds ahead, at least 0.

    Returns
    -------
    ndarray, shape (..., agents, answers)
        Beliefs; each agent's sum to 1.

    Examples
    --------
    A sure agent (weight 9) and a weak one: the weak one moves.

    >>> dirichlet_expected_belief([[9.0, 0.0], [0.5, 0.5]])[:, 0].round(4).tolist()
    [0.95, 0.75]
    """
    belief, strength, weights = _parts(alpha, neighbours)
    heard = weights.sum(axis=1)
    for _ in range(integer("n_rounds", n_rounds, minimum=0)):
        belief = (strength[..., None] * belief + weights @ belief) / (strength + heard)[..., None]
        strength = strength + heard
    return belief


@dataclass(frozen=True, eq=False)
class NeighbourCondition:
    """Whether each agent's belief in an answer is a martingale, and what it is missed by.

    Attributes
    ----------
    holds : ndarray of bool, shape (..., agents)
        The weighted mean belief of the neighbours equals the agent's own. True for one who hears nobody.
    margin : ndarray, shape (..., agents)
        Neighbours' weighted mean belief less one's own: the direction of the drift.
    drift : ndarray, shape (..., agents)
        E[next belief] - belief, which is ``W_i / (A_i + W_i) * margin``.
    """

    holds: NDArray[np.bool_]
    margin: Floats
    drift: Floats

    @property
    def panel_drift(self) -> Floats:
        """Mean drift of the panel, shape (...)."""
        result: Floats = self.drift.mean(axis=-1)
        return result

    def to_frame(self) -> pd.DataFrame:
        """Return one row per agent (of the only panel, or of all in order)."""
        return pd.DataFrame(
            {
                "agent": np.broadcast_to(np.arange(self.drift.shape[-1]), self.drift.shape).ravel(),
                "holds": self.holds.ravel(),
                "margin": self.margin.ravel(),
                "drift": self.drift.ravel(),
            }
        )


def is_martingale(
    alpha: ArrayLike, neighbours: ArrayLike | None = None, *, answer: int = 0, tol: float = 1e-12
) -> NeighbourCondition:
    """Say which agents' beliefs in one answer are martingales from here: iff neighbours believe the same.

    Parameters
    ----------
    alpha, neighbours
        As in :func:`dirichlet_expected_belief`.
    answer : int
        Which answer, an index from 0.
    tol : float
        Difference of beliefs that counts as none.

    Notes
    -----
    The condition concerns one round, from counts that are known. Agents who begin alike keep their mean belief
    over any number of rounds, on any graph; but after one round they have heard different things and, given
    that past, the condition fails for most of them.

    Examples
    --------
    >>> is_martingale([[3.0, 1.0], [3.0, 1.0], [3.0, 1.0]]).holds.tolist()
    [True, True, True]
    >>> is_martingale([[9.0, 0.0], [0.5, 0.5]]).drift.round(4).tolist()
    [-0.05, 0.25]
    """
    belief, strength, weights = _parts(alpha, neighbours)
    at = integer("answer", answer, minimum=0)
    if at >= belief.shape[-1]:
        raise ValueError(f"answer must be below {belief.shape[-1]}; got answer={at}")
    own = belief[..., at]
    heard = weights.sum(axis=1)
    margin = np.where(heard > 0, own @ (weights / np.where(heard > 0, heard, 1)[:, None]).T - own, 0.0)
    return NeighbourCondition(np.abs(margin) <= tol, margin, heard / (strength + heard) * margin)


def panel_drift(alpha: ArrayLike, neighbours: ArrayLike | None = None, *, answer: int = 0) -> Floats:
    """Return the expected change of the panel's mean belief in one answer over the next round, shape (...).

    Examples
    --------
    >>> float(panel_drift([[9.0, 0.0], [0.5, 0.5]]).round(4))
    0.1
    """
    return is_martingale(alpha, neighbours, answer=answer).panel_drift


def panel_drift_complete(beliefs: ArrayLike, strengths: ArrayLike) -> float:
    """Return the drift of the mean belief where everybody hears everybody else, in closed form.

    With n agents of belief mu_i, strength A_i and mean belief M,

    ``drift = sum_i (M - mu_i) / (A_i + n - 1) = -n Cov(mu_i, 1 / (A_i + n - 1))``.

    It is 0 when strengths are equal, whatever the beliefs. It is positive iff those who are easily moved
    believe less than the others: only then does talk raise the mean.

    Parameters
    ----------
    beliefs : array, shape (agents,)
        mu_i in [0, 1].
    strengths : array, shape (agents,)
        A_i > 0.

    Examples
    --------
    >>> panel_drift_complete([1.0, 0.5], [9.0, 1.0])
    0.1
    >>> abs(panel_drift_complete([0.9, 0.3, 0.2], [4.0, 4.0, 4.0])) < 1e-15
    True
    """
    mu = nonnegative("beliefs", beliefs)
    strength = nonnegative("strengths", strengths, size=mu.size)
    if mu.size < 1 or mu.max() > 1:
        raise ValueError(f"beliefs must be at least one value between 0 and 1; got {mu.tolist()}")
    if strength.min() <= 0:
        raise ValueError(f"strengths must be > 0; got {strength.min():g}")
    return float(((mu.mean() - mu) / (strength + mu.size - 1)).sum())


def _parts(alpha: ArrayLike, neighbours: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """Return beliefs, strengths and weights."""
    table = np.asarray(alpha, dtype=np.float64)
    if table.ndim < 2 or not table.size:
        raise ValueError(f"alpha must have shape (..., agents, answers); got shape {table.shape}")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError("alpha must be finite and >= 0; got a negative or non-finite value")
    strength = table.sum(axis=-1)
    if not (strength > 0).all():
        agent = int(np.argwhere(strength <= 0)[0][-1])
        raise ValueError(f"alpha must have a sum > 0 for each agent; got 0 for agent {agent}")
    n = table.shape[-2]
    weights = 1.0 - np.eye(n) if neighbours is None else np.asarray(neighbours, dtype=np.float64)
    if weights.shape != (n, n) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"neighbours must have shape ({n}, {n}) and be finite and >= 0; got shape {weights.shape}"
        )
    return table / strength[..., None], strength, weights
