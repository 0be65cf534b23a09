"""Checks of arguments: each error names the argument, what it must be, and what it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["integer", "number", "probability"]


def number(name: str, value: Any) -> float:
    """Return a finite number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {name}={value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite; got {name}={value!r}")
    return result


def integer(name: str, value: Any, *, minimum: int) -> int:
    """Return a whole number of at least `minimum`; True is none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be an integer; got {name}={value!r}")
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{name} must be an integer; got {name}={value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be >= {minimum}; got {name}={value!r}")
    return int(value)


def probability(name: str, value: Any, *, open_interval: bool = False) -> float:
    """Return a number in [0, 1], or in (0, 1) with `open_interval`."""
    value = number(name, value)
    if not (0.0 < value < 1.0 if open_interval else 0.0 <= value <= 1.0):
        bounds = "strictly between 0 and 1" if open_interval else "between 0 and 1"
        raise ValueError(f"{name} must lie {bounds}; got {name}={value!r}")
    return value
