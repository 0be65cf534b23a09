"""Exports of feedback of LangSmith (JSON, JSON lines): a key with a score or a value on a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._ratings import Rating, Votes, inside, rating_records, text
from d3stats.log.importers._source import documents, flat_text, mapping, named, sequence, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "langsmith"
TITLE = "Exports of feedback of LangSmith: each feedback key as a judge of runs"
SOURCE = "langchain-ai/langsmith-sdk, the feedback data format; licence: MIT"
NOTES = (
    "an item is a run, a judge is the key of the feedback; one key of several sources or users is several judges",
    "feedback of the source type 'app' is role 'human'",
)


def records(
    source: Path, said: list[str], *, pattern: str = "*.json*", votes: Votes = "score"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `votes` are scores, or values ("label")."""
    yield from rating_records(_ratings(source, pattern), NAME, votes, said)


def _ratings(source: Path, pattern: str) -> Iterator[Rating]:
    for name, data in documents(source, pattern):
        for number, row in enumerate(sequence(name, inside(data, "feedback", "data")), start=1):
            where = f"{name}, feedback {number}"
            entry = mapping(where, row, ("run_id", "key"))
            shape(f"{where}, score or value", "given", "score" in entry or "value" in entry, sorted(entry))
            about = entry.get("feedback_source")
            about = about if isinstance(about, dict) else {}
            kind, value = text(about.get("type")) or "", entry.get("value")
            yield Rating(
                where,
                named(f"{where}, run_id", entry["run_id"]),
                named(f"{where}, key", entry["key"]),
                score=entry.get("score"),
                label=None if value is None else flat_text(value) or None,
                said=text(entry.get("comment")),
                human=kind == "app",
                key=text(entry.get("id")),
                apart=(kind, text(about.get("user_id")) or ""),
            )
