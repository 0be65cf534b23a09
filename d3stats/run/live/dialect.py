"""What a server takes: found out once per run, by the first calls themselves.

Servers differ in three ways: how structured output is asked for, how the limit on a reply is called, and whether seeds
are known. A refusal that names one of these costs one call without tokens; the next call does without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

__all__ = ["Dialect", "Structured"]

Structured = Literal["auto", "schema", "text"]
"""How a slot is asked for: as a JSON schema, as a last line of text, or as the server turns out to support."""

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
    """How one server is asked.

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
    seeds : bool
        Whether seeds are sent.
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
        """Whether the schema has to stand in the prompt, because it is not sent beside it."""
        return self.form in ("json_object", "text")

    @property
    def mode(self) -> bool | None:
        """Whether slots are asked for as a last line; None when that may still change."""
        return None if self.structured == "auto" and not self.as_text else self.as_text

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the server turned out not to take."""
        names = ("json_schema", "json_object", "seed")
        return tuple(name for name in names if name in self._refused)

    def response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return how structured output is asked for."""
        if self.form == "json_schema":
            return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
        return {"type": "json_object"} | ({} if self.form == "json_object" else {"schema": schema})

    def learn(self, status: int | None, message: str, body: dict[str, Any]) -> bool:
        """Leave out what a refusal names; return whether the call is worth making again.

        A call that was under way while something was learned comes back with the same refusal and is made again.
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
        return False

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= _form_of(body) == self.form

    def unreadable(self, content: str, body: dict[str, Any]) -> None:
        """Note that one was not: after some replies in prose, and none as asked, slots are asked for in text.

        A server that takes the type ``json_object`` may ignore the schema: there every unreadable object counts.
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
