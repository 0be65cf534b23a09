"""Run many debates: bounded concurrency, a budget that holds, and a log that a killed run resumes from.

A debate is a generator (see :mod:`d3stats.protocols.play`), so it is continued by playing it again from its recorded
turns: what was recorded is answered from the record, what was not is asked. Every turn is in its file before it is
used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats._check import integer, number
from d3stats.agent import Agent, Refused, Reply, Request
from d3stats.note import warning
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, RuleBook, ask, drive, round_seen
from d3stats.protocols.recorded import as_reply
from d3stats.run.budget import FREE, Bank, Cost, Hold, Purse
from d3stats.run.forecast import Asked, Key
from d3stats.run.items import DebateItem, Orders, Planned
from d3stats.run.ledgers import Early, RunningCampaign, as_ledger, check_protocol, identity
from d3stats.run.record import (
    Journal,
    Past,
    as_turn,
    check_log,
    is_unused,
    journal_path,
    opening,
    resume,
    source,
)
from d3stats.run.report import Observer, RunReport
from d3stats.run.shadow import refuse_batch, shadow_of
from d3stats.stopping import CONTINUE, Decision, Round, StoppingRule, StopReason, from_text
from d3stats.stopping.rule import BatchRound, LiveWatcher, MixedState
from d3stats.trajectories import MISSING
from d3stats.values import canonical_text
from d3stats.worlds.tokens import PriceTable

if TYPE_CHECKING:
    from d3stats.log.schema import Turn, Verdict
    from d3stats.log.writer import LogWriter
    from d3stats.planning.ledger import Ledger

__all__ = [
    "BUDGET",
    "DEAD",
    "PATIENCE",
    "Attempts",
    "Calls",
    "Halted",
    "Lockstep",
    "Stage",
    "debate",
    "run_debates",
]

DEAD = 20
"""After so many calls in a row that brought nothing that can be read, the run stops; of broken replies each counts."""

BROKEN = ("connection", "server_error")
"""Errors of replies that broke off or could not be decoded."""

PATIENCE = 300.0
"""Seconds to wait for a server that does not answer or loads its model."""

LONGEST_PAUSE = 2.0
"""The most seconds between two tries to reach a server that does not answer."""

NOBODY = ("unreachable", "loading", "connection")
"""Errors of a call whose last attempt reached no server or got no reply."""

LOST = 3
"""A call that was sent and lost so often breaks its server, and is recorded as missing."""

OWN = ("budget", "refused_content")
"""Errors that say nothing about how a server writes its replies."""


BUDGET = "budget"
"""The reason of a debate that was stopped because its next round did not fit the budget."""

OVERDRAWN = "overdrawn"
"""The reason for the end of a run with a budget when a call has cost more than its bound."""

UNREACHED = "unreached"
"""The reason for the end of a run whose calls reached no server; their debates are left open."""


class Attempts:
    """The amount that one call has set aside, recorded on disk before it is spent.

    Parameters
    ----------
    calls : Calls
        Whose journal, prices and end these are.
    key : tuple of (str, int, str)
        Debate, round and agent.
    model : str or None
    hold : Hold
        The bound of one attempt.
    longest : Reply
        A simulated reply with the tokens of that bound.

    Attributes
    ----------
    held : tuple of int
        Tokens that are set aside, of prompt and completion.
    stopped : bool
        Whether another attempt was forbidden because the run is being ended.
    """

    def __init__(
        self, calls: Calls, key: tuple[str, int, str], model: str | None, hold: Hold, longest: Reply
    ) -> None:
        self._calls, self._key, self._model, self._hold = calls, key, model, hold
        self._bound = (int(longest.tokens_in or 0), int(longest.tokens_out or 0))
        self.held = self._bound
        self.stopped = False

    def more(self, tokens: int, spent: int | None = None, /) -> bool:
        """Say whether a further attempt may be made, and set its bound aside.

        Parameters
        ----------
        tokens : int
            The most that it can cost.
        spent : int, optional
            What the attempts so far have or may have cost; without it all that was set aside for them.
        """
        calls = self._calls
        if calls.halted:
            self.stopped = True
            return False
        tariff = calls.asked.tariff
        so_far = self.held if spent is None else tariff.dearest(self._model, spent)
        # No attempt costs more than the bound, on either side.
        following = tariff.dearest(self._model, tokens, self._bound)
        held = (so_far[0] + following[0], so_far[1] + following[1])
        if not self._hold.change(tariff.cost(self._model, *held)):
            return False
        self.held = held
        try:
            calls.put(calls.journal, {"more": self._key, "held": held})
        except Halted:
            self.stopped = True
            return False
        return True

    def settle(
        self, tokens_in: int | None, tokens_out: int | None, cached: int | None = None
    ) -> tuple[int, int, int]:
        """End the call at these tokens, or at all that it holds when they are not known; return them."""
        if tokens_in is None or tokens_out is None:
            (tokens_in, tokens_out), cached = self.held, 0
        charged = (tokens_in, tokens_out, cached or 0)
        self._hold.settle(self._calls.asked.tariff.cost(self._model, *charged))
        return charged


class Halted(Exception):
    """The run is being ended, or its server is not there: this debate goes no further now."""


@dataclass
class _Server:
    """Whether a server is there; one call at a time finds out when it is not."""

    since: float | None = None
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class _Tried:
    """What a call that is made again has come to."""

    since: float | None = None
    pauses: int = 0
    lost: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, reply: Reply) -> None:
        """Add a call that reached nobody; what its attempts may have cost is part of its turn in the end."""
        self.since = time.monotonic() if self.since is None else self.since
        self.lost += bool(reply.tokens_in or reply.tokens_out)
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0

    def complete(self, reply: Reply) -> Reply:
        """Return a reply with all that was spent for it."""
        if not self.lost:
            return reply
        return replace(
            reply,
            tokens_in=None if reply.tokens_in is None else reply.tokens_in + self.tokens_in,
            tokens_out=None if reply.tokens_out is None else reply.tokens_out + self.tokens_out,
            estimated=True,
        )


class Calls:
    """Makes the calls of a run through a gate: each is journaled, paid for, and on disk when it returns.

    Parameters
    ----------
    asked, bank, journal, writer, report
        Parts of the run.
    concurrency : int
        Calls at a time.
    halt : asyncio.Event, optional
        Once set, no call begins and none is repeated.
    observer : function, optional
    wait : float
        Seconds to wait for a server that does not answer or loads its model.

    Attributes
    ----------
    again : dict
        Tokens of earlier turns without a vote, by debate, round and agent, that are part of the turn in their place.
    unreached : int
        Debates that were left open because one of their calls reached no server, while others were answered.
    """

    def __init__(
        self,
        asked: Asked,
        bank: Bank,
        journal: Journal,
        writer: LogWriter,
        report: RunReport,
        concurrency: int,
        halt: asyncio.Event | None,
        observer: Observer | None,
        wait: float,
    ) -> None:
        self.asked, self.bank = asked, bank
        self.journal, self.writer, self.report = journal, writer, report
        self.observer, self.wait = observer, wait
        self.halt = asyncio.Event() if halt is None else halt
        self.fatal: Refused | None = None
        self.again: dict[tuple[str, int, str], tuple[int, int]] = {}
        self.unreached = 0
        self._gate = asyncio.Semaphore(concurrency)
        self._servers: dict[object, _Server] = {}
        self._told: dict[tuple[int, str], object] = {}
        self._scales: set[tuple[str, int, int]] = set()
        self._unread: dict[int, int] = {}
        self._broken = False

    @property
    def halted(self) -> bool:
        """Whether no further call may begin."""
        return self._broken or self.fatal is not None or self.halt.is_set() or self.overdrawn

    @property
    def overdrawn(self) -> bool:
        """Whether a call has cost more than its bound, so that a budget can no longer be kept for certain."""
        return self.bank.limited and self.bank.overdrawn > 0

    def put(self, file: Journal | LogWriter, record: Any, *more: Any) -> None:
        """Write a record; end the run when that is not possible, or when another program changed the file.

        Raises
        ------
        Halted
            When the record is not in the file.
        """
        try:
            file.write(record, *more)
        except OSError as error:
            self.fatal = self.fatal or _unwritable(file.path, error)
            raise Halted from None
        self.look(file)

    def look(self, file: Journal | LogWriter) -> None:
        """End the run when another program changed a file."""
        try:
            changed = file.changed
        except OSError as error:
            self.fatal = self.fatal or _unwritable(file.path, error)
            return
        if changed is not None:
            self.fatal = self.fatal or Refused(
                f"{file.path} must be left alone while a run writes it; it was {changed}; nothing that was answered "
                "is lost, and the same command resumes the run"
            )

    def tell(self) -> None:
        """Bring the report up to date and show it."""
        report, bank = self.report, self.bank
        report.charged, report.overdrawn = bank.spent.tokens, bank.overdrawn
        report.dollars = bank.spent.dollars if self.asked.prices is not None else None
        if self.observer is not None:
            self.observer(report)

    async def make(self, request: Request, purse: Purse) -> Reply:
        """Ask, record, and return the reply as the record has it.

        Raises
        ------
        Halted
            When the run is being ended; nothing was recorded.
        """
        agent = self.asked.cast(request.role)
        server = self._servers.setdefault(getattr(agent, "where", id(agent)), _Server())
        async with self._gate:
            tried = _Tried()
            if self.again:
                earlier = self.again.pop((request.case.debate, request.round, request.agent), (0, 0))
                tried.add(Reply(None, tokens_in=earlier[0], tokens_out=earlier[1]))
            turn = await self._attempt(request, purse, server, tried) if server.since is None else None
            while turn is None:
                await self._wait_for(server, agent, tried)
                async with server.alone:
                    gone = server.since is not None
                    if gone:
                        turn = await self._attempt(request, purse, server, tried)
                if not gone:
                    turn = await self._attempt(request, purse, server, tried)
            return as_reply(turn)

    async def _attempt(self, request: Request, purse: Purse, server: _Server, tried: _Tried) -> Turn | None:
        """Make a call and record it; None, and no record, when it reached nobody."""
        if self.halted:
            raise Halted
        agent = self.asked.cast(request.role)
        longest = agent.imagine(request, "longest")
        hold = purse.hold(self.asked.price(request, longest))
        if hold is None:
            spent = Reply(None, tokens_in=0, tokens_out=0, error="budget", attempts=0)
            turn = as_turn(request, tried.complete(spent))
            self._record(request, turn)
            return turn
        key = (request.case.debate, request.round, request.agent)
        attempts = Attempts(self, key, self.asked.cast.model(request.role), hold, longest)
        begun = {"begun": key, "role": request.role, "bound": attempts.held}
        sent = getattr(agent, "temperature_of", None)
        if sent is not None and (temperature := sent(request)) is not None:
            begun["temperature"] = temperature
        rubric = request.slot.rubric
        if rubric is not None and (scale := (request.role, rubric.low, rubric.high)) not in self._scales:
            self._scales.add(scale)
            self.put(self.journal, {"scales": {request.role: [rubric.low, rubric.high]}})
        try:
            self.put(self.journal, begun)
        except Halted:
            attempts.settle(0, 0)
            raise
        if self.fatal is not None:
            self.put(self.journal, {"ended": key, "charged": attempts.settle(0, 0), "error": "interrupted"})
            raise Halted
        self.report.calls += 1
        self.report.in_flight += 1
        began = time.monotonic()
        try:
            reply = await ask(agent, request, attempts.more)
        except Refused as error:
            self.fatal = self.fatal or error
            self._note_words(agent)
            charged = attempts.settle(*getattr(error, "tokens", (0, 0)))
            self.put(self.journal, {"ended": key, "charged": charged, "error": "refused"})
            raise Halted from None
        except BaseException:
            # Whether it was charged is not known: without an end it counts as in flight, at its bound.
            hold.settle(hold.amount)
            self._broken = True
            raise
        finally:
            self.report.in_flight -= 1
        paid = (reply.tokens_in, reply.tokens_out)
        if self.bank.limited and reply.charged is not None:
            paid = reply.charged
        charged = attempts.settle(*paid, reply.tokens_cached)
        given_up = attempts.stopped and reply.error is not None
        nobody = reply.error in NOBODY
        if nobody:
            tried.add(reply)
        recorded = not given_up and (not nobody or tried.lost >= LOST)
        given: Turn | None = None
        if recorded:
            # What reached nobody has been added already.
            last = replace(reply, tokens_in=0, tokens_out=0) if nobody else reply
            given = as_turn(request, tried.complete(last))
        self.report.attempts += reply.attempts
        end = {
            "ended": key,
            "role": request.role,
            "charged": charged,
            "attempts": reply.attempts,
            "seconds": round(time.monotonic() - began, 4),
        }
        end |= {"estimated": True} if reply.estimated else {}
        end |= {"served": dict(reply.served)} if reply.served else {}
        end |= {"error": "interrupted" if given_up else reply.error} if reply.error else {}
        try:
            if given is not None:
                self._record(request, given)
        finally:
            # The one that can be written holds the turn until the run is resumed.
            self.put(self.journal, end, given)
        if given_up:
            # The interrupt ended it, not the budget: asked again when the run goes on.
            raise Halted
        self._note_words(agent)
        lost = reply.error == "connection" and bool(reply.tokens_in or reply.tokens_out)
        if not nobody:
            server.since, self.report.waiting = None, None
        elif not lost:
            server.since = time.monotonic() if server.since is None else server.since
        if lost or not nobody:
            self._look_at(agent, reply)
        return given

    def _note_words(self, agent: Agent) -> None:
        """Write down what a server said and did not take, once each time that it changes."""
        where = getattr(agent, "where", None)
        notes: dict[str, str] = getattr(agent, "notes", {})
        fresh = {kind: words for kind, words in notes.items() if self._told.get((id(agent), kind)) != words}
        if fresh:
            self._told.update({(id(agent), kind): words for kind, words in fresh.items()})
            self.report.words.update(fresh)
            self.put(self.journal, {"words": fresh, "server": where})
        dropped: tuple[str, ...] = tuple(getattr(agent, "dropped", ()))
        if dropped and self._told.get((id(agent), "")) != dropped:
            self._told[(id(agent), "")] = dropped
            self.report.dropped = tuple(dict.fromkeys((*self.report.dropped, *dropped)))
            self.put(self.journal, {"dropped": list(dropped), "server": where})
        form: str | None = getattr(agent, "form", None)
        if form and self._told.get((id(agent), "form")) != form:
            self._told[(id(agent), "form")] = form
            known = self.report.structured
            self.report.structured = form if known is None or form in known else f"{known}, {form}"
            self.put(self.journal, {"structured": form, "server": where})

    def _look_at(self, agent: Agent, reply: Reply) -> None:
        """Stop the run when an agent's replies, one after another, hold nothing that can be read."""
        if reply.error in OWN:
            return
        if reply.error is None:
            self._unread[id(agent)] = 0
            return
        broken = reply.error in BROKEN and bool(reply.tokens_in or reply.tokens_out)
        unread = self._unread.get(id(agent), 0) + (reply.attempts if broken else 1)
        self._unread[id(agent)] = unread
        if unread >= DEAD and self.fatal is None:
            name = getattr(agent, "model", None) or type(agent).__name__
            from d3stats.log.doctor import ADVICE  # the command line's help must not wait for pandas

            advice = ADVICE.get(str(reply.error), "check the log of the server")
            after = (
                "the same command resumes the run" if reply.error == "connection" else "and write another log"
            )
            self.fatal = Refused(
                f"a reply of {name!r} must be readable; got {unread} unreadable ones in a row, the last "
                f"{reply.error!r}{self._last_words(reply.error)}; "
                f"{'' if reply.error == 'connection' else 'they are recorded as missing '}({advice}, {after})"
            )

    def _last_words(self, error: str | None) -> str:
        words = self.report.words.get(str(error))
        return "" if words is None else f" ({words})"

    async def _wait_for(self, server: _Server, agent: Agent, tried: _Tried) -> None:
        """Wait before a call is made again; end the run, or leave its debate open, when that took too long."""
        now = time.monotonic()
        tried.since = now if tried.since is None else tried.since
        tried.pauses += 1
        name = getattr(agent, "where", None) or "the server"
        words = next(
            (self.report.words[kind] for kind in NOBODY if kind in self.report.words), "no connection"
        )
        gone = 0.0 if server.since is None else now - server.since
        if gone >= self.wait or (self.asked.batched and now - tried.since >= self.wait):
            self.fatal = self.fatal or Refused(
                f"{name} must answer; got no reply to a call for {max(gone, now - tried.since):.0f} s "
                f"({words}); these calls are not recorded, and the same command resumes the run (for a "
                "longer wait give --wait SECONDS, in Python wait=)"
            )
            raise Halted
        if now - tried.since >= self.wait:
            self.unreached += 1
            raise Halted
        self.report.waiting = f"waiting for {name}: {words} ({gone:.0f} of {self.wait:g} s)"
        self.tell()
        pause = min(LONGEST_PAUSE, 0.05 * tried.pauses, self.wait)
        try:
            await asyncio.wait_for(self.halt.wait(), pause)
        except TimeoutError:
            return

    def _record(self, request: Request, turn: Turn) -> None:
        self.put(self.writer, turn)
        self.report.add(turn, votes=request.role in self.asked.voters)
        self.report.estimated += turn.tokens_source == "estimate"
        self.tell()


@dataclass
class _Arrived:
    seen: Round
    future: asyncio.Future[Decision]


class Lockstep:
    """The barrier at the end of each round.

    Parameters
    ----------
    rule : StoppingRule
        A batch rule or a combination with one.
    planned : sequence of Planned
        The debates of the batch, one row each, whether they will start or not.
    bank : Bank
        Gets the number of debates that wait here, so that no other debate waits for their money.
    """

    def __init__(self, rule: StoppingRule, planned: Sequence[Planned], bank: Bank) -> None:
        self.bank = bank
        self.planned = planned
        self._state = MixedState(rule, LiveWatcher)
        self._codes: dict[str, int] = {}
        for debate in planned:
            # The label of an open question too: an answer is right or wrong before anybody has voted it.
            for answer in (*(debate.item.answers or ()), _label(debate)):
                if answer is not None:
                    self._codes.setdefault(answer, len(self._codes))
        labels = [self._codes.get(_label(debate) or "", MISSING) for debate in planned]
        self._label = np.array(labels, dtype=np.int32)
        clusters = [debate.item.cluster or debate.item.question for debate in planned]
        self._cluster = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        self._arrived: dict[int, _Arrived] = {}
        self._present = set(range(len(planned)))
        self._whole = True

    async def arrive(self, row: int, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        """Wait until all running debates have played the round; return this one's decision.

        Raises
        ------
        Halted
            When the run was stopped before all had played it: a part of a batch decides nothing.
        """
        seen = round_seen(step, since, self._codes)
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._arrived[row] = _Arrived(seen, future)
        # Before the bank is told: when this was the last to arrive, nobody waits in vain.
        if not self._decide():
            self.bank.pause()
        return await future

    def leave(self, row: int, *, halted: bool = False) -> None:
        """Take a debate out that is over, or never began, or goes no further because the run was stopped."""
        self._whole &= not halted
        self._present.discard(row)
        self._decide(left=True)

    def _decide(self, left: bool = False) -> bool:
        if not self._arrived or len(self._arrived) < len(self._present):
            return False
        arrived, self._arrived = self._arrived, {}
        # Whoever calls from `arrive` is not paused yet.
        self.bank.resume(len(arrived) - (0 if left else 1))
        if not self._whole:
            for one in arrived.values():
                if not one.future.done():
                    one.future.set_exception(Halted())
            return True
        decisions = self._state.update(self._round(arrived))
        for row, one in arrived.items():
            stop = bool(decisions.stop[row])
            if not one.future.done():
                reason = str(decisions.reasons[row]) if stop else None
                one.future.set_result(Decision(stop, reason) if stop else CONTINUE)
        return True

    def _round(self, arrived: dict[int, _Arrived]) -> BatchRound:
        n = len(self.planned)
        seats = max((one.seen.panel for one in arrived.values()), default=0)
        votes = np.full((n, seats), MISSING, dtype=np.int32)
        played = np.zeros(n, dtype=bool)
        panel = np.zeros(n, dtype=np.int64)
        tokens = np.full(n, np.nan)
        sides = max((len(one.seen.scores or ()) for one in arrived.values()), default=0)
        scores = np.full((n, sides), np.nan)
        confidence = np.full((n, seats), np.nan)
        for row, one in arrived.items():
            votes[row, : one.seen.panel] = one.seen.votes
            played[row], panel[row] = True, one.seen.panel
            if one.seen.tokens is not None:
                tokens[row] = one.seen.tokens
            for side, points in enumerate(one.seen.scores or ()):
                scores[row, side] = np.nan if points is None else points
            for seat, given in enumerate(one.seen.confidence or ()):
                confidence[row, seat] = np.nan if given is None else given
        return BatchRound(
            number=next(iter(arrived.values())).seen.number,
            votes=votes,
            label=self._label,
            played=played,
            panel=panel,
            cluster=self._cluster,
            tokens=tokens,
            scores=scores if sides else None,
            answers=tuple(self._codes),
            confidence=confidence,
        )


def _label(debate: Planned) -> str | None:
    """Return the right answer in the form that votes have: free words are written as a log is read."""
    return debate.item.label if debate.item.answers is not None else canonical_text(debate.item.label)


class Stage:
    """Where the debates of one run are played.

    Parameters
    ----------
    calls : Calls
        Calls of the run.
    past : Past
        What is in the log already.
    name : str
        Name of the run, in the log.
    """

    def __init__(self, calls: Calls, past: Past, name: str) -> None:
        self.calls, self.past, self.name = calls, past, name
        self.asked, self.bank, self.report = calls.asked, calls.bank, calls.report
        self.writer, self.journal = calls.writer, calls.journal
        asked = self.asked
        self.lockstep = Lockstep(asked.rule, asked.planned, self.bank) if asked.batched else None
        self.running: RunningCampaign | None = None
        self.left_out: list[str] = []
        self.alike = _Alike(asked.voters)
        self._smallest: tuple[int, Cost] | None = None
        self._least: Cost | None = None

    def _open(self) -> Iterator[Planned]:
        return (planned for planned in self.asked.planned if planned.debate not in self.past.closed)

    async def play(self, concurrency: int) -> None:
        """Play all debates that are not closed; with a batch rule the closed ones too, from their record."""
        planned = self.asked.planned if self.asked.replayed else self._open()
        queue = iter(list(enumerate(planned)) if self.asked.replayed else ((0, one) for one in planned))
        workers = len(self.asked.planned) if self.lockstep is not None else concurrency
        try:
            async with asyncio.TaskGroup() as group:
                if self.running is not None:
                    self.running.workers = self.running.limit = workers
                    self.running.more = lambda: group.create_task(self._work(queue))
                for _ in range(workers):
                    group.create_task(self._work(queue))
        except* Exception as group_error:
            raise group_error.exceptions[0] from None
        self.left_out += [one.debate for _, one in queue if one.debate not in self.past.closed]
        self.report.not_begun = tuple(self.left_out)
        self._say_what_is_left()
        if self.report.closed == self.report.planned and not self.calls.overdrawn:
            self.report.stopped = None
        elif self.calls.halted and not self.calls.overdrawn:
            self.report.stopped = "interrupted"
        elif self.calls.overdrawn:
            self.report.stopped = OVERDRAWN
        elif self.calls.unreached:
            self.report.stopped = UNREACHED
        elif self.left_out or self.report.unfinished:
            self.report.stopped = BUDGET

    async def _work(self, queue: Iterator[tuple[int, Planned]]) -> None:
        for row, planned in queue:
            self.bank.resume()
            purse, halted = Purse(self.bank), False
            try:
                await self._one(row, planned, purse)
            except Halted:
                halted = self.calls.halted
                self._leave_open(planned)
                if self.running is not None:
                    self.running.abandon()
            finally:
                purse.close()
                if self.lockstep is not None:
                    self.lockstep.leave(row, halted=halted)
                self.bank.pause()
            if self.calls.halted or (self.running is not None and self.running.spare()):
                return

    def _leave_open(self, planned: Planned) -> None:
        if planned.debate in self.past.closed:
            return
        if planned.debate in self.past.items:
            self.report.unfinished += 1
        else:
            self.left_out.append(planned.debate)

    async def _one(self, row: int, planned: Planned, purse: Purse) -> None:
        past, report = self.past, self.report
        verdict = past.closed.get(planned.debate)
        course: tuple[Cost, ...] = ()
        begun = planned.debate in past.items
        early = None if self.running is None else await self.running.begin(row)
        if self.running is not None and early is None:
            raise Halted
        if verdict is None:
            if self.calls.halted:
                raise Halted
            course = await self._fund(planned, purse, begun)
            if not begun:
                item = opening(planned, self.asked, self.name)
                self.calls.put(self.writer, item)
                past.items[planned.debate] = item
            report.playing += 1
        turns = past.turns.pop(planned.debate, {})
        seat = _Seat(self, row, planned, purse, turns, verdict, course)
        seat.early = early
        try:
            outcome = await drive(self.asked.protocol.play(planned.case), seat.answer, seat.settle)
        finally:
            report.playing -= verdict is None
        if verdict is None:
            self._close(planned, outcome)
        if self.running is not None and early is not None:
            cut = outcome.reason == BUDGET
            failed = cut or outcome.decision is None
            loss = self.running.ledger.loss(early.decision, outcome.decision, _label(planned))
            self.running.close(row, early, None if failed else loss, cut)

    async def _fund(self, planned: Planned, purse: Purse, begun: bool) -> tuple[Cost, ...]:
        """Set aside what it takes to begin, or to go on from the record; return what its course can cost."""
        if not self.bank.limited:
            await purse.fill(FREE, running=begun)
            return ()
        if not begun and self._cannot_fit(planned):
            raise Halted
        turns = self.past.turns.get(planned.debate, {})
        said = {key: as_reply(turn) for key, turn in turns.items()}
        last = max((number for number, _ in turns), default=1)
        need = self.asked.next_round(planned, said, last - 1)
        # A batch begins together or not at all: there a first round that fits is enough.
        course = (need,) if self.lockstep is not None else self.asked.course(planned, said)
        granted = await purse.fill(need, course[0].beyond(need), running=begun)
        if self.calls.halted:
            raise Halted
        if not granted:
            self._smallest = (planned.item.size, self.bank.left)
            if self._least is None or need.within(self._least):
                self._least = need
            raise Halted
        return course

    def _cannot_fit(self, planned: Planned) -> bool:
        """Whether a debate over less was refused with as much left; finding a bound takes time."""
        if self._smallest is None or self.bank.open:
            return False
        size, left = self._smallest
        return planned.item.size >= size and self.bank.left.within(left)

    def _say_what_is_left(self) -> None:
        report, left, least = self.report, self.bank.left, self._least
        if least is None:
            return
        if self.bank.tokens is not None:
            report.tokens_left, report.tokens_to_begin = left.tokens, self.bank.to_begin(least).tokens
        if self.bank.pico is not None:
            report.dollars_left, report.dollars_to_begin = left.dollars, self.bank.to_begin(least).dollars

    def _close(self, planned: Planned, outcome: Outcome) -> None:
        from d3stats.log.schema import Verdict

        self.calls.put(
            self.writer,
            Verdict(
                debate=planned.debate,
                decision=outcome.decision,
                round=outcome.round,
                stop_reason=outcome.reason,
            ),
        )
        self.past.items.pop(planned.debate, None)
        self.report.closed += 1
        self.report.new += 1
        self.report.stops[outcome.reason] += 1
        self.calls.tell()


@dataclass
class _Alike:
    """Counts the panels whose members said word for word the same."""

    voters: tuple[str, ...]
    panels: int = 0
    same: int = 0

    def see(self, since: Sequence[tuple[Request, Reply]]) -> None:
        """Take up one round."""
        said: dict[tuple[str, str], list[str]] = {}
        for request, reply in since:
            if request.role in self.voters and reply.text and not reply.text.isspace():
                said.setdefault((request.role, request.act), []).append(reply.text)
        for texts in said.values():
            self.panels += len(texts) > 1
            self.same += len(texts) > 1 and len(set(texts)) == 1

    def notes(self) -> tuple[str, ...]:
        """Return a warning where that is so in most panels."""
        if self.same < MANY_ALIKE or 2 * self.same < self.panels:
            return ()
        text = (
            f"all replies of a panel are word for word the same in {self.same:,} of {self.panels:,} panels, so "
            "each panel is one voter; use another --temperature or other models (--role-model)"
        )
        return (warning(text, "identical replies", n=self.same),)


MANY_ALIKE = 3
"""Fewer panels of identical replies may be chance."""


class _Seat:
    """One debate: answers from its record or from its agents, and says when it stops."""

    def __init__(
        self,
        stage: Stage,
        row: int,
        planned: Planned,
        purse: Purse,
        turns: Mapping[Key, Turn],
        verdict: Verdict | None,
        course: Sequence[Cost],
    ) -> None:
        self.stage, self.row, self.planned, self.purse, self.verdict = stage, row, planned, purse, verdict
        self.course = course
        self.said: dict[Key, Reply] = {key: as_reply(turn) for key, turn in turns.items()}
        self.recorded = frozenset(turns)
        self.last = max((number for number, _ in turns), default=0)
        self.book: RuleBook | None = None
        self.early: Early | None = None
        if stage.lockstep is None:
            self.book = RuleBook(planned.case, stage.asked.rule, stage.asked.protocol.max_rounds)

    async def answer(self, request: Request) -> Reply:
        key = (request.round, request.agent)
        if key in self.recorded:
            return self.said[key]
        if self.verdict is not None:
            raise ValueError(
                f"a closed debate must have all its turns; got none of {request.agent!r} in round "
                f"{request.round} of {self.planned.debate!r} in {self.stage.journal.log}"
            )
        reply = await self.stage.calls.make(request, self.purse)
        self.said[key] = reply
        return reply

    async def settle(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        decision = await self._decision(step, since)
        if any((request.round, request.agent) not in self.recorded for request, _ in since):
            self.stage.report.rounds += 1
            self.stage.alike.see(since)
        if step.ends is not None or self.verdict is not None:
            return decision
        earlier = self.stage.past.stops.get(self.planned.debate)
        if earlier is not None and earlier[0] == step.number:
            return Decision(stop=True, reason=earlier[1])
        if step.number < self.last:
            return Decision(stop=False)  # it went on, as its record says
        if decision.stop:
            if self.stage.lockstep is not None:
                self._note(step.number, str(decision.reason))
            return decision
        return await self._afford(step.number)

    async def _decision(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        if self.book is not None:
            decision = self.book.decide(step, since)
            return decision if self.early is None else await self._early(self.early, step, since, decision)
        assert self.stage.lockstep is not None
        decision = await self.stage.lockstep.arrive(self.row, step, since)
        if step.ends is not None:
            return Decision(stop=True, reason=step.ends)
        if self.verdict is not None:
            # Decided in an earlier run; it is here so that the batch is whole.
            over = step.number >= (self.verdict.round or 0)
            return Decision(stop=over, reason=self.verdict.stop_reason if over else None)
        if decision.stop or step.number < self.stage.asked.protocol.max_rounds:
            return decision
        return Decision(stop=True, reason=str(StopReason.EXHAUSTED))

    async def _early(
        self, early: Early, step: RoundOver, since: Sequence[tuple[Request, Reply]], decision: Decision
    ) -> Decision:
        """Let the ledger stop the debate; a closed one must end as its record says."""
        settled = await early.settle(step, since, decision, self.said)
        if settled is None:
            raise Halted
        if self.verdict is None:
            return settled
        over = step.number >= (self.verdict.round or 0)
        if settled.stop != over and self.verdict.stop_reason != BUDGET:
            raise ValueError(
                f"journal must have the decisions of its ledger; got debate {self.planned.debate!r}, which is closed "
                f"in round {self.verdict.round} and would be {'closed' if settled.stop else 'open'} in round "
                f"{step.number} (write another log)"
            )
        return Decision(stop=over, reason=self.verdict.stop_reason if over else None)

    async def _afford(self, played: int) -> Decision:
        """Go on if the next round and the end fit the budget."""
        stage = self.stage
        if not stage.bank.limited:
            return Decision(stop=False)
        need = stage.asked.next_round(self.planned, self.said, played)
        # Bound when the debate began: what was said since is no longer than was thought possible.
        rest = self.course[played] if played < len(self.course) else FREE
        if await self.purse.fill(need, rest.beyond(need), running=True):
            return Decision(stop=False)
        self._note(played, BUDGET)
        return Decision(stop=True, reason=BUDGET)

    def _note(self, number: int, reason: str) -> None:
        """Write down a stop that no rule would repeat by itself when the debate is played again."""
        stopped = {"stopped": self.planned.debate, "round": number, "reason": reason}
        self.stage.calls.put(self.stage.journal, stopped)


async def run_debates(
    protocol: DebateProtocol,
    items: Iterable[DebateItem],
    agents: Agent | Mapping[str, Agent],
    log: str | Path,
    *,
    rule: StoppingRule | None = None,
    seed: int = 0,
    orders: Orders = "seeded",
    repeats: int = 1,
    concurrency: int = 8,
    budget_tokens: int | None = None,
    max_usd: float | None = None,
    prices: PriceTable | None = None,
    name: str | None = None,
    observer: Observer | None = None,
    halt: asyncio.Event | None = None,
    wait: float = PATIENCE,
    retry_missing: bool = False,
    ledger: str | None = None,
    incumbent: str | None = None,
    shadow: StoppingRule | None = None,
) -> RunReport:
    """Play debates and write their log; the same call resumes an earlier one.

    Parameters
    ----------
    protocol : DebateProtocol
        The order of speakers and what each reads.
    items : iterable of DebateItem
        What is debated; see :func:`d3stats.run.items.read_items`.
    agents : Agent or mapping of str to Agent
        Who plays: one for all roles, or by role, with ``"default"`` for the others.
    log : path
        Ends in ``.jsonl``. Beside it is a journal of calls, ``<stem>.calls.jsonl``; both are needed to resume the run.
    rule : StoppingRule, optional
        The protocol's own by default. With a rule for a whole batch all debates play round by round together.
    seed : int
        Seed of the order in which the two candidates are shown.
    orders : {"seeded", "both", "first"}
        The candidate, or option, to show first: by a coin of the seed and the question, each once, or always A. See
        ``d3stats.run.items.placements``.
    repeats : int
        Debates per item, in each order.
    concurrency : int
        Calls at a time, at most; as many debates are open at once.
    budget_tokens : int, optional
        Tokens, prompt and completion, of all runs of this log together. The budget is never exceeded as long as no
        attempt costs more than its agent's bound.
    max_usd : float, optional
        Dollars of all runs of this log together; needs `prices`.
    prices : PriceTable, optional
        Must name the models of all agents when `max_usd` is given.
    name : str, optional
        The name of the run in the log, for analyses that compare runs; the file's stem by default.
    observer : function of RunReport, optional
        Called after every turn and every verdict.
    halt : asyncio.Event, optional
        Once it is set no call starts; those in flight end and are recorded.
    wait : float
        Seconds to wait for a server that does not answer, or still loads its model. Its calls leave no missing votes,
        because their debates are left open, and a later call of this function continues them.
    retry_missing : bool
        Ask again for votes that no model gave: lost to an outage, a timeout or the budget. The rest of a debate stays
        as it was, and its verdict is decided again. The earlier log is kept as ``<log>.before``.
    ledger : str, optional
        Limits of a :class:`d3stats.Ledger`, ``"eps=.01,delta=.1"``. Debates are stopped early, and with chance
        1 - delta at most a share eps of all verdicts differs from those of another rule. A random share is played on to
        check. The default of its ``lag`` is 1 for one call at a time, else four times `concurrency`; a resumed run
        keeps that of the run before.
    incumbent : str, optional
        The rule whose verdicts the ledger keeps, in place of `rule`; by default ``"unanimity"``.
    shadow : StoppingRule, optional
        Another rule, which is followed through the closed debates and stops none. The report says what it would have
        saved and how many verdicts would differ, and ``<stem>.shadow.csv`` has its stop and verdict in each debate.

    Returns
    -------
    RunReport

    Raises
    ------
    ValueError
        Before anything is spent. When settings differ from those of the run that wrote the log, the rule has nothing to
        look at, a price is missing, or the budget is below one debate. Also when a call can be longer than the context
        window of its model (:attr:`LiveAgent.window <d3stats.run.live.LiveAgent>`).
    Refused
        When no call will ever be answered; the run can be resumed from the log.

    Notes
    -----
    A call's bound is set aside before the call starts. A debate starts beside others when the bound of all its rounds
    fits beside theirs, and alone when its first round and its end (a jury, say) fit. It continues to another round
    when that round and the end fit. A debate that does not fit waits for others to end. When all wait, one of them
    stops with the reason ``"budget"`` and is decided by the rounds played so far. Every debate that has started
    therefore gets a verdict. When a call costs more than its bound, a run with a budget starts no further call.

    Examples
    --------
    >>> import asyncio, tempfile, pathlib
    >>> from d3stats.protocols import protocol_from_text
    >>> from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.jsonl"
    >>> court = Courtroom()
    >>> protocol, drawn = protocol_from_text("majority:judges=3"), synthetic_items(court, 4, seed=7)
    >>> items = [DebateItem(each.question, each.text, each.candidates, label=each.label) for each in drawn]
    >>> report = asyncio.run(run_debates(protocol, items, synthetic_agent(court, 7), path, concurrency=2))
    >>> report.closed, report.calls, report.stopped
    (4, 12, None)
    """
    if ledger is not None:
        if shadow is not None:
            raise ValueError(
                f"shadow must not be given with a ledger, which stops debates early; got {shadow}"
            )
        rule = _rule_of(rule, incumbent, retry_missing)
    asked = Asked(
        protocol,
        items,
        agents,
        rule=rule,
        orders=orders,
        seed=seed,
        repeats=repeats,
        budget_tokens=budget_tokens,
        max_usd=max_usd,
        prices=prices,
    )
    path = Path(log)
    integer("concurrency", concurrency, minimum=1)
    asked.ledger = as_ledger(ledger, incumbent, len(asked.planned), concurrency, journal_path(path))
    if asked.ledger is not None:
        check_protocol(asked)
    number("wait", wait, minimum=0.0)
    if shadow is not None:
        refuse_batch(shadow)
        asked.check(shadow)
    name = path.stem if name is None else name
    report = await _play(asked, path, name, concurrency, observer, halt, wait, retry_missing)
    if shadow is not None:
        report.shadow = shadow_of(path, shadow)
    return report


def _rule_of(rule: StoppingRule | None, incumbent: str | None, retry_missing: bool) -> StoppingRule:
    """Return the rule of a run with a ledger."""
    if rule is not None:
        raise ValueError(
            f"rule must not be given with a ledger, which chooses its early rules; got {rule} (give it as incumbent)"
        )
    if retry_missing:
        raise ValueError(
            "retry_missing must be False with a ledger, because its coins are known by then; got True"
        )
    return from_text(incumbent or "unanimity")


def debate(
    protocol: DebateProtocol,
    items: Iterable[DebateItem],
    agents: Agent | Mapping[str, Agent],
    log: str | Path,
    **settings: Any,
) -> RunReport:
    """Run debates in the foreground: :func:`run_debates` for callers without an event loop.

    Live agents are connected before the first call and closed after the last.

    Parameters
    ----------
    protocol : DebateProtocol
        Who speaks when.
    items : iterable of DebateItem
        What is debated.
    agents : Agent or mapping of str to Agent
        Who plays; live agents not yet entered.
    log : path
        Ends in ``.jsonl``.
    **settings
        Further parameters of :func:`run_debates`.

    Returns
    -------
    RunReport

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats.protocols import protocol_from_text
    >>> from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.jsonl"
    >>> court = Courtroom()
    >>> protocol, drawn = protocol_from_text("samre:jurors=3"), synthetic_items(court, 4, seed=7)
    >>> items = [DebateItem(each.question, each.text, each.candidates, label=each.label) for each in drawn]
    >>> report = debate(protocol, items, synthetic_agent(court, 7), path)
    >>> report.planned, report.closed, sum(report.stops.values())
    (4, 4, 4)
    """

    async def connected() -> RunReport:
        async with AsyncExitStack() as stack:
            players = list(agents.values()) if isinstance(agents, Mapping) else [agents]
            for agent in {id(one): one for one in players}.values():
                if isinstance(agent, AbstractAsyncContextManager):
                    await stack.enter_async_context(agent)
            return await run_debates(protocol, items, agents, log, **settings)

    return asyncio.run(connected())


async def _play(
    asked: Asked,
    log: Path,
    name: str,
    concurrency: int,
    observer: Observer | None,
    halt: asyncio.Event | None,
    wait: float,
    retry_missing: bool,
) -> RunReport:
    from d3stats.log.writer import LogWriter

    began = time.monotonic()
    check_log(log)
    fresh = is_unused(log)
    if fresh:
        # Refused before anything is left behind that a mended command would have to agree with.
        asked.check_budget()
        await _measure(asked)
        tight = asked.check_windows()
    with ExitStack() as stack:
        try:
            settings = asked.settings | {"concurrency": concurrency}
            if asked.ledger is not None:
                settings["rule"] = identity(asked.ledger, asked.planned)
            journal = stack.enter_context(Journal(log, settings))
            past = resume(journal, asked, name, retry_missing=retry_missing)
            writer = stack.enter_context(
                LogWriter(log, source=source(journal.settings), fsync="second", repair=True)
            )
        except OSError as error:
            raise _unwritable(log, error) from None
        bank = asked.bank(past.spent)
        if bank.limited and past.report.overdrawn:
            raise ValueError(
                f"a budget must be reliable; got {past.report.overdrawn} calls in {log.name} that cost "
                "more than their bound (resume without a budget, or write another log with more "
                "reasoning_tokens or tokens_per_word)"
            )
        if bank.limited and not past.report.calls:
            asked.check_budget()
        if not fresh:
            await _measure(asked)
            tight = asked.check_windows(past.closed)
        report, bank.overdrawn = past.report, past.report.overdrawn
        report.notes = (*asked.notes, *tight, *dict.fromkeys(journal.notes))
        calls = Calls(asked, bank, journal, writer, report, concurrency, halt, observer, wait)
        calls.again = past.again
        stage = Stage(calls, past, name)
        if asked.ledger is not None:
            stage.running = _running(asked.ledger, calls, past, fresh)
        try:
            await stage.play(concurrency)
            calls.look(journal)
            calls.look(writer)
        finally:
            report.waiting = None
            report.seconds = time.monotonic() - began
            report.notes += stage.alike.notes()
            if stage.running is not None:
                report.certificate = stage.running.certificate()
                report.notes += stage.running.notes()
            calls.tell()
        if calls.fatal is not None:
            raise calls.fatal
    return report


def _running(ledger: Ledger, calls: Calls, past: Past, fresh: bool) -> RunningCampaign:
    """Open or resume a campaign, whose secret is in the journal before the first call."""
    journal = calls.journal
    secret = past.secret
    if secret is None:
        if not fresh:
            raise ValueError(
                f"{journal.path} must have the secret of its ledger, because other coins would not keep the limit; "
                "got a journal without (write another log)"
            )
        secret = ledger.start().secret
        calls.put(journal, {"secret": secret.hex()})
        journal.sync()
    return RunningCampaign(
        ledger, secret, calls.asked, calls.bank, lambda record: calls.put(journal, record), past.decided
    )


async def _measure(asked: Asked) -> None:
    """Let agents whose context window is known count a few prompts of the longest item, where they can."""
    longest = max(asked.planned, key=lambda planned: planned.item.size)
    calls = sorted((request for request, _ in asked.calls(longest, "typical")), key=lambda one: len(one.seen))
    for agent in {id(agent): agent for agent in asked.cast.all.values()}.values():
        if getattr(agent, "window", None) and hasattr(agent, "measure"):
            await agent.measure(request for request in calls if asked.cast(request.role) is agent)


def _unwritable(path: Path, error: OSError) -> Refused:
    """Say that a file of a run cannot be written, and how to go on."""
    return Refused(
        f"log must be a file that can be written; got log={str(path)!r} ({error.strerror or error}); remove "
        "the cause, and the same command resumes the run"
    )
