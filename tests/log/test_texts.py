"""What was said is read where it is asked for, from every format that has a row per turn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest
from layers import covering

from d3stats.log import iter_records, read_log, write_jsonl
from d3stats.log.transcript import read_transcripts

RECORDS = [
    {"type": "item", "debate": "d", "question": "q", "text": "Why?", "candidates": ["x", "y"]},
    {"type": "turn", "debate": "d", "round": 1, "agent": "b", "vote": "A", "text": "It is, \"says\" he.\nNaïve."},
    {"type": "turn", "debate": "d", "round": 1, "agent": "a", "vote": "B"},
]  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return path


def test_texts_are_read_only_where_they_are_asked_for(log: Path) -> None:
    assert "text" not in read_log(log).turns.columns
    assert {"text", "candidates"}.isdisjoint(read_log(log).items.columns)
    found = read_log(log, texts=True)
    assert found.turns["text"].tolist() == [None, RECORDS[1]["text"]]  # sorted by agent
    assert found.items["text"].tolist() == ["Why?"]
    assert found.items["candidates"].tolist() == [("x", "y")]


def test_everything_else_is_the_same_with_texts(log: Path) -> None:
    bare, whole = read_log(log), read_log(log, texts=True)
    pd.testing.assert_frame_equal(whole.turns.drop(columns="text"), bare.turns)
    pd.testing.assert_frame_equal(whole.items.drop(columns=["text", "candidates"]), bare.items)


def test_a_log_that_was_read_with_its_texts_is_written_with_them(log: Path, tmp_path: Path) -> None:
    copy = write_jsonl(read_log(log, texts=True), tmp_path / "copy.jsonl")
    said = {record.agent: record.text for record in iter_records(copy) if record.type == "turn"}
    assert said == {"a": None, "b": RECORDS[1]["text"]}


@covering(
    name=["text", "Rationale", "explanation"],
    ending=[".csv", ".tsv", ".csv.gz", ".xlsx", ".parquet", ".jsonl"],
)
def test_tables_of_every_format_have_texts(name: str, ending: str, tmp_path: Path) -> None:
    rows = {"debate": ["d", "d"], "round": [1, 1], "agent": ["a", "b"], "vote": ["A", "B"]}
    table = pd.DataFrame(rows | {name: ["because, he says", None]})
    path = tmp_path / f"table{ending}"
    if ending == ".xlsx":
        table.to_excel(path, index=False)
    elif ending == ".parquet":
        import duckdb

        with duckdb.connect() as con:
            con.register("t", table.astype("string"))
            con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    elif ending == ".jsonl":
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in table.to_dict("records")).replace("NaN", "null")
        )
    elif ending == ".csv.gz":
        path.write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    else:
        table.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    found = read_log(path, texts=True)
    assert found.turns["text"].tolist() == ["because, he says", None]
    assert any("text is" in note for note in found.notes) == (name != "text")
    assert any(f"not read: {name}" in note for note in read_log(path).notes)


def test_a_column_of_ones_own_is_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = {"debate": ["d"], "round": [1], "agent": ["a"], "vote": ["A"], "why": ["so"], "text": ["asked"]}
    pd.DataFrame(rows).to_csv(path, index=False)
    assert read_log(path, texts=True, columns={"text": "why"}).turns["text"].tolist() == ["so"]
    with pytest.raises(ValueError, match="columns must choose among"):
        read_log(path, columns={"text": "why"})


def test_two_columns_that_may_be_texts_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = {
        "debate": ["d"],
        "round": [1],
        "agent": ["a"],
        "vote": ["A"],
        "reasoning": ["x"],
        "comment": ["y"],
    }
    pd.DataFrame(rows).to_csv(path, index=False)
    with pytest.raises(ValueError, match="text must be one column of"):
        read_log(path, texts=True)


def test_a_wide_table_has_no_texts_of_turns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    pd.DataFrame({"debate": ["d", "e"], "x": ["A", "B"], "y": ["B", "B"], "text": ["q", "r"]}).to_csv(
        path, index=False
    )
    found = read_log(path, texts=True)
    assert "text" not in found.turns.columns
    assert any("not read: text" in note for note in found.notes)


def test_two_wordings_of_a_question_do_not_contradict_each_other(tmp_path: Path) -> None:
    """A question's wording says nothing that an analysis of votes could need: the first one is kept."""
    path = tmp_path / "log.jsonl"
    records = [RECORDS[0], RECORDS[0] | {"text": "Why so?"}, *RECORDS[1:]]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert read_log(path, texts=True).items["text"].tolist() == ["Why?"]


@pytest.mark.parametrize(
    "odd", [b"", b"\n", b"{", b'[1]\n{"debate":"d 900"}\n', b'{"debate":7}\n', b"\xff\n"]
)
def test_debates_are_found_among_many_blocks_of_lines_with_odd_ones(odd: bytes, tmp_path: Path) -> None:
    path, lines = tmp_path / "log.jsonl", []
    for d in range(1000):
        lines.append({"type": "item", "debate": f"d {d}", "question": "q", "text": "?" * 300})
        lines.append({"type": "turn", "debate": f"d {d}", "round": 1, "agent": "x", "text": f"words {d}"})
    written = [json.dumps(line).encode() + b"\n" for line in lines]
    written[1801] = written[1801].replace(b"d 900", b"d  900")  # as a name it is the same
    path.write_bytes(b"".join([*written[:1700], odd, *written[1700:]]))
    found = read_transcripts(path, debates=["d 900", "d 3", "d 1000"])
    wanted = {"d 900": "words 900", "d 3": "words 3"}
    assert {name: one.turns[0].text for name, one in found.items()} == wanted
    assert list(found) == list(wanted)
