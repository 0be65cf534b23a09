"""JudgeBench: pairs of responses of which one is right, and the judgments of LLM judges in both orders.

A file holds one pair per line. Files of `data/` have pairs alone; files of `outputs/` also have two judgments of a
judge, the second with the responses in the other order. Decisions name the responses as they were shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import (
    files,
    json_lines,
    mapping,
    question_id,
    sequence,
    shape,
    stem,
    string,
)
from d3stats.log.schema import Item, Turn, Verdict

NAME = "judgebench"
TITLE = "Pairs with an objectively right response, and judgments by LLM judges in both orders"
SOURCE = "ScalerLab/JudgeBench @12a499c5; licence: none stated in the files seen"
NOTES = (
    "the two orders are two turns of round 1, agents 'order A-B' and 'order B-A'; the second's decision is turned back",
    "a decision that is not A>B, B>A or A=B is a missing vote",
    "pairs of one wording are one question; the source is the category",
)

_DECISIONS = {"A>B": "A", "B>A": "B", "A=B": "tie"}
_TURNED = {"A": "B", "B": "A", "tie": "tie"}
_ORDERS = ("order A-B", "order B-A")


def records(source: Path, *, pattern: str = "*.jsonl") -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, content in files(source, pattern):
        for number, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, pair {number}"
            keys = ("pair_id", "source", "question", "response_A", "response_B", "label")
            entry = mapping(where, row, keys)
            label = entry["label"]
            shape(f"{where}, label", "A>B or B>A", label in ("A>B", "B>A"), label)
            texts = [
                string(f"{where}, {key}", entry[key]) for key in ("question", "response_A", "response_B")
            ]
            kind, pair = (string(f"{where}, {key}", entry[key]) for key in ("source", "pair_id"))
            debate = f"{stem(name)}/{pair}"
            yield Item(
                debate,
                question_id("judgebench", texts[0]),
                label=_DECISIONS[label],
                answers=("A", "B", "tie"),
                log=stem(name),
                protocol="pairwise",
                text=texts[0],
                candidates=(texts[1], texts[2]),
                category=kind,
            )
            if "judgments" in entry:
                yield from _turns(where, debate, entry["judgments"])


def _turns(where: str, debate: str, judgments: Any) -> Iterator[Turn]:
    given = sequence(f"{where}, judgments", judgments)
    shape(f"{where}, judgments", "one or two judgments", len(given) <= 2, given)
    for order, judgment in zip(_ORDERS, given, strict=False):
        place = f"{where}, {order}"
        entry = {} if judgment is None else mapping(place, judgment, ("decision",))
        said = entry.get("judgment")
        inside = said if isinstance(said, dict) else {}
        decision = entry.get("decision")
        vote = _DECISIONS.get(decision) if isinstance(decision, str) else None
        if vote is not None and order == _ORDERS[1]:
            vote = _TURNED[vote]
        model, text = (inside.get(key) for key in ("judge_model", "response"))
        yield Turn(
            debate,
            1,
            order,
            role="judge",
            vote=vote,
            model=model if isinstance(model, str) and model else None,
            text=text if isinstance(text, str) else None,
        )
