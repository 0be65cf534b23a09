"""What a server turns out to take: structured output, a seed, and the name of the limit on a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Dialect", "Structured"]

Structured = Literal["auto", "schema", "text"]
"""How a slot is asked for: as a JSON schema, as a last line of text, or as the server turns out to support."""

OBJECT = "json_object"
"""What some servers call structured output; they take a schema beside it."""

REFUSALS = (400, 422, 500)
"""Statuses under which servers refuse a parameter; llama-cpp-python says 500."""

MISSES = 3
"""So many replies in a row that are no object, and none that was, and a server is taken to ignore schemas."""

SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided")
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
NOT_TAKEN = ("support", "unknown", "unrecognized", "extra", "unexpected", "not permitted")


@dataclass
class Dialect:
    """One server's dialect, learned once per run.

    Attributes
    ----------
    structured : {"auto", "schema", "text"}
    limit : str
        Name of the limit on a reply's tokens.
    as_text : bool
        Whether slots are asked for as a last line.
    as_object : bool
        Whether a schema is sent beside the type ``json_object``, for servers that do not know ``json_schema``.
    seeds : bool
        Whether seeds are sent.
    """

    structured: Structured
    limit: str
    as_text: bool = False
    as_object: bool = False
    seeds: bool = True
    worked: bool = False
    misses: int = 0
    renamed: bool = False

    def __post_init__(self) -> None:
        self.as_text = self.structured == "text"

    @property
    def mode(self) -> bool | None:
        """Whether slots are asked for as a last line; None when that may still change."""
        return None if self.structured == "auto" and not self.as_text else self.as_text

    def learn(self, status: int | None, message: str, body: dict[str, Any]) -> bool:
        """Leave out what a refusal names; return whether the call is worth making again.

        Calls that were under way while something was learned come back with the same refusal and are made again.
        """
        words = message.lower()
        if status not in REFUSALS or not words:
            return False
        form = body.get("response_format", {}).get("type")
        if form and self.structured == "auto" and any(word in words for word in SCHEMA_WORDS):
            if form == OBJECT or OBJECT not in words:
                self.as_text = True
            else:
                # The refusal names what the server takes.
                self.as_object = True
            return True
        if not any(word in words for word in NOT_TAKEN):
            return False
        for name in OTHER_LIMIT:
            if name in body and name in words:
                return self._rename(name)
        if "seed" in body and "seed" in words:
            self.seeds = False
            return True
        return False

    def _rename(self, name: str) -> bool:
        if name != self.limit:
            return True
        if self.renamed:
            return False
        self.limit, self.renamed = OTHER_LIMIT[name], True
        return True

    def response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return how structured output is asked for."""
        if self.as_object:
            return {"type": OBJECT, "schema": schema}
        return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= "response_format" in body

    def unreadable(self, content: str, body: dict[str, Any]) -> None:
        """Note that one was not: after some replies in prose, and none as asked, slots are asked for in text.

        A server that takes the type ``json_object`` may ignore the schema: there every unreadable object counts.
        """
        if self.structured != "auto" or "response_format" not in body or self.worked:
            return
        if self.as_object or not content.lstrip().startswith("{"):
            self.misses += 1
            self.as_text |= self.misses >= MISSES

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the server turned out not to take."""
        found = {
            "json_schema": self.as_object or (self.as_text and self.structured != "text"),
            "json_object": self.as_object and self.as_text,
            "seed": not self.seeds,
        }
        return tuple(name for name, gone in found.items() if gone)
