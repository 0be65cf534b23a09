"""What share of the majority class an accuracy and a Cohen's kappa imply together, with two classes.

With accuracy a, human share h and judge share g of one class, chance agreement is ``h g + (1 - h)(1 - g)`` and must
equal ``(a - kappa) / (1 - kappa)``; no cell may be negative, so |h - g| <= 1 - a and |h + g - 1| <= a. That bounds h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["check_kappas", "majority_share"]

Number = str | float | Printed
_GRID = 20_001
"""Shares of the majority class that are tried: steps of .000025."""


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


def _common(rows: Sequence[tuple[Number, Number]], percent: bool) -> tuple[float, float] | None:
    h = np.linspace(0.5, 1.0, _GRID)
    fits = np.ones(_GRID, dtype=bool)
    for accuracy, kappa in rows:
        a = printed(accuracy).scaled(0.01) if percent else printed(accuracy)
        fits &= _possible(h, a, printed(kappa))
    if not fits.any():
        return None
    inside = h[fits]
    return float(inside[0]), float(inside[-1])


def _possible(h: NDArray[Any], a: Printed, k: Printed) -> NDArray[Any]:
    """Say for which h some accuracy and kappa that print so, and some judge share, fit together."""
    fits = np.zeros(len(h), dtype=bool)
    for accuracy in np.linspace(a.low, a.high, 41):
        # Chance agreement falls as kappa rises.
        low, high = ((accuracy - x) / (1 - x) for x in (k.high, k.low))
        least = np.maximum(h - (1 - accuracy), np.maximum(0.0, 1 - accuracy - h))
        most = np.minimum(h + (1 - accuracy), np.minimum(1.0, 1 + accuracy - h))
        chance = [1 - h - g + 2 * h * g for g in (least, most)]
        fits |= (np.minimum(*chance) <= high) & (np.maximum(*chance) >= low) & (least <= most)
    return fits
