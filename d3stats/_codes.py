"""Answers as integer codes: what the array view and its builders share.

Floor 3, below ``trajectories.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.counts import answer_text

MISSING = -1
"""The code of a vote that was not cast or could not be read, of an unknown label, and of no verdict."""


def seat_names(n: int) -> tuple[str, ...]:
    return tuple(f"agent {i + 1}" for i in range(n))


def encode(
    votes: NDArray[Any], label: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[str, ...]]:
    """Give each distinct answer a code, in sorted order of its text; None and NaN become MISSING."""
    together = np.concatenate([votes, label])
    absent = pd.isna(together)
    text = np.array(
        [None if gone else answer_text(x) for x, gone in zip(together, absent, strict=True)], dtype=object
    )
    if "" in text:
        raise ValueError("answers must not be empty strings; write None for a missing vote")
    factorized, names = pd.factorize(text, sort=True)
    codes: NDArray[np.int32] = factorized.astype(np.int32)
    return codes[: len(votes)], codes[len(votes) :], tuple(map(str, names))


def refuse_repeats(name: str, names: Sequence[str]) -> None:
    """Raise when a name occurs twice."""
    if len(set(names)) < len(names):
        index = pd.Index(names)
        raise ValueError(f"{name} must have different names; got {index[index.duplicated()][0]!r} twice")
