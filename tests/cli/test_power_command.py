"""``d3stats power`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from d3stats.cli import app


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["power", *words])


def document(*words: str) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(1)
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in paths:
        items = [f"q{i}-{j}" for i in range(40) for j in range(2)]
        frame = pd.DataFrame({"item": items, "cluster": [i.split("-")[0] for i in items]})
        frame.assign(correct=rng.integers(0, 2, len(items))).to_csv(path, index=False)
    return str(paths[0]), str(paths[1])


def test_an_effect_gives_the_questions_needed_first() -> None:
    done = run("--effect", ".012", "--discordance", ".06")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("3269 items find a difference of 0.012 with power 0.8 (McNemar")
    assert "power, mid-p test" in done.output


def test_questions_alone_give_the_smallest_effect_and_with_an_effect_the_power() -> None:
    smallest = document("--n", "80", "--discordance", ".25")
    assert smallest["asked"] == "minimum detectable effect"
    assert smallest["effect"] == pytest.approx(0.1543, abs=1e-4)
    chance = document("--n", "80", "--discordance", ".25", "--effect", "0.1543")
    assert chance["asked"] == "power"
    assert chance["power"] == pytest.approx(0.8, abs=1e-3)


def test_clusters_repeats_and_margins_reach_the_plan() -> None:
    noise = ("--sd", ".4", "--cluster-size", "5", "--icc", ".2", "--repeats", "3", "--repeat-icc", ".6")
    plan = document("--goal", "non-inferiority", "--margin", ".05", *noise)
    assert plan["n_runs"] == plan["n_questions"] * 15
    assert plan["design_effect"] == pytest.approx(1 + 2 * 0.6 + 3 * 4 * 0.2)
    assert plan["test"] == "cluster t"
    stricter = document(
        "--goal", "equivalence", "--margin", ".05", *noise, "--alpha", ".025", "--power", ".9"
    )
    assert stricter["n_questions"] > plan["n_questions"]
    margin = document("--goal", "equivalence", "--n", str(stricter["n_questions"]), *noise)
    assert margin["asked"] == "smallest margin"
    assert margin["margin"] < 0.05


def test_a_pilot_gives_questions_without_limits(runs: tuple[str, str]) -> None:
    plan = document("--pilot", *runs, "--effect", ".1")
    assert plan["questions"]["value"] > 1
    assert plan["questions"]["low"] is None
    assert plan["found"]["n_clusters"] == 40
    done = run("--pilot", *runs, "--effect", ".1", "--n", "200")
    assert done.exit_code == 0, done.output
    assert f"{plan['questions']['value']:.0f} questions" in done.output.splitlines()[0]
    assert "planned for b minus a" in done.output
    assert "smallest effect" in done.output


def test_a_run_against_itself_has_no_noise_to_plan_with(runs: tuple[str, str]) -> None:
    done = run("--pilot", runs[0], runs[0], "--effect", ".1")
    assert done.exit_code == 1
    assert "the same difference, 0, in all 40" in done.output


def test_latex_is_booktabs() -> None:
    assert "\\toprule" in run("--n", "80", "--discordance", ".25", "--latex").output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one of --effect and --n must be given"),
        (("--effect", ".1"), "the noise must be given"),
        (("--effect", ".3", "--discordance", ".1"), "discordance must be >= |effect|"),
        (("--n", "20", "--discordance", ".06"), "n_questions must be larger"),
        (("--n", "20", "--sd", "1", "--margin", ".1"), "--margin must come with --goal"),
        (("--effect", ".1", "--sd", "1", "--repeats", "3"), "repeat_icc must be given"),
        (("--effect", ".1", "--sd", "1", "--json", "--latex"), "one of --json and --latex"),
        (("--pilot", "a", "b", "--icc", ".1", "--repeats", "2"), "got --pilot and --icc, --repeats"),
    ],
)
def test_what_is_wrong_is_one_line(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.exit_code == 1
    assert said in done.output
    assert len(done.output.strip().splitlines()) == 1
