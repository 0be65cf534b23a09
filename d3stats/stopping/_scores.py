"""The score gap, side 0 minus side 1, as the rules that need scores read it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping.rule import Round
from d3stats.trajectories import Trajectories


def gap_of(rule: str, latest: Round) -> float | None:
    """Return one round's gap in raw points, None where a score is missing or not finite."""
    if latest.scores is None or len(latest.scores) != 2:
        raise _refusal(rule, None if latest.scores is None else len(latest.scores))
    left, right = latest.scores
    if left is None or right is None:
        return None
    gap = left - right
    return gap if math.isfinite(gap) else None


def gaps_of(rule: str, trajectories: Trajectories) -> NDArray[np.float64]:
    """Return the gaps in raw points, shape (debates, rounds), NaN where a score is missing or not finite."""
    scores = trajectories.scores
    if scores is None or scores.shape[2] != 2:
        raise _refusal(rule, None if scores is None else scores.shape[2])
    with np.errstate(invalid="ignore"):
        gaps: NDArray[np.float64] = scores[:, :, 0] - scores[:, :, 1]
    gaps[np.isinf(gaps)] = np.nan
    return gaps


def _refusal(rule: str, sides: int | None) -> ValueError:
    return ValueError(
        f"scores must be given for two sides, because {rule} compares their points; got {scores_got(sides)}"
    )


def scores_got(sides: int | None) -> str:
    """Say in an error how many sides have scores, None for a log without any."""
    return "no scores" if sides is None else f"scores of {sides} side{'s' * (sides != 1)}"
