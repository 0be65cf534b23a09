"""Integrals over a score by Gauss-Legendre on pieces and ``scipy.integrate.quad_vec``, and roots between brackets.

An integrand is smooth between the points where it is cut: the atoms and ends of the laws, and quantiles far into
each tail. A piece whose ends differ by orders of magnitude is integrated over the logarithm of the score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.integrate import quad_vec
from scipy.optimize import elementwise

from d3stats._arrays import Floats

__all__ = ["bracketed_roots", "decade_cuts", "integrate", "tail_cuts"]

Integrand = Callable[[Floats], Floats]

TOLERANCE = 1e-13
"""Error of a piece, as a share of the whole, above which it is refined; and of what is refined."""
_INTERVALS = 50
"""Most intervals of a refinement: beyond, the digits of the distribution function are used up."""
_WIDE = 4.0
"""Ratio of the ends of a piece above which it is integrated over the logarithm."""
_ORDER = 14


@lru_cache
def _rules(parts: int) -> tuple[Floats, Floats, Floats]:
    """Return the nodes of two Gauss-Legendre rules on each part of [0, 1], (parts, nodes), and the weights of each."""
    (rough, rough_weights), (fine, weights) = (special.roots_legendre(n) for n in (_ORDER, 2 * _ORDER))
    start = np.arange(parts)[:, None] / parts
    nodes = start + (0.5 + 0.5 * np.concatenate([rough, fine])) / parts
    return nodes, 0.5 * rough_weights / parts, 0.5 * weights / parts


class _Pieces:
    """Pieces that are all run through by one variable t from 0 to 1."""

    def __init__(self, integrand: Integrand, low: Floats, high: Floats) -> None:
        self.integrand, self.low, self.width = integrand, low, high - low
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.abs(high)) - np.log(np.abs(low))
        self.wide = (low * np.sign(high) > 0) & (np.abs(ratio) > np.log(_WIDE))
        self.ratio = np.where(self.wide, ratio, 0.0)

    def __call__(self, t: Floats) -> Floats:
        """Return the integrand by t, shape (pieces, t, integrals); 0 where it is not finite."""
        low, width = self.low[:, None], self.width[:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x, slope = low + width * t, np.broadcast_to(width, (low.size, t.size)).copy()
            if self.wide.any():
                ratio = self.ratio[self.wide, None]
                x[self.wide] = low[self.wide] * np.exp(ratio * t)
                slope[self.wide] = x[self.wide] * ratio
            values = self.integrand(x.ravel())
            values = values.reshape(*x.shape, values.shape[-1]) * slope[:, :, None]
        return np.where(np.isfinite(values), values, 0.0)

    def keep(self, which: NDArray[np.bool_]) -> _Pieces:
        return _Pieces(self.integrand, self.low[which], self.low[which] + self.width[which])


def integrate(
    *parts: tuple[Integrand, Floats], scale: Callable[[Floats], Floats] = np.asarray
) -> tuple[Floats, Floats]:
    """Integrate a vector-valued function between the first cut and the last, and add up the parts of the line.

    Parameters
    ----------
    parts : pairs of callable and array
        An integrand, which takes points, shape (points,), and returns values, shape (points, integrals); and the
        ascending points where it is cut, between which it is smooth, or nearly.
    scale : callable
        Takes the summed sizes of the integrals over pieces, shape (integrals,), and returns the scales to which
        errors are compared; by default the sizes themselves.

    Returns
    -------
    values, errors : array, shape (integrals,)
        The errors are estimated as in QUADPACK from two orders, or by `quad_vec`.
    """
    line = [_Pieces(integrand, cuts[:-1], cuts[1:]) for integrand, cuts in parts]
    exact, apart = map(list, zip(*(_by_two_orders(pieces, 1) for pieces in line), strict=True))
    size = sum(np.abs(each).sum(axis=0) for each in exact)
    whole = np.maximum(scale(size), np.finfo(float).tiny)
    error = np.zeros(whole.size)
    for pieces, values, off in zip(line, exact, apart, strict=True):
        hard, left = np.ones(len(values), dtype=bool), pieces
        for cut in (1, 4, 16):
            if cut > 1:
                left = pieces.keep(hard)
                values[hard], off = _by_two_orders(left, cut)
            # What the finer rule misses is far less than how far the two lie apart.
            missed = np.minimum(off / whole, 1.0)
            missed = np.minimum(missed, (200 * missed) ** 1.5)
            good = (missed <= TOLERANCE).all(axis=1)
            error += missed[good].sum(axis=0)
            hard[hard] = ~good
            if good.all():
                break
        else:
            value, bound = _refined(pieces.keep(hard), whole)
            values[hard] = value * whole
            error += len(value) * bound
    return np.concatenate(exact).sum(axis=0), error * whole


def _refined(pieces: _Pieces, whole: Floats) -> tuple[Floats, float]:
    """Return the integrals over pieces as shares of the whole, by adaptive Gauss-Kronrod, and their greatest error."""

    def at(t: float) -> Floats:
        return np.asarray(pieces(np.array([t]))[:, 0] / whole)

    value, error = quad_vec(at, 0.0, 1.0, epsabs=8 * TOLERANCE, epsrel=0.0, norm="max", limit=_INTERVALS)
    return value, float(error)


def _by_two_orders(pieces: _Pieces, parts: int) -> tuple[Floats, Floats]:
    """Return the integrals over pieces, each cut into so many parts, and how far two orders lie apart."""
    nodes, rough_weights, weights = _rules(parts)
    values = pieces(nodes.ravel())
    values = values.reshape(len(values), *nodes.shape, values.shape[-1])
    exact = np.einsum("pcti,t->pci", values[:, :, _ORDER:], weights)
    apart = np.abs(exact - np.einsum("pcti,t->pci", values[:, :, :_ORDER], rough_weights))
    return exact.sum(axis=1), apart.sum(axis=1)


def bracketed_roots(rising: Callable[[Floats], Floats], low: Floats, high: Floats, level: Floats) -> Floats:
    """Return where a rising function reaches each level between two ends (Chandrupatla, 1997), or the upper end."""
    solve: Any = elementwise.find_root  # its stubs know no arguments
    found = solve(lambda x, goal: rising(x) - goal, (low, high), args=(level,))
    return np.where(found.success, found.x, high)


_NEAR = (0.5, 1e-2, 1e-4, 1e-8, 1e-16)
_FAR = (1e-32, 1e-64, 1e-128, 1e-300)
_STEPS = 10.0 ** np.array([1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 304])
"""Tail probabilities at whose quantiles an integral is cut, so that no node passes over what the best of many
scores can be; and, where quantiles end before the tail does, how far out it is cut in units of the last."""
_DECADES = 2.0
"""Most decades by which the distance from the middle may grow over a piece."""


def tail_cuts(quantile: Any, tail: Any, middle: float, end: float) -> Floats:
    """Return where to cut from the median to one end of the support; quantiles that scipy gets wrong are left out."""
    bounded = np.isfinite(end)
    levels = np.array(_NEAR if bounded else _NEAR + _FAR)
    cuts = np.asarray(quantile(levels), dtype=np.float64)
    reached = np.asarray(tail(cuts)) / levels
    cuts = cuts[np.isfinite(cuts) & (reached > 0.1) & (reached < 10)]
    away = np.abs(cuts - middle)
    cuts = cuts[away >= np.maximum.accumulate(away)] if cuts.size else cuts
    if bounded:
        return decade_cuts(np.append(cuts, [middle, end]), middle)
    last = cuts[-1] if cuts.size and cuts[-1] != middle else middle + np.sign(end)
    more = middle + (last - middle) * _STEPS
    cuts = decade_cuts(np.concatenate([[middle], cuts, more[np.isfinite(more)]]), middle)
    # Beyond the first cut that leaves nothing worth an integral, for any k up to 10^4, none is kept.
    spread = np.abs(float(quantile(0.01)) - middle)
    nothing = np.asarray(tail(cuts)) * np.abs(cuts - middle) <= 1e-21 * spread
    nothing[cuts == middle] = False
    return cuts[: int(np.argmax(nothing)) + 1] if nothing.any() else cuts


def decade_cuts(cuts: Floats, middle: float) -> Floats:
    """Return the cuts on one side of a middle, outwards, with one a decade of distance where they are sparse.

    Over many decades a heavy tail is all at the lower end of a piece, where rules of two orders both pass it over.
    """
    away = np.unique(np.abs(cuts - middle))
    side = 1.0 if cuts.max() > middle else -1.0
    decades = np.log10(away[away > 0])
    sparse = np.flatnonzero(np.diff(decades) > _DECADES)
    if sparse.size == 0:
        return cuts
    more = [np.arange(decades[i] + 1.0, decades[i + 1] - 0.1) for i in sparse]
    added = middle + side * 10.0 ** np.concatenate(more)
    return side * np.unique(side * np.concatenate([cuts, added]))
