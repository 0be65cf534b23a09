"""Stop when everybody agrees: the incumbent that every other rule has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer
from d3stats.stopping._reach import out_of_reach
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule, StopReason
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Unanimity"]


@dataclass(frozen=True)
class Unanimity(Rule):
    """Stop when every vote cast is equal.

    Parameters
    ----------
    missing : {"exclude", "block"}
        What a missing vote does. "exclude" (default): the votes that were cast decide.
        "block": every seat of the panel must have voted.
    min_votes : int
        With "exclude", how many votes must have been cast; two by default, so that one voice is not
        agreement. A smaller panel needs all its votes: a lone agent is unanimous when it votes.

    Notes
    -----
    With ``coding="correctness"`` two wrong votes look equal, so unanimous wrong answers are an assumption
    and the rule may fire earlier than it would have on the answers.

    Examples
    --------
    >>> state = Unanimity().start()
    >>> state.update(Round(1, (3, 3, -1), 3)).reason
    'unanimity'
    >>> Unanimity(missing="block").start().update(Round(1, (3, 3, -1), 3)).stop
    False
    """

    missing: Literal["exclude", "block"] = "exclude"
    min_votes: int = 2

    name: ClassVar[str] = "unanimity"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697: unanimous consensus ends a debate early"
    statistic: ClassVar[str] = "whether all votes cast are equal"
    guarantee: ClassVar[str] = (
        "none on accuracy; if votes are a martingale, P(unanimously right) is one agent's mean accuracy"
    )
    reason: ClassVar[str] = StopReason.UNANIMITY

    def __post_init__(self) -> None:
        choice("missing", self.missing, ("exclude", "block"))
        object.__setattr__(self, "min_votes", integer("min_votes", self.min_votes, minimum=1))

    def start(self) -> Unanimity:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Stop when the round's votes agree."""
        cast = [vote for vote in latest.votes if vote != MISSING]
        needed = latest.panel if self.missing == "block" else min(self.min_votes, latest.panel)
        if len(set(cast)) == 1 and len(cast) >= needed:
            return Decision(stop=True, reason=str(self.reason), detail={"votes": len(cast)})
        return CONTINUE

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        return out_of_reach(self, trajectories, self._needed(trajectories.panel))

    def _needed(self, panel: NDArray[np.int64]) -> NDArray[np.int64]:
        return panel if self.missing == "block" else np.minimum(self.min_votes, panel)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every unanimous round."""
        lead, _, cast = trajectories.camps()
        needed = self._needed(trajectories.panel)
        # At least one vote: a round in which nobody spoke is not agreement.
        result: NDArray[np.bool_] = (lead == cast) & (cast >= np.maximum(needed, 1)[:, None])
        return result
