"""Write a debate log: append-only, one record a line, on disk before `write` returns.

A line is a record's JSON with absent (None) fields left out. A new file begins with a header. A program that is
killed can lose at most the record that it was writing, and leaves at most one incomplete line. The next
writer refuses to append until that line is moved to another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import msgspec

from d3stats._words import storable
from d3stats.log.appended import Appended
from d3stats.log.schema import AnyRecord, Header, first_defect

__all__ = ["LogWriter", "line_of", "replacing"]

Sync = Literal["record", "second", "close", "never"]

_EVERY = {"record": 0.0, "second": 1.0}
"""Seconds between two waits for the disk while a log is written."""


class LogWriter:
    """Append records to a JSON lines file; a context manager.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl`` or ``.ndjson``; its folder must exist. Writing to an existing log appends.
    source : str, optional
        Where the records come from, for the header of a new file.
    fsync : bool or {"record", "second", "close", "never"}
        When to wait for the disk: after every record (True, "record"), about once a second ("second"), once at the end
        ("close", for bulk imports), or not at all (False, "never"). With "record" and "second" every record is also
        handed to the system at once; otherwise in blocks.
    repair : bool
        If the file ends in an incomplete line, move that line to ``<path>.torn`` (appending) instead of
        refusing.

    Raises
    ------
    ValueError
        When the name has another ending, the file is no debate log, or its last line is incomplete.
    FileNotFoundError
        When the folder does not exist.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats.log.schema import Item, Turn
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.jsonl"
    >>> with LogWriter(path, source="example") as log:
    ...     log.write(Item(debate="d1", question="q1", label="A"))
    ...     log.write(Turn(debate="d1", round=1, agent="juror 1", vote="A"))
    >>> print(path.read_text().splitlines()[2])
    {"type":"turn","debate":"d1","round":1,"agent":"juror 1","vote":"A"}
    >>> log = LogWriter(path)
    >>> log.write(Turn(debate="d1", round=1, agent="juror 2"))
    >>> log.close()
    >>> len(path.read_text().splitlines())
    4
    """

    def __init__(
        self, path: str | Path, *, source: str | None = None, fsync: bool | Sync = True, repair: bool = False
    ) -> None:
        self.path = Path(path)
        if self.path.suffix not in (".jsonl", ".ndjson"):
            raise ValueError(f"path must end in .jsonl or .ndjson; got path={str(path)!r}")
        if fsync not in (True, False, "record", "second", "close", "never"):
            raise ValueError(
                f"fsync must be True, False, 'record', 'second', 'close' or 'never'; got fsync={fsync!r}"
            )
        self.fsync: Sync = "record" if fsync is True else "never" if fsync is False else fsync
        new = not self.path.exists() or self.path.stat().st_size == 0
        if not new:
            _refuse_foreign(self.path)
            _mend(self.path, repair=repair)
            new = self.path.stat().st_size == 0
        self._handle: IO[bytes] | Appended | None = (
            Appended(self.path, sync=_EVERY[self.fsync]) if self.fsync in _EVERY else self.path.open("ab")
        )
        if new:
            self.write(Header(source=source))
            if self.fsync != "never":
                _sync_folder(self.path.parent)

    def write(self, record: AnyRecord) -> None:
        """Append one record.

        Raises
        ------
        ValueError
            When the writer is closed, or a field cannot be written: names it, the requirement and what was got.
        """
        if self._handle is None:
            raise ValueError(f"a writer must be open; got a closed one ({self.path})")
        self._handle.write(line_of(record))

    @property
    def changed(self) -> str | None:
        """The change that another program made to the file; known only when each record is synced."""
        if not isinstance(self._handle, Appended):
            return None
        self._handle.look()
        return self._handle.changed

    def close(self) -> None:
        """Hand everything to the disk and close; closing twice is harmless."""
        if self._handle is None:
            return
        if isinstance(self._handle, Appended):
            self._handle.sync()
        else:
            self._handle.flush()
            if self.fsync != "never":
                os.fsync(self._handle.fileno())
        self._handle.close()
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def line_of(record: AnyRecord) -> bytes:
    """Return a record's line, which is what a reader takes.

    Raises
    ------
    ValueError
        When a field is not of the schema.
    """
    try:
        try:
            line = _ENCODER.encode(record)
        except UnicodeEncodeError:
            line = _ENCODER.encode(_storable(record))
        _DECODER.decode(line)
    except (ValueError, TypeError) as error:
        defect = first_defect(record.to_dict(), type(record))
        if defect is None:
            raise ValueError(f"a record must be one of the schema; got {record!r} ({error})") from error
        name, requirement, got = defect
        raise ValueError(f"{name} {requirement}; got {name}={got!r}") from error
    return line + b"\n"


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    if not hasattr(value, "item"):
        raise TypeError(f"got {type(value).__name__}")
    return value.item()


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
_DECODER: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def _storable(record: AnyRecord) -> AnyRecord:
    """Put U+FFFD for halves of surrogate pairs in what a model said or was shown; names are refused."""
    changed: dict[str, Any] = {}
    for name in ("vote", "decision", "text", "candidates"):
        value = getattr(record, name, None)
        if isinstance(value, str):
            changed[name] = storable(value)
        elif value is not None:
            changed[name] = tuple(map(storable, value))
    return msgspec.structs.replace(record, **changed)


def _refuse_foreign(path: Path) -> None:
    with path.open("rb") as handle:
        first = handle.readline(1 << 20)
    try:
        known = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        # A header torn in the middle still begins like one.
        known = first.startswith(b"{") and not first.endswith(b"\n")
    if not known:
        raise ValueError(f"path must be a debate log to append to; got {first[:40]!r} in line 1 of {path}")


def _mend(path: Path, *, repair: bool) -> None:
    """Make the file end with a whole line: add a lacking line end, refuse or move aside a torn line."""
    with path.open("rb+") as handle:
        start = _last_line_start(handle)
        handle.seek(start)
        last = handle.read()
        if last.endswith(b"\n"):
            return
        try:
            whole = isinstance(json.loads(last), dict)
        except (ValueError, RecursionError):
            whole = False
        if whole:
            handle.write(b"\n")
            return
        if not repair:
            raise ValueError(
                f"the last line of a log must be complete before more is appended; got {last[-40:]!r} at "
                "the end of "
                f"{path} (repair=True moves it to {path.name}.torn)"
            )
        torn = path.with_name(f"{path.name}.torn")
        with torn.open("ab") as aside:
            aside.write(last + b"\n")
            aside.flush()
            os.fsync(aside.fileno())
        # Only now, when the torn line is safe elsewhere.
        handle.truncate(start)
        handle.flush()
        os.fsync(handle.fileno())


def _last_line_start(handle: IO[bytes]) -> int:
    """Where the text after the last line end begins, or the last line itself when the file ends in one."""
    block = 1 << 16
    end = handle.seek(0, os.SEEK_END)
    handle.seek(end - 1)
    position = end - 1 if handle.read(1) == b"\n" else end
    while position > 0:
        at = max(0, position - block)
        handle.seek(at)
        found = handle.read(position - at).rfind(b"\n")
        if found >= 0:
            return at + found + 1
        position = at
    return 0


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system lets a folder be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def replacing(dest: str | Path, endings: tuple[str, ...] = ()) -> Iterator[Path]:
    """Give a file beside `dest`, of the same ending, that is moved there when it is complete."""
    target = Path(dest)
    if endings and not target.name.endswith(endings):
        raise ValueError(f"dest must end in {' or '.join(endings)}; got dest={str(dest)!r}")
    partial = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
