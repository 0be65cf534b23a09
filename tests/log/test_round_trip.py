"""One log, three formats: all say the same, and what the records say one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from layers import examples
from log_worlds import clean_logs, item, panel, turn, write_lines, write_log
from plain_rules import assert_reads_plainly

from d3stats.log import LogError, count_log, read_log, write_csv, write_jsonl, write_parquet
from d3stats.log.counting import LogCounts, _count_in_pieces
from d3stats.log.files import find_files
from d3stats.log.frames import DebateLog
from d3stats.log.sheets import connect
from d3stats.trajectories import Trajectories
from d3stats.values import MISSING_WORDS

# Small files are counted as a whole, so these tests ask for pieces by name.


def read_both(*paths: Path) -> DebateLog:
    """Read, and hold lines to what their records say one by one."""
    log = read_log(*paths)
    if all(".jsonl" in path.name for path in paths):
        assert_reads_plainly(log, *paths)
    return log


def count_both(*paths: Path, missing: str = "exclude") -> LogCounts:
    """Count in pieces and as a whole, and hold them equal."""
    whole = count_log(*paths, missing=missing)  # type: ignore[arg-type]
    for size in (1 << 20, 400):
        pieces = _count_in_pieces(find_files(paths), missing, MISSING_WORDS, size=size)  # type: ignore[arg-type]
        assert pieces is None or pieces == whole
    return whole


@examples(4, 40)
def test_jsonl_parquet_and_csv_read_into_equal_logs(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    settings(max_examples=n_examples)(
        given(clean_logs())(lambda records: formats_agree(tmp_path_factory, records))
    )()


def formats_agree(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("formats")
    path = write_log(folder / "log.jsonl", records)
    log = read_log(path)
    assert len(log.turns) == sum(r.type == "turn" for r in records)
    assert len(log.items) == sum(r.type == "item" for r in records)
    assert len(log.verdicts) == sum(r.type == "verdict" for r in records)
    for other in (
        write_parquet(log, folder / "log.parquet"),
        write_csv(log, folder / "log.csv"),
        write_csv(log, folder / "log.csv.gz"),
        write_jsonl(log, folder / "again.jsonl"),
    ):
        again = read_log(other)
        pd.testing.assert_frame_equal(again.turns, log.turns)
        pd.testing.assert_frame_equal(again.items, log.items)
        pd.testing.assert_frame_equal(again.verdicts, log.verdicts)
        assert again == log


@examples(5, 20)
def test_the_fast_reader_and_the_exact_reader_agree_on_clean_logs(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    settings(max_examples=n_examples)(
        given(clean_logs())(lambda records: readers_agree(tmp_path_factory, records))
    )()


def readers_agree(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("readers")
    log = read_both(write_log(folder / "log.jsonl", records))
    assert log.n_records == len(records) + 1
    assert read_both(write_parquet(log, folder / "log.parquet")) == log
    assert read_both(write_csv(log, folder / "log.csv")) == log


@examples(3, 20)
def test_counting_in_sql_equals_counting_the_array_view(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    settings(max_examples=n_examples)(
        given(clean_logs())(lambda records: counts_agree(tmp_path_factory, records))
    )()


def counts_agree(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    path = write_log(tmp_path_factory.mktemp("counts") / "log.jsonl", records)
    array = Trajectories.from_log(path)
    parquet = write_parquet(path, path.with_suffix(".parquet"))
    for missing in ("exclude", "wrong"):
        for file in (path, parquet):
            counts = count_both(file, missing=missing)
            assert counts.rounds == array.counts(missing)
            assert counts.transitions == array.transitions(missing)
        assert counts.n_turns == sum(r.type == "turn" for r in records)


@given(clean_logs(max_debates=6))
def test_counts_of_files_add_up_to_the_counts_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    debates = sorted({r.debate for r in records})
    halves = [set(debates[::2]), set(debates[1::2])]
    paths = [
        write_log(folder / f"{i}.jsonl", [r for r in records if r.debate in half])
        for i, half in enumerate(halves)
        if half
    ]
    whole = count_log(folder / "*.jsonl")
    total = sum(count_log(path) for path in paths)
    assert (total.rounds, total.transitions) == (whole.rounds, whole.transitions)
    assert (total.n_turns, total.n_debates) == (whole.n_turns, whole.n_debates)


def test_counts_with_different_missing_do_not_add(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), turn()])
    with pytest.raises(ValueError, match="missing must be the same to add"):
        count_log(path) + count_log(path, missing="wrong")


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_spelling_of_json_is_read_alike_on_the_fast_path(
    tmp_path: Path, separators: tuple[str, str], ascii_only: bool
) -> None:
    records = [
        item(answers=["A", 'é"\\']),
        *panel(vote='é"\\', scores={"pro": {"clarity": 3, "日": 2.5}}, text="x"),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps(r, separators=separators, ensure_ascii=ascii_only) + "\n" for r in records)
    )
    log = read_both(path)
    assert set(log.turns["vote"]) == {'é"\\'}
    assert count_both(path).n_turns == 6


def test_agents_with_names_of_their_own_in_every_debate_take_the_fast_path(tmp_path: Path) -> None:
    records = [
        r for d in range(70) for r in (item(f"d{d}"), *(turn(f"d{d}", 1, f"agent {d}.{a}") for a in range(2)))
    ]
    path = write_lines(tmp_path / "log.jsonl", records)
    parquet = write_parquet(path, tmp_path / "log.parquet")
    assert count_both(path).rounds == count_both(parquet).rounds == Trajectories.from_log(path).counts()
    again = write_lines(tmp_path / "twice.jsonl", [*records, turn("d69", 1, "agent 69.0")])
    with pytest.raises(LogError, match="duplicate turn"):
        count_log(again)


def test_a_panel_of_more_than_62_agents_is_counted_by_the_exact_reader(tmp_path: Path) -> None:
    records = [item(), *(turn("d1", 1, f"agent {a}") for a in range(70))]
    path = write_lines(tmp_path / "log.jsonl", records)
    assert count_log(path).rounds.to_frame().to_numpy().tolist() == [[1, 70, 70, 1]]


def test_a_log_of_correctness_reads_from_csv_and_keeps_its_coding_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,correct\nd,1,a,1\nd,1,b,0\nd,2,a,\nd,2,b,1.0\n")
    log = read_log(path)
    assert log.coding == "correctness"
    assert "vote" not in log.turns
    assert log.turns["correct"].tolist() == [1, 0, pd.NA, 1]
    assert read_both(path) == log
    assert read_both(write_parquet(log, tmp_path / "log.parquet")) == log
    array = Trajectories.from_log(path)
    assert array.coding == "correctness"
    for missing in ("exclude", "wrong"):
        assert count_both(path, missing=missing).rounds == array.counts(missing)
        assert count_both(path, missing=missing).transitions == array.transitions(missing)
    with pytest.raises(ValueError, match="log must hold answers"):
        write_jsonl(log, tmp_path / "log.jsonl")


def test_rounds_of_a_csv_that_count_from_zero_are_shifted_and_noted(tmp_path: Path) -> None:
    zero = tmp_path / "zero.csv"
    zero.write_text("debate,round,agent,vote,label\nd,0,a,A,A\nd,1,a,B,A\n")
    one = tmp_path / "one.csv"
    one.write_text("debate,round,agent,vote,label\ne,1,a,A,A\ne,2,a,B,A\n")
    log = read_log(zero, one)
    assert log.turns["round"].tolist() == [1, 2, 1, 2]
    assert log.notes == (f"{zero}: rounds count from 0 and were shifted to count from 1",)
    assert log.problems == ()
    assert read_both(zero, one) == log


def test_total_tokens_of_a_table_stay_totals(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,vote,label,tokens\nd,1,a,A,A,30\nd,1,b,A,A,12\n")
    log = read_log(path)
    assert log.turns["tokens"].tolist() == [30, 12]
    assert Trajectories.from_log(path).tokens is not None
    assert Trajectories.from_log(path).tokens.tolist() == [[42.0]]  # type: ignore[union-attr]
    assert read_log(write_parquet(log, tmp_path / "log.parquet")) == log


def test_foreign_parquet_with_other_types_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    with connect() as con:
        con.execute(
            f"""COPY (SELECT 'd' AS debate, 1.0::DOUBLE AS round, a AS agent, 'A' AS vote, 'A' AS label,
            ['A', 'B'] AS answers FROM (VALUES ('x'), ('y')) t(a)) TO '{path}'"""
        )
    log = read_log(path)
    assert log.items["answers"].tolist() == [("A", "B")]
    assert log.turns["round"].tolist() == [1, 1]
    assert count_log(path).rounds.to_frame().to_numpy().tolist() == [[1, 2, 2, 1]]


def test_compressed_lines_read_like_plain_ones(tmp_path: Path) -> None:
    import gzip

    path = write_lines(tmp_path / "log.jsonl", [item(), *panel()])
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_both(packed) == read_log(path)


def test_lines_and_tables_of_one_log_read_together(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl", [item("d1"), *panel("d1")])
    table = write_parquet(
        write_lines(tmp_path / "b.jsonl", [item("d2"), *panel("d2")]), tmp_path / "b.parquet"
    )
    both = read_log(lines, table)
    assert both == read_log(tmp_path / "*.jsonl")
    assert count_log(lines, table).rounds == count_log(tmp_path / "*.jsonl").rounds


def test_items_may_be_repeated_alike_across_files(tmp_path: Path) -> None:
    a = write_lines(tmp_path / "a.jsonl", [item(), *panel(rounds=1)])
    b = write_lines(tmp_path / "b.jsonl", [item(), *(turn("d1", 2, x) for x in "abc")])
    assert len(read_both(a, b).items) == 1
    assert count_both(a, b).n_debates == 1
    assert count_both(a, b).transitions.n_obs == 1


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [item(), *panel()])
    assert count_log(path, tmp_path / "*.jsonl", str(path)).n_turns == 6


def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a[1].jsonl", [item(), *panel()])
    assert count_log(path).n_turns == 6
    assert len(read_log(path).turns) == 6


def test_the_last_line_may_lack_its_line_end(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [item(), *panel()], end="")
    assert count_both(path).n_turns == 6


def test_panels_that_speak_in_different_rounds_by_role_are_no_mixed_panel(tmp_path: Path) -> None:
    jurors = [turn("d1", 2, a, role="juror") for a in "xy"]
    path = write_lines(tmp_path / "a.jsonl", [item(), *panel(role="advocate", vote=None), *jurors])
    assert read_both(path).problems == ()


@settings(max_examples=10)
@given(clean_logs(scores=False, plain=True))
def test_the_written_parquet_is_sorted_and_typed(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("layout")
    path = write_parquet(write_log(folder / "log.jsonl", records), folder / "log.parquet")
    with connect() as con:
        types = dict(con.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM '{path}')").fetchall())
        rows = con.execute(
            f"SELECT debate, round, agent FROM read_parquet('{path}', file_row_number=true) ORDER BY file_row_number"
        ).fetchall()
    assert types["round"] == "INTEGER"
    assert types["debate"] == "VARCHAR"
    assert types["closed"] == "BOOLEAN"
    assert rows == sorted(rows)
