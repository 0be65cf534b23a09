"""Majority vote: several judges, each alone, once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from d3stats.agents.request import Case, Request, Slot
from d3stats.protocols.play import Outcome, Play, plurality, round_over, speak, votes_of
from d3stats.protocols.protocol import OneRound

__all__ = ["Majority"]

OF_TWO = (
    "Below are a question and two answers to it. Decide which answer is better, and give your reasons in at most "
    "{words} words. Where an answer stands and how long it is should not matter."
)

OPEN = "Below is a question. Think it through in at most {words} words, and answer it."


@dataclass(frozen=True, kw_only=True)
class Majority(OneRound):
    """Several judges vote without hearing each other; the answer with the most votes is the decision.

    Parameters
    ----------
    judges : int
    words : int
        The longest reasons.

    Notes
    -----
    Self-consistency (Wang et al. 2022, arXiv 2203.11171) when all judges are one LLM. A missing vote counts for
    nobody. When both sides of a pair lead the decision is ``"tie"`` where that may be voted for; else, when several
    answers lead, there is none.

    Examples
    --------
    >>> str(Majority(judges=7))
    'majority:judges=7'
    """

    judges: int = 5
    words: int = 100

    name: ClassVar[str] = "majority"
    citation: ClassVar[str] = (
        "Wang et al. (2022), arXiv 2203.11171: sample several answers, take the most frequent"
    )
    candidates: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("judges", "words")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        instruction = (OF_TWO if case.candidates else OPEN).format(words=self.words)
        slot = Slot(case.answers, open_vote=case.answers is None, words=self.words)
        asked = [
            Request(case, 1, f"panelist {i}", "panelist", "answer", instruction, slot)
            for i in range(1, self.judges + 1)
        ]
        votes = votes_of((yield from speak(*asked)))
        yield from round_over(1, votes=votes, ends="one_round")
        counts = Counter(vote for vote in votes if vote is not None)
        detail = {f"votes {answer}": float(count) for answer, count in sorted(counts.items())}
        detail["votes missing"] = float(len(votes) - counts.total())
        return Outcome(plurality(case, votes), 1, "one_round" if counts else "no_votes", detail)
