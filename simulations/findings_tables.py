"""What studies share: where the real logs are, and tables put into findings, so that no number is copied by hand."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["data_folder", "filled", "run_on_data", "write"]

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


def data_folder() -> Path:
    """Return where the real logs are: ``D3STATS_DATA``, or the folder beside the repository."""
    return Path(os.environ.get("D3STATS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def run_on_data(
    folder: Path, about: str, study: Callable[[Path], Mapping[str, pd.DataFrame]], shown: Shown
) -> None:
    """Run a study of real logs from the command line: write its tables and print them; no data is an error."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=folder, help="folder for the CSV files")
    out = parser.parse_args().out
    data = data_folder()
    if not data.is_dir():
        sys.exit(f"REAL LOGS NOT READ: no folder {data} (set D3STATS_DATA)")
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(folder, out.resolve(), study(data), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
