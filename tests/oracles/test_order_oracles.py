"""The audited pairs of score laws: which order holds, by how much, and what the best of k then gains, to the digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from d3stats.models.separation.excess import excess_wealth, gain_table, gini_mean_difference
from d3stats.models.separation.laws import ScoreLaw, beta, exponential, normal, uniform, weibull
from d3stats.models.separation.orders import (
    ceiling_limit,
    dilation_order,
    dispersive_order,
    dominates,
    excess_wealth_order,
    gain_condition,
    gap_growth_conditions,
    gini_condition,
    is_dfr,
)

PAIRS: dict[str, tuple[Any, Any]] = {
    "1 vs U(0,1)": ({1: 1}, uniform()),
    "U(.5,1) vs U(0,1)": (uniform(0.5, 1), uniform()),
    "Beta(6,3) vs Beta(4,3)": (beta(6, 3), beta(4, 3)),
    "Beta(8,2) vs Beta(2,2)": (beta(8, 2), beta(2, 2)),
    "N(1,1) vs N(0,1)": (normal(1, 1), normal(0, 1)),
    "U(0,1.1) vs U(0,1)": (uniform(0, 1.1), uniform()),
    "Exp 2 vs 1": (exponential(2), exponential(1)),
    "Beta(2,8) vs Beta(1,8)": (beta(2, 8), beta(1, 8)),
    "Weibull .7, 2 vs 1": (weibull(0.7, 2), weibull(0.7, 1)),
}
ABOVE = ("N(1,1) vs N(0,1)", "U(0,1.1) vs U(0,1)", "Exp 2 vs 1", "Weibull .7, 2 vs 1")
"""Pairs of which the first spreads at least as much in every order; all others fail each of them."""

# Mean gaps E M1 - E M2 as audited: by k, to the digits given.
MEAN_GAPS = {
    "1 vs U(0,1)": {1: 1 / 2, 3: 1 / 4, 9: 1 / 10},
    "U(.5,1) vs U(0,1)": {1: 0.25, 2: 1 / 6, 3: 0.125, 5: 1 / 12},
    "Beta(6,3) vs Beta(4,3)": {1: 0.0952380952, 3: 0.0705749278},
    "Beta(8,2) vs Beta(2,2)": {1: 0.3, 3: 0.202087912},
    "N(1,1) vs N(0,1)": {1: 1.0, 2: 1.0, 3: 1.0, 5: 1.0},
    "U(0,1.1) vs U(0,1)": {1: 0.05, 2: 1 / 15, 3: 0.075, 5: 1 / 12},
    "Exp 2 vs 1": {1: 1.0, 3: 11 / 6, 5: 137 / 60},
    "Beta(2,8) vs Beta(1,8)": {1: 0.0888888889, 3: 0.108811395},
    "Weibull .7, 2 vs 1": {1: 1.265823506, 2: 2.061395387, 3: 2.650210027, 5: 3.515068032},
}
# Absolute gaps E abs(M1 - M2).
GAPS = {
    "U(.5,1) vs U(0,1)": {1: 1 / 3, 2: 0.241666666667, 3: 0.188392857143, 5: 0.130219606782},
    "Beta(6,3) vs Beta(4,3)": {1: 0.2004662, 3: 0.131567519},
    "Beta(8,2) vs Beta(2,2)": {1: 0.329370629, 3: 0.215255518},
    "N(1,1) vs N(0,1)": {1: 1.399282457, 2: 1.253656774, 3: 1.195283838, 5: 1.141555445},
    "U(0,1.1) vs U(0,1)": {1: 0.353030303, 2: 0.2870523416, 3: 0.2359960288, 5: 0.1774123217},
    "Exp 2 vs 1": {1: 5 / 3, 3: 2.355555556},
    "Beta(2,8) vs Beta(1,8)": {1: 0.141176471, 3: 0.153445395},
    "Weibull .7, 2 vs 1": {1: 2.521636884, 2: 3.497871409, 3: 4.107061038, 5: 4.914767082},
}
every_pair = pytest.mark.parametrize("name", PAIRS)


@every_pair
def test_dominance_holds_for_every_pair_and_decides_nothing(name: str) -> None:
    assert dominates(*PAIRS[name]).holds


@every_pair
def test_the_orders_of_spread_hold_where_scores_are_scaled_and_fail_elsewhere(name: str) -> None:
    first, second = PAIRS[name]
    for order in (dispersive_order, excess_wealth_order, dilation_order):
        assert order(first, second).holds == (name in ABOVE)


@every_pair
def test_the_growth_of_the_mean_gap_is_the_audited_one(name: str) -> None:
    first, second = PAIRS[name]
    known = MEAN_GAPS[name]
    for k, gap in known.items():
        found = gain_condition(first, second, k)
        assert found.margin == pytest.approx(gap - known[1], abs=2e-9)
        if name in ABOVE:
            assert found.holds


@pytest.mark.parametrize("name", GAPS)
def test_the_growth_of_the_absolute_gap_is_the_audited_one(name: str) -> None:
    known = GAPS[name]
    for k in list(known)[1:]:
        found = gap_growth_conditions(*PAIRS[name], k)
        assert found.conclusion.margin == pytest.approx(known[k] - known[1], abs=2e-9)
        assert found.promised == (name in ("Exp 2 vs 1", "Weibull .7, 2 vs 1"))
        assert found.conclusion.holds == (
            name in ("Exp 2 vs 1", "Weibull .7, 2 vs 1", "Beta(2,8) vs Beta(1,8)")
        )


def test_margins_of_uniform_pairs_are_their_fractions() -> None:
    # W(u) = (b - a)(1 - u)^2 / 2 for U(a, b)
    found = excess_wealth_order(uniform(0.5, 1), uniform())
    assert found.margin == pytest.approx(-0.25, abs=1e-11)
    assert found.at == pytest.approx(0, abs=1e-12)
    assert dispersive_order(uniform(0.5, 1), uniform()).margin == pytest.approx(-0.5, abs=1e-11)
    # The centred stop-losses differ most where both distribution functions agree, at the mean.
    assert dilation_order(uniform(0.5, 1), uniform()).margin == pytest.approx(-1 / 16, abs=1e-11)
    assert gini_condition(uniform(0.5, 1), uniform()).margin == pytest.approx(-1 / 6, abs=1e-11)
    assert gini_condition(uniform(0, 1.1), uniform()).margin == pytest.approx(1 / 30, abs=1e-11)


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (uniform(2, 5), 1.0),
        (exponential(2), 2.0),
        (normal(1, 1), 2 / np.sqrt(np.pi)),
        (weibull(0.7, 2), 2 * weibull(0.7, 2).mean * (1 - 2 ** (-1 / 0.7))),
        (beta(1, 1), 1 / 3),
        # 4/(a+b) B(a+b, a+b) / (B(a, a) B(b, b)) at a = 2, b = 8
        (beta(2, 8), 0.4 * np.exp(special.betaln(10, 10) - special.betaln(2, 2) - special.betaln(8, 8))),
    ],
)  # fmt: skip
def test_gini_mean_differences_agree_with_closed_forms(law: ScoreLaw, known: float) -> None:
    assert gini_mean_difference(law) == pytest.approx(known, rel=1e-12)


def test_the_beta_pair_that_was_taken_for_a_success_fails_with_more_advocates() -> None:
    """Beta(2,8) over Beta(1,8) gains at k = 3, but both share the ceiling 1, and the order fails in the tail."""
    first, second = PAIRS["Beta(2,8) vs Beta(1,8)"]
    found = excess_wealth_order(first, second)
    assert found.margin == pytest.approx(-4.158e-4, abs=1e-7)
    assert found.at == pytest.approx(0.903, abs=5e-3)
    assert ceiling_limit(first, second) == 0
    growth = {k: gap_growth_conditions(first, second, k).conclusion.margin for k in (17, 18)}
    assert growth == {17: pytest.approx(0.000340, abs=1e-6), 18: pytest.approx(-0.000303, abs=1e-6)}
    assert (gain_table(first, second, [2, 451])["difference"] > 0).all()
    assert (gain_table(first, second, [452, 10_000])["difference"] < 0).all()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ((beta(2, 8), beta(1, 8)), (stats.beta(2, 8), stats.beta(1, 8))),
        ((normal(1, 2), normal(0, 1)), (stats.norm(1, 2), stats.norm())),
        ((weibull(0.7, 2), exponential(3)), (stats.weibull_min(0.7, scale=2), stats.expon(scale=3))),
    ],
)
def test_margins_do_not_depend_on_who_computes_the_law(
    ours: tuple[Any, Any], theirs: tuple[Any, Any]
) -> None:
    for order in (dominates, excess_wealth_order, dispersive_order, dilation_order, gini_condition):
        mine, other = order(*ours), order(*theirs)
        assert mine.holds == other.holds
        assert mine.margin == pytest.approx(other.margin, rel=1e-9, abs=1e-10)


def test_only_the_audited_pairs_without_a_ceiling_have_decreasing_failure_rates() -> None:
    decreasing = [name for name, (first, second) in PAIRS.items() if is_dfr(first) and is_dfr(second)]
    assert decreasing == ["Exp 2 vs 1", "Weibull .7, 2 vs 1"]


@pytest.mark.parametrize("u", [0.0, 0.25, 0.5, 0.9])
def test_excess_wealth_of_the_audited_families_is_their_closed_form(u: float) -> None:
    assert excess_wealth(uniform(0.5, 1), u) == pytest.approx((1 - u) ** 2 / 4, abs=1e-14)
    assert excess_wealth(exponential(2), u) == pytest.approx(2 * (1 - u), abs=1e-13)
    # Beta(1,8): Q(u) = 1 - (1-u)^(1/8), and the integral of (1-v)^(1/8) from u is 8/9 (1-u)^(9/8)
    assert excess_wealth(beta(1, 8), u) == pytest.approx((1 - u) ** (9 / 8) / 9, abs=1e-14)
