"""``d3stats report``: one page about one or several logs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from d3stats.cli.options import (
    Columns,
    Encoding,
    Level,
    Missing,
    MissingValues,
    Roles,
    Seed,
    reading,
)
from d3stats.cli.output import print_notes, print_text, working


def checked_page(path: Path) -> Path:
    """Refuse a place where no page can be written, before anything is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--output must end in .html; got {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"--output must lie in a folder that exists; got {str(path)!r}")
    return path


def report(
    context: typer.Context,
    logs: Annotated[
        list[str],
        typer.Argument(
            help="Logs and tables (JSONL, CSV, TSV, XLSX, Parquet), or 'slm7'. Each is a log of its own, and several "
            "are compared; a glob in quotes is one log."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--output", "-o", callback=checked_page, help="Where the page goes.")
    ] = Path("report.html"),
    names: Annotated[
        list[str] | None, typer.Option("--name", help="What a log is called; once per log.")
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rule", "-r", help="A rule, e.g. 'fixed:2' or 'supermajority:0.8'; repeatable."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", help="Prices of models (TOML), dated, in dollars per million tokens."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="Whose prices; by default the only model's, or each turn's as logged."),
    ] = None,
    transcripts: Annotated[
        int, typer.Option("--transcripts", help="How many of the most disputed debates are shown.")
    ] = 5,
    missing: Missing = "exclude",
    level: Level = 0.95,
    n_boot: Annotated[
        int | None,
        typer.Option("--n-boot", help="Bootstrap draws; by default 500 for rounds and 2000 for rules."),
    ] = None,
    roles: Roles = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    seed: Seed = 0,
) -> None:
    """Write one HTML page about a log: rounds, stopping rules, agreement, bias, costs and disputed debates."""
    from d3stats._words import counted
    from d3stats.report.analysis import analyse

    with working("analysing"):
        found = analyse(
            *logs,
            names=names,
            rules=rules,
            prices=prices,
            model=model,
            roles=roles,
            missing=missing,  # type: ignore[arg-type]  # checked by the library, in its words
            level=level,
            n_boot=n_boot,
            transcripts=transcripts,
            rng=seed,
            command=command_of(context),
            **reading(missing_values, columns, encoding),
        )
        found.to_html(out)
    print_text(f"{out}: {counted(len(found.sections), 'section')} on {' and '.join(found.logs)}")
    print_notes(found.notes)


def command_of(context: typer.Context) -> str:
    """Return the command as it was typed, without the folder of the page."""
    words = ["d3stats", str(context.info_name)]
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        value: Any = context.params.get(str(option.name))
        if source is None or source.name != "COMMANDLINE":
            continue
        given = value if isinstance(value, (list, tuple)) else [value]
        for one in given:
            text = one.name if option.name == "out" else str(one)
            words += [text] if option.param_type_name == "argument" else [max(option.opts, key=len), text]
    return shlex.join(words)
