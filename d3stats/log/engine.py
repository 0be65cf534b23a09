"""The one place that knows how duckdb is started, and how a path is named to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["connect", "quoted", "text_list"]

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
