"""Pairwise judgments of MT-Bench: a line per question, turn and two models, judged in both orders.

Files are called ``gpt-4_pair.jsonl``. In game 1 ``model_1`` is shown first, in game 2 ``model_2``; a winner is
``model_1``, ``model_2``, ``tie``, or ``error`` where the judgment could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers._pairs import TIE, Judgment, pair_records
from d3stats.log.importers._source import files, json_lines, mapping, named, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "mt-bench"
TITLE = "Pairwise judgments of MT-Bench, both orders (gpt-4_pair.jsonl)"
SOURCE = "lm-sys/FastChat, the files of llm_judge; licence: Apache-2.0"
NOTES = (
    "a debate is a question, a turn, two models and an order; its answers are the names of the models and 'tie'",
    "both turns of a question are one cluster; the judge is the model, with any prompt",
)

_KEYS = ("question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge")

_SINGLE = (
    "a judgment of two answers; scores of single answers need no import: "
    "d3stats rank FILE --columns item=question_id+turn,cluster=question_id"
)


def records(
    source: Path, said: list[str], *, pattern: str = "*_pair.jsonl"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    yield from pair_records(_judgments(source, pattern), NAME, said)


def _judgments(source: Path, pattern: str) -> Iterator[Judgment]:
    for name, content in files(source, pattern):
        for number, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, line {number}"
            shape(where, _SINGLE, not (isinstance(row, dict) and "score" in row and "model" in row), row)
            entry = mapping(where, row, _KEYS)
            models = tuple(named(f"{where}, {key}", entry[key]) for key in ("model_1", "model_2"))
            question, turn = named(f"{where}, question_id", entry["question_id"]), entry.get("turn", 1)
            shape(f"{where}, turn", "a whole number from 1", isinstance(turn, int) and turn >= 1, turn)
            judge = (
                entry["judge"][0] if isinstance(entry["judge"], list) and entry["judge"] else entry["judge"]
            )
            judge = named(f"{where}, judge", judge)
            for game, (one, two) in enumerate((models, models[::-1]), start=1):
                yield Judgment(
                    f"{where}, game {game}",
                    f"{question}, turn {turn}",
                    judge,
                    one,
                    two,
                    ordered=True,
                    winner=_winner(f"{where}, g{game}_winner", entry[f"g{game}_winner"], models),
                    cluster=question,
                    said=_text(entry.get(f"g{game}_judgment")),
                )


def _winner(where: str, word: Any, models: tuple[str, ...]) -> str | None:
    meaning = {"model_1": models[0], "model_2": models[1], "tie": TIE, "error": None}
    shape(where, "one of model_1, model_2, tie, error", isinstance(word, str) and word in meaning, word)
    return meaning[word]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
