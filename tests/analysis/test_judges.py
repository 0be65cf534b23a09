"""Five public sets of judgments: every number that they are known by comes out of their files."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "judges"
NUMBERS = {"LLMBar": 11, "PandaLM": 13, "PRD": 12, "D3 sheet": 4, "FairEval": 4}


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_every_known_number_is_met_to_its_printed_digits(made: dict[str, pd.DataFrame]) -> None:
    table = made["published"]
    assert table["data"].value_counts().to_dict() == NUMBERS
    assert (abs(table["ours"] - table["known"]) <= 0.5 * 10.0 ** -table["digits"] + 1e-9).all()
    fractional = table[(table["digits"] > 0) & ~table["what"].str.contains("McNemar")]
    assert fractional["low"].notna().all()
    assert ((fractional["low"] < fractional["ours"]) & (fractional["ours"] < fractional["high"])).all()


def test_items_of_one_instruction_are_not_independent(made: dict[str, pd.DataFrame]) -> None:
    table = made["kappas"].assign(ratio=lambda t: t["se"] / t["se_independent"])
    panda = table[table["group"].str.startswith("PandaLM")]
    assert (panda["ratio"] > 1.35).all()
    own = table[table["group"].str.startswith("LLMBar")]
    assert ((own["ratio"] - 1).abs() < 0.01).all()
    assert (abs(table["low"] - table["bca_low"]) < 0.012).all()


def test_mcnemar_on_pandalm_finds_what_its_instructions_do_not_carry(made: dict[str, pd.DataFrame]) -> None:
    panda = made["pairs"][made["pairs"]["data"].str.startswith("PandaLM")]
    assert (panda["p_mcnemar"] < 0.012).all()
    assert (panda["p_cluster"] > 0.05).all()
    assert ((panda["low"] < 0) & (panda["high"] > 0)).all()


def test_two_judges_pick_the_worse_output_of_llmbar_more_often_than_chance(
    made: dict[str, pd.DataFrame],
) -> None:
    table = made["kappas"][made["kappas"]["group"].str.startswith("LLMBar")].set_index("name")
    assert sorted(table.index[table["high"] < 0]) == ["ChatGPT", "LLaMA2"]


def test_a_jury_and_two_humans_are_compared_with_one_human_each(made: dict[str, pd.DataFrame]) -> None:
    table = made["alike"].set_index("who")
    assert table["value"].round(3).to_dict() == {
        "jury and human": 0.369, "human and human": 0.177, "human and the others": 0.334
    }  # fmt: skip
    assert table.loc["jury and human", "low"] > table.loc["human and human", "high"]
    assert not table.loc["jury and human", "low"] > table.loc["human and the others", "high"]


@pytest.mark.slow  # reads every archive anew
@pytest.mark.real_data
def test_the_files_give_the_known_numbers(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    again = pd.DataFrame(list(module["published"](data_dir)))
    assert again["same"].all(), again[~again["same"]]
    written = made["published"]
    assert again["what"].tolist() == written["what"].tolist()
    for column in ("ours", "low", "high"):
        assert (
            (abs(again[column].astype(float) - written[column]) < 1e-5)
            .where(written[column].notna(), True)
            .all()
        )


@pytest.mark.slow  # reads every archive anew
@pytest.mark.real_data
def test_the_files_give_the_written_kappas_panels_and_pairs(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    for name, of in (("panels", "panels"), ("pairs", "paired"), ("alike", "alike")):
        again = pd.DataFrame(list(module[of](data_dir)))
        for column in ("low", "high"):
            assert (abs(again[column] - made[name][column]) < 1e-5).all()
    rows = module["pandalm"](data_dir)
    line = module["kappa_line"]("PandaLM, two humans", "1 and 2", rows, "annotator1", "annotator2")
    written = made["kappas"].set_index("name").loc["1 and 2"]
    for column in ("value", "low", "high", "se", "se_independent", "bca_low", "bca_high"):
        assert line[column] == pytest.approx(written[column], abs=1e-5)
