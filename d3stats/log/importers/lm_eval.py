"""Samples of lm-evaluation-harness (``samples_TASK_TIME.jsonl``): what a model answered, and how a metric counts it.

A line is a document under one filter. With a metric of 0 and 1 a debate is a document with one vote, so a log is a run
for ``compare``. The vote is the answer that the filter left, written as the target where the metric accepts it, or the
grade where answers are long or contradict the metric. A document with several repeats has a vote for each. Any other
metric is a score, and so is one whose lower value is better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from d3stats._check import meant
from d3stats._words import Advised, counted, verb
from d3stats.log.importers._source import files, flat_text, json_lines, mapping, named, points, shape, stem
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.note import Note, warning

NAME = "lm-eval"
TITLE = "Samples of lm-evaluation-harness: a run by one filter and one metric (samples_TASK.jsonl)"
SOURCE = "EleutherAI/lm-evaluation-harness, the files of --log_samples; licence: MIT"
NOTES = ("a debate is a document under one filter; a question is the task and doc_id, so that two runs pair",)

_KEYS = ("doc_id", "target", "filtered_resps")
_KNOWN = {*_KEYS, "doc", "arguments", "resps", "filter", "metrics"}
_LOWER = frozenset(
    (
        "wer", "ter", "cer", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "toxicity",
        "brier_score",
    )
)  # fmt: skip
"""Metrics whose lower value is the better one, so that 1 is not right."""
_TIME = re.compile(r"_\d{4}-\d{2}-\d{2}T[\d:.\-]+$")
_LONGEST = 100
"""Characters of an answer that may be compared with others; a longer one is a whole reply."""
INVALID = "[invalid]"
"""A filter writes this where it finds no answer."""
SIDE = "response"
"""The side whose points a metric is that is neither 0 nor 1."""


@dataclass(frozen=True)
class _Sample:
    file: str
    where: str
    log: str
    question: str
    target: str | None
    answers: tuple[str, ...]
    """The texts that the filter left; none where it left likelihoods."""
    value: float | None
    asked: str | None


def records(
    source: Path,
    said: list[str],
    *,
    pattern: str = "samples_*.jsonl",
    filter: str | None = None,
    metric: str | None = None,
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder that fit `pattern`, by one filter and one metric."""
    rows = [
        (name, f"{name}, line {number}", mapping(f"{name}, line {number}", row, _KEYS))
        for name, content in files(source, pattern)
        for number, row in enumerate(json_lines(name, content), start=1)
    ]
    read = _chosen("filter", list(dict.fromkeys(_filter(where, row) for _, where, row in rows)), filter)
    kept = [(name, where, row) for name, where, row in rows if _filter(where, row) == read]
    if len(kept) < len(rows):
        other = next(_filter(where, row) for _, where, row in rows if _filter(where, row) != read)
        said.append(
            f"{len(rows) - len(kept):,} of {counted(len(rows), 'line')} are of other filters, such as {other!r}: "
            "left out"
        )
    named = list(dict.fromkeys(name for _, where, row in kept for name in _metrics(where, row)))
    shape(str(source), "samples with a metric that is a number", bool(named), sorted(kept[0][2]))
    counts = _chosen("metric", named, metric)
    if len(named) > 1:
        said.append(f"other metrics are left out: {', '.join(name for name in named if name != counts)}")
    samples = [_sample(name, where, row, counts) for name, where, row in kept]
    _refuse_copies(samples)
    said += _runs_of_one_task(dict.fromkeys(name for name, _, _ in kept))
    yield from _records(samples, counts, said)


def _filter(where: str, row: Mapping[str, Any]) -> str:
    return str(row.get("filter", "none"))


def _chosen(what: str, known: Sequence[str], given: str | None) -> str:
    listed = ", ".join(map(repr, known))
    if given is None:
        if len(known) > 1:
            step = f"choose one with {what}= (--{what} NAME)"
            raise ValueError(Advised(f"{what} must be given where there are several", step, got=listed))
        return known[0]
    if given not in known:
        raise ValueError(f"{what} must be one of {listed}; got {what}={given!r}{meant(given, known)}")
    return given


def _metrics(where: str, row: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a sample: those that it lists, or in old files each of its numbers."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return [str(name) for name in listed]
    return [key for key, value in row.items() if key not in _KNOWN and isinstance(value, (int, float))]


def _sample(name: str, where: str, row: Mapping[str, Any], metric: str) -> _Sample:
    task = _task(name)
    target, left = row["target"], row["filtered_resps"]
    first = left[0] if isinstance(left, list) and left else left
    repeats = first if isinstance(first, list) and first and all(isinstance(x, str) for x in first) else None
    likelihoods = isinstance(left, list) and len(left) > 1 and isinstance(first, list)
    texts = () if likelihoods else tuple(repeats or ([first] if isinstance(first, str) else []))
    value = row.get(metric)
    number = None if value is None or (isinstance(value, float) and math.isnan(value)) else value
    return _Sample(
        name,
        where,
        name.rpartition("/")[0] or stem(name),
        f"{task}/{named(f'{where}, doc_id', row['doc_id'])}",
        None if target is None or isinstance(target, (list, dict)) else flat_text(target).strip() or None,
        tuple(text.strip() for text in texts),
        None
        if number is None
        else points(f"{where}, {metric}", float(number) if isinstance(number, bool) else number),
        _asked(row),
    )


def _task(name: str) -> str:
    return _TIME.sub("", stem(name)).removeprefix("samples_")


def _runs_of_one_task(names: Iterable[str]) -> list[Note]:
    """Warn of files in one folder that hold the same task at different times."""
    runs: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if _TIME.search(stem(name)):
            runs.setdefault((name.rpartition("/")[0], _task(name)), []).append(name)
    notes = []
    for (_, task), found in runs.items():
        if len(found) > 1:
            more = f" and {len(found) - 2} more" if len(found) > 2 else ""
            text = (
                f"{found[0]} and {found[1]}{more} are {len(found)} runs of one task, {task!r}, and all are read; "
                "to compare them or to use the last one alone, import the files one by one"
            )
            notes.append(warning(text, "runs of one task", about=task, n=len(found), examples=found))
    return notes


def _asked(row: Mapping[str, Any]) -> str | None:
    given = row.get("arguments")
    while isinstance(given, (list, dict)) and given:
        given = next(iter(given.values())) if isinstance(given, dict) else given[0]
    return given if isinstance(given, str) else None


def _refuse_copies(samples: Sequence[_Sample]) -> None:
    seen: dict[tuple[str, str], str] = {}
    files_of: dict[tuple[str, str], str] = {}
    for one in samples:
        if (one.log, one.question) in seen:
            got = f"{one.question!r} at {seen[one.log, one.question]} and {one.where}"
            one_file = one.file == files_of[one.log, one.question]
            step = (
                "remove the copies" if one_file else "the files are runs of one task: import them one by one"
            )
            raise ValueError(Advised("doc_id must occur once in a file and filter", step, got=got))
        seen[one.log, one.question] = one.where
        files_of[one.log, one.question] = one.file


def _records(samples: Sequence[_Sample], metric: str, said: list[str]) -> Iterator[Item | Turn]:
    missing = [one.where for one in samples if one.value is None]
    if missing:
        n = len(missing)
        said.append(
            f"{n:,} of {counted(len(samples), 'value')} of {metric!r} {verb(n, 'is', 'are')} missing, "
            f"the first at {missing[0]}"
        )
    lower = metric.casefold() in _LOWER
    right_or_wrong = not lower and all(one.value in (0, 1, None) for one in samples)
    repeats = max(len(one.answers) for one in samples)
    answers = right_or_wrong and _are_answers(samples, repeats)
    invalid = sum(one.answers == (INVALID,) for one in samples)
    if right_or_wrong and not (repeats > 1 and answers):
        said.append(
            "a 0/1 metric decides what is right, not the text; the mean of the votes is the harness's own metric"
        )
    if lower:
        text = (
            f"lower is better; {metric!r} is a score and no vote, and in compare A B --value score:{SIDE} the run "
            "with the lower mean is the better one"
        )
        said.append(warning(text, "lower is better", about=metric))
    elif not right_or_wrong:
        said.append(
            f"{metric!r} is neither 0 nor 1, so it is a score and no vote: compare A B --value score:{SIDE}"
        )
    elif repeats > 1 and answers:
        said.append(
            f"documents have up to {repeats} repeats, each a vote that is right where its text is the target; "
            f"{metric!r} is one number a document and is left out"
        )
    elif repeats > 1:
        said.append(
            f"documents have up to {repeats} repeats, whose texts are long; their one grade by {metric!r} is the vote"
        )
    elif not answers:
        said.append(f"a vote is the grade by {metric!r}, because the file holds no short answers that fit it")
    if answers and invalid:
        said.append(
            f"{invalid:,} of {counted(len(samples), 'answer')} are {INVALID!r} and count as wrong, as in the harness; "
            f"to leave them out: --missing-values {INVALID!r}"
        )
    for one in samples:
        debate = f"{one.log}: {one.question}"
        label = None if not right_or_wrong else one.target if answers else "correct"
        graded = ("correct", "incorrect") if right_or_wrong and not answers else None
        yield Item(
            debate, one.question, label=label, answers=graded, log=one.log, protocol=NAME, text=one.asked
        )
        if not right_or_wrong:
            given: dict[str, float] = {} if one.value is None else {metric: one.value}
            yield Turn(debate, 1, metric, scores={SIDE: given}, error=None if given else "no_value")
            continue
        votes: list[str | None] = list(one.answers)
        if len(votes) < 2 or not answers:
            votes = [_vote(one, answers)]
        for seat, vote in enumerate(votes, start=1):
            error = None if vote else "no_value" if one.value is None else "no_answer"
            yield Turn(
                debate, 1, f"seat {seat}", vote=vote or None, text="\n".join(one.answers) or None, error=error
            )


def _are_answers(samples: Sequence[_Sample], repeats: int) -> bool:
    """Whether the texts are short answers of which the metric says which are right."""
    if not all(one.answers and one.target for one in samples):
        return False
    if any(
        len(text) > _LONGEST or "\n" in text for one in samples for text in (*one.answers, one.target or "")
    ):
        return False
    return repeats > 1 or not any(one.value == 0 and one.answers[0] == one.target for one in samples)


def _vote(one: _Sample, answers: bool) -> str | None:
    if one.value is None:
        return None
    if not answers:
        return "correct" if one.value else "incorrect"
    return one.target if one.value else one.answers[0]
