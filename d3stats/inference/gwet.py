"""Do judges agree more than chance would make them, when nearly all items are of one kind? Gwet's AC1 and AC2.

Where one category holds most items, kappa can be near 0 at 95 % agreement: its chance agreement is as high. Gwet's
coefficient takes chance agreement from raters who guess on some items, and is small there.

References: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29-48; Gwet (2014), Handbook of
Inter-Rater Reliability, 4th edition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from d3stats._check import RngLike
from d3stats.inference.agreeing.chance import gwet_statistic, need_pairs
from d3stats.inference.agreeing.coefficient import Coefficient, How, Kind
from d3stats.inference.juries.panel import panel_coefficient
from d3stats.inference.ratings import as_ratings

__all__ = ["gwet_ac"]


def gwet_ac(
    ratings: Any,
    *,
    weights: str | ArrayLike | None = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
) -> Coefficient:
    r"""Return Gwet's AC1 of all raters, or AC2 with weights, with its interval.

    .. math:: \mathrm{AC} = \frac{p_a - p_e}{1 - p_e}, \quad
              p_e = \frac{\sum_{kl} w_{kl}}{K (K - 1)} \sum_k \pi_k (1 - \pi_k)

    with :math:`\pi_k` the mean over items of the share of raters who chose k, and K all categories that could have
    been chosen.

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        "identity" is AC1, anything else AC2; see :func:`cohen_kappa`.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        "classical" is the error of Gwet (2008), items independent, with t limits. Where some items have one rater
        it takes the number of the others as random, as it is; Gwet's own formula takes it as fixed and is larger.
    level, n_boot, rng
        As for :func:`cohen_kappa`.
    categories : sequence, optional
        Every category that could have been chosen; K depends on it.

    Raises
    ------
    ValueError
        When no item has two raters, or there is one category only.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": ["A"] * 19 + ["B"], "y": ["A"] * 18 + ["B", "A"]})
    >>> print(gwet_ac(votes).estimate)
    Gwet's AC1: 0.890 [0.715, 1.000] (95 % cluster t, n = 20 in 20 clusters)
    """
    read = as_ratings(ratings, categories=categories)
    need_pairs(read, "Gwet's coefficient")
    if len(read.categories) < 2:
        raise ValueError(
            "Gwet's coefficient needs two categories that could have been chosen (categories=...); "
            f"got only {read.categories[0]!r}"
        )
    plain = weights is None or (isinstance(weights, str) and weights == "identity")
    made = panel_coefficient(
        read, "Gwet's AC1" if plain else "Gwet's AC2", weights, gwet_statistic, How(kind, level, n_boot, rng)
    )
    if categories is None:
        used, known = int((read.counts.sum(axis=0) > 0).sum()), len(read.categories)
        among = "that occur" if used == known else f"that are known; {used} of them occur among these ratings"
        note = f"chance agreement is over the {known} categories {among}"
        made = replace(made, notes=(*made.notes, note))
    return made
