"""The conformity panel: drawn by compiled code, drawn by plain numpy, and exact."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.chains.process import CountProcess
from d3stats.simulate.binomial import binomial_rows, law_of_sum
from d3stats.simulate.draw import (
    BLOCK,
    Drawn,
    answers_from_correctness,
    block_seed,
    count_process,
    sample,
    sample_range,
)
from d3stats.worlds.conformity import Conformity

__all__ = ["conformity_process", "fill_votes", "reference_conformity", "sample_conformity"]

Floats = NDArray[np.float64]

ONE = 2**32
"""Chances are compared with 32 random bits: a resolution of 2.3e-10."""

_ALONE = 64
"""Blocks below which a second thread is not worth starting."""


@dataclass(frozen=True, eq=False)
class Chances:
    """Every probability of the world, by item class and kind of agent.

    A kind of agent is a pair (LLM, skill). With D difficulties, Q points of the shared error and K skills:

    Attributes
    ----------
    difficulty : ndarray, shape (D,)
    shared : ndarray, shape (Q,)
        Weights of the difficulties, and of the points of the shared error.
    opening : ndarray, shape (D, Q, K)
        P(right in round 1).
    again : ndarray, shape (D, Q, K, panel + 1, 2)
        P(right next), by the number of right votes now and by whether one's own is among them.
    llm, skill : ndarray of int, shape (panel,)
        Which LLM and which skill sits in a seat.
    """

    difficulty: Floats
    shared: Floats
    opening: Floats
    again: Floats
    llm: NDArray[np.int64]
    skill: NDArray[np.int64]


@lru_cache(maxsize=64)
def chances(world: Conformity) -> Chances:
    """Tabulate a world's probabilities."""
    n = world.panel
    weights, easiness = np.array(world.difficulties).T
    points, mass = shared_error(world)
    skills, skill = np.unique(world.skills, return_inverse=True)
    llm = np.unique(world.llms, return_inverse=True)[1] if world.llms else np.zeros(n, np.int64)
    logit = easiness[:, None, None] + points[:, None] + skills
    own = np.array([0.0, 1.0])
    again = chance_again(world, logit[..., None, None], np.arange(n + 1)[:, None] / n, own)
    return Chances(
        weights, mass, special.expit(logit), np.ascontiguousarray(again), llm.astype(np.int64), skill
    )


def chance_again(world: Conformity, logit: Any, share: Any, own: Any) -> Any:
    """Return P(right next), by the share of right votes now and whether one's own is among them (1 or 0)."""
    return world.stubbornness * own + (1 - world.stubbornness) * chance_decided(world, logit, share)


def chance_decided(world: Conformity, logit: Any, share: Any) -> Any:
    """Return P(right) of an agent that decides again, by the share of right votes now."""
    return special.expit(logit + world.conformity * (2 * share - 1))


def draw_classes(
    of: Chances, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw items: the difficulty, shape (n,), and the shared error of each LLM, shape (n, LLMs), as places."""
    d = rng.choice(len(of.difficulty), size=n, p=of.difficulty)
    return d, rng.choice(len(of.shared), size=(n, of.llm.max() + 1), p=of.shared)


def shared_error(world: Conformity) -> tuple[Floats, Floats]:
    """Return the values of the shared error and their weights."""
    if world.shared_sd == 0:
        return np.zeros(1), np.ones(1)
    nodes, mass = np.polynomial.hermite_e.hermegauss(world.shared_points)
    return world.shared_sd * nodes, mass / mass.sum()


def reference_conformity(world: Conformity, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw the same law by plain numpy: what the compiled sampler is checked against."""
    of = chances(world)
    d, errors = draw_classes(of, n_debates, rng)
    u = errors[:, of.llm]
    correct = np.empty((n_debates, n_rounds, world.panel), dtype=bool)
    correct[:, 0] = rng.random((n_debates, world.panel)) < of.opening[d[:, None], u, of.skill]
    for t in range(1, n_rounds):
        own = correct[:, t - 1]
        p = of.again[d[:, None], u, of.skill, own.sum(axis=1)[:, None], own.astype(int)]
        correct[:, t] = rng.random(own.shape) < p
    votes, label = answers_from_correctness(correct, rng)
    return Drawn(votes, label, ("A", "B"))


def fill_votes(
    world: Conformity, states: NDArray[np.uint64], votes: NDArray[Any], skip: int = 0, threads: int = 1
) -> NDArray[np.int32]:
    """Draw debates into an array that the caller owns, and return the labels.

    Parameters
    ----------
    states : ndarray of uint64, shape (blocks, 4)
        Where each block's generator starts.
    votes : ndarray of int8 or int32, shape (debates, rounds, panel)
    skip : int
        Debates of the first block that are drawn and not kept.
    threads : int
        The result does not depend on it.
    """
    from d3stats.simulate._conformity_kernel import fill

    of = chances(world)
    difficulty, shared = thresholds(np.cumsum(of.difficulty)), thresholds(np.cumsum(of.shared))
    difficulty[-1] = shared[-1] = ONE  # rounding must not leave a gap at the top
    opening, again = thresholds(of.opening), thresholds(of.again)
    llm = of.llm if len(of.shared) > 1 else np.zeros_like(of.llm)
    kinds, kind = np.unique(np.stack([llm, of.skill]), axis=1, return_inverse=True)
    n_llms = int(llm.max()) + 1 if len(of.shared) > 1 else 0
    label = np.empty(len(votes), dtype=np.int32)

    def work(part: NDArray[np.int64]) -> None:
        start, stop = int(part[0]), int(part[-1]) + 1
        low, high = max(start * BLOCK - skip, 0), min(stop * BLOCK - skip, len(votes))
        fill(
            states[start:stop],
            difficulty,
            shared,
            opening,
            again,
            kinds.astype(np.uint64),
            kind.ravel().astype(np.uint64),
            n_llms,
            skip if start == 0 else 0,
            BLOCK,
            votes[low:high],
            label[low:high],
        )

    parts = np.array_split(np.arange(len(states)), max(1, min(threads, len(states))))
    if len(parts) == 1:
        work(parts[0])
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(work, parts))
    return label


def thresholds(p: Floats) -> NDArray[np.uint64]:
    """Return, flat, the numbers that 32 random bits lie below with these probabilities."""
    return np.rint(p.ravel() * ONE).astype(np.uint64)


def threads_for(n_blocks: int) -> int:
    """Return how many threads to use: all cores, or as many as a pool of workers allows each of them."""
    allowed = os.environ.get("NUMBA_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if n_blocks < _ALONE else min(cores, int(allowed)) if allowed.isdigit() else cores


@sample.register
def sample_conformity(world: Conformity, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates of the conformity panel with a generator seeded by `rng`."""
    states = np.empty((-(-n_debates // BLOCK), 4), dtype=np.uint64)
    states[:] = rng.integers(0, 2**64, size=states.shape, dtype=np.uint64)
    votes = np.empty((n_debates, n_rounds, world.panel), dtype=np.int32)
    return Drawn(votes, fill_votes(world, states, votes), ("A", "B"))


@sample_range.register
def _range_of_conformity(world: Conformity, n_debates: int, n_rounds: int, seed: int, first: int) -> Drawn:
    blocks = range(first // BLOCK, (first + n_debates - 1) // BLOCK + 1)
    states = np.empty((len(blocks), 4), dtype=np.uint64)
    for row, block in zip(states, blocks, strict=True):
        row[:] = block_seed(seed, block).generate_state(4, np.uint64)
    votes = np.empty((n_debates, n_rounds, world.panel), dtype=np.int32)
    label = fill_votes(world, states, votes, first % BLOCK, threads_for(len(blocks)))
    return Drawn(votes, label, ("A", "B"))


@count_process.register
def conformity_process(world: Conformity, n_rounds: int) -> CountProcess:
    """Return the exact law of the count, by truth, difficulty and shared error.

    Raises
    ------
    TypeError
        When seats differ in skill, or in the LLM and its error: the count is then not a Markov chain.
    """
    of, n = chances(world), world.panel
    if of.opening.shape[2] > 1:
        raise TypeError("world must have one skill for all seats, or its count is not Markov; got several")
    if of.llm.max() > 0 and world.shared_sd > 0:
        raise TypeError("world must have one LLM in all seats, or no shared error, to be Markov; got several")
    start = binomial_rows(np.array([n]), of.opening.reshape(-1, 1))
    right = np.arange(n + 1)
    again = of.again.reshape(len(start), n + 1, 2)
    steps = law_of_sum(binomial_rows(n - right, again[:, :, 0]), binomial_rows(right, again[:, :, 1]))
    weights = (of.difficulty[:, None] * of.shared).ravel()
    names = tuple(
        f"difficulty {d + 1}" + (f", shared error {q + 1}" if len(of.shared) > 1 else "")
        for d in range(len(of.difficulty))
        for q in range(len(of.shared))
    )
    kept = weights > 0
    return CountProcess.symmetric(
        start[kept, 0],
        steps[kept],
        n_rounds=n_rounds,
        weights=weights[kept] / weights.sum(),
        names=tuple(x for x, k in zip(names, kept, strict=True) if k),
    )
