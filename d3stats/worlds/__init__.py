"""The parameters of synthetic worlds: plain frozen values, no behaviour.

Floor 1. Who may live here: one file per family of worlds, each a frozen dataclass that checks its values and
documents its equations, units and source. What a world *does* is in ``d3stats.simulate``, and the synthetic
agents of a protocol read the same values.
"""

from d3stats.worlds.base import PanelWorld, World
from d3stats.worlds.voter import Voter

__all__ = ["PanelWorld", "Voter", "World"]
