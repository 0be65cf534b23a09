"""``d3stats debate``: run debates with live or synthetic agents, within a budget, and resume after a crash."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from d3stats._words import duration
from d3stats.cli import completion
from d3stats.cli.derive import Given, derived, library_function
from d3stats.cli.options import Json, Prices, refuse_unused, typed
from d3stats.cli.output import (
    is_warning,
    print_json,
    print_notes,
    print_result,
    print_table,
    print_warnings,
    say,
    without_warnings,
)
from d3stats.note import note_values

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from d3stats.agent import Agent
    from d3stats.run.forecast import Forecast
    from d3stats.run.items import DebateItem
    from d3stats.run.report import RunReport

__all__ = ["Progress", "show_forecast", "show_report"]


def show_forecast(
    outlook: Forecast, protocol: str, rule: str, budget_tokens: int | None, max_usd: float | None
) -> None:
    """Print what a run will cost, and its limits."""
    print_warnings(outlook.notes)
    looks = [
        ("earliest stop", outlook.shortest),
        ("no early stop", outlook.full),
        ("longest replies", outlook.bound),
    ]
    print_table(
        f"forecast: {outlook.debates} debate{'' if outlook.debates == 1 else 's'}, {protocol}, stopped by {rule}",
        ["case", "rounds", "calls", "tokens in", "tokens out", "tokens", "per debate", "dollars"],
        [
            [
                case,
                str(look.rounds),
                f"{look.calls:,}",
                f"{look.tokens_in:,}",
                f"{look.tokens_out:,}",
                f"{look.tokens:,}",
                f"{look.tokens / outlook.debates:z,.0f}",
                _dollars(look.dollars),
            ]
            for case, look in looks
        ],
    )
    notes = [
        *without_warnings(outlook.notes),
        "'earliest stop' is the first round in which the rule can stop a debate. Repeated attempts cost extra, but "
        "never more than the budget.",
    ]
    if outlook.measured < outlook.debates:
        notes.append(f"The forecast scales up {outlook.measured} debates, spread evenly over the items.")
    limits = [
        text
        for text in (
            budget_tokens is not None and f"{budget_tokens:,} tokens",
            max_usd is not None and f"{max_usd:g} dollars",
        )
        if text
    ]
    notes.append(
        f"Budget: {' and '.join(limits)}." if limits else "No budget is set, so nothing limits the cost."
    )
    print_notes(notes)


def show_report(report: RunReport, max_rounds: int | None = None) -> None:
    """Print the report of a run, and the next commands; a protocol of one round has nothing to replay."""

    def counted(counts: Any) -> str:
        return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"

    from d3stats.agent import KEPT

    if report.certificate is not None:
        print_result(report.certificate)
    print_warnings(report.notes)
    print_notes(report.warnings)
    rows = [
        ["debates closed", f"{report.closed} of {report.planned}"],
        ["of these, in this run", str(report.new)],
        ["stops", counted(report.stops)],
        ["calls, attempts", f"{report.calls:,}, {report.attempts:,}"],
        ["tokens in, out", f"{report.tokens_in:,}, {report.tokens_out:,}"],
        ["tokens charged to the budget", f"{report.charged:,}"],
        ["dollars", _dollars(report.dollars)],
        ["tokens estimated, in turns of this run", str(report.estimated)],
        ["votes missing", f"{report.votes_missing.total():,} of {report.votes:,}"],
        ["turns with a missing part", counted(report.missing)],
        ["calls repeated after a crash", str(report.repeated)],
        ["seconds", f"{report.seconds:z.1f}"],
    ]
    print_table(str(report.log), ["", ""], rows)
    notes = without_warnings(report.notes)
    if report.shadow is not None:
        notes.append(f"Shadow: {report.shadow}")
    if (report.not_begun or report.unfinished) and report.stopped == "budget":
        notes.append(
            f"The budget was too small: {len(report.not_begun)} debates did not start, {report.unfinished} did not end"
            f"{_left(report)}. To resume, run the same command with a larger budget."
        )
    if report.dropped:
        notes.append(f"Not taken by the server, so the calls were made without: {', '.join(report.dropped)}.")
    if report.structured is not None:
        notes.append(f"Votes and scores were requested as {report.structured}.")
    if not report.warnings:
        notes += [f"The latest message about {kind}: {words}" for kind, words in report.words.items()]
    if report.shortened:
        notes.append(
            f"{report.shortened:,} replies are longer than the {KEPT:,} bytes that the log keeps; their texts end in "
            "[cut]."
        )
    if report.overdrawn:
        notes.append(
            f"{report.overdrawn} calls cost more than their bound, because the server does not count "
            "tokens by bytes."
        )
    log = shlex.quote(str(report.log))
    # A replay has intervals over questions, so it needs two of them.
    replay = "" if max_rounds == 1 or report.closed < 2 else f"; d3stats replay {log}"
    notes.append(f"Next: d3stats doctor {log}; d3stats show {log}{replay}")
    print_notes(notes)


def _left(report: RunReport) -> str:
    """Return what is left of a budget, and what another debate needs to start."""
    parts = []
    if report.tokens_to_begin is not None:
        parts.append((f"{report.tokens_left:,}", f"{report.tokens_to_begin:,} tokens"))
    if report.dollars_to_begin is not None:
        parts.append((_dollars(report.dollars_left), f"{_dollars(report.dollars_to_begin)} dollars"))
    if not parts:
        return ""
    left, needed = (" and ".join(words) for words in zip(*parts, strict=True))
    return f" ({left} left; {needed} are needed to start another debate)"


def _dollars(value: float | None) -> str:
    return "-" if value is None else f"{value:z,.4f}"


SYNTHETIC_ITEMS = 100
"""Debates of a synthetic world when --limit says nothing."""

HALF = 0.5
"""A larger share of missing votes is an exit code of its own."""


Items_ = Annotated[
    str | None,
    typer.Argument(
        metavar="ITEMS",
        help="A file of questions, with or without candidates: JSONL, JSON, CSV, TSV, XLSX, Parquet.",
    ),
]
RUN, LIVE, ITEMS = (
    "d3stats.run.run:run_debates",
    "d3stats.run.live.agent:LiveAgent",
    "d3stats.run.items:read_items",
)


@derived(
    (RUN, LIVE, ITEMS),
    {},
    without=("observer", "halt", "backoff", "longest_wait", "ties"),
    completes={"format": completion.layouts, "incumbent": completion.rules},
)
def debate(
    given: Given,
    context: typer.Context,
    items: Items_ = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            autocompletion=completion.protocols,
            help="A protocol, e.g. 'samre', 'samre:jurors=3,poll=every_round'.",
        ),
    ] = "samre",
    model: Annotated[str | None, typer.Option("--model", help="Name of the model on the server.")] = None,
    role_model: Annotated[
        list[str] | None,
        typer.Option("--role-model", metavar="ROLE=NAME", help="Use another model for a role; repeatable."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--stop",
            autocompletion=completion.rules,
            help="A stopping rule, e.g. 'unanimity'; default: the protocol's own rule.",
        ),
    ] = None,
    shadow: Annotated[
        str | None,
        typer.Option(
            "--shadow",
            autocompletion=completion.rules,
            help="Another stopping rule, which stops no debate; the report says what it would have saved.",
        ),
    ] = None,
    prices: Prices = None,
    log: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The log to write; the same command resumes an interrupted run."),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature",
            help="Temperature sent to the server; default: that of the protocol's source, or the server's own.",
        ),
    ] = None,
    synthetic: Annotated[
        Path | None,
        typer.Option(
            "--synthetic",
            metavar="WORLD.toml",
            help="Use synthetic agents of this world (TOML); no model is called.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the forecast and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Run debates and write their log; shows the expected cost before the first call.

    Exit code 0: finished; 1: stopped by an error; 3: finished, but more than half of the votes are missing;
    130: interrupted.
    """
    import asyncio

    from d3stats.protocols import protocol_from_text
    from d3stats.run.forecast import forecast
    from d3stats.run.record import is_unused, measured_pace
    from d3stats.stopping import from_text
    from d3stats.worlds.tokens import PriceTable

    with _Said(as_json) as said:
        if log is None and not dry_run:
            raise ValueError("-o must name the log to write; got none (or use --dry-run)")
        played = protocol_from_text(protocol)
        stop = None if rule is None else from_text(rule)
        followed = None if shadow is None else from_text(shadow)
        table = None if prices is None else PriceTable.read(prices)
        running = given.of(RUN)
        if "ledger" in running and stop is not None:
            raise ValueError(
                f"--stop must not be given with --ledger, which chooses its early rules; got {rule!r} (give it as "
                "--incumbent)"
            )
        if "ledger" not in running:
            refuse_unused(context, "must come with --ledger, whose verdicts follow it", "--incumbent")
        reference = from_text(running.get("incumbent") or "unanimity") if "ledger" in running else stop
        seed, budget_tokens, max_usd = running["seed"], running.get("budget_tokens"), running.get("max_usd")
        if max_usd is not None and table is None:
            raise ValueError("--max-usd needs --prices FILE with the prices of the models; got none")
        agents: Agent | dict[str, Agent]
        if synthetic is not None:
            _refuse_unasked(context)
            agents, chosen = _of_world(given, synthetic, items, seed)
        else:
            settings = given.of(LIVE) | ({} if temperature is None else {"temperature": temperature})
            if typed(context, "--key-env") and not os.environ.get(settings["key_env"]):
                raise ValueError(
                    "--key-env must name an environment variable that is set; got "
                    f"{settings['key_env']!r}, which is not"
                )
            agents = _live(model, role_model or [], **settings)
            chosen = _of_file(given, items)
        placing = {name: running[name] for name in ("orders", "repeats", "seed")}
        limits: dict[str, Any] = {
            "rule": reference,
            "prices": table,
            # A log with calls has begun: what is left of its budget need not do for one more debate.
            "budget_tokens": budget_tokens if log is None or is_unused(log) else None,
            "max_usd": max_usd if log is None or is_unused(log) else None,
        }
        outlook = forecast(played, chosen, agents, **limits, **placing)
        if log is not None and synthetic is None:
            pace = measured_pace(log, [agent.model for agent in _each(agents)])
            outlook = outlook if pace is None else outlook.timed(*pace)
        said.forecast = outlook
        if not as_json:
            show_forecast(outlook, str(played), str(reference or played.rule()), budget_tokens, max_usd)
        elif not dry_run:  # the object is printed after the run, when it is paid for
            for note in outlook.notes:
                say(f"d3stats: {note}", err=True)
        if dry_run or log is None:
            if as_json:
                said.show()
            return
        job = _Job(
            agents=agents,
            arguments=(played, chosen, agents, log),
            settings={**running, "rule": stop, "shadow": followed, "prices": table},
            said=said,
        )
        report = asyncio.run(job.run())
        said.report = report
        if not as_json:
            show_report(report, played.max_rounds)
        _end(report, said, log, running["wait"])


def _end(report: RunReport, said: _Said, log: Path, wait: float) -> None:
    """Say why a run ended early, print its object, and set the exit code."""
    if report.stopped == "interrupted":
        line = (
            f"interrupted after {report.closed} of {report.planned} debates; the same command resumes {log}"
        )
        say(f"d3stats: {line}", err=True)
        said.show(line)
        raise typer.Exit(130)
    if report.stopped == "overdrawn":
        raise ValueError(
            f"every call must cost at most its bound, or a budget cannot hold; got {report.overdrawn} that cost more, "
            f"after {report.charged:,} tokens (start a new log with larger --reasoning-tokens or --tokens-per-word, or "
            "resume without a budget)"
        )
    if report.stopped == "unreached":
        raise ValueError(
            f"every call must reach its server within --wait; got {report.unfinished} open debates with a call that "
            f"did not in {wait:g} s; the same command resumes {log}"
        )
    said.show()
    if (report.missing_votes.share or 0.0) > HALF:
        raise typer.Exit(3)


class _Said:
    """The one object that ``--json`` prints, also when the run fails; use it as a context."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.forecast: Forecast | None = None
        self.report: RunReport | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.show("interrupted")
        elif isinstance(error, (ValueError, TypeError, KeyError, OSError)):
            self.show(" ".join(str(error).split()))

    def show(self, error: str | None = None) -> None:
        """Print the object, what must be read first in front."""
        if not self.wanted:
            return
        report = self.report
        notes = () if self.forecast is None else self.forecast.notes
        warnings = [] if report is None else report.missing_votes.warnings()
        print_json(
            {
                "warnings": note_values([*warnings, *filter(is_warning, notes)]),
                **({} if error is None else {"error": error}),
                "forecast": None if self.forecast is None else self.forecast.to_dict(),
                **({} if report is None else {"run": report.to_dict()}),
            }
        )


@dataclass
class _Job:
    """The part that needs an event loop."""

    agents: Agent | dict[str, Agent]
    arguments: tuple[Any, ...]
    settings: dict[str, Any]
    said: _Said

    async def run(self) -> RunReport:
        import asyncio

        from d3stats.run.run import run_debates

        halt = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        with Progress() as progress:

            def interrupt() -> None:
                if halt.is_set():
                    task.cancel()
                    return
                halt.set()
                progress.halt()

            try:
                async with AsyncExitStack() as stack:
                    stack.enter_context(on_interrupt(loop, interrupt))
                    for agent in _each(self.agents):
                        if hasattr(agent, "__aenter__"):  # a live one
                            await stack.enter_async_context(agent)
                            await agent.check(self.settings["wait"], progress.wait)
                    return await run_debates(*self.arguments, **self.settings, observer=progress, halt=halt)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
            finally:
                self.said.report = progress.report


@contextmanager
def on_interrupt(loop: AbstractEventLoop, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` in the loop when the program is interrupted or asked to end; Windows has handlers of signals only."""
    import signal

    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    bare: set[int] = set()
    try:
        for number in numbers:
            try:
                loop.add_signal_handler(number, act)
            except NotImplementedError:
                bare.add(number)
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))
        yield
    finally:
        for number in numbers:
            if number not in bare:
                loop.remove_signal_handler(number)
            # The loop leaves its own default; a program started in the background may ignore an interrupt.
            signal.signal(number, before[number] or signal.SIG_DFL)


def _each(agents: Any) -> list[Any]:
    """Each agent once, whatever roles it plays."""
    return (
        list({id(agent): agent for agent in agents.values()}.values())
        if isinstance(agents, dict)
        else [agents]
    )


def _live(model: str | None, role_models: list[str], **settings: Any) -> dict[str, Agent]:
    from d3stats.run.live import LiveAgent

    if model is None:
        raise ValueError("--model must name the model to ask; got none")
    named = {"default": model}
    for text in role_models:
        role, equals, other = (part.strip() for part in text.partition("="))
        if not (role and equals and other):
            raise ValueError(f"--role-model must be written ROLE=NAME; got {text!r}")
        named[role] = other
    made = {name: LiveAgent(name, **settings) for name in dict.fromkeys(named.values())}
    return {role: made[name] for role, name in named.items()}


def _of_file(given: Given, source: str | None) -> list[DebateItem]:
    """Return the items of a file."""
    from d3stats.run.items import read_items

    if source is None:
        raise ValueError("ITEMS must be given: a file of questions (or --synthetic WORLD.toml); got none")
    how: dict[str, Any] = {name: given.reading.get(name) for name in ("columns", "encoding")}
    return read_items(source, **given.of(ITEMS), **how)


def _refuse_unasked(context: typer.Context) -> None:
    """Refuse with --synthetic what only a file of items or a live model has a use for."""
    run, live, items = (
        set(inspect.signature(library_function(place)).parameters) for place in (RUN, LIVE, ITEMS)
    )
    unused = ((live | items) - run - {"limit"}) | {"role_model", "wait"}
    why = "must not be given with --synthetic, which reads no items and asks no server"
    options = [max(option.opts, key=len) for option in context.command.params if option.name in unused]
    refuse_unused(context, why, *options)


def _of_world(given: Given, path: Path, source: str | None, seed: int) -> tuple[Agent, list[DebateItem]]:
    """Return the synthetic agent of a world and the items that it makes."""
    from d3stats.run.items import DebateItem
    from d3stats.sources import read_toml
    from d3stats.worlds.base import from_table
    from d3stats.worlds.streams import synthetic_agent, synthetic_items

    if source is not None:
        raise ValueError(f"ITEMS must not be given with --synthetic, which makes its own; got {source!r}")
    form = "write a line such as name = \"courtroom\" ('d3stats worlds' lists the names)"
    if not path.exists():
        raise ValueError(
            f'--synthetic must name a TOML file with a line such as name = "courtroom"; got {path}, which does '
            "not exist ('d3stats worlds' lists the names)"
        )
    table = read_toml(path, "--synthetic", form)
    if "name" not in table:
        raise ValueError(f"{path}: --synthetic must name a world; got no line name; {form}")
    try:
        world = from_table(table)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    limit = given.settings.get("limit")
    made = synthetic_items(world, SYNTHETIC_ITEMS if limit is None else limit, seed)
    items = [
        DebateItem(
            one.question, one.text, one.candidates, one.answers, one.label, one.cluster, category=one.category
        )
        for one in made
    ]
    return synthetic_agent(world, seed), items


EVERY_SECONDS = 10.0
"""Between two lines where there is no terminal."""

REDRAW_SECONDS = 0.1


class Progress:
    """An observer of a run; use it as a context."""

    def __init__(self) -> None:
        self._status: Any = None
        self._last = self._began = 0.0
        self._calls = 0
        self._report: RunReport | None = None
        self._halting = self._waited = False

    def __enter__(self) -> Self:
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            self._status = console.status("starting", spinner="dots")
            self._status.start()
        self._last = self._began = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, report: RunReport) -> None:
        """Show the progress of the run, unless it was just shown."""
        now = time.monotonic()
        if self._report is None:
            # The calls of earlier runs say nothing of the pace of this one.
            self._began, self._calls = now, max(report.calls - 1, 0)
        self._report = report
        if now - self._last < (EVERY_SECONDS if self._status is None else REDRAW_SECONDS):
            return
        self._last = now
        self._say(self._line())

    def halt(self) -> None:
        """Show what an interrupted run still waits for."""
        self._halting, self._last = True, time.monotonic()
        self._say(self._line())

    def wait(self, text: str) -> None:
        """Show that the run waits for its server, unless a message was just shown."""
        now = time.monotonic()
        if (
            now - self._last >= (EVERY_SECONDS if self._status is None else REDRAW_SECONDS)
            or not self._waited
        ):
            self._waited, self._last = True, now
            self._say(text)

    @property
    def report(self) -> RunReport | None:
        """The latest report of the run."""
        return self._report

    def _line(self) -> str:
        calls = 0 if self._report is None else self._report.in_flight
        if self._halting:
            return f"waiting for {calls} calls in flight; interrupt again to stop at once"
        if self._report is None:
            return ""
        return line(self._report, time.monotonic() - self._began, self._report.calls - self._calls)

    def _say(self, text: str) -> None:
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(text))
        else:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()


def line(report: RunReport, seconds: float = 0.0, calls: int = 0) -> str:
    """Return a report as one line, with the pace of so many calls of this run and the time that is left.

    Examples
    --------
    >>> from collections import Counter
    >>> from pathlib import Path
    >>> from d3stats.run.report import RunReport
    >>> line(RunReport(Path("a.jsonl"), planned=9, closed=2, rounds=7, charged=12345, stops=Counter(unanimity=2)))
    'debates 2/9, 7 rounds, 0 calls, 12,345 tokens, stops: 2 unanimity'
    >>> line(RunReport(Path("a.jsonl"), planned=9, closed=3, new=3, rounds=7, calls=40), seconds=60.0, calls=40)
    'debates 3/9, 7 rounds, 40 calls, 0 tokens, 40 calls a minute, 2 min left'
    """
    parts = [
        f"debates {report.closed}/{report.planned}",
        f"{report.rounds} rounds",
        f"{report.calls:,} calls",
        f"{report.charged:,} tokens",
    ]
    if seconds >= 1.0 and calls:
        parts.append(f"{60 * calls / seconds:z,.0f} calls a minute")
        if report.new and report.closed < report.planned:
            # Half of what is being played is over, as a rule.
            played = report.new + report.playing / 2
            parts.append(
                f"{duration((report.planned - report.closed - report.playing / 2) * seconds / played)} left"
            )
    if report.dollars is not None:
        parts.append(f"{report.dollars:z,.4f} dollars")
    if report.stops:
        parts.append("stops: " + ", ".join(f"{count} {name}" for name, count in report.stops.most_common(4)))
    if report.missing:
        parts.append(f"{sum(report.missing.values())} turns with a missing part")
    if report.waiting is not None:
        parts.append(report.waiting)
    return ", ".join(parts)
