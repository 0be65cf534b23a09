"""Debates drawn from a world, whole batches at once.

``simulate(world, n_debates, n_rounds, rng)`` gives :class:`~d3stats.trajectories.Trajectories`, and
``count_process(world, n_rounds)`` the exact law of the count where the count is Markov. Who may live here: one
file per world, which registers its sampler, and what samplers share.
"""

import sys
from types import ModuleType
from typing import Any

from d3stats.models.beliefs.latent import belief_after
from d3stats.simulate.conformity import conformity_process, sample_conformity
from d3stats.simulate.courtroom import courtroom_items, courtroom_tokens, sample_courtroom
from d3stats.simulate.dirichlet import sample_dirichlet
from d3stats.simulate.draw import BLOCK, count_process, simulate
from d3stats.simulate.latent_concept import latent_concept_process, sample_latent_concept
from d3stats.simulate.mixture_panel import mixture_panel_process, mixtures_by_round, sample_mixture_panel
from d3stats.simulate.referees import sample_referees
from d3stats.simulate.tokens import PriceTable, round_tokens, sample_tokens
from d3stats.simulate.voter import sample_voter, voter_process

__all__ = [
    "BLOCK",
    "PriceTable",
    "belief_after",
    "conformity_process",
    "count_process",
    "courtroom_items",
    "courtroom_tokens",
    "latent_concept_process",
    "mixture_panel_process",
    "mixtures_by_round",
    "round_tokens",
    "sample_conformity",
    "sample_courtroom",
    "sample_dirichlet",
    "sample_latent_concept",
    "sample_mixture_panel",
    "sample_referees",
    "sample_tokens",
    "sample_voter",
    "simulate",
    "voter_process",
]


class _Room(ModuleType):
    """The room, callable as its main function: ``d3stats.simulate(world, ...)``."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return simulate(*args, **settings)


sys.modules[__name__].__class__ = _Room
