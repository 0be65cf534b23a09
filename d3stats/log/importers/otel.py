"""Results of evaluations in OpenTelemetry (OTLP as JSON or JSON lines): events ``gen_ai.evaluation.result``.

An event is a log record of that event name, or an event of a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._ratings import Rating, Votes, rating_records, text
from d3stats.log.importers._source import documents, mapping, points, sequence, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "otel"
TITLE = "OpenTelemetry events gen_ai.evaluation.result (OTLP JSON): each evaluation name as a judge"
SOURCE = "open-telemetry/semantic-conventions, gen_ai events, and OTLP/JSON; licence: Apache-2.0"
NOTES = (
    "an item is the response that an event names, where all events name one, else the trace and span",
    "a judge is gen_ai.evaluation.name; a trace is the question, so its spans are one cluster",
)

EVENT = "gen_ai.evaluation.result"
_PARTS = {"resourceLogs": ("scopeLogs", "logRecords"), "resourceSpans": ("scopeSpans", "spans")}


def records(
    source: Path, said: list[str], *, pattern: str = "*.json*", votes: Votes = "score"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `votes` are score values, or score labels ("label")."""
    events = [one for name, data in documents(source, pattern) for one in _events(name, data, said)]
    shape(str(source), f"events {EVENT}", bool(events), "none")
    by_response = all(text(about.get("gen_ai.response.id")) for _, _, about in events)
    yield from rating_records((_rating(*one, by_response) for one in events), NAME, votes, said)


def _events(name: str, data: Any, said: list[str]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield place, trace and span, and attributes of each event."""
    lines = data if isinstance(data, list) else [data]
    others = n = 0
    for number, line in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        whole = mapping(where, line, ())
        shape(
            where, f"an object with {' or '.join(_PARTS)}", any(key in whole for key in _PARTS), sorted(whole)
        )
        for top, (middle, low) in _PARTS.items():
            for resource in sequence(f"{where}, {top}", whole.get(top, []), empty=True):
                for scope in sequence(
                    f"{where}, {middle}", mapping(where, resource, ()).get(middle, []), empty=True
                ):
                    for record in sequence(
                        f"{where}, {low}", mapping(where, scope, ()).get(low, []), empty=True
                    ):
                        own = mapping(where, record, ())
                        place = f"{text(own.get('traceId')) or ''}/{text(own.get('spanId')) or ''}"
                        events = sequence(f"{where}, events", own.get("events", []), empty=True)
                        for event in events if low == "spans" else [own]:
                            about = _attributes(where, event.get("attributes", []))
                            called = event.get("eventName") or event.get("name") or about.get("event.name")
                            n += 1
                            if called == EVENT:
                                yield f"{where}, event {n}", place, about
                            else:
                                others += 1
    if others:
        said.append(f"{others:,} of {n:,} events and log records of {name} are no {EVENT} and are left out")


def _attributes(where: str, given: Any) -> dict[str, Any]:
    found = {}
    for one in sequence(f"{where}, attributes", given, empty=True):
        pair = mapping(f"{where}, attribute", one, ("key", "value"))
        value = pair["value"]
        shape(
            f"{where}, attribute {pair['key']}",
            "an object with one typed value",
            isinstance(value, dict),
            value,
        )
        found[str(pair["key"])] = next(iter(value.values()), None)
    return found


def _rating(where: str, place: str, about: Mapping[str, Any], by_response: bool) -> Rating:
    name, value = text(about.get("gen_ai.evaluation.name")), about.get("gen_ai.evaluation.score.value")
    shape(f"{where}, gen_ai.evaluation.name", "given", name is not None, sorted(about))
    shape(
        where, "an event with a trace and span, or a response", by_response or len(place) > 1, sorted(about)
    )
    if isinstance(value, str) and value != "NaN":  # OTLP writes whole numbers as texts
        value = points(f"{where}, gen_ai.evaluation.score.value", value)
    trace = place.partition("/")[0]
    return Rating(
        where,
        str(about["gen_ai.response.id"]) if by_response else place,
        str(name),
        score=float("nan") if value == "NaN" else value,
        label=text(about.get("gen_ai.evaluation.score.label")),
        said=text(about.get("gen_ai.evaluation.explanation")),
        question=trace or None,
        error=text(about.get("error.type")),
        apart=(text(about.get("gen_ai.evaluation.evaluator.id")) or "",),
    )
