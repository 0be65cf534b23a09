"""The shipped tables: what they hold, and that they can be rebuilt."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats import datasets

ROOT = Path(__file__).resolve().parents[1]

POOLED = {
    "asked": (
        [14, 15, 9, 7, 14, 11, 10, 80],
        [19, 9, 6, 7, 7, 6, 6, 100],
        [24, 6, 4, 6, 7, 6, 3, 104],
    ),
    "strict": (
        [14, 14, 12, 8, 10, 10, 12, 80],
        [18, 11, 5, 8, 5, 7, 5, 101],
        [23, 5, 6, 6, 4, 5, 5, 106],
    ),
}


@pytest.mark.parametrize("reading", POOLED)
def test_slm7_has_its_stated_counts_when_missing_is_wrong(reading: str) -> None:
    counts = datasets.load_slm7(reading).counts(missing="wrong")
    for played, expected in enumerate(POOLED[reading], start=1):
        row = np.zeros(8, dtype=int)
        row[counts[played].keys[:, 0]] = counts[played].weights.astype(int)
        assert row.tolist() == expected


def test_slm7_is_160_debates_of_40_questions_in_8_logs() -> None:
    trajectories = datasets.load_slm7()
    assert trajectories.votes.shape == (160, 3, 7)
    assert len(trajectories.cluster_names) == 40
    assert np.bincount(trajectories.cluster).tolist() == [4] * 40
    assert pd.Series(trajectories.groups).value_counts().tolist() == [20] * 8
    assert (trajectories.label >= 0).all()
    assert int((trajectories.votes < 0).sum()) == 147
    assert int((datasets.load_slm7("strict").votes < 0).sum()) == 206


def test_slm7_is_small_sorted_and_numeric_and_holds_no_text() -> None:
    content = datasets.path("slm7").read_bytes()
    assert len(content) < 120_000
    assert b"\r" not in content
    frame = pd.read_csv(datasets.path("slm7"), dtype={"vote": "Int64"})
    assert frame.columns.tolist() == ["debate", "question", "log", "round", "agent", "vote", "label"]
    keys = frame[["debate", "round", "agent"]]
    assert keys.equals(keys.sort_values(["debate", "round", "agent"]).reset_index(drop=True))
    assert not keys.duplicated().any()
    by_debate = frame[["debate", "log", "question"]].drop_duplicates()
    assert by_debate.equals(by_debate.sort_values(["log", "question"]))
    assert len(frame[["question", "label"]].drop_duplicates()) == 40


def test_slm7_mmlu_letters_are_coded_by_their_place() -> None:
    frame = pd.read_csv(datasets.path("slm7"), dtype={"vote": "Int64"})
    mmlu = frame[frame["log"].str.startswith("mmlu")]
    assert mmlu["label"].between(0, 3).all()
    assert mmlu["vote"].dropna().between(0, 3).all()


def test_round_counts_exclude_missing_votes_and_cover_39_logs() -> None:
    counts = datasets.load_round_counts()
    assert len(counts) == 39
    assert counts["gsm_3_3_top100__918fa1ec"].rounds == (1, 2, 3)
    assert counts["eot/GSM8K"].rounds == (1,)
    assert counts["eot/GSM8K"].n_obs == 50
    assert set(counts["slm/mmlu/Qwen3-0.6B/agents7"].pooled().trials) != {7}
    frame = pd.read_csv(datasets.path("round_counts"))
    assert (frame["trials"] > 0).all()


def test_every_shipped_table_has_its_source_beside_it() -> None:
    for name in datasets.NAMES:
        assert datasets.path(name).is_file()
        story = datasets.path(name).with_name(f"{name.partition('_')[0] if 'slm7' in name else name}.md")
        text = story.read_text(encoding="utf-8")
        assert "@f535f16a" in text or "`f535f16a`" in text
        assert "python analysis/build_" in text


def test_an_unknown_table_or_reading_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'slm7', .*; got name='slm8'"):
        datasets.path("slm8")
    with pytest.raises(ValueError, match="reading must be one of 'asked', 'strict'; got reading='loose'"):
        datasets.load_slm7("loose")


@pytest.mark.real_data
def test_rebuilding_slm7_from_the_archive_gives_the_identical_bytes(data_dir: Path, tmp_path: Path) -> None:
    archive = next((data_dir / "lferreiraMD__slm_multiagent_debate").glob("*.tar.gz"))
    command = [sys.executable, "analysis/build_slm7.py", str(archive), "-o", str(tmp_path)]
    subprocess.run(command, check=True, timeout=120, cwd=ROOT)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "slm7.csv",
        "slm7_questions.csv",
        "slm7_strict.csv",
    ]
    for rebuilt in tmp_path.iterdir():
        assert rebuilt.read_bytes() == datasets.path(rebuilt.stem).read_bytes()


@pytest.mark.real_data
def test_rebuilding_the_round_counts_gives_the_identical_bytes(data_dir: Path) -> None:
    build = runpy.run_path(str(ROOT / "analysis" / "build_round_counts.py"))["build"]
    assert build(data_dir).encode() == datasets.path("round_counts").read_bytes()
