"""From two runs' results to pairs: what is refused, how pairs are counted, and what is compared with replicates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats.models.bayes._pairs import KINDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def values_of(label: str, values: ArrayLike) -> Floats:
    """Check the results of one run."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{label} must be numbers; got {values!r}") from None
    if array.ndim != 1:
        raise ValueError(f"{label} must be one-dimensional; got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(
            f"{label} must be finite (leave out items that a run could not score); "
            f"got {array[row]} at row {row}"
        )
    return array


def codes_of(cluster: ArrayLike | None, n_items: int) -> Ints | None:
    """Number the clusters; None where every item is its own."""
    if cluster is None:
        return None
    column = pd.Series(np.asarray(cluster, dtype=object))
    if len(column) != n_items:
        raise ValueError(f"cluster must have one value per item ({n_items}); got {len(column)}")
    if column.isna().any():
        raise ValueError(f"cluster must be named; got a missing name at row {int(column.isna().argmax())}")
    codes, names = pd.factorize(column.astype(str))
    if len(names) == n_items:
        return None
    if len(names) < 2:
        raise ValueError(
            "cluster must have at least 2 values: one cluster cannot tell how clusters vary; got 1"
        )
    return codes.astype(np.int64)


def tables_of(a: Floats, b: Floats, codes: Ints | None) -> Ints:
    """Count the kinds of pair in each cluster, shape (clusters, 4), columns as ``KINDS``."""
    kind = np.select([(a == 1) & (b == 0), (a == 0) & (b == 1), (a == 1) & (b == 1)], [0, 1, 2], 3)
    of = np.zeros(len(a), dtype=np.int64) if codes is None else codes
    size = int(of.max()) + 1
    return np.bincount(of * 4 + kind, minlength=4 * size).reshape(size, 4).astype(np.int64)


def replicates(rows: Any) -> dict[str, Floats]:
    """Turn the statistics of many replicates into a column each."""
    table = list(rows)
    return {name: np.array([row[name] for row in table]) for name in table[0]}


def table_statistics(tables: Ints) -> dict[str, float]:
    """What clusters' tables look like in a few numbers."""
    total = tables.sum(axis=0)
    found = {f"share {kind}": float(v) for kind, v in zip(KINDS, total / total.sum(), strict=True)}
    if len(tables) > 1:
        gain = (tables[:, 1] - tables[:, 0]) / tables.sum(axis=1)
        found["sd of clusters' differences"] = float(gain.std())
    return found


def score_statistics(difference: Floats) -> dict[str, float]:
    """What score differences look like in a few numbers."""
    low, middle, high = np.quantile(difference, [0.1, 0.5, 0.9]).tolist()
    return {
        "mean": float(difference.mean()),
        "median": middle,
        "width from 10 % to 90 %": high - low,
        "share above 0": float((difference > 0).mean()),
    }
