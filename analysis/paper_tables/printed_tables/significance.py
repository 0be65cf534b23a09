"""Checks of printed t and p: Holm's adjustment, degrees of freedom, and whether n right-or-wrong answers reach them.

Tables seldom print the discordant items or the test. The accuracies bound the former: the smallest p comes with as few
lost items as they allow, the largest with as many; the range of p is that of all tests in use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import special

from d3stats.inference.comparison.mcnemar import METHODS, Method, mcnemar
from d3stats.inference.comparison.multiplicity import adjust
from printed_tables.arguments import integer, number, probability
from printed_tables.checks import counts_of_share
from printed_tables.printed import Finding, Number, Printed, Verdict, fits_or_needs, printed

__all__ = [
    "Discordance",
    "check_common_df",
    "check_discordance",
    "check_distinguishable",
    "check_gains_and_losses",
    "check_items_to_change",
    "check_p_values",
    "check_paired_t",
    "check_significance",
    "check_t_and_p",
    "discordance",
    "implied_df",
    "p_range",
    "paired_counts",
    "t_range",
]

_SLACK = 1e-9
_FISHER = 20_000
"""Items beyond which Fisher's p is that of the corrected chi-square."""
OTHER_SCORES = "another number of items, or scores that are not 0 or 1"


def check_p_values(
    rows: Sequence[tuple[str, Number]],
    *,
    place: str,
    level: float = 0.05,
    significant: Collection[str] | None = None,
) -> Finding:
    """Check which p-values (name, p) of one table stay at or below `level` after Holm's adjustment.

    `significant` names those that the paper calls significant; by default they are those printed at or below `level`.

    Parameters
    ----------
    rows : sequence of (str, str, float or Printed)
        Name and p of each test; names differ.
    place : str
        Place of the number, for the finding.
    level : float
        In (0, 1).
    significant : collection of str, optional
        Names of the tests that the paper calls significant.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

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
        verdict, needed = "conditional", f"{' and '.join(lost)} must be tested by itself, without another row"
    elif unclaimed and significant is not None:
        verdict, needed = "inconsistent", f"{' and '.join(unclaimed)} not tested at {level:g}"
    said = ", ".join(f"{n} {p}" for n, p in zip(names, given, strict=True))
    implied = "after Holm: " + ", ".join(f"{n} {_text(p)}" for n, p in zip(names, middle, strict=True))
    return Finding(f"{len(rows)} tests at {level:g} together", place, said, implied, verdict, needed)


def p_range(old: Number, new: Number, n: int, *, percent: bool = True) -> tuple[float, float, float]:
    """Return the p-value of two independent shares, and the least and largest exact McNemar p, at n items.

    A share that no whole number of n items gives counts as the nearest one.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as printed.
    n : int
        Number of items.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    tuple of float
        p of two independent shares; least and largest exact McNemar p.

    Examples
    --------
    >>> [round(p, 2) for p in p_range("85.1", "86.3", 80)]
    [0.82, 1.0, 1.0]
    """
    n = integer("n", n, minimum=1)
    pairs = [(i, j) for i in _near(old, n, percent) for j in _near(new, n, percent)]
    apart = [_apart(i, j, n) for i, j in pairs]
    tables = [table for i, j in pairs for table in _ends(i, j, n)]
    exact = [_mcnemar(gained, lost) for gained, lost in tables]
    # The middle one of the pairs that rounding leaves stands for the printed shares.
    return sorted(apart)[len(apart) // 2], min(exact), max(exact)


def check_significance(
    old: Number, new: Number, p: Number, n: int, *, place: str, percent: bool = True
) -> Finding:
    """Check that a difference of two accuracies on the same n items can have this p.

    Every test of two accuracies is granted: McNemar's (exact, mid-p, asymptotic, corrected), the paired t and z, the
    tests of two independent samples (z, t, chi-square with and without correction, Fisher). The range runs from the
    least p of any to the largest of any; a p that only a one-sided test can have says so.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as printed.
    p : str, float or Printed
        As printed; "< 0.01" is a bound.
    n : int
        Number of items.
    place : str
        Place of the number, for the finding.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_significance("81.3", "85.1", "< 0.01", 80, place="5.6").implied
    'p from .077 to .701'
    """
    n = integer("n", n, minimum=1)
    said = _p(p)
    least, most = _p_of_any_test(old, new, n, percent)
    fits = _reaches(said, least, most)
    better = printed(new).high >= printed(old).low
    # One-sided, the worse run may have any p up to 1.
    one_sided = not fits and _reaches(said, least / 2, most if better else 1.0)
    difference = abs(printed(new).value - printed(old).value) * (0.01 if percent else 1.0)
    needed = "a small number of lost items"
    if one_sided:
        needed = "a one-sided test"
    elif not fits and said.high < least and 0 < difference < 1 and said.high > 0:
        z = -float(special.ndtri(said.high / 2))
        # All gained and none lost: the paired z is sqrt(n d / (1 - d)).
        fewest = math.ceil(z * z * (1 - difference) / difference)
        needed = f"{fewest} items or more, or another unit than an answer"
    elif not fits:
        needed = "another test, or other items"
    stated, implied = (
        f"{printed(old)} and {printed(new)}, p {said}",
        f"p from {_text(least)} to {_text(most)}",
    )
    verdict: Verdict = "conditional" if fits or one_sided else "inconsistent"
    return Finding(f"p of a difference at {n} items", place, stated, implied, verdict, needed)


def check_distinguishable(
    old: Number, new: Number, n: int, *, place: str, level: float = 0.05, percent: bool = True
) -> Finding:
    """Check that n items can separate two accuracies at all.

    The check passes if some paired outcome has p at or below `level`.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as printed.
    n : int
        Number of items.
    place : str
        Place of the number, for the finding.
    level : float
        In (0, 1).
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_distinguishable("85.1", "86.3", 80, place="Table 1").implied
    'independent shares: p .822; exact McNemar: p 1'
    """
    level = probability("level", level, open_interval=True)
    apart, least, most = p_range(old, new, n, percent=percent)
    span = _text(least) if _text(least) == _text(most) else f"{_text(least)} to {_text(most)}"
    needed = (
        "a small number of lost items"
        if least <= level
        else "more items, because so few cannot separate the two"
    )
    verdict: Verdict = "consistent" if most <= level else "conditional"
    check, said = f"{n} items separate two accuracies", f"{printed(old)} and {printed(new)}"
    implied = f"independent shares: p {_text(apart)}; exact McNemar: p {span}"
    return Finding(check, place, said, implied, verdict, "" if most <= level else needed)


def _near(share: Number, n: int, percent: bool) -> tuple[int, ...]:
    said = printed(share).scaled(0.01) if percent else printed(share)
    # A share of 1 may have been cut off, or rounded, from no more than 1.
    value = said.value if said.low > 1 or said.value < 0 else min(said.value, 1.0)
    probability("a share", value)
    return counts_of_share(said, n, percent=False) or (round(value * n),)


def _ends(right_before: int, right_after: int, n: int) -> list[tuple[int, int]]:
    """Return (gained, lost) with the fewest and with the most discordant items; p grows with them throughout."""
    net = right_after - right_before
    return [(lost + net, lost) for lost in (max(0, -net), min(right_before, n - right_after))]


def _mcnemar(gained: int, lost: int, method: Method = "exact") -> float:
    """Return McNemar's p; runs that never differ have 1."""
    return mcnemar(lost, gained, method=method).p_value if gained + lost else 1.0


def _p_of_any_test(old: Number, new: Number, n: int, percent: bool) -> tuple[float, float]:
    """Return the least and the largest two-sided p of any test of two accuracies at n items."""
    before, after = _near(old, n, percent), _near(new, n, percent)
    # p falls with the difference: the ends of what is printed hold its extremes, or no difference does where it can be.
    pairs = {(i, j) for i in (before[0], before[-1]) for j in (after[0], after[-1])}
    pairs |= {(k, k) for k in (max(before[0], after[0]),) if k <= min(before[-1], after[-1])}
    values = [p for i, j in pairs for p in (*_paired_p(i, j, n), *_two_sample_p(i, j, n))]
    return min(values), max(values)


def _paired_p(i: int, j: int, n: int) -> list[float]:
    """Return the p-values of the tests of pairs, i right before and j after, at both ends of what may be lost."""
    values = []
    ends = _ends(i, j, n)
    # Equal accuracies have their least mid-p not without discordant items, but with two.
    tables = ends if i != j or ends[-1][1] == 0 else [*ends, (1, 1)]
    for gained, lost in tables:
        values += [_mcnemar(gained, lost, cast(Method, method)) for method in METHODS]
        spread = (gained + lost) / n - ((gained - lost) / n) ** 2
        values += _t_and_z(abs(gained - lost) / n, spread, n, n - 1)
    return values


def _two_sample_p(i: int, j: int, n: int) -> list[float]:
    """Return the p-values of the tests that take the two runs as independent samples of n."""
    a, b = i / n, j / n
    values = [_apart(i, j, n), *_t_and_z(abs(b - a), a * (1 - a) + b * (1 - b), n, 2 * n - 2)]
    right = i + j
    if 0 < right < 2 * n:
        gap = max(abs(j - i) - 1, 0)
        values.append(float(special.chdtrc(1, 2 * n * gap**2 / (right * (2 * n - right)))))
    if n > _FISHER:
        return values
    # Fisher: the tables of the same margins that are no likelier than this one.
    k = np.arange(max(0, right - n), min(n, right) + 1)
    log = [_log_choose(n, x) + _log_choose(n, right - x) for x in (k, np.array([i]))]
    values.append(float(np.exp(log[0][log[0] <= log[1] + 1e-7] - _log_choose(2 * n, right)).sum()))
    return [*values[:-1], min(values[-1], 1.0)]


def _t_and_z(d: float, spread: float, n: int, df: int) -> list[float]:
    """Return the p of Student's t and of z for a difference whose items have this variance (divided by n)."""
    if spread <= 1e-15:
        return [0.0 if d else 1.0]
    z = d * math.sqrt(n / spread)
    student = [float(2 * special.stdtr(df, -z * math.sqrt((n - 1) / n)))] if df > 0 else []
    return [float(2 * special.ndtr(-z)), *student]


def _log_choose(n: int, k: Any) -> Any:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def _reaches(said: Printed, least: float, most: float) -> bool:
    return said.covers(least, most) and not (said.below and least >= said.high)


def _apart(i: int, j: int, n: int) -> float:
    pooled = (i + j) / (2 * n)
    if i == j:
        return 1.0
    return float(2 * special.ndtr(-abs(j - i) / n / math.sqrt(2 * pooled * (1 - pooled) / n)))


def _p(value: Number) -> Printed:
    said = printed(value)
    if said.high <= 0 < said.half_unit or said.low > 1 or said.value < 0:
        raise ValueError(f"p must lie between 0 and 1; got {said.text!r}")
    return said


def _upper(said: Printed) -> float:
    return min(said.high if said.below else said.value, 1.0)


def _text(p: float) -> str:
    if p > 0.9995:
        return "1"
    return f"{p:z.3f}".lstrip("0") if p >= 0.0005 else f"{p:.1e}"


MOST = 10_000_000
"""From here on t counts as normal, and a finding is "at least" so many."""


def implied_df(t: Number, p: Number) -> tuple[int, int | None] | None:
    """Return the least and the largest whole degrees of freedom that print this t and this p; None where none do.

    The largest is None where arbitrarily many degrees of freedom do.

    Parameters
    ----------
    t, p : str, float or Printed
        As printed.

    Returns
    -------
    tuple of (int, int or None), or None
        The least and the largest.

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
    first = _first(lambda df: _p_student(largest, df) <= size.high)
    last = _first(lambda df: _p_student(smallest, df) < size.low)
    if first is None or (last is not None and last <= first):
        return None
    return first, None if last is None else last - 1


def check_t_and_p(t: Number, p: Number, *, place: str, df: int | None = None) -> Finding:
    """Check that t and p go together, with the degrees of freedom when they are given.

    Parameters
    ----------
    t, p : str, float or Printed
        As printed.
    place : str
        Place of the number, for the finding.
    df : int, optional
        Degrees of freedom, where the paper says them.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    Fifty pairs have 49 degrees of freedom, with which t = 3.16 has a larger p:

    >>> check_t_and_p("3.16", "0.002", place="Table 3", df=49).needed
    '>= 57 degrees of freedom instead of 49'
    >>> check_t_and_p("3.16", "0.002", place="Table 3").needed
    '>= 58 pairs'
    """
    found = implied_df(t, p)
    said = f"t = {printed(t)}, p = {printed(p)}"
    if found is None:
        return Finding(
            "t and p", place, said, "no degrees of freedom", "inconsistent", "another t or another p"
        )
    implied = f"{_range(found)} degrees of freedom"
    if df is not None:
        return fits_or_needs("t and p", place, said, implied, holds(found, df), f"{implied} instead of {df}")
    pairs = _range((found[0] + 1, None if found[1] is None else found[1] + 1))
    return Finding("t and p", place, said, implied, "conditional", f"{pairs} pairs")


def holds(found: tuple[int, int | None], df: int) -> bool:
    """Say whether these degrees of freedom are in a range of :func:`implied_df`."""
    return found[0] <= df and (found[1] is None or df <= found[1])


def check_common_df(rows: Sequence[tuple[str, Number, Number]], *, place: str) -> Finding:
    """Check that one number of degrees of freedom serves all rows (name, t, p) of one table.

    Parameters
    ----------
    rows : sequence of (str, str, float or Printed, str, float or Printed)
        Name, t and p of each row.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> rows = [("A", "1.87", "0.063"), ("B", "3.16", "0.002"), ("C", "2.00", "0.10")]
    >>> check_common_df(rows[:2], place="Table 3").verdict, check_common_df(rows, place="Table 3").implied
    ('consistent', 'A 108 to 918, B >= 57, C 5 to 5')
    """
    if not rows:
        raise ValueError("rows must hold at least one t and p; got none")
    ranges = {name: implied_df(t, p) for name, t, p in rows}
    listed = ", ".join(f"{name} {'none' if r is None else _range(r)}" for name, r in ranges.items())
    known = [r for r in ranges.values() if r is not None]
    least = max((r[0] for r in known), default=0)
    common = len(known) == len(ranges) and all(holds(r, least) for r in known)
    check, said = "one number of degrees of freedom in all rows", f"{len(ranges)} rows of t and p"
    return fits_or_needs(check, place, said, listed, common, "another number of pairs for each row")


def _p_student(t: float, df: int) -> float:
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


@dataclass(frozen=True, slots=True)
class Discordance:
    """The share of items on which two runs differ: what t implies, and what the accuracies allow.

    Attributes
    ----------
    implied : float
        What t implies.
    allowed : tuple of float
        The least and the largest that two accuracies allow.

    Examples
    --------
    >>> print(discordance(0.85, 0.94, 3.16, 80))
    a discordance of 0.072; the accuracies allow 0.090 to 0.210
    >>> discordance(0.80, 0.90, 2.19, 80).possible
    True
    """

    implied: float
    allowed: tuple[float, float]

    @property
    def possible(self) -> bool:
        """Whether the accuracies allow what t implies."""
        return self.allowed[0] <= self.implied <= self.allowed[1]

    def __str__(self) -> str:
        low, high = self.allowed
        return f"a discordance of {self.implied:z.3f}; the accuracies allow {low:z.3f} to {high:z.3f}"


def discordance(old: float, new: float, t: float, n: int) -> Discordance:
    """Return the discordance that a paired t (not 0) implies at n items, beside the one that two accuracies allow.

    All are taken as exact, accuracies as shares.

    Parameters
    ----------
    old, new : float
        Accuracies, in [0, 1].
    t : float
        Not 0; its sign does not matter.
    n : int
        Number of items, at least 2.

    Returns
    -------
    Discordance
        What t implies, and what the accuracies allow.

    Examples
    --------
    >>> d = discordance(0.85, 0.94, 3.16, 80)
    >>> [round(x, 3) for x in (d.implied, *d.allowed)], d.possible
    ([0.072, 0.09, 0.21], False)
    """
    n = integer("n", n, minimum=2)
    old, new, t = probability("old", old), probability("new", new), abs(number("t", t))
    if t == 0:
        raise ValueError("t must not be 0 to imply a discordance; got t=0")
    d = new - old
    implied = d * d * (1 + (n - 1) / (t * t))
    # Lost items are right before and wrong after: at most min(old, 1 - new) of them.
    return Discordance(implied, (abs(d), 2 * min(old, 1 - new) + d))


def paired_counts(old: Number, new: Number, t: Number, n: int) -> tuple[tuple[int, int, int], ...]:
    """Return every (right before, gained, lost) of n items that prints both accuracies (shares) and this paired t.

    Whole numbers, all enumerated: what rounding allows is in the list and nothing else is. The sign of t is left open,
    for a paper may take either run first.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as printed, as shares of 1.
    t : str, float or Printed
        As printed.
    n : int
        Number of items, at least 2.

    Returns
    -------
    tuple of (int, int, int)
        Right before, gained and lost, one entry per table of counts.

    Examples
    --------
    >>> paired_counts("0.86", "0.95", "3.62", 80), paired_counts("0.80", "0.90", "2.19", 80)
    ((), ((64, 11, 3),))
    """
    n = integer("n", n, minimum=2)
    stat = printed(t)
    least, most = sorted((abs(stat.low), abs(stat.high)))
    if stat.low <= 0 <= stat.high:
        least = 0.0
    found = []
    for i in counts_of_share(old, n, percent=False):
        for j in counts_of_share(new, n, percent=False):
            lost = np.arange(max(0, i - j), min(i, n - j) + 1)
            gained = lost + j - i
            d, q = (j - i) / n, (lost + gained) / n
            spread = q - d * d
            lost, gained, spread = lost[spread > 0], gained[spread > 0], spread[spread > 0]
            value = abs(d) * math.sqrt(n - 1) / np.sqrt(spread)
            fits = (value >= least - 1e-9) & (value <= most + 1e-9)
            found += [(i, int(g), int(x)) for g, x in zip(gained[fits], lost[fits], strict=True)]
    return tuple(found)


def t_range(old: Number, new: Number, n: int) -> tuple[float, float]:
    """Return the least and largest absolute t or z of n right-or-wrong answers of two accuracies (shares).

    Paired t and z, McNemar's z, and the t and z of two independent samples are all granted.

    Examples
    --------
    >>> [round(x, 2) for x in t_range("0.80", "0.90", 80)]
    [1.62, 2.98]
    """
    n = integer("n", n, minimum=2)
    before, after = (counts_of_share(x, n, percent=False) for x in (old, new))
    values = []
    for i in (before[0], before[-1]) if before else ():
        for j in (after[0], after[-1]) if after else ():
            a, d = i / n, (j - i) / n
            pooled = (i + j) / (2 * n)
            spreads = [abs(d), 2 * min(a, 1 - a - d) + d]
            spreads += [q - d * d for q in spreads]
            spreads += [2 * pooled * (1 - pooled), a * (1 - a) + (a + d) * (1 - a - d)]
            values += [
                abs(d) * math.sqrt(m / x) if x > 1e-15 else math.inf for x in spreads for m in (n - 1, n)
            ]
    if before and after and max(before[0], after[0]) <= min(before[-1], after[-1]):
        values.append(0.0)
    return min(values, default=math.inf), max(values, default=0.0)


def check_discordance(old: Number, new: Number, t: Number, n: int, *, place: str) -> Finding:
    """Check by inequality that a paired t can come from n right-or-wrong answers, every entry taken as exact.

    A row that passes may still be impossible, for it need not be a table of whole numbers: `check_paired_t` counts. A
    row that fails here may be a matter of rounding, which `check_paired_t` allows for.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as shares of 1.
    t : str, float or Printed
        As printed.
    n : int
        Number of items, at least 2.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_discordance("0.85", "0.94", "3.16", 80, place="Table 3").implied
    'a discordance of 0.072; the accuracies allow 0.090 to 0.210'
    """
    found = discordance(printed(old).value, printed(new).value, printed(t).value, n)
    check = f"discordance of {n} right-or-wrong answers, entries exact"
    needed = f"a discordance of {found.implied:z.3f}" if found.possible else OTHER_SCORES
    verdict: Verdict = "conditional" if found.possible else "inconsistent"
    return Finding(check, place, _paired(old, new, t), str(found), verdict, needed)


def check_paired_t(old: Number, new: Number, t: Number, n: int, *, place: str) -> Finding:
    """Check that a paired t can come from n right-or-wrong answers of two runs.

    Parameters
    ----------
    old, new : str, float or Printed
        Accuracies before and after, as printed, as shares of 1.
    t : str, float or Printed
        As printed.
    n : int
        Number of items, at least 2.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_paired_t("0.86", "0.95", "3.62", 80, place="Table 3").verdict
    'inconsistent'
    >>> check_paired_t("0.80", "0.90", "2.19", 80, place="Table 3").needed
    '11 gained and 3 lost'
    """
    tables = paired_counts(old, new, t, n)
    implied = f"{len(tables) or 'no'} tables of counts print these numbers"
    if printed(t).value:  # 0 leaves the discordance open
        # A share of 1 whose digits were cut off may have no middle within bounds.
        before, after = min(printed(old).value, 1.0), min(printed(new).value, 1.0)
        middle = discordance(before, after, printed(t).value, n)
        implied = f"{middle}; {implied}"
    needed = " or ".join(f"{g} gained and {x} lost" for _, g, x in tables[:2]) or OTHER_SCORES
    verdict: Verdict = "conditional" if tables else "inconsistent"
    check = f"paired t of {n} right-or-wrong answers"
    return Finding(check, place, _paired(old, new, t), implied, verdict, needed)


def _paired(old: Number, new: Number, t: Number) -> str:
    return f"{printed(old)} -> {printed(new)}, t = {printed(t)}"


def check_gains_and_losses(gained: Number, lost: Number, difference: Number, *, place: str) -> Finding:
    """Check that gained minus lost items is the difference of accuracies; all in percent.

    Parameters
    ----------
    gained, lost, difference : str, float or Printed
        In percent, as printed.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_gains_and_losses("28", "4", "1.2", place="5.5").implied
    '24 (23 to 25)'
    """
    up, down, said = printed(gained), printed(lost), printed(difference)
    low, high = up.low - down.high, up.high - down.low
    implied = f"{up.value - down.value:g} ({low:g} to {high:g})"
    needed = '"improves" must mean something other than a verdict that becomes right'
    return fits_or_needs("gained minus lost items", place, str(said), implied, said.covers(low, high), needed)


def check_items_to_change(
    gained: Number,
    lost: Number,
    *,
    before: Number | None = None,
    after: Number | None = None,
    n: int | None = None,
    place: str,
) -> Finding:
    """Check that there are as many items as are gained and lost; all in percent.

    An item that is gained was wrong and is right, so gained items are at most the items wrong before, and at most those
    right after. Lost items are at most those right before, and at most those wrong after.

    Parameters
    ----------
    gained, lost : str, float or Printed
        Items that only the new run has right, and only the old run, in percent, as printed.
    before, after : str, float or Printed, optional
        Accuracies of the old and the new run in percent, as printed; one of them at least.
    n : int, optional
        Number of items; right and wrong items are then whole numbers.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Raises
    ------
    ValueError
        When neither accuracy is given.

    Examples
    --------
    >>> check_items_to_change("25", "20", before="80", n=80, place="A").implied
    'at most 20 gained, 80 lost'
    >>> check_items_to_change("0", "1.25", after="100", n=80, place="B").verdict
    'inconsistent'
    """
    if before is None and after is None:
        raise ValueError("before or after must be given; got neither accuracy")
    up, down = printed(gained), printed(lost)
    most_gained = most_lost = 100.0
    for accuracy, of_wrong in ((before, True), (after, False)):
        if accuracy is None:
            continue
        right, wrong = _most_of(accuracy, n)
        most_gained = min(most_gained, wrong if of_wrong else right)
        most_lost = min(most_lost, right if of_wrong else wrong)
    fits = up.low <= most_gained + _SLACK and down.low <= most_lost + _SLACK and min(up.high, down.high) >= 0
    implied = f"at most {most_gained:.4g} gained, {most_lost:.4g} lost"
    needed = "other numbers gained and lost, or numbers for other items"
    return fits_or_needs("items to gain and to lose", place, f"{up} and {down}", implied, fits, needed)


def _most_of(accuracy: Number, n: int | None) -> tuple[float, float]:
    """Return the largest percentages of right and of wrong items that print an accuracy."""
    said = printed(accuracy)
    right, wrong = min(said.high, 100.0), min(100.0 - said.low, 100.0)
    if n is None or not counts_of_share(said, n):
        return right, wrong
    return 100 * math.floor(n * right / 100 + _SLACK) / n, 100 * math.floor(n * wrong / 100 + _SLACK) / n
