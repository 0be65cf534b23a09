"""Score gaps by round and kind of question: a hand example, what ended, what is refused, and the drawing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats.planning import score_gaps
from d3stats.plotting import plot_gap_trajectories
from d3stats.trajectories import Trajectories


def log() -> Trajectories:
    scores = np.array(
        [
            [[10.0, 4.0], [12.0, 4.0], [np.nan, np.nan]],
            [[5.0, 7.0], [5.0, 9.0], [np.nan, np.nan]],
            [[3.0, 3.0], [3.0, 4.0], [3.0, 9.0]],
        ]
    )
    votes = [[["A"]] * 3, [["B"]] * 3, [["B"]] * 3]
    return Trajectories.from_arrays(
        votes, ["A", "A", "B"], scores=scores, sides=["A", "B"], debates=list("xyz")
    )


KINDS = {"x": "coding", "y": "coding", "z": "math"}


def test_a_hand_example() -> None:
    table = score_gaps(log(), KINDS)
    coding = table[table["category"] == "coding"]
    assert coding["gap"].tolist() == [4.0, 6.0]
    assert coding["n"].tolist() == [2, 2]
    assert coding["verdict"].tolist() == [False, True]
    math = table[table["category"] == "math"]
    assert math["gap"].tolist() == [0.0, 1.0, 6.0]
    assert math["low"].isna().all()
    assert math["verdict"].tolist() == [False, False, True]


def test_the_gap_towards_the_label_has_a_sign() -> None:
    table = score_gaps(log(), KINDS, gap="label")
    assert table[table["category"] == "coding"]["gap"].tolist() == [2.0, 2.0]
    assert table[table["category"] == "math"]["gap"].tolist() == [0.0, 1.0, 6.0]


def test_the_limits_of_a_distance_are_not_below_0_and_those_of_a_gap_with_a_sign_can_be() -> None:
    distance, signed = (score_gaps(log(), KINDS, gap=gap).iloc[0] for gap in ("absolute", "label"))
    # Gaps of 6 and 2 points in two debates; towards the label of 6 and -2.
    assert (distance["gap"], distance["low"]) == (4.0, 0.0)
    assert distance["high"] > 4 + 12.7 * 2 - 0.1
    assert signed["low"] < 0


def test_the_table_is_what_the_figure_draws() -> None:
    ax = plot_gap_trajectories(score_gaps(log(), KINDS))
    assert ax.get_ylabel() == "gap (raw points)"


def test_a_users_log_by_any_column(tmp_path: Path) -> None:
    t = log()
    rows = [
        (d, r + 1, "judge", "A", "A", KINDS[d], json.dumps({"A": {"c": float(a)}, "B": {"c": float(b)}}))
        for d, of in zip(t.debates, t.scores, strict=True)
        for r, (a, b) in enumerate(of)
        if not np.isnan(a)
    ]
    columns = ["debate", "round", "agent", "vote", "label", "task", "scores"]
    path = tmp_path / "log.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    found = score_gaps(path, "task")
    assert found["gap"].tolist() == score_gaps(t, KINDS)["gap"].tolist()
    with pytest.raises(ValueError, match="did you mean 'task'"):
        score_gaps(path, "tusk")


def test_logs_without_two_scored_sides_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores must be of two sides to have a gap; got sides \[\]"):
        score_gaps(Trajectories.from_arrays([[["A"]], [["B"]]], debates=["x", "y"]), KINDS)
