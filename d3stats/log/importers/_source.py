"""Opening foreign files: folders, single files and tar archives look the same; errors say what was got."""

from __future__ import annotations

import hashlib
import json
import math
import tarfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any


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
        raise FileNotFoundError(f"source must exist; got source={str(source)!r}")
    found = False
    if source.is_dir():
        for path in sorted(source.rglob(pattern)):
            if path.is_file():
                found = True
                yield path.relative_to(source).as_posix(), path.read_bytes()
    elif source.name.endswith((".tar.gz", ".tgz", ".tar")):
        try:
            with tarfile.open(source) as archive:
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


def json_of(name: str, content: bytes) -> Any:
    """Parse one JSON document, or say where it breaks."""
    try:
        return json.loads(text_of(name, content))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{name} must be JSON; got {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None


def json_lines(name: str, content: bytes) -> list[Any]:
    """Parse one JSON document per line; blank lines are passed over, a broken one is named."""
    rows = []
    for number, line in enumerate(text_of(name, content).split("\n"), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"{name} must hold one JSON document per line; got {error.msg} in line {number}"
                ) from None
    return rows


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
    except (TypeError, ValueError):
        result = math.nan
    shape(where, "a finite number", math.isfinite(result), value)
    return result


def mapping(where: str, value: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return `value` when it is an object that has `keys`."""
    shape(where, f"an object with {', '.join(keys)}" if keys else "an object", isinstance(value, dict), value)
    absent = [key for key in keys if key not in value]
    if absent:
        raise ValueError(
            f"{where} must have {', '.join(keys)}; got no {', '.join(absent)} among {sorted(value)[:8]}"
        )
    result: Mapping[str, Any] = value
    return result


def question_id(benchmark: str, text: str) -> str:
    r"""Name a question by its wording, so that the same question has the same name in every log.

    Examples
    --------
    >>> question_id("gsm8k", "How  many?\n") == question_id("gsm8k", "How many?")
    True
    """
    digest = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
    return f"{benchmark}:{digest[:12]}"
