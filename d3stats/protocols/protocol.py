"""What every protocol is: a frozen value that says how a debate is played, and by which rule it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

from d3stats._check import integer
from d3stats.agents.request import Case
from d3stats.protocols.play import Play
from d3stats.stopping import FullDepth, StoppingRule

__all__ = ["DebateProtocol"]


@dataclass(frozen=True, kw_only=True)
class DebateProtocol(ABC):
    """A debate protocol.

    A new one is one file in this folder with a frozen dataclass that has `name` and `citation` and writes
    :meth:`play`; its prompts stand in the same file. It is found by its name.

    Parameters
    ----------
    max_rounds : int
        Rounds after which a debate ends whatever the rule says.

    Attributes
    ----------
    name : str
        How it is called on the command line.
    citation : str
        Where it is from.
    candidates : bool
        Whether it judges two candidates (True) or answers the question itself (False); None does both.
    """

    max_rounds: int = 1

    name: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    candidates: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rounds", integer("max_rounds", self.max_rounds, minimum=1))

    def __str__(self) -> str:
        shown = []
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if value != parameter.default:
                parts = value if isinstance(value, tuple) else (value,)
                shown.append(f"{parameter.name}={'+'.join(map(str, parts))}")
        return f"{self.name}:{','.join(shown)}" if shown else self.name

    @abstractmethod
    def play(self, case: Case) -> Play:
        """Play one debate; see :mod:`d3stats.protocols.play`."""

    def rule(self) -> StoppingRule:
        """Return the stopping rule that the protocol's source uses; none but `max_rounds` by default."""
        return FullDepth()

    @property
    def polls(self) -> bool:
        """Whether votes are cast in every round, so that a rule on votes has something to look at."""
        return True
