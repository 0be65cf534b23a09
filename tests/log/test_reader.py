"""Lines become columns: what json.loads reads line by line is what they hold, in blocks of any size."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from log_worlds import clean_logs, item, panel, turn, write_lines, write_log

import d3stats.log.lines as log_lines
from d3stats.log.arrays import arrays_of
from d3stats.log.columns import ITEM, TURN, VERDICT, Coded, Records, joined
from d3stats.log.files import find_files
from d3stats.log.opening import unusable
from d3stats.log.reader import line_blocks, read_both, read_lines, read_log
from d3stats.log.schema import MODELS

TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6) | st.sampled_from(
    ["}{", '"vote":', "null", "\x00", "a\\", "é", ":", "}\n{", "\x85\u2028", "A", "B"]
)
SCORES = st.dictionaries(
    st.text(max_size=3),
    st.dictionaries(TEXT, st.integers(-9, 9) | st.floats(-1e9, 1e9), max_size=2),
    max_size=2,
)
TOKENS = st.integers(0, 10**15 - 1)
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "log": {"schema_version": st.integers(1, 4), "writer": TEXT, "source": TEXT},
    "item": {
        **dict.fromkeys(
            ("debate", "question", "cluster", "label", "log", "protocol", "polling", "text", "first"), TEXT
        ),
        "category": TEXT,
        "answers": st.lists(TEXT, max_size=3),
        "candidates": st.lists(st.text(max_size=3), max_size=2),
    },
    "turn": {
        **dict.fromkeys(("debate", "agent", "role", "vote", "tokens_source", "model", "text", "error"), TEXT),
        "persona": TEXT,
        **dict.fromkeys(("tokens_in", "tokens_out", "tokens_cached"), TOKENS),
        "round": st.integers(1, 999_999_999),
        "scores": SCORES,
        "temperature": st.integers(0, 2) | st.floats(0, 1_000_000),
        "confidence": st.integers(0, 1) | st.floats(0, 1),
    },
    "verdict": {
        **dict.fromkeys(("debate", "decision", "stop_reason"), TEXT),
        "round": st.integers(1, 99),
    },
}
NEEDED = {
    "log": (),
    "item": ("debate", "question"),
    "turn": ("debate", "round", "agent"),
    "verdict": ("debate",),
}
NEVER_NULL = {"schema_version", "writer"}


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, dict[str, Any] | None]:
    """Draw a line and what it says, None for a line that must be refused or is blank."""
    kind = draw(st.sampled_from(["turn", "turn", "item", "verdict", "log", "blank", "refused"]))
    if kind == "blank":
        return draw(st.sampled_from(["", " ", "\t", "\r"])), None
    if kind == "refused":
        broken = [
            '{"type":"turn","debate":"d","round":1,"agent":"a","vote":null,"vote":"A"}',
            '{"type":"turn","type":"turn","debate":"d","round":1,"agent":"a"}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","scores":{"a":{},"a":{}}}',
            '{"type":"turn","debate":"d","round":1.0,"agent":"a"}',
            '{"type":"turn","debate":"d","round":"3","agent":"a"}',
            '{"type":"turn","debate":"d","round":true,"agent":"a"}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","scores":{"a":{"b":1e400}}}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","scores":{"a":{"b":NaN}}}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":-1}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":-0.5}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":1e7}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":1e400}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":true}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","temperature":"1"}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","confidence":85}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","confidence":-0.1}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","confidence":1.0000001}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","confidence":"high"}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","confidence":true}',
            '{"type":"turn","debate":"d","round":1,"agent":"a","vot":"A"}',
            '{"type":"verdict","debate":"d","decision":"\\ud800"}',
            '{"type":"verdict","debate":"d"} {"type":"verdict","debate":"d"}',
            '{"type":"verdict","debate":"d"}{"type":"verdict","debate":"d"}',
            '{"type":"log","schema_version":5}',
            '{"type":"item","debate":"d"}',
            "[1]",
            "{",
        ]
        return draw(st.sampled_from(broken)), {}
    data: dict[str, Any] = {"type": kind}
    for name, values in FIELDS[kind].items():
        needed = name in NEEDED[kind]
        if needed or draw(st.booleans()):
            null = not needed and name not in NEVER_NULL and draw(st.integers(0, 4)) == 0
            data[name] = None if null else draw(values)
    data = {name: data[name] for name in draw(st.permutations(list(data)))}
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :")]))
    text = json.dumps(data, separators=separators, ensure_ascii=draw(st.booleans()))
    return text + draw(st.sampled_from(["", "", "", " ", "\r"])), data


def told(records: Records) -> list[tuple[int, str, dict[str, Any]]]:
    """Return what the columns hold, row by row, without what is missing."""
    out: dict[int, tuple[int, str, dict[str, Any]]] = {}
    for kind in ("item", "turn", "verdict"):
        part = getattr(records, f"{kind}s")
        columns = {n: c.to_array() if isinstance(c, Coded) else c for n, c in part.columns.items()}
        for i, row in enumerate(part.row):
            values = {name: column[i] for name, column in columns.items()}
            kept = {
                n: v
                for n, v in values.items()
                if v is not None and not (isinstance(v, float) and math.isnan(v))
            }
            out[int(row)] = (int(records.line[row]), kind, kept)
    return [out[row] for row in sorted(out)]


def expected(text: list[tuple[str, dict[str, Any] | None]]) -> list[tuple[int, str, dict[str, Any]]]:
    known = {"item": ITEM, "turn": (*TURN["coded"], *TURN["numbers"]), "verdict": VERDICT}
    out = []
    for number, (_, data) in enumerate(text, start=1):
        if data and data["type"] != "log":
            kept = {n: v for n, v in data.items() if n in known[data["type"]] and v is not None}
            if "answers" in kept:
                kept["answers"] = tuple(kept["answers"])
            if "scores" in kept:
                kept["scores"] = {s: {c: float(x) for c, x in cs.items()} for s, cs in kept["scores"].items()}
            out.append((number, data["type"], kept))
    return out


def parsed(rows: list[tuple[int, str, dict[str, Any]]]) -> list[tuple[int, str, dict[str, Any]]]:
    return [
        (n, kind, row | ({"scores": json.loads(row["scores"])} if "scores" in row else {}))
        for n, kind, row in rows
    ]


@given(st.lists(lines(), min_size=1, max_size=12), st.booleans(), st.booleans(), st.data())
def test_columns_hold_what_each_line_says_and_blocks_of_any_size_agree(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[str, dict[str, Any] | None]],
    ends: bool,
    packed: bool,
    data: st.DataObject,
) -> None:
    header = '{"type":"log","schema_version":2,"writer":"x"}'
    drawn = [(header, {"type": "log"}), *drawn]
    whole = "\n".join(text for text, _ in drawn) + ("\n" if ends else "")
    path = tmp_path_factory.mktemp("lines") / ("log.jsonl.gz" if packed else "log.jsonl")
    path.write_bytes(gzip.compress(whole.encode()) if packed else whole.encode())
    (file,) = find_files([path])
    records = read_lines(file)
    assert parsed(told(records)) == expected(drawn)
    refused = [number for number, (_, said) in enumerate(drawn, start=1) if said == {}]
    assert [problem.line for problem in records.problems] == refused
    assert records.n_records == sum(said is not None for _, said in drawn)
    size = data.draw(st.integers(1, 400))
    stops = sorted(data.draw(st.lists(st.integers(0, len(whole.encode())), max_size=3)))
    spans = list(zip([0, *stops], [*stops, None], strict=True))
    blocks = [block for a, b in spans for block in line_blocks(file, a, b, size)]
    again = joined(blocks)
    assert told(again) == told(records)
    assert again.problems == records.problems
    assert (again.n_records, again.line.tolist()) == (records.n_records, records.line.tolist())


def test_all_parts_share_the_codes_of_debates_and_of_answers(tmp_path: Path) -> None:
    closing = {"type": "verdict", "debate": "d1", "decision": "A", "round": 2}
    (file,) = find_files([write_lines(tmp_path / "log.jsonl", [item(first="A"), *panel(), closing])])
    records = read_lines(file)
    parts = (records.items, records.turns, records.verdicts)
    assert all(part.coded("debate").values is records.turns.coded("debate").values for part in parts)
    answers = records.turns.coded("vote").values
    assert records.items.coded("label").values is records.items.coded("first").values is answers
    assert records.verdicts.coded("decision").values is answers
    assert records.turns.numbers("round").dtype == np.int64
    assert "tokens_in" not in records.turns.columns


def test_scores_that_say_the_same_have_one_code_however_they_are_written(tmp_path: Path) -> None:
    spelled = ['{"a":{"b":3}}', '{"a" : {"b":3.0}}', '{"a":{"b":30e-1}}', "null"]
    said = [
        f'{{"type":"turn","debate":"d1","round":1,"agent":"{k}","scores":{scores}}}'
        for k, scores in enumerate(spelled)
    ]
    (file,) = find_files([write_lines(tmp_path / "log.jsonl", [item(), *said])])
    assert read_lines(file).turns.coded("scores").codes.tolist() == [0, 0, 0, -1]


def test_a_mark_of_byte_order_at_the_beginning_is_passed_over(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel()])
    plain = told(read_lines(find_files([path])[0]))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    marked = read_lines(find_files([path])[0])
    assert (told(marked), marked.problems) == (plain, [])


def test_a_line_of_a_megabyte_and_a_file_cut_in_packing_keep_their_line_numbers(tmp_path: Path) -> None:
    long = turn(text="é" * 1_000_000, vote="x" * 1_000_000)
    path = write_lines(tmp_path / "log.jsonl", [item(), long, "broken", turn(agent="b")])
    records = read_lines(find_files([path])[0])
    assert [p.line for p in records.problems] == [3]
    assert records.line[records.turns.row].tolist() == [2, 4]
    packed = tmp_path / "log.jsonl.gz"
    # In two members: the second breaks off.
    first, second = (gzip.compress(part) for part in (path.read_bytes(), path.read_bytes()))
    packed.write_bytes(first + second[:-9])
    cut = read_lines(find_files([packed])[0])
    assert len(cut.turns) >= 2
    assert (cut.problems[-1].kind, cut.problems[-1].left_out) == ("truncated last line", "nothing")


def test_a_defect_costs_no_more_than_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    one = log_lines.read_line
    monkeypatch.setattr(log_lines, "read_line", lambda *a: asked.append(a[1]) or one(*a))
    lines = [item(), *(turn(round=r, agent=a) for r in range(1, 5000) for a in "abc")]
    lines[9000] = "broken"
    (file,) = find_files([write_lines(tmp_path / "log.jsonl", lines)])
    assert [p.line for p in read_lines(file).problems] == [9001]
    assert len(asked) < 4000


def test_every_type_of_record_is_drawn_with_all_its_fields() -> None:
    assert {kind: set(model.__struct_fields__) for kind, model in MODELS.items()} == {
        kind: set(fields) for kind, fields in FIELDS.items()
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.jsonl", b"\x89PNG\r\n\x1a\n\0\0", "file must be text; got a PNG picture"),
        ("log.csv", b"\xff\xd8\xff\xe0", "file must be text; got a JPEG picture"),
        ("log.csv", b"PK\x03\x04..", "got a ZIP archive or a workbook, whose name ends in .xlsx"),
        ("log.jsonl", gzip.compress(b"{}", mtime=0), "got gzipped data, whose name ends in .gz"),
        ("log.csv", b"PAR1...", "got Parquet, whose name ends in .parquet"),
        ("log.xlsx", b"debate,round\n", "file must be an XLSX workbook; got data starting with b'debate,r'"),
        ("log.parquet", b"debate,round\n", "file must be Parquet; got data starting with b'debate,r'"),
        ("log.jsonl", b"ab\0cd", r"file must be text; got binary data starting with b'ab\x00cd'"),
        ("log.jsonl", b"", "file must hold records; got 0 bytes"),
    ],
)
def test_a_file_of_another_kind_is_named_as_what_it_is(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    problem = unusable(find_files([tmp_path / name])[0])
    assert problem is not None
    assert said in problem.message


@pytest.mark.parametrize(
    ("name", "near"),
    [("a.jsnol", ".jsonl"), ("a.xls", ".xlsx"), ("a.parquest", ".parquet"), ("a.cvs", ".csv"),
     ("a.pq", ".parquet"), ("a.tab", ".tsv")],
)  # fmt: skip
def test_the_nearest_ending_is_named(tmp_path: Path, name: str, near: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"\(the nearest is {near}\)$"):
        find_files([tmp_path / name])


def test_an_ending_without_a_near_one_gets_no_advice(tmp_path: Path) -> None:
    (tmp_path / "cat.png").touch()
    with pytest.raises(ValueError, match=r"file names must end in .*; got '.*cat.png'$"):
        find_files([tmp_path / "cat.png"])


def test_lines_without_a_type_are_rows_of_a_table(tmp_path: Path) -> None:
    rows = [{"debate": "d", "round": 1, "agent": agent, "vote": "A", "label": "B"} for agent in "xyz"]
    (file,) = find_files([write_lines(tmp_path / "flat.jsonl", [*rows, "broken"])])
    records = read_lines(file)
    assert records.turns.coded("agent").to_array().tolist() == ["x", "y", "z"]
    assert [(p.line, p.kind) for p in records.problems] == [(4, "malformed line")]
    assert records.n_records == 4
    assert [len(block.turns) for block in line_blocks(file)] == [3]
    assert list(line_blocks(file, start=9)) == []


def test_a_log_whose_first_line_has_a_wrong_type_is_still_a_log(tmp_path: Path) -> None:
    (file,) = find_files([write_lines(tmp_path / "log.jsonl", [item() | {"type": "itm"}, *panel()])])
    records = read_lines(file)
    assert [(p.line, p.field) for p in records.problems] == [(1, "type")]
    assert len(records.turns) == 6


@examples(5, 40)
def test_tables_and_columns_that_are_read_together_say_the_same(
    n_examples: int, tmp_path_factory: Any
) -> None:
    tested = given(log=clean_logs())(lambda log: read_together_and_alone(log, tmp_path_factory))
    settings(max_examples=n_examples)(tested)()


def read_together_and_alone(log: Any, tmp_path_factory: Any) -> None:
    path = write_log(tmp_path_factory.mktemp("both") / "log.jsonl", log)
    tables, checked = read_both([path])
    alone = read_log(path, strict=False)
    for name in ("items", "turns", "verdicts"):
        one, other = getattr(tables, name), getattr(alone, name)
        columns = [column for column in other.columns if column != "scores"]
        pd.testing.assert_frame_equal(one[columns], other[columns])
    scores = [None if text is None else json.loads(text) for text in tables.turns["scores"]]
    assert scores == alone.turns["scores"].tolist()
    found, wanted = (arrays_of(each) for each in (checked, alone.to_checked()))
    again = arrays_of(tables.to_checked())
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
        np.testing.assert_array_equal(again[name], value, err_msg=name)


@pytest.mark.parametrize(
    ("points", "mean"),
    [
        (np.float64(2.5), 2.5),
        (3, 3.0),
        (True, 1.0),
        (float("nan"), np.nan),
        (float("inf"), np.inf),
        (2**70, 2.0**70),
    ],
)
def test_scores_of_a_table_of_ones_own_are_the_numbers_that_they_are(
    points: Any, mean: float, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    path.write_text('debate,round,agent,vote,label,scores\nd,1,x,A,A,"{""A"":{""c"":1}}"\n')
    log = read_log(path)
    log.turns["scores"] = pd.Series([{"A": {"c": points}, "null": {"c": 1.0}}], dtype=object)
    read = log.to_checked().turns.coded("scores").to_array()[0]
    np.testing.assert_equal(float(json.loads(read)["A"]["c"]), mean)
