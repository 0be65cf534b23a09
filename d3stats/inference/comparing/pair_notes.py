"""What a reader of a paired difference must know: clusters too few or too unequal, runs that do not differ."""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.inference.comparing.pair_intervals import PairData
from d3stats.inference.comparing.pair_tests import PairTest

__all__ = ["FEW_CLUSTERS", "notes_on"]

FEW_CLUSTERS = 10
"""Below so many clusters an interval carries a note."""


def notes_on(data: PairData, tests: Sequence[PairTest], *, repeated: bool) -> list[str]:
    """Return what the data cannot carry, in words."""
    notes = []
    n_clusters = data.n_clusters
    if not (data.first != data.second).any():
        notes.append(
            "the runs gave the same result on every item: a difference of 0 without an interval, and no test; "
            "more items are needed to bound it"
        )
    elif n_clusters == 1:
        notes.append(
            "all items belong to one cluster: no interval and no test; the claim needs items of more questions"
        )
    elif 1 < n_clusters < FEW_CLUSTERS:
        notes.append(
            f"only {n_clusters} clusters: the interval rests on {n_clusters - 1} degrees of freedom, and no "
            f"sign-flip p can be below {2.0 ** (1 - n_clusters):.2g}"
        )
    changed = int((data.totals[:, 2] != 0).sum())
    if n_clusters >= FEW_CLUSTERS and 0 < changed < FEW_CLUSTERS:
        notes.append(
            f"the sums of only {changed} of {n_clusters} clusters changed: the interval rests on these and is rough; "
            "trust the sign flip, which is exact, before the t"
        )
    sizes = data.totals[:, -1]
    equal = float(sizes.sum() ** 2 / (sizes**2).sum())
    if n_clusters >= FEW_CLUSTERS and equal < n_clusters / 2:
        notes.append(
            f"clusters are of very unequal size ({int(sizes.max())} of {data.n_items} items in the largest): "
            f"they are worth {equal:.0f} equal ones, and the t interval is too narrow"
        )
    exact = next(test for test in tests if test.name == "McNemar exact")
    if exact.p_value is not None and exact.note:
        notes.append(exact.note)
    elif repeated:
        notes.append(f"McNemar was not made: {exact.note}")
    return notes
