"""Stop when the votes are confident enough, by the confidence that the voters state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import Probability
from d3stats.stopping.rule import CONTINUE, Decision, MemorylessRule, Round
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["StatedConfidence"]

_ROUNDING = 1e-9
"""A sum of confidences reaches a threshold also where rounding keeps it just below."""


@dataclass(frozen=True)
class StatedConfidence(MemorylessRule):
    """Stop when the leading answer's share of all stated confidence, or the mean confidence, reaches a threshold.

    Parameters
    ----------
    threshold : float
        In (0, 1].
    of : {"share", "mean"}
        "share": confidences of the votes for the leading answer, divided by those of all votes; the leading answer is
        the one with the largest sum. "mean": the mean confidence of all votes, for any answer.

    Notes
    -----
    Votes without a confidence do not count. A round in which no vote has one, or all are 0, does not stop. Stated
    confidences are often too high: ``d3stats.confidence`` measures how far, and a threshold on them is no probability.

    Raises
    ------
    ValueError
        When played on a log, or a round, without confidences.

    Examples
    --------
    >>> stated = ((0.6, 0.6, 0.8), (0.9, 0.9, 0.2))
    >>> rounds = [Round(k, (0, 0, 1), 3, confidence=given) for k, given in enumerate(stated, start=1)]
    >>> StatedConfidence(0.8).run(rounds), StatedConfidence(0.65, of="mean").run(rounds)
    ((2, 'stated_confidence'), (1, 'stated_confidence'))
    """

    threshold: Probability
    of: Literal["share", "mean"] = "share"

    name: ClassVar[str] = "confidence"
    inputs: ClassVar[frozenset[str]] = frozenset({"votes", "confidence"})
    citation: ClassVar[str] = (
        "votes weighted by stated confidence: Chen, Saha and Bansal (2024), ReConcile, ACL; the threshold is ours"
    )
    statistic: ClassVar[str] = "the leading answer's share of the stated confidence, or the mean confidence"
    guarantee: ClassVar[str] = "none; risk_controlled chooses `threshold` with one"
    reason: ClassVar[str] = "stated_confidence"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold == 0.0:
            raise ValueError("threshold must be above 0; got threshold=0.0")

    def update(self, latest: Round, /) -> Decision:
        """Stop when the latest round's statistic reaches the threshold."""
        if latest.confidence is None:
            raise _refusal(str(self))
        sums: dict[int, float] = {}
        total, n = 0.0, 0
        for vote, given in zip(latest.votes, latest.confidence, strict=True):
            if vote != MISSING and given is not None:
                sums[vote] = sums.get(vote, 0.0) + given
                total, n = total + given, n + 1
        if not n:
            return CONTINUE
        value = total / n if self.of == "mean" else max(sums.values()) / total if total else 0.0
        return self.stop(value=value) if value >= self.threshold - _ROUNDING else CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the statistic reaches the threshold."""
        t = trajectories
        if t.confidence is None:
            raise _refusal(str(self))
        counts = (t.votes != MISSING) & ~np.isnan(t.confidence)
        given = np.where(counts, t.confidence, 0.0)
        total, n = given.sum(axis=2), counts.sum(axis=2)
        if self.of == "mean":
            above, below = total, n.astype(np.float64)
        else:
            above, below = np.zeros_like(total), total
            for seat in range(t.votes.shape[2]):
                same = counts & (t.votes == t.votes[:, :, [seat]])
                above = np.maximum(above, (given * same).sum(axis=2) * counts[:, :, seat])
        value = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
        result: NDArray[np.bool_] = (n > 0) & (value >= self.threshold - _ROUNDING)
        return result


def _refusal(rule: str) -> ValueError:
    return ValueError(
        f"votes must have a confidence, from 0 to 1, for the rule {rule}, which reads it; got none"
    )
