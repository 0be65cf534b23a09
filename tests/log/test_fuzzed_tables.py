"""Spoilt tables are read right or refused in one line: no traceback, no NaN, no accuracy of 0 or 1 out of nothing."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from layers import examples

from d3stats import as_trajectories, replay

HEADER = ["debate", "round", "agent", "vote", "label", "cluster", "tokens"]
JUNK = [
    *(
        "",
        " ",
        "NaN",
        "None",
        "null",
        "NA",
        "-1",
        "0",
        "1",
        "1.0",
        "6.0",
        "1e9",
        "1000000000",
        "9" * 400,
        "inf",
        "1,5",
    ),
    *(
        "=1+1",
        "\x00",
        "é",
        "\ufeff",
        "true",
        "False",
        '"',
        ",",
        ";",
        "\t",
        "[",
        "{}",
        "[1]",
        "'",
        "\\",
        "2020-01-01",
    ),
    *(
        "d1",
        "agent 0",
        "A",
        "B",
        "a",
        " A ",
        "label",
        "vote",
        "x" * 5000,
        "\u202e",
        "\ud7ff",
        "1_000",
        "٣",
        "NULL\n",
    ),
]


def clean(rng: random.Random) -> list[list[str]]:
    """A table of 24 debates, 2 rounds, 3 agents; about seven votes in ten are right, and so in every part of it."""
    rows = []
    for debate in range(24):
        label = "AB"[debate % 2]
        for played in (1, 2):
            for agent in range(3):
                vote = label if rng.random() < 0.7 else "BA"[debate % 2]
                cells = [f"d{debate}", str(played), f"agent {agent}", vote, label, f"c{debate % 12}"]
                rows.append([*cells, str(rng.randint(1, 90))])
    return rows


def as_text(header: list[str], rows: list[list[str]], form: str) -> str:
    if form == "csv":
        return "\n".join(",".join(cells) for cells in [header, *rows]) + "\n"
    if form == "semicolon":
        return "\n".join(";".join(cells) for cells in [header, *rows]) + "\n"
    if form == "tsv":
        return "\n".join("\t".join(cells) for cells in [header, *rows]) + "\n"
    if form == "flat":
        return "".join(json.dumps(dict(zip(header, cells, strict=False))) + "\n" for cells in rows)
    lines, opened = [], set()
    for row in rows:
        cells = dict(zip(HEADER, row, strict=False))
        debate = cells.get("debate", "")
        if debate not in opened:
            opened.add(debate)
            item = {
                "type": "item",
                "debate": debate,
                "question": cells.get("cluster"),
                "label": cells.get("label"),
            }
            lines.append(item)
        played = cells.get("round", "")
        lines.append(
            {
                "type": "turn",
                "debate": debate,
                "round": int(played)
                if played.isascii() and played.isdigit() and len(played) < 15
                else played,
                "agent": cells.get("agent"),
                "vote": cells.get("vote"),
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


def spoil_cells(rng: random.Random, header: list[str], rows: list[list[str]]) -> None:
    """Change the table itself, one to three times."""
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(rows))
        column = rng.randrange(len(HEADER))
        match rng.randrange(12):
            case 0 | 1 | 2:
                rows[at][min(column, len(rows[at]) - 1)] = rng.choice(JUNK)
            case 3:
                rows.insert(at, list(rows[at]))
            case 4:
                del rows[at]
            case 5:
                other = rng.randrange(len(rows))
                rows[at], rows[other] = rows[other], rows[at]
            case 6:
                header[column] = rng.choice(
                    [*JUNK, *HEADER, header[column].upper(), header[column][:-1], "gold", "qid"]
                )
            case 7:
                rows[at] = rows[at][:column] or [""]
            case 8:
                rows[at] = [*rows[at], rng.choice(JUNK)]
            case 9:
                for cells in rows:
                    if len(cells) > column:
                        cells[column] = (
                            f"{cells[column]}.0" if cells[column].isdigit() else f" {cells[column]} "
                        )
            case 10:
                for cells in rows:
                    if cells and len(cells) > 1 and cells[1].isdigit():
                        cells[1] = str(int(cells[1]) - 1)
            case 11:
                rng.shuffle(rows)


def spoil_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change the bytes of the file, up to twice."""
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(9):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 2:
                data = data[:at] + rng.choice(JUNK).encode() + data[at:]
            case 3:
                data = data.replace(b"\n", b"\r\n")
            case 4:
                data = b"\xef\xbb\xbf" + data
            case 5:
                data = data.replace(b"\n", b"\n\n", 3)
            case 6:
                data = data[:at] + data[at + rng.randint(1, 40) :]
            case 7:
                data = data + data[-rng.randint(1, 200) :]
            case 8:
                data = (
                    data.decode(errors="ignore").encode("utf-16")
                    if rng.random() < 0.3
                    else data.rstrip(b"\n")
                )
    return data


SUFFIX = {"csv": "csv", "semicolon": "csv", "tsv": "tsv", "flat": "jsonl", "log": "jsonl"}


def fuzzed(seed: int, folder: Path) -> str:
    """Spoil one table, read it and say what came of it; any broken promise fails here."""
    rng = random.Random(seed)
    header, rows = list(HEADER), clean(rng)
    form = rng.choice(sorted(SUFFIX))
    spoil_cells(rng, header, rows)
    data = spoil_bytes(rng, as_text(header, rows, form).encode("utf-8", errors="surrogatepass"))
    path = folder / f"fuzzed.{SUFFIX[form]}"
    path.write_bytes(data)
    try:
        t = as_trajectories(path)
    except ValueError as error:
        refusal = str(error)
    else:
        successes, trials = t.successes_trials()
        total = trials.sum(axis=0)
        accuracy = successes.sum(axis=0)[total > 0] / total[total > 0]
        assert np.isfinite(accuracy).all()
        large = accuracy[total[total > 0] > 20]
        assert t.findings() or not np.isin(large, (0.0, 1.0)).any(), (seed, accuracy, t.notes)
        if seed % 8 == 0 and trials.any() and len(t.cluster_names) > 1:
            table = replay(t, ["fixed:1"]).to_frame()
            numbers = table.select_dtypes("number").to_numpy(dtype=float)
            assert not np.isinf(numbers).any(), seed
            assert math.isfinite(float(table["rounds"].iloc[0])) or t.findings() or t.notes, seed
        return "read with a warning" if t.findings() else "read"
    assert refusal.strip(), seed
    assert "\n" not in refusal.strip(), (seed, refusal)
    assert len(refusal) < 1000, (seed, refusal)
    return "refused"


def sweep(seeds: range, folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for seed in seeds:
        outcome = fuzzed(seed, folder)
        found[outcome] = found.get(outcome, 0) + 1
    return found


@examples(80, 800)
def test_spoilt_tables_are_read_or_refused(n_examples: int, tmp_path: Path) -> None:
    found = sweep(range(n_examples), tmp_path)
    # A sweep in which everything is refused, or nothing, tests nothing.
    assert found["read"] > 0.15 * n_examples, found
    assert found["refused"] > 0.15 * n_examples, found


@pytest.mark.slow
def test_a_hundred_thousand_spoilt_tables_are_read_or_refused(tmp_path: Path) -> None:
    found = sweep(range(800, 100_800), tmp_path)
    assert sum(found.values()) == 100_000
