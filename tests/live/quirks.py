"""Dialects and faults of servers that speak the OpenAI chat protocol in their own way.

The dialect is the first part of the path (``http://127.0.0.1:PORT/DIALECT/v1``). A reply fills the schema that it was
asked for with the first choice of everything; in text mode it ends with the line that was asked for.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Value = dict[str, Any]


def filled(schema: Body) -> Any:
    """Return the first value that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: filled(part) for name, part in schema["properties"].items()}
    if kind == "array":
        return [filled(schema["items"])] * schema.get("minItems", 1)
    return schema.get("minimum", 5) if kind in ("number", "integer") else "because of what was said"


def said(body: Body) -> str:
    """Return what the model says."""
    text = "\n".join(message["content"] for message in body["messages"])
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        return json.dumps(filled(form["json_schema"]["schema"]))
    schema = re.search(r"^JSON schema: (\{.*\})$", text, re.M)
    nonce = re.search(r"begins with the word ([0-9a-z]+)", text)
    line = json.dumps(filled(json.loads(schema[1]) if schema else {"type": "object", "properties": {}}))
    return f"Well.\n{nonce[1]} {line}" if nonce else line


def bytes_in(body: Body) -> int:
    return sum(len(message["content"].encode()) for message in body["messages"])


def refusal(body: Body, words: str) -> Value:
    return {"error": {"message": words, "type": "invalid_request_error"}}


def _limit(body: Body) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


REFUSED: dict[str, tuple[int, Callable[[Body], bool], str]] = {
    "toolarge": (
        400,
        lambda body: _limit(body) > 150,
        "max_tokens is too large: 900. This model supports at most 150 completion tokens, whereas you provided 900.",
    ),
    "range": (
        400,
        lambda body: _limit(body) > 150,
        "Invalid max_tokens value, the valid range of max_tokens is [1, 150]",
    ),
    "maxtok": (
        400,
        lambda body: "max_tokens" in body,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "sysrole": (400, lambda body: body["messages"][0]["role"] == "system", "System role not supported"),
    "alternate": (
        500,
        lambda body: body["messages"][0]["role"] == "system",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ),
    "developer": (
        400,
        lambda body: body["messages"][0]["role"] == "system",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
    ),
    "nolengths": (
        400,
        lambda body: "maxLength" in json.dumps(body.get("response_format", "")),
        "Invalid schema for response_format 'reply': In context=('properties', 'text'), 'maxLength' is not permitted.",
    ),
    "temp": (
        400,
        lambda body: "temperature" in body,
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) is supported.",
    ),
    "room": (
        400,
        lambda body: bytes_in(body) // 4 + _limit(body) > bytes_in(body) // 4 + 120,
        "This model's maximum context length is 1120 tokens and your request has 1000 input tokens "
        "(1300 > 1120 - 1000).",
    ),
}
"""What a dialect refuses: status, when, and in which words."""

AROUND: dict[str, Callable[[str], str]] = {
    "fence": lambda text: f"```\n{text}\n```",
    "fencejson": lambda text: f"```json\n{text}\n```",
    "noopen": lambda text: f"well I think\n</think>\n\n{text}",
    "think": lambda text: f"<think>well</think>\n{text}",
    "thought": lambda text: f"<thought>well</thought>\n{text}",
    "thinking": lambda text: f"<thinking>well</thinking>\n{text}",
    "harmony": lambda text: (
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{text}"
    ),
}
"""What a dialect puts around a reply."""

PARTS: dict[str, Callable[[str], list[Value]]] = {
    "parts1": lambda text: [{"type": "text", "text": text}],
    "parts": lambda text: [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": text[:5]},
        {"type": "text", "text": text[5:]},
    ],
}

LISTED = {
    "gemini": ["models/m", "models/other"],
    "hf": ["org/m"],
    "wild": ["openai/*"],
}


class _Quirk(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    @property
    def owner(self) -> Quirks:
        server = self.server
        assert isinstance(server, _Server)
        return server.owner

    def _send(self, status: int, body: Any, *headers: tuple[str, str]) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        names = LISTED.get(self.path.split("/")[1], ["m"])
        self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def do_POST(self) -> None:
        mode = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner.calls.append((mode, body))
        if mode == "redirect":
            return self._send(307, b"", ("Location", "/ok/v1/chat/completions"))
        if mode == "elsewhere":
            return self._send(307, b"", ("Location", self.owner.elsewhere))
        if mode == "gzip":
            return self._send(200, b"this is no gzip", ("Content-Encoding", "gzip"))
        if mode == "half":
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b'{"choices": [')
            return None
        if mode in REFUSED and REFUSED[mode][1](body):
            status, _, words = REFUSED[mode]
            return self._send(status, refusal(body, words))
        text = said(body)
        text = AROUND.get(mode, str)(text)
        if mode == "huge":
            text = "no object " * 500_000
        content: Any = PARTS[mode](text) if mode in PARTS else text
        # Four bytes are a token of this model, of the prompt and of the reply.
        self.owner.real += (bytes_in(body) + 3) // 4 + (len(text) + 3) // 4
        usage: Any = {"prompt_tokens": (bytes_in(body) + 3) // 4, "completion_tokens": (len(text) + 3) // 4}
        usage["total_tokens"] = sum(usage.values())
        usage = self.owner.usage(usage) if self.owner.usage is not None else usage
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return self._send(200, {"id": "x", "model": "m", "choices": [choice], "usage": usage})


class _Server(ThreadingHTTPServer):
    owner: Quirks
    daemon_threads = True


class Quirks:
    """A server of all dialects on a free port of the loopback address; use it as a context.

    Attributes
    ----------
    calls : list of (str, dict)
        Dialect and body of every call.
    usage : function of dict, optional
        Changes the usage that is reported.
    real : int
        Tokens of all prompts and replies.
    elsewhere : str
        Where the dialect "elsewhere" sends calls.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, Body]] = []
        self.usage: Callable[[Value], Any] | None = None
        self.real = 0
        self.elsewhere = "http://localhost:9/v1/chat/completions"

    def __enter__(self) -> Quirks:
        self._server = _Server(("127.0.0.1", 0), _Quirk)
        self._server.owner = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, mode: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{mode}/v1"
