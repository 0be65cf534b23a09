"""A coefficient of agreement with its interval: one shape and one way to the limits for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, choice, integer, probability
from d3stats.counts import ConfusionCounts
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.judges.ratings import Ratings, as_ratings
from d3stats.resampling import bootstrap_limits, cluster_t, cluster_totals, jackknife
from d3stats.resampling.clusters import FEW_CLUSTERS
from d3stats.resampling.proportions import share_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "cohen_kappa",
    "fleiss_cohen_everitt",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "percent_agreement",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
Kind = Literal["cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"]

KINDS = ("cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical")
_WORDS = {
    "cluster t": "cluster t",
    "jackknife t": "cluster jackknife t",
    "percentile": "bootstrap percentile",
    "basic": "bootstrap basic",
    "bca": "bootstrap BCa",
    "studentised": "bootstrap studentised",
    "classical": "t, items independent",
}
_WIDTH = 1e-10
"""What rounding leaves of no difference at all."""
ONE_CLUSTER = "one cluster: nothing says how clusters vary"


@dataclass(frozen=True, slots=True)
class How:
    """How an interval is to be made."""

    kind: Kind = "cluster t"
    level: float = 0.95
    n_boot: int = 10_000
    rng: RngLike = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        probability("level", self.level, open_interval=True)
        integer("n_boot", self.n_boot, minimum=1)


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement, and the share of agreement that it corrects.

    Attributes
    ----------
    estimate : Estimate
        The coefficient: 1 is perfect agreement, 0 what chance gives. Its p-value tests 0.
    share : Estimate
        Observed agreement in [0, 1]: mean over items of the share of their pairs of raters that agree (of the
        weight of these pairs, when weighted).
    chance : float or None
        The agreement that the coefficient expects by chance; None where it has no such number.
    measure : str
    raters : tuple of str
    categories : tuple of str
    weights : str
        "identity", "linear", "quadratic", "custom" or, for alpha, the metric.
    z : float or None
        Distance from 0 in standard errors under independence (items independent), where there is such a
        formula; its p-value is `p_independence`.
    p_independence : float or None
    notes : tuple of str
    """

    estimate: Estimate
    share: Estimate
    chance: float | None
    measure: str
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    weights: str = "identity"
    z: float | None = None
    p_independence: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> tuple[Estimate, Estimate]:
        """The coefficient and the share of agreement."""
        return self.estimate, self.share

    def __str__(self) -> str:
        lines = [str(self.estimate), str(self.share)]
        if self.chance is not None:
            lines.append(f"expected by chance: {self.chance:.3f}")
        if self.z is not None and self.p_independence is not None:
            lines.append(f"test of 0, items independent: z = {self.z:.2f}, p = {self.p_independence:.3g}")
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, as :func:`~d3stats.estimate.estimates_frame`."""
        return estimates_frame(self.estimates)

    def to_latex(self) -> str:
        """Return a booktabs tabular of the estimates."""
        return estimates_latex(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return {
            "measure": self.measure,
            "estimate": self.estimate.to_dict(),
            "share": self.share.to_dict(),
            "chance": self.chance,
            "weights": self.weights,
            "raters": list(self.raters),
            "categories": list(self.categories),
            "z": self.z,
            "p_independence": self.p_independence,
            "notes": list(self.notes),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficient with its interval."""
        from d3stats.plotting.kappa_forest import plot_agreement

        return plot_agreement(self.to_frame().iloc[:1], ax=ax)


def limits(
    names: tuple[str, ...],
    columns: Floats,
    statistic: Statistic,
    cluster: Codes,
    how: How,
    *,
    classical: bool = True,
    unlimited: str = "",
    share: tuple[int, Floats, Floats],
) -> tuple[Estimate, ...]:
    """Return a coefficient and shares, the first values of a statistic of sums over items, one Estimate per name.

    Parameters
    ----------
    names : tuple of str
        What the first values of the statistic are; values beyond the names are not reported.
    columns : ndarray of float, shape (items, q)
        What is summed.
    cluster : ndarray of int64, shape (items,)
    how : How
        With "classical" every item is its own cluster.
    classical : bool
        Whether "classical" limits are made here; otherwise the caller makes those of the first value.
    unlimited : str
        Why the first value has no interval whatever its clusters say; "" when it may have one.
    share : tuple of int, ndarray, ndarray
        Which name is the share of agreement, and by item its numerator and denominator: with "cluster t" its interval
        is that of every share, :func:`~d3stats.resampling.proportions.share_limits`.
    """
    n = len(columns)
    alone = how.kind == "classical"
    totals = columns if alone else cluster_totals(columns, cluster)
    n_clusters = None if alone else len(totals)
    p = len(names)

    def first(sums: Floats) -> Floats:
        return statistic(sums)[:, :p]

    values = first(columns.sum(axis=0, keepdims=True))[0]
    shape: dict[str, Any] = {"n": n, "level": how.level, "kind": _WORDS[how.kind], "n_clusters": n_clusters}
    if len(totals) < 2:
        return tuple(
            Estimate(name=name, value=float(v), low=None, high=None, note=ONE_CLUSTER, **shape)
            for name, v in zip(names, values, strict=True)
        )
    linear = cluster_t(totals, first, level=how.level)
    se, low, high, why, note = linear.se, linear.low, linear.high, linear.reasons, ""
    if how.kind == "jackknife t":
        se, low, high = _jackknife_t(totals, first, values, linear.df, how.level)
    elif how.kind != "cluster t" and how.kind != "classical":
        drawn = bootstrap_limits(
            totals, first, kind=how.kind, level=how.level, n_boot=how.n_boot, rng=how.rng
        )
        se, low, high, why, note = drawn.se, drawn.low, drawn.high, drawn.reasons, drawn.note
    if not note and n_clusters is not None and n_clusters < FEW_CLUSTERS:
        note = f"only {n_clusters} clusters"
    found = []
    for j, name in enumerate(names):
        reason = (unlimited if j == 0 else "") or why[j]
        if not reason and not (np.isfinite(low[j]) and np.isfinite(high[j])):
            reason = "undefined when a cluster is left out"
        elif not reason and high[j] - low[j] < _WIDTH:
            reason = "every cluster gives the same: nothing says how clusters vary"
        some = not reason
        found.append(
            Estimate(
                name=name,
                value=float(values[j]) if abs(values[j]) > _WIDTH else 0.0,
                # Limits on the line may leave the range of a coefficient or of a share.
                low=float(max(low[j], min(-1.0, values[j]) if j == 0 else 0.0)) if some else None,
                high=float(min(high[j], 1.0)) if some else None,
                se=float(se[j]) if some and np.isfinite(se[j]) else None,
                p_value=float(linear.p_value[j]) if some and j == 0 else None,
                note=reason or note,
                **shape,
            )
        )
    if how.kind == "cluster t":
        at, above, below = share
        of_clusters = cluster_totals(np.column_stack([above, below]), cluster)
        own = share_limits(of_clusters[:, 0], of_clusters[:, 1], how.level)
        found[at] = replace(
            found[at], p_value=None, low=own.low, high=own.high, se=own.se, kind=own.kind, note=own.note
        )
    return tuple(found)


def _jackknife_t(
    totals: Floats, statistic: Statistic, values: Floats, df: int, level: float
) -> tuple[Floats, Floats, Floats]:
    from scipy import special

    without = jackknife(totals, statistic)
    n = len(totals)
    se = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    half = float(special.stdtrit(df, (1 + level) / 2)) * se
    return se, values - half, values + half


def normal_limits(made: Estimate, se: float, level: float, kind: str) -> Estimate:
    """Put limits by a standard error and the normal law in an estimate."""
    from scipy import special

    half = float(special.ndtri((1 + level) / 2)) * se
    low, high = max(made.value - half, -1.0), min(made.value + half, 1.0)
    return replace(made, se=se, low=low, high=high, kind=kind)


def two_sided(z: float) -> float:
    """Return the two-sided p-value of a standard normal."""
    from scipy import special

    return float(2 * special.ndtr(-abs(z)))


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
