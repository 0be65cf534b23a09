"""Each command that a command prints is typed as it stands, on a table with names of its own: it works."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.cli.app import GROUPS

pytestmark = pytest.mark.usefixtures("computed_once")

COLUMNS = "debate=Session+Case,question=Case,round=Phase,agent=Juror name,vote=Finding,label=Truth"
NAMES = "|".join(name for names in GROUPS.values() for name in names)
ADVISED = re.compile(
    rf"d3stats (?:{NAMES})(?: (?:'[^']*'|[^\s';()]*[^\s';().:,]))*?"
    r"(?= names a rule| audits them| lists (?:all|the)| also includes| shows its| gives the|[;)]|[.:]? ?$|[.] )",
    re.MULTILINE,
)
"""A command, up to the words that say what it does."""


def court() -> pd.DataFrame:
    """Return 16 questions, 2 debates, 4 rounds and 5 agents; one answer is in no ASCII, and one is a dash."""
    rng = np.random.default_rng(3)
    rows = []
    for case in range(16):
        truth, other = ("schuldig", "unschüldig")[:: 1 if case % 2 else -1]
        for session in range(2):
            for phase in range(1, 5):
                for juror in range(5):
                    said = truth if rng.random() < 0.55 + 0.08 * phase else other
                    said = "weiß nicht" if rng.random() < 0.02 else said
                    rows.append((f"case {case}", f"session {session}", phase, f"Juror {juror}", said, truth,
                                 ["theft", "fraud"][case % 2], int(rng.integers(200, 900))))  # fmt: skip
    names = ["Case", "Session", "Phase", "Juror name", "Finding", "Truth", "Topic", "tokens"]
    return pd.DataFrame(rows, columns=names)


HOW = ["--columns", COLUMNS, "--missing-values", "weiß nicht", "--encoding", "latin-1"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, table = tmp_path_factory.mktemp("tables"), court()
    table.to_csv(made / "my court.csv", index=False, encoding="latin-1")
    pd.concat([table, table.head(1)]).to_csv(made / "twice.csv", index=False, encoding="latin-1")
    bare = table.drop(columns=["Truth"]).assign(Finding=(table["Finding"] == table["Truth"]).astype(int))
    bare.to_csv(made / "right.csv", index=False, encoding="latin-1")
    return made


@pytest.fixture
def folder(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    return tmp_path


def printed(words: list[str]) -> tuple[int, str]:
    done = CliRunner().invoke(app, words)
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def advised(text: str) -> Iterator[list[str]]:
    whole = re.sub(r"\s*\n(?!\s*d3stats )\s*", " ", text)  # a command may be wrapped
    for found in ADVISED.findall(whole):
        words = shlex.split(found)[1:]
        if len(words) > 1:  # a name alone is no command to type
            yield words


CASES: dict[str, tuple[list[str], int]] = {
    "doctor": (["doctor", "twice.csv", *HOW], 1),
    "fit refused": (["fit", "twice.csv", *HOW], 1),
    "plan refused": (["plan", "twice.csv", *HOW], 1),
    "replay refused": (["replay", "twice.csv", *HOW], 1),
    "agreement refused": (["agreement", "twice.csv", *HOW], 1),
    "compare refused": (["compare", "twice.csv", "my court.csv", *HOW], 1),
    "abstain refused": (["abstain", "twice.csv", *HOW], 1),
    "escalate refused": (["escalate", "twice.csv", *HOW], 1),
    "rationales refused": (["rationales", "twice.csv", *HOW], 0),
    "show refused": (["show", "right.csv", *HOW[:2], *HOW[4:]], 0),
    "simulate": (["simulate", "--like", "my court.csv", *HOW, "--debates", "50"], 1),
    "calibrate": (["calibrate", "my court.csv", *HOW, "-o", "my study.toml"], 1),
    "example": (["example", "my example.csv"], 4),
    "example, JSON lines": (["example", "example.jsonl"], 4),
    "plan": (["plan", "my court.csv", *HOW], 0),
    "replay": (["replay", "my court.csv", *HOW], 0),
    "fit": (["fit", "my court.csv", *HOW, "--n-boot", "20"], 0),
    "agreement": (["agreement", "my court.csv", *HOW], 0),
    "compare": (["compare", "my court.csv", "my court.csv", *HOW], 0),
    "bias": (["bias", "my court.csv", "--audit", "persona", *HOW], 0),
    "show": (["show", "my court.csv", *HOW[:2], *HOW[4:]], 0),
    "power": (["power"], 1),
    "theorems": (["theorems"], 1),
    "protocols": (["protocols", "--figure", "p"], 1),
}  # fmt: skip
"""What is typed, and how many commands it must advise at least."""


LONG = {"theorems", "example, JSON lines", "calibrate"}
"""Of these the fast layer has a like: the lists, the example as a table, and what simulating like a pilot advises."""


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if case in LONG else ()) for case in CASES]
)
def test_what_a_command_advises_to_type_works(case: str, folder: Path) -> None:
    words, least = CASES[case]
    _, said = printed(words)
    found = list(advised(said))
    assert len(found) >= least, said
    for command in found:
        if "NAME" in command:  # the name of a theorem
            continue
        if command[0] == "simulate":
            command = [*command, "--csv", "s.csv"]
        code, result = printed(command)
        if command[0] == "doctor" and "--fix" not in command:  # it promises to list problems
            assert code in (0, 2), (command, result)
            assert code == 0 or "duplicate turn" in result, (command, result)
            assert "unknown column" not in result
        else:
            assert code == 0, (command, result)
