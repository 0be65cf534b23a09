"""Run many debates: bounded concurrency, a budget that holds, and a log that a killed run goes on from.

A debate is a generator (see :mod:`d3stats.protocols.play`), so it is continued by playing it again from its recorded
turns: what was recorded is answered from the record, what was not is asked. Every turn is on disk before anybody
uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d3stats._check import integer
from d3stats.agents.request import Agent
from d3stats.debates.ahead import Cast, ahead, check_rule
from d3stats.debates.budget import Bank, Tariff
from d3stats.debates.calls import Calls
from d3stats.debates.items import DebateItem
from d3stats.debates.journal import Journal, journal_path
from d3stats.debates.past import Past
from d3stats.debates.placement import Orders, Planned, placements
from d3stats.debates.report import Observer, RunReport
from d3stats.debates.stage import Asked, Stage
from d3stats.protocols.protocol import DebateProtocol
from d3stats.simulate.tokens import PriceTable
from d3stats.stopping import StoppingRule

if TYPE_CHECKING:
    pass

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
        rule = protocol.rule() if rule is None else rule
        self.log = Path(log)
        self.cast, self.tariff = Cast(agents), Tariff(prices)
        self.planned = tuple(placements(items, orders, seed, repeats, self.cast.models))
        self.budget = (budget_tokens, max_usd)
        _check_plan(self.planned, protocol, self.log)
        check_rule(
            protocol,
            rule,
            self.planned[0].case,
            self.cast,
            any(debate.item.label is not None for debate in self.planned),
        )
        roles = self._roles(protocol)
        if max_usd is not None:
            self.tariff.require({self.cast.model(role): None for role in roles}, "a budget in dollars")
        self.priced = prices is not None
        self.asked = Asked(
            protocol,
            rule,
            self.planned,
            self.cast,
            self.log,
            self.log.stem if name is None else name,
            max_usd,
        )
        self.settings = {
            "protocol": str(protocol),
            "rule": str(rule),
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

    def _roles(self, protocol: DebateProtocol) -> list[str]:
        calls = ahead(protocol, self.planned[0].case, self.cast, "typical", continued=protocol.max_rounds)
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
        settings = self.settings | {"concurrency": concurrency}
        with (
            Journal(self.log, settings) as journal,
            LogWriter(self.log, source="d3stats debate", repair=True) as writer,
        ):
            table = {debate.debate: debate for debate in self.planned}
            asked = self.asked
            past = Past.read(
                self.log, journal, table, self.cast, self.tariff, asked.protocol.name, asked.batched
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
            stage = Stage(asked, past, bank, calls, report, writer, journal)
            stage.check_budget()
            try:
                await stage.play(concurrency)
            finally:
                report.seconds = time.monotonic() - began
                calls.tell()
            if calls.fatal is not None:
                raise calls.fatal
        return report


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
