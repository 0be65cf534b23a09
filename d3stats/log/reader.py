"""JSON lines in, columns out: every line is a record of the schema, or a problem with file, line and field.

Lines are decoded in blocks that fit the processor's cache. A block is surely sound when its records, written again as
compactly as JSON can be, are as long as the block: then no key is repeated and no line holds anything else. The lines
of any other block are looked at one by one, so a defect costs as much as its block.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress, islice
from operator import attrgetter, or_
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from d3stats.log.column_names import Columns
from d3stats.log.columns import ITEM, TURN, Coded, Part, Records
from d3stats.log.files import LogFile, find_files, open_bytes, unusable
from d3stats.log.problems import LogError, Problem
from d3stats.log.schema import (
    MODELS,
    SCHEMA_VERSION,
    AnyRecord,
    Header,
    RepeatedKey,
    first_defect,
    parse_json,
)

__all__ = [
    "LogFile",
    "find_files",
    "iter_records",
    "line_blocks",
    "open_bytes",
    "read_line",
    "read_lines",
    "unusable",
]

BLOCK = 1 << 17
"""Bytes that are decoded together: few enough for the cache, many enough to be worth a call."""

BOM = b"\xef\xbb\xbf"

_RECORD: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


# ------------------------------------------------------------------------------------------ one line


def read_line(file: LogFile, number: int, line: bytes) -> AnyRecord | Problem:
    """Read one line of JSON into its record, or say what is wrong with it."""
    if _is_sound(line):
        return _RECORD.decode(line)
    data = _object(file, number, line)
    if isinstance(data, Problem):
        return data
    model = _model(data)
    if model is None:
        message = f"type must be one of {', '.join(map(repr, MODELS))}; got type={data.get('type')!r}"
        return Problem(file.name, number, "type", message, "wrong field", _key(data))
    version = data.get("schema_version", 1)
    if model is Header and type(version) is int and version > SCHEMA_VERSION:
        message = f"schema_version must be <= {SCHEMA_VERSION}; got schema_version={version}"
        return Problem(file.name, number, "schema_version", message, "newer schema")
    try:
        return _RECORD.decode(line.removeprefix(BOM))
    except (ValueError, RecursionError) as error:
        defect = first_defect(data, model)
        if defect is None:
            # Python's parser takes halves of a surrogate pair, which are no text.
            message = f"line must be JSON in UTF-8; got {_shorten(line)} ({_reason(error)})"
            return Problem(file.name, number, "line", message, "malformed line", _key(data))
        name, requirement, got = defect
        shown = repr(got) if len(repr(got)) <= 80 else repr(got)[:77] + "..."
        message = f"{name} {requirement}; got {name}={shown}"
        return Problem(file.name, number, name, message, "wrong field", _key(data))


def _object(file: LogFile, number: int, line: bytes) -> dict[str, Any] | Problem:
    try:
        data = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except RepeatedKey as error:
        message = f"a key must occur once; got {error} twice"
        return Problem(file.name, number, str(error), message, "malformed line")
    except (ValueError, RecursionError) as error:
        kind = "malformed line" if line.endswith(b"\n") else "truncated last line"
        message = f"a line must be one JSON object; got {_shorten(line)} ({_reason(error)})"
        return Problem(file.name, number, None, message, kind)
    if not isinstance(data, dict):
        message = f"a line must be one JSON object; got {_shorten(line)}"
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


# ------------------------------------------------------------------------------------------ blocks of lines


def _as_read(model: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a record that is written as it was read: absent is not null, and scores are as they stand."""
    fields: list[Any] = []
    for field in msgspec.structs.fields(model):
        kind = msgspec.Raw if field.name == "scores" else field.type
        fields.append((field.name, kind) if field.required else (field.name, kind | UnsetType, UNSET))
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
_SCORES = msgspec.json.Decoder(dict[str, dict[str, float]] | None)

_COLUMNS: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    (ITEM, ()),
    (TURN["coded"], ("round", "tokens_in", "tokens_out")),
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


def _is_known(header: Any) -> bool:
    return header.schema_version is UNSET or header.schema_version <= SCHEMA_VERSION


def _is_sound(line: bytes) -> bool:
    """Whether a line is surely a record; one that says no may be one all the same."""
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

    def __init__(self, file: LogFile, without: Collection[str] = ()) -> None:
        self.file = file
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
            if len(msgspec.json.format(listed, indent=-1)) == len(again) + 1:
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
                raise ValueError("a schema that is newer")
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


# ------------------------------------------------------------------------------------------ whole files


def read_lines(file: LogFile, *, columns: Columns = None) -> Records:
    """Read all lines of a file; what cannot be read are problems of the result.

    Lines without a type are rows of a table, one turn each; `columns` then says which key is what.
    """
    builder = _Builder(file)
    whole = unusable(file)
    if whole is not None:
        builder.problems.append(whole)
        return builder.records()
    if is_flat(file):
        return _read_flat(file, columns)
    for block, first in _blocks(file, builder.problems):
        builder.add(block, first)
    return builder.records()


def line_blocks(
    file: LogFile,
    start: int = 0,
    stop: int | None = None,
    size: int = 1 << 25,
    *,
    columns: Columns = None,
    without: Collection[str] = (),
) -> Iterator[Records]:
    """Read the lines that begin in a span of bytes, in parts of about `size` bytes, so that memory stays flat.

    Parameters
    ----------
    file : LogFile
    start, stop : int
        Bytes of the text, unpacked; without `stop` to the end of the file.
    size : int
        Bytes of a part.
    columns : mapping, optional
        Which key is what in lines without a type.
    without : collection of str
        Columns that are not needed; they are checked all the same.

    Yields
    ------
    Records
        Each with codes of its own.
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
            message = f"the compressed file must be complete; got {error} after line {last}"
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


def flat_rows(file: LogFile) -> tuple[list[tuple[int, dict[str, Any]]], list[Problem]]:
    """Return the number and the object of each line, and what is wrong with lines that hold none."""
    rows: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    for block, first in _blocks(file, problems):
        for number, line in enumerate(_lines(block), start=first):
            if line.strip():
                data = _object(file, number, line)
                if isinstance(data, Problem):
                    problems.append(data)
                else:
                    rows.append((number, data))
    return rows, problems


def _read_flat(file: LogFile, columns: Columns) -> Records:
    from d3stats.log.tables import read_rows

    rows, problems = flat_rows(file)
    records = read_rows(file, rows, columns=columns)
    records.problems += problems
    records.n_records += sum(problem.left_out == "record" for problem in problems)
    return records


# ------------------------------------------------------------------------------------------ one record after another


def iter_records(
    path: str | Path, *, strict: bool = True, problems: list[Problem] | None = None
) -> Iterator[AnyRecord]:
    r"""Yield the records of a JSON lines log in the order of the file, the header included.

    Each line is checked by itself; what records say of each other (a turn of a debate that no item opens) is
    the business of :func:`d3stats.log.read_log` and the doctor. Texts and candidates are included, and memory does
    not grow with the file. A file without a single byte has no records.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl`` or ``.ndjson``, also with ``.gz``.
    strict : bool
        Raise on the first line that is no record; otherwise pass over it.
    problems : list, optional
        Gets what was passed over, so that nothing is lost silently.

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
    (file,) = find_files([path])
    if file.format != "jsonl":
        raise ValueError(
            f"path must end in .jsonl or .ndjson (also with .gz) to be read record by record; got {str(path)!r}"
        )
    if file.path.stat().st_size == 0:
        return
    for record in _records(file):
        if not isinstance(record, Problem):
            yield record
        elif strict:
            raise LogError(record)
        elif problems is not None:
            problems.append(record)


def _records(file: LogFile) -> Iterator[AnyRecord | Problem]:
    whole = unusable(file)
    if whole is not None:
        yield whole
        return
    late: list[Problem] = []
    for block, first in _blocks(file, late):
        for number, line in enumerate(_lines(block), start=first):
            if line.strip():
                yield read_line(file, number, line)
    yield from late
