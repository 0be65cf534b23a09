"""Tokens of real debates: the rows of the small models follow from the committed lengths and votes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "transcript_tokens"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_rows_of_the_small_models_follow_from_the_committed_tables(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    votes = pd.read_csv(module["VOTES"])
    logs = module["small_models"](votes, made["characters"], module["CONFIG"])
    for name, again in module["analysed"](logs, module["CONFIG"]).items():
        written = made[name][made[name]["log"].isin(logs)].reset_index(drop=True)
        assert again["log"].tolist() == written["log"].tolist()
        for column in again.select_dtypes("number"):
            np.testing.assert_allclose(again[column], written[column], rtol=1e-4, atol=1e-6, err_msg=column)


def test_a_prompt_is_the_whole_conversation_before_a_reply(module: dict[str, Any]) -> None:
    first = [("user", "abc"), ("assistant", "de"), ("user", "f"), ("assistant", "ghij")]
    second = [("user", "abc"), ("assistant", "x")]
    contexts = [[{"role": role, "content": text} for role, text in seat] for seat in (first, second)]
    assert list(module["lengths"](contexts)) == [(1, 6, 3), (2, 6, 4)]


def test_the_ratio_of_characters_changes_neither_parts_nor_savings(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    votes = pd.read_csv(module["VOTES"]).query("seats == 3")
    other = module["CONFIG"] | {"characters_per_token": 3.0, "n_boot": 20}
    t = module["of_small"](votes, made["characters"], 3, other)
    rows = module["by_round"]("small models, 3 seats", t, other)
    written = made["rounds"].query("log == 'small models, 3 seats'").reset_index(drop=True)
    np.testing.assert_allclose(rows["tokens"], written["tokens"] * 4 / 3, rtol=1e-4)
    np.testing.assert_allclose(rows[["part", "prompt"]], written[["part", "prompt"]], rtol=1e-4)
    np.testing.assert_allclose(rows["times_one_answer"], written["times_one_answer"], rtol=1e-4)


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    rounds, savings = made["rounds"], made["savings"].set_index(["rule", "log"])
    first = rounds[rounds["round"] == 1]
    assert (first["part"].min().round(2), first["part"].max().round(2)) == (0.04, 0.12)
    last = rounds.groupby("log").tail(1)
    assert (last["part"].min().round(2), last["part"].max().round(2)) == (0.44, 0.59)
    assert (round(last["times_one_answer"].min()), round(last["times_one_answer"].max())) == (26, 110)
    two = savings.loc["fixed:2"]
    small = two[two.index.str.startswith("small")]
    assert (small["saved_rounds_vs_unanimity"] < 0).all()
    sure = small[small["saved_tokens_vs_unanimity_low"] > 0]
    assert sure.index.tolist() == ["small models, 3 seats", "small models, 7 seats"]


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


@pytest.mark.slow  # 1 s; the tables follow from the lengths in the fast layer
@pytest.mark.real_data
def test_the_archive_gives_the_committed_lengths(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    again = module["lengths_of_small"](data_dir, pd.read_csv(module["VOTES"]))
    pd.testing.assert_frame_equal(again, made["characters"], check_dtype=False)
