"""Worlds in which few clusters say anything: few changed between two runs, or few hold a wrong answer.

Both functions put the package's own interval to data sets of unequal clusters; see ``findings.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.inference.comparison.pair_data import PairData
from d3stats.resampling import cluster_t, ratios, sign_flip_p
from d3stats.resampling.proportions import EXACT, share_limits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Config = Mapping[str, Any]
SIZES = ("one", "1 to 12", "geometric")
"""Items per cluster: always one; each number as likely; geometric with mean 4, at most 40."""


def sizes_of(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Draw items per cluster."""
    if name == "one":
        return np.ones(shape, dtype=np.int64)
    if name == "1 to 12":
        return rng.integers(1, 13, shape)
    return np.minimum(rng.geometric(0.25, shape), 40)


def mean_over_sizes(name: str, of: Any) -> float:
    """Return the mean of a function of the number of items of a cluster."""
    if name == "one":
        return float(of(np.ones(1)).mean())
    if name == "1 to 12":
        return float(of(np.arange(1.0, 13)).mean())
    k = np.arange(1.0, 41)
    chance = 0.25 * 0.75 ** (k - 1)
    chance[-1] = 0.75**39
    return float(chance @ of(k))


def true_difference(world: Config, sizes: str, n_clusters: int, changed: float, gains: float) -> float:
    """Return the expected difference over the expected number of items."""
    items = mean_over_sizes(sizes, lambda n: n)
    touch = changed / (n_clusters * items)
    flips = mean_over_sizes(sizes, lambda n: np.minimum(1, touch * n) * (1 + (n - 1) * world["hit"]))
    aligned = 1.0 if gains == 1 else world["aligned"]
    return flips * (2 * aligned - 1) * (2 * gains - 1) / items


def draw_changes(
    world: Config, sizes: str, n_clusters: int, changed: float, gains: float, rng: np.random.Generator
) -> PairData:
    """Draw two runs that differ in about so many clusters, in which a share of changes goes one way.

    A cluster changes with a chance in proportion to its items; then one item changes for certain and each other one
    with chance `hit`, most of them in the cluster's own direction.
    """
    size = sizes_of(sizes, (n_clusters,), rng)
    touch = changed / (n_clusters * mean_over_sizes(sizes, lambda n: n))
    touched = rng.random(n_clusters) < np.minimum(1, touch * size)
    flips = np.where(touched, 1 + rng.binomial(size - 1, world["hit"]), 0)
    aligned = 1.0 if gains == 1 else world["aligned"]
    up = np.where(rng.random(n_clusters) < gains, aligned, 1 - aligned)
    gained = rng.binomial(flips, up)
    cluster = np.repeat(np.arange(n_clusters), size)
    place = np.arange(len(cluster)) - (np.cumsum(size) - size)[cluster]
    first = (place >= gained[cluster]).astype(float)
    second = ((place < gained[cluster]) | (place >= flips[cluster])).astype(float)
    return PairData(("A", "B"), first, second, cluster, 2, (0,))


def change_cell(
    config: Config, sizes: str, n_clusters: int, changed: float, gains: float, replicates: int
) -> dict[str, Any]:
    """Return how often the interval of a comparison covers, and where nothing is true how often its test rejects."""
    world, level = config["few_changes"], config["level"]
    true = true_difference(world, sizes, n_clusters, changed, gains)
    null = gains == 0.5
    counts = dict.fromkeys(("given", "covers", "covers_usual", "rejects", "rejects_usual", "rejects_flip"), 0)
    width = 0.0
    for i in range(replicates):
        key = [config["seed"], SIZES.index(sizes), n_clusters, round(10 * changed), round(100 * gains), i, 2]
        data = draw_changes(world, sizes, n_clusters, changed, gains, np.random.default_rng(key))
        if data.why_no_spread():
            continue
        low, high, p = data.change_t(level)
        usual = cluster_t(data.totals, ratios((2, 3)), level=level)
        counts["given"] += 1
        counts["covers"] += low <= true <= high
        counts["covers_usual"] += bool(usual.low[0] <= true <= usual.high[0])
        width += high - low
        if null:
            counts["rejects"] += p <= 1 - level
            counts["rejects_usual"] += bool(usual.p_value[0] <= 1 - level)
            counts["rejects_flip"] += sign_flip_p(data.totals[:, 2]).p_value <= 1 - level
    given = counts["given"]
    return {
        "sizes": sizes,
        "clusters": n_clusters,
        "changed": changed,
        "gains": gains,
        "replicates": replicates,
        "no_interval": 1 - given / replicates,
        "coverage": counts["covers"] / given,
        "coverage_usual": counts["covers_usual"] / given,
        "width": width / given,
        "rejected": counts["rejects"] / replicates if null else np.nan,
        "rejected_usual": counts["rejects_usual"] / replicates if null else np.nan,
        "rejected_flip": counts["rejects_flip"] / replicates if null else np.nan,
    }


def share_cell(
    config: Config, sizes: str, n_clusters: int, share: float, icc: float, replicates: int
) -> dict[str, Any]:
    """Return how often the interval of a share near 1 covers, and how often the usual t does."""
    level = config["level"]
    rng = np.random.default_rng(
        [config["seed"], SIZES.index(sizes), n_clusters, round(100 * share), round(100 * icc), 3]
    )
    size = sizes_of(sizes, (replicates, n_clusters), rng)
    chance = np.full(size.shape, share)
    if icc:
        chance = rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), size.shape)
    right = rng.binomial(size, chance).astype(float)
    covers = covers_t = width = exact = 0.0
    for above, below in zip(right, size.astype(float), strict=True):
        found = share_limits(above, below, level)
        assert found.low is not None
        assert found.high is not None
        covers += found.low <= share <= found.high
        width += found.high - found.low
        exact += found.kind == EXACT
        t = cluster_t(np.stack([above, below], axis=1), ratios((0, 1)), level=level)
        covers_t += bool(t.low[0] <= share <= t.high[0]) if not t.reasons[0] else 0.0
    row = {"sizes": sizes, "clusters": n_clusters, "share": share, "icc": icc, "replicates": replicates}
    return row | {
        "all_right": exact / replicates,
        "coverage": covers / replicates,
        "coverage_t": covers_t / replicates,
        "width": width / replicates,
    }


def changes(config: Config, workers: int = 1) -> pd.DataFrame:
    """Return one row per world of few changes."""
    from joblib import Parallel, delayed

    few = config["few_changes"]
    grid = [
        (sizes, n_clusters, changed, gains)
        for sizes in SIZES
        for n_clusters in few["clusters"]
        for gains in few["gains"]
        for changed in few["changed"]
    ]
    cells = [delayed(change_cell)(config, *point, few["replicates"]) for point in grid]
    return pd.DataFrame(Parallel(n_jobs=workers)(cells))


def again(config: Config, workers: int = 1) -> pd.DataFrame:
    """Return cells in which nothing is true once more, with another seed and more data sets.

    Data sets of a cell have their own seeds, so that a row of more of them holds those of a row of fewer.
    """
    from joblib import Parallel, delayed

    fresh = dict(config) | {"seed": config["again"]["seed"]}
    cells = [
        delayed(change_cell)(fresh, sizes, n_clusters, changed, 0.5, replicates)
        for sizes, n_clusters, changed, replicates in config["again"]["cells"]
    ]
    return pd.DataFrame(Parallel(n_jobs=workers)(cells))


def shares(config: Config, workers: int = 1) -> pd.DataFrame:
    """Return one row per world of a share near 1."""
    from joblib import Parallel, delayed

    near = config["shares"]
    grid = [
        (sizes, n_clusters, share, icc)
        for sizes in SIZES
        for n_clusters in near["clusters"]
        for icc in (near["icc"] if sizes != "one" else [0.0])
        for share in near["share"]
    ]
    cells = [delayed(share_cell)(config, *point, near["replicates"]) for point in grid]
    return pd.DataFrame(Parallel(n_jobs=workers)(cells))


def shown_changes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of few changes in percent, as the findings print it."""
    head = table[["sizes", "clusters", "gains", "changed"]].assign(gains=(100 * table["gains"]).round(0))
    percent = {
        "no interval": "no_interval",
        "covers": "coverage",
        "t of clusters - 1": "coverage_usual",
        "rejects": "rejected",
        "t of clusters - 1 rejects": "rejected_usual",
        "sign flip rejects": "rejected_flip",
    }
    for name, column in percent.items():
        head[name] = [("-" if np.isnan(v) else f"{100 * v:.1f}") for v in table[column]]
    return head.assign(width=table["width"].round(3))


def shown_again(table: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    """Return in percent how often the test rejects in few and in many data sets, with Monte Carlo errors."""
    cell = ["sizes", "clusters", "changed"]
    both = table.merge(first[first["gains"] == 0.5], on=cell, suffixes=("", "_first"), how="left")
    shown = both[cell].copy()
    for end, about in (("_first", "first"), ("", "again")):
        shown[f"data sets, {about}"] = both[f"replicates{end}"]
        shown[f"rejects, {about}"] = [f"{100 * v:.2f}" for v in both[f"rejected{end}"]]
        error = np.sqrt(both[f"rejected{end}"] * (1 - both[f"rejected{end}"]) / both[f"replicates{end}"])
        shown[f"error, {about}"] = [f"{100 * v:.2f}" for v in error]
    return shown.assign(covers=[f"{100 * v:.2f}" for v in both["coverage"]])


def shown_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of shares near 1 in percent, as the findings print it."""
    head = table[["sizes", "clusters", "icc", "share"]].copy()
    for name, column in {"all right": "all_right", "covers": "coverage", "cluster t": "coverage_t"}.items():
        head[name] = [f"{100 * v:.1f}" for v in table[column]]
    return head.assign(width=table["width"].round(3))
