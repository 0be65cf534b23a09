"""The distance and its noise against scipy, plain loops and exact enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from scipy import stats

from d3stats.models.mixtures.ks import empirical_ks, ks_distance, ks_noise, ks_upper
from d3stats.resampling import clusters as _resample
from d3stats.resampling.bounded_means import betting_upper
from d3stats.resampling.clusters import cluster_totals, resampled_totals, swapped_totals

votes = st.integers(1, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
pairs = st.lists(st.tuples(votes, votes), min_size=1, max_size=12)


def columns(rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> list[list[int]]:
    return [list(c) for c in zip(*((*a, *b) for a, b in rows), strict=True)]


def test_the_empirical_distance_is_scipys() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        ta, tb = rng.integers(1, 8, (2, 40))
        sa, sb = rng.binomial(ta, 0.4), rng.binomial(tb, 0.6)
        expected = stats.ks_2samp(sa / ta, sb / tb, method="asymp").statistic
        assert empirical_ks(sa, ta, sb, tb) == pytest.approx(expected, abs=1e-12)


@given(pairs)
def test_the_empirical_distance_is_its_definition_point_by_point(rows: list) -> None:
    sa, ta, sb, tb = map(np.array, columns(rows))
    a, b = sa / ta, sb / tb
    expected = max(abs((a <= point).mean() - (b <= point).mean()) for point in [*a, *b])
    assert empirical_ks(sa, ta, sb, tb) == pytest.approx(expected, abs=1e-12)


@given(pairs, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_a_weight_is_a_repeat(rows: list, weights: list[int]) -> None:
    sa, ta, sb, tb = map(np.array, columns(rows))
    weight = np.array(weights[: len(sa)])
    if weight.sum() == 0:
        return
    repeated = empirical_ks(*(np.repeat(c, weight) for c in (sa, ta, sb, tb)))
    assert empirical_ks(sa, ta, sb, tb, weight) == pytest.approx(repeated, abs=1e-12)


@given(pairs)
def test_equal_trials_make_it_the_distance_between_count_pmfs(rows: list) -> None:
    sa, _, sb, _ = map(np.array, columns(rows))
    four = np.full(len(sa), 4)
    p, q = (np.bincount(s, minlength=5) / len(s) for s in (sa, sb))
    assert empirical_ks(sa, four, sb, four) == pytest.approx(ks_distance(p, q), abs=1e-12)


def test_equal_fractions_are_one_point_of_the_support() -> None:
    assert empirical_ks([1, 2, 3], [3, 3, 3], [2, 4, 6], [6, 6, 6]) == 0.0


@pytest.mark.parametrize("case", ["alike, pooled", "unlike, one by one", "unlike and many, in groups"])
def test_resampled_totals_have_the_bootstraps_mean_spread_and_correlation(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    n = 3000
    totals = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]]) + 1.0
    if case.startswith("alike"):
        totals = np.clip(np.round(totals), -1, 3)
    if case.endswith("groups"):
        monkeypatch.setattr(_resample, "MOST_UNITS", 1000)
    drawn = resampled_totals(totals, 3000, 1)
    spread = np.sqrt(n * totals.var(axis=0))
    assert drawn.mean(axis=0) == pytest.approx(totals.sum(axis=0), abs=4 * spread.max() / np.sqrt(3000))
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.1)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(totals.T)[0, 1], abs=0.08)


@examples(6, 200)
def test_the_upper_limit_is_the_largest_of_the_limits_of_all_differences(n_examples: int) -> None:
    drawn = given(pairs, st.lists(st.integers(0, 3), min_size=12, max_size=12), st.floats(0.3, 0.99))
    settings(max_examples=n_examples, deadline=None)(drawn(the_upper_limit_is_the_largest))()


def the_upper_limit_is_the_largest(rows: list, codes: list[int], level: float) -> None:
    sa, ta, sb, tb = map(np.array, columns(rows))
    cluster = np.array(codes[: len(sa)])
    limit = ks_upper(sa, ta, sb, tb, cluster=cluster, level=level)
    names = np.unique(cluster)
    sizes = [(cluster == c).sum() for c in names]
    single = []
    for point in [-1.0, *(sa / ta), *(sb / tb)]:
        gap = (sa / ta <= point).astype(float) - (sb / tb <= point)
        sums = np.array([[gap[cluster == c].sum()] for c in names])
        single += [betting_upper(sign * sums, 1 - level, sizes) for sign in (1, -1)]
    assert limit == pytest.approx(max(single), abs=1e-8)
    assert empirical_ks(sa, ta, sb, tb) <= limit <= 1


def test_copies_of_a_debate_tell_no_more_than_one() -> None:
    rng = np.random.default_rng(7)
    sa, sb, three = *rng.integers(0, 4, (2, 200)), np.full(200, 3)
    cluster = np.repeat(np.arange(200), 10)
    once = ks_upper(sa, three, sb, three)
    copied = ks_upper(*(np.repeat(x, 10) for x in (sa, three, sb, three)), cluster=cluster)
    assert copied == pytest.approx(once, abs=1e-9)
    assert copied > 1.5 * ks_upper(*(np.repeat(x, 10) for x in (sa, three, sb, three)))


def test_the_noise_band_is_the_exact_permutation_distribution() -> None:
    sa, sb = np.array([0, 3, 1, 2, 0, 3]), np.array([3, 3, 0, 2, 1, 0])
    cluster = np.array([0, 0, 1, 1, 2, 2])
    three = np.full(6, 3)
    exact = []
    for swaps in product([False, True], repeat=3):
        swap = np.array(swaps)[cluster]
        exact.append(empirical_ks(np.where(swap, sb, sa), three, np.where(swap, sa, sb), three))
    quantiles = np.array([0.1, 0.3, 0.6, 0.9])
    band = ks_noise(sa, three, sb, three, cluster=cluster, quantiles=quantiles, n_boot=20_000, rng=1)
    assert band == pytest.approx(np.quantile(exact, quantiles, method="inverted_cdf"))


def test_a_weight_is_a_repeat_in_the_exact_noise() -> None:
    sa, sb = np.array([0, 3, 1, 2]), np.array([3, 1, 0, 0])
    weight, three = np.array([1, 5, 2, 0]), np.full(4, 3)
    exact = []
    for swaps in product([False, True], repeat=4):
        swap = np.array(swaps)
        exact.append(empirical_ks(np.where(swap, sb, sa), three, np.where(swap, sa, sb), three, weight))
    quantiles = np.array([0.1, 0.3, 0.6, 0.9])
    band = ks_noise(sa, three, sb, three, weight, quantiles=quantiles, n_boot=20_000, rng=1)
    assert band == pytest.approx(np.quantile(exact, quantiles, method="inverted_cdf"))
    assert band != pytest.approx(ks_noise(sa, three, sb, three, quantiles=quantiles, n_boot=20_000, rng=1))


@examples(150, 300, "reps")
def test_without_drift_the_distance_leaves_the_noise_band_as_often_as_it_should(reps: int) -> None:
    rng = np.random.default_rng(9)
    seven = np.full(150, 7)
    outside = 0
    for _ in range(reps):
        p = rng.beta(2, 1, 150)
        sa, sb = rng.binomial(7, p), rng.binomial(7, p)
        upper = ks_noise(sa, seven, sb, seven, quantiles=[0.95], n_boot=300, rng=rng)[0]
        outside += empirical_ks(sa, seven, sb, seven) > upper
    assert outside / reps <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / reps)


def test_the_same_seed_gives_the_same_replicates() -> None:
    arguments = ([0, 1, 2, 3], [3] * 4, [1, 1, 3, 0], [3] * 4)
    first, second = (ks_noise(*arguments, n_boot=50, rng=5) for _ in range(2))
    assert np.array_equal(first, second)


@given(st.integers(0, 2**32), st.integers(2, 40), st.integers(2, 60))
def test_the_order_of_debates_and_the_numbers_of_clusters_change_no_limit(
    seed: int, n_clusters: int, n_debates: int
) -> None:
    rng = np.random.default_rng(seed)
    cluster = np.concatenate([[0, 1], rng.integers(0, n_clusters, n_debates)])
    trials_a, trials_b = rng.integers(1, 6, (2, len(cluster)))
    counts = np.stack([rng.integers(0, trials_a + 1), trials_a, rng.integers(0, trials_b + 1), trials_b])
    order, numbers = rng.permutation(len(cluster)), rng.permutation(n_clusters)
    first = ks_upper(*counts, cluster=cluster)
    assert first == ks_upper(*counts[:, order], cluster=numbers[cluster][order])


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 5)), min_size=1, max_size=30))
def test_cluster_totals_lose_nothing(rows: list[tuple[int, int]]) -> None:
    values = np.array([[float(v)] for v, _ in rows])
    cluster = np.array([c for _, c in rows])
    totals = cluster_totals(values, cluster)
    expected = [sum(v for v, c in rows if c == name) for name in sorted(set(cluster.tolist()))]
    assert totals[:, 0].tolist() == expected


def test_swapped_totals_have_mean_zero_and_the_sum_of_squares_as_variance() -> None:
    totals = np.random.default_rng(0).integers(-2, 3, size=(500, 1)).astype(float)
    swapped = swapped_totals(totals, 4000, 1)
    spread = np.sqrt((totals**2).sum())
    assert swapped.mean() == pytest.approx(0, abs=4 * spread / np.sqrt(4000))
    assert swapped.std() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ks_distance([0.5, 0.5], [1.0]), r"q must have one value per row \(2\); got 1"),
        (lambda: ks_distance([0.5, 0.6], [0.5, 0.5]), r"p must add up to 1; got a sum of 1.1"),
        (lambda: ks_distance([1.0, float("nan")], [0.5, 0.5]), r"p must be finite and >= 0"),
        (lambda: empirical_ks([], [], [], []), r"at least one debate; got none"),
        (lambda: empirical_ks([0], [0], [0], [1]), r"trials_a must be >= 1; got trials_a=0 at row 0"),
        (lambda: empirical_ks([2], [1], [0], [1]), r"trials_a must be >= successes_a; got .* at row 0"),
        (lambda: empirical_ks([0, 1], [1, 1], [0], [1]), r"successes_b must be as long as successes_a"),
        (lambda: empirical_ks([0], [1], [0], [1], [0.0]), r"weights must not all be 0"),
        (
            lambda: ks_upper([0, 1], [1, 1], [0, 1], [1, 1], cluster=[0]),
            r"cluster must have one value per debate \(2\); got 1",
        ),
        (
            lambda: ks_upper([0], [1], [0], [1], level=1.0),
            r"level must lie strictly between 0 and 1; got level=1.0",
        ),
        (lambda: ks_noise([0, 1], [1, 1], [0, 1], [1, 1], quantiles=[1.5]), r"quantiles must lie between"),
        (lambda: ks_noise([0, 1], [1, 1], [0, 1], [1, 1], n_boot=0), r"n_boot must be >= 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
