"""What every clustered method shares: codes of labels, jackknife errors, Hotelling's test, intraclass correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from d3stats.resampling import (
    anova_sums,
    cluster_codes,
    cluster_t,
    cluster_totals,
    effective_clusters,
    hotelling,
    intraclass,
    jackknife,
    mean_squares,
    ratios,
)

LABELS = st.lists(
    st.one_of(st.integers(-3, 3), st.sampled_from("abc"), st.tuples(st.integers(0, 1))), min_size=1
)


@given(LABELS)
def test_codes_are_equal_exactly_where_labels_are_and_count_from_zero(labels: list[Any]) -> None:
    codes = cluster_codes(labels, len(labels))
    assert codes.dtype == np.int64
    assert sorted(set(codes.tolist())) == list(range(len(set(labels))))
    for i, j in np.ndindex(len(labels), len(labels)):
        assert (codes[i] == codes[j]) == (labels[i] == labels[j])


@pytest.mark.parametrize("container", [list, tuple, lambda x: np.array(x, dtype=object), pd.Series])
@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_is_refused_in_every_container(container: Any, missing: Any) -> None:
    with pytest.raises(ValueError, match="cluster must name every row; got a missing name at row 1"):
        cluster_codes(container(["q1", missing, "q2"]), 3)


def test_codes_want_one_label_per_row_and_count_rows_without_labels() -> None:
    with pytest.raises(ValueError, match=r"question must have one name per item \(3\); got shape \(2,\)"):
        cluster_codes(["a", "b"], 3, name="question", unit="item")
    assert cluster_codes(None, 3).tolist() == [0, 1, 2]


def test_jackknife_errors_are_those_of_leaving_out_each_cluster() -> None:
    totals = np.random.default_rng(1).gamma(2.0, size=(12, 2))
    without = jackknife(totals, ratios((0, 1)))[:, 0]
    estimate = totals[:, 0].sum() / totals[:, 1].sum()
    for error, centre in (("jackknife", without.mean()), ("CR3", estimate)):
        found = cluster_t(totals, ratios((0, 1)), error=error, symmetric=True)  # type: ignore[arg-type]
        assert found.se[0] == pytest.approx(np.sqrt(11 / 12 * ((without - centre) ** 2).sum()), rel=1e-12)
        half = stats.t.ppf(0.975, effective_clusters(totals[:, 1]) - 1) * found.se[0]
        assert found.interval() == pytest.approx((estimate - half, estimate + half), rel=1e-12)
        repeated = cluster_t(totals, ratios((0, 1)), error=error, multiplicity=np.full(12, 2))  # type: ignore[arg-type]
        doubled = cluster_t(np.repeat(totals, 2, axis=0), ratios((0, 1)), error=error)  # type: ignore[arg-type]
        assert repeated.se[0] == pytest.approx(doubled.se[0], rel=1e-12)


def test_a_statistic_undefined_without_one_cluster_has_no_jackknife_interval() -> None:
    found = cluster_t([[1.0, 1.0], [1.0, 0.0], [3.0, 0.0]], ratios((0, 1)), error="jackknife")
    assert found.interval() == (None, None)
    assert "without one of the clusters" in found.to_estimate("ratio", 5).note


@given(st.integers(3, 30), st.integers(0, 1000))
def test_hotelling_of_one_column_is_the_square_of_students_t(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.3, 2.0, n)
    t = stats.ttest_1samp(values, 0.0)
    found = hotelling(values[:, None])
    assert found.f == pytest.approx(t.statistic**2, rel=1e-9)
    assert found.p_value == pytest.approx(t.pvalue, rel=1e-7, abs=1e-12)


@given(st.integers(0, 1000))
def test_hotelling_is_the_same_in_other_units_and_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    totals = rng.normal(0.2, 1.0, (15, 3))
    turned = totals @ (rng.normal(size=(3, 3)) + 3 * np.eye(3)) * [1e-3, 1.0, 1e4]
    assert hotelling(turned).f == pytest.approx(hotelling(totals).f, rel=1e-6)


@pytest.mark.parametrize(
    "totals", [np.zeros((9, 2)), np.ones((3, 3)), np.outer(np.arange(8.0), [1, 2]), np.full((7, 2), 0.1)]
)
def test_hotelling_gives_no_test_where_the_means_do_not_vary_freely(totals: np.ndarray) -> None:
    assert hotelling(totals).f is None
    assert hotelling(totals).p_value is None


@given(st.integers(2, 6), st.integers(2, 9), st.integers(0, 1000), st.floats(-1e3, 1e3))
def test_intraclass_is_the_textbook_ratio_and_does_not_move_with_the_origin(
    groups: int, size: int, seed: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(groups, 1)) + rng.normal(size=(groups, size))
    f = stats.f_oneway(*table).statistic
    codes = np.repeat(np.arange(groups), size)
    parts = mean_squares(anova_sums(table.ravel() + shift, codes).sum(axis=0, keepdims=True))
    # With equal groups the ratio of mean squares is all there is: (F - 1) / (F + n - 1).
    assert intraclass(*parts)[0] == pytest.approx((f - 1) / (f + size - 1), rel=1e-8, abs=1e-9)


def test_intraclass_of_single_members_or_equal_values_is_unknown() -> None:
    for values, codes in ((np.arange(3.0), np.arange(3)), (np.ones(4), np.array([0, 0, 1, 1]))):
        parts = mean_squares(anova_sums(values, codes).sum(axis=0, keepdims=True))
        assert np.isnan(intraclass(*parts)[0])


@given(st.lists(st.integers(0, 12) | st.integers(-(2**40), 2**40), max_size=12))
def test_totals_are_those_of_each_cluster_whatever_its_code(codes: list[int]) -> None:
    values = np.arange(2.0 * len(codes)).reshape(-1, 2)
    found = cluster_totals(values, np.array(codes, dtype=np.int64))
    wanted = [values[np.array(codes) == code].sum(axis=0).tolist() for code in sorted(set(codes))]
    assert found.tolist() == wanted
