"""Stop when the judge prefers the same side twice running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer
from d3stats.stopping._scores import gap_of, gaps_of
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import Trajectories

__all__ = ["SignAgreement"]


@dataclass(frozen=True)
class SignAgreement(Rule):
    """Stop when the score gap has the same sign for `patience` rounds in a row.

    The gap is side 0 minus side 1 in raw points. A tied round (gap 0) agrees with nothing, another tie
    included, and breaks the run; so does a round with a missing score.

    Parameters
    ----------
    patience : int
        Rounds in a row that must name the same side; 2 in the paper, whose debates also end after round 4:
        ``SignAgreement() | FixedRounds(4)``.

    Notes
    -----
    Let each round name the better side with probability p and the worse one with q = 1 - p, independently
    and without ties. With ``patience=2`` and no cap on the rounds, the side that is named at the stop is
    right with probability p^2 (1 + q) / (1 - pq), after (2 + pq) / (1 - pq) rounds on average: .80633 and
    2.7975 at p = .7, where the majority of three rounds is right with probability .784.

    Raises
    ------
    ValueError
        When played on a log without scores of two sides.

    Examples
    --------
    >>> points = [(60, 50), (52, 52), (55, 51), (58, 50)]
    >>> SignAgreement().run([Round(i + 1, (), 0, scores=pair) for i, pair in enumerate(points)])
    (4, 'sign_agreement')
    """

    patience: int = 2

    name: ClassVar[str] = "sign_agreement"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = (
        "the advocates paper before D3 (Optimal Architectures for Judging LLM Outputs Using LLMs), "
        "3.2 and Algorithm 2"
    )
    statistic: ClassVar[str] = "the sign of the score gap in consecutive rounds"
    guarantee: ClassVar[str] = (
        "for independent rounds that are right with probability p: right with probability "
        "p^2 (1 + q) / (1 - pq) after (2 + pq) / (1 - pq) rounds on average (patience 2, no ties)"
    )
    reason: ClassVar[str] = "sign_agreement"

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", integer("patience", self.patience, minimum=1))

    def start(self) -> _State:
        """Open a debate."""
        return _State(self)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the sign has been the same for `patience` rounds running."""
        gaps = gaps_of(self.name, trajectories)
        held = np.zeros(gaps.shape, dtype=bool)
        last = trajectories.n_rounds - self.patience + 1
        if last > 0:
            windows = [gaps[:, back : back + last] for back in range(self.patience)]
            for leads in (np.greater, np.less):
                held[:, self.patience - 1 :] |= np.logical_and.reduce([leads(gap, 0) for gap in windows])
        return held


@dataclass
class _State:
    rule: SignAgreement
    side: int | None = None
    running: int = 0

    def update(self, latest: Round, /) -> Decision:
        gap = gap_of(self.rule.name, latest)
        if gap is None or gap == 0:
            self.side, self.running = None, 0
            return CONTINUE
        side = 0 if gap > 0 else 1
        # A longer run says nothing more, and a bounded count keeps the states of a debate few.
        self.running = min(self.running + 1, self.rule.patience) if side == self.side else 1
        self.side = side
        if self.running == self.rule.patience:
            return Decision(stop=True, reason=self.rule.reason, detail={"gap": gap, "side": side})
        return CONTINUE
