"""Do two judges agree more than chance would make them? Cohen's kappa, weighted or not.

Assumptions: items are drawn alike; items of one cluster may be dependent, clusters are not. The classical error
takes every item as independent and is too small where they are not.

References: Cohen (1960, 1968); Fleiss, Cohen and Everitt (1969), Psychological Bulletin 72, 323-327.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike
from d3stats.counts import ConfusionCounts
from d3stats.inference.agreeing.chance import (
    agreement_weights,
    ordering_note,
    pair_columns,
    pair_statistic,
    refuse_constant,
)
from d3stats.inference.agreeing.coefficient import Coefficient, How, Kind, limits, normal_limits, two_sided
from d3stats.inference.ratings import Ratings, as_ratings

__all__ = ["cohen_kappa", "fleiss_cohen_everitt"]

Floats = NDArray[np.float64]


def cohen_kappa(
    a: Any,
    b: ArrayLike | None = None,
    *,
    weights: str | ArrayLike | None = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    cluster: Sequence[Any] | None = None,
    categories: Sequence[Any] | None = None,
    missing_values: Iterable[str] | None = None,
) -> Coefficient:
    r"""Return Cohen's kappa of two raters, with its interval.

    .. math:: \kappa_w = \frac{p_o - p_e}{1 - p_e}, \quad p_o = \sum_{ij} w_{ij} p_{ij}, \quad
              p_e = \sum_{ij} w_{ij} p_{i \cdot} p_{\cdot j}

    Items that one of the two did not judge are left out.

    Parameters
    ----------
    a : Ratings, anything that :func:`as_ratings` reads, ConfusionCounts, or a vector
        Ratings must be of two raters.
    b : array_like, optional
        The second rater's categories, when `a` is a vector; None or NaN is missing.
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        What a pair of categories counts as agreement (1 on the diagonal). "linear" and "quadratic" go by the
        position of the categories: ``1 - |i - j| / (K - 1)``, or its square in place of the distance.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        "classical" is the normal interval with the error of Fleiss, Cohen and Everitt (1969), items independent.
        Where kappa is above about .8 and disagreements are few, "cluster t" covers .91 to .93 instead of .95 (80 to
        200 items), and "bca" .94 to .95: take that.
    level : float
        Coverage aimed at.
    n_boot : int
        Replicates of the bootstrap kinds.
    rng : Generator, int or None
        Of the bootstrap kinds.
    cluster : sequence, optional
        What each item of two vectors belongs to; by default every item is its own cluster.
    categories : sequence, optional
        Their order, and those that nobody chose.
    missing_values : iterable of str, optional
        The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`.

    Returns
    -------
    Coefficient
        `z` and `p_independence` test 0 with the null error of Fleiss, Cohen and Everitt. Where one rater always
        says the same, kappa is 0 whatever the agreement, and has no interval.

    Raises
    ------
    ValueError
        When there are not two raters, no item was judged by both, or both always say the same one category.

    Examples
    --------
    >>> result = cohen_kappa(ConfusionCounts(("A", "B"), np.array([[20.0, 5.0], [10.0, 15.0]])), kind="classical")
    >>> print(result)
    Cohen's kappa, truth and vote: 0.400 [0.151, 0.649] (95 % Fleiss-Cohen-Everitt, n = 50)
    share of agreement: 0.700 [0.568, 0.832] (95 % t, items independent, n = 50)
    expected by chance: 0.500
    test of 0, items independent: z = 2.89, p = 0.00389
    """
    how = How(kind=kind, level=level, n_boot=n_boot, rng=rng)
    ratings = _two_raters(a, b, cluster, categories, missing_values)
    name, table = agreement_weights(weights, ratings.categories)
    both = np.all(ratings.codes >= 0, axis=1)
    if not both.any():
        raise ValueError(
            f"Cohen's kappa needs items that both raters judged; got none for {ratings.raters[0]!r} and "
            f"{ratings.raters[1]!r}"
        )
    kept = ratings.where(both)
    refuse_constant(kept, "Cohen's kappa")
    columns, _ = pair_columns(kept, table)
    n = len(columns)
    k = len(kept.categories)
    statistic = pair_statistic(table)
    value, observed, chance = statistic(columns.sum(axis=0, keepdims=True))[0]
    if not np.isfinite(value):
        raise ValueError(f"Cohen's kappa is undefined where chance agreement is 1; got weights {name!r}")
    constant = [
        r for r, at in zip(kept.raters, (slice(1, k + 1), slice(k + 1, None)), strict=True)
        if np.count_nonzero(columns[:, at].sum(axis=0)) == 1
    ]  # fmt: skip
    unlimited, notes = "", list(ordering_note(name, kept))
    if constant:
        value = 0.0
        unlimited = f"{constant[0]!r} always says the same, so kappa is 0 whatever the agreement"
    elif observed == 1:
        unlimited = f"all {n} items agree: nothing says how often they do not"
    if unlimited:
        notes.append(f"no interval of kappa: {unlimited}")
    label = "Cohen's kappa" if name == "identity" else f"Cohen's kappa ({name} weights)"
    estimate, share = limits(
        (f"{label}, {kept.raters[0]} and {kept.raters[1]}", "share of agreement"),
        columns, statistic, kept.cluster, how, unlimited=unlimited, share=(1, columns[:, 0], np.ones(n)),
    )  # fmt: skip
    cells = np.zeros((k, k))
    np.add.at(cells, (kept.codes[:, 0], kept.codes[:, 1]), 1.0)
    se, null_se = fleiss_cohen_everitt(cells, table)
    if constant:
        estimate = replace(estimate, value=0.0)
    z = value / null_se if null_se > 0 and not constant else None
    if how.kind == "classical" and estimate.low is not None:
        estimate = normal_limits(estimate, se, level, "Fleiss-Cohen-Everitt")
        estimate = replace(estimate, p_value=None if z is None else two_sided(z))
    left_out = ratings.n_items - n
    if left_out:
        notes.append(f"{left_out} of {ratings.n_items} items left out: not judged by both")
    return Coefficient(
        estimate=estimate,
        share=share,
        chance=float(chance),
        measure="Cohen's kappa",
        raters=kept.raters,
        categories=kept.categories,
        weights=name,
        z=z,
        p_independence=None if z is None else two_sided(z),
        notes=(*ratings.notes, *notes),
    )


def fleiss_cohen_everitt(cells: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float]:
    """Return the standard error of kappa and the one under kappa = 0, for independent items.

    Fleiss, Cohen and Everitt (1969), equations 8 and 9 with weights, 13 and 14 without.

    Parameters
    ----------
    cells : array_like of float, shape (K, K)
        How many items got each pair of categories.
    weights : array_like of float, shape (K, K), optional
        What each pair counts as agreement; by default the identity.

    Raises
    ------
    ValueError
        When the table is not square, has a negative cell or nothing in it, or chance agreement is 1.

    Examples
    --------
    >>> se, null_se = fleiss_cohen_everitt([[20, 5], [10, 15]])
    >>> round(se, 4), round(null_se, 4)
    (0.127, 0.1386)
    """
    table = np.asarray(cells, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not (table >= 0).all() or table.sum() <= 0:
        raise ValueError(f"cells must be a square table of counts, not all 0; got {table.tolist()}")
    n = table.sum()
    p = table / n
    w = np.eye(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, chance = float((w * p).sum()), float(rows @ w @ columns)
    if 1 - chance <= 1e-12:
        raise ValueError(f"cells must have chance agreement below 1; got {table.tolist()}")
    means = (w @ columns)[:, None] + (rows @ w)[None, :]
    spread = (p * (w * (1 - chance) - means * (1 - observed)) ** 2).sum()
    variance = (spread - (observed * chance - 2 * chance + observed) ** 2) / (n * (1 - chance) ** 4)
    null = (np.outer(rows, columns) * (w - means) ** 2).sum() - chance**2
    null_variance = null / (n * (1 - chance) ** 2)
    # Both are variances; below 0 is rounding.
    return float(np.sqrt(max(variance, 0.0))), float(np.sqrt(max(null_variance, 0.0)))


def _two_raters(
    a: Any,
    b: ArrayLike | None,
    cluster: Sequence[Any] | None,
    categories: Sequence[Any] | None,
    missing_values: Iterable[str] | None,
) -> Ratings:
    if isinstance(a, ConfusionCounts):
        if missing_values is not None:
            raise ValueError(
                "missing_values must be left out with ConfusionCounts; got it, and nothing is missing"
            )
        return _of_confusion(a, b, cluster, categories)
    if b is None:
        if cluster is not None:
            raise ValueError("cluster must come with two vectors; ratings have their own")
        ratings = as_ratings(a, categories=categories, missing_values=missing_values)
    else:
        import pandas as pd

        first, second = (np.asarray(x, dtype=object) for x in (a, b))
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError(
                f"a and b must be as long as each other; got shapes {first.shape}, {second.shape}"
            )
        wide = pd.DataFrame({"a": first, "b": second})
        if cluster is not None:
            if len(cluster) != len(wide):
                raise ValueError(f"cluster must have one value per item ({len(wide)}); got {len(cluster)}")
            wide["cluster"] = list(cluster)
        ratings = as_ratings(wide, categories=categories, missing_values=missing_values)
    if ratings.n_raters != 2:
        raise ValueError(
            f"Cohen's kappa is of two raters; got {ratings.n_raters}. Choose two (ratings.of([a, b])) or use "
            "agreement() for all pairs"
        )
    return ratings


def _of_confusion(counts: ConfusionCounts, b: Any, cluster: Any, categories: Sequence[Any] | None) -> Ratings:
    if b is not None or cluster is not None:
        raise ValueError("b and cluster must be left out with ConfusionCounts; got one of them")
    whole = counts.matrix.astype(np.int64)
    if not np.array_equal(whole, counts.matrix):
        raise ValueError(f"counts must be whole numbers to be resampled; got {counts.matrix.tolist()}")
    codes = np.repeat(np.argwhere(whole >= 0), whole.ravel(), axis=0)
    ratings = Ratings(
        items=tuple(map(str, range(len(codes)))),
        raters=("truth", "vote"),
        categories=counts.labels,
        codes=codes,
        label=None,
        cluster=np.arange(len(codes)),
        cluster_names=tuple(map(str, range(len(codes)))),
    )
    return ratings if categories is None else as_ratings(ratings, categories=categories)
