"""``--strata COLUMN`` in compare, agreement, bias and replay: tables, JSON, figure, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli.app import app
from d3stats.plotting.style import save

RUN = CliRunner()
pytestmark = pytest.mark.usefixtures("computed_once")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    paths, folder = [], tmp_path_factory.mktemp("logs")
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        rows = []
        for k in range(32):
            kind = ["coding", "ethics", "math", "writing"][k % 4]
            first = k % 2
            for order in ("1-2", "2-1"):
                vote = "A" if rng.random() < 0.7 else "B"
                rows.append((f"q{k}", 1, f"J ({order})", vote, "AB"[first], kind))
        columns = ["debate", "round", "agent", "vote", "label", "category"]
        paths.append(folder / f"run{seed}.csv")
        pd.DataFrame(rows, columns=columns).to_csv(paths[-1], index=False)
    return [str(path) for path in paths]


def invoke(*words: str) -> str:
    found = RUN.invoke(app, list(words), env={"COLUMNS": "160"})
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize(
    ("command", "quantity"),
    [
        (("compare", "{0}", "{1}"), "run2 - run1"),
        (("agreement", "{0}", "--measure", "fleiss"), "Fleiss' kappa"),
        (("bias", "{0}"), "first-slot excess"),
        (("replay", "{0}", "-r", "fixed:1"), "accuracy, fixed:1"),
    ],
)
def test_every_command_has_a_table_by_stratum(
    logs: list[str], command: tuple[str, ...], quantity: str
) -> None:
    words = [word.format(*logs) for word in command]
    shown = invoke(*words, "--strata", "category", "--all")
    assert f"{quantity}, by category" in shown
    for word in ("shrunken", "ethics", "do strata differ"):
        assert word in shown
    document = json.loads(invoke(*words, "--strata", "category", "--json"))
    assert "ethics" in json.dumps(document)
    assert "by category" not in invoke(*words)


@pytest.fixture
def personas(tmp_path: Path) -> str:
    rng = np.random.default_rng(3)
    rows = [
        (f"q{k}", persona, "A" if rng.random() < 0.7 else "B", "A", ["coding", "ethics", "math"][k % 3])
        for k in range(30)
        for persona in ("none", "ethicist", "lawyer")
    ]
    path = tmp_path / "personas.csv"
    pd.DataFrame(rows, columns=["item", "persona", "vote", "label", "category"]).to_csv(path, index=False)
    return str(path)


def test_personas_have_tables_by_stratum_and_a_figure(
    personas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = _drawn(monkeypatch, written=False)
    asked = ["bias", personas, "--audit", "persona", "--strata", "category"]
    shown = invoke(*asked, "--figure", str(tmp_path / "strata"))
    for quantity in (
        "accuracy without",
        "accuracy without, lawyer",
        "accuracy minus that of the others, lawyer",
    ):
        assert f"{quantity}, by category" in shown
    (axes,) = drawn
    assert _strata_in(axes) == {"coding", "ethics", "math"}
    assert any("each" in ax.get_xlabel() for ax in axes)
    invoke(*asked[:4], "--figure", str(tmp_path / "plain"))
    assert _strata_in(drawn[1]) == {"ethicist", "lawyer"}
    refused = RUN.invoke(app, ["bias", personas, "--audit", "self", "--figure", str(tmp_path / "no")])
    assert "--figure must come with" in str(refused.exception) + refused.output


def _drawn(monkeypatch: pytest.MonkeyPatch, written: bool = True) -> list[list[plt.Axes]]:
    """Return the axes of every figure that is saved, or would be."""
    found: list[list[plt.Axes]] = []

    def keep(figure: plt.Figure, path: Path) -> tuple[Path, Path]:
        found.append(list(figure.axes))
        return save(figure, path) if written else (Path(path), Path(path))

    monkeypatch.setattr("d3stats.plotting.style.save", keep)
    return found


def _strata_in(axes: list[plt.Axes]) -> set[str]:
    return {label.get_text().split(" (")[0] for ax in axes for label in ax.get_yticklabels()}


@pytest.mark.parametrize(
    ("command", "quantities"),
    [
        ("compare {0} {1}", ["run2 - run1", "mean of the run"]),
        ("agreement {0} --measure fleiss --measure alpha", ["Fleiss' kappa", "Krippendorff's alpha"]),
        ("bias {0}", ["first-slot excess"]),
        ("replay {0} -r fixed:1", ["accuracy", "share of debates"]),
    ],
)
def test_a_figure_with_strata_draws_every_quantity_by_stratum(
    logs: list[str], command: str, quantities: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = _drawn(monkeypatch, written=False)
    words = [word.format(*logs) for word in command.split()]
    invoke(*words, "--strata", "category", "--figure", str(tmp_path / "strata"))
    (axes,) = drawn
    assert _strata_in(axes) >= {"coding", "ethics", "math", "writing"}
    labels = [ax.get_xlabel().splitlines()[0] for ax in axes]
    for quantity in quantities:
        assert quantity in labels


def test_too_many_rules_for_one_figure_are_refused(logs: list[str], tmp_path: Path) -> None:
    rules = [word for k in range(7) for word in ("-r", f"supermajority:0.{60 + k}")]
    words = ["replay", logs[0], *rules, "--strata", "category"]
    refused = RUN.invoke(app, [*words, "--figure", str(tmp_path / "strata")])
    assert "must have at most 7 quantities of one kind" in str(refused.exception) + refused.output
    assert RUN.invoke(app, words).exit_code == 0


def test_a_figure_of_strata(logs: list[str], tmp_path: Path) -> None:
    invoke("compare", *logs, "--strata", "category", "--figure", str(tmp_path / "strata.png"))
    assert (tmp_path / "strata.png").stat().st_size > 1000


@pytest.mark.parametrize("command", ["compare {0} {1}", "agreement {0}", "bias {0}", "replay {0}"])
def test_a_column_that_is_not_there_is_refused(logs: list[str], command: str) -> None:
    found = RUN.invoke(app, [*command.format(*logs).split(), "--strata", "categry"])
    assert found.exit_code != 0
    assert "did you mean 'category'" in str(found.exception) + found.output
