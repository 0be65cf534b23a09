"""What the audits share: a share of verdicts by clusters, a smooth effect by clusters, and a pull with its test."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._words import counted, verb
from d3stats.estimate import Estimate
from d3stats.inference.shares.clusters import ONE_CLUSTER, share_limits
from d3stats.resampling import cluster_t, cluster_totals, jackknife, student_limits

__all__ = ["clustered_rate", "effect", "gap_of_rates", "ratio", "unlabelled_note"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]

EFFECT = "cluster t"
JACKKNIFE = "jackknife over clusters, t"
FEW_CLUSTERS = 10
"""Below so many clusters limits carry a note."""


def ratio(sums: Floats) -> Floats:
    """Return the first column over the second."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def clustered_rate(name: str, hits: Floats, cluster: Ints, level: float, *, note: str = "") -> Estimate:
    """Return the mean of values in [0, 1] with limits over clusters, by the rule of every share."""
    totals = cluster_totals(np.stack([hits, np.ones_like(hits)], axis=1), cluster)
    found = share_limits(totals[:, 0], totals[:, 1], level)
    return Estimate(
        name=name,
        value=float(hits.mean()),
        se=found.se,
        low=found.low,
        high=found.high,
        kind="none" if found.low is None else found.kind,
        n=len(hits),
        n_clusters=len(totals),
        level=level,
        # How few clusters there are is said once, for the whole audit.
        note=_joined(note, found.note if found.low is None else ""),
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
            low, high, p_value = student_limits(value, se, found.df, level)
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


def unlabelled_note(count: int) -> str:
    """Say how many verdicts have no label that could be right or wrong."""
    return (
        f"{counted(count, 'verdict')} whose label is a tie or missing {verb(count, 'was', 'were')} left out"
    )
