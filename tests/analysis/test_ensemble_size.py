"""Panels of 3, 5 and 7 small models: every table follows from the votes that are committed."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_tables import same

from d3stats.datasets import load_slm7

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "ensemble_size"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_every_table_follows_from_the_committed_votes(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    for name, again in module["analysed"](made["votes"]).items():
        same(again.astype({"seats": made[name]["seats"].dtype}), made[name])


def test_the_seven_seats_are_those_of_the_bundled_log(made: dict[str, pd.DataFrame]) -> None:
    t = load_slm7()
    right, cast = t.successes_trials()
    seven = made["votes"].query("seats == 7")
    assert len(made["votes"].drop_duplicates(["benchmark", "model", "seats"])) == 25
    for r in range(3):
        votes = seven[f"round_{r + 1}"].to_numpy(dtype=float).reshape(-1, 7)
        ours = np.stack([(votes == 0).sum(axis=1), (~np.isnan(votes)).sum(axis=1)], axis=1)
        theirs = np.stack([right[:, r], cast[:, r]], axis=1)
        assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


def test_a_plurality_goes_to_the_most_votes_and_a_tie_to_the_lot(module: dict[str, Any]) -> None:
    votes = np.array([[0, 0, 1], [0, 1, 2], [1, 1, 0], [np.nan, np.nan, 0], [np.nan] * 3, [0, 1, np.nan]])
    np.testing.assert_allclose(module["right_by_lot"](votes), [1, 1 / 3, 0, 1, 0, 0.5])
    np.testing.assert_allclose(module["right_by_lot"](np.array([[1.0, 1.0], [2.0, 1.0]])), [0, 0])


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    table = made["sizes"].set_index(["benchmark", "measure", "seats"]).sort_index()
    quick = table.loc[("GSM8K", "plurality_round_1")]
    assert quick.loc[["5 - 3", "7 - 3"], "value"].round(3).tolist() == [0.057, 0.065]
    assert (quick.loc[["5 - 3", "7 - 3"], "low"] > 0).all()
    for benchmark in ("GSM8K", "MMLU", "both"):
        last = table.loc[(benchmark, "plurality_round_3")]
        differences = last[last.index.str.contains("-")]
        assert (differences["low"] < 0).all()
        assert (differences["high"] > 0).all()
    below = made["subpanels"].query("benchmark == 'both' and what == 'gain'").set_index("seats")
    assert below.loc[[3, 5, 7], "value"].round(3).tolist() == [0.041, 0.063, 0.074]
    assert (below["low"] > 0).all()


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


@pytest.mark.slow  # 1 s; every table follows from the votes in the fast layer
@pytest.mark.real_data
def test_the_archive_gives_the_committed_votes(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    same(module["votes_of"](data_dir), made["votes"])
