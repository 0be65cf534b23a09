"""The doctor tells tables of verdicts, ratings, runs, items and prices from logs, and says which command reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app

TABLES = {
    "verdicts": ("bias", "item,judge,order,vote\nq1,J,AB,A\nq1,J,BA,B\nq2,J,AB,A\nq2,J,BA,A\n"),
    "ratings": ("agreement", "item,rater,vote\nq1,x,A\nq1,y,B\nq2,x,A\nq2,y,A\n"),
    "ratings of two models": (
        "agreement",
        "question_id,model_a,model_b,winner,judge,turn\n1,m,n,model_a,e,1\n1,m,n,model_b,e,2\n",
    ),
    "one run of an evaluation": ("compare", "item,correct\nq1,1\nq2,0\n"),
    "items to debate": (
        "debate PROTOCOL",
        "question,answer_a,answer_b,label\nWhy?,one,two,A\nHow?,three,four,B\n",
    ),
}
SCORES = "item,rater,vote\n" + "".join(f"q{k},{r},{3 + k % 2}\n" for k in range(8) for r in "xy")
WRONG = {
    "verdicts": ("item,order,vote\nq1,AB,A\nq1,BA,perhaps\n", "got 'perhaps'"),
    "ratings": (SCORES + "q9,x,ERROR\nq9,y,ERROR\n", "ERROR"),
    "one run of an evaluation": ("item,correct\nq1,1\nq2,perhaps\n", "line 3"),
}  # fmt: skip


@pytest.mark.parametrize("what", TABLES)
def test_a_sound_table_is_named_with_the_command_that_reads_it(what: str, tmp_path: Path) -> None:
    command, text = TABLES[what]
    path = tmp_path / "table.csv"
    path.write_text(text)
    done = CliRunner().invoke(app, ["doctor", str(path)], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    assert f"A table of {what.removesuffix(' of two models')}" in done.output
    assert f"d3stats {command} {path}" in done.output
    assert "Nothing is wrong." in done.output
    content = json.loads(CliRunner().invoke(app, ["doctor", str(path), "--json"]).output)
    assert (content["exit_code"], content["error"]) == (0, None)


@pytest.mark.parametrize("what", WRONG)
def test_what_its_reader_warns_of_or_refuses_is_the_report(what: str, tmp_path: Path) -> None:
    text, said = WRONG[what]
    path = tmp_path / "table.csv"
    path.write_text(text)
    done = CliRunner().invoke(app, ["doctor", str(path)], env={"COLUMNS": "400"})
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "Nothing is wrong" not in done.output


def test_prices_are_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = "2025-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\n')
    done = CliRunner().invoke(app, ["doctor", str(path)], env={"COLUMNS": "400"})
    assert (done.exit_code, "A table of prices" in done.output) == (0, True)
    path.write_text("date = 3\n")
    assert CliRunner().invoke(app, ["doctor", str(path)]).exit_code == 2


def test_a_log_is_still_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,B,A\n")
    done = CliRunner().invoke(app, ["doctor", str(path)])
    assert "1 debate, 2 turns" in done.output


ONE = [(k, "big" if k < 60 else f"q{k}") for k in range(70)]
EVEN = [(k, f"q{k // 5}") for k in range(70)]
OF_CLUSTERS = {
    "a run": lambda rows: "item,question,correct\n" + "".join(f"i{k},{q},{k % 2}\n" for k, q in rows),
    "ratings": lambda rows: (
        "item,cluster,rater,vote\n" + "".join(f"i{k},{q},{r},{'AB'[k % 2]}\n" for k, q in rows for r in "xy")
    ),
    "verdicts": lambda rows: (
        "item,cluster,judge,order,vote\n"
        + "".join(f"i{k},{q},J,{o},{'AB'[k % 2]}\n" for k, q in rows for o in ("AB", "BA"))
    ),
}


@pytest.mark.parametrize("what", OF_CLUSTERS)
def test_a_question_that_has_most_of_a_table_is_named(what: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for rows, warned in ((ONE, True), (EVEN, False)):
        path.write_text(OF_CLUSTERS[what](rows))
        done = CliRunner().invoke(app, ["doctor", str(path)], env={"COLUMNS": "400"})
        assert ("question 'big' has" in done.output, "have no interval" in done.output) == (warned, warned)
        assert (done.exit_code, "Nothing is wrong" in done.output) == ((2, False) if warned else (0, True))
