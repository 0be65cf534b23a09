"""How often is a judge right who stops as soon as two rounds in a row name the same answer?

The advocates paper stops a debate by this rule and says nothing of what it does to accuracy. The two formulas
here are exact; every history of a debate is played through :class:`~d3stats.stopping.SignAgreement` to check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.sources import ADVOCATES, HERE

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "Judge"]

_DEPTH = 80
"""Rounds that are enumerated; what is still undecided then has probability (pq)^40 <= 4^-40."""


@dataclass(frozen=True)
class Judge:
    """A judge who names the better answer with probability p in every round, independently, and never ties.

    Attributes
    ----------
    p : Fraction
        Strictly between 0 and 1.
    """

    p: Fraction

    def __str__(self) -> str:
        return f"p = {self.p}"

    @property
    def accuracy(self) -> Fraction:
        """P(the answer named at the stop is the better one), by the formula."""
        p, q = self.p, 1 - self.p
        return p**2 * (1 + q) / (1 - p * q)

    @property
    def rounds(self) -> Fraction:
        """Expected rounds to the stop, by the formula."""
        p, q = self.p, 1 - self.p
        return (2 + p * q) / (1 - p * q)

    @property
    def majority_of_three(self) -> Fraction:
        """P(the majority of three rounds names the better answer)."""
        return self.p**2 * (3 - 2 * self.p)


@cache
def _stopped_histories() -> tuple[tuple[int, int, bool], ...]:
    """Return (rounds right, rounds wrong, last round right) of each history that the rule ends by `_DEPTH`."""
    from d3stats.stopping import Round, SignAgreement

    rule = SignAgreement()
    found: list[tuple[int, int, bool]] = []
    running: list[tuple[bool, ...]] = [()]
    for _ in range(_DEPTH):
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


def _enumerated(judge: Judge) -> tuple[Fraction, Fraction]:
    """Return P(right at the stop) and the expected rounds, summed over histories."""
    # Whole numbers over one denominator: a fraction per history would be reduced each time.
    yes, total = judge.p.numerator, judge.p.denominator
    no = total - yes
    correct = rounds = 0
    for right, wrong, last in _stopped_histories():
        played = right + wrong
        weight = yes**right * no**wrong * total ** (_DEPTH - played)
        correct += weight if last else 0
        rounds += weight * played
    whole = total**_DEPTH
    return Fraction(correct, whole), Fraction(rounds, whole)


def _formula_quantities(judge: Judge) -> Mapping[str, float]:
    correct, rounds = _enumerated(judge)
    return {
        "P(correct), formula": float(judge.accuracy),
        "P(correct), all histories": float(correct),
        "E[T], formula": float(judge.rounds),
        "E[T], all histories": float(rounds),
    }


def _formula_margin(judge: Judge) -> float:
    correct, rounds = _enumerated(judge)
    return -float(max(abs(correct - judge.accuracy), abs(rounds - judge.rounds)))


def _three_quantities(judge: Judge) -> Mapping[str, float]:
    return {
        "P(correct), sign agreement": float(judge.accuracy),
        "P(correct), majority of three": float(judge.majority_of_three),
        "E[T], sign agreement": float(judge.rounds),
    }


def _three_margin(judge: Judge) -> float:
    return float(min(judge.accuracy - judge.majority_of_three, 3 - judge.rounds))


def _judges() -> SearchStrategy[Judge]:
    from hypothesis import strategies as st

    odds = st.integers(1, 1000)
    return st.builds(lambda right, wrong: Judge(Fraction(right, right + wrong)), odds, odds)


def _better_judges() -> SearchStrategy[Judge]:
    from hypothesis import strategies as st

    wrong, more = st.integers(1, 1000), st.integers(0, 1000)
    return st.builds(lambda q, d: Judge(Fraction(q + d, 2 * q + d)), wrong, more)


_NO_TIES = Assumption(
    "rounds are independent, none is tied, and each names the better answer with one probability 0 < p < 1",
    lambda judge: 0 < judge.p < 1,
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="sign-agreement",
        title="Accuracy and length of the sign-agreement stop",
        source=Source(HERE, f"the rule: {ADVOCATES}, section 3.2 and Algorithm 2"),
        statement=(
            "A debate that stops when two rounds in a row name the same answer, with no cap on rounds, is right with "
            "probability p^2 (1 + q) / (1 - p q), where q = 1 - p, after (2 + p q) / (1 - p q) rounds on average; "
            "'right' is the answer named at the stop. (The source caps at four rounds, at which 2 (p q)^2 of the "
            "debates are undecided: 441/5000 at p = .7.)"
        ),
        latex=r"P(\text{correct}) = \frac{p^2 (1 + q)}{1 - pq}, \qquad E[T] = \frac{2 + pq}{1 - pq}, \qquad q = 1 - p",
        assumptions=(_NO_TIES,),
        status="holds",
        quantities=_formula_quantities,
        margin=_formula_margin,
        slack=1e-12,
        instances=_judges,
        proof=(
            "A history that ends right at round t alternates up to its last two rounds. If it has an even number "
            "of rounds, 2 + 2j, it has probability p^2 (pq)^j; if it has 3 + 2j it begins with a wrong round and has "
            "q p^2 (pq)^j. Sum both over j: p^2 (1 + q) / (1 - pq). P(T > t) is that of two alternating histories: "
            "2 (pq)^(t/2) for even t >= 2 and (pq)^((t-1)/2) for odd t, since p + q = 1. "
            "E[T] = sum of P(T > t) = 1 + 2pq/(1 - pq) + 1/(1 - pq) = (2 + pq) / (1 - pq)."
        ),
    ),
    Claim(
        name="sign-agreement-beats-three",
        title="The sign-agreement stop against three rounds",
        source=Source(HERE, f"the rule: {ADVOCATES}, section 3.2 and Algorithm 2"),
        statement=(
            "With p >= 1/2 the sign-agreement stop, with no cap on rounds, is right at least as often as the majority "
            "of three rounds, and takes at most three rounds on average; 'right' is the answer named at the stop."
        ),
        latex=r"p \ge \tfrac12 \implies \frac{p^2 (1 + q)}{1 - pq} \ge p^2 (3 - 2p), \quad \frac{2 + pq}{1 - pq} \le 3",
        assumptions=(_NO_TIES, Assumption("p >= 1/2", lambda judge: 2 * judge.p >= 1)),
        status="holds",
        quantities=_three_quantities,
        margin=_three_margin,
        slack=0.0,
        instances=_better_judges,
        proof=(
            "3 - 2p = 1 + 2q, and (1 + q) - (1 + 2q)(1 - pq) = q (p - 1 + 2pq) = q^2 (2p - 1) >= 0. "
            "The second part is 2 + pq <= 3 - 3pq, that is 4pq <= 1."
        ),
    ),
)
