"""The exact reader: every record of every format, one at a time, with its file and line.

It is the meaning of a log. The fast paths in SQL only decide "surely clean" or "not sure"; in the second case
this reader decides and names each defect. Slower (some microseconds a record) and it holds the records in
memory.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from d3stats.log.files import LogFile, open_bytes, unusable
from d3stats.log.frames import TABLE_COLUMNS
from d3stats.log.problems import Problem
from d3stats.log.reader import read_line
from d3stats.log.schema import Header, Item, Record, Turn, Verdict, first_defect, parse_json

__all__ = ["Gathered", "Row", "gather", "parse_json", "read_line", "shifted", "wrong_header"]

Coding = Literal["answers", "correctness"]

_ITEM = ("debate", "question", "cluster", "label", "answers", "log", "protocol", "first")
_TURN = (
    "debate",
    "round",
    "agent",
    "role",
    "vote",
    "scores",
    "tokens_in",
    "tokens_out",
    "tokens_source",
    "model",
    "error",
)
_WHOLE = re.compile(r"([0-9]{1,15})(?:\.0+)?")
_CORRECT = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


@dataclass(slots=True)
class Row:
    """What one line or one table row says; a table row opens its debate, and may close it, each time."""

    file: str
    line: int
    header: dict[str, Any] | None = None
    item: dict[str, Any] | None = None
    turn: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None


@dataclass
class Gathered:
    """All records that could be read, in reading order, and what could not."""

    files: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_records: int = 0
    coding: Coding = "answers"
    totals: bool = False
    """Whether tokens were recorded as totals only (a column ``tokens``)."""


def gather(files: Iterable[LogFile]) -> Gathered:
    """Read every record of `files`; defects of a single record or file are listed, not raised."""
    out = Gathered()
    tables: list[tuple[LogFile, list[tuple[int, dict[str, Any]]], set[str]]] = []
    for file in files:
        out.files.append(file.name)
        problem = unusable(file)
        if problem is not None:
            out.problems.append(problem)
        elif file.format == "jsonl":
            _gather_lines(file, out)
        else:
            table = _read_table(file, out)
            if table is not None:
                tables.append((file, *table))
    _gather_tables(tables, out)
    return out


# -------------------------------------------------------------------- JSON lines


def _gather_lines(file: LogFile, out: Gathered) -> None:
    with open_bytes(file) as handle:
        number = 0
        try:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    out.n_records += 1
                    _gather_line(file, number, line, out)
        except (EOFError, OSError) as error:
            message = f"the compressed file must be complete; got {error} after line {number}"
            out.problems.append(
                Problem(file.name, number + 1, None, message, "truncated last line", (), "nothing")
            )


def _gather_line(file: LogFile, number: int, line: bytes, out: Gathered) -> None:
    record = read_line(file, number, line)
    if isinstance(record, Problem):
        out.problems.append(record)
        return
    values = _dump(record)
    row = Row(file.name, number)
    setattr(row, "header" if isinstance(record, Header) else record.type, values)
    out.rows.append(row)


_UNREAD = {"type", "text", "candidates"}
"""Fields that the tables do not have."""


def _dump(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.to_dict().items() if name not in _UNREAD}


def _valid(model: type[Record], fields: dict[str, Any]) -> dict[str, Any]:
    defect = first_defect(fields, model)
    if defect is not None:
        raise _WrongCell(*defect)
    return _dump(model(**fields))


def _reason(error: BaseException) -> str:
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _key(data: Mapping[str, Any]) -> tuple[str | int, ...]:
    values = [data.get("debate"), data.get("round"), data.get("agent")]
    return tuple(v for v in values if isinstance(v, (str, int)) and not isinstance(v, bool))


# -------------------------------------------------------------------- tables


def _read_table(file: LogFile, out: Gathered) -> tuple[list[tuple[int, dict[str, Any]]], set[str]] | None:
    """Return the rows as text cells and the columns, or None when the file is no tidy table at all."""
    if file.format == "csv":
        with open_bytes(file) as handle:
            text = io.TextIOWrapper(handle, encoding="utf-8-sig", newline="")
            names, rows = _csv_rows(file, text, out)
    else:
        names, rows = _parquet_rows(file, out)
    if names is None:
        return None
    unknown = [name for name in names if name not in TABLE_COLUMNS]
    for name in unknown:
        message = f"columns must be among {', '.join(TABLE_COLUMNS)}; got {name!r}"
        out.problems.append(Problem(file.name, 1, name, message, "unknown column", (), "nothing"))
    wrong = wrong_header(names)
    if wrong is not None:
        out.problems.append(Problem(file.name, 1, wrong[0], wrong[1], "wrong field", (), "nothing"))
        out.problems.extend(
            Problem(file.name, number, None, "the table's header must be right", "not a log")
            for number, _ in rows
        )
        return None
    return rows, set(names)


def wrong_header(names: list[str]) -> tuple[str, str] | None:
    """Return the column and the requirement that a table's header breaks, None when it is fine."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return twice, f"a column must occur once; got {twice!r} twice"
    for name in ("debate", "round", "agent"):
        if name not in names:
            return name, f"a table must have a column {name}; got {', '.join(names)}"
    if ("vote" in names) == ("correct" in names):
        return "vote", f"a table must have one of the columns vote and correct; got {', '.join(names)}"
    if "tokens" in names and ("tokens_in" in names or "tokens_out" in names):
        return "tokens", "a table must have the column tokens or tokens_in and tokens_out; got both"
    return None


Cells = list[tuple[int, dict[str, Any]]]


def _csv_rows(file: LogFile, text: io.TextIOWrapper, out: Gathered) -> tuple[list[str] | None, Cells]:
    reader = csv.reader(text, strict=True)
    names: list[str] | None = None
    rows: Cells = []
    short: Problem | None = None  # of the row just read
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            if short is not None and _lacks_line_end(file):
                out.problems[out.problems.index(short)] = replace(short, kind="truncated last line")
            return names, rows
        except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
            # After a quoting or decoding error the reader cannot find the next row.
            out.n_records += names is not None
            message = f"a row must be readable; got {_reason(error)}; nothing after it was read"
            torn = isinstance(error, EOFError) or "unexpected end" in str(error)
            kind = "truncated last line" if torn else "malformed line"
            out.problems.append(
                Problem(file.name, start, None, message, kind, (), "record" if names else "nothing")
            )
            return names, rows
        short = None
        if names is None:
            names = cells
        elif cells:
            out.n_records += 1
            if len(cells) != len(names):
                message = f"a row must have {len(names)} cells; got {len(cells)}"
                problem = Problem(file.name, start, None, message, "malformed line")
                out.problems.append(problem)
                short = problem if len(cells) < len(names) else None
            else:
                rows.append((start, {k: v for k, v in zip(names, cells, strict=True) if v != ""}))


def _lacks_line_end(file: LogFile) -> bool:
    with file.path.open("rb") as handle:
        handle.seek(-1, io.SEEK_END)
        return not file.compressed and handle.read(1) != b"\n"


def _parquet_rows(file: LogFile, out: Gathered) -> tuple[list[str] | None, Cells]:
    from d3stats.log.engine import connect, parquet_cells

    try:
        with connect() as con:
            names, rows = parquet_cells(con, file)
    except ValueError as error:
        message = f"file must be readable Parquet; got {error}"
        out.problems.append(Problem(file.name, None, None, message, "not a log", (), "nothing"))
        return None, []
    out.n_records += len(rows)
    return names, [
        (number, {k: v for k, v in cells.items() if v is not None and v != ""}) for number, cells in rows
    ]


def _gather_tables(tables: list[tuple[LogFile, Cells, set[str]]], out: Gathered) -> None:
    codings: list[Coding] = ["answers" if "vote" in names else "correctness" for _, _, names in tables]
    has_lines = any(row.turn is not None or row.item is not None for row in out.rows)
    out.coding = "answers" if has_lines or not codings else codings[0]
    out.totals = not has_lines and any("tokens" in names for _, _, names in tables)
    for (file, rows, names), coding in zip(tables, codings, strict=True):
        if coding != out.coding or (("tokens" in names) != out.totals and bool(names & _TOKENS)):
            message = (
                f"all files must record {out.coding} and {'total' if out.totals else 'split'} tokens alike; "
                f"got a table with {'vote' if coding == 'answers' else 'correct'}"
                f"{', tokens' if 'tokens' in names else ''}"
            )
            out.problems.append(Problem(file.name, None, None, message, "mixed coding", (), "nothing"))
            out.problems.extend(
                Problem(file.name, number, None, message, "mixed coding") for number, _ in rows
            )
            continue
        shift = _shift(rows)
        if shift:
            out.notes.append(shifted(file.name))
        for number, cells in rows:
            try:
                out.rows.append(_table_row(file.name, number, cells, shift))
            except _WrongCell as error:
                message = f"{error.name} {error.requirement}; got {error.name}={error.got!r}"
                out.problems.append(
                    Problem(file.name, number, error.name, message, "wrong field", _key(cells))
                )


_TOKENS = {"tokens", "tokens_in", "tokens_out"}
_SAID = {"role", "vote", "correct", "scores", "model", "error", "tokens_source", *_TOKENS}


def shifted(name: str) -> str:
    """Say that a table's rounds were shifted."""
    return f"{name}: rounds count from 0 and were shifted to count from 1"


def _shift(rows: Cells) -> int:
    """Return 1 when the table's rounds count from 0; a table that holds a negative round is not shifted."""
    rounds = {cells["round"] for _, cells in rows if "round" in cells}
    return int(any((m := _WHOLE.fullmatch(r)) and int(m[1]) == 0 for r in rounds))


class _WrongCell(ValueError):
    def __init__(self, name: str, requirement: str, got: Any) -> None:
        super().__init__(name)
        self.name, self.requirement, self.got = name, requirement, got


def _whole(cells: Mapping[str, Any], name: str) -> int | None:
    if name not in cells:
        return None
    match = _WHOLE.fullmatch(cells[name])
    if match is None:
        raise _WrongCell(name, "must be a whole number >= 0", cells[name])
    return int(match[1])


def _json(cells: Mapping[str, Any], name: str) -> Any:
    if name not in cells:
        return None
    try:
        return parse_json(cells[name])
    except (ValueError, RecursionError):
        raise _WrongCell(name, "must be JSON", cells[name]) from None


def _from_set(cells: Mapping[str, Any], name: str, options: Mapping[str, int]) -> int | None:
    if name not in cells:
        return None
    if cells[name].lower() not in options:
        raise _WrongCell(name, "must be 0, 1 or empty", cells[name])
    return options[cells[name].lower()]


def _table_row(file: str, number: int, cells: Mapping[str, Any], shift: int) -> Row:
    row = Row(file, number)
    if "debate" not in cells:
        raise _WrongCell("debate", "must be given", "")
    answers = _json(cells, "answers")
    item = {name: cells.get(name) for name in _ITEM} | {
        "question": cells.get("question", cells["debate"]),
        "answers": tuple(answers) if isinstance(answers, list) else answers,
    }
    row.item = _valid(Item, item)
    if ("round" in cells) != ("agent" in cells):
        absent = "round" if "agent" in cells else "agent"
        raise _WrongCell(absent, "must be given with the other of round and agent", "")
    if "round" in cells:
        turn = {name: cells.get(name) for name in _TURN} | {
            "round": (_whole(cells, "round") or 0) + shift,
            "scores": _json(cells, "scores"),
            "tokens_in": _whole(cells, "tokens_in"),
            "tokens_out": _whole(cells, "tokens_out"),
        }
        row.turn = _valid(Turn, turn)
        row.turn["correct"] = _from_set(cells, "correct", _CORRECT)
        row.turn["tokens"] = _whole(cells, "tokens")
    elif unused := sorted(set(cells) & _SAID):
        raise _WrongCell(unused[0], "must come with a round and an agent", cells[unused[0]])
    closing = {name: cells.get(name) for name in ("debate", "decision", "stop_reason")}
    stop_round = _whole(cells, "stop_round")
    stop_round = None if stop_round is None else stop_round + shift
    closed = _from_set(cells, "closed", _CORRECT)
    if closed == 0 and {"decision", "stop_round", "stop_reason"} & set(cells):
        raise _WrongCell("closed", "must be 1 where a verdict is given", cells["closed"])
    if closed or (closed is None and {"decision", "stop_round", "stop_reason"} & set(cells)):
        row.verdict = _valid(Verdict, closing | {"round": stop_round})
    return row
