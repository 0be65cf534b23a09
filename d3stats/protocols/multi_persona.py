"""Multi-Persona: one side proposes, the other challenges, a moderator may decide each round (Liang et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from d3stats.agent import Case, Message, Request, Slot
from d3stats.protocols.play import DebateProtocol, Outcome, Play, ballot, round_over, said, speak, task
from d3stats.stopping import Declaration, StoppingRule, StopReason

__all__ = ["MultiPersona"]

AFFIRM = (
    "You are the affirmative side of a debate (the angel). {task} Propose an answer and stand up for it; "
    "in later rounds meet what the negative side has said against it, and change your proposal where it "
    "is right. Be clear and civil, and end with the answer that you propose."
)
OPPOSE = (
    "You are the negative side of a debate (the devil). {task} Challenge what the affirmative side has "
    "just said: name gaps and vague points, ask for precision, and put forward an answer that is sharper. "
    "Be critical, logical and civil, and end with the answer that you propose."
)
MODERATE = (
    "You moderate a debate between an affirmative and a negative side. {task} Weigh the arguments of both "
    "without favour. Once an answer has come out that stands up to them, decide for it, which ends the "
    "debate; until then pass, and say what is still to be cleared up."
)
DECIDE = (
    "You moderate a debate between an affirmative and a negative side. {task} This was the last round: "
    "decide now. Draw on what both sides proposed, give the answer that the debate supports best, and say "
    "why."
)

FALLBACKS = ("negative_stands", "affirmative_stands", "no_conclusion")
"""Reasons when the moderator has not decided after the last round, in the order in which they are tried."""


@dataclass(frozen=True, kw_only=True)
class MultiPersona(DebateProtocol):
    """An affirmative and a negative side propose answers; the moderator ends the debate by deciding.

    In each round the affirmative side speaks, then the negative, then the moderator, each having read all
    messages before. Before the last round the moderator may pass; in the last it is asked to decide. When it
    has not decided, the negative side's latest proposal is the decision, and without one the affirmative's.

    Parameters
    ----------
    max_rounds : int
        The paper's number is 3.

    Notes
    -----
    When the moderator fails, the debate continues. The reason is ``"declaration"`` when the moderator decided;
    after the last round without it ``"negative_stands"``, ``"affirmative_stands"`` or ``"no_conclusion"``;
    else that of the stopping rule, with the same fallbacks. ``detail["passed_over"]`` counts the agents that
    were asked before an answer was found.

    Names are chosen so that the moderator has the last seat of the log, where
    :class:`~d3stats.stopping.Declaration` looks.

    Examples
    --------
    >>> str(MultiPersona().rule()), MultiPersona().max_rounds
    ('declaration:-1', 3)
    """

    max_rounds: int = 3

    name: ClassVar[str] = "multi_persona"
    citation: ClassVar[str] = (
        "Liang et al. (2023), arXiv 2305.19118, as run in a later comparison of debate frameworks"
    )
    candidates: ClassVar[bool | None] = None
    ends_itself: ClassVar[bool] = True

    def rule(self) -> StoppingRule:
        """Return the moderator's declaration."""
        return Declaration()

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: list[Message] = []
        latest: dict[str, str] = {}
        number = 0
        while True:
            number += 1
            last = number == self.max_rounds
            votes: list[str | None] = []
            for request in self._speakers(case, number, last):
                asked = replace(request, seen=tuple(talk))
                (reply,) = yield from speak(asked)
                talk += said(asked, reply, asked.role, show=True)
                votes.append(reply.vote)
                if reply.vote is not None:
                    latest[asked.role] = reply.vote
            declared = votes[-1]
            if declared is not None:
                yield from round_over(number, votes=votes, ends=Declaration.reason)
                return Outcome(declared, number, Declaration.reason, {"passed_over": 0})
            decision = yield from round_over(number, votes=votes)
            if decision.stop:
                passed, answer = _fallback(latest)
                exhausted = decision.reason == StopReason.EXHAUSTED
                reason = FALLBACKS[passed - 1] if exhausted else str(decision.reason)
                return Outcome(answer, number, reason, {"passed_over": passed})

    def _speakers(self, case: Case, number: int, last: bool) -> tuple[Request, ...]:
        def request(agent: str, role: str, act: str, instruction: str, slot: Slot) -> Request:
            text = instruction.format(task=task(case))
            return self.request(case, number, agent, role, act, text, slot)

        proposal, verdict = ballot(case, 150), ballot(case, 150, may_pass=not last)
        return (
            request("debater, affirmative", "affirmative", "affirm", AFFIRM, proposal),
            request("debater, negative", "negative", "oppose", OPPOSE, proposal),
            request("moderator", "moderator", "moderate", DECIDE if last else MODERATE, verdict),
        )


def _fallback(latest: dict[str, str]) -> tuple[int, str | None]:
    """Return how many were passed over, the moderator first, and the proposal that stands."""
    for passed, role in enumerate(("negative", "affirmative"), start=1):
        if role in latest:
            return passed, latest[role]
    return 3, None
