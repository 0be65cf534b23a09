"""The two rules that look at nothing: a fixed number of rounds, and never."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule, StopReason
from d3stats.trajectories import Trajectories

__all__ = ["FixedRounds", "FullDepth"]


@dataclass(frozen=True)
class FixedRounds(Rule):
    """Stop after `n` rounds, whatever was said.

    Parameters
    ----------
    n : int
        Rounds to play, at least 1; ``FixedRounds(1)`` is the vote without a debate.

    Examples
    --------
    >>> str(FixedRounds(2))
    'fixed:2'
    """

    n: int

    name: ClassVar[str] = "fixed"
    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "Du et al. (2023), arXiv 2305.14325: debate for a set number of rounds"
    statistic: ClassVar[str] = "the number of rounds played"
    guarantee: ClassVar[str] = "the cost is known in advance; nothing is promised about the verdict"
    reason: ClassVar[str] = StopReason.FIXED_ROUNDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", integer("n", self.n, minimum=1))

    def start(self) -> FixedRounds:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Stop once `n` rounds are played."""
        return Decision(stop=True, reason=str(self.reason)) if latest.number >= self.n else CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire from round `n` on."""
        late: NDArray[np.bool_] = np.arange(1, trajectories.n_rounds + 1) >= self.n
        return np.broadcast_to(late, (trajectories.n_debates, trajectories.n_rounds))


@dataclass(frozen=True)
class FullDepth(Rule):
    """Never stop: play as many rounds as the log has.

    Examples
    --------
    >>> FullDepth().run([Round(1, (0, 0), 2), Round(2, (0, 0), 2)])
    (2, 'exhausted')
    """

    name: ClassVar[str] = "full"
    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "the usual reference of published savings"
    statistic: ClassVar[str] = "none"
    guarantee: ClassVar[str] = "none; every other rule plays at most as many rounds"
    reason: ClassVar[str] = StopReason.EXHAUSTED

    def start(self) -> FullDepth:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Go on."""
        return CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire nowhere."""
        return np.zeros((trajectories.n_debates, trajectories.n_rounds), dtype=bool)
