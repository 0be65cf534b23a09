"""D3's stop and sign agreement on real scores: estimates follow from the sums, and the findings from the estimates."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_tables import same

from d3stats.stopping import from_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "score_stops"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_estimates_follow_from_the_sums(module: dict[str, Any], made: dict[str, pd.DataFrame]) -> None:
    same(module["estimated"](made["sums"], module["CONFIG"]["level"], module["RATIOS"]), made["stops"])


def test_the_stops_are_those_that_a_quick_count_gave(made: dict[str, pd.DataFrame]) -> None:
    sums = made["sums"]
    sums = sums[sums["sides"] == "all pairs"].assign(hits=lambda t: t["above"] * t["questions"])
    counts = sums.groupby(["rule", "measure"])["hits"].sum()
    rounds = ("stopped by round 2", "stopped in round 3", "stopped in round 4")
    assert [counts["d3_paper", name] for name in rounds] == [471, 101, 28]
    assert [counts["d3_paper:3.5", name] for name in rounds] == [491, 89, 20]
    assert [counts["sign_agreement:2 | fixed:4", name] for name in rounds] == [120, 53, 64 + 363]


def test_what_the_findings_say_in_words_follows_from_the_table(made: dict[str, pd.DataFrame]) -> None:
    table = made["stops"].set_index(["rule", "sides", "measure"])
    every = table.xs("all pairs", level="sides")
    right = every[every.index.get_level_values("measure").str.startswith("leader right")]
    assert (right["low"] < 0.5).all()
    assert (right["high"] > 0.5).all()
    assert every.loc[("d3_paper", "tied at the stop"), "value"] > 0.49
    assert table.loc[("d3_code", "all pairs", "stopped by round 2"), "value"] == 0


def test_a_rule_on_the_lead_stops_as_on_two_scores(module: dict[str, Any]) -> None:
    lead = np.array([[1.0, 2.0, 9.0, 9.0], [5.0, -5.0, -4.0, 0.0], [0.0, 0.0, 3.0, 8.0]])
    assert module["stopped"](lead, from_text("d3_paper")).tolist() == [2, 3, 2]
    assert module["stopped"](lead, from_text("sign_agreement:2 | fixed:4")).tolist() == [2, 3, 4]


def test_a_gap_that_moves_by_exactly_the_tolerance_goes_on_and_half_points_settle_at_most_three(
    module: dict[str, Any],
) -> None:
    lead = np.array([[0.0, 3.0, 3.0, 3.0], [0.0, 2.5, 9.0, 9.0], [0.0, 3.5, 3.5, 9.0]])
    assert module["stopped"](lead, from_text("d3_paper:3")).tolist() == [3, 2, 3]
    assert module["stopped"](lead, from_text("d3_paper:3.5")).tolist() == [2, 2, 3]


def test_sums_by_question_give_the_interval_of_the_rows() -> None:
    helper = runpy.run_path(str(ROOT / "analysis" / "question_sums.py"))
    from d3stats.planning.costs import ratio, share

    rng = np.random.default_rng(1)
    cluster, hit = rng.integers(0, 30, 400), rng.random(400) < 0.3
    cost = rng.integers(1, 5, 400)
    sums = helper["summed"](
        {"rule": "x"}, {"hit": (hit, np.ones(400)), "cost": (cost, np.ones(400))}, cluster
    )
    made = helper["estimated"](sums, 0.9, ["cost"]).set_index("measure")
    for name, direct in (
        ("hit", share(hit, np.ones(400), cluster, 0.9)),
        ("cost", ratio(cost, np.ones(400), cluster, 0.9)),
    ):
        assert made.loc[name, ["value", "low", "high"]].tolist() == pytest.approx(list(direct[:3]))
    assert helper["said"]({"value": 0.5, "low": np.nan, "high": np.nan}) == "0.500"


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")


@pytest.mark.slow  # 1 s; the tables follow from the sums in the fast layer
@pytest.mark.real_data
def test_the_logs_give_the_written_sums(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    same(module["study"](data_dir)["sums"], made["sums"])
