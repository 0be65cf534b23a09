"""Open the files of a log as text, and say of what cannot be opened what it seems to be."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

from d3stats._progress import Watch, watching
from d3stats.log.files import STARTS, LogFile, seems
from d3stats.log.packed import TooLarge, Unpacking
from d3stats.log.problems import Advised, Problem, WrongChoice
from d3stats.log.writer import line_of


@lru_cache(maxsize=4)
def _inspect_lines(path: Path, scorer: str | None, changed: int) -> bytes:
    """Return a log of Inspect as the lines of a log; `changed` is when the file was."""
    from d3stats.log.importers.inspect_logs import records

    return b"".join(map(line_of, records(path, panel=None, scorer=scorer)))


def open_bytes(file: LogFile) -> IO[bytes]:
    """Open a text format for reading as bytes, gunzipping on the way.

    Raises
    ------
    ValueError
        When a log of Inspect is none; on the way, when a packed file holds far more than its size lets expect.
    """
    if file.inspect:
        return io.BytesIO(_inspect_lines(file.path, file.scorer, file.path.stat().st_mtime_ns))
    watch = watching()
    raw = file.path.open("rb") if watch is None else io.BufferedReader(_Watched(file, watch))
    if not file.compressed:
        return raw
    return cast(IO[bytes], Unpacking(raw, file.name, file.path.stat().st_size))


class _Watched(io.FileIO):
    """A file that tells how far it is read."""

    def __init__(self, file: LogFile, watch: Watch) -> None:
        super().__init__(file.path)
        self._file, self._told = file, watch
        self._size = os.fstat(self.fileno()).st_size

    def readinto(self, buffer: Any, /) -> int | None:
        n = super().readinto(buffer)
        self._told(f"reading {self._file.name}", self.tell(), self._size)
        return n


def unusable(file: LogFile) -> Problem | None:
    """Look at the first bytes: an empty file or one in another format is a problem of the whole file."""
    packed = file.format in ("parquet", "xlsx")
    try:
        if file.inspect and file.path.stat().st_size:
            open_bytes(file).close()
            return None
        with file.path.open("rb") if packed or file.inspect else open_bytes(file) as handle:
            head = handle.read(4096)
    except EOFError:
        return None  # shorter than its own head: the reader says where it breaks off
    except (gzip.BadGzipFile, zlib.error) as error:
        return _not_a_log(file, Advised("file must be gzipped text", got=f"{error}"))
    except OSError as error:
        return _not_a_log(file, Advised("file must be readable", got=f"{error.strerror or error}"))
    except (WrongChoice, TooLarge):
        raise
    except ValueError as error:
        return _not_a_log(file, str(error))
    if not head:
        return Problem(
            file.name, None, None, "file must hold records; got 0 bytes", "empty file", (), "nothing"
        )
    if packed:
        start, known = (
            (b"PAR1", "Parquet") if file.format == "parquet" else (b"PK\x03\x04", "an XLSX workbook")
        )
        wrong = Advised(f"file must be {known}", got=seems(head))
        return None if head.startswith(start) else _not_a_log(file, wrong)
    wide = file.format in ("csv", "tsv") and head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    if (b"\0" in head and not wide) or head.startswith(tuple(STARTS)):
        return _not_a_log(file, Advised("file must be text", got=seems(head)))
    return None


def _not_a_log(file: LogFile, message: str) -> Problem:
    return Problem(file.name, None, None, message, "not a log", (), "nothing")
