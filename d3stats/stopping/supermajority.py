"""Stop when one camp is large enough: unanimity with room for dissent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer, probability
from d3stats.stopping._reach import out_of_reach
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Supermajority"]


@dataclass(frozen=True)
class Supermajority(Rule):
    """Stop when the largest camp holds a share of the panel, for a number of rounds running.

    Parameters
    ----------
    share : float
        Votes that the leading answer needs, as a share of the seats, in (0, 1]: 0.85 of 7 seats is 6 votes.
        A missing vote is in no camp, but its seat counts: where a seat stays empty (that of the tie-break beside an
        even jury, in logs of :class:`~d3stats.worlds.Courtroom`) a share of 1 is never reached.
    patience : int
        Rounds running in which a camp is that large; the camp may change between them.

    Examples
    --------
    >>> Supermajority(0.85).run([Round(1, (0, 0, 1), 3), Round(2, (0, 0, 0), 3)])
    (2, 'supermajority')
    """

    share: float
    patience: int = 1

    name: ClassVar[str] = "supermajority"
    citation: ClassVar[str] = (
        "May (1952), Econometrica 20: special majorities; here of the votes in one round"
    )
    statistic: ClassVar[str] = "the largest camp's share of the panel"
    guarantee: ClassVar[str] = "none on accuracy; it stops no later than unanimity of the whole panel"
    reason: ClassVar[str] = "supermajority"

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", probability("share", self.share))
        if self.share == 0.0:
            raise ValueError("share must be above 0; got share=0.0")
        object.__setattr__(self, "patience", integer("patience", self.patience, minimum=1))

    def votes_needed(self, panel: int) -> int:
        """Return how many votes the leading answer needs on a panel of this size."""
        # The tolerance keeps 6/7 of 7 at 6 votes, whatever the last bit of the share.
        return max(1, math.ceil(self.share * panel - 1e-9))

    def start(self) -> _State:
        """Open a debate."""
        return _State(self)

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        return out_of_reach(self, trajectories, self._needed(trajectories.panel))

    def _needed(self, panel: NDArray[np.int64]) -> NDArray[np.int32]:
        needed: NDArray[np.int32] = np.maximum(1, np.ceil(self.share * panel - 1e-9)).astype(np.int32)
        return needed

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the camp has been large enough for `patience` rounds running."""
        large: NDArray[np.bool_] = trajectories.camps()[0] >= self._needed(trajectories.panel)[:, None]
        if self.patience == 1:
            return large
        held = np.zeros_like(large)
        running = np.zeros(len(large), dtype=np.int32)
        for r in range(large.shape[1]):
            running = (running + 1) * large[:, r]
            held[:, r] = running >= self.patience
        return held


@dataclass
class _State:
    rule: Supermajority
    running: int = 0

    def update(self, latest: Round, /) -> Decision:
        cast = [vote for vote in latest.votes if vote != MISSING]
        lead = max((cast.count(vote) for vote in cast), default=0)
        self.running = self.running + 1 if lead >= self.rule.votes_needed(latest.panel) else 0
        if self.running >= self.rule.patience:
            return Decision(stop=True, reason=self.rule.reason, detail={"lead": lead})
        return CONTINUE
