"""The Dirichlet-compound panel, drawn."""

from __future__ import annotations

import numpy as np

from d3stats.simulate.draw import Drawn, letters, relabelled, sample
from d3stats.worlds.dirichlet import DirichletCompound

__all__ = ["sample_dirichlet"]


@sample.register
def sample_dirichlet(
    world: DirichletCompound, n_debates: int, n_rounds: int, rng: np.random.Generator
) -> Drawn:
    """Draw debates of agents who count what they hear."""
    n, m = world.panel, world.n_answers
    ability = rng.beta(
        world.accuracy * world.precision, (1 - world.accuracy) * world.precision, size=n_debates
    )
    alpha = np.empty((n_debates, n, m))
    alpha[:, :, 0] = world.strength * ability[:, None]
    alpha[:, :, 1:] = world.strength * ((1 - ability) / (m - 1))[:, None, None]
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
