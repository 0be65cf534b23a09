"""A number as it was printed, and the numbers that it may have been before it was rounded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

from printed_tables.arguments import number

__all__ = [
    "Finding",
    "Number",
    "Printed",
    "Verdict",
    "findings_frame",
    "fits_or_needs",
    "printed",
]

_FORM = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?")
_POWER = re.compile(r"(?P<digits>[^e]+)e-(?P<power>\d{1,3})", re.IGNORECASE)
_SLACK = 1e-12
"""What binary floating point may add to a decimal half-unit, relative to the number."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number: any value in [low, high] is printed so.

    Attributes
    ----------
    text : str
        As printed.
    value : float
        The number itself.
    half_unit : float
        Half a unit of the last printed digit.

    Examples
    --------
    >>> printed("85.1").low, printed("85.1").high
    (85.05, 85.15)
    >>> share = printed("85.1").scaled(0.01)
    >>> share.covers(0.8513), share.covers(0.86), share.taken_exactly().covers(0.8513)
    (True, False, False)
    """

    text: str
    value: float
    half_unit: float

    @property
    def low(self) -> float:
        """Smallest value that is printed so."""
        return float(f"{self.value - self.half_unit:.15g}")

    @property
    def high(self) -> float:
        """Largest value that is printed so."""
        return float(f"{self.value + self.half_unit:.15g}")

    @property
    def below(self) -> bool:
        """Whether a bound is printed, "< 0.01", and no number."""
        return self.text.startswith("<")

    @property
    def several_runs(self) -> bool:
        """Whether a "±" is printed, so that the number may be a mean of several runs."""
        return "±" in self.text

    def taken_exactly(self) -> Printed:
        """Return the same number as if no digit had been cut off."""
        return Printed(self.text, self.value, 0.0)

    def cut_off(self) -> Printed:
        """Return the same number as if its further digits had been cut off instead of rounded.

        Examples
        --------
        >>> printed("66.6").cut_off().low, printed("66.6").cut_off().high
        (66.6, 66.69999999)
        """
        if self.below or self.half_unit == 0:
            return self
        if self.value <= 0:
            # Towards zero, or down: "-0.4" may have been -0.45 or -0.35.
            return Printed(self.text, self.value, 2 * self.half_unit)
        # The upper end itself would be printed as the next number.
        half = self.half_unit * (1 - 1e-7)
        return Printed(self.text, self.value + half, half)

    def scaled(self, factor: float) -> Printed:
        """Return the same number in other units: a percentage as a share."""
        return Printed(self.text, self.value * factor, self.half_unit * abs(factor))

    def covers(self, low: float, high: float | None = None) -> bool:
        """Say whether some value in [low, high] would be printed so."""
        slack = 1e-15 + _SLACK * abs(self.value) + 1e-9 * self.half_unit
        return (low if high is None else high) >= self.low - slack and low <= self.high + slack

    def __str__(self) -> str:
        return self.text


Number = str | float | Printed
"""A number as printed; a float counts with the digits of its shortest form."""


def printed(text: Number) -> Printed:
    """Read a printed number; "%", "$", "~", "≈", "×" and marks (``*``, †, ‡) are dropped, "1,100" is 1100.

    "85.9 ± 0.7" is 85.9. "< 0.01" is any number from 0 to 0.01. "1.9e-6" has two digits.

    Parameters
    ----------
    text : str, float or Printed
        A float counts with the digits of its shortest form.

    Returns
    -------
    Printed

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
        text = repr(float(number("printed", text))).removesuffix(".0")
    text = text.strip().replace("≤", "<").replace("<=", "<")
    below = text.startswith("<")
    bare = text.partition("±")[0].strip("< *†‡").replace("−", "-").strip("~≈$ ").removesuffix("%")
    bare = bare.rstrip("x×").strip()
    power = 0
    if scientific := _POWER.fullmatch(bare):
        bare, power = scientific["digits"], int(scientific["power"])
    if not bare or bare in "+-" or not _FORM.fullmatch(bare):
        raise ValueError(f"a printed number must be digits with at most one decimal point; got {text!r}")
    digits = bare.replace(",", "")
    value = float(f"{digits}e-{power}")
    if below:
        if not value > 0:
            raise ValueError(f"a printed number with < must be above 0; got {text!r}")
        return Printed(text, value / 2, value / 2)
    return Printed(text, value, float(f"0.5e-{power + len(digits.partition('.')[2])}"))


Verdict = Literal["inconsistent", "conditional", "consistent"]
COLUMNS = ("place", "check", "printed", "implied", "verdict", "needed")


@dataclass(frozen=True, slots=True)
class Finding:
    """One printed number held against the others.

    Attributes
    ----------
    check, place : str
        What was checked, and where the number is in the source.
    printed, implied : str
        As printed, and what the other numbers imply (a range where rounding leaves one).
    verdict : {"consistent", "inconsistent", "conditional"}
        "conditional" holds only if `needed` does, which the table does not say.
    needed : str
        What would have to be true.

    Examples
    --------
    >>> from printed_tables import check_difference
    >>> found = check_difference("86.1", "82.7", "3.2", place="5.1")
    >>> found.printed, found.implied, found.verdict
    ('3.2', '3.4 (3.3 to 3.5)', 'inconsistent')
    """

    check: str
    place: str
    printed: str
    implied: str
    verdict: Verdict
    needed: str = ""

    def __str__(self) -> str:
        needed = f" ({self.needed})" if self.needed else ""
        return f"{self.place}, {self.check}: printed {self.printed}, implied {self.implied}: {self.verdict}{needed}"


def fits_or_needs(check: str, place: str, printed: str, implied: str, fits: bool, needed: str) -> Finding:
    """Return a finding that is consistent where the numbers fit, else inconsistent with what would be needed."""
    return Finding(
        check, place, printed, implied, "consistent" if fits else "inconsistent", "" if fits else needed
    )


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row per finding.

    Parameters
    ----------
    findings : iterable of Finding
        In the order of the rows.

    Returns
    -------
    DataFrame
        Columns ``place, check, printed, implied, verdict, needed``.

    Examples
    --------
    >>> from printed_tables import check_difference, check_part
    >>> found = [check_difference("86.1", "82.7", "3.4", place="5.1"), check_part("120", "80", place="G.1")]
    >>> findings_frame(found)[["place", "printed", "verdict"]].values.tolist()
    [['5.1', '3.4', 'consistent'], ['G.1', '120 of 80', 'inconsistent']]
    """
    return pd.DataFrame([asdict(f) for f in findings], columns=list(COLUMNS))
