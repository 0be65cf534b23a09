"""The terminal and its JSON say the same notes, each once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli import app

pytestmark = pytest.mark.usefixtures("computed_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with a defective row, scores and texts; the same in a second file; two runs of one cluster; prices."""
    folder = tmp_path_factory.mktemp("notes")
    rng = np.random.default_rng(4)
    rows = []
    for debate in range(40):
        label = "AB"[debate % 2]
        for number in (1, 2, 3):
            for agent in range(3):
                vote = label if rng.random() < 0.6 + 0.1 * number else "AB".replace(label, "")
                rows.append(
                    (f"d{debate}", number, f"j{agent}", vote, label, f"because of {vote}", 10 + agent, 5)
                )
    names = ["debate", "round", "agent", "vote", "label", "text", "tokens_in", "tokens_out"]
    frame = pd.DataFrame(rows, columns=names)
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "again.csv", index=False)
    pd.concat([frame, frame.iloc[:2]]).to_csv(folder / "twice.csv", index=False)
    for name, shift in (("one", 0), ("two", 1)):
        right = [int((k + shift) % 3 > 0) for k in range(6)]
        run = pd.DataFrame({"item": range(6), "question": "q", "correct": right})
        run.to_csv(folder / f"{name}.csv", index=False)
    pairs = [
        (
            f"d{k}",
            number,
            f"j{agent}",
            "AB"[k % 2 if rng.random() < 0.8 else 0],
            float(rng.integers(1, 10)),
            5.0,
            "AB"[k % 2],
        )
        for k in range(30)
        for number in (1, 2)
        for agent in range(3)
    ]
    scored = pd.DataFrame(pairs, columns=["debate", "round", "agent", "vote", "score_A", "score_B", "label"])
    scored.to_csv(folder / "scored.csv", index=False)
    scored[scored["round"] == 1].to_csv(folder / "cheap.csv", index=False)
    (folder / "prices.toml").write_text('date = "2025-01-01"\n[models.m]\ninput = 1.0\noutput = 4.0\n')
    return folder


COMMANDS = (
    "plan twice.csv --lenient --prices prices.toml --model m",
    "replay twice.csv --lenient",
    "replay scored.csv -r fixed:1",
    "abstain twice.csv --lenient",
    "fit twice.csv --lenient --n-boot 20",
    "compare one.csv two.csv",
    "compare log.csv twice.csv --lenient --round 1 --round last --margin 0.1",
    "agreement twice.csv --lenient",
    "agreement log.csv --jury",
    "rationales twice.csv --lenient",
    "scores scored.csv",
    "calibrate twice.csv --lenient --world voter --n-rep 40",
    "escalate cheap.csv scored.csv",
)


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_notes_in_json_are_those_of_the_terminal(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    more = [] if command.startswith("escalate") else ["--all"]
    shown = CliRunner().invoke(app, [*command.split(), *more])
    asked = CliRunner().invoke(app, [*command.split(), "--json"])
    assert shown.exit_code in (0, 4, 5), shown.output
    values = json.loads(asked.stdout)["notes"]
    notes = [note["text"] for note in values]
    assert all(note["kind"] for note in values if note["severity"] == "warning")
    assert len(set(notes)) == len(notes) == sum(line.startswith("- ") for line in shown.stdout.splitlines())
    said = words(shown.stdout)
    assert said.count("WARNING: ") == sum(note["severity"] == "warning" for note in values)
    said = said.replace("WARNING: ", "")  # which stands after the name of a run
    assert [note for note in notes if f"- {words(note)}" not in said] == []


def test_one_cluster_is_a_reason_that_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    said = CliRunner().invoke(app, ["compare", "one.csv", "two.csv", "--all"]).stdout
    assert said.count("cluster, so the variation") == 1


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("plan log.csv again.csv", "log.csv again.csv"),
        ("replay log.csv again.csv", "log.csv again.csv"),
        ("compare log.csv twice.csv", "twice.csv"),
        ("fit twice.csv", "twice.csv"),
    ],
)
def test_a_refusal_sends_to_the_doctor_with_every_file_of_the_log(
    command: str, files: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 1
    assert f"; d3stats doctor {files} lists all problems" in words(done.output)
    checked = CliRunner().invoke(app, ["doctor", *files.split()])
    assert "duplicate turn" in checked.stdout.splitlines()[0]


def test_a_replay_that_nothing_can_be_held_against_shows_what_each_rule_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jurors vote at the end alone, so the cost of unanimity is unknown; rounds, accuracy and tokens are not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("court.toml").write_text('name = "courtroom"\n')
    made = "debate --synthetic court.toml --protocol samre --limit 20 -o played.jsonl"
    assert CliRunner().invoke(app, made.split()).exit_code == 0
    lines = CliRunner().invoke(app, ["replay", "played.jsonl"]).stdout.splitlines()
    assert lines[0].startswith("d3_paper takes ")
    head = next(line for line in lines if line.strip().startswith("rule"))
    assert head.split() == ["rule", "rounds", "accuracy", "tokens"]
    assert len(lines) <= 25
