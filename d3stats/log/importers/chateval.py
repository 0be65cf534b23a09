"""Items of ChatEval and FairEval: a question and the answers of two models, to be judged by a debate.

ChatEval has one JSON file of ``{"question_id": ..., "question": ..., "response": {MODEL: ..., MODEL: ...}}``. FairEval
has a folder with ``question.jsonl`` and an ``answer_MODEL.jsonl`` of each of two models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats._words import Advised
from d3stats.log.importers._source import documents, flat_text, mapping, named, sequence, shape, stem
from d3stats.log.schema import Item, Turn, Verdict

NAME = "chateval"
TITLE = "Items of ChatEval and FairEval: questions with the answers of two models; no votes"
SOURCE = "thunlp/ChatEval and i-Eval/FairEval, their question and answer files; licence: Apache-2.0 and none stated"
NOTES = (
    "A is the answer of the first model and B of the second; the name of the run lists both",
    "the log has items and no turns: import with --text, and the log is a file of items for d3stats debate",
)


def records(source: Path, said: list[str]) -> Iterator[Item | Turn | Verdict]:
    """Yield an item for each question with two answers."""
    found = _of_folder(source, said) if source.is_dir() else _of_file(source)
    for where, number, asked, answers, category in found:
        shape(f"{where}, answers", "those of two models", len(answers) == 2, sorted(answers))
        (one, first), (two, second) = answers.items()
        yield Item(
            f"chateval/{number}",
            f"chateval:{number}",
            answers=("A", "B", "tie"),
            log=f"A {one}, B {two}",
            protocol="pairwise",
            text=asked,
            candidates=(first, second),
            category=category,
        )


_Found = tuple[str, str, str, dict[str, str], str | None]


def _of_file(source: Path) -> Iterator[_Found]:
    seen: dict[str, str] = {}
    for name, data in documents(source, "*.json*"):
        for k, row in enumerate(sequence(name, data), start=1):
            where = f"{name}, item {k}"
            entry = mapping(where, row, ("question_id", "question", "response"))
            number = _new(where, entry["question_id"], seen)
            answers = mapping(f"{where}, response", entry["response"], ())
            texts = {str(model): flat_text(answer) for model, answer in answers.items()}
            yield where, number, flat_text(entry["question"]), texts, _category(entry)


def _of_folder(source: Path, said: list[str]) -> Iterator[_Found]:
    questions = list(documents(source, "*question*.json*"))
    answers = list(documents(source, "answer*.json*"))
    shape(
        f"{source}, questions",
        "one file question.jsonl",
        len(questions) == 1,
        [name for name, _ in questions],
    )
    if len(answers) != 2:
        needed = "a folder of items must hold the answers of two models"
        step = "keep two files answer_MODEL.jsonl beside question.jsonl"
        raise ValueError(Advised(needed, step, got=", ".join(name for name, _ in answers)))
    by_model = {}
    for name, data in answers:
        model = stem(name).removeprefix("answer").strip("_-") or stem(name)
        rows, seen = {}, dict[str, str]()
        for k, row in enumerate(sequence(name, data), start=1):
            entry = mapping(f"{name}, line {k}", row, ("question_id", "text"))
            rows[_new(f"{name}, line {k}", entry["question_id"], seen)] = flat_text(entry["text"])
        by_model[model] = rows
    seen, lacking = dict[str, str](), []
    ((name, data),) = questions
    for k, row in enumerate(sequence(name, data), start=1):
        where = f"{name}, line {k}"
        entry = mapping(where, row, ("question_id", "text"))
        number = _new(where, entry["question_id"], seen)
        texts = {model: rows[number] for model, rows in by_model.items() if number in rows}
        if len(texts) < 2:
            lacking.append(number)
            continue
        yield where, number, flat_text(entry["text"]), texts, _category(entry)
    if lacking:
        said.append(
            f"{len(lacking):,} of {len(seen):,} questions lack an answer and are left out, such as {lacking[0]}"
        )


def _new(where: str, number: Any, seen: dict[str, str]) -> str:
    """Return the identifier of a question, which must be new in its file."""
    known = named(f"{where}, question_id", number)
    shape(
        f"{where}, question_id",
        "an identifier that occurs once",
        known not in seen,
        f"{known} as {seen.get(known)}",
    )
    seen[known] = where
    return known


def _category(entry: Any) -> str | None:
    given = entry.get("category")
    return given if isinstance(given, str) and given else None
