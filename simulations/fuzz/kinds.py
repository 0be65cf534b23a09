"""The kinds of input: a small true one each, how it is spoilt, the public function that reads it, and what is counted.

A kind is a function of a random generator and an empty folder. It returns a :class:`Read`, or lets the error of the
reading function through.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from foreign import FILES
from mutate import JUNK, VALUES, Changed, bytes_changed, rows_changed, toml, value_changed

import d3stats
from d3stats import inference
from d3stats.agent import Case, Request, Rubric, Slot
from d3stats.counts import Counts, RoundCounts
from d3stats.inference.bias import as_judgments
from d3stats.log import DebateLog, count_log, doctor, fix_log, read_log
from d3stats.log.importers import import_log
from d3stats.log.transcript import read_transcript
from d3stats.note import note_values
from d3stats.planning import read_study
from d3stats.protocols import protocol_from_text
from d3stats.run.items import read_items
from d3stats.run.live.prompt import Wire
from d3stats.run.live.reply import read_reply
from d3stats.run.live.server import Failed, Key, models_of, reply_of, tokens_of
from d3stats.stopping import from_text
from d3stats.worlds import PriceTable
from d3stats.worlds.base import from_table

__all__ = ["KINDS", "Read", "Unlike"]

Rng = random.Random


@dataclass(frozen=True)
class Read:
    """What came of an input that was read: whether something was told, and records that were lost or read twice."""

    told: bool = False
    lost: int = 0
    doubled: int = 0


class Unlike(Exception):
    """A number is not what the input says, and nothing was told."""


# -------------------------------------------------------------------- logs

HEADER = ["debate", "round", "agent", "vote", "label", "cluster", "tokens"]
ROWS = [
    [
        f"d{d}",
        str(r),
        f"agent {a}",
        "AB"[(d + r + a) % 2],
        "AB"[d % 2],
        f"c{d // 2}",
        str(101 + 9 * d + 3 * r + a),
    ]
    for d in range(4)
    for r in (1, 2)
    for a in range(3)
]
"""Four debates, two rounds, three agents; every row has its own number of tokens."""


def _records() -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"type": "log", "schema_version": 4, "writer": "d3stats"}]
    for d in range(3):
        name = f"d{d}"
        item = {"type": "item", "debate": name, "question": f"q{d}", "label": "A", "answers": ["A", "B"]}
        lines.append(item)
        for r in (1, 2):
            for a in range(3):
                turn = {
                    "type": "turn",
                    "debate": name,
                    "round": r,
                    "agent": f"agent {a}",
                    "vote": "AB"[(d + a) % 2],
                }
                tokens = {"tokens_in": 101 + 9 * d + 3 * r + a, "tokens_out": 5}
                lines.append({**turn, **tokens, "scores": {"A": {"clarity": 7.0}, "B": {"clarity": 5.5}}})
        lines.append({"type": "verdict", "debate": name, "decision": "A", "round": 2, "stop_reason": "cap"})
    return lines


RECORDS = _records()
WHOLE = ("not a log", "empty file")
"""Problems of a file of which nothing is read."""


def _traced(log: DebateLog, true: Mapping[int, tuple[str, int, str, str]], told: bool, column: str) -> int:
    """Return how many untouched turns are absent without a word; one that is there must be as it was written."""
    lost = 0
    turns = log.turns
    if column not in turns.columns or "vote" not in turns.columns:
        if not told:
            raise Unlike(f"no column {column} or vote, and nothing told")
        return 0
    there: dict[int, list[tuple[Any, ...]]] = {}
    for tokens, *turn in turns[[column, "debate", "round", "agent", "vote"]].itertuples(index=False):
        if not pd.isna(tokens):
            there.setdefault(int(tokens), []).append(tuple(turn))
    for tokens, turn in true.items():
        found = there.get(tokens, [])
        if not found:
            lost += not told
        elif turn not in found and not told:
            raise Unlike(f"turn {turn} was read as {found[0]}")
    return lost


def _line_file(rng: Rng) -> tuple[bytes, dict[int, tuple[str, int, str, str]]]:
    """Return a spoilt log of records, and the turns of it that no change touched, by their tokens."""
    records: list[Any] = list(RECORDS)
    whole = [True] * len(records)
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(records)) if records else 0
        match rng.randrange(7):
            case 0 | 1 | 2 if records:
                records[at], whole[at] = value_changed(records[at], rng, rng.randint(1, 2)), False
            case 3 if records:
                records.insert(at, records[at])
                whole.insert(at, whole[at])
            case 4 if records:
                del records[at], whole[at]
            case 5 if records:
                other = rng.randrange(len(records))
                records[at], records[other] = records[other], records[at]
                whole[at], whole[other] = whole[other], whole[at]
            case _:
                records.insert(at, rng.choice(VALUES))
                whole.insert(at, False)
    data = "".join(json.dumps(one) + "\n" for one in records).encode()
    if rng.random() < 0.5:
        return bytes_changed(data, rng, rng.randint(1, 2)), {}
    true = {
        one["tokens_in"]: (one["debate"], one["round"], one["agent"], one["vote"])
        for one, untouched in zip(records, whole, strict=True)
        if untouched and one.get("type") == "turn"
    }
    return data, true


def _read(log: DebateLog, lines: int, merged: int, true: Mapping[int, tuple[str, int, str, str]]) -> Read:
    """Add up a log of records: lines are in the tables, left out, or merged (headers, an item twice)."""
    told = bool(log.problems or log.notes)
    if any(problem.kind in WHOLE for problem in log.problems):
        return Read(told=True)
    rest = log.n_records - log.n_left_out - len(log.items) - len(log.turns) - len(log.verdicts)
    lost = max(0, lines - log.n_records) + max(0, rest - merged)
    doubled = max(0, log.n_records - lines) + max(0, -rest)
    return Read(told, lost + _traced(log, true, told, "tokens_in"), doubled)


def log_of_records(rng: Rng, folder: Path) -> Read:
    data, true = _line_file(rng)
    path = folder / "log.jsonl"
    path.write_bytes(data)
    lines = [line for line in data.split(b"\n") if line.strip()]
    log = read_log(path, strict=False)
    if b'"type"' not in data:  # rows of a table, if anything
        return Read(told=bool(log.problems or log.notes))
    opened = [named for named in map(_opened, lines) if named is not None]
    merged = sum(b'"log"' in line for line in lines) + len(opened) - len(set(opened))
    return _read(log, len(lines), merged, true)


def _opened(line: bytes) -> tuple[str, str] | None:
    """Return the debate that a line opens or closes; two such lines that say the same are one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("type") not in ("item", "verdict"):
        return None
    return str(record["type"]), str(record.get("debate"))


def log_counted(rng: Rng, folder: Path) -> Read:
    """The reader of whole logs and the counter of large ones refuse the same logs and count the same votes."""
    path = folder / "log.jsonl"
    data, _ = _line_file(rng)
    path.write_bytes(data)
    try:
        counted = count_log(path)
    except ValueError:
        try:
            d3stats.as_trajectories(path)
        except ValueError:
            raise
        raise Unlike("count_log refuses what as_trajectories reads") from None
    t = d3stats.as_trajectories(path)
    whole, parts = t.counts().to_frame(), counted.rounds.to_frame()
    if not whole.equals(parts):
        raise Unlike("count_log and as_trajectories count different votes")
    return Read(told=bool(t.notes))


def _as_csv(new: Changed, separator: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows([new.header, *new.rows])
    return text.getvalue().encode(errors="replace")


def _as_rows(new: Changed) -> list[dict[str, str]]:
    return [dict(zip(new.header, row, strict=False)) for row in new.rows]


def _as_frame(new: Changed) -> pd.DataFrame:
    width = len(new.header)
    rows = [[*map(_stored, row), *[None] * (width - len(row))][:width] for row in new.rows]
    return pd.DataFrame(rows, columns=[_stored(name) or "x" for name in new.header], dtype=object)


def _stored(text: str) -> str:
    """Return a text as a file in UTF-8 can hold it."""
    return text.encode(errors="replace").decode()


def _table_file(new: Changed, path: Path) -> None:
    """Write a table in the form that the name of its file says."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        import duckdb

        frame = _as_frame(new)
        frame.columns = [
            f"{name}_{k}" if name in frame.columns[:k] else name for k, name in enumerate(frame.columns)
        ]
        with duckdb.connect() as base:
            base.register("t", frame.astype(object))
            base.execute(f"copy (select * from t) to '{path}' (format parquet)")
        return
    if name.endswith(".xlsx"):
        from openpyxl import Workbook
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

        book = Workbook(write_only=True)
        sheet = book.create_sheet("votes")
        for row in [new.header, *new.rows]:
            sheet.append([_cell(ILLEGAL_CHARACTERS_RE.sub("", cell)[:30000]) for cell in row])
        book.save(path)
        return
    if name.endswith(".jsonl"):
        data = "".join(json.dumps(row) + "\n" for row in _as_rows(new)).encode()
    elif name.endswith(".json"):
        data = json.dumps(_as_rows(new)).encode()
    else:
        data = _as_csv(new, "\t" if name.endswith(".tsv") else ";" if "semicolon" in name else ",")
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.name.endswith(".gz") else data)


def _held(new: Changed, path: Path) -> list[list[str]]:
    """Return the rows that a file holds.

    An object of JSON and a row of a frame have no cell without a name. A carriage return, which the writer of CSV
    leaves as it is, makes two lines of a row.
    """
    name = path.name.removesuffix(".gz")
    if not name.endswith((".csv", ".tsv")):
        return [row[: len(new.header)] for row in new.rows]
    separator = "\t" if name.endswith(".tsv") else ";" if "semicolon" in name else ","
    text = io.StringIO(_as_csv(new, separator).decode(), newline="")
    return list(csv.reader(text, delimiter=separator))[1:]


def _cell(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else _stored(text)


def _notes_of(ending: str) -> frozenset[str]:
    """Return the notes on the true log in this form."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log{ending}"
        _table_file(Changed(HEADER, ROWS), path)
        return frozenset(read_log(path).notes)


notes_of = cache(_notes_of)


def log_table(*endings: str, damaged: float = 0.4) -> Callable[[Rng, Path], Read]:
    """Return the kind of a log as a table in files with these endings."""

    def one(rng: Rng, folder: Path) -> Read:
        path = folder / f"log{rng.choice(endings)}"
        new = rows_changed(HEADER, ROWS, rng, rng.randint(0, 3))
        _table_file(new, path)
        exact = rng.random() >= damaged
        if not exact:
            path.write_bytes(bytes_changed(path.read_bytes(), rng, rng.randint(1, 2)))
        log = read_log(path, strict=False)
        if any(problem.kind in WHOLE for problem in log.problems):
            return Read(told=True)
        told = bool(log.problems) or not set(log.notes) <= notes_of(path.name.removeprefix("log"))
        if not (exact and new.alike):
            return Read(told)
        held = _held(new, path)
        written = sum(any(cell.strip() for cell in row) for row in held)
        headers = sum(one["count"] for one in note_values(log.notes) if one.get("kind") == "headers")
        rest = log.n_records - log.n_left_out - len(log.turns)
        touched = sum(origin is None for origin in new.origin) + len(held) - len(new.rows)
        read = log.n_records + headers
        lost = max(0, written - read) + max(0, rest - touched)
        blank = min(
            len(held) - written, log.n_left_out
        )  # a row of spaces is a record that is told as left out
        doubled = max(0, read - written - blank) + max(0, -rest)
        true = {
            int(ROWS[k][6]): (ROWS[k][0], int(ROWS[k][1]), ROWS[k][2], ROWS[k][3])
            for k in new.origin
            if k is not None
        }
        return Read(told, lost + _traced(log, true, told, "tokens"), doubled)

    return one


# -------------------------------------------------------------------- tables of other things


def _spoilt(header: list[str], rows: list[list[str]], rng: Rng, folder: Path) -> tuple[Path, Changed | None]:
    """Write a spoilt table; return it where the file is what it says, and None where its bytes were changed."""
    new = rows_changed(header, rows, rng, rng.randint(0, 3))
    path = folder / f"table{rng.choice(('.csv', '.csv', '.jsonl', '.json', '.tsv'))}"
    _table_file(new, path)
    if rng.random() < 0.4:
        path.write_bytes(bytes_changed(path.read_bytes(), rng, rng.randint(1, 2)))
        return path, None
    return path, new


def _kept(new: Changed | None, keys: Sequence[int]) -> list[int]:
    """Return the untouched rows of a table whose key no other row has."""
    if new is None or not new.alike:
        return []
    seen = Counter(tuple(row[k].strip() for k in keys if k < len(row)) for row in new.rows)
    return [
        origin
        for row, origin in zip(new.rows, new.origin, strict=True)
        if origin is not None and seen[tuple(row[k].strip() for k in keys)] == 1
    ]


RUN = [[f"q{k}", f"{(k * 37 % 100) / 100}", f"s{k // 2}"] for k in range(12)]
RATINGS = [[f"q{k}", f"r{r}", "AB"[(k * r + k) % 2]] for k in range(8) for r in range(3)]
PAIRS = [[f"q{k}", "m", f"n{k % 3}", ("model_a", "model_b", "tie")[k % 3], "j"] for k in range(12)]
VERDICTS = [
    [f"q{k}", order, "AB"[(k + (order == "BA")) % 2], str(20 + k), str(30 - k)]
    for k in range(8)
    for order in ("AB", "BA")
]


def run_table(rng: Rng, folder: Path) -> Read:
    path, new = _spoilt(["item", "score", "cluster"], RUN, rng, folder)
    run = inference.as_run(path)
    told = bool(run.notes)
    there = dict(zip(map(str, run.items), run.value, strict=True))
    lost = 0
    for k in _kept(new, [0]):
        name, score = RUN[k][0], float(RUN[k][1])
        lost += name not in there and not told
        if name in there and there[name] != score and not told:
            raise Unlike(f"item {name} has {score} and was read as {there[name]}")
    return Read(told, lost, len(run.items) - len(there))


def ratings_table(rng: Rng, folder: Path) -> Read:
    path, new = _spoilt(["item", "rater", "vote"], RATINGS, rng, folder)
    read = inference.as_ratings(path)
    told = bool(read.notes)
    kept = _kept(new, [0, 1])
    given = int((read.codes >= 0).sum())
    lost = max(0, len(kept) - given) if not told else 0
    return Read(told, lost, max(0, given - len(new.rows)) if new is not None else 0)


def pairs_table(rng: Rng, folder: Path) -> Read:
    path, new = _spoilt(["item", "model_a", "model_b", "winner", "judge"], PAIRS, rng, folder)
    read = inference.as_pairwise(path)
    told = bool(read.notes)
    n = len(read.outcome)
    kept = _kept(new, [0, 1, 2])
    return Read(
        told, 0 if told else max(0, len(kept) - n), max(0, n - len(new.rows)) if new is not None else 0
    )


def verdicts_table(rng: Rng, folder: Path) -> Read:
    path, new = _spoilt(["item", "order", "vote", "length_a", "length_b"], VERDICTS, rng, folder)
    read = as_judgments(path)
    told = bool(read.notes)
    n = len(read.vote)
    kept = _kept(new, [0, 1])
    return Read(
        told, 0 if told else max(0, len(kept) - n), max(0, n - len(new.rows)) if new is not None else 0
    )


CELLS = [["1", "0", "3", "4"], ["1", "2", "3", "9"], ["2", "3", "3", "7"], ["2", "1", "3", "6"]]


def counts_table(rng: Rng, folder: Path) -> Read:
    """Counts of debates by round, as a data frame of numbers or of what was read from a file."""
    new = rows_changed(["round", "successes", "trials", "weight"], CELLS, rng, rng.randint(0, 2))
    frame = _as_frame(new)
    if rng.random() < 0.7:
        frame = frame.apply(_numbers)
    kind: Any = Counts if rng.random() < 0.5 else RoundCounts
    read = kind.from_frame(frame)
    if list(frame.columns) != ["round", "successes", "trials", "weight"]:
        return Read()
    said = float(frame["weight"].map(float).sum())
    made = float(read.to_frame()["weight"].sum())
    return Read(False, int(max(0.0, said - made)), int(max(0.0, made - said)))


def _numbers(column: Any) -> Any:
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError):
        return column


ITEMS = [[f"q{k}", f"Which is {k}?", f"one {k}", f"two {k}", ("A", "B", "tie")[k % 3]] for k in range(8)]


def items_table(rng: Rng, folder: Path) -> Read:
    path, new = _spoilt(["id", "question", "answer_a", "answer_b", "label"], ITEMS, rng, folder)
    read = read_items(path)
    there = Counter(item.question for item in read)
    lost = 0
    for k in _kept(new, [0]):
        name, text, one, other, label = ITEMS[k]
        lost += name not in there
        for item in read:
            if item.question == name and (item.text, item.candidates, item.label) != (
                text,
                (one, other),
                label,
            ):
                raise Unlike(f"item {name} was read as {item}")
    return Read(bool(read.notes), lost, sum(times - 1 for times in there.values()))


# -------------------------------------------------------------------- studies, prices, worlds, rules

STUDY: dict[str, Any] = {
    "rules": ["fixed:2", "supermajority:0.85", "unanimity | fixed:4"],
    "n_rounds": 6,
    "debates": 1000,
    "seeds": 2,
    "batch": 100,
    "missing": "wrong",
    "prices": {"dollars_per_million_tokens": 0.6},
    "worlds": [
        {"name": "voter", "panel": 5, "accuracy": 0.7},
        {"name": "conformity", "label": "crowd", "panel": 7, "lengths": {"message_words": 80}},
    ],
}
PRICES: dict[str, Any] = {
    "date": "2026-01-31",
    "models": {"small": {"input": 0.5, "output": 1.5, "cached": 0.1}, "large": {"input": 3, "output": 15}},
}


def _toml_file(value: dict[str, Any], rng: Rng, folder: Path) -> tuple[Path, dict[str, Any] | None]:
    path = folder / "file.toml"
    changed = value_changed(value, rng, rng.randint(0, 2))
    try:
        data = toml(changed if isinstance(changed, dict) else {"a": changed}).encode()
    except RecursionError:
        data = b"a = " + b"[" * 400 + b"]" * 400
    path.write_bytes(data if rng.random() < 0.6 else bytes_changed(data, rng, rng.randint(1, 2)))
    try:
        return path, tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return path, None


def study_file(rng: Rng, folder: Path) -> Read:
    path, said = _toml_file(STUDY, rng, folder)
    study = read_study(path)
    if said is None:
        raise Unlike("read_study reads what is no TOML")
    seeds = said.get("seeds", 1)
    wanted = {"n_rounds": said["n_rounds"], "debates": said["debates"], "batch": said.get("batch")}
    read = {name: getattr(study, name) for name in wanted}
    if read != wanted:
        raise Unlike(f"the file says {wanted} and was read as {read}")
    many = seeds if isinstance(seeds, int) else len(seeds)
    lost = len(said["worlds"]) - len(study.worlds) + many - len(study.seeds)
    return Read(False, max(0, lost), max(0, -lost))


def prices_file(rng: Rng, folder: Path) -> Read:
    path, said = _toml_file(PRICES, rng, folder)
    table = PriceTable.read(path)
    if said is None:
        raise Unlike("PriceTable reads what is no TOML")
    wanted = {name: (float(one["input"]), float(one["output"])) for name, one in said["models"].items()}
    if wanted != dict(table.models):
        raise Unlike(f"the file says {wanted} and was read as {dict(table.models)}")
    return Read()


def _number(said: Any) -> Any:
    """Return the number that a text spells; everything else as it is."""
    return float(said) if isinstance(said, str) else said


def world_table(rng: Rng, folder: Path) -> Read:
    said = value_changed(rng.choice(STUDY["worlds"]), rng, rng.randint(1, 2))
    if isinstance(said, dict):
        said.pop("label", None)
    world = from_table(said)
    for name in ("panel", "accuracy"):
        if name in said and getattr(world, name) not in (said[name], _number(said[name])):
            raise Unlike(f"{name} is {said[name]!r} and was read as {getattr(world, name)!r}")
    return Read()


TEXTS = {
    "rule": (
        *(
            "fixed:2",
            "supermajority:0.85",
            "unanimity | fixed:4",
            "sprt",
            "ks:0.05,patience=2",
            "adaptive_consistency",
        ),
        *("(unanimity & fixed:2) | fixed:5", "ladder:7-6-5", "d3_paper", "budgeted:2000"),
    ),
    "protocol": (
        "samre:jurors=3,max_rounds=3",
        "d3:threshold=5",
        "more",
        "majority:panel=3",
        "chateval:referees=3",
    ),
}


def _text(text: str, rng: Rng) -> str:
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        put = rng.choice((*JUNK, ":", "|", "&", "(", ")", "=", "fixed:1", "nan", text))
        text = rng.choice((text[:at] + put[:300] + text[at:], text[:at], text[:at] + text[at + 1 :]))
    return text


def rule_text(rng: Rng, folder: Path) -> Read:
    rule = from_text(_text(rng.choice(TEXTS["rule"]), rng))
    if from_text(str(rule)) != rule:
        raise Unlike(f"{rule} does not read back")
    return Read()


def protocol_text(rng: Rng, folder: Path) -> Read:
    protocol = protocol_from_text(_text(rng.choice(TEXTS["protocol"]), rng))
    if protocol_from_text(str(protocol)) != protocol:
        raise Unlike(f"{protocol} does not read back")
    return Read()


# -------------------------------------------------------------------- replies of models and servers

CASE = Case("d1", "q1", "Which is larger?", ("A", "B", "tie"), ("Two is.", "Three is."), "B")
VOTE = Request(CASE, 1, "juror 1", "juror", "vote", "Vote.", Slot(CASE.answers, words=40, confidence=True))
BOTH = Request(
    CASE,
    2,
    "judge",
    "judge",
    "judge",
    "Score.",
    Slot(CASE.answers, rubric=Rubric(("A", "B"), ("clarity", "depth")), words=40),
)
SCORES = {"answer_1": {"clarity": 3, "depth": 4}, "answer_2": {"clarity": 7, "depth": 8}}
REPLIES: tuple[tuple[Request, dict[str, Any]], ...] = (
    (VOTE, {"text": "Because.", "vote": "1", "confidence": 80}),
    (BOTH, {"text": "Because.", "scores": SCORES, "vote": "tie"}),
    (
        replace(VOTE, slot=Slot(open_vote=True, may_pass=True, words=40)),
        {"text": "", "vote": "forty two"},
    ),
)
AROUND = ("{}", "```json\n{}\n```", "<think>no</think>{}", "Sure! {}", "{}\n{}", "<think>{}", "prose\nabc {}")


def _json(value: Any, rng: Rng) -> str:
    """Return a spoilt value as JSON, its text spoilt too in half of the cases."""
    text = json.dumps(value_changed(value, rng, rng.randint(0, 2)))
    return _text(text, rng) if rng.random() < 0.4 else text


def reply_of_model(rng: Rng, folder: Path) -> Read:
    request, value = rng.choice(REPLIES)
    text = _json(value, rng)
    content = rng.choice(AROUND).replace("{}", text)
    read = read_reply(content, Wire(request), rng.choice((None, None, "abc")))
    if request.slot.answers is not None and read.vote not in request.slot.answers:
        raise Unlike(f"vote {read.vote!r} is none of the answers")
    if read.confidence is not None and not 0 <= read.confidence <= 1:
        raise Unlike(f"confidence {read.confidence}")
    for points in (read.scores or {}).values():
        if not all(1 <= point <= 10 for point in points.values()):
            raise Unlike(f"scores {points}")
    return Read()


BODY: dict[str, Any] = {
    "id": "x",
    "model": "m-2026",
    "system_fingerprint": "f",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Two."}}],
    "usage": {
        "prompt_tokens": 50,
        "completion_tokens": 5,
        "total_tokens": 55,
        "prompt_tokens_details": {"cached_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
LISTED = {"data": [{"id": "m", "meta": {"n_ctx_train": 4096}}, {"id": "n", "max_model_len": 8192}]}
COUNTED = {"count": 12, "tokens": [1, 2, 3]}


def body_of_server(rng: Rng, folder: Path) -> Read:
    """A body is a reply whose tokens are counts, or a failure in our words; nothing escapes."""
    kind = rng.randrange(4)
    data = _json((BODY, BODY, LISTED, COUNTED)[kind], rng).encode(errors="surrogatepass")
    if rng.random() < 0.3:
        data = bytes_changed(data, rng, 1)
    key = Key("D3STATS_NO_SUCH_KEY")
    if kind == 2:
        return Read(told=isinstance(models_of(data, key), Failed))
    if kind == 3:
        return Read(told=tokens_of(data) is None)
    got = reply_of(data, key)
    if isinstance(got, Failed):
        return Read(told=True)
    for tokens in (got.tokens_in, got.tokens_out):
        if tokens is not None and not (isinstance(tokens, int) and tokens >= 0):
            raise Unlike(f"tokens {tokens!r}")
    said = json.loads(data)
    try:
        content = said["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        content = None
    if isinstance(content, str) and got.content != content:
        raise Unlike(f"the body says {content[:40]!r} and was read as {got.content!r}")
    return Read(told=got.content is None)


# -------------------------------------------------------------------- files of other tools

FAIREVAL = "CHATGPT\nVICUNA13B\nTIE\nCHATGPT\n"


def foreign_file(rng: Rng, folder: Path) -> Read:
    """The log that is written has as many records as the summary says, and no defect."""
    name = rng.choice([*FILES, "faireval"])
    if name == "faireval":
        file, data = "human.txt", FAIREVAL.encode()
        data = bytes_changed(data, rng, rng.randint(1, 2))
    else:
        file, value = FILES[name]
        data = json.dumps(value_changed(value, rng, rng.randint(0, 2))).encode()
        if rng.random() < 0.4:
            data = bytes_changed(data, rng, rng.randint(1, 2))
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    source = folder if name == "prd" else path.parent if name == "pandalm" else path
    said = import_log(name, source, folder / "out.jsonl", text=rng.random() < 0.5)
    log = read_log(folder / "out.jsonl", strict=False)
    made = len(log.items) + len(log.turns) + len(log.verdicts)
    rest = said.n_items + said.n_turns + said.n_verdicts - made - log.n_left_out
    if log.n_left_out:
        raise Unlike(f"{name} writes a log with a defect: {log.problems[0]}")
    return Read(bool(said.notes), max(0, rest), max(0, -rest))


SAMPLES = [
    {
        "id": f"s{k}", "epoch": e, "input": f"What is {k}?", "target": "A",
        "scores": {"choice": {"value": "CI"[(k + e) % 2], "answer": "AB"[(k + e) % 2], "explanation": "so"}},
        "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}},
    }
    for k in range(3) for e in (1, 2)
]  # fmt: skip
HEAD = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "t",
        "model": "m",
        "dataset": {"sample_ids": ["s0", "s1", "s2"]},
        "config": {"epochs": 2},
    },
}


def inspect_log(rng: Rng, folder: Path) -> Read:
    head = value_changed(HEAD, rng, rng.choice((0, 0, 1)))
    samples = value_changed(SAMPLES, rng, rng.choice((0, 1, 2)))
    if rng.random() < 0.5 and isinstance(head, dict):
        path = folder / "log.json"
        data = json.dumps({**head, "samples": samples}).encode()
    else:
        path = folder / "log.eval"
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as parts:
            parts.writestr("header.json", json.dumps(head))
            for k, sample in enumerate(samples if isinstance(samples, list) else [samples]):
                parts.writestr(f"samples/{k}_epoch_1.json", json.dumps(sample))
        data = packed.getvalue()
    path.write_bytes(bytes_changed(data, rng, 1) if rng.random() < 0.4 else data)
    log = read_log(path, strict=False)
    rest = log.n_records - log.n_left_out - len(log.items) - len(log.turns) - len(log.verdicts)
    whole = any(problem.kind in WHOLE for problem in log.problems)
    return Read(bool(log.problems or log.notes), 0 if whole else max(0, rest - 1), max(0, -rest))


def transcript(rng: Rng, folder: Path) -> Read:
    path = folder / "log.jsonl"
    path.write_bytes(_line_file(rng)[0])
    read = read_transcript(path, "d1")
    return Read(told=bool(read.passed_over))


def mended_log(rng: Rng, folder: Path) -> Read:
    """A copy without defects has the records that the doctor counts as sound, and no other."""
    path = folder / "log.jsonl"
    path.write_bytes(_line_file(rng)[0])
    before = doctor(path)
    report = fix_log(path, folder / "clean.jsonl")
    log = read_log(folder / "clean.jsonl", strict=False)
    if log.problems:
        raise Unlike(f"the copy has a defect: {log.problems[0]}")
    rest = report.n_records - sum(report.left_out.values()) - report.n_kept
    return Read(bool(before.problems), max(0, rest), max(0, -rest))


KINDS: dict[str, Callable[[Rng, Path], Read]] = {
    "log, records in JSON lines": log_of_records,
    "log, read whole and counted in parts": log_counted,
    "log, CSV or TSV": log_table(".csv", ".tsv", "_semicolon.csv"),
    "log, rows in JSON or JSON lines": log_table(".jsonl", ".json"),
    "log, packed by gzip": log_table(".csv.gz", ".jsonl.gz", ".json.gz", damaged=0.7),
    "log, Excel": log_table(".xlsx", damaged=0.6),
    "log, Parquet": log_table(".parquet", damaged=0.6),
    "log of Inspect": inspect_log,
    "log, corrected copy": mended_log,
    "log, one debate": transcript,
    "table of a run": run_table,
    "table of ratings": ratings_table,
    "table of judgments of pairs": pairs_table,
    "table of verdicts in both orders": verdicts_table,
    "table of counts": counts_table,
    "table of items": items_table,
    "study": study_file,
    "prices": prices_file,
    "world": world_table,
    "rule": rule_text,
    "protocol": protocol_text,
    "reply of a model": reply_of_model,
    "body of a server": body_of_server,
    "file of another tool": foreign_file,
}
