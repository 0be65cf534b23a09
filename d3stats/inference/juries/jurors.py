"""The jurors of a jury one by one and two by two: how right, how alike, and whether the best one beats them all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.estimate import Estimate
from d3stats.inference.ratings import Ratings
from d3stats.inference.shares.clusters import share_limits
from d3stats.resampling import Statistic, cluster_t, cluster_totals, ratios

Floats = NDArray[np.float64]
REGULAR = 0.5
"""Who voted on less than this share of the busiest juror's items is not compared with the jury."""
MOST_PAIRED = 30
"""Up to so many jurors are compared pair by pair."""
CHOSEN = "chosen on the other clusters"


def votes_right(ratings: Ratings, usable: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return which votes were cast and which of them are right, both (items, jurors) of 0 and 1."""
    assert ratings.label is not None
    codes, label = ratings.codes[usable], ratings.label[usable]
    cast = (codes >= 0).astype(float)
    return cast, cast * (codes == label[:, None])


def hits_and_rival(
    ratings: Ratings, usable: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the votes for the label and for the strongest other answer, both (items,)."""
    assert ratings.label is not None
    counts, label = ratings.counts[usable].copy(), ratings.label[usable]
    rows = np.arange(len(counts))
    hits = counts[rows, label]
    counts[rows, label] = 0
    return hits, counts.max(axis=1)


def jurors_table(
    ratings: Ratings, cast: Floats, right: Floats, cluster: NDArray[np.int64], level: float
) -> pd.DataFrame:
    """Return one row per juror: votes, accuracy, its clustered interval."""
    totals = cluster_totals(np.concatenate([right, cast], axis=1), cluster)
    rows = []
    for j, name in enumerate(ratings.raters):
        n = float(cast[:, j].sum())
        row = {"juror": name, "n": int(n), "accuracy": np.nan, "low": np.nan, "high": np.nan}
        if n:
            row["accuracy"] = right[:, j].sum() / n
            found = share_limits(totals[:, j], totals[:, cast.shape[1] + j], level)
            if found.low is not None and found.high is not None:
                row["low"], row["high"] = found.low, found.high
        rows.append(row)
    return pd.DataFrame(rows)


def error_correlation(
    cast: Floats, right: Floats, cluster: NDArray[np.int64], level: float
) -> Estimate | str:
    """Return the mean correlation of two jurors' being right, over pairs that both vary; or why there is none."""
    jurors = cast.shape[1]
    if jurors > MOST_PAIRED:
        return f"{jurors} jurors are too many to compare two by two (at most {MOST_PAIRED})"
    one, two = np.triu_indices(jurors, 1)
    both = cast[:, one] * cast[:, two]
    x, y = right[:, one] * both, right[:, two] * both
    rows = np.stack([both, x, y, x * y], axis=2)
    spread = _correlations(rows.sum(axis=0)[None])[0]
    kept = np.isfinite(spread)
    if not kept.any():
        return "no two jurors with shared items are both sometimes right and sometimes wrong"
    rows = rows[:, kept]
    totals = cluster_totals(rows.reshape(len(rows), -1), cluster)
    pairs = int(kept.sum())

    def mean(sums: Floats) -> Floats:
        value: Floats = _correlations(sums.reshape(len(sums), pairs, 4)).mean(axis=1)
        return value

    left_out = "" if kept.all() else f"over {pairs} of {len(one)} pairs: in the others a juror never varies"
    return estimated("correlation of two jurors' errors", totals, mean, len(cast), level, left_out)


def _correlations(sums: Floats) -> Floats:
    n, x, y, xy = np.moveaxis(sums, -1, 0)
    cov, spread = n * xy - x * y, (n * x - x * x) * (n * y - y * y)
    result: Floats = np.divide(cov, np.sqrt(np.abs(spread)), out=np.full(cov.shape, np.nan), where=spread > 0)
    return result


def best_juror(
    cast: Floats, right: Floats, jury: Floats, cluster: NDArray[np.int64], level: float
) -> tuple[Estimate, Estimate]:
    """Return how right the best juror is and how much more the jury is, on clusters that did not choose the juror.

    Who is best is found on all other clusters (ties share evenly): the same items cannot choose and judge. Jurors who
    voted on less than half as many items as the busiest are no candidates. Folds that choose different jurors are
    not independent, so that there are limits only where one juror leads in every fold and clearly.
    """
    votes = cast.sum(axis=0)
    regular = votes >= REGULAR * votes.max()
    cast, right = cast[:, regular], right[:, regular]
    jurors = cast.shape[1]
    joint = np.concatenate([right, cast, jury[:, None] * cast], axis=1)
    totals = cluster_totals(joint, cluster)
    whole = totals.sum(axis=0)
    chosen = _leaders(whole - totals, jurors)
    picked = _of_chosen(chosen, totals, jurors)
    n = round(float(picked[:, 1].sum()))

    def difference(sums: Floats) -> Floats:
        gap = sums[:, 2] - sums[:, 0]
        result: Floats = np.divide(gap, sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
        return result

    best = share_of("best single juror", picked[:, 0], picked[:, 1], n, level, CHOSEN)
    more = estimated("all jurors - best one", picked, difference, n, level, CHOSEN)
    why = _unsettled(chosen, totals, level)
    if len(totals) < 2 or not why:
        return best, more
    flattered = _of_chosen(_leaders(whole[None], jurors), whole[None], jurors)
    same = (float(ratios((0, 1))(flattered)[0, 0]), float(difference(flattered)[0]))
    said = f"{CHOSEN}; no limits: {why}; the best on the same items gives"
    return (
        replace(best, low=None, high=None, se=None, note=f"{said} {same[0]:.3f}"),
        replace(more, low=None, high=None, se=None, note=f"{said} {same[1]:.3f}"),
    )


def _leaders(sums: Floats, jurors: int) -> Floats:
    """Return each row's weights of the jurors who are right most often, ties sharing."""
    above, below = sums[:, :jurors], sums[:, jurors : 2 * jurors]
    rate = np.divide(above, below, out=np.full(above.shape, -1.0), where=below > 0)
    first = (rate >= rate.max(axis=1, keepdims=True) - 1e-12).astype(float)
    weights: Floats = first / first.sum(axis=1, keepdims=True)
    return weights


def _of_chosen(chosen: Floats, sums: Floats, jurors: int) -> Floats:
    """Return right votes, votes and the jury's right verdicts of the chosen jurors, shape (m, 3)."""
    parts = [(chosen * sums[:, i * jurors : (i + 1) * jurors]).sum(axis=1) for i in range(3)]
    return np.stack(parts, axis=1)


def _unsettled(chosen: Floats, totals: Floats, level: float) -> str:
    """Return why it is not settled who is best; "" where one juror leads in every fold and beyond chance."""
    leads = (chosen > 0).any(axis=0)
    if leads.sum() > 1:
        return f"{int(leads.sum())} jurors lead in one fold or another"
    jurors, best = chosen.shape[1], int(np.argmax(leads))
    if jurors < 2 or len(totals) < 2:
        return ""

    def ahead(sums: Floats) -> Floats:
        above, below = sums[:, :jurors], sums[:, jurors : 2 * jurors]
        rate = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
        return np.delete(rate[:, [best]] - rate, best, axis=1)

    found = cluster_t(totals, ahead, level=level)
    # A lead without any spread over clusters has no p-value, and is clear when it is a lead.
    flat = np.array([bool(reason) for reason in found.reasons])
    p = np.where(flat, 0.0, found.p_value / 2)
    clear = (found.estimate > 0) & (p * (jurors - 1) < 1 - level)
    return "" if clear.all() else "no juror leads the others by more than chance"


def share_of(name: str, above: Floats, below: Floats, n: int, level: float, note: str = "") -> Estimate:
    """Return a share with its interval over clusters, by the rule of every share."""
    found = share_limits(above, below, level)
    return Estimate(
        name=name,
        value=min(float(above.sum() / below.sum()), 1.0),
        low=found.low,
        high=found.high,
        kind=found.kind,
        n=n,
        se=found.se,
        level=level,
        n_clusters=len(above),
        note="; ".join(part for part in (found.note, note) if part),
    )


def estimated(
    name: str,
    totals: Floats,
    statistic: Statistic,
    n: int,
    level: float,
    note: str = "",
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    """Return a statistic of sums with its cluster t interval, or without one and why."""
    if len(totals) < 2:
        value = float(np.ravel(statistic(totals.sum(axis=0)[None]))[0])
        why = "a single cluster: nothing says how clusters vary"
        return Estimate(name=name, value=value, low=None, high=None, kind="cluster t", n=n, level=level,
                        n_clusters=len(totals), note=why)  # fmt: skip
    found = cluster_t(totals, statistic, level=level)
    low, high = found.interval()
    if low is not None and high is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    if low is not None and high is not None and high - low < 1e-12:
        low = high = None
        note = "; ".join(
            part for part in ("every cluster gives the same value: nothing says how they vary", note) if part
        )
    return Estimate(
        name=name,
        value=float(found.estimate[0]),
        low=low,
        high=high,
        kind="cluster t",
        n=n,
        se=None if low is None else float(found.se[0]),
        level=level,
        n_clusters=found.n_clusters,
        note="; ".join(part for part in (found.reasons[0], note) if part),
    )
