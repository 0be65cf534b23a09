"""Rows of records that hold rounds or votes inside a question, as a dump of debates does.

Only keys that say what they hold are opened: those of rounds and those of votes. Anything else, such as the scores of
a turn, stays a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from d3stats.log.column_names import other_names, plain

__all__ = ["is_nested", "may_open", "opens", "records_in", "rows_of"]

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
_FIRST = frozenset(
    plain(f"{when}{what}")
    for when in ("initial", "first", "independent", "start", "opening", "before")
    for what in ("", "_votes", "_answers", "_round", "_responses", "_opinions")
)
"""Keys of what agents voted before the first round."""
_LISTS = frozenset(
    ("debates", "data", "results", "records", "items", "questions", "samples", "examples", "logs")
)
_MAYBE_VOTES = frozenset(
    map(plain, ("responses", "replies", "outputs", "answers", "messages", "generations"))
)
"""Keys that hold votes where their values are records of turns; else they may hold texts or candidates."""
_MAYBE_ROUNDS = frozenset(map(plain, ("debate", "discussion", "dialogue", "conversation")))
"""Keys that hold rounds where their values are records; else they name a debate."""
_KEYS = frozenset(map(plain, _ROUNDS | _VOTES)) | _MAYBE_VOTES | _MAYBE_ROUNDS
_ROUND_KEYS = frozenset(map(plain, _ROUNDS)) | _MAYBE_ROUNDS
_NUMBERED = re.compile(r"(?:round|turn|step|iteration|rd|r)([0-9]{1,3})")
_SAID = frozenset(
    map(plain, ("agent", "vote", "answer", "correct", "text", "role", "round", "scores", "judge", "rater"))
) | frozenset(
    plain(name)
    for field in ("vote", "correct", "text", "tokens", "tokens_in", "tokens_out")
    for name in (field, *other_names(field))
)
"""Keys that say what a mapping with single values is of: of a turn, and not votes by agents' names."""

_MODELS = frozenset(map(plain, ("model", "model_id", "model_name", "llm")))
_AGENTS = frozenset(map(plain, ("agent", "judge", "rater", *other_names("agent")))) - _MODELS
"""Keys of who votes; several agents may share a model."""


@cache
def _plain(key: str) -> str:
    return plain(key)


def may_open(key: str) -> bool:
    """Whether a key says that its value may hold rounds or votes."""
    return _plain(key) in _KEYS or _NUMBERED.fullmatch(_plain(key)) is not None


def opens(key: str, value: Any) -> bool:
    """Whether a key says that its value holds rounds or votes, and the value can hold them."""
    if not isinstance(value, (dict, list)) or not may_open(key):
        return False
    inside = list(value.values()) if isinstance(value, Mapping) else value
    records = bool(inside) and all(isinstance(one, Mapping) for one in inside)
    if _plain(key) in _MAYBE_VOTES:
        return records and all(_said(one) for one in inside)
    return records if _plain(key) in _MAYBE_ROUNDS else True


def is_nested(row: Mapping[str, Any]) -> bool:
    """Whether a record holds rounds or votes inside a value."""
    return any(opens(key, value) for key, value in row.items())


def rows_of(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one record: what it says of itself, with each round and each vote inside it.

    A list of rounds without numbers counts them from 1, and a list of votes without names numbers the agents. In a
    mapping the keys are the rounds or the names of the agents; keys such as ``round_1`` are rounds, too.

    Examples
    --------
    >>> list(rows_of({"qid": "q1", "rounds": [{"votes": {"x": "A", "y": "B"}}]}))
    [{'qid': 'q1', 'round': 1, 'agent': 'x', 'vote': 'A'}, {'qid': 'q1', 'round': 1, 'agent': 'y', 'vote': 'B'}]
    >>> [row["vote"] for row in rows_of({"qid": "q1", "votes": ["A", "B"]})]
    ['A', 'B']
    >>> list(rows_of({"qid": "q1", "round_2": [{"x": "A"}]}))
    [{'qid': 'q1', 'round': 2, 'agent': 'x', 'vote': 'A'}]
    """
    row = _with_first_votes(row)
    inside = {key: value for key, value in row.items() if opens(key, value)}
    own = {key: value for key, value in row.items() if key not in inside}
    if not inside:
        yield own
        return
    numbered = {key: found[1] for key in inside if (found := _NUMBERED.fullmatch(_plain(key)))}
    if numbered:
        key, held = "rounds", {int(numbered[key]): inside.pop(key) for key in numbered}
    else:
        key = next((key for key in inside if _plain(key) in _ROUND_KEYS), next(iter(inside)))
        held = inside.pop(key)
    of_round = _plain(key) in _ROUND_KEYS or bool(
        _AGENTS & set(map(_plain, own))
    )  # votes of one agent are rounds
    name = "round" if of_round else "agent"
    for number, one in _held(held):
        for part in _parts(one, name, number):
            names = set(map(_plain, part))
            known = names & (_AGENTS | {"votes"} if name == "agent" else {"round"})
            called = f"agent {number}" if name == "agent" and isinstance(number, int) else number
            yield from rows_of({**own, **inside, **({} if known else {name: called}), **part})


def _with_first_votes(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the votes before the first round, by the same agents and beside the rounds, into the rounds as round 0."""
    rounds = next(
        (key for key, value in row.items() if _plain(key) in _ROUND_KEYS and opens(key, value)), None
    )
    first = next((key for key in row if _plain(key) in _FIRST), None)
    if rounds is None or first is None or not isinstance(row[rounds], list) or not row[rounds]:
        return row
    agents, told = _by_agent(row[rounds][0]), _by_agent(row[first])
    if len(told) < 2 or agents != told:
        return row
    left = {key: value for key, value in row.items() if key != first}
    return {**left, rounds: dict(enumerate([row[first], *row[rounds]]))}


def _by_agent(held: Any) -> frozenset[str]:
    """Return the names by which a round holds single votes, directly or under a key of votes."""
    if not isinstance(held, Mapping):
        return frozenset()
    inner = [value for key, value in held.items() if isinstance(value, Mapping) and opens(key, value)]
    votes = inner[0] if len(inner) == 1 else held
    return frozenset(votes) if all(map(_single, votes.values())) and not _said(votes) else frozenset()


def _held(value: Any) -> Iterator[tuple[Any, Any]]:
    """Return what a list or a mapping holds, with the number of each from 1, or its key."""
    yield from value.items() if isinstance(value, Mapping) else enumerate(value, start=1)


def _parts(held: Any, name: str, number: Any) -> list[dict[str, Any]]:
    """Return one entry as a record: a mapping is one, a round may be a list of votes, and a single value is a vote.

    A mapping of single values without a key of a turn holds votes by the names of agents: of a round, and in a list of
    votes one of them, or a round where it holds several.
    """
    if isinstance(held, Mapping):
        if not held or _said(held) or not all(_single(value) for value in held.values()):
            return [dict(held)]
        if name == "round":
            return [{"votes": dict(held)}]
        if len(held) == 1:
            ((agent, vote),) = held.items()
            return [{"agent": agent, "vote": vote}]
        return [{"round": number, "votes": dict(held)}]
    if isinstance(held, list):
        if name == "round":
            return [{"votes": held}]
        return [
            {"vote": one, **({"round": k} if len(held) > 1 else {})} for k, one in enumerate(held, start=1)
        ]
    return [{"vote": held}]


def _single(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _said(held: Mapping[str, Any]) -> bool:
    """Whether a mapping has a key of a turn."""
    return any(_plain(str(key)) in _SAID for key in held)


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
        name = "debate_id" if any("debate" in value for value in data.values()) else "debate"
        return [{name: key, **value} for key, value in data.items()]
    return [data]
