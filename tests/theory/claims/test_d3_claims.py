"""What D3 claims of the gap posterior and of several advocates: the numbers of its counterexamples."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given

from d3stats.models.separation.laws import (
    DiscreteLaw,
    ScoreLaw,
    beta,
    exponential,
    normal,
    uniform,
    weibull,
)
from d3stats.theory import claim, find_counterexample
from d3stats.theory.instances.advocates import Advocates
from d3stats.theory.instances.gaps import (
    Course,
    GapDebate,
    Trial,
    courses,
    debates,
    debates_near_one,
)

ONE, QUARTER = Fraction(1), Fraction(1, 4)

ALL_OR_NOTHING = Course(ONE, ONE, (Fraction(0), ONE), 10, QUARTER)

SURE, COIN = DiscreteLaw([1], [1]), DiscreteLaw([0, 1], [0.5, 0.5])

FALSE_PAIRS: list[tuple[ScoreLaw, ScoreLaw, int, float, float]] = [
    (SURE, uniform(), 2, 1 / 3, 1 / 3),
    (SURE, uniform(), 7, 1 / 8, 1 / 8),
    (uniform(0.5, 1), uniform(), 2, 0.241666666667, 1 / 6),
    (uniform(0.5, 1), uniform(), 3, 0.188392857143, 0.125),
    (uniform(0.5, 1), uniform(), 5, 0.130219606782, 1 / 12),
    (beta(6, 3), beta(4, 3), 3, 0.131567519, 0.0705749278),
    (beta(8, 2), beta(2, 2), 3, 0.215255518, 0.202087912),
    (normal(1, 1), normal(0, 1), 5, 1.141555445, 1.0),
    (uniform(0, 1.1), uniform(), 3, 0.2359960288, 0.075),
]

TRUE_PAIRS: list[tuple[ScoreLaw, ScoreLaw, int, float, float]] = [
    (exponential(2), exponential(1), 3, 2.355555556, 11 / 6),
    (beta(2, 8), beta(1, 8), 3, 0.153445395, 0.108811395),
    (weibull(0.7, 2), weibull(0.7, 1), 2, 3.497871409, 2.061395387),
    (weibull(0.7, 2), weibull(0.7, 1), 5, 4.914767082, 3.515068032),
]

REFUTED = ("d3-theorem-2", "d3-theorem-3-absolute", "d3-theorem-3-signed", "more-advocates-rank-better")


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


@given(debates())
def test_exact_moments_are_those_of_the_model(debate: GapDebate) -> None:
    assert float(debate.mean) == pytest.approx(float(debate.posterior.mean), rel=1e-13)
    assert float(debate.variance) == pytest.approx(float(debate.posterior.var), rel=1e-12)


def test_the_smallest_rise_of_the_variance_in_whole_numbers() -> None:
    falls = claim("d3-variance-decreases")
    assert float(Trial(Fraction(3), ONE, grew=False).before) == 0.0375
    assert float(Trial(Fraction(3), ONE, grew=False).after) == 0.04
    assert not falls.fails_on(Trial(Fraction(2), ONE, grew=False))
    assert falls.fails_on(Trial(Fraction(3), ONE, grew=False))


@pytest.mark.parametrize(("first", "second", "k", "gap", "mean_gap"), FALSE_PAIRS)
def test_dominance_does_not_make_the_absolute_gap_grow(
    first: ScoreLaw, second: ScoreLaw, k: int, gap: float, mean_gap: float
) -> None:
    pair = Advocates(first, second, k)
    found = claim("d3-theorem-3-absolute").quantities(pair)
    assert found["E|M1 - M2|"] == pytest.approx(gap, abs=5e-10)
    assert found["E M1 - E M2"] == pytest.approx(mean_gap, abs=5e-10)
    assert claim("d3-theorem-3-absolute").fails_on(pair)
    assert claim("d3-theorem-2").fails_on(pair)


@pytest.mark.parametrize(("first", "second", "k", "gap", "mean_gap"), TRUE_PAIRS)
def test_both_gaps_grow_where_laws_spread(
    first: ScoreLaw, second: ScoreLaw, k: int, gap: float, mean_gap: float
) -> None:
    pair = Advocates(first, second, k)
    found = claim("d3-theorem-3-absolute").quantities(pair)
    assert found["E|M1 - M2|"] == pytest.approx(gap, abs=1e-9)
    assert found["E M1 - E M2"] == pytest.approx(mean_gap, abs=1e-9)
    assert claim("d3-theorem-3-absolute").margin(pair) > 0
    assert claim("d3-theorem-3-signed").margin(pair) > 0


def test_the_named_counterexamples_have_their_published_numbers() -> None:
    two = claim("d3-theorem-2")
    numbers = two.quantities(two.counterexample)
    assert numbers["E|G1 - G2|"] == pytest.approx(1 / 3)
    assert numbers["E|M1 - M2|"] == pytest.approx(0.241666666667, abs=1e-12)
    absolute = claim("d3-theorem-3-absolute")
    assert absolute.margin(absolute.counterexample) == pytest.approx(1 / 3 - 1 / 2)
    signed = claim("d3-theorem-3-signed")
    assert signed.margin(signed.counterexample) == pytest.approx(1 / 4 - 1 / 2)
    ranking = claim("more-advocates-rank-better")
    numbers = ranking.quantities(ranking.counterexample)
    assert numbers["P(G1 > G2)"] == pytest.approx(0.75)
    assert numbers["P(M1 > M2)"] == pytest.approx(0.7083333333, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUTED)
def test_a_search_that_is_told_nothing_finds_a_readable_counterexample(name: str) -> None:
    found = find_counterexample(claim(name))
    assert claim(name).fails_on(found.instance)
    assert len(str(found.instance)) <= 100
    assert found.n_examined <= 200


def test_ranking_gets_better_with_normal_scores_and_worse_under_a_ceiling() -> None:
    ranking = claim("more-advocates-rank-better")
    for k, better in ((2, 0.8048586229), (3, 0.8290601035), (5, 0.8566853707), (10, 0.8883310616)):
        pair = Advocates(normal(1, 1), normal(0, 1), k)
        assert ranking.quantities(pair)["P(M1 > M2)"] == pytest.approx(better, abs=1e-9)
        assert not ranking.fails_on(pair)
    assert ranking.fails_on(Advocates(uniform(0.5, 1), uniform(), 10))


def test_a_tie_counted_as_half_does_not_save_the_ranking() -> None:
    ranking = claim("more-advocates-rank-better")
    # P(M1 > M2) falls from 1/2 to 1/4, with half of the ties from 3/4 to 5/8: the kinder is told.
    assert ranking.margin(Advocates(SURE, COIN, 2)) == pytest.approx(-1 / 8)


def test_dominance_is_looked_for_between_the_cuts_too() -> None:
    crossing = Advocates(uniform(0.2117527162, 2.045711435), beta(3.841699841, 2.23555279), 2)
    assert crossing.first.sf(0.306) < crossing.second.sf(0.306) - 0.003
    for name in REFUTED[1:]:
        assert not claim(name).admits(crossing)


def test_equal_laws_do_not_dominate_strictly() -> None:
    assert not claim("d3-theorem-3-absolute").admits(Advocates(uniform(), uniform(), 2))
    assert claim("d3-theorem-3-absolute").admits(Advocates(uniform(0, 1.001), uniform(), 2))
