"""Quantiles taken further out for few clusters: what they are, and that they come to Student's t."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from d3stats.resampling import bootstrap, bootstrap_limits, cluster_t, ratios
from d3stats.resampling.bootstrap import expanded_level

MEAN = ratios((0, 1))


def scores(n: int) -> np.ndarray:
    """Return sums and counts of n clusters whose means have a symmetric law."""
    return np.column_stack([stats.norm.ppf((np.arange(n) + 0.5) / n), np.ones(n)])


@pytest.mark.parametrize("n_clusters", [5, 10, 20, 80])
def test_the_normal_quantile_at_the_expanded_level_is_students_times_the_missing_factor(
    n_clusters: int,
) -> None:
    expanded = stats.norm.isf((1 - expanded_level(0.95, n_clusters)) / 2)
    wanted = stats.t.ppf(0.975, n_clusters - 1)
    assert expanded * np.sqrt((n_clusters - 1) / n_clusters) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("n_clusters", [10, 40])
def test_expanded_limits_of_symmetric_clusters_are_those_of_the_t(kind: str, n_clusters: int) -> None:
    totals = scores(n_clusters)
    plain, expanded = (
        bootstrap_limits(totals, MEAN, kind=kind, n_boot=100_000, rng=1, expand=expand)  # type: ignore[arg-type]
        for expand in (False, True)
    )
    t = cluster_t(totals, MEAN)
    assert expanded.high[0] - expanded.low[0] == pytest.approx(t.high[0] - t.low[0], rel=0.03)
    assert plain.high[0] - plain.low[0] < 0.97 * (t.high[0] - t.low[0])
    assert (plain.expanded, expanded.expanded) == (False, True)


def test_with_many_clusters_expansion_changes_nothing_that_matters() -> None:
    draws = bootstrap(scores(5000), MEAN, n_boot=4000, rng=2)
    plain, expanded = (draws.limits("bca", expand=expand) for expand in (False, True))
    width = plain.high[0] - plain.low[0]
    assert abs(expanded.low[0] - plain.low[0]) < 0.01 * width


def test_studentised_limits_are_not_expanded() -> None:
    with pytest.raises(ValueError, match="expand must be False with kind='studentised'"):
        bootstrap_limits(scores(10), MEAN, kind="studentised", expand=True)
    with pytest.raises(ValueError, match="expand must be False with kind='studentised'"):
        bootstrap(scores(10), MEAN, n_boot=50, rng=3, errors=True).limits("studentised", expand=True)
