"""ChatEval: referees with different roles discuss and score both answers, turn by turn (Chan et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal, get_args

from d3stats._check import PositiveInt, choice, integer
from d3stats.agent import RESPONSE, Case, Message, Reply, Request, Rubric, Slot
from d3stats.polling import Polling
from d3stats.protocols.jury import as_list
from d3stats.protocols.play import (
    DebateProtocol,
    Outcome,
    Play,
    ballot,
    heard,
    mean_points,
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

__all__ = [
    "ASPECTS",
    "COMMUNICATION",
    "REFEREES",
    "REFEREES_OF_ONE",
    "ROLES",
    "TOPICAL_CHAT",
    "ChatEval",
    "ChatEvalOpen",
]

Communication = Literal["one_by_one", "simultaneous", "simultaneous_with_summarizer"]
COMMUNICATION = get_args(Communication)
"""The strategies of communication (ChatEval, section 2.3 and appendix B)."""

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
    "annotator": "an annotator who compares texts, one of several referees",
    "none": "",
}
"""The roles of appendix A, in other words; the neutral role of table 3; and no role, as its single agent has."""

REFEREES_OF_ONE = {
    "public": (
        "a member of the general public. You follow the conversation with interest and judge as an ordinary reader "
        "would, by your own lights"
    ),
    "critic": (
        "a critic of style. You look at wording, flow and clarity of sentences, and ask the others to defend their "
        "scores"
    ),
    "scientist": (
        "a scientist. You test claims for evidence and method, and you help the others to see whether the response "
        "holds up"
    ),
    "author": (
        "a writer of news. You check that the response stays true to its source and to what was said before, and you "
        "help the others to score it"
    ),
    "psychologist": (
        "a psychologist. You consider how people think, feel and react to what is said to them, and you help the "
        "others to score it"
    ),
    "annotator": "an annotator who scores texts, one of several referees",
    "none": "",
}
"""The same roles where one response is scored."""

ASPECTS = {
    "overall": "how good is it, all in all?",
    "naturalness": "would a person say it like this?",
    "coherence": "does it go on from what was said before?",
    "engagingness": "does it make one want to talk on, or is it dull?",
    "groundedness": "does it make use of the fact that it was given?",
    "understandability": "can it be understood, given what was said before?",
}
"""The aspects that a response may be scored for, with the question of each."""

TOPICAL_CHAT = ("naturalness", "coherence", "engagingness", "groundedness")
"""The four aspects of dialogue responses (ChatEval, section 3.5)."""

INSTRUCTION = (
    "You are {name}{role}.\n{who} two answers to one question. Give each {scores}{talk}Be short and clear."
)
OVERALL = (
    "an overall score from {low} (worst) to {high} (best) for how helpful, relevant, accurate and detailed it "
    "is. "
)
BY_ASPECT = "a score from {low} (worst) to {high} (best) on each aspect:\n{aspects}\n"
OF_ONE = (
    "You are {name}{role}.\n"
    "{who} one response to what stands before it, a conversation or a question. Give it {scores}{talk}Be short and "
    "clear."
)
WITH_OTHERS, ALONE = "With other referees you assess", "You assess"
TALK_OVER = "If the others have spoken, weigh what they say and reply to it, but judge for yourself. "

SUMMARY = (
    "Referees discuss two answers to one question. Sum up for them what has been said so far: who favours "
    "which answer, with which scores and for which reasons, and what is in dispute. Add no judgment of "
    "your own."
)
SUMMARY_OF_ONE = (
    "Referees discuss one response to what stands before it. Sum up for them what has been said so far: which scores "
    "it was given on which aspects and for which reasons, and what is in dispute. Add no judgment of your own."
)


@dataclass(frozen=True, kw_only=True)
class ChatEval(DebateProtocol):
    """Referees score both candidates, or one response, in every turn; what they hear is the communication strategy.

    Parameters
    ----------
    max_rounds : int
        Discussion turns; the paper's number is 2. In a single turn referees hear those who speak before them, one by
        one, or no other referee.
    referees : tuple of str
        Roles in the order of speaking: ``"public"``, ``"critic"``, ``"scientist"``, ``"author"``,
        ``"psychologist"``; ``"annotator"``, the neutral role of table 3; or ``"none"``, no role. Roles may
        be repeated. The paper's team of one role is ``("annotator", "annotator")``, and its single agent is
        ``("none",)`` with one turn.
    communication : {"one_by_one", "simultaneous", "simultaneous_with_summarizer"}
        What a referee hears. One by one: everything said before it speaks, this turn included.
        Simultaneous: everything said in the turns before. With summarizer: only the summaries of the turns
        before, one after each turn, each made from all messages so far.
    extraction : {"majority", "mean", "borda"}
        Decide by the majority of the last turn's votes, a vote being the side that a referee scores higher; by the
        mean of the last turn's scores; or by a Borda count. There a referee gives a point to the side that it scores
        higher, and half a point to each of two equal ones. With a majority equal scores are votes for a third answer,
        the tie, or missing.
    aspects : tuple of str
        What is scored, of ``ASPECTS``; empty for one overall score of each of two answers, and for the paper's four
        aspects (``TOPICAL_CHAT``) of a single response. A side's points are added over its aspects.
    lowest, highest : int
        The scale of every score. 1 to 10 is the paper's for two answers; it prints none for one response.

    Raises
    ------
    ValueError
        When a role, a strategy or an aspect is not known, there is no referee, an aspect is named twice or the scale
        has no two points; when it is played and a recorded score does not lie on the scale.

    Notes
    -----
    In Algorithm 1 of the paper a message reaches only the seats after the speaker. In its text and its figure
    the message reaches everyone who speaks later, in the next turn too; this class follows the text. Algorithm
    2 adds the whole buffer to the history again in every turn; here a message is read once. When both sides
    have equally many votes, or equal means, the decision is ``"tie"`` where the case has that answer, else
    none. The paper's position calibration is two debates, one with each candidate shown first.

    A single response gets scores and no decision. ``detail`` has the mean of each aspect over the referees of the last
    turn who scored it (section 2). An aspect without a score is left out.
    :func:`~d3stats.inference.direct_scores` reads the same means from a log.

    Examples
    --------
    >>> ChatEval().rule(), ChatEval(referees=("critic", "scientist")).communication
    (ChatEvalTurns(n=2), 'one_by_one')
    >>> str(ChatEval(aspects=("coherence", "overall"), highest=5))
    'chateval:aspects=coherence+overall,highest=5'
    """

    max_rounds: int = 2
    referees: tuple[str, ...] = ("public", "critic", "scientist")
    communication: Communication = "one_by_one"
    extraction: Literal["majority", "mean", "borda"] = "majority"
    aspects: tuple[str, ...] = ()
    lowest: Annotated[int, integer] = 1
    highest: Annotated[int, integer] = 10

    one_response: ClassVar[bool] = True
    temperatures: ClassVar[Mapping[str, float]] = {"referee": 0.0, "summarizer": 0.0}
    name: ClassVar[str] = "chateval"
    citation: ClassVar[str] = "Chan et al. (2023), arXiv 2308.07201, section 2, appendices A and B"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.referees, (tuple, list)) or not self.referees:
            raise ValueError(f"referees must be one role or more; got referees={self.referees!r}")
        object.__setattr__(self, "referees", tuple(choice("referees", r, REFEREES) for r in self.referees))
        if not isinstance(self.aspects, (tuple, list)):
            raise ValueError(f"aspects must be a tuple of names; got aspects={self.aspects!r}")
        object.__setattr__(self, "aspects", tuple(choice("aspects", a, ASPECTS) for a in self.aspects))
        if len(set(self.aspects)) < len(self.aspects):
            raise ValueError(f"aspects must be named once each; got aspects={self.aspects!r}")
        if self.lowest >= self.highest:
            raise ValueError(
                f"lowest must be below highest; got lowest={self.lowest}, highest={self.highest}"
            )

    @property
    def polling(self) -> Polling:
        """The extraction of the last turn's decision."""
        usual = super().polling
        if self.extraction == "mean":
            return replace(usual, decides="scores", scored_from=1, scored="last")
        return replace(usual, decides="sides" if self.extraction == "borda" else "plurality")

    def rule(self) -> StoppingRule:
        """Return the fixed number of turns."""
        return ChatEvalTurns(self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        rubric, one = self._rubric(case), case.sides == (RESPONSE,)
        talk: list[Message] = []
        summaries: list[Message] = []
        turn = 0
        while True:
            turn += 1
            if self.communication == "one_by_one":
                asked, replies = list[Request](), list[Reply]()
                for seat in range(len(self.referees)):
                    request = self._referee(case, turn, seat, talk)
                    (reply,) = yield from speak(request)
                    talk += said(request, reply, request.agent, show=True)
                    asked.append(request)
                    replies.append(reply)
            else:
                known = talk if self.communication == "simultaneous" else summaries
                asked = [self._referee(case, turn, seat, known) for seat in range(len(self.referees))]
                replies = list((yield from speak(*asked)))
                talk += heard(asked, replies, show=True)
            if self.communication == "simultaneous_with_summarizer":
                text = SUMMARY_OF_ONE if one else SUMMARY
                request = self.request(case, turn, "summarizer", "summarizer", "summarise", text, seen=talk)
                (reply,) = yield from speak(request)
                summaries += said(request, reply, "summarizer")
            means = mean_points(list(zip(asked, replies, strict=True)))
            if one:
                found = _of_one(rubric, replies, case.debate)
                decision = yield from round_over(turn, scores=means)
                if decision.stop:
                    return Outcome(None, turn, str(decision.reason) if found else "no_scores", found)
                continue
            decision = yield from round_over(turn, votes=votes_of(replies), scores=means)
            if decision.stop:
                final = preferred(means, case.answers)
                if self.extraction == "majority":
                    final = plurality(case, votes_of(replies))
                elif self.extraction == "borda":
                    final = preferred(_borda(case, replies), case.answers)
                return Outcome(final, turn, str(decision.reason), means or {})

    def _referee(self, case: Case, turn: int, seat: int, seen: Sequence[Message]) -> Request:
        name = f"referee {seat + 1}"
        rubric, one, several = self._rubric(case), case.sides == (RESPONSE,), len(self.referees) > 1
        role = (REFEREES_OF_ONE if one else REFEREES)[self.referees[seat]]
        listed = as_list([f"{aspect}: {ASPECTS[aspect]}" for aspect in rubric.criteria])
        scores = OVERALL if rubric.criteria == ("overall",) else BY_ASPECT
        instruction = (OF_ONE if one else INSTRUCTION).format(
            name=name,
            role=role and f", {role}",
            who=WITH_OTHERS if several else ALONE,
            scores=scores.format(low=rubric.low, high=rubric.high, aspects=listed),
            talk=TALK_OVER if several else "",
        )
        slot = Slot(case.answers, rubric=rubric, lead=not one)
        return self.request(case, turn, name, "referee", "referee", instruction, slot, seen)

    def _rubric(self, case: Case) -> Rubric:
        aspects = self.aspects or (TOPICAL_CHAT if case.sides == (RESPONSE,) else ("overall",))
        return Rubric(case.sides, aspects, self.lowest, self.highest)


def _borda(case: Case, replies: Sequence[Reply]) -> dict[str, float] | None:
    """Return each side's points of a Borda count; a referee without scores has no ranking."""
    given = [points for points in (total(reply, case.sides) for reply in replies) if points is not None]
    if not given:
        return None
    a, b = case.sides
    ranked = [0.5 if points[a] == points[b] else float(points[a] > points[b]) for points in given]
    return {a: sum(ranked), b: len(ranked) - sum(ranked)}


def _of_one(rubric: Rubric, replies: Sequence[Reply], debate: str) -> dict[str, float]:
    """Return the mean of each aspect over those who scored it; an aspect that nobody scored is left out."""
    given: dict[str, list[float]] = {aspect: [] for aspect in rubric.criteria}
    for reply in replies:
        for aspect, points in (reply.scores or {}).get(RESPONSE, {}).items():
            if not rubric.low <= points <= rubric.high:
                raise ValueError(
                    f"scores must lie on the scale from {rubric.low} to {rubric.high}; got {points:g} for {aspect} "
                    f"in debate {debate!r}"
                )
            given.setdefault(aspect, []).append(points)
    return {aspect: fmean(given[aspect]) for aspect in rubric.criteria if given[aspect]}


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
"""The agents, in the order of speaking."""

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
    When no answer was marked, the scientist's answer of the last round played is the decision, if there is one. The
    same holds when another rule stops the debate before its last round, in which marks are given. When different
    answers have equal marks, there is no decision, except ``"tie"`` for both sides of a pair where that may be voted.

    No agent marks itself, and only answers that were given are marked. The log keeps each mark under the name of the
    agent that is marked. The source limits an answer to 800 words in its prompts and 800 characters in its text;
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
        if self.max_rounds < 2:
            raise ValueError(
                f"max_rounds must be at least 2 for {self.name}, whose last round marks the answers of the round "
                f"before it; got max_rounds={self.max_rounds}"
            )

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
            asked: list[Request] = []
            for agent in ROLES:
                request = self._request(case, number, agent, before, talk)
                asked.append(request)
                (replies[agent],) = yield from speak(request)
                talk += said(request, replies[agent], agent, show=True)
            now = {agent: reply.vote for agent, reply in replies.items()}
            marks = mean_points(list(zip(asked, replies.values(), strict=True)))
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


def _best(case: Case, marks: Scores | None, answers: Mapping[str, str | None]) -> tuple[bool, str | None]:
    """Return whether any answer was marked, and the best; several marks for one answer are no tie."""
    marked = [(mark, answer) for name, mark in (marks or {}).items() if (answer := answers[name]) is not None]
    best = max((mark for mark, _ in marked), default=0.0)
    leading = {answer for mark, answer in marked if mark == best}
    return bool(marked), settled(leading, case.sides, case.answers)
