"""Moments of debates as means over debates: what simulated moments match and predictive checks compare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.planning.calibration.observed import Observed

__all__ = ["Key", "check_statistics", "clustered_covariance", "means", "moments"]

Floats = NDArray[np.float64]
Key = tuple[str, int]
Columns = dict[Key, Floats]
"""One value per debate, NaN where the debate does not have it, by name and round."""


def shown_rounds(n_rounds: int) -> list[int]:
    """Return the rounds (from 1) that are looked at one by one: the first two, the middle, the last."""
    return sorted({1, 2, n_rounds // 2 + 1, n_rounds})


def moments(seen: Observed, centre: float) -> Columns:
    """Return what simulated moments match.

    Votes come as the lead y of one answer, -1 to 1. Its even moments need no label. `centre` is the pilot's
    mean level of scores, which the spread of the level is taken about.
    """
    y, n_rounds = seen.lead, seen.lead.shape[1]
    last = n_rounds - 1
    rounds = shown_rounds(n_rounds)
    columns: Columns = {}
    if seen.labelled.any():
        columns |= {("mean share", t): seen.right[:, t - 1] for t in rounds}
    columns |= {("squared lead", t): y[:, t - 1] ** 2 for t in rounds}
    columns |= {("unanimous", t): _where(seen.unanimous[:, t - 1], y[:, t - 1]) for t in rounds}
    columns["squared first move", 2] = (y[:, 1] - y[:, 0]) ** 2
    columns["mean move of a round", n_rounds] = _row_mean(np.abs(np.diff(y, axis=1)))
    columns["squared move of a round", n_rounds] = _row_mean(np.diff(y, axis=1) ** 2)
    columns["product of neighbouring leads", n_rounds] = _row_mean(y[:, 1:] * y[:, :-1])
    columns["product of first and last lead", n_rounds] = y[:, 0] * y[:, last]
    columns["majority changed since round 1", n_rounds] = _where(
        np.sign(y[:, 0]) != np.sign(y[:, last]), y[:, 0] + y[:, last]
    )
    if seen.labelled.any():
        columns |= {("cubed share", t): (seen.right[:, t - 1] - 0.5) ** 3 for t in (1, n_rounds)}
    if seen.gap is not None and seen.level is not None:
        columns |= _of_scores(seen, seen.gap, seen.level, centre)
    return columns


def _of_scores(seen: Observed, gap: Floats, level: Floats, centre: float) -> Columns:
    n_rounds = gap.shape[1]
    rounds = sorted({1, 2, n_rounds})
    columns: Columns = {("mean gap", n_rounds): _row_mean(gap)}
    columns["share of votes for A", n_rounds] = _row_mean(seen.first)
    if seen.labelled.any():
        columns |= {("gap toward the label", t): gap[:, t - 1] * seen.toward for t in rounds}
    columns |= {("size of the gap", t): np.abs(gap[:, t - 1]) for t in rounds}
    columns |= {("squared gap", t): gap[:, t - 1] ** 2 for t in (1, n_rounds)}
    columns["squared move of the gap", n_rounds] = _row_mean(np.diff(gap, axis=1) ** 2)
    columns["product of first and last gap", n_rounds] = gap[:, 0] * gap[:, -1]
    columns["scores tied", n_rounds] = _row_mean(np.where(np.isnan(gap), np.nan, gap == 0))
    columns |= {("mean score", t): level[:, t - 1] for t in rounds}
    columns |= {("spread of the score", t): (level[:, t - 1] - centre) ** 2 for t in (1, n_rounds)}
    columns["product of gap and lead", n_rounds] = gap[:, -1] * seen.lead[:, -1]
    if seen.tie_label is not None and seen.labelled.any():
        columns["label is a tie", n_rounds] = seen.tie_label
    return columns


def check_statistics(seen: Observed) -> Columns:
    """Return what predictive checks compare: plain numbers that a reader of the log knows."""
    y, n_rounds = seen.lead, seen.lead.shape[1]
    columns: Columns = {}
    for t in shown_rounds(n_rounds):
        if seen.labelled.any():
            columns["mean share", t] = seen.right[:, t - 1]
            columns["majority", t] = _where(
                (y[:, t - 1] > 0) if seen.tie_label is None else seen.right[:, t - 1] > 0.5,
                seen.right[:, t - 1],
            )
        columns["unanimous", t] = _where(seen.unanimous[:, t - 1], y[:, t - 1])
        columns["largest camp's lead", t] = np.abs(y[:, t - 1])
    moved = np.sign(y[:, 0]) != np.sign(y[:, -1])
    columns["majority changed since round 1", n_rounds] = _where(moved, y[:, 0] + y[:, -1])
    columns["mean move of a round", n_rounds] = _row_mean(np.abs(np.diff(y, axis=1))) / 2
    # A world whose agents copy each other never leaves unanimity.
    left = seen.unanimous[:, :-1] & (np.diff(y, axis=1) != 0) & ~np.isnan(np.diff(y, axis=1))
    columns["left unanimity", n_rounds] = left.any(axis=1) * 1.0
    if seen.gap is not None and seen.level is not None:
        for t in sorted({1, 2, n_rounds}):
            columns["size of the gap", t] = np.abs(seen.gap[:, t - 1])
            columns["mean score", t] = seen.level[:, t - 1]
        columns["mean gap", n_rounds] = _row_mean(seen.gap)
        columns["move of the gap", n_rounds] = _row_mean(np.abs(np.diff(seen.gap, axis=1)))
        columns["scores tied", n_rounds] = _row_mean(np.where(np.isnan(seen.gap), np.nan, seen.gap == 0))
        agree = np.sign(seen.gap[:, -1]) == np.sign(seen.lead[:, -1])
        columns["votes agree with scores", n_rounds] = _where(agree, seen.gap[:, -1] + seen.lead[:, -1])
    return columns


def _where(flag: NDArray[np.bool_], known: Floats) -> Floats:
    result: Floats = np.where(np.isnan(known), np.nan, flag)
    return result


def _row_mean(values: Floats) -> Floats:
    """Return the mean over known rounds of each debate; NaN for a debate without any."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    result: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def means(table: Floats) -> Floats:
    """Return the mean of the known values of each column; NaN for a column without any."""
    return _row_mean(table.T)


def clustered_covariance(table: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Return the covariance of :func:`means`, debates of one question taken as one draw."""
    known = ~np.isnan(table)
    share = np.maximum(known.sum(axis=0), 1)
    influence = np.where(known, table - means(table), 0.0) / share
    groups, at = np.unique(cluster, return_inverse=True)
    total = np.zeros((len(groups), table.shape[1]))
    np.add.at(total, at, influence)
    result: Floats = total.T @ total * (len(groups) / max(len(groups) - 1, 1))
    return result
