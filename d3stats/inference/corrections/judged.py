"""What correction and prediction-powered means share: judged items with labels for some, and how their errors add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

__all__ = ["cluster_codes", "column_of", "grouped_error", "refuse_scores"]

Floats = NDArray[np.float64]


def column_of(name: str, values: ArrayLike, size: int | None = None) -> Floats:
    """Return a one-dimensional float column, NaN where missing; infinities are refused."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got an array of shape {array.shape}")
    try:
        column = np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers or missing; got {array.tolist()[:3]!r}") from None
    if np.isinf(column).any():
        raise ValueError(
            f"{name} must be finite or missing; got an infinity at row {np.isinf(column).argmax()}"
        )
    if size is not None and column.size != size:
        raise ValueError(f"{name} must have one value per item ({size}); got {column.size}")
    return column


def refuse_scores(name: str, column: Floats) -> None:
    """Refuse a column with anything but 0, 1 and missing."""
    bad = ~(np.isnan(column) | np.isin(column, (0.0, 1.0)))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must be 0, 1 or missing; got {name}={column[row]:g} at row {row}")


def cluster_codes(columns: Sequence[tuple[str, ArrayLike | None, int]]) -> list[NDArray[np.int64]] | None:
    """Return codes for several columns of cluster names, equal names alike in all; None when none is given."""
    if all(names is None for _, names, _ in columns):
        return None
    everything: list[Any] = []
    for name, values, size in columns:
        if values is None:
            raise ValueError(
                f"{name} must be given as well, for items of one question hang together; got None"
            )
        array = np.asarray(values, dtype=object)
        if array.shape != (size,):
            raise ValueError(f"{name} must have one name per item ({size}); got shape {array.shape}")
        missing = pd.isna(array)
        if missing.any():
            raise ValueError(
                f"{name} must name every item's cluster; got a missing name at row {missing.argmax()}"
            )
        everything.extend(array.tolist())
    codes = pd.factorize(np.array(everything, dtype=object))[0].astype(np.int64)
    ends = np.cumsum([size for _, _, size in columns])
    return np.split(codes, ends[:-1])


def grouped_error(influence: Floats, scarce: NDArray[np.bool_], *, spent: int = 1) -> tuple[float, float]:
    """Return the error of a sum of cluster influences and its degrees of freedom (Welch and Satterthwaite).

    A statistic of a few labelled and of many unlabelled clusters is as uncertain in its error as the part that
    weighs: each part has its own G / (G - 1) and degrees.

    Parameters
    ----------
    influence : ndarray of float, shape (clusters,)
        Linearised contributions; they add up to about 0.
    scarce : ndarray of bool, shape (clusters,)
        Clusters with labels.
    spent : int
        Degrees that the labelled clusters lose: 1 for a mean, 2 with one slope fitted on them.
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
