"""Power of a test by three laws: McNemar's unconditional normal one, the noncentral t, and two one-sided t tests.

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
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer, number, probability
from d3stats.inference.comparison.mcnemar import METHODS, Method

__all__ = ["connor_power", "connor_size", "mcnemar_power", "rising_root", "t_power", "tost_power"]

_NODES = 400


def connor_size(effect: float, discordance: float, alpha: float, power: float, sides: int) -> float:
    """Return the items that McNemar's test needs by its normal law (Connor, 1987), before rounding up.

    (z_alpha sqrt(psi) + z_beta sqrt(psi - d^2))^2 / d^2 with discordance psi and difference d.
    """
    reach = -scipy.special.ndtri(alpha / sides) * math.sqrt(discordance)
    reach += scipy.special.ndtri(power) * math.sqrt(max(discordance - effect**2, 0.0))
    return float((reach / effect) ** 2)


def connor_power(effect: float, discordance: float, n: float, alpha: float, sides: int) -> float:
    """Return the power of McNemar's test by its normal law (Connor, 1987); both tails where the test has two."""
    spread = math.sqrt(max(discordance - effect**2, 0.0))
    threshold = -scipy.special.ndtri(alpha / sides) * math.sqrt(discordance)
    shift = effect * math.sqrt(n)
    if spread == 0.0:
        return float(shift > threshold) + float(sides == 2 and -shift > threshold)
    upper = scipy.special.ndtr((shift - threshold) / spread)
    lower = scipy.special.ndtr((-shift - threshold) / spread) if sides == 2 else 0.0
    return float(upper + lower)


def t_power(shift: float, df: float, alpha: float, sides: int) -> float:
    """Return the power of Student's test when the truth lies `shift` standard errors above the null: noncentral t."""
    critical = float(scipy.special.stdtrit(df, 1 - alpha / sides))
    upper = 1.0 - _noncentral_cdf(critical, df, shift)
    return upper if sides == 1 else upper + _noncentral_cdf(-critical, df, shift)


def tost_power(above: float, below: float, df: float, alpha: float) -> float:
    """Return the power of two one-sided t tests; the truth lies `above` and `below` errors inside the two margins.

    Both tests reject where the estimate keeps t * s from both margins. Given s / sigma this is a difference of two
    normal probabilities, and s / sigma is a chi variable, over whose quantiles the mean is taken.
    """
    critical = float(scipy.special.stdtrit(df, 1 - alpha))
    ratio, weight = _chi_ratio(df)
    inside = scipy.special.ndtr(below - critical * ratio) - scipy.special.ndtr(critical * ratio - above)
    return float(weight @ np.maximum(inside, 0.0))


def rising_root(
    law: Callable[[float], float], target: float, low: float, high: float | None = None, *, start: float = 1.0
) -> float | None:
    """Return where a rising function reaches `target`: `low` if it starts there, None if `high` is too soon.

    Without `high` the search doubles its reach, from `start` (the scale of the answer) on, until the target is met.
    """
    from scipy.optimize import brentq

    if law(low) >= target:
        return low
    if high is None:
        high = 2.0 * low if low > 0 else start
        while law(high) < target:
            high *= 2.0
            if high > 1e15 * start:
                return None
    elif law(high) < target:
        return None
    return float(brentq(lambda x: law(x) - target, low, high, xtol=1e-12 * high, rtol=1e-12))


def _noncentral_cdf(t: float, df: float, shift: float) -> float:
    """Return P(T <= t) of the noncentral t; the library's series gives up in places where this is nearly 0 or 1."""
    value = float(scipy.special.nctdtr(df, shift, t))
    if math.isfinite(value):
        return value
    ratio, weight = _chi_ratio(df)
    return float(weight @ scipy.special.ndtr(t * ratio - shift))


def _chi_ratio(df: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of s / sigma and their weights."""
    at, weight = _legendre()
    return np.sqrt(scipy.special.gammaincinv(df / 2, at) * 2 / df), weight


@cache
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    return (node + 1) / 2, weight / 2


_NEGLIGIBLE = 1e-18


def mcnemar_power(
    effect: float,
    n: int,
    *,
    discordance: float,
    method: Method = "exact",
    alpha: float = 0.05,
    alternative: str = "two-sided",
    given_discordant: int | None = None,
) -> float:
    """Return the exact power of McNemar's test: the chance that it rejects, added up over all tables.

    Unconditionally, the number of discordant pairs is Binomial(n, discordance), and of them c is
    Binomial((discordance + effect) / (2 discordance)); with `given_discordant` only the second is random. At effect 0
    this is the size of the test.

    Parameters
    ----------
    effect : float
        Accuracy of the second run minus that of the first, in [-discordance, discordance].
    n : int
        Items.
    discordance : float
        Share of items on which the runs differ, in (0, 1].
    method : {"exact", "mid-p", "asymptotic", "corrected"}
        The form of the test.
    alpha : float
        The test rejects where its p-value is at most this.
    alternative : {"two-sided", "one-sided"}
        One-sided: the second run is better.
    given_discordant : int, optional
        Number of discordant pairs, taken as known.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When the effect is larger than the discordance, or a number is out of its range.

    Examples
    --------
    >>> round(mcnemar_power(0.012, 3269, discordance=0.06), 4)
    0.7833
    >>> [round(mcnemar_power(0, 80, discordance=0.25, method=method), 4) for method in ("exact", "mid-p")]
    [0.0295, 0.0457]
    """
    n = integer("n", n, minimum=1)
    alpha = probability("alpha", alpha, open_interval=True)
    choice("method", method, METHODS)
    choice("alternative", alternative, ("two-sided", "one-sided"))
    psi = probability("discordance", discordance)
    effect = number("effect", effect)
    if psi == 0 or psi < abs(effect) - 1e-9:
        raise ValueError(
            f"discordance must be > 0 and >= |effect|; got discordance={discordance}, effect={effect}"
        )
    if given_discordant is None:
        m, weight = _discordant_law(n, psi)
    else:
        m = np.array([integer("given_discordant", given_discordant, minimum=1)])
        weight = np.ones(1)
    sides = 2 if alternative == "two-sided" else 1
    k = _critical(m, method, alpha / sides)
    q = min(max((psi + effect) / (2 * psi), 0.0), 1.0)
    some = k >= 0
    m, k, weight = m[some], k[some], weight[some]
    rejected = scipy.special.bdtrc(m - k - 1, m, q)
    if sides == 2:
        rejected = rejected + scipy.special.bdtr(k.astype(float), m, q)
    return float(weight @ rejected)


def _discordant_law(n: int, psi: float) -> tuple[Ints, Floats]:
    """Return the numbers of discordant pairs that matter, none excepted, and their probabilities."""
    reach = 10 * np.sqrt(n * psi * (1 - psi)) + 50
    m = np.arange(max(1, int(n * psi - reach)), min(n, int(n * psi + reach)) + 1)
    log_pmf = (
        scipy.special.gammaln(n + 1.0)
        - scipy.special.gammaln(m + 1.0)
        - scipy.special.gammaln(n - m + 1.0)
        + scipy.special.xlogy(m, psi)
        + scipy.special.xlog1py(n - m, -psi)
    )
    weight = np.exp(log_pmf)
    kept = weight > _NEGLIGIBLE
    return m[kept], weight[kept]


def _critical(m: Ints, method: str, tail: float) -> Ints:
    """Return the largest k for which the test rejects at min(b, c) = k, or -1."""
    if method in ("asymptotic", "corrected"):
        reach = -scipy.special.ndtri(tail) * np.sqrt(m) + (1.0 if method == "corrected" else 0.0)
        k = np.floor((m - reach) / 2 + 1e-9).astype(np.int64)
        return np.maximum(k, -1)
    low, high = np.full(m.shape, -1), (m - 1) // 2
    while (low < high).any():
        middle = (low + high + 1) // 2
        within = _tail(middle, m, method) <= tail * (1 + 1e-12)
        low, high = np.where(within, middle, low), np.where(within, high, middle - 1)
    return low


def _tail(k: Ints, m: Ints, method: str) -> Floats:
    at = np.where(k < 0, 0.0, scipy.special.bdtr(np.maximum(k, 0).astype(float), m, 0.5))
    if method == "exact":
        return at
    below = np.where(k < 1, 0.0, scipy.special.bdtr(np.maximum(k - 1, 0).astype(float), m, 0.5))
    return (at + below) / 2
