"""A page of a log with categories has the accuracy by category; a page of one without has not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli.app import app


def page(tmp_path: Path, name: str, table: pd.DataFrame) -> str:
    path, out = tmp_path / f"{name}.csv", tmp_path / f"{name}.html"
    table.to_csv(path, index=False)
    done = CliRunner().invoke(app, ["report", str(path), "--output", str(out), "--n-boot", "20"])
    assert done.exit_code == 0, done.output
    return out.read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_pictures")
def test_accuracy_by_category_stands_on_the_page_of_a_log_with_categories(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    rows = [
        (
            f"q{k}",
            r,
            f"agent {a}",
            rng.choice(["A", "B"], p=[0.7, 0.3]),
            "A",
            ["coding", "ethics", "math"][k % 3],
        )
        for k in range(24)
        for r in (1, 2)
        for a in range(1)
    ]
    columns = ["debate", "round", "agent", "vote", "label", "category"]
    table = pd.DataFrame(rows, columns=columns)
    with_them = page(tmp_path, "kinds", table)
    assert "accuracy, full, by category" in with_them
    assert "ethics" in with_them
    assert "by category" not in page(tmp_path, "bare", table.drop(columns="category"))
