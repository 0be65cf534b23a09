"""Beliefs that agents update on what they hear: over latent concepts, and as counts of right and wrong answers.

In the model of Debate or Vote agent i has counts alpha_i over the answers, with the sum A_i, and its belief is
mu_i = alpha_i / A_i. It answers by a draw from a Dirichlet law of these counts and adds the answers heard to them. Only
right or not matters here, so that there are two counts, (right, not).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from d3stats.models.beliefs.latent import belief_after, expected_belief
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.draws import Dice, listed, strategy

__all__ = [
    "CONCEPTS",
    "COUNTING_AGENTS",
    "STRONG",
    "Discussion",
    "Evidence",
    "Listeners",
    "discussions",
    "equal_listeners",
    "evidence",
    "level_listeners",
    "listeners",
    "strong_discussions",
]

STRONG = 9
"""A response matches the truth strongly when it is this many times as likely under it as under any rival."""

Row = tuple[Fraction, ...]
Counts = tuple[int, int]


@dataclass(frozen=True)
class Evidence:
    """A belief over latent concepts, the true one first, and who makes the next responses.

    Attributes
    ----------
    prior : tuple of Fraction
        Belief in each concept, all above 0; concept 0 is true.
    table : tuple of tuple of Fraction
        P(response | concept), one row per concept.
    fresh : bool
        Whether responses are drawn under the truth; otherwise each is drawn from the belief of its moment.
    n : int
        Responses heard.

    Examples
    --------
    >>> half, most, little = Fraction(1, 2), Fraction(4, 5), Fraction(1, 5)
    >>> own = Evidence((half, half), ((most, little), (little, most)), fresh=False, n=1)
    >>> print(own)
    belief (1/2, 1/2), true concept says (4/5, 1/5), rivals (1/5, 4/5); 1 response of its own
    >>> round(own.expected, 6), round(float(own.guaranteed), 6)
    (0.5, 0.68)
    >>> list(own.numbers())[:2]
    ['belief before', 'expected belief after']
    """

    prior: Row
    table: tuple[Row, ...]
    fresh: bool
    n: int

    def __str__(self) -> str:
        maker = "fresh" if self.fresh else "of its own"
        heard = f"{self.n} response{'s' if self.n != 1 else ''} {maker}"
        return f"{_belief(self.prior, self.table)}; {heard}"

    @property
    def expected(self) -> float:
        """Expected belief in the truth after the responses, exactly."""
        maker = "fresh" if self.fresh else "self"
        return expected_belief(*_floats(self), 0, maker, n_responses=self.n)

    @property
    def distance(self) -> Fraction:
        """Total variation between what the truth says and what its rivals say on average."""
        pi = self.prior[0]
        rivals = [
            sum((w * row[z] for w, row in zip(self.prior[1:], self.table[1:], strict=True)), Fraction(0))
            / (1 - pi)
            for z in range(len(self.table[0]))
        ]
        return sum((abs(p - q) for p, q in zip(self.table[0], rivals, strict=True)), Fraction(0)) / 2

    @property
    def guaranteed(self) -> Fraction:
        """The least expected belief after fresh evidence: pi + 4 pi (1 - pi)^2 TV^2."""
        pi = self.prior[0]
        return pi + 4 * pi * (1 - pi) ** 2 * self.distance**2

    def numbers(self) -> dict[str, float]:
        """Return the belief in the truth before, after on average, and as guaranteed."""
        return {
            "belief before": float(self.prior[0]),
            "expected belief after": self.expected,
            "promised at least": float(self.guaranteed),
            "total variation": float(self.distance),
        }


@dataclass(frozen=True)
class Discussion:
    """A belief over latent concepts, the true one first, and the responses that were heard.

    Attributes
    ----------
    prior : tuple of Fraction
        Belief in each concept; concept 0 is true.
    table : tuple of tuple of Fraction
        P(response | concept), one row per concept.
    heard : tuple of int
        The responses.

    Examples
    --------
    >>> half, most, little = Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)
    >>> heard = Discussion((half, half), ((most, little), (little, most)), (0, 1, 1))
    >>> print(heard)
    belief (1/2, 1/2), true concept says (9/10, 1/10), rivals (1/10, 9/10); heard responses 0, 1, 1
    >>> round(heard.after, 6), heard.prob_under_truth, heard.prob_under_belief
    (0.1, Fraction(9, 1000), Fraction(9, 200))
    >>> list(heard.numbers())[:2]
    ['belief before', 'belief after']
    """

    prior: Row
    table: tuple[Row, ...]
    heard: tuple[int, ...]

    def __str__(self) -> str:
        responses = ", ".join(map(str, self.heard)) or "none"
        return f"{_belief(self.prior, self.table)}; heard responses {responses}"

    @property
    def after(self) -> float:
        """Belief in the truth after the responses, by Bayes' rule."""
        return float(belief_after(*_floats(self), list(self.heard))[0])

    @property
    def rise(self) -> float:
        """Belief in the truth after the responses minus that before."""
        return self.after - float(self.prior[0])

    @property
    def prob_under_truth(self) -> Fraction:
        """Probability of the responses under the truth."""
        return prod((self.table[0][z] for z in self.heard), start=Fraction(1))

    @property
    def prob_under_belief(self) -> Fraction:
        """Probability of the responses under the belief, independent given the concept."""
        likelihoods = (prod((row[z] for z in self.heard), start=Fraction(1)) for row in self.table)
        return sum((w * p for w, p in zip(self.prior, likelihoods, strict=True)), Fraction(0))

    @property
    def n_strong(self) -> int:
        """The number of responses that match the truth strongly."""
        return sum(all(self.table[0][z] >= STRONG * row[z] for row in self.table[1:]) for z in self.heard)

    def numbers(self) -> dict[str, float]:
        """Return the belief in the truth before and after, and both sides of the condition for a rise."""
        return {
            "belief before": float(self.prior[0]),
            "belief after": self.after,
            "responses that match strongly": self.n_strong,
            "P(responses | truth)": float(self.prob_under_truth),
            "P(responses | belief)": float(self.prob_under_belief),
        }


@dataclass(frozen=True)
class Listeners:
    """Agents with counts (right, not), and whom each of them hears.

    Attributes
    ----------
    counts : tuple of (int, int)
        Counts for the right answer and for the others, by agent.
    heard : tuple of tuple of int
        Whom each agent hears.

    Examples
    --------
    >>> pair = Listeners(((1, 1), (2, 1)), ((1,), (0,)))
    >>> print(pair)
    counts (1, 1), (2, 1); heard by each: 1 | 0
    >>> [str(mean) for mean in pair.next_beliefs]
    ['5/9', '5/8']
    >>> list(pair.numbers())[:2]
    ['mean belief now', 'mean belief expected next']
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
        """The mean belief of the agents whom each agent hears; its own where it hears none."""
        mu = self.beliefs
        return [
            sum((mu[j] for j in others), Fraction(0)) / len(others) if others else mu[i]
            for i, others in enumerate(self.heard)
        ]

    @property
    def drifts(self) -> list[Fraction]:
        """Each agent's expected change of belief in one round."""
        return [after - now for after, now in zip(self.next_beliefs, self.beliefs, strict=True)]

    @property
    def mean_drift(self) -> Fraction:
        """The expected change of the panel's mean belief in one round."""
        return sum(self.drifts, Fraction(0)) / len(self.counts)

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

    def numbers(self) -> dict[str, float]:
        """Return the panel's mean belief now and next, and each agent's belief, what it hears and its drift."""
        n = len(self.counts)
        numbers = {
            "mean belief now": float(sum(self.beliefs, Fraction(0)) / n),
            "mean belief expected next": float(sum(self.next_beliefs, Fraction(0)) / n),
        }
        rows = zip(self.beliefs, self.heard_beliefs, self.drifts, strict=True)
        for i, (belief, heard, drift) in enumerate(rows):
            numbers[f"belief of agent {i}"] = float(belief)
            numbers[f"mean belief that agent {i} hears"] = float(heard)
            numbers[f"expected change of agent {i}"] = float(drift)
        return numbers


def _are_laws(instance: Evidence | Discussion) -> bool:
    rows = (instance.prior, *instance.table)
    return all(sum(row) == 1 and min(row) > 0 for row in rows)


CONCEPTS = Assumption(
    "Beliefs and responses have probabilities above 0, and responses are independent given the concept",
    _are_laws,
)
COUNTING_AGENTS = Assumption(
    "Counts are above 0; answers are independent draws, each by its agent's own counts",
    lambda panel: len(panel.heard) == len(panel.counts) and all(a > 0 and b > 0 for a, b in panel.counts),
)


@strategy
def evidence(dice: Dice, *, fresh: bool | None = None) -> Evidence:
    """Return beliefs over two or three concepts and up to two responses; `fresh` or from either maker."""
    concepts, kinds = dice.whole(2, 3), dice.whole(2, 3)
    made = dice.coin() if fresh is None else fresh
    n = dice.whole(1, 2)
    return Evidence(_row(dice, concepts), tuple(_row(dice, kinds) for _ in range(concepts)), made, n)


@strategy
def discussions(dice: Dice) -> Discussion:
    """Return beliefs over two to four concepts and up to ten responses, of any kind."""
    concepts, kinds = dice.whole(2, 4), dice.whole(2, 3)
    table = tuple(_row(dice, kinds) for _ in range(concepts))
    heard = dice.some_wholes(0, kinds - 1, most=10)
    return Discussion(_row(dice, concepts), table, tuple(heard))


@strategy
def strong_discussions(dice: Dice) -> Discussion:
    """Return discussions in which response 0, heard at least once, matches the truth strongly."""
    concepts, kinds = dice.whole(2, 3), dice.whole(2, 3)
    heads = [Fraction(9, 10), *(Fraction(dice.whole(1, 10), 100) for _ in range(concepts - 1))]
    rows = [_headed(head, _row(dice, kinds - 1)) for head in heads]
    others = dice.some_wholes(0, kinds - 1, most=9)
    return Discussion(_row(dice, concepts), tuple(rows), (0, *others))


@strategy
def listeners(dice: Dice) -> Listeners:
    """Return two to four agents with any counts, each of whom hears some of the panel."""
    n = dice.whole(2, 4)
    counts = tuple((dice.whole(1, 9), dice.whole(1, 9)) for _ in range(n))
    heard = tuple(tuple(sorted(set(dice.some_wholes(0, n - 1, most=4)))) for _ in range(n))
    return Listeners(counts, heard)


@strategy
def level_listeners(dice: Dice) -> Listeners:
    """Return panels in which those heard believe, on average, what the listener believes.

    Agents come in pairs whose beliefs lie at equal distances from a middle, or share the middle's belief; who is
    not at the middle hears only its likes, the others hear whole pairs. Strengths differ.
    """
    right, wrong = dice.whole(1, 5), dice.whole(1, 5)
    times = dice.some_wholes(1, 4, fewest=1, most=2)
    aside = dice.whole(0, 2 * min(right, wrong) - 1)
    middle = [(right * t, wrong * t) for t in times]
    high, low = (2 * right + aside, 2 * wrong - aside), (2 * right - aside, 2 * wrong + aside)
    n = len(middle)
    hears = (*range(n if dice.coin() else 0), n, n + 1)
    heard = [hears] * n + [(i,) if dice.coin() else () for i in (n, n + 1)]
    return Listeners((*middle, high, low), tuple(heard))


@strategy
def equal_listeners(dice: Dice) -> Listeners:
    """Return panels of equal strength in which every agent hears and is heard by equally many around a table."""
    n, strength = dice.whole(2, 5), dice.whole(2, 12)
    rights = dice.wholes(n, 1, strength - 1)
    degree, first = dice.whole(0, n), dice.whole(0, 1)
    heard = tuple(tuple((i + first + d) % n for d in range(degree)) for i in range(n))
    return Listeners(tuple((right, strength - right) for right in rights), heard)


def _headed(head: Fraction, rest: Row) -> Row:
    return (head, *((1 - head) * share for share in rest))


def _row(dice: Dice, size: int) -> Row:
    """Draw `size` probabilities, all above 0."""
    parts = dice.wholes(size, 1, 9)
    return tuple(Fraction(part, sum(parts)) for part in parts)


def _floats(instance: Evidence | Discussion) -> tuple[list[float], list[list[float]]]:
    """Return the prior and the table as floats."""
    return list(map(float, instance.prior)), [list(map(float, row)) for row in instance.table]


def _belief(prior: Row, table: tuple[Row, ...]) -> str:
    rivals = ", ".join(listed(row) for row in table[1:])
    return f"belief {listed(prior)}, true concept says {listed(table[0])}, rivals {rivals}"
