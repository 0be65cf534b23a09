"""Pairs of laws that are ordered by how far they spread, or share a ceiling, because they are made so.

The dispersive order is Q1 = Q2 + something nondecreasing, Q the quantile function. The excess wealth of a table
with jumps g_i of Q at the levels v_i is W(u) = sum of (1 - v_i) g_i over v_i >= u, so that moving a product
(1 - v_i) g_i to a higher level raises it everywhere.
"""

from __future__ import annotations

from math import log

from d3stats.models.separation.laws import MaxLaw, MixtureLaw, ScoreLaw
from d3stats.theory.instances.dice import Dice, placed, share, some_law, some_shape, table
from d3stats.theory.instances.dominance import Pair, swapped
from d3stats.theory.instances.shapes import Shape, moved

__all__ = [
    "bounded",
    "common_ceiling",
    "decreasing_rates",
    "dispersed",
    "falling_rate",
    "wealthier",
    "wealthier_table",
]


def _jumps(dice: Dice) -> tuple[list[int], list[int], int]:
    """Return the weights of equal stretches of the level, jumps of the quantile between them, and a start."""
    n = dice.whole(2, 5)
    return dice.wholes(n, 1, 4), dice.wholes(n - 1, 0, 4), dice.whole(0, 3)


def _climb(start: float, jumps: list[float]) -> list[float]:
    points = [float(start)]
    for jump in jumps:
        points.append(points[-1] + jump)
    return points


def _wider_table(dice: Dice) -> Pair:
    weights, jumps, start = _jumps(dice)
    more = dice.wholes(len(jumps), 0, 3)
    first = _climb(dice.whole(0, 3), [g + d for g, d in zip(jumps, more, strict=True)])
    return table(first, weights), table(_climb(start, [float(g) for g in jumps]), weights)


def wealthier_table(dice: Dice) -> Pair:
    """Return tables of which the first has jumps of the quantile moved to higher levels, or enlarged."""
    weights, jumps, start = _jumps(dice)
    above = [sum(weights[i + 1 :]) for i in range(len(jumps))]
    first = [float(g + dice.whole(0, 2)) for g in jumps]
    i = dice.whole(0, len(jumps) - 1)
    j = dice.whole(i, len(jumps) - 1)
    if i < j:
        taken = dice.whole(0, jumps[i])
        first[i] -= taken
        first[j] += taken * above[i] / above[j]
    return table(_climb(dice.whole(0, 3), first), weights), table(
        _climb(start, [float(g) for g in jumps]), weights
    )


def _stretched(dice: Dice) -> Pair:
    law = some_law(dice) if dice.whole(0, 1) == 0 else placed(dice, some_shape(dice, "normal", "beta"))
    return moved(law, 0, dice.part(2, 6, 2)), moved(law, dice.whole(0, 2), 1)


def _thin(dice: Dice, width: float) -> ScoreLaw:
    """Return a law whose density is nowhere above 1 / width."""
    shape = some_shape(dice, "exponential", "normal", "beta, rising")
    return shape.at(dice.whole(0, 3), width * dice.part(2, 6, 2) * shape.peak * (1 + 1e-12))


def _wider_family(dice: Dice) -> Pair:
    # A density that never exceeds 1/w is more dispersed than the uniform of width w, whose density is 1/w.
    width = dice.part(1, 4, 2)
    return _thin(dice, width), Shape("uniform").at(dice.whole(0, 3), width)


def _thin_mixture(dice: Dice) -> Pair:
    # A mixture of densities that never exceed 1/w is one.
    width, w = dice.part(1, 4, 2), share(dice)
    parts = [_thin(dice, width), _thin(dice, width)]
    return MixtureLaw(parts, [w, 1 - w]), Shape("uniform").at(dice.whole(0, 3), width)


def _lumpy(dice: Dice) -> Pair:
    # A share w of the uniform on [0, s] keeps the density of a mixture on [0, s] at w/s or above, so that the
    # uniform of width s/w, whose density is w/s, is more dispersed.
    w, s = share(dice), dice.part(1, 4, 2)
    first = Shape("uniform").at(dice.whole(0, 3), dice.part(2, 4, 2) * s / w * (1 + 1e-12))
    other = some_shape(dice, "beta, rising").at(0, s)
    return first, MixtureLaw([Shape("uniform").at(0, s), other], [w, 1 - w])


def _best_of_decreasing(dice: Dice) -> Pair:
    law = falling_rate(dice)
    return moved(MaxLaw(law, dice.whole(2, 4)), 0, dice.part(2, 4, 2)), law


def dispersed(dice: Dice) -> Pair:
    """Return a pair of which the first is larger in the dispersive order."""
    # Mixtures cost most, and are rarer.
    often = (_wider_table, _stretched, _wider_family, _best_of_decreasing)
    return dice.pick(*often, _thin_mixture, *often, _lumpy)(dice)


def _against_exponential(dice: Dice) -> Pair:
    # The mean residual life of a law with rising failure rate is at most its mean, that of the exponential is its
    # mean everywhere, that of a falling rate at least its mean; and W(u) / (1 - u) is the mean residual life.
    start, other, factor = dice.whole(0, 3), dice.whole(0, 3), dice.part(4, 8, 4)
    if dice.whole(0, 1) == 0:
        rising = some_shape(dice, "uniform", "weibull, rising", "beta, rising")
        scale = dice.part(1, 4, 2)
        mean = scale * rising.mean * factor * (1 + 1e-12)
        return Shape("exponential").at(start, mean), rising.at(other, scale)
    falling = falling_rate(dice)
    return falling, Shape("exponential").at(other, falling.mean / factor * (1 - 1e-12))


def wealthier(dice: Dice) -> Pair:
    """Return a pair of which the first is larger in the excess-wealth order."""
    return dice.pick(wealthier_table, _against_exponential, dispersed)(dice)


def falling_rate(dice: Dice) -> ScoreLaw:
    """Return a law on [0, infinity) whose failure rate falls: maybe with an atom at 0, where scores tie."""
    # Ends are drawn more often than what lies between: mixtures, which cost more, lie there.
    how = dice.pick(
        "exponential", "weibull", "exponential", "mixture", "weibull", "atom", "weibull", "exponential"
    )
    if how == "exponential":
        return Shape("exponential").at(0, dice.part(1, 4, 2))
    if how == "weibull":
        return some_shape(dice, "weibull, falling").at(0, dice.part(1, 4, 2))
    w = share(dice)
    one, two = (Shape("exponential").at(0, dice.part(1, 6, 2)) for _ in range(2))
    if how == "mixture":
        return MixtureLaw([one, two], [w, 1 - w])
    return MixtureLaw([table([0], [1]), one], [w, 1 - w])


def decreasing_rates(dice: Dice) -> Pair:
    """Return DFR laws, or one and a sure score, with E M1 - E M2 >= E G1 - E G2 for all k and P(G1 >= G2) >= 1/2."""
    how = dice.whole(0, 3)
    if how == 3:
        # A sure score is its own maximum, and one up to the median of the other is behind it half of the time.
        law = falling_rate(dice)
        return law, table([float(law.quantile(0.5)) * dice.part(0, 6, 6)], [1])
    if how == 0:
        # Stretched from its lower end: larger in the dispersive order, and stochastically.
        law = falling_rate(dice)
        return moved(law, 0, dice.part(2, 6, 2)), law
    scale = dice.part(1, 4, 2)
    if how == 1:
        # s E against c + m E', s >= m: P(s E >= c + m E') = s / (s + m) exp(-c / s), for any c not too large.
        first = scale * dice.part(2, 6, 2)
        most = first * log(2 * first / (first + scale))
        return Shape("exponential").at(0, first), Shape("exponential").at(most * dice.part(0, 8, 9), scale)
    # y^c <= c y + 1 - c for c <= 1: a Weibull of shape c and scale >= m above (1 - c) m dominates the exponential
    # of mean m, and has the larger mean residual life.
    shape = some_shape(dice, "weibull, falling")
    start = (1 - shape.a) * scale + dice.part(0, 2, 2)
    return shape.at(start, scale * dice.part(2, 4, 2)), Shape("exponential").at(0, scale)


def _below(dice: Dice, ceiling: int) -> ScoreLaw:
    """Return a bounded law with the essential supremum `ceiling`, not a point."""
    how = dice.pick("table", "uniform", "beta", "mixture", "table", "beta", "uniform")
    if how == "table":
        n = dice.whole(1, 4)
        low = dice.wholes(n, 0, ceiling - 1)
        return table([*low, ceiling], dice.wholes(n + 1, 1, 6))
    width = dice.part(1, 2 * ceiling, 2)
    if how == "uniform":
        return Shape("uniform").at(ceiling - width, width)
    if how == "beta":
        return Shape("beta", dice.part(2, 6, 2), dice.part(2, 6, 2)).at(ceiling - width, width)
    w = share(dice)
    atom = table([dice.whole(0, ceiling)], [1])
    return MixtureLaw([atom, Shape("uniform").at(ceiling - width, width)], [w, 1 - w])


def bounded(dice: Dice) -> Pair:
    """Return two bounded laws, each with a ceiling of its own or with one in common."""
    return _below(dice, dice.pick(1, 2, 20)), _below(dice, dice.pick(1, 2, 20))


def common_ceiling(dice: Dice) -> Pair:
    """Return two bounded laws with one essential supremum; one of them may be sure of it."""
    ceiling = dice.pick(1, 2, 20)
    sure = dice.whole(0, 1) == 0
    first = table([ceiling], [1]) if sure else _below(dice, ceiling)
    return swapped(dice, (first, _below(dice, ceiling)))
