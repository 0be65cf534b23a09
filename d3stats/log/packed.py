"""Limits on what a packed file may hold: a small file of gigabytes is refused before it fills the memory."""

from __future__ import annotations

import gzip
from typing import IO, TYPE_CHECKING, Any

from d3stats._words import Advised

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LEAST", "TIMES", "TooLarge", "Unpacking", "gunzipped", "refuse_larger"]


class TooLarge(ValueError):
    """A packed file holds far more than its size lets expect."""


TIMES = 50
"""A file may unpack to so many times its own size. Logs of votes pack to a tenth, the most regular to a fortieth."""

LEAST = 100 << 20
"""Bytes to which any file may unpack."""


def refuse_larger(
    name: str, packed: int, parts: Iterable[int], *, least: int | None = None, step: str
) -> None:
    """Raise where the parts of a packed file together unpack to more than it may.

    Raises
    ------
    TooLarge
        Names the file, the limit and what to do.
    """
    most, total = max(LEAST if least is None else least, TIMES * packed), 0
    for part in parts:
        total += part
        if total > most:
            raise TooLarge(_refusal(name, packed, most, step))


def _refusal(name: str, packed: int, most: int, step: str) -> str:
    limit = f"{name} must unpack to at most {most >> 20:,} MB, which is {TIMES} times its size or what any file may"
    return Advised(limit, step, got=f"more from {packed:,} bytes")


class Unpacking(gzip.GzipFile):
    """A gzipped file that refuses to unpack to more than it may.

    Parameters
    ----------
    raw : file
        The packed bytes.
    name : str
        The name of the file in the error.
    packed : int
        Its size in bytes.
    """

    def __init__(self, raw: IO[bytes], name: str, packed: int) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self.myfileobj = raw  # type: ignore[assignment]  # closed with it
        self._said, self._packed = name, packed
        self._most = max(LEAST, TIMES * packed)

    def _within(self, data: bytes) -> bytes:
        if self.tell() > self._most:
            step = "unpack it yourself if that is what it should hold"
            raise TooLarge(_refusal(self._said, self._packed, self._most, step))
        return data

    def _room(self, size: int | None) -> int:
        room = self._most - self.tell() + 1
        return room if size is None or size < 0 else min(size, room)

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes, at most one more than may be."""
        return self._within(super().read(self._room(size)))

    def read1(self, size: int = -1) -> bytes:
        """Return the bytes that are ready."""
        return self._within(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Return a line."""
        return self._within(super().readline(self._room(size)))

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer."""
        n = super().readinto(buffer)
        self._within(b"")
        return n


def gunzipped(content: bytes, name: str) -> bytes:
    """Return the content of a gzipped file that was read whole.

    Raises
    ------
    TooLarge
        When it unpacks to more than it may.
    """
    from io import BytesIO

    with Unpacking(BytesIO(content), name, len(content)) as file:
        return file.read()
