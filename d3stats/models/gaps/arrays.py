"""How the posteriors check priors, and arrays of any shape: name, requirement, got, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import number


def prior(name: str, value: float) -> float:
    """Return a prior parameter, finite and above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0, a proper prior; got {name}={value!r}")
    return result


def floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return an array of floats of any shape."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {values!r}") from None


def refuse(
    name: str, requirement: str, values: NDArray[Any], good: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> None:
    """Refuse the first value that is not `good`, saying where it is."""
    if values.size == 0:
        return
    # A monotone requirement holds everywhere where it holds at the extremes, which is much faster to see.
    if not bool(np.all(good(np.array([values.min(), values.max()])))):
        refuse_any(name, requirement, values, ~good(values))


def whole(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return whole numbers >= 0 of any shape as integers."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        numbers = floats(name, values)
        is_whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
        refuse_any(name, "must be whole numbers", numbers, ~is_whole)
        array = numbers.astype(np.int64)
    refuse(name, "must be >= 0", array, lambda x: x >= 0)
    return array


def refuse_any(name: str, requirement: str, values: NDArray[Any], bad: NDArray[np.bool_]) -> None:
    """Refuse the first of the `bad` values, saying where it is."""
    if bad.any():
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        where = f" at {at[0] if len(at) == 1 else at}" if at else ""
        raise ValueError(f"{name} {requirement}; got {name}={values[at].item()!r}{where}")
