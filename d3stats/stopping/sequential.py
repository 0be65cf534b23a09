"""Sequential tests on votes: stop when the leader is far enough ahead of the runner-up.

All count ``evidence="all"`` votes so far, as if each round asked fresh voters, or those of the ``"latest"`` round.
Votes of the same agents in later rounds are not independent, and then the guarantees do not hold. The evidence is for
the leader of the votes counted: with "all", the guarantee is of that verdict, not of the last round's plurality.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import NonNegativeFloat, OpenProbability, PositiveFloat, PositiveInt, integer
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["SPRT", "AdaptiveConsistency", "BettingConfidence", "EProcess", "LookAhead"]

Evidence = Literal["all", "latest"]

Camps = tuple[NDArray[np.int32], NDArray[np.int32]]

_FEW_ANSWERS = 6
_BLOCK = 8192
_CAMPS: WeakKeyDictionary[Trajectories, Camps] = WeakKeyDictionary()


class TallyRule(Rule):
    """A rule that decides by the votes of the leader and the runner-up; it never fires without a vote."""

    evidence: Evidence

    @abstractmethod
    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Say, element by element, whether these camps of at least one vote are reason to stop.

        The three arrays broadcast together; `panel` is the number of seats.

        Examples
        --------
        >>> from d3stats.stopping import SPRT
        >>> SPRT(0.7).enough(np.array([4, 4]), np.array([0, 1]), np.array([7, 7])).tolist()
        [True, False]
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
        enough = lead > 0 and bool(self.rule.enough(*camps)[0])
        return self.rule.stop(lead=float(lead), second=float(second)) if enough else CONTINUE


class ThresholdRule(TallyRule):
    """A tally rule that stops once a number, rising with the leader's votes, reaches a bound.

    Live and over a log it looks up the same table of the fewest votes that a leader needs, by the runner-up's votes.
    """

    alpha: float

    # A number that equals its bound on paper must not miss it by the last bit of a logarithm.
    tolerance: ClassVar[float] = 1e-12

    @abstractmethod
    def strength(self, lead: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        """Return the number that is compared with the bound, element by element.

        Examples
        --------
        >>> from d3stats.stopping import EProcess
        >>> EProcess().strength(8, 0).round(2).item()
        3.35
        """

    @property
    def bound(self) -> float:
        """The bound that the strength has to reach, above its value at a tie: by default log(1 / alpha)."""
        return -math.log(self.alpha)

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


def smallest(holds: Callable[[Ints], NDArray[np.bool_]], above: Ints) -> Ints:
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

    The counts are cached as long as `t` exists, because a simulation asks for them once per rule.
    """
    if evidence == "latest":
        return t.camps()[:2]
    if t not in _CAMPS:
        lead, second = _by_answer(t) if len(t.answers) <= _FEW_ANSWERS else _by_seat(t)
        lead.setflags(write=False)
        second.setflags(write=False)
        _CAMPS[t] = lead, second
    return _CAMPS[t]


def _by_answer(t: Trajectories) -> Camps:
    lead = np.zeros(t.votes.shape[:2], dtype=np.int32)
    second = np.zeros_like(lead)
    for answer in range(len(t.answers)):
        count = np.zeros_like(lead)
        for seat in range(t.votes.shape[2]):
            count += t.votes[:, :, seat] == answer
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


@dataclass(frozen=True)
class SPRT(TallyRule):
    """Stop when the leader is ahead of the runner-up by Wald's number of votes.

    The hypotheses are "the leader is right" and "the runner-up is right", a vote for one of the two being right
    with probability `p`. One vote moves the log likelihood ratio by log(p / (1 - p)), so the test stops at a
    lead d with abs(d) >= log((1 - beta) / alpha) / log(p / (1 - p)).

    Parameters
    ----------
    p : float
        Chance that a vote is right, in (1/2, 1).
    alpha, beta : float
        Error chances aimed at, each in (0, 1), together below 1. The two hypotheses are alike here, so only
        the ratio (1 - beta) / alpha matters.
    evidence : {"all", "latest"}
        Whether every vote so far counts, or those of the current round only; see
        :mod:`d3stats.stopping.sequential`.

    Notes
    -----
    Wald, A. (1945). Sequential tests of statistical hypotheses. Annals of Mathematical Statistics 16.
    With more than two answers the leader is compared with the runner-up, which are chosen after looking:
    with K answers the chance of a wrong stop is at most K - 1 times that of two.

    Examples
    --------
    >>> SPRT(0.7).lead_needed
    4
    >>> from d3stats.stopping import Round
    >>> SPRT(0.7).run([Round(1, (0, 0, 1), 3), Round(2, (0, 0, 0), 3)])
    (2, 'sprt')
    """

    p: OpenProbability = 0.7
    alpha: OpenProbability = 0.05
    beta: OpenProbability = 0.05
    evidence: Evidence = "all"

    name: ClassVar[str] = "sprt"
    citation: ClassVar[str] = (
        "Wald (1945), Annals of Mathematical Statistics 16: sequential probability ratio"
    )
    statistic: ClassVar[str] = "votes of the leader minus votes of the runner-up"
    guarantee: ClassVar[str] = (
        "for independent votes right with probability at least p, two answers: "
        "P(stop wrong) <= alpha / (1 - beta); with K answers (K - 1) times that"
    )
    reason: ClassVar[str] = "sprt"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p <= 0.5:
            raise ValueError(f"p must be above 1/2; got p={self.p!r}")
        if self.alpha + self.beta >= 1:
            raise ValueError(f"alpha + beta must be below 1; got {self.alpha!r} + {self.beta!r}")

    @property
    def lead_needed(self) -> int:
        """The number of votes by which the leader must be ahead."""
        bound = math.log((1 - self.beta) / self.alpha) / (math.log(self.p) - math.log1p(-self.p))
        return max(1, math.ceil(bound - 1e-9))

    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare the lead with Wald's bound."""
        result: NDArray[np.bool_] = lead - second >= self.lead_needed
        return result


@dataclass(frozen=True)
class AdaptiveConsistency(ThresholdRule):
    """Stop when P(Beta(v1 + 1, v2 + 1) > 1/2) reaches a threshold, v1 and v2 the two largest counts.

    Parameters
    ----------
    threshold : float
        Posterior probability that the leader beats the runner-up, in (1/2, 1).
    evidence : {"all", "latest"}
        Whether every vote so far counts, or those of the current round only; see
        :mod:`d3stats.stopping.sequential`.

    Notes
    -----
    Aggarwal, P. et al. (2023). Let's sample step by step: Adaptive-Consistency. arXiv 2305.11860, the Beta
    criterion. The posterior is right at one look; the rule looks after every vote. At .95 it stops two equally
    likely answers within 40 votes with probability .42, so the threshold is no error level. With more than two
    answers the third and later ones are left out, as in the source, and the leader is chosen after looking.

    Examples
    --------
    >>> AdaptiveConsistency().votes_needed(0), AdaptiveConsistency().votes_needed(1)
    (4, 6)
    >>> AdaptiveConsistency().strength(4, 0).round(3).item()
    0.969
    """

    threshold: OpenProbability = 0.95
    evidence: Evidence = "all"

    name: ClassVar[str] = "adaptive_consistency"
    citation: ClassVar[str] = "Aggarwal et al. (2023), arXiv 2305.11860: Adaptive-Consistency, Beta criterion"
    statistic: ClassVar[str] = "P(Beta(v1 + 1, v2 + 1) > 1/2), v1 and v2 the two largest counts"
    guarantee: ClassVar[str] = (
        "none over repeated looks; at .95 it stops on two equally likely answers within 40 votes with "
        "probability .42"
    )
    reason: ClassVar[str] = "adaptive_consistency"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold <= 0.5:
            raise ValueError(f"threshold must be above 1/2; got threshold={self.threshold!r}")

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the posterior probability that the leader beats the runner-up, element by element."""
        from scipy.special import betainc

        tail = betainc(np.asarray(second) + 1.0, np.asarray(lead) + 1.0, 0.5)
        return np.asarray(tail, dtype=np.float64)

    @property
    def bound(self) -> float:
        """The threshold."""
        return self.threshold


@dataclass(frozen=True)
class BettingConfidence(ThresholdRule):
    """Stop when the hedged-capital confidence sequence for the leader's share of votes excludes 1/2.

    A gambler who doubts that the mean of votes X_i in {0, 1} is m puts half of the money on "above" and half on
    "below". The bets on "above" are constant, lambda_g = f_g / m with f_g = g / (bets + 1), g = 1 .. bets, with
    equal shares of the money, and mirrored on "below" with lambda_g = f_g / (1 - m): a diversified Kelly bettor.
    The capital is max(K+ / 2, K- / 2), K+ = mean over g of the product of 1 + lambda_g (X_i - m). The confidence
    sequence is all m with capital below 1 / alpha. Constant bets make the capital a function of the counts, so
    the order of the votes does not matter.

    Parameters
    ----------
    alpha : float
        One minus the level of the confidence sequence, in (0, 1).
    bets : int
        How many constant bets share the money, at least 1.
    evidence : {"all", "latest"}
        Whether every vote so far counts, or those of the current round only; see
        :mod:`d3stats.stopping.sequential`.

    Notes
    -----
    Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of
    the Royal Statistical Society B 86. Their default bets follow a running variance, so their capital depends on
    the order of the votes; these do not. The share is that of the leader among the votes for the leader or the
    runner-up. With K answers these two are chosen after looking: the chance of ever stopping at an answer that
    is not the likeliest is at most (K - 1) alpha.

    Examples
    --------
    >>> rule = BettingConfidence()
    >>> rule.votes_needed(0)
    8
    >>> low, high = rule.interval(8, 0)
    >>> round(low, 3), high
    (0.521, 1.0)
    """

    alpha: OpenProbability = 0.05
    bets: PositiveInt = 20
    evidence: Evidence = "all"

    name: ClassVar[str] = "betting"
    citation: ClassVar[str] = (
        "Waudby-Smith and Ramdas (2024), JRSS B 86: hedged capital, diversified Kelly bets"
    )
    statistic: ClassVar[str] = "capital of a hedged bettor against a share of 1/2"
    guarantee: ClassVar[str] = (
        "anytime valid for independent votes: P(ever stop | two answers, equally likely) <= alpha; "
        "with K answers P(ever stop at one that is not the likeliest) <= (K - 1) alpha"
    )
    reason: ClassVar[str] = "betting"

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the logarithm of the capital against a share of 1/2, element by element."""
        return self._log_above(np.asarray(lead), np.asarray(second), 0.5)

    def _log_above(self, for_it: Any, against: Any, mean: float) -> NDArray[np.float64]:
        f = np.arange(1, self.bets + 1) / (self.bets + 1)
        gain, loss = np.log1p(f * (1 - mean) / mean), np.log1p(-f)
        logs = for_it[..., None] * gain + against[..., None] * loss
        result: NDArray[np.float64] = np.logaddexp.reduce(logs, axis=-1) - math.log(2 * self.bets)
        return result

    def interval(self, successes: int, failures: int) -> tuple[float, float]:
        """Return the confidence sequence for the share of successes at these counts.

        Returns
        -------
        low, high : float
            Valid at all counts at once with probability at least 1 - alpha.
        """
        k, s = integer("successes", successes, minimum=0), integer("failures", failures, minimum=0)
        return self._lower(k, s), 1.0 - self._lower(s, k)

    def _lower(self, k: int, s: int) -> float:
        if k == 0:
            return 0.0
        # The capital on "above" falls in m from infinity to at most 1/2.
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            excluded = self._log_above(np.array(k), np.array(s), middle) >= self.bound
            low, high = (middle, high) if excluded else (low, middle)
        return low


@dataclass(frozen=True)
class EProcess(ThresholdRule):
    """Stop when the evidence against a fair coin reaches 1 / alpha.

    Let k of the n votes for the leader or the runner-up be for the leader. The e-value is
    2^n B(a + k, b + n - k) / B(a, b), the likelihood under a Beta(a, b) prior on the share of votes over that
    of a fair coin. Which answer the prior's first side means is unknown beforehand. With a != b the e-value is
    therefore the mean over both cases, which is again an e-value.

    Parameters
    ----------
    alpha : float
        Level, in (0, 1).
    a, b : float
        Prior, above 0.
    evidence : {"all", "latest"}
        Whether every vote so far counts, or those of the current round only; see
        :mod:`d3stats.stopping.sequential`.

    Notes
    -----
    Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. Annals of
    Mathematical Statistics 41. With K answers the leader and the runner-up are chosen after looking: the
    chance of ever stopping at an answer that is not the likeliest is at most (K - 1) alpha.

    Examples
    --------
    >>> rule = EProcess()
    >>> rule.votes_needed(0), rule.votes_needed(1)
    (8, 11)
    >>> round(float(rule.e_value(8, 0)), 3)
    28.444
    """

    alpha: OpenProbability = 0.05
    a: PositiveFloat = 1.0
    b: PositiveFloat = 1.0
    evidence: Evidence = "all"

    name: ClassVar[str] = "e_process"
    citation: ClassVar[str] = "Robbins (1970), Annals of Mathematical Statistics 41: mixture likelihood ratio"
    statistic: ClassVar[str] = "2^n B(a + k, b + n - k) / B(a, b) of the leader against the runner-up"
    guarantee: ClassVar[str] = (
        "anytime valid for independent votes: P(ever stop | two answers, equally likely) <= alpha; "
        "with K answers P(ever stop at one that is not the likeliest) <= (K - 1) alpha"
    )
    reason: ClassVar[str] = "e_process"

    def e_value(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the e-value of these counts, element by element."""
        result: NDArray[np.float64] = np.exp(self.strength(lead, second))
        return result

    def strength(self, lead: Any, second: Any) -> NDArray[np.float64]:
        """Return the logarithm of the e-value, element by element."""
        from scipy.special import betaln

        k, s = np.asarray(lead, dtype=np.float64), np.asarray(second, dtype=np.float64)
        both = np.logaddexp(betaln(self.a + k, self.b + s), betaln(self.b + k, self.a + s))
        result: NDArray[np.float64] = both - math.log(2) + (k + s) * math.log(2) - betaln(self.a, self.b)
        return result


# A tie between stopping and going on is a stop, whatever the last bit of the sums.
_TIE = 1e-12


@dataclass(frozen=True)
class LookAhead(TallyRule):
    """Stop when a verdict now costs no more than the best plan of at most `m` further rounds.

    A vote is right with probability `p`, given the truth independently, and either answer is as likely to be
    true beforehand. At a lead of d votes the leader is right with probability q = 1 / (1 + ((1 - p) / p)^d). A
    wrong verdict costs 1 and a round `cost`. With V_0(d) = 1 - q and V_j(d) = min(1 - q, cost + E V_{j-1}(d')),
    d' the lead after one more vote of every seat, the rule stops where cost + E V_{m-1}(d') >= 1 - q.

    Parameters
    ----------
    m : int
        Rounds to look ahead, at least 1. One vote cannot change the leader at a lead of 1 or more and is worth
        exactly 0 there, so with one seat ``m=1`` stops at the first lead: look further.
    p : float
        Chance that a vote is right, in (1/2, 1).
    cost : float
        Price of one round, in wrong verdicts; at least 0.
    evidence : {"all", "latest"}
        Whether every vote so far counts, or those of the current round only; see
        :mod:`d3stats.stopping.sequential`.

    Notes
    -----
    Raiffa, H. and Schlaifer, R. (1961). Applied statistical decision theory: preposterior analysis. With `m` at
    least the rounds that are left, the rule is the exact optimum of this model. With more than two answers the
    leader and the runner-up are taken for the only candidates, which overrates the leader.

    Examples
    --------
    >>> [LookAhead(m, p=0.7, cost=0.01).lead_needed(panel=1) for m in (1, 2, 3, 5, 9)]
    [1, 2, 3, 3, 4]
    >>> round(LookAhead(3, p=0.7, cost=0.01).value(1), 4)
    0.2302
    """

    m: PositiveInt = 3
    p: OpenProbability = 0.7
    cost: NonNegativeFloat = 0.01
    evidence: Evidence = "all"

    name: ClassVar[str] = "look_ahead"
    citation: ClassVar[str] = "Raiffa and Schlaifer (1961): value of information, at most m rounds ahead"
    statistic: ClassVar[str] = "chance of a wrong verdict now, against the best plan of at most m more rounds"
    guarantee: ClassVar[str] = (
        "for independent votes right with probability p and two answers, a stop only if no plan of at most "
        "m more rounds is expected to pay"
    )
    reason: ClassVar[str] = "look_ahead"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p <= 0.5:
            raise ValueError(f"p must be above 1/2; got p={self.p!r}")

    def value(self, lead: int, panel: int = 1) -> float:
        """Return the expected cost of the best plan of at most `m` more rounds, at a lead of `lead` votes."""
        ahead, go_on = integer("lead", lead, minimum=0), _go_on(self, integer("panel", panel, minimum=1))
        now = float(_risk(self, np.array([ahead]))[0])
        return min(now, float(go_on[ahead])) if ahead < len(go_on) else now

    def lead_needed(self, panel: int = 1) -> int:
        """Return the smallest lead from which on the rule stops, on a panel of this size."""
        return int(np.flatnonzero(~_stops(self, integer("panel", panel, minimum=1))).max(initial=-1)) + 1

    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Look the lead up in the table of the panel's size."""
        ahead = lead - second
        result = np.zeros(ahead.shape, dtype=bool)
        for size in np.unique(panel).tolist():
            table = _stops(self, size)
            result |= (panel == size) & table[np.minimum(ahead, len(table) - 1)]
        return result


def _risk(rule: LookAhead, lead: NDArray[Any]) -> NDArray[np.float64]:
    from scipy.special import expit

    result: NDArray[np.float64] = expit(-np.abs(lead) * (math.log(rule.p) - math.log1p(-rule.p)))
    return result


@lru_cache(maxsize=512)
def _go_on(rule: LookAhead, panel: int) -> NDArray[np.float64]:
    """Expected cost of at least one and at most m more rounds, for leads 0 .. m * panel + 1.

    Further ahead no plan can change the leader, and going on only costs.
    """
    from scipy.special import gammaln

    j = np.arange(panel + 1)
    # In logarithms: a panel of thousands must not overflow.
    ways = gammaln(panel + 1) - gammaln(j + 1) - gammaln(panel - j + 1)
    up, down = math.log(rule.p), math.log1p(-rule.p)
    right, wrong = np.exp(ways + j * up + (panel - j) * down), np.exp(ways + (panel - j) * up + j * down)
    radius = 2 * rule.m * panel + 1
    value = _risk(rule, np.arange(-radius, radius + 1))
    going_on = value
    for _ in range(rule.m):
        radius -= panel
        leads = np.arange(-radius, radius + 1)
        loss = _risk(rule, leads)
        q = np.where(leads >= 0, 1 - loss, loss)
        going_on = np.full(len(leads), rule.cost)
        for k in range(panel + 1):
            law = q * right[k] + (1 - q) * wrong[k]
            going_on += law * value[2 * k : 2 * k + len(leads)]
        value = np.minimum(loss, going_on)
    return going_on[radius:]


@lru_cache(maxsize=512)
def _stops(rule: LookAhead, panel: int) -> NDArray[np.bool_]:
    going_on = _go_on(rule, panel)
    result: NDArray[np.bool_] = _risk(rule, np.arange(len(going_on))) <= going_on + _TIE
    return result
