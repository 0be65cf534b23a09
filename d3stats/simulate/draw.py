"""How a world becomes debates: fixed blocks, each with its own stream of random numbers.

Debate i lies in block ``i // BLOCK``, and a block draws from the seed's child of that number. So the same
seed gives the same debates whatever range is asked for: a sweep may cut them into chunks of any size and
give the chunks to any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, integer
from d3stats.models.process import CountProcess
from d3stats.trajectories import Trajectories
from d3stats.worlds import World

__all__ = ["BLOCK", "Drawn", "answers_from_correctness", "count_process", "sample", "seed_of", "simulate"]

BLOCK = 1024
"""Debates that share a stream of random numbers; part of what a seed means, so never changed."""


class Drawn(NamedTuple):
    """What a sampler returns for one block, as plain arrays.

    Attributes
    ----------
    votes : ndarray of int, shape (debates, rounds, seats)
        Codes into `answers`, ``MISSING`` for none.
    label : ndarray of int, shape (debates,)
    answers : tuple of str
    tokens : ndarray of float or None, shape (debates, rounds)
        Prompt plus completion tokens of the round.
    scores : ndarray of float or None, shape (debates, rounds, sides)
        Raw points.
    sides : tuple of str
    seats : tuple of str, optional
        Names of the seats; numbers by default.
    """

    votes: NDArray[Any]
    label: NDArray[Any]
    answers: tuple[str, ...]
    tokens: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    sides: tuple[str, ...] = ()
    seats: tuple[str, ...] = ()


@singledispatch
def sample(world: World, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw one block of debates; each world's file registers its sampler here."""
    raise TypeError(f"world must be one that can be sampled; got {world!r}")


@singledispatch
def count_process(world: World, n_rounds: int) -> CountProcess:
    """Return the exact law of the number of votes for A, for a world whose count is a Markov chain.

    Raises
    ------
    TypeError
        When the world's count is not Markov given a class, so that only simulation can answer.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> count_process(Voter(panel=3), n_rounds=4)
    CountProcess(2 classes, panel of 3, 4 rounds)
    """
    raise TypeError(f"world must have a count that is Markov within a class; got {world!r}")


def seed_of(rng: RngLike) -> int:
    """Turn `rng` into the seed of a stream of blocks; an int is that seed itself."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return integer("rng", int(rng), minimum=0)
    return int(as_rng(rng).integers(2**63))


def simulate(
    world: World, n_debates: int, n_rounds: int, rng: RngLike = None, *, first: int = 0
) -> Trajectories:
    """Draw debates from a world.

    Parameters
    ----------
    world : World
    n_debates, n_rounds : int
        At least 1.
    rng : Generator, int or None
        An int names one endless stream of debates.
    first : int
        Where in that stream to begin: ``simulate(w, 10, 3, 7)[4:]`` and ``simulate(w, 6, 3, 7, first=4)`` are
        the same debates, bit for bit.

    Returns
    -------
    Trajectories
        Every debate is its own question.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> simulate(Voter(panel=3), n_debates=5, n_rounds=4, rng=1)
    Trajectories(5 debates x 4 rounds x 3 seats, 5 questions, coding='answers')
    """
    integer("n_debates", n_debates, minimum=1)
    integer("n_rounds", n_rounds, minimum=1)
    integer("first", first, minimum=0)
    parts = list(_blocks(world, n_debates, n_rounds, seed_of(rng), first))
    head = parts[0]

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    votes = joined("votes")
    seats = votes.shape[2]
    names = tuple(map(str, range(first + 1, first + n_debates + 1)))
    return Trajectories(
        votes=votes.astype(np.int32, copy=False),
        label=joined("label").astype(np.int32, copy=False),
        depth=np.full(n_debates, n_rounds, dtype=np.int64),
        panel=np.full(n_debates, seats, dtype=np.int64),
        cluster=np.arange(n_debates, dtype=np.int64),
        answers=head.answers,
        debates=names,
        seats=head.seats or tuple(str(i + 1) for i in range(seats)),
        cluster_names=names,
        scores=joined("scores"),
        sides=head.sides,
        tokens=joined("tokens"),
    )


def _blocks(world: World, n_debates: int, n_rounds: int, seed: int, first: int) -> Iterator[Drawn]:
    end = first + n_debates
    for block in range(first // BLOCK, (end - 1) // BLOCK + 1):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
        drawn = sample(world, BLOCK, n_rounds, stream)
        cut = slice(max(first - block * BLOCK, 0), min(end - block * BLOCK, BLOCK))
        arrays: dict[str, Any] = {n: x[cut] for n, x in drawn._asdict().items() if isinstance(x, np.ndarray)}
        yield drawn._replace(**arrays)


def answers_from_correctness(
    correct: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Turn right and wrong votes on two answers into codes: A is right in half of the debates.

    Parameters
    ----------
    correct : ndarray of bool, shape (debates, rounds, seats)

    Returns
    -------
    votes : ndarray of int32, shape (debates, rounds, seats)
    label : ndarray of int32, shape (debates,)
    """
    label = rng.integers(0, 2, size=len(correct), dtype=np.int32)
    votes = np.where(correct, label[:, None, None], 1 - label[:, None, None]).astype(np.int32)
    return votes, label
