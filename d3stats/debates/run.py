"""Run many debates: bounded concurrency, a budget that holds, and a log that a killed run goes on from.

A debate is a generator (see :mod:`d3stats.protocols.play`), so it is continued by playing it again from its recorded
turns: what was recorded is answered from the record, what was not is asked. Every turn is on disk before anybody
uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from d3stats._check import integer, number
from d3stats.agents.request import Agent
from d3stats.debates.asked import Asked, check_log
from d3stats.debates.budget import Bank
from d3stats.debates.calls import PATIENCE, Calls
from d3stats.debates.items import DebateItem
from d3stats.debates.journal import Journal, is_unused, journal_path
from d3stats.debates.past import Past
from d3stats.debates.placement import Orders, Planned
from d3stats.debates.report import Observer, RunReport
from d3stats.debates.stage import Stage
from d3stats.protocols.protocol import DebateProtocol
from d3stats.simulate.tokens import PriceTable
from d3stats.stopping import StoppingRule

__all__ = ["debate", "run_debates"]


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
        What is debated; see :func:`d3stats.debates.items.read_items`.
    agents : Agent or mapping of str to Agent
        Who plays: one for all roles, or by role, with ``"default"`` for the others.
    log : path
        Ends in ``.jsonl``. Beside it lies a journal of calls, ``<stem>.calls.jsonl``; both are needed to go on.
    rule : StoppingRule, optional
        The protocol's own by default. With a rule for a whole batch all debates play round by round together.
    seed : int
        Of the places of the candidates.
    orders, repeats
        See :func:`d3stats.debates.placement.placements`.
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
        window of its model (:attr:`LiveAgent.window <d3stats.agents.live.LiveAgent>`).
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
