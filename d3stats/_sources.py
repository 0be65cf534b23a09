"""What users hand in as a log or a table: names of files and of bundled tables, frames of pandas and of polars."""

from __future__ import annotations

from glob import has_magic
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats._check import nearest

__all__ = ["BUNDLED", "as_frame", "as_path", "is_frame"]

BUNDLED = ("slm7",)
"""Logs that come with the package and are known by name."""


def as_path(name: str | Path) -> str:
    """Return a file or glob as it was given, or the file of a bundled log.

    Raises
    ------
    FileNotFoundError
        When the name is none of these; the message names the nearest file of that folder, or bundled log.
    """
    text = str(name)
    if text in BUNDLED:
        return str(Path(__file__).parent / "datasets" / f"{text}.csv")
    path = Path(text)
    if path.exists() or has_magic(text):
        return text
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"paths must exist; got {text!r}, and there is no folder {str(folder)!r}")
    near = nearest(path.name, [*BUNDLED, *(each.name for each in folder.iterdir())])
    found = near if near is None or near in BUNDLED else str(folder / near)
    hint = "" if found is None else f"; did you mean {found!r}?"
    raise FileNotFoundError(f"paths must exist; got {text!r}{hint}")


def is_frame(source: Any) -> bool:
    """Say whether this is a DataFrame of pandas or of polars."""
    return isinstance(source, pd.DataFrame) or type(source).__module__.partition(".")[0] == "polars"


def as_frame(source: Any) -> pd.DataFrame:
    """Return a DataFrame of pandas or of polars as one of pandas."""
    if isinstance(source, pd.DataFrame):
        return source
    eager = source.collect() if hasattr(source, "collect") else source
    # Without pyarrow, which polars' own conversion needs.
    return pd.DataFrame(eager.to_dict(as_series=False))
