"""``d3stats doctor``: what is wrong with a log, in words."""

from __future__ import annotations

import typer

from d3stats.cli.options import Json, Logs, paths_of
from d3stats.cli.output import working


def doctor(logs: Logs, as_json: Json = False) -> None:
    """Examine a log. Exit code 0: clean; 2: found something; 1: could not run."""
    from d3stats.log.doctor import examine

    with working("examining"):
        report = examine(*paths_of(logs))
    typer.echo(report.to_json() if as_json else report.to_text())
    raise typer.Exit(report.exit_code)
