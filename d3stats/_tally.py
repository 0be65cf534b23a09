"""Who leads each round, by how much: plain counting, fast for few answers and right for any number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._codes import MISSING

__all__ = ["tally_rounds"]

_FEW = 4
"""Up to so many answers are counted one by one; more are compared seat with seat."""


def tally_rounds(votes: NDArray[np.int32], n_answers: int) -> tuple[NDArray[Any], ...]:
    """Count camps in every round.

    Parameters
    ----------
    votes : ndarray of int32, shape (debates, rounds, seats)
    n_answers : int

    Returns
    -------
    winner : ndarray of int32, shape (debates, rounds)
        Answer of the largest camp, ``MISSING`` without a vote; on a tie the one in the lowest seat.
    tied : ndarray of bool
    lead, second, cast : ndarray of int32
        The largest camp, the second largest, and all votes.
    """
    n_debates, n_rounds, n_seats = votes.shape
    shape = (n_debates, n_rounds)
    # Seat by seat on contiguous arrays: a short last axis is several times slower.
    seats = [np.ascontiguousarray(votes[:, :, s]) for s in range(n_seats)]
    cast = np.zeros(shape, dtype=np.int32)
    for seat in seats:
        cast += seat != MISSING
    sizes = _by_answer(seats, n_answers, shape) if n_answers <= _FEW else _by_seat(seats, shape)
    lead = np.zeros(shape, dtype=np.int32)
    for size in sizes:
        np.maximum(lead, size, out=lead)
    winner = np.full(shape, MISSING, dtype=np.int32)
    for seat, size in zip(reversed(seats), reversed(sizes), strict=True):
        np.copyto(winner, seat, where=(size == lead) & (seat != MISSING))
    second = np.zeros(shape, dtype=np.int32)
    for seat, size in zip(seats, sizes, strict=True):
        np.maximum(second, size * (seat != winner), out=second)
    return winner, (second == lead) & (lead > 0), lead, second, cast


def _by_answer(
    seats: list[NDArray[np.int32]], n_answers: int, shape: tuple[int, int]
) -> list[NDArray[np.int32]]:
    """Return the size of each seat's camp, answers counted one by one."""
    sizes = [np.zeros(shape, dtype=np.int32) for _ in seats]
    for answer in range(n_answers):
        mine = [seat == answer for seat in seats]
        total = np.zeros(shape, dtype=np.int32)
        for one in mine:
            total += one
        for one, size in zip(mine, sizes, strict=True):
            np.copyto(size, total, where=one)
    return sizes


def _by_seat(seats: list[NDArray[np.int32]], shape: tuple[int, int]) -> list[NDArray[np.int32]]:
    """Return the size of each seat's camp, seats compared two by two."""
    sizes = [(seat != MISSING).astype(np.int32) for seat in seats]
    for i, seat in enumerate(seats):
        for j in range(i + 1, len(seats)):
            same = (seat == seats[j]) & (seat != MISSING)
            sizes[i] += same
            sizes[j] += same
    return sizes
