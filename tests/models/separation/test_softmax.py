"""Softmax selection and softmax-weighted scores: what holds at every temperature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.laws import as_law
from d3stats.models.separation.softmax import (
    softmax_law,
    softmax_mean,
    softmax_selected,
    softmax_weighted,
    softmax_weights,
)

scores = st.lists(st.floats(-50, 50, allow_subnormal=False), min_size=1, max_size=8)
holed = st.lists(
    st.one_of(st.just(float("nan")), st.integers(1, 20).map(float)), min_size=1, max_size=6
).filter(lambda g: not np.isnan(g).all())
temperatures = st.floats(1e-3, 1e3)


@given(scores, temperatures)
def test_the_weighted_score_lies_within_every_bound(g: list[float], tau: float) -> None:
    found = softmax_weighted(g, tau)
    slack = 1e-12 * (1 + np.abs(g).max() + tau)
    assert found.mean <= found.value + slack
    assert found.value <= found.best == max(g)
    assert found.entropy_bound <= found.value + slack
    assert found.count_bound <= found.entropy_bound + slack
    assert found.slope >= 0


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(0.2, 5.0))
def test_the_slope_in_inverse_temperature_is_the_variance(g: list[float], tau: float) -> None:
    h = 1e-5
    up, down = (softmax_weighted(g, 1 / (1 / tau + e)).value.item() for e in (h, -h))
    assert softmax_weighted(g, tau).slope.item() == pytest.approx((up - down) / (2 * h), abs=1e-6)


@given(holed, temperatures)
def test_a_missing_score_is_left_out_and_not_a_zero(g: list[float], tau: float) -> None:
    known = [x for x in g if not np.isnan(x)]
    with_holes, without = softmax_weighted(g, tau), softmax_weighted(known, tau)
    for name in ("value", "mean", "best", "entropy", "slope", "n_advocates"):
        assert getattr(with_holes, name) == pytest.approx(getattr(without, name), abs=1e-13)
    weights = softmax_weights(g, tau)
    assert (weights[np.isnan(g)] == 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-14)


@given(scores, st.floats(-1e6, 1e6))
def test_a_shift_of_the_scores_shifts_the_weighted_score_alone(g: list[float], shift: float) -> None:
    moved = softmax_weighted(np.asarray(g) + shift, 1.0).value - shift
    assert moved == pytest.approx(softmax_weighted(g, 1.0).value, abs=1e-8)


def test_the_limits_of_the_temperature_are_the_best_and_the_mean() -> None:
    g = [3.0, 5.0, 5.0, 1.0]
    cold, hot = softmax_weighted(g, 0.0), softmax_weighted(g, np.inf)
    assert (cold.value, hot.value) == (5.0, 3.5)
    assert softmax_weights(g, 0.0).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert softmax_weights(g, np.inf).tolist() == [0.25] * 4
    assert softmax_weighted(g, 1e-300).value == 5.0
    assert softmax_weighted([4.0], np.inf).count_bound == 4.0


def test_many_debates_at_once_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(7, 3, 5))
    together = softmax_weighted(table, 0.3).value
    assert together.shape == (7, 3)
    alone = [[softmax_weighted(side, 0.3).value.item() for side in debate] for debate in table]
    assert np.array_equal(together, alone)
    frame = softmax_weighted(table, 0.3).to_frame()
    assert len(frame) == 21
    assert not frame.isna().any().any()


@given(scores, st.data())
def test_no_temperature_changes_the_selection(g: list[float], data: st.DataObject) -> None:
    inner = data.draw(st.lists(st.floats(-5, 5), min_size=len(g), max_size=len(g)))
    cool, warm = (softmax_selected(g, tau, inner) for tau in (1e-3, 1e3))
    assert cool.index == warm.index == int(np.argmax(inner))
    assert cool.score == warm.score == g[int(np.argmax(inner))]


@given(holed, st.data())
def test_the_selected_score_is_the_best_exactly_when_the_two_argmaxes_meet(
    g: list[float], data: st.DataObject
) -> None:
    inner = data.draw(st.lists(st.integers(0, 3).map(float), min_size=len(g), max_size=len(g)))
    found = softmax_selected(g, 1.0, inner)
    seen = [i for i in range(len(g)) if not np.isnan(g[i])]
    top = [i for i in seen if inner[i] == max(inner[j] for j in seen)]
    best = [i for i in seen if g[i] == max(g[j] for j in seen)]
    assert found.tied == len(top)
    assert found.index == top[0]
    assert found.is_best == (top[0] in best) == (found.score == found.best)
    assert (found.lowest, found.highest) == (min(g[i] for i in top), max(g[i] for i in top))


def test_the_judges_own_scores_select_the_maximum() -> None:
    table = np.random.default_rng(2).integers(1, 21, (200, 4)).astype(float)
    found = softmax_selected(table)
    assert np.array_equal(found.score, table.max(axis=1))
    assert found.is_best.all()
    assert "100.0 % of 200 sides" in found.summary()


@given(holed, temperatures)
def test_an_argument_drawn_by_softmax_scores_the_weighted_score_on_average(
    g: list[float], tau: float
) -> None:
    law, found = softmax_law(g, tau), softmax_weighted(g, tau)
    assert law.mean == pytest.approx(found.value.item(), abs=1e-12)
    assert found.mean - 1e-12 <= law.mean <= found.best + 1e-12


def test_a_draw_by_other_scores_than_the_judges_can_fall_below_the_mean() -> None:
    assert softmax_law([0.0, 1.0], 0.1, inner=[1.0, 0.0]).mean < 0.5


LAWS: list[tuple[Any, int, float]] = [
    (stats.uniform(), 3, 0.1),
    (stats.norm(), 5, 0.5),
    (stats.expon(), 2, 2.0),
    ({1: 0.2, 2: 0.3, 5: 0.5}, 4, 0.7),
    (stats.beta(0.5, 0.5), 4, 0.05),
]


@pytest.mark.parametrize(("law", "k", "tau"), LAWS)
def test_the_expected_weighted_score_agrees_with_drawn_arguments(law: Any, k: int, tau: float) -> None:
    one = as_law(law)
    exact = softmax_mean(one, k, tau)
    drawn = softmax_weighted(one.sample((60_000, k), 5), tau).value
    assert abs(drawn.mean() - exact) < 4 * drawn.std() / np.sqrt(drawn.size)
    assert one.mean < exact < separation(one, one, k).mean_first[0]


def test_the_expected_weighted_score_of_two_agrees_with_a_double_integral() -> None:
    tau = 0.2

    def weighted(y: float, x: float) -> float:
        return x / (1 + np.exp(-(x - y) / tau)) + y / (1 + np.exp((x - y) / tau))

    plain = integrate.dblquad(weighted, 0, 1, 0, 1, epsabs=1e-12)[0]
    assert softmax_mean(stats.uniform(), 2, tau) == pytest.approx(plain, abs=1e-10)
    coin = 0.25 * 0 + 0.5 / (1 + np.exp(-1 / tau)) + 0.25
    assert softmax_mean({0: 0.5, 1: 0.5}, 2, tau) == pytest.approx(coin, abs=1e-12)


def test_the_expected_weighted_score_at_its_limits() -> None:
    assert softmax_mean(stats.uniform(), 4, 0.0) == pytest.approx(0.8, abs=1e-12)
    assert softmax_mean(stats.uniform(), 4, np.inf) == 0.5
    assert softmax_mean({7: 1.0}, 4, 0.3) == pytest.approx(7, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax_weights([1.0], -1), r"temperature must be >= 0; got temperature=-1"),
        (lambda: softmax_weights([1.0], float("nan")), r"temperature must be >= 0"),
        (lambda: softmax_selected([1.0], 0.0), r"temperature must be > 0 and finite for a selection"),
        (
            lambda: softmax_weighted([[1.0], [np.nan]], 1.0),
            r"scores must hold at least one score a side; got none at 1",
        ),
        (lambda: softmax_weights([np.inf, 1.0], 1.0), r"scores must be finite, or NaN where missing"),
        (lambda: softmax_weighted([1e308, -1e308], 1.0), r"scores must be at most 1e\+100 in size"),
        (lambda: softmax_weights([], 1.0), r"scores must have a last axis of advocates; got shape \(0,\)"),
        (
            lambda: softmax_selected([1.0, 2.0], inner=[1.0]),
            r"inner must have the shape of scores \(2,\); got \(1,\)",
        ),
        (lambda: softmax_law([[1.0, 2.0]], 1.0), r"scores must be those of one side; got an array of shape"),
        (lambda: softmax_mean(stats.cauchy(), 2, 1.0), r"law must have a finite mean"),
        (lambda: softmax_mean(stats.uniform(), 0, 1.0), r"k must be >= 1; got k=0"),
        (
            lambda: softmax_mean(stats.uniform(), 2, 1e-5),
            r"temperature must be 0 or at least 1/200 of the range",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
