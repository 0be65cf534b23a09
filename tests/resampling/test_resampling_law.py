"""Drawing sums and drawing rows have the same law, and the same seed gives the same bits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import sampled
from numpy.typing import NDArray

from d3stats.resampling import (
    bootstrap,
    cluster_totals,
    ratios,
    resampled_counts,
    resampled_totals,
)
from d3stats.resampling.cluster_t import linearised

TINY = np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 5.0], [3.0, 4.0]])
share = ratios((0, 1))


def all_resamples(totals: NDArray[np.float64]) -> dict[tuple[float, ...], float]:
    """The exact law of the sums: every one of the G^G resamples."""
    g = len(totals)
    law: dict[tuple[float, ...], float] = {}
    for picked in product(range(g), repeat=g):
        key = tuple(totals[list(picked)].sum(axis=0))
        law[key] = law.get(key, 0.0) + g**-g
    return law


@pytest.mark.parametrize("rows", ["apart", "grouped"])
def test_drawn_sums_follow_the_law_of_all_resamples(rows: str) -> None:
    n_boot = 100_000
    if rows == "apart":
        drawn, law = resampled_totals(TINY, n_boot, 1), all_resamples(TINY)
    else:
        times = [3, 0, 1]
        table = TINY[:3]
        drawn = resampled_counts(times, n_boot, 1) @ table
        law = all_resamples(np.repeat(table, times, axis=0))
    seen, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(row) for row in seen} <= set(law)
    found = dict(zip(map(tuple, seen), counts / n_boot, strict=True))
    for sums, chance in law.items():
        assert abs(found.get(sums, 0.0) - chance) < 4.5 * np.sqrt(chance * (1 - chance) / n_boot), sums


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=60),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_moments_are_those_of_rows_drawn_one_by_one(
    pairs: list[tuple[int, int]], often: bool, seed: int
) -> None:
    totals = np.array(pairs * (12 if often else 1), dtype=float)
    n_boot, g = 2000, len(totals)
    drawn = resampled_totals(totals, n_boot, seed)
    # sums of G independent draws: mean G m, variance G s^2, and a fourth moment for the error of the variance
    mean, centred = totals.mean(axis=0), totals - totals.mean(axis=0)
    variance, fourth = (centred**2).mean(axis=0), (centred**4).mean(axis=0)
    error = np.sqrt(g * variance / n_boot)
    assert (np.abs(drawn.mean(axis=0) - g * mean) <= 5.5 * error + 1e-9).all()
    kurtosis = g * fourth + 3 * g * (g - 1) * variance**2
    error = np.sqrt((kurtosis - (g * variance) ** 2).clip(0) / n_boot)
    assert (np.abs(((drawn - g * mean) ** 2).mean(axis=0) - g * variance) <= 6.5 * error + 1e-9).all()


def test_every_replicate_is_the_statistic_of_the_rows_that_it_drew() -> None:
    """A column per cluster says who was drawn; the plain twin copies those rows and starts afresh."""
    rng = np.random.default_rng(3)
    totals = np.column_stack([rng.poisson(3, 15), rng.poisson(9, 15) + 1.0, rng.normal(2, 1, 15)])
    marked = np.hstack([totals, np.eye(15)])

    def curved(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([sums[:, 0] / sums[:, 1], sums[:, 2] ** 2 / (sums[:, 0] * sums[:, 1])])

    draws = bootstrap(
        marked, lambda sums: np.hstack([curved(sums), sums[:, 3:]]), n_boot=60, rng=5, errors=True
    )
    assert draws.errors is not None
    for row, errors in zip(draws.replicates, draws.errors, strict=True):
        copied = np.repeat(totals, np.rint(row[2:]).astype(int), axis=0)
        np.testing.assert_allclose(row[:2], curved(copied.sum(axis=0)[None])[0], rtol=1e-12)
        np.testing.assert_allclose(
            errors[:2], linearised(copied, np.ones(15, dtype=np.int64), curved)[1], rtol=1e-7
        )


def test_cells_and_their_rows_written_out_agree() -> None:
    cells = np.array([400, 60, 50, 290])

    def kappa(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, c, d = sums.T
        n = a + b + c + d
        chance = ((a + b) * (a + c) + (c + d) * (b + d)) / n**2
        return ((a + d) / n - chance) / (1 - chance)

    few = bootstrap(np.eye(4), kappa, multiplicity=cells, rng=1, n_boot=20_000, errors=True)
    many = bootstrap(np.repeat(np.eye(4), cells, axis=0), kappa, rng=2, n_boot=20_000, errors=True)
    np.testing.assert_allclose(few.estimate, many.estimate)
    np.testing.assert_allclose(few.error, many.error, rtol=1e-9)
    for kind in ("percentile", "basic", "bca", "studentised"):
        one, other = few.limits(kind), many.limits(kind)
        assert one.n_clusters == other.n_clusters == 800
        # a 2.5 % quantile of 20,000 draws of deviation s has an error of about s / 53
        for end in ("low", "high"):
            assert abs(getattr(one, end)[0] - getattr(other, end)[0]) < 5 * np.sqrt(2) * one.se[0] / 53


@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.integers(2, 40))
def test_the_same_seed_gives_the_same_bits(seed: int, n_clusters: int, n_boot: int) -> None:
    totals = np.random.default_rng(seed).normal((0, 10), size=(n_clusters, 2))
    first, second = (bootstrap(totals, share, n_boot=n_boot, rng=seed, errors=True) for _ in range(2))
    np.testing.assert_array_equal(first.replicates, second.replicates)
    np.testing.assert_array_equal(first.errors, second.errors)
    # who is drawn does not depend on how many replicates are made together
    more = bootstrap(totals, share, n_boot=n_boot + 7, rng=seed)
    np.testing.assert_allclose(more.replicates[:n_boot], first.replicates, rtol=1e-12)


def test_more_clusters_than_are_drawn_one_by_one_keep_their_error() -> None:
    values = np.random.default_rng(4).normal(size=(40_000, 1))
    drawn = resampled_totals(values, 4000, 1)[:, 0]
    # the grouping's own error .7 %, the Monte Carlo error of a deviation from 4000 draws 1.1 %
    assert drawn.std() == pytest.approx(values.std() * 200, rel=4 * np.hypot(0.007, 0.011))


@sampled("n_clusters", [15_000, 25_001, 40_001], (1,))
def test_a_sum_over_a_number_that_is_not_drawn_keeps_its_error_too(n_clusters: int) -> None:
    # far from 0: groups of unequal size would add their noise times the mean
    values = np.random.default_rng(5).normal(20, size=n_clusters)
    sums = resampled_totals(np.column_stack([values, np.ones(n_clusters)]), 4000, 1)
    np.testing.assert_allclose(sums[:, 1], n_clusters, rtol=1e-12)
    mean = sums[:, 0] / n_clusters
    assert mean.std() == pytest.approx(values.std() / np.sqrt(n_clusters), rel=4 * np.hypot(0.007, 0.011))
    assert mean.mean() == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(n_clusters * 4000))


def test_clusters_add_up_in_the_order_of_their_codes() -> None:
    totals = cluster_totals(np.array([[1.0], [2.0], [4.0]]), np.array([7, 3, 7]))
    assert totals.tolist() == [[2.0], [5.0]]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0, 0], "cells must hold at least one observation"),
        ([1, -1], "cells must be >= 0"),
        ([1.5, 2], "cells must be whole numbers"),
        ([[1, 2], [3, 4]], "cells must be one-dimensional"),
    ],
)
def test_counts_that_are_none_are_refused(cells: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resampled_counts(cells, 10, 0)
