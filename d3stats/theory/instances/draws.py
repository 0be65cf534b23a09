"""Whole numbers and simple fractions, drawn by Hypothesis: small ones first, so that instances shrink to readable ones.

Hypothesis mixes numbers from the source of loaded local modules into wide ranges, 100 and above. No draw here
reaches 100, so that a seed gives the same instances in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, wraps
from math import gcd
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Dice", "between", "drawn", "listed", "sign", "strategy"]

T = TypeVar("T")
P = ParamSpec("P")

_ROUNDS: tuple[int, ...] = (*range(1, 31), 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000)


@dataclass(frozen=True)
class Dice:
    """Numbers drawn by Hypothesis, shrunk towards the lower end or the first option.

    Attributes
    ----------
    draw : callable
        What Hypothesis gives to a composite strategy.

    Examples
    --------
    >>> from hypothesis import find
    >>> 5 < find(drawn(lambda dice: dice.whole(3, 9)), lambda value: value > 5) <= 9
    True
    >>> 0 < find(drawn(lambda dice: dice.share()), lambda value: True) < 1
    True
    >>> made = find(drawn(lambda dice: (dice.coin(), dice.pick("a", "b"), dice.wholes(2, 0, 5))), lambda value: True)
    >>> made[0] in (False, True), made[1] in "ab", len(made[2])
    (True, True, 2)
    >>> made = find(drawn(lambda dice: (dice.positive(), dice.count(), dice.rounds())), lambda value: True)
    >>> min(made) > 0
    True
    >>> made = find(drawn(lambda dice: (dice.part(0, 4, 4), dice.tenth_or_simpler())), lambda value: True)
    >>> 0 <= made[0] <= 1, 0 < made[1] < 1
    (True, True)
    >>> len(find(drawn(lambda dice: dice.some_wholes(0, 5, fewest=2, most=3)), lambda value: True)) in (2, 3)
    True
    """

    draw: DrawFn

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number from low to high, both included."""
        hundreds, rest = divmod(high - low, 100)
        if not hundreds:
            return low + self._digit(rest)
        above = self._digit(hundreds)
        return low + 100 * above + self._digit(rest if above == hundreds else 99)

    def wholes(self, n: int, low: int, high: int) -> list[int]:
        """Draw n whole numbers."""
        return [self.whole(low, high) for _ in range(n)]

    def some_wholes(self, low: int, high: int, *, fewest: int = 0, most: int) -> list[int]:
        """Draw a list of `fewest` to `most` whole numbers, each below 100; a search drops the ones it does not need."""
        from hypothesis import strategies as st

        return list(self.draw(st.lists(_digits(high - low).map(low.__add__), min_size=fewest, max_size=most)))

    def part(self, low: int, high: int, steps: int) -> float:
        """Draw from low / steps to high / steps: in whole steps, or in hundredths of one."""
        fine = self.pick(1, 100)
        return self.whole(low * fine, high * fine) / (steps * fine)

    def pick(self, *options: T) -> T:
        """Draw one of some options, the simplest first."""
        return options[self.whole(0, len(options) - 1)]

    def coin(self) -> bool:
        """Draw False or True."""
        from hypothesis import strategies as st

        return bool(self.draw(st.booleans()))

    def share(self) -> Fraction:
        """Draw a fraction strictly between 0 and 1, small denominators first: 1/2, 1/3, 2/3, 1/4, ..., 19/20."""
        # Without 17ths and 19ths there are fewer than 100.
        return self._one_of(_fractions(*range(2, 17), 18, 20))

    def tenth_or_simpler(self) -> Fraction:
        """Draw a fraction strictly between 0 and 1 of denominator 2 to 10."""
        return self._one_of(_fractions(*range(2, 11)))

    def positive(self) -> Fraction:
        """Draw 1, 2, ..., 10 or then a fraction below 1."""
        return self._one_of((*map(Fraction, range(1, 11)), *_fractions(*range(2, 11))))

    def count(self) -> Fraction:
        """Draw a parameter of a posterior: a whole number up to 1000, or then a fraction below 1."""
        return self._one_of((*map(Fraction, _ROUNDS), *_fractions(*range(2, 11))))

    def rounds(self) -> int:
        """Draw 1, ..., 30 or then some number up to 1000; one list, so that a long debate shrinks to a short one."""
        return self._one_of(_ROUNDS)

    def _one_of(self, options: tuple[T, ...]) -> T:
        # A drawn option, and not its drawn number: Hypothesis shrinks the former better.
        found: T = self.draw(_sampled_from(options))
        return found

    def _digit(self, most: int) -> int:
        return int(self.draw(_digits(most)))


def drawn(build: Callable[[Dice], T]) -> SearchStrategy[T]:
    """Return the strategy of what a function makes of the dice.

    Parameters
    ----------
    build : callable
        From :class:`Dice` to an instance.

    Returns
    -------
    SearchStrategy

    Examples
    --------
    >>> from hypothesis import find
    >>> 3 < find(drawn(lambda dice: dice.whole(0, 9)), lambda value: value > 3) <= 9
    True
    """
    from hypothesis import strategies as st

    @st.composite
    def made(draw: DrawFn) -> T:
        return build(Dice(draw))

    return made()


def strategy(build: Callable[Concatenate[Dice, P], T]) -> Callable[P, SearchStrategy[T]]:
    """Turn a function of dice into one that returns the strategy of what it makes."""

    @wraps(build)
    def made(*args: P.args, **kwargs: P.kwargs) -> SearchStrategy[T]:
        return drawn(lambda dice: build(dice, *args, **kwargs))

    return made


@cache
def _digits(most: int) -> SearchStrategy[int]:
    from hypothesis import strategies as st

    return st.integers(0, most)


@cache
def _sampled_from(options: tuple[T, ...]) -> SearchStrategy[T]:
    from hypothesis import strategies as st

    return st.sampled_from(options)


@cache
def _fractions(*denominators: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(i, n) for n in denominators for i in range(1, n) if gcd(i, n) == 1)


def between(low: Fraction, high: Fraction, share: Fraction) -> Fraction:
    """Return the number that lies `share` of the way from `low` to `high`."""
    return low + share * (high - low)


def listed(numbers: Iterable[Fraction]) -> str:
    """Write fractions in round brackets."""
    return f"({', '.join(map(str, numbers))})"


def sign(number: Fraction | float) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)
