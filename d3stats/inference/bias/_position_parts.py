"""The parts of a position audit: which verdicts make a pair, and one estimate each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.bias._rates import clustered_rate, gap_of_rates, unlabelled_note
from d3stats.inference.bias.reading import TIE, Judgments

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
