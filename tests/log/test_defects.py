"""Each way for a log to be wrong: what a strict reader says, what a lenient one leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from log_worlds import clean_logs, item, panel, spoiled_lines, turn, write_lines, write_log

from d3stats.log import KINDS, LogError, count_log, read_log, write_csv, write_parquet
from d3stats.log.counting import _count_in_pieces
from d3stats.log.files import find_files
from d3stats.log.problems import TOLERATED
from d3stats.trajectories import Trajectories
from d3stats.values import MISSING_WORDS

GOOD = [item(), *panel()]

VERDICT = {"type": "verdict", "debate": "d1", "decision": "A"}

# ruff: noqa: E501
# (name, lines, kind, line of the problem, field, what is left out)
LINES: list[tuple[str, list[Any], str, int, str | None, str]] = [
    ("garbage", [*GOOD, "not json", item("d2")], "malformed line", 8, None, "record"),
    ("a bare number", [*GOOD, "3", item("d2")], "malformed line", 8, None, "record"),
    ("null", [*GOOD, "null", item("d2")], "malformed line", 8, None, "record"),
    ("a list", [*GOOD, "[1]", item("d2")], "malformed line", 8, None, "record"),
    ("two records on a line", [*GOOD, '{"type":"log"}{"type":"log"}'], "malformed line", 8, None, "record"),
    ("a trailing comma", [*GOOD, '{"type":"log",}', item("d2")], "malformed line", 8, None, "record"),
    ("a lone surrogate", [*GOOD, '{"type":"log","source":"\\ud800"}', item("d2")], "malformed line", 8, "line", "record"),
    ("a repeated key", [*GOOD, '{"type":"log","source":"a","source":"b"}'], "malformed line", 8, "source", "record"),
    ("not a number", [*GOOD, '{"type":"log","schema_version":NaN}', item("d2")], "malformed line", 8, None, "record"),
    ("unknown type", [*GOOD, {"type": "vote"}], "wrong field", 8, "type", "record"),
    ("no type", [*GOOD, {"debate": "d1"}], "wrong field", 8, "type", "record"),
    ("a misspelled key", [*GOOD, turn(agent="z", vot="A")], "wrong field", 8, "vot", "record"),
    ("a key of another record", [*GOOD, turn(agent="z", label="A")], "wrong field", 8, "label", "record"),
    ("a round as text", [*GOOD, turn(round="3")], "wrong field", 8, "round", "record"),
    ("a broken round", [*GOOD, turn(round=2.5, agent="z")], "wrong field", 8, "round", "record"),
    ("a float round", [*GOOD, turn(round=2.0, agent="z")], "wrong field", 8, "round", "record"),
    ("round zero", [*GOOD, turn(round=0)], "wrong field", 8, "round", "record"),
    ("no round", [*GOOD, {"type": "turn", "debate": "d1", "agent": "a"}], "wrong field", 8, "round", "record"),
    ("no agent", [*GOOD, {"type": "turn", "debate": "d1", "round": 1}], "wrong field", 8, "agent", "record"),
    ("an empty agent", [*GOOD, turn(agent="")], "wrong field", 8, "agent", "record"),
    ("a vote as number", [*GOOD, turn(agent="z", vote=5)], "wrong field", 8, "vote", "record"),
    ("an empty vote", [*GOOD, turn(agent="z", vote="")], "wrong field", 8, "vote", "record"),
    ("a vote as object", [*GOOD, turn(agent="z", vote={"a": 1})], "wrong field", 8, "vote", "record"),
    ("tokens below zero", [*GOOD, turn(agent="z", tokens_in=-1)], "wrong field", 8, "tokens_in", "record"),
    ("tokens as text", [*GOOD, turn(agent="z", tokens_in="12")], "wrong field", 8, "tokens_in", "record"),
    ("broken tokens", [*GOOD, turn(agent="z", tokens_out=1.5)], "wrong field", 8, "tokens_out", "record"),
    ("tokens in exponents", [*GOOD, '{"type":"turn","debate":"d1","round":1,"agent":"z","tokens_in":1e3}'], "wrong field", 8, "tokens_in", "record"),
    ("true tokens", [*GOOD, turn(agent="z", tokens_in=True)], "wrong field", 8, "tokens_in", "record"),
    ("a model as number", [*GOOD, turn(agent="z", model=4)], "wrong field", 8, "model", "record"),
    ("a text as number", [*GOOD, turn(agent="z", text=4)], "wrong field", 8, "text", "record"),
    ("a score as text", [*GOOD, turn(agent="z", scores={"a": {"b": "3"}})], "wrong field", 8, "scores.a.b", "record"),
    ("a flat score", [*GOOD, turn(agent="z", scores={"a": 3})], "wrong field", 8, "scores.a", "record"),
    ("a side twice", [*GOOD, '{"type":"turn","debate":"d1","round":1,"agent":"z","scores":{"a":{},"a":{}}}'], "malformed line", 8, "a", "record"),
    ("answers as text", [*GOOD, item("d2", answers="AB")], "wrong field", 8, "answers", "record"),
    ("an answer as number", [*GOOD, item("d2", answers=["A", 2])], "wrong field", 8, "answers.1", "record"),
    ("an item without question", [*GOOD, {"type": "item", "debate": "d2"}], "wrong field", 8, "question", "record"),
    ("a verdict in round zero", [*GOOD, VERDICT | {"round": 0}], "wrong field", 8, "round", "record"),
    ("a newer schema", [{"type": "log", "schema_version": 5, "writer": "x"}, *GOOD], "newer schema", 1, "schema_version", "record"),
    ("a truncated last line", [*GOOD, '{"type":"turn","deb'], "truncated last line", 8, None, "record"),
    ("a duplicate turn", [*GOOD, turn()], "duplicate turn", 8, "agent", "record"),
    ("a duplicate with another vote", [*GOOD, turn(vote="B")], "duplicate turn", 8, "agent", "record"),
    ("a duplicate with another role", [*GOOD, turn(role="judge")], "duplicate turn", 8, "agent", "record"),
    ("a turn of an unknown debate", [*GOOD, turn("d9")], "unknown debate", 8, "debate", "record"),
    ("a verdict of an unknown debate", [*GOOD, VERDICT | {"debate": "d9"}], "unknown debate", 8, "debate", "record"),
    ("an item listed twice differently", [*GOOD, item(label="B")], "conflicting item", 8, "label", "record"),
    ("an item with other answers", [*GOOD, item(answers=["A"])], "conflicting item", 8, "answers", "record"),
    ("two verdicts", [*GOOD, VERDICT, VERDICT | {"decision": "B"}], "conflicting verdict", 9, "decision", "record"),
    ("a label outside the answers", [*GOOD, item("d2", answers=["B"])], "label outside the answers", 8, "label", "field"),
    ("a vote outside the answers", [item(answers=["A", "B"]), *panel(rounds=1), turn(round=1, agent="d", vote="C")], "vote outside the answers", 5, "vote", "field"),
    ("a round gap", [*GOOD, *(turn(round=4, agent=a) for a in "abc")], "round gap", 8, "round", "record"),
    ("no first round", [item(), *(turn(round=2, agent=a) for a in "abc"), item("d2"), *panel("d2")], "round gap", 2, "round", "record"),
    ("an absent agent", [*GOOD, turn(round=3, agent="a"), turn(round=3, agent="b")], "mixed panel", 8, "agent", "nothing"),
    ("a round that was cut short", [*GOOD, VERDICT, item("d2"), *panel("d2"), turn("d2", round=3, agent="a")], "interrupted round", 16, "agent", "record"),
    ("a first round that was cut short", [*GOOD, VERDICT, item("d2"), turn("d2", agent="a")], "interrupted round", 10, "agent", "record"),
    ("panels of two sizes", [*GOOD, item("d2"), *panel("d2"), item("d3"), *panel("d3", agents="ab")], "mixed panel", 16, "agent", "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "lines", "kind", "line", "field", "left_out"), LINES, ids=[x[0] for x in LINES]
)
def test_each_defect_is_raised_with_file_line_and_field_and_left_out_leniently(
    tmp_path: Path, name: str, lines: list[Any], kind: str, line: int, field: str | None, left_out: str
) -> None:
    path = write_lines(tmp_path / "log.jsonl", lines, end="" if "truncated" in kind else "\n")
    log = read_log(path, strict=False)
    for read in (read_log, count_log):
        if kind in TOLERATED:
            (problem, *_) = read(path).problems
            assert (problem.kind, problem.line, problem.field) == (kind, line, field)
            continue
        with pytest.raises(LogError) as caught:
            read(path)
        problem = caught.value.problem
        assert (problem.kind, problem.line, problem.field) == (kind, line, field)
        assert str(caught.value).startswith(f"{path}, line {line}: {kind}: ")
        assert "; got " in str(caught.value)
    if kind in TOLERATED:
        assert read_log(path) == log
    assert {p.kind for p in log.problems} >= {kind}
    assert log.problems[0].left_out == left_out
    assert log.n_records == len(lines)
    assert count_log(path, strict=False).n_turns == len(log.turns)
    # Counting in pieces must not mistake it for a clean log.
    assert _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS) is None


def test_a_panel_that_varies_is_read_with_a_warning(tmp_path: Path) -> None:
    lines = [*GOOD, turn(round=3, agent="a"), turn(round=3, agent="b")]
    path = write_lines(tmp_path / "log.jsonl", lines)
    log = read_log(path)
    assert [problem.kind for problem in log.problems] == ["mixed panel"]
    assert len(log.turns) == 8
    assert any(note.startswith("WARNING: all 3 agents must have a turn") for note in log.notes)
    assert count_log(path).rounds == Trajectories.from_log(path).counts()


def test_every_kind_of_problem_is_explained() -> None:
    shown = {kind for _, _, kind, *_ in LINES}
    others = {
        "empty file",
        "not a log",
        "unknown column",
        "no turns",
        "mixed coding",
        "open debate",
    }
    assert shown | others == set(KINDS)


def test_a_vote_outside_the_answers_becomes_missing_not_wrong(tmp_path: Path) -> None:
    lines = [item(answers=["A", "B"]), turn(agent="a"), turn(agent="b", vote="A."), turn(agent="c", vote="B")]
    log = read_log(write_lines(tmp_path / "log.jsonl", lines), strict=False)
    assert log.turns["vote"].tolist() == ["A", None, "B"]
    counts = count_log(tmp_path / "log.jsonl", strict=False)
    assert counts.rounds.keys.tolist() == [[1, 1, 2]]


def test_rounds_before_a_gap_are_kept(tmp_path: Path) -> None:
    lines = [*GOOD, *(turn(round=r, agent=a) for r in (4, 5) for a in "abc")]
    log = read_log(write_lines(tmp_path / "log.jsonl", lines), strict=False)
    assert log.turns["round"].max() == 2
    assert [p.record_key for p in log.problems] == [("d1", r, a) for r in (4, 5) for a in "abc"]


def test_the_error_says_how_many_more_there_are(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [*GOOD, turn(), turn(agent="b")])
    with pytest.raises(LogError, match=r"\(and 1 more\)") as caught:
        read_log(path)
    assert caught.value.n_problems == 2


@pytest.mark.parametrize(
    "text", ["qid,x\n1,2\n", "debate,round,agent,vote,vote\nd,1,a,A,B\n", "debate,round,vote\nd,1,A\n"]
)
def test_that_no_turns_are_left_is_no_second_problem(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(LogError) as caught:
        read_log(tmp_path / "log.csv")
    assert caught.value.n_problems == 1
    assert "more)" not in str(caught.value)


@pytest.mark.parametrize("read", [read_log, count_log])
def test_what_is_no_name_of_a_file_is_refused_in_one_line(read: Callable[..., Any], tmp_path: Path) -> None:
    """Frames, lists of files, numbers and texts of whole tables: nothing is looked up as if it were a path."""
    frame = pd.DataFrame({"debate": ["d"] * 3, "round": 1, "agent": list("abc"), "vote": "A"})
    for source in (frame, [tmp_path / "log.csv"], 3, None):
        with pytest.raises(
            TypeError, match=rf"paths must be names of files .*got {type(source).__name__}; .*as_traj"
        ):
            read(source)
    for text in (frame.to_csv(index=False), "x" * 5000):
        with pytest.raises(FileNotFoundError, match="got a text that starts") as caught:
            read(text)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", ["jsonl", "csv", "tsv", "xlsx", "parquet", "csv.gz"])
def test_the_advice_on_a_folder_names_the_format_of_its_files(end: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="this one is not a log"):
        read_log(tmp_path)
    for name in (f"a.{end}", f"b.{end}", "readme.md", "one.ndjson"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"\(try .*/\*\.{end}\)"):
        read_log(tmp_path)


def test_problems_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    b = write_lines(tmp_path / "b.jsonl", [*GOOD, "x"])
    a = write_lines(tmp_path / "a.jsonl", ["y"])
    assert [p.file for p in read_log(b, a, strict=False).problems] == [str(b), str(a)]


def test_a_duplicate_across_files_names_both_places(tmp_path: Path) -> None:
    a = write_lines(tmp_path / "a.jsonl", GOOD)
    b = write_lines(tmp_path / "b.jsonl", [item(), turn()])
    with pytest.raises(LogError) as caught:
        count_log(a, b)
    assert (caught.value.problem.file, caught.value.problem.line) == (str(b), 2)
    assert f"first at {a}:2" in str(caught.value)


# ---------------------------------------------------------------- files that are no logs


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for read in (read_log, count_log):
        with pytest.raises(FileNotFoundError, match=r"paths must exist; got '.*none.jsonl'"):
            read(tmp_path / "none.jsonl")
        with pytest.raises(FileNotFoundError, match="which matches none"):
            read(tmp_path / "*.jsonl")
        with pytest.raises(ValueError, match=r"got the folder '.*' \(choose"):
            read(tmp_path)
        with pytest.raises(ValueError, match="at least one file or glob; got none"):
            read()


def test_a_name_that_says_no_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.yaml").write_text("{}")
    with pytest.raises(ValueError, match=r"file names must end in \.jsonl"):
        read_log(tmp_path / "log.yaml")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("log.jsonl", b"", "empty file"),
        ("log.csv", b"", "empty file"),
        ("log.parquet", b"", "empty file"),
        ("log.jsonl", b"\x00\x01\x02binary\xff", "not a log"),
        ("log.csv", b"PK\x03\x04\x00\x00", "not a log"),
        ("log.parquet", b"this is text", "not a log"),
        ("log.parquet", b"PAR1 but then nothing of the kind PAR1", "not a log"),
        ("log.jsonl.gz", b"this is not gzip", "not a log"),
        ("log.jsonl", b"\xff\xfe{}\n", "malformed line"),
        ("log.jsonl", b"\n\n", "no turns"),
        ("log.jsonl", b'{"type":"log","schema_version":1,"writer":"x"}\n', "no turns"),
        ("log.jsonl", b'{"type":"item","debate":"d","question":"q"}\n', "no turns"),
        ("log.csv", b"debate,round,agent,vote\n", "no turns"),
        ("log.csv", b"a,b\n1,2\n", "unknown column"),
        ("log.csv", b"debate,round,agent\nd,1,a\n", "wrong field"),
        ("log.csv", b"debate,round,agent,vote,correct\nd,1,a,A,1\n", "wrong field"),
        ("log.csv", b"debate,round,agent,vote,vote\nd,1,a,A,A\n", "wrong field"),
        ("log.csv", b"debate,round,agent,vote,lable\nd,1,a,A,A\n", "unknown column"),
    ],
)  # fmt: skip
def test_files_that_are_no_logs_are_refused_clearly(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for read in (read_log, count_log):
        with pytest.raises(LogError) as caught:
            read(path)
        assert caught.value.problem.kind == kind
        assert str(path) in str(caught.value)
    log = read_log(path, strict=False)
    assert kind in {p.kind for p in log.problems}
    assert _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS) is None


def test_a_gzip_that_breaks_off_is_a_truncated_file(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "log.jsonl.gz"
    whole = gzip.compress("".join(json.dumps(r) + "\n" for r in GOOD).encode())
    path.write_bytes(whole[:-12])
    with pytest.raises(LogError, match="truncated last line"):
        read_log(path)


@pytest.mark.parametrize("kept", [1, 3, 6])
def test_a_gzip_that_breaks_off_names_the_line_after_the_last_whole_one(tmp_path: Path, kept: int) -> None:
    import zlib

    path = tmp_path / "log.jsonl.gz"
    lines = [json.dumps(r) + "\n" for r in GOOD]
    packer = zlib.compressobj(wbits=31)
    data = packer.compress("".join(lines[:kept]).encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
    path.write_bytes(data)
    (problem,) = [p for p in read_log(path, strict=False).problems if p.kind == "truncated last line"]
    assert problem.line == kept + 1


# ---------------------------------------------------------------- tables

HEAD = "debate,round,agent,vote,label,tokens_in,answers,scores\n"
ROW = 'd,1,a,A,A,12,"[""A"",""B""]","{""pro"":{""clarity"":3}}"\n'


@pytest.mark.parametrize(
    ("row", "kind", "field"),
    [
        ("d,1,b,A,A\n", "malformed line", None),
        ("d,1,b,A,A,12,,,\n", "malformed line", None),
        ("d,1,b,A,A", "truncated last line", None),
        ('d,1,b,A,"A', "truncated last line", None),
        ("d,x,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "round"),
        ("d,-1,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "round"),
        ("d,1.5,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "round"),
        ("d,,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "round"),
        ("d,1,,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "agent"),
        (",1,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "debate"),
        ("d,,,A,A,,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "vote"),
        ("d,1,b,A,A,-3,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "tokens_in"),
        ("d,1,b,A,A,many,\"[\"\"A\"\",\"\"B\"\"]\",\n", "wrong field", "tokens_in"),
        ("d,1,b,A,A,12,A;B,\n", "wrong field", "answers"),
        ("d,1,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",{\n", "wrong field", "scores"),
        ("d,1,b,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\"{\"\"pro\"\":3}\"\n", "wrong field", "scores.pro"),
        ("d,1,b,A,B,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "conflicting item", "label"),
        ("d,1,b,A,A,12,\"[\"\"A\"\"]\",\n", "conflicting item", "answers"),
        ("d,1,a,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "duplicate turn", "agent"),
        ("d,1,b,C,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "vote outside the answers", "vote"),
        ("d,3,a,A,A,12,\"[\"\"A\"\",\"\"B\"\"]\",\n", "round gap", "round"),
    ],
)  # fmt: skip
def test_defects_of_a_csv_row_are_named_with_line_and_field(
    tmp_path: Path, row: str, kind: str, field: str | None
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEAD + ROW + row)
    with pytest.raises(LogError) as caught:
        count_log(path)
    problem = caught.value.problem
    assert (problem.kind, problem.line, problem.field) == (kind, 3, field)
    log = read_log(path, strict=False)
    assert log.n_records == 2
    assert len(log.turns) == 2 - log.n_left_out
    assert _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS) is None


@pytest.mark.parametrize("with_tokens", ["a", "b"])
@pytest.mark.parametrize("columns", [["tokens"], ["tokens_in", "tokens_out"]])
def test_a_file_without_tokens_goes_with_any_other(
    tmp_path: Path, with_tokens: str, columns: list[str]
) -> None:
    for name in "ab":
        counted = name == with_tokens
        head = ["debate", "round", "agent", "vote", "label", *(columns if counted else [])]
        rows = [
            [f"d{name}", "1", seat, "A", "A", *(["7"] * len(columns) if counted else [])] for seat in "xy"
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(map(",".join, [head, *rows])) + "\n")
    log = read_log(tmp_path / "*.csv")
    assert (len(log.turns), log.problems) == (4, ())
    counted = log.turns["debate"] == f"d{with_tokens}"
    for column in columns:
        assert log.turns.loc[counted, column].tolist() == [7, 7]
        assert log.turns.loc[~counted, column].isna().all()


def test_totals_and_tokens_by_kind_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("debate,round,agent,vote,label,tokens\nd,1,a,A,A,5\n")
    (tmp_path / "b.csv").write_text("debate,round,agent,vote,label,tokens_in,tokens_out\ne,1,a,A,A,3,2\n")
    with pytest.raises(LogError, match="mixed coding"):
        read_log(tmp_path / "*.csv")


def test_a_correct_that_is_neither_0_nor_1_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,correct\nd,1,a,1\nd,1,b,2\n")
    with pytest.raises(LogError, match="correct must be 0, 1 or empty; got correct='2'"):
        read_log(path)


def test_answers_and_correctness_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("debate,round,agent,vote,label\nd,1,a,A,A\n")
    (tmp_path / "b.csv").write_text("debate,round,agent,correct\ne,1,a,1\n")
    with pytest.raises(LogError, match="mixed coding"):
        read_log(tmp_path / "*.csv")
    log = read_log(tmp_path / "*.csv", strict=False)
    assert log.n_records - log.n_left_out == len(log.turns) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        "SELECT * FROM log UNION ALL SELECT * FROM log WHERE round = 2",
        "SELECT * REPLACE (if(round = 2, 3, round) AS round) FROM log",
        "SELECT * REPLACE (if(agent = 'c', 'C', vote) AS vote) FROM log",
        "SELECT * REPLACE (if(agent = 'c', 'B', label) AS label) FROM log",
        "SELECT * REPLACE (if(agent = 'c', 'other', question) AS question) FROM log",
        "SELECT * REPLACE (if(agent = 'c', -1, tokens_in) AS tokens_in) FROM log",
        "SELECT * REPLACE (if(agent = 'c', NULL, agent) AS agent) FROM log",
        "SELECT * REPLACE (if(agent = 'c', NULL, debate) AS debate) FROM log",
        "SELECT * REPLACE ('[\"A\", 2]' AS answers) FROM log",
        "SELECT * REPLACE ('{\"a\":1}' AS scores) FROM log",
        "SELECT * REPLACE ('B' AS decision) FROM log",
        "SELECT * EXCLUDE (vote) FROM log",
    ],
)
def test_a_spoiled_parquet_is_refused(tmp_path: Path, spoil: str) -> None:
    from d3stats.log.sheets import connect

    good = write_parquet(
        write_lines(tmp_path / "log.jsonl", [item(answers=["A", "B"]), *panel()]), tmp_path / "a.parquet"
    )
    bad = tmp_path / "b.parquet"
    with connect() as con:
        con.execute(f"COPY (WITH log AS (FROM '{good}') {spoil}) TO '{bad}'")
    with pytest.raises(LogError) as caught:
        count_log(bad)
    assert str(bad) in str(caught.value)
    assert _count_in_pieces(find_files([bad]), "exclude", MISSING_WORDS) is None
    log = read_log(bad, strict=False)
    assert log.n_records - log.n_left_out == len(log.turns)


def test_a_parquet_in_which_an_agent_is_absent_from_a_round_is_read_with_a_warning(tmp_path: Path) -> None:
    from d3stats.log.sheets import connect

    good = write_parquet(write_lines(tmp_path / "log.jsonl", [item(), *panel()]), tmp_path / "a.parquet")
    odd = tmp_path / "b.parquet"
    with connect() as con:
        con.execute(f"COPY (FROM '{good}' WHERE NOT (agent = 'c' AND round = 2)) TO '{odd}'")
    log = read_log(odd)
    assert len(log.turns) == len(panel()) - 1
    t = Trajectories.from_log(odd)
    assert count_log(odd).rounds == t.counts()
    assert t.successes_trials()[1].tolist() == [[3, 2]]
    assert any("WARNING: all 3 agents must have a turn" in remark for remark in t.remarks())


def test_a_column_that_nobody_knows_is_named_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,vote,label,humidity\nd,1,a,A,A,0.7\n")
    log = read_log(path)
    assert log.problems == ()
    assert any("humidity" in note for note in log.notes)


# ---------------------------------------------------------------- nothing is lost


@given(spoiled_lines(), st.booleans())
def test_records_kept_and_records_left_out_are_the_records_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool
) -> None:
    path = tmp_path_factory.mktemp("spoiled") / "log.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n" * ended)
    log = read_log(path, strict=False)
    assert log.n_records == sum(bool(line.strip()) for line in lines)
    left_out = {p.line for p in log.problems if p.left_out == "record"}
    assert len(left_out) == log.n_left_out, "one problem per record left out"
    kept = [json.loads(line) for i, line in enumerate(lines, start=1) if line.strip() and i not in left_out]
    assert len(kept) == log.n_records - log.n_left_out
    assert sorted((r["debate"], r["round"], r["agent"]) for r in kept if r["type"] == "turn") == sorted(
        log.turns[["debate", "round", "agent"]].itertuples(index=False, name=None)
    )
    assert {r["debate"] for r in kept if r["type"] == "item"} == set(log.items["debate"])
    assert {r["debate"] for r in kept if r["type"] == "verdict"} == set(log.verdicts["debate"])
    assert count_log(path, strict=False).n_turns == len(log.turns)


@settings(max_examples=20)
@given(spoiled_lines(), st.booleans())
def test_what_is_counted_in_pieces_is_clean(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool
) -> None:
    path = tmp_path_factory.mktemp("doubt") / "log.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n" * ended)
    pieces = _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS)
    if pieces is not None:
        assert pieces == count_log(path)


@examples(8, 40)
def test_what_is_counted_in_pieces_is_a_clean_table(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    @settings(max_examples=n_examples)
    @given(clean_logs(plain=True), st.data())
    def holds(records: list[Any], data: st.DataObject) -> None:
        a_spoilt_table_counts_as_clean_or_not_in_pieces(tmp_path_factory, records, data)

    holds()


def a_spoilt_table_counts_as_clean_or_not_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    path = write_csv(write_log(folder / "log.jsonl", records), folder / "log.csv")
    text = path.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        spot = data.draw(st.integers(0, len(text) - 1))
        width = data.draw(st.integers(0, 2))
        new = data.draw(
            st.sampled_from(
                [b'"', b",", b"\n", b"\r", b" ", b"", b"0", b"1", b".0", b"-", b"e1", b"A", b"\xc3"]
            )
        )
        text = text[:spot] + new + text[spot + width :]
    path.write_bytes(text)
    pieces = _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS)
    if pieces is not None:
        assert pieces == count_log(path)
    log = read_log(path, strict=False)
    whole_files = sum(p.left_out == "record" for p in log.problems)
    assert log.n_records - whole_files >= len(log.turns)


def test_a_lenient_reader_of_a_clean_log_finds_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", GOOD)
    assert read_log(path, strict=False) == read_log(path)
    assert read_log(path, strict=False).problems == ()


def test_problems_survive_the_way_back_from_a_worker(tmp_path: Path) -> None:
    from joblib import Parallel, delayed

    path = write_lines(tmp_path / "log.jsonl", [*GOOD, turn()])
    (problem,) = Parallel(n_jobs=2)([delayed(_first_problem)(str(path))])
    assert problem.kind == "duplicate turn"


def _first_problem(path: str) -> Any:
    try:
        read_log(path)
    except LogError as error:
        return error.problem


def test_an_untouched_log_of_the_writer_is_clean(tmp_path: Path) -> None:
    from d3stats.log import Item, Turn, Verdict

    records = [Item(debate="d", question="q"), Turn(debate="d", round=1, agent="a"), Verdict(debate="d")]
    path = write_log(tmp_path / "log.jsonl", records)
    assert read_log(path).problems == ()
    assert len(read_log(path).verdicts) == 1
