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
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats._check import integer, number
from d3stats.agent import Agent, Reply, Request
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, RuleBook, drive, round_seen
from d3stats.protocols.recorded import as_reply
from d3stats.run.ahead import Key
from d3stats.run.asked import Asked, check_log
from d3stats.run.budget import FREE, Bank, Cost, Purse
from d3stats.run.calls import PATIENCE, Calls, Halted
from d3stats.run.items import DebateItem, Orders, Planned
from d3stats.run.record import Journal, Past, is_unused, journal_path
from d3stats.run.report import Observer, RunReport
from d3stats.stopping import CONTINUE, Decision, Round, StoppingRule, StopReason
from d3stats.stopping.rule import BatchRound, LiveWatcher, MixedState
from d3stats.trajectories import MISSING
from d3stats.values import canonical_text
from d3stats.worlds.tokens import PriceTable

if TYPE_CHECKING:
    from pathlib import Path

    from d3stats.log.schema import Turn, Verdict
    from d3stats.log.writer import LogWriter
    from d3stats.run.record import Journal

__all__ = ["BUDGET", "Lockstep", "Stage", "debate", "run_debates"]


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
        The debates of the batch, one row each, whether they will begin or not.
    bank : Bank
        Is told who waits, so that nobody waits for money of those who wait here.
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

    async def arrive(self, row: int, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        """Wait until all running debates have played the round; return this one's decision."""
        seen = round_seen(step, since, self._codes)
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._arrived[row] = _Arrived(seen, future)
        # Before the bank is told: when this was the last to arrive, nobody waits in vain.
        if not self._decide():
            self.bank.pause()
        return await future

    def leave(self, row: int) -> None:
        """Take a debate out that is over, or never began."""
        self._present.discard(row)
        self._decide(left=True)

    def _decide(self, left: bool = False) -> bool:
        if not self._arrived or len(self._arrived) < len(self._present):
            return False
        arrived, self._arrived = self._arrived, {}
        # Whoever calls from `arrive` is not paused yet.
        self.bank.resume(len(arrived) - (0 if left else 1))
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
        for row, one in arrived.items():
            votes[row, : one.seen.panel] = one.seen.votes
            played[row], panel[row] = True, one.seen.panel
            if one.seen.tokens is not None:
                tokens[row] = one.seen.tokens
            for side, points in enumerate(one.seen.scores or ()):
                scores[row, side] = np.nan if points is None else points
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
        )


def _label(debate: Planned) -> str | None:
    """Return the right answer in the form that votes have: free words are written as a log is read."""
    return debate.item.label if debate.item.answers is not None else canonical_text(debate.item.label)


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
) -> RunReport:
    """Play debates and write their log; the same call goes on with what an earlier one has left.

    Parameters
    ----------
    protocol : DebateProtocol
    items : iterable of DebateItem
        What is debated; see :func:`d3stats.run.items.read_items`.
    agents : Agent or mapping of str to Agent
        Who plays: one for all roles, or by role, with ``"default"`` for the others.
    log : path
        Ends in ``.jsonl``. Beside it lies a journal of calls, ``<stem>.calls.jsonl``; both are needed to go on.
    rule : StoppingRule, optional
        The protocol's own by default. With a rule for a whole batch all debates play round by round together.
    seed : int
        Of the places of the candidates.
    orders, repeats
        See :func:`d3stats.run.items.placements`.
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
    wait : float
        Seconds that a server which is gone, or still loads its model, is waited for. Its calls leave no missing votes:
        their debates are left open, and the same call goes on with them.

    Returns
    -------
    RunReport

    Raises
    ------
    ValueError
        Before anything is spent: when settings differ from those of the run that the log is of, the rule has
        nothing to look at, a price is missing, the budget is below one debate, or a call can be longer than the context
        window of its model (:attr:`LiveAgent.window <d3stats.run.live.LiveAgent>`).
    Refused
        When no call will ever be answered; the log can be gone on with.

    Notes
    -----
    A call's bound is set aside before it begins. A debate begins beside others when the bound of its whole course
    fits beside theirs, and alone when its first round and its end (a jury, say) fit; it goes on to another round
    when that round and the end fit. One that does not fit waits for others to end. When all wait, one of them stops
    with the reason ``"budget"`` and is decided by what has been said. So every debate that has begun gets a
    verdict. When a call costs more than its bound, a run with a budget begins nothing more.
    """
    asked = Asked.of(
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
    number("wait", wait, minimum=0.0)
    return await _play(asked, path, path.stem if name is None else name, concurrency, observer, halt, wait)


def debate(
    protocol: DebateProtocol,
    items: Iterable[DebateItem],
    agents: Agent | Mapping[str, Agent],
    log: str | Path,
    **settings: Any,
) -> RunReport:
    """Run debates in the foreground: :func:`run_debates` for callers without an event loop."""
    return asyncio.run(run_debates(protocol, items, agents, log, **settings))


async def _play(
    asked: Asked,
    log: Path,
    name: str,
    concurrency: int,
    observer: Observer | None,
    halt: asyncio.Event | None,
    wait: float,
) -> RunReport:
    from d3stats.log.writer import LogWriter

    began = time.monotonic()
    check_log(log)
    fresh = is_unused(log)
    if fresh:
        # Refused before anything is left behind that a mended command would have to agree with.
        asked.check_budget()
        asked.check_windows()
    elif not _has(journal_path(log)):
        raise ValueError(
            f"log must be new or lie beside its journal {journal_path(log).name}; got {log} without it"
        )
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(Journal(log, asked.settings | {"concurrency": concurrency}))
            writer = stack.enter_context(LogWriter(log, source="d3stats debate", repair=True))
        except OSError as error:
            raise ValueError(
                f"log must be a file that can be written; got log={str(log)!r} ({error.strerror or error})"
            ) from None
        table = {debate.debate: debate for debate in asked.planned}
        past = Past.read(
            log, journal, table, asked.cast, asked.tariff, asked.protocol.name, asked.batched, asked.voters
        )
        bank = Bank(asked.budget_tokens, asked.max_usd, past.spent)
        if bank.limited and past.overdrawn:
            raise ValueError(
                f"a budget must be one that can be kept; got {past.overdrawn} calls in {log.name} that cost more than "
                "their bound (go on without a budget, or write another log with more reasoning_tokens or "
                "tokens_per_word)"
            )
        if bank.limited and not past.calls:
            asked.check_budget()
        if not fresh:
            asked.check_windows(past.closed)
        bank.overdrawn = past.overdrawn
        report = _first_report(log, table, past)
        priced = asked.prices is not None
        calls = Calls(
            asked.reserve,
            bank,
            journal,
            writer,
            report,
            concurrency,
            halt,
            observer,
            priced,
            asked.voters,
            wait,
            asked.batched,
        )
        stage = Stage(asked, log, name, past, bank, calls, report, writer, journal)
        try:
            await stage.play(concurrency)
        finally:
            report.waiting = None
            report.seconds = time.monotonic() - began
            calls.tell()
        if calls.fatal is not None:
            raise calls.fatal
    return report


def _has(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _first_report(log: Path, table: Mapping[str, Planned], past: Past) -> RunReport:
    closed = {name: verdict for name, verdict in past.closed.items() if name in table}
    return RunReport(
        log=log,
        planned=len(table),
        closed=len(closed),
        stops=Counter(str(verdict.stop_reason) for verdict in closed.values()),
        calls=past.calls,
        attempts=past.attempts,
        repeated=past.repeated,
        tokens_in=past.tokens_in,
        tokens_out=past.tokens_out,
        charged=past.spent.tokens,
        missing=Counter(past.missing),
        votes=past.votes,
        votes_missing=Counter(past.votes_missing),
        words=dict(past.told.words),
        dropped=tuple(past.told.dropped),
    )
