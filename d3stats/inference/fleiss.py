"""Does a panel agree more than chance would make it? Fleiss' kappa, and the plain share of agreement.

Raters are interchangeable: nobody needs to be the same person from item to item. With two raters Fleiss' kappa is
Scott's pi, not Cohen's kappa. Where items have different numbers of raters, the generalisation is that of Gwet (2014):
the share of agreement is the mean over items with two raters or more, a category's share the mean over all items
of its share among the item's raters. With equal numbers both are those of Fleiss (1971).

References: Fleiss (1971), Psychological Bulletin 76, 378-382; Fleiss, Nee and Landis (1979), Psychological Bulletin
86, 974-977; Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike
from d3stats.inference.agreeing.chance import (
    agreement_weights,
    fleiss_statistic,
    need_pairs,
    ordering_note,
    panel_columns,
    refuse_constant,
)
from d3stats.inference.agreeing.coefficient import Coefficient, How, Kind, limits, two_sided
from d3stats.inference.juries.panel import panel_coefficient
from d3stats.inference.ratings import as_ratings

__all__ = ["fleiss_kappa", "percent_agreement"]


def fleiss_kappa(
    ratings: Any,
    *,
    weights: str | ArrayLike | None = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
) -> Coefficient:
    r"""Return Fleiss' kappa of all raters, with its interval.

    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
              \bar P = \frac1N \sum_i \sum_j \frac{n_{ij} (n_{ij} - 1)}{m_i (m_i - 1)}, \quad
              \bar P_e = \sum_j \Bigl(\frac1N \sum_i \frac{n_{ij}}{m_i}\Bigr)^2

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        What a pair of categories counts as agreement; see :func:`cohen_kappa`.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        "classical" is the linearised error with items independent (Gwet, 2014), t limits.
    level, n_boot, rng
        As for :func:`cohen_kappa`.
    categories : sequence, optional
        As for :func:`as_ratings`.

    Returns
    -------
    Coefficient
        `z` and `p_independence` are of the null error of Fleiss, Nee and Landis (1979), where every item has the
        same number of raters and there are no weights.

    Raises
    ------
    ValueError
        When no item has two raters, or all ratings are one category.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": list("AABBC"), "y": list("AABCC"), "z": list("ABBBC")})
    >>> print(fleiss_kappa(votes).estimate)
    Fleiss' kappa: 0.595 [-0.117, 1.000] (95 % cluster t, n = 5 in 5 clusters)
    """
    read = as_ratings(ratings, categories=categories)
    need_pairs(read, "Fleiss' kappa")
    refuse_constant(read, "Fleiss' kappa")
    made = panel_coefficient(read, "Fleiss' kappa", weights, fleiss_statistic, How(kind, level, n_boot, rng))
    null = _null_error(read.counts) if made.weights == "identity" else None
    if null is None:
        return made
    z = made.estimate.value / null
    return replace(made, z=z, p_independence=two_sided(z))


def percent_agreement(
    ratings: Any,
    *,
    weights: str | ArrayLike | None = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
) -> Coefficient:
    """Return the share of pairs of raters that agree, averaged over items, with its interval.

    Chance is not corrected for: two judges who always say "A" agree on everything.

    Parameters
    ----------
    ratings, weights, kind, level, n_boot, rng, categories
        As for :func:`fleiss_kappa`.

    Raises
    ------
    ValueError
        When no item has two raters.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": list("AABB"), "y": list("AABA")})
    >>> print(percent_agreement(votes).estimate)
    share of agreement: 0.750 [0.131, 0.984] (95 % cluster Wilson, n = 4 in 4 clusters)
    """
    how = How(kind, level, n_boot, rng)
    read = as_ratings(ratings, categories=categories)
    need_pairs(read, "the share of agreement")
    name, table = agreement_weights(weights, read.categories)
    columns, judged = panel_columns(read, table)
    paired = columns[:, 1] == 1

    def statistic(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums[:, :1] / sums[:, 1:2]

    names = ("share of agreement",)
    pairs, ones = columns[paired, 0], columns[paired, 1]
    cluster = read.cluster[judged][paired]
    (made,) = limits(names, columns[paired, :2], statistic, cluster, how, share=(0, pairs, ones))
    if made.low is not None:
        made = replace(made, low=max(made.low, 0.0), p_value=None)
    left_out = read.n_items - int(paired.sum())
    notes = [f"{left_out} of {read.n_items} items left out: fewer than two raters"] if left_out else []
    return Coefficient(
        estimate=made,
        share=made,
        chance=None,
        measure="share of agreement",
        raters=read.raters,
        categories=read.categories,
        weights=name,
        notes=(*read.notes, *ordering_note(name, read), *notes),
    )


def _null_error(counts: NDArray[np.int64]) -> float | None:
    """Return the error of kappa under independence, None where items differ in their number of raters."""
    raters = counts.sum(axis=1)
    raters, used = raters[raters > 0], counts[raters > 0]
    if len(np.unique(raters)) > 1:
        return None
    m, n = int(raters[0]), len(raters)
    p = used.sum(axis=0) / (n * m)
    spread = p * (1 - p)
    variance = 2 / (n * m * (m - 1)) * (spread.sum() ** 2 - (spread * (1 - 2 * p)).sum()) / spread.sum() ** 2
    return float(np.sqrt(variance)) if variance > 0 else None
