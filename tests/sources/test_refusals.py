"""Refusals that say what to type next know that they do, so that no program has to read them."""

from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app

FOLDERS = ("sources", "log", "inputs")
PACKAGE = Path(d3stats.__file__).parent
SAYS_WHAT_TO_TYPE = {"to_type", "to_choose", "setting", "command_on"}


def _bare_advice(raised: ast.Raise) -> bool:
    """Whether a refusal names an option or a command in a text without parts."""
    calls = [node.func for node in ast.walk(raised) if isinstance(node, ast.Call)]
    names = {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}
    texts = [node.value for node in ast.walk(raised) if isinstance(node, ast.Constant)]
    named = any(isinstance(text, str) and ("(--" in text or "d3stats doctor" in text) for text in texts)
    return (named or bool(names & SAYS_WHAT_TO_TYPE)) and "Advised" not in names


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_refusal_that_names_an_option_or_a_command_has_its_step_as_a_part(folder: str) -> None:
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.exc is not None and _bare_advice(node)
    ]
    assert found == []


TABLES = {
    "odd": pd.DataFrame({"q": range(9), "m": [1] * 9}),
    "run": pd.DataFrame({"item": range(9), "correct": [0, 1, 1] * 3}),
    "repeated": pd.DataFrame({"item": [1, 1, 2, 2, 1], "rater": [*"xyxyx"], "vote": [*"ABAAB"]}),
    "log": pd.DataFrame({"debate": [*"ab"] * 2, "round": 1, "agent": [*"xxyy"], "vote": [*"ABBA"]}),
    "words": pd.DataFrame({"item": range(9), "x": [*range(1, 9), "ERROR"], "y": range(1, 10)}),
}


@pytest.mark.parametrize(
    "line",
    [
        "compare odd.csv odd.csv",
        "compare run.csv run.csv --name a --name a",
        "bias odd.csv",
        "bias run.csv",
        "agreement repeated.csv",
        "agreement words.csv --metric interval --measure alpha",
        "rationales log.csv",
        "replay odd.csv",
    ],
)
def test_the_terminal_adds_nothing_to_a_refusal_with_a_step(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, table in TABLES.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 1
    assert "--help" not in done.stderr
    assert "--" in done.stderr


def test_a_word_among_numbers_is_named_as_missing_for_distances() -> None:
    with pytest.raises(ValueError, match=r"missing_values=\['ERROR'\] \(--missing-values ERROR\)"):
        d3stats.agreement(TABLES["words"], metric="interval", measures=["alpha"])
    given = d3stats.agreement(
        TABLES["words"], metric="interval", measures=["alpha"], missing_values=["ERROR"]
    )
    assert given.n_items == 9


def test_numbers_of_a_scale_are_told_of_distances_and_answers_are_not() -> None:
    steps = pd.DataFrame({"x": [*range(1, 11)] * 3, "y": [*range(10, 0, -1)] * 3})
    scale = [note for note in d3stats.agreement(steps).notes if "metric='ordinal'" in note]
    assert len(scale) == 1
    for other in (steps % 2, steps.assign(label=1), steps.astype(str).replace({"1": "one"})):
        assert not [note for note in d3stats.agreement(other).notes if "metric='ordinal'" in note]
    assert not [
        note for note in d3stats.agreement(steps, metric="interval").notes if "metric='ordinal'" in note
    ]


def test_a_table_of_one_judges_scores_is_sound_and_its_command_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    table = pd.DataFrame({"debate": [f"d{k}" for k in range(25)], "round": 1, "label": "A"})
    table.assign(score_A=range(25), score_B=range(5, 30)).to_csv(path, index=False)
    found = d3stats.log.doctor(path)
    assert found.exit_code == 0
    assert f"the turns hold scores; d3stats scores {path} shows them." in found.to_text()
