"""AlignBench's questions in Chinese, each with a reference answer and a category; no votes.

One question per line: ``{"question_id": 1, "category": ..., "subcategory": ..., "question": ..., "reference": ...}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import files, json_lines, mapping, shape, stem, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "alignbench"
TITLE = "Questions in Chinese with a category; no candidates and no votes"
SOURCE = "THUDM/AlignBench @5b79d4a8; licence: none stated in the file"
NOTES = (
    "the reference is a text of many right ones and no label, as no vote would equal it; it is not kept",
    "the file has no judgments, so the log has items and no turns; read_items reads it for a debate",
)


def records(source: Path, *, pattern: str = "data*release.jsonl") -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, content in files(source, pattern):
        for number, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, question {number}"
            entry = mapping(where, row, ("question_id", "category", "subcategory", "question", "reference"))
            asked = entry["question_id"]
            known = isinstance(asked, int) and not isinstance(asked, bool)
            shape(f"{where}, question_id", "a whole number", known, asked)
            text, category = (string(f"{where}, {key}", entry[key]) for key in ("question", "category"))
            log = stem(name)
            yield Item(f"{log}/{asked}", f"alignbench:{asked}", log=log, text=text, category=category)
