"""Juries of real judges: the findings hold the study's tables, and the tables its claims."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "juries"


@pytest.fixture(scope="module")
def rows(made: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return made["juries"].set_index("jury")


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_jury_of_all_reviews_has_the_published_numbers(rows: pd.DataFrame) -> None:
    found = rows.loc["PRD, all votes"]
    assert found["decided_items"] == 704
    assert found["decided_accuracy"] == pytest.approx(0.754, abs=5e-4)
    assert found["kappa"] == pytest.approx(0.545, abs=5e-4)


def test_ten_reviews_beat_one_and_the_best_and_are_worth_a_few_independent_ones(rows: pd.DataFrame) -> None:
    found = rows.loc["PRD, ten votes"]
    assert found["gain_low"] > 0.09
    assert rows.loc["PRD, five reviewers, order 1-2", "over_best_low"] > 0
    assert -0.01 < found["over_best_low"] < 0 < found["over_best"]
    assert found["kish_high"] < 4
    assert found["eigen_high"] < found["chance_low"]
    assert found["price_low"] > 0.1
    assert found["next_high"] < 0.004
    assert rows.loc["PRD, all votes", "kish"] == pytest.approx(2.55, abs=0.005)


def test_a_jury_of_misled_judges_loses_to_its_best_member(rows: pd.DataFrame) -> None:
    found = rows.loc["LLMBar, judges"]
    assert found["over_best_high"] < -0.2
    assert found["gain"] < 0
    prompts = rows.loc["LLMBar, GPT-4's prompts"]
    assert prompts["kish_high"] < 1.6
    assert prompts["over_best_low"] < 0 < prompts["over_best_high"]


def test_no_agent_is_named_the_best_and_limits_hold_for_whichever_is(rows: pd.DataFrame) -> None:
    assert rows[["best_low", "over_best_low"]].notna().all(axis=None)
    agents = rows.loc["slm7, round 3"]
    assert agents["best"] < agents["accuracy"] < agents["best_here"]
    assert agents["over_best_low"] < 0 < agents["over_best_high"]
    assert agents["best_low"] < agents["best_here"] < agents["best_high"]


def test_talking_costs_each_model_independence(
    made: dict[str, pd.DataFrame],
) -> None:
    table = made["models"].set_index(["model", "round"])
    before, after = table.xs(1, level="round"), table.xs(3, level="round")
    assert before["kish"].round(2).to_dict() == {
        "Mistral-7B": 2.35, "Qwen3-0.6B": 1.57, "Qwen3-14B": 1.32, "VibeThinker-1.5B": 1.31
    }  # fmt: skip
    assert (after["kish"] < before["kish"]).all()
    assert list(after.index[after["single"] < before["single"]]) == ["VibeThinker-1.5B"]


def test_talking_costs_independence(rows: pd.DataFrame) -> None:
    before, after = rows.loc["slm7, round 1"], rows.loc["slm7, round 3"]
    assert after["single"] > before["single"]
    assert after["correlation"] > before["correlation"] + 0.1
    assert after["kish"] < before["kish"]


def test_a_jury_that_makes_its_own_label_is_always_right(rows: pd.DataFrame) -> None:
    assert rows.loc["PandaLM, 3 humans on their majority", "accuracy"] > 0.999


def test_without_real_votes_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


@pytest.mark.slow  # reads the archives anew
@pytest.mark.real_data
def test_the_reviews_give_the_published_numbers(
    module: dict[str, Any], rows: pd.DataFrame, data_dir: Path
) -> None:
    reads = module["juries"].__globals__
    found = reads["prd"](data_dir)
    whole = reads["kappa_of_decided"](found["PRD, all votes"])
    assert whole["decided_items"] == 704
    assert (whole["decided_accuracy"], whole["kappa"]) == pytest.approx((0.754, 0.545), abs=5e-4)
    ten = module["jury_curve"](found["PRD, ten votes"], rng=1)
    written = rows.loc["PRD, ten votes"]
    assert ten.accuracy.value == pytest.approx(written["accuracy"], abs=1e-5)
    assert (ten.gain.low, ten.gain.high) == pytest.approx(
        (written["gain_low"], written["gain_high"]), abs=1e-5
    )
    assert module["jury_curve"](found["PRD, all votes"], ties="exclude").accuracy.value == (
        pytest.approx(0.754, abs=5e-4)
    )


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_gives_the_written_numbers(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    found = module["study"](data_dir)
    for name, table in found.items():
        assert len(table) == len(made[name])
        for column in table.select_dtypes("number").columns:
            ours, written = (t[column].to_numpy(dtype=float) for t in (table, made[name]))
            assert np.allclose(ours, written, rtol=1e-4, atol=1e-4, equal_nan=True), (name, column)
