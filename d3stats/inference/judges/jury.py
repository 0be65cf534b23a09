"""How right is a jury of k, what is the next juror worth, and how many independent jurors are these?

The accuracy of a plurality of k jurors drawn without replacement from the panel is computed exactly, item by item,
from the item's counts of votes: no panel is drawn. It is set against Condorcet's jurors, who are as often right and
independent; what the panel falls short of them is the price of agreeing on the same mistakes.

How many independent jurors a panel of n is worth has two answers, and they differ:

- by accuracy: the k at which Condorcet's curve reaches the panel's accuracy;
- by variance: n / (1 + (n - 1) r), r the correlation of two jurors' being right on an item: the number of
  independent votes whose share of right ones varies as much.

The first says what the verdict gains, the second what the share of right votes tells.

With two answers and a coin for ties, an even panel is exactly as right as one juror fewer: the last vote matters only
when it makes a tie. Look at odd sizes there.

References
----------
Condorcet (1785), Essai sur l'application de l'analyse. Ladha (1992), American Journal of Political Science 36, 617
(correlated votes). Kish (1965), Survey Sampling, section 5.4 (n / (1 + (n - 1) r)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betainc

from d3stats._check import RngLike, as_rng, choice, integer, number, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.judges.condorcet import condorcet, drawn_panels, independent_plurality
from d3stats.inference.judges.correction import Reported
from d3stats.inference.judges.ratings import Ratings, as_ratings
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture, fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.resampling import (
    ONE_CLUSTER,
    Statistic,
    bootstrap_limits,
    cluster_t,
    cluster_totals,
    ratios,
    resampled_totals,
    share_limits,
)
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["JuryCurve", "condorcet", "jury_curve"]

Floats = NDArray[np.float64]
KIND = "bootstrap percentile"
FLAT = 1e-6
"""Below, refits differ by rounding alone."""


def beyond(
    right: NDArray[np.int64],
    votes: NDArray[np.int64],
    cluster: NDArray[np.int64],
    *,
    level: float,
    n_boot: int,
    rng: RngLike,
    note: str,
) -> tuple[Estimate, Estimate] | str:
    """Return the limit of a large panel and the gain per juror of two more, or why there is none.

    Right votes follow a mixture of two Beta-Binomials; a large panel is right where an item's chance of a right vote
    is above one half. The law is fitted anew to each of `n_boot` resamples of clusters.
    """
    size = int(votes.max())
    if size < 3:
        return f"a law of right votes needs items with at least 3 votes; got at most {size}"
    generator = as_rng(rng)
    cells, at = np.unique(np.column_stack([right, votes]), axis=0, return_inverse=True)
    per_item = np.zeros((len(right), len(cells)))
    per_item[np.arange(len(right)), at.ravel()] = 1.0
    fit = fit_beta_binomial_mixture(
        cells[:, 0], cells[:, 1], per_item.sum(axis=0), n_components=2, n_starts=20, rng=generator
    )
    point = _promises(fit.distribution, size)
    totals = cluster_totals(per_item, cluster)
    ends: list[tuple[float | None, float | None]] = [(None, None), (None, None)]
    errors: list[float | None] = [None, None]
    why = "a single cluster: nothing says how clusters vary"
    if len(totals) > 1:
        weights = resampled_totals(totals, n_boot, generator)
        batch = fit_beta_binomial_mixture_batch(
            cells[:, 0], cells[:, 1], weights, n_components=2, n_starts=4, tol=1e-7, rng=generator
        )
        drawn = _promises(batch.distribution, size)
        tails = [(1 - level) / 2, (1 + level) / 2]
        for i in range(2):
            low, high = np.quantile(drawn[:, i], tails)
            if high - low < FLAT:
                # Two equal limits are not an interval.
                continue
            # The fit to the data sits on a boundary that few resamples reach: the interval is made to hold it.
            ends[i] = min(float(low), float(point[i])), max(float(high), float(point[i]))
            errors[i] = float(drawn[:, i].std(ddof=1))
        why = f"from a fitted mixture, {n_boot} refits" + (f"; {note}" if note else "")
    names = ("limit of a large panel", "gain per juror of two more")
    found = [
        Estimate(name=name, value=float(point[i]), low=ends[i][0], high=ends[i][1], kind=KIND, n=len(right),
                 se=errors[i], level=level, n_clusters=len(totals),
                 note=why if ends[i][0] is not None or len(totals) < 2 else f"every refit gives the same; {why}")
        for i, name in enumerate(names)
    ]  # fmt: skip
    return found[0], found[1]


def _promises(law: BetaBinomialMixture, size: int) -> Floats:
    """Return the limit of a large panel and the gain per juror of two more, shape (..., 2)."""
    above = 1.0 - (law.latent_cdf(0.5) + law.latent_cdf(0.5, side="left")) / 2
    gain = (_with_coin(law, size + 2) - _with_coin(law, size)) / 2
    return np.stack(np.broadcast_arrays(above, gain), axis=-1)


def _with_coin(law: BetaBinomialMixture, size: int) -> Floats:
    pmf = law.pmf(size)
    s = np.arange(size + 1)
    result: Floats = pmf @ ((2 * s > size) + 0.5 * (2 * s == size))
    return result


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


Ties = Literal["coin", "wrong", "exclude"]


@dataclass(frozen=True, eq=False)
class JuryCurve(Reported):
    """What :func:`jury_curve` found.

    Attributes
    ----------
    accuracy, single, gain : Estimate
        All jurors together, one of them at random, and the difference.
    worth_by_accuracy, worth_by_variance : Estimate or None
        How many independent jurors the panel is worth; None where `notes` says why. Of two answers, none by accuracy
        where the jurors' own accuracy is within its error of one half: there Condorcet's curve is flat.
    error_correlation : Estimate or None
        Mean correlation of two jurors' being right.
    limit, next_jurors : Estimate or None
        Accuracy of a very large panel of such jurors, and the gain per juror of two more, from a fitted law.
    best, over_best : Estimate
        The best single juror, found on other clusters, and how much all together are above. Limits only where one
        juror leads whichever cluster is left out, and every other by more than chance (paired cluster t, Bonferroni);
        else the note says why, and what the best on the same items gives.
    curve : DataFrame
        One row per size: ``k``, ``accuracy, se, low, high, kind`` (of its limits); ``decided`` (share of panels
        without a tie); ``gain, gain_low, gain_high`` (per juror, since the row before) and the same
        ``_per_thousand_tokens`` when tokens are given; ``independent`` (Condorcet), ``price, price_low, price_high``
        (independent less accuracy); ``mixed`` (independent jurors with the jurors' own accuracies; two answers and a
        coin only); ``n_short`` (items with fewer votes than k, which count with all they have).
    jurors : DataFrame
        One row per juror: ``juror, n, accuracy, low, high``.
    notes : tuple of str
    size : int
        Jurors of the largest panel.
    n_items, n_clusters : int
    ties : str
    level : float
    """

    accuracy: Estimate
    single: Estimate
    gain: Estimate
    worth_by_accuracy: Estimate | None
    worth_by_variance: Estimate | None
    error_correlation: Estimate | None
    limit: Estimate | None
    next_jurors: Estimate | None
    best: Estimate
    over_best: Estimate
    curve: pd.DataFrame
    jurors: pd.DataFrame
    notes: tuple[str, ...]
    size: int
    n_items: int
    n_clusters: int
    ties: str
    level: float

    def __str__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"JuryCurve({self.size} jurors, {self.n_items} items in {self.n_clusters} clusters, {self.accuracy})"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        some = (self.accuracy, self.single, self.gain, self.worth_by_accuracy, self.worth_by_variance,
                self.error_correlation, self.limit, self.next_jurors, self.best, self.over_best)  # fmt: skip
        return tuple(estimate for estimate in some if estimate is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        tables = {
            name: [
                {key: None if pd.isna(v) else v for key, v in row.items()} for row in frame.to_dict("records")
            ]
            for name, frame in (("curve", self.curve), ("jurors", self.jurors))
        }
        plain = {name: getattr(self, name) for name in ("size", "n_items", "n_clusters", "ties", "level")}
        return super().to_dict() | tables | plain

    def to_plot_frame(self) -> pd.DataFrame:
        """Return the frame that :func:`~d3stats.plotting.jury_curve.plot_jury_curve` draws."""
        frame = self.curve[["k", "accuracy", "low", "high", "independent", "kind"]]
        frame = frame.assign(level=self.level)
        limit = () if self.limit is None else (self.limit.value, self.limit.low, self.limit.high)
        values = [np.nan if value is None else value for value in limit] or [np.nan] * 3
        return frame.assign(**dict(zip(("ceiling", "ceiling_low", "ceiling_high"), values, strict=True)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy by panel size beside Condorcet's jurors and the limit of a large panel."""
        from d3stats.plotting.jury_curve import plot_jury_curve

        return plot_jury_curve(self.to_plot_frame(), ax=ax)


def jury_curve(
    ratings: Any,
    *,
    sizes: Sequence[int] | None = None,
    tokens: float | Sequence[float] | Mapping[str, float] | None = None,
    ties: Ties = "coin",
    level: float = 0.95,
    n_boot: int = 2000,
    n_refits: int = 200,
    rng: RngLike = None,
    **reading: Any,
) -> JuryCurve:
    """Compute how right the plurality of k jurors is, for every k, and what the jurors are worth.

    Parameters
    ----------
    ratings : Ratings, or whatever :func:`~d3stats.inference.judges.ratings.as_ratings` reads
        Votes of several jurors on labelled items.
    sizes : sequence of int, optional
        Panel sizes, ascending; by default every size up to the most votes that an item has.
    tokens : float, sequence of shape (jurors,) or mapping, optional
        Prompt plus completion tokens per vote, of all jurors or of each.
    ties : {"coin", "wrong", "exclude"}
        What a tie for the lead is: shared evenly among the leaders; wrong; or left out with its panel, so that
        accuracy is that of the panels that decide.
    level : float
        Of intervals: accuracies have the interval of every share (cluster Wilson), differences Student's t over
        clusters, and what is not smooth a percentile bootstrap of clusters.
    n_boot, n_refits : int
        Bootstrap replicates of the worth in independent jurors, and refits of the law behind the limit.
    rng : Generator, int or None
    **reading
        Passed on to ``as_ratings`` (``round_number``, ``repeats``, ...).

    Returns
    -------
    JuryCurve

    Raises
    ------
    ValueError
        When there are no labels, fewer than two jurors or votes per item, or a size outside 1..most votes.

    Notes
    -----
    An item with fewer votes than k counts with all votes that it has. An item without a label or a vote is left
    out, and a note says how many. With three to six answers, independent jurors spread their wrong votes as the panel
    does, given the label; with more answers they are taken to make one mistake, which is the least they can gain.
    The limit of a large panel sets the label against its strongest rival on each item. Who that is, is told by the
    votes themselves, so that with several wrong answers the limit is understated.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABAB"), "y": list("ABBAA"), "z": list("AABBB"), "label": list("AABAA")})
    >>> found = jury_curve(votes, n_refits=50, rng=1)
    >>> found.curve[["k", "accuracy", "independent"]].round(3)
       k  accuracy  independent
    0  1     0.733        0.733
    1  2     0.733        0.733
    2  3     0.800        0.825
    """
    choice("ties", ties, ("coin", "wrong", "exclude"))
    level = probability("level", level, open_interval=True)
    n_boot, n_refits = integer("n_boot", n_boot, minimum=2), integer("n_refits", n_refits, minimum=2)
    generator = as_rng(rng)
    table = as_ratings(ratings, **reading)
    sums, usable = jury_sums(table, ties)
    at = checked_sizes(sizes, sums.size)
    price = tokens_per_juror(tokens, table.raters)
    cast, right = votes_right(table, usable)
    cluster, n_items = sums.cluster, len(sums.rows)
    totals = cluster_totals(sums.rows, cluster)
    curve = curve_table(sums, totals, at, level, price, own_competence(sums, cast, right, at))
    notes = list(table.notes)
    if not usable.all():
        notes.append(f"{int((~usable).sum())} of {usable.size} items left out: no label or no vote")
    few = _few_at_the_end(curve, n_items)
    if few:
        notes.append(few)
    q = len(table.categories)
    if q > 2 and not sums.listed:
        notes.append(
            f"independent jurors are taken to make one and the same mistake, for there are {q} answers"
        )
    accuracy, single, gain = headline(sums, totals, level)
    by_accuracy, by_variance = worths(sums, totals, level, n_boot, generator, notes)
    alike = error_correlation(cast, right, cluster, level)
    hits, rival = hits_and_rival(table, usable)
    more = "of votes for the label and its strongest rival, which understates it a little" if q > 2 else ""
    far = beyond(hits, hits + rival, cluster, level=level, n_boot=n_refits, rng=generator, note=more)
    notes += [why for why in (alike, far) if isinstance(why, str)]
    best, over = best_juror(cast, right, sums.rows[:, sums.columns["coin"]][:, -1], cluster, level)
    return JuryCurve(
        accuracy=accuracy,
        single=single,
        gain=gain,
        worth_by_accuracy=by_accuracy,
        worth_by_variance=by_variance,
        error_correlation=None if isinstance(alike, str) else alike,
        limit=None if isinstance(far, str) else far[0],
        next_jurors=None if isinstance(far, str) else far[1],
        best=best,
        over_best=over,
        curve=curve,
        jurors=jurors_table(table, cast, right, cluster, level),
        notes=tuple(notes),
        size=sums.size,
        n_items=n_items,
        n_clusters=len(totals),
        ties=ties,
        level=level,
    )


def _few_at_the_end(curve: pd.DataFrame, n_items: int) -> str:
    """Say how few items have as many votes as the largest panel; "" where all have."""
    k, short = int(curve["k"].iloc[-1]), int(curve["n_short"].iloc[-1])
    if not short:
        return ""
    full = n_items - short
    have = "has" if full == 1 else "have"
    note = (
        f"only {full} of {counted(n_items, 'item')} {have} {counted(k, 'vote')}: an item with fewer votes than k "
        "counts with all that it has (n_short)"
    )
    half = curve.loc[curve["n_short"] <= n_items / 2, "k"]
    return (
        f"{note}; at k above {half.iloc[-1]} that is most items" if 2 * full < n_items and len(half) else note
    )
