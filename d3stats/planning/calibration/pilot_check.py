"""Is this a pilot that this world can be fitted to? One clear line when it is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from d3stats.planning.calibration.observed import answers_of, seats_of
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Courtroom, Referees, World

__all__ = ["template_for"]


def template_for(world: World | type[World], pilot: Trajectories) -> Any:
    """Return the template world, after refusing what does not go together."""
    if not isinstance(pilot, Trajectories):
        raise TypeError(f"pilot must be a Trajectories; got {type(pilot).__name__}")
    if isinstance(world, type):
        if not issubclass(world, World):
            raise TypeError(f"world must be a World or a type of World; got {world.__name__}")
        family: Any = world
        voting = sum(name != "tie-break" for name in pilot.seats)
        return _checked(family(panel=max(1, min(voting, int(pilot.panel.max(initial=1))))), pilot)
    if not isinstance(world, World):
        raise TypeError(f"world must be a World or a type of World; got {world!r}")
    return _checked(world, pilot)


def _checked(world: Any, pilot: Trajectories) -> Any:
    name = type(world).__name__
    if pilot.n_rounds < 2:
        raise ValueError(f"pilot must have at least two rounds; got {pilot.n_rounds}")
    questions = len(np.unique(pilot.cluster))
    if questions < 2:
        raise ValueError(f"pilot must have at least two questions; got {questions}")
    if not (pilot.votes != MISSING).any():
        raise ValueError("pilot must hold at least one vote; got none")
    panels = sorted({int(n) for n in pilot.panel})
    if not set(panels) <= {int(world.panel), seats_of(world)}:
        raise ValueError(
            f"pilot must have the world's panel of {world.panel}; got panels of {', '.join(map(str, panels))}"
        )
    if isinstance(world, (Courtroom, Referees)):
        _check_scores(world, name, pilot)
    elif len(pilot.answers) > answers_of(world) and (pilot.label == MISSING).any():
        raise ValueError(
            f"pilot must have a label in every debate, or at most the {answers_of(world)} answers that {name} "
            f"knows; got {len(pilot.answers)} answers and {int((pilot.label == MISSING).sum())} debates without "
            f"a label"
        )
    return world


def _check_scores(world: Any, name: str, pilot: Trajectories) -> None:
    if pilot.scores is None or not np.isfinite(pilot.scores).any():
        raise ValueError(f"pilot must have scores, which {name} is fitted to; got none")
    if set(pilot.sides) != {"A", "B"}:
        raise ValueError(f"pilot must have scores of the sides A and B for {name}; got {pilot.sides}")
    known = {"A", "B", "tie"} if isinstance(world, Referees) else {"A", "B"}
    if not set(pilot.answers) <= known:
        raise ValueError(f"pilot must have votes for {', '.join(sorted(known))} only; got {pilot.answers}")
    low, high = (1, 10) if isinstance(world, Referees) else (6, 6 * world.ceiling)
    lowest, highest = float(np.nanmin(pilot.scores)), float(np.nanmax(pilot.scores))
    if lowest < low or highest > high:
        raise ValueError(
            f"pilot must have scores in raw points from {low} to {high} for {name}; got {lowest:g} to {highest:g}"
        )
