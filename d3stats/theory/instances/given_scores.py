"""Scores that were given, as instances of claims about one debate: of both answers, by round, or by two judges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from d3stats.theory.instances.dice import Dice

__all__ = ["Curves", "Scores", "Team", "improving_scores", "some_curves", "some_scores", "some_team"]


def _listed(scores: tuple[Fraction, ...]) -> str:
    return "(" + ", ".join(str(x) for x in scores) + ")"


@dataclass(frozen=True)
class Scores:
    """What the k advocates of each answer scored, in [0, 1]; the first of each would have spoken alone."""

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"scores {_listed(self.first)} against {_listed(self.second)}"

    @property
    def single(self) -> Fraction:
        """The gap g(f_1) - g(f_2) of the first advocates."""
        return self.first[0] - self.second[0]

    @property
    def aggregated(self) -> Fraction:
        """The gap of the best."""
        return max(self.first) - max(self.second)

    @property
    def improvements(self) -> tuple[Fraction, Fraction]:
        """The paper's improvement factors alpha_i: how far the best lies above the first advocate."""
        return max(self.first) - self.first[0], max(self.second) - self.second[0]


@dataclass(frozen=True)
class Curves:
    """How far apart the scores are after each round, with one advocate a side and with several.

    Attributes
    ----------
    single, several : tuple of Fraction
        D_id(r) and D_ma(r) for r = 1, 2, ...
    level : Fraction
        The differentiation that is asked for, above 0; one of the two curves may never reach it.
    k : int
        Advocates a side in the second design.
    """

    single: tuple[Fraction, ...]
    several: tuple[Fraction, ...]
    level: Fraction
    k: int

    def __str__(self) -> str:
        return (
            f"D_id = {_listed(self.single)}, D_ma = {_listed(self.several)}, level {self.level}, k = {self.k}"
        )

    def rounds(self, curve: tuple[Fraction, ...]) -> int:
        """Return the first round at which a curve reaches the level; one more than there are when none does."""
        return next((r for r, d in enumerate(curve, 1) if d >= self.level), len(curve) + 1)


@dataclass(frozen=True)
class Team:
    """The scores of one side's arguments, by the judge and by the aggregator's own reckoning, in [0, 1]."""

    judge: tuple[Fraction, ...]
    inner: tuple[Fraction, ...]
    temperature: Fraction

    def __str__(self) -> str:
        return f"judge {_listed(self.judge)}, inner {_listed(self.inner)}, temperature {self.temperature}"

    @property
    def apart(self) -> Fraction:
        """The largest difference between the two scores of one argument."""
        return max(abs(a - b) for a, b in zip(self.judge, self.inner, strict=True))


def _over(total: int, *parts: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(part, total) for part in parts)


def some_scores(dice: Dice) -> Scores:
    """Return the scores of two to four advocates a side."""
    total, k = dice.pick(1, 2, 4, 20), dice.whole(2, 4)
    return Scores(_over(total, *dice.wholes(k, 0, total)), _over(total, *dice.wholes(k, 0, total)))


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


def some_curves(dice: Dice, least: int = 0, *, reached: bool = False) -> Curves:
    """Return curves of which the second is nowhere lower than the first plus `least` steps.

    With `reached`, the first attains the level.
    """
    total, n = dice.pick(2, 4, 20), dice.whole(1, 4)
    single = [*dice.wholes(n - 1, 0, total - 1), dice.whole(1, total - 1)]
    several = [dice.whole(d + least, total) for d in single]
    level = dice.whole(1, max(single) if reached else total)
    return Curves(_over(total, *single), _over(total, *several), Fraction(level, total), dice.whole(2, 4))


def some_team(dice: Dice, *, agreeing: bool = False, within: int = 2) -> Team:
    """Return scores on a scale of twenty, the inner ones within some steps of the judge's.

    With `agreeing`, every argument that tops the inner scores tops the judge's.
    """
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
