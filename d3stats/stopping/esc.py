"""Early-stopping self-consistency: stop when a whole window of votes agrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["ESCWindow"]


@dataclass(frozen=True)
class ESCWindow(Rule):
    """Stop when `window` votes running, in windows that do not overlap, are equal.

    Votes are read in the order of the seats within a round, then round by round; a missing vote is left out, so
    the window waits for one more. The rule fires in the round in which an agreeing window is completed. On a
    panel of exactly `window` seats that all vote, this is unanimity of the round.

    Parameters
    ----------
    window : int
        Votes per window, at least 1.

    Notes
    -----
    Li, Y. et al. (2024). Escape sky-high cost: early-stopping self-consistency for multi-step reasoning. arXiv
    2401.10480. For independent votes, answer j with probability p_j, a window agrees on a wrong answer with
    probability sum over wrong j of p_j^window; over several windows at most the sum of these. Votes of the same
    agents in later rounds are not independent.

    Examples
    --------
    >>> ESCWindow(3).run([Round(1, (0, 1), 2), Round(2, (0, 1), 2), Round(3, (1, 1), 2)])
    (3, 'esc_window')
    """

    window: int = 5

    name: ClassVar[str] = "esc"
    citation: ClassVar[str] = "Li et al. (2024), arXiv 2401.10480: early-stopping self-consistency"
    statistic: ClassVar[str] = "whether all votes of a window are equal"
    guarantee: ClassVar[str] = (
        "for independent votes P(wrong) <= the sum over wrong answers of p_j^window, per window"
    )
    reason: ClassVar[str] = "esc_window"

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", integer("window", self.window, minimum=1))

    def start(self) -> _State:
        """Open a debate with an empty window."""
        return _State(self.window)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where an agreeing window is completed."""
        votes = trajectories.votes
        complete = (votes != MISSING).all(axis=(1, 2))
        if complete.all():
            return _fires_in_step(votes, self.window)
        fired = np.zeros(votes.shape[:2], dtype=bool)
        fired[complete] = _fires_in_step(votes[complete], self.window)
        fired[~complete] = _fires_vote_by_vote(votes[~complete], self.window)
        return fired


def _fires_in_step(votes: NDArray[np.int32], window: int) -> NDArray[np.bool_]:
    """Fill the windows of debates without a missing vote: they all end in the same places."""
    n, n_rounds, seats = votes.shape
    fired = np.zeros((n, n_rounds), dtype=bool)
    n_windows = n_rounds * seats // window
    if n_windows == 0:
        return fired
    flat = votes.reshape(n, n_rounds * seats)[:, : n_windows * window]
    agree = np.ones((n, n_windows), dtype=bool)
    for place in range(1, window):
        agree &= flat[:, place::window] == flat[:, ::window]
    for w in range(n_windows):
        fired[:, ((w + 1) * window - 1) // seats] |= agree[:, w]
    return fired


def _fires_vote_by_vote(votes: NDArray[np.int32], window: int) -> NDArray[np.bool_]:
    n, n_rounds, seats = votes.shape
    fired = np.zeros((n, n_rounds), dtype=bool)
    held = np.zeros(n, dtype=np.int64)
    first = np.full(n, MISSING, dtype=np.int32)
    agree = np.ones(n, dtype=bool)
    for r in range(n_rounds):
        for seat in range(seats):
            vote = votes[:, r, seat]
            cast = vote != MISSING
            first = np.where(cast & (held == 0), vote, first)
            agree = (agree | (held == 0)) & (~cast | (vote == first))
            held += cast
            full = held == window
            fired[:, r] |= full & agree
            held[full] = 0
    return fired


@dataclass
class _State:
    window: int
    held: int = 0
    first: int = MISSING
    agree: bool = True

    def update(self, latest: Round, /) -> Decision:
        answer = MISSING
        for vote in latest.votes:
            if vote == MISSING:
                continue
            if self.held == 0:
                self.first, self.agree = vote, True
            self.agree = self.agree and vote == self.first
            self.held += 1
            if self.held == self.window:
                answer = self.first if self.agree else answer
                self.held = 0
        if answer == MISSING:
            return CONTINUE
        return Decision(stop=True, reason=ESCWindow.reason, detail={"answer": float(answer)})
