"""McNemar's test that two runs are right equally often, from the items on which they differ.

Items that both runs got right, or both wrong, say nothing about which is better. On the b + c other items, the first
run alone is right on b and the second alone on c. Under the null hypothesis c ~ Binomial(b + c, 1/2).

The test takes items as independent. If several items belong to one question it rejects too often; compare
cluster sums then. Four methods:

- ``exact``: the binomial tail, doubled. This test never rejects too often, and rejects too seldom with few
  pairs.
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
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._check import choice, integer
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.resampling.proportions import share
from d3stats.result import Result

__all__ = ["METHODS", "McNemar", "Method", "discordant_pairs", "mcnemar"]

Method = Literal["exact", "mid-p", "asymptotic", "corrected"]
"""The ways in which McNemar's p-value is computed."""
METHODS: tuple[str, ...] = get_args(Method)
_LEAST = 1e-300
"""Smaller p-values are said to be below it."""
_BLOCK = 1 << 16
"""Items that are compared at a time: they stay in the cache."""


@dataclass(frozen=True)
class McNemar(Result):
    """McNemar's test of the items on which two runs differ, with the share that the second got right.

    Attributes
    ----------
    b, c : int
        Items that the first run alone, and the second run alone, got right.
    method : str
    statistic : float
        min(b, c) for "exact" and "mid-p", otherwise the chi-square of 1 degree of freedom.
    p_value : float
        Two-sided; 0.0 where it is below the smallest number that a float can hold.

    Examples
    --------
    >>> from d3stats.inference.comparison import mcnemar
    >>> test = mcnemar(2, 8, method="exact")
    >>> test.n_discordant, test.share.value, round(test.p_value, 4)
    (10, 0.8, 0.1094)
    >>> print(test.summary())
    second run right, where the runs differ: 0.800 [0.444, 0.975] (95 % Clopper-Pearson, n = 10)
    McNemar exact: b = 2, c = 8, p = 0.109
    """

    b: int
    c: int
    method: str
    statistic: float
    p_value: float

    _json: ClassVar[tuple[str, ...]] = ("share", "b", "c", "method", "statistic", "p_value")

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
        n, name = self.n_discordant, "second run right, where the runs differ"
        if self.method == "asymptotic":
            return share(self.c, n, kind="Wilson", name=name)
        made = share(self.c, n, kind="Clopper-Pearson", name=name)
        if self.method == "exact":
            return made
        limits, kind = _corrected_limits, "Wilson, continuity-corrected"
        if self.method == "mid-p":
            limits, kind = _mid_p_limits, "Clopper-Pearson mid-p"
        low, high = limits(self.c, n, made.level)
        return replace(made, low=low, high=high, kind=kind)

    @property
    def headline(self) -> str:
        """The share of the differing items that the second run has right, and the test."""
        differ = counted(self.n_discordant, "item")
        return f"The second run has {self.c} right of the {differ} on which the runs differ; {self._p()}."

    def summary(self) -> str:
        """Return the share with its interval, and the test."""
        return f"{self.share}\nMcNemar {self.method}: b = {self.b}, c = {self.c}, {self._p()}"

    def _p(self) -> str:
        return f"p = {self.p_value:.3g}" if self.p_value >= _LEAST else f"p < {_LEAST:g}"

    def _title(self) -> str:
        return (
            f"McNemar's test ({self.method}) of {counted(self.n_discordant, 'item')} on which two runs differ"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        row = self._document()
        del row["share"]
        first = {"share": self.share.value, "low": self.share.low, "high": self.share.high}
        return {"test": pd.DataFrame([first | row])}


def mcnemar(b: int, c: int, *, method: Method = "exact") -> McNemar:
    """Test whether two runs are right equally often, by McNemar's test of the items on which they differ.

    Parameters
    ----------
    b, c : int
        Items right in the first run alone, and in the second alone (:func:`discordant_pairs` counts them).
    method : {"exact", "mid-p", "asymptotic", "corrected"}
        The form of the test.

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
    second run right, where the runs differ: 0.636 [0.571, 0.697] (95 % Clopper-Pearson, n = 236)
    McNemar exact: b = 86, c = 150, p = 3.72e-05
    """
    b, c = integer("b", b, minimum=0), integer("c", c, minimum=0)
    choice("method", method, METHODS)
    n, least = b + c, min(b, c)
    if n == 0:
        raise ValueError(
            "McNemar's test needs items on which the runs differ; got b + c = 0, so there is nothing to test"
        )
    if method in ("exact", "mid-p"):
        statistic = float(least)
        below = float(scipy.special.betainc(n - least, least + 1, 0.5))
        # The mid-p tail counts half of its last term: it is the mean of this tail and the next smaller one.
        last = (
            below
            if method == "exact"
            else float(scipy.special.betainc(n - least + 1, least, 0.5))
            if least
            else 0.0
        )
        p = below + last if 2 * least < n else 1 - (below - last) / 2
    else:
        gap = float(abs(b - c)) if method == "asymptotic" else max(abs(b - c) - 1.0, 0.0)
        statistic = gap * gap / n
        p = 2 * float(scipy.special.ndtr(-math.sqrt(statistic)))
    return McNemar(b, c, method, statistic, min(p, 1.0))


def discordant_pairs(first: ArrayLike, second: ArrayLike) -> tuple[int, int]:
    """Return how many items only the first run got right, and how many only the second.

    Parameters
    ----------
    first, second : array of 0 and 1 (or bool), shape (items,)
        Right or wrong, the same items in the same order.

    Returns
    -------
    tuple of int

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
    for start in range(0, left.size, _BLOCK):
        block = slice(start, start + _BLOCK)
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
