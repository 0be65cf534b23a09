"""Small readable numbers for instances: what a search finds shrinks to whole numbers and simple fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["between", "counts", "positive", "rounds", "shares", "sign"]


_ROUNDS = [*range(1, 31), 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000]


@cache
def shares(denominator: int = 20) -> SearchStrategy[Fraction]:
    """Return fractions strictly between 0 and 1, small denominators first: 1/2, 1/3, 2/3, 1/4, ..."""
    from hypothesis import strategies as st

    return st.sampled_from(_fractions(denominator))


@cache
def positive(most: int = 10) -> SearchStrategy[Fraction]:
    """Return 1, 2, ..., `most` and then fractions below 1."""
    from hypothesis import strategies as st

    return st.sampled_from([Fraction(n) for n in range(1, most + 1)] + _fractions(most))


@cache
def counts() -> SearchStrategy[Fraction]:
    """Return parameters of a posterior: whole numbers up to 1000, then fractions below 1."""
    from hypothesis import strategies as st

    return st.sampled_from([Fraction(n) for n in _ROUNDS] + _fractions(10))


@cache
def rounds() -> SearchStrategy[int]:
    """Return 1, ..., 30 and then some numbers up to 1000; one list, so that a long debate shrinks to a short one."""
    from hypothesis import strategies as st

    return st.sampled_from(_ROUNDS)


@cache
def _fractions(denominator: int) -> list[Fraction]:
    every = {Fraction(above, below) for below in range(2, denominator + 1) for above in range(1, below)}
    return sorted(every, key=lambda share: (share.denominator, share))


def between(low: Fraction, high: Fraction, share: Fraction) -> Fraction:
    """Return the number that lies `share` of the way from `low` to `high`."""
    return low + share * (high - low)


def sign(number: Fraction | float) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)
