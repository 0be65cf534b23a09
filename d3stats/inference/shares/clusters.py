"""The interval of a share from clusters: a ratio of two sums over clusters, by the resampling engine."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike
from d3stats.estimate import Estimate
from d3stats.resampling import LimitsKind, bootstrap_limits, cluster_t, cluster_totals, ratios

__all__ = ["CLUSTER_KINDS", "ClusterKind", "clustered_share", "effective_wilson"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ClusterKind = Literal[
    "cluster Wilson", "cluster t", "bootstrap percentile", "bootstrap BCa", "bootstrap studentised"
]
CLUSTER_KINDS: tuple[str, ...] = get_args(ClusterKind)
_OF_ENGINE: dict[str, LimitsKind] = {
    "bootstrap percentile": "percentile",
    "bootstrap BCa": "bca",
    "bootstrap studentised": "studentised",
}
FEW = 10
"""With fewer clusters an interval rests on how alike they happen to be."""


def clustered_share(
    x: Ints, n: Ints, cluster: Ints, *, kind: str, level: float, n_boot: int, rng: RngLike, name: str
) -> Estimate:
    """Return the share of successes with an interval over clusters, or without one and why."""
    rows = n > 0
    totals = cluster_totals(np.column_stack([x, n])[rows].astype(np.float64), cluster[rows])
    n_clusters, size = len(totals), int(n.sum())
    value = float(x.sum() / size)

    def result(low: float | None, high: float | None, se: float | None, note: str) -> Estimate:
        return Estimate(
            name=name,
            value=value,
            low=low,
            high=high,
            kind=kind,
            n=size,
            se=se,
            level=level,
            n_clusters=n_clusters,
            note=note,
        )

    if n_clusters < 2:
        return result(None, None, None, "a single cluster: nothing says how clusters vary")
    robust = cluster_t(totals, ratios((0, 1)), level=level)
    if robust.reasons[0]:
        return result(None, None, None, robust.reasons[0])
    se = float(robust.se[0])
    note = f"only {n_clusters} clusters" if n_clusters < FEW else ""
    if kind == "cluster t":
        low, high = robust.interval()
        assert low is not None
        assert high is not None
    elif kind == "cluster Wilson":
        low, high = effective_wilson(value, se, size, n_clusters - 1, level)
    else:
        draws = bootstrap_limits(
            totals, ratios((0, 1)), kind=_OF_ENGINE[kind], level=level, n_boot=n_boot, rng=rng
        )
        low, high = draws.interval()
        note = draws.note
        if low is None or high is None:
            return result(None, None, se, draws.reasons[0])
    return result(max(low, 0.0), min(high, 1.0), se, note)


def effective_wilson(value: float, se: float, size: int, df: int, level: float) -> tuple[float, float]:
    """Return Wilson's limits at as many trials as the clustered error is worth, with Student's quantile."""
    from scipy.special import stdtrit

    worth = min(float(size), value * (1 - value) / se**2)
    square = float(stdtrit(df, (1 + level) / 2)) ** 2
    centre = (value + square / (2 * worth)) / (1 + square / worth)
    half = np.sqrt(square * (value * (1 - value) / worth + square / (4 * worth**2))) / (1 + square / worth)
    return float(centre - half), float(centre + half)
