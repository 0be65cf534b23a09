"""Does the judge prefer an answer for the place where it is shown?

Shown both ways, an unbiased judge may still change its mind, but then it favours either place equally often. So there
are two questions, and they are kept apart:

- *swap consistency*: the share of pairs of verdicts (one per order) that name the same winner, two ties included.
  It falls with bias and with plain noise alike. A judge that ignores the answers and leans alike on every
  item has the consistency that follows from how often it names either place: 2 * first * second + ties^2. Where its
  lean differs by item it may have less or more: that number is a mark to read by, not a bound.
- *position effect*: the direction. The first-slot excess is the share of verdicts for the first place, ties as half,
  less one half; over both orders of an item whatever the answers deserve cancels. Of the inconsistent pairs, the
  share that favours the first place is 1/2 for an unbiased judge. Its log-odds, log(b/c), is what a paired
  logistic model gives: by how much being first rather than second raises the log-odds of an answer.

The test flips the sign of each cluster's sum of leanings, exactly. With a pair per cluster and no ties it is McNemar's
exact test. A pair that is inconsistent through a tie (one order a winner, the other none) leans half as much; it counts
in the excess and the test, and is counted apart.

With one order per item there is no consistency. Against labels an effect is left: half of how much more often the
judge errs towards the first place than towards the second. It takes errors as equally likely both ways in an
unbiased judge, which random orders ensure.

References
----------
Wang et al. (2023), arXiv 2305.17926 (both orders, position calibration). Zheng et al. (2023), arXiv 2306.05685
(consistency, ties). McNemar (1947), Psychometrika 12, 153. Cox (1958), JRSS B 20, 215 (paired logistic model).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, probability
from d3stats._words import counted, verb
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import (
    Audit,
    Audits,
    audits_frame,
    clustered_rate,
    each_judge,
    effect,
    gap_of_rates,
    ratio,
    unlabelled_note,
)
from d3stats.inference.bias.verdicts import TIE, Judgments, Votes, as_judgments, one_judge
from d3stats.resampling import cluster_totals
from d3stats.resampling.sign_flip import sign_flip_p
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

Ints = NDArray[np.int64]

EXCESS, CONSISTENCY = "first-slot excess", "swap consistency"
FAVOURS, LOG_ODDS = "inconsistent pairs that favour the first slot", "log-odds of first against second"
COIN = "consistency of a judge that ignores the answers"
RIGHT_FIRST, RIGHT_SECOND = "accuracy, right answer shown first", "accuracy, right answer shown second"
RIGHT_GAP = "accuracy, first less second"
AGAINST_LABEL = "first-slot excess against the label"


def pairs_of(data: Judgments) -> tuple[Ints, Ints]:
    """Return rows of the two orders that belong together: same item, same place in the sequence of verdicts."""
    sides = [np.flatnonzero(data.order == order) for order in (0, 1)]
    first, second = (data.item[rows] * len(data) + _turn(data.item[rows]) for rows in sides)
    _, one, other = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return sides[0][one], sides[1][other]


def _turn(item: Ints) -> Ints:
    """Return how often each row's item occurred before."""
    by_item = np.argsort(item, kind="stable")
    ordered = item[by_item]
    starts = (
        np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(item) else np.empty(0, dtype=np.int64)
    )
    sizes = np.diff(np.r_[starts, len(item)])
    turn = np.empty(len(item), dtype=np.int64)
    turn[by_item] = np.arange(len(item)) - np.repeat(starts, sizes)
    return turn


def toward_first(vote: Ints, order: int | Ints) -> Ints:
    """Return 1 for a vote for the first slot, -1 for the second, 0 for a tie."""
    return np.where(vote == TIE, 0, np.where(vote == order, 1, -1))


def exact_excess(estimate: Estimate, lean: Ints, cluster: Ints, n_clusters: int, level: float) -> Estimate:
    """Bound the excess where all clusters lean alike, from how many could have leant otherwise.

    |excess| is at most half the share of inconsistent pairs; and where all pairs are inconsistent one way, it is
    the share of such pairs less one half.
    """
    if abs(estimate.value) == 0.5:
        share = clustered_rate("", (lean == 2).astype(float), cluster, level)
        assert share.low is not None
        assert share.high is not None
        return changed(estimate, low=share.low - 0.5, high=share.high - 0.5, kind=share.kind, note="")
    if (lean != 0).any():
        return estimate
    rate = clustered_rate("", np.zeros(n_clusters), np.arange(n_clusters), level)
    assert rate.high is not None
    return changed(
        estimate,
        low=-rate.high / 2,
        high=rate.high / 2,
        kind=rate.kind,
        note="no pair is inconsistent: limits are half the share that could have been",
    )


def changed(estimate: Estimate, **changes: Any) -> Estimate:
    return Estimate(**(estimate.to_dict() | changes))


def log_odds(share: Estimate) -> tuple[Estimate | None, str]:
    """Return log(b/c) from the share b/(b+c), whose limits it takes over."""
    from scipy.special import logit

    if share.low is None or share.high is None:
        return None, ""
    if share.value in (0.0, 1.0):
        side, end, sign = ("first", share.low, 1) if share.value else ("second", share.high, -1)
        bound = "at least" if sign > 0 else "at most"
        return None, (
            f"every inconsistent pair favours the {side} slot: the log-odds have no bound, and are "
            f"{bound} {float(logit(end)):.2f}"
        )
    low, value, high = (float(logit(x)) for x in (share.low, share.value, share.high))
    if not np.isfinite([low, high]).all():
        note = (
            f"from the limits {share.low:.3f} and {share.high:.3f} of the share, one of which has no log-odds"
        )
        return changed(
            share, name=LOG_ODDS, value=value, se=None, low=None, high=None, kind="none", note=note
        ), ""
    se = None if share.se is None else share.se / (share.value * (1 - share.value))
    return changed(share, name=LOG_ODDS, value=value, se=se, low=low, high=high), ""


def coin(value: float, n: int, level: float) -> Estimate:
    note = "a reference, from its own shares of first, second and tie, as if alike on all items"
    return Estimate(
        name=COIN, value=value, low=None, high=None, kind="reference", n=n, level=level, note=note
    )


def accuracy_by_place(data: Judgments, level: float, notes: list[str]) -> list[Estimate]:
    """Return accuracy by where the right answer was shown, and the difference."""
    decided = (data.label == 0) | (data.label == 1)
    if not decided.any():
        return []
    if not decided.all():
        notes.append(f"accuracy: {unlabelled_note(int((~decided).sum()))}")
    tied = int((data.vote[decided] == TIE).sum())
    if tied:
        share = tied / int(decided.sum())
        notes.append(f"accuracy: ties count as not right: {counted(tied, 'verdict')} ({share:.0%})")
    right = (data.vote == data.label).astype(float)
    at_first = data.order == data.label
    masks = (decided & at_first, decided & ~at_first)
    if not all(mask.any() for mask in masks):
        return []
    sides = [(right[mask], data.cluster[mask]) for mask in masks]
    rates = [
        clustered_rate(n, *side, level) for n, side in zip((RIGHT_FIRST, RIGHT_SECOND), sides, strict=True)
    ]
    return [*rates, gap_of_rates(RIGHT_GAP, sides[0], sides[1], level)]


Floats = NDArray[np.float64]

_FEW = 10


@dataclass(frozen=True, eq=False)
class PositionBias(Audit):
    """What :func:`position_bias` found; the first estimate is the excess of first-slot verdicts.

    Attributes
    ----------
    consistent, first, second, through_tie : int
        Pairs of verdicts: the same winner both ways; the first slot both ways; the second both ways; a winner in
        one order and a tie in the other. All 0 where items were shown in one order only.
    method : str
        How the p-value of the excess is made.
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

    def to_dict(self) -> dict[str, Any]:
        """Return estimates, counts and notes as JSON can hold them."""
        counts = {
            name: getattr(self, name) for name in ("consistent", "first", "second", "through_tie", "n_pairs")
        }
        return super().to_dict() | {"pairs": counts, "method": self.method}

    def plot(self, ax: Any = None) -> Any:
        """Draw consistency and first-slot preference with their intervals."""
        from d3stats.plotting.position_bias import plot_position_bias

        return plot_position_bias(position_frame([self]), ax=ax)


def position_bias(
    source: Any,
    *,
    judge: str | None = None,
    votes: Votes = "answer",
    level: float = 0.95,
    rng: RngLike = None,
) -> PositionBias | Audits[PositionBias]:
    """Measure how much a judge prefers the answer shown first (or second).

    Parameters
    ----------
    source : Judgments, DataFrame, Trajectories, str or Path
        Verdicts with their ``order`` (:func:`as_judgments`). Several verdicts of one item in one order are paired
        with those of the other order one by one. A debate log that has decisions and says which candidate was shown
        first also has the judge "decision": the protocol itself.
    judge : str, optional
        Which judge; by default each of them.
    votes : {"answer", "slot"}
        Whether a vote names the answer or the place.
    level : float
    rng : Generator, int or None
        Used only where the sign-flip test is beyond counting.

    Returns
    -------
    PositionBias
        Of several judges an :class:`Audits`, which holds one for each.

    Raises
    ------
    ValueError
        When no verdict has an order, or items were shown in one order only and there are no labels (then which
        answers were put first cannot be told from a preference for the first).

    Examples
    --------
    >>> table = pd.DataFrame({"item": np.repeat(range(40), 2), "order": ["AB", "BA"] * 40, "vote": ["A", "A"] * 40})
    >>> print(position_bias(table, votes="slot"))
    judge:
      first-slot excess: 0.500 [0.412, 0.500] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters), p = 1.82e-12
      swap consistency: 0.000 [0.000, 0.088] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters)
      inconsistent pairs that favour the first slot: 1.000 [0.912, 1.000] (95 % Clopper-Pearson over clusters, n = 40 in 40 clusters)
      consistency of a judge that ignores the answers: 0.000, no interval (a reference, from its own shares of first, second and tie, as if alike on all items)
      note: every inconsistent pair favours the first slot: the log-odds have no bound, and are at least 2.34
    """  # noqa: E501  # what is printed
    level = probability("level", level, open_interval=True)
    data = as_judgments(source, votes=votes, decisions=True)
    if judge is None and len(data.judges) > 1:
        return each_judge(position_bias, data, level=level, rng=rng)
    name, data = one_judge(data, judge)
    cast = (data.vote != MISSING) & (data.order != MISSING)
    notes = [*data.doubts(), *data.notes]
    if (data.vote[cast] == TIE).all() and cast.any():
        notes.append("every verdict is a tie: consistent, because it says nothing")
    if not cast.all():
        notes.append(
            f"{int((~cast).sum())} of {len(data)} verdicts have no vote or no order and were left out"
        )
    data = data.rows(cast)
    if len(data) == 0:
        raise ValueError(
            f"a position audit needs verdicts with their order; got none of {name!r} (a debate log tells it by the "
            "candidate that an item shows first, or by seats named 'JUDGE (1-2)' and 'JUDGE (2-1)')"
        )
    one, other = pairs_of(data)
    if len(one) == 0:
        return _against_label(name, data, level, notes)
    alone = len(data) - 2 * len(one)
    if alone:
        notes.append(
            f"{counted(alone, 'verdict')} without a partner in the other order {verb(alone, 'was', 'were')} left out"
        )
    kept = data.rows(_mask(len(data), one, other))
    return _from_pairs(name, data, one, other, kept, level, rng, notes)


def position_frame(audits: Any) -> pd.DataFrame:
    """Return the table that :func:`d3stats.plotting.position_bias.plot_position_bias` draws.

    Parameters
    ----------
    audits : iterable of PositionBias, or dict of them

    Returns
    -------
    DataFrame
        One row per judge with both orders: ``judge, consistency, consistency_low, consistency_high, first,
        first_low, first_high, coin, level, kind``; `first` is the share of verdicts for the first slot, ties as
        half.

    Raises
    ------
    ValueError
        When no judge was seen in both orders.
    """
    return position_table(audits_frame(audits))


def position_table(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the same from a table of estimates, as :func:`audits_frame` gives and a file may hold.

    Parameters
    ----------
    estimates : DataFrame
        Columns ``judge, name, value, low, high`` and, where there are some, ``level, kind`` of the limits.
    """
    rows = []
    for judge, part in estimates.groupby("judge", sort=False):
        by_name = part.set_index("name")[["value", "low", "high"]].astype("float64")
        if CONSISTENCY not in by_name.index:
            continue
        same = by_name.loc[CONSISTENCY].to_numpy()
        first = by_name.loc[EXCESS].to_numpy() + 0.5
        keys = (
            "consistency",
            "consistency_low",
            "consistency_high",
            "first",
            "first_low",
            "first_high",
        )
        rows.append(
            {
                "judge": judge,
                **dict(zip(keys, [*same, *first], strict=True)),
                "coin": by_name.loc[COIN, "value"],
                **_limits_of(part),
            }
        )
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


def _mask(n: int, *rows: Ints) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    for part in rows:
        mask[part] = True
    return mask


def _from_pairs(
    name: str,
    data: Judgments,
    one: Ints,
    other: Ints,
    kept: Judgments,
    level: float,
    rng: RngLike,
    notes: list[str],
) -> PositionBias:
    ab, ba = data.vote[one], data.vote[other]
    cluster = data.cluster[one]
    # Towards the first slot: A when A is first, B when B is.
    slots = np.stack([toward_first(ab, 0), toward_first(ba, 1)])
    lean = slots.sum(axis=0)
    same = (ab == ba).astype(float)
    outright = np.abs(lean) == 2
    first, second = int((lean == 2).sum()), int((lean == -2).sum())
    through_tie = int((np.abs(lean) == 1).sum())
    totals = cluster_totals(np.stack([lean / 4, np.ones(len(lean))], axis=1), cluster)
    excess = effect(EXCESS, totals, ratio, len(lean), level, bounds=(-0.5, 0.5))
    if excess.low is None and len(totals) > 1:
        excess = exact_excess(excess, lean, cluster, len(totals), level)
    flipped = sign_flip_p(cluster_totals(lean[:, None].astype(float), cluster)[:, 0], rng=rng)
    if len(totals) > 1:
        excess = changed(excess, p_value=flipped.p_value)
    found = [excess, clustered_rate(CONSISTENCY, same, cluster, level)]
    if outright.any():
        share = clustered_rate(FAVOURS, (lean[outright] == 2).astype(float), cluster[outright], level)
        found.append(share)
        odds, said = log_odds(share)
        found += [odds] if odds is not None else []
        notes += [said] if said else []
        if first + second < _FEW:
            notes.append(
                f"only {first + second} pairs are inconsistent outright: their direction is hardly known"
            )
    else:
        notes.append(
            "no pair is inconsistent outright: no direction to estimate, the excess is bounded from above"
        )
    if through_tie:
        notes.append(f"{through_tie} pairs are inconsistent through a tie: half a leaning each")
    rates = [float((slots == where).mean()) for where in (1, -1, 0)]
    found.append(coin(2 * rates[0] * rates[1] + rates[2] ** 2, len(lean), level))
    found += accuracy_by_place(kept, level, notes)
    method = "exact sign flip over clusters" if flipped.exact else f"sign flip, {flipped.n_draws} draws"
    return PositionBias(
        judge=name,
        estimates=tuple(found),
        notes=tuple(notes),
        consistent=int(same.sum()),
        first=first,
        second=second,
        through_tie=through_tie,
        method=method,
    )


def _against_label(name: str, data: Judgments, level: float, notes: list[str]) -> PositionBias:
    decided = (data.label == 0) | (data.label == 1)
    at_first = data.order == data.label
    masks = (decided & at_first, decided & ~at_first)
    if not all(mask.any() for mask in masks):
        raise ValueError(
            "items shown in one order only need labels, with the better answer shown first in some items and second "
            f"in others; got {int(masks[0].sum())} and {int(masks[1].sum())}: where a preference for a place and "
            "which answers were put there cannot be told apart, there is no position effect to estimate"
        )
    share = data.toward(data.order)
    sides = [(share[mask], data.cluster[mask]) for mask in masks]
    # Of the first place: how often it wins when it should, plus when it should not, less one, halved.
    flipped = (1 - sides[0][0], sides[0][1])
    pull = gap_of_rates(AGAINST_LABEL, sides[1], flipped, level, half=True)
    if not decided.all():
        notes.append(unlabelled_note(int((~decided).sum())))
    notes.append("each item was shown in one order only: swap consistency cannot be known")
    notes.append("the effect takes an unbiased judge's errors as equally likely towards either place")
    estimates = (pull, *accuracy_by_place(data.rows(decided), level, notes))
    return PositionBias(
        judge=name,
        estimates=estimates,
        notes=tuple(notes),
        consistent=0,
        first=0,
        second=0,
        through_tie=0,
        method="cluster t",
    )
