"""Debates drawn from a world, whole batches at once.

``simulate(world, n_debates, n_rounds, rng)`` gives :class:`~d3stats.trajectories.Trajectories`, and
``count_process(world, n_rounds)`` the exact law of the count where the count is Markov. Who may live here: one
file per world, which registers its sampler, and what samplers share.
"""

from d3stats.simulate.draw import BLOCK, count_process, simulate
from d3stats.simulate.voter import sample_voter, voter_process

__all__ = ["BLOCK", "count_process", "sample_voter", "simulate", "voter_process"]
