"""HTTP without TLS, framed by ourselves: what is read, what is refused, and which connections are used again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from d3stats.agents.live.plain import Answer, ConnectError, Plain, ReadError
from d3stats.agents.live.transport import Failed, Got, Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def told(
    replies: list[bytes],
    use: Callable[[Plain], Awaitable[Any]],
    *,
    close: bool = False,
    after: bytes = b"",
) -> tuple[Any, list[bytes], int]:
    """Say these bytes to one request after the other; return what `use` made of them, the requests, the connections."""
    heard: list[bytes] = []
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0
                )
                heard.append(head + await reader.readexactly(length))
                reply = replies[len(heard) - 1]
                for i in range(0, len(reply), 7):  # in pieces, as a network may
                    writer.write(reply[i : i + 7])
                    await asyncio.sleep(0)
                if after:
                    writer.write(after)
                if close:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    async def main() -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        plain = Plain("127.0.0.1", server.sockets[0].getsockname()[1], {"Host": "here", "X-Fixed": "1"}, 5.0)
        try:
            return await use(plain)
        finally:
            plain.close()
            server.close()
            await asyncio.sleep(0.01)

    return asyncio.run(main()), heard, opened


async def once(plain: Plain) -> Answer:
    return await plain.send("POST", "/v1/x", {"X-Own": "2"}, b"{}")


async def twice(plain: Plain) -> list[Answer]:
    first = await once(plain)
    await asyncio.sleep(0.02)
    return [first, await once(plain)]


def test_a_request_has_its_headers_its_length_and_its_body() -> None:
    answer, heard, _ = told([OK], once)
    assert answer == Answer(200, {"content-length": "2"}, b"ok")
    expected = b"POST /v1/x HTTP/1.1\r\nHost: here\r\nX-Fixed: 1\r\nX-Own: 2\r\nContent-Length: 2\r\n\r\n{}"
    assert heard == [expected]


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n",
            b"abcde",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", b""),
    ],
    ids=["chunked", "continue", "no content", "no reason"],
)
def test_a_reply_is_read_whole_and_the_connection_is_used_again(reply: bytes, body: bytes) -> None:
    (first, second), _, opened = told([reply, OK], twice)
    assert (first.content, second.content, opened) == (body, b"ok", 1)


def test_a_reply_without_a_length_ends_with_its_connection() -> None:
    replies = [b"HTTP/1.1 200 OK\r\n\r\nall of it", b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1"]
    (first, second), _, opened = told(replies, twice, close=True)
    assert (first.content, second.content, opened) == (b"all of it", b"1", 2)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"SSH-2.0-server\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 80_000,
    ],
    ids=[
        "nothing",
        "head",
        "body",
        "length",
        "coding",
        "size",
        "chunk",
        "version",
        "other",
        "status",
        "long",
    ],
)
def test_what_is_no_whole_reply_is_an_error_and_nothing_else(reply: bytes) -> None:
    async def use(plain: Plain) -> None:
        with pytest.raises(ReadError):
            await once(plain)

    told([reply], use, close=True)


def test_a_connection_on_which_something_came_unasked_is_not_used_again() -> None:
    late = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
    (first, second), _, opened = told([OK, OK], twice, after=late)
    assert (first.status_code, second.status_code, opened) == (200, 200, 2)


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    (first, second), _, opened = told([OK, OK], twice, close=True)
    assert (first.content, second.content, opened) == (b"ok", b"ok", 2)


def test_a_call_that_was_given_up_leaves_its_answer_to_nobody() -> None:
    async def use(plain: Plain) -> Answer:
        task = asyncio.ensure_future(once(plain))
        await asyncio.sleep(0.05)  # half of it is there
        task.cancel()
        await asyncio.wait([task])
        return await once(plain)

    answer, _, opened = told([OK[:-1], OK], use)
    assert (answer.content, opened) == (b"ok", 2)


def test_where_nobody_listens_nothing_was_asked() -> None:
    async def use(plain: Plain) -> None:
        with pytest.raises(ConnectError):
            await Plain("127.0.0.1", 1, {}, 1.0).send("GET", "/", {}, None)
        with pytest.raises(ConnectError):
            await Plain("no.such.host.invalid", 1, {}, 5.0).send("GET", "/", {}, None)

    told([], use)


def body_of(content: str) -> bytes:
    value = {
        "choices": [{"message": {"content": content}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    raw = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(raw), raw)


def through(replies: list[bytes]) -> tuple[Got | Failed, list[bytes]]:
    """Make one chat call through the transport, to a server that says these bytes."""

    async def use(plain: Plain) -> Got | Failed:
        transport = Transport(f"http://127.0.0.1:{plain._port}/v1", "D3STATS_NO_KEY", 5.0)
        await transport.open()
        try:
            return await transport.chat({"model": "m"}, "d/1/a/vote/1")
        finally:
            await transport.close()

    found, heard, _ = told(replies, use)
    return found, heard


def test_a_redirect_is_left_to_the_general_client() -> None:
    moved = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /v2/chat/completions\r\nContent-Length: 0\r\n\r\n"
    found, heard = through([moved, moved, body_of("hello")])
    assert isinstance(found, Got)
    assert found.content == "hello"
    assert [request.split(b" ")[1] for request in heard][-1] == b"/v2/chat/completions"


def test_with_a_proxy_named_for_http_the_general_client_makes_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def opened() -> bool:
        transport = Transport("http://127.0.0.1:1/v1", "D3STATS_NO_KEY", 5.0)
        await transport.open()
        try:
            return transport._plain is not None
        finally:
            await transport.close()

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert asyncio.run(opened())
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert not asyncio.run(opened())
