"""Tables as they were written: CSV, TSV, Excel, Parquet, flat JSON lines and data frames, cells as codes of texts."""

from __future__ import annotations

import codecs
import csv
import datetime
import gzip
import io
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import meant
from d3stats._progress import tell
from d3stats._words import counted, has_half, storable
from d3stats.log.column_names import (
    plain,
)
from d3stats.log.columns import Coded, Coder
from d3stats.log.files import LogFile
from d3stats.log.opening import open_bytes, unusable
from d3stats.log.packed import TooLarge, refuse_larger
from d3stats.log.problems import Advised, Problem
from d3stats.note import FIRST_SHEET, Note

if TYPE_CHECKING:
    import duckdb


@dataclass
class Sheet:
    """A table as it was written: names, and cells as codes of texts (-1 where empty)."""

    name: str
    names: list[str]
    columns: list[Coded]
    line: Ints
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_records: int = 0
    may_have_commas: bool = False
    """Whether numbers may be written with a decimal comma: cells are separated by something else."""

    def get(self, name: str) -> Coded:
        return self.columns[self.names.index(name)]


def without_headers(sheet: Sheet) -> Sheet:
    """Leave out rows that repeat the names of the columns, as where two files were put together; and say so."""
    if len(sheet.line) > 2:
        first = [c.values[c.codes[0]] if c.codes[0] >= 0 else None for c in sheet.columns]
        unit = one_word_row(first, lambda word: any(_has(column, word) for column in sheet.columns))
        sheet = replace(sheet, notes=[*sheet.notes, *unit]) if unit else sheet
    again, loose = np.ones(len(sheet.line), dtype=np.bool_), has_field(sheet.names)
    named = 0
    pairs = zip(sheet.names, sheet.columns, strict=True)
    # A column of few values tells fastest that there is no such row.
    for name, column in sorted(pairs, key=lambda pair: len(pair[1].values)):
        if not name:
            continue
        codes = [k for k, text in enumerate(column.values) if is_header(text, name, loose)]
        if not codes:
            return sheet
        named += 1
        again &= np.isin(column.codes, codes)
    if named < 2 or not again.any():
        return sheet
    kept = ~again
    return replace(
        sheet,
        columns=[column[kept] for column in sheet.columns],
        line=sheet.line[kept],
        n_records=sheet.n_records - int(again.sum()),
        notes=[*sheet.notes, header_note(int(again.sum()))],
    )


def _has(column: Coded, word: str) -> bool:
    """Whether a row after the first has this text."""
    codes = [k for k, text in enumerate(column.values) if isinstance(text, str) and text.strip() == word]
    return bool(np.isin(column.codes[1:], codes).any())


def has_field(names: Iterable[Any]) -> bool:
    """Whether a column has the name of a field; raters called a and b give votes that are spelt like their names."""
    return any(
        plain(name) in {"item", "debate", "vote", "correct", "score", "label", "question"} for name in names
    )


def is_header(cell: Any, name: Any, loose: bool) -> bool:
    """Whether a cell repeats the name of its column; if `loose`, in any case and with signs around it.

    Examples
    --------
    >>> is_header("[Vote]", "vote", True), is_header("[Vote]", "vote", False), is_header("A", "vote", True)
    (True, False, False)
    """
    same = isinstance(cell, str) and cell.strip() == str(name).strip()
    return same or (loose and isinstance(cell, str) and plain(cell) == plain(name) != "")


def one_word_row(first: Sequence[Any], elsewhere: Callable[[str], bool]) -> list[Note]:
    """Warn of a first row that has one word in all columns, which no other row has, as a row of units has."""
    words = {cell.strip() if isinstance(cell, str) else None for cell in first}
    if len(first) < 3 or len(words) != 1:
        return []
    (word,) = words
    if not word or elsewhere(word):
        return []
    text = (
        f"the first row has {word!r} in every column, as a second line of names has; remove it if it is one"
    )
    return [Note(text, kind="headers", severity="warning", n=1, examples=[word])]


def header_note(n: int) -> Note:
    """Say that rows were left out that repeat the names of the columns."""
    many = "1 row that repeats" if n == 1 else f"{n:,} rows that repeat"
    return Note(
        f"{many} the names of the columns {'was' if n == 1 else 'were'} left out", kind="headers", n=n
    )


# ------------------------------------------------------------------------------------------------ cells


_DATES = (datetime.date, datetime.time, np.datetime64)


def cell_text(value: Any) -> str | None:
    """Write a cell as text, None where it is empty; a float that is an integer is one."""
    if isinstance(value, str):
        return str(value)  # a text of an array is of its own type, which shows in messages
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return None if value != value else _shorter(str(value))
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else cell_text(pd.Timestamp(value))
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


class Halves:
    """Cells and names of columns with half of a surrogate pair, which JSON and Python can spell and no file can hold.

    Each half is read as U+FFFD. Texts that become equal by this are counted for each column.
    """

    def __init__(self) -> None:
        self.cells, self.names, self.first = 0, 0, ""
        self.equal: dict[str, int] = {}

    def name(self, given: str) -> str:
        """Return the name of a column as it is read."""
        whole = storable(given)
        self.names += whole != given
        return whole

    def forms(self, texts: Collection[str], column: str) -> dict[str, str]:
        """Return the different texts of a column that have such a half, and how they are read."""
        forms = {text: storable(text) for text in texts if not text.isascii() and has_half(text)}
        if forms:
            whole = set(texts).difference(forms)
            if equal := len(forms) - len(set(forms.values()) - whole):
                self.equal[column] = equal
        return forms

    def count(self, column: str, lines: Sequence[int]) -> None:
        """Count the cells of a column that are in these lines."""
        self.cells += len(lines)
        self.first = self.first or f"the first is in column {column!r}, line {lines[0]}"

    def notes(self) -> list[Note]:
        """Say how many there are and where the first is; a warning where texts became equal."""
        named = [counted(self.cells, "cell")] if self.cells else []
        named += [counted(self.names, "name of a column", "names of columns")] if self.names else []
        if not named:
            return []
        n = self.cells + self.names
        have = "has half of a surrogate pair, which is no character, and is"
        if n > 1:
            have = "have half of a surrogate pair, which is no character, and are"
        text = f"{' and '.join(named)} {have} read with U+FFFD in its place"
        text += f"; {self.first}" if self.first else ""
        if not self.equal:
            return [Note(text, kind="halves", n=n)]
        where = ", ".join(f"{many:,} in column {column!r}" for column, many in self.equal.items())
        text += f"; texts that differ in nothing else are read as one ({where})"
        return [Note(text, kind="halves", severity="warning", n=n)]


def whole_texts(sheet: Sheet) -> Sheet:
    """Put U+FFFD for halves of surrogate pairs in names and cells of a table, and say so."""
    found = Halves()
    names = list(map(found.name, sheet.names))
    columns = list(sheet.columns)
    for k, (name, column) in enumerate(zip(names, sheet.columns, strict=True)):
        forms = found.forms(column.values, name)
        if forms:
            odd = np.array([*(value in forms for value in column.values), False])
            columns[k] = column.mapped(forms)
            found.count(name, sheet.line[odd[column.codes]].tolist())
    notes = found.notes()
    return replace(sheet, names=names, columns=columns, notes=[*sheet.notes, *notes]) if notes else sheet


def whole_frame(table: pd.DataFrame | Sequence[Mapping[Any, Any]]) -> tuple[pd.DataFrame, list[Note]]:
    """Do the same in a data frame, or in rows, which become one; columns of Arrow have no halves."""
    found, of_rows = Halves(), False
    if isinstance(table, pd.DataFrame):
        frame = table
    else:
        try:
            frame = pd.DataFrame(table)
        except UnicodeEncodeError:
            frame, of_rows = _frame_of_objects(table, found), True
    made = frame.copy(deep=False)
    for k, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_object_dtype(kind) and getattr(kind, "storage", None) != "python":
            continue
        name, cells = str(frame.columns[k]), frame.iloc[:, k].tolist()
        forms = found.forms({cell for cell in cells if isinstance(cell, str)}, name)
        if forms:
            odd = [isinstance(cell, str) and cell in forms for cell in cells]
            found.count(name, [line for line, is_odd in enumerate(odd, start=1) if is_odd])
            read = [forms[cell] if is_odd else cell for cell, is_odd in zip(cells, odd, strict=True)]
            made.isetitem(k, np.fromiter(read, dtype=object, count=len(read)))
    if of_rows:
        made = made.infer_objects()
    notes = found.notes()
    return (made, notes) if notes else (frame, notes)


def _frame_of_objects(rows: Sequence[Mapping[Any, Any]], found: Halves) -> pd.DataFrame:
    """Return rows as a data frame of objects, whose names of columns are whole."""
    given = list(dict.fromkeys(name for row in rows for name in row))
    names = [found.name(name) if isinstance(name, str) else name for name in given]
    if len(set(names)) < len(names):
        step = "give each column a name of its own"
        raise ValueError(
            Advised(
                "names of columns must differ in more than half of a surrogate pair", step, got=f"{given!r}"
            )
        )
    cells = {
        name: pd.Series([row.get(key) for row in rows], dtype=object)
        for name, key in zip(names, given, strict=True)
    }
    return pd.DataFrame(cells)


def _of_values(values: Iterable[Any]) -> Coded:
    """Code Python values by their texts."""
    listed = values if isinstance(values, list) else list(values)
    if not set(map(type, listed)) <= {str, type(None)}:
        # Text first: True and 1 would be one key.
        listed = [value if type(value) is str else cell_text(value) for value in listed]
    coder = Coder()
    codes = coder.codes(listed)
    return texts_as_cells(codes, coder.values_list())


def texts_as_cells(codes: NDArray[Any], values: list[Any]) -> Coded:
    """Put texts in place of values; an empty text is an empty cell."""
    if set(map(type, values)) <= {str} and "" not in values and "".join(values).isascii():
        return Coded(codes.astype(np.int32, copy=False), values)
    return Coded(codes.astype(np.int32, copy=False), values).mapped({v: cell_text(v) or None for v in values})


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
    lookup = np.array([*(coder[cell_text(value) or None] for value in values), -1], dtype=np.int32)
    return Coded(lookup[codes], coder.values_list())


def _date_note(name: str, values: Iterable[Any]) -> list[str]:
    dates = (value for value in values if isinstance(value, _DATES) and cell_text(value) is not None)
    return [_held_dates(name, cell_text(date)) for date in islice(dates, 1)]


def _held_dates(name: str, text: str | None) -> str:
    return (
        f"column {name!r} holds dates, read as text such as {text!r}; a spreadsheet program may have "
        "converted answers such as 1/2 to dates"
    )


# ------------------------------------------------------------------------------------------------ text files


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class _Text:
    """The text of a file; once it is read, `torn` says what cut the file short, if anything did."""

    def __init__(self, file: LogFile, encoding: str | None) -> None:
        self.file, self.encoding = file, encoding
        self.torn: str | None = None

    def _bytes(self) -> Iterator[bytes]:
        try:
            with open_bytes(self.file) as handle:
                # Of a file that breaks off, read() would lose what it has unpacked.
                while block := handle.read1(BLOCK):  # type: ignore[attr-defined]
                    yield block
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.torn = str(error)

    def _name(self, start: bytes) -> str:
        """Return the encoding of a text that starts so."""
        if self.encoding is None:
            return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")
        try:
            start.decode(self.encoding, "replace")
            codecs.getincrementaldecoder(self.encoding)
        except LookupError:
            raise ValueError(
                f"encoding must be known, such as utf-8, cp1252 or latin-1; got {self.encoding!r}"
            ) from None
        return "utf-8-sig" if plain(self.encoding) in ("utf8", "u8") else self.encoding

    def blocks(self) -> Iterator[str]:
        """Yield the text block by block.

        Raises
        ------
        UnicodeDecodeError
            When it is not in its encoding; :meth:`whole` says where.
        """
        held, decoder = b"", None
        for block in self._bytes():
            held += block
            if decoder is None and len(held) > 4:
                decoder = codecs.getincrementaldecoder(self._name(held))()
            if decoder is not None:
                yield decoder.decode(held)
                held = b""
        if decoder is None:
            decoder = codecs.getincrementaldecoder(self._name(held))()
        yield decoder.decode(held, final=self.torn is None)

    def whole(self) -> str | Problem:
        """Return the text at once, or say which byte is not in its encoding."""
        data = b"".join(self._bytes())
        name = self._name(data[:64])
        try:
            return data.decode(name)
        except UnicodeDecodeError as error:
            if self.torn is not None and error.end == len(data):
                return data[: error.start].decode(name)
            return _undecodable(self.file, data, name, error)


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
    use = f'if that is correct, use --encoding {other} (encoding="{other}")'
    if name.startswith("utf-8") and not data[: error.start].isascii():
        use = (
            "as other lines above it are UTF-8, the file mixes encodings, and --encoding would garble those lines: "
            "save every part in UTF-8"
        )
    shown = f"which reads {around.decode(other)!r} as {other}"
    message = Advised(
        f"the text must be {name.removesuffix('-sig').upper()}",
        use,
        got=f"the byte 0x{data[error.start]:02x} in line {line}, {shown}",
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


def _title(text: str, start: int) -> str | None:
    """Return the first line where it is one cell, and the lines below it are rows of several."""
    lines = (re.sub(r'"[^"]*"', "x", line) for line in io.StringIO(text[start : start + _HEAD]))
    first, *others = list(islice((line.strip() for line in lines if line.strip()), 4)) or [""]
    cells = re.compile(r"[,\t;|]")
    return first if others and not cells.search(first) and all(map(cells.search, others)) else None


def _untitled(file: LogFile, line: int, title: str, more: str = "") -> Problem:
    message = Advised(
        "the first line must name the columns",
        got=f"{title[:60]!r} above rows of several cells; delete the lines above the column names{more}",
    )
    return Problem(file.name, line, None, message, "malformed line", (), "nothing")


def text_sheet(file: LogFile, encoding: str | None) -> Sheet | Problem:
    """Read a table as text, block by block: memory grows with the different texts and the codes."""
    text = _Text(file, encoding)
    # A cell may be longer than the reader's own limit, which is one for all threads.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        return _sheet_of(text, text.blocks())
    except UnicodeDecodeError:
        whole = text.whole()
        return whole if isinstance(whole, Problem) else _sheet_of(text, iter([whole]))
    finally:
        csv.field_size_limit(limit)


_HEAD = 10_000
"""Characters in which to look for column names."""


def _sheet_of(text: _Text, pieces: Iterator[str]) -> Sheet | Problem:
    head = ""
    for piece in pieces:
        head += piece
        filled = head.lstrip("\r\n")
        if len(filled) > 2 * _HEAD and ("\n" in filled or "\r" in filled):
            break
    delimiter, start = _header(head)
    title, skipped = _title(head, start), head.count("\n", 0, start)
    if title is not None:
        deque(pieces, maxlen=0)  # what cannot be decoded comes first
        return _untitled(text.file, skipped + 1, title)
    sheet = _csv_sheet(text, _whole_lines(chain([head[start:]], pieces)), delimiter, skipped)
    sheet.may_have_commas = delimiter == ";"
    return sheet


def _whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a text in blocks that end with a line, but perhaps the last."""
    held: list[str] = []
    for piece in pieces:
        end = piece.rfind("\n") + 1
        if end:
            yield "".join((*held, piece[:end]))
            held = []
        held.append(piece[end:])
    rest = "".join(held)
    if rest:
        yield rest


BLOCK = 1 << 17
"""Bytes of text that are read at once: few enough for the processor's cache."""

CHUNK = 1 << 9
"""Rows of csv's reader that are held at once."""


def _plain_cells(block: str, delimiter: str, width: int) -> list[str] | None:
    """Return the cells of whole lines with the line end behind each row, or None where a line may be no plain row.

    A plain row has `width` cells, at least two, and no quotes.
    """
    if '"' in block or width < 2 or not block.endswith("\n"):
        return None
    if "\r" in block:
        block = block.replace("\r\n", "\n")
        if "\r" in block:
            return None
    cells = block.replace("\n", f"{delimiter}\n{delimiter}").split(delimiter)
    cells.pop()
    n = block.count("\n")
    # No cell but those behind the rows is a line end, so all of them are in their place, or some are not.
    sound = len(cells) == n * (width + 1) and cells[width :: width + 1].count("\n") == n
    return cells if sound else None


def _n_lines(block: str) -> int:
    """Return how many lines csv's reader counts in a block."""
    lone = block.count("\r") - block.count("\r\n") if "\r" in block else 0
    return block.count("\n") + lone + (not block.endswith(("\n", "\r")))


class _TextColumns:
    """The cells of rows as codes, in the order in which they are added."""

    def __init__(self, width: int) -> None:
        self.coders = [Coder() for _ in range(width)]
        self.parts: list[list[NDArray[np.int32]]] = [[] for _ in range(width)]
        self.lines: list[Ints] = []
        self.n = 0

    def add(self, columns: Iterable[Sequence[str]], lines: Ints) -> None:
        for coder, part, cells in zip(self.coders, self.parts, columns, strict=True):
            part.append(np.fromiter(map(coder.__getitem__, cells), dtype=np.int32, count=len(lines)))
        self.lines.append(lines)
        self.n += len(lines)

    def coded(self, n: int) -> list[Coded]:
        """Return the columns of the first rows."""
        none = np.zeros(0, dtype=np.int32)
        return [
            texts_as_cells(np.concatenate([none, *part])[:n], coder.values_list())
            for coder, part in zip(self.coders, self.parts, strict=True)
        ]


def _csv_sheet(text: _Text, blocks: Iterator[str], delimiter: str, skipped: int) -> Sheet:
    """Read rows: plain lines block by block, any other block with csv's reader."""
    given = n_plain = 0  # lines that the reader got, and lines that it did not
    waiting: deque[str] = deque()
    end = ""

    def lines() -> Iterator[io.StringIO]:
        nonlocal given, end
        # A cell with a line end in it may go on in the next block.
        while (block := waiting.popleft() if waiting else next(blocks, None)) is not None:
            given, end = given + _n_lines(block), block[-1:]
            yield io.StringIO(block, newline="")

    reader = csv.reader(chain.from_iterable(lines()), strict=True, delimiter=delimiter)
    names: list[str] | None = None
    sheet = Sheet(text.file.name, [], [], np.zeros(0, dtype=np.int64))
    made = _TextColumns(0)
    rows: list[list[str]] = []
    starts: list[int] = []

    def flush() -> None:
        if rows:
            made.add(zip(*rows, strict=True), np.array(starts, dtype=np.int64))
            rows.clear()
            starts.clear()

    width, last = -1, skipped
    short: Problem | None = None  # of the row just read
    broken = False
    for block in blocks:
        cells = _plain_cells(block, delimiter, width)
        if cells is not None:
            flush()
            n = len(cells) // (width + 1)
            made.add(
                (cells[k :: width + 1] for k in range(width)),
                np.arange(last + 1, last + n + 1, dtype=np.int64),
            )
            n_plain, last, end, short = n_plain + n, last + n, "\n", None
            continue
        waiting.append(block)
        while waiting or reader.line_num < given:
            start = last + 1
            try:
                row = next(reader)
            except csv.Error as error:
                # After a quoting error the reader cannot find the next row.
                sheet.n_records += names is not None
                message = Advised("a row must be readable", got=f"{error}; nothing after it was read")
                kind = "truncated last line" if "unexpected end" in str(error) else "malformed line"
                sheet.problems.append(
                    Problem(
                        sheet.name, start, None, message, kind, (), "record" if names else "nothing", True
                    )
                )
                broken = True
                break
            last = skipped + n_plain + reader.line_num
            if len(row) == width:
                rows.append(row)
                starts.append(start)
                short = None
                if len(rows) == CHUNK:
                    flush()
            elif names is None:
                if any(row):
                    names, width = [name.strip() for name in row], len(row)
                    made = _TextColumns(width)
            elif any(row):
                message = Advised(f"a row must have {width} cells", got=f"{len(row)}")
                short = Problem(sheet.name, start, None, message, "malformed line")
                sheet.problems.append(short)
                sheet.n_records += 1
                short = short if len(row) < width else None
        if broken:
            deque(blocks, maxlen=0)  # what cannot be decoded comes first
            break
    flush()
    n = made.n
    if broken:
        pass
    elif text.torn is not None:
        if short is None and n:  # the last row broke off, however many cells it has
            n -= 1
        message = Advised(
            "the compressed file must be complete", got=f"{text.torn}; nothing after it was read"
        )
        cut = Problem(sheet.name, last, None, message, "truncated last line", rest_lost=True)
        sheet.problems = [p for p in sheet.problems if p is not short] + [cut]
        sheet.n_records += short is None
    elif short is not None and end not in ("\n", "\r"):
        sheet.problems[-1] = replace(short, kind="truncated last line")
    sheet.names = names or []
    sheet.columns = made.coded(n)
    sheet.line = np.concatenate([np.zeros(0, dtype=np.int64), *made.lines])[:n]
    sheet.n_records += n
    return sheet


def open_sheet(file: LogFile, encoding: str | None = None) -> Sheet | Problem:
    """Read a file's cells, or say why it is no table: CSV, TSV, Excel or Parquet, as its name says."""
    problem = unusable(file)
    if problem is not None:
        return problem
    if file.format == "xlsx":
        return excel_sheet(file)
    return parquet_sheet(file) if file.format == "parquet" else text_sheet(file, encoding)


# ------------------------------------------------------------------------------------------------ other sources


_TOLD_ROWS = 1000
"""After so many rows of a workbook it is told how far it is read."""


def excel_sheet(file: LogFile) -> Sheet | Problem:
    import openpyxl

    try:
        _refuse_large(file.path)
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
        titles = [str(each.title) for each in book.worksheets]
        if file.sheet is not None and file.sheet not in titles:
            message = Advised(
                f"sheet must be one of {', '.join(map(repr, titles[:12]))}",
                got=f"{file.sheet!r}{meant(file.sheet, titles)}",
            )
            return Problem(file.name, None, None, message, "not a log", (), "nothing")
        at = 0 if file.sheet is None else titles.index(file.sheet)
        page = book.worksheets[at]
        declared = page.max_row or 0
        page.reset_dimensions()  # what a file declares may be less than it holds
        lines = []
        for i, row in enumerate(page.iter_rows(values_only=True), start=1):
            lines.append((i, row))
            if not i % _TOLD_ROWS:
                tell(f"reading {file.name}", min(i, declared), declared)
        tell(f"reading {file.name}", declared, declared)
        if (cell := _uncalculated(file, at)) is not None:
            message = Advised(
                "a cell must hold its value",
                "open the workbook in a spreadsheet program and save it there",
                got=f"a formula without one in {cell}",
            )
            return Problem(file.name, None, None, message, "not a log", (), "nothing")
        lines, merged = _fill_merged(file, lines, at)
    except TooLarge:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = Advised("file must be a readable Excel workbook", got=str(reason))
        return Problem(file.name, None, None, message, "not a log", (), "nothing")
    lines = [(i, row) for i, row in lines if any((cell_text(value) or "").strip() for value in row)]
    if not lines:
        got = f"no filled cell in the sheet {titles[at]!r}"
        if len(titles) > 1 and file.sheet is None:
            got += f", and only this sheet is read; move {', '.join(map(repr, titles[1:5]))} to the front"
        message = Advised("file must hold records", got=got)
        return Problem(file.name, None, None, message, "empty file", (), "nothing")
    header = [(cell_text(name) or "").strip() for name in lines[0][1]]
    filled = [sum(bool((cell_text(value) or "").strip()) for value in row) for _, row in lines[:4]]
    if len(filled) > 1 and filled[0] == 1 < min(filled[1:]):
        more = f"; {_first_sheet(titles)}" if len(titles) > 1 and file.sheet is None else ""
        return _untitled(file, lines[0][0], next(filter(None, header)), more)
    width = max(k for k, name in enumerate(header) if name) + 1
    rows = [(i, (*row, *[None] * width)) for i, row in lines[1:]]
    cells = [[row[k] for _, row in rows] for k in range(width)]
    notes = [f"merged cells: the value of {merged} of them holds for each of their rows"] if merged else []
    if len(titles) > 1 and file.sheet is None:
        notes.append(_first_sheet(titles))
    dates = [note for name, each in zip(header, cells, strict=False) for note in _date_note(name, each)]
    columns = [_of_values(each) for each in cells]
    line = np.array([i for i, _ in rows], dtype=np.int64)
    return whole_texts(
        Sheet(file.name, header[:width], columns, line, notes=notes + dates, n_records=len(rows))
    )


_MOST_CELLS = 64 << 20
"""Bytes of cells to which any workbook may unpack; they take several times as much memory."""


def _refuse_large(path: Path) -> None:
    """Refuse a workbook whose cells unpack to more than they may; zipfile reads no more than the parts say."""
    with zipfile.ZipFile(path) as parts:
        cells = [
            part.file_size
            for part in parts.infolist()
            if part.filename.startswith(("xl/worksheets/", "xl/sharedStrings"))
        ]
    refuse_larger("a workbook", path.stat().st_size, cells, least=_MOST_CELLS, step="save it as CSV")


def _first_sheet(titles: list[str]) -> str:
    others = ", ".join(map(repr, titles[1:5]))
    text = f"the first sheet, {titles[0]!r}, was read; not read: {others}"
    return Note(text, kind=FIRST_SHEET, about=titles[0])


def _uncalculated(file: LogFile, at_sheet: int) -> str | None:
    """Return the first cell with a formula that no program calculated: it would be read as empty."""
    import openpyxl

    with zipfile.ZipFile(file.path) as parts:
        pages = [parts.read(name) for name in parts.namelist() if name.startswith("xl/worksheets/")]
    if not any(
        end in page for page in pages for end in (b"</f></c>", b"</f><v></v>", b"</f><v/>", b"</f><v />")
    ):
        return None
    read = (openpyxl.load_workbook(file.path, data_only=only).worksheets[at_sheet] for only in (False, True))
    for formulas, values in zip(*(page.iter_rows() for page in read), strict=True):
        for formula, value in zip(formulas, values, strict=True):
            if formula.data_type == "f" and value.value is None:
                return str(formula.coordinate)
    return None


def _fill_merged(
    file: LogFile, given: Sequence[tuple[int, tuple[Any, ...]]], at_sheet: int
) -> tuple[list[tuple[int, tuple[Any, ...]]], int]:
    """Return rows that each hold what merged cells below the header say, and how many such cells there are."""
    import openpyxl

    with zipfile.ZipFile(file.path) as parts:
        pages = [name for name in parts.namelist() if name.startswith("xl/worksheets/")]
        if not any(b"<mergeCell " in parts.read(name) for name in pages):
            return list(given), 0
    # Only a workbook that is read as a whole knows its merged cells.
    page = openpyxl.load_workbook(file.path, data_only=True).worksheets[at_sheet]
    lines, filled = list(given), 0
    header = next((i for i, row in lines if any(cell_text(value) for value in row)), 0)
    for span in page.merged_cells.ranges:
        at, told = span.min_col - 1, page.cell(span.min_row, span.min_col).value
        if span.min_row <= header or span.max_row == span.min_row or cell_text(told) is None:
            continue
        filled += 1
        for k in range(span.min_row, min(span.max_row, len(lines))):
            number, row = lines[k]
            row = (*row, *[None] * (at + 1 - len(row)))
            if any(cell_text(value) for value in row):
                lines[k] = (number, (*row[:at], told, *row[at + 1 :]))
    return lines, filled


_INTEGERS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "FLOAT", "DOUBLE")
)

_AT_ONCE = 1 << 22
"""Cells that one query reads: all columns of a block, one column of a large file."""


_FEW = 1 << 10
"""Texts of a column that are remembered from block to block."""

_HEAD_ROWS, _LISTED = 1 << 12, 32
"""Rows at the top of a block in which few texts of a column, at most so many, are likely to be all that it has."""


class ParquetTable:
    """A Parquet file, whose errors are those of duckdb.

    Attributes
    ----------
    n : int
        Rows.
    kinds : dict of str to str
        Columns and their types.
    """

    def __init__(self, file: LogFile, con: duckdb.DuckDBPyConnection) -> None:
        self.file, self._con, self._paths = file, con, text_list([file.path])
        self._whole = f"read_parquet({self._paths}, file_row_number=true)"
        self.n = int(self._all(f"SELECT num_rows FROM parquet_file_metadata({self._paths})")[0][0])
        self.kinds = {str(c): str(k) for c, k, *_ in self._all(f"DESCRIBE SELECT * FROM {self._whole}")}
        del self.kinds["file_row_number"]
        # The texts of columns that had few in the blocks before, by their hashes.
        self._known: dict[str, dict[int, Any]] = {}

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        return self._con.execute(query).fetchall()

    def different(self, name: str) -> list[str]:
        """Return the texts of a column, without an empty cell."""
        rows = self._all(f"SELECT DISTINCT {_as_text(name, 'VARCHAR')} FROM {self._whole}")
        return [text for (text,) in rows if text is not None]

    def sheets(self, rows: int | None = None, without: Collection[str] = ()) -> Iterator[Sheet]:
        """Read blocks of rows; columns without values, or with one value, are not read.

        The columns in `without`, which the caller does not need, are not read either where the file's own statistics
        show that they are sound.
        """
        settled = self._settled(without)
        self._known.clear()
        step = max(rows or self.n, 1)
        for first in range(0, max(self.n, 1), step):
            stop = min(self.n, first + step)
            columns = {name: Coded.constant(-1 + len(v), stop - first, v) for name, v in settled.items()}
            unread = [name for name in self.kinds if name not in columns]
            several = max(1, _AT_ONCE // max(1, stop - first))
            for k in range(0, len(unread), several):
                columns |= self._cells(unread[k : k + several], first, stop)
                read = first * len(unread) + (stop - first) * min(k + several, len(unread))
                tell(f"reading {self.file.name}", read, self.n * len(unread))
            notes = [
                _held_dates(name, columns[name].values[0])
                for name, kind in self.kinds.items()
                if kind.startswith(("DATE", "TIME")) and columns[name].values
            ]
            line = np.arange(first + 1, stop + 1, dtype=np.int64)
            cells = [columns[name] for name in self.kinds]
            yield Sheet(self.file.name, list(self.kinds), cells, line, notes=notes, n_records=len(line))

    def _rows(self, first: int, stop: int) -> str:
        """Write the source of a block of rows."""
        if stop - first == self.n:
            return self._whole
        within = f"WHERE file_row_number >= {first} AND file_row_number < {stop}"
        return f"(SELECT * FROM {self._whole} {within})"

    def _cells(self, names: Sequence[str], first: int, stop: int) -> dict[str, Coded]:
        """Read columns: numbers as they are, few texts as places in a list, other texts as hashes.

        Both are many times faster to hand over than texts.
        """
        written = {name: _as_text(name, self.kinds[name]) for name in names}
        texts = {name: written[name] for name in names if self.kinds[name] not in _INTEGERS}
        listed = self._listed(texts, first, stop)
        for name, values in listed.items():
            place = f"list_position({text_list(values)}, {texts[name]})"
            written[name] = f"coalesce({place}, {len(values) + 1})::UTINYINT"
        hashed = {name: text for name, text in texts.items() if name not in listed}
        source = self._rows(first, stop)
        known = self._texts({name: text for name, text in hashed.items() if name not in self._known}, source)
        written |= {name: f"hash({text})" for name, text in hashed.items() if known.get(name, True)}
        found = dict(zip(names, self._fetched(written.values(), source), strict=True))
        columns: dict[str, Coded] = {}
        for name, cells in found.items():
            if name not in texts:
                columns[name] = _numbered(cells)
            elif name in hashed:
                columns[name] = self._of_hashes(name, texts[name], cells, known.get(name), source)
            elif int(cells.max()) <= len(listed[name]):
                columns[name] = texts_as_cells(cells.astype(np.int32) - 1, listed[name])
            else:  # a text below, or an empty cell, that the top has not
                known |= self._texts({name: texts[name]}, source)
                (cells,) = self._fetched([f"hash({texts[name]})" if known[name] else texts[name]], source)
                columns[name] = self._of_hashes(name, texts[name], cells, known[name], source)
        return columns

    def _fetched(self, columns: Iterable[str], source: str) -> list[Any]:
        query = ", ".join(f"{text} AS c{i}" for i, text in enumerate(columns))
        return list(self._con.execute(f"SELECT {query} FROM {source}").fetchnumpy().values())

    def _of_hashes(
        self, name: str, text: str, cells: Any, known: dict[int, Any] | None, source: str
    ) -> Coded:
        by_hash = known or self._known.get(name, {})
        try:
            column = _hashed(cells, by_hash)
        except KeyError:  # a text that no block before had
            by_hash = by_hash | self._texts({name: text}, source)[name]
            column = _hashed(cells, by_hash)
        if 0 < len(by_hash) <= _FEW:
            self._known[name] = by_hash
        return column

    def _listed(self, texts: Mapping[str, str], first: int, stop: int) -> dict[str, list[str]]:
        """Return the texts at the top of a block in order, for columns with few of them and no empty cell there."""
        if stop - first < 4 * _HEAD_ROWS or not texts:
            return {}
        head = self._fetched(texts.values(), self._rows(first, first + _HEAD_ROWS))
        listed = {}
        for name, cells in zip(texts, head, strict=True):
            values = list(dict.fromkeys(cells.tolist()))
            if len(values) <= _LISTED and None not in values and "\0" not in "".join(values):
                listed[name] = values
        return listed

    def _texts(self, columns: Mapping[str, str], source: str) -> dict[str, dict[int, Any]]:
        """Return the different texts of columns by their hashes; nothing where two texts have one hash."""
        known = {}
        for name, text in columns.items():
            different = f"(SELECT DISTINCT {text} AS x FROM {source})"
            values, hashes = self._fetched(["x", "hash(x)"], different)
            listed = values.tolist()
            by_hash = dict(zip(hashes.tolist(), listed, strict=True))
            known[name] = by_hash if len(by_hash) == len(listed) else {}
        return known

    def _settled(self, without: Collection[str]) -> dict[str, list[str]]:
        """Return the columns that have no value, or one on every row, as the file's own statistics say."""
        found = self._all(
            f"""SELECT path_in_schema, bool_and(stats_null_count = num_values),
                CASE WHEN bool_and(stats_null_count = 0 AND stats_min_value = stats_max_value)
                    AND min(stats_min_value) = max(stats_max_value) THEN min(stats_min_value) END,
                min(TRY_CAST(stats_min_value AS BIGINT)), max(TRY_CAST(stats_max_value AS BIGINT)),
                bool_and(TRY_CAST(stats_min_value AS BIGINT) IS NOT NULL OR stats_null_count = num_values)
            FROM parquet_metadata({self._paths}) GROUP BY path_in_schema"""
        )
        settled: dict[str, list[str]] = {}
        for name, empty, text, low, high, known in found:
            kind = self.kinds.get(name)
            sound = kind == "VARCHAR" or (
                kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
                and known
                and low is not None
                and 0 <= low <= high < 10**15
            )
            if (empty and kind is not None) or (name in without and sound):
                settled[name] = []
            elif kind == "VARCHAR" and text and len(text) < 32:  # longer ones may be cut
                settled[name] = [text]
            elif kind == "BOOLEAN" and text in ("false", "true"):
                settled[name] = [text.capitalize()]
        return settled


def unreadable_parquet(file: LogFile, error: Exception) -> Problem:
    """Say why a Parquet file cannot be read."""
    message = Advised("file must be readable Parquet", got=f"{str(error).splitlines()[0]}")
    return Problem(file.name, None, None, message, "not a log", (), "nothing")


def parquet_sheet(file: LogFile) -> Sheet | Problem:
    """Read a whole Parquet file."""
    import duckdb

    try:
        with connect(ordered=True) as con:
            return next(ParquetTable(file, con).sheets())
    except duckdb.Error as error:
        return unreadable_parquet(file, error)


def _numbered(cells: Any) -> Coded:
    given = ~np.ma.getmaskarray(cells)
    whole = bool(given.all())
    numbers = np.ma.getdata(cells)
    codes, values = _few_numbers(numbers) if whole else pd.factorize(numbers[given])
    if not whole:
        known, codes = codes, np.full(len(cells), -1)
        codes[given] = known
    return _merged(codes, list(values))


def _few_numbers(numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Do as pandas' factorize; small whole numbers that the top has are looked up in a table of their codes."""
    if numbers.dtype.kind in "iu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _HEAD_ROWS:
            _, values = pd.factorize(numbers[:_HEAD_ROWS])
            table = np.full(high - low + 1, -1, dtype=np.int32)
            table[values.astype(np.int64) - low] = np.arange(len(values), dtype=np.int32)
            wide = numbers.astype(np.int16) if numbers.dtype == np.int8 else numbers  # 127 + 128 is no int8
            codes = table[wide - low if low else wide]
            if codes.min() >= 0:
                return codes, values
    return pd.factorize(numbers)


def _hashed(cells: Any, texts: Mapping[int, Any]) -> Coded:
    """Return texts as codes by their hashes, or texts themselves."""
    if cells.dtype == object:
        return _of_values(cells.tolist())
    hashes = np.asarray(cells)
    opens = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    in_runs = 4 * len(opens) < len(hashes)
    codes, seen = pd.factorize(hashes[opens] if in_runs else hashes)
    if in_runs:
        codes = np.repeat(codes.astype(np.int32), np.diff(opens, append=len(hashes)))
    return texts_as_cells(codes, [texts[each] for each in seen.tolist()])


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


def mapping_sheet(name: str, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Sheet:
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    cells = {key: [row.get(key) for _, row in rows] for key in names}
    columns = [_of_values(each) for each in cells.values()]
    line = np.array([number for number, _ in rows], dtype=np.int64)
    return whole_texts(Sheet(name, names, columns, line, n_records=len(rows)))


def frame_sheet(frame: Any, name: str) -> Sheet:
    if isinstance(frame, pd.DataFrame):
        if any(level is not None for level in frame.index.names):
            known = [level for level in frame.index.names if level not in frame.columns]
            frame = frame.reset_index(level=[level for level in known if level is not None])
        names = [
            "_".join(filter(None, map(str, column))) if isinstance(column, tuple) else str(column).strip()
            for column in frame.columns
        ]
        columns = [_of_series(frame.iloc[:, k]) for k in range(len(names))]
        firsts = [frame.iloc[:, k] for k in range(len(names))]
        dates = [
            note
            for label, series in zip(names, firsts, strict=True)
            if series.dtype.kind == "M" or series.dtype == object
            for note in _date_note(label, series.dropna().head(1000))
        ]
    else:
        table = frame.collect() if hasattr(frame, "collect") else frame
        if hasattr(table, "get_columns"):  # polars
            names, lists = list(table.columns), [each.to_list() for each in table.get_columns()]
        elif hasattr(table, "column_names"):  # Arrow
            names, lists = list(table.column_names), [each.to_pylist() for each in table.columns]
        else:
            raise TypeError(
                f"a table must be a pandas, polars or Arrow data frame; got {type(frame).__name__}"
            )
        names = [str(column).strip() for column in names]
        columns = [_of_values(values) for values in lists]
        dates = [note for label, each in zip(names, lists, strict=True) for note in _date_note(label, each)]
    n = len(columns[0]) if columns else 0
    line = np.arange(1, n + 1, dtype=np.int64)
    return whole_texts(Sheet(name, names, columns, line, notes=dates, n_records=n))


# -------------------------------------------------------------------- duckdb


MEMORY_LIMIT = "2GB"
"""The most memory of one scan before it spills to the folder for temporary files."""

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
