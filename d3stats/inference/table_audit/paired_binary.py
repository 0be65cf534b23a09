"""Can two printed accuracies and a paired t come from the same n right-or-wrong answers?

With d the difference of accuracies and q the share of discordant items, the paired t of n pairs is
``t = d sqrt(n - 1) / sqrt(q - d^2)``. So t and n give q, and q must lie between |d| and what the accuracies leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from d3stats._check import integer, number, probability
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed
from d3stats.inference.table_audit.shares import counts_of_share

__all__ = [
    "Discordance",
    "check_discordance",
    "check_gains_and_losses",
    "check_paired_t",
    "discordance",
    "paired_counts",
    "t_range",
]

Number = str | float | Printed


@dataclass(frozen=True, slots=True)
class Discordance:
    """The share of items on which two runs differ: what t implies, and what the accuracies allow."""

    implied: float
    allowed: tuple[float, float]

    @property
    def possible(self) -> bool:
        """Whether the accuracies allow what t implies."""
        return self.allowed[0] <= self.implied <= self.allowed[1]


def discordance(old: float, new: float, t: float, n: int) -> Discordance:
    """Return the discordance that t implies at n items beside the one that two accuracies allow, all taken as exact.

    Parameters
    ----------
    old, new : float
        Accuracies in [0, 1].
    t : float
        Paired t, not 0.
    n : int
        Number of items.

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
            discordant = [abs(d), 2 * min(a, 1 - a - d) + d]
            spreads = [
                *discordant,
                *(q - d * d for q in discordant),
                2 * pooled * (1 - pooled),
                a * (1 - a) + (a + d) * (1 - a - d),
            ]
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

    Examples
    --------
    >>> check_discordance("0.85", "0.94", "3.16", 80, place="Table 3").implied
    'a discordance of 0.072; the accuracies allow 0.090 to 0.210'
    """
    found = discordance(printed(old).value, printed(new).value, printed(t).value, n)
    return Finding(
        check=f"discordance of {n} right-or-wrong answers, entries exact",
        place=place,
        printed=f"{printed(old)} -> {printed(new)}, t = {printed(t)}",
        implied=_discordances(found),
        verdict="conditional" if found.possible else "inconsistent",
        needed=f"a discordance of {found.implied:.3f}"
        if found.possible
        else "another number of items, or scores that are not 0 or 1",
    )


def check_paired_t(old: Number, new: Number, t: Number, n: int, *, place: str) -> Finding:
    """Check that a paired t can come from n right-or-wrong answers of two runs."""
    tables = paired_counts(old, new, t, n)
    implied = f"{len(tables) or 'no'} tables of counts print these numbers"
    if printed(t).value:  # 0 leaves the discordance open
        # A share of 1 whose digits were cut off may have no middle within bounds.
        before, after = min(printed(old).value, 1.0), min(printed(new).value, 1.0)
        middle = discordance(before, after, printed(t).value, n)
        implied = f"{_discordances(middle)}; {implied}"
    shown = [f"{g} gained and {x} lost" for _, g, x in tables[:2]]
    return Finding(
        check=f"paired t of {n} right-or-wrong answers",
        place=place,
        printed=f"{printed(old)} -> {printed(new)}, t = {printed(t)}",
        implied=implied,
        verdict="conditional" if tables else "inconsistent",
        needed=" or ".join(shown) if tables else "another number of items, or scores that are not 0 or 1",
    )


def check_gains_and_losses(gained: Number, lost: Number, difference: Number, *, place: str) -> Finding:
    """Check that gained minus lost items is the difference of accuracies; all in percent.

    Examples
    --------
    >>> check_gains_and_losses("28", "4", "1.2", place="5.5").implied
    '24 (23 to 25)'
    """
    up, down, said = printed(gained), printed(lost), printed(difference)
    low, high = up.low - down.high, up.high - down.low
    fits = said.covers(low, high)
    return Finding(
        check="gained minus lost items",
        place=place,
        printed=str(said),
        implied=f"{up.value - down.value:g} ({low:g} to {high:g})",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else '"improves" must mean something else than a verdict that becomes right',
    )


def _discordances(found: Discordance) -> str:
    return (
        f"a discordance of {found.implied:.3f}; the accuracies allow "
        f"{found.allowed[0]:.3f} to {found.allowed[1]:.3f}"
    )
