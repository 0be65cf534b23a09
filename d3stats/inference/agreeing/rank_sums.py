"""Rank correlations as functions of sums: how often each pair of scores occurs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct pairs of scores.

    Attributes
    ----------
    cell : ndarray of int64, shape (n,)
        Which distinct pair each observation is.
    x, y : ndarray of int64, shape (cells,)
        Ranks of the pair's two scores among the distinct scores, from 0.
    """

    cell: Codes
    x: Codes
    y: Codes

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Cells:
        """Collect the distinct pairs of two rows of scores."""
        first, second = (np.unique(v, return_inverse=True)[1] for v in (x, y))
        wide = int(second.max(initial=0)) + 1
        pairs, cell = np.unique(first * wide + second, return_inverse=True)
        return cls(cell.astype(np.int64), pairs // wide, pairs % wide)

    def totals(self, cluster: Codes) -> Floats:
        """Count cells by cluster, shape (clusters, cells); clusters are codes from 0 without gaps."""
        n, wide = int(cluster.max(initial=0)) + 1, len(self.x)
        return np.bincount(cluster * wide + self.cell, minlength=n * wide).reshape(n, wide).astype(np.float64)


def rank_statistic(cells: Cells, method: str) -> Callable[[Floats], Floats]:
    """Return rho or tau-b as a function of cell counts: (m, cells) to (m, 1), NaN where a score does not vary."""
    one = _spearman(cells) if method == "spearman" else _kendall(cells)
    step = max(1, _CHUNK // len(cells.x))

    def statistic(sums: Floats) -> Floats:
        return np.concatenate([one(sums[at : at + step]) for at in range(0, len(sums), step)])[:, None]

    return statistic


def _spearman(cells: Cells) -> Callable[[Floats], Floats]:
    def one(weight: Floats) -> Floats:
        n = weight.sum(axis=1, keepdims=True)
        ranks = []
        for codes in (cells.x, cells.y):
            here = _by_value(weight, codes)
            middle = np.cumsum(here, axis=1) - here / 2 - n / 2
            ranks.append(middle[:, codes])
        x, y = ranks
        # Middle ranks have mean n / 2 by construction.
        return _ratio(
            (weight * x * y).sum(axis=1),
            (weight * x * x).sum(axis=1),
            (weight * y * y).sum(axis=1),
            n[:, 0] ** 3,
        )

    return one


def _kendall(cells: Cells) -> Callable[[Floats], Floats]:
    sign = np.sign(np.subtract.outer(cells.x, cells.x)) * np.sign(np.subtract.outer(cells.y, cells.y))
    table = sign.astype(np.float64)

    def one(weight: Floats) -> Floats:
        n = weight.sum(axis=1)
        score = ((weight @ table) * weight).sum(axis=1) / 2
        # Pairs not tied in x: (n^2 - sum of squares) / 2, whole or not.
        apart = [(n**2 - (_by_value(weight, codes) ** 2).sum(axis=1)) / 2 for codes in (cells.x, cells.y)]
        return _ratio(score, apart[0], apart[1], n**2)

    return one


def _by_value(weight: Floats, codes: Codes) -> Floats:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    result: Floats = np.add.reduceat(weight[:, order], starts, axis=1)
    return result


def _ratio(above: Floats, x: Floats, y: Floats, scale: Floats) -> Floats:
    value: Floats = np.full(above.shape, np.nan)
    vary = (x > 1e-12 * scale) & (y > 1e-12 * scale)
    np.divide(above, np.sqrt(np.where(vary, x, 1.0)) * np.sqrt(np.where(vary, y, 1.0)), out=value, where=vary)
    result: Floats = np.clip(value, -1.0, 1.0)
    return result
