"""Bootstrap intervals of ratios of sums over clusters: percentile and BCa, all replicates at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer, probability
from d3stats.resampling.totals import cluster_totals, resampled_totals

__all__ = ["BootstrapSettings", "Interval", "Limits", "RatioColumns"]

Interval = Literal["percentile", "bca"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BootstrapSettings:
    """How intervals are made.

    Attributes
    ----------
    level : float
        Coverage aimed at, in (0, 1); equal-tailed.
    interval : {"percentile", "bca"}
        Efron (1979) percentile limits, or bias-corrected and accelerated ones (Efron 1987) with the
        acceleration from leaving out one cluster at a time.
    n_boot : int
        Replicates.
    """

    level: float
    interval: Interval
    n_boot: int

    def __post_init__(self) -> None:
        probability("level", self.level, open_interval=True)
        choice("interval", self.interval, ("percentile", "bca"))
        integer("n_boot", self.n_boot, minimum=2)


@dataclass(frozen=True, eq=False)
class Limits:
    """Estimates and limits, one per ratio; NaN where the denominator is 0 in the data themselves.

    Attributes
    ----------
    estimate, low, high : ndarray of float, shape (ratios,)
    sizes : ndarray of float, shape (ratios,)
        The denominators in the data.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray


class RatioColumns:
    """Named columns over debates, and the measures that are ratios of the sums of two of them."""

    def __init__(self, n_debates: int) -> None:
        self._index: dict[str, int] = {}
        self._columns: list[FloatArray] = []
        self.measures: list[tuple[str, str]] = []
        self._ratios: list[tuple[int, int]] = []
        self.debates = self.add("debates", np.ones(n_debates))

    def add(self, key: str, values: NDArray[np.float64] | NDArray[np.bool_] | NDArray[np.int64]) -> str:
        """Add a column under a key and return the key; a key that is there already is kept as it is."""
        if key not in self._index:
            self._index[key] = len(self._columns)
            self._columns.append(np.asarray(values, dtype=np.float64))
        return key

    def measure(self, of: str, name: str, above: str, below: str) -> None:
        """Say that a measure is the sum of one column over the sum of another."""
        self.measures.append((of, name))
        self._ratios.append((self._index[above], self._index[below]))

    def limits(
        self, cluster: NDArray[np.int64], settings: BootstrapSettings, rng: np.random.Generator
    ) -> Limits:
        """Resample clusters, all measures on the same draws, and return every measure with its limits.

        A replicate that leaves a measure's denominator at 0 (no scored debate was drawn) says nothing about
        that measure and is left out of its quantiles.
        """
        totals = cluster_totals(np.column_stack(self._columns), cluster)
        whole = totals.sum(axis=0)
        drawn = resampled_totals(totals, settings.n_boot, rng)
        tails = np.array([(1.0 - settings.level) / 2.0, (1.0 + settings.level) / 2.0])
        estimate, low, high, sizes = np.full((4, len(self._ratios)), np.nan)
        for i, (above, below) in enumerate(self._ratios):
            sizes[i] = whole[below]
            replicates = _ratio(drawn[:, above], drawn[:, below])
            replicates = replicates[~np.isnan(replicates)]
            if whole[below] <= 0 or len(replicates) == 0:
                continue
            estimate[i] = whole[above] / whole[below]
            probabilities = tails
            if settings.interval == "bca":
                left_out = _ratio(whole[above] - totals[:, above], whole[below] - totals[:, below])
                probabilities = _bca_probabilities(estimate[i], replicates, left_out, tails)
            low[i], high[i] = np.quantile(replicates, probabilities)
        return Limits(estimate, low, high, sizes)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result


def _bca_probabilities(
    estimate: float, replicates: FloatArray, left_out: FloatArray, tails: FloatArray
) -> FloatArray:
    """Return which quantiles of the replicates are the BCa limits."""
    from scipy.special import ndtr, ndtri

    # Ties count half, and a share of 0 or 1 is kept off the boundary, where the correction is infinite.
    below = np.mean(replicates < estimate) + 0.5 * np.mean(replicates == estimate)
    edge = 0.5 / len(replicates)
    bias = ndtri(np.clip(below, edge, 1.0 - edge))
    jackknife = left_out[~np.isnan(left_out)]
    spread = jackknife.mean() - jackknife if len(jackknife) else np.zeros(1)
    scale = float(np.sum(spread**2))
    acceleration = float(np.sum(spread**3)) / (6.0 * scale**1.5) if scale > 0 else 0.0
    shifted = bias + ndtri(tails)
    probabilities: FloatArray = ndtr(bias + shifted / (1.0 - acceleration * shifted))
    return probabilities
