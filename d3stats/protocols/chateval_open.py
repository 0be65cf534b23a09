"""Three roles talk a question over; last they answer it and mark what the others answered before (ChatEval, open)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar, Literal

from d3stats._check import choice
from d3stats.agents.request import Case, Message, Reply, Request, Rubric
from d3stats.protocols._talk import ballot, task
from d3stats.protocols.play import Outcome, Play, round_over, said, settled, speak
from d3stats.protocols.protocol import DebateProtocol
from d3stats.stopping import ChatEvalTurns, StoppingRule

__all__ = ["ROLES", "ChatEvalOpen"]

ROLES = {
    "public": (
        "the general public: you bring common sense and first impressions, and open the talk so that others have "
        "something to answer"
    ),
    "critic": (
        "a critic: you look for mistakes and vague places in what was said before, and press for a more exact answer"
    ),
    "scientist": (
        "a scientist: you go by evidence and sound inference, check what was claimed, and draw it together"
    ),
}
"""Who takes part, in the order of speaking."""

TALK = (
    "You are {name}, {role}. With two others you deal with one question. {task} Say how you see it, or improve on "
    "what was said before you, and end with the answer that you hold for now."
)
FINAL = (
    "You are {name}, {role}. With two others you have dealt with one question. {task} This is the last round: give "
    "your answer for good, short and to the point."
)
MARK = (
    " Also mark the answers that the others gave in round {before}, each with a whole number from 1 (worst) to 10 "
    "(best)."
)

Scores = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class ChatEvalOpen(DebateProtocol):
    """The public, a critic and a scientist speak in turn; the answer that the others mark highest is the decision.

    Each has read everything said before, this round included, and ends with an answer. In the last round each also
    marks, from 1 to 10, the answers that the two others gave in the round before. The highest mean mark decides.

    Parameters
    ----------
    max_rounds : int
        At least 2, so that there is something to mark.
    extraction : {"scored", "last"}
        The decision is the answer that was marked highest, or what its author answers in the last round. The source
        takes a last-round answer, by marks of the round before.
    words : int
        The longest message.

    Notes
    -----
    When no answer was marked, the scientist's of the last round played is the decision; without that there is
    none. So it is, too, when another rule stops the debate before its last round, in which marks are given. Of equal
    marks for different answers none is chosen, except both sides of a pair where ``"tie"`` may be voted for.

    Nobody marks itself, and only answers that were given are marked. The log keeps the marks under the names of
    those who are marked. The source limits an answer to 800 words in its prompts and 800 characters in its text;
    `words` is near the latter. ``detail`` has the mean marks, and ``"marked"``: how many answers were marked.

    Examples
    --------
    >>> str(ChatEvalOpen(max_rounds=3)), ChatEvalOpen().rule()
    ('chateval_open:max_rounds=3', ChatEvalTurns(n=2))
    """

    max_rounds: int = 2
    extraction: Literal["scored", "last"] = "scored"
    words: int = 150

    name: ClassVar[str] = "chateval_open"
    citation: ClassVar[str] = (
        "Chan et al. (2023), arXiv 2308.07201, as run on open questions in a later comparison of debate frameworks"
    )
    candidates: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("words")
        ChatEvalTurns(self.max_rounds)
        choice("extraction", self.extraction, ("scored", "last"))

    def rule(self) -> StoppingRule:
        """Return the fixed number of rounds."""
        return ChatEvalTurns(self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: tuple[Message, ...] = ()
        before: dict[str, str | None] = {}
        number = 0
        while True:
            number += 1
            replies: dict[str, Reply] = {}
            for agent in ROLES:
                request = self._request(case, number, agent, before, talk)
                (replies[agent],) = yield from speak(request)
                talk += said(request, replies[agent], agent, show=True)
            now = {agent: reply.vote for agent, reply in replies.items()}
            marks = _means(replies)
            # In the order of the log's seats, which a rule sees.
            decision = yield from round_over(
                number, votes=[now[agent] for agent in sorted(now)], scores=marks
            )
            if decision.stop:
                found, final = _best(case, marks, before if self.extraction == "scored" else now)
                detail = {f"mark {agent}": mark for agent, mark in (marks or {}).items()}
                detail["marked"] = float(len(marks or ()))
                return Outcome(final if found else now["scientist"], number, str(decision.reason), detail)
            before = now

    def _request(
        self,
        case: Case,
        number: int,
        agent: str,
        before: Mapping[str, str | None],
        seen: tuple[Message, ...],
    ) -> Request:
        last = number == self.max_rounds
        slot = ballot(case, self.words)
        instruction = (FINAL if last else TALK).format(name=agent, role=ROLES[agent], task=task(case))
        others = tuple(name for name, answer in before.items() if answer is not None and name != agent)
        if last and others:
            slot = replace(slot, rubric=Rubric(others, ("overall",), 1, 10))
            instruction += MARK.format(before=number - 1)
        return Request(
            case,
            number,
            agent,
            "referee",
            "referee",
            instruction,
            slot,
            seen,
            rounds=self.max_rounds,
        )


def _means(replies: Mapping[str, Reply]) -> Scores | None:
    """Return the mean mark of everybody who was marked."""
    given: dict[str, list[float]] = {}
    for reply in replies.values():
        for agent, marks in (reply.scores or {}).items():
            given.setdefault(agent, []).append(float(sum(marks.values())))
    return {agent: fmean(given[agent]) for agent in sorted(given)} or None


def _best(case: Case, marks: Scores | None, answers: Mapping[str, str | None]) -> tuple[bool, str | None]:
    """Return whether any answer was marked, and the best; several marks for one answer are no tie."""
    marked = [(mark, answer) for name, mark in (marks or {}).items() if (answer := answers[name]) is not None]
    best = max((mark for mark, _ in marked), default=0.0)
    leading = {answer for mark, answer in marked if mark == best}
    return bool(marked), settled(leading, case.sides, case.answers)
