"""From which worlds with known parameters can debates be drawn?

A world is a frozen value that checks itself and documents its equations, units and source.
``simulate_debates(world, n_debates, n_rounds, rng)`` draws :class:`~d3stats.trajectories.Trajectories`,
``count_process(world, n_rounds)`` gives the exact law of the count where the count is Markov, and
``synthetic_agent(world, seed)`` an agent of that law for the protocols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.beliefs.latent import belief_after
    from d3stats.worlds.assembly import Assembly
    from d3stats.worlds.base import PanelWorld, World, from_table
    from d3stats.worlds.conformity import Conformity
    from d3stats.worlds.court_jury import JuryLaw, jury_law
    from d3stats.worlds.courtroom import (
        Category,
        Courtroom,
        JurorPersona,
        courtroom_items,
        courtroom_tokens,
    )
    from d3stats.worlds.draw import BLOCK, count_process, simulate_debates
    from d3stats.worlds.latent_concept import LatentConcept
    from d3stats.worlds.mixture_panel import (
        MixturePanel,
        mixtures_by_round,
    )
    from d3stats.worlds.referees import Referees
    from d3stats.worlds.responses import Responses, human_scores
    from d3stats.worlds.streams import SyntheticItem, synthetic_agent, synthetic_items
    from d3stats.worlds.tokens import Lengths, PriceTable, round_tokens, sample_tokens
    from d3stats.worlds.voter import DirichletCompound, Voter

__all__ = [
    "BLOCK",
    "Assembly",
    "Category",
    "Conformity",
    "Courtroom",
    "DirichletCompound",
    "JurorPersona",
    "JuryLaw",
    "LatentConcept",
    "Lengths",
    "MixturePanel",
    "PanelWorld",
    "PriceTable",
    "Referees",
    "Responses",
    "SyntheticItem",
    "Voter",
    "World",
    "belief_after",
    "count_process",
    "courtroom_items",
    "courtroom_tokens",
    "from_table",
    "human_scores",
    "jury_law",
    "mixtures_by_round",
    "round_tokens",
    "sample_tokens",
    "simulate_debates",
    "synthetic_agent",
    "synthetic_items",
]

lazy(__name__)
