"""``d3stats import``: convert the logs of other tools."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import Json
from d3stats.cli.output import print_json, print_notes, print_text, working


def import_(
    format_name: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            autocompletion=completion.formats,
            help="The tool or paper that made the log; 'list' shows all.",
        ),
    ],
    source: Annotated[
        Path | None, typer.Argument(metavar="SRC", help="The file or folder to convert.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The log to write (JSONL).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the log if it exists.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Keep the texts of the agents.")] = False,
    reading: Annotated[
        str | None,
        typer.Option(
            "--reading",
            metavar="d3stats.log.importers.answers:READINGS",
            help="Reading of answers from texts: in any form, or only in the form that the prompt asked for.",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorer", metavar="NAME", help="The scorer that is read, in a log of Inspect with several."
        ),
    ] = None,
    filter_name: Annotated[
        str | None,
        typer.Option(
            "--filter", metavar="NAME", help="The filter that is read, in lm-eval samples with several."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", metavar="NAME", help="The metric that is read, in lm-eval samples with several."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", metavar="NAME", help="The baseline of Arena-Hard, where its files do not name it."
        ),
    ] = None,
    votes: Annotated[
        str | None,
        typer.Option(
            "--votes",
            metavar="d3stats.log.importers._ratings:Votes",
            help="Votes of judges that gave both: their scores, or their labels such as pass and fail.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Convert the debate log of another tool or paper to a log of d3stats.

    A table of your own (CSV, TSV, XLSX, Parquet, JSON Lines) needs no import, because every command reads it.
    """
    from d3stats.log.importers import available, import_log

    if format_name == "list":
        formats = available()
        if as_json:
            print_json({name: module.title for name, module in formats.items()})
        else:
            width = max(map(len, formats)) + 2
            for name, module in formats.items():
                print_text(module.title, f"{name:<{width}}", " " * width)
        return
    if source is None or output is None:
        absent = "SRC" if source is None else "--output"
        raise ValueError(f"{absent} must be given: d3stats import FORMAT SRC -o LOG")
    options: dict[str, object] = {"text": text}
    typed = {
        "reading": reading,
        "scorer": scorer,
        "filter": filter_name,
        "metric": metric,
        "baseline": baseline,
        "votes": votes,
    }
    options |= {name: given for name, given in typed.items() if given is not None}
    with working(f"importing {source}"):
        summary = import_log(format_name, source, output, overwrite=overwrite, **options)
    if as_json:
        print_json({**asdict(summary), "log": str(output)})
        return
    print_text(
        f"{output}: {summary.n_debates} debates, {summary.n_turns} turns, "
        f"{summary.n_missing_votes} missing votes"
    )
    print_notes(summary.notes)
