"""Share of right votes at each stated confidence: isotonic and Beta calibration, fitted and cross-fitted.

References
----------
Zadrozny and Elkan (2002), KDD, 694 (isotonic calibration). Kull, Silva Filho and Flach (2017), Electronic Journal of
Statistics 11, 5052 (Beta calibration, equation 3 of section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import refuse_first

__all__ = ["BetaMap", "IsotonicMap", "cross_fitted", "fit_beta", "fit_isotonic"]


_EDGE = 1e-6
"""A confidence of 0 or 1 has no finite log odds; it is moved so far inward."""
_STEEPEST, _HIGHEST = 100.0, 100.0
"""Bounds of the slopes and of the intercept, for votes that some confidence separates into right and wrong."""


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A share of right votes that never falls as the confidence rises: linear between knots, flat outside.

    Attributes
    ----------
    knots : ndarray of float, shape (m,)
        Stated confidences, rising.
    shares : ndarray of float, shape (m,)
        Recalibrated ones.

    Examples
    --------
    >>> found = fit_isotonic([0.6, 0.7, 0.8, 0.9], [1, 0, 1, 1])
    >>> found([0.5, 0.65, 0.95]).tolist()
    [0.5, 0.5, 1.0]
    """

    knots: Floats
    shares: Floats

    def __call__(self, confidence: ArrayLike) -> Floats:
        """Return the recalibrated confidences, of the shape of `confidence`."""
        return np.asarray(np.interp(np.asarray(confidence, dtype=np.float64), self.knots, self.shares))


@dataclass(frozen=True)
class BetaMap:
    """Log odds that are linear in log c and log(1 - c): ``logit p = a log c - b log(1 - c) + m``, with a, b >= 0.

    Attributes
    ----------
    a, b, m : float
        Slopes and intercept; a = b = 1 and m = 0 change nothing.

    Examples
    --------
    >>> BetaMap(1.0, 1.0, 0.0)([0.2, 0.9]).round(6).tolist()
    [0.2, 0.9]
    """

    a: float
    b: float
    m: float

    def __call__(self, confidence: ArrayLike) -> Floats:
        """Return the recalibrated confidences, of the shape of `confidence`."""
        from scipy.special import expit

        up, down = _features(np.asarray(confidence, dtype=np.float64))
        return np.asarray(expit(self.a * up + self.b * down + self.m))


def _features(confidence: Floats) -> tuple[Floats, Floats]:
    c = np.clip(confidence, _EDGE, 1.0 - _EDGE)
    return np.log(c), -np.log1p(-c)


def _checked(confidence: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    c, y = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if c.ndim != 1 or c.shape != y.shape or not c.size:
        raise ValueError(
            f"confidence and right must have the same shape (votes,), not empty; got {c.shape} and {y.shape}"
        )
    refuse_first("confidence", "must be a number from 0 to 1", c, ~((c >= 0) & (c <= 1)))
    refuse_first("right", "must be 0 or 1", y, (y != 0) & (y != 1))
    return c, y


def fit_isotonic(confidence: ArrayLike, right: ArrayLike) -> IsotonicMap:
    """Fit the non-decreasing share of right votes by least squares (pool adjacent violators).

    Parameters
    ----------
    confidence, right : array_like, shape (votes,)
        Stated confidences from 0 to 1, and 1 for a right vote and 0 for a wrong one.

    Returns
    -------
    IsotonicMap
        Votes of the same confidence have one share.

    Raises
    ------
    ValueError
        When shapes differ or a value is outside its range.

    Examples
    --------
    >>> fit_isotonic([0.5, 0.5, 0.9, 0.9], [0, 1, 1, 1]).shares.tolist()
    [0.5, 1.0]
    """
    from scipy.optimize import isotonic_regression

    c, y = _checked(confidence, right)
    knots, at, times = np.unique(c, return_inverse=True, return_counts=True)
    shares = np.bincount(at, y) / times
    return IsotonicMap(knots, np.asarray(isotonic_regression(shares, weights=times).x, dtype=np.float64))


def fit_beta(confidence: ArrayLike, right: ArrayLike) -> BetaMap:
    """Fit Beta calibration by maximum likelihood, slopes at least 0 (Kull, Silva Filho and Flach, 2017).

    Parameters
    ----------
    confidence, right : array_like, shape (votes,)
        Stated confidences from 0 to 1 (moved inward by 1e-6), and 1 for a right vote and 0 for a wrong one.

    Returns
    -------
    BetaMap

    Raises
    ------
    ValueError
        When shapes differ or a value is outside its range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> c = rng.beta(4, 2, 50_000)
    >>> found = fit_beta(c, rng.random(50_000) < BetaMap(0.5, 0.8, -0.2)(c))
    >>> round(found.a, 1), round(found.b, 1), round(found.m, 1)
    (0.5, 0.8, -0.2)
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    c, y = _checked(confidence, right)
    values, at, times = np.unique(c, return_inverse=True, return_counts=True)
    hits = np.bincount(at, y)
    up, down = _features(values)
    columns = np.column_stack([up, down, np.ones_like(up)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        z = columns @ theta
        value = float((times * np.logaddexp(0.0, z) - hits * z).sum()) / len(c)
        return value, columns.T @ (times * expit(z) - hits) / len(c)

    how: dict[str, Any] = {
        "method": "L-BFGS-B",
        "bounds": [(0.0, _STEEPEST), (0.0, _STEEPEST), (-_HIGHEST, _HIGHEST)],
        "options": {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9},
    }
    found: Any = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, **how)
    a, b, m = map(float, found.x)
    return BetaMap(a, b, m)


def cross_fitted(
    fit: Callable[[Floats, Floats], Callable[[Floats], Floats]], confidence: Floats, right: Floats, fold: Ints
) -> Floats:
    """Return the confidence of each vote, recalibrated by a fit to the votes of the other folds.

    Parameters
    ----------
    fit : callable
        :func:`fit_isotonic` or :func:`fit_beta`.
    confidence, right : ndarray of float, shape (votes,)
    fold : ndarray of int64, shape (votes,)
        At least two different ones; whole clusters have one fold.

    Returns
    -------
    ndarray of float, shape (votes,)

    Examples
    --------
    >>> c, y = np.array([0.9, 0.9, 0.9, 0.9]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> cross_fitted(fit_isotonic, c, y, np.array([0, 0, 1, 1])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    result = np.empty_like(confidence)
    for one in np.unique(fold):
        inside = fold == one
        result[inside] = fit(confidence[~inside], right[~inside])(confidence[inside])
    return result
