"""Rules that stop for one of several reasons: the first that holds, in an order the rule documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats.stopping.rule import CONTINUE, Decision, Firings, Rule
from d3stats.trajectories import Trajectories


class ReasonedRule(Rule):
    """A rule with several conditions; `reasons` names them, the one that is said first in front."""

    reasons: ClassVar[tuple[str, ...]]

    @abstractmethod
    def conditions(self, trajectories: Trajectories) -> Sequence[NDArray[np.bool_]]:
        """Say in which rounds each condition holds, one array (debates, rounds) per reason."""

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round in which a condition holds."""
        result: NDArray[np.bool_] = np.logical_or.reduce(self.conditions(trajectories))
        return result

    def firings(self, trajectories: Trajectories) -> Firings:
        """Return the firings with the first reason that holds."""
        codes = np.zeros((trajectories.n_debates, trajectories.n_rounds), dtype=np.int16)
        for code, holds in reversed(list(enumerate(self.conditions(trajectories), start=1))):
            codes[holds & trajectories.reached()] = code
        return Firings(codes, self.reasons)

    def decision(self, holds: Sequence[bool], detail: Mapping[str, float]) -> Decision:
        """Stop for the first reason that holds, one flag per reason."""
        for reason, held in zip(self.reasons, holds, strict=True):
            if held:
                return Decision(stop=True, reason=reason, detail=detail)
        return CONTINUE
