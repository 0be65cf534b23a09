"""The study of rationales: its findings hold its tables, its words follow, and its tables the logs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "analysis" / "rationales"
READ = {"translation, moderator", "GSM8K, critic and actors", "GSM8K, 3 agents", "small models"}
"""Logs in whose last round everybody has read somebody."""


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(STUDY / "run.py"))


@pytest.fixture(scope="module")
def made() -> dict[str, pd.DataFrame]:
    return {path.stem: pd.read_csv(path, dtype={"round": str}) for path in STUDY.glob("*.csv")}


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables) == 8


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    table = made["measures"].pivot_table("value", ["log", "round"], "name")
    first = table[table.index.get_level_values("round") == "1"]
    judges = table.loc[("independent judges (PRD)", "last")]
    later = table[
        (table.index.get_level_values("round") != "1") & table.index.get_level_values("log").isin(READ)
    ]
    cites = "rationales that cite the debate"
    alone = [*first[cites], judges[cites]]
    assert [round(min(alone), 3), round(max(alone), 3)] == [0.0, 0.017]
    assert sorted(later[cites].round(3)) == [0.207, 0.807, 0.895, 0.927]
    bare = "cite the debate, without words of the prompt"
    assert later[bare].dropna().round(3).to_dict() == {
        ("GSM8K, 3 agents", "3"): 0.007,
        ("small models", "3"): 0.046,
        ("translation, moderator", "last"): 0.24,
    }
    phrases = made["phrases"].set_index(["log", "round", "kind", "phrase"])
    echo = phrases.loc[("GSM8K, 3 agents", "3", "argument", "other agents")]
    arguing = table.loc[("GSM8K, 3 agents", "3"), "with a word for arguing"]
    assert (echo["alone"], round(600 * arguing)) == (555, 556)
    named = table.loc[("GSM8K, critic and actors", "4"), "that name who spoke before"]
    assert round(named, 3) == 0.743
    beside = "that share words with a turn of the same time"
    assert [first[beside].min().round(3), first[beside].max().round(3)] == [0.746, 0.963]
    repeats = "that repeat an earlier turn"
    moderator = table.loc[("translation, moderator", "last")]
    assert moderator[repeats] > 0.4
    assert np.isnan(moderator[beside])
    ratio = table["within a debate / across questions"].dropna()
    assert [round(ratio.min()), round(ratio.max())] == [3, 17]
    cosine = table["mean cosine within a debate"]
    assert cosine["GSM8K, critic and actors", "4"] > cosine["GSM8K, critic and actors", "1"]
    assert cosine["GSM8K, 3 agents", "3"] < cosine["GSM8K, 3 agents", "1"]
    measures = made["measures"]
    beyond = measures[measures["name"] == "with an axis, beyond chance"].dropna(subset="low")
    assert len(beyond) == 6
    assert ((beyond["low"] <= 0) & (beyond["high"] >= 0)).all()
    assert round(judges["disagreements with an axis"], 3) == 0.039
    of_judges = made["reasons"][made["reasons"]["log"] == "independent judges (PRD)"].set_index("reason")
    less = of_judges[(of_judges["high"] < 0) & (of_judges["p_adjusted"] < 0.05)]
    assert list(less.index) == ["relevance", "accuracy", "depth", "helpfulness"]
    agents = made["agents"][made["agents"]["log"] == "independent judges (PRD)"]
    rate = (agents["dissents"] / agents["votes"]).set_axis(agents["agent"])
    often = rate[rate.index.str.contains("bard|vicuna")]
    seldom = rate[rate.index.str.contains("gpt")]
    assert [often.min().round(2), often.max().round(2)] == [0.24, 0.36]
    assert [seldom.min().round(2), seldom.max().round(2)] == [0.06, 0.14]


@pytest.mark.real_data
@pytest.mark.slow
def test_the_tables_are_those_of_the_logs(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    for name, found in module["study"](data_dir).items():
        numbers = found.select_dtypes("number").columns
        np.testing.assert_allclose(
            found[numbers].to_numpy(dtype=float),
            made[name][numbers].to_numpy(dtype=float),
            rtol=1e-4,
            atol=1e-6,
        )
        words = [column for column in made[name] if column not in numbers and column != "note"]
        assert (
            found[words].astype(str).to_numpy().tolist() == made[name][words].astype(str).to_numpy().tolist()
        )
