"""Exact posterior of the difference of two shares from one table of pairs, by quadrature over the pairs that differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from d3stats._arrays import Floats

__all__ = ["Discordance"]


@dataclass(frozen=True, slots=True)
class Discordance:
    """Exact posterior of the difference of two shares from one table of pairs with a Dirichlet prior.

    The difference is ``S * (2 W - 1)``: S, the chance that a pair differs, and W, the chance that it is B that is
    right, are independent Beta variables.

    Attributes
    ----------
    only_a, only_b, same : float
        Parameters of the Dirichlet posterior: counts plus prior.

    Examples
    --------
    >>> law = Discordance(3, 10, 31)  # of 40 pairs, 2 are right for A only and 9 for B only; a uniform prior
    >>> round(law.mean, 3), round(1 - law.cdf(0.0), 3)
    (0.159, 0.981)
    >>> round(law.quantile(0.025), 3), round(law.sd, 3)
    (0.009, 0.077)
    """

    only_a: float
    only_b: float
    same: float

    @property
    def mean(self) -> float:
        """Posterior mean of the difference."""
        return (self.only_b - self.only_a) / self._total

    @property
    def sd(self) -> float:
        """Posterior standard deviation of the difference."""
        second = (self.only_a + self.only_b) / self._total - self.mean**2
        return math.sqrt(second / (self._total + 1))

    def cdf(self, value: float) -> float:
        """Posterior probability that the difference is at most `value`."""
        if value < 0:
            return _beyond(-value, self.only_b, self.only_a, self.same)
        return 1.0 - _beyond(value, self.only_a, self.only_b, self.same)

    def quantile(self, probability: float) -> float:
        """Value that the difference is at most with that probability (the inverse of :meth:`cdf`)."""
        below = self.cdf(0.0)
        if probability < below:
            return -_exceeded(probability, self.only_b, self.only_a, self.same)
        return _exceeded(1.0 - probability, self.only_a, self.only_b, self.same)

    @property
    def _total(self) -> float:
        return self.only_a + self.only_b + self.same


def _beyond(size: float, against: float, favour: float, same: float) -> float:
    """Return P(``S * (2 W - 1) > size``) for independent Beta variables S and W; size >= 0.

    S has the parameters (against + favour, same), W (favour, against).
    The integral over S runs over its quantiles above `size`, where the integrand is a probability, and so bounded,
    however small a parameter is; its steep end is what tanh-sinh quadrature (Takahasi and Mori, 1974) is made for.
    """
    from scipy.special import betainc, betaincc, betainccinv

    above = float(betaincc(against + favour, same, min(size, 1.0)))
    if size == 0 or above == 0:
        return above * float(betainc(against, favour, 0.5))
    part, weight = _tanh_sinh()
    s = betainccinv(against + favour, same, above * part)
    # For some parameters scipy has no quantile of a probability below 1e-16; such points weigh as little.
    s = np.maximum(np.where(np.isnan(s) & (part < 1e-15), 1.0, s), size)
    return above * float(weight @ betainc(against, favour, (1 - size / s) / 2))


def _exceeded(probability: float, against: float, favour: float, same: float) -> float:
    """The size that the difference is beyond with that probability, searched on a logarithmic scale."""
    from scipy.optimize import brentq

    def excess(log_size: float) -> float:
        return _beyond(math.exp(log_size), against, favour, same) - probability

    least = -700.0
    if excess(least) <= 0:
        return 0.0
    return math.exp(brentq(excess, least, 0.0, xtol=1e-13)) if excess(0.0) < 0 else 1.0


@lru_cache(maxsize=1)
def _tanh_sinh() -> tuple[Floats, Floats]:
    """Points in (0, 1) and weights that add up to 1."""
    y = np.linspace(-4.0, 4.0, 161)
    up = 1 / (1 + np.exp(-math.pi * np.sinh(y)))
    weight = np.cosh(y) * up * up[::-1]
    return up, weight / weight.sum()
