"""Tallies of votes by answer, of one round or pooled over rounds, and the rules that look at nothing else.

A tally rule sees two numbers, the votes of the leading answer and of the runner-up, so the order of the votes
and the numbering of the answers do not matter. It says when to stop. With pooled evidence the answer that it has
evidence for is the leader of all votes so far, which need not be the plurality of the round it stops after.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

Evidence = Literal["all", "latest"]
EVIDENCE = ("all", "latest")

IntArray = NDArray[np.int64]
Camps = tuple[NDArray[np.int32], NDArray[np.int32]]

_FEW_ANSWERS = 6
_BLOCK = 8192
_CAMPS: WeakKeyDictionary[Trajectories, dict[Evidence, Camps]] = WeakKeyDictionary()


class TallyRule(Rule):
    """A rule that decides by the votes of the leader and the runner-up; it never fires without a vote."""

    evidence: Evidence

    @abstractmethod
    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Say, element by element, whether these camps of at least one vote are reason to stop.

        The three arrays broadcast together; `panel` is the number of seats.
        """

    def start(self) -> TallyState:
        """Open a debate with an empty tally."""
        return TallyState(self)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round whose tally is reason to stop."""
        lead, second = camps_of(trajectories, self.evidence)
        panel = trajectories.panel[:, None]
        result: NDArray[np.bool_] = self.enough(lead, second, panel) & (lead > 0)
        return result


@dataclass
class TallyState:
    """The running tally of one debate."""

    rule: TallyRule
    tally: dict[int, int] = field(default_factory=dict)

    def update(self, latest: Round, /) -> Decision:
        """Add the round's votes and ask the rule."""
        if self.rule.evidence == "latest":
            self.tally = {}
        for vote in latest.votes:
            if vote != MISSING:
                self.tally[vote] = self.tally.get(vote, 0) + 1
        lead, second = [*sorted(self.tally.values(), reverse=True), 0, 0][:2]
        camps = (np.array([lead]), np.array([second]), np.array([latest.panel]))
        if lead > 0 and bool(self.rule.enough(*camps)[0]):
            detail = {"lead": float(lead), "second": float(second)}
            return Decision(stop=True, reason=str(self.rule.reason), detail=detail)
        return CONTINUE


class ThresholdRule(TallyRule):
    """A tally rule that stops once a number, rising with the leader's votes, reaches a bound.

    Both faces look up the same table of the fewest votes that a leader needs, by the runner-up's votes.
    """

    # A number that equals its bound on paper must not miss it by the last bit of a logarithm.
    tolerance: ClassVar[float] = 1e-12

    @abstractmethod
    def strength(self, lead: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        """Return the number that is compared with the bound, element by element."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """What the strength has to reach; above what it is at a tie."""

    def votes_needed(self, second: int) -> int:
        """Return the fewest votes that make a leader win against a runner-up with `second` votes."""
        return int(_leads_needed(self, _table_size(second))[second])

    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare the leader's votes with the table."""
        needed = _leads_needed(self, _table_size(int(second.max(initial=0))))
        result: NDArray[np.bool_] = lead >= needed[second]
        return result


def _table_size(most: int) -> int:
    size = 64
    while size <= most:
        size *= 2
    return size


@lru_cache(maxsize=512)
def _leads_needed(rule: ThresholdRule, size: int) -> NDArray[np.int32]:
    second = np.arange(size)
    bound = rule.bound - rule.tolerance
    table = smallest(lambda lead: rule.strength(lead, second) >= bound, second).astype(np.int32)
    table.setflags(write=False)
    return table


def smallest(holds: Callable[[IntArray], NDArray[np.bool_]], above: IntArray) -> IntArray:
    """Return the smallest integers above `above` at which a condition holds that stays true once true."""
    low, high = above.copy(), above + 1
    while not (reached := holds(high)).all():
        low, high = np.where(reached, low, high), np.where(reached, high, 2 * high - above)
    while (high - low > 1).any():
        middle = (low + high + 1) // 2
        # Where the search is over, middle is high and stays high.
        reached = holds(middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def camps_of(t: Trajectories, evidence: Evidence) -> Camps:
    """Count the two largest camps of each round's votes, or of all up to it; each of shape (debates, rounds).

    Remembered as long as `t` lives: a sweep asks for them once per rule.
    """
    known = _CAMPS.setdefault(t, {})
    if evidence not in known:
        if len(t.answers) <= _FEW_ANSWERS:
            lead, second = _by_answer(t, pooled=evidence == "all")
        else:
            lead, second = _by_seat(t) if evidence == "all" else t.camps()[:2]
        lead.setflags(write=False)
        second.setflags(write=False)
        known[evidence] = lead, second
    return known[evidence]


def _by_answer(t: Trajectories, *, pooled: bool) -> Camps:
    lead = np.zeros(t.votes.shape[:2], dtype=np.int32)
    second = np.zeros_like(lead)
    for answer in range(len(t.answers)):
        count = np.zeros_like(lead)
        for seat in range(t.votes.shape[2]):
            count += t.votes[:, :, seat] == answer
        if pooled:
            np.cumsum(count, axis=1, out=count)
        np.maximum(second, np.minimum(lead, count), out=second)
        np.maximum(lead, count, out=lead)
    return lead, second


def _by_seat(t: Trajectories) -> Camps:
    """Add one vote at a time: memory is debates x answers of a block, never debates x rounds x answers."""
    n, n_rounds, _ = t.votes.shape
    leads = np.zeros((n, n_rounds), dtype=np.int32)
    seconds = np.zeros_like(leads)
    for start in range(0, n, _BLOCK):
        votes = _renumbered(t.votes[start : start + _BLOCK])
        rows = np.arange(len(votes))
        # The last column collects missing votes: code -1 indexes it.
        counts = np.zeros((len(votes), int(votes.max(initial=0)) + 2), dtype=np.int32)
        lead, second = np.zeros((2, len(votes)), dtype=np.int32)
        leader = np.full(len(votes), MISSING, dtype=np.int64)
        for r in range(n_rounds):
            for seat in range(votes.shape[2]):
                vote = votes[:, r, seat]
                counts[rows, vote] += 1
                cast = vote != MISSING
                count = np.where(cast, counts[rows, vote], 0)
                same = vote == leader
                passing = count > lead
                overtakes = passing & ~same
                second = np.where(overtakes, lead, np.where(same, second, np.maximum(second, count)))
                leader = np.where(passing, vote, leader)
                lead = np.maximum(lead, count)
            leads[start : start + len(votes), r] = lead
            seconds[start : start + len(votes), r] = second
    return leads, seconds


def _renumbered(votes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number each debate's own answers from 0, so that a table by answer is as wide as one debate needs."""
    n = len(votes)
    flat = votes.reshape(n, -1)
    order = np.argsort(flat, axis=1, kind="stable")
    ranked = np.take_along_axis(flat, order, axis=1)
    fresh = np.zeros(ranked.shape, dtype=np.int64)
    if flat.shape[1]:
        fresh[:, 0] = ranked[:, 0] != MISSING
        fresh[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    codes = np.empty(ranked.shape, dtype=np.int64)
    np.put_along_axis(codes, order, np.cumsum(fresh, axis=1) - 1, axis=1)
    return codes.reshape(votes.shape)
