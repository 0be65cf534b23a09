"""The records of a log one after another, texts and candidates included; memory does not grow with the file.

The tables of :func:`d3stats.log.read_log` are for analyses and leave texts out. Whoever goes on with a debate, shows it
or answers from it reads the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from d3stats.log.files import LogFile, find_files, open_bytes, unusable
from d3stats.log.problems import LogError, Problem

if TYPE_CHECKING:
    from d3stats.log.schema import AnyRecord

__all__ = ["iter_records"]


def iter_records(
    path: str | Path, *, strict: bool = True, problems: list[Problem] | None = None
) -> Iterator[AnyRecord]:
    r"""Yield the records of a JSON lines log in the order of the file, the header included.

    Each line is checked by itself; what records say of each other (a turn of a debate that no item opens) is
    the business of :func:`d3stats.log.read_log` and the doctor. A file without a single byte has no records.

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
    for record in _lines(file):
        if not isinstance(record, Problem):
            yield record
        elif strict:
            raise LogError(record)
        elif problems is not None:
            problems.append(record)


def _lines(file: LogFile) -> Iterator[AnyRecord | Problem]:
    # Pydantic's models are loaded here, so that naming this module costs nothing.
    from d3stats.log.reference import read_line

    whole = unusable(file)
    if whole is not None:
        yield whole
        return
    number = 0
    try:
        with open_bytes(file) as handle:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    yield read_line(file, number, line)
    except (EOFError, OSError) as error:
        message = f"the compressed file must be complete; got {error} after line {number}"
        yield Problem(file.name, number + 1, None, message, "truncated last line", (), "nothing")
