"""What the audits share: a share of verdicts by clusters, a smooth effect by clusters, and a pull with its test."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.estimate import Estimate
from d3stats.resampling import cluster_totals, jackknife
from d3stats.resampling.cluster_t import cluster_t

__all__ = ["clustered_rate", "effect", "gap_of_rates", "ratio"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]

ONE_CLUSTER = "a single cluster: nothing says how clusters vary"
RATE, EXACT_RATE, EFFECT = "Wilson, clustered", "Clopper-Pearson over clusters", "cluster t"
JACKKNIFE = "jackknife over clusters, t"
FEW_CLUSTERS = 10
"""Below so many clusters limits carry a note."""


def ratio(sums: Floats) -> Floats:
    """Return the first column over the second."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def clustered_rate(name: str, hits: Floats, cluster: Ints, level: float, *, note: str = "") -> Estimate:
    """Return the mean of values in [0, 1] with limits that stay there and know of clusters.

    Wilson's interval at the number of independent trials that gives the cluster-robust error, with Student's
    quantile (Dean and Pagano, 2015). Where every value is 0, or every one 1, no error can be measured: then
    Clopper and Pearson's, counting each cluster once.
    """
    from scipy.special import stdtrit

    from d3stats.inference.proportion import proportion_interval

    value = float(hits.mean())
    totals = cluster_totals(np.stack([hits, np.ones_like(hits)], axis=1), cluster)
    n_clusters = len(totals)
    se: float | None = None
    low: float | None = None
    high: float | None = None
    if value in (0.0, 1.0):
        kind = EXACT_RATE
        ends = proportion_interval(int(value) * n_clusters, n_clusters, kind="Clopper-Pearson", level=level)
        low, high = (float(end) for end in ends)
    elif n_clusters < 2:
        kind, note = "none", _joined(note, ONE_CLUSTER)
    else:
        kind, se = RATE, float(cluster_t(totals, ratio, level=level).se[0])
        worth = len(hits) if se == 0 else min(len(hits), value * (1 - value) / se**2)
        square = float(stdtrit(n_clusters - 1, (1 + level) / 2)) ** 2
        centre = (value + square / (2 * worth)) / (1 + square / worth)
        spread = value * (1 - value) / worth + square / (4 * worth**2)
        half = math.sqrt(square * spread) / (1 + square / worth)
        low, high = max(centre - half, 0.0), min(centre + half, 1.0)
    return Estimate(
        name=name,
        value=value,
        se=se,
        low=low,
        high=high,
        kind=kind,
        n=len(hits),
        n_clusters=n_clusters,
        level=level,
        note=note,
    )


def effect(
    name: str,
    totals: Floats,
    statistic: Statistic,
    n: int,
    level: float,
    *,
    note: str = "",
    bounds: tuple[float, float] = (-1.0, 1.0),
    left_out: bool = False,
) -> Estimate:
    """Return a smooth function of cluster sums with cluster-robust t limits, cut at what is possible.

    With `left_out` the error is the jackknife's (CR3; Bell and McCaffrey, 2002), which is larger where few clusters
    carry a rate.
    """
    n_clusters = len(totals)
    if n_clusters < 2:
        value = float(statistic(totals.sum(axis=0, keepdims=True)).ravel()[0])
        reason = _joined(note, ONE_CLUSTER)
        shape: dict[str, Any] = {"n": n, "n_clusters": n_clusters, "level": level, "note": reason}
        return Estimate(name=name, value=value, low=None, high=None, kind="none", **shape)
    found = cluster_t(totals, statistic, level=level)
    value, se = float(found.estimate[0]), float(found.se[0])
    low, high = found.interval()
    p_value, why = float(found.p_value[0]), found.reasons[0]
    if left_out and not why:
        changes = jackknife(totals, statistic)[:, 0] - value
        if np.isfinite(changes).all():
            se = math.sqrt((n_clusters - 1) / n_clusters * float((changes**2).sum()))
            low, high, p_value = _student(value, se, found.df, level)
        else:
            low, high, why = None, None, "without one cluster nothing is left to compare: no error"
    return Estimate(
        name=name,
        value=value,
        se=None if why else se,
        low=None if low is None else max(low, bounds[0]),
        high=None if high is None else min(high, bounds[1]),
        kind="none" if why else JACKKNIFE if left_out else EFFECT,
        n=n,
        n_clusters=n_clusters,
        level=level,
        p_value=None if why else p_value,
        note=_joined(note, why),
    )


def _student(value: float, se: float, df: int, level: float) -> tuple[float, float, float]:
    """Return t limits and the two-sided p-value of 0."""
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(df, (1 + level) / 2)) * se
    return value - half, value + half, 2 * float(stdtr(df, -abs(value) / se))


def gap_of_rates(
    name: str,
    one: tuple[Floats, Ints],
    other: tuple[Floats, Ints],
    level: float,
    *,
    half: bool = False,
    note: str = "",
    left_out: bool = False,
) -> Estimate:
    """Return the mean of one set of values less that of another (halved with `half`), clusters shared or not."""
    parts = []
    for at, (values, cluster) in enumerate((one, other)):
        block = np.zeros((len(values), 4))
        block[:, 2 * at], block[:, 2 * at + 1] = values, 1.0
        parts.append((block, cluster))
    totals = cluster_totals(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
    scale = 0.5 if half else 1.0

    def statistic(sums: Floats) -> Floats:
        return np.asarray(scale * (sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]))

    bounds = (-scale, scale)
    n = len(one[0]) + len(other[0])
    return effect(name, totals, statistic, n, level, note=note, bounds=bounds, left_out=left_out)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
