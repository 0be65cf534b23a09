"""Is a printed share k out of n at all?

The check is GRIM's (Brown and Heathers, 2017): a mean of n whole numbers is a multiple of 1/n.
"""

from __future__ import annotations

import math

from d3stats._check import integer
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_share", "counts_of_share", "possible_sizes"]


def counts_of_share(share: str | float | Printed, n: int, *, percent: bool = True) -> tuple[int, ...]:
    """Return every whole number of n whose share is printed so.

    Examples
    --------
    >>> counts_of_share("73.9", 100), counts_of_share("86.3", 80)
    ((), (69,))
    """
    n = integer("n", n, minimum=1)
    given = printed(share)
    value = given.scaled(0.01) if percent else given
    low, high = max(math.floor(value.low * n), 0), min(math.ceil(value.high * n), n)
    return tuple(k for k in range(low, high + 1) if value.covers(k / n))


def possible_sizes(share: str | float | Printed, n_max: int, *, percent: bool = True) -> tuple[int, ...]:
    """Return every n up to `n_max` of which the share can be a share.

    Examples
    --------
    >>> possible_sizes("73.9", 60)
    (23, 46)
    """
    return tuple(
        n
        for n in range(1, integer("n_max", n_max, minimum=1) + 1)
        if counts_of_share(share, n, percent=percent)
    )


def check_share(share: str | float | Printed, n: int, *, place: str, percent: bool = True) -> Finding:
    """Check that a printed share is a whole number of n items.

    Examples
    --------
    >>> check_share("73.9", 100, place="Table 5").verdict
    'inconsistent'
    """
    given = printed(share)
    counts = counts_of_share(given, n, percent=percent)
    scale = 100 if percent else 1
    if counts:
        implied, needed = " or ".join(f"{k}/{n}{_half(k / n, given.scaled(1 / scale))}" for k in counts), ""
    else:
        value = given.scaled(1 / scale).value
        near = sorted({math.floor(value * n), math.ceil(value * n)})
        implied = " or ".join(f"{k}/{n} = {scale * k / n:.4g}" for k in near)
        sizes = [m for m in possible_sizes(given, 4 * n, percent=percent) if m > n // 4]
        close = sorted(sizes, key=lambda m: (abs(m - n), m))[:4]
        listed = ", ".join(map(str, sorted(close)))
        needed = f"another number of items ({listed} would do), items left out, or fractional credit"
    return Finding(
        check=f"a share of {n} items",
        place=place,
        printed=str(given),
        implied=implied,
        verdict="consistent" if counts else "inconsistent",
        needed=needed,
    )


def _half(share: float, given: Printed) -> str:
    """Say how a share that lies halfway between two printed numbers was rounded."""
    if given.low <= share - 1e-12 and share + 1e-12 <= given.high:
        return ""
    return " (a half, rounded up)" if share < given.value else " (a half, rounded down)"
