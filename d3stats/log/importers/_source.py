"""Opening foreign files: folders, single files and tar archives look the same; errors say what was got."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from d3stats._check import shown
from d3stats.log.files import no_file
from d3stats.log.packed import gunzipped, refuse_larger


def files(source: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the files whose base name fits `pattern`, sorted by name.

    `source` is a file (always yielded), a folder (searched in depth) or a tar archive.

    Raises
    ------
    FileNotFoundError
        When `source` does not exist.
    ValueError
        When a folder or an archive holds no such file, or an archive cannot be read.
    """
    if not source.exists():
        raise no_file(source, "source")
    found = False
    if source.is_dir():
        for path in sorted(source.rglob(pattern)):
            if path.is_file():
                found = True
                yield path.relative_to(source).as_posix(), path.read_bytes()
    elif source.name.endswith((".tar.gz", ".tgz", ".tar")):
        try:
            with tarfile.open(source) as archive:
                refuse_larger(
                    source.name,
                    source.stat().st_size,
                    (one.size for one in archive),
                    step="unpack it yourself",
                )
                members = sorted(archive.getmembers(), key=lambda member: member.name)
                for member in members:
                    handle = archive.extractfile(member)
                    if handle is not None and fnmatch(member.name.rpartition("/")[2], pattern):
                        found = True
                        yield member.name, handle.read()
        except (tarfile.TarError, OSError, EOFError) as error:
            raise ValueError(f"source must be a readable tar archive; got {str(source)!r}: {error}") from None
    else:
        found = True
        yield source.name, source.read_bytes()
    if not found:
        raise ValueError(f"source must hold files named {pattern!r}; got none in {str(source)!r}")


def stem(name: str) -> str:
    """Return a file's base name without its last suffix."""
    base = name.rpartition("/")[2]
    return base.rpartition(".")[0] or base


def text_of(name: str, content: bytes) -> str:
    """Decode UTF-8, or say which file is not."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be UTF-8 text; got byte {error.start} that is not") from None


def loaded(name: str, text: str) -> Any:
    """Parse one JSON text, or refuse one that nests too deep for the parser; a broken one raises JSONDecodeError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{name} must be JSON that nests at most some hundred times; got more") from None


def json_of(name: str, content: bytes) -> Any:
    """Parse one JSON document, or say where it breaks."""
    try:
        return loaded(name, text_of(name, content))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{name} must be JSON; got {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None


def json_lines(name: str, content: bytes) -> list[Any]:
    """Parse one JSON document per line; blank lines are passed over, a broken one is named, and no line is refused."""
    rows = []
    for number, line in enumerate(text_of(name, content).split("\n"), start=1):
        if line.strip():
            try:
                rows.append(loaded(f"{name}, line {number},", line))
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"{name} must hold one JSON document per line; got {error.msg} in line {number}"
                ) from None
    shape(
        name,
        "a file of one JSON document per line, with one line or more",
        bool(rows),
        text_of(name, content),
    )
    return rows


def json_files(source: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield name and content of JSON files, see :func:`files`."""
    for name, content in files(source, pattern):
        yield name, json_of(name, content)


def documents(source: Path, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield name and content of JSON files; of a file with a document per line, the list of these."""
    for name, content in files(source, pattern):
        whole = text_of(name, content)
        if name.endswith((".jsonl", ".ndjson")):
            yield name, json_lines(name, content)
            continue
        try:
            yield name, loaded(name, whole)
        except json.JSONDecodeError as error:
            lines = [line for line in whole.split("\n") if line.strip()]
            if len(lines) < 2 or not lines[1].lstrip().startswith("{") or not lines[0].rstrip().endswith("}"):
                raise ValueError(
                    f"{name} must be JSON; got {error.msg} at line {error.lineno}, column {error.colno}"
                ) from None
            yield name, json_lines(name, content)


def csv_rows(source: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row of a CSV file, and its cells by column; the file may be gzipped."""
    ((name, content),) = files(source, "*")
    raw = gunzipped(content, name) if name.endswith(".gz") else content
    rows = csv.DictReader(io.StringIO(text_of(name, raw), newline=""))
    absent = [column for column in columns if column not in (rows.fieldnames or ())]
    if absent:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; got none named {absent}")
    for line, row in enumerate(rows, start=2):
        yield f"{name}, line {line}", row


def questions(name: str, data: Any) -> Iterator[tuple[str, str, str, Any]]:
    """Yield the debate, the place, the text and the entry of each question of ``{text: entry}``."""
    shape(name, "an object of questions", isinstance(data, dict) and bool(data), data)
    for index, (asked, entry) in enumerate(data.items(), start=1):
        yield f"{stem(name)}/{index}", f"{name}, question {index}", asked, entry


def shape(where: str, requirement: str, ok: bool, got: Any) -> None:
    """Refuse a value of the wrong shape: name, requirement, got."""
    if not ok:
        shown = repr(got)
        raise ValueError(
            f"{where} must be {requirement}; got {shown if len(shown) <= 80 else shown[:77] + '...'}"
        )


def string(where: str, value: Any) -> str:
    """Return `value` when it is a text that is not empty."""
    shape(where, "a text that is not empty", isinstance(value, str) and bool(value), value)
    result: str = value
    return result


def named(where: str, value: Any) -> str:
    """Return `value` as a name when it is a text that is not blank, or a whole number."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    shape(
        where,
        "a text that is not blank, or a whole number",
        whole or (isinstance(value, str) and bool(value.strip())),
        value,
    )
    return str(value).strip()


def sequence(where: str, value: Any, *, empty: bool = False) -> list[Any]:
    """Return `value` when it is a list, and not an empty one unless `empty`."""
    requirement = "a list" if empty else "a list that is not empty"
    shape(where, requirement, isinstance(value, list) and (empty or bool(value)), value)
    result: list[Any] = value
    return result


def points(where: str, value: Any) -> float:
    """Return `value`, a number or the text of one, when it is finite."""
    try:
        result = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    shape(where, "a finite number", math.isfinite(result), value)
    return result


def mapping(where: str, value: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return `value` when it is an object that has `keys`."""
    shape(where, f"an object with {', '.join(keys)}" if keys else "an object", isinstance(value, dict), value)
    absent = [key for key in keys if key not in value]
    if absent:
        raise ValueError(
            f"{where} must have {', '.join(keys)}; got no {', '.join(absent)} among {shown(sorted(value)[:8])}"
        )
    result: Mapping[str, Any] = value
    return result


def flat_text(value: Any, *, decode: bool = False) -> str:
    r"""Write a cell as one text; several turns of a conversation are numbered, none is "".

    With `decode` a text is the JSON of a list of turns.

    Examples
    --------
    >>> flat_text('["Why?", "Are you sure?"]', decode=True)
    'Turn 1: Why?\n\nTurn 2: Are you sure?'
    >>> flat_text([{"role": "user", "content": "Why?"}]), flat_text(True)
    ('Why?', 'true')
    """
    try:
        return _flat(json.loads(value) if decode and isinstance(value, str) else value)
    except RecursionError:
        raise ValueError("a text must not be a list nested too deeply") from None


def _flat(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        turns = [_flat(part.get("content") if isinstance(part, dict) else part) for part in value]
        numbered = [f"Turn {i}: {turn}" for i, turn in enumerate(turns, start=1) if turn]
        return "\n\n".join(numbered) if len(turns) > 1 else "".join(turns)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (bool, dict)) else str(value)


def sheet(name: str, content: bytes) -> tuple[list[str], list[Sequence[Any]]]:
    """Return the header and the rows of a workbook's first sheet; rows without any value are passed over."""
    from io import BytesIO
    from zipfile import BadZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(BytesIO(content), read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, RuntimeError, OSError) as error:
        raise ValueError(f"{name} must be an Excel workbook; got {error}") from None
    cells = book.worksheets[0].iter_rows(values_only=True)
    rows = [tuple(row) for row in cells if any(cell is not None for cell in row)]
    book.close()
    shape(name, "a sheet with a header", bool(rows), rows)
    return [str(cell) for cell in rows[0]], list(rows[1:])


def question_id(benchmark: str, text: str) -> str:
    r"""Name a question by its wording, so that the same question has the same name in every log.

    Examples
    --------
    >>> question_id("gsm8k", "How  many?\n") == question_id("gsm8k", "How many?")
    True
    """
    digest = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
    return f"{benchmark}:{digest[:12]}"
