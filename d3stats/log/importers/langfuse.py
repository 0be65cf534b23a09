"""Exports of scores of Langfuse (JSON, JSON lines): a score names what it is about, and who or what gave it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._ratings import Rating, Votes, inside, rating_records, text
from d3stats.log.importers._source import documents, mapping, named, sequence, shape
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.note import warning

NAME = "langfuse"
TITLE = "Exports of scores of Langfuse: each score name as a judge of traces or observations"
SOURCE = "langfuse/langfuse, the scores of its public interface; licence: MIT"
NOTES = (
    "an item is the observation of a score, else its trace, session or run; a judge is the name of the score",
    "scores of one name from several sources or authors are several judges; source ANNOTATION is role 'human'",
)

_ABOUT = ("observationId", "traceId", "sessionId", "datasetRunId")


def records(
    source: Path, said: list[str], *, pattern: str = "*.json*", votes: Votes = "score"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `votes` are numbers, or texts of the scores ("label")."""
    yield from rating_records(_ratings(source, pattern, said), NAME, votes, said)


def _ratings(source: Path, pattern: str, said: list[str]) -> Iterator[Rating]:
    pages: dict[int, str] = {}
    total = read = 0
    for name, data in documents(source, pattern):
        meta = data.get("meta") if isinstance(data, dict) else None
        if isinstance(meta, dict) and isinstance(meta.get("totalItems"), int):
            pages[int(meta.get("page") or 1)], total = name, max(total, meta["totalItems"])
            read += len(inside(data, "data", "scores") or ())
        for number, row in enumerate(sequence(f"{name}, data", inside(data, "data", "scores")), start=1):
            where = f"{name}, score {number}"
            entry = mapping(where, row, ("name", "value"))
            item = next((found for key in _ABOUT if (found := text(entry.get(key))) is not None), None)
            shape(where, f"a score with one of {', '.join(_ABOUT)}", item is not None, sorted(entry))
            kind, value = entry.get("dataType"), entry["value"]
            word = text(entry.get("stringValue")) or text(value)
            origin = text(entry.get("source")) or ""
            yield Rating(
                where,
                str(item),
                named(f"{where}, name", entry["name"]),
                score=None if kind in ("CATEGORICAL", "TEXT") or isinstance(value, str) else value,
                label=word,
                said=text(entry.get("comment")),
                human=origin == "ANNOTATION",
                question=text(entry.get("traceId")),
                key=text(entry.get("id")),
                apart=(origin, text(entry.get("authorUserId")) or ""),
            )
    if read < total:
        listed = ", ".join(map(str, sorted(pages)))
        said.append(
            warning(
                f"{read:,} of {total:,} scores were read: page {listed} of the export; fetch the others into the same "
                "folder and import the folder",
                "missing pages",
                n=total - read,
            )
        )
