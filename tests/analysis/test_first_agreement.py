"""Agreement of two agents at once and entropy of votes: findings, tables, and the tables by hand."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_tables import same

import d3stats

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "first_agreement"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_tables_follow_from_the_bundled_logs(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    for name, table in module["study"]().items():
        same(table, made[name])


def test_agreement_is_that_of_counts_and_entropy_that_of_two_answers(made: dict[str, pd.DataFrame]) -> None:
    """Pairs of one model from the counts of equal votes; the entropy of two answers by its formula."""
    turns = pd.read_csv(Path(d3stats.datasets.__file__).with_name("slm7.csv"))
    turns = turns[(turns["round"] == 1) & turns["vote"].notna() & turns["log"].str.startswith("gsm/")]
    n = turns.groupby(["question", "log"]).size()
    equal = turns.groupby(["question", "log", "vote"]).size()
    row = made["pairs"].set_index(["benchmark", "pair"]).loc[("gsm", "same model")]
    assert row["pairs"] == (n * (n - 1) / 2).sum()
    assert row["agree"] == pytest.approx((equal * (equal - 1)).sum() / (n * (n - 1)).sum())
    t = d3stats.as_trajectories("gemma-votes")
    p = t.votes[:, 0].mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.nan_to_num(-p * np.log2(p)) + np.nan_to_num(-(1 - p) * np.log2(1 - p))
    assert made["entropy"].set_index("log").loc["gemma-votes", "first"] == pytest.approx(
        bits.mean(), rel=1e-5
    )


def test_what_the_findings_say_is_in_the_tables(made: dict[str, pd.DataFrame]) -> None:
    rows = made["pairs"].set_index(["benchmark", "pair"])
    for benchmark in ("gsm", "mmlu"):
        same_model, other = rows.loc[(benchmark, "same model")], rows.loc[(benchmark, "different models")]
        assert other["agree"] < same_model["agree"]
        assert other["right_if_agree"] > same_model["right_if_agree"] > same_model["one_right"]
    change = made["entropy"].set_index("log")
    assert change.loc["slm7", "change_high"] < 0
    assert change.loc["gemma-votes", "change_low"] > 0
    assert change.loc["gemma-alone", "change_low"] < 0 < change.loc["gemma-alone", "change_high"]
