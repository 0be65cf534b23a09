"""What a reader of a paired difference must know: clusters too few or too unequal, runs that do not differ."""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.estimate import Estimate
from d3stats.inference.comparing.pair_intervals import SAME, PairData
from d3stats.inference.comparing.pair_tests import PairTest, said_p

__all__ = ["FEW_CLUSTERS", "disagreements", "notes_on"]

FEW_CLUSTERS = 10
"""Below so many clusters an interval carries a note."""


def disagreements(difference: Estimate, tests: Sequence[PairTest], chosen: str) -> list[str]:
    """Name the tests that fall on the other side of 1 - level than the interval, for they are other methods."""
    if difference.low is None:
        return []
    apart = [
        test
        for test in tests
        # A test with a note of its own is for reference only, and that note says why.
        if test.p_value is not None
        and (test.name == chosen or not test.note)
        and (test.p_value <= 1 - difference.level) != difference.excludes(0.0)
    ]
    if not apart:
        return []
    *most, last = (f"{test.name} {said_p(test.p_value)}" for test in apart)
    named = f"{', '.join(most)} and {last} say" if most else f"{last} says"
    said = "leaves out 0" if difference.excludes(0.0) else "holds 0"
    percent = f"{100 * difference.level:.6g} %"
    return [
        f"the {percent} {difference.kind} interval {said}, and {named} otherwise: these are different methods; "
        "the cluster t is the test that always agrees with its own interval"
    ]


def _rests_on_few(data: PairData) -> bool:
    """Say whether fewer than ten clusters changed, and fewer than half of them all."""
    return data.n_clusters >= FEW_CLUSTERS and 0 < data.changed < min(FEW_CLUSTERS, data.n_clusters / 2)


def notes_on(data: PairData, tests: Sequence[PairTest], *, repeated: bool, level: float) -> list[str]:
    """Return what the data cannot carry, in words; `level` is that of the bound where the runs agree everywhere."""
    notes = []
    n_clusters = data.n_clusters
    if data.agree:
        notes.append(f"{SAME}: a difference of 0 without an interval, and no test{_bound(data, level)}")
    elif data.n_items == 1:
        notes.append(
            "a single item: no interval, and no test of one item can say anything, McNemar's neither"
        )
    elif n_clusters == 1:
        notes.append(
            "all items belong to one cluster: no interval and no test; the claim needs items of more questions"
        )
    elif 1 < n_clusters < FEW_CLUSTERS:
        flips = max(data.changed, 1)
        changed_too = "" if flips == n_clusters else f", of which {flips} changed"
        df = f"{data.df:.1f}".removesuffix(".0")
        degrees = "degree" if df == "1" else "degrees"
        notes.append(
            f"only {n_clusters} clusters{changed_too}: the interval rests on {df} {degrees} of freedom, and no "
            f"sign-flip p can be below {2.0 ** (1 - flips):.2g}"
        )
    changed = data.changed
    if _rests_on_few(data):
        df = f"{data.df:.1f}".removesuffix(".0")
        notes.append(
            f"the sums of only {changed} of {n_clusters} clusters changed: interval and p-value rest on these, with "
            f"{df} degrees of freedom"
        )
    sizes = data.totals[:, -1]
    equal = float(sizes.sum() ** 2 / (sizes**2).sum())
    if n_clusters >= FEW_CLUSTERS and equal < n_clusters / 2:
        notes.append(
            f"clusters are of very unequal size ({int(sizes.max())} of {data.n_items} items in the largest): "
            f"they are worth {equal:.0f} equal ones, and the interval is rough"
        )
    exact = next(test for test in tests if test.name == "McNemar exact")
    if exact.p_value is not None and exact.note:
        notes.append(exact.note)
    elif repeated:
        notes.append(f"McNemar was not made: {exact.note}")
    return notes


def _bound(data: PairData, level: float) -> str:
    """Say on how large a share of items (or of clusters) runs may differ that agreed on every one seen."""
    n = data.n_clusters
    if n == 1:
        return ""
    # No change in n draws has probability (1 - share)^n: the "rule of three", exactly.
    most = 1 - (1 - level) ** (1 / n)
    unit = "items" if data.alone else "clusters with any item"
    return (
        f"; after {n} {'items' if data.alone else 'clusters'} alike, {unit} on which they differ are at most "
        f"{100 * most:.3g} % (one-sided level {100 * level:.6g} %)"
    )
