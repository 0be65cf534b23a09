"""The parameters of synthetic worlds: plain frozen values, no behaviour.

Floor 1. Who may live here: one file per family of worlds, each a frozen dataclass that checks its values and
documents its equations, units and source. What a world *does* is in ``d3stats.simulate``, and the synthetic
agents of a protocol read the same values.
"""

from d3stats.worlds.assembly import Assembly
from d3stats.worlds.base import PanelWorld, World
from d3stats.worlds.conformity import Conformity
from d3stats.worlds.courtroom import Category, Courtroom
from d3stats.worlds.dirichlet import DirichletCompound
from d3stats.worlds.latent_concept import LatentConcept
from d3stats.worlds.mixture_panel import MixturePanel
from d3stats.worlds.read import from_table
from d3stats.worlds.referees import Referees
from d3stats.worlds.tokens import Lengths
from d3stats.worlds.voter import Voter

__all__ = [
    "Assembly",
    "Category",
    "Conformity",
    "Courtroom",
    "DirichletCompound",
    "LatentConcept",
    "Lengths",
    "MixturePanel",
    "PanelWorld",
    "Referees",
    "Voter",
    "World",
    "from_table",
]
