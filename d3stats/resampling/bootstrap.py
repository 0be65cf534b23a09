"""Bootstrap intervals of functions of sums over clusters, all replicates at once.

Questions (clusters) are drawn again, with replacement. Every statistic here is a function of sums, so a replicate is a
row of weights times a table of cluster totals; no row of data is copied and nothing loops over replicates.

Assumptions: clusters are drawn alike and independently; the statistic is a smooth function of sums. The limits
are first-order right (percentile, basic) or second-order right (BCa, studentised) as the number of clusters grows.

References: Efron (1979, 1981, 1987); Davison and Hinkley (1997), chapters 2, 3.8 and 5; Field and Welsh (2007);
Hesterberg (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.resampling.cluster_t import ALIKE, carried_weights, linearised
from d3stats.resampling.clusters import (
    FEW_CLUSTERS,
    FEW_FOR_PERCENTILES,
    Statistic,
    at_the_data,
    checked_totals,
    column_scale,
    evaluate,
    gradient,
    resampled_counts,
    resampled_totals,
)
from d3stats.resampling.degrees import degrees_of_freedom, effective_clusters, too_unequal

__all__ = [
    "Bootstrap",
    "BootstrapLimits",
    "Ends",
    "LimitsKind",
    "basic_ends",
    "bca_ends",
    "bootstrap",
    "bootstrap_limits",
    "expanded_level",
    "least_replicates",
    "percentile_ends",
    "studentised_ends",
    "too_few",
    "too_few_replicates",
    "widened_level",
    "with_errors",
]

_INFINITE = 1e300
_ROUNDING_OF_COUNTS = 1e-6


class Ends(NamedTuple):
    """Two limits, or a reason why there are none (limits are then NaN).

    Attributes
    ----------
    low, high : float
        The limits.
    reason : str
        Why there are none, "" where there are.

    Examples
    --------
    >>> percentile_ends(np.ones(100), 0.95)
    Ends(low=1.0, high=1.0, reason='')
    """

    low: float
    high: float
    reason: str = ""


def expanded_level(level: float, n_clusters: float) -> float:
    """Return the level whose normal quantile is Student's at `level`, times sqrt(G / (G - 1)) (Hesterberg, 2015).

    Replicates vary as if G clusters were known to be all there are: their variance lacks G / (G - 1), and their
    quantiles are in effect normal ones.
    """
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(n_clusters - 1, (1.0 + level) / 2.0)) * np.sqrt(n_clusters / (n_clusters - 1))
    return 1.0 - 2.0 * float(ndtr(-quantile))


def widened_level(level: float, weights: Floats, times: NDArray[np.int64] | None = None) -> float:
    """Return the level whose normal quantile is as much larger as Student's is with clusters of these sizes.

    The factor is :func:`expanded_level`'s at the effective number of clusters over that at their number, so that
    with clusters of equal size the level stays as it is.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    each = np.ones(len(weights)) if times is None else times
    tail = (1.0 + level) / 2.0
    held = float(each[weights > 0].sum())
    few, many = degrees_of_freedom(weights, times), held - 1
    if few >= many:
        return level
    wider = stdtrit(few, tail) * np.sqrt((few + 1) / few) / (stdtrit(many, tail) * np.sqrt((many + 1) / many))
    return 1.0 - 2.0 * float(ndtr(-wider * ndtri(tail)))


def least_replicates(level: float, sides: int = 2) -> int:
    """Return with how many replicates an expected one lies beyond each limit: 39 at 95 %, 19 for a single limit."""
    return int(np.ceil(sides / (1.0 - level) - 1.0 - _ROUNDING_OF_COUNTS))


def too_few_replicates(n: int, level: float) -> str:
    """Say that so few replicates do not reach limits of this level, "" where they do."""
    least = least_replicates(level)
    if n >= least:
        return ""
    return f"limits at {level * 100:.4g} % need at least {least} bootstrap replicates; there are {n}"


def too_few(
    weights: ArrayLike, times: ArrayLike | None = None, *, kind: str = "", unit: str = "clusters"
) -> str:
    """Say that clusters of these sizes are too few for bootstrap limits of the level they state, "" where they are not.

    Parameters
    ----------
    weights, times
        As for :func:`~d3stats.resampling.degrees.effective_clusters`.
    kind : str
        Kind of the limits: quantiles of the replicates need `FEW_FOR_PERCENTILES` clusters of equal size, studentised
        or expanded ones ("") `FEW_CLUSTERS`.
    unit : str
        What the clusters are.

    Examples
    --------
    >>> too_few([50, 50] + 18 * [2], kind="percentile", unit="questions")
    'only 20 questions of unequal size, worth 3.6 equal ones; bootstrap intervals are too short with fewer than 30'
    >>> too_few([5] * 30, kind="percentile"), too_few([5] * 12, kind="studentised")
    ('', '')
    """
    size = np.asarray(weights, dtype=np.float64)
    each = np.ones(len(size)) if times is None else np.asarray(times, dtype=np.float64)
    held = int(each[size > 0].sum())
    effective = effective_clusters(size, times)
    least = FEW_CLUSTERS if kind in ("", "studentised") else FEW_FOR_PERCENTILES
    # Sizes that differ by chance do not make many clusters few.
    if effective >= 0.75 * least and held >= least:
        return ""
    unequal = f" of unequal size, worth {effective:.1f} equal ones" if effective < held - 0.5 else ""
    return f"only {held} {unit}{unequal}; bootstrap intervals are too short with fewer than {least}"


def percentile_ends(replicates: Floats, level: float) -> Ends:
    """Return percentile limits: quantiles of the replicates themselves (Efron, 1981).

    Parameters
    ----------
    replicates : ndarray of float, shape (n_boot,)
        Finite replicates.
    level : float
        Coverage aimed at, in (0, 1).

    Returns
    -------
    Ends

    Examples
    --------
    >>> [round(end, 2) for end in percentile_ends(np.arange(101.0), 0.9)[:2]]
    [5.0, 95.0]
    """
    low, high = np.quantile(replicates, _tails(level))
    return Ends(float(low), float(high))


def basic_ends(estimate: float, replicates: Floats, level: float) -> Ends:
    """Return basic limits: quantiles mirrored at the estimate (Davison and Hinkley, 1997, equation 5.6)."""
    low, high = np.quantile(replicates, _tails(level))
    return Ends(float(2 * estimate - high), float(2 * estimate - low))


def bca_ends(
    estimate: float, replicates: Floats, left_out: Floats, times: NDArray[np.int64], level: float
) -> Ends:
    """Return BCa limits: bias-corrected and accelerated quantiles (Efron, 1987), acceleration by the cluster jackknife.

    `left_out` are the estimates without each cluster, each as often as `times` says.

    Parameters
    ----------
    estimate : float
        The estimate from the data.
    replicates : ndarray of float, shape (n_boot,)
        Finite replicates.
    left_out : ndarray of float, shape (rows,)
        The estimate without one cluster of each row.
    times : ndarray of int, shape (rows,)
        Number of clusters in each row.
    level : float
        Coverage aimed at, in (0, 1).

    Returns
    -------
    Ends

    Examples
    --------
    >>> found = bca_ends(50.0, np.arange(101.0), np.array([49.0, 51.0, 50.0]), np.ones(3, np.int64), 0.9)
    >>> round(found.low, 1), round(found.high, 1)
    (5.0, 95.0)
    """
    from scipy.special import ndtr, ndtri

    # Ties count half, and a share of 0 or 1 is kept off the boundary, where the correction is infinite.
    below = np.mean(replicates < estimate) + 0.5 * np.mean(replicates == estimate)
    edge = 0.5 / len(replicates)
    bias = ndtri(np.clip(below, edge, 1.0 - edge))
    defined = ~np.isnan(left_out)
    acceleration = _acceleration(left_out[defined], times[defined])
    shifted = bias + ndtri(_tails(level))
    shrink = 1.0 - acceleration * shifted
    if (shrink <= 0).any():
        return Ends(
            np.nan,
            np.nan,
            "one cluster has so much influence that the BCa acceleration reverses the quantiles",
        )
    low, high = np.quantile(replicates, ndtr(bias + shifted / shrink))
    return Ends(float(low), float(high))


def studentised_ends(estimate: float, se: float, replicates: Floats, errors: Floats, level: float) -> Ends:
    """Return bootstrap-t limits: quantiles of (replicate - estimate) / its own error, times the data's error."""
    away = replicates - estimate
    # A replicate without spread is infinitely many errors away, unless it hits the estimate.
    flat = errors <= 0
    pivot = np.where(away == 0, 0.0, np.sign(away) * _INFINITE)
    np.divide(away, errors, out=pivot, where=~flat)
    low, high = np.quantile(pivot, _tails(level))
    if max(abs(low), abs(high)) > _INFINITE / 1e50:
        return Ends(np.nan, np.nan, "too many resamples have no spread, so they cannot be studentised")
    return Ends(float(estimate - high * se), float(estimate - low * se))


def _tails(level: float) -> Floats:
    return np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])


def _acceleration(left_out: Floats, times: NDArray[np.int64]) -> float:
    if len(left_out) == 0:
        return 0.0
    spread = np.average(left_out, weights=times) - left_out
    scale = float(times @ spread**2)
    return float(times @ spread**3) / (6.0 * scale**1.5) if scale > 0 else 0.0


_CHUNK_ELEMENTS = 1 << 23
_ROUNDING = 1e-12


def with_errors(
    totals: Floats,
    times: NDArray[np.int64],
    statistic: Statistic,
    n_boot: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return replicates and their cluster-robust errors, both (n_boot, p); 0 where a draw has no spread.

    Let x be the totals minus their mean. A draw's sums of x and of x x' give the covariance of its clusters. The
    statistic's derivative at the draw's sums turns it into the linearised error, as for the data themselves.
    """
    n_clusters = int(times.sum())
    whole = times @ totals
    scale = column_scale(totals, times)
    # Centred, so that the sums of products do not cancel.
    centred = totals - whole / n_clusters
    n_columns = totals.shape[1]
    first, second = np.triu_indices(n_columns)
    table = np.hstack([centred, centred[:, first] * centred[:, second]])
    twice = np.where(first == second, 1.0, 2.0)
    step = max(1, _CHUNK_ELEMENTS // (2 * table.shape[1]))
    replicates, errors = [], []
    for low in range(0, n_boot, step):
        size = min(step, n_boot - low)
        drawn = _drawn(table, times, size, generator)
        shift, products = drawn[:, :n_columns], drawn[:, n_columns:]
        sums = whole + shift
        slope = gradient(statistic, sums, scale)
        pairs = slope[:, first] * slope[:, second] * twice[:, None]
        covariance = products - shift[:, first] * shift[:, second] / n_clusters
        variance = np.einsum("bkp,bk->bp", pairs, covariance)
        # What rounding alone could make of a variance of 0.
        most = n_columns * np.einsum("bqp,bq->bp", slope**2, products[:, first == second])
        variance = np.where(variance <= _ROUNDING * most, 0.0, variance)
        replicates.append(evaluate(statistic, sums))
        errors.append(np.sqrt(n_clusters / (n_clusters - 1) * variance))
    return np.concatenate(replicates), np.concatenate(errors)


def _drawn(table: Floats, times: NDArray[np.int64], size: int, generator: np.random.Generator) -> Floats:
    if (times == 1).all():
        return resampled_totals(table, size, generator)
    return resampled_counts(times, size, generator) @ table


LimitsKind = Literal["percentile", "basic", "bca", "studentised"]
"""The ways to take limits from bootstrap replicates."""


@dataclass(frozen=True, eq=False)
class BootstrapLimits:
    """Estimates with bootstrap limits, one per value of the statistic.

    Attributes
    ----------
    estimate, se, low, high : ndarray of float, shape (p,)
        `se` is the standard deviation of the replicates. Where `reasons` says why there is no interval, the
        limits are NaN: ask :meth:`interval`, which gives None.
    replicates : ndarray of float, shape (n_boot, p)
        NaN where a replicate leaves the statistic undefined.
    n_undefined : ndarray of int, shape (p,)
        How many replicates those are; they are left out of the quantiles.
    kind : str
        Kind of the limits.
    level : float
        Coverage aimed at, in (0, 1).
    n_clusters : int
        Number of clusters.
    reasons : tuple of str
        "" or why there is no interval, one per value.
    note : str
        What a reader must know of all of them, "" when nothing.
    expanded : bool
        Whether quantiles were taken further out for the number of clusters.

    Examples
    --------
    >>> from d3stats.resampling import ratios
    >>> totals = np.column_stack([np.tile([3, 5, 4, 1], 10), np.full(40, 5)])
    >>> found = bootstrap_limits(totals, ratios((0, 1)), kind="percentile", n_boot=2000, rng=0)
    >>> found.estimate.tolist(), [round(limit, 2) for limit in found.interval()], found.reasons
    ([0.65], [0.56, 0.74], ('',))
    """

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    replicates: Floats = field(repr=False)
    n_undefined: NDArray[np.int64]
    kind: str
    level: float
    n_clusters: int
    reasons: tuple[str, ...]
    note: str
    expanded: bool = False

    def interval(self, value: int = 0) -> tuple[float, float] | tuple[None, None]:
        """Return the limits of one value, or (None, None) where there are none."""
        return (None, None) if self.reasons[value] else (float(self.low[value]), float(self.high[value]))


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Bootstrap replicates of a statistic, from which every kind of limits is read.

    Attributes
    ----------
    estimate, error : ndarray of float, shape (p,)
        The statistic of the data and its cluster-robust error.
    replicates, errors : ndarray of float, shape (n_boot, p)
        The same of each replicate; `errors` is None unless asked for.
    left_out : ndarray of float, shape (rows, p)
        The statistic without one cluster of each row.
    times : ndarray of int, shape (rows,)
        Number of clusters in each row.
    alike : tuple of str
        "" or why the data have no error of their own.
    weights : ndarray of float, shape (rows, p)
        How much of each value every row carries.

    Examples
    --------
    >>> from d3stats.resampling import ratios
    >>> drawn = bootstrap([[1, 2], [2, 2], [0, 4], [3, 3]], ratios((0, 1)), n_boot=2000, rng=0)
    >>> drawn.estimate.round(3).tolist(), drawn.replicates.shape
    ([0.545], (2000, 1))
    >>> [limit.round(2).tolist() for limit in (drawn.limits("percentile").low, drawn.limits("percentile").high)]
    [[0.07], [1.0]]
    """

    estimate: Floats
    replicates: Floats = field(repr=False)
    errors: Floats | None = field(repr=False)
    error: Floats
    left_out: Floats = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)
    alike: tuple[str, ...]
    weights: Floats = field(repr=False)

    def limits(self, kind: LimitsKind, *, level: float = 0.95, expand: bool = False) -> BootstrapLimits:
        """Return limits of one kind from these replicates; see :func:`bootstrap_limits`."""
        level = _checked(kind, level, expand)
        if kind == "studentised" and self.errors is None:
            raise ValueError("errors must be True in bootstrap(...) for studentised limits; got errors=False")
        n_clusters = int(self.times.sum())
        reach = expanded_level(level, n_clusters) if expand else level
        ends = [self._ends(j, kind, reach) for j in range(len(self.estimate))]
        undefined = np.isnan(self.replicates)
        return BootstrapLimits(
            estimate=self.estimate,
            se=_spread(self.replicates),
            low=np.array([e.low for e in ends]),
            high=np.array([e.high for e in ends]),
            replicates=self.replicates,
            n_undefined=undefined.sum(axis=0),
            kind=kind,
            level=level,
            n_clusters=n_clusters,
            reasons=tuple(e.reason for e in ends),
            note="; ".join(filter(None, (self._few("" if expand else kind), _undefined(undefined)))),
            expanded=expand,
        )

    def _few(self, kind: str) -> str:
        """Say of the value whose clusters are worth least, of those with limits, that they are few."""
        found = [column for column in self.weights.T if not too_unequal(column, self.times)]
        return next(filter(None, (too_few(column, self.times, kind=kind) for column in found)), "")

    def _ends(self, j: int, kind: LimitsKind, level: float) -> Ends:
        if why := too_unequal(self.weights[:, j], self.times):
            return Ends(np.nan, np.nan, why)
        if kind != "studentised":
            level = widened_level(level, self.weights[:, j], self.times)
        estimate, column = float(self.estimate[j]), self.replicates[:, j]
        own = None if kind != "studentised" or self.errors is None else self.errors[:, j]
        defined = ~np.isnan(column) if own is None else ~(np.isnan(column) | np.isnan(own))
        if defined.sum() < max(2, len(column) / 2):
            return Ends(np.nan, np.nan, "most resamples leave the statistic undefined")
        column = column[defined]
        if np.ptp(column) == 0 or (self.alike[j] == ALIKE and np.ptp(column) <= 1e-9 * np.abs(column).max()):
            return Ends(np.nan, np.nan, f"every resample gives the same value, {estimate:.6g}")
        if own is not None and self.alike[j]:
            return Ends(np.nan, np.nan, self.alike[j])
        if kind == "percentile":
            ends = percentile_ends(column, level)
        elif kind == "basic":
            ends = basic_ends(estimate, column, level)
        elif own is None:
            ends = bca_ends(estimate, column, self.left_out[:, j], self.times, level)
        else:
            ends = studentised_ends(estimate, float(self.error[j]), column, own[defined], level)
        if not ends.reason and ends.low >= ends.high:
            return Ends(np.nan, np.nan, "the resamples take too few values, so both limits are equal")
        return ends


def bootstrap(
    totals: ArrayLike,
    statistic: Statistic,
    *,
    n_boot: int = 10_000,
    rng: RngLike = None,
    errors: bool = False,
    multiplicity: ArrayLike | None = None,
) -> Bootstrap:
    """Draw clusters with replacement, `n_boot` times, and return the statistic of each draw (Efron, 1979).

    Parameters
    ----------
    totals : array_like of float, shape (clusters, q)
        Each cluster's sums.
    statistic : callable
        Sums of shape (m, q) to values of shape (m, p), all rows at once; NaN where undefined.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.
    errors : bool
        Whether to give every replicate its own error, which studentised limits need.
    multiplicity : array_like of int, shape (clusters,), optional
        How often each row occurs; by default once. Counts in cells are ``totals=numpy.eye(q)`` with the cells here.

    Returns
    -------
    Bootstrap

    Raises
    ------
    ValueError
        Fewer than two clusters, or a statistic that is undefined on the data.

    Examples
    --------
    >>> draws = bootstrap([[1, 2], [2, 2], [0, 4], [3, 3]], lambda sums: sums[:, 0] / sums[:, 1], rng=0)
    >>> [draws.limits(kind).low.round(2).item() for kind in ("percentile", "basic", "bca")]
    [0.07, 0.09, 0.07]
    """
    n_boot = integer("n_boot", n_boot, minimum=2)
    array, times = checked_totals(totals, multiplicity)
    whole = times @ array
    estimate = at_the_data(statistic, whole)
    _, error, alike = linearised(array, times, statistic)
    generator = as_rng(rng)
    if errors:
        replicates, own = with_errors(array, times, statistic, n_boot, generator)
    else:
        replicates, own = evaluate(statistic, _drawn(array, times, n_boot, generator)), None
    left_out = evaluate(statistic, whole - array)
    weights = carried_weights(array, statistic, len(estimate))
    return Bootstrap(estimate, replicates, own, error, left_out, times, alike, weights)


def bootstrap_limits(
    totals: ArrayLike,
    statistic: Statistic,
    *,
    kind: LimitsKind,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    multiplicity: ArrayLike | None = None,
    expand: bool = False,
) -> BootstrapLimits:
    """Return bootstrap limits of a function of sums, resampling whole clusters.

    Parameters
    ----------
    totals, statistic, n_boot, rng, multiplicity
        As for :func:`bootstrap`.
    kind : {"percentile", "basic", "bca", "studentised"}
        Quantiles of the replicates (Efron, 1981); mirrored at the estimate; bias-corrected and accelerated with
        the cluster jackknife (Efron, 1987), ties at the estimate counting half; or of (replicate - estimate) over
        the replicate's own cluster-robust error, times the data's (Davison and Hinkley, 1997, section 5.2.1).
    level : float
        Coverage aimed at, in (0, 1); equal tails.
    expand : bool
        Take quantiles further out, so that z sqrt((G - 1) / G) becomes Student's t of G - 1 (Hesterberg, 2015). Not for
        studentised limits, whose quantiles are drawn.

    Returns
    -------
    BootstrapLimits
        Where the replicates carry no interval (all alike, limits that coincide, mostly undefined) its `reasons` say
        so and its `interval` is (None, None): two equal limits are not an interval.

    Raises
    ------
    ValueError
        Fewer than two clusters, a statistic that is undefined on the data, or `expand` with studentised limits.

    Examples
    --------
    >>> import numpy as np
    >>> totals = np.column_stack([np.tile([3, 5, 4, 1], 10), np.full(40, 5)])
    >>> accuracy = bootstrap_limits(totals, lambda sums: sums[:, 0] / sums[:, 1], kind="bca", rng=0)
    >>> accuracy.estimate.tolist(), [round(limit, 2) for limit in accuracy.interval()]
    ([0.65], [0.56, 0.73])
    """
    _checked(kind, level, expand)
    drawn: dict[str, Any] = {"n_boot": n_boot, "rng": rng, "multiplicity": multiplicity}
    draws = bootstrap(totals, statistic, errors=kind == "studentised", **drawn)
    return draws.limits(kind, level=level, expand=expand)


def _checked(kind: str, level: float, expand: bool) -> float:
    choice("kind", kind, get_args(LimitsKind))
    if expand and kind == "studentised":
        why = "kind='studentised', whose quantiles are drawn"
        raise ValueError(f"expand must be False with {why}; got expand=True")
    return probability("level", level, open_interval=True)


def _spread(replicates: Floats) -> Floats:
    counts = (~np.isnan(replicates)).sum(axis=0)
    enough = counts >= 2
    result = np.full(replicates.shape[1], np.nan)
    result[enough] = np.nanstd(replicates[:, enough], axis=0, ddof=1)
    return result


def _undefined(undefined: NDArray[np.bool_]) -> str:
    if not undefined.any():
        return ""
    worst = int(undefined.sum(axis=0).max())
    return f"{worst} of {len(undefined)} resamples leave the statistic undefined and are left out"
