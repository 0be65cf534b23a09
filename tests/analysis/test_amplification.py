"""The study of amplification: its findings hold its table, and its table the logs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from d3stats import Trajectories

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "analysis" / "amplification"


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(STUDY / "run.py"))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(STUDY / "amplification.csv")


def test_the_findings_hold_the_tables_that_the_study_wrote(module: dict[str, Any]) -> None:
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"]({path.stem: pd.read_csv(path) for path in STUDY.glob("*.csv")})
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables) == 3


def test_the_table_agrees_with_itself_and_with_an_independent_exact_test(table: pd.DataFrame) -> None:
    for row in table.to_dict("records"):
        assert row["final"] - row["first"] == pytest.approx(row["gain"], abs=2e-6)
        assert (row["won"] - row["lost"]) / row["n_debates"] == pytest.approx(row["gain"], abs=2e-6)
        exact = binomtest(row["won"], row["won"] + row["lost"]).pvalue
        assert row["p_mcnemar"] == pytest.approx(exact, rel=1e-4)
        for vote in ("first", "final"):
            assert row[f"{vote}_less_theorem_d"] == pytest.approx(row[vote] - row["theorem_d"], abs=2e-6)
        agent = row["final_share"] - row["first"]
        assert row["final_share_less_first"] == pytest.approx(agent, abs=2e-6)
        for name in ("gain", "first_less_theorem_d", "final_less_theorem_d", "final_share_less_first"):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_what_the_findings_say_in_words_follows_from_the_table(table: pd.DataFrame) -> None:
    plain = table[table["picked"] == "no"]
    assert len(plain) == 4
    assert (table["p_gain_holm"] > 0.4).all()
    assert plain["gain_high"].round(3).tolist() == [0.066, 0.030, 0.031, 0.029]
    assert (plain[plain["log"].str.startswith("small")]["gain"] < 0).all()
    small_low = plain[plain["log"].str.startswith("small")]["gain_low"].round(3)
    assert small_low.tolist() == [-0.066, -0.044, -0.042]
    for ties, without_0 in (("gain", []), ("gain_by_lot", ["GSM8K, 4 seats, majority wrong"])):
        outside = (table[f"{ties}_low"] > 0) | (table[f"{ties}_high"] < 0)
        assert table.loc[outside, "log"].tolist() == without_0
    assert (table["final_less_theorem_d"] > 0).all()
    assert (table["p_beyond_holm"] < 0.05).sum() == 3
    assert (plain["first"] > plain["theorem_d"]).all()
    short = plain["condorcet"] - plain["first"]
    assert (short.min().round(2), short.max().round(2)) == (0.04, 0.12)
    already, lead = (table[f"{vote}_less_theorem_d"] for vote in ("first", "final"))
    small = table["log"].str.startswith("small")
    assert (small.sum(), (already > lead)[small].all(), (already > lead)[~small].any()) == (3, True, False)
    assert already.round(3).tolist() == [0.024, 0.040, 0.039, 0.063, 0.048, 0.031, 0.060]
    assert lead.round(3).tolist() == [0.049, 0.023, 0.032, 0.057, 0.058, 0.153, 0.065]
    assert (already / lead)[~small].round(2).tolist() == [0.48, 0.82, 0.20, 0.92]
    agent = plain["final_share_less_first"]
    assert agent.abs().max() < 0.03
    holds = (plain["final_share_less_first_low"] < 0) & (plain["final_share_less_first_high"] > 0)
    assert plain.loc[~holds, "log"].tolist() == ["small models, 7 seats"]
    assert agent[~holds].max() < 0
    gsm = plain.set_index("log").loc["GSM8K, 3 seats, two runs"]
    assert (round(gsm["final_share_less_first"], 3), round(gsm["final_share_less_first_high"], 3)) == (
        0.022,
        0.054,
    )
    changed = plain["won"] + plain["lost"]
    assert (changed.min(), changed.max()) == (5, 13)
    assert (table["agreed"].min().round(2), table["agreed"].max().round(2)) == (0.59, 0.87)


def test_a_tie_goes_to_the_lowest_seat_or_by_lot(module: dict[str, Any]) -> None:
    votes = [[["A", "B"]], [["B", "A"]], [["A", "A"]], [["C", "B"]], [[None, None]]]
    t = Trajectories.from_arrays(votes, ["A", "A", "A", "A", "A"])
    ruled, lot = module["verdict_scores"](t, 0)
    np.testing.assert_array_equal(ruled, [1, 0, 1, 0, np.nan])
    np.testing.assert_array_equal(lot, [0.5, 0.5, 1, 0, np.nan])


def test_a_debate_that_ended_early_is_judged_by_its_own_last_round(module: dict[str, Any]) -> None:
    votes = [
        [["A", "B", "B"], ["A", "A", "B"], [None] * 3],
        [["A", "A", "B"], ["A", "B", "B"], ["B", "B", "B"]],
        [["A", "A", "B"], ["A", "A", "A"], ["A", "A", "A"]],
    ]
    t = Trajectories.from_arrays(votes, ["A"] * 3, depth=[2, 3, 3])
    row = module["compared"](t, "three debates", False)
    assert (row["won"], row["lost"], row["n_debates"]) == (1, 1, 3)
    assert row["agreed"] == pytest.approx(2 / 3)
    assert row["right_when_agreed"] == 0.5
    assert row["theorem_d"] == pytest.approx((1 + 2 + 2) / 9)


def test_a_log_in_which_every_question_moves_alike_shows_its_gain_without_an_interval(
    module: dict[str, Any],
) -> None:
    t = Trajectories.from_arrays([[["A", "B", "B"], ["A", "A", "B"]]] * 4, ["A"] * 4)
    row = module["compared"](t, "alike", False)
    assert (row["gain"], row["gain_low"], row["p_gain"]) == (1.0, None, None)
    assert module["said"](row, "gain") == "+1.000"
    assert module["p_of"](row["p_gain"]) == "-"


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(STUDY / "run.py"), run_name="__main__")


def _same(again: pd.DataFrame, table: pd.DataFrame) -> None:
    numbers = [c for c in table.select_dtypes("number") if c in again]
    np.testing.assert_allclose(
        again[numbers].to_numpy(float), table[numbers].to_numpy(float), rtol=1e-5, atol=1e-12
    )


@pytest.mark.real_data
def test_a_real_log_gives_the_row_that_was_written(table: pd.DataFrame, data_dir: Path) -> None:
    logs = runpy.run_path(str(STUDY.parent / "martingale" / "round_logs.py"))
    log = next(log for log in logs["LOGS"] if "4 seats" in log.label)
    row = runpy.run_path(str(STUDY / "run.py"))["compared"](
        logs["read"](log, data_dir), log.label, log.selected
    )
    _same(pd.DataFrame([row]), table[table["log"] == log.label])


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_on_the_real_logs_gives_the_numbers_that_were_written(
    module: dict[str, Any], table: pd.DataFrame, data_dir: Path
) -> None:
    again = module["study"](data_dir)["amplification"]
    assert again["log"].tolist() == table["log"].tolist()
    assert set(again) == set(table)
    _same(again, table)
