"""A number with its interval, in the same form for every method, and tables of such numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from d3stats._latex import booktabs
from d3stats._words import counted
from d3stats.note import with_words

__all__ = ["Estimate", "estimates_frame", "estimates_latex", "interval_kind", "limits_text", "named_notes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimate with its interval.

    Attributes
    ----------
    name : str
        What is estimated.
    value : float
        The estimate, in the units of what is estimated.
    se : float or None
        Standard error, None where the method has none.
    low, high : float or None
        Limits; both None where the data do not allow an interval, and then `note` gives the reason.
    level : float
        Coverage aimed at, in (0, 1).
    kind : str
        How the interval was made, "cluster t" or "bca" or "equal-tailed posterior" and so on.
    n : int
        How many observations (items, pairs, votes) went in.
    n_clusters : int or None
        How many clusters they come from; None where observations are taken as independent.
    p_value : float or None
        Two-sided, of the null value that the method's documentation names; None where there is no test.
    note : str
        A remark on the estimate or its interval, "" when there is none.
    of : str
        What or whom the estimate is about where several are alike (a persona, a rule, a pair of logs); the name then
        ends in a comma and this. "" where there is one alone.

    Examples
    --------
    >>> gain = Estimate(name="B - A", value=0.031, low=0.004, high=0.058, kind="cluster t", n=240, n_clusters=80)
    >>> print(gain)
    B - A: 0.031 [0.004, 0.058] (95 % cluster t, n = 240 in 80 clusters)
    >>> gain.excludes(0), gain.excludes(0.05)
    (True, False)
    >>> gain.to_dict()["n_clusters"]
    80
    >>> gain.about("medicine").name
    'B - A, medicine'
    """

    name: str
    value: float
    low: float | None
    high: float | None
    kind: str
    n: int
    se: float | None = None
    level: float = 0.95
    n_clusters: int | None = None
    p_value: float | None = None
    note: str = ""
    of: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"value must be finite; got {self.name} = {self.value!r}")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"low and high must come together; got {self.low!r} and {self.high!r}")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ValueError(f"low must be <= high; got {self.name} with {self.low!r} and {self.high!r}")

    def __str__(self) -> str:
        size = f"n = {self.n}" + (
            "" if self.n_clusters is None else f" in {counted(self.n_clusters, 'cluster')}"
        )
        if self.low is None:
            return f"{self.name}: {self.value:z.3f}, no interval ({self.note or size})"
        percent = f"{100 * self.level:.6g} % {self.kind}"
        return f"{self.name}: {self._text()} ({percent}, {size})"

    def _text(self) -> str:
        """Return the value, and the limits in square brackets where there are any."""
        return f"{self.value:z.3f}" + ("" if self.low is None else f" {limits_text(self, 3)}")

    def excludes(self, value: float) -> bool:
        """Say whether a value lies outside the interval; without an interval nothing is excluded."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    @property
    def quantity(self) -> str:
        """The name without what or whom the estimate is about."""
        return self.name.removesuffix(f", {self.of}") if self.of else self.name

    def about(self, of: str) -> Estimate:
        """Return the same estimate with the name of what or whom it is about, which also ends its name."""
        return replace(self, name=f"{self.quantity}, {of}", of=of)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary that JSON can hold."""
        return asdict(self)


COLUMNS = tuple(Estimate.__dataclass_fields__)
"""Columns of a table of estimates, in order."""


def estimates_frame(estimates: Iterable[Estimate]) -> pd.DataFrame:
    """Return one row per estimate, columns as the attributes of :class:`Estimate`; None becomes missing.

    Parameters
    ----------
    estimates : iterable of Estimate
        In the order of the rows.

    Returns
    -------
    DataFrame
        One row per estimate.

    Examples
    --------
    >>> rate = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96)
    >>> estimates_frame([rate])[["name", "value", "kind"]].values.tolist()
    [['rate', 0.5, 'Wilson']]
    """
    frame = pd.DataFrame([e.to_dict() for e in estimates], columns=list(COLUMNS))
    numbers = dict.fromkeys(("value", "se", "low", "high", "level", "p_value"), "float64")
    return frame.astype(numbers).astype({"n_clusters": "Int64"})


def estimates_latex(estimates: Iterable[Estimate], *, digits: int = 3) -> str:
    r"""Return a booktabs tabular of name, estimate, interval, kind (or why there is no interval) and size.

    Parameters
    ----------
    estimates : iterable of Estimate
        In the order of the rows.
    digits : int
        Digits after the point.

    Returns
    -------
    str
        Every cell is escaped.

    Examples
    --------
    >>> rate = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96)
    >>> estimates_latex([rate]).splitlines()[4]
    'rate & 0.500 & [0.400, 0.600] & 95 \\% Wilson & 96 \\\\'
    """
    rows = [
        (
            e.name,
            f"{e.value:z.{digits}f}",
            limits_text(e, digits),
            interval_kind(e),
            f"{e.n}" if e.n_clusters is None else f"{e.n} in {e.n_clusters}",
        )
        for e in estimates
    ]
    return booktabs("lrlll", ("", "estimate", "interval", "kind", "n"), rows)


def limits_text(e: Estimate, digits: int) -> str:
    """Write the limits in square brackets, or a dash where there are none.

    Parameters
    ----------
    e : Estimate
        With or without an interval.
    digits : int
        Digits after the point.

    Returns
    -------
    str

    Examples
    --------
    >>> limits_text(Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96), 2)
    '[0.40, 0.60]'
    """
    return "-" if e.low is None else f"[{e.low:z.{digits}f}, {e.high:z.{digits}f}]"


def interval_kind(e: Estimate) -> str:
    """Return level and kind of the interval; where there is none, why.

    Parameters
    ----------
    e : Estimate
        With or without an interval.

    Returns
    -------
    str

    Examples
    --------
    >>> interval_kind(Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96))
    '95 % Wilson'
    >>> interval_kind(Estimate(name="rate", value=0.5, low=None, high=None, kind="none", n=1, note="a single item"))
    'a single item'
    """
    return f"{100 * e.level:.6g} % {e.kind}" if e.low is not None else e.note or "-"


def named_notes(noted: Iterable[tuple[str, Sequence[str]]], what: str) -> list[str]:
    """Return the notes of several results, each once, after the names of the results that it is about.

    Parameters
    ----------
    noted : iterable of (str, sequence of str)
        The name of each result and its notes.
    what : str
        What the results are called where all have a note.

    Returns
    -------
    list of str

    Examples
    --------
    >>> named_notes([("b - a", ["few"]), ("c - a", ["few"]), ("c - b", ["few", "no test"])], "pairs")
    ['all 3 pairs: few', 'c - b: no test']
    """
    about: dict[str, list[str]] = {}
    results = list(noted)
    for name, notes in results:
        for note in dict.fromkeys(notes):
            about.setdefault(note, []).append(name)
    return [with_words(note, f"{_listed(names, len(results), what)}: ") for note, names in about.items()]


def _listed(names: Sequence[str], n: int, what: str) -> str:
    if len(names) == n > 1:
        return f"all {n} {what}" if n > 2 else f"both {what}"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
