"""Stop when it is known well enough how often the gap grows: D3's Beta posterior, read for what it is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import (
    Finite,
    NonNegativeFloat,
    NonNegativeInt,
    OpenProbability,
    PositiveFloat,
    PositiveInt,
    integer,
)
from d3stats.models.gaps.beta import BetaGap
from d3stats.models.gaps.posterior import ascents
from d3stats.stopping.rule import CONTINUE, Decision, MemorylessRule, ReasonedRule, Round, Rule
from d3stats.stopping.tokens import TOKENS_UNKNOWN
from d3stats.trajectories import MISSING, Trajectories

__all__ = [
    "BudgetedStopping",
    "Declaration",
    "GapPosterior",
    "JudgeSPRT",
    "ScoreDeclaration",
    "SignAgreement",
    "WideGap",
]


def gap_of(rule: str, latest: Round) -> float | None:
    """Return one round's gap in raw points, None where a score is missing or not finite."""
    if latest.scores is None or len(latest.scores) != 2:
        raise _refusal(rule, None if latest.scores is None else len(latest.scores))
    left, right = latest.scores
    if left is None or right is None:
        return None
    gap = left - right
    return gap if math.isfinite(gap) else None


def gaps_of(rule: str, trajectories: Trajectories) -> NDArray[np.float64]:
    """Return the gaps in raw points, shape (debates, rounds), NaN where a score is missing."""
    scores = trajectories.scores
    if scores is None or scores.shape[2] != 2:
        raise _refusal(rule, None if scores is None else scores.shape[2])
    gaps: NDArray[np.float64] = scores[:, :, 0] - scores[:, :, 1]
    return gaps


def _refusal(rule: str, sides: int | None) -> ValueError:
    return ValueError(
        f"scores must be given for two sides, because {rule} compares their points; got {scores_got(sides)}"
    )


def scores_got(sides: int | None) -> str:
    """Say in an error how many sides have scores, None for a log without any."""
    return "no scores" if sides is None else f"scores of {sides} side{'s' * (sides != 1)}"


@dataclass(frozen=True)
class GapPosterior(Rule):
    """Stop when the posterior of P(the gap grows) is concentrated: P(abs(delta - mean) < width) >= level.

    The gap of a round is abs(s1 - s2), in raw points. After r comparisons of a gap with the one before, of which
    w found it larger, delta has the posterior Beta(a + w, b + r - w).

    This is a posterior of the probability that the gap grows from round to round, not of the gap. Gaps that
    change independently from round to round give a mean near 1/2 at any size; a gap that grows slowly from 0 to
    0.1 gives a mean near 1. The rule therefore stops because the trend is known, not because one side is ahead.
    The posterior treats the comparisons as independent with one constant chance, which is not true of gaps.

    Parameters
    ----------
    level : float
        Posterior probability asked for, in (0, 1).
    width : float
        Half-width of the band around the posterior mean, in (0, 1).
    a, b : float
        Prior, above 0.

    Notes
    -----
    D3, Definition 1, with the criterion taken as posterior mass around the mean; the standard deviation alone
    is not monotone in the number of rounds either. The first round has no gap before it and is no comparison.
    Where a score is missing there is no gap, and the next known gap is compared with the last known one.
    With the defaults the rule cannot fire before round 7, and then only if the gap grew every time or never.

    Examples
    --------
    >>> rule = GapPosterior(level=0.9, width=0.25)
    >>> rising = [Round(r, (0,), 1, scores=(50.0 + r, 50.0)) for r in range(1, 9)]
    >>> rule.run(rising)
    (4, 'gap_posterior')
    >>> round(rule.mass(3, 3), 3)
    0.908
    """

    level: OpenProbability = 0.95
    width: OpenProbability = 0.25
    a: PositiveFloat = 1.0
    b: PositiveFloat = 1.0

    name: ClassVar[str] = "gap_posterior"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = (
        "Harrasse, Bandi and Bandi, Debate, Deliberate, Decide (D3), Definition 1: Beta posterior"
    )
    statistic: ClassVar[str] = "posterior probability within `width` of the mean of Beta(a + w, b + r - w)"
    guarantee: ClassVar[str] = (
        "none on the verdict; it measures how often the gap grows, not which answer leads"
    )
    reason: ClassVar[str] = "gap_posterior"

    def start(self) -> _State:
        """Open a debate without a gap."""
        return _State(self)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the posterior is concentrated."""
        gaps = np.abs(gaps_of(self.name, trajectories))
        grown, compared, _ = ascents(gaps, None)
        result: NDArray[np.bool_] = _concentrated(self, gaps.shape[1])[compared, grown]
        return result

    def mass(self, grown: int, compared: int) -> float:
        """Return the posterior probability within `width` of the mean after `compared` comparisons."""
        return float(_posterior(self, grown, compared).prob_near_mean(self.width))


def _posterior(rule: GapPosterior, grown: ArrayLike, compared: ArrayLike) -> BetaGap:
    return BetaGap.from_successes(grown, compared, a0=rule.a, b0=rule.b)


@lru_cache(maxsize=256)
def _concentrated(rule: GapPosterior, size: int) -> NDArray[np.bool_]:
    compared, grown = np.indices((size + 1, size + 1))
    mass = _posterior(rule, np.minimum(grown, compared), compared).prob_near_mean(rule.width)
    return mass >= rule.level


@dataclass
class _State:
    rule: GapPosterior
    last: float | None = None
    grown: int = 0
    compared: int = 0

    def update(self, latest: Round, /) -> Decision:
        gap = gap_of(self.rule.name, latest)
        if gap is not None:
            if self.last is not None:
                self.compared += 1
                self.grown += abs(gap) > self.last
            self.last = abs(gap)
        mass = self.rule.mass(self.grown, self.compared)
        return CONTINUE if mass < self.rule.level else self.rule.stop(mass=mass)


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
    right with probability p^2 (1 + q) / (1 - pq), after (2 + pq) / (1 - pq) rounds on average. At p = .7
    these are .80633 and 2.7975; the majority of three rounds is right with probability .784.

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

    patience: PositiveInt = 2

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

    @property
    def earliest(self) -> int:
        return self.patience

    def start(self) -> _SignAgreementState:
        """Open a debate."""
        return _SignAgreementState(self)

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
class _SignAgreementState:
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
        return self.rule.stop(gap=gap, side=side) if self.running == self.rule.patience else CONTINUE


@dataclass(frozen=True)
class WideGap(MemorylessRule):
    """Stop when the score gap is at least so many points wide in one of the first rounds.

    The gap is abs(side 0 minus side 1) in raw points. In a debate whose first round is one protocol and whose later
    rounds are another, this rule chooses between the two: a narrow gap leads to the more expensive protocol.

    Parameters
    ----------
    points : float
        The narrowest gap that stops, at least 0; 0 stops every debate whose scores are known.
    within : int
        The last round in which the rule may stop; 1 by default.

    Notes
    -----
    D3, 5.5, advises SAMRE where the judge's first gap is below 25 points and MORE elsewhere. The paper does not say
    on which scale; a judge's total runs from 6 to 120. A round with a missing score has no gap and does not stop.

    Raises
    ------
    ValueError
        When played on a log without scores of two sides.

    Examples
    --------
    >>> WideGap(25).run([Round(1, (), 0, scores=(90, 60)), Round(2, (), 0, scores=(80, 75))])
    (1, 'wide_gap')
    >>> WideGap(25).run([Round(1, (), 0, scores=(80, 75)), Round(2, (), 0, scores=(90, 60))])
    (2, 'exhausted')
    """

    points: NonNegativeFloat = 25.0
    within: PositiveInt = 1

    name: ClassVar[str] = "wide_gap"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = (
        "Harrasse, Bandi and Bandi, Debate, Deliberate, Decide (D3), 5.5: which protocol for which gap"
    )
    statistic: ClassVar[str] = "abs(score gap) in the first `within` rounds"
    guarantee: ClassVar[str] = "none; risk_controlled chooses `points` with one"
    reason: ClassVar[str] = "wide_gap"

    def update(self, latest: Round, /) -> Decision:
        """Stop when the latest round is early enough and its gap wide enough."""
        gap = gap_of(self.name, latest)
        if gap is None or latest.number > self.within or abs(gap) < self.points:
            return CONTINUE
        return self.stop(gap=gap)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every early round with a wide gap."""
        gaps = np.abs(gaps_of(self.name, trajectories))
        gaps[:, self.within :] = np.nan
        result: NDArray[np.bool_] = gaps >= self.points
        return result


@dataclass(frozen=True)
class BudgetedStopping(ReasonedRule):
    """Stop when the score gap has settled, the token budget is exceeded or the last round is played.

    The gap is side 0 minus side 1 in raw points. It is stable after a round when the gaps of the last
    `window` rounds differ by less than `epsilon`: max - min < epsilon. A round with a missing score is no
    evidence: no window that holds it is stable.

    Parameters
    ----------
    epsilon : float
        Points, above 0; the range of the gaps must be strictly below it.
    window : int
        Rounds compared, at least 2.
    min_rounds : int
        Rounds before the gap may be called stable; the budget and the cap do not wait for it.
    absolute : bool
        Compare abs(gap), which forgets who leads: +3 to -3 counts as no change.
    refuse_trend : bool
        Not stable while the compared gaps rise strictly or fall strictly over the whole window. With a window
        of 2 that leaves equal gaps only.
    budget : float, optional
        Stop once the tokens spent so far are more than this. A debate may exceed it by one round.
    max_rounds : int, optional
        Stop after this round.

    Notes
    -----
    The reason is the first that holds of ``"gap_stable"``, ``"token_budget"``, ``"round_cap"``, the order of
    the paper's Algorithm 2. Its released code asks in the opposite order, which changes the reason and never the
    round. With a budget, a debate also stops where the tokens of a round are not recorded, with the reason
    ``"tokens_unknown"``, because an unknown cost cannot be compared with a budget.

    Raises
    ------
    ValueError
        When played on a log without scores of two sides or, with a budget, on a log without tokens.

    Examples
    --------
    >>> def played(*gaps):
    ...     return [Round(i + 1, (), 0, scores=(50 + gap, 50)) for i, gap in enumerate(gaps)]
    >>> BudgetedStopping.d3_paper().run(played(3, 4, 4, 4))
    (2, 'gap_stable')
    >>> BudgetedStopping.d3_code().run(played(3, 4, 4, 4))
    (3, 'gap_stable')
    >>> BudgetedStopping.d3_paper().run(played(3, -3, 3, -3, 3))
    (5, 'round_cap')
    >>> BudgetedStopping.d3_code().run(played(3, -3, 3, -3, 3))
    (3, 'gap_stable')
    """

    epsilon: Finite = 3.0
    window: Annotated[int, partial(integer, minimum=2)] = 2
    min_rounds: PositiveInt = 1
    absolute: bool = False
    refuse_trend: bool = False
    budget: NonNegativeFloat | None = None
    max_rounds: PositiveInt | None = None

    name: ClassVar[str] = "budgeted"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores", "tokens"})
    citation: ClassVar[str] = (
        "Harrasse, Bandi and Bandi, Debate, Deliberate, Decide (D3), 2.2 and Algorithm 2"
    )
    statistic: ClassVar[str] = "range of the score gap over the last rounds; tokens and rounds so far"
    guarantee: ClassVar[str] = "at most max_rounds rounds and one round over the budget; none on the verdict"
    reason: ClassVar[str] = "gap_stable"
    presets: ClassVar[tuple[str, ...]] = ("d3_paper", "d3_code")
    reasons: ClassVar[tuple[str, ...]] = ("gap_stable", "token_budget", TOKENS_UNKNOWN, "round_cap")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon <= 0:
            raise ValueError(
                f"epsilon must be above 0, because the range must be below it; got epsilon={self.epsilon}"
            )

    @classmethod
    def d3_paper(
        cls, epsilon: float = 3.0, budget: float | None = None, max_rounds: int = 5
    ) -> BudgetedStopping:
        """Return D3's rule as the paper states it: stop when the signed gap of two rounds has settled, at the
        latest after 5 rounds.

        The rule may stop at round 2, as it does for 58 % in the paper. The paper gives no epsilon, and does not say
        whether a difference of exactly epsilon is stable. Less than 3 points, on a scale from 6 to 120, is what the
        released code has in its settings.
        """
        return cls(epsilon, window=2, budget=budget, max_rounds=max_rounds)

    @classmethod
    def d3_code(
        cls, epsilon: float = 3.0, budget: float | None = None, max_rounds: int = 5
    ) -> BudgetedStopping:
        """Return D3's rule as its code (abirharrasse/D3-Judge) has it: as the paper's, but on absolute gaps of
        three rounds.

        Absolute gaps of 3 rounds, no strict trend, and the defaults of its settings. Its debate driver passes
        5 points and 7 rounds instead, ``d3_code(5, max_rounds=7)``; it counts every round as 0 tokens, so that
        its budget never binds; and it scores an unreadable round as a gap of 0, which is not copied.
        """
        return cls(
            epsilon,
            window=3,
            min_rounds=3,
            absolute=True,
            refuse_trend=True,
            budget=budget,
            max_rounds=max_rounds,
        )

    @property
    def earliest(self) -> int:
        first = max(self.window, self.min_rounds) if self.budget is None else 1
        return first if self.max_rounds is None else min(first, self.max_rounds)

    def start(self) -> _BudgetedState:
        """Open a debate."""
        return _BudgetedState(self)

    def conditions(self, trajectories: Trajectories) -> tuple[NDArray[np.bool_], ...]:
        """Say where the gap is stable, the budget exceeded and the cap reached."""
        gaps = gaps_of(self.name, trajectories)
        stable, over, unknown, capped = (np.zeros(gaps.shape, dtype=bool) for _ in self.reasons)
        first = max(self.window, self.min_rounds)
        if first <= trajectories.n_rounds:
            n = trajectories.n_rounds + 1 - first
            windows = [gaps[:, first - back : first - back + n] for back in range(self.window, 0, -1)]
            stable[:, first - 1 :] = _stable(self, windows)
        if self.budget is not None:
            spent = _tokens_so_far(trajectories)
            over, unknown = spent > self.budget, np.isnan(spent)
        if self.max_rounds is not None:
            capped[:, self.max_rounds - 1 :] = True
        return stable, over, unknown, capped


@dataclass
class _BudgetedState:
    rule: BudgetedStopping
    gaps: tuple[float | None, ...] = ()
    spent: float = 0.0

    def update(self, latest: Round, /) -> Decision:
        rule = self.rule
        gap = gap_of(rule.name, latest)
        self.gaps = (*self.gaps, gap)[-rule.window :]
        if rule.budget is not None:
            self.spent += np.nan if latest.tokens is None else latest.tokens
        ready = len(self.gaps) == rule.window and latest.number >= rule.min_rounds
        holds = (
            ready and bool(_stable(rule, [np.nan if gap is None else gap for gap in self.gaps])),
            rule.budget is not None and self.spent > rule.budget,
            bool(np.isnan(self.spent)),
            rule.max_rounds is not None and latest.number >= rule.max_rounds,
        )
        return rule.decision(holds, {} if gap is None else {"gap": gap})


def _stable(
    rule: BudgetedStopping, gaps: Sequence[NDArray[np.float64]] | Sequence[float]
) -> NDArray[np.bool_]:
    """Say whether the gaps of a window, oldest first, are stable; a NaN among them says they are not."""
    seen = np.abs(gaps) if rule.absolute else np.asarray(gaps)
    result: NDArray[np.bool_] = seen.max(axis=0) - seen.min(axis=0) < rule.epsilon
    if rule.refuse_trend:
        steps = np.diff(seen, axis=0)
        result = result & ~(steps > 0).all(axis=0) & ~(steps < 0).all(axis=0)
    return result


def _tokens_so_far(t: Trajectories) -> NDArray[np.float64]:
    if t.tokens is None:
        raise ValueError(
            "tokens must be recorded, because budgeted compares them with a budget; got none in the log"
        )
    result: NDArray[np.float64] = np.cumsum(np.where(t.reached(), t.tokens, 0.0), axis=1)
    return result


@dataclass(frozen=True)
class Declaration(MemorylessRule):
    """Stop when the judge's seat has cast a vote: a judge that wants to hear more casts none, or says so.

    Parameters
    ----------
    seat : int
        Seat of the judge, from 0, or from the end of the debate's own panel if negative; -1, the default, is
        the last seat that is taken. In a log, agents who vote have seats in the order of their names, so the last
        seat is that of the last name; a replay's notes say whose it is. In a debate without that seat the rule
        never stops.
    undecided : str
        The answer by which the judge of this log asks for another round, if that is a vote like any other, as
        ``"no preference"`` is in the logs that Liang et al. released. Words; a rule's text has ``_`` for spaces.

    Raises
    ------
    ValueError
        When `undecided` is given and the log says only which votes were right (``coding="correctness"``). Also when
        the seat counts from the end and an agent there, without any vote in the log, may be the judge.

    Notes
    -----
    A vote that could not be read looks like a judge that asks for another round, so the rule then stops late, never
    early. A role that casts no vote in the whole log has no seat, and the log does not say whether it was asked. Where
    such an agent would change who has a seat that counts from the end, a replay is refused. Count from the front then,
    or read the log with the ``roles`` that are asked to vote, which gives them seats.
    Multi-Persona also ends after three rounds: ``Declaration() | FixedRounds(3)``.

    Examples
    --------
    >>> Declaration().run([Round(1, (0, 1, -1), 3), Round(2, (0, 1, 1), 3)])
    (2, 'declaration')
    """

    seat: Annotated[int, integer] = -1
    undecided: str = ""

    name: ClassVar[str] = "declaration"
    inputs: ClassVar[frozenset[str]] = frozenset({"votes", "texts"})
    citation: ClassVar[str] = (
        "Liang et al. (2023), arXiv 2305.19118: the judge ends the debate (Multi-Persona)"
    )
    statistic: ClassVar[str] = "whether the judge's seat has given a deciding vote"
    guarantee: ClassVar[str] = "none; the verdict depends on the judge's decision to stop"
    reason: ClassVar[str] = "declaration"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "undecided", _word("undecided", self.undecided))

    def update(self, latest: Round, /) -> Decision:
        """Stop when the judge has declared."""
        if self.undecided and latest.texts is None:
            raise ValueError(
                f"texts must be given, because {self.name} looks for an answer in words; got a round without"
            )
        seat = self.seat if self.seat >= 0 else latest.panel + self.seat
        if not 0 <= seat < latest.panel or latest.votes[seat] == MISSING:
            return CONTINUE
        if latest.texts is not None and self._goes_on(latest.texts[seat]):
            return CONTINUE
        return self.stop(vote=latest.votes[seat])

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round in which the judge declares."""
        if self.undecided and trajectories.coding == "correctness":
            raise ValueError(
                f"coding must be 'answers', because {self.name} looks for an answer in words; got 'correctness'"
            )
        self._refuse_another(trajectories)
        panel = trajectories.panel
        seat = np.full(len(panel), self.seat) if self.seat >= 0 else panel + self.seat
        taken = (seat >= 0) & (seat < panel)
        if not taken.any():
            return np.zeros(trajectories.votes.shape[:2], dtype=bool)
        at = np.where(taken, seat, 0)[:, None, None]
        votes = np.take_along_axis(trajectories.votes, at, axis=2)[:, :, 0]
        silent = [MISSING, *(code for code, a in enumerate(trajectories.answers) if self._goes_on(a))]
        result: NDArray[np.bool_] = taken[:, None] & ~np.isin(votes, silent)
        return result

    def _refuse_another(self, t: Trajectories) -> None:
        """Refuse a seat from the end that a judge without any vote in the log may have left to another agent."""
        if self.seat >= 0 or t.speakers is None:
            return
        seated_after = (t.speakers == 1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        # Somebody without a seat who stands behind the seat that is read.
        behind = ((t.speakers == 0) & (seated_after < -self.seat)).any(axis=1) & (t.panel >= -self.seat)
        if not behind.any():
            return
        row = int(behind.argmax())
        front = int(t.panel[row]) + self.seat
        raise ValueError(
            f"seat must count from the front, because in debate {t.debates[row]!r} an agent without any "
            f"vote in the log may have been the judge; got {self}, which would read {t.seats[front]!r}. "
            f"Use seat={front} if that agent is the judge, or read the log with the roles that are asked to vote, "
            "which gives seats to all of them"
        )

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say whose votes are read as the judge's."""
        t = trajectories
        seat = np.full(len(t), self.seat) if self.seat >= 0 else t.panel + self.seat
        taken = (seat >= 0) & (seat < t.panel)
        whose = [repr(t.seats[at]) for at in np.unique(seat[taken]).tolist()]
        if not whose:
            return (f"{self} never fires, because no debate of this log has the seat {self.seat}.",)
        place = "the last seat" if self.seat == -1 else f"seat {self.seat}"
        return (
            f"{self} takes the votes of {' or '.join(whose)} as the judge's ({place}; seats follow the "
            "order of the agents' names, and seat= chooses another).",
        )

    def _goes_on(self, answer: str | None) -> bool:
        return bool(self.undecided) and answer is not None and answer.replace(" ", "_") == self.undecided


@dataclass(frozen=True)
class ScoreDeclaration(MemorylessRule):
    """Stop when an evaluator gives a high enough mark.

    Parameters
    ----------
    side : int
        Which of the log's score sides holds the evaluator's mark, from 0.
    at_least : float
        The mark that ends the debate, in raw points; AgentVerse's evaluator gives 1 to a correct answer. With a
        missing mark the debate continues.

    Raises
    ------
    ValueError
        When played on a log without scores, or without that side.

    Examples
    --------
    >>> ScoreDeclaration().run([Round(1, (0,), 1, scores=(0.0,)), Round(2, (0,), 1, scores=(1.0,))])
    (2, 'score_declaration')
    """

    side: NonNegativeInt = 0
    at_least: Finite = 1.0

    name: ClassVar[str] = "score_declaration"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = "Chen et al. (2023), arXiv 2308.10848: the evaluator's correctness (AgentVerse)"
    statistic: ClassVar[str] = "the evaluator's mark in the latest round"
    guarantee: ClassVar[str] = "none; the verdict depends on the evaluator"
    reason: ClassVar[str] = "score_declaration"

    def update(self, latest: Round, /) -> Decision:
        """Stop when the mark is high enough."""
        if latest.scores is None or len(latest.scores) <= self.side:
            raise self._refusal(None if latest.scores is None else len(latest.scores))
        mark = latest.scores[self.side]
        return self.stop(mark=mark) if mark is not None and mark >= self.at_least else CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round with a mark that is high enough."""
        scores = trajectories.scores
        if scores is None or scores.shape[2] <= self.side:
            raise self._refusal(None if scores is None else scores.shape[2])
        result: NDArray[np.bool_] = scores[:, :, self.side] >= self.at_least
        return result

    def _refusal(self, sides: int | None) -> ValueError:
        return ValueError(
            f"scores must be given for side {self.side}, because {self.name} reads the evaluator's mark "
            f"there; got {scores_got(sides)}"
        )


_EDGE = 1e-3
"""A score nearer to 0 or 1 counts as such, by the chance of one; a Beta law has no or infinite density there."""


@dataclass(frozen=True)
class JudgeSPRT(ReasonedRule):
    """Stop when Wald's test on a judge's consensus score decides for or against useful convergence.

    A judge scores after each round how far the agents agree. The score, as a share of its scale, follows
    Beta(useful_a, useful_b) where the debate has converged usefully, and Beta(other_a, other_b) where it has not. The
    log-likelihood ratios of all rounds are added up. The debate stops when the sum reaches log((1 - beta) / alpha)
    (converged) or falls to log(beta / (1 - alpha)) (not), and after `max_rounds` in any case.

    Parameters
    ----------
    useful_a, useful_b, other_a, other_b : float
        Parameters of the two laws, above 0. They come from scored debates whose outcome is known, see
        :meth:`calibrated`; two equal laws are refused.
    alpha, beta : float
        Chances of the two errors, together below 1: a stop as converged of a debate that has not, and the reverse.
    max_rounds : int
        Stop after this round.
    side : int
        Which of the log's score sides holds the judge's score, from 0.
    low, high : float
        Ends of the judge's scale.

    Notes
    -----
    Failure check: Wald's expected number of rounds is about the bound over the Kullback-Leibler divergence of the two
    laws (:attr:`expected_rounds`). Where it exceeds `max_rounds` the scores hardly separate the two cases, and the rule
    plays to its cap; `remarks` says so. With a missing score the sum stays. Scores nearer than .001 to an end of
    the scale are not told from each other: their ratio is that of the two chances of such a score, not of densities.
    That is a choice of ours, as are the defaults of alpha and beta; Wald's bounds hold with it.

    Raises
    ------
    ValueError
        When played on a log without that side, or with a score outside [low, high].

    Examples
    --------
    >>> rule = JudgeSPRT(8, 2, 2, 4)
    >>> rule.run([Round(1, (), 0, scores=(0.7,)), Round(2, (), 0, scores=(0.9,))])
    (2, 'sprt_converged')
    >>> round(rule.divergence, 2), [round(n, 1) for n in rule.expected_rounds]
    (3.52, [1.0, 1.0])
    >>> JudgeSPRT(4, 2, 4, 2.1).expected_rounds[0] > 1000
    True
    """

    useful_a: PositiveFloat
    useful_b: PositiveFloat
    other_a: PositiveFloat
    other_b: PositiveFloat
    alpha: OpenProbability = 0.05
    beta: OpenProbability = 0.05
    max_rounds: PositiveInt = 8
    side: NonNegativeInt = 0
    low: Finite = 0.0
    high: Finite = 1.0

    name: ClassVar[str] = "judge_sprt"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = (
        "Morandi (2026), arXiv 2605.19193: Wald's test on a judge's consensus score, Beta likelihoods, a cap"
    )
    statistic: ClassVar[str] = "log-likelihood ratio of the judge's scores so far"
    guarantee: ClassVar[str] = (
        "for independent scores of these two laws, without the cap: P(converged, but it has not) <= alpha / (1 - beta)"
    )
    reason: ClassVar[str] = "sprt_converged"
    reasons: ClassVar[tuple[str, ...]] = ("sprt_converged", "sprt_rejected", "round_cap")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.useful_a, self.useful_b) == (self.other_a, self.other_b):
            raise ValueError(
                f"the two laws must differ; got Beta({self.useful_a:g}, {self.useful_b:g}) twice"
            )
        if self.alpha + self.beta >= 1:
            raise ValueError(f"alpha + beta must be below 1; got {self.alpha!r} + {self.beta!r}")
        if self.low >= self.high:
            raise ValueError(f"low must be below high; got low={self.low:g}, high={self.high:g}")

    @classmethod
    def calibrated(
        cls, useful: ArrayLike, other: ArrayLike, *, low: float = 0.0, high: float = 1.0, **settings: Any
    ) -> JudgeSPRT:
        """Return the rule with the two Beta laws that have the means and variances of known scores.

        Parameters
        ----------
        useful, other : array of float
            Scores of rounds that had converged usefully, and of others; two or more each.
        low, high : float
            Ends of the judge's scale.
        **settings
            Other settings of the rule.

        Returns
        -------
        JudgeSPRT

        Raises
        ------
        ValueError
            When there are fewer than two scores, all are equal, or some lie outside [low, high].

        Examples
        --------
        >>> rule = JudgeSPRT.calibrated([0.9, 0.8, 0.95, 0.7], [0.5, 0.3, 0.6, 0.2])
        >>> round(rule.useful_a / (rule.useful_a + rule.useful_b), 4)
        0.8375
        """
        laws = [
            _beta_of_moments(name, given, low, high) for name, given in (("useful", useful), ("other", other))
        ]
        return cls(*laws[0], *laws[1], low=low, high=high, **settings)

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which the test decides: not converged, converged."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    @property
    def divergence(self) -> float:
        """Kullback-Leibler divergence of the law of other scores from that of useful ones."""
        return _divergence(self.useful_a, self.useful_b, self.other_a, self.other_b)

    @property
    def expected_rounds(self) -> tuple[float, float]:
        """Wald's approximate number of rounds without a cap, at least 1: where converged, and where not."""
        lower, upper = self.bounds
        back = _divergence(self.other_a, self.other_b, self.useful_a, self.useful_b)
        where = ((1 - self.beta) * upper + self.beta * lower) / max(self.divergence, 1e-300)
        elsewhere = -(self.alpha * upper + (1 - self.alpha) * lower) / max(back, 1e-300)
        return max(where, 1.0), max(elsewhere, 1.0)

    def start(self) -> _JudgeState:
        """Open a debate."""
        return _JudgeState(self)

    def conditions(self, trajectories: Trajectories) -> tuple[NDArray[np.bool_], ...]:
        """Say where the test has decided for and against convergence, and where the cap is reached."""
        scores = trajectories.scores
        if scores is None or scores.shape[2] <= self.side:
            raise self._refusal(None if scores is None else scores.shape[2])
        ratio = np.cumsum(np.nan_to_num(self._ratio(scores[:, :, self.side]), nan=0.0), axis=1)
        lower, upper = self.bounds
        capped = np.zeros(ratio.shape, dtype=bool)
        capped[:, self.max_rounds - 1 :] = True
        return ratio >= upper, ratio <= lower, capped

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where the two laws are too alike for the test to decide before its cap."""
        longest = max(self.expected_rounds)
        if longest <= self.max_rounds:
            return ()
        return (
            f"{self} hardly decides before its cap of {self.max_rounds} rounds: the two laws of the judge's score are "
            f"too alike (divergence {self.divergence:.2g}), and Wald's test takes {longest:,.0f} rounds on average.",
        )

    def _ratio(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each score's log-likelihood ratio, NaN where it is missing."""
        from scipy.special import betaln

        outside = (scores < self.low) | (scores > self.high)
        if outside.any():
            raise ValueError(
                f"scores of side {self.side} must lie in [{self.low:g}, {self.high:g}] for {self.name}; got "
                f"{scores[outside].flat[0]:g}; give the ends of the judge's scale as low and high"
            )
        share = (scores - self.low) / (self.high - self.low)
        x = np.clip(share, _EDGE, 1 - _EDGE)
        known = betaln(self.other_a, self.other_b) - betaln(self.useful_a, self.useful_b)
        more, less = self.useful_a - self.other_a, self.useful_b - self.other_b
        ratio = np.asarray(known + more * np.log(x) + less * np.log1p(-x))
        a, b, other_a, other_b = self.useful_a, self.useful_b, self.other_a, self.other_b
        at_low = _log_chance_near_0(a, b) - _log_chance_near_0(other_a, other_b)
        at_high = _log_chance_near_0(b, a) - _log_chance_near_0(other_b, other_a)
        return np.where(share < _EDGE, at_low, np.where(share > 1 - _EDGE, at_high, ratio))

    def _refusal(self, sides: int | None) -> ValueError:
        return ValueError(
            f"scores must be given for side {self.side}, because {self.name} reads the judge's score there; got "
            f"{scores_got(sides)}"
        )


@dataclass
class _JudgeState:
    rule: JudgeSPRT
    ratio: float = 0.0

    def update(self, latest: Round, /) -> Decision:
        rule = self.rule
        if latest.scores is None or len(latest.scores) <= rule.side:
            raise rule._refusal(None if latest.scores is None else len(latest.scores))
        score = latest.scores[rule.side]
        if score is not None and not math.isnan(score):
            self.ratio += float(rule._ratio(np.array([score]))[0])
        lower, upper = rule.bounds
        holds = (self.ratio >= upper, self.ratio <= lower, latest.number >= rule.max_rounds)
        return rule.decision(holds, {"ratio": self.ratio})


@lru_cache(maxsize=256)
def _log_chance_near_0(a: float, b: float) -> float:
    """Return log P(x < _EDGE) under Beta(a, b)."""
    from scipy.special import betainc, betaln, hyp2f1

    chance = float(betainc(a, b, _EDGE))
    if chance > 1e-290:
        return math.log(chance)
    # Abramowitz and Stegun 26.5.23, in logarithms: the chance itself is no floating number.
    series = math.log(float(hyp2f1(a + b, 1.0, a + 1.0, _EDGE)))
    return a * math.log(_EDGE) + b * math.log1p(-_EDGE) - math.log(a) - float(betaln(a, b)) + series


def _divergence(a: float, b: float, other_a: float, other_b: float) -> float:
    """Return the Kullback-Leibler divergence of Beta(other_a, other_b) from Beta(a, b)."""
    from scipy.special import betaln, psi

    found = betaln(other_a, other_b) - betaln(a, b) + (a - other_a) * psi(a) + (b - other_b) * psi(b)
    return max(float(found + (other_a - a + other_b - b) * psi(a + b)), 0.0)


def _beta_of_moments(name: str, given: ArrayLike, low: float, high: float) -> tuple[float, float]:
    """Return the parameters of the Beta law with the mean and variance of scores on a scale."""
    scores = np.asarray(given, dtype=np.float64).ravel()
    if len(scores) < 2 or not ((scores >= low) & (scores <= high)).all():
        raise ValueError(
            f"{name} must hold two or more scores in [{low:g}, {high:g}]; got {scores[:5].tolist()}"
        )
    share = (scores - low) / (high - low)
    mean, variance = float(share.mean()), float(share.var(ddof=1))
    if not 0 < variance < mean * (1 - mean):
        raise ValueError(
            f"{name} must have scores that vary within the scale, to fit a Beta law; got variance {variance:g} and "
            f"mean {mean:g}"
        )
    size = mean * (1 - mean) / variance - 1
    return mean * size, (1 - mean) * size


def _word(name: str, value: object) -> str:
    """Return text that a rule's own text can hold: it would read a number back as a number."""
    word = value.replace(" ", "_") if isinstance(value, str) else "0"
    if re.search(r"[\s|&(),=]", word) or _is_number(word):
        raise ValueError(f"{name} must be words without any of | & ( ) , =; got {name}={value}")
    return word


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
