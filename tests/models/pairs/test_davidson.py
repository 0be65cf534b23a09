"""The likelihood of ties and orders, its optimum, and the data that have none."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from scipy.optimize import minimize
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from d3stats.models.pairs.davidson import (
    Comparisons,
    Separated,
    _objective,
    cluster_parts,
    fit_davidson,
    is_identified,
    outcome_chances,
    separated,
)

RATINGS = np.array([0.9, 0.2, -0.3, -0.8])
ORDER, TIE = np.array([0.5, -0.2]), np.array([-0.4, 0.3])


def drawn(rows: int = 400, seed: int = 1, ratings: np.ndarray = RATINGS) -> Comparisons:
    rng = np.random.default_rng(seed)
    n = len(ratings)
    first = rng.integers(n, size=rows)
    second = (first + rng.integers(1, n, size=rows)) % n
    group = rng.integers(2, size=rows)
    ordered = rng.random(rows) < 0.8
    d = ratings[first] - ratings[second] + np.where(ordered, ORDER[group], 0.0)
    won, tie, _ = outcome_chances(d, TIE[group])
    u = rng.random(rows)
    outcome = np.where(u < won, 1, np.where(u < won + tie, 0, -1))
    return Comparisons(first, second, outcome, group, ordered, n, 2)


def by_hand(data: Comparisons, ratings, order, tie) -> float:  # type: ignore[no-untyped-def]
    """The log-likelihood as Davidson (1970) writes it, with worths pi and nu, row by row."""
    total = 0.0
    for i, j, won, g, known in zip(
        data.first, data.second, data.outcome, data.group, data.ordered, strict=True
    ):
        boost = math.exp(order[g]) if known else 1.0
        one, two = math.exp(ratings[i]) * boost, math.exp(ratings[j])
        even = math.exp(tie[g]) * math.sqrt(one * two)
        total += math.log({1: one, 0: even, -1: two}[int(won)] / (one + even + two))
    return total


def test_the_fit_is_the_optimum_of_the_likelihood_written_by_hand() -> None:
    data = drawn(200)
    found = fit_davidson(data)
    assert found.llf == pytest.approx(by_hand(data, found.ratings, found.order, found.tie), rel=1e-10)

    def minus(x: np.ndarray) -> float:
        return -by_hand(data, [*x[:3], -sum(x[:3])], x[3:5], x[5:])

    best = minimize(minus, np.zeros(7), method="BFGS", options={"gtol": 1e-6})
    assert -best.fun == pytest.approx(found.llf, abs=1e-6)
    expected = [*best.x[:3], -best.x[:3].sum(), *best.x[3:]]
    np.testing.assert_allclose(found.params, expected, atol=1e-4)


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_derivatives_are_those_of_differences(penalty: float, size: float) -> None:
    data = drawn(150)
    weight = np.ones(150)
    at = size * np.random.default_rng(2).normal(size=data.size)
    value, gradient, information = _objective(data, weight, at, penalty)
    step = 1e-5
    moved = [
        [_objective(data, weight, at + s * step * e, penalty) for s in (1, -1)] for e in np.eye(data.size)
    ]
    np.testing.assert_allclose(gradient, [(a[0] - b[0]) / (2 * step) for a, b in moved], rtol=1e-5, atol=1e-5)
    bend = -np.array([(a[1] - b[1]) / (2 * step) for a, b in moved])
    # The information has one number more in the block of ratings, which makes it invertible.
    extra = np.zeros_like(bend)
    extra[:4, :4] = information[0, 0] - bend[0, 0]
    np.testing.assert_allclose(information, bend + extra, rtol=1e-4, atol=1e-5)
    assert value < 0


def test_without_ties_and_order_it_is_bradley_and_terrys() -> None:
    """Against the minorisation of Hunter (2004), an algorithm of its own."""
    data = drawn(400)
    kept = data.outcome != 0
    data = replace(
        data,
        **{k: getattr(data, k)[kept] for k in ("first", "second", "outcome", "ordered")},
        group=np.zeros(int(kept.sum()), dtype=np.int64),
        groups=1,
        order=False,
    )
    wins = np.zeros((4, 4))
    for i, j, won in zip(data.first, data.second, data.outcome, strict=True):
        wins[(i, j) if won == 1 else (j, i)] += 1
    worth = np.ones(4)
    for _ in range(5000):
        games = wins + wins.T
        worth = wins.sum(axis=1) / (games / (worth[:, None] + worth[None, :])).sum(axis=1)
        worth /= np.exp(np.log(worth).mean())
    found = fit_davidson(data)
    np.testing.assert_allclose(found.ratings, np.log(worth), atol=1e-8)
    assert np.isneginf(found.tie).all()
    assert (found.order == 0).all()


def test_ratings_orders_and_ties_are_recovered() -> None:
    found = fit_davidson(drawn(40_000, seed=4))
    np.testing.assert_allclose(found.ratings, RATINGS - RATINGS.mean(), atol=0.05)
    np.testing.assert_allclose(found.order, ORDER, atol=0.07)
    np.testing.assert_allclose(found.tie, TIE, atol=0.07)


def test_parts_of_clusters_add_up_to_the_whole() -> None:
    data = drawn(300)
    found = fit_davidson(data)
    cluster = np.arange(300) // 7
    gradient, information = cluster_parts(found, cluster, 43)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-6)
    difference = found.information - information.sum(axis=0)
    np.testing.assert_allclose(difference[4:], 0, atol=1e-9)
    np.testing.assert_allclose(difference[:4, :4], difference[0, 0], atol=1e-9)
    rows = np.flatnonzero(cluster < 5)
    some = cluster_parts(found, cluster[rows], 5, rows)
    np.testing.assert_allclose(some[0], gradient[:5], atol=1e-12)
    np.testing.assert_allclose(some[1], information[:5], atol=1e-12)


def plain(
    first: list[int], second: list[int], outcome: list[int], n: int, order: bool = False
) -> Comparisons:
    zeros = np.zeros(len(first), dtype=np.int64)
    parts = (np.array(x, dtype=np.int64) for x in (first, second, outcome))
    return Comparisons(*parts, zeros, zeros == 0, n, 1, order)


@examples(20, 150)
def test_an_optimum_exists_where_no_group_always_wins(n_examples: int) -> None:
    lists = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=3, max_size=14)
    settings(max_examples=n_examples, deadline=None)(given(lists)(optimum_exists))()


def optimum_exists(games: list[tuple[int, int]]) -> None:
    """Ford's condition: every contestant reaches every other one along wins."""
    winner = [i for i, _ in games]
    loser = [(i + k) % 4 for i, k in games]
    seen = sorted({*winner, *loser})
    code = {name: k for k, name in enumerate(seen)}
    data = plain([code[i] for i in winner], [code[j] for j in loser], [1] * len(games), len(seen))
    won = coo_matrix((np.ones(len(games)), (data.first, data.second)), shape=(len(seen),) * 2)
    if connected_components(won, directed=False)[0] > 1:
        return
    strong = connected_components(won, connection="strong")[0] == 1
    assert (separated(data) is None) == strong
    if strong:
        assert np.isfinite(fit_davidson(data).ratings).all()
    else:
        with pytest.raises(Separated):
            fit_davidson(data)
        assert np.isfinite(fit_davidson(data, 0.5).ratings).all()


def test_a_judge_who_always_takes_the_first_has_no_finite_order_effect() -> None:
    data = plain([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], [1] * 6, 3, order=True)
    with pytest.raises(Separated) as found:
        fit_davidson(data)
    np.testing.assert_allclose(found.value.direction, 0, atol=1e-9)
    assert found.value.effects[0] > 0.5


def test_a_huge_but_finite_rating_is_found() -> None:
    n = 300_000
    first, second = np.zeros(n + 1, dtype=np.int64), np.ones(n + 1, dtype=np.int64)
    outcome = np.ones(n + 1, dtype=np.int64)
    outcome[0] = -1
    data = Comparisons(first, second, outcome, first, first == 1, 2, 1, False)
    found = fit_davidson(data)
    assert found.ratings[0] - found.ratings[1] == pytest.approx(np.log(n), rel=1e-9)


def test_an_order_that_follows_the_contestants_is_not_identified() -> None:
    assert not is_identified(plain([0, 0, 1], [1, 1, 2], [1, -1, 1], 3, order=True))
    assert is_identified(plain([0, 0, 1, 2], [1, 1, 2, 0], [1, -1, 1, 1], 3, order=True))
    assert is_identified(plain([0, 0, 1], [1, 1, 2], [1, -1, 1], 3))
