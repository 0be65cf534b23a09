"""The lower tail of a fair Binomial, in logarithms, so that it never underflows.

In the middle it is the incomplete beta function; beyond 10^-280 the sum of the pmf downwards, whose ratios fall fast
there, from a saddle-point form of the pmf that loses no digits at large n.

References
----------
Loader (2000), Fast and accurate computation of binomial probabilities.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, gammaln

__all__ = ["log_fair_pmf", "log_fair_tail"]

_TINY = 1e-280
_BLOCK = 4096
_NEGLIGIBLE = -40.0


def log_fair_tail(k: int, n: int) -> float:
    """Return log P(X <= k) for X ~ Binomial(n, 1/2)."""
    tail = float(betainc(n - k, k + 1, 0.5))
    if tail > _TINY:
        return math.log(tail)
    return log_fair_pmf(k, n) + math.log(_sum_of_ratios(k, n))


def log_fair_pmf(k: int, n: int) -> float:
    """Return log P(X = k) for X ~ Binomial(n, 1/2)."""
    if k in (0, n):
        return -n * math.log(2)
    deviance = k * math.log(2 * k / n) + (n - k) * math.log(2 * (n - k) / n)
    spread = math.log(n / (2 * math.pi * k * (n - k))) / 2
    return _stirling(n) - _stirling(k) - _stirling(n - k) - deviance + spread


def _stirling(x: int) -> float:
    """Return log x! less Stirling's approximation of it."""
    if x < 20:
        return float(gammaln(x + 1.0)) - (x + 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    square = float(x) * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / x


def _sum_of_ratios(k: int, n: int) -> float:
    """Return P(X <= k) / P(X = k), by blocks until the terms no longer count."""
    total, log_last, start = 1.0, 0.0, 0
    while start < k and log_last > _NEGLIGIBLE:
        i = np.arange(start, min(start + _BLOCK, k), dtype=np.float64)
        logs = log_last + np.cumsum(np.log((k - i) / (n - k + 1 + i)))
        total += float(np.exp(logs).sum())
        log_last = float(logs[-1])
        start += _BLOCK
    return total
