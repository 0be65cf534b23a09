"""The first line of a command answers its question, and what follows fits a narrow terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats import plan, report
from d3stats.cli import app

pytestmark = pytest.mark.usefixtures("without_pictures")

STUDY = """
rules = ["fixed:2", "supermajority:0.85"]
n_rounds = 5
debates = 500
seeds = 1
[[worlds]]
name = "voter"
[[worlds]]
name = "conformity"
[[worlds]]
name = "referees"
"""

ANSWERS = {
    "plan slm7": ("Run unanimity | ladder:6-1: stop in round 1 if 6 of 7 agents agree", 25),
    "replay slm7": ("fixed:1 saves most: 42 % [", 25),
    "fit slm7 --n-boot 50": ("Votes are right 73 % [", 25),
    "agreement slm7": ("The 7 agents agree beyond chance: Krippendorff's alpha 0.82 [", 15),
    "compare slm7 slm7 --round 1 --round last --by debate": ("No difference shown: slm7 (B) - slm7 (A)", 15),
    "simulate study.toml": ("Run ", 40),
    "report slm7 --n-boot 50": ("Run unanimity | ladder:6-1: stop in round 1 if 6 of 7 agents agree", 20),
    "doctor slm7": ("Fit for analysis: 160 debates, 3,360 turns. Nothing is wrong.", 8),
}


@pytest.mark.parametrize("command", ANSWERS)
def test_the_answer_comes_first_and_the_rest_is_short(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, most = ANSWERS[command]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("study.toml").write_text(STUDY)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith(answer[: len(lines[0])])
    assert len(lines) <= most, done.stdout
    assert max(map(len, lines)) <= 80
    if command.startswith("doctor"):
        return  # it has no further tables
    if command.startswith("report"):
        command += " --overwrite"
    more = CliRunner().invoke(app, [*command.split(), "--all"])
    assert len(more.stdout.splitlines()) > len(lines)


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 debates of three jurors in four rounds, who move to the majority; and each as a run of its own."""
    folder = tmp_path_factory.mktemp("invented")
    rng = np.random.default_rng(1)
    rows = []
    for debate in range(60):
        label = str(rng.choice(list("ABC")))
        able = rng.choice([0.9, 0.5])
        votes = [label if rng.random() < able else str(rng.choice(list("ABC"))) for _ in range(3)]
        for number in range(1, 5):
            if number > 1:
                most = max(votes, key=votes.count)
                votes = [most if rng.random() < 0.4 else vote for vote in votes]
            rows += [(f"d{debate}", number, f"j{k}", vote, label) for k, vote in enumerate(votes, start=1)]
    frame = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    frame.to_csv(folder / "own.csv", index=False)
    return folder


OF_OWN = {
    "doctor own.csv": ("Fit for analysis: 60 debates, 720 turns.", 25),
    "plan own.csv": ("Run ", 25),
    "report own.csv --n-boot 50 --overwrite": ("Run ", 25),
    "replay own.csv": ("", 25),
    "fit own.csv --n-boot 50": ("Votes are right ", 25),
    "agreement own.csv": ("The 3 agents agree beyond chance: ", 15),
    "compare own.csv own.csv --round 1 --round last": ("", 15),
}


@pytest.mark.parametrize("columns", [80, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", OF_OWN)
def test_a_log_of_ones_own_is_answered_as_short(
    command: str, columns: int, invented: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, most = OF_OWN[command]
    monkeypatch.chdir(invented)
    monkeypatch.setenv("COLUMNS", str(columns))
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith(answer)
    assert len(lines) <= most, done.stdout
    assert max(map(len, lines)) <= columns


def test_the_report_says_what_the_plan_says(invented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = invented / "own.csv"
    assert report(log).headline == plan(log)._answer()[0]
