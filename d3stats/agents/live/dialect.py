"""What a server turns out to take: structured output, a seed, and the name of the limit on a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Dialect", "Structured"]

Structured = Literal["auto", "schema", "text"]
"""How a slot is asked for: as a JSON schema, as a last line of text, or as the server turns out to support."""

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
    seeds : bool
        Whether seeds are sent.
    """

    structured: Structured
    limit: str
    as_text: bool = False
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
        if status not in (400, 422) or not words:
            return False
        asked = "response_format" in body and self.structured == "auto"
        if asked and any(word in words for word in SCHEMA_WORDS):
            self.as_text = True
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

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= "response_format" in body

    def unreadable(self, content: str, body: dict[str, Any]) -> None:
        """Note that one was not: after some replies in prose, and none as asked, slots are asked for in text."""
        if self.structured != "auto" or "response_format" not in body or self.worked:
            return
        if not content.lstrip().startswith("{"):
            self.misses += 1
            self.as_text |= self.misses >= MISSES

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the server turned out not to take."""
        found = {"json_schema": self.as_text and self.structured != "text", "seed": not self.seeds}
        return tuple(name for name, gone in found.items() if gone)
