"""Make the calls of a run: one after another through a gate, each journaled, paid for, and on disk when it returns."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from d3stats.agents.replay import as_reply
from d3stats.agents.request import Agent, Refused, Reply, Request
from d3stats.debates.attempts import Attempts
from d3stats.debates.budget import Bank, Purse
from d3stats.debates.past import as_turn
from d3stats.debates.report import Observer, RunReport
from d3stats.debates.reserve import Reserve
from d3stats.protocols.engine import ask

if TYPE_CHECKING:
    from d3stats.debates.journal import Journal
    from d3stats.log.schema import Turn
    from d3stats.log.write import LogWriter

__all__ = ["DEAD", "Calls", "Halted"]

DEAD = 20
"""After so many calls in a row that reached nobody, or brought nothing that can be read, the run stops."""

LONGEST_PAUSE = 2.0
"""Seconds between two tries to reach a server that is gone."""

OWN = ("budget", "refused_content")
"""Errors that say nothing about how a server writes its replies."""


class Halted(Exception):
    """The run is being ended: this debate goes no further now."""


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
    ) -> None:
        self.reserve, self.bank = reserve, bank
        self.journal, self.writer, self.report = journal, writer, report
        self.observer, self.priced = observer, priced
        self.halt = asyncio.Event() if halt is None else halt
        self.fatal: Refused | None = None
        self._gate = asyncio.Semaphore(concurrency)
        self._unreached = 0
        self._answered = 0
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
        async with self._gate:
            failed_at: int | None = None
            while True:
                if self.halted:
                    raise Halted
                turn = await self._attempt(request, purse, failed_at)
                if turn is not None:
                    return as_reply(turn)
                failed_at = self._answered if failed_at is None else failed_at
                await self._wait_for_server()

    async def _attempt(self, request: Request, purse: Purse, failed_at: int | None) -> Turn | None:
        """Make a call and record it; None, and no record, when it reached nobody and may do so yet."""
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
        turn = None
        # When others are answered meanwhile, it is this call that fails.
        if not given_up and (
            not _reached_nobody(reply) or (failed_at is not None and self._answered > failed_at)
        ):
            turn = self._record(request, reply)
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
        if not _reached_nobody(reply):
            self._unreached = 0
            self._answered += 1
            self._look_at(agent, reply)
        return turn

    def _look_at(self, agent: Agent, reply: Reply) -> None:
        """Stop the run when an agent's replies, one after another, hold nothing that can be read."""
        if reply.error in OWN:
            return
        unread = self._unread[id(agent)] = 0 if reply.error is None else self._unread.get(id(agent), 0) + 1
        if unread >= DEAD and self.fatal is None:
            name = getattr(agent, "model", None) or type(agent).__name__
            self.fatal = Refused(
                f"a reply of {name!r} must be one that can be read; got {unread} in a row that could not, the last "
                f"one {reply.error!r}: they are recorded as missing (see whether the server keeps to a JSON schema, "
                "or structured=text, reasoning_tokens=N or a longer timeout helps)"
            )

    async def _wait_for_server(self) -> None:
        self._unreached += 1
        if self._unreached >= DEAD:
            self.fatal = self.fatal or Refused(
                f"{self._unreached} calls in a row reached no server; nothing of them is recorded"
            )
            raise Halted
        pause = min(LONGEST_PAUSE, 0.05 * self._unreached)
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
        self.tell()
        return turn


def _reached_nobody(reply: Reply) -> bool:
    """Whether a call got no connection at all, so that nothing was asked and nothing spent."""
    return (
        reply.error in ("connection", "unreachable", "loading")
        and not reply.tokens_in
        and not reply.tokens_out
    )
