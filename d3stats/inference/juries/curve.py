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
from d3stats.inference.juries.jurors import estimated, share_of
from d3stats.inference.juries.sums import JurySums
from d3stats.inference.shares.clusters import ONE_CLUSTER, share_limits
from d3stats.resampling import Statistic, bootstrap_limits, cluster_t

Floats = NDArray[np.float64]
_ROUNDING = 1e-9


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

    own_limits = [share_limits(*sums.right_of(totals, int(k)), level) for k in sizes]

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
            "low": np.array([found.low for found in own_limits], dtype=float),
            "high": np.array([found.high for found in own_limits], dtype=float),
            "kind": [found.kind for found in own_limits],
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
    all_of_them = share_of(f"plurality of {sums.size} jurors", *sums.right_of(totals, sums.size), n, level)
    one = share_of("one juror", *sums.right_of(totals, 1), n, level)

    def change(x: Floats) -> Floats:
        return sums.accuracy(x)[:, -1] - sums.accuracy(x)[:, 0]

    return all_of_them, one, estimated("all jurors - one", totals, change, n, level)


def worths(
    sums: JurySums, totals: Floats, level: float, n_boot: int, rng: np.random.Generator, notes: list[str]
) -> tuple[Estimate | None, Estimate | None]:
    """Return the panel's worth in independent jurors by accuracy and by variance; what is undefined goes to `notes`."""
    name = "worth in independent jurors, by accuracy"
    by_accuracy = None
    if _coins(sums, totals, level):
        notes.append(f"{name}: one juror is right half the time as far as can be told: more add nothing")
    else:
        kept, statistic = sums.narrowed(sums.worth_by_accuracy, "items", "coin", "votes", "labels")
        value = float(np.ravel(statistic(totals[:, kept].sum(axis=0)[None]))[0])
        if np.isfinite(value):
            low, high, se, note = _drawn(totals[:, kept], statistic, value, level, n_boot, rng)
            by_accuracy = _worth(name, value, (low, high), se, note, sums, totals, level)
        else:
            notes.append(
                f"{name}: no number of independent jurors of this competence is as right as the panel"
            )
    return by_accuracy, _by_variance(sums, totals, level, n_boot, rng, notes)


def _by_variance(
    sums: JurySums, totals: Floats, level: float, n_boot: int, rng: np.random.Generator, notes: list[str]
) -> Estimate | None:
    """Return K over the design effect, with limits from the design effect's: a ratio has no pole where that has limits.

    Resamples of a panel whose jurors hardly correlate have design effects on both sides of 0, and their quotients lie
    on both sides of infinity. The design effect itself is smooth.
    """
    name = "worth in independent jurors, by variance"
    kept, statistic = sums.narrowed(sums.design_effect, "pairs")
    effect = float(np.ravel(statistic(totals[:, kept].sum(axis=0)[None]))[0])
    if not np.isfinite(effect):
        notes.append(f"{name}: all votes are right, or all are wrong")
        return None
    if effect <= _ROUNDING:
        notes.append(
            f"{name}: jurors' errors offset each other (their correlation is -1 / (jurors - 1) or less), so that no "
            "number of independent jurors has a share of right votes that varies as little"
        )
        return None
    value = sums.size / effect
    low, high, se, note = _drawn(totals[:, kept], statistic, effect, level, n_boot, rng)
    if low is None or high is None:
        return _worth(name, value, (None, None), None, note, sums, totals, level)
    if low <= _ROUNDING:
        least = f"no upper limit: the jurors may be worth any number from {sums.size / high:.1f} on"
        return _worth(name, value, (None, None), None, least, sums, totals, level)
    spread = None if se is None else se * value / effect
    return _worth(name, value, (sums.size / high, sums.size / low), spread, note, sums, totals, level)


def _drawn(
    totals: Floats, statistic: Statistic, value: float, level: float, n_boot: int, rng: np.random.Generator
) -> tuple[float | None, float | None, float | None, str]:
    """Return percentile limits that hold the estimate, the error and a note; None and why where there are none."""
    if len(totals) < 2:
        return None, None, None, ONE_CLUSTER
    drawn = bootstrap_limits(totals, statistic, kind="percentile", level=level, n_boot=n_boot, rng=rng)
    low, high = drawn.interval()
    if low is None or high is None:
        return None, None, None, drawn.reasons[0]
    if high - low <= _ROUNDING * abs(value):
        return None, None, None, "every resample gives the same value: nothing says how clusters vary"
    # Far out the replicates may lie to one side; the interval is made to hold the estimate.
    return min(low, value), max(high, value), float(drawn.se[0]), drawn.note


def _worth(
    name: str,
    value: float,
    ends: tuple[float | None, float | None],
    se: float | None,
    note: str,
    sums: JurySums,
    totals: Floats,
    level: float,
) -> Estimate:
    return Estimate(
        name=name,
        value=value,
        low=ends[0],
        high=ends[1],
        kind="bootstrap percentile",
        n=len(sums.rows),
        se=se,
        level=level,
        n_clusters=len(totals),
        note=note,
    )


def _coins(sums: JurySums, totals: Floats, level: float) -> bool:
    """Say whether one juror's accuracy is within its error of one half, where independent jurors gain nothing."""
    if sums.listed or len(totals) < 2:
        return False
    found = cluster_t(totals, lambda x: sums.coin(x)[:, 0], level=level)
    low, high = found.interval()
    return low is not None and high is not None and low <= 0.5 <= high
