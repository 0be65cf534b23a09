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


@dataclass(frozen=True)
class Optima:
    """The best optimum of each data set.

    Attributes
    ----------
    x : ndarray, shape (data sets, parameters)
    value : ndarray, shape (data sets,)
    n_iter, n_reached : ndarray of int, shape (data sets,)
        Iterations of the start that won; how many of the `n_starts` came within ``REACHED`` of it.
    converged : ndarray of bool, shape (data sets,)
    """

    x: Floats
    value: Floats
    n_iter: NDArray[np.int64]
    n_reached: NDArray[np.int64]
    converged: NDArray[np.bool_]


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
    starts = spread_starts(space, share, weights, n_starts - full_search, rng)
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

    def piece(at: slice) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.bool_]]:
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
    x, value, n_iter, converged = (np.concatenate(part) for part in zip(*done, strict=True))
    value = value.reshape(n_sets, per_set)
    best = value.argmax(axis=1)
    row = np.arange(n_sets) * per_set + best
    top = value.max(axis=1)
    reached = (value[:, :n_starts] >= top[:, None] - REACHED).sum(axis=1)
    return Optima(x[row], top, n_iter[row], np.maximum(reached, 1), converged[row])


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
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.bool_]]:
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
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Climb with scipy's L-BFGS-B (Byrd, Lu, Nocedal and Zhu, 1995) on the plain numpy objective."""
    from scipy.optimize import Bounds, minimize

    bounds = Bounds(*objective.space.bounds())
    x, value = starts.copy(), np.empty(len(starts))
    n_iter, converged = np.zeros(len(starts), np.int64), np.zeros(len(starts), bool)
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
        converged[row] = found.success or found.nit < max_iter
    return x, value, n_iter, converged
