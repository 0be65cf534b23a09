"""Files of a few megabytes that hold gigabytes, or nest a million times: refused in one line, in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from d3stats.log import packed, read_log, sheets
from d3stats.log.importers import import_log
from d3stats.log.packed import TooLarge, Unpacking, gunzipped

ROW = b"d1,1,a,A,A\n"
HEAD = b"debate,round,agent,vote,label\n"


def repeated(start: bytes, block: bytes, times: int) -> bytes:
    """Return a gzipped text in which a block occurs many times, each time packed as a member of its own."""
    return gzip.compress(start, 9) + gzip.compress(block, 9) * times


def workbook(path: Path, rows: int) -> None:
    """Write a workbook whose one sheet has many equal rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = (b"debate", b"round", b"agent", b"vote", b"label")
    head = b"<row>" + b"".join(b'<c t="str"><v>%s</v></c>' % name for name in names) + b"</row>"
    row = b'<row><c t="str"><v>d</v></c><c><v>1</v></c>' + b'<c t="str"><v>A</v></c>' * 3 + b"</row>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parts:
        parts.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        )
        for name, target, what in (
            ("_rels/.rels", "xl/workbook.xml", "officeDocument"),
            ("xl/_rels/workbook.xml.rels", "worksheets/sheet1.xml", "worksheet"),
        ):
            link = f'<Relationship Id="rId1" Type="{office}/{what}" Target="{target}"/>'
            parts.writestr(name, f'<Relationships xmlns="{package}/relationships">{link}</Relationships>')
        sheets = '<sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets>'
        parts.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}">{sheets}</workbook>')
        with parts.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode() + head)
            for _ in range(rows // 1000):
                sheet.write(row * 1000)
            sheet.write(b"</sheetData></worksheet>")


def evaluation(path: Path, size: int) -> None:
    """Write a log of Inspect with one sample of this many characters."""
    head = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {}, "config": {}},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parts:
        parts.writestr("header.json", json.dumps(head))
        with parts.open("samples/1_epoch_1.json", "w") as sample:
            sample.write(b'{"id":1,"epoch":1,"input":"')
            for _ in range(size >> 20):
                sample.write(b"x" * (1 << 20))
            sample.write(b'","target":"a","scores":{"s":{"value":"C"}}}')


def archive(path: Path, size: int) -> None:
    """Write a packed archive of one large file."""
    with tarfile.open(path, "w:gz", compresslevel=1) as parts:
        info = tarfile.TarInfo("a.json")
        info.size = size
        parts.addfile(info, io.BytesIO(bytes(size)))


PACKED: dict[str, Callable[[Path], object]] = {
    "rows.csv.gz": lambda path: path.write_bytes(repeated(HEAD, ROW * 100_000, 300)),
    "lines.jsonl.gz": lambda path: path.write_bytes(
        repeated(b"", b'{"type":"turn","debate":"d","round":1,"agent":"a","vote":"A"}\n' * 20_000, 300)
    ),
    "one_line.jsonl.gz": lambda path: path.write_bytes(
        repeated(b'{"type":"item","debate":"d","text":"', b"x" * 1_000_000, 300)
    ),
    "one_cell.csv.gz": lambda path: path.write_bytes(repeated(HEAD + b"d,1,", b"a" * 1_000_000, 300)),
    "cells.xlsx": lambda path: workbook(path, 700_000),
    "sample.eval": lambda path: evaluation(path, 150 << 20),
}

PLAIN: dict[str, bytes] = {
    "arrays.jsonl": b'{"type":"turn","debate":"d","round":1,"agent":"a","scores":'
    + b"[" * 10**6
    + b"]" * 10**6
    + b"}\n",
    "arrays.json": b"[" * 10**6 + b"]" * 10**6,
    "objects.json": b'{"a":' * 300_000 + b"1" + b"}" * 300_000,
    "columns.csv": b",".join(b"c%d" % k for k in range(150_000))
    + b"\n"
    + b",".join([b"1"] * 150_000)
    + b"\n",
    "digits.csv": HEAD + b"d," + b"9" * 2_000_000 + b",a,A,A\n",
    "late.csv": HEAD + b"".join(b"d%d,%d,a%d,A,A\n" % (k, 10**6 - k, k) for k in range(80_000)),
}

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
