"""The writer: what it puts on disk, and what it does about a log that was cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_worlds import item, panel, write_lines

from d3stats.log import Header, Item, LogWriter, Turn, Verdict, read_log
from d3stats.log.copies import write_parquet
from d3stats.log.sheets import connect

ITEM = Item(debate="d", question="q", label="A")
TURN = Turn(debate="d", round=1, agent="é", vote="A")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_new_file_begins_with_a_header_and_fields_of_none_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, source="study 1") as log:
        log.write(ITEM)
        log.write(TURN)
        log.write(Verdict(debate="d"))
    assert lines(path) == [
        {"type": "log", "schema_version": 4, "writer": "d3stats", "source": "study 1"},
        {"type": "item", "debate": "d", "question": "q", "label": "A"},
        {"type": "turn", "debate": "d", "round": 1, "agent": "é", "vote": "A"},
        {"type": "verdict", "debate": "d"},
    ]


def test_writing_again_appends_without_a_second_header(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        log.write(ITEM)
    with LogWriter(path) as log:
        log.write(TURN)
    assert [record["type"] for record in lines(path)] == ["log", "item", "turn"]


def test_every_record_is_on_disk_before_write_returns(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        log.write(ITEM)
        assert len(lines(path)) == 2
        log.write(TURN)
        assert len(lines(path)) == 3


@pytest.mark.parametrize("fsync", [False, "never", "close", "second"])
def test_bulk_writing_ends_with_the_same_file(tmp_path: Path, fsync: Any) -> None:
    for name, how in (("a.jsonl", True), ("b.jsonl", fsync)):
        with LogWriter(tmp_path / name, fsync=how) as log:
            for record in (ITEM, TURN):
                log.write(record)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_torn_log_is_not_appended_to(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), '{"type":"turn","deb'], end="")
    before = path.read_bytes()
    with pytest.raises(
        ValueError,
        match=r"last line of a log must be complete .* got b'.*deb' "
        r".*repair=True",
    ):
        LogWriter(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("torn", ['{"type":"turn","deb', "x" * 200_000, '{"type":"turn","vote":"\u00e9'])
def test_repair_moves_the_torn_line_aside_and_loses_nothing(tmp_path: Path, torn: str) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel(), torn], end="")
    before = path.read_bytes()
    with LogWriter(path, repair=True) as log:
        log.write(Verdict(debate="d1"))
    aside = tmp_path / "log.jsonl.torn"
    assert aside.read_text("utf-8") == torn + "\n"
    kept = path.read_bytes()
    assert before == kept[: len(before) - len(torn.encode())] + torn.encode()
    assert len(read_log(path).turns) == 6
    assert len(read_log(path).verdicts) == 1
    # A second repair adds to the torn lines that are there.
    with path.open("a") as handle:
        handle.write("again")
    LogWriter(path, repair=True).close()
    assert aside.read_text("utf-8") == torn + "\nagain\n"


def test_a_torn_header_can_be_repaired_to_a_fresh_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"type":"log","sch')
    with LogWriter(path, repair=True) as log:
        log.write(ITEM)
    assert [record["type"] for record in lines(path)] == ["log", "item"]


def test_a_whole_last_line_without_line_end_gets_one(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item()], end="")
    with LogWriter(path) as log:
        log.write(Turn(debate="d1", round=1, agent="a"))
    assert [record["type"] for record in lines(path)] == ["item", "turn"]


def test_a_file_that_is_no_log_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("Dear diary\n")
    with pytest.raises(ValueError, match=r"path must be a debate log to append to; got b'Dear diary"):
        LogWriter(path, repair=True)
    assert path.read_text() == "Dear diary\n"


def test_wrong_names_options_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path must end in \.jsonl or \.ndjson; got path='.*log.csv'"):
        LogWriter(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"fsync must be .*; got fsync='often'"):
        LogWriter(tmp_path / "log.jsonl", fsync="often")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        LogWriter(tmp_path / "nowhere" / "log.jsonl")


def test_a_closed_writer_refuses_and_may_be_closed_twice(tmp_path: Path) -> None:
    log = LogWriter(tmp_path / "log.jsonl")
    log.close()
    log.close()
    with pytest.raises(ValueError, match="a writer must be open"):
        log.write(TURN)


def test_a_header_may_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        log.write(Header(writer="another"))
        log.write(ITEM)
        log.write(TURN)
    assert len(read_log(path).turns) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_leaves_every_record_that_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    program = textwrap.dedent(
        """
        import sys
        from d3stats.log import Item, LogWriter, Turn
        with LogWriter(sys.argv[1]) as log:
            log.write(Item(debate="d", question="q"))
            for n in range(10**6):
                log.write(Turn(debate="d", round=1, agent=f"agent {n}"))
                print(n, flush=True)
        """
    )
    root = Path(__file__).resolve().parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    assert child.stdout is not None
    reported = [child.stdout.readline() for _ in range(50)]
    child.kill()
    reported += child.stdout.readlines()
    child.wait()
    LogWriter(path, repair=True).close()
    assert len(read_log(path).turns) >= int(reported[-1]) + 1


def test_the_folder_that_a_scan_spills_to_is_private_and_goes_with_the_process() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "from d3stats.log.sheets import connect\n"
            "with connect() as con, connect(ordered=True) as other:\n"
            "    asked = \"SELECT current_setting('temp_directory')\"\n"
            "    folders = [c.execute(asked).fetchone()[0] for c in (con, other)]\n"
            "    import os; print(*folders, *(oct(os.stat(f).st_mode & 0o777) for f in folders))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert said[2:] == ["0o700", "0o700"]
    assert len(set(said[:2])) == 2
    assert not any(Path(folder).exists() for folder in said[:2])


def test_writing_in_order_changes_no_setting_of_other_connections(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("debate,round,agent,vote,label\nd,1,a,A,A\n")
    setting = "SELECT current_setting('preserve_insertion_order')"
    with connect() as con:
        before = con.execute(setting).fetchone()
        write_parquet(log, tmp_path / "log.parquet")
        assert con.execute(setting).fetchone() == before == (False,)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (Turn(debate="d", round=0, agent="a"), r"^round must be a whole number >= 1; got round=0$"),
        (Turn(debate="d", round=10**9, agent="a"), r"^round must be a whole number <= 999999999; got"),
        (Turn(debate="d", round=2.0, agent="a"), r"^round must be a whole number; got round=2\.0$"),  # type: ignore[arg-type]
        (Turn(debate="d", round=True, agent="a"), r"^round must be a whole number; got round=True$"),
        (Turn(debate="d", round=1, agent=""), r"^agent must be a text that is not empty; got agent=''$"),
        (Turn(debate="d", round=1, agent="a", vote=5), r"^vote must be a text or null; got vote=5$"),  # type: ignore[arg-type]
        (Turn(debate="d", round=1, agent="a", tokens_in=-1), r"^tokens_in must be a whole number >= 0; got"),
        (
            Turn(debate="d", round=1, agent="a", scores={"A": {"x": float("nan")}}),
            r"^scores\.A\.x must be a finite number; got scores\.A\.x=nan$",
        ),
        (Turn(debate="\ud800", round=1, agent="a"), r"^a record must be one of the schema; got "),
        (Item(debate="d", question="q", answers=("A", "")), r"^answers\.1 must be a text that is not empty"),
        (Verdict(debate="d", round=object()), r"^round must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_what_no_reader_would_take_is_not_written(tmp_path: Path, record: Any, said: str) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        before = path.read_bytes()
        with pytest.raises(ValueError, match=said):
            log.write(record)
        assert path.read_bytes() == before
        log.write(ITEM)


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    one: Any = np.int64(1)
    half: Any = np.float64(0.5)
    with LogWriter(path) as log:
        log.write(Turn(debate="d", round=one, agent="a", tokens_in=one, scores={"A": {"x": half}}))
    assert lines(path)[1] == {
        "type": "turn",
        "debate": "d",
        "round": 1,
        "agent": "a",
        "scores": {"A": {"x": 0.5}},
        "tokens_in": 1,
    }
