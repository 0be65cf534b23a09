"""How alike two answers read: difflib's ratio of matching characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.trajectories import MISSING


def alike(earlier: str | None, later: str | None, above: float) -> bool:
    """Say whether the ratio of two lower-cased answers, in this order, is above a number; never for None."""
    if earlier is None or later is None:
        return False
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, earlier.lower(), later.lower())
    # The two quick ratios are upper bounds: they spare the slow one for most answers that differ.
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(bound() > above for bound in bounds)


class AlikeCodes:
    """The same for arrays of codes, each distinct pair of answers compared once."""

    def __init__(self, answers: tuple[str, ...], above: float) -> None:
        self._answers, self._above = answers, above
        self._known: dict[int, bool] = {}

    def __call__(self, earlier: NDArray[np.int32], later: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Compare code by code; a missing answer is like nothing."""
        size = len(self._answers)
        spoken = (earlier != MISSING) & (later != MISSING)
        pairs, at = np.unique(earlier[spoken].astype(np.int64) * size + later[spoken], return_inverse=True)
        for pair in pairs.tolist():
            if pair not in self._known:
                a, b = divmod(pair, size)
                self._known[pair] = alike(self._answers[a], self._answers[b], self._above)
        result = np.zeros(len(earlier), dtype=bool)
        result[spoken] = np.array([self._known[pair] for pair in pairs.tolist()], dtype=bool)[at]
        return result
