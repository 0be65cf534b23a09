"""Whole numbers drawn by hypothesis, and score laws made of them: simple ones first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from d3stats.models.separation.laws import DiscreteLaw, MixtureLaw, ScoreLaw
from d3stats.theory.instances.shapes import Shape

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Dice", "drawn", "placed", "share", "some_law", "some_shape", "some_smooth", "some_table", "table"]

T = TypeVar("T")


@dataclass(frozen=True)
class Dice:
    """Whole numbers, drawn by hypothesis and shrunk towards the lower end."""

    draw: DrawFn

    def whole(self, low: int, high: int) -> int:
        """Draw from low to high, both included."""
        from hypothesis import strategies as st

        return int(self.draw(st.integers(low, high)))

    def wholes(self, n: int, low: int, high: int) -> list[int]:
        """Draw n of them."""
        return [self.whole(low, high) for _ in range(n)]

    def part(self, low: int, high: int, steps: int) -> float:
        """Draw from low / steps to high / steps: in whole steps, or in hundredths of one."""
        fine = self.pick(1, 100)
        return self.whole(low * fine, high * fine) / (steps * fine)

    def pick(self, *options: T) -> T:
        """Draw one of some options, the simplest first."""
        return options[self.whole(0, len(options) - 1)]


def drawn(build: Callable[[Dice], T]) -> SearchStrategy[T]:
    """Return the strategy of what a function makes of the dice."""
    from hypothesis import strategies as st

    @st.composite
    def made(draw: DrawFn) -> T:
        return build(Dice(draw))

    return made()


def table(points: Sequence[float], weights: Sequence[int]) -> DiscreteLaw:
    """Return the law with whole weights on points that may repeat, in any order.

    Examples
    --------
    >>> table([1, 0, 1], [1, 2, 1])
    DiscreteLaw({0: 0.5, 1: 0.5})
    """
    total = sum(weights)
    heap: dict[float, int] = {}
    for x, w in zip(points, weights, strict=True):
        heap[float(x)] = heap.get(float(x), 0) + w
    at = sorted(heap)
    return DiscreteLaw(at, [heap[x] / total for x in at])


def some_shape(dice: Dice, *kinds: str) -> Shape:
    """Return a shape of one of some kinds; "rising" and "falling" speak of the failure rate."""
    kind = dice.pick(*(kinds or ("uniform", "exponential", "normal", "weibull", "beta")))
    if kind == "weibull":
        return Shape(kind, dice.pick(2.0, 1.5, 3.0, 0.5, 0.75, dice.part(1, 6, 2)))
    if kind == "weibull, rising":
        return Shape("weibull", dice.part(2, 8, 2))
    if kind == "weibull, falling":
        return Shape("weibull", dice.part(2, 4, 4))
    if kind == "beta":
        return Shape(kind, dice.part(1, 12, 2), dice.part(2, 12, 2))
    if kind == "beta, rising":
        return Shape("beta", dice.part(2, 12, 2), dice.part(2, 12, 2))
    return Shape(kind)


def placed(dice: Dice, shape: Shape) -> ScoreLaw:
    """Return the law of a shape at a whole number, or at 0 where it has to start there."""
    return shape.at(0 if shape.singular else dice.whole(0, 3), dice.part(1, 6, 2))


def some_table(dice: Dice) -> ScoreLaw:
    """Return a law on 0 and 1, on 0 to 3, or on a rubric from 1 to 20."""
    top = dice.pick(1, 3, 20)
    n = dice.whole(1, 5)
    return table(dice.wholes(n, 1 if top == 20 else 0, top), dice.wholes(n, 1, 6))


def share(dice: Dice) -> float:
    """Return a simple fraction strictly between 0 and 1, 1/2 first."""
    total = dice.whole(2, dice.pick(6, 60))
    return dice.whole(1, total - 1) / total


def some_law(dice: Dice) -> ScoreLaw:
    """Return a table, a continuous law, or a mixture of two laws of which at most one is an atom."""
    # Mixtures are rarer: their quantiles are searched for, and cost ten times as much.
    how = dice.pick("table", "shape", "table", "mixture", "shape", "table", "shape")
    if how == "table":
        return some_table(dice)
    if how == "shape":
        return placed(dice, some_shape(dice))
    w = share(dice)
    other = table([dice.whole(0, 3)], [1]) if dice.whole(0, 1) == 0 else placed(dice, some_shape(dice))
    return MixtureLaw([placed(dice, some_shape(dice)), other], [w, 1 - w])


def some_smooth(dice: Dice) -> ScoreLaw:
    """Return a law without atoms."""
    part = placed(dice, some_shape(dice))
    if dice.whole(0, 4) < 4:
        return part
    w = share(dice)
    return MixtureLaw([part, placed(dice, some_shape(dice))], [w, 1 - w])
