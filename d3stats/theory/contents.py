"""The catalogue as a table: what is claimed, by whom, whether it is true, and how one can tell."""

from __future__ import annotations

from d3stats._latex import booktabs
from d3stats.theory.catalogue import claims
from d3stats.theory.page import standing
from d3stats.theory.sources import short_name

__all__ = ["COLUMNS", "contents", "contents_latex"]

COLUMNS = ("claim", "source", "verdict", "evidence")
"""Names of the columns; the evidence is the smallest counterexample known, or the examples on record."""


def contents() -> list[tuple[str, str, str, str]]:
    """Return one row per claim, in the order of the catalogue.

    Examples
    --------
    >>> [row[:3] for row in contents() if row[0] == "sign-agreement"]
    [('sign-agreement', 'd3stats', 'holds')]
    """
    return [
        (name, short_name(entry.source.work), entry.status, standing(entry))
        for name, entry in claims().items()
    ]


def contents_latex() -> str:
    """Return the table for LaTeX, with the rules of booktabs."""
    return booktabs("lllp{0.45\\linewidth}", COLUMNS, contents())
