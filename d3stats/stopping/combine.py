"""Combinations of per-debate rules: ``a | b``, ``a & b``, ``a.after(rounds)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer
from d3stats.stopping.rule import (
    CONTINUE,
    Codes,
    Decision,
    Firings,
    Round,
    Rule,
    RuleState,
    first_firing,
)
from d3stats.trajectories import Trajectories

__all__ = ["After", "Both", "Either"]


class _Combination(Rule):
    """The vectorised face follows from the parts' firings."""

    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "that of its parts"
    statistic: ClassVar[str] = "that of its parts"
    guarantee: ClassVar[str] = "none beyond its parts'"
    reason: ClassVar[str] = ""

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self.firings(trajectories).codes > 0
        return result


@dataclass(frozen=True)
class Either(_Combination):
    """Fires in a round where either rule fires; `left` gives the reason when both do."""

    left: Rule
    right: Rule

    binding: ClassVar[int] = 1

    def start(self) -> RuleState:
        """Open a debate."""
        return _EitherState(self.left.start(), self.right.start())

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the rounds in which either fires."""
        left, right, reasons = _aligned(self.left, self.right, trajectories)
        return Firings(np.where(left > 0, left, right), reasons)

    def __str__(self) -> str:
        return f"{self.left.written(1)} | {self.right.written(2)}"


@dataclass
class _EitherState:
    left: RuleState
    right: RuleState

    def update(self, latest: Round, /) -> Decision:
        # Both see every round: a part that misses one would count wrongly later.
        first, second = self.left.update(latest), self.right.update(latest)
        return first if first.stop else second


@dataclass(frozen=True)
class Both(_Combination):
    """Fires from the round on by which each rule has fired at least once; the later one gives the reason."""

    left: Rule
    right: Rule

    binding: ClassVar[int] = 2

    def start(self) -> RuleState:
        """Open a debate."""
        return _BothState(self.left.start(), self.right.start())

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the rounds by which both have fired."""
        left, right, reasons = _aligned(self.left, self.right, trajectories)
        reached = trajectories.reached()
        left_code, left_at = first_firing(left)
        right_code, right_at = first_firing(right)
        at = np.maximum(left_at, right_at)
        code = np.where(left_at >= right_at, left_code, right_code)
        code = np.where((left_code > 0) & (right_code > 0), code, 0).astype(np.int16)
        since = np.arange(trajectories.n_rounds) >= at[:, None]
        return Firings(np.where(since & reached, code[:, None], 0).astype(np.int16), reasons)

    def __str__(self) -> str:
        return f"{self.left.written(2)} & {self.right.written(3)}"


@dataclass
class _BothState:
    left: RuleState
    right: RuleState
    left_fired: Decision | None = None
    right_fired: Decision | None = None
    complete: Decision | None = None

    def update(self, latest: Round, /) -> Decision:
        first, second = self.left.update(latest), self.right.update(latest)
        if self.complete is None:
            right_was_last = self.left_fired is not None
            if self.left_fired is None and first.stop:
                self.left_fired = first
            if self.right_fired is None and second.stop:
                self.right_fired = second
            if self.left_fired is not None and self.right_fired is not None:
                self.complete = self.right_fired if right_was_last else self.left_fired
        return CONTINUE if self.complete is None else self.complete


@dataclass(frozen=True)
class After(_Combination):
    """The rule with its firings before `rounds` rounds are played ignored."""

    inner: Rule
    rounds: int

    def __post_init__(self) -> None:
        integer("rounds", self.rounds, minimum=1)

    def start(self) -> RuleState:
        """Open a debate."""
        return _AfterState(self.inner.start(), self.rounds)

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the firings of the rule from round `rounds` on."""
        firings = self.inner.firings(trajectories)
        late = np.arange(1, trajectories.n_rounds + 1) >= self.rounds
        return Firings(np.where(late, firings.codes, 0).astype(np.int16), firings.reasons)

    def __str__(self) -> str:
        return f"{self.inner.written(3)}.after({self.rounds})"


@dataclass
class _AfterState:
    inner: RuleState
    rounds: int

    def update(self, latest: Round, /) -> Decision:
        decision = self.inner.update(latest)
        return decision if latest.number >= self.rounds else CONTINUE


def _aligned(left: Rule, right: Rule, trajectories: Trajectories) -> tuple[Codes, Codes, tuple[str, ...]]:
    first, second = left.firings(trajectories), right.firings(trajectories)
    reasons = tuple(dict.fromkeys([*first.reasons, *second.reasons]))
    return first.recoded(reasons), second.recoded(reasons), reasons
