"""Rules that ask for more votes than any round of a log has."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from d3stats.stopping.rule import Rule
from d3stats.trajectories import Trajectories


def out_of_reach(rule: Rule, trajectories: Trajectories, needed: NDArray[Any]) -> tuple[str, ...]:
    """Say that a rule cannot fire in half of the debates or more: no round there has as many votes as it needs."""
    cast = trajectories.camps()[2].max(axis=1, initial=0)
    played = trajectories.depth > 0
    short = played & (cast < needed)
    n, of = int(short.sum()), int(played.sum())
    if n == 0 or 2 * n < of:
        return ()
    where = "any debate" if n == of else f"{n} of {of} debates"
    most, asked, seats = (int(x[short].max()) for x in (cast, needed, trajectories.panel))
    return (
        f"{rule} cannot fire in {where}: it needs up to {asked} of {seats} votes, and no round there has more than "
        f"{most} (a seat without a vote counts, also one that only breaks the ties of an even jury).",
    )
