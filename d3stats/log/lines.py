"""JSON lines in, columns out: every line is a record of the schema, or a problem with file, line and field.

Lines are decoded in blocks that fit the processor's cache. A block is surely sound when its records, written again as
compactly as JSON can be, are as long as the block, because then no key is repeated and no line holds anything
else. The lines of any other block are looked at one by one, so a defect costs as much as its block.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress
from operator import attrgetter, or_
from typing import IO, Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from d3stats.log.columns import ITEM, TEXTS, TURN, Coded, Part, Records
from d3stats.log.files import LogFile
from d3stats.log.opening import open_bytes
from d3stats.log.problems import Advised, Problem
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

__all__ = ["BLOCK", "Builder", "blocks", "json_object", "lines_of", "model_of", "read_line"]


BLOCK = 1 << 17
"""Bytes that are decoded together: few enough for the cache, many enough to be worth a call."""

BOM = b"\xef\xbb\xbf"
_RECORD: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def read_line(file: LogFile, number: int, line: bytes) -> AnyRecord | Problem:
    """Read one line of JSON into its record, or say what is wrong with it."""
    if _is_sound(line):
        return _RECORD.decode(line)
    data = json_object(file, number, line)
    if isinstance(data, Problem):
        return data
    model = model_of(data)
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


def json_object(file: LogFile, number: int, line: bytes, *, whole: bool = False) -> Any:
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


def model_of(data: Any) -> type[AnyRecord] | None:
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
ENCODER = msgspec.json.Encoder()
SCORES = msgspec.json.Decoder(dict[str, dict[str, Score]] | None)

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
    scores = SCORES.decode(written)
    if scores is None:
        return None
    # There is a colon for every key: a key that occurs twice leaves one over, and so may one that holds a colon.
    if written.count(b":") > len(scores) + sum(map(len, scores.values())):
        parse_json(written.decode("utf-8"))
    return ENCODER.encode(scores).decode()


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
        compact = len(msgspec.json.format(line, indent=-1)) == len(ENCODER.encode(record))
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


class Builder:
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
            again = ENCODER.encode_lines(records)
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
        for number, line in enumerate(lines_of(block), start=first):
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
        lines = concatenated(self.lines)
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
            parts.append(Part(concatenated(rows), columns))
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


def lines_of(block: bytes) -> list[bytes]:
    """Split at line ends alone, and keep them."""
    lines = block.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + lines[-1:]


def concatenated(pieces: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)


def _numbers(column: list[Any]) -> NDArray[np.float64]:
    try:
        return np.fromiter(column, dtype=np.float64, count=len(column))
    except TypeError:
        known = [np.nan if value is None or value is UNSET else value for value in column]
        return np.array(known, dtype=np.float64)


def blocks(
    file: LogFile, problems: list[Problem], start: int = 0, stop: int | None = None, size: int = BLOCK
) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of whole lines and the number of the first line of each."""
    held, first = b"", 1
    with open_bytes(file) as handle:
        try:
            first += _skipped(handle, start)
            at = handle.tell()
            while stop is None or at < stop:
                chunk = handle.read1(size if stop is None else min(size, stop - at))  # type: ignore[attr-defined]  # in all that opens
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
