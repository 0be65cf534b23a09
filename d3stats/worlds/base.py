"""What every world has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats._check import integer

__all__ = ["PanelWorld", "World"]


@dataclass(frozen=True, kw_only=True)
class World:
    """A frozen set of parameters from which debates can be drawn.

    Attributes
    ----------
    name : str
        How a study file names the world.
    citation : str
        Where its equations are from.
    """

    name: ClassVar[str] = ""
    citation: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True)
class PanelWorld(World):
    """A panel of agents that vote once a round.

    Parameters
    ----------
    panel : int
        Seats on the panel.
    """

    panel: int = 7

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", integer("panel", self.panel, minimum=1))
