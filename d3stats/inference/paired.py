"""Is run B better than run A on the same items, and by how much?

The difference is the mean over items of B's value less A's, so that a question of many items counts by their number:
with nine of twelve items in one question, all nine gained, and three questions of one item unchanged, it is .75, where
the mean over questions is .25. Pairing takes out what makes items easy or hard: the
error is that of the differences, not of two means. Items of one question (cluster) hang together, so the error is
clustered: each cluster's sum of differences varies, not each item's. Assumptions: clusters are a sample of those that
the claim is about, and independent of each other.

Interval and p-value are one method: Student's t with the clustered error and as many degrees of freedom as the
clusters that changed are worth, counted in clusters of equal size (Kish, 1965). The usual clusters - 1 counts clusters
that say nothing of how large changes are: with 5 items gained of 100 and none lost its interval is .050 [.007, .093],
where flipping signs gives p = .0625. With 5 degrees of freedom it is [-.006, .106] and p = .071. Where every cluster
changed it is the usual t of clusters - 1. ``simulations/interval_coverage`` has its coverage and size.

References
----------
Kish (1965), Survey Sampling (clusters of unequal size). Student (1908), Biometrika 6, 1 (paired t). Liang and
Zeger (1986), Biometrika 73, 13 (clusters). Miller (2024), arXiv 2411.00640 (clustered paired errors for
evaluations of language models).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.inference.comparing.pair_intervals import CUT, Kind, PairData, checked_kind
from d3stats.inference.comparing.pair_notes import disagreements, notes_on
from d3stats.inference.comparing.pair_tests import TESTS, PairTest, Test, paired_tests
from d3stats.inference.comparing.paired_result import PairedDifference

__all__ = ["Kind", "PairTest", "PairedDifference", "Test", "paired_difference"]

_BOOTSTRAP_TEST, _SIGN_FLIP = "sign flip", 1


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    repeated: bool = False,
    level: float = 0.95,
    kind: str = "cluster t",
    test: str | None = None,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> PairedDifference:
    """Compare two columns of values of the same items; second - first.

    Parameters
    ----------
    first, second : array of float, shape (items,)
        One value per item, none missing: 0/1 or scores.
    cluster : array, shape (items,), optional
        The question of each item; by default each item is its own.
    names : tuple of str
        What the columns are called.
    repeated : bool
        Whether values are means over several tries, which McNemar's test cannot take.
    level : float
        Level of the intervals.
    kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
        The interval of `difference`; the t has the degrees of freedom of the clusters that changed. Of right
        and wrong its limits are cut at -1 and 1. Tango's score limits are for right or wrong items that are
        their own clusters.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        Which p-value speaks for the pair; by default the t where the interval is a t, which leaves out 0 exactly
        where p < 1 - level, else the sign flip. A note names the tests that fall on the other side than the interval.
    n_boot : int
    rng : Generator, int or None
        Of bootstrap draws, and of sign flips where they cannot all be counted.

    Returns
    -------
    PairedDifference

    Raises
    ------
    ValueError
        When shapes differ, a value is missing, there is no item, or the asked test cannot be made on such values.

    Examples
    --------
    >>> drug = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> other = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> found = paired_difference(other, drug, names=("hyoscyamine", "hyoscine"))
    >>> print(found.difference)
    hyoscine - hyoscyamine: 1.580 [0.700, 2.460] (95 % cluster t, n = 10 in 10 clusters)
    >>> found.p("sign flip")
    0.00390625
    """
    a, b = _values("first", first), _values("second", second)
    if len(a) != len(b):
        raise ValueError(f"second must have one value per item of first ({len(a)}); got {len(b)}")
    codes = np.arange(len(a)) if cluster is None else pd.factorize(np.asarray(cluster))[0]
    if len(codes) != len(a) or (codes < 0).any():
        raise ValueError(f"cluster must name one cluster per item ({len(a)}); got {cluster!r}")
    seed = (int(as_rng(rng).integers(2**62)),)
    data = PairData(names, a, b, codes.astype(np.int64), integer("n_boot", n_boot, minimum=2), seed)
    return difference_of(
        data,
        repeated=repeated,
        level=probability("level", level, open_interval=True),
        kind=checked_kind(kind),
        test=test if test is None else choice("test", test, TESTS),
    )


def difference_of(
    data: PairData, *, repeated: bool, level: float, kind: str, test: str | None
) -> PairedDifference:
    """Return the paired difference of checked data; settings are checked too."""
    change = data.second - data.first
    found = data.t(level)
    why = data.why_no_spread()
    t = None
    if not why and found is not None:
        t = (float(found.estimate[2] / found.se[2]), data.change_t(level)[2], data.df)
    tests = paired_tests(
        change,
        data.cluster,
        binary=data.binary,
        repeated=repeated,
        t=t,
        why_no_t=why,
        rng=data.generator(_SIGN_FLIP),
    )
    by_name = {made.name: made for made in tests}
    usual = "cluster t" if kind == "cluster t" else _BOOTSTRAP_TEST
    chosen = usual if test is None else test
    notes = notes_on(data, tests, repeated=repeated, level=level)
    if by_name[chosen].p_value is None and change.any():
        if test is not None and test.startswith("McNemar"):
            raise ValueError(
                f"test must be one that these runs can carry; got {test!r}: {by_name[chosen].note}"
            )
        if by_name[_BOOTSTRAP_TEST].p_value is not None:
            notes.append(
                f"{chosen} cannot be made ({by_name[chosen].note}); the sign flip speaks for this pair"
            )
            chosen = _BOOTSTRAP_TEST
    difference = data.interval(kind, level, by_name[chosen].p_value)
    notes += disagreements(difference, tests, chosen)
    if CUT in difference.note:
        notes.append(CUT)
    return PairedDifference(
        difference=difference,
        first=data.own(0, level),
        second=data.own(1, level),
        gained=int((change > 0).sum()),
        lost=int((change < 0).sum()),
        unchanged=int((change == 0).sum()),
        correlation=data.correlation(),
        tests=tests,
        test=chosen,
        binary=data.binary,
        kind=kind,
        notes=tuple(notes),
        data=data,
    )


def _values(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {values!r}") from None
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must be one value per item, at least one; got shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite; got {name}={array[row]!r} at row {row}")
    return array
