"""Counts that are kept in a file are those of the log, and no command takes the file for debates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.counts import RoundCounts, TransitionCounts
from d3stats.log import LogCounts, count, count_log, read_counts, write_counts
from d3stats.models.mixtures import fit_rounds
from d3stats.note import Note
from d3stats.trajectories import Trajectories


def some_log(path: Path, seed: int, *, gaps: float = 0.1, deep: int = 4) -> Path:
    """Write debates of one to `deep` rounds with missing votes; some labels are missing too."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"s{seed}d{d}",
            r,
            f"a{a}",
            None if rng.random() < gaps else "AB"[rng.integers(2)],
            None if d == 3 else "A",
        )
        for d in range(30)
        for r in range(1, 2 + rng.integers(deep))
        for a in range(5)
    ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("missing", ["exclude", "wrong"])
def test_counts_come_back_from_a_file_as_they_were(tmp_path: Path, missing: str) -> None:
    logs = [some_log(tmp_path / f"{k}.csv", k) for k in range(3)]
    counts = count(*logs, missing=missing)  # type: ignore[arg-type]
    assert counts == count_log(*logs, missing=missing)  # type: ignore[arg-type]
    kept = read_counts(write_counts(counts, tmp_path / "counts.parquet"))
    assert kept == counts
    assert kept.notes == counts.notes
    assert_frame_equal(kept.to_frame("cells"), counts.to_frame("cells"), check_exact=True)
    parts = [write_counts(count(log, missing=missing), log.with_suffix(".parquet")) for log in logs]  # type: ignore[arg-type]
    assert read_counts(*parts) == counts


def test_any_reader_of_parquet_gets_the_counts_of_rounds_and_of_transitions(tmp_path: Path) -> None:
    log = some_log(tmp_path / "log.csv", 1)
    write_counts(count(log), tmp_path / "counts.parquet")
    cells = pd.read_parquet(tmp_path / "counts.parquet")
    t = Trajectories.from_log(log)
    assert RoundCounts.from_frame(cells) == t.counts()
    assert TransitionCounts.from_frame(cells[cells["next_trials"].notna()].astype("int64")) == t.transitions()
    assert (cells["weight"] > 0).all()


def test_what_was_left_out_and_said_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,a,B,A\nd,1,b,B,A\n")
    counts = count(log, log, lenient=True)
    assert len(counts.problems) == 1
    assert any("was given 2 times and is read once" in note for note in counts.notes)
    noted = replace(counts, notes=(*counts.notes, Note("it's odd", kind="odd", severity="warning", n=2)))
    kept = read_counts(write_counts(noted, tmp_path / "counts.parquet"))
    assert kept.problems == counts.problems
    assert kept.notes == noted.notes
    assert vars(kept.notes[-1]) == vars(noted.notes[-1])


def test_a_fit_of_a_file_of_counts_is_the_fit_of_the_counts(tmp_path: Path) -> None:
    logs = [some_log(tmp_path / f"{k}.csv", k, gaps=0) for k in range(2)]
    path = write_counts(count(*logs), tmp_path / "counts.parquet")
    expected = fit_rounds(Trajectories.from_log(*logs).counts(), n_components=1, rng=0)
    for source in (path, d3stats.open(path), read_counts(path), count(*logs)):
        found = fit_rounds(source, n_components=1, rng=0)
        assert_frame_equal(found.to_frame(), expected.to_frame(), check_exact=True)
    done = CliRunner().invoke(app, ["fit", str(path), "-k", "1"])
    assert done.exit_code == 0, done.output
    assert "No intervals: counts do not tell which debates share a question" in done.output
    assert f"{expected.fits[0].n_obs:g}" in done.output


@pytest.mark.parametrize(
    "words", ["replay", "agreement", "plan", "compare", "report", "fit --level 0.9", "abstain"]
)
def test_what_needs_debates_refuses_counts_with_a_next_step(
    tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_counts(count(some_log(tmp_path / "log.csv", 1)), tmp_path / "counts.parquet")
    command, *options = words.split()
    logs = ["counts.parquet"] * (2 if command == "compare" else 1)
    done = CliRunner().invoke(app, [command, *logs, *options], env={"COLUMNS": "400"})
    assert done.exit_code == 1
    expected = (
        "must come with the log itself" if options else "a log must hold debates; got counts of rounds alone"
    )
    assert expected in done.stderr


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    log = some_log(tmp_path / "log.csv", 1)
    kept = write_counts(count(log), tmp_path / "kept.parquet")
    wrong = write_counts(count(log, missing="wrong"), tmp_path / "wrong.parquet")
    with pytest.raises(ValueError, match=r"all be counts; got counts in .*kept\.parquet beside .*log\.csv"):
        d3stats.open([kept, log])
    with pytest.raises(ValueError, match=r"missing must be the same to add; got 'exclude' and 'wrong'"):
        d3stats.open([kept, wrong])
    with pytest.raises(ValueError, match=r"columns must be left out for counts; got .*; give it where"):
        d3stats.open(kept, columns={"debate": "d"})
    with pytest.raises(
        ValueError, match=r"missing must be 'wrong' for .*; got 'exclude'; count the logs again"
    ):
        d3stats.open(wrong).counts()
    with pytest.raises(ValueError, match=r"log\.csv must be a file of counts; got another file; make one"):
        read_counts(log)
    with pytest.raises(ValueError, match=r"dest must end in \.parquet"):
        write_counts(count(log), tmp_path / "counts.csv")
    one, two = RoundCounts.from_columns([1], [1], [2]), TransitionCounts.from_columns([1], [0], [2], [1], [2])
    with pytest.raises(ValueError, match="rounds must hold every debate of transitions"):
        LogCounts(one, two, 4, 1).to_frame("cells")


def test_the_command_refuses_where_it_cannot_write_and_counts_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    some_log(tmp_path / "log.csv", 1)
    for words, why in (
        ("-o counts.csv", "--output must end in .parquet; got 'counts.csv'"),
        ("-o none/counts.parquet", "the folder of --output must exist"),
        ("--overwrite", "--overwrite must come with --output"),
    ):
        done = CliRunner().invoke(app, ["count", "log.csv", *words.split()], env={"COLUMNS": "400"})
        assert (done.exit_code, why in done.stderr) == (1, True), done.output
    for more, code in (([], 0), ([], 1), (["--overwrite"], 0)):
        done = CliRunner().invoke(app, ["count", "log.csv", "-o", "counts.parquet", *more])
        assert done.exit_code == code, done.output
    counts = count("log.csv")
    assert done.output.startswith(f"{counts.n_turns} turns of 30 debates of at most 4 rounds.")
    found = counts.to_frame()
    assert found["votes"].sum() == (counts.rounds.keys[:, 2] * counts.rounds.weights).sum()
    assert (found["share"] == found["right"] / found["votes"]).all()


def test_the_sheet_of_a_workbook_is_chosen_and_refused_elsewhere(tmp_path: Path) -> None:
    log = pd.read_csv(some_log(tmp_path / "log.csv", 1))
    with pd.ExcelWriter(tmp_path / "log.xlsx") as book:
        log.head(20).to_excel(book, sheet_name="old", index=False)
        log.to_excel(book, sheet_name="new", index=False)
    assert count(tmp_path / "log.xlsx", sheet="new") == count(tmp_path / "log.csv")
    assert count(tmp_path / "log.xlsx").n_turns == 20
    with pytest.raises(
        ValueError, match=r"sheet must be left out for files that are no workbooks; got 'new'"
    ):
        count(tmp_path / "log.csv", sheet="new")
    with pytest.raises(ValueError, match=r"scorer must be left out for files that are no logs of Inspect"):
        count(tmp_path / "log.csv", scorer="one")
