"""Spearman's and Kendall's rank correlation of scores with ties, missing scores and clusters.

Over all turns, or within dialogues (`within`): the first mixes the second with how dialogues differ. "Turn-level" in
ChatEval (Chan et al., 2023, section 3.5), after Zhong et al. (2022), is the first.

References
----------
Spearman (1904). Kendall (1945), tau-b. Kendall (1970), Rank Correlation Methods (errors with ties). Fieller, Hartley
and Pearson (1957), Biometrika 44, 470 (Fisher's z for ranks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, choice, integer, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.judges.labelled import numbers
from d3stats.resampling import (
    FEW_CLUSTERS,
    ONE_CLUSTER,
    LimitsKind,
    Statistic,
    bootstrap_limits,
    cluster_codes,
    cluster_t,
    cluster_totals,
    ratios,
    student_limits,
)
from d3stats.result import EstimatesResult

__all__ = ["Correlation", "correlation", "kendall", "spearman"]

Codes = NDArray[np.int64]
Method = Literal["spearman", "kendall"]
CorrelationKind = Literal["fisher", "cluster t", "jackknife t", "percentile", "basic", "bca"]

MOST_CELLS = 40_000_000
"""Clusters times distinct pairs of scores that are held at once."""
_NAMES = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
_CHUNK = 1 << 22
_ONE = 1 - 1e-12
_STEPS, _CLOSE = 1000, 1e-12
FEW_OTHER = 6
"""With fewer clusters that hold another score than the commonest, of x or of y, a correlation has no interval."""
_PERFECT = "perfect correlation, so the distance from 1 cannot be estimated"


@dataclass(frozen=True, kw_only=True)
class Correlation(EstimatesResult):
    """A rank correlation with its interval.

    Attributes
    ----------
    estimate : Estimate
        Its p-value tests 0.
    method : {"spearman", "kendall"}
    over : str
        "all pairs", or "groups" for the mean of correlations within groups.
    n_groups, n_groups_undefined : int or None
        Groups that went in, and those left out because a score does not vary in them.

    Examples
    --------
    >>> from d3stats.inference import correlation
    >>> found = correlation([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], within=["d1"] * 3 + ["d2"] * 3)
    >>> round(found.estimate.value, 3), found.over, found.n_groups
    (0.5, 'groups', 2)
    """

    estimate: Estimate
    method: str
    over: str
    n_groups: int | None = None
    n_groups_undefined: int | None = None
    notes: tuple[str, ...] = ()
    _json = ("method", "over", "n_groups", "n_groups_undefined", "estimate", "notes")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The correlation."""
        return (self.estimate,)


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    *,
    method: Method = "spearman",
    within: Sequence[Any] | None = None,
    cluster: Sequence[Any] | None = None,
    kind: CorrelationKind | None = None,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> Correlation:
    """Compute Spearman's or Kendall's rank correlation of two scores, with an interval on Fisher's z or over clusters.

    Ties get their mean rank (Spearman) or are corrected for (tau-b). Pairs with a missing score are left out.

    Parameters
    ----------
    x, y : array_like of float, shape (n,)
        Scores; NaN or None is missing.
    method : {"spearman", "kendall"}
        The coefficient to compute.
    within : sequence, shape (n,), optional
        The dialogue (or question) of each pair: the correlation is taken within each and averaged. Groups in which
        a score does not vary have none and are left out.
    cluster : sequence, shape (n,), optional
        What pairs are resampled with; with `within` by default the group. A group must lie in one cluster.
    kind : {"fisher", "cluster t", "jackknife t", "percentile", "basic", "bca"}, optional
        "fisher" takes pairs as independent. It and the two t kinds are Student's limits on Fisher's z, with an error
        from the data (linearised, or a jackknife). It is at least that of scores with the same ties and the correlation
        of the limit. The p-value has that of unrelated scores. With `within` the limits are those of a mean. By default
        "fisher" without `within` and `cluster`, else "cluster t". No kind gives limits over all pairs where fewer than
        six clusters (or pairs) hold another score than the commonest one, of x or of y; the p-value stays.
    level : float
        Coverage aimed at.
    n_boot, rng : int; Generator, int or None
        Replicates and generator of the bootstrap kinds.

    Returns
    -------
    Correlation

    Raises
    ------
    ValueError
        When lengths differ, a score is infinite, fewer than three pairs are complete, a score does not vary, or the
        kind takes pairs as independent and `cluster` or `within` says that they are not.

    Examples
    --------
    >>> result = correlation([1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 6, 8, 5, 7])
    >>> print(result)
    Spearman's rho: 0.833 [0.296, 0.970] (95 % Fisher z, n = 8)
    """
    choice("method", method, _NAMES)
    level = probability("level", level, open_interval=True)
    integer("n_boot", n_boot, minimum=2)
    dependent = within is not None or cluster is not None
    chosen = kind or ("cluster t" if dependent else "fisher")
    choice("kind", chosen, get_args(CorrelationKind))
    if chosen == "fisher" and dependent:
        raise ValueError(
            "kind must not be 'fisher' with cluster= or within=, which assumes independent pairs"
        )
    first, second = numbers("x", x), numbers("y", y)
    n = len(first)
    if n != len(second):
        raise ValueError(f"x and y must have the same length; got {n} and {len(second)}")
    group = None if within is None else cluster_codes(within, n, name="within", unit="pair")
    owner = cluster_codes(cluster, n, unit="pair") if cluster is not None or group is None else group
    complete = ~(np.isnan(first) | np.isnan(second))
    notes = []
    if not complete.all():
        notes.append(f"{int((~complete).sum())} of {n} pairs left out: a score is missing")
    first, second, owner = first[complete], second[complete], owner[complete]
    n = len(first)
    if n < 3:
        raise ValueError(f"a correlation needs three complete pairs; got {n}")
    for name, values in (("x", first), ("y", second)):
        if np.ptp(values) == 0:
            raise ValueError(f"{name} must vary, or no correlation exists; got only {values[0]:g}")
    how: dict[str, Any] = {"kind": chosen, "level": level, "n_boot": n_boot, "rng": rng}
    if group is not None:
        values, rows, undefined = _by_group(first, second, group[complete], owner, method)
        if undefined:
            notes.append(
                f"{undefined} of {undefined + len(values)} groups left out, because a score does not vary "
                "in them"
            )
        totals = cluster_totals(np.column_stack([values, np.ones(len(values))]), rows[:, 0])

        label, size = f"{_NAMES[method]} within groups", int(rows[:, 1].sum())
        made = _over_clusters(label, float(values.mean()), size, totals, ratios((0, 1)), **how)
        return Correlation(estimate=made, method=method, over="groups", n_groups=len(values),
                           n_groups_undefined=undefined, notes=tuple(notes))  # fmt: skip
    cells = Cells.of(first, second)
    statistic = rank_statistic(cells, method)
    value = float(statistic(cells.totals(np.zeros(n, dtype=np.int64)))[0, 0])
    codes = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    if chosen == "fisher":
        made = _fisher(_NAMES[method], value, cells, method, level)
    else:
        n_clusters = int(codes.max()) + 1
        if n_clusters * len(cells.x) > MOST_CELLS:
            raise ValueError(
                f"kind={chosen!r} holds clusters x distinct pairs, at most {MOST_CELLS}; got {n_clusters} x "
                f"{len(cells.x)}. Round the scores, or use kind='fisher' if pairs are independent"
            )
        least = Least.of(cells, method)
        made = _over_clusters(_NAMES[method], value, n, cells.totals(codes), statistic, least=least, **how)
    if made.low is not None and (rare := _rare(first, second, codes)):
        made = replace(made, low=None, high=None, note="; ".join(filter(None, (rare, made.note))))
    return Correlation(estimate=made, method=method, over="all pairs", notes=tuple(notes))


def spearman(x: ArrayLike, y: ArrayLike, **settings: Any) -> Correlation:
    """Compute Spearman's rank correlation with its interval; settings as for :func:`correlation`.

    Parameters
    ----------
    x, y : array of float, shape (items,)
        Scores; NaN where missing.
    **settings
        Further settings of :func:`correlation`.

    Returns
    -------
    Correlation

    Examples
    --------
    >>> round(spearman([1, 2, 2, 4], [1, 3, 2, 4]).estimate.value, 4)
    0.9487
    """
    return correlation(x, y, method="spearman", **settings)


def kendall(x: ArrayLike, y: ArrayLike, **settings: Any) -> Correlation:
    """Compute Kendall's tau-b with its interval; settings as for :func:`correlation`.

    Parameters
    ----------
    x, y : array of float, shape (items,)
        Scores; NaN where missing.
    **settings
        Further settings of :func:`correlation`.

    Returns
    -------
    Correlation

    Examples
    --------
    >>> round(kendall([1, 2, 2, 4, 5], [1, 3, 2, 4, 5]).estimate.value, 4)
    0.9487
    """
    return correlation(x, y, method="kendall", **settings)


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct pairs of scores."""

    cell: Codes  # which distinct pair each observation is
    x: Codes  # ranks of each pair's two scores among the distinct scores, from 0
    y: Codes

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Cells:
        """Collect the distinct pairs of two rows of scores."""
        first, second = (np.unique(v, return_inverse=True)[1] for v in (x, y))
        wide = int(second.max(initial=0)) + 1
        pairs, cell = np.unique(first * wide + second, return_inverse=True)
        return cls(cell.astype(np.int64), pairs // wide, pairs % wide)

    def totals(self, cluster: Codes) -> Floats:
        """Count cells by cluster, shape (clusters, cells); clusters are codes from 0 without gaps."""
        n, wide = int(cluster.max(initial=0)) + 1, len(self.x)
        return np.bincount(cluster * wide + self.cell, minlength=n * wide).reshape(n, wide).astype(np.float64)


def rank_statistic(cells: Cells, method: str) -> Statistic:
    """Return rho or tau-b as a function of cell counts: (m, cells) to (m, 1), NaN where a score does not vary."""
    one = _spearman(cells) if method == "spearman" else _kendall(cells)
    step = max(1, _CHUNK // len(cells.x))

    def statistic(sums: Floats) -> Floats:
        return np.concatenate([one(sums[at : at + step]) for at in range(0, len(sums), step)])[:, None]

    return statistic


def _spearman(cells: Cells) -> Statistic:
    def one(weight: Floats) -> Floats:
        n = weight.sum(axis=1, keepdims=True)
        ranks = []
        for codes in (cells.x, cells.y):
            here = _by_value(weight, codes)
            middle = np.cumsum(here, axis=1) - here / 2 - n / 2
            ranks.append(middle[:, codes])
        x, y = ranks
        # Middle ranks have mean n / 2 by construction.
        xy, xx, yy = ((weight * a * b).sum(axis=1) for a, b in ((x, y), (x, x), (y, y)))
        return _ratio(xy, xx, yy, n[:, 0] ** 3)

    return one


def _kendall(cells: Cells) -> Statistic:
    sign = np.sign(np.subtract.outer(cells.x, cells.x)) * np.sign(np.subtract.outer(cells.y, cells.y))
    table = sign.astype(np.float64)

    def one(weight: Floats) -> Floats:
        n = weight.sum(axis=1)
        score = ((weight @ table) * weight).sum(axis=1) / 2
        # Pairs not tied in x: (n^2 - sum of squares) / 2, whole or not.
        apart = [(n**2 - (_by_value(weight, codes) ** 2).sum(axis=1)) / 2 for codes in (cells.x, cells.y)]
        return _ratio(score, apart[0], apart[1], n**2)

    return one


def _by_value(weight: Floats, codes: Codes) -> Floats:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(weight[:, order], starts, axis=1))


def _ratio(above: Floats, x: Floats, y: Floats, scale: Floats) -> Floats:
    value: Floats = np.full(above.shape, np.nan)
    vary = (x > 1e-12 * scale) & (y > 1e-12 * scale)
    np.divide(above, np.sqrt(np.where(vary, x, 1.0)) * np.sqrt(np.where(vary, y, 1.0)), out=value, where=vary)
    return np.asarray(np.clip(value, -1.0, 1.0))


def _by_group(x: Floats, y: Floats, group: Codes, owner: Codes, method: str) -> tuple[Floats, Codes, int]:
    """Return the correlation within each group, its cluster and size (groups, 2), and how many groups have none."""
    nested = pd.DataFrame({"group": group, "cluster": owner}).drop_duplicates()
    if nested["group"].duplicated().any():
        raise ValueError("a group of within= must lie in one cluster; got one in two clusters")
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    values, rows = [], []
    for at in np.split(order, starts[1:]):
        if len(at) < 2 or np.ptp(x[at]) == 0 or np.ptp(y[at]) == 0:
            continue
        cells = Cells.of(x[at], y[at])
        whole = cells.totals(np.zeros(len(at), np.int64))
        values.append(float(rank_statistic(cells, method)(whole)[0, 0]))
        rows.append((owner[at[0]], len(at)))
    if not values:
        raise ValueError(f"within= must have a group in which both scores vary; got none among {len(starts)}")
    return np.array(values), np.array(rows), len(starts) - len(values)


def _fisher(name: str, value: float, cells: Cells, method: str, level: float) -> Estimate:
    """Return limits on Fisher's z for independent pairs."""
    weight = np.bincount(cells.cell).astype(np.float64)
    n = len(cells.cell)
    shape: dict[str, Any] = {"name": name, "value": value, "n": n, "level": level, "kind": "Fisher z"}
    if n < 5 or abs(value) > _ONE:
        why = _PERFECT if abs(value) > _ONE else f"Fisher's z needs 5 pairs; got {n}"
        return Estimate(low=None, high=None, note=why, **shape)
    influence = (_spearman_influence if method == "spearman" else _kendall_influence)(cells, weight)
    own = float(np.sqrt(n / (n - 1) * (weight @ influence**2))) / (1 - value**2)
    low, high, se, p = _on_z(value, own, Least.of(cells, method), n - 1, level)
    return Estimate(low=low, high=high, se=se, p_value=p, **shape)


def _rare(x: Floats, y: Floats, cluster: Codes) -> str:
    """Return why there are no limits where nearly all clusters hold only one and the same score; "" elsewhere."""
    n = int(cluster.max()) + 1
    for which, scores in (("first", x), ("second", y)):
        held = pd.Series(scores).groupby(cluster).agg(["min", "max"])
        alone = held.loc[held["min"] == held["max"], "min"].value_counts()
        most = int(alone.max()) if len(alone) else 0
        if n - most < min(FEW_OTHER, n - 1):
            unit = "pairs" if n == len(cluster) else "clusters"
            return (
                f"only {n - most} of {n} {unit} hold a {which} score other than {alone.idxmax():g}; "
                f"limits need {min(FEW_OTHER, n - 1)}"
            )
    return ""


@dataclass(frozen=True)
class Least:
    """The least error on Fisher's z that scores with these ties can have.

    Where cells have probabilities p q (1 + t a b), a and b the standardised ranks of the two scores, their product has
    mean t and mean square 1 + t E(a^3) E(b^3). So related scores with two rare levels vary more than unrelated ones.
    """

    null: float
    skew: float  # product of the skewnesses of the two scores' ranks

    @classmethod
    def of(cls, cells: Cells, method: str) -> Least:
        """Return the least error from the ties of both scores."""
        skew = 1.0
        for codes in (cells.x, cells.y):
            here = np.bincount(codes[cells.cell]).astype(np.float64)
            rank = np.cumsum(here) - here / 2 - len(cells.cell) / 2
            skew *= float(here @ rank**3) / len(cells.cell) / (float(here @ rank**2) / len(cells.cell)) ** 1.5
        return cls(null_error(cells, method), skew)

    def at(self, correlation: float) -> float:
        """Return the error where the correlation has this value."""
        return self.null * float(np.sqrt(1 + max(correlation * self.skew, 0.0)))


def _on_z(
    value: float, own: float, least: Least, df: float, level: float
) -> tuple[float, float, float, float]:
    """Return limits, error and p-value of 0 from an error on Fisher's z; each limit has the least error there."""
    z = float(np.arctanh(value))
    error = max(own, least.null)
    low, high, p = student_limits(z, error, df, level)
    times = (high - z) / error
    ends = []
    for start, sign in ((low, -1), (high, 1)):
        end = start
        for _ in range(_STEPS):  # rises to the nearest solution
            last, end = end, z + sign * times * max(error, least.at(float(np.tanh(end))))
            if abs(end - last) < _CLOSE:
                break
        ends.append(float(np.tanh(end)))
    return ends[0], ends[1], error * (1 - value**2), p


def null_error(cells: Cells, method: str) -> float:
    """Return the standard error of rho or tau-b of unrelated scores with these ties (Kendall, 1970, chapters 4, 5).

    An error estimated from the data is too small where no pair holds two rare scores, so none is taken below this one.
    """
    n = len(cells.cell)
    if method == "spearman":
        return float(1 / np.sqrt(n - 1))
    ties = [np.bincount(codes[cells.cell]).astype(np.float64) for codes in (cells.x, cells.y)]
    plain = [float((t * (t - 1) * (2 * t + 5)).sum()) for t in ties]
    third = [float((t * (t - 1) * (t - 2)).sum()) for t in ties]
    pairs = [float((t * (t - 1)).sum()) for t in ties]
    variance = (n * (n - 1) * (2 * n + 5) - sum(plain)) / 18
    variance += third[0] * third[1] / (9 * n * (n - 1) * (n - 2)) + pairs[0] * pairs[1] / (2 * n * (n - 1))
    apart = [(n * (n - 1) - tied) / 2 for tied in pairs]
    return float(np.sqrt(variance / (apart[0] * apart[1])))


def _kendall_influence(cells: Cells, weight: Floats) -> Floats:
    """Return the derivative of tau-b by the weight of each distinct pair."""
    n = weight.sum()
    score = np.zeros(len(weight))
    step = max(1, _CHUNK // len(weight))
    for at in range(0, len(weight), step):
        signs = [np.sign(np.subtract.outer(codes[at : at + step], codes)) for codes in (cells.x, cells.y)]
        score[at : at + step] = (signs[0] * signs[1]) @ weight
    apart = [n - np.bincount(codes, weight)[codes] for codes in (cells.x, cells.y)]
    x, y = (float(weight @ each) for each in apart)
    value = float(weight @ score) / np.sqrt(x * y)
    return np.asarray(2 * score / np.sqrt(x * y) - value * (apart[0] / x + apart[1] / y))


def _spearman_influence(cells: Cells, weight: Floats) -> Floats:
    """Return the derivative of rho by the weight of each distinct pair, which moves the ranks of all others as well."""
    n = weight.sum()

    def above(codes: Codes, values: Floats) -> Floats:
        """Return the weighted sum of values at higher scores minus that at lower ones."""
        here = np.bincount(codes, weight * values)
        below = np.cumsum(here)
        return np.asarray((here.sum() - below - (below - here))[codes])

    ranks = []
    for codes in (cells.x, cells.y):
        here = np.bincount(codes, weight)
        ranks.append((np.cumsum(here) - here / 2 - n / 2)[codes])
    x, y = ranks
    xy, xx, yy = (float(weight @ (a * b)) for a, b in ((x, y), (x, x), (y, y)))
    both = x * y + (above(cells.x, y) + above(cells.y, x)) / 2
    value = xy / np.sqrt(xx * yy)
    return np.asarray(
        both / np.sqrt(xx * yy)
        - value / 2 * ((x * x + above(cells.x, x)) / xx + (y * y + above(cells.y, y)) / yy)
    )


def _over_clusters(
    name: str, value: float, n: int, totals: Floats, statistic: Statistic, *, kind: CorrelationKind, level: float,
    n_boot: int, rng: RngLike, least: Least | None = None,
) -> Estimate:  # fmt: skip
    """Return limits over clusters; with the `least` error there can be, the t kinds are made on Fisher's z."""
    on_z = least is not None
    made: dict[str, Any] = {"name": name, "value": value, "n": n, "level": level, "kind": kind}
    made |= {"n_clusters": len(totals), "low": None, "high": None}
    if len(totals) < 2 or (on_z and abs(value) > _ONE):
        return Estimate(**made, note=ONE_CLUSTER if len(totals) < 2 else _PERFECT)
    if kind in ("percentile", "basic", "bca"):
        limits = cast(LimitsKind, kind)
        drawn = bootstrap_limits(totals, statistic, kind=limits, level=level, n_boot=n_boot, rng=rng)
        made["low"], made["high"] = drawn.interval()
        return Estimate(**made, se=float(drawn.se[0]), note=drawn.reasons[0] or drawn.note)

    def scaled(sums: Floats) -> Floats:
        values = statistic(sums)
        if not on_z:
            return values
        with np.errstate(divide="ignore"):
            return np.arctanh(values)

    error: Any = "jackknife" if kind == "jackknife t" else "linearised"
    found = cluster_t(totals, scaled, level=level, error=error)
    if found.reasons[0]:
        return Estimate(**made, note=found.reasons[0])
    low, high, se, p, df = (
        float(each[0]) for each in (found.low, found.high, found.se, found.p_value, found.df)
    )
    if least is not None:
        low, high, se, p = _on_z(value, se, least, df, level)
    made |= {"low": low, "high": high, "se": se, "p_value": p}
    return Estimate(
        **made, note=f"only {counted(len(totals), 'cluster')}" if len(totals) < FEW_CLUSTERS else ""
    )
