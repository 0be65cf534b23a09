"""Calibration error of stated confidences, the parts of their Brier score, and consistency bands.

The plain calibration error of bins is above 0 for calibrated votes too, because the share of right votes in a bin is
never exactly its mean confidence. Here the square of each bin's difference is estimated from pairs of votes of
different clusters. Its mean is then 0 for calibrated votes, however alike the votes of one cluster are.

References
----------
Bröcker and Smith (2007), Weather and Forecasting 22, 651 (consistency bands). Kumar, Liang and Ma (2019), NeurIPS 32
(debiased squared calibration error of bins, section 4; there for independent votes). Dimitriadis, Gneiting and Jordan
(2021), PNAS 118, e2016191118 (CORP decomposition). Patnaik (1949), Biometrika 36, 202 (approximation of a noncentral
chi-square).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from d3stats._arrays import Floats, Ints
from d3stats.estimate import Estimate
from d3stats.inference.judges.recalibration import fit_isotonic
from d3stats.resampling import ONE_CLUSTER, degrees_of_freedom, too_unequal

__all__ = [
    "UNCORRECTED",
    "Binning",
    "Decomposition",
    "bins_of",
    "calibration_error",
    "decomposition",
    "reliability_bins",
]


Binning = Literal["equal_count", "equal_width"]
BINNINGS = ("equal_count", "equal_width")
KIND = "inverted chi-square"
UNCORRECTED = "not corrected for bias"
_NO_PAIRS = "no bin holds votes of two clusters"


def bins_of(confidence: Floats, bins: int, binning: Binning) -> Ints:
    """Return the bin of each vote, from 0 without a gap.

    Parameters
    ----------
    confidence : ndarray of float, shape (votes,)
    bins : int
        At most so many; equal confidences are never parted, so there may be fewer.
    binning : {"equal_count", "equal_width"}
        Edges at quantiles of the confidences, or at equal distances from 0 to 1. A confidence on an edge is in the bin
        below.

    Returns
    -------
    ndarray of int64, shape (votes,)

    Examples
    --------
    >>> bins_of(np.array([0.1, 0.2, 0.6, 0.9]), 2, "equal_width").tolist()
    [0, 0, 1, 1]
    """
    at = np.linspace(0.0, 1.0, bins + 1)
    edges = at if binning == "equal_width" else np.quantile(confidence, at)
    return np.unique(np.searchsorted(edges[1:-1], confidence), return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class _Sums:
    """Votes and differences (stated minus right) by cluster and bin."""

    n: Floats
    apart: Floats

    @classmethod
    def of(cls, confidence: Floats, right: Floats, cluster: Ints, bin_: Ints) -> _Sums:
        shape = (int(cluster.max()) + 1, int(bin_.max()) + 1)
        cell = cluster * shape[1] + bin_
        size = shape[0] * shape[1]
        n = np.bincount(cell, minlength=size).astype(np.float64)
        apart = np.bincount(cell, confidence - right, minlength=size).astype(np.float64)
        n, apart = n.reshape(shape), apart.reshape(shape)
        return cls(n, apart)

    def influence(self) -> Floats:
        """Return what each cluster adds to the mean difference of each bin, shape (clusters, bins)."""
        n = self.n.sum(axis=0)
        return np.asarray((self.apart - self.n * (self.apart.sum(axis=0) / n)) / n)


def calibration_error(
    confidence: Floats, right: Floats, cluster: Ints, bin_: Ints, level: float = 0.95
) -> tuple[Estimate, float, int]:
    """Estimate the root mean square calibration error over bins without bias, with limits over clusters.

    Parameters
    ----------
    confidence, right : ndarray of float, shape (votes,)
        Stated confidences, and 1 for a right vote, 0 for a wrong one.
    cluster, bin_ : ndarray of int64, shape (votes,)
        Codes from 0 without a gap.
    level : float
        Level of the limits.

    Returns
    -------
    error : Estimate
        Square root of ``sum_b w_b (S_b^2 - sum_g S_gb^2) / (n_b^2 - sum_g n_gb^2)``, 0 where that sum is below 0. S_gb
        is the sum of stated minus right over the votes of cluster g in bin b. The p-value is of calibrated votes.
    squared : float
        The sum itself, which has the mean 0 for calibrated votes and may be negative.
    left_out : int
        Votes in bins of one cluster, which have no pair.

    Notes
    -----
    The limits hold the plain sum of squares T = sum_b w_b d_b^2 against its law for errors of every size. The
    differences d_b are normal with the covariance V of cluster sums, so T has the mean Q + tr(WV) and the variance
    2 tr((WV)^2) + 4 Q r, with r the noise along d. Patnaik's scaled chi-square has these two moments. V is scaled
    by (t / z)^2, Student's quantile over the normal one, and its diagonal is at least that of independent votes.

    Examples
    --------
    >>> rng = np.random.default_rng(6)
    >>> c = rng.uniform(0.5, 1, 4000)
    >>> right = (rng.random(4000) < c - 0.1).astype(float)
    >>> error, squared, left_out = calibration_error(c, right, np.arange(4000) // 4, bins_of(c, 10, "equal_count"))
    >>> round(error.value, 2), error.low < 0.1 < error.high, left_out
    (0.1, True, 0)
    """
    sums = _Sums.of(confidence, right, cluster, bin_)
    n, apart = sums.n.sum(axis=0), sums.apart.sum(axis=0)
    pairs = n**2 - (sums.n**2).sum(axis=0)
    usable = pairs > 0
    left_out, clusters = int(n[~usable].sum()), int((sums.n.sum(axis=1) > 0).sum())
    name = "calibration error"
    if not usable.any():
        note = ONE_CLUSTER if clusters < 2 else _NO_PAIRS
        plain = float(np.sqrt((n * (apart / n) ** 2).sum() / n.sum()))
        return (
            Estimate(name=name, value=plain, low=None, high=None, kind=UNCORRECTED, n=len(confidence), level=level,
                     n_clusters=clusters, note=f"not corrected: {note}"),
            plain**2, left_out,
        )  # fmt: skip
    w = n[usable] / n[usable].sum()
    unbiased = (apart**2 - (sums.apart**2).sum(axis=0))[usable] / pairs[usable]
    squared = float(w @ unbiased)
    value = float(np.sqrt(max(squared, 0.0)))
    size = sums.n[:, usable].sum(axis=1)
    why = too_unequal(size[size > 0], what="votes")
    low = high = p = None
    if not why:
        df = degrees_of_freedom(size[size > 0])
        # A bin of few clusters loses one of them to its own mean.
        held = (sums.n[:, usable] > 0).sum(axis=0)
        influence = sums.influence()[:, usable] * np.sqrt(held / (held - 1))
        covariance = influence.T @ influence
        hits = np.bincount(bin_, right)[usable]
        stated = np.bincount(bin_, confidence)[usable] / n[usable]
        share = (hits + stated) / (n[usable] + 1)
        floor = share * (1 - share) / n[usable]
        covariance[np.diag_indices_from(covariance)] = np.maximum(np.diag(covariance), floor)
        low, high, p = _limits(apart[usable] / n[usable], w, covariance, df, level)
        low, high = min(low, value), max(high, value)
    found = Estimate(
        name=name, value=value, low=low, high=high, kind=KIND, n=len(confidence) - left_out, level=level,
        n_clusters=clusters, p_value=p, note=why,
    )  # fmt: skip
    return found, squared, left_out


def _limits(d: Floats, w: Floats, covariance: Floats, df: float, level: float) -> tuple[float, float, float]:
    """Return the limits of the root of the weighted squared differences, and the p-value of 0."""
    from scipy.optimize import brentq
    from scipy.special import chdtr, chdtrc, ndtri, stdtrit

    tail = (1.0 - level) / 2.0
    covariance = covariance * (stdtrit(df, 1.0 - tail) / ndtri(1.0 - tail)) ** 2
    seen = float(w @ d**2)
    noise = w[:, None] * covariance
    first, second = float(np.trace(noise)), float((noise * noise.T).sum())
    along = float(d @ (noise @ (w * d))) / seen if seen > 0 else 0.0

    def tails(error: float) -> tuple[float, float]:
        mean, variance = error + first, 2.0 * second + 4.0 * error * along
        h = 2.0 * mean**2 / variance
        x = seen * h / mean
        return float(chdtr(h, x)), float(chdtrc(h, x))

    most = 4.0 * (seen + first)
    low = 0.0 if tails(0.0)[1] >= tail else brentq(lambda q: tails(q)[1] - tail, 0.0, most)
    high = 0.0 if tails(0.0)[0] <= tail else 1.0
    if high and tails(1.0)[0] < tail:
        high = brentq(lambda q: tails(q)[0] - tail, 0.0, 1.0)
    return float(np.sqrt(max(low, 0.0))), float(np.sqrt(min(max(high, 0.0), 1.0))), tails(0.0)[1]


@dataclass(frozen=True)
class Decomposition:
    """The Brier score as miscalibration minus discrimination plus uncertainty (CORP).

    Attributes
    ----------
    miscalibration : float
        What isotonic recalibration would save: the reliability, 0 at best.
    discrimination : float
        What the recalibrated confidences save against the share of right votes: the resolution.
    uncertainty : float
        Brier score of the share of right votes, ``p (1 - p)``.

    Examples
    --------
    >>> found = decomposition(np.array([0.6, 0.6, 0.9, 0.9]), np.array([0.0, 1.0, 1.0, 1.0]))
    >>> round(found.miscalibration, 4), round(found.discrimination, 4), round(found.uncertainty, 4)
    (0.01, 0.0625, 0.1875)
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


def decomposition(confidence: Floats, right: Floats) -> Decomposition:
    """Decompose the Brier score by isotonic recalibration (CORP; Dimitriadis, Gneiting and Jordan, 2021, equation 1).

    Parameters
    ----------
    confidence, right : ndarray of float, shape (votes,)
        Stated confidences, and 1 for a right vote, 0 for a wrong one.

    Returns
    -------
    Decomposition
        Brier score = miscalibration - discrimination + uncertainty. Both first terms are at least 0, and too large by
        what an isotonic fit to chance explains.

    Examples
    --------
    >>> found = decomposition(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    >>> round(found.miscalibration - found.discrimination + found.uncertainty, 6) == round(1 / 3, 6)
    True
    """
    again = fit_isotonic(confidence, right)(confidence)
    score, best = ((x - right) ** 2 for x in (confidence, again))
    p = float(right.mean())
    uncertainty = p * (1.0 - p)
    return Decomposition(float(score.mean() - best.mean()), float(uncertainty - best.mean()), uncertainty)


def reliability_bins(
    confidence: Floats, right: Floats, cluster: Ints, bin_: Ints, level: float = 0.95
) -> pd.DataFrame:
    """Return mean confidence and share of right votes by bin, with the band in which calibrated votes would lie.

    Parameters
    ----------
    confidence, right : ndarray of float, shape (votes,)
        Stated confidences, and 1 for a right vote, 0 for a wrong one.
    cluster, bin_ : ndarray of int64, shape (votes,)
        Codes from 0 without a gap.
    level : float
        Level of each band alone.

    Returns
    -------
    DataFrame
        One row per bin, from low to high confidence: ``n, clusters, confidence, right, band_low, band_high``. A band is
        Student's over the clusters of the bin, at least as wide as for independent votes, and missing where the bin has
        one cluster.

    Examples
    --------
    >>> c = np.array([0.6, 0.6, 0.6, 0.6])
    >>> reliability_bins(c, np.array([1.0, 0, 1, 1]), np.arange(4), np.zeros(4, int)).round(2).values.tolist()
    [[4.0, 4.0, 0.6, 0.75, 0.0, 1.0]]
    """
    from scipy.special import stdtrit

    sums = _Sums.of(confidence, right, cluster, bin_)
    n = sums.n.sum(axis=0)
    stated, hits = np.bincount(bin_, confidence) / n, np.bincount(bin_, right) / n
    alone = np.bincount(bin_, confidence * (1 - confidence)) / n**2
    rows = []
    for b, influence in enumerate(sums.influence().T):
        size = sums.n[:, b][sums.n[:, b] > 0]
        half = np.nan
        if len(size) > 1 and not too_unequal(size, what="votes"):
            variance = float((influence**2).sum()) * len(size) / (len(size) - 1)
            half = float(
                stdtrit(degrees_of_freedom(size), 0.5 + level / 2) * np.sqrt(max(variance, alone[b]))
            )
        rows.append((int(n[b]), len(size), stated[b], hits[b], max(stated[b] - half, 0.0) if half == half else np.nan,
                     min(stated[b] + half, 1.0) if half == half else np.nan))  # fmt: skip
    return pd.DataFrame(rows, columns=["n", "clusters", "confidence", "right", "band_low", "band_high"])
