"""Separation by the best of k logged scores: U-statistics over advocates, bootstrap intervals over items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, choice
from d3stats.models.separation.laws import as_counts
from d3stats.resampling import BootstrapLimits, bootstrap_limits, cluster_codes, cluster_totals
from d3stats.resampling.bootstrap import too_few
from d3stats.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LoggedSeparation", "separation_from_scores"]


_POINTS = ("expected_gap", "mean_gap", "mean_first", "mean_second")
QUANTITIES = (*_POINTS, "prob_first", "prob_tie", "prob_second")
CHANGES = ("gap_change", "ranking_change")
NAMES = (*QUANTITIES, "ranking", *CHANGES)
_CELLS = 1 << 20
Kind = Literal["percentile", "bca"]


def _with_limits(row: dict[Any, Any]) -> str:
    bare = row["low"] != row["low"]
    return f"{row['estimate']:.3g}" + ("" if bare else f" [{row['low']:.3g}, {row['high']:.3g}]")


@dataclass(frozen=True, eq=False, repr=False)
class LoggedSeparation(Result):
    """Separation by the best of k logged scores, with bootstrap intervals over clusters of items.

    Attributes
    ----------
    table : DataFrame
        One row per k and quantity: ``k, quantity, estimate, se, low, high``. Beside the quantities of a
        :class:`~d3stats.models.separation.Separation` (the mean over items): ``ranking``, P(M1 > M2) + P(tie) / 2,
        and ``gap_change, ranking_change``, the expected gap and the ranking minus their values at the least k.
    n_items, n_left_out, n_clusters : int
        Items used at every k; items left out because a side has fewer advocates than the largest k; clusters.
    level, kind, n_boot
        Level, kind and number of replicates of the bootstrap over clusters.
    all_tied : bool
        Whether every score that was used is the same within its item.
    notes : tuple of str
        Why some quantities have no limits (NaN), that few clusters make limits rough, and what is not estimated.

    Examples
    --------
    >>> first, second = [[9, 8, 5], [7, 7, 6]], [[4, 6, 8], [7, 5, 5]]
    >>> found = separation_from_scores(first, second, k=[1, 3], n_boot=200, rng=1)
    >>> found.n_items, found.n_clusters, found.estimates()["expected_gap"].round(3).tolist()
    (2, 2, [1.722, 0.5])
    >>> found.table["quantity"].unique().tolist()[:2]
    ['expected_gap', 'mean_gap']
    >>> found.plot().get_xlabel()
    'advocates a side'
    """

    table: pd.DataFrame
    n_items: int
    n_left_out: int
    n_clusters: int
    level: float
    kind: Kind
    n_boot: int
    all_tied: bool
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The expected gap at the smallest and the largest k, with its limits."""
        gaps = self.table[self.table["quantity"] == "expected_gap"].sort_values("k")
        rows = gaps.iloc[[0, -1] if len(gaps) > 1 else [0]].to_dict("records")
        listed = " and ".join(f"{_with_limits(row)} at k = {row['k']}" for row in rows)
        return f"The gap between the best scores of both sides is {listed}."

    def _title(self) -> str:
        return (
            f"separation by the best of k logged scores: {self.n_items} items in {self.n_clusters} clusters, "
            f"{self.n_left_out} left out (too few advocates); {100 * self.level:g} % intervals, {self.kind}, "
            f"{self.n_boot} replicates over clusters"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"separation": self.table.copy()}

    def estimates(self) -> pd.DataFrame:
        """Return one row per k, one column per quantity, without intervals."""
        rows = self.table.pivot_table("estimate", "k", "quantity")[[*NAMES]]
        return rows.rename_axis(columns=None).reset_index()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw gap and ranking by k."""
        from d3stats.plotting.fits import plot_separation

        return plot_separation(self.estimates(), ax=ax)


def separation_from_scores(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    k: int | Sequence[int] | Ints,
    *,
    cluster: Any = None,
    level: float = 0.95,
    kind: Kind = "percentile",
    n_boot: int = 2000,
    rng: RngLike = None,
) -> LoggedSeparation:
    """Estimate the separation by the best of k logged scores, by U-statistics with bootstrap intervals over items.

    Parameters
    ----------
    first_scores, second_scores : array, shape (items, advocates)
        Scores of each answer's advocates, in points; NaN is missing. The numbers of advocates may differ.
    k : int or sequence of int
        Advocates a side, at most the advocates logged for some item on both sides.
    cluster : array, shape (items,), optional
        Which items belong together (one question, one text); by default each item is alone.
    level : float
        Level of the equal-tailed intervals.
    kind : {"percentile", "bca"}
        Efron (1981) or Efron (1987), clusters resampled `n_boot` times.
    n_boot : int
        Resamples.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    LoggedSeparation

    Raises
    ------
    ValueError
        When no item has that many advocates on both sides, or fewer than two clusters remain.

    Notes
    -----
    The best of k drawn without replacement from n logged scores is the j-th smallest with probability
    C(j-1, k-1) / C(n, k). Averaged over both sides' order statistics this is the U-statistic of the quantity. No
    advocate is resampled. For advocates that are exchangeable within an item the statistic is unbiased for the mean
    over draws of k of them. Items are averaged with equal weight, the same items at every k, so that a change with k is
    not a change of items. The common part of the scores of one item (its difficulty) stays in. Advocates of the two
    answers are taken as independent given the item, which a log with the same advocates on both sides may violate.

    References
    ----------
    Hoeffding (1948), Annals of Mathematical Statistics 19, 293 (U-statistics).

    Examples
    --------
    >>> found = separation_from_scores([[9, 8, 5], [7, 7, 6]], [[4, 6, 8], [7, 5, 5]], k=[1, 3], n_boot=200, rng=1)
    >>> found.estimates()[["k", "expected_gap", "mean_gap", "prob_tie"]].round(3).values.tolist()
    [[1.0, 1.722, 1.167, 0.167], [3.0, 0.5, 0.5, 0.5]]
    """
    first, second = _scores("first_scores", first_scores), _scores("second_scores", second_scores)
    if len(first) != len(second):
        raise ValueError(f"second_scores must have one row per item ({len(first)}); got {len(second)}")
    counts = np.unique(as_counts(k))
    choice("kind", kind, ("percentile", "bca"))
    sizes = [(~np.isnan(x)).sum(axis=1) for x in (first, second)]
    fewest = np.minimum(*sizes)
    kept = fewest >= counts[-1]
    if not kept.any():
        raise ValueError(
            f"k must be at most the advocates logged for an item on both sides (at most {fewest.max(initial=0)}); "
            f"got k={counts[-1]}"
        )
    groups = cluster_codes(cluster, len(first), unit="item")[kept]
    numbers = _per_item(first[kept], second[kept], counts)
    totals = cluster_totals(np.column_stack([numbers, np.ones(len(numbers))]), groups)
    if len(totals) < 2:
        raise ValueError(f"cluster must leave at least two clusters to resample; got {len(totals)}")
    means = partial(_means, n_k=counts.size)
    found = bootstrap_limits(totals, means, kind=kind, level=level, n_boot=n_boot, rng=rng)
    table = _table(found, counts)
    all_tied = bool((numbers[:, : counts.size] == 0).all())  # the expected gap comes first
    return LoggedSeparation(
        table=table,
        n_items=int(kept.sum()),
        n_left_out=int((~kept).sum()),
        n_clusters=len(totals),
        level=found.level,
        kind=kind,
        n_boot=n_boot,
        all_tied=all_tied,
        notes=_notes(table, too_few(totals[:, -1], kind=kind), all_tied),
    )


def _notes(table: pd.DataFrame, few: str, all_tied: bool) -> tuple[str, ...]:
    """Say which quantities have no limits, that few clusters make limits rough, and what is not estimated."""
    notes = []
    # A change since the least k is 0 there by definition.
    asked = table[~(table["quantity"].isin(CHANGES) & (table["k"] == table["k"].min()))]
    flat = asked.loc[asked["low"].isna(), "quantity"].unique().tolist()
    if flat:
        notes.append(
            f"no interval of {', '.join(flat)} where every resample of clusters gives the same value, so "
            "the variation between clusters is unknown"
        )
    if few:
        notes.append(few)
    if all_tied:
        notes.append("all scores of an item tie, so no k can separate the answers")
    notes.append(
        "the best of k are drawn without replacement from an item's own advocates, independently for the "
        "two sides, so the results do not extend to more advocates than were logged"
    )
    return tuple(notes)


def _scores(name: str, values: ArrayLike) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 2 or scores.size == 0:
        raise ValueError(f"{name} must have the shape (items, advocates); got {scores.shape}")
    if np.isinf(scores).any():
        item, advocate = np.argwhere(np.isinf(scores))[0]
        raise ValueError(
            f"{name} must be finite or NaN; got {scores[item, advocate]} at item {item}, advocate {advocate}"
        )
    return np.sort(scores, axis=1)  # NaN last


def _weights(sizes: Ints, width: int, k: Ints) -> Floats:
    """Return P(best of k without replacement is the j-th smallest), shape (items, ks, width)."""
    ranks = np.arange(1, width + 1)
    table = np.zeros((width + 1, k.size, width))
    for n in np.unique(sizes):
        with np.errstate(under="ignore"):
            logs = _log_choose(ranks - 1, k[:, None] - 1) - _log_choose(n, k[:, None])
            chances = np.where((ranks >= k[:, None]) & (ranks <= n), np.exp(logs), 0.0)
        table[n] = chances / chances.sum(axis=1, keepdims=True)
    result: Floats = table[sizes]
    return result


def _log_choose(n: Ints | np.int64, k: Ints) -> Floats:
    enough = np.where(n >= k, n, k)
    return np.asarray(-special.betaln(k + 1, enough - k + 1) - np.log(enough + 1))


def _per_item(first: Floats, second: Floats, k: Ints) -> Floats:
    """Return every quantity of every item, shape (items, quantities x ks)."""
    sizes = [(~np.isnan(x)).sum(axis=1) for x in (first, second)]
    widths = first.shape[1], second.shape[1]
    step = max(1, _CELLS // (widths[0] * widths[1] + k.size * max(widths)))
    parts = []
    for start in range(0, len(first), step):
        rows = slice(start, start + step)
        mine, other = (_weights(n[rows], w, k) for n, w in zip(sizes, widths, strict=True))
        # A missing score has no weight; zero in its place keeps it out of the sums.
        x, y = np.nan_to_num(first[rows]), np.nan_to_num(second[rows])
        apart = x[:, :, None] - y[:, None, :]
        means = np.einsum("ikj,ij->ik", mine, x), np.einsum("ikj,ij->ik", other, y)
        gap, mean_gap, more, tie, less = (
            np.einsum("ikj,ijl,ikl->ik", mine, pairs.astype(np.float64), other, optimize=True)
            for pairs in (np.abs(apart), apart, apart > 0, apart == 0, apart < 0)
        )
        parts.append(np.concatenate([gap, mean_gap, *means, more, tie, less], axis=1))
    return np.concatenate(parts)


def _means(sums: Floats, n_k: int) -> Floats:
    """Return the mean over items of every quantity and k, from sums that end in the number of items."""
    values = (sums[:, :-1] / sums[:, -1:]).reshape(len(sums), len(QUANTITIES), n_k)
    gap, more, tie = (values[:, QUANTITIES.index(q)] for q in ("expected_gap", "prob_first", "prob_tie"))
    ranking = more + 0.5 * tie
    extra = np.stack([ranking, gap - gap[:, :1], ranking - ranking[:, :1]], axis=1)
    return np.concatenate([values, extra], axis=1).reshape(len(sums), -1)


def _table(found: BootstrapLimits, k: Ints) -> pd.DataFrame:
    """Return one row per k and quantity; without limits where replicates carry none."""
    flat = np.array([bool(reason) for reason in found.reasons])
    frame = pd.DataFrame(
        {
            "k": np.tile(k, len(NAMES)),
            "quantity": np.repeat(NAMES, k.size),
            "estimate": found.estimate,
            "se": np.where(flat, np.nan, found.se),
            "low": found.low,
            "high": found.high,
        }
    )
    return frame.sort_values("k", kind="stable").reset_index(drop=True)
