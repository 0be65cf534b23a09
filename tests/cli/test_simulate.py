"""``d3stats simulate`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from remembered import remembered
from typer.testing import CliRunner, Result

from d3stats.cli import app
from d3stats.worlds import Conformity, simulate_debates

STUDY = """
rules = ["fixed:2", "ks:0.1"]
n_rounds = 5
debates = 600
seeds = 2
batch = 100
[prices]
dollars_per_million_tokens = 1.5
[[worlds]]
name = "voter"
panel = 5
[[worlds]]
name = "voter"
label = "no tokens' price"
accuracy = 0.9
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *words])


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_it_prints_a_table_per_world_and_names_the_rules_that_decide_for_a_batch(study: Path) -> None:
    done = run(str(study), "--all")
    assert done.exit_code == 0, done.output
    assert "1,200 debates of up to 5 rounds in each world" in done.output
    for world in ("voter:panel=5", "no tokens' price"):
        assert f"\n{world}\n" in done.output
        assert f"{world}: all measures" in done.output
    assert "dollars" in done.output
    assert "ks:0.1: one decision per batch of 100 debates" in done.output


def test_json_and_csv_hold_the_same_table(study: Path, tmp_path: Path) -> None:
    done = run(str(study), "--json", "--csv", str(tmp_path / "table.csv"), "--by", "seed")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(document["rules"]) == len(table) == 2 * 2 * 4
    for row, (_, line) in zip(document["rules"], table.iterrows(), strict=True):
        assert row["rule"] == line["rule"]
        assert row["accuracy"] == pytest.approx(line["accuracy"], rel=1e-12)
    assert sum(row["n_debates"] for row in document["stops"]) == 600 * len(table)


def test_the_same_command_goes_on_from_its_journal_and_workers_change_nothing(
    study: Path, tmp_path: Path
) -> None:
    words = (str(study), "--json", "-o", str(tmp_path / "journal.jsonl"))
    first = run(*words)
    size = (tmp_path / "journal.jsonl").stat().st_size
    assert run(*words).stdout == first.stdout
    assert (tmp_path / "journal.jsonl").stat().st_size == size
    assert run(str(study), "--json", "--workers", "2").stdout == first.stdout


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("n_rounds = 5", "n_rounds = 5\nround = 1", "got 'round'"),
        ("1.5", "-1.5", "dollars_per_million_tokens must be >= 0; got dollars_per_million_tokens=-1.5"),
        ("fixed:2", "fxied:2", "got 'fxied'"),
        ('name = "voter"\npanel', 'name = "vtoer"\npanel', "'vtoer'"),
        ('name = "voter"\npanel', 'name = "voter"\nlengths = 3\npanel', "lengths"),
        ("panel = 5", "panel = -5", "panel must be >= 1"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_1(study: Path, old: str, new: str, line: str) -> None:
    assert old in STUDY
    study.write_text(STUDY.replace(old, new), encoding="utf-8")
    done = run(str(study))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"d3stats: {study}: ")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--workers", "0"), "workers must be >= 1; got workers=0"),
        (("--by", "rule"), "by must be one of 'world', 'seed'; got by='rule'"),
        (("--csv", "/no/such/folder/x.csv"), "the folder of --csv must exist"),
        (
            ("--scheduler", "here"),
            "scheduler must be an address such as tcp://host:8786; got scheduler='here'",
        ),
        (("-o", "/no/such/folder/x"), "No such file or directory"),
    ],
)
def test_a_wrong_option_is_one_line(study: Path, words: tuple[str, ...], line: str) -> None:
    done = run(str(study), *words)
    assert done.exit_code == 1
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_study_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run(str(tmp_path / "none.toml"))
    assert done.exit_code == 1
    assert "a study must exist; got" in done.stderr


def pilot_file(path: Path, *, labels: bool = True, voted_from: int = 1) -> str:
    log = simulate_debates(Conformity(panel=4), 60, 3, rng=1)
    rows = [
        {
            "debate": f"d{d}",
            "question": f"d{d}",
            "round": r + 1,
            "agent": f"a{a}",
            "vote": log.answers[log.votes[d, r, a]] if r + 1 >= voted_from else None,
        }
        | ({"label": log.answers[log.label[d]]} if labels else {})
        for d, r, a in np.ndindex(60, 3, 4)
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def test_a_pilot_with_votes_in_its_last_round_alone_is_refused_as_plan_refuses_it(tmp_path: Path) -> None:
    pilot = pilot_file(tmp_path / "pilot.csv", voted_from=3)
    for words in (["simulate", "--like", pilot, "--debates", "200"], ["plan", pilot]):
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, ValueError | SystemExit)
        said = done.output + str(done.exception)
        assert "pilot must have votes after every round" in said
        assert "Run " not in done.stdout


def test_without_labels_the_recommendation_has_no_accuracy(tmp_path: Path) -> None:
    with remembered():
        texts, documents = zip(
            *(
                [
                    run("--like", path, "--world", "voter", "--debates", "200", form).stdout
                    for form in ("--all", "--json")
                ]
                for path in (
                    pilot_file(tmp_path / f"{labels}.csv", labels=labels) for labels in (False, True)
                )
            ),
            strict=True,
        )
    bare, labelled = texts
    head, bare_head = (text.split("standard error in brackets")[0] for text in (labelled, bare))
    assert "; accuracy +" in " ".join(head.split()) or "; accuracy -" in " ".join(head.split())
    assert "; accuracy " not in " ".join(bare_head.split())
    assert "accuracy is unknown" in " ".join(bare_head.split())
    assert "gained" in labelled
    assert "gained" not in bare
    assert "which answers are right is assumed" in " ".join(bare.split())
    assert "which answers are right is assumed" not in " ".join(labelled.split())
    assert [json.loads(told)["accuracy_assumed"] for told in documents] == [True, False]
