"""Bias of real judges: the findings hold the study's tables, and the tables the published numbers and its claims."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.inference.bias.length import LENGTH
from d3stats.inference.bias.position import COIN, CONSISTENCY, EXCESS
from d3stats.inference.bias.self_preference import DID, GAP, OF_ALL

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "judge_bias"


def of(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table[table["name"] == name].set_index("judge")


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_order_consistency_is_the_published_one(made: dict[str, pd.DataFrame]) -> None:
    same = of(made["position"], CONSISTENCY)["value"]
    assert same["GPT-4, Vanilla"] == pytest.approx(0.928, abs=5e-4)
    assert same["PaLM2, Vanilla"] == pytest.approx(0.723, abs=5e-4)


def test_five_of_six_judges_prefer_the_first_slot(made: dict[str, pd.DataFrame]) -> None:
    excess = of(made["position"], EXCESS)
    plain = excess[excess.index.str.endswith(", Vanilla")]
    assert len(plain) == 6
    assert list(plain.index[plain["low"] <= 0]) == ["GPT-4, Vanilla"]


def test_reasons_first_lower_the_consistency_of_four_judges_clearly(made: dict[str, pd.DataFrame]) -> None:
    table = made["reasons"].set_index("judge")
    assert list(table.index[table["p_holm"] < 0.05]) == ["ChatGPT", "Falcon", "LLaMA2", "PaLM2"]
    assert table.loc["GPT-4", "p_holm"] == pytest.approx(0.055, abs=5e-4)
    assert table.loc["ChatGPT-0301", "low"] < 0 < table.loc["ChatGPT-0301", "high"]


def test_vicuna_lies_below_the_mark_of_one_leaning_and_above_that_of_leanings_by_question(
    made: dict[str, pd.DataFrame],
) -> None:
    reviews = made["position"][made["position"]["source"] == "PRD"]
    one_leaning, same = (of(reviews, name)["value"]["vicuna-13b"] for name in (COIN, CONSISTENCY))
    by_question = made["pairs"].set_index("judge")["by_question"]
    assert by_question["vicuna-13b"] == pytest.approx(0.334, abs=5e-4)
    assert by_question["vicuna-13b"] < same < one_leaning


def test_holm_of_the_comparison_with_others_is_written(made: dict[str, pd.DataFrame]) -> None:
    p = of(made["own"], DID)["p_holm"].round(3).to_dict()
    assert (p["gpt4"], p["claude"], p["gpt35"]) == (0.044, 0.044, 0.24)


def test_reviewers_lean_either_way(made: dict[str, pd.DataFrame]) -> None:
    excess = of(made["position"][made["position"]["source"] == "PRD"], EXCESS)
    assert set(excess.index[excess["low"] > 0]) == {"bard", "gpt4"}
    assert set(excess.index[excess["high"] < 0]) == {"claude", "vicuna-13b"}
    pairs = made["pairs"].set_index("judge")
    assert pairs.loc["gpt4", "second"] == 2
    assert pairs.loc["gpt35", "through_tie"] == 192


def test_length_moves_four_judges_and_not_gpt4(made: dict[str, pd.DataFrame]) -> None:
    effect = of(made["length"], LENGTH)
    moved = effect.index[effect["p_holm"] < 0.05]
    assert set(moved) == {f"{j}, Vanilla" for j in ("ChatGPT", "ChatGPT-0301", "Falcon", "LLaMA2")}


def test_the_raw_rate_orders_reviewers_wrongly(made: dict[str, pd.DataFrame]) -> None:
    gap, rate, did = (of(made["own"], name)["value"] for name in (GAP, OF_ALL, DID))
    assert set(rate.nlargest(2).index) == {"bard", "vicuna-13b"} == set(gap.index[gap < 0])
    assert gap["claude"] > 0 > did["claude"]
    assert of(made["own"], DID).loc["gpt4", "low"] > 0


def test_without_real_verdicts_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


@pytest.mark.slow  # every archive is read and audited anew
@pytest.mark.real_data
def test_the_study_gives_the_written_numbers(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    for name, table in module["study"](data_dir).items():
        assert len(table) == len(made[name])
        for column in table.select_dtypes("number").columns:
            ours, written = table[column].to_numpy(dtype=float), made[name][column].to_numpy(dtype=float)
            np.testing.assert_allclose(ours, written, rtol=2e-5, atol=1e-9, err_msg=f"{name}, {column}")


@pytest.mark.slow  # 1 s; the tables follow from the verdicts in the fast layer
@pytest.mark.real_data
def test_verdicts_are_read_whole(module: dict[str, Any], data_dir: Path) -> None:
    bar = module["llmbar"](data_dir)
    assert bar["item"].nunique() == 419
    assert len(module["prd"](data_dir)) == 80 * 10 * 5 * 2 + 160
    panda = module["pandalm"](data_dir)
    counts = panda[panda["judge"] == "GPT-3.5"]["label"].value_counts()
    assert (counts["tie"], counts["A"], counts["B"]) == (105, 422, 472)
