"""A stopping rule is an immutable value that decides live, round by round, or over a whole log, with the same stops.

Live, ``state = rule.start()`` and then ``state.update(round)`` after every round that is played; over a log,
``rule.stop_rounds(trajectories)``. A property test checks that the two are equal.

Rules count rounds *played*: a rule that stops after the first votes stops at 1. A rule that never fires stops
at the debate's depth with the reason ``"exhausted"``. A state may be updated after it has fired (``&`` and
``after`` need that), so firing is a statement about a round, not the end of the state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Bools, Ints
from d3stats._check import PositiveInt, choice, integer
from d3stats._named import Value, written
from d3stats.polling import reads_votes
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.trajectories import MISSING, Missing, Trajectories, tally_rounds

__all__ = [
    "CONTINUE",
    "After",
    "BatchRound",
    "BatchRule",
    "Both",
    "Decision",
    "Decisions",
    "Either",
    "Firings",
    "MemorylessRule",
    "MixedRule",
    "ReasonedRule",
    "Round",
    "Rule",
    "RuleState",
    "StopReason",
    "StoppingRule",
    "Stops",
    "batch_rounds",
    "rounds_of",
]

Codes = NDArray[np.int16]


class StopReason(StrEnum):
    """The reason why a debate stopped, as written to logs and tables; a new family adds its string in its own file.

    Examples
    --------
    >>> str(StopReason.UNANIMITY)
    'unanimity'
    """

    EXHAUSTED = "exhausted"
    FIXED_ROUNDS = "fixed_rounds"
    UNANIMITY = "unanimity"
    KS_STABLE = "ks_stable"
    KS_EQUIVALENT = "ks_equivalent"


@dataclass(frozen=True, slots=True)
class Round:
    """The data of one round that a rule for one debate may see; the label is not among them.

    Attributes
    ----------
    number : int
        Rounds played so far, this one included; the first is 1.
    votes : tuple of int
        One answer code per seat of the panel, ``MISSING`` (-1) where there is no vote.
    panel : int
        How many agents the panel has.
    tokens : float or None
        Prompt plus completion tokens of the round; None when not recorded.
    scores : tuple of (float or None), or None
        Raw points per side.
    texts : tuple of (str or None), or None
        What each seat answered, in words; None where there is no vote.
    confidence : tuple of (float or None), or None
        Probability that each seat gave its vote of being right; None where it gave none.

    Examples
    --------
    >>> Round(1, votes=(0, 1, -1), panel=3, tokens=900.0).votes
    (0, 1, -1)
    """

    number: int
    votes: tuple[int, ...]
    panel: int
    tokens: float | None = None
    scores: tuple[float | None, ...] | None = None
    texts: tuple[str | None, ...] | None = None
    confidence: tuple[float | None, ...] | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be >= 1; got number={self.number}")
        if len(self.votes) != self.panel:
            raise ValueError(
                f"votes must have one code per seat, -1 for a missing vote; "
                f"got {len(self.votes)} votes for panel={self.panel}"
            )
        if self.texts is not None and len(self.texts) != self.panel:
            raise ValueError(
                f"texts must have one answer per seat; got {len(self.texts)} texts for panel={self.panel}"
            )
        if self.confidence is not None and len(self.confidence) != self.panel:
            raise ValueError(
                f"confidence must have one value per seat; got {len(self.confidence)} for panel={self.panel}"
            )
        if self.tokens is not None and not 0 <= self.tokens < float("inf"):
            raise ValueError(
                f"tokens must be finite and >= 0, or None when not recorded; got tokens={self.tokens}"
            )
        if any(vote < MISSING for vote in self.votes):
            raise ValueError(f"votes must be codes >= {MISSING}; got votes={self.votes}")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop after this round, why, and the numbers behind it (by name, in `detail`).

    Attributes
    ----------
    stop : bool
        Whether to stop.
    reason : str or None
        Why, None while the debate continues.
    detail : mapping of str to float
        The numbers behind it, by name.

    Examples
    --------
    >>> from d3stats.stopping import Supermajority
    >>> Supermajority(0.6).start().update(Round(1, (0, 0, 1), 3))
    Decision(stop=True, reason='supermajority', detail={'lead': 2})
    """

    stop: bool
    reason: str | None = None
    detail: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


CONTINUE = Decision(stop=False)
"""The decision to continue."""


class RuleState(Protocol):
    """The state of a rule in one running debate.

    Examples
    --------
    >>> from d3stats.stopping import FixedRounds
    >>> state = FixedRounds(2).start()
    >>> [state.update(Round(number, (0, 1), 2)).stop for number in (1, 2)]
    [False, True]
    """

    def update(self, latest: Round, /) -> Decision:
        """Take the next round, in order, and say whether the debate should stop after it."""
        ...


@dataclass(frozen=True, eq=False)
class Stops:
    """Where a rule stopped each debate.

    Attributes
    ----------
    rounds : ndarray of int64, shape (debates,)
        Rounds played when the debate stopped; 0 only for a debate without rounds.
    reasons : ndarray of str, shape (debates,)
        ``StopReason`` values, or the string of another family.

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]])
    >>> stops = Unanimity().stop_rounds(t)
    >>> stops.rounds.tolist(), len(stops)
    ([2, 2], 2)
    >>> stops.to_frame().values.tolist()
    [[2, 'exhausted', 0.5], [2, 'unanimity', 0.5]]
    """

    rounds: Ints
    reasons: NDArray[np.str_]

    def __post_init__(self) -> None:
        if self.rounds.shape != self.reasons.shape:
            raise ValueError(f"reasons must have shape {self.rounds.shape}; got shape {self.reasons.shape}")
        self.rounds.setflags(write=False)
        self.reasons.setflags(write=False)

    def __len__(self) -> int:
        return len(self.rounds)

    def to_frame(self) -> pd.DataFrame:
        """Return ``round, reason, share``: which share of the debates stopped where and why."""
        frame = pd.DataFrame({"round": self.rounds, "reason": self.reasons})
        counted = frame.value_counts(sort=False).rename("share").reset_index()
        return counted.assign(share=counted["share"] / max(len(self), 1)).sort_values(
            ["round", "reason"], ignore_index=True
        )


@dataclass(frozen=True, eq=False)
class Firings:
    """The rounds in which a per-debate rule fires, and why; combinations of rules are computed from these.

    Attributes
    ----------
    codes : ndarray of int16, shape (debates, rounds)
        0 where the rule does not fire, i where it fires for ``reasons[i - 1]``.
    reasons : tuple of str

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]])
    >>> Unanimity().firings(t).codes.tolist()
    [[0, 1], [0, 0]]
    """

    codes: Codes
    reasons: tuple[str, ...]


class StoppingRule(Value, ABC):
    """Any rule: :class:`Rule` (one debate at a time) or one that needs the whole batch.

    Attributes
    ----------
    name : str
        How the rule is written on the command line and in tables; a rule without a name has no text form.
    citation, statistic, guarantee : str
        Where the rule is from, what it looks at, and what it guarantees ("none" is an answer).

    Examples
    --------
    >>> from d3stats.stopping import FixedRounds, KSStability, Unanimity
    >>> rule = Unanimity() | FixedRounds(3)
    >>> str(rule), str(rule.after(2)), [str(part) for part in rule.parts()]
    ('unanimity | fixed:3', '(unanimity | fixed:3).after(2)', ['unanimity | fixed:3', 'unanimity', 'fixed:3'])
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]])
    >>> rule.stop_rounds(t).rounds.tolist(), rule.remarks(t)
    ([2, 2], ())
    >>> state = rule.start_batch()
    >>> [state.update(latest).stop.tolist() for latest in batch_rounds(t)]
    [[False, False], [True, False]]
    >>> KSStability().needs_labels
    True
    """

    name: ClassVar[str] = ""
    citation: ClassVar[str] = "the statistics of its parts"
    statistic: ClassVar[str] = "the statistics of its parts"
    guarantee: ClassVar[str] = "the guarantees of its parts only"
    inputs: ClassVar[frozenset[str]] = frozenset({"votes"})
    """The inputs of the rule itself, from "votes", "texts", "confidence", "scores" and "tokens"; see `reads`."""
    presets: ClassVar[tuple[str, ...]] = ()
    """Class methods that make the rule with the settings of a source; each is also a name."""
    binding: ClassVar[int] = 3
    """The precedence of the rule's text: 1 as ``|``, 2 as ``&``, 3 as a name or ``.after(n)``."""

    @property
    def needs_labels(self) -> bool:
        """Whether the rule, or a part of it, looks at the right answers, which a running debate does not have."""
        return any(part.needs_labels for part in self.parts() if part is not self)

    @property
    def reads(self) -> frozenset[str]:
        """The inputs of the rule and its parts, of "votes", "texts", "confidence", "scores", "tokens" and "labels".

        Examples
        --------
        >>> from d3stats.stopping import from_text
        >>> sorted(from_text("unanimity | token_budget:5000").reads)
        ['tokens', 'votes']
        """
        found = frozenset[str]().union(*(part.inputs for part in self.parts()))
        return found | {"labels"} if self.needs_labels else found

    @property
    def earliest(self) -> int:
        """A round before which the rule stops no debate, for any votes.

        Examples
        --------
        >>> from d3stats.stopping import from_text
        >>> [from_text(text).earliest for text in ("d3_paper", "unanimity | d3_paper", "unanimity.after(3)")]
        [2, 1, 3]
        """
        return 1

    @abstractmethod
    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why.

        The source is any that :func:`d3stats.as_trajectories` reads.
        """

    def shown(self, trajectories: Trajectories) -> Trajectories:
        """Return the log of the same debates run under this rule: no polls before the end unless the rule reads votes.

        Examples
        --------
        >>> from d3stats.stopping import TokenBudget, Unanimity
        >>> from d3stats.worlds import Courtroom, simulate_debates
        >>> polled = simulate_debates(Courtroom(poll="every_round"), 2, 3, rng=1)
        >>> [bool((rule.shown(polled).tokens == polled.tokens).all()) for rule in (Unanimity(), TokenBudget(9000))]
        [True, False]
        """
        return trajectories if reads_votes(self) else trajectories.without_polls()

    def start_batch(self) -> MixedState:
        """Open a batch of running debates; ``update`` takes each :class:`BatchRound` and says who stops."""
        return MixedState(self, LiveWatcher)

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Return one sentence for each thing that a reader of this rule's stops on a log has to know."""
        return ()

    def __str__(self) -> str:
        return written(self, positional=True)

    def parts(self) -> Iterator[StoppingRule]:
        """Yield the rule and every rule that it is made of."""
        yield self
        for parameter in fields(self):  # type: ignore[arg-type]  # every rule is a dataclass
            value = getattr(self, parameter.name)
            if isinstance(value, StoppingRule):
                yield from value.parts()

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return BatchEither(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return BatchBoth(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def after(self, rounds: int) -> StoppingRule:
        """Return the same rule with its firings before `rounds` rounds are played ignored."""
        return BatchAfter(self, rounds)


class Rule(StoppingRule):
    """A rule that decides each debate by that debate's own rounds.

    A new rule is a frozen dataclass with ``name, citation, statistic, guarantee, reason`` and two methods:
    :meth:`start` (live; a rule without memory is a :class:`MemorylessRule` and has ``update``) and :meth:`fires`
    (over a log). A rule that stops for several reasons is a :class:`ReasonedRule`. Rules are combined as follows.

    - ``a | b`` fires in a round where either fires; the reason is the one that fired, `a`'s when both do.
    - ``a & b`` is latched. It fires from the round on by which each has fired at least once, so the debate stops
      at the later of the two stops. The reason is that of the later stop, and `a`'s when both come at once.
    - ``a.after(rounds)`` ignores the firings of `a` before that many rounds are played.

    Examples
    --------
    >>> from d3stats.stopping import Supermajority, Unanimity
    >>> rule = Supermajority(0.6) & Unanimity()
    >>> state = rule.start()
    >>> [state.update(Round(number, votes, 3)).stop for number, votes in ((1, (0, 0, 1)), (2, (0, 0, 0)))]
    [False, True]
    >>> t = Trajectories.from_arrays([[["A", "A", "B"], ["A", "A", "A"]]])
    >>> rule.fires(t).tolist(), rule.firings(t).reasons
    ([[False, True]], ('supermajority', 'unanimity'))
    >>> Unanimity().stop(votes=3.0).reason
    'unanimity'
    """

    reason: ClassVar[str] = ""

    @abstractmethod
    def start(self) -> RuleState:
        """Open a debate."""

    @abstractmethod
    def fires(self, trajectories: Trajectories) -> Bools:
        """Say after which rounds the rule fires, shape (debates, rounds), if the debate continued that far."""

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return :meth:`fires` with the reasons; rounds that were not played never fire."""
        fired = self.fires(trajectories) & trajectories.reached()
        return Firings(fired.astype(np.int16), (str(self.reason),))

    def stop(self, **detail: float) -> Decision:
        """Return the decision to stop for this rule's reason."""
        return Decision(stop=True, reason=str(self.reason), detail=detail)

    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why.

        The source is any that :func:`d3stats.as_trajectories` reads.

        Examples
        --------
        >>> from d3stats.stopping import Unanimity
        >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]])
        >>> Unanimity().stop_rounds(t).rounds.tolist(), Unanimity().stop_rounds(t).reasons.tolist()
        ([2, 2], ['unanimity', 'exhausted'])
        """
        trajectories = self.shown(as_trajectories(trajectories))
        firings = self.firings(trajectories)
        code, at = first_firing(firings.codes)
        names = np.array([str(StopReason.EXHAUSTED), *firings.reasons])
        return Stops(np.where(code > 0, at + 1, trajectories.depth).astype(np.int64), names[code])

    def run(self, rounds: Iterable[Round]) -> tuple[int, str]:
        """Play one debate online: return the rounds played and the reason.

        Examples
        --------
        >>> from d3stats.stopping import FixedRounds
        >>> FixedRounds(2).run([Round(1, (0, 1), 2), Round(2, (0, 1), 2), Round(3, (0, 0), 2)])
        (2, 'fixed_rounds')
        """
        state = self.start()
        played = 0
        for latest in rounds:
            played = latest.number
            decision = state.update(latest)
            if decision.stop:
                return played, str(decision.reason)
        return played, str(StopReason.EXHAUSTED)

    @overload
    def __or__(self, other: Rule) -> Rule: ...
    @overload
    def __or__(self, other: StoppingRule) -> StoppingRule: ...
    def __or__(self, other: StoppingRule) -> StoppingRule:
        return Either(self, other) if isinstance(other, Rule) else super().__or__(other)

    @overload
    def __and__(self, other: Rule) -> Rule: ...
    @overload
    def __and__(self, other: StoppingRule) -> StoppingRule: ...
    def __and__(self, other: StoppingRule) -> StoppingRule:
        return Both(self, other) if isinstance(other, Rule) else super().__and__(other)

    def after(self, rounds: int) -> Rule:
        """Return the same rule with its firings before `rounds` rounds are played ignored."""
        return After(self, rounds)


class MemorylessRule(Rule):
    """A rule that decides by the latest round alone; the rule is its own state.

    Examples
    --------
    >>> from d3stats.stopping import FixedRounds
    >>> rule = FixedRounds(1)
    >>> rule.start() is rule, rule.update(Round(1, (0, 1), 2)).reason
    (True, 'fixed_rounds')
    """

    def start(self) -> MemorylessRule:
        """Open a debate; the rule needs no memory."""
        return self

    @abstractmethod
    def update(self, latest: Round, /) -> Decision:
        """Say whether to stop after this round."""


class ReasonedRule(Rule):
    """A rule with several conditions; `reasons` names them in order, and the first that holds is reported.

    Examples
    --------
    >>> from d3stats.stopping import TokenBudget
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "B"]]], tokens=[[600.0, 700.0]])
    >>> rule = TokenBudget(1000)
    >>> rule.reasons, [held.tolist() for held in rule.conditions(t)], rule.fires(t).tolist()
    (('token_budget', 'tokens_unknown'), [[[True, True]], [[False, False]]], [[True, True]])
    >>> rule.firings(t).codes.tolist(), rule.decision((True, False), {"spent": 600.0}).reason
    ([[1, 1]], 'token_budget')
    """

    reasons: ClassVar[tuple[str, ...]]

    @abstractmethod
    def conditions(self, trajectories: Trajectories) -> Sequence[Bools]:
        """Say in which rounds each condition holds, one array (debates, rounds) per reason."""

    def fires(self, trajectories: Trajectories) -> Bools:
        """Fire in every round in which a condition holds."""
        result: Bools = np.logical_or.reduce(self.conditions(trajectories))
        return result

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the firings with the first reason that holds."""
        codes = np.zeros((trajectories.n_debates, trajectories.n_rounds), dtype=np.int16)
        for code, holds in reversed(list(enumerate(self.conditions(trajectories), start=1))):
            codes[holds & trajectories.reached()] = code
        return Firings(codes, self.reasons)

    def decision(self, holds: Sequence[bool], detail: Mapping[str, float]) -> Decision:
        """Stop for the first reason that holds, one flag per reason."""
        for reason, held in zip(self.reasons, holds, strict=True):
            if held:
                return Decision(stop=True, reason=reason, detail=detail)
        return CONTINUE


def first_firing(codes: Codes) -> tuple[Codes, Ints]:
    """Return each row's first nonzero code (0 if none) and its position."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), np.int16), np.zeros(len(codes), np.int64)
    at = (codes > 0).argmax(axis=1)
    return np.take_along_axis(codes, at[:, None], axis=1)[:, 0], at


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
        The values of the codes.
    confidence : ndarray of float or None, shape (debates, seats)

    Examples
    --------
    >>> t = Trajectories.from_arrays([[["A", "A", "B"]], [["B", "B", "B"]]], label=["A", "B"])
    >>> (first,) = batch_rounds(t)
    >>> first.round_of(0).votes, first.answers[first.first_answer()]
    ((0, 0, 1), 'A')
    >>> [counted.tolist() for counted in first.camp_trials("right", "exclude")]
    [[2, 3], [3, 3]]
    """

    number: int
    votes: NDArray[np.int32]
    label: NDArray[np.int32]
    played: Bools
    panel: Ints
    cluster: Ints
    tokens: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    answers: tuple[str, ...] | None = None
    confidence: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be >= 1; got number={self.number}")
        if self.votes.ndim != 2:
            raise ValueError(f"votes must have shape (debates, seats); got shape {self.votes.shape}")
        n = len(self.votes)
        for name in ("label", "played", "panel", "cluster", "tokens", "scores", "confidence"):
            array = getattr(self, name)
            if array is not None and len(array) != n:
                raise ValueError(f"{name} must have one value per debate ({n}); got {len(array)}")

    def __len__(self) -> int:
        return len(self.votes)

    def round_of(self, debate: int) -> Round:
        """Return what a per-debate rule sees of one debate."""
        votes = self.votes[debate, : int(self.panel[debate])].tolist()
        tokens = None if self.tokens is None else self.tokens[debate]
        answers = self.answers
        return Round(
            number=self.number,
            votes=tuple(votes),
            panel=len(votes),
            tokens=None if tokens is None or np.isnan(tokens) else float(tokens),
            scores=None
            if self.scores is None
            else tuple(None if np.isnan(s) else float(s) for s in self.scores[debate]),
            texts=None if answers is None else tuple(answers[v] if v != MISSING else None for v in votes),
            confidence=None
            if self.confidence is None
            else tuple(None if np.isnan(c) else float(c) for c in self.confidence[debate, : len(votes)]),
        )

    def first_answer(self) -> int:
        """Return the code of the answer whose text sorts first among the round's votes, ``MISSING`` without a vote.

        Texts are compared character by character, as Python compares strings; codes where there are no texts.
        """
        said = np.unique(self.votes[self.played]).tolist()
        codes = [code for code in said if code != MISSING]
        names = self.answers
        return min(codes, key=lambda code: code if names is None else names[code], default=MISSING)

    def camp_trials(self, camp: Camp, missing: Missing, first: int | None = None) -> tuple[Ints, Ints]:
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


Camp = Literal["right", "first", "largest"]
CAMPS = ("right", "first", "largest")
"""The votes that a batch rule counts: the right answer's, the first answer's, or the largest camp's of the round."""


def batch_rounds(trajectories: LogSource, **reading: Unpack[Reading]) -> Iterator[BatchRound]:
    """Yield the rounds of a whole log as a live batch rule would have seen them.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The log.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Yields
    ------
    BatchRound

    Examples
    --------
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["B", "B"], ["B", "B"]]])
    >>> [(latest.number, latest.votes.tolist()) for latest in batch_rounds(t)]
    [(1, [[0, 1], [1, 1]]), (2, [[0, 0], [1, 1]])]
    """
    trajectories = as_trajectories(trajectories, **reading)
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
            confidence=None if trajectories.confidence is None else trajectories.confidence[:, r],
        )


def rounds_of(trajectories: LogSource, debate: int, **reading: Unpack[Reading]) -> Iterator[Round]:
    """Yield the rounds of one logged debate as a live rule would have seen them.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The log whose rounds are read.
    debate : int
        Row of the debate in `trajectories`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Yields
    ------
    Round

    Examples
    --------
    >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["B", "B"], ["B", "B"]]])
    >>> [(latest.number, latest.votes) for latest in rounds_of(t, 0)]
    [(1, (0, 1)), (2, (0, 0))]
    """
    trajectories = as_trajectories(trajectories, **reading)
    row = integer("debate", debate, minimum=0)
    if row >= trajectories.n_debates:
        raise ValueError(f"debate must be below {trajectories.n_debates}; got debate={row}")
    for latest in batch_rounds(trajectories.select([row])):
        if latest.played[0]:
            yield latest.round_of(0)


class Watcher(Protocol):
    """The running side of a rule in a whole batch: a code per debate and round, 0 where it does not fire."""

    def update(self, latest: BatchRound, /) -> Codes:
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
"""The ways to follow a per-debate rule inside a batch: live, or over a log at once."""


class LiveWatcher:
    """Follow a per-debate rule live: one state per debate."""

    def __init__(self, rule: Rule, book: ReasonBook) -> None:
        self._rule, self._book = rule, book
        self._states: list[RuleState] = []

    def update(self, latest: BatchRound, /) -> Codes:
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
    """Follow a per-debate rule by its firings in a log."""

    def __init__(self, rule: Rule, book: ReasonBook, trajectories: Trajectories) -> None:
        firings = rule.firings(trajectories)
        table = np.array([0, *(book.code(reason) for reason in firings.reasons)], dtype=np.int16)
        self.by_round: Codes = np.ascontiguousarray(table[firings.codes].T)

    def update(self, latest: BatchRound, /) -> Codes:
        """Read the round's codes."""
        result: Codes = self.by_round[latest.number - 1] * latest.played
        return result


@dataclass
class _Replayed:
    """The same where nobody is hidden because of another rule: a round is its number."""

    by_round: Codes

    def update(self, latest: _Number, /) -> Codes:
        codes: Codes = self.by_round[latest.number - 1]
        return codes


class _Number(NamedTuple):
    number: int


class BatchState(Protocol):
    """The running side of a batch rule."""

    def update(self, latest: BatchRound, /) -> Decision:
        """Take the next round of all debates and say whether all of them should stop after it."""
        ...


class _WholeBatch(StoppingRule):
    """A rule that has to see the whole batch."""

    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why."""
        trajectories = self.shown(as_trajectories(trajectories))
        state = MixedState(self, lambda part, book: LoggedWatcher(part, book, trajectories))
        rounds = trajectories.depth.copy()
        reasons = np.full(trajectories.n_debates, str(StopReason.EXHAUSTED), dtype=object)
        for latest in batch_rounds(trajectories):
            decisions = state.update(latest)
            rounds[decisions.stop] = latest.number
            reasons[decisions.stop] = decisions.reasons[decisions.stop]
            if state.stopped is not None and state.stopped.all():
                break
        return Stops(rounds, reasons.astype(np.str_))


class BatchRule(_WholeBatch):
    """A rule that takes one decision for a whole batch of debates; it may need labels.

    A new one is a frozen dataclass with the same texts as :class:`~d3stats.stopping.Rule` and one method,
    :meth:`start`.

    Examples
    --------
    >>> from d3stats.stopping import KSStability
    >>> t = Trajectories.from_arrays([[[1, 1], [1, 0], [1, 0]]] * 9, label=[1] * 9)
    >>> rule = KSStability(0.05, patience=1)
    >>> rule.stop_rounds(t).rounds[:2].tolist()
    [3, 3]
    >>> state = rule.start()
    >>> [state.update(latest).stop for latest in batch_rounds(t)]
    [False, False, True]
    """

    reason: ClassVar[str]

    @abstractmethod
    def start(self, watch: Watch = LiveWatcher) -> BatchState:
        """Open a batch; leave `watch` as it is, it says how a per-debate rule inside is followed."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Which debates of a batch stop after this round, and why ("" where they do not).

    Attributes
    ----------
    stop : ndarray of bool, shape (debates,)
        Which debates stop.
    reasons : ndarray of str, shape (debates,)
        Why, "" where they do not.

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> t = Trajectories.from_arrays([[["A", "B"]], [["B", "B"]]])
    >>> state = Unanimity().start_batch()
    >>> decided = state.update(next(batch_rounds(t)))
    >>> decided.stop.tolist(), decided.reasons.tolist()
    ([False, True], ['', 'unanimity'])
    """

    stop: Bools
    reasons: NDArray[np.str_]


class MixedState:
    """The running side of any rule in a batch; remembers who has stopped and hides their later votes."""

    def __init__(self, rule: StoppingRule, watch: Watch) -> None:
        self._book = ReasonBook()
        self._watcher = _watcher(rule, watch, self._book)
        self.stopped: Bools | None = None

    def update(self, latest: BatchRound, /) -> Decisions:
        """Take the next round of all debates and say which of them stop after it."""
        if self.stopped is None:
            self.stopped = np.zeros(len(latest), dtype=bool)
        shown = replace(latest, played=latest.played & ~self.stopped)
        codes = np.where(shown.played, self._watcher.update(shown), 0)
        stop = codes > 0
        self.stopped = self.stopped | stop
        return Decisions(stop, self._book.names("")[codes])


@dataclass
class _BroadcastWatcher:
    """A batch rule's one decision, said of every debate."""

    state: BatchState
    book: ReasonBook

    def update(self, latest: BatchRound, /) -> Codes:
        decision = self.state.update(latest)
        code = self.book.code(decision.reason) if decision.stop else 0
        return np.full(len(latest), code, dtype=np.int16)


def _watcher(rule: StoppingRule, watch: Watch, book: ReasonBook) -> Watcher:
    if isinstance(rule, Rule):
        return watch(rule, book)
    if isinstance(rule, BatchRule):
        return _BroadcastWatcher(rule.start(watch), book)
    if isinstance(rule, MixedRule):
        joined: Watcher = rule._joined([_watcher(part, watch, book) for part in rule._joins()])
        return joined
    raise TypeError(f"rule must be a Rule, a BatchRule or a combination of them; got {rule!r}")


class _Combination(StoppingRule):
    """A rule made of rules. Its state is made of theirs, in one debate and in a batch alike."""

    inputs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def _joined(self, states: Sequence[Any]) -> Any:
        """Return the state made of those of the parts."""

    def _joins(self) -> list[StoppingRule]:
        """Return the parts, in order."""
        values = (getattr(self, parameter.name) for parameter in fields(self))  # type: ignore[arg-type]  # every rule is a dataclass
        return [value for value in values if isinstance(value, StoppingRule)]

    def _part_text(self, part: StoppingRule, binding: int) -> str:
        """Return a part as text, in brackets where it binds less tightly than asked."""
        return str(part) if part.binding >= binding else f"({part})"


class _DebateCombination(_Combination, Rule):
    """A combination of per-debate rules."""

    def start(self) -> RuleState:
        """Open a debate."""
        state: RuleState = self._joined([part.start() for part in self._joins() if isinstance(part, Rule)])
        return state

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the rounds in which the combination fires, and why."""
        book, t = ReasonBook(), trajectories
        logged = [LoggedWatcher(part, book, t) for part in self._joins() if isinstance(part, Rule)]
        state = self._joined([_Replayed(one.by_round) for one in logged])
        by_round = np.zeros((t.n_rounds, t.n_debates), dtype=np.int16)
        for r in range(t.n_rounds):
            by_round[r] = state.update(_Number(r + 1))
        return Firings(np.ascontiguousarray(by_round.T) * t.reached(), tuple(book.codes))

    def fires(self, trajectories: Trajectories) -> Bools:
        """Say in which rounds the combination fires."""
        result: Bools = self.firings(trajectories).codes > 0
        return result


class MixedRule(_Combination, _WholeBatch):
    """A combination with a batch rule in it: decides debate by debate, with the whole batch in view.

    Examples
    --------
    >>> from d3stats.stopping import KSStability, Unanimity
    >>> t = Trajectories.from_arrays([[[1, 1], [1, 0], [1, 0]]] * 9, label=[1] * 9)
    >>> rule = Unanimity().after(2) | KSStability(0.05, patience=1)
    >>> str(rule), rule.stop_rounds(t).reasons[:1].tolist()
    ('unanimity.after(2) | ks:0.05,patience=1', ['ks_stable'])
    >>> state = rule.start()
    >>> [bool(state.update(latest).stop.all()) for latest in batch_rounds(t)]
    [False, False, True]
    """

    def start(self) -> MixedState:
        """Open a batch."""
        return self.start_batch()


# A signal is what a state says of a round: the Decision of one debate, or a code for each debate of a batch.


def _or(first: Any, second: Any) -> Any:
    """Return the first signal where it fires, else the second."""
    if isinstance(first, Decision):
        return first if first.stop else second
    return np.where(first > 0, first, second)


def _then(first: Any, second: Any) -> Any:
    """Return the second signal where the first fires, else none."""
    if isinstance(first, Decision):
        return second if first.stop else CONTINUE
    return np.where(first > 0, second, np.int16(0))


def _none(signal: Any) -> Any:
    return CONTINUE if isinstance(signal, Decision) else np.zeros_like(signal)


@dataclass
class _EitherState:
    left: Any
    right: Any

    def update(self, latest: Any, /) -> Any:
        # Both see every round: a part that misses one would count wrongly later.
        return _or(self.left.update(latest), self.right.update(latest))


@dataclass
class _BothState:
    left: Any
    right: Any
    left_fired: Any = None
    right_fired: Any = None
    complete: Any = None

    def update(self, latest: Any, /) -> Any:
        first, second = self.left.update(latest), self.right.update(latest)
        if self.complete is None:
            self.left_fired = self.right_fired = self.complete = _none(first)
        before = self.left_fired
        self.left_fired, self.right_fired = _or(before, first), _or(self.right_fired, second)
        later = _or(_then(before, self.right_fired), _then(self.right_fired, self.left_fired))
        self.complete = _or(self.complete, later)
        return self.complete


@dataclass
class _AfterState:
    inner: Any
    rounds: int

    def update(self, latest: Any, /) -> Any:
        signal = self.inner.update(latest)
        return signal if latest.number >= self.rounds else _none(signal)


@dataclass(frozen=True)
class _Either(_Combination):
    left: StoppingRule
    right: StoppingRule

    binding: ClassVar[int] = 1

    @property
    def earliest(self) -> int:
        return min(self.left.earliest, self.right.earliest)

    def _joined(self, states: Sequence[Any]) -> _EitherState:
        """Return the state made of those of the parts."""
        return _EitherState(*states)

    def __str__(self) -> str:
        return f"{self._part_text(self.left, 1)} | {self._part_text(self.right, 2)}"


@dataclass(frozen=True)
class _Both(_Combination):
    left: StoppingRule
    right: StoppingRule

    binding: ClassVar[int] = 2

    @property
    def earliest(self) -> int:
        return max(self.left.earliest, self.right.earliest)

    def _joined(self, states: Sequence[Any]) -> _BothState:
        """Return the state made of those of the parts."""
        return _BothState(*states)

    def __str__(self) -> str:
        return f"{self._part_text(self.left, 2)} & {self._part_text(self.right, 3)}"


@dataclass(frozen=True)
class _After(_Combination):
    inner: StoppingRule
    rounds: PositiveInt

    @property
    def earliest(self) -> int:
        return max(self.inner.earliest, self.rounds)

    def _joined(self, states: Sequence[Any]) -> _AfterState:
        """Return the state made of that of the part."""
        (inner,) = states
        return _AfterState(inner, self.rounds)

    def __str__(self) -> str:
        return f"{self._part_text(self.inner, 3)}.after({self.rounds})"


class Either(_Either, _DebateCombination):
    """Fires in a round where either rule fires; `left` gives the reason when both do.

    Attributes
    ----------
    left, right : StoppingRule
        The two rules.

    Examples
    --------
    >>> from d3stats.stopping import FixedRounds, Unanimity
    >>> Either(Unanimity(), FixedRounds(3)) == Unanimity() | FixedRounds(3)
    True
    >>> (Unanimity() | FixedRounds(2)).run([Round(1, (0, 1), 2), Round(2, (0, 1), 2)])
    (2, 'fixed_rounds')
    """

    left: Rule
    right: Rule


class Both(_Both, _DebateCombination):
    """Fires from the round on by which each rule has fired at least once; the later one gives the reason.

    Attributes
    ----------
    left, right : StoppingRule
        The two rules.

    Examples
    --------
    >>> from d3stats.stopping import FixedRounds, Unanimity
    >>> Both(Unanimity(), FixedRounds(2)) == Unanimity() & FixedRounds(2)
    True
    >>> (Unanimity() & FixedRounds(2)).run([Round(1, (0, 0), 2), Round(2, (0, 1), 2)])
    (2, 'fixed_rounds')
    """

    left: Rule
    right: Rule


class After(_After, _DebateCombination):
    """The rule with its firings before `rounds` rounds are played ignored.

    Attributes
    ----------
    inner : StoppingRule
        The rule.
    rounds : int
        The first round after which it may stop the debate.

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> After(Unanimity(), 2) == Unanimity().after(2)
    True
    >>> Unanimity().after(2).run([Round(1, (0, 0), 2), Round(2, (0, 0), 2)])
    (2, 'unanimity')
    """

    inner: Rule


class BatchEither(_Either, MixedRule):
    """:class:`Either` with a batch rule in it."""


class BatchBoth(_Both, MixedRule):
    """:class:`Both` with a batch rule in it."""


class BatchAfter(_After, MixedRule):
    """:class:`After` of a rule with a batch rule in it."""
