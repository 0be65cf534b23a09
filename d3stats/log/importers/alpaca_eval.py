"""Annotations of AlpacaEval: an instruction, the outputs of two generators, and which one an annotator prefers.

A preference is 1 for the first output, 2 for the second, 1.5 (in old files 0) for a tie, and null where there is
none. Weighted annotators give a number between 1 and 2: how far the second is preferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats._words import counted
from d3stats.log.importers._pairs import TIE, Judgment, pair_records
from d3stats.log.importers._source import (
    files,
    flat_text,
    json_of,
    mapping,
    named,
    points,
    question_id,
    sequence,
    shape,
)
from d3stats.log.schema import Item, Turn, Verdict

NAME = "alpaca-eval"
TITLE = "Annotations of AlpacaEval: preferences between two generators (annotations.json)"
SOURCE = "tatsu-lab/alpaca_eval, the files of results; licence: Apache-2.0"
NOTES = (
    "a debate is an instruction and two generators; its answers are the names of the generators and 'tie'",
    "AlpacaEval shuffles the outputs and does not store the order, so it is known only where a file has "
    "is_switched_outputs, and no position bias can be measured without it",
)

_KEYS = ("instruction", "generator_1", "generator_2", "annotator", "preference")
_SWITCHED = "is_switched_outputs"


def records(
    source: Path, said: list[str], *, pattern: str = "*annotations*.json"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    between: list[str] = []
    yield from pair_records(_judgments(source, pattern, between), NAME, said)
    if between:
        said.append(
            f"{counted(len(between), 'preference')} between 1 and 2 are votes for the nearer output, "
            f"such as {between[0]}; how far one is preferred is left out"
        )


def _judgments(source: Path, pattern: str, between: list[str]) -> Iterator[Judgment]:
    for name, content in files(source, pattern):
        for number, row in enumerate(sequence(name, json_of(name, content)), start=1):
            where = f"{name}, annotation {number}"
            entry = mapping(where, row, _KEYS)
            one, two = (named(f"{where}, generator_{k}", entry[f"generator_{k}"]) for k in (1, 2))
            asked, switched = flat_text(entry["instruction"]), entry.get(_SWITCHED)
            shape(f"{where}, {_SWITCHED}", "true, false or absent", switched in (True, False, None), switched)
            outputs = tuple(flat_text(entry[f"output_{k}"]) for k in (1, 2) if f"output_{k}" in entry)
            winner = _winner(f"{where}, preference", entry["preference"], (one, two), between)
            pair, responses = (one, two), (outputs[0], outputs[1]) if len(outputs) == 2 else None
            if switched:
                pair, responses = (two, one), None if responses is None else responses[::-1]
            yield Judgment(
                where,
                question_id(NAME, asked),
                named(f"{where}, annotator", entry["annotator"]),
                *pair,
                ordered=switched is not None,
                winner=winner,
                asked=asked,
                responses=responses,
                category=entry["dataset"]
                if isinstance(entry.get("dataset"), str) and entry["dataset"]
                else None,
            )


def _winner(where: str, value: Any, pair: tuple[str, str], between: list[str]) -> str | None:
    if value is None or value != value:
        return None
    number = points(where, value)
    shape(where, "0 (a tie), or from 1 to 2", number == 0 or 1 <= number <= 2, value)
    if number not in (0, 1, 1.5, 2):
        between.append(f"{number:g} at {where}")
    if number in (0, 1.5):
        return TIE
    return pair[number > 1.5]
