"""Do two runs differ, when each item is right or wrong: McNemar's test of the discordant pairs.

Items that both runs got right, or both wrong, say nothing about which is better. Of the b + c others, b were right
in the first run alone and c in the second alone; under the null each is a fair coin, so c ~ Binomial(b + c, 1/2).

The test takes items as independent. Where several items hang on one question it rejects too often; compare
cluster sums then. Four methods:

- ``exact``: the binomial tail, doubled. Never rejects too often, and rejects too seldom with few pairs.
- ``mid-p``: counts half of what is as extreme as the data. Close to its size, a little above it at times.
- ``asymptotic``: (b - c)^2 / (b + c) against chi-square of 1 degree of freedom. For 25 pairs and more.
- ``corrected``: the same with 1 taken from ``|b - c|``. As cautious as the exact test, less precise; for
  comparison with published values.

References
----------
McNemar (1947), Psychometrika 12, 153. Edwards (1948), Psychometrika 13, 185 (correction). Fagerland, Lydersen and
Laake (2013), BMC Medical Research Methodology 13, 91 (mid-p). Newcombe (1998), Statistics in Medicine 17, 857
(intervals of a share).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln

from d3stats._check import choice, integer

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.estimate import Estimate

__all__ = ["McNemar", "Method", "discordant_pairs", "log_fair_pmf", "log_fair_tail", "mcnemar"]

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


Method = Literal["exact", "mid-p", "asymptotic", "corrected"]
METHODS: tuple[str, ...] = get_args(Method)
_BLOCK_mcnemar = 1 << 16
"""Items that are compared at a time: they stay in the cache."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """What :func:`mcnemar` found.

    Attributes
    ----------
    b, c : int
        Items that the first run alone, and the second run alone, got right.
    method : str
    statistic : float
        min(b, c) for "exact" and "mid-p", otherwise the chi-square of 1 degree of freedom.
    p_value : float
        Two-sided. 0.0 only where it is below the smallest number a float can hold; `log10_p` then still has it.
    log10_p : float
        Decimal logarithm of the p-value, finite at any b and c.
    """

    b: int
    c: int
    method: str
    statistic: float
    p_value: float
    log10_p: float

    @property
    def n_discordant(self) -> int:
        """Number of items on which the runs differ, b + c."""
        return self.b + self.c

    @property
    def share(self) -> Estimate:
        """Share of the discordant items that the second run got right; 0.5 under the null.

        The 95 % interval inverts the test of `method`, so that it leaves out 0.5 exactly where p < .05:
        Clopper-Pearson's of "exact", its mid-p form of "mid-p", Wilson's of "asymptotic", Wilson's with a correction
        for continuity of "corrected".
        """
        from d3stats.resampling.proportions import share

        n, name = self.n_discordant, "second right where they differ"
        if self.method in ("exact", "asymptotic"):
            kind: Literal["Clopper-Pearson", "Wilson"]
            kind = "Clopper-Pearson" if self.method == "exact" else "Wilson"
            return share(self.c, n, kind=kind, name=name)
        made = share(self.c, n, kind="Clopper-Pearson", name=name)
        low, high = (_mid_p_limits if self.method == "mid-p" else _corrected_limits)(self.c, n, made.level)
        kind_said = "Clopper-Pearson mid-p" if self.method == "mid-p" else "Wilson, continuity-corrected"
        return replace(made, low=low, high=high, kind=kind_said)

    def to_dict(self) -> dict[str, Any]:
        """Return the share with its interval, then the test, as JSON can hold them."""
        return {
            "share": self.share.to_dict(),
            "b": self.b,
            "c": self.c,
            "method": self.method,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "log10_p": self.log10_p,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the share with its limits, then the test."""
        import pandas as pd

        row = self.to_dict()
        effect = row.pop("share")
        return pd.DataFrame([{"share": effect["value"], "low": effect["low"], "high": effect["high"], **row}])

    def to_latex(self) -> str:
        """Return a booktabs tabular of the share, its limits and the test."""
        from d3stats._latex import booktabs

        s = self.share
        limits = "-" if s.low is None else f"[{s.low:.3f}, {s.high:.3f}]"
        cells = (str(self.b), str(self.c), f"{s.value:.3f}", limits, self.method, _said(self.log10_p))
        return booktabs("rrrlll", ("b", "c", "share of c", "interval", "method", "p"), [cells])

    def __str__(self) -> str:
        return f"{self.share}\nMcNemar {self.method}: b = {self.b}, c = {self.c}, {_said(self.log10_p, equal=True)}"


def mcnemar(b: int, c: int, *, method: Method = "exact") -> McNemar:
    """Test whether two runs are right equally often, from the items on which they differ.

    Parameters
    ----------
    b, c : int
        Items right in the first run alone, and in the second alone (:func:`discordant_pairs` counts them).
    method : {"exact", "mid-p", "asymptotic", "corrected"}

    Returns
    -------
    McNemar

    Raises
    ------
    ValueError
        When a count is negative, or both are 0: runs that never differ leave nothing to test.

    Notes
    -----
    Where b = c the mid-p value is 1 - P(c)/2, since every other table is more extreme (Fagerland et al. 2013), and
    the corrected statistic is 0 (a correction does not reach past the centre).

    Examples
    --------
    >>> print(mcnemar(86, 150))
    second right where they differ: 0.636 [0.571, 0.697] (95 % Clopper-Pearson, n = 236)
    McNemar exact: b = 86, c = 150, p = 3.72e-05
    """
    b, c = integer("b", b, minimum=0), integer("c", c, minimum=0)
    choice("method", method, METHODS)
    n, least = b + c, min(b, c)
    if n == 0:
        raise ValueError(
            "McNemar's test needs items on which the runs differ; got b + c = 0: no discordance, nothing to test"
        )
    if method in ("exact", "mid-p"):
        statistic = float(least)
        log_p = _log_binomial_p(least, n, half=method == "mid-p")
    else:
        gap = float(abs(b - c)) if method == "asymptotic" else max(abs(b - c) - 1.0, 0.0)
        statistic = gap * gap / n
        log_p = _log_chi_square_p(statistic)
    return McNemar(b, c, method, statistic, math.exp(log_p), log_p / math.log(10))


def discordant_pairs(first: ArrayLike, second: ArrayLike) -> tuple[int, int]:
    """Count the items that only the first run, and only the second run, got right.

    Parameters
    ----------
    first, second : array of 0 and 1 (or bool), shape (items,)
        Right or wrong, the same items in the same order.

    Returns
    -------
    b, c : int

    Raises
    ------
    ValueError
        When the shapes differ or a value is neither 0 nor 1 (a missing one included).

    Examples
    --------
    >>> discordant_pairs([1, 1, 0, 1], [1, 0, 1, 0])
    (2, 1)
    """
    left, right = np.asarray(first), np.asarray(second)
    for name, array in (("first", left), ("second", right)):
        if array.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    if left.size != right.size:
        raise ValueError(f"second must have one value per item of first ({left.size}); got {right.size}")
    b = c = 0
    for start in range(0, left.size, _BLOCK_mcnemar):
        block = slice(start, start + _BLOCK_mcnemar)
        mine, theirs = _is_one("first", left[block], start), _is_one("second", right[block], start)
        both = int(np.count_nonzero(mine & theirs))
        b += int(np.count_nonzero(mine)) - both
        c += int(np.count_nonzero(theirs)) - both
    return b, c


def _is_one(name: str, values: NDArray[Any], start: int) -> NDArray[np.bool_]:
    if values.dtype == bool:
        return values
    ones = np.asarray(values == 1, dtype=bool)
    zeros = np.asarray(values == 0, dtype=bool)
    if np.count_nonzero(ones) + np.count_nonzero(zeros) != values.size:
        row = int(np.argmin(ones | zeros))
        raise ValueError(f"{name} must be 0 or 1; got {name}={values[row]!r} at row {start + row}")
    return ones


def _mid_p_limits(c: int, n: int, level: float) -> tuple[float, float]:
    """Return the shares of which the lower or upper tail, counting half of c itself, is (1 - level) / 2."""
    from scipy.optimize import brentq
    from scipy.special import bdtr, xlog1py, xlogy

    log_ways = math.lgamma(n + 1) - math.lgamma(c + 1) - math.lgamma(n - c + 1)

    def below(p: float) -> float:
        at = math.exp(log_ways + float(xlogy(c, p)) + float(xlog1py(n - c, -p)))
        return float(bdtr(c, n, p)) - at / 2 if c < n else 1 - at / 2

    tail = (1 - level) / 2
    low = 0.0 if c == 0 else brentq(lambda p: below(p) - (1 - tail), 0.0, 1.0, xtol=1e-14)
    high = 1.0 if c == n else brentq(lambda p: below(p) - tail, 0.0, 1.0, xtol=1e-14)
    return float(low), float(high)


def _corrected_limits(c: int, n: int, level: float) -> tuple[float, float]:
    """Return Wilson's limits with a correction for continuity (Newcombe, 1998, method 4)."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))

    def lower(x: int) -> float:
        if x == 0:
            return 0.0
        root = math.sqrt(z * z - 2 - 1 / n + 4 * (x / n) * (n - x + 1))
        return max((2 * x + z * z - 1 - z * root) / (2 * (n + z * z)), 0.0)

    return lower(c), 1 - lower(n - c)


def _log_binomial_p(least: int, n: int, *, half: bool) -> float:
    """Return log of the doubled tail, less the point itself with `half`."""
    if 2 * least == n:
        return math.log1p(-math.exp(log_fair_pmf(least, n)) / 2) if half else 0.0
    log_tail = math.log(2) + log_fair_tail(least, n)
    if not half:
        return min(log_tail, 0.0)
    return log_tail + math.log1p(-math.exp(log_fair_pmf(least, n) - log_tail))


def _log_chi_square_p(statistic: float) -> float:
    from scipy.special import log_ndtr

    return min(math.log(2) + float(log_ndtr(-math.sqrt(statistic))), 0.0)


def _said(log10_p: float, *, equal: bool = False) -> str:
    sign = "p = " if equal else ""
    if log10_p > -300:
        return f"{sign}{10.0**log10_p:.3g}"
    return f"{sign}10^{log10_p:.1f}"
