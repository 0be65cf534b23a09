"""Limits of the mean of skewed clusters: coverage by law and number of clusters, width, and p-values that agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from d3stats.inference import paired_difference, stratify
from d3stats.resampling import cluster_t, ratios
from d3stats.resampling.cluster_t import common_skewness

Floats = np.ndarray
LAWS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, ...]], Floats], float]] = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), 0.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "lognormal": (lambda rng, shape: np.exp(rng.standard_normal(shape)), float(np.exp(0.5))),
    "t3": (lambda rng, shape: rng.standard_t(3, shape), 0.0),
}


def measured(law: str, n: int, sets: int, *, sign: float = 1.0) -> tuple[float, float, float]:
    """Return coverage, size and mean width over Student's of many samples of a law, one value a cluster."""
    draw, truth = LAWS[law]
    x = sign * draw(np.random.default_rng([n, sets]), (sets, n))
    held, rejected, width, plain = [], [], [], []
    for row in x:
        found = cluster_t(np.column_stack([row, np.ones(n)]), ratios((0, 1)), null=sign * truth)
        low, high = found.interval()
        assert low is not None
        assert high is not None
        held.append(low <= sign * truth <= high)
        rejected.append(found.p_value[0] < 0.05)
        width.append(high - low)
        plain.append(2 * stats.t.ppf(0.975, n - 1) * stats.sem(row))
    assert held == [not no for no in rejected]
    return float(np.mean(held)), float(np.mean(rejected)), float(np.mean(width) / np.mean(plain))


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("law", ["lognormal", "exponential"])
def test_the_mean_of_skewed_values_is_held_on_either_side(law: str, n: int, sign: float) -> None:
    """600 samples, Monte Carlo error .010 at .93, allowed twice; Student's t covers .87 of 20 log-normal values."""
    covered, _, _ = measured(law, n, 600, sign=sign)
    assert covered >= 0.93 - 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n", "least", "widest"),
    [
        *(("lognormal", 10, 0.915, 1.9), ("lognormal", 20, 0.93, 1.6), ("lognormal", 200, 0.945, 1.2)),
        *(("exponential", 10, 0.945, 1.6), ("exponential", 20, 0.95, 1.4), ("exponential", 60, 0.95, 1.2)),
        *(("normal", 10, 0.95, 1.15), ("normal", 20, 0.945, 1.035), ("normal", 40, 0.945, 1.015)),
        *(("t3", 20, 0.95, 1.12), ("t3", 60, 0.95, 1.06)),
    ],
)
def test_coverage_and_width_are_those_of_the_module(law: str, n: int, least: float, widest: float) -> None:
    """4,000 samples, Monte Carlo error at most .0045, allowed twice."""
    covered, size, width = measured(law, n, 4000)
    assert covered >= least - 0.009
    assert size == pytest.approx(1 - covered)
    assert width <= widest


def test_normal_means_of_forty_clusters_are_hardly_wider_than_students() -> None:
    covered, _, width = measured("normal", 40, 250)
    assert covered >= 0.93 - 0.02
    assert 1 <= width <= 1.03


def test_one_value_far_off_among_symmetric_ones_moves_the_limit_less_than_a_skewed_law() -> None:
    """The same far value beside values alike on both sides, and beside values that lean to its side."""
    level = stats.norm.ppf((np.arange(29) + 0.5) / 29)
    skewed = np.exp(level) - np.exp(level).mean()
    further = []
    for bulk in (level, skewed / skewed.std()):
        row = np.append(bulk, 6.0)
        totals = np.column_stack([row, np.ones(30)])
        found, plain = (cluster_t(totals, ratios((0, 1)), symmetric=no).interval() for no in (False, True))
        further.append((found[1] - plain[1]) / (plain[1] - plain[0]))
    assert further[1] > 3 * further[0] >= 0
    _, _, width = measured("t3", 20, 300)
    assert width <= 1.15


def test_small_strata_share_the_skewness_that_none_of_them_shows() -> None:
    """Student's t of five log-normal values covers .82, and shrunken limits without the long side .82."""
    rng = np.random.default_rng(12)
    held: list[list[bool]] = []
    for _ in range(50):
        found = stratify(rng.lognormal(size=20), np.tile(list("abcd"), 5), null=None)
        truth = float(np.exp(0.5))
        of = [*found.raw, *(e for e in found.shrunken if e is not None)]
        assert len(of) == 8
        assert found.mean is not None
        held.append([e.low <= truth <= e.high for e in (*of, found.mean)])  # type: ignore[operator]
    share = np.mean(held, axis=0)
    # 200 intervals of strata: three errors of .017 below .93.
    assert min(share[:4].mean(), share[4:8].mean()) >= 0.93 - 0.05
    assert share[8] >= 0.93 - 0.06


def test_the_common_skewness_is_that_of_residuals_and_zero_of_symmetric_ones() -> None:
    rng = np.random.default_rng(5)
    groups = [rng.lognormal(size=n) + shift for n, shift in ((6, 0.0), (9, 50.0), (1, 7.0), (12, -3.0))]
    sums = [np.column_stack([values, np.ones(len(values))]) for values in groups]
    found = common_skewness(sums)
    assert found is not None
    assert found.n == pytest.approx(27)
    away = np.concatenate([(v - v.mean()) * len(v) / (len(v) - 1) for v in groups if len(v) > 1])
    raw = float((away**3).mean() / (away**2).mean() ** 1.5)
    assert 0 < found.value < raw
    mirrored = common_skewness([part * [-1, 1] for part in sums])
    assert mirrored is not None
    assert mirrored.value == pytest.approx(-found.value)
    level = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    symmetric = common_skewness([np.column_stack([level + k, np.ones(5)]) for k in range(4)])
    assert symmetric is not None
    assert symmetric.value == pytest.approx(0.0)
    assert common_skewness([sums[2]]) is None


@given(st.integers(3, 40), st.integers(0, 2**32 - 1), st.sampled_from(sorted(LAWS)), st.floats(0.5, 0.99))
@settings(max_examples=60)
def test_the_limit_is_where_the_p_value_is_one_minus_the_level(
    n: int, seed: int, law: str, level: float
) -> None:
    row = LAWS[law][0](np.random.default_rng(seed), (n,))
    totals = np.column_stack([row, np.ones(n)])
    low, high = cluster_t(totals, ratios((0, 1)), level=level).interval()
    for end in (low, high):
        p = cluster_t(totals, ratios((0, 1)), null=end).p_value[0]
        assert p == pytest.approx(1 - level, abs=1e-6)
    plain = cluster_t(totals, ratios((0, 1)), level=level, symmetric=True).interval()
    assert low <= plain[0] + 1e-12
    assert high >= plain[1] - 1e-12
    assert low == pytest.approx(plain[0]) or high == pytest.approx(plain[1])
    mirrored = cluster_t(totals * [-1, 1], ratios((0, 1)), level=level).interval()
    assert mirrored == pytest.approx((-high, -low))


def test_repeated_clusters_count_as_written_out() -> None:
    rng = np.random.default_rng(3)
    totals, times = np.column_stack([rng.lognormal(size=12), np.ones(12)]), rng.integers(0, 4, 12)
    once = cluster_t(totals, ratios((0, 1)), multiplicity=times)
    written = cluster_t(np.repeat(totals, times, axis=0), ratios((0, 1)))
    assert once.interval() == pytest.approx(written.interval(), rel=1e-9)


def test_paired_differences_of_skewed_values_keep_students_limits() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.lognormal(size=(2, 25))
    found = paired_difference(a, b, rng=1)
    expected = stats.ttest_rel(b, a)
    assert (found.difference.low, found.difference.high) == pytest.approx(
        tuple(expected.confidence_interval())
    )
    assert found.p_value == pytest.approx(expected.pvalue)
    parts = stratify(b - a, ["x"] * 12 + ["y"] * 13, symmetric=True)
    assert (parts.overall.low, parts.overall.high) == pytest.approx(
        (found.difference.low, found.difference.high)
    )
