"""What the courtroom protocols share: advocates, the judge, and rounds in which they answer each other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from d3stats._check import choice
from d3stats.agents.request import Case, Message, Reply, Request, Rubric, Slot
from d3stats.protocols.criteria import CRITERIA, explained
from d3stats.protocols.jury import judge_decides, jurors, jury_decides
from d3stats.protocols.personas import jury
from d3stats.protocols.play import Play, RoundOver, Speak, round_over, said, speak, total, votes_of
from d3stats.protocols.protocol import DebateProtocol

Memory = Literal["algorithm", "transcript", "latest"]
MEMORIES = ("algorithm", "transcript", "latest")

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


def advocate(
    case: Case,
    side: str,
    agent: str,
    words: int,
    *,
    seen: tuple[Message, ...] = (),
    round_: int = 1,
    rounds: int = 1,
) -> Request:
    """Ask for a defence of one side."""
    return Request(
        case,
        round_,
        agent,
        "advocate",
        "argue",
        ADVOCATE.format(words=words),
        Slot(words=words),
        seen,
        side,
        rounds=rounds,
    )


def judge(
    case: Case,
    seen: tuple[Message, ...],
    task: str,
    words: int,
    *,
    lead: bool,
    round_: int = 1,
    rounds: int = 1,
) -> Request:
    """Ask for scores of both sides; with `lead` the higher total is also the judge's vote."""
    answers = case.answers if lead else None
    slot = Slot(answers, rubric=Rubric(case.sides, CRITERIA, 1, 20), lead=lead, words=words)
    instruction = JUDGE.format(task=task)
    return Request(case, round_, "judge", "judge", "judge", instruction, slot, seen, rounds=rounds)


def heard(requests: Sequence[Request], replies: Sequence[Reply], speaker: str) -> tuple[Message, ...]:
    """Return what was said in one stage by several who share a neutral name."""
    return tuple(m for pair in zip(requests, replies, strict=True) for m in said(*pair, speaker))


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
        Of the last round; empty where none were cast.
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
class Rounds(DebateProtocol):
    """One advocate a side, a judge, and a jury at the end or after every round; see the two SAMREs."""

    jurors: int = 5
    poll: Literal["end", "every_round"] = "end"
    memory: Memory = "algorithm"
    personas: Literal["curated", "pool", "none"] = "curated"
    persona_seed: int = 0
    defence_words: int = 80
    feedback_words: int = 50
    rationale_words: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("poll", self.poll, ("end", "every_round"))
        choice("memory", self.memory, MEMORIES)
        self._whole("defence_words", "feedback_words", "rationale_words")
        object.__setattr__(self, "jurors", len(jury(self.jurors, self.personas, self.persona_seed)))

    @property
    def polls(self) -> bool:
        """Whether somebody votes in every round: the jury, or a judge who decides alone."""
        return self.poll == "every_round" or not self.jurors

    def hear(self, case: Case) -> Generator[Speak | RoundOver, Any, Hearing]:
        """Play rounds until the stopping rule has had enough."""
        self.check(case)
        record: tuple[Message, ...] = ()
        scores: tuple[dict[str, float] | None, ...] = ()
        task = FEEDBACK.format(words=self.feedback_words)
        for r in range(1, self.max_rounds + 1):
            before = record
            asked = [
                advocate(
                    case,
                    side,
                    f"advocate {side}",
                    self.defence_words,
                    seen=self._known(record, side),
                    round_=r,
                    rounds=self.max_rounds,
                )
                for side in case.shown
            ]
            spoken = heard(asked, (yield from speak(*asked)), "advocate")
            told = record + spoken if self.memory == "transcript" else spoken
            bench = judge(
                case,
                told,
                task,
                2 * self.feedback_words,
                lead=not self.jurors,
                round_=r,
                rounds=self.max_rounds,
            )
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

    def decide(
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
