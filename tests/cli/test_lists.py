"""What there is can be listed, an example can be imitated, and a misspelt name leads to the right one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from layers import sampled
from typer.testing import CliRunner, Result

from d3stats.cli import app
from d3stats.cli.example import example_table
from d3stats.protocols import protocol_from_text
from d3stats.sources import as_trajectories
from d3stats.stopping import from_text
from d3stats.worlds import from_table


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_every_name_that_is_listed_can_be_used() -> None:
    needed = {"fixed": "fixed:2", "ladder": "ladder:4-1", "supermajority": "supermajority:0.7"}
    needed |= {"token_budget": "token_budget:900", "confidence": "confidence:0.8"}
    needed["judge_sprt"] = "judge_sprt:8,useful_b=2,other_a=2,other_b=4"
    for row in json.loads(run("rules", "--json").stdout):
        assert from_text(needed.get(row["name"], row["name"]))
        assert row["about"].endswith(".")
    for row in json.loads(run("protocols", "--json").stdout):
        assert protocol_from_text(row["name"]).name == row["name"]
    for row in json.loads(run("worlds", "--json").stdout):
        assert from_table({"name": row["name"]}).name == row["name"]


def test_every_name_stands_in_the_list_for_people() -> None:
    for what in ("rules", "worlds", "protocols"):
        shown = run(what).output
        for row in json.loads(run(what, "--json").stdout):
            assert f"\n{row['name']} " in f"\n{shown}"
            assert row["about"].split()[0] in shown
    formats = json.loads(run("formats", "--json").stdout)
    assert all(name in run("formats").output for name in (*formats["read"], *formats["import"]))


def test_one_name_shows_all_its_parameters() -> None:
    shown = run("worlds", "courtroom").output
    (row,) = json.loads(run("worlds", "courtroom", "--json").stdout)
    assert all(f"  {parameter}" in shown for parameter in row["parameters"])
    assert "  n\n" in run("rules", "fixed").output


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("replay", "slm7", "-r", "unanimty"), "unanimity"),
        (("replay", "slm7", "-r", "ks:thresold=.1"), "threshold"),
        (("replay", "slm8"), "slm7"),
        (("rules", "unanimty"), "unanimity"),
        (("worlds", "votter"), "voter"),
        (("protocols", "samr"), "samre"),
        (("bias", "slm7", "--audit", "postion"), "position"),
        (("agreement", "slm7", "--measure", "cohens"), "cohen"),
        (("compare", "slm7", "slm7", "--kind", "cluster"), "cluster t"),
        (("import", "mads", "x", "-o", "y.jsonl"), "mad"),
        (("example", "table.cvs"), ".csv"),
    ],
)
def test_a_near_miss_names_what_was_meant(words: tuple[str, ...], meant: str) -> None:
    done = run(*words)
    assert done.exit_code == 1
    assert f"did you mean '{meant}'?" in " ".join(done.output.split())


def test_a_misspelt_command_or_option_names_the_nearest() -> None:
    assert "'replay'" in run("replai", "slm7").output
    assert "--rule" in run("replay", "slm7", "--rul", "full").output


def test_a_misspelt_key_of_a_study_is_named_before_what_it_left_out(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text('rule = ["unanimity"]\nn_rounds = 3\ndebates = 10\n[[worlds]]\nname = "voter"\n')
    assert "got 'rule'; did you mean 'rules'?" in " ".join(run("simulate", str(study)).output.split())


@sampled("suffix", [".csv", ".parquet", ".jsonl"], [2])  # test_advised_commands.py has .csv in the fast layer
def test_the_example_is_valid_and_every_command_that_it_names_runs(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"example{suffix}"
    said = run("example", str(out))
    assert said.exit_code == 0, said.output
    tried = [line.split() for line in said.output.splitlines() if line.startswith("  d3stats ")]
    assert [words[1] for words in tried] == ["doctor", "fit", "replay", "plan"]
    for words in tried:
        done = run(*words[1:], *(["--n-boot", "20"] if words[1] == "fit" else []))
        assert done.exit_code == 0, done.output
    t, table = as_trajectories(out), example_table()
    assert t.votes.shape == (20, 3, 5)
    assert t.successes_trials()[0].sum() == (table["vote"] == table["label"]).sum()


def test_the_wide_example_holds_the_same_votes(tmp_path: Path) -> None:
    for name, read in (("w.csv", pd.read_csv), ("w.xlsx", pd.read_excel)):
        out = tmp_path / name
        assert run("example", str(out), "--wide").exit_code == 0
        long = read(out).melt(["debate", "question", "round", "label"], var_name="agent", value_name="vote")
        found, wanted = as_trajectories(long.sort_values("debate")), as_trajectories(example_table())
        assert found.votes.tolist() == wanted.votes.tolist()


def test_the_example_replaces_no_file_unasked(tmp_path: Path) -> None:
    out = tmp_path / "mine.csv"
    out.write_text("mine")
    assert run("example", str(out)).exit_code == 1
    assert out.read_text() == "mine"
    assert run("example", str(out), "--overwrite").exit_code == 0
