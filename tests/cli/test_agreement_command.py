"""``d3stats agreement``: tables for people, JSON and LaTeX, and one line where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app

VOTES = "item,x,y,z\nq1,A,A,B\nq2,B,B,B\nq3,A,B,A\nq4,tie,tie,A\nq5,A,A,A\nq6,B,B,\n"


@pytest.fixture
def votes(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["agreement", *arguments])
    return result.exit_code, result.output


def test_the_table_shows_the_panel_and_every_pair(votes: str) -> None:
    code, text = run(votes)
    assert code == 0, text
    assert "6 items in 6 clusters, 3 raters, 1 ratings missing" in text
    for name in ("Fleiss' kappa", "Krippendorff's alpha", "Gwet's AC1", "Cohen's kappa, y and z"):
        assert name in text
    assert "0.739" in text


def test_two_raters_and_one_measure_can_be_asked_for(votes: str) -> None:
    code, text = run(votes, "--a", "x", "--b", "y", "--measure", "cohen", "--json")
    assert code == 0, text
    found = json.loads(text)
    assert [pair["raters"] for pair in found["pairs"]] == [["x", "y"]]
    assert found["panel"] == []
    assert found["pairs"][0]["estimate"]["value"] == pytest.approx(0.7391304)


def test_a_debate_log_has_its_agents_or_its_runs_as_raters() -> None:
    code, text = run("slm7", "--measure", "alpha", "--round", "1", "--json")
    assert code == 0, text
    found = json.loads(text)
    assert (found["n_items"], found["n_clusters"], len(found["raters"])) == (160, 40, 7)
    code, text = run("slm7", "--measure", "alpha", "--by", "question", "--json")
    assert json.loads(text)["n_items"] == 40


def test_latex_and_a_figure_come_from_the_same_table(votes: str, tmp_path: Path) -> None:
    code, text = run(votes, "--latex", "--figure", str(tmp_path / "kappas"))
    assert code == 0, text
    assert "\\toprule" in text
    assert (tmp_path / "kappas.pdf").exists()
    assert (tmp_path / "kappas.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--a", "x"), "--a and --b must come together; got --a x and --b None"),
        (("--a", "x", "--b", "w"), "rater must be one of 'x', 'y', 'z'; got 'w'"),
        (("--measure", "kappa"), "measures must be one of"),
        (("--weights", "cubic"), "weights must be one of"),
        (("--kind", "wald"), "kind must be one of"),
        (("--json", "--latex"), "format must be one of --json and --latex; got both"),
        (("--categories", "A,B"), "vote must be one of ['A', 'B']; got 'tie'"),
        (("--round", "2"), "round_number needs a log"),
    ],
)
def test_what_cannot_be_done_is_one_line(votes: str, arguments: tuple[str, ...], message: str) -> None:
    code, text = run(votes, *arguments)
    assert code == 1
    assert message in text
    assert text.count("\n") == 1
