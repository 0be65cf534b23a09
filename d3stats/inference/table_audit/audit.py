"""Does my table hold? Every check that its columns allow, and which were left out for want of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from d3stats._check import choice
from d3stats.inference.table_audit.finding import Finding, Verdict, findings_frame, findings_latex
from d3stats.inference.table_audit.user_checks import CHECKS
from d3stats.inference.table_audit.user_table import read_table

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
    """

    findings: tuple[Finding, ...]
    left_out: Mapping[str, str]
    ignored: tuple[str, ...]

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
        }

    def to_latex(self) -> str:
        """Return a booktabs tabular, one row per finding."""
        return findings_latex(self.findings)

    def summary(self) -> str:
        """Return the counts in a line."""
        wrong, depends, right = (len(self.of(v)) for v in ("inconsistent", "conditional", "consistent"))
        return (
            f"{len(self.findings)} findings: {wrong} inconsistent, {depends} possible only if something else holds, "
            f"{right} consistent."
        )

    def __str__(self) -> str:
        ordered = [
            f for v in ("inconsistent", "conditional", "consistent") for f in self.findings if f.verdict == v
        ]
        return "\n".join([self.summary(), *map(str, ordered)])


def audit_table(
    frame: pd.DataFrame, *, checks: Sequence[str] | None = None, n: int | None = None
) -> TableAudit:
    """Hold every number of a table against the others, rounding allowed for.

    Parameters
    ----------
    frame : DataFrame
        One row per system. Columns that are read (upper and lower case alike): ``system`` (or ``model``, ``method``,
        ``framework``, ``configuration``, ``name``), ``accuracy`` and ``baseline`` (the accuracy compared with; both
        in percent, or both shares), ``kappa``, ``n`` (items), ``gain`` (in the units of accuracy), ``relative_gain``
        (percent), ``gained`` and ``lost`` (items, percent), ``t``, ``p``, ``tokens``, ``cost``,
        ``tokens_per_point``, ``cost_per_point``. Cells should be text: read a CSV with ``dtype=str``, for a float has
        lost its closing zeros. A row called "average" or "mean", "overall", "total" or "all" is checked against the
        others.
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
    findings: list[Finding] = []
    left_out: dict[str, str] = {}
    for name in wanted:
        check = CHECKS[name]
        made = list(check.run(table))
        findings += made
        if not made:
            missing = [c for c in check.needs if c not in table.columns]
            left_out[name] = f"no {' and no '.join(missing)}" if missing else "no rows that it could compare"
    if checks is not None and left_out:
        name, why = next(iter(left_out.items()))
        raise ValueError(f"check {name!r} must have its columns ({', '.join(CHECKS[name].needs)}); got {why}")
    return TableAudit(tuple(findings), left_out, table.ignored)
