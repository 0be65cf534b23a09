"""Differences of shares or means of several sides, such as own and other answers, or two independent logs.

Shares: each side has its own mid-p limits at as many trials as its clusters are worth, and the limits of the contrast
recover its variance from them (MOVER; Zou and Donner, 2008). So a side without an event still adds what its trials
leave open, and a side of three trials adds the limits of three trials. Clusters that several sides share add a
covariance. Means: the cluster-robust errors of the sides, with Satterthwaite's degrees of freedom (Welch, 1947).

On two independent sides of single trials the false positives at 5 % are at most .058 (all of 180/20, 90/10, 270/30,
50/50, 100/100, 3/200, 10/10, 5/5 and any share), and 95 % limits cover .935 or more, .92 at two sides of five. At two
sides of ten it is .927 at shares of .03 and .97, .93 or more elsewhere and .963 on average. One of ten against nine
of ten then has the limit -.934, and misses -.94.

References
----------
Zou and Donner (2008), Statistics in Medicine 27, 1693, equation 4. Newcombe (1998), Statistics in Medicine 17, 873
(the same with Wilson's limits, which miss the level on a side of few trials). Korn and Graubard (1998), Survey
Methodology 24, 193 (exact limits at an effective number of trials). Welch (1947), Biometrika 34, 28. Satterthwaite
(1946), Biometrics Bulletin 2, 110.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats
from d3stats._check import probability
from d3stats.estimate import Estimate
from d3stats.resampling.cluster_t import cluster_t, student_limits
from d3stats.resampling.clusters import ONE_CLUSTER, Statistic
from d3stats.resampling.degrees import (
    degrees_of_freedom,
    effective_clusters,
    mean_error,
    too_unequal,
)

__all__ = ["MOVER", "WELCH", "contrast_of_means", "contrast_of_shares", "share_reaches"]


MOVER = "mid-p MOVER"
"""The kind of limits of a contrast of shares."""
WELCH = "Welch t"
"""The kind of limits of a contrast of means."""
_ROUNDING = 1e-9
_LEAST_TAIL = 1e-280
_FARTHEST = 8.0
"""Limits are sought up to so many standard errors; a smaller p-value than 1e-15 is that."""


def contrast_of_shares(
    name: str,
    totals: ArrayLike,
    weights: Sequence[float],
    *,
    n: int | None = None,
    level: float = 0.95,
    note: str = "",
) -> Estimate:
    """Estimate a weighted sum of shares of several sides, with mid-p MOVER limits over clusters and their p-value.

    Parameters
    ----------
    name : str
        What is estimated.
    totals : array_like of float, shape (clusters, 2 * sides)
        Each cluster's sum of values in [0, 1] and number of trials on the first side, then on the second, and so on;
        0 and 0 where a cluster has no trial on a side.
    weights : sequence of float
        One per side, (1, -1) for a difference.
    n : int, optional
        The number of observations; by default all trials.
    level : float
        Coverage aimed at, in (0, 1).
    note : str
        For the estimate.

    Returns
    -------
    Estimate
        `se` is half the width of the limits at one standard error. The p-value is that of 0, the level at which a limit
        is 0. There are no limits where one cluster has nearly all
        trials of a side (:func:`~d3stats.resampling.too_unequal`).

    Raises
    ------
    ValueError
        A side without a trial, a value outside [0, 1], or another number of weights than of sides.

    Notes
    -----
    A side of N trials is worth N / deff trials, with deff = (N - 1) se^2 / (p (1 - p)), at least 1, and the squared
    error of :func:`~d3stats.resampling.share_limits`. For single trials deff is 1. Student's quantile takes the place
    of the normal one: the variation of deff is measured by fourth powers of the residuals. It is at least 2 / (K - 1),
    as far as clusters are larger than one trial; K is Kish's number of clusters. Limits are never wider than those of K
    trials. These alone hold where none or all succeed, since deff cannot be measured there. The correlation of two
    sides is measured from the products of their residuals and shrunken by m / (m + 1). Here m is Kish's number of the
    clusters that have a product, weighted by its size.

    Examples
    --------
    Nine errors in 180 trials against none in 20:

    >>> import numpy as np
    >>> one, other = np.zeros((180, 4)), np.zeros((20, 4))
    >>> one[:, 1] = other[:, 3] = 1
    >>> one[:9, 0] = 1
    >>> found = contrast_of_shares("difference", np.concatenate([one, other]), (1, -1))
    >>> print(found, round(found.p_value, 2))
    difference: 0.050 [-0.091, 0.090] (95 % mid-p MOVER, n = 200 in 200 clusters) 0.37
    """
    from scipy.special import ndtri

    level = probability("level", level, open_interval=True)
    array, c = np.asarray(totals, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2 * len(c):
        raise ValueError(f"totals must have two columns per weight ({2 * len(c)}); got shape {array.shape}")
    above, below = array[:, ::2], array[:, 1::2]
    if not (below.sum(axis=0) > 0).all():
        raise ValueError(
            f"every side must have a trial; got none on side {int(np.argmin(below.sum(axis=0)))}"
        )
    if not ((above >= -_ROUNDING * below) & (above <= (1 + _ROUNDING) * below)).all():
        raise ValueError("sums must lie between 0 and the number of trials; got a value outside [0, 1]")
    value = float(c @ (above.sum(axis=0) / below.sum(axis=0)))
    size: dict[str, Any] = {"name": name, "value": value, "kind": MOVER, "level": level}
    size |= {
        "n": round(float(below.sum())) if n is None else n,
        "n_clusters": int((below > 0).any(axis=1).sum()),
    }
    if why := next((why for k in range(len(c)) if (why := too_unequal(below[:, k], what="trials"))), ""):
        said = "; ".join(part for part in (note, f"on one side: {why}") if part)
        return Estimate(low=None, high=None, note=said, **size)
    sides = [_Side.of(above[:, k], below[:, k]) for k in range(len(c))]
    reach = _reach(sides, c)
    bounds = float(np.minimum(c, 0).sum()), float(np.maximum(c, 0).sum())
    z = float(ndtri((1 + level) / 2))
    (low, high), (inner_low, inner_high) = (
        (value - float(reach(at, -1.0)), value + float(reach(at, 1.0))) for at in (z, 1.0)
    )
    return Estimate(
        low=max(low, bounds[0]),
        high=min(high, bounds[1]),
        se=(inner_high - inner_low) / 2,
        p_value=_p_value(value, reach, z),
        note=note,
        **size,
    )


class Reaches(NamedTuple):
    """Shares of several sides, how far their limits are below and above, and the correlations of the shares."""

    share: Floats
    below: Floats
    above: Floats
    alike: Floats


def share_reaches(totals: Floats, level: float) -> Reaches | str:
    """Return what limits of any contrast of these sides are made of, or why one of them has none.

    `totals` are as for :func:`contrast_of_shares`. With weights c the lower limit of ``c @ share`` is the square root
    of ``d @ alike @ d`` below it. There d is c times `below` where c is positive and c times `above` elsewhere.
    """
    from scipy.special import ndtri

    above, below = totals[:, ::2], totals[:, 1::2]
    if why := next((why for each in below.T if (why := too_unequal(each, what="trials"))), ""):
        return why
    sides = [_Side.of(*each) for each in zip(above.T, below.T, strict=True)]
    z = float(ndtri((1 + level) / 2))
    down, up = ([_reach([side], np.ones(1))(z, end) for side in sides] for end in (-1.0, 1.0))
    alike = _correlations([side.residuals for side in sides])
    return Reaches(np.array([side.share for side in sides]), np.array(down), np.array(up), alike)


class _Side(NamedTuple):
    """A share, what its trials are worth, the degrees of freedom of that, Kish's number, and clusters' residuals."""

    share: float
    worth: float
    df: float
    kish: float
    residuals: Floats

    @classmethod
    def of(cls, above: Floats, below: Floats) -> _Side:
        trials, kish = float(below.sum()), effective_clusters(below)
        share = min(max(float(above.sum()) / trials, 0.0), 1.0)
        residuals, spread = above - share * below, share * (1 - share)
        if spread <= _ROUNDING:
            return cls(share, kish, np.inf, kish, np.zeros(len(below)))
        away, sizes = residuals[below > 0], below[below > 0]
        se = mean_error(away, sizes, spread)
        deff = se**2 / spread * (trials - 1)
        square = away**2
        own = square * (1 - 1 / np.maximum(sizes, 1.0))
        measured = float(((own - own.mean()) ** 2).sum()) / max(float(square.sum()), _ROUNDING) ** 2
        larger = max(1 - trials / float(sizes @ sizes), 0.0)
        variation = max(measured, 2 * larger**2 / degrees_of_freedom(sizes))
        df = max(2 / variation, 1.0) if variation > 0 else np.inf
        return cls(share, trials / max(deff, 1.0), df, kish, residuals)


def _reach(sides: Sequence[_Side], c: Floats) -> Callable[[float, float], float]:
    """Return the function of z and direction (-1, 1) that is the distance of that limit from the contrast."""
    from scipy.special import ndtr, stdtrit

    share = np.array([side.share for side in sides] * 2)
    worth = np.array([side.worth for side in sides] + [side.kish for side in sides])
    df = np.array([side.df for side in sides])
    correlation = _correlations([side.residuals for side in sides]) * np.sign(np.outer(c, c))

    def reach(z: float, direction: float) -> float:
        tail = float(ndtr(-z))
        t = np.where(np.isinf(df), z, -stdtrit(np.where(np.isinf(df), 1.0, df), tail))
        tails = np.maximum(np.concatenate([ndtr(-t), np.full(len(df), tail)]), _LEAST_TAIL)
        up = np.tile(c * direction > 0, 2)
        at = np.where(up, 1 - share, share)
        both = at - lower_mid_p(at * worth, worth, tails)
        away = np.abs(c) * np.minimum(both[: len(df)], both[len(df) :])
        return float(np.sqrt(max(away @ correlation @ away, 0.0)))

    return reach


def _correlations(residuals: Sequence[Floats]) -> Floats:
    """Return the correlations of the sides' shares from the clusters that they have in common, shrunken."""
    found = np.eye(len(residuals))
    for i, one in enumerate(residuals):
        for j, other in enumerate(residuals[:i]):
            product = one * other
            total = float(product.sum())
            if (product != 0).any():
                informing = effective_clusters(np.abs(product))
                scale = float(np.sqrt((one @ one) * (other @ other)))
                found[i, j] = found[j, i] = total / scale * informing / (informing + 1)
    return found


def lower_mid_p(successes: Floats, trials: Floats, tail: Floats) -> Floats:
    """Return the p below which so many successes or more have less than `tail`, their own number counted half.

    Successes and trials need not be whole: the binomial tails are then incomplete beta functions.
    """
    from scipy.special import betainc, betaln, xlog1py, xlogy

    x, n = np.maximum(successes, 0.0), trials
    inside, open_ = x > _ROUNDING, x < n * (1 - _ROUNDING)
    x, rest = np.where(inside, x, 1.0), np.where(open_, n - x, 0.0)
    b = np.where(open_, rest, 1.0)
    scales = betaln(x, rest + 1), betaln(x + 1, b)
    low, high = np.zeros(len(x)), x / (x + rest)
    # I_p(a, b) is at most p^a / (a B(a, b)), and near it where p is small.
    at = np.minimum(high / 2, np.exp((np.log(2 * tail * x) + scales[0]) / x))
    for _ in range(100):
        reached = (betainc(x, rest + 1, at) + np.where(open_, betainc(x + 1, b, at), 0.0)) / 2
        low, high = np.where(reached < tail, at, low), np.where(reached < tail, high, at)
        slope = np.exp(xlogy(x, at) + xlog1py(rest, -at) - scales[0])
        slope += np.where(open_, np.exp(xlogy(x + 1, at) + xlog1py(b - 1, -at) - scales[1]), 0.0)
        # Newton's step for the logarithms of both, or half of the bracket where that step leaves it.
        step = at * np.exp(
            np.clip(
                np.log(tail / np.maximum(reached, 1e-300)) * 2 * reached / np.maximum(slope, 1e-300), -50, 50
            )
        )
        moved = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = np.abs(moved - at) <= 1e-12 * at
        at = moved
        if done.all():
            break
    return np.where(inside, at, 0.0)


def _p_value(value: float, reach: Callable[[float, float], float], z: float) -> float:
    """Return the p-value of 0: 1 less the level at which a limit is 0, on the same side of `z` as the interval says."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    size, direction = abs(value), -1.0 if value > 0 else 1.0

    def beyond(at: float) -> float:
        return size - reach(at, direction)

    if size <= _ROUNDING or beyond(0.0) <= 0:
        return 1.0
    low, high = (z, _FARTHEST) if beyond(z) > 0 else (0.0, z)
    if low and beyond(high) > 0:
        return 2 * float(ndtr(-high))
    return 2 * float(ndtr(-brentq(beyond, low, high, xtol=1e-7)))


def contrast_of_means(
    name: str,
    sides: Sequence[ArrayLike],
    statistic: Statistic,
    weights: Sequence[float],
    n: int,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    note: str = "",
) -> Estimate:
    """Estimate a weighted sum of a statistic of independent sides, with Welch's t limits over each side's clusters.

    Parameters
    ----------
    name : str
        What is estimated.
    sides : sequence of array_like of float, shape (clusters, columns)
        Sums of each side's clusters. No cluster is on two sides.
    statistic : callable
        Sums of shape (m, columns) to values of shape (m, 1) or (m,), a mean for instance.
    weights : sequence of float
        One per side, (1, -1) for a difference.
    n : int
        The number of observations.
    level : float
        Coverage aimed at, in (0, 1).
    bounds : tuple of float
        Where limits are cut.
    note : str
        For the estimate.

    Returns
    -------
    Estimate
        Without limits where a side has one cluster, or clusters that are all alike; the note says so.

    Examples
    --------
    >>> from d3stats.resampling import ratios
    >>> one, other = [[1.0, 1], [2.0, 1], [4.0, 1]], [[1.0, 1], [1.5, 1], [0.5, 1], [1.0, 1]]
    >>> print(contrast_of_means("difference", (one, other), ratios((0, 1)), (1, -1), 7))
    difference: 1.333 [-2.220, 4.886] (95 % Welch t, n = 7 in 7 clusters)
    """
    level = probability("level", level, open_interval=True)
    arrays = [np.asarray(side, dtype=np.float64) for side in sides]
    size: dict[str, Any] = {"name": name, "kind": WELCH, "n": n, "level": level}
    size["n_clusters"] = sum(map(len, arrays))
    why = ONE_CLUSTER if min(map(len, arrays)) < 2 else ""
    if why:
        values = [float(np.ravel(statistic(side.sum(axis=0)[None]))[0]) for side in arrays]
    else:
        found = [cluster_t(side, statistic, level=level) for side in arrays]
        values = [float(side.estimate[0]) for side in found]
        why = next((side.reasons[0] for side in found if side.reasons[0]), "")
    value = float(np.dot(weights, values))
    if why:
        said = "; ".join(part for part in (note, f"on one side: {why}") if part)
        return Estimate(value=value, low=None, high=None, note=said, **size)
    square = np.array([(w * float(side.se[0])) ** 2 for w, side in zip(weights, found, strict=True)])
    df = float(square.sum() ** 2 / (square**2 / [float(np.ravel(side.df)[0]) for side in found]).sum())
    se = float(np.sqrt(square.sum()))
    low, high, p_value = student_limits(value, se, df, level)
    low, high = max(low, bounds[0]), min(high, bounds[1])
    return Estimate(value=value, low=low, high=high, se=se, p_value=p_value, note=note, **size)
