"""Position bias of a judge: consistency of its verdicts when the order is swapped, and its preference for a place.

- *Swap consistency*: the share of pairs of verdicts (one per order) that name the same winner, two ties included. A
  judge that ignores the answers and leans alike on every item has 2 * first * second + ties^2, for comparison.
- *Position effect*: the first-slot excess is the share of verdicts for the first place, ties as half, minus one half;
  over both orders of an item, the quality of the answers cancels. For an unbiased judge, one half of the inconsistent
  pairs favour the first place; the log-odds of that share, log(b/c), are those of a paired logistic model.

The limits are those of a paired difference: a pair that is consistent says nothing of how large leanings are, so the
t has the degrees of freedom of the pairs that lean. The test flips the sign of each cluster's sum of leanings,
exactly (with a pair per cluster and no ties it is McNemar's exact test). A pair that is inconsistent through a tie
leans half as much; it counts in the excess and its test, and not in the share of inconsistent pairs that favour the
first place. With one order per item, the effect compares errors against the labels: half of how much more often the
judge errs towards the first place than towards the second. This assumes that an unbiased judge errs equally often
both ways, which random orders ensure.

References
----------
Wang et al. (2023), arXiv 2305.17926 (both orders, position calibration). Zheng et al. (2023), arXiv 2306.05685
(consistency, ties). McNemar (1947), Psychometrika 12, 153. Cox (1958), JRSS B 20, 215 (paired logistic model).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import RngLike, probability
from d3stats._words import counted, percent, verb
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import (
    Audit,
    Audits,
    audited,
    audits_frame,
    clustered_rate,
    contrast_of_rates,
    unlabelled_note,
)
from d3stats.inference.comparison.pair_data import mean_change
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.verdicts import TIE, Judgments, Votes, one_judge
from d3stats.resampling import cluster_totals, sign_flip_p
from d3stats.sources import Reading
from d3stats.sources.verdicts import judgments_with_strata
from d3stats.trajectories import MISSING

__all__ = [
    "AGAINST_LABEL",
    "COIN",
    "CONSISTENCY",
    "EXCESS",
    "FAVOURS",
    "LOG_ODDS",
    "RIGHT_FIRST",
    "RIGHT_GAP",
    "RIGHT_SECOND",
    "PositionBias",
    "position_bias",
    "position_frame",
    "position_table",
]


EXCESS, CONSISTENCY = "first-slot excess", "swap consistency"
FAVOURS, LOG_ODDS = "inconsistent pairs that favour the first slot", "log-odds of first against second"
COIN = "consistency of a judge that ignores the answers"
RIGHT_FIRST, RIGHT_SECOND = "accuracy, right answer shown first", "accuracy, right answer shown second"
RIGHT_GAP = "accuracy, first minus second"
AGAINST_LABEL = "first-slot excess against the label"
_FEW = 10
"""Fewer inconsistent pairs tell hardly anything of their direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PositionBias(Audit):
    r"""A judge's preference for a place and its consistency; the first estimate is the excess of first-slot verdicts.

    Attributes
    ----------
    consistent, first, second, through_tie : int
        Pairs of verdicts: the same winner both ways; the first slot both ways; the second both ways; a winner in
        one order and a tie in the other. All 0 where items were shown in one order only.
    method : str
        How the p-value of the excess is made.
    judge : str
        Whose verdicts were audited.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats import position_bias
    >>> columns = {"item": np.repeat(range(40), 2), "order": ["AB", "BA"] * 40, "vote": list("AAAB") * 20}
    >>> table = pd.DataFrame(columns)
    >>> found = position_bias(table, votes="slot")
    >>> print(found.effect)
    first-slot excess: 0.250 [0.166, 0.334] (95 % cluster t, n = 40 in 40 clusters)
    >>> found.consistent, found.first, found.n_pairs
    (20, 20, 40)
    >>> [ax.get_xlabel() for ax in found.plot()]
    ['same winner in both orders', 'verdicts for the first slot']
    """

    consistent: int
    first: int
    second: int
    through_tie: int
    method: str

    @property
    def n_pairs(self) -> int:
        """Pairs of verdicts, one per order."""
        return self.consistent + self.first + self.second + self.through_tie

    def _document(self) -> dict[str, Any]:
        """Return estimates, counts and notes as JSON can hold them."""
        names = ("consistent", "first", "second", "through_tie", "n_pairs")
        counts = {name: getattr(self, name) for name in names}
        return super()._document() | {"pairs": counts, "method": self.method}

    def plot(self, ax: Any = None) -> Any:
        """Draw consistency and first-slot preference with their intervals, or with strata every estimate by stratum.

        In given axes, draw the preference alone.
        """
        from d3stats.plotting.intervals import plot_position_bias

        if self.strata:
            return super().plot(ax)
        drawn = plot_position_bias(position_frame([self]), axes=None if ax is None else [ax])
        return drawn if ax is None else ax


def position_bias(
    source: Any,
    *,
    judge: str | None = None,
    votes: Votes | None = None,
    level: float = 0.95,
    rng: RngLike = None,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> PositionBias | Audits[PositionBias]:
    """Estimate a judge's preference for the answer shown first, and its consistency when the order is swapped.

    Parameters
    ----------
    source : Judgments, DataFrame, Trajectories, str or Path
        Verdicts with their ``order`` (:func:`as_judgments`). Several verdicts of one item in one order are paired
        with those of the other order one by one. A debate log that has decisions and says which candidate was shown
        first also has the judge "decision": the protocol itself.
    judge : str, optional
        Which judge; by default each of them.
    votes : {"answer", "slot"}, optional
        Whether a vote names the answer or the place.
    level : float
        Level of the intervals, in (0, 1).
    rng : Generator, int or None
        Used only where the sign-flip test is beyond counting.
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task), or the kind of each item by its name: every estimate is
        then also made by stratum, raw and shrunken; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    PositionBias
        For several judges an :class:`Audits` with one result each.

    Raises
    ------
    ValueError
        When no verdict has an order. Also when items were shown in one order only and there are no labels, because
        quality of the answers in the first place cannot be separated from a preference for that place.

    Examples
    --------
    >>> table = pd.DataFrame({"item": np.repeat(range(40), 2), "order": ["AB", "BA"] * 40, "vote": ["A", "A"] * 40})
    >>> print(position_bias(table, votes="slot"))
    judge:
      first-slot excess: 0.500 [0.412, 0.500] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters), p < 0.001
      swap consistency: 0.000 [0.000, 0.088] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters)
      inconsistent pairs that favour the first slot: 1.000 [0.912, 1.000] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters)
      consistency of a judge that ignores the answers: 0.000, no interval (a reference value: the judge's own shares of first, second and tie, the same for all items)
      note: there is no column judge, so all verdicts belong to one judge, called 'judge'
      note: every inconsistent pair favours the first slot, so the log-odds of this share are infinite; their lower limit is 2.34
    """  # noqa: E501  # what is printed
    level = probability("level", level, open_interval=True)
    found: PositionBias | Audits[PositionBias] = audited(
        _of_judge,
        *judgments_with_strata(source, strata, votes=votes, decisions=True, **reading),
        judge,
        level=level,
        rng=rng,
    )
    return found


def _of_judge(data: Judgments, *, judge: str | None, level: float, rng: RngLike) -> PositionBias:
    """Audit the verdicts of one judge."""
    name, data = one_judge(data, judge)
    cast = (data.vote != MISSING) & (data.order != MISSING)
    notes = [*data.doubts(), *data.notes]
    if (data.vote[cast] == TIE).all() and cast.any():
        notes.append("every verdict is a tie, so the judge is consistent but not informative")
    if not cast.all():
        notes.append(
            f"{int((~cast).sum())} of {len(data)} verdicts have no vote or no order and were left out"
        )
    data = data.rows(cast)
    if len(data) == 0:
        raise ValueError(
            f"a position audit needs verdicts with their order; got none of {name!r}; add a column order, AB where A "
            "was first, or in a debate log the field first of an item, or seats 'JUDGE (1-2)', 'JUDGE (2-1)'"
        )
    one, other = _pairs(data)
    if len(one) == 0:
        return _against_label(name, data, level, notes)
    alone = len(data) - 2 * len(one)
    if alone:
        notes.append(
            f"{counted(alone, 'verdict')} without a partner in the other order {verb(alone, 'was', 'were')} left out"
        )
    return _from_pairs(name, data, one, other, level, rng, notes)


def position_frame(audits: Any) -> pd.DataFrame:
    """Return what :func:`d3stats.plotting.intervals.plot_position_bias` draws, from audits (iterable, or dict of them).

    One row per judge with both orders: ``judge, consistency, consistency_low, consistency_high, first, first_low,
    first_high, coin, level, kind``; `first` is the share of verdicts for the first slot, ties as half. ValueError when
    no judge was seen in both orders.

    Parameters
    ----------
    audits : PositionBias, mapping of str to PositionBias, or iterable of them
        As :func:`position_bias` gives them.

    Returns
    -------
    DataFrame
        One row per judge.

    Raises
    ------
    ValueError
        When no judge was seen in both orders.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats import position_bias
    >>> columns = {"item": np.repeat(range(40), 2), "order": ["AB", "BA"] * 40, "vote": list("AAAB") * 20}
    >>> table = pd.DataFrame(columns)
    >>> position_frame([position_bias(table, votes="slot")])[["judge", "consistency", "first"]].values.tolist()
    [['judge', 0.5, 0.75]]
    """
    return position_table(audits_frame(audits))


def position_table(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`position_frame` does, from a table of estimates such as :func:`audits_frame` gives.

    Columns are ``judge, name, value, low, high`` and, where there are some, ``level, kind`` of the limits.

    Parameters
    ----------
    estimates : DataFrame
        One row per estimate.

    Returns
    -------
    DataFrame
        One row per judge, columns as of :func:`position_frame`.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats import position_bias
    >>> columns = {"item": np.repeat(range(40), 2), "order": ["AB", "BA"] * 40, "vote": list("AAAB") * 20}
    >>> table = pd.DataFrame(columns)
    >>> estimates = position_bias(table, votes="slot").to_frame()
    >>> position_table(estimates)[["judge", "consistency", "first"]].values.tolist()
    [['judge', 0.5, 0.75]]
    """
    rows = []
    for judge, part in estimates.groupby("judge", sort=False):
        by_name = part.set_index("name")[["value", "low", "high"]].astype("float64")
        if CONSISTENCY not in by_name.index:
            continue
        same = by_name.loc[CONSISTENCY].to_numpy()
        first = by_name.loc[EXCESS].to_numpy() + 0.5
        row = {"judge": judge}
        for name, found in (("consistency", same), ("first", first)):
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))
        rows.append(row | {"coin": by_name.loc[COIN, "value"], **_limits_of(part)})
    if not rows:
        raise ValueError("a judge must be seen in both orders to be drawn; got none")
    return pd.DataFrame(rows)


def _limits_of(part: pd.DataFrame) -> dict[str, Any]:
    """Return the level of the limits that are drawn of a judge, and their kinds in one text."""
    drawn = part[part["name"].isin([CONSISTENCY, EXCESS]) & part["low"].notna()]
    found: dict[str, Any] = {}
    if "level" in drawn and len(drawn):
        found["level"] = drawn["level"].iloc[0]
    if "kind" in drawn and len(drawn):
        found["kind"] = " and ".join(sorted(set(drawn["kind"].astype(str))))
    return found


def _from_pairs(
    name: str, data: Judgments, one: Ints, other: Ints, level: float, rng: RngLike, notes: list[str]
) -> PositionBias:
    """Audit pairs of verdicts: rows `one` show A first, rows `other` show B first."""
    ab, ba = data.vote[one], data.vote[other]
    cluster = data.cluster[one]
    # Towards the first slot: A when A is first, B when B is.
    slots = np.stack([_toward_first(ab, 0), _toward_first(ba, 1)])
    lean = slots.sum(axis=0)
    n = len(lean)
    outright = np.abs(lean) == 2
    first, second = int((lean == 2).sum()), int((lean == -2).sum())
    through_tie = int((np.abs(lean) == 1).sum())
    sums = cluster_totals(lean[:, None].astype(float), cluster)[:, 0]
    excess = mean_change(EXCESS, lean / 2, cluster, level, scale=0.5)
    flipped = sign_flip_p(sums, rng=rng)
    if len(sums) > 1:
        excess = replace(_bounded(excess, lean, cluster, len(sums)), p_value=flipped.p_value)
    found = [excess, clustered_rate(CONSISTENCY, (ab == ba).astype(float), cluster, level)]
    if outright.any():
        share = clustered_rate(FAVOURS, (lean[outright] == 2).astype(float), cluster[outright], level)
        odds, said = _log_odds(share)
        found += [share] if odds is None else [share, odds]
        notes += [said] if said else []
        if first + second < _FEW:
            notes.append(
                f"only {first + second} pairs are inconsistent without a tie, so the direction is very "
                "uncertain"
            )
    else:
        notes.append(
            "no pair is inconsistent without a tie, so there is no direction to estimate; the excess has "
            "an upper bound"
        )
    if through_tie:
        row = f'; the row "{FAVOURS}" leaves ties out' if outright.any() else ""
        notes.append(
            f"{counted(through_tie, 'pair')} {verb(through_tie, 'is', 'are')} inconsistent through a tie and "
            f"{verb(through_tie, 'counts', 'count')} as half a preference each in the {EXCESS} alone{row}"
        )
    to_first, to_second, tied = (float((slots == where).mean()) for where in (1, -1, 0))
    note = "a reference value: the judge's own shares of first, second and tie, the same for all items"
    coin = 2 * to_first * to_second + tied**2
    found.append(
        Estimate(name=COIN, value=coin, low=None, high=None, kind="reference", n=n, level=level, note=note)
    )
    both = np.zeros(len(data), dtype=bool)
    both[one] = both[other] = True
    found += _accuracy_by_place(data.rows(both), level, notes, _gap_of_pairs(data, one, other, level))
    method = "exact sign flip over clusters" if flipped.exact else f"sign flip, {flipped.n_draws} draws"
    return PositionBias(judge=name, estimates=tuple(found), notes=tuple(notes), consistent=int((ab == ba).sum()),
                        first=first, second=second, through_tie=through_tie, method=method)  # fmt: skip


def _against_label(name: str, data: Judgments, level: float, notes: list[str]) -> PositionBias:
    """Audit items that were shown in one order only, by errors towards either place."""
    right_first, right_second = _by_place(data)
    if not (right_first.any() and right_second.any()):
        raise ValueError(
            "items shown in one order only need labels, with the better answer shown first in some items and second "
            f"in others; got {int(right_first.sum())} and {int(right_second.sum())}. Without them, the position effect "
            "cannot be separated from the quality of the answers"
        )
    share = data.toward(data.order)
    # Of the first place: how often it wins when it should, plus when it should not, less one, halved.
    wrongly = (share[right_second], data.cluster[right_second])
    missed = (1 - share[right_first], data.cluster[right_first])
    pull = contrast_of_rates(AGAINST_LABEL, (wrongly, missed), (0.5, -0.5), level)
    decided = right_first | right_second
    if not decided.all():
        notes.append(unlabelled_note(int((~decided).sum())))
    notes.append("each item was shown in one order only, so swap consistency is unknown")
    notes.append("assumption: the errors of an unbiased judge fall on either place with equal probability")
    estimates = (pull, *_accuracy_by_place(data.rows(decided), level, notes))
    return PositionBias(judge=name, estimates=estimates, notes=tuple(notes), consistent=0, first=0, second=0,
                        through_tie=0, method=pull.kind)  # fmt: skip


def _pairs(data: Judgments) -> tuple[Ints, Ints]:
    """Return rows of the two orders that belong together: same item, same place in the sequence of verdicts."""
    sides = [np.flatnonzero(data.order == order) for order in (0, 1)]
    turn = (pd.Series(data.item[rows]).groupby(data.item[rows]).cumcount().to_numpy() for rows in sides)
    first, second = (data.item[rows] * len(data) + at for rows, at in zip(sides, turn, strict=True))
    _, one, other = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return sides[0][one], sides[1][other]


def _toward_first(vote: Ints, order: int) -> Ints:
    """Return 1 for a vote for the first slot, -1 for the second, 0 for a tie."""
    return np.where(vote == TIE, 0, np.where(vote == order, 1, -1))


def _bounded(excess: Estimate, lean: Ints, cluster: Ints, n_clusters: int) -> Estimate:
    """Bound the excess where all clusters lean alike, from how many could have leant otherwise.

    |excess| is at most half the share of inconsistent pairs; and where all pairs are inconsistent one way, it is
    the share of such pairs minus one half.
    """
    if excess.low is not None:
        return excess
    if abs(excess.value) == 0.5:
        share = clustered_rate("", (lean == 2).astype(float), cluster, excess.level)
        assert share.low is not None
        assert share.high is not None
        return replace(excess, low=share.low - 0.5, high=share.high - 0.5, kind=share.kind, note="")
    if (lean != 0).any():
        return excess
    share = clustered_rate("", np.zeros(n_clusters), np.arange(n_clusters), excess.level)
    assert share.high is not None
    note = "no pair is inconsistent, so the limits are half of the possible share"
    return replace(excess, low=-share.high / 2, high=share.high / 2, kind=share.kind, note=note)


def _log_odds(share: Estimate) -> tuple[Estimate | None, str]:
    """Return log(b/c) from the share b/(b+c), whose limits it takes over."""
    from scipy.special import logit

    if share.low is None or share.high is None:
        return None, ""
    if share.value in (0.0, 1.0):
        most = ("first", "lower", share.low) if share.value else ("second", "upper", share.high)
        told = (
            "every inconsistent pair favours the {} slot, so the log-odds of this share are infinite; their {} limit "
            "is {:z.2f}"
        )
        return None, told.format(*most[:2], float(logit(most[2])))
    low, value, high = (float(logit(x)) for x in (share.low, share.value, share.high))
    if not np.isfinite([low, high]).all():
        note = f"from the limits {share.low:z.3f} and {share.high:z.3f} of the share, one of which has no log-odds"
        return replace(share, name=LOG_ODDS, value=value, se=None, low=None, high=None, note=note), ""
    se = None if share.se is None else share.se / (share.value * (1 - share.value))
    return replace(share, name=LOG_ODDS, value=value, se=se, low=low, high=high), ""


def _by_place(data: Judgments) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where the right answer was shown first, and where second; a tied or missing label is neither."""
    decided = (data.label == 0) | (data.label == 1)
    return decided & (data.order == data.label), decided & (data.order != data.label)


def _gap_of_pairs(data: Judgments, one: Ints, other: Ints, level: float) -> Estimate | None:
    """Return how much more often a pair is right where the right answer is first; None where no label is decided."""
    label = data.label[one]
    decided = ((label == 0) | (label == 1)) & (label == data.label[other])
    right = [(data.vote[rows] == data.label[rows])[decided].astype(float) for rows in (one, other)]
    # Rows `one` show A first.
    change = np.where(label[decided] == 0, right[0] - right[1], right[1] - right[0])
    return mean_change(RIGHT_GAP, change, data.cluster[one][decided], level) if len(change) else None


def _accuracy_by_place(
    data: Judgments, level: float, notes: list[str], gap: Estimate | None = None
) -> list[Estimate]:
    """Return accuracy by where the right answer was shown, and the difference, of pairs by `gap`."""
    masks = _by_place(data)
    decided = masks[0] | masks[1]
    if not decided.any():
        return []
    if not decided.all():
        notes.append(f"accuracy: {unlabelled_note(int((~decided).sum()))}")
    tied = int((data.vote[decided] == TIE).sum())
    if tied:
        share = tied / int(decided.sum())
        notes.append(
            f"accuracy: ties count as not right: {counted(tied, 'verdict')} ({percent(share, digits=0)})"
        )
    if not all(mask.any() for mask in masks):
        return []
    right = (data.vote == data.label).astype(float)
    first, second = ((right[mask], data.cluster[mask]) for mask in masks)
    rates = [clustered_rate(RIGHT_FIRST, *first, level), clustered_rate(RIGHT_SECOND, *second, level)]
    return [*rates, gap or contrast_of_rates(RIGHT_GAP, (first, second), (1, -1), level)]
