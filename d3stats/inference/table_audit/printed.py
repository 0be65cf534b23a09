"""A number as it was printed, and the numbers that it may have been before it was rounded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from d3stats._check import number

__all__ = ["Printed", "printed"]

_FORM = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?")
_SLACK = 1e-12
"""What binary floating point may add to a decimal half-unit."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number: any value in [low, high] is printed so.

    Attributes
    ----------
    text : str
        As printed.
    value : float
    half_unit : float
        Half a unit of the last printed digit.

    Examples
    --------
    >>> printed("85.1").low, printed("85.1").high
    (85.05, 85.15)
    """

    text: str
    value: float
    half_unit: float

    @property
    def low(self) -> float:
        """Smallest value that is printed so."""
        return round(self.value - self.half_unit, 12)

    @property
    def high(self) -> float:
        """Largest value that is printed so."""
        return round(self.value + self.half_unit, 12)

    def taken_exactly(self) -> Printed:
        """Return the same number as if no digit had been cut off."""
        return Printed(self.text, self.value, 0.0)

    def scaled(self, factor: float) -> Printed:
        """Return the same number in other units: a percentage as a share."""
        return Printed(self.text, self.value * factor, self.half_unit * abs(factor))

    def covers(self, low: float, high: float | None = None) -> bool:
        """Say whether some value in [low, high] would be printed so."""
        slack = _SLACK + 1e-9 * self.half_unit
        return (low if high is None else high) >= self.low - slack and low <= self.high + slack

    def __str__(self) -> str:
        return self.text


def printed(text: str | float | Printed) -> Printed:
    """Read a printed number; "%", "$", "~", "≈" and "×" are dropped, "1,100" is 1100.

    "85.9 ± 0.7" is 85.9. "< 0.01" is any number from 0 to 0.01.

    Parameters
    ----------
    text : str, float or Printed
        A float counts with the digits of its shortest form.

    Raises
    ------
    ValueError
        When the text is no number.

    Examples
    --------
    >>> printed("4.65x").value, printed("1,100").half_unit, printed("8.7 %").half_unit
    (4.65, 0.5, 0.05)
    >>> printed("< 0.01").low, printed("< 0.01").high
    (0.0, 0.01)
    """
    if isinstance(text, Printed):
        return text
    if not isinstance(text, str):
        text = repr(float(number("printed", text)))
        text = text.removesuffix(".0")
    below = text.strip().startswith("<")
    bare = (
        text.partition("±")[0]
        .strip("< ")
        .replace("−", "-")
        .strip("~≈$ ")
        .removesuffix("%")
        .rstrip("x×")
        .strip()
    )
    if not bare or bare in "+-" or not _FORM.fullmatch(bare):
        raise ValueError(f"a printed number must be digits with at most one decimal point; got {text!r}")
    digits = bare.replace(",", "")
    decimals = len(digits.partition(".")[2])
    if below:
        if not float(digits) > 0:
            raise ValueError(f"a printed number with < must be above 0; got {text!r}")
        return Printed(text.strip(), float(digits) / 2, float(digits) / 2)
    return Printed(text.strip(), float(digits), 0.5 * 10.0**-decimals)
