"""The law of the greatest of k standard normals that share one factor: every correlated maximum comes down to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["Diagonal", "diagonal"]

Floats = NDArray[np.float64]

_SPAN = 9.5
"""How many standard deviations of a normal an integral covers: what lies beyond is below 1e-20."""
_CELLS = 1 << 20


class Diagonal:
    """The greatest of k standard normals with pairwise correlation rho, 0 < rho < 1, k > 1.

    With X_i = sqrt(rho) Z + sqrt(1 - rho) E_i the maximum is sqrt(rho) Z + sqrt(1 - rho) max E_i. Its distribution
    function is a mean over whichever of the two parts is wider, so that the integrand is smooth at every rho; the
    trapezoid rule is then accurate to rounding, and steps are halved until two of them agree.
    """

    def __init__(self, k: int, rho: float) -> None:
        self.k, self.rho = k, rho
        self._a, self._b = np.sqrt(rho), np.sqrt(1 - rho)
        self._step = 0.5
        grid = np.linspace(-8.0, 9.0, 35)
        found = self._pair(grid)
        for _ in range(8):
            self._step /= 2
            finer = self._pair(grid)
            self.error = float(max(np.abs(x - y).max() for x, y in zip(found, finer, strict=True)))
            found = finer
            if self.error < 1e-15 * 8:
                break

    def cdf(self, q: Floats) -> Floats:
        """Return P(max <= q)."""
        return self._mean(q, upper=False)

    def sf(self, q: Floats) -> Floats:
        """Return P(max > q), without cancellation."""
        return self._mean(q, upper=True)

    def ratio(self, q: Floats) -> Floats:
        """Return the density of the maximum over that of one: k E Phi(sqrt(1-rho) q - sqrt(rho) Y)^(k-1)."""
        y = np.arange(-_SPAN, _SPAN + self._step, self._step)
        weight = np.exp(-0.5 * y * y)
        weight /= weight.sum()

        def part(some: Floats) -> Floats:
            powered = np.exp((self.k - 1) * special.log_ndtr(self._b * some[:, None] - self._a * y))
            return np.asarray(self.k * (powered @ weight))

        return self._by_parts(q, part, y.size, (0.0, float(self.k)))

    def quantile(self, u: Floats) -> Floats:
        """Return q with P(max <= q) = u, for u strictly between 0 and 1."""
        # One normal lies below the maximum, and k independent ones above it.
        low, high = special.ndtri(u), special.ndtri(u ** (1.0 / self.k))
        high = np.where(np.isfinite(high), high, 40.0)
        low = np.minimum(low, high)
        at = 0.5 * (low + high)
        for _ in range(80):
            over = self.cdf(at) - u
            low, high = np.where(over < 0, at, low), np.where(over < 0, high, at)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                slope = self.ratio(at) * np.exp(-0.5 * at * at) / np.sqrt(2 * np.pi)
                newton = at - over / slope
            inside = np.isfinite(newton) & (newton > low) & (newton < high)
            following = np.where(inside, newton, 0.5 * (low + high))
            moved = np.abs(following - at)
            at = following
            if (moved <= 1e-13 * np.maximum(1.0, np.abs(at))).all():
                break
        return np.asarray(at)

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw maxima: the factor, and the greatest of k by its own quantile."""
        common = rng.standard_normal(size)
        # The upper tail by log(u) / k near 0, where u^(1/k) would round to 1.
        greatest = -special.ndtri(-np.expm1(np.log1p(-rng.random(size)) / self.k))
        return np.asarray(self._a * common + self._b * greatest)

    def _pair(self, q: Floats) -> tuple[Floats, Floats]:
        return self.cdf(q), self.sf(q)

    def _mean(self, q: Floats, *, upper: bool) -> Floats:
        """Average over the wider part: the shared factor up to rho = 1/2, the greatest of the rest above."""
        a, b, k = self._a, self._b, self.k
        finite = q[np.isfinite(q)]
        far = float(np.abs(finite).max(initial=0.0))
        # A tail at q is made by parts up to about q: the grid goes there.
        y = np.arange(-_SPAN - far, _SPAN + far + self._step, self._step)
        if self.rho <= 0.5:
            weight = np.exp(-0.5 * y * y)
            weight /= weight.sum()
        else:
            weight = np.exp(-0.5 * y * y + (k - 1) * special.log_ndtr(y))
            weight /= weight.sum()
        used = weight > 0
        y, weight = y[used], weight[used]

        def part(some: Floats) -> Floats:
            if self.rho <= 0.5:
                logs = k * special.log_ndtr((some[:, None] - a * y) / b)
                return np.asarray((-np.expm1(logs) if upper else np.exp(logs)) @ weight)
            apart = (some[:, None] - b * y) / a
            return np.asarray(special.ndtr(-apart if upper else apart) @ weight)

        ends = (1.0, 0.0) if upper else (0.0, 1.0)
        return self._by_parts(q, part, y.size, ends)

    @staticmethod
    def _by_parts(
        q: Floats, part: Callable[[Floats], Floats], width: int, ends: tuple[float, float]
    ) -> Floats:
        shape = np.shape(q)
        flat = np.ravel(q)
        out = np.where(flat < 0, ends[0], ends[1])
        finite = np.flatnonzero(np.isfinite(flat))
        rows = max(1, _CELLS // width)
        for start in range(0, finite.size, rows):
            at = finite[start : start + rows]
            out[at] = part(flat[at])
        return out.reshape(shape)


@lru_cache(maxsize=256)
def diagonal(k: int, rho: float) -> Diagonal:
    """Return the law for k and rho; both sides of a separation share one."""
    return Diagonal(k, rho)
