"""From which worlds with known parameters can debates be drawn?

A world is a frozen value that checks itself and documents its equations, units and source.
``simulate(world, n_debates, n_rounds, rng)`` draws :class:`~d3stats.trajectories.Trajectories`, ``count_process(world,
n_rounds)`` gives the exact law of the count where the count is Markov, and ``synthetic_agent(world, seed)`` an agent of
that law for the protocols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.beliefs.latent import belief_after
    from d3stats.worlds.assembly import Assembly
    from d3stats.worlds.base import PanelWorld, World, from_table
    from d3stats.worlds.conformity import Conformity, conformity_process, sample_conformity
    from d3stats.worlds.court_jury import JuryLaw, jury_law
    from d3stats.worlds.courtroom import (
        Category,
        Courtroom,
        JurorPersona,
        courtroom_items,
        courtroom_tokens,
        sample_courtroom,
    )
    from d3stats.worlds.draw import BLOCK, count_process, simulate
    from d3stats.worlds.latent_concept import LatentConcept, latent_concept_process, sample_latent_concept
    from d3stats.worlds.mixture_panel import (
        MixturePanel,
        mixture_panel_process,
        mixtures_by_round,
        sample_mixture_panel,
    )
    from d3stats.worlds.referees import Referees, sample_referees
    from d3stats.worlds.responses import Responses, human_scores
    from d3stats.worlds.streams import SyntheticItem, synthetic_agent, synthetic_items
    from d3stats.worlds.tokens import Lengths, PriceTable, round_tokens, sample_tokens
    from d3stats.worlds.voter import DirichletCompound, Voter, sample_dirichlet, sample_voter, voter_process

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
    "conformity_process",
    "count_process",
    "courtroom_items",
    "courtroom_tokens",
    "from_table",
    "human_scores",
    "jury_law",
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
    "synthetic_agent",
    "synthetic_items",
    "voter_process",
]

lazy(__name__)
