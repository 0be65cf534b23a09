"""A panel that votes, reads all statements, and votes again until it is stable (Hu et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from d3stats._check import PositiveInt
from d3stats.agent import Case, Message, Request
from d3stats.protocols.play import (
    DebateProtocol,
    Outcome,
    Play,
    ballot,
    heard,
    plurality,
    round_over,
    speak,
    task,
    votes_of,
)
from d3stats.stopping import KSStability, StoppingRule, Unanimity

__all__ = ["Stability"]

FIRST = "You are {name}, one of a panel. {task} Give your reasons, then your vote."
AGAIN = (
    "You are {name}, one of a panel. {task} The panel's statements and votes so far are shown. Where "
    "others have the better reasons, change your mind; where you have, say why and stay. Give your "
    "reasons, then your vote."
)


@dataclass(frozen=True, kw_only=True)
class Stability(DebateProtocol):
    """A panel votes, all at once, round by round, having read the debate; the last majority decides.

    Parameters
    ----------
    max_rounds : int
        The paper's T, 10; the first round, before anything is read, is counted.
    panel : int
        Panelists, the paper's n, 7.
    sees : {"history", "last_round"}
        Whether a panelist reads all rounds so far or the last one; its own statements are among them.
    camp : {"right", "first", "largest", "none"}
        Whose votes the batch rule counts. "right" is the paper's rule and needs the right answers. A run
        without labels takes "largest" (which does not detect a change of the largest camp) or "first" (for
        pairs). With "none" unanimity is the only rule, so that each debate decides for itself.

    Notes
    -----
    The paper's adaptive stop compares the distributions of *correct* votes of two rounds over a batch of
    debates, which a deployed panel does not have. :class:`~d3stats.stopping.KSStability` says which changes
    each camp does not detect. Equal leading camps give no decision, except ``"tie"`` for both sides of a
    pair where that may be voted for.

    Examples
    --------
    >>> str(Stability(camp="none").rule())
    'unanimity'
    >>> [any(part.needs_labels for part in Stability(camp=c).rule().parts()) for c in ("right", "largest")]
    [True, False]
    """

    max_rounds: int = 10
    panel: PositiveInt = 7
    sees: Literal["history", "last_round"] = "history"
    camp: Literal["right", "first", "largest", "none"] = "right"

    temperatures: ClassVar[Mapping[str, float]] = {"panelist": 1.0}
    name: ClassVar[str] = "stability"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697"
    candidates: ClassVar[bool | None] = None

    def rule(self) -> StoppingRule:
        """Return unanimity, or that and the batch rule of the paper's released code."""
        if self.camp == "none":
            return Unanimity()
        return Unanimity() | replace(KSStability.hu2025(), camp=self.camp)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: list[Message] = []
        number = 0
        while True:
            number += 1
            asked = [self._panelist(case, number, seat, tuple(talk)) for seat in range(self.panel)]
            replies = yield from speak(*asked)
            if self.sees == "last_round":
                talk = []
            talk += heard(asked, replies, show=True)
            decision = yield from round_over(number, votes=votes_of(replies))
            if decision.stop:
                return Outcome(
                    plurality(case, votes_of(replies)), number, str(decision.reason), decision.detail
                )

    def _panelist(self, case: Case, number: int, seat: int, seen: tuple[Message, ...]) -> Request:
        name = f"panelist {seat + 1}"
        instruction = (FIRST if number == 1 else AGAIN).format(name=name, task=task(case))
        return self.request(case, number, name, "panelist", "answer", instruction, ballot(case, 100), seen)
