"""Ranks of three or more candidates: they rest on the turns that the means rest on."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import sampled

from d3stats import read_log
from d3stats.log.files import journal_path
from d3stats.planning.scores import ScoreReport, scores
from d3stats.protocols import protocol_from_text
from d3stats.run import debate
from d3stats.run.items import DebateItem
from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items

SIDES, CRITERIA = ("A", "B", "C"), ("clear", "sound")


def report(points: np.ndarray, folder: Path, *, drop: Collection[tuple[int, int, int]] = ()) -> ScoreReport:
    """Describe points, shape (debates, sides, criteria), by one judge; those in `drop` are missing."""
    rows = []
    for d, own in enumerate(points):
        given = {
            side: {name: own[s, c] for c, name in enumerate(CRITERIA) if (d, s, c) not in drop}
            for s, side in enumerate(SIDES)
        }
        rows.append((f"d{d}", 1, "judge", json.dumps(given), "A"))
    path = folder / "log.csv"
    pd.DataFrame(rows, columns=["debate", "round", "agent", "scores", "label"]).to_csv(path, index=False)
    return scores(read_log(path))


def test_a_candidate_without_a_criterion_is_left_out_and_not_ranked_last(tmp_path: Path) -> None:
    points = np.tile(np.array([[5.0, 5.0], [9.0, 9.0], [6.0, 6.0]]), (12, 1, 1))
    found = report(points, tmp_path, drop={(d, 1, 1) for d in range(9)})
    assert found.ranks is not None
    assert found.ranks["candidate"].tolist() == ["B", "C", "A"]
    assert found.ranks["debates"].tolist() == [3, 3, 3]
    assert "ranks leave out 9 of 12 turns with scores in the last scored round" in " ".join(found.notes)


@sampled("seed", range(4), (0,))
def test_ranks_are_those_of_the_log_without_the_turns_that_are_partial(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 9, (15, 3, 2)).astype(float)
    partial = np.sort(rng.choice(15, 6, replace=False))
    drop = {(int(d), int(rng.integers(3)), int(rng.integers(2))) for d in partial}
    here = report(points, tmp_path, drop=drop)
    there = report(np.delete(points, partial, axis=0), tmp_path)
    assert here.ranks is not None
    assert there.ranks is not None
    pd.testing.assert_frame_equal(here.ranks, there.ranks)
    shown = here.means.set_index("side")["mean"]
    assert shown.to_dict() == pytest.approx(there.means.set_index("side")["mean"].to_dict())


@pytest.mark.parametrize("journal", [True, False])
def test_limits_of_means_stay_on_the_scale_that_the_journal_records(journal: bool, tmp_path: Path) -> None:
    """Six criteria of 1 to 20 points give totals from 6 to 120; without the journal the scale is unknown."""
    path, world = tmp_path / "samre.jsonl", Courtroom()
    items = [
        DebateItem(i.question, i.text, i.candidates, label=i.label) for i in synthetic_items(world, 12, 0)
    ]
    debate(protocol_from_text("samre"), items, synthetic_agent(world, 0), path)
    if not journal:
        journal_path(path).unlink()
    found = scores(path)
    known = found.means.dropna(subset="high")
    within = known["low"].ge(6).all() and known["high"].le(120).all()
    assert len(known) > 4
    assert within == journal, known
    assert found.gaps is not None
    assert not journal or found.gaps["high"].dropna().le(114).all()
