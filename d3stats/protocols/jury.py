"""Jurors: what they are asked, and how a jury and a judge's points become a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from d3stats.agents.request import Case, Message, Request, Slot
from d3stats.protocols.anonymise import anonymise, anonymous_case
from d3stats.protocols.personas import Persona
from d3stats.protocols.play import Outcome, preferred, settled

__all__ = ["judge_decides", "jurors", "jury_decides", "verdict"]

INSTRUCTION = (
    "You sit on a jury{role}. Below are a question, two answers to it, and the record of a debate about them: what "
    "was argued for each answer, and what the judge remarked and scored, which does not bind you. {lens}"
    "Vote for the answer that you find better, on your own judgment, and give your reasons in at most {words} words; "
    "point to what was said in the debate."
)


def jurors(
    case: Case,
    round_: int,
    rounds: int,
    record: Sequence[Message],
    panel: Sequence[Persona | None],
    words: int = 60,
) -> tuple[Request, ...]:
    """Return one request per juror, who reads the anonymised record and no other juror's vote.

    Speakers have neutral names; systems' names are gone from the messages and from the candidates.

    Parameters
    ----------
    case : Case
    round_, rounds : int
        After which round the jury is asked, and the most rounds there can be.
    record : sequence of Message
    panel : sequence of Persona or None
        Their roles.
    words : int
        The longest rationale.
    """
    slot = Slot(case.answers, words=words)
    read, seen = anonymous_case(case), anonymise(record, case.names)
    return tuple(
        Request(
            read, round_, f"juror {j}", "juror", "vote", _instruction(who, words), slot, seen, rounds=rounds
        )
        for j, who in enumerate(panel, start=1)
    )


def _instruction(who: Persona | None, words: int) -> str:
    role = "" if who is None else f" in your role as {who.role}"
    lens = "" if who is None else f"In that role you look first at {who.lens}. "
    return INSTRUCTION.format(role=role, lens=lens, words=words)


def verdict(votes: Sequence[str | None], points: Mapping[str, float] | None, case: Case) -> str | None:
    """Return the answer with the most votes; of several, the judge's, if it is one of them; else it is a tie.

    A missing vote counts for nobody. Without any vote there is no verdict, whatever the judge's points say: they
    break a tie of votes that were cast (D3, 2.3). A tie that they leave is
    :func:`~d3stats.protocols.play.settled` as any other.

    Examples
    --------
    >>> case = Case("1", "q", "2 or 3?", ("A", "B"), ("2", "3"), "A")
    >>> verdict(["A", "B", None], {"A": 180.0, "B": 190.0}, case)
    'B'
    """
    counts = Counter(vote for vote in votes if vote is not None)
    leading = [answer for answer, count in counts.items() if count == max(counts.values())]
    if len(leading) == 1:
        return leading[0]
    judge = preferred(points, case.answers)
    return judge if judge in leading else settled(leading, case.sides, case.answers)


def jury_decides(
    votes: Sequence[str | None],
    points: Mapping[str, float] | None,
    case: Case,
    round_: int,
    reason: str,
    more: Mapping[str, float] | None = None,
) -> Outcome:
    """Close a debate with the jury's verdict; the reason is ``"no_votes"`` when no juror voted."""
    counts = Counter(vote for vote in votes if vote is not None)
    detail = {f"votes {answer}": float(counts[answer]) for answer in case.answers or ()}
    detail["votes missing"] = float(len(votes) - counts.total())
    detail |= _named(points) | dict(more or {})
    return Outcome(verdict(votes, points, case), round_, reason if counts else "no_votes", detail)


def judge_decides(
    points: Mapping[str, float] | None,
    case: Case,
    round_: int,
    reason: str,
    more: Mapping[str, float] | None = None,
) -> Outcome:
    """Close a debate with the judge's points alone; the reason is ``"no_scores"`` when there are none."""
    detail = _named(points) | dict(more or {})
    return Outcome(preferred(points, case.answers), round_, reason if points else "no_scores", detail)


def _named(points: Mapping[str, float] | None) -> dict[str, float]:
    return {f"judge {side}": value for side, value in (points or {}).items()}
