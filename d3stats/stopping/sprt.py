"""Wald's test on votes: stop when the lead is long enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats.stopping._tally import EVIDENCE, Evidence, TallyRule

__all__ = ["SPRT"]


@dataclass(frozen=True)
class SPRT(TallyRule):
    """Stop when the leader is ahead of the runner-up by Wald's number of votes.

    The hypotheses are "the leader is right" and "the runner-up is right", a vote for one of the two being right
    with probability `p`. One vote moves the log likelihood ratio by log(p / (1 - p)), so the test stops at a
    lead d with abs(d) >= log((1 - beta) / alpha) / log(p / (1 - p)).

    Parameters
    ----------
    p : float
        Chance that a vote is right, in (1/2, 1).
    alpha, beta : float
        Error chances aimed at, each in (0, 1), together below 1. The two hypotheses are alike here, so only
        the ratio (1 - beta) / alpha matters.
    evidence : {"all", "latest"}
        "all" (default): every vote so far counts. That is the sampling setting: each round asks fresh
        voters. Votes of the same agents in later rounds are not independent, and then nothing is guaranteed.
        "latest": only the votes of the current round count, for a panel that votes again after talking.

    Notes
    -----
    Wald, A. (1945). Sequential tests of statistical hypotheses. Annals of Mathematical Statistics 16.
    With more than two answers the leader is compared with the runner-up, which are chosen after looking:
    with K answers the chance of a wrong stop is at most K - 1 times that of two.
    The evidence is for the leader of the votes counted. With ``evidence="all"`` that is the leader of all rounds
    so far, and what is promised of a wrong stop is promised of that verdict, not of the last round's plurality.

    Examples
    --------
    >>> SPRT(0.7).lead_needed
    4
    >>> from d3stats.stopping import Round
    >>> SPRT(0.7).run([Round(1, (0, 0, 1), 3), Round(2, (0, 0, 0), 3)])
    (2, 'sprt')
    """

    p: float = 0.7
    alpha: float = 0.05
    beta: float = 0.05
    evidence: Evidence = "all"

    name: ClassVar[str] = "sprt"
    citation: ClassVar[str] = (
        "Wald (1945), Annals of Mathematical Statistics 16: sequential probability ratio"
    )
    statistic: ClassVar[str] = "votes of the leader minus votes of the runner-up"
    guarantee: ClassVar[str] = (
        "for independent votes right with probability at least p, two answers: "
        "P(stop wrong) <= alpha / (1 - beta); with K answers (K - 1) times that"
    )
    reason: ClassVar[str] = "sprt"

    def __post_init__(self) -> None:
        for name in ("p", "alpha", "beta"):
            object.__setattr__(self, name, probability(name, getattr(self, name), open_interval=True))
        if self.p <= 0.5:
            raise ValueError(f"p must be above 1/2; got p={self.p!r}")
        if self.alpha + self.beta >= 1:
            raise ValueError(f"alpha + beta must be below 1; got {self.alpha!r} + {self.beta!r}")
        choice("evidence", self.evidence, EVIDENCE)

    @property
    def lead_needed(self) -> int:
        """How many votes the leader must be ahead."""
        bound = math.log((1 - self.beta) / self.alpha) / (math.log(self.p) - math.log1p(-self.p))
        return max(1, math.ceil(bound - 1e-9))

    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare the lead with Wald's bound."""
        result: NDArray[np.bool_] = lead - second >= self.lead_needed
        return result
