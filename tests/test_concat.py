"""Putting logs together."""

from __future__ import annotations

import numpy as np
import pytest

from d3stats.datasets import load_slm7
from d3stats.trajectories import Trajectories


def test_the_parts_of_a_log_put_together_have_its_counts_and_verdicts() -> None:
    whole = load_slm7()
    cut = np.arange(len(whole)) % 3 == 0
    again = Trajectories.concat(whole.select(cut), whole.select(~cut))
    assert again.counts() == whole.counts()
    assert again.transitions("wrong") == whole.transitions("wrong")
    order = [again.debates.index(name) for name in whole.debates]
    answers = np.array([*again.answers, "none"])
    expected = np.array([*whole.answers, "none"])
    assert (answers[again.verdicts()[order]] == expected[whole.verdicts()]).all()
    assert set(again.cluster_names) == set(whole.cluster_names)


def test_shorter_debates_and_smaller_panels_are_padded_as_missing() -> None:
    a = Trajectories.from_arrays([[["A", "B"]]], ["A"], debates=["d1"], tokens=[[5.0]])
    b = Trajectories.from_arrays(
        [[["C", "A", "C"], ["C", "C", "C"]]], ["C"], debates=["d2"], scores=[[[1.0], [2.0]]], sides=["x"]
    )
    both = Trajectories.concat(a, b)
    assert both.votes.shape == (2, 2, 3)
    assert both.depth.tolist() == [1, 2]
    assert both.panel.tolist() == [2, 3]
    assert both.scores is not None
    assert np.isnan(both.scores[0]).all()
    assert both.tokens is not None
    assert np.isnan(both.tokens[1]).all()
    assert both.counts() == a.counts() + b.counts()


def test_a_debate_may_not_occur_twice_and_codings_do_not_mix() -> None:
    a = Trajectories.from_arrays([[["A", "B"]]], ["A"])
    with pytest.raises(ValueError, match="different names"):
        Trajectories.concat(a, a)
    b = Trajectories.from_arrays(
        [[[1, 0]]], [1], answers=["wrong", "right"], coding="correctness", debates=["z"]
    )
    with pytest.raises(ValueError, match="coding must be the same"):
        Trajectories.concat(a, b)
    with pytest.raises(ValueError, match="at least one"):
        Trajectories.concat()


def test_selecting_no_debate_gives_none() -> None:
    assert len(load_slm7().select([])) == 0
