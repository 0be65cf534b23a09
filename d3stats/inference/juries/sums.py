"""A jury as sums over items: everything that the curve, its rivals and the worth of its jurors are made of."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from d3stats.inference.juries.exact import drawn_panels, independent_plurality
from d3stats.inference.ratings import Ratings
from d3stats.resampling import Statistic
from d3stats.trajectories import MISSING

Floats = NDArray[np.float64]
MOST_WAYS = 5000
"""Up to so many outcomes of the largest panel are listed for independent jurors with several wrong answers."""
MOST_JURORS_WORTH = 1e6


@dataclass(frozen=True)
class JurySums:
    """Per-item columns of a jury, and the statistics that are functions of their sums.

    Columns: items; right_k (K); decided_k (K); right with a coin (K); right votes, votes, ordered pairs of right
    votes, ordered pairs of votes; votes by label and category (q * q, only with a few categories); items by label (q).
    """

    rows: Floats
    cluster: NDArray[np.int64]
    size: int
    n_categories: int
    listed: bool
    ties: str

    @property
    def columns(self) -> dict[str, slice]:
        """Where each kind of column is."""
        k, q = self.size, self.n_categories if self.listed else 0
        widths = {"items": 1, "right": k, "decided": k, "coin": k, "pairs": 4, "votes": q * q, "labels": q}
        ends = np.cumsum(list(widths.values()))
        return {name: slice(int(e - w), int(e)) for (name, w), e in zip(widths.items(), ends, strict=True)}

    def accuracy(self, sums: Floats) -> Floats:
        """Return the accuracy of k drawn jurors, shape (m, K)."""
        at = self.columns
        below = sums[:, at["decided"]] if self.ties == "exclude" else sums[:, at["items"]]
        return _over(sums[:, at["right"]], below)

    def right_of(self, totals: Floats, k: int) -> tuple[Floats, Floats]:
        """Return by cluster the right verdicts of k drawn jurors, and the verdicts that count."""
        at = self.columns
        below = totals[:, at["decided"]][:, k - 1] if self.ties == "exclude" else totals[:, at["items"]][:, 0]
        return totals[:, at["right"]][:, k - 1], below

    def coin(self, sums: Floats) -> Floats:
        """Return the same with ties split evenly."""
        at = self.columns
        return _over(sums[:, at["coin"]], sums[:, at["items"]])

    def independent(self, sums: Floats, *, coin: bool = False) -> Floats:
        """Return the accuracy of k independent jurors who are each as often right, shape (m, K)."""
        p = np.clip(self.coin(sums)[:, 0], 0.0, 1.0)
        found = np.zeros((len(sums), self.size, 3))
        for share, wrong in self._worlds(sums, p):
            for k in range(1, self.size + 1):
                parts = independent_plurality(k, p, wrong)
                found[:, k - 1] += share[:, None] * np.stack(parts, axis=1)
        alone, shared, decided = np.moveaxis(found, 2, 0)
        if coin or self.ties == "coin":
            return shared
        return alone if self.ties == "wrong" else _over(alone, decided)

    def _worlds(self, sums: Floats, p: Floats) -> list[tuple[Floats, Floats]]:
        if not self.listed:
            return [(np.ones(len(sums)), (1 - p)[:, None])]
        at, q = self.columns, self.n_categories
        votes = np.maximum(sums[:, at["votes"]].reshape(-1, q, q), 0.0)
        labels = sums[:, at["labels"]] / sums[:, at["items"]]
        worlds = []
        for label in range(q):
            wrong = np.delete(votes[:, label], label, axis=1)
            total = wrong.sum(axis=1, keepdims=True)
            split = np.divide(wrong, total, out=np.full_like(wrong, 1 / (q - 1)), where=total > 0)
            worlds.append((labels[:, label], (1 - p)[:, None] * split))
        return worlds

    def narrowed(self, statistic: Statistic, *kinds: str) -> tuple[NDArray[np.int64], Statistic]:
        """Return the columns of some kinds, and the statistic as a function of their sums alone."""
        at = self.columns
        kept = np.concatenate([np.arange(at[kind].start, at[kind].stop) for kind in kinds])

        def of_kept(sums: Floats) -> Floats:
            full = np.ones((len(sums), self.rows.shape[1]))
            full[:, kept] = sums
            return statistic(full)

        return kept, of_kept

    def icc(self, sums: Floats) -> Floats:
        """Return the correlation of two jurors' being right on an item, over pairs of votes, shape (m,)."""
        right, votes, both, pairs = sums[:, self.columns["pairs"]].T
        p = _over(right, votes)
        return _over(_over(both, pairs) - p**2, p * (1 - p))

    def design_effect(self, sums: Floats) -> Floats:
        """Return 1 + (K - 1) icc: the variance of K jurors' share of right votes over that of independent ones."""
        result: Floats = 1 + (self.size - 1) * self.icc(sums)
        return result

    def worth_by_accuracy(self, sums: Floats) -> Floats:
        """Return how many independent jurors are as often right as K of these, ties by a coin; NaN if no number."""
        target, p = self.coin(sums)[:, -1], self.coin(sums)[:, 0]
        if self.listed:
            return _crossing(self.independent(sums, coin=True), target)
        low, high = np.zeros(len(sums)), np.full(len(sums), MOST_JURORS_WORTH)
        defined = (p > 0.5) & (p < 1) & (target < 1)
        safe = np.where(defined, p, 0.75)
        for _ in range(45):
            # I_p(a, a) with a = (k + 1) / 2 is Condorcet's chance for odd k, and rises between.
            middle = np.sqrt((low + 1) * (high + 1)) - 1
            reached = betainc((middle + 1) / 2, (middle + 1) / 2, safe) >= target
            high, low = np.where(reached, middle, high), np.where(reached, low, middle)
        return np.where(defined & (high < MOST_JURORS_WORTH), (low + high) / 2, np.nan)


def jury_sums(ratings: Ratings, ties: str) -> tuple[JurySums, NDArray[np.bool_]]:
    """Return the sums of a jury, and which items have a label and a vote."""
    if ratings.label is None or (ratings.label == MISSING).all():
        raise ValueError("ratings must have labels, to say which votes are right; got none")
    counts = ratings.counts
    usable = (ratings.label != MISSING) & (counts.sum(axis=1) > 0)
    if not usable.any():
        raise ValueError("ratings must have an item with a label and a vote; got none")
    counts, label = counts[usable], ratings.label[usable]
    if ratings.n_raters < 2:
        raise ValueError(f"a jury must have at least two jurors; got {ratings.n_raters}")
    size, q = int(counts.sum(axis=1).max()), len(ratings.categories)
    if size < 2:
        raise ValueError("items must have more than one vote somewhere, to make a jury; got at most one each")
    right, decided = drawn_panels(counts, label, size)
    listed = 2 < q <= 6 and comb(size + q - 1, q - 1) <= MOST_WAYS
    n = counts.sum(axis=1).astype(float)
    s = counts[np.arange(len(counts)), label].astype(float)
    parts = [
        np.ones((len(counts), 1)),
        right[:, :, 1] if ties == "coin" else right[:, :, 0],
        decided,
        right[:, :, 1],
        np.stack([s, n, s * (s - 1), n * (n - 1)], axis=1),
    ]
    if listed:
        one_hot = np.eye(q)[label]
        parts += [(one_hot[:, :, None] * counts[:, None, :]).reshape(len(counts), q * q), one_hot]
    return JurySums(np.concatenate(parts, axis=1), ratings.cluster[usable], size, q, listed, ties), usable


def _over(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    result: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return result


def _crossing(curve: Floats, target: Floats) -> Floats:
    """Return where a curve over k = 1, 2, ... first reaches a target, in straight lines; NaN where it does not."""
    rising = np.maximum.accumulate(curve, axis=1)
    # Two jurors are as right as one but for rounding, which must not count as a step.
    target = target - 1e-9
    n = rising.shape[1]
    at = (rising < target[:, None]).sum(axis=1)
    ahead, behind = np.clip(at, 0, n - 1), np.clip(at - 1, 0, n - 1)
    rows = np.arange(len(rising))
    step = rising[rows, ahead] - rising[rows, behind]
    part = np.divide(target - rising[rows, behind], step, out=np.zeros(len(rising)), where=step > 0)
    return np.where(at >= n, np.nan, np.where(at == 0, 1.0, at + part))
