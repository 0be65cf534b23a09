"""A test of "neither answer is better" that may be looked at after every vote: the mixture SPRT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, number, probability
from d3stats.stopping._tally import EVIDENCE, Evidence, ThresholdRule

__all__ = ["EProcess"]


@dataclass(frozen=True)
class EProcess(ThresholdRule):
    """Stop when the evidence against a fair coin reaches 1 / alpha.

    With k votes for the leader among n for the leader or the runner-up, the e-value is
    2^n B(a + k, b + n - k) / B(a, b): the likelihood under a Beta(a, b) prior on the share of votes, over that
    of a fair coin. Nobody knows beforehand which answer the prior's first side stands for, so with a != b the
    e-value is the mean over both readings, which is again an e-value.

    Parameters
    ----------
    alpha : float
        Level, in (0, 1).
    a, b : float
        Prior, above 0.
    evidence : {"all", "latest"}
        "all" (default): every vote so far counts. That is the sampling setting: each round asks fresh
        voters. Votes of the same agents in later rounds are not independent, and then nothing is guaranteed.
        "latest": only the votes of the current round count; the level then holds round by round, not for
        all rounds together.

    Notes
    -----
    Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. Annals of
    Mathematical Statistics 41. With K answers the leader and the runner-up are chosen after looking: the
    chance of ever stopping at an answer that is not the likeliest is at most (K - 1) alpha.
    The evidence is for the leader of the votes counted. With ``evidence="all"`` that is the leader of all rounds
    so far, and what is promised of a wrong stop is promised of that verdict, not of the last round's plurality.

    Examples
    --------
    >>> rule = EProcess()
    >>> rule.votes_needed(0), rule.votes_needed(1)
    (8, 11)
    >>> round(float(rule.e_value(8, 0)), 3)
    28.444
    """

    alpha: float = 0.05
    a: float = 1.0
    b: float = 1.0
    evidence: Evidence = "all"

    name: ClassVar[str] = "e_process"
    citation: ClassVar[str] = "Robbins (1970), Annals of Mathematical Statistics 41: mixture likelihood ratio"
    statistic: ClassVar[str] = "2^n B(a + k, b + n - k) / B(a, b) of the leader against the runner-up"
    guarantee: ClassVar[str] = (
        "anytime valid for independent votes: P(ever stop | two answers, equally likely) <= alpha; "
        "with K answers P(ever stop at one that is not the likeliest) <= (K - 1) alpha"
    )
    reason: ClassVar[str] = "e_process"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", probability("alpha", self.alpha, open_interval=True))
        for name in ("a", "b"):
            value = number(name, getattr(self, name))
            if value <= 0:
                raise ValueError(f"{name} must be > 0; got {name}={value!r}")
            object.__setattr__(self, name, value)
        choice("evidence", self.evidence, EVIDENCE)

    def e_value(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the e-value of these counts, element by element."""
        result: NDArray[np.float64] = np.exp(self.strength(lead, second))
        return result

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the logarithm of the e-value, element by element."""
        from scipy.special import betaln

        k, s = np.asarray(lead, dtype=np.float64), np.asarray(second, dtype=np.float64)
        both = np.logaddexp(betaln(self.a + k, self.b + s), betaln(self.b + k, self.a + s))
        result: NDArray[np.float64] = both - math.log(2) + (k + s) * math.log(2) - betaln(self.a, self.b)
        return result

    @property
    def bound(self) -> float:
        """The logarithm of 1 / alpha."""
        return -math.log(self.alpha)
