"""The curve of a jury with its intervals: accuracy, gain and price by size, and what the panel is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import integer, number
from d3stats.estimate import Estimate
from d3stats.inference.juries.exact import condorcet
from d3stats.inference.juries.jurors import estimated
from d3stats.inference.juries.sums import JurySums
from d3stats.resampling import Statistic, bootstrap_limits, cluster_t

Floats = NDArray[np.float64]


def checked_sizes(sizes: Sequence[int] | None, most: int) -> NDArray[np.int64]:
    """Return panel sizes, ascending and possible."""
    if sizes is None:
        return np.arange(1, most + 1)
    checked = [integer("sizes", k, minimum=1) for k in sizes]
    if not checked or sorted(set(checked)) != checked or checked[-1] > most:
        raise ValueError(
            f"sizes must ascend and lie between 1 and {most} (most votes of an item); got {list(sizes)}"
        )
    return np.array(checked)


def tokens_per_juror(tokens: Any, jurors: Sequence[str]) -> float | None:
    """Return the mean tokens of a juror drawn at random."""
    if tokens is None:
        return None
    if isinstance(tokens, Mapping):
        absent = [name for name in jurors if name not in tokens]
        if absent:
            raise ValueError(f"tokens must have every juror; got none for {absent[0]!r}")
        values = [tokens[name] for name in jurors]
    else:
        values = np.ravel(tokens).tolist()
        if len(values) not in (1, len(jurors)):
            raise ValueError(f"tokens must be one number or one per juror ({len(jurors)}); got {len(values)}")
    mean = float(np.mean([number("tokens", value, minimum=0.0) for value in values]))
    if mean <= 0:
        raise ValueError("tokens must be above 0 for some juror; got 0")
    return mean


def own_competence(sums: JurySums, cast: Floats, right: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return what independent jurors with the jurors' own accuracies would be right with; NaN where it has no sense."""
    n = cast.sum(axis=0)
    if sums.n_categories > 2 or sums.ties != "coin" or (n == 0).any() or sizes[-1] > len(n):
        return np.full(len(sizes), np.nan)
    return condorcet(sizes, right.sum(axis=0) / n)


def curve_table(
    sums: JurySums,
    totals: Floats,
    sizes: NDArray[np.int64],
    level: float,
    tokens: float | None,
    own: Floats,
) -> pd.DataFrame:
    """Return one row per size; see ``JuryCurve.curve``."""
    at, steps = sizes - 1, np.diff(sizes).astype(float)
    starts = np.cumsum([0, len(sizes), len(sizes) - 1, len(sizes)])

    def everything(x: Floats) -> Floats:
        seen, alone = sums.accuracy(x)[:, at], sums.independent(x)[:, at]
        return np.concatenate([seen, np.diff(seen, axis=1) / steps, alone - seen, alone], axis=1)

    values = everything(totals.sum(axis=0)[None])[0]
    se = low = high = np.full(len(values), np.nan)
    if len(totals) > 1:
        found = cluster_t(totals, everything, level=level)
        flat = np.array([bool(reason) for reason in found.reasons])
        se, low, high = (np.where(flat, np.nan, part) for part in (found.se, found.low, found.high))
    seen, gain, apart, alone = (
        slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(values)], strict=True)
    )

    def later(part: Floats) -> Floats:
        return np.concatenate([[np.nan], part[gain]])

    columns = sums.columns
    whole = sums.rows.sum(axis=0)
    votes = sums.rows[:, columns["pairs"]][:, 1]
    table = pd.DataFrame(
        {
            "k": sizes,
            "accuracy": values[seen],
            "se": se[seen],
            "low": np.maximum(low[seen], 0.0),
            "high": np.minimum(high[seen], 1.0),
            "decided": (whole[columns["decided"]] / whole[0])[at],
            "gain": later(values),
            "gain_low": later(low),
            "gain_high": later(high),
            "independent": values[alone],
            "price": values[apart],
            "price_low": low[apart],
            "price_high": high[apart],
            "mixed": own,
            "n_short": [(votes < k).sum() for k in sizes],
        }
    )
    if tokens is not None:
        for name in ("gain", "gain_low", "gain_high"):
            table[f"{name}_per_thousand_tokens"] = table[name] * 1000 / tokens
    return table


def headline(sums: JurySums, totals: Floats, level: float) -> tuple[Estimate, Estimate, Estimate]:
    """Return the accuracy of all jurors, of one, and the difference."""
    n = len(sums.rows)
    all_of_them = estimated(
        f"plurality of {sums.size} jurors", totals, lambda x: sums.accuracy(x)[:, -1], n, level
    )
    one = estimated("one juror", totals, lambda x: sums.accuracy(x)[:, 0], n, level)

    def change(x: Floats) -> Floats:
        return sums.accuracy(x)[:, -1] - sums.accuracy(x)[:, 0]

    return all_of_them, one, estimated("all jurors - one", totals, change, n, level, bounds=(-1.0, 1.0))


def worths(
    sums: JurySums, totals: Floats, level: float, n_boot: int, rng: np.random.Generator, notes: list[str]
) -> tuple[Estimate | None, Estimate | None]:
    """Return the panel's worth in independent jurors by accuracy and by variance; what is undefined goes to `notes`."""
    none = "no number of independent jurors of this competence is as right as the panel"
    cases: tuple[tuple[str, Statistic, tuple[str, ...], str], ...] = (
        ("accuracy", sums.worth_by_accuracy, ("items", "coin", "votes", "labels"), none),
        ("variance", sums.worth_by_variance, ("pairs",), "all votes are right, or all are wrong"),
    )
    found: list[Estimate | None] = []
    for what, whole, kinds, why in cases:
        kept, statistic = sums.narrowed(whole, *kinds)
        name = f"worth in independent jurors, by {what}"
        if what == "accuracy" and _coins(sums, totals, level):
            notes.append(f"{name}: one juror is right half the time as far as can be told: more add nothing")
            found.append(None)
            continue
        value = float(np.ravel(statistic(totals[:, kept].sum(axis=0)[None]))[0])
        if not np.isfinite(value):
            notes.append(f"{name}: {why}")
            found.append(None)
            continue
        low = high = se = None
        note = "a single cluster: nothing says how clusters vary"
        if len(totals) > 1:
            drawn = bootstrap_limits(
                totals[:, kept], statistic, kind="percentile", level=level, n_boot=n_boot, rng=rng
            )
            low, high = drawn.interval()
            note = drawn.reasons[0] or drawn.note
            if low is not None and high is not None:
                # Far out the replicates may lie to one side; the interval is made to hold the estimate.
                low, high, se = min(low, value), max(high, value), float(drawn.se[0])
        found.append(
            Estimate(
                name=name,
                value=value,
                low=low,
                high=high,
                kind="bootstrap percentile",
                n=len(sums.rows),
                se=se,
                level=level,
                n_clusters=len(totals),
                note=note,
            )
        )
    return found[0], found[1]


def _coins(sums: JurySums, totals: Floats, level: float) -> bool:
    """Say whether one juror's accuracy is within its error of one half, where independent jurors gain nothing."""
    if sums.listed or len(totals) < 2:
        return False
    found = cluster_t(totals, lambda x: sums.coin(x)[:, 0], level=level)
    low, high = found.interval()
    return low is not None and high is not None and low <= 0.5 <= high
