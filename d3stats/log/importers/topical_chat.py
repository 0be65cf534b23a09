"""Ratings of dialogue responses by three annotators (USR's annotations of Topical-Chat).

A file is a list of ``{"context": ..., "fact": ..., "responses": [...]}``; a response has its text, its system,
and for each aspect a list of one rating per annotator.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import (
    json_files,
    mapping,
    points,
    question_id,
    sequence,
    shape,
    stem,
    string,
)
from d3stats.log.schema import Item, Turn, Verdict

NAME = "topical-chat"
TITLE = "Responses in Topical-Chat dialogues, rated by three annotators on six aspects"
SOURCE = (
    "USR (Mehri and Eskenazi, 2020), the shape of tc_usr_data.json as a test of another project writes it; "
    "licence: none stated there"
)
NOTES = (
    "a response is a debate of one round; the ratings are scores of the side 'response', one turn per annotator",
    "annotator i is the i-th rating of a list; whether that is one person throughout is unknown",
    "the context is the question: responses in one context are one cluster",
)

ASPECTS = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")


def records(source: Path, *, pattern: str = "*usr_data*.json") -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, data in json_files(source, pattern):
        for number, row in enumerate(sequence(name, data), start=1):
            where = f"{name}, context {number}"
            entry = mapping(where, row, ("context", "responses"))
            context, fact = string(f"{where}, context", entry["context"]), entry.get("fact")
            shape(f"{where}, fact", "a text", fact is None or isinstance(fact, str), fact)
            text = f"{context}\n\n{fact}" if fact else context
            for at, said in enumerate(sequence(f"{where}, responses", entry["responses"]), start=1):
                place = f"{where}, response {at}"
                response = mapping(place, said, ("response", "model", *ASPECTS))
                answer, system = (string(f"{place}, {key}", response[key]) for key in ("response", "model"))
                ratings = {
                    aspect: [
                        points(f"{place}, {aspect}", value)
                        for value in sequence(f"{place}, {aspect}", response[aspect])
                    ]
                    for aspect in ASPECTS
                }
                sizes = {len(each) for each in ratings.values()}
                shape(
                    f"{place}, ratings",
                    "of as many annotators for each aspect",
                    len(sizes) == 1,
                    sorted(sizes),
                )
                debate = f"{stem(name)}/{number}/{at}"
                asked = question_id("topical-chat", context)
                yield Item(debate, asked, log=system, protocol="rating", text=f"{text}\n\n{answer}")
                for i in range(sizes.pop()):
                    scores = {"response": {aspect: each[i] for aspect, each in ratings.items()}}
                    yield Turn(debate, 1, f"annotator {i + 1}", role="human", scores=scores)
