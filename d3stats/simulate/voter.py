"""The voter model, drawn and exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.chains.process import CountProcess
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.simulate.draw import Drawn, answers_from_correctness, count_process, sample
from d3stats.worlds import DirichletCompound, Voter

__all__ = ["sample_voter", "voter_process"]


@sample.register
def sample_voter(world: Voter, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates in which everybody copies somebody."""
    ability = draw_ability(world, n_debates, rng)
    correct = np.empty((n_debates, n_rounds, world.panel), dtype=bool)
    correct[:, 0] = rng.random((n_debates, world.panel)) < ability[:, None]
    for t in range(1, n_rounds):
        whom = rng.integers(0, world.panel, size=(n_debates, world.panel))
        correct[:, t] = np.take_along_axis(correct[:, t - 1], whom, axis=1)
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
    step = special.binom(n, j) * share**j * (1 - share) ** (n - j)
    return CountProcess.symmetric([start / start.sum()], [step], n_rounds=n_rounds)
