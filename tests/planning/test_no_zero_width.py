"""Where every resample gives the same value there is an estimate and no interval."""

from __future__ import annotations

import numpy as np

from d3stats import Trajectories, plan, replay
from d3stats.worlds import Voter, simulate_debates


def test_no_interval_of_a_replay_has_no_width() -> None:
    rng = np.random.default_rng(4)
    for n, share in ((3, 0.9), (8, 1.0), (20, 0.6)):
        votes = np.where(rng.random((n, 3, 3)) < share, "A", "B")
        log = Trajectories.from_arrays(votes, ["A"] * n)
        table = replay(log, ["fixed:1", "fixed:2", "unanimity"]).to_frame()
        for column in [c for c in table if c.endswith("_low")]:
            low, high = table[column], table[column.replace("_low", "_high")]
            known = low.notna() & high.notna()
            assert (low[known] < high[known]).all(), column
        rounds = table.set_index("rule")["rounds"]
        assert rounds["fixed:1"] == 1
        assert rounds["fixed:2"] == 2


def test_no_interval_of_a_plan_has_no_width() -> None:
    for panel, rounds, seed in ((3, 3, 1), (5, 4, 2)):
        pilot = simulate_debates(Voter(panel=panel, accuracy=0.7), n_debates=30, n_rounds=rounds, rng=seed)
        table = plan(pilot, limit=False, n_draws=40, rng=1).to_frame().set_index("rule")
        for column in [c for c in table if c.endswith("_low")]:
            low, high = table[column], table[column.replace("_low", "_high")]
            assert (low.isna() == high.isna()).all(), column
            assert (low.dropna() < high.dropna()).all(), column
        assert table.loc["unanimity", "saved"] == 0
        assert np.isnan(table.loc["unanimity", "saved_low"])
        assert table.loc["fixed:1", "rounds"] == 1
