"""Pairs of laws of which the first is stochastically larger, because they are made so."""

from __future__ import annotations

from d3stats.models.separation.laws import MaxLaw, MixtureLaw, ScoreLaw
from d3stats.theory.instances.dice import Dice, share, some_shape, some_smooth, table
from d3stats.theory.instances.shapes import Shape

__all__ = ["Pair", "best", "ordered", "powers", "raised", "swapped"]

Pair = tuple[ScoreLaw, ScoreLaw]


def raised(dice: Dice) -> Pair:
    """Return tables on one probability space, raised point by point: every dominating pair is made so."""
    top = dice.pick(1, 3, 20)
    low = 1 if top == 20 else 0
    n = dice.whole(1, 5)
    weights = dice.wholes(n, 1, 6)
    second = [dice.whole(low, top - 1), *dice.wholes(n - 1, low, top)]
    first = [dice.whole(second[0] + 1, top)] + [dice.whole(x, top) for x in second[1:]]
    return table(first, weights), table(second, weights)


def moved_up(dice: Dice) -> Pair:
    shape = some_shape(dice)
    start, scale = (0 if shape.singular else dice.whole(0, 2)), dice.part(1, 4, 2)
    further, wider = divmod(dice.whole(1, 8), 3)
    if shape.kind == "normal":
        return shape.at(start + max(further + wider, 1) / 2, scale), shape.at(start, scale)
    if shape.singular:
        further, wider = 0, max(further + wider, 1)
    return shape.at(start + further / 2, scale + wider / 2), shape.at(start, scale)


def beta_order(dice: Dice) -> Pair:
    a, b = dice.part(1, 8, 2), dice.part(2, 8, 2)
    more, less = divmod(dice.whole(1, 24), 5)
    return Shape("beta", a + more / 2, b).at(0, 1), Shape("beta", a, b + less / 2).at(0, 1)


def uniform_order(dice: Dice) -> Pair:
    low, high = 0, dice.whole(1, 4)
    up_low, up_high = dice.whole(0, 3), dice.whole(1, 4)
    ends = min(low + up_low / 2, high + up_high / 2 - 0.5), high + up_high / 2
    return Shape("uniform").at(ends[0], ends[1] - ends[0]), Shape("uniform").at(low, high - low)


def powers(dice: Dice) -> Pair:
    base = Shape("uniform").at(0, 1) if dice.whole(0, 7) == 0 else some_smooth(dice)
    n = dice.whole(1, 5)
    return best(base, n + dice.whole(1, 5)), best(base, n)


def best(law: ScoreLaw, k: int) -> ScoreLaw:
    return law if k == 1 else MaxLaw(law, k)


def ordered(dice: Dice) -> Pair:
    simple = (raised, moved_up, uniform_order, beta_order, powers)
    how = dice.whole(0, len(simple) + 1)
    if how < len(simple):
        return simple[how](dice)
    one, two = (dice.pick(*simple[:4])(dice) for _ in range(2))
    w = share(dice)
    if how == len(simple):
        return MixtureLaw([one[0], two[0]], [w, 1 - w]), MixtureLaw([one[1], two[1]], [w, 1 - w])
    # Weight moves from the lower law of one ordered pair to its upper one.
    less = w * share(dice)
    return MixtureLaw(one, [w, 1 - w]), MixtureLaw(one, [less, 1 - less])


def swapped(dice: Dice, pair: Pair) -> Pair:
    return pair if dice.whole(0, 1) == 0 else (pair[1], pair[0])
