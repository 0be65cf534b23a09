"""The study of debate against vote: its findings hold its tables, its words follow, and its tables the logs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats import Trajectories

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "analysis" / "debate_or_vote"


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(STUDY / "run.py"))


@pytest.fixture(scope="module")
def made() -> dict[str, pd.DataFrame]:
    return {path.stem: pd.read_csv(path) for path in STUDY.glob("*.csv")}


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables) == 5


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    logs, parts, wrong = (made[name] for name in ("debate_or_vote", "splits", "missing_wrong"))
    assert len(logs) == 7
    assert logs["p_cluster_t_holm"].min() == pytest.approx(0.411, abs=5e-4)
    assert logs["p_sign_flip_holm"].min() == pytest.approx(0.492, abs=5e-4)
    small = logs[logs["log"].str.startswith("small")]
    assert (len(small), (small["gain"] < 0).all()) == (3, True)
    assert ((logs["low"] < 0) & (logs["high"] > 0)).all()
    nearest = logs.loc[logs["p_cluster_t"].idxmin()]
    assert nearest["log"] == "GSM8K, 4 seats, majority wrong"
    assert nearest[["low", "high", "p_cluster_t", "p_sign_flip"]].astype(float).round(3).tolist() == [
        -0.006, 0.251, 0.059, 0.070,
    ]  # fmt: skip
    assert (nearest["gained"], nearest["lost"]) == (7, 1)
    assert min(nearest["low_bca"], nearest["low_studentised"]) > 0
    changed = (logs["gained"] + logs["lost"]).tolist()
    assert (changed[2], changed[3], changed[5]) == (5, 5, 8)
    assert logs["n_debates"].tolist()[2:4] == [156, 156]
    assert logs.loc[logs["low_studentised"].isna(), "log"].tolist() == ["small models, 7 seats"]
    apart = np.maximum((logs["low_bca"] - logs["low"]).abs(), (logs["high_bca"] - logs["high"]).abs())
    assert apart.round(3).sort_values().tolist()[-3:] == [0.012, 0.016, 0.026]
    assert apart.sort_values().index.tolist()[-2:] == [3, 5]
    plain, picked = (logs[logs["picked"] == which] for which in ("no", "yes"))
    ends = [f(x["detectable"]).round(3) for x in (plain, picked) for f in (np.min, np.max)]
    assert ends == [0.048, 0.067, 0.091, 0.178]
    sought = plain["questions_for_sought"]
    assert (sought.min(), sought.max()) == (101, 641)
    sought = picked["questions_for_sought"]
    assert (sought.min(), sought.max()) == (1892, 4701)
    untold = logs["equivalent"].isna()
    assert logs.loc[untold, "log"].tolist() == ["small models, 5 seats", "small models, 7 seats"]
    assert not logs.loc[~untold, "equivalent"].astype(bool).any()
    assert len(parts) == 17
    assert parts["p_sign_flip"].min() > 0.05
    best = parts.loc[parts["gain"].idxmax()]
    assert (round(best["gain"], 3), best["gained"], best["lost"]) == (0.051, 5, 0)
    assert best[["p_sign_flip", "low", "high"]].astype(float).round(3).tolist() == [0.062, -0.006, 0.107]
    assert parts.loc[parts["part"] == "gsm_3_3_top100__918fa1ec", "gain"].item() == 0
    assert parts.loc[parts["part"] == "Qwen3-14B", "first"].min().round(3) == 0.949
    assert wrong["p_cluster_t_holm"].min() > 0.2


def test_the_gain_is_that_of_the_study_of_amplification(made: dict[str, pd.DataFrame]) -> None:
    """The same question, with the debates chosen and the verdicts scored by other code."""
    other = pd.read_csv(ROOT / "analysis" / "amplification" / "amplification.csv")
    mine = made["debate_or_vote"]
    assert mine["log"].tolist() == other["log"].tolist()
    for column, theirs in (
        ("gain", "gain"), ("low", "gain_low"), ("high", "gain_high"), ("p_cluster_t", "p_gain"),
        ("p_McNemar_exact", "p_mcnemar"), ("gained", "won"), ("lost", "lost"),
    ):  # fmt: skip
        np.testing.assert_allclose(mine[column], other[theirs], rtol=2e-5, atol=2e-6, err_msg=column)


def test_a_group_of_the_small_model_logs_names_its_model(module: dict[str, Any]) -> None:
    assert module["model_of"]("mmlu_Qwen3-14B_persona_roman+radical_agents7_rounds3") == "Qwen3-14B"
    assert module["model_of"]("gsm_critic_actor_3_5") == "gsm_critic_actor_3_5"
    one = Trajectories.from_arrays([[["A"]], [["B"]]], ["A", "A"], groups=["x", "x"])
    assert list(module["parts"](one)) == []


def test_a_log_without_any_change_gets_a_row_without_an_interval(module: dict[str, Any]) -> None:
    t = Trajectories.from_arrays([[["A"], ["A"]], [["B"], ["B"]]], ["A", "A"])
    row = module["row_of"](module["compared"](t))
    assert (row["gain"], row["low"], row["p_sign_flip"], row["detectable"]) == (0.0, None, None, None)
    assert (module["limits"](row), module["said"](row["equivalent"])) == ("+0.000 -", "undecided")


def test_without_real_logs_the_study_says_so_and_stops(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("D3STATS_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("sys.argv", ["run.py", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"REAL LOGS NOT READ: no folder .*nowhere"):
        runpy.run_path(str(STUDY / "run.py"), run_name="__main__")


@pytest.mark.real_data
def test_a_real_log_gives_the_row_that_was_written(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    logs = runpy.run_path(str(STUDY.parent / "martingale" / "round_logs.py"))
    log = next(log for log in logs["LOGS"] if "4 seats" in log.label)
    row = module["row_of"](module["compared"](logs["read"](log, data_dir)))
    written = made["debate_or_vote"].set_index("log").loc[log.label]
    for name, value in row.items():
        assert value == pytest.approx(written[name], rel=1e-4, abs=1e-9), name


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_on_the_real_logs_gives_the_numbers_that_were_written(
    module: dict[str, Any], made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    for name, again in module["study"](data_dir).items():
        assert again.iloc[:, 0].tolist() == made[name].iloc[:, 0].tolist()
        for column in made[name].select_dtypes("number"):
            np.testing.assert_allclose(
                again[column].astype(float),
                made[name][column],
                rtol=1e-4,
                atol=1e-9,
                err_msg=f"{name}: {column}",
            )
