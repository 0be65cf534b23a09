"""Every lenient reading counts in a warning what it left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import d3stats
from d3stats.log import count, count_log, doctor, fix_log, read_log
from d3stats.note import Note, kind_of, severity_of
from d3stats.sources import as_trajectories
from d3stats.trajectories import Trajectories

SAID = "left out: wrong field (2), the first at {}: round='one'"

READERS: dict[str, Callable[[Path], Any]] = {
    "open": lambda path: d3stats.open(path, lenient=True).trajectories(),
    "log of open": lambda path: d3stats.open(path, lenient=True).log(),
    "as_trajectories of a frame": lambda path: as_trajectories(pd.read_csv(path), lenient=True),
    "Trajectories.from_log": lambda path: Trajectories.from_log(path, strict=False),
    "Trajectories.from_frame": lambda path: Trajectories.from_frame(pd.read_csv(path), strict=False),
    "read_log": lambda path: read_log(path, strict=False),
    "open of a DebateLog": lambda path: d3stats.open(read_log(path, strict=False)).trajectories(),
    "count_log": lambda path: count_log(path, strict=False),
    "count": lambda path: count(path, lenient=True),
}


def of_kind(notes: Any, kind: str) -> list[Note]:
    return [note for note in notes if kind_of(note) == kind]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [f"d{k},{'one' if k in (2, 3) else 1},x,A,A\nd{k},1,y,B,A\n" for k in range(5)]
    (tmp_path / "log.csv").write_text("debate,round,agent,vote,label\n" + "".join(lines))
    return tmp_path / "log.csv"


@pytest.mark.parametrize("reader", list(READERS))
def test_a_lenient_reading_counts_what_it_left_out(reader: str, path: Path) -> None:
    place = "the table, line 5" if "frame" in reader else f"{path}, line 6"
    (note,) = of_kind(READERS[reader](path).notes, "left out")
    assert note == f"WARNING: {SAID.format(place)}"
    assert severity_of(note) == "warning"


def test_every_public_reader_that_can_be_lenient_is_tried() -> None:
    tried = {name.split(" ")[0] for name in READERS} | {
        # The caller gets the problems in a list.
        "iter_records",
        # It asserts that a recorded reply was asked for, and reads no log.
        "ReplayAgent",
    }
    found = set()
    for place in (d3stats, d3stats.log, Trajectories):
        for name in dir(place) if place is Trajectories else place.__all__:
            each = getattr(place, name)
            if callable(each) and not name.startswith("_"):
                try:
                    parameters = set(inspect.signature(each).parameters)
                except ValueError:
                    continue
                if {"strict", "lenient"} & parameters:
                    found.add(f"Trajectories.{name}" if place is Trajectories else name)
    assert found
    assert found - tried == set()


def test_files_that_are_counted_one_by_one_have_one_warning(path: Path) -> None:
    (path.parent / "next.csv").write_text(path.read_text().replace("\nd", "\ne"))
    (note,) = of_kind(count(path.parent / "*.csv", lenient=True).notes, "left out")
    assert note == f"WARNING: left out: wrong field (4), the first at {path}, line 6: round='one'"


def test_the_doctor_and_a_copy_list_each_record_and_need_no_count(path: Path) -> None:
    report = doctor(path)
    assert report.problems
    assert of_kind(report.notes, "left out") == []
    assert doctor(path, log=read_log(path, strict=False)) == report
    assert not any("left out: wrong" in change for change in fix_log(path, path.parent / "new.csv").changes)
