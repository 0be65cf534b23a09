"""Damage that once was an error of Python or of another package: each kind is a problem of the file, or a refusal."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled

from d3stats._words import Advised
from d3stats.counts import Counts
from d3stats.inference import as_pairwise, as_ratings, as_run
from d3stats.inference.bias import as_judgments
from d3stats.log import LogError, read_log
from d3stats.log.importers._source import mapping, points
from d3stats.log.transcript import read_transcript
from d3stats.note import kind_of, severity_of
from d3stats.planning import read_study
from d3stats.run import read_items
from d3stats.worlds import PriceTable, Voter


@pytest.mark.parametrize("name", ["debate", "round", "agent", "vote"])
def test_half_of_a_surrogate_pair_is_a_problem_of_its_line(name: str, tmp_path: Path) -> None:
    turn = {"type": "turn", "debate": "d", "round": 1, "agent": "a", "vote": "A"}
    item = {"type": "item", "debate": "d", "question": "q"}
    lines = [item, turn, {**turn, "agent": "b", name: "\ud800"}]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_log(path, strict=False)
    assert len(log.turns) == 1
    assert [problem.line for problem in log.problems if problem.left_out == "record"] == [3]
    assert len(read_transcript(path, "d").turns) == 1
    with pytest.raises(LogError):
        read_log(path)


TABLES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "run": (as_run, "item", {"score": 0.5}),
    "ratings": (as_ratings, "item", {"rater": "r", "vote": "A"}),
    "judgments of pairs": (as_pairwise, "item", {"model_a": "m", "model_b": "n", "winner": "m"}),
    "verdicts in both orders": (as_judgments, "item", {"order": "AB", "vote": "A"}),
    "items": (read_items, "question", {"answer_a": "x", "answer_b": "y"}),
    "log": (read_log, "debate", {"round": 1, "agent": "a", "vote": "A"}),
}
"""Kinds of tables: the function that reads it, the column of names, and the other cells of a row."""


def _written(rows: list[dict[str, Any]], form: str, folder: Path) -> Any:
    """Return a source that holds the rows."""
    if form == "rows":
        return rows
    if form == "frame":
        return pd.DataFrame(
            {name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]}, dtype=object
        )
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    data = (lines if "jsonl" in form else json.dumps(rows)).encode()
    path = folder / f"table{form}"
    path.write_bytes(gzip.compress(data) if form.endswith(".gz") else data)
    return path


def _doors(kind: str) -> tuple[str, ...]:
    # Items and logs have other functions for what is in memory.
    return (".json", ".jsonl", ".json.gz", ".jsonl.gz") + (
        () if kind in ("items", "log") else ("rows", "frame")
    )


@sampled(
    "kind, form, half",
    [(kind, form, half) for kind in TABLES for form in _doors(kind) for half in ("\ud800", "x\udfffy")],
    slice(0, None, 3),
)
def test_half_of_a_surrogate_pair_in_a_table_is_read_with_another_character_and_told(
    kind: str, form: str, half: str, tmp_path: Path
) -> None:
    read, name, others = TABLES[kind]
    rows = [{name: "q1", **others}, {name: half, **others}]
    (told,) = [n for n in read(_written(rows, form, tmp_path)).notes if kind_of(n) == "halves"]
    start = "1 cell has half of a surrogate pair, which is no character, and is read with U+FFFD in its place"
    assert told == f"{start}; the first is in column {name!r}, line 2"
    if form == "frame":
        return
    keys = [{**row, half: "1"} for row in [{name: "q1", **others}, {name: "q2", **others}]]
    told, *_ = [n for n in read(_written(keys, form, tmp_path)).notes if kind_of(n) == "halves"]
    assert told == start.replace("cell", "name of a column")


@pytest.mark.parametrize("kind", ["run", "ratings", "judgments of pairs", "verdicts in both orders"])
@pytest.mark.parametrize("name", [["q"], {"a": 1}])
def test_a_list_or_object_as_a_name_is_the_same_name_in_memory_as_in_a_file(
    kind: str, name: object, tmp_path: Path
) -> None:
    read, column, others = TABLES[kind]
    rows = [{column: "q1", **others}, {column: name, **others}]
    tables = [read(_written(rows, form, tmp_path)) for form in (".json", "rows", "frame")]
    items = [list(table.clusters if kind == "judgments of pairs" else table.items) for table in tables]
    assert items[0] == items[1] == items[2]
    assert json.dumps(name) in items[0]


@pytest.mark.parametrize("form", [".json", ".jsonl", "rows", "frame"])
def test_names_that_become_equal_without_their_halves_are_warned_of_or_refused(
    form: str, tmp_path: Path
) -> None:
    rows = [{"item": f"q{half}", "score": 1, "cluster": "\ufffd"} for half in "\ud800\udfff"]
    run = as_run(_written(rows, form, tmp_path))
    assert list(run.items) == ["q\ufffd"]
    (told,) = [n for n in run.notes if kind_of(n) == "halves"]
    assert severity_of(told) == "warning"
    assert told.endswith("texts that differ in nothing else are read as one (1 in column 'item')")
    if form != "frame":
        keys = [{**row, **dict.fromkeys("\ud800\udfff", 1)} for row in rows]
        with pytest.raises(ValueError, match=r"each column once|must differ in more than half"):
            as_run(_written(keys, form, tmp_path))


def test_json_in_a_cell_that_spells_half_of_a_surrogate_pair_is_a_problem_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for column, cell in (("answers", ["\ud800", "A"]), ("scores", {"\ud800": {"depth": 1}})):
        rows = pd.DataFrame({"debate": ["d"], "round": [1], "agent": ["a"], "vote": ["A"]})
        rows.assign(**{column: json.dumps(cell)}).to_csv(path, index=False)
        with pytest.raises(LogError, match=f"{column} must be text without half of a surrogate pair"):
            read_log(path)
    both = json.dumps(["x\ud800", "B"])
    pd.DataFrame({"id": [1], "question": ["q"], "candidates": [both], "models": [both]}).to_csv(
        path, index=False
    )
    (item,) = read_items(path)
    assert item.candidates == item.models == ("x\ufffd", "B")


@pytest.mark.parametrize("depth", [500, 100_000])
@pytest.mark.parametrize("column", ["candidates", "answers"])
def test_lists_in_lists_in_a_cell_of_items_are_refused(column: str, depth: int, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    cells = {"id": "1", "question": "q", "candidates": '["x", "y"]', "answers": "A|B"}
    pd.DataFrame([cells | {column: "[" * depth + "]" * depth}]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"must (not be a list nested too deeply|be|not be empty)") as caught:
        read_items(path)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(("score", "wanted"), [("\ud800", "a number"), (10**400, "a number below 1e308")])
def test_a_score_that_is_half_of_a_surrogate_pair_or_too_large_is_refused(
    score: object, wanted: str, tmp_path: Path
) -> None:
    turn = {"type": "turn", "debate": "d", "round": 1, "agent": "a", "scores": {"A": {"clarity": score}}}
    path = tmp_path / "log.jsonl"
    path.write_text(
        json.dumps({"type": "item", "debate": "d", "question": "q"}) + "\n" + json.dumps(turn) + "\n"
    )
    with pytest.raises(LogError, match=rf"scores\.A\.clarity must be {wanted}"):
        read_log(path)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_gzipped_document_that_breaks_off_is_no_log(share: float, tmp_path: Path) -> None:
    rows = [
        {"debate": f"d{k}", "round": 1, "agent": "a", "vote": "AB"[k % 2], "label": "A"} for k in range(50)
    ]
    data = gzip.compress(json.dumps(rows).encode())
    path = tmp_path / "log.json.gz"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(LogError, match="the compressed file must be complete"):
        read_log(path)


@pytest.mark.parametrize(
    "asked", [5, [["no object"]], [{"content": [{"text": 5}]}], [{"content": [{"text": None}]}]]
)
def test_messages_of_inspect_that_are_no_texts_are_left_out_or_refused(asked: Any, tmp_path: Path) -> None:
    head = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {}, "config": {}},
    }
    sample = {
        "id": 1,
        "epoch": 1,
        "input": asked,
        "target": "A",
        "scores": {"s": {"value": "C", "answer": "A"}},
    }
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("header.json", json.dumps(head))
        parts.writestr("samples/1_epoch_1.json", json.dumps(sample))
    if isinstance(asked, list) and isinstance(asked[0], dict):
        assert len(read_log(path).turns) == 1
    else:
        with pytest.raises(ValueError, match="path must be an Inspect log"):
            read_log(path)


@pytest.mark.parametrize("given", [10**400, "x" * 5000])
def test_no_value_of_a_file_is_repeated_at_full_length(given: object, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        Voter(accuracy=given)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 400
    path = tmp_path / "file.toml"
    path.write_text(f"date = {json.dumps(given)}\n[models.m]\ninput = {json.dumps(given)}\noutput = 1\n")
    for read in (PriceTable.read, read_study):
        with pytest.raises(ValueError, match=r"file\.toml") as caught:
            read(path)
        assert len(str(caught.value)) < 2000
    pair = {"question": "q", "response_a": "x", "response_b": "y", "label": given}
    for row in (pair, {"id": 1, str(given): "q"}, {"id": 1, "a\nb": "q"}):
        with pytest.raises(ValueError, match=r"label must|must have the columns") as caught:
            read_items(pd.DataFrame([row]).astype(str))
        assert len(str(caught.value)) < 700
        assert "\n" not in str(caught.value)


def test_a_name_with_a_line_break_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = "2026-01-31"\n[models."a\\nb"]\ninput = -1\noutput = 1\n')
    with pytest.raises(ValueError, match=r"must be >= 0") as caught:
        PriceTable.read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [10**400, 1e30, 2**63, np.uint64(2**63)])
def test_counts_too_large_for_a_whole_number_are_refused(given: object) -> None:
    cells = pd.DataFrame({"successes": [1], "trials": [3], "weight": [1.0]}).astype(object)
    for name in ("successes", "trials"):
        with pytest.raises(ValueError, match=f"{name} must be below") as caught:
            Counts.from_frame(cells.assign(**{name: [given]}))
        assert len(str(caught.value)) < 400
    with pytest.raises(ValueError, match=r"weights? must be below"):
        Counts.from_frame(cells.assign(weight=[10**400]))
    with pytest.raises(TypeError, match="whole numbers") as refused:
        Counts.from_frame(cells.assign(trials=["x" * 5000]))
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("seeds", ["1" + "0" * 400, "1000001", "[" * 2000 + "]" * 2000])
def test_a_study_of_too_many_seeds_or_of_lists_in_lists_is_refused(seeds: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        f'seeds = {seeds}\nrules = ["fixed:2"]\nn_rounds = 3\ndebates = 20\n[[worlds]]\nname = "voter"\n'
    )
    with pytest.raises(
        ValueError, match=r"study\.toml.*(seeds must be (<= 1000000|an integer)|nested too deeply)"
    ):
        read_study(path)


@pytest.mark.parametrize("value", [10**400, "x" * 5000, float("nan"), True, None])
def test_a_number_of_an_imported_file_is_finite_or_refused_in_a_short_line(value: Any) -> None:
    with pytest.raises(ValueError, match="file, line 1 must be a finite number") as caught:
        points("file, line 1", value)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match="must have name") as caught:
        mapping("file, line 1", {str(value): value}, ("name",))
    assert len(str(caught.value)) < 400


def test_what_was_got_is_repeated_in_one_line_of_at_most_600_characters() -> None:
    refused = Advised("winner must be a contestant", "write its name", got="x\n" * 5000)
    assert len(refused) < 700
    assert "\n" not in refused
    assert refused.startswith(r"winner must be a contestant; got x\nx")
    assert refused.endswith("; write its name")
    frame = pd.DataFrame({"item": [1], "first": ["x"], "second": ["y"], "winner": ["z" * 5000]})
    with pytest.raises(ValueError, match="winner must be") as caught:
        as_pairwise(frame)
    assert len(str(caught.value)) < 800
