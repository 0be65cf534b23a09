"""The mixture log-likelihood in numpy matrices, and scipy's quasi-Newton search on it: oracles for the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import logsumexp, softmax

from d3stats.counts import Counts
from d3stats.models.mixtures.climb import REACHED, Objective, Optima, Space, settled, spread_starts
from d3stats.models.mixtures.law import Cells
from d3stats.models.mixtures.result import FitSettings, MixtureFit

Floats = NDArray[np.float64]


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


def derivatives(objective: Objective, x: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value (points,), gradient (points, p) and Hessian (points, p, p)."""
    k, m = objective.space.n_components, len(x)
    log_weight, mu, rho = objective.space.split(x)
    value, gradient, hessian = log_pmf_derivatives(mu.ravel(), rho.ravel(), objective.cells)
    value = value.reshape(m, k, -1)
    gradient, hessian = gradient.reshape(2, m, k, -1), hessian.reshape(3, m, k, -1)
    if k == 1:
        posterior = np.ones_like(value)
        total = (weights * value[:, 0]).sum(axis=1)
    else:
        joint = value + log_weight[:, :, None]
        posterior = softmax(joint, axis=1)
        total = (weights * logsumexp(joint, axis=1)).sum(axis=1)
    w = np.exp(log_weight)
    share = posterior * weights[:, None, :]

    # score[c] = d log f(c) / dx, one row per parameter
    score = np.concatenate(
        [posterior[:, :-1] - w[:, :-1, None], posterior * gradient[0], posterior * gradient[1]], axis=1
    )
    grad = (score * weights[:, None, :]).sum(axis=2)
    hess = -(score * weights[:, None, :]) @ score.transpose(0, 2, 1)

    diagonal = np.arange(k)
    at_mu, at_rho = k - 1 + diagonal, 2 * k - 1 + diagonal
    by_mu = (share * gradient[0]).sum(axis=2)
    by_rho = (share * gradient[1]).sum(axis=2)
    hess[:, at_mu, at_mu] += (share * (hessian[0] + gradient[0] ** 2)).sum(axis=2)
    mixed = (share * (hessian[1] + gradient[0] * gradient[1])).sum(axis=2)
    hess[:, at_mu, at_rho] += mixed
    hess[:, at_rho, at_mu] += mixed
    hess[:, at_rho, at_rho] += (share * (hessian[2] + gradient[1] ** 2)).sum(axis=2)
    if k > 1:
        _add_weight_terms(hess, w, share.sum(axis=2), by_mu, by_rho)
    if objective.penalty:
        total = total + objective.penalty * objective._log_prior(log_weight, mu, rho)
        _add_prior(objective, grad, hess, w, mu, rho)
    return total, grad, hess


def _add_weight_terms(hess: Floats, w: Floats, held: Floats, by_mu: Floats, by_rho: Floats) -> None:
    """Add the second derivatives that involve the weights (softmax), in place."""
    k = w.shape[1]
    free, held_free = w[:, :-1], held[:, :-1]
    n = held.sum(axis=1)[:, None, None]
    outer = held_free[:, :, None] * free[:, None, :]
    block = 2.0 * n * free[:, :, None] * free[:, None, :] - outer - outer.transpose(0, 2, 1)
    j = np.arange(k - 1)
    block[:, j, j] += held_free - n[:, 0] * free
    hess[:, : k - 1, : k - 1] += block
    indicator = np.eye(k)[: k - 1]
    for start, by in ((k - 1, by_mu), (2 * k - 1, by_rho)):
        cross = (indicator[None] - free[:, :, None]) * by[:, None, :]
        hess[:, : k - 1, start : start + k] += cross
        hess[:, start : start + k, : k - 1] += cross.transpose(0, 2, 1)


def _add_prior(objective: Objective, grad: Floats, hess: Floats, w: Floats, mu: Floats, rho: Floats) -> None:
    k, b = objective.space.n_components, objective.space.n_binomial
    c = objective.penalty
    if k > 1:
        free = w[:, :-1]
        grad[:, : k - 1] += c * (1 - k * free)
        curvature = k * free[:, :, None] * free[:, None, :]
        j = np.arange(k - 1)
        curvature[:, j, j] -= k * free
        hess[:, : k - 1, : k - 1] += c * curvature
    at = k - 1 + np.arange(k)
    grad[:, at] += c * (1 / mu - 1 / (1 - mu))
    hess[:, at, at] -= c * (1 / mu**2 + 1 / (1 - mu) ** 2)
    at = 2 * k - 1 + np.arange(b, k)
    r = np.maximum(rho[:, b:], 1e-12)
    grad[:, at] += c * (1 / r - 1 / (1 - r))
    hess[:, at, at] -= c * (1 / r**2 + 1 / (1 - r) ** 2)


def search_by_lbfgs(
    cells: Cells,
    weights: Floats,
    space: Space,
    *,
    n_starts: int = 30,
    penalty: float = 0.0,
    max_iter: int = 500,
    rng: np.random.Generator | None = None,
) -> Optima:
    """Maximise for one data set with scipy's L-BFGS-B (Byrd, Lu, Nocedal and Zhu, 1995)."""
    objective = Objective(cells, space, penalty)
    share = cells.successes / np.maximum(cells.trials, 1)
    starts = spread_starts(space, share, weights[None], n_starts, rng, interior=penalty > 0)[0]

    def negative(point: Floats) -> tuple[float, Floats]:
        value, gradient, _ = derivatives(objective, point[None], weights[None])
        return -float(value[0]), -gradient[0]

    options = {"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
    bounds = Bounds(*space.bounds())
    found = [
        minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        for start in starts
    ]
    value = np.array([-one.fun for one in found])
    best = int(value.argmax())
    reached = np.array([(value >= value[best] - REACHED).sum()])
    return Optima(found[best].x[None], value[[best]], np.array([found[best].nit]), reached)


def fit_by_lbfgs(
    successes: Any,
    trials: Any,
    weights: Any,
    *,
    n_components: int = 2,
    n_binomial: int = 0,
    n_starts: int = 12,
    max_iter: int = 500,
    tol: float = 1e-10,
    penalty: float = 0.0,
) -> MixtureFit:
    """Fit as :func:`d3stats.fit_beta_binomial_mixture` does, by the other search on the other likelihood."""
    s = np.asarray(list(successes))
    counts = Counts.from_columns(s, np.broadcast_to(trials, s.shape), weights=weights)
    space, cells = Space(n_components, n_binomial), Cells.of(*counts.keys.T)
    found = search_by_lbfgs(
        cells, counts.weights, space, n_starts=n_starts, penalty=penalty, max_iter=max_iter
    )
    converged = settled(Objective(cells, space, penalty), found.x, counts.weights[None], tol)
    # A search of the tests alone is no method that a setting may name; nothing reads it from here.
    settings = FitSettings(n_components, n_binomial, "em", n_starts, max_iter, tol, penalty)
    return MixtureFit._from_optimum(counts, settings, found, converged, 0)
