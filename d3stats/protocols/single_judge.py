"""One judge, one look; or two, with the candidates' places exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats.agents.request import Case, Request, Rubric, Slot
from d3stats.protocols.criteria import CRITERIA, as_list
from d3stats.protocols.play import Outcome, Play, leader, round_over, speak, total
from d3stats.protocols.protocol import DebateProtocol

__all__ = ["SingleJudge"]

INSTRUCTION = (
    "You compare two answers to one question and score each of them, on every criterion, from 1 to 20:\n"
    f"{as_list(CRITERIA)}\n"
    "Be impartial and look for small differences that matter. Give short reasons."
)


@dataclass(frozen=True, kw_only=True)
class SingleJudge(DebateProtocol):
    """One judge scores both candidates on D3's six criteria; the higher total wins.

    Parameters
    ----------
    calibrate : bool
        Ask twice, once with each candidate shown first, and add the points of both: what the place of an
        answer is worth then cancels (balanced position calibration, Wang et al. 2023, arXiv 2305.17926). When
        one of the two calls fails, there is no decision.

    Notes
    -----
    Equal points are no decision. D3's baseline is one call (appendix F.3).
    """

    calibrate: bool = False

    name: ClassVar[str] = "single_judge"
    citation: ClassVar[str] = "the baseline of D3, appendix F.3; position calibration of arXiv 2305.17926"

    def play(self, case: Case) -> Play:
        """Play one debate."""
        slot = Slot(case.answers, rubric=Rubric(case.sides, CRITERIA, 1, 20), lead=True, words=150)

        def judge(agent: str, first: str | None) -> Request:
            return Request(case, 1, agent, "judge", "judge", INSTRUCTION, slot, first=first)

        if self.calibrate:
            asked = [judge(f"judge, {side} first", side) for side in case.sides]
        else:
            asked = [judge("judge", None)]
        replies = yield from speak(*asked)
        totals = [total(reply, case.sides) for reply in replies]
        points = None
        if all(given is not None for given in totals):
            points = {side: sum(given[side] for given in totals if given) for side in case.sides}
        yield from round_over(1, votes=[leader(points)], scores=points, ends="one_round")
        return Outcome(leader(points), 1, "one_round", points or {})
