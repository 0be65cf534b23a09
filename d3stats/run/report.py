"""The state of a run of debates, while it is played and at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from d3stats._words import CUT, visible
from d3stats.agent import KEPT
from d3stats.log.doctor import MissingVotes
from d3stats.note import note_values

if TYPE_CHECKING:
    from d3stats.log.schema import Turn
    from d3stats.planning.ledger import Certificate
    from d3stats.run.shadow import Shadow

__all__ = ["Observer", "RunReport"]


@dataclass
class RunReport:
    """Counts of a run, which include earlier runs of the same log unless a field names this run.

    Attributes
    ----------
    log : Path
    planned : int
        Debates that were asked for.
    closed : int
        Number of these with a verdict.
    new : int
        How many of them got their verdict in this run.
    playing : int
        Debates that are being played at the moment.
    unfinished : int
        Debates that have started and have no verdict, because the run was interrupted.
    not_begun : tuple of str
        Debates that did not start because of the budget or an interruption.
    rounds : int
        Rounds that were completed in this run.
    stops : Counter of str
        Closed debates by the reason of their stop.
    calls, attempts : int
        Calls that were started, and attempts at them: repeats after failures and repairs included.
    in_flight : int
        Calls that are being made at the moment.
    repeated : int
        Calls that were in flight when a run was killed, charged at their bound.
    tokens_in, tokens_out : int
        Prompt and completion tokens of all turns in the log.
    charged : int
        Tokens that count against the budget: those of the turns, and the bounds of calls without a count.
    dollars : float or None
        What was charged; None without prices.
    missing : Counter of str
        Turns with something missing, by error.
    votes : int
        Turns that were asked for a vote, or for scores that decide.
    votes_missing : Counter of str
        Those of them without one, by error.
    words : dict of str
        The last message of a server for each kind of error, or the defect of the last reply.
    dropped : tuple of str
        Parameters that servers did not take, and that calls were made without.
    structured : str or None
        How votes and scores are asked for: ``"json_schema"``, ``"json_object with the schema"``, ``"json_object"`` or
        ``"text"``; of several agents each form once. None until a first reply was read.
    waiting : str or None
        What the run waits for at the moment, when a server does not answer or loads its model.
    estimated : int
        Turns of this run whose tokens are an estimate.
    shortened : int
        Turns whose reply was longer than the log keeps; their text ends in ``[cut]``.
    overdrawn : int
        Calls that cost more than the bound of their agent; with such calls a budget cannot be guaranteed.
    tokens_left, tokens_to_begin : int or None
        Tokens left in the budget when no further debate could start, and tokens that the next debate needed. None
        when this did not happen.
    dollars_left, dollars_to_begin : float or None
        The same in dollars.
    stopped : str or None
        Why the run ended before all debates were played: ``"interrupted"``, ``"budget"``, ``"overdrawn"`` (a call
        cost more than its bound while there was a budget), ``"unreached"`` (calls reached no server, and their debates
        were left open). None when all were played.
    certificate : Certificate or None
        The guarantee of the ledger, where the run has one.
    seconds : float
    shadow : Shadow or None
        What another rule would have done, where one was followed.
    notes : tuple of str
        How the items were read, and how many have no label; see :func:`d3stats.run.items.read_items`.

    Examples
    --------
    >>> import pathlib
    >>> from d3stats.log import Turn
    >>> report = RunReport(pathlib.Path("debates.jsonl"), planned=1)
    >>> report.add(Turn(debate="d1", round=1, agent="juror 1", error="timeout"), votes=True)
    >>> report.votes, dict(report.votes_missing), len(report.warnings)
    (1, {'timeout': 1}, 0)
    >>> report.to_dict()["planned"]
    1
    """

    log: Path
    planned: int = 0
    closed: int = 0
    new: int = 0
    playing: int = 0
    unfinished: int = 0
    not_begun: tuple[str, ...] = ()
    rounds: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    attempts: int = 0
    in_flight: int = 0
    repeated: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    charged: int = 0
    dollars: float | None = None
    missing: Counter[str] = field(default_factory=Counter)
    votes: int = 0
    votes_missing: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    structured: str | None = None
    waiting: str | None = None
    estimated: int = 0
    shortened: int = 0
    overdrawn: int = 0
    tokens_left: int | None = None
    tokens_to_begin: int | None = None
    dollars_left: float | None = None
    dollars_to_begin: float | None = None
    stopped: str | None = None
    certificate: Certificate | None = None
    seconds: float = 0.0
    shadow: Shadow | None = None
    notes: tuple[str, ...] = ()

    def add(self, turn: Turn, *, votes: bool) -> None:
        """Count a turn of the log; `votes` where its role is asked for votes, or for scores that decide."""
        self.tokens_in += turn.tokens_in or 0
        self.tokens_out += turn.tokens_out or 0
        self.votes += votes
        self.shortened += _is_cut(turn.text)
        if turn.error is not None:
            self.missing[turn.error] += 1
            if votes and turn.vote is None:
                self.votes_missing[turn.error] += 1

    @property
    def missing_votes(self) -> MissingVotes:
        """The votes that are missing, why, and what was said."""
        return MissingVotes(self.votes, dict(self.votes_missing), self.words)

    @property
    def warnings(self) -> list[str]:
        """The sentences to read before any number of the report: that many votes are missing, and why."""
        missing = self.missing_votes
        return missing.sentences() if missing.said_first else []

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready values."""
        moments = ("playing", "in_flight", "waiting")
        told: dict[str, object] = {"warnings": note_values(self.missing_votes.warnings())}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name not in moments:
                told[each.name] = dict(value.most_common()) if isinstance(value, Counter) else value
        return told | {
            "log": str(self.log),
            "not_begun": len(self.not_begun),
            "words": dict(self.words),
            "dropped": list(self.dropped),
            "notes": note_values(self.notes),
            "seconds": round(self.seconds, 3),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "shadow": None if self.shadow is None else self.shadow.to_dict(),
        }


def _is_cut(text: str | None) -> bool:
    """Whether a text of a log is the beginning of a longer reply: as long as the log keeps, and with the mark."""
    return (
        text is not None
        and len(text) > KEPT // 8
        and text.endswith(CUT)
        and len(visible(text).encode()) > KEPT - 16
    )


Observer = Callable[[RunReport], None]
"""Is called after every turn and every verdict, with the same object each time."""
