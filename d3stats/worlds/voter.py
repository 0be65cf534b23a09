"""The Wright-Fisher model as a voter model: no agent learns, each copies the vote of a random seat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._check import OpenProbability, PositiveFloat, integer
from d3stats.agent import Request
from d3stats.models.chains.process import CountProcess
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.worlds.base import Group, PanelWorld, letters
from d3stats.worlds.draw import Drawn, answers_from_correctness, count_process, relabelled, sample
from d3stats.worlds.panel import PanelAgent, last_votes, number_drawn
from d3stats.worlds.streams import Stream, seat_of, synthetic_agent

__all__ = ["DirichletCompound", "Voter"]


@dataclass(frozen=True, kw_only=True)
class Voter(PanelWorld):
    """Agents who copy a seat of the last round, drawn at random: the martingale null of debate.

    Round 1: a debate has ability p ~ Beta(a, b), and each agent is right with probability p, given p
    independently. Round t + 1: each agent, independently, takes the vote that a seat drawn uniformly from
    the panel (itself included) cast in round t. So ``S[t+1] | S[t] ~ Binomial(n, S[t] / n)`` for the number S of
    right votes, and ``E[S[t+1] | past] = S[t]``. All seats change at once, so the count is the Wright-Fisher model of
    genetic drift without mutation (Fisher 1930; Wright 1931). The voter model of Clifford and Sudbury changes one site
    at a time.

    Parameters
    ----------
    accuracy : float
        Mean individual accuracy E[p] in round 1, strictly between 0 and 1.
    precision : float
        a + b of the Beta law of p, above 0; debates with a large precision have similar p.

    Examples
    --------
    >>> Voter(panel=7, accuracy=0.6).precision
    4.0
    """

    accuracy: OpenProbability = 0.65
    precision: PositiveFloat = 4.0

    name: ClassVar[str] = "voter"
    citation: ClassVar[str] = (
        "Wright (1931), Genetics 16; one site at a time: Clifford and Sudbury (1973), Biometrika 60; as the null of "
        "debate: arXiv 2508.17536"
    )
    free: ClassVar[tuple[str, ...]] = ("accuracy", "precision")

    def groups(self) -> dict[str, Group]:
        return self.scalars("accuracy", "precision")


@dataclass(frozen=True, kw_only=True)
class DirichletCompound(PanelWorld):
    """Agents whose belief over m answers is a Dirichlet law, to whose counts they add every answer heard.

    A debate has ability p ~ Beta(`accuracy` * `precision`, (1 - `accuracy`) * `precision`). Every agent i
    starts with the counts ``alpha_{i,0} = strength * (p, (1 - p) / (m - 1), ...)``, the right answer first. In
    round t it draws theta ~ Dirichlet(alpha_{i,t-1}) and answers y_{i,t} ~ Categorical(theta); then
    ``alpha_{i,t} = alpha_{i,t-1} + counts of y_{j,t} over its neighbours j``. No agent learns anything. As
    all agents of a debate start alike, the mean of an agent's probability of the right answer stays p.

    Parameters
    ----------
    accuracy : float
        Mean individual accuracy in round 1, strictly between 0 and 1.
    precision : float
        a + b of the Beta law of p, above 0; debates with a large precision have similar p.
    strength : float
        How many answers heard an agent's first opinion is worth; above 0.
    n_answers : int
        m, at least 2; at most 26.
    degree : int or None
        How many neighbours an agent hears: the next seats in a circle, its own not among them. None is all
        other seats. Tokens are charged as if every message were read, at every degree.

    Examples
    --------
    >>> DirichletCompound(panel=5, n_answers=4, degree=2).neighbours
    2
    """

    accuracy: OpenProbability = 0.65
    precision: PositiveFloat = 4.0
    strength: PositiveFloat = 4.0
    n_answers: Annotated[int, partial(integer, minimum=2, maximum=26)] = 2
    degree: int | None = None

    name: ClassVar[str] = "dirichlet_compound"
    citation: ClassVar[str] = (
        "Debate or Vote (2025), arXiv 2508.17536, the Dirichlet-compound-multinomial model"
    )
    free: ClassVar[tuple[str, ...]] = ("accuracy", "precision", "strength")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree is not None:
            degree = integer("degree", self.degree, minimum=0)
            if degree >= self.panel:
                raise ValueError(f"degree must be below panel={self.panel}; got degree={degree}")
            object.__setattr__(self, "degree", degree)

    @property
    def neighbours(self) -> int:
        """The number of other agents that an agent hears."""
        return self.panel - 1 if self.degree is None else self.degree

    @property
    def answers(self) -> tuple[str, ...]:
        return letters(self.n_answers)

    def groups(self) -> dict[str, Group]:
        return self.scalars("accuracy", "precision", "strength")

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        return (
            ["the network of listeners is assumed, because counts say little about it"]
            if self.degree is None
            else []
        )


@sample.register
def sample_voter(world: Voter, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates in which each agent copies the vote of a random seat."""
    ability = draw_ability(world, n_debates, rng)
    right = np.empty((n_rounds, n_debates, world.panel), dtype=bool)
    right[0] = rng.random((n_debates, world.panel)) < ability[:, None]
    first_seat = np.arange(0, n_debates * world.panel, world.panel)[:, None]
    for t in range(1, n_rounds):
        whom = rng.integers(0, world.panel, size=(n_debates, world.panel))
        whom += first_seat
        right[t - 1].take(whom, out=right[t], mode="wrap")  # any mode but "raise" writes without a copy
    correct = right.transpose(1, 0, 2)
    votes, label = answers_from_correctness(correct, rng)
    return Drawn(votes, label, ("A", "B"))


def draw_ability(world: Voter | DirichletCompound, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the chance of the right answer in n debates, Beta with the world's accuracy as its mean."""
    return rng.beta(world.accuracy * world.precision, (1 - world.accuracy) * world.precision, size=n)


@count_process.register
def voter_process(world: Voter, n_rounds: int) -> CountProcess:
    """Return the exact law of the count: a Beta-Binomial start, then S[t+1] ~ Binomial(n, S[t] / n)."""
    n = world.panel
    law = BetaBinomialMixture.from_alpha_beta(
        [1.0], [world.accuracy * world.precision], [(1 - world.accuracy) * world.precision]
    )
    start = np.asarray(law.pmf(n))
    j = np.arange(n + 1)
    share = j[:, None] / n
    step = scipy.special.binom(n, j) * share**j * (1 - share) ** (n - j)
    return CountProcess.symmetric([start / start.sum()], [step], n_rounds=n_rounds)


@sample.register
def sample_dirichlet(
    world: DirichletCompound, n_debates: int, n_rounds: int, rng: np.random.Generator
) -> Drawn:
    """Draw debates of agents who count what they hear."""
    n, m = world.panel, world.n_answers
    ability = draw_ability(world, n_debates, rng)
    alpha = np.repeat(first_counts(world, ability)[:, None, :], n, axis=1)
    said = np.empty((n_debates, n_rounds, n), dtype=np.int32)
    for t in range(n_rounds):
        # theta is used once, so an answer drawn from its mean has the same law
        heap = np.cumsum(alpha, axis=2)
        point = rng.random((n_debates, n, 1)) * heap[:, :, -1:]
        said[:, t] = np.minimum((point >= heap).sum(axis=2), m - 1)
        spoken = (said[:, t, :, None] == np.arange(m)).astype(np.float64)
        if world.degree is None:
            alpha += spoken.sum(axis=1, keepdims=True) - spoken
        else:
            for step in range(1, world.neighbours + 1):
                alpha += np.roll(spoken, -step, axis=1)
    votes, label = relabelled(said, m, rng)
    return Drawn(votes, label, world.answers)


def first_counts(world: DirichletCompound, ability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts with which every agent starts, shape (debates, answers), the right answer first."""
    counts = np.empty((len(ability), world.n_answers))
    counts[:, 0] = world.strength * ability
    counts[:, 1:] = world.strength * ((1 - ability) / (world.n_answers - 1))[:, None]
    return counts


class VoterAgent(PanelAgent[Voter]):
    """Right with the item's ability while no votes are seen; then the vote of a seat of the last round seen."""

    def _item(self, question: str) -> float:
        return float(draw_ability(self.world, 1, self.streams.generator("item", question))[0])

    def _said(self, request: Request, stream: Stream) -> int:
        votes = list(last_votes(request.seen).values())
        question = request.case.question
        if not votes:
            return int(stream.uniform() >= self.item(question))
        return self._number(votes[int(stream.uniform() * len(votes))], question)


class DirichletAgent(PanelAgent[DirichletCompound]):
    """Answers by its first opinion and by the count of every vote of its neighbours that it sees."""

    def _item(self, question: str) -> list[float]:
        ability = draw_ability(self.world, 1, self.streams.generator("item", question))
        return list(first_counts(self.world, ability)[0].tolist())

    def _said(self, request: Request, stream: Stream) -> int:
        question, world = request.case.question, self.world
        counts = list(self.item(question))
        mine = seat_of(request.agent)
        for message in request.seen:
            if message.vote is None or message.speaker == request.agent:
                continue
            # Neighbours are the next ones around the table.
            if world.degree is None or (seat_of(message.speaker) - mine) % world.panel <= world.degree:
                counts[self._number(message.vote, question)] += 1.0
        return number_drawn(counts, stream.uniform() * sum(counts))


synthetic_agent.register(Voter, VoterAgent)
synthetic_agent.register(DirichletCompound, DirichletAgent)
