"""Rows as JSON without a type, in lines or in one document, as a table: its column names and its cells as codes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from d3stats.log.columns import Coded, Coder
from d3stats.log.files import LogFile
from d3stats.log.lines import BLOCK, ENCODER, blocks, concatenated, json_object, lines_of, model_of
from d3stats.log.nested import is_nested, may_open, opens, records_in, rows_of
from d3stats.log.opening import open_bytes
from d3stats.log.problems import Advised, Problem
from d3stats.log.sheets import Sheet, cell_text, texts_as_cells, whole_texts

__all__ = ["flat_sheet", "is_flat", "json_sheet"]


SNIFFED = 20
"""Lines in which to look for a type."""


def is_flat(file: LogFile) -> bool:
    """Whether the first lines are rows of a table: objects with several keys, and no known type in any."""
    if file.inspect:
        return False
    keys = 0
    try:
        with open_bytes(file) as handle:
            for number, line in enumerate(islice(handle, SNIFFED), start=1):
                data = json_object(file, number, line)
                if model_of(data) is not None:
                    return False
                keys = max(keys, len(data) if isinstance(data, dict) else 0)
    except (EOFError, OSError, zlib.error):
        pass
    return keys > 1


def flat_sheet(file: LogFile, size: int = BLOCK) -> Sheet:
    """Read lines without a type as a table, block by block: memory grows with the different values and the codes."""
    problems: list[Problem] = []
    made, n_nan = _RowsAsColumns(), 0
    for block, first in blocks(file, problems, size=size):
        if made.add_lines(block, first):
            continue
        rows, at, found, nans = _flat_block(file, block, first)
        problems += found
        n_nan += nans
        made.add(rows, at)
    sheet = made.sheet(file.name, problems)
    if n_nan:
        sheet.notes.append(_nan_note(n_nan))
    return sheet


def _nan_note(n: int) -> str:
    return f"{n:,} values are written as NaN or Infinity, which is no JSON; read as missing"


_ROWS = msgspec.json.Decoder(dict[str, Any])


def _flat_block(
    file: LogFile, block: bytes, first: int
) -> tuple[list[dict[str, Any]], NDArray[np.int64], list[Problem], int]:
    """Return the objects of whole lines, their numbers, what is wrong with the others, and how many values are NaN."""
    try:
        rows = _ROWS.decode_lines(block)
        if _one_a_line(block, len(rows)) and _n_keys(block) == sum(map(len, rows)):
            return rows, np.arange(first, first + len(rows)), [], 0
    except (ValueError, RecursionError):
        pass
    rows, numbers, problems, nans = [], [], [], 0
    for number, line in enumerate(lines_of(block), start=first):
        if not line.strip():
            continue
        data, n_nan = _with_nan(file, number, line)
        nans += n_nan
        if isinstance(data, Problem):
            problems.append(data)
        else:
            rows.append(data)
            numbers.append(number)
    return rows, np.array(numbers, dtype=np.int64), problems, nans


_TEXT_OR_NAN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(?:NaN|-?Infinity)(?=\s*[,}\]])', re.DOTALL)
"""A text, or what Python's json writes for a number that is none."""


def _with_nan(file: LogFile, number: int, text: bytes, *, whole: bool = False) -> tuple[Any, int]:
    """Return an object, in which NaN and Infinity are missing, and how many there were; texts stay as they are."""
    data = json_object(file, number, text, whole=whole)
    if not isinstance(data, Problem):
        return data, 0
    n = 0

    def strict(found: re.Match[bytes]) -> bytes:
        nonlocal n
        if found[0].startswith(b'"'):
            return found[0]
        n += 1
        return b"null"

    changed = _TEXT_OR_NAN.sub(strict, text)
    again = json_object(file, number, changed, whole=whole) if n else data
    return (data, 0) if isinstance(again, Problem) else (again, n)


def _one_a_line(block: bytes, n: int) -> bool:
    """Whether each line of a block of `n` objects surely holds one of them."""
    between = block.count(b"}\n{") or block.count(b"}\r\n{")
    return between == n - 1 == block.count(b"\n") - block.endswith(b"\n")


def _n_keys(block: bytes) -> int:
    """Return at least how many keys a block holds, so that as many as its objects have means that none occurs twice.

    A colon after a quote in a text counts too, which costs time.
    """
    return block.translate(None, b" \t\r\n").count(b'":')


_MOST_KEYS = 200
"""Keys of rows that are decoded as records of one type."""


class _RowsAsColumns:
    """Objects block by block as the columns of a table; rounds and votes inside an object are rows of their own.

    The keys of the blocks before make a record type, with which lines are decoded in half the time of dicts.
    """

    def __init__(self) -> None:
        self.columns: dict[str, _Cells] = {}
        self.numbers: list[NDArray[np.int64]] = []
        self.n = self.n_objects = 0
        self.nested = False
        self._always: dict[str, bool] = {}
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._compact = True

    def _learn(self, rows: list[dict[str, Any]]) -> None:
        """Make the record type of the keys of all rows, of which those that every row has must be there."""
        shapes = dict.fromkeys(map(tuple, rows))
        known = self._always
        every = set[str]().union(*shapes).intersection(*shapes) if shapes else set()
        always = {name: kept and name in every for name, kept in known.items()}
        always |= {
            name: not known and name in every for shape in shapes for name in shape if name not in always
        }
        if always == known:
            return
        self._always, self._decoder = always, None
        if len(always) > _MOST_KEYS:
            return
        names = {f"k{i}": name for i, name in enumerate(always)}
        fields: list[Any] = [
            (k, Any) if always[name] else (k, Any | UnsetType, UNSET) for k, name in names.items()
        ]
        try:
            kind = msgspec.defstruct(
                "Row", fields, rename=names, forbid_unknown_fields=True, kw_only=True, gc=False
            )
        except ValueError:  # a key with a quote or a control character
            return
        self._decoder = msgspec.json.Decoder(kind)

    def add_lines(self, block: bytes, first: int) -> bool:
        """Add whole lines if they surely hold one object each, with known keys; return whether they were added."""
        if self._decoder is None:
            return False
        try:
            rows = self._decoder.decode_lines(block)
        except (ValueError, RecursionError):
            return False
        n_keys, columns = 0, []
        for k, (name, always) in enumerate(self._always.items()):
            values = list(map(attrgetter(f"k{k}"), rows))
            n_keys += len(values)
            if not always:
                there = [value is not UNSET for value in values]
                absent = there.count(False)
                if absent:
                    values = [value if given else None for value, given in zip(values, there, strict=True)]
                    n_keys -= absent
            if may_open(name) and any(opens(name, value) for value in values):
                return False
            columns.append(values)
        # What is written again byte for byte holds no key twice, and one object a line.
        self._compact = self._compact and ENCODER.encode_lines(rows) == block
        if not self._compact and not (_one_a_line(block, len(rows)) and _n_keys(block) == n_keys):
            return False
        for name, values in zip(self._always, columns, strict=True):
            self.columns[name].add(values, self.n)
        self.numbers.append(np.arange(first, first + len(rows)))
        self.n_objects += len(rows)
        self.n += len(rows)
        return True

    def add(self, rows: list[dict[str, Any]], numbers: NDArray[np.int64]) -> None:
        self.n_objects += len(rows)
        self.nested = self.nested or any(map(is_nested, rows))
        if self.nested:
            self._decoder = None
            parts = [list(rows_of(row)) for row in rows]
            numbers = np.repeat(numbers, [len(part) for part in parts])
            rows = [row for part in parts for row in part]
        else:
            self._learn(rows)
        for name, values in _by_key(rows):
            self.columns.setdefault(name, _Cells()).add(values, self.n)
        self.numbers.append(numbers)
        self.n += len(rows)

    def sheet(self, name: str, problems: list[Problem]) -> Sheet:
        cells = [column.coded(self.n) for column in self.columns.values()]
        sheet = Sheet(name, list(self.columns), cells, concatenated(self.numbers))
        left_out = sum(problem.left_out == "record" for problem in problems)
        sheet.problems, sheet.n_records = problems, self.n_objects + left_out
        if self.nested:
            sheet.notes.append(
                f"{self.n_objects:,} records with rounds or votes inside them were read as {self.n:,} rows, one a vote"
            )
        return whole_texts(sheet)


def json_sheet(file: LogFile) -> Sheet | Problem:
    """Read a JSON document as a table: a list of objects, or an object that holds one."""
    try:
        with open_bytes(file) as handle:
            text = handle.read()
    except (EOFError, OSError, zlib.error) as error:
        message = Advised("the compressed file must be complete", got=f"{error}")
        return Problem(file.name, None, None, message, "not a log", (), "nothing")
    data, n_nan = _with_nan(file, 1, text, whole=True)
    if isinstance(data, Problem):
        return replace(data, left_out="nothing")
    records = records_in(data)
    strange = next((k for k, row in enumerate(records, start=1) if not isinstance(row, dict)), None)
    if strange is not None:
        message = Advised(
            "a JSON document must hold objects", got=f"{records[strange - 1]!r:.60} as record {strange}"
        )
        return Problem(file.name, strange, None, message, "malformed line", (), "nothing")
    made = _RowsAsColumns()
    made.add(records, np.arange(1, len(records) + 1))
    sheet = made.sheet(file.name, [])
    if n_nan:
        sheet.notes.append(_nan_note(n_nan))
    return sheet


def _by_key(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Return the values of each key over all objects, None where one lacks it."""
    shapes = dict.fromkeys(map(tuple, rows))
    if len(shapes) == 1:
        yield from zip(*shapes, zip(*(row.values() for row in rows), strict=True), strict=True)
        return
    for name in dict.fromkeys(name for shape in shapes for name in shape):
        yield name, [row.get(name) for row in rows]


class _TextCodes(Coder):
    """The code of each text; a value of another type is an error, since 1, 1.0 and True would have one code."""

    def __missing__(self, value: Any) -> int:
        if type(value) is not str:
            raise TypeError(f"a text is needed; got {value!r}")
        return super().__missing__(value)


class _NumberCodes(dict[Any, int]):
    """The code of each number of one type among texts."""

    def __init__(self, texts: Coder) -> None:
        super().__init__({None: -1})
        self.texts = texts

    def __missing__(self, value: Any) -> int:
        code = self[value] = self.texts[cell_text(value)]
        return code


class _Cells:
    """One column of a flat table: texts as codes, whatever type they were written in."""

    def __init__(self) -> None:
        self.texts = _TextCodes()
        self.kind: type = str
        self.numbers = {int: _NumberCodes(self.texts), float: _NumberCodes(self.texts)}
        self.parts: list[NDArray[np.int32]] = []
        self.n = 0

    def add(self, values: Sequence[Any], before: int) -> None:
        """Add the cells of a block of which the first has this place among all rows."""
        if self.n < before:
            self.parts.append(np.full(before - self.n, -1, dtype=np.int32))
        self.parts.append(self._codes(values))
        self.n = before + len(values)

    def _codes(self, values: Sequence[Any]) -> NDArray[np.int32]:
        codes: dict[Any, int] = self.texts
        if self.kind is str:
            try:
                return np.fromiter(map(codes.__getitem__, values), dtype=np.int32, count=len(values))
            except TypeError:
                pass
        kinds = set(map(type, values)) - {type(None)}
        self.kind = kinds.pop() if len(kinds) == 1 else str
        if self.kind in self.numbers:
            codes = self.numbers[self.kind]
        else:
            values = [value if type(value) is str else cell_text(value) for value in values]
        return np.fromiter(map(codes.__getitem__, values), dtype=np.int32, count=len(values))

    def coded(self, n: int) -> Coded:
        """Return all cells."""
        if self.n < n:
            self.parts.append(np.full(n - self.n, -1, dtype=np.int32))
        return texts_as_cells(np.concatenate(self.parts), self.texts.values_list())
