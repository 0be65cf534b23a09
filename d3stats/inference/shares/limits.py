"""Limits of a share of independent trials, one function per method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

__all__ = ["KINDS", "Kind", "limits"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Limits = tuple[Floats, Floats]
Kind = Literal["Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald"]
KINDS: tuple[str, ...] = get_args(Kind)


def limits(kind: str, x: Ints, n: Ints, level: float) -> Limits:
    """Return low and high of each x of n, within [0, 1]."""
    low, high = _FORMULAS[kind](x.astype(np.float64), n.astype(np.float64), (1.0 - level) / 2.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _wald(x: Floats, n: Floats, tail: float) -> Limits:
    return _around(x / n, n, tail)


def _agresti_coull(x: Floats, n: Floats, tail: float) -> Limits:
    square = ndtri(tail) ** 2
    return _around((x + square / 2) / (n + square), n + square, tail)


def _around(centre: Floats, n: Floats, tail: float) -> Limits:
    half = -ndtri(tail) * np.sqrt(centre * (1 - centre) / n)
    return centre - half, centre + half


def _wilson(x: Floats, n: Floats, tail: float) -> Limits:
    square = ndtri(tail) ** 2
    centre = (x + square / 2) / (n + square)
    half = np.sqrt(square * (x * (n - x) / n + square / 4)) / (n + square)
    # At the ends the formula gives 0 and 1, rounding aside.
    return np.where(x == 0, 0.0, centre - half), np.where(x == n, 1.0, centre + half)


def _clopper_pearson(x: Floats, n: Floats, tail: float) -> Limits:
    low = np.where(x == 0, 0.0, betaincinv(np.maximum(x, 1), n - x + 1, tail))
    high = np.where(x == n, 1.0, betaincinv(x + 1, np.maximum(n - x, 1), 1 - tail))
    return low, high


def _posterior(prior: float) -> Callable[[Floats, Floats, float], Limits]:
    def formula(x: Floats, n: Floats, tail: float) -> Limits:
        a, b = x + prior, n - x + prior
        return np.asarray(betaincinv(a, b, tail), np.float64), np.asarray(
            betaincinv(a, b, 1 - tail), np.float64
        )

    return formula


_FORMULAS: dict[str, Callable[[Floats, Floats, float], Limits]] = {
    "Wilson": _wilson,
    "Clopper-Pearson": _clopper_pearson,
    "Jeffreys": _posterior(0.5),
    "Agresti-Coull": _agresti_coull,
    "Bayes uniform": _posterior(1.0),
    "Wald": _wald,
}
