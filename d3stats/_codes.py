"""Answers as integer codes: what the array view and its builders share.

Floor 3, below ``trajectories.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.values import canonical

MISSING = -1
"""The code of a vote that was not cast or could not be read, of an unknown label, and of no verdict."""


def seat_names(n: int) -> tuple[str, ...]:
    return tuple(f"agent {i + 1}" for i in range(n))


Coded = tuple[NDArray[np.int32], NDArray[np.int32], tuple[str, ...]]
"""Codes of the votes, codes of the labels, and the answers that they stand for."""


def encode(
    votes: Any, label: Any, *, missing_values: Iterable[str] | None = None, keep: Collection[str] = ()
) -> tuple[Coded, list[str]]:
    """Give each distinct answer a code, in sorted order of its canonical text; what is missing becomes MISSING.

    Also returns what there is to say of it.
    """
    read = canonical(votes, label, missing_values=missing_values, keep=keep)
    return encode_texts(*read.columns), read.notes("votes", "labels")


def encode_texts(votes: NDArray[np.object_], label: NDArray[np.object_]) -> Coded:
    """Give each distinct answer a code, in sorted order; answers are in canonical form, None is missing."""
    factorized, names = pd.factorize(np.concatenate([votes, label]), sort=True)
    codes: NDArray[np.int32] = factorized.astype(np.int32)
    return codes[: len(votes)], codes[len(votes) :], tuple(map(str, names))


def refuse_repeats(name: str, names: Sequence[str]) -> None:
    """Raise when a name occurs twice."""
    if len(set(names)) < len(names):
        index = pd.Index(names)
        raise ValueError(f"{name} must have different names; got {index[index.duplicated()][0]!r} twice")
