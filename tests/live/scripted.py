"""What a scripted model says and what goes wrong with its calls; the server that says it is in ``server.py``."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

KINDS = (
    "rate_limited",
    "server_error",
    "slow",
    "reset",
    "half_body",
    "bad_json",
    "wrong_schema",
    "not_json",
    "empty_choices",
    "empty_content",
    "no_usage",
    "refusal",
    "length",
)


SAID = {
    "error_body": (200, {"error": {"message": "the model is overloaded", "code": 503}}),
    "list_body": (200, [{"error": "no"}]),
    "no_quota": (429, {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}),
    "bad_gateway": (502, {"error": {"message": "bad gateway"}}),
    "unavailable": (503, {"error": {"message": "unavailable"}}),
    "gateway_timeout": (504, {"error": {"message": "upstream timed out"}}),
    "made_500": (
        500,
        {
            "error": {
                "message": "The model produced output that does not match the expected peg-native format"
            }
        },
    ),
}
"""Faults that are a status and a body; of those in `MADE` a reply was made and is charged."""

MADE = ("bad_gateway", "gateway_timeout", "made_500")

LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
"""What llama.cpp says until its model is loaded."""

WINDOW_FULL = (
    "the request exceeds the available context size. try increasing the context size or enable context shift"
)
"""What llama.cpp says of a prompt that does not fit, with 400."""

OBJECT_ONLY = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}]"
)
"""What llama-cpp-python says of a JSON schema, with 500."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a call, and the seconds of a Retry-After or a delay."""

    kind: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Say:
    """What the scripted model says."""

    content: str | None
    refusal: str | None = None
    finish_reason: str = "stop"
    model: str | None = None


@dataclass
class Asked:
    """A chat call, as a script sees it."""

    body: dict[str, Any]
    headers: dict[str, str]
    number: int = 0

    @cached_property
    def _trace(self) -> list[str]:
        parts = [unquote(part) for part in self.headers.get("x-client-request-id", "").split("/")]
        return parts if len(parts) == 5 else ["", "0", "", "", "1"]

    @property
    def debate(self) -> str:
        return self._trace[0]

    @property
    def round(self) -> int:
        return int(self._trace[1])

    @property
    def agent(self) -> str:
        return self._trace[2]

    @property
    def act(self) -> str:
        return self._trace[3]

    @property
    def attempt(self) -> int:
        return int(self._trace[4])

    @property
    def key(self) -> str:
        return "/".join(self._trace[:4])

    @property
    def system(self) -> str:
        return "\n".join(text_of(m) for m in self.body["messages"] if m["role"] == "system")

    @property
    def user(self) -> str:
        return "\n".join(text_of(m) for m in self.body["messages"] if m["role"] == "user")

    @property
    def text_mode(self) -> bool:
        return "response_format" not in self.body

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """Of the slot: from the response format, or from the prompt in text mode."""
        given = self.body.get("response_format")
        if given is not None and len(given) > 1:
            return given["schema"] if given["type"] == "json_object" else given["json_schema"]["schema"]
        found = re.search(r"^JSON schema: (\{.*\})$", self.system, re.M)
        return json.loads(found[1]) if found else None

    @property
    def nonce(self) -> str:
        """The word that a last line must begin with in text mode."""
        found = re.search(r"begins with the word ([0-9a-z]+)", self.system)
        return found[1] if found else ""

    @property
    def fence(self) -> str:
        """The token of the delimiters."""
        found = re.search(r"(?:^|\n\n)<([a-z]{4,}) question>$", self.user, re.M)
        return found[1] if found else ""

    @cached_property
    def sections(self) -> list[tuple[str, str]]:
        """The fenced texts of the prompt, (title, text); a prompt whose fences do not match is refused."""
        token, sections, title, lines = self.fence, [], None, []
        for line in self.user.split("\n"):
            if title is None and line.startswith(f"<{token} ") and line.endswith(">"):
                title, lines = line[len(f"<{token} ") : -1], []
            elif title is not None and line == f"</{token}>":
                sections.append((title, "\n".join(lines)))
                title = None
            elif token in line:
                raise ValueError(f"a fence out of place: {line!r}")
            elif title is not None:
                lines.append(line)
        if title is not None:
            raise ValueError(f"a section that is not closed: {title!r}")
        return sections


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


Script = Callable[[Asked], "str | Say"]
Faults = Callable[[Asked], "Fault | None"]


def play(asked: Asked) -> str:
    """Fill the slot plausibly, the same way for the same request."""
    rng = random.Random(hashlib.blake2b(f"{asked.key}\n{asked.user}".encode(), digest_size=8).digest())
    schema = asked.schema
    return "I have nothing to say." if schema is None else wrap(asked, fill(schema, rng))


def wrap(asked: Asked, value: Any) -> str:
    """Write an object in the form that the mode of the call wants."""
    line = json.dumps(value)
    return f"Let me think.\n{asked.nonce} {line}" if asked.text_mode else line


def fill(schema: dict[str, Any], rng: random.Random) -> Any:
    """Return a random value that a schema allows."""
    kind = schema.get("type")
    if "anyOf" in schema:
        return fill(rng.choice(schema["anyOf"]), rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if kind == "null":
        return None
    if kind == "object":
        return {name: fill(part, rng) for name, part in schema["properties"].items()}
    if kind == "array":
        return [fill(schema["items"], rng) for _ in range(schema.get("minItems", 3))]
    if kind in ("number", "integer"):
        return rng.randint(schema.get("minimum", 1), schema.get("maximum", 10))
    words = [
        "the",
        "answer",
        "is",
        "clear",
        "because",
        "it",
        "gives",
        "reasons",
        "and",
        "the",
        "other",
        "one",
        "does",
        "not",
    ]
    return " ".join(rng.choice(words) for _ in range(rng.randint(3, 20)))[
        : schema.get("maxLength", 400)
    ].strip()


def at_random(
    share: float, kinds: Sequence[str] = KINDS, seed: int = 0, *, seconds: float = 0.0, slow_s: float = 5.0
) -> Faults:
    """Return a plan that spoils a share of the calls, by a hash of key and attempt."""

    def plan(asked: Asked) -> Fault | None:
        text = f"{seed}/{asked.key}/{asked.attempt}"
        rng = random.Random(hashlib.blake2b(text.encode(), digest_size=8).digest())
        if rng.random() >= share:
            return None
        kind = rng.choice(kinds)
        return Fault(kind, slow_s if kind == "slow" else seconds)

    return plan


def tokens(text: str) -> int:
    """Return how many tokens a text has for this server."""
    return (len(text.encode("utf-8", errors="replace")) + 3) // 4
