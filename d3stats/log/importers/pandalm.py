"""PandaLM: 999 response pairs, three human annotators and two judges.

A folder with ``testset-v1.json`` (the humans), ``pandalm-7b-testset-v1.json`` and
``gpt-3.5-turbo-testset-v1.json`` (the judges), rows matched by ``idx``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import files, flat_text, json_of, mapping, question_id, shape, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "pandalm"
TITLE = "Pairwise judgments of 999 response pairs by three humans and two judges"
SOURCE = "WeOpenML/PandaLM @3871806e; licence: Apache-2.0"
NOTES = (
    "answers: '1' and '2' are the responses, '0' is a tie",
    "label is the majority of the three humans, or missing without a majority; score judges with "
    "roles=['judge']",
    "25 answers of GPT-3.5 are marked as unusable in the file; they are missing votes here, while the "
    "repository counts them as ties",
    "the question is the instruction with its input; 170 questions mean that 999 debates are not 999 "
    "clusters",
)

ANSWERS = ("1", "2", "0")
HUMANS = ("annotator1", "annotator2", "annotator3")
_HUMAN_FILE = "testset-v1.json"
_JUDGES = {
    "pandalm-7b-testset-v1.json": ("pandalm-7b", "pandalm_result", "pandalm_reason"),
    "gpt-3.5-turbo-testset-v1.json": ("gpt-3.5-turbo", "gpt_result", "gpt_reason"),
}
_MISSING = "garbage"


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the folder; a judge's file may be absent, the humans' may not."""
    found = {name.rpartition("/")[2]: (name, content) for name, content in files(source, "*testset-v1.json")}
    if _HUMAN_FILE not in found:
        raise ValueError(f"source must hold {_HUMAN_FILE}; got {sorted(found)}")
    judges = {name: _by_index(*found[name]) for name in _JUDGES if name in found}
    rows = _by_index(*found[_HUMAN_FILE])
    for name, judged in judges.items():
        unknown = sorted(set(judged) - set(rows))
        shape(f"{name}, idx", f"among those of {_HUMAN_FILE}", not unknown, unknown[:3])
    for index, row in rows.items():
        answered = {name: judged[index] for name, judged in judges.items() if index in judged}
        yield from _debate(index, row, answered)


def _debate(
    index: int, row: Mapping[str, Any], answered: Mapping[str, Mapping[str, Any]]
) -> Iterator[Item | Turn]:
    where = f"{_HUMAN_FILE}, idx {index}"
    entry = mapping(where, row, ("instruction", "input", "cmp_key", *HUMANS))
    debate = f"pandalm/{index}"
    asked = f"{entry['instruction']}\n{entry['input']}"
    humans = {human: _answer(f"{where}, {human}", entry[human]) for human in HUMANS}
    (most, support), *_ = Counter(humans.values()).most_common(1)
    responses = [flat_text(entry[name]) for name in ("response1", "response2") if name in entry]
    yield Item(
        debate,
        question_id("pandalm", asked),
        label=most if 2 * support > len(humans) else None,
        answers=ANSWERS,
        log=string(f"{where}, cmp_key", entry["cmp_key"]),
        protocol="pairwise",
        text=asked,
        candidates=tuple(responses) if len(responses) == 2 else None,
    )
    for human, vote in humans.items():
        yield Turn(debate, 1, human, role="human", vote=vote)
    for name, answer in answered.items():
        judge, result, reason = _JUDGES[name]
        at = f"{name}, idx {index}"
        given = mapping(at, answer, (result,))[result]
        judged = None if given == _MISSING else _answer(f"{at}, {result}", given)
        text = str(answer.get(reason, ""))
        yield Turn(debate, 1, judge, role="judge", vote=judged, model=judge, text=text)


def _by_index(name: str, content: bytes) -> dict[int, Mapping[str, Any]]:
    data = json_of(name, content)
    shape(name, "a list of rows", isinstance(data, list), data)
    rows: dict[int, Mapping[str, Any]] = {}
    for position, row in enumerate(data):
        index = mapping(f"{name}, row {position}", row, ("idx",))["idx"]
        shape(
            f"{name}, idx", "an index that occurs once", isinstance(index, int) and index not in rows, index
        )
        rows[index] = row
    return rows


def _answer(where: str, value: Any) -> str:
    answer = "0" if value == "Tie" else str(value).strip()
    shape(where, "0, 1, 2 or Tie", answer in ANSWERS, value)
    return answer
