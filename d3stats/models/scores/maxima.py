"""Integrals of the laws of maxima: Gauss-Legendre of two orders on graded pieces, split until they agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats.models.scores.law import ScoreLaw

__all__ = ["TOLERANCE", "beyond", "integrate", "log_below", "log_cdf", "mean_of_max", "require_mean"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-12
"""Absolute error per integral that is aimed at, times the scale of the integrand's mass."""
_DEPTH = 60
_PIECES = 8192
"""Most pieces that splitting may add; what is not settled by then is counted as error."""
_VALUES = 1 << 20
"""Most values held at a time."""
_NOISE = 2e-14
"""Relative error of a distribution function, as scipy.special and scipy.stats deliver it."""


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats]:
    coarse, fine = special.roots_legendre(10), special.roots_legendre(20)
    return np.concatenate([coarse[0], fine[0]]), coarse[1], fine[1]


def integrate(
    integrand: Callable[[Floats], Floats],
    cuts: Floats,
    tolerance: float = TOLERANCE,
    *,
    size: Callable[[Floats], Floats] = np.abs,
    floor: ArrayLike = 1.0,
    bounds: Callable[[Floats, Floats], tuple[Floats, Floats]] | None = None,
) -> tuple[Floats, Floats]:
    """Integrate a vector-valued function between the first cut and the last.

    Parameters
    ----------
    integrand : callable
        Takes points, shape (points,), and returns values, shape (points, integrals).
    cuts : array
        Ascending; the function is smooth between them, or nearly.
    tolerance : float
        A piece whose two orders differ by more than this share of the whole is split: in the middle, or at the
        geometric mean where the ends differ by orders of magnitude.
    size : callable
        Takes integrals over pieces, shape (pieces, integrals), and returns the magnitude of what was subtracted
        in them, from which follow the scale of the whole and what is rounding.
    floor : array, shape (integrals,)
        Least scale of the whole.
    bounds : callable, optional
        Takes lower and upper ends, shape (pieces,); returns the integral over each piece and a bound on its
        error, both (pieces, integrals). It serves where the function is not finite or a piece is a few floats
        wide.

    Returns
    -------
    values, errors : array, shape (integrals,)
        The error is the summed difference between the orders 10 and 20, a bound in practice, or infinite where
        the function was not finite and there are no `bounds`.
    """
    if cuts.size < 2:
        nothing = np.zeros(integrand(cuts).shape[-1])
        return nothing, nothing.copy()
    low, high = cuts[:-1], cuts[1:]
    value: Floats | float = 0.0
    error: Floats | float = 0.0
    total: Floats | float = 0.0
    spent, history = 0, list[tuple[int, float]]()
    for depth in range(_DEPTH):
        exact, apart = _both_orders(integrand, low, high)
        scale = np.maximum(size(exact).sum(axis=0) + total, floor)
        limit = np.maximum(tolerance * scale / 64, _NOISE * size(exact))
        if bounds is not None:
            held, within = bounds(low, high)
            # Both orders can pass over what lies between their nodes; the bound cannot.
            outside = np.abs(exact - held) - within
            apart = np.where(outside > limit, np.maximum(apart, outside + within), apart)
            better = (within < apart) & (apart > limit)
            exact, apart = np.where(better, held, exact), np.where(better, within, apart)
        split = (apart > limit).any(axis=1)
        middle = _middle(low, high)
        split &= (low < middle) & (middle < high)
        spent += 2 * int(split.sum())
        history.append((int(split.sum()), float((apart[split] / scale).max(axis=1).sum())))
        if depth == _DEPTH - 1 or spent > _PIECES or _is_noise(history):
            split[:] = False
        value = value + exact[~split].sum(axis=0)
        error = error + apart[~split].sum(axis=0)
        total = total + size(exact[~split]).sum(axis=0)
        if not split.any():
            break
        low, high = (
            np.concatenate([low[split], middle[split]]),
            np.concatenate([middle[split], high[split]]),
        )
    return np.asarray(value), np.asarray(error)


def _is_noise(history: list[tuple[int, float]]) -> bool:
    """Whether ever more pieces only share out the same error: the digits of the function are used up."""
    if len(history) < 4:
        return False
    (before, was), (now, left) = history[-4], history[-1]
    return now >= 4 * before and left >= 0.2 * was


def _both_orders(integrand: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of order 20, shape (pieces, integrals), and their distance from order 10."""
    nodes, w10, w20 = _rules()
    values, apart = [], []
    step, start = 64, 0
    while start < low.size:
        a, b = low[start : start + step], high[start : start + step]
        half = 0.5 * (b - a)
        points = 0.5 * (a + b)[:, None] + half[:, None] * nodes
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            f = integrand(points.ravel())
            f = f.reshape(*points.shape, f.shape[-1])
            rough, exact = (
                np.einsum("i,j,ijk->ik", half, w, part) for w, part in ((w10, f[:, :10]), (w20, f[:, 10:]))
            )
            distance = np.abs(exact - rough)
        bad = ~np.isfinite(distance)
        values.append(np.where(bad, 0.0, exact))
        apart.append(np.where(bad, np.inf, distance))
        start += step
        step = max(1, _VALUES // (nodes.size * f.shape[-1]))
    return np.concatenate(values), np.concatenate(apart)


def _middle(low: Floats, high: Floats) -> Floats:
    """Return where pieces are halved: by magnitude where the ends have one sign and differ by far."""
    same = np.sign(low) * np.sign(high) > 0
    near = np.where(same, np.minimum(np.abs(low), np.abs(high)), 1.0)
    far = np.maximum(np.abs(low), np.abs(high))
    graded = same & (far > 16 * near)
    with np.errstate(over="ignore"):
        geometric = np.sign(high) * np.sqrt(near) * np.sqrt(far)
    # Towards zero there is no end of magnitudes: a thousandth, down to the smallest float.
    from_zero = (np.minimum(np.abs(low), np.abs(high)) == 0) & (far > np.finfo(float).tiny)
    arithmetic = np.where(from_zero, 1e-3 * (low + high), 0.5 * low + 0.5 * high)
    return np.where(graded, geometric, arithmetic)


def log_cdf(law: ScoreLaw, x: Floats) -> Floats:
    """Return log P(X <= x), accurate where the probability is near one and where it is near zero."""
    over = law.sf(x)
    with np.errstate(divide="ignore"):
        result = np.log1p(-over)
        deep = over > 0.5
        if deep.any():
            result[deep] = np.log(law.cdf(x[deep]))
    return result


def log_below(law: ScoreLaw, x: Floats) -> Floats:
    """Return log P(X < x), as accurate as :func:`log_cdf`."""
    points, masses = law.atoms
    if points.size == 0:
        return log_cdf(law, x)
    at = np.minimum(np.searchsorted(points, x), points.size - 1)
    over = law.sf(x) + np.where(points[at] == x, masses[at], 0.0)
    with np.errstate(divide="ignore"):
        return np.where(over < 0.5, np.log1p(-np.minimum(over, 0.5)), np.log(law.below(x)))


def require_mean(name: str, law: ScoreLaw) -> None:
    """Refuse a law without a finite mean: its maxima have none either."""
    if not np.isfinite(law.mean):
        raise ValueError(f"{name} must have a finite mean; got {law!r} with mean {law.mean}")


def beyond(law: ScoreLaw, cuts: Floats, k: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Estimate what lies outside the cuts for the best of k.

    Returns
    -------
    points, mass : array, shape (ks,)
        The integral of the tails of the distribution function, in points, by the power law that the last two
        decades show, and their probability.
    """
    # The cut nearest the median: cuts are many more in a heavy tail than in the other.
    middle = float(cuts[np.argmin(np.abs(law.cdf(cuts) - 0.5))])
    points, mass = np.zeros(k.size), np.zeros(k.size)
    tails = ((law.sf, float(cuts[-1]), k.astype(float)), (law.below, float(cuts[0]), np.ones(k.size)))
    for (tail, end, times), limit in zip(tails, law.support[::-1], strict=True):
        left = float(tail(end))
        if left <= 0 or end == limit:
            continue
        near = float(tail(middle + (end - middle) * 0.01))
        index = np.log(near / left) / np.log(100.0) if np.isfinite(near / left) else np.inf
        points += times * (left * abs(end - middle) / (index - 1) if index > 1 else np.inf)
        mass += times * left
    return points, mass


def mean_of_max(law: ScoreLaw, k: NDArray[np.int64]) -> Floats:
    """Return E max of k independent scores for every k, by parts from the median.

    Raises
    ------
    ValueError
        When the law has no finite mean, or its tails are too heavy for the integral.
    """
    require_mean("law", law)
    if law.is_discrete:
        points, _ = law.atoms
        over = -np.expm1(k * log_cdf(law, points[:-1])[:, None])
        total: Floats = points[0] + np.diff(points) @ over if points.size > 1 else np.full(k.size, points[0])
        return total
    middle = float(law.quantile(0.5))
    cuts = np.unique(np.append(law.breakpoints(), middle))

    def integrand(x: Floats) -> Floats:
        logs = k * log_cdf(law, x)[:, None]
        return np.where((x < middle)[:, None], -np.exp(logs), -np.expm1(logs))

    value, error = integrate(integrand, cuts, floor=np.finfo(float).tiny)
    error = error + beyond(law, cuts, k)[0]
    worst = int(np.argmax(error))
    far_low, low, high, far_high = law.quantile([0.001, 0.1, 0.9, 0.999])
    # Where nearly all mass is one atom's, rounding is what an error is held against.
    if error[worst] > 1e-6 * max(abs(value[worst]), high - low, 1e-6 * (far_high - far_low)):
        raise ValueError(
            f"law must have a mean of the best of k that can be computed to six digits; got {law!r} at "
            f"k={k[worst]} with an error of {error[worst]:.2g}"
        )
    return middle + value
