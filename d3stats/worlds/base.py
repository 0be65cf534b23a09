"""What every world has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from d3stats._check import integer, number
from d3stats.worlds.tokens import Lengths

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
    lengths : Lengths or None
        What the tokens of a round are made of; None records no tokens.
    """

    panel: int = 7
    lengths: Lengths | None = field(default_factory=Lengths)

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", integer("panel", self.panel, minimum=1))
        if self.lengths is not None and not isinstance(self.lengths, Lengths):
            raise TypeError(f"lengths must be a Lengths or None; got {self.lengths!r}")


def positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above 0."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0; got {name}={value!r}")
    return result
