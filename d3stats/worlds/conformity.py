"""The conformity panel: agents who are right or wrong together, and follow the crowd."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import Finite, NonNegativeFloat, Probability, integer, number
from d3stats.agent import Refused, Request
from d3stats.models.chains.process import CountProcess
from d3stats.worlds.base import Group, PanelWorld, simplex
from d3stats.worlds.draw import (
    BLOCK,
    Drawn,
    answers_from_correctness,
    binomial_rows,
    block_seed,
    count_process,
    law_of_sum,
    sample,
    sample_range,
)
from d3stats.worlds.panel import PanelAgent, last_votes
from d3stats.worlds.streams import Stream, seat_of, synthetic_agent

__all__ = [
    "Conformity",
    "fill_votes",
    "reference_conformity",
]


Pairs = tuple[tuple[float, float], ...]


def _classes(name: str, given: Any) -> Pairs:
    try:
        pairs = tuple(
            (number("difficulties' weight", w), number("difficulties' easiness", e)) for w, e in given
        )
    except (TypeError, ValueError) as error:
        if "difficulties'" in str(error):
            raise
        raise ValueError(f"difficulties must be pairs (weight, easiness); got {given!r}") from None
    total = sum(weight for weight, _ in pairs)
    if not pairs or min(weight for weight, _ in pairs) < 0 or abs(total - 1) > 1e-9:
        raise ValueError(f"difficulties' weights must be >= 0 and sum to 1; got {[w for w, _ in pairs]}")
    return pairs


@dataclass(frozen=True, kw_only=True)
class Conformity(PanelWorld):
    """A panel whose agents hold an opinion, keep it by habit, and lean towards the majority.

    An item i has easiness theta_i, from a finite list of difficulty classes; an agent j has skill a_j; all
    agents of one LLM share an error u_i on the item. Two answers, one of them right. In log-odds:

    - round 1: agent j is right with probability ``expit(a_j + theta_i + u_i)``;
    - round t + 1: with probability s (`stubbornness`) it repeats its vote. Otherwise it decides again and is
      right with probability ``expit(a_j + theta_i + u_i + c (2 S_t / n - 1))``, where S_t of n votes were
      right in round t, its own included, and c is the `conformity`.

    The shared error u_i is Normal(0, `shared_sd`) put on the points of a Gauss-Hermite rule, which keeps the Normal's
    first ``2 shared_points - 1`` moments. There are therefore finitely many classes of items. With equal skills and one
    LLM the number of right votes is exactly a Markov chain within a class, with q the chance above:
    ``S_{t+1} = Binomial(S_t, s + (1 - s) q) + Binomial(n - S_t, (1 - s) q)``.

    Parameters
    ----------
    difficulties : sequence of (weight, easiness)
        Share of each class among items, summing to 1, and its easiness in log-odds.
    skill : float or sequence of float
        Skill in log-odds, one for all or one per seat.
    stubbornness : float
        Chance that an agent repeats its vote unasked, in [0, 1].
    conformity : float
        Pull of a unanimous panel in log-odds; negative for contrarians.
    shared_sd : float
        Standard deviation of the shared error in log-odds.
    shared_points : int
        Points of the shared error's rule, at most 31.
    llms : sequence of str
        The LLM of each seat; empty when one LLM takes all seats.

    Notes
    -----
    Item response theory (Rasch, 1960) with a logistic pull by the share of the panel, as in the logit dynamics
    of Brock and Durlauf (2001), equation 6, where choices respond to the mean choice.

    Examples
    --------
    >>> Conformity(panel=5, difficulties=[(0.7, 1.5), (0.3, -0.5)], conformity=2.0).skills
    (0.0, 0.0, 0.0, 0.0, 0.0)
    """

    difficulties: Annotated[Pairs, _classes] = ((0.5, 1.6), (0.3, 0.3), (0.2, -1.0))
    skill: float | tuple[float, ...] = 0.0
    stubbornness: Probability = 0.5
    conformity: Finite = 1.5
    shared_sd: NonNegativeFloat = 0.5
    shared_points: Annotated[int, partial(integer, minimum=1, maximum=31)] = 5
    llms: tuple[str, ...] = ()

    name: ClassVar[str] = "conformity"
    citation: ClassVar[str] = (
        "Rasch (1960), Probabilistic Models; Brock and Durlauf (2001), Review of Economic Studies 68"
    )
    free: ClassVar[tuple[str, ...]] = ("skill", "stubbornness", "conformity", "shared_sd")

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.skill
        several = np.ndim(given) == 1
        skill = tuple(number("skill", a) for a in given) if several else number("skill", given)
        if several and len(given) != self.panel:
            raise ValueError(f"skill must be one number or one per seat ({self.panel}); got {len(given)}")
        object.__setattr__(self, "skill", skill)
        given = self.llms
        if isinstance(given, str) or len(given) not in (0, self.panel):
            raise ValueError(f"llms must be empty or one name per seat ({self.panel}); got {self.llms!r}")
        object.__setattr__(self, "llms", tuple(map(str, given)))

    @property
    def skills(self) -> tuple[float, ...]:
        """Skill of each seat, in log-odds."""
        return self.skill if isinstance(self.skill, tuple) else (self.skill,) * self.panel

    def groups(self) -> dict[str, Group]:
        def weights(world: Conformity) -> tuple[float, ...]:
            return tuple(w for w, _ in world.difficulties)

        def easiness(world: Conformity) -> tuple[float, ...]:
            return tuple(e for _, e in world.difficulties)

        def paired(world: Conformity, w: tuple[float, ...], e: tuple[float, ...]) -> Conformity:
            return replace(world, difficulties=tuple(zip(w, e, strict=True)))

        groups = self.scalars("stubbornness", "conformity", "shared_sd")
        groups["easiness"] = Group(easiness, lambda world, values: paired(world, weights(world), values))
        if not isinstance(self.skill, tuple):
            groups["skill"] = Group(
                lambda world: (world.skill,), lambda world, values: replace(world, skill=values[0])
            )
        if len(self.difficulties) > 1:
            groups["weights"] = simplex(weights, lambda world, values: paired(world, values, easiness(world)))
        return groups

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        if {"skill", "easiness"} <= set(free):
            return ["skill and easiness enter as a sum, so votes show only the sum"]
        if "weights" not in free:
            return ["the number of classes of difficulty is assumed, because few seats say little about it"]
        return []


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
        The LLM and the skill of each seat.
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
        weights, mass, scipy.special.expit(logit), np.ascontiguousarray(again), llm.astype(np.int64), skill
    )


def chance_again(world: Conformity, logit: Any, share: Any, own: Any) -> Any:
    """Return P(right next), by the share of right votes now and whether one's own is among them (1 or 0)."""
    return world.stubbornness * own + (1 - world.stubbornness) * chance_decided(world, logit, share)


def chance_decided(world: Conformity, logit: Any, share: Any) -> Any:
    """Return P(right) of an agent that decides again, by the share of right votes now."""
    return scipy.special.expit(logit + world.conformity * (2 * share - 1))


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
    from d3stats.worlds._conformity_kernel import fill

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
        raise TypeError(
            "world must have one skill for all seats, because its count is not Markov otherwise; got several"
        )
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


class ConformityAgent(PanelAgent[Conformity]):
    """Keeps its vote by habit or decides again, pulled by the share of right votes in the last round seen.

    An agent that does not see its own last vote always decides again. The seat, which gives skill and LLM, is the
    number at the end of the agent's name.
    """

    def _item(self, question: str) -> tuple[float, list[float]]:
        """Return easiness, and the shared error of each LLM."""
        of = chances(self.world)
        d, u = draw_classes(of, 1, self.streams.generator("item", question))
        points, _ = shared_error(self.world)
        return self.world.difficulties[int(d[0])][1], points[u[0]].tolist()

    def _said(self, request: Request, stream: Stream) -> int:
        seat = seat_of(request.agent) - 1
        if seat >= self.world.panel:
            raise Refused(f"panel must have a seat for {request.agent!r}; got panel={self.world.panel}")
        question, votes = request.case.question, last_votes(request.seen)
        easiness, errors = self.item(question)
        logit = self.world.skills[seat] + easiness + errors[int(chances(self.world).llm[seat])]
        if not votes:
            return int(stream.uniform() >= scipy.special.expit(logit))
        right = {speaker: self._number(vote, question) == 0 for speaker, vote in votes.items()}
        share = sum(right.values()) / len(right)
        if request.agent not in right:
            return int(stream.uniform() >= chance_decided(self.world, logit, share))
        return int(stream.uniform() >= chance_again(self.world, logit, share, float(right[request.agent])))


synthetic_agent.register(Conformity, ConformityAgent)
