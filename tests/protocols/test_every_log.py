"""Whatever the protocol, its log is sound, becomes arrays, counts alike on both paths, and can be shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from d3stats.log import count_log, doctor, read_log, write_parquet
from d3stats.log.counting import _count_in_pieces
from d3stats.log.files import find_files
from d3stats.log.reader import iter_records
from d3stats.log.transcript import list_debates, read_transcript
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.items import DebateItem, read_items
from d3stats.run.run import run_debates
from d3stats.trajectories import MISSING, Trajectories
from d3stats.values import MISSING_WORDS
from d3stats.worlds import Assembly
from d3stats.worlds.streams import synthetic_agent, synthetic_items

SILENT = {"advocate", "aggregator", "summarizer", "assigner"}
"""Roles that have nothing to vote for in any protocol."""

PLAYED = [*protocols(), "single_judge:calibrate=true", "samre:poll=every_round"]


@pytest.mark.parametrize("text", PLAYED)
def test_the_log_of_any_protocol_is_sound_and_reads_into_arrays(tmp_path: Path, text: str) -> None:
    items = [
        DebateItem(item.question, item.text, item.candidates, item.answers, item.label)
        for item in synthetic_items(Assembly(), 2, seed=3)
    ]
    path = tmp_path / "log.jsonl"
    asyncio.run(run_debates(protocol_from_text(text), items, synthetic_agent(Assembly(), seed=4), path))

    report = doctor(path)
    assert report.exit_code == 0, report.to_text()
    turns = [record for record in iter_records(path) if record.type == "turn"]
    arrays = Trajectories.from_log(path)
    voters = {(turn.debate, turn.agent) for turn in turns if turn.vote is not None}
    assert arrays.panel.sum() >= len(voters)
    assert not SILENT & {turn.role for turn in turns if (turn.debate, turn.agent) in voters}
    assert (arrays.votes != MISSING).sum() == sum(turn.vote is not None for turn in turns)
    assert arrays.tokens is not None
    spent = sum((turn.tokens_in or 0) + (turn.tokens_out or 0) for turn in turns)
    assert np.nansum(arrays.tokens) == spent
    for missing in ("exclude", "wrong"):
        fast = _count_in_pieces(find_files([path]), missing, MISSING_WORDS)  # type: ignore[arg-type]
        exact = count_log(path, missing=missing)  # type: ignore[arg-type]
        assert fast is not None, "not counted in pieces"
        assert fast == exact
        assert exact.rounds == arrays.counts(missing)  # type: ignore[arg-type]
    assert read_log(write_parquet(path, tmp_path / "log.parquet")) == read_log(path)
    assert sorted(line.debate for line in list_debates(path) if line.closed) == sorted(arrays.debates)
    shown = read_transcript(path, arrays.debates[0])
    assert sum(map(len, shown.rounds.values())) == len(shown.turns)
    assert {item.question: item for item in read_items(path)} == {item.question: item for item in items}
