"""What the best policy could do if it were told the pair of classes that the debate belongs to.

Classes in which A is right are paired with classes in which B is right; within a pair the belief is one number,
so the value can be tabulated. The value is concave, so chords between tabulated points lie below it: the
tables are lower bounds on the value of the pair, and their sum is one on the value of the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.process import CountProcess

__all__ = ["Revealed"]

Floats = NDArray[np.float64]

_POINTS = 513
_ANGLES = np.linspace(0.0, np.pi / 2, _POINTS)
# Fine near 0 and 1, where the odds move fastest; the ends are exactly 0 and 1.
_GRID: Floats = np.sin(_ANGLES) ** 2
_GRID[-1] = 1.0


class Revealed:
    """Lower bounds on going on and on the value, at any belief.

    Parameters
    ----------
    process : CountProcess
        Of floats.
    prices : ndarray, shape (n_rounds,)
    losses : ndarray, shape (n_rounds, panel + 1, classes, choices)
    """

    def __init__(self, process: CountProcess, prices: NDArray[Any], losses: NDArray[Any]) -> None:
        side_a, side_b = (np.flatnonzero(process.a_is_right == a).tolist() for a in (True, False))
        paired = min(len(side_a), len(side_b))
        alone = side_a[paired:] + side_b[paired:]
        # A class without a partner is its own: any grouping that is revealed gives a bound.
        self._pairs = [*zip(side_a[:paired], side_b[:paired], strict=True), *((c, c) for c in alone)]
        shares = np.stack([_GRID, 1 - _GRID], axis=1)
        size = process.panel + 1
        depth = process.n_rounds
        self._value = np.empty((depth, len(self._pairs), size, _POINTS))
        self._onward = np.full((depth, len(self._pairs), size, _POINTS), np.inf)
        for p, pair in enumerate(self._pairs):
            members = list(pair)
            for t in range(depth, 0, -1):
                now = (shares @ losses[t - 1][:, members]).min(axis=2)
                if t < depth:
                    # (points, class, count, next count)
                    joint = shares[:, :, None, None] * process.step(t)[members]
                    nexts = np.broadcast_to(np.arange(size), joint.shape[:1] + joint.shape[2:])
                    ahead = _chord(self._value[t, p], nexts, joint[:, 0], joint[:, 1])
                    self._onward[t - 1, p] = prices[t] + ahead.sum(axis=2).T
                self._value[t - 1, p] = np.minimum(now.reshape(size, _POINTS), self._onward[t - 1, p])

    def onward(self, t: int, counts: NDArray[np.int64], joint: Floats) -> Floats:
        """Bound from below what going on after round `t` costs and loses; `joint` has shape (n, classes)."""
        return self._read(self._onward[t - 1], counts, joint)

    def value(self, t: int, counts: NDArray[np.int64], joint: Floats) -> Floats:
        """Bound from below what is still to come in round `t`, its own price paid."""
        return self._read(self._value[t - 1], counts, joint)

    def _read(self, tables: Floats, counts: NDArray[np.int64], joint: Floats) -> Floats:
        total = np.zeros(len(joint))
        for table, (a, b) in zip(tables, self._pairs, strict=True):
            other = np.zeros(len(joint)) if a == b else joint[:, b]
            total += _chord(table, counts, joint[:, a], other)
        return total


def _chord(table: Floats, counts: NDArray[np.int64], a: Floats, b: Floats) -> Floats:
    """Interpolate a table of (count, point) at the masses (a, b) of a pair; linear in their scale."""
    mass = a + b
    x = np.divide(a, mass, out=np.zeros_like(mass), where=mass > 0)
    at = np.searchsorted(_GRID, x, side="right") - 1
    at = np.clip(at, 0, _POINTS - 2)
    low, high = _GRID[at], _GRID[at + 1]
    weight = (x - low) / (high - low)
    result: Floats = mass * (table[counts, at] * (1 - weight) + table[counts, at + 1] * weight)
    return result
