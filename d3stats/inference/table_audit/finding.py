"""What a check found: printed, implied, and what would have to be true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

from d3stats._latex import booktabs

__all__ = ["Finding", "Verdict", "findings_frame", "findings_latex"]

Verdict = Literal["consistent", "inconsistent", "conditional"]
COLUMNS = ("place", "check", "printed", "implied", "verdict", "needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One printed number held against the others.

    Attributes
    ----------
    check : str
        What was checked.
    place : str
        Where the number stands.
    printed, implied : str
        As printed, and what the other numbers imply (a range where rounding leaves one).
    verdict : {"consistent", "inconsistent", "conditional"}
        "conditional" holds only if `needed` does, which the table does not say.
    needed : str
        What would have to be true.
    """

    check: str
    place: str
    printed: str
    implied: str
    verdict: Verdict
    needed: str = ""

    def __str__(self) -> str:
        needed = f" ({self.needed})" if self.needed else ""
        return f"{self.place}, {self.check}: printed {self.printed}, implied {self.implied}: {self.verdict}{needed}"


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row per finding."""
    return pd.DataFrame([asdict(f) for f in findings], columns=list(COLUMNS))


def findings_latex(findings: Iterable[Finding]) -> str:
    """Return a booktabs tabular, one row per finding."""
    rows = [tuple(str(asdict(f)[c]) for c in COLUMNS) for f in findings]
    return booktabs("llllll", COLUMNS, rows)
