"""What share of the majority class an accuracy and a Cohen's kappa imply together, with two classes.

With accuracy a, human share h and judge share g of one class, chance agreement is ``h g + (1 - h)(1 - g)`` and must
equal ``(a - kappa) / (1 - kappa)``; no cell may be negative, so |h - g| <= 1 - a and |h + g - 1| <= a. That bounds h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_kappas", "kappa_of_any_classes", "majority_share"]

Number = str | float | Printed
_SLACK = 1e-9
"""What binary floating point may add."""


def majority_share(accuracy: Number, kappa: Number, *, percent: bool = True) -> tuple[float, float] | None:
    """Return the range of the human majority class's share (at least .5); None where there is none.

    Examples
    --------
    >>> [round(x, 3) for x in majority_share("85.1", "0.58")]
    [0.7, 0.859]
    """
    return _common([(accuracy, kappa)], percent)


def check_kappas(rows: Sequence[tuple[Number, Number]], *, place: str, percent: bool = True) -> Finding:
    """Check that rows (accuracy, kappa) of judges of the same items allow one share of the human majority class.

    Examples
    --------
    >>> check_kappas([("72.5", "0.45"), ("86.3", "0.60")], place="Table 1").implied
    'majority class 0.715 to 0.784'
    """
    if not rows:
        raise ValueError("rows must hold at least one accuracy and kappa; got none")
    found = _common(rows, percent)
    alone = [found] if len(rows) == 1 else [majority_share(a, k, percent=percent) for a, k in rows]
    said = ", ".join(f"{printed(a)} and {printed(k)}" for a, k in rows)
    return Finding(
        check="accuracy and kappa",
        place=place,
        printed=said,
        implied="no share of the majority class"
        if found is None
        else f"majority class {found[0]:.3f} to {found[1]:.3f}",
        verdict="inconsistent" if found is None else "conditional",
        needed=(
            "more than two classes, or other items in each row"
            if found is None
            else f"two classes and a human majority class of {found[0]:.3f} to {found[1]:.3f}"
        )
        + (" (one row alone is impossible)" if len(rows) > 1 and None in alone else ""),
    )


def kappa_of_any_classes(accuracy: Number, kappa: Number, *, percent: bool = True) -> bool:
    """Say whether an accuracy and a Cohen's kappa go together with some number of classes.

    Chance agreement lies between 0 (ever more classes) and (1 + a^2)/2 (two, said half of the time each), so that kappa
    lies between -(1 - a)/(1 + a) and a.

    Examples
    --------
    >>> kappa_of_any_classes("50.0", "0.45"), kappa_of_any_classes("50.0", "0.60")
    (True, False)
    """
    a = printed(accuracy).scaled(0.01) if percent else printed(accuracy)
    low, high = min(max(a.low, 0.0), 1.0), min(a.high, 1.0)
    return printed(kappa).covers(-(1 - low) / (1 + low), high)


def _common(rows: Sequence[tuple[Number, Number]], percent: bool) -> tuple[float, float] | None:
    ranges = []
    for accuracy, kappa in rows:
        a = printed(accuracy).scaled(0.01) if percent else printed(accuracy)
        ranges.append(_range_of_majority(a, printed(kappa)))
    least, most = max(r[0] for r in ranges), min(r[1] for r in ranges)
    return (least, most) if least <= most else None


def _range_of_majority(a: Printed, k: Printed) -> tuple[float, float]:
    """Return the least and largest h at which some accuracy and kappa print so; the least is larger where none does.

    At a given h kappa grows with accuracy whatever g is, so that its extremes lie at the ends of what is printed. Over
    h the largest kappa rises to h = 1 - a/2 and falls after it, the least one falls to h = (1 + a)/2 and rises after.
    """
    low, high = min(max(a.low, 0.0), 1.0), min(max(a.high, 0.0), 1.0)
    slack = _SLACK + 1e-9 * k.half_unit
    large = _inside(lambda h: _extreme_kappa(high, h, largest=True) - k.low + slack, 1 - high / 2)
    small = _inside(lambda h: k.high + slack - _extreme_kappa(low, h, largest=False), (1 + low) / 2)
    return max(large[0], small[0], 0.5 + _SLACK) - _SLACK, min(large[1], small[1]) + _SLACK


def _extreme_kappa(a: float, h: float, *, largest: bool) -> float:
    """Return the largest or least kappa of a judge with accuracy `a` when the majority class has a share of `h`."""
    g = max(h - (1 - a), 1 - a - h, 0.0) if largest else min(h + (1 - a), 1 + a - h, 1.0)
    apart = h * (1 - g) + g * (1 - h)
    # All right: kappa is 1, also where one class is all that there is.
    return 1 - (1 - a) / apart if a < 1 else 1.0


def _inside(height: Callable[[float], float], peak: float) -> tuple[float, float]:
    """Return where in [.5, 1] a function that rises to its peak and falls after it is at least 0."""
    if height(peak) < 0:
        return 1.0, 0.5
    ends = []
    for end in (0.5, 1.0):
        outside, inside = end, peak
        if height(end) >= 0:
            inside = end
        for _ in range(60 if inside != end else 0):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if height(middle) >= 0 else (middle, inside)
        ends.append(inside)
    return ends[0], ends[1]
