"""Make the calls of a run: one after another through a gate, each journaled, paid for, and on disk when it returns."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from d3stats.agents.replay import as_reply
from d3stats.agents.request import More, Refused, Reply, Request
from d3stats.debates.ahead import Cast
from d3stats.debates.budget import FREE, Bank, Cost, Hold, Purse, Tariff
from d3stats.debates.past import as_turn
from d3stats.debates.report import Observer, RunReport
from d3stats.protocols.engine import ask

if TYPE_CHECKING:
    from d3stats.debates.journal import Journal
    from d3stats.log.schema import Turn
    from d3stats.log.write import LogWriter

__all__ = ["DEAD", "Calls", "Halted"]

DEAD = 20
"""After so many calls in a row that reached nobody the run stops: the server is gone."""

LONGEST_PAUSE = 2.0
"""Seconds between two tries to reach a server that is gone."""


class Halted(Exception):
    """The run is being ended: this debate goes no further now."""


class Calls:
    """Makes calls.

    Parameters
    ----------
    cast, tariff, bank, journal, writer, report
        Of the run.
    concurrency : int
        Calls at a time.
    halt : asyncio.Event, optional
        Once set, no call begins.
    observer : function, optional
    priced : bool
        Whether dollars are known.
    """

    def __init__(
        self,
        cast: Cast,
        tariff: Tariff,
        bank: Bank,
        journal: Journal,
        writer: LogWriter,
        report: RunReport,
        concurrency: int,
        halt: asyncio.Event | None,
        observer: Observer | None,
        priced: bool,
    ) -> None:
        self.cast, self.tariff, self.bank = cast, tariff, bank
        self.journal, self.writer, self.report = journal, writer, report
        self.observer, self.priced = observer, priced
        self.halt = asyncio.Event() if halt is None else halt
        self.fatal: Refused | None = None
        self._gate = asyncio.Semaphore(concurrency)
        self._unreached = 0
        self._answered = 0
        self._broken = False

    @property
    def halted(self) -> bool:
        """Whether no further call may begin."""
        return self._broken or self.fatal is not None or self.halt.is_set()

    def price(self, request: Request, reply: Reply) -> Cost:
        """Return the cost of a reply with its tokens."""
        return self.tariff.cost(
            self.cast.model(request.role), int(reply.tokens_in or 0), int(reply.tokens_out or 0)
        )

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
        agent = self.cast(request.role)
        longest = agent.imagine(request, "longest")
        bound = self.price(request, longest)
        hold = purse.hold(bound)
        if hold is None:
            return self._record(request, Reply(None, tokens_in=0, tokens_out=0, error="budget", attempts=0))
        key = (request.case.debate, request.round, request.agent)
        self.journal.write(
            {"begun": key, "role": request.role, "bound": [longest.tokens_in or 0, longest.tokens_out or 0]}
        )
        self.report.calls += 1
        began = time.monotonic()
        try:
            reply = await ask(agent, request, self._more(key, request, hold))
        except Refused as error:
            self.fatal = self.fatal or error
            hold.settle(FREE)
            self.journal.write({"ended": key, "charged": [0, 0], "error": "refused"})
            raise Halted from None
        except BaseException:
            # Whether it was charged is not known: without an end it counts as in flight, at its bound.
            hold.settle(hold.amount)
            self._broken = True
            raise
        charged = (reply.tokens_in, reply.tokens_out)
        known = charged[0] is not None and charged[1] is not None
        if not known:
            charged = (longest.tokens_in or 0, longest.tokens_out or 0)
        hold.settle(self.price(request, reply) if known else bound)
        turn = None
        # When others are answered meanwhile, it is this call that fails.
        if not _reached_nobody(reply) or (failed_at is not None and self._answered > failed_at):
            turn = self._record(request, reply)
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
        if not _reached_nobody(reply):
            self._unreached = 0
            self._answered += 1
        return turn

    def _more(self, key: tuple[str, int, str], request: Request, hold: Hold) -> More:
        model = self.cast.model(request.role)

        def more(tokens: int, /) -> bool:
            bound = self.tariff.dearest(model, tokens)
            if not hold.add(self.tariff.cost(model, *bound)):
                return False
            self.journal.write({"more": key, "bound": bound})
            return True

        return more

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
    return reply.error == "connection" and not reply.tokens_in and not reply.tokens_out
