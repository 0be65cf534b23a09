"""The study of the gap posteriors' reading: its findings are its tables, and its tables are the logs'."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "analysis" / "gap_reading"


@pytest.fixture(scope="module")
def run() -> Iterator[ModuleType]:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("gap_reading_run", STUDY / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def made() -> dict[str, pd.DataFrame]:
    """The tables that the study wrote."""
    return {path.stem: pd.read_csv(path) for path in STUDY.glob("*.csv")}


def _table() -> pd.DataFrame:
    """Two debates of two rounds: A (right) against B and C, then one without a readable vote; all A."""
    rows = [
        ("d1", 1, "a", "A", 9, 9, 1.0),
        ("d1", 1, "b", "B", 8, 9, 0.0),
        ("d1", 1, "c", "B", 7, 8, 0.0),
        ("d1", 2, "a", "A", 9, 10, 1.0),
        ("d1", 2, "b", "A", 9, 10, 1.0),
        ("d1", 2, "c", None, 5, 5, np.nan),
        ("d2", 1, "a", "A", 9, 9, 1.0),
        ("d2", 1, "b", "A", 9, 9, 1.0),
        ("d2", 1, "c", "A", 9, 9, 1.0),
        ("d2", 2, "a", "A", 9, 9, 1.0),
        ("d2", 2, "b", "C", 9, 9, 0.0),
        ("d2", 2, "c", "A", 9, 9, 1.0),
    ]
    columns = ["debate", "round", "agent", "vote", "logic", "computation", "right"]
    table = pd.DataFrame(rows, columns=columns).astype({"logic": float, "computation": float})
    return table.assign(question=(table["debate"] == "d2").astype(int))


# ------------------------------------------------------------------ without the logs


def test_the_findings_hold_the_tables_that_the_study_wrote(
    run: ModuleType, made: dict[str, pd.DataFrame]
) -> None:
    from findings_tables import filled  # the study has put its folder on the path

    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    assert filled(text, run.shown(made)) == text
    assert text.count("<!-- end -->") == len(run.shown(made)) == 4


def test_what_the_findings_say_in_words_is_in_the_tables(made: dict[str, pd.DataFrame]) -> None:
    agents = {
        name: t[t["sides"] == "agents"].set_index("name") for name, t in made.items() if name != "sides"
    }
    reading, trials, said = agents["reading"], agents["trials"], agents["calibration"]
    for name in ("rank correlation with the gap", "rank correlation with growth"):
        assert reading.loc[name, "low"] > 0.3
    for name in ("area for a right leader", "area of the gap itself", "area of the signed posterior"):
        assert reading.loc[name, "low"] < 0.5 < reading.loc[name, "high"]
    assert reading.loc["area for a right leader", "estimate"] < 0.5
    assert trials.loc["after a growth", "estimate"] < trials.loc["after no growth", "estimate"] / 2
    assert trials.loc["variance minus that of independent trials", "high"] < 0
    random = trials.loc["variance minus that of random order"]
    assert random["low"] < 0 < random["high"]
    free = trials.loc["variance of w without ties"]
    assert free["low"] < 5 / 12 < free["high"] < 0.75
    assert trials.loc["first comparison", "high"] < trials.loc["last comparison", "estimate"] < 0.5
    excess = said.loc["said less right"].set_index(["method", "round"])
    first = excess.loc[("signed gap", 1)]
    assert first["low"] < 0 < first["high"]
    so_far = excess.loc[["signed gap", "wins by criterion"]].drop(index=("signed gap", 1))
    assert len(so_far) == 7
    assert (so_far["low"] > 0).all()
    alone = excess.loc["signed gap, this round alone"]
    assert ((alone["low"] < 0) & (alone["high"] > 0)).all()
    right = said.loc["right"].query("round > 1")
    assert len(right) == 9
    assert (right["estimate"] < 0.5).all()


def test_every_interval_says_its_level_and_kind(made: dict[str, pd.DataFrame]) -> None:
    for name in ("reading", "trials", "calibration"):
        assert set(made[name]["level"]) == {0.95}
        assert set(made[name]["kind"]) == {"bootstrap percentile, questions"}


def test_pairs_of_agents_last_and_a_missing_vote_is_not_a_wrong_one(run: ModuleType) -> None:
    pairs = run.by_agents(_table())
    assert pairs.lead.shape == (6, 2)
    assert pairs.question.tolist() == [0, 1] * 3
    # (a, b), (a, c), (b, c), each over both debates
    assert pairs.lead[::2].tolist() == [[1, 0], [3, 9], [2, 9]]
    assert pairs.decided[::2].tolist() == [[True, False], [True, False], [False, False]]
    assert pairs.decided[1].tolist() == [False, True]
    with pytest.raises(ValueError, match="every agent must have a turn in every round; got 11"):
        run.by_agents(_table().iloc[:-1])


def test_an_answer_has_its_supporters_mean_and_no_score_without_them(run: ModuleType) -> None:
    pairs = run.by_answers(_table())
    assert pairs.question.tolist() == [0]
    np.testing.assert_array_equal(pairs.scores[0], [[18, 16], [19, np.nan]])
    assert pairs.decided.tolist() == [[True, False]]


def test_intervals_resample_questions_and_repeat(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten copies of a question are one question: copying every row leaves the interval as it was."""
    monkeypatch.setattr(run, "REPLICATES", 200)
    values = np.random.default_rng(1).normal(size=30)
    once = run.with_intervals(np.arange(30), lambda rows: {"mean": float(values[rows].mean())})
    copied = np.tile(values, 10)
    ten = run.with_intervals(
        np.tile(np.arange(30), 10), lambda rows: {"mean": float(copied[rows].mean()), "no": np.nan}
    )
    np.testing.assert_allclose(once.loc[0, ["low", "high"]].tolist(), ten.loc[0, ["low", "high"]].tolist())
    assert ten.loc[1, ["low", "high"]].isna().all()


# ------------------------------------------------------------------ with the logs


@pytest.mark.real_data
def test_the_tables_are_those_of_the_logs(
    run: ModuleType, made: dict[str, pd.DataFrame], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "REPLICATES", 10)
    found = run.study(data_dir)
    pd.testing.assert_frame_equal(found["sides"], made["sides"], rtol=1e-5, check_dtype=False)
    for name in ("reading", "trials", "calibration"):
        drop = ["low", "high"]
        pd.testing.assert_frame_equal(
            found[name].drop(columns=drop), made[name].drop(columns=drop), rtol=1e-5, check_dtype=False
        )


@pytest.mark.real_data
def test_the_points_are_those_that_were_extracted_another_way(run: ModuleType, data_dir: Path) -> None:
    """By regular expression instead of the importer: the same 2,400 points, agent by agent."""
    table = run.turns(data_dir)
    other = pd.read_csv(data_dir / "derived" / "nilgeoutim_critic_scores.csv")
    key = other["log"] + "/" + (other["item"] + 1).astype(str)
    other = other.assign(debate=key, agent=[f"agent {a + 1}" for a in other["agent"]])
    both = table.merge(other, on=["debate", "round", "agent"], validate="one_to_one")
    assert len(both) == len(table) == 2400
    np.testing.assert_array_equal(both["logic"], both["logic_score"])
    np.testing.assert_array_equal(both["computation"], both["computation_score"])


@pytest.mark.real_data
@pytest.mark.slow
def test_the_intervals_are_those_of_the_logs(
    run: ModuleType, made: dict[str, pd.DataFrame], data_dir: Path
) -> None:
    pairs = run.by_agents(run.turns(data_dir))
    expected = made["trials"][made["trials"]["sides"] == "agents"].reset_index(drop=True)
    found = run.trials(pairs)
    np.testing.assert_allclose(found[["low", "high"]], expected[["low", "high"]], rtol=1e-5)
