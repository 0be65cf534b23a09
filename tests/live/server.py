"""A scripted server that speaks the OpenAI chat protocol over real sockets, for tests.

In a test::

    from server import Fault, Server, at_random       # tests/live is on the path of its tests

    def test_something(server):                       # fixture of tests/live/conftest.py
        server.script = lambda asked: '{"text": "..."}'   # what the model says; default `play`
        server.faults = at_random(0.2, seed=1)            # what goes wrong; default nothing
        agent = LiveAgent("scripted", server.url)
        ...
        server.calls            # list of Call: every chat call, in the order of arrival
        server.count()          # sums: calls, tokens of what may have been charged, most at once, ...

As a process of its own (kill tests)::

    python tests/live/server.py --port-file F [--latency 0.02] [--fault-share 0.2] [--fault-seed 1] [--slow-s 5]
        [--no-json-schema] [--key KEY] [--models a,b] [--bodies] [--loading N] [--window N] [--port N]

It writes ``PORT\\n`` to F when it listens and runs until it is terminated. ``GET /_count`` gives `count()` as JSON,
``GET /_calls`` the list of calls (without bodies unless ``--bodies``), ``POST /_reset`` forgets them.

What a script gets is an :class:`Asked`. The adapter sends ``X-Client-Request-Id: DEBATE/ROUND/AGENT/ACT/ATTEMPT``
(each percent-encoded), so ``asked.debate``, ``.round``, ``.agent``, ``.act``, ``.attempt`` are known, and
``asked.key`` is the first four, the same for every attempt and every resumed run. ``asked.sections`` are the fenced
texts of the prompt. A script returns the content as a string, or a :class:`Say` with content, refusal and
finish_reason. `play`, the default, fills whatever schema it is shown from a hash of the key and the prompt: the same
request always gets the same reply. It knows the slot's schema in schema mode and in text mode alike
(``asked.schema``), and `wrap(asked, obj)` writes an object in the form that the mode wants.

A fault plan is a function of an Asked that returns None or a :class:`Fault`; `at_random(share, kinds, seed)` decides by
a hash of key and attempt, so the plan does not depend on the order of calls. Kinds: ``rate_limited`` (429, Retry-After
of `seconds`), ``server_error`` (500), ``slow`` (waits `seconds`, then answers), ``reset`` (the connection is reset),
``half_body``, ``bad_json`` (the body is not JSON), ``wrong_schema``, ``not_json`` (the content is prose),
``empty_choices``, ``empty_content``, ``no_usage``, ``refusal``, ``length``; and those of ``scripted.SAID``, which
`at_random` draws only when they are named.

Tokens: one per four bytes, three more per message, none for the schema; of the prompt, and of the content. `charged`
of a Call says whether a real server might charge it (a reply was made, whether or not it arrived).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripted import (
    KINDS,
    LOADING,
    MADE,
    OBJECT_ONLY,
    SAID,
    WINDOW_FULL,
    Asked,
    Fault,
    Faults,
    Say,
    Script,
    at_random,
    fill,
    play,
    text_of,
    tokens,
    wrap,
)

__all__ = [
    "KINDS",
    "Asked",
    "Call",
    "Fault",
    "Faults",
    "Say",
    "Script",
    "Server",
    "at_random",
    "fill",
    "play",
    "tokens",
    "wrap",
]


@dataclass
class Call:
    """One chat call as the server saw it."""

    number: int
    key: str
    attempt: int
    status: int = 0
    fault: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    charged: bool = False
    told: bool = False
    began: float = 0.0
    ended: float = 0.0
    body: Any = None
    headers: Any = None


@dataclass
class Server:
    """The server, on a port of 127.0.0.1, in a thread of its own.

    Parameters
    ----------
    script, faults : callable
        May be replaced between calls.
    latency_s : float
        From a request to its reply.
    style : {"openai", "vllm"}, optional
        Whose metadata a reply has.
    cached : int, optional
        Cached prompt tokens of each call.
    json_schema : bool
        Whether structured output is supported; if not, a request for it gets a 400 that says so.
    ignores_schema : bool
        Take a request for structured output and answer in prose all the same.
    object_only : bool
        Refuse a JSON schema with 500, as llama-cpp-python does, and take the type ``json_object`` with a schema.
    plain_object_only : bool
        Refuse a JSON schema, and one beside the type ``json_object``, as some hosted services do; take the bare type.
    ignores_object : bool
        Take the type ``json_object`` and answer with an object of another shape.
    lacks : tuple of str
        Fields of the body that the server answers with a 400.
    loading : int
        So many requests, of any kind, are answered with 503 "Loading model" first.
    window : int or None
        Tokens of prompt and reply that fit: a longer prompt is a 400 in llama.cpp's words, a longer reply is cut off.
    per_token : float or None
        Characters per token of its tokeniser; None without one.
    tells_window : bool
        Whether ``GET /models`` tells it, as llama.cpp does.
    key : str or None
        The key that it wants; None takes all and none.
    models : tuple of str
        What ``GET /models`` lists; a chat with another is a 404.
    listing : object
        What ``GET /models`` says instead.
    keep_bodies : bool
    """

    script: Script = play
    faults: Faults | None = None
    latency_s: float = 0.0
    cached: int | None = None
    style: str | None = None
    json_schema: bool = True
    ignores_schema: bool = False
    object_only: bool = False
    ignores_object: bool = False
    plain_object_only: bool = False
    lacks: tuple[str, ...] = ()
    loading: int = 0
    window: int | None = None
    tells_window: bool = True
    per_token: float | None = None
    key: str | None = None
    models: tuple[str, ...] = field(default=("scripted",), repr=False)
    listing: Any = None
    keep_bodies: bool = True
    calls: list[Call] = field(default_factory=list, repr=False)
    listings: int = 0
    at_once: int = 0
    most_at_once: int = 0
    connections: int = 0
    errors: list[str] = field(default_factory=list)
    port: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Server:
        ready = threading.Event()

        def run() -> None:
            asyncio.run(self._main(ready.set))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        if not ready.wait(10):
            raise RuntimeError("the scripted server did not start")
        return self

    def stop(self) -> None:
        """Stop listening and drop all connections; the port then refuses."""
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(10)

    async def _main(self, ready: Callable[[], None]) -> None:
        self._loop, self._stopped, self._open = asyncio.get_running_loop(), asyncio.Event(), set()
        listener = await self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024
        )
        self.port = listener.sockets[0].getsockname()[1]
        ready()
        await self._stopped.wait()
        listener.close()
        for transport in list(self._open):
            transport.abort()
        await asyncio.sleep(0)

    def reset(self) -> None:
        """Forget all calls."""
        self.calls, self.errors, self.listings, self.most_at_once = [], [], 0, self.at_once

    def count(self) -> dict[str, Any]:
        """Return sums over the calls so far.

        ``tokens_in``, ``tokens_out``: of every call that may be charged; ``told_in``, ``told_out``: of those whose
        usage arrived at the client; ``keys``: how often each key was charged.
        """
        charged = [call for call in self.calls if call.charged]
        told = [call for call in charged if call.told]
        keys: dict[str, int] = {}
        for call in charged:
            keys[call.key] = keys.get(call.key, 0) + 1
        faults: dict[str, int] = {}
        for call in self.calls:
            if call.fault:
                faults[call.fault] = faults.get(call.fault, 0) + 1
        return {
            "calls": len(self.calls),
            "charged": len(charged),
            "tokens_in": sum(call.tokens_in for call in charged),
            "tokens_out": sum(call.tokens_out for call in charged),
            "told_in": sum(call.tokens_in for call in told),
            "told_out": sum(call.tokens_out for call in told),
            "most_at_once": self.most_at_once,
            "listings": self.listings,
            "faults": faults,
            "keys": keys,
            "errors": self.errors,
        }


_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class _Connection(asyncio.Protocol):
    """One keep-alive connection: requests in, replies out, one at a time."""

    def __init__(self, server: Server) -> None:
        self.server, self.buffer = server, bytearray()
        self.busy = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server._open.add(transport)
        self.server.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.server._open.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._next()

    def _next(self) -> None:
        if self.busy:
            return
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *rest = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        length = int(headers.get("content-length", 0))
        if len(self.buffer) < end + 4 + length:
            return
        body = bytes(self.buffer[end + 4 : end + 4 + length])
        del self.buffer[: end + 4 + length]
        self.busy = True
        method, target, _ = first.split(" ", 2)
        try:
            self._route(method, target.partition("?")[0].rstrip("/"), headers, body)
        except Exception as error:
            self.server.errors.append(f"{type(error).__name__}: {error}")
            self._send(500, {"error": {"message": f"the script failed: {type(error).__name__}: {error}"}})

    def _route(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        server = self.server
        if path == "/_count":
            return self._send(200, server.count())
        if path == "/_calls":
            return self._send(200, [asdict(call) for call in server.calls])
        if path == "/_reset":
            server.reset()
            return self._send(200, {})
        given = headers.get("authorization", "")
        if server.key is not None and given != f"Bearer {server.key}":
            # Like some real servers, it repeats the key that it refuses.
            return self._fail(
                401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.", "invalid_api_key"
            )
        if server.loading > 0:
            server.loading -= 1
            return self._send(503, LOADING)
        if path == "/tokenize" and server.per_token is not None:
            count = round(len(json.loads(body)["content"]) / server.per_token)
            return self._send(200, {"tokens": [0] * count})
        if path == "/v1/models":
            server.listings += 1
            if server.listing is not None:
                return self._send(200, server.listing)
            listed = [
                {"id": name, "object": "model", "created": 0, "owned_by": "t"} for name in server.models
            ]
            if server.window is not None and server.tells_window:
                listed = [
                    entry | {"meta": {"n_ctx": server.window, "n_ctx_train": 131072}} for entry in listed
                ]
            return self._send(200, {"object": "list", "data": listed})
        if method == "POST" and path == "/v1/chat/completions":
            return self._chat(Asked(json.loads(body), headers, len(server.calls) + 1))
        return self._fail(404, f"no such path: {path}")

    def _chat(self, asked: Asked) -> None:
        server = self.server
        call = Call(asked.number, asked.key, asked.attempt, began=time.monotonic())
        if server.keep_bodies:
            call.body, call.headers = asked.body, asked.headers
        server.calls.append(call)
        server.at_once += 1
        server.most_at_once = max(server.most_at_once, server.at_once)
        if asked.body["model"] not in server.models:
            return self._fail(
                404, f"The model `{asked.body['model']}` does not exist", "model_not_found", call
            )
        for name in server.lacks:
            if name in asked.body:
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                return self._fail(400, text, "unsupported_parameter", call, name)
        if "response_format" in asked.body and not server.json_schema:
            text = "response_format is not supported with this model"
            return self._fail(400, text, None, call, "response_format")
        if server.object_only and asked.body.get("response_format", {}).get("type") == "json_schema":
            return self._fail(500, OBJECT_ONLY, None, call)
        form = asked.body.get("response_format")
        if server.plain_object_only and form is not None and form != {"type": "json_object"}:
            if form["type"] == "json_schema":
                return self._fail(400, "This response_format type is unavailable now", None, call)
            return self._fail(400, "Unknown parameter: 'response_format.schema'.", None, call)
        fault = server.faults(asked) if server.faults is not None else None
        kind = None if fault is None else fault.kind
        call.fault = kind
        wait = server.latency_s + (fault.seconds if fault is not None and kind == "slow" else 0.0)
        if fault is not None and kind in ("rate_limited", "server_error"):
            status = 429 if kind == "rate_limited" else 500
            extra = f"Retry-After: {fault.seconds:g}\r\n" if kind == "rate_limited" else ""
            return self._later(
                wait, call, lambda: self._fail(status, f"scripted {kind}", kind, call, None, extra)
            )
        if server.window is not None and prompt_tokens(asked) >= server.window:
            return self._later(
                wait, call, lambda: self._fail(400, WINDOW_FULL, "exceed_context_size_error", call)
            )
        reply = self._reply(asked, call, kind)
        if kind in SAID:
            status, value = SAID[kind]
            call.charged, call.told = kind in MADE, False
            return self._later(wait, call, lambda: self._send(status, value, call))
        return self._later(wait, call, lambda: self._finish(reply, call, kind))

    def _reply(self, asked: Asked, call: Call, kind: str | None) -> bytes:
        said = self.server.script(asked)
        say = said if isinstance(said, Say) else Say(said)
        content, refusal, finish = say.content, say.refusal, say.finish_reason
        if self.server.ignores_schema and not asked.text_mode:
            content = "Here is what I think: both are fine."
        if kind == "wrong_schema":
            content = wrap(asked, {"verdict": "1", "points": [10, 3]})
        elif kind == "not_json":
            content = "I prefer answer 1. (9, 3)"
        elif kind == "empty_content":
            content = ""
        elif kind == "refusal":
            content, refusal = None, "I cannot help with that."
        elif kind == "length":
            content, finish = (content or "")[: len(content or "") // 2], "length"
        if self.server.ignores_object and asked.body.get("response_format", {}).get("type") == "json_object":
            content = '{"answer": "the first one"}'
        call.tokens_in = prompt_tokens(asked)
        if self.server.window is not None:
            room = self.server.window - call.tokens_in
            if tokens(content or "") > room:
                content, finish = (content or "")[: 4 * room], "length"
        call.tokens_out = tokens(content or refusal or "")
        call.charged = True
        message = {"role": "assistant", "content": content, "refusal": refusal}
        value: dict[str, Any] = {
            "id": f"chat-{call.number}",
            "object": "chat.completion",
            "created": 0,
            "model": say.model or asked.body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        }
        if self.server.style == "openai":
            value |= {"system_fingerprint": "fp_44709d6fcb", "service_tier": "default"}
        elif self.server.style == "vllm":
            value |= {"system_fingerprint": None, "service_tier": None, "prompt_logprobs": None}
            value["choices"][0] |= {"stop_reason": None, "token_ids": None}
            message |= {"reasoning_content": None, "tool_calls": []}
        if kind == "empty_choices":
            value["choices"] = []
        if kind != "no_usage":
            used = {"prompt_tokens": call.tokens_in, "completion_tokens": call.tokens_out}
            value["usage"] = used | {"total_tokens": call.tokens_in + call.tokens_out}
            if self.server.cached is not None:
                value["usage"]["prompt_tokens_details"] = {"cached_tokens": self.server.cached}
            if self.server.style == "openai":
                value["usage"]["completion_tokens_details"] = {"reasoning_tokens": 2, "audio_tokens": 0}
            call.told = kind not in ("reset", "half_body", "bad_json")
        return json.dumps(value).encode()

    def _later(self, wait: float, call: Call, act: Callable[[], None]) -> None:
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, act)
        else:
            act()

    def _finish(self, reply: bytes, call: Call, kind: str | None) -> None:
        if kind == "reset":
            self._done(call, 0)
            sock = self.transport.get_extra_info("socket")
            # No lingering: the peer gets a reset, not an orderly end.
            sock.setsockopt(1, 13, struct.pack("ii", 1, 0))
            self.transport.abort()
            return
        if kind == "half_body":
            self._done(call, 200)
            head = (
                f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(reply)}\r\n\r\n"
            )
            self.transport.write(head.encode() + reply[: len(reply) // 2])
            self.transport.close()
            return
        if kind == "bad_json":
            reply = b'{"id": "chat", "choices": [{"message": {"content": ' + b"oops"
        if self.transport.is_closing():
            # The client has gone (a time-out, a kill): it never saw the usage.
            call.told = False
        self._send(200, reply, call)

    def _fail(
        self,
        status: int,
        message: str,
        code: str | None = None,
        call: Call | None = None,
        param: str | None = None,
        extra: str = "",
    ) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        self._send(status, {"error": error}, call, extra)

    def _send(self, status: int, value: Any, call: Call | None = None, extra: str = "") -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\nContent-Type: application/json\r\n"
            f"{extra}Content-Length: {len(body)}\r\n\r\n"
        )
        self._done(call, status)
        if not self.transport.is_closing():
            self.transport.write(head.encode() + body)
        self.busy = False
        if self.buffer:
            self._next()

    def _done(self, call: Call | None, status: int) -> None:
        if call is not None:
            call.status, call.ended = status, time.monotonic()
            self.server.at_once -= 1


def prompt_tokens(asked: Asked) -> int:
    return sum(3 + tokens(text_of(message)) for message in asked.body["messages"])


def main() -> None:
    """Run as a process of its own."""
    parser = argparse.ArgumentParser(description="A scripted server that speaks the OpenAI chat protocol.")
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--fault-share", type=float, default=0.0)
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--fault-kinds", default=",".join(KINDS))
    parser.add_argument("--retry-after", type=float, default=0.0)
    parser.add_argument("--slow-s", type=float, default=5.0)
    parser.add_argument("--no-json-schema", action="store_true")
    parser.add_argument("--key")
    parser.add_argument("--models", default="scripted")
    parser.add_argument("--bodies", action="store_true")
    parser.add_argument("--loading", type=int, default=0)
    parser.add_argument("--window", type=int)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    server = Server(
        latency_s=given.latency,
        json_schema=not given.no_json_schema,
        key=given.key,
        models=tuple(given.models.split(",")),
        keep_bodies=given.bodies,
        loading=given.loading,
        window=given.window,
        port=given.port,
    )
    if given.fault_share > 0:
        kinds = given.fault_kinds.split(",")
        server.faults = at_random(
            given.fault_share, kinds, given.fault_seed, seconds=given.retry_after, slow_s=given.slow_s
        )

    def ready() -> None:
        aside = given.port_file.with_suffix(".tmp")
        aside.write_text(f"{server.port}\n")
        aside.replace(given.port_file)

    asyncio.run(server._main(ready))


if __name__ == "__main__":
    main()
