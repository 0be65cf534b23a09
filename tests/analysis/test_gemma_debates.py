"""Debates of a small model: every table follows from the bundled logs, and the findings say what the tables say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from layers import sampled
from study_tables import same

from d3stats import replay

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "gemma_debates"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


@sampled("name", ["added", "drift", "rules", "starts", "agents", "seats"], [0])
def test_a_table_follows_from_the_bundled_logs(
    name: str, module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    same(module["TABLES"][name](module["CONFIG"]), made[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rounds", "comparisons", "noticed"])
def test_a_larger_table_follows_from_the_bundled_logs(
    name: str, module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    same(module["TABLES"][name](module["CONFIG"]), made[name])


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    by_round = made["rounds"].set_index(["log", "round"])
    accuracy = by_round["accuracy"]
    assert [round(accuracy["reasons", r], 2) for r in (1, 6)] == [0.79, 0.59]
    assert by_round["cumulative"]["reasons", 6] / by_round["tokens"]["reasons", 1] == pytest.approx(
        12.2, abs=0.1
    )
    assert 1 - accuracy["reasons", 6] / accuracy["reasons", 1] == pytest.approx(0.25, abs=0.005)
    assert accuracy["reasons", 1] - accuracy["reasons", 2] == pytest.approx(0.143, abs=5e-4)
    moved = by_round["ks_pmf"] > by_round["ks_pmf_noise"]
    assert moved["reasons"].tolist() == [False, True, True, False, False, False]
    assert not moved["alone"].any()

    start = made["starts"].query("log == 'reasons' and label == 'negative'")
    assert start["debates"].sum() == 920
    first = start[start["right_1"] > 0]
    assert (first["right_1"].sum(), first["right_6"].sum()) == (722, 109)
    assert start.set_index("right_votes").loc[7, ["debates", "right_6"]].tolist() == [111, 20]

    rules = made["rules"].query("log == 'reasons'").set_index("rule")
    right = rules["accuracy"].round(3)
    assert right[["fixed:1", "supermajority:0.7", "unanimity"]].tolist() == [0.786, 0.792, 0.646]
    assert rules["rounds"][["ks:0.05,patience=1,camp=largest", "hu2025"]].tolist() == [2, 6]
    assert (rules["accuracy"].drop(["fixed:1", "supermajority:0.7"]) < 0.74).all()

    noticed = made["noticed"].set_index(["log", "debates"])["noticed"]
    assert noticed["reasons"].tolist()[:2] == [171, 199]
    assert noticed["alone"].sum() == 37
    drift = made["drift"].set_index(["log", "share", "transition"])["p_holm"]
    assert (drift.loc[[("reasons", "positive", "1-2"), ("votes", "positive", "1-2")]] < 1e-10).all()
    assert (drift["alone"] == 1).sum() == 10


def test_a_rule_that_gains_is_said_to_gain() -> None:
    assert replay("gemma-reasons").headline.endswith(", a gain.")
    assert replay("slm7").headline.endswith("so a loss over 1 point is not excluded.")
