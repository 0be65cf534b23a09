"""What turns replicates of one number into limits: percentile, basic, BCa, studentised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ends", "basic_ends", "bca_ends", "expanded_level", "percentile_ends", "studentised_ends"]

Floats = NDArray[np.float64]
_INFINITE = 1e300


class Ends(NamedTuple):
    """Two limits, or a reason why there are none (limits are then NaN)."""

    low: float
    high: float
    reason: str = ""


def no_ends(reason: str) -> Ends:
    return Ends(np.nan, np.nan, reason)


def expanded_level(level: float, n_clusters: int) -> float:
    """Return the level whose normal quantile is Student's at `level`, times sqrt(G / (G - 1)) (Hesterberg, 2015).

    Replicates vary as if G clusters were known to be all there are: their variance lacks G / (G - 1), and their
    quantiles are in effect normal ones.
    """
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(n_clusters - 1, (1.0 + level) / 2.0)) * np.sqrt(n_clusters / (n_clusters - 1))
    return 1.0 - 2.0 * float(ndtr(-quantile))


def percentile_ends(replicates: Floats, level: float) -> Ends:
    """Quantiles of the replicates themselves (Efron, 1979)."""
    low, high = np.quantile(replicates, _tails(level))
    return Ends(float(low), float(high))


def basic_ends(estimate: float, replicates: Floats, level: float) -> Ends:
    """Quantiles mirrored at the estimate (Davison and Hinkley, 1997, equation 5.6)."""
    low, high = np.quantile(replicates, _tails(level))
    return Ends(float(2 * estimate - high), float(2 * estimate - low))


def bca_ends(
    estimate: float, replicates: Floats, left_out: Floats, times: NDArray[np.int64], level: float
) -> Ends:
    """Bias-corrected and accelerated quantiles (Efron, 1987), acceleration by the cluster jackknife.

    `left_out` are the estimates without each cluster, each as often as `times` says.
    """
    from scipy.special import ndtr, ndtri

    # Ties count half, and a share of 0 or 1 is kept off the boundary, where the correction is infinite.
    below = np.mean(replicates < estimate) + 0.5 * np.mean(replicates == estimate)
    edge = 0.5 / len(replicates)
    bias = ndtri(np.clip(below, edge, 1.0 - edge))
    defined = ~np.isnan(left_out)
    acceleration = _acceleration(left_out[defined], times[defined])
    shifted = bias + ndtri(_tails(level))
    shrink = 1.0 - acceleration * shifted
    if (shrink <= 0).any():
        return no_ends("one cluster pulls so hard that the BCa acceleration turns the quantiles round")
    low, high = np.quantile(replicates, ndtr(bias + shifted / shrink))
    return Ends(float(low), float(high))


def studentised_ends(estimate: float, se: float, replicates: Floats, errors: Floats, level: float) -> Ends:
    """Bootstrap-t limits: quantiles of (replicate - estimate) / its own error, times the data's error."""
    away = replicates - estimate
    # A replicate without spread is infinitely many errors away, unless it hits the estimate.
    flat = errors <= 0
    pivot = np.where(away == 0, 0.0, np.sign(away) * _INFINITE)
    np.divide(away, errors, out=pivot, where=~flat)
    low, high = np.quantile(pivot, _tails(level))
    if max(abs(low), abs(high)) > _INFINITE / 1e50:
        return no_ends("too many resamples have no spread of their own to studentise by")
    return Ends(float(estimate - high * se), float(estimate - low * se))


def _tails(level: float) -> Floats:
    return np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])


def _acceleration(left_out: Floats, times: NDArray[np.int64]) -> float:
    if len(left_out) == 0:
        return 0.0
    spread = np.average(left_out, weights=times) - left_out
    scale = float(times @ spread**2)
    return float(times @ spread**3) / (6.0 * scale**1.5) if scale > 0 else 0.0
