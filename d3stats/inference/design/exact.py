"""Power of McNemar's tests by adding up every table, not by a normal approximation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln, ndtri, xlog1py, xlogy

from d3stats._check import choice, integer, number, probability
from d3stats.inference.mcnemar import METHODS, Method

__all__ = ["mcnemar_power"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
    """Return the chance that McNemar's test of a given method rejects, added up over all tables.

    Unconditionally, the number of discordant pairs is Binomial(n, discordance), and of them c is
    Binomial((discordance + effect) / (2 discordance)); with `given_discordant` only the second is random. At effect 0
    this is the size of the test.

    Parameters
    ----------
    effect : float
        Accuracy of the second run less that of the first, in [-discordance, discordance].
    n : int
        Items.
    discordance : float
        Share of items on which the runs differ, in (0, 1].
    method : {"exact", "mid-p", "asymptotic", "corrected"}
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
    rejected = bdtrc(m - k - 1, m, q)
    if sides == 2:
        rejected = rejected + bdtr(k.astype(float), m, q)
    return float(weight @ rejected)


def _discordant_law(n: int, psi: float) -> tuple[Ints, Floats]:
    """Return the numbers of discordant pairs that matter, none excepted, and their probabilities."""
    reach = 10 * np.sqrt(n * psi * (1 - psi)) + 50
    m = np.arange(max(1, int(n * psi - reach)), min(n, int(n * psi + reach)) + 1)
    log_pmf = (
        gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0) + xlogy(m, psi) + xlog1py(n - m, -psi)
    )
    weight = np.exp(log_pmf)
    kept = weight > _NEGLIGIBLE
    return m[kept], weight[kept]


def _critical(m: Ints, method: str, tail: float) -> Ints:
    """Return the largest k for which the test rejects at min(b, c) = k, or -1."""
    if method in ("asymptotic", "corrected"):
        reach = -ndtri(tail) * np.sqrt(m) + (1.0 if method == "corrected" else 0.0)
        k = np.floor((m - reach) / 2 + 1e-9).astype(np.int64)
        return np.maximum(k, -1)
    low, high = np.full(m.shape, -1), (m - 1) // 2
    while (low < high).any():
        middle = (low + high + 1) // 2
        within = _tail(middle, m, method) <= tail * (1 + 1e-12)
        low, high = np.where(within, middle, low), np.where(within, high, middle - 1)
    return low


def _tail(k: Ints, m: Ints, method: str) -> Floats:
    at = np.where(k < 0, 0.0, bdtr(np.maximum(k, 0).astype(float), m, 0.5))
    if method == "exact":
        return at
    below = np.where(k < 1, 0.0, bdtr(np.maximum(k - 1, 0).astype(float), m, 0.5))
    return (at + below) / 2
