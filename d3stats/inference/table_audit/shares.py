"""Is a printed share k out of n at all?

The check is GRIM's (Brown and Heathers, 2017): a mean of n whole numbers is a multiple of 1/n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from d3stats._check import integer
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_common_size", "check_share", "counts_of_share", "possible_sizes"]


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
    given = printed(share)
    value = given.scaled(0.01) if percent else given
    sizes = np.arange(1, integer("n_max", n_max, minimum=1) + 1)
    # The same slack as Printed.covers.
    slack = 1e-12 + 1e-9 * value.half_unit
    first = np.maximum(np.ceil((value.low - slack) * sizes), 0)
    last = np.minimum(np.floor((value.high + slack) * sizes), sizes)
    return tuple(sizes[first <= last].tolist())


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
        said = [f"{k}/{n}{_half(k / n, given.scaled(1 / scale))}" for k in counts]
        implied, needed = " or ".join(said) if len(said) < 3 else f"{counts[0]}/{n} to {counts[-1]}/{n}", ""
    else:
        value = given.scaled(1 / scale).value
        near = sorted({math.floor(value * n), math.ceil(value * n)})
        implied = " or ".join(f"{k}/{n} = {scale * k / n:.4g}" for k in near)
        # These are suggestions: a million sizes are enough to look through.
        largest = min(4 * n, max(n, 10**6))
        sizes = [m for m in possible_sizes(given, largest, percent=percent) if m > n // 4]
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


def check_common_size(
    shares: Sequence[str | float | Printed],
    *,
    place: str,
    n: int,
    n_max: int | None = None,
    percent: bool = True,
) -> Finding:
    """Check that shares of the same n items can be shares of one n, and say which n can print them all.

    Parameters
    ----------
    shares : sequence of number
    place : str
    n : int
        Number of items as stated.
    n_max : int, optional
        Largest number that is tried; 20 n by default.
    percent : bool

    Examples
    --------
    >>> check_common_size(["68.3", "73.1", "71.5", "73.9"], place="Table 5", n=100).needed
    '249, 372, 375 or 379 items (the smallest that print them all), items left out, or fractional credit'
    """
    n = integer("n", n, minimum=1)
    given = [printed(share) for share in shares]
    if not given:
        raise ValueError("shares must not be empty; got none")
    largest = 20 * n if n_max is None else integer("n_max", n_max, minimum=n)
    failing = [str(g) for g in given if not counts_of_share(g, n, percent=percent)]
    fitting = set.intersection(*(set(possible_sizes(g, largest, percent=percent)) for g in given))
    first = " or ".join(", ".join(map(str, sorted(fitting)[:4])).rsplit(", ", 1))
    wanted = f"{first} items (the smallest that print them all)" if fitting else f"more than {largest} items"
    return Finding(
        check=f"shares of the same {n} items",
        place=place,
        printed=", ".join(map(str, given)),
        implied=f"{len(failing)} of {len(given)} are no share of {n}"
        + (f": {', '.join(failing)}" if failing else ""),
        verdict="inconsistent" if failing else "consistent",
        needed=f"{wanted}, items left out, or fractional credit" if failing else "",
    )


def _half(share: float, given: Printed) -> str:
    """Say how a share that lies halfway between two printed numbers was rounded."""
    if given.low <= share - 1e-12 and share + 1e-12 <= given.high:
        return ""
    return " (a half, rounded up)" if share < given.value else " (a half, rounded down)"
