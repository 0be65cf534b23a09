"""The log posterior density of Beta-Binomial mixtures in machine code, with its gradient.

This is the density of :func:`~d3stats.models.bayes.mixture.mixture_model` and
:func:`~d3stats.models.bayes.rounds.rounds_model` with priors given as numbers, in coordinates free of bounds. Tests
compare it with the log density of those PyMC models. Importing this module loads numba; only a fit does so.

A round has a point ``(z, y, t)`` of R^(3K - 1): weights are the softmax of ``(z_1 .. z_{K-1}, 0)``; the K + 1 gaps
that the ordered means cut [0, 1] into are the softmax of ``(y_1 .. y_K, 0)``; correlations are
``rho = 1 / (1 + exp(-t))``. Later rounds add steps of a random walk: size times standard normal innovation. The
Jacobian of a softmax turns Dirichlet(a) into ``sum_k a_k log w_k``, that of the logistic function Beta(a, b) into
``a log rho + b log(1 - rho)``. Constants are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._compiled import compiled
from d3stats.models.mixtures.compiled import _tables
from d3stats.models.mixtures.law import Cells

EDGE = 1e-9
"""The least distance of a mean or a correlation from 0 and 1 in the likelihood."""
MODE_DROP = 20.0
"""A chain may start at most so far below the best mode's log density, because lower regions hold next to no mass."""


@dataclass(frozen=True)
class MixtureDensity:
    """Log posterior of mixtures in R rounds: a prior for the first round, a random walk after it.

    A point holds the first round's (z, y, t); with R > 1 also R - 1 rows of innovations and the logs of three step
    sizes (of weights, gaps, correlations). `weights`, shape (rounds, cells), counts the debates in each cell of each
    round, `priors` holds the fields of ``MixturePriors``, `spacing` the square roots of how many rounds lie between
    one and the next.
    """

    cells: Cells
    weights: Floats
    n_components: int
    priors: tuple[float, ...]
    spacing: Floats

    @property
    def width(self) -> int:
        """Numbers per round."""
        return 3 * self.n_components - 1

    @property
    def size(self) -> int:
        """Length of a point."""
        n_rounds = len(self.weights)
        return n_rounds * self.width + (3 if n_rounds > 1 else 0)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return log density and gradient at one point."""
        c, priors = self.cells, np.array(self.priors)
        return log_density(
            x, self.n_components, self.spacing, priors, c.successes, c.trials, c.log_choose, self.weights, EDGE
        )  # fmt: skip

    def natural(self, x: Floats) -> dict[str, Floats]:
        """Return ``weight, mean, rho`` of shape (..., rounds, K) and, with rounds, ``step`` of shape (..., 3)."""
        k, r, step = self.n_components, len(self.weights), None
        rows = x[..., None, : self.width]
        if r > 1:
            step = np.exp(np.clip(x[..., -3:], -30.0, 30.0))
            innovation = x[..., self.width : -3].reshape(*x.shape[:-1], r - 1, self.width)
            moves = innovation * np.repeat(step, [k - 1, k, k], axis=-1)[..., None, :] * self.spacing[:, None]
            rows = np.cumsum(np.concatenate([rows, moves], axis=-2), axis=-2)
        gaps = _softmax(rows[..., k - 1 : 2 * k - 1])
        found = {
            "weight": _softmax(rows[..., : k - 1]),
            "mean": np.clip(np.cumsum(gaps, axis=-1)[..., :-1], EDGE, 1 - EDGE),
            "rho": np.clip(1.0 / (1.0 + np.exp(-rows[..., 2 * k - 1 :])), EDGE, 1 - EDGE),
        }
        return found if step is None else found | {"step": step}


def starting_points(
    density: Callable[[Floats], tuple[float, Floats]], size: int, chains: int, rng: np.random.Generator
) -> Floats:
    """Return one start per chain, near modes that climbs from random points reach; shape (chains, size).

    Every chain has its own climb, so that chains in different modes disagree and R-hat sees it; ends far below the
    best one are replaced by better ones.
    """
    from scipy.optimize import minimize

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = density(x)
        return -value, -gradient

    n = max(2 * chains, 8)
    points, values = np.empty((n, size)), np.empty(n)
    for i, start in enumerate(rng.uniform(-2.0, 2.0, (n, size))):
        box = [(-8.0, 8.0)] * size
        end = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": 200})
        points[i], values[i] = end.x, -end.fun
    kept = points[values >= values.max() - MODE_DROP]
    result: Floats = kept[np.arange(chains) % len(kept)] + rng.normal(0.0, 0.1, (chains, size))
    return result


def _softmax(free: Floats) -> Floats:
    """Return the shares of ``(free, 0)`` along the last axis."""
    z = np.concatenate([free, np.zeros((*free.shape[:-1], 1))], axis=-1)
    share = np.exp(z - z.max(axis=-1, keepdims=True))
    result: Floats = share / share.sum(axis=-1, keepdims=True)
    return result


@compiled
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


@compiled
def _round(
    row: Floats,
    k: int,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    log_choose: Floats,
    weights: Floats,
    edge: float,
    by_row: Floats,
    work: Floats,
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
        _tables(mu[j], rho[j], work[j])
    value, n_debates = 0.0, 0.0
    for c in range(len(weights)):
        if weights[c] == 0.0:
            continue
        s, n = successes[c], trials[c]
        top = -np.inf
        for j in range(k):
            t = work[j]
            joint[j] = log_weight[j] + log_choose[c] + t[0, s] + t[6, n - s] - t[12, n]
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
            by_mu[j] += share * (work[j, 1, s] - work[j, 7, n - s])
            by_rho[j] += share * (work[j, 2, s] + work[j, 8, n - s] - work[j, 13, n])
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


@compiled
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


@compiled
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
    work = np.zeros((k, 15, trials.max() + 1))
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
        value += _round(rows[i], k, successes, trials, log_choose, weights[i], edge, by_row[i], work)
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
