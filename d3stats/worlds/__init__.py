"""The parameters of synthetic worlds: plain frozen values, no behaviour.

Floor 1. Who may live here: one file per family of worlds, each a frozen dataclass that checks its values and
documents its equations, units and source. What a world *does* is in ``d3stats.simulate``, and the synthetic
agents of a protocol read the same values.
"""

from d3stats.models.beliefs.latent import belief_after
from d3stats.worlds.assembly import Assembly
from d3stats.worlds.base import PanelWorld, World
from d3stats.worlds.conformity import Conformity, conformity_process, sample_conformity
from d3stats.worlds.courtroom import Category, Courtroom, courtroom_items, courtroom_tokens, sample_courtroom
from d3stats.worlds.draw import BLOCK, count_process, simulate
from d3stats.worlds.latent_concept import LatentConcept, latent_concept_process, sample_latent_concept
from d3stats.worlds.mixture_panel import (
    MixturePanel,
    mixture_panel_process,
    mixtures_by_round,
    sample_mixture_panel,
)
from d3stats.worlds.read import from_table
from d3stats.worlds.referees import Referees, sample_referees
from d3stats.worlds.tokens import Lengths, PriceTable, round_tokens, sample_tokens
from d3stats.worlds.voter import DirichletCompound, Voter, sample_dirichlet, sample_voter, voter_process

__all__ = [
    "BLOCK",
    "Assembly",
    "Category",
    "Conformity",
    "Courtroom",
    "DirichletCompound",
    "LatentConcept",
    "Lengths",
    "MixturePanel",
    "PanelWorld",
    "PriceTable",
    "Referees",
    "Voter",
    "World",
    "belief_after",
    "conformity_process",
    "count_process",
    "courtroom_items",
    "courtroom_tokens",
    "from_table",
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
