"""AgentVerse: recruited experts improve one agent's solution until an evaluator accepts it (Chen et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from d3stats._check import PositiveInt
from d3stats.agent import Case, Message, Reply, Request, Rubric, Slot
from d3stats.protocols.play import (
    DebateProtocol,
    Outcome,
    Play,
    ballot,
    heard,
    round_over,
    said,
    speak,
    task,
    total,
)
from d3stats.stopping import ScoreDeclaration, StoppingRule

__all__ = ["AgentVerse"]

ANSWER = "answer"
"""The side of the log that holds the evaluator's mark."""

ASSIGN = (
    "You lead a group that has to deal with one question. Recruit exactly {critics} experts whose fields "
    "fit it. Describe each in one line, field and strength; no names."
)
SOLVE = "You are the group's solver. {task} Give a solution with its reasons, and end with your answer."
IMPROVE = (
    "You are the group's solver. {task} The last round is shown: your solution, what the experts made of "
    "it and why the evaluator was not content. Give a better solution with its reasons, and end with your "
    "answer."
)
CRITICISE = (
    "You are {name} of the group, an expert; where the group's leader has described your field, the "
    "description is shown and is information only. {task} Check the solver's solution from your field, on "
    "your own: say what is wrong or missing, give an improved solution, and end with the answer that you "
    "stand for."
)
EVALUATE = (
    "You evaluate the group's work. {task} Read the solver's solution and the experts' improved ones, "
    "choose the best or put one together from them, and give it as your answer. Mark its correctness: 1 "
    "if the group can stop here, 0 if not; with 0, say what has to be better."
)


@dataclass(frozen=True, kw_only=True)
class AgentVerse(DebateProtocol):
    """An assigner recruits experts; then rounds of solver, critics and evaluator until the mark is 1.

    In a round the solver answers, the critics improve its solution independently of each other, and the
    evaluator reads them all, answers and marks correctness with 0 or 1. In later rounds the solver reads
    the round before. The decision is the evaluator's answer of the last round, or else the answer of the
    last critic that gave one there.

    Parameters
    ----------
    max_rounds : int
        The source gives no number; 3, as its neighbours have.
    critics : int
        Experts to recruit; the source gives no number.
    recruit : {"once", "every_round"}
        Whether the assigner speaks in the first round only, or again in every round, having read the
        evaluator's last message. The source lets the process "iterate" and does not say which part.

    Notes
    -----
    Each critic reads its own line of the assigner's text, as a message and never as part of an instruction.
    With fewer lines than critics the other critics work without a description; further lines are not read.
    When a mark is missing, the debate continues. ``detail["passed_over"]`` counts the agents that were asked
    before an answer was found: the evaluator, then the critics from the last to the first.

    Examples
    --------
    >>> str(AgentVerse().rule()), AgentVerse(critics=2).critics
    ('score_declaration:0', 2)
    """

    max_rounds: int = 3
    critics: PositiveInt = 3
    recruit: Literal["once", "every_round"] = "once"

    name: ClassVar[str] = "agentverse"
    citation: ClassVar[str] = (
        "Chen et al. (2023), arXiv 2308.10848, as run in a later comparison of debate frameworks"
    )
    candidates: ClassVar[bool | None] = None

    def rule(self) -> StoppingRule:
        """Return the evaluator's mark of 1."""
        return ScoreDeclaration()

    def play(self, case: Case) -> Play:
        """Play one debate."""
        experts: tuple[Message, ...] = ()
        before: tuple[Message, ...] = ()
        judged: tuple[Message, ...] = ()
        number = 0
        while True:
            number += 1
            if number == 1 or self.recruit == "every_round":
                request = self._assigner(case, number, judged)
                (reply,) = yield from speak(request)
                experts = _lines(said(request, reply, "assigner"))
            request = self._solver(case, number, before)
            (solver,) = yield from speak(request)
            solution = said(request, solver, "solver", show=True)
            asked = [self._critic(case, number, seat, experts, solution) for seat in range(self.critics)]
            critics = yield from speak(*asked)
            improved = heard(asked, critics, show=True)
            request = self._evaluator(case, number, (*solution, *improved))
            (evaluator,) = yield from speak(request)
            judged = said(request, evaluator, "evaluator", show=True)
            before = (*solution, *improved, *judged)
            votes = [*(reply.vote for reply in critics), evaluator.vote, solver.vote]
            mark = total(evaluator, (ANSWER,))
            decision = yield from round_over(number, votes=votes, scores=mark)
            if decision.stop:
                passed, answer = _extracted(evaluator, critics)
                return Outcome(answer, number, str(decision.reason), {"passed_over": passed, **(mark or {})})

    def _assigner(self, case: Case, number: int, seen: tuple[Message, ...]) -> Request:
        instruction = ASSIGN.format(critics=self.critics)
        slot = Slot(listed=self.critics, words=25 * self.critics)
        return self.request(case, number, "assigner", "assigner", "assign", instruction, slot, seen)

    def _solver(self, case: Case, number: int, seen: tuple[Message, ...]) -> Request:
        instruction = (SOLVE if number == 1 else IMPROVE).format(task=task(case))
        return self.request(case, number, "solver", "solver", "solve", instruction, ballot(case, 200), seen)

    def _critic(
        self, case: Case, number: int, seat: int, experts: Sequence[Message], solution: tuple[Message, ...]
    ) -> Request:
        name = f"critic {seat + 1}"
        instruction = CRITICISE.format(name=name, task=task(case))
        seen = (*experts[seat : seat + 1], *solution)
        return self.request(case, number, name, "critic", "criticise", instruction, ballot(case, 150), seen)

    def _evaluator(self, case: Case, number: int, seen: tuple[Message, ...]) -> Request:
        instruction = EVALUATE.format(task=task(case))
        slot = replace(ballot(case, 150), rubric=Rubric((ANSWER,), ("correctness",), 0, 1))
        return self.request(case, number, "evaluator", "evaluator", "evaluate", instruction, slot, seen)


def _lines(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Split what the assigner said into one message a line, blank lines left out."""
    return tuple(
        replace(message, text=line.strip())
        for message in messages
        for line in message.text.splitlines()
        if line.strip()
    )


def _extracted(evaluator: Reply, critics: Sequence[Reply]) -> tuple[int, str | None]:
    """Return how many were passed over and the first answer: the evaluator's, then the last critic's."""
    tried = [evaluator, *reversed(critics)]
    for passed, reply in enumerate(tried):
        if reply.vote is not None:
            return passed, reply.vote
    return len(tried), None
