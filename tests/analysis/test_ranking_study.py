"""Rankings of PRD's chatbots: the findings hold the study's tables, and the tables follow from the judgments."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_tables import same

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "ranking"
DATA = Path(os.environ.get("D3STATS_DATA", ROOT.parent / "shared" / "data"))


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_what_the_findings_say_is_in_the_tables(made: dict[str, pd.DataFrame]) -> None:
    ratings, effects = made["ratings"], made["effects"]
    order = {by: part.sort_values("rank")["contestant"].tolist() for by, part in ratings.groupby("by")}
    assert order["people"] == order["five reviewers"]
    first = effects[effects["effect"].str.startswith("first")].set_index("by")
    assert first.loc["bard", "share"] == pytest.approx(0.88, abs=0.005)
    assert first.loc["claude", "share"] == pytest.approx(0.32, abs=0.005)
    assert (first.loc[["bard", "gpt4"], "low"] > 0.5).all()
    assert (first.loc[["claude", "vicuna-13b"], "high"] < 0.5).all()
    for by in ("people", "gpt35"):
        assert first.loc[by, "low"] < 0.5 < first.loc[by, "high"]
    own = ratings[ratings["by"] == ratings["contestant"]].set_index("by")
    people = ratings[ratings["by"] == "people"].set_index("contestant")
    ahead = own["low"] > people["high"].reindex(own.index)
    assert ahead[ahead].index.tolist() == ["gpt4"]


@pytest.mark.slow  # 2 s; the findings hold the tables in the fast layer
@pytest.mark.real_data
@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real logs is absent")
def test_the_tables_follow_from_the_judgments_and_the_order_effect_from_counts(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    found = module["study"](DATA)
    for name, table in found.items():
        same(table, made[name])
    # A second way: each pair in both orders, so that ratings cancel in the mean of the two log odds of the first.
    table = module["judgments"](DATA)
    first = made["effects"][made["effects"]["effect"].str.startswith("first")].set_index("by")["share"]
    for judge in ("bard", "claude", "gpt35", "gpt4", "vicuna-13b"):
        mine = table[(table["judge"] == judge) & (table["winner"] != "tie")]
        won = (mine["winner"] == mine["first"]).groupby([mine["first"], mine["second"]]).agg(["sum", "size"])
        odds = np.log((won["sum"] + 0.5) / (won["size"] - won["sum"] + 0.5))
        assert len(odds) == 20
        assert 1 / (1 + np.exp(-odds.mean())) == pytest.approx(first[judge], abs=0.04)
