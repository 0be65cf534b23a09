"""Test results of DeepEval (JSON): each metric is a judge of a test case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._ratings import Rating, Votes, inside, passed, rating_records, text
from d3stats.log.importers._source import documents, mapping, named, sequence
from d3stats.log.schema import Item, Turn, Verdict

NAME = "deepeval"
TITLE = "Test results of DeepEval: the metrics of each test case as judges"
SOURCE = "confident-ai/deepeval, the files of a test run; licence: Apache-2.0"
NOTES = ("an item is a test case, a judge is a metric; several models of one metric are several judges",)

_CASES = ("testRunData", "testCases", "test_results", "testResults", "conversationalTestCases")


def records(
    source: Path, said: list[str], *, pattern: str = "*.json", votes: Votes = "score"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `votes` are scores, or "pass" and "fail" ("label")."""
    yield from rating_records(_ratings(source, pattern, said), NAME, votes, said)


def _ratings(source: Path, pattern: str, said: list[str]) -> Iterator[Rating]:
    times: Counter[str] = Counter()
    bare: list[str] = []
    for name, data in documents(source, pattern):
        for number, row in enumerate(sequence(f"{name}, testCases", inside(data, *_CASES)), start=1):
            where = f"{name}, test case {number}"
            case = mapping(where, row, ("name",))
            item = named(f"{where}, name", case["name"])
            times[item] += 1
            if times[item] > 1:
                item += f" ({times[item]})"
            metrics = case.get("metricsData", case.get("metrics_data"))
            if not metrics:
                bare.append(where)
                continue
            for k, given in enumerate(sequence(f"{where}, metricsData", metrics), start=1):
                at = f"{where}, metric {k}"
                one = mapping(at, given, ("name",))
                model = text(one.get("evaluationModel", one.get("evaluation_model")))
                failed = text(one.get("error"))
                yield Rating(
                    at,
                    item,
                    named(f"{at}, name", one["name"]),
                    score=one.get("score"),
                    label=None if failed else passed(one.get("success")),
                    said=text(one.get("reason")) or failed,
                    asked=text(case.get("input")),
                    model=model,
                    error="metric_error" if failed else None,
                    apart=(model or "",),
                )
    if bare:
        said.append(
            f"{len(bare):,} of {sum(times.values()):,} test cases have no metric and are left out, "
            f"the first at {bare[0]}"
        )
