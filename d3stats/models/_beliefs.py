"""Which beliefs about the class a debate can lead to, round by round, and how near ones are taken together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.process import CountProcess

__all__ = ["Beliefs", "explore"]

IntArray = NDArray[np.int64]

_SAME = 1e-10
_FIRST_WIDTH = 1e-4


@dataclass
class Beliefs:
    """The beliefs after one round.

    Attributes
    ----------
    counts : ndarray of int64, shape (n,)
    belief : ndarray, shape (n, classes)
        Posterior of the class; where near beliefs were taken together, their mean.
    reach : ndarray, shape (n,)
        Probability of the paths that lead here, had every open debate gone on.
    grown : ndarray of int64, shape (m,)
        The beliefs from which the next round was explored.
    children : ndarray of int64, shape (m, panel + 1)
        By the next count, the belief of the next round; -1 where the process gives it no probability.
    """

    counts: IntArray
    belief: NDArray[Any]
    reach: NDArray[Any]
    grown: IntArray
    children: IntArray


def explore(
    process: CountProcess,
    settled: Callable[[int, IntArray, NDArray[Any]], NDArray[np.bool_]],
    max_beliefs: int,
) -> tuple[list[Beliefs], bool]:
    """Follow the process forward from its prior.

    Parameters
    ----------
    settled : callable
        ``settled(round, counts, belief)`` says where stopping is best for certain: nothing is explored there.
    max_beliefs : int
        Beliefs kept per round; beyond that near ones are taken together.

    Returns
    -------
    layers : list of Beliefs
    exact : bool
        Whether only equal beliefs were taken together.
    """
    start = (process.weights[:, None] * process.initial).T
    reach = start.sum(axis=1)
    possible = np.flatnonzero(reach > 0)
    layers: list[Beliefs] = []
    counts, belief = possible, start[possible] / reach[possible][:, None]
    weight = reach[possible]
    width = 0.0
    for t in range(1, process.n_rounds + 1):
        layer = Beliefs(counts, belief, weight, np.zeros(0, np.int64), np.zeros((0, process.panel + 1), int))
        layers.append(layer)
        if t == process.n_rounds:
            break
        layer.grown = np.flatnonzero(~settled(t, counts, belief))
        moves = process.step(t)[:, counts[layer.grown]].transpose(1, 2, 0)
        joint = belief[layer.grown][:, None, :] * moves
        chance = joint.sum(axis=2)
        ways = np.argwhere(chance > 0)
        posterior = joint[ways[:, 0], ways[:, 1]] / chance[ways[:, 0], ways[:, 1]][:, None]
        arrives = weight[layer.grown][ways[:, 0]] * chance[ways[:, 0], ways[:, 1]]
        into, width = _groups(ways[:, 1], posterior, max_beliefs, width)
        layer.children = np.full(chance.shape, -1, dtype=np.int64)
        layer.children[ways[:, 0], ways[:, 1]] = into
        counts, belief, weight = _collected(into, ways[:, 1], posterior, arrives)
    return layers, width == 0.0


def _groups(
    counts: IntArray, posterior: NDArray[Any], max_beliefs: int, width: float
) -> tuple[IntArray, float]:
    """Number the groups of beliefs that are one, and return the width of a cell (0: equal ones only)."""
    if posterior.dtype == object:
        seen: dict[tuple[Any, ...], int] = {}
        keys = zip(counts.tolist(), map(tuple, posterior), strict=True)
        into = np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)
        if len(seen) > max_beliefs:
            raise ValueError(
                f"max_beliefs must be at least the number of beliefs when the process holds fractions "
                f"({len(seen)} in one round); got max_beliefs={max_beliefs}"
            )
        return into, 0.0
    if width == 0.0:
        into = _cells(counts, np.rint(posterior / _SAME).astype(np.int64))
        if into.max(initial=-1) < max_beliefs:
            return into, 0.0
        width = _FIRST_WIDTH
    # The angle whose squared sine is the probability: fine near 0 and 1, where odds move fastest.
    angle = np.arcsin(np.sqrt(np.clip(posterior, 0.0, 1.0)))
    free = angle[:, :-1] if angle.shape[1] == 2 else angle
    while True:
        into = _cells(counts, np.floor(free / width).astype(np.int64))
        if into.max(initial=-1) < max_beliefs:
            return into, width
        width *= 1.5


def _cells(counts: IntArray, keys: IntArray) -> IntArray:
    """Number the distinct rows of (count, key)."""
    rows = np.column_stack([counts, keys])
    # One mixed number per row sorts much faster than whole rows; should two rows ever share one, rows are sorted.
    mixers = np.random.default_rng(0).integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (rows.astype(np.uint64) * mixers).sum(axis=1, dtype=np.uint64)
    _, first, into = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][into], rows):
        _, into = np.unique(rows, axis=0, return_inverse=True)
    return into.astype(np.int64).ravel()


def _collected(
    into: IntArray, counts: IntArray, posterior: NDArray[Any], arrives: NDArray[Any]
) -> tuple[IntArray, NDArray[Any], NDArray[Any]]:
    n = int(into.max(initial=-1)) + 1
    at = np.zeros(n, dtype=np.int64)
    at[into] = counts
    if posterior.dtype == object:
        belief = np.empty((n, posterior.shape[1]), dtype=object)
        belief[into] = posterior
        total = np.repeat(arrives[:1] * 0, n)
        np.add.at(total, into, arrives)
        return at, belief, total
    total = np.bincount(into, weights=arrives, minlength=n)
    # A floor keeps the mean defined for paths whose probability is too small for a float.
    weighed = np.maximum(arrives, np.finfo(float).tiny)
    columns = [np.bincount(into, weights=weighed * c, minlength=n) for c in posterior.T]
    belief = np.column_stack(columns) if columns else np.zeros((n, 0))
    return at, belief / belief.sum(axis=1, keepdims=True), total
