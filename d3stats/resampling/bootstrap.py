"""Bootstrap intervals of functions of sums over clusters, all replicates at once.

How sure is a number that was counted on debates of which several share a question? Draw the questions again, with
replacement, and see how much the number moves. Every statistic here is a function of sums, so a replicate is a
row of weights times a table of cluster totals; no row of data is copied and nothing loops over replicates.

Assumptions: clusters are drawn alike and independently; the statistic is a smooth function of sums. The limits
are first-order right (percentile, basic) or second-order right (BCa, studentised) as the number of clusters grows.

References: Efron (1979, 1987); Davison and Hinkley (1997), chapters 2, 3.8 and 5; Field and Welsh (2007); Hesterberg
(2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.resampling import quantiles
from d3stats.resampling._errors import with_errors
from d3stats.resampling._statistic import Statistic, at_the_data, checked_totals, evaluate
from d3stats.resampling.cluster_t import ALIKE, linearised_error
from d3stats.resampling.totals import resampled_counts, resampled_totals

__all__ = ["FEW_CLUSTERS", "Bootstrap", "BootstrapLimits", "LimitsKind", "bootstrap", "bootstrap_limits"]

Floats = NDArray[np.float64]
LimitsKind = Literal["percentile", "basic", "bca", "studentised"]
_KINDS = ("percentile", "basic", "bca", "studentised")
FEW_CLUSTERS = 10
"""Below so many clusters the limits carry a note."""


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
    level : float
    n_clusters : int
    reasons : tuple of str
        "" or why there is no interval, one per value.
    note : str
        What a reader must know of all of them, "" when nothing.
    expanded : bool
        Whether quantiles were taken further out for the number of clusters.
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
    """Replicates of a statistic, from which every kind of limits is read.

    Attributes
    ----------
    estimate : ndarray of float, shape (p,)
    replicates : ndarray of float, shape (n_boot, p)
    errors : ndarray of float, shape (n_boot, p), or None
        Each replicate's own cluster-robust error, where asked for.
    error : ndarray of float, shape (p,)
        The same at the data.
    left_out : ndarray of float, shape (rows, p)
        The statistic without one cluster of each row.
    times : ndarray of int, shape (rows,)
        How many clusters each row stands for.
    alike : tuple of str
        "" or why the data have no error of their own.
    """

    estimate: Floats
    replicates: Floats = field(repr=False)
    errors: Floats | None = field(repr=False)
    error: Floats
    left_out: Floats = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)
    alike: tuple[str, ...]

    def limits(self, kind: LimitsKind, *, level: float = 0.95, expand: bool = False) -> BootstrapLimits:
        """Return limits of one kind from these replicates; see :func:`bootstrap_limits`."""
        level = _checked(kind, level, expand)
        if kind == "studentised" and self.errors is None:
            raise ValueError("errors must be True in bootstrap(...) for studentised limits; got errors=False")
        n_clusters = int(self.times.sum())
        reach = quantiles.expanded_level(level, n_clusters) if expand else level
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
            note=_note(n_clusters, undefined),
            expanded=expand,
        )

    def _ends(self, j: int, kind: LimitsKind, level: float) -> quantiles.Ends:
        estimate, column = float(self.estimate[j]), self.replicates[:, j]
        defined = ~np.isnan(column)
        if kind == "studentised":
            assert self.errors is not None
            defined &= ~np.isnan(self.errors[:, j])
        if defined.sum() < max(2, len(column) / 2):
            return quantiles.no_ends("most resamples leave the statistic undefined")
        column = column[defined]
        if np.ptp(column) == 0 or (self.alike[j] == ALIKE and np.ptp(column) <= 1e-9 * np.abs(column).max()):
            return quantiles.no_ends(f"every resample gives the same value, {estimate:.6g}")
        if kind == "studentised" and self.alike[j]:
            return quantiles.no_ends(self.alike[j])
        if kind == "percentile":
            ends = quantiles.percentile_ends(column, level)
        elif kind == "basic":
            ends = quantiles.basic_ends(estimate, column, level)
        elif kind == "bca":
            ends = quantiles.bca_ends(estimate, column, self.left_out[:, j], self.times, level)
        else:
            assert self.errors is not None
            ends = quantiles.studentised_ends(
                estimate, float(self.error[j]), column, self.errors[defined, j], level
            )
        if not ends.reason and ends.low >= ends.high:
            return quantiles.no_ends("the resamples take too few values: both limits fall on the same one")
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
    """Draw clusters with replacement, `n_boot` times, and keep the statistic of each draw.

    Parameters
    ----------
    totals : array_like of float, shape (clusters, q)
        Each cluster's sums.
    statistic : callable
        Sums of shape (m, q) to values of shape (m, p), all rows at once; NaN where undefined.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
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
    [0.14, 0.09, 0.07]
    """
    n_boot = integer("n_boot", n_boot, minimum=2)
    array, times = checked_totals(totals, multiplicity)
    whole = times @ array
    estimate = at_the_data(statistic, whole)
    error, alike = linearised_error(array, times, statistic)
    generator = as_rng(rng)
    if errors:
        replicates, own = with_errors(array, times, statistic, n_boot, generator)
    else:
        replicates, own = evaluate(statistic, _drawn(array, times, n_boot, generator)), None
    left_out = evaluate(statistic, whole - array)
    return Bootstrap(estimate, replicates, own, error, left_out, times, alike)


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
    totals : array_like of float, shape (clusters, q)
        Each cluster's sums, as of :func:`cluster_totals`.
    statistic : callable
        Sums of shape (m, q) to values of shape (m, p), all rows at once; NaN where undefined.
    kind : {"percentile", "basic", "bca", "studentised"}
        Quantiles of the replicates (Efron, 1979); mirrored at the estimate; bias-corrected and accelerated with
        the cluster jackknife (Efron, 1987), ties at the estimate counting half; or of (replicate - estimate) over
        the replicate's own cluster-robust error, times the data's (Davison and Hinkley, 1997, section 5.2.1).
    level : float
        Coverage aimed at, in (0, 1); equal tails.
    n_boot : int
        Number of replicates.
    rng : Generator, int or None
    multiplicity : array_like of int, shape (clusters,), optional
        How often each row occurs; by default once. Counts in cells are ``totals=numpy.eye(q)`` with the cells here.
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
    draws = bootstrap(
        totals,
        statistic,
        n_boot=n_boot,
        rng=rng,
        errors=kind == "studentised",
        multiplicity=multiplicity,
    )
    return draws.limits(kind, level=level, expand=expand)


def _checked(kind: str, level: float, expand: bool) -> float:
    choice("kind", kind, _KINDS)
    if expand and kind == "studentised":
        raise ValueError(
            "expand must be False with kind='studentised', whose quantiles are drawn; got expand=True"
        )
    return probability("level", level, open_interval=True)


def _drawn(totals: Floats, times: NDArray[np.int64], n_boot: int, generator: np.random.Generator) -> Floats:
    if (times == 1).all():
        return resampled_totals(totals, n_boot, generator)
    return resampled_counts(times, n_boot, generator) @ totals


def _spread(replicates: Floats) -> Floats:
    counts = (~np.isnan(replicates)).sum(axis=0)
    enough = counts >= 2
    result = np.full(replicates.shape[1], np.nan)
    result[enough] = np.nanstd(replicates[:, enough], axis=0, ddof=1)
    return result


def _note(n_clusters: int, undefined: NDArray[np.bool_]) -> str:
    parts = []
    if n_clusters < FEW_CLUSTERS:
        parts.append(
            f"only {n_clusters} clusters: bootstrap limits are too narrow with fewer than {FEW_CLUSTERS}"
        )
    if undefined.any():
        worst = int(undefined.sum(axis=0).max())
        parts.append(f"{worst} of {len(undefined)} resamples leave the statistic undefined and are left out")
    return "; ".join(parts)
