"""``d3stats count``: how many votes were right in each round, file by file, kept for later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Latex, Logs, left_out, omitted_notes, one_format, paths_of
from d3stats.cli.output import print_document, print_latex, print_result, say, tables_of, working


@derived("d3stats.log.counting:count", {"logs": Logs})
def count(
    given: Given,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File for the counts, ending in .parquet; d3stats fit reads it like a log.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Count right votes by round, in every file by itself, on as many processes or machines as there are."""
    from d3stats.log.counts_file import write_counts

    one_format(as_json, as_latex)
    if overwrite and out is None:
        raise ValueError("--overwrite must come with --output; got --overwrite alone")
    if out is not None and not out.name.endswith(".parquet"):
        raise ValueError(f"--output must end in .parquet; got {str(out)!r}")
    if out is not None and not out.absolute().parent.is_dir():
        raise ValueError(f"the folder of --output must exist; got {str(out)!r}")
    if out is not None and out.exists() and not overwrite:
        raise ValueError(f"--output must not exist, or be given with --overwrite; got {str(out)!r}")
    with working("counting"):
        found = given(*paths_of(given.source))
        omitted = left_out(found.problems)
        if out is not None:
            write_counts(found, out)
    notes = omitted_notes(omitted)
    if as_json:
        print_document(found.to_dict(), notes, left_out=omitted)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        print_result(found, everything=everything, notes=notes)
        if out is not None:
            say(f"Counts are in {out}.")
