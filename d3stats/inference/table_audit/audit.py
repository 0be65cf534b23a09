"""Does my table hold? Every check that its columns allow, and which were left out for want of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from d3stats._check import choice
from d3stats._words import counted
from d3stats.inference.table_audit.finding import Finding, Verdict, findings_frame, findings_latex
from d3stats.inference.table_audit.user_checks import CHECKS
from d3stats.inference.table_audit.user_table import Reading, UserTable, read_table, readings, said_of

__all__ = ["TableAudit", "audit_table"]


@dataclass(frozen=True, slots=True)
class TableAudit:
    """What the checks of one table found.

    Attributes
    ----------
    findings : tuple of Finding
        In the order of the checks.
    left_out : dict of str to str
        Checks that were not made, and why.
    ignored : tuple of str
        Columns that no check reads.
    notes : tuple of str
        What was decided in reading: the unit of each column, whether digits were rounded or cut off.
    """

    findings: tuple[Finding, ...]
    left_out: Mapping[str, str]
    ignored: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """Return the findings with this verdict."""
        return tuple(f for f in self.findings if f.verdict == verdict)

    @property
    def holds(self) -> bool:
        """Whether nothing is inconsistent."""
        return not self.of("inconsistent")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per finding."""
        return findings_frame(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return findings, what was left out and the verdict, as JSON can hold them."""
        return {
            "holds": self.holds,
            "findings": [asdict(f) for f in self.findings],
            "left_out": dict(self.left_out),
            "ignored_columns": list(self.ignored),
            "notes": list(self.notes),
        }

    def to_latex(self) -> str:
        """Return a booktabs tabular, one row per finding."""
        return findings_latex(self.findings)

    def summary(self) -> str:
        """Return the counts in a line."""
        if not self.findings:
            return "Nothing was checked: no check has all of its columns."
        wrong, depends, right = (len(self.of(v)) for v in ("inconsistent", "conditional", "consistent"))
        return (
            f"{counted(len(self.findings), 'finding')}: {wrong} inconsistent, {depends} possible only if something "
            f"else holds, {right} consistent."
        )

    def __str__(self) -> str:
        ordered = [
            f for v in ("inconsistent", "conditional", "consistent") for f in self.findings if f.verdict == v
        ]
        return "\n".join([self.summary(), *map(str, ordered), *(f"Note: {note}." for note in self.notes)])


def audit_table(
    frame: pd.DataFrame, *, checks: Sequence[str] | None = None, n: int | None = None
) -> TableAudit:
    """Hold every number of a table against the others, rounding allowed for.

    A table is read in the way in which the fewest numbers are inconsistent, one unit a column; `notes` say which.

    Parameters
    ----------
    frame : DataFrame
        One row per system. Columns that are read (upper and lower case alike): ``system`` (or ``model``, ``method``,
        ``framework``, ``configuration``, ``name``), ``accuracy`` and ``baseline`` (the accuracy compared with),
        ``kappa``, ``n`` (items), ``gain`` (accuracy less baseline), ``relative_gain``, ``gained`` and ``lost`` (items
        right in this run alone, and in the baseline alone: counts, percent or shares of n), ``t``, ``p`` (of that t,
        where both are printed), ``tokens``, ``cost``, ``tokens_per_point``, ``cost_per_point`` (per percentage point of
        accuracy). Cells should be text: read a CSV with ``dtype=str``, for a float has lost its closing zeros. A row
        called "average" or "mean", "overall", "total" or "all" is checked against the others.
    checks : sequence of str, optional
        Names in ``CHECKS``; by default all.
    n : int, optional
        Number of items of every row, when there is no column ``n``.

    Returns
    -------
    TableAudit

    Raises
    ------
    ValueError
        When a check is unknown, or wanted by name and its columns are missing; when the table cannot be read.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["MORE", "SAMRE"], "accuracy": ["85.0", "86.3"], "baseline": ["72.5", "72.5"],
    ...                       "gain": ["12.5", "14.8"]})
    >>> found = audit_table(table, n=80)
    >>> print(found.of("inconsistent")[0])
    SAMRE, gain: printed 14.8, implied 13.8 (13.7 to 13.9): inconsistent (other entries than those printed)
    """
    table = read_table(frame, n=n)
    wanted = list(CHECKS) if checks is None else [choice("check", name, CHECKS) for name in checks]
    first: TableAudit | None = None
    best: tuple[int, Reading, TableAudit] | None = None
    for reading in readings(table):
        found = _made(table.read_as(reading), wanted)
        first = first or found
        wrong = len(found.of("inconsistent"))
        if best is None or wrong < best[0]:
            best = wrong, reading, found
        if not wrong:
            break
    if first is None or best is None:
        raise AssertionError("every table has a reading")
    wrong, reading, found = best
    if checks is not None and found.left_out:
        name, why = next(iter(found.left_out.items()))
        raise ValueError(f"check {name!r} must have its columns ({', '.join(CHECKS[name].needs)}); got {why}")
    return replace(
        found, notes=(*_notes(table, reading, len(first.of("inconsistent")) - wrong), *table.notes)
    )


def _made(table: UserTable, wanted: Sequence[str]) -> TableAudit:
    """Make the wanted checks of a table in one reading."""
    findings: list[Finding] = []
    left_out: dict[str, str] = {}
    for name in wanted:
        check = CHECKS[name]
        made = list(check.run(table))
        findings += made
        if not made:
            missing = [c for c in check.needs if c not in table.columns]
            left_out[name] = f"no {' and no '.join(missing)}" if missing else "no rows that it could compare"
    return TableAudit(tuple(findings), left_out, table.ignored)


def _notes(table: UserTable, reading: Reading, saved: int) -> list[str]:
    """Say how the table was read, and why not in the first way."""
    notes = []
    first = next(readings(table))
    if units := said_of(table, reading):
        notes.append(f"read as {units}")
    if reading.units["accuracy"] == "share" and "accuracy" in table.columns:
        notes.append('accuracies are at most 1 and have no "%"; percentages below 1 need one')
    if saved:
        changes = [f"as {said_of(table, first)}"] if dict(first.units) != dict(reading.units) else []
        changes += ["rounded, not cut off"] if reading.cut_off else []
        notes.append(f"read {', '.join(changes)}, {saved} more findings would be inconsistent")
    if reading.cut_off:
        notes.append("digits are taken as cut off, not rounded")
    return notes
