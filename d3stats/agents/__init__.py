"""Who takes part in a debate: what an agent is asked, what it says, and the agents themselves.

Who may live here: the interface (``request``), synthetic agents that have the law of a world, agents that answer
from a log, and the thin adapter to a live LLM. An agent knows nothing of protocols, logs or stopping rules: it
gets a request and gives a reply.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from d3stats.agent import Agent, Case, Message, Refused, Reply, Request, Rubric, Slot

if TYPE_CHECKING:
    from d3stats.agents.replay import ReplayAgent
    from d3stats.worlds.streams import SyntheticItem, synthetic_agent, synthetic_items

__all__ = [
    "Agent",
    "Case",
    "Message",
    "Refused",
    "ReplayAgent",
    "Reply",
    "Request",
    "Rubric",
    "Slot",
    "SyntheticItem",
    "synthetic_agent",
    "synthetic_items",
]

# Protocols need the interface alone; the simulators behind the rest are loaded when they are asked for.
_HOMES = {
    "ReplayAgent": "replay",
    "SyntheticItem": "synthetic",
    "synthetic_agent": "synthetic",
    "synthetic_items": "synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'd3stats.agents' has no attribute {name!r}")
    value = getattr(import_module(f"d3stats.agents.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
