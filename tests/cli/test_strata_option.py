"""``--strata COLUMN`` in compare, agreement, bias and replay: tables, JSON, figure, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli.app import app

RUN = CliRunner()


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    paths = []
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
        paths.append(tmp_path / f"run{seed}.csv")
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
        (("replay", "{0}", "-r", "fixed:1", "--n-boot", "20"), "accuracy, fixed:1"),
    ],
)
def test_every_command_has_a_table_by_stratum(
    logs: list[str], command: tuple[str, ...], quantity: str
) -> None:
    words = [word.format(*logs) for word in command]
    shown = invoke(*words, "--strata", "category")
    assert f"{quantity}, by category" in shown
    for word in ("shrunken", "ethics", "do strata differ"):
        assert word in shown
    document = json.loads(invoke(*words, "--strata", "category", "--json"))
    assert "ethics" in json.dumps(document)
    assert "by category" not in invoke(*words)


def test_a_figure_of_strata(logs: list[str], tmp_path: Path) -> None:
    invoke("compare", *logs, "--strata", "category", "--figure", str(tmp_path / "strata.png"))
    assert (tmp_path / "strata.png").stat().st_size > 1000


@pytest.mark.parametrize("command", ["compare {0} {1}", "agreement {0}", "bias {0}", "replay {0}"])
def test_a_column_that_is_not_there_is_refused(logs: list[str], command: str) -> None:
    found = RUN.invoke(app, [*command.format(*logs).split(), "--strata", "categry"])
    assert found.exit_code != 0
    assert "did you mean 'category'" in str(found.exception) + found.output
