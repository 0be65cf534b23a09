"""LLMBar: judges choose between two outputs, shown in both orders; the better one is known.

Read either the raw result files ``SUBSET__JUDGE__STRATEGY.json`` or the table of votes
``subset,item,judge,strategy,step,label,winner_order_F,winner_order_T,score_1,score_2`` (CSV, may be gzipped), which
has no texts. A debate is one item before one judge under one strategy; its two agents are the two orders. Strategies
that ask again when the orders disagree ("Swap") have a second round on those items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import (
    csv_rows,
    flat_text,
    json_files,
    mapping,
    points,
    sequence,
    shape,
    stem,
)
from d3stats.log.schema import Item, Turn, Verdict

NAME = "llmbar"
TITLE = "419 items with a known better output, judged by LLMs in both orders"
SOURCE = "princeton-nlp/LLMBar @900616bf; licence: MIT"
NOTES = (
    "votes are folded back to the item's own numbering: '1' is output_1 in either order",
    "accuracy is over both orders and over the votes cast; order consistency is over items with both votes",
    "the question is the item, shared by judges and strategies; log is JUDGE/STRATEGY",
    "a step without votes (generated metrics or references) is no round",
)

ANSWERS = ("1", "2")
ORDERS = {"order 1-2": "swap = False", "order 2-1": "swap = True"}
_COLUMNS = ("subset", "item", "judge", "strategy", "step", "label", "winner_order_F", "winner_order_T")
_TABLE_ORDERS = {"order 1-2": "winner_order_F", "order 2-1": "winner_order_T"}


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a folder of raw result files, of one of them, or of the table of votes."""
    if source.name.endswith((".csv", ".csv.gz")):
        yield from _from_table(source)
        return
    for name, data in json_files(source, "*__*__*.json"):
        fields = stem(name).split("__")
        shape(f"file name {name}", "SUBSET__JUDGE__STRATEGY.json", len(fields) == 3, name)
        subset, judge, strategy = fields
        shape(name, "a list of items", isinstance(data, list), data)
        for index, value in enumerate(data):
            key = (subset.replace("_", "/"), str(index), judge, strategy)
            yield from _from_raw(f"{name}, item {index}", value, key)


_Key = tuple[str, str, str, str]
"""Subset, item, judge and strategy."""


def _item(key: _Key, label: str, **texts: Any) -> Item:
    subset, item, judge, strategy = key
    question, log = f"llmbar:{subset}/{item}", f"{judge}/{strategy}"
    return Item("/".join(key), question, label=label, answers=ANSWERS, log=log, protocol="pairwise", **texts)


def _turn(key: _Key, played: int, agent: str, vote: str | None, **said: Any) -> Turn:
    return Turn("/".join(key), played, agent, role="judge", vote=vote, model=key[2], **said)


def _from_raw(where: str, value: Any, key: _Key) -> Iterator[Item | Turn]:
    entry = mapping(where, value, ("input", "label", "results"))
    outputs = [flat_text(entry[name]) for name in ("output_1", "output_2") if name in entry]
    candidates = tuple(outputs) if len(outputs) == 2 else None
    label = _answer(f"{where}, label", entry["label"])
    yield _item(key, label, text=str(entry["input"]), candidates=candidates)
    steps = [
        mapping(f"{where}, step {i}", step, tuple(ORDERS.values()))
        for i, step in enumerate(sequence(f"{where}, results", entry["results"]), start=1)
    ]
    voted = [step for step in steps if any(_has_winner(step[order]) for order in ORDERS.values())]
    shape(f"{where}, results", "a list with at least one vote", bool(voted), steps)
    for played, step in enumerate(voted, start=1):
        for agent, order in ORDERS.items():
            result = mapping(f"{where}, {order}", step.get(order), ("winner", "completion"))
            said, winner = result["completion"], result["winner"]
            vote = None if winner is None else _answer(f"{where}, {order}, winner", winner)
            yield _turn(
                key, played, agent, vote, text=str(said[0] if isinstance(said, list) and said else said)
            )


def _has_winner(result: Any) -> bool:
    return isinstance(result, dict) and "winner" in result


def _from_table(source: Path) -> Iterator[Item | Turn]:
    played: Counter[_Key] = Counter()
    for where, row in csv_rows(source, _COLUMNS):
        key = (row["subset"], row["item"], row["judge"], row["strategy"])
        if key not in played:
            yield _item(key, _answer(f"{where}, label", row["label"]))
        played[key] += 1
        ratings = {side: f"score_{side}" for side in ANSWERS if row.get(f"score_{side}")}
        scores = {side: {"rating": points(f"{where}, {name}", row[name])} for side, name in ratings.items()}
        for agent, column in _TABLE_ORDERS.items():
            vote = _answer(f"{where}, {column}", row[column]) if row[column] else None
            yield _turn(key, played[key], agent, vote, scores=scores or None)


def _answer(where: str, value: Any) -> str:
    answer = str(value).strip()
    shape(where, "1 or 2", answer in ANSWERS, value)
    return answer
