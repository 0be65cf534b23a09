"""Agents who count the answers they hear, and agents who vote: instances, enumerated in whole numbers.

In the model of Debate or Vote agent i holds counts alpha_i over the answers, believes mu_i = alpha_i / A_i with
A_i = sum of alpha_i, and answers by a draw from a Dirichlet law of these counts. It adds the answers heard to
them. Only right or not matters here, and that splits the counts in two: (right, not).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, factorial, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Ballot", "Listeners", "ballots", "equal_listeners", "level_listeners", "listeners"]

Counts = tuple[int, int]


@dataclass(frozen=True)
class Listeners:
    """Agents with counts (right, not), and whom each of them hears.

    Examples
    --------
    >>> pair = Listeners(((1, 1), (2, 1)), ((1,), (0,)))
    >>> print(pair)
    counts (1, 1), (2, 1); heard by each: 1 | 0
    >>> [str(mean) for mean in pair.next_beliefs]
    ['5/9', '5/8']
    """

    counts: tuple[Counts, ...]
    heard: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        heard = " | ".join(" ".join(map(str, others)) or "none" for others in self.heard)
        return f"counts {', '.join(map(str, self.counts))}; heard by each: {heard}"

    @property
    def beliefs(self) -> list[Fraction]:
        """Each agent's probability of the right answer, in the Dirichlet mean."""
        return [Fraction(right, right + wrong) for right, wrong in self.counts]

    @property
    def next_beliefs(self) -> list[Fraction]:
        """Each agent's expected belief after one round, summed over all that it may hear."""
        return [self._next(agent) for agent in range(len(self.counts))]

    @property
    def heard_beliefs(self) -> list[Fraction]:
        """The mean belief of those whom each agent hears; its own where it hears nobody."""
        mu = self.beliefs
        return [
            sum((mu[j] for j in others), Fraction(0)) / len(others) if others else mu[i]
            for i, others in enumerate(self.heard)
        ]

    def _next(self, agent: int) -> Fraction:
        right, wrong = self.counts[agent]
        others = [self.counts[j] for j in self.heard[agent]]
        # Whole numbers over one denominator; a draw from the Dirichlet law is right with its mean.
        every = prod(a + b for a, b in others)
        total = 0
        for answers in product((1, 0), repeat=len(others)):
            weight = prod(pair[0] if x else pair[1] for pair, x in zip(others, answers, strict=True))
            total += weight * (right + sum(answers))
        return Fraction(total, every * (right + wrong + len(others)))


@dataclass(frozen=True)
class Ballot:
    """Independent agents who give each answer with one probability, the right answer first.

    Examples
    --------
    >>> ballot = Ballot((2, 1), 3)
    >>> print(ballot)
    3 agents, answers with probabilities 2/3, 1/3
    >>> ballot.accuracy, ballot.plurality
    (Fraction(2, 3), Fraction(20, 27))
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
    def exponential(self) -> float:
        """Hoeffding's bound, 1 - (m - 1) exp(-n lead^2 / 2)."""
        return 1 - (len(self.weights) - 1) * exp(-self.n * float(self.lead) ** 2 / 2)


def _splits(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _splits(n - first, parts - 1):
            yield (first, *rest)


def listeners() -> SearchStrategy[Listeners]:
    """Return two to four agents with any counts, each of whom hears some of the panel."""
    from hypothesis import strategies as st

    count = st.integers(1, 9)
    agents = st.tuples(count, count, st.lists(st.integers(0, 3), max_size=4))

    def panel(drawn: list[tuple[int, int, list[int]]]) -> Listeners:
        n = len(drawn)
        heard = tuple(tuple(sorted({seat % n for seat in seats})) for _, _, seats in drawn)
        return Listeners(tuple((right, wrong) for right, wrong, _ in drawn), heard)

    return st.lists(agents, min_size=2, max_size=4).map(panel)


def level_listeners() -> SearchStrategy[Listeners]:
    """Return panels in which those heard believe, on average, what the listener believes.

    Agents come in pairs whose beliefs lie at equal distances from a middle, or share the middle's belief; who is
    not at the middle hears only its likes, the others hear whole pairs. Strengths differ.
    """
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Listeners:
        right, wrong = draw(st.integers(1, 5)), draw(st.integers(1, 5))
        times = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
        aside = draw(st.integers(0, 2 * min(right, wrong) - 1))
        middle = [(right * t, wrong * t) for t in times]
        high, low = (2 * right + aside, 2 * wrong - aside), (2 * right - aside, 2 * wrong + aside)
        n = len(middle)
        own = draw(st.booleans())
        hears = (*range(n if own else 0), n, n + 1)
        heard = [hears] * n + [(n,) if draw(st.booleans()) else (), (n + 1,) if draw(st.booleans()) else ()]
        return Listeners((*middle, high, low), tuple(heard))

    return one()


def equal_listeners() -> SearchStrategy[Listeners]:
    """Return panels of equal strength in which every agent hears and is heard by equally many around a table."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Listeners:
        n, strength = draw(st.integers(2, 5)), draw(st.integers(2, 12))
        rights = draw(st.tuples(*[st.integers(1, strength - 1)] * n))
        degree, first = draw(st.integers(0, n)), draw(st.integers(0, 1))
        heard = tuple(tuple((i + first + d) % n for d in range(degree)) for i in range(n))
        return Listeners(tuple((right, strength - right) for right in rights), heard)

    return one()


def ballots() -> SearchStrategy[Ballot]:
    """Return up to nine agents and two to four answers of which the right one is the likeliest."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Ballot:
        rivals = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))
        best = max(rivals) + draw(st.integers(1, 9))
        return Ballot((best, *rivals), draw(st.integers(1, 9)))

    return one()
