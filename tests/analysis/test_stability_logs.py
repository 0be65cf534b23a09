"""The stability rule on real logs: the findings hold the tables, and the bundled log gives its rows again."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.datasets import load_slm7
from d3stats.stopping import KSStability

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "stability_logs"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_bundled_log_gives_its_rows_again(module: dict[str, Any], made: dict[str, pd.DataFrame]) -> None:
    label = "small models, 7 seats"
    for name, again in zip(
        ("series", "settings"), module["of_log"](load_slm7(), label, module["CONFIG"]), strict=True
    ):
        written = made[name][made[name]["log"] == label].reset_index(drop=True)
        assert len(written) == len(again)
        for column in again.select_dtypes("number"):
            np.testing.assert_allclose(again[column], written[column], rtol=1e-5, atol=1e-9, err_msg=column)


def test_stops_and_distances_are_those_of_the_rule(module: dict[str, Any]) -> None:
    t = load_slm7()
    whole, drawn = module["sums_of"](t, 20, 1)
    np.testing.assert_allclose(whole.distances[0, 1:], KSStability().distances(t)[1:])
    for threshold in (0.01, 0.05, 0.1, 0.2):
        for patience in (1, 2):
            stop, _ = module["stop_rounds"](whole.distances, threshold, patience)
            assert stop[0] == KSStability(threshold, patience).stop_rounds(t).rounds[0]
    assert drawn.distances.shape == (20, 3)
    assert (drawn.debates == 160).all()


def test_what_the_findings_say_in_words_follows_from_the_table(made: dict[str, pd.DataFrame]) -> None:
    table = made["settings"]
    usual = table[(table["threshold"] == 0.05) & (table["patience"] == 2)]
    assert (usual["stop"] == usual["last_round"]).all()
    assert len(usual) == 7
    quick = table[(table["threshold"] == 0.05) & (table["patience"] == 1)]
    early = quick[quick["stop"] < quick["last_round"]]
    assert early["log"].tolist() == ["GSM8K, critic and actors, two runs"]
    assert early["change"].round(3).tolist() == [-0.031]
    wide = table[(table["threshold"] == 0.2) & (table["patience"] == 1)]
    assert (wide["stop"] == 2).all()
    assert (wide["change_low"] <= 0).all()
    assert (wide["change_high"] >= 0).all()
    assert (wide["premature"].min().round(3), wide["premature"].max().round(3)) == (0.006, 0.051)
    saves = wide[wide["saved_vs_unanimity"] > 0]
    assert (saves["last_round"] == 4).all()
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    (row,) = early.to_dict("records")
    (said,) = re.findall(r"The change is (-\.\d+ \[\S+, \S+\])\.", text)
    assert [float(x) for x in re.findall(r"-?\.\d+", said)] == [
        round(row[name], 3) for name in ("change", "change_low", "change_high")
    ]
    shown = table[table["threshold"].isin([0.05, 0.1, 0.2])]
    (range_said,) = re.findall(r"Premature stops are (\.\d+) to (\.\d+) of the early stops", text)
    assert [*map(float, range_said)] == [shown["premature"].min().round(3), shown["premature"].max().round(3)]


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")
