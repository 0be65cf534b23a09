"""Differences of shares and means of several sides: size, coverage, peers, and what must not change them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layers import sampled
from numpy.typing import NDArray
from scipy import stats

from d3stats.estimate import Estimate
from d3stats.resampling import cluster_t, contrast_of_means, contrast_of_shares, ratios
from d3stats.resampling.contrasts import lower_mid_p

Floats = NDArray[np.float64]
Sides = list[tuple[Floats, Floats]]
SHARES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99])


def totals(sides: Sides) -> Floats:
    """Return sums of independent sides: each has its own clusters."""
    parts = []
    for at, (above, below) in enumerate(sides):
        part = np.zeros((len(below), 2 * len(sides)))
        part[:, 2 * at], part[:, 2 * at + 1] = above, below
        parts.append(part)
    return np.concatenate(parts)


def single(*counts: tuple[int, int]) -> Floats:
    """Return sums of sides of single trials: successes and trials of each."""
    return totals([((np.arange(n) < x).astype(float), np.ones(n)) for x, n in counts])


def difference(sums: Floats, level: float = 0.95) -> Estimate:
    weights = [1.0, -1.0] if sums.shape[1] == 4 else [1.0, -1.0, -1.0, 1.0]
    return contrast_of_shares("difference", sums, weights, level=level)


def limits(e: Estimate) -> tuple[float, float]:
    assert e.low is not None
    assert e.high is not None
    return e.low, e.high


def all_counts(n: int, m: int, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the limits for every pair of counts of two sides of single trials, by the definition of the method.

    A second implementation: mid-p limits of each side from the binomial's own law, then Zou and Donner's equation 4.
    """
    ends = []
    for size in (n, m):
        grid = np.arange(size + 1)
        low = np.zeros(size + 1)
        high = np.full(size + 1, 1.0)
        for _ in range(60):
            at = (low + high) / 2
            tail = stats.binom.sf(grid, size, at) + stats.binom.pmf(grid, size, at) / 2
            below = tail < (1 - level) / 2
            low, high = np.where(below, at, low), np.where(below, high, at)
        lower = np.where(grid == 0, 0.0, low)
        ends.append((grid / size, lower, 1 - lower[::-1]))
    (p, p_low, p_high), (q, q_low, q_high) = ends
    apart = p[:, None] - q
    below = np.hypot((p - p_low)[:, None], q_high - q)
    above = np.hypot((p_high - p)[:, None], q - q_low)
    return apart - below, apart + above


@sampled("n, m", [(20, 180), (10, 90), (50, 50), (3, 60), (3, 200), (12, 5)], (1, 3, 5))
def test_the_limits_are_those_of_the_definition_and_hold_their_level_exactly(n: int, m: int) -> None:
    low, high = all_counts(n, m)
    rng = np.random.default_rng(n + m)
    for x, y in [
        (0, 0),
        (0, 1),
        (n, m),
        (n, 0),
        *zip(rng.integers(0, n + 1, 5), rng.integers(0, m + 1, 5), strict=True),
    ]:
        found = limits(difference(single((int(x), n), (int(y), m))))
        assert found == pytest.approx((low[x, y], high[x, y]), abs=1e-9)
    rejected = ((low > 0) | (high < 0)).astype(float)
    laws = [{p: stats.binom.pmf(np.arange(size + 1), size, p) for p in SHARES} for size in (n, m)]
    assert max(laws[0][p] @ rejected @ laws[1][p] for p in SHARES) <= 0.065
    for p in SHARES:
        for q in SHARES:
            held = ((low <= p - q + 1e-12) & (p - q - 1e-12 <= high)).astype(float)
            assert laws[0][p] @ held @ laws[1][q] >= 0.93, (p, q)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.005, 0.001])
def test_a_side_of_three_trials_beside_two_hundred_holds_every_size(alpha: float) -> None:
    """One of three beside none of 200 has p = .0035; over all shares p <= .005 has chance .0055, by exact sums."""
    low, high = all_counts(3, 200, 1 - alpha)
    rejected = ((low > 0) | (high < 0)).astype(float)
    p_value = difference(single((1, 3), (0, 200))).p_value
    assert p_value == pytest.approx(0.0035, abs=5e-5)
    assert bool(rejected[1, 0]) == (p_value <= alpha)
    shares = np.concatenate([np.geomspace(1e-4, 0.5, 150), 1 - np.geomspace(1e-4, 0.5, 150)])
    of_three = stats.binom.pmf(np.arange(4), 3, shares[:, None])
    of_many = stats.binom.pmf(np.arange(201), 200, shares[:, None])
    assert np.einsum("si,ij,sj->s", of_three, rejected, of_many).max() <= 1.15 * alpha


def test_two_sides_of_ten_cover_as_their_discrete_law_allows() -> None:
    """Exact sums over a grid of shares; the least is .927, at .03 and .97."""
    low, high = all_counts(10, 10)
    grid = np.linspace(0.01, 0.99, 50)
    law = stats.binom.pmf(np.arange(11), 10, grid[:, None])
    covered = np.array(
        [
            [
                law[i] @ ((low <= p - q + 1e-12) & (p - q - 1e-12 <= high)).astype(float) @ law[j]
                for j, q in enumerate(grid)
            ]
            for i, p in enumerate(grid)
        ]
    )
    assert covered.min() == pytest.approx(0.927, abs=5e-4)
    assert grid[np.argwhere(covered < 0.93)].round(2).tolist() == [[0.03, 0.97], [0.97, 0.03]]
    assert covered.mean() == pytest.approx(0.963, abs=1e-3)


def test_mid_p_limits_are_those_of_the_binomial_law() -> None:
    for n in (1, 3, 10, 400):
        counts = np.arange(1, n + 1)
        for tail in (0.2, 0.025, 1e-9, 1e-20):
            low = lower_mid_p(counts.astype(float), np.full(n, float(n)), np.full(n, tail))
            reached = stats.binom.sf(counts, n, low) + stats.binom.pmf(counts, n, low) / 2
            assert reached == pytest.approx(np.full(n, tail), rel=1e-6)


def test_a_side_without_an_event_adds_what_its_trials_leave_open() -> None:
    found = difference(single((9, 180), (0, 20)))
    low, high = limits(found)
    assert low < -0.05 < 0.05 < high
    assert found.p_value is not None
    # Barnard's exact test says .38, Fisher's .60.
    assert found.p_value == pytest.approx(stats.barnard_exact([[9, 0], [171, 20]]).pvalue, abs=0.02)


def test_limits_and_p_values_lie_near_those_of_peers() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    worst = 0.0
    for x, n, y, m in [
        (9, 180, 3, 20),
        (40, 100, 55, 100),
        (15, 60, 30, 90),
        (2, 50, 9, 50),
        (45, 50, 30, 40),
    ]:
        found = difference(single((x, n), (y, m)))
        score = proportion.confint_proportions_2indep(x, n, y, m, method="score", compare="diff")
        newcombe = proportion.confint_proportions_2indep(x, n, y, m, method="newcomb", compare="diff")
        for peer in (score, newcombe):
            worst = max(worst, float(np.abs(np.subtract(limits(found), peer)).max()))
        exact = stats.barnard_exact([[x, y], [n - x, m - y]]).pvalue
        assert found.p_value is not None
        assert found.p_value == pytest.approx(exact, abs=0.07)
        assert (found.p_value < 0.05) == (exact < 0.05)
    assert worst < 0.03


side = st.integers(2, 8).flatmap(
    lambda g: st.tuples(
        st.lists(st.integers(0, 6), min_size=g, max_size=g),
        st.lists(st.integers(1, 6), min_size=g, max_size=g),
    )
)


def of(drawn: tuple[list[int], list[int]]) -> tuple[Floats, Floats]:
    below = np.array(drawn[1], dtype=float)
    return np.minimum(np.array(drawn[0], dtype=float), below), below


@given(one=side, other=side, seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_swapping_negates_and_names_of_clusters_do_not_matter(
    one: tuple[list[int], list[int]], other: tuple[list[int], list[int]], seed: int
) -> None:
    sums = totals([of(one), of(other)])
    found = difference(sums)
    assume(found.low is not None)
    low, high = limits(found)
    swapped = difference(sums[:, [2, 3, 0, 1]])
    assert limits(swapped) == pytest.approx((-high, -low), abs=1e-9)
    assert swapped.p_value == pytest.approx(found.p_value, abs=1e-6)
    shuffled = difference(np.random.default_rng(seed).permutation(sums))
    assert limits(shuffled) == pytest.approx((low, high), abs=1e-9)
    mirrored = sums.copy()
    mirrored[:, ::2] = sums[:, 1::2] - sums[:, ::2]
    assert limits(difference(mirrored)) == pytest.approx((-high, -low), abs=1e-9)
    assert -1 <= low <= found.value <= high <= 1
    assert found.se is not None
    assert found.se > 0


@given(one=side, other=side, level=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=20, deadline=None)
def test_the_p_value_is_below_five_per_cent_exactly_where_the_interval_excludes_zero(
    one: tuple[list[int], list[int]], other: tuple[list[int], list[int]], level: float
) -> None:
    shared = [np.zeros((8, 2)), np.zeros((8, 2))]
    for at, drawn in enumerate((one, other)):
        above, below = of(drawn)
        shared[at][: len(below)] = np.column_stack([above, below])
    for sums in (totals([of(one), of(other)]), np.hstack(shared)):
        found = difference(sums, level)
        assume(found.p_value is not None)
        assert found.p_value is not None
        assert (found.p_value < 1 - level) == found.excludes(0.0)


def test_more_of_the_same_clusters_give_shorter_limits() -> None:
    sums = totals(
        [(np.array([3.0, 1, 0, 2]), np.full(4, 3.0)), (np.array([1.0, 0, 0, 2, 1]), np.full(5, 4.0))]
    )
    widths = [np.diff(limits(difference(np.tile(sums, (times, 1)))))[0] for times in (1, 2, 4, 8)]
    assert all(b < a for a, b in pairwise(widths))


def test_clusters_that_repeat_one_trial_count_once() -> None:
    rng = np.random.default_rng(4)
    ones = [(rng.random(n) < 0.4).astype(float) for n in (60, 25)]
    once = difference(totals([(x, np.ones(len(x))) for x in ones]))
    five = difference(totals([(5 * x, np.full(len(x), 5.0)) for x in ones]))
    assert five.value == pytest.approx(once.value)
    assert np.diff(limits(five))[0] == pytest.approx(np.diff(limits(once))[0], rel=0.1)
    assert limits(five)[0] <= limits(once)[0] + 1e-9


def drawn(rng: np.random.Generator, sizes: Floats, share: float, icc: float) -> Floats:
    chance = np.full(len(sizes), share)
    if icc:
        scale = (1 - icc) / icc
        chance = rng.beta(share * scale, (1 - share) * scale, len(sizes))
    return rng.binomial(sizes.astype(int), chance).astype(float)


UNEQUAL = np.array([1.0, 2, 4, 8, 1, 1, 2, 1])


CELLS = [
    ((np.full(36, 5.0), np.full(4, 5.0)), (0.05, 0.05), 0.3),
    ((np.full(45, 2.0), np.full(5, 2.0)), (0.1, 0.1), 0.1),
    ((UNEQUAL, np.full(60, 3.0)), (0.5, 0.5), 0.5),
    ((np.ones(3), np.full(50, 4.0)), (0.5, 0.5), 0.3),
    ((np.full(18, 10.0), np.full(2, 10.0)), (0.9, 0.3), 0.3),
]


def least(n: int) -> float:
    """Return .93 less two standard errors of a share of n draws."""
    return 0.93 - 2 * float(np.sqrt(0.93 * 0.07 / n))


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 2_000])
@pytest.mark.parametrize(("sizes", "shares", "icc"), CELLS)
def test_clustered_sides_hold_their_level(
    sizes: tuple[Floats, Floats], shares: tuple[float, float], icc: float, n: int
) -> None:
    rng, held = np.random.default_rng(7), 0
    for _ in range(n):
        found = difference(totals([(drawn(rng, s, p, icc), s) for s, p in zip(sizes, shares, strict=True)]))
        held += not found.excludes(shares[0] - shares[1])
    assert held / n >= least(n)


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "trials"), [(10, 1), (40, 1), (20, 3)])
def test_sides_that_share_their_clusters_hold_their_level_and_gain_by_it(
    n_clusters: int, trials: int
) -> None:
    rng, n, sizes = np.random.default_rng(2), 100, np.full(n_clusters, float(trials))
    held, narrower = 0, 0
    for _ in range(n):
        chance = rng.beta(0.4, 0.4, n_clusters)
        sums = np.column_stack(
            [x for _ in range(2) for x in (rng.binomial(trials, chance).astype(float), sizes)]
        )
        paired = difference(sums)
        apart = difference(totals([(sums[:, 0], sizes), (sums[:, 2], sizes)]))
        held += not paired.excludes(0.0)
        narrower += np.diff(limits(paired))[0] < np.diff(limits(apart))[0]
    assert held / n >= least(n)
    assert narrower / n > 0.9


def test_sides_within_forty_questions_are_hardly_wider_than_students_t_of_the_linearised_difference() -> None:
    """Sides share the chance of a question; a correlation shrunken too far made limits 1.10 times as wide."""
    rng, times = np.random.default_rng(5), []
    for _ in range(30):
        chance = rng.beta(0.8, 3.2, 40)
        trials = rng.binomial(5, 0.5, 40)
        wrong = [rng.binomial(n, chance) for n in (trials, 5 - trials)]
        sums = np.column_stack([wrong[0], trials, wrong[1], 5 - trials]).astype(float)
        influence = [
            (sums[:, k] - sums[:, k].sum() / sums[:, k + 1].sum() * sums[:, k + 1]) / sums[:, k + 1].sum()
            for k in (0, 2)
        ]
        error = np.sqrt(40 / 39 * ((influence[0] - influence[1]) ** 2).sum())
        times.append(np.diff(limits(difference(sums)))[0] / (2 * stats.t.ppf(0.975, 39) * error))
    assert 0.98 < np.mean(times) < 1.06


def test_a_difference_of_differences_is_that_of_its_sides() -> None:
    """Two of four sides that have no uncertainty to speak of leave the difference of the other two."""
    million = 10**6
    large = (np.array([million / 2] * 2000), np.full(2000, float(million)))
    sides = [
        ((np.arange(40) < 12).astype(float), np.ones(40)),
        ((np.arange(30) < 20).astype(float), np.ones(30)),
    ]
    four = contrast_of_shares("did", totals([*sides, large, large]), (1, -1, -1, 1))
    assert limits(four) == pytest.approx(limits(difference(totals(sides))), abs=1e-4)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([5.0], "a single cluster"), ([100.0] + 9 * [1.0], "one cluster has 100 of 109 trials")],
)
def test_a_side_that_is_nearly_one_cluster_has_no_interval(sizes: list[float], said: str) -> None:
    found = difference(totals([(np.ones(len(sizes)), np.array(sizes)), (np.ones(20), np.full(20, 2.0))]))
    assert (found.low, found.p_value) == (None, None)
    assert said in found.note


@pytest.mark.parametrize(
    ("sums", "said"),
    [
        ([[1.0, 1, 0, 0]], "got none on side 1"),
        ([[2.0, 1, 1, 1]], "outside"),
        ([[1.0, 1]], "two columns per weight"),
    ],
)
def test_sums_that_are_no_shares_are_refused(sums: list[list[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        contrast_of_shares("difference", sums, (1, -1))


def test_means_of_single_observations_have_the_limits_and_p_value_of_welch() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(1.0, 3.0, 3), rng.normal(0.0, 1.0, 40)
    found = contrast_of_means(
        "difference",
        [np.column_stack([x, np.ones(len(x))]) for x in (one, other)],
        ratios((0, 1)),
        (1, -1),
        43,
    )
    peer = stats.ttest_ind(one, other, equal_var=False)
    assert found.p_value == pytest.approx(peer.pvalue, rel=1e-9)
    assert limits(found) == pytest.approx(tuple(peer.confidence_interval()), rel=1e-9)


def test_means_over_clusters_add_the_squared_errors_of_the_sides() -> None:
    rng = np.random.default_rng(5)
    sides = [np.column_stack([rng.normal(size=g) * 3, np.full(g, 3.0)]) for g in (6, 20)]
    found = contrast_of_means("difference", sides, ratios((0, 1)), (1, -1), 78)
    errors = [float(cluster_t(s, ratios((0, 1))).se[0]) for s in sides]
    assert found.se == pytest.approx(np.hypot(errors[0], errors[1]), rel=1e-9)


def test_a_side_whose_clusters_are_all_alike_leaves_a_difference_of_means_without_limits() -> None:
    alike, other = np.array([[0.5, 1.0]] * 9), np.array([[0.1, 1.0], [0.7, 1.0], [0.4, 1.0]])
    found = contrast_of_means("difference", [alike, other], ratios((0, 1)), (1, -1), 12)
    assert (found.low, found.p_value) == (None, None)
    assert "on one side" in found.note
