"""``d3stats debate``: run debates with live or synthetic agents, within a budget, and go on after a crash."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from d3stats.cli._debate_tables import forecast_json, show_forecast, show_report
from d3stats.cli.options import Json, Seed
from d3stats.cli.output import print_json, spoken

if TYPE_CHECKING:
    from d3stats.agents.request import Agent
    from d3stats.debates.items import DebateItem
    from d3stats.debates.report import RunReport

SYNTHETIC_ITEMS = 100
"""Debates of a synthetic world when --limit says nothing."""

HALF = 0.5
"""A larger share of missing votes is an exit code of its own."""


def debate(
    items: Annotated[
        str | None,
        typer.Argument(
            metavar="ITEMS", help="Questions, with candidates or without: JSONL, JSON, CSV, XLSX."
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help="A protocol, e.g. 'samre', 'samre:jurors=3,poll=every_round'.")
    ] = "samre",
    model: Annotated[str | None, typer.Option("--model", help="The model's name on the server.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help="An OpenAI-compatible server, e.g. http://localhost:8000/v1."),
    ] = None,
    role_model: Annotated[
        list[str] | None,
        typer.Option("--role-model", metavar="ROLE=NAME", help="Another model for a role; repeatable."),
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option("--stop", help="A stopping rule, e.g. 'unanimity'; the protocol's own by default."),
    ] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option("--budget-tokens", help="Never spend more tokens than this, all runs together."),
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option("--max-usd", help="Never spend more dollars than this; needs --prices.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            help="What models cost (TOML): a date, and [models.NAME] with input and output in dollars per million "
            "tokens (prompt and completion).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="The log; the same command goes on from it.")
    ] = None,
    orders: Annotated[
        str, typer.Option("--orders", help="Which candidate is shown first: 'seeded', 'both' or 'first'.")
    ] = "seeded",
    repeats: Annotated[int, typer.Option("--repeats", help="Debate each item so often.")] = 1,
    limit: Annotated[int | None, typer.Option("--limit", help="Only the first so many items.")] = None,
    item_format: Annotated[
        str | None, typer.Option("--format", help="The shape of ITEMS, when the content is not to decide.")
    ] = None,
    identical: Annotated[
        str, typer.Option("--identical", help="Candidates of the same text: 'refuse' or 'keep'.")
    ] = "refuse",
    empty: Annotated[
        str, typer.Option("--empty", help="Candidates without a text: 'refuse' or 'keep'.")
    ] = "refuse",
    concurrency: Annotated[int, typer.Option("--concurrency", help="Calls at a time.")] = 8,
    rpm: Annotated[float | None, typer.Option("--rpm", help="Requests per minute at most.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Sent to the server; its own by default.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds until a call is given up.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option("--retries", help="Further attempts of a call that failed.")
    ] = None,
    reasoning_tokens: Annotated[
        int | None,
        typer.Option("--reasoning-tokens", help="Tokens on top in every call, for models that think first."),
    ] = None,
    tokens_per_word: Annotated[
        float | None,
        typer.Option("--tokens-per-word", help="Tokens allowed per word asked for; English needs 1.4."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            "--window", help="The model's context window in tokens; as the server tells; 0: no check."
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", help="Seconds that a server is waited for that is gone or loading.")
    ] = 300.0,
    structured: Annotated[
        str | None,
        typer.Option("--structured", help="How votes and scores are asked for: 'auto', 'schema' or 'text'."),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", help="The environment variable with the server's key; OPENAI_API_KEY."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The run's name in the log; the file's stem.")
    ] = None,
    seed: Seed = 0,
    synthetic: Annotated[
        Path | None,
        typer.Option("--synthetic", metavar="WORLD.toml", help="Agents of a world; nothing is paid."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the forecast and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Run debates and write their log; shows what it will cost before the first call.

    Exit code 0: played; 1: could not go on; 3: played, and more than half of the votes are missing; 130: interrupted.
    """
    import asyncio

    from d3stats.debates.forecast import forecast
    from d3stats.debates.journal import is_unused
    from d3stats.protocols.catalogue import protocol_from_text
    from d3stats.simulate.tokens import PriceTable
    from d3stats.stopping import from_text

    with _Said(as_json) as said:
        if out is None and not dry_run:
            raise ValueError("-o must say where the log is written; got none (or ask for --dry-run)")
        played = protocol_from_text(protocol)
        rule = None if stop is None else from_text(stop)
        table = None if prices is None else PriceTable.read(prices)
        if max_usd is not None and table is None:
            raise ValueError("--max-usd needs --prices FILE, which says what the models cost; got none")
        agents: Agent | dict[str, Agent]
        if synthetic is not None:
            agents, chosen = _of_world(synthetic, items, limit, seed)
        else:
            agents = _live(
                model,
                role_model or [],
                base_url=base_url,
                key_env=key_env,
                temperature=temperature,
                seed=seed,
                timeout=timeout,
                retries=retries,
                requests_per_minute=rpm,
                concurrency=concurrency,
                reasoning_tokens=reasoning_tokens,
                tokens_per_word=tokens_per_word,
                window=window,
                structured=structured,
            )
            chosen = _items(items, item_format, identical, empty, limit)
        placing: dict[str, Any] = {"orders": orders, "repeats": repeats, "seed": seed}
        limits: dict[str, Any] = {
            "rule": rule,
            "prices": table,
            # A log with calls has begun: what is left of its budget need not do for one more debate.
            "budget_tokens": budget_tokens if out is None or is_unused(out) else None,
            "max_usd": max_usd if out is None or is_unused(out) else None,
        }
        outlook = forecast(played, chosen, agents, **limits, **placing)
        said.forecast = forecast_json(outlook)
        if not as_json:
            show_forecast(outlook, str(played), str(rule or played.rule()), budget_tokens, max_usd)
        if dry_run or out is None:
            if as_json:
                said.show()
            return
        job = _Job(
            agents=agents,
            arguments=(played, chosen, agents, out),
            settings={
                **placing,
                "rule": rule,
                "concurrency": concurrency,
                "budget_tokens": budget_tokens,
                "max_usd": max_usd,
                "prices": table,
                "name": name,
                "wait": wait,
            },
            said=said,
        )
        report = asyncio.run(job.run())
        said.report = report
        if report.stopped == "interrupted":
            line = f"interrupted after {report.closed} of {report.planned} debates; the same command goes on from {out}"
            typer.echo(f"d3stats: {line}", err=True)
            said.show(line)
            raise typer.Exit(130)
        if not as_json:
            show_report(report)
        if report.stopped == "overdrawn":
            raise ValueError(
                f"a call must cost no more than its bound for a budget to hold; got {report.overdrawn} that cost more, "
                f"so nothing more was begun: {report.charged:,} tokens were charged (--reasoning-tokens and "
                "--tokens-per-word raise the bounds of another log; without a budget this one goes on)"
            )
        if report.stopped == "unreached":
            raise ValueError(
                f"every call must reach its server within --wait; got {report.unfinished} debates that were left open "
                f"because a call of theirs did not in {wait:g} s: the same command goes on from {out}"
            )
        said.show()
        if (report.missing_votes.share or 0.0) > HALF:
            raise typer.Exit(3)


class _Said:
    """What ``--json`` prints: one object, whether the run ends well or not; use it as a context."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.forecast: dict[str, Any] | None = None
        self.report: RunReport | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.show("interrupted")
        elif isinstance(error, (ValueError, TypeError, KeyError, OSError)):
            self.show(" ".join(spoken(str(error)).split()))

    def show(self, error: str | None = None) -> None:
        """Print the object, what must be read first in front."""
        if not self.wanted:
            return
        report = self.report
        print_json(
            {
                "warnings": [] if report is None else report.warnings,
                **({} if error is None else {"error": error}),
                "forecast": self.forecast,
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
        import signal

        from d3stats.cli._progress import Progress
        from d3stats.debates.run import run_debates

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

            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupt)
            try:
                async with AsyncExitStack() as stack:
                    for agent in _each(self.agents):
                        if hasattr(agent, "__aenter__"):
                            await stack.enter_async_context(agent)
                        if hasattr(agent, "check"):
                            await agent.check(self.settings["wait"], progress.wait)
                    return await run_debates(*self.arguments, **self.settings, observer=progress, halt=halt)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
            finally:
                self.said.report = progress.report
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.remove_signal_handler(number)


def _each(agents: Any) -> list[Any]:
    """Each agent once, whatever roles it plays."""
    return (
        list({id(agent): agent for agent in agents.values()}.values())
        if isinstance(agents, dict)
        else [agents]
    )


def _items(
    source: str | None, shape: str | None, identical: str, empty: str, limit: int | None
) -> list[DebateItem]:
    from d3stats.debates.items import read_items

    if source is None:
        raise ValueError("ITEMS must be given: a file of questions (or --synthetic WORLD.toml); got none")
    # The words are checked there.
    return read_items(source, format=shape, identical=identical, empty=empty, limit=limit)  # type: ignore[arg-type]


def _live(model: str | None, role_models: list[str], **given: Any) -> dict[str, Agent]:
    import os

    from d3stats.agents.live import LiveAgent

    if model is None:
        raise ValueError("--model must name the model to ask; got none")
    key_env = given["key_env"]
    if key_env is not None and not os.environ.get(key_env):
        raise ValueError(
            f"--key-env must name an environment variable that is set; got {key_env!r}, which is not"
        )
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    named = {"default": model}
    for text in role_models:
        role, equals, other = (part.strip() for part in text.partition("="))
        if not (role and equals and other):
            raise ValueError(f"--role-model must be written ROLE=NAME; got {text!r}")
        named[role] = other
    made = {name: LiveAgent(name, **settings) for name in dict.fromkeys(named.values())}
    return {role: made[name] for role, name in named.items()}


def _of_world(path: Path, source: str | None, limit: int | None, seed: int) -> tuple[Agent, list[DebateItem]]:
    import tomllib

    from d3stats.agents.synthetic import synthetic_agent, synthetic_items
    from d3stats.debates.items import DebateItem
    from d3stats.worlds.read import from_table

    if source is not None:
        raise ValueError(f"ITEMS must not be given with --synthetic, which makes its own; got {source!r}")
    try:
        world = from_table(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    made = synthetic_items(world, SYNTHETIC_ITEMS if limit is None else limit, seed)
    items = [DebateItem(one.question, one.text, one.candidates, one.answers, one.label) for one in made]
    return synthetic_agent(world, seed), items
