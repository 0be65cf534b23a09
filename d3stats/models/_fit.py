"""From data sets to their best optima: starts, a climb from each, and how many starts agreed.

Hides which climb is used and how the work is cut up. Data sets are independent, so pieces run on threads
(the compiled climbs release the interpreter lock) and the result does not depend on how many.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from d3stats.models._likelihood import Cells
from d3stats.models._objective import Floats, Objective, Space
from d3stats.models._starts import spread_starts, vertex_starts

Method = Literal["newton", "em", "lbfgs"]
METHODS: tuple[Method, ...] = ("newton", "em", "lbfgs")

REACHED = 1e-6
"""A start reached the best optimum when its objective is within this of the best, in log-likelihood units."""

SETTLED = 1e-8
"""What a step may still bring, in log-likelihood units, whatever the tolerance."""
PROBES = (1e-6, 1e-4, 1e-2)
"""How far single parameters are moved to see whether a search has ended too early."""


@dataclass(frozen=True)
class Optima:
    """The best optimum of each data set.

    Attributes
    ----------
    x : ndarray, shape (data sets, parameters)
    value : ndarray, shape (data sets,)
    n_iter, n_reached : ndarray of int, shape (data sets,)
        Iterations of the start that won; how many of the `n_starts` came within ``REACHED`` of it.
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
    """Maximise the objective for every row of `weights`.

    Parameters
    ----------
    weights : ndarray, shape (data sets, cells)
    first : ndarray, shape (parameters,) or (data sets, parameters), optional
        One more start (a bootstrap starts from the fit that it resamples).
    """
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

    def piece(at: slice) -> tuple[Floats, Floats, NDArray[np.int64]]:
        local = starts[at]
        which = np.repeat(np.arange(len(local)), per_set)
        rows = np.ascontiguousarray(local.reshape(-1, space.size))
        return _climb(method, rows, which, weights[at], cells, space, penalty, max_iter, tol)

    n_pieces = min(n_sets, 4 * _n_threads()) if n_sets * per_set > 256 else 1
    edges = np.linspace(0, n_sets, n_pieces + 1).astype(int)
    pieces = [slice(a, b) for a, b in itertools.pairwise(edges) if b > a]
    if len(pieces) > 1 and method != "lbfgs":
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
    """Say of each point whether no step promises, and no small move brings, more than a tolerance.

    Why a search ended is no evidence, so its end is looked at. The tolerance is ``max(tol * (1 + |value|), SETTLED)``.
    The promise is that of a Newton step with the moduli of the curvatures, over the parameters that no bound holds;
    where the likelihood is flat, what the gradient gives on the whole way to the bounds. Moves are tried because a
    promise is a parabola's: beside a logarithmic prior it is small however far the maximum is.

    Parameters
    ----------
    x : ndarray, shape (data sets, parameters)
    weights : ndarray, shape (data sets, cells)
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
    promise = (along**2 / np.maximum(np.abs(values), 1e-6)).sum(axis=1)
    found: NDArray[np.bool_] = readable & (
        np.minimum(promise, (np.abs(gradient) * room).sum(axis=1)) <= limit
    )
    for move in (*np.eye(x.shape[1]), *-np.eye(x.shape[1])):
        for size in PROBES:
            found &= ~(objective.value(np.clip(x + size * move, low, high), weights) > value + limit)
    return found


def _n_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _climb(
    method: Method,
    starts: Floats,
    which: NDArray[np.int64],
    weights: Floats,
    cells: Cells,
    space: Space,
    penalty: float,
    max_iter: int,
    tol: float,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    if method == "lbfgs":
        return _climb_lbfgs(starts, which, weights, Objective(cells, space, penalty), max_iter)
    low, high = space.bounds()
    # Read-only and strided arrays are types of their own to the compiler: 10 seconds for each combination.
    weights = np.require(weights, requirements=("C", "W"))
    successes = np.require(cells.successes, requirements=("C", "W"))
    trials = np.require(cells.trials, requirements=("C", "W"))
    arguments = (
        starts,
        which,
        weights,
        space.n_components,
        space.n_binomial,
        successes,
        trials,
        cells.log_choose,
        penalty,
        low,
        high,
        max_iter,
        tol,
    )
    if method == "em":
        from d3stats.models._em import climb_em

        return climb_em(*arguments)
    from d3stats.models._kernel import climb

    return climb(*arguments)


def _climb_lbfgs(
    starts: Floats, which: NDArray[np.int64], weights: Floats, objective: Objective, max_iter: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Climb with scipy's L-BFGS-B (Byrd, Lu, Nocedal and Zhu, 1995) on the plain numpy objective."""
    from scipy.optimize import Bounds, minimize

    bounds = Bounds(*objective.space.bounds())
    x, value, n_iter = starts.copy(), np.empty(len(starts)), np.zeros(len(starts), np.int64)
    for row, start in enumerate(starts):
        data = weights[which[row]][None]

        def negative(point: Floats, data: Floats = data) -> tuple[float, Floats]:
            v, g, _ = objective.derivatives(point[None], data)
            return -float(v[0]), -g[0]

        found = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20},
        )
        x[row], value[row], n_iter[row] = found.x, -found.fun, found.nit
    return x, value, n_iter
