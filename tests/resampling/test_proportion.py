"""Intervals of a share: against statsmodels, by their definitions, by coverage, with clusters, and on bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import sampled
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from d3stats.resampling.proportions import (
    CLUSTER_KINDS,
    KINDS,
    coverage_table,
    exact_coverage,
    proportion_interval,
    share,
)

STATSMODELS = {
    "Wilson": "wilson",
    "Clopper-Pearson": "beta",
    "Jeffreys": "jeffreys",
    "Agresti-Coull": "agresti_coull",
    "Wald": "normal",
}


@given(
    st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999)
)
def test_limits_agree_with_statsmodels(counts: tuple[int, int], level: float) -> None:
    for kind, name in STATSMODELS.items():
        found = proportion_interval(*counts, kind=kind, level=level)  # type: ignore[arg-type]
        expected = np.clip(proportion_confint(*counts, alpha=1 - level, method=name), 0, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12, err_msg=kind)


def test_bayes_limits_are_quantiles_of_the_posterior() -> None:
    low, high = proportion_interval([0, 3, 20], 20, kind="Bayes uniform", level=0.9)
    for x, a, b in zip([0, 3, 20], low, high, strict=True):
        np.testing.assert_allclose([a, b], stats.beta(x + 1, 21 - x).ppf([0.05, 0.95]), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_coverage_by_enumeration_is_the_sum_of_the_pmf_where_the_interval_holds_p(kind: Any) -> None:
    for n in (1, 2, 7, 31):
        low, high = proportion_interval(np.arange(n + 1), n, kind=kind, level=0.9)
        p = np.concatenate([np.linspace(0, 1, 41), low, high])
        inside = (low[:, None] <= p) & (p <= high[:, None])
        expected = (stats.binom.pmf(np.arange(n + 1)[:, None], n, p) * inside).sum(axis=0)
        np.testing.assert_allclose(exact_coverage(n, p, kind, 0.9), expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_limits_rise_with_the_count_and_mirror(kind: Any) -> None:
    for n in (1, 2, 3, 10, 200):
        for level in (0.5, 0.95, 0.999):
            low, high = proportion_interval(np.arange(n + 1), n, kind=kind, level=level)
            assert (np.diff(low) >= 0).all()
            assert (np.diff(high) >= 0).all()
            np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)


def test_wald_fails_at_twenty_trials_and_wilson_does_not() -> None:
    """What is printed as 95 % is 87.6 % at n = 20, p = .9, and 11 % at p = .994."""
    assert exact_coverage(20, 0.9, "Wald").item() == pytest.approx(0.876, abs=5e-4)
    assert exact_coverage(20, 0.9, "Wilson").item() > 0.95
    assert exact_coverage(20, 0.994, "Wald").item() < 0.12
    low, high = proportion_interval(20, 20, kind="Wald")
    assert low == high == 1.0


@pytest.mark.parametrize("n", [20, 80, 500])
def test_clopper_pearson_never_covers_too_seldom_and_is_the_widest(n: int) -> None:
    table = coverage_table(n, low=0.0, high=1.0).set_index("kind")
    assert table.loc["Clopper-Pearson", "worst"] >= 0.95 - 1e-9
    assert table["mean_width"].idxmax() == "Clopper-Pearson"
    assert (table.drop("Clopper-Pearson")["worst"] < 0.95).all()
    assert table["mean"].idxmin() == "Wald"


def test_a_table_of_coverage_finds_the_jumps() -> None:
    """The worst lies beside a limit, where a grid of any fineness misses it."""
    worst = coverage_table(20).set_index("kind").loc["Wilson"]
    assert worst["worst"] <= exact_coverage(20, np.linspace(0.01, 0.99, 981), "Wilson").min()
    assert exact_coverage(20, worst["worst_at"], "Wilson").item() == worst["worst"]


def test_arrays_add_up_and_give_what_their_sums_give() -> None:
    assert share([3, 2, 0], [4, 4, 2]) == share(5, 10)
    assert share(5, 10).kind == "Wilson"
    assert share(5, 10, kind="Clopper-Pearson").low == pytest.approx(
        proportion_confint(5, 10, method="beta")[0]
    )


def test_clusters_of_one_trial_give_the_t_interval_of_the_mean() -> None:
    x = np.repeat([1, 0], [30, 20])
    found = share(x, np.ones(50, int), cluster=np.arange(50), kind="cluster t")
    expected = stats.t.interval(0.95, 49, loc=0.6, scale=x.std(ddof=1) / np.sqrt(50))
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.n_clusters == 50


def test_copies_of_a_question_add_nothing() -> None:
    x = np.repeat([1, 0], [30, 20])
    copied = share(np.repeat(x, 5), np.ones(250, int), cluster=np.repeat(np.arange(50), 5))
    once = share(x, np.ones(50, int), cluster=np.arange(50))
    assert copied.low == pytest.approx(once.low)
    assert (copied.n, copied.n_clusters) == (250, 50)
    naive = share(150, 250)
    assert naive.high is not None
    assert naive.low is not None
    assert copied.high is not None
    assert copied.low is not None
    assert copied.high - copied.low > 2 * (naive.high - naive.low)


@pytest.mark.parametrize("kind", CLUSTER_KINDS)
def test_clustered_kinds_hold_the_share_and_agree_roughly(kind: Any) -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(4, 2, 200)
    x = rng.binomial(5, p)
    cluster = np.array([f"q{i}" for i in range(200)])
    found = share(x, np.full(200, 5), cluster=cluster, kind=kind, n_boot=2000, rng=2)
    plain = share(x, np.full(200, 5), cluster=cluster)
    assert found.value == x.sum() / 1000
    assert found.low == pytest.approx(plain.low, abs=0.01)
    assert found.high == pytest.approx(plain.high, abs=0.01)
    assert found.kind == kind


def test_cluster_wilson_stays_inside_where_the_t_leaves() -> None:
    x, n, q = [3, 0, 2, 3, 3, 3, 3, 3, 3, 3], [3] * 10, list("abcdefghij")
    t, wilson = share(x, n, cluster=q, kind="cluster t"), share(x, n, cluster=q)
    assert wilson.kind == "cluster Wilson"
    assert t.high == 1.0
    assert wilson.high is not None
    assert wilson.high < 1.0
    assert wilson.low is not None
    assert wilson.low > 0.0


def clustered_draws(
    icc: float, n_sets: int, seed: int, p: float = 0.7, questions: int = 80, debates: int = 5
) -> NDArray[np.int64]:
    """Draw right verdicts of some debates on each question: shape (sets, questions)."""
    rng = np.random.default_rng(seed)
    shares = np.full((n_sets, questions), p)
    if icc:
        shares = rng.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), size=(n_sets, questions))
    return rng.binomial(debates, shares)


def clustered_coverage(
    icc: float, n_sets: int, kind: Any, p: float = 0.7, questions: int = 80, debates: int = 5
) -> float:
    trials, cluster = np.full(questions, debates), np.arange(questions)
    found = [
        share(x, trials, cluster=cluster, kind=kind, n_boot=1000, rng=i)
        for i, x in enumerate(clustered_draws(icc, n_sets, 7, p, questions, debates))
    ]
    return float(np.mean([not e.excludes(p) for e in found]))


@sampled("icc", [0.0, 0.1, 0.3], (2,))
def test_the_cluster_t_covers(icc: float) -> None:
    """400 data sets, with a Monte Carlo error of 0.011."""
    assert 0.95 - 3 * 0.011 <= clustered_coverage(icc, 400, "cluster t") <= 0.95 + 3 * 0.011


def test_near_one_the_default_covers_and_the_cluster_t_does_not() -> None:
    """400 data sets of 40 questions with 4 debates, p = .95; Monte Carlo errors of 0.013 and 0.017."""
    default, t = (clustered_coverage(0.3, 400, kind, 0.95, 40, 4) for kind in (None, "cluster t"))
    assert default >= 0.924 - 3 * 0.013
    assert t <= 0.869 + 3 * 0.017
    assert default > t + 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("p", "t"), [(0.95, 0.909), (0.98, 0.858)])
def test_near_one_the_default_loses_less_than_the_cluster_t(p: float, t: float) -> None:
    """2,000 data sets of 80 questions with 5 debates; Monte Carlo errors up to 0.008, allowed three times."""
    assert clustered_coverage(0.3, 2000, None, p) >= 0.92 - 3 * 0.006
    assert clustered_coverage(0.3, 2000, "cluster t", p) == pytest.approx(t, abs=3 * 0.008)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLUSTER_KINDS)
@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
def test_clustered_intervals_cover_between_94_and_96_percent(kind: str, icc: float) -> None:
    """2,000 data sets, with a Monte Carlo error of 0.0049 that is allowed twice."""
    covered = clustered_coverage(icc, 2000, kind)
    print(f"\n{kind}, icc {icc}: {covered:.4f}")
    assert 0.94 - 0.0098 <= covered <= 0.96 + 0.0098


def test_wilson_without_clusters_covers_81_percent_at_a_correlation_of_three_tenths() -> None:
    for icc, expected in ((0.0, 0.95), (0.1, 0.897), (0.3, 0.806)):
        low, high = proportion_interval(clustered_draws(icc, 10_000, 8).sum(axis=1), 400)
        assert ((low <= 0.7) & (high >= 0.7)).mean() == pytest.approx(expected, abs=0.015)


def test_what_carries_no_interval_says_so() -> None:
    single = share([3, 2], [5, 5], cluster=["q", "q"])
    assert single.low is None
    assert "single cluster" in single.note
    perfect = share([5, 5, 5], [5, 5, 5], cluster=[1, 2, 3])
    assert (perfect.kind, perfect.high) == ("Clopper-Pearson over clusters", 1.0)
    assert perfect.low == pytest.approx(0.025 ** (1 / 3))
    few = share([3, 2, 5], [5, 5, 5], cluster=[1, 2, 3])
    assert few.low is not None
    assert "only 3 clusters" in few.note


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("trials must be >= successes; got trials=3, successes=5 at row 1", lambda: share([1, 5], [3, 3])),
        ("successes must be >= 0", lambda: share(-1, 3)),
        ("successes must be whole numbers", lambda: share(1.5, 3)),
        ("the share is undefined", lambda: share(0, 0)),
        ("trials must be >= 1", lambda: proportion_interval(0, 0)),
        ("one value per row of successes", lambda: share([1, 2], [3, 3, 3])),
        ("kind='cluster t' must come with cluster", lambda: share(1, 3, kind="cluster t")),
        ("must come without cluster", lambda: share([1], [3], kind="Wilson", cluster=[1])),
        ("kind must be one of", lambda: share(1, 3, kind="exact")),  # type: ignore[arg-type]
        ("one name per row", lambda: share([1, 1], [3, 3], cluster=[1])),
        ("missing name at row 1", lambda: share([1, 1], [3, 3], cluster=["a", None])),
        ("level must lie strictly", lambda: share(1, 3, level=1.0)),
        ("p must lie between", lambda: exact_coverage(20, 1.2)),
        ("high must be > low", lambda: coverage_table(20, low=0.5, high=0.5)),
    ],
)
def test_bad_input_is_named(words: str, call: Any) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_walds_interval_without_width_says_so() -> None:
    for successes in (0, 20):
        found = share(successes, 20, kind="Wald")
        assert found.low == found.high
        assert "width 0" in found.note
    assert share(19, 20, kind="Wald").note == ""


@pytest.mark.parametrize("n", [10, 49, 75, 600])
@pytest.mark.parametrize("items", [1, 4])
def test_one_failure_more_never_lowers_a_limit_of_the_failures(n: int, items: int) -> None:
    """One item or four a cluster that fail together: the limits rise with the number of failing clusters."""
    trials = np.full(n, items)
    found = [share(np.arange(n) < k, np.ones(n, dtype=int), cluster=np.arange(n)) for k in range(min(n, 40))]
    whole = [share(items * (np.arange(n) < k), trials, cluster=np.arange(n)) for k in range(min(n, 40))]
    for estimates in (found, whole):
        low, high = ([float(getattr(e, end)) for e in estimates] for end in ("low", "high"))
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) > 0).all()


@given(st.integers(2, 200), st.data())
def test_a_share_of_single_trials_is_never_above_the_exact_limit(n: int, data: st.DataObject) -> None:
    """Every cluster has one trial: the limit on the side of the rarer outcome is at most Clopper and Pearson's."""
    rare = data.draw(st.integers(1, n // 2))
    exact = proportion_interval(rare, n, kind="Clopper-Pearson")
    few, many = (
        share(rows, np.ones(n, dtype=int), cluster=np.arange(n))
        for rows in (np.arange(n) < rare, np.arange(n) >= rare)
    )
    assert few.high is not None
    assert many.low is not None
    assert few.high <= float(exact[1]) + 1e-12
    assert many.low >= 1 - float(exact[1]) - 1e-12


def test_a_large_cluster_counts_for_more_than_one() -> None:
    """Failures in a cluster that holds half of all trials: the limit is not that of one cluster of forty."""
    trials = np.array([39, *[1] * 39])
    failing = share(np.array([39, *[0] * 39]), trials, cluster=np.arange(40))
    assert failing.value == 0.5
    assert failing.high is not None
    assert failing.high > 0.7


@pytest.mark.parametrize("n", [10, 20, 40, 80])
def test_single_trials_are_covered_at_every_share(n: int) -> None:
    """One trial a cluster, all shares from .01 to .99, coverage by adding up the Binomial; Wilson's worst is .842."""
    counts = np.arange(n + 1)
    found = [share(np.arange(n) < k, np.ones(n, dtype=int), cluster=np.arange(n)) for k in counts]
    low, high = (np.array([getattr(e, end) for e in found]) for end in ("low", "high"))
    grid = np.linspace(0.01, 0.99, 981)[:, None]
    covered = (stats.binom.pmf(counts, n, grid) * ((low <= grid) & (grid <= high))).sum(axis=1)
    assert covered.min() >= 0.93
    assert covered.mean() >= 0.955
    exact = proportion_interval(counts, np.full(n + 1, n), kind="Clopper-Pearson")
    assert (high - low).mean() < (exact[1] - exact[0]).mean()


@pytest.mark.parametrize(
    ("large", "size", "small"), [(10, 20, 30), (20, 9, 20), (6, 40, 40), (8, 30, 8), (15, 10, 5), (40, 4, 40)]
)
@pytest.mark.parametrize("failing", ["large", "small"])
def test_failures_of_clusters_of_one_size_alone_are_covered(
    large: int, size: int, small: int, failing: str
) -> None:
    """Whole clusters fail, and only those of one size: coverage at every chance, by adding up the Binomial."""
    trials = np.array([size] * large + [1] * small)
    first, n = (0, large) if failing == "large" else (large, small)
    at = np.arange(large + small)
    found = [
        share(np.where((at >= first) & (at < first + k), 0, trials), trials, cluster=at) for k in range(n + 1)
    ]
    low, high = (np.array([getattr(e, end) for e in found]) for end in ("low", "high"))
    grid = np.linspace(0.005, 0.995, 199)[:, None]
    truth = 1 - grid * trials[first : first + n].sum() / trials.sum()
    covered = (stats.binom.pmf(np.arange(n + 1), n, grid) * ((low <= truth) & (truth <= high))).sum(axis=1)
    assert covered.min() >= 0.92
    assert covered.mean() >= 0.965


def test_a_share_of_clusters_worth_fewer_than_ten_equal_ones_has_a_note() -> None:
    sizes = np.array([60] + [4] * 15)
    unequal = share(sizes // 2, sizes, cluster=np.arange(16))
    assert unequal.low is not None
    assert unequal.note == "16 clusters of unequal size, worth only 3.8 equal ones"
    assert share(np.full(16, 2), np.full(16, 4), cluster=np.arange(16)).note == ""
    assert share(np.full(9, 2), np.full(9, 4), cluster=np.arange(9)).note == "only 9 clusters"
