"""What does a debate to consensus achieve if nobody learns? Optional stopping, and a vote at once beside it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb
from typing import TYPE_CHECKING

from d3stats.models.beliefs.latent import vote_or_consensus
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.small import shares
from d3stats.theory.sources import HERE

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["CLAIMS", "Copying", "absorbed_right", "voter_row"]

Row = tuple[Fraction, ...]


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


@dataclass(frozen=True)
class Copying:
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
    >>> voters = Copying(even, tuple(voter_row(3, s) for s in range(4)))
    >>> voters.right, voters.mean_accuracy
    (Fraction(1, 2), Fraction(1, 2))
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
    def right(self) -> Fraction:
        """P(unanimously right in the end)."""
        return sum((p * h for p, h in zip(self.first, absorbed_right(self.steps), strict=True)), Fraction(0))

    @property
    def mean_accuracy(self) -> Fraction:
        """E S_0 / n."""
        return sum((p * s for s, p in enumerate(self.first)), Fraction(0)) / self.panel

    @property
    def majority(self) -> float:
        """P(the majority of round 0 is right), a tie counting one half."""
        return vote_or_consensus(pmf=[float(p) for p in self.first]).majority


def _keeps_its_mean(case: Copying) -> bool:
    means = (sum(j * p for j, p in enumerate(row)) for row in case.steps)
    return all(mean == s for s, mean in enumerate(means))


def _reaches_unanimity(case: Copying) -> bool:
    # A martingale that moves from every count between moves up and down, and so reaches an end.
    return all(row[s] < 1 for s, row in enumerate(case.steps[1:-1], start=1))


def _is_condorcets(case: Copying) -> bool:
    p = case.mean_accuracy
    return case.panel % 2 == 1 and 2 * p >= 1 and case.first == _binomial(case.panel, p)


def copying() -> SearchStrategy[Copying]:
    """Return chains that keep their mean: a count jumps below or above, copies as voters do, or stays."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Copying:
        n = draw(st.integers(1, 6))
        parts = draw(st.tuples(*[st.integers(0, 5)] * n))
        # One debate at least in which nobody is right, so that the weights have a sum.
        weights = (1, *parts)
        first = tuple(Fraction(x, sum(weights)) for x in weights)
        return Copying(first, draw(_chains(n)))

    return one()


def condorcet_panels() -> SearchStrategy[Copying]:
    """Return chains that begin with an odd panel of independent agents, each right with p >= 1/2."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Copying:
        n, p = draw(st.sampled_from([1, 3, 5])), draw(shares())
        return Copying(_binomial(n, max(p, 1 - p)), draw(_chains(n)))

    return one()


@cache
def _chains(n: int) -> SearchStrategy[tuple[Row, ...]]:
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> tuple[Row, ...]:
        rows = [_stay(n, 0)]
        for s in range(1, n):
            jump = _jump(n, s, draw(st.integers(0, s - 1)), draw(st.integers(s + 1, n)))
            voter, stay = draw(st.integers(0, 2)), draw(st.integers(0, 2))
            rows.append(_mixed([(1, jump), (voter, voter_row(n, s)), (stay, _stay(n, s))]))
        return (*rows, _stay(n, n))

    return one()


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


_MARTINGALE = (
    Assumption("The mean stays: E[S_(t+1) | S_t] = S_t", _keeps_its_mean),
    Assumption("No count between 0 and n stays for ever, so all agree in the end", _reaches_unanimity),
)


def _quantities(case: Copying) -> dict[str, float]:
    return {
        "mean individual accuracy, E S_0 / n": float(case.mean_accuracy),
        "P(unanimously right)": float(case.right),
        "P(first majority right)": case.majority,
    }


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="theorem-d",
        title="Debate to consensus is as accurate as one agent when the count is a martingale",
        source=Source(HERE, "theorem D, by optional stopping; the voter model"),
        statement=(
            "If the number S_t of correct votes is a martingale and the panel of n debates until all agree, then "
            "P(unanimously correct) = E[S_0] / n, the mean individual accuracy in round 0, whatever else the "
            "process does."
        ),
        latex=r"\mathbb{E}[S_{t+1} \mid \mathcal{F}_t] = S_t \;\Rightarrow\; P(S_T = n) = \frac{\mathbb{E}\,S_0}{n}",
        assumptions=_MARTINGALE,
        status="holds",
        quantities=_quantities,
        margin=lambda case: float(-abs(case.right - case.mean_accuracy)),
        slack=0.0,
        instances=copying,
        proof=(
            "S_t is a bounded martingale, so E S_T = E S_0 at the time T of unanimity, which is finite with "
            "probability 1: from each count between 0 and n some departure has positive probability, and a "
            "departure that keeps the mean goes up with positive probability, so n is reached from everywhere. "
            "At T the count is 0 or n, hence E S_T = n P(S_T = n). The voter model, in which each agent copies a seat "
            "drawn at random, is such a process. The one of arXiv 2508.17536 is not: there agents add what they hear "
            "to counts of their own, so that beliefs are martingales (where debate-or-vote-theorem-1 holds), and the "
            "number of correct votes, drawn anew from the beliefs in each round, need not be one."
        ),
    ),
    Claim(
        name="vote-beats-consensus",
        title="An immediate majority vote beats debating to consensus",
        source=Source(HERE, "from theorem D and Condorcet (1785)"),
        statement=(
            "Let an odd number n of agents be right independently with probability p >= 1/2 each, and let the "
            "count of correct votes be a martingale from then on. The majority of round 0 is right with at least "
            "the probability with which the consensus in the end is right."
        ),
        latex=r"P(S_0 > n/2) \ge p = P(S_T = n)",
        assumptions=(
            *_MARTINGALE,
            Assumption("S_0 is Binomial(n, p), p >= 1/2, n odd (Condorcet)", _is_condorcets),
        ),
        status="holds",
        quantities=_quantities,
        margin=lambda case: case.majority - float(case.right),
        instances=condorcet_panels,
        proof=(
            "By theorem D the consensus is right with probability p. By symmetry, with q = 1 - p, "
            "P(S_0 > n/2) - p = q P(S_0 > n/2) - p P(S_0 < n/2) = sum over s > n/2 of C(n, s) "
            "(q p^s q^(n-s) - p q^s p^(n-s)), and each term is >= 0, for p^(s-1) q^(n-s) >= p^(n-s) q^(s-1) when "
            "p >= q and s - 1 >= n - s."
        ),
    ),
)
