"""The parameter space of a mixture, the starts of a search, and the best optimum of every data set.

A point is a row ``x = (z_1 .. z_{K-1}, mu_1 .. mu_K, rho_1 .. rho_K)``: weights are the softmax of
``(z, 0)``; means and correlations are not transformed. They lie in a box that is closed where the likelihood is
(``rho = 0`` is a Binomial component).
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells, log_pmf

if TYPE_CHECKING:
    from d3stats.models.mixtures.compiled import Problem


EDGE = 1e-10
"""The least distance of a mean from 0 and 1, and of a correlation from 1. The log-likelihood is unchanged to about
1e-10 per debate, and its derivatives stay finite."""
LOGIT_BOUND = 25.0


@dataclass(frozen=True)
class Space:
    """The parameter space of a K-component mixture, `n_binomial` components of which are Binomial."""

    n_components: int
    n_binomial: int = 0

    @property
    def size(self) -> int:
        """Length of a point."""
        return 3 * self.n_components - 1

    @property
    def n_free(self) -> int:
        """Number of parameters of the model."""
        return self.size - self.n_binomial

    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of the box."""
        k = self.n_components
        low = np.concatenate([np.full(k - 1, -LOGIT_BOUND), np.full(k, EDGE), np.zeros(k)])
        high = np.concatenate([np.full(k - 1, LOGIT_BOUND), np.full(k, 1 - EDGE), np.full(k, 1 - EDGE)])
        high[2 * k - 1 : 2 * k - 1 + self.n_binomial] = 0.0
        return low, high

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log weights, means and correlations, each of shape (points, K)."""
        k = self.n_components
        z = np.concatenate([x[:, : k - 1], np.zeros((len(x), 1))], axis=1)
        z = z - z.max(axis=1, keepdims=True)
        log_weight = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return log_weight, x[:, k - 1 : 2 * k - 1], x[:, 2 * k - 1 :]

    def law(self, x: Floats) -> BetaBinomialMixture:
        """Return the points as one batch of mixtures, components ordered by mean."""
        log_weight, mu, rho = self.split(x)
        weight = np.exp(log_weight)
        order = np.argsort(mu, axis=1, kind="stable")
        parts = (weight / weight.sum(axis=1, keepdims=True), mu, rho)
        return BetaBinomialMixture(*(np.take_along_axis(part, order, axis=1) for part in parts))

    def join(self, weight: Floats, mu: Floats, rho: Floats) -> Floats:
        """Return points from weights, means and correlations, clipped into the box."""
        log_weight = np.log(np.maximum(weight, 1e-300))
        z = log_weight[:, :-1] - log_weight[:, -1:]
        low, high = self.bounds()
        return np.asarray(np.clip(np.concatenate([z, mu, rho], axis=1), low, high))


@dataclass(frozen=True)
class Objective:
    """The (optionally penalised) log-likelihood.

    A `penalty` adds ``penalty * sum_k [log w_k + log mu_k(1 - mu_k) + log rho_k(1 - rho_k)]``: a log-concave
    Beta(1 + penalty, 1 + penalty) prior on each, so that the maximum is interior. 0 is maximum likelihood.
    """

    cells: Cells
    space: Space
    penalty: float = 0.0

    def value(self, x: Floats, weights: Floats) -> Floats:
        """Return the objective at each point, shape (points,); `weights` has shape (points, cells)."""
        log_weight, mu, rho = self.space.split(x)
        joint = log_pmf(mu, rho, self.cells) + log_weight[:, :, None]
        top = joint.max(axis=1)
        log_pmf_of_mixture = np.log(np.exp(joint - top[:, None]).sum(axis=1)) + top
        total: Floats = (weights * log_pmf_of_mixture).sum(axis=1)
        if self.penalty:
            total = total + self.penalty * self._log_prior(log_weight, mu, rho)
        return total

    def derivatives(self, x: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return value (points,), gradient (points, p) and Hessian (points, p, p)."""
        from d3stats.models.mixtures.compiled import evaluate

        return evaluate(np.array(x, order="C"), np.array(weights, order="C"), self.problem())

    def problem(self) -> Problem:
        """Return what the compiled search reads."""
        from d3stats.models.mixtures.compiled import Problem

        cells, (low, high) = self.cells, self.space.bounds()
        # Read-only and strided arrays are types of their own to the compiler: 10 seconds for each combination.
        successes, trials = (
            np.require(a, dtype=np.int64, requirements=("C", "W")) for a in (cells.successes, cells.trials)
        )
        space, penalty = self.space, float(self.penalty)
        return Problem(
            space.n_components, space.n_binomial, penalty, successes, trials, cells.log_choose, low, high
        )

    def _log_prior(self, log_weight: Floats, mu: Floats, rho: Floats) -> Floats:
        free = slice(self.space.n_binomial, None)
        r = np.maximum(rho[:, free], 1e-12)
        odds = (np.log(mu) + np.log1p(-mu)).sum(axis=1), (np.log(r) + np.log1p(-r)).sum(axis=1)
        return np.asarray(log_weight.sum(axis=1) + odds[0] + odds[1])


def spread_starts(
    space: Space,
    share: Floats,
    weights: Floats,
    n_starts: int,
    rng: np.random.Generator | None,
    *,
    interior: bool = False,
) -> Floats:
    """Return starts for every data set, shape (data sets, n_starts, parameters).

    Means are quantiles of the data's own distribution, smoothed towards the unit interval: some starts split the data
    evenly, the others at random quantiles. Correlations run from 0 (Binomial) to 0.6. `share` holds successes over
    trials of each cell, `weights` has shape (data sets, cells); without `rng` a low-discrepancy sequence is taken, so
    that a fit is deterministic. `interior` keeps correlations away from 0, where a penalised likelihood has no bound.
    """
    k = space.n_components
    unit = _kronecker(n_starts, 3 * k) if rng is None else rng.random((n_starts, 3 * k))
    levels = np.sort(unit[:, :k], axis=1)
    levels[: n_starts // 3] = (np.arange(k) + 0.5) / k
    means = _quantiles(share, weights, levels)
    gumbel = -np.log(-np.log(np.clip(unit[:, k : 2 * k], 1e-6, 1 - 1e-6)))
    weight = np.exp(0.7 * gumbel)
    weight /= weight.sum(axis=1, keepdims=True)
    rho = 0.6 * unit[:, 2 * k :] ** 1.5
    rho[::5] = np.where(unit[::5, 2 * k :] < 0.5, 0.0, rho[::5])
    if interior:
        rho = np.maximum(rho, 0.01)
    rho[:, : space.n_binomial] = 0.0
    if space.n_binomial and k > 1:
        # which component is the Binomial one must not be tied to the order of the means
        means[:, 1::2] = means[:, 1::2, ::-1]
    n_sets = len(weights)
    flat = space.join(
        np.tile(weight, (n_sets, 1)), means.reshape(n_sets * n_starts, k), np.tile(rho, (n_sets, 1))
    )
    return flat.reshape(n_sets, n_starts, space.size)


def vertex_starts(smaller: Objective, x: Floats, weights: Floats, space: Space) -> Floats:
    """Return starts that add one narrow component where the fit with K - 1 components lacks mass most.

    The gradient function of Lindsay (1983), ``D(p) = sum_c W_c f(c | p) / f_hat(c) - N``, says how fast the
    likelihood rises when a Binomial component at ``p`` is mixed in; the start puts 5 % there. It finds small
    components that no quantile of the data points to. `x` holds the fits of the model with K - 1 components,
    `smaller`, a row per data set; the result has shape (data sets, 1, parameters).
    """
    cells = smaller.cells
    log_weight, mu, rho = smaller.space.split(x)
    fitted = np.exp(log_pmf(mu, rho, cells) + log_weight[:, :, None]).sum(axis=1)
    grid = np.linspace(0.005, 0.995, 100)
    candidates = np.exp(log_pmf(grid, np.zeros_like(grid), cells))
    slope = (weights / np.maximum(fitted, 1e-300)) @ candidates.T
    peak = grid[slope.argmax(axis=1)][:, None]
    # A Binomial component stands first, where the space holds it.
    weight = np.concatenate([np.full_like(peak, 0.05), 0.95 * np.exp(log_weight)], axis=1)
    start = space.join(
        weight, np.concatenate([peak, mu], axis=1), np.concatenate([np.zeros_like(peak), rho], axis=1)
    )
    return start[:, None, :]


def _quantiles(share: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return smoothed quantiles of each data set's success shares, shape (data sets, *levels.shape)."""
    order = np.argsort(share, kind="stable")
    x = 0.02 + 0.96 * share[order]
    mass = weights[:, order]
    middle = np.cumsum(mass, axis=1) - 0.5 * mass
    middle /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    return np.stack([np.interp(levels, row, x) for row in middle])


def _kronecker(n: int, dimension: int) -> Floats:
    """Return the first `n` points of the additive recurrence with the generalised golden ratio."""
    phi = 2.0
    for _ in range(64):
        phi = (1.0 + phi) ** (1.0 / (dimension + 1))
    alpha = phi ** -np.arange(1.0, dimension + 1)
    return np.asarray(np.mod(0.5 + np.outer(np.arange(1, n + 1), alpha), 1.0))


Method = Literal["newton", "em"]
METHODS: tuple[Method, ...] = ("newton", "em")

REACHED = 1e-6
"""A start reached the best optimum when its objective is within this of the best, in log-likelihood units."""

SETTLED = 1e-8
"""The gain of a further step, in log-likelihood units, that is allowed at every tolerance."""
PROBES = (1e-6, 1e-4, 1e-2)
"""The moves of single parameters that check whether a search has ended too early."""


@dataclass(frozen=True)
class Optima:
    """The best optimum of each data set: point, value, and how the search went.

    ``n_iter`` holds the iterations of the start that won, ``n_reached`` how many of the starts came within
    ``REACHED``.
    """

    x: Floats
    value: Floats
    n_iter: NDArray[np.int64]
    n_reached: NDArray[np.int64]


def optimise(
    cells: Cells,
    weights: Floats,
    space: Space,
    *,
    method: Method = "newton",
    n_starts: int = 30,
    penalty: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-10,
    rng: np.random.Generator | None = None,
    first: Floats | None = None,
) -> Optima:
    """Maximise the objective for every row of `weights`, shape (data sets, cells), from many starts.

    `first`, shape (parameters,) or (data sets, parameters), is one more start (a bootstrap starts from the fit that
    it resamples).
    """
    from d3stats.models.mixtures import compiled

    n_sets = len(weights)
    share = cells.successes / np.maximum(cells.trials, 1)
    full_search = n_starts >= 10 and space.n_components > 1
    starts = spread_starts(space, share, weights, n_starts - full_search, rng, interior=penalty > 0)
    if full_search:
        smaller = Space(space.n_components - 1, max(space.n_binomial - 1, 0))
        before = optimise(cells, weights, smaller, method=method, n_starts=5, penalty=penalty, rng=rng)
        vertex = vertex_starts(Objective(cells, smaller, penalty), before.x, weights, space)
        starts = np.concatenate([starts, vertex], axis=1)
    if method == "em" and space.n_binomial < space.n_components and not penalty:
        # A supremum on the boundary is a submodel's maximum; EM finds it fast there and slowly from inside.
        submodel = Space(space.n_components, space.n_binomial + 1)
        edge = optimise(
            cells, weights, submodel, method=method, n_starts=n_starts, max_iter=max_iter, tol=tol, rng=rng
        )
        starts = np.concatenate([starts, edge.x[:, None, :]], axis=1)
    if first is not None:
        own = np.broadcast_to(first, (n_sets, space.size))
        starts = np.concatenate([starts, own[:, None, :]], axis=1)
    per_set = starts.shape[1]

    problem = Objective(cells, space, penalty).problem()
    climb = compiled.climb_em if method == "em" else compiled.climb
    weights = np.require(weights, requirements=("C", "W"))

    def piece(at: slice) -> tuple[Floats, Floats, NDArray[np.int64]]:
        rows = np.ascontiguousarray(starts[at].reshape(-1, space.size))
        which = np.repeat(np.arange(len(rows) // per_set), per_set)
        return climb(rows, which, weights[at], problem, max_iter, tol)

    n_pieces = min(n_sets, 4 * _n_threads()) if n_sets * per_set > 256 else 1
    edges = np.linspace(0, n_sets, n_pieces + 1).astype(int)
    pieces = [slice(a, b) for a, b in itertools.pairwise(edges) if b > a]
    if len(pieces) > 1:
        with ThreadPoolExecutor(_n_threads()) as pool:
            done = list(pool.map(piece, pieces))
    else:
        done = [piece(at) for at in pieces]
    x, value, n_iter = (np.concatenate(part) for part in zip(*done, strict=True))
    value = value.reshape(n_sets, per_set)
    best = value.argmax(axis=1)
    row = np.arange(n_sets) * per_set + best
    top = value.max(axis=1)
    reached = (value[:, :n_starts] >= top[:, None] - REACHED).sum(axis=1)
    return Optima(x[row], top, n_iter[row], np.maximum(reached, 1))


def settled(objective: Objective, x: Floats, weights: Floats, tol: float) -> NDArray[np.bool_]:
    """Check for each point that it is a maximum: predicted and tried steps gain no more than a tolerance.

    The reason why a search ended is no evidence, so its end is checked. The tolerance is ``max(tol * (1 + |value|),
    SETTLED)``. The predicted gain is that of a Newton step with the moduli of the curvatures, over the parameters that
    no bound holds. Where the likelihood is flat, it is the gain of following the gradient all the way to the bounds.
    Small moves are tried as well, because the prediction assumes a parabola. Beside a logarithmic prior it is small at
    any distance from the maximum.
    """
    low, high = objective.space.bounds()
    value, gradient, hessian = objective.derivatives(x, weights)
    limit = np.maximum(tol * (1.0 + np.abs(value)), SETTLED)
    room = np.maximum(np.where(gradient > 0, high - x, x - low), 0.0)
    free = room > 0
    gradient = np.where(free, gradient, 0.0)
    curvature = np.where(free[:, :, None] & free[:, None, :], hessian, 0.0)
    readable = (
        np.isfinite(value) & np.isfinite(gradient).all(axis=1) & np.isfinite(curvature).all(axis=(1, 2))
    )
    curvature = np.where(readable[:, None, None], curvature, 0.0)
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(curvature, axis1=1, axis2=2)), 1e-8))
    values, vectors = np.linalg.eigh(curvature / (scale[:, :, None] * scale[:, None, :]))
    along = np.einsum("nij,ni->nj", vectors, gradient / scale)
    predicted = (along**2 / np.maximum(np.abs(values), 1e-6)).sum(axis=1)
    found: NDArray[np.bool_] = readable & (
        np.minimum(predicted, (np.abs(gradient) * room).sum(axis=1)) <= limit
    )
    for move in (*np.eye(x.shape[1]), *-np.eye(x.shape[1])):
        for size in PROBES:
            found &= ~(objective.value(np.clip(x + size * move, low, high), weights) > value + limit)
    return found


def _n_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
