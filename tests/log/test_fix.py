"""A clean copy: what was right is in it unchanged, what was wrong is not, and every record is accounted for."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_worlds import item, panel, spoiled_lines, turn, write_lines
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import doctor, fix_log, read_log
from d3stats.trajectories import Trajectories

NOT_MENDED = {"open debate", "mixed panel"}
"""A copy invents no verdict, and no turn of an agent that has spoken in another role in that round."""

VERDICT = {"type": "verdict", "debate": "d1", "decision": "A"}


def rows(path: Path, debates: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Return what a log says of some debates."""
    log = read_log(path, strict=False)
    tables = {"items": log.items, "turns": log.turns, "verdicts": log.verdicts}
    return {
        name: json.loads(table[table["debate"].isin(debates)].to_json(orient="records"))
        for name, table in tables.items()
    }


LOGS = given(spoiled_lines(), st.sampled_from([".jsonl", ".csv", ".parquet"]))


@settings(max_examples=5)
@LOGS
def test_a_copy_is_sound_keeps_what_was_right_and_is_its_own_copy(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ending: str
) -> None:
    copy_is_sound(tmp_path_factory, lines, ending)


@pytest.mark.slow
@settings(max_examples=80)
@LOGS
def test_many_copies_are_sound(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ending: str
) -> None:
    copy_is_sound(tmp_path_factory, lines, ending)


def copy_is_sound(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ending: str) -> None:
    folder = tmp_path_factory.mktemp("fix")
    source = folder / "log.jsonl"
    source.write_bytes(b"\n".join(lines))
    log = read_log(source, strict=False)
    if log.turns.empty:
        with pytest.raises(ValueError, match="at least one turn"):
            fix_log(source, folder / f"clean{ending}")
        assert [path.name for path in folder.iterdir()] == ["log.jsonl"]
        return
    clean = folder / f"clean{ending}"
    report = fix_log(source, clean)
    assert report.n_kept + sum(report.left_out.values()) == report.n_records == log.n_records
    left = doctor(clean)
    assert left == report.after
    assert {problem.kind for problem in left.problems} <= NOT_MENDED, left.to_text()
    assert all(problem.left_out == "nothing" for problem in left.problems)
    named = {str(problem.record_key[0]) for problem in log.problems if problem.record_key}
    sound = set(log.items["debate"]) - named
    assert rows(clean, sound) == rows(source, sound)
    if not log.problems:
        ours, theirs = Trajectories.from_log(source), Trajectories.from_log(clean)
        for field in dataclasses.fields(Trajectories):
            np.testing.assert_equal(getattr(ours, field.name), getattr(theirs, field.name))
    again = folder / f"again{ending}"
    second = fix_log(clean, again)
    assert (second.left_out, second.emptied, second.changes) == ({}, {}, ())
    assert "No change was needed." in second.to_text()
    assert read_log(again, strict=False) == read_log(clean, strict=False)
    if ending != ".parquet":
        assert again.read_bytes() == clean.read_bytes()


def test_texts_and_candidates_of_json_lines_are_kept(tmp_path: Path) -> None:
    asked = item(answers=["A", "B"], candidates=["one", "two"], text="Which?")
    lines = [
        asked,
        turn(agent=" a ", text="first"),
        turn(agent="b", text="second"),
        "torn",
        turn(agent="b", text="x"),
    ]
    fix_log(write_lines(tmp_path / "log.jsonl", lines), tmp_path / "clean.jsonl")
    records = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()[1:]]
    assert records[0] == asked
    assert [(record["agent"], record["text"]) for record in records[1:]] == [("a", "first"), ("b", "second")]


def test_a_copy_says_each_change(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "debate,round,agent,vote,label,colour\n"
        "d1,0,a,6.0,6,red\nd1,0,b,N/A,6,red\nd1,1,a,6,6,red\nd1,1,b,6,6,red\nd1,1,b,7,6,red\nd1,x,a,6,6,red\n"
    )
    report = fix_log(path, tmp_path / "clean.csv")
    assert (report.n_records, report.n_kept) == (6, 4)
    assert report.left_out == {"wrong field": 1, "duplicate turn": 1}
    said = "\n".join(report.changes)
    for words in (
        "columns that were not read: colour",
        "rounds count from 0 and were shifted",
        "missing",
        "one",
    ):
        assert words in said, said
    text = report.to_text(80)
    assert "Read 6 records: 4 kept, 2 left out." in text
    assert "- left out, wrong field: 1 record\n" in text


def test_absent_agents_get_a_turn_without_a_vote_and_other_panels_a_run_of_their_own(tmp_path: Path) -> None:
    lines = [item("d1"), *panel("d1"), item("d2"), *panel("d2")[:-1], item("d3"), *panel("d3", agents="ab")]
    path = write_lines(tmp_path / "log.jsonl", lines)
    report = fix_log(path, tmp_path / "clean.parquet")
    copy = read_log(tmp_path / "clean.parquet")
    assert report.exit_code == 0
    assert copy.items["log"].tolist() == [None, None, "log (panel of 2)"]
    added = copy.turns[copy.turns["vote"].isna()]
    assert added[["debate", "round", "agent"]].to_numpy().tolist() == [["d2", 2, "c"]]
    assert added["tokens_in"].isna().all()
    assert len(report.changes) == 2


def test_a_round_that_was_cut_short_is_left_out_and_an_open_debate_is_named(tmp_path: Path) -> None:
    lines = [item("d1"), *panel("d1"), VERDICT, item("d2"), *panel("d2"), turn("d2", round=3, agent="a")]
    report = fix_log(write_lines(tmp_path / "log.jsonl", lines), tmp_path / "clean.jsonl")
    assert report.left_out == {"interrupted round": 1}
    assert report.n_kept == report.n_records - 1
    assert report.exit_code == 2
    assert "Problems that a copy cannot repair:\n- open debate (1): " in report.to_text()


def test_nothing_is_overwritten_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(
        "debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,A,A\nd,1,b,B,A\n", encoding="utf-8"
    )
    Path("there.csv").write_text("mine", encoding="utf-8")

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["doctor", "log.csv", *words])
        return done.exit_code, done.stdout + done.stderr

    assert run("--fix", "there.csv") == (
        1,
        "d3stats: the copy must be a new file; got 'there.csv', which exists; overwrite=True (--overwrite) "
        "replaces it\n",
    )
    code, said = run("--fix", "./log.csv", "--overwrite")
    assert code == 1
    assert "must be different files" in said
    assert run("--fix", "clean.txt")[0] == run("--fix", "no/clean.csv")[0] == run("--overwrite")[0] == 1
    assert Path("there.csv").read_text(encoding="utf-8") == "mine"
    code, said = run("--fix", "there.csv", "--overwrite")
    assert code == 0
    assert said.splitlines() == [
        "Wrote there.csv: 1 debate, 2 turns, 0 verdicts.",
        "Read 3 records: 2 kept, 1 left out.",
        "- left out, duplicate turn: 1 record",
        "The copy has no problems.",
    ]
    report = json.loads(run("--fix", "clean.parquet", "--json")[1])
    assert (report["n_records"], report["n_kept"], report["exit_code"]) == (3, 2, 0)
    assert report["after"]["causes"] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.parquet", "log.csv", "there.csv"]


def test_correctness_cannot_become_json_lines_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("debate,round,agent,correct\nd,1,a,1\nd,1,b,0\n")
    with pytest.raises(ValueError, match=r"name the copy \.csv or \.parquet"):
        fix_log(tmp_path / "log.csv", tmp_path / "clean.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
    assert fix_log(tmp_path / "log.csv", tmp_path / "clean.csv").n_kept == 2
