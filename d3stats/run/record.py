"""The record of a run: the log, the journal beside it, and how a run is resumed from both.

The log holds the turns, the journal the settings of the run and the start and end of every call. A killed run is
resumed from them. A call with a turn is never made again. A call that has a start, but neither an end nor a turn, was
in flight; it is charged at its bound and may be made again. Each line is one JSON object, handed to the system as it is
written, so that it survives a killed process. A last line that breaks off is dropped.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from d3stats.agent import Reply, Request
from d3stats.log.doctor import JournalWords
from d3stats.log.files import journal_path
from d3stats.run.budget import FREE, Cost
from d3stats.run.forecast import Asked, Key
from d3stats.run.items import Planned
from d3stats.run.report import RunReport

if TYPE_CHECKING:
    from d3stats.log.schema import Item, Turn, Verdict
    from d3stats.protocols.play import DebateProtocol

__all__ = [
    "FIXED",
    "FORMAT",
    "Call",
    "Journal",
    "Past",
    "as_turn",
    "check_log",
    "is_unused",
    "journal_path",
    "resume",
]

FORMAT = "d3stats debate 1"

FIXED = ("protocol", "rule", "orders", "seed", "repeats", "agents")
"""Settings that a run must keep when it is resumed."""

Call = Callable[[dict[str, Any], dict[str, Any]], None]
"""Gets the lines that begin and end a call."""


def check_log(log: Path) -> None:
    """Refuse a path that cannot be a log."""
    if log.suffix not in (".jsonl", ".ndjson"):
        raise ValueError(f"log must end in .jsonl or .ndjson; got log={str(log)!r}")
    if not log.absolute().parent.is_dir():
        raise ValueError(f"the folder of the log must exist; got log={str(log)!r}")
    if log.is_dir():
        raise ValueError(f"log must be a file; got the folder log={str(log)!r}")


def is_unused(log: str | Path) -> bool:
    """Whether the run of a log and its journal has not asked anything yet, so that there is nothing to keep."""
    path, journal = Path(log), journal_path(log)
    if path.is_file() and path.stat().st_size > 0:
        with path.open("rb") as file:
            first, second = file.readline(), file.readline()
        if second or (first.endswith(b"\n") and b'"type":"log"' not in first):
            return False
        if not journal.is_file():
            return False
    if not journal.is_file() or journal.stat().st_size == 0:
        return True
    with journal.open("rb") as file:
        first = file.readline()
        ours = not first.endswith(b"\n") or f'"journal":"{FORMAT}"'.encode() in first
        return ours and not any(b'"begun":' in line for line in file)


class Journal:
    """An append-only file; use it as a context. While a run writes it, no other may.

    Parameters
    ----------
    log : path
        The log that it belongs to.
    settings : mapping
        What the run is asked to do; written in the first line of a new journal.

    Raises
    ------
    ValueError
        When another run has it open, or it is of a run with other settings; one line says which.
    """

    def __init__(self, log: str | Path, settings: Mapping[str, Any]) -> None:
        self.log, self.path = Path(log), journal_path(log)
        self.settings = dict(settings)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        file = self.path.open("a+b")
        try:
            _lock(file, self.path)
            self._whole(file)
        except BaseException:
            file.close()
            raise
        self._file = file
        if is_unused(self.log):
            file.truncate(0)
            file.seek(0)
        if file.tell() == 0:
            self.write({"journal": FORMAT, **self.settings})
            os.fsync(file.fileno())
        else:
            self._compare(file)
            file.seek(0, os.SEEK_END)
            self.write({"resumed": True} | {k: v for k, v in self.settings.items() if k not in FIXED})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a line."""
        assert self._file is not None, "a journal must be opened in a with block before it is written"
        self._file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode() + b"\n")
        self._file.flush()

    def read(
        self,
        call: Call,
        stop: Callable[[str, int, str], None],
        settle: Callable[[dict[str, Any]], dict[str, Any]],
        other: Callable[[dict[str, Any]], None],
    ) -> None:
        """Go through earlier runs.

        Parameters
        ----------
        call : function
            Gets every call that was started, and its end.
        stop : function
            Gets debate, round and reason of every stop that no rule repeats by itself.
        settle : function
            Gets a call without an end, in flight when a run was killed, and says what its end must say.
        other : function
            Gets every other line.
        """
        assert self._file is not None, "a journal must be opened in a with block before it is read"
        begun: dict[tuple[str, int, str], dict[str, Any]] = {}
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            record = self._record(line, number)
            try:
                if "begun" in record:
                    begun[_key(record["begun"])] = record
                elif "more" in record:
                    known = begun[_key(record["more"])]
                    known["bound"] = record["held"]
                elif "ended" in record:
                    call(begun.pop(_key(record["ended"])), record)
                elif "stopped" in record:
                    stop(str(record["stopped"]), int(record["round"]), str(record["reason"]))
                else:
                    other(record)
            except (KeyError, TypeError, ValueError, IndexError):
                raise ValueError(
                    f"{self.path}:{number}: line must be about a call of this run; got {line[:60]!r}"
                ) from None
        self._file.seek(0, os.SEEK_END)
        for record in begun.values():
            # Settled once: a later run must not judge them anew.
            end = {"ended": record["begun"], **settle(record)}
            self.write(end)
            call(record, end)

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ValueError(f"{self.path}:{number}: line must be a JSON object; got {line[:60]!r}")
        return record

    def _whole(self, file: IO[bytes]) -> None:
        """Drop a last line that breaks off."""
        file.seek(0)
        whole = 0
        for line in file:
            if line.endswith(b"\n"):
                whole += len(line)
        file.truncate(whole)
        file.seek(0, os.SEEK_END)

    def _compare(self, file: IO[bytes]) -> None:
        file.seek(0)
        first = self._record(file.readline(), 1)
        if first.get("journal") != FORMAT:
            raise ValueError(f"{self.path} must be the journal of a run of debates; got another kind of file")
        for name in FIXED:
            was, now = first.get(name), json.loads(json.dumps(self.settings.get(name)))
            if was != now:
                what, was, now = _difference(name, was, now)
                raise ValueError(
                    f"{what} must be as in the run that {self.path.name} belongs to; "
                    f"got {_short(now)}, was {_short(was)} (write another log, or repeat the original "
                    "command)"
                )


def _difference(name: str, was: Any, now: Any) -> tuple[str, Any, Any]:
    """Return the first setting that differs, by name, and what it was and is."""
    path: list[str] = []
    while isinstance(was, dict) and isinstance(now, dict):
        key = next(
            key for key in (*now, *was) if was.get(key) != now.get(key) or (key in was) != (key in now)
        )
        path.append(key)
        was, now = was.get(key), now.get(key)
    if not path:
        return name, was, now
    *roles, last = path
    return (f"{last} of the agent for {roles[0]!r}" if roles else f"the agent for {last!r}"), was, now


def _key(parts: Any) -> tuple[str, int, str]:
    debate, number, agent = parts
    return str(debate), int(number), str(agent)


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 200 else text[:200] + "..."


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it trusts its user to start one run at a time
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(
            f"{path} must be written by one run at a time; another process has it open"
        ) from None


def as_turn(request: Request, reply: Reply) -> Turn:
    """Return the record of a reply; scores that were asked for and are missing are sides without points."""
    from d3stats.log.schema import Turn

    scores = None if reply.scores is None else {side: dict(given) for side, given in reply.scores.items()}
    if request.slot.rubric is not None:
        scores = (scores or {}) | {
            side: {} for side in request.slot.rubric.sides if side not in (scores or {})
        }
    return Turn(
        debate=request.case.debate,
        round=request.round,
        agent=request.agent,
        role=request.role,
        vote=reply.vote,
        scores=scores,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        tokens_cached=reply.tokens_cached,
        tokens_source="estimate" if reply.estimated else None,
        model=reply.model,
        text=reply.text,
        error=reply.error,
        persona=request.persona,
        temperature=reply.temperature,
    )


@dataclass
class Past:
    """The contents of a log and its journal.

    Attributes
    ----------
    items : dict
        The opening records, by debate, of the debates that are still open.
    turns : dict of dict
        Their turns, by debate, then by round and agent; those of closed debates too when they were asked for.
    closed : dict
        Verdicts, by debate.
    stops : dict of (int, str)
        Round and reason of stops that no rule repeats by itself, by debate.
    spent : Cost
        What all calls cost; those in flight at a kill at their bound.
    report : RunReport
        Counts of the earlier runs.
    """

    report: RunReport
    items: dict[str, Item] = field(default_factory=dict)
    turns: dict[str, dict[Key, Turn]] = field(default_factory=dict)
    closed: dict[str, Verdict] = field(default_factory=dict)
    stops: dict[str, tuple[int, str]] = field(default_factory=dict)
    spent: Cost = FREE

    def _read_log(self, log: Path, planned: Mapping[str, Planned], asked: Asked) -> None:
        from d3stats.log.reader import iter_records
        from d3stats.log.schema import Item, Turn, Verdict

        for record in iter_records(log):
            if isinstance(record, Item):
                _compare(record, planned.get(record.debate), asked.protocol, log)
                self.items[record.debate] = record
                self.turns[record.debate] = {}
            elif isinstance(record, Turn):
                self.turns.setdefault(record.debate, {})[(record.round, record.agent)] = record
                self.report.add(record, votes=record.role in asked.voters)
            elif isinstance(record, Verdict):
                self.closed[record.debate] = record
                if not asked.batched:
                    self.items.pop(record.debate, None)
                    self.turns.pop(record.debate, None)

    def _read_journal(self, journal: Journal, asked: Asked) -> None:
        report, told = self.report, JournalWords()
        recorded = {
            (debate, number, agent) for debate, turns in self.turns.items() for number, agent in turns
        }

        def call(begun: dict[str, Any], ended: dict[str, Any]) -> None:
            report.calls += 1
            report.repeated += bool(ended.get("lost"))
            report.attempts += int(ended.get("attempts", 1))
            model = asked.cast.model(begun["role"])
            held, charged = (
                asked.tariff.cost(model, *map(int, one)) for one in (begun["bound"], ended["charged"])
            )
            report.overdrawn += not charged.within(held)
            self.spent += charged

        def settle(begun: dict[str, Any]) -> dict[str, Any]:
            debate, number, agent = begun["begun"]
            if (debate, number, agent) not in recorded:
                return {"charged": begun["bound"], "lost": True}
            # Killed between the turn and the journal's line: the turn knows what it cost.
            turn = self.turns[debate][(number, agent)]
            if turn.tokens_in is None or turn.tokens_out is None:
                return {"charged": begun["bound"]}
            return {"charged": [turn.tokens_in, turn.tokens_out, turn.tokens_cached or 0]}

        def stop(debate: str, number: int, reason: str) -> None:
            self.stops[debate] = (number, reason)

        journal.read(call, stop, settle, told.read)
        report.words, report.dropped, report.charged = told.words, tuple(told.dropped), self.spent.tokens


def resume(journal: Journal, asked: Asked) -> Past:
    """Read the log and the journal of a run that is resumed: its turns, decisions and costs.

    With a rule for a whole batch the turns of closed debates are kept too.

    Raises
    ------
    ValueError
        When a debate of the log is about something else than the debate of its name that is asked for, or a line
        cannot be read.
    """
    planned = {debate.debate: debate for debate in asked.planned}
    past = Past(RunReport(journal.log, len(planned)))
    if journal.log.exists() and journal.log.stat().st_size > 0:
        past._read_log(journal.log, planned, asked)
    past._read_journal(journal, asked)
    past.report.stops = Counter(str(past.closed[name].stop_reason) for name in past.closed if name in planned)
    past.report.closed = past.report.stops.total()
    return past


def _compare(record: Item, planned: Planned | None, protocol: DebateProtocol, log: Path) -> None:
    """Refuse to go on with a debate that is about something else now."""
    if planned is None:
        return
    # A log of an older version does not say it.
    polling = None if record.polling is None else protocol.recorded()
    now = planned.item.item(
        record.debate, planned.first, log=record.log, protocol=protocol.name, polling=polling
    )
    if now == record:
        return
    name = next(name for name in record.__struct_fields__ if getattr(now, name) != getattr(record, name))
    was, got = (str(getattr(one, name))[:60] for one in (record, now))
    raise ValueError(
        f"{name} of debate {record.debate!r} must be as in {log.name}, {was!r}; got {got!r} "
        "(write another log, or repeat the original command)"
    )
