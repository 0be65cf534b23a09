"""Tables read block by block are the tables that their slow readers give, cell by cell, with the same problems."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from layers import sampled

from d3stats.log import json_rows, sheets
from d3stats.log.files import LogFile
from d3stats.log.problems import Problem
from d3stats.log.sheets import Sheet

CELLS = [
    "",
    "",
    "a",
    "A",
    "6.0",
    "6",
    " x ",
    "é",
    "日本",
    "\x0b",
    "\u2028",
    "\x85",
    "\ufeff",
    "'",
    "\\",
    "0",
    "NA",
]
QUOTED = [
    '"a,b"',
    '"say ""no"""',
    '"two\nlines"',
    '"two\r\nlines"',
    '"\n\n"',
    '""',
    '"x"y',
    'x"y',
    '"',
    ",",
    ",,",
]
ENDS = ["\n", "\n", "\n", "\r\n", "\r"]


def shown(sheet: Sheet | Problem) -> Any:
    if isinstance(sheet, Problem):
        return sheet
    cells = [column.to_array().tolist() for column in sheet.columns]
    told = (sheet.names, cells, sheet.line.tolist(), sheet.problems, sheet.notes, sheet.n_records)
    return *told, sheet.may_have_commas


def some_table(rng: random.Random) -> str:
    """Return a table as text, sound or spoilt in one of many ways."""
    delimiter, end = rng.choice(",,,;\t|"), rng.choice(ENDS)
    width, odd = rng.randint(1, 4), rng.choice([0, 0, 0.02, 0.3])
    start = rng.choice(["", "", "\n\r\n", f"sep={delimiter}\n", "A title\n"])
    rows = [[f"c{k}" for k in range(width)]]
    for _ in range(rng.randint(0, 30)):
        row = [rng.choice(QUOTED if rng.random() < odd else CELLS) for _ in range(width)]
        if rng.random() < odd:
            row = row[:-1] if rng.random() < 0.5 else [*row, rng.choice(CELLS)]
        rows.append([] if rng.random() < odd else row)
    text = "".join(delimiter.join(row) + (rng.choice(ENDS) if rng.random() < odd else end) for row in rows)
    return start + (text if rng.random() < 0.7 else text.rstrip("\r\n"))


def some_bytes(rng: random.Random) -> tuple[bytes, str | None]:
    encoding = rng.choice([None, None, None, "utf-8", "utf-16", "cp1252", "utf-7"])
    text = some_table(rng)
    data = text.encode(encoding or "utf-8", "replace")
    if encoding is None and rng.random() < 0.2:
        data = b"\xef\xbb\xbf" + data
    if rng.random() < 0.1:
        at = rng.randrange(len(data))
        data = data[:at] + b"\xe9" + data[at:]
    return data, rng.choice([encoding, None]) if encoding == "utf-16" else encoding


@sampled("seed", range(12), slice(0, 4))
def test_blocks_of_text_are_read_as_the_csv_reader_reads_the_whole(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    plain, n_plain = sheets._plain_cells, 0

    def counted(*args: Any) -> list[str] | None:
        nonlocal n_plain
        cells = plain(*args)
        n_plain += cells is not None
        return cells

    monkeypatch.setattr(sheets, "_HEAD", 20)
    for k in range(60):
        data, encoding = some_bytes(rng)
        packed = rng.random() < 0.2
        path = tmp_path / f"{k}.csv{'.gz' if packed else ''}"
        if packed:
            data = gzip.compress(data)
            data = data[: rng.randint(12, len(data))]
        path.write_bytes(data)
        file = LogFile(path, "csv")
        monkeypatch.setattr(sheets, "BLOCK", 1 << 20)
        monkeypatch.setattr(sheets, "_plain_cells", lambda *_: None)
        slow = shown(sheets.text_sheet(file, encoding))
        monkeypatch.setattr(sheets, "_plain_cells", counted)
        for size in (1, 7, 50, 1 << 20):
            monkeypatch.setattr(sheets, "BLOCK", size)
            assert shown(sheets.text_sheet(file, encoding)) == slow, (data, encoding, size)
    assert n_plain > 100  # the quick way was taken


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_the_right_width_are_those_of_the_csv_reader(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, n_rows = random.Random(seed), 0
    monkeypatch.setattr(sheets, "BLOCK", 40)
    monkeypatch.setattr(sheets, "_HEAD", 20)
    for k in range(100):
        text = some_table(rng)
        path = tmp_path / f"{k}.csv"
        path.write_bytes(text.encode())
        sheet = sheets.text_sheet(LogFile(path, "csv"), None)
        body = text.split("\n", 1)[1] if text.startswith("sep=") else text
        delimiter = text[4] if text.startswith("sep=") else sheets._header(text)[0]
        try:
            rows = list(csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True))
        except csv.Error:
            continue
        if isinstance(sheet, Problem):
            continue
        header, *others = list(dropwhile(lambda row: not any(row), rows)) or [[]]
        expected = [[cell or None for cell in row] for row in others if len(row) == len(header)]
        got = [list(row) for row in zip(*(c.to_array().tolist() for c in sheet.columns), strict=True)]
        assert got == [row for row in expected if header], text
        n_rows += len(got)
    assert n_rows > 500


def test_a_table_cut_while_it_was_packed_keeps_the_rows_before_the_cut(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = "".join(f"d{rng.random()},1,a{k % 7},A,B\n" for k in range(20_000))
    packed = gzip.compress(b"debate,round,agent,vote,label\n" + rows.encode())
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    sheet = sheets.text_sheet(LogFile(path, "csv"), None)
    assert isinstance(sheet, Sheet)
    assert len(sheet.line) > 9_000
    # The problem is in the line behind the last whole row.
    assert [problem.line for problem in sheet.problems] == [int(sheet.line[-1]) + 1]


VALUES: list[Any] = [
    *(None, "", "a", "A", "é", "日本", "6", 6, 6.0, 0.5, -1, 1, 1.0, True, False, 10**20, 1e22, 1e-7),
    *('say "no": x', "tab\t", "\x7f", "a\u2028b", " :", '" :', [1, 2], {"x": 1}, {"x": {"y": [1]}}),
]
KEYS = ["debate", "round", "agent", "vote", "my key", "é", "type", 'q"t', "votes", "k0", "x"]


def some_lines(rng: random.Random) -> bytes:
    keys = rng.sample(KEYS, rng.randint(2, 5))
    kinds = {key: rng.choice([VALUES[:9], VALUES[:9], [1, 2, 3], [0.5, 1.0], VALUES]) for key in keys}
    odd = rng.choice([0, 0, 0.02, 0.2])
    spaces = rng.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    lines = []
    for _ in range(rng.randint(0, 30)):
        row = {key: rng.choice(kinds[key]) for key in keys if rng.random() > odd}
        if rng.random() < odd:
            row[rng.choice(KEYS)] = rng.choice(VALUES)
        line = json.dumps(row, separators=spaces, ensure_ascii=rng.random() < 0.3)
        if rng.random() < odd:
            line = rng.choice(
                [
                    *(line[:-1], line + line, "", "[1, 2]", line.replace(":", ":\n", 1), f"\ufeff{line}"),
                    *(line.replace("null", "NaN"), line[:-1] + "," + line[1:], "  " + line, line[1:]),
                ]
            )
        lines.append(line + rng.choice(["\n", "\n", "\r\n" if odd else "\n", "\n\n" if odd else "\n"]))
    text = "".join(lines)
    return (text if rng.random() < 0.7 else text.rstrip()).encode()


@sampled("seed", range(12), (0,))
def test_blocks_of_objects_are_read_as_line_by_line(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, n_fast = random.Random(seed), 0
    path = tmp_path / "rows.jsonl"
    file = LogFile(path, "jsonl")
    fast = json_rows._RowsAsColumns.add_lines

    def counted(*args: Any) -> bool:
        nonlocal n_fast
        added = fast(*args)
        n_fast += added
        return added

    for _ in range(60):
        path.write_bytes(some_lines(rng))
        with monkeypatch.context() as slowly:
            slowly.setattr(json_rows._RowsAsColumns, "add_lines", lambda *_: False)
            slowly.setattr(json_rows, "_one_a_line", lambda *_: False)
            slow = shown(json_rows.flat_sheet(file))
        monkeypatch.setattr(json_rows._RowsAsColumns, "add_lines", counted)
        for size in (1, 100, 500, 1 << 17):
            assert shown(json_rows.flat_sheet(file, size)) == slow, path.read_bytes()
    assert n_fast > 100  # the quick way was taken


@pytest.mark.parametrize(
    ("block", "n", "problems"),
    [
        (b'{"a":1,"b":1}{"a":2,"b":2}\n\n', 0, 1),
        (b'{"a":1,"b":1}\n{"a":2,\n"b":2}{"a":1,"b":1}\n', 1, 2),
        (b'{"a":1,"b":1}\n{"a" :1,"a":2}\n', 1, 1),
        (b'{"a":1,"b":1}\n{"b":1,"b":2}\n', 1, 1),
    ],
)
def test_lines_that_only_count_right_are_refused(tmp_path: Path, block: bytes, n: int, problems: int) -> None:
    path = tmp_path / "rows.jsonl"
    sound = b'{"a":1,"b":1}\n' * 3
    for start, size in ((b"", 1 << 17), (sound, len(sound))):
        path.write_bytes(start + block)
        sheet = json_rows.flat_sheet(LogFile(path, "jsonl"), size)
        assert (len(sheet.line), len(sheet.problems)) == (n + start.count(b"\n"), problems)


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_nan_is_missing_as_a_value_and_stays_in_a_text(tmp_path: Path, ending: str) -> None:
    said = ["[1, NaN, 2]", 'so "x": NaN, y', "back\\\\", "plain"]
    rows = [json.dumps({"a": text, "b": float(b)}) for text, b in zip(said, "1234", strict=True)]
    rows[1] = rows[1].replace("2.0", "-Infinity")
    rows[3] = rows[3].replace("4.0", "NaN")
    path = tmp_path / f"rows.{ending}"
    path.write_text("\n".join(rows) if ending == "jsonl" else f"[{','.join(rows)}]")
    file = LogFile(path, "jsonl" if ending == "jsonl" else "json")
    sheet = json_rows.flat_sheet(file) if ending == "jsonl" else json_rows.json_sheet(file)
    assert isinstance(sheet, sheets.Sheet)
    assert not sheet.problems
    assert sheet.get("a").to_array().tolist() == said
    assert (sheet.get("b").codes < 0).tolist() == [False, True, False, True]
    assert sheet.notes == [
        "2 values are written as NaN or Infinity, which is no JSON; read as missing",
    ]


N_ROWS = 20_000
FEW = ["it's", "B", 'say "no"', "back\\slash", "é", " "]


def parquet_columns() -> dict[str, list[Any]]:
    """Return columns of a table: few texts, also with a rare one or an empty cell at the end, many texts, numbers."""
    few = [FEW[k * k % len(FEW)] for k in range(N_ROWS)]
    numbers = [1 + k % 7 for k in range(N_ROWS)]
    return {
        "few": few,
        "late text": [*few[:-1], "only here"],
        "late gap": [*few[:-2], None, "B"],
        "gap at the top": [None, *few[1:]],
        "empty at the top": ["", *few[1:]],
        "runs": [f"d{k // 50}" for k in range(N_ROWS)],
        "many": [f"t{k * 7919 % 9973}" for k in range(N_ROWS)],
        "truth": [k % 3 == 0 for k in range(N_ROWS)],
        "number": numbers,
        "late number": [*numbers[:-1], 3000],
        "far number": [*numbers[:-1], -(10**9)],
        "byte": [k % 256 - 128 for k in range(N_ROWS)],
        "number gap": [*numbers[:-1], None],
        "share": [k % 4 / 4 for k in range(N_ROWS)],
    }


@pytest.mark.parametrize("one_hash", [False, True])
def test_columns_of_parquet_are_those_of_the_frame_code_by_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_hash: bool
) -> None:
    kinds = {"byte": "int8", "number gap": "Int64", "late number": "int32", "far number": "int64"}
    frame = pd.DataFrame(parquet_columns()).astype(kinds)
    file = LogFile(tmp_path / "table.parquet", "parquet")
    frame.to_parquet(file.path, index=False)
    if one_hash:  # as if two texts of every column had the same hash: the texts themselves are read
        monkeypatch.setattr(
            sheets.ParquetTable, "_texts", lambda _, columns, __: {name: {} for name in columns}
        )
    read, given = sheets.parquet_sheet(file), sheets.frame_sheet(frame, "frame")
    assert isinstance(read, Sheet)
    for name in frame.columns:
        got, expected = read.get(name), given.get(name)
        assert got.values == expected.values, name
        assert got.codes.tolist() == expected.codes.tolist(), name
    with sheets.connect(ordered=True) as con:
        table = sheets.ParquetTable(file, con)
        if not one_hash:
            listed = table._listed({name: f'"{name}"::VARCHAR' for name in frame.columns}, 0, N_ROWS)
            assert {"few", "late text", "late gap"} <= set(listed)  # the quick way was taken
        for rows in (N_ROWS // 2, 17_000):
            blocks = list(table.sheets(rows))
            for name in frame.columns:
                cells = [cell for block in blocks for cell in block.get(name).to_array().tolist()]
                assert cells == given.get(name).to_array().tolist(), name
