"""A judge may be called by a word that is also another name of a field, and still votes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from layers import sampled

import d3stats
from d3stats import panel
from d3stats.inference import as_ratings
from d3stats.log import doctor
from d3stats.log.column_names import ALIASES


def wide(name: str) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.choice(["A", "B"], 60)
    votes = {judge: np.where(rng.random(60) < 0.7, label, "A") for judge in (name, "u", "v")}
    return pd.DataFrame({"item": range(60), **votes, "label": label})


NAMES = [name for tier in ALIASES["round"] for name in tier]


@sampled("name", NAMES, slice(0, None, 3))
def test_a_judge_with_a_name_of_the_round_is_a_rater(name: str) -> None:
    assert set(as_ratings(wide(name)).raters) == {name, "u", "v"}


@sampled("name", NAMES, slice(0, None, 6))
def test_a_judge_with_a_name_of_the_round_votes(name: str, tmp_path: Path) -> None:
    table = wide(name)
    assert len(panel(table, rng=1).judges) == 3
    table.to_csv(tmp_path / "wide.csv", index=False)
    report = doctor(tmp_path / "wide.csv")
    assert (report.n_turns, report.panel_sizes) == (180, {3: 60})


def test_rounds_of_a_long_table_stay_rounds() -> None:
    rows = [(d, t, a, "AB"[(d + t) % 2], "A") for d in range(8) for t in (1, 2) for a in "xyz"]
    log = d3stats.as_trajectories(pd.DataFrame(rows, columns=["debate", "t", "agent", "vote", "label"]))
    assert log.n_rounds == 2
    # Numbers beside votes are no votes.
    numbered = wide("t").assign(t=np.arange(60) % 2 + 1)
    assert set(as_ratings(numbered).raters) == {"u", "v"}
