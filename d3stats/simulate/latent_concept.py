"""The latent-concept panel, drawn, and exact when the agents hear only themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.chains.process import CountProcess
from d3stats.simulate.binomial import binomial_rows
from d3stats.simulate.draw import Drawn, count_process, letters, relabelled, sample
from d3stats.worlds.latent_concept import LatentConcept

__all__ = ["latent_concept_process", "sample_latent_concept"]


@sample.register
def sample_latent_concept(
    world: LatentConcept, n_debates: int, n_rounds: int, rng: np.random.Generator
) -> Drawn:
    """Draw debates of Bayesian agents; concept 0 is the true one until answers are named."""
    m, gain = world.n_concepts, log_gain(world)
    log_belief = np.zeros((n_debates, m))
    log_belief[:, 0] = log_prior(world)
    said = np.empty((n_debates, n_rounds, world.panel), dtype=np.int32)
    for t in range(n_rounds):
        for j in range(world.panel):
            heap = np.cumsum(predictive(world, log_belief), axis=1)
            said[:, t, j] = np.minimum((rng.random((n_debates, 1)) >= heap).sum(axis=1), m - 1)
            heard = said[:, t, j] if world.evidence == "self" else _under_the_truth(world, n_debates, rng)
            log_belief[np.arange(n_debates), heard] += gain
    votes, label = relabelled(said, m, rng)
    return Drawn(votes, label, letters(m))


def log_prior(world: LatentConcept) -> float:
    """Return the log belief in the truth at the start, that in each other concept being 0."""
    return float(np.log(world.prior) - np.log1p(-world.prior) + np.log(world.n_concepts - 1))


def log_gain(world: LatentConcept) -> float:
    """Return what a response heard adds to the log belief in its concept."""
    return float(np.log(world.clarity) - np.log((1 - world.clarity) / (world.n_concepts - 1)))


def predictive(world: LatentConcept, log_belief: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of each response, by log beliefs up to a constant, both in the last axis."""
    own, other = world.clarity, (1 - world.clarity) / (world.n_concepts - 1)
    chance: NDArray[np.float64] = other + (own - other) * special.softmax(log_belief, axis=-1)
    return chance


def _under_the_truth(world: LatentConcept, n_debates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    wrong = rng.integers(1, world.n_concepts, size=n_debates)
    return np.where(rng.random(n_debates) < world.clarity, 0, wrong)


@count_process.register
def latent_concept_process(world: LatentConcept, n_rounds: int) -> CountProcess:
    """Return the exact law of the count for two concepts and self-generated evidence.

    Raises
    ------
    TypeError
        For fresh evidence, where beliefs hang on what was heard and not on votes; or more than two answers.
    """
    if world.evidence != "self":
        raise TypeError(
            'world must have evidence="self" for its count to be Markov within a class; '
            f"got evidence={world.evidence!r}"
        )
    if world.n_concepts != 2:
        raise TypeError(f"world must have two concepts to have one count; got n_concepts={world.n_concepts}")
    n = world.panel
    rows = binomial_rows(np.array([n]), np.array([[world.clarity], [1 - world.clarity]]))[:, 0]
    return CountProcess.symmetric(
        rows,
        np.repeat(rows[:, None, :], n + 1, axis=1),
        n_rounds=n_rounds,
        weights=[world.prior, 1 - world.prior],
        names=("the panel ends up right", "the panel ends up wrong"),
    )
