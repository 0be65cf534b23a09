"""Put a study's tables into its findings, each between its marks, so that no number is copied by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["filled", "write"]

Tables = Mapping[str, pd.DataFrame]
Shown = Callable[[Tables], Tables]


def filled(text: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """Return a text of Markdown with each table between ``<!-- name -->`` and ``<!-- end -->``."""
    for name, frame in tables.items():
        head = "| " + " | ".join(map(str, frame.columns)) + " |\n|" + "---|" * frame.shape[1]
        body = "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in frame.itertuples(index=False))
        pattern = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)"
        text, found = re.subn(pattern, rf"\g<1>\n{head}\n{body}\n\n\g<2>", text, flags=re.DOTALL)
        if found != 1:
            raise ValueError(f"findings must have one place for {name!r}; got {found}")
    return text


def write(folder: Path, out: Path, found: Mapping[str, pd.DataFrame], shown: Shown) -> Tables:
    """Write a CSV per table to `out`; when that is the study's own folder, refresh its findings as well.

    Returns the tables as shown, made from the numbers as written: so the findings follow from the CSVs alone.
    """
    written = {}
    for stem, frame in found.items():
        frame.to_csv(out / f"{stem}.csv", index=False, float_format="%.6g", lineterminator="\n")
        written[stem] = pd.read_csv(out / f"{stem}.csv")
    tables = shown(written)
    if out == folder:
        findings = folder / "findings.md"
        findings.write_text(filled(findings.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return tables


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
