"""``d3stats audit-table``: are the numbers of a printed table consistent with each other?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.options import Encoding, Json, Latex, one_format, reading
from d3stats.cli.output import print_json, print_text

if TYPE_CHECKING:
    from d3stats.inference.printed_tables import Finding, TableAudit

HEADS = {
    "inconsistent": "Inconsistent: no unrounded numbers fit all of these",
    "conditional": "Possible only under a further condition",
    "consistent": "Consistent",
}


def audit_table(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A table (CSV, TSV, XLSX, Parquet, JSON lines): one row per system, each number as printed."
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Number of items in every row, if there is no column n.")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="CHECK",
            autocompletion=completion.checks,
            help="Run only this check (--checks lists them); repeatable; default: all.",
        ),
    ] = None,
    checks: Annotated[
        bool, typer.Option("--checks", help="List the checks and the columns that they need.")
    ] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="NAME=OWN,...",
            help="Own names of the columns of FILE, as accuracy=Acc.,n=Items; repeatable.",
        ),
    ] = None,
    encoding: Encoding = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when a finding is inconsistent.")] = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Check whether a table's printed numbers fit together: shares of n, gains, t and p, kappas, costs."""
    one_format(as_json, as_latex)
    if checks:
        _list_checks(as_json)
        return
    if file is None:
        raise ValueError(
            "FILE must be a table with one row per system; got none (--checks lists what is checked)"
        )
    from d3stats.inference.printed_tables import audit_table as audit

    how = {
        name: value for name, value in reading(None, columns, encoding).items() if name != "missing_values"
    }
    found = audit(file, checks=check or None, n=n, **how)
    if as_json:
        print_json(found.to_dict())
    elif as_latex:
        typer.echo(found.to_latex())
    else:
        _show(found)
    if strict and not found.holds:
        raise typer.Exit(1)


def _show(found: TableAudit) -> None:
    print_text(found.summary().splitlines()[0])
    for verdict, head in HEADS.items():
        findings = [f for f in found.findings if f.verdict == verdict]
        if findings:
            typer.echo(f"\n{head}")
            for finding in findings:
                _show_finding(finding)
    if found.notes:
        typer.echo("\nNotes")
        for note in found.notes:
            _wrapped(note)
    if found.left_out:
        typer.echo("\nNot checked")
        for name, why in found.left_out.items():
            _wrapped(f"{name}: {why}")
    if found.ignored:
        _wrapped(f"columns that no check reads: {', '.join(found.ignored)}")


def _show_finding(finding: Finding) -> None:
    _wrapped(f"{finding.place}, {finding.check}: printed {finding.printed}; implied {finding.implied}")
    if finding.needed:
        _wrapped(f"needs {finding.needed}", indent="      ")


def _wrapped(text: str, indent: str = "  ") -> None:
    print_text(text, indent, indent + "    ")


def _list_checks(as_json: bool) -> None:
    from d3stats.inference.printed_tables.table import CHECKS

    if as_json:
        print_json({c.name: {"needs": list(c.needs), "asks": c.asks} for c in CHECKS.values()})
        return
    for check in CHECKS.values():
        needs = f" ({', '.join(check.needs)})" if check.needs else ""
        _wrapped(f"{check.name}: {check.asks}{needs}")
