"""Rows of records that hold rounds or votes inside a question, as a dump of debates does.

Only keys that say what they hold are opened: those of rounds and those of votes. Anything else, such as the scores of
a turn, stays a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from d3stats.log.column_names import plain

__all__ = ["is_nested", "opens", "records_in", "rows_of"]

_ROUNDS = frozenset(("rounds", "turns", "history", "steps", "trajectory", "debate_rounds", "transcript"))
_VOTES = frozenset(
    (
        "votes",
        "ratings",
        "judgments",
        "judgements",
        "verdicts",
        "predictions",
        "agents",
        "judges",
        "raters",
        "jurors",
    )
)
_LISTS = frozenset(
    ("debates", "data", "results", "records", "items", "questions", "samples", "examples", "logs")
)
_KEYS = frozenset(map(plain, _ROUNDS | _VOTES))
_ROUND_KEYS = frozenset(map(plain, _ROUNDS))


def opens(key: str) -> bool:
    """Whether a key says that its value holds rounds or votes, if it holds anything."""
    return plain(key) in _KEYS


def is_nested(row: Mapping[str, Any]) -> bool:
    """Whether a record holds rounds or votes inside a value."""
    return any(isinstance(value, (dict, list)) and opens(key) for key, value in row.items())


def rows_of(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one record: what it says of itself, with each round and each vote inside it.

    A list of rounds without numbers counts them from 1, and a list of votes without names numbers the agents. In a
    mapping the keys are the rounds or the names of the agents.

    Examples
    --------
    >>> list(rows_of({"qid": "q1", "rounds": [{"votes": {"x": "A", "y": "B"}}]}))
    [{'qid': 'q1', 'round': 1, 'agent': 'x', 'vote': 'A'}, {'qid': 'q1', 'round': 1, 'agent': 'y', 'vote': 'B'}]
    >>> [row["vote"] for row in rows_of({"qid": "q1", "votes": ["A", "B"]})]
    ['A', 'B']
    """
    inside = [key for key, value in row.items() if isinstance(value, (dict, list)) and opens(key)]
    own = {key: value for key, value in row.items() if key not in inside}
    if not inside:
        yield own
        return
    key = next((key for key in inside if plain(key) in _ROUND_KEYS), inside[0])
    left = (
        {key: row[key] for key in inside[1:]} if key == inside[0] else {k: row[k] for k in inside if k != key}
    )
    name = "round" if plain(key) in _ROUND_KEYS else "agent"
    for number, held in _held(row[key]):
        for part in _parts(held, name):
            named = {} if name in map(plain, part) else {name: number}
            if name == "agent" and isinstance(number, int) and named:
                named = {name: f"agent {number}"}
            yield from rows_of({**own, **left, **named, **part})


def _held(value: Any) -> Iterator[tuple[Any, Any]]:
    """Return what a list or a mapping holds, with the number of each from 1, or its key."""
    yield from value.items() if isinstance(value, Mapping) else enumerate(value, start=1)


def _parts(held: Any, name: str) -> list[dict[str, Any]]:
    """Return one entry as a record: a mapping is one, a round may be a list of votes, and a single value is a vote."""
    if isinstance(held, Mapping):
        scalars = all(not isinstance(value, (dict, list)) for value in held.values())
        known = {plain(str(key)) for key in held} & _SAID
        return [{"votes": dict(held)}] if name == "round" and scalars and not known else [dict(held)]
    if isinstance(held, list):
        return [{"votes": held}] if name == "round" else [{"vote": one} for one in held[-1:]]
    return [{"vote": held}]


_SAID = frozenset(
    map(plain, ("agent", "vote", "answer", "correct", "text", "role", "round", "scores", "judge", "rater"))
)
"""Keys that say what a mapping with single values is of: of a turn, and not votes by agents' names."""


def records_in(data: Any) -> list[Any]:
    """Return the records that a JSON document holds: its list, the list inside it, or its values by name.

    Examples
    --------
    >>> records_in({"model": "m", "results": [{"q": 1}, {"q": 2}]})
    [{'model': 'm', 'q': 1}, {'model': 'm', 'q': 2}]
    >>> records_in({"q1": {"label": "A"}})
    [{'debate': 'q1', 'label': 'A'}]
    """
    if isinstance(data, Sequence) and not isinstance(data, str):
        return list(data)
    if not isinstance(data, Mapping):
        return [data]
    lists = [key for key, value in data.items() if isinstance(value, list) and plain(key) in _LISTS]
    if len(lists) == 1:
        own = {key: value for key, value in data.items() if not isinstance(value, (dict, list))}
        return [{**own, **one} if isinstance(one, Mapping) else one for one in data[lists[0]]]
    if len(data) and all(isinstance(value, Mapping) for value in data.values()):
        return [{"debate": key, **value} for key, value in data.items()]
    return [data]
