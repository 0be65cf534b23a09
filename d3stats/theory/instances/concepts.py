"""Beliefs over latent concepts, the true one first: a prior, what each concept says, and what was heard."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from d3stats.models.beliefs.latent import belief_after, expected_belief

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["STRONG", "Discussion", "Evidence", "discussions", "evidence", "strong_discussions"]

STRONG = 9
"""A response matches the truth strongly when it is this many times as likely under it as under any rival."""

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class Evidence:
    """A belief and who makes the next responses.

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
    >>> round(own.expected, 6), round(float(own.promised), 6)
    (0.5, 0.68)
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
        return expected_belief(
            _floats(self.prior), [_floats(row) for row in self.table], 0, maker, n_responses=self.n
        )

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
    def promised(self) -> Fraction:
        """What fresh evidence reaches at least: pi + 4 pi (1 - pi)^2 TV^2."""
        pi = self.prior[0]
        return pi + 4 * pi * (1 - pi) ** 2 * self.distance**2


@dataclass(frozen=True)
class Discussion:
    """A belief and the responses that were heard.

    Examples
    --------
    >>> half, most, little = Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)
    >>> heard = Discussion((half, half), ((most, little), (little, most)), (0, 1, 1))
    >>> print(heard)
    belief (1/2, 1/2), true concept says (9/10, 1/10), rivals (1/10, 9/10); heard responses 0, 1, 1
    >>> round(heard.after, 6), heard.under_truth, heard.under_belief
    (0.1, Fraction(9, 1000), Fraction(9, 200))
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
        return float(
            belief_after(_floats(self.prior), [_floats(row) for row in self.table], list(self.heard))[0]
        )

    @property
    def under_truth(self) -> Fraction:
        """Probability of the responses under the truth."""
        return prod((self.table[0][z] for z in self.heard), start=Fraction(1))

    @property
    def under_belief(self) -> Fraction:
        """Probability of the responses under the belief, independent given the concept."""
        likelihoods = (prod((row[z] for z in self.heard), start=Fraction(1)) for row in self.table)
        return sum((w * p for w, p in zip(self.prior, likelihoods, strict=True)), Fraction(0))

    @property
    def strong(self) -> int:
        """How many of the responses match the truth strongly."""
        return sum(all(self.table[0][z] >= STRONG * row[z] for row in self.table[1:]) for z in self.heard)


def evidence(*, fresh: bool | None = None) -> SearchStrategy[Evidence]:
    """Return beliefs over two or three concepts and up to two responses; `fresh` or from either maker."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Evidence:
        concepts, kinds = draw(st.integers(2, 3)), draw(st.integers(2, 3))
        made = draw(st.booleans()) if fresh is None else fresh
        n = draw(st.integers(1, 2))
        return Evidence(draw(_row(concepts)), tuple(draw(_row(kinds)) for _ in range(concepts)), made, n)

    return one()


def discussions() -> SearchStrategy[Discussion]:
    """Return beliefs over two to four concepts and up to ten responses, of any kind."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Discussion:
        concepts, kinds = draw(st.integers(2, 4)), draw(st.integers(2, 3))
        table = tuple(draw(_row(kinds)) for _ in range(concepts))
        heard = draw(st.lists(st.integers(0, kinds - 1), max_size=10))
        return Discussion(draw(_row(concepts)), table, tuple(heard))

    return one()


def strong_discussions() -> SearchStrategy[Discussion]:
    """Return discussions in which response 0, heard at least once, matches the truth strongly."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> Discussion:
        concepts, kinds = draw(st.integers(2, 3)), draw(st.integers(2, 3))
        rows = [_headed(Fraction(9, 10), draw(_row(kinds - 1)))]
        for _ in range(concepts - 1):
            head = Fraction(draw(st.integers(1, 10)), 100)
            rows.append(_headed(head, draw(_row(kinds - 1))))
        others = draw(st.lists(st.integers(0, kinds - 1), max_size=9))
        return Discussion(draw(_row(concepts)), tuple(rows), (0, *others))

    return one()


def _headed(head: Fraction, rest: Row) -> Row:
    return (head, *((1 - head) * share for share in rest))


@cache
def _row(size: int) -> SearchStrategy[Row]:
    """Return `size` probabilities, all above 0."""
    from hypothesis import strategies as st

    weights = st.tuples(*[st.integers(1, 9)] * size)
    return weights.map(lambda parts: tuple(Fraction(part, sum(parts)) for part in parts))


def _floats(row: Row) -> list[float]:
    return [float(x) for x in row]


def _belief(prior: Row, table: tuple[Row, ...]) -> str:
    rivals = ", ".join(_tuple(row) for row in table[1:])
    return f"belief {_tuple(prior)}, true concept says {_tuple(table[0])}, rivals {rivals}"


def _tuple(row: Row) -> str:
    return f"({', '.join(map(str, row))})"
