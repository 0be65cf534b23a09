"""HTTP/1.1 without TLS to one server, straight over the event loop's sockets.

A server of one's own answers within milliseconds, and a general client takes two of them for each call. This one
frames requests and replies and keeps connections open, and does nothing else: what is not plain (TLS, a proxy, a
redirect) is left to the general one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Answer", "ConnectError", "ConnectTimeout", "Plain", "ReadError"]

IDLE = 5.0
"""Seconds after which an unused connection is not trusted any more."""

HEAD = 1 << 16
"""Bytes that the head of a reply may have."""


class ConnectError(ConnectionError):
    """No connection could be had: nothing was asked."""


class ConnectTimeout(TimeoutError):
    """No connection opened in time: nothing was asked."""


class ReadError(ConnectionError):
    """A connection ended, or what came over it is not HTTP."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as it came; names of headers in lower case."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Plain:
    """Connections to one server.

    Parameters
    ----------
    host : str
    port : int
    headers : mapping
        Sent with every request.
    connect : float
        Seconds that a connection may take to open.
    """

    def __init__(self, host: str, port: int, headers: Mapping[str, str], connect: float) -> None:
        self._host, self._port, self._connect = host, port, connect
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._idle: list[tuple[_Connection, float]] = []

    async def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """Make one request.

        Raises
        ------
        ConnectError
            When there is no connection.
        ConnectTimeout
            When none opened in time.
        ReadError
            When the connection ends before the reply does.
        """
        connection = self._kept() or await self._open()
        keep = False
        try:
            own = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            length = "" if body is None else f"Content-Length: {len(body)}\r\n"
            connection.write(
                f"{method} {target} HTTP/1.1\r\n{self._head}{own}{length}\r\n".encode("ascii") + (body or b"")
            )
            answer, keep = await _read(connection)
        finally:
            # What was given up half-way may still be answered, and the next one must not get that answer.
            if keep:
                self._idle.append((connection, asyncio.get_running_loop().time()))
            else:
                connection.abort()
        return answer

    def close(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            self._idle.pop()[0].abort()

    def _kept(self) -> _Connection | None:
        oldest = asyncio.get_running_loop().time() - IDLE
        while self._idle:
            connection, since = self._idle.pop()
            # A server that says something unasked (a time-out) is about to close.
            if since >= oldest and connection.silent:
                return connection
            connection.abort()
        return None

    async def _open(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect):
                _, connection = await loop.create_connection(
                    _Connection, self._host, self._port, happy_eyeballs_delay=0.25
                )
        except TimeoutError:
            raise ConnectTimeout from None
        except (OSError, UnicodeError) as error:
            raise ConnectError(type(error).__name__) from None
        return connection


class _Connection(asyncio.Protocol):
    """One connection, read by one reader at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._ended = self._failed = False
        self._news: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._failed = True, self._failed or exc is not None
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    @property
    def silent(self) -> bool:
        """Whether it is open and nothing has come that was not read."""
        return not self._ended and not self._buffer

    def write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self) -> None:
        if self._ended:
            raise ReadError("the connection ended before the reply did")
        self._news = asyncio.get_running_loop().create_future()
        try:
            await self._news
        finally:
            self._news = None

    async def until(self, mark: bytes) -> bytes:
        """Read up to a mark, which is read too and left out."""
        seen = 0
        while (at := self._buffer.find(mark, max(0, seen - len(mark) + 1))) < 0:
            seen = len(self._buffer)
            if seen > HEAD:
                raise ReadError("a line or a head of the reply is too long")
            await self._wait()
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return found

    async def exactly(self, count: int) -> bytes:
        """Read so many bytes."""
        while len(self._buffer) < count:
            await self._wait()
        found = bytes(self._buffer[:count])
        del self._buffer[:count]
        return found

    async def rest(self) -> bytes:
        """Read up to the orderly end of the connection."""
        while not self._ended:
            await self._wait()
        if self._failed:
            raise ReadError("the connection was reset")
        return bytes(self._buffer)


async def _read(connection: _Connection) -> tuple[Answer, bool]:
    """Read a reply, and say whether the connection can be used again."""
    status = 100
    while status < 200:  # what only says that an answer will come
        version, status, headers = _head(await connection.until(b"\r\n\r\n"))
    keep = version == "HTTP/1.1" and "close" not in headers.get("connection", "").lower()
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if status in (204, 304):
        body = b""
    elif coding is not None:
        if coding.lower() != "chunked":
            raise ReadError("the reply has a transfer encoding that was not asked for")
        body = await _chunks(connection)
    elif length is not None:
        if not (length.isascii() and length.isdigit()):
            raise ReadError("the reply has no readable length")
        body = await connection.exactly(int(length))
    else:
        body, keep = await connection.rest(), False
    return Answer(status, headers, body), keep


def _head(raw: bytes) -> tuple[str, int, dict[str, str]]:
    first, *lines = raw.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if (
        version not in ("HTTP/1.1", "HTTP/1.0")
        or not (status.isascii() and status.isdigit())
        or rest[3:4].strip()
    ):
        raise ReadError("the reply is not HTTP/1.1")
    named = (line.partition(":") for line in lines)
    return version, int(status), {name.strip().lower(): value.strip() for name, _, value in named}


async def _chunks(connection: _Connection) -> bytes:
    parts = []
    while True:
        size = (await connection.until(b"\r\n")).partition(b";")[0].strip()
        try:
            count = int(size, 16)
        except ValueError:
            raise ReadError("a chunk of the reply has no readable size") from None
        if count <= 0:
            break
        parts.append(await connection.exactly(count))
        if await connection.exactly(2) != b"\r\n":
            raise ReadError("a chunk of the reply is longer than it says")
    while await connection.until(b"\r\n"):  # trailers
        pass
    return b"".join(parts)
