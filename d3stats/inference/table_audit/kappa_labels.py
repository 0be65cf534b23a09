"""Which kappas an accuracy allows when the number of each label is known, whatever the number of classes.

Cohen's kappa is (a - e) / (1 - e) with chance agreement e = sum L_i g_i / n^2, where g_i is how often the judge says
class i. Each item that the judge gets right adds its own class to g, each wrong one another class; so the extremes of
e are found item by item.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from d3stats._check import integer
from d3stats.inference.table_audit.arithmetic import shown
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.printed import Printed, printed
from d3stats.inference.table_audit.shares import counts_of_share

__all__ = ["check_kappa_of_labels", "kappa_range"]

Number = str | float | Printed


def kappa_range(right: int, labels: Sequence[int]) -> tuple[float, float]:
    """Return the least and largest Cohen's kappa of a judge who is right on `right` of the labelled items.

    Examples
    --------
    >>> [round(k, 3) for k in kappa_range(43, [41, 25, 14])]
    [0.061, 0.396]
    """
    counts = np.array([integer("labels", x, minimum=0) for x in labels])
    n = int(counts.sum())
    if np.count_nonzero(counts) < 2:
        raise ValueError(f"labels must hold two classes or more; got {counts.tolist()}")
    right = integer("right", right, minimum=0)
    if right > n:
        raise ValueError(f"right must be at most the {n} labels; got right={right}")
    base = float((counts**2).sum())
    rivals = [np.delete(counts, i) for i in range(len(counts))]
    least = np.repeat([r.min() - c for r, c in zip(rivals, counts, strict=True)], counts)
    most = np.repeat([r.max() - c for r, c in zip(rivals, counts, strict=True)], counts)
    wrong = n - right
    lowest = base + float(np.sort(least)[:wrong].sum())
    highest = base + float(np.sort(most)[::-1][:wrong].sum())
    return _kappa(right / n, highest / n**2), _kappa(right / n, lowest / n**2)


def check_kappa_of_labels(
    accuracy: Number, kappa: Number, labels: Sequence[int], *, place: str, percent: bool = True
) -> Finding:
    """Check that an accuracy and a kappa go together, given how many items have each label.

    Examples
    --------
    >>> check_kappa_of_labels("53.8", "0.27", [41, 25, 14], place="Table 1").verdict
    'consistent'
    """
    said, stated = printed(accuracy), printed(kappa)
    n = int(sum(labels))
    ranges = [kappa_range(k, labels) for k in counts_of_share(said, n, percent=percent)]
    low, high = min((r[0] for r in ranges), default=0.0), max((r[1] for r in ranges), default=0.0)
    fits = bool(ranges) and stated.covers(low, high)
    return Finding(
        check="accuracy and kappa of known labels",
        place=place,
        printed=f"{said} and {stated}",
        implied=f"kappa {shown(low)} to {shown(high)}" if ranges else f"no number of {n} items",
        verdict="consistent" if fits else "inconsistent",
        needed="" if fits else "other labels, other items, or a weighted kappa",
    )


def _kappa(agreement: float, chance: float) -> float:
    return float((agreement - chance) / (1 - chance))
