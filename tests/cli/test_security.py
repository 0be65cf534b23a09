"""What docs/reference/security.md says: no network, no other program, no file elsewhere, and names that stay names."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from parsed import nodes_on_lines
from test_show import ACTS
from test_terminal import CASES, make_inputs
from typer.testing import CliRunner

from d3stats._latex import escaped
from d3stats.cli import app
from d3stats.cli.output import csv_text

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "security.md"

WATCHED = """
import json, os, sys
from typer.main import get_command
from d3stats.cli import app
from remembered import remembered

group = get_command(app)
remembered().__enter__()  # cases that differ in their form alone compute once
found = []
NAMES = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "urllib.Request", "ftplib.connect",
         "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")

def hook(event, given):
    if event in NAMES:
        found.append([event, repr(given)])
    elif event == "open" and isinstance(given[0], (str, bytes)):
        mode, flags = given[1] or "", given[2] or 0
        writes = set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes:
            found.append(["write", os.path.realpath(os.fsdecode(given[0]))])
    elif event in ("os.rename", "os.link", "os.symlink"):
        found.append(["write", os.path.realpath(os.fsdecode(given[1]))])
    elif event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate"):
        if isinstance(given[0], (str, bytes, os.PathLike)):
            found.append(["write", os.path.realpath(os.fsdecode(given[0]))])

said = []
sys.addaudithook(hook)
for words in json.load(open(sys.argv[1])):
    begun = len(found)
    for stream in (sys.stdout, sys.stderr):
        stream.write(chr(30))
        stream.flush()
    code = 0
    try:
        group(words, prog_name="d3stats")
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    said.append([code, found[begun:]])
json.dump(said, open(sys.argv[2], "w"))
"""

HOSTILE = "../../../d3stats_escaped\x1b[2J\u202e<img src=x onerror=alert(1)>\x9b31m$\\foo$"
"""In the place of a name: a path upward, escapes of a terminal, a mark of direction, an element, mathematics."""

NO_INPUT = {"demo", "example", "formats", "power", "protocols", "rules", "simulate", "theorems", "worlds"}
"""Commands whose cases read no name from a file."""

REFUSED = "show turns.csv 2"
"""A debate that is not there: the error names those that are."""

MORE = [
    REFUSED,
    "agreement turns.csv --json",
    "doctor defective.csv --json",
    "panel ratings.csv --json",
    "panel ratings.csv --latex",
    "rank pairs.csv --figure ranks",
    "rationales said.csv --table marks.csv",
    "report turns.csv --n-boot 20 -o page.html",
    "doctor defective.csv --fix clean.csv",
]
"""More cases, which write files, JSON or LaTeX, or are refused."""


class Case(NamedTuple):
    """One command: its words, exit code, events that an audit hook saw, and what it wrote to both streams."""

    words: str
    code: int
    events: list[list[str]]
    text: str


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Case]]:
    """Run every command that reads names on files whose names are hostile, under an audit hook."""
    folder = tmp_path_factory.mktemp("watched")
    make_inputs(folder)
    for path in sorted(folder.glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        for name in ("agent 1", "debate 01", "question 01", "judge 1", "small"):
            text = text.replace(name, f"{name}{HOSTILE}")
        path.write_text(text, encoding="utf-8")
    cases_of = {name: cases for name, cases in CASES.items() if name not in NO_INPUT and name != "report"}
    words = [case for cases in cases_of.values() for case in cases[:1]] + MORE
    (folder / "cases.json").write_text(json.dumps([case.replace("'", "").split(" ") for case in words]))
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "cases.json", "seen.json"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        timeout=600,
    )
    both = zip(done.stdout.decode().split("\x1e")[1:], done.stderr.decode().split("\x1e")[1:], strict=True)
    seen = json.loads((folder / "seen.json").read_text())
    cases = [Case(case, *one, out + err) for case, one, (out, err) in zip(words, seen, both, strict=True)]
    failed = [case for case in cases if case.code not in (0, 2)]
    assert [case.words for case in failed] == [REFUSED], failed[0].text[-300:] + failed[-1].text[-300:]
    return folder, cases


def test_analysis_opens_no_connection_and_starts_no_program(watched: tuple[Path, list[Case]]) -> None:
    assert [(one.words, event) for one in watched[1] for event in one.events if event[0] != "write"] == []


def test_every_file_lies_where_it_was_asked_for(watched: tuple[Path, list[Case]]) -> None:
    folder, cases = watched
    own = (os.path.realpath(folder), os.path.realpath(tempfile.gettempdir()))
    written = {path for one in cases for event, path in one.events if event == "write"}
    kept = ("__pycache__", "matplotlib")  # compiled code and matplotlib's list of fonts
    assert [
        path for path in written if not path.startswith(own) and not any(part in path for part in kept)
    ] == []
    assert [path for path in written if "escaped" in path] == []
    assert not list(folder.parents[2].glob("*escaped*"))
    assert any(path.endswith("page.html") for path in written)


STYLED = re.compile(r"\x1b\[[0-9;]*m")


def test_no_name_in_a_log_acts_on_the_terminal(watched: tuple[Path, list[Case]]) -> None:
    acting = {one.words: hit for one in watched[1] if (hit := ACTS.search(STYLED.sub("", one.text)))}
    assert acting == {}
    assert sum("\\x1b[2J\\u202e" in re.sub(r"\s", "", one.text) for one in watched[1]) >= 4


def test_json_holds_the_names_as_they_were(watched: tuple[Path, list[Case]]) -> None:
    for one in watched[1]:
        if one.words.endswith("--json"):
            assert HOSTILE in json.dumps(json.loads(one.text), ensure_ascii=False).replace(
                "\\u001b", "\x1b"
            ).replace("\\\\", "\\")


def test_a_page_runs_nothing_and_asks_nobody(watched: tuple[Path, list[Case]]) -> None:
    page = (watched[0] / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert re.search(r"<script|<img src=x|<iframe|<object|javascript:", page) is None
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert not ACTS.search(page)


def test_latex_takes_no_character_of_a_name_for_a_command() -> None:
    assert escaped("\\input{/etc/passwd}\x1b\u202e") == (
        r"\textbackslash{}input\{/etc/passwd\}\textbackslash{}x1b\textbackslash{}u202e"
    )


def test_no_text_becomes_a_formula_of_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    acting = ["=cmd()!A1", "+1+cmd()", "-1+cmd()", "@SUM(1)", "\t=1"]
    plain = ["-0.04 [-0.16, 0.08]", "+12 %", "-3", "name", "a=b", ""]
    table = pd.DataFrame({"=head": [*acting, *plain], "n": range(len(acting) + len(plain))})
    back = pd.read_csv(io.StringIO(csv_text(table)), keep_default_na=False)
    assert back["'=head"].tolist() == [*(f"'{text}" for text in acting), *plain]
    assert "6 cells of the table begin with an apostrophe" in capsys.readouterr().err


NEVER = {
    *("exec", "eval", "compile", "__import__", "system", "popen", "Popen", "read_pickle", "unpickle"),
    *("execfile", "allow_pickle"),
}
MODULES = {
    *(
        "pickle",
        "marshal",
        "shelve",
        "dill",
        "cloudpickle",
        "yaml",
        "subprocess",
        "ctypes",
        "commands",
        "pty",
    ),
}
NETWORK = {
    *("openai", "httpx", "httpx2", "urllib", "http", "socket", "requests", "aiohttp", "distributed", "dask"),
}
ALLOWED = {
    ("_parallel.py", "distributed"),
    ("agent.py", "httpx2"),
    ("agent.py", "openai"),
    ("agent.py", "urllib"),
    ("server.py", "openai"),
    ("server.py", "urllib"),
}
WORD = re.compile(rf"(?<!re\.)\b(?:{'|'.join(NEVER | MODULES | NETWORK)})\b")


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """Return every import and call with one of the words on its lines, with their file."""
    wanted = (ast.Import, ast.ImportFrom, ast.Call)
    files = sorted((ROOT / "d3stats").rglob("*.py"))
    return [
        (path, node)
        for path in files
        for node in nodes_on_lines(path.read_text(encoding="utf-8"), WORD)
        if isinstance(node, wanted)
    ]


def test_no_code_is_made_of_text() -> None:
    found = []
    for path, node in nodes():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [(path.name, name) for name in names if name.partition(".")[0] in MODULES]
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
            safe = name == "compile" and isinstance(node.func, ast.Attribute)  # of regular expressions
            found += [(path.name, name)] if name in NEVER and not safe else []
            if name == "load" and any(key.arg == "allow_pickle" for key in node.keywords):
                (given,) = [key.value for key in node.keywords if key.arg == "allow_pickle"]
                found += (
                    [] if isinstance(given, ast.Constant) and given.value is False else [(path.name, name)]
                )
    assert found == [("derive.py", "eval")]  # the annotations of our own functions


def test_only_live_debates_and_clusters_import_what_connects() -> None:
    found = set()
    for path, node in nodes():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        found |= {(path.name, name.partition(".")[0]) for name in names if name.partition(".")[0] in NETWORK}
    assert found <= ALLOWED, found - ALLOWED


def test_every_sentence_of_the_page_names_a_test_that_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`?(?:::|, `)(test_\w+)`", text)
    assert len(named) >= 15
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (path, test)


def test_the_page_has_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    text = PAGE.read_text(encoding="utf-8")
    for name, packages in extras.items():
        if name in ("dev", "docs"):
            continue
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        names = [part.split(">=")[0] for part in packages]
        assert [part for part in names if f"`{part}`" not in row] == []


@pytest.mark.parametrize("column", [0, 3])
def test_of_a_cell_of_thousands_of_characters_the_middle_is_left_out(column: int, tmp_path: Path) -> None:
    rows = [[f"d{d}", "1", agent, "AB"[d % 2], "A"] for d in range(9) for agent in "xyz"]
    rows[4][column] = "Q" * 5_000
    header = "debate,round,agent,vote,label"
    (tmp_path / "turns.csv").write_text("\n".join([header, *map(",".join, rows)]), encoding="utf-8")
    for command in ("doctor", "replay", "panel"):
        done = CliRunner().invoke(app, [command, str(tmp_path / "turns.csv")])
        assert max(map(len, re.findall("Q+", done.output)), default=0) < 700
