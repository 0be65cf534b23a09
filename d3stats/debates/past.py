"""What earlier runs have left: closed debates, open ones with their turns, and what all of it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d3stats.agents.request import Reply, Request
from d3stats.debates.ahead import Cast, Key
from d3stats.debates.cost import FREE, Cost, Tariff
from d3stats.debates.journal import Journal
from d3stats.debates.placement import Planned
from d3stats.log.doctor import JournalWords

if TYPE_CHECKING:
    from d3stats.log.schema import Item, Turn, Verdict

__all__ = ["Past", "as_turn"]


def as_turn(request: Request, reply: Reply) -> Turn:
    """Return the record of a reply; scores that were asked for and are missing are sides without points."""
    from d3stats.log.schema import Turn

    scores = None if reply.scores is None else {side: dict(given) for side, given in reply.scores.items()}
    if scores is None and request.slot.rubric is not None:
        scores = {side: {} for side in request.slot.rubric.sides}
    return Turn(
        debate=request.case.debate,
        round=request.round,
        agent=request.agent,
        role=request.role,
        vote=reply.vote,
        scores=scores,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        tokens_source="estimate" if reply.estimated else None,
        model=reply.model,
        text=reply.text,
        error=reply.error,
    )


@dataclass
class Past:
    """What is in a log and its journal.

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
    repeated : int
        Calls that were in flight at a kill.
    calls, attempts : int
        Calls that were begun, and attempts of those that ended.
    overdrawn : int
        Calls that cost more than was set aside for them.
    votes : int
        Turns that were asked for a vote, or for scores that decide.
    votes_missing : Counter of str
        Those of them without one, by error.
    told : JournalWords
        What servers said last, and what they did not take.
    """

    items: dict[str, Item] = field(default_factory=dict)
    turns: dict[str, dict[Key, Turn]] = field(default_factory=dict)
    closed: dict[str, Verdict] = field(default_factory=dict)
    stops: dict[str, tuple[int, str]] = field(default_factory=dict)
    spent: Cost = FREE
    repeated: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    attempts: int = 0
    overdrawn: int = 0
    votes: int = 0
    votes_missing: Counter[str] = field(default_factory=Counter)
    told: JournalWords = field(default_factory=JournalWords)

    @classmethod
    def read(
        cls,
        log: Path,
        journal: Journal,
        planned: Mapping[str, Planned],
        cast: Cast,
        tariff: Tariff,
        protocol: str,
        keep: bool,
        voters: Collection[str] = (),
    ) -> Past:
        """Read a log and its journal.

        Parameters
        ----------
        planned : mapping of str to Planned
            The debates that are asked for, by name; what the log says of them must agree.
        keep : bool
            Keep the turns of closed debates too.
        voters : collection of str
            Roles that are asked for votes, or for scores that decide.
        """
        past = cls()
        if log.exists() and log.stat().st_size > 0:
            past._read_log(log, planned, protocol, keep, voters)
        recorded = {
            (debate, number, agent) for debate, turns in past.turns.items() for number, agent in turns
        }
        past._read_journal(journal, cast, tariff, recorded)
        return past

    def _read_log(
        self,
        log: Path,
        planned: Mapping[str, Planned],
        protocol: str,
        keep: bool,
        voters: Collection[str],
    ) -> None:
        from d3stats.log.reader import iter_records
        from d3stats.log.schema import Item, Turn, Verdict

        for record in iter_records(log):
            if isinstance(record, Item):
                _compare(record, planned.get(record.debate), protocol, log)
                self.items[record.debate] = record
                self.turns[record.debate] = {}
            elif isinstance(record, Turn):
                self.turns.setdefault(record.debate, {})[(record.round, record.agent)] = record
                self.tokens_in += record.tokens_in or 0
                self.tokens_out += record.tokens_out or 0
                if record.error is not None:
                    self.missing[record.error] += 1
                if record.role in voters:
                    self.votes += 1
                    if record.error is not None and record.vote is None:
                        self.votes_missing[record.error] += 1
            elif isinstance(record, Verdict):
                self.closed[record.debate] = record
                if not keep:
                    self.items.pop(record.debate, None)
                    self.turns.pop(record.debate, None)

    def _read_journal(
        self, journal: Journal, cast: Cast, tariff: Tariff, recorded: Collection[tuple[str, int, str]]
    ) -> None:
        def call(begun: dict[str, Any], ended: dict[str, Any]) -> None:
            self.calls += 1
            self.repeated += bool(ended.get("lost"))
            self.attempts += int(ended.get("attempts", 1))
            model = cast.model(begun["role"])
            held, charged = (tariff.cost(model, *map(int, one)) for one in (begun["bound"], ended["charged"]))
            self.overdrawn += not charged.within(held)
            self.spent += charged

        def settle(begun: dict[str, Any]) -> dict[str, Any]:
            debate, number, agent = begun["begun"]
            if (debate, number, agent) not in recorded:
                return {"charged": begun["bound"], "lost": True}
            # Killed between the turn and the journal's line: the turn knows what it cost.
            turn = self.turns[debate][(number, agent)]
            if turn.tokens_in is None or turn.tokens_out is None:
                return {"charged": begun["bound"]}
            return {"charged": [turn.tokens_in, turn.tokens_out]}

        def stop(debate: str, number: int, reason: str) -> None:
            self.stops[debate] = (number, reason)

        journal.read(call, stop, settle, self.told.read)


def _compare(record: Item, planned: Planned | None, protocol: str, log: Path) -> None:
    """Refuse to go on with a debate that is about something else now."""
    if planned is None:
        return
    now = planned.item.item(record.debate, planned.first, log=record.log, protocol=protocol)
    if now == record:
        return
    name = next(name for name in record.__struct_fields__ if getattr(now, name) != getattr(record, name))
    was, got = (str(getattr(one, name))[:60] for one in (record, now))
    raise ValueError(
        f"{name} of debate {record.debate!r} must be as in {log.name}, {was!r}; got {got!r} "
        "(write another log, or repeat the command as it was)"
    )
