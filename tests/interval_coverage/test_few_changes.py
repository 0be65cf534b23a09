"""The interval of a comparison covers, and its test keeps its size, however few clusters changed; shares near 1 too.

The fast layer holds the study's tables to that and its code to a small run; the slow layer draws other data sets,
as many as the study.
"""

from __future__ import annotations

import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri, stdtr, stdtrit

from d3stats.inference import noninferiority, paired_difference

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


def test_the_cells_with_the_largest_sizes_keep_their_size_in_many_more_data_sets() -> None:
    cell = ["sizes", "clusters", "changed"]
    first, again = table("changes"), table("again")
    null = first[first["gains"] == 0.5].nlargest(6, "rejected")
    assert set(map(tuple, again[cell].to_numpy())) == set(map(tuple, null[cell].to_numpy()))
    assert again["replicates"].min() == 40_000
    most = again.loc[again.groupby(cell)["replicates"].idxmax()]
    error = np.sqrt(most["rejected"] * (1 - most["rejected"]) / most["replicates"])
    assert (most["rejected"] + 2 * error <= 0.055).all(), most
    assert (again["coverage"] >= 0.94).all()


def test_the_findings_hold_the_tables_of_few_changes() -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(FOLDER.parent / "findings_tables.py"))["filled"]
    again = few.shown_again(table("again"), table("changes"))
    assert fill(text, {"changes": few.shown_changes(table("changes")), "again": again}) == text


def rejected_by_hand(change: Any, size: Any, flips: Any) -> Any:
    """The default test of a comparison written once more, for many data sets (rows) of 0/1 values by cluster."""
    items, g = size.sum(axis=1, keepdims=True), size.shape[1]
    mean, share = change.sum(axis=1, keepdims=True) / items, size / items
    away, square = change - mean * size, (share**2).sum(axis=1)
    left_out = (g - 1) / g * ((away / (items - size)) ** 2).sum(axis=1)
    variance = flips.sum(axis=1) / items[:, 0] - mean[:, 0] ** 2
    within = (away**2 / (size * (1 - share))).sum(axis=1) / variance
    alike = np.minimum((within - g) / (items[:, 0] - g), 1)
    by_items = variance * (alike * square + (1 - alike) / items[:, 0])
    error = np.sqrt(np.maximum(left_out, by_items))
    # Most items did not change, so that a cluster's distance from the usual change is the size of its own.
    assert (2 * flips.sum(axis=1) < items[:, 0]).all()
    moved = np.minimum((share * (change != 0)).sum(axis=1) / square, (change != 0).sum(axis=1))
    moved = np.minimum(moved, np.abs(change).sum(axis=1) ** 2 / np.maximum((change**2).sum(axis=1), 1e-12))
    df = np.minimum(np.maximum(moved, 2), 1 / square - 1)
    return 2 * stdtr(df, -np.abs(mean[:, 0] / error)) <= 0.05


def test_the_cell_with_the_largest_size_keeps_it_by_a_second_implementation_of_the_rule() -> None:
    world, rng, rejected = CONFIG["few_changes"], np.random.default_rng(FRESH), []
    for i in range(60):
        data = few.draw_changes(world, "geometric", 40, 20, 0.5, rng)
        sums = data.totals[:, 2:].T[:, None]
        moved = np.bincount(data.cluster, weights=data.first != data.second)[None]
        assert rejected_by_hand(*sums, moved) == (data.change_t(0.95)[2] <= 0.05), i
    touch = 20 / (40 * few.mean_over_sizes("geometric", lambda n: n))
    for _ in range(20):
        size = few.sizes_of("geometric", (4_000, 40), rng)
        flips = (rng.random(size.shape) < np.minimum(1, touch * size)) * (
            1 + rng.binomial(size - 1, world["hit"])
        )
        up = np.where(rng.random(size.shape) < 0.5, world["aligned"], 1 - world["aligned"])
        rejected.append(rejected_by_hand(2 * rng.binomial(flips, up) - flips, size, flips).mean())
    assert 0.03 < np.mean(rejected) <= 0.055, np.mean(rejected)


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


@pytest.mark.parametrize(
    ("changed", "runs"), [(3, 80), *(pytest.param(n, 200, marks=pytest.mark.slow) for n in (3, 5, 10, 20))]
)
def test_a_small_run_covers_and_keeps_its_size(changed: int, runs: int) -> None:
    for gains in (0.5, 0.75):
        row = few.change_cell(CONFIG | {"seed": FRESH}, "1 to 12", 40, changed, gains, runs)
        assert row["coverage"] >= 0.94 - 4 * np.sqrt(0.94 * 0.06 / runs)
        assert not row["rejected"] > 0.055 + 4 * np.sqrt(0.055 * 0.945 / runs)


@pytest.mark.parametrize("runs", [500, pytest.param(1_500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("changed", "least", "claims"), [(3, 0.04, 0.0), (20, 0.0, 0.075)])
def test_one_limit_misses_more_often_than_both_with_few_changes_on_one_side_and_claims_nothing(
    changed: int, least: float, claims: float, runs: int
) -> None:
    """All clusters that changed got worse (costs rose) by exactly the margin; "not worse" is wrong every time."""
    world, rng = CONFIG["few_changes"], np.random.default_rng([FRESH, changed])
    true = few.true_difference(world, "geometric", 100, changed, 1.0)
    near = claimed = 0
    for _ in range(runs):
        data = few.draw_changes(world, "geometric", 100, changed, 1.0, rng)
        if data.why_no_spread() or data.change_t(0.9)[1] >= true:
            continue
        near += 1
        pair = paired_difference(data.first, data.second, data.cluster)
        claimed += bool(noninferiority(pair, true, better="lower").holds)
    assert least < near / runs <= 0.095 + 2 * np.sqrt(0.09 * 0.91 / runs)
    assert claimed / runs <= claims


@pytest.mark.parametrize("clusters", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 40))])
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "without", "with_it"), [(0.05, 0.95, 0.88, 0.95), (0.02, 0.92, 0.87, 0.95)]
)
def test_where_most_items_change_clusters_that_changed_as_most_carry_no_degrees(
    first: float, second: float, without: float, with_it: float
) -> None:
    """20 questions of five items whose normals correlate by .9: the numbers of docs/methods/compare.md."""
    cluster, held = np.repeat(np.arange(20), 5), np.zeros((800, 2))
    printed = np.zeros(800, dtype=bool)
    for k in range(800):
        rng = np.random.default_rng([FRESH, k])
        alike, own = rng.standard_normal((2, 20)), rng.standard_normal((2, 100))
        scores = np.sqrt(0.9) * alike[:, cluster] + np.sqrt(0.1) * own
        a, b = (scores < ndtri([[first], [second]])).astype(float)
        e = paired_difference(a, b, cluster).difference
        printed[k] = e.low is not None
        if e.low is not None:
            plain = float(stdtrit(19, 0.975)) * e.se
            held[k] = abs(e.value - second + first) <= plain, e.low <= second - first <= e.high
    plain, now = held[printed].mean(axis=0)
    assert (round(float(plain), 2), round(float(now), 2)) == (without, with_it)
