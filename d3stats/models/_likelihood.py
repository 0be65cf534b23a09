"""The Beta-Binomial log-likelihood, its gradient and its Hessian, for many parameter values at once.

One component has mean ``mu`` and intraclass correlation ``rho = 1 / (alpha + beta + 1)``. Written with rising
factorials (Griffiths, 1973; Smith, 1983, AS 189), with ``u_i = mu (1 - rho) + i rho``,
``v_i = (1 - mu) (1 - rho) + i rho`` and ``d_i = 1 - rho + i rho``,

    log f(s | n) = log C(n, s) + sum_{i<s} log u_i + sum_{i<n-s} log v_i - sum_{i<n} log d_i,

nothing is subtracted that is large, and ``rho = 0`` is the Binomial exactly. The sums over ``i`` are matrix
products with 0/1 matrices that depend on the cells alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Distinct (successes, trials) pairs with what the likelihood needs of them, computed once.

    Attributes
    ----------
    successes, trials : ndarray of int64, shape (cells,)
    log_choose : ndarray of float, shape (cells,)
        ``log C(trials, successes)``.
    below_successes, below_failures, below_trials : ndarray of float, shape (max trials, cells)
        1 where ``i < s``, ``i < n - s`` and ``i < n``.
    """

    successes: NDArray[np.int64]
    trials: NDArray[np.int64]
    log_choose: Floats
    below_successes: Floats
    below_failures: Floats
    below_trials: Floats

    @classmethod
    def of(cls, successes: NDArray[np.int64], trials: NDArray[np.int64]) -> Cells:
        """Prepare the pairs."""
        top = int(trials.max(initial=0))
        i = np.arange(top)[:, None]
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, top + 1)))])
        return cls(
            successes,
            trials,
            log_factorial[trials] - log_factorial[successes] - log_factorial[trials - successes],
            (i < successes).astype(np.float64),
            (i < trials - successes).astype(np.float64),
            (i < trials).astype(np.float64),
        )

    @classmethod
    def all_of(cls, trials: int) -> Cells:
        """Prepare every outcome 0..trials of one panel size."""
        return cls.of(np.arange(trials + 1), np.full(trials + 1, trials))


def log_pmf(mu: Floats, rho: Floats, cells: Cells) -> Floats:
    """Return ``log f`` of shape (..., cells) for `mu`, `rho` of shape (...,)."""
    i = np.arange(len(cells.below_trials))
    m, r = mu[..., None], rho[..., None]
    up = np.log(m * (1 - r) + i * r)
    down = np.log((1 - m) * (1 - r) + i * r)
    norm = np.log((1 - r) + i * r)
    result: Floats = (
        up @ cells.below_successes
        + down @ cells.below_failures
        - norm @ cells.below_trials
        + cells.log_choose
    )
    return result


def log_pmf_derivatives(mu: Floats, rho: Floats, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return ``log f``, its gradient and its Hessian in (mu, rho).

    Parameters
    ----------
    mu, rho : ndarray, shape (m,)

    Returns
    -------
    value : ndarray, shape (m, cells)
    gradient : ndarray, shape (2, m, cells)
        d/d mu, d/d rho.
    hessian : ndarray, shape (3, m, cells)
        d2/d mu2, d2/d mu d rho, d2/d rho2.
    """
    m = len(mu)
    i = np.arange(len(cells.below_trials))
    keep = (1 - rho)[:, None]
    slope_r = np.stack([i - mu[:, None], i - (1 - mu)[:, None]])
    u = np.stack([mu, 1 - mu])[..., None] * keep + i * rho[:, None]
    inverse = 1.0 / u
    ratio_m = keep * inverse
    ratio_r = slope_r * inverse
    # stacked: log u, du/dmu / u, du/drho / u, and the three products for the second derivatives
    stack = np.empty((6, 2, m, len(i)))
    np.log(u, out=stack[0])
    stack[1], stack[2] = ratio_m, ratio_r
    np.multiply(ratio_m, ratio_m, out=stack[3])
    np.multiply(ratio_m, ratio_r, out=stack[4])
    stack[4] += inverse
    np.multiply(ratio_r, ratio_r, out=stack[5])
    up = stack[:, 0] @ cells.below_successes
    down = stack[:, 1] @ cells.below_failures
    d = keep + i * rho[:, None]
    ratio_d = (i - 1.0) / d
    norm = np.stack([np.log(d), ratio_d, ratio_d * ratio_d]) @ cells.below_trials
    value = up[0] + down[0] - norm[0] + cells.log_choose
    gradient = np.stack([up[1] - down[1], up[2] + down[2] - norm[1]])
    hessian = np.stack([-up[3] - down[3], -up[4] + down[4], norm[2] - up[5] - down[5]])
    return value, gradient, hessian
