"""Cohen's and Fleiss' kappa, Gwet's AC1 and AC2, Krippendorff's alpha and the share of agreement, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, choice, integer, probability
from d3stats._words import counted, verb
from d3stats.counts import ConfusionCounts
from d3stats.estimate import Estimate
from d3stats.inference.judges.labelled import fieller
from d3stats.inputs.ratings import Ratings
from d3stats.note import Note, warning
from d3stats.resampling import (
    FEW_CLUSTERS,
    ONE_CLUSTER,
    ClusterT,
    Statistic,
    bootstrap_limits,
    cluster_t,
    cluster_totals,
    left_out_error,
    share_limits,
)
from d3stats.resampling.clusters import column_scale, gradient
from d3stats.resampling.degrees import mean_error
from d3stats.result import EstimatesResult
from d3stats.sources import Reading, open
from d3stats.sources.ratings import as_ratings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PANEL",
    "Coefficient",
    "How",
    "Kind",
    "Metric",
    "agreement_weights",
    "cohen_kappa",
    "fleiss_cohen_everitt",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "percent_agreement",
]

Codes = NDArray[np.int64]
Kind = Literal["cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"]
Metric = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = str | ArrayLike | None

INDEPENDENT = "t, items independent"
NAMED = ("identity", "linear", "quadratic")
_ROUNDING = 1e-10
FEW_OTHER = 3
"""With fewer clusters that most raters put in another category than the commonest, kappa has no interval."""
_SAME = 1e-12
"""Chance agreement closer to 1 than this is 1: nothing is left to correct."""


@dataclass(frozen=True, slots=True)
class How:
    """Method of an interval: kind, level, and replicates and generator of the bootstrap kinds."""

    kind: Kind = "cluster t"
    level: float = 0.95
    n_boot: int = 10_000
    rng: RngLike = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, get_args(Kind))
        probability("level", self.level, open_interval=True)
        integer("n_boot", self.n_boot, minimum=1)


@dataclass(frozen=True, kw_only=True)
class Coefficient(EstimatesResult):
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
    weights : str
        "identity", "linear", "quadratic", "custom" or, for alpha, the metric.
    z : float or None
        Distance from 0 in standard errors under independence (items independent), where there is such a
        formula; its p-value is `p_independence`.
    p_independence : float or None

    Examples
    --------
    >>> from d3stats.inference import fleiss_kappa
    >>> found = fleiss_kappa(pd.DataFrame({"a": [1, 1, 0, 0], "b": [1, 1, 0, 1], "c": [0, 1, 0, 0]}))
    >>> found.measure, round(found.share.value, 3), round(found.chance, 3)
    ("Fleiss' kappa", 0.667, 0.5)
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
    _json = ("measure", "estimate", "share", "chance", "weights", "raters", "categories", "z", "p_independence",
             "notes")  # fmt: skip

    @property
    def estimates(self) -> tuple[Estimate, Estimate]:
        """The coefficient and the share of agreement."""
        return self.estimate, self.share

    def _remarks(self) -> list[str]:
        lines = [] if self.chance is None else [f"expected by chance: {self.chance:z.3f}"]
        if self.z is not None and self.p_independence is not None:
            lines.append(f"test of 0, items independent: z = {self.z:z.2f}, p = {self.p_independence:.3g}")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficient with its interval."""
        from d3stats.plotting.intervals import plot_agreement

        return plot_agreement(self.to_frame().iloc[:1], ax=ax)


def cohen_kappa(
    a: Any,
    b: ArrayLike | None = None,
    *,
    weights: Weights = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    cluster: Sequence[Any] | None = None,
    categories: Sequence[Any] | None = None,
    **reading: Unpack[Reading],
) -> Coefficient:
    r"""Compute Cohen's kappa of two raters, weighted or not, with an interval over clusters of items.

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
        What a pair of categories counts as agreement (1 on the diagonal). "linear" is one minus the distance over
        the greatest distance, "quadratic" one minus its square. The distance of numbers is their difference; other
        categories are a step apart in their order. A table is of the categories that occur, or of `categories`.
    kind : {"cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"}
        "classical" takes items as independent: the normal interval with Fleiss, Cohen and Everitt's error (1969).
        "cluster t" gives limits of a ratio (Fieller, 1954). It has fewer degrees of freedom where a few items
        make up most of the error.
    level : float
        Coverage aimed at.
    n_boot, rng : int; Generator, int or None
        Replicates and generator of the bootstrap kinds.
    cluster : sequence, optional
        What each item of two vectors belongs to; by default every item is its own cluster.
    categories : sequence, optional
        All categories in their order, including those that no rater chose; by default those that occur.
    **reading : Reading
        How `a` is read, see :func:`d3stats.open`; of vectors only ``missing_values``.

    Returns
    -------
    Coefficient
        `z` and `p_independence` test 0 with the null error of Fleiss, Cohen and Everitt. Where one rater always
        gives the same category, kappa is 0 at any agreement, and has no interval.

    Raises
    ------
    ValueError
        When there are not two raters, no item was judged by both, or both always say the same one category.

    References
    ----------
    Cohen (1960, 1968). Fleiss, Cohen and Everitt (1969), Psychological Bulletin 72, 323.

    Examples
    --------
    >>> result = cohen_kappa(ConfusionCounts(("A", "B"), np.array([[20.0, 5.0], [10.0, 15.0]])), kind="classical")
    >>> print(result)
    Cohen's kappa, truth and vote: 0.400 [0.151, 0.649] (95 % Fleiss-Cohen-Everitt, n = 50)
    share of agreement: 0.700 [0.568, 0.832] (95 % t, items independent, n = 50)
    expected by chance: 0.500
    test of 0, items independent: z = 2.89, p = 0.00389
    """
    how = How(kind, level, n_boot, rng)
    ratings = _two_raters(a, b, cluster, categories, reading)
    both = np.all(ratings.codes >= 0, axis=1)
    first, second = ratings.raters
    if not both.any():
        raise ValueError(
            f"Cohen's kappa needs items that both raters judged; got none for {first!r} and {second!r}"
        )
    kept = _compared(ratings, both, weights)
    name, table = agreement_weights(weights, kept)
    _refuse_constant(kept, "Cohen's kappa")
    one, two = kept.codes.T
    unit = np.eye(len(kept.categories))
    agree = table[one, two]
    sums = Sums(np.column_stack([agree, unit[one], unit[two]]), pair_statistic(table), kept.cluster, agree)
    constant = [rater for rater, codes in ((first, one), (second, two)) if (codes == codes[0]).all()]
    why = (
        f"{constant[0]!r} gives one answer only, so kappa is 0 for any agreement" if constant else _rare(kept)
    )
    made = _measured("Cohen's kappa", kept, sums, how, name, raters=kept.raters, unlimited=why)
    cells = np.zeros((len(unit), len(unit)))
    np.add.at(cells, (one, two), 1.0)
    se, null_se = fleiss_cohen_everitt(cells, table)
    made = _tested(made, null_se if null_se > 0 and not constant else None)
    estimate = made.estimate
    if kind == "classical" and estimate.low is not None:
        half = float(scipy.special.ndtri((1 + level) / 2)) * se
        low, high = max(estimate.value - half, -1.0), min(estimate.value + half, 1.0)
        estimate = replace(estimate, se=se, low=low, high=high, kind="Fleiss-Cohen-Everitt")
        estimate = replace(estimate, p_value=made.p_independence)
    return replace(_less(made, ratings, kept, "not judged by both"), estimate=estimate)


def fleiss_kappa(
    ratings: Any,
    *,
    weights: Weights = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
    **reading: Unpack[Reading],
) -> Coefficient:
    r"""Compute Fleiss' kappa of all raters, weighted or not, with an interval over clusters of items.

    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
              \bar P = \frac1N \sum_i \sum_j \frac{n_{ij} (n_{ij} - 1)}{m_i (m_i - 1)}, \quad
              \bar P_e = \sum_j \Bigl(\frac1N \sum_i \frac{n_{ij}}{m_i}\Bigr)^2

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
        The ratings: one label of each rater for each item.
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        What a pair of categories counts as agreement; see :func:`cohen_kappa`.
    kind, level, n_boot, rng
        As for :func:`cohen_kappa`; "classical" is the linearised error with items independent (Gwet, 2014), t limits.
    categories : sequence, optional
        As for :func:`as_ratings`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Coefficient
        `z` and `p_independence` are of the null error of Fleiss, Nee and Landis (1979), where every item has the
        same number of raters and there are no weights.

    Raises
    ------
    ValueError
        When no item has two raters, or all ratings are one category.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76, 378. Gwet (2014), Handbook of Inter-Rater Reliability (items with
    different numbers of raters).

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": list("AABBC"), "y": list("AABCC"), "z": list("ABBBC")})
    >>> print(fleiss_kappa(votes).estimate)
    Fleiss' kappa: 0.595 [-0.185, 1.000] (95 % cluster t, n = 5 in 5 clusters)
    """
    read = _paired(ratings, categories, "Fleiss' kappa", reading)
    _refuse_constant(read, "Fleiss' kappa")
    how = How(kind, level, n_boot, rng)
    made = panel_coefficient(read, "Fleiss' kappa", weights, _fleiss_chance, how, unlimited=_rare(read))
    return _tested(made, _null_error(read.counts) if made.weights == "identity" else None)


def gwet_ac(
    ratings: Any,
    *,
    weights: Weights = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
    **reading: Unpack[Reading],
) -> Coefficient:
    r"""Compute Gwet's AC1 of all raters, or AC2 with weights, with an interval over clusters of items.

    .. math:: \mathrm{AC} = \frac{p_a - p_e}{1 - p_e}, \quad
              p_e = \frac{\sum_{kl} w_{kl}}{K (K - 1)} \sum_k \pi_k (1 - \pi_k)

    with :math:`\pi_k` the mean over items of the share of raters who chose k, and K the categories that a rater chose,
    or those in `categories`.

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
        The ratings: one label of each rater for each item.
    weights : {"identity", "linear", "quadratic"} or array_like of shape (categories, categories)
        "identity" is AC1, anything else AC2; see :func:`cohen_kappa`.
    kind, level, n_boot, rng
        As for :func:`cohen_kappa`; "classical" is the error of Gwet (2008), items independent, with t limits. Where
        some items have one rater it takes the number of the others as random; Gwet's formula takes it as fixed and
        is larger.
    categories : sequence, optional
        Every category that could have been chosen; K depends on it.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Coefficient

    Raises
    ------
    ValueError
        When no item has two raters, or there is one category only.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": ["A"] * 19 + ["B"], "y": ["A"] * 18 + ["B", "A"]})
    >>> print(gwet_ac(votes).estimate)
    Gwet's AC1: 0.890 [0.499, 1.000] (95 % cluster t, n = 20 in 20 clusters)
    """
    read = _paired(ratings, categories, "Gwet's coefficient", reading).occurring()
    if len(read.categories) < 2:
        needed = "at least two possible categories (categories=..., --categories)"
        raise ValueError(f"Gwet's coefficient needs {needed}; got only {read.categories[0]!r}")
    plain = weights is None or (isinstance(weights, str) and weights == "identity")
    made = panel_coefficient(
        read, f"Gwet's AC{1 if plain else 2}", weights, _gwet_chance, How(kind, level, n_boot, rng)
    )
    used, known = int(read.counts.any(axis=0).sum()), len(read.categories)
    if used == known:
        return made
    among = f"chance agreement is over the {known} categories named as possible; {used} of them occur"
    return replace(made, notes=(*made.notes, Note(among, kind="categories", n=known)))


def krippendorff_alpha(
    ratings: Any,
    *,
    metric: Metric = "nominal",
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
    **reading: Unpack[Reading],
) -> Coefficient:
    r"""Compute Krippendorff's alpha of all raters, with an interval over clusters of items.

    .. math:: \alpha = 1 - (n - 1)
              \frac{\sum_u \frac{1}{m_u - 1} \sum_{c < k} n_{uc} n_{uk} \delta^2_{ck}}
              {\sum_{c < k} n_c n_k \delta^2_{ck}}

    over items u with :math:`m_u \ge 2` ratings, n of them in all.

    Parameters
    ----------
    ratings : Ratings or anything that :func:`as_ratings` reads
        The ratings: one label of each rater for each item.
    metric : {"nominal", "ordinal", "interval", "ratio"}
        How far two categories are apart: all alike; by how many ratings lie between them; by their numbers, squared;
        by their numbers relative to their sum, squared.
    kind, level, n_boot, rng
        As for :func:`cohen_kappa`; "classical" takes items as independent.
    categories : sequence, optional
        The order of the categories, which "ordinal" needs where they are no numbers.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Coefficient
        `share` is the mean share of agreeing pairs over the items that can be paired, for every metric;
        `chance` is given for "nominal" alone.

    Raises
    ------
    ValueError
        When no item has two ratings, all that can be paired are of one category, or a metric needs numbers and the
        categories are none.

    References
    ----------
    Krippendorff (1970, 2011).

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": [1, 2, 3, 3, None, 4], "y": [1, 2, 3, 4, 2, 4], "z": [None, 2, 3, 3, 2, 5]})
    >>> round(krippendorff_alpha(votes, metric="interval").estimate.value, 3)
    0.901
    """
    choice("metric", metric, get_args(Metric))
    how = How(kind, level, n_boot, rng)
    measure = "Krippendorff's alpha"
    read = _paired(ratings, categories, measure, reading)
    kept = read.where(read.counts.sum(axis=1) > 1).occurring()
    _refuse_constant(kept, measure)
    counts = kept.counts.astype(np.float64)
    raters = counts.sum(axis=1)
    share = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    columns, disagreement = (_ordinal if metric == "ordinal" else _by_distance)(kept, counts, metric)
    width = columns.shape[1]

    def statistic(sums: Floats) -> Floats:
        within, between = disagreement(sums[:, :width], sums[:, width + 2 :])
        n = sums[:, width + 2 :].sum(axis=1)
        value, chance = np.full((2, len(sums)), np.nan)
        np.divide((n - 1) * within, between, out=value, where=between > 0)
        np.divide(2 * between, n * (n - 1), out=chance, where=n > 1)
        return np.column_stack([1 - value, sums[:, width] / sums[:, width + 1], 1 - chance])

    table = np.column_stack([columns, share, np.ones(len(counts)), counts])
    made = _measured(
        measure, kept, Sums(table, statistic, kept.cluster, share), how, metric, unlimited=_rare(kept)
    )
    made = made if metric == "nominal" else replace(made, chance=None)
    return _less(made, read, kept, "fewer than two raters")


def percent_agreement(
    ratings: Any,
    *,
    weights: Weights = None,
    kind: Kind = "cluster t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    categories: Sequence[Any] | None = None,
    **reading: Unpack[Reading],
) -> Coefficient:
    """Compute the share of pairs of raters that agree, averaged over items, with an interval over clusters of items.

    Chance is not corrected for: two judges who always say "A" agree on everything.

    Parameters
    ----------
    ratings, weights, kind, level, n_boot, rng, categories
        As for :func:`fleiss_kappa`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Coefficient

    Raises
    ------
    ValueError
        When no item has two raters.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"x": list("AABB"), "y": list("AABA")})
    >>> print(percent_agreement(votes).estimate)
    share of agreement: 0.750 [0.194, 0.984] (95 % cluster Wilson, n = 4 in 4 clusters)
    """
    how = How(kind, level, n_boot, rng)
    read = _paired(ratings, categories, "the share of agreement", reading)
    kept = _compared(read, read.counts.sum(axis=1) > 1, weights)
    name, table = agreement_weights(weights, kept)
    agree = _panel_columns(kept, table)[:, 0]

    def statistic(sums: Floats) -> Floats:
        share = sums[:, :1] / sums[:, 1:]
        return np.column_stack([share, share, np.zeros(len(sums))])

    sums = Sums(np.column_stack([agree, np.ones(len(agree))]), statistic, kept.cluster, agree)
    made = _measured("share of agreement", kept, sums, how, name)
    return _less(replace(made, estimate=made.share, chance=None), read, kept, "fewer than two raters")


class Panel(NamedTuple):
    """A coefficient of all raters: its title, its function, and which setting says what counts as agreement."""

    title: str
    of: Callable[..., Coefficient]
    setting: Literal["weights", "metric"] = "weights"


PANEL = {
    "fleiss": Panel("Fleiss' kappa", fleiss_kappa),
    "alpha": Panel("Krippendorff's alpha", krippendorff_alpha, "metric"),
    "ac1": Panel("Gwet's AC1", gwet_ac),
    "share": Panel("share of agreement", percent_agreement),
}
"""The coefficients of a panel by the short names that :func:`~d3stats.inference.agreement` takes."""


@dataclass(frozen=True)
class Sums:
    """A coefficient as a function of sums over items: the columns to add up, shape (items, q), and the function.

    The function turns sums, shape (m, q), into the coefficient, observed and chance agreement, shape (m, 3).
    """

    columns: Floats
    statistic: Statistic
    cluster: Codes
    agree: Floats  # share of an item's pairs of raters that agree
    paired: Floats | None = None  # 1 where an item has a pair of raters, else 0; by default all have


def _measured(
    measure: str,
    ratings: Ratings,
    sums: Sums,
    how: How,
    weights: str,
    *,
    raters: Sequence[str] = (),
    unlimited: str = "",
) -> Coefficient:
    """Return a coefficient with its interval; `unlimited` says why it has none, whatever the clusters say."""
    _, observed, chance = values = sums.statistic(sums.columns.sum(axis=0, keepdims=True))[0]
    if not np.isfinite(values[0]):
        raise ValueError(f"{measure} is undefined where chance agreement is 1; got {weights!r} weights")
    paired = np.ones(len(sums.agree)) if sums.paired is None else sums.paired
    n_paired = int(paired.sum())
    if observed == 1:
        unlimited = (
            f"all {counted(n_paired, 'item')} with two raters agree, so the rate of disagreement is unknown"
        )
    scale = weights if weights in get_args(Metric) else f"{weights} weights"
    label = measure if weights in ("identity", "nominal") else f"{measure} ({scale})"
    label += f", {raters[0]} and {raters[1]}" if raters else ""
    estimate, share = _limits((label, "share of agreement"), values, sums, how, unlimited)
    if how.kind == "cluster t" and estimate.n_clusters != 1:
        totals = cluster_totals(np.column_stack([sums.agree, paired]), sums.cluster)
        own = share_limits(totals[:, 0], totals[:, 1], how.level)
        share = replace(share, low=own.low, high=own.high, se=own.se, kind=own.kind, note=own.note)
    notes = (*ratings.notes, *_order_note(weights, ratings))
    return Coefficient(estimate=estimate, share=replace(share, n=n_paired), chance=float(chance), measure=measure,
                       raters=ratings.raters, categories=ratings.categories, weights=weights, notes=notes)  # fmt: skip


def _limits(
    names: tuple[str, str], values: Floats, sums: Sums, how: How, unlimited: str
) -> tuple[Estimate, Estimate]:
    """Return the first two values of a statistic, the coefficient and the share, as estimates."""
    alone = how.kind == "classical"
    totals = sums.columns if alone else cluster_totals(sums.columns, sums.cluster)
    n_clusters = None if alone else len(totals)
    one, two = (
        Estimate(name=name, value=float(value) if abs(value) > _ROUNDING else 0.0, low=None, high=None, level=how.level,
                 kind=INDEPENDENT if alone else how.kind, n=len(sums.columns), n_clusters=n_clusters, note=ONE_CLUSTER)
        for name, value in zip(names, values[:2], strict=True)
    )  # fmt: skip
    if len(totals) < 2:
        return one, two

    def first(x: Floats) -> Floats:
        return sums.statistic(x)[:, :2]

    error: Any = "jackknife" if how.kind == "jackknife t" else "linearised"
    items = (
        np.ones(len(totals)) if alone else cluster_totals(np.ones((len(sums.cluster), 1)), sums.cluster)[:, 0]
    )
    linear = cluster_t(totals, first, level=how.level, error=error, weights=items)
    found: Any = linear
    note = ""
    if how.kind in ("percentile", "basic", "bca", "studentised"):
        kind: Any = how.kind
        found = bootstrap_limits(totals, first, kind=kind, level=how.level, n_boot=how.n_boot, rng=how.rng)
        note = found.note
    if not note and n_clusters is not None and n_clusters < FEW_CLUSTERS:
        note = f"only {counted(n_clusters, 'cluster')}"
    made = []
    for j, estimate in enumerate((one, two)):
        why = (unlimited if j == 0 else "") or found.reasons[j]
        low, high = (None, None) if why else found.interval(j)
        p = float(linear.p_value[j]) if j == 0 and not why else None
        if j == 0 and not why and how.kind in ("cluster t", "classical"):
            low, high, p, why = _corrected_limits(totals, sums, linear, how)
        if low is not None and high is not None:
            # Limits on the line may leave the range of a coefficient or of a share.
            low, high = max(low, min(-1.0, estimate.value) if j == 0 else 0.0), min(high, 1.0)
        se = None if why else float(found.se[j])
        made.append(replace(estimate, low=low, high=high, se=se, p_value=p, note=why or note))
    return made[0], made[1]


def _corrected_limits(
    totals: Floats, sums: Sums, linear: ClusterT, how: How
) -> tuple[float | None, float | None, float | None, str]:
    """Return limits and p-value of (observed - chance) / (1 - chance) as a ratio, or why there are none.

    The limits are the values k for which observed - chance - k (1 - chance) is within t errors of 0 (Fieller, 1954).
    The error is that of the coefficient at its value. Where a few clusters make up most of it, degrees of freedom are
    Satterthwaite's, 2 / CV^2 of the squared influences. The part of the error that comes from the observed share of
    disagreement is as large on either side as the limits of this share are away. With few disagreements the share may
    be much larger than the observed one. Without that, limits of a kappa of .92 held .90 with 102 items and .74 to .85
    with unequal clusters.
    """

    def ratio(x: Floats) -> Floats:
        values = sums.statistic(x)
        return np.column_stack([values[:, 0] * (1 - values[:, 2]), 1 - values[:, 2]])

    whole, times = totals.sum(axis=0), np.ones(len(totals), dtype=np.int64)
    above, below = ratio(whole[None])[0].tolist()
    slope = gradient(ratio, whole[None], column_scale(totals, times), fine=True)[0]
    influence = (totals - whole / len(totals)) @ slope
    away = influence @ [1.0, -above / below]
    size = float(away @ away)
    products = influence.T @ influence * (float(linear.se[0]) * below) ** 2 / size
    variation = float((away**4).sum()) / size**2 - 1 / len(totals)
    df = float(linear.df[0])
    df = min(df, max(2.0, 2 / variation)) if variation > 0 else df
    t = float(scipy.special.stdtrit(df, (1 + how.level) / 2))
    if below**2 <= t**2 * products[1, 1]:
        return None, None, None, "the disagreement expected by chance is not known to be above 0"
    reaches = _reaches(sums, how)

    def sides(t: float) -> list[Floats]:
        """Return the products of errors towards the lower limit and towards the upper one."""
        # What is above is expected less observed disagreement, and the latter alone counts for more or less.
        mixed = (np.array([[longer, 1 - longer], [0.0, 1.0]]) for longer in reaches(t))
        return [mix @ products @ mix.T for mix in mixed]

    ends = [fieller(above, below, own[0, 0], own[0, 1], own[1, 1], t) for own in sides(t)]

    def beyond(t: float) -> float:
        return float(abs(above) - t * np.sqrt(max(sides(t)[0 if above > 0 else 1][0, 0], 0.0)))

    return ends[0][0], ends[1][1], 2 * float(scipy.special.stdtr(df, -_root(beyond))), ""


def _root(falling: Callable[[float], float]) -> float:
    """Return where a function of a distance in errors falls below 0, at most 1e6."""
    from scipy.optimize import brentq

    low, high = 0.0, 1.0
    while falling(high) > 0 and high < 1e6:
        low, high = high, 2 * high
    return float(brentq(falling, low, high, xtol=1e-12)) if falling(high) <= 0 < falling(low) else low


def _reaches(sums: Sums, how: How) -> Callable[[float], tuple[float, float]]:
    """Return the function of t: how far limits of the share of disagreement are above and below, in t of its errors.

    They are Wilson's at as many trials as its error is worth, as an item of several raters is worth more than one
    trial. That error is the larger of two (:func:`~d3stats.resampling.degrees.mean_error`). Neither side is shorter
    than t errors: with Wilson's shorter side, Cohen's kappa held .92 where nine in ten ratings are alike.
    """
    paired = np.ones(len(sums.agree)) if sums.paired is None else sums.paired
    items, pairs = (paired - sums.agree)[paired > 0], paired[paired > 0]
    cluster = np.arange(len(items)) if how.kind == "classical" else sums.cluster[paired > 0]
    apart, sizes = cluster_totals(np.column_stack([items, pairs]), cluster).T
    share = float(items.mean())
    away, spread = apart - share * sizes, share * (1 - share)
    left_out = left_out_error(away / sizes.sum(), sizes) if len(sizes) > 1 else 0.0
    if left_out <= _ROUNDING or spread <= _ROUNDING:
        return lambda t: (1.0, 1.0)
    error = mean_error(away, sizes, float(items.var()))

    def reaches(t: float) -> tuple[float, float]:
        square = (t * error) ** 2 / spread
        half = error * float(np.sqrt(1 + square / (4 * spread)))
        centre = t * error**2 * (0.5 - share) / spread
        ends = (half + centre) / (1 + square) / left_out, (half - centre) / (1 + square) / left_out
        return max(1.0, ends[0]), max(1.0, ends[1])

    return reaches


def _rare(ratings: Ratings) -> str:
    """Return why kappa and alpha have no interval where nearly all items are of one category; "" where they are not."""
    counts = ratings.counts
    most = int(counts.sum(axis=0).argmax())
    other = 2 * counts[:, most] < counts.sum(axis=1)
    held = len(np.unique(ratings.cluster[other]))
    if held >= FEW_OTHER:
        return ""
    return (
        f"only {held} {'item' if held == 1 else 'items'} (clusters counted once) with another answer than "
        f"{ratings.categories[most]!r} from most raters; limits need {FEW_OTHER}"
    )


def panel_coefficient(
    ratings: Ratings, measure: str, weights: Weights, chance_of: Callable[[Floats, Floats], Floats], how: How,
    *, unlimited: str = "",
) -> Coefficient:  # fmt: skip
    """Return a coefficient (observed - chance) / (1 - chance) of all raters.

    `chance_of` makes of category shares, shape (m, K), and weights, shape (K, K), the chance agreement, shape (m,).
    """
    kept = _compared(ratings, ratings.counts.sum(axis=1) > 0, weights)
    name, table = agreement_weights(weights, kept)
    columns = _panel_columns(kept, table)

    def statistic(x: Floats) -> Floats:
        return _corrected(x[:, 0] / x[:, 1], chance_of(x[:, 3:] / x[:, 2:3], table))

    sums = Sums(columns, statistic, kept.cluster, columns[:, 0], columns[:, 1])
    made = _measured(measure, kept, sums, how, name, unlimited=unlimited)
    if single := len(columns) - int(columns[:, 1].sum()):
        one = f"{counted(single, 'item')} with one rater {verb(single, 'counts', 'count')}"
        note = f"{one} for the categories and not for the agreement"
        made = replace(made, notes=(*made.notes, note))
    return _less(made, ratings, kept, "no rater judged them")


def _panel_columns(ratings: Ratings, weights: Floats) -> Floats:
    """Return the sums of a panel, shape (items, 3 + K); every item must have a rating.

    Columns: the item's mean weight over pairs of raters (0 with one rater), whether it has a pair, 1, and the
    share of its raters in each category. Items count alike, however many raters they have (Gwet, 2014).
    """
    counts = ratings.counts.astype(np.float64)
    raters = counts.sum(axis=1)
    paired = raters > 1
    agree = (counts * (counts @ weights - 1)).sum(axis=1)
    share = np.divide(agree, raters * (raters - 1), out=np.zeros(len(counts)), where=paired)
    return np.column_stack([share, paired, np.ones(len(counts)), counts / raters[:, None]])


def _fleiss_chance(shares: Floats, weights: Floats) -> Floats:
    return np.asarray(np.einsum("mi,ij,mj->m", shares, weights, shares))


def _gwet_chance(shares: Floats, weights: Floats) -> Floats:
    k = len(weights)
    return np.asarray(weights.sum() / (k * (k - 1)) * (shares * (1 - shares)).sum(axis=1))


def pair_statistic(weights: Floats) -> Statistic:
    """Return Cohen's kappa, observed and chance agreement as a function of sums over items.

    Columns: weight of the item's pair of categories; indicators of the first rater's category (K), of the second's (K).
    """
    k = len(weights)

    def statistic(sums: Floats) -> Floats:
        first, second = sums[:, 1 : k + 1], sums[:, k + 1 :]
        n = first.sum(axis=1)
        return _corrected(sums[:, 0] / n, np.einsum("mi,ij,mj->m", first, weights, second) / n**2)

    return statistic


def _corrected(observed: Floats, chance: Floats) -> Floats:
    """Return (observed - chance) / (1 - chance), observed and chance, shape (m, 3); NaN where chance is 1."""
    left = 1 - chance
    value = np.full(observed.shape, np.nan)
    np.divide(observed - chance, left, out=value, where=left > _SAME)
    return np.column_stack([value, observed, chance])


Disagreement = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Sums of own columns and of ratings per category to disagreement within items and between all ratings."""


def _by_distance(ratings: Ratings, counts: Floats, metric: Metric) -> tuple[Floats, Disagreement]:
    """Return the within-item disagreement of a metric whose distances do not depend on the ratings."""
    distance = _distances(ratings, metric)
    within = (counts * (counts @ distance)).sum(axis=1) / 2 / (counts.sum(axis=1) - 1)

    def disagreement(own: Floats, total: Floats) -> tuple[Floats, Floats]:
        return own[:, 0], np.einsum("mi,ij,mj->m", total, distance, total) / 2

    return within[:, None], disagreement


def _ordinal(ratings: Ratings, counts: Floats, metric: Metric) -> tuple[Floats, Disagreement]:
    """Return coincidences of each pair of different categories; their ordinal distances are made of all ratings."""
    low, high = np.triu_indices(counts.shape[1], 1)

    def disagreement(own: Floats, total: Floats) -> tuple[Floats, Floats]:
        # Half of an end's own ratings lie on either side of its middle.
        middle = np.cumsum(total, axis=1) - total / 2
        within = (own * (middle[:, high] - middle[:, low]) ** 2).sum(axis=1)
        n = total.sum(axis=1)
        return within, n * (total * middle**2).sum(axis=1) - (total * middle).sum(axis=1) ** 2

    return counts[:, low] * counts[:, high] / (counts.sum(axis=1) - 1)[:, None], disagreement


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
    return np.divide(apart, together, out=np.zeros((n, n)), where=together > 0) ** 2


def is_table(weights: Weights) -> bool:
    """Whether weights are a table and no name."""
    return not (weights is None or isinstance(weights, str))


def _compared(ratings: Ratings, items: NDArray[np.bool_], weights: Weights) -> Ratings:
    """Keep items, and of categories that the caller did not name those that occur; a table of weights is of all."""
    return ratings.occurring().where(items) if is_table(weights) else ratings.where(items).occurring()


def agreement_weights(weights: Weights, ratings: Ratings) -> tuple[str, Floats]:
    """Return the name and the table of what each pair of categories counts as agreement, 1 on the diagonal.

    Numbers are apart by their difference, other categories by the steps between them.
    """
    categories = ratings.categories
    n = len(categories)
    if weights is None or isinstance(weights, str):
        name = "identity" if weights is None else weights
        if name not in NAMED:
            raise ValueError(f"weights must be one of {list(NAMED)} or a table; got weights={weights!r}")
        if name == "identity":
            return name, np.eye(n)
        at = ratings.values() if ratings.is_numeric else np.arange(n, dtype=np.float64)
        away = np.abs(np.subtract.outer(at, at))
        away /= away.max() or 1.0
        return name, 1 - away ** (1 if name == "linear" else 2)
    table = np.asarray(weights, dtype=np.float64)
    if table.shape != (n, n):
        needed = f"a table of {n} x {n} for the categories {list(categories)}"
        raise ValueError(f"weights must be {needed}; got shape {table.shape}")
    inside = bool(((table >= 0) & (table <= 1)).all())
    if not inside or not np.array_equal(table, table.T) or not (np.diag(table) == 1).all():
        raise ValueError(
            "weights must give the credit of each pair of categories: symmetric, within [0, 1], 1 on the "
            "diagonal; "
            f"got {table.tolist()}"
        )
    return "custom", table


def _order_note(weights: str, ratings: Ratings) -> tuple[str, ...]:
    """Say in which order the categories are taken, where they are no numbers; warn where nobody gave the order."""
    if weights not in ("linear", "quadratic", "ordinal") or ratings.is_numeric:
        return ()
    what = "categories are taken" if weights == "ordinal" else f"{weights} weights take the categories"
    said = f"{what} in the order {', '.join(ratings.categories)}"
    if ratings.declared or len(ratings.categories) < 3:
        return (said,)
    advice = "which is that of letters; name all in order with categories= (--categories)"
    return (warning(f"{said}, {advice}", "order of categories"),)


def _less(made: Coefficient, ratings: Ratings, kept: Ratings, why: str) -> Coefficient:
    """Note how many items were left out; "no rater judged them" where that is the whole reason."""
    lost = ratings.n_items - kept.n_items
    silent = int((ratings.counts.sum(axis=1) == 0).sum())
    note = f"{lost} of {ratings.n_items} items left out: {'no rater judged them' if lost == silent else why}"
    return replace(made, notes=(*made.notes, note)) if lost else made


def _tested(made: Coefficient, null_se: float | None) -> Coefficient:
    """Add the test of 0 with the error under independence, where there is one."""
    if null_se is None:
        return made
    z = made.estimate.value / null_se
    return replace(made, z=z, p_independence=float(2 * scipy.special.ndtr(-abs(z))))


def _paired(ratings: Any, categories: Sequence[Any] | None, measure: str, reading: Reading) -> Ratings:
    """Read ratings that need an item with two raters."""
    return need_pairs(as_ratings(ratings, categories=categories, **reading), measure)


def need_pairs(ratings: Ratings, measure: str) -> Ratings:
    """Refuse ratings without an item that two raters judged."""
    if not (ratings.counts.sum(axis=1) > 1).any():
        size = f"{ratings.n_items} items and {ratings.n_raters} raters"
        raise ValueError(f"{measure} needs an item that two raters judged; got none among {size}")
    return ratings


def _refuse_constant(ratings: Ratings, measure: str) -> None:
    used = np.flatnonzero(ratings.counts.sum(axis=0))
    if len(used) == 1:
        raise ValueError(
            f"{measure} is undefined where all ratings are one category; got only "
            f"{ratings.categories[int(used[0])]!r}. Report the share of agreement (1.000), or Gwet's AC1 "
            "over all possible categories (categories=..., --categories)"
        )


def fleiss_cohen_everitt(cells: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float]:
    """Compute the standard errors of Cohen's kappa, at its value and under kappa = 0, for independent items.

    Fleiss, Cohen and Everitt (1969), equations 8 and 9 with weights, 13 and 14 without.

    Parameters
    ----------
    cells : array_like of float, shape (K, K)
        How many items got each pair of categories.
    weights : array_like of float, shape (K, K), optional
        What each pair counts as agreement; by default the identity.

    Returns
    -------
    tuple of float

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
    if 1 - chance <= _SAME:
        raise ValueError(f"cells must have chance agreement below 1; got {table.tolist()}")
    means = (w @ columns)[:, None] + (rows @ w)[None, :]
    spread = (p * (w * (1 - chance) - means * (1 - observed)) ** 2).sum()
    variance = (spread - (observed * chance - 2 * chance + observed) ** 2) / (n * (1 - chance) ** 4)
    null = (np.outer(rows, columns) * (w - means) ** 2).sum() - chance**2
    null_variance = null / (n * (1 - chance) ** 2)
    # Both are variances; below 0 is rounding.
    return float(np.sqrt(max(variance, 0.0))), float(np.sqrt(max(null_variance, 0.0)))


def _null_error(counts: Codes) -> float | None:
    """Return the error of Fleiss' kappa under independence, None where items differ in their number of raters."""
    raters = counts.sum(axis=1)
    raters, used = raters[raters > 0], counts[raters > 0]
    if len(np.unique(raters)) > 1:
        return None
    m, n = int(raters[0]), len(raters)
    p = used.sum(axis=0) / (n * m)
    spread = p * (1 - p)
    variance = 2 / (n * m * (m - 1)) * (spread.sum() ** 2 - (spread * (1 - 2 * p)).sum()) / spread.sum() ** 2
    return float(np.sqrt(variance)) if variance > 0 else None


def _two_raters(
    a: Any,
    b: ArrayLike | None,
    cluster: Sequence[Any] | None,
    categories: Sequence[Any] | None,
    reading: Reading,
) -> Ratings:
    if isinstance(a, ConfusionCounts):
        open(a, **reading)  # refuses settings of reading, because counts are not read
        if b is not None or cluster is not None:
            raise ValueError("b and cluster must be left out with ConfusionCounts; got one of them")
        return _of_confusion(a, categories)
    if b is None:
        if cluster is not None:
            raise ValueError("cluster must come with two vectors; ratings have their own")
        ratings = as_ratings(a, categories=categories, **reading)
    else:
        first, second = (np.asarray(x, dtype=object) for x in (a, b))
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError(f"a and b must have the same length; got shapes {first.shape}, {second.shape}")
        open(first, **reading)  # refuses what does not apply to a vector
        wide = pd.DataFrame({"a": first, "b": second})
        if cluster is not None:
            if len(cluster) != len(wide):
                raise ValueError(f"cluster must have one value per item ({len(wide)}); got {len(cluster)}")
            wide["cluster"] = list(cluster)
        ratings = as_ratings(wide, categories=categories, **reading)
    if ratings.n_raters != 2:
        raise ValueError(
            f"Cohen's kappa is of two raters; got {ratings.n_raters}. Choose two (ratings.of([a, b])) or use "
            "agreement() for all pairs"
        )
    return ratings


def _of_confusion(counts: ConfusionCounts, categories: Sequence[Any] | None) -> Ratings:
    whole = counts.matrix.astype(np.int64)
    if not np.array_equal(whole, counts.matrix):
        raise ValueError(f"counts must be whole numbers to be resampled; got {counts.matrix.tolist()}")
    codes = np.repeat(np.argwhere(whole >= 0), whole.ravel(), axis=0)
    items = tuple(map(str, range(len(codes))))
    ratings = Ratings(
        items, ("truth", "vote"), counts.labels, codes, None, np.arange(len(codes)), items, declared=True
    )
    return ratings if categories is None else as_ratings(ratings, categories=categories)
