"""What logged advocate scores say about more advocates: exact over the advocates, resampled over the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.models.separation.laws import as_counts
from d3stats.resampling.clusters import FEW_CLUSTERS, cluster_totals, resampled_totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LoggedSeparation", "separation_from_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

QUANTITIES = (
    "expected_gap",
    "mean_gap",
    "mean_first",
    "mean_second",
    "prob_first",
    "prob_tie",
    "prob_second",
)
CHANGES = ("gap_change", "ranking_change")
_CELLS = 1 << 20
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LoggedSeparation:
    """Separation by the best of k logged scores, with intervals over items.

    Attributes
    ----------
    table : DataFrame
        One row per k and quantity: ``k, quantity, estimate, se, lower, upper``. Beside the quantities of a
        :class:`~d3stats.models.separation.Separation` (the mean over items): ``ranking``, P(M1 > M2) + P(tie) / 2,
        and ``gap_change`` and ``ranking_change``, the expected gap and the ranking less those at the least k.
    n_items, n_left_out, n_clusters : int
        Items used at every k; items left out because a side has fewer advocates than the largest k; clusters.
    level : float
    kind : {"percentile", "bca"}
    n_boot : int
    all_tied : bool
        Whether every score that was used is the same within its item.
    notes : tuple of str
        Why some quantities have no limits (NaN), and that few clusters make limits rough.
    """

    table: pd.DataFrame
    n_items: int
    n_left_out: int
    n_clusters: int
    level: float
    kind: Literal["percentile", "bca"]
    n_boot: int
    all_tied: bool
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"LoggedSeparation({self.n_items} items, k={self.table['k'].unique().tolist()})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k and quantity."""
        return self.table.copy()

    def estimates(self) -> pd.DataFrame:
        """Return one row per k, one column per quantity, without intervals."""
        order = [*QUANTITIES, "ranking", *CHANGES]
        rows = self.table.set_index(["quantity", "k"])["estimate"]
        return pd.DataFrame({name: rows[name] for name in order}).reset_index()

    def summary(self) -> str:
        """Say per k whether gap and ranking differ from those at the least k, and what was left out."""
        rows = self.table.set_index(["k", "quantity"])
        lines = [
            f"{self.n_items} items in {self.n_clusters} clusters, {self.n_left_out} left out (too few advocates); "
            f"{self.level:.0%} intervals, {self.kind}, {self.n_boot} replicates over clusters"
        ]
        names = {
            "expected_gap": "E|M1-M2|",
            "gap_change": "change",
            "ranking": "ranking",
            "ranking_change": "change",
        }
        first = int(self.table["k"].min())
        for k in sorted(self.table["k"].unique()):
            parts = []
            for quantity, name in names.items():
                if k == first and quantity in CHANGES:
                    continue
                row = rows.loc[(k, quantity)]
                limits = "no interval" if np.isnan(row.lower) else f"[{row.lower:.4f}, {row.upper:.4f}]"
                parts.append(f"{name} {row.estimate:.4f} {limits}")
            lines.append(f"k = {k}: " + ", ".join(parts))
        if self.all_tied:
            lines.append("All scores of an item tie: nothing here can tell the answers apart, at any k.")
        lines += [f"Note: {note}." for note in self.notes]
        lines.append(
            "Best of k drawn without replacement from an item's own advocates; nothing is said about more advocates "
            "than were logged. Advocates of the two sides are drawn independently: pairing between them is not used."
        )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw gap and ranking by k."""
        from d3stats.plotting.phase_map import plot_separation

        return plot_separation(self.estimates(), ax=ax)


def separation_from_scores(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    k: int | Sequence[int] | Ints,
    *,
    cluster: Any = None,
    level: float = 0.95,
    kind: Literal["percentile", "bca"] = "percentile",
    n_boot: int = 2000,
    rng: RngLike = None,
) -> LoggedSeparation:
    """Estimate the separation by the best of k from logged scores of several advocates per answer.

    Parameters
    ----------
    first_scores, second_scores : array, shape (items, advocates)
        Scores of each answer's advocates, in points; NaN is missing. The numbers of advocates may differ.
    k : int or sequence of int
        Advocates a side, at least 1 and at most the advocates logged for some item on both sides.
    cluster : array, shape (items,), optional
        Which items belong together (one question, one text); by default each item is alone.
    level : float
        Of the equal-tailed intervals.
    kind : {"percentile", "bca"}
        Efron (1979) or Efron (1987), clusters resampled.
    n_boot : int
        Replicates.
    rng : Generator, int or None

    Returns
    -------
    LoggedSeparation

    Raises
    ------
    ValueError
        When the shapes differ, a score is infinite, k is below 1 or no item has that many advocates on both
        sides, or fewer than two clusters remain.

    Notes
    -----
    The best of k drawn without replacement from n logged scores is the j-th smallest with probability
    C(j-1, k-1) / C(n, k). Averaged over both sides' order statistics this is the U-statistic of the quantity: no
    advocate is resampled, and for advocates that are exchangeable within an item it is unbiased for one that
    draws k of them. Items are averaged with equal weight, the same items at every k, so that a change with k is
    not a change of items. What the scores of one item share (its difficulty) stays in; advocates of the two answers
    are taken as independent given the item, which a log with the same advocates on both sides may violate.

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
    level = probability("level", level, open_interval=True)
    choice("kind", kind, ("percentile", "bca"))
    integer("n_boot", n_boot, minimum=2)
    sizes = [(~np.isnan(x)).sum(axis=1) for x in (first, second)]
    fewest = np.minimum(*sizes)
    kept = fewest >= counts[-1]
    if not kept.any():
        raise ValueError(
            f"k must be at most the advocates logged for an item on both sides (at most {fewest.max(initial=0)}); "
            f"got k={counts[-1]}"
        )
    groups = _groups(cluster, len(first))[kept]
    numbers = _per_item(first[kept], second[kept], counts)
    totals = cluster_totals(np.column_stack([numbers, np.ones(len(numbers))]), groups)
    if len(totals) < 2:
        raise ValueError(f"cluster must leave at least two clusters to resample; got {len(totals)}")
    tied = numbers.reshape(len(numbers), -1, counts.size)
    table = _table(totals, counts, level, kind, n_boot, as_rng(rng))
    return LoggedSeparation(
        table=table,
        n_items=int(kept.sum()),
        n_left_out=int((~kept).sum()),
        n_clusters=len(totals),
        level=level,
        kind=kind,
        n_boot=n_boot,
        all_tied=bool((tied[:, QUANTITIES.index("expected_gap")] == 0).all()),
        notes=_notes(table, len(totals), int(counts[0])),
    )


def _notes(table: pd.DataFrame, n_clusters: int, least_k: int) -> tuple[str, ...]:
    """Say which quantities have no limits, and that few clusters make limits rough."""
    notes = []
    # A change since the least k is 0 there by definition.
    asked = table[~(table["quantity"].isin(CHANGES) & (table["k"] == least_k))]
    flat = asked.loc[asked["lower"].isna(), "quantity"].unique().tolist()
    if flat:
        notes.append(
            f"no interval of {', '.join(flat)} where every resample of clusters gives the same value: nothing says how "
            "clusters vary"
        )
    if n_clusters < FEW_CLUSTERS:
        notes.append(
            f"only {n_clusters} clusters: bootstrap limits are too narrow with fewer than {FEW_CLUSTERS}"
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


def _groups(cluster: Any, n_items: int) -> Ints:
    if cluster is None:
        return np.arange(n_items)
    labels = np.asarray(cluster)
    if labels.shape != (n_items,):
        raise ValueError(f"cluster must have one label per item ({n_items}); got shape {labels.shape}")
    codes, _ = pd.factorize(labels)
    if (codes < 0).any():
        raise ValueError(
            f"cluster must not be missing; got {labels[codes < 0][0]} at item {np.argmin(codes)}"
        )
    return codes.astype(np.int64)


def _weights(sizes: Ints, width: int, k: Ints) -> Floats:
    """Return P(best of k without replacement is the j-th smallest), shape (items, ks, width)."""
    ranks = np.arange(1, width + 1)
    table = np.zeros((width + 1, k.size, width))
    for n in np.unique(sizes):
        with np.errstate(under="ignore"):
            logs = _log_choose(ranks - 1, k[:, None] - 1) - _log_choose(np.array(n), k[:, None])
            chances = np.where((ranks >= k[:, None]) & (ranks <= n), np.exp(logs), 0.0)
        table[n] = chances / chances.sum(axis=1, keepdims=True)
    result: Floats = table[sizes]
    return result


def _log_choose(n: Ints, k: Ints) -> Floats:
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


def _table(
    totals: Floats, k: Ints, level: float, kind: str, n_boot: int, rng: np.random.Generator
) -> pd.DataFrame:
    names, estimate = _functionals(totals.sum(axis=0, keepdims=True), k.size)
    _, draws = _functionals(resampled_totals(totals, n_boot, rng), k.size)
    tail = np.array([0.5 * (1 - level), 0.5 * (1 + level)])
    if kind == "bca":
        _, without = _functionals(totals.sum(axis=0) - totals, k.size)
        levels = _bca_levels(estimate[0], draws, without, tail)
    else:
        levels = np.repeat(tail[:, None], draws.shape[1], axis=1)
    ordered = np.sort(draws, axis=0)
    at = levels * (n_boot - 1)
    below, share = np.floor(at).astype(int), at - np.floor(at)
    column = np.arange(draws.shape[1])
    upper = np.minimum(below + 1, n_boot - 1)
    limits = (1 - share) * ordered[below, column] + share * ordered[upper, column]
    # Limits that fall together are no interval; what is left of rounding is no width.
    flat = limits[1] - limits[0] <= _ROUNDING * np.abs(draws).max(axis=0)
    limits[:, flat] = np.nan
    frame = pd.DataFrame(
        {
            "k": np.tile(k, len(names)),
            "quantity": np.repeat(names, k.size),
            "estimate": estimate[0],
            "se": np.where(flat, np.nan, draws.std(axis=0, ddof=1)),
            "lower": limits[0],
            "upper": limits[1],
        }
    )
    return frame.sort_values("k", kind="stable").reset_index(drop=True)


def _functionals(totals: Floats, n_k: int) -> tuple[list[str], Floats]:
    """Return names, and means over items by quantity and k from totals that end in the number of items."""
    values = (totals[:, :-1] / totals[:, -1:]).reshape(len(totals), len(QUANTITIES), n_k)
    gap, more, tie = (values[:, QUANTITIES.index(q)] for q in ("expected_gap", "prob_first", "prob_tie"))
    ranking = more + 0.5 * tie
    extra = np.stack([ranking, gap - gap[:, :1], ranking - ranking[:, :1]], axis=1)
    names = [*QUANTITIES, "ranking", *CHANGES]
    return names, np.concatenate([values, extra], axis=1).reshape(len(totals), -1)


def _bca_levels(estimate: Floats, draws: Floats, without: Floats, tail: Floats) -> Floats:
    """Return the corrected levels (Efron 1987, equation 2.3), shape (2, numbers)."""
    n_boot = len(draws)
    below = ((draws < estimate).sum(axis=0) + 0.5 * (draws == estimate).sum(axis=0)) / n_boot
    bias = special.ndtri(np.clip(below, 0.5 / n_boot, 1 - 0.5 / n_boot))
    away = without.mean(axis=0) - without
    spread = 6 * (away**2).sum(axis=0) ** 1.5
    skew = np.divide((away**3).sum(axis=0), spread, out=np.zeros_like(spread), where=spread > 0)
    z = bias + special.ndtri(tail)[:, None]
    return np.asarray(special.ndtr(bias + z / (1 - skew * z)))
