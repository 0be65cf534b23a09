"""A long read says how far it is: the share of the file that is read, and the time left."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from d3stats import as_trajectories
from d3stats.cli import output
from d3stats.log.files import LogFile, open_bytes, watched

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
    assert {(name, of) for name, _, of in told} == {(str(path), size)}
    assert max(done for _, done, _ in told) == size
    n = len(told)
    with open_bytes(LogFile(path, "csv")) as handle:
        handle.read()
    assert len(told) == n


def test_progress_waits_and_then_says_the_share_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 101.0, 104.0, 105.0, 110.0, 120.0, 121.0])
    said: list[str] = []
    monkeypatch.setattr("d3stats.cli.output.time.monotonic", lambda: next(times))
    progress = output.Progress(said.append, every=5.0)
    for done in (1, 10, 20, 25, 50, 100):
        progress("a.csv", done, 100)
    assert said == [
        "reading a.csv: 20%, about 16 s left",
        "reading a.csv: 50%, about 10 s left",
        "",
    ]
    progress("b.csv", 10, 100)
    assert len(said) == 3


def test_a_pipe_gets_plain_lines_of_a_long_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path)
    with output.working("fitting"):
        as_trajectories(path)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.working("fitting"):
        as_trajectories(path)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"reading {path}: ")
    assert err.endswith(" s left\n")
