"""JSON lines in, columns out: every line is a record of the schema, or a problem with file, line and field.

Lines are decoded in blocks that fit the processor's cache. A block is surely sound when its records, written again as
compactly as JSON can be, are as long as the block, because then no key is repeated and no line holds anything
else. The lines of any other block are looked at one by one, so a defect costs as much as its block.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import compress, islice
from operator import attrgetter, or_
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from d3stats.log.arrays import voting_roles
from d3stats.log.column_names import Columns
from d3stats.log.columns import ITEM, TEXTS, TURN, VERDICT, Coded, Coder, Coding, Part, Records, joined
from d3stats.log.consistency import Checked, check
from d3stats.log.files import LogFile, files_note, find_files, open_bytes, unusable
from d3stats.log.nested import is_nested, may_open, opens, records_in, rows_of
from d3stats.log.problems import Advised, LogError, Problem
from d3stats.log.schema import (
    MODELS,
    MOST_TEMPERATURE,
    SCHEMA_VERSION,
    AnyRecord,
    Confidence,
    Header,
    RepeatedKey,
    Score,
    Temperature,
    first_defect,
    parse_json,
)
from d3stats.log.sheets import Sheet, cell_text, texts_as_cells
from d3stats.log.stated import with_stated_answers
from d3stats.log.table_reader import nothing, records_of_sheet, records_of_table
from d3stats.values import missing_words

__all__ = ["DebateLog", "iter_records", "read_log"]

BLOCK = 1 << 17
"""Bytes that are decoded together: few enough for the cache, many enough to be worth a call."""

BOM = b"\xef\xbb\xbf"

_RECORD: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


# -------------------------------------------------------------------- one line


def read_line(file: LogFile, number: int, line: bytes) -> AnyRecord | Problem:
    """Read one line of JSON into its record, or say what is wrong with it."""
    if _is_sound(line):
        return _RECORD.decode(line)
    data = _object(file, number, line)
    if isinstance(data, Problem):
        return data
    model = _model(data)
    if model is None:
        message = Advised(
            f"type must be one of {', '.join(map(repr, MODELS))}", got=f"type={data.get('type')!r}"
        )
        return Problem(file.name, number, "type", message, "wrong field", _key(data))
    version = data.get("schema_version", 1)
    if model is Header and type(version) is int and version > SCHEMA_VERSION:
        message = Advised(f"schema_version must be <= {SCHEMA_VERSION}", got=f"schema_version={version}")
        return Problem(file.name, number, "schema_version", message, "newer schema")
    try:
        return _RECORD.decode(line.removeprefix(BOM))
    except (ValueError, RecursionError) as error:
        defect = first_defect(data, model)
        if defect is None:
            # Python's parser takes halves of a surrogate pair, which are no text.
            message = Advised("line must be JSON in UTF-8", got=f"{_shorten(line)} ({_reason(error)})")
            return Problem(file.name, number, "line", message, "malformed line", _key(data))
        name, requirement, got = defect
        shown = repr(got) if len(repr(got)) <= 80 else repr(got)[:77] + "..."
        message = Advised(f"{name} {requirement}", got=f"{name}={shown}")
        return Problem(file.name, number, name, message, "wrong field", _key(data))


def _object(file: LogFile, number: int, line: bytes, *, whole: bool = False) -> Any:
    try:
        data = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except RepeatedKey as error:
        message = Advised("a key must occur once", got=f"{error} twice")
        return Problem(file.name, number, str(error), message, "malformed line")
    except (ValueError, RecursionError) as error:
        kind = "malformed line" if line.endswith(b"\n") else "truncated last line"
        message = Advised("a line must be one JSON object", got=f"{_shorten(line)} ({_reason(error)})")
        return Problem(file.name, number, None, message, kind)
    if not isinstance(data, dict) and not whole:
        message = Advised("a line must be one JSON object", got=_shorten(line))
        return Problem(file.name, number, None, message, "malformed line")
    return data


def _model(data: Any) -> type[AnyRecord] | None:
    kind = data.get("type") if isinstance(data, dict) else None
    return MODELS.get(kind) if isinstance(kind, str) else None


def _reason(error: BaseException) -> str:
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _shorten(line: bytes) -> str:
    text = line.strip().decode("utf-8", errors="replace")
    return repr(text if len(text) <= 60 else f"{text[:30]} ... {text[-25:]}")


def _key(data: Mapping[str, Any]) -> tuple[str | int, ...]:
    values = [data.get("debate"), data.get("round"), data.get("agent")]
    return tuple(v for v in values if isinstance(v, (str, int)) and not isinstance(v, bool))


# -------------------------------------------------------------------- blocks of lines


_KEPT: dict[str, Any] = {
    "scores": msgspec.Raw,
    "temperature": Annotated[int, Meta(ge=0, le=MOST_TEMPERATURE)] | Temperature | None,
    "confidence": Annotated[int, Meta(ge=0, le=1)] | Confidence | None,
}
"""Fields that may be written in two ways: as they stand, so that 1 is not written as 1.0."""


def _as_read(model: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a record that is written as it was read: absent is not null, and scores are as they stand."""
    fields: list[Any] = []
    for known in msgspec.structs.fields(model):
        kind = _KEPT.get(known.name, known.type)
        fields.append((known.name, kind) if known.required else (known.name, kind | UnsetType, UNSET))
    return msgspec.defstruct(
        model.__name__,
        fields,
        tag_field="type",
        tag=model.__struct_config__.tag,
        forbid_unknown_fields=True,
        frozen=True,
        gc=False,
    )


_KINDS = {_as_read(model): kind for kind, model in enumerate(MODELS.values())}
_AS_READ: msgspec.json.Decoder[Any] = msgspec.json.Decoder(reduce(or_, _KINDS))
_ENCODER = msgspec.json.Encoder()
_SCORES = msgspec.json.Decoder(dict[str, dict[str, Score]] | None)

_DECIMAL = ("temperature", "confidence")
"""Numbers of turns that are not whole."""
_COLUMNS: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    ((*ITEM, *TEXTS["items"]), ()),
    (
        (*TURN["coded"], *TEXTS["turns"]),
        ("round", "tokens_in", "tokens_out", "tokens_cached", "temperature", "confidence"),
    ),
    (("debate", "decision", "stop_reason"), ("round",)),
)
"""Coded columns and numbers of items, turns and verdicts."""


def _scores(written: bytes) -> str | None:
    """Return scores in one spelling.

    Raises
    ------
    ValueError
        When they are no scores, or name a side or a criterion twice.
    """
    scores = _SCORES.decode(written)
    if scores is None:
        return None
    # There is a colon for every key: a key that occurs twice leaves one over, and so may one that holds a colon.
    if written.count(b":") > len(scores) + sum(map(len, scores.values())):
        parse_json(written.decode("utf-8"))
    return _ENCODER.encode(scores).decode()


_EXPONENT = re.compile(rb'"(?:temperature|confidence)"\s*:\s*[-+0-9.]*[eE]')
"""A number that is written again in more bytes, and so could hide a key that occurs twice."""


def _is_known(header: Any) -> bool:
    return header.schema_version is UNSET or header.schema_version <= SCHEMA_VERSION


def _is_sound(line: bytes) -> bool:
    """Whether a line is surely a record; one that says no may be one all the same."""
    if _EXPONENT.search(line):
        return False
    try:
        record = _AS_READ.decode(line)
        if isinstance(getattr(record, "scores", None), msgspec.Raw):
            _scores(bytes(record.scores))
        compact = len(msgspec.json.format(line, indent=-1)) == len(_ENCODER.encode(record))
        return compact and (_KINDS[type(record)] > 0 or _is_known(record))
    except (ValueError, RecursionError):
        return False


class _Codes(dict[Any, int]):
    """The code of each value in the order of first appearance, -1 for what is absent or null."""

    def __init__(self) -> None:
        super().__init__({None: -1, UNSET: -1})
        self.found: list[Any] = []

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self.found)
        self.found.append(value)
        return code


class _ScoreCodes(_Codes):
    """Codes of scores: those that say the same have one, however they are written."""

    def __missing__(self, value: Any) -> int:
        if isinstance(value, bytes):
            code = self[value] = self[_scores(value)]
            return code
        return super().__missing__(value)


class _Builder:
    """Put blocks of lines together into columns."""

    def __init__(self, file: LogFile, without: Collection[str] = (), texts: bool = False) -> None:
        self.file = file
        without = {*without, *(() if texts else (*TEXTS["items"], *TEXTS["turns"]))}
        debates, answers = _Codes(), _Codes()
        shared = {"debate": debates, "scores": _ScoreCodes()}
        shared |= dict.fromkeys(("vote", "label", "first", "decision"), answers)
        self.columns = [
            [name for name in (*coded, *counted) if name not in without] for coded, counted in _COLUMNS
        ]
        self.codes = [{name: shared.get(name, _Codes()) for name in coded} for coded, _ in _COLUMNS]
        self.rows: list[list[NDArray[np.int64]]] = [[], [], []]
        self.pieces: list[list[dict[str, NDArray[Any]]]] = [[], [], []]
        self.lines: list[NDArray[np.int64]] = []
        self.problems: list[Problem] = []
        self.n_rows = 0

    def add(self, block: bytes, first: int) -> None:
        """Read a block of whole lines, the first of which has this number in the file."""
        try:
            records = _AS_READ.decode_lines(block)
            again = _ENCODER.encode_lines(records)
            if again == block:
                self._keep(records, np.arange(first, first + len(records)))
                return
            filled = [(number, line) for number, line in enumerate(block.split(b"\n"), first) if line.strip()]
            # As a list of one record a line, so that two on a line, or one on two, are no JSON.
            listed = b"[" + b",".join([line for _, line in filled]) + b"]"
            if (
                _EXPONENT.search(block) is None
                and len(msgspec.json.format(listed, indent=-1)) == len(again) + 1
            ):
                self._keep(records, np.array([number for number, _ in filled], dtype=np.int64))
                return
        except (ValueError, RecursionError):
            pass
        kept, numbers = [], []
        for number, line in enumerate(_lines(block), start=first):
            if line.strip():
                record = read_line(self.file, number, line)
                if isinstance(record, Problem):
                    self.problems.append(record)
                else:
                    kept.append(_AS_READ.decode(line.removeprefix(BOM)))
                    numbers.append(number)
        self._keep(kept, np.array(numbers, dtype=np.int64))

    def _keep(self, records: list[Any], numbers: NDArray[np.int64]) -> None:
        """Add the columns of records.

        Raises
        ------
        ValueError
            When scores or a header are not sound; nothing is added.
        """
        kinds = np.fromiter(map(_KINDS.__getitem__, map(type, records)), dtype=np.int8, count=len(records))
        found: list[tuple[NDArray[np.int64], dict[str, NDArray[Any]]]] = []
        for kind in range(len(MODELS)):
            rows = np.flatnonzero(kinds == kind)
            some = records if len(rows) == len(records) else list(compress(records, (kinds == kind).tolist()))
            if kind > 0:
                found.append((rows + self.n_rows, self._columns(kind - 1, some) if some else {}))
            elif not all(map(_is_known, some)):
                raise ValueError("a newer schema")
        for kind, (rows, columns) in enumerate(found):
            if len(rows):
                self.rows[kind].append(rows)
                self.pieces[kind].append(columns)
        self.lines.append(numbers)
        self.n_rows += len(records)

    def _columns(self, kind: int, records: list[Any]) -> dict[str, NDArray[Any]]:
        """Return the columns that some record fills."""
        codes, n = self.codes[kind], len(records)
        columns: dict[str, NDArray[Any]] = {}
        for name in self.columns[kind]:
            values = list(map(attrgetter(name), records))
            if values[0] is UNSET and values.count(UNSET) == n:
                continue
            if name == "scores":
                values = [bytes(value) if isinstance(value, msgspec.Raw) else value for value in values]
            if name in codes:
                columns[name] = np.fromiter(map(codes[name].__getitem__, values), dtype=np.int32, count=n)
            else:
                columns[name] = _numbers(values)
        return columns

    def records(self) -> Records:
        """Return everything that was added."""
        lines = _concatenated(self.lines)
        parts = []
        for rows, pieces, codes in zip(self.rows, self.pieces, self.codes, strict=True):
            columns: dict[str, Any] = {}
            for name in dict.fromkeys(name for piece in pieces for name in piece):
                empty = -1 if name in codes else np.nan
                column = np.concatenate(
                    [
                        piece[name] if name in piece else np.full(len(at), empty)
                        for at, piece in zip(rows, pieces, strict=True)
                    ]
                )
                columns[name] = (
                    Coded(column.astype(np.int32, copy=False), codes[name].found) if name in codes else column
                )
            parts.append(Part(_concatenated(rows), columns))
        if "round" in parts[1].columns:
            parts[1].columns["round"] = parts[1].columns["round"].astype(np.int64)
        return Records(
            files=[self.file.name],
            file=np.zeros(len(lines), dtype=np.int64),
            line=lines,
            items=parts[0],
            turns=parts[1],
            verdicts=parts[2],
            problems=self.problems,
            n_records=len(lines) + sum(problem.left_out == "record" for problem in self.problems),
        )


def _lines(block: bytes) -> list[bytes]:
    """Split at line ends alone, and keep them."""
    lines = block.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + lines[-1:]


def _concatenated(pieces: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def _numbers(column: list[Any]) -> NDArray[np.float64]:
    try:
        return np.fromiter(column, dtype=np.float64, count=len(column))
    except TypeError:
        known = [np.nan if value is None or value is UNSET else value for value in column]
        return np.array(known, dtype=np.float64)


# -------------------------------------------------------------------- whole files


def read_lines(file: LogFile, *, columns: Columns = None, texts: bool = False) -> Records:
    """Read all lines of a file; what cannot be read are problems of the result.

    Lines without a type are rows of a table, one turn each; `columns` then says which key is what.
    """
    builder = _Builder(file, texts=texts)
    whole = unusable(file)
    if whole is not None:
        builder.problems.append(whole)
        return builder.records()
    if is_flat(file):
        return _read_flat(file, columns, texts)
    for block, first in _blocks(file, builder.problems):
        builder.add(block, first)
    records = builder.records()
    if file.inspect:
        from d3stats.log.importers.inspect_logs import notes_on

        records.notes.extend(notes_on(file.path, file.scorer))
    return records


def line_blocks(
    file: LogFile,
    start: int = 0,
    stop: int | None = None,
    size: int = 1 << 25,
    *,
    columns: Columns = None,
    without: Collection[str] = (),
) -> Iterator[Records]:
    """Read the lines that begin in a span of bytes, in parts of about `size` bytes with codes of their own.

    Memory stays flat. The span counts bytes of the text, unpacked; without `stop` it goes to the end of the file.
    Columns `without` which the caller gets along are checked all the same.
    """
    if unusable(file) is not None or is_flat(file):
        if start == 0:
            yield read_lines(file, columns=columns)
        return
    problems: list[Problem] = []
    builder, held = _Builder(file, without), 0
    for block, first in _blocks(file, problems, start, stop, min(size, BLOCK)):
        builder.add(block, first)
        held += len(block)
        if held >= size:
            yield builder.records()
            builder, held = _Builder(file, without), 0
    builder.problems += problems
    if held or builder.problems:
        yield builder.records()


def _blocks(
    file: LogFile, problems: list[Problem], start: int = 0, stop: int | None = None, size: int = BLOCK
) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of whole lines and the number of the first line of each."""
    held, first = b"", 1
    with open_bytes(file) as handle:
        try:
            first += _skipped(handle, start)
            at = handle.tell()
            while stop is None or at < stop:
                chunk = handle.read1(size if stop is None else min(size, stop - at))  # type: ignore[attr-defined]
                if not chunk:
                    break
                at += len(chunk)
                held += chunk
                end = held.rfind(b"\n") + 1
                if len(held) >= size and end:
                    yield held[:end], first
                    first += held.count(b"\n", 0, end)
                    held = held[end:]
            if held and not held.endswith(b"\n"):
                held += handle.readline()
        except (EOFError, OSError, zlib.error) as error:
            held = held[: held.rfind(b"\n") + 1]
            last = first + held.count(b"\n") - 1
            message = Advised("the compressed file must be complete", got=f"{error} after line {last}")
            problems.append(Problem(file.name, last + 1, None, message, "truncated last line", (), "nothing"))
    if held:
        yield held, first


def _skipped(handle: IO[bytes], start: int) -> int:
    """Go to the first line that begins at `start` or later; return how many begin before."""
    n, left, last = 0, start, b"\n"
    while left > 0 and (chunk := handle.read(min(left, 1 << 20))):
        n, left, last = n + chunk.count(b"\n"), left - len(chunk), chunk[-1:]
    return n + (last != b"\n" and handle.readline().endswith(b"\n"))


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
                data = _object(file, number, line)
                if _model(data) is not None:
                    return False
                keys = max(keys, len(data) if isinstance(data, dict) else 0)
    except (EOFError, OSError, zlib.error):
        pass
    return keys > 1


def flat_sheet(file: LogFile, size: int = BLOCK) -> Sheet:
    """Read lines without a type as a table, block by block: memory grows with the different values and the codes."""
    problems: list[Problem] = []
    made, n_nan = _RowsAsColumns(), 0
    for block, first in _blocks(file, problems, size=size):
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
    for number, line in enumerate(_lines(block), start=first):
        if not line.strip():
            continue
        data = _object(file, number, line)
        if isinstance(data, Problem) and _NAN.search(line):
            strict = _NAN.subn(rb"\1null", line)
            again = _object(file, number, strict[0])
            if not isinstance(again, Problem):
                data, nans = again, nans + strict[1]
        if isinstance(data, Problem):
            problems.append(data)
        else:
            rows.append(data)
            numbers.append(number)
    return rows, np.array(numbers, dtype=np.int64), problems, nans


_NAN = re.compile(rb"([:\[,]\s*)(?:NaN|-?Infinity)(?=\s*[,}\]])")
"""What Python's json writes for a number that is none; in a text it would stand in quotes."""


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
        self._compact = self._compact and _ENCODER.encode_lines(rows) == block
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
        sheet = Sheet(name, list(self.columns), cells, _concatenated(self.numbers))
        left_out = sum(problem.left_out == "record" for problem in problems)
        sheet.problems, sheet.n_records = problems, self.n_objects + left_out
        if self.nested:
            sheet.notes.append(
                f"{self.n_objects:,} records with rounds or votes inside them were read as {self.n:,} rows, one a vote"
            )
        return sheet


def json_sheet(file: LogFile) -> Sheet | Problem:
    """Read a JSON document as a table: a list of objects, or an object that holds one."""
    with open_bytes(file) as handle:
        text = handle.read()
    text, n_nan = _NAN.subn(rb"\1null", text)
    data = _object(file, 1, text, whole=True)
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


def _read_flat(file: LogFile, columns: Columns, texts: bool) -> Records:
    return records_of_sheet(flat_sheet(file), columns, texts=texts)


# -------------------------------------------------------------------- one record after another


def iter_records(
    path: str | Path,
    *,
    strict: bool = True,
    problems: list[Problem] | None = None,
    scorer: str | None = None,
) -> Iterator[AnyRecord]:
    r"""Yield the records of a JSON lines log in the order of the file, the header included.

    Each line is checked by itself. Relations between records (a turn of a debate that no item opens) are checked by
    :func:`d3stats.log.read_log` and the doctor. Texts and candidates are included, and memory does
    not grow with the file. A file without a single byte has no records.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl`` or ``.ndjson``, also with ``.gz``.
    strict : bool
        Raise on the first line that is no record; otherwise pass over it.
    problems : list, optional
        Gets the lines that were passed over, so that nothing is lost silently.
    scorer : str, optional
        The scorer that is read of a log of Inspect with several, of which all are raters by default.

    Yields
    ------
    Header, Item, Turn or Verdict

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When there is no such file.
    ValueError
        When the name has another ending.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.jsonl"
    >>> _ = path.write_text('{"type":"item","debate":"d","question":"q","text":"Why?"}\n{"type":"tu')
    >>> skipped = []
    >>> [record.text for record in iter_records(path, strict=False, problems=skipped)]
    ['Why?']
    >>> skipped[0].kind
    'truncated last line'
    """
    (file,) = find_files([path], scorer=scorer)
    if file.format != "jsonl":
        raise ValueError(
            f"path must end in .jsonl or .ndjson (also with .gz) to be read record by record; got {str(path)!r}"
        )
    if file.path.stat().st_size == 0:
        return
    late: list[Problem] = []

    def found() -> Iterator[AnyRecord | Problem]:
        if (whole := unusable(file)) is not None:
            yield whole
            return
        for block, first in _blocks(file, late):
            for number, line in enumerate(_lines(block), start=first):
                if line.strip():
                    yield read_line(file, number, line)
        yield from late

    for record in found():
        if not isinstance(record, Problem):
            yield record
        elif strict:
            raise LogError(record)
        elif problems is not None:
            problems.append(record)


# -------------------------------------------------------------------- whole logs


@dataclass(frozen=True, eq=False, repr=False)
class DebateLog:
    r"""A log in memory: three tables, sorted by debate, round and agent, for any order in the files.

    Two logs are equal when their tables and coding are; where they were read from does not matter.

    Attributes
    ----------
    items : DataFrame
        One row per debate: ``debate, question, cluster, label, answers, log, protocol, first, category``;
        ``answers`` is a tuple of str or None, the others are str or None. A log that was read with its texts may also
        have ``text`` and ``candidates``, a tuple of str or None.
    turns : DataFrame
        One row per turn: ``debate, round, agent, role, vote, scores, tokens_in, tokens_out, tokens_source,
        model, error, persona, temperature``. A vote is None when there was none to be read; scores are a dict (side,
        criterion, raw points) or None; tokens are Int64, temperatures Float64. With ``coding="correctness"`` there is
        ``correct`` (Int64: 0, 1, missing) in place of ``vote``. A table that recorded only total tokens has ``tokens``
        in place of ``tokens_in, tokens_out``; where cached prompt tokens were recorded there is ``tokens_cached``, and
        where votes were given with a confidence there is ``confidence`` (Float64, from 0 to 1). A log that was read
        with its texts also has ``text``, where there are some.
    verdicts : DataFrame
        One row per closed debate: ``debate, decision, round, stop_reason``.
    problems : tuple of Problem
        What is wrong, in reading order; empty when the log was read strictly.
    coding : {"answers", "correctness"}
        Whether agents' votes are answers or only right or wrong.
    notes : tuple of str
        What the reader did that is no defect, such as shifting rounds that count from 0, taking words as missing
        and spellings as one.
    n_records : int
        Lines and table rows read, left out or not (a JSON Lines header is a record, a CSV header is not).
    files : tuple of Path
        The files that were read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,one,b,B,A\n")
    >>> log = read_log(path, strict=False)
    >>> log.items[["debate", "label"]].values.tolist(), len(log.turns), len(log.verdicts)
    ([['d', 'A']], 1, 0)
    >>> log.n_records, log.n_left_out, log.problems[0].field
    (2, 1, 'round')
    >>> len(log.to_checked().items)
    1
    """

    items: pd.DataFrame
    turns: pd.DataFrame
    verdicts: pd.DataFrame
    problems: tuple[Problem, ...] = ()
    coding: Literal["answers", "correctness"] = "answers"
    notes: tuple[str, ...] = field(default=(), compare=False)
    n_records: int = field(default=0, compare=False)
    files: tuple[Path, ...] = field(default=(), compare=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DebateLog):
            return NotImplemented
        return self.coding == other.coding and all(
            getattr(self, name).equals(getattr(other, name)) for name in ("items", "turns", "verdicts")
        )

    __hash__ = None  # type: ignore[assignment]  # frames have no hash

    def __repr__(self) -> str:
        return (
            f"DebateLog({len(self.items)} debates, {len(self.turns)} turns, {len(self.verdicts)} verdicts, "
            f"coding={self.coding!r}, {len(self.problems)} problems)"
        )

    def to_checked(self) -> Checked:
        """Return the tables as columns."""
        return checked_of(self.turns, self.items, self.verdicts, notes=self.notes)

    @property
    def n_left_out(self) -> int:
        """The number of records that were left out; the others, ``n_records - n_left_out``, are in the tables."""
        return sum(problem.left_out == "record" for problem in self.problems)


def read_log(
    *paths: str | Path,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    texts: bool = False,
) -> DebateLog:
    r"""Read files and globs into one log.

    The format is known by the name. ``.jsonl`` and ``.ndjson`` hold records as
    :class:`d3stats.log.writer.LogWriter` writes them, or rows of a table, one object a line without ``type``.
    ``.csv``, ``.tsv`` (all these also with ``.gz``), ``.xlsx`` and ``.parquet`` hold a table. Its cells are separated
    by commas, semicolons, tabs or bars, and a row is a turn: ``debate, round, agent`` and ``vote, label`` or
    ``correct``, and optionally ``question, cluster, category, log, protocol, answers`` (JSON), ``first``,
    ``role, persona, scores`` (JSON), ``tokens`` or ``tokens_in, tokens_out``, ``tokens_cached, tokens_source``,
    ``model, temperature, confidence, error``, and ``closed, decision, stop_round, stop_reason``.
    A wide table has a column of votes per agent, per round, or per both. The field's other names for these columns
    are known (``d3stats.log.column_names.ALIASES``), in any case; `columns` names others. A row without round and
    agent is a debate without turns. A debate's question is the debate itself when it is not given. Rounds of a table
    in which a round 0 occurs are shifted by one, all rows of that file, and those of other tables that hold the same
    debates. The meaning given to each column, and the columns that were not read, are in ``notes``.

    Votes, labels, declared answers, decisions and names are brought to one written form, see :mod:`d3stats.values`:
    an answer ``6.0`` is ``6``. An empty cell and words such as ``NA`` are missing, unless the debates'
    declared answers hold the word. The changes are listed in ``notes``.

    The same debate may be opened in several files if its items are alike. Texts and candidates are read with `texts`
    only; see also :func:`d3stats.log.reader.iter_records`.

    Parameters
    ----------
    *paths : path or glob
        Each file is read once, however often it is named.
    strict : bool
        Raise on the first defect in reading order, or leave out what is defective and list it in ``problems``;
        :data:`d3stats.log.KINDS` says for each kind of defect what is left out.
    missing_values : iterable of str, optional
        The words that mean missing, in any case, in place of :data:`d3stats.values.MISSING_WORDS`; ``()`` keeps
        every word as an answer.
    columns : mapping, optional
        Which column of a table says what, where the names do not say it: ``{"debate": "qid"}``; several columns that
        make a name together, ``{"debate": ["run", "qid"]}``, or hold one agent's votes each,
        ``{"votes": ["gpt", "claude"]}``.
    encoding : str, optional
        Encoding of tables as text; UTF-8, and UTF-16 with its mark, need none.
    sheet : str, optional
        The sheet that is read of a workbook; by default the first, and a note names the others.
    texts : bool
        Also read the text of each turn: the field ``text`` of a record, or the column ``text`` of a table with a row
        per turn (other names are ``rationale``, ``reasoning``, ``explanation`` and the like). From records, the
        question's text and the candidates are read too. Memory then grows with the texts.

    Returns
    -------
    DebateLog

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When a path does not exist or a glob matches nothing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,,A\n")
    >>> read_log(path).turns[["debate", "round", "agent", "vote"]]
      debate  round agent  vote
    0      d      1     a     A
    1      d      1     b  None
    """
    how: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "texts": texts}
    checked = read_checked(paths, strict=strict, missing_values=missing_values, **how)
    return replace(log_of(checked), files=tuple(file.path for file in find_files(paths)))


def log_of(checked: Checked, *, parsed: bool = True) -> DebateLog:
    """Return what remains of a log as tables, without `parsed` with scores as JSON."""
    return _log_of(in_order(checked), parsed=parsed)


def _log_of(checked: Checked, *, parsed: bool = True) -> DebateLog:
    items, turns, verdicts = tables_of(checked, parsed=parsed)
    return DebateLog(
        items, turns, verdicts, checked.problems, checked.coding, checked.notes, checked.n_records
    )


def read_both(
    paths: Iterable[str | Path],
    *,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    read: str | None = None,
) -> tuple[DebateLog, Checked]:
    """Read a log leniently into tables, in which scores are JSON texts, and into columns of the same order.

    For those who need both, since ``DebateLog.to_checked`` looks at every cell again.
    """
    how: dict[str, Any] = {
        "columns": columns,
        "encoding": encoding,
        "sheet": sheet,
        "scorer": scorer,
        "read": read,
    }
    checked = in_order(read_checked(paths, strict=False, missing_values=missing_values, **how))
    return _log_of(checked, parsed=False), checked


def read_checked(
    paths: Iterable[str | Path],
    *,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    texts: bool = False,
    read: str | None = None,
) -> Checked:
    """Read a log into columns, see :func:`read_log`; with ``read="answer"`` votes are the answers that they state."""
    words = missing_words(missing_values)
    files = find_files(paths, sheet, scorer)
    records = together(files, [read_file(file, columns, encoding, texts) for file in files])
    checked = check(with_stated_answers(records) if read == "answer" else records, words)
    return checked.strictly() if strict else checked.warned()


def read_file(
    file: LogFile, columns: Columns = None, encoding: str | None = None, texts: bool = False
) -> Records:
    """Read every record of a file of any format."""
    if file.format == "jsonl":
        return read_lines(file, columns=columns, texts=texts)
    if file.format == "json":
        sheet = unusable(file) or json_sheet(file)
        if isinstance(sheet, Problem):
            return nothing(file.name, [sheet])
        return records_of_sheet(sheet, columns, texts=texts)
    return records_of_table(file, columns=columns, encoding=encoding, texts=texts)


def together(files: Sequence[LogFile], parts: Sequence[Records]) -> Records:
    """Put what several files say together; those that record something else than the others are passed over."""
    parts = _counted_alike(parts)
    tables = [part for part in parts if part.n_rows]
    by_lines = any(
        file.format == "jsonl" and part.n_rows and not part.totals and part.coding == "answers"
        for file, part in zip(files, parts, strict=True)
    )
    coding: Coding = "answers" if by_lines or not tables else tables[0].coding
    totals = not by_lines and any(part.totals for part in tables)
    kept = [part if _is_alike(part, coding, totals) else _passed_over(part, coding, totals) for part in parts]
    whole = joined(kept)
    return replace(whole, coding=coding, totals=totals, notes=[*files_note(files), *whole.notes])


def _counted_alike(parts: Sequence[Records]) -> list[Records]:
    """Shift the rounds of tables that hold debates of a table whose rounds count from 0."""
    zero = {debate for part in parts if part.from_zero for debate in _debates(part)}
    return [
        _one_later(part) if zero and part.from_zero is False and not zero.isdisjoint(_debates(part)) else part
        for part in parts
    ]


def _debates(part: Records) -> set[str]:
    debate = part.turns.coded("debate")
    return {debate.values[code] for code in np.unique(debate.codes)}


def _one_later(part: Records) -> Records:
    def moved(each: Part) -> Part:
        return Part(each.row, {k: c + 1 if k == "round" else c for k, c in each.columns.items()})

    note = (
        f"{part.files[0]}: rounds were shifted by one, because another file with the same debates counts "
        "from 0"
    )
    return replace(part, turns=moved(part.turns), verdicts=moved(part.verdicts), notes=[*part.notes, note])


_TOKENS = ("tokens", "tokens_in", "tokens_out")


def _is_alike(part: Records, coding: Coding, totals: bool) -> bool:
    if not part.n_rows:
        return True
    counted = any(name in part.turns.columns for name in _TOKENS)
    return part.coding == coding and (part.totals == totals or not counted)


def _passed_over(part: Records, coding: Coding, totals: bool) -> Records:
    message = Advised(
        f"all files must record {coding} and {'total' if totals else 'split'} tokens alike",
        got=(
            f"a table with "
            f"{'vote' if part.coding == 'answers' else 'correct'}{', tokens' if part.totals else ''}"
        ),
    )
    (file,) = part.files
    problems = [
        Problem(file, None, None, message, "mixed coding", (), "nothing"),
        *(Problem(file, line, None, message, "mixed coding") for line in part.line.tolist()),
    ]
    left = nothing(file, [*part.problems, *problems], part.notes)
    return replace(left, n_records=part.n_records)


# -------------------------------------------------------------------- tables in one fixed form


def seated(turns: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which turns are of agents that have a seat: all but those of roles that never vote in the whole log.

    See :func:`d3stats.log.arrays.voting_roles`. If roles are not recorded, every agent has a seat.
    """
    if "role" not in turns.columns or not len(turns):
        return np.ones(len(turns), dtype=np.bool_)
    voted = turns["vote" if "vote" in turns.columns else "correct"].notna().to_numpy(dtype=np.bool_)
    role = coded(turns["role"])
    return voting_roles(role, voted)[role.codes]


def coded(column: pd.Series) -> Coded:
    """Return a column of texts as codes."""
    codes, values = pd.factorize(column.to_numpy(dtype=object))
    return Coded(codes.astype(np.int32), values.tolist())


def in_order(checked: Checked) -> Checked:
    """Return a log sorted by debate, round and agent, so that its order does not depend on the file."""
    turns, agent, debate = checked.turns, checked.turns.coded("agent"), checked.items.coded("debate")
    place, names = _rank(debate.values), sorted(debate.values)

    def moved(part: Part, order: NDArray[Any]) -> Part:
        return part[order].replaced(debate=Coded(place[part.coded("debate").codes[order]], names))

    def by_debate(part: Part) -> Part:
        return moved(part, np.argsort(place[part.coded("debate").codes], kind="stable"))

    order = np.lexsort(
        (_rank(agent.values)[agent.codes], turns.numbers("round"), place[turns.coded("debate").codes])
    )
    return replace(
        checked,
        items=by_debate(checked.items),
        turns=moved(turns, order),
        verdicts=by_debate(checked.verdicts),
    )


def tables_of(checked: Checked, *, parsed: bool = True) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return items, turns and verdicts of a log that is :func:`in_order`.

    Text is object with None where missing; tokens and ``correct`` are Int64; a turn's round is int64, a verdict's
    Int64. Scores are dicts, or without `parsed` their JSON texts, which take far less time and memory.
    """
    vote = "vote" if checked.coding == "answers" else "correct"
    tokens = ("tokens",) if checked.totals else ("tokens_in", "tokens_out")
    if not np.isnan(checked.turns.numbers("tokens_cached")).all():
        tokens = (*tokens, "tokens_cached")
    said = ("debate", "round", "agent", "role", vote, "scores", *tokens, "tokens_source", "model", "error")
    said += ("persona", "temperature")
    if not np.isnan(checked.turns.numbers("confidence")).all():
        said += ("confidence",)
    said += tuple(name for name in TEXTS["turns"] if name in checked.turns.columns)
    asked = (*ITEM, *(name for name in TEXTS["items"] if name in checked.items.columns))
    return (
        _table(checked.items, asked),
        _table(checked.turns, said, parsed),
        _table(checked.verdicts, VERDICT),
    )


def _rank(names: list[str]) -> NDArray[np.int32]:
    rank = np.zeros(len(names) + 1, dtype=np.int32)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank


def _table(part: Part, names: tuple[str, ...], parsed: bool = True) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in names:
        if name == "round" and "agent" in names:
            columns[name] = part.numbers(name).astype(np.int64)
        elif name == "round" or name in TURN["numbers"]:
            given = part.numbers(name)
            absent = np.isnan(given)
            if name in _DECIMAL:
                columns[name] = pd.array(pd.arrays.FloatingArray(np.where(absent, 0.0, given), absent))
                continue
            whole = np.where(absent, 0, given).astype(np.int64)
            columns[name] = pd.array(pd.arrays.IntegerArray(whole, absent))
        else:
            values = part.coded(name).to_array()
            if name == "scores" and parsed:
                values[:] = [None if x is None else _SCORES.decode(x) for x in values]
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns, columns=list(names))


def _scores_text(scores: Any) -> str | None:
    """Return scores as JSON."""
    if not isinstance(scores, dict):
        return scores if isinstance(scores, str) else None
    try:
        text = _ENCODER.encode(scores).decode()
    except (TypeError, ValueError, OverflowError):
        return json.dumps(scores)
    # What is not finite was written as null.
    return json.dumps(scores) if "null" in text else text


def checked_of(
    turns: pd.DataFrame,
    items: pd.DataFrame,
    verdicts: pd.DataFrame | None = None,
    *,
    notes: tuple[str, ...] = (),
) -> Checked:
    """Return tables in canonical form, one row per turn, debate and verdict, as columns; scores are dicts or JSON."""
    debates = items["debate"].to_numpy(dtype=object)
    by_correctness = "vote" not in turns.columns
    parts: list[Part] = []
    for table, names in (
        (items, ITEM),
        (turns, (*TURN["coded"], *TURN["numbers"])),
        (pd.DataFrame(columns=list(VERDICT)) if verdicts is None else verdicts, VERDICT),
    ):
        columns: dict[str, Any] = {}
        for name in names:
            if name == "debate":
                codes = pd.Index(debates).get_indexer(pd.Index(table["debate"]))
                columns[name] = Coded(codes.astype(np.int32), debates.tolist())
            elif name not in table.columns:
                continue
            elif name in TURN["numbers"]:
                numbers = pd.to_numeric(table[name]).to_numpy(dtype=np.float64, na_value=np.nan)
                columns[name] = numbers.astype(np.int64) if table is turns and name == "round" else numbers
            else:
                column = table[name]
                if name == "scores":
                    column = pd.Series([_scores_text(x) for x in column], dtype=object)
                columns[name] = coded(column)
        parts.append(Part(np.arange(len(table)), columns))
    coding: Coding = "correctness" if by_correctness else "answers"
    opened, said, closed = parts
    return Checked(opened, said, closed, notes=notes, coding=coding, totals="tokens" in turns.columns)
