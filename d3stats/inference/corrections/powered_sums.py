"""Prediction-powered means as sums over clusters: the value, what each cluster adds to it, its bootstrap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike
from d3stats.estimate import Estimate
from d3stats.resampling import bootstrap_limits

Floats = NDArray[np.float64]


def powered_rows(f: Floats, y: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a row per item: labelled, its label, its score; unlabelled, its score."""
    has, truth = known.astype(float), np.where(known, y, 0.0)
    seen, unseen = f * has, f * (1 - has)
    return np.column_stack([has, truth, seen, 1 - has, unseen])


def powered_value(sums: Floats, tuning: float | Floats) -> Floats:
    """Return the prediction-powered mean of sums (..., 5)."""
    n, y, f, m, u = sums[..., :5].T
    result: Floats = tuning * u / m + (y - tuning * f) / n
    return result


def influences(totals: Floats) -> tuple[Floats, Floats]:
    """Return what each cluster adds to the mean of labels, and to the judge's unlabelled less labelled mean."""
    n, y, f, m, u = totals.sum(axis=0)
    a = (totals[:, 1] - y / n * totals[:, 0]) / n
    b = (totals[:, 4] - u / m * totals[:, 3]) / m - (totals[:, 2] - f / n * totals[:, 0]) / n
    return a, b


def best_tuning(a: Floats, b: Floats) -> float:
    """Return the lambda of least variance of a + lambda b."""
    spread = float(b @ b)
    return -float(a @ b) / spread if spread > 0 else 0.0


def bootstrapped(
    mean: Estimate, totals: Floats, tuning: float | None, kind: str, n_boot: int, rng: RngLike
) -> Estimate:
    """Return the mean with bootstrap limits over clusters; lambda is tuned in each resample unless it is given."""
    # What lambda is made of are sums over clusters of products of their totals.
    left = np.stack([totals[:, 1], totals[:, 0], totals[:, 4], totals[:, 3], totals[:, 2]])
    pairs = [(i, j) for i in range(5) for j in range(i, 5)]
    products = np.stack([left[i] * left[j] for i, j in pairs], axis=1)

    def statistic(sums: Floats) -> Floats:
        if tuning is not None:
            return powered_value(sums, tuning)
        at = {pair: 5 + k for k, pair in enumerate(pairs)}

        def moment(one: Floats, two: Floats) -> Floats:
            total = np.zeros(len(sums))
            for i in range(5):
                for j in range(5):
                    total += one[i] * two[j] * sums[:, at[min(i, j), max(i, j)]]
            return total

        count, y, f, rest, u = sums[:, :5].T
        zero = np.zeros(len(sums))
        a = np.stack([1 / count, -y / count**2, zero, zero, zero])
        b = np.stack([zero, f / count**2, 1 / rest, -u / rest**2, -1 / count])
        below = moment(b, b)
        best = np.divide(-moment(a, b), below, out=np.zeros(len(sums)), where=below > 0)
        return powered_value(sums, np.clip(best, 0.0, 1.0))

    drawn = bootstrap_limits(
        np.concatenate([totals, products], axis=1), statistic, kind=kind, level=mean.level, n_boot=n_boot, rng=rng  # type: ignore[arg-type]
    )  # fmt: skip
    low, high = drawn.interval()
    name = "bootstrap BCa" if kind == "bca" else f"bootstrap {kind}"
    se, note = float(drawn.se[0]), drawn.reasons[0] or drawn.note
    return replace(mean, low=low, high=high, kind=name, se=se, note=note)
