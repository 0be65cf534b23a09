"""The latent-concept panel: Bayesian agents who hear evidence, or only themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats._check import choice, integer, probability
from d3stats.worlds.base import PanelWorld

__all__ = ["LatentConcept"]


@dataclass(frozen=True, kw_only=True)
class LatentConcept(PanelWorld):
    """A panel that shares a belief over latent concepts and updates it with every response heard.

    One of m concepts is true; concept k yields response k with probability `clarity` and each other response
    with probability (1 - clarity) / (m - 1), so P(z | k) has as many responses as concepts, and the response
    of the true concept is the right answer. All agents begin with the belief `prior` in the truth; the other
    concepts share the rest. In every round the agents speak in turn. Each votes by the posterior predictive
    ``P(z) = sum_k pi(k) P(z | k)``; then all hear one response z and update by Bayes' rule,
    ``pi'(k) = pi(k) P(z | k) / P(z)``.

    - ``evidence="fresh"``: the response heard is a new argument, drawn under the true concept and independent
      given it. The belief in the truth then rises on average.
    - ``evidence="self"``: the response heard is the vote itself. The belief in the truth is a martingale:
      talking to themselves, agents become sure and not right.

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
    one's own. The vote that is its own evidence is an exchangeable sequence: it has the law of votes drawn
    under one concept, itself drawn from the prior (de Finetti, 1937), which is why the count is Markov then.

    Examples
    --------
    >>> LatentConcept(prior=0.5, clarity=0.8, evidence="self").n_concepts
    2
    """

    prior: float = 0.5
    clarity: float = 0.7
    n_concepts: int = 2
    evidence: str = "fresh"

    name: ClassVar[str] = "latent_concept"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, latent concepts and theorem 4.1"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "prior", probability("prior", self.prior, open_interval=True))
        object.__setattr__(self, "clarity", probability("clarity", self.clarity, open_interval=True))
        concepts = integer("n_concepts", self.n_concepts, minimum=2)
        if concepts > 26:
            raise ValueError(f"n_concepts must be <= 26; got n_concepts={concepts}")
        object.__setattr__(self, "n_concepts", concepts)
        choice("evidence", self.evidence, ("fresh", "self"))
