"""Numbers that a table's other numbers bound: a whole among its parts, extremes, one number printed twice."""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.inference.table_audit.arithmetic import shown
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_extremes", "check_grouped_mean", "check_part", "check_same", "check_within_parts"]

Number = str | float | Printed


def check_within_parts(
    parts: Sequence[Number], whole: Number, *, place: str, check: str = "a whole lies among its parts"
) -> Finding:
    """Check that the whole is some average of its parts, whatever their sizes.

    Examples
    --------
    >>> check_within_parts(["80.6", "80.9"], "85.1", place="5.2").verdict
    'inconsistent'
    """
    given, said = _all("parts", parts), printed(whole)
    fits = said.covers(min(p.low for p in given), max(p.high for p in given))
    return Finding(
        check=check,
        place=place,
        printed=str(said),
        implied=f"between {_least(given)} and {_most(given)}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "items that belong to none of the parts, or other items in the parts",
    )


def check_extremes(
    entries: Sequence[Number],
    least: Number,
    most: Number,
    *,
    place: str,
    check: str = "smallest and largest entry",
) -> Finding:
    """Check that entries are said to range from `least` to `most`.

    Examples
    --------
    >>> check_extremes(["3.7", "3.6", "10.5", "10.8"], "3.7", "10.5", place="4.2").implied
    '3.6 to 10.8'
    """
    given, low, high = _all("entries", entries), printed(least), printed(most)
    fits = low.covers(min(p.low for p in given), min(p.high for p in given)) and high.covers(
        max(p.low for p in given), max(p.high for p in given)
    )
    return Finding(
        check=check,
        place=place,
        printed=f"{low} to {high}",
        implied=f"{_least(given)} to {_most(given)}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "a range of some of the entries only",
    )


def check_same(
    numbers: Sequence[tuple[str, Number]], *, place: str, check: str = "one number in several places"
) -> Finding:
    """Check that what is said to be one number reads alike wherever it is printed (where, number).

    Examples
    --------
    >>> check_same([("Table 1", "85.1"), ("Table 4", "86.1")], place="MORE").verdict
    'inconsistent'
    """
    given = _all("numbers", [number for _, number in numbers])
    fits = max(p.low for p in given) <= min(p.high for p in given)
    return Finding(
        check=check,
        place=place,
        printed=", ".join(f"{p} ({where})" for (where, _), p in zip(numbers, given, strict=True)),
        implied="the same" if fits else f"they differ by {shown(_spread(given))}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "other items, or another run",
    )


def check_part(
    part: Number, whole: Number, *, place: str, check: str = "a part is at most the whole"
) -> Finding:
    """Check that a number of items taken from a set is at most the set's.

    Examples
    --------
    >>> check_part("120", "80", place="G.1").verdict
    'inconsistent'
    """
    taken, there = printed(part), printed(whole)
    fits = taken.low <= there.high
    return Finding(
        check=check,
        place=place,
        printed=f"{taken} of {there}",
        implied=f"at most {there}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "items counted in parts or more than once",
    )


def check_grouped_mean(
    groups: Sequence[tuple[Number, float, float]],
    stated: Number,
    *,
    place: str,
    check: str = "a mean of groups with known bounds",
) -> Finding:
    """Check a mean of groups (share in percent, least value, largest value) that make up everything.

    Examples
    --------
    58 % of debates stop in round 1 or 2, the others in rounds 3 to 5:

    >>> check_grouped_mean([("58", 1, 2), ("42", 3, 5)], "2.71", place="5.4").implied
    '1.83 to 3.275'
    """
    shares = _all("groups", [share for share, _, _ in groups])
    if any(low > high for _, low, high in groups) or sum(p.value for p in shares) <= 0:
        raise ValueError(f"groups must have bounds low <= high and shares above 0; got {list(groups)}")
    least = _extreme([(p.low, p.high, low) for p, (_, low, _) in zip(shares, groups, strict=True)], -1)
    most = _extreme([(p.low, p.high, high) for p, (_, _, high) in zip(shares, groups, strict=True)], 1)
    said = printed(stated)
    fits = said.covers(least, most)
    return Finding(
        check=check,
        place=place,
        printed=str(said),
        implied=f"{shown(least)} to {shown(most)}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "other shares or other bounds",
    )


def _extreme(groups: list[tuple[float, float, float]], sign: int) -> float:
    """Return the least or largest mean, each share anywhere in its range and all shares adding up to one."""
    ordered = sorted(groups, key=lambda g: -sign * g[2])
    best: float | None = None
    # The mean moves one way with each share, so that an extreme has large shares first and small ones after.
    for cut in range(len(ordered) + 1):
        weights = [g[1] if i < cut else g[0] for i, g in enumerate(ordered)]
        total = sum(weights)
        if total > 0:
            mean = sum(w * g[2] for w, g in zip(weights, ordered, strict=True)) / total
            best = mean if best is None else max(best, mean) if sign > 0 else min(best, mean)
    return ordered[0][2] if best is None else best


def _all(name: str, numbers: Sequence[Number]) -> list[Printed]:
    if not numbers:
        raise ValueError(f"{name} must not be empty; got none")
    return [printed(number) for number in numbers]


def _least(given: list[Printed]) -> str:
    return min(given, key=lambda p: p.value).text


def _most(given: list[Printed]) -> str:
    return max(given, key=lambda p: p.value).text


def _spread(given: list[Printed]) -> float:
    return max(p.value for p in given) - min(p.value for p in given)
