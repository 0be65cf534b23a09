"""Accuracy of a plurality of k drawn jurors, what the next juror adds, and the panel's worth in independent jurors.

The accuracy of k jurors drawn without replacement is exact, item by item, from counts of votes; it is set against
Condorcet's independent jurors of the same accuracy. The worth in independent jurors comes from the correlations of the
jurors' errors (:mod:`~d3stats.inference.judges.effective`), the limit of a large panel from the counts of right votes
(`large_panel`). With two answers and a coin for ties, an even panel is exactly as right as one
juror fewer.

References
----------
Condorcet (1785), Essai sur l'application de l'analyse. Ladha (1992), American Journal of Political Science 36, 617
(correlated votes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, number, probability
from d3stats._words import counted, percent, points
from d3stats.estimate import Estimate
from d3stats.inference.comparison.pair_data import PairData
from d3stats.inference.judges.effective import EffectiveJurors, effective_of
from d3stats.inference.judges.large_panel import large_panel
from d3stats.inputs.ratings import Ratings
from d3stats.models.beliefs.condorcet import condorcet, independent_plurality
from d3stats.resampling import (
    Statistic,
    cluster_estimate,
    cluster_t,
    cluster_totals,
    clustered_share,
    share_limits,
)
from d3stats.result import EstimatesResult
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["JuryCurve", "best_juror", "drawn_panels", "jury_curve"]

Ties = Literal["coin", "wrong", "exclude"]

MOST_VOTES = 1000
"""Beyond, the number of panels leaves the range of a float."""
MOST_WAYS = 5000
"""Up to so many outcomes of the largest panel are listed for independent jurors with several wrong answers."""
REGULAR = 0.5
"""A juror who voted on less than this share of the busiest juror's items is not compared with the jury."""
CHOSEN = "chosen on the other clusters"
_LEFT_OUT = 0.1
"""Share of the error of an interval that is spent on leaving out jurors who are not the best."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JuryCurve(EstimatesResult):
    r"""Accuracy of juries by size, and what their jurors are worth: the result of :func:`jury_curve`.

    Attributes
    ----------
    accuracy, single, gain : Estimate
        All jurors together, one of them at random, and the difference.
    effective : EffectiveJurors or None
        How many independent jurors the panel is worth, and the correlations of its errors; None where `notes` says
        why.
    limit, next_jurors : Estimate or None
        Accuracy of a very large panel of such jurors, and the gain per juror of two more. Their limits hold for
        every law of the items' difficulty. The limit is the middle of those that fit the votes equally well.
    best, over_best : Estimate
        The best single juror, found on other clusters, and how much more accurate all together are. Limits are those
        of all jurors who may be the best at once, so that the choice is part of the error.
    curve : DataFrame
        One row per size: ``k``, ``accuracy, se, low, high, kind`` (of its limits); ``decided`` (share of panels
        without a tie); ``gain, gain_low, gain_high`` (per juror, since the row before) and the same
        ``_per_thousand_tokens`` when tokens are given; ``independent`` (Condorcet), ``price, price_low, price_high``
        (independent minus accuracy); ``mixed`` (independent jurors with the jurors' own accuracies; two answers and a
        coin only); ``n_short`` (items with fewer votes than k, which count with all they have).
    jurors : DataFrame
        One row per juror: ``juror, n, accuracy, low, high``.
    size : int
        Jurors of the largest panel.
    n_items, n_clusters : int
        Items with votes, and the clusters that they come from.
    ties : str
        How a tie counts.
    level : float
        Level of all limits.

    Examples
    --------
    >>> from d3stats import jury_curve
    >>> votes = pd.DataFrame({"x": list("AABAB"), "y": list("ABBAA"), "z": list("AABBB"), "label": list("AABAA")})
    >>> found = jury_curve(votes, rng=1)
    >>> round(found.accuracy.value, 3), round(found.single.value, 3), round(found.gain.value, 3)
    (0.8, 0.733, 0.067)
    >>> found.to_plot_frame()["k"].tolist()
    [1, 2, 3]
    >>> found.plot().get_xlabel()
    'jurors'
    """

    accuracy: Estimate
    single: Estimate
    gain: Estimate
    effective: EffectiveJurors | None
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
    _json = ("estimates", "notes", "curve", "jurors", "size", "n_items", "n_clusters", "ties", "level")

    @property
    def headline(self) -> str:
        """The accuracy of all jurors, and what they gain over one of them."""
        together, one, gain = (
            write(e.value, e.low, e.high)
            for write, e in ((percent, self.accuracy), (percent, self.single), (points, self.gain))
        )
        return f"The plurality of {counted(self.size, 'juror')} is right {together}, one of them {one}; gain {gain}."

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        worth = () if self.effective is None else self.effective.estimates
        some = (
            self.accuracy,
            self.single,
            self.gain,
            *worth,
            self.limit,
            self.next_jurors,
            self.best,
            self.over_best,
        )
        return tuple(estimate for estimate in some if estimate is not None)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        pairs = {} if self.effective is None else {"pairs": self.effective.pairs}
        return {**super()._tables(), "curve": self.curve, "jurors": self.jurors, **pairs}

    def to_plot_frame(self) -> pd.DataFrame:
        """Return the frame that :func:`~d3stats.plotting.intervals.plot_jury_curve` draws."""
        frame = self.curve[["k", "accuracy", "low", "high", "independent", "kind"]].assign(level=self.level)
        names = {"ceiling": "value", "ceiling_low": "low", "ceiling_high": "high"}
        far = {column: getattr(self.limit, name, None) for column, name in names.items()}
        return frame.assign(**{column: np.nan if value is None else value for column, value in far.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy by panel size beside Condorcet's jurors and the limit of a large panel."""
        from d3stats.plotting.intervals import plot_jury_curve

        return plot_jury_curve(self.to_plot_frame(), ax=ax)


def jury_curve(
    ratings: Any,
    *,
    sizes: Sequence[int] | None = None,
    tokens: float | Sequence[float] | Mapping[str, float] | None = None,
    ties: Ties = "coin",
    level: float = 0.95,
    n_permutations: int | None = None,
    rng: RngLike = None,
    **reading: Any,
) -> JuryCurve:
    """Compute the accuracy of a plurality of k drawn jurors for every k, and their worth in independent jurors.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of several jurors on labelled items.
    sizes : sequence of int, optional
        Panel sizes, ascending; by default every size up to the most votes that an item has.
    tokens : float, sequence of shape (jurors,) or mapping, optional
        Prompt plus completion tokens per vote, of all jurors or of each.
    ties : {"coin", "wrong", "exclude"}
        What a tie for the lead is: shared evenly among the leaders; wrong; or left out with its panel, so that
        accuracy is that of the panels that decide.
    level : float
        Level of intervals: accuracies have the interval of every share (cluster Wilson), differences Student's t over
        clusters.
    n_permutations : int, optional
        Draws of independent jurors, as in :func:`~d3stats.inference.judges.effective.effective_jurors`.
    rng : Generator, int or None
        Source of these draws; one seed gives one result.
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
    An item with fewer votes than k counts with all votes that it has; one without a label or a vote is left out. With
    three to six answers, independent jurors spread their wrong votes as the panel does, given the label; with more
    answers they are taken to make one mistake, which is the least they can gain. The limit of a large panel sets the
    label against its strongest rival on each item by the same votes, which understates it with several wrong answers.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABAB"), "y": list("ABBAA"), "z": list("AABBB"), "label": list("AABAA")})
    >>> found = jury_curve(votes, rng=1)
    >>> found.curve[["k", "accuracy", "independent"]].round(3)
       k  accuracy  independent
    0  1     0.733        0.733
    1  2     0.733        0.733
    2  3     0.800        0.825
    """
    choice("ties", ties, get_args(Ties))
    level = probability("level", level, open_interval=True)
    generator = as_rng(rng)
    table = as_ratings(ratings, **reading)
    usable = _usable(table)
    kept = table.where(usable)
    assert kept.label is not None
    jury = JurySums.of(kept, kept.label, ties)
    at = _checked_sizes(sizes, jury.size)
    price = _tokens_per_juror(tokens, table.raters)
    cast = (kept.codes != MISSING).astype(float)
    right = cast * (kept.codes == kept.label[:, None])
    cluster, n_items = kept.cluster, kept.n_items
    totals = cluster_totals(jury.rows, cluster)
    curve = _curve(
        jury, totals, cast.sum(axis=1), at, level, price, _with_own_accuracies(jury, cast, right, at)
    )
    notes = list(table.notes)
    if not usable.all():
        notes.append(f"{int((~usable).sum())} of {usable.size} items left out: no label or no vote")
    notes += _few_at_the_end(curve, n_items)
    q = len(table.categories)
    if q > 2 and not jury.listed:
        notes.append(
            f"independent jurors are assumed to make the same mistake, because there are {q} answers"
        )

    def change(x: Floats) -> Floats:
        return jury.accuracy(x)[:, -1] - jury.accuracy(x)[:, 0]

    worth = effective_of(cast, right, cluster, kept.raters, level, n_permutations, generator)
    effective = None if isinstance(worth, str) else worth
    notes += [f"effective jurors: none, because {worth}"] if isinstance(worth, str) else worth.notes
    counts = kept.counts.copy()
    rows = np.arange(n_items)
    hits = counts[rows, kept.label]
    counts[rows, kept.label] = 0
    more = (
        "from votes for the label and its strongest competitor, which makes it slightly too small"
        if q > 2
        else ""
    )
    votes = hits + counts.max(axis=1)
    limit, next_jurors = large_panel(hits, votes, cluster, level, more, notes)
    best, over = best_juror(cast, right, jury.rows[:, jury.columns["coin"]][:, -1], cluster, level)
    whole = f"plurality of {jury.size} jurors"
    return JuryCurve(
        accuracy=_share(whole, *jury.right_of(totals, jury.size), n_items, level),
        single=_share("one juror", *jury.right_of(totals, 1), n_items, level),
        gain=_difference("all jurors - one", totals, change, n_items, level),
        effective=effective, limit=limit, next_jurors=next_jurors, best=best, over_best=over, curve=curve,
        jurors=jurors_frame(kept.raters, cast, right, cluster, level), notes=tuple(notes),
        size=jury.size, n_items=n_items, n_clusters=len(totals), ties=ties, level=level,
    )  # fmt: skip


def _usable(ratings: Ratings) -> NDArray[np.bool_]:
    """Return which items have a label and a vote; refuse what makes no jury."""
    if ratings.label is None or (ratings.label == MISSING).all():
        raise ValueError("ratings must have labels, which tell the right votes; got none")
    votes = ratings.counts.sum(axis=1)
    usable: NDArray[np.bool_] = (ratings.label != MISSING) & (votes > 0)
    if not usable.any():
        raise ValueError("ratings must have an item with a label and a vote; got none")
    if ratings.n_raters < 2:
        raise ValueError(f"a jury must have at least two jurors; got {ratings.n_raters}")
    if votes[usable].max() < 2:
        raise ValueError("some item must have more than one vote to form a jury; got at most one each")
    return usable


def _checked_sizes(sizes: Sequence[int] | None, most: int) -> Ints:
    if sizes is None:
        return np.arange(1, most + 1)
    checked = [integer("sizes", k, minimum=1) for k in sizes]
    if not checked or sorted(set(checked)) != checked or checked[-1] > most:
        raise ValueError(
            f"sizes must ascend and lie between 1 and {most} (most votes of an item); got {list(sizes)}"
        )
    return np.array(checked)


def _tokens_per_juror(tokens: Any, jurors: Sequence[str]) -> float | None:
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


def drawn_panels(counts: Ints, label: Ints, size: int) -> tuple[Floats, Floats]:
    """Compute accuracy and share of decided verdicts of panels of 1 to `size` drawn without replacement, exactly.

    The number of panels in which the label wins is a coefficient of a polynomial in the item's counts. An item with
    fewer votes than the panel asks for gives all that it has.

    `counts` are votes per item, shape (items, categories), at least one each; `label` is the right category. Returns
    the chances that the label alone leads and that with ties split evenly, shape (items, size, 2), and the chance that
    one category leads alone, shape (items, size).
    """
    patterns, inverse = np.unique(_label_first(counts, label), axis=0, return_inverse=True)
    right = np.empty((len(patterns), size, 2))
    decided = np.empty((len(patterns), size))
    for row, pattern in enumerate(patterns):
        votes = int(pattern.sum())
        if votes > MOST_VOTES:
            raise ValueError(f"an item must have at most {MOST_VOTES} votes for exact panels; got {votes}")
        kept = pattern[pattern > 0]
        panels = np.array([float(comb(votes, k)) for k in range(votes + 1)])
        alone, shared, every = np.zeros((3, votes + 1))
        if pattern[0] > 0:
            by_ties = _panels_led(int(pattern[0]), kept[1:])
            alone = by_ties[0]
            shared = (by_ties / np.arange(1, len(by_ties) + 1)[:, None]).sum(axis=0)
        for at in range(len(kept)):
            every += _panels_led(int(kept[at]), np.delete(kept, at))[0]
        at_most = np.minimum(np.arange(1, size + 1), votes)
        right[row] = (np.stack([alone, shared], axis=1) / panels[:, None])[at_most]
        decided[row] = (every / panels)[at_most]
    return right[inverse], decided[inverse]


def _panels_led(mine: int, others: Ints) -> Floats:
    """Count the panels in which a category with `mine` votes leads: shape (ties 0.., votes + 1).

    Entry ``[t, k]`` is the number of panels of k in which no category has more of the drawn votes and exactly t
    others have as many.
    """
    votes = mine + int(others.sum())
    total = np.zeros((len(others) + 1, votes + 1))
    for lead in range(1, mine + 1):
        ways = np.zeros_like(total)
        ways[0, lead] = float(comb(mine, lead))
        for other in others.tolist():
            below = np.array([float(comb(other, x)) for x in range(min(other, lead - 1) + 1)])
            added = np.zeros_like(total)
            for x, weight in enumerate(below):
                added[:, x:] += weight * ways[:, : votes + 1 - x]
            if other >= lead:
                added[1:, lead:] += float(comb(other, lead)) * ways[:-1, : votes + 1 - lead]
            ways = added
        total += ways
    return total


def _label_first(counts: Ints, label: Ints) -> Ints:
    rows = np.arange(len(counts))
    others = counts.copy()
    others[rows, label] = -1  # sorts first; the order of the wrong categories does not matter
    others = np.sort(others, axis=1)[:, :0:-1]
    return np.column_stack([counts[rows, label], others])


@dataclass(frozen=True)
class JurySums:
    """Per-item columns of a jury, and the statistics that are functions of their sums.

    The columns are items; right_k (K); decided_k (K); right with a coin (K). Then votes by label and category (q * q,
    only with a few categories) and items by label (q).
    """

    rows: Floats
    size: int
    n_categories: int
    listed: bool
    ties: str

    @classmethod
    def of(cls, ratings: Ratings, label: Ints, ties: str) -> JurySums:
        """Return the sums of a jury on labelled items that all have a vote."""
        counts = ratings.counts
        size, q = int(counts.sum(axis=1).max()), len(ratings.categories)
        right, decided = drawn_panels(counts, label, size)
        listed = 2 < q <= 6 and comb(size + q - 1, q - 1) <= MOST_WAYS
        parts = [
            np.ones((len(counts), 1)),
            right[:, :, 1] if ties == "coin" else right[:, :, 0],
            decided,
            right[:, :, 1],
        ]
        if listed:
            one_hot = np.eye(q)[label]
            parts += [(one_hot[:, :, None] * counts[:, None, :]).reshape(len(counts), q * q), one_hot]
        return cls(np.concatenate(parts, axis=1), size, q, listed, ties)

    @property
    def columns(self) -> dict[str, slice]:
        """Where each kind of column is."""
        k, q = self.size, self.n_categories if self.listed else 0
        widths = {"items": 1, "right": k, "decided": k, "coin": k, "votes": q * q, "labels": q}
        ends = np.cumsum(list(widths.values()))
        return {name: slice(int(e - w), int(e)) for (name, w), e in zip(widths.items(), ends, strict=True)}

    def accuracy(self, sums: Floats) -> Floats:
        """Return the accuracy of k drawn jurors, shape (m, K)."""
        at = self.columns
        return _over(sums[:, at["right"]], sums[:, at["decided" if self.ties == "exclude" else "items"]])

    def right_of(self, totals: Floats, k: int) -> tuple[Floats, Floats]:
        """Return by cluster the right verdicts of k drawn jurors, and the verdicts that count."""
        at = self.columns
        below = totals[:, at["decided"]][:, k - 1] if self.ties == "exclude" else totals[:, at["items"]][:, 0]
        return totals[:, at["right"]][:, k - 1], below

    def coin(self, sums: Floats) -> Floats:
        """Return the accuracy with ties split evenly, shape (m, K)."""
        return _over(sums[:, self.columns["coin"]], sums[:, self.columns["items"]])

    def independent(self, sums: Floats) -> Floats:
        """Return the accuracy of k independent jurors who are each as often right, shape (m, K)."""
        p = np.clip(self.coin(sums)[:, 0], 0.0, 1.0)
        found = np.zeros((len(sums), self.size, 3))
        for share, wrong in self._wrong_votes(sums, p):
            for k in range(1, self.size + 1):
                parts = independent_plurality(k, p, wrong)
                found[:, k - 1] += share[:, None] * np.stack(parts, axis=1)
        alone, shared, decided = np.moveaxis(found, 2, 0)
        if self.ties == "coin":
            return shared
        return alone if self.ties == "wrong" else _over(alone, decided)

    def _wrong_votes(self, sums: Floats, p: Floats) -> list[tuple[Floats, Floats]]:
        """Return for each label its share of the items and the chances of each wrong answer there."""
        if not self.listed:
            return [(np.ones(len(sums)), (1 - p)[:, None])]
        at, q = self.columns, self.n_categories
        votes = np.maximum(sums[:, at["votes"]].reshape(-1, q, q), 0.0)
        labels = sums[:, at["labels"]] / sums[:, at["items"]]
        by_label = []
        for label in range(q):
            wrong = np.delete(votes[:, label], label, axis=1)
            total = wrong.sum(axis=1, keepdims=True)
            split = np.divide(wrong, total, out=np.full_like(wrong, 1 / (q - 1)), where=total > 0)
            by_label.append((labels[:, label], (1 - p)[:, None] * split))
        return by_label


def _over(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0))


def _with_own_accuracies(jury: JurySums, cast: Floats, right: Floats, sizes: Ints) -> Floats:
    """Return the accuracy of independent jurors with the jurors' own accuracies; NaN where it has no meaning."""
    n = cast.sum(axis=0)
    if jury.n_categories > 2 or jury.ties != "coin" or (n == 0).any() or sizes[-1] > len(n):
        return np.full(len(sizes), np.nan)
    return condorcet(sizes, right.sum(axis=0) / n)


def _curve(
    jury: JurySums,
    totals: Floats,
    votes: Floats,
    sizes: Ints,
    level: float,
    tokens: float | None,
    own: Floats,
) -> pd.DataFrame:
    """Return one row per size; see ``JuryCurve.curve``."""
    at, steps = sizes - 1, np.diff(sizes).astype(float)
    ends = np.cumsum([len(sizes), len(sizes) - 1, len(sizes)])

    def everything(x: Floats) -> Floats:
        seen, alone = jury.accuracy(x)[:, at], jury.independent(x)[:, at]
        return np.concatenate([seen, np.diff(seen, axis=1) / steps, alone - seen, alone], axis=1)

    values = everything(totals.sum(axis=0)[None])[0]
    se = low = high = np.full(len(values), np.nan)
    if len(totals) > 1:
        found = cluster_t(totals, everything, level=level)
        flat = np.array([bool(reason) for reason in found.reasons])
        se, low, high = (np.where(flat, np.nan, part) for part in (found.se, found.low, found.high))
    seen, _, _, alone = np.split(values, ends)
    gain, price = ([np.split(part, ends)[which] for part in (values, low, high)] for which in (1, 2))
    limits = [share_limits(*jury.right_of(totals, int(k)), level) for k in sizes]
    whole, columns = jury.rows.sum(axis=0), jury.columns
    since = [np.concatenate([[np.nan], part]) for part in gain]
    table = pd.DataFrame(
        {
            "k": sizes,
            "accuracy": seen,
            "se": np.split(se, ends)[0],
            "low": np.array([found.low for found in limits], dtype=float),
            "high": np.array([found.high for found in limits], dtype=float),
            "kind": [found.kind for found in limits],
            "decided": (whole[columns["decided"]] / whole[0])[at],
            "gain": since[0],
            "gain_low": since[1],
            "gain_high": since[2],
            "independent": alone,
            "price": price[0],
            "price_low": price[1],
            "price_high": price[2],
            "mixed": own,
            "n_short": [(votes < k).sum() for k in sizes],
        }
    )
    if tokens is not None:
        for name in ("gain", "gain_low", "gain_high"):
            table[f"{name}_per_thousand_tokens"] = table[name] * 1000 / tokens
    return table


def _few_at_the_end(curve: pd.DataFrame, n_items: int) -> list[str]:
    """Say how few items have as many votes as the largest panel; nothing where all have."""
    k, short = int(curve["k"].iloc[-1]), int(curve["n_short"].iloc[-1])
    if not short:
        return []
    full = n_items - short
    have = "has" if full == 1 else "have"
    note = (
        f"only {full} of {counted(n_items, 'item')} {have} {counted(k, 'vote')}: an item with fewer "
        "votes than k "
    )
    note += "counts with all its votes (n_short)"
    half = curve.loc[curve["n_short"] <= n_items / 2, "k"]
    most = 2 * full < n_items and len(half)
    return [f"{note}; at k above {half.iloc[-1]} that is most items" if most else note]


def jurors_frame(
    names: Sequence[str], cast: Floats, right: Floats, cluster: Ints, level: float
) -> pd.DataFrame:
    """Return one row per juror: votes, accuracy, its clustered interval."""
    n, above, below = cast.sum(axis=0), cluster_totals(right, cluster), cluster_totals(cast, cluster)
    found = [share_limits(*sums, level) for sums in zip(above.T, below.T, strict=True)]
    low, high = (np.array([getattr(one, end) for one in found], dtype=float) for end in ("low", "high"))
    columns = {"juror": names, "n": n.astype(np.int64), "accuracy": _over(right.sum(axis=0), n)}
    return pd.DataFrame(columns | {"low": low, "high": high})


def _share(name: str, above: Floats, below: Floats, n: int, level: float, note: str = "") -> Estimate:
    """Return a share over clusters, with the number of items that it is about."""
    found = clustered_share(above, below, np.arange(len(above)), level=level, name=name)
    return replace(found, n=n, note="; ".join(part for part in (found.note, note) if part))


def _difference(
    name: str, totals: Floats, statistic: Statistic, n: int, level: float, note: str = ""
) -> Estimate:
    """Return a difference (or a correlation) over clusters, with its t interval within [-1, 1]."""
    return cluster_estimate(
        name, totals, statistic, n, level=level, bounds=(-1.0, 1.0), note=note, tested=False
    )


def best_juror(
    cast: Floats, right: Floats, jury: Floats, cluster: Ints, level: float
) -> tuple[Estimate, Estimate]:
    """Compute the accuracy of the best juror and the jury's gain over it, the choice included.

    The value is that of the juror chosen on all other clusters (ties share evenly), so that no item both chooses and
    measures. The limits are those of all jurors who may be the best at once (Bonferroni): the largest lower and the
    largest upper limit of their accuracies, the smallest of the gains over them. A juror is left out where another is
    better beyond chance at `_LEFT_OUT`. Jurors who voted on less than half as many items as the busiest are no
    candidates.
    """
    votes = cast.sum(axis=0)
    regular = votes >= REGULAR * votes.max()
    cast, right = cast[:, regular], right[:, regular]
    jurors = cast.shape[1]
    totals = cluster_totals(np.concatenate([right, cast, jury[:, None] * cast], axis=1), cluster)
    chosen = _leaders(totals.sum(axis=0) - totals, jurors)
    picked = np.stack(
        [(chosen * totals[:, i * jurors : (i + 1) * jurors]).sum(axis=1) for i in range(3)], axis=1
    )
    n = round(float(picked[:, 1].sum()))

    def difference(sums: Floats) -> Floats:
        return _over(sums[:, 2] - sums[:, 0], sums[:, 1])

    best = _share("best single juror", picked[:, 0], picked[:, 1], n, level, CHOSEN)
    more = _difference("all jurors - best one", picked, difference, n, level, CHOSEN)
    if len(totals) < 2:
        return best, more
    left = _may_be_best(totals, jurors, level)
    own = 1 - (1 - level) * (1 - _LEFT_OUT) / len(left)
    of_each = [totals[:, [j, jurors + j, 2 * jurors + j]] for j in left]
    accuracies = [_share("", sums[:, 0], sums[:, 1], n, own) for sums in of_each]
    gains = [_gain(right[:, j], jury, cast[:, j] > 0, cluster, own) for j in left]
    return _at_once(best, accuracies, max), _at_once(more, gains, min)


def _gain(juror: Floats, jury: Floats, voted: NDArray[np.bool_], cluster: Ints, level: float) -> Estimate:
    """Return the jury's gain over one juror on the items of that juror, as of two runs on the same items."""
    codes = np.unique(cluster[voted], return_inverse=True)[1]
    pair = PairData(("juror", "jury"), juror[voted], jury[voted], codes, 1, (0,))
    return pair.interval("cluster t", level, None)


def _at_once(found: Estimate, each: Sequence[Estimate], extreme: Callable[[list[float]], float]) -> Estimate:
    """Return an estimate with the limits of the most extreme of several quantities, wide enough for its value."""
    ends = [(e.low, e.high) for e in each if e.low is not None and e.high is not None]
    if len(ends) < len(each):
        why = next(e.note for e in each if e.low is None)
        return replace(found, low=None, high=None, se=None, note=f"{found.note}; no limits, because {why}")
    low, high = (extreme(list(side)) for side in zip(*ends, strict=True))
    kind = each[0].kind if len(each) == 1 else f"{each[0].kind} of {len(each)} jurors at once"
    return replace(
        found, low=min(low, found.value), high=max(high, found.value), se=None, kind=kind, note=CHOSEN
    )


def _leaders(sums: Floats, jurors: int) -> Floats:
    """Return each row's weights of the jurors who are right most often, ties sharing."""
    above, below = sums[:, :jurors], sums[:, jurors : 2 * jurors]
    rate = np.divide(above, below, out=np.full(above.shape, -1.0), where=below > 0)
    first = (rate >= rate.max(axis=1, keepdims=True) - 1e-12).astype(float)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def _may_be_best(totals: Floats, jurors: int, level: float) -> Ints:
    """Return the jurors than whom none is better beyond chance (paired cluster t, Bonferroni)."""
    pairs = [(i, j) for j in range(jurors) for i in range(jurors) if i != j]
    better, worse = np.array(pairs).T

    def ahead(sums: Floats) -> Floats:
        rate = _over(sums[:, :jurors], sums[:, jurors : 2 * jurors])
        return rate[:, better] - rate[:, worse]

    found = cluster_t(totals, ahead, level=level)
    # A lead without any spread over clusters has no p-value, and is clear when it is a lead.
    flat = np.array([bool(reason) for reason in found.reasons])
    p = np.where(flat, 0.0, found.p_value / 2)
    beaten = (found.estimate > 0) & (p * (jurors - 1) < (1 - level) * _LEFT_OUT)
    return np.setdiff1d(np.arange(jurors), worse[beaten])
