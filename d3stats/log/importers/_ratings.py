"""Records of judges' scores of items: a debate is an item, and each judge has one turn in its only round.

The exports of scores share these rules. A rating has a number, a label, or both. A judge with numbers votes by them,
any other judge by its labels; ``votes="label"`` takes the labels of all. A second rating of a judge on an item is that
of a judge "NAME (2)", and a rating that occurs again with the same identifier is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from d3stats._check import choice
from d3stats._words import Advised, counted, verb
from d3stats.log.importers._source import shape
from d3stats.log.schema import Item, Turn

Votes = Literal["score", "label"]


@dataclass(frozen=True)
class Rating:
    """One rating; `apart` are what tells judges of one name apart, such as the source of the score."""

    where: str
    item: str
    judge: str
    score: Any = None
    label: str | None = None
    said: str | None = None
    asked: str | None = None
    question: str | None = None
    log: str | None = None
    human: bool = False
    model: str | None = None
    error: str | None = None
    key: str | None = None
    apart: tuple[str, ...] = ()


def rating_records(
    ratings: Iterable[Rating], name: str, votes: Votes, said: list[str]
) -> Iterator[Item | Turn]:
    """Yield the records of ratings; `said` gets a sentence on each kind of rating that could be read in two ways.

    Raises
    ------
    ValueError
        When a score is no number, or `votes` is "label" and there is none.
    """
    choice("votes", votes, get_args(Votes))
    given = _once([_checked(one) for one in ratings], said)
    given = _told_apart(given)
    if votes == "label" and not any(one.label for one in given):
        raise ValueError(
            Advised("votes='label' needs labels", "leave votes (--votes) out", got="scores alone")
        )
    of_numbers = {one.judge for one in given if one.score is not None} if votes == "score" else set()
    both = [one for one in given if one.score is not None and one.label]
    if both:
        left, taken = ("label", "scores") if votes == "score" else ("score", "labels")
        said.append(
            f"{len(both):,} of {counted(len(given), 'rating')} have a score and a label, such as {both[0].score:g} and "
            f"{both[0].label!r}; votes are the {taken}; for the {left}s: --votes {left}"
        )
    lost: Counter[str] = Counter()
    first: dict[str, str] = {}
    debates: dict[str, tuple[Item, list[Turn]]] = {}
    again: list[str] = []
    times: Counter[tuple[str, str]] = Counter()
    for one in given:
        vote = _points(one.score) if one.judge in of_numbers else one.label
        if vote is None:
            why = one.error or ("no number" if one.judge in of_numbers else "no label")
            lost[why] += 1
            first.setdefault(why, one.where)
        times[one.item, one.judge] += 1
        k = times[one.item, one.judge]
        if k > 1:
            again.append(f"{one.judge!r} on {one.item!r}")
        if one.item not in debates:
            item = Item(one.item, one.question or one.item, log=one.log, protocol=name, text=one.asked)
            debates[one.item] = item, []
        debates[one.item][1].append(
            Turn(
                one.item,
                1,
                one.judge if k == 1 else f"{one.judge} ({k})",
                role="human" if one.human else "judge",
                vote=vote,
                model=one.model,
                text=one.said,
                error=None if vote is not None else one.error or "no_value",
            )
        )
    for why, n in lost.items():
        said.append(
            f"{n:,} of {counted(len(given), 'rating')} {verb(n, 'has', 'have')} no vote ({why}), "
            f"the first at {first[why]}"
        )
    if again:
        n = len(again)
        said.append(
            f"{counted(n, 'repeated rating')} {verb(n, 'is', 'are')} read as another judge's, NAME (2), "
            f"such as {again[0]}"
        )
    for item, turns in debates.values():
        yield item
        yield from turns


def _checked(one: Rating) -> Rating:
    """Return a rating whose score is a finite number or None."""
    for what, text in (("item", one.item), ("judge", one.judge)):
        shape(f"{one.where}, {what}", "a text that is not empty", bool(text), text)
    value = one.score
    if value is None or (isinstance(value, float) and math.isnan(value)):
        error = one.error or ("not a number" if value is not None else None)
        return replace(one, score=None, error=error)
    if isinstance(value, bool):
        return replace(one, score=float(value))
    shape(
        f"{one.where}, score",
        "a finite number or null",
        isinstance(value, (int, float)) and abs(value) < 1e308,
        value,
    )
    return one


def _once(ratings: Sequence[Rating], said: list[str]) -> list[Rating]:
    """Leave out ratings whose identifier occurred before; two different ones of one identifier are refused."""
    known: dict[str, Rating] = {}
    kept, copies = [], 0
    for one in ratings:
        if one.key is not None and one.key in known:
            if replace(one, where=known[one.key].where) != known[one.key]:
                got = f"{one.key!r} with other content at {known[one.key].where} and {one.where}"
                raise ValueError(Advised("an id must name one rating", "remove the outdated one", got=got))
            copies += 1
            continue
        if one.key is not None:
            known[one.key] = one
        kept.append(one)
    if copies:
        said.append(
            f"{counted(copies, 'copy', 'copies')} of a rating with the same id {verb(copies, 'is', 'are')} left out"
        )
    return kept


def _told_apart(ratings: Sequence[Rating]) -> list[Rating]:
    """Add to the names of judges what differs among those of one name."""
    values: dict[str, list[set[str]]] = {}
    for one in ratings:
        sets = values.setdefault(one.judge, [set() for _ in one.apart])
        for known, value in zip(sets, one.apart, strict=True):
            known.add(value)
    result = []
    for one in ratings:
        parts = [v for known, v in zip(values[one.judge], one.apart, strict=True) if len(known) > 1 and v]
        result.append(replace(one, judge=f"{one.judge} ({', '.join(parts)})" if parts else one.judge))
    return result


def _points(value: float | None) -> str | None:
    return None if value is None else str(value).removesuffix(".0")


def text(value: Any) -> str | None:
    """Return a text that is not empty, else None."""
    return value if isinstance(value, str) and value.strip() else None


def passed(value: Any) -> str | None:
    """Return "pass" or "fail" of a flag, None of anything else."""
    return None if not isinstance(value, bool) else "pass" if value else "fail"


def inside(data: Any, *keys: str) -> Any:
    """Return the first list that an object holds under these keys, or the data as they are."""
    while isinstance(data, Mapping):
        found = next((data[key] for key in keys if key in data), None)
        if found is None:
            return data
        data = found
    return data
