"""What n responses do to the belief in the truth, exactly, whoever makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import choice, integer, probability
from d3stats.models.beliefs.concepts import checked_table, checked_truth, posterior, response_paths

Floats = NDArray[np.float64]
EVIDENCE = ("fresh", "self", "simultaneous", "mixed")


@dataclass(frozen=True, eq=False)
class BeliefLaw:
    """The exact law of the belief in the truth after n responses, one entry per count of responses.

    Attributes
    ----------
    counts : ndarray of int, shape (states, responses)
        How often each response was heard.
    chance : ndarray, shape (states,)
        Probability of these counts; sums to 1.
    belief : ndarray, shape (states,)
        Belief in the true concept after them.
    before : float
        Belief in the true concept at the start.
    evidence : str
        Who made the responses.
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
    """Return the exact law of the belief in the truth after `n_responses`.

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

    Notes
    -----
    Words of one's own that are taken one by one are a martingale for every belief. Said at once, responses are
    drawn from m = sum_theta pi(theta) P(. | theta), each alone as Bayes' rule supposes and together not: given
    the concept the rule takes them for independent, while no concept made them. The mean is pi for one response
    and moves for more: with two symmetric concepts towards the one that is favoured, right or wrong.

    Examples
    --------
    On average fresh evidence helps; more often than not it may still mislead:

    >>> law = belief_law([0.5, 0.5], [[0.1, 0.9], [0.02, 0.98]], truth=0)
    >>> round(law.mean, 4), round(law.prob_rises, 4)
    (0.5142, 0.1)
    """
    start, table = checked_table(prior, likelihoods)
    at = checked_truth(truth, start)
    name, q, share = _law(evidence, fresh_share, start @ table)
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
    """Return the least share of fresh responses with which one response does not lower the truth on average.

    A response is fresh with chance s and from the law `other` with chance 1 - s, so the mean is linear in s:
    E[pi'] = s E_fresh + (1 - s) E_other >= pi iff s >= (pi - E_other) / (E_fresh - E_other).

    Parameters
    ----------
    prior, likelihoods, truth
        As in :func:`belief_law`.
    other : array, shape (responses,)
        The law of the responses that are not fresh: a biased or an adversarial speaker.

    Returns
    -------
    float
        In [0, 1]; 0 when `other` alone does no harm.

    Examples
    --------
    Against a speaker who always argues for the wrong answer:

    >>> round(fresh_share_needed([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 0, [0.0, 1.0]), 4)
    0.625
    """
    checked_truth(truth, checked_table(prior, likelihoods)[0])
    harm = expected_belief(prior, likelihoods, truth, "self") - expected_belief(
        prior, likelihoods, truth, other
    )
    if harm <= 1e-15:
        return 0.0
    gain = expected_belief(prior, likelihoods, truth, "fresh") - expected_belief(
        prior, likelihoods, truth, "self"
    )
    return float(harm / (harm + max(gain, 0.0)))


def _law(
    evidence: str | ArrayLike, fresh_share: float | None, predicted: Floats
) -> tuple[str, Floats | None, float]:
    """Return the name of the evidence, the law that stays the same if one does, and the share of fresh responses.

    `predicted` is the law of the first response by the belief at the start.
    """
    if isinstance(evidence, str):
        choice("evidence", evidence, EVIDENCE)
        if (fresh_share is not None) != (evidence == "mixed"):
            raise ValueError(
                f'fresh_share must be given with evidence="mixed" and only then; '
                f"got evidence={evidence!r}, fresh_share={fresh_share!r}"
            )
        if evidence == "simultaneous":
            return evidence, predicted, 0.0
        share = {"fresh": 1.0, "self": 0.0}.get(evidence)
        return evidence, None, probability("fresh_share", fresh_share or 0.0) if share is None else share
    if fresh_share is not None:
        raise ValueError(f"fresh_share must be left out when evidence is a law; got {fresh_share!r}")
    q = np.asarray(evidence, dtype=np.float64)
    if q.shape != predicted.shape or not (q >= 0).all() or not abs(q.sum() - 1) <= 1e-9:
        raise ValueError(
            f"evidence must be {predicted.size} probabilities that sum to 1, one per response; got {q.tolist()}"
        )
    return "third law", q, 0.0
