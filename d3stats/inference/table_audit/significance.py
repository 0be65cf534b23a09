"""Printed p-values: what a family of tests leaves of them, and whether n right-or-wrong answers can reach them.

The test of a difference hangs on the discordant items, which tables seldom print. The net difference bounds them: the
smallest p comes with as few lost items as the accuracies allow, the largest with as many.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from scipy import special

from d3stats._check import integer, probability
from d3stats.inference.mcnemar import Method, mcnemar
from d3stats.inference.multiplicity import adjust
from d3stats.inference.table_audit.finding import Finding, Verdict
from d3stats.inference.table_audit.printed import Printed, printed
from d3stats.inference.table_audit.shares import counts_of_share

__all__ = ["check_distinguishable", "check_p_values", "check_significance", "p_range"]

Number = str | float | Printed


def check_p_values(
    rows: Sequence[tuple[str, Number]],
    *,
    place: str,
    level: float = 0.05,
    significant: Collection[str] | None = None,
) -> Finding:
    """Check which p-values (name, p) of one table stay at or below `level` after Holm's adjustment.

    Parameters
    ----------
    rows : sequence of (str, number)
        All tests of the family.
    place : str
    level : float
    significant : collection of str, optional
        Names that the paper calls significant; by default those printed at or below `level`.

    Examples
    --------
    >>> found = check_p_values([("A", "0.030"), ("B", "0.040")], place="Table 3")
    >>> found.implied, found.verdict
    ('after Holm: A .060, B .060', 'conditional')
    """
    level = probability("level", level, open_interval=True)
    if not rows:
        raise ValueError("rows must hold at least one p-value; got none")
    names = [name for name, _ in rows]
    if len(set(names)) < len(names):
        raise ValueError(f"rows must have one name each; got {names}")
    given = [_p(p) for _, p in rows]
    claimed = set(significant) if significant is not None else {n for n, p in rows if _p(p).value <= level}
    if claimed - set(names):
        raise ValueError(f"significant must name rows; got {sorted(claimed - set(names))}")
    middle = adjust([_upper(p) for p in given])
    # Never above 1 nor below 0, whatever the rounding.
    least = adjust([max(p.low, 0.0) for p in given])
    most = adjust([min(p.high, 1.0) for p in given])
    lost = [n for n, low in zip(names, least, strict=True) if n in claimed and low > level]
    unclaimed = [n for n, high in zip(names, most, strict=True) if n not in claimed and high <= level]
    verdict: Verdict = "consistent"
    needed = ""
    if lost:
        verdict, needed = "conditional", f"{' and '.join(lost)} was to be tested by itself, no other with it"
    elif unclaimed and significant is not None:
        verdict, needed = "inconsistent", f"{' and '.join(unclaimed)} not tested at {level:g}"
    return Finding(
        check=f"{len(rows)} tests at {level:g} together",
        place=place,
        printed=", ".join(f"{n} {p}" for n, p in zip(names, given, strict=True)),
        implied="after Holm: " + ", ".join(f"{n} {_text(p)}" for n, p in zip(names, middle, strict=True)),
        verdict=verdict,
        needed=needed,
    )


def p_range(old: Number, new: Number, n: int, *, percent: bool = True) -> tuple[float, float, float]:
    """Return the p-value of two independent shares, and the least and largest exact McNemar p, at n items.

    A share that no whole number of n items gives counts as the nearest one.

    Examples
    --------
    >>> [round(p, 2) for p in p_range("85.1", "86.3", 80)]
    [0.82, 1.0, 1.0]
    """
    n = integer("n", n, minimum=1)
    pairs = _pairs(old, new, n, percent)
    apart = [_apart(i, j, n) for i, j in pairs]
    tables = [table for i, j in pairs for table in _ends(i, j, n)]
    exact = [_mcnemar(gained, lost) for gained, lost in tables]
    # The middle one of the pairs that rounding leaves stands for the printed shares.
    return sorted(apart)[len(apart) // 2], min(exact), max(exact)


def check_significance(
    old: Number, new: Number, p: Number, n: int, *, place: str, percent: bool = True
) -> Finding:
    """Check that a difference of two accuracies on the same n items can have this p.

    Every test of paired right-or-wrong answers is granted, from the uncorrected chi-square of McNemar to the exact
    test: the range runs from the least p of the most lenient to the largest of the strictest.

    Examples
    --------
    >>> check_significance("81.3", "85.1", "< 0.01", 80, place="5.6").implied
    'p from .083 to .701'
    """
    n = integer("n", n, minimum=1)
    said = _p(p)
    pairs = _pairs(old, new, n, percent)
    tables = [table for i, j in pairs for table in _ends(i, j, n)]
    least = min(_mcnemar(gained, lost, "asymptotic") for gained, lost in tables)
    most = max(_mcnemar(gained, lost, "corrected") for gained, lost in tables)
    most = max([most, *(_mcnemar(gained, lost) for gained, lost in tables)])
    fits = said.covers(least, most) and not (said.text.startswith("<") and least >= said.high)
    difference = abs(printed(new).value - printed(old).value) * (0.01 if percent else 1.0)
    needed = ""
    if not fits and said.high < least and difference > 0 and said.high > 0:
        z = -float(special.ndtri(said.high / 2))
        needed = f"{math.ceil(z * z / difference)} items or more, or another unit than an answer"
    elif not fits:
        needed = "another test, or other items"
    return Finding(
        check=f"p of a difference at {n} items",
        place=place,
        printed=f"{printed(old)} and {printed(new)}, p {said}",
        implied=f"p from {_text(least)} to {_text(most)}",
        verdict="conditional" if fits else "inconsistent",
        needed="few enough items lost" if fits else needed,
    )


def check_distinguishable(
    old: Number, new: Number, n: int, *, place: str, level: float = 0.05, percent: bool = True
) -> Finding:
    """Check that n items can tell two accuracies apart at all: whether any paired outcome has p at or below `level`.

    Examples
    --------
    >>> check_distinguishable("85.1", "86.3", 80, place="Table 1").implied
    'independent shares: p .822; exact McNemar: p 1'
    """
    level = probability("level", level, open_interval=True)
    apart, least, most = p_range(old, new, n, percent=percent)
    span = _text(least) if _text(least) == _text(most) else f"{_text(least)} to {_text(most)}"
    return Finding(
        check=f"{n} items tell two accuracies apart",
        place=place,
        printed=f"{printed(old)} and {printed(new)}",
        implied=f"independent shares: p {_text(apart)}; exact McNemar: p {span}",
        verdict="consistent" if most <= level else "conditional",
        needed=""
        if most <= level
        else "few enough items lost"
        if least <= level
        else "more items: these cannot tell the two apart",
    )


def _pairs(old: Number, new: Number, n: int, percent: bool) -> list[tuple[int, int]]:
    return [(i, j) for i in _near(old, n, percent) for j in _near(new, n, percent)]


def _near(share: Number, n: int, percent: bool) -> tuple[int, ...]:
    value = printed(share).value * (0.01 if percent else 1.0)
    probability("a share", value)
    return counts_of_share(share, n, percent=percent) or (round(value * n),)


def _ends(right_before: int, right_after: int, n: int) -> list[tuple[int, int]]:
    """Return (gained, lost) with the fewest and with the most discordant items; p grows with them throughout."""
    net = right_after - right_before
    return [(lost + net, lost) for lost in (max(0, -net), min(right_before, n - right_after))]


def _mcnemar(gained: int, lost: int, method: Method = "exact") -> float:
    """Return McNemar's p; runs that never differ have 1."""
    return mcnemar(lost, gained, method=method).p_value if gained + lost else 1.0


def _apart(i: int, j: int, n: int) -> float:
    pooled = (i + j) / (2 * n)
    if i == j:
        return 1.0
    return float(2 * special.ndtr(-abs(j - i) / n / math.sqrt(2 * pooled * (1 - pooled) / n)))


def _p(value: Number) -> Printed:
    said = printed(value)
    if said.high < 0 or said.low > 1 or said.value < 0 or said.value > 1:
        raise ValueError(f"p must lie between 0 and 1; got {said.text!r}")
    return said


def _upper(said: Printed) -> float:
    return said.high if said.text.startswith("<") else said.value


def _text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:.3f}".lstrip("0") if p >= 0.0005 else f"{p:.1e}"
