"""Bets against a mean: validity by exact enumeration, plain loops, and what the limits must do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.resampling.bounded_means import betting_p, betting_upper

clusters = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(-n, n), st.just(n))), min_size=1, max_size=12
)


@given(clusters, st.floats(0.01, 0.95))
def test_the_p_value_is_one_over_the_mean_wealth_bet_by_bet(rows: list, limit: float) -> None:
    largest = max(size for _, size in rows)
    wealth = []
    for k in range(64):
        held = 1.0
        for total, size in rows:
            stake = (1 - ((k + 0.5) / 64) ** 2) / (1 - limit)
            held *= 1 + stake * (limit * size - total) / largest
        wealth.append(held)
    sums, sizes = map(np.array, zip(*rows, strict=True))
    assert float(betting_p(sums, limit, sizes)) == pytest.approx(min(1.0, 1 / np.mean(wealth)), rel=1e-9)


@pytest.mark.parametrize("sizes", [[1] * 8, [4, 1, 1, 1, 1, 2, 2, 1], [6, 1, 1, 1, 1, 1, 1, 1]])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_wealth_is_not_expected_to_grow_whatever_the_laws_of_clusters(sizes: list, spread: float) -> None:
    """Every outcome of eight unlike clusters; the mean over all values is exactly the limit."""
    limit, w = 0.3, np.array(sizes, dtype=float)
    chance = np.full(8, limit)
    if spread:
        chance[0] = (
            0.9  # the largest cluster loses nearly always, the others so seldom that the mean is the limit
        )
        chance[1:] = max(0.0, (limit * w.sum() - 0.9 * w[0]) / w[1:].sum())
    limit = float(chance @ w / w.sum())
    lost = np.array(list(product([0, 1], repeat=8)))
    law = np.prod(np.where(lost == 1, chance, 1 - chance), axis=1)
    p = betting_p((lost * w).T, limit, w)
    assert law.sum() == pytest.approx(1)
    for level in np.unique(p):
        assert law[p <= level].sum() <= level + 1e-9
    # The p-value is one over the wealth where that exceeds 1, and this part of a fair game's mean is at most 1.
    assert (law * np.where(p < 1, 1 / p, 0)).sum() <= 1 + 1e-9


@given(clusters, st.floats(0.02, 0.5), st.floats(0.5, 3))
def test_the_upper_limit_is_where_the_test_begins_to_reject(rows: list, alpha: float, scale: float) -> None:
    sums, sizes = map(np.array, zip(*rows, strict=True))
    upper = betting_upper(sums[:, None], alpha, sizes)
    assert sums.sum() / sizes.sum() <= upper <= 1
    # The unit of sizes does not matter, and neither does the order of clusters.
    assert betting_upper(scale * sums[::-1, None], alpha, scale * sizes[::-1]) == pytest.approx(
        upper, abs=1e-8
    )
    if upper < 1 - 1e-6:
        assert betting_p(sums, upper + 1e-7, sizes) <= alpha
    if upper > 1e-6:
        assert betting_p(sums, upper - 1e-7, sizes) >= alpha - 1e-4


@given(clusters, st.floats(0.02, 0.5))
def test_a_limit_falls_with_the_confidence_and_covers_every_column(rows: list, alpha: float) -> None:
    sums, sizes = map(np.array, zip(*rows, strict=True))
    assert betting_upper(sums[:, None], alpha / 2, sizes) >= betting_upper(sums[:, None], alpha, sizes)
    both = betting_upper(np.column_stack([sums, -sums]), alpha, sizes)
    assert both == pytest.approx(
        max(betting_upper(c[:, None], alpha, sizes) for c in (sums, -sums)), abs=1e-8
    )
