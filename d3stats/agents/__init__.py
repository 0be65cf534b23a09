"""Agents that take part in a debate: recorded ones and live models; synthetic ones are made by their world.

An agent gets a request and gives a reply. It knows nothing of protocols, logs or stopping rules.
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
    "ReplayAgent": "d3stats.agents.replay",
    "SyntheticItem": "d3stats.worlds.streams",
    "synthetic_agent": "d3stats.worlds.streams",
    "synthetic_items": "d3stats.worlds.streams",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'd3stats.agents' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
