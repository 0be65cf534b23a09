"""The voter model: nobody learns anything, everybody copies somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats._check import number, probability
from d3stats.worlds.base import PanelWorld

__all__ = ["Voter"]


@dataclass(frozen=True, kw_only=True)
class Voter(PanelWorld):
    """Agents who copy a seat of the last round, drawn at random: the martingale null of debate.

    Round 1: a debate has ability p ~ Beta(a, b), and each agent is right with probability p, given p
    independently. Round t + 1: each agent, independently, takes the vote that a seat drawn uniformly from
    the panel (itself included) cast in round t, so S[t+1] | S[t] ~ Binomial(n, S[t] / n) for the number S
    of right votes and E[S[t+1] | past] = S[t].

    Parameters
    ----------
    accuracy : float
        Mean individual accuracy E[p] in round 1, strictly between 0 and 1.
    precision : float
        a + b of the Beta law of p: how alike debates are; above 0.

    Examples
    --------
    >>> Voter(panel=7, accuracy=0.6).precision
    4.0
    """

    accuracy: float = 0.65
    precision: float = 4.0

    name: ClassVar[str] = "voter"
    citation: ClassVar[str] = (
        "Clifford and Sudbury (1973), Biometrika 60; as the null of debate: arXiv 2508.17536"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        probability("accuracy", self.accuracy, open_interval=True)
        if number("precision", self.precision) <= 0:
            raise ValueError(f"precision must be > 0; got precision={self.precision!r}")
