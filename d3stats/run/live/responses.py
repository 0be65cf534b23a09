"""What came back from a server: a reply with its tokens, or the reason why there is none and what it may have cost.

Errors of the client are turned into values here and go no further: they hold the request with its headers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from d3stats.run.live.access import Key

__all__ = ["Failed", "Got", "failure", "models_of", "reply_of", "seconds_asked"]

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
        ``"bad_request"``, ``"context_full"``, ``"refused_content"``, ``"empty"``; ``"refused"`` for a key, an account
        or a model that is refused, which ends the run.
    cost : {"none", "unknown"}
    again : bool
        Whether another attempt may go better.
    message : str
        The server's words, on one line, without the key.
    wait : float or None
        Seconds that the server asks to wait.
    status : int or None
        Of the response, where there was one.
    """

    error: str
    cost: Cost
    again: bool
    message: str = ""
    wait: float | None = None
    status: int | None = None


def reply_of(content: bytes, key: Key) -> Got | Failed:
    """Read the body of a chat call that succeeded.

    Examples
    --------
    >>> from d3stats.run.live.access import Key
    >>> reply_of(b'{"choices": [{"message": {"content": "Yes."}}], "usage": {"prompt_tokens": 5}}', Key("SOME_KEY"))
    Got(content='Yes.', refusal=None, finish=None, tokens_in=5, tokens_out=None, model=None)
    >>> reply_of(b"oops", Key("SOME_KEY")).message
    'the body is no JSON'
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return Failed("server_error", "unknown", True, "the body is no JSON")
    words = _no_reply(value)
    if words is not None:
        # It says itself that nothing was made.
        return Failed("server_error", "none", True, key.clean(words), None, 200)
    return _got(value, key.hide)


def models_of(content: bytes, key: Key) -> dict[str, int | None] | Failed:
    """Return the models that a server lists, and the context window of each where it is told, in tokens.

    Examples
    --------
    >>> from d3stats.run.live.access import Key
    >>> models_of(b'{"data": [{"id": "small", "max_model_len": 8192}, {"id": "other"}]}', Key("SOME_KEY"))
    {'small': 8192, 'other': None}
    """
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        return Failed("server_error", "unknown", True, "the body is no JSON")
    listed = given.get("data") if isinstance(given, dict) else None
    if listed is not None and not isinstance(listed, list):
        return Failed("server_error", "none", False, "a list of models that is no list")
    entries = [entry for entry in listed or [] if isinstance(entry, dict) and "id" in entry]
    return {key.clean(str(entry["id"])): _window(entry) for entry in entries}


def failure(error: Exception, key: Key, timeout: float) -> Failed:
    """Return what an error of the openai client means."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refusal(error.response, key)
    cause = type(error.__cause__).__name__
    if cause in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
        return Failed("unreachable", "none", True, cause)
    if isinstance(error, (openai.APITimeoutError, TimeoutError)):
        cost: Cost = "none" if cause == "PoolTimeout" else "unknown"
        return Failed("timeout", cost, True, f"no reply within {timeout:g} s")
    return Failed("connection", "unknown", True, type(error).__name__ if cause == "NoneType" else cause)


def _refusal(response: Any, key: Key) -> Failed:
    """Return what a response with the status of a failure means."""
    status: int = response.status_code
    code, words = _told(response.content, key.hide)
    words = key.clean(words)
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


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait, from Retry-After (seconds or a date) or retry-after-ms.

    Examples
    --------
    >>> seconds_asked({"retry-after": "2"}), seconds_asked({"retry-after-ms": "250"}), seconds_asked({})
    (2.0, 0.25, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            seconds = _until(value)
        if 0.0 <= seconds < float("inf"):
            return seconds
    return None


def _until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return -1.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _told(body: bytes, hide: Callable[[str], str]) -> tuple[str | None, str]:
    """Return the code and the words of a refusal, in whichever of the usual forms they come."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        # Hidden before it is cut: half a key is none that could be found.
        return None, hide(body.decode("utf-8", errors="replace"))[:1000]
    return _words(value)


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


def _window(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    for place in (meta if isinstance(meta, dict) else {}, entry):
        for name in WINDOWS:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
