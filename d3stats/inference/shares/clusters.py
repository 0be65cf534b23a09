"""The interval of a share from clusters: a ratio of two sums over clusters, by the resampling engine."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike
from d3stats.estimate import Estimate
from d3stats.resampling import LimitsKind, bootstrap_limits, cluster_t, cluster_totals, ratios

__all__ = [
    "CLUSTER_KINDS",
    "EXACT",
    "WILSON",
    "ClusterKind",
    "ShareLimits",
    "clustered_share",
    "share_limits",
]

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
WILSON, EXACT = "cluster Wilson", "Clopper-Pearson over clusters"
ONE_CLUSTER = "a single cluster: nothing says how clusters vary"
_ROUNDING = 1e-12
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

    found = share_limits(totals[:, 0], totals[:, 1], level)
    if kind == "cluster Wilson" or found.low is None or value in (0.0, 1.0):
        kind = found.kind
        return result(found.low, found.high, found.se, found.note)
    robust = cluster_t(totals, ratios((0, 1)), level=level)
    if robust.reasons[0]:
        return result(None, None, None, robust.reasons[0])
    se, note = float(robust.se[0]), found.note
    if kind == "cluster t":
        low, high = robust.interval()
        assert low is not None
        assert high is not None
    else:
        draws = bootstrap_limits(
            totals, ratios((0, 1)), kind=_OF_ENGINE[kind], level=level, n_boot=n_boot, rng=rng
        )
        low, high = draws.interval()
        note = draws.note
        if low is None or high is None:
            return result(None, None, se, draws.reasons[0])
    return result(max(low, 0.0), min(high, 1.0), se, note)


class ShareLimits(NamedTuple):
    """A share's limits over clusters, or None and the note why there are none."""

    low: float | None
    high: float | None
    se: float | None
    kind: str
    note: str


def share_limits(above: Floats, below: Floats, level: float) -> ShareLimits:
    """Return the interval of a share from clusters: the one rule for every share in the package.

    Wilson's formula at as many trials as the cluster-robust error is worth, at most as many as there are (Dean and
    Pagano, 2015), with Student's quantile. Its degrees of freedom are Satterthwaite's (1946) 2 / CV^2 of the squared
    error, whose variation is measured by fourth powers: at most clusters - 1, and far fewer near 0 and 1, where a few
    clusters that hold an outcome of the rarer kind make up the whole error; at least 2. Where all or none succeed no
    error can be measured: then the limits are Clopper and Pearson's, each cluster counted once.

    Where a trial is a mean of several votes (one juror of a panel, repeated items), it still counts as one trial at
    most, although it varies less than one vote does: the limits are then somewhat wide.

    Parameters
    ----------
    above, below : ndarray of float, shape (clusters,)
        Each cluster's successes (sums of values in [0, 1]) and trials.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> found = share_limits(np.array([3.0, 3, 2, 3, 3, 1]), np.full(6, 3.0), 0.95)
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('cluster Wilson', 0.443, 0.969)
    """
    from scipy.special import betaincinv, stdtrit

    above, below = above[below > 0], below[below > 0]
    n_clusters, size = len(below), float(below.sum())
    if n_clusters < 2:
        return ShareLimits(None, None, None, WILSON, ONE_CLUSTER)
    note = f"only {n_clusters} clusters" if n_clusters < FEW else ""
    value = min(float(above.sum()) / size, 1.0)
    short = below - above if value > 0.5 else above
    if not (short > _ROUNDING * below).any():
        edge = float(betaincinv(1.0, n_clusters, (1 + level) / 2))
        low, high = (1 - edge, 1.0) if value > 0.5 else (0.0, edge)
        return ShareLimits(low, high, None, EXACT, note)
    away = above - value * below
    square_error = float(away @ away)
    se = float(np.sqrt(n_clusters / (n_clusters - 1) * square_error)) / size
    spread = value * (1 - value)
    worth = min(size, spread / se**2) if se * se * size > spread else size
    df = n_clusters - 1.0
    if se > _ROUNDING:
        # The sum of squares has the squared coefficient of variation sum e^4 / (sum e^2)^2 - 1 / G.
        variation = float((away**4).sum()) / square_error**2 - 1 / n_clusters
        df = min(df, max(2.0, 2 / variation)) if variation > 0 else df
    square = float(stdtrit(df, (1 + level) / 2)) ** 2
    centre = (value + square / (2 * worth)) / (1 + square / worth)
    half = float(np.sqrt(square * (spread / worth + square / (4 * worth**2)))) / (1 + square / worth)
    return ShareLimits(max(centre - half, 0.0), min(centre + half, 1.0), se, WILSON, note)
