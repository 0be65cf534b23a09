"""The sign-flip test counts what it says it counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pace import idle_seconds
from scipy import stats
from scipy.special import ndtr

from d3stats.resampling import sign_flip_p
from d3stats.resampling.sign_flip import _by_drawing, _by_enumeration

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


def scipys(values: list[float]) -> float:
    result = stats.permutation_test(
        (values, np.zeros(len(values))),
        lambda x, y, axis: (x - y).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(result.pvalue)


def test_the_sleep_data_give_two_of_512() -> None:
    found = sign_flip_p(SLEEP)
    assert found.p_value == 0.00390625 == scipys(SLEEP)
    assert found.exact
    assert found.n_draws == 0
    assert found.n_clusters == 9


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=9), st.sampled_from([1.0, 3.0, 7.0, 0.1, 1e9, 1e-9]))
@settings(max_examples=30)
def test_whole_and_rational_sums_are_scipys_exact_test(values: list[int], by: float) -> None:
    assume(any(values))
    expected = scipys([float(v) for v in values])
    found = sign_flip_p(np.array(values) / by)
    assert found.exact
    assert found.p_value == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
@settings(max_examples=20)
def test_real_sums_are_scipys_exact_test(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).normal(0.4, 1, n)
    found = sign_flip_p(values)
    assert found.exact
    assert found.p_value == pytest.approx(scipys(values.tolist()), rel=1e-12)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=16), st.data())
def test_convolution_and_enumeration_count_the_same(sizes: list[int], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    values = np.array(sizes) * np.array(signs)
    counted = _by_enumeration(np.array(sizes, dtype=float), abs(float(values.sum())))
    assert sign_flip_p(values).p_value == pytest.approx(counted, rel=1e-12)


@pytest.mark.parametrize(("b", "c"), [(8, 2), (70, 30), (0, 5), (500_400, 499_600)])
def test_signs_alone_are_the_exact_mcnemar_test(b: int, c: int) -> None:
    values = np.concatenate([np.ones(b), -np.ones(c), np.zeros(11)])
    assert sign_flip_p(values).p_value == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)


def test_whole_sums_of_many_clusters_are_still_exact() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-8, 9, 3000)
    found = sign_flip_p(values)
    assert found.exact
    normal = 2 * stats.norm.sf((abs(values.sum()) - 1) / np.sqrt((values.astype(float) ** 2).sum()))
    assert found.p_value == pytest.approx(normal, rel=0.01)


def test_drawn_patterns_come_close_to_counted_ones() -> None:
    sizes = np.random.default_rng(3).exponential(size=21)
    exact = _by_enumeration(sizes, 9.0)
    drawn = _by_drawing(sizes, 9.0, 200_000, np.random.default_rng(4))
    assert 0.01 < exact < 0.2
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / 200_000)


def test_many_real_sums_are_drawn_with_the_observed_one_added() -> None:
    values = np.random.default_rng(2).normal(3, 1, 200)
    found = sign_flip_p(values, n_draws=999, rng=0)
    assert not found.exact
    assert found.p_value == 1 / 1000
    assert found == sign_flip_p(values, n_draws=999, rng=0)


def test_nothing_but_ties_is_no_evidence() -> None:
    assert sign_flip_p([0.0, 0.0, 0.0]).p_value == 1.0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "values must be one value per cluster, at least one"),
        ([[1.0]], "values must be one value per cluster"),
        ([1.0, np.nan], "values must be finite; got .*nan.* at cluster 1"),
    ],
)
def test_values_that_are_none_are_refused(values: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sign_flip_p(values)


@pytest.mark.parametrize("law", [pytest.param("real", marks=pytest.mark.slow), "tenths", "heavy"])
def test_a_hundred_thousand_sums_take_a_second_and_say_what_was_drawn(law: str) -> None:
    rng = np.random.default_rng(3)
    laws = {
        "real": lambda: rng.standard_normal(100_000),
        "tenths": lambda: rng.integers(-9, 10, 100_000) / 10,
        "heavy": lambda: rng.standard_t(3, 100_000),
    }
    values = laws[law]()
    values += 2 * values.std() / np.sqrt(100_000) if law == "real" else 0.0
    found = sign_flip_p(values, rng=1)
    assert idle_seconds(lambda: sign_flip_p(values, rng=1), tries=1) < 1
    assert found == sign_flip_p(values, rng=1)
    assert found.n_draws == 100_000
    assert found.how.startswith("100,000 random swaps")
    assert ("97,952 smallest" in found.how) == (law != "tenths")
    normal = 2 * ndtr(-abs(values.sum()) / np.sqrt(np.square(values).sum()))
    assert found.p_value == pytest.approx(normal, abs=0.008)


@pytest.mark.parametrize("levels", [20, 2_000])
def test_pooled_and_normal_sums_give_the_law_of_drawing_every_sign(levels: int) -> None:
    rng = np.random.default_rng(5)
    sizes = np.append(rng.integers(1, levels + 1, 9_000), 0.5)
    values = sizes * np.where(rng.random(sizes.size) < 0.508, 1, -1)
    found = sign_flip_p(values, rng=1)
    assert (found.n_normal > 0) == (levels > 100)
    every = _by_drawing(sizes, abs(float(values.sum())), 6_000, np.random.default_rng(2))
    assert 0.01 < every < 0.9
    assert abs(found.p_value - every) < 4 * np.sqrt(1.2 * every * (1 - every) / 6_000)
