"""What an export leaves out, or holds in another form, is counted and named; what cannot be parsed is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from d3stats.inference import correct
from d3stats.log import read_log
from d3stats.log.importers import available, import_log

EXPORTS = (
    "lm-eval",
    "promptfoo",
    "deepeval",
    "langfuse",
    "langsmith",
    "otel",
    "mt-bench",
    "alpaca-eval",
    "chateval",
)


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_file_that_nests_without_end_is_refused_in_one_line(name: str, ending: str, tmp_path: Path) -> None:
    assert name in available()
    path = tmp_path / f"samples_x.{ending}"
    path.write_text("[" * 100_000 + "]" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must") as refused:
        import_log(name, path, tmp_path / "out.jsonl")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_log_of_inspect_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(
        '{"version":2,"status":"success","eval":{"task":"t"},"samples":' + "[" * 100_000 + "]" * 100_000
    )
    with pytest.raises(ValueError, match="must be an Inspect log"):
        import_log("inspect", path, tmp_path / "out.jsonl")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ""])
def test_the_name_that_was_given_is_named_where_it_ends_otherwise(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "human.txt"
    path.write_text("CHATGPT\nTIE\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"destination must end in .jsonl or .ndjson; got .*/own{ending}'"):
        import_log("faireval", path, tmp_path / f"own{ending}")


def langfuse_page(number: int, of: int, each: int) -> dict[str, object]:
    scores = [
        {
            "id": f"{number}-{k}",
            "traceId": f"t{number}-{k}",
            "name": "judge",
            "value": k % 2,
            "source": "EVAL",
        }
        for k in range(each)
    ]
    return {
        "data": scores,
        "meta": {"page": number, "totalPages": of, "limit": each, "totalItems": of * each},
    }


def test_pages_that_are_not_there_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.json").write_text(json.dumps(langfuse_page(number, 3, 8)), encoding="utf-8")
    said = import_log("langfuse", folder, tmp_path / "a.jsonl").notes
    assert [note for note in said if "16 of 24 scores were read: page 1, 2 of the export" in note]
    (folder / "3.json").write_text(json.dumps(langfuse_page(3, 3, 8)), encoding="utf-8")
    assert not any(
        "of the export" in note for note in import_log("langfuse", folder, tmp_path / "b.jsonl").notes
    )


def promptfoo(*kinds: str) -> dict[str, object]:
    graded = {"componentResults": [{"score": 1, "pass": True, "assertion": {"type": "equals"}}]}
    rows = {
        "graded": {"gradingResult": graded},
        "bare": {"gradingResult": {"componentResults": []}},
        "error": {"error": "API", "failureReason": 2},
    }
    results = [{"testIdx": k, "promptIdx": 0, "provider": "p", **rows[kind]} for k, kind in enumerate(kinds)]
    return {"results": {"results": results}}


def test_errors_of_a_provider_are_not_results_without_an_assertion(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(promptfoo("graded", "error", "bare", "graded", "error")), encoding="utf-8")
    said = " ".join(import_log("promptfoo", path, tmp_path / "a.jsonl").notes)
    assert (
        "2 of 5 results ended in an error of the provider and are left out, the first at results.json, result 2"
        in said
    )
    assert (
        "1 of 5 results have no graded assertion and are left out, the first at results.json, result 3"
        in said
    )
    path.write_text(json.dumps(promptfoo("bare", "error", "bare")), encoding="utf-8")
    with pytest.raises(ValueError, match="1 errors of a provider and 2 without one"):
        import_log("promptfoo", path, tmp_path / "b.jsonl")


def test_answers_that_inspect_counts_as_wrong_are_said_to_be_missing(tmp_path: Path) -> None:
    samples = [
        {"id": k, "epoch": 1, "input": "q", "target": "a", "scores": {"g": {"value": "CIN"[k % 3]}}}
        for k in range(30)
    ]
    head = {"task": "t", "model": "m", "dataset": {}, "config": {}}
    path = tmp_path / "n.json"
    path.write_text(
        json.dumps({"version": 2, "status": "success", "eval": head, "samples": samples}), encoding="utf-8"
    )
    (note,) = [note for note in read_log(path).notes if "(N)" in note]
    assert (
        "10 scores without an answer (N) are missing votes; Inspect's own accuracy counts them as wrong"
        in note
    )


def test_a_judge_and_labels_without_a_common_category_are_refused() -> None:
    items = pd.DataFrame({"judge": ["no", "yes"] * 40, "label": ["No", "Yes", None, None] * 20})
    with pytest.raises(
        ValueError, match="must share a category; got verdicts 'no', 'yes' and labels 'No', 'Yes'"
    ):
        correct(items)
