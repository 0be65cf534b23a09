"""Tables of debates: CSV, TSV, Excel, Parquet, flat JSON lines and data frames, as columns of codes.

A reader makes a sheet of each: its column names, and each column's cells as codes of texts. Which column says what is
decided in ``column_names.py``; a wide sheet, with a column per agent or per round, is turned into one row per turn.
Then each different text is parsed once, and a cell that is not what its column may hold is a problem of its row.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.log._visible import storable
from d3stats.log.column_names import (
    TABLE_COLUMNS,
    ColumnError,
    Columns,
    Resolved,
    plain,
    resolve,
    to_type,
    unread_note,
)
from d3stats.log.columns import Coded, Coder, Ints, Part, Records, joined, unified
from d3stats.log.files import LogFile, open_bytes, unusable
from d3stats.log.problems import Problem
from d3stats.log.schema import Item, Record, Turn, first_defect, parse_json
from d3stats.values import is_missing_word, name_text

__all__ = ["parquet_blocks", "read_rows", "read_table"]

FRAME, ITEMS = "the table", "the items"
"""What data frames are called in messages."""


# ------------------------------------------------------------------------------------------------ sheets


@dataclass
class _Sheet:
    """A table as it was written: names, and cells as codes of texts (-1 where empty)."""

    name: str
    names: list[str]
    columns: list[Coded]
    line: Ints
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_records: int = 0

    def get(self, name: str) -> Coded:
        return self.columns[self.names.index(name)]


def read_table(
    source: Any, items: Any = None, *, columns: Columns = None, encoding: str | None = None
) -> Records:
    """Read a table of debates of any kind.

    Parameters
    ----------
    source : LogFile or data frame
        One row per turn, or a wide table with a column per agent or per round; a pandas, polars or Arrow frame.
    items : data frame, optional
        One row per debate, where the first frame holds only turns.
    columns : mapping, optional
        Which column says what, where the names do not say it: ``{"debate": "qid"}``; several columns that make a
        debate's name together, ``{"debate": ["run", "qid"]}``, or hold a vote each, ``{"votes": ["gpt", "claude"]}``.
    encoding : str, optional
        Of a text file; UTF-8, and UTF-16 with its mark, need none.

    Raises
    ------
    ValueError
        When `columns` names what there is not.
    TypeError
        When `source` is no table.
    """
    if not isinstance(source, LogFile):
        opened = None if items is None else _frame_sheet(items, ITEMS)
        return _records(_frame_sheet(source, FRAME), columns, opened)
    if source.format == "jsonl":
        from d3stats.log.reader import read_lines

        return read_lines(source, columns=columns)
    problem = unusable(source)
    sheet: _Sheet | Problem
    if problem is not None:
        sheet = problem
    elif source.format == "xlsx":
        sheet = _excel_sheet(source)
    elif source.format == "parquet":
        sheet = _parquet_sheet(source)
    else:
        sheet = _text_sheet(source, encoding)
    return _nothing(source.name, [sheet]) if isinstance(sheet, Problem) else _records(sheet, columns)


def read_rows(
    file: LogFile, rows: Iterable[tuple[int, Mapping[str, Any]]], *, columns: Columns = None
) -> Records:
    """Read flat JSON lines, one turn a line: each line's number and its object."""
    return _records(_mapping_sheet(file.name, list(rows)), columns)


def _nothing(name: str, problems: list[Problem], notes: Sequence[str] = ()) -> Records:
    """Return what is left of a file that is passed over."""
    none: Ints = np.zeros(0, dtype=np.int64)
    empty = Part(none, {})
    return Records([name], none, none, empty, empty, empty, problems=problems, notes=list(notes))


# ------------------------------------------------------------------------------------------------ cells


_DATES = (datetime.date, datetime.time, np.datetime64)


def _cell(value: Any) -> str | None:
    """Write a cell as text, None where it is empty; a float that is an integer is one."""
    if isinstance(value, str):
        return value if value.isascii() else storable(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return None if value != value else _shorter(str(value))
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _cell(pd.Timestamp(value))
    if isinstance(value, datetime.datetime):
        return str(value.date() if value.time() == datetime.time() else value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (Mapping, list, tuple, set, frozenset, np.ndarray)):
        return json.dumps(_jsonable(value), ensure_ascii=False)
    return None if value != value else str(value)


def _shorter(text: str) -> str:
    return text.removesuffix(".0")


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return [_jsonable(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _of_values(values: Iterable[Any]) -> Coded:
    """Code Python values by their texts."""
    listed = values if isinstance(values, list) else list(values)
    if not set(map(type, listed)) <= {str, type(None)}:
        # Text first: True and 1 would be one key.
        listed = [value if type(value) is str else _cell(value) for value in listed]
    coder = Coder()
    codes = coder.codes(listed)
    return _texts(codes, coder.values_list())


def _texts(codes: NDArray[Any], values: list[Any]) -> Coded:
    """Put texts in place of values; an empty text is an empty cell."""
    return Coded(codes.astype(np.int32, copy=False), values).mapped({v: _cell(v) or None for v in values})


def _of_series(series: pd.Series) -> Coded:
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes: Any = series.cat.codes.to_numpy()
        return _merged(codes, list(series.cat.categories))
    if series.dtype == object:
        return _of_values(series.tolist())
    codes, found = pd.factorize(series)
    return _merged(codes, list(np.asarray(found)) if series.dtype.kind == "f" else list(found))


def _merged(codes: NDArray[Any], values: list[Any]) -> Coded:
    """Code by the texts of values, of which two may have one text (6 and 6.0)."""
    coder = Coder()
    lookup = np.array([*(coder[_cell(value) or None] for value in values), -1], dtype=np.int32)
    return Coded(lookup[codes], coder.values_list())


def _date_note(name: str, values: Iterable[Any]) -> list[str]:
    dates = (value for value in values if isinstance(value, _DATES) and _cell(value) is not None)
    return [_held_dates(name, _cell(date)) for date in islice(dates, 1)]


def _held_dates(name: str, text: str | None) -> str:
    return (
        f"column {name!r} holds dates, read as text such as {text!r}; a spreadsheet may have made them of "
        "answers such as 1/2"
    )


# ------------------------------------------------------------------------------------------------ text files


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def _decoded(file: LogFile, encoding: str | None) -> tuple[str, str | None] | Problem:
    """Return the text of a file, and what cut it short, if anything did."""
    blocks, torn = [], None
    try:
        with open_bytes(file) as handle:
            while block := handle.read(1 << 20):
                blocks.append(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        torn = str(error)
    data = b"".join(blocks)
    name = encoding or next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    if encoding is not None and plain(encoding) in ("utf8", "u8"):
        name = "utf-8-sig"
    try:
        return data.decode(name), torn
    except UnicodeDecodeError as error:
        if torn is not None and error.end == len(data):
            return data[: error.start].decode(name), torn
        return _undecodable(file, data, name, error)
    except LookupError:
        raise ValueError(
            f"encoding must be known, such as utf-8, cp1252 or latin-1; got {encoding!r}"
        ) from None


def _undecodable(file: LogFile, data: bytes, name: str, error: UnicodeDecodeError) -> Problem:
    line = data.count(b"\n", 0, error.start) + 1
    around = data[max(error.start - 12, data.rfind(b"\n", 0, error.start) + 1) : error.start + 12].split(
        b"\n"
    )[0]
    other = "cp1252" if name != "cp1252" else "latin-1"
    try:
        around.decode(other)
    except UnicodeDecodeError:
        other = "latin-1"
    message = (
        f"the text must be {name.removesuffix('-sig').upper()}; got the byte 0x{data[error.start]:02x} in line "
        f"{line}, which reads {around.decode(other)!r} as {other}: if that is right, say --encoding {other} "
        f'(encoding="{other}")'
    )
    return Problem(file.name, line, None, message, "not a log", (), "nothing")


def _header(text: str) -> tuple[str, int]:
    """Return the delimiter of a table and where its header starts."""
    start = len(text) - len(text.lstrip("\r\n"))
    line = text[start : re.compile(r"[\r\n]|$").search(text, start).start()]  # type: ignore[union-attr]
    told = re.fullmatch(r"sep=(.)", line)
    if told:
        return told[1], start + len(line)
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",\t;|", key=bare.count), start


def _text_sheet(file: LogFile, encoding: str | None) -> _Sheet | Problem:
    decoded = _decoded(file, encoding)
    if isinstance(decoded, Problem):
        return decoded
    text, torn = decoded
    delimiter, start = _header(text)
    handle = io.StringIO(text, newline="")
    handle.seek(start)
    # A cell may be longer than the reader's own limit, which is one for all threads.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        return _csv_sheet(file, handle, delimiter, text.count("\n", 0, start), torn, text)
    finally:
        csv.field_size_limit(limit)


CHUNK = 1 << 9
"""Rows of text that are held at once: few enough for the processor's cache."""


def _csv_sheet(
    file: LogFile, handle: io.StringIO, delimiter: str, skipped: int, torn: str | None, text: str
) -> _Sheet:
    reader = csv.reader(handle, strict=True, delimiter=delimiter)
    names: list[str] | None = None
    sheet = _Sheet(file.name, [], [], np.zeros(0, dtype=np.int64))
    rows: list[list[str]] = []
    starts: list[int] = []
    coders: list[Coder] = []
    parts: list[list[NDArray[np.int32]]] = []

    def flush() -> None:
        if rows:
            for coder, part, cells in zip(coders, parts, zip(*rows, strict=True), strict=True):
                part.append(coder.codes(cells))
            rows.clear()

    width, last = -1, skipped
    short: Problem | None = None  # of the row just read
    while True:
        start = last + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            # After a quoting error the reader cannot find the next row.
            sheet.n_records += names is not None
            message = f"a row must be readable; got {error}; nothing after it was read"
            kind = "truncated last line" if "unexpected end" in str(error) else "malformed line"
            sheet.problems.append(
                Problem(file.name, start, None, message, kind, (), "record" if names else "nothing")
            )
            short, torn = None, None
            break
        last = skipped + reader.line_num
        if len(cells) == width:
            rows.append(cells)
            starts.append(start)
            short = None
            if len(rows) == CHUNK:
                flush()
        elif names is None:
            if any(cells):
                names, width = [name.strip() for name in cells], len(cells)
                coders, parts = [Coder() for _ in names], [[] for _ in names]
        elif any(cells):
            message = f"a row must have {width} cells; got {len(cells)}"
            short = Problem(file.name, start, None, message, "malformed line")
            sheet.problems.append(short)
            sheet.n_records += 1
            short = short if len(cells) < width else None
    if torn is not None:
        if short is None and starts:  # the last row broke off, however many cells it has
            starts.pop()
            (rows if rows else [[]]).pop()
        message = f"the compressed file must be complete; got {torn}; nothing after it was read"
        cut = Problem(file.name, last, None, message, "truncated last line")
        sheet.problems = [p for p in sheet.problems if p is not short] + [cut]
        sheet.n_records += short is None
    elif short is not None and not text.endswith(("\n", "\r")):
        sheet.problems[-1] = replace(short, kind="truncated last line")
    flush()
    sheet.names = names or []
    sheet.columns = [
        _texts(np.concatenate([np.zeros(0, dtype=np.int32), *part])[: len(starts)], coder.values_list())
        for coder, part in zip(coders, parts, strict=True)
    ]
    sheet.line = np.array(starts, dtype=np.int64)
    sheet.n_records += len(starts)
    return sheet


# ------------------------------------------------------------------------------------------------ other sources


def _excel_sheet(file: LogFile) -> _Sheet | Problem:
    import openpyxl

    try:
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
        page = book.worksheets[0]
        lines = [(i, row) for i, row in enumerate(page.iter_rows(values_only=True), start=1)]
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = f"file must be a readable Excel workbook; got {reason}"
        return Problem(file.name, None, None, message, "not a log", (), "nothing")
    lines = [(i, row) for i, row in lines if any(_cell(value) for value in row)]
    if not lines:
        message = "file must hold records; got no filled cell in the first sheet"
        return Problem(file.name, None, None, message, "empty file", (), "nothing")
    header = [(_cell(name) or "").strip() for name in lines[0][1]]
    width = max(k for k, name in enumerate(header) if name) + 1
    rows = [(i, (*row, *[None] * width)) for i, row in lines[1:]]
    cells = [[row[k] for _, row in rows] for k in range(width)]
    notes = []
    if len(book.worksheets) > 1:
        others = ", ".join(repr(sheet.title) for sheet in book.worksheets[1:5])
        notes.append(f"the first sheet, {page.title!r}, was read; not read: {others}")
    dates = [note for name, each in zip(header, cells, strict=False) for note in _date_note(name, each)]
    columns = [_of_values(each) for each in cells]
    line = np.array([i for i, _ in rows], dtype=np.int64)
    return _Sheet(file.name, header[:width], columns, line, notes=notes + dates, n_records=len(rows))


_INTEGERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "FLOAT",
    "DOUBLE",
)


def _parquet_sheet(
    file: LogFile, first: int = 0, stop: int | None = None, without: Collection[str] = ()
) -> _Sheet | Problem:
    """Read rows `first` to `stop` of a Parquet file; columns without values, or with one value, are not read.

    Nor are those `without` which the caller gets along, where the file's own statistics say that they are sound.
    """
    import duckdb

    from d3stats.log.engine import connect, text_list

    try:
        with connect(ordered=True) as con:
            paths = text_list([file.path])
            n = int(con.execute(f"SELECT num_rows FROM parquet_file_metadata({paths})").fetchall()[0][0])
            stop = n if stop is None else min(stop, n)
            source = f"read_parquet({paths}, file_row_number=true)"
            if (first, stop) != (0, n):
                source = (
                    f"(SELECT * FROM {source} WHERE file_row_number >= {first} AND file_row_number < {stop})"
                )
            kinds = {
                str(c): str(k) for c, k, *_ in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            }
            del kinds["file_row_number"]
            columns: dict[str, Coded] = _settled(con, paths, kinds, stop - first, without)
            asked = {name: k for k, name in enumerate(kinds) if name not in columns}
            texts, chosen = {}, []
            for name, k in asked.items():
                text = _as_text(name, kinds[name])
                if kinds[name] not in _INTEGERS:
                    different = f"SELECT DISTINCT {text} AS v FROM {source}"
                    said = con.execute(f"SELECT hash(v) AS h, v FROM ({different})").fetchall()
                    texts[name] = dict(said)
                    # Two texts of one hash are hardly ever met; then the texts themselves are handed over.
                    text = f"hash({text})" if len(texts[name]) == len(said) else text
                chosen.append(f"{text} AS c{k}")
            found = con.execute(f"SELECT {', '.join(chosen)} FROM {source}").fetchnumpy() if chosen else {}
    except duckdb.Error as error:
        message = f"file must be readable Parquet; got {str(error).splitlines()[0]}"
        return Problem(file.name, None, None, message, "not a log", (), "nothing")
    for name, k in asked.items():
        cells: Any = found[f"c{k}"]
        if name in texts:
            columns[name] = _hashed(cells, texts[name])
            continue
        given = ~np.ma.getmaskarray(cells)
        codes, numbers = pd.factorize(np.ma.getdata(cells)[given])
        whole = np.full(len(cells), -1)
        whole[given] = codes
        columns[name] = _merged(whole, list(numbers))
    notes = [
        _held_dates(name, columns[name].values[0])
        for name, kind in kinds.items()
        if kind.startswith(("DATE", "TIME")) and columns[name].values
    ]
    line = np.arange(first + 1, stop + 1, dtype=np.int64)
    return _Sheet(file.name, list(kinds), [columns[c] for c in kinds], line, notes=notes, n_records=len(line))


def _hashed(cells: Any, texts: Mapping[int, Any]) -> Coded:
    """Return texts as codes by their hashes, which are many times faster to hand over than texts."""
    if cells.dtype == object:
        return _of_values(np.ma.filled(cells, None).tolist())
    hashes = np.asarray(cells)
    opens = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    codes, seen = pd.factorize(hashes[opens])
    size = np.diff(opens, append=len(hashes))
    return _texts(np.repeat(codes, size), [texts[each] for each in seen.tolist()])


_DROPPABLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


def _settled(
    con: Any, paths: str, kinds: Mapping[str, str], n: int, without: Collection[str]
) -> dict[str, Coded]:
    """Return the columns that have no value, or one on every row, as the file's own statistics say."""
    found = con.execute(
        f"""SELECT path_in_schema, bool_and(stats_null_count = num_values),
            CASE WHEN bool_and(stats_null_count = 0 AND stats_min_value = stats_max_value)
                AND min(stats_min_value) = max(stats_max_value) THEN min(stats_min_value) END,
            min(TRY_CAST(stats_min_value AS BIGINT)), max(TRY_CAST(stats_max_value AS BIGINT)),
            bool_and(TRY_CAST(stats_min_value AS BIGINT) IS NOT NULL OR stats_null_count = num_values)
        FROM parquet_metadata({paths}) GROUP BY path_in_schema"""
    ).fetchall()
    settled = {}
    for name, empty, text, low, high, known in found:
        kind = kinds.get(name)
        sound = kind == "VARCHAR" or (
            kind in _DROPPABLE and known and low is not None and 0 <= low <= high < 10**15
        )
        if (empty and kind is not None) or (name in without and sound):
            settled[name] = Coded.missing(n)
        elif kind == "VARCHAR" and text and len(text) < 32:  # longer ones may be cut
            settled[name] = Coded(np.zeros(n, dtype=np.int32), [text])
    return settled


def _as_text(name: str, kind: str) -> str:
    column = '"' + name.replace('"', '""') + '"'
    if kind in _INTEGERS:
        return column
    if kind == "BOOLEAN":
        return f"CASE WHEN {column} THEN 'True' WHEN NOT {column} THEN 'False' END"
    if kind.startswith("TIMESTAMP"):
        return f"regexp_replace({column}::VARCHAR, ' 00:00:00$', '')"
    return (
        f"(to_json({column}))::VARCHAR"
        if kind.endswith("]") or kind.startswith(("STRUCT", "MAP"))
        else f"{column}::VARCHAR"
    )


def parquet_blocks(
    file: LogFile, rows: int = 1_000_000, *, columns: Columns = None, without: Collection[str] = ()
) -> Iterator[Records]:
    """Read a Parquet file in blocks of rows, each with codes of its own, so that memory stays flat.

    All blocks count rounds alike, from 0 or from 1, as the whole file does. Fields `without` which the caller gets
    along may be missing in the result.
    """
    import duckdb

    from d3stats.log.engine import connect, text_list

    problem = unusable(file)
    first, n, zero = 0, 1, False
    unread: set[str] = set()
    if problem is None:
        try:
            with connect() as con:
                source = f"read_parquet({text_list([file.path])})"
                described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
                n = int((con.execute(f"SELECT count(*) FROM {source}").fetchone() or (0,))[0])
                names = [str(name) for name, *_ in described]
                empty = _Sheet(
                    file.name, names, [Coded.missing(0) for _ in names], np.zeros(0, dtype=np.int64)
                )
                resolved = _log_columns(empty, columns).columns
                unread = {name for each in without for name in resolved.get(each, ())}
                taken = resolved.get("round", ())
                for name in taken[:1] if n > rows else ():
                    text = _as_text(name, "VARCHAR")
                    zero = any(
                        _is_zero(str(value))
                        for (value,) in con.execute(f"SELECT DISTINCT {text} FROM {source}").fetchall()
                    )
        except (duckdb.Error, ColumnError):
            pass  # the first block says what is wrong
    for first in range(0, max(n, 1), rows):
        sheet = problem or _parquet_sheet(file, first, first + rows, unread)
        if isinstance(sheet, Problem):
            yield _nothing(file.name, [sheet])
            return
        yield _records(sheet, columns, from_zero=zero or None)


def _mapping_sheet(name: str, rows: list[tuple[int, Mapping[str, Any]]]) -> _Sheet:
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    columns = [_of_values([row.get(key) for _, row in rows]) for key in names]
    line = np.array([number for number, _ in rows], dtype=np.int64)
    return _Sheet(name, names, columns, line, n_records=len(rows))


def _frame_sheet(frame: Any, name: str) -> _Sheet:
    if isinstance(frame, pd.DataFrame):
        if any(level is not None for level in frame.index.names):
            known = [level for level in frame.index.names if level not in frame.columns]
            frame = frame.reset_index(level=[level for level in known if level is not None])
        names = [str(column).strip() for column in frame.columns]
        columns = [_of_series(frame.iloc[:, k]) for k in range(len(names))]
        firsts = [frame.iloc[:, k] for k in range(len(names))]
        dates = [
            note
            for label, series in zip(names, firsts, strict=True)
            if series.dtype.kind == "M" or series.dtype == object
            for note in _date_note(label, series.dropna().head(1000))
        ]
    else:
        import narwhals as nw

        try:
            native = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"a table must be a pandas, polars or Arrow data frame; got {type(frame).__name__}"
            ) from None
        table: Any = native.collect() if isinstance(native, nw.LazyFrame) else native
        names = [str(column).strip() for column in table.columns]
        lists = [table[column].to_list() for column in table.columns]
        columns = [_of_values(values) for values in lists]
        dates = [note for label, each in zip(names, lists, strict=True) for note in _date_note(label, each)]
    n = len(columns[0]) if columns else 0
    line = np.arange(1, n + 1, dtype=np.int64)
    return _Sheet(name, names, columns, line, notes=dates, n_records=n)


# ------------------------------------------------------------------------------------------------ which column is what


_ITEM = ("question", "cluster", "label", "answers", "log", "protocol", "first")
_MOST_ROUND = 999_999_999
_NEAR = ("label", "cluster", "question", "answers", "round", "tokens_in", "tokens_out", "correct")
"""Columns without which a log says less, so that a misspelled one must not be passed over."""


def _log_columns(sheet: _Sheet, columns: Columns) -> Resolved:
    """Find the column of each field of a log.

    A question's identifier is the debate's where there is no other; a model is the agent where there is no other.
    """
    names = [name for name in sheet.names if name and not name.startswith("Unnamed: ")]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ColumnError(twice, f"a column must occur once; got {twice!r} twice")
    chosen = {name: column for name, column in (columns or {}).items() if name != "votes"}
    wanted = [name for name in TABLE_COLUMNS if name != "model" or "model" in chosen]
    found = resolve(names, wanted, columns=chosen, what=sheet.name)
    if "model" not in found.columns:
        found.columns |= resolve(found.unread, ["model"], what=sheet.name).columns
        found.unread = [name for name in found.unread if (name,) != found.columns.get("model")]
    at = found.columns
    if "debate" not in at and "question" in at:
        at["debate"] = at.pop("question")
    _choose(found, sheet)
    found.columns = {name: at[name] for name in TABLE_COLUMNS if name in at}
    found.unread = [name for name in sheet.names if name in set(found.unread)]
    return found


def _choose(found: Resolved, sheet: _Sheet) -> None:
    """Decide between what excludes each other: votes and correctness, total and split tokens."""
    at = found.columns

    def drop(name: str) -> None:
        found.unread += at.pop(name)

    if "vote" in at and "correct" in at:
        if "correct" in found.chosen and "vote" not in found.chosen:
            drop("vote")
        elif "vote" in found.chosen or "label" in at or _is_empty(sheet, at["correct"]):
            drop("correct")
        elif _is_empty(sheet, at["vote"]):
            drop("vote")
        else:
            raise ColumnError(
                "vote",
                "a table must have one of the columns vote and correct, or a label beside the vote; got "
                f"{', '.join(sheet.names)}: say which with {to_type(vote=at['vote'][0])}",
            )
    split = [name for name in ("tokens_in", "tokens_out") if name in at]
    if "tokens" in at and split:
        if "tokens" in found.chosen:
            for name in split:
                drop(name)
        elif (len(split) == 2 and at["tokens"] != ("tokens",)) or _is_empty(sheet, at["tokens"]):
            drop("tokens")
        elif all(_is_empty(sheet, at[name]) for name in split):
            for name in split:
                drop(name)
        else:
            raise ColumnError(
                "tokens", "a table must have the column tokens or tokens_in and tokens_out; got both"
            )


def _is_empty(sheet: _Sheet, names: tuple[str, ...]) -> bool:
    return all((sheet.get(name).codes < 0).all() for name in names) and len(sheet.line) > 0


def _required(found: Resolved, sheet: _Sheet) -> tuple[str, str] | None:
    """Return the first column that a long table lacks, and one sentence on all that is missing."""
    at = found.columns
    missing = [name for name in ("debate", "agent") if name not in at]
    if "vote" not in at and "correct" not in at:
        missing.append("vote")
    if not missing:
        return None
    listed = " and ".join("vote (or correct)" if name == "vote" else name for name in missing)
    left = [name for name in found.unread if name]
    guesses = {name: _nearest(name, left) for name in missing}
    known = ", ".join(name for name in sheet.names if name) or "none"
    if left:
        example = {name: guess or "COLUMN" for name, guess in guesses.items()}
        nearest = [f"{guess!r} to {name}" for name, guess in guesses.items() if guess]
        hint = f" (nearest: {', '.join(nearest)})" if nearest else ""
        advice = f"{hint}; say which they are with {to_type(**example)}"
        if "debate" in at and "vote" in missing and len(left) > 1:
            advice += f", or with {to_type(votes=left[:3])} where each column holds one agent's votes"
    else:
        advice = ""
    return missing[0], f"a table must have a column for {listed}; got {known}{advice}"


def _nearest(field_name: str, names: Sequence[str]) -> str | None:
    import difflib

    from d3stats.log.column_names import ALIASES

    known = [plain(field_name), *(plain(alias) for tier in ALIASES.get(field_name, ()) for alias in tier)]
    scored = [
        (max(difflib.SequenceMatcher(None, plain(name), alias).ratio() for alias in known), name)
        for name in names
    ]
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] >= 0.75 else None


def _misspelled(found: Resolved, table: str) -> list[Problem]:
    """Return unread columns that are one slip away from a field that no column stands for."""
    known = f"columns must be among {', '.join(TABLE_COLUMNS)}"
    return [
        Problem(
            table, 1, name, f"{known}; got {name!r}: did you mean {meant}?", "unknown column", (), "nothing"
        )
        for name in found.unread
        for meant in _NEAR
        if meant not in found.columns and _is_slip(plain(name), plain(meant))
    ]


def _is_slip(name: str, wanted: str) -> bool:
    """Whether one letter is missing or too many, or two stand the wrong way round; a plural is another word."""
    if name[:1] != wanted[:1] or name == wanted + "s" or wanted == name + "s":
        return False
    dropped = {wanted[:k] + wanted[k + 1 :] for k in range(len(wanted))}
    swapped = {wanted[:k] + wanted[k + 1] + wanted[k] + wanted[k + 2 :] for k in range(len(wanted) - 1)}
    added = wanted in {name[:k] + name[k + 1 :] for k in range(len(name))}
    return name in (dropped | swapped) - {wanted} or (added and name != wanted)


# ------------------------------------------------------------------------------------------------ wide tables


_ROUND_WORD = r"(?:rounds?|rd|rnd|r|turn|t|step|iteration|iter)"
_WIDE = (
    re.compile(rf"(?P<agent>){_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})", re.IGNORECASE),
    re.compile(rf"(?P<agent>.+?)[\W_]+{_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})", re.IGNORECASE),
    re.compile(rf"{_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})[\W_]+(?P<agent>.+)", re.IGNORECASE),
)
_NO_VOTES = frozenset(
    word
    for line in (
        "difficulty level seed temperature temp date time timestamp category topic subject domain split",
        "source dataset language lang confidence conf cost price latency duration year grade length score",
        "accuracy acc notes note comment comments text prompt context explanation rationale reasoning raw",
        "n count weight type subset index id row hash url user version group batch",
    )
    for word in line.split()
)
_NO_VOTE_ENDS = (
    "tokens",
    "score",
    "text",
    "confidence",
    "time",
    "cost",
    "prob",
    "logprob",
    "count",
    "length",
)


def _unfolded(sheet: _Sheet, found: Resolved, columns: Columns) -> tuple[_Sheet, Resolved]:
    """Turn a wide table into one row per turn; a long one comes back as it is.

    Raises
    ------
    ColumnError
        When the columns may be votes and may be something else.
    """
    chosen = (columns or {}).get("votes")
    if chosen is not None:
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        for name in ("vote", "correct"):
            found.unread += found.columns.pop(name, ())
        if "agent" in found.columns and not all(_WIDE[0].fullmatch(name) for name in names):
            found.unread += found.columns.pop("agent")
        picked = resolve(found.unread, ["votes"], columns={"votes": names}, what=sheet.name)
        votes = list(picked.columns["votes"])
    elif {"vote", "correct"} & set(found.columns) or "debate" not in found.columns:
        return sheet, found
    else:
        votes = _vote_columns(sheet, found)
        if not votes:
            return sheet, found
    return _melted(sheet, found, votes, asked=chosen is not None)


def _place(name: str) -> tuple[str, str]:
    """Return the agent and the round that a column's name says, empty where it does not."""
    match = next((m for pattern in _WIDE if (m := pattern.fullmatch(name))), None)
    return (name, "") if match is None else (match["agent"], match["round"])


def _vote_columns(sheet: _Sheet, found: Resolved) -> list[str]:
    """Return the columns that hold votes, none where this is no wide table."""
    left = [
        name
        for name in found.unread
        if name
        and not name.startswith("Unnamed: ")
        and plain(_place(name)[0]) not in _NO_VOTES
        and not plain(_place(name)[0]).endswith(_NO_VOTE_ENDS)
    ]
    with_round = [name for name in left if _place(name)[1]]
    if "agent" in found.columns:
        left = [name for name in with_round if not _place(name)[0]]
    elif with_round and any(_place(name)[0] for name in with_round):
        left = [name for name in with_round if _place(name)[0]]
    else:
        left = [name for name in left if (sheet.get(name).codes >= 0).any()]
    known = sheet.get(found.columns["label"][0]) if "label" in found.columns else None
    votes = _alike({name: _said(sheet.get(name)) for name in left}, set() if known is None else _said(known))
    if len(votes) < 2 - ("agent" in found.columns and bool(votes)):
        return []
    doubtful = [name for name in left if name not in votes]
    numbered = [re.fullmatch(r"(.+?)[\W_]([0-9]+)", name) for name in votes]
    stems = {m[1] for m in numbered if m}
    grid = (
        all(numbered)
        and 1 < len(stems) < len(votes)
        and len(stems) * len({m[2] for m in numbered if m}) == len(votes)
    )
    bare = "agent" not in found.columns and all(_WIDE[0].fullmatch(name) for name in votes)
    if (doubtful and not with_round) or (grid and not with_round) or bare:
        why = (
            f"{', '.join(map(repr, doubtful[:3]))} may be something else"
            if doubtful
            else "they may stand for agents or for rounds"
        )
        raise ColumnError(
            "vote",
            f"a table without a column vote must have one column per agent; got {', '.join(votes[:8])}, and {why}: "
            f"say which columns hold one agent's votes each with {to_type(votes=votes)}",
        )
    return votes


def _said(column: Coded) -> set[str]:
    """Return the texts that occur in a column, as answers are compared."""
    occurring = np.unique(column.codes[column.codes >= 0])
    texts = (column.values[code] for code in occurring)
    return {text for text in map(name_text, texts) if text is not None and not is_missing_word(text)}


def _alike(said: Mapping[str, set[str]], known: set[str]) -> list[str]:
    """Return the columns whose values are answers: they share some with the labels or with each other."""

    def is_alike(name: str) -> bool:
        values = said[name]
        if not values:
            return bool(_place(name)[1])  # nobody spoke in this round
        others = known.union(*(each for other, each in said.items() if other != name))
        letters = all(len(value) == 1 and value.isalpha() for value in values | others)
        return bool(others) and max(map(len, values)) <= 80 and (letters or bool(values & others))

    return [name for name in said if is_alike(name)]


def _melted(sheet: _Sheet, found: Resolved, votes: list[str], *, asked: bool) -> tuple[_Sheet, Resolved]:
    places = [_place(name) for name in votes]
    by_round = all(number for _, number in places)
    if "agent" not in found.columns and not all(agent for agent, _ in places):
        by_round = False  # r1 and r2 without a column for the agent: raters
    if not by_round:
        places = [(name, "") for name in votes]
    elif "round" in found.columns:
        raise ColumnError(
            "round", f"rounds must be in a column or in the columns' names; got both in {sheet.name}"
        )
    n, k = len(sheet.line), len(votes)
    row = np.repeat(np.arange(n), k)
    codes, values = unified(*(sheet.get(name) for name in votes))
    long = {name: _together([sheet.get(c) for c in several])[row] for name, several in found.columns.items()}
    long["vote"] = Coded(np.stack(codes, axis=1).reshape(-1), values)
    if "agent" not in long:
        agent = Coded.of([agent for agent, _ in places])
        long["agent"] = Coded(np.tile(agent.codes, n), agent.values)
    kept = np.ones(n * k, dtype=np.bool_)
    if by_round:
        number = np.array([int(number) for _, number in places])
        named = Coded.of([str(int(number)) for _, number in places])
        long["round"] = Coded(np.tile(named.codes, n), named.values)
        # A debate ends with its last round in which somebody voted.
        played, debate = np.tile(number, n), long["debate"].codes
        last = np.full(len(long["debate"].values) + 1, number.min())
        has_vote = long["vote"].codes >= 0
        np.maximum.at(last, debate[has_vote], played[has_vote])
        kept = played <= last[debate]
    names = ", ".join(votes[:6]) + (f" and {len(votes) - 6} more" if len(votes) > 6 else "")
    what = (
        "the votes of an agent each"
        if not by_round
        else "the votes of a round each"
        if "agent" in found.columns
        else "the votes of an agent in a round each"
    )
    melted = _Sheet(
        sheet.name,
        list(long),
        [column[kept] for column in long.values()],
        sheet.line[row][kept],
        sheet.problems,
        [
            f"a wide table: the columns {names} hold {what}; an empty cell is a vote that is missing",
            *sheet.notes,
        ],
        sheet.n_records - n + int(kept.sum()),
    )
    unread = [name for name in found.unread if name not in votes]
    return melted, Resolved({name: (name,) for name in long}, found.chosen, unread)


# ------------------------------------------------------------------------------------------------ rows


_WHOLE = re.compile(r"([0-9]{1,15})(?:\.0*)?")
_TRUTH = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_SAID = (
    "correct",
    "error",
    "model",
    "role",
    "scores",
    "tokens",
    "tokens_in",
    "tokens_out",
    "tokens_source",
    "vote",
)
_CLOSING = ("decision", "stop_round", "stop_reason")

Wrong = tuple[str, str, Any]
"""The field, what it must be, and what was got."""


def _records(
    sheet: _Sheet, columns: Columns, items: _Sheet | None = None, *, from_zero: bool | None = None
) -> Records:
    try:
        if not sheet.names:
            raise ColumnError("debate", "a table must have a line of column names; got none")
        sheet = _filled_rows(sheet)
        found = _log_columns(sheet, columns)
        taken, whole = found.taken_note(), len(sheet.line)
        sheet, found = _unfolded(sheet, found, columns)
        if len(sheet.line) == whole:
            _refuse_row_numbers(sheet, found)
        wanted = _required(found, sheet)
        if wanted is not None:
            return _refused(sheet, "unknown column" if found.unread else "wrong field", *wanted)
        opened = None if items is None else _item_records(items, found)
    except ColumnError as error:
        return _refused(sheet, "wrong field", error.field, str(error))
    problems = [*sheet.problems, *_misspelled(found, sheet.name)]
    cells = {
        name: _together([sheet.get(column) for column in several]) for name, several in found.columns.items()
    }
    said = _doubt(sheet, found, cells)
    if said is not None:
        return _refused(sheet, "wrong field", *said)
    notes = [*taken, *sheet.notes]
    if "round" not in cells:
        notes.append("there is no column for the round: all rows are of round 1")
    notes += unread_note(found.unread)
    rows = _Rows(sheet.name, sheet.line, cells, from_zero)
    records = replace(
        rows.records(has_items=items is None),
        problems=[*problems, *rows.problems],
        n_records=sheet.n_records,
        coding="answers" if "vote" in cells else "correctness",
        totals="tokens" in cells,
    )
    records.notes = [*notes, *rows.notes]
    if opened is None:
        return records
    return joined([replace(opened, coding=records.coding, totals=records.totals), records])


def _refuse_row_numbers(sheet: _Sheet, found: Resolved) -> None:
    """Take a column "id" that numbers the rows of a long table for no debate."""
    at = found.columns.get("debate", ())
    if at and plain(at[0]) in ("id", "idx") and "debate" not in found.chosen:
        codes = sheet.get(at[0]).codes
        if len(codes) > 1 and len(np.unique(codes)) == len(codes):
            found.unread += found.columns.pop("debate")


def _filled_rows(sheet: _Sheet) -> _Sheet:
    """Drop rows in which no cell is filled; spreadsheets end with many."""
    if not sheet.columns:
        return sheet
    filled = np.any([column.codes >= 0 for column in sheet.columns], axis=0)
    if filled.all():
        return sheet
    columns = [column[filled] for column in sheet.columns]
    n_records = sheet.n_records - int((~filled).sum())
    return replace(sheet, columns=columns, line=sheet.line[filled], n_records=n_records)


def _item_records(sheet: _Sheet, turns: Resolved) -> Records:
    """Read a table with one row per debate; what the turns say of it besides is not read."""
    sheet = _filled_rows(sheet)
    for name in _ITEM:
        turns.unread += turns.columns.pop(name, ())
    found = resolve(sheet.names, ["debate", *_ITEM], what=sheet.name)
    if "debate" not in found.columns and "question" in found.columns:
        found.columns["debate"] = found.columns.pop("question")
    if "debate" not in found.columns:
        raise ColumnError("debate", f"items must have a column debate; got {', '.join(sheet.names)}")
    rows = _Rows(sheet.name, sheet.line, {name: sheet.get(c[0]) for name, c in found.columns.items()})
    records = replace(rows.records(has_items=True), problems=rows.problems, n_records=sheet.n_records)
    records.notes = [*found.taken_note(), *unread_note(found.unread)]
    return records


def _refused(sheet: _Sheet, kind: str, name: str, message: str, line: int = 1) -> Records:
    """Pass over a table that cannot be read: one problem, however many rows."""
    problem = Problem(sheet.name, line, name, message, kind, (), "nothing")
    return _nothing(sheet.name, [problem], sheet.notes)


def _together(columns: list[Coded]) -> Coded:
    """Make one name of several columns, missing where one of them is."""
    if len(columns) == 1:
        return columns[0]
    given = np.all([column.codes >= 0 for column in columns], axis=0)
    pairs = np.stack([column.codes for column in columns], axis=1)
    different, codes = np.unique(pairs[given], axis=0, return_inverse=True)
    values = [" / ".join(c.values[k] for c, k in zip(columns, row, strict=True)) for row in different]
    whole = np.full(len(given), -1, dtype=np.int32)
    whole[given] = codes.reshape(-1)
    return Coded(whole, values)


def _doubt(sheet: _Sheet, found: Resolved, cells: Mapping[str, Coded]) -> tuple[str, str, int] | None:
    """Return the field, the message and the line where a column that was taken, or is not there, cannot be right."""
    if "round" in cells and (found.columns["debate"] == ("debate",) or "debate" in found.chosen):
        return None
    again = _repeated(*(cells[name] for name in ("debate", "round", "agent") if name in cells))
    if again is None:
        return None
    who = f"{_at(cells['agent'], again)!r} twice in debate {_at(cells['debate'], again)!r}"
    left = [name for name in found.unread if name]
    line = int(sheet.line[again])
    if "round" not in cells:
        guess = _nearest("round", left) or (left[0] if left else "COLUMN")
        message = "a table in which an agent speaks twice in a debate must have a column round"
        listed = ", ".join(filter(None, sheet.names))
        return "round", f"{message}; got {listed}, with {who}: {to_type(round=guess)}", line
    taken = found.columns["debate"]
    others = [
        *left,
        *(c[0] for name, c in found.columns.items() if name in ("question", "log", "model", "role")),
    ]
    for other in others:
        apart = _together([*map(sheet.get, taken), sheet.get(other)])
        if _repeated(apart, cells["round"], cells["agent"]) is None:
            message = f"debate must tell debates apart; got {who} in one round, with debate from {taken[0]!r}"
            return "debate", f"{message}: {to_type(debate=[other, *taken])} has no such row", line
    return None


def _at(column: Coded, row: int) -> Any:
    return column.values[column.codes[row]]


def _repeated(*columns: Coded) -> int | None:
    """Return the first row that says the same as one before, in columns that it fills."""
    given = np.flatnonzero(np.all([column.codes >= 0 for column in columns], axis=0))
    key = np.zeros(len(given), dtype=np.int64)
    for column in columns:
        _, key = np.unique(key * (len(column.values) + 1) + column.codes[given], return_inverse=True)
    _, first = np.unique(key, return_index=True)
    again = np.ones(len(key), dtype=np.bool_)
    again[first] = False
    return int(given[np.argmax(again)]) if again.any() else None


class _Rows:
    """The cells of a long table, each different text parsed once; a wrong cell is a problem of its row."""

    def __init__(
        self, name: str, line: Ints, cells: Mapping[str, Coded], from_zero: bool | None = None
    ) -> None:
        self.name, self.line, self.cells, self.from_zero = name, line, dict(cells), from_zero
        self.n = len(line)
        self.wrong: NDArray[np.bool_] = np.zeros(self.n, dtype=np.bool_)
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def given(self, name: str) -> NDArray[np.bool_]:
        column = self.cells.get(name)
        return np.zeros(self.n, dtype=np.bool_) if column is None else column.codes >= 0

    def refuse(self, rows: NDArray[np.bool_], say: Wrong | Mapping[int, Wrong], codes: Any = None) -> None:
        """Leave out rows that no earlier rule left out; `say` may depend on the code of the cell."""
        for row in np.flatnonzero(rows & ~self.wrong):
            name, requirement, got = say[int(codes[row])] if isinstance(say, Mapping) else say
            shown = repr(got) if len(repr(got)) <= 80 else repr(got)[:77] + "..."
            keys = (self.cells[key] for key in ("debate", "round", "agent") if key in self.cells)
            key = tuple(column.values[column.codes[row]] for column in keys if column.codes[row] >= 0)
            message = f"{name} {requirement}; got {name}={shown}"
            self.problems.append(Problem(self.name, int(self.line[row]), name, message, "wrong field", key))
        self.wrong |= rows

    def parsed(self, name: str, parse: Any) -> list[Any]:
        """Parse each text of a column; what is wrong leaves its rows out and is None."""
        column = self.cells[name]
        values: list[Any] = []
        wrong: dict[int, Wrong] = {}
        for code, text in enumerate(column.values):
            try:
                values.append(None if is_missing_word(text) else parse(name, text))
            except _WrongCell as error:
                values.append(None)
                wrong[code] = error.wrong
        if wrong:
            self.refuse(np.isin(column.codes, list(wrong)), wrong, column.codes)
        self.cells[name] = column = _blanked(column, values, wrong)
        return values

    def numbers(self, name: str, parse: Any) -> NDArray[np.float64]:
        if name not in self.cells:
            return np.full(self.n, np.nan)
        values = [np.nan if v is None else float(v) for v in self.parsed(name, parse)]
        return np.array([*values, np.nan])[self.cells[name].codes]

    def records(self, has_items: bool) -> Records:
        cells = self.cells
        if not self.given("debate").all():
            self.refuse(~self.given("debate"), ("debate", "must be given", ""))
        answers = (
            _values_of(cells["answers"].codes, self.parsed("answers", _answers))
            if "answers" in cells
            else None
        )
        played = self._rounds()
        if "scores" in cells:
            cells["scores"] = _values_of(cells["scores"].codes, self.parsed("scores", _scores))
        columns: dict[str, Any] = {"round": played}
        for name in ("tokens_in", "tokens_out"):
            if name in cells:
                columns[name] = self.numbers(name, _whole)
        if "round" in cells and len(played):
            self._in_range(played, "round")
        for name, parse in (("correct", _truth), ("tokens", _whole)):
            if name in cells:
                columns[name] = self.numbers(name, parse)
        speaks = self.given("round") if "round" in cells else self.given("agent")
        if not speaks.all():
            for name in _SAID:
                unused = self.given(name) & ~speaks
                if unused.any():
                    got = {
                        k: (name, "must come with a round and an agent", v)
                        for k, v in enumerate(cells[name].values)
                    }
                    self.refuse(unused, got, cells[name].codes)
        verdicts = self._verdicts()
        kept = ~self.wrong
        rows = np.flatnonzero(kept)
        everything = {"debate": cells["debate"], **columns}
        for name in ("agent", "role", "vote", "scores", "tokens_source", "model", "error"):
            if name in cells:
                everything[name] = cells[name]
        whole = np.arange(self.n, dtype=np.int64)
        opened = {name: cells[name] for name in ("debate", *_ITEM) if name in cells}
        if answers is not None:
            opened["answers"] = answers
        opened["question"] = _filled(opened.get("question"), cells["debate"])
        spoken = kept & speaks
        return Records(
            files=[self.name],
            file=np.zeros(self.n, dtype=np.int64),
            line=self.line,
            items=_part(whole, opened, rows if has_items else rows[:0]),
            turns=_part(whole, everything, np.flatnonzero(spoken)),
            verdicts=_part(whole, *verdicts, kept),
        )

    def _rounds(self) -> NDArray[np.float64]:
        """Return each row's round, from 1; a table in which a round 0 occurs counts from 0."""
        if "round" not in self.cells:
            return np.ones(self.n)
        column = self.cells["round"]
        zero = any(map(_is_zero, column.values)) if self.from_zero is None else self.from_zero
        self.shift = int(zero)
        if zero:
            self.notes.append(f"{self.name}: rounds count from 0 and were shifted to count from 1")
        words = np.array([*map(is_missing_word, column.values), True])
        has_round = ~words[column.codes]
        if (has_round != self.given("agent")).any():
            self.refuse(has_round & ~self.given("agent"), _absent("agent"))
            self.refuse(~has_round & self.given("agent"), _absent("round"))
        return self.numbers("round", _whole) + self.shift

    shift = 0

    def _in_range(self, played: NDArray[np.float64], name: str) -> None:
        for out, limit in ((played < 1, ">= 1"), (played > _MOST_ROUND, f"<= {_MOST_ROUND}")):
            for number in np.unique(played[out]):
                self.refuse(played == number, (name, f"must be a whole number {limit}", int(number)))

    def _verdicts(self) -> tuple[dict[str, Any], NDArray[np.bool_]]:
        none: dict[str, Any] = {}
        if not {"closed", *_CLOSING} & set(self.cells):
            return none, np.zeros(self.n, dtype=np.bool_)
        stop = self.numbers("stop_round", _whole) + self.shift
        closed = self.numbers("closed", _truth)
        said = self.given("decision") | self.given("stop_round") | self.given("stop_reason")
        if ((closed == 0) & said).any():
            texts = self.cells["closed"]
            rule = "must be 1 where a verdict is given"
            self.refuse(
                (closed == 0) & said,
                {k: ("closed", rule, v) for k, v in enumerate(texts.values)},
                texts.codes,
            )
        if "stop_round" in self.cells:
            self._in_range(stop, "round")
        columns: dict[str, Any] = {"debate": self.cells["debate"], "round": stop}
        for name in ("decision", "stop_reason"):
            if name in self.cells:
                columns[name] = self.cells[name]
        return columns, (closed == 1) | (np.isnan(closed) & said)


def _part(whole: Ints, columns: dict[str, Any], at: Any, kept: Any = None) -> Part:
    """Keep some rows, without a copy where all are kept."""
    if kept is not None:
        at = np.flatnonzero(at & kept)
    part = Part(whole, columns) if len(at) == len(whole) else Part(whole, columns)[at]
    if "agent" in part.columns:
        part.columns["round"] = part.columns["round"].astype(np.int64)
    return part


def _filled(column: Coded | None, default: Coded) -> Coded:
    """Put another column's texts where this one is empty."""
    if column is None:
        return default
    if (column.codes >= 0).all():
        return column
    (codes, instead), values = unified(column, default)
    return Coded(np.where(codes < 0, instead, codes), values)


def _blanked(column: Coded, values: Sequence[Any], wrong: Mapping[int, Any]) -> Coded:
    """Take texts that mean missing out of a column."""
    empty = [k for k, value in enumerate(values) if value is None and k not in wrong]
    if not empty:
        return column
    return Coded(np.where(np.isin(column.codes, empty), -1, column.codes).astype(np.int32), column.values)


def _values_of(codes: NDArray[np.int32], values: list[Any]) -> Coded:
    """Code by what texts stand for: two texts may be one list."""
    coder = Coder()
    lookup = np.array([*map(coder.__getitem__, values), -1], dtype=np.int32)
    return Coded(lookup[codes], coder.values_list())


# ------------------------------------------------------------------------------------------------ cells of a kind


class _WrongCell(ValueError):
    def __init__(self, name: str, requirement: str, got: Any) -> None:
        super().__init__(name)
        self.wrong: Wrong = (name, requirement, got)


def _absent(name: str) -> Wrong:
    return name, "must be given with the other of round and agent", ""


def _whole(name: str, text: str) -> int:
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        raise _WrongCell(name, "must be a whole number >= 0", text)
    return int(match[1])


def _is_zero(text: str) -> bool:
    match = _WHOLE.fullmatch(text.strip())
    return match is not None and int(match[1]) == 0


def _truth(name: str, text: str) -> int:
    if text.strip().lower() not in _TRUTH:
        raise _WrongCell(name, "must be 0, 1 or empty", text)
    return _TRUTH[text.strip().lower()]


def _json(name: str, text: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        raise _WrongCell(name, "must be JSON", text) from None


def _answers(name: str, text: str) -> tuple[str, ...] | None:
    answers = _checked(name, _json(name, text), Item, debate="d", question="q")
    return None if answers is None else tuple(answers)


def _scores(name: str, text: str) -> str | None:
    scores = _checked(name, _json(name, text), Turn, debate="d", round=1, agent="a")
    if scores is None:
        return None
    return msgspec.json.encode(msgspec.convert(scores, dict[str, dict[str, float]])).decode()


def _checked(name: str, value: Any, model: type[Record], **others: Any) -> Any:
    defect = first_defect(others | {name: value}, model)
    if defect is not None:
        raise _WrongCell(*defect)
    return value
