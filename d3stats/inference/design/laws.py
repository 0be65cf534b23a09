"""Power of a test, given how far the truth lies from the null in standard errors.

Three laws: McNemar's unconditional normal one, the noncentral t, and the t for two one-sided tests. Every function
returns a probability; solving for a size or an effect is one root search over them.

References
----------
Miettinen (1968), Biometrics 24, 339; Connor (1987), Biometrics 43, 207 (McNemar). Schuirmann (1987), Journal of
Pharmacokinetics and Biopharmaceutics 15, 657; Phillips (1990), the same 18, 137 (two one-sided tests).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, nctdtr, ndtr, ndtri, stdtrit

__all__ = ["connor_power", "connor_size", "rising_root", "t_power", "tost_power"]

_NODES = 400


def connor_size(effect: float, discordance: float, alpha: float, power: float, sides: int) -> float:
    """Return the items that McNemar's test needs, before rounding up.

    (z_alpha sqrt(psi) + z_beta sqrt(psi - d^2))^2 / d^2 with discordance psi and difference d.
    """
    reach = -ndtri(alpha / sides) * math.sqrt(discordance)
    reach += ndtri(power) * math.sqrt(max(discordance - effect**2, 0.0))
    return float((reach / effect) ** 2)


def connor_power(effect: float, discordance: float, n: float, alpha: float, sides: int) -> float:
    """Return the power that :func:`connor_size` inverts; both tails where the test has two."""
    spread = math.sqrt(max(discordance - effect**2, 0.0))
    threshold = -ndtri(alpha / sides) * math.sqrt(discordance)
    shift = effect * math.sqrt(n)
    if spread == 0.0:
        return float(shift > threshold) + float(sides == 2 and -shift > threshold)
    upper = ndtr((shift - threshold) / spread)
    lower = ndtr((-shift - threshold) / spread) if sides == 2 else 0.0
    return float(upper + lower)


def t_power(shift: float, df: float, alpha: float, sides: int) -> float:
    """Return the power of Student's test when the truth lies `shift` standard errors above the null."""
    critical = float(stdtrit(df, 1 - alpha / sides))
    upper = 1.0 - _noncentral_cdf(critical, df, shift)
    return upper if sides == 1 else upper + _noncentral_cdf(-critical, df, shift)


def tost_power(above: float, below: float, df: float, alpha: float) -> float:
    """Return the power of two one-sided t tests; the truth lies `above` and `below` errors inside the two margins.

    Both tests reject where the estimate keeps t * s from both margins. Given s / sigma this is a difference of two
    normal probabilities, and s / sigma is a chi variable, over whose quantiles the mean is taken.
    """
    critical = float(stdtrit(df, 1 - alpha))
    ratio, weight = _chi_ratio(df)
    inside = ndtr(below - critical * ratio) - ndtr(critical * ratio - above)
    return float(weight @ np.maximum(inside, 0.0))


def rising_root(law: Callable[[float], float], target: float, low: float, high: float | None) -> float | None:
    """Return where a rising function reaches `target`: `low` if it starts there, None if `high` is too soon.

    Without `high` the search doubles its reach until the target is met.
    """
    from scipy.optimize import brentq

    if law(low) >= target:
        return low
    if high is None:
        high = 2.0 * low if low > 0 else 1.0
        while law(high) < target:
            high *= 2.0
            if high > 1e15:
                return None
    elif law(high) < target:
        return None
    return float(brentq(lambda x: law(x) - target, low, high, xtol=1e-12 * high, rtol=1e-12))


def _noncentral_cdf(t: float, df: float, shift: float) -> float:
    """Return P(T <= t) of the noncentral t; the library's series gives up in places where this is nearly 0 or 1."""
    value = float(nctdtr(df, shift, t))
    if math.isfinite(value):
        return value
    ratio, weight = _chi_ratio(df)
    return float(weight @ ndtr(t * ratio - shift))


def _chi_ratio(df: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of s / sigma and their weights."""
    at, weight = _legendre()
    return np.sqrt(gammaincinv(df / 2, at) * 2 / df), weight


@cache
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    return (node + 1) / 2, weight / 2
