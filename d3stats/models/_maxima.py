"""Integrals of the laws of maxima: Gauss-Legendre of two orders on graded pieces, split until they agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.score_law import ScoreLaw

__all__ = ["TOLERANCE", "integrate", "log_cdf", "mean_of_max", "require_mean"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-12
"""Absolute error per integral that is aimed at, times the scale of the integrand's mass."""
_DEPTH = 40


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats, Floats]:
    coarse, fine = special.roots_legendre(10), special.roots_legendre(20)
    return coarse[0], coarse[1], fine[0], fine[1]


def integrate(
    integrand: Callable[[Floats], Floats], cuts: Floats, tolerance: float = TOLERANCE
) -> tuple[Floats, Floats]:
    """Integrate a vector-valued function between the first cut and the last.

    Parameters
    ----------
    integrand : callable
        Takes points, shape (points,), and returns values, shape (points, integrals).
    cuts : array
        Ascending; the function is smooth between them, or nearly.
    tolerance : float
        A piece whose two orders differ by more than this share of the whole, or of 1, is split.

    Returns
    -------
    values, errors : array, shape (integrals,)
        The error is the summed difference between the orders 10 and 20, a bound in practice.
    """
    x10, w10, x20, w20 = _rules()
    low, high = cuts[:-1], cuts[1:]
    value: Floats | None = None
    error: Floats | None = None
    for depth in range(_DEPTH):
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        points = middle[:, None] + half[:, None] * np.concatenate([x10, x20])
        values = integrand(points.ravel())
        values = values.reshape(*points.shape, values.shape[-1])
        rough = half[:, None] * np.einsum("j,ijk->ik", w10, values[:, :10])
        exact = half[:, None] * np.einsum("j,ijk->ik", w20, values[:, 10:])
        apart = np.abs(exact - rough)
        scale = np.maximum(
            np.abs(exact).sum(axis=0), 1.0 if value is None else np.maximum(np.abs(value), 1.0)
        )
        split = (apart > tolerance * scale / 64).any(axis=1)
        if depth == _DEPTH - 1:
            split[:] = False
        done = ~split
        value = exact[done].sum(axis=0) + (0.0 if value is None else value)
        error = apart[done].sum(axis=0) + (0.0 if error is None else error)
        if not split.any():
            break
        low, high = (
            np.concatenate([low[split], middle[split]]),
            np.concatenate([middle[split], high[split]]),
        )
    assert value is not None
    assert error is not None
    return value, error


def log_cdf(law: ScoreLaw, x: Floats) -> Floats:
    """Return log P(X <= x), accurate where the probability is near one and where it is near zero."""
    over = law.sf(x)
    with np.errstate(divide="ignore"):
        return np.where(over < 0.5, np.log1p(-np.minimum(over, 0.5)), np.log(law.cdf(x)))


def require_mean(name: str, law: ScoreLaw) -> None:
    """Refuse a law without a finite mean: its maxima have none either."""
    if not np.isfinite(law.mean):
        raise ValueError(f"{name} must have a finite mean; got {law!r} with mean {law.mean}")


def mean_of_max(law: ScoreLaw, k: NDArray[np.int64]) -> Floats:
    """Return E max of k independent scores for every k, by parts from the median."""
    require_mean("law", law)
    if law.is_discrete:
        points, _ = law.atoms
        with np.errstate(divide="ignore"):
            over = -np.expm1(k * log_cdf(law, points[:-1])[:, None])
        total: Floats = points[0] + np.diff(points) @ over if points.size > 1 else np.full(k.size, points[0])
        return total
    cuts = law.breakpoints()
    middle = float(law.quantile(0.5))
    cuts = np.unique(np.append(cuts, middle))

    def integrand(x: Floats) -> Floats:
        logs = k * log_cdf(law, x)[:, None]
        return np.where((x < middle)[:, None], -np.exp(logs), -np.expm1(logs))

    return middle + integrate(integrand, cuts)[0]
