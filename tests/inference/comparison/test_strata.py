"""Estimates by stratum: the raw ones are the method of the whole, the shrunken ones and the tests have oracles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples, sampled
from scipy import integrate, stats

from d3stats.inference import compare, stratify
from d3stats.inference.comparison.strata import _equality, _posterior, _Spread, paule_mandel
from d3stats.inputs.labels import Labels

RNG = np.random.default_rng(20260101)


def sample(sizes: list[int], seed: int = 0, spread: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    strata = np.repeat([f"s{k}" for k in range(len(sizes))], sizes)
    return rng.normal(np.repeat(rng.normal(0, spread, len(sizes)), sizes), 1.0), strata


def test_one_stratum_is_the_unstratified_result() -> None:
    values, _ = sample([12])
    found = stratify(values, ["math"] * 12, symmetric=True)
    interval = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert (found.raw[0].value, found.raw[0].low, found.raw[0].high) == (
        found.overall.value,
        found.overall.low,
        found.overall.high,
    )
    assert (found.raw[0].low, found.raw[0].high) == pytest.approx(interval)
    assert found.shrunken == (None,)
    assert found.equality.p_value is None
    assert any("nothing to compare" in note for note in found.notes)


def test_a_hand_example() -> None:
    found = stratify([0, 1, 2, 4, 5, 6], list("aaabbb"))
    # Means 1 and 5, each with the error sqrt(1 / 3); t = 4 / sqrt(2 / 3), squared 24.
    assert [e.value for e in found.raw] == [1.0, 5.0]
    assert found.equality.f == pytest.approx(24.0)
    assert found.equality.df1 == pytest.approx(1.0)
    assert found.equality.df2 == pytest.approx(4.0)
    assert "fewer than 3 strata" in found.notes[-1]


def test_of_two_strata_the_test_is_welchs_t() -> None:
    values, strata = sample([7, 19], 3)
    test = stratify(values, strata).equality
    welch = stats.ttest_ind(values[strata == "s0"], values[strata == "s1"], equal_var=False)
    assert test.f == pytest.approx(float(welch.statistic) ** 2)
    assert test.df2 == pytest.approx(float(welch.df))
    assert test.p_value == pytest.approx(float(welch.pvalue))


def test_of_equal_sizes_the_statistic_is_the_f_of_analysis_of_variance() -> None:
    values, strata = sample([8] * 5, 4)
    oneway = stats.f_oneway(*(values[strata == f"s{k}"] for k in range(5)))
    assert stratify(values, strata).equality.f == pytest.approx(float(oneway.statistic))


@pytest.mark.parametrize("sizes", [[5, 9, 14, 20], [10, 10, 10]])
def test_tau_and_the_mean_are_those_of_statsmodels(sizes: list[int]) -> None:
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    values, strata = sample(sizes, 5, spread=1.5)
    found = stratify(values, strata)
    counts = np.array([e.n for e in found.raw])
    pooled = sum((e.n - 1) * e.n * e.se**2 for e in found.raw) / (counts.sum() - len(sizes)) / counts
    oracle = meta.combine_effects(
        np.array([e.value for e in found.raw]), pooled, method_re="iterated", use_t=True, atol=1e-14
    )
    assert found.between is not None
    assert found.mean is not None
    assert found.between**2 == pytest.approx(float(oracle.tau2), rel=1e-6)
    assert found.mean.value == pytest.approx(float(oracle.mean_effect_re), rel=1e-6)
    assert found.mean.se == pytest.approx(float(oracle.sd_eff_w_re_hksj), rel=1e-6)


def test_eight_schools_have_their_published_posterior() -> None:
    # Rubin (1981); posterior means and deviations as every text on the example gives them, flat prior of tau.
    effect = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mean, sd, _, _ = _posterior(effect, error**2, 1e9, 0.95)
    assert mean == pytest.approx([11.4, 7.9, 6.1, 7.6, 5.1, 6.1, 10.6, 8.5], abs=0.25)
    assert sd == pytest.approx([8.3, 6.3, 7.8, 6.6, 6.4, 6.7, 6.8, 7.9], abs=0.3)


def test_the_posterior_is_that_of_a_plain_integral() -> None:
    value, variance = np.array([0.1, 0.9, 0.3, 0.4]), np.array([0.04, 0.09, 0.02, 0.05])

    def density(tau: float) -> float:
        law = stats.multivariate_normal(np.zeros(4), np.diag(variance + tau**2) + 1e6 * np.ones((4, 4)))
        return float(law.pdf(value)) * 1e3

    def weighted(tau: float) -> float:
        precision = 1 / (variance + tau**2)
        mean = (precision @ value) / precision.sum()
        return density(tau) * (tau**2 * value[1] + variance[1] * mean) * precision[1]

    area, _ = integrate.quad(density, 0, np.inf, limit=200)
    top, _ = integrate.quad(weighted, 0, np.inf, limit=200)
    assert _posterior(value, variance, 1e9, 0.95)[0][1] == pytest.approx(top / area, rel=2e-3)


def test_limits_of_tau_put_quantiles_of_f_and_of_chi_squared_on_the_weighted_squares() -> None:
    values, strata = sample([10] * 6, 6, spread=1.0)
    found = stratify(values, strata)
    value = np.array([e.value for e in found.raw])
    variance = np.array([np.mean([e.se**2 for e in found.raw])] * 6)
    # The pooled variance of 6 strata of 10 has 54 degrees of freedom.
    ends = (found.between_low, 5 * stats.f.ppf(0.975, 5, 54)), (found.between_high, stats.chi2.ppf(0.025, 5))
    for limit, quantile in ends:
        precision = 1 / (variance + limit**2)
        mean = (precision @ value) / precision.sum()
        assert precision @ (value - mean) ** 2 == pytest.approx(quantile)


@pytest.mark.slow  # unequal clusters without a difference are the fast layer
def test_limits_of_tau_hold_zero_where_strata_have_two_questions() -> None:
    """With the chi-square of known variances they hold it in .79 of such samples."""
    rng, labels = np.random.default_rng(3), np.repeat(np.arange(4), 2)
    found = [stratify(rng.normal(size=8), labels) for _ in range(100)]
    assert np.mean([one.between_low == 0 for one in found]) > 0.93


@pytest.mark.parametrize("null", [-0.5, 0.0, 0.3, 0.42, 2.0])
def test_the_p_value_of_the_mean_of_strata_goes_with_its_interval(null: float) -> None:
    values, strata = sample([20] * 4, 31)
    mean = stratify(values + 0.3, strata, null=null).mean
    assert mean is not None
    assert mean.p_value is not None
    assert (mean.p_value < 0.05) == mean.excludes(null)
    zero = stratify(values + 0.3, strata).mean
    assert zero is not None
    assert (mean.value, mean.low, mean.high) == pytest.approx((zero.value, zero.low, zero.high))


def test_without_a_null_the_mean_of_strata_has_no_p_value() -> None:
    values, strata = sample([20] * 4, 31)
    mean = stratify(values, strata, null=None).mean
    assert mean is not None
    assert mean.p_value is None


def test_a_stratum_of_one_question_has_no_interval_but_a_shrunken_one_wider_than_all_others() -> None:
    values, strata = sample([1, 10, 10, 20], 7, spread=0.1)
    found = stratify(values, strata)
    assert found.raw[0].low is None
    assert found.p_values[0] is None
    widths = [e.high - e.low for e in found.shrunken]
    assert widths[0] == max(widths)
    assert found.equality.n_strata == 3
    assert any("one question only" in note and "'s0'" in note for note in found.notes)


def test_equal_strata_are_shrunken_to_their_mean_and_a_note_says_why() -> None:
    values = np.tile([0.0, 1.0, 2.0], 4)
    found = stratify(values, np.repeat(list("abcd"), 3))
    assert found.between == 0
    assert [e.value for e in found.shrunken] == pytest.approx([1.0] * 4)
    assert any("no more than questions within them" in note for note in found.notes)


def test_where_nothing_varies_there_is_no_test_and_a_reason() -> None:
    found = stratify([1.0] * 4 + [0.0] * 4 + [1.0] * 4, np.repeat(list("abc"), 4))
    assert found.equality.p_value is None
    assert "do not vary" in found.equality.why
    assert found.shrunken == (None, None, None)


def test_p_values_are_adjusted_over_the_strata_and_an_untested_stratum_counts() -> None:
    values, strata = sample([1, 6, 9, 12], 8)
    found = stratify(values, strata)
    known = [p for p in found.p_values if p is not None]
    assert found.p_holm[1 + int(np.argmin(known))] == pytest.approx(min(1.0, 4 * min(known)))
    assert found.p_holm[0] is None
    assert found.p_bh[0] is None


def test_without_a_null_each_stratum_is_tested_against_the_others() -> None:
    values, strata = sample([8, 12], 9)
    found = stratify(values, strata, null=None)
    welch = stats.ttest_ind(values[strata == "s0"], values[strata == "s1"], equal_var=False)
    assert found.null == "the other strata"
    assert found.p_values == pytest.approx([float(welch.pvalue)] * 2)


def test_another_null_moves_the_test_and_not_the_estimate() -> None:
    values, strata = sample([8, 12], 9)
    moved = stratify(values, strata, null=0.5)
    assert moved.raw[0].p_value == pytest.approx(float(stats.ttest_1samp(values[:8], 0.5).pvalue))
    assert moved.raw[0].value == pytest.approx(values[:8].mean())
    assert moved.null == "0.5"


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.floats(-5, 5), st.floats(0.1, 10))
def test_a_shift_and_a_scale_of_values_go_through(seed: int, shift: float, scale: float) -> None:
    values, strata = sample([4, 7, 5], seed)
    one, other = stratify(values, strata), stratify(shift + scale * values, strata)
    assert other.equality.f == pytest.approx(one.equality.f, rel=1e-6)
    for e, f in zip(one.shrunken, other.shrunken, strict=True):
        assert f.value == pytest.approx(shift + scale * e.value, rel=1e-6, abs=1e-6)
        assert f.high == pytest.approx(shift + scale * e.high, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("null", [0.0, None])
@pytest.mark.parametrize("scale", [1e-12, 1e-7, 1e9])
def test_a_unit_however_small_or_large_changes_no_result(scale: float, null: float | None) -> None:
    """Dollars of a call are 1e-7 and its tokens 1e4: no tolerance may be a number of their unit."""
    values, strata = sample([6, 9, 12, 7], 21)
    values = values + np.repeat([0.0, 1.0, 2.0, 0.5], [6, 9, 12, 7])
    one, other = stratify(values, strata, null=null), stratify(scale * values, strata, null=null)
    assert one.between > 0.1
    assert other.equality.p_value == pytest.approx(one.equality.p_value, rel=1e-6)
    assert other.p_values == pytest.approx(one.p_values, rel=1e-6)
    for name in ("between", "between_low", "between_high"):
        assert getattr(other, name) / scale == pytest.approx(getattr(one, name), rel=1e-6), name
    for e, f in zip((one.mean, *one.shrunken), (other.mean, *other.shrunken), strict=True):
        assert np.array([f.value, f.low, f.high]) / scale == pytest.approx([e.value, e.low, e.high], rel=1e-6)


def test_the_order_of_rows_changes_nothing() -> None:
    values, strata = sample([5, 6, 7], 10)
    order = RNG.permutation(18)
    one, other = stratify(values, strata), stratify(values[order], strata[order])
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    pd.testing.assert_frame_equal(one.to_frame("equality"), other.to_frame("equality"))


def test_strata_are_in_the_order_of_numbers() -> None:
    assert Labels.of([10, 9, "NA", 2.0]).names == ("2", "9", "10")


def test_clusters_widen_the_interval_and_are_no_strata() -> None:
    values, strata = sample([12, 12], 11)
    doubled = stratify(np.repeat(values, 2), np.repeat(strata, 2), cluster=np.repeat(np.arange(24), 2))
    assert doubled.raw[0].se == pytest.approx(stratify(values, strata).raw[0].se)
    assert doubled.raw[0].n_clusters == 12


def test_a_cluster_in_several_strata_is_named() -> None:
    values, strata = sample([4, 4], 12)
    found = stratify(values, strata, cluster=[0, 1, 2, 3, 3, 4, 5, 6])
    assert any("1 cluster with rows in several strata" in note for note in found.notes)


def test_missing_strata_are_left_out_and_counted() -> None:
    values, strata = sample([6, 6], 13)
    blank = strata.astype(object)
    blank[:2] = None
    found = stratify(values, blank)
    assert found.overall.n == 10
    assert "2 of 12 rows have no stratum and were left out" in found.notes


@pytest.mark.parametrize(
    ("values", "strata", "message"),
    [
        ([1.0, 2.0], [None, None], "stratum must say the stratum of some question; got none in 2 rows"),
        (
            [1.0, 2.0],
            ["a", "b"],
            "must put several questions into a stratum; got 2 strata of one question each",
        ),
        ([1.0, np.nan], ["a", "a"], "values must be finite"),
        ([1.0, 2.0], ["a"], r"strata must have one value per item \(2\); got 1"),
        ([], [], "values must be one per item, at least one"),
    ],
)
def test_bad_input_is_refused_by_name(values: list[float], strata: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stratify(values, strata)


def test_many_strata_are_said() -> None:
    values = RNG.normal(size=80)
    found = stratify(values, np.repeat(np.arange(40), 2), column="task")
    assert any(note.startswith("40 strata") for note in found.notes)


def test_every_form_of_the_result() -> None:
    values, strata = sample([5, 6, 7], 14)
    found = stratify(values, strata, name="gain", column="category")
    assert found["s1"].name == "s1"
    assert "gain, by category: 3 strata, 18 items in 18 clusters" in str(found)
    assert found.to_dict()["tables"]["equality"][0]["strata"] == 3
    assert "tabular" in found.to_latex()
    with pytest.raises(KeyError, match="no stratum 'x'"):
        found["x"]


def coverage(sizes: list[int], spread: float, reps: int, seed: int) -> tuple[float, float, float]:
    """Return how often raw and shrunken intervals hold the truth, and how often equality is refused at .05."""
    rng = np.random.default_rng(seed)
    strata = np.repeat(np.arange(len(sizes)), sizes)
    raw = shrunken = refused = 0
    for _ in range(reps):
        truth = rng.normal(0.1, spread, len(sizes))
        found = stratify(rng.normal(truth[strata], 0.5), strata)
        raw += sum(e.low <= t <= e.high for e, t in zip(found.raw, truth, strict=True))
        shrunken += sum(e.low <= t <= e.high for e, t in zip(found.shrunken, truth, strict=True))
        refused += found.equality.p_value < 0.05
    n = reps * len(sizes)
    return raw / n, shrunken / n, refused / reps


def test_effects_of_strata_are_recovered_by_both_estimates() -> None:
    raw, shrunken, refused = coverage([10, 10, 10, 10], 0.2, 25, 1)
    assert raw > 0.90
    assert shrunken > 0.90
    assert refused > 0.1


def drawn(sizes: list[int], truth: np.ndarray, sd: np.ndarray, rng: np.random.Generator) -> _Spread:
    """Return means, their squared errors and sizes of normal questions, as `stratify` hands them on."""
    n = np.array(sizes, dtype=float)
    mean = rng.normal(truth, sd / np.sqrt(n))
    return _Spread(mean, sd**2 * rng.chisquare(n - 1) / (n - 1) / n, n)


def test_the_simulated_summaries_are_those_of_stratify() -> None:
    values, strata = sample([5, 6, 7], 16)
    found = stratify(values, strata)
    spread = _Spread(
        np.array([e.value for e in found.raw]), np.array([e.se**2 for e in found.raw]), np.array([5.0, 6, 7])
    )
    assert _equality(spread) == found.equality
    mean, _, limits, _ = _posterior(spread.value, spread.pooled, 15.0, 0.95)
    assert mean == pytest.approx([e.value for e in found.shrunken])
    assert limits[0] == pytest.approx([e.low for e in found.shrunken])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[5] * 4, [20] * 4, [10] * 8, [5, 5, 10, 20], [1, 10, 10, 20], [5] * 3])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5])
def test_coverage_of_shrunken_intervals(sizes: list[int], spread: float) -> None:
    rng, reps, one = np.random.default_rng(2), 150, np.ones(len(sizes))
    held = 0
    for _ in range(reps):
        truth = rng.normal(0.1, spread, len(sizes))
        n = np.array(sizes, dtype=float)
        free = n.sum() - len(n)
        value = rng.normal(truth, 1 / np.sqrt(n))
        low, high = _posterior(value, one * rng.chisquare(free) / free / n, free, 0.95)[2]
        held += int(((low <= truth) & (truth <= high)).sum())
    # Flat priors err on the wide side where strata are few or alike.
    assert held / (reps * len(sizes)) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / (reps * len(sizes)))


def test_the_test_of_equality_does_not_refuse_too_often() -> None:
    rng = np.random.default_rng(3)
    refused = sum(_equality(drawn([5] * 4, np.zeros(4), np.ones(4), rng)).p_value < 0.05 for _ in range(300))
    assert refused / 300 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


SIZES = [[5] * 4, [5] * 8, [20] * 4, [5, 5, 10, 20], [20, 10, 5, 5]]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["alike", "unequal"])
def test_size_of_the_test_of_equality(sizes: list[int], kind: str) -> None:
    rng, reps = np.random.default_rng(4), 600
    sd = np.ones(len(sizes)) if kind == "alike" else 1.0 + np.arange(len(sizes)) / 2
    refused = sum(_equality(drawn(sizes, np.zeros(len(sizes)), sd, rng)).p_value < 0.05 for _ in range(reps))
    # Unequal variances with unequal sizes may cost one point.
    most = 0.06 if kind == "unequal" else 0.05
    assert refused / reps < most + 3 * np.sqrt(0.05 * 0.95 / reps)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("changed", [0.1, 0.3])
def test_size_of_the_test_where_few_answers_change(sizes: list[int], changed: float) -> None:
    rng, reps, n = np.random.default_rng(5), 600, np.array(sizes, dtype=float)
    refused = 0
    for _ in range(reps):
        parts = [rng.choice([-1.0, 0.0, 1.0], k, p=[changed / 2, 1 - changed, changed / 2]) for k in sizes]
        spread = _Spread(
            np.array([x.mean() for x in parts]), np.array([x.var(ddof=1) / len(x) for x in parts]), n
        )
        p = _equality(spread).p_value
        refused += p is not None and p < 0.05
    assert refused / reps < 0.05 + 3 * np.sqrt(0.05 * 0.95 / reps)


def runs() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(15)
    kinds = np.repeat(["coding", "ethics", "math"], [10, 14, 8])
    first = rng.integers(0, 2, 32)
    second = np.where((kinds == "ethics") & (rng.random(32) < 0.7), 1, first)
    items = [f"q{k}" for k in range(32)]
    return (
        pd.DataFrame({"item": items, "correct": first, "category": kinds}),
        pd.DataFrame({"item": items, "correct": second}),
    )


def test_compare_by_category_is_compare_of_the_categorys_items() -> None:
    one, two = runs()
    found = compare(one, two, names=("one", "two"), strata="category", rng=1)
    part = one["category"] == "ethics"
    alone = compare(one[part], two[part], names=("one", "two"), rng=1)
    ethics = found.strata[0]["ethics"]
    assert (ethics.value, ethics.low, ethics.high, ethics.p_value) == (
        alone.difference.value,
        alone.difference.low,
        alone.difference.high,
        alone.p_value,
    )
    assert [part.quantity for part in found.strata] == ["two - one", "one", "two"]
    assert found.strata[1]["ethics"].low == alone.runs[0].low
    assert not any("not read" in note for note in found.notes)
    assert set(found.to_frame("strata")["quantity"]) == {"two - one", "one", "two"}
    assert len(found.to_dict()["strata"]) == 3
    assert "two - one, by category: 3 strata" in str(found)


def test_the_mean_of_the_strata_of_a_comparison_is_tested_for_no_difference() -> None:
    """The p-value that goes with the interval, by Student's t of strata less one."""
    one, two = runs()
    found = compare(one, two, names=("one", "two"), strata="category", rng=1).strata[0]
    assert found.null == "0"
    mean = found.mean
    assert mean is not None
    error = (mean.high - mean.low) / 2 / stats.t.ppf(0.975, 2)
    assert mean.p_value == pytest.approx(2 * stats.t.sf(abs(mean.value) / error, 2))
    assert 0.05 < mean.p_value < 1


def test_one_category_of_all_items_is_the_whole_comparison() -> None:
    one, two = runs()
    found = compare(one.assign(category="x"), two, names=("one", "two"), strata="category", rng=1)
    assert found.strata[0].raw[0].low == found.difference.low
    assert found.strata[0].raw[0].p_value == found.p_value


def test_strata_may_be_given_by_item() -> None:
    one, two = runs()
    kinds = one.set_index("item")["category"].rename("kind")
    by_name = compare(one, two, names=("one", "two"), strata="category", rng=1)
    given_ = compare(list(one["correct"]), list(two["correct"]), strata=dict(enumerate(kinds)), rng=1)
    assert [e.value for e in given_.strata[0].raw] == [e.value for e in by_name.strata[0].raw]
    assert compare(one, two, names=("one", "two"), strata=kinds, rng=1).strata[0].column == "kind"


def test_a_category_that_changes_within_an_item_is_refused_by_name() -> None:
    one, two = runs()
    twice = pd.concat([one, one.head(2).assign(category="law")])
    with pytest.raises(
        ValueError, match=r"one per question; got 'coding' and 'law' in 'q0'.*2 questions: 'q0', 'q1'"
    ):
        compare(twice, two, names=("one", "two"), strata="category")


def test_runs_that_disagree_on_a_category_are_refused() -> None:
    one, two = runs()
    with pytest.raises(
        ValueError, match="category must be the same in all runs; got 'coding' and 'law' in 'q0'"
    ):
        compare(one, two.assign(category="law"), names=("one", "two"), strata="category")


def test_a_column_that_is_not_there_is_refused_with_the_nearest() -> None:
    one, two = runs()
    with pytest.raises(
        ValueError, match=r"strata must be a column of the table .* got 'categry'; did you mean 'category'"
    ):
        compare(one, two, names=("one", "two"), strata="categry")
    with pytest.raises(ValueError, match="got 'correct', read as correct"):
        compare(one, two, names=("one", "two"), strata="correct")
    with pytest.raises(
        ValueError, match="strata must be a mapping of item to stratum where the source has no columns"
    ):
        compare([1, 0, 1], [1, 1, 0], strata="category")


def test_questions_that_count_once_need_one_category_each() -> None:
    one, two = runs()
    clustered = [frame.assign(cluster=[f"c{k // 2}" for k in range(32)]) for frame in (one, two)]
    found = compare(*clustered, names=("one", "two"), strata="category", weights="question", rng=1)
    assert found.strata[0].overall.n == 16
    odd = clustered[0].assign(category=["x" if k == 1 else c for k, c in enumerate(one["category"])])
    with pytest.raises(ValueError, match=r"one per question with weights='question'.*'c0'"):
        compare(odd, clustered[1], names=("one", "two"), strata="category", weights="question")
    mixed = compare(odd, clustered[1], names=("one", "two"), strata="category", rng=1)
    assert any("1 cluster ('c0') with rows in several strata" in note for note in mixed.strata[0].notes)


def log(seed: int, kinds: dict[str, str]) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {
            "debate": q,
            "round": 1,
            "agent": a,
            "vote": rng.choice(["A", "B"], p=[0.7, 0.3]),
            "label": "A",
            "difficulty": kind,
        }
        for q, kind in kinds.items()
        for a in ("x", "y", "z")
    ]
    return pd.DataFrame(rows)


def test_a_log_keeps_the_column_that_is_asked_for(tmp_path) -> None:
    kinds = {f"q{k}": ["easy", "hard"][k % 2] for k in range(20)}
    paths = []
    for seed in (1, 2):
        paths.append(tmp_path / f"run{seed}.csv")
        log(seed, kinds).to_csv(paths[-1], index=False)
    found = compare(*paths, strata="difficulty", rng=1)
    assert [e.name for e in found.strata[0].raw] == ["easy", "hard"]
    assert found.strata[0].overall.value == found.difference.value
    with pytest.raises(ValueError, match="dificulty"):
        compare(*paths, strata="dificulty")
    frames = [pd.read_csv(path) for path in paths]
    again = compare(*frames, names=("run1", "run2"), strata="difficulty", rng=1)
    assert [e.value for e in again.strata[0].raw] == [e.value for e in found.strata[0].raw]


def test_a_log_whose_debate_has_two_categories_is_refused(tmp_path) -> None:
    kinds = {f"q{k}": ["easy", "hard"][k % 2] for k in range(20)}
    table = log(1, kinds)
    table.loc[0, "difficulty"] = "hard"
    path = tmp_path / "run.csv"
    table.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"difficulty must be one per debate; .*'q0'"):
        compare(path, log(2, kinds), names=("a", "b"), strata="difficulty")


def test_tau_is_zero_where_values_differ_little() -> None:
    assert paule_mandel(np.array([0.0, 0.1, 0.2]), np.ones(3)) == 0.0


def test_limits_of_a_share_by_stratum_stay_between_0_and_1_also_shrunken_ones_and_the_mean() -> None:
    """25 of 26 right: Student's limits about .962 reach beyond 1."""
    values = np.concatenate(
        [np.repeat([1.0, 0.0], [25, 1]), np.repeat([1.0, 0.0], [24, 2]), np.repeat([1.0, 0.0], [25, 1])]
    )
    found = stratify(values, np.repeat(["a", "b", "c"], 26), null=None)
    assert found.mean is not None
    for e in (*found.raw, found.mean, *(each for each in found.shrunken if each is not None)):
        assert e.low is not None
        assert e.high is not None
        assert 0 <= e.low <= e.value <= e.high <= 1, e


def test_a_stratum_that_is_mostly_one_cluster_has_no_variance_rather_than_none_at_all() -> None:
    """Its variance is unknown, not 0: with 0 the other strata would be surely different from it."""
    rng = np.random.default_rng(4)
    strata = np.repeat(["a", "b", "c"], 30)
    cluster = np.concatenate([np.repeat(np.arange(6), [25, 1, 1, 1, 1, 1]), np.arange(6, 66)])
    found = stratify(rng.normal(size=90), strata, cluster=cluster, null=None)
    assert found.raw[0].low is None
    assert "one cluster has 25 of 30 items" in found.raw[0].note
    assert found.p_values[0] is None
    assert found.equality.n_strata == 2


@sampled("sizes", [[1, 1, 2, 4, 8, 16], [6, 6, 2, 2, 2, 2]], (1,))
@examples(20, 60)
def test_clusters_of_unequal_size_do_not_make_strata_differ(sizes: list[int], n_examples: int) -> None:
    """Each stratum counts as the equal clusters that its own are worth; with their number .84 and .89 hold tau = 0."""
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(4 * len(sizes)), sizes * 4)
    strata = np.repeat(np.arange(4), sum(sizes))
    rejected, held = [], []
    for _ in range(n_examples):
        values = rng.normal(size=len(cluster)) + rng.normal(size=cluster.max() + 1)[cluster]
        found = stratify(values, strata, cluster=cluster)
        rejected.append(found.equality.p_value is not None and found.equality.p_value < 0.05)
        held.append(found.between_low == 0)
    assert np.mean(rejected) < 0.08
    assert np.mean(held) > 0.93


def test_a_stratum_whose_questions_are_all_alike_has_variance_0_and_one_of_a_single_question_none() -> None:
    values, strata = [0.5, 0.5, 0.5, 0.1, 0.9, 0.3, 0.7], list("aaabbbc")
    found = stratify(values, strata)
    assert [e.se is None for e in found.raw] == [False, False, True]
    assert found.raw[0].se == 0.0
    assert found.equality.n_strata == 2


def test_variances_are_pooled_where_they_differ_by_chance_alone_and_kept_apart_where_they_do_not() -> None:
    size, value = np.full(6, 20.0), np.zeros(6)
    alike = _Spread(value, np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0]) / 20, size)
    np.testing.assert_array_equal(alike.moderated()[0], alike.pooled)
    np.testing.assert_array_equal(alike.moderated()[1], np.full(6, 6 * 19.0))
    own = np.array([0.1, 0.1, 0.1, 10.0, 10.0, 10.0]) / 20
    apart, free = _Spread(value, own, size).moderated()
    assert (np.abs(apart / own - 1) < 0.3).all()
    assert (free < 30).all()


@pytest.mark.slow  # equal variances are the fast layer
def test_shrunken_limits_cover_in_each_stratum_where_questions_vary_unlike() -> None:
    """One pooled variance covers .83 in the worst stratum here."""
    rng = np.random.default_rng(8)
    inside = []
    for _ in range(60):
        truth = 0.5 * rng.normal(size=6)
        values = truth[:, None] + np.repeat([0.5, 2.0], 3)[:, None] * rng.normal(size=(6, 10))
        found = stratify(values.ravel(), np.repeat(list("abcdef"), 10), null=None)
        limits = [(e.low, e.high) for e in found.shrunken if e is not None]
        inside.append([low <= t <= high for (low, high), t in zip(limits, truth, strict=True)])  # type: ignore[operator]
    assert np.mean(inside) >= 0.93 - 0.02
    assert np.mean(np.array(inside)[:, 3:]) >= 0.9 - 0.03


@pytest.mark.parametrize(("questions", "limits"), [(12, False), (40, True)])
def test_shrunken_values_of_few_questions_have_no_limits_and_a_note(questions: int, limits: bool) -> None:
    """With ten questions in four strata 95 % limits cover .88 of log-normal values."""
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(questions), 3)
    values = np.exp(rng.normal(size=questions))[cluster] + rng.normal(0, 0.1, len(cluster))
    found = stratify(values, cluster % 4, cluster=cluster)
    assert found.mean is not None
    assert all((e.low is not None) is limits for e in (found.mean, *found.shrunken) if e is not None)
    assert any("too little of a long tail" in note for note in found.notes) is not limits
    assert all((e.low is not None) is limits for e in found.raw)
    assert found.overall.low is not None


def test_strata_whose_tail_is_that_of_two_large_questions_have_no_limits_of_a_skewed_mean() -> None:
    """Two questions of 50 items beside 18 of 2: the strata of equal questions covered .88 with the tail of all."""
    sizes = np.array([50, 50, *[2] * 18])
    cluster = np.repeat(np.arange(20), sizes)
    strata = np.array(list("abcd"))[cluster % 4]
    for values in (np.random.default_rng(k).lognormal(size=len(cluster)) for k in range(8)):
        assert all(e.low is None for e in stratify(values, strata, cluster=cluster).raw)
    equal = np.arange(20).repeat(5)
    values = np.random.default_rng(1).lognormal(size=100)
    found = stratify(values, np.array(list("abcd"))[equal % 4], cluster=equal)
    assert all(e.low is not None for e in found.raw)


@pytest.mark.parametrize(("sizes", "limits"), [([4], False), ([5], True), ([8, 2, 2, 2, 2, 2, 2], False)])
def test_a_stratum_worth_fewer_than_five_questions_has_limits_of_a_share_only(
    sizes: list[int], limits: bool
) -> None:
    """The limits of log-normal values in strata of 2.5 questions cover .88 to .91; those of shares keep their level."""
    sizes = sizes * 4 if len(sizes) > 1 else [1] * sizes[0] * 4
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    strata = np.array(list("abcd"))[cluster * 4 // len(sizes)]
    values = np.random.default_rng(3).lognormal(size=len(cluster))
    found = stratify(values, strata, cluster=cluster)
    for e in found.raw:
        assert (e.low is not None, e.p_value is not None) == (limits, limits)
        assert e.se is not None
    assert found.overall.low is not None
    assert sum("no limits of stratum 'a', 'b', 'c', 'd'" in note for note in found.notes) == (not limits)
    assert found.null == "0"
    right = stratify(cluster % 2, strata, cluster=cluster)
    signed = stratify(values, strata, cluster=cluster, symmetric=True)
    # Shares, and differences of two runs, keep the limits that they have.
    assert all(e.low is not None for e in (*right.raw, *signed.raw))
