"""Intervals of shares: six of independent trials with their exact coverage, and those of clustered trials.

For x successes in n independent trials, six intervals. None covers at its level for every p, since x is a whole
number; :func:`exact_coverage` says how often each does, by adding up the Binomial, not by simulation:

- ``Wilson``: inverts the score test. Close to its level on average; the default.
- ``Clopper-Pearson``: inverts the exact test. Coverage is never below the level; the interval is wider than needed.
- ``Jeffreys``, ``Bayes uniform``: equal-tailed posterior limits under Beta(1/2, 1/2) and Beta(1, 1).
- ``Agresti-Coull``: Wald's formula around Wilson's centre. Cautious near 0 and 1.
- ``Wald``: share +- z * standard error. Too short near 0 and 1 and at small n (.876 at n = 20, p = .9), and of width
  0 when all or none succeed. For comparison with published values only.

Trials of one question are not independent. With `cluster`, :func:`share` takes the ratio of cluster sums and an
interval from the clusters. By default it is Wilson's formula at as many trials as the clusters are worth. Others are
Student's t with a cluster-robust error and a bootstrap of clusters. The t is a Wald interval, which is too short near 0
and 1. At a share of .95 of 40 clusters of four, intraclass correlation .3, its 95 % limits cover 87 %, Wilson's 97 %.

References
----------
Brown, Cai and DasGupta (2001), Statistical Science 16, 101. Wilson (1927), JASA 22, 209. Clopper and Pearson (1934),
Biometrika 26, 404. Agresti and Coull (1998), The American Statistician 52, 119.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, choice, integer, probability, whole_numbers
from d3stats.estimate import Estimate
from d3stats.resampling.bootstrap import LimitsKind, bootstrap_limits
from d3stats.resampling.cluster_t import cluster_t
from d3stats.resampling.clusters import FEW_CLUSTERS, ONE_CLUSTER, cluster_codes, cluster_totals, ratios
from d3stats.resampling.degrees import (
    degrees_of_freedom,
    effective_clusters,
    item_error,
    left_out_error,
    too_unequal,
)

__all__ = [
    "CLUSTER_KINDS",
    "EXACT",
    "KINDS",
    "WILSON",
    "ClusterKind",
    "Kind",
    "ShareLimits",
    "clustered_share",
    "coverage_table",
    "exact_coverage",
    "limits",
    "proportion_interval",
    "share",
    "share_limits",
]

Limits = tuple[Floats, Floats]
Kind = Literal["Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald"]
KINDS: tuple[str, ...] = get_args(Kind)


def limits(kind: str, x: Ints, n: Ints, level: float) -> Limits:
    """Return low and high of each x of n, within [0, 1]."""
    low, high = _FORMULAS[kind](x.astype(np.float64), n.astype(np.float64), (1.0 - level) / 2.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _wald(x: Floats, n: Floats, tail: float) -> Limits:
    return _around(x / n, n, tail)


def _agresti_coull(x: Floats, n: Floats, tail: float) -> Limits:
    square = scipy.special.ndtri(tail) ** 2
    return _around((x + square / 2) / (n + square), n + square, tail)


def _around(centre: Floats, n: Floats, tail: float) -> Limits:
    half = -scipy.special.ndtri(tail) * np.sqrt(centre * (1 - centre) / n)
    return centre - half, centre + half


def _wilson(x: Floats, n: Floats, tail: float) -> Limits:
    square = scipy.special.ndtri(tail) ** 2
    centre = (x + square / 2) / (n + square)
    half = np.sqrt(square * (x * (n - x) / n + square / 4)) / (n + square)
    # At the ends the formula gives 0 and 1, rounding aside.
    return np.where(x == 0, 0.0, centre - half), np.where(x == n, 1.0, centre + half)


def _clopper_pearson(x: Floats, n: Floats, tail: float) -> Limits:
    low = np.where(x == 0, 0.0, scipy.special.betaincinv(np.maximum(x, 1), n - x + 1, tail))
    high = np.where(x == n, 1.0, scipy.special.betaincinv(x + 1, np.maximum(n - x, 1), 1 - tail))
    return low, high


def _posterior(prior: float) -> Callable[[Floats, Floats, float], Limits]:
    def formula(x: Floats, n: Floats, tail: float) -> Limits:
        low, high = (scipy.special.betaincinv(x + prior, n - x + prior, at) for at in (tail, 1 - tail))
        return np.asarray(low, np.float64), np.asarray(high, np.float64)

    return formula


_FORMULAS: dict[str, Callable[[Floats, Floats, float], Limits]] = {
    "Wilson": _wilson,
    "Clopper-Pearson": _clopper_pearson,
    "Jeffreys": _posterior(0.5),
    "Agresti-Coull": _agresti_coull,
    "Bayes uniform": _posterior(1.0),
    "Wald": _wald,
}


ClusterKind = Literal["cluster Wilson", "cluster t", "percentile", "basic", "bca", "studentised"]
CLUSTER_KINDS: tuple[str, ...] = get_args(ClusterKind)
WILSON, EXACT = "cluster Wilson", "Clopper-Pearson over clusters"
_ROUNDING = 1e-12


def clustered_share(
    x: Floats | Ints,
    n: Floats | Ints,
    cluster: Ints,
    *,
    kind: str = WILSON,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    name: str = "share",
) -> Estimate:
    """Return the share of successes with an interval over clusters, or without one and why; as :func:`share`.

    Successes `x` and trials `n`, shape (rows,), are whole numbers or means of several votes; `cluster` holds codes.

    Parameters
    ----------
    x, n : ndarray of float or int, shape (rows,)
        Successes and trials, whole numbers or means of several votes.
    cluster : ndarray of int, shape (rows,)
        Codes of clusters.
    kind : str
        As for :func:`share`.
    level : float
        Coverage aimed at, in (0, 1).
    n_boot : int
        Replicates of a bootstrap.
    rng : Generator, int or None
        For a bootstrap.
    name : str
        What is estimated.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> print(clustered_share(np.array([3, 0, 2, 3, 1]), np.full(5, 3), np.array([0, 0, 1, 2, 3])))
    share: 0.600 [0.220, 0.889] (95 % cluster Wilson, n = 15 in 4 clusters)
    """
    rows = n > 0
    totals = cluster_totals(np.column_stack([x, n])[rows].astype(np.float64), cluster[rows])
    size = float(n.sum())
    value = min(float(x.sum()) / size, 1.0)
    made: dict[str, Any] = {"name": name, "value": value, "n": round(size), "level": level}
    made["n_clusters"] = len(totals)
    found = share_limits(totals[:, 0], totals[:, 1], level)
    if kind == WILSON or found.low is None or value in (0.0, 1.0):
        return Estimate(**found._asdict(), **made)
    robust = cluster_t(totals, ratios((0, 1)), level=level, symmetric=True)
    if robust.reasons[0]:
        return Estimate(low=None, high=None, kind=kind, note=robust.reasons[0], **made)
    (low, high), note = robust.interval(), found.note
    if kind != "cluster t":
        draws = bootstrap_limits(
            totals, ratios((0, 1)), kind=cast(LimitsKind, kind), level=level, n_boot=n_boot, rng=rng
        )
        (low, high), note = draws.interval(), draws.reasons[0] or draws.note
    within = (None, None) if low is None or high is None else (max(low, 0.0), min(high, 1.0))
    return Estimate(low=within[0], high=within[1], se=float(robust.se[0]), kind=kind, note=note, **made)


class ShareLimits(NamedTuple):
    """Limits of a share over clusters with their kind and error, or None and the note why there are none.

    Attributes
    ----------
    low, high : float or None
        The limits.
    se : float or None
        The cluster-robust error of the share.
    kind : str
        Kind of the limits.
    note : str
        Why there are none, or what a reader must know.

    Examples
    --------
    >>> found = share_limits(np.array([3.0, 2, 1]), np.full(3, 3.0), 0.95)
    >>> found.kind, round(found.low, 2), round(found.high, 2), found.note
    ('cluster Wilson', 0.11, 0.97, 'only 3 clusters')
    """

    low: float | None
    high: float | None
    se: float | None
    kind: str
    note: str


def share_limits(above: Floats, below: Floats, level: float) -> ShareLimits:
    """Return the cluster Wilson interval of a share, the one rule for every share in the package.

    Wilson's formula at as many trials as the cluster-robust error is worth, at most as many as there are (Dean and
    Pagano, 2015), with Student's quantile. The error is the larger of two, which agree where clusters are equal. One
    leaves out one cluster at a time, and sees no variation where the large clusters happen to agree. The other takes
    items as exchangeable (:func:`~d3stats.resampling.item_error`).

    Degrees of freedom are Satterthwaite's (1946) 2 / CV^2 of the squared error, whose variation is measured by fourth
    powers, at least 2. Near 0 and 1 they are few, because a few clusters that hold an outcome of the rarer kind make up
    the whole error. They are at most what clusters of these sizes are worth, less one
    (:func:`~d3stats.resampling.degrees_of_freedom`). Where one cluster has most of the trials, there is no interval.

    An outcome is at most as frequent as the trials of the clusters that hold one. So neither limit lies beyond Clopper
    and Pearson's limit of that share, with Kish's effective number of clusters as the number of trials. Where all or
    none succeed, no error can be measured, and this limit alone remains.

    Where a trial is a mean of several votes (one juror of a panel, repeated items), it still counts as one trial at
    most, although it varies less than one vote does. The limits are then somewhat wide.

    Parameters
    ----------
    above, below : ndarray of float, shape (clusters,)
        Each cluster's successes (sums of values in [0, 1]) and trials.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    ShareLimits

    Examples
    --------
    >>> import numpy as np
    >>> found = share_limits(np.array([3.0, 3, 2, 3, 3, 1]), np.full(6, 3.0), 0.95)
    >>> found.kind, round(found.low, 3), round(found.high, 3)
    ('cluster Wilson', 0.443, 0.969)
    """
    from scipy.special import stdtrit

    above, below = above[below > 0], below[below > 0]
    n_clusters, size = len(below), float(below.sum())
    if n_clusters < 2:
        return ShareLimits(None, None, None, WILSON, ONE_CLUSTER)
    note, equal = "", effective_clusters(below)
    if n_clusters < FEW_CLUSTERS:
        note = f"only {n_clusters} clusters"
    elif equal < FEW_CLUSTERS:
        note = f"{n_clusters} clusters of unequal size, worth only {equal:z.1f} equal ones"
    if why := too_unequal(below):
        return ShareLimits(None, None, None, WILSON, why)
    value = min(float(above.sum()) / size, 1.0)
    short = below - above if value > 0.5 else above
    if not (short > _ROUNDING * below).any():
        edge = _exact_bound(short, below, level)
        low, high = (1 - edge, 1.0) if value > 0.5 else (0.0, edge)
        return ShareLimits(low, high, None, EXACT, note)
    away = above - value * below
    spread = value * (1 - value)
    se, df = left_out_error(away / size, below), degrees_of_freedom(below)
    if se > _ROUNDING:
        se = max(se, item_error(away, below, spread))
        # The sum of squares has the squared coefficient of variation sum e^4 / (sum e^2)^2 - 1 / G.
        variation = float((away**4).sum()) / float(away @ away) ** 2 - 1 / n_clusters
        df = min(df, max(2.0, 2 / variation)) if variation > 0 else df
    worth = min(size, spread / se**2) if se * se * size > spread else size
    square = float(stdtrit(df, (1 + level) / 2)) ** 2
    centre = (value + square / (2 * worth)) / (1 + square / worth)
    half = float(np.sqrt(square * (spread / worth + square / (4 * worth**2)))) / (1 + square / worth)
    low, high = max(centre - half, 0.0), min(centre + half, 1.0)
    low = max(low, 1 - _exact_bound(below - above, below, level))
    high = min(high, _exact_bound(above, below, level))
    return ShareLimits(low, high, se, WILSON, note)


def _exact_bound(outcomes: Floats, trials: Floats, level: float) -> float:
    """Return Clopper and Pearson's upper limit of the frequency of clusters that hold an outcome."""
    from scipy.special import betaincinv

    effective = effective_clusters(trials)
    held = float(trials[outcomes > _ROUNDING * trials].sum() / trials.sum())
    return (
        float(betaincinv(held * effective + 1, effective * (1 - held), (1 + level) / 2)) if held < 1 else 1.0
    )


_GRID = 2000
"""Steps of p from 0 to 1 in a table of coverage."""


def proportion_interval(
    successes: ArrayLike, trials: ArrayLike, *, kind: Kind = "Wilson", level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the limits of a share, element by element, for independent trials.

    Parameters
    ----------
    successes, trials : int or array of int, shapes that broadcast
        0 <= successes <= trials, trials >= 1.
    kind : {"Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald"}
        The formula of the interval.
    level : float
        Coverage aimed at, in (0, 1).

    Returns
    -------
    low, high : ndarray of float, the shape of the arguments together
        Within [0, 1].

    Raises
    ------
    ValueError
        When a count is negative, no whole number, or successes exceed trials.

    Examples
    --------
    >>> [limit.round(4).tolist() for limit in proportion_interval([9, 18], [10, 20])]
    [[0.5958, 0.699], [0.9821, 0.9721]]
    """
    choice("kind", kind, KINDS)
    level = probability("level", level, open_interval=True)
    x, n = _counts(successes, trials)
    return limits(kind, x, n, level)


def share(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    kind: Kind | ClusterKind | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    name: str = "share",
) -> Estimate:
    """Estimate a share of successes, with Wilson's interval or another, over clusters where there are any.

    Parameters
    ----------
    successes, trials : int or array of int, shape (rows,)
        Counts; arrays are added up. With `cluster` one entry per row, for instance per debate.
    kind : str, optional
        Without clusters one of "Wilson" (default), "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform",
        "Wald"; with clusters one of "cluster Wilson" (default), "cluster t", and the bootstraps of clusters
        "percentile", "basic", "bca", "studentised".
    cluster : array, shape (rows,), optional
        The question of each row; rows of one question are not independent.
    level : float
        Level of the intervals, in (0, 1).
    n_boot : int
        Replicates of the bootstrap kinds.
    rng : Generator, int or None
        Random numbers of the bootstrap kinds.
    name : str
        What the share is called in tables.

    Returns
    -------
    Estimate
        Without an interval, and a note that says why, where the clusters carry none: a single one, or all alike.

    Raises
    ------
    ValueError
        When counts are no counts, there are no trials, or the kind does not go with `cluster`.

    Examples
    --------
    >>> print(share(69, 80, name="accuracy"))
    accuracy: 0.863 [0.770, 0.921] (95 % Wilson, n = 80)
    >>> print(share([3, 0, 2, 3, 1], [3, 3, 3, 3, 3], cluster=["q1", "q2", "q3", "q4", "q5"]))
    share: 0.600 [0.178, 0.912] (95 % cluster Wilson, n = 15 in 5 clusters)
    """
    level = probability("level", level, open_interval=True)
    x, n = (np.atleast_1d(part) for part in _counts(successes, trials, least=0))
    total = int(n.sum())
    if total == 0:
        raise ValueError("trials must add up to at least 1; got 0, so the share is undefined")
    if cluster is None:
        kind = "Wilson" if kind is None else kind
        if kind in CLUSTER_KINDS:
            raise ValueError(f"kind={kind!r} must come with cluster=; got no clusters")
        choice("kind", kind, KINDS)
        successful = int(x.sum())
        low, high = proportion_interval(successful, total, kind=kind, level=level)  # type: ignore[arg-type]
        value = successful / total
        return Estimate(
            name=name,
            value=value,
            se=float(np.sqrt(value * (1 - value) / total)),
            low=float(low),
            high=float(high),
            kind=kind,
            n=total,
            level=level,
            note="a Wald interval has width 0 if none or all succeed; use another kind"
            if low == high
            else "",
        )
    kind = "cluster Wilson" if kind is None else kind
    if kind in KINDS:
        raise ValueError(f"kind={kind!r} assumes independent trials and must come without cluster=; got both")
    choice("kind", kind, CLUSTER_KINDS)
    codes = cluster_codes(cluster, x.size)
    return clustered_share(x, n, codes, kind=kind, level=level, n_boot=n_boot, rng=rng, name=name)


def exact_coverage(n: int, p: ArrayLike, kind: Kind = "Wilson", level: float = 0.95) -> Floats:
    """Return the exact coverage of an interval at true shares `p`: the Binomial added up over all n + 1 counts.

    Parameters
    ----------
    n : int
        Trials, at least 1.
    p : float or array of float
        True shares, in [0, 1].
    kind, level
        As for :func:`proportion_interval`.

    Returns
    -------
    ndarray of float, the shape of `p`

    Examples
    --------
    >>> exact_coverage(20, 0.9, "Wald").round(3).item(), exact_coverage(20, 0.9, "Wilson").round(3).item()
    (0.876, 0.957)
    """
    from scipy.special import bdtr, bdtrc

    n = integer("n", n, minimum=1)
    shares = np.asarray(p, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"p must lie between 0 and 1; got {p!r}")
    low, high = proportion_interval(np.arange(n + 1), n, kind=kind, level=level)
    # Limits rise with the count, so that the counts whose interval holds p lie side by side.
    first = np.searchsorted(high, shares, side="left")
    last = np.searchsorted(low, shares, side="right") - 1
    below = np.where(first > 0, bdtr(np.maximum(first - 1, 0), n, shares), 0.0)
    above = np.where(last < n, bdtrc(np.minimum(last, n), n, shares), 0.0)
    return np.asarray(np.where(first > last, 0.0, np.clip(1.0 - below - above, 0.0, 1.0)))


def coverage_table(n: int, *, level: float = 0.95, low: float = 0.01, high: float = 0.99) -> pd.DataFrame:
    """Return the exact coverage of each interval of n trials, worst and mean over p between `low` and `high`.

    p = 0 and p = 1 are left out by default, where coverage is all or nothing for some.

    Returns
    -------
    DataFrame
        One row per kind: ``kind, n, level, worst, worst_at, mean, mean_width``; the worst is over a grid of
        p with 1/2000 between, and both sides of each jump.

    Examples
    --------
    >>> coverage_table(20).set_index("kind")["mean"].round(3).to_dict()["Wald"]
    0.861
    """
    low, high = probability("low", low), probability("high", high)
    if low >= high:
        raise ValueError(f"high must be > low; got low={low}, high={high}")
    grid = np.arange(_GRID + 1) / _GRID
    grid = grid[(grid >= low) & (grid <= high)]
    rows = []
    for kind in KINDS:
        lower, upper = proportion_interval(np.arange(n + 1), n, kind=kind, level=level)  # type: ignore[arg-type]
        jumps = np.concatenate([lower, upper])
        jumps = jumps[(jumps > low) & (jumps < high)]
        beside = np.concatenate([np.nextafter(jumps, 0.0), jumps, np.nextafter(jumps, 1.0)])
        shares = np.union1d(grid, beside)
        covered = exact_coverage(n, shares, kind, level)  # type: ignore[arg-type]
        worst = int(np.argmin(covered))
        row = {"kind": kind, "n": n, "level": level, "worst": covered[worst], "worst_at": shares[worst]}
        mean = exact_coverage(n, grid, kind, level).mean()  # type: ignore[arg-type]
        rows.append({**row, "mean": mean, "mean_width": _mean_width(n, grid, upper - lower)})
    return pd.DataFrame(rows)


def _mean_width(n: int, grid: Floats, widths: Floats) -> float:
    from scipy.special import gammaln, xlog1py, xlogy

    x = np.arange(n + 1)[:, None]
    log_pmf = xlogy(x, grid) + xlog1py(n - x, -grid)
    log_pmf += gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return float((widths @ np.exp(log_pmf)).mean())


def _counts(
    successes: ArrayLike, trials: ArrayLike, least: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    parts = []
    for label, values in (("successes", successes), ("trials", trials)):
        array = np.asarray(values)
        if array.ndim > 1:
            raise ValueError(f"{label} must be a number or one-dimensional; got shape {array.shape}")
        minimum = least if label == "trials" else 0
        parts.append(whole_numbers(label, np.atleast_1d(array), minimum=minimum).reshape(array.shape))
    if parts[0].ndim and parts[1].ndim and parts[0].size != parts[1].size:
        raise ValueError(
            f"trials must have one value per row of successes ({parts[0].size}); got {parts[1].size}"
        )
    x, n = np.broadcast_arrays(*parts)
    bad = np.atleast_1d(x > n)
    if bad.any():
        row = int(np.argmax(bad))
        pair = f"trials={np.atleast_1d(n)[row]}, successes={np.atleast_1d(x)[row]}"
        raise ValueError(f"trials must be >= successes; got {pair} at row {row}")
    return x, n
