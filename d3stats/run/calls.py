"""Make the calls of a run: one after another through a gate, each journaled, paid for, and on disk when it returns."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from d3stats.agent import Agent, Refused, Reply, Request
from d3stats.log.doctor import ADVICE
from d3stats.protocols.play import ask
from d3stats.protocols.recorded import as_reply
from d3stats.run.asked import Reserve
from d3stats.run.budget import Bank, Purse
from d3stats.run.record import as_turn
from d3stats.run.report import Observer, RunReport

if TYPE_CHECKING:
    from collections.abc import Collection

    from d3stats.log.schema import Turn
    from d3stats.log.writer import LogWriter
    from d3stats.run.budget import Hold
    from d3stats.run.record import Journal

__all__ = ["DEAD", "PATIENCE", "Attempts", "Calls", "Halted"]


class Attempts:
    """What one call holds, on disk before it is spent.

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
        An imagined reply with the tokens of that bound.

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
        tariff = calls.reserve.tariff
        so_far = self.held if spent is None else tariff.dearest(self._model, spent)
        # No attempt costs more than the bound, on either side.
        following = tariff.dearest(self._model, tokens, self._bound)
        held = (so_far[0] + following[0], so_far[1] + following[1])
        if not self._hold.change(tariff.cost(self._model, *held)):
            return False
        self.held = held
        calls.journal.write({"more": self._key, "held": held})
        return True

    def settle(self, tokens_in: int | None, tokens_out: int | None) -> tuple[int, int]:
        """End the call at these tokens, or at all that it holds when they are not known; return them."""
        if tokens_in is None or tokens_out is None:
            tokens_in, tokens_out = self.held
        charged = (tokens_in, tokens_out)
        self._hold.settle(self._calls.reserve.tariff.cost(self._model, *charged))
        return charged


DEAD = 20
"""After so many calls in a row that brought nothing that can be read, the run stops."""

PATIENCE = 300.0
"""Seconds that a server which is gone, or loads its model, is waited for."""

LONGEST_PAUSE = 2.0
"""Seconds between two tries to reach a server that is gone."""

NOBODY = ("unreachable", "loading", "connection")
"""Errors of a call whose last attempt was heard by nobody, or of which nothing came back."""

LOST = 3
"""A call that was sent and lost so often is what breaks its server: it is recorded as missing."""

OWN = ("budget", "refused_content")
"""Errors that say nothing about how a server writes its replies."""


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
    """Makes calls.

    Parameters
    ----------
    reserve, bank, journal, writer, report
        Of the run.
    concurrency : int
        Calls at a time.
    halt : asyncio.Event, optional
        Once set, no call begins and none is repeated.
    observer : function, optional
    priced : bool
        Whether dollars are known.
    voters : collection of str
        Roles that are asked for votes, or for scores that decide.
    wait : float
        Seconds that a server which is gone or loading is waited for.
    together : bool
        Whether all debates must play side by side: then none is left open alone.

    Attributes
    ----------
    unreached : int
        Debates that were left open because a call of theirs reached nobody, while others were answered.
    """

    def __init__(
        self,
        reserve: Reserve,
        bank: Bank,
        journal: Journal,
        writer: LogWriter,
        report: RunReport,
        concurrency: int,
        halt: asyncio.Event | None,
        observer: Observer | None,
        priced: bool,
        voters: Collection[str] = (),
        wait: float = PATIENCE,
        together: bool = False,
    ) -> None:
        self.reserve, self.bank = reserve, bank
        self.journal, self.writer, self.report = journal, writer, report
        self.observer, self.priced = observer, priced
        self.halt = asyncio.Event() if halt is None else halt
        self.fatal: Refused | None = None
        self.voters, self.wait, self.together = frozenset(voters), wait, together
        self.unreached = 0
        self._gate = asyncio.Semaphore(concurrency)
        self._servers: dict[object, _Server] = {}
        self._told: dict[tuple[int, str], object] = {}
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

    def tell(self) -> None:
        """Bring the report up to date and show it."""
        report, bank = self.report, self.bank
        report.charged, report.overdrawn = bank.spent.tokens, bank.overdrawn
        report.dollars = bank.spent.dollars if self.priced else None
        if self.observer is not None:
            self.observer(report)

    async def make(self, request: Request, purse: Purse) -> Reply:
        """Ask, record, and return the reply as the record has it.

        Raises
        ------
        Halted
            When the run is being ended; nothing was recorded.
        """
        agent = self.reserve.cast(request.role)
        server = self._servers.setdefault(getattr(agent, "where", id(agent)), _Server())
        async with self._gate:
            tried = _Tried()
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
        agent = self.reserve.cast(request.role)
        longest = agent.imagine(request, "longest")
        hold = purse.hold(self.reserve.price(request, longest))
        if hold is None:
            return self._record(request, Reply(None, tokens_in=0, tokens_out=0, error="budget", attempts=0))
        key = (request.case.debate, request.round, request.agent)
        attempts = Attempts(self, key, self.reserve.cast.model(request.role), hold, longest)
        self.journal.write({"begun": key, "role": request.role, "bound": attempts.held})
        self.report.calls += 1
        self.report.in_flight += 1
        began = time.monotonic()
        try:
            reply = await ask(agent, request, attempts.more)
        except Refused as error:
            self.fatal = self.fatal or error
            self._note_words(agent)
            charged = attempts.settle(*getattr(error, "tokens", (0, 0)))
            self.journal.write({"ended": key, "charged": charged, "error": "refused"})
            raise Halted from None
        except BaseException:
            # Whether it was charged is not known: without an end it counts as in flight, at its bound.
            hold.settle(hold.amount)
            self._broken = True
            raise
        finally:
            self.report.in_flight -= 1
        charged = attempts.settle(reply.tokens_in, reply.tokens_out)
        given_up = attempts.stopped and reply.error is not None
        nobody = reply.error in NOBODY
        if nobody:
            tried.add(reply)
        recorded = not given_up and (not nobody or tried.lost >= LOST)
        turn = None
        if recorded:
            # What reached nobody has been added already.
            last = replace(reply, tokens_in=0, tokens_out=0) if nobody else reply
            turn = self._record(request, tried.complete(last))
        self.report.attempts += reply.attempts
        self.journal.write(
            {
                "ended": key,
                "charged": charged,
                "attempts": reply.attempts,
                "seconds": round(time.monotonic() - began, 4),
            }
            | ({"estimated": True} if reply.estimated else {})
            | ({"error": reply.error} if reply.error else {})
        )
        if given_up:
            # The interrupt ended it, not the budget: asked again when the run goes on.
            raise Halted
        self._note_words(agent)
        if not nobody:
            server.since, self.report.waiting = None, None
            self._look_at(agent, reply)
        elif reply.error != "connection" or not (reply.tokens_in or reply.tokens_out):
            server.since = time.monotonic() if server.since is None else server.since
        return turn

    def _note_words(self, agent: Agent) -> None:
        """Write down what a server said and did not take, once each time that it changes."""
        where = getattr(agent, "where", None)
        notes: dict[str, str] = getattr(agent, "notes", {})
        fresh = {kind: words for kind, words in notes.items() if self._told.get((id(agent), kind)) != words}
        if fresh:
            self._told.update({(id(agent), kind): words for kind, words in fresh.items()})
            self.report.words.update(fresh)
            self.journal.write({"words": fresh, "server": where})
        dropped: tuple[str, ...] = tuple(getattr(agent, "dropped", ()))
        if dropped and self._told.get((id(agent), "")) != dropped:
            self._told[(id(agent), "")] = dropped
            self.report.dropped = tuple(dict.fromkeys((*self.report.dropped, *dropped)))
            self.journal.write({"dropped": list(dropped), "server": where})
        form: str | None = getattr(agent, "form", None)
        if form and self._told.get((id(agent), "form")) != form:
            self._told[(id(agent), "form")] = form
            known = self.report.structured
            self.report.structured = form if known is None or form in known else f"{known}, {form}"
            self.journal.write({"structured": form, "server": where})

    def _look_at(self, agent: Agent, reply: Reply) -> None:
        """Stop the run when an agent's replies, one after another, hold nothing that can be read."""
        if reply.error in OWN:
            return
        unread = self._unread[id(agent)] = 0 if reply.error is None else self._unread.get(id(agent), 0) + 1
        if unread >= DEAD and self.fatal is None:
            name = getattr(agent, "model", None) or type(agent).__name__
            self.fatal = Refused(
                f"a reply of {name!r} must be one that can be read; got {unread} in a row that could not, the last "
                f"one {reply.error!r}{self._last_words(reply.error)}: they are recorded as missing "
                f"({ADVICE.get(str(reply.error), 'look into the log of the server')}, and write another log)"
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
        if gone >= self.wait or (self.together and now - tried.since >= self.wait):
            self.fatal = self.fatal or Refused(
                f"{name} must answer; got no reply to a call for {max(gone, now - tried.since):.0f} s ({words}): "
                "nothing of these calls is recorded, and the same command goes on (--wait SECONDS, in Python wait=, "
                "waits longer)"
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

    def _record(self, request: Request, reply: Reply) -> Turn:
        turn, report = as_turn(request, reply), self.report
        self.writer.write(turn)
        report.tokens_in += reply.tokens_in or 0
        report.tokens_out += reply.tokens_out or 0
        report.estimated += reply.estimated
        if reply.error is not None:
            report.missing[reply.error] += 1
        if request.role in self.voters:
            report.votes += 1
            if reply.error is not None and reply.vote is None:
                report.votes_missing[reply.error] += 1
        self.tell()
        return turn
