"""A paper's numbers as printed, from its TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from printed_tables import Finding

__all__ = ["Paper", "if_only", "read"]


@dataclass(frozen=True)
class Paper:
    """Tables, sizes and numbers in the text, all as they are printed."""

    name: str
    tables: dict[str, list[dict[str, str]]]
    sizes: dict[str, str]
    text: dict[str, dict[str, Any]]
    labels: list[int]

    def size(self, name: str) -> int:
        """Return a number of items."""
        return int(self.sizes[name].replace(",", ""))

    def row(self, table: str, **cells: str) -> dict[str, str]:
        """Return the one row of a table that has these cells."""
        (found,) = (r for r in self.tables[table] if cells.items() <= r.items())
        return found


def read(path: Path) -> Paper:
    """Read a paper's file."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    tables = {
        name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        for name, table in raw["tables"].items()
    }
    counts = raw.get("labels", {}).get("counts", [])
    return Paper(raw["paper"], tables, raw["sizes"], raw["text"], counts)


def if_only(found: Finding, needed: str) -> Finding:
    """Return an inconsistent finding with what would have to be true, where the check cannot know it."""
    return replace(found, needed=needed) if found.verdict == "inconsistent" else found
