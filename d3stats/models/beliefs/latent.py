"""Beliefs in the truth under Bayes' rule over latent concepts and under the Dirichlet-compound model, exactly.

One of m concepts is true; concept theta yields response z with probability P(z | theta), responses independent
given the concept. Agents share a belief pi over concepts. The effect of an update on the belief in the truth depends
on the law of the response:

- *fresh* evidence, drawn under the truth: the belief rises on average, E[pi'] = pi E[P(z | true) / m(z)] >= pi,
  where m(z) = sum_theta pi(theta) P(z | theta);
- *self*-made evidence, drawn from m one response after another with an update between: the belief is a
  martingale, E[pi'] = pi exactly;
- *simultaneous* evidence, several responses drawn at once from the m of the start, as in a debate round, and
  counted as independent. The mean belief moves; with two symmetric concepts it moves towards the favoured one;
- evidence from any other law q: the belief may fall.

Everything is exact: sums over response counts in the log domain, no draw.

References
----------
Hu et al. (2025), arXiv 2510.12697, theorem 4.1 (latent concepts). Debate or Vote (2025), arXiv 2508.17536 (the
Dirichlet-compound model and its martingale).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer, nonnegative, probability, whole_numbers
from d3stats._words import counted, percent, points
from d3stats.models.beliefs.condorcet import count_pmf, majority_is_right, voter_accuracies
from d3stats.result import Result

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
    "dirichlet_expected_belief",
    "expected_belief",
    "fresh_share_needed",
    "is_martingale",
    "panel_drift",
    "panel_drift_complete",
    "vote_or_consensus",
]


MOST_STATES = 2_000_000
"""The most counts of responses that are summed over."""


EVIDENCE = ("fresh", "self", "simultaneous", "mixed")


def belief_after(prior: ArrayLike, likelihoods: ArrayLike, responses: ArrayLike | Sequence[int]) -> Floats:
    """Return the belief over concepts after some responses, by Bayes' rule, shape (..., concepts).

    Parameters
    ----------
    prior : array, shape (concepts,)
        Probability of each concept before anything is heard.
    likelihoods : array, shape (concepts, responses)
        P(response | concept), above 0, each row summing to 1.
    responses : array of int, shape (..., heard)
        Responses heard; one sequence, or many of one length. Sequences of different lengths go through
        :func:`belief_from_counts`.

    Returns
    -------
    ndarray of float

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
    """Return the belief over concepts after counts of responses, shape (..., responses), by Bayes' rule.

    Other parameters as in :func:`belief_after`; the order of responses does not matter, so counts are sufficient.

    Parameters
    ----------
    counts : array of int, shape (..., responses)
        How often each response was heard.

    Returns
    -------
    ndarray of float, shape (..., concepts)

    Examples
    --------
    >>> belief_from_counts([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 0], [3, 3]])[:, 0].round(6).tolist()
    [0.9, 0.5, 0.5]
    """
    start, table = checked_table(prior, likelihoods)
    return posterior(start, table, checked_counts(counts, table.shape[1]))


@dataclass(frozen=True, eq=False)
class Amplification:
    """Whether responses raised the belief in the truth, and by what margin; of many sequences an array each.

    Attributes
    ----------
    rises : bool or ndarray of bool
        The belief ends above where it began, by more than rounding.
    margin : float or ndarray
        Log of belief at the end over belief at the start, in nats.
    before : float
        Belief in the truth at the start.
    after : float or ndarray
        Belief in the truth at the end.

    Examples
    --------
    >>> found = amplifies([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 0, [0, 0, 1])
    >>> found.rises, found.before, round(found.after, 3), round(found.margin, 3)
    (True, 0.5, 0.9, 0.588)
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
    """Say whether responses raise the belief in the truth, by comparing likelihoods.

    The belief rises iff ``prod P(z|true) > sum_theta pi prod P(z|theta)``. One response that matches the truth
    strongly is not enough.

    Parameters
    ----------
    prior, likelihoods, truth
        As in :func:`belief_law`.
    responses, counts : array of int
        One of the two, as in :func:`belief_after` and :func:`belief_from_counts`.

    Returns
    -------
    Amplification

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
    check, given = (checked_responses, responses) if counts is None else (checked_counts, counts)
    evidence = check(given, table.shape[1]) @ np.log(table).T
    with np.errstate(divide="ignore"):
        mean = special.logsumexp(np.log(start) + evidence, axis=-1)
    margin = evidence[..., at] - mean
    # Two logs of this size cancel to no better than this.
    rises = margin > 8 * np.finfo(float).eps * np.maximum(1.0, np.abs(mean))
    found: Any = (rises, margin, start[at] * np.exp(margin))
    one, nats, after = (each.item() for each in found) if np.ndim(margin) == 0 else found
    return Amplification(one, nats, float(start[at]), after)


@dataclass(frozen=True, eq=False)
class BeliefLaw:
    """The exact law of the belief in the truth after n responses, one entry per count of responses.

    Attributes
    ----------
    counts : ndarray of int, shape (states, responses)
        How often each response was heard.
    chance, belief : ndarray, shape (states,)
        Probability of these counts, and belief in the true concept after them.
    before : float
        Belief in the true concept at the start.
    evidence : str
        Who made the responses.

    Examples
    --------
    >>> law = belief_law([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], truth=0, n_responses=2)
    >>> round(law.mean, 4), round(law.prob_rises, 2)
    (0.7647, 0.64)
    >>> law.to_frame().round(3).values.tolist()
    [[2.0, 0.0, 0.64, 0.941], [1.0, 1.0, 0.32, 0.5], [0.0, 2.0, 0.04, 0.059]]
    """

    counts: NDArray[np.int64]
    chance: Floats
    belief: Floats
    before: float
    evidence: str

    @property
    def mean(self) -> float:
        """Expected belief in the truth."""
        return float(self.chance @ self.belief)

    @property
    def prob_rises(self) -> float:
        """Probability that the belief in the truth ends above where it began (by more than rounding)."""
        return float(self.chance[self.belief > self.before * (1 + 1e-12)].sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per state: a column per response's count, then ``chance, belief``."""
        frame = pd.DataFrame(self.counts, columns=[f"response_{z}" for z in range(self.counts.shape[1])])
        return frame.assign(chance=self.chance, belief=self.belief)


def belief_law(
    prior: ArrayLike,
    likelihoods: ArrayLike,
    truth: int,
    evidence: str | ArrayLike = "fresh",
    *,
    n_responses: int = 1,
    fresh_share: float | None = None,
) -> BeliefLaw:
    """Compute the exact law of the belief in the truth after `n_responses`, by summing over response counts.

    Parameters
    ----------
    prior, likelihoods
        As in :func:`belief_after`.
    truth : int
        The true concept, an index from 0; its prior is above 0.
    evidence : {"fresh", "self", "simultaneous", "mixed"} or array, shape (responses,)
        Who makes a response. ``"fresh"``: the truth. ``"self"``: the panel's own belief of that moment, one
        response after another with an update between. ``"simultaneous"``: the panel's belief at the start, all
        responses at once, and counted as independent evidence though no truth made them. ``"mixed"``: the truth
        or, as in ``"self"``, the belief of that moment, at random (then give `fresh_share`). An array: a third law
        q, the same for every response.
    n_responses : int
        Responses heard, at least 0. The sum has C(n + responses - 1, responses - 1) terms, at most 2 million.
    fresh_share : float, optional
        With ``evidence="mixed"``: the chance that a response is fresh and not one's own.

    Returns
    -------
    BeliefLaw

    Examples
    --------
    On average fresh evidence helps; more often than not it may still mislead:

    >>> law = belief_law([0.5, 0.5], [[0.1, 0.9], [0.02, 0.98]], truth=0)
    >>> round(law.mean, 4), round(law.prob_rises, 4)
    (0.5142, 0.1)
    """
    start, table = checked_table(prior, likelihoods)
    at = checked_truth(truth, start)
    name, q, share = _checked_evidence(evidence, fresh_share, start @ table)
    n = integer("n_responses", n_responses, minimum=0)
    counts, chance = response_paths(start, table, at, q, share, n)
    return BeliefLaw(counts, chance, posterior(start, table, counts)[:, at], float(start[at]), name)


def expected_belief(
    prior: ArrayLike,
    likelihoods: ArrayLike,
    truth: int,
    evidence: str | ArrayLike = "fresh",
    *,
    n_responses: int = 1,
    fresh_share: float | None = None,
) -> float:
    """Return the exact mean belief in the truth after `n_responses`; parameters as in :func:`belief_law`.

    Returns
    -------
    float

    Examples
    --------
    >>> table = [[0.8, 0.2], [0.2, 0.8]]
    >>> round(expected_belief([0.5, 0.5], table, 0), 12), round(expected_belief([0.5, 0.5], table, 0, "self"), 12)
    (0.68, 0.5)
    >>> round(expected_belief([0.5, 0.5], table, 0, [0.2, 0.8]), 12)
    0.32

    Seven agents who speak at once and take each other's words for evidence become surer of what they favour:

    >>> [round(expected_belief([p, 1 - p], table, 0, "simultaneous", n_responses=7), 5) for p in (0.7, 0.3)]
    [0.78488, 0.21512]
    """
    return belief_law(
        prior, likelihoods, truth, evidence, n_responses=n_responses, fresh_share=fresh_share
    ).mean


def fresh_share_needed(prior: ArrayLike, likelihoods: ArrayLike, truth: int, other: ArrayLike) -> float:
    """Return the least share of fresh responses, in [0, 1], with which a response does not lower the truth on average.

    A response is fresh with chance s and from the law `other`, shape (responses,), with chance 1 - s. The mean is
    therefore linear in s: ``E[pi'] = s E_fresh + (1 - s) E_other``, which is at least pi iff
    ``s >= (pi - E_other) / (E_fresh - E_other)``. Other parameters are as in :func:`belief_law`.

    Parameters
    ----------
    other : array of float, shape (responses,)
        The law of the responses that are not fresh.

    Returns
    -------
    float

    Examples
    --------
    Against a speaker who always argues for the wrong answer:

    >>> round(fresh_share_needed([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 0, [0.0, 1.0]), 4)
    0.625
    """
    checked_truth(truth, checked_table(prior, likelihoods)[0])
    laws = ("fresh", "self", other)
    fresh, own, others = (expected_belief(prior, likelihoods, truth, law) for law in laws)
    harm = own - others
    return 0.0 if harm <= 1e-15 else float(harm / (harm + max(fresh - own, 0.0)))


def _checked_evidence(
    evidence: str | ArrayLike, fresh_share: float | None, predicted: Floats
) -> tuple[str, Floats | None, float]:
    """Return the name of the evidence, the law that stays the same if one does, and the share of fresh responses.

    `predicted` is the law of the first response by the belief at the start.
    """
    if isinstance(evidence, str):
        choice("evidence", evidence, EVIDENCE)
        if (fresh_share is not None) != (evidence == "mixed"):
            got = f"evidence={evidence!r}, fresh_share={fresh_share!r}"
            raise ValueError(f'fresh_share must be given with evidence="mixed" and only then; got {got}')
        if evidence == "simultaneous":
            return evidence, predicted, 0.0
        share = {"fresh": 1.0, "self": 0.0}.get(evidence)
        return evidence, None, probability("fresh_share", fresh_share or 0.0) if share is None else share
    if fresh_share is not None:
        raise ValueError(f"fresh_share must be left out when evidence is a law; got {fresh_share!r}")
    q = np.asarray(evidence, dtype=np.float64)
    if q.shape != predicted.shape or not (q >= 0).all() or not abs(q.sum() - 1) <= 1e-9:
        need = f"{predicted.size} probabilities that sum to 1, one per response"
        raise ValueError(f"evidence must be {need}; got {q.tolist()}")
    return "third law", q, 0.0


def dirichlet_expected_belief(
    alpha: ArrayLike, neighbours: ArrayLike | None = None, *, n_rounds: int = 1
) -> Floats:
    """Return every agent's expected belief after some rounds of the Dirichlet-compound model, exactly.

    Agent i has the belief mu_i = alpha_i / A_i with strength A_i = sum of alpha_i. It answers by a draw from its belief
    and adds w_ij for the answer of each neighbour j. Strengths grow by W_i = sum_j w_ij for all answers. Therefore
    ``E[mu_i'] = (A_i mu_i + sum_j w_ij mu_j) / (A_i + W_i)`` is exact. It is linear in the beliefs, and so exact over
    any number of rounds.

    Parameters
    ----------
    alpha : array, shape (..., agents, answers)
        Pseudo-counts, >= 0, with a sum above 0 for each agent; the result has this shape.
    neighbours : array, shape (agents, agents), optional
        w_ij >= 0, what an answer of j adds to i's counts; by default 1 for every other agent. An agent that hears
        itself has w_ii > 0.
    n_rounds : int
        Rounds ahead, at least 0.

    Returns
    -------
    ndarray of float

    Examples
    --------
    A sure agent (weight 9) and a weak one: the weak one moves.

    >>> dirichlet_expected_belief([[9.0, 0.0], [0.5, 0.5]])[:, 0].round(4).tolist()
    [0.95, 0.75]
    """
    belief, strength, weights = _beliefs_and_weights(alpha, neighbours)
    heard = weights.sum(axis=1)
    for _ in range(integer("n_rounds", n_rounds, minimum=0)):
        belief = (strength[..., None] * belief + weights @ belief) / (strength + heard)[..., None]
        strength = strength + heard
    return belief


@dataclass(frozen=True, eq=False)
class NeighbourCondition(Result):
    """Whether each agent's belief in an answer is a martingale, and by how much it drifts; shapes (..., agents).

    Attributes
    ----------
    holds : ndarray of bool
        The weighted mean belief of the neighbours equals the agent's own. True for an agent without neighbours.
    margin : ndarray
        Neighbours' weighted mean belief minus one's own: the direction of the drift.
    drift : ndarray
        E[next belief] - belief, which is ``W_i / (A_i + W_i) * margin``.

    Examples
    --------
    >>> found = is_martingale([[9.0, 1.0], [1.0, 1.0]])
    >>> found.holds.tolist(), found.margin.round(2).tolist(), round(float(found.panel_drift), 4)
    ([False, False], [-0.4, 0.4], 0.0485)
    """

    holds: NDArray[np.bool_]
    margin: Floats
    drift: Floats

    @property
    def panel_drift(self) -> Floats:
        """Mean drift of the panel, shape (...)."""
        return cast(Floats, self.drift.mean(axis=-1))

    @property
    def headline(self) -> str:
        """The answer, how many agents' beliefs are martingales."""
        return (
            f"The beliefs of {int(self.holds.sum())} of {counted(self.holds.size, 'agent')} are martingales."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Give one row per agent (of the only panel, or of all in order)."""
        columns = {
            "agent": np.broadcast_to(np.arange(self.drift.shape[-1]), self.drift.shape).ravel(),
            "holds": self.holds.ravel(),
            "margin": self.margin.ravel(),
            "drift": self.drift.ravel(),
        }
        return {"agents": pd.DataFrame(columns)}


def is_martingale(
    alpha: ArrayLike, neighbours: ArrayLike | None = None, *, answer: int = 0, tol: float = 1e-12
) -> NeighbourCondition:
    """Say which agents' beliefs in one answer are martingales over the next round: iff neighbours believe the same.

    Agents who start alike keep their mean belief over any number of rounds, on any graph. After one round, however,
    they have heard different answers and, given that past, the condition fails for most of them.

    Parameters
    ----------
    alpha, neighbours
        As in :func:`dirichlet_expected_belief`.
    answer : int
        Which answer, an index from 0.
    tol : float
        Difference of beliefs that counts as none.

    Returns
    -------
    NeighbourCondition

    Examples
    --------
    >>> is_martingale([[3.0, 1.0], [3.0, 1.0], [3.0, 1.0]]).holds.tolist()
    [True, True, True]
    >>> is_martingale([[9.0, 0.0], [0.5, 0.5]]).drift.round(4).tolist()
    [-0.05, 0.25]
    """
    belief, strength, weights = _beliefs_and_weights(alpha, neighbours)
    at = integer("answer", answer, minimum=0)
    if at >= belief.shape[-1]:
        raise ValueError(f"answer must be below {belief.shape[-1]}; got answer={at}")
    own = belief[..., at]
    heard = weights.sum(axis=1)
    margin = np.where(heard > 0, own @ (weights / np.where(heard > 0, heard, 1)[:, None]).T - own, 0.0)
    return NeighbourCondition(np.abs(margin) <= tol, margin, heard / (strength + heard) * margin)


def panel_drift(alpha: ArrayLike, neighbours: ArrayLike | None = None, *, answer: int = 0) -> Floats:
    """Return the expected change of the panel's mean belief in one answer over the next round, shape (...).

    Parameters
    ----------
    alpha : array of float, shape (..., agents, answers)
        Counts of each agent's Dirichlet law.
    neighbours : array of float, shape (agents, agents), optional
        How much weight each agent gives to each other; by default 1 for every other agent.
    answer : int
        The answer whose mean belief is followed.

    Returns
    -------
    ndarray of float, shape (...)

    Examples
    --------
    >>> float(panel_drift([[9.0, 0.0], [0.5, 0.5]]).round(4))
    0.1
    """
    return is_martingale(alpha, neighbours, answer=answer).panel_drift


def panel_drift_complete(beliefs: ArrayLike, strengths: ArrayLike) -> float:
    """Return the drift of the mean belief where all agents hear all others, in closed form.

    With n agents of belief mu_i in [0, 1], strength A_i > 0 and mean belief M,
    ``drift = sum_i (M - mu_i) / (A_i + n - 1) = -n Cov(mu_i, 1 / (A_i + n - 1))``. It is 0 when strengths are equal,
    and positive iff those who are easily moved believe less than the others: only then does talk raise the mean.

    Parameters
    ----------
    beliefs : array of float, shape (agents,)
        Belief of each agent in the answer, in [0, 1].
    strengths : array of float, shape (agents,)
        Sum of each agent's counts, above 0.

    Returns
    -------
    float

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


def _beliefs_and_weights(alpha: ArrayLike, neighbours: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
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
        need = f"shape ({n}, {n}) and be finite and >= 0"
        raise ValueError(f"neighbours must have {need}; got shape {weights.shape}")
    return table / strength[..., None], strength, weights


def consensus_probability(accuracy: ArrayLike) -> float:
    """Return the chance that a debate to unanimity ends right when the count is a martingale: the mean accuracy.

    If E[S_{t+1} | past] = S_t and the debate runs until all n agree, which happens with probability 1, optional
    stopping gives P(unanimously right) = E[S_0] / n for every such process. `accuracy` is that of the first round, one
    number or one per agent.

    Parameters
    ----------
    accuracy : float, or array of shape (agents,)
        Chance that each agent is right in the first round.

    Returns
    -------
    float

    Examples
    --------
    >>> round(consensus_probability([0.9, 0.6, 0.6]), 6)
    0.7
    """
    return float(np.mean(voter_accuracies(accuracy, 1 if np.ndim(accuracy) == 0 else None)))


@dataclass(frozen=True)
class VoteOrConsensus(Result):
    """An immediate majority vote beside a debate to consensus in which the count is a martingale.

    Attributes
    ----------
    majority, consensus : float
        Chances that the first vote's majority, and that unanimity once reached, is right.
    advantage : float
        `majority` less `consensus`: above 0, voting at once is better and cheaper.

    Examples
    --------
    >>> found = vote_or_consensus(0.7, 5)
    >>> round(found.majority, 3), round(found.consensus, 3), round(found.advantage, 3)
    (0.837, 0.7, 0.137)
    """

    majority: float
    consensus: float
    advantage: float

    @property
    def headline(self) -> str:
        """The answer, which of both is right more often, and by how much."""
        better = "An immediate majority vote" if self.advantage >= 0 else "A debate to consensus"
        return (
            f"{better} is right more often, by {points(abs(self.advantage), sign=False)}: majority "
            f"{percent(self.majority)}, consensus {percent(self.consensus)}."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"chances": pd.DataFrame([asdict(self)])}


def vote_or_consensus(
    accuracy: ArrayLike | None = None,
    panel: int | None = None,
    *,
    pmf: ArrayLike | None = None,
    ties: float = 0.5,
) -> VoteOrConsensus:
    """Compare an immediate majority vote with debating to consensus under the martingale, by their chances to be right.

    For a pmf, the advantage is sum_s P(s) (1{s > n/2} - s / n): where narrow majorities that are wrong are
    common it is negative, and debating to consensus wins.

    Parameters
    ----------
    accuracy, panel
        As in :func:`count_pmf`: agents independent given the question.
    pmf : array, shape (panel + 1,), optional
        In place of `accuracy`: the law of the first round's count, for debates of unlike difficulty.
    ties : float
        Chance that a tie is broken rightly.

    Returns
    -------
    VoteOrConsensus

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
            got = f"{law.size} values with a sum of {law.sum():.9g}"
            raise ValueError(f"pmf must have a value for each count 0..panel and sum to 1; got {got}")
    n = len(law) - 1
    majority = min(float(law @ majority_is_right(n, ties)), 1.0)
    consensus = float(law @ np.arange(n + 1) / n)
    return VoteOrConsensus(majority, consensus, majority - consensus)


def checked_table(prior: ArrayLike, likelihoods: ArrayLike) -> tuple[Floats, Floats]:
    """Return the prior, shape (concepts,), and the likelihoods, shape (concepts, responses)."""
    table = _numbers("likelihoods", likelihoods)
    if table.ndim != 2 or not table.size or not (table > 0).all():
        flat = table.ndim == 2 and table.size
        got = f"a least value of {table.min()!r}" if flat else f"shape {table.shape}"
        raise ValueError(f"likelihoods must have shape (concepts, responses) and be > 0; got {got}")
    away = np.abs(table.sum(axis=1) - 1)
    if not (away <= 1e-9).all():
        row = int(np.argmax(~(away <= 1e-9)))
        got = f"a sum of {table[row].sum():.9g} at concept {row}"
        raise ValueError(f"likelihoods must sum to 1 in each row; got {got}")
    start = _numbers("prior", prior)
    if start.shape != (len(table),) or not (start >= 0).all() or not abs(start.sum() - 1) <= 1e-9:
        raise ValueError(f"prior must be {len(table)} weights that sum to 1; got {start.tolist()}")
    return start, table


def checked_counts(counts: Any, n_kinds: int) -> Ints:
    """Return counts of responses, shape (..., responses)."""
    array = whole_numbers("counts", counts, any_shape=True)
    if array.ndim == 0 or array.shape[-1] != n_kinds:
        need = f"shape (..., {n_kinds}), one per response"
        raise ValueError(f"counts must have {need}; got shape {array.shape}")
    return array


def checked_responses(responses: Any, n_kinds: int) -> Ints:
    """Return the counts, shape (..., responses), of sequences of responses, shape (..., heard)."""
    heard = whole_numbers("responses", responses, any_shape=True)
    if heard.ndim == 0:
        raise ValueError(f"responses must be a sequence; got the single value {heard.item()}")
    if heard.size and heard.max() >= n_kinds:
        raise ValueError(f"responses must be below {n_kinds}; got {heard.max()}")
    rows = heard.reshape(int(np.prod(heard.shape[:-1])), heard.shape[-1])
    offset = np.arange(len(rows))[:, None] * n_kinds
    counts = np.bincount((rows + offset).ravel(), minlength=len(rows) * n_kinds)
    return counts.reshape(*heard.shape[:-1], n_kinds).astype(np.int64)


def checked_truth(truth: int, prior: Floats) -> int:
    """Return the index of the true concept, which must have a prior above 0."""
    at = integer("truth", truth, minimum=0)
    if at >= len(prior):
        raise ValueError(f"truth must be below {len(prior)}, the number of concepts; got truth={at}")
    if prior[at] <= 0:
        raise ValueError("prior of the truth must be > 0, because no evidence can raise a belief of 0; got 0")
    return at


def posterior(start: Floats, table: Floats, counts: Ints) -> Floats:
    """Return the belief over concepts after counts of responses, shape (..., concepts)."""
    with np.errstate(divide="ignore"):
        belief: Floats = special.softmax(np.log(start) + counts @ np.log(table).T, axis=-1)
    return belief


def response_paths(
    start: Floats, table: Floats, truth: int, q: Floats | None, fresh: float, n: int
) -> tuple[Ints, Floats]:
    """Return every count of `n` responses and its probability.

    Responses come from `q`; without it, each is drawn under the truth with chance `fresh` and otherwise from
    the belief of that moment. That belief depends on the counts alone, so the counts are a Markov chain.
    """
    kinds = table.shape[1]
    states = comb(n + kinds - 1, kinds - 1)
    if states > MOST_STATES:
        got = f"n_responses={n} of {kinds} kinds, {states} counts"
        raise ValueError(f"n_responses must leave at most {MOST_STATES} counts to sum over; got {got}")
    counts: Ints = np.zeros((1, kinds), dtype=np.int64)
    chance: Floats = np.ones(1)
    for _ in range(n):
        if q is None:
            belief = posterior(start, table, counts)
            law = fresh * table[truth] + (1 - fresh) * (belief @ table)
        else:
            law = np.broadcast_to(q, (len(counts), kinds))
        reached = (counts[:, None, :] + np.eye(kinds, dtype=np.int64)).reshape(-1, kinds)
        if kinds * np.log2(n + 1) < 62:
            # A count is one number in a base that no entry reaches.
            key = reached @ (np.int64(n + 1) ** np.arange(kinds, dtype=np.int64))
            _, first, index = np.unique(key, return_index=True, return_inverse=True)
            counts = reached[first]
        else:
            counts, index = np.unique(reached, axis=0, return_inverse=True)
        mass = (chance[:, None] * law).ravel()
        chance = np.bincount(index.ravel(), weights=mass, minlength=len(counts)).astype(np.float64)
    return counts, chance


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a rectangular array of numbers; got {values!r}") from None
