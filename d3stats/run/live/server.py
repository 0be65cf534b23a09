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
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from d3stats._words import visible
from d3stats.agent import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Dialect",
    "Failed",
    "Got",
    "Key",
    "Redirected",
    "Structured",
    "checked_url",
    "failure",
    "is_loopback",
    "listed",
    "models_of",
    "reply_of",
    "room_in",
    "seconds_asked",
    "stay",
    "tokens_of",
    "without_secrets",
]

SECRET = 8
"""A shorter key is a placeholder, and may be a word of a reply."""


def without_secrets(base_url: str) -> str:
    """Return a URL without user, password, query and fragment, to be shown."""
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def checked_url(url: str) -> str:
    """Return a base URL that is one and holds no secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("base_url must be a URL; got one that cannot be read (not shown)") from None
    shown = without_secrets(url)
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"base_url must begin with http:// or https:// and name a host; got {shown!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            f"base_url must hold no user, no password and no query (put keys into an environment variable); "
            f"got more than {shown!r}"
        )
    return shown


class Key:
    """The key of one server, as a variable of the environment holds it when the run begins."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self.sent: str | None = None

    def read(self) -> str | None:
        """Return the key, None where there is none; `Refused` where no header can hold it."""
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
        # Hidden before it is cut: half a key is none that could be found.
        return " ".join(visible(self.hide(words)[:WORDS]).split())[:300]


Structured = Literal["auto", "schema", "text"]
"""The form in which a slot is asked for: a JSON schema, a last line of text, or the form that the server supports."""

Form = Literal["json_schema", "json_object with the schema", "json_object", "text"]
"""The forms of structured output, in the order in which they are tried."""

FORMS: tuple[Form, ...] = get_args(Form)

REFUSALS = (400, 422, 500)
"""Statuses under which servers refuse a parameter; llama-cpp-python says 500."""

MISSES = 2
"""So many replies in a row that are no object, and none that was, and a server is taken to ignore schemas."""

LIMITS = ("max_tokens", "max_completion_tokens")
"""The names that a limit on the reply has."""

NAMED = re.compile(r"max_?(?:completion_|output_|new_)?tokens")
TOO_LARGE = re.compile(r"too (?:large|high|big)|at most|exceed|maximum|less than|range|must be|<=")
NOT_TAKEN = r"support|unknown|unrecognized|extra|unexpected|not permitted|not allowed"
FORMAT_WORDS = re.compile(r"response_format|json_schema|structured output|guided|grammar")
ONE_FORM = re.compile(r"json|schema|type|grammar")
"""Words of a refusal of one form; without them the parameter itself is refused."""
NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)|role\W{1,3}system|developer instruction|roles must alternate|"
    r"does not support \W?system\b"
)

WORDS = 4000
"""The most characters of a server's words that are looked at."""


@dataclass
class Dialect:
    """The form in which one server is asked.

    Attributes
    ----------
    structured : {"auto", "schema", "text"}
        "auto" tries one form of structured output after another; the others keep to theirs.
    limit : str
        Name of the limit on a reply's tokens.
    form : str
        The present form of structured output.
    most : int or None
        The largest limit on a reply that the server takes, as far as it said.
    worked : bool
        Whether a reply in the present form was read.
    without : dict of str
        The parameters that the server does not take, as reports name them.
    """

    structured: Structured
    limit: str
    form: Form = "json_schema"
    most: int | None = None
    worked: bool = False
    without: dict[str, str] = field(default_factory=dict)
    _misses: int = 0
    _renamed: bool = False

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
        """Parameters that the server did not take, in words."""
        order = ("json_schema", "json_object", "seed", "temperature", "maxLength", "limit", "system")
        return tuple(self.without[name] for name in order if name in self.without)

    def messages(self, system: str, user: str) -> list[dict[str, str]]:
        """Return the messages of a call; one where the role ``system`` is refused."""
        if "system" in self.without:
            return [{"role": "user", "content": f"{system}\n\n{user}"}]
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return how structured output is asked for."""
        schema = _without_lengths(schema) if "maxLength" in self.without else schema
        if self.form == "json_schema":
            return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
        return {"type": "json_object"} | ({} if self.form == "json_object" else {"schema": schema})

    def learn(
        self, status: int | None, message: str, body: dict[str, Any], *, proposed: bool = False
    ) -> bool:
        """Do without what a refusal names; return whether the call is worth making again.

        A temperature is left out only where it was `proposed` by the protocol and not given by the user. A call
        that was under way while something was learned comes back with the same refusal and is made again.
        """
        words = message.lower()[:WORDS]
        if status not in REFUSALS or not words:
            return False
        for name, sent, said, lesson in LESSONS:
            if not sent(body) or not said.search(words) or (name == "temperature" and not proposed):
                continue
            if isinstance(lesson, str):
                self.without[name] = lesson
                return True
            if lesson(self, words, body):
                return True
        return False

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= _form_of(body) == self.form

    def unreadable(self, content: str, body: dict[str, Any]) -> bool:
        """Note that a slot was not read; after some replies in prose, and none as asked, slots are asked for in text.

        A server that takes the type ``json_object`` may ignore the schema, so every unreadable object counts there.
        Return whether the form has changed since the call was made.
        """
        form = _form_of(body)
        if self.structured != "auto" or form == "text" or self.worked:
            return False
        if form == self.form and (form != "json_schema" or not content.lstrip().startswith("{")):
            self._misses += 1
            if self._misses >= MISSES:
                self._fall_back("text", " (taken, but replies did not follow it)")
        return form != self.form

    def _fall_back(self, form: Form | None, why: str = "") -> None:
        name = self.form.split()[0]
        self.without[name] = name + why
        self.form = form or FORMS[FORMS.index(self.form) + 1]
        self._misses = 0
        if self.form == "json_object":
            # Only the schema beside it was refused.
            self.without.pop("json_object", None)

    def _next_form(self, words: str, body: dict[str, Any]) -> bool:
        if self.structured == "auto" and _form_of(body) == self.form:
            self._fall_back(None if ONE_FORM.search(words) else "text")
        return self.structured == "auto"

    def _cap(self, words: str, body: dict[str, Any]) -> bool:
        """Take the limit that the server states: the largest number of its words that is below the one sent."""
        sent = next((body[name] for name in LIMITS if name in body), 0)
        if self.most is not None and self.most < sent:
            return True
        stated = [number for number in map(int, re.findall(r"\d{2,9}", words)) if number < sent]
        if not stated or not NAMED.search(words):
            return False
        self.most = max(stated)
        self.without["limit"] = f"a limit on the reply above {self.most} tokens"
        return True

    def _rename(self, words: str, body: dict[str, Any]) -> bool:
        name = next((name for name in LIMITS if name in body and name in words), None)
        if name == self.limit and not self._renamed:
            self.limit, self._renamed = LIMITS[1 - LIMITS.index(name)], True
        return name is not None and name != self.limit


def _refused(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?s)\A(?=.*{name}).*(?:{NOT_TAKEN})")


Lesson = Callable[[Dialect, str, dict[str, Any]], bool]

LESSONS: tuple[tuple[str, Callable[[dict[str, Any]], bool], re.Pattern[str], str | Lesson], ...] = (
    (
        "maxLength",
        lambda body: "maxLength" in json.dumps(body.get("response_format")),
        re.compile(r"max_?length"),
        "maxLength",
    ),
    ("form", lambda body: "response_format" in body, FORMAT_WORDS, Dialect._next_form),
    (
        "system",
        lambda body: body["messages"][0]["role"] == "system",
        NO_SYSTEM,
        "the role system (its text begins the user's message)",
    ),
    ("limit", lambda body: True, TOO_LARGE, Dialect._cap),
    ("limit", lambda body: True, re.compile(NOT_TAKEN), Dialect._rename),
    ("seed", lambda body: "seed" in body, _refused("seed"), "seed"),
    ("temperature", lambda body: "temperature" in body, _refused("temperature"), "temperature"),
)
"""The lessons of refusals: a parameter, whether it was sent, the words that refuse it, and what follows.

After a text the parameter is left out, and reports name it by that text; a function returns whether to ask again.
"""


def _without_lengths(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _without_lengths(part) for name, part in schema.items() if name != "maxLength"}
    return [_without_lengths(part) for part in schema] if isinstance(schema, list) else schema


def _form_of(body: dict[str, Any]) -> Form:
    given = body.get("response_format")
    if given is None:
        return "text"
    if given["type"] == "json_schema":
        return "json_schema"
    return "json_object with the schema" if "schema" in given else "json_object"


BEHIND = (502, 504, 520, 524)
"""The status of a gateway that passed a call on and got no answer; the model may have made one."""

WINDOW_FULL = (
    r"(?i)context[ _]?(size|window|length)|exceed\w{0,9}[ _]context|maximum context|prompt is too long"
    r"|too many tokens"
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

    Tokens are None where the server did not say. Cached ones are part of the prompt's, those of `reasoning` of the
    reply's. `thoughts` are bytes of thought that the server shows apart. `fingerprint` is that of the serving system.
    """

    content: str | None
    refusal: str | None
    finish: str | None
    tokens_in: int | None
    tokens_out: int | None
    model: str | None
    tokens_cached: int | None = None
    thoughts: int = 0
    reasoning: int | None = None
    fingerprint: str | None = None


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
    """Read the body of a chat call that succeeded."""
    value = _json(content)
    if isinstance(value, Failed):
        return value
    words = _no_reply(value)
    if words is not None:
        # It says itself that nothing was made.
        return Failed("server_error", "none", True, key.clean(words), None, 200)
    return _got(value, key.hide)


class Redirected(Exception):
    """A server sends a call on to another host; prompts do not follow it. The message is that host's address."""


async def stay(response: Any) -> None:
    """Refuse a redirect to another host, or from https to http; as an event of the HTTP client."""
    to = response.headers.get("location")
    if to is None or not 300 <= response.status_code < 400:
        return
    here, there = response.request.url, response.request.url.join(to)
    if there.host != here.host or (here.scheme, there.scheme) == ("https", "http"):
        raise Redirected(without_secrets(str(there)))


def listed(model: str, names: Iterable[str]) -> str | None:
    """Return the name under which a server lists a model: its own, without a route or tag, or a wildcard."""
    known = list(names)
    forms = (model, f"{model}:latest", f"models/{model}", model.rpartition(":")[0])
    found = next((name for name in forms if name and name in known), None)
    return found or next((name for name in known if "*" in name and fnmatchcase(model, name)), None)


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def room_in(words: str) -> int | None:
    """Return the tokens that a full context window leaves for the reply, where the server's words say it."""
    window = re.search(r"context length is (?:only )?(\d{1,9})", words)
    used = re.search(r"(\d{1,9}) (?:input tokens|in the messages|tokens? in the (?:messages|input))", words)
    return None if window is None or used is None else int(window[1]) - int(used[1])


def models_of(content: bytes, key: Key) -> dict[str, int | None] | Failed:
    """Return the models that a server lists, and the context window of each where it is told, in tokens."""
    given = _json(content)
    if isinstance(given, Failed):
        return given
    listed = given.get("data") if isinstance(given, dict) else None
    if listed is not None and not isinstance(listed, list):
        return Failed("server_error", "none", False, "a list of models that is not a list")
    entries = [entry for entry in listed or [] if isinstance(entry, dict) and "id" in entry]
    return {key.clean(str(entry["id"])): _window(entry) for entry in entries}


def tokens_of(content: bytes | Failed) -> int | None:
    """Return the tokens that a server's tokeniser counts, as vLLM (``count``) or llama.cpp (``tokens``) says it."""
    given = None if isinstance(content, Failed) else _json(content)
    if not isinstance(given, dict):
        return None
    listed = given.get("tokens")
    return _count(given.get("count")) or (len(listed) if isinstance(listed, list) else None)


def failure(error: Exception, key: Key, timeout: float) -> Failed:
    """Return what an error of the openai client means."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refusal(error.status_code, error.body, error.response.headers, key)
    cause = type(error.__cause__).__name__
    if isinstance(error, Redirected):
        return Failed("refused", "none", False, str(error), None, 307)
    if cause == "DecodingError":
        return Failed("server_error", "unknown", True, "the body cannot be decoded")
    if cause in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
        return Failed("unreachable", "none", True, cause)
    if isinstance(error, (openai.APITimeoutError, TimeoutError)):
        cost: Cost = "none" if cause == "PoolTimeout" else "unknown"
        return Failed("timeout", cost, True, f"no reply within {timeout:g} s")
    return Failed("connection", "unknown", True, type(error).__name__ if cause == "NoneType" else cause)


STATUSES: tuple[tuple[Container[int], str, str, Cost, bool], ...] = (
    ({429}, r"\Ainsufficient_quota\n", "refused", "none", False),
    ({503}, "loading", "loading", "none", True),
    ({400, 413, 422, 500}, WINDOW_FULL, "context_full", "none", False),
    ({408}, "", "timeout", "none", True),
    ({429}, "", "rate_limited", "none", True),
    # Some servers generate a reply, fail to read it themselves, and say 500: it may have been charged.
    ({500, *BEHIND}, "", "server_error", "unknown", True),
    ({409, *range(501, 1000)}, "", "server_error", "none", True),
    ({401, 402, 403, 404}, "", "refused", "none", False),
    (range(1000), r"\Acontent_(?:filter|policy_violation)\n", "refused_content", "none", False),
    (range(1000), "", "bad_request", "none", False),
)
"""Refusals (status, code and words): their error, their cost, whether to ask again; the first that fits counts."""


def _refusal(status: int, body: Any, headers: Mapping[str, str], key: Key) -> Failed:
    """Return what a response with the status of a failure means; the client has read its body."""
    code, words = _words(body)
    words = key.clean(words)
    told = f"{code or ''}"[:WORDS] + f"\n{words.lower()}"
    error, cost, again = next(row[2:] for row in STATUSES if status in row[0] and re.search(row[1], told))
    if error == "refused" and status == 429:
        return Failed(error, cost, again, words, None, 402)
    return Failed(error, cost, again, words, seconds_asked(headers) if again else None, status)


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait, from Retry-After (seconds or a date) or retry-after-ms."""
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


def _json(content: bytes) -> Any:
    """Return the value of a body; a `Failed` where it is no JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return Failed("server_error", "unknown", True, "the body is not JSON")


def _words(error: Any) -> tuple[str | None, str]:
    """Return the code and the words of an error, in whichever of the usual forms they come."""
    if not isinstance(error, dict):
        return None, "" if error is None else str(error)
    words = next((error[name] for name in ("message", "detail", "error") if error.get(name)), error)
    code = next((error[name] for name in ("code", "type") if isinstance(error.get(name), str)), None)
    return code, words if isinstance(words, str) else json.dumps(words)


def _no_reply(value: Any) -> str | None:
    """Return the words of a body that reports an error under the status of success; None of any other body."""
    if not isinstance(value, dict):
        return "the body is not a JSON object"
    if not value.get("error") or value.get("choices") or _tokens(value.get("usage")) != (None, None):
        return None
    return _words(value["error"])[1]


def _got(value: dict[str, Any], hide: Callable[[str], str]) -> Got:
    tokens_in, tokens_out = _tokens(value.get("usage"))
    try:
        choice = value["choices"][0]
        message = choice["message"]
        content, refusal, finish = message.get("content"), message.get("refusal"), choice.get("finish_reason")
        thought = _text(message.get("reasoning_content") or message.get("reasoning"))
    except (KeyError, IndexError, TypeError, AttributeError):
        content = refusal = finish = thought = None
    said, refused, ended, model, fingerprint = (
        hide(words) if isinstance(words, str) else None
        for words in (_text(content), refusal, finish, value.get("model"), value.get("system_fingerprint"))
    )
    usage = value.get("usage")
    return Got(
        said,
        refused or None,
        ended,
        tokens_in,
        tokens_out,
        model or None,
        _cached(usage, tokens_in),
        len((thought or "").encode(errors="replace")),
        _detail(usage, "completion_tokens_details", "reasoning_tokens"),
        fingerprint or None,
    )


def _text(content: Any) -> str | None:
    """Return the text of a message: a string, or the parts of it that are text and not thoughts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    kinds = (None, "text", "output_text")
    parts = [part for part in content if isinstance(part, dict) and part.get("type") in kinds]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens.

    What a total has beyond them, and thoughts that are more than the completion, was thought and is paid like what is
    said.
    """
    if not isinstance(usage, dict):
        return None, None
    prompt, completion, total = (
        _count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    thought = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    if prompt is not None and total is not None:
        completion = (
            max(completion or 0, total - prompt) if completion is not None or total > prompt else None
        )
    elif completion is not None and (thought or 0) > completion:
        completion += thought or 0
    return prompt, completion


def _cached(usage: Any, prompt: int | None) -> int | None:
    """Return the prompt tokens that were read from the server's cache, at most all of the prompt."""
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return None if cached is None or prompt is None else min(cached, prompt)


def _detail(usage: Any, group: str, name: str) -> int | None:
    details = usage.get(group) if isinstance(usage, dict) else None
    return _count(details.get(name)) if isinstance(details, dict) else None


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
