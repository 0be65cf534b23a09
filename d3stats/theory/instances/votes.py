"""Panels that vote: a ballot, the counts of two rounds, a count that moves until all agree, a judge's verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, exp, factorial, prod

from d3stats.models.beliefs.latent import vote_or_consensus
from d3stats.models.mixtures.ks import empirical_ks
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.draws import Dice, strategy

__all__ = [
    "SAME_DEBATES",
    "Ballot",
    "CountChain",
    "Judge",
    "TwoRounds",
    "absorbed_right",
    "ballots",
    "condorcet_chains",
    "count_chains",
    "judges",
    "judges_above_half",
    "still_rounds",
    "stopped_histories",
    "two_rounds",
    "voter_row",
]

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class Ballot:
    """Independent agents who give each answer with one probability, the right answer first.

    Attributes
    ----------
    weights : tuple of int
        How likely each answer is, in proportion; the right one first.
    n : int
        Number of agents.

    Examples
    --------
    >>> ballot = Ballot((2, 1), 3)
    >>> print(ballot)
    3 agents, answers with probabilities 2/3, 1/3
    >>> ballot.accuracy, ballot.plurality
    (Fraction(2, 3), Fraction(20, 27))
    >>> {name: round(float(value), 3) for name, value in ballot.numbers().items()}
    {'P(one agent right)': 0.667, 'P(vote right)': 0.741, 'exponential bound': 0.154}
    """

    weights: tuple[int, ...]
    n: int

    def __str__(self) -> str:
        chances = ", ".join(str(Fraction(w, sum(self.weights))) for w in self.weights)
        return f"{self.n} agent{'s' if self.n != 1 else ''}, answers with probabilities {chances}"

    @property
    def accuracy(self) -> Fraction:
        """P(one agent is right)."""
        return Fraction(self.weights[0], sum(self.weights))

    @property
    def lead(self) -> Fraction:
        """By how much the right answer is likelier than the next."""
        return Fraction(self.weights[0] - max(self.weights[1:]), sum(self.weights))

    @property
    def plurality(self) -> Fraction:
        """P(the answer with most votes is right), ties drawn evenly; summed over all counts."""
        won = Fraction(0)
        for votes in _splits(self.n, len(self.weights)):
            most = max(votes)
            if votes[0] == most:
                ways = factorial(self.n)
                for count in votes:
                    ways //= factorial(count)
                chance = prod(w**count for w, count in zip(self.weights, votes, strict=True))
                won += Fraction(ways * chance, votes.count(most))
        return won / Fraction(sum(self.weights)) ** self.n

    @property
    def hoeffding_bound(self) -> float:
        """Hoeffding's bound on `plurality`, 1 - (m - 1) exp(-n lead^2 / 2)."""
        return 1 - (len(self.weights) - 1) * exp(-self.n * float(self.lead) ** 2 / 2)

    def numbers(self) -> dict[str, float]:
        """Return how often one agent and the vote are right, and the bound on the latter."""
        return {
            "P(one agent right)": float(self.accuracy),
            "P(vote right)": float(self.plurality),
            "exponential bound": self.hoeffding_bound,
        }


def _splits(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _splits(n - first, parts - 1):
            yield (first, *rest)


@dataclass(frozen=True)
class TwoRounds:
    """The counts of correct votes of the same debates in two rounds.

    Attributes
    ----------
    panel : int
        Votes in each debate and round.
    before, after : tuple of int
        A count per debate, 0 to `panel`, the debates in one order.

    Examples
    --------
    >>> rounds = TwoRounds(3, (0, 3), (3, 0))
    >>> print(rounds)
    panel of 3, counts (0, 3) then (3, 0)
    >>> rounds.distance, rounds.share_changed, rounds.share_flipped
    (0.0, 1.0, 1.0)
    >>> rounds.numbers()
    {'D': 0.0, 'share of debates whose count changed': 1.0, 'share of debates whose majority flipped': 1.0}
    """

    panel: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    def __str__(self) -> str:
        return f"panel of {self.panel}, counts {self.before} then {self.after}"

    @property
    def distance(self) -> float:
        """The KS distance D between the two rounds' counts."""
        votes = [self.panel] * len(self.before)
        return empirical_ks(list(self.before), votes, list(self.after), votes)

    @property
    def share_changed(self) -> float:
        """Share of debates whose count changed."""
        return self._share_unequal(self.before, self.after)

    @property
    def share_flipped(self) -> float:
        """Share of debates whose majority changed sides; a tie is a side of its own."""
        return self._share_unequal(*(tuple(map(self._side, counts)) for counts in (self.before, self.after)))

    def _side(self, count: int) -> int:
        return (2 * count > self.panel) - (2 * count < self.panel)

    def _share_unequal(self, before: tuple[int, ...], after: tuple[int, ...]) -> float:
        return sum(a != b for a, b in zip(before, after, strict=True)) / len(before)

    def numbers(self) -> dict[str, float]:
        """Return the KS distance and the shares of debates that changed."""
        return {
            "D": self.distance,
            "share of debates whose count changed": self.share_changed,
            "share of debates whose majority flipped": self.share_flipped,
        }


def _is_one_set_of_debates(rounds: TwoRounds) -> bool:
    counts = rounds.before + rounds.after
    return len(rounds.before) == len(rounds.after) >= 1 and all(0 <= s <= rounds.panel for s in counts)


SAME_DEBATES = Assumption(
    "The same debates in both rounds, every seat votes, counts from 0 to the panel", _is_one_set_of_debates
)


@dataclass(frozen=True)
class CountChain:
    """A panel's count of correct votes, a Markov chain whose mean stays where it is.

    Attributes
    ----------
    first : tuple of Fraction
        Law of the count in round 0, from 0 to the panel.
    steps : tuple of tuple of Fraction
        Its transition matrix; each row's mean is the count it starts from.

    Examples
    --------
    >>> even = (Fraction(1, 4),) * 4
    >>> voters = CountChain(even, tuple(voter_row(3, s) for s in range(4)))
    >>> voters.prob_right, voters.mean_accuracy
    (Fraction(1, 2), Fraction(1, 2))
    >>> list(voters.numbers())[:2]
    ['mean individual accuracy, E S_0 / n', 'P(unanimously right)']
    """

    first: Row
    steps: tuple[Row, ...]

    def __str__(self) -> str:
        first = ", ".join(map(str, self.first))
        rows = "; ".join(
            f"{s}: " + " ".join(f"{p} to {j}" for j, p in enumerate(row) if p)
            for s, row in enumerate(self.steps[1:-1], start=1)
        )
        return f"panel of {self.panel}, first count ({first}), then {rows or 'nothing moves'}"

    @property
    def panel(self) -> int:
        return len(self.first) - 1

    @property
    def prob_right(self) -> Fraction:
        """P(unanimously right in the end)."""
        return sum((p * h for p, h in zip(self.first, absorbed_right(self.steps), strict=True)), Fraction(0))

    @property
    def mean_accuracy(self) -> Fraction:
        """E S_0 / n."""
        return sum((p * s for s, p in enumerate(self.first)), Fraction(0)) / self.panel

    @property
    def prob_majority_right(self) -> float:
        """P(the majority of round 0 is right), a tie counting one half."""
        return vote_or_consensus(pmf=[float(p) for p in self.first]).majority

    @property
    def keeps_its_mean(self) -> bool:
        """Whether E[S_(t+1) | S_t] = S_t."""
        return all(sum(j * p for j, p in enumerate(row)) == s for s, row in enumerate(self.steps))

    @property
    def reaches_unanimity(self) -> bool:
        """Whether the chain leaves every count between 0 and the panel.

        A martingale that moves from every count between moves up and down, and so reaches an end.
        """
        return all(row[s] < 1 for s, row in enumerate(self.steps[1:-1], start=1))

    @property
    def begins_as_condorcet(self) -> bool:
        """Whether the first count is that of an odd panel of independent agents, each right with p >= 1/2."""
        p = self.mean_accuracy
        return self.panel % 2 == 1 and 2 * p >= 1 and self.first == _binomial(self.panel, p)

    def numbers(self) -> dict[str, float]:
        """Return how often one agent, the consensus and the first majority are right."""
        return {
            "mean individual accuracy, E S_0 / n": float(self.mean_accuracy),
            "P(unanimously right)": float(self.prob_right),
            "P(first majority right)": self.prob_majority_right,
        }


@cache
def voter_row(panel: int, votes: int) -> Row:
    """Return the law of the next count when each agent copies a seat drawn at random.

    Examples
    --------
    >>> [str(p) for p in voter_row(2, 1)]
    ['1/4', '1/2', '1/4']
    """
    return _binomial(panel, Fraction(votes, panel))


@cache
def _binomial(n: int, p: Fraction) -> Row:
    return tuple(comb(n, s) * p**s * (1 - p) ** (n - s) for s in range(n + 1))


def absorbed_right(steps: tuple[Row, ...]) -> list[Fraction]:
    """Return P(all end right | s right now) for each count s, by solving the chain exactly.

    Parameters
    ----------
    steps : tuple of tuple of Fraction
        Transition matrix of the count, (panel + 1) square; 0 and panel are absorbing.

    Examples
    --------
    >>> [str(p) for p in absorbed_right(tuple(voter_row(3, s) for s in range(4)))]
    ['0', '1/3', '2/3', '1']
    """
    n = len(steps) - 1
    # h(s) = sum_j P(s, j) h(j) with h(0) = 0, h(n) = 1: eliminate the counts between, one by one.
    rows = [list(steps[s]) for s in range(n + 1)]
    for s in range(1, n):
        stays = 1 - rows[s][s]
        rows[s] = [Fraction(0) if j == s else p / stays for j, p in enumerate(rows[s])]
        for other in range(1, n):
            weight = rows[other][s]
            if other != s and weight:
                rows[other] = [
                    (Fraction(0) if j == s else p) + weight * rows[s][j] for j, p in enumerate(rows[other])
                ]
    return [Fraction(0), *(rows[s][n] for s in range(1, n)), Fraction(1)]


_ENUMERATED_ROUNDS = 80
"""Rounds that are enumerated; what is still undecided then has probability (pq)^40 <= 4^-40."""


@dataclass(frozen=True)
class Judge:
    """A judge who names the better answer with probability p in every round, independently, and never ties.

    Attributes
    ----------
    p : Fraction
        Strictly between 0 and 1.

    Examples
    --------
    >>> judge = Judge(Fraction(7, 10))
    >>> round(float(judge.accuracy), 5), round(float(judge.rounds), 4), float(judge.majority_of_three)
    (0.80633, 2.7975, 0.784)
    >>> [round(float(each), 5) for each in judge.enumerated()]
    [0.80633, 2.79747]
    """

    p: Fraction

    def __str__(self) -> str:
        return f"p = {self.p}"

    @property
    def accuracy(self) -> Fraction:
        """P(the answer named at the sign-agreement stop is the better one), by the formula."""
        p, q = self.p, 1 - self.p
        return p**2 * (1 + q) / (1 - p * q)

    @property
    def rounds(self) -> Fraction:
        """Expected rounds to the sign-agreement stop, by the formula."""
        p, q = self.p, 1 - self.p
        return (2 + p * q) / (1 - p * q)

    @property
    def majority_of_three(self) -> Fraction:
        """P(the majority of three rounds names the better answer)."""
        return self.p**2 * (3 - 2 * self.p)

    def enumerated(self) -> tuple[Fraction, Fraction]:
        """Return P(right at the sign-agreement stop) and the expected rounds, summed over all histories."""
        # Whole numbers over one denominator: a fraction per history would be reduced each time.
        yes, total = self.p.numerator, self.p.denominator
        no = total - yes
        correct = rounds = 0
        for right, wrong, last in stopped_histories():
            played = right + wrong
            weight = yes**right * no**wrong * total ** (_ENUMERATED_ROUNDS - played)
            correct += weight if last else 0
            rounds += weight * played
        whole = total**_ENUMERATED_ROUNDS
        return Fraction(correct, whole), Fraction(rounds, whole)


@cache
def stopped_histories() -> tuple[tuple[int, int, bool], ...]:
    """Return (rounds right, rounds wrong, last round right) of each history that sign agreement stops by round 80.

    Every history is played through :class:`~d3stats.stopping.SignAgreement`.
    """
    from d3stats.stopping import Round, SignAgreement

    rule = SignAgreement()
    found: list[tuple[int, int, bool]] = []
    running: list[tuple[bool, ...]] = [()]
    for _ in range(_ENUMERATED_ROUNDS):
        longer = [(*history, right) for history in running for right in (True, False)]
        running = []
        for history in longer:
            points = [(1.0, 0.0) if right else (0.0, 1.0) for right in history]
            _, reason = rule.run(Round(i + 1, (), 0, scores=pair) for i, pair in enumerate(points))
            if reason == rule.reason:
                found.append((sum(history), len(history) - sum(history), history[-1]))
            else:
                running.append(history)
    return tuple(found)


@strategy
def ballots(dice: Dice) -> Ballot:
    """Return up to nine agents and two to four answers of which the right one is the likeliest."""
    rivals = dice.some_wholes(0, 9, fewest=1, most=3)
    return Ballot((max(rivals) + dice.whole(1, 9), *rivals), dice.whole(1, 9))


@strategy
def two_rounds(dice: Dice) -> TwoRounds:
    """Return any two rounds of up to twelve debates."""
    panel = dice.whole(1, 7)
    # A count before and one after, as one number.
    pairs = [divmod(x, panel + 1) for x in dice.some_wholes(0, (panel + 1) ** 2 - 1, fewest=1, most=12)]
    return TwoRounds(panel, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))


@strategy
def still_rounds(dice: Dice) -> TwoRounds:
    """Return two rounds with the same counts in another order: all with D = 0."""
    panel = dice.whole(1, 7)
    # A count and its rank in the other order, as one number.
    ranked = [divmod(x, 12) for x in dice.some_wholes(0, 12 * panel + 11, fewest=1, most=12)]
    after = sorted(ranked, key=lambda pair: pair[1])
    return TwoRounds(panel, tuple(count for count, _ in ranked), tuple(count for count, _ in after))


@strategy
def count_chains(dice: Dice) -> CountChain:
    """Return chains that keep their mean: a count jumps below or above, copies as voters do, or stays."""
    n = dice.whole(1, 6)
    # One debate at least in which nobody is right, so that the weights have a sum.
    weights = (1, *dice.wholes(n, 0, 5))
    return CountChain(tuple(Fraction(x, sum(weights)) for x in weights), _steps(dice, n))


@strategy
def condorcet_chains(dice: Dice) -> CountChain:
    """Return chains that begin with an odd panel of independent agents, each right with p >= 1/2."""
    n, p = dice.pick(1, 3, 5), dice.share()
    return CountChain(_binomial(n, max(p, 1 - p)), _steps(dice, n))


@strategy
def judges(dice: Dice) -> Judge:
    """Return judges with any p, whole odds up to 1000."""
    right, wrong = dice.wholes(2, 1, 1000)
    return Judge(Fraction(right, right + wrong))


@strategy
def judges_above_half(dice: Dice) -> Judge:
    """Return judges with p >= 1/2."""
    wrong, more = dice.whole(1, 1000), dice.whole(0, 1000)
    return Judge(Fraction(wrong + more, 2 * wrong + more))


def _steps(dice: Dice, n: int) -> tuple[Row, ...]:
    rows = [_stay(n, 0)]
    for s in range(1, n):
        jump = _jump(n, s, dice.whole(0, s - 1), dice.whole(s + 1, n))
        voter, stay = dice.wholes(2, 0, 2)
        rows.append(_mixed([(1, jump), (voter, voter_row(n, s)), (stay, _stay(n, s))]))
    return (*rows, _stay(n, n))


def _stay(n: int, s: int) -> Row:
    return tuple(Fraction(j == s) for j in range(n + 1))


def _jump(n: int, s: int, low: int, high: int) -> Row:
    up = Fraction(s - low, high - low)
    return tuple(up if j == high else 1 - up if j == low else Fraction(0) for j in range(n + 1))


def _mixed(parts: list[tuple[int, Row]]) -> Row:
    total = sum(weight for weight, _ in parts)
    return tuple(
        sum((Fraction(w, total) * row[j] for w, row in parts), Fraction(0)) for j in range(len(parts[0][1]))
    )
