"""ChatEval: referees with different roles discuss and score both answers, turn by turn (Chan et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar, Literal, get_args

from d3stats._check import PositiveInt, choice
from d3stats.agent import Case, Message, Reply, Request, Rubric, Slot
from d3stats.protocols.play import (
    DebateProtocol,
    Outcome,
    Play,
    ballot,
    heard,
    plurality,
    preferred,
    round_over,
    said,
    settled,
    speak,
    task,
    total,
    votes_of,
)
from d3stats.stopping import ChatEvalTurns, StoppingRule

__all__ = ["COMMUNICATION", "REFEREES", "ROLES", "ChatEval", "ChatEvalOpen"]

Communication = Literal["one_by_one", "simultaneous", "simultaneous_with_summarizer"]
COMMUNICATION = get_args(Communication)
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
    communication: Communication = "one_by_one"
    extraction: Literal["majority", "mean"] = "majority"

    name: ClassVar[str] = "chateval"
    citation: ClassVar[str] = "Chan et al. (2023), arXiv 2308.07201, section 2, appendices A and B"

    def __post_init__(self) -> None:
        super().__post_init__()
        ChatEvalTurns(self.max_rounds)
        if not isinstance(self.referees, (tuple, list)) or not self.referees:
            raise ValueError(f"referees must be one role or more; got referees={self.referees!r}")
        object.__setattr__(self, "referees", tuple(choice("referees", r, REFEREES) for r in self.referees))

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
                known = talk if self.communication == "simultaneous" else summaries
                asked = [self._referee(case, turn, seat, known) for seat in range(len(self.referees))]
                replies = list((yield from speak(*asked)))
                talk += heard(asked, replies, show=True)
            if self.communication == "simultaneous_with_summarizer":
                request = self.request(
                    case, turn, "summarizer", "summarizer", "summarise", SUMMARY, seen=talk
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

    def _referee(self, case: Case, turn: int, seat: int, seen: Sequence[Message]) -> Request:
        name = f"referee {seat + 1}"
        instruction = INSTRUCTION.format(name=name, role=REFEREES[self.referees[seat]])
        slot = Slot(case.answers, rubric=Rubric(case.sides, ("overall",), 1, 10), lead=True)
        return self.request(case, turn, name, "referee", "referee", instruction, slot, seen)


def _means(case: Case, replies: Sequence[Reply]) -> dict[str, float] | None:
    given = [points for points in (total(reply, case.sides) for reply in replies) if points is not None]
    return {side: fmean(points[side] for points in given) for side in case.sides} if given else None


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
    words: PositiveInt = 150

    name: ClassVar[str] = "chateval_open"
    citation: ClassVar[str] = (
        "Chan et al. (2023), arXiv 2308.07201, as run on open questions in a later comparison of debate frameworks"
    )
    candidates: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        ChatEvalTurns(self.max_rounds)

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
            marks = _marks(replies)
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
        return self.request(case, number, agent, "referee", "referee", instruction, slot, seen)


def _marks(replies: Mapping[str, Reply]) -> Scores | None:
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
