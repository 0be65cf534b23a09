"""What a pilot shows a world: counts of votes, scores, and who is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Courtroom, DirichletCompound, LatentConcept, Referees, World

__all__ = ["Observed", "answers_of", "observe", "seats_of"]

Floats = NDArray[np.float64]
Coding = Literal["right", "first"]


def seats_of(world: World) -> int:
    """Return how many seats a debate of this world has in a log."""
    panel = int(getattr(world, "panel", 0))
    return panel + 1 if isinstance(world, Courtroom) and panel % 2 == 0 else panel


def answers_of(world: World) -> int:
    """Return how many answers a world knows."""
    if isinstance(world, DirichletCompound):
        return world.n_answers
    if isinstance(world, LatentConcept):
        return world.n_concepts
    return 3 if isinstance(world, Referees) else 2


@dataclass(frozen=True, eq=False)
class Observed:
    """A log reduced to what worlds are compared by.

    Attributes
    ----------
    ones, cast : ndarray of int, shape (debates, rounds)
        Right votes, or votes for the first answer where there is no label; votes cast.
    lead : ndarray of float, shape (debates, rounds)
        -1 to 1: right votes minus others, or first answer minus second, over votes cast; NaN without votes.
    labelled : ndarray of bool, shape (debates,)
    right : ndarray of float, shape (debates, rounds)
        Share of right votes; NaN without a label.
    unanimous : ndarray of bool, shape (debates, rounds)
    toward : ndarray of float, shape (debates,)
        1 when the first side is right, -1 when the second is, 0 for a tie, NaN without a label.
    first : ndarray of float, shape (debates, rounds)
        Share of votes for the first answer.
    depth, cluster : ndarray of int, shape (debates,)
    gap, level : ndarray of float or None, shape (debates, rounds)
        Score of side A minus that of side B, and their mean, raw points.
    tie_label : ndarray of float or None, shape (debates,)
        Whether the label is neither A nor B, for worlds whose labels may be.
    """

    ones: NDArray[np.int64]
    cast: NDArray[np.int64]
    lead: Floats
    labelled: NDArray[np.bool_]
    right: Floats
    unanimous: NDArray[np.bool_]
    toward: Floats
    first: Floats
    depth: NDArray[np.int64]
    cluster: NDArray[np.int64]
    gap: Floats | None
    level: Floats | None
    tie_label: Floats | None


def observe(world: World, log: Trajectories, present: NDArray[np.bool_] | None = None) -> Observed:
    """Reduce a log, that of a pilot or one drawn from `world`.

    Parameters
    ----------
    present : ndarray of bool, shape (debates, rounds, seats), optional
        Votes to keep; those of a simulated log are masked like the pilot's.
    """
    template: Any = world
    panel = int(template.panel)
    votes = log.votes[:, :, :panel]
    if present is not None:
        votes = np.where(present, votes, MISSING)
    seen = votes != MISSING
    cast = seen.sum(axis=2)
    labelled = log.label != MISSING
    a, b = sides_of(log)
    for_a, for_b = (votes == a).sum(axis=2), (votes == b).sum(axis=2)
    right = ((votes == log.label[:, None, None]) & seen).sum(axis=2)
    two = answers_of(world) == 2
    ones = np.where(labelled[:, None], right, for_a)
    # Referees may vote for a tie: their lead is that of A over B, whatever is right.
    ties = isinstance(world, Referees)
    ahead = for_a if ties else ones
    behind = for_b if ties else np.where(labelled[:, None], cast - right, for_b)
    none = cast == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        lead = np.where(none, np.nan, (ahead - behind) / np.maximum(cast, 1))
        share = np.where(none | ~labelled[:, None], np.nan, right / np.maximum(cast, 1))
        first = np.where(none, np.nan, for_a / np.maximum(cast, 1))
    if two:
        # Two wrong answers of many are one camp to a world that knows right and wrong.
        unanimous = (ones == 0) | (ones == cast)
    else:
        high = votes.max(axis=2, initial=MISSING)
        low = np.where(seen, votes, np.iinfo(np.int32).max).min(axis=2, initial=np.iinfo(np.int32).max)
        unanimous = high == low
    toward = np.where(labelled, (log.label == a) * 1.0 - (log.label == b), np.nan)
    gap = level = None
    if log.scores is not None and isinstance(world, (Courtroom, Referees)):
        pair: Any = log.scores[:, :, [log.sides.index("A"), log.sides.index("B")]]
        gap, level = pair[:, :, 0] - pair[:, :, 1], pair.mean(axis=2)
    return Observed(
        ones,
        cast,
        lead,
        labelled,
        share,
        unanimous & ~none,
        toward,
        first,
        log.depth,
        log.cluster,
        gap,
        level,
        np.where(labelled, toward == 0, np.nan) if isinstance(world, Referees) else None,
    )


def sides_of(log: Trajectories) -> tuple[int, int]:
    """Return the codes of the two answers: those named A and B, else the first two."""
    if {"A", "B"} <= set(log.answers):
        return log.answers.index("A"), log.answers.index("B")
    return 0, 1
