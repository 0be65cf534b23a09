"""A share with its interval: which method, how often it covers, and what to do with clusters.

For x successes in n independent trials, six intervals. None covers at its level for every p, since x is a whole
number; :func:`exact_coverage` says how often each does, by adding up the Binomial, not by simulation:

- ``Wilson``: inverts the score test. Close to its level on average; the default.
- ``Clopper-Pearson``: inverts the exact test. Never below its level, wider than need be.
- ``Jeffreys``, ``Bayes uniform``: equal-tailed posterior limits under Beta(1/2, 1/2) and Beta(1, 1).
- ``Agresti-Coull``: Wald's formula around Wilson's centre. Cautious near 0 and 1.
- ``Wald``: share +- z * standard error. Too short near 0 and 1 and at small n (.876 at n = 20, p = .9), and of width
  0 when all or none succeed. For comparison with published values only.

Trials of one question are not independent. With `cluster`, :func:`share` takes the ratio of cluster sums, and its
interval from the clusters: Wilson's formula at as many trials as the clusters are worth (the default), Student's t
with a cluster-robust error, or a bootstrap of clusters. The t is a Wald interval near 0 and 1: at a share of .95 of 40
clusters of four, intraclass correlation .3, its 95 % are 87 %, Wilson's 92 %.

References
----------
Brown, Cai and DasGupta (2001), Statistical Science 16, 101. Wilson (1927), JASA 22, 209. Clopper and Pearson (1934),
Biometrika 26, 404. Agresti and Coull (1998), The American Statistician 52, 119.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, choice, integer, probability, whole_numbers
from d3stats.estimate import Estimate
from d3stats.inference.shares.clusters import CLUSTER_KINDS, ClusterKind, clustered_share
from d3stats.inference.shares.limits import KINDS, Kind, limits

__all__ = ["Kind", "coverage_table", "exact_coverage", "proportion_interval", "share"]

Floats = NDArray[np.float64]
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
    """Estimate a share of successes, with its interval.

    Parameters
    ----------
    successes, trials : int or array of int, shape (rows,)
        Counts; arrays are added up. With `cluster` one entry per row, for instance per debate.
    kind : str, optional
        Without clusters one of "Wilson" (default), "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform",
        "Wald"; with clusters one of "cluster Wilson" (default), "cluster t", "bootstrap percentile", "bootstrap BCa",
        "bootstrap studentised".
    cluster : array, shape (rows,), optional
        The question of each row; rows of one question are not independent.
    level : float
    n_boot : int
        Replicates of the bootstrap kinds.
    rng : Generator, int or None
        Of the bootstrap kinds.
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
        raise ValueError("trials must add up to at least 1; got none: a share of nothing is unknown")
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
            note="Wald has no width where none or all succeed: use another kind" if low == high else "",
        )
    kind = "cluster Wilson" if kind is None else kind
    if kind in KINDS:
        raise ValueError(
            f"kind={kind!r} takes trials as independent and must come without cluster=; got both"
        )
    choice("kind", kind, CLUSTER_KINDS)
    codes = _codes(cluster, x.size)
    return clustered_share(x, n, codes, kind=kind, level=level, n_boot=n_boot, rng=rng, name=name)


def exact_coverage(n: int, p: ArrayLike, kind: Kind = "Wilson", level: float = 0.95) -> Floats:
    """Return the probability that the interval holds p, added up over all n + 1 counts.

    Parameters
    ----------
    n : int
        Trials, at least 1.
    p : float or array of float
        True shares, in [0, 1].
    kind : {"Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald"}
    level : float

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
    """Return how often each interval holds p, at its worst and on average over a range of p.

    Parameters
    ----------
    n : int
        Trials.
    level : float
    low, high : float
        Range of p; p = 0 and p = 1 are left out by default, where coverage is all or nothing for some.

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


def _codes(cluster: ArrayLike, size: int) -> NDArray[np.int64]:
    names = np.asarray(cluster)
    if names.shape != (size,):
        raise ValueError(f"cluster must have one name per row ({size}); got shape {names.shape}")
    codes, _ = pd.factorize(names)
    if (codes < 0).any():
        raise ValueError(f"cluster must name every row; got a missing name at row {int(np.argmin(codes))}")
    return codes.astype(np.int64)
