"""LLMBar: judges choose between two outputs, shown in both orders; the better one is known.

Read either the raw result files ``SUBSET__JUDGE__STRATEGY.json`` or the table of votes
``subset,item,judge,strategy,step,label,winner_order_F,winner_order_T,score_1,score_2``. A debate is one item
before one judge under one strategy; its two agents are the two orders. Strategies that ask again when the
orders disagree ("Swap") have a second round on those items.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import (
    files,
    flat_text,
    json_of,
    mapping,
    points,
    sequence,
    shape,
    stem,
    text_of,
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


def records(source: Path, *, text: bool = False) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a folder of raw result files, of one of them, or of the table of votes.

    Parameters
    ----------
    source : Path
        A folder, a ``SUBSET__JUDGE__STRATEGY.json`` file, or a CSV (may be gzipped).
    text : bool
        Keep the inputs, the outputs and the judges' texts (raw files only).

    Raises
    ------
    ValueError
        When a file's name or content does not have this shape.
    """
    if source.name.endswith((".csv", ".csv.gz")):
        yield from _from_table(source)
        return
    for name, content in files(source, "*__*__*.json"):
        fields = stem(name).split("__")
        shape(f"file name {name}", "SUBSET__JUDGE__STRATEGY.json", len(fields) == 3, name)
        subset, judge, strategy = fields
        data = json_of(name, content)
        shape(name, "a list of items", isinstance(data, list), data)
        for index, value in enumerate(data):
            yield from _from_raw(
                f"{name}, item {index}",
                value,
                _Key(subset.replace("_", "/"), str(index), judge, strategy),
                text,
            )


class _Key:
    """Names of one debate."""

    def __init__(self, subset: str, item: str, judge: str, strategy: str) -> None:
        self.judge = judge
        self.question = f"llmbar:{subset}/{item}"
        self.debate = f"{subset}/{item}/{judge}/{strategy}"
        self.log = f"{judge}/{strategy}"

    def item(self, label: str, text: str | None = None, candidates: tuple[str, str] | None = None) -> Item:
        return Item(
            debate=self.debate,
            question=self.question,
            label=label,
            answers=ANSWERS,
            log=self.log,
            protocol="pairwise",
            text=text,
            candidates=candidates,
        )

    def turn(
        self,
        played: int,
        agent: str,
        vote: str | None,
        scores: dict[str, dict[str, float]] | None = None,
        text: str | None = None,
    ) -> Turn:
        return Turn(
            debate=self.debate,
            round=played,
            agent=agent,
            role="judge",
            vote=vote,
            scores=scores,
            model=self.judge,
            text=text,
        )


def _from_raw(where: str, value: Any, key: _Key, text: bool) -> Iterator[Item | Turn]:
    entry = mapping(where, value, ("input", "label", "results"))
    kept = text and {"output_1", "output_2"} <= set(entry)
    yield key.item(
        _answer(f"{where}, label", entry["label"]),
        str(entry["input"]) if text else None,
        (flat_text(entry["output_1"]), flat_text(entry["output_2"])) if kept else None,
    )
    steps = [
        mapping(f"{where}, step {i}", step, tuple(ORDERS.values()))
        for i, step in enumerate(sequence(f"{where}, results", entry["results"]), start=1)
    ]
    voted = [step for step in steps if any(_has_winner(step[order]) for order in ORDERS.values())]
    shape(f"{where}, results", "a list with at least one vote", bool(voted), steps)
    for played, step in enumerate(voted, start=1):
        for agent, order in ORDERS.items():
            result = mapping(f"{where}, {order}", step.get(order), ("winner", "completion"))
            completion = result["completion"]
            spoken = completion[0] if isinstance(completion, list) and completion else completion
            winner = result["winner"]
            vote = None if winner is None else _answer(f"{where}, {order}, winner", winner)
            yield key.turn(played, agent, vote, text=str(spoken) if text else None)


def _has_winner(result: Any) -> bool:
    return isinstance(result, dict) and "winner" in result


def _from_table(source: Path) -> Iterator[Item | Turn]:
    ((name, content),) = files(source, "*")
    raw = gzip.decompress(content) if name.endswith(".gz") else content
    rows = csv.DictReader(io.StringIO(text_of(name, raw), newline=""))
    absent = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if absent:
        raise ValueError(f"{name} must have the columns {', '.join(_COLUMNS)}; got none named {absent}")
    played: dict[str, int] = {}
    for line, row in enumerate(rows, start=2):
        where = f"{name}, line {line}"
        key = _Key(row["subset"], row["item"], row["judge"], row["strategy"])
        if key.debate not in played:
            yield key.item(_answer(f"{where}, label", row["label"]))
        played[key.debate] = played.get(key.debate, 0) + 1
        scores = _scores(where, row)
        for agent, column in _TABLE_ORDERS.items():
            vote = _answer(f"{where}, {column}", row[column]) if row[column] else None
            yield key.turn(played[key.debate], agent, vote, scores)


def _answer(where: str, value: Any) -> str:
    answer = str(value).strip()
    shape(where, "1 or 2", answer in ANSWERS, value)
    return answer


def _scores(where: str, row: Mapping[str, str]) -> dict[str, dict[str, float]] | None:
    given = {}
    for side in ANSWERS:
        rating = row.get(f"score_{side}")
        if rating:
            given[side] = {"rating": points(f"{where}, score_{side}", rating)}
    return given or None
