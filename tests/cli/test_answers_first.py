"""The first line of a command answers its question, and what follows fits a narrow terminal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats import plan, report
from d3stats.cli import app
from d3stats.cli.output import folded

pytestmark = pytest.mark.usefixtures("without_pictures", "computed_once")

STUDY = """
rules = ["fixed:2", "supermajority:0.85"]
n_rounds = 5
debates = 100
seeds = 1
[[worlds]]
name = "voter"
[[worlds]]
name = "conformity"
[[worlds]]
name = "referees"
"""

ANSWERS = {
    "plan slm7": ("Run unanimity | ladder:6-6-1: stop in rounds 1 to 2 if 6 of 7 agents agree", 25),
    "replay slm7": ("fixed:1 saves most: 42 % [", 25),
    "fit slm7 --n-boot 50": ("Votes are right 73 % [", 25),
    "agreement slm7": ("The 7 agents agree beyond chance: Krippendorff's alpha 0.82 [", 15),
    "compare slm7 slm7 --round 1 --round last --by debate": ("No difference shown: slm7 (B) - slm7 (A)", 15),
    "simulate study.toml": ("Run ", 40),
    "report slm7 --n-boot 50": (
        "Run unanimity | ladder:6-6-1: stop in rounds 1 to 2 if 6 of 7 agents agree",
        20,
    ),
    "doctor slm7": ("Fit for analysis: 160 debates, 3,360 turns. Nothing is wrong.", 8),
}


@pytest.mark.parametrize(
    "command",
    # The log with warnings below has a report in the fast layer.
    [pytest.param(each, marks=pytest.mark.slow if each.startswith("report") else ()) for each in ANSWERS],
)
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


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        # The test below has a report in the fast layer.
        pytest.param(
            command, columns, marks=pytest.mark.slow if columns == 100 or "report" in command else ()
        )
        for command in OF_OWN
        for columns in (80, 100)
    ],
)
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


def spoilt(name: str) -> pd.DataFrame:
    """Return debates with missing votes and tokens, words of failure, rows that repeat, and unequal questions."""
    agents, rounds, n = {"missing": (5, 3, 60), "words": (7, 3, 50), "everything": (3, 4, 40)}[name]
    rng = np.random.default_rng(5)
    rows = []
    for debate in range(n):
        label, able = str(rng.choice(list("ABCD"))), rng.choice([0.85, 0.45])
        votes = [label if rng.random() < able else str(rng.choice(list("ABCD"))) for _ in range(agents)]
        for number in range(1, rounds + 1):
            most = max(votes, key=votes.count)
            votes = [most if number > 1 and rng.random() < 0.4 else vote for vote in votes]
            for k, vote in enumerate(votes, start=1):
                tokens = (int(rng.integers(200, 400)), int(rng.integers(20, 80)))
                rows.append((f"d{debate:02}", number, f"juror {k}", vote, label, *tokens, f"q{debate:02}"))
    names = ["debate", "round", "agent", "vote", "label", "tokens_in", "tokens_out", "cluster"]
    made = pd.DataFrame(rows, columns=names)
    chance = rng.random(len(made))
    if name != "words":
        made["vote"] = made["vote"].where(chance > 0.08)
        made["tokens_in"] = made["tokens_in"].where(rng.random(len(made)) > 0.1)
        made.loc[made["debate"] < f"d{n // 2}", "cluster"] = "a large one"
    if name != "missing":
        words = [(chance > 0.95, "ERROR"), (chance > 0.98, "N/A")]
        for where, word in words:
            made.loc[where, "vote"] = word
        made = pd.concat([made, made.iloc[[5, 5, 90]]])
    if name == "everything":
        stated = made["vote"].isin(list("ABCD")) & (np.arange(len(made)) % 6 == 0)
        made.loc[stated, "vote"] = "The answer is " + made.loc[stated, "vote"] + "."
        made["seed"] = 1
    return made


OF_SPOILT = {
    "plan": 25,
    "replay": 25,
    "fit --n-boot 20": 25,
    "agreement": 15,
    "compare log.csv --round 1 --round last": 15,
    "report --n-boot 20 --overwrite": 20,
}


@pytest.mark.parametrize(
    ("name", "command"),
    [
        # In the fast layer each log has two commands, each command one log.
        pytest.param(name, command, marks=() if i % 3 == k else pytest.mark.slow)
        for k, name in enumerate(("missing", "words", "everything"))
        for i, command in enumerate(OF_SPOILT)
    ],
)
def test_a_log_with_warnings_is_answered_as_short_and_no_warning_is_lost(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    spoilt(name).to_csv("log.csv", index=False)
    first, *rest = command.split()
    words = [first, "log.csv", *rest] + (["--lenient"] if first != "report" else [])
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) <= OF_SPOILT[command], done.stdout
    assert max(map(len, lines)) <= 80
    told = " ".join(done.stdout.split())
    more = ["--overwrite"] * (first == "report")
    notes = json.loads(CliRunner().invoke(app, [*words, *more, "--json"]).stdout)["notes"]
    warned = [note for note in notes if note["severity"] == "warning"]
    named = told.partition("more warning")[2].partition("): --all")[0]
    assert [note for note in warned if note["text"][-40:] not in told and note["kind"] not in named] == []
    for note in warned:
        assert len(folded(f"WARNING: {note['text']}", 80, "- ", "  ")) <= 2, note["text"]


def test_the_report_says_what_the_plan_says(invented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = invented / "own.csv"
    assert report(log, n_boot=20).headline == plan(log)._answer()[0]
