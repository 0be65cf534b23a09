"""The record of a run: the log, the journal beside it, and how a run is resumed from both.

The log holds the turns, the journal the settings of the run and the start and end of every call. A killed run is
resumed from them. A call with a turn is never made again. A call that has a start, but neither an end nor a turn, was
in flight; it is charged at its bound and may be made again. Each line is one JSON object, handed to the system as it is
written, so that it survives a killed process. A last line that breaks off is dropped.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from d3stats._words import counted
from d3stats.agent import Reply, Request
from d3stats.log.appended import Appended
from d3stats.log.files import journal_path
from d3stats.note import Note, warning
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
    "Pace",
    "Past",
    "as_turn",
    "check_log",
    "is_unused",
    "journal_path",
    "measured_pace",
    "resume",
]

FORMAT = "d3stats debate 1"

FIXED = ("protocol", "rule", "orders", "seed", "repeats", "agents")
"""Settings that a run must keep when it is resumed."""

UNHEARD = ("budget", "connection", "loading", "rate_limited", "server_error", "timeout", "unreachable")
"""Errors of a vote that no model gave: the call reached no one, was not answered, or was not made."""

FEWEST_TIMED = 10
"""Calls: fewer tell no pace."""

MOST_JOURNALS = 20
"""So many journals of a folder are looked at for a pace."""

Place: TypeAlias = tuple[str, int, str]
"""Debate, round and agent."""

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

    The line that ends a call has its turn, so that the log and the journal can each be made whole from the other.

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
        self.notes: list[Note] = []
        self._file: Appended | None = None

    def __enter__(self) -> Self:
        fresh = is_unused(self.log)
        try:
            self._file = file = Appended(self.path, sync=1.0, lock=True)
        except BlockingIOError:
            raise ValueError(
                f"{self.path} must be written by one run at a time; another process has it open"
            ) from None
        try:
            # Read again, now that no other run writes it.
            fresh = fresh and is_unused(self.log)
            file.cut(0 if fresh else _whole(self.path))
            if fresh:
                self.write({"journal": FORMAT, **self.settings})
                file.sync()
            else:
                self._begin_again()
        except BaseException:
            file.close()
            self._file = None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            try:
                self._file.sync()
            finally:
                self._file.close()
                self._file = None

    def sync(self) -> None:
        """Put what is written on the disk."""
        assert self._file is not None, "a journal must be open"
        self._file.sync()

    @property
    def changed(self) -> str | None:
        """The change that another program made to the file."""
        assert self._file is not None, "a journal must be open"
        self._file.look()
        return self._file.changed

    def write(self, record: Mapping[str, Any], turn: Turn | None = None) -> None:
        """Append a line, with the turn that it is about."""
        assert self._file is not None, "a journal must be opened in a with block before it is written"
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode()
        if turn is not None:
            from d3stats.log.writer import line_of

            line = line[:-1] + b',"turn":' + line_of(turn).rstrip(b"\n") + b"}"
        self._file.write(line + b"\n")

    def read(
        self,
        call: Call,
        stop: Callable[[str, int, str], None],
        settle: Callable[[dict[str, Any]], dict[str, Any]],
        other: Callable[[dict[str, Any]], None],
    ) -> None:
        """Go through earlier runs; a line that cannot be read is passed over, and a note counts them.

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
        begun: dict[Place, dict[str, Any]] = {}
        damaged = 0
        with self.path.open("rb") as file:
            for line in file:
                record = _parsed(line) or {}
                try:
                    if "begun" in record:
                        begun[_key(record["begun"])] = record
                        other(record)
                    elif "more" in record:
                        begun[_key(record["more"])]["bound"] = record["held"]
                    elif "ended" in record:
                        known = begun.pop(_key(record["ended"]), None)
                        lost = {"role": record.get("role"), "bound": record["charged"]}
                        call(lost if known is None else known, record)
                    elif "stopped" in record:
                        stop(str(record["stopped"]), int(record["round"]), str(record["reason"]))
                    else:
                        other(record)
                        damaged += not record
                except (KeyError, TypeError, ValueError, IndexError):
                    damaged += 1
        if damaged:
            self._say(f"{counted(damaged, 'line')} of {self.path.name} cannot be read", damaged)
        for record in begun.values():
            # Settled once: a later run must not judge them anew.
            end = {"ended": record["begun"], "role": record["role"], **settle(record)}
            self.write(end)
            call(record, end)

    def _begin_again(self) -> None:
        """Compare the settings with those of the journal, or of the log where the journal has lost them."""
        assert self._file is not None, "a journal must be open"
        with self.path.open("rb") as file:
            first = file.readline()
        header = _parsed(first)
        if header is not None and header.get("journal") == FORMAT:
            self._compare(header)
            self.write({"resumed": True} | {k: v for k, v in self.settings.items() if k not in FIXED})
            return
        if first and not (self.log.is_file() and _has_calls(self.path)):
            raise ValueError(f"{self.path} must be the journal of a run of debates; got another kind of file")
        was = _source_of(self.log)
        if was != source(self.settings):
            raise ValueError(
                f"log must be new or have its journal {self.path.name}; got {self.log} without it, and with "
                f"{'no' if was is None else 'other'} settings in its first line (put the journal back, repeat "
                "the original command, or write another log)"
            )
        text = self.path.read_bytes()
        if text:
            self.path.with_name(f"{self.path.name}.damaged").write_bytes(text)
        self._file.cut(0)
        self.write({"journal": FORMAT, **self.settings})
        # The first line alone may be lost, or all before a line that is whole.
        self._file.write(text[len(first) :] if header is None else text)
        self._say(
            f"{self.path.name} was {'damaged' if text else 'missing'} and is made again from {self.log.name}"
        )

    def lacks(self, calls: int) -> None:
        """Say that the log has calls that the journal has lost."""
        what = counted(calls, "call")
        self._say(f"{self.path.name} was damaged and lacks {what} of {self.log.name}", calls)

    def differs(self, places: list[Place]) -> None:
        """Say that the log has other votes or scores than the replies that the journal keeps."""
        debate, played, agent = places[0]
        text = (
            f"{self.log.name} must have the votes and scores of {self.path.name}; got other ones in "
            f"{counted(len(places), 'turn')} (the first by {agent!r} in round {played} of {debate!r}), so a "
            "file was changed after the call. The log counts (put the right file back)"
        )
        self.notes.append(warning(text, "changed votes", n=len(places), examples=[debate]))

    def _say(self, damage: str, n: int | None = None) -> None:
        text = f"{damage}; what calls without a turn cost may be missing from the tokens charged"
        self.notes.append(warning(text, "damaged journal", n=n))

    def _compare(self, header: Mapping[str, Any]) -> None:
        for name in FIXED:
            was, now = header.get(name), json.loads(json.dumps(self.settings.get(name)))
            if was != now:
                what, was, now = _difference(name, was, now)
                raise ValueError(
                    f"{what} must be as in the run that {self.path.name} belongs to; "
                    f"got {_short(now)}, was {_short(was)} (write another log, or repeat the original "
                    "command)"
                )


def source(settings: Mapping[str, Any]) -> str:
    """Return what the first line of a log says of its run: a digest of the settings that must not change."""
    fixed = json.dumps([settings.get(name) for name in FIXED], sort_keys=True, ensure_ascii=True)
    return f"d3stats debate, settings {hashlib.blake2b(fixed.encode(), digest_size=8).hexdigest()}"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _whole(path: Path) -> int:
    """Return the bytes up to the end of the last whole line."""
    with path.open("rb") as file:
        return sum(len(line) for line in file if line.endswith(b"\n"))


def _has_calls(path: Path) -> bool:
    with path.open("rb") as file:
        return any(b'"begun":' in line or b'"ended":' in line for line in file)


def _source_of(log: Path) -> str | None:
    """Return what the first line of a log says of its run; None where it does not."""
    from d3stats.log.reader import iter_records
    from d3stats.log.schema import Header

    if not log.is_file():
        return None
    first = next(iter(iter_records(log, strict=False)), None)
    return first.source if isinstance(first, Header) else None


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


def _answer(vote: str | None, scores: Mapping[str, Mapping[str, float]] | None) -> int:
    """Return what tells the vote and the scores of a turn from others; kept in place of them for every turn."""
    return hash((vote, json.dumps(scores, sort_keys=True, default=dict)))


def _key(parts: Any) -> Place:
    debate, number, agent = parts
    return str(debate), int(number), str(agent)


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 200 else text[:200] + "..."


class Pace(NamedTuple):
    """The pace of the calls of an earlier run.

    Attributes
    ----------
    seconds : float
        A call's share of the time of the run: its own seconds, divided by the calls at a time.
    calls, at_once : int
        How many calls were timed, and how many could be made at a time.
    journal : str
        Name of the file.
    """

    seconds: float
    calls: int
    at_once: int
    journal: str


def measured_pace(log: Path, models: Iterable[str | None]) -> Pace | None:
    """Return the pace of these models in the journal of a log, or in the newest one of its folder with the same models.

    A call takes its seconds divided by the calls at a time. None where no journal has timed enough calls.
    """
    wanted, own = set(models), journal_path(log)
    beside = own.parent.glob(f"*{own.name.removeprefix(log.stem)}") if own.parent.is_dir() else ()
    others = sorted(
        (path for path in beside if path != own), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for path in [own, *others][:MOST_JOURNALS]:
        if path.is_file() and (found := _pace(path, wanted)) is not None:
            return found
    return None


def _pace(path: Path, models: Set[str | None]) -> Pace | None:
    calls, seconds, at_once = 0, 0.0, 1
    with path.open("rb") as file:
        header = _parsed(file.readline()) or {}
        agents = header.get("agents")
        if header.get("journal") != FORMAT or not isinstance(agents, dict):
            return None
        if {agent.get("model") for agent in agents.values() if isinstance(agent, dict)} != models:
            return None
        at_once = int(header.get("concurrency") or 1)
        for line in file:
            if b'"resumed":' in line:
                at_once = int((_parsed(line) or {}).get("concurrency") or at_once)
            elif b'"seconds":' in line and isinstance(
                took := (_parsed(line) or {}).get("seconds"), (int, float)
            ):
                calls += 1
                seconds += took / at_once
    return Pace(seconds / calls, calls, at_once, path.name) if calls >= FEWEST_TIMED else None


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
        confidence=reply.confidence if reply.vote is not None else None,
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
    again : dict of tuple to (int, int)
        Missing votes that are asked for again, with the tokens in and out of the turns that they take the place of.
    void : set of tuple
        Those of them whose turn without a vote is not to count; its debate is open again.
    missing : dict of tuple to (int, int)
        Votes that were lost on the way to a server or for want of a budget, with the tokens of their turns.
    kept : dict of tuple to Turn
        Turns of the journal that the log lacks.
    defects : int
        Lines of the log that cannot be read, or that say something twice.
    secret : bytes or None
        The secret of a ledger's coins.
    decided : int
        The last debate, by its number in the campaign, whose early stop the journal says to be honoured or audited.
    """

    report: RunReport
    items: dict[str, Item] = field(default_factory=dict)
    turns: dict[str, dict[Key, Turn]] = field(default_factory=dict)
    closed: dict[str, Verdict] = field(default_factory=dict)
    stops: dict[str, tuple[int, str]] = field(default_factory=dict)
    spent: Cost = FREE
    again: dict[Place, tuple[int, int]] = field(default_factory=dict)
    void: set[Place] = field(default_factory=set)
    missing: dict[Place, tuple[int, int]] = field(default_factory=dict)
    kept: dict[Place, Turn] = field(default_factory=dict)
    defects: int = 0
    secret: bytes | None = None
    decided: int = 0
    _answers: dict[Place, int] = field(default_factory=dict)

    @classmethod
    def read(cls, journal: Journal, asked: Asked) -> Past:
        """Read a log and its journal, and charge the turns that the journal does not know."""
        planned = {debate.debate: debate for debate in asked.planned}
        past = cls(RunReport(journal.log, len(planned)))
        logged: dict[Place, tuple[str | None, str | None, list[int]]] = {}
        if journal.log.exists() and journal.log.stat().st_size > 0:
            past._read_log(journal.log, planned, asked, logged)
        past._read_journal(journal, asked, logged)
        known = planned.keys() | past.items.keys() | past.closed.keys()
        past.kept = {place: turn for place, turn in past.kept.items() if place[0] in known}
        past.void &= logged.keys()
        return past

    def _read_log(
        self,
        log: Path,
        planned: Mapping[str, Planned],
        asked: Asked,
        logged: dict[Place, tuple[str | None, str | None, list[int]]],
    ) -> None:
        from d3stats.log.problems import LogError, Problem
        from d3stats.log.reader import iter_records
        from d3stats.log.schema import Header, Item, Turn, Verdict

        problems: list[Problem] = []
        opened: set[str] = set()
        unopened: set[str] = set()
        headed = False
        for record in iter_records(log, strict=False, problems=problems):
            if isinstance(record, Header):
                headed = True
            elif isinstance(record, Item):
                _compare(record, planned.get(record.debate), asked.protocol, log)
                self.defects += record.debate in opened
                opened.add(record.debate)
                self.items[record.debate] = record
                self.turns.setdefault(record.debate, {})
            elif isinstance(record, Turn):
                place = (record.debate, record.round, record.agent)
                if place in logged:
                    self.defects += 1
                    continue
                if record.debate not in opened:
                    unopened.add(record.debate)
                self.turns.setdefault(record.debate, {})[place[1:]] = record
                self.report.add(record, votes=record.role in asked.voters)
                spent = (record.tokens_in or 0, record.tokens_out or 0)
                logged[place] = (record.role, record.error, [*spent, record.tokens_cached or 0])
                self._answers[place] = _answer(record.vote, record.scores)
                if record.role in asked.voters and record.vote is None and record.error in UNHEARD:
                    self.missing[place] = spent
            elif isinstance(record, Verdict):
                self.defects += record.debate in self.closed
                self.closed.setdefault(record.debate, record)
                if not asked.replayed:
                    self.items.pop(record.debate, None)
                    self.turns.pop(record.debate, None)
        self.defects += len(unopened & planned.keys()) + (not headed)
        for problem in problems:
            if problem.kind == "newer schema":
                raise LogError(problem)
            # A last line that breaks off is moved aside by the writer.
            self.defects += problem.kind != "truncated last line"

    def _read_journal(
        self,
        journal: Journal,
        asked: Asked,
        logged: Mapping[Place, tuple[str | None, str | None, list[int]]],
    ) -> None:
        import msgspec

        from d3stats.log.doctor import JournalWords
        from d3stats.log.schema import Turn

        report, told = self.report, JournalWords()
        known: set[Place] = set()
        changed: set[Place] = set()

        def call(begun: dict[str, Any], ended: dict[str, Any]) -> None:
            place, role = _key(ended["ended"]), begun["role"]
            model = None if role is None else asked.cast.model(role)
            held, charged = (
                asked.tariff.cost(model, *map(int, one)) for one in (begun["bound"], ended["charged"])
            )
            known.add(place)
            report.calls += 1
            report.repeated += bool(ended.get("lost"))
            report.attempts += int(ended.get("attempts", 1))
            report.overdrawn += not charged.within(held)
            self.spent += charged
            if "turn" in ended:
                self.again.pop(place, None)
                turn = msgspec.convert(ended["turn"], Turn)
                if place not in logged:
                    self.kept[place] = turn
                elif self._answers[place] == _answer(turn.vote, turn.scores):
                    # Of a call that was made again, the last turn counts.
                    changed.discard(place)
                else:
                    changed.add(place)

        def settle(begun: dict[str, Any]) -> dict[str, Any]:
            turn = logged.get(_key(begun["begun"]))
            if turn is None:
                return {"charged": begun["bound"], "lost": True}
            # Killed between the turn and the journal's line: the turn knows what it cost.
            return {"charged": turn[2] if any(turn[2]) else begun["bound"]}

        def stop(debate: str, number: int, reason: str) -> None:
            self.stops[debate] = (number, reason)

        def other(record: dict[str, Any]) -> None:
            if "again" in record:
                place = _key(record["again"])
                tokens_in, tokens_out = record["tokens"]
                self.again[place] = (int(tokens_in), int(tokens_out))
                self.void.add(place)
                self.kept.pop(place, None)
            elif "begun" in record:
                self.void.discard(_key(record["begun"]))
            elif "secret" in record:
                self.secret = bytes.fromhex(record["secret"])
            elif "ledger" in record:
                self.decided = max(self.decided, int(record["ledger"]))
            else:
                told.read(record)

        journal.read(call, stop, settle, other)
        unknown = {
            place: (role, charged)
            for place, (role, error, charged) in logged.items()
            if place not in known and error != "budget"
        }
        for place, (role, charged) in unknown.items():
            end = {"ended": place, "role": role, "charged": charged}
            journal.write(end)
            call({"role": role, "bound": charged}, end)
        if unknown and not journal.notes:
            journal.lacks(len(unknown))
        if changed:
            journal.differs(sorted(changed))
        self._answers.clear()
        report.words, report.dropped, report.charged = told.words, tuple(told.dropped), self.spent.tokens

    def _mend(self, journal: Journal, asked: Asked, name: str) -> None:
        """Write the log again: without what is void or cannot be read, with the turns that only the journal has."""
        from d3stats.log.reader import iter_records
        from d3stats.log.schema import Header, Item, Turn
        from d3stats.log.writer import LogWriter, replacing

        log, planned = journal.log, {debate.debate: debate for debate in asked.planned}
        kept: dict[str, list[Turn]] = {}
        for place in sorted(self.kept, key=lambda place: place[1]):
            kept.setdefault(place[0], []).append(self.kept[place])
        opened, closed, said = set[str](), set[str](), set[Place]()
        reopened = {debate for debate, _, _ in self.void}
        there = log.exists() and log.stat().st_size > 0
        if there:
            shutil.copyfile(log, log.with_name(f"{log.name}.before"))
        with (
            replacing(log) as partial,
            LogWriter(partial, fsync="close", source=source(journal.settings)) as writer,
        ):

            def open_(debate: str) -> None:
                if debate not in opened and debate in planned:
                    writer.write(opening(planned[debate], asked, name))
                opened.add(debate)

            for record in iter_records(log, strict=False) if there else ():
                if isinstance(record, Header):
                    continue
                if isinstance(record, Item):
                    if record.debate not in opened:
                        writer.write(record)
                        opened.add(record.debate)
                    continue
                open_(record.debate)
                if isinstance(record, Turn):
                    place = (record.debate, record.round, record.agent)
                    if place not in said and place not in self.void:
                        writer.write(record)
                        said.add(place)
                elif record.debate not in closed | reopened:
                    for turn in kept.pop(record.debate, ()):
                        writer.write(turn)
                    writer.write(record)
                    closed.add(record.debate)
            for debate, turns in kept.items():
                open_(debate)
                for turn in turns:
                    writer.write(turn)


def opening(planned: Planned, asked: Asked, name: str) -> Item:
    """Return the record that opens a debate."""
    return planned.item.item(
        planned.debate,
        planned.first,
        log=name,
        protocol=asked.protocol.name,
        polling=asked.protocol.recorded(),
    )


def resume(journal: Journal, asked: Asked, name: str, *, retry_missing: bool = False) -> Past:
    """Read the log and the journal of a run that is resumed: its turns, decisions and costs.

    Turns that one of them lacks are put back from the other. With a rule for a whole batch, and with a ledger, the
    turns of closed debates are kept too.

    Parameters
    ----------
    journal : Journal
    asked : Asked
    name : str
        The name of the run in the log.
    retry_missing : bool
        Whether votes that were lost on the way to a server, or for want of a budget, are asked for again.

    Raises
    ------
    ValueError
        When a debate of the log is about something else than the debate of its name that is asked for.
    """
    past = Past.read(journal, asked)
    if retry_missing:
        for place, tokens in past.missing.items():
            journal.write({"again": place, "tokens": tokens})
        past.void |= past.missing.keys()
    if past.void or past.kept or past.defects:
        there = journal.log.exists() and journal.log.stat().st_size > 0
        past._mend(journal, asked, name)
        if past.kept or past.defects:
            parts = [
                f"{past.defects:,} of its lines or records could not be used" if past.defects else "",
                f"turns put back from {journal.path.name}: {len(past.kept):,}" if past.kept else "",
                f"what was there is {journal.log.name}.before" if there else "",
            ]
            damage = "damaged" if there else "missing"
            text = f"{journal.log.name} was {damage}: {'; '.join(filter(None, parts))}"
            journal.notes.append(warning(text, "damaged log", n=len(past.kept)))
        past = Past.read(journal, asked)
    past.report.stops = Counter(
        str(past.closed[debate.debate].stop_reason)
        for debate in asked.planned
        if debate.debate in past.closed
    )
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
