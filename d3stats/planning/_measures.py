"""What a rule's stops mean, debate by debate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping.rule import StopReason, Stops
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = [
    "Outcomes",
    "outcomes",
    "spent_by_round",
    "tokens_by_round",
    "undecided",
    "verdicts_at",
    "with_turns",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What one rule's stops gave, one value per debate.

    Attributes
    ----------
    verdict : ndarray of int32
        Plurality answer at the stop, ``MISSING`` without one.
    tied : ndarray of bool
        Whether two answers led at the stop.
    scored, correct : ndarray of bool
        Whether the debate counts in the accuracy, and whether its verdict is right.
    compared, agrees : ndarray of bool
        Whether the debate counts in the agreement with full depth, and whether the verdicts are the same. None
        counts when some debate ended early: its verdict at full depth is unknown.
    judged, gained, lost : ndarray of bool
        Whether the debate is labelled and compared; right at the stop and not at full depth; the reverse.
    tokens : ndarray of float or None
        Tokens up to the stop, NaN where some round's tokens are not recorded.
    """

    verdict: NDArray[np.int32]
    tied: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    compared: NDArray[np.bool_]
    agrees: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    gained: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    tokens: FloatArray | None


def with_turns(trajectories: Trajectories) -> tuple[Trajectories, int]:
    """Leave out debates without turns; return the others and how many were left out.

    Raises
    ------
    ValueError
        When no debate has turns.
    """
    n = trajectories.n_debates
    if n == 0:
        raise ValueError("trajectories must hold at least one debate; got none")
    played = trajectories.depth > 0
    if not played.any():
        raise ValueError(f"trajectories must hold at least one debate with turns; got {n} without any turn")
    return (trajectories if played.all() else trajectories.select(played)), int((~played).sum())


def undecided(trajectories: Trajectories, stops: Stops) -> NDArray[np.bool_]:
    """Return which debates ended early, before the rule would have stopped them.

    What the rule would have cost and decided in these debates is unknown; see :meth:`Trajectories.ended_early`.
    """
    went_on = stops.reasons == str(StopReason.EXHAUSTED)
    return np.asarray(went_on & trajectories.ended_early())


def verdicts_at(
    trajectories: Trajectories, rounds: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the verdict after so many rounds of each debate, and whether it was a tie."""
    played = rounds > 0
    if trajectories.n_rounds == 0:
        return np.full(len(rounds), MISSING, np.int32), np.zeros(len(rounds), dtype=bool)
    row, column = np.arange(len(rounds)), np.maximum(rounds - 1, 0)
    verdict = np.where(played, trajectories.verdicts()[row, column], MISSING).astype(np.int32)
    return verdict, trajectories.tied()[row, column] & played


def tokens_by_round(trajectories: Trajectories) -> FloatArray | None:
    """Return tokens spent by the end of each round, a first column of 0 before it; None when none is known.

    A debate with any unrecorded round is NaN throughout, so that every rule is charged on the same debates.
    """
    return None if trajectories.tokens is None else spent_by_round(trajectories, trajectories.tokens)


def spent_by_round(trajectories: Trajectories, cost: FloatArray) -> FloatArray | None:
    """Return what was spent by the end of each round, as :func:`tokens_by_round` does, for any cost of a round."""
    spent = np.where(trajectories.reached(), cost, 0.0)
    known = ~np.isnan(spent).any(axis=1)
    if not known.any():
        return None
    total = np.zeros((len(spent), trajectories.n_rounds + 1))
    total[known, 1:] = np.cumsum(spent[known], axis=1)
    total[~known] = np.nan
    return total


def outcomes(
    trajectories: Trajectories, stops: Stops, missing: Missing, spent: FloatArray | None
) -> Outcomes:
    """Compare the verdicts at the stops with the labels and with the verdicts at full depth."""
    verdict, tied = verdicts_at(trajectories, stops.rounds)
    final, _ = verdicts_at(trajectories, trajectories.depth)
    label = trajectories.label
    labelled = label != MISSING
    correct = (verdict == label) & labelled
    final_correct = (final == label) & labelled
    whole = not trajectories.ended_early().any()
    if missing == "exclude":
        scored = labelled & (verdict != MISSING)
        compared = (verdict != MISSING) & (final != MISSING) & whole
    else:
        scored = labelled
        compared = np.full(len(label), whole)
    judged = labelled & compared
    row = np.arange(len(label))
    return Outcomes(
        verdict=verdict,
        tied=tied,
        scored=scored,
        correct=correct,
        compared=compared,
        agrees=compared & (verdict == final),
        judged=judged,
        gained=judged & correct & ~final_correct,
        lost=judged & ~correct & final_correct,
        tokens=None if spent is None else spent[row, stops.rounds],
    )
