"""A replay by stratum is the replay of the stratum's debates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats.planning.replay import ACCURACY, SAVED, replay
from d3stats.sources import as_trajectories


def log(n: int = 36) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = []
    for k in range(n):
        kind = ["coding", "ethics", "math"][k % 3]
        votes = np.where(rng.random(5) < (0.6 if kind == "ethics" else 0.85), "A", "B")
        for r in (1, 2, 3):
            rows += [(f"q{k}", r, f"agent {a}", vote, "A", kind) for a, vote in enumerate(votes)]
            votes = np.where(rng.random(5) < 0.5, max(set(votes), key=list(votes).count), votes)
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label", "task"])


def test_each_stratum_is_the_replay_of_its_debates() -> None:
    table = log()
    found = replay(table, "fixed:2", strata="task")
    # By itself a column "task" would be the question.
    bare = table.drop(columns="task")
    alone = replay(bare[table["task"] == "ethics"], "fixed:2").to_frame().set_index("rule")
    parts = {part.quantity: part for part in found.strata}
    accuracy, saved = parts[f"{ACCURACY}, fixed:2"]["ethics"], parts[f"{SAVED}, fixed:2"]["ethics"]
    row = alone.loc["fixed:2"]
    assert (accuracy.value, accuracy.low) == pytest.approx((row["accuracy"], row["accuracy_low"]))
    assert saved.value == pytest.approx(row["saved_rounds_vs_unanimity"])
    assert f"{SAVED}, unanimity" not in parts
    whole = replay(bare, "fixed:2").to_frame().set_index("rule")
    assert parts[f"{ACCURACY}, full"].overall.value == pytest.approx(whole.loc["full", "accuracy"])
    assert not any("not read" in note for note in found.notes)
    assert "by task: 3 strata" in found.summary()
    pd.testing.assert_frame_equal(found.to_frame().set_index("rule"), whole)


def test_strata_of_a_path_and_of_trajectories(tmp_path: Path) -> None:
    table = log()
    path = tmp_path / "log.csv"
    table.to_csv(path, index=False)
    found = replay(path, "fixed:1", strata="task")
    kinds = table.drop_duplicates("debate").set_index("debate")["task"]
    bare = as_trajectories(table.drop(columns="task"))
    given = replay(bare, "fixed:1", strata=kinds)
    assert [e.value for e in given.strata[0].raw] == [e.value for e in found.strata[0].raw]
    with pytest.raises(ValueError, match="strata must be a mapping of item to stratum"):
        replay(bare, "fixed:1", strata="task")
    with pytest.raises(ValueError, match="not be read as the question"):
        replay(as_trajectories(table), "fixed:1", strata=kinds)
    with pytest.raises(ValueError, match="did you mean 'task'"):
        replay(path, "fixed:1", strata="tasks")


def test_debates_without_a_stratum_are_counted() -> None:
    table = log()
    table.loc[table["debate"] == "q0", "task"] = None
    found = replay(table, "fixed:1", strata="task")
    assert "1 of 36 rows have no task and were left out" in found.strata[0].notes
