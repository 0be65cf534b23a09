"""A team of referees with different roles who score both answers, turn by turn, and talk (ChatEval)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Literal

from d3stats._check import choice
from d3stats.agents.request import Case, Message, Reply, Request, Rubric, Slot
from d3stats.protocols.play import (
    Outcome,
    Play,
    plurality,
    preferred,
    round_over,
    said,
    speak,
    total,
    votes_of,
)
from d3stats.protocols.protocol import DebateProtocol
from d3stats.stopping import ChatEvalTurns, StoppingRule

__all__ = ["COMMUNICATION", "REFEREES", "ChatEval"]

COMMUNICATION = ("one_by_one", "simultaneous", "simultaneous_with_summarizer")
"""Who hears whom (ChatEval, section 2.3 and appendix B)."""

REFEREES = {
    "public": (
        "a member of the general public. You follow the matter with interest and judge as an ordinary "
        "reader would, by your own lights; commit yourself to one of the answers before you look for "
        "agreement"
    ),
    "critic": (
        "a critic of style. You look at wording, flow and clarity of sentences, ask the others to defend "
        "their judgments, and bring up another view when both answers seem equal"
    ),
    "scientist": (
        "a scientist. You test claims for evidence and method and take problems apart, and you help the "
        "others to see which answer holds up"
    ),
    "author": (
        "a writer of news. You check that each answer stays true to its source and to itself, and you "
        "help the others to find the better one"
    ),
    "psychologist": (
        "a psychologist. You consider how people think, feel and react to what they read, and you help "
        "the others to find the better one"
    ),
}
"""The roles of appendix A, in other words."""

INSTRUCTION = (
    "You are {name}, {role}.\n"
    "With other referees you assess two answers to one question. Give each an overall score from 1 "
    "(worst) to 10 (best) for how helpful, relevant, accurate and detailed it is. If the others have "
    "spoken, weigh what they say and reply to it, but judge for yourself. Be short and clear."
)

SUMMARY = (
    "Referees discuss two answers to one question. Sum up for them what has been said so far: who favours "
    "which answer, with which scores and for which reasons, and what is in dispute. Add no judgment of "
    "your own."
)


@dataclass(frozen=True, kw_only=True)
class ChatEval(DebateProtocol):
    """Referees score both candidates in every turn; what they hear is the communication strategy.

    Parameters
    ----------
    max_rounds : int
        Discussion turns, at least 2; the paper's number is 2.
    referees : tuple of str
        Roles in the order of speaking: ``"public"``, ``"critic"``, ``"scientist"``, ``"author"``,
        ``"psychologist"``. A role may sit twice.
    communication : {"one_by_one", "simultaneous", "simultaneous_with_summarizer"}
        What a referee hears. One by one: everything said before it speaks, this turn included.
        Simultaneous: everything said in the turns before. With summarizer: only the summaries of the turns
        before, one after each turn, each made from all messages so far.
    extraction : {"majority", "mean"}
        Decide by the majority of the last turn's votes, a vote being the side that a referee scores higher,
        or by the mean of the last turn's scores.

    Raises
    ------
    ValueError
        When a role or a strategy is not known, or there are fewer than two turns.

    Notes
    -----
    Algorithm 1 of the paper hands a message only to the seats after the speaker; its text and its figure
    let it reach everyone who speaks later, in the next turn too, and so it is here. Algorithm 2 adds the
    whole buffer to the history again in every turn; here a message is read once. When both sides lead with
    as many votes, or with equal means, the decision is ``"tie"`` where the case has that answer and none
    where it has not. The paper's position calibration is two debates, one with each candidate shown first.

    Examples
    --------
    >>> ChatEval().rule(), ChatEval(referees=("critic", "scientist")).communication
    (ChatEvalTurns(n=2), 'one_by_one')
    """

    max_rounds: int = 2
    referees: tuple[str, ...] = ("public", "critic", "scientist")
    communication: Literal["one_by_one", "simultaneous", "simultaneous_with_summarizer"] = "one_by_one"
    extraction: Literal["majority", "mean"] = "majority"

    name: ClassVar[str] = "chateval"
    citation: ClassVar[str] = "Chan et al. (2023), arXiv 2308.07201, section 2, appendices A and B"

    def __post_init__(self) -> None:
        super().__post_init__()
        ChatEvalTurns(self.max_rounds)
        if not isinstance(self.referees, (tuple, list)) or not self.referees:
            raise ValueError(f"referees must be one role or more; got referees={self.referees!r}")
        object.__setattr__(self, "referees", tuple(choice("referees", r, REFEREES) for r in self.referees))
        choice("communication", self.communication, COMMUNICATION)
        choice("extraction", self.extraction, ("majority", "mean"))

    def rule(self) -> StoppingRule:
        """Return the fixed number of turns."""
        return ChatEvalTurns(self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: list[Message] = []
        summaries: list[Message] = []
        turn = 0
        while True:
            turn += 1
            if self.communication == "one_by_one":
                replies: list[Reply] = []
                for seat in range(len(self.referees)):
                    request = self._referee(case, turn, seat, talk)
                    (reply,) = yield from speak(request)
                    talk += said(request, reply, request.agent, show=True)
                    replies.append(reply)
            else:
                heard = talk if self.communication == "simultaneous" else summaries
                asked = [self._referee(case, turn, seat, heard) for seat in range(len(self.referees))]
                replies = list((yield from speak(*asked)))
                for request, reply in zip(asked, replies, strict=True):
                    talk += said(request, reply, request.agent, show=True)
            if self.communication == "simultaneous_with_summarizer":
                request = Request(
                    case,
                    turn,
                    "summarizer",
                    "summarizer",
                    "summarise",
                    SUMMARY,
                    seen=tuple(talk),
                    rounds=self.max_rounds,
                )
                (reply,) = yield from speak(request)
                summaries += said(request, reply, "summarizer")
            means = _means(case, replies)
            decision = yield from round_over(turn, votes=votes_of(replies), scores=means)
            if decision.stop:
                final = preferred(means, case.answers)
                if self.extraction == "majority":
                    final = plurality(case, votes_of(replies))
                return Outcome(final, turn, str(decision.reason), means or {})

    def _referee(self, case: Case, turn: int, seat: int, heard: Sequence[Message]) -> Request:
        name = f"referee {seat + 1}"
        instruction = INSTRUCTION.format(name=name, role=REFEREES[self.referees[seat]])
        slot = Slot(case.answers, rubric=Rubric(case.sides, ("overall",), 1, 10), lead=True)
        return Request(
            case, turn, name, "referee", "referee", instruction, slot, tuple(heard), rounds=self.max_rounds
        )


def _means(case: Case, replies: Sequence[Reply]) -> dict[str, float] | None:
    given = [points for points in (total(reply, case.sides) for reply in replies) if points is not None]
    return {side: fmean(points[side] for points in given) for side in case.sides} if given else None
