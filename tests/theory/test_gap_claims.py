"""What D3 and the advocates paper say of the gap posterior, and what is true of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from hypothesis import given

from d3stats.models.gaps.beta import BetaGap
from d3stats.theory import claim, find_counterexample
from d3stats.theory.instances.gaps import (
    Course,
    GapDebate,
    Trial,
    courses,
    debates,
    debates_near_one,
    trials,
)

ONE, QUARTER = Fraction(1), Fraction(1, 4)
ALL_OR_NOTHING = Course(ONE, ONE, (Fraction(0), ONE), 10, QUARTER)


def test_all_or_nothing_stays_away_from_the_limit_of_its_mean() -> None:
    near = [replace(ALL_OR_NOTHING, r=r).prob_near_limit for r in (3, 10, 100)]
    promised = [float(replace(ALL_OR_NOTHING, r=r).guaranteed) for r in (3, 10, 100)]
    assert ALL_OR_NOTHING.limit == Fraction(1, 2)
    assert near == pytest.approx([0.75**4 - 0.25**4, 0.75**11 - 0.25**11, 0.75**101], abs=1e-12)
    assert promised == sorted(promised)
    assert promised[-1] > 0.96
    assert ALL_OR_NOTHING.final_prob_near_limit == 0


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), ONE])
def test_a_fixed_sequence_comes_as_near_as_one_likes(share: Fraction) -> None:
    course = Course(ONE, ONE, (share,), 1000, QUARTER)
    assert course.prob_near_limit > 1 - 1e-10
    assert course.final_prob_near_limit == 1
    assert claim("d3-theorem-1").admits(course, corrected=True)


@pytest.mark.parametrize(
    ("shares", "eps", "limit"),
    [
        ((QUARTER, 3 * QUARTER), QUARTER, 0.5),
        ((Fraction(0), ONE), 2 * QUARTER, 1.0),
        ((Fraction(0), 2 * QUARTER), QUARTER, 0.75),
        ((QUARTER, 3 * QUARTER), Fraction(24, 100), 0.0),
    ],
)
def test_a_share_at_the_end_of_the_interval_is_within_it_half_of_the_time(
    shares: tuple[Fraction, ...], eps: Fraction, limit: float
) -> None:
    course = Course(ONE, ONE, shares, 10**6, eps)
    assert course.final_prob_near_limit == limit
    assert course.prob_near_limit == pytest.approx(limit, abs=2e-3)


def test_a_random_sequence_whose_share_settles_would_do_too() -> None:
    """Convergence in probability of w/r is what counts; two shares close together are within eps."""
    close = Course(ONE, ONE, (Fraction(49, 100), Fraction(51, 100)), 1000, QUARTER)
    assert close.prob_near_limit > 1 - 1e-10


@pytest.mark.parametrize("rounds", [12, 100, 1000])
def test_the_claimed_bound_says_more_and_more_of_what_is_less_and_less_likely(rounds: int) -> None:
    debate = GapDebate(ONE, ONE, rounds // 2, rounds, Fraction(2, 5))
    shorter = replace(debate, w=rounds // 4, r=rounds // 2)
    assert debate.claimed_bound > shorter.claimed_bound
    assert debate.prob_near_one < shorter.prob_near_one
    assert claim("advocates-theorem-3").fails_on(debate)


@given(debates())
def test_the_claimed_bound_fails_only_where_its_premise_does(debate: GapDebate) -> None:
    if claim("d3-concentration-bound").fails_on(debate):
        assert not claim("gap-bound-near-one").admits(debate)
        assert not debate.posterior.chebyshev_premise(float(debate.eps))


@given(debates(), debates_near_one(), courses(3))
def test_no_bound_is_tried_on_a_debate_without_rounds(
    debate: GapDebate, near_one: GapDebate, course: Course
) -> None:
    assert min(debate.r, near_one.r, course.r) >= 1


@pytest.mark.parametrize("name", ["d3-concentration-bound", "advocates-theorem-3"])
def test_the_claimed_bound_is_refuted_by_a_debate_of_one_round(name: str) -> None:
    found = find_counterexample(claim(name))
    assert str(found.instance) == "Beta(1, 2) prior, the gap grew in 0 of 1 rounds, eps = 1/2"


@given(debates_near_one())
def test_cantelli_is_never_weaker_where_the_claimed_bound_holds(debate: GapDebate) -> None:
    assert debate.cantelli_bound >= debate.claimed_bound - 1e-12
    assert claim("cantelli-bound").admits(debate)


def test_a_smaller_variance_proxy_would_be_refuted() -> None:
    debate = GapDebate(ONE, ONE, 500, 1000, Fraction(2, 25))
    total = float(debate.alpha + debate.beta)
    assert (
        debate.prob_far_from_mean
        <= debate.sub_gaussian_bound
        == pytest.approx(2 * exp(-2 * (total + 1) * 0.08**2))
    )
    assert debate.prob_far_from_mean > 2 * exp(-3 * (total + 1) * 0.08**2)


@given(debates())
def test_exact_moments_are_those_of_the_model(debate: GapDebate) -> None:
    assert float(debate.mean) == pytest.approx(float(debate.posterior.mean), rel=1e-13)
    assert float(debate.variance) == pytest.approx(float(debate.posterior.var), rel=1e-12)


@given(trials())
def test_the_condition_is_the_one_that_the_model_uses(trial: Trial) -> None:
    gap = BetaGap([float(trial.a)], [float(trial.b)])  # type: ignore[arg-type]  # lists become arrays
    lowers = gap.success_lowers_variance() if trial.grew else gap.failure_lowers_variance()
    assert bool(lowers[0]) == (trial.condition > 0)


@given(trials())
def test_the_variance_falls_on_average_over_the_posteriors_own_forecast(trial: Trial) -> None:
    chance = trial.a / (trial.a + trial.b)
    grew, not_grew = replace(trial, grew=True), replace(trial, grew=False)
    assert chance * grew.after + (1 - chance) * not_grew.after < trial.before


def test_the_smallest_rise_of_the_variance_in_whole_numbers() -> None:
    falls = claim("d3-variance-decreases")
    assert float(Trial(Fraction(3), ONE, grew=False).before) == 0.0375
    assert float(Trial(Fraction(3), ONE, grew=False).after) == 0.04
    assert not falls.fails_on(Trial(Fraction(2), ONE, grew=False))
    assert falls.fails_on(Trial(Fraction(3), ONE, grew=False))


def test_a_condition_with_the_wrong_sign_would_be_noticed() -> None:
    class Wrong(Trial):
        @property
        def condition(self) -> Fraction:
            return -super().condition

    assert claim("variance-condition").margin(Wrong(Fraction(3), ONE, grew=False)) < 0
    assert claim("variance-condition").margin(Trial(Fraction(3), ONE, grew=False)) > 0
