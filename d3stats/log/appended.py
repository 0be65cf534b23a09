"""A file that only grows while one program writes it: whole lines, put back when another program takes it away."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["Appended"]

_BLOCK = 1 << 20


class Appended:
    """Append lines to a file, each whole or not at all, and notice what others did to it.

    A file that was deleted or replaced is put back from the open one, and what replaced it is moved aside.

    Parameters
    ----------
    path : path
    sync : float, optional
        Seconds: a line that is written so long after the last wait for the disk waits for it too. 0: each line does.
    lock : bool
        Whether to hold the only lock on the file; without it BlockingIOError.

    Attributes
    ----------
    changed : str or None
        The change that another program made to the file.
    """

    def __init__(self, path: Path, *, sync: float | None, lock: bool = False) -> None:
        self.path, self._every, self._lock = path, sync, lock
        self._synced = -math.inf
        self.changed: str | None = None
        self._fd = self._open(path)
        self._size = os.fstat(self._fd).st_size

    def _open(self, path: Path) -> int:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            if self._lock:
                _lock(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def write(self, lines: bytes) -> None:
        """Append lines; after an error none of them is in the file."""
        self.look()
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if self._every is not None and time.monotonic() - self._synced >= self._every:
                self.sync()
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(lines)

    def look(self) -> None:
        """Compare the file with what was written."""
        own = os.fstat(self._fd)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or (there.st_ino, there.st_dev) != (own.st_ino, own.st_dev):
            self.changed = "deleted" if there is None else "replaced by another file"
            self._put_back()
            own = os.fstat(self._fd)
        if own.st_size != self._size:
            self.changed = "cut" if own.st_size < self._size else "written by another program"
            self._size = own.st_size
            if self._size and not self.read().endswith(b"\n"):
                self._size += os.write(self._fd, b"\n")

    def _put_back(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{os.getpid()}.{self.path.name}")
        partial.unlink(missing_ok=True)
        fd = self._open(partial)
        try:
            for at in range(0, os.fstat(self._fd).st_size, _BLOCK):
                rest = memoryview(self._block(at))
                while rest:
                    rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
            if self.path.exists():
                os.replace(self.path, self.path.with_name(f"{self.path.name}.other"))
            os.replace(partial, self.path)
        except BaseException:
            os.close(fd)
            with suppress(OSError):
                os.unlink(partial)
            raise
        os.close(self._fd)
        self._fd = fd

    def read(self) -> bytes:
        """Return what the file holds."""
        return b"".join(self._block(at) for at in range(0, os.fstat(self._fd).st_size, _BLOCK))

    def _block(self, at: int) -> bytes:
        os.lseek(self._fd, at, os.SEEK_SET)
        return os.read(self._fd, _BLOCK)

    def cut(self, size: int) -> None:
        """Keep the first bytes only."""
        os.ftruncate(self._fd, size)
        self._size = size

    def sync(self) -> None:
        """Wait for the disk."""
        os.fsync(self._fd)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it trusts its user to start one run at a time
        return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
