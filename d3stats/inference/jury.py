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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference._reported import Reported
from d3stats.inference.juries.ceiling import beyond
from d3stats.inference.juries.curve import (
    checked_sizes,
    curve_table,
    headline,
    own_competence,
    tokens_per_juror,
    worths,
)
from d3stats.inference.juries.exact import condorcet
from d3stats.inference.juries.jurors import (
    best_juror,
    error_correlation,
    hits_and_rival,
    jurors_table,
    votes_right,
)
from d3stats.inference.juries.sums import jury_sums
from d3stats.inference.ratings import as_ratings
from d3stats.resampling import cluster_totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["JuryCurve", "condorcet", "jury_curve"]

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
        frame = frame.rename(columns={"low": "lower", "high": "upper"}).assign(level=self.level)
        limit = () if self.limit is None else (self.limit.value, self.limit.low, self.limit.high)
        values = [np.nan if value is None else value for value in limit] or [np.nan] * 3
        return frame.assign(**dict(zip(("ceiling", "ceiling_lower", "ceiling_upper"), values, strict=True)))

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
    ratings : Ratings, or whatever :func:`~d3stats.inference.ratings.as_ratings` reads
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
