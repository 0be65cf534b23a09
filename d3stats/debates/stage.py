"""Where the debates of one run are played side by side: each from its record on, within what is set aside for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from d3stats.agents.replay import as_reply
from d3stats.agents.request import Reply, Request
from d3stats.debates.ahead import Key
from d3stats.debates.asked import Asked
from d3stats.debates.batch import Lockstep
from d3stats.debates.budget import Bank, Purse
from d3stats.debates.calls import Calls, Halted
from d3stats.debates.cost import FREE, Cost
from d3stats.debates.past import Past
from d3stats.debates.placement import Planned
from d3stats.debates.report import RunReport
from d3stats.protocols.engine import drive
from d3stats.protocols.play import Outcome, RoundOver
from d3stats.protocols.rules import RuleBook
from d3stats.stopping import Decision, StopReason

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.debates.journal import Journal
    from d3stats.log.schema import Turn, Verdict
    from d3stats.log.writer import LogWriter

__all__ = ["BUDGET", "Stage"]

BUDGET = "budget"
"""The reason of a debate that was stopped because its next round did not fit the budget."""

OVERDRAWN = "overdrawn"
"""Why a run with a budget ends when a call has cost more than its bound."""

UNREACHED = "unreached"
"""Why a run ends whose calls reached nobody: their debates are left open."""


class Stage:
    """Where the debates of one run are played.

    Parameters
    ----------
    asked : Asked
    log : Path
    name : str
        Of the run, in the log.
    past, bank, calls, report, writer, journal
        Of the run.
    """

    def __init__(
        self,
        asked: Asked,
        log: Path,
        name: str,
        past: Past,
        bank: Bank,
        calls: Calls,
        report: RunReport,
        writer: LogWriter,
        journal: Journal,
    ) -> None:
        self.asked, self.log, self.name = asked, log, name
        self.past, self.bank, self.calls = past, bank, calls
        self.report, self.writer, self.journal = report, writer, journal
        self.reserve = asked.reserve
        self.lockstep = Lockstep(asked.rule, asked.planned, bank) if asked.batched else None
        self.left_out: list[str] = []
        self._smallest: tuple[int, Cost] | None = None
        self._least: Cost | None = None

    def _open(self) -> Iterator[Planned]:
        return (planned for planned in self.asked.planned if planned.debate not in self.past.closed)

    async def play(self, concurrency: int) -> None:
        """Play all debates that are not closed; with a batch rule the closed ones too, from their record."""
        planned = self.asked.planned if self.lockstep is not None else self._open()
        queue = iter(list(enumerate(planned)) if self.lockstep is not None else ((0, one) for one in planned))
        workers = len(self.asked.planned) if self.lockstep is not None else concurrency
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(queue))
        except* Exception as group_error:
            raise group_error.exceptions[0] from None
        self.left_out += [planned.debate for _, planned in queue]
        self.report.not_begun = tuple(self.left_out)
        self._say_what_is_left()
        if self.calls.halted and not self.calls.overdrawn:
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
            purse = Purse(self.bank)
            try:
                await self._one(row, planned, purse)
            except Halted:
                self._leave_open(planned)
            finally:
                purse.close()
                if self.lockstep is not None:
                    self.lockstep.leave(row)
                self.bank.pause()
            if self.calls.halted:
                return

    def _leave_open(self, planned: Planned) -> None:
        if planned.debate in self.past.items:
            self.report.unfinished += 1
        else:
            self.left_out.append(planned.debate)

    async def _one(self, row: int, planned: Planned, purse: Purse) -> None:
        past, report = self.past, self.report
        verdict = past.closed.get(planned.debate)
        course: tuple[Cost, ...] = ()
        begun = planned.debate in past.items
        if verdict is None:
            if self.calls.halted:
                raise Halted
            course = await self._fund(planned, purse, begun)
            if not begun:
                item = planned.item.item(
                    planned.debate, planned.first, log=self.name, protocol=self.asked.protocol.name
                )
                self.writer.write(item)
                past.items[planned.debate] = item
            report.playing += 1
        turns = past.turns.pop(planned.debate, {})
        seat = _Seat(self, row, planned, purse, turns, verdict, course)
        try:
            outcome = await drive(self.asked.protocol.play(planned.case), seat.answer, seat.settle)
        finally:
            report.playing -= verdict is None
        if verdict is None:
            self._close(planned, outcome)

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
        need = self.reserve.next_round(planned, said, last - 1)
        # A batch begins together or not at all: there a first round that fits is enough.
        course = (need,) if self.lockstep is not None else self.reserve.course(planned, said)
        granted = await purse.fill(need, course[0].beyond(need), running=begun)
        if self.calls.halted:
            raise Halted
        if not granted:
            self._smallest = (_size(planned), self.bank.left)
            if self._least is None or need.within(self._least):
                self._least = need
            raise Halted
        return course

    def _cannot_fit(self, planned: Planned) -> bool:
        """Whether a debate over less was refused with as much left; finding a bound takes time."""
        if self._smallest is None or self.bank.open:
            return False
        size, left = self._smallest
        return _size(planned) >= size and self.bank.left.within(left)

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

        self.writer.write(
            Verdict(
                debate=planned.debate,
                decision=outcome.decision,
                round=outcome.round,
                stop_reason=outcome.reason,
            )
        )
        self.past.items.pop(planned.debate, None)
        self.report.closed += 1
        self.report.new += 1
        self.report.stops[outcome.reason] += 1
        self.calls.tell()


def _size(planned: Planned) -> int:
    return sum(len(text.encode(errors="replace")) for text in (planned.item.text, *planned.item.candidates))


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
        if stage.lockstep is None:
            self.book = RuleBook(planned.case, stage.asked.rule, stage.asked.protocol.max_rounds)

    async def answer(self, request: Request) -> Reply:
        key = (request.round, request.agent)
        if key in self.recorded:
            return self.said[key]
        if self.verdict is not None:
            raise ValueError(
                f"a closed debate must have all its turns; got none of {request.agent!r} in round "
                f"{request.round} of {self.planned.debate!r} in {self.stage.log}"
            )
        reply = await self.stage.calls.make(request, self.purse)
        self.said[key] = reply
        return reply

    async def settle(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        decision = await self._decision(step, since)
        if any((request.round, request.agent) not in self.recorded for request, _ in since):
            self.stage.report.rounds += 1
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
            return self.book.decide(step, since)
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

    async def _afford(self, played: int) -> Decision:
        """Go on if the next round and the end fit the budget."""
        stage = self.stage
        if not stage.bank.limited:
            return Decision(stop=False)
        need = stage.reserve.next_round(self.planned, self.said, played)
        # Bound when the debate began: what was said since is no longer than was thought possible.
        rest = self.course[played] if played < len(self.course) else FREE
        if await self.purse.fill(need, rest.beyond(need), running=True):
            return Decision(stop=False)
        self._note(played, BUDGET)
        return Decision(stop=True, reason=BUDGET)

    def _note(self, number: int, reason: str) -> None:
        """Write down a stop that no rule would repeat by itself when the debate is played again."""
        self.stage.journal.write({"stopped": self.planned.debate, "round": number, "reason": reason})
