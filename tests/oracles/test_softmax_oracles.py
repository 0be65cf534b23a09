"""The audit's numbers of softmax aggregation, and closed forms of correlated maxima."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from d3stats.models.separation import correlated_max, correlated_separation, effective_advocates
from d3stats.models.separation.softmax import softmax_weighted


@pytest.mark.parametrize(
    ("temperature", "value"),
    [(0.1, 0.8791135175227547), (1.0, 0.7628382688248686), (0.01, 0.8996653574537858)],
)
def test_the_weighted_score_of_three_arguments(temperature: float, value: float) -> None:
    assert softmax_weighted([0.9, 0.85, 0.4], temperature).value.item() == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.7, 0.99, 1.0])
def test_the_best_of_two_or_three_correlated_normals_has_its_known_mean(rho: float) -> None:
    """E max of 2 is sqrt((1 - rho) / pi), of 3 one and a half times that (Clark, 1961, Operations Research 9)."""
    two = np.sqrt((1 - rho) / np.pi)
    assert correlated_max(stats.norm(), 2, rho).mean == pytest.approx(two, abs=1e-12)
    assert correlated_max(stats.norm(), 3, rho).mean == pytest.approx(1.5 * two, abs=1e-12)


@pytest.mark.parametrize("rho", [0.01, 0.3, 0.5, 0.51, 0.8, 0.999])
def test_two_correlated_normals_are_both_negative_with_sheppards_probability(rho: float) -> None:
    """P(both <= 0) = 1/4 + arcsin(rho) / (2 pi), Sheppard (1899)."""
    law = correlated_max(stats.norm(), 2, rho)
    expected = 0.25 + np.arcsin(rho) / (2 * np.pi)
    assert float(law.cdf(0.0)) == pytest.approx(expected, abs=1e-14)
    assert float(correlated_max(stats.norm(), 3, rho).cdf(0.0)) == pytest.approx(
        0.125 + 3 * np.arcsin(rho) / (4 * np.pi), abs=1e-14
    )


def test_half_correlated_maxima_rank_evenly_spread_below_zero() -> None:
    """At rho = 1/2 all k are below 0 when the factor is the least of k + 1 equals: 1 / (k + 1)."""
    for k in (2, 5, 10, 50):
        assert float(correlated_max(stats.norm(), k, 0.5).cdf(0.0)) == pytest.approx(1 / (k + 1), abs=1e-13)


def test_the_normal_pair_of_the_audit_comes_back_without_correlation_and_one_advocate_with_full() -> None:
    known = {1: 0.7602499389, 2: 0.8048586229, 3: 0.8290601035, 5: 0.8566853707, 10: 0.8883310616}
    one, two = stats.norm(1), stats.norm()
    found = correlated_separation(one, two, list(known), rho=0.0)
    assert found.prob_first == pytest.approx(list(known.values()), abs=1e-9)
    same = correlated_separation(one, two, list(known), rho=1.0)
    assert same.prob_first == pytest.approx([known[1]] * len(known), abs=1e-9)


def test_correlated_normal_advocates_keep_their_mean_gap_and_shrink_it_to_nothing_else() -> None:
    """A shift of 1 is a shift of 1 of every maximum, however correlated."""
    found = correlated_separation(stats.norm(1), stats.norm(), [2, 7], rho=(0.3, 0.3))
    assert found.mean_gap == pytest.approx([1.0, 1.0], abs=1e-11)


def test_effective_advocates_of_two_by_the_maximum_solve_the_closed_form() -> None:
    """Two normals at rho are worth m with E max of m = sqrt((1 - rho) / pi); rho = 3/4 halves E max of 2."""
    m = effective_advocates(2, 0.75)
    half = 0.5 / np.sqrt(np.pi)
    x = np.linspace(-12, 12, 48001)
    mean = np.trapezoid(np.heaviside(x, 0.5) - stats.norm.cdf(x) ** m, x)
    assert mean == pytest.approx(half, abs=1e-8)
    assert effective_advocates(5, 0.25, "variance") == 2.5
