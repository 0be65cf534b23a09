"""A long read says how far it is: the share of the file that is read, and the time left."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pandas as pd
import pytest

from d3stats import _progress, as_trajectories
from d3stats._parallel import run_tasks
from d3stats._progress import Pace, tell, watched, working
from d3stats.log.files import LogFile
from d3stats.log.opening import open_bytes
from d3stats.log.table_reader import parquet_blocks
from d3stats.planning.simulate import simulate
from d3stats.planning.study import Study
from d3stats.worlds import Voter

HEADER = "debate,round,agent,vote,label\n"


def table(folder: Path, packed: bool = False) -> Path:
    text = HEADER + "".join(f"d{k:06d},1,a{j},A,B\n" for k in range(10_000) for j in range(3))
    path = folder / f"log.csv{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_watched_read_is_told_every_byte_and_gives_the_same(tmp_path: Path, packed: bool) -> None:
    path = table(tmp_path, packed)
    alone = as_trajectories(path)
    told: list[tuple[str, int, int]] = []
    with watched(lambda *seen: told.append(seen)):
        seen = as_trajectories(path)
    size = path.stat().st_size
    assert (seen.votes == alone.votes).all()
    assert {(name, of) for name, _, of in told} == {(f"reading {path}", size)}
    assert max(done for _, done, _ in told) == size
    n = len(told)
    with open_bytes(LogFile(path, "csv")) as handle:
        handle.read()
    assert len(told) == n


def test_progress_waits_and_then_says_the_share_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 101.0, 104.0, 105.0, 110.0, 120.0, 121.0])
    said: list[tuple[str, float, float]] = []
    monkeypatch.setattr("d3stats._progress.time.monotonic", lambda: next(times))
    pace = Pace(lambda *seen: said.append(seen), every=5.0)
    for done in (1, 10, 20, 25, 50, 100):
        pace("a.csv", done, 100)
    assert said == [("a.csv", 0.2, 16.0), ("a.csv", 0.5, 10.0), ("", 0.0, 0.0)]
    pace("b.csv", 10, 100)
    assert len(said) == 3


def test_a_pipe_gets_plain_lines_of_a_long_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path)
    with working("fitting"):
        as_trajectories(path)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with working("fitting"):
        as_trajectories(path)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"reading {path}: ")
    assert err.endswith(" s left\n")


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_packed_tables_are_told_as_they_are_read(tmp_path: Path, ending: str) -> None:
    frame = pd.read_csv(table(tmp_path)).iloc[:3000]
    path = tmp_path / f"log.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_excel(path, index=False)
    told: list[tuple[str, int, int]] = []
    with watched(lambda *seen: told.append(seen)):
        as_trajectories(path)
    assert {name for name, _, _ in told} == {f"reading {path}"}
    shares = [done / of for _, done, of in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_parquet_file_in_blocks_is_told_block_by_block(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pd.read_csv(table(tmp_path)).to_parquet(path)
    told: list[float] = []
    with watched(lambda _, done, of: told.append(done / of)):
        assert sum(block.n_rows for block in parquet_blocks(LogFile(path, "parquet"), 10_000)) == 30_000
    assert told == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_tasks_in_other_processes_and_a_sweep_are_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with watched(lambda *seen: told.append(seen)):
        assert sorted(run_tasks(abs, [(-1,), (2,), (-3,)], workers=2, what="tasks", total=3)) == [1, 2, 3]
    assert told == [("tasks", done, 3) for done in range(4)]
    told.clear()
    study = Study(worlds={"null": Voter(panel=5)}, rules=["fixed:1"], n_rounds=3, debates=4096)
    with watched(lambda *seen: told.append(seen)):
        simulate(study, progress=False)
    assert {of for _, _, of in told} == {4096}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1] == ("debates", 4096, 4096)


def test_a_terminal_gets_a_bar_with_the_share_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with working("fitting"):
        tell("reading [a].csv", 1, 4)
        time.sleep(0.3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting: reading [a].csv" in err
    assert "25%, about" in err


@pytest.mark.parametrize("scheme", ["ordered", pytest.param("unordered", marks=pytest.mark.slow)])
def test_a_worker_that_dies_ends_the_work_in_one_line_and_the_next_work_begins_afresh(scheme: str) -> None:
    with pytest.raises(OSError, match=r"worker processes must live.*use fewer workers") as caught:
        list(run_tasks(os._exit, [(1,), (1,), (1,)], workers=2, ordered=scheme == "ordered"))
    assert "\n" not in str(caught.value)
    assert sorted(run_tasks(abs, [(-1,), (2,), (-3,)], workers=2)) == [1, 2, 3]
