"""The latent-concept panel: Bayesian agents who hear evidence, or only themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._check import OpenProbability, integer
from d3stats.agent import Message, Request
from d3stats.models.chains.process import CountProcess
from d3stats.worlds.base import Group, PanelWorld, letters
from d3stats.worlds.draw import Drawn, binomial_rows, count_process, relabelled, sample
from d3stats.worlds.panel import PanelAgent, number_drawn
from d3stats.worlds.streams import Stream, seat_of, statement, synthetic_agent

__all__ = ["LatentConcept"]


@dataclass(frozen=True, kw_only=True)
class LatentConcept(PanelWorld):
    """A panel that shares a belief over latent concepts and updates it with every response heard.

    One of m concepts is true. Concept k yields response k with probability `clarity` and each other response
    with probability ``(1 - clarity) / (m - 1)``. So ``P(z | k)`` has as many responses as concepts, and the
    response of the true concept is the right answer. All agents start with the belief `prior` in the truth; the
    other concepts share the rest. In every round the agents speak in turn. Each votes by the posterior predictive
    ``P(z) = sum_k pi(k) P(z | k)``; then all hear one response z and update by Bayes' rule,
    ``pi'(k) = pi(k) P(z | k) / P(z)``.

    - ``evidence="fresh"``: the response heard is a new argument, drawn under the true concept and independent
      given it. The belief in the truth then rises on average.
    - ``evidence="self"``: the response heard is the vote itself. The belief in the truth is a martingale. Agents
      become certain, but they are right no more often than before.

    Parameters
    ----------
    prior : float
        The belief in the truth at the start, strictly between 0 and 1.
    clarity : float
        P(a response is its concept's own), strictly between 0 and 1.
    n_concepts : int
        m, from 2 to 26.
    evidence : {"fresh", "self"}

    Notes
    -----
    With one response heard, prior 1/2 and clarity .8, the mean belief is .68 with fresh evidence and .5 with
    ``evidence="self"``. Votes that are their own evidence are an exchangeable sequence. Such a sequence has the law of
    votes drawn under one concept, which is drawn from the prior (de Finetti, 1937). Their count is therefore Markov.

    Examples
    --------
    >>> LatentConcept(prior=0.5, clarity=0.8, evidence="self").n_concepts
    2
    """

    prior: OpenProbability = 0.5
    clarity: OpenProbability = 0.7
    n_concepts: Annotated[int, partial(integer, minimum=2, maximum=26)] = 2
    evidence: Literal["fresh", "self"] = "fresh"

    name: ClassVar[str] = "latent_concept"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, latent concepts and theorem 4.1"
    free: ClassVar[tuple[str, ...]] = ("prior", "clarity")

    @property
    def answers(self) -> tuple[str, ...]:
        return letters(self.n_concepts)

    def groups(self) -> dict[str, Group]:
        # Beliefs mirrored in clarity and prior vote alike, so clarity stays on the template's side.
        middle = 1 / self.n_concepts
        low, high = (middle, 1.0) if self.clarity >= middle else (0.0, middle)
        groups = self.scalars("prior", "clarity")
        return groups | {"clarity": groups["clarity"]._replace(low=low, high=high)}

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        fresh = self.evidence == "fresh"
        return (
            ["the arguments themselves are not in the log, so beliefs are estimated from votes"]
            if fresh
            else []
        )


@sample.register
def sample_latent_concept(
    world: LatentConcept, n_debates: int, n_rounds: int, rng: np.random.Generator
) -> Drawn:
    """Draw debates of Bayesian agents; concept 0 is the true one until answers are named."""
    m, gain = world.n_concepts, log_gain(world)
    log_belief = np.zeros((n_debates, m))
    log_belief[:, 0] = log_prior(world)
    said = np.empty((n_debates, n_rounds, world.panel), dtype=np.int32)
    for t in range(n_rounds):
        for j in range(world.panel):
            heap = np.cumsum(predictive(world, log_belief), axis=1)
            said[:, t, j] = np.minimum((rng.random((n_debates, 1)) >= heap).sum(axis=1), m - 1)
            heard = said[:, t, j] if world.evidence == "self" else _under_the_truth(world, n_debates, rng)
            log_belief[np.arange(n_debates), heard] += gain
    votes, label = relabelled(said, m, rng)
    return Drawn(votes, label, world.answers)


def log_prior(world: LatentConcept) -> float:
    """Return the log belief in the truth at the start, that in each other concept being 0."""
    return float(np.log(world.prior) - np.log1p(-world.prior) + np.log(world.n_concepts - 1))


def log_gain(world: LatentConcept) -> float:
    """Return what a response heard adds to the log belief in its concept."""
    return float(np.log(world.clarity) - np.log((1 - world.clarity) / (world.n_concepts - 1)))


def predictive(world: LatentConcept, log_belief: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of each response, by log beliefs up to a constant, both in the last axis."""
    own, other = world.clarity, (1 - world.clarity) / (world.n_concepts - 1)
    chance: NDArray[np.float64] = other + (own - other) * scipy.special.softmax(log_belief, axis=-1)
    return chance


def _under_the_truth(world: LatentConcept, n_debates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    wrong = rng.integers(1, world.n_concepts, size=n_debates)
    return np.where(rng.random(n_debates) < world.clarity, 0, wrong)


@count_process.register
def latent_concept_process(world: LatentConcept, n_rounds: int) -> CountProcess:
    """Return the exact law of the count for two concepts and self-generated evidence.

    Raises
    ------
    TypeError
        For fresh evidence, because beliefs then depend on the responses heard and not on votes. Also for more than two
        answers.
    """
    if world.evidence != "self":
        raise TypeError(
            'world must have evidence="self" for its count to be Markov within a class; '
            f"got evidence={world.evidence!r}"
        )
    if world.n_concepts != 2:
        raise TypeError(f"world must have two concepts to have one count; got n_concepts={world.n_concepts}")
    n = world.panel
    rows = binomial_rows(np.array([n]), np.array([[world.clarity], [1 - world.clarity]]))[:, 0]
    return CountProcess.symmetric(
        rows,
        np.repeat(rows[:, None, :], n + 1, axis=1),
        n_rounds=n_rounds,
        weights=[world.prior, 1 - world.prior],
        names=("the panel ends up right", "the panel ends up wrong"),
    )


class LatentConceptAgent(PanelAgent[LatentConcept]):
    """A Bayesian agent that updates on each response that it sees.

    The response is part of a message. With ``evidence="self"`` it is the vote; else it is a fresh argument (``argues
    2``, for the second answer). The world's agents speak in turn. When all seats of a round are asked at once, a seat
    therefore computes the responses of the seats before it from their random streams. For earlier rounds it reads the
    messages.
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
        code = statement(message.text).facts.get("argues")
        return None if code is None else (int(code) - 1 - self.right(question)) % len(self.answers)

    def _argument(self, request: Request, agent: str) -> int:
        """Return the fresh argument that an agent brings in this round, drawn under the truth."""
        stream, wrong = self.call(request, "argument", agent=agent), self.world.n_concepts - 1
        if stream.uniform() < self.world.clarity:
            return 0
        return 1 + int(stream.uniform() * wrong)

    def _predicted(self, belief: NDArray[np.float64], stream: Stream) -> int:
        return number_drawn(predictive(self.world, belief).tolist(), stream.uniform())


synthetic_agent.register(LatentConcept, LatentConceptAgent)
