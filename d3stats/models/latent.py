"""When does talking make the truth more believed? Bayes' rule over latent concepts, and what follows from it.

One of m concepts is true; concept theta yields response z with probability P(z | theta), responses independent
given the concept. Agents share a belief pi over concepts. What an update does to the belief in the truth hangs
on who made the response:

- *fresh* evidence, drawn under the truth: the belief rises on average, E[pi'] = pi E[P(z | true) / m(z)] >= pi,
  where m(z) = sum_theta pi(theta) P(z | theta);
- *self*-made evidence, drawn from m one response after another with an update between: the belief is a
  martingale, E[pi'] = pi exactly;
- *simultaneous* evidence, several responses drawn at once from the m of the start, as in a debate round, and
  counted as independent: the mean moves, with two symmetric concepts towards the one that is favoured already;
- evidence from any other law q: it may fall.

Everything here is exact: sums over response counts in the log domain, no draw. Beliefs that count answers
(the Dirichlet-compound model) and the comparison of one vote with a debate to consensus are offered here too.

References
----------
Hu et al. (2025), arXiv 2510.12697, theorem 4.1 (latent concepts). Debate or Vote (2025), arXiv 2508.17536 (the
Dirichlet-compound model and its martingale).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats.models.beliefs.compound import (
    NeighbourCondition,
    dirichlet_expected_belief,
    is_martingale,
    panel_drift,
    panel_drift_complete,
)
from d3stats.models.beliefs.concepts import (
    checked_counts,
    checked_responses,
    checked_table,
    checked_truth,
    posterior,
)
from d3stats.models.beliefs.consensus import (
    VoteOrConsensus,
    consensus_probability,
    count_pmf,
    majority_accuracy,
    vote_or_consensus,
)
from d3stats.models.beliefs.law import BeliefLaw, belief_law, expected_belief, fresh_share_needed

__all__ = [
    "Amplification",
    "BeliefLaw",
    "NeighbourCondition",
    "VoteOrConsensus",
    "amplifies",
    "belief_after",
    "belief_from_counts",
    "belief_law",
    "consensus_probability",
    "count_pmf",
    "dirichlet_expected_belief",
    "expected_belief",
    "fresh_share_needed",
    "is_martingale",
    "majority_accuracy",
    "panel_drift",
    "panel_drift_complete",
    "vote_or_consensus",
]

Floats = NDArray[np.float64]


def belief_after(prior: ArrayLike, likelihoods: ArrayLike, responses: ArrayLike | Sequence[int]) -> Floats:
    """Return the belief over concepts after some responses, by Bayes' rule.

    Parameters
    ----------
    prior : array, shape (concepts,)
    likelihoods : array, shape (concepts, responses)
        P(response | concept), above 0, each row summing to 1.
    responses : array of int, shape (..., heard)
        Responses heard, given the concept independent; one sequence, or many of one length. Sequences of
        different lengths go through :func:`belief_from_counts`.

    Returns
    -------
    ndarray, shape (..., concepts)

    Raises
    ------
    ValueError
        When shapes disagree, weights do not sum to 1, or a likelihood is 0: one response would then rule a
        concept out for ever.

    Examples
    --------
    One response for the truth and six against it:

    >>> belief_after([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [0, 1, 1, 1, 1, 1, 1]).round(7).tolist()
    [1.69e-05, 0.9999831]
    """
    start, table = checked_table(prior, likelihoods)
    return posterior(start, table, checked_responses(responses, table.shape[1]))


def belief_from_counts(prior: ArrayLike, likelihoods: ArrayLike, counts: ArrayLike) -> Floats:
    """Return the belief over concepts after responses of which only the counts are known.

    The order of responses does not matter, so counts are sufficient.

    Parameters
    ----------
    prior, likelihoods
        As in :func:`belief_after`.
    counts : array of int, shape (..., responses)
        How often each response was heard; a debate that heard less has smaller counts.

    Returns
    -------
    ndarray, shape (..., concepts)

    Examples
    --------
    >>> belief_from_counts([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 0], [3, 3]])[:, 0].round(6).tolist()
    [0.9, 0.5, 0.5]
    """
    start, table = checked_table(prior, likelihoods)
    return posterior(start, table, checked_counts(counts, table.shape[1]))


@dataclass(frozen=True, eq=False)
class Amplification:
    """Whether responses raised the belief in the truth, and by what margin.

    Attributes
    ----------
    rises : bool or ndarray of bool
        pi' > pi, by more than rounding.
    margin : float or ndarray
        log prod_j P(z_j | true) - log sum_theta pi(theta) prod_j P(z_j | theta), which is log(pi' / pi), in
        nats: above 0 iff the belief rises.
    before : float
        Belief in the truth at the start, pi.
    after : float or ndarray
        Belief in the truth at the end, pi'.
    """

    rises: Any
    margin: Any
    before: float
    after: Any


def amplifies(
    prior: ArrayLike,
    likelihoods: ArrayLike,
    truth: int,
    responses: ArrayLike | Sequence[int] | None = None,
    *,
    counts: ArrayLike | None = None,
) -> Amplification:
    """Say whether responses raise the belief in the truth: prod P(z|true) > sum_theta pi prod P(z|theta).

    That one response matches the truth strongly does not suffice.

    Parameters
    ----------
    prior, likelihoods, truth
        As in :func:`belief_law`.
    responses : array of int, shape (..., heard), optional
    counts : array of int, shape (..., responses), optional
        One of the two must be given.

    Examples
    --------
    >>> found = amplifies([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 0, [0, 1, 1, 1, 1, 1, 1])
    >>> found.rises, f"{found.after:.5e}"
    (False, '1.69348e-05')
    """
    start, table = checked_table(prior, likelihoods)
    at = checked_truth(truth, start)
    if (responses is None) == (counts is None):
        raise TypeError("one of responses and counts must be given; got both or neither")
    heard = (
        checked_counts(counts, table.shape[1])
        if counts is not None
        else checked_responses(responses, table.shape[1])
    )
    evidence = heard @ np.log(table).T
    with np.errstate(divide="ignore"):
        mean = special.logsumexp(np.log(start) + evidence, axis=-1)
    margin = evidence[..., at] - mean
    # Two logs of this size cancel to no better than this.
    rises = margin > 8 * np.finfo(float).eps * np.maximum(1.0, np.abs(mean))
    after = start[at] * np.exp(margin)
    before = float(start[at])
    if np.ndim(margin) == 0:
        return Amplification(bool(rises), float(margin), before, float(after))
    return Amplification(rises, margin, before, after)
