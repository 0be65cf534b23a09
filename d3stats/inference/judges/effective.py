"""How many independent jurors is a panel worth? Kish's number and the largest eigenvalue of the errors' correlations.

Two jurors' errors correlate by phi, the correlation of their being right over the items where both voted. Jurors who
are right on different shares of the items may still be independent: phi takes each juror's own share out.

Assumptions: labels are right and were not made of these votes; clusters (questions) are independent.

References
----------
Kish (1965), Survey Sampling, section 5.4 (n / (1 + (n - 1) r)). Kohli (2026), arXiv 2605.29800 (that number and the
eigenvalue for panels of judges). Westfall and Young (1993), Resampling-Based Multiple Testing (largest statistic).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, integer, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.resampling import ONE_CLUSTER, ClusterT, cluster_t, cluster_totals, student_limits
from d3stats.result import EstimatesResult
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import MISSING

__all__ = ["EffectiveJurors", "effective_jurors", "effective_of"]


MOST_JURORS = 30
"""Up to so many jurors are compared pair by pair."""
FEWEST_SHARED = 3
"""Two items correlate perfectly or not at all."""
FEWEST_OUTCOMES = 6
"""With a juror who is right, or wrong, on fewer items, there are no intervals."""
_OUTCOMES_OF_A_DEGREE = 20.0
"""The rarer outcome of a juror, squared and over this, is the most degrees of freedom. A fixed least number lets pass
data sets with more errors than expected, whose correlation is far from the true one: at 15, .57 of these were held."""
FEWEST_CLUSTERS = 20
MOST_LEFT_OUT = 2000
"""Up to so many clusters are left out one at a time; above, the error of the linearised statistic is the same."""
MOST_PERMUTATIONS, FEWEST_PERMUTATIONS = 499, 99
VOTES_TO_PERMUTE = 50_000_000
_ROUNDING = 1e-9
KISH = "effective jurors, by mean correlation (Kish)"
EIGEN = "effective jurors, by largest eigenvalue"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EffectiveJurors(EstimatesResult):
    """Worth of a panel in independent jurors: the result of :func:`effective_jurors`.

    Attributes
    ----------
    correlation : Estimate
        Mean phi over the pairs of jurors.
    kish : Estimate
        K / (1 + (K - 1) mean phi), from 1 to K; a mean below 0 counts as 0.
    eigen : Estimate or None
        K / largest eigenvalue of the matrix of phi, from 1 to K. Its p-value is that of independent jurors. Chance
        alone makes it smaller than K; its note says what independent jurors would give. It has limits only where
        it lies beyond that.
    independent : tuple of float
        What independent jurors would give for `eigen`: the 2.5, 50 and 97.5 % points of the permutations.
    spread : Estimate or None
        Standard deviation of phi over the pairs. Kish's number takes all pairs as equal.
    worst : Estimate
        The largest phi; its p-value is corrected for the choice among all pairs.
    pairs : DataFrame
        One row per pair: ``first, second, n`` (items where both voted), ``correlation, p_value`` (one-sided, of
        independence, corrected for all pairs).
    size : int
        Jurors K who count here: those who are right on some and wrong on other items.
    n_items, n_clusters : int
        Items with votes, and the clusters that they come from.
    n_permutations : int
        Permutations behind the p-values.
    level : float
        Level of all limits.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((200, 5)) < np.array([0.95, 0.95, 0.95, 0.3, 0.3])
    >>> votes = pd.DataFrame(np.where(right, "A", "B"), columns=list("vwxyz")).assign(label="A")
    >>> found = effective_jurors(votes, rng=1)
    >>> round(found.kish.value, 1), len(found.pairs)
    (4.7, 10)
    """

    correlation: Estimate
    kish: Estimate
    eigen: Estimate | None
    independent: tuple[float, float, float]
    spread: Estimate | None
    worst: Estimate
    pairs: pd.DataFrame
    notes: tuple[str, ...]
    size: int
    n_items: int
    n_clusters: int
    n_permutations: int
    level: float
    _json = (
        "estimates",
        "notes",
        "pairs",
        "size",
        "n_items",
        "n_clusters",
        "n_permutations",
        "level",
        "independent",
    )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        some = (self.kish, self.eigen, self.correlation, self.spread, self.worst)
        return tuple(estimate for estimate in some if estimate is not None)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {**super()._tables(), "pairs": self.pairs}


def effective_jurors(
    ratings: Any,
    *,
    level: float = 0.95,
    n_permutations: int | None = None,
    rng: RngLike = None,
    **reading: Any,
) -> EffectiveJurors:
    """Compute a panel's worth in independent jurors, from the correlations of its errors and their largest eigenvalue.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of several jurors on labelled items.
    level : float
        Level of intervals: jackknife t over clusters, on the scale of Kish's number.
    n_permutations : int, optional
        Draws of independent jurors; by default 499, and fewer (at least 99) above 50 million permuted votes.
    rng : Generator, int or None
        Source of the permutations.
    **reading
        Passed on to ``as_ratings`` (``round_number``, ``repeats``, ...).

    Returns
    -------
    EffectiveJurors

    Raises
    ------
    ValueError
        When there are no labels, or no two jurors who are both right on some and wrong on other items.

    Notes
    -----
    Independent jurors are drawn by permutation: each juror's row of right and wrong votes is moved over the items,
    cluster by cluster as a whole, on its own. This keeps every juror's share of right votes, its missing votes and
    the dependence of its votes within a cluster. With missing votes each pair counts the items where both voted.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABAB"), "y": list("ABBAA"), "z": list("AABBB"), "label": list("AABAA")})
    >>> found = effective_jurors(votes, rng=1)
    >>> print(found.correlation.name, round(found.correlation.value, 3))
    mean correlation of two jurors' errors -0.015
    """
    level = probability("level", level, open_interval=True)
    table = as_ratings(ratings, **reading)
    if table.label is None or (table.label == MISSING).all():
        raise ValueError("ratings must have labels, which tell the right votes; got none")
    kept = table.where((table.label != MISSING) & (table.counts.sum(axis=1) > 0))
    assert kept.label is not None
    cast = (kept.codes != MISSING).astype(float)
    right = cast * (kept.codes == kept.label[:, None])
    found = effective_of(cast, right, kept.cluster, kept.raters, level, n_permutations, as_rng(rng))
    if isinstance(found, str):
        raise ValueError(f"ratings must have two jurors to compare; {found}")
    return replace(found, notes=(*table.notes, *found.notes))


def effective_of(
    cast: Floats, right: Floats, cluster: Ints, names: Sequence[str], level: float,
    n_permutations: int | None, rng: np.random.Generator,
) -> EffectiveJurors | str:  # fmt: skip
    """Return the worth of jurors whose votes are `cast` and `right` (items, jurors), or why there is none."""
    if len(names) > MOST_JURORS:
        return f"{len(names)} jurors are too many to compare in pairs (at most {MOST_JURORS})"
    sums = _pair_totals(cast, right, cluster)
    one, two = np.triu_indices(len(names), 1)
    defined = np.isfinite(_phi(sums.sum(axis=0)))
    compared = np.zeros(len(names), dtype=bool)
    compared[one[defined]] = compared[two[defined]] = True
    if not defined.any():
        return "no two jurors with shared items are both sometimes right and sometimes wrong"
    notes = []
    if not compared.all():
        out = [name for name, is_in in zip(names, compared, strict=True) if not is_in]
        notes.append(f"left out of the effective jurors, always right or always wrong: {', '.join(out)}")
        kept = np.flatnonzero(compared).tolist()
        among = compared[one] & compared[two]
        sums, defined = sums[:, among], defined[among]
        cast, right, names = cast[:, kept], right[:, kept], [names[i] for i in kept]
    if (cast == 0).any():
        notes.append("with missing votes, a pair's correlation is over the items where both voted")
    return _worth(cast, right, cluster, names, sums, defined, level, n_permutations, rng, notes)


def _worth(
    cast: Floats, right: Floats, cluster: Ints, names: Sequence[str], sums: Floats, defined: NDArray[np.bool_],
    level: float, n_permutations: int | None, rng: np.random.Generator, notes: list[str],
) -> EffectiveJurors:  # fmt: skip
    """Return the result for jurors who all have a pair; `sums` has shape (clusters, pairs, 4)."""
    size, pairs = len(names), len(defined)
    one, two = np.triu_indices(size, 1)
    whole = bool(defined.all())
    phi = _phi(sums.sum(axis=0))
    over = "" if whole else f"over {int(defined.sum())} of {pairs} pairs; in the others a juror never varies"
    if not whole:
        notes.append("no number by the largest eigenvalue, because some pairs of jurors have no correlation")

    def values(flat: Floats) -> Floats:
        """Return Kish's number and, where all pairs are defined, the log of the largest eigenvalue."""
        found = _phi(flat.reshape(len(flat), pairs, 4))
        effect = 1 + (size - 1) * found[:, defined].mean(axis=1)
        kish = np.divide(size, effect, out=np.full(len(flat), np.nan), where=effect > _ROUNDING)
        return np.column_stack([kish, np.log(_largest(found, size))]) if whole else kish[:, None]

    totals = sums.reshape(len(sums), -1)
    at = values(totals.sum(axis=0)[None])[0]
    rarer, why = _rarer_outcomes(cast, right), _too_few(cast, right, names, len(totals))
    if not why and (np.abs(phi[defined]) >= 1 - _ROUNDING).all():
        why = "the jurors agree, or disagree, on every item, so the variation between clusters is unknown"
    if not why and not _rare_together(cast, right):
        why = (
            "no two jurors have their rarer outcome on the same item, so how the correlations vary is unknown"
        )
    found: ClusterT | None = None
    if np.isfinite(at).all() and not why:
        found = cluster_t(
            totals, values, level=level, error="CR3" if len(totals) <= MOST_LEFT_OUT else "linearised"
        )
    kind = "cluster t" if found is None or found.error == "linearised" else "jackknife t"
    most_df = max(float(rarer.min()) ** 2 / _OUTCOMES_OF_A_DEGREE, 1.0)

    def limits(found: ClusterT, at: int) -> tuple[float, float] | tuple[None, None]:
        if found.reasons[at]:
            return None, None
        df = min(float(np.ravel(found.df)[at]), most_df)
        return student_limits(float(found.estimate[at]), float(found.se[at]), df, level)[:2]

    def estimate(
        name: str,
        value: float,
        low: float | None,
        high: float | None,
        note: str,
        p_value: float | None = None,
    ) -> Estimate:
        return Estimate(
            name=name, value=value, low=low, high=high, kind=kind, n=len(cast), level=level,
            n_clusters=len(totals), p_value=p_value, note=note,
        )  # fmt: skip

    low, high, reason = None, None, why
    if found is not None and not why:
        reason = found.reasons[0]
        low, high = limits(found, 0)
    elif not why:
        reason = "the jurors' errors offset each other completely, or almost so"
    mean = float(phi[defined].mean())
    ends: tuple[float | None, float | None] = (None, None)
    if low is not None and high is not None:
        low = max(low, 1.0)
        ends = _mean_of(high, size), _mean_of(low, size)
    correlation = estimate(
        "mean correlation of two jurors' errors", mean, *ends, "; ".join(x for x in (over, reason) if x)
    )
    # More than K jurors are not there: a mean below 0 counts as 0, as Kohli (2026) does.
    offset = "a mean correlation below 0 counts as 0" if mean < 0 else ""
    if low is not None and high is not None:
        low, high = min(low, float(size)), min(high, float(size))
        if high - low <= _ROUNDING:
            low, high, reason = None, None, "the interval of the mean correlation lies below 0"
    worth = float(min(at[0], size)) if np.isfinite(at[0]) else float(size)
    kish = estimate(KISH, worth, low, high, "; ".join(x for x in (offset, over, reason) if x))
    drawn = _independent(cast, right, cluster, _permutations(n_permutations, cast), rng)
    largest, tops, spreads = drawn
    b = len(largest)
    eigen = None
    few, middle, many = np.quantile(largest, [0.025, 0.5, 0.975])
    if whole:
        lam = float(_largest(phi[None], size)[0])
        p = (1 + int((largest >= lam - _ROUNDING).sum())) / (b + 1)
        said = (
            f"independent jurors would give {size / middle:z.2f} ({size / many:z.2f} to {size / few:z.2f} in 95 % of "
            f"{b} permutations)"
        )
        low, high, reason = None, None, why
        if found is not None and not why:
            start, end = limits(found, 1)
            reason = found.reasons[1]
            if start is not None and end is not None:
                if np.exp(start) > many:
                    low, high = max(size / float(np.exp(end)), 1.0), size / float(np.exp(start))
                else:
                    reason = "not clearly beyond chance, where no interval holds its level"
        note = "; ".join(x for x in (said, reason if low is None else "") if x)
        eigen = estimate(EIGEN, size / lam, low, high, note, p_value=p)
    alone = f"; {ONE_CLUSTER}" if len(totals) < 2 else ""
    spread = None
    if defined.sum() > 1:
        spread = estimate(
            "spread of the correlations (SD over pairs)", float(phi[defined].std()), None, None,
            f"independent jurors would give {np.median(spreads):z.3f}, by chance alone{alone}",
        )  # fmt: skip
    p_pairs = [
        np.nan if not np.isfinite(x) else (1 + int((tops >= x - _ROUNDING).sum())) / (b + 1) for x in phi
    ]
    most = int(np.nanargmax(np.where(defined, phi, np.nan)))
    pair = f"{names[one[most]]} and {names[two[most]]}"
    worst = estimate(
        "largest correlation of a pair", float(phi[most]), None, None,
        f"{pair}; chosen among {counted(int(defined.sum()), 'pair')}, so without limits{alone}", p_value=p_pairs[most],
    )  # fmt: skip
    table = pd.DataFrame(
        {
            "first": [names[i] for i in one.tolist()],
            "second": [names[i] for i in two.tolist()],
            "n": sums.sum(axis=0)[:, 0].astype(np.int64),
            "correlation": phi,
            "p_value": p_pairs,
        }
    )
    return EffectiveJurors(
        correlation=correlation, kish=kish, eigen=eigen,
        independent=(size / float(many), size / float(middle), size / float(few)),
        spread=spread, worst=worst, pairs=table,
        notes=tuple(notes), size=size, n_items=len(cast), n_clusters=len(totals), n_permutations=b, level=level,
    )  # fmt: skip


def _mean_of(kish: float, size: int) -> float:
    """Return the mean correlation that makes Kish's number."""
    return (size / kish - 1) / (size - 1)


def _too_few(cast: Floats, right: Floats, names: Sequence[str], clusters: int) -> str:
    """Return why there are no limits; "" where there are enough clusters, right and wrong votes."""
    if clusters < 2:
        return ONE_CLUSTER
    hits, rarer = right.sum(axis=0), _rarer_outcomes(cast, right)
    at = int(np.argmin(rarer))
    if rarer[at] < FEWEST_OUTCOMES:
        what = "right" if rarer[at] == hits[at] else "wrong"
        return (
            f"no interval holds its level with few errors; {names[at]} is {what} on "
            f"{counted(int(rarer[at]), 'item')} (at least {FEWEST_OUTCOMES})"
        )
    if clusters < FEWEST_CLUSTERS:
        return f"no interval holds its level with {counted(clusters, 'cluster')} (at least {FEWEST_CLUSTERS})"
    return ""


def _rarer_outcomes(cast: Floats, right: Floats) -> Floats:
    """Return on how many items each juror is right, or wrong, whichever is rarer."""
    hits = right.sum(axis=0)
    return np.asarray(np.minimum(hits, cast.sum(axis=0) - hits))


def _rare_together(cast: Floats, right: Floats) -> bool:
    """Return whether two jurors are wrong on the same item, or right where that is the rarer outcome."""
    rare = np.where(2 * right.sum(axis=0) < cast.sum(axis=0), right, cast - right)
    return bool((rare.sum(axis=1) > 1).any())


def _pair_totals(cast: Floats, right: Floats, cluster: Ints) -> Floats:
    """Return by cluster and pair: items where both voted, right votes of the first, of the second, of both."""
    parts = []
    for i in range(cast.shape[1] - 1):
        both = cast[:, [i]] * cast[:, i + 1 :]
        first, second = right[:, [i]] * both, right[:, i + 1 :] * both
        rows = np.stack([both, first, second, first * second], axis=2)
        made = cluster_totals(rows.reshape(len(rows), -1), cluster)
        parts.append(made.reshape(len(made), -1, 4))
    return np.concatenate(parts, axis=1)


def _phi(sums: Floats) -> Floats:
    """Return the correlation of being right, from the four sums in the last axis; NaN where one never varies."""
    n, x, y, xy = np.moveaxis(sums, -1, 0)
    spread = np.maximum(n * x - x * x, 0.0) * np.maximum(n * y - y * y, 0.0)
    defined = (spread > _ROUNDING) & (n >= FEWEST_SHARED)
    below = np.sqrt(np.where(defined, spread, 1.0))
    return np.where(defined, np.clip((n * xy - x * y) / below, -1.0, 1.0), np.nan)


def _largest(phi: Floats, size: int) -> Floats:
    """Return the largest eigenvalue of each matrix of correlations; an undefined one counts as none."""
    matrix = np.zeros((len(phi), size, size))
    one, two = np.triu_indices(size, 1)
    matrix[:, one, two] = matrix[:, two, one] = np.nan_to_num(phi)
    matrix[:, np.arange(size), np.arange(size)] = 1.0
    return np.asarray(np.linalg.eigvalsh(matrix)[:, -1])


def _permutations(asked: int | None, cast: Floats) -> int:
    if asked is not None:
        return integer("n_permutations", asked, minimum=FEWEST_PERMUTATIONS)
    return int(np.clip(VOTES_TO_PERMUTE // cast.size, FEWEST_PERMUTATIONS, MOST_PERMUTATIONS))


def _independent(
    cast: Floats, right: Floats, cluster: Ints, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return of permuted jurors, draw by draw, the largest eigenvalue, the largest correlation and their spread."""
    order = np.argsort(cluster, kind="stable")
    cast, right, cluster = cast[order], right[order], cluster[order]
    size = cast.shape[1]
    one, two = np.triu_indices(size, 1)
    n = (cast.T @ cast)[one, two]
    found = np.empty((draws, len(one), 4))
    found[:, :, 0] = n
    moves = [_blocks(cluster[cast[:, j] > 0]) for j in range(size)]
    at = [np.flatnonzero(cast[:, j]) for j in range(size)]
    own = [right[rows, j] for j, rows in enumerate(at)]
    moved = np.zeros_like(right)
    for draw in range(draws):
        for j in range(size):
            moved[at[j], j] = own[j][_shuffled(*moves[j], rng)]
        shared = moved.T @ cast
        found[draw, :, 1], found[draw, :, 2] = shared[one, two], shared[two, one]
        found[draw, :, 3] = (moved.T @ moved)[one, two]
    phi = np.nan_to_num(_phi(found))
    return _largest(phi, size), phi.max(axis=1), phi.std(axis=1)


def _blocks(cluster: Ints) -> tuple[Ints, Ints]:
    """Return where each run of equal clusters starts, and its length."""
    starts = (
        np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]]) if len(cluster) else np.empty(0, np.int64)
    )
    return starts, np.diff(np.r_[starts, len(cluster)])


def _shuffled(starts: Ints, lengths: Ints, rng: np.random.Generator) -> Ints:
    """Return the places of all votes when the clusters come in random order."""
    order = rng.permutation(len(starts))
    if len(starts) == lengths.sum():
        return order
    long = lengths[order]
    places: Ints = np.arange(long.sum()) + np.repeat(starts[order] - (np.cumsum(long) - long), long)
    return places
