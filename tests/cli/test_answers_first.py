"""The first line of a command answers its question, and what follows fits a narrow terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app

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
    more = CliRunner().invoke(app, [*command.split(), "--all"])
    assert len(more.stdout.splitlines()) > len(lines)
