"""Limits of a rank correlation: by Fisher's z, over clusters, or over groups."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike
from d3stats.estimate import Estimate
from d3stats.inference.agreeing.coefficient import ONE_CLUSTER, two_sided
from d3stats.inference.agreeing.rank_sums import Cells, rank_statistic
from d3stats.resampling import LimitsKind, Statistic, bootstrap_limits, cluster_t, cluster_totals, jackknife
from d3stats.resampling.bootstrap import FEW_CLUSTERS

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

KINDS = ("fisher", "cluster t", "jackknife t", "percentile", "basic", "bca")
_WORDS = {
    "cluster t": "cluster t",
    "jackknife t": "cluster jackknife t",
    "percentile": "bootstrap percentile",
    "basic": "bootstrap basic",
    "bca": "bootstrap BCa",
}
_ONE = 1 - 1e-12
_PERFECT = "perfect: nothing says how far it is from 1"
MOST_CELLS = 40_000_000
"""Clusters times distinct pairs of scores that are held at once."""


def fisher(name: str, value: float, n: int, method: str, level: float) -> Estimate:
    """Return limits on Fisher's z for independent pairs."""
    from scipy import special

    shape: dict[str, Any] = {"name": name, "value": value, "n": n, "level": level, "kind": "Fisher z"}
    if abs(value) > _ONE:
        return Estimate(low=None, high=None, note=_PERFECT, **shape)
    if n < 5:
        return Estimate(low=None, high=None, note=f"Fisher's z needs 5 pairs; got {n}", **shape)
    z = np.arctanh(value)
    variance = (1 + value**2 / 2) / (n - 3) if method == "spearman" else 0.437 / (n - 4)
    null = 1 / (n - 3) if method == "spearman" else 0.437 / (n - 4)
    half = special.ndtri((1 + level) / 2) * np.sqrt(variance)
    return Estimate(
        low=float(np.tanh(z - half)),
        high=float(np.tanh(z + half)),
        se=float((1 - value**2) * np.sqrt(variance)),
        p_value=two_sided(float(z / np.sqrt(null))),
        **shape,
    )


def over_clusters(
    name: str,
    value: float,
    cells: Cells,
    cluster: Codes,
    method: str,
    kind: str,
    level: float,
    n_boot: int,
    rng: RngLike,
) -> Estimate:
    """Return limits of a correlation over all pairs, clusters being what varies."""
    codes = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    n_clusters = int(codes.max()) + 1
    n = len(codes)
    if n_clusters * len(cells.x) > MOST_CELLS:
        raise ValueError(
            f"kind={kind!r} holds clusters x distinct pairs, at most {MOST_CELLS}; got {n_clusters} x {len(cells.x)}. "
            "Round the scores, or use kind='fisher' if pairs are independent"
        )
    shape: dict[str, Any] = {
        "name": name, "value": value, "n": n, "level": level, "kind": _WORDS[kind], "n_clusters": n_clusters
    }  # fmt: skip
    if n_clusters < 2:
        return Estimate(low=None, high=None, note=ONE_CLUSTER, **shape)
    if abs(value) > _ONE:
        return Estimate(low=None, high=None, note=_PERFECT, **shape)
    made = _resampled(cells.totals(codes), rank_statistic(cells, method), kind, level, n_boot, rng, on_z=True)
    return Estimate(**shape, **made)


def over_groups(
    name: str,
    x: Floats,
    y: Floats,
    group: Codes,
    cluster: Codes,
    method: str,
    kind: str,
    level: float,
    n_boot: int,
    rng: RngLike,
) -> tuple[Estimate, int, int]:
    """Return the mean correlation within groups with limits over clusters, groups used and groups without one."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    values, owners, sizes = [], [], []
    for rows in np.split(order, starts[1:]):
        if len(rows) < 2 or np.ptp(x[rows]) == 0 or np.ptp(y[rows]) == 0:
            continue
        cells = Cells.of(x[rows], y[rows])
        values.append(float(rank_statistic(cells, method)(cells.totals(np.zeros(len(rows), np.int64)))[0, 0]))
        owners.append(cluster[rows[0]])
        sizes.append(len(rows))
    undefined = len(starts) - len(values)
    if not values:
        raise ValueError(f"within= must have a group in which both scores vary; got none among {len(starts)}")
    totals = cluster_totals(np.column_stack([values, np.ones(len(values))]), np.array(owners))
    shape: dict[str, Any] = {
        "name": name, "value": float(np.mean(values)), "n": int(np.sum(sizes)), "level": level,
        "kind": _WORDS[kind], "n_clusters": len(totals),
    }  # fmt: skip
    if len(totals) < 2:
        return Estimate(low=None, high=None, note=ONE_CLUSTER, **shape), len(values), undefined

    def mean(sums: Floats) -> Floats:
        return sums[:, :1] / sums[:, 1:2]

    made = _resampled(totals, mean, kind, level, n_boot, rng, on_z=False)
    return Estimate(**shape, **made), len(values), undefined


def _resampled(
    totals: Floats, statistic: Statistic, kind: str, level: float, n_boot: int, rng: RngLike, *, on_z: bool
) -> dict[str, Any]:
    """Return limits, error, p-value and note; the t kinds on Fisher's z when `on_z`."""
    from scipy import special

    if kind in ("percentile", "basic", "bca"):
        chosen = cast(LimitsKind, kind)
        drawn = bootstrap_limits(totals, statistic, kind=chosen, level=level, n_boot=n_boot, rng=rng)
        low, high = drawn.interval()
        return {"low": low, "high": high, "se": float(drawn.se[0]), "note": drawn.reasons[0] or drawn.note}

    def scaled(sums: Floats) -> Floats:
        values = statistic(sums)
        if not on_z:
            return values
        with np.errstate(divide="ignore"):
            return np.arctanh(values)

    linear = cluster_t(totals, scaled, level=level)
    if linear.reasons[0]:
        return {"low": None, "high": None, "note": linear.reasons[0]}
    centre, se, p = float(linear.estimate[0]), float(linear.se[0]), float(linear.p_value[0])
    if kind == "jackknife t":
        without, n = jackknife(totals, scaled)[:, 0], len(totals)
        if not np.isfinite(without).all():
            return {"low": None, "high": None, "note": "undefined when a cluster is left out"}
        se = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
        p = float(2 * special.stdtr(n - 1, -abs(centre) / se))
    half = float(special.stdtrit(linear.df, (1 + level) / 2)) * se
    low, high = centre - half, centre + half
    if on_z:
        low, high, se = float(np.tanh(low)), float(np.tanh(high)), se * (1 - float(np.tanh(centre)) ** 2)
    few = len(totals) < FEW_CLUSTERS
    return {
        "low": low, "high": high, "se": se, "p_value": p,
        "note": f"only {len(totals)} clusters" if few else "",
    }  # fmt: skip
