"""A confidence sequence for the share of votes, by betting: stop when it leaves 1/2 out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer, probability
from d3stats.stopping._tally import EVIDENCE, Evidence, ThresholdRule

__all__ = ["BettingConfidence"]


@dataclass(frozen=True)
class BettingConfidence(ThresholdRule):
    """Stop when the hedged-capital confidence sequence for the leader's share of votes excludes 1/2.

    A gambler who doubts that the mean of votes X_i in {0, 1} is m puts half of the money on "above" and half on
    "below". The bets on "above" are constant, lambda_g = f_g / m with f_g = g / (bets + 1), g = 1 .. bets, with
    equal shares of the money, and mirrored on "below" with lambda_g = f_g / (1 - m): a diversified Kelly bettor.
    The capital is max(K+ / 2, K- / 2), K+ = mean over g of the product of 1 + lambda_g (X_i - m). The confidence
    sequence is all m with capital below 1 / alpha. Constant bets make the capital a function of the counts, so
    the order of the votes does not matter.

    Parameters
    ----------
    alpha : float
        One minus the level of the confidence sequence, in (0, 1).
    bets : int
        How many constant bets share the money, at least 1.
    evidence : {"all", "latest"}
        "all" (default): every vote so far counts. That is the sampling setting: each round asks fresh
        voters. Votes of the same agents in later rounds are not independent, and then nothing is guaranteed.
        "latest": only the votes of the current round count; the level then holds round by round, not for
        all rounds together.

    Notes
    -----
    Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of
    the Royal Statistical Society B 86. Their default bets follow a running variance, so their capital depends on
    the order of the votes; these do not. The share is that of the leader among the votes for the leader or the
    runner-up. With K answers these two are chosen after looking: the chance of ever stopping at an answer that
    is not the likeliest is at most (K - 1) alpha.
    The evidence is for the leader of the votes counted. With ``evidence="all"`` that is the leader of all rounds
    so far, and what is promised of a wrong stop is promised of that verdict, not of the last round's plurality.

    Examples
    --------
    >>> rule = BettingConfidence()
    >>> rule.votes_needed(0)
    8
    >>> low, high = rule.interval(8, 0)
    >>> round(low, 3), high
    (0.521, 1.0)
    """

    alpha: float = 0.05
    bets: int = 20
    evidence: Evidence = "all"

    name: ClassVar[str] = "betting"
    citation: ClassVar[str] = (
        "Waudby-Smith and Ramdas (2024), JRSS B 86: hedged capital, diversified Kelly bets"
    )
    statistic: ClassVar[str] = "capital of a hedged bettor against a share of 1/2"
    guarantee: ClassVar[str] = (
        "anytime valid for independent votes: P(ever stop | two answers, equally likely) <= alpha; "
        "with K answers P(ever stop at one that is not the likeliest) <= (K - 1) alpha"
    )
    reason: ClassVar[str] = "betting"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", probability("alpha", self.alpha, open_interval=True))
        object.__setattr__(self, "bets", integer("bets", self.bets, minimum=1))
        choice("evidence", self.evidence, EVIDENCE)

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the logarithm of the capital against a share of 1/2, element by element."""
        return self._log_above(np.asarray(lead), np.asarray(second), 0.5)

    def _log_above(self, for_it: Any, against: Any, mean: float) -> NDArray[np.float64]:
        f = np.arange(1, self.bets + 1) / (self.bets + 1)
        gain, loss = np.log1p(f * (1 - mean) / mean), np.log1p(-f)
        logs = for_it[..., None] * gain + against[..., None] * loss
        result: NDArray[np.float64] = np.logaddexp.reduce(logs, axis=-1) - math.log(2 * self.bets)
        return result

    @property
    def bound(self) -> float:
        """The logarithm of 1 / alpha."""
        return -math.log(self.alpha)

    def interval(self, successes: int, failures: int) -> tuple[float, float]:
        """Return the confidence sequence for the share of successes at these counts.

        Returns
        -------
        low, high : float
            Valid at all counts at once with probability at least 1 - alpha.
        """
        k, s = integer("successes", successes, minimum=0), integer("failures", failures, minimum=0)
        return self._lower(k, s), 1.0 - self._lower(s, k)

    def _lower(self, k: int, s: int) -> float:
        if k == 0:
            return 0.0
        # The capital on "above" falls in m from infinity to at most 1/2.
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            excluded = self._log_above(np.array(k), np.array(s), middle) >= self.bound
            low, high = (middle, high) if excluded else (low, middle)
        return low
