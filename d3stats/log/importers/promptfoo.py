"""Results of promptfoo (JSON or JSON lines): each assertion of a test is a judge of its output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers._ratings import Rating, Votes, inside, passed, rating_records, text
from d3stats.log.importers._source import documents, flat_text, mapping, sequence, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "promptfoo"
TITLE = "Results of promptfoo: the assertions of each test as judges (results.json)"
SOURCE = "promptfoo/promptfoo, the output of eval -o; licence: MIT"
NOTES = (
    "an item is a test under one prompt and one provider; a judge is an assertion, named by its metric or its type",
    "a test is the question, so that its prompts and providers are one cluster",
)


def records(
    source: Path, said: list[str], *, pattern: str = "*.json*", votes: Votes = "score"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `votes` are scores, or "pass" and "fail" ("label")."""
    yield from rating_records(_ratings(source, pattern, said), NAME, votes, said)


def _ratings(source: Path, pattern: str, said: list[str]) -> Iterator[Rating]:
    times: Counter[str] = Counter()
    bare: list[str] = []
    failed: list[str] = []
    for name, data in documents(source, pattern):
        rows = sequence(f"{name}, results", inside(data, "results"))
        for number, row in enumerate(rows, start=1):
            where = f"{name}, result {number}"
            entry = mapping(where, row, ())
            test = f"test {entry['testIdx']}" if "testIdx" in entry else f"test {_test(entry, where)}"
            parts = [test, f"prompt {entry['promptIdx']}" if "promptIdx" in entry else "", _provider(entry)]
            item = ", ".join(filter(None, parts))
            times[item] += 1
            if times[item] > 1:
                item += f", repeat {times[item]}"
            grading = entry.get("gradingResult")
            graded = (grading or {}).get("componentResults") if isinstance(grading, dict) else None
            if not graded:
                (failed if text(entry.get("error")) and entry.get("failureReason") != 1 else bare).append(
                    where
                )
                continue
            for k, component in enumerate(sequence(f"{where}, componentResults", graded), start=1):
                at = f"{where}, assertion {k}"
                one = mapping(at, component, ("score",))
                yield Rating(
                    at,
                    item,
                    _judge(one),
                    score=one["score"],
                    label=passed(one.get("pass")),
                    said=text(one.get("reason")),
                    asked=_asked(entry),
                    question=test,
                )
    for places, what in ((failed, "ended in an error of the provider"), (bare, "have no graded assertion")):
        if places and len(failed) + len(bare) == sum(times.values()):
            raise ValueError(
                f"source must hold a result with a graded assertion (gradingResult.componentResults); got "
                f"{len(failed):,} errors of a provider and {len(bare):,} without one, the first at {(failed + bare)[0]}"
            )
        if places:
            said.append(
                f"{len(places):,} of {sum(times.values()):,} results {what} and are left out, the first at {places[0]}"
            )


def _test(entry: Any, where: str) -> str:
    given = entry.get("vars")
    shape(
        f"{where}, testIdx",
        "a number, or vars that differ between tests",
        isinstance(given, dict) and bool(given),
        given,
    )
    return json.dumps(given, sort_keys=True, ensure_ascii=False)


def _provider(entry: Any) -> str:
    given = entry.get("provider")
    return str(given.get("label") or given.get("id") or "") if isinstance(given, dict) else str(given or "")


def _judge(one: Any) -> str:
    assertion = one.get("assertion")
    assertion = assertion if isinstance(assertion, dict) else {}
    return text(assertion.get("metric")) or text(assertion.get("type")) or "assertion"


def _asked(entry: Any) -> str | None:
    prompt = entry.get("prompt")
    return flat_text(prompt.get("raw")) or None if isinstance(prompt, dict) else text(prompt)
