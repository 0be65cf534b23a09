"""Replies are read strictly, from the one object that the model was asked for, or not at all.

A reply that is not exactly what the slot asks for is unreadable. Nothing is looked for in prose, nothing is coerced,
nothing is filled in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from d3stats._words import storable
from d3stats.run.live.prompt import LISTED, OPEN_VOTE, Wire

__all__ = ["Read", "Unreadable", "read_reply"]

BLANKS = " \t\r\n"
FENCE = "```"
THOUGHT = ("<think>", "<thinking>", "<thought>")
THOUGHT_OVER = ("</think>", "</thinking>", "</thought>", "<|channel|>final<|message|>")
"""Marks before and after the thoughts of a model."""

LONGEST = 1_000_000
"""The most characters of a reply that is looked at."""


class Unreadable(ValueError):
    """A reply is not what was asked for; the message says why, in our words and with nothing quoted from it."""


@dataclass(frozen=True, slots=True)
class Read:
    """The contents of a reply, by the names of candidates and options and not by their places."""

    text: str
    vote: str | None
    scores: dict[str, dict[str, float]] | None
    confidence: float | None = None


def read_reply(content: str, wire: Wire, nonce: str | None) -> Read:
    """Read the structured slot of a reply, by its nonce where it is asked for as a last line; else `Unreadable`.

    Around the object there may be what servers put there of themselves: thoughts before it
    (``<think>...</think>``, of which a server may have kept the opening), a fence of three backticks about it.
    """
    if len(content) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} characters")
    value = _object(_unwrapped(content, wire) if nonce is None else _last_line(content, nonce))
    _exactly(value, tuple(wire.asked), "the object")
    text = _text(value, wire)
    vote = _vote(value["vote"], wire) if wire.slot.wants_vote else None
    scores = _scores(value["scores"], wire) if wire.slot.rubric is not None else None
    confidence = _confidence(value["confidence"]) if "confidence" in wire.asked else None
    return Read(storable(text), vote, scores, confidence if vote is not None else None)


def _unwrapped(content: str, wire: Wire) -> str:
    """Return what follows thoughts, and stands inside of a fence about all of it."""
    text = content.strip(BLANKS)
    if not text.startswith("{"):
        opened = text.startswith(THOUGHT)
        # A thought may quote anything, a closing tag and an object too: nothing before the last tag counts. A tag
        # that nothing opened is one of the server's only where no text that was shown has it.
        ends = [text.rfind(tag) + len(tag) for tag in THOUGHT_OVER if tag in text]
        if ends and (opened or not any(tag in shown for tag in THOUGHT_OVER for shown in wire.texts)):
            text = text[max(ends) :].strip(BLANKS)
        elif opened:
            raise Unreadable("its thoughts do not end")
    first, _, rest = text.partition("\n")
    inside, _, last = rest.rpartition("\n")
    fenced = first.rstrip(BLANKS).lower() in (FENCE, f"{FENCE}json")
    return inside if fenced and last == FENCE else text


def _last_line(content: str, nonce: str) -> str:
    lines = content.rstrip().split("\n")
    fences = [line for line in lines if line.startswith(FENCE)]
    if lines[-1].rstrip() == FENCE and len(fences) % 2 == 0:
        # The last line of a fenced part that was opened before.
        lines.pop()
    word, _, rest = lines[-1].strip().partition(" ")
    if word != nonce:
        raise Unreadable(f"its last line does not begin with the word {nonce}")
    return rest


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except Unreadable:
        raise
    except (ValueError, RecursionError):
        raise Unreadable("it is not one JSON object and nothing else") from None
    if not isinstance(value, dict):
        raise Unreadable("it is not one JSON object and nothing else")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unreadable("a field stands in it twice")
    return value


def _no_constant(word: str) -> float:
    raise Unreadable(f"{word} is not a number")


def _exactly(value: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} must be an object")
    if set(value) != set(names):
        lacking = [name for name in names if name not in value]
        fault = f"lacks {lacking[0]!r}" if lacking else "has a field that was not asked for"
        raise Unreadable(f"{what} {fault}; it must have {', '.join(names)} and nothing else")


def _text(value: dict[str, Any], wire: Wire) -> str:
    if wire.slot.listed:
        entries = value["list"]
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise Unreadable("list must be a list of strings")
        # One entry is one line of the text.
        lines = [" ".join(entry.split()) for entry in entries]
        if len(lines) != wire.slot.listed or not all(lines) or max(map(len, lines)) > LISTED:
            raise Unreadable(
                f"list must hold {wire.slot.listed} texts, none empty, of at most {LISTED} characters each"
            )
        return "\n".join(lines)
    if not wire.wants_text:
        return ""
    text = value["text"]
    if not isinstance(text, str):
        raise Unreadable("text must be a string")
    return text


def _vote(word: Any, wire: Wire) -> str | None:
    if word is None and wire.slot.may_pass:
        return None
    if not isinstance(word, str):
        raise Unreadable("vote must be a string")
    if wire.votes:
        answer = wire.votes.get(word)
        if answer is None:
            raise Unreadable("vote must be one of those that were named, letter for letter")
        return answer
    answer = storable(" ".join(word.split()))
    if not answer or len(answer) > OPEN_VOTE:
        raise Unreadable(f"vote must be 1 to {OPEN_VOTE} characters")
    return answer


def _confidence(given: Any) -> float:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    # NaN and infinity are in no range.
    if not number or not 0 <= given <= 100:
        raise Unreadable("confidence must be a number from 0 to 100")
    return float(given) / 100


def _scores(given: Any, wire: Wire) -> dict[str, dict[str, float]]:
    rubric = wire.slot.rubric
    assert rubric is not None
    _exactly(given, tuple(wire.sides), "scores")
    scores = {}
    for word, side in wire.sides.items():
        _exactly(given[word], rubric.criteria, f"scores.{word}")
        points = {name: given[word][name] for name in rubric.criteria}
        for name, value in points.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            # NaN and infinity are in no range.
            if not number or not rubric.low <= value <= rubric.high:
                raise Unreadable(f"scores.{word}.{name} must be a number from {rubric.low} to {rubric.high}")
        scores[side] = {name: float(value) for name, value in points.items()}
    # By name, in the order of the names: the placement leaves no trace in the log.
    return {side: scores[side] for side in rubric.sides}
