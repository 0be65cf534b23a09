"""Run many debates: bounded concurrency, a budget that holds, and a log that a killed run goes on from.

A debate is a generator (see :mod:`d3stats.protocols.play`), so it is continued by playing it again from its recorded
turns: what was recorded is answered from the record, what was not is asked. Every turn is on disk before anybody
uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d3stats._check import integer
from d3stats.agents.request import Agent, Reply, Request
from d3stats.protocols.ahead import Cast, Key, ahead, check_rule
from d3stats.protocols.batch import Lockstep
from d3stats.protocols.budget import FREE, Bank, Cost, Purse, Tariff
from d3stats.protocols.calls import Calls, Halted
from d3stats.protocols.engine import drive
from d3stats.protocols.items import DebateItem
from d3stats.protocols.journal import Journal, journal_path
from d3stats.protocols.past import Past, as_reply
from d3stats.protocols.placement import Orders, Planned, placements
from d3stats.protocols.play import Outcome, RoundOver
from d3stats.protocols.protocol import DebateProtocol
from d3stats.protocols.report import Observer, RunReport
from d3stats.protocols.rules import RuleBook
from d3stats.simulate.tokens import PriceTable
from d3stats.stopping import Decision, Rule, StoppingRule, StopReason

if TYPE_CHECKING:
    from d3stats.log.schema import Turn, Verdict
    from d3stats.log.write import LogWriter

__all__ = ["debate", "run_debates"]

BUDGET = "budget"
"""The reason of a debate that was stopped because its next round did not fit the budget."""


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
) -> RunReport:
    """Play debates and write their log; the same call goes on with what an earlier one has left.

    Parameters
    ----------
    protocol : DebateProtocol
    items : iterable of DebateItem
        What is debated; see :func:`d3stats.protocols.items.read_items`.
    agents : Agent or mapping of str to Agent
        Who plays: one for all roles, or by role, with ``"default"`` for the others.
    log : path
        Ends in ``.jsonl``. Beside it lies a journal of calls, ``<stem>.calls.jsonl``; both are needed to go on.
    rule : StoppingRule, optional
        The protocol's own by default. With a rule for a whole batch all debates play round by round together.
    seed : int
        Of the places of the candidates.
    orders, repeats
        See :func:`d3stats.protocols.placement.placements`.
    concurrency : int
        Calls at a time, at most; as many debates are open at once.
    budget_tokens : int, optional
        Tokens, prompt and completion, of all runs of this log together. Never exceeded as long as no attempt
        costs more than its agent's bound.
    max_usd : float, optional
        Dollars alike; needs `prices`.
    prices : PriceTable, optional
        Must name the models of all agents when `max_usd` is given.
    name : str, optional
        The name of the run in the log, for analyses that compare runs; the file's stem by default.
    observer : function of RunReport, optional
        Called after every turn and every verdict.
    halt : asyncio.Event, optional
        Once it is set no call begins; those in flight end and are recorded.

    Returns
    -------
    RunReport

    Raises
    ------
    ValueError
        Before anything is spent: when settings differ from those of the run that the log is of, the rule has
        nothing to look at, a price is missing, or the budget is below one debate.
    Refused
        When no call will ever be answered; the log can be gone on with.

    Notes
    -----
    A call's bound is set aside before it begins. A debate begins when its first round and its end (a jury, say)
    fit what is left, and goes on to another round when that round and the end fit; a debate whose round does not
    fit waits for others to end, and when all wait, those stop with the reason ``"budget"`` and are decided by what
    has been said. So every debate that has begun gets a verdict.
    """
    run = _Run(
        protocol, items, agents, log, rule, seed, orders, repeats, budget_tokens, max_usd, prices, name
    )
    return await run.play(integer("concurrency", concurrency, minimum=1), observer, halt)


def debate(
    protocol: DebateProtocol,
    items: Iterable[DebateItem],
    agents: Agent | Mapping[str, Agent],
    log: str | Path,
    **settings: Any,
) -> RunReport:
    """Run debates in the foreground: :func:`run_debates` for callers without an event loop."""
    return asyncio.run(run_debates(protocol, items, agents, log, **settings))


class _Run:
    """One run: what is asked for, what is there already, and who plays."""

    def __init__(
        self,
        protocol: DebateProtocol,
        items: Iterable[DebateItem],
        agents: Agent | Mapping[str, Agent],
        log: str | Path,
        rule: StoppingRule | None,
        seed: int,
        orders: Orders,
        repeats: int,
        budget_tokens: int | None,
        max_usd: float | None,
        prices: PriceTable | None,
        name: str | None,
    ) -> None:
        self.protocol, self.rule = protocol, protocol.rule() if rule is None else rule
        self.log = Path(log)
        self.name = self.log.stem if name is None else name
        self.cast, self.tariff = Cast(agents), Tariff(prices)
        self.planned = tuple(placements(items, orders, seed, repeats, self.cast.models))
        self.budget = (budget_tokens, max_usd)
        _check_plan(self.planned, protocol, self.log)
        check_rule(
            protocol,
            self.rule,
            self.planned[0].case,
            self.cast,
            any(debate.item.label is not None for debate in self.planned),
        )
        roles = self._roles()
        if max_usd is not None:
            self.tariff.require({self.cast.model(role): None for role in roles}, "a budget in dollars")
        self.priced = prices is not None
        self.batched = not isinstance(self.rule, Rule)
        self.settings = {
            "protocol": str(protocol),
            "rule": str(self.rule),
            "orders": orders,
            "seed": seed,
            "repeats": repeats,
            "agents": {role: _described(self.cast(role)) for role in roles},
            "servers": sorted(
                {str(agent.where) for agent in self.cast.all.values() if hasattr(agent, "where")}
            ),
            "budget_tokens": budget_tokens,
            "max_usd": max_usd,
            "prices": None if prices is None else prices.date,
        }
        Bank(*self.budget)  # its limits are checked before a file is touched

    def _roles(self) -> list[str]:
        calls = ahead(
            self.protocol, self.planned[0].case, self.cast, "typical", continued=self.protocol.max_rounds
        )
        return sorted({moment.request.role for moment in calls if moment.request is not None})

    async def play(
        self, concurrency: int, observer: Observer | None, halt: asyncio.Event | None
    ) -> RunReport:
        from d3stats.log.write import LogWriter

        began = time.monotonic()
        if _has(self.log) and not _has(journal_path(self.log)):
            raise ValueError(
                f"log must be new or lie beside its journal {journal_path(self.log).name}; got {self.log} without it"
            )
        with Journal(self.log, self.settings | {"concurrency": concurrency}) as journal:
            with LogWriter(self.log, source="d3stats debate", repair=True) as writer:
                table = {debate.debate: debate for debate in self.planned}
                past = Past.read(
                    self.log, journal, table, self.cast, self.tariff, self.protocol.name, self.batched
                )
                bank = Bank(*self.budget, spent=past.spent)
                report = _first_report(self.log, table, past)
                calls = Calls(
                    self.cast,
                    self.tariff,
                    bank,
                    journal,
                    writer,
                    report,
                    concurrency,
                    halt,
                    observer,
                    self.priced,
                )
                stage = _Stage(self, past, bank, calls, report, writer, journal)
                stage.check_budget()
                try:
                    await stage.play(concurrency)
                finally:
                    report.seconds = time.monotonic() - began
                    calls.tell()
                if calls.fatal is not None:
                    raise calls.fatal
        return report


class _Stage:
    """Where the debates of one run are played."""

    def __init__(
        self,
        run: _Run,
        past: Past,
        bank: Bank,
        calls: Calls,
        report: RunReport,
        writer: LogWriter,
        journal: Journal,
    ) -> None:
        self.run, self.past, self.bank, self.calls = run, past, bank, calls
        self.report, self.writer, self.journal = report, writer, journal
        self.lockstep = Lockstep(run.rule, run.planned, bank) if run.batched else None
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
            asked, got = f"max_usd must be at least {least.dollars:.6f}", f"max_usd={self.run.budget[1]}"
        raise ValueError(f"{asked} for one debate to begin and end, whatever is said in it; got {got}")

    def _open(self) -> Iterator[Planned]:
        return (planned for planned in self.run.planned if planned.debate not in self.past.closed)

    def _need(self, planned: Planned) -> Cost:
        turns = self.past.turns.get(planned.debate, {})
        last = max((number for number, _ in turns), default=1)
        return self._ahead(planned, {key: as_reply(turn) for key, turn in turns.items()}, last - 1)

    def _ahead(self, planned: Planned, said: Mapping[Key, Reply], continued: int) -> Cost:
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
        stage: _Stage,
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
        need = stage._ahead(self.planned, self.said, played)
        if await self.purse.fill(need, running=True):
            return Decision(stop=False)
        self._note(played, BUDGET)
        return Decision(stop=True, reason=BUDGET)

    def _note(self, number: int, reason: str) -> None:
        """Write down a stop that no rule would repeat by itself when the debate is played again."""
        self.stage.journal.write({"stopped": self.planned.debate, "round": number, "reason": reason})


def _check_plan(planned: Sequence[Planned], protocol: DebateProtocol, log: Path) -> None:
    if not planned:
        raise ValueError("items must hold at least one item; got none")
    for debate in planned:
        if protocol.candidates is not None and protocol.candidates != bool(debate.item.candidates):
            needs = "two candidates" if protocol.candidates else "no candidates"
            got = "two" if debate.item.candidates else "none"
            raise ValueError(
                f"items must have {needs} for {protocol.name}; got {got} in {debate.item.question!r}"
            )
    names = Counter(debate.debate for debate in planned)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"items must have different names; got {twice!r} twice")
    if log.suffix not in (".jsonl", ".ndjson"):
        raise ValueError(f"log must end in .jsonl or .ndjson; got log={str(log)!r}")
    if not log.absolute().parent.is_dir():
        raise ValueError(f"log must lie in a folder that exists; got log={str(log)!r}")


def _has(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _described(agent: Agent) -> Any:
    """What a journal says of an agent: its own settings, or its kind and model.

    Where its server stands is said apart: it may move between runs.
    """
    settings = getattr(agent, "settings", None)
    if isinstance(settings, Mapping):
        return {name: value for name, value in settings.items() if name != "server"}
    return {"agent": type(agent).__name__, "model": getattr(agent, "model", None)}


def _first_report(log: Path, table: Mapping[str, Planned], past: Past) -> RunReport:
    closed = {name: verdict for name, verdict in past.closed.items() if name in table}
    return RunReport(
        log=log,
        planned=len(table),
        closed=len(closed),
        stops=Counter(str(verdict.stop_reason) for verdict in closed.values()),
        calls=past.calls,
        repeated=past.repeated,
        tokens_in=past.tokens_in,
        tokens_out=past.tokens_out,
        charged=past.spent.tokens,
        missing=Counter(past.missing),
    )
