"""In which rounds a rule fires, as one whole number per debate: bit r is set where it fires after round r + 1.

Combinations are then a few operations on whole numbers, and a part that many rules share is worked out once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.planning._measures import undecided
from d3stats.stopping import After, Both, Either, Ladder, Rule, StoppingRule, Supermajority
from d3stats.stopping.rule import first_firing
from d3stats.trajectories import Trajectories

__all__ = ["StopFinder"]

Masks = NDArray[np.unsignedinteger[Any]]
IntArray = NDArray[np.int64]

_TABLE_BITS = 16
_KEPT_BYTES = 128 * 2**20
"""Masks of shared parts that are kept; beyond it they are worked out again."""


class StopFinder:
    """Find where many rules stop the debates of one log.

    Parameters
    ----------
    trajectories : Trajectories
    rules : sequence of StoppingRule
        The rules that will be asked for: parts that occur in several are remembered.

    Notes
    -----
    Gives what ``rule.stop_rounds(trajectories)`` gives, without the reasons. Safe to share between
    threads: at worst two of them work the same part out.
    """

    def __init__(self, trajectories: Trajectories, rules: Sequence[StoppingRule]) -> None:
        self._log = trajectories
        n_rounds = trajectories.n_rounds
        self._cut = trajectories.ended_early()
        self._any_cut = bool(self._cut.any())
        self._fits = n_rounds <= 64
        width = next((bits for bits in (8, 16, 32, 64) if n_rounds <= bits), 64)
        self._type = np.dtype(f"uint{width}")
        one = np.ones(1, dtype=self._type)
        self._one = one[0]
        self._bits: Masks = np.left_shift(one, np.arange(min(n_rounds, width), dtype=self._type))
        # Bit r - 1 stands for round r, so all bits below bit `depth` are the rounds that were played.
        upto = np.concatenate([np.zeros(1, self._type), np.cumsum(self._bits, dtype=self._type)])
        last = np.concatenate([np.zeros(1, self._type), self._bits])
        depth = np.minimum(trajectories.depth, len(self._bits))
        self._reached: Masks = upto[depth]
        self._last: Masks = last[depth]
        self._first_bit = _first_bits(n_rounds) if n_rounds <= _TABLE_BITS else None
        sizes = np.unique(trajectories.panel)
        self._panels = [(int(n), trajectories.panel == n if len(sizes) > 1 else None) for n in sizes]
        self._lead: NDArray[np.signedinteger[Any]] | None = None
        self._camps: dict[int, Masks] = {}
        uses = Counter(leaf for rule in rules for leaf in _leaves(rule))
        self._shared = {leaf for leaf, count in uses.items() if count > 1}
        self._kept: dict[Rule, Masks] = {}
        self._room = _KEPT_BYTES

    def rounds(self, rule: StoppingRule) -> NDArray[np.integer[Any]]:
        """Return how many rounds each debate plays under the rule, shape (debates,)."""
        return self.stops(rule)[0]

    def stops(self, rule: StoppingRule) -> tuple[NDArray[np.integer[Any]], int]:
        """Return the rounds that each debate plays, and in how many debates the rule is undecided.

        It is undecided in a debate that ended early, before the rule fired.
        """
        if not isinstance(rule, Rule) or type(rule).stop_rounds is not Rule.stop_rounds:
            stops = rule.stop_rounds(self._log)
            return stops.rounds, int(undecided(self._log, stops).sum())
        if not self._fits:
            code, at = first_firing(rule.firings(self._log).codes)
            went_on = int(np.count_nonzero((code == 0) & self._cut)) if self._any_cut else 0
            return np.where(code > 0, at + 1, self._log.depth), went_on
        fired = self._masks(rule)
        went_on = int(np.count_nonzero((fired == 0) & self._cut)) if self._any_cut else 0
        # With the last round's bit set, a rule that never fires stops at the debate's depth.
        masks = fired | self._last
        found: NDArray[np.integer[Any]]
        if self._first_bit is not None:
            found = self._first_bit[masks]
        else:
            found = np.frexp((masks & (~masks + self._one)).astype(np.float64))[1]
        return found, went_on

    def _masks(self, rule: Rule) -> Masks:
        if isinstance(rule, Either):
            either: Masks = self._masks(rule.left) | self._masks(rule.right)
            return either
        if isinstance(rule, Both):
            both: Masks = self._since(self._masks(rule.left)) & self._since(self._masks(rule.right))
            return both & self._reached
        if isinstance(rule, After):
            hidden = self._bits[: rule.rounds - 1].sum(dtype=self._type)
            late: Masks = self._masks(rule.inner) & ~hidden
            return late
        return self._leaf(rule)

    def _since(self, masks: Masks) -> Masks:
        """Set every bit from the lowest one on; nothing where none is set."""
        since: Masks = ~((masks & (~masks + self._one)) - self._one)
        return since

    def _leaf(self, rule: Rule) -> Masks:
        if rule in self._kept:
            return self._kept[rule]
        masks = self._worked_out(rule) & self._reached
        if rule in self._shared and self._room >= masks.nbytes:
            self._room -= masks.nbytes
            self._kept[rule] = masks
        return masks

    def _worked_out(self, rule: Rule) -> Masks:
        # Not isinstance: a rule made from these may look at more than the largest camp.
        if type(rule) is Supermajority:
            large = self._large(lambda panel, _: rule.votes_needed(panel))
            held = large
            for _ in range(1, min(rule.patience, len(self._bits) + 1)):
                held = large & (held << self._one)
            return held
        if type(rule) is Ladder:
            return self._large(lambda _, number: rule.needed(number))
        from d3stats.planning._scan_kernel import packed

        plain = type(rule).firings is Rule.firings
        fires = rule.fires(self._log) if plain else rule.firings(self._log).codes > 0
        # A copy of what is broadcast: the compiled loop is then compiled once for all rules.
        masks: Masks = packed(np.ascontiguousarray(fires), self._bits)
        return masks

    def _large(self, needed: Callable[[int, int], int]) -> Masks:
        """Set the rounds in which the largest camp has the votes needed on a panel of a size in a round."""
        masks = np.zeros(len(self._log), dtype=self._type)
        for panel, rows in self._panels:
            asked: dict[int, Any] = {}
            for r, bit in enumerate(self._bits):
                votes = needed(panel, r + 1)
                asked[votes] = asked.get(votes, self._type.type(0)) | bit
            for votes, rounds in asked.items():
                large = self._camp(votes) & rounds
                masks |= large if rows is None else np.where(rows, large, self._type.type(0))
        return masks

    def _camp(self, votes: int) -> Masks:
        """Set the rounds in which the largest camp has at least so many votes; remembered."""
        if votes in self._camps:
            return self._camps[votes]
        if self._lead is None:
            lead = self._log.camps()[0]
            narrow = np.int8 if self._log.votes.shape[2] < 128 else np.int32
            self._lead = np.ascontiguousarray(lead.T, dtype=narrow)
        masks = np.zeros(len(self._log), dtype=self._type)
        if votes <= self._log.votes.shape[2]:
            for lead, bit in zip(self._lead, self._bits, strict=True):
                masks |= (lead >= votes) * bit
        if self._room >= masks.nbytes:
            self._room -= masks.nbytes
            self._camps[votes] = masks
        return masks


def _leaves(rule: StoppingRule) -> list[Rule]:
    if isinstance(rule, (Either, Both)):
        return _leaves(rule.left) + _leaves(rule.right)
    if isinstance(rule, After):
        return _leaves(rule.inner)
    return [rule] if isinstance(rule, Rule) else []


def _first_bits(n_bits: int) -> NDArray[np.uint8]:
    """Return the place of the lowest bit, from 1, of every number of so many bits; 0 for 0."""
    table = np.zeros(2**n_bits, dtype=np.uint8)
    for bit in reversed(range(n_bits)):
        table[2**bit :: 2 ** (bit + 1)] = bit + 1
    return table
