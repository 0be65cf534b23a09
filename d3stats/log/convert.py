"""Write a log in another format: Parquet for speed, CSV for other people's tools, JSON lines for appending.

The Parquet layout, also that of the CSV, is one wide table and one file, sufficient by itself. Each row is a
turn, with the item and the verdict of its debate repeated on it; a debate without turns has one row without round
and agent. Rows are sorted by debate, round and agent, so that a debate lies in one row group and the repeated
columns shrink to almost nothing in their dictionaries (zstd). Text columns are strings, ``answers`` and
``scores`` are JSON text, ``round`` and ``stop_round`` are INT32, tokens INT64, ``correct`` INT8, ``closed``
(whether there is a verdict) BOOLEAN. Columns are those of :data:`d3stats.log.frames.TABLE_COLUMNS`, without
the ones that the log's coding does not have. Texts of questions, candidates and turns are not
carried over.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats.log.engine import connect, quoted
from d3stats.log.frames import ITEM_COLUMNS, TABLE_COLUMNS
from d3stats.log.read import DebateLog, read_log
from d3stats.log.writer import target_of

__all__ = ["write_csv", "write_parquet"]

Source = DebateLog | str | Path | list[str | Path] | tuple[str | Path, ...]

_TYPES = {
    "round": "INTEGER",
    "stop_round": "INTEGER",
    "tokens": "BIGINT",
    "tokens_in": "BIGINT",
    "tokens_out": "BIGINT",
    "correct": "TINYINT",
    "closed": "BOOLEAN",
}

ROW_GROUP = 122_880
"""Rows that are compressed and read together, duckdb's own unit."""


def write_parquet(source: Source, dest: str | Path) -> Path:
    r"""Write a log as one Parquet file that reads back into an equal log.

    Parameters
    ----------
    source : DebateLog, path, glob or list of them
        Paths are read strictly.
    dest : path
        Ends in ``.parquet``; replaced when it exists, and only once the new file is complete.

    Returns
    -------
    Path
        `dest`.

    Raises
    ------
    LogError
        When files are read and have a defect.
    ValueError
        When `dest` has another ending.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("debate,round,agent,vote,label\nd,1,a,A,A\n")
    >>> read_log(write_parquet(folder / "log.csv", folder / "log.parquet")) == read_log(folder / "log.csv")
    True
    """
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}"
    return _copy(source, dest, (".parquet",), options)


def write_csv(source: Source, dest: str | Path) -> Path:
    """Write a log as one tidy CSV (``.csv`` or ``.csv.gz``), one row per turn; see :func:`write_parquet`.

    Raises
    ------
    ValueError
        Also when a text cannot stand in a CSV cell (it holds a NUL character).
    """
    return _copy(source, dest, (".csv", ".csv.gz"), "FORMAT csv, HEADER true")


def _log(source: Source) -> DebateLog:
    if isinstance(source, DebateLog):
        return source
    return read_log(*source) if isinstance(source, (list, tuple)) else read_log(source)


def _copy(source: Source, dest: str | Path, endings: tuple[str, ...], options: str) -> Path:
    target = target_of(dest, endings)
    log = _log(source)
    with connect(ordered=True) as con:
        for name, table in (("turns", log.turns), ("items", log.items), ("verdicts", log.verdicts)):
            con.register(f"{name}_frame", _plain(table))
        select = _wide(log)
        # The ending decides on compression, so the partial file must carry it too.
        partial = target.with_name(f".{os.getpid()}.{target.name}")
        try:
            con.execute(f"COPY ({select}) TO {quoted(str(partial))} ({options})")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return target


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Give every column a type that says itself, even when it is empty or all missing."""
    columns: dict[str, Any] = {}
    for name in table.columns:
        column = table[name]
        if name in ("answers", "scores"):
            column = pd.Series([None if x is None else _compact(x) for x in column], dtype=object)
        columns[name] = column.astype("string") if column.dtype == object else column
    return pd.DataFrame(columns)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _wide(log: DebateLog) -> str:
    absent = {"correct" if log.coding == "answers" else "vote"}
    absent |= {"tokens_in", "tokens_out"} if "tokens" in log.turns.columns else {"tokens"}
    chosen = {name: f"i.{name}" for name in ITEM_COLUMNS} | {
        "closed": "v.debate IS NOT NULL",
        "decision": "v.decision",
        "stop_round": "v.round",
        "stop_reason": "v.stop_reason",
    }
    columns = ", ".join(
        f"({chosen.get(name, 't.' + name)})::{_TYPES.get(name, 'VARCHAR')} AS {name}"
        for name in TABLE_COLUMNS
        if name not in absent
    )
    return f"""SELECT {columns} FROM items_frame i LEFT JOIN turns_frame t ON i.debate = t.debate
        LEFT JOIN verdicts_frame v ON i.debate = v.debate
        ORDER BY i.debate, t.round, t.agent"""
