"""The best of k on real scores: the findings hold the study's tables, and the tables its claims."""

from __future__ import annotations

import runpy
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "max_of_k"


def last(made: dict[str, pd.DataFrame], quantity: str) -> pd.DataFrame:
    rows = made["separation"]
    at = rows.groupby("panel")["k"].transform("max")
    return rows[(rows["k"] == at) & (rows["quantity"] == quantity)].set_index("panel")


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_gap_of_the_best_shrinks_in_every_panel(made: dict[str, pd.DataFrame]) -> None:
    assert len(made["panels"]) == 6
    assert (last(made, "gap_change")["high"] < 0).all()
    dominant = made["panels"].set_index("panel")["dominance_fails_by"] == 0
    assert dominant.sum() == 5
    assert (last(made, "expected_gap_same_change")["high"][dominant] < 0).all()
    assert (last(made, "mean_gap_same_change")["high"][dominant] < 0).all()


def test_ranking_falls_at_the_ceiling_and_rises_away_from_it(made: dict[str, pd.DataFrame]) -> None:
    change = last(made, "ranking_change")
    assert change.loc["LLMBar, GPT-4, 5 prompts", "high"] < 0
    assert change.loc["LLMBar, all 7 prompts", "high"] < 0
    assert change.loc["PRD, 5 reviewers", "low"] > 0
    tops = made["panels"].set_index("panel")["top_best_both"]
    assert tops["PRD, 5 reviewers"] < 0.01 < 0.1 < tops["LLMBar, GPT-4, 5 prompts"]
    best, average = last(made, "ranking_same")["estimate"], last(made, "ranking_average")["estimate"]
    assert (average > best)[[name for name in best.index if "ChatGPT" not in name]].all()


def test_correlated_laws_predict_what_is_seen_and_independent_ones_do_not(
    made: dict[str, pd.DataFrame],
) -> None:
    laws = made["predicted"].set_index(["law", "panel"])[["ranking", "expected_gap"]]
    apart = (laws.loc["correlated"] - laws.loc["seen"]).abs()
    assert apart.max().max() < 0.0205
    wide = (laws.loc["independent"] - laws.loc["seen"])["expected_gap"]
    assert wide["LLMBar, GPT-4, 5 prompts"] < -0.15


def test_the_study_counts_every_choice_of_advocates(module: dict[str, Any]) -> None:
    better = np.array([[3.0, 5.0, 4.0], [1.0, 1.0, 2.0], [2.0, 2.0, 2.0]])
    worse = np.array([[4.0, 4.0, 1.0], [2.0, 1.0, 0.0], [1.0, 3.0, 0.0]])
    panel = module["Panel"]("small", better, worse, np.arange(3), 5.0)
    rows = module["separated"](panel).set_index(["quantity", "k"])["estimate"]
    groups = list(combinations(range(3), 2))
    own = [(b[list(g)].max(), w[list(h)].max()) for b, w in zip(better, worse, strict=True)
           for g, h in product(groups, groups)]  # fmt: skip
    same = [(b[list(g)].max(), w[list(g)].max()) for b, w in zip(better, worse, strict=True) for g in groups]
    for quantity, pairs in (("ranking", own), ("ranking_same", same)):
        assert rows[quantity, 2] == pytest.approx(np.mean([(np.sign(x - y) + 1) / 2 for x, y in pairs]))
    for quantity, pairs in (("expected_gap", own), ("expected_gap_same", same)):
        assert rows[quantity, 2] == pytest.approx(np.mean([abs(x - y) for x, y in pairs]))


def test_without_real_scores_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


def test_a_change_from_one_advocate_to_one_has_no_interval(made: dict[str, pd.DataFrame]) -> None:
    changes = made["separation"].query("quantity.str.endswith('_change')")
    from_itself = changes["k"] == 1
    assert (changes.loc[from_itself, "estimate"] == 0).all()
    np.testing.assert_array_equal(from_itself, changes["low"].isna())
    np.testing.assert_array_equal(from_itself, changes["high"].isna())


@pytest.mark.slow  # reads the archive anew
@pytest.mark.real_data
def test_the_study_gives_the_written_numbers(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    found = module["study"](data_dir)
    for name, table in found.items():
        for column in table.select_dtypes("number").columns:
            # Which rows are alike to the last bit decides which are drawn: ends of intervals are not exact.
            loose = 0.01 if column.endswith(("low", "high")) else 1e-6
            loose += 1e-5 * np.abs(made[name][column]).max()
            again, written = table[column].to_numpy(dtype=float), made[name][column].to_numpy()
            np.testing.assert_allclose(again, written, rtol=0, atol=loose, err_msg=f"{name}: {column}")


@pytest.mark.slow  # 1 s; the counts of choices are in the fast layer
@pytest.mark.real_data
def test_the_panels_are_read_whole(module: dict[str, Any], data_dir: Path) -> None:
    gpt4, _, _, chatgpt, everyone = module["llmbar"](data_dir)
    assert gpt4.better.shape == (419, 5)
    assert chatgpt.worse.shape == (419, 2)
    missing = [int(np.isnan(x.better).sum() + np.isnan(x.worse).sum()) for x in (gpt4, chatgpt, everyone)]
    assert missing == [5, 0, 5]
    reviews = module["prd"](data_dir)
    assert reviews.better.shape[1] == 5
    assert set(np.unique(np.concatenate([reviews.better, reviews.worse]) * 16)) <= set(range(17))
    assert np.unique(reviews.cluster).size == 80
