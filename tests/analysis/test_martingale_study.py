"""The study of the martingale on real logs: its findings hold its tables, and its tables the logs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "analysis" / "martingale"


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(STUDY / "run.py"))


@pytest.fixture(scope="module")
def written() -> dict[str, pd.DataFrame]:
    return {path.stem: pd.read_csv(path) for path in STUDY.glob("*.csv")}


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], written: dict[str, pd.DataFrame]
) -> None:
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](written)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables) == 5


def test_what_the_findings_say_in_words_follows_from_the_tables(written: dict[str, pd.DataFrame]) -> None:
    drift = written["drift"]
    first, second = (drift[(drift["transition"] == r) & (drift["picked"] == "no")] for r in ("1-2", "2-3"))
    assert len(first) == 4
    assert (first["drift"] > 0).all()
    assert (first["low"] > 0).sum() == 3
    assert (first["p_value_holm"] < 0.05).sum() == 2
    assert first["high"].max() == pytest.approx(0.064, abs=5e-4)
    assert ((second["low"] < 0) & (second["high"] > 0)).all()
    pooled = drift[drift["transition"] == "pooled"]
    assert (pooled["left_all_wrong"] + pooled["left_all_right"] > 0).all()
    wrong, right = (pooled[f"left_all_{x}"] / pooled[f"all_{x}"] for x in ("wrong", "right"))
    assert (wrong.min().round(2), wrong.max().round(2), right.max().round(2)) == (0.0, 0.1, 0.05)
    assert (pooled["slope"] < 0).all()
    assert (pooled["slope_inside"] > 0).sum() == 5
    sure = pooled[(pooled["slope_inside_low"] > 0) | (pooled["slope_inside_high"] < 0)]
    assert sure["log"].tolist() == ["small models, 7 seats"]
    cells = (
        written["conditional"].query("log == 'small models, 7 seats'").set_index("count")["drift"].round(2)
    )
    assert cells[[4, 5, 6]].agg(["min", "max"]).tolist() == [0.06, 0.17]
    assert cells[[1, 2]].tolist() == [-0.06, -0.05]
    assert (pooled["p_conditional_inside"] < 0.05).sum() == 1
    assert (pooled["p_conditional_holm"] < 0.05).sum() == 2
    assert (drift["p_value_holm"] >= drift["p_value"] - 1e-12).all()


def test_the_simulated_rows_show_what_choosing_by_a_first_vote_does(written: dict[str, pd.DataFrame]) -> None:
    chosen = written["selection"].set_index(["log", "debates chosen"])["drift"]
    steady = chosen["Dirichlet-compound model, simulated"]
    assert abs(steady["all debates"]) < 0.005
    assert steady["first majority wrong"] > 0.1
    assert chosen["voter model, simulated"].abs().max() < 0.006


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(STUDY / "run.py"), run_name="__main__")


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_on_the_real_logs_gives_the_numbers_that_were_written(
    module: dict[str, Any], written: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    again = module["study"](data_dir)
    assert set(again) == set(written)
    for name, table in again.items():
        assert list(table.columns) == list(written[name].columns)
        for column in table:
            if pd.api.types.is_numeric_dtype(written[name][column]):
                np.testing.assert_allclose(
                    table[column].to_numpy(float),
                    written[name][column].to_numpy(float),
                    rtol=1e-5,
                    atol=1e-12,
                )


@pytest.mark.real_data
def test_a_real_log_gives_the_row_that_was_written_and_the_counts_of_its_source(
    module: dict[str, Any], written: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    """4 seats, 50 items: the counts 0..4 per round of the source, unparsed counted as wrong."""
    log = next(log for log in module["LOGS"] if "4 seats" in log.label)
    t = module["read"](log, data_dir)
    again = module["tested"](log.label, log.selected, module["martingale_test"](t))
    rows = written["drift"][written["drift"]["log"] == log.label]
    for column in ("n_pairs", "n_clusters", "drift", "low", "high", "p_value", "left_all_wrong"):
        np.testing.assert_allclose(again[column].to_numpy(float), rows[column].to_numpy(float), rtol=1e-5)
    known = np.array([[25, 11, 4, 5, 5], [24, 7, 6, 5, 8], [27, 2, 6, 5, 10], [28, 0, 6, 3, 13]])
    right = known @ np.arange(5)
    drift = module["martingale_test"](t, missing="wrong").drift["drift"].to_numpy()[:3]
    np.testing.assert_allclose(drift, np.diff(right) / (4 * 50), atol=1e-12)
