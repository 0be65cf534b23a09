"""Votes as ones and zeros: what a plan is about when there are labels, when there are none, and when some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats.trajectories import MISSING, Trajectories, tally_rounds

__all__ = ["Coded", "Target", "code_votes", "one_camp"]

Target = Literal["accuracy", "agreement"]


@dataclass(frozen=True, eq=False)
class Coded:
    """A pilot as ones and zeros.

    Attributes
    ----------
    votes : ndarray of int8, shape (debates, rounds, seats)
        1, 0, or -1 for no vote.
    target : {"accuracy", "agreement"}
        What a lost debate is: a wrong verdict, or one that is not full depth's.
    used : ndarray of bool, shape (debates,)
        Debates that the target can be told of.
    others : ndarray of float, shape (seats + 1, seats + 1)
        ``others[k, m]``: share of full rounds with k ones in which the largest camp of the other votes has m.
    notes : tuple of str
    """

    votes: NDArray[np.int8]
    target: Target
    used: NDArray[np.bool_]
    others: NDArray[np.float64]
    notes: tuple[str, ...]


def one_camp(seats: int) -> NDArray[np.float64]:
    """Return `Coded.others` for two answers: what is not a one is of one camp."""
    return np.eye(seats + 1)[::-1].copy()


def _largest_other(coded: NDArray[np.int8], votes: NDArray[np.int32], n_answers: int) -> NDArray[np.float64]:
    """Count the largest other camp in rounds in which every seat voted, given the number of ones."""
    seats = votes.shape[2]
    if n_answers <= 2:
        return one_camp(seats)
    full = (coded != -1).all(axis=2)
    rest = np.where(coded == 0, votes, MISSING)[full]
    ones = (coded == 1).sum(axis=2)[full]
    size = tally_rounds(np.ascontiguousarray(rest[:, None, :], dtype=np.int32), n_answers)[2][:, 0]
    found = np.zeros((seats + 1, seats + 1))
    np.add.at(found, (ones, size), 1.0)
    for k in range(seats + 1):
        # One round's worth of doubt, spread over what is possible: m from 1 to all others.
        found[k, min(1, seats - k) : seats - k + 1] += 1.0 / max(seats - k, 1)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def code_votes(pilot: Trajectories, target: Target | Literal["auto"]) -> Coded:
    """Choose the target, when asked to, and code the votes for it.

    Right votes are ones under "accuracy". Under "agreement" ones are votes for the first of two answers, or,
    with more answers, for the one that leads in the first round.
    """
    choice("target", target, ("auto", "accuracy", "agreement"))
    labelled = pilot.label != MISSING
    share = float(labelled.mean())
    if target == "accuracy" and not labelled.any():
        raise ValueError("target 'accuracy' must have labels in the pilot; got none")
    notes: list[str] = []
    if target == "auto":
        target = "accuracy" if share == 1.0 else "agreement"
        if 0.0 < share < 1.0:
            notes.append(
                f"{int(labelled.sum())} of {pilot.n_debates} debates have a label: the choice is by agreement "
                f"with the full-depth verdict, over all of them; accuracy is over the labelled ones"
            )
        elif share == 0.0:
            notes.append(
                "no debate has a label: the plan keeps agreement with the full-depth verdict and cannot see "
                "whether that verdict is right"
            )
    elif target == "accuracy" and share < 1.0:
        notes.append(f"debates without a label are left out: {int((~labelled).sum())} of {pilot.n_debates}")
    cast = pilot.votes != MISSING
    if target == "accuracy":
        one = pilot.votes == pilot.label[:, None, None]
        used = labelled
        if len(pilot.answers) > 2:
            notes.append(
                f"{len(pilot.answers)} answers occur, and the chain follows right and wrong only: how often wrong "
                f"votes agree is taken from the pilot, each round for itself, so a wrong camp that lasts or "
                f"breaks up is not followed"
            )
    else:
        used = np.ones(pilot.n_debates, dtype=bool)
        if len(pilot.answers) <= 2:
            one = pilot.votes == 0
        else:
            leader = pilot.verdicts()[:, 0] if pilot.n_rounds else np.zeros(pilot.n_debates, np.int32)
            one = (pilot.votes == leader[:, None, None]) & cast
            used = leader != MISSING
            notes.append(
                f"{len(pilot.answers)} answers occur, and the chain follows the camp that leads in round 1 "
                f"against all others: a change between two other answers is not seen"
            )
    if pilot.coding == "correctness":
        notes.append("the log holds only right and wrong: two wrong votes are taken as the same answer")
    votes = np.where(cast, one, -1).astype(np.int8)
    others = _largest_other(votes[used], pilot.votes[used], len(pilot.answers))
    return Coded(votes, target, used, others, tuple(notes))
