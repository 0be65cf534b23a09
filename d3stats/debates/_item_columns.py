"""Rows of a table into items: which column says what, and how people write who won."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from d3stats.debates.items import DebateItem, item_id
from d3stats.log.column_names import other_names, plain
from d3stats.log.importers._source import flat_text

__all__ = ["Found", "Rows", "items_of_rows", "with_ties"]

Rows = Sequence[tuple[str, Mapping[str, Any]]]
"""Where a row stands, in words, and its cells."""

Found = list[tuple[str, DebateItem]]

_TEXT = ("question", "prompt", "instruction", "query", "questiontext", "text", "input")
_WORDS = ("response", "answer", "output", "candidate", "conversation")
_PAIRS = [(f"{word}{one}", f"{word}{two}") for word in _WORDS for one, two in (("a", "b"), ("1", "2"))]
_MODELS = (("modela", "modelb"), ("model1", "model2"))
_WINNER = ("label", "winner", "preference", "preferred", "gold")
_RIGHT = ("label", "answer", *other_names("label"))
_OPTIONS = ("answers", "options", "choices")
_ID = ("id", "questionid", "item", "idx", *(name for name in other_names("question") if name.endswith("id")))
_CLUSTER = ("cluster", "category", "topic", "group")
_FLAGS = ("winnermodela", "winnermodelb", "winnertie")
_SCORES = ("modelascore", "modelbscore")

_SIDE = re.compile(r"(?:model|response|answer|output|candidate|assistant|conversation)?(?:(a|1)|(b|2))")
_TIES = ("tie", "draw", "equal", "same", "both", "tiebothbad", "bothbad", "bothgood")


def items_of_rows(rows: Rows, source: str, ties: bool | None, limit: int | None = None) -> Found:
    """Return one item per content, with the first place where it stands.

    Raises
    ------
    ValueError
        When a column is missing or a cell is not what it must be, rows after the first `limit` items aside.
    """
    columns = _Columns(rows, source)
    items: dict[tuple[str, ...], tuple[str, DebateItem]] = {}
    judged: dict[tuple[str, ...], Counter[str]] = {}
    for where, row in rows:
        try:
            item, outcome = columns.item(row)
        except ValueError as error:
            if limit is not None and len(items) >= limit:
                continue
            raise ValueError(f"{error} ({where})") from None
        # Of a question without candidates each row is an item by itself: two right answers are a conflict.
        key = (item.question, item.text, *(item.candidates or (str(item.label), str(item.answers))))
        items.setdefault(key, (where, item))
        if item.candidates:
            judged.setdefault(key, Counter()).update([] if outcome is None else [outcome])
    shared = Counter(item.text for _, item in items.values() if item.candidates)
    found = [
        (where, _clustered(item, shared[item.text]), _plurality(judged.get(key)))
        for key, (where, item) in items.items()
    ]
    return with_ties(found, ties)


def _clustered(item: DebateItem, pairs: int) -> DebateItem:
    """Give pairs of one question, which are not independent, a common cluster when they were given none."""
    return replace(item, cluster=item_id(item.text)) if pairs > 1 and item.cluster is None else item


def with_ties(found: Iterable[tuple[str, DebateItem, str | None]], ties: bool | None) -> Found:
    """Give items with candidates their label, and all of them one set of answers: with a tie or without."""
    listed = list(found)
    allow = any(outcome == "tie" for _, _, outcome in listed) if ties is None else ties
    result = []
    for where, item, outcome in listed:
        if not item.candidates or item.answers != ("A", "B"):
            result.append((where, item))
            continue
        answers = ("A", "B", "tie") if allow else ("A", "B")
        label = outcome if outcome in answers else None
        result.append((where, replace(item, answers=answers, label=label)))
    return result


def _plurality(votes: Counter[str] | None) -> str | None:
    ranked = votes.most_common(2) if votes else []
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


class _Columns:
    """Which column of a table says what."""

    def __init__(self, rows: Rows, source: str) -> None:
        names: dict[str, str] = {}
        for _, row in rows:
            for name in row:
                known = plain(name)
                if names.setdefault(known, name) != name:
                    raise ValueError(
                        f"columns of {source} must have different names; got {names[known]!r} and {name!r}"
                    )
        if not rows:
            raise ValueError(f"{source} must hold at least one item; got none")
        self.names = names
        # As this package writes items, "question" is the identifier and "text" asks.
        own = {"text", "question", "candidates"} <= set(names)
        if {"text", "question"} <= set(names) and not own:
            raise ValueError(
                f"{source} must have one column that asks; got both question and text (an identifier is called id)"
            )
        self.text = names["text"] if own else self._first(_TEXT)
        self.id = names["question"] if own else self._first(_ID)
        self.pair = next(((names[a], names[b]) for a, b in _PAIRS if a in names and b in names), None)
        self.listed = names.get("candidates")
        has_pair = self.pair is not None or self.listed is not None
        self.label = self._first(_WINNER if has_pair else _RIGHT)
        self.options = self._first(_OPTIONS)
        self.cluster = self._first(_CLUSTER)
        self.models = next(((names[a], names[b]) for a, b in _MODELS if a in names and b in names), None)
        half = next((pair for pair in _PAIRS if (pair[0] in names) != (pair[1] in names)), None)
        if self.text is None or (half is not None and not has_pair):
            need = "question (or prompt, instruction, text)"
            if half is not None:
                need += f" and both {half[0][:-1]}_{half[0][-1]} and {half[1][:-1]}_{half[1][-1]}"
            raise ValueError(
                f"{source} must have the columns {need}; got {', '.join(names.values()) or 'none'}"
            )
        self.turns = {
            name
            for name in (self.text, *(self.pair or ()))
            if all(_absent(row.get(name)) or _is_turns(row[name]) for _, row in rows)
        }

    def _first(self, aliases: Sequence[str]) -> str | None:
        return next((self.names[name] for name in aliases if name in self.names), None)

    def item(self, row: Mapping[str, Any]) -> tuple[DebateItem, str | None]:
        """Return a row's item, without the label of candidates, and the outcome that the row reports."""
        assert self.text is not None
        text = self._said(row, self.text)
        if plain(self.text) == "instruction" and "input" in self.names:
            text = f"{text}\n{self._said(row, self.names['input'])}".rstrip("\n")
        candidates, models = self._candidates(row), self._models(row)
        answers = _options(self._cell(row, self.options))
        name = _scalar(self._cell(row, self.id)) or ""
        cluster = _scalar(self._cell(row, self.cluster))
        label = _scalar(self._cell(row, self.label))
        if not candidates:
            return DebateItem(name, text, (), answers, label, cluster), None
        if cluster is None and not name:
            cluster = item_id(text)
        if answers is not None and answers[:2] != ("A", "B"):
            return DebateItem(name, text, candidates, answers, label, cluster, models, True), None
        item = DebateItem(name, text, candidates, None, None, cluster, models, True)
        return item, self._outcome(row, label, models)

    def _cell(self, row: Mapping[str, Any], column: str | None) -> Any:
        value = None if column is None else row.get(column)
        return None if _absent(value) else value

    def _said(self, row: Mapping[str, Any], column: str) -> str:
        value = self._cell(row, column)
        return flat_text(value, decode=column in self.turns)

    def _candidates(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        if self.pair is not None:
            return tuple(self._said(row, column) for column in self.pair)
        listed = self._cell(row, self.listed)
        if isinstance(listed, str):
            listed = _parsed(listed)
        return () if listed is None else tuple(flat_text(text) for text in listed)

    def _models(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        if self.models is None:
            listed = self._cell(row, self.names.get("models"))
            return tuple(map(str, listed)) if isinstance(listed, (list, tuple)) else ()
        names = [_scalar(self._cell(row, column)) for column in self.models]
        return tuple(name for name in names if name) if all(names) else ()

    def _outcome(self, row: Mapping[str, Any], label: str | None, models: tuple[str, ...]) -> str | None:
        if self.label is not None:
            return None if label is None else _winner(label, models)
        for columns, read in ((_FLAGS, _of_flags), (_SCORES, _of_scores)):
            given = [self._cell(row, self.names.get(column)) for column in columns]
            if any(value is not None for value in given):
                return read(given)
        return None


def _winner(label: str, models: tuple[str, ...]) -> str:
    word = plain(label)
    side = _SIDE.fullmatch(word)
    if label in models and len(set(models)) == 2:
        return "AB"[models.index(label)]
    if side is not None:
        return "A" if side[1] else "B"
    if word in _TIES:
        return "tie"
    raise ValueError(f"label must be A, B, tie, 1, 2, model_a or the like; got label={label!r}")


def _of_flags(given: list[Any]) -> str:
    flags = [None if value is None else _scalar(value) for value in given]
    won = [flag in ("1", "true", "1.0") for flag in flags]
    if sum(won) != 1 or any(flag not in (None, "0", "1", "false", "true", "0.0", "1.0") for flag in flags):
        raise ValueError(f"winner flags must be 0 or 1, one of them 1; got {flags}")
    return ("A", "B", "tie")[won.index(True)]


def _of_scores(given: list[Any]) -> str | None:
    if None in given:
        return None
    try:
        first, second = (float(value) for value in given)
    except (TypeError, ValueError):
        raise ValueError(f"scores must be numbers; got {given}") from None
    return "tie" if first == second else "A" if first > second else "B"


def _options(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        parsed = _parsed(value)
        value = parsed if isinstance(parsed, list) else [part.strip() for part in value.split("|")]
    if value is None:
        return None
    if not isinstance(value, Iterable) or isinstance(value, (str, Mapping)):
        raise ValueError(f"answers must be a list of names; got answers={value!r}")
    return tuple(_scalar(name) or "" for name in value)


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith("["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _is_turns(value: Any) -> bool:
    """Whether a cell is the JSON of a list of texts, as chat logs write the turns of a conversation."""
    parsed = _parsed(value) if isinstance(value, str) else value
    return isinstance(parsed, list) and all(part is None or isinstance(part, str) for part in parsed)


def _is_na(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType")


def _absent(value: Any) -> bool:
    return (
        value is None
        or _is_na(value)
        or (isinstance(value, float) and value != value)
        or (isinstance(value, str) and not value.strip())
    )


def _scalar(value: Any) -> str | None:
    """Write a cell as text; a whole number that a table turned into 3.0 is 3 again."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = (str(value).lower() if isinstance(value, bool) else str(value)).strip()
    return text or None
