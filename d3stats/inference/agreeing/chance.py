"""Agreement as sums over items: the columns that are added up, and what the sums say.

Every coefficient here is a smooth function of such sums, so that one engine resamples them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.inference.agreeing.coefficient import Statistic
from d3stats.inference.ratings import Ratings

Floats = NDArray[np.float64]

NAMED = ("identity", "linear", "quadratic")
_SAME = 1e-12
"""Chance agreement closer to 1 than this is 1: nothing is left to correct."""


def agreement_weights(weights: str | ArrayLike | None, categories: tuple[str, ...]) -> tuple[str, Floats]:
    """Return the name and the table of what each pair of categories counts as agreement, 1 on the diagonal."""
    n = len(categories)
    if weights is None or isinstance(weights, str):
        name = "identity" if weights is None else weights
        if name not in NAMED:
            raise ValueError(f"weights must be one of {list(NAMED)} or a table; got weights={weights!r}")
        away = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / max(n - 1, 1)
        table = {"identity": np.eye(n), "linear": 1 - away, "quadratic": 1 - away**2}[name]
        return name, table
    table = np.asarray(weights, dtype=np.float64)
    if table.shape != (n, n):
        raise ValueError(
            f"weights must be a table of {n} x {n} for the categories {list(categories)}; "
            f"got shape {table.shape}"
        )
    inside = np.isfinite(table).all() and table.min() >= 0 and table.max() <= 1
    if not inside or not np.array_equal(table, table.T) or not (np.diag(table) == 1).all():
        raise ValueError(
            "weights must be what counts as agreement: symmetric, within [0, 1], 1 on the diagonal; "
            f"got {table.tolist()}"
        )
    return "custom", table


def ordering_note(name: str, ratings: Ratings) -> tuple[str, ...]:
    """Say in which order the categories are taken, where it matters and they are no numbers."""
    if name in ("identity", "custom"):
        return ()
    try:
        ratings.values()
    except ValueError:
        return (f"{name} weights take the categories in the order {', '.join(ratings.categories)}",)
    return ()


def pair_columns(ratings: Ratings, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the sums of two raters, shape (items, 1 + 2 K), of items that both judged, and which these are.

    Columns: the weight of the pair, and the category of each rater as indicators.
    """
    codes = ratings.codes
    both: NDArray[np.bool_] = np.all(codes >= 0, axis=1)
    first, second = codes[both, 0], codes[both, 1]
    unit = np.eye(len(ratings.categories))
    return np.column_stack([weights[first, second], unit[first], unit[second]]), both


def pair_statistic(weights: Floats) -> Statistic:
    """Return Cohen's kappa, observed and chance agreement as a function of the sums of :func:`pair_columns`."""
    k = len(weights)

    def statistic(sums: Floats) -> Floats:
        first, second = sums[:, 1 : k + 1], sums[:, k + 1 :]
        n = first.sum(axis=1)
        chance = np.einsum("mi,ij,mj->m", first, weights, second) / n**2
        return corrected(sums[:, 0] / n, chance)

    return statistic


def panel_columns(ratings: Ratings, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the sums of a panel, shape (items, 3 + K), of items that somebody judged, and which these are.

    Columns: the item's mean weight over pairs of raters (0 with one rater), whether it has a pair, 1, and the
    share of its raters in each category. Items count alike, however many raters they have (Gwet, 2014).
    """
    counts = ratings.counts.astype(np.float64)
    judged = counts.sum(axis=1) > 0
    counts = counts[judged]
    raters = counts.sum(axis=1)
    paired = raters > 1
    agree = (counts * (counts @ weights - 1)).sum(axis=1)
    share = np.divide(agree, raters * (raters - 1), out=np.zeros(len(counts)), where=paired)
    return np.column_stack([share, paired, np.ones(len(counts)), counts / raters[:, None]]), judged


def fleiss_statistic(weights: Floats) -> Statistic:
    """Return Fleiss' kappa, observed and chance agreement as a function of the sums of :func:`panel_columns`."""

    def statistic(sums: Floats) -> Floats:
        share = sums[:, 3:] / sums[:, 2:3]
        return corrected(sums[:, 0] / sums[:, 1], np.einsum("mi,ij,mj->m", share, weights, share))

    return statistic


def gwet_statistic(weights: Floats) -> Statistic:
    """Return Gwet's coefficient, observed and chance agreement as a function of the same sums."""
    k = len(weights)
    scale = weights.sum() / (k * (k - 1)) if k > 1 else np.nan

    def statistic(sums: Floats) -> Floats:
        share = sums[:, 3:] / sums[:, 2:3]
        return corrected(sums[:, 0] / sums[:, 1], scale * (share * (1 - share)).sum(axis=1))

    return statistic


def corrected(observed: Floats, chance: Floats) -> Floats:
    """Return (observed - chance) / (1 - chance), observed and chance, shape (m, 3); NaN where chance is 1."""
    left = 1 - chance
    value = np.full(observed.shape, np.nan)
    np.divide(observed - chance, left, out=value, where=left > _SAME)
    return np.column_stack([value, observed, chance])


def need_pairs(ratings: Ratings, measure: str) -> None:
    """Refuse ratings in which no item was judged twice."""
    if not (ratings.counts.sum(axis=1) > 1).any():
        raise ValueError(
            f"{measure} needs an item that two raters judged; got none among {ratings.n_items} items "
            f"and {ratings.n_raters} raters"
        )


def only_category(ratings: Ratings) -> str | None:
    """Return the category that everybody chose on every item, None when there are several."""
    used = np.flatnonzero(ratings.counts.sum(axis=0))
    return ratings.categories[int(used[0])] if len(used) == 1 else None


def refuse_constant(ratings: Ratings, measure: str, observed: Any = 1.0) -> None:
    """Refuse a coefficient where all ratings are one category."""
    name = only_category(ratings)
    if name is not None:
        raise ValueError(
            f"{measure} is undefined where all ratings are one category; got only {name!r}. Report the share of "
            f"agreement ({observed:.3f}), or Gwet's AC1 over all categories that could have been chosen "
            "(categories=...)"
        )
