"""How tables are read can be said in every command that reads logs, and in all of them alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

import d3stats
from d3stats.cli import app
from d3stats.cli.options import reading
from d3stats.inference import as_run

READS = (
    *(
        "fit",
        "count",
        "replay",
        "plan",
        "compare",
        "agreement",
        "bias",
        "power",
        "doctor",
        "show",
        "calibrate",
    ),
    *("rationales", "report", "scores", "abstain", "correct"),
)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_every_command_that_reads_logs_has_the_options() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name in READS:
        options = {option for parameter in commands[name].params for option in parameter.opts}
        wanted = {"--columns", "--encoding"} | ({"--missing-values"} if name != "show" else set())
        assert wanted <= options, name
        if "--encoding" in options:
            assert {"--scorer", "--sheet"} <= options, name
    takes_logs = {
        name
        for name, command in commands.items()
        if any(
            p.name in ("logs", "pilot", "runs", "log")
            for p in command.params
            if p.param_type_name == "argument"
        )
    }
    assert takes_logs <= set(READS)


def test_every_command_that_reads_a_table_takes_own_names_of_its_columns() -> None:
    """A command that reads a file of a user's names its encoding or says in its help that the file is a table."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        options = {option for parameter in command.params for option in parameter.opts}
        said = " ".join(getattr(parameter, "help", None) or "" for parameter in command.params)
        if "--encoding" in options or "CSV" in said:
            assert "--columns" in options, f"{name} reads tables and has no --columns"


def test_columns_are_written_with_commas_or_given_again() -> None:
    wanted = {"debate": "qid", "round": "turn"}
    for given in (["debate=qid,round=turn"], ["debate=qid", "round = turn"]):
        assert reading(None, given)["columns"] == wanted
    assert reading(None, ["votes=gpt+claude"])["columns"] == {"votes": ["gpt", "claude"]}
    for wrong in ("qid", "debate=", "debate=qid,debate=other"):
        with pytest.raises(ValueError, match="columns must"):
            reading(None, [wrong])


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(2)
    paths = []
    for name, share in (("a", 0.5), ("b", 0.8)):
        right = (rng.random(40) < share).astype(int)
        table = pd.DataFrame({"qid": [f"é{k}" for k in range(40)], "correct": right})
        table.to_csv(tmp_path / f"{name}.csv", index=False, encoding="latin-1")
        table.rename(columns={"qid": "item"}).to_csv(tmp_path / f"{name} standard.csv", index=False)
        paths.append(str(tmp_path / f"{name}.csv"))
    return paths


def test_tables_with_own_names_in_another_encoding_give_the_same_comparison(runs: list[str]) -> None:
    how = ("--columns", "item=qid", "--encoding", "latin-1", "--json")
    standard = [path.replace(".csv", " standard.csv") for path in runs]
    named = ("--name", "a", "--name", "b")
    own = run("compare", *runs, *named, *how)
    assert own.exit_code == 0, own.output
    assert json.loads(own.stdout) == json.loads(run("compare", *standard, *named, "--json").stdout)
    refused = run("compare", *runs, "--columns", "item=qid")
    assert refused.exit_code == 1
    assert "encoding" in refused.output
    missing = run("compare", *runs, "--columns", "item=qidd", "--encoding", "latin-1")
    assert "did you mean 'qid'?" in " ".join(missing.output.split())


def test_the_chosen_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    """Every command that reads votes as --read says takes --sheet; without it the first sheet is read, and said."""
    right = np.arange(20) % 3 > 0
    item = [f"q{k}" for k in range(20)]
    table = pd.DataFrame({"item": item, "correct": right.astype(int)})
    with pd.ExcelWriter(tmp_path / "runs.xlsx") as book:
        table.to_excel(book, sheet_name="old", index=False)
        table.assign(correct=1 - table["correct"]).to_excel(book, sheet_name="new", index=False)
    old, new = (as_run(tmp_path / "runs.xlsx", sheet=sheet).value for sheet in ("old", "new"))
    assert (old.tolist(), new.tolist()) == (right.astype(float).tolist(), (1.0 - right).tolist())
    assert as_run(tmp_path / "runs.xlsx").value.tolist() == old.tolist()
    table.to_csv(tmp_path / "run.csv", index=False)
    done = run("compare", str(tmp_path / "run.csv"), str(tmp_path / "runs.xlsx"), "--sheet", "new", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["differences"][0]["difference"]["value"] == pytest.approx(
        np.mean(new - old)
    )
    for words, said in (
        (
            ("runs.xlsx", "run.csv", "--sheet", "neu"),
            "sheet must be one of 'old', 'new'; got 'neu'; did you mean 'new'?",
        ),
        (("run.csv", "run.csv", "--sheet", "new"), "sheet must be left out for files"),
    ):
        paths = [str(tmp_path / word) if "." in word else word for word in words]
        assert said in " ".join(run("compare", *paths).output.split())
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    takes = {name: {o for p in command.params for o in p.opts} for name, command in commands.items()}
    assert {
        name for name, options in takes.items() if "--read" in options and "--sheet" not in options
    } == set()


def test_the_doctor_examines_the_chosen_sheet(tmp_path: Path) -> None:
    table = pd.DataFrame({"debate": ["d", "d"], "round": 1, "agent": ["a", "b"], "vote": "A", "label": "A"})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        table.to_excel(book, sheet_name="one", index=False)
        pd.concat([table, table]).to_excel(book, sheet_name="twice", index=False)
    path = str(tmp_path / "t.xlsx")
    assert [
        run("doctor", path, *more).exit_code for more in ((), ("--sheet", "one"), ("--sheet", "twice"))
    ] == [0, 0, 2]
    assert len(d3stats.open(path, sheet="one").trajectories()) == 1


def test_a_pilot_is_two_files_with_a_space_or_a_comma(runs: list[str]) -> None:
    how = ("--effect", "0.1", "--columns", "item=qid", "--encoding", "latin-1", "--json")
    apart, joined = run("power", "--pilot", *runs, *how), run("power", "--pilot", ",".join(runs), *how)
    assert apart.exit_code == 0, apart.output
    assert json.loads(apart.stdout) == json.loads(joined.stdout)


def test_ratings_and_verdicts_are_read_by_own_names(tmp_path: Path) -> None:
    votes = pd.DataFrame(
        {"q": [f"q{k}" for k in range(30)] * 2, "who": ["x"] * 30 + ["y"] * 30, "said": list("ABABB") * 12}
    )
    votes.to_csv(tmp_path / "own.csv", index=False)
    votes.set_axis(["item", "rater", "vote"], axis=1).to_csv(tmp_path / "standard.csv", index=False)
    own = run("agreement", str(tmp_path / "own.csv"), "--columns", "item=q,rater=who,vote=said", "--json")
    assert own.exit_code == 0, own.output
    assert json.loads(own.stdout) == json.loads(
        run("agreement", str(tmp_path / "standard.csv"), "--json").stdout
    )


def test_what_was_left_out_has_one_form_in_every_command(tmp_path: Path) -> None:
    rows = [
        (
            f"d{d}",
            f"q{d}",
            r,
            agent,
            "AB"[(d + r) % 3 == 0],
            "A",
            json.dumps({"A": {"c": d % 5}, "B": {"c": r}}),
        )
        for d in range(8)
        for r in (1, 2)
        for agent in ("x", "y")
    ]
    table = pd.DataFrame(rows, columns=["debate", "question", "round", "agent", "vote", "label", "scores"])
    path = str(tmp_path / "log.csv")
    pd.concat([table, table.head(1)]).to_csv(path, index=False)
    found = {}
    for command in (
        "scores",
        "count",
        "fit --n-boot 4",
        "replay",
        "abstain --max-error 0.9 --confidence 0.5",
    ):
        name, *more = command.split()
        done = run(name, path, "--lenient", "--json", *more)
        assert done.exit_code == 0, (command, done.output)
        found[name] = json.loads(done.stdout)["left_out"]
    assert len(found["count"]) == 1
    assert all(left == found["count"] for left in found.values()), found
    assert "left out" not in json.dumps(found)


@pytest.mark.parametrize("command", ["fit", "count", "replay", "doctor", "show", "agreement", "report"])
def test_an_option_that_does_nothing_for_json_lines_is_refused(command: str, tmp_path: Path) -> None:
    turns = [{"type": "turn", "debate": "d", "round": 1, "agent": agent, "vote": "A"} for agent in "xy"]
    lines = [
        {"type": "log", "version": 2},
        {"type": "item", "debate": "d", "question": "q", "label": "A"},
        *turns,
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for option, said in (("--columns debate=zzz", "columns must"), ("--encoding utf-16", "encoding must")):
        done = run(command, str(path), *option.split())
        assert done.exit_code == 1
        assert f"{said} be left out for files that are" in " ".join(done.output.split())
