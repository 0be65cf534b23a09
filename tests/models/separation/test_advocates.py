"""Correlated advocates: their best score, how many they are worth, and when another one stops paying."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import covering
from scipy import integrate, special, stats

from d3stats.models.separation import (
    CorrelatedMaxLaw,
    advocate_payoff,
    correlated_max,
    correlated_separation,
    effective_advocates,
    score_correlation,
    separation_from_scores,
    softmax_selected,
    softmax_weighted,
)
from d3stats.models.separation.best_of_k import ranking_probability, separation
from d3stats.models.separation.laws import DiscreteLaw, MixtureLaw, as_law

RUBRIC = {1: 0.1, 5: 0.2, 9: 0.4, 10: 0.3}
LAWS: list[Any] = [
    stats.norm(),
    stats.uniform(),
    stats.expon(),
    stats.beta(2, 8),
    RUBRIC,
    MixtureLaw([DiscreteLaw([0], [1]), as_law(stats.uniform())], [0.25, 0.75]),
]


def correlated_draws(law: Any, k: int, rho: float, n: int, rng: np.random.Generator) -> np.ndarray:
    ranks = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, k))
    return as_law(law).quantile(special.ndtr(ranks)).max(axis=1)


@covering(law=LAWS, drawn_with=[(2, 0.3), (6, 0.5), (5, 0.85)])
def test_the_best_of_correlated_scores_agrees_with_drawn_ones(
    law: Any, drawn_with: tuple[int, float]
) -> None:
    k, rho = drawn_with
    n = 4_000 if isinstance(law, MixtureLaw) else 40_000  # quantiles of a mixture are searched for
    best = correlated_max(law, k, rho)
    rng = np.random.default_rng(k)
    for drawn in (correlated_draws(law, k, rho, n, rng), best.sample(n, rng)):
        assert abs(drawn.mean() - best.mean) < 4 * drawn.std() / np.sqrt(n)
        for x in np.quantile(drawn, [0.1, 0.5, 0.9]):
            p = float(best.cdf(x))
            assert abs((drawn <= x).mean() - p) <= 4 * np.sqrt(p * (1 - p) / n) + 1e-12


@given(st.integers(2, 60), st.floats(0.001, 0.999), st.floats(-6, 6))
def test_both_tails_add_up_and_lie_between_one_advocate_and_independence(
    k: int, rho: float, x: float
) -> None:
    law = CorrelatedMaxLaw(stats.norm(), k, rho)
    up, over = float(law.cdf(x)), float(law.sf(x))
    assert up + over == pytest.approx(1, abs=1e-13)
    assert stats.norm.cdf(x) ** k - 1e-14 <= up <= stats.norm.cdf(x) + 1e-14
    finer = CorrelatedMaxLaw(stats.norm(), k, rho)
    finer.normal.step /= 4
    assert float(finer.cdf(x)) == pytest.approx(up, abs=1e-13)


@pytest.mark.parametrize("rho", [0.02, 0.4, 0.6, 0.98])
def test_the_mean_over_the_factor_is_what_adaptive_quadrature_makes_of_the_definition(rho: float) -> None:
    k, law = 7, CorrelatedMaxLaw(stats.norm(), 7, rho)

    def definition(q: float) -> float:
        edge = q / np.sqrt(rho)
        return integrate.quad(
            lambda z: special.ndtr((q - np.sqrt(rho) * z) / np.sqrt(1 - rho)) ** k * stats.norm.pdf(z),
            -12, 12, points=[min(max(edge, -11.9), 11.9)], epsabs=1e-13, limit=400,
        )[0]  # fmt: skip

    for q in (-2.0, 0.3, 2.5):
        assert float(law.cdf(q)) == pytest.approx(definition(q), abs=1e-11)


def test_the_density_is_the_slope_of_the_distribution_function() -> None:
    law = CorrelatedMaxLaw(stats.expon(), 4, 0.7)
    x, h = np.array([0.1, 0.7, 2.0, 5.0]), 1e-6
    assert law.density(x) == pytest.approx((law.cdf(x + h) - law.cdf(x - h)) / (2 * h), abs=1e-8)


@given(st.sampled_from(range(len(LAWS))), st.floats(0.001, 0.999))
def test_a_quantile_is_the_least_score_that_reaches_its_level(which: int, u: float) -> None:
    law = CorrelatedMaxLaw(LAWS[which], 4, 0.6)
    x = law.quantile(u)
    assert law.cdf(x + 1e-9) >= u - 1e-9
    assert law.below(x - 1e-9) <= u + 1e-9


def test_an_upper_tail_keeps_its_digits() -> None:
    """Far out all k exceed one at a time: P(M > x) / P(X > x) goes to k, slower the higher rho."""
    law = CorrelatedMaxLaw(stats.norm(), 5, 0.1)
    assert float(law.sf(20.0)) / stats.norm.sf(20.0) == pytest.approx(5, rel=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_no_correlation_is_independence_and_full_correlation_is_one_advocate(law: Any) -> None:
    alone, five = (float(separation(law, law, k).mean_first[0]) for k in (1, 5))
    assert correlated_max(law, 5, 0.0).mean == pytest.approx(five, abs=1e-10)
    assert correlated_max(law, 5, 1.0).mean == pytest.approx(alone, abs=1e-10)
    assert correlated_max(law, 5, 1e-9).mean == pytest.approx(five, abs=1e-4)
    assert correlated_max(law, 5, 1 - 1e-10).mean == pytest.approx(alone, abs=1e-3)
    means = [correlated_max(law, 5, rho).mean for rho in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert np.all(np.diff(means) < 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [(stats.norm(1), stats.norm()), (stats.uniform(0.5, 0.5), stats.uniform()), (RUBRIC, {1: 0.5, 9: 0.5})],
)
def test_separation_under_correlation_agrees_with_drawn_sides(first: Any, second: Any) -> None:
    n, k, rho = 40_000, 4, (0.6, 0.2)
    found = correlated_separation(first, second, [2, k], rho=rho)
    assert found.k.tolist() == [2, k]
    rng = np.random.default_rng(3)
    m1, m2 = (correlated_draws(law, k, r, n, rng) for law, r in zip((first, second), rho, strict=True))
    drawn = {
        "expected_gap": np.abs(m1 - m2),
        "mean_gap": m1 - m2,
        "prob_first": m1 > m2,
        "prob_tie": m1 == m2,
        "prob_second": m1 < m2,
    }
    for name, values in drawn.items():
        exact = getattr(found, name)[1]
        assert abs(values.mean() - exact) <= 4 * values.std() / np.sqrt(n) + 1e-9, name


def test_correlation_takes_away_part_of_what_more_advocates_gain() -> None:
    right = [correlated_separation(stats.norm(1), stats.norm(), 5, rho=r).ranking[0] for r in (0.0, 0.5, 1.0)]
    assert (np.diff(right) < 0).all()


def test_under_a_common_ceiling_some_correlation_ranks_worse_than_none() -> None:
    """Five advocates, U(.5, 1) against U(0, 1): .6824 independent, .6733 at rho = .35, .75 when all agree."""
    one, two = stats.uniform(0.5, 0.5), stats.uniform()
    right = [correlated_separation(one, two, 5, rho=r).ranking[0] for r in (0.0, 0.35, 1.0)]
    assert right == pytest.approx([0.682416, 0.67328, 0.75], abs=1e-5)


@given(st.integers(2, 40), st.floats(0.01, 0.99))
def test_correlated_advocates_are_worth_between_one_and_all(k: int, rho: float) -> None:
    by_variance = effective_advocates(k, rho, "variance")
    assert 1 < by_variance < k
    assert by_variance < effective_advocates(k, 0.5 * rho, "variance")


@pytest.mark.parametrize("law", LAWS)
def test_the_effective_number_reproduces_the_mean_of_the_correlated_best(law: Any) -> None:
    m = effective_advocates(6, 0.5, "maximum", law)
    assert 1 < m < 6
    below, above = (float(separation(law, law, n).mean_first[0]) for n in (int(m), int(m) + 1))
    assert below <= correlated_max(law, 6, 0.5).mean <= above


def test_the_effective_number_at_its_limits() -> None:
    assert effective_advocates(6, 0.0) == 6
    assert effective_advocates(6, 1.0) == 1
    assert effective_advocates(1, 0.4) == 1
    assert effective_advocates(6, 1.0, "variance") == 1
    assert effective_advocates(4, -0.2, "variance") == pytest.approx(10)


def panel(n: int, m: int, rho: float, rng: np.random.Generator, missing: float = 0.0) -> np.ndarray:
    scores = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, m))
    scores[rng.random((n, m)) < missing] = np.nan
    return scores


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.7, 0.95])
def test_the_intraclass_correlation_recovers_the_truth_with_missing_scores(rho: float) -> None:
    found = score_correlation(panel(4000, 5, rho, np.random.default_rng(4), 0.3), n_boot=200, rng=1)
    assert abs(found.estimate - rho) < 4 * (found.high - found.low) / (2 * 1.96)
    assert found.n_scores < 4000 * 5 * 0.73


def test_the_intraclass_correlation_is_that_of_the_analysis_of_variance() -> None:
    """Shrout and Fleiss (1979), table 2: six targets, four judges, ICC(1,1) = .17."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = score_correlation(ratings, kind="percentile", rng=1)
    assert found.estimate == pytest.approx(0.1657, abs=1e-4)
    assert found.mean_square_between == pytest.approx(11.2417, abs=1e-4)
    assert found.mean_square_within == pytest.approx(6.2639, abs=1e-4)
    f = stats.f_oneway(*ratings).statistic
    assert found.mean_square_between / found.mean_square_within == pytest.approx(f, rel=1e-12)


def test_a_negative_correlation_is_reported_as_it_is() -> None:
    rng = np.random.default_rng(5)
    first = rng.normal(size=300)
    found = score_correlation(np.column_stack([first, -first + 0.1 * rng.normal(size=300)]), rng=1)
    assert -1 <= found.low <= found.estimate <= found.high < -0.9


def test_scores_far_from_zero_and_in_other_units_have_the_same_correlation() -> None:
    scores = panel(50, 3, 0.4, np.random.default_rng(6), 0.1)
    plain, moved = (score_correlation(x, rng=1) for x in (scores, 1e7 + 40 * scores))
    tiny = score_correlation(1e-200 * scores, rng=1)
    assert (tiny.estimate, tiny.low) == (pytest.approx(plain.estimate), pytest.approx(plain.low))
    assert moved.estimate == pytest.approx(plain.estimate, abs=1e-7)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high), abs=1e-6)


def test_an_item_without_scores_adds_nothing_and_a_seed_fixes_the_interval() -> None:
    scores = panel(40, 3, 0.4, np.random.default_rng(7))
    wider = np.vstack([scores, np.full((5, 3), np.nan)])
    one, two = score_correlation(scores, rng=3), score_correlation(wider, rng=3)
    assert one == two
    assert one.to_frame().iloc[0]["n_items"] == 40
    assert "studentised bootstrap over 40 clusters, 40 items" in one.summary()


def test_items_that_come_twice_count_once_when_they_are_one_cluster() -> None:
    scores = panel(60, 3, 0.4, np.random.default_rng(9))
    once = score_correlation(scores, n_boot=4000, rng=1)
    naive = score_correlation(np.vstack([scores, scores]), n_boot=4000, rng=1)
    whole = score_correlation(
        np.vstack([scores, scores]), cluster=[*range(60), *range(60)], n_boot=4000, rng=1
    )
    assert (whole.n_items, whole.n_clusters) == (120, 60)
    assert naive.high - naive.low < 0.8 * (once.high - once.low)
    assert whole.high - whole.low == pytest.approx(once.high - once.low, rel=0.05)


def test_identical_advocates_correlate_fully_by_the_percentile_bootstrap() -> None:
    found = score_correlation(np.repeat([[1.0], [2.0], [4.0]], 3, axis=1), kind="percentile", rng=1)
    assert (found.estimate, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.n_undefined > 0


def covered(n: int, m: int, rho: float, sets: int, kind: Any) -> float:
    rng = np.random.default_rng(8)
    hits = 0
    for i in range(sets):
        found = score_correlation(panel(n, m, rho, rng, 0.2), kind=kind, n_boot=300, rng=i)
        hits += found.low <= rho <= found.high
    return hits / sets


def test_the_studentised_interval_covers_in_a_few_hundred_panels() -> None:
    rate = covered(100, 4, 0.5, 150, "studentised")
    assert abs(rate - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 150)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.1, 0.5, 0.8])
def test_the_studentised_interval_covers_at_its_level(rho: float) -> None:
    assert 0.935 <= covered(200, 4, rho, 3000, "studentised") <= 0.965


COST = {"prices": 10.0, "tokens_per_advocate": 500.0, "value_of_right": 2.0}


def test_the_next_advocate_pays_until_its_gain_is_worth_less_than_its_tokens() -> None:
    found = advocate_payoff(stats.norm(1), stats.norm(), range(1, 13), **COST)  # type: ignore[arg-type]
    frame = found.to_frame().set_index("k")
    assert frame["dollars"].to_numpy() == pytest.approx(2 * frame.index * 500 * 10 / 1e6)
    step = 0.01
    worth = 2.0 * frame["gain"] >= step
    assert found.pays_until == found.best_k == int(frame.index[~worth][0]) - 1
    assert frame["net_value"].idxmax() == found.best_k
    assert frame["gain_per_dollar"].to_numpy() == pytest.approx((frame["gain"] / step).to_numpy())
    assert 0.5 + frame["gain"].sum() == pytest.approx(frame["prob_right"].iloc[-1])
    assert f"pays until k={found.best_k}" in found.summary()


def test_dearer_tokens_and_correlated_advocates_pay_for_fewer() -> None:
    cheap = advocate_payoff(stats.norm(1), stats.norm(), range(1, 9), **COST)  # type: ignore[arg-type]
    dear = advocate_payoff(stats.norm(1), stats.norm(), range(1, 9), **COST | {"prices": 40.0})  # type: ignore[arg-type]
    alike = advocate_payoff(stats.norm(1), stats.norm(), range(1, 9), rho=0.8, **COST)  # type: ignore[arg-type]
    assert dear.best_k < cheap.best_k
    assert alike.best_k < cheap.best_k
    assert "pays; try larger k" in cheap.reason


def test_where_more_advocates_rank_worse_it_says_one_and_why() -> None:
    found = advocate_payoff(stats.uniform(0.5, 0.5), stats.uniform(), [1, 2, 3, 5], **COST)  # type: ignore[arg-type]
    assert (found.best_k, found.pays_until) == (1, 1)
    assert "more advocates rank worse: P(right) falls from 0.7500 at k=1 to 0.7083 at k=2" in found.reason


def test_prompt_and_completion_are_priced_apart_and_ties_count_half() -> None:
    found = advocate_payoff(
        {1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5}, [1, 2], prices=(2.5, 10.0), tokens_per_advocate=(1000, 200),
        value_of_right=1.0,
    )  # fmt: skip
    assert found.dollars.tolist() == pytest.approx([0.009, 0.018])
    assert found.tokens.tolist() == [2400, 4800]
    assert found.prob_right == pytest.approx([0.5, 0.5])
    assert found.pays_until == 0
    assert "a coin is as good" in found.summary()


def test_an_answer_that_is_behind_is_never_worth_an_advocate() -> None:
    found = advocate_payoff(stats.norm(), stats.norm(1), [1, 2], **COST)  # type: ignore[arg-type]
    assert found.pays_until == 0
    assert "the better answer is behind" in found.reason


def test_a_k_that_pays_after_a_bad_start_is_named_where_the_start_is_blamed() -> None:
    found = advocate_payoff({1: 0.9, 10: 0.1}, {2: 1.0}, range(1, 40), **COST)  # type: ignore[arg-type]
    assert (found.best_k, found.pays_until) == (29, 0)
    assert found.reason.endswith("among the given values k=29 is worth most")
    assert "the better answer is behind at k=1" in found.reason
    assert "until k=0" not in found.summary()
    # P(right) is 1 - .9^k and a step costs .01
    k = np.arange(1, 40)
    assert found.best_k == k[np.argmax(2 * (1 - 0.9**k) - k / 100)]


def test_where_ranking_falls_and_rises_again_the_reason_does_not_send_back_to_the_fall() -> None:
    dear = COST | {"value_of_right": 10.0}
    found = advocate_payoff({3: 0.97, 10: 0.03}, {1: 0.6, 4: 0.4}, range(1, 121), **dear)  # type: ignore[arg-type]
    assert found.pays_until == 1
    assert found.best_k > 50
    assert "more advocates rank worse" in found.reason
    assert "use k=1" not in found.reason
    assert found.reason.endswith(f"k={found.best_k} is worth most")


def test_a_later_k_is_not_recommended_when_a_coin_is_worth_more() -> None:
    found = advocate_payoff({1: 0.9, 10: 0.1}, {2: 1.0}, range(1, 4), **COST)  # type: ignore[arg-type]
    assert "worth most" not in found.reason
    assert "a coin is as good" in found.summary()


def test_one_k_alone_has_no_steps_to_speak_of() -> None:
    found = advocate_payoff(stats.norm(1), stats.norm(), [1], **COST)  # type: ignore[arg-type]
    assert found.reason == "k=1 against a coin is worth its price, and no other k was given"


def test_scores_without_a_mean_are_weighed_by_who_is_ahead() -> None:
    one, two = stats.cauchy(1), stats.cauchy()
    found = advocate_payoff(one, two, [1, 2, 10], **COST)  # type: ignore[arg-type]
    assert found.prob_right == pytest.approx(ranking_probability(one, two, [1, 2, 10]), abs=1e-12)
    assert found.best_k == 2
    heavy = stats.pareto(1.05)  # a mean of 21, which no integral reaches to six digits
    assert advocate_payoff(heavy, heavy, [1, 5], **COST).prob_right == pytest.approx([0.5, 0.5], abs=1e-9)  # type: ignore[arg-type]
    mixed = advocate_payoff(one, stats.norm(), [1], **COST)  # type: ignore[arg-type]
    assert mixed.prob_right[0] == pytest.approx(ranking_probability(one, stats.norm())[0], abs=1e-12)


def test_correlated_scores_without_a_mean_rank_as_drawn_ones_do() -> None:
    rng, rho, k, n = np.random.default_rng(7), 0.8, 2, 100_000

    def best() -> np.ndarray:
        own = special.ndtri(rng.random(n) ** (1 / k))  # the best of k independent parts
        over = special.ndtr(-np.sqrt(rho) * rng.normal(size=n) - np.sqrt(1 - rho) * own)
        return 1 / np.tan(np.pi * over)

    drawn = np.mean(1 + best() > best())
    found = advocate_payoff(stats.cauchy(1), stats.cauchy(), [k], rho=rho, **COST)  # type: ignore[arg-type]
    p = found.prob_right[0]
    assert abs(drawn - p) < 4 * np.sqrt(p * (1 - p) / n)
    alike = advocate_payoff(stats.cauchy(1), stats.cauchy(), [3], rho=1.0, **COST)  # type: ignore[arg-type]
    assert alike.prob_right[0] == pytest.approx(
        ranking_probability(stats.cauchy(1), stats.cauchy())[0], abs=1e-12
    )


def test_what_ten_are_worth_hangs_on_which_correlation_is_meant() -> None:
    """Skewed scores with normal ranks correlated by .5 correlate by less themselves."""
    rng, rho, k = np.random.default_rng(2), 0.5, 10
    z = np.sqrt(rho) * rng.normal(size=(100_000, 1)) + np.sqrt(1 - rho) * rng.normal(size=(100_000, k))
    scores = np.exp(z)
    of_scores = (np.exp(rho) - 1) / (np.e - 1)
    worth = effective_advocates(k, of_scores, "variance")
    assert scores.mean(axis=1).var() == pytest.approx(np.e * (np.e - 1) / worth, rel=0.05)
    assert worth > 1.2 * effective_advocates(k, rho, "variance")


N = stats.norm()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlated_max(N, 0, 0.5), r"k must be >= 1; got k=0"),
        (lambda: correlated_max(N, 2, 1.5), r"rho must lie between 0 and 1; got rho=1.5"),
        (lambda: correlated_max(N, 2, -0.1), r"rho must lie between 0 and 1"),
        (lambda: CorrelatedMaxLaw(N, 2, 1.0), r"rho must lie strictly between 0 and 1"),
        (lambda: correlated_max(stats.cauchy(), 2, 0.5).mean, r"law must have a finite mean"),
        (lambda: correlated_separation(stats.cauchy(), N, 2, rho=0.5), r"first must have a finite mean"),
        (lambda: correlated_separation(N, N, [], rho=0.5), r"k must hold at least one number"),
        (lambda: correlated_separation(N, N, 2, rho=(0.1, 0.2, 0.3)), r"rho must be one number or one for "
                                                                      r"each side"),  # type: ignore[arg-type]
        (lambda: effective_advocates(3, -0.5, "variance"), r"rho must be at most 1 and above -0.5"),
        (lambda: effective_advocates(3, 0.5, "mean"), r"kind must be one of 'variance', 'maximum'; "
                                                      r"got"),  # type: ignore[arg-type]
        (lambda: effective_advocates(3, 0.5, law={9: 1.0}), r"law must have more than one score"),
        (lambda: score_correlation([[3, 3], [3, 3]]), r"with all 4 tied at 3 a correlation is undefined"),
        (lambda: score_correlation([[3, np.nan], [4, np.nan]]), r"an item with at least 2 scores"),
        (lambda: score_correlation([[3, 4]]), r"at least 2 items with a score; got 1"),
        (lambda: score_correlation([[1, 2], [3, 5]], cluster=[1]), r"cluster must have one name per item \(2\)"),
        (lambda: score_correlation([[1, 2], [3, 5]], cluster=[1, 1]), r"at least two clusters to resample; got 1"),
        (lambda: score_correlation([3, 4]), r"scores must be two-dimensional"),
        (lambda: score_correlation([[1, 1], [2, 2]]), r"kind must be 'percentile' when no item has two different"),
        (lambda: score_correlation([[1, 2], [2, np.inf]]), r"scores must be finite, or NaN"),
        (lambda: advocate_payoff(N, N, [2, 1], **COST), r"k must be strictly increasing; got 2 before "
                                                        r"1"),  # type: ignore[arg-type]
        (lambda: advocate_payoff(N, N, [1], **COST | {"prices": 0.0}), r"an advocate must cost something"),  # type: ignore[arg-type]
        (lambda: advocate_payoff(N, N, [1], **COST | {"value_of_right": -1}), r"value_of_right must be >= 0"),  # type: ignore[arg-type]
        (lambda: advocate_payoff(N, N, [1], **COST | {"prices": (1.0, 2.0)}), r"tokens_per_advocate must be a pair"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


cells = st.one_of(st.just(float("nan")), st.integers(1, 5).map(float), st.floats(-10, 10))
tables = st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=6)


@given(tables, st.sampled_from(["studentised", "percentile"]))
def test_any_small_log_gets_a_finite_correlation_or_a_reason(rows: list[list[float]], kind: Any) -> None:
    reasons: list[str] = []
    try:
        found = score_correlation(rows, kind=kind, n_boot=100, rng=1)
    except ValueError as refused:
        reasons.append(str(refused))
    if reasons:
        assert any(word in reasons[0] for word in ("; got", "undefined", "resamples"))
        return
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= found.high
    assert -1 / (found.mean_size - 1) - 1e-9 <= found.estimate <= 1


RESULTS: list[Any] = [
    lambda: separation(stats.norm(1), stats.norm(), [1, 3]),
    lambda: separation_from_scores([[9, 8, 5], [7, 7, 6]], [[4, 6, 8], [7, 5, 5]], [1, 3], n_boot=50, rng=1),
    lambda: score_correlation(panel(20, 3, 0.4, np.random.default_rng(1)), n_boot=100, rng=1),
    lambda: advocate_payoff(stats.norm(1), stats.norm(), [1, 2], **COST),  # type: ignore[arg-type]
    lambda: softmax_weighted([[0.9, 0.8], [0.4, np.nan]], 0.1),
    lambda: softmax_selected([[0.9, 0.8], [0.4, np.nan]]),
]


@pytest.mark.parametrize("make", RESULTS)
def test_every_result_shows_itself_in_every_form(make: Any) -> None:
    found = make()
    assert found.summary().splitlines()[0].startswith(found.headline[:60])
    title = found._title()
    assert "nan" not in found.summary().lower()
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["title"] == title
    assert set(next(iter(told["tables"].values()))[0]) == set(found.to_frame().columns)
    assert found.to_latex().count(r"\\") >= len(found.to_frame()) + 1
    assert "<table" in found._repr_html_()
    for note in found.notes:
        assert note in found.summary()
