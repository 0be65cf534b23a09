"""A server that speaks the OpenAI chat protocol: where it is, which key it gets, what it takes, and what came back.

The first calls of a run find out which parameters a server takes. Servers differ in three ways: how structured output
is asked for, how the limit on a reply is called, and whether seeds are known. A refusal that names one of these costs
one call without tokens; the next call does without it.

Errors of the client are turned into values here and go no further, because they hold the request with its headers.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from d3stats._words import visible
from d3stats.agent import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Dialect",
    "Failed",
    "Got",
    "Key",
    "Structured",
    "checked_url",
    "failure",
    "models_of",
    "reply_of",
    "seconds_asked",
    "without_secrets",
]

SECRET = 8
"""A shorter key is a placeholder, and may be a word of a reply."""


def without_secrets(base_url: str) -> str:
    """Return a URL without user, password, query and fragment, to be shown.

    Examples
    --------
    >>> without_secrets("https://me:secret@host:8000/v1?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{'' if parts.port is None else f':{parts.port}'}{parts.path}"


def checked_url(url: str) -> str:
    """Return a base URL that is one and holds no secret.

    Examples
    --------
    >>> checked_url("http://127.0.0.1:8000/v1")
    'http://127.0.0.1:8000/v1'
    """
    try:
        parts = urlsplit(url)
        shown = without_secrets(url)
    except ValueError:
        raise ValueError("base_url must be a URL; got one that cannot be read (not shown)") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must begin with http:// or https:// and name a host; got {shown!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            f"base_url must hold no user, no password and no query (put keys into an environment variable); "
            f"got more than {shown!r}"
        )
    return shown


class Key:
    """The key of one server, as the environment holds it when the run begins.

    Parameters
    ----------
    variable : str
        Name of an environment variable.

    Examples
    --------
    >>> os.environ["SOME_KEY"] = "sk-0123456789"
    >>> key = Key("SOME_KEY")
    >>> key.sent = key.read()
    >>> key.hide("The key sk-0123456789 is not valid.")
    'The key [not shown] is not valid.'
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self.sent: str | None = None

    def read(self) -> str | None:
        """Return the key; None where there is none.

        Raises
        ------
        Refused
            When no header can hold it.
        """
        key = os.environ.get(self.variable, "").strip()
        # A key with a blank or a line end would end up in an error message of the HTTP library.
        if not re.fullmatch(r"[!-~]*", key):
            del key  # A traceback may show what is at hand.
            raise Refused(
                f"the key in {self.variable} must be printable ASCII without blanks; got something else (not shown)"
            )
        return key or None

    def hide(self, words: str) -> str:
        """Return a text without the key that was sent."""
        if self.sent is None or len(self.sent) < SECRET:
            return words
        return words.replace(self.sent, "[not shown]")

    def clean(self, words: str) -> str:
        """Return a server's words on one line, without the key, to be shown."""
        return " ".join(visible(self.hide(words)).split())[:300]


Structured = Literal["auto", "schema", "text"]
"""The form in which a slot is asked for: a JSON schema, a last line of text, or the form that the server supports."""

Form = Literal["json_schema", "json_object with the schema", "json_object", "text"]
"""The forms of structured output, in the order in which they are tried."""

FORMS: tuple[Form, ...] = get_args(Form)

REFUSALS = (400, 422, 500)
"""Statuses under which servers refuse a parameter; llama-cpp-python says 500."""

MISSES = 3
"""So many replies in a row that are no object, and none that was, and a server is taken to ignore schemas."""

FORMAT_WORDS = ("response_format", "json_schema", "structured output", "guided", "grammar")
"""Words of a refusal that is about structured output."""

ONE_FORM = ("json", "schema", "type", "grammar")
"""Words of a refusal of one form; without them the parameter itself is refused."""

OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
NOT_TAKEN = ("support", "unknown", "unrecognized", "extra", "unexpected", "not permitted")


@dataclass
class Dialect:
    """The form in which one server is asked.

    Parameters
    ----------
    structured : {"auto", "schema", "text"}
        "auto" tries one form of structured output after another; the others keep to theirs.
    limit : str
        Name of the limit on a reply's tokens.

    Attributes
    ----------
    form : str
        The present form of structured output.
    seeds, temperatures : bool
        Whether seeds, and the temperatures that a protocol proposes, are sent.
    worked : bool
        Whether a reply in the present form was read.

    Examples
    --------
    >>> dialect = Dialect("auto", "max_tokens")
    >>> body = {"response_format": dialect.response_format({"type": "object"}), "seed": 1}
    >>> dialect.learn(400, "response_format: 'json_schema' is not one of 'text', 'json_object'", body)
    True
    >>> dialect.form, dialect.dropped
    ('json_object with the schema', ('json_schema',))
    >>> dialect.learn(400, "Unsupported parameter: 'seed' is not supported.", body), dialect.seeds
    (True, False)
    """

    structured: Structured
    limit: str
    form: Form = "json_schema"
    seeds: bool = True
    temperatures: bool = True
    worked: bool = False
    _misses: int = 0
    _renamed: bool = False
    _refused: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.structured == "text":
            self.form = "text"

    @property
    def as_text(self) -> bool:
        """Whether slots are asked for as a last line."""
        return self.form == "text"

    @property
    def in_prompt(self) -> bool:
        """Whether the prompt has to hold the schema, because it is not sent beside it."""
        return self.form in ("json_object", "text")

    @property
    def mode(self) -> bool | None:
        """Whether slots are asked for as a last line; None when that may still change."""
        return None if self.structured == "auto" and not self.as_text else self.as_text

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parameters that the server did not take."""
        names = ("json_schema", "json_object", "seed", "temperature")
        return tuple(name for name in names if name in self._refused)

    def response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return how structured output is asked for."""
        if self.form == "json_schema":
            return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
        return {"type": "json_object"} | ({} if self.form == "json_object" else {"schema": schema})

    def learn(
        self, status: int | None, message: str, body: dict[str, Any], *, proposed: bool = False
    ) -> bool:
        """Leave out what a refusal names; return whether the call is worth making again.

        A temperature is left out only where it was `proposed` by the protocol and not given by the user. A call
        that was under way while something was learned comes back with the same refusal and is made again.
        """
        words = message.lower()
        if status not in REFUSALS or not words:
            return False
        form = _form_of(body)
        if self.structured == "auto" and form != "text" and any(word in words for word in FORMAT_WORDS):
            if form == self.form:
                self._fall_back("text" if not any(word in words for word in ONE_FORM) else None)
            return True
        if not any(word in words for word in NOT_TAKEN):
            return False
        for name in OTHER_LIMIT:
            if name in body and name in words:
                return self._rename(name)
        if "seed" in body and "seed" in words:
            self.seeds = False
            self._refused.add("seed")
            return True
        if proposed and "temperature" in body and "temperature" in words:
            self.temperatures = False
            self._refused.add("temperature")
            return True
        return False

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= _form_of(body) == self.form

    def unreadable(self, content: str, body: dict[str, Any]) -> None:
        """Note that a slot was not read; after some replies in prose, and none as asked, slots are asked for in text.

        A server that takes the type ``json_object`` may ignore the schema, so every unreadable object counts there.
        """
        form = _form_of(body)
        if self.structured != "auto" or form == "text" or form != self.form or self.worked:
            return
        if form != "json_schema" or not content.lstrip().startswith("{"):
            self._misses += 1
            if self._misses >= MISSES:
                self._fall_back("text")

    def _fall_back(self, form: Form | None) -> None:
        self._refused.add(self.form.split()[0])
        self.form = form or FORMS[FORMS.index(self.form) + 1]
        self._misses = 0
        if self.form == "json_object":
            # Only the schema beside it was refused.
            self._refused.discard("json_object")

    def _rename(self, name: str) -> bool:
        if name != self.limit:
            return True
        if self._renamed:
            return False
        self.limit, self._renamed = OTHER_LIMIT[name], True
        return True


def _form_of(body: dict[str, Any]) -> Form:
    given = body.get("response_format")
    if given is None:
        return "text"
    if given["type"] == "json_schema":
        return "json_schema"
    return "json_object with the schema" if "schema" in given else "json_object"


BEHIND = (502, 504, 520, 524)
"""The status of a gateway that passed a call on and got no answer; the model may have made one."""

WINDOW_FULL = re.compile(
    r"context[ _]?(size|window|length)|exceed\w*[ _]context|maximum context|prompt is too long|too many tokens",
    re.I,
)
"""The words of servers for a prompt and reply that do not fit into the model's context window."""

WINDOWS = (
    "n_ctx",
    "max_model_len",
    "loaded_context_length",
    "context_window",
    "context_length",
    "max_context_length",
)
"""Names of the context window in the lists of models of llama.cpp, vLLM, LM Studio, Groq, OpenRouter and Mistral."""

Cost = Literal["none", "unknown"]
"""Whether a failed attempt may have been charged."""


@dataclass(frozen=True, slots=True)
class Got:
    """A reply of the server, of the right form; `content` None where there was none.

    Tokens are None where the server did not say. Cached ones are part of the prompt's.
    """

    content: str | None
    refusal: str | None
    finish: str | None
    tokens_in: int | None
    tokens_out: int | None
    model: str | None
    tokens_cached: int | None = None


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
        Status of the response, where there was one.
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
    >>> from d3stats.run.live.server import Key
    >>> reply_of(b'{"choices": [{"message": {"content": "Yes."}}], "usage": {"prompt_tokens": 5}}', Key("SOME_KEY"))
    Got(content='Yes.', refusal=None, finish=None, tokens_in=5, tokens_out=None, model=None, tokens_cached=None)
    >>> reply_of(b"oops", Key("SOME_KEY")).message
    'the body is not JSON'
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return Failed("server_error", "unknown", True, "the body is not JSON")
    words = _no_reply(value)
    if words is not None:
        # It says itself that nothing was made.
        return Failed("server_error", "none", True, key.clean(words), None, 200)
    return _got(value, key.hide)


def models_of(content: bytes, key: Key) -> dict[str, int | None] | Failed:
    """Return the models that a server lists, and the context window of each where it is told, in tokens.

    Examples
    --------
    >>> from d3stats.run.live.server import Key
    >>> models_of(b'{"data": [{"id": "small", "max_model_len": 8192}, {"id": "other"}]}', Key("SOME_KEY"))
    {'small': 8192, 'other': None}
    """
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        return Failed("server_error", "unknown", True, "the body is not JSON")
    listed = given.get("data") if isinstance(given, dict) else None
    if listed is not None and not isinstance(listed, list):
        return Failed("server_error", "none", False, "a list of models that is not a list")
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
        return "the body is not a JSON object"
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
    cached = _cached(value.get("usage"), tokens_in)
    return Got(words[0], words[1] or None, words[2], tokens_in, tokens_out, words[3] or None, cached)


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens; what a total has beyond them was thought, and is paid like what is said."""
    if not isinstance(usage, dict):
        return None, None
    prompt, completion, total = (
        _count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if prompt is not None and completion is not None and total is not None:
        completion = max(completion, total - prompt)
    return prompt, completion


def _cached(usage: Any, prompt: int | None) -> int | None:
    """Return the prompt tokens that were read from the server's cache, at most all of the prompt."""
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return None if cached is None or prompt is None else min(cached, prompt)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


def _window(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    for place in (meta if isinstance(meta, dict) else {}, entry):
        for name in WINDOWS:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
