"""Panelists of the mixture panel: nobody hears anybody, and the debate's ability moves."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from d3stats.agents.request import Request
from d3stats.agents.synthetic.base import Stream, synthetic_agent
from d3stats.agents.synthetic.panel import PanelAgent
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.simulate.mixture_panel import ability_in_round, mixtures_by_round, persistent
from d3stats.worlds import MixturePanel

__all__ = ["MixtureAgent"]


class MixtureAgent(PanelAgent[MixturePanel]):
    """Right with the ability that the debate has in this round; hears nobody.

    Parameters
    ----------
    world : MixturePanel
    seed : int
    """

    def __init__(self, world: MixturePanel, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._law = lru_cache(maxsize=256)(self._law_of)
        self._ability = lru_cache(maxsize=4096)(self._ability_of)

    def _law_of(self, number: int) -> BetaBinomialMixture:
        return mixtures_by_round(self.world, number)

    def _item(self, question: str) -> tuple[float, float]:
        """Return the Normals that the item keeps, of its component and of its quantile."""
        which, quantile = self.streams.of("item", question).normals(2)
        return which, quantile

    def _ability_of(self, question: str, debate: str, number: int) -> float:
        kept, fresh = self.item(question), self.streams.of("round", debate, number).normals(2)
        mixed = [
            np.array([persistent(self.world.persistence, a, b)]) for a, b in zip(kept, fresh, strict=True)
        ]
        return float(ability_in_round(self._law(number), number - 1, *mixed)[0])

    def _said(self, request: Request, stream: Stream) -> int:
        case = request.case
        return int(stream.uniform() >= self._ability(case.question, case.debate, request.round))


@synthetic_agent.register
def mixture_agent(world: MixturePanel, seed: int = 0) -> MixtureAgent:
    """Return a mixture panel."""
    return MixtureAgent(world, seed)
