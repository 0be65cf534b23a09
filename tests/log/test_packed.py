"""Files of a few megabytes that hold gigabytes, or nest a million times: refused in one line, in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import runpy
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from d3stats.log import packed, read_log, sheets
from d3stats.log.importers import import_log
from d3stats.log.packed import TooLarge, Unpacking, gunzipped

BOMBS = runpy.run_path(str(Path(__file__).parents[2] / "simulations" / "fuzz" / "bombs.py"))
HEAD, PACKED, PLAIN = BOMBS["HEAD"], BOMBS["PACKED"], BOMBS["PLAIN"]
archive, evaluation, workbook = BOMBS["archive"], BOMBS["evaluation"], BOMBS["workbook"]

PROGRAM = """
import json, sys
from d3stats.log import packed, read_log, sheets
said = []
for name in sys.argv[1:]:
    try:
        read_log(name)
        said.append([name, "", ""])
    except Exception as error:
        said.append([name, type(error).__name__, str(error)])
with open("/proc/self/status") as status:
    most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
print(json.dumps([said, most]))
"""


def read_all(folder: Path, names: list[str]) -> tuple[list[list[str]], float]:
    """Return how each file was refused, and the peak of memory in MB."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    said, most = json.loads(done.stdout)
    return said, most


@pytest.mark.slow  # 20 s at full size; each file is refused at a smaller limit below
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_small_file_that_holds_much_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    for name, write in PACKED.items():
        write(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 2 << 20, name
    for name, content in PLAIN.items():
        (tmp_path / name).write_bytes(content)
    said, most = read_all(tmp_path, [*PACKED, *PLAIN])
    assert [name for name, kind, _ in said if kind not in ("TooLarge", "LogError")] == []
    assert [name for name, kind, _ in said if kind == "TooLarge"] == list(PACKED)
    assert all("\n" not in text and len(text) < 2000 for _, _, text in said)
    assert most < 1024


def test_what_a_file_may_hold_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(HEAD + b"".join(b"d%d,1,a,A,A\n" % k for k in range(20_000))))
    assert len(read_log(path).turns) == 20_000


@pytest.mark.parametrize(
    "read",
    [
        lambda file: file.read(1 << 20),
        lambda file: file.read1(1 << 20),
        lambda file: file.readline(1 << 20),
        lambda file: file.readinto(bytearray(1 << 20)),
        lambda file: next(file),
    ],
    ids=["read", "read1", "readline", "readinto", "next"],
)
def test_every_way_of_reading_stops_at_the_limit(
    read: Callable[[Unpacking], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "LEAST", 5 << 20)
    content = gzip.compress(bytes(1 << 20)) * 7
    with (
        Unpacking(io.BytesIO(content), "a.gz", len(content)) as file,
        pytest.raises(TooLarge, match=r"a\.gz must"),
    ):
        deque((read(file) for _ in range(8)), maxlen=0)


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_file_is_refused_before_it_is_read_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "TIMES", 2)
    monkeypatch.setattr(packed, "LEAST", 1 << 20)
    monkeypatch.setattr(sheets, "_MOST_CELLS", 1 << 20)
    small = {
        "cells.xlsx": lambda path: workbook(path, 20_000),
        "sample.eval": lambda path: evaluation(path, 2 << 20),
    }
    small.get(name, PACKED[name])(tmp_path / name)
    with pytest.raises(TooLarge, match="must unpack to at most"):
        read_log(tmp_path / name)


def test_the_content_of_a_file_is_its_own() -> None:
    assert gunzipped(gzip.compress(b"abc" * 1000), "a.gz") == b"abc" * 1000


def test_an_archive_that_holds_much_is_refused(tmp_path: Path) -> None:
    archive(tmp_path / "a.tar.gz", packed.LEAST + 1)
    with pytest.raises(TooLarge, match="must unpack to at most 100 MB"):
        import_log("deepeval", tmp_path / "a.tar.gz", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
