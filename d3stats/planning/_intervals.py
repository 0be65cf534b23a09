"""Intervals of ratios of sums over clusters: shares by the rule of every share, the rest by one bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer, probability
from d3stats.resampling import cluster_totals, ratios, resampled_totals
from d3stats.resampling.bootstrap import bca_ends, percentile_ends
from d3stats.resampling.proportions import share_limits

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

    Limits are NaN too where every replicate gives the same value, as the rounds of a rule that always stops in one.

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
        self._shares: list[bool] = []
        self.debates = self.add("debates", np.ones(n_debates))

    def add(self, key: str, values: NDArray[np.float64] | NDArray[np.bool_] | NDArray[np.int64]) -> str:
        """Add a column under a key and return the key; a key that is there already is kept as it is."""
        if key not in self._index:
            self._index[key] = len(self._columns)
            self._columns.append(np.asarray(values, dtype=np.float64))
        return key

    def measure(self, of: str, name: str, above: str, below: str, *, share: bool = False) -> None:
        """Say that a measure is the sum of one column over the sum of another; of a share the first is a part of it."""
        self._shares.append(share)
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
        measures = ratios(*self._ratios)
        whole = totals.sum(axis=0)
        drawn = measures(resampled_totals(totals, settings.n_boot, rng))
        left_out = measures(whole - totals)
        once = np.ones(len(totals), dtype=np.int64)
        estimate, low, high, sizes = np.full((4, len(self._ratios)), np.nan)
        for i, (above, below) in enumerate(self._ratios):
            sizes[i] = whole[below]
            replicates = drawn[:, i]
            replicates = replicates[~np.isnan(replicates)]
            if whole[below] <= 0 or len(replicates) == 0:
                continue
            estimate[i] = whole[above] / whole[below]
            if self._shares[i]:
                found = share_limits(totals[:, above], totals[:, below], settings.level)
                low[i], high[i] = (np.nan if x is None else x for x in (found.low, found.high))
                continue
            if settings.interval == "bca":
                ends = bca_ends(estimate[i], replicates, left_out[:, i], once, settings.level)
            else:
                ends = percentile_ends(replicates, settings.level)
            if ends.high > ends.low:  # replicates that are all alike say nothing of how clusters vary
                low[i], high[i] = ends.low, ends.high
        return Limits(estimate, low, high, sizes)
