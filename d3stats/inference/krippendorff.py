"""How reliable are ratings, whatever their scale and however many are missing? Krippendorff's alpha.

One coefficient for any number of raters, missing ratings, and nominal, ordinal, interval or ratio categories:
1 less the disagreement observed over the disagreement that pairing all ratings at random would give. An item that
fewer than two raters judged cannot be paired and is left out altogether. Items with more ratings weigh more.

References: Krippendorff (1970, 2004); Krippendorff (2011), Computing Krippendorff's alpha-reliability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike, choice
from d3stats.inference.agreeing.chance import need_pairs, refuse_constant
from d3stats.inference.agreeing.coefficient import Coefficient, How, Kind, Statistic, limits
from d3stats.inference.ratings import Ratings, as_ratings

__all__ = ["krippendorff_alpha"]

Floats = NDArray[np.float64]
Metric = Literal["nominal", "ordinal", "interval", "ratio"]
_METRICS = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    ratings: Any,
    *,
    metric: Metric = "nominal",
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
) -> Coefficient:
    r"""Return Krippendorff's alpha of all raters, with its interval.

    .. math:: \alpha = 1 - (n - 1)
              \frac{\sum_u \frac{1}{m_u - 1} \sum_{c < k} n_{uc} n_{uk} \delta^2_{ck}}
              {\sum_{c < k} n_c n_k \delta^2_{ck}}

    over items u with :math:`m_u \ge 2` ratings, n of them in all.

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
    metric : {"nominal", "ordinal", "interval", "ratio"}
        How far two categories are apart: all alike; by how many ratings lie between them; by their numbers, squared;
        by their numbers relative to their sum, squared.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        "classical" takes items as independent.
    level, n_boot, rng
        As for :func:`cohen_kappa`.
    categories : sequence, optional
        The order of the categories, which "ordinal" needs where they are no numbers.

    Returns
    -------
    Coefficient
        Its `share` is the mean share of agreeing pairs over the items that can be paired, whatever the metric;
        `chance` is given for "nominal" alone.

    Raises
    ------
    ValueError
        When no item has two ratings, all that can be paired are of one category, or a metric needs numbers and the
        categories are none.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": [1, 2, 3, 3, None], "y": [1, 2, 3, 4, 2], "z": [None, 2, 3, 3, 2]})
    >>> print(krippendorff_alpha(votes, metric="interval").estimate)
    Krippendorff's alpha (interval): 0.898 [0.654, 1.000] (95 % cluster t, n = 5 in 5 clusters)
    """
    choice("metric", metric, _METRICS)
    how = How(kind, level, n_boot, rng)
    read = as_ratings(ratings, categories=categories)
    need_pairs(read, "Krippendorff's alpha")
    paired = read.counts.sum(axis=1) > 1
    kept = read.where(paired)
    refuse_constant(kept, "Krippendorff's alpha")
    columns, statistic = (_ordinal if metric == "ordinal" else _fixed)(kept, metric)
    value, observed, chance = statistic(columns.sum(axis=0, keepdims=True))[0]
    if not np.isfinite(value):
        raise ValueError(
            f"Krippendorff's alpha is undefined where all distances are 0; got metric={metric!r}"
        )
    unlimited = ""
    if observed == 1:
        unlimited = f"all {len(columns)} items agree: nothing says how often they do not"
    label = "Krippendorff's alpha" if metric == "nominal" else f"Krippendorff's alpha ({metric})"
    estimate, share = limits(
        (label, "share of agreement"),
        columns,
        statistic,
        kept.cluster,
        how,
        unlimited=unlimited,
        share=(1, _shares(kept.counts.astype(np.float64))[1], np.ones(len(columns))),
    )
    notes = list(read.notes)
    if metric == "ordinal":
        try:
            read.values()
        except ValueError:
            notes.append(f"categories are taken in the order {', '.join(read.categories)}")
    left_out = read.n_items - len(columns)
    if left_out:
        notes.append(f"{left_out} of {read.n_items} items left out: fewer than two raters")
    return Coefficient(
        estimate=estimate,
        share=share,
        chance=float(chance) if metric == "nominal" else None,
        measure="Krippendorff's alpha",
        raters=read.raters,
        categories=read.categories,
        weights=metric,
        notes=tuple(notes),
    )


def _shares(counts: Floats) -> tuple[Floats, Floats]:
    """Return each item's number of ratings and its share of agreeing pairs."""
    raters = counts.sum(axis=1)
    share: Floats = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    return raters, share


def _fixed(ratings: Ratings, metric: Metric) -> tuple[Floats, Statistic]:
    """Return the sums of metrics whose distances do not depend on the ratings, and alpha of them.

    Columns: within-item disagreement, share of agreeing pairs, 1, ratings per category.
    """
    counts = ratings.counts.astype(np.float64)
    raters, share = _shares(counts)
    distance = _distances(ratings, metric)
    within = (counts * (counts @ distance)).sum(axis=1) / 2 / (raters - 1)

    def statistic(sums: Floats) -> Floats:
        total = sums[:, 3:]
        between = np.einsum("mi,ij,mj->m", total, distance, total) / 2
        return _alpha(sums[:, 0], between, total.sum(axis=1), sums[:, 1] / sums[:, 2])

    return np.column_stack([within, share, np.ones(len(counts)), counts]), statistic


def _ordinal(ratings: Ratings, metric: Metric) -> tuple[Floats, Statistic]:
    """Return the sums of the ordinal metric, whose distances are made of all ratings, and alpha of them.

    Columns: coincidences of each pair of different categories, share of agreeing pairs, 1, ratings per category.
    """
    counts = ratings.counts.astype(np.float64)
    raters, share = _shares(counts)
    low, high = np.triu_indices(counts.shape[1], 1)
    met = counts[:, low] * counts[:, high] / (raters - 1)[:, None]
    pairs = len(low)

    def statistic(sums: Floats) -> Floats:
        total = sums[:, pairs + 2 :]
        # Half of an end's own ratings lie on either side of its middle.
        middle = np.cumsum(total, axis=1) - total / 2
        within = (sums[:, :pairs] * (middle[:, high] - middle[:, low]) ** 2).sum(axis=1)
        n = total.sum(axis=1)
        between = n * (total * middle**2).sum(axis=1) - (total * middle).sum(axis=1) ** 2
        return _alpha(within, between, n, sums[:, pairs] / sums[:, pairs + 1])

    return np.column_stack([met, share, np.ones(len(counts)), counts]), statistic


def _alpha(within: Floats, between: Floats, n: Floats, share: Floats) -> Floats:
    value = np.full(within.shape, np.nan)
    np.divide((n - 1) * within, between, out=value, where=between > 0)
    chance = np.full(within.shape, np.nan)
    np.divide(2 * between, n * (n - 1), out=chance, where=n > 1)
    return np.column_stack([1 - value, share, 1 - chance])


def _distances(ratings: Ratings, metric: Metric) -> Floats:
    n = len(ratings.categories)
    if metric == "nominal":
        return 1.0 - np.eye(n)
    values = ratings.values()
    apart = np.subtract.outer(values, values)
    if metric == "interval":
        return apart**2
    if values.min() < 0:
        raise ValueError(f"categories must be >= 0 on a ratio scale; got {values.min():g}")
    together = np.add.outer(values, values)
    ratio = np.zeros((n, n))
    np.divide(apart, together, out=ratio, where=together > 0)
    return ratio**2
