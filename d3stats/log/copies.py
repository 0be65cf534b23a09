"""Write a log that was read as JSON lines, Parquet or CSV, each of which reads back into an equal log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import pandas as pd

from d3stats.log.column_names import TABLE_COLUMNS
from d3stats.log.columns import ITEM
from d3stats.log.frames import DebateLog
from d3stats.log.reader import read_log
from d3stats.log.schema import AnyRecord, Item, Turn, Verdict
from d3stats.log.sheets import connect, quoted
from d3stats.log.writer import LogWriter, replacing

__all__ = ["records_of", "write_csv", "write_jsonl", "write_parquet"]

Source: TypeAlias = DebateLog | str | Path | Sequence[str | Path]

_TYPES = {
    "round": "INTEGER",
    "stop_round": "INTEGER",
    "tokens": "BIGINT",
    "tokens_in": "BIGINT",
    "tokens_out": "BIGINT",
    "tokens_cached": "BIGINT",
    "temperature": "DOUBLE",
    "confidence": "DOUBLE",
    "correct": "TINYINT",
    "closed": "BOOLEAN",
}

ROW_GROUP = 122_880
"""Rows that are compressed and read together, duckdb's own unit."""


def write_jsonl(source: Source, dest: str | Path) -> Path:
    r"""Write a log as JSON lines: items, then turns round by round, then the verdict, debate by debate.

    Parameters
    ----------
    source : DebateLog, path, glob or list of them
        Paths are read strictly.
    dest : path
        Ends in ``.jsonl`` or ``.ndjson``; replaced when it exists.

    Returns
    -------
    Path
        `dest`.

    Raises
    ------
    ValueError
        When the log holds only correctness or only token totals, which no record of the schema says.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("debate,round,agent,vote,label\nd,1,x,A,A\n")
    >>> print(write_jsonl(folder / "log.csv", folder / "log.jsonl").read_text().splitlines()[2])
    {"type":"turn","debate":"d","round":1,"agent":"x","vote":"A"}
    """
    records = records_of(_log(source))
    with replacing(dest, (".jsonl", ".ndjson")) as partial, LogWriter(partial, fsync="close") as writer:
        for record in records:
            writer.write(record)
    return Path(dest)


def records_of(log: DebateLog) -> Iterator[AnyRecord]:
    """Return the records of a log that was read into tables, debate by debate; with texts where it was read with them.

    Raises
    ------
    ValueError
        When the log holds only correctness or only token totals, which no record of the schema says.
    """
    if log.coding != "answers":
        raise ValueError(f"log must hold answers to be written as JSON lines; got coding={log.coding!r}")
    if "tokens" in log.turns.columns:
        raise ValueError("log must hold tokens_in and tokens_out to be written as JSON lines; got totals")
    return _records(log)


def _records(log: DebateLog) -> Iterator[AnyRecord]:
    turns = dict(list(log.turns.groupby("debate", sort=False)))
    closed = {row["debate"]: row for row in _rows(log.verdicts)}
    for item in _rows(log.items):
        debate = item["debate"]
        yield Item(**item)
        for turn in _rows(turns[debate]) if debate in turns else ():
            yield Turn(**turn)
        if debate in closed:
            yield Verdict(**closed[debate])


def _rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in cast(list[dict[str, Any]], table.to_dict("records")):
        yield {name: None if value is pd.NA else value for name, value in row.items()}


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
    >>> from d3stats.log import read_log
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("debate,round,agent,vote,label\nd,1,a,A,A\n")
    >>> read_log(write_parquet(folder / "log.csv", folder / "log.parquet")) == read_log(folder / "log.csv")
    True
    """
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}"
    return _copy(source, dest, (".parquet",), options)


def write_csv(source: Source, dest: str | Path) -> Path:
    r"""Write a log as one tidy CSV (``.csv`` or ``.csv.gz``), one row per turn; see :func:`write_parquet`.

    Parameters
    ----------
    source : DebateLog, path, glob or list of them
        Paths are read strictly.
    dest : path
        Ends in ``.csv`` or ``.csv.gz``; replaced when it exists.

    Returns
    -------
    Path
        `dest`.

    Raises
    ------
    ValueError
        Also when a text cannot be stored in a CSV cell (it has a NUL character).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats.log import read_log
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("debate;round;agent;vote;label\nd;1;x;A;A\n")
    >>> print(write_csv(folder / "a.csv", folder / "b.csv").read_text().splitlines()[1][:8])
    d,d,,,,,
    >>> read_log(folder / "b.csv") == read_log(folder / "a.csv")
    True
    """
    return _copy(source, dest, (".csv", ".csv.gz"), "FORMAT csv, HEADER true")


def _log(source: Source) -> DebateLog:
    if isinstance(source, DebateLog):
        return source
    return read_log(source) if isinstance(source, (str, Path)) else read_log(*source)


def _copy(source: Source, dest: str | Path, endings: tuple[str, ...], options: str) -> Path:
    with replacing(dest, endings) as partial, connect(ordered=True) as con:
        log = _log(source)
        for name, table in (("turns", log.turns), ("items", log.items), ("verdicts", log.verdicts)):
            con.register(f"{name}_frame", _typed(table))
        con.execute(f"COPY ({_wide(log)}) TO {quoted(str(partial))} ({options})")
    return Path(dest)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Give every column a type that says itself, even when it is empty or all missing."""
    texts = {name: _json(table[name]) for name in ("answers", "scores") if name in table.columns}
    table = table.assign(**texts)
    return table.astype(dict.fromkeys(table.select_dtypes(object), "string"))


def _json(column: pd.Series) -> pd.Series:
    written = (
        None if x is None else json.dumps(x, ensure_ascii=False, separators=(",", ":")) for x in column
    )
    return pd.Series(list(written), index=column.index, dtype=object)


def _wide(log: DebateLog) -> str:
    absent = {"correct" if log.coding == "answers" else "vote"}
    absent |= {"tokens_in", "tokens_out"} if "tokens" in log.turns.columns else {"tokens"}
    absent |= {"confidence_percent"} | ({"tokens_cached", "confidence"} - set(log.turns.columns))
    chosen = {name: f"i.{name}" for name in ITEM} | {
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
