"""Panelists who remember all that they heard: the Dirichlet-compound panel and the latent-concept panel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from d3stats.agents.request import Message, Request
from d3stats.agents.synthetic.base import Stream, seat_of, synthetic_agent, told
from d3stats.agents.synthetic.panel import PanelAgent
from d3stats.simulate.dirichlet import first_counts
from d3stats.simulate.latent_concept import log_gain, log_prior, predictive
from d3stats.simulate.voter import draw_ability
from d3stats.worlds import DirichletCompound, LatentConcept

__all__ = ["DirichletAgent", "LatentConceptAgent"]


class DirichletAgent(PanelAgent[DirichletCompound]):
    """Answers by its first opinion and by the count of every vote of its neighbours that it sees.

    Parameters
    ----------
    world : DirichletCompound
    seed : int
    """

    def _item(self, question: str) -> list[float]:
        ability = draw_ability(self.world, 1, self.streams.generator("item", question))
        return list(first_counts(self.world, ability)[0].tolist())

    def _said(self, request: Request, stream: Stream) -> int:
        question, world = request.case.question, self.world
        counts = list(self.item(question))
        mine = seat_of(request.agent)
        for message in request.seen:
            if message.vote is None or message.speaker == request.agent:
                continue
            # Neighbours are the next ones around the table.
            if world.degree is None or (seat_of(message.speaker) - mine) % world.panel <= world.degree:
                counts[self._number(message.vote, question)] += 1.0
        return drawn(counts, stream.uniform() * sum(counts))


class LatentConceptAgent(PanelAgent[LatentConcept]):
    """A Bayesian who updates on each response that it sees.

    A response stands in a message: the vote, where the panel hears itself; else a fresh argument that the message
    brings along (``argues 2``, for the second answer). Where a round is asked for at once, a seat works out from their
    streams what the seats before it say in this round, as the world's agents speak in turn; of earlier rounds it knows
    what it sees.

    Parameters
    ----------
    world : LatentConcept
    seed : int
    """

    def _item(self, question: str) -> None:
        return None

    def _said(self, request: Request, stream: Stream) -> int:
        belief = np.zeros(self.world.n_concepts)
        belief[0] = log_prior(self.world)
        for message in request.seen:
            response = self._response(message, request.case.question)
            if response is not None:
                belief[response] += log_gain(self.world)
        heard = {message.speaker for message in request.seen if message.round == request.round}
        seat = seat_of(request.agent)
        for before in range(1, seat):
            name = f"{request.agent[: -len(str(seat))]}{before}"
            if name not in heard:
                response = self._predicted(belief, self.call(request, request.act, agent=name))
                if self.world.evidence == "fresh":
                    response = self._argument(request, name)
                belief[response] += log_gain(self.world)
        return self._predicted(belief, stream)

    def _facts(self, request: Request) -> dict[str, float]:
        if self.world.evidence == "self":
            return {}
        argument = self._argument(request, request.agent)
        return {"argues": (argument + self.right(request.case.question)) % len(self.answers) + 1.0}

    def _response(self, message: Message, question: str) -> int | None:
        if self.world.evidence == "self":
            return None if message.vote is None else self._number(message.vote, question)
        code = told(message.text).facts.get("argues")
        return None if code is None else (int(code) - 1 - self.right(question)) % len(self.answers)

    def _argument(self, request: Request, agent: str) -> int:
        """Return the fresh argument that an agent brings in this round, drawn under the truth."""
        stream, wrong = self.call(request, "argument", agent=agent), self.world.n_concepts - 1
        if stream.uniform() < self.world.clarity:
            return 0
        return 1 + int(stream.uniform() * wrong)

    def _predicted(self, belief: NDArray[np.float64], stream: Stream) -> int:
        return drawn(predictive(self.world, belief).tolist(), stream.uniform())


def drawn(weights: Sequence[float], point: float) -> int:
    """Return in which of these weights, heaped up, a point lies; rounding cannot leave the heap."""
    return min(sum(point >= edge for edge in accumulate(weights)), len(weights) - 1)


@synthetic_agent.register
def dirichlet_agent(world: DirichletCompound, seed: int = 0) -> DirichletAgent:
    """Return a Dirichlet-compound panel."""
    return DirichletAgent(world, seed)


@synthetic_agent.register
def latent_concept_agent(world: LatentConcept, seed: int = 0) -> LatentConceptAgent:
    """Return a latent-concept panel."""
    return LatentConceptAgent(world, seed)
