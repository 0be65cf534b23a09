"""Where the debates of one run are played side by side: each from its record on, within what is set aside for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from d3stats.agents.replay import as_reply
from d3stats.agents.request import Reply, Request
from d3stats.debates.ahead import Cast, Key, ahead
from d3stats.debates.batch import Lockstep
from d3stats.debates.budget import FREE, Bank, Cost, Purse
from d3stats.debates.calls import Calls, Halted
from d3stats.debates.past import Past
from d3stats.debates.placement import Planned
from d3stats.debates.report import RunReport
from d3stats.protocols.engine import drive
from d3stats.protocols.play import Outcome, RoundOver
from d3stats.protocols.protocol import DebateProtocol
from d3stats.protocols.rules import RuleBook
from d3stats.stopping import Decision, Rule, StoppingRule, StopReason

if TYPE_CHECKING:
    from d3stats.debates.journal import Journal
    from d3stats.log.schema import Turn, Verdict
    from d3stats.log.write import LogWriter

__all__ = ["BUDGET", "Asked", "Stage"]

BUDGET = "budget"
"""The reason of a debate that was stopped because its next round did not fit the budget."""


@dataclass(frozen=True)
class Asked:
    """What a run is asked to play, and by whom."""

    protocol: DebateProtocol
    rule: StoppingRule
    planned: tuple[Planned, ...]
    cast: Cast
    log: Path
    name: str
    max_usd: float | None

    @property
    def batched(self) -> bool:
        """Whether the rule decides for all debates together."""
        return not isinstance(self.rule, Rule)


class Stage:
    """Where the debates of one run are played."""

    def __init__(
        self,
        asked: Asked,
        past: Past,
        bank: Bank,
        calls: Calls,
        report: RunReport,
        writer: LogWriter,
        journal: Journal,
    ) -> None:
        self.run, self.past, self.bank, self.calls = asked, past, bank, calls
        self.report, self.writer, self.journal = report, writer, journal
        self.lockstep = Lockstep(asked.rule, asked.planned, bank) if asked.batched else None
        self.left_out: list[str] = []

    def check_budget(self) -> None:
        """Refuse a budget that is below every debate; one that earlier runs have used up is no mistake."""
        if not self.bank.limited or self.past.calls:
            return
        least: Cost | None = None
        for planned in self._open():
            need = self._need(planned)
            if self.bank.fits(need):
                return
            if least is None or (need.tokens, need.pico) < (least.tokens, least.pico):
                least = need
        if least is None:
            return
        if self.bank.tokens is not None and least.tokens > self.bank.tokens:
            asked, got = f"budget_tokens must be at least {least.tokens}", f"budget_tokens={self.bank.tokens}"
        else:
            asked, got = f"max_usd must be at least {least.dollars:.6f}", f"max_usd={self.run.max_usd}"
        raise ValueError(f"{asked} for one debate to begin and end, whatever is said in it; got {got}")

    def _open(self) -> Iterator[Planned]:
        return (planned for planned in self.run.planned if planned.debate not in self.past.closed)

    def _need(self, planned: Planned) -> Cost:
        turns = self.past.turns.get(planned.debate, {})
        last = max((number for number, _ in turns), default=1)
        return self.ahead(planned, {key: as_reply(turn) for key, turn in turns.items()}, last - 1)

    def ahead(self, planned: Planned, said: Mapping[Key, Reply], continued: int) -> Cost:
        """The most that the rounds up to the one after `continued`, and the end after it, can cost."""
        if not self.bank.limited:
            return FREE
        need = FREE
        for moment in ahead(
            self.run.protocol, planned.case, self.run.cast, "longest", said=said, continued=continued
        ):
            if moment.request is not None and moment.reply is not None:
                need += self.calls.price(moment.request, moment.reply)
        return need

    async def play(self, concurrency: int) -> None:
        """Play all debates that are not closed; with a batch rule the closed ones too, from their record."""
        planned = self.run.planned if self.lockstep is not None else self._open()
        queue = iter(list(enumerate(planned)) if self.lockstep is not None else ((0, one) for one in planned))
        workers = len(self.run.planned) if self.lockstep is not None else concurrency
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(queue))
        except* Exception as group_error:
            raise group_error.exceptions[0] from None
        self.left_out += [planned.debate for _, planned in queue]
        self.report.not_begun = tuple(self.left_out)
        if self.calls.halted:
            self.report.stopped = "interrupted"
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
        begun = planned.debate in past.items
        if verdict is None:
            if self.calls.halted:
                raise Halted
            if not await purse.fill(self._need(planned), running=begun) or self.calls.halted:
                raise Halted
            if not begun:
                item = planned.item.item(
                    planned.debate, planned.first, log=self.run.name, protocol=self.run.protocol.name
                )
                self.writer.write(item)
                past.items[planned.debate] = item
            report.playing += 1
        turns = past.turns.pop(planned.debate, {})
        seat = _Seat(self, row, planned, purse, turns, verdict)
        try:
            outcome = await drive(self.run.protocol.play(planned.case), seat.answer, seat.settle)
        finally:
            report.playing -= verdict is None
        if verdict is None:
            self._close(planned, outcome)

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
    ) -> None:
        self.stage, self.row, self.planned, self.purse, self.verdict = stage, row, planned, purse, verdict
        self.said: dict[Key, Reply] = {key: as_reply(turn) for key, turn in turns.items()}
        self.recorded = frozenset(turns)
        self.last = max((number for number, _ in turns), default=0)
        self.book: RuleBook | None = None
        if stage.lockstep is None:
            self.book = RuleBook(planned.case, stage.run.rule, stage.run.protocol.max_rounds)

    async def answer(self, request: Request) -> Reply:
        key = (request.round, request.agent)
        if key in self.recorded:
            return self.said[key]
        if self.verdict is not None:
            raise ValueError(
                f"a closed debate must have all its turns; got none of {request.agent!r} in round "
                f"{request.round} of {self.planned.debate!r} in {self.stage.run.log}"
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
        if decision.stop or step.number < self.stage.run.protocol.max_rounds:
            return decision
        return Decision(stop=True, reason=str(StopReason.EXHAUSTED))

    async def _afford(self, played: int) -> Decision:
        """Go on if the next round and the end fit the budget."""
        stage = self.stage
        need = stage.ahead(self.planned, self.said, played)
        if await self.purse.fill(need, running=True):
            return Decision(stop=False)
        self._note(played, BUDGET)
        return Decision(stop=True, reason=BUDGET)

    def _note(self, number: int, reason: str) -> None:
        """Write down a stop that no rule would repeat by itself when the debate is played again."""
        self.stage.journal.write({"stopped": self.planned.debate, "round": number, "reason": reason})
