"""TruthfulQA's questions, each with its best answer and the first of its incorrect answers.

A CSV with the columns Type, Category, Question, Best Answer, Correct Answers, Incorrect Answers and Source; several
answers in a cell are separated by semicolons.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import csv_rows, question_id, shape, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "truthfulqa"
TITLE = "Questions that invite a common error, with a right and a wrong answer; no votes"
SOURCE = "sylinrl/TruthfulQA, the columns that loaders of other projects document; licence: none stated there"
NOTES = (
    "A is the best answer and B the first incorrect one; the label is always A, so show the candidates in both orders",
    "the file has no judgments, so the log has items and no turns; read_items reads it for a debate",
)

_COLUMNS = ("Category", "Question", "Best Answer", "Incorrect Answers")


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the CSV file, which may be gzipped."""
    for number, (where, row) in enumerate(csv_rows(source, _COLUMNS), start=1):
        asked, best = (string(f"{where}, {key}", row[key]).strip() for key in ("Question", "Best Answer"))
        listed = string(f"{where}, Incorrect Answers", row["Incorrect Answers"])
        wrong = [part.strip() for part in listed.split(";") if part.strip()]
        shape(f"{where}, Incorrect Answers", "at least one answer", bool(wrong), listed)
        shape(f"{where}, Best Answer", "no incorrect answer", bool(best) and best not in wrong, best)
        yield Item(
            f"truthfulqa/{number}",
            question_id("truthfulqa", asked),
            label="A",
            answers=("A", "B"),
            log="truthfulqa",
            protocol="pairwise",
            text=asked,
            candidates=(best, wrong[0]),
            category=(row["Category"] or "").strip() or None,
        )
