"""The page of speeds is that of its table; its candidates give the same numbers, and ours keeps its limit."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import d3stats

ROOT = Path(d3stats.__file__).resolve().parents[1]
STUDY = ROOT / "simulations" / "speed"
TASKS = ["count", "mixture", "bootstrap", "mcnemar", "simulate", "ks", "replay", "kappa", "gap"]

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return runpy.run_path(str(STUDY / "run.py"))


def stored() -> pd.DataFrame:
    return pd.read_csv(STUDY / "speed.csv")


def test_the_page_is_that_of_the_table(study: dict[str, Any]) -> None:
    table = stored()
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert page == study["text"](table)
    assert list(study["ROWS"]) == TASKS
    assert len(table) == len(TASKS)
    assert (table["ours"] < table["limit"] * table["by hand"]).all()


@pytest.mark.parametrize("name", [pytest.param(x, marks=SLOW if x == "mixture" else ()) for x in TASKS])
def test_all_candidates_give_the_same_number(name: str, study: dict[str, Any], tmp_path: Path) -> None:
    make, size = study["ROWS"][name]
    row = make(tmp_path, max(size // 20, 300))
    study["same"](row)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_no_task_is_slower_than_its_limit(name: str, study: dict[str, Any], tmp_path: Path) -> None:
    """Ratios of CPU seconds of candidates that take turns in one process."""
    make, size = study["ROWS"][name]
    found = study["measured"](make(tmp_path, size), repeats=3)
    assert found["ours"] < found["limit"] * found["by hand"]
