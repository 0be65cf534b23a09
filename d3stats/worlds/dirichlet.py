"""The Dirichlet-compound panel: agents who count what they hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats._check import integer, probability
from d3stats.worlds.base import PanelWorld, positive

__all__ = ["DirichletCompound"]


@dataclass(frozen=True, kw_only=True)
class DirichletCompound(PanelWorld):
    """Agents whose belief over m answers is a Dirichlet law, and who add every answer heard to its counts.

    A debate has ability p ~ Beta(`accuracy` * `precision`, (1 - `accuracy`) * `precision`). Every agent i
    starts with the counts ``alpha_{i,0} = strength * (p, (1 - p) / (m - 1), ...)``, the right answer first. In
    round t it draws theta ~ Dirichlet(alpha_{i,t-1}) and answers y_{i,t} ~ Categorical(theta); then
    ``alpha_{i,t} = alpha_{i,t-1} + counts of y_{j,t} over its neighbours j``. Nobody learns anything: as all
    agents of a debate begin alike, the mean of an agent's probability of the right answer stays p.

    Parameters
    ----------
    accuracy : float
        Mean individual accuracy in round 1, strictly between 0 and 1.
    precision : float
        How alike debates are, a + b of the Beta law of p; above 0.
    strength : float
        How many answers heard an agent's first opinion is worth; above 0.
    n_answers : int
        m, at least 2; at most 26.
    degree : int or None
        How many neighbours an agent hears: the next ones around the table, itself not among them. None is
        everybody else. Tokens are charged as if every message were read, whatever the degree.

    Examples
    --------
    >>> DirichletCompound(panel=5, n_answers=4, degree=2).neighbours
    2
    """

    accuracy: float = 0.65
    precision: float = 4.0
    strength: float = 4.0
    n_answers: int = 2
    degree: int | None = None

    name: ClassVar[str] = "dirichlet_compound"
    citation: ClassVar[str] = (
        "Debate or Vote (2025), arXiv 2508.17536, the Dirichlet-compound-multinomial model"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "accuracy", probability("accuracy", self.accuracy, open_interval=True))
        object.__setattr__(self, "precision", positive("precision", self.precision))
        object.__setattr__(self, "strength", positive("strength", self.strength))
        answers = integer("n_answers", self.n_answers, minimum=2)
        if answers > 26:
            raise ValueError(f"n_answers must be <= 26; got n_answers={answers}")
        object.__setattr__(self, "n_answers", answers)
        if self.degree is not None:
            degree = integer("degree", self.degree, minimum=0)
            if degree >= self.panel:
                raise ValueError(f"degree must be below panel={self.panel}; got degree={degree}")
            object.__setattr__(self, "degree", degree)

    @property
    def neighbours(self) -> int:
        """How many others an agent hears."""
        return self.panel - 1 if self.degree is None else self.degree
