"""Candidates, who was shown first, token sources, temperatures and errors: kept by every format and by both readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from log_worlds import NAMES, clean_logs, item, panel, turn, write_lines, write_log
from plain_rules import assert_reads_plainly

from d3stats.log import LogError, LogWriter, Turn, doctor, read_log, write_csv, write_jsonl, write_parquet
from d3stats.log.counting import _count_in_pieces
from d3stats.log.files import find_files
from d3stats.log.frames import DebateLog
from d3stats.log.reader import iter_records
from d3stats.log.schema import SCHEMA_VERSION, Item
from d3stats.values import MISSING_WORDS

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def read_both(path: Path) -> DebateLog:
    """Read, and hold lines to what their records say one by one."""
    log = read_log(path)
    if path.suffix == ".jsonl":
        assert_reads_plainly(log, path)
    return log


@st.composite
def full_logs(draw: st.DrawFn) -> list[Any]:
    """Draw a log in which any record may have the fields of version 2, and texts."""
    records = []
    for record in draw(clean_logs(scores=draw(st.booleans()))):
        if record.type == "item":
            extra: dict[str, Any] = {
                "candidates": draw(st.none() | st.tuples(TEXTS, TEXTS)),
                "first": draw(st.none() | NAMES),
                "category": draw(st.none() | st.sampled_from(["ethics", "math"])),
                "text": draw(st.none() | TEXTS),
            }
        elif record.type == "turn":
            extra = {
                "tokens_source": draw(st.none() | st.just("estimate")),
                "error": draw(st.none() | st.sampled_from(["timeout", "unreadable"])),
                "persona": draw(st.none() | st.sampled_from(["trial judge", "nurse"])),
                "temperature": draw(st.none() | st.just(0.0) | st.floats(0, 2, allow_subnormal=False)),
                "text": draw(st.none() | TEXTS),
            }
        else:
            extra = {}
        records.append(msgspec.structs.replace(record, **extra))
    return records


@examples(3, 25)
def test_the_fields_of_version_two_are_read_alike_by_both_readers_and_survive_every_format(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    @settings(max_examples=n_examples)
    @given(full_logs())
    def holds(records: list[Any]) -> None:
        fields_survive(tmp_path_factory, records)

    holds()


def fields_survive(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("two")
    path = write_log(folder / "log.jsonl", records)
    log = read_both(path)
    first = {r.debate: r.first for r in records if r.type == "item"}
    assert dict(zip(log.items["debate"], log.items["first"], strict=True)) == first
    category = {r.debate: r.category for r in records if r.type == "item"}
    assert dict(zip(log.items["debate"], log.items["category"], strict=True)) == category
    said = {
        (r.debate, r.round, r.agent): (r.tokens_source, r.error, r.persona, r.temperature)
        for r in records
        if r.type == "turn"
    }
    named = ("debate", "round", "agent", "tokens_source", "error", "persona")
    columns = [log.turns[name] for name in named]
    columns.append(log.turns["temperature"].astype(object).where(log.turns["temperature"].notna(), None))
    assert {(d, r, a): rest for d, r, a, *rest in zip(*columns, strict=True)} == {
        key: list(rest) for key, rest in said.items()
    }
    assert read_log(write_jsonl(log, folder / "again.jsonl")) == log
    assert read_both(write_parquet(log, folder / "log.parquet")) == log
    assert read_both(write_csv(log, folder / "log.csv")) == log
    assert [r for r in iter_records(path) if r.type != "log"] == records


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_spelling_of_candidates_and_texts_is_read_on_the_fast_path(
    tmp_path: Path, separators: tuple[str, str], ascii_only: bool
) -> None:
    opened = item(candidates=['é"\\ [x], {y}\n', ""], first="A", text="", answers=["A", "B"])
    records = [opened, *panel(text="", error="timeout", tokens_source="estimate", tokens_in=3, tokens_out=4)]
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps(r, separators=separators, ensure_ascii=ascii_only) + "\n" for r in records)
    )
    assert set(read_both(path).turns["error"]) == {"timeout"}


def test_a_whole_temperature_is_read_on_the_fast_path_as_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from d3stats.log import reader

    def slow(*_: Any) -> None:
        raise AssertionError("a line was read alone")

    later = [turn(round=2, agent=agent, temperature=0.7) for agent in "abc"]
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel(rounds=1, temperature=1), *later])
    monkeypatch.setattr(reader, "read_line", slow)
    found = read_log(path).turns
    assert found["temperature"].dtype == "Float64"
    assert found.groupby("round")["temperature"].unique().map(list).tolist() == [[1.0], [0.7]]


@pytest.mark.parametrize("cells", [["low", "high"], ["0.7", "-3"], ["21 C", ""], ["1e9", "1"]])
def test_a_column_of_other_temperatures_is_left_unread_as_before_and_said(
    tmp_path: Path, cells: list[str]
) -> None:
    """The weather of a question is no sampling temperature; a column that the user names must hold some."""
    path = tmp_path / "log.csv"
    rows = "".join(f'd,1,{agent},A,"{cell}"\n' for agent, cell in zip("xy", cells, strict=True))
    path.write_text("debate,round,agent,vote,temperature\n" + rows)
    log = read_log(path)
    assert log.problems == ()
    assert log.turns["temperature"].isna().all()
    assert any("not read: temperature" in note for note in log.notes)
    with pytest.raises(LogError, match="temperature must be a number from 0 to 1,000,000; got temperature="):
        read_log(path, columns={"temperature": "temperature"})


def test_temperatures_of_a_table_are_read_under_both_names_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    head = "debate,round,agent,vote,"
    rows = "d,1,a,A,0.7\nd,1,b,A,.7\nd,1,c,A,1\nd,1,d,B,NA\n"
    for name in ("temperature", "Sampling temperature"):
        path.write_text(f"{head}{name}\n{rows}")
        assert read_log(path).turns["temperature"].tolist()[:3] == [0.7, 0.7, 1.0]
        report = doctor(path)
        assert report.temperatures == {"0.7": 2, "1": 1}
        assert "Temperatures sent: 0.7 in 2 turns, 1 in 1 turn, none recorded in 1." in report.to_text()
    path.write_text(f"{head}temperature\n" + "".join(f"d,1,a{k},A,0.{k}\n" for k in range(1, 9)))
    assert "3 others in 3." in doctor(path).to_text()
    path.write_text("debate,round,agent,vote\nd,1,a,A\n")
    assert "Temperatures" not in doctor(path).to_text()


def test_a_log_of_version_one_is_read_as_ever(tmp_path: Path) -> None:
    header = {"type": "log", "schema_version": 1, "writer": "d3stats"}
    path = write_lines(tmp_path / "old.jsonl", [header, item(), *panel()])
    log = read_both(path)
    assert log.problems == ()
    assert log.items["first"].tolist() == [None]
    assert log.turns["error"].isna().all()
    assert log.turns["temperature"].isna().all()


def test_a_new_log_says_its_version_and_a_newer_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    LogWriter(path).close()
    assert json.loads(path.read_text())["schema_version"] == SCHEMA_VERSION == 4
    newer = write_lines(
        tmp_path / "newer.jsonl", [{"type": "log", "schema_version": 5, "writer": "x"}, item()]
    )
    with pytest.raises(LogError, match="schema_version must be <= 4; got schema_version=5"):
        read_log(newer)


@pytest.mark.parametrize(
    ("records", "field"),
    [
        ([item(candidates="A"), turn()], "candidates"),
        ([item(candidates=["A", 3]), turn()], "candidates.1"),
        ([item(candidates=[["A"], "B"]), turn()], "candidates.0"),
        ([item(first=""), turn()], "first"),
        ([item(first=1), turn()], "first"),
        ([item(), turn(error="")], "error"),
        ([item(), turn(error=True)], "error"),
        ([item(), turn(tokens_source=5)], "tokens_source"),
        ([item(text=["A"]), turn()], "text"),
    ],
)
def test_a_wrong_field_of_version_two_is_named_and_never_passes_the_fast_path(
    tmp_path: Path, records: list[Any], field: str
) -> None:
    path = write_lines(tmp_path / "log.jsonl", records)
    assert _count_in_pieces(find_files([path]), "exclude", MISSING_WORDS) is None
    with pytest.raises(LogError) as caught:
        read_log(path)
    assert caught.value.problem.field == field


def test_a_table_may_have_the_new_columns_but_a_row_without_a_turn_has_no_error(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    header = "debate,first,label,round,agent,vote,error,tokens_source\n"
    path.write_text(header + "d,B,A,1,a,A,,\nd,B,A,1,b,,timeout,estimate\n")
    log = read_both(path)
    assert log.items["first"].tolist() == ["B"]
    assert log.turns["error"].tolist() == [None, "timeout"]
    path.write_text(header + "d,B,A,1,a,A,,\ne,B,A,,,,timeout,\n")
    with pytest.raises(LogError, match="error must come with a round and an agent"):
        read_log(path)


def test_two_items_of_a_debate_that_differ_in_who_was_first_are_a_conflict(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(first="A"), item(first="B"), turn()])
    with pytest.raises(LogError, match=r"conflicting item: .*got first='B'"):
        read_log(path)


def test_what_a_server_sends_can_always_be_written(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        log.write(Item(debate="d", question="q", text="\ud83d", candidates=("\udc00", "x\x00y")))
        log.write(Turn(debate="d", round=1, agent="a", vote="\ud800", text="a\ud800b \u202e"))
    _, opened, said = iter_records(path)
    assert isinstance(opened, Item)
    assert isinstance(said, Turn)
    assert (opened.text, opened.candidates) == ("\ufffd", ("\ufffd", "x\x00y"))
    assert (said.vote, said.text) == ("\ufffd", "a\ufffdb \u202e")
    assert doctor(path).problems == ()


def test_long_candidates_leave_a_log_on_the_fast_path(tmp_path: Path) -> None:
    long = ("é" * 50_000, 'x"\\' * 30_000)
    records = [
        Item(debate="d", question="q", candidates=long, first="A"),
        Turn(debate="d", round=1, agent="a"),
    ]
    assert len(read_both(write_log(tmp_path / "log.jsonl", records)).items) == 1


def test_records_are_read_one_by_one_with_what_was_passed_over(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(text="Why?"), "{broken", turn(text="So.")], end="")
    with pytest.raises(LogError, match="malformed line"):
        list(iter_records(path))
    passed: list[Any] = []
    assert [r.text for r in iter_records(path, strict=False, problems=passed)] == ["Why?", "So."]  # type: ignore[union-attr]
    assert [(p.line, p.kind) for p in passed] == [(2, "malformed line")]
    with pytest.raises(ValueError, match=r"path must end in \.jsonl"):
        list(iter_records(write_csv(write_lines(tmp_path / "b.jsonl", [item(), turn()]), tmp_path / "b.csv")))
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert list(iter_records(empty)) == []
