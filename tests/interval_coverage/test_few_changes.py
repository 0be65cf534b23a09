"""The interval of a comparison covers, and its test keeps its size, however few clusters changed; shares near 1 too.

The fast layer holds the study's tables to that and its code to a small run; the slow layer draws other data sets,
as many as the study.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "simulations" / "interval_coverage"
sys.path.insert(0, str(FOLDER))

import few  # noqa: E402  # studies are no package

CONFIG: dict[str, Any] = tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))
FRESH = 9001
"""A seed that the study does not use."""


def table(stem: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{stem}.csv")


def covers(found: pd.DataFrame, given: pd.Series) -> None:
    """Coverage of at least 94 %, up to two Monte Carlo errors."""
    slack = 2 * np.sqrt(0.94 * 0.06 / given)
    assert (found["coverage"] >= 0.94 - slack).all(), found


def keeps_its_size(found: pd.DataFrame) -> None:
    """At most 5.5 % rejected where nothing is true, up to two Monte Carlo errors."""
    null = found[found["gains"] == 0.5]
    assert len(null)
    slack = 2 * np.sqrt(0.055 * 0.945 / null["replicates"])
    assert (null["rejected"] <= 0.055 + slack).all(), null


def test_the_study_covers_and_keeps_its_size_with_three_to_twenty_changed_clusters() -> None:
    found = table("changes")
    assert sorted(found["changed"].unique()) == [3, 5, 10, 20]
    assert (found["replicates"] == 4000).all()
    assert found["coverage"].min() >= 0.94
    assert found["rejected"].max() <= 0.0555
    assert found["coverage_usual"].min() < 0.86
    assert found["rejected_usual"].max() > 0.07


def test_the_study_covers_shares_near_one_in_ten_twenty_and_forty_clusters() -> None:
    found = table("shares")
    assert sorted(found["clusters"].unique()) == [10, 20, 40]
    assert sorted(found["share"].unique()) == [0.9, 0.95, 0.98]
    assert (found["replicates"] == 4000).all()
    assert found["coverage"].min() >= 0.94
    assert found["coverage_t"].min() < 0.5


@pytest.mark.parametrize("sizes", few.SIZES)
def test_the_true_difference_is_that_of_a_large_draw(sizes: str) -> None:
    rng = np.random.default_rng([1, few.SIZES.index(sizes)])
    for gains in (0.5, 0.75, 1.0):
        data = few.draw_changes(CONFIG["few_changes"], sizes, 20_000, 4_000, gains, rng)
        found = data.interval("cluster t", 0.95)
        true = few.true_difference(CONFIG["few_changes"], sizes, 20_000, 4_000, gains)
        assert found.se
        assert abs(found.value - true) < 4.5 * found.se
        assert data.changed == pytest.approx(4_000, rel=0.1)


@pytest.mark.parametrize("changed", [3, 5, 10, 20])
def test_a_small_run_covers_and_keeps_its_size(changed: int) -> None:
    for gains in (0.5, 0.75):
        row = few.change_cell(CONFIG | {"seed": FRESH}, "1 to 12", 40, changed, gains, 200)
        assert row["coverage"] >= 0.94 - 4 * np.sqrt(0.94 * 0.06 / 200)
        assert not row["rejected"] > 0.055 + 4 * np.sqrt(0.055 * 0.945 / 200)


@pytest.mark.parametrize("clusters", [10, 20, 40])
def test_a_small_run_covers_shares_near_one(clusters: int) -> None:
    for share in (0.9, 0.98):
        row = few.share_cell(CONFIG | {"seed": FRESH}, "1 to 12", clusters, share, 0.3, 300)
        assert row["coverage"] >= 0.94 - 4 * np.sqrt(0.94 * 0.06 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", few.SIZES)
@pytest.mark.parametrize("clusters", [40, 100])
def test_fresh_data_sets_of_few_changes_are_covered(sizes: str, clusters: int) -> None:
    rows = [
        few.change_cell(CONFIG | {"seed": FRESH}, sizes, clusters, changed, gains, 4000)
        for gains in CONFIG["few_changes"]["gains"]
        for changed in CONFIG["few_changes"]["changed"]
    ]
    found = pd.DataFrame(rows)
    print(few.shown_changes(found).to_string())
    covers(found, found["replicates"] * (1 - found["no_interval"]))
    keeps_its_size(found)


@pytest.mark.slow
def test_fresh_data_sets_of_shares_near_one_are_covered() -> None:
    found = few.shares(CONFIG | {"seed": FRESH})
    print(few.shown_shares(found).to_string())
    covers(found, found["replicates"])
