"""``d3stats doctor``: list the problems of a log, and write a copy without the defective records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from d3stats.cli.options import Columns, Encoding, Json, Logs, MissingValues, SheetName, paths_of, reading
from d3stats.cli.output import prose_columns, working

Fix = Annotated[
    Path | None,
    typer.Option(
        "--fix",
        help="Write a copy without the defective records to this path: .jsonl, .csv, .csv.gz or .parquet.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="With --fix: replace the file if it exists.")]


def doctor(
    logs: Logs,
    fix: Fix = None,
    overwrite: Overwrite = False,
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    as_json: Json = False,
) -> None:
    """Check a log or a table for problems. Exit code 0: no problem; 2: problems found; 1: the check could not run."""
    if overwrite and fix is None:
        raise ValueError("--overwrite must come with --fix; got --overwrite alone")
    how = reading(missing_values, columns, encoding, None, sheet)
    if fix is not None:
        from d3stats.log.doctor import fix_log

        with working("writing a clean copy"):
            fixed = fix_log(paths_of(logs), fix, overwrite=overwrite, **how)
        typer.echo(fixed.to_json() if as_json else fixed.to_text(prose_columns()))
        raise typer.Exit(fixed.exit_code)
    from d3stats.log.doctor import doctor
    from d3stats.report.other_tables import other_table

    with working("examining"):
        other = other_table(paths_of(logs), how)
    if other is not None:
        typer.echo(other.to_json() if as_json else other.to_text(prose_columns()))
        raise typer.Exit(other.exit_code)
    with working("examining"):
        report = doctor(*paths_of(logs), **how)
    typer.echo(report.to_json() if as_json else report.to_text(prose_columns()))
    raise typer.Exit(report.exit_code)
