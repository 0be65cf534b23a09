"""What the coefficients of a whole panel share: Fleiss' kappa, Gwet's coefficient, the plain share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.inference.agreeing.chance import agreement_weights, need_pairs, ordering_note, panel_columns
from d3stats.inference.agreeing.coefficient import Coefficient, How, Statistic, limits
from d3stats.inference.ratings import Ratings

Floats = NDArray[np.float64]


def panel_coefficient(
    ratings: Ratings,
    measure: str,
    weights: str | ArrayLike | None,
    statistic_of: Callable[[Floats], Statistic],
    how: How,
) -> Coefficient:
    """Return a coefficient of all raters whose sums are those of :func:`panel_columns`."""
    need_pairs(ratings, measure)
    name, table = agreement_weights(weights, ratings.categories)
    columns, judged = panel_columns(ratings, table)
    statistic = statistic_of(table)
    value, observed, chance = statistic(columns.sum(axis=0, keepdims=True))[0]
    if not np.isfinite(value):
        raise ValueError(f"{measure} is undefined where chance agreement is 1; got {chance:.6g}")
    paired = int(columns[:, 1].sum())
    unlimited = ""
    notes = [*ratings.notes, *ordering_note(name, ratings)]
    if observed == 1:
        unlimited = f"all {paired} items with two raters agree: nothing says how often they do not"
    label = measure if name == "identity" else f"{measure} ({name} weights)"
    estimate, share = limits(
        (label, "share of agreement"),
        columns,
        statistic,
        ratings.cluster[judged],
        how,
        unlimited=unlimited,
        share=(1, columns[:, 0], columns[:, 1]),
    )
    share = replace(share, n=paired)
    single = len(columns) - paired
    if single:
        notes.append(f"{single} items with one rater count for the categories and not for the agreement")
    if len(columns) < ratings.n_items:
        notes.append(
            f"{ratings.n_items - len(columns)} of {ratings.n_items} items left out: nobody judged them"
        )
    return Coefficient(
        estimate=estimate,
        share=share,
        chance=float(chance),
        measure=measure,
        raters=ratings.raters,
        categories=ratings.categories,
        weights=name,
        notes=tuple(notes),
    )
