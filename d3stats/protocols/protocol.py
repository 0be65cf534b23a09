"""What every protocol is: a frozen value that says how a debate is played, and by which rule it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

from d3stats._check import integer
from d3stats.agents.request import Case
from d3stats.protocols.play import Play
from d3stats.stopping import FullDepth, StoppingRule

__all__ = ["DebateProtocol", "OneRound"]


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
        self._whole("max_rounds")

    def _whole(self, *names: str) -> None:
        """Check that these parameters are whole numbers of at least 1."""
        for name in names:
            object.__setattr__(self, name, integer(name, getattr(self, name), minimum=1))

    def check(self, case: Case) -> None:
        """Raise ValueError when the protocol cannot be played on this case."""
        if self.candidates is True and not case.candidates:
            raise ValueError(
                f"candidates must be two for {self.name}, which compares answers; "
                f"got none for question {case.question!r}"
            )
        if self.candidates is False and case.candidates:
            raise ValueError(
                f"candidates must be none for {self.name}, which answers the question itself; "
                f"got {len(case.candidates)} for question {case.question!r}"
            )

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


@dataclass(frozen=True, kw_only=True)
class OneRound(DebateProtocol):
    """A protocol that has a single round by its nature."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rounds != 1:
            raise ValueError(f"max_rounds must be 1 for {self.name}; got max_rounds={self.max_rounds}")
