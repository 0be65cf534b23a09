"""The counts that a batch rule compares between rounds, with finished debates carried forward or left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping.batch import BatchRound, Camp, ReasonBook, Watch, Watcher
from d3stats.stopping.rule import Rule
from d3stats.trajectories import MISSING, Missing

IntArray = NDArray[np.int64]


class PairedCounts(NamedTuple):
    """The camp's votes and all votes in two rounds, of the debates that have a vote in both; cluster beside them."""

    successes_a: IntArray
    trials_a: IntArray
    successes_b: IntArray
    trials_b: IntArray
    cluster: IntArray


class CountWindow:
    """Remember the counts of the last ``window + 1`` rounds.

    With `carry`, a debate that this rule stopped keeps the count that it had then; without, a debate that
    plays no more has no count. With ``camp="first"`` the answer that is counted is found once, in the first round
    with a vote, and stays the same.
    """

    def __init__(
        self, window: int, missing: Missing, carry: Rule | None, watch: Watch, camp: Camp = "right"
    ) -> None:
        self._size = window + 1
        self._missing: Missing = missing
        self._camp: Camp = camp
        self._first = MISSING
        self._carry: Watcher | None = None if carry is None else watch(carry, ReasonBook())
        self._finished: NDArray[np.bool_] | None = None
        self._past: list[tuple[IntArray, IntArray]] = []
        self._number = 0

    def step(self, latest: BatchRound) -> PairedCounts | None:
        """Take a round; return the counts `window` rounds ago and now, None while there are too few."""
        self._check(latest)
        if self._camp == "first" and self._first == MISSING:
            self._first = latest.first_answer()
        successes, trials = latest.camp_trials(self._camp, self._missing, self._first)
        if self._carry is not None:
            if self._finished is None:
                self._finished = np.zeros(len(latest), dtype=bool)
            if self._past:
                before_s, before_t = self._past[-1]
                successes = np.where(self._finished, before_s, successes)
                trials = np.where(self._finished, before_t, trials)
            self._finished = self._finished | (self._carry.step(latest) > 0)
        self._past = [*self._past[1 - self._size :], (successes, trials)]
        if len(self._past) < self._size:
            return None
        first_s, first_t = self._past[0]
        both = (first_t > 0) & (trials > 0)
        return PairedCounts(first_s[both], first_t[both], successes[both], trials[both], latest.cluster[both])

    def _check(self, latest: BatchRound) -> None:
        if latest.number != self._number + 1:
            raise ValueError(f"number must be {self._number + 1}, the next round; got number={latest.number}")
        self._number = latest.number
        if self._past and len(latest) != len(self._past[-1][0]):
            raise ValueError(
                f"votes must hold the same debates every round ({len(self._past[-1][0])}); got {len(latest)}"
            )
        if self._camp == "right" and len(latest) and (latest.label == MISSING).all():
            raise ValueError(
                "label must be known for at least one debate: this rule compares counts of correct votes "
                "(camp=first and camp=largest do without); got no label"
            )
