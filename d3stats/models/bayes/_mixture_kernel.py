"""The compiled twin of ``_mixture_density.py``: one call per step of the sampler.

Compiled because a sampler takes some hundred thousand dependent steps, each a handful of logarithms: numpy spends
its time on call overhead (measured 100 times slower). The numpy density is the reference that tests hold this to.
Importing this module loads numba; only a fit does so.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.typing import NDArray

from d3stats.models.mixtures.compiled import Floats, _compiled, _tables


@_compiled
def _shares(free: Floats, out: Floats) -> float:
    """Write the softmax of (free, 0) to `out`; return the log of the last share."""
    n = len(free)
    top = 0.0
    for j in range(n):
        top = max(top, free[j])
    total = exp(-top)
    for j in range(n):
        out[j] = exp(free[j] - top)
        total += out[j]
    for j in range(n):
        out[j] /= total
    out[n] = exp(-top) / total
    return -top - log(total)


@_compiled
def _round(
    row: Floats,
    k: int,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    log_choose: Floats,
    weights: Floats,
    edge: float,
    by_row: Floats,
    up: Floats,
    down: Floats,
    norm: Floats,
) -> float:
    """Add the gradient of one round's log likelihood to `by_row` and return its value."""
    weight, gaps, held = np.empty(k), np.empty(k + 1), np.zeros(k)
    mu, rho, by_mu, by_rho = np.empty(k), np.empty(k), np.zeros(k), np.zeros(k)
    log_weight, joint = np.empty(k), np.empty(k)
    last = _shares(row[: k - 1], weight)
    _shares(row[k - 1 : 2 * k - 1], gaps)
    so_far = 0.0
    for j in range(k):
        log_weight[j] = last + (row[j] if j < k - 1 else 0.0)
        so_far += gaps[j]
        mu[j] = min(max(so_far, edge), 1 - edge)
        t = min(max(row[2 * k - 1 + j], -40.0), 40.0)
        rho[j] = min(max(1.0 / (1.0 + exp(-t)), edge), 1 - edge)
        _tables(mu[j], rho[j], up[j], down[j], norm[j])
    value, n_debates = 0.0, 0.0
    for c in range(len(weights)):
        if weights[c] == 0.0:
            continue
        s, n = successes[c], trials[c]
        top = -np.inf
        for j in range(k):
            joint[j] = log_weight[j] + log_choose[c] + up[j, 0, s] + down[j, 0, n - s] - norm[j, 0, n]
            top = max(top, joint[j])
        total = 0.0
        for j in range(k):
            joint[j] = exp(joint[j] - top)
            total += joint[j]
        value += weights[c] * (top + log(total))
        n_debates += weights[c]
        for j in range(k):
            share = weights[c] * joint[j] / total
            held[j] += share
            by_mu[j] += share * (up[j, 1, s] - down[j, 1, n - s])
            by_rho[j] += share * (up[j, 2, s] + down[j, 2, n - s] - norm[j, 1, n])
    # A gap lifts every mean to its right.
    mean_lift = 0.0
    for j in range(k - 1, -1, -1):
        if j < k - 1:
            by_mu[j] += by_mu[j + 1]
        mean_lift += gaps[j] * by_mu[j]
    for j in range(k):
        if j < k - 1:
            by_row[j] += held[j] - n_debates * weight[j]
        by_row[k - 1 + j] += gaps[j] * (by_mu[j] - mean_lift)
        by_row[2 * k - 1 + j] += by_rho[j] * rho[j] * (1 - rho[j])
    return value


@_compiled
def _prior(row: Floats, k: int, priors: Floats, by_row: Floats) -> float:
    """Add the gradient of the first round's log prior to `by_row` and return its value."""
    value = 0.0
    for part in range(2):
        start, size, a = (0, k, priors[0]) if part == 0 else (k - 1, k + 1, priors[1])
        share = np.empty(size)
        last = _shares(row[start : start + size - 1], share)
        value += a * last
        for j in range(size - 1):
            value += a * (last + row[start + j])
            by_row[start + j] += a - a * size * share[j]
    for j in range(2 * k - 1, 3 * k - 1):
        t = row[j]
        soft = max(-t, 0.0) + log(1.0 + exp(-abs(t)))  # -log rho
        value -= priors[2] * soft + priors[3] * (soft + t)
        by_row[j] += priors[2] * exp(-soft - t) - priors[3] * exp(-soft)
    return value


@_compiled
def log_density(
    x: Floats,
    k: int,
    spacing: Floats,
    priors: Floats,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    log_choose: Floats,
    weights: Floats,
    edge: float,
) -> tuple[float, Floats]:
    """Return log density and gradient; arguments as the attributes of ``MixtureDensity``."""
    r, width = len(weights), 3 * k - 1
    top = 0
    for c in range(len(trials)):
        top = max(top, trials[c])
    up, down = np.zeros((k, 6, top + 1)), np.zeros((k, 6, top + 1))
    norm = np.zeros((k, 3, top + 1))
    rows, by_row, gradient = np.empty((r, width)), np.zeros((r, width)), np.zeros(len(x))
    rows[0] = x[:width]
    sizes = np.zeros(3)
    if r > 1:
        for o in range(3):
            sizes[o] = exp(min(max(x[len(x) - 3 + o], -30.0), 30.0))
    for i in range(1, r):
        for j in range(width):
            o = 0 if j < k - 1 else (1 if j < 2 * k - 1 else 2)
            rows[i, j] = rows[i - 1, j] + x[i * width + j] * sizes[o] * spacing[i - 1]
    value = 0.0
    for i in range(r):
        value += _round(
            rows[i], k, successes, trials, log_choose, weights[i], edge, by_row[i], up, down, norm
        )
    # A step moves its own round and all later ones.
    for i in range(r - 1, 0, -1):
        for j in range(width):
            o = 0 if j < k - 1 else (1 if j < 2 * k - 1 else 2)
            here, size = x[i * width + j], sizes[o] * spacing[i - 1]
            gradient[i * width + j] = by_row[i, j] * size - here
            gradient[len(x) - 3 + o] += by_row[i, j] * here * size
            value -= 0.5 * here * here
            by_row[i - 1, j] += by_row[i, j]
    value += _prior(rows[0], k, priors, by_row[0])
    gradient[:width] = by_row[0]
    if r > 1:
        for o in range(3):
            ratio = (sizes[o] / priors[4]) ** 2
            value += log(sizes[o]) - 0.5 * ratio
            gradient[len(x) - 3 + o] += 1.0 - ratio
    return value, gradient
