"""A round that a stopped run cut short counts nowhere, and one sentence says how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from log_worlds import item, panel, turn, write_lines
from typer.testing import CliRunner

from d3stats import Trajectories, doctor, fit, replay
from d3stats.cli import app
from d3stats.log import count_log, read_log
from d3stats.log.counting import count

CUT = {("d9", 3, "a"), ("d9", 3, "c"), ("e9", 1, "b")}
SAID = (
    "2 rounds were cut short in 2 debates without a verdict ('d9' and others); their 3 turns are left out; to resume "
    "the run, give its command again"
)


def verdict(debate: str) -> dict[str, Any]:
    return {"type": "verdict", "debate": debate, "decision": "A"}


def run(n: int = 8) -> list[dict[str, Any]]:
    """Whole debates of a run, one that was stopped in its third round and one in its first."""
    lines: list[dict[str, Any]] = []
    for i in range(n):
        name = f"d{i}"
        own = panel(name)
        # Votes that differ, so that shares do.
        own = [each | {"vote": "AB"[(i + k) % 3 == 0]} for k, each in enumerate(own)]
        lines += [item(name), *own, verdict(name)]
    lines += [item("d9"), *panel("d9"), turn("d9", round=3, agent="a"), turn("d9", round=3, agent="c")]
    return [*lines, item("e9"), turn("e9", agent="b")]


def whole(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in lines if (each.get("debate"), each.get("round"), each.get("agent")) not in CUT]


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    lines = run()
    assert len(lines) - len(whole(lines)) == len(CUT)
    return write_lines(tmp_path / "cut.jsonl", lines), write_lines(tmp_path / "whole.jsonl", whole(lines))


def test_arrays_counts_fits_and_replays_are_those_of_the_log_without_these_turns(
    logs: tuple[Path, Path],
) -> None:
    cut, rest = (Trajectories.from_log(path) for path in logs)
    assert np.array_equal(cut.votes, rest.votes)
    assert cut.depth.tolist() == rest.depth.tolist() == [2] * 9 + [0]
    for counting in (count_log, count):
        counts = [counting(path).rounds.to_frame() for path in logs]
        pd.testing.assert_frame_equal(*counts)
    for measure in (lambda path: fit(path, n_boot=20, rng=1), lambda path: replay(path, rules=["unanimity"])):
        pd.testing.assert_frame_equal(*(measure(path).to_frame() for path in logs))


def test_strict_and_lenient_readers_count_them_in_one_sentence(logs: tuple[Path, Path]) -> None:
    path = logs[0]
    for found in (Trajectories.from_log(path), read_log(path), read_log(path, strict=False)):
        assert [note for note in found.notes if "cut short" in note] == [f"WARNING: {SAID}"]
    seen = CliRunner().invoke(app, ["replay", str(path), "--rule", "unanimity"])
    said = " ".join((seen.stdout + seen.stderr).split())
    assert said.count("cut short") == 1, said
    assert SAID in said
    report = doctor(path)
    assert sum(cause.left_out for cause in report.causes) == len(CUT)
    assert report.n_records == len(run())


def test_a_whole_last_round_of_a_debate_without_a_verdict_counts(tmp_path: Path) -> None:
    lines = [each for each in run() if each["type"] != "verdict" or each["debate"] != "d3"]
    found = Trajectories.from_log(write_lines(tmp_path / "log.jsonl", lines))
    assert found.depth[found.debates.index("d3")] == 2


def test_without_a_verdict_in_the_run_and_without_a_journal_nothing_is_left_out(tmp_path: Path) -> None:
    """Foreign logs have no verdicts; a panel that shrinks is then what the log says."""
    lines = [each for each in run() if each["type"] != "verdict"]
    found = Trajectories.from_log(write_lines(tmp_path / "log.jsonl", lines))
    assert found.depth.max() == 3
    assert not any("cut short" in note for note in found.notes)


def test_a_part_without_these_debates_has_no_note_on_them(logs: tuple[Path, Path]) -> None:
    found = Trajectories.from_log(logs[0])
    kept = np.array([name not in ("d9", "e9") for name in found.debates])
    assert found.select(kept).notes == ()
    assert found.select(~kept).notes == found.notes
    assert found.select(np.array([found.debates.index("d9")])).notes == found.notes


def test_a_part_without_absent_agents_has_no_note_on_them(tmp_path: Path) -> None:
    lines = [item("d1"), *panel("d1"), item("d2"), *panel("d2")[:-1]]
    found = Trajectories.from_log(write_lines(tmp_path / "log.jsonl", lines))
    assert [note for note in found.notes if "must have a turn" in note]
    assert not [note for note in found.select([0]).notes if "must have a turn" in note]
    assert found.select([1]).notes == found.notes
