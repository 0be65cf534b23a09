"""What a pilot cannot tell about a world, in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.planning.calibration.observed import Observed, answers_of
from d3stats.planning.calibration.parameters import groups_of
from d3stats.planning.calibration.space import Space
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, Courtroom, DirichletCompound, LatentConcept, MixturePanel, Referees

__all__ = ["untold_by_pilot", "untold_by_search"]

Floats = NDArray[np.float64]

_FEW_QUESTIONS = 30
_COLLINEAR = 0.95
_OFF = 0.01


def untold_by_search(
    space: Space, params: Floats, intervals: Floats, correlation: Floats, blind: NDArray[np.bool_], held: Any
) -> list[str]:
    """Say which parameters the pilot does not, or hardly, inform; intervals of 95 %, shape (parameters, 2)."""
    notes, names = [], np.array(space.names)
    rest = [name for name in sorted(groups_of(space.template)) if name not in space.free]
    if rest:
        notes.append(
            f"not estimated: {', '.join(rest)}; they stay as given, and the standard errors take them as known"
        )
    if held.any():
        notes.append(
            f"{', '.join(names[held])} ended on a bound: no standard error, and the interval is the whole range"
        )
    flat = blind & ~held
    if flat.any():
        notes.append(
            f"nothing in the pilot tells {', '.join(names[flat])}, alone or apart from one another: "
            f"their values are those that the search began near"
        )
    weak = [
        f"{names[i]} ({intervals[i, 0]:.3g} to {intervals[i, 1]:.3g})"
        for i in range(len(names))
        if not blind[i] and _wide(space, i, intervals[i])
    ]
    if weak:
        notes.append(f"the pilot hardly informs {', '.join(weak)}: the 95 % interval is most of the range")
    for i in range(len(names)):
        for j in range(i):
            if not blind[i] and not blind[j] and abs(correlation[i, j]) > _COLLINEAR:
                notes.append(
                    f"{names[j]} and {names[i]} are hardly told apart: their errors correlate "
                    f"{correlation[i, j]:+.2f}"
                )
    return notes


def _wide(space: Space, i: int, interval: Floats) -> bool:
    low, high = interval
    if np.isfinite(space.high[i]):
        return bool(high - low > 0.5 * (space.high[i] - space.low[i]))
    if np.isfinite(space.low[i]):
        return bool(high - space.low[i] > 10 * (low - space.low[i]))
    return bool(high - low > 2 * space.width[i])


def untold_by_pilot(
    world: Any, free: tuple[str, ...], pilot: Trajectories, seen: Observed, checks: pd.DataFrame
) -> list[str]:
    """Say what logs of this kind, and this one, leave open."""
    notes = []
    labelled = int(seen.labelled.sum())
    if labelled == 0:
        notes.append(
            "no debate has a label: a world with right and wrong exchanged fits as well, so the estimates stay "
            "on the template's side, and accuracy is the world's word"
        )
    elif labelled < pilot.n_debates:
        notes.append(f"{pilot.n_debates - labelled} of {pilot.n_debates} debates have no label")
    questions = len(np.unique(seen.cluster))
    if questions < _FEW_QUESTIONS:
        notes.append(
            f"{questions} questions are few: standard errors and intervals are for many, and here too small"
        )
    if questions < pilot.n_debates:
        notes.append(
            f"{pilot.n_debates} debates are on {questions} questions: errors are clustered by question, and the "
            f"world draws a new question each time"
        )
    if len(pilot.answers) > answers_of(world):
        notes.append(
            f"{len(pilot.answers)} answers occur and the world knows {answers_of(world)}: "
            f"wrong votes are taken as one camp"
        )
    missing = 1 - seen.cast.sum() / (pilot.panel * pilot.depth).sum()
    if missing > 0 and not isinstance(world, Courtroom):
        notes.append(f"{missing:.1%} of the votes are missing: taken as missing at random")
    off = checks[checks["p_value"] < _OFF]
    if len(off):
        worst = ", ".join(f"{s} in round {r}" for s, r in zip(off["statistic"], off["round"], strict=True))
        notes.append(f"this world does not reproduce the pilot's {worst}: do not plan with it")
    notes += _unseen(world, free, labelled > 0)
    notes.append(f"nothing is known of rounds beyond {pilot.n_rounds}: there the world's equations speak")
    if pilot.tokens is not None:
        notes.append("tokens are not matched: what a debate costs is the template's")
    return notes


def _unseen(world: Any, free: tuple[str, ...], labels: bool) -> list[str]:
    """Say what no log of votes, or of votes and scores, shows of this family of worlds."""
    if isinstance(world, Conformity) and {"skill", "easiness"} <= set(free):
        return ["skill and easiness enter as a sum: votes show the sum alone"]
    if isinstance(world, Conformity) and "weights" not in free:
        return ["how many classes of difficulty there are is assumed: few seats hardly show it"]
    if isinstance(world, MixturePanel):
        return [
            "how the rounds of a debate depend on one another is this world's copula, seen in pairs of rounds"
        ]
    if isinstance(world, DirichletCompound) and world.degree is None:
        return ["who hears whom is assumed: counts hardly show it"]
    if isinstance(world, LatentConcept) and world.evidence == "fresh":
        return ["the arguments themselves are not in the log: belief is read off votes"]
    if isinstance(world, Courtroom):
        return [
            "verbosity_bias, self_preference, length_sd and own_family need lengths and families of answers, "
            "which the log does not hold: they act as position_bias and noise do",
            "skill and base enter the scores as a sum",
        ]
    if isinstance(world, Referees) and not labels:
        return ["without labels gap_sd and shared_sd are not told apart: both make a team lean together"]
    return []
