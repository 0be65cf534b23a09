"""D3 and the advocates paper before it: MORE (parallel advocates, one round) and SAMRE (rounds), both with juries.

:class:`MoreThenSamre` chooses between the two, debate by debate.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from d3stats._check import NonNegativeFloat, PositiveInt
from d3stats.agent import Case, Message, Reply, Request, Rubric, Slot
from d3stats.polling import Polling
from d3stats.protocols.jury import CRITERIA, explained, judge_decides, jurors, jury, jury_decides
from d3stats.protocols.play import (
    DebateProtocol,
    OneRound,
    Outcome,
    Play,
    RoundOver,
    Speak,
    heard,
    preferred,
    round_over,
    said,
    speak,
    total,
    votes_of,
)
from d3stats.stopping import BudgetedStopping, FixedRounds, SignAgreement, StoppingRule, WideGap

__all__ = ["More", "MoreAdvocates", "MoreThenSamre", "Samre", "SamreAdvocates"]

Memory = Literal["algorithm", "transcript", "latest"]

ADVOCATE = (
    "You are an advocate in a debate over which of two answers to a question is better. Speak for the answer that is "
    "yours, against the other one, and win the judge over on these criteria:\n"
    f"{explained()}\n"
    "Be forceful, concrete and courteous, and invent nothing. Where the other side has spoken, meet its points; where "
    "the judge has given feedback, act on it. Use at most {words} words."
)

AGGREGATOR = (
    "Several advocates have each defended the same answer, without knowing of one another. Write one defence out of "
    "theirs: take over the strongest points, mend the weak ones or leave them out, and say nothing twice. It should "
    "be better than each of them. Use at most {words} words."
)

JUDGE = (
    "You are the judge of a debate over two answers to a question, and on neither side. Score the case that was made "
    "for each answer, from 1 to 20 on every criterion:\n"
    f"{explained()}\n"
    "A side without a defence in this round has said nothing; only its answer then speaks for it. {task}"
)

FEEDBACK = (
    "Then write feedback for both sides, at most {words} words each: what was weak, and what would set their case "
    "apart from the other."
)

REASONS = "Then give your reasons in at most {words} words."


@dataclass(frozen=True, kw_only=True)
class Court(DebateProtocol):
    """Advocates and a judge, as all four protocols ask them."""

    def _advocate(
        self, case: Case, side: str, agent: str, words: int, seen: tuple[Message, ...] = (), number: int = 1
    ) -> Request:
        """Ask for a defence of one side."""
        text, slot = ADVOCATE.format(words=words), Slot(words=words)
        return self.request(case, number, agent, "advocate", "argue", text, slot, seen, side=side)

    def _parallel(self, case: Case, each: int, words: int) -> list[Request]:
        """Ask so many advocates a side, who hear nobody."""
        numbers = [""] if each == 1 else [f" {i}" for i in range(1, each + 1)]
        return [
            self._advocate(case, side, f"advocate {side}{number}", words)
            for side in case.shown
            for number in numbers
        ]

    def _judge(
        self, case: Case, seen: tuple[Message, ...], task: str, words: int, *, lead: bool, number: int = 1
    ) -> Request:
        """Ask for scores of both sides; with `lead` the higher total is also the judge's vote."""
        answers = case.answers if lead else None
        slot = Slot(answers, rubric=Rubric(case.sides, CRITERIA, 1, 20), lead=lead, words=words)
        return self.request(case, number, "judge", "judge", "judge", JUDGE.format(task=task), slot, seen)


def remark(request: Request, reply: Reply) -> tuple[Message, ...]:
    """Return the judge's feedback with its scores; a judge whose scores are missing has said nothing."""
    return () if reply.scores is None else said(request, reply, "judge", show=True)


@dataclass(frozen=True, slots=True)
class Hearing:
    """A debate of several rounds, before the verdict.

    Attributes
    ----------
    record, before : tuple of Message
        All that was said, and all but the last round.
    scores : tuple of (dict or None)
        The judge's totals, round by round.
    votes : tuple of (str or None)
        Votes of the last round; empty where none were cast.
    round : int
    reason : str
    """

    record: tuple[Message, ...]
    before: tuple[Message, ...]
    scores: tuple[dict[str, float] | None, ...]
    votes: tuple[str | None, ...]
    round: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Rounds(Court):
    """One advocate a side, a judge, and a jury at the end or after every round; see the two SAMREs."""

    jurors: int = 5
    poll: Literal["end", "every_round"] = "end"
    memory: Memory = "algorithm"
    personas: Literal["curated", "pool", "none"] = "curated"
    persona_seed: int = 0
    defence_words: PositiveInt = 80
    feedback_words: PositiveInt = 50
    rationale_words: PositiveInt = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "jurors", len(jury(self.jurors, self.personas, self.persona_seed)))

    @property
    def polling(self) -> Polling:
        """The jury's polls; a judge who decides alone votes in every round."""
        usual = super().polling
        if not self.jurors:
            return replace(usual, decides="scores", voters="")
        return replace(usual, at_end=self.poll == "end")

    def _hear(self, case: Case) -> Generator[Speak | RoundOver, Any, Hearing]:
        """Play rounds until the stopping rule has had enough."""
        self.check(case)
        record: tuple[Message, ...] = ()
        scores: tuple[dict[str, float] | None, ...] = ()
        task = FEEDBACK.format(words=self.feedback_words)
        for r in range(1, self.max_rounds + 1):
            before = record
            asked = [
                self._advocate(
                    case, side, f"advocate {side}", self.defence_words, self._known(record, side), r
                )
                for side in case.shown
            ]
            spoken = heard(asked, (yield from speak(*asked)), "advocate")
            told = record + spoken if self.memory == "transcript" else spoken
            bench = self._judge(case, told, task, 2 * self.feedback_words, lead=not self.jurors, number=r)
            (reply,) = yield from speak(bench)
            record += spoken + remark(bench, reply)
            scores += (total(reply, case.sides),)
            votes: tuple[str | None, ...] = ()
            if not self.jurors:
                votes = (reply.vote,)
            elif self.poll == "every_round":
                votes = yield from self._ask_jury(case, r, record)
            decision = yield from round_over(r, votes=votes, scores=scores[-1])
            if decision.stop:
                break
        return Hearing(record, before, scores, votes, r, str(decision.reason))

    def _decide(
        self,
        case: Case,
        debate: Hearing,
        record: tuple[Message, ...],
        points: dict[str, float] | None,
    ) -> Play:
        """Close the debate: the jury's vote on the record, with the judge's points where it is tied."""
        more = {"rounds scored": float(sum(given is not None for given in debate.scores))}
        if not self.jurors:
            return judge_decides(points, case, debate.round, debate.reason, more)
        votes = debate.votes
        if self.poll == "end":
            votes = yield from self._ask_jury(case, debate.round, record)
        return jury_decides(votes, points, case, debate.round, debate.reason, more)

    def _ask_jury(
        self, case: Case, r: int, record: tuple[Message, ...]
    ) -> Generator[Speak | RoundOver, Any, tuple[str | None, ...]]:
        panel = jury(self.jurors, self.personas, self.persona_seed)
        return votes_of(
            (yield from speak(*jurors(case, r, self.max_rounds, record, panel, self.rationale_words)))
        )

    def _known(self, record: tuple[Message, ...], side: str) -> tuple[Message, ...]:
        """What an advocate knows: all, or its own defences, the other's last one and the last feedback."""
        if self.memory != "latest":
            return record
        own = [message for message in record if message.side == side]
        other = [message for message in record if message.side not in (side, None)][-1:]
        feedback = [message for message in record if message.side is None][-1:]
        kept = {id(message) for message in (*own, *other, *feedback)}
        return tuple(message for message in record if id(message) in kept)


def summed(debate: Hearing, case: Case) -> dict[str, float] | None:
    """Return the judge's points, added over the rounds that were scored; None if none was."""
    known = [points for points in debate.scores if points is not None]
    return {side: sum(points[side] for points in known) for side in case.sides} if known else None


@dataclass(frozen=True, kw_only=True)
class More(OneRound, Court):
    """Advocates defend each answer in parallel, their defences become one a side, judge and jurors weigh these.

    Parameters
    ----------
    advocates : int
        Advocates a side. The defence of a single advocate is used without a joint defence.
    jurors : int
        0: the judge decides.
    personas : {"curated", "pool", "none"}
        The jurors' roles; see :func:`~d3stats.protocols.jury.jury`.
    persona_seed : int
        Seed of the draw from the pool.
    defence_words, aggregate_words, reasons_words, rationale_words : int
        The longest defence, joint defence, judge's reasons and juror's rationale. The first two are D3's.

    Notes
    -----
    D3, 2.2, 2.3 and Algorithm 1. The jury's majority decides; the judge's points break a tie. An advocate that
    fails says nothing; a side none of whose advocates or whose aggregator could be heard has no defence.

    Examples
    --------
    >>> str(More(jurors=0)), More().advocates
    ('more:jurors=0', 3)
    """

    advocates: PositiveInt = 3
    jurors: int = 5
    personas: Literal["curated", "pool", "none"] = "curated"
    persona_seed: int = 0
    defence_words: PositiveInt = 80
    aggregate_words: PositiveInt = 150
    reasons_words: PositiveInt = 150
    rationale_words: PositiveInt = 60

    name: ClassVar[str] = "more"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, 2.2, 2.3 and Algorithm 1"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "jurors", len(jury(self.jurors, self.personas, self.persona_seed)))

    @property
    def polling(self) -> Polling:
        """The jury's majority, or the judge's points where there is no jury."""
        usual = super().polling
        return usual if self.jurors else replace(usual, decides="scores")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        defences = yield from self._defences(case)
        reasons = REASONS.format(words=self.reasons_words)
        bench = self._judge(case, defences, reasons, self.reasons_words, lead=not self.jurors)
        (reply,) = yield from speak(bench)
        points = total(reply, case.sides)
        if not self.jurors:
            yield from round_over(1, votes=[preferred(points, case.answers)], scores=points, ends="one_round")
            return judge_decides(points, case, 1, "one_round")
        panel = jury(self.jurors, self.personas, self.persona_seed)
        record = defences + remark(bench, reply)
        votes = votes_of((yield from speak(*jurors(case, 1, 1, record, panel, self.rationale_words))))
        yield from round_over(1, votes=votes, scores=points, ends="one_round")
        return jury_decides(votes, points, case, 1, "one_round")

    def _defences(self, case: Case) -> Generator[Speak | RoundOver, Any, tuple[Message, ...]]:
        """What the judge reads: one defence a side."""
        asked = self._parallel(case, self.advocates, self.defence_words)
        spoken = heard(asked, (yield from speak(*asked)), "advocate")
        if self.advocates == 1:
            return spoken
        text, slot = AGGREGATOR.format(words=self.aggregate_words), Slot(words=self.aggregate_words)
        joining = [
            self.request(case, 1, f"aggregator {side}", "aggregator", "aggregate", text, slot, own, side=side)
            for side in case.shown
            if (own := tuple(message for message in spoken if message.side == side))
        ]
        # Of nothing nothing is made: a side that said nothing has nobody to write a defence for it.
        joint = (yield from speak(*joining)) if joining else ()
        return heard(joining, joint, "advocate")


@dataclass(frozen=True, kw_only=True)
class Samre(Rounds):
    """Two advocates answer each other, a judge marks both and remarks on them, jurors decide on the whole record.

    Parameters
    ----------
    epsilon : float
        Points, above 0: the debate is over when the gap between the totals moved by less since the round before.
    budget : float, optional
        Tokens after which the debate is over; may be overspent by a round.
    jurors : int
        0: the judge decides, by what would break a tie.
    poll : {"end", "every_round"}
        When the jury is asked. A rule that looks at votes needs ``"every_round"``; the last poll then decides.
    memory : {"algorithm", "transcript", "latest"}
        What a prompt repeats. ``"algorithm"``, the default: advocates read all that was said, the judge the round's
        two defences (2.3 and Algorithm 2, to the letter). ``"transcript"``: the judge reads all, too. ``"latest"``:
        advocates read their own defences, the other's last one and the last feedback, the judge the round's two
        defences (appendix F). The last two are those of :class:`~d3stats.worlds.Courtroom`. Jurors always read all.
    tie_break : {"cumulative", "final"}
        A tied vote goes to the higher sum of the judge's totals (2.3), or the last round's (a comment in
        Algorithm 2).
    personas : {"curated", "pool", "none"}
        The jurors' roles; see :func:`~d3stats.protocols.jury.jury`.
    persona_seed : int
        Seed of the draw from the pool.
    defence_words, feedback_words, rationale_words : int
        The longest defence, feedback to one side and juror's rationale. The first two are D3's.

    Notes
    -----
    D3, 2.2, 2.3 and Algorithm 2. A judge that fails gives neither scores nor feedback in that round, and the sum is
    taken over the other rounds.

    Examples
    --------
    >>> Samre().rule().run([])
    (0, 'exhausted')
    >>> str(Samre(jurors=3, poll="every_round"))
    'samre:jurors=3,poll=every_round'
    """

    max_rounds: int = 5
    epsilon: float = 3.0
    budget: float | None = None
    tie_break: Literal["cumulative", "final"] = "cumulative"

    name: ClassVar[str] = "samre"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, 2.2, 2.3 and Algorithm 2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rule()

    @property
    def polling(self) -> Polling:
        """The jury's polls, and the scores that break a tie."""
        return replace(super().polling, scored="sum" if self.tie_break == "cumulative" else "last")

    def rule(self) -> StoppingRule:
        """Return D3's budgeted stopping."""
        return BudgetedStopping.d3_paper(self.epsilon, self.budget, self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        debate = yield from self._hear(case)
        points = summed(debate, case) if self.tie_break == "cumulative" else debate.scores[-1]
        return (yield from self._decide(case, debate, debate.record, points))


@dataclass(frozen=True, kw_only=True)
class MoreThenSamre(DebateProtocol):
    """MORE first, and SAMRE where the judge's first gap is narrow.

    Round 1 is :class:`More`. Where the gap between the judge's totals is at least `threshold` points, the verdict is
    that of MORE. Elsewhere SAMRE starts in round 2. Its advocates, judge and jurors read nothing of MORE, so that its
    verdict is the one that SAMRE alone would give. Run with the stopping rule ``full``, the log holds both protocols
    for every item, and a replay tries any threshold (:class:`~d3stats.stopping.WideGap`).

    Parameters
    ----------
    max_rounds : int
        MORE's round and SAMRE's; at least 2.
    threshold : float
        Points of the judge's total (6 to 120), at least 0. With 0, SAMRE is never played.
    advocates : int
        MORE's advocates a side.
    epsilon, budget
        SAMRE's stopping rule, see :class:`Samre`. The budget counts MORE's tokens, too.
    poll : {"end", "every_round"}
        When SAMRE's jury is asked. A replay under another stopping rule for SAMRE needs ``"every_round"``.
    jurors, memory, tie_break, personas, persona_seed, defence_words, feedback_words, rationale_words
        As in :class:`Samre`; jurors, personas and words are MORE's, too.

    Notes
    -----
    D3, 5.5, advises this choice for gaps below 25 points and does not say how the two debates are joined; this is a
    reading. Where the judge of MORE fails there is no gap, and SAMRE is played.

    Raises
    ------
    ValueError
        When `max_rounds` leaves no round for SAMRE.

    Examples
    --------
    >>> str(MoreThenSamre(threshold=10))
    'd3:threshold=10.0'
    >>> str(MoreThenSamre().rule())
    'wide_gap:25.0 | budgeted:3.0,min_rounds=3,max_rounds=6'
    """

    max_rounds: int = 6
    threshold: NonNegativeFloat = 25.0
    advocates: PositiveInt = 3
    epsilon: float = 3.0
    budget: float | None = None
    jurors: int = 5
    poll: Literal["end", "every_round"] = "end"
    memory: Memory = "algorithm"
    tie_break: Literal["cumulative", "final"] = "cumulative"
    personas: Literal["curated", "pool", "none"] = "curated"
    persona_seed: int = 0
    defence_words: PositiveInt = 80
    feedback_words: PositiveInt = 50
    rationale_words: PositiveInt = 60

    name: ClassVar[str] = "d3"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, 5.5"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rounds < 2:
            raise ValueError(
                f"max_rounds must be at least 2 for {self.name}, one for MORE and one for SAMRE; "
                f"got max_rounds={self.max_rounds}"
            )
        object.__setattr__(self, "jurors", self._more().jurors)
        self.rule()

    def _more(self) -> More:
        return More(advocates=self.advocates, **self._shared("defence_words"))

    def _samre(self) -> Samre:
        own = {name: getattr(self, name) for name in ("epsilon", "budget", "poll", "memory", "tie_break")}
        shared = self._shared("defence_words", "feedback_words")
        return Samre(max_rounds=self.max_rounds - 1, **own, **shared)

    def _shared(self, *names: str) -> dict[str, Any]:
        return {
            name: getattr(self, name)
            for name in ("jurors", "personas", "persona_seed", "rationale_words", *names)
        }

    @property
    def polling(self) -> Polling:
        """The polls of SAMRE's jury; that of MORE is always asked."""
        usual, samre = super().polling, self._samre().polling
        return replace(samre, always=usual.always if samre.voters else (), scored_from=usual.scored_from)

    def rule(self) -> StoppingRule:
        """Return the choice after round 1, then D3's budgeted stopping, whose first gap is SAMRE's."""
        return WideGap(self.threshold) | BudgetedStopping(
            self.epsilon, window=2, min_rounds=3, budget=self.budget, max_rounds=self.max_rounds
        )

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        more = self._more().play(case)
        sent: Any = None
        while True:
            try:
                step = more.send(sent)
            except StopIteration as over:
                first: Outcome = over.value
                break
            if isinstance(step, RoundOver):
                # MORE alone would end here; the choice is the rule's.
                sent = decision = yield replace(step, ends=None)
            else:
                sent = yield step
        if decision.stop:
            return replace(first, reason=str(decision.reason))
        samre = self._samre().play(case)
        sent = None
        while True:
            try:
                step = samre.send(sent)
            except StopIteration as over:
                last: Outcome = over.value
                return replace(last, round=last.round + 1)
            if isinstance(step, RoundOver):
                sent = yield replace(step, number=step.number + 1)
            else:
                sent = yield replace(step, requests=tuple(map(self._later, step.requests)))

    def _later(self, request: Request) -> Request:
        """Count the rounds of SAMRE's request, and of what it sees, from MORE's on."""
        seen = tuple(replace(message, round=message.round + 1) for message in request.seen)
        # A role of its own: everybody of a role must speak in every round in which one of them does.
        role = "advocate 2" if request.role == "advocate" else request.role
        return replace(request, round=request.round + 1, rounds=self.max_rounds, seen=seen, role=role)


@dataclass(frozen=True, kw_only=True)
class MoreAdvocates(OneRound, Court):
    """The judge reads every advocate's defence and decides by the totals, 6 to 120 points a side.

    Parameters
    ----------
    advocates : int
        Advocates a side.
    defence_words, reasons_words : int
        The longest defence, and the judge's longest reasons.

    Notes
    -----
    Algorithm 1 of the advocates paper has no step that joins the defences, though its section 3.3 and its prompt E.2.2
    do; :class:`~d3stats.protocols.d3.More` with ``jurors=0`` is that version. Equal totals are no decision.

    Examples
    --------
    >>> MoreAdvocates().advocates
    3
    """

    advocates: PositiveInt = 3
    defence_words: PositiveInt = 80
    reasons_words: PositiveInt = 150

    name: ClassVar[str] = "more_advocates"
    citation: ClassVar[str] = (
        "the advocates paper before D3 (Optimal Architectures for Judging LLM Outputs Using LLMs), "
        "3.1 and Algorithm 1"
    )

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        asked = self._parallel(case, self.advocates, self.defence_words)
        spoken = heard(asked, (yield from speak(*asked)), "advocate")
        reasons = REASONS.format(words=self.reasons_words)
        (reply,) = yield from speak(self._judge(case, spoken, reasons, self.reasons_words, lead=True))
        points = total(reply, case.sides)
        yield from round_over(1, votes=[preferred(points, case.answers)], scores=points, ends="one_round")
        return judge_decides(points, case, 1, "one_round")


@dataclass(frozen=True, kw_only=True)
class SamreAdvocates(Rounds):
    """Two advocates answer each other until the judge prefers the same side twice running; jurors decide.

    Parameters
    ----------
    jurors : int
        The paper's text and list of backgrounds have 5, its Algorithm 2 and notation 3. 0: the averaged scores
        decide ("SAMRE without juries" of its Table 1).
    last_round : {"read", "unread"}
        Whether jurors read the round in which the judge agreed with itself. Algorithm 2 breaks (line 6) before that
        round is added to the memory (line 8), and then lets jurors read a memory M_r that was never made; its
        notation has all rounds up to r in M_r. ``"read"`` follows the notation, ``"unread"`` the order of the lines.
        Other endings leave nothing out.
    poll, memory, personas, persona_seed, defence_words, feedback_words, rationale_words
        As in :class:`~d3stats.protocols.d3.Samre`; the default memory is that of this notation, too.

    Notes
    -----
    Advocates paper, 3.2 and Algorithm 2. The scores are averaged over the rounds played; the last one is among them
    (line 10). The paper does not say how a tied vote is broken, which takes an even jury or a missing vote; the
    averaged scores break it here.

    Raises
    ------
    ValueError
        For ``last_round="unread"`` with a jury that is asked in every round, because it has read that round.

    Examples
    --------
    >>> str(SamreAdvocates().rule())
    'sign_agreement:2 | fixed:4'
    """

    max_rounds: int = 4
    last_round: Literal["read", "unread"] = "read"

    name: ClassVar[str] = "samre_advocates"
    citation: ClassVar[str] = (
        "the advocates paper before D3 (Optimal Architectures for Judging LLM Outputs Using LLMs), "
        "3.2 and Algorithm 2"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.last_round == "unread" and self.poll == "every_round":
            raise ValueError(
                "poll must be 'end' for last_round='unread', because a jury that votes in every round "
                f"reads it; got poll={self.poll!r}"
            )

    def rule(self) -> StoppingRule:
        """Return the paper's rule: the sign of the gap twice running, or four rounds."""
        return SignAgreement() | FixedRounds(self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        debate = yield from self._hear(case)
        points = summed(debate, case)
        if points is not None:
            played = sum(given is not None for given in debate.scores)
            points = {side: value / played for side, value in points.items()}
        unread = self.last_round == "unread" and debate.reason == SignAgreement.reason
        return (yield from self._decide(case, debate, debate.before if unread else debate.record, points))
