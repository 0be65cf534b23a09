"""Differences, ratios, relative gains and averages that a table prints, from the table's own entries.

Interval arithmetic throughout: each entry may be any number that rounds to what is printed, so that a finding
is never a matter of rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_average", "check_difference", "check_ratio", "check_relative_gain", "held"]

Number = str | float | Printed


def check_difference(
    new: Number, old: Number, stated: Number, *, place: str, check: str = "a difference"
) -> Finding:
    """Check that `stated` is new - old.

    Examples
    --------
    >>> check_difference("86.1", "82.7", "3.2", place="5.1").implied
    '3.4 (3.3 to 3.5)'
    """
    a, b, said = printed(new), printed(old), printed(stated)
    return held(check, place, said, a.value - b.value, a.low - b.high, a.high - b.low)


def check_ratio(
    above: Number, below: Number, stated: Number, *, place: str, check: str = "a ratio"
) -> Finding:
    """Check that `stated` is above / below.

    Examples
    --------
    >>> check_ratio("4,650", "850", "4.65x", place="5.4").implied
    '5.471 (5.467 to 5.474)'
    """
    a, b, said = printed(above), printed(below), printed(stated)
    return held(check, place, said, *_ratio("below", a, b))


def check_relative_gain(
    new: Number, old: Number, stated: Number, *, place: str, check: str = "a relative gain in percent"
) -> Finding:
    """Check that `stated` is 100 (new - old) / old, in percent.

    Examples
    --------
    >>> check_relative_gain("4,650", "3,050", "42", place="5.5").verdict
    'inconsistent'
    """
    a, b, said = printed(new), printed(old), printed(stated)
    value, low, high = _ratio("old", a, b)
    return held(check, place, said, 100 * (value - 1), 100 * (low - 1), 100 * (high - 1))


def check_average(
    parts: Sequence[Number],
    stated: Number,
    *,
    place: str,
    weights: Sequence[float] | None = None,
    check: str = "an average",
) -> Finding:
    """Check that `stated` is the (weighted) mean of the parts.

    Examples
    --------
    >>> check_average(["8.5", "9.6", "9.5", "10.5", "10.5", "10.8"], "8.7", place="4.2").implied
    '9.9 (9.85 to 9.95)'
    """
    given = [printed(p) for p in parts]
    if not given:
        raise ValueError("parts must not be empty; got none")
    shares = [1.0] * len(given) if weights is None else list(weights)
    if len(shares) != len(given) or min(shares) < 0 or sum(shares) <= 0:
        raise ValueError(f"weights must be one number >= 0 per part, not all 0; got {weights}")
    total = sum(shares)
    low, mid, high = (
        sum(w * v for w, v in zip(shares, values, strict=True)) / total
        for values in ([p.low for p in given], [p.value for p in given], [p.high for p in given])
    )
    return held(check, place, printed(stated), mid, low, high)


def held(check: str, place: str, said: Printed, value: float, low: float, high: float) -> Finding:
    """Hold a printed number against what the entries imply: `value` as printed, `low` to `high` as rounded.

    A number that only digits beyond the printed ones can give is consistent, and the finding says so.
    """
    fits = said.covers(low, high)
    return Finding(
        check=check,
        place=place,
        printed=str(said),
        implied=f"{shown(value)} ({shown(low)} to {shown(high)})",
        verdict="consistent" if fits else "inconsistent",
        needed=("" if said.covers(value) else "digits beyond the printed ones")
        if fits
        else "other entries than those printed",
    )


def shown(value: float) -> str:
    """Write a number to four significant digits."""
    return f"{round(value, 10):.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _ratio(name: str, above: Printed, below: Printed) -> tuple[float, float, float]:
    """Return the ratio as printed and its least and largest value."""
    if below.low <= 0:
        raise ValueError(f"{name} must be > 0 whatever its rounding; got {below.text!r}")
    corners = [a / b for a in (above.low, above.high) for b in (below.low, below.high)]
    return above.value / below.value, min(corners), max(corners)
