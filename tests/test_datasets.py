"""The shipped tables: what they hold, and that they can be rebuilt."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import d3stats
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


GEMMA = {
    "reasons": (
        [0.786, 0.643, 0.599, 0.609, 0.601, 0.592],
        [1020, 2325, 2292, 2275, 2267, 2260],
        {
            1: [11, 51, 129, 275, 444, 552, 480, 237],
            2: [53, 178, 246, 301, 383, 396, 396, 226],
            3: [83, 222, 301, 268, 284, 379, 405, 237],
            6: [76, 239, 290, 283, 270, 401, 407, 213],
        },
    ),
    "votes": ([0.792, 0.710, 0.676, 0.688, 0.666, 0.688], [954, 1472, 1472, 1472, 1472, 1472], {}),
    "alone": ([0.791, 0.792, 0.788, 0.778, 0.790, 0.780], [954, 954, 954, 954, 954, 954], {}),
}
"""Share of right pluralities and tokens of a debate by round, and debates with 0 to 7 right votes."""


@pytest.mark.parametrize("heard", GEMMA)
def test_a_gemma_log_has_its_stated_counts_pluralities_and_tokens(heard: str) -> None:
    t = datasets.load_gemma(heard)
    accuracy, tokens, counts = GEMMA[heard]
    assert t.votes.shape == (2179, 6, 7)
    assert (t.votes >= 0).all()
    assert len(t.cluster_names) == 993 + 690 + 224
    right = (t.votes == t.label[:, None, None]).sum(axis=2)
    assert (right > 3).mean(axis=0).round(
        3
    ).tolist() == accuracy  # seven votes for two answers are never tied
    assert t.tokens is not None
    np.testing.assert_allclose(t.tokens.mean(axis=0), tokens, atol=0.5)
    for played, expected in counts.items():
        assert np.bincount(right[:, played - 1], minlength=8).tolist() == expected
    text = datasets.path("slm7").with_name("gemma.md").read_text(encoding="utf-8")
    assert f"| {heard} | {' | '.join(f'{share:.3f}'[1:] for share in accuracy)} |" in text


def test_the_gemma_logs_are_about_the_same_texts_and_hold_none() -> None:
    logs = {heard: datasets.load_gemma(heard) for heard in GEMMA}
    first = logs["reasons"]
    for t in logs.values():
        assert t.debates == first.debates
        assert (t.label == first.label).all()
        assert (t.cluster == first.cluster).all()
    size = {heard: datasets.path(f"gemma-{heard}").stat().st_size for heard in GEMMA}
    assert sum(size.values()) < 230_000
    columns = d3stats.open("gemma-votes").sheet().names
    assert columns == [
        "debate",
        "cluster",
        "category",
        "round",
        "agent",
        "vote",
        "label",
        "tokens_in",
        "tokens_out",
    ]


def test_every_shipped_table_has_its_source_beside_it() -> None:
    for name in datasets.NAMES:
        assert datasets.path(name).is_file()
        stem = re.sub("^(slm7|gemma).*", r"\1", name)
        text = datasets.path(name).with_name(f"{stem}.md").read_text(encoding="utf-8")
        assert "f535f16a" in text or "Hutto" in text
        assert re.search(r"python analysis/\w*/?build\w*\.py SRC", text)


def test_an_unknown_table_or_reading_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'slm7', .*; got name='slm8'"):
        datasets.path("slm8")
    with pytest.raises(
        ValueError, match="heard must be one of 'reasons', 'votes', 'alone'; got heard='aloud'"
    ):
        datasets.load_gemma("aloud")
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


@pytest.mark.slow  # 2 s; slm7 and the counts are rebuilt in the fast layer
@pytest.mark.real_data
def test_rebuilding_the_gemma_logs_gives_the_same_tables(data_dir: Path, tmp_path: Path) -> None:
    build = runpy.run_path(str(ROOT / "analysis" / "gemma_debates" / "build.py"))
    build["main"]([str(data_dir), "-o", str(tmp_path)])
    for heard in GEMMA:
        again, written = (
            duckdb.read_parquet(str(folder / f"gemma-{heard}.parquet")).df()
            for folder in (tmp_path, datasets.path("slm7").parent)
        )
        pd.testing.assert_frame_equal(again, written)
    shipped = ROOT / "analysis" / "gemma_debates" / "ratings.csv"
    assert (tmp_path / "ratings.csv").read_bytes() == shipped.read_bytes()
    rated = pd.read_csv(shipped).set_index("debate")["mean"]
    t = datasets.load_gemma("alone")
    label = pd.Series([t.answers[k] for k in t.label], index=t.debates)[rated.index]
    assert ((rated > 0) == (label == "positive")).all()
    assert (rated.abs() >= 0.6).all()
