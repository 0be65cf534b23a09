"""Multi-Agents-Debate on translation: two debaters, a moderator after each round, a judge at the end.

One JSON file per debate, with the messages of each player. After each round the moderator declares, as a
dictionary in the text, whether there is a preference and which side it supports. The debate ends when there
is one, or after the last round with the judge's choice.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import json_files, mapping, question_id, shape, stem, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "mad"
TITLE = "Translation debates of two debaters with a moderator and a judge"
SOURCE = "Skytliang/Multi-Agents-Debate @022a7a8e; licence: GPL-3.0"
NOTES = (
    "the moderator's vote is the preference declared in each round; 'no preference' is a vote, not missing",
    "a declared preference for both sides at once is a missing vote",
    "the file has no votes of debaters, so their votes are missing; select roles=['moderator']",
    "the judge's vote is the side whose translation, labelled with its side, equals the final one word for "
    "word; otherwise it is missing",
)

SIDES = ("affirmative", "negative")
NO_PREFERENCE = "no preference"

_PLAYERS = {"Affirmative side": "affirmative", "Negative side": "negative"}
_CANDIDATE = re.compile(
    r'^\W*(Affirmative|Negative)\b[^:\n]*:\s*"([^"\n]+)"\s*$', re.IGNORECASE | re.MULTILINE
)


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the archive, of a folder of debates, or of one debate."""
    for name, data in json_files(source, "*.json"):
        yield from _debate(name, data)


def _debate(name: str, data: Any) -> Iterator[Item | Turn | Verdict]:
    entry = mapping(name, data, ("model_name", "source", "debate translation", "players"))
    players = mapping(f"{name}, players", entry["players"], (*_PLAYERS, "Moderator"))
    said = {player: _said(f"{name}, {player}", messages) for player, messages in players.items()}
    # The affirmative side first gives the base translation, then restates it with reasons: one turn.
    opening = said["Affirmative side"]
    said["Affirmative side"] = ["\n\n".join(opening[:2]), *opening[2:]]
    debate = f"mad/{stem(name)}"
    model = string(f"{name}, model_name", entry["model_name"])
    asked = string(f"{name}, source", entry["source"])
    final = string(f"{name}, debate translation", entry["debate translation"])
    sides, question = (*SIDES, NO_PREFERENCE), question_id("commonmt", asked)
    yield Item(debate, question, answers=sides, log="mad", protocol="mad", text=asked)
    votes = [_preference(declared) for declared in said["Moderator"]]
    shape(f"{name}, Moderator", "a player who speaks", bool(votes), said["Moderator"])

    def turn(played: int, agent: str, role: str, vote: str | None, text: str) -> Turn:
        return Turn(debate, played, agent, role=role, vote=vote, model=model, text=text)

    for played, (declared, vote) in enumerate(zip(said["Moderator"], votes, strict=True), start=1):
        for player, side in _PLAYERS.items():
            if played <= len(said[player]):
                yield turn(played, side, "debater", None, said[player][played - 1])
        yield turn(played, "moderator", "moderator", vote, declared)
    last = len(votes)
    if "Judge" in said:
        judged = _judged(said["Judge"], final)
        yield turn(last, "judge", "judge", judged, "\n\n".join(said["Judge"]))
        yield Verdict(debate=debate, decision=judged, round=last, stop_reason="judge")
    else:
        decision = votes[-1] if votes[-1] in SIDES else None
        yield Verdict(debate=debate, decision=decision, round=last, stop_reason="moderator-preference")


def _said(where: str, messages: Any) -> list[str]:
    shape(where, "a list of messages", isinstance(messages, list), messages)
    return [
        string(f"{where}, content", entry["content"])
        for entry in (mapping(f"{where}, message", message, ("role", "content")) for message in messages)
        if entry["role"] == "assistant"
    ]


def _preference(declared: str) -> str | None:
    """Read the moderator's dictionary; None when it cannot be read or names no single side."""
    entry = _dictionary(declared)
    if entry is None:
        return None
    preference = str(entry.get("Whether there is a preference", "")).strip().lower()
    side = str(entry.get("Supported Side", "")).strip().lower()
    if preference == "no":
        return NO_PREFERENCE
    return side if preference == "yes" and side in SIDES else None


def _dictionary(text: str) -> Mapping[str, Any] | None:
    # The models write single quotes, so most of these are Python literals and not JSON; nothing is executed.
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def _judged(said: list[str], final: str) -> str | None:
    if not said:
        return None
    sides = {match[1].lower() for match in _CANDIDATE.finditer(said[0]) if match[2].strip() == final.strip()}
    return sides.pop() if len(sides) == 1 else None
