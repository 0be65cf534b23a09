"""The Dirichlet-compound panel, drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.simulate.draw import Drawn, letters, relabelled, sample
from d3stats.simulate.voter import draw_ability
from d3stats.worlds.dirichlet import DirichletCompound

__all__ = ["sample_dirichlet"]


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
    return Drawn(votes, label, letters(m))


def first_counts(world: DirichletCompound, ability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts that everybody starts with, shape (debates, answers), the right answer first."""
    counts = np.empty((len(ability), world.n_answers))
    counts[:, 0] = world.strength * ability
    counts[:, 1:] = world.strength * ((1 - ability) / (world.n_answers - 1))[:, None]
    return counts
