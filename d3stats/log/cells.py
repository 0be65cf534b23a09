"""Cells of a table by the kind of their column: what each text says, or why it is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from d3stats._words import has_half
from d3stats.log.column_names import to_type
from d3stats.log.problems import Advised
from d3stats.log.schema import MOST_TEMPERATURE, Item, Record, Turn, first_defect, parse_json
from d3stats.values import is_missing_word

_WHOLE = re.compile(r"([0-9]{1,15})(?:\.0*)?")
DECIMAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_TRUTH = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_TRUTH_WORDS = {
    word: truth
    for truth, words in enumerate(
        (
            "no n f wrong incorrect fail failed i falsch nein non faux \u2717 \u2718",
            "yes y t right correct pass passed c wahr richtig ja oui vrai s\u00ed \u2713 \u2714",
        )
    )
    for word in words.split()
}

Wrong = tuple[str, str, Any]
"""The field, what it must be, and what was got."""


class WrongCell(ValueError):
    """A cell that is not what its column may hold; `wrong` has the field, the requirement and the cell."""

    def __init__(self, name: str, requirement: str, got: Any) -> None:
        super().__init__(name)
        self.wrong: Wrong = (name, requirement, got)


def not_given(name: str) -> Wrong:
    """Say that of round and agent one is missing."""
    return name, "must be given with the other of round and agent", ""


def to_whole(name: str, text: str) -> int:
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        raise WrongCell(name, "must be a whole number >= 0", text)
    return int(match[1])


def to_temperature(name: str, text: str) -> float:
    if not is_temperature(text):
        raise WrongCell(name, f"must be a number from 0 to {MOST_TEMPERATURE:,}", text)
    return float(text)


def is_temperature(text: str) -> bool:
    """Whether a text is a number that a sampling temperature can be."""
    return DECIMAL.fullmatch(text.strip()) is not None and float(text) <= MOST_TEMPERATURE


def to_share(name: str, text: str) -> float:
    return float(text)  # looked at before, see `confidences.py`


_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[,' \u00a0\u202f][0-9]{3})+")


_COUNTS = frozenset(("tokens", "tokens_in", "tokens_out", "tokens_cached", "round", "stop_round"))


def how_to_write(name: str, got: Any) -> str:
    """Return how a whole number with marks between thousands or decimals is written, as the end of a refusal."""
    text = got.strip() if name in _COUNTS and isinstance(got, str) else ""
    if _THOUSANDS.fullmatch(text):
        return f" (write {re.sub('[^0-9]', '', text)})"
    if re.fullmatch(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+", text):
        return f" (write {text.replace('.', '')} if the point parts thousands)"
    return " (a count has no decimals: round it)" if re.fullmatch(r"[0-9]+[.,][0-9]+", text) else ""


def is_zero(text: str) -> bool:
    match = _WHOLE.fullmatch(text.strip())
    return match is not None and int(match[1]) == 0


def to_truth(name: str, text: str) -> int:
    word = text.strip().lower()
    found = _TRUTH.get(word, _TRUTH_WORDS.get(word) if name == "correct" else None)
    if found is None:
        raise WrongCell(name, "must be 0, 1 or empty", text)
    return found


def truths(texts: Iterable[str]) -> dict[str, int] | None:
    """Return what each text of a column correct says, nothing where one says neither right nor wrong."""
    known = _TRUTH | _TRUTH_WORDS
    meant = {t: known.get(t.strip().lower()) for t in texts if not is_missing_word(t)}
    return None if None in meant.values() else {t: truth for t, truth in meant.items() if truth is not None}


def truths_note(texts: Iterable[str]) -> list[str]:
    """Say how words in a column correct are read."""
    words = [t for t in texts if t.strip().lower() in _TRUTH_WORDS]
    read = ", ".join(f"{t!r} is {_TRUTH_WORDS[t.strip().lower()]}" for t in sorted(words)[:6])
    return [f"words in the column correct: {read}"] if words else []


def no_truths(texts: Iterable[str]) -> str | None:
    """Say which values of a column correct are none; without their rows the accuracy would be wrong."""
    odd = [t for t in texts if not is_missing_word(t) and t.strip().lower() not in _TRUTH | _TRUTH_WORDS]
    listed = ", ".join(map(repr, sorted(odd)[:5])) + (f" and {len(odd) - 5} more" if len(odd) > 5 else "")
    return (
        Advised("correct must be 0, 1 or empty", truths_advice(odd), got=f"correct={listed}") if odd else None
    )


def truths_advice(odd: Iterable[Any]) -> str:
    """Say what to do with values of a column correct that say neither right nor wrong."""
    try:
        _ = [float(each) for each in odd]
    except ValueError:
        choice_ = to_type(label="correct")
        return f"write 1 for right and 0 for wrong, or if the column holds right answers, choose it with {choice_}"
    return "for points name the column score"


def _json(name: str, text: str) -> Any:
    try:
        found = parse_json(text)
    except (ValueError, RecursionError):
        raise WrongCell(name, "must be JSON", text) from None
    # JSON in a cell can spell what the file itself cannot hold.
    if "\\" in text and has_half(json.dumps(found, ensure_ascii=False)):
        raise WrongCell(name, "must be text without half of a surrogate pair", text)
    return found


def to_answers(name: str, text: str) -> tuple[str, ...] | None:
    answers = _checked(name, _json(name, text), Item, debate="d", question="q")
    return None if answers is None else tuple(answers)


def to_scores(name: str, text: str) -> str | None:
    scores = _checked(name, _json(name, text), Turn, debate="d", round=1, agent="a")
    if scores is None:
        return None
    return msgspec.json.encode(msgspec.convert(scores, dict[str, dict[str, float]])).decode()


def _checked(name: str, value: Any, model: type[Record], **others: Any) -> Any:
    defect = first_defect(others | {name: value}, model)
    if defect is not None:
        raise WrongCell(*defect)
    return value
