"""Scores that were given in one debate: of both answers' advocates, by round, or of one side by two judges."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from fractions import Fraction

from d3stats.models.separation.softmax import softmax_selected
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.draws import Dice, listed, strategy

__all__ = [
    "POSITIVE_LEVEL",
    "WARM",
    "Curves",
    "Scores",
    "Team",
    "agreeing_teams",
    "curves",
    "improving_scores",
    "reached_curves",
    "scores",
    "teams",
]


@dataclass(frozen=True)
class Scores:
    """The scores of the k advocates of each answer, in [0, 1]; the first of each is the single advocate.

    Attributes
    ----------
    first, second : tuple of Fraction
        Scores of either answer's advocates.

    Examples
    --------
    >>> scores = Scores((Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 4), Fraction(1, 4)))
    >>> scores.single_gap, scores.best_gap, list(scores.numbers())[:2]
    (Fraction(1, 4), Fraction(1, 2), ['|g(f_1) - g(f_2)|', '|g(f_1agg) - g(f_2agg)|'])
    """

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"scores {listed(self.first)} against {listed(self.second)}"

    @property
    def single_gap(self) -> Fraction:
        """The gap g(f_1) - g(f_2) of the first advocates."""
        return self.first[0] - self.second[0]

    @property
    def best_gap(self) -> Fraction:
        """The gap of the best."""
        return max(self.first) - max(self.second)

    @property
    def improvements(self) -> tuple[Fraction, Fraction]:
        """The paper's improvement factors alpha_i: how far the best lies above the first advocate."""
        return max(self.first) - self.first[0], max(self.second) - self.second[0]

    def numbers(self) -> dict[str, float]:
        """Return both absolute gaps and both improvement factors."""
        one, two = self.improvements
        return {
            "|g(f_1) - g(f_2)|": float(abs(self.single_gap)),
            "|g(f_1agg) - g(f_2agg)|": float(abs(self.best_gap)),
            "alpha_1": float(one),
            "alpha_2": float(two),
        }


@dataclass(frozen=True)
class Curves:
    """The distance of the scores after each round, with one advocate a side and with several.

    Attributes
    ----------
    single, several : tuple of Fraction
        D_id(r) and D_ma(r) for r = 1, 2, ...
    level : Fraction
        The differentiation that is asked for, above 0; one of the two curves may never reach it.
    k : int
        Advocates a side in the second design.

    Examples
    --------
    >>> curves = Curves((Fraction(1, 4), Fraction(1, 2)), (Fraction(1, 2), Fraction(3, 4)), Fraction(1, 2), 3)
    >>> curves.rounds(curves.single), curves.rounds(curves.several), curves.rounds_saved
    (2, 1, 1)
    >>> list(curves.numbers())[:2]
    ['I_id', 'I_ma']
    """

    single: tuple[Fraction, ...]
    several: tuple[Fraction, ...]
    level: Fraction
    k: int

    def __str__(self) -> str:
        single, several = listed(self.single), listed(self.several)
        return f"D_id = {single}, D_ma = {several}, level {self.level}, k = {self.k}"

    def rounds(self, curve: tuple[Fraction, ...]) -> int:
        """Return the first round at which a curve reaches the level; one more than there are when none does."""
        return next((r for r, d in enumerate(curve, 1) if d >= self.level), len(curve) + 1)

    @property
    def rounds_saved(self) -> int:
        """I_id - I_ma, by how many rounds several advocates reach the level sooner."""
        return self.rounds(self.single) - self.rounds(self.several)

    def numbers(self) -> dict[str, float]:
        """Return the rounds and the arguments a side that each design takes to the level."""
        one, several = self.rounds(self.single), self.rounds(self.several)
        return {
            "I_id": one,
            "I_ma": several,
            "arguments a side, one advocate": one,
            "arguments a side, k advocates": self.k * several,
        }


@dataclass(frozen=True)
class Team:
    """The scores of one side's arguments, by the judge and by the aggregator's own reckoning, in [0, 1].

    Attributes
    ----------
    judge, inner : tuple of Fraction
        Score of each argument by the judge, and by the aggregator.
    temperature : Fraction
        Temperature of the softmax, above 0.

    Examples
    --------
    >>> team = Team((Fraction(1, 2), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 2)), Fraction(1, 10))
    >>> team.chosen, team.shortfall, team.agrees
    (Fraction(1, 2), Fraction(1, 4), False)
    >>> list(team.numbers())[:2]
    ['g(f_agg)', 'max g(f_j)']
    >>> list(team.softmax_numbers())[:2]
    ['mean', 'A']
    """

    judge: tuple[Fraction, ...]
    inner: tuple[Fraction, ...]
    temperature: Fraction

    def __str__(self) -> str:
        return f"judge {listed(self.judge)}, inner {listed(self.inner)}, temperature {self.temperature}"

    @property
    def largest_difference(self) -> Fraction:
        """The largest difference between the two scores of one argument."""
        return max(abs(a - b) for a, b in zip(self.judge, self.inner, strict=True))

    @property
    def chosen(self) -> Fraction:
        """The judge's score of the argument that is put forward; the least of them where inner scores tie."""
        judge, inner = ([float(x) for x in row] for row in (self.judge, self.inner))
        lowest = float(softmax_selected(judge, float(self.temperature), inner).lowest)
        return self.judge[judge.index(lowest)]

    @property
    def shortfall(self) -> Fraction:
        """By how much the chosen argument scores below the best."""
        return max(self.judge) - self.chosen

    @property
    def agrees(self) -> bool:
        """Whether every argument with the top inner score has the judge's top score."""
        best, top = max(self.judge), max(self.inner)
        return all(g == best for g, own in zip(self.judge, self.inner, strict=True) if own == top)

    def numbers(self) -> dict[str, float]:
        """Return the judge's score of the chosen and of the best argument, and how far the two scores differ."""
        return {
            "g(f_agg)": float(self.chosen),
            "max g(f_j)": float(max(self.judge)),
            "largest |g' - g|": float(self.largest_difference),
        }

    def softmax_numbers(self) -> dict[str, float]:
        """Return the softmax-weighted score of the judge's scores and its bounds, all from their definitions."""
        scores, tau = [float(g) for g in self.judge], float(self.temperature)
        best = max(scores)
        weights = [math.exp((g - best) / tau) for g in scores]
        total = math.fsum(weights)
        p = [w / total for w in weights]
        weighted = math.fsum(x * g for x, g in zip(p, scores, strict=True))
        return {
            "mean": math.fsum(scores) / len(scores),
            "A": weighted,
            "max": best,
            "max - tau H(p)": best + tau * math.fsum(x * math.log(x) for x in p if x > 0),
            "max - tau log k": best - tau * math.log(len(scores)),
            "Var_p(g)": math.fsum(x * (g - weighted) ** 2 for x, g in zip(p, scores, strict=True)),
            "dA / d(1/tau)": _slope(scores, tau),
        }


def _slope(scores: list[float], temperature: float) -> float:
    """Return dA / d(1/tau) by a complex step, which loses no digits."""
    best = max(scores)
    beta = complex(1 / temperature, 1e-30)
    weights = [cmath.exp((g - best) * beta) for g in scores]
    average = sum(w * g for w, g in zip(weights, scores, strict=True)) / sum(weights)
    return average.imag / 1e-30


POSITIVE_LEVEL = Assumption(
    "the level is above 0, and both curves have the same rounds", lambda curves: curves.level > 0
)
WARM = Assumption("the temperature is above 0", lambda team: team.temperature > 0)


@strategy
def scores(dice: Dice) -> Scores:
    """Return the scores of two to four advocates a side."""
    total, k = dice.pick(1, 2, 4, 20), dice.whole(2, 4)
    return Scores(_over(total, *dice.wholes(k, 0, total)), _over(total, *dice.wholes(k, 0, total)))


@strategy
def improving_scores(dice: Dice) -> Scores:
    """Return scores of which the best of the answer that was ahead improves on its first advocate by more."""
    total, others = dice.pick(2, 3, 4, 20), dice.whole(0, 2)
    if dice.whole(0, 4) == 4:  # a tie, of which nothing is asked
        tied = dice.whole(0, total)
        ends = [(tied, dice.whole(tied, total)) for _ in range(2)]
    else:
        ahead = dice.whole(1, total - 1)
        behind = dice.whole(0, ahead - 1)
        more = dice.whole(1, total - ahead)
        ends = [(ahead, ahead + more), (behind, behind + dice.whole(0, more - 1))]
    if dice.whole(0, 1) == 1:
        ends.reverse()
    sides = [_over(total, one, best, *dice.wholes(others, 0, best)) for one, best in ends]
    return Scores(sides[0], sides[1])


@strategy
def curves(dice: Dice) -> Curves:
    """Return curves of which the second is nowhere lower than the first."""
    return _curves(dice, steps_above=0, reached=False)


@strategy
def reached_curves(dice: Dice) -> Curves:
    """Return curves of which the first reaches the level and the second is higher in every round."""
    return _curves(dice, steps_above=1, reached=True)


def _curves(dice: Dice, *, steps_above: int, reached: bool) -> Curves:
    total, n = dice.pick(2, 4, 20), dice.whole(1, 4)
    single = [*dice.wholes(n - 1, 0, total - 1), dice.whole(1, total - 1)]
    several = [dice.whole(d + steps_above, total) for d in single]
    level = dice.whole(1, max(single) if reached else total)
    return Curves(_over(total, *single), _over(total, *several), Fraction(level, total), dice.whole(2, 4))


@strategy
def teams(dice: Dice, within: int = 2) -> Team:
    """Return scores on a scale of twenty, the inner ones within some steps of the judge's."""
    return _team(dice, within, agreeing=False)


@strategy
def agreeing_teams(dice: Dice) -> Team:
    """Return teams in which every argument that tops the inner scores tops the judge's."""
    return _team(dice, 2, agreeing=True)


def _team(dice: Dice, within: int, *, agreeing: bool) -> Team:
    judge = dice.wholes(dice.whole(2, 5), 0, 20)
    inner = []
    best = max(judge)
    top = dice.whole(best, min(20, best + within))
    for g in judge:
        high = min(20, g + within)
        if agreeing:
            inner.append(top if g == best else dice.whole(max(0, g - within), min(high, top - 1)))
        else:
            inner.append(dice.whole(max(0, g - within), high))
    tau = Fraction(1, 10) if dice.whole(0, 1) == 0 else Fraction(dice.whole(1, 40), 20)
    return Team(_over(20, *judge), _over(20, *inner), tau)


def _over(total: int, *parts: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(part, total) for part in parts)
