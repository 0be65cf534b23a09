"""What is no log of debates, or hardly one, is refused by every command in one clear line, and soon."""

from __future__ import annotations

import io
import re
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import openpyxl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from d3stats import count_log, replay
from d3stats.cli import app
from d3stats.cli.app import GROUPS
from d3stats.log import doctor, read_log
from d3stats.trajectories import Trajectories

HEAD = "debate,round,agent,vote,label\n"
BODY = "".join(f"d{d},{r},{a},{'AB'[(d + r) % 2]},A\n" for d in range(12) for r in (1, 2) for a in "xyz")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0" + bytes(range(256)) * 4
LINE = '{"type":"item","debate":"d","question":"q","label":"A"}\n'
TURN = '{"type":"turn","debate":"d","round":1,"agent":"x","vote":"A"}\n'


def workbook(*sheets: str) -> bytes:
    """Write the rows of a CSV, or of several, as sheets of an XLSX workbook."""
    book, written = openpyxl.Workbook(), io.BytesIO()
    for k, rows in enumerate(sheets):
        sheet = book.create_sheet() if k else book.active
        for row in rows.splitlines():
            sheet.append(row.split(","))  # type: ignore[union-attr]
    book.save(written)
    return written.getvalue()


NOT_LOGS: dict[str, tuple[str, bytes]] = {
    "an empty CSV": ("log.csv", b""),
    "an empty JSONL": ("log.jsonl", b""),
    "an empty Parquet": ("log.parquet", b""),
    "a header only": ("log.csv", HEAD.encode()),
    "line ends only": ("log.jsonl", b"\n\n\n"),
    "unreadable bytes": ("log.jsonl", bytes(range(1, 256)) * 20),
    "a picture as CSV": ("log.csv", PNG),
    "a picture as JSONL": ("log.jsonl", PNG),
    "a picture as Parquet": ("log.parquet", PNG),
    "an empty TSV": ("log.tsv", b""),
    "an empty workbook": ("log.xlsx", b""),
    "a workbook without rows": ("log.xlsx", workbook(HEAD)),
    "a workbook without cells": ("log.xlsx", workbook("")),
    "a picture as TSV": ("log.tsv", PNG),
    "a picture as a workbook": ("log.xlsx", PNG),
    "a torn workbook": ("log.xlsx", b"PK\x03\x04" + PNG),
    "a picture as gzip": ("log.jsonl.gz", PNG),
    "Latin-1": ("log.csv", (HEAD + BODY).replace("x,", "Zoë,").encode("latin-1")),
    "UTF-16 as JSONL": ("log.jsonl", (LINE + TURN).encode("utf-16")),
    "half of UTF-16": ("log.csv", (HEAD + BODY).encode("utf-16")[:-1]),
    "a truncated last row": ("log.csv", (HEAD + BODY)[:-6].encode()),
    "a truncated last line": ("log.jsonl", (LINE + TURN + TURN[:25]).encode()),
    "10^9 as a round of a table": ("log.csv", (HEAD + BODY + "d0,1000000000,x,A,A\n").encode()),
    "10^9 - 1 as a round of a table": ("log.csv", (HEAD + BODY + "d0,999999999,x,A,A\n").encode()),
    "10^9 as a round": ("log.jsonl", (LINE + TURN + TURN.replace(":1,", ":1000000000,")).encode()),
    "an answer of 1 MB outside the answers": (
        "log.csv", ("debate,round,agent,vote,answers\n" + f'd,1,x,{"long " * 200_000},"[""A""]"\n').encode(),
    ),
    "a line of 1 MB that is no JSON": ("log.jsonl", ("x" * 1_000_000 + "\n").encode()),
    "a log of Inspect that breaks off": ("log.eval", b"PK\x03\x04" + PNG),
    "an empty log of Inspect": ("log.eval", b""),
    "a JSON document that breaks off": ("log.json", b'{"debates": [{"debate": "d",'),
    "a sheet of notes before the data": ("log.xlsx", workbook("Read the next sheet", HEAD + BODY)),
    "other columns": ("log.csv", b"alpha,beta,gamma\n1,2,3\n4,5,6\n"),
}  # fmt: skip

SMALL_LOGS: dict[str, tuple[str, bytes]] = {
    "one row": ("log.csv", (HEAD + "d,1,x,A,A\n").encode()),
    "UTF-16": ("log.csv", (HEAD + BODY).encode("utf-16")),
    "tabs in UTF-16": ("log.tsv", (HEAD + BODY).replace(",", "\t").encode("utf-16")),
    "one row of a workbook": ("log.xlsx", workbook(HEAD + "d,1,x,A,A\n")),
    "a workbook": ("log.xlsx", workbook(HEAD + BODY)),
    "no vote in any round": ("log.csv", (HEAD + BODY).replace(",A,A", ",,A").replace(",B,A", ",,A").encode()),
    "one turn": ("log.jsonl", (LINE + TURN).encode()),
    "an answer of 1 MB": ("log.csv", (HEAD + BODY + f"d99,1,x,{'long ' * 200_000},A\n").encode()),
}
COMMANDS: dict[str, list[str]] = {
    "doctor": ["doctor", "LOG"],
    "fix": ["doctor", "LOG", "--fix", "clean.csv"],
    "fit": ["fit", "LOG", "--n-boot", "10"],
    "count": ["count", "LOG"],
    "replay": ["replay", "LOG"],
    "plan": ["plan", "LOG", "--no-limit"],
    "compare": ["compare", "good.csv", "LOG", "--seed", "1"],
    "agreement": ["agreement", "LOG"],
    "panel": ["panel", "LOG"],
    "confidence": ["confidence", "LOG"],
    "rank": ["rank", "LOG"],
    "paper": ["paper", "d3:table-1", "LOG"],
    "bias": ["bias", "LOG"],
    "rationales": ["rationales", "LOG"],
    "show": ["show", "LOG"],
    "abstain": ["abstain", "LOG"],
    "correct": ["correct", "LOG"],
    "scores": ["scores", "LOG"],
    "power": ["power", "--pilot", "good.csv", "LOG"],
}
SECONDS, MEBIBYTES = 120, 600
HUGE = re.compile(r"10\^9|1 MB")
"""Inputs that could take much memory: a number of rounds, a long word. Watching takes thrice the time."""


def with_commands(whats: Iterable[str]) -> pytest.MarkDecorator:
    """Every input with every command; a sixth of these pairs, with each of both in it, is the fast layer.

    All commands read by one reader: of words of 1 MB, one is tried with `count` there.
    """
    pairs = [
        pytest.param(
            command,
            what,
            marks=()
            if (command == "count" and what == "an answer of 1 MB" if "1 MB" in what else (i + j) % 6 == 0)
            else pytest.mark.slow,
        )
        for i, what in enumerate(whats)
        for j, command in enumerate(COMMANDS)
    ]
    return pytest.mark.parametrize(("command", "what"), pairs)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(HEAD + BODY, encoding="utf-8")
    return tmp_path


def run(command: str, log: str, watched: bool = False) -> Result:
    """Run a command within a limit of the processor's time, and a watched one of what it allocates.

    Both are the same on a busy machine.
    """
    started, most = time.process_time(), 0
    if watched:
        tracemalloc.start()
    try:
        done = CliRunner().invoke(app, [log if word == "LOG" else word for word in COMMANDS[command]])
        if watched:
            _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < SECONDS
    assert most < MEBIBYTES * 2**20
    return done


def assert_clear(done: Result, codes: tuple[int, ...]) -> None:
    """No crash, one line of an error, and no wall of text."""
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in codes, done.output
    said = done.stdout + done.stderr
    assert said.strip()
    assert "Traceback" not in said
    assert len(said) < 8000, said[:500]
    if done.exit_code == 1:
        (line,) = done.stderr.splitlines()
        assert line.startswith("d3stats: ") or "could not be read" in line
        assert len(line) < 1500, line


@with_commands(NOT_LOGS)
def test_what_is_no_log_is_refused_in_one_line(command: str, what: str, folder: Path) -> None:
    name, content = NOT_LOGS[what]
    Path(name).write_bytes(content)
    done = run(command, name, watched=HUGE.search(what) is not None)
    assert_clear(done, (0, 1, 2) if command in ("fix", "show") else (2,) if command == "doctor" else (1,))
    if done.exit_code == 1:
        assert name in done.stderr


@with_commands(SMALL_LOGS)
def test_a_small_log_gets_an_answer_or_one_line(command: str, what: str, folder: Path) -> None:
    name, content = SMALL_LOGS[what]
    Path(name).write_bytes(content)
    assert_clear(run(command, name, watched=HUGE.search(what) is not None), (0, 1, 2))


@with_commands(["folder", "folder.csv", "nothing.jsonl", "nothing*.csv", "log.docx"])
def test_what_is_no_file_of_a_log_is_refused_in_one_line(command: str, what: str, folder: Path) -> None:
    name = what
    if name.startswith("folder"):
        Path(name).mkdir()
    elif name == "log.docx":
        Path(name).write_text("x", encoding="utf-8")
    done = run(command, name)
    assert done.exit_code == 1
    said = (done.stdout + done.stderr).strip()
    assert len(said.splitlines()) <= (3 if command == "doctor" else 1)
    assert name in said


READERS: dict[str, Callable[[str], object]] = {
    "read_log": read_log,
    "lenient": lambda path: read_log(path, strict=False),
    "doctor": doctor,
    "from_log": Trajectories.from_log,
    "count_log": count_log,
    "replay": lambda path: replay(Trajectories.from_log(path, strict=False), ["fixed:1"]),
}


LONG_WORDS = [what for what in NOT_LOGS | SMALL_LOGS if "1 MB" in what]


@pytest.mark.parametrize(
    ("reader", "whats"),
    [
        pytest.param(
            reader, whats, id=reader + " of a long word" * late, marks=pytest.mark.slow if late else ()
        )
        for reader in READERS
        for late, whats in (
            (False, [what for what in NOT_LOGS | SMALL_LOGS if what not in LONG_WORDS]),
            (True, LONG_WORDS),
        )
    ],
)
def test_from_python_every_reader_answers_or_says_what_is_wrong(
    reader: str, whats: list[str], folder: Path
) -> None:
    unclear = {}
    for what in whats:
        name, content = (NOT_LOGS | SMALL_LOGS)[what]
        Path(what.replace("/", " ")).mkdir()
        path = Path(what.replace("/", " ")) / name
        path.write_bytes(content)
        why = said(READERS[reader], str(path))
        if why is not None and not 10 < len(why) < 1500:
            unclear[what] = why
    assert unclear == {}


def said(read: Callable[[str], object], path: str) -> str | None:
    """Return why a reader refuses a file, None when it does not; any other error than a ValueError is a crash."""
    try:
        read(path)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("command", ["doctor", "fit", "replay", "plan"])
def test_a_million_agents_in_one_debate_are_answered_soon(command: str, folder: Path) -> None:
    Path("log.csv").write_text(
        HEAD + "".join(f"d,1,agent{a},{'AB'[a % 2]},A\n" for a in range(1_000_000)), encoding="utf-8"
    )
    program = [
        sys.executable,
        "-m",
        "d3stats.cli",
        *(w if w != "LOG" else "log.csv" for w in COMMANDS[command]),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=600)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == (0 if command == "doctor" else 1), done.stderr
    assert len(done.stdout) < 8000
    refused = [line for line in done.stderr.splitlines() if not line.startswith("reading log.csv: ")]
    assert len(refused) == (command != "doctor"), done.stderr
    assert used.ru_utime - before < 2 * SECONDS
    assert used.ru_maxrss < 2 * 1024 * 1024


TAKES: dict[str, list[str]] = {
    "report": ["report", "IN", "-o", "OUT.html"],
    "fit": ["fit", "IN", "--figure", "OUT.pdf"],
    "count": ["count", "IN", "-o", "OUT.parquet"],
    "replay": ["replay", "IN"],
    "compare": ["compare", "good.csv", "IN"],
    "agreement": ["agreement", "IN"],
    "panel": ["panel", "IN"],
    "confidence": ["confidence", "IN"],
    "rank": ["rank", "IN"],
    "paper": ["paper", "d3:table-1", "IN"],
    "bias": ["bias", "IN"],
    "rationales": ["rationales", "IN"],
    "abstain": ["abstain", "IN"],
    "correct": ["correct", "IN"],
    "scores": ["scores", "IN"],
    "cites": ["rationales", "good.csv", "--cites", "IN"],
    "plan": ["plan", "IN"],
    "prices": ["plan", "good.csv", "--prices", "IN"],
    "escalate": ["escalate", "good.csv", "IN"],
    "power": ["power", "--pilot", "good.csv", "IN"],
    "calibrate": ["calibrate", "IN", "-o", "OUT.toml"],
    "simulate": ["simulate", "IN", "-o", "OUT.study"],
    "like": ["simulate", "--like", "IN"],
    "debate": ["debate", "IN", "-o", "OUT.jsonl", "--model", "m", "--base-url", "http://localhost:1"],
    "synthetic": ["debate", "--synthetic", "IN", "-o", "OUT.jsonl"],
    "doctor": ["doctor", "IN", "--fix", "OUT.csv"],
    "show": ["show", "IN"],
    "import": ["import", "auto-j", "IN", "-o", "OUT.jsonl"],
}
"""Commands by what they read: every command but those that read no file."""
NO_FILE = {"demo", "rules", "worlds", "protocols", "formats", "example", "theorems"}
BAD = ["nothing.csv", "nothing.toml", "no folder/a.csv", "folder", "folder.csv", "empty.csv", "empty.jsonl",
       "empty.toml", "picture.csv", "picture.jsonl", "picture.toml", "notes.docx"]  # fmt: skip


def test_every_command_is_given_bad_input() -> None:
    assert {words[0] for words in TAKES.values()} | NO_FILE == {
        name for names in GROUPS.values() for name in names
    }


def assert_one_line_with_a_next_step(done: Result, *, codes: tuple[int, ...] = (1,)) -> None:
    """Name, requirement, got, next step; no traceback, nothing of the system's own words."""
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in codes, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("d3stats: ")
    assert not re.search(r"Errno|codec|Traceback|NoneType|None\b|Input should", line), line
    assert re.search(" must | may ", line), line
    if "must be given: d3stats" in line:  # the form of the whole command says what to do
        return
    assert " got " in line, line
    assert re.search(r"; |\((?:see d3stats|overwrite)|: ", line.partition(" got ")[2]), line
    assert len(line) < 1500, line


@pytest.mark.parametrize("command", [name for name in TAKES if name != "doctor"])
def test_bad_input_is_one_line_with_a_next_step(command: str, folder: Path) -> None:
    for name in ("folder", "folder.csv"):
        Path(name).mkdir()
    for ending in ("csv", "jsonl", "toml"):
        Path(f"empty.{ending}").write_bytes(b"")
        Path(f"picture.{ending}").write_bytes(PNG)
    Path("notes.docx").write_bytes(b"PK\x03\x04" + PNG)
    Path("a.csv").touch()
    for what in BAD:
        words = [what if word == "IN" else word.replace("OUT", "new") for word in TAKES[command]]
        done = CliRunner().invoke(app, words)
        assert_one_line_with_a_next_step(done)
        assert what in done.stderr or "source must" in done.stderr
        assert not list(folder.glob("new*")), what  # nothing is written


WRONG: list[list[str]] = [
    *(["fit", "good.csv", *more] for more in (
        ["--missing", "wrongg"], ["--level", "95"], ["--level", "x"], ["--seed", "-1"], ["--seed", "x"],
        ["--n-boot", "-1"], ["--nonsense"], ["--role", "nobody"], ["--columns", "debate=nope"],
        ["--columns", "nope=debate"],
        ["--columns", "x"], ["--encoding", "klingon"], ["--json", "--latex"], ["--level"],
    )),
    *(["replay", "good.csv", *more] for more in (
        ["-r", "unanimty"], ["-r", "zzz"], ["-r", "ks:x"], ["-r", "ks:0.05,patence=1"], ["--strata", "nope"],
        ["--missing", "zzz"],
    )),
    ["report", "good.csv", "-r", "zzz"], ["report", "good.csv", "-o", "exists.html"],
    ["report", "good.csv", "-o", "good"],
    ["compare", "good.csv"], ["compare", "good.csv", "good.csv", "--value", "nope"],
    ["compare", "good.csv", "good.csv", "--by", "nope"], ["compare", "good.csv", "good.csv", "--margin", "5"],
    ["agreement", "good.csv", "--round", "9"], ["agreement", "good.csv", "--a", "nobody", "--b", "x"],
    ["bias", "good.csv", "--audit", "zzz"], ["rationales", "good.csv"],
    ["plan", "good.csv", "--max-loss", "5"], ["plan", "good.csv", "--max-loss", "500"],
    ["plan", "good.csv", "-r", "zzz"],
    ["plan", "good.csv", "--debates", "0"], ["plan", "good.csv", "--model", "m"],
    ["escalate", "good.csv", "good.csv"],
    ["abstain", "good.csv", "--max-error", "5"], ["abstain", "good.csv", "-r", "zzz"],
    ["correct", "good.csv"], ["correct", "good.csv", "--judge", "nobody"],
    ["power"], ["power", "--effect", "2"], ["power", "--effect", "0.02"], ["power", "--n", "0"],
    ["power", "--effect", "0.02", "--discordance", "7"], ["power", "--effect", "x"],
    ["calibrate", "good.csv", "--world", "conformty"], ["calibrate", "good.csv", "--world", "assembly"],
    ["calibrate", "good.csv", "--free", "zzz"], ["calibrate", "good.csv", "-o", "exists.toml"],
    ["simulate"], ["simulate", "good.csv"], ["simulate", "--like", "good.csv", "--world", "zzz"],
    ["simulate", "good.csv", "--like", "good.csv"], ["simulate", "--like", "good.csv", "-r", "zzz"],
    ["debate"], ["debate", "good.csv", "--dry-run"], ["debate", "--synthetic", "zzz", "-o", "d.jsonl"],
    ["debate", "good.csv", "--protocol", "zzz", "-o", "d.jsonl", "--model", "m"],
    ["debate", "good.csv", "--stop", "zzz", "-o", "d.jsonl", "--model", "m"],
    ["doctor", "good.csv", "--fix", "exists.csv"], ["doctor", "good.csv", "--fix", "x.docx"],
    ["doctor", "good.csv", "--fix", "good.csv"], ["doctor", "good.csv", "--overwrite"],
    ["show", "good.csv", "zzz"], ["show", "good.csv", "d1", "--round", "9"],
    ["import", "zzz", "good.csv", "-o", "i.jsonl"], ["import", "eot"], ["import", "eot", "folder"],
    ["import", "auto-j", "good.csv", "-o", "exists.jsonl"], ["import", "eot", "good.csv", "-o", "no/i.jsonl"],
    ["example", "exists.csv"], ["example", "x.docx"], ["example", "no folder/x.csv"],
    ["rules", "zzz"], ["worlds", "zzz"], ["protocols", "zzz"], ["theorems", "zzz"], ["formats", "zzz"],
    ["demo", "--nonsense"], ["nonsense"], ["fitt"],
    ["fit", "tokens.csv"], ["plan", "tokens.csv"], ["compare", "tokens.csv", "tokens.csv", "--value", "tokens"],
    *([name] for name in ("report", "fit", "replay", "compare", "agreement", "bias", "rationales", "plan", "abstain",
                          "escalate", "calibrate", "doctor", "show", "import", "example")),
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_word_is_one_line_with_a_next_step(words: list[str], folder: Path) -> None:
    for ending in ("html", "toml", "jsonl", "csv"):
        Path(f"exists.{ending}").write_text("kept", encoding="utf-8")
    Path("folder").mkdir()
    Path("tokens.csv").write_text(
        HEAD.replace("\n", ",tokens\n") + BODY.replace("\n", ',"1,390"\n'), encoding="utf-8"
    )
    done = CliRunner().invoke(app, words)
    assert_one_line_with_a_next_step(done, codes=(1, 2))
    for ending in ("html", "toml", "jsonl", "csv"):
        assert Path(f"exists.{ending}").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["report", "good.csv", "-o", "no folder/r.html"], "no folder/r.html"),
        (["calibrate", "good.csv", "-o", "no folder/w.toml"], "no folder/w.toml"),
        (["doctor", "good.csv", "--fix", "no folder/c.csv"], "no folder/c.csv"),
        (["example", "no folder/x.csv"], "no folder/x.csv"),
        (["replay", "good.csv", "--figure", "no folder/x.pdf"], "no folder/x.pdf"),
    ],
)
def test_an_output_in_a_missing_folder_is_written_or_refused_in_one_line(
    words: list[str], made: str, folder: Path
) -> None:
    done = CliRunner().invoke(app, words)
    if done.exit_code == 0:
        assert Path(made).stat().st_size > 0
    else:
        assert_one_line_with_a_next_step(done)
        assert not Path(made).parent.exists()


@pytest.mark.parametrize(("text", "number"), [("1,390", "1390"), ("12,345,678", "12345678")])
def test_a_number_with_marks_between_thousands_is_refused_with_the_number_to_write(
    text: str, number: str, folder: Path
) -> None:
    Path("tokens.csv").write_text(HEAD.replace("\n", ",tokens\n") + f'd,1,x,A,A,"{text}"\n', encoding="utf-8")
    done = CliRunner().invoke(app, ["fit", "tokens.csv"])
    assert f"got tokens={text!r} (write {number})" in done.stderr
