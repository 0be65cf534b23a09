"""What a stopping rule is: an immutable value with two faces and one meaning.

Online, ``state = rule.start()`` and then ``state.update(round)`` after every round that is played.
Vectorised, ``rule.stop_rounds(trajectories)`` for a whole log. A property test holds the two equal.

Rules count rounds *played*: a rule that stops after the first votes stops at 1. A rule that never fires stops
at the debate's depth with the reason ``"exhausted"``. A state may be updated after it has fired (``&`` and
``after`` need that), so firing is a statement about a round, not the end of the state.

Who may live in this folder: rules only, one family per file. What a rule costs is asked in ``planning``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import integer
from d3stats.trajectories import MISSING, LogSource, Trajectories, as_trajectories

__all__ = [
    "CONTINUE",
    "Decision",
    "Firings",
    "Round",
    "Rule",
    "RuleState",
    "StopReason",
    "StoppingRule",
    "Stops",
    "rounds_of",
]

Codes = NDArray[np.int16]


class StopReason(StrEnum):
    """Why a debate stopped, as written to logs and tables; a new family adds its string in its own file."""

    EXHAUSTED = "exhausted"
    FIXED_ROUNDS = "fixed_rounds"
    UNANIMITY = "unanimity"
    KS_STABLE = "ks_stable"
    KS_EQUIVALENT = "ks_equivalent"


@dataclass(frozen=True, slots=True)
class Round:
    """What a rule for one debate may see of one round; never the label.

    Attributes
    ----------
    number : int
        Rounds played so far, this one included; the first is 1.
    votes : tuple of int
        One answer code per seat of the panel, ``MISSING`` (-1) where there is no vote.
    panel : int
        How many agents sit on the panel.
    tokens : float or None
        Prompt plus completion tokens of the round; None when not recorded.
    scores : tuple of (float or None), or None
        Raw points per side.
    texts : tuple of (str or None), or None
        What each seat answered, in words; None where there is no vote.
    """

    number: int
    votes: tuple[int, ...]
    panel: int
    tokens: float | None = None
    scores: tuple[float | None, ...] | None = None
    texts: tuple[str | None, ...] | None = None

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
        if self.tokens is not None and not 0 <= self.tokens < float("inf"):
            raise ValueError(
                f"tokens must be finite and >= 0, or None when not recorded; got tokens={self.tokens}"
            )
        if any(vote < MISSING for vote in self.votes):
            raise ValueError(f"votes must be codes >= {MISSING}; got votes={self.votes}")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop after this round, why, and the numbers behind it (by name, in `detail`)."""

    stop: bool
    reason: str | None = None
    detail: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


CONTINUE = Decision(stop=False)
"""Go on, with nothing to report."""


class RuleState(Protocol):
    """The running side of a rule in one debate."""

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
    """

    rounds: NDArray[np.int64]
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
    """In which rounds a per-debate rule says stop, and why: what combinations of rules are computed from.

    Attributes
    ----------
    codes : ndarray of int16, shape (debates, rounds)
        0 where the rule does not fire, i where it fires for ``reasons[i - 1]``.
    reasons : tuple of str
    """

    codes: Codes
    reasons: tuple[str, ...]

    def recoded(self, reasons: tuple[str, ...]) -> Codes:
        """Return the codes in another vocabulary that holds these reasons."""
        table = np.array([0, *(reasons.index(reason) + 1 for reason in self.reasons)], dtype=np.int16)
        result: Codes = table[self.codes]
        return result


class StoppingRule(ABC):
    """Any rule: :class:`Rule` (one debate at a time) or one that needs the whole batch (see ``batch``).

    Attributes
    ----------
    name : str
        How the rule is written on the command line and in tables.
    citation, statistic, guarantee : str
        Where the rule is from, what it looks at, and what it promises ("none" is an answer).
    """

    name: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    statistic: ClassVar[str] = ""
    guarantee: ClassVar[str] = ""
    inputs: ClassVar[frozenset[str]] = frozenset({"votes"})
    """What the rule itself looks at, of "votes", "texts", "scores" and "tokens"; see `reads`."""
    binding: ClassVar[int] = 3
    """How tightly the text of the rule binds: 1 as ``|``, 2 as ``&``, 3 as a name or ``.after(n)``."""

    @property
    def needs_labels(self) -> bool:
        """Whether the rule looks at the right answers, which a running debate does not have."""
        return False

    @property
    def reads(self) -> frozenset[str]:
        """What the rule and its parts look at: of "votes", "texts" (votes in words), "scores", "tokens", "labels".

        Examples
        --------
        >>> from d3stats.stopping import from_text
        >>> sorted(from_text("unanimity | token_budget:5000").reads)
        ['tokens', 'votes']
        """
        found = frozenset[str]().union(*(part.inputs for part in self.parts()))
        return found | {"labels"} if any(part.needs_labels for part in self.parts()) else found

    @abstractmethod
    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why."""

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Return one sentence for each thing that a reader of this rule's stops on a log has to know."""
        return ()

    def __str__(self) -> str:
        shown = []
        for at, parameter in enumerate(fields(self)):  # type: ignore[arg-type]  # every rule is a dataclass
            value = getattr(self, parameter.name)
            default = parameter.default
            first_number = at == 0 and isinstance(value, (int, float))
            if not first_number and default is not NO_DEFAULT and value == default:
                continue
            text = f"({value})" if isinstance(value, StoppingRule) else str(value)
            shown.append(text if first_number else f"{parameter.name}={text}")
        return f"{self.name}:{','.join(shown)}" if shown else self.name

    def parts(self) -> Iterator[StoppingRule]:
        """Yield the rule and every rule that it is made of."""
        yield self
        for parameter in fields(self):  # type: ignore[arg-type]  # every rule is a dataclass
            value = getattr(self, parameter.name)
            if isinstance(value, StoppingRule):
                yield from value.parts()

    def written(self, binding: int) -> str:
        """Return the rule as text, in brackets where it binds less tightly than asked."""
        return str(self) if self.binding >= binding else f"({self})"

    def __or__(self, other: StoppingRule) -> StoppingRule:
        from d3stats.stopping.batch import BatchEither

        return BatchEither(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def __and__(self, other: StoppingRule) -> StoppingRule:
        from d3stats.stopping.batch import BatchBoth

        return BatchBoth(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def after(self, rounds: int) -> StoppingRule:
        """Return the same rule with its firings before `rounds` rounds are played ignored."""
        from d3stats.stopping.batch import BatchAfter

        return BatchAfter(self, rounds)


class Rule(StoppingRule):
    """A rule that decides each debate by that debate's own rounds.

    A new rule is a frozen dataclass with ``name, citation, statistic, guarantee, reason`` and two methods:
    :meth:`start` (online) and :meth:`fires` (vectorised). Combine rules with

    ``a | b``
        fires in a round where either fires; the reason is the one that fired, `a`'s when both do.
    ``a & b``
        latched: fires from the round on by which each has fired at least once, so the debate stops at the
        later of the two stops; the reason is the later one's, `a`'s when both come at once.
    ``a.after(rounds)``
        ignores the firings of `a` before that many rounds are played.
    """

    reason: ClassVar[str]

    @abstractmethod
    def start(self) -> RuleState:
        """Open a debate."""

    @abstractmethod
    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Say after which rounds the rule fires, shape (debates, rounds), had the debate gone on."""

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return :meth:`fires` with the reasons; rounds that were not played never fire."""
        fired = self.fires(trajectories) & trajectories.reached()
        return Firings(fired.astype(np.int16), (str(self.reason),))

    def stop_rounds(self, trajectories: LogSource) -> Stops:
        """Say after how many rounds each logged debate would have stopped, and why.

        Takes whatever :func:`d3stats.as_trajectories` takes.

        Examples
        --------
        >>> from d3stats.stopping import Unanimity
        >>> t = Trajectories.from_arrays([[["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]]])
        >>> Unanimity().stop_rounds(t).rounds.tolist(), Unanimity().stop_rounds(t).reasons.tolist()
        ([2, 2], ['unanimity', 'exhausted'])
        """
        trajectories = as_trajectories(trajectories)
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
        from d3stats.stopping.combine import Either

        return Either(self, other) if isinstance(other, Rule) else super().__or__(other)

    @overload
    def __and__(self, other: Rule) -> Rule: ...
    @overload
    def __and__(self, other: StoppingRule) -> StoppingRule: ...
    def __and__(self, other: StoppingRule) -> StoppingRule:
        from d3stats.stopping.combine import Both

        return Both(self, other) if isinstance(other, Rule) else super().__and__(other)

    def after(self, rounds: int) -> Rule:
        """Return the same rule with its firings before `rounds` rounds are played ignored."""
        from d3stats.stopping.combine import After

        return After(self, rounds)


def first_firing(codes: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Return each row's first nonzero code (0 if none) and where it stands."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), np.int16), np.zeros(len(codes), np.int64)
    at = (codes > 0).argmax(axis=1)
    return np.take_along_axis(codes, at[:, None], axis=1)[:, 0], at


def rounds_of(trajectories: LogSource, debate: int) -> Iterator[Round]:
    """Yield the rounds of one logged debate as an online rule would have seen them.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
    debate : int
        Row of the debate in `trajectories`.
    """
    trajectories = as_trajectories(trajectories)
    row = integer("debate", debate, minimum=0)
    if row >= trajectories.n_debates:
        raise ValueError(f"debate must be below {trajectories.n_debates}; got debate={row}")
    panel = int(trajectories.panel[row])
    for r in range(int(trajectories.depth[row])):
        yield round_from_arrays(
            r + 1,
            trajectories.votes[row, r, :panel],
            None if trajectories.tokens is None else trajectories.tokens[row, r],
            None if trajectories.scores is None else trajectories.scores[row, r],
            trajectories.answers,
        )


def round_from_arrays(
    number: int,
    votes: NDArray[np.int32],
    tokens: Any | None,
    scores: NDArray[np.float64] | None,
    answers: tuple[str, ...] | None = None,
) -> Round:
    """Turn one round's arrays, NaN for missing, into the value that online rules take."""
    return Round(
        number=number,
        votes=tuple(votes.tolist()),
        panel=len(votes),
        tokens=None if tokens is None or np.isnan(tokens) else float(tokens),
        scores=None if scores is None else tuple(None if np.isnan(s) else float(s) for s in scores),
        texts=None
        if answers is None
        else tuple(answers[v] if v != MISSING else None for v in votes.tolist()),
    )
