"""``d3stats doctor``: list the problems of a log, and write a copy without the defective records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from d3stats._words import visible_json
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Json, Logs, paths_of
from d3stats.cli.output import prose_columns, say, working

Fix = Annotated[
    Path | None,
    typer.Option(
        "--fix",
        help="Write a copy without the defective records to this path: .jsonl, .csv, .csv.gz or .parquet.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="With --fix: replace the file if it exists.")]


@derived("d3stats.log.doctor:doctor", {"logs": Logs}, without=("log",))
def doctor(given: Given, fix: Fix = None, overwrite: Overwrite = False, as_json: Json = False) -> None:
    """Check a log or a table for problems. Exit code 0: no problem; 2: problems found; 1: the check could not run."""
    if overwrite and fix is None:
        raise ValueError("--overwrite must come with --fix; got --overwrite alone")
    for name in ("read", "scorer"):
        if fix is not None and given.reading.get(name) is not None:
            raise ValueError(
                f"--fix must come without --{name}, because a copy keeps all votes as they are written; got both"
            )
    paths = paths_of(given.source)
    if fix is not None:
        from d3stats.log.doctor import fix_log

        with working("writing a clean copy"):
            fixed = fix_log(paths, fix, overwrite=overwrite, **given.reading)
        say(visible_json(fixed.to_json()) if as_json else fixed.to_text(prose_columns()))
        raise typer.Exit(fixed.exit_code)
    from d3stats.report.other_tables import other_table

    with working("examining"):
        found = other_table(paths, given.reading) or given(*paths)
    say(visible_json(found.to_json()) if as_json else found.to_text(prose_columns()))
    raise typer.Exit(found.exit_code)
