"""One call over the wire: what came back, or why nothing did. The only file that imports ``openai``.

The client of ``openai`` says where a call goes and with which headers (key, organisation, project) and owns the
connections; the call itself goes straight to them, because its layers in between cost as much time as the rest.
Errors are turned into values here and go no further: they hold the request with its headers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from d3stats._words import visible
from d3stats.agent import Refused
from d3stats.run.live.limits import seconds_asked

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Failed", "Got", "Transport", "checked_url", "where"]

HOSTED = "https://api.openai.com/v1"

SECRET = 8
"""What has fewer characters is not taken for a secret."""

BEHIND = (502, 504, 520, 524)
"""What a gateway says when it passed a call on and then got no answer; the model may have made one."""

WINDOW_FULL = re.compile(
    r"context[ _]?(size|window|length)|exceed\w*[ _]context|maximum context|prompt is too long|too many tokens",
    re.I,
)
"""How servers say that a prompt and its reply do not fit into the model's context window."""

WINDOWS = (
    "n_ctx",
    "max_model_len",
    "loaded_context_length",
    "context_window",
    "context_length",
    "max_context_length",
)
"""What llama.cpp, vLLM, LM Studio, Groq, OpenRouter and Mistral call the context window in their lists of models."""

Cost = Literal["none", "unknown"]
"""Whether a failed attempt may have been charged."""


@dataclass(frozen=True, slots=True)
class Got:
    """A reply of the server, of the right form; `content` None where there was none.

    Tokens are None where the server did not say.
    """

    content: str | None
    refusal: str | None
    finish: str | None
    tokens_in: int | None
    tokens_out: int | None
    model: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt without a reply.

    Attributes
    ----------
    error : str
        ``"timeout"``, ``"connection"``, ``"unreachable"``, ``"loading"``, ``"rate_limited"``, ``"server_error"``,
        ``"bad_request"``, ``"context_full"``, ``"refused_content"``, ``"empty"``.
    cost : {"none", "unknown"}
    again : bool
        Whether another attempt may go better.
    wait : float or None
        Seconds that the server asks to wait.
    message : str
        The server's words, on one line, without the key.
    """

    error: str
    cost: Cost
    again: bool
    message: str = ""
    wait: float | None = None
    status: int | None = None


def where(base_url: str) -> str:
    """Return a URL without user, password, query and fragment, to be shown.

    Examples
    --------
    >>> where("https://me:secret@host:8000/v1?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{'' if parts.port is None else f':{parts.port}'}{parts.path}"


def checked_url(url: str) -> str:
    """Return the URL as it may be shown, after a look at it."""
    try:
        parts = urlsplit(url)
        shown = where(url)
    except ValueError:
        raise ValueError("base_url must be a URL; got one that cannot be read (not shown)") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must begin with http:// or https:// and name a host; got {shown!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            f"base_url must hold no user, no password and no query (a key belongs into the environment); "
            f"got more than {shown!r}"
        )
    return shown


class Transport:
    """Calls to one server; an asynchronous context manager.

    Parameters
    ----------
    base_url : str
    key_env : str
        The environment variable that holds the key, if there is one.
    timeout : float
        Seconds that one attempt may take in all.

    Raises
    ------
    Refused
        On entry, when the key in the environment cannot be one.
    """

    def __init__(self, base_url: str, key_env: str, timeout: float) -> None:
        self.base_url, self.key_env, self.timeout = base_url, key_env, timeout
        self._client: AsyncOpenAI | None = None
        self._http: Any = None
        self._headers: dict[str, str] = {}
        self._limits: Any = None
        self._key_sent: str | None = None
        self._sent: set[str] = set()

    async def open(self) -> None:
        """Make the client; opens no connection."""
        try:
            import httpx2
            import openai
        except ImportError:
            raise Refused(
                "a live agent needs openai >= 3; got none (pip install 'd3stats[live]', "
                "in a checkout '.[live]')"
            ) from None
        limits = httpx2.Timeout(self.timeout, connect=min(self.timeout, 10.0), pool=None)
        self._http = openai.DefaultAsyncHttpxClient(timeout=limits)
        # The environment may change during a run; what was sent stays secret.
        self._key_sent = self._key()
        if self._key_sent is not None:
            self._sent.add(self._key_sent)
        self._client = openai.AsyncOpenAI(
            api_key=self._key_sent or "none", base_url=self.base_url, max_retries=0, http_client=self._http
        )
        given = {**self._client.default_headers, **self._client.auth_headers}
        self._headers = {name: value for name, value in given.items() if isinstance(value, str)}
        self._limits = limits.as_dict()

    async def close(self) -> None:
        """Close all connections."""
        client, self._client, self._headers = self._client, None, {}
        if client is not None:
            await client.close()

    def _key(self) -> str | None:
        key = os.environ.get(self.key_env, "").strip()
        # A key with a blank or a line end would end up in an error message of the HTTP library.
        if not re.fullmatch(r"[!-~]*", key):
            del key  # A traceback may show what is at hand.
            raise Refused(
                f"the key in {self.key_env} must be printable ASCII without blanks; got something else (not shown)"
            )
        return key or None

    @property
    def has_key(self) -> bool:
        """Whether a key is sent; before the client is made, whether the environment holds one."""
        return (self._key() if self._client is None else self._key_sent) is not None

    async def chat(self, body: dict[str, Any], trace: str) -> Got | Failed:
        """Make one attempt at a chat call; never raises for what a server or a network does."""
        given = await self._call("POST", "chat/completions", body, trace)
        if isinstance(given, Failed):
            return given
        words = _no_reply(given)
        if words is not None:
            # It says itself that nothing was made.
            return Failed("server_error", "none", True, self.clean(words), None, 200)
        return _got(given, self.hide)

    async def models(self) -> dict[str, int | None] | Failed:
        """Return the models that the server lists, and the context window of each where it is told, in tokens."""
        given = await self._call("GET", "models", None, "")
        if isinstance(given, Failed):
            return given
        listed = given.get("data") if isinstance(given, dict) else None
        if listed is not None and not isinstance(listed, list):
            return Failed("server_error", "none", False, "a list of models that is no list")
        return {
            self.clean(str(entry["id"])): _window(entry)
            for entry in listed or []
            if isinstance(entry, dict) and "id" in entry
        }

    async def _call(self, method: str, path: str, body: dict[str, Any] | None, trace: str) -> Any:
        import httpx2

        if self._client is None:
            raise RuntimeError("a live agent must be entered (async with agent) before it is asked")
        error: Exception
        try:
            # In all, not between two bytes: a server that trickles would hold a debate for ever.
            async with asyncio.timeout(self.timeout):
                response = await self._http.send(
                    httpx2.Request(
                        method,
                        f"{self._client.base_url}{path}",
                        headers={**self._headers, "X-Client-Request-Id": trace} if trace else self._headers,
                        content=None if body is None else json.dumps(body).encode(),
                        extensions={"timeout": self._limits},
                    )
                )
            if response.status_code >= 300:
                return self._status(response)
            return json.loads(response.content)
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as caught:
            error = caught
        # Outside of the handler: nothing that is raised later carries the client's error along.
        return self._failed(error)

    def _failed(self, error: Exception) -> Failed:
        import httpx2

        kind = type(error).__name__
        if kind in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
            return Failed("unreachable", "none", True, kind)
        if isinstance(error, (httpx2.TimeoutException, TimeoutError)):
            words = f"no reply within {self.timeout:g} s"
            return Failed("timeout", "none" if kind == "PoolTimeout" else "unknown", True, words)
        if isinstance(error, httpx2.HTTPError):
            return Failed("connection", "unknown", True, kind)
        return Failed("server_error", "unknown", True, "the body is no JSON")

    def _status(self, response: Any) -> Failed:
        status: int = response.status_code
        code, words = _told(response.content, self.hide)
        words = self.clean(words)
        wait = seconds_asked({name.lower(): value for name, value in response.headers.items()})
        if status == 429 and code == "insufficient_quota":
            return Failed("refused", "none", False, words, None, 402)
        if status == 503 and "loading" in words.lower():
            return Failed("loading", "none", True, words, wait, status)
        if status in (400, 413, 422, 500) and (WINDOW_FULL.search(words) or WINDOW_FULL.search(code or "")):
            return Failed("context_full", "none", False, words, None, status)
        if status in (408, 409, 429) or status >= 500:
            kind = {408: "timeout", 429: "rate_limited"}.get(status, "server_error")
            # Some servers generate a reply, fail to read it themselves, and say 500: it may have been charged.
            cost: Cost = "unknown" if status == 500 or status in BEHIND else "none"
            return Failed(kind, cost, True, words, wait, status)
        if status in (401, 402, 403, 404):
            return Failed("refused", "none", False, words, None, status)
        kind = "refused_content" if code in ("content_filter", "content_policy_violation") else "bad_request"
        return Failed(kind, "none", False, words, None, status)

    def clean(self, words: str) -> str:
        """Return a server's words on one line, without the key, to be shown."""
        return " ".join(visible(self.hide(words)).split())[:300]

    def hide(self, words: str) -> str:
        """Return a text without the keys that were sent."""
        for key in self._sent:
            # What is shorter is no key but a placeholder, and may be a word of the text.
            if len(key) >= SECRET:
                words = words.replace(key, "[not shown]")
        return words


def _told(body: bytes, hide: Callable[[str], str]) -> tuple[str | None, str]:
    """Return the code and the words of a refusal, in whichever of the usual forms they come."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        # Hidden before it is cut: half a key is none that could be found.
        return None, hide(body.decode("utf-8", errors="replace"))[:1000]
    return _words(value)


def _window(entry: dict[str, Any]) -> int | None:
    """Return the context window that an entry of the list of models tells, in tokens."""
    meta = entry.get("meta")
    for place in (meta if isinstance(meta, dict) else {}, entry):
        for name in WINDOWS:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def _words(value: Any) -> tuple[str | None, str]:
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return None, str(error)
    words = next((error[name] for name in ("message", "detail", "error") if error.get(name)), error)
    code = next((error[name] for name in ("code", "type") if isinstance(error.get(name), str)), None)
    return code, words if isinstance(words, str) else json.dumps(words)


def _no_reply(value: Any) -> str | None:
    """Return the words of a body that reports an error under the status of success; None of any other body."""
    if not isinstance(value, dict):
        return "the body is no JSON object"
    if not value.get("error") or value.get("choices") or _tokens(value.get("usage")) != (None, None):
        return None
    return _words(value)[1]


def _got(value: dict[str, Any], hide: Callable[[str], str]) -> Got:
    tokens_in, tokens_out = _tokens(value.get("usage"))
    try:
        choice = value["choices"][0]
        message = choice["message"]
        content, refusal, finish = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        content = refusal = finish = None
    words = [
        hide(said) if isinstance(said, str) else None
        for said in (content, refusal, finish, value.get("model"))
    ]
    return Got(words[0], words[1] or None, words[2], tokens_in, tokens_out, words[3] or None)


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens; what a total has beyond them was thought, and is paid like what is said."""
    if not isinstance(usage, dict):
        return None, None
    prompt, completion, total = (
        value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None
        for value in (usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("total_tokens"))
    )
    if prompt is not None and completion is not None and total is not None:
        completion = max(completion, total - prompt)
    return prompt, completion
