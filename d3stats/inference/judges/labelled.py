"""Judged items of which some are labelled: columns of numbers, clusters, errors of sums, and limits of a ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import LARGEST
from d3stats.resampling import cluster_codes

__all__ = ["common_codes", "error_of_two_samples", "fieller", "numbers", "refuse_scores"]


def numbers(name: str, values: ArrayLike, size: int | None = None, *, unit: str = "item") -> Floats:
    """Return a one-dimensional float column, NaN where missing; infinities are refused."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    try:
        column = np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be one row of numbers or missing; got {array.tolist()[:3]!r}") from None
    if np.isinf(column).any():
        raise ValueError(
            f"{name} must be finite or missing; got an infinity at row {np.isinf(column).argmax()}"
        )
    if (huge := np.abs(column) > LARGEST).any():
        got = f"{column[huge.argmax()]:g} at row {huge.argmax()}"
        raise ValueError(f"{name} must be at most {LARGEST:g} in size; got {got}")
    if size is not None and column.size != size:
        raise ValueError(f"{name} must have one value per {unit} ({size}); got {column.size}")
    return column


def refuse_scores(name: str, column: Floats) -> None:
    """Refuse a column with anything but 0, 1 and missing."""
    bad = ~(np.isnan(column) | np.isin(column, (0.0, 1.0)))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must be 0, 1 or missing; got {name}={column[row]:g} at row {row}")


def common_codes(columns: Sequence[tuple[str, ArrayLike | None, int]]) -> list[NDArray[np.int64]] | None:
    """Return codes for columns (name, cluster names, size), equal names alike in all; None when none is given."""
    if all(names is None for _, names, _ in columns):
        return None
    everything: list[Any] = []
    for name, values, size in columns:
        if values is None:
            raise ValueError(
                f"{name} must be given as well, because items of one question are correlated; got None"
            )
        cluster_codes(values, size, name=name, unit="item")
        everything.extend(np.asarray(values, dtype=object).tolist())
    codes = cluster_codes(everything, len(everything))
    return np.split(codes, np.cumsum([size for _, _, size in columns])[:-1])


def error_of_two_samples(
    influence: Floats, scarce: NDArray[np.bool_], *, spent: int = 1
) -> tuple[float, float]:
    """Return the error of a sum of cluster influences and its degrees of freedom (Welch and Satterthwaite).

    Clusters with labels (`scarce`) and without have their own G / (G - 1) and degrees; the labelled ones lose `spent`:
    1 for a mean, 2 with one slope fitted on them.
    """
    variance = squares = 0.0
    for part, lost in ((influence[scarce], spent), (influence[~scarce], 1)):
        if len(part) > lost:
            own = len(part) / (len(part) - lost) * float(part @ part)
            variance += own
            squares += own**2 / (len(part) - lost)
    if variance == 0.0:
        return 0.0, float(max(len(influence) - spent, 1))
    return float(np.sqrt(variance)), variance**2 / squares


def fieller(a: float, b: float, aa: float, ab: float, bb: float, t: float) -> tuple[float, float]:
    """Return all theta for which a - theta b is within t errors of 0 (Fieller 1954); b must be t errors above 0.

    `aa`, `ab` and `bb` are the variances and the covariance of a and b.
    """
    first, second, third = b**2 - t**2 * bb, a * b - t**2 * ab, a**2 - t**2 * aa
    root = float(np.sqrt(max(second**2 - first * third, 0.0)))
    return (second - root) / first, (second + root) / first
