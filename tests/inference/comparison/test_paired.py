"""The paired difference: published numbers, other people's code, its coverage, and what it refuses to say."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples
from numpy.typing import NDArray
from scipy import stats

from d3stats.inference import PairedDifference, paired_difference
from d3stats.inference.comparison.pair_data import KINDS as ALL_KINDS
from d3stats.inference.comparison.pair_data import PairData
from d3stats.resampling.proportions import share

KINDS = tuple(kind for kind in ALL_KINDS if kind != "Tango")

DRUG = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
OTHER = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
"""Extra hours of sleep under two drugs, Student (1908)."""


def clustered(
    n_clusters: int, per_cluster: int, icc: float, rng: np.random.Generator, gain: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Draw two runs of right and wrong whose differences hang together within a cluster as `icc` says.

    A cluster's items share one draw of (first, second) each with chance sqrt(icc), so that two of them have a
    correlation of icc.
    """
    cluster = np.repeat(np.arange(n_clusters), per_cluster)
    n = len(cluster)
    level = np.column_stack([np.full(n_clusters, 0.6), np.full(n_clusters, 0.6 + gain)])
    own = (rng.random((n, 2)) < level[cluster]).astype(float)
    common = (rng.random((n_clusters, 2)) < level).astype(float)[cluster]
    shared = rng.random(n) < math.sqrt(icc)
    values = np.where(shared[:, None], common, own)
    return values[:, 0], values[:, 1], cluster


# ------------------------------------------------------------------ published numbers and other people's code


def test_students_sleep_gives_the_published_t_interval_and_sign_flip() -> None:
    found = paired_difference(OTHER, DRUG)
    assert found.difference.value == pytest.approx(-1.58)
    assert found.difference.low == pytest.approx(-2.459885763276983, rel=1e-10)
    assert found.difference.high == pytest.approx(-0.7001142367230175, rel=1e-10)
    assert found.p_value == pytest.approx(0.002832890197384273, rel=1e-9)
    assert found.tests[0].detail == "t(9) = -4.062"
    assert found.p("sign flip") == 0.00390625
    assert (found.gained, found.lost, found.unchanged) == (0, 9, 1)


def test_without_clusters_it_is_the_paired_t_of_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 57))
    found, scipy = paired_difference(a, b), stats.ttest_rel(b, a)
    limits = scipy.confidence_interval(0.95)
    for test in ("paired t", "cluster t"):
        assert found.p(test) == pytest.approx(scipy.pvalue, rel=1e-9)
    assert (found.difference.low, found.difference.high) == pytest.approx((limits.low, limits.high), rel=1e-9)
    assert found.correlation == pytest.approx(stats.pearsonr(a, b).statistic)


def test_the_paired_t_of_published_tables_has_all_items_degrees_whatever_changed() -> None:
    """80 items, 10 gained and 2 lost: t(79), beside the cluster t, which counts the items that changed."""
    first = np.repeat([0.0, 1.0, 1.0, 0.0], [10, 2, 50, 18])
    second = np.repeat([1.0, 0.0, 1.0, 0.0], [10, 2, 50, 18])
    found, scipy = paired_difference(first, second), stats.ttest_rel(second, first)
    published = found.tests[-1]
    assert published.name == "paired t"
    assert published.detail == f"t(79) = {scipy.statistic:.3f}, over items, n - 1"
    assert published.p_value == pytest.approx(scipy.pvalue, rel=1e-9)
    assert round(scipy.pvalue, 3) == 0.020
    ours = found.p("cluster t")
    assert ours is not None
    assert ours > scipy.pvalue
    assert found.test == "cluster t"


def test_the_paired_t_of_dependent_items_says_that_it_is_not_valid_and_is_scipys() -> None:
    rng = np.random.default_rng(31)
    first, second = rng.normal(size=(2, 60))
    found = paired_difference(first, second, np.repeat(np.arange(15), 4))
    assert found.tests[-1].p_value == pytest.approx(stats.ttest_rel(second, first).pvalue, rel=1e-9)
    assert any(
        note.startswith("the paired t over items assumes independent items, but a cluster has up to 4")
        for note in found.notes
    )
    one_cluster = paired_difference(first, second, np.zeros(60))
    assert one_cluster.tests[-1].p_value is None


@pytest.mark.parametrize("sizes", [[3] * 25, [1] * 40])
def test_the_clustered_error_is_that_of_a_regression_on_a_constant(sizes: list[int]) -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    a = rng.normal(size=len(cluster)) + rng.normal(size=len(sizes))[cluster]
    b = a + rng.normal(0.2, 1, size=len(cluster)) + rng.normal(size=len(sizes))[cluster]
    found = paired_difference(a, b, cluster)
    # statsmodels' factor is G/(G-1) * (N-1)/(N-1): with one coefficient the second is 1.
    fit = sm.OLS(b - a, np.ones(len(a))).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    assert found.difference.value == pytest.approx(fit.params[0], rel=1e-12)
    assert found.difference.se == pytest.approx(fit.bse[0], rel=1e-9)
    assert found.p_value == pytest.approx(fit.pvalues[0], rel=1e-7)
    assert (found.difference.low, found.difference.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-8)


def test_mcnemar_is_that_of_statsmodels_on_unclustered_items() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    a = np.repeat([1, 1, 0, 0], [40, 7, 18, 35])
    b = np.repeat([1, 0, 1, 0], [40, 7, 18, 35])
    found = paired_difference(a, b)
    assert found.p("McNemar exact") == pytest.approx(mcnemar([[40, 7], [18, 35]], exact=True).pvalue)
    point = stats.binom.pmf(7, 25, 0.5)
    assert found.p("McNemar mid-p") == pytest.approx(2 * stats.binom.cdf(7, 25, 0.5) - point)
    assert (found.gained, found.lost) == (18, 7)
    assert not any("independent" in note for note in found.notes)


def test_the_sign_flip_is_the_permutation_test_of_scipy_on_cluster_means() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 12, 2))
    b += 0.4
    cluster = np.repeat(np.arange(12), 2)
    found = paired_difference(a.ravel(), b.ravel(), cluster)
    scipy = stats.permutation_test(
        (b.mean(axis=1) - a.mean(axis=1),), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert found.p("sign flip") == pytest.approx(scipy.pvalue, rel=1e-12)
    assert "exact" in found.tests[2 - 1].detail


def test_on_single_right_or_wrong_items_the_sign_flip_is_the_exact_mcnemar_test() -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.random((2, 300)) < [[0.6], [0.7]]).astype(int)
    found = paired_difference(a, b)
    assert found.p("sign flip") == pytest.approx(found.p("McNemar exact"), rel=1e-9)


# ------------------------------------------------------------------ what follows from what


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 7)), min_size=2, max_size=60))
def test_nothing_is_ever_nan_and_swapping_the_runs_changes_the_sign_alone(
    rows: list[tuple[bool, bool, int]],
) -> None:
    a, b, cluster = (np.array(column) for column in zip(*rows, strict=True))
    found = paired_difference(a.astype(float), b.astype(float), cluster, n_boot=50, rng=1)
    swapped = paired_difference(b.astype(float), a.astype(float), cluster, n_boot=50, rng=1)
    assert swapped.difference.value == pytest.approx(-found.difference.value)
    assert swapped.p_value == (None if found.p_value is None else pytest.approx(found.p_value))
    assert (swapped.gained, swapped.lost) == (found.lost, found.gained)
    document = json.dumps(
        [found.to_dict(), *(found.interval(kind).to_dict() for kind in KINDS)], allow_nan=False
    )
    assert "NaN" not in document
    if found.difference.low is None:
        assert found.difference.note
    assert found.difference.value == pytest.approx(found.second.value - found.first.value, abs=1e-12)
    assert str(found).startswith("B - A")


def test_pairing_takes_out_what_makes_items_hard() -> None:
    rng = np.random.default_rng(5)
    hard = rng.normal(size=200) * 3
    a, b = hard + rng.normal(size=200), hard + rng.normal(0.3, 1, 200)
    found = paired_difference(a, b)
    assert found.first.se is not None
    assert found.second.se is not None
    assert found.difference.se is not None
    assert found.difference.se < 0.5 * math.hypot(found.first.se, found.second.se)
    assert found.correlation is not None
    assert found.correlation > 0.8


def test_whole_clusters_copied_over_change_neither_the_estimate_nor_claim_more_clusters() -> None:
    a, b = [1, 0, 1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0, 1, 1]
    once = paired_difference(a, b, list("abcdefgh"))
    thrice = paired_difference(a * 3, b * 3, list("abcdefgh") * 3)
    assert thrice.difference.value == once.difference.value
    assert (thrice.difference.low, thrice.difference.high) == pytest.approx(
        (once.difference.low, once.difference.high)
    )
    naive = paired_difference(a * 3, b * 3)
    assert naive.difference.se is not None
    assert once.difference.se is not None
    assert naive.difference.se < 0.6 * once.difference.se


def test_every_interval_names_the_runs_and_counts_items_and_clusters() -> None:
    rng = np.random.default_rng(9)
    a, b, cluster = clustered(30, 3, 0.2, rng, gain=0.1)
    pair = paired_difference(a, b, cluster, names=("old", "new"), n_boot=200, rng=7)
    alone = paired_difference(a, b, names=("old", "new"), n_boot=200, rng=7)
    for one, n_clusters, kinds in ((pair, 30, KINDS), (alone, 90, ALL_KINDS)):
        for kind in kinds:
            found = one.interval(kind, level=0.9)
            assert (found.name, found.n, found.n_clusters) == ("new - old", 90, n_clusters), kind
            assert (found.kind, found.level) == (kind, 0.9)
            assert found.value == pytest.approx(b.mean() - a.mean())
            assert found.low < found.value < found.high


def test_all_kinds_of_interval_come_from_one_seed_in_any_order() -> None:
    rng = np.random.default_rng(6)
    a, b, cluster = clustered(40, 3, 0.2, rng, gain=0.1)
    one, two = (paired_difference(a, b, cluster, n_boot=500, rng=7) for _ in range(2))
    forward = [one.interval(kind).low for kind in KINDS]
    assert forward == [two.interval(kind).low for kind in reversed(KINDS)][::-1]
    assert len(set(forward)) >= 4
    table = one.intervals(level=0.9)
    assert table["kind"].tolist() == [
        "cluster t", "percentile", "basic", "bca", "studentised",
    ]  # fmt: skip
    assert (table["level"] == 0.9).all()
    assert one.interval("BCa").kind == "bca"
    by_bootstrap = paired_difference(a, b, cluster, kind="bca", n_boot=500, rng=7)
    assert (by_bootstrap.difference.low, by_bootstrap.test) == (one.interval("bca").low, "sign flip")
    assert by_bootstrap.p_value == one.p("sign flip")


# ------------------------------------------------------------------ what the data cannot carry


def test_identical_runs_differ_by_zero_without_an_interval_and_without_a_test() -> None:
    found = paired_difference([1, 0, 1, 1], [1, 0, 1, 1])
    assert (found.difference.value, found.difference.low, found.p_value) == (0.0, None, None)
    assert "the runs gave the same result on every item" in found.difference.note
    refused = {test.name: test.note for test in found.tests}
    assert "differ on no item" in refused["McNemar exact"]
    assert "same result on every item" in refused["sign flip"]
    assert all(test.p_value is None for test in found.tests)
    assert all(found.interval(kind).low is None for kind in KINDS)


def test_scores_that_all_tie_are_refused_alike() -> None:
    found = paired_difference([7.5] * 6, [7.5] * 6, list("aabbcc"))
    assert (found.difference.value, found.difference.low, found.correlation) == (0.0, None, None)
    assert found.first.note
    assert found.first.low is None


def test_a_single_cluster_carries_no_interval_and_no_test() -> None:
    found = paired_difference([1, 0, 0, 0], [1, 1, 1, 0], ["q"] * 4)
    assert (found.difference.value, found.difference.low, found.p_value) == (0.5, None, None)
    assert all(test.p_value is None for test in found.tests)
    assert any("a single cluster" in note for note in found.notes)


def test_few_clusters_are_noted_with_the_smallest_p_that_they_allow() -> None:
    rng = np.random.default_rng(8)
    found = paired_difference(rng.normal(size=6), rng.normal(3, 1, size=6))
    assert any("only 6 clusters" in note and "below 0.031" in note for note in found.notes)
    assert found.p("sign flip") == 2 / 2**6


def test_when_every_item_gains_alike_the_sign_flip_speaks_instead_of_the_t() -> None:
    found = paired_difference([0] * 12, [1] * 12)
    assert (found.difference.value, found.difference.low) == (1.0, None)
    assert "every cluster changed by the same +1" in found.difference.note
    assert (found.test, found.p_value) == ("sign flip", pytest.approx(2 / 2**12))
    assert any("the sign-flip test is used for this pair" in note for note in found.notes)


def test_an_interval_that_rests_on_a_handful_of_changes_says_so() -> None:
    a = np.repeat([1.0, 0.0], [80, 20])
    b = a.copy()
    b[80:85] = 1
    found = paired_difference(a, b)
    assert found.difference.low is not None
    assert found.difference.low < 0 < found.difference.high
    assert found.p("sign flip") == 0.0625
    assert any("the sums of only 5 of 100 clusters changed" in note for note in found.notes)
    assert (found.test, found.p_value) == ("cluster t", pytest.approx(0.0713, abs=1e-4))
    assert found.tests[0].detail == "t(5) = 2.283"
    assert any("McNemar mid-p p = 0.031 says otherwise" in note for note in found.notes)


def test_a_judge_that_always_says_the_same_can_be_compared() -> None:
    b = np.tile([1.0, 0.0, 1.0], 20)
    found = paired_difference(np.ones(60), b)
    assert found.difference.value == pytest.approx(-1 / 3)
    assert found.difference.low is not None
    assert (found.correlation, found.p_value is not None) == (None, True)
    assert found.first.low == pytest.approx(0.025 ** (1 / 60))


def test_mcnemar_warns_of_clusters_and_is_refused_for_means_and_scores() -> None:
    a, b, cluster = clustered(20, 3, 0.3, np.random.default_rng(9), gain=0.1)
    found = paired_difference(a, b, cluster)
    assert found.p("McNemar exact") is not None
    assert any(
        "McNemar's test and the paired t over items assume independent items, but a cluster has up to 3" in n
        for n in found.notes
    )
    means = paired_difference(a, b, repeated=True)
    assert means.p("McNemar exact") is None
    assert any(
        "McNemar's test was left out, because items were run several times" in note for note in means.notes
    )
    with pytest.raises(ValueError, match="test must be possible for these runs; got 'McNemar mid-p'"):
        paired_difference(a, b, repeated=True, test="McNemar mid-p")
    with pytest.raises(ValueError, match="values are not right or wrong"):
        paired_difference(DRUG, OTHER, test="McNemar exact")


@pytest.mark.parametrize("n_small", [4, 12])
@pytest.mark.parametrize("test", [None, "sign flip", "McNemar exact"])
def test_where_one_cluster_is_too_large_for_an_interval_no_test_has_a_p_either(
    n_small: int, test: str | None
) -> None:
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(n_small + 1), [300, *[3] * n_small])
    a, b = (rng.random((2, len(cluster))) < [[0.5], [0.7]]).astype(float)
    found = paired_difference(a, b, cluster, test=test)
    assert found.difference.low is None
    assert found.p_value is None
    assert [made.name for made in found.tests if made.p_value is not None] == []
    assert all("300 of" in made.note for made in found.tests)
    assert not any("of freedom" in note or "p-value rest" in note for note in found.notes)


def test_clusters_of_very_unequal_size_are_noted() -> None:
    rng = np.random.default_rng(10)
    cluster = np.repeat(np.arange(20), [50, 50] + 18 * [2])
    a, b = rng.random((2, len(cluster)))
    assert any("very unequal sizes (50 of 136" in note for note in paired_difference(a, b, cluster).notes)


@pytest.mark.parametrize(("lost", "warned"), [(0, True), (2, True), (3, False), (10, False)])
def test_few_large_clusters_whose_changes_go_one_way_are_warned_of(lost: int, warned: bool) -> None:
    """Two questions of 50 items beside 18 of 2, and 20 changes; in the calibration limits cover .90 of such data."""
    cluster = np.repeat(np.arange(20), [50, 50] + 18 * [2])
    a, b = np.zeros((2, 136))
    b[::7] = 1
    a[np.flatnonzero(b)[:lost]], b[np.flatnonzero(b)[:lost]] = 1, 0
    for first, second in ((a, b), (b, a)):
        found = paired_difference(first, second, cluster)
        assert found.gained + found.lost == 20
        assert any("nearly all changes go one way" in note for note in found.notes) == warned
        assert any("as wide as these warrant" in note for note in found.notes) != warned
    scores = paired_difference(a, b + np.linspace(0.1, 0.2, 136), cluster)
    assert not any("go one way" in note for note in scores.notes)
    assert not any("unequal sizes" in note for note in paired_difference(a, a, cluster).notes)


def test_one_cluster_with_most_items_has_neither_interval_nor_p_value() -> None:
    rng = np.random.default_rng(10)
    cluster = np.concatenate([np.zeros(60), np.arange(1, 20)])
    a, b = rng.random((2, len(cluster)))
    found = paired_difference(a, b, cluster)
    assert found.difference.low is None
    assert found.difference.p_value is None
    assert "one cluster has 60 of 79 items" in found.difference.note
    assert found.first.low is None
    assert "60 of 79" in found.first.note
    for kind in ("percentile", "basic", "bca", "studentised"):
        assert found.interval(kind).low is None, kind


@pytest.mark.parametrize(
    ("first", "second", "settings", "line"),
    [
        ([1, 0], [1], {}, r"second must have one value per item of first \(2\); got 1"),
        ([], [], {}, "at least one"),
        ([1, np.nan], [1, 0], {}, "first must be finite; got first=.*nan.* at row 1"),
        ([1, 0], [1, 0], {"cluster": ["a"]}, r"cluster must have one name per item \(2\)"),
        ([1, 0], [1, 0], {"cluster": ["a", None]}, "cluster must name every item; .* at row 1"),
        ([1, 0], [1, 0], {"kind": "wald"}, "kind must be one of"),
        ([1, 0], [1, 0], {"test": "z"}, "test must be one of"),
        ([1, 0], [1, 0], {"level": 1.0}, "level must lie strictly between 0 and 1"),
        ([1, 0], [1, 0], {"n_boot": 1}, "n_boot must be >= 2"),
    ],
)
def test_what_is_no_pair_of_runs_is_refused(
    first: list[float], second: list[float], settings: dict[str, object], line: str
) -> None:
    with pytest.raises(ValueError, match=line):
        paired_difference(first, second, **settings)  # type: ignore[arg-type]  # that is the test


def test_asking_for_a_test_by_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(
        ValueError,
        match="test must be one of 'cluster t', 'sign flip', 'McNemar exact', 'McNemar mid-p', 'paired t'",
    ):
        paired_difference(DRUG, OTHER).p("anova")


def test_what_could_have_been_found_follows_from_the_spread_and_not_from_the_difference() -> None:
    rng = np.random.default_rng(11)
    noise = rng.normal(size=100)
    small, large = (paired_difference(np.zeros(100), noise + gain) for gain in (0.0, 3.0))
    assert small.detectable() == pytest.approx(large.detectable(), rel=1e-6)
    # (t_.975 + t_.8 at 99 degrees of freedom) standard errors, up to the noncentral t's skewness
    assert small.difference.se is not None
    assert small.detectable() == pytest.approx(2.83 * small.difference.se, rel=0.01)
    assert paired_difference([1, 1], [1, 1]).detectable() is None


@pytest.mark.parametrize("changed", [3, 5, 10, 20])
def test_what_could_have_been_found_is_found_so_often_by_the_test_of_the_pair(changed: int) -> None:
    first = np.zeros(100)
    second = np.where(np.arange(100) < changed, np.where(np.arange(100) % 3 < 2, 1.0, -1.0), 0.0)
    found = paired_difference(first, second)
    df, se, effect = found.data.df, found.difference.se, found.detectable(power=0.8)
    assert df == changed
    assert se is not None
    assert effect is not None
    rng = np.random.default_rng(changed)
    t = (effect / se + rng.normal(size=200_000)) / np.sqrt(rng.chisquare(df, 200_000) / df)
    p = 2 * stats.t.sf(np.abs(t), df)
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.005)
    assert effect > 2.83 * se


def test_what_no_difference_of_right_and_wrong_could_show_is_not_called_detectable() -> None:
    found = paired_difference([0, 0, 0, 1], [0, 1, 0, 0])
    assert found.difference.se is not None
    assert found.detectable() is None
    with pytest.raises(ValueError, match="power must be > alpha"):
        found.detectable(0.04)


def test_results_are_shown_effect_first() -> None:
    found = paired_difference(DRUG, OTHER, names=("old", "new"), rng=1)
    lines = str(found).splitlines()
    assert lines[0] == "new - old: 1.580 [0.700, 2.460] (95 % cluster t, n = 10 in 10 clusters)"
    assert "9 items gained, 0 lost, 1 unchanged" in lines[2]
    assert list(found.to_dict())[:2] == ["headline", "difference"]
    assert found.to_frame()["name"].tolist() == ["new - old", "old", "new"]
    assert r"new - old & 1.580 & [0.700, 2.460] & 95 \% cluster t & 10 in 10 \\" in found.to_latex()


def test_the_share_of_a_run_has_an_interval_of_shares() -> None:
    found = paired_difference([1, 0, 0, 1], [1, 1, 1, 0])
    wilson = share([1, 1, 1, 0], [1] * 4, cluster=range(4), kind="cluster Wilson")
    assert (found.second.low, found.second.high) == pytest.approx((wilson.low, wilson.high))
    assert found.second.kind == "cluster Wilson"
    assert found.second.high is not None
    assert 0.95 < found.second.high < 1


WITHOUT_EXTRA = """
import sys
for name in ("pymc", "arviz", "pytensor"):
    sys.modules[name] = None
from d3stats.inference import paired_difference
try:
    paired_difference([1, 0, 1], [0, 0, 1]).bayes(rng=1)
except ImportError as error:
    print(error)
"""


def test_the_bayesian_twin_needs_its_extra_and_says_so() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_EXTRA], capture_output=True, text=True, check=True)
    line = r'a Bayesian fit needs PyMC and ArviZ; got no (pymc|arviz|pytensor): pip install "d3stats\[bayes\]" .*'
    assert re.fullmatch(line, ran.stdout.strip())


@pytest.mark.slow
def test_the_bayesian_twin_finds_a_difference_close_to_the_clustered_one() -> None:
    pytest.importorskip("pymc")
    rng = np.random.default_rng(12)
    a, b = (rng.random((2, 300)) < [[0.6], [0.7]]).astype(float)
    found = paired_difference(a, b, names=("old", "new"))
    twin = found.bayes(rng=1, draws=200, tune=200, chains=2).difference
    assert twin.name == "new - old"
    assert twin.value == pytest.approx(found.difference.value, abs=0.01)
    assert (twin.low, twin.high) == pytest.approx((found.difference.low, found.difference.high), abs=0.02)


# ------------------------------------------------------------------ coverage and size


def rates(
    n_replicates: int, icc: float, seed: int, kinds: tuple[str, ...] = (), per_cluster: int = 4
) -> pd.Series:
    """Return how often intervals cover a true gain of 0, and how often tests reject it at 5 %."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_replicates):
        a, b, cluster = clustered(80, per_cluster, icc, rng)
        found: PairedDifference = paired_difference(a, b, cluster, n_boot=1000, rng=rng)
        naive = stats.ttest_rel(b, a).pvalue
        row = {f"covers, {kind}": not found.interval(kind).excludes(0.0) for kind in ("cluster t", *kinds)}
        for name in ("cluster t", "sign flip", "McNemar mid-p"):
            p = found.p(name)
            assert p is not None
            row[f"rejects, {name}"] = p < 0.05
        rows.append(row | {"rejects, naive t": naive < 0.05})
    return pd.DataFrame(rows).mean()


@examples(120, 200, "n")
def test_on_clustered_items_the_naive_tests_reject_too_often_and_the_clustered_do_not(n: int) -> None:
    found = rates(n, 0.3, seed=20)
    error = 3 * math.sqrt(0.05 * 0.95 / n)
    assert found["covers, cluster t"] == pytest.approx(0.95, abs=0.01 + error)
    assert found["rejects, sign flip"] <= 0.055 + error
    assert found["rejects, cluster t"] <= 0.055 + error
    assert found["rejects, naive t"] > 0.055 + error
    assert found["rejects, McNemar mid-p"] > 0.055 + error


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
def test_every_interval_covers_and_every_clustered_test_has_its_size(icc: float) -> None:
    n = 4000
    found = rates(n, icc, seed=21 + int(10 * icc), kinds=KINDS[1:])
    print(f"\nicc {icc}\n{found}")
    error = 3 * math.sqrt(0.05 * 0.95 / n)
    for kind in KINDS:
        assert 0.94 - error <= found[f"covers, {kind}"] <= 0.96 + error, kind
    for name in ("cluster t", "sign flip"):
        assert found[f"rejects, {name}"] <= 0.055 + error
    if icc >= 0.1:
        assert found["rejects, naive t"] > 0.055 + error


def _changes(
    sizes: list[int], changed: float, gains: float, icc: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw two runs whose changes within a question are alike by a normal of `icc`."""
    question = np.repeat(np.arange(len(sizes)), sizes)
    common, own = rng.standard_normal(len(sizes))[question], rng.standard_normal(len(question))
    u = stats.norm.cdf(np.sqrt(icc) * common + np.sqrt(1 - icc) * own)
    first = (u > 1 - changed * (1 - gains)).astype(np.int64)
    second = np.where(u < changed * gains, 1, 0)
    return first, second, question


@pytest.mark.parametrize(
    ("sizes", "changed", "icc"),
    [([5] * 20, 1.0, 0.9), ([1, 2, 4, 8, 16] * 4, 1.0, 0.9), ([5] * 40, 0.2, 0.3)],
)
@examples(100, 150, "n")
def test_limits_hold_a_difference_of_which_nine_of_ten_changes_are_gains(
    sizes: list[int], changed: float, icc: float, n: int
) -> None:
    """With clusters that changed as degrees of freedom, the first two cells cover .85 and .86."""
    rng, held = np.random.default_rng(17), []
    for _ in range(n):
        first, second, question = _changes(sizes, changed, 0.9, icc, rng)
        found = PairData(("a", "b"), first.astype(float), second.astype(float), question, 2, (1,))
        if not found.why_no_spread():
            low, high, _ = found.change_t(0.95)
            held.append(low <= 0.8 * changed <= high)
    assert np.mean(held) > 0.92


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=6, max_size=40))
def test_degrees_of_freedom_are_the_same_for_gains_and_losses(changes: list[int]) -> None:
    gained = np.array(changes)
    runs = np.where(gained == 1, 0.0, 1.0), np.where(gained == -1, 0.0, 1.0)
    cluster = np.arange(len(gained)) // 2
    one, other = (PairData(("a", "b"), *pair, cluster, 2, (1,)) for pair in (runs, runs[::-1]))
    assert one.df == pytest.approx(other.df)


def test_where_all_items_but_two_gain_the_two_are_the_degrees_of_freedom() -> None:
    first, second = np.array([0.0] * 28 + [1.0] * 2), np.array([1.0] * 28 + [0.0] * 2)
    assert PairData(("a", "b"), first, second, np.arange(30), 2, (1,)).df == 2


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_unit_however_small_or_large_changes_no_difference(scale: float) -> None:
    """Dollars of a token are 1e-7: twelve decimals of a sum of them would be no more than a few digits."""
    rng = np.random.default_rng(12)
    first = rng.gamma(2.0, 1.0, 40)
    second, cluster = first + rng.normal(0.3, 0.5, 40), np.repeat(np.arange(20), 2)
    one = paired_difference(first, second, cluster, rng=1)
    other = paired_difference(scale * first, scale * second, cluster, rng=1)
    for a, b in zip(
        (one.difference, one.first, one.second), (other.difference, other.first, other.second), strict=True
    ):
        assert np.array([b.value, b.low, b.high]) / scale == pytest.approx([a.value, a.low, a.high], rel=1e-9)
    known = {t.name: t.p_value for t in one.tests if t.p_value is not None}
    assert {t.name: t.p_value for t in other.tests if t.p_value is not None} == pytest.approx(known, rel=1e-9)
    assert other.relative().value == pytest.approx(one.relative().value, rel=1e-9)
    for margin in (0.1, 0.6):
        found = other.noninferior(margin * scale), other.equivalent(margin * scale)
        wanted = one.noninferior(margin), one.equivalent(margin)
        assert [each.p_value for each in found] == pytest.approx([each.p_value for each in wanted], rel=1e-9)


def test_equal_and_opposite_changes_are_no_difference_in_any_unit() -> None:
    change = np.array([0.1, 0.2, 0.3, -0.3, -0.2, -0.1])
    for scale in (1e-9, 1.0):
        found = paired_difference(np.zeros(6), scale * change).difference
        assert f"{found.value}" == "0.0"
