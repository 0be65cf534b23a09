"""Clusters of unequal size: identities with Student's t, smoothness, coverage in hostile designs, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples, sampled
from numpy.typing import NDArray
from scipy import stats

from d3stats.inference import paired_difference
from d3stats.resampling import (
    LEAST_EFFECTIVE,
    bootstrap_limits,
    cluster_t,
    cluster_totals,
    degrees_of_freedom,
    effective_clusters,
    item_error,
    item_ratio,
    jackknife,
    left_out_error,
    ratios,
    share_limits,
    too_unequal,
)
from d3stats.resampling.bootstrap import widened_level

Floats = NDArray[np.float64]
HOSTILE = {
    "five of each, the largest 200": [1, 2, 4, 8, 200] * 5,
    "doubling": [2**k for k in range(12)],
    "2x50 + 18x2": [50] * 2 + [2] * 18,
    "3x20 + 20x1": [20] * 3 + [1] * 20,
    "1x20 + 40x1": [20] + [1] * 40,
}
FRIENDLY = {"40x5": [5] * 40, "20x3": [3] * 20, "10x3": [3] * 10, "200x1": [1] * 200, "500x1": [1] * 500}
REFUSED = {"100 + 9x1": [100] + [1] * 9, "60 + 11x1": [60] + [1] * 11}
SIZES = st.lists(st.integers(1, 50), min_size=2, max_size=30)


def drawn(sizes: list[int], share: float, icc: float, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw successes (n, clusters) of Beta-Binomial clusters."""
    shape = (n, len(sizes))
    if icc == 0:
        return rng.binomial(sizes, share, shape)
    return rng.binomial(sizes, rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), shape))


@given(SIZES, st.integers(1, 9))
def test_the_effective_number_is_kishs_and_the_number_of_equal_clusters(
    sizes: list[int], copies: int
) -> None:
    assert effective_clusters(sizes) == pytest.approx(sum(sizes) ** 2 / sum(size**2 for size in sizes))
    assert 1 <= effective_clusters(sizes) <= len(sizes) + 1e-9
    assert effective_clusters([sizes[0]] * (copies + 1)) == pytest.approx(copies + 1)
    assert degrees_of_freedom([sizes[0] / 7] * (copies + 1)) == copies
    times = np.full(len(sizes), copies)
    assert effective_clusters(sizes, times) == pytest.approx(effective_clusters(sizes * copies))


@given(SIZES, st.integers(0, 2**32 - 1))
def test_the_error_of_a_ratio_is_that_of_leaving_out_each_cluster(sizes: list[int], seed: int) -> None:
    size = np.array(sizes, float)
    totals = np.column_stack([np.random.default_rng(seed).normal(size=len(size)) * size, size])
    found = cluster_t(totals, ratios((0, 1)))
    away = jackknife(totals, ratios((0, 1)))[:, 0] - found.estimate[0]
    g = len(size)
    assert found.se[0] == pytest.approx(np.sqrt((g - 1) / g * (away**2).sum()), rel=1e-6)


@given(st.integers(2, 25), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_equal_clusters_give_students_t_of_their_means_by_either_error(g: int, m: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(g, m + 1))
    means, total = values.mean(axis=1), values.sum(axis=1)
    found = cluster_t(np.column_stack([total, np.full(g, m + 1.0)]), ratios((0, 1)), symmetric=True)
    scipy = stats.ttest_1samp(means, 0.0)
    assert found.df[0] == g - 1
    assert found.p_value[0] == pytest.approx(scipy.pvalue, rel=1e-6)
    np.testing.assert_allclose(found.interval(), tuple(scipy.confidence_interval()), rtol=1e-6)
    away = total - (m + 1) * values.mean()
    alike = item_error(away, np.full(g, m + 1.0), float(values.var()))
    # The correlation of items alike is at most 1; below that the two errors are the same.
    assert alike <= found.se[0] * (1 + 1e-9)
    if (away**2).sum() / (m + 1) < 0.9 * g * (m + 1) * values.var() * (1 - 1 / g):
        assert alike == pytest.approx(found.se[0], rel=1e-9)


@given(SIZES, st.integers(0, 29), st.floats(0, 1e-6))
def test_degrees_of_freedom_move_little_with_a_size_and_not_with_a_value(
    sizes: list[int], at: int, step: float
) -> None:
    moved = np.array(sizes, float)
    moved[at % len(sizes)] += step
    assert degrees_of_freedom(moved) == pytest.approx(degrees_of_freedom(sizes), abs=1e-5)


@given(SIZES, st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1e-3, 1.0]))
@settings(max_examples=60)
def test_the_degrees_of_a_difference_move_little_when_one_item_changes(
    sizes: list[int], seed: int, step: float
) -> None:
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    second = rng.choice([0.0, 1.0], size=len(cluster), p=[0.8, 0.2])
    same = np.zeros(len(cluster))
    item = int(rng.integers(len(cluster)))
    second[item] = 0.0
    before = paired_difference(same, second, cluster, n_boot=2).data.df
    second[item] = step
    after = paired_difference(same, second, cluster, n_boot=2).data.df
    most = effective_clusters(sizes) * max(sizes) / sum(sizes)
    assert abs(after - before) <= most + 1e-9


def test_a_single_unchanged_item_does_not_move_the_degrees_of_freedom() -> None:
    """40 clusters of which the first has four items: all changed, or all but one item of the first."""
    cluster = np.repeat(np.arange(40), [4] + [2] * 39)
    rng = np.random.default_rng(3)
    second = rng.choice([-1.0, 1.0], len(cluster))
    before = paired_difference(np.zeros(len(cluster)), second, cluster, n_boot=2)
    second[2] = 0.0
    after = paired_difference(np.zeros(len(cluster)), second, cluster, n_boot=2)
    assert abs(after.data.df - before.data.df) <= 2.1


@pytest.mark.parametrize("sizes", REFUSED.values(), ids=REFUSED)
def test_one_cluster_with_most_of_the_items_has_no_interval_and_is_named(sizes: list[int]) -> None:
    size = np.array(sizes, float)
    assert effective_clusters(size) < LEAST_EFFECTIVE
    why = f"one cluster has {sizes[0]} of {sum(sizes)} items"
    assert too_unequal(size).startswith(why)
    above = np.floor(size / 2)
    above[1] = 1.0
    assert share_limits(above, size, 0.95).low is None
    assert share_limits(above, size, 0.95).note.startswith(why)
    totals = np.column_stack([above, size])
    found = cluster_t(totals, ratios((0, 1)))
    assert found.interval() == (None, None)
    assert np.isnan(found.p_value[0])
    drawn = bootstrap_limits(totals, ratios((0, 1)), kind="percentile", n_boot=50, rng=1)
    assert drawn.interval() == (None, None)
    # Also where all succeed: conditional on that, limits by the number of clusters hold nothing.
    assert share_limits(size, size, 0.95).low is None


def test_weights_say_what_clusters_carry_where_the_statistic_does_not() -> None:
    totals = np.column_stack([np.arange(6.0), np.array([9.0, 1, 1, 1, 1, 1])])
    by_ratio = cluster_t(totals, ratios((0, 1)), symmetric=True)
    given_by_hand = cluster_t(totals, lambda x: x[:, 0] / x[:, 1], weights=totals[:, 1])
    assert given_by_hand.df[0] == by_ratio.df[0] == degrees_of_freedom(totals[:, 1])
    np.testing.assert_allclose(given_by_hand.interval(), by_ratio.interval(), rtol=1e-7)
    with pytest.raises(ValueError, match=r"weights must have shape \(6,\) or \(6, 1\), none below 0"):
        cluster_t(totals, ratios((0, 1)), weights=[1.0, 2.0])


def test_bootstrap_limits_are_as_they_were_with_equal_clusters_and_wider_with_unequal_ones() -> None:
    assert widened_level(0.95, np.full(12, 3.0)) == 0.95
    levels = [widened_level(0.95, np.array([size] + [1.0] * 11)) for size in (1.0, 2.0, 3.0, 4.0)]
    assert levels == sorted(set(levels))


def share_coverage(sizes: list[int], share: float, icc: float, n: int, rng: np.random.Generator) -> float:
    size = np.array(sizes, float)
    inside = []
    for above in drawn(sizes, share, icc, n, rng):
        found = share_limits(above.astype(float), size, 0.95)
        if found.low is not None and found.high is not None:
            inside.append(found.low <= share <= found.high)
    return float(np.mean(inside))


@sampled(
    "name, share, icc",
    [
        ("five of each, the largest 200", 0.9, 0.9),
        ("five of each, the largest 200", 0.9, 0.5),
        ("doubling", 0.05, 0.5),
        ("2x50 + 18x2", 0.5, 0.9),
        ("3x20 + 20x1", 0.5, 0.5),
    ],
    (0, 2),
)
@examples(500, 1500, "n")
def test_limits_of_a_share_cover_in_hostile_designs(name: str, share: float, icc: float, n: int) -> None:
    """Counting clusters covered .50, .70, .60, .60 and .85 here; chance allows .93 less two errors."""
    covered = share_coverage(HOSTILE[name], share, icc, n, np.random.default_rng(17))
    assert covered >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / n)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [*HOSTILE.values(), *FRIENDLY.values()], ids=[*HOSTILE, *FRIENDLY])
def test_limits_of_a_share_cover_over_the_grid(sizes: list[int]) -> None:
    rng = np.random.default_rng(18)
    for share in (0.01, 0.05, 0.1, 0.5, 0.9, 0.99):
        for icc in (0.0, 0.1, 0.3, 0.5, 0.9):
            covered = share_coverage(sizes, share, icc, 1500, rng)
            assert covered >= 0.93 - 0.02, (share, icc)  # three errors: the least of 30 cells


@pytest.mark.slow  # simulations/calibration has clusters of unequal sizes
@pytest.mark.parametrize("name", [*HOSTILE, "10x3"])
@pytest.mark.parametrize("icc", [0.0, 0.5])
def test_t_limits_of_a_mean_cover_with_normal_values(name: str, icc: float) -> None:
    size = np.array({**HOSTILE, **FRIENDLY}[name], float)
    rng = np.random.default_rng(19)
    values = np.sqrt(icc) * rng.normal(size=(1500, len(size)))
    values += np.sqrt((1 - icc) / size) * rng.normal(size=(1500, len(size)))
    inside = []
    for row in values:
        low, high = cluster_t(np.column_stack([row * size, size]), ratios((0, 1))).interval()
        assert low is not None
        assert high is not None
        inside.append(low <= 0 <= high)
    assert np.mean(inside) >= 0.93 - 0.012


def difference_coverage(
    sizes: list[int], changed: float, gained: float, icc: float, n: int, rng: np.random.Generator
) -> float:
    """Return the coverage of the limits of a paired difference of right and wrong items."""
    size = np.array(sizes)
    cluster = np.repeat(np.arange(len(size)), size)
    which = drawn(sizes, changed, icc, n, rng)
    up = np.array([drawn(row.tolist(), gained, icc, 1, rng)[0] for row in which])
    truth, inside = changed * (2 * gained - 1), []
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    place = np.arange(len(cluster)) - start[cluster]
    for k, u in zip(which, up, strict=True):
        first = ((place >= u[cluster]) & (place < k[cluster])).astype(float)
        second = (place < u[cluster]).astype(float)
        found = paired_difference(first, second, cluster, n_boot=2, rng=1).difference
        if found.low is not None and found.high is not None:
            inside.append(found.low <= truth <= found.high)
    return float(np.mean(inside))


@pytest.mark.slow
@pytest.mark.parametrize("gained", [0.5, 0.7])
@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "doubling"])
def test_limits_of_a_paired_difference_cover_in_hostile_designs(name: str, gained: float) -> None:
    rng = np.random.default_rng(20)
    for changed, icc in ((0.15, 0.3), (0.5, 0.1), (0.5, 0.3)):
        assert difference_coverage(HOSTILE[name], changed, gained, icc, 1000, rng) >= 0.93 - 0.02


@pytest.mark.slow  # means of items in such clusters are the fast layer
def test_limits_of_a_paired_difference_cover_where_two_clusters_have_most_items() -> None:
    """Counting clusters covered .80 here."""
    rng = np.random.default_rng(21)
    assert difference_coverage([50] * 2 + [2] * 18, 0.5, 0.5, 0.5, 400, rng) >= 0.93 - 0.025


def test_friendly_designs_lose_no_width() -> None:
    """Equal clusters have the width of G/(G - 1) errors and t of G - 1, the formula before sizes counted."""
    rng = np.random.default_rng(22)
    for sizes in FRIENDLY.values():
        size = np.array(sizes, float)
        above = drawn(sizes, 0.4, 0.2, 1, rng)[0].astype(float)
        found = cluster_t(np.column_stack([above, size]), ratios((0, 1)), symmetric=True)
        away, g = above - above.sum() / size.sum() * size, len(size)
        old = np.sqrt(g / (g - 1) * (away**2).sum()) / size.sum() * stats.t.ppf(0.975, g - 1)
        assert (found.high[0] - found.low[0]) / 2 == pytest.approx(old, rel=1e-8)
        assert left_out_error(away / size.sum(), size) == pytest.approx(found.se[0], rel=1e-8)


def test_counts_in_cells_tell_the_sizes_of_clusters() -> None:
    """A share from counts of right and wrong has the degrees of freedom of one from right and all."""
    sizes = np.array([50, 50] + 18 * [2])
    right = np.random.default_rng(6).binomial(sizes, 0.5)
    counts = np.column_stack([right, sizes - right])
    of_cells = cluster_t(counts, lambda sums: sums[:, 0] / sums.sum(axis=1))
    of_all = cluster_t(np.column_stack([right, sizes]), ratios((0, 1)))
    assert of_cells.df == pytest.approx(of_all.df)
    assert of_cells.interval() == pytest.approx(of_all.interval())
    assert effective_clusters(sizes) - 1 == pytest.approx(of_all.df[0])


@examples(100, 400)
def test_large_clusters_that_happen_to_agree_do_not_make_a_mean_of_items_exact(n_examples: int) -> None:
    """Two clusters of 50 beside 18 of 2, one or four rounds: leaving out a cluster at a time alone held .85."""
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(20), [50, 50, *[2] * 18])
    once, held = np.ones(len(cluster)), []
    for _ in range(n_examples):
        usual = 1.0 + 3 * (rng.random(20) < 0.3)
        own = 1.0 + 3 * (rng.random(len(cluster)) < 0.3)
        rounds = np.where(rng.random(len(cluster)) < 0.6, usual[cluster], own)
        found = item_ratio("rounds", rounds, once, cluster)
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= 1.9 <= found.high)
    assert np.mean(held) >= 0.93
    assert paired_difference(rounds, rounds + 1.0, cluster).first.low == pytest.approx(found.low)
    equal = np.repeat(np.arange(20), 5)
    plain = cluster_t(cluster_totals(np.column_stack([own[:100], once[:100]]), equal), ratios((0, 1)))
    assert item_ratio("rounds", own[:100], once[:100], equal).se == pytest.approx(
        float(plain.se[0]), rel=1e-9
    )
