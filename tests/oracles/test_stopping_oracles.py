"""Optimal stopping of fresh votes agrees with exact fractions that were computed elsewhere."""

from __future__ import annotations

from fractions import Fraction

import pytest

from d3stats.models.chains.optimum import solve
from d3stats.models.chains.process import CountProcess
from d3stats.models.chains.votes import optimal_votes, optimal_votes_beta

CASES = [
    (
        Fraction(1, 100),
        15,
        Fraction(174506622320231, 1250000000000000),
        [None, None, None, None, 4, 5, 4, 5, 4, 3, 4, 3, 4, 3, 2, 1],
        (11, 0.18822479096),
    ),
    (
        Fraction(1, 1000),
        25,
        Fraction(1633496354483049171416939, 50000000000000000000000000),
        [*[None] * 7, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 7, 6, 5, 6, 5, 4, 3, 2, 1],
        (25, 0.04246974052605773),
    ),
]


@pytest.mark.parametrize(("cost", "horizon", "value", "bounds", "fixed"), CASES)
def test_the_vote_by_vote_optimum_is_the_known_fraction(
    cost: Fraction, horizon: int, value: Fraction, bounds: list[int | None], fixed: tuple[int, float]
) -> None:
    exact = optimal_votes(Fraction(7, 10), cost, horizon)
    floats = optimal_votes(0.7, float(cost), horizon)
    assert exact.value == value
    assert floats.value == pytest.approx(float(value), abs=1e-12)
    assert exact.bounds() == floats.bounds() == bounds
    for plan in (exact, floats):
        assert plan.best_fixed[0] == fixed[0]
        assert float(plan.best_fixed[1]) == pytest.approx(fixed[1], abs=1e-11)
    assert exact.error + cost * exact.votes == exact.value


def test_the_panel_programme_gives_the_vote_by_vote_value_for_a_panel_of_one_fresh_voter() -> None:
    p, c, horizon = Fraction(7, 10), Fraction(1, 100), 15
    law = [1 - p, p]
    process = CountProcess.symmetric([law], [[law, law]], n_rounds=horizon, weights=[Fraction(1)])
    policy = solve(process, c, verdict="posterior")
    assert policy.exact
    # The panel always buys its first vote, and so does the best plan.
    assert policy.value == pytest.approx(float(Fraction(174506622320231, 1250000000000000)), abs=1e-14)


def test_one_vote_is_worth_looking_past() -> None:
    # At a lead of one, a single further vote cannot change the verdict's error, and yet the plan buys it.
    plan = optimal_votes(Fraction(7, 10), Fraction(1, 100), 15)
    assert not plan.stops[1][1]
    assert optimal_votes(Fraction(7, 10), Fraction(0), 2).values[1][1] == Fraction(3, 10)


def test_the_beta_programme_is_the_same_in_fractions_and_floats() -> None:
    exact = optimal_votes_beta(2, 1, Fraction(1, 200), 20)
    floats = optimal_votes_beta(2.0, 1.0, 0.005, 20)
    assert isinstance(exact.value, Fraction)
    assert floats.value == pytest.approx(float(exact.value), abs=1e-12)
    assert floats.bounds() == exact.bounds()
