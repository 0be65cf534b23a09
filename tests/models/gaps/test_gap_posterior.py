"""D3's gap posterior: what is counted, exact probabilities, bounds that hold and one that does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from d3stats.models.gaps.beta import BetaGap, contraction_table, gap_posterior
from d3stats.stopping import GapPosterior
from d3stats.trajectories import Trajectories

SHAPES = st.floats(0.2, 60.0)
COUNTS = st.integers(0, 400).flatmap(lambda r: st.tuples(st.integers(0, r), st.just(r)))
PRIORS = st.floats(0.05, 20.0)
EPS = st.floats(0.01, 0.99)


def _log(scores: Any, depth: list[int] | None = None) -> Trajectories:
    points = np.asarray(scores, dtype=float)
    votes = np.full((*points.shape[:2], 1), None, dtype=object)
    return Trajectories.from_arrays(votes, scores=points, sides=("first", "second"), depth=depth)


# ------------------------------------------------------------------ what is counted


def test_a_success_is_a_gap_larger_than_the_one_before() -> None:
    gap = gap_posterior([[1.0, 2.0, 2.0, 1.5, 3.0]])
    assert gap.alpha.tolist() == [[1, 2, 2, 2, 3]]
    assert gap.beta.tolist() == [[1, 1, 2, 3, 3]]
    assert gap.trials is not None
    assert gap.ties is not None
    assert gap.trials.tolist() == [[0, 1, 2, 3, 4]]
    assert gap.ties.tolist() == [[0, 0, 1, 1, 1]]


def test_the_sign_of_a_gap_is_forgotten() -> None:
    """+3, then -4: the gap grew, although the leader changed. That is what the definition says."""
    gap = gap_posterior([[[10, 7], [6, 10]]])
    assert gap.mean[0, -1] == pytest.approx(2 / 3)


def test_with_a_gap_before_the_debate_there_are_as_many_trials_as_rounds() -> None:
    gap = gap_posterior([[2.0, 3.0], [0.0, 1.0]], first=0.0)
    assert gap.trials is not None
    assert gap.ties is not None
    assert gap.trials.tolist() == [[1, 2], [1, 2]]
    assert gap.alpha.tolist() == [[2, 3], [1, 2]]
    assert gap.ties.tolist() == [[0, 0], [1, 1]]
    holed = gap_posterior([[2.0, 3.0], [np.nan, 1.0]], first=0.0)
    assert holed.alpha.tolist() == [[2, 3], [1, 2]]
    assert holed.beta.tolist() == [[1, 1], [1, 1]]


def test_a_missing_gap_is_no_trial_and_the_next_is_compared_with_the_last_known() -> None:
    gap = gap_posterior([[1.0, np.nan, 2.0, np.nan, 1.0], [np.nan] * 5])
    assert gap.trials is not None
    assert gap.trials.tolist() == [[0, 0, 1, 1, 2], [0] * 5]
    assert gap.alpha.tolist() == [[1, 1, 2, 2, 2], [1] * 5]
    assert not np.isnan(gap.mean).any()


def test_complete_debates_count_the_same_beside_one_with_a_hole() -> None:
    gaps = np.random.default_rng(1).integers(0, 5, (50, 7)).astype(float)
    alone = gap_posterior(gaps)
    beside = gap_posterior(np.vstack([gaps, [np.nan] * 7]))
    for name in ("alpha", "beta", "trials", "ties"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(beside, name)[:-1])


def test_after_its_end_a_debate_learns_nothing() -> None:
    scores = np.stack([np.arange(8.0).reshape(2, 4), np.zeros((2, 4))], axis=2)
    scores[1, 2:] = np.nan
    gap = gap_posterior(_log(scores, depth=[4, 2]))
    assert gap.mean[1].tolist() == [0.5, 2 / 3, 2 / 3, 2 / 3]
    # scores that stand beyond the depth are not part of the debate
    assert gap_posterior(_log(np.nan_to_num(scores, nan=99.0), depth=[4, 2])).mean[1, -1] == 2 / 3


def test_the_stopping_rule_sees_the_same_posterior() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 20, (200, 9, 2)).astype(float)
    scores[rng.random((200, 9)) < 0.1] = np.nan
    log, rule = _log(scores), GapPosterior(level=0.6, width=0.2)
    gap = gap_posterior(log)
    low, high = np.maximum(gap.mean - 0.2, 0), np.minimum(gap.mean + 0.2, 1)
    mass = stats.beta.cdf(high, gap.alpha, gap.beta) - stats.beta.cdf(low, gap.alpha, gap.beta)
    fires = mass >= 0.6
    assert 0.1 < fires.mean() < 0.9
    np.testing.assert_array_equal(rule.fires(log), fires)


def test_a_log_of_ties_says_that_the_gap_never_grew_and_that_it_was_all_ties() -> None:
    gap = gap_posterior(np.full((3, 6, 2), 7.0))
    assert gap.trials is not None
    assert gap.ties is not None
    np.testing.assert_array_equal(gap.ties, gap.trials)
    assert gap.mean[:, -1].tolist() == [1 / 7] * 3
    assert np.isfinite(gap.var).all()
    assert (gap.cantelli_bound(0.5) == 0).all()


# ------------------------------------------------------------------ the law


@given(SHAPES, SHAPES, st.floats(0, 1), st.floats(0, 1))
def test_probabilities_are_scipys(a: float, b: float, x: float, y: float) -> None:
    low, high = sorted((x, y))
    gap = BetaGap(np.array([a]), np.array([b]))
    law = stats.beta(a, b)
    assert gap.mean[0] == pytest.approx(law.mean(), rel=1e-12)
    assert gap.var[0] == pytest.approx(law.var(), rel=1e-10)
    assert gap.sd[0] == pytest.approx(law.std(), rel=1e-10)
    assert gap.prob_between(low, high)[0] == pytest.approx(law.cdf(high) - law.cdf(low), abs=1e-12)
    assert gap.prob_at_least(low)[0] == pytest.approx(law.sf(low), rel=1e-9, abs=1e-300)


def test_a_probability_far_out_agrees_with_quadrature() -> None:
    gap = BetaGap.from_successes(20, 100)
    law = stats.beta(21, 81)
    by_hand, _ = integrate.quad(lambda x: float(law.pdf(x)) * 1e30, 0.8, 0.9, epsabs=0, epsrel=1e-12)
    assert gap.prob_between(0.8, 0.9) == pytest.approx(by_hand * 1e-30, rel=1e-9, abs=0)


@given(st.floats(0.3, 60), st.floats(1.0, 60), st.floats(0.05, 0.995), st.booleans())
def test_an_interval_has_its_level_and_the_hdi_is_the_shortest(
    a: float, b: float, level: float, swap: bool
) -> None:
    if swap:
        a, b = b, a
    gap = BetaGap(np.array([a]), np.array([b]))
    law = stats.beta(a, b)
    low, high = gap.interval(level)
    tail = (1 - level) / 2
    assert law.cdf(low[0]) == pytest.approx(tail, rel=1e-6, abs=1e-12)
    assert law.sf(high[0]) == pytest.approx(tail, rel=1e-6, abs=1e-12)
    left, right = gap.interval(level, kind="hdi")
    assert law.cdf(right[0]) - law.cdf(left[0]) == pytest.approx(level, abs=1e-7)
    starts = np.linspace(0, 1 - level, 200)
    widths = law.ppf(np.minimum(starts + level, 1.0)) - law.ppf(starts)
    assert right[0] - left[0] <= widths.min() + 1e-9


def test_many_posteriors_are_those_of_one_at_a_time() -> None:
    """Above a few thousand values equal pairs are evaluated once; that must not show."""
    rng = np.random.default_rng(4)
    rounds = rng.integers(0, 12, (1500, 6))
    won = rng.binomial(rounds, 0.4)
    many = BetaGap.from_successes(won, rounds, a0=0.7, b0=2.5)
    plain = BetaGap(0.7 + won, 2.5 + rounds - won)
    assert many.shape == (1500, 6)
    few = slice(0, 40)
    small = BetaGap(plain.alpha[few], plain.beta[few])
    for name, given_ in (
        ("prob_between", (0.3, 0.8)),
        ("prob_at_least", (0.9,)),
        ("cantelli_bound", (0.6,)),
        ("sub_gaussian_bound", (0.2,)),
        ("failure_lowers_variance", ()),
    ):
        expected = getattr(plain, name)(*given_)
        np.testing.assert_array_equal(getattr(many, name)(*given_), expected)
        np.testing.assert_array_equal(getattr(small, name)(*given_), expected[few])
    np.testing.assert_array_equal(many.var, plain.var)
    for kind in ("equal-tailed", "hdi"):
        for ours, theirs in zip(many.interval(0.9, kind), small.interval(0.9, kind), strict=True):  # type: ignore[arg-type]  # a plain loop over the kinds
            np.testing.assert_array_equal(ours[few], theirs)


def test_distinct_parameters_are_evaluated_as_they_stand() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0.5, 9, (2, 5000))
    np.testing.assert_allclose(BetaGap(a, b).prob_at_least(0.4), stats.beta.sf(0.4, a, b), rtol=1e-10)
    a[0] = 3.0  # the caller's own array stays his


def test_a_table_says_where_what_and_how_sure() -> None:
    gap = gap_posterior([[1.0, 2.0, 2.0], [3.0, np.nan, 1.0]])
    table = gap.to_frame(0.9, kind="hdi")
    assert table[["debate", "round", "trials", "ties"]].to_numpy().tolist() == [
        [0, 1, 0, 0],
        [0, 2, 1, 0],
        [0, 3, 2, 1],
        [1, 1, 0, 0],
        [1, 2, 0, 0],
        [1, 3, 1, 0],
    ]
    np.testing.assert_array_equal(table["low"], gap.interval(0.9, "hdi")[0].ravel())
    assert set(table["level"]) == {0.9}
    assert set(table["kind"]) == {"hdi"}
    bare = BetaGap(np.array([2.0]), np.array([3.0])).to_frame()
    assert bare.columns.tolist() == ["row", "alpha", "beta", "mean", "sd", "low", "high", "level", "kind"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.float64, bool])
def test_counts_of_any_kind_of_number_mean_the_same(dtype: type) -> None:
    gap = BetaGap.from_successes(np.array([0, 1, 1], dtype=dtype), np.array([1, 1, 1], dtype=dtype))
    assert gap.alpha.dtype == np.float64
    assert (gap.alpha.tolist(), gap.beta.tolist()) == ([1, 2, 2], [2, 1, 1])


# ------------------------------------------------------------------ bounds


@given(COUNTS, PRIORS, PRIORS, EPS)
def test_the_replacement_bounds_always_hold(
    counts: tuple[int, int], a0: float, b0: float, eps: float
) -> None:
    gap = BetaGap.from_successes(*counts, a0=a0, b0=b0)
    exact = gap.prob_at_least(1 - eps)
    assert 0 <= gap.cantelli_bound(eps) <= exact + 1e-12
    assert 0 <= gap.sub_gaussian_lower_bound(eps) <= exact + 1e-12
    assert gap.var <= gap.variance_cap * (1 + 1e-12)


@given(COUNTS, PRIORS, PRIORS, st.floats(0.001, 0.999))
def test_the_two_sided_sub_gaussian_bound_holds(
    counts: tuple[int, int], a0: float, b0: float, t: float
) -> None:
    gap = BetaGap.from_successes(*counts, a0=a0, b0=b0)
    law = stats.beta(gap.alpha, gap.beta)
    far = law.cdf(gap.mean - t) + law.sf(gap.mean + t)
    assert far <= gap.sub_gaussian_bound(t) + 1e-12


def test_the_sub_gaussian_bounds_are_the_published_formula() -> None:
    gap = BetaGap.from_successes(10, 10)  # Beta(11, 1)
    assert gap.sub_gaussian_bound(0.2) == pytest.approx(2 * np.exp(-2 * 13 * 0.2**2), rel=1e-14)
    assert gap.sub_gaussian_bound(0.01) == 1.0
    beyond = 11 / 12 - 0.7
    assert gap.sub_gaussian_lower_bound(0.3) == pytest.approx(1 - np.exp(-2 * 13 * beyond**2), rel=1e-13)
    assert gap.sub_gaussian_lower_bound(0.05) == 0.0


@given(SHAPES, SHAPES, st.floats(0.1, 30.0), st.booleans())
def test_the_variance_cap_is_a_sub_gaussian_proxy_and_no_smaller_one_is(
    a: float, b: float, tilt: float, up: bool
) -> None:
    """E exp(s (delta - mean)) <= exp(s^2 cap / 2); with equal parameters the cap is the variance itself."""
    s = tilt if up else -tilt
    cap = float(BetaGap(np.array(a), np.array(b)).variance_cap)
    assert np.log(special.hyp1f1(a, a + b, s)) - s * a / (a + b) <= s * s * cap / 2 + 1e-9
    even = BetaGap(np.array(a), np.array(a))
    assert even.variance_cap == pytest.approx(even.var, rel=1e-12)


@given(COUNTS, PRIORS, PRIORS, EPS)
def test_the_claimed_bound_holds_where_its_premise_does(
    counts: tuple[int, int], a0: float, b0: float, eps: float
) -> None:
    gap = BetaGap.from_successes(*counts, a0=a0, b0=b0)
    if gap.chebyshev_premise(eps):
        assert gap.chebyshev_bound(eps) <= gap.prob_at_least(1 - eps) + 1e-12
        assert gap.chebyshev_bound(eps) <= gap.cantelli_bound(eps) + 1e-12


def test_without_its_premise_the_claimed_bound_fails() -> None:
    rounds = np.arange(1, 200)
    gap = BetaGap.from_successes(rounds // 2, rounds)
    broken = gap.chebyshev_bound(0.2) > gap.prob_at_least(0.8)
    assert broken.any()
    assert not (broken & gap.chebyshev_premise(0.2)).any()


@given(st.integers(1, 60), st.integers(1, 60))
def test_one_more_trial_lowers_the_variance_exactly_when_the_condition_says(a: int, b: int) -> None:
    def variance(x: int, y: int) -> Fraction:
        return Fraction(x * y, (x + y) ** 2 * (x + y + 1))

    gap = BetaGap(np.array(float(a)), np.array(float(b)))
    assert bool(gap.failure_lowers_variance()) == (variance(a, b + 1) < variance(a, b))
    assert bool(gap.success_lowers_variance()) == (variance(a + 1, b) < variance(a, b))


def test_the_table_of_a_debate_holds_its_own_columns_together() -> None:
    rounds = np.arange(0, 41)
    table = contraction_table(rounds - rounds // 5, rounds, 0.4)
    assert table["round"].tolist() == rounds.tolist()
    assert (table["cantelli"] <= table["exact"]).all()
    assert (table["sub_gaussian"] <= table["exact"]).all()
    assert (table.loc[table["premise"], "claimed"] <= table.loc[table["premise"], "exact"]).all()
    assert (table["eps"] == 0.4).all()


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: BetaGap.from_successes(3, 5, a0=0), r"a0 must be > 0, a proper prior; got a0=0"),
        (lambda: BetaGap.from_successes(3, 5, b0=-1), r"b0 must be > 0"),
        (lambda: BetaGap.from_successes(3, 5, b0=np.nan), r"b0 must be finite"),
        (lambda: BetaGap.from_successes([1, 6], [5, 5]), r"rounds must be >= successes; .*successes=6 at 1"),
        (
            lambda: BetaGap.from_successes([[1, -2]], 5),
            r"successes must be >= 0; got successes=-2 at \(0, 1\)",
        ),
        (lambda: BetaGap.from_successes(1.5, 5), r"successes must be whole numbers; got successes=1.5"),
        (lambda: BetaGap.from_successes(np.nan, 5), r"successes must be whole numbers; got successes=nan"),
        (lambda: BetaGap.from_successes(1, np.inf), r"rounds must be whole numbers; got rounds=inf"),
        (
            lambda: BetaGap(np.array([1.0, 0.0]), np.ones(2)),
            r"alpha must be finite and > 0; got alpha=0.0 at row 1",
        ),
        (lambda: BetaGap(np.ones(2), np.array([1, np.nan])), r"beta must be finite and > 0"),
        (lambda: BetaGap(np.ones(2), np.ones(3)), r"alpha and beta must have one shape"),
        (lambda: gap_posterior(np.ones((2, 3, 3))), r"scores must be of two sides; got scores of 3"),
        (lambda: gap_posterior(np.ones(3)), r"scores must have shape \(debates, rounds, 2\)"),
        (
            lambda: gap_posterior([[1.0, np.inf]]),
            r"scores must be finite, or NaN where missing; .*at \(0, 1\)",
        ),
        (lambda: gap_posterior([[1.0]], first=-1), r"first must be >= 0"),
        (lambda: gap_posterior([[1.0]], a0=0), r"a0 must be > 0"),
        (lambda: BetaGap.from_successes(1, 2).prob_at_least(1.2), r"x must lie between 0 and 1; got x=1.2"),
        (lambda: BetaGap.from_successes(1, 2).prob_between(0.5, 1.5), r"high must lie between 0 and 1"),
        (lambda: BetaGap.from_successes(1, 2).prob_between(0.5, 0.1), r"low must be <= high"),
        (lambda: BetaGap.from_successes(1, 2).interval(1.0), r"level must lie strictly between 0 and 1"),
        (
            lambda: BetaGap.from_successes(1, 2).interval(0.9, "wald"),
            r"kind must be one of 'equal-tailed', 'hdi'",
        ),  # type: ignore[arg-type]  # what is tested
        (lambda: BetaGap.from_successes(0, 0, a0=0.5, b0=0.5).interval(0.9, "hdi"), r"both below 1"),
        (lambda: BetaGap.from_successes(1, 2).cantelli_bound(0.0), r"eps must lie strictly between 0 and 1"),
        (lambda: BetaGap.from_successes(1, 2).chebyshev_premise(1.0), r"eps must lie strictly"),
        (lambda: BetaGap.from_successes(1, 2).sub_gaussian_bound(-0.1), r"t must be >= 0"),
        (lambda: contraction_table(1, 2, 0.5), r"successes must be one-dimensional"),
        (lambda: contraction_table([1], [2], 0.0), r"eps must lie strictly"),
        (lambda: contraction_table([1], [2], 3.0), r"eps must lie strictly"),
    ],
)
def test_bad_input_is_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_a_log_without_scores_is_refused_in_one_line() -> None:
    log = Trajectories.from_arrays([[["A", "B"]]])
    with pytest.raises(ValueError, match=r"^scores must be given for two sides; got a log without scores$"):
        gap_posterior(log)


def test_words_are_no_scores() -> None:
    with pytest.raises(TypeError, match="scores must be numbers"):
        gap_posterior([["a lot", "a little"]])


def test_an_empty_log_has_an_empty_posterior() -> None:
    gap = gap_posterior(np.zeros((0, 4, 2)))
    assert gap.mean.shape == gap.prob_between(0.1, 0.2).shape == gap.interval(0.9)[0].shape == (0, 4)
