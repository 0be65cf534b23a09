"""Is one factor between two columns: one price a token, one token a word?"""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.inference.table_audit.arithmetic import shown
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_one_price"]

Number = str | float | Printed


def check_one_price(rows: Sequence[tuple[str, Number, Number]], *, place: str, per: float = 1000) -> Finding:
    """Check that one price serves all rows (name, tokens, cost).

    Parameters
    ----------
    rows : sequence of (str, number, number)
    place : str
    per : float
        Tokens that the price is shown for.

    Examples
    --------
    >>> check_one_price([("MORE", "3,050", "$0.31"), ("SAMRE", "4,650", "$0.47")], place="Table 2").implied
    '0.09999 to 0.1022 per 1,000 tokens'
    """
    if not rows:
        raise ValueError("rows must hold at least one; got none")
    ranges = {}
    for name, tokens, cost in rows:
        count, paid = printed(tokens), printed(cost)
        if count.low <= 0 or paid.high <= 0:
            raise ValueError(f"tokens and cost must be > 0; got {count.text!r} and {paid.text!r} for {name}")
        ranges[name] = per * max(paid.low, 0.0) / count.high, per * paid.high / count.low
    low, high = max(r[0] for r in ranges.values()), min(r[1] for r in ranges.values())
    unit = f"per {per:,.0f} tokens"
    apart = ", ".join(f"{name} {shown(a)} to {shown(b)}" for name, (a, b) in ranges.items())
    fits = low <= high
    return Finding(
        check="one price for all rows",
        place=place,
        printed=f"{len(rows)} rows of tokens and cost",
        implied=f"{shown(low)} to {shown(high)} {unit}" if fits else f"{apart} {unit}",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "another price for some rows, or tokens of another price",
    )
