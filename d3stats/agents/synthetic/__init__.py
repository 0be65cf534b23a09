"""Agents that have the law of a world: protocols run with them, and nothing is paid.

Who may live here: one file per family of worlds, which registers its agent and its items and is found by itself.
``synthetic_agent(world, seed)`` answers for everybody in a debate; ``synthetic_items(world, n, seed)`` says what the
debates are about.
"""

from __future__ import annotations

import importlib
import pkgutil

from d3stats.agents.synthetic.base import SyntheticAgent, SyntheticItem, synthetic_agent, synthetic_items

__all__ = ["SyntheticAgent", "SyntheticItem", "synthetic_agent", "synthetic_items"]

for _found in pkgutil.iter_modules(__path__, __name__ + "."):
    importlib.import_module(_found.name)
