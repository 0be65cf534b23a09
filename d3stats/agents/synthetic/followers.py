"""Panelists who follow the crowd of the last round that they see: the voter model and the conformity panel."""

from __future__ import annotations

from scipy import special

from d3stats.agents.request import Refused, Request
from d3stats.agents.synthetic.base import Stream, seat_of, synthetic_agent
from d3stats.agents.synthetic.panel import PanelAgent, last_votes
from d3stats.simulate.conformity import chance_again, chance_decided, chances, draw_classes, shared_error
from d3stats.simulate.voter import draw_ability
from d3stats.worlds import Conformity, Voter

__all__ = ["ConformityAgent", "VoterAgent"]


class VoterAgent(PanelAgent[Voter]):
    """Right with the item's ability while no votes are seen; then the vote of a seat of the last round seen.

    Parameters
    ----------
    world : Voter
    seed : int
    """

    def _item(self, question: str) -> float:
        return float(draw_ability(self.world, 1, self.streams.generator("item", question))[0])

    def _said(self, request: Request, stream: Stream) -> int:
        votes = list(last_votes(request.seen).values())
        question = request.case.question
        if not votes:
            return int(stream.uniform() >= self.item(question))
        return self._number(votes[int(stream.uniform() * len(votes))], question)


class ConformityAgent(PanelAgent[Conformity]):
    """Keeps its vote by habit or decides again, pulled by the share of right votes in the last round seen.

    An agent that does not see its own last vote always decides again. The seat, which gives skill and LLM, is the
    number at the end of the agent's name.

    Parameters
    ----------
    world : Conformity
    seed : int
    """

    def _item(self, question: str) -> tuple[float, list[float]]:
        """Return easiness, and the shared error of each LLM."""
        of = chances(self.world)
        d, u = draw_classes(of, 1, self.streams.generator("item", question))
        points, _ = shared_error(self.world)
        return self.world.difficulties[int(d[0])][1], points[u[0]].tolist()

    def _said(self, request: Request, stream: Stream) -> int:
        seat = seat_of(request.agent) - 1
        if seat >= self.world.panel:
            raise Refused(f"panel must have a seat for {request.agent!r}; got panel={self.world.panel}")
        question, votes = request.case.question, last_votes(request.seen)
        easiness, errors = self.item(question)
        logit = self.world.skills[seat] + easiness + errors[int(chances(self.world).llm[seat])]
        if not votes:
            return int(stream.uniform() >= special.expit(logit))
        right = {speaker: self._number(vote, question) == 0 for speaker, vote in votes.items()}
        share = sum(right.values()) / len(right)
        if request.agent not in right:
            return int(stream.uniform() >= chance_decided(self.world, logit, share))
        return int(stream.uniform() >= chance_again(self.world, logit, share, float(right[request.agent])))


@synthetic_agent.register
def voter_agent(world: Voter, seed: int = 0) -> VoterAgent:
    """Return a panel of the voter model."""
    return VoterAgent(world, seed)


@synthetic_agent.register
def conformity_agent(world: Conformity, seed: int = 0) -> ConformityAgent:
    """Return a conformity panel."""
    return ConformityAgent(world, seed)
