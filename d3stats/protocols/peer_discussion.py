"""Two reviewers judge a pair apart, then talk it over until they agree (PRD's peer discussion)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from d3stats._check import choice
from d3stats.agents.request import Case, Message, Request, Slot
from d3stats.protocols.play import Outcome, Play, round_over, said, settled, speak
from d3stats.protocols.protocol import DebateProtocol
from d3stats.stopping import StoppingRule, Unanimity

__all__ = ["PeerDiscussion"]

REVIEW = (
    "You are {name}. Review two answers to one question: compare them, whatever the order in which they "
    "are shown, explain what decides, and vote for the better answer."
)
DISCUSS = (
    "You are {name} and talk with {other} about your reviews of two answers to one question. The reviews "
    "and the talk so far are shown. Decide whether to keep or change your vote, and explain it; reply to "
    "what {other} has said."
)


@dataclass(frozen=True, kw_only=True)
class PeerDiscussion(DebateProtocol):
    """Two reviewers vote apart; while they differ, each in turn reads all that was said and votes again.

    Round 1 is the two reviews, made at the same time. In each later round reviewer 1 speaks, who leads, then
    reviewer 2; both have read the reviews and every message before theirs.

    Parameters
    ----------
    max_rounds : int
        The reviews and then the rounds of the talk; the paper's 4 turns are two of them, so 3.
    undecided : {"none", "last_speaker"}
        What is decided when they still differ: nothing (one vote for each candidate is ``"tie"`` where that may be
        voted for), or reviewer 2's vote, who spoke last.

    Notes
    -----
    The paper's aim is an agreed preference, and its released code always lets four turns pass. Here the
    debate ends with the first round after which both votes are there and equal, the reviews included:
    nothing is left to discuss. Agreement is looked at after both have spoken, so that a log has both in
    every round. A reviewer who failed has not agreed. The paper discusses each pair with either reviewer
    leading and each answer first; that is two runs in both orders. The reviewers have a role each
    ("reviewer 1", "reviewer 2"), so that they may be two models.

    Examples
    --------
    >>> str(PeerDiscussion().rule()), PeerDiscussion().max_rounds
    ('unanimity:missing=block', 3)
    """

    max_rounds: int = 3
    undecided: Literal["none", "last_speaker"] = "none"

    name: ClassVar[str] = "peer_discussion"
    citation: ClassVar[str] = "Li et al. (2023), arXiv 2307.02762 (PRD), peer discussion"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("undecided", self.undecided, ("none", "last_speaker"))

    def rule(self) -> StoppingRule:
        """Return agreement of both."""
        return Unanimity(missing="block")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: list[Message] = []
        number = 0
        while True:
            number += 1
            votes: list[str | None] = []
            stages = ((0, 1),) if number == 1 else ((0,), (1,))
            for seats in stages:
                asked = [self._reviewer(case, number, seat, tuple(talk)) for seat in seats]
                replies = yield from speak(*asked)
                for request, reply in zip(asked, replies, strict=True):
                    talk += said(request, reply, request.agent, show=True)
                    votes.append(reply.vote)
            decision = yield from round_over(number, votes=votes)
            if decision.stop:
                both = {vote for vote in votes if vote is not None}
                agreed = None if None in votes else settled(both, case.sides, case.answers)
                if len(both) != 1 or None in votes:
                    agreed = votes[1] if self.undecided == "last_speaker" else agreed
                return Outcome(agreed, number, str(decision.reason), decision.detail)

    def _reviewer(self, case: Case, number: int, seat: int, seen: tuple[Message, ...]) -> Request:
        name, other = f"reviewer {seat + 1}", f"reviewer {2 - seat}"
        act, instruction = ("review", REVIEW) if number == 1 else ("discuss", DISCUSS)
        text = instruction.format(name=name, other=other)
        slot = Slot(case.answers, words=150)
        return Request(case, number, name, name, act, text, slot, seen, rounds=self.max_rounds)
