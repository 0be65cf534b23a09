"""AUTO-J's test pairs: a query, two responses and which one a human preferred, in 58 scenarios.

One pair per line: ``{"scenario": ..., "label": 0, "prompt": ..., "response 1": ..., "response 2": ...}``. A label is 0
for the first response, 1 for the second and 2 for a tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import files, json_lines, mapping, question_id, shape, stem, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "auto-j"
TITLE = "Queries with two responses and a human preference, in 58 scenarios; no votes"
SOURCE = "GAIR-NLP/auto-j @06824d27, the format that its README documents; licence: none stated there"
NOTES = (
    "the human preference is the label: 0 is A, 1 is B, 2 is a tie",
    "the file has no judgments, so the log has items and no turns; read_items reads it for a debate",
    "the scenario is the category; pairs of one prompt are one cluster",
)

_LABELS = ("A", "B", "tie")


def records(source: Path, *, pattern: str = "*pairwise*.jsonl") -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, content in files(source, pattern):
        for number, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, pair {number}"
            entry = mapping(where, row, ("scenario", "label", "prompt", "response 1", "response 2"))
            label = entry["label"]
            known = isinstance(label, int) and not isinstance(label, bool) and label in (0, 1, 2)
            shape(f"{where}, label", "0, 1 or 2", known, label)
            prompt, one, two, scenario = (
                string(f"{where}, {key}", entry[key])
                for key in ("prompt", "response 1", "response 2", "scenario")
            )
            yield Item(
                f"{stem(name)}/{number}",
                question_id("auto-j", prompt),
                label=_LABELS[label],
                answers=_LABELS,
                log=stem(name),
                protocol="pairwise",
                text=prompt,
                candidates=(one, two),
                category=scenario,
            )
