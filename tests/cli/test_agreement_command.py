"""``d3stats agreement``: tables for people, JSON and LaTeX, and one line where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.inference.judges.agreement import MEASURES

pytestmark = pytest.mark.usefixtures("computed_once")


VOTES = "item,x,y,z\nq1,A,A,B\nq2,B,B,B\nq3,A,B,A\nq4,tie,tie,A\nq5,A,A,A\nq6,B,B,\n"


@pytest.fixture
def votes(tmp_path: Path) -> str:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["agreement", *arguments])
    return result.exit_code, result.output


def test_a_panel_prints_its_coefficients_and_the_ends_of_its_pairs_and_every_pair_where_asked(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "panel.csv"
    votes = {f"r{k}": rng.integers(0, 2, 30) for k in range(9)}
    pd.DataFrame({"item": range(30), **votes}).to_csv(path, index=False)
    pairs = d3stats.agreement(path, rng=0).pairs
    low, high = (pick(pairs, key=lambda pair: pair.estimate.value).raters for pick in (min, max))
    for option in ([], ["--pairs"], ["--all"]):
        shown = CliRunner().invoke(app, ["agreement", str(path), *option]).output
        printed = [pair for pair in pairs if pair.estimate.name in shown]
        assert len(printed) == (len(pairs) if option else 0)
        said = " ".join(shown.split())
        assert f"({', '.join(low)}) to" in said
        assert f"({', '.join(high)})" in said


def test_the_table_shows_the_panel_and_every_pair(votes: str) -> None:
    code, text = run(votes, "--pairs")
    assert code == 0, text
    assert "6 items in 6 clusters, 3 agents, 1 vote missing" in text
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
        (("--json", "--latex"), "only one of --json and --latex may be given; got both"),
        (("--categories", "A,B"), "vote must be one of ['A', 'B']; got 'tie'"),
        (("--round", "2"), "round_number needs a log"),
    ],
)
def test_what_cannot_be_done_is_one_line(votes: str, arguments: tuple[str, ...], message: str) -> None:
    code, text = run(votes, *arguments)
    assert code == 1
    assert message in text
    assert text.count("\n") == 1


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_raters_in_brackets_keep_their_names(tmp_path: Path) -> None:
    code, text = run(
        written(tmp_path / "v.csv", VOTES.replace("x,y,z", "judge [v1],judge [/v2],z")), "--pairs"
    )
    assert code == 0, text
    assert "Cohen's kappa, judge [v1] and judge [/v2]" in text


def test_a_file_without_items_is_refused_and_what_is_no_vote_is_not_read(tmp_path: Path) -> None:
    code, text = run(written(tmp_path / "v.csv", VOTES.replace("item", "key")))
    assert (code, text.count("\n")) == (1, 1)
    assert "must have a column 'item' (and 'rater' and 'vote', or a column per rater)" in text
    rows = VOTES.splitlines()
    notes = (
        "\n".join([rows[0] + ",notes", *(f"{row},remark {k % 2}" for k, row in enumerate(rows[1:]))]) + "\n"
    )
    code, text = run(written(tmp_path / "w.csv", notes))
    assert code == 0, text
    assert "columns that were not read: notes" in " ".join(text.split())
    code, text = run(written(tmp_path / "o.csv", notes.replace("notes", "other")))
    assert code == 0, text
    assert "columns that were not read: other" in " ".join(text.split())


def test_an_absent_interval_has_its_reason(tmp_path: Path) -> None:
    one = "item,cluster,x,y\n" + "".join(f"q{k},c,{'AB'[k % 2]},{'AAB'[k % 3]}\n" for k in range(9))
    code, text = run(written(tmp_path / "one.csv", one))
    assert code == 0, text
    assert "9 items in 1 cluster, 2 agents" in text
    assert (
        f"all {len(MEASURES)} coefficients: a single cluster, so the variation between clusters is unknown"
        in text
    )
    alike = "item,x,y\n" + "".join(f"q{k},{'AB'[k % 2]},{'AB'[k % 2]}\n" for k in range(12))
    code, text = run(written(tmp_path / "alike.csv", alike), "--measure", "fleiss")
    assert code == 0, text
    assert (
        "- Fleiss' kappa: all 12 items with two raters agree, so the rate of disagreement is unknown" in text
    )


def test_scores_are_told_of_correlations_and_no_width_is_no_interval(tmp_path: Path) -> None:
    scores = "item,x,y\n" + "".join(f"q{k},{k + 0.25},{k + 0.5}\n" for k in range(15))
    code, text = run(written(tmp_path / "s.csv", scores), "--all")
    assert code == 0, text
    assert "-0.000" not in text
    said = " ".join(text.split())
    assert "the votes are 30 different numbers, and any two of them count as no agreement" in said
    assert "every cluster gives the same value, so the variation between clusters is unknown" in said


def test_unknown_weights_are_one_message(votes: str) -> None:
    code, text = run(votes, "--weights", "foo")
    assert code == 1
    wanted = "weights must be one of ['identity', 'linear', 'quadratic'] or a table; got weights='foo'"
    assert text == f"d3stats: {wanted} (see d3stats agreement --help)\n"


def test_a_rater_who_votes_twice_is_told_of_the_option(tmp_path: Path) -> None:
    code, text = run(written(tmp_path / "l.csv", "item,rater,vote\nq1,x,A\nq1,x,B\nq1,y,A\n"))
    assert (code, "(--repeats separate)" in text) == (1, True)


def test_the_jury_is_shown_by_size_beside_condorcets(tmp_path: Path) -> None:
    rows = [f"q{k},A,{'AB'[k % 3 == 0]},{'AB'[k % 4 == 0]},{'AB'[k % 5 == 0]}" for k in range(40)]
    path = written(tmp_path / "jury.csv", "\n".join(["item,label,x,y,z", *rows, ""]))
    code, text = run(path, "--jury", "--all")
    assert code == 0, text
    assert "Condorcet" in text
    assert "40 items in 40 clusters" in " ".join(text.split())
    assert "effective jurors, by mean correlation (Kish)" in text
    code, text = run(path, "--jury", "--n-boot", "200")
    assert (code, "--n-boot must come without --jury" in text) == (1, True)
    code, text = run(path, "--jury", "--json")
    found = json.loads(text)
    right = sum((k % 3 == 0) + (k % 4 == 0) + (k % 5 == 0) < 2 for k in range(40)) / 40
    assert found["curve"][2]["accuracy"] == pytest.approx(right)
    code, text = run(path, "--jury", "--weights", "linear")
    assert (code, "--jury must come without --measure" in text) == (1, True)
    assert run(written(tmp_path / "n.csv", VOTES), "--jury")[0] == 1
