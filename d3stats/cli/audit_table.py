"""``d3stats audit-table``: are the numbers of a printed table consistent with each other?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli.options import Json, Latex, one_format
from d3stats.cli.output import print_json, print_text

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.inference.printed_tables import Finding, TableAudit

HEADS = {
    "inconsistent": "Inconsistent: no unrounded numbers fit all of these",
    "conditional": "Possible only under a further condition",
    "consistent": "Consistent",
}


def audit_table(
    file: Annotated[
        Path | None, typer.Argument(help="A CSV with one row per system and each number as printed.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Number of items in every row, if there is no column n.")
    ] = None,
    check: Annotated[
        list[str] | None, typer.Option("--check", help="Run only this check; repeatable; default: all.")
    ] = None,
    checks: Annotated[
        bool, typer.Option("--checks", help="List the checks and the columns that they need.")
    ] = False,
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
        raise ValueError("FILE must be a CSV; got none (--checks lists what is checked)")
    from d3stats.inference.printed_tables import audit_table as audit

    found = audit(_read(file), checks=check or None, n=n)
    if as_json:
        print_json(found.to_dict())
    elif as_latex:
        typer.echo(found.to_latex())
    else:
        _show(found)
    if strict and not found.holds:
        raise typer.Exit(1)


def _read(file: Path) -> pd.DataFrame:
    """Read a CSV as text, for 0.60 says more than 0.6; a row with more cells than columns is refused, not shifted."""
    import pandas as pd

    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = [x for x in csv.reader(stream, skipinitialspace=True) if any(map(str.strip, x))]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{file} must be a CSV in UTF-8; got: {error}") from None
    if not lines:
        raise ValueError(f"{file} must be a CSV with a line of column names; got an empty file")
    columns, *rows = lines
    if len(columns) == 1 and (separator := next((x for x in ";\t|" if x in columns[0]), None)):
        raise ValueError(
            f"{file} must have its columns separated by commas; got {separator!r} in {columns[0]!r}"
        )
    for row in rows:
        if len(row) > len(columns):
            raise ValueError(
                f"{file} must have at most one cell a column ({len(columns)}) in each row; got {len(row)} in row "
                f"{row[0]!r} (put a number that holds a comma in quotes)"
            )
    return pd.DataFrame(
        [[*row, *[""] * (len(columns) - len(row))] for row in rows], columns=columns, dtype=str
    )


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
