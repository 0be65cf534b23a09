"""Stop sampling when the leading answer is probably the majority: Adaptive-Consistency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats.stopping._tally import EVIDENCE, Evidence, ThresholdRule

__all__ = ["AdaptiveConsistency"]


@dataclass(frozen=True)
class AdaptiveConsistency(ThresholdRule):
    """Stop when P(Beta(v1 + 1, v2 + 1) > 1/2) reaches a threshold, v1 and v2 the two largest counts.

    Parameters
    ----------
    threshold : float
        Posterior probability that the leader beats the runner-up, in (1/2, 1).
    evidence : {"all", "latest"}
        "all" (default): every vote so far counts. That is the sampling setting: each round asks fresh
        voters. Votes of the same agents in later rounds are not independent.
        "latest": only the votes of the current round count, for a panel that votes again after talking.

    Notes
    -----
    Aggarwal, P. et al. (2023). Let's sample step by step: Adaptive-Consistency. arXiv 2305.11860, the Beta
    criterion. The posterior is right at one look; the rule looks after every vote. At .95 it stops two equally
    likely answers within 40 votes with probability .42, so the threshold is no error level. With more than two
    answers the third and later ones are left out, as in the source, and the leader is chosen after looking.
    The evidence is for the leader of the votes counted. With ``evidence="all"`` that is the leader of all rounds
    so far, which need not be the plurality of the last round.

    Examples
    --------
    >>> AdaptiveConsistency().votes_needed(0), AdaptiveConsistency().votes_needed(1)
    (4, 6)
    """

    threshold: float = 0.95
    evidence: Evidence = "all"

    name: ClassVar[str] = "adaptive_consistency"
    citation: ClassVar[str] = "Aggarwal et al. (2023), arXiv 2305.11860: Adaptive-Consistency, Beta criterion"
    statistic: ClassVar[str] = "P(Beta(v1 + 1, v2 + 1) > 1/2), v1 and v2 the two largest counts"
    guarantee: ClassVar[str] = (
        "none over repeated looks: at .95 it stops two equally likely answers within 40 votes with chance .42"
    )
    reason: ClassVar[str] = "adaptive_consistency"

    def __post_init__(self) -> None:
        threshold = probability("threshold", self.threshold, open_interval=True)
        if threshold <= 0.5:
            raise ValueError(f"threshold must be above 1/2; got threshold={threshold!r}")
        object.__setattr__(self, "threshold", threshold)
        choice("evidence", self.evidence, EVIDENCE)

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the posterior probability that the leader beats the runner-up, element by element."""
        from scipy.special import betainc

        tail = betainc(np.asarray(second) + 1.0, np.asarray(lead) + 1.0, 0.5)
        return np.asarray(tail, dtype=np.float64)

    @property
    def bound(self) -> float:
        """The threshold."""
        return self.threshold
