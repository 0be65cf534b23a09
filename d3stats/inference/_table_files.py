"""Tables of runs and of ratings as files: which words mean that a cell is missing, and which text is a number."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats.estimate import counted
from d3stats.values import canonical

__all__ = [
    "MISSING_WORDS",
    "TableFile",
    "answer",
    "blank_clusters",
    "is_table",
    "question_clusters",
    "read_table",
]

MISSING_WORDS = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What programs write for a missing cell, as pandas reads it; names of items and raters may be such words."""

_CSV = (".csv", ".csv.gz")
_PARQUET = (".parquet", ".pq")
_NAMES = ("item", "rater")
_BOOLEANS = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class TableFile:
    """A table that was read, and by column what was done to its cells."""

    frame: pd.DataFrame
    notes: dict[str, str] = field(default_factory=dict)


def is_table(path: str | Path) -> bool:
    """Say whether this is a CSV or Parquet file that exists; a name in brackets may be one."""
    return str(path).lower().endswith((*_CSV, *_PARQUET)) and Path(path).is_file()


def read_table(path: str | Path, *, texts: Collection[str] | None = None) -> TableFile:
    """Read a CSV or Parquet table.

    Parameters
    ----------
    path : str or Path
    texts : collection of str, optional
        Columns of a CSV that stay text, for an item called 007 is not item 7; by default all. Others become numbers
        where all their cells are.

    Raises
    ------
    ValueError
        When a CSV is empty or none.
    """
    if not str(path).lower().endswith(_CSV):
        return TableFile(_parquet(str(path)))
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a table with a line of column names; got: {error}") from None
    notes = {}
    for column in frame.columns:
        cells = frame[column].astype(object)
        words = cells.isin(MISSING_WORDS) if column not in _NAMES else cells != cells
        if words.any():
            named = ", ".join(map(repr, sorted(set(cells[words]))))
            notes[column] = (
                f"read as missing in column {column!r}: {counted(int(words.sum()), 'cell')} ({named})"
            )
        cells = cells.mask(words | (cells == ""), None)
        frame[column] = cells if texts is None or column in texts else _numbers(cells)
    return TableFile(frame, notes)


def _parquet(path: str) -> pd.DataFrame:
    import duckdb

    # A pattern to DuckDB, so signs of patterns are put in brackets.
    literal = re.sub(r"([*?[])", r"[\1]", path)
    with duckdb.connect() as connection:
        frame: pd.DataFrame = connection.read_parquet(literal).df()
    return frame


def _numbers(cells: pd.Series) -> pd.Series:
    said = cells.dropna().str.lower()
    if len(said) and said.isin(_BOOLEANS).all():
        cells = cells.str.lower().map(_BOOLEANS)
    try:
        return pd.to_numeric(cells).astype("float64")
    except (TypeError, ValueError):
        return cells


def answer(value: Any) -> str:
    """Write an answer as text: 1, 1.0, "1" and "1.0" are one answer.

    Examples
    --------
    >>> answer(1.0), answer("1.0"), answer("007"), answer("a")
    ('1', '1', '007', 'a')
    """
    (text,) = canonical([value], missing_values=(), names=True).columns[0]
    return "" if text is None else str(text)


def question_clusters(frame: pd.DataFrame) -> str:
    """Return the column that says which items hang together: "cluster", else a "question" of several items, else ""."""
    if "cluster" in frame.columns:
        return "cluster"
    if "question" not in frame.columns:
        return ""
    item = frame["item"] if "item" in frame.columns else frame.index.to_series()
    several = item.groupby(frame["question"]).nunique()
    return "question" if len(several) and several.max() > 1 else ""


def blank_clusters(n_items: int) -> str:
    """Say that some items have a blank for their cluster."""
    many = "is a cluster of its own" if n_items == 1 else "are clusters of their own"
    return f"{counted(n_items, 'item')} without a cluster, where others have one, {many}"
