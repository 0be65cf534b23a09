"""Which degrees of freedom a printed t and its printed p share.

For a given t the two-sided p falls as the degrees of freedom grow, so rounding of both leaves one range of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scipy import special

from d3stats.inference.table_audit.finding import Finding, Verdict
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_common_df", "check_t_and_p", "implied_df"]

MOST = 10_000_000
"""From here on t counts as normal: "at least" is what can be said."""


def implied_df(t: str | float | Printed, p: str | float | Printed) -> tuple[int, int | None] | None:
    """Return the least and the largest whole degrees of freedom that print this t and this p; None where none do.

    The largest is None where arbitrarily many degrees of freedom do.

    Examples
    --------
    >>> implied_df("1.87", "0.063"), implied_df("3.16", "0.002")
    ((108, 918), (57, None))
    """
    stated, size = printed(t), printed(p)
    largest, smallest = max(abs(stated.low), abs(stated.high)), min(abs(stated.low), abs(stated.high))
    if stated.low <= 0 <= stated.high:
        smallest = 0.0
    # p falls in df and in |t|: the largest |t| reaches a small p soonest, the smallest |t| stays above one longest.
    first = _first(lambda df: _p(largest, df) <= size.high)
    last = _first(lambda df: _p(smallest, df) < size.low)
    if first is None or (last is not None and last <= first):
        return None
    return first, None if last is None else last - 1


def check_t_and_p(
    t: str | float | Printed, p: str | float | Printed, *, place: str, df: int | None = None
) -> Finding:
    """Check that t and p go together, with the degrees of freedom when they are given."""
    found = implied_df(t, p)
    verdict: Verdict
    said = f"t = {printed(t)}, p = {printed(p)}"
    if found is None:
        implied, verdict, needed = "no degrees of freedom", "inconsistent", "another t or another p"
    elif df is not None:
        fits = found[0] <= df and (found[1] is None or df <= found[1])
        implied, verdict = f"{_range(found)} degrees of freedom", "consistent" if fits else "inconsistent"
        needed = "" if fits else f"{_range(found)} degrees of freedom instead of {df}"
    else:
        implied, verdict, needed = (
            f"{_range(found)} degrees of freedom",
            "conditional",
            f"{_range((found[0] + 1, None if found[1] is None else found[1] + 1))} pairs",
        )
    return Finding(
        check="t and p", place=place, printed=said, implied=implied, verdict=verdict, needed=needed
    )


def check_common_df(
    rows: Sequence[tuple[str, str | float | Printed, str | float | Printed]], *, place: str
) -> Finding:
    """Check that one number of degrees of freedom serves all rows (name, t, p) of one table."""
    ranges = {name: implied_df(t, p) for name, t, p in rows}
    listed = ", ".join(f"{name} {'none' if r is None else _range(r)}" for name, r in ranges.items())
    if any(r is None for r in ranges.values()):
        common = False
    else:
        known = [r for r in ranges.values() if r is not None]
        least = max(r[0] for r in known)
        common = least <= min((r[1] for r in known if r[1] is not None), default=least)
    return Finding(
        check="one number of degrees of freedom in all rows",
        place=place,
        printed=f"{len(ranges)} rows of t and p",
        implied=listed,
        verdict="consistent" if common else "inconsistent",
        needed="" if common else "another number of pairs for each row",
    )


def _p(t: float, df: int) -> float:
    return float(2 * (special.ndtr(-t) if df >= MOST else special.stdtr(df, -t)))


def _first(test: Callable[[int], bool]) -> int | None:
    """Return the least df from 1 for which a condition that stays true once true holds; None up to MOST."""
    low, high = 1, 1
    while not test(high):
        if high == MOST:
            return None
        low, high = high, min(high * 2, MOST)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle + 1, high)
    return low


def _range(found: tuple[int, int | None]) -> str:
    return f">= {found[0]}" if found[1] is None else f"{found[0]} to {found[1]}"
