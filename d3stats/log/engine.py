"""The one place that knows how duckdb is started, and how a path is named to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d3stats.log.files import LogFile

if TYPE_CHECKING:
    import duckdb

__all__ = ["connect", "parquet_cells", "quoted", "text_list"]

MEMORY_LIMIT = "2GB"
"""What one scan may hold before it spills to the folder for temporary files."""

_databases: dict[tuple[int, bool], duckdb.DuckDBPyConnection] = {}
_folders: list[tempfile.TemporaryDirectory[str]] = []
"""Folders to spill to, readable by this user alone; removed when the process ends."""


@contextmanager
def connect(*, ordered: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with tables of its own; the database behind it is started once per process.

    With `ordered`, rows are written in the order of the query.
    """
    import duckdb

    # Keyed by process: a forked child must not use its parent's threads. Order is a setting of a whole database.
    database = _databases.get((os.getpid(), ordered))
    if database is None:
        _folders.append(tempfile.TemporaryDirectory(prefix="d3stats-duckdb-", ignore_cleanup_errors=True))
        database = duckdb.connect(
            ":memory:",
            config={
                "threads": len(os.sched_getaffinity(0))
                if hasattr(os, "sched_getaffinity")
                else os.cpu_count() or 1,
                "memory_limit": MEMORY_LIMIT,
                "temp_directory": _folders[-1].name,
                "preserve_insertion_order": ordered,
                "autoinstall_known_extensions": False,
            },
        )
        _databases[os.getpid(), ordered] = database
    cursor = database.cursor()
    try:
        yield cursor
    finally:
        cursor.close()


def quoted(text: str) -> str:
    """Write a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def text_list(texts: Iterable[str | Path]) -> str:
    """Write a SQL list of string literals."""
    return f"[{', '.join(quoted(str(text)) for text in texts)}]"


def parquet_cells(
    con: duckdb.DuckDBPyConnection, file: LogFile
) -> tuple[list[str], list[tuple[int, dict[str, Any]]]]:
    """Read a Parquet file as text: its column names, and each row's number (from 1) and cells.

    Raises
    ------
    ValueError
        When duckdb cannot read the file.
    """
    import duckdb

    source = f"read_parquet({text_list([file.path])}, file_row_number=true)"
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        columns = [(str(name), str(kind)) for name, kind, *_ in described if name != "file_row_number"]
        cells = ", ".join(_as_text(name, kind) for name, kind in columns)
        found = con.execute(f"SELECT file_row_number + 1, {cells} FROM {source} ORDER BY 1").fetchall()
    except duckdb.Error as error:
        raise ValueError(str(error).splitlines()[0]) from None
    names = [name for name, _ in columns]
    return names, [(number, dict(zip(names, values, strict=True))) for number, *values in found]


def _as_text(name: str, kind: str) -> str:
    column = '"' + name.replace('"', '""') + '"'
    nested = kind.endswith("]") or kind.startswith(("STRUCT", "MAP"))
    if kind in ("FLOAT", "DOUBLE"):
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    return f"CAST({f'to_json({column})' if nested else column} AS VARCHAR)"
