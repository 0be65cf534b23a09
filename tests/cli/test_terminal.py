"""Every command in real terminals of 80, 100 and 140 columns, beside what it writes to a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_rationales import cited_log, disputed_log
from rich.cells import cell_len
from typer.main import get_command
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.cli.output import folded
from d3stats.log import read_log

COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]

CASES: dict[str, list[str]] = {
    "abstain": ["abstain turns.csv --max-error 0.3", "abstain ragged.csv --rule fixed:1 --max-error 0.02"],
    "rank": ["rank pairs.csv", "rank pairs.csv --effects judge --scale elo --reference b"],
    "panel": ["panel ratings.csv --judges 2", "panel turns.csv --round 1"],
    "agreement": [
        "agreement turns.csv --round 1",
        "agreement ratings.csv --jury",
        "agreement ratings.csv --measure cohen --kind percentile --n-boot 50",
    ],
    "bias": [f"bias verdicts.csv --audit {audit}" for audit in ("position", "verbosity", "self", "persona")],
    "calibrate": ["calibrate turns.csv --world voter"],
    "compare": [
        "compare run_one.csv run_two.csv run_three.csv --margin 0.1",
        "compare turns.csv turns.csv --round 1 --round 3 --by debate",
    ],
    "confidence": ["confidence confident.csv", "confidence confident.csv --by-round --bins 4"],
    "correct": ["correct judged.csv --width 0.08", "correct judged.csv --labelled chosen"],
    "count": ["count turns.csv", "count ragged.csv -o counts.parquet"],
    "debate": [
        "debate --synthetic world.toml --limit 8 --protocol samre -o log.jsonl",
        "debate --synthetic world.toml --limit 8 --dry-run --budget-tokens 90000",
    ],
    "demo": [],
    "doctor": ["doctor turns.csv", "doctor defective.csv", "doctor defective.csv --fix mended.csv"],
    "escalate": ["escalate more.jsonl samre.jsonl --max-loss-vs-second 0.2"],
    "example": ["example example.csv", "example wide.xlsx --wide"],
    "fit": ["fit turns.csv --n-boot 10", "fit turns.csv --n-boot 10 --round 2", "fit ragged.csv --n-boot 10"],
    "formats": ["formats"],
    "import": ["import list", "import faireval human.txt -o imported.jsonl"],
    "paper": [
        "paper chateval",
        "paper d3:table-1 turns.csv",
        "paper d3:table-2 more.jsonl samre.jsonl",
        "paper d3:table-2 turns.csv --prices prices.toml --model mine",
        "paper d3:figure-4 turns.csv --rule fixed:1",
        "paper stability:table-1 turns.csv",
    ],
    "plan": ["plan turns.csv --prices prices.toml --model mine -r fixed:2"],
    "power": ["power --effect 0.05 --discordance 0.2", "power --pilot run_one.csv,run_two.csv --effect 0.1"],
    "protocols": ["protocols", "protocols samre"],
    "rationales": ["rationales said.csv", "rationales said.csv disputed.csv"],
    "report": [
        "report turns.csv --n-boot 20 --prices prices.toml",
        "report log.jsonl turns.csv --n-boot 20 --overwrite",
    ],
    "replay": [
        "replay turns.csv -r fixed:1 -r unanimity|supermajority:0.7 --paired",
        "replay ragged.csv",
    ],
    "rules": ["rules", "rules ks"],
    "scores": [
        "scores samre.jsonl",
        "scores samre.jsonl --strata category",
        "scores responses.jsonl --human people.csv",
        "scores ranked.csv",
    ],
    "show": ["show log.jsonl", "show log.jsonl 1", "show turns.csv 'debate 01'"],
    "simulate": [
        "simulate study.toml",
        "simulate study.toml --by seed",
        "simulate --like turns.csv --world voter",
    ],
    "theorems": [
        "theorems",
        "theorems d3-theorem-1",
        "theorems cantelli-bound --verify --examples 3 --workers 1",
    ],
    "worlds": ["worlds", "worlds voter"],
}
"""Each command on small inputs; demo has none, so it is slow."""

LATER = {
    "report log.jsonl turns.csv --n-boot 20 --overwrite",
    "report turns.csv --n-boot 20 --prices prices.toml",
    "fit ragged.csv --n-boot 10",
    "agreement ratings.csv --jury",
    "simulate --like turns.csv --world voter",
    "rationales said.csv disputed.csv",
    "scores samre.jsonl --strata category",
    "theorems cantelli-bound --verify --examples 3 --workers 1",
}
"""Cases that are tried when slow tests run; each has another case of its command beside it, but report.

The answer of a report in 80 columns is in the fast layer of test_answers_first.py.
"""

DRIVER = """
import json, os, sys
from d3stats.cli import app
from d3stats.report import sections
from remembered import remembered
from typer.main import get_command

group = get_command(app)
# The page of a report is not read here.
sections.svg = lambda draw, title: ('<svg width="9pt" height="9pt" xmlns="http://www.w3.org/2000/svg"/>', "")
with remembered():
    for folder, out in json.load(open(sys.argv[1])):
        os.chdir(folder)
        os.dup2(out, 0)
        os.dup2(out, 1)
        sys.stdout = open(1, "w", closefd=False)
        for words in json.load(open("cases.json")):
            sys.stdout.write(chr(30))
            sys.stdout.flush()
            try:
                group(words, prog_name="d3stats")
            except SystemExit as end:
                sys.stdout.flush()
                if end.code not in (0, 2, None):
                    sys.stdout.write(f"EXIT {end.code} of {words}\\n")
            sys.stdout.flush()
"""
"""One process runs all commands at every width: most of a command's time is the import of the library, and what is
computed for one width is shown at another too."""

WIDTHS = (80, pytest.param(100, marks=pytest.mark.slow))
PIPE_AND_WIDTHS = (None, *WIDTHS)

NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]\d+)?")


def write_scores(folder: Path) -> None:
    """Write a run of direct scores, what people say of the same responses, and a table of three candidates."""
    (folder / "responses.toml").write_text('name = "responses"\n')
    made = [
        "debate",
        "--synthetic",
        str(folder / "responses.toml"),
        "--limit",
        "12",
        "--protocol",
        "chateval",
    ]
    assert CliRunner().invoke(app, [*made, "-o", str(folder / "responses.jsonl")]).exit_code == 0
    names = read_log(folder / "responses.jsonl").items["question"]
    people = pd.DataFrame({"question": names}).assign(
        **{
            aspect: 1 + np.arange(len(names)) * step % 7
            for aspect, step in (("coherence", 3), ("naturalness", 5))
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    rows = [
        (f"d{i}", 1, f"judge {j}", json.dumps({s: {"c": (i * k + j) % 9} for k, s in enumerate("xyz", 1)}))
        for i in range(12)
        for j in (1, 2)
    ]
    pd.DataFrame(rows, columns=["debate", "round", "agent", "scores"]).to_csv(
        folder / "ranked.csv", index=False
    )


def make_inputs(folder: Path) -> None:
    """Write every file that the cases read; they are made once in a process."""
    shutil.copytree(_inputs().name, folder, dirs_exist_ok=True)


@cache
def _inputs() -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory()
    _write_inputs(Path(made.name))
    return made


def _write_inputs(folder: Path) -> None:
    from d3stats.cli.example import example_table

    turns = example_table()
    turns.to_csv(folder / "turns.csv", index=False)
    stated = np.random.default_rng(6).integers(50, 101, len(turns)) / 100
    turns.assign(confidence=stated).to_csv(folder / "confident.csv", index=False)
    turns[(turns["round"] == 1) | (turns["debate"] > "debate 05")].to_csv(folder / "ragged.csv", index=False)
    with (folder / "defective.csv").open("w") as file:
        file.write(turns.to_csv(index=False) + "debate 01,question 01,1,agent 1,B,A,90\n")
    last = turns[turns["round"] == 3].rename(columns={"debate": "item", "agent": "rater"})
    last[["item", "rater", "vote", "label", "question"]].to_csv(folder / "ratings.csv", index=False)
    rng = np.random.default_rng(11)
    first = rng.integers(0, 4, 240)
    second = (first + rng.integers(1, 4, 240)) % 4
    lead = 0.8 * (second - first) + 0.5 + rng.logistic(size=240)
    compared = {
        "item": np.arange(240) // 6,
        "judge": np.where(rng.random(240) < 0.5, "small", "large"),
        "first": np.array(list("abcd"))[first],
        "second": np.array(list("abcd"))[second],
        "winner": np.where(np.abs(lead) < 0.5, "tie", np.where(lead > 0, "first", "second")),
    }
    pd.DataFrame(compared).to_csv(folder / "pairs.csv", index=False)
    rng = np.random.default_rng(3)
    for k, name in enumerate(("one", "two", "three")):
        right = (rng.random(60) < 0.5 + 0.15 * k).astype(int)
        pd.DataFrame({"item": range(60), "correct": right, "cluster": np.arange(60) // 2}).to_csv(
            folder / f"run_{name}.csv", index=False
        )
    rows = [
        {
            "item": i,
            "cluster": i // 2,
            "judge": judge,
            "order": order,
            "vote": rng.choice(["A", "B", "tie"], p=[0.5, 0.4, 0.1]),
            "label": "AB"[i % 2],
            "length_a": 100 + i,
            "length_b": 150 - i,
            "family_a": "x",
            "family_b": "y",
            "judge_family": "x" if judge == "small" else "z",
            "persona": "none" if order == "AB" else "ethics",
        }
        for i in range(40)
        for judge in ("small", "large")
        for order in ("AB", "BA")
    ]
    pd.DataFrame(rows).to_csv(folder / "verdicts.csv", index=False)
    truth = rng.random(600) < 0.7
    judge, known = np.where(rng.random(600) < 0.9, truth, ~truth), np.arange(600) < 120
    judged = pd.DataFrame({"item": range(600), "judge": judge, "label": np.where(known, truth, None)})
    judged.to_csv(folder / "judged.csv", index=False)
    for name, made in (("said", cited_log), ("disputed", disputed_log)):
        made(np.random.default_rng(2), 12).to_csv(folder / f"{name}.csv", index=False)
    (folder / "prices.toml").write_text('date = "2026-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\n')
    (folder / "world.toml").write_text('name = "courtroom"\n')
    for name in ("more", "samre"):
        made = ["debate", "--synthetic", str(folder / "world.toml"), "--limit", "20", "--protocol", name]
        assert CliRunner().invoke(app, [*made, "-o", str(folder / f"{name}.jsonl")]).exit_code == 0
    write_scores(folder)
    (folder / "human.txt").write_text("CHATGPT\nTIE\nVICUNA13B\n")
    (folder / "study.toml").write_text(
        'rules = ["fixed:2", "ks:0.1"]\nn_rounds = 4\ndebates = 200\nseeds = 2\nbatch = 100\n'
        '[prices]\ndollars_per_million_tokens = 1.5\n[[worlds]]\nname = "voter"\npanel = 5\n'
    )


def run(places: dict[int | None, Path], cases: list[list[str]], scratch: Path) -> dict[int | None, list[str]]:
    """Return what each case writes to a terminal of each width, or to a pipe, from a folder; colours are left out."""
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")}
    env |= {"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}
    ends = {width: os.pipe() if width is None else pty.openpty() for width in places}
    for width, (_, there) in ends.items():
        if width is not None:
            fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    for folder in places.values():
        (folder / "cases.json").write_text(json.dumps(cases))
    outs = {width: there for width, (_, there) in ends.items()}
    (scratch / "places.json").write_text(json.dumps([[str(places[width]), outs[width]] for width in places]))
    words = [sys.executable, "-c", DRIVER, str(scratch / "places.json")]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, pass_fds=list(outs.values())
    )
    for there in outs.values():
        os.close(there)
    with ThreadPoolExecutor(len(places)) as pool:
        written = dict(zip(places, pool.map(_whole, [here for here, _ in ends.values()]), strict=True))
    _, wrong = process.communicate()
    assert process.returncode == 0, wrong.decode()
    return {
        width: re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.decode()).replace("\r\n", "\n").split(chr(30))[1:]
        for width, text in written.items()
    }


def _whole(here: int) -> bytes:
    written = b""
    try:
        while block := os.read(here, 65536):
            written += block
    except OSError:  # Linux says so when the last writer is gone
        pass
    os.close(here)
    return written


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> list[list[str]]:
    import shlex

    # The log is made before it is shown.
    first = CASES["debate"]
    lines = [*first, *(line for name in COMMANDS if name != "debate" for line in CASES[name])]
    helps = [[name, "--help"] for name in COMMANDS]
    if not _slow_ones_run(request):
        lines = [line for line in lines if line not in LATER]
    return [["--help"], *helps, *[shlex.split(line) for line in lines]]


Shown = Callable[[int | None], list[str]]


@pytest.fixture(scope="module")
def shown(
    cases: list[list[str]], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Shown:
    """Return what gives the texts of all cases at a width; each width has a folder of its own."""
    inputs = tmp_path_factory.mktemp("inputs")
    make_inputs(inputs)

    @cache
    def texts() -> dict[int | None, list[str]]:
        folders = {
            width: shutil.copytree(inputs, tmp_path_factory.mktemp("terminal") / "folder")
            for width in (None, 80, *((100,) if _slow_ones_run(request) else ()))
        }
        return run(folders, cases, tmp_path_factory.mktemp("scratch"))

    return lambda width: texts()[width]


def _slow_ones_run(request: pytest.FixtureRequest) -> bool:
    return any(item.path == request.path and "slow" in item.keywords for item in request.session.items)


def test_every_command_has_a_case() -> None:
    assert sorted(CASES) == COMMANDS


@pytest.mark.parametrize("width", PIPE_AND_WIDTHS)
def test_every_case_succeeds(cases: list[list[str]], shown: Shown, width: int | None) -> None:
    for words, text in zip(cases, shown(width), strict=True):
        assert "EXIT" not in text, text
        assert text.strip(), words


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    cases: list[list[str]], shown: Shown, width: int
) -> None:
    for words, text in zip(cases, shown(width), strict=True):
        assert "…" not in text, f"{words}\n{text}"
        wide = [line for line in text.splitlines() if cell_len(line) > width]
        assert not wide, f"{words}\n" + "\n".join(wide)


@pytest.mark.parametrize("width", PIPE_AND_WIDTHS)
def test_no_line_ends_with_blanks(cases: list[list[str]], shown: Shown, width: int | None) -> None:
    for words, text in zip(cases, shown(width), strict=True):
        padded = [line for line in text.splitlines() if line != line.rstrip(" ")]
        assert not padded, f"{words}\n{padded[:3]}"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_of_the_wide_output_is_there_in_full(
    cases: list[list[str]], shown: Shown, width: int
) -> None:
    for words, wide, narrow in zip(cases, shown(None), shown(width), strict=True):
        if "--help" not in words:
            lost = _numbers(wide) - _numbers(narrow)
            assert not lost, f"{words} lost {dict(lost)}\n{narrow}"


LONG = re.compile(r"(?<![\w.,:-])\d{5,}(?![\w:-]|\.\w)")
"""A number of five digits or more without separators, which is no part of a name, a time or a decimal fraction."""


def test_every_long_number_has_separators(cases: list[list[str]], shown: Shown) -> None:
    for words, text in zip(cases, shown(None), strict=True):
        if "--help" not in words:
            bare = [line for line in text.splitlines() if LONG.search(line)]
            assert not bare, f"{words}\n" + "\n".join(bare)


def _numbers(text: str) -> Counter[str]:
    """Count the numbers, without those that a clock says."""
    lines = [line for line in text.splitlines() if not re.search(r"seconds|done in| s of search", line)]
    return Counter(NUMBER.findall("\n".join(lines)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_demo_fits_the_terminal(width: int, tmp_path: Path) -> None:
    folders: dict[int | None, Path] = {None: tmp_path / "pipe", width: tmp_path / "terminal"}
    for folder in folders.values():
        folder.mkdir()
    shown = run(folders, [["demo"]], tmp_path)
    (wide,), (narrow,) = shown[None], shown[width]
    assert "…" not in narrow
    assert max(map(cell_len, narrow.splitlines())) <= width
    assert not _numbers(wide) - _numbers(narrow)


def test_a_fold_keeps_every_character_and_its_width() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        words = [
            "".join(rng.choice(list("ab0.9[漢é"), rng.integers(1, 30))) for _ in range(rng.integers(1, 9))
        ]
        room = int(rng.integers(8, 40))
        lines = folded(" ".join(words), room, "- ", "  ")
        assert max(map(cell_len, lines)) <= room
        assert "".join(lines).replace(" ", "").removeprefix("-") == "".join(words)
