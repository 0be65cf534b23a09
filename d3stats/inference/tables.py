"""Tables of runs and of ratings as files: columns of text as they are written, and columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats._words import counted
from d3stats.log.column_names import (
    WHO,
    ColumnError,
    Columns,
    choice_of,
    one_role,
    other_names,
    plain,
    renamed,
    resolve,
)
from d3stats.log.files import LogFile, as_frame, as_path, find_files, is_frame, unusable
from d3stats.log.problems import Problem
from d3stats.log.reader import flat_rows, is_flat
from d3stats.log.sheets import Sheet, mapping_sheet, open_sheet
from d3stats.trajectories import as_trajectories
from d3stats.values import is_missing_word

__all__ = [
    "Fields",
    "TableFile",
    "blank_clusters",
    "is_table",
    "place_of",
    "question_clusters",
    "read_cells",
    "read_source",
    "read_table",
    "unread_note",
]

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx")
_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_PARQUET = (".parquet", ".pq")
_BOOLEANS = {"true": "1", "false": "0"}


class Lines:
    """The line of each row of a table in its file; a frame keeps it in its ``attrs``."""

    def __init__(self, file: str, line: Any) -> None:
        self.file, self.line = file, line

    def __deepcopy__(self, memo: object) -> Lines:
        return self  # pandas copies attrs with every frame


def place_of(frame: pd.DataFrame, row: int | str) -> str:
    """Return the place of a row of a table, to end an error with: file and line, or its number counted from 1.

    `row` counts from 0; the rows of a log are named by their debates.

    Examples
    --------
    >>> place_of(pd.DataFrame({"vote": ["A", "x"]}), 1)
    'at row 2 (counted from 1)'
    """
    if isinstance(row, str):
        return f"in debate {row!r}"
    lines = frame.attrs.get("lines")
    if lines is None:
        return f"at row {row + 1} (counted from 1)"
    return "in " + Problem(lines.file, int(lines.line[row]), None, "", "wrong field").place


@dataclass(frozen=True)
class Fields:
    """The columns of a table of items, which is told from a log of debates by them.

    Attributes
    ----------
    wanted : tuple of str
        Columns that may have the field's other names.
    needed : tuple of str
        Those without which no other name is looked for.
    choosable : tuple of str
        Columns that may be chosen besides.
    one_round : bool
        Whether the table of items has no rounds, so that rounds and agents beside a question say that it is a log.
    """

    wanted: tuple[str, ...]
    needed: tuple[str, ...]
    choosable: tuple[str, ...] = ()
    one_round: bool = False

    def is_log(self, names: Collection[Any], columns: Columns = None) -> bool:
        """Whether these are the columns of a log of debates rather than of a table of items."""
        chosen = choice_of(columns)
        if {"debate", "votes", "rounds"} & set(chosen):
            return True
        if "item" in chosen:
            return False
        if "item" in map(plain, names):
            return False
        try:
            (debate,) = resolve(names, ["debate"]).columns.get("debate", ("",))
            if debate and plain(debate) not in other_names("item"):
                return True
            of_turns = resolve(names, ["debate", "round", "agent", *chosen], columns=columns).columns
        except ColumnError:
            return False
        return self.one_round and {"debate", "round", "agent"} <= set(of_turns)

    def named(self, frame: pd.DataFrame, columns: Columns = None) -> tuple[pd.DataFrame, list[str]]:
        """Give the columns their standard names and say which had others."""
        known = {*self.wanted, *self.choosable}
        called = next((name for name in WHO if name in known), None)
        chosen = choice_of(columns) if called is None else one_role(columns, called)
        return renamed(frame, self.wanted, self.needed, columns=chosen, choosable=self.choosable)


@dataclass(frozen=True)
class TableFile:
    """A table that was read, which columns had other names, and by column what was done to its cells."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    cells: dict[str, str] = field(default_factory=dict)


def is_table(path: str | Path) -> bool:
    """Say whether this is a CSV, TSV, Excel or Parquet file that exists, or one of JSON lines without types.

    A name in brackets may be one.
    """
    if not Path(path).is_file():
        return False
    name = str(path).lower()
    return name.endswith((*_TEXT, *_PARQUET)) or (name.endswith(_LINES) and is_flat(*find_files([path])))


def read_table(
    path: str | Path,
    fields: Fields,
    *,
    texts: Collection[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> TableFile | None:
    """Read a CSV, TSV, Excel or Parquet table, or JSON lines without types; None where it is a log of debates.

    Parameters
    ----------
    path : str or Path
    fields : Fields
    texts : collection of str, optional
        Columns that stay text as it was written, to be read later by :mod:`d3stats.values`; by default
        all. Others become numbers where all their cells are, and words for missing are missing.
    columns : mapping, optional
        Own names of columns by their standard names.
    encoding : str, optional
        Encoding of a text file; UTF-8, and UTF-16 with its mark, need none.

    Raises
    ------
    ValueError
        When the file is empty or no table.
    """
    if str(path).lower().endswith(_PARQUET):
        frame = _parquet(str(path))
        if fields.is_log(frame.columns, columns):
            return None
        frame, taken = fields.named(frame, columns)
        frame.attrs["lines"] = Lines(str(path), range(1, len(frame) + 1))
        return TableFile(frame, taken)
    opened = _opened(path, encoding)
    if not isinstance(opened, Problem) and fields.is_log(opened.names, columns):
        return None
    sheet = _sound(opened)
    twice = next((name for name in sheet.names if name and sheet.names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} must name each column once; got {twice!r} twice")
    cells_of = {
        name: pd.Series(column.to_array(), dtype=object)
        for name, column in zip(sheet.names, sheet.columns, strict=True)
    }
    frame, taken = fields.named(pd.DataFrame(cells_of, columns=list(cells_of)), columns)
    frame.attrs["lines"] = Lines(sheet.name, sheet.line)
    said = {}
    for column in frame.columns:
        cells = frame[column].astype(object)
        if texts is not None and column not in texts:
            words = cells.notna() & cells.map(lambda cell: cell is not None and is_missing_word(cell))
            if words.any():
                named = ", ".join(map(repr, sorted(set(cells[words]))))
                said[column] = (
                    f"read as missing in column {column!r}: {counted(int(words.sum()), 'cell')} ({named})"
                )
            cells = _numbers(cells.mask(words, None))
        frame[column] = cells
    return TableFile(frame, [*taken, *sheet.notes], said)


def read_cells(path: str | Path, encoding: str | None = None) -> tuple[pd.DataFrame, Sheet]:
    """Read any table as texts, with the names of its columns as they are written; empty cells are "".

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Excel, Parquet, or JSON lines.
    encoding : str, optional
        Encoding of a text file; UTF-8, and UTF-16 with its mark, need none.

    Returns
    -------
    frame : DataFrame
        Rows in which no cell is filled are left out.
    sheet : Sheet
        The table as it was read: its name, its notes, and which columns hold numbers of the format's own.

    Raises
    ------
    ValueError
        When the file is empty or no table.
    """
    sheet = _sound(_opened(path, encoding))
    cells = {k: pd.Series(column.to_array(), dtype=object) for k, column in enumerate(sheet.columns)}
    frame = pd.DataFrame(cells, columns=list(cells)).fillna("")
    frame.columns = pd.Index(sheet.names, dtype=object)
    filled = frame.map(lambda cell: bool(str(cell).strip())).any(axis=1).to_numpy(dtype=bool)
    return frame[filled].reset_index(drop=True), sheet


def _opened(path: str | Path, encoding: str | None) -> Sheet | Problem:
    (file,) = find_files([path])
    return _lines_sheet(file) if file.format == "jsonl" else open_sheet(file, encoding)


def _sound(sheet: Sheet | Problem) -> Sheet:
    """Return a table without problems; refuse any other."""
    problems = [sheet] if isinstance(sheet, Problem) else sheet.problems
    if isinstance(sheet, Problem) or problems:
        first = problems[0]
        what = ":" if first.line is not None else " must be a table with a line of column names:"
        raise ValueError(f"{first.place}{what} {first.message}")
    if not sheet.names:
        raise ValueError(f"{sheet.name} must be a table with a line of column names; got none")
    return sheet


def _lines_sheet(file: LogFile) -> Sheet | Problem:
    whole = unusable(file)
    rows, problems = ([], [whole]) if whole else flat_rows(file)
    return problems[0] if problems else mapping_sheet(file.name, rows)


def _parquet(path: str) -> pd.DataFrame:
    import duckdb

    # A pattern to DuckDB, so signs of patterns are put in brackets.
    literal = re.sub(r"([*?[])", r"[\1]", path)
    try:
        with duckdb.connect() as connection:
            frame: pd.DataFrame = connection.read_parquet(literal).df()
    except duckdb.Error as error:
        raise ValueError(f"{path} must be a Parquet file; got: {str(error).splitlines()[0]}") from None
    return frame


def _numbers(cells: pd.Series) -> pd.Series:
    said = cells.dropna().str.lower()
    if len(said) and said.isin(_BOOLEANS).all():
        cells = cells.str.lower().map(_BOOLEANS)
    try:
        return pd.to_numeric(cells).astype("float64")
    except (TypeError, ValueError):
        return cells


def read_source(
    source: Any,
    fields: Fields,
    *,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> tuple[Any, list[str]]:
    """Return a table of items, a debate log or trajectories, and notes on how it was read.

    Parameters
    ----------
    source : str, Path, DataFrame, DebateLog or Trajectories
        A path or frame with the columns of a log is read as one; anything else comes back as it is.
    fields : Fields
        What tells the table from a log.
    """
    from d3stats.log.reader import read_log

    if isinstance(source, (str, Path)):
        path = as_path(source)
        read = read_table(path, fields, columns=columns, encoding=encoding) if is_table(path) else None
        if read is not None:
            return read.frame, read.notes
        source = read_log(path, missing_values=missing_values, columns=columns, encoding=encoding)
    elif is_frame(source):
        source = as_frame(source)
        if not fields.is_log(source.columns, columns):
            return fields.named(source, columns)
        source = as_trajectories(source, missing_values=missing_values, columns=columns)
    return source, list(getattr(source, "notes", ()))


def unread_note(frame: pd.DataFrame, read: Collection[Any]) -> list[str]:
    """Return a note on the columns of a table that were not read, since one of them may be the cluster."""
    unread = [str(column) for column in frame.columns if column not in read]
    more = f" and {len(unread) - 8} more" if len(unread) > 8 else ""
    return [f"columns that were not read: {', '.join(unread[:8])}{more}"] if unread else []


def question_clusters(frame: pd.DataFrame) -> str:
    """Return the column of the clusters of items: "cluster", else a "question" of several items, else ""."""
    if "cluster" in frame.columns:
        return "cluster"
    if "question" not in frame.columns:
        return ""
    item = frame["item"] if "item" in frame.columns else frame.index.to_series()
    several = item.groupby(frame["question"]).nunique()
    return "question" if len(several) and several.max() > 1 else ""


def blank_clusters(n_items: int) -> str:
    """Say that some items have a blank for their cluster."""
    many = "forms a cluster of its own" if n_items == 1 else "each form a cluster of their own"
    return f"{counted(n_items, 'item')} without a cluster, while others have one, {many}"
