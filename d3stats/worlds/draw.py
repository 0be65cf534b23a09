"""Debates are drawn from a world in fixed blocks, each with its own stream of random numbers.

Debate i is in block ``i // BLOCK``, and a block draws from the seed's child of that number. The same seed therefore
gives the same debates for every range that is asked for. A study may cut them into chunks of any size and give the
chunks to any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer
from d3stats.models.chains.process import CountProcess
from d3stats.polling import Polling
from d3stats.trajectories import Trajectories
from d3stats.worlds.base import PanelWorld, World
from d3stats.worlds.tokens import Lengths, round_tokens, sample_tokens

__all__ = [
    "BLOCK",
    "Drawn",
    "answers_from_correctness",
    "binomial_rows",
    "block_seed",
    "count_process",
    "law_of_sum",
    "sample",
    "sample_range",
    "seed_of",
    "simulate_debates",
]


BLOCK = 1024
"""Debates that share a stream of random numbers; part of what a seed means, so never changed."""


class Drawn(NamedTuple):
    """The debates of one block, as a sampler returns them: plain arrays.

    Attributes
    ----------
    votes : ndarray of int, shape (debates, rounds, seats)
        Codes into `answers`, ``MISSING`` for none.
    label : ndarray of int, shape (debates,)
    answers : tuple of str
    tokens : ndarray of float or None, shape (debates, rounds)
        Prompt plus completion tokens of the round; None lets ``simulate_debates`` fill in those of `lengths`.
    scores : ndarray of float or None, shape (debates, rounds, sides)
        Raw points.
    sides : tuple of str
    seats : tuple of str, optional
        Names of the seats; numbers by default.
    tokens_in, tokens_out : ndarray of float, shape (debates, rounds)
        Prompt and completion tokens; given wherever `tokens` is.
    depth : ndarray of int, shape (debates,), optional
        Rounds of each debate, where the protocol ends debates itself.
    polled, poll_tokens, poll_tokens_in, poll_tokens_out : ndarray, shape (debates, rounds), optional
        As in :class:`~d3stats.trajectories.Trajectories`, where some agents only vote.
    """

    votes: NDArray[Any]
    label: NDArray[Any]
    answers: tuple[str, ...]
    tokens: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    sides: tuple[str, ...] = ()
    seats: tuple[str, ...] = ()
    tokens_in: NDArray[np.float64] | None = None
    tokens_out: NDArray[np.float64] | None = None
    depth: NDArray[np.int64] | None = None
    polled: NDArray[np.bool_] | None = None
    poll_tokens: NDArray[np.float64] | None = None
    poll_tokens_in: NDArray[np.float64] | None = None
    poll_tokens_out: NDArray[np.float64] | None = None

    def with_tokens(
        self, sent: Floats, written: Floats, to_voters: Floats, by_voters: Floats, polling: Polling
    ) -> Drawn:
        """Add the tokens of debates that are played to their full depth, and those of polls after each round."""
        n_rounds = sent.shape[1]
        numbers = np.arange(1, n_rounds + 1)
        always = np.isin(numbers, polling.always)
        if always.any():
            # What is asked under every rule is no poll that another run would leave out.
            sent, written = sent + always * to_voters, written + always * by_voters
            to_voters, by_voters = np.where(always, 0.0, to_voters), np.where(always, 0.0, by_voters)
        asked = always | (numbers == n_rounds) if polling.at_end else np.full(n_rounds, True)
        polled = np.broadcast_to(asked, sent.shape)
        sent, written = (
            talk + np.where(polled, polls, 0.0) for talk, polls in ((sent, to_voters), (written, by_voters))
        )
        drawn = self._replace(tokens=sent + written, tokens_in=sent, tokens_out=written)
        if not polling.voters:
            return drawn
        return drawn._replace(
            polled=polled.copy(),
            poll_tokens=to_voters + by_voters,
            poll_tokens_in=to_voters,
            poll_tokens_out=by_voters,
        )


@singledispatch
def sample(world: World, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw one block of debates; each world's file registers its sampler here."""
    raise TypeError(f"world must be one that can be sampled; got {type(world).__name__}")


@singledispatch
def count_process(world: World, n_rounds: int) -> CountProcess:
    """Return the exact law of the number of votes for A, for a world whose count is a Markov chain.

    Parameters
    ----------
    world : World
        The parameters.
    n_rounds : int
        Rounds of a debate played to its full depth.

    Returns
    -------
    CountProcess

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
    raise TypeError(f"world must have a count that is Markov within a class; got {type(world).__name__}")


def seed_of(rng: RngLike) -> int:
    """Turn `rng` into the seed of a stream of blocks; an int is that seed itself."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return integer("rng", int(rng), minimum=0)
    return int(as_rng(rng).integers(2**63))


def simulate_debates(
    world: World, n_debates: int, n_rounds: int, rng: RngLike = None, *, first: int = 0
) -> Trajectories:
    """Draw debates from a world.

    Parameters
    ----------
    world : World
        The synthetic world with its parameters.
    n_debates, n_rounds : int
        At least 1.
    rng : Generator, int or None
        An int names one endless stream of debates.
    first : int
        Where in that stream to begin: ``simulate_debates(w, 10, 3, 7)[4:]`` and
        ``simulate_debates(w, 6, 3, 7, first=4)`` are the same debates, bit for bit.

    Returns
    -------
    Trajectories
        Every debate is its own question.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> simulate_debates(Voter(panel=3), n_debates=5, n_rounds=4, rng=1)
    Trajectories(5 debates x 4 rounds x 3 seats, 5 questions, coding='answers')
    """
    integer("n_debates", n_debates, minimum=1)
    integer("n_rounds", n_rounds, minimum=1)
    integer("first", first, minimum=0)
    seed = seed_of(rng)
    drawn = sample_range(world, n_debates, n_rounds, seed, first)
    if drawn.tokens is None and isinstance(world, PanelWorld) and world.lengths is not None:
        sent, written = tokens_of_range(world.lengths, world.panel, n_debates, n_rounds, seed, first)
        drawn = drawn._replace(tokens=sent + written, tokens_in=sent, tokens_out=written)
    seats = drawn.votes.shape[2]
    names = tuple(map(str, range(first + 1, first + n_debates + 1)))
    polling = world.polling
    depth = np.full(n_debates, n_rounds, dtype=np.int64) if drawn.depth is None else drawn.depth
    return Trajectories(
        votes=drawn.votes.astype(np.int32, copy=False),
        label=drawn.label.astype(np.int32, copy=False),
        depth=depth,
        panel=np.full(n_debates, seats, dtype=np.int64),
        cluster=np.arange(n_debates, dtype=np.int64),
        answers=drawn.answers,
        debates=names,
        seats=drawn.seats or tuple(str(i + 1) for i in range(seats)),
        cluster_names=names,
        scores=drawn.scores,
        sides=drawn.sides,
        tokens=drawn.tokens,
        tokens_in=drawn.tokens_in,
        tokens_out=drawn.tokens_out,
        polled=drawn.polled,
        poll_tokens=drawn.poll_tokens,
        poll_tokens_in=drawn.poll_tokens_in,
        poll_tokens_out=drawn.poll_tokens_out,
        polling=None if polling is None else np.zeros(n_debates, dtype=np.int16),
        pollings=() if polling is None else (polling,),
        ended_itself=None if drawn.depth is None else np.full(n_debates, True),
    )


@singledispatch
def sample_range(world: World, n_debates: int, n_rounds: int, seed: int, first: int) -> Drawn:
    """Draw the debates `first` to ``first + n_debates - 1`` of a seed's stream, by default block by block.

    A world whose sampler fills many blocks at once registers its own; it must give the same debates however
    the range is cut.
    """
    parts = []
    for block, cut in blocks_of(first, n_debates):
        drawn = sample(world, BLOCK, n_rounds, np.random.default_rng(block_seed(seed, block)))
        arrays: dict[str, Any] = {n: x[cut] for n, x in drawn._asdict().items() if isinstance(x, np.ndarray)}
        parts.append(drawn._replace(**arrays))
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name, array in parts[0]._asdict().items()
        if isinstance(array, np.ndarray)
    }
    return parts[0]._replace(**joined)


def tokens_of_range(
    lengths: Lengths, panel: int, n_debates: int, n_rounds: int, seed: int, first: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the prompt and the completion tokens of each round of a range of debates."""
    if lengths.spread == 0:
        sent, written = round_tokens(lengths, panel, n_rounds)
        shape = (n_debates, n_rounds)
        return np.broadcast_to(sent, shape), np.broadcast_to(written, shape)
    parts = []
    for block, cut in blocks_of(first, n_debates):
        stream = np.random.default_rng(block_seed(seed, block, "tokens"))
        parts.append(np.stack(sample_tokens(lengths, panel, BLOCK, n_rounds, stream))[:, cut])
    sent, written = np.concatenate(parts, axis=1)
    return sent, written


def blocks_of(first: int, n_debates: int) -> Iterator[tuple[int, slice]]:
    """Yield each block that a range touches, and which of its debates lie in the range."""
    end = first + n_debates
    for block in range(first // BLOCK, (end - 1) // BLOCK + 1):
        yield block, slice(max(first - block * BLOCK, 0), min(end - block * BLOCK, BLOCK))


def block_seed(
    seed: int, block: int, purpose: Literal["debates", "tokens"] = "debates"
) -> np.random.SeedSequence:
    """Return the seed's child for a block; tokens have their own, so they do not move the votes."""
    key = (block,) if purpose == "debates" else (block, 1)
    return np.random.SeedSequence(seed, spawn_key=key)


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
    votes = np.equal(correct, label.astype(np.bool_)[:, None, None], order="C").astype(np.int32)
    return votes, label


def relabelled(
    said: NDArray[np.int32], n_answers: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give codes to answers that are numbered with the right one first: each is right equally often.

    Parameters
    ----------
    said : ndarray of int32, shape (debates, rounds, seats)
        0 for the right answer, other numbers for wrong ones.

    Returns
    -------
    votes : ndarray of int32, shape (debates, rounds, seats)
    label : ndarray of int32, shape (debates,)
    """
    label = rng.integers(0, n_answers, size=len(said), dtype=np.int32)
    return (said + label[:, None, None]) % np.int32(n_answers), label


def binomial_rows(trials: NDArray[np.int64], p: Floats) -> Floats:
    """Return Binomial pmfs.

    Parameters
    ----------
    trials : ndarray of int, shape (rows,)
    p : ndarray of float, shape (..., rows)

    Returns
    -------
    ndarray of float, shape (..., rows, max(trials) + 1)
        P(k successes) in the last axis.
    """
    k = np.arange(trials.max() + 1)
    failures = np.maximum(trials[:, None] - k, 0)
    rows = scipy.special.binom(trials[:, None], k) * p[..., None] ** k * (1 - p[..., None]) ** failures
    rows = np.where(k <= trials[:, None], rows, 0.0)
    result: Floats = rows / rows.sum(axis=-1, keepdims=True)
    return result


def law_of_sum(x: Floats, y: Floats) -> Floats:
    """Return the law of the sum of two independent counts, laws in the last axis; mass past its end is cut."""
    size = x.shape[-1]
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for i in range(size):
        total[..., i:] += x[..., i : i + 1] * y[..., : size - i]
    return total
