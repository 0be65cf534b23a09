"""Small readable numbers for instances: what a search finds shrinks to whole numbers and simple fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["between", "shares", "sign"]


def shares(denominator: int = 20) -> SearchStrategy[Fraction]:
    """Return fractions strictly between 0 and 1, small denominators first: 1/2, 1/3, 2/3, 1/4, ..."""
    from hypothesis import strategies as st

    return st.integers(2, denominator).flatmap(
        lambda below: st.integers(1, below - 1).map(lambda above: Fraction(above, below))
    )


def between(low: Fraction, high: Fraction, share: Fraction) -> Fraction:
    """Return the number that lies `share` of the way from `low` to `high`."""
    return low + share * (high - low)


def sign(number: Fraction | float) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)
