"""Rules that look at a whole batch of debates at once, and their combinations with per-debate rules.

A :class:`BatchRule` takes one decision for all debates: when it fires, every debate still running stops.
Combined with a per-debate rule, ``Unanimity() | KSStability()``, each debate stops at the first of its own
stop and the batch's. A debate that has stopped says nothing more, so the batch rule is not shown its later
votes, although the log may hold them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer
from d3stats.stopping.rule import (
    Codes,
    Decision,
    Round,
    Rule,
    RuleState,
    StoppingRule,
    StopReason,
    Stops,
    round_from_arrays,
)
from d3stats.trajectories import MISSING, LogSource, Missing, Trajectories, as_trajectories, tally_rounds

__all__ = ["BatchRound", "BatchRule", "BatchState", "Decisions", "MixedRule", "batch_rounds"]

IntArray = NDArray[np.int64]

Camp = Literal["right", "first", "largest"]
CAMPS = ("right", "first", "largest")
"""Whose votes a batch rule counts: the right answer's, the first answer's, or the largest camp's of the round."""


@dataclass(frozen=True, eq=False)
class BatchRound:
    """One round of every debate of a batch; debates keep their row from round to round.

    Attributes
    ----------
    number : int
        Rounds played so far, this one included.
    votes : ndarray of int32, shape (debates, seats)
        Answer codes, ``MISSING`` where there is no vote.
    label : ndarray of int32, shape (debates,)
        The right answers, ``MISSING`` where unknown. Only batch rules see them.
    played : ndarray of bool, shape (debates,)
        Which debates played this round.
    panel, cluster : ndarray of int64, shape (debates,)
        Seats taken, and the question of each debate.
    tokens : ndarray of float or None, shape (debates,)
    scores : ndarray of float or None, shape (debates, sides)
    answers : tuple of str or None
        What the codes stand for.
    """

    number: int
    votes: NDArray[np.int32]
    label: NDArray[np.int32]
    played: NDArray[np.bool_]
    panel: IntArray
    cluster: IntArray
    tokens: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    answers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be >= 1; got number={self.number}")
        if self.votes.ndim != 2:
            raise ValueError(f"votes must have shape (debates, seats); got shape {self.votes.shape}")
        n = len(self.votes)
        for name in ("label", "played", "panel", "cluster", "tokens", "scores"):
            array = getattr(self, name)
            if array is not None and len(array) != n:
                raise ValueError(f"{name} must have one value per debate ({n}); got {len(array)}")

    def __len__(self) -> int:
        return len(self.votes)

    def round_of(self, debate: int) -> Round:
        """Return what a per-debate rule sees of one debate."""
        return round_from_arrays(
            self.number,
            self.votes[debate, : int(self.panel[debate])],
            None if self.tokens is None else self.tokens[debate],
            None if self.scores is None else self.scores[debate],
            self.answers,
        )

    def first_answer(self) -> int:
        """Return the code of the answer whose text sorts first among the round's votes, ``MISSING`` without a vote.

        Texts are compared character by character, as Python compares strings; codes where there are no texts.
        """
        said = np.unique(self.votes[self.played]).tolist()
        codes = [code for code in said if code != MISSING]
        names = self.answers
        return min(codes, key=lambda code: code if names is None else names[code], default=MISSING)

    def camp_trials(
        self, camp: Camp, missing: Missing, first: int | None = None
    ) -> tuple[IntArray, IntArray]:
        """Count one camp's votes and all votes of each debate; (0, 0) where it did not play.

        Parameters
        ----------
        camp : {"right", "first", "largest"}
            The camp of the right answer (a debate without a label then counts (0, 0) too), of the first answer, or
            the largest of the round.
        missing : {"exclude", "wrong"}
            Whether all votes are the votes cast or the seats.
        first : int, optional
            With ``camp="first"``, the code of the first answer; by default :meth:`first_answer` of this round.
        """
        choice("camp", camp, CAMPS)
        choice("missing", missing, ("exclude", "wrong"))
        trials = (self.votes != MISSING).sum(axis=1)
        counted = self.played
        if camp == "largest":
            n_answers = int(self.votes.max(initial=MISSING)) + 1
            ones = tally_rounds(self.votes[:, None, :], n_answers)[2][:, 0].astype(np.int64)
        else:
            one = self.first_answer() if first is None else first
            named = self.label if camp == "right" else np.full_like(self.label, one)
            ones = ((self.votes == named[:, None]) & (self.votes != MISSING)).sum(axis=1)
            if camp == "right":
                counted = counted & (self.label != MISSING)
        return ones * counted, (trials if missing == "exclude" else self.panel) * counted


class Watcher(Protocol):
    """The running side of a rule in a whole batch: a code per debate and round, 0 where it does not fire."""

    def step(self, latest: BatchRound, /) -> Codes:
        """Take the next round."""
        ...


@dataclass
class ReasonBook:
    """Numbers for reasons, shared by the watchers of one rule."""

    codes: dict[str, int] = field(default_factory=dict)

    def code(self, reason: str | None) -> int:
        """Return the reason's number, from 1."""
        return self.codes.setdefault(str(reason), len(self.codes) + 1)

    def names(self, zero: str) -> NDArray[np.str_]:
        """Return the reasons by number, `zero` for 0."""
        return np.array([zero, *self.codes])


Watch = Callable[[Rule, ReasonBook], Watcher]
"""How a per-debate rule inside a batch is followed: online, or read off a log at once."""


class LiveWatcher:
    """Follow a per-debate rule online: one state per debate."""

    def __init__(self, rule: Rule, book: ReasonBook) -> None:
        self._rule, self._book = rule, book
        self._states: list[RuleState] = []

    def step(self, latest: BatchRound, /) -> Codes:
        """Update the state of every debate that played."""
        if not self._states:
            self._states = [self._rule.start() for _ in range(len(latest))]
        codes = np.zeros(len(latest), dtype=np.int16)
        for debate in np.flatnonzero(latest.played).tolist():
            decision = self._states[debate].update(latest.round_of(debate))
            if decision.stop:
                codes[debate] = self._book.code(decision.reason)
        return codes


class LoggedWatcher:
    """Follow a per-debate rule by its vectorised face."""

    def __init__(self, rule: Rule, book: ReasonBook, trajectories: Trajectories) -> None:
        firings = rule.firings(trajectories)
        table = np.array([0, *(book.code(reason) for reason in firings.reasons)], dtype=np.int16)
        self._codes: Codes = table[firings.codes]

    def step(self, latest: BatchRound, /) -> Codes:
        """Read the round's column."""
        result: Codes = np.where(latest.played, self._codes[:, latest.number - 1], 0).astype(np.int16)
        return result


class BatchState(Protocol):
    """The running side of a batch rule."""

    def update(self, latest: BatchRound, /) -> Decision:
        """Take the next round of all debates and say whether all of them should stop after it."""
        ...


class BatchRule(StoppingRule):
    """A rule that takes one decision for a whole batch of debates; it may need labels.

    A new one is a frozen dataclass with the same texts as :class:`~d3stats.stopping.Rule` and one method,
    :meth:`start`.
    """

    reason: ClassVar[str]

    @abstractmethod
    def start(self, watch: Watch = LiveWatcher) -> BatchState:
        """Open a batch; leave `watch` as it is, it says how a per-debate rule inside is followed."""

    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why."""
        return _replayed(self, trajectories)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Which debates of a batch stop after this round, and why ("" where they do not)."""

    stop: NDArray[np.bool_]
    reasons: NDArray[np.str_]


class MixedRule(StoppingRule):
    """A combination with a batch rule in it: decides debate by debate, with the whole batch in view."""

    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "that of its parts"
    statistic: ClassVar[str] = "that of its parts"
    guarantee: ClassVar[str] = "none beyond its parts'"

    @property
    def needs_labels(self) -> bool:
        """Whether a part looks at the right answers."""
        return any(part.needs_labels for part in self.parts() if part is not self)

    @abstractmethod
    def watcher(self, watch: Watch, book: ReasonBook) -> Watcher:
        """Follow the parts and combine what they say."""

    def start(self) -> MixedState:
        """Open a batch."""
        return MixedState(self, LiveWatcher)

    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why."""
        return _replayed(self, trajectories)


class MixedState:
    """The running side of any rule in a batch; remembers who has stopped and hides their later votes."""

    def __init__(self, rule: StoppingRule, watch: Watch) -> None:
        self._book = ReasonBook()
        self._watcher = _watcher(rule, watch, self._book)
        self.stopped: NDArray[np.bool_] | None = None

    def update(self, latest: BatchRound, /) -> Decisions:
        """Take the next round of all debates and say which of them stop after it."""
        if self.stopped is None:
            self.stopped = np.zeros(len(latest), dtype=bool)
        shown = replace(latest, played=latest.played & ~self.stopped)
        codes = np.where(shown.played, self._watcher.step(shown), 0)
        stop = codes > 0
        self.stopped = self.stopped | stop
        return Decisions(stop, self._book.names("")[codes])


@dataclass(frozen=True)
class BatchEither(MixedRule):
    """Fires where either rule fires; `left` gives the reason when both do."""

    left: StoppingRule
    right: StoppingRule

    binding: ClassVar[int] = 1

    def watcher(self, watch: Watch, book: ReasonBook) -> Watcher:
        """Follow both."""
        return _EitherWatcher(_watcher(self.left, watch, book), _watcher(self.right, watch, book))

    def __str__(self) -> str:
        return f"{self.left.written(1)} | {self.right.written(2)}"


@dataclass
class _EitherWatcher:
    left: Watcher
    right: Watcher

    def step(self, latest: BatchRound, /) -> Codes:
        first, second = self.left.step(latest), self.right.step(latest)
        return np.where(first > 0, first, second)


@dataclass(frozen=True)
class BatchBoth(MixedRule):
    """Fires from the round on by which each rule has fired at least once; the later one gives the reason."""

    left: StoppingRule
    right: StoppingRule

    binding: ClassVar[int] = 2

    def watcher(self, watch: Watch, book: ReasonBook) -> Watcher:
        """Follow both."""
        return _BothWatcher(_watcher(self.left, watch, book), _watcher(self.right, watch, book))

    def __str__(self) -> str:
        return f"{self.left.written(2)} & {self.right.written(3)}"


@dataclass
class _BothWatcher:
    left: Watcher
    right: Watcher
    left_fired: Codes | None = None
    right_fired: Codes | None = None
    complete: Codes | None = None

    def step(self, latest: BatchRound, /) -> Codes:
        first, second = self.left.step(latest), self.right.step(latest)
        if self.left_fired is None or self.right_fired is None or self.complete is None:
            self.left_fired, self.right_fired, self.complete = np.zeros((3, len(latest)), dtype=np.int16)
        right_was_last = self.left_fired > 0
        self.left_fired = np.where(self.left_fired > 0, self.left_fired, first)
        self.right_fired = np.where(self.right_fired > 0, self.right_fired, second)
        both = (self.left_fired > 0) & (self.right_fired > 0)
        now = np.where(right_was_last, self.right_fired, self.left_fired) * both
        self.complete = np.where(self.complete > 0, self.complete, now)
        return self.complete


@dataclass(frozen=True)
class BatchAfter(MixedRule):
    """The rule with its firings before `rounds` rounds are played ignored."""

    inner: StoppingRule
    rounds: int

    def __post_init__(self) -> None:
        integer("rounds", self.rounds, minimum=1)

    def watcher(self, watch: Watch, book: ReasonBook) -> Watcher:
        """Follow the rule."""
        return _AfterWatcher(_watcher(self.inner, watch, book), self.rounds)

    def __str__(self) -> str:
        return f"{self.inner.written(3)}.after({self.rounds})"


@dataclass
class _AfterWatcher:
    inner: Watcher
    rounds: int

    def step(self, latest: BatchRound, /) -> Codes:
        codes = self.inner.step(latest)
        return codes if latest.number >= self.rounds else np.zeros_like(codes)


@dataclass
class _BroadcastWatcher:
    """A batch rule's one decision, said of every debate."""

    state: BatchState
    book: ReasonBook

    def step(self, latest: BatchRound, /) -> Codes:
        decision = self.state.update(latest)
        code = self.book.code(decision.reason) if decision.stop else 0
        return np.full(len(latest), code, dtype=np.int16)


def _watcher(rule: StoppingRule, watch: Watch, book: ReasonBook) -> Watcher:
    if isinstance(rule, Rule):
        return watch(rule, book)
    if isinstance(rule, BatchRule):
        return _BroadcastWatcher(rule.start(watch), book)
    if isinstance(rule, MixedRule):
        return rule.watcher(watch, book)
    raise TypeError(f"rule must be a Rule, a BatchRule or a combination of them; got {rule!r}")


def batch_rounds(trajectories: LogSource) -> Iterator[BatchRound]:
    """Yield the rounds of a whole log as an online batch rule would have seen them."""
    trajectories = as_trajectories(trajectories)
    reached = trajectories.reached()
    for r in range(trajectories.n_rounds):
        yield BatchRound(
            number=r + 1,
            votes=trajectories.votes[:, r],
            label=trajectories.label,
            played=reached[:, r],
            panel=trajectories.panel,
            cluster=trajectories.cluster,
            tokens=None if trajectories.tokens is None else trajectories.tokens[:, r],
            scores=None if trajectories.scores is None else trajectories.scores[:, r],
            answers=trajectories.answers,
        )


def _replayed(rule: StoppingRule, trajectories: LogSource) -> Stops:
    trajectories = as_trajectories(trajectories)
    state = MixedState(rule, lambda part, book: LoggedWatcher(part, book, trajectories))
    rounds = trajectories.depth.copy()
    reasons = np.full(trajectories.n_debates, str(StopReason.EXHAUSTED), dtype=object)
    for latest in batch_rounds(trajectories):
        decisions = state.update(latest)
        rounds[decisions.stop] = latest.number
        reasons[decisions.stop] = decisions.reasons[decisions.stop]
        if state.stopped is not None and state.stopped.all():
            break
    return Stops(rounds, reasons.astype(np.str_))
