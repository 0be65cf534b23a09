"""Agents that repeat the recorded turns of a log.

A logged debate, live or not, is played again without calling any model: under another stopping rule that stops no
later, the votes, scores and tokens are those of the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from d3stats.agent import More, Reply, Request, Size, always

if TYPE_CHECKING:
    from d3stats.log.schema import AnyRecord, Turn

__all__ = ["NotRecorded", "ReplayAgent", "as_reply"]


class NotRecorded(LookupError):
    """A turn that is asked for is not in the record: the debate that is played is not the one that was logged.

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> from d3stats.log import Turn
    >>> agent = ReplayAgent([Turn(debate="d1", round=1, agent="juror 1", vote="A")])
    >>> try:
    ...     agent.reply(Request(Case("d1", "q1", "2 or 3?"), 2, "juror 1", "juror", "vote", "Vote."))
    ... except NotRecorded as error:
    ...     print(error)
    round 2 of debate 'd1' must be recorded; got no turn of 'juror 1'
    """


class ReplayAgent:
    """Answers each request with the recorded turn of the same debate, round and agent.

    Requests are not compared with those of the recorded run, so any protocol that asks the same agents in the same
    rounds gets the same answers.

    Parameters
    ----------
    source : path or iterable of records
        A JSON lines log, or its records.
    strict : bool
        Raise when a turn is not recorded; otherwise the reply is missing, with the error ``"not_recorded"``.

    Raises
    ------
    ValueError
        When a turn is recorded twice, or no turn is recorded.

    Examples
    --------
    >>> from d3stats.agent import Case, Request
    >>> from d3stats.log.schema import Turn
    >>> agent = ReplayAgent([Turn(debate="d1", round=1, agent="juror 1", vote="A", text="B is wrong.")])
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"))
    >>> agent.reply(Request(case, 1, "juror 1", "juror", "vote", "Vote.")).vote
    'A'
    >>> agent.reply(Request(case, 2, "juror 1", "juror", "vote", "Vote."))
    Traceback (most recent call last):
    d3stats.protocols.recorded.NotRecorded: round 2 of debate 'd1' must be recorded; got no turn of 'juror 1'
    >>> import asyncio
    >>> asyncio.run(agent.act(Request(case, 1, "juror 1", "juror", "vote", "Vote."))).vote
    'A'
    >>> agent.imagine(Request(case, 1, "juror 1", "juror", "vote", "Vote."), "longest").text
    'B is wrong.'
    """

    def __init__(self, source: str | Path | Iterable[AnyRecord], *, strict: bool = True) -> None:
        self.where = str(source) if isinstance(source, (str, Path)) else None
        self.strict = strict
        self._turns = _turns(source)

    def __repr__(self) -> str:
        return f"ReplayAgent({len(self._turns)} turns{f' of {self.where}' if self.where else ''})"

    def reply(self, request: Request) -> Reply:
        """Answer a request at once.

        Raises
        ------
        NotRecorded
            When there is no such turn and the agent is strict.
        """
        turn = self._turns.get((request.case.debate, request.round, request.agent))
        if turn is not None:
            return as_reply(turn)
        if not self.strict:
            return Reply(None, tokens_in=0, tokens_out=0, error="not_recorded", attempts=0)
        log = f" in {self.where}" if self.where else ""
        raise NotRecorded(
            f"round {request.round} of debate {request.case.debate!r} must be recorded; "
            f"got no turn of {request.agent!r}{log}"
        )

    async def act(self, request: Request, /, more: More = always) -> Reply:
        """Answer a request; nothing is paid, so `more` is never asked."""
        return self.reply(request)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return the recorded reply, which is known and does not depend on `size`; an empty one if not recorded."""
        turn = self._turns.get((request.case.debate, request.round, request.agent))
        if turn is None:
            return Reply(None, tokens_in=0, tokens_out=0, error="not_recorded", attempts=0)
        return as_reply(turn)


def as_reply(turn: Turn) -> Reply:
    """Return the reply that a turn records.

    Parameters
    ----------
    turn : Turn
        A turn of a log.

    Returns
    -------
    Reply

    Examples
    --------
    >>> from d3stats.log import Turn
    >>> as_reply(Turn(debate="d1", round=1, agent="juror 1", vote="A", tokens_out=12)).tokens_out
    12
    """
    return Reply(
        text=turn.text,
        vote=turn.vote,
        # Sides without points stand for scores that were asked for and are missing.
        scores={side: points for side, points in (turn.scores or {}).items() if points} or None,
        tokens_in=turn.tokens_in,
        tokens_out=turn.tokens_out,
        tokens_cached=turn.tokens_cached,
        estimated=turn.tokens_source == "estimate",
        model=turn.model,
        error=turn.error,
        temperature=turn.temperature,
        confidence=turn.confidence,
    )


def _turns(source: str | Path | Iterable[AnyRecord]) -> dict[tuple[str, int, str], Turn]:
    from d3stats.log.reader import iter_records
    from d3stats.log.schema import Turn

    turns: dict[tuple[str, int, str], Turn] = {}
    records = iter_records(source) if isinstance(source, (str, Path)) else source
    for record in records:
        if not isinstance(record, Turn):
            continue
        key = (record.debate, record.round, record.agent)
        if key in turns:
            raise ValueError(
                f"a turn must be recorded once; got {record.agent!r} again in round {record.round} of debate "
                f"{record.debate!r}"
            )
        turns[key] = record
    if not turns:
        raise ValueError(
            f"source must hold turns; got none in {source if isinstance(source, (str, Path)) else 'it'}"
        )
    return turns
