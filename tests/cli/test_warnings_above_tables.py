"""What can hardly be meant is said above the tables, by every command, in the doctor's words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.log import doctor

pytestmark = pytest.mark.usefixtures("computed_once")


def _turns() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for d in range(30):
        label = "abcd"[rng.integers(0, 4)]
        for r in (1, 2):
            for a in range(3):
                vote = label.upper() if rng.random() < 0.7 else "ABCD"[rng.integers(0, 4)]
                rows.append((f"d{d}", r, f"agent {a}", vote, label))
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


def _ratings() -> pd.DataFrame:
    turns = _turns()
    last = turns[turns["round"] == 2]
    return last.rename(columns={"debate": "item", "agent": "rater"})[["item", "rater", "vote", "label"]]


def _verdicts() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [
        (f"i{k}", order, "A", "AB"[rng.integers(0, 2)] if order == "AB" else None)
        for k in range(20)
        for order in ("AB", "BA")
    ]
    return pd.DataFrame(rows, columns=["item", "order", "vote", "label"])


def _run(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    share = 0.0 if seed else 0.6
    return pd.DataFrame(
        {"item": [f"i{k}" for k in range(40)], "correct": (rng.random(40) < share).astype(int)}
    )


def _said(*args: str) -> str:
    done = CliRunner().invoke(app, list(args), env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output + done.stderr
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "LOG", "--n-boot", "10"],
        ["replay", "LOG"],
        ["plan", "LOG", "--target", "agreement"],
        ["agreement", "RATINGS"],
        ["agreement", "RATINGS", "--jury"],
    ],
    ids=lambda c: " ".join(c),
)
def test_a_command_says_the_doctors_sentence_above_its_tables(command: list[str], tmp_path: Path) -> None:
    log, ratings = tmp_path / "log.csv", tmp_path / "ratings.csv"
    _turns().to_csv(log, index=False)
    _ratings().to_csv(ratings, index=False)
    (finding,) = [f for f in doctor(log).findings if f.kind == "no vote is a label"]
    said = _said(*[{"LOG": str(log), "RATINGS": str(ratings)}.get(word, word) for word in command])
    sentence = finding.message.split(":")[0]
    assert said.index(f"- WARNING: {sentence}") < said.index("────"), said[:300]
    assert said.count(f"WARNING: {sentence}") == 1


def test_compare_warns_of_a_run_without_a_right_item_above_its_tables(tmp_path: Path) -> None:
    paths = [tmp_path / f"run{k}.csv" for k in (0, 1)]
    for k, path in enumerate(paths):
        _run(k).to_csv(path, index=False)
    said = _said("compare", *map(str, paths))
    assert "WARNING: every one of 40 values is 0" in said
    assert said.index("WARNING") < said.index("Differences")


def test_bias_warns_above_its_table(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    table = _verdicts()
    table["label"] = table.groupby("item")["label"].transform("first")
    table.to_csv(path, index=False)
    said = _said("bias", str(path))
    assert "WARNING: every vote is 'A' although labels differ" in said


def test_results_of_the_library_hold_the_same_sentences() -> None:
    log = d3stats.Trajectories.from_frame(_turns())
    wanted = f"WARNING: {log.findings()[0].message}"
    assert wanted in d3stats.replay(log, ["fixed:1"]).notes
    assert wanted in d3stats.fit(log, n_boot=5, rng=1).notes
    assert wanted in d3stats.scan(log, ["fixed:1"]).attrs["notes"]
    assert wanted in d3stats.risk_controlled(log, ["fixed:1", "fixed:2"], max_loss_vs_full=0.5).notes
    assert wanted in d3stats.agreement(_ratings()).notes
    assert wanted in d3stats.jury_curve(_ratings(), rng=1).notes


def test_json_holds_the_warnings(tmp_path: Path) -> None:
    _turns().to_csv(tmp_path / "log.csv", index=False)
    done = CliRunner().invoke(app, ["replay", str(tmp_path / "log.csv"), "--json"])
    assert any(
        note["text"].startswith("no vote ever equals its label") and note["severity"] == "warning"
        for note in json.loads(done.stdout)["notes"]
    )


@pytest.mark.parametrize("command", [["fit", "--n-boot", "10"], ["replay"], ["plan"]])
def test_an_absent_agent_is_said_once_and_leaves_nothing_out(command: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    turns = _turns()
    turns["label"] = turns["label"].str.upper()
    turns[~((turns["round"] == 2) & (turns["agent"] == "agent 1"))].to_csv(log, index=False)
    said = _said(command[0], str(log), *command[1:])
    wanted = "- WARNING: all 3 agents must have a turn in each round that one of them has"
    assert said.index(wanted) < said.index("────"), said[:300]
    assert said.count(wanted) == 1
    assert "left out: " not in said


def test_compare_warns_of_right_or_wrong_against_points(tmp_path: Path) -> None:
    right, points = tmp_path / "right.csv", tmp_path / "points.csv"
    pd.DataFrame({"item": range(20), "correct": [0, 1] * 10}).to_csv(right, index=False)
    pd.DataFrame({"item": range(20), "score": np.linspace(1, 10, 20)}).to_csv(points, index=False)
    said = _said("compare", str(right), str(points))
    wanted = "- WARNING: values of right are 0 or 1, those of points go from 1 to 10"
    assert said.index(wanted) < said.index("────"), said[:300]
