"""Stop when one camp is large enough, and ask for less as the rounds go by."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping._reach import out_of_reach
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Ladder"]


@dataclass(frozen=True)
class Ladder(Rule):
    """Stop when the largest camp has as many votes as the round's step asks for.

    Parameters
    ----------
    steps : str
        Votes needed after round 1, 2, ..., joined by ``-`` and never rising; the last step holds for all
        later rounds. ``"7-7-6-1"`` asks a panel of seven for unanimity in two rounds, for six votes in the
        third, and stops in the fourth whatever the count.

    Notes
    -----
    For two answers and exchangeable voters the optimal rule has falling boundaries of this kind (Wald and
    Wolfowitz, 1950, for one vote at a time with a horizon), and a ladder is what remains of it when only the
    latest count is looked at.

    Examples
    --------
    >>> rounds = [Round(r, (0, 0, 1), 3) for r in (1, 2, 3)]
    >>> Ladder("3-3-2").run(rounds), Ladder("3-1").run(rounds)
    ((3, 'ladder'), (2, 'ladder'))
    """

    steps: str

    name: ClassVar[str] = "ladder"
    citation: ClassVar[str] = "Wald and Wolfowitz (1950), Ann. Math. Statist. 21: boundaries that fall"
    statistic: ClassVar[str] = "votes for the leading answer, against a step for each round"
    guarantee: ClassVar[str] = "none by itself; a plan states what it promises for the ladder that it picks"
    reason: ClassVar[str] = "ladder"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", str(self.steps))
        parts = self.steps.split("-")
        if not all(part.isascii() and part.isdecimal() and int(part) >= 1 for part in parts):
            raise ValueError(f"steps must be whole numbers >= 1 joined by '-'; got steps={self.steps!r}")
        votes = self.votes
        if any(later > earlier for earlier, later in pairwise(votes)):
            raise ValueError(f"steps must never rise; got steps={self.steps!r}")

    @property
    def votes(self) -> tuple[int, ...]:
        """Votes needed, by round."""
        return tuple(int(part) for part in self.steps.split("-"))

    def __str__(self) -> str:
        return f"{self.name}:{self.steps}"

    def needed(self, number: int) -> int:
        """Return how many votes the leading answer needs after this round."""
        votes = self.votes
        return votes[min(number, len(votes)) - 1]

    def start(self) -> Ladder:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Stop when the leading answer has the votes that this round asks for."""
        cast = [vote for vote in latest.votes if vote != MISSING]
        lead = max((cast.count(vote) for vote in cast), default=0)
        if lead >= self.needed(latest.number):
            return Decision(stop=True, reason=self.reason, detail={"lead": lead})
        return CONTINUE

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        depth = np.maximum(trajectories.depth, 1).tolist()
        return out_of_reach(self, trajectories, np.array([self.needed(rounds) for rounds in depth]))

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the leading answer has the votes that the round asks for."""
        # A step beyond any panel is out of reach, however large.
        out_of_reach = len(trajectories.seats) + 1
        needed = np.array([min(self.needed(r), out_of_reach) for r in trajectories.rounds], dtype=np.int32)
        result: NDArray[np.bool_] = trajectories.camps()[0] >= needed
        return result
