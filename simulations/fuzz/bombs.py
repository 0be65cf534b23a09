"""Small files that hold or nest much: packed tables, a workbook, an archive, deep JSON, huge cells."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["HEAD", "PACKED", "PLAIN", "archive", "evaluation", "repeated", "workbook"]

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
