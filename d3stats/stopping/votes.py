"""Rules that stop by the votes of one round, or after a number of rounds; unanimity is the baseline for all rules."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Bools
from d3stats._check import NonNegativeFloat, PositiveInt, Probability
from d3stats.stopping.rule import (
    CONTINUE,
    Decision,
    MemorylessRule,
    ReasonedRule,
    Round,
    Rule,
    RuleState,
    StoppingRule,
    StopReason,
)
from d3stats.trajectories import MISSING, Trajectories

NEVER = 10**9
"""A round that no debate reaches."""

__all__ = [
    "AgreementRouting",
    "ChatEvalTurns",
    "CommitWalls",
    "ESCWindow",
    "FixedRounds",
    "FullDepth",
    "Ladder",
    "Supermajority",
    "Unanimity",
]


def out_of_reach(rule: Rule, trajectories: Trajectories, needed: NDArray[Any]) -> tuple[str, ...]:
    """Say that a rule cannot fire in half of the debates or more: no round there has as many votes as it needs."""
    cast = trajectories.camps()[2].max(axis=1, initial=0)
    played = trajectories.depth > 0
    short = played & (cast < needed)
    n, of = int(short.sum()), int(played.sum())
    if n == 0 or 2 * n < of:
        return ()
    where = "any debate" if n == of else f"{n} of {of} debates"
    most, asked, seats = (int(x[short].max()) for x in (cast, needed, trajectories.panel))
    return (
        f"{rule} cannot fire in {where}, because it needs up to {asked} of {seats} votes, and no round of them has "
        "more than "
        f"{most} (a seat without a vote counts, also the seat that only breaks ties of an even jury).",
    )


@dataclass(frozen=True)
class Unanimity(MemorylessRule):
    """Stop when every vote cast is equal.

    Parameters
    ----------
    missing : {"exclude", "block"}
        What a missing vote does. "exclude" (default): the votes that were cast decide.
        "block": every seat of the panel must have voted.
    min_votes : int
        With "exclude", how many votes must have been cast; two by default, so that one voice is not
        agreement. A smaller panel needs all its votes: a lone agent is unanimous when it votes.

    Notes
    -----
    With ``coding="correctness"`` two wrong votes look equal, so unanimous wrong answers are an assumption
    and the rule may fire earlier than it would have on the answers.

    Examples
    --------
    >>> state = Unanimity().start()
    >>> state.update(Round(1, (3, 3, -1), 3)).reason
    'unanimity'
    >>> Unanimity(missing="block").start().update(Round(1, (3, 3, -1), 3)).stop
    False
    """

    missing: Literal["exclude", "block"] = "exclude"
    min_votes: PositiveInt = 2

    name: ClassVar[str] = "unanimity"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697: unanimous consensus ends a debate early"
    statistic: ClassVar[str] = "whether all votes cast are equal"
    guarantee: ClassVar[str] = (
        "none on accuracy; if votes are a martingale, P(unanimously right) is one agent's mean accuracy"
    )
    reason: ClassVar[str] = StopReason.UNANIMITY

    def update(self, latest: Round, /) -> Decision:
        """Stop when the round's votes agree."""
        cast = [vote for vote in latest.votes if vote != MISSING]
        needed = latest.panel if self.missing == "block" else min(self.min_votes, latest.panel)
        return self.stop(votes=len(cast)) if len(set(cast)) == 1 and len(cast) >= needed else CONTINUE

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        return out_of_reach(self, trajectories, self._needed(trajectories.panel))

    def _needed(self, panel: NDArray[np.int64]) -> NDArray[np.int64]:
        return panel if self.missing == "block" else np.minimum(self.min_votes, panel)

    def fires(self, trajectories: Trajectories) -> Bools:
        """Fire in every unanimous round."""
        lead, _, cast = trajectories.camps()
        needed = self._needed(trajectories.panel)
        # At least one vote: a round in which nobody spoke is not agreement.
        result: Bools = (lead == cast) & (cast >= np.maximum(needed, 1)[:, None])
        return result


class CampRule(Rule):
    """A rule that stops once the largest camp has had the votes it needs for `patience` rounds running."""

    patience: PositiveInt = 1

    @abstractmethod
    def needed(self, panel: int, number: int) -> int:
        """Return how many votes the leading answer needs on a panel of a size after a round."""

    def start(self) -> RuleState:
        """Open a debate."""
        return _CampState(self)

    @property
    def earliest(self) -> int:
        return self.patience

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        t = trajectories
        sizes = zip(t.panel.tolist(), np.maximum(t.depth, 1).tolist(), strict=True)
        return out_of_reach(self, t, np.array([self.needed(panel, depth) for panel, depth in sizes]))

    def fires(self, trajectories: Trajectories) -> Bools:
        """Fire where the camp has been large enough for `patience` rounds running."""
        t = trajectories
        sizes, size = np.unique(t.panel, return_inverse=True)
        # A step beyond any panel is out of reach, however large.
        most = len(t.seats) + 1
        table = [[min(self.needed(panel, r), most) for r in t.rounds] for panel in sizes.tolist()]
        needed = np.array(table, dtype=np.int32).reshape(len(sizes), t.n_rounds)
        large: Bools = t.camps()[0] >= needed[size]
        if self.patience == 1:
            return large
        held = np.zeros_like(large)
        running = np.zeros(len(large), dtype=np.int32)
        for r in range(large.shape[1]):
            running = (running + 1) * large[:, r]
            held[:, r] = running >= self.patience
        return held


@dataclass
class _CampState:
    rule: CampRule
    running: int = 0

    def update(self, latest: Round, /) -> Decision:
        cast = [vote for vote in latest.votes if vote != MISSING]
        lead = max((cast.count(vote) for vote in cast), default=0)
        enough = lead >= self.rule.needed(latest.panel, latest.number)
        # A longer run says nothing more, and a bounded count keeps the states of a debate few.
        self.running = min(self.running + 1, self.rule.patience) if enough else 0
        return self.rule.stop(lead=lead) if self.running == self.rule.patience else CONTINUE


@dataclass(frozen=True)
class Supermajority(CampRule):
    """Stop when the largest camp holds a share of the panel, for a number of rounds running.

    Parameters
    ----------
    share : float
        Votes that the leading answer needs, as a share of the seats, in (0, 1]: 0.85 of 7 seats is 6 votes.
        A missing vote is in no camp, but its seat counts: where a seat stays empty, a share of 1 is never reached.
    patience : int
        Rounds running in which a camp is that large; the camp may change between them.

    Examples
    --------
    >>> Supermajority(0.85).run([Round(1, (0, 0, 1), 3), Round(2, (0, 0, 0), 3)])
    (2, 'supermajority')
    >>> Supermajority(0.85).needed(7)
    6
    """

    share: Probability
    patience: PositiveInt = 1

    name: ClassVar[str] = "supermajority"
    citation: ClassVar[str] = (
        "special majorities: Nitzan and Paroush (1984), Public Choice 42; here of the votes in one round"
    )
    statistic: ClassVar[str] = "the largest camp's share of the panel"
    guarantee: ClassVar[str] = "none on accuracy; it stops no later than unanimity of the whole panel"
    reason: ClassVar[str] = "supermajority"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share == 0.0:
            raise ValueError("share must be above 0; got share=0.0")

    def needed(self, panel: int, number: int = 1) -> int:
        """Return how many votes the leading answer needs on a panel of this size, in any round."""
        # The tolerance keeps 6/7 of 7 at 6 votes, whatever the last bit of the share.
        return max(1, math.ceil(self.share * panel - 1e-9))


@dataclass(frozen=True)
class AgreementRouting(MemorylessRule):
    """Stop after the first answers where enough of them agree; the other debates are played.

    Parameters
    ----------
    share : float
        Share of the seats that the leading answer needs, in (0, 1], compared after rounding to two digits: .67 is 2
        votes of 3. A missing vote is in no camp, but its seat counts.
    within : int
        The last round in which the rule may stop; 1 by default, the answers before any debate.

    Notes
    -----
    The rule is the routing before the debate (PAR) of ARMOR-MAD, whose threshold is .67. The second part (EASE) stops
    a debate that has converged; ``agreement_routing | unanimity`` is one reading of it.

    Examples
    --------
    >>> AgreementRouting().run([Round(1, (0, 0, 1), 3), Round(2, (0, 0, 0), 3)])
    (1, 'agreement_routing')
    >>> AgreementRouting().run([Round(1, (0, 2, 1), 3), Round(2, (0, 0, 0), 3)])
    (2, 'exhausted')
    >>> [AgreementRouting().needed(seats) for seats in (3, 5, 7)]
    [2, 4, 5]
    """

    share: Probability = 0.67
    within: PositiveInt = 1

    name: ClassVar[str] = "agreement_routing"
    citation: ClassVar[str] = "Zhang and Niu (2026), arXiv 2606.13197: routing by agreement before a debate"
    statistic: ClassVar[str] = "the largest camp's share of the panel in the first `within` rounds"
    guarantee: ClassVar[str] = "none on accuracy; risk_controlled chooses `share` with one"
    reason: ClassVar[str] = "agreement_routing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share <= 0:
            raise ValueError(f"share must be above 0; got share={self.share:g}")

    def needed(self, panel: int) -> int:
        """Return how many votes the leading answer needs on a panel of this size."""
        return max(math.ceil((self.share - 0.005) * panel - 1e-9), 1)

    def update(self, latest: Round, /) -> Decision:
        """Stop when the round is early enough and its largest camp large enough."""
        cast = [vote for vote in latest.votes if vote != MISSING]
        lead = max((cast.count(vote) for vote in cast), default=0)
        if latest.number > self.within or lead < self.needed(latest.panel):
            return CONTINUE
        return self.stop(lead=lead)

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where no round of a log has enough votes for the rule to fire."""
        return out_of_reach(
            self, trajectories, np.array([self.needed(n) for n in trajectories.panel.tolist()])
        )

    def fires(self, trajectories: Trajectories) -> Bools:
        """Fire in every early round with a large enough camp."""
        needed = np.array([self.needed(n) for n in trajectories.panel.tolist()], dtype=np.int64)
        large: Bools = trajectories.camps()[0] >= needed[:, None]
        large[:, self.within :] = False
        return large


@dataclass(frozen=True)
class CommitWalls(ReasonedRule):
    """Stop when a position that each round moves by one step reaches a wall: the leader has a majority, or has none.

    A round asks n seats; r of them give the leading answer, e none. Under a uniform law on (u, 1 - u), g is the
    posterior probability that the leader's share is above 1/2; u = weight * e / n. The position x starts at 0. The
    wall at +`wall` is worth g - cost * (`wall` - x), the wall at -`wall` is worth 1 - g - cost * (x + `wall`). After
    each round x moves one step towards the wall that is worth more, if that is above 0, and else stays.

    Parameters
    ----------
    wall : int
        Distance of both walls from the start, and the earliest stop; 4 in the paper, 8 for its AIME.
    cost : float
        Price of a step, as a share of a right verdict; `cost` times `wall` must be below 1, else x never moves.
    weight : float
        How much the seats without an answer cut off both ends of the law, in [0, 1].
    max_rounds : int
        Stop after this round; at least `wall`.

    Notes
    -----
    This is the spatial form of the paper's rule (DASE). A tie of the two worths counts for the right wall. u is kept
    between 1e-6 and .5 - 1e-6, and g is 0 where no seat gave an answer. A position that has reached a wall stays
    there. The leader may be another in each round: the rule adds up how large the largest camp is, not whose it is.

    At the paper's settings a round moves x to the right in a panel of an odd number of seats below 30 if one answer
    has more than half of them, and else to the left. So if there are only two answers and every seat votes, the
    rule is ``fixed`` with `wall` rounds; :meth:`remarks` says where a log is of that kind.

    The rule decides when to stop. The verdict here is the plurality of the round of the stop, as for all rules. The
    paper has the same at the right wall; at the left wall and after the last round it answers with the most frequent
    answer of all rounds. It reports 81.1 % right at the right wall against 41.5 % at the left for GPQA, and
    25.5 points between the two for AIME with its larger models. These are its numbers for its verdicts.

    Examples
    --------
    >>> agreed, split = (0, 0, 0), (0, 1, 2)
    >>> CommitWalls(2).run([Round(1, agreed, 3), Round(2, agreed, 3)])
    (2, 'wall_consensus')
    >>> CommitWalls(2).run([Round(r, votes, 3) for r, votes in enumerate((agreed, split, split, split), 1)])
    (4, 'wall_no_consensus')
    >>> [round(CommitWalls().evidence(lead, 3), 4) for lead in (1, 2, 3)]
    [0.3125, 0.6875, 0.9375]
    """

    wall: PositiveInt = 4
    cost: NonNegativeFloat = 0.01
    weight: Probability = 0.2
    max_rounds: PositiveInt = 15

    name: ClassVar[str] = "commit_walls"
    citation: ClassVar[str] = "Medina (2026), arXiv 2605.04236: DASE, a position between two walls"
    statistic: ClassVar[str] = (
        "rounds for a majority of the leader less rounds against it, at the price of a step"
    )
    guarantee: ClassVar[str] = "at least `wall` and at most `max_rounds` rounds; none on the verdict"
    reason: ClassVar[str] = "wall_consensus"
    reasons: ClassVar[tuple[str, ...]] = ("wall_consensus", "wall_no_consensus", "round_cap")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rounds < self.wall:
            raise ValueError(
                f"max_rounds must be at least wall, because no wall is reached sooner; got "
                f"max_rounds={self.max_rounds}, wall={self.wall}"
            )
        if self.cost * self.wall >= 1:
            raise ValueError(
                f"cost times wall must be below 1, because no step is worth its price otherwise; got "
                f"cost={self.cost:g}, wall={self.wall}"
            )

    @property
    def earliest(self) -> int:
        return self.wall

    def evidence(self, lead: int, panel: int, missing: int = 0) -> float:
        """Return g, the posterior probability that the leader's share is above 1/2, after one round.

        Parameters
        ----------
        lead : int
            Votes for the leading answer.
        panel : int
            Seats asked.
        missing : int
            Seats without an answer.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            When there are fewer seats than votes and missing votes.

        Examples
        --------
        >>> rule = CommitWalls()
        >>> round(rule.evidence(4, 7), 4), round(rule.evidence(4, 7, missing=3), 4), rule.evidence(0, 7, missing=7)
        (0.6367, 0.6358, 0.0)
        """
        if min(lead, missing) < 0 or lead + missing > panel:
            raise ValueError(
                f"lead and missing must be votes of panel={panel} seats; got lead={lead}, missing={missing}"
            )
        return _majority_chance(lead, panel - missing, panel, self.weight)

    def start(self) -> _WallState:
        """Open a debate at position 0."""
        return _WallState(self)

    def moved(self, position: NDArray[Any], evidence: NDArray[Any]) -> NDArray[Any]:
        """Return the positions after a round with this evidence, element by element.

        Parameters
        ----------
        position : array of int
            Positions before the round.
        evidence : array of float
            What :meth:`evidence` returns, of the same shape.

        Returns
        -------
        array of int

        Examples
        --------
        >>> CommitWalls().moved(np.array([0, 0, 3, -4]), np.array([0.9, 0.1, 0.48, 0.9])).tolist()
        [1, -1, 4, -4]
        """
        right = evidence - self.cost * (self.wall - position)
        left = (1 - evidence) - self.cost * (position + self.wall)
        # Equal on paper is a tie, whatever the last bit of an incomplete beta function.
        step = np.where(right >= left - 1e-12, 1, -1) * (np.maximum(right, left) > 1e-12)
        return np.where(np.abs(position) >= self.wall, position, position + step)

    def conditions(self, trajectories: Trajectories) -> tuple[Bools, ...]:
        """Say where the right wall, the left wall and the last round are reached."""
        places = self._positions(trajectories)
        capped = np.zeros(places.shape, dtype=bool)
        capped[:, self.max_rounds - 1 :] = True
        return places >= self.wall, places <= -self.wall, capped

    def _positions(self, t: Trajectories) -> NDArray[np.int64]:
        """Return the position after each round, shape (debates, rounds)."""
        lead, _, cast = t.camps()
        size = len(t.seats) + 1
        cells, where = np.unique(
            (t.panel[:, None] * size + lead) * size + cast.astype(np.int64), return_inverse=True
        )
        known = [
            _majority_chance(c // size % size, c % size, c // size**2, self.weight) for c in cells.tolist()
        ]
        evidence = np.array(known, dtype=np.float64)[where].reshape(lead.shape)
        places = np.zeros(lead.shape, dtype=np.int64)
        position = np.zeros(len(lead), dtype=np.int64)
        for r in range(lead.shape[1]):
            position = self.moved(position, evidence[:, r])
            places[:, r] = position
        return places

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say where most debates are too short to reach a wall, and where the rule is a fixed number of rounds."""
        t = trajectories
        depth = t.depth[t.depth > 0]
        short = int((depth < self.wall).sum())
        if short > 0 and len(depth) <= 2 * short:
            where = "any debate" if short == len(depth) else f"{short} of {len(depth)} debates"
            return (
                f"{self} cannot fire in {where}, because no wall is reached before round {self.wall}, and they have "
                f"at most {int(depth[depth < self.wall].max())}.",
            )
        long = t.depth >= self.wall
        if not long.any() or not (self._positions(t)[long, self.wall - 1] == self.wall).all():
            return ()
        return (
            f"{self} stops every debate after round {self.wall}, as fixed:{self.wall} does, because in every round "
            "until then one answer has enough of the seats (always so with two answers and no missing vote).",
        )


@lru_cache(maxsize=65_536)
def _majority_chance(lead: int, cast: int, panel: int, weight: float) -> float:
    """Return P(share > 1/2) of the leader under a truncated uniform law."""
    from scipy.special import betainc

    if cast == 0:
        return 0.0
    cut = min(max(weight * (panel - cast) / panel, 1e-6), 0.5 - 1e-6)
    a, b = lead + 1.0, panel - lead + 1.0
    # The tail that holds less is subtracted, so that small masses keep their digits.
    if 2 * lead >= panel:
        low, half, high = (float(betainc(a, b, x)) for x in (cut, 0.5, 1 - cut))
        return (high - half) / (high - low) if high > low else 1.0
    low, half, high = (float(betainc(b, a, x)) for x in (1 - cut, 0.5, cut))
    return (half - high) / (low - high) if low > high else 0.0


@dataclass
class _WallState:
    rule: CommitWalls
    position: int = 0

    def update(self, latest: Round, /) -> Decision:
        rule = self.rule
        cast = [vote for vote in latest.votes if vote != MISSING]
        lead = max((cast.count(vote) for vote in cast), default=0)
        evidence = rule.evidence(lead, latest.panel, latest.panel - len(cast))
        self.position = int(rule.moved(np.array([self.position]), np.array([evidence]))[0])
        holds = (self.position >= rule.wall, self.position <= -rule.wall, latest.number >= rule.max_rounds)
        return rule.decision(holds, {"position": self.position, "evidence": evidence})


@dataclass(frozen=True)
class Ladder(CampRule):
    """Stop when the largest camp has as many votes as the round's step asks for.

    Parameters
    ----------
    steps : str
        Votes needed after round 1, 2, ..., joined by ``-`` and never rising; the last step holds for all
        later rounds. ``"7-7-6-1"`` asks a panel of seven for unanimity in two rounds, for six votes in the
        third, and stops in the fourth at any count.

    Notes
    -----
    For independent votes of two answers, read one at a time up to a horizon, the optimal boundaries never rise (Wald
    and Wolfowitz, 1950). For a panel that votes again they may, so that a ladder is a restriction.

    Examples
    --------
    >>> rounds = [Round(r, (0, 0, 1), 3) for r in (1, 2, 3)]
    >>> Ladder("3-3-2").run(rounds), Ladder("3-1").run(rounds)
    ((3, 'ladder'), (2, 'ladder'))
    >>> [Ladder("7-6-4").needed(7, number) for number in (1, 2, 3, 4)]
    [7, 6, 4, 4]
    """

    steps: str

    name: ClassVar[str] = "ladder"
    citation: ClassVar[str] = (
        "falling boundaries for independent votes: Wald and Wolfowitz (1950), Ann. Math. Statist. 21"
    )
    statistic: ClassVar[str] = "votes for the leading answer, against a step for each round"
    guarantee: ClassVar[str] = "none by itself; a plan states the guarantee of the ladder that it chooses"
    reason: ClassVar[str] = "ladder"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", str(self.steps))
        parts = self.steps.split("-")
        if not all(part.isascii() and part.isdecimal() and int(part) >= 1 for part in parts):
            raise ValueError(f"steps must be whole numbers >= 1 joined by '-'; got steps={self.steps!r}")
        if any(later > earlier for earlier, later in pairwise(self.votes)):
            raise ValueError(f"steps must never rise; got steps={self.steps!r}")

    @property
    def votes(self) -> tuple[int, ...]:
        """Votes needed, by round."""
        return tuple(int(part) for part in self.steps.split("-"))

    def needed(self, panel: int, number: int) -> int:
        """Return how many votes the leading answer needs after this round, on any panel."""
        votes = self.votes
        return votes[min(number, len(votes)) - 1]


def refuse_steps(rules: Iterable[StoppingRule], panel: int) -> None:
    """Refuse a ladder with a step that asks for more votes than the largest panel has."""
    for part in (part for rule in rules for part in rule.parts()):
        if isinstance(part, Ladder) and part.votes[0] > panel:
            raise ValueError(f"the steps of a ladder must be at most the panel of {panel}; got {part}")


@dataclass(frozen=True)
class FixedRounds(MemorylessRule):
    """Stop after `n` rounds.

    Parameters
    ----------
    n : int
        Rounds to play, at least 1; ``FixedRounds(1)`` is the vote without a debate.

    Examples
    --------
    >>> str(FixedRounds(2))
    'fixed:2'
    """

    n: PositiveInt

    @property
    def earliest(self) -> int:
        return self.n

    name: ClassVar[str] = "fixed"
    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "Du et al. (2023), arXiv 2305.14325: debate for a set number of rounds"
    statistic: ClassVar[str] = "the number of rounds played"
    guarantee: ClassVar[str] = "the cost is known in advance; none on the verdict"
    reason: ClassVar[str] = StopReason.FIXED_ROUNDS

    def update(self, latest: Round, /) -> Decision:
        """Stop once `n` rounds are played."""
        return self.stop() if latest.number >= self.n else CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire from round `n` on."""
        late: NDArray[np.bool_] = np.arange(1, trajectories.n_rounds + 1) >= self.n
        return np.broadcast_to(late, (trajectories.n_debates, trajectories.n_rounds))


@dataclass(frozen=True)
class FullDepth(MemorylessRule):
    """Play every debate to its end, as many rounds as the log has, without any stop.

    Examples
    --------
    >>> FullDepth().run([Round(1, (0, 0), 2), Round(2, (0, 0), 2)])
    (2, 'exhausted')
    """

    @property
    def earliest(self) -> int:
        return NEVER

    name: ClassVar[str] = "full"
    inputs: ClassVar[frozenset[str]] = frozenset()
    citation: ClassVar[str] = "the usual reference of published savings"
    statistic: ClassVar[str] = "none"
    guarantee: ClassVar[str] = "none; every other rule uses at most as many rounds"
    reason: ClassVar[str] = StopReason.EXHAUSTED

    def update(self, latest: Round, /) -> Decision:
        """Return the decision to continue."""
        return CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire nowhere."""
        return np.zeros((trajectories.n_debates, trajectories.n_rounds), dtype=bool)


@dataclass(frozen=True)
class ChatEvalTurns(FixedRounds):
    """Stop after `n` turns of every referee.

    Parameters
    ----------
    n : int
        Turns, at least 1; the paper's own number is 2, and its figure 3b varies it.

    Examples
    --------
    >>> from d3stats.stopping import Round
    >>> ChatEvalTurns().run([Round(1, (0, 0), 2), Round(2, (0, 1), 2), Round(3, (0, 0), 2)])
    (2, 'chateval_turns')
    >>> ChatEvalTurns(1).run([Round(1, (0, 1), 2), Round(2, (0, 0), 2)])
    (1, 'chateval_turns')
    """

    n: PositiveInt = 2

    name: ClassVar[str] = "chateval"
    citation: ClassVar[str] = "Chan et al. (2023), arXiv 2308.07201, sections 2 and 4: two discussion turns"
    reason: ClassVar[str] = "chateval_turns"


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

    window: PositiveInt = 5

    name: ClassVar[str] = "esc"
    citation: ClassVar[str] = "Li et al. (2024), arXiv 2401.10480: early-stopping self-consistency"
    statistic: ClassVar[str] = "whether all votes of a window are equal"
    guarantee: ClassVar[str] = (
        "for independent votes P(wrong) <= the sum over wrong answers of p_j^window, per window"
    )
    reason: ClassVar[str] = "esc_window"

    def start(self) -> _EscState:
        """Open a debate with an empty window."""
        return _EscState(self)

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
class _EscState:
    rule: ESCWindow
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
            if self.held == self.rule.window:
                answer = self.first if self.agree else answer
                self.held = 0
        return CONTINUE if answer == MISSING else self.rule.stop(answer=float(answer))
