"""A log says the same of its raters whether it comes as a file or as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import sampled

from d3stats import Trajectories, agreement, compare, jury_curve
from d3stats.inference import as_ratings
from d3stats.inference.bias import as_judgments


def court(path: Path, seed: int, votes: str = "AB") -> Path:
    """Write debates in which advocates speak in every round and the jurors vote in some, not always the last."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(30):
        rounds, label = int(rng.integers(2, 5)), votes[rng.integers(0, 2)]
        polled = {int(rng.integers(1, rounds + 1)), 1} if rng.random() < 0.8 else {rounds}
        for r in range(1, rounds + 1):
            rows.append((f"d{d}", r, "advocate A", "advocate", None, label))
            for j in range(3):
                if r in polled:
                    right = rng.random() < 0.7
                    vote = label if right else votes[1 - votes.index(label)]
                    rows.append(
                        (f"d{d}", r, f"juror {j}", "juror", vote if rng.random() < 0.95 else None, label)
                    )
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "role", "vote", "label"])
    table.to_csv(path, index=False)
    return path


@sampled("seed", range(6), (0,))
def test_a_path_and_its_arrays_have_the_same_ratings(seed: int, tmp_path: Path) -> None:
    path = court(tmp_path / "log.csv", seed)
    arrays = Trajectories.from_log(path)
    for round_number in (None, 1):
        one, two = (as_ratings(x, round_number=round_number) for x in (path, arrays))
        assert (one.items, one.raters, one.categories) == (two.items, two.raters, two.categories)
        assert np.array_equal(one.codes, two.codes)
        assert np.array_equal(one.label, two.label)
    found = [agreement(x).to_frame() for x in (path, arrays)]
    pd.testing.assert_frame_equal(*found)
    pd.testing.assert_frame_equal(*(jury_curve(x, rng=1).to_frame() for x in (path, arrays)))
    pd.testing.assert_frame_equal(*(compare(x, x, names=["a", "b"]).to_frame() for x in (path, arrays)))


@pytest.mark.parametrize("seed", range(4))
def test_a_path_and_its_arrays_have_the_same_verdicts_for_audits_of_bias(seed: int, tmp_path: Path) -> None:
    path = court(tmp_path / "log.csv", seed)
    one, two = as_judgments(path), as_judgments(Trajectories.from_log(path))
    key = ["item", "judge"]
    votes = [
        pd.DataFrame(
            {"item": np.array(x.items)[x.item], "judge": np.array(x.judges)[x.judge], "vote": x.vote}
        )
        .sort_values(key)
        .reset_index(drop=True)
        for x in (one, two)
    ]
    pd.testing.assert_frame_equal(*votes)


def test_that_the_last_round_was_taken_is_said(tmp_path: Path) -> None:
    path = court(tmp_path / "log.csv", 1)
    said = "votes are from the last round in which raters had a turn"
    assert any(note.startswith(said) for note in agreement(path).notes)
    assert any(note.startswith(said) for note in agreement(Trajectories.from_log(path)).notes)
    assert not any(note.startswith(said) for note in agreement(path, round_number=1).notes)
